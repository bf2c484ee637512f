"""A switch that lost most of its cables to one side is judged with its kind: one finding, its price, all its cables.

Prices are those of the same difference told by the design.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from topo.wiring import validate
from topo.wiring.answer import Validation

Row = tuple[str, str, str, str, str]


THETA = {8: 1.0, 2: 127 / 480}


def leaf_spine(leaves: int = 16, spines: int = 8, hosts: int = 8, parallel: int = 1) -> list[Row]:
    """Rows of a table that names only ports that hold a cable."""
    rows = []
    for leaf in range(1, leaves + 1):
        for host in range(1, hosts + 1):
            rows.append((f"leaf-{leaf}", f"{host}", f"host-{(leaf - 1) * hosts + host:03}", "1", "400G"))
        for spine in range(1, spines + 1):
            for k in range(1, parallel + 1):
                up, down = hosts + (spine - 1) * parallel + k, (leaf - 1) * parallel + k
                rows.append((f"leaf-{leaf}", f"{up}", f"spine-{spine}", f"{down}", "400G"))
    return rows


def judged(folder: Path, rows: list[Row], planned: list[Row] | None = None) -> Validation:
    paths = []
    for name, table in (("found.csv", rows), ("plan.csv", planned)):
        if table is not None:
            paths.append(folder / name)
            paths[-1].write_text(
                "\n".join(["A-Node Name,A-Port,Z-Node Name,Z-Port,Rate", *map(",".join, table)]) + "\n"
            )
    return validate(*paths, bisection=False)


def without(rows: list[Row], is_gone: Callable[[Row], bool]) -> list[Row]:
    return [row for row in rows if not is_gone(row)]


def number(name: str) -> int:
    return int(name.rpartition("-")[2])


def above_note(answer: Validation) -> list[tuple[str, str]]:
    return [(one.code, one.place) for one in answer.findings if one.severity != "note"]


@pytest.mark.parametrize(
    ("leaves", "spines", "parallel", "lost"),
    [(16, 8, 1, 4), (16, 8, 1, 5), (16, 8, 1, 6), (16, 8, 1, 7), (32, 8, 1, 7), (16, 8, 2, 6), (16, 4, 1, 3)],
)
def test_a_leaf_that_lost_most_uplinks(tmp_path: Path, leaves: int, spines: int, parallel: int, lost: int) -> None:
    good = leaf_spine(leaves, spines, parallel=parallel)
    found = without(good, lambda row: row[0] == "leaf-5" and row[2].startswith("spine") and number(row[2]) <= lost)
    answer = judged(tmp_path, found)
    assert above_note(answer) == [("uplinks-fewer", "leaf-5")]
    (one,) = (one for one in answer.findings if one.severity != "note")
    assert one.severity == "error" and len(one.operations) == len(one.lacks) == lost * parallel
    assert one.fix.startswith("lay leaf-5 - spine-1; lay leaf-5 - ")
    by_plan = judged(tmp_path, found, good).consequence
    assert by_plan is not None and answer.consequence is not None
    assert answer.consequence.measures[0].found_lower == pytest.approx(by_plan.measures[0].found_lower)
    assert one.price is not None and one.price.theta < 0.6 and one.lost_gbps > 2000


@pytest.mark.parametrize(("spines", "lost"), [(8, 8), (8, 12), (8, 15), (4, 9), (4, 15), (3, 13), (2, 9), (2, 15)])
def test_a_spine_that_lost_most_leaves(tmp_path: Path, spines: int, lost: int) -> None:
    found = without(leaf_spine(16, spines), lambda row: row[2] == "spine-2" and number(row[0]) <= lost)
    answer = judged(tmp_path, found)
    assert above_note(answer) == [("pair-absent", "spine-2")]
    (one,) = (one for one in answer.findings if one.severity != "note")
    assert len(one.lacks) == lost and one.lost_gbps > 1000 and one.fix.endswith(f"; and {lost - 4} more")


@pytest.mark.parametrize(("leaves", "spines"), [(16, 8), (16, 2), (4, 8)])
def test_a_leaf_without_uplinks_names_what_lacks(tmp_path: Path, leaves: int, spines: int) -> None:
    good = leaf_spine(leaves, spines)
    found = without(good, lambda row: row[0] == "leaf-2" and row[2].startswith("spine"))
    (one,) = (one for one in judged(tmp_path, found).findings if one.severity != "note")
    assert one.place.startswith("leaf-2") and len(one.lacks) == spines
    mended = judged(tmp_path, found, good).consequence
    assert mended is not None and one.price is not None and one.price.cut_off == 8
    # to and from 8 endpoints, all but what they send each other
    assert one.lost_gbps == pytest.approx(THETA[spines] * 2 * 8 * 400 * (1 - 7 / (8 * leaves - 1)))


def test_the_numbers_of_a_leaf_that_lost_seven_of_eight(tmp_path: Path) -> None:
    """8 hosts on one uplink: theta = 127 / (8 * 120) of what was all; the seven cables carried the rest both ways."""
    answer = judged(tmp_path, without(leaf_spine(), lambda row: row[0] == "leaf-5" and row[2] in {
        f"spine-{i}" for i in range(1, 8)}))  # fmt: skip
    (one,) = (one for one in answer.findings if one.severity != "note")
    assert one.price is not None and one.price.theta == pytest.approx(127 / 960)
    assert one.evidence.startswith("1 of its 8 cables to switches above")


def test_a_spine_that_serves_a_part_by_design_is_no_fault(tmp_path: Path) -> None:
    """Two generations of spines, half of the leaves each beside the common ones."""
    found = without(leaf_spine(16, 8), lambda row: {"spine-7": number(row[0]) > 8, "spine-8": number(row[0]) <= 8}.get(
        row[2], False))  # fmt: skip
    assert above_note(judged(tmp_path, found)) == []


def test_a_leaf_of_another_kind_with_one_uplink_is_no_fault_and_told(tmp_path: Path) -> None:
    found = [*leaf_spine(), ("console", "1", "bmc-1", "1", "400G"), ("console", "2", "spine-3", "40", "400G")]
    answer = judged(tmp_path, found)
    assert above_note(answer) == []
    assert any("not judged at console" in rule for rule in answer.rules)
