"""Flat fabrics without a design: which cables lack, are too many or sit wrong, scored against what was changed."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest

import topo
from topo.fabric import Fabric
from topo.wiring import Validation, validate
from topo.wiring.comparison import NewCables, with_laid

FLAT: dict[str, Callable[[], Fabric]] = {
    "torus of 64": lambda: topo.torus((4, 4, 4), hosts_per_switch=1),
    "torus of 8 by 8": lambda: topo.torus((8, 8), hosts_per_switch=1),
    "hyperx of 16": lambda: topo.hyperx((4, 4), 2),
    "hyperx of 36": lambda: topo.hyperx((6, 6), 2),
    "slim fly of 50": lambda: topo.slim_fly(5),
}
Pairs = set[frozenset[str]]


def between(fabric: Fabric) -> list[int]:
    is_switch = fabric.nodes.kind.is_any("switch")
    return np.flatnonzero(is_switch[fabric.link_a] & is_switch[fabric.link_b]).tolist()


def joined(fabric: Fabric, links: Sequence[int]) -> Pairs:
    name = fabric.nodes.name
    return {frozenset((str(name[fabric.link_a[one]]), str(name[fabric.link_b[one]]))) for one in links}


def told(answer: Validation) -> tuple[Pairs, Pairs]:
    """Pairs that the findings lay a cable between, and those that they take one away from."""
    assert answer.comparison is not None
    both = answer.comparison.both
    rows = [[row for one in answer.findings for row in getattr(one, which)] for which in ("lacks", "extra")]
    return joined(both, rows[0]), joined(both, rows[1])


def judged(fabric: Fabric) -> Validation:
    return validate(fabric, consequence=False, bisection=False)


def with_cables(fabric: Fabric, pairs: Sequence[tuple[int, int]]) -> Fabric:
    """The fabric with more cables, on ports of their own."""
    a, b = np.array(pairs, np.int64).T
    none, n = np.full(len(pairs), -1), len(pairs)
    rate = float(fabric.links.capacity_gbps[between(fabric)[0]])
    return with_laid(fabric, NewCables(a, b, none, none, np.full(n, rate), np.array(["scale_out"] * n)))


@pytest.mark.parametrize("family", FLAT)
@pytest.mark.parametrize("n", [1, 2, 3])
def test_each_missing_cable_is_one_finding_that_names_it(family: str, n: int) -> None:
    design = FLAT[family]()
    for seed in range(4):
        gone = np.random.default_rng(seed).choice(between(design), n, replace=False).tolist()
        answer = judged(design.without(links=gone))
        assert told(answer) == (joined(design, gone), set())
        assert [one.code for one in answer.findings if one.severity != "note"] == ["links-unlike"] * n


def test_a_missing_cable_of_several_is_priced() -> None:
    design = FLAT["torus of 64"]()
    gone = np.random.default_rng(5).choice(between(design), 3, replace=False).tolist()
    answer = validate(design.without(links=gone), bisection=False)
    against = validate(design.without(links=gone), design, bisection=False)
    assert len(answer.findings) == len(against.findings) == 3
    losses = [sorted(one.lost_gbps for one in each.findings) for each in (answer, against)]
    assert losses[0] == pytest.approx(losses[1])


@pytest.mark.parametrize("family", ["torus of 64", "hyperx of 36", "slim fly of 50"])
def test_a_cable_with_one_end_at_another_switch_is_told_as_a_move(family: str) -> None:
    design = FLAT[family]()
    known = joined(design, between(design))
    name = design.nodes.name
    for seed in range(4):
        rng = np.random.default_rng(seed)
        link = int(rng.choice(between(design)))
        kept, left = int(design.link_a[link]), int(design.link_b[link])
        free = [
            one for one in design.switches.tolist()
            if one != kept and frozenset((str(name[kept]), str(name[one]))) not in known
        ]  # fmt: skip
        entered = int(rng.choice(free))
        answer = judged(with_cables(design, [(kept, entered)]).without(links=[link]))
        wrong = {frozenset((str(name[kept]), str(name[entered])))}
        assert told(answer) == (joined(design, [link]), wrong), seed
        (one,) = [one for one in answer.findings if one.severity != "note"]
        assert one.fix.startswith("move ")
        assert one.fix.endswith(f"from {name[entered]} to {name[left]}")


def test_a_cable_too_many_is_one_finding() -> None:
    design = FLAT["torus of 8 by 8"]()
    a, b = (int(np.flatnonzero(design.nodes.name == design.nodes.name[design.switches[i]])[0]) for i in (0, 10))
    answer = judged(with_cables(design, [(a, b)]))
    (one,) = [one for one in answer.findings if one.severity != "note"]
    assert (one.code, len(one.extra), one.lacks) == ("links-unlike", 1, ())
    assert one.fix.startswith("remove ")


@pytest.mark.parametrize("build", [
    lambda: topo.jellyfish(40, 6, 2, seed=1), lambda: topo.xpander(6, 6, 2, seed=1), lambda: topo.dragonfly(2, 4, 2),
])  # fmt: skip
def test_where_paths_tell_nothing_no_cable_is_guessed(build: Callable[[], Fabric]) -> None:
    """Two cables of a random graph: four switches lack one each, and any two of them may have been joined."""
    design = build()
    for seed in range(4):
        gone = np.random.default_rng(seed).choice(between(design), 2, replace=False).tolist()
        ends = {int(end) for one in gone for end in (design.link_a[one], design.link_b[one])}
        if len(ends) < 4:
            continue
        answer = judged(design.without(links=gone))
        assert told(answer) == (set(), set())
        assert len([one for one in answer.findings if one.code == "links-unlike"]) == 4


@pytest.mark.parametrize("dims", [(6, 6), (12, 12), (5, 5, 5), (3, 30)])
def test_a_mesh_is_no_torus_without_its_longest_cables(dims: tuple[int, ...]) -> None:
    answer = judged(topo.mesh(dims, hosts_per_switch=1))
    assert told(answer) == (set(), set())
    assert [str(one) for one in answer.findings if one.severity != "note"] == []
