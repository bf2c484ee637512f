"""Girth and mean distance of every family whose closed form is known, over many parameters."""

from __future__ import annotations

import math

import networkx as nx
import numpy as np
import pytest
from family_oracle import all_distances, distances, mean_of_pairs
from hypothesis import given, settings
from hypothesis import strategies as st

import topo
from topo.build.xgft import k_ary_n_tree
from topo.fabric import Fabric


def girth(fabric: Fabric, rows: np.ndarray | None = None) -> float:
    """Links of the shortest cycle, parallel links taken as one; infinite in a tree. By networkx."""
    graph = nx.Graph(zip(fabric.link_a.tolist(), fabric.link_b.tolist(), strict=True))
    return float(nx.girth(graph if rows is None else graph.subgraph(rows.tolist())))


def ring_mean(size: int) -> float:
    """Mean distance on a ring, a node's distance 0 to itself counted: S/4, or (S^2 - 1) / (4 S) where S is odd."""
    return size / 4 if size % 2 == 0 else (size * size - 1) / (4 * size)


@settings(max_examples=30, deadline=None)
@given(dims=st.lists(st.integers(2, 6), min_size=1, max_size=3).filter(lambda d: 3 <= math.prod(d) <= 150))
def test_tori(dims: list[int]) -> None:
    fabric = topo.torus(dims)
    n = math.prod(dims)
    assert mean_of_pairs(all_distances(fabric)) == pytest.approx(sum(map(ring_mean, dims)) * n / (n - 1))
    cycles = [size for size in dims if size > 2] + ([4] if len(dims) > 1 else [])
    assert girth(fabric) == min(cycles, default=math.inf)


@settings(max_examples=30, deadline=None)
@given(dims=st.lists(st.integers(2, 6), min_size=1, max_size=3).filter(lambda d: math.prod(d) <= 150))
def test_meshes(dims: list[int]) -> None:
    """Mean |i - j| over ordered pairs with i = j among them is (S^2 - 1) / (3 S)."""
    fabric = topo.torus(dims, wrap=False)
    n = math.prod(dims)
    mean = sum((size * size - 1) / (3 * size) for size in dims)
    assert mean_of_pairs(all_distances(fabric)) == pytest.approx(mean * n / (n - 1))
    assert girth(fabric) == (4 if len(dims) > 1 else math.inf)


@settings(max_examples=30, deadline=None)
@given(dims=st.lists(st.integers(2, 5), min_size=1, max_size=3))
def test_hyperx(dims: list[int]) -> None:
    fabric = topo.hyperx(dims, 1)
    n = math.prod(dims)
    mean = sum(1 - 1 / size for size in dims) * n / (n - 1)
    assert mean_of_pairs(distances(fabric, fabric.switches)) == pytest.approx(mean)
    assert girth(fabric) == (3 if max(dims) > 2 else 4 if len(dims) > 1 else math.inf)


@pytest.mark.parametrize("q", [4, 5, 7, 8, 9, 11, 13])
def test_slim_flies(q: int) -> None:
    """Diameter two: whom a switch is not joined with is two away."""
    fabric = topo.slim_fly(q)
    n = 2 * q * q
    delta = {0: 0, 1: 1, 3: -1}[q % 4]
    degree = (3 * q - delta) // 2
    far = distances(fabric, fabric.switches)
    assert mean_of_pairs(far) == pytest.approx(2 - degree / (n - 1))
    # Order 5 reaches Moore's bound, and has the girth 5 that this takes; no graph beyond the bound's order does.
    assert (girth(fabric) == 5) == (n == 1 + degree * degree) == (q == 5)


@settings(max_examples=20, deadline=None)
@given(a=st.integers(3, 6), h=st.integers(1, 2))
def test_dragonflies(a: int, h: int) -> None:
    """One link a pair of groups, so that none is further than local, global, local."""
    fabric = topo.dragonfly(1, a, h)
    far = distances(fabric, fabric.switches)
    groups = a * h + 1
    assert far.max() == 3
    assert girth(fabric) == 3
    # A switch has the others of its group and its h global links' far ends at 1.
    ones = a - 1 + h
    assert (np.count_nonzero(far == 1, axis=1) == ones).all()
    assert len(fabric.switches) == a * groups


@pytest.mark.parametrize("k", [2, 4, 6, 8])
def test_fat_trees(k: int) -> None:
    fabric = topo.fat_tree(k)
    n, half = k**3 // 4, k // 2
    total = 2 * (half - 1) + 4 * (half * half - half) + 6 * (n - half * half)
    assert topo.inventory(fabric).paths.mean_hops == pytest.approx(total / (n - 1))
    assert mean_of_pairs(all_distances(fabric)) == pytest.approx(total / (n - 1))
    assert girth(fabric) == (math.inf if k == 2 else 4)


