"""A fault without cables of its own in the file costs what it costs against the design, and what a formula says."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import pytest

from topo.wiring import CODES, validate

Rows = list[tuple[str, str, str, str, str]]


def leaf_spine(leaves: int, spines: int, hosts: int, pair: int = 1, leaf: str = "leaf-", up: str = "spine-") -> Rows:
    """Every leaf with its own hosts and ``pair`` cables to every spine, all at 400G."""
    rows: Rows = []
    for i in range(1, leaves + 1):
        number = "".join(one for one in leaf if one.isdigit()) + f"{i}"
        rows += [(f"{leaf}{i}", f"{h}", f"host-{number}-{h:02d}", "1", "400G") for h in range(1, hosts + 1)]
        for k in range(spines * pair):
            far = f"{(i - 1) * pair + k % pair + 1}"
            rows.append((f"{leaf}{i}", f"{hosts + 1 + k}", f"{up}{k // pair + 1}", far, "400G"))
    return rows


def railed(units: int, rails: int, hosts: int, spines: int, *, planes: bool = False) -> Rows:
    """Hosts of one adapter a rail; the leaves of a unit, one a rail, below spines that all share or each rail has."""
    rows: Rows = []
    for unit in range(units):
        for rail in range(1, rails + 1):
            leaf = f"u{unit + 1}-leaf{rail}"
            names = [f"host-{unit * hosts + h:03d}" for h in range(1, hosts + 1)]
            rows += [(leaf, f"{h}", name, f"nic-{rail}", "400G") for h, name in enumerate(names, 1)]
            far = f"{unit + 1 if planes else unit * rails + rail}"
            plane = f"p{rail}-" if planes else ""
            rows += [(leaf, f"{hosts + s}", f"{plane}spine-{s}", far, "400G") for s in range(1, spines + 1)]
    return rows


def dual() -> Rows:
    """Four pairs of leaves, every host with a cable at 200G to either; four uplinks a leaf."""
    rows: Rows = []
    for leaf in range(1, 9):
        first = (leaf - 1) // 2 * 8
        side = f"{1 + (leaf - 1) % 2}"
        rows += [(f"leaf-{leaf}", f"{h}", f"host-{first + h:03d}", side, "200G") for h in range(1, 9)]
        rows += [(f"leaf-{leaf}", f"{8 + s}", f"spine-{s}", f"{leaf}", "400G") for s in range(1, 5)]
    return rows


def pods(n: int, leaves: int, spines: int, cores: int, hosts: int) -> Rows:
    rows: Rows = []
    for pod in range(1, n + 1):
        rows += leaf_spine(leaves, spines, hosts, leaf=f"pod{pod}-leaf-", up=f"pod{pod}-spine-")
        for k in range(spines * (cores // spines)):
            s = k // (cores // spines) + 1
            rows.append(
                (f"pod{pod}-spine-{s}", f"{leaves + k % (cores // spines) + 1}", f"core-{k + 1}", f"{pod}", "400G")
            )
    return rows


def above(a: str, z: str) -> Callable[[tuple[str, ...]], bool]:
    return lambda row: row[0].startswith(a) and row[2].startswith(z)


def adapter(host: str, *slots: str) -> Callable[[tuple[str, ...]], bool]:
    return lambda row: row[2] == host and row[3] in slots


RAILS = railed(4, 4, 8, 4)
TAPERED = 4 / (8 * 120 / 127)
"""What fits of the all-to-all where eight adapters share four uplinks and 120 of 127 others are beyond them."""

CASES = {
    "an adapter": (RAILS, adapter("host-006", "nic-2"), "nic-missing", 2 * 400 * TAPERED),
    # 63 of 255 others are in its plane
    "an adapter in a plane": (
        railed(8, 4, 8, 8, planes=True), adapter("host-006", "nic-2"), "nic-missing", 2 * 400 * 63 / 255,
    ),
    # what the two say to each other is lost once
    "two adapters": (
        railed(4, 4, 8, 8), adapter("host-006", "nic-2", "nic-3"), "nic-missing", 4 * 400 - 2 * 400 / 127,
    ),
    "a port of a host": (dual(), adapter("host-003", "2"), "nic-missing", math.nan),
    # its four uplinks were full both ways
    "a leaf cut off": (leaf_spine(16, 4, 12), above("leaf-5", "spine"), "island", 2 * 4 * 400),
    "a leaf of pairs": (leaf_spine(12, 4, 8, 2), above("leaf-5", "spine"), "island", 2 * 8 * 400 * 88 / 95),
    "a leaf of a pod": (pods(4, 4, 4, 8, 4), above("pod2-leaf-2", "pod2-spine"), "island", math.nan),
    "a pod": (pods(4, 4, 4, 8, 4), above("pod2-spine", "core"), "island", 2 * 8 * 400),
    "a leaf of a rail": (RAILS, above("u2-leaf2", "spine"), "uplinks-fewer", 2 * 4 * 400),
    "one leaf of two": (dual(), above("leaf-3", "spine"), "uplinks-fewer", math.nan),
    # Spines were full. Five carry what six did, both ways: 5 * 160 Gb/s too much; so do those of the other five pods
    # with what they exchange with this one: 5 * 5 * 32.
    "a spine of a pod": (
        pods(6, 6, 6, 12, 6), above("pod2-spine-3", "core"), "uplinks-fewer", 2 * (5 * 160 + 5 * 5 * 32),
    ),
    # beside what leaves it, what its hosts say to each other, theta * 400 * 7 / 127 each
    "a whole leaf": (RAILS, above("u2-leaf2", ""), "leaf-missing", 2 * 4 * 400 + 8 * TAPERED * 400 * 7 / 127),
    "a whole leaf of two": (dual(), above("leaf-3", ""), "leaf-missing", math.nan),
    "a whole leaf of a plane": (railed(8, 4, 8, 4, planes=True), above("u5-leaf2", ""), "leaf-missing", math.nan),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_a_fault_costs_the_same_with_a_design_and_without(tmp_path: Path, case: str) -> None:
    rows, gone, code, lost = CASES[case]
    paths = []
    for name, side in (("found.csv", [row for row in rows if not gone(row)]), ("plan.csv", rows)):
        paths.append(tmp_path / name)
        head = ("A-Node Name", "A-Port", "Z-Node Name", "Z-Port", "Speed")
        paths[-1].write_text("\n".join(",".join(row) for row in (head, *side)) + "\n")
    (one,) = (each for each in validate(paths[0], bisection=False).findings if each.severity != "note")
    assert (one.code, one.severity) == (code, CODES["missing"].severity)
    by_plan = validate(*paths, bisection=False)
    assert by_plan.consequence is not None
    if case != "two adapters":  # a missing cable each, by the plan
        (planned,) = by_plan.findings
        assert one.price is not None
        assert planned.price is not None
        assert one.price[:3] == pytest.approx(planned.price[:3], rel=1e-9)
    if not math.isnan(lost):
        assert one.lost_gbps == pytest.approx(lost, rel=1e-9)
    assert "not known" not in one.words
