"""HyperX, flattened butterflies, XGFTs, k-ary n-trees and HammingMesh: closed forms over many parameters."""

from __future__ import annotations

import math

import numpy as np
import pytest
from family_oracle import adjacency, all_distances, distances, n_switch_links, ports_used
from hypothesis import given, settings
from hypothesis import strategies as st

import topo
from topo.build.hamming_mesh import hamming_mesh
from topo.build.hyperx import flattened_butterfly, hyperx
from topo.build.xgft import k_ary_n_tree, xgft


@settings(max_examples=40, deadline=None)
@given(dims=st.lists(st.integers(2, 5), min_size=1, max_size=3), hosts=st.integers(1, 3), links=st.integers(1, 3))
def test_hyperx_joins_what_differs_in_one_coordinate(dims: list[int], hosts: int, links: int) -> None:
    fabric = hyperx(dims, hosts, links=links)
    n = math.prod(dims)
    assert (len(fabric.switches), len(fabric.endpoints)) == (n, n * hosts)
    assert n_switch_links(fabric) == links * n * sum(size - 1 for size in dims) // 2
    assert set(ports_used(fabric, fabric.switches)) == {hosts + links * sum(size - 1 for size in dims)}
    places = fabric.nodes.places()[fabric.switches]
    apart = (places[:, None] != places[None, :]).sum(axis=2)
    assert (adjacency(fabric, fabric.switches) == links * (apart == 1)).all()
    assert (distances(fabric, fabric.switches) == apart).all()
    assert topo.inventory(fabric).paths.diameter_hops == len(dims) + 2


@pytest.mark.parametrize(
    ("dims", "links", "hosts"),
    [([12, 8], [1, 1], 7), ([4, 4], [1, 1], 2), ([4, 6], [3, 1], 4), ([4, 4, 4], [2, 1, 1], 8)],
)
def test_bisection_of_even_hyperx_is_exact(dims: list[int], links: list[int], hosts: int) -> None:
    """min over dimensions of K_i S_i / (2 T) of full bisection, where below 1 (Ahn et al.)."""
    answer = topo.bisection_bandwidth(hyperx(dims, hosts, links=links, link_gbps=1))
    share = min(k * size / (2 * hosts) for k, size in zip(links, dims, strict=True))
    assert share <= 1 and answer.exact
    assert answer.ratio == pytest.approx(share)


def test_tsubame2_hyperx() -> None:
    fabric = topo.load("tsubame2-hyperx")
    assert (len(fabric.switches), len(fabric.endpoints), n_switch_links(fabric)) == (96, 672, 864)
    answer = topo.bisection_bandwidth(fabric)
    assert answer.exact and len(answer.links) == 192 and answer.ratio == pytest.approx(192 / 336)


@settings(max_examples=20, deadline=None)
@given(k=st.integers(2, 5), n=st.integers(2, 4))
def test_flattened_butterflies(k: int, n: int) -> None:
    fabric = flattened_butterfly(k, n)
    assert (len(fabric.endpoints), len(fabric.switches)) == (k**n, k ** (n - 1))
    assert set(ports_used(fabric, fabric.switches)) == {n * (k - 1) + 1}
    assert distances(fabric, fabric.switches).max() == n - 1


def nodes_of_level(m: list[int], w: list[int], level: int) -> int:
    return math.prod(m[level:]) * math.prod(w[:level])


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.integers(1, 4), st.integers(1, 3)), min_size=1, max_size=4))
def test_xgft_levels(levels: list[tuple[int, int]]) -> None:
    m, w = [a for a, _ in levels], [b for _, b in levels]
    fabric = xgft(m, w)
    h = len(m)
    tier = fabric.nodes.tier
    degree_up = np.bincount(np.minimum(fabric.link_a, fabric.link_b), minlength=len(fabric.nodes))
    degree_down = np.bincount(np.maximum(fabric.link_a, fabric.link_b), minlength=len(fabric.nodes))
    for level in range(h + 1):
        mine = tier == level
        assert int(mine.sum()) == nodes_of_level(m, w, level)
        assert set(degree_up[mine]) == ({w[level]} if level < h else {0})
        assert set(degree_down[mine]) == ({m[level - 1]} if level else {0})
    assert len(fabric.links) == sum(nodes_of_level(m, w, i) * w[i] for i in range(h))
    assert len(np.unique(np.stack([fabric.link_a, fabric.link_b]), axis=1).T) == len(fabric.links)


