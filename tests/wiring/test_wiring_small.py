"""Plans of a few rows, judged by the names that both tables hold; expected answers are by hand."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import pytest

from topo.wiring import validate
from topo.wiring.answer import Validation

HEADER = "A-Node Name,A-Port,Z-Node Name,Z-Port,Speed"
HOSTS = [("leaf-1", str(i), f"host-{i}", "HCA-1") for i in range(1, 7)]
UPLINKS = [(f"leaf-{1 + i // 2}", str(1 + i % 2), f"spine-{1 + i % 2}", str(1 + i // 2)) for i in range(6)]

Row = tuple[str, str, str, str]


def judged(folder: Path, found: list[Row], planned: list[Row]) -> Validation:
    paths = []
    for name, rows in (("found.csv", found), ("plan.csv", planned)):
        paths.append(folder / name)
        paths[-1].write_text("\n".join([HEADER, *(",".join((*row, "400G")) for row in rows)]) + "\n")
    return validate(paths[0], paths[1], consequence=False)


def exchanged(rows: list[Row], i: int, j: int) -> list[Row]:
    """The rows with the far ends of two of them exchanged."""
    found = list(rows)
    found[i], found[j] = (*rows[i][:2], *rows[j][2:]), (*rows[j][:2], *rows[i][2:])
    return found


@pytest.mark.parametrize("rows", [HOSTS, UPLINKS], ids=["hosts", "uplinks"])
@pytest.mark.parametrize("n", [2, 3, 4, 5, 6])
def test_two_exchanged_rows_are_one_swap(tmp_path: Path, rows: list[Row], n: int) -> None:
    for i, j in combinations(range(n), 2):
        answer = judged(tmp_path, exchanged(rows[:n], i, j), rows[:n])
        assert [one.code for one in answer.findings] == ["swapped"], (i, j)
        assert answer.n_operations == answer.least_operations == 2


def test_a_swap_beside_a_missing_cable_is_both(tmp_path: Path) -> None:
    answer = judged(tmp_path, exchanged(HOSTS[:4], 0, 1)[:3], HOSTS[:4])
    assert sorted(one.code for one in answer.findings) == ["missing", "swapped"]


def test_one_cable_in_a_free_port_is_that_cable_alone(tmp_path: Path) -> None:
    found = [*HOSTS[:2], ("leaf-1", "30", "host-3", "HCA-1")]
    assert [one.code for one in judged(tmp_path, found, HOSTS[:3]).findings] == ["miswired"]


@pytest.mark.parametrize("n", [3, 4, 6])
def test_ports_counted_from_another_number_are_spelt_otherwise(tmp_path: Path, n: int) -> None:
    found = [(leaf, str(int(port) - 1), spine, str(int(far) - 1)) for leaf, port, spine, far in UPLINKS[:n]]
    assert [one.code for one in judged(tmp_path, found, UPLINKS[:n]).findings] == ["spelling"]
