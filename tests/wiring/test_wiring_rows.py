"""Rows of a table that contradict others, repeat them or are not read: each is told with its line; answers by hand."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from topo.wiring import Validation, validate

HEADER = "A-Node Name,A-Port,Z-Node Name,Z-Port,Rate"


def leaf_spine() -> list[list[str]]:
    """Five leaves with eight hosts and four spines, one cable a pair; the first row is line 2."""
    rows = []
    for leaf in range(5):
        rows += [[f"leaf-{leaf}", str(1 + i), f"host-{leaf}{i}", "1", "400G"] for i in range(4)]
        rows += [[f"leaf-{leaf}", str(5 + i), f"spine-{i}", str(1 + leaf), "400G"] for i in range(4)]
    return rows


def of(folder: Path, rows: Sequence[Sequence[str]], *, header: str = HEADER, design: bool = False) -> Validation:
    """The answer on some rows, alone or against the right ones."""
    path, plan = folder / "found.csv", folder / "plan.csv"
    path.write_text("\n".join([header, *map(",".join, rows)]) + "\n")
    plan.write_text("\n".join([HEADER, *map(",".join, leaf_spine())]) + "\n")
    return validate(path, plan if design else None, bisection=False)


@pytest.mark.parametrize("design", [False, True])
@pytest.mark.parametrize("turned", [False, True])
def test_rows_of_one_cable_at_two_rates_are_told_by_both_lines(tmp_path: Path, design: bool, turned: bool) -> None:
    rows = leaf_spine()
    a, p, z, q, _ = rows[6]
    rows.append([z, q, a, p, "200G"] if turned else [a, p, z, q, "200G"])
    answer = of(tmp_path, rows, design=design)
    (one,) = answer.findings
    assert (one.code, one.severity, one.place, one.line) == (
        "rate-mismatch", "error", "leaf-0 port 7 - spine-2 port 1", 8,
    )  # fmt: skip
    assert one.evidence.startswith("its rows state 400 Gb/s at line 8, 200 Gb/s at line 42; the lower one holds; ")
    assert one.lost_gbps > 0
    assert not [rule for rule in answer.rules if "duplicate" in rule]


def test_many_cables_at_two_rates_are_one_finding(tmp_path: Path) -> None:
    rows = leaf_spine()
    (one,) = of(tmp_path, [*rows, *([*row[:4], "200G"] for row in rows)]).findings
    assert (one.code, one.severity, one.place) == ("rate-mismatch", "warning", "40 cables")
    assert (
        "first leaf-0 port 1 - host-00 port 1: its rows state 400 Gb/s at line 2, 200 Gb/s at line 42" in one.evidence
    )
    found = of(tmp_path, [*rows, *([*row[:4], "200G"] for row in rows[4:40:5])]).findings
    assert [one.code for one in found] == ["rate-mismatch"] * 8


@pytest.mark.parametrize("column", [1, 2, 3])
def test_a_row_with_a_blank_is_told_by_its_line(tmp_path: Path, column: int) -> None:
    rows = leaf_spine()
    rows[6][column] = ""
    for design in (False, True):
        answer = of(tmp_path, rows, design=design)
        said = [rule for rule in answer.rules if "found.csv:8: row without two ends, not read" in rule]
        assert len(said) == 1 and said[0] in dict.fromkeys(str(row.value) for row in answer.rows()), answer.rules


def test_a_row_that_repeats_another_is_told_by_both_lines(tmp_path: Path) -> None:
    rows = leaf_spine()
    answer = of(tmp_path, [*rows, rows[3]])
    (said,) = (rule for rule in answer.rules if "listed again" in rule)
    assert "found.csv:42: " in said and said.endswith("leaf-0 port 4 - host-03 port 1, a duplicate of line 5")
    assert answer.findings == ()


def test_two_parts_of_one_device_are_told_once(tmp_path: Path) -> None:
    rows = [[*row, "sn5600" if i == 0 else "qm9700"] for i, row in enumerate(leaf_spine())]
    answer = of(tmp_path, rows, header=f"{HEADER},A-Model")
    (said,) = (rule for rule in answer.rules if "stated differently" in rule)
    assert "found.csv:3: part of a node" in said and said.endswith("leaf-0: 'sn5600' and 'qm9700'")
