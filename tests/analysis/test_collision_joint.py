"""Joint laws against all choices counted; what is bounded, and what a hash does not touch."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import topo
from topo import Fabric, ParameterError
from topo.analysis.collisions import ecmp_collisions
from topo.analysis.collisions.fabric_remedies import ecmp_remedies
from topo.fabric import State
from topo.traffic import Demand, permutation

Flow = tuple[int, int, float]


def demand(fabric: Fabric, flows: list[Flow]) -> Demand:
    ends = fabric.endpoints
    source, sink, rate = zip(*flows, strict=True)
    return Demand.of(fabric, "flows", source=ends[list(source)], sink=ends[list(sink)], gbps=list(rate))


def counted(flows: list[Flow], hosts: int, spines: int, capacity: float) -> tuple[float, float]:
    """P(no collision) and P(no overload) of links between switches, all choices counted."""
    between = [(u // hosts, v // hosts, r) for u, v, r in flows if u // hosts != v // hosts]
    clear = fits = 0
    for choice in itertools.product(range(spines), repeat=len(between)):
        up = [(u, s) for (u, _, _), s in zip(between, choice, strict=True)]
        down = [(v, s) for (_, v, _), s in zip(between, choice, strict=True)]
        clear += len(set(up)) == len(up) and len(set(down)) == len(down)
        load: dict[tuple[str, tuple[int, int]], float] = {}
        for (_, _, rate), a, b in zip(between, up, down, strict=True):
            load["up", a] = load.get(("up", a), 0) + rate
            load["down", b] = load.get(("down", b), 0) + rate
        fits += max(load.values()) <= capacity * (1 + 1e-9)
    total = spines ** len(between)
    return clear / total, fits / total


@pytest.mark.parametrize(
    ("hosts", "spines", "flows"),
    [
        (2, 3, [(0, 2, 100), (1, 4, 100), (2, 0, 100), (3, 4, 100), (4, 1, 100), (5, 2, 100)]),  # three leaves
        (4, 3, [(0, 4, 100), (1, 5, 100), (2, 8, 100), (3, 9, 100)]),  # a star of two bundles
        (3, 3, [(0, 3, 100), (1, 6, 100), (3, 6, 100), (4, 7, 100), (6, 0, 100)]),  # a forest
        (2, 2, [(0, 2, 60), (1, 3, 50)]),  # two rates in one bundle
        (4, 2, [(0, 4, 60), (1, 5, 50), (2, 8, 60), (3, 9, 40)]),
    ],
)
def test_two_tiers_equal_all_choices_counted(hosts: int, spines: int, flows: list[Flow]) -> None:
    fabric = topo.leaf_spine(leaves=3, spines=spines, hosts_per_leaf=hosts, link_gbps=100)
    found = ecmp_collisions(fabric, demand(fabric, flows), samples=0)
    clear, fits = counted(flows, hosts, spines, 100)
    assert found.p_no_overload.is_exact
    assert found.p_no_overload.estimate == pytest.approx(fits, rel=1e-10)
    assert found.p_no_collision is not None
    assert found.p_no_collision.is_exact
    assert found.p_no_collision.estimate == pytest.approx(clear, rel=1e-10)


def test_permutation_on_three_leaves() -> None:
    fabric = topo.leaf_spine(leaves=3, spines=2, hosts_per_leaf=3, link_gbps=800)
    asked = permutation(fabric, seed=1)
    source, sink, _ = asked.pairs()
    at = {int(row): i for i, row in enumerate(fabric.endpoints)}
    flows = [(at[int(a)], at[int(b)], 1.0) for a, b in zip(source, sink, strict=True)]
    found = ecmp_collisions(fabric, asked, samples=0)
    assert found.p_no_collision is not None
    assert found.p_no_collision.is_exact
    assert found.p_no_collision.estimate == pytest.approx(counted(flows, 3, 2, 1.0)[0], rel=1e-10)


def dead_link(fabric: Fabric, *ends: str) -> State:
    rate = State().link_capacity_gbps(fabric).copy()
    names = fabric.nodes.name
    rows = [i for i in range(len(rate)) if {str(names[fabric.link_a[i]]), str(names[fabric.link_b[i]])} == set(ends)]
    assert rows
    rate[rows] = 0
    return State(capacity_gbps=rate)


def test_remedies_on_a_dead_link() -> None:
    fabric = topo.leaf_spine(leaves=3, spines=2, hosts_per_leaf=2)
    names = fabric.nodes.name
    link = next(
        i for i in range(len(fabric.links)) if not fabric.nodes.is_endpoint[[fabric.link_a[i], fabric.link_b[i]]].any()
    )
    state = dead_link(fabric, str(names[fabric.link_a[link]]), str(names[fabric.link_b[link]]))
    flows = demand(fabric, [(0, 2, 400), (1, 4, 400), (2, 0, 400), (4, 1, 400)])
    table = ecmp_remedies(fabric, flows, queue_pairs=(8,), samples=0, state=state)
    before, after = table.remedies[0].slowest.estimate, table.remedies[1].slowest.estimate
    assert after < before
    assert " lowers the slowest" in table.sentence
    assert "lifts" not in table.sentence
    text = str(table)
    for name in ("paths pinned", "round robin", "planes", "twice the uplinks", "an eighth more", "PXN", "sprayed"):
        assert name in text
    assert all(why for _, why in table.left_out)


def test_dead_link_ends_soon() -> None:
    fabric = topo.leaf_spine(leaves=16, spines=8, hosts_per_leaf=16)
    state = State(capacity_gbps=np.where(np.arange(len(fabric.links)) == len(fabric.links) - 1, 0.0, 400.0))
    found = ecmp_collisions(fabric, permutation(fabric, seed=0), queue_pairs=64, samples=0, state=state)
    assert found.slowest_rate is not None
    assert found.slowest_rate.upper < 1e-6


def test_many_queue_pairs_are_bounded() -> None:
    fabric = topo.leaf_spine(leaves=4, spines=4, hosts_per_leaf=4)
    found = ecmp_collisions(fabric, permutation(fabric, seed=1), queue_pairs=4096, samples=0)
    assert found.slowest_rate is not None
    assert found.slowest_rate.estimate > 0.95
    large = topo.fat_tree(16)
    with pytest.raises(ParameterError, match="use at most 4,882 queue pairs"):
        ecmp_collisions(large, permutation(large, seed=1), queue_pairs=16_384, samples=0)


def test_never_more_samples_than_asked() -> None:
    fabric = topo.leaf_spine(leaves=4, spines=4, hosts_per_leaf=4)
    found = ecmp_collisions(fabric, permutation(fabric, seed=1), samples=8, tolerance=0)
    assert found.samples == 8
    assert len(found.slowest_samples) == 8


def test_lanes_of_a_scale_up_domain_are_not_hashed() -> None:
    fabric = topo.load("nvidia-gb200-nvl72")
    found = ecmp_collisions(fabric, permutation(fabric, seed=0), samples=32)
    assert found.mean_rate is not None
    assert found.mean_rate.estimate == pytest.approx(1)
    assert found.slowest_rate is not None
    assert found.slowest_rate.estimate == pytest.approx(1)
    assert found.p_no_collision is not None
    assert found.p_no_collision.estimate == 1
    assert any("no hashed link on the way, nothing collides" in text for text in found.assumptions)
