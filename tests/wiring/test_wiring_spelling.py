"""Ports of two sources that are spelt alike or otherwise: which is which, legs and cages apart; answers by hand."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from topo.wiring import validate
from topo.wiring.finding import Finding

HEADER = "A-Node Name,A-Port,Z-Node Name,Z-Port,Rate"
Row = Sequence[str]


def told(folder: Path, found: Sequence[Row], planned: Sequence[Row]) -> tuple[Finding, ...]:
    """Findings of one list of rows against another."""
    for name, rows in (("found.csv", found), ("planned.csv", planned)):
        (folder / name).write_text("\n".join([HEADER, *(",".join(row) for row in rows)]) + "\n")
    return validate(folder / "found.csv", folder / "planned.csv", bisection=False).findings


def leaves(ports: Sequence[str], uplinks: Sequence[str], *, n: int = 4) -> list[list[str]]:
    """Leaves with a host on each of the ports and a spine on each of the uplinks."""
    rows = []
    for leaf in range(1, n + 1):
        rows += [[f"leaf-{leaf}", port, f"host-{leaf}{i}", "1", "200G"] for i, port in enumerate(ports)]
        rows += [[f"leaf-{leaf}", port, f"spine-{i}", str(leaf), "400G"] for i, port in enumerate(uplinks)]
    return rows


LEGS = leaves(["1/1", "1/2", "2", "3"], ["9", "10"])


def test_a_leg_is_not_the_port_of_its_number(tmp_path: Path) -> None:
    assert told(tmp_path, LEGS, LEGS) == ()
    (lone,) = told(tmp_path, [LEGS[0], *LEGS[2:]], LEGS)
    assert (lone.code, lone.fix) == ("missing", "lay leaf-1 port 1/2 - host-11 port 1")
    crossed = [list(row) for row in LEGS]
    crossed[1][2], crossed[2][2] = crossed[2][2], crossed[1][2]
    assert [one.code for one in told(tmp_path, crossed, LEGS)] == ["swapped"]


def test_a_leg_in_the_place_of_a_port_is_moved_there_and_nowhere_else(tmp_path: Path) -> None:
    moved = [list(row) for row in LEGS]
    moved[4][1] = "1/9"
    (lone,) = told(tmp_path, moved, LEGS)
    assert lone.fix == "move leaf-1 port 1/9 - spine-0 port 1 from leaf-1 port 1/9 to leaf-1 port 9"


SPELLINGS: dict[str, tuple[Callable[[int, int], str], Callable[[int], str]]] = {
    "numbers": (lambda cage, leg: f"{cage}/{leg}", str),
    "cumulus": (lambda cage, leg: f"swp{cage}s{leg - 1}", lambda port: f"swp{port}"),
    "nexus": (lambda cage, leg: f"Ethernet1/{cage}/{leg}", lambda port: f"Ethernet1/{port}"),
}


@pytest.mark.parametrize(("here", "there"), list(itertools.product(SPELLINGS, SPELLINGS)))
@pytest.mark.parametrize("cages", [(1,), (1, 2, 3)])
def test_legs_and_ports_are_the_same_in_every_spelling(
    tmp_path: Path, here: str, there: str, cages: tuple[int, ...]
) -> None:
    """Where cage 1 alone is split, nothing but the other side may say that ``1/2`` is a leg."""
    sides = [
        leaves([leg(cage, i) for cage in cages for i in (1, 2)], [port(9), port(10)])
        for leg, port in (SPELLINGS[here], SPELLINGS[there])
    ]
    assert told(tmp_path, *sides) == ()


@pytest.mark.parametrize(
    ("one", "other"),
    [("swp1", "p1"), ("1", "port-1"), ("p1", "1"), ("Ethernet1/1", "1"), ("eth1/1", "Ethernet1/1"), ("1", "01")],
)
def test_two_ports_of_one_meaning_go_by_how_they_are_written(tmp_path: Path, one: str, other: str) -> None:
    plan = leaves([one, other, "2", "3"], ["9", "10"])
    assert told(tmp_path, plan, plan) == ()
    (lone,) = told(tmp_path, [plan[0], *plan[2:]], plan)
    assert (lone.code, lone.source, lone.line) == ("missing", str(tmp_path / "planned.csv"), 3)


def test_the_first_leg_of_a_port_that_has_no_other_is_the_port(tmp_path: Path) -> None:
    plan = leaves(["E1/1", "E1/2", "E1/3"], ["E1/9", "E1/10"])
    found = [list(row) for row in plan]
    found[1][1] = "E1/2/1"
    assert told(tmp_path, found, plan) == told(tmp_path, plan, found) == ()
    found[2][1] = "E1/2/2"  # now the cage is split, and a leg of it is no other port
    assert {one.code for one in told(tmp_path, found, plan)} == {"miswired"}
