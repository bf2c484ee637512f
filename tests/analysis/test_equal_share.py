"""Mean equal share without sampling: fractions, shifts of fat-trees, and sampling of random demands."""

from __future__ import annotations

import itertools
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

import topo
from topo.analysis.collisions.clos_shape import ClosShape
from topo.analysis.collisions.equal_share import mean_equal_share, two_stage_share
from topo.analysis.collisions.sample import EQUAL, Sampler, draw
from topo.fabric import Fabric, State
from topo.routing.next_hops import NextHops
from topo.traffic import Demand, permutation, shift


def shared(fabric: Fabric, demand: Demand, flow_gbps: float = 400.0) -> float:
    shape = ClosShape.of(fabric)
    assert shape is not None
    found = mean_equal_share(shape, demand.source, demand.sink, np.ones(demand.n_pairs), flow_gbps)
    assert found is not None and found.sampled_flows == 0
    assert 0 <= found.upper - found.lower < 1e-6
    return (found.lower + found.upper) / 2


@pytest.mark.parametrize(
    ("case", "share"),
    [
        ((2, 2, 1, 2), 5 / 8),
        ((2, 2, 2, 2), 3 / 4),
        ((3, 2, 1, 2), 25 / 48),
        ((4, 4, 1, 4), 8821 / 16384),
        ((4, 4, 2, 4), 2345 / 4096),
        ((8, 8, 1, 8), 0.505048086404),
        ((16, 16, 1, 16), 0.490137419399),
        ((32, 32, 1, 32), 0.483062554567),
    ],
)
def test_two_tiers_of_the_table(case: tuple[int, int, int, int], share: float) -> None:
    assert two_stage_share(*case) == pytest.approx(share, rel=2e-12)


@pytest.mark.parametrize(
    ("case", "ratio"), [((3, 4, 2, 2), (1.0, 1.0)), ((3, 3, 1, 3), (2.0, 1.0)), ((2, 4, 2, 3), (1.5, 2.5))]
)
def test_two_tiers_equal_all_choices_counted(case: tuple[int, int, int, int], ratio: tuple[float, float]) -> None:
    n_u, n_v, both, links = case
    total, outcomes = Fraction(0), 0
    for spines in itertools.product(range(links), repeat=n_u + n_v - both):
        # The first flow is in the bundle; it stands among the flows up and among those down.
        bundle, up, down = spines[:both], spines[both:n_u], spines[n_u:]
        load_up = Counter(bundle + up)[bundle[0]]
        load_down = Counter(bundle + down)[bundle[0]]
        total += min(Fraction(1), Fraction(ratio[0]) / load_up, Fraction(ratio[1]) / load_down)
        outcomes += 1
    assert two_stage_share(*case, ratio=ratio) == pytest.approx(float(total / outcomes), rel=1e-12)


@pytest.mark.parametrize(
    ("k", "by", "share"),
    [
        (4, 2, 3 / 4),
        (4, 3, 77 / 128),
        (4, 4, 157 / 256),
        (4, 5, 0.519943237),
        (4, 8, 157 / 256),
        (8, 4, 0.68359375),
        (8, 5, 0.597329468),
        (8, 16, 0.5337734),
        (8, 17, 0.4855991),
        (8, 64, 0.5337734),
    ],
)
def test_shifts_of_fat_trees(k: int, by: int, share: float) -> None:
    fabric = topo.fat_tree(k)
    assert shared(fabric, shift(fabric, by=by)) == pytest.approx(share, abs=2e-7)


@pytest.mark.parametrize(
    "fabric",
    [topo.fat_tree(4), topo.fat_tree(8), topo.leaf_spine(4, 4, 4), topo.leaf_spine(4, 3, 6, parallel=2)],
    ids=lambda f: f.name,
)
def test_random_demands_agree_with_sampling(fabric: Fabric) -> None:
    demand = permutation(fabric, seed=11)
    hops = NextHops.of(fabric)
    rate = np.full(demand.n_pairs, 400.0)
    sampler = Sampler(hops, demand.source, demand.sink, rate, np.full(2 * len(fabric.links), 400.0), 1)
    values = draw(sampler, samples=4000, tolerance=0, seed=3).values[:, EQUAL]
    error = values.std(ddof=1) / np.sqrt(len(values))
    assert abs(values.mean() - shared(fabric, demand)) < 4 * error


def test_faster_uplinks_and_several_flows_an_endpoint_agree_with_sampling() -> None:
    fabric = topo.fat_tree(4, link_gbps=800)
    ends = fabric.endpoints
    random = np.random.default_rng(1)
    source = random.choice(ends, 24)
    sink = np.array([random.choice(ends[ends != a]) for a in source])
    sent, received = np.bincount(source)[source], np.bincount(sink)[sink]
    limit = np.minimum(1.0, 800 / 400 / np.maximum(sent, received))
    shape = ClosShape.of(fabric)
    assert shape is not None
    found = mean_equal_share(shape, source, sink, limit, 400.0)
    assert found is not None
    sampler = Sampler(NextHops.of(fabric), source, sink, np.full(24, 400.0), np.full(2 * len(fabric.links), 800.0), 1)
    values = draw(sampler, samples=4000, tolerance=0, seed=3).values[:, EQUAL]
    assert abs(values.mean() - found.lower) < 4 * values.std(ddof=1) / np.sqrt(len(values))


def test_too_many_kinds_are_drawn_or_left_out() -> None:
    fabric = topo.fat_tree(8)
    demand = permutation(fabric, seed=11)
    shape = ClosShape.of(fabric)
    assert shape is not None
    ones = np.ones(demand.n_pairs)
    assert mean_equal_share(shape, demand.source, demand.sink, ones, 400, most_classes=5, drawn_flows=0) is None
    drawn = mean_equal_share(shape, demand.source, demand.sink, ones, 400, most_classes=5, drawn_flows=100, seed=1)
    assert drawn is not None and drawn.sampled_flows == 100
    assert abs(drawn.lower - shared(fabric, demand)) < 2 * drawn.half_width < 0.05


def test_shapes() -> None:
    tree = ClosShape.of(topo.fat_tree(8))
    assert tree is not None
    assert (tree.tiers, tree.spines, tree.cores, tree.n_leaves, tree.n_pods) == (3, 4, 4, 32, 8)
    wide = ClosShape.of(topo.leaf_spine(4, 3, 6, parallel=2))
    assert wide is not None
    assert (wide.tiers, wide.spines, wide.parallel, wide.n_pods) == (2, 3, 2, 1)


def test_what_is_no_whole_clos() -> None:
    fabric = topo.fat_tree(4)
    assert ClosShape.of(fabric, State.without(fabric, links=[20])) is None
    assert ClosShape.of(fabric, State.without(fabric, nodes="core-1")) is None
    rates = fabric.links.capacity_gbps.copy()
    rates[40] = 200
    assert ClosShape.of(fabric, State(capacity_gbps=rates)) is None
    assert ClosShape.of(topo.multi_plane(8, planes=2, radix=8)) is None
    assert ClosShape.of(topo.server("dgx-h100")) is None
