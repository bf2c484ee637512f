"""Switches that some rows write otherwise than the rest: one switch under two names, told once and priced as one."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from pathlib import Path

import pytest

from topo.repair import repair_wiring
from topo.wiring import Validation, validate

HEADER = "A-Node Name,A-Port,Z-Node Name,Z-Port,Rate"
Rows = list[list[str]]


def leaf_spine() -> Rows:
    """Six leaves with eight hosts each, one cable to each of four spines: twelve rows a leaf, hosts first."""
    rows = []
    for leaf in range(1, 7):
        rows += [[f"leaf-{leaf}", str(1 + i), f"host-{leaf}{i}", "1", "400G"] for i in range(8)]
        rows += [[f"leaf-{leaf}", str(9 + i), f"spine-{1 + i}", str(leaf), "400G"] for i in range(4)]
    return rows


def mistyped(old: str, new: str, which: Collection[int]) -> Rows:
    """The wiring with another name in some of the rows of a device, counted from 0."""
    rows = leaf_spine()
    ends = [(row, column) for row in rows for column in (0, 2) if row[column] == old]
    for i in which:
        row, column = ends[i]
        row[column] = new
    return rows


def written(path: Path, rows: Sequence[Sequence[str]]) -> Path:
    path.write_text("\n".join([HEADER, *(",".join(row) for row in rows)]) + "\n")
    return path


def against(folder: Path, rows: Rows) -> Validation:
    return validate(written(folder / "found.csv", rows), written(folder / "plan.csv", leaf_spine()), bisection=False)


@pytest.mark.parametrize(
    ("old", "new", "which"),
    [
        ("leaf-3", "leef-3", [0]),
        ("leaf-3", "laef-3", range(8)),
        ("leaf-3", "leaf_3", range(8, 12)),
        ("leaf-3", "leaf3", [2, 9]),
        ("spine-2", "spnie-2", [0, 4]),
    ],
)
def test_rows_that_write_a_switch_otherwise_are_one_warning_that_loses_nothing(
    tmp_path: Path, old: str, new: str, which: Collection[int]
) -> None:
    answer = against(tmp_path, mistyped(old, new, which))
    (one,) = answer.findings
    assert (one.code, one.severity, one.place, one.lost_gbps) == ("device-mistyped", "warning", new, 0)
    assert f"{len(which)} cable" in one.evidence
    assert one.fix == f"write {old} for {new}"
    assert one.line > 1
    assert answer.n_operations == 0


def test_two_mistyped_switches_are_two_findings(tmp_path: Path) -> None:
    rows = mistyped("leaf-3", "leef-3", range(4))
    other = mistyped("spine-1", "spime-1", range(4, 6))
    both = [theirs if theirs[2] == "spime-1" else ours for ours, theirs in zip(rows, other, strict=True)]
    assert sorted(one.place for one in against(tmp_path, both).findings) == ["leef-3", "spime-1"]


@pytest.mark.parametrize("rows", [
    mistyped("leaf-3", "leaf-33", range(8)),  # another number is another switch
    mistyped("leaf-3", "storage-3", range(8)),
])  # fmt: skip
def test_hosts_on_a_stranger_are_one_finding_with_all_their_cables(tmp_path: Path, rows: Rows) -> None:
    (one,) = against(tmp_path, rows).findings
    assert (one.code, one.severity, len(one.operations)) == ("miswired", "error", 8)
    assert "8 endpoints cut off" in one.words
    assert one.lost_gbps == pytest.approx(8 * 400, rel=1e-3)


def test_a_port_that_the_planned_switch_uses_too_is_no_typo(tmp_path: Path) -> None:
    rows = mistyped("leaf-3", "leef-3", [0])
    rows.append(["leaf-3", "1", "spare-1", "1", "400G"])
    assert "device-mistyped" not in {one.code for one in against(tmp_path, rows).findings}


def test_a_cable_that_no_plan_has_at_the_switch_is_no_typo(tmp_path: Path) -> None:
    rows = mistyped("leaf-3", "leef-3", [0])
    rows.append(["leef-3", "40", "spare-1", "1", "400G"])
    assert "device-mistyped" not in {one.code for one in against(tmp_path, rows).findings}


def test_the_repair_sees_one_switch(tmp_path: Path) -> None:
    rows = mistyped("leaf-3", "leef-3", range(8))
    rows[24][4] = "100G"  # a slow cable at the mistyped switch
    del rows[60]
    found, plan = written(tmp_path / "found.csv", rows), written(tmp_path / "plan.csv", leaf_spine())
    answer = repair_wiring(found, plan)
    assert answer.counts == {"add": 1, "replace": 1}
    assert answer.left == ()


@pytest.mark.parametrize("name", ["leef-3", "leaf-33"])
def test_without_a_design_hosts_on_a_switch_that_nothing_joins_are_an_island(tmp_path: Path, name: str) -> None:
    answer = validate(written(tmp_path / "found.csv", mistyped("leaf-3", name, range(8))), bisection=False)
    (one,) = answer.findings
    assert one.code == "island"
    assert "9 devices, 8 endpoints" in one.evidence


def hosts_named(name: Callable[[int], str]) -> Rows:
    """The whole wiring beside a lone switch with eight hosts of other names."""
    return leaf_spine() + [["sw-1", str(1 + i), name(i), "1", "400G"] for i in range(8)]


def test_a_network_of_its_own_is_no_island(tmp_path: Path) -> None:
    answer = validate(written(tmp_path / "found.csv", hosts_named(lambda i: f"nas-{i}")), bisection=False)
    assert [str(one) for one in answer.findings if one.severity != "note"] == []
