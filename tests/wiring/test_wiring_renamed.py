"""Devices under other names than the design's: what is on a planned port is the planned device; answers by hand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from topo.wiring import Validation, validate

HEADER = "A-Node Name,A-Port,Z-Node Name,Z-Port,Rate"
Row = Sequence[str]


def against(folder: Path, found: Sequence[Row], planned: Sequence[Row]) -> Validation:
    """One list of rows against another."""
    for name, rows in (("found.csv", found), ("planned.csv", planned)):
        (folder / name).write_text("\n".join([HEADER, *(",".join(row) for row in rows)]) + "\n")
    return validate(folder / "found.csv", folder / "planned.csv", bisection=False)


def called(rows: Sequence[Row], name: Callable[[str], str]) -> list[list[str]]:
    """The same rows with other names of devices."""
    return [[name(row[0]), row[1], name(row[2]), *row[3:]] for row in rows]


def leaf_spine() -> list[list[str]]:
    """Six leaves with eight hosts of one adapter, two cables to each of four spines."""
    rows = []
    for leaf in range(6):
        rows += [[f"leaf-{leaf}", str(1 + i), f"host-{leaf}{i}", "1", "400G"] for i in range(8)]
        rows += [[f"leaf-{leaf}", str(9 + i), f"spine-{i // 2}", str(1 + 2 * leaf + i % 2), "400G"] for i in range(8)]
    return rows


def rails() -> list[list[str]]:
    """Three units of four rail leaves, eight hosts in each, four spines."""
    rows = []
    for unit in range(3):
        for rail in range(4):
            leaf = f"leaf-{unit}{rail}"
            rows += [[leaf, str(1 + i), f"host-{unit}{i}", f"nic-{1 + rail}", "400G"] for i in range(8)]
            rows += [[leaf, str(9 + i), f"spine-{i}", str(1 + 4 * unit + rail), "400G"] for i in range(4)]
    return rows


@pytest.mark.parametrize("build", [leaf_spine, rails])
def test_hosts_named_anew_lose_nothing_and_are_one_note(tmp_path: Path, build: Callable[[], list[list[str]]]) -> None:
    plan = build()
    answer = against(tmp_path, called(plan, lambda name: name.replace("host-", "node")), plan)
    (one,) = answer.findings
    assert (one.code, one.severity, one.lost_gbps, answer.n_operations) == ("devices-exchanged", "note", 0, 0)
    assert "node00 for host-00, node01 for host-01" in one.evidence


def test_faults_among_hosts_named_anew_are_told_as_ever(tmp_path: Path) -> None:
    plan = rails()
    found = [row for i, row in enumerate(called(plan, lambda name: name.replace("host-", "node"))) if i != 5]
    found[12][3], found[24][3] = found[24][3], found[12][3]
    found[12][2], found[24][2] = found[24][2], found[12][2]
    answer = against(tmp_path, found, plan)
    assert sorted(one.code for one in answer.findings) == ["devices-exchanged", "missing", "swapped"]
    (missing,) = (one for one in answer.findings if one.code == "missing")
    assert missing.fix == "lay leaf-00 port 6 - host-05 nic-1 port 1"


def test_one_host_of_another_name_is_a_warning(tmp_path: Path) -> None:
    plan = leaf_spine()
    answer = against(tmp_path, called(plan, lambda name: "node-7" if name == "host-23" else name), plan)
    (one,) = answer.findings
    assert (one.code, one.severity, one.place) == ("devices-exchanged", "warning", "node-7")
    assert "node-7 for host-23" in one.evidence


def test_spines_named_anew_are_one_warning(tmp_path: Path) -> None:
    plan = rails()
    answer = against(tmp_path, called(plan, lambda name: name.replace("spine-", "core-")), plan)
    (one,) = answer.findings
    assert (one.code, one.lost_gbps, answer.n_operations) == ("devices-exchanged", 0, 0)
    assert one.evidence.startswith("core-0, which no plan has, is cabled as spine-0 is planned; core-1,")
