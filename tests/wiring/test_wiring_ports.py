"""Holes in lists of ports and legs of breakouts, in vendors' spellings; expected answers are by hand."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from topo.wiring import validate

HEADER = "A-Node Name,A-Port,A-Model,Z-Node Name,Z-Port,Speed"


def gaps(folder: Path, names: list[str], *, switches: int, model: str = "", cabled: int = 4) -> list[str]:
    """Evidence of the gaps in switches that all have ports of these names, the first few cabled to hosts."""
    rows = [HEADER]
    for switch in range(switches):
        for i, name in enumerate(names):
            far = f"host-{switch}-{i},HCA-1,400G" if i < cabled else ",,"
            rows.append(f"leaf-{switch},{name},{model},{far}")
    path = folder / "ports.csv"
    path.write_text("\n".join(rows) + "\n")
    found = validate(path, consequence=False).findings
    assert {one.code for one in found} <= {"radix-gap"}
    return [one.evidence for one in found]


def test_the_list_of_a_library_is_told_where_the_part_is_known(tmp_path: Path, shared_data: Path) -> None:
    said = yaml.safe_load((shared_data / "devicetype" / "netbox__Nvidia__QM9700.yaml").read_text())
    names = [each["name"] for each in said["interfaces"] if each["name"].startswith("P")]
    for switches, model in ((1, "QM9700"), (2, "MQM9700-NS2F")):
        (told,) = gaps(tmp_path, names, switches=switches, model=model)
        assert told.startswith("ports P22.1, P23.0 on none of")
        assert told.endswith("62 of the 64 ports of a qm9700 are named")
    assert gaps(tmp_path, names, switches=1) == []
    assert gaps(tmp_path, [*names, "P22.1", "P23.0"], switches=2, model="QM9700") == []


@pytest.mark.parametrize(
    ("spelt", "missing"),
    [
        (lambda i: f"swp{i}", "swp7"),
        (lambda i: f"swp{i}s0", "swp7"),
        (lambda i: f"Ethernet1/{i}", "Ethernet1/7"),
        (lambda i: f"E1/{i}/1", "E1/7"),
        (lambda i: f"P{i // 2}.{i % 2}", "P3.1"),
        (lambda i: f"1/{1 + i // 2}/{1 + i % 2}", "1/4/2"),
        (lambda i: f"Ethernet{4 * i}", "Ethernet28"),
    ],
)
def test_a_port_that_all_leave_out_is_named_as_the_vendor_does(
    tmp_path: Path, spelt: Callable[[int], str], missing: str
) -> None:
    names = [spelt(i) for i in range(16)]
    assert gaps(tmp_path, names, switches=5) == []
    (told,) = gaps(tmp_path, [name for i, name in enumerate(names) if i != 7], switches=5)
    assert told == f"port {missing} on none of 5 switches of this tier"


@pytest.mark.parametrize(
    ("port", "codes"),
    [("swp9s3", set()), ("swp9s4", {"breakout-beyond"}), ("Ethernet1/33", set()), ("E1/9/4", set())],
)
def test_legs_are_counted_as_the_vendor_does(tmp_path: Path, port: str, codes: set[str]) -> None:
    """A cage of 800G has four legs of 200G: s0 to s3, /1 to /4; the 33 of Ethernet1/33 is a port and no leg."""
    path = tmp_path / "legs.csv"
    path.write_text(f"{HEADER}\nleaf-1,{port},SN5600,host-1,HCA-1,200G\nleaf-1,swp1s0,SN5600,host-2,HCA-1,200G\n")
    assert {one.code for one in validate(path, consequence=False).findings} == codes


@pytest.mark.parametrize(
    ("part", "port", "gbps", "code"),
    [
        ("MQM9700-NS2F", "1/32/2", 400, ""),
        ("MQM9700-NS2F", "1/33/1", 400, "port-beyond"),
        ("MQM9700-NS2F", "1/32/2/2", 200, ""),
        ("MQM9700-NS2F", "1/32/2/3", 200, "breakout-beyond"),
        ("MQM9700-NS2F", "64/2", 200, ""),
        ("MQM9700-NS2F", "65/2", 200, "port-beyond"),
        ("MQM9700-NS2F", "128", 200, ""),
        ("MQM9700-NS2F", "129", 200, "port-beyond"),
        ("MQM9700-NS2F", "P33.1", 400, "port-beyond"),
        ("SN5600", "swp64s1", 400, ""),
        ("SN5600", "swp65", 400, "port-beyond"),
        ("SN5600", "swp65", 25, ""),
        ("SN5600", "Ethernet1/65", 400, "port-beyond"),
        ("SN5600", "Ethernet504", 800, ""),
    ],
)
def test_a_port_is_beyond_the_part_as_its_name_counts(
    tmp_path: Path, part: str, port: str, gbps: int, code: str
) -> None:
    """QM9700: 32 cages of two ports of 400G, each two legs of 200G. SN5600: 64 cages and a slow port for service."""
    path = tmp_path / "ports.csv"
    path.write_text(f"{HEADER}\nleaf-1,{port},{part},host-1,HCA-1,{gbps}G\nleaf-1,1,{part},host-2,HCA-1,{gbps}G\n")
    assert [one.code for one in validate(path, consequence=False).findings] == [code] * bool(code)
