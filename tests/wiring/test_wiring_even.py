"""Uneven numbers of cables: the nearest even wiring, one fault once, its price against a split by hand."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from topo.repair import repair_wiring
from topo.wiring import Validation, validate
from topo.wiring.even import nearest_even, usual_total

Cable = tuple[str, str]
RATE = 400.0


def uneven(leaves: int = 12, spines: int = 6, hosts: int = 8, up: int = 8) -> list[Cable]:
    """Uplinks of each leaf over the spines by turns, one or two to each; every cable 400 Gb/s."""
    cables = [
        (f"leaf-{leaf:02d}", f"host-{hosts * leaf + host:03d}") for leaf in range(leaves) for host in range(hosts)
    ]
    return cables + [(f"leaf-{leaf:02d}", f"spine-{(leaf + i) % spines}") for leaf in range(leaves) for i in range(up)]


def wide() -> list[Cable]:
    """Sixteen uplinks over twelve spines: two spines that differ leave ten that agree."""
    return uneven(spines=12, hosts=16, up=16)


def torus(n: int = 4) -> list[Cable]:
    """A square of n x n switches, each joined to its right and its lower neighbour, one host each."""
    cables = [(f"switch-{i}{j}", f"host-{i}{j}") for i in range(n) for j in range(n)]
    for i in range(n):
        for j in range(n):
            cables += [(f"switch-{i}{j}", f"switch-{(i + 1) % n}{j}"), (f"switch-{i}{j}", f"switch-{i}{(j + 1) % n}")]
    return cables


def written(folder: Path, cables: list[Cable]) -> Path:
    """The cables as a table; ports are counted up as they come."""
    port: dict[str, int] = defaultdict(int)
    rows = []
    for a, b in cables:
        port[a] += 1
        port[b] += 1
        rows.append(f"{a},{port[a]},{b},{port[b]},{RATE:.0f}G")
    path = folder / "found.csv"
    path.write_text("\n".join(["A-Node Name,A-Port,Z-Node Name,Z-Port,Speed", *rows]) + "\n")
    return path


def loads(cables: list[Cable]) -> dict[tuple[str, str, int], float]:
    """Load of each arc (from, to, number of the cable) in an all-to-all of the hosts, split evenly at every hop."""
    beside: dict[str, list[tuple[str, int]]] = defaultdict(list)
    for number, (a, b) in enumerate(cables):
        beside[a].append((b, number))
        beside[b].append((a, number))
    hosts = sorted(node for node in beside if node.startswith("host"))
    load: dict[tuple[str, str, int], float] = defaultdict(float)
    for sink in hosts:
        far, ring = {sink: 0}, [sink]
        while ring:
            near = dict.fromkeys(other for node in ring for other, _ in beside[node] if other not in far)
            far |= dict.fromkeys(near, far[ring[0]] + 1)
            ring = [node for node in near if node not in hosts]
        there = {host: RATE / (len(hosts) - 1) for host in hosts if host != sink}
        for step in range(max(far.values()), 0, -1):
            for node in [node for node in beside if far[node] == step]:
                onward = [(other, number) for other, number in beside[node] if far[other] == step - 1]
                for other, number in onward:
                    load[node, other, number] += there.get(node, 0.0) / len(onward)
                    there[other] = there.get(other, 0.0) + there.get(node, 0.0) / len(onward)
    return load


def by_hand(healthy: list[Cable], found: list[Cable]) -> tuple[float, float]:
    """Part of an all-to-all that is left, and the rate above capacity when all send what fits without the fault."""
    theta = [min(1.0, RATE / max(loads(cables).values())) for cables in (healthy, found)]
    over = sum(max(theta[0] * load - RATE, 0.0) for load in loads(found).values())
    return theta[1] / theta[0], over


def moved(answer: Validation, cables: list[Cable]) -> list[Cable]:
    """The cables after the jobs of the only finding, told by their words alone."""
    (one,) = (one for one in answer.findings if one.severity != "note")
    cables = list(cables)
    for job in one.jobs:
        words = job.text.split()
        a, b = (text.split(" port ")[0] for text in " ".join(words[1:]).split(" from ")[0].split(" - "))
        if job.kind != "add":
            cables.remove((a, b))
        if job.kind == "move":
            left, entered = job.text.split(" from ")[1].split(" to ")
            a, b = (entered if end == left else end for end in (a, b))
        if job.kind != "remove":
            cables.append((a, b))
    return cables


def without(cable: Cable) -> Callable[[list[Cable]], list[Cable]]:
    return lambda cables: [one for i, one in enumerate(cables) if i != cables.index(cable)]


def replaced(was: Cable, now: Cable) -> Callable[[list[Cable]], list[Cable]]:
    return lambda cables: [now if i == cables.index(was) else one for i, one in enumerate(cables)]


CASES = {
    "an uplink lacks": (uneven, without(("leaf-05", "spine-0")), "uplinks-fewer", "leaf-05"),
    "a cable on another spine": (
        wide, replaced(("leaf-05", "spine-5"), ("leaf-05", "spine-10")), "spine-uneven", "spine-10; spine-5"
    ),
    "a pair without a cable": (
        uneven, replaced(("leaf-05", "spine-2"), ("leaf-05", "spine-3")), "pair-uneven", "leaf-05 - spine-2"
    ),
    "a cable of a torus": (torus, without(("switch-11", "switch-21")), "links-unlike", "switch-11; switch-21"),
}  # fmt: skip


UNSURE = ("a cable on another spine", "a pair without a cable")
"""Any leaf with two cables to the one spine and one to the other would do, or any cable of a thick pair of the leaf."""


@pytest.mark.parametrize("case", CASES)
def test_one_fault_is_one_finding_at_the_price_of_a_split_by_hand(tmp_path: Path, case: str) -> None:
    build, damage, code, place = CASES[case]
    found = damage(build())
    answer = validate(written(tmp_path, found), bisection=False)
    (one,) = (one for one in answer.findings if one.severity != "note")
    assert one.code == code
    assert place in one.place
    theta, lost = by_hand(moved(answer, found), found)
    assert one.price.theta == pytest.approx(theta)
    assert one.lost_gbps == pytest.approx(lost)
    assert ("other cables would even the numbers out too" in one.words) == (case in UNSURE)
    assert lost > 0 or build is torus  # its one host a switch leaves every cable half empty


@pytest.mark.parametrize("case", CASES)
def test_the_jobs_named_mend_it(tmp_path: Path, case: str) -> None:
    build, damage, _, _ = CASES[case]
    found = damage(build())
    answer = validate(written(tmp_path, found), bisection=False)
    assert answer.n_operations == 1
    again = validate(written(tmp_path, moved(answer, found)), bisection=False)
    assert [str(one) for one in again.findings if one.severity != "note"] == []
    repair = repair_wiring(written(tmp_path, found), consequence=False)
    assert (repair.n_operations, repair.left) == (1, ())


def test_the_nearest_is_whole_keeps_usual_sums_and_no_matrix_is_nearer() -> None:
    """Against all matrices of four rows and three columns with entries one or two."""
    every = np.array(np.meshgrid(*[[1, 2]] * 12)).reshape(12, -1).T.reshape(-1, 4, 3)
    rng = np.random.default_rng(0)
    for _ in range(20):
        count = np.array([[1, 1, 2], [2, 1, 1], [1, 2, 1], [1, 1, 2]])
        count[rng.integers(4), rng.integers(3)] += rng.choice([-1, 1])
        target = nearest_even(count, (1, 2))
        sums = count.sum(axis=1) if (total := usual_total(count.sum(axis=1))) is None else np.full(4, total)
        fits = every[(every.sum(axis=2) == sums).all(axis=1)]
        best = max((np.minimum(count, one).sum() for one in fits), default=None)
        assert (target is None) == (best is None)
        if target is not None:
            assert (target.sum(axis=1) == sums).all() and np.isin(target, (1, 2)).all()
            assert np.minimum(count, target).sum() == best


def test_ports_that_nobody_named_tell_no_owner(tmp_path: Path) -> None:
    """A repair lays cables on ports without a name; what it made is judged all the same."""
    found = without(("leaf-00", "spine-5"))(without(("leaf-00", "spine-0"))(uneven()))
    repair = repair_wiring(written(tmp_path, found), consequence=False)
    assert (repair.n_operations, repair.left) == (2, ())