@settings(max_examples=25, deadline=None)
@given(m=st.lists(st.integers(2, 3), min_size=2, max_size=3), w=st.lists(st.integers(1, 3), min_size=2, max_size=2))
def test_xgft_subtrees_are_what_the_definition_says(m: list[int], w: list[int]) -> None:
    """Hosts whose numbers agree above digit i first meet at level i, and there in prod w_j, j <= i, switches."""
    up = [1, *w][: len(m)]
    fabric = xgft(m, up)
    hosts = np.flatnonzero(fabric.nodes.tier == 0)
    far = distances(fabric, np.arange(len(fabric.nodes)))[np.ix_(hosts, hosts)]
    number = np.arange(len(hosts))
    level = np.zeros_like(far)
    for i in range(len(m) - 1, -1, -1):
        same_above = (number[:, None] // math.prod(m[: i + 1])) == (number[None, :] // math.prod(m[: i + 1]))
        level = np.where(same_above, i + 1, level)
    np.fill_diagonal(level, 0)
    assert (far == 2 * level).all()


@pytest.mark.parametrize(
    ("m", "w", "full"),
    [
        ([4, 4, 4], [1, 4, 4], True),
        ([2, 2, 4], [1, 2, 2], True),
        ([4, 4], [1, 2], False),
        ([4, 4, 4], [1, 2, 4], False),
    ],
)
def test_full_bisection_where_the_widths_say_so(m: list[int], w: list[int], full: bool) -> None:
    answer = topo.bisection_bandwidth(xgft(m, w, link_gbps=1))
    assert answer.exact and (answer.ratio == 1) == full
    assert full == all(w[i + 1] >= m[i] for i in range(len(m) - 1))


@pytest.mark.parametrize("k", [4, 6, 8])
def test_a_fat_tree_is_an_xgft(k: int) -> None:
    tree, other = topo.fat_tree(k), xgft([k // 2, k // 2, k], [1, k // 2, k // 2])
    for fabric in (tree, other):
        assert len(set(fabric.nodes.pod.values(fabric.endpoints))) == k
    count = [[int((f.nodes.tier == t).sum()) for t in range(4)] for f in (tree, other)]
    assert count[0] == count[1]
    far = [np.bincount(distances(f, np.arange(len(f.nodes))).astype(int).ravel()).tolist() for f in (tree, other)]
    assert far[0] == far[1]


@pytest.mark.parametrize(("k", "n"), [(2, 2), (2, 4), (3, 3), (4, 2), (5, 1)])
def test_k_ary_n_trees(k: int, n: int) -> None:
    fabric = k_ary_n_tree(k, n, link_gbps=1)
    assert (len(fabric.endpoints), len(fabric.switches), len(fabric.links)) == (k**n, n * k ** (n - 1), n * k**n)
    answer = topo.bisection_bandwidth(fabric)
    assert answer.exact and answer.ratio == 1


@settings(max_examples=20, deadline=None)
@given(board=st.tuples(st.integers(1, 4), st.integers(1, 4)), boards=st.tuples(st.integers(1, 4), st.integers(1, 4)))
def test_hamming_meshes(board: tuple[int, int], boards: tuple[int, int]) -> None:
    (a, b), (x, y) = board, boards
    fabric = hamming_mesh(board, boards)
    n = a * b * x * y
    assert len(fabric.endpoints) == n and set(ports_used(fabric, fabric.endpoints)) == {4}
    assert len(fabric.switches) == b * y + a * x
    access = fabric.links.kind.is_any("access")
    assert int(access.sum()) == 2 * x * b * y + 2 * y * a * x
    assert int((~access).sum()) == x * y * (a * (b - 1) + b * (a - 1))
    used = ports_used(fabric, fabric.switches)
    assert sorted(used) == sorted([2 * x] * (b * y) + [2 * y] * (a * x))
    # An accelerator of a line meets only switches of its own row and column.
    places = fabric.nodes.places()
    for switch in fabric.switches.tolist():
        near = fabric.link_a[access & (fabric.link_b == switch)]
        assert len(set(places[near, 1])) == 1 or len(set(places[near, 0])) == 1


def test_hx2_and_hx4_meshes() -> None:
    small = hamming_mesh([2, 2], [16, 16])
    assert (len(small.endpoints), len(small.switches), set(ports_used(small, small.switches))) == (1024, 64, {32})
    assert int(all_distances(hamming_mesh([2, 2], [4, 4])).max()) == 4
    large = hamming_mesh([2, 2], [64, 64], radix=64)
    rows = [name for name in large.nodes.name[large.switches].tolist() if name.startswith("row-001-")]
    assert len(rows) == 6, "128 ends on four leaves of 32 and two spines"
    single = hamming_mesh([1, 1], [4, 3])
    assert all_distances(single).max() == 4, "lines of switches, as in a HyperX"


@pytest.mark.parametrize(
    ("build", "said"),
    [
        (lambda: hyperx([4, 1], 2), r"dims\[2\] is 1; the nearest that can be built is 2"),
        (lambda: hyperx([4, 4], 2, links=[1]), "links lists 1 values for 2 dimensions"),
        (lambda: hyperx([4, 4], 3, radix=8), "has a radix of 8"),
        (lambda: hyperx([4, 4], 0), "hosts_per_switch is 0"),
        (lambda: flattened_butterfly(1, 3), "k is 1; the nearest that can be built is 2"),
        (lambda: flattened_butterfly(4, 1), "n is 1; the nearest that can be built is 2"),
        (lambda: xgft([2, 2], [1]), "children lists 2 levels and parents 1"),
        (lambda: xgft([2, 0], [1, 1]), r"children\[2\] is 0"),
        (lambda: k_ary_n_tree(100, 8), "at most"),
        (lambda: hamming_mesh([2], [4, 4]), "board lists 1 sizes"),
        (lambda: hamming_mesh([2, 2], [100, 4], radix=8), r"boards\[1\] is 100; two tiers of radix 8 take at most 16"),
    ],
)
def test_what_cannot_be_built_is_refused(build, said: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(topo.ParameterError, match=said):
        build()
