"""All cables of one device slow: one finding with its price, whether they were found so or its part is too slow."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from topo.wiring import Validation, validate

HEAD = ("A-Node Name", "A-Port", "A-Model", "Z-Node Name", "Z-Port", "Z-Model", "Speed")
LEAVES, SPINES, HOSTS = 12, 4, 8
ABOVE = HOSTS * 400 * (LEAVES - 1) * HOSTS / (LEAVES * HOSTS - 1) / 8 - 200
"""What each of a leaf's eight uplinks carries of an all-to-all, above half its rate: 170.5 Gb/s."""

Rows = list[list[str]]


def plan(part_of_leaf_1: str = "qm9700") -> Rows:
    """Twelve leaves of eight hosts, two cables to each of four spines, all at 400G."""
    rows: Rows = []
    for leaf in range(1, LEAVES + 1):
        part = part_of_leaf_1 if leaf == 1 else "qm9700"
        for host in range(1, HOSTS + 1):
            rows.append([f"leaf-{leaf}", f"{host}", part, f"host-{leaf:02d}{host}", "1", "", "400G"])
        for up in range(2 * SPINES):
            far = [f"spine-{1 + up // 2}", f"{2 * leaf - 1 + up % 2}", "qm9700"]
            rows.append([f"leaf-{leaf}", f"{HOSTS + 1 + up}", part, *far, "400G"])
    return rows


def slow(is_slow: Callable[[list[str]], bool]) -> Rows:
    return [[*row[:6], "200G" if is_slow(row) else row[6]] for row in plan()]


def judged(folder: Path, found: Rows, *design: Rows) -> Validation:
    paths = []
    for i, side in enumerate((found, *design)):
        paths.append(folder / f"{i}.csv")
        paths[-1].write_text("\n".join(",".join(row) for row in (HEAD, *side)) + "\n")
    return validate(*paths, bisection=False)


@pytest.mark.parametrize(
    ("is_slow", "place", "n", "lost"),
    [
        pytest.param(lambda row: row[3] == "spine-2", "spine-2", 24, 2 * 24 * ABOVE, id="a spine"),
        pytest.param(lambda row: row[0] == "leaf-3" and "spine" in row[3], "leaf-3", 8, 2 * 8 * ABOVE, id="uplinks"),
        pytest.param(lambda row: row[0] == "leaf-3", "leaf-3", 16, 2 * (8 * ABOVE + 8 * 200), id="a leaf"),
    ],
)
def test_a_device_that_is_slow_is_one_finding(
    tmp_path: Path, is_slow: Callable[[list[str]], bool], place: str, n: int, lost: float
) -> None:
    (one,) = judged(tmp_path, slow(is_slow), plan()).findings
    assert (one.code, one.place, len(one.extra)) == ("rate-unlike-plan", place, n)
    assert one.evidence.startswith(f"all its {n} cables")
    assert one.lost_gbps == pytest.approx(lost)


def test_slow_cables_beside_one_that_is_not_stay_findings_of_their_own(tmp_path: Path) -> None:
    found = slow(lambda row: row[0] == "leaf-3" and "spine" in row[3] and row[1] != "9")
    findings = judged(tmp_path, found, plan()).findings
    assert {one.code for one in findings} == {"rate-unlike-plan"}
    assert len(findings) == 7


@pytest.mark.parametrize("given", [False, True])
def test_a_part_that_is_too_slow_for_its_cables_is_one_finding(tmp_path: Path, given: bool) -> None:
    """Its ports run at 200 Gb/s: eight hosts lose half of what they send and receive, its uplinks what is above."""
    (one,) = judged(tmp_path, plan("qm8700"), *([plan()] if given else [])).findings
    assert (one.code, one.place) == ("port-too-slow", "leaf-1")
    assert one.lost_gbps == pytest.approx(2 * (8 * ABOVE + 8 * 200))
    assert given or "11 of 12 switches of its tier are qm9700" in one.evidence
