"""What single ends say: ports that stand for none, cables that a device has to itself on purpose."""

from __future__ import annotations

from pathlib import Path

import pytest

from topo.wiring import Validation, validate

HEADER = "A-Node Name,A-Port,Z-Node Name,Z-Port,Speed"


def judged(folder: Path, rows: list[str]) -> Validation:
    path = folder / "schedule.csv"
    path.write_text("\n".join([HEADER, *(f"{row},100G" for row in rows)]) + "\n")
    return validate(path, consequence=False)


def codes(answer: Validation) -> list[str]:
    return [one.code for one in answer.findings if one.severity != "note"]


FABRIC = [f"leaf-{leaf},{port},host-{leaf}-{port},1" for leaf in range(1, 5) for port in range(1, 5)] + [
    f"leaf-{leaf},{40 + spine},spine-{spine},{leaf}" for leaf in range(1, 5) for spine in (1, 2)
]


def test_a_port_0_that_holds_all_cables_of_its_device_is_no_port(tmp_path: Path) -> None:
    """As a drawing calls what is outside: four cables end at a site, none of its ports is named."""
    site = [f"leaf-{leaf},30,site,0" for leaf in range(1, 5)]
    answer = judged(tmp_path, [*FABRIC, *site])
    assert "port-used-twice" not in codes(answer)
    assert "port 0 holds all cables of site: taken for a port that nobody named" in answer.rules


@pytest.mark.parametrize(
    "rows",
    [
        ["leaf-1,30,site,7", "leaf-2,30,site,7"],
        ["leaf-1,30,site,0", "leaf-2,30,site,0", "leaf-3,30,site,1"],
        ["leaf-1,30,box-1,0", "leaf-2,30,box-1,0", "leaf-3,30,box-2,0"],
    ],
    ids=["another number", "beside others", "one cable elsewhere"],
)
def test_another_port_that_holds_two_cables_is_told(tmp_path: Path, rows: list[str]) -> None:
    assert "port-used-twice" in codes(judged(tmp_path, [*FABRIC, *rows]))


@pytest.mark.parametrize(("n_leaves", "told"), [(1, 1), (2, 2), (4, 0)])
def test_loops_that_every_leaf_has_are_meant(tmp_path: Path, n_leaves: int, told: int) -> None:
    loops = [f"leaf-{leaf},50,leaf-{leaf},51" for leaf in range(1, n_leaves + 1)]
    answer = judged(tmp_path, [*FABRIC, *loops])
    assert codes(answer) == ["cable-to-itself"] * told
    assert ("switches of tier 1 with a cable to themselves: 4/4 agree" in answer.rules) == (not told)


def test_a_table_of_host_cables_alone_holds_no_islands(tmp_path: Path) -> None:
    """The cables between its switches are in another table; with one cable between two of them, the rest is apart."""
    hosts = [f"leaf-{leaf},{port},host-{leaf}-{port},1" for leaf in range(1, 21) for port in range(1, 5)]
    answer = judged(tmp_path, hosts)
    assert codes(answer) == []
    assert "no cable between switches: that its 20 parts are apart is not judged" in answer.rules
    assert codes(judged(tmp_path, [*hosts, "leaf-1,41,leaf-2,41"])).count("island") == 18
