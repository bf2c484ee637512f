"""Leaves of many sizes: coarse tables bound the exact minimum from below, and by how much is known beforehand."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import topo
from topo.analysis.bisection import certificate
from topo.analysis.bisection.blocks import BlockTree, tree_of
from topo.analysis.bisection.knapsack import Charges, Split, TreeCost
from topo.analysis.bisection.merging import cheapest_labels
from topo.analysis.bisection.problem import make_problem
from topo.fabric import Fabric
from topo.table import Array


def ragged(fabric: Fabric, sizes: Array, per_leaf: int) -> Array:
    """The endpoints of a fabric of equal leaves that leave ``sizes`` of them on each leaf."""
    ends = fabric.endpoints
    return ends[np.arange(len(ends)) % per_leaf < np.repeat(sizes, per_leaf)]


def tree_on(fabric: Fabric, chosen: Array) -> BlockTree:
    tree = tree_of(make_problem(fabric, chosen, "none", kinds=None, state=None))
    assert tree is not None
    return tree


def by_enumeration(tree: BlockTree, kappa: Array, target: int, charges: Charges | None) -> float:
    """Every label of every element, then every number of units of every class on side 1."""
    n, bases, best = len(tree.parent), tree.bases, np.inf
    bases_of = [np.flatnonzero(tree.parent[: tree.n_bases] == block) for block in range(n)]
    counts = [c for c in itertools.product(*(range(k + 1) for k in bases.class_count)) if sum(c) == target]
    ones = np.array(counts)
    for code in range(1 << n):
        label = code >> np.arange(n) & 1
        cost = float(kappa[:-1][label[:-1] != label[tree.parent[:-1]]].sum())
        if charges is not None:
            cost -= charges.flat
            for block, mine in enumerate(bases_of):
                same = label[mine] == label[block]
                if mine.size and not same.all():
                    most = charges.total[block]
                    cost -= most if same.any() else min(charges.opposed[block], most)
        off = np.where(label[bases.class_base] == 0, ones, bases.class_count - ones)
        best = min(best, cost + float((off @ bases.class_cost).min()))
    return best


def bound(tree: BlockTree, kappa: Array, target: int, charges: Charges | None, entries: int) -> Split:
    return TreeCost(tree, kappa, [target], charges, most_steps=1, entries=entries).solve()


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), charged=st.booleans())
def test_coarse_tables_never_exceed_every_labelling_tried(seed: int, charged: bool) -> None:
    rng = np.random.default_rng(seed)
    fabric = topo.xgft([3, 2, 2], [1, 2, 2], link_gbps=1)
    chosen = ragged(fabric, rng.integers(1, 4, 4), 3)
    tree = tree_on(fabric, chosen)
    kappa = rng.choice([0.5, 1.0, 1.5, 2.0], len(tree.parent))
    charges = None
    if charged:
        total = np.zeros(len(kappa))
        total[np.unique(tree.parent[: tree.n_bases])] = 0.75
        charges = Charges(0.25, total, total * rng.random(len(kappa)))
    target = len(chosen) // 2
    exact = by_enumeration(tree, kappa, target, charges)
    assert TreeCost(tree, kappa, [target], charges).solve().cost == pytest.approx(exact)
    for entries in (2, 4, 8):
        coarse = bound(tree, kappa, target, charges, entries)
        dearest = float(tree.bases.class_cost.max())
        assert exact - coarse.strayed * dearest - 1e-9 <= coarse.cost <= exact + 1e-9
        assert abs(int(coarse.class_ones.sum()) - target) <= coarse.strayed


@settings(max_examples=15, deadline=None)
@example(seed=66, entries=256)  # 256 endpoints: a table of 257
@given(seed=st.integers(0, 10**6), entries=st.sampled_from([16, 64, 256]))
def test_a_coarse_minimum_is_short_by_no_more_than_what_strays(seed: int, entries: int) -> None:
    """Against the exact tables, on trees too large to enumerate; what strays is log2(N / entries) steps a table."""
    rng = np.random.default_rng(seed)
    fabric = topo.xgft([16, 6, 4], [1, 2, 4], link_gbps=1)
    chosen = ragged(fabric, rng.integers(1, 17, 24), 16)
    tree = tree_on(fabric, chosen)
    kappa = rng.integers(1, 20, len(tree.parent)).astype(float)
    target = len(chosen) // 2
    exact = TreeCost(tree, kappa, [target]).solve()
    coarse = bound(tree, kappa, target, None, entries)
    assert exact.strayed == 0 and int(exact.class_ones.sum()) == target
    assert exact.cost - coarse.strayed <= coarse.cost <= exact.cost
    if len(chosen) < entries:  # counts run from 0 to all: one entry more than endpoints
        assert coarse.strayed == 0
    steps = max(1.0, np.ceil(np.log2(len(chosen) / entries)))
    assert coarse.strayed <= 4 * steps * len(chosen) / entries


def test_a_unit_of_several_endpoints_is_counted_whole_in_coarse_tables() -> None:
    rng = np.random.default_rng(4)
    fabric = topo.leaf_spine(leaves=12, spines=2, hosts_per_leaf=6, link_gbps=1, host_gbps=1)
    tree = tree_on(fabric, ragged(fabric, rng.integers(1, 7, 12), 6))
    weight = rng.choice([2, 3], len(tree.bases.class_count))
    tree.bases.class_weight[:] = weight
    kappa = rng.integers(1, 6, len(tree.parent)).astype(float)
    total = int((weight * tree.bases.class_count).sum())
    exact = TreeCost(tree, kappa, [total // 2]).solve().cost
    for entries in (8, 32):
        coarse = bound(tree, kappa, total // 2, None, entries)
        assert 0 < coarse.cost <= exact and coarse.strayed > 0


def least_of_leaf_spine(sizes: Array, uplink: float) -> tuple[float, float]:
    """Bracket by greed: of leaves that cost min(size, uplink) whole, those of least rate an endpoint fill one half.

    One leaf is split at most, so that the true value lies less than ``uplink`` above the fractional one.
    """
    largest = np.sort(sizes)[::-1]
    half = int(sizes.sum()) // 2
    before = np.cumsum(largest) - largest
    taken = np.clip((half - before) / largest, 0, 1)
    low = float((taken * np.minimum(largest, uplink)).sum())
    return low, low + uplink


def test_ten_thousands_of_endpoints_on_leaves_of_all_sizes_have_a_bracket_of_a_part_in_a_thousand() -> None:
    spines = 4
    fabric = topo.leaf_spine(leaves=1300, spines=spines, hosts_per_leaf=64, link_gbps=1, host_gbps=1)
    sizes = np.random.default_rng(2).integers(1, 65, 1300)
    answer = topo.bisection_bandwidth(fabric, ragged(fabric, sizes, 64))
    low, high = least_of_leaf_spine(sizes, spines)
    assert answer.n_endpoints == sizes.sum() > 40_000 and not answer.exact
    assert low * 0.999 < answer.lower_gbps <= high
    assert low <= answer.upper_gbps < high * 1.001
    certificate.check(fabric, answer)


def test_two_million_endpoints_on_leaves_of_31_and_32_are_not_bounded_by_nothing() -> None:
    """Two sizes of equal count, each less than a 40,000th of all; a thousand copies of the bases of a small fabric."""
    fabric = topo.leaf_spine(leaves=64, spines=8, hosts_per_leaf=32, link_gbps=1, host_gbps=1)
    tree = tree_on(fabric, ragged(fabric, np.repeat([31, 32], 32), 32))
    copies = 1000
    bases = tree.bases
    n_bases = tree.n_bases * copies
    count = np.tile(bases.class_count, copies)
    many = BlockTree(
        type(bases)(
            n_vertices=n_bases + 1,
            vertex=np.arange(n_bases),
            class_base=np.arange(n_bases),
            class_cost=np.ones(n_bases),
            class_weight=np.ones(n_bases, np.int64),
            class_count=count,
            class_of_unit=np.zeros(0, np.int64),
            edge_a=bases.edge_a,
            edge_b=bases.edge_b,
            capacity=bases.capacity,
        ),
        parent=np.append(np.full(n_bases, n_bases), -1),
        tier_of_element=np.append(np.ones(n_bases, np.int64), 2),
        element=np.arange(n_bases + 1),
        edge_low=tree.edge_low,
        edge_high=tree.edge_high,
        edge_gbps=tree.edge_gbps,
    )
    kappa = np.append(np.full(n_bases, 8.0), 0.0)
    found = cheapest_labels(many, kappa, [int(count.sum()) // 2])
    low, high = least_of_leaf_spine(count, 8.0)
    assert count.sum() == 2_016_000 and found.strayed < 4_000
    assert max(0.997 * low, low - found.strayed) <= found.cost <= high