@pytest.mark.parametrize(("k", "n"), [(2, 2), (2, 4), (3, 3), (4, 2), (4, 3)])
def test_k_ary_n_trees(k: int, n: int) -> None:
    fabric = k_ary_n_tree(k, n)
    total = sum(2 * level * (k - 1) * k ** (level - 1) for level in range(1, n + 1))
    assert mean_of_pairs(all_distances(fabric)) == pytest.approx(total / (k**n - 1))
    assert girth(fabric) == 4


@settings(max_examples=15, deadline=None)
@given(n=st.integers(2, 5), k=st.integers(1, 2))
def test_bcubes(n: int, k: int) -> None:
    """Two links a digit that differs; the shortest cycle changes two digits forth and back."""
    fabric = topo.bcube(n, k)
    hosts = n ** (k + 1)
    mean = 2 * (k + 1) * (1 - 1 / n) * hosts / (hosts - 1)
    assert mean_of_pairs(all_distances(fabric)) == pytest.approx(mean)
    assert girth(fabric) == 8


@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_dcells_of_one_level(n: int) -> None:
    """Cells are joined by one cable a pair: the shortest cycle goes round three, two links inside each."""
    fabric = topo.dcell(n, 1)
    assert girth(fabric) == 9
    far = all_distances(fabric)
    # One's cell at 2; over one's own cable at 1, its cell at 3 and where that cell's cables lead at 4; where the cables
    # of one's own cell lead at 3, and who is left of those cells at 5.
    counts = {1: 1, 2: n - 1, 3: 2 * (n - 1), 4: n - 1, 5: (n - 1) * (n - 2)}
    assert sum(counts.values()) == n * (n + 1) - 1
    for hops, count in counts.items():
        assert (np.count_nonzero(far == hops, axis=1) == count).all(), hops


@pytest.mark.parametrize(("r", "n"), [(4, 40), (6, 60), (8, 100)])
def test_random_graphs_are_no_closer_than_moores_bound(r: int, n: int) -> None:
    """At most r (r - 1)^(d - 1) switches at distance d: the least mean of any r-regular graph (Cerf et al. 1974)."""
    left, total, d = n - 1, 0.0, 1
    while left:
        here = min(left, r * (r - 1) ** (d - 1))
        total, left, d = total + d * here, left - here, d + 1
    least = total / (n - 1)
    lift = n // (r + 1)
    for fabric in (topo.jellyfish(n, r, 1, seed=1), topo.xpander(r, lift, 1)):
        switches = fabric.switches
        mean = mean_of_pairs(distances(fabric, switches))
        assert mean < 1.25 * least
        if len(switches) == n:
            assert mean >= least


@pytest.mark.parametrize(("k", "n"), [(2, 2), (2, 4), (3, 3), (4, 3), (5, 2), (6, 3), (8, 3)])
def test_flattened_butterflies(k: int, n: int) -> None:
    """Distance is in how many of n - 1 digits two switches differ; k^(n-1) switches of n (k - 1) + 1 ports."""
    fabric = topo.flattened_butterfly(k, n)
    count = k ** (n - 1)
    far = distances(fabric, fabric.switches)
    assert (len(fabric.endpoints), len(fabric.switches)) == (k**n, count)
    assert int(fabric.links.kind.is_any("scale_out").sum()) == count * (n - 1) * (k - 1) // 2
    assert (np.bincount(fabric.ports.node, minlength=len(fabric.nodes))[fabric.switches] == n * (k - 1) + 1).all()
    assert far.max() == n - 1
    assert mean_of_pairs(far) == pytest.approx((n - 1) * (1 - 1 / k) * count / (count - 1))


@pytest.mark.parametrize(("p", "leaves", "spines", "h"), [(2, 2, 2, 1), (2, 3, 2, 2), (4, 4, 4, 2), (3, 4, 2, 3)])
def test_dragonfly_plus(p: int, leaves: int, spines: int, h: int) -> None:
    """Groups of complete bipartite leaves and spines, spines * h + 1 of them, one link a pair."""
    fabric = topo.dragonfly_plus(p, leaves, spines, h)
    groups = spines * h + 1
    assert len(fabric.endpoints) == groups * leaves * p and len(fabric.switches) == groups * (leaves + spines)
    between = groups * (groups - 1) // 2
    assert int(fabric.links.kind.is_any("scale_out").sum()) == groups * leaves * spines + between
    # Up, over the one link of the two groups, down: leaves are three apart, two within a group.
    far = distances(fabric, fabric.switches)
    leaf = np.flatnonzero(fabric.nodes.tier[fabric.switches] == 1)
    apart = far[np.ix_(leaf, leaf)]
    mean = (2 * (leaves - 1) + 3 * (groups - 1) * leaves) / (groups * leaves - 1)
    assert apart.max() == 3 and mean_of_pairs(apart) == pytest.approx(mean)
