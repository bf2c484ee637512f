"""Isolation: legal shapes route every permutation; each broken condition has its known verdict."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

import topo
from topo.errors import ParameterError
from topo.placement.isolating import broken_conditions, isolation, isolation_of
from topo.placement.isolation_flow import Owned, permutation_theta, routed


def one_pod(nodes: list[int], up: list[set[int]]) -> Owned:
    return Owned(tuple(0 for _ in nodes), tuple(nodes), tuple(frozenset(s) for s in up), {})


def legal(per_leaf: int, per_pod: int, pods: int, last_leaves: int, rest: int) -> Owned:
    """Full pods of equal leaves, a remainder pod of ``last_leaves`` full leaves and one of ``rest`` nodes."""
    pod, nodes, up, core = [], [], [], {}
    names = frozenset(range(per_leaf))
    for p in range(pods):
        pod += [p] * per_pod
        nodes += [per_leaf] * per_pod
        up += [names] * per_pod
        core |= {(p, i): frozenset(range(per_pod)) for i in range(per_leaf)}
    if last_leaves or rest:
        pod += [pods] * (last_leaves + (rest > 0))
        nodes += [per_leaf] * last_leaves + ([rest] if rest else [])
        up += [names] * last_leaves + ([frozenset(range(rest))] if rest else [])
        core |= {(pods, i): frozenset(range(last_leaves + (i < rest))) for i in range(per_leaf)}
    return Owned(tuple(pod), tuple(nodes), tuple(up), core if pods + (last_leaves + rest > 0) > 1 else {})


SHAPES = [
    legal(3, 1, 1, 0, 0), legal(2, 3, 1, 0, 0), legal(3, 2, 1, 0, 0), legal(2, 2, 2, 0, 0), legal(2, 2, 2, 1, 0),
    legal(2, 2, 2, 1, 1), legal(3, 2, 2, 1, 2), legal(3, 2, 1, 1, 1), legal(1, 3, 2, 2, 0), legal(3, 3, 2, 2, 2),
    legal(2, 2, 1, 0, 1), legal(3, 2, 3, 0, 2), one_pod([3, 3, 2], [{0, 1, 2}, {0, 1, 2}, {0, 2}]),
    one_pod([2, 1], [{0, 1}, {1}]), one_pod([4, 4, 4, 1], [set(range(4))] * 3 + [{3}]),
]  # fmt: skip


@pytest.mark.parametrize("owned", SHAPES)
def test_legal_shapes_route_every_permutation(owned: Owned) -> None:
    assert broken_conditions(owned) == []
    assert isolation_of(owned).answer == "isolated"
    n, rng = sum(owned.nodes), np.random.default_rng(0)
    for _ in range(25):
        wanted = rng.permutation(n)
        ways = routed(owned, wanted)
        leaf = owned.leaf_of_node
        assert Counter((i, j) for i, j, _, _ in ways) == Counter(zip(leaf.tolist(), leaf[wanted].tolist(), strict=True))
        used: Counter[tuple] = Counter()
        for i, j, index, core in ways:
            if i == j:
                continue
            assert index in owned.up[i]
            assert index in owned.up[j]
            used[("up", i, index)] += 1
            used[("down", j, index)] += 1
            if owned.pod[i] != owned.pod[j]:
                assert core in owned.core[owned.pod[i], index]
                assert core in owned.core[owned.pod[j], index]
                used[("up", owned.pod[i], index, core)] += 1
                used[("down", owned.pod[j], index, core)] += 1
        assert max(used.values(), default=1) == 1
    assert permutation_theta(owned, rng.permutation(n)) == pytest.approx(1.0)


def three_pods(second: int, third: int) -> Owned:
    """Pods of 2, 1 and 1 leaves of one node; the small pods own one core link each."""
    core = {(0, 0): frozenset({0, 1}), (1, 0): frozenset({second}), (2, 0): frozenset({third})}
    return Owned((0, 0, 1, 2), (1, 1, 1, 1), (frozenset({0}),) * 4, core)


S3 = {0, 1, 2}
BROKEN = [
    ("both remainders on the same spines", one_pod([3, 2, 2], [S3, {0, 1}, {0, 1}]), "not isolated", 2 / 3),
    ("cuts pass, a permutation does not", one_pod([3, 3, 2, 2], [S3, S3, {0, 1}, {0, 1}]), "not isolated", 5 / 6),
    ("remainders on different spines", one_pod([3, 2, 2], [S3, {0, 1}, {1, 2}]), "unknown", None),
    ("full leaves on different spines", one_pod([2, 2], [{0, 1}, {0, 2}]), "not isolated", 0.5),
    ("one uplink short", one_pod([3, 3], [S3, {0, 1}]), "not isolated", 2 / 3),
    ("remainder leaf outside", one_pod([2, 2, 1], [{0, 1}, {0, 1}, {2}]), "not isolated", 0.0),
    (
        "small pods on the same core",
        three_pods(0, 0),
        "not isolated",
        0.5,
    ),
    (
        "small pods on different cores",
        three_pods(0, 1),
        "unknown",
        None,
    ),
    (
        "full pods on different cores",
        Owned((0, 1), (1, 1), (frozenset({0}),) * 2, {(0, 0): frozenset({0}), (1, 0): frozenset({1})}),
        "not isolated",
        0.0,
    ),
]  # fmt: skip


@pytest.mark.parametrize(("what", "owned", "answer", "theta"), BROKEN, ids=[row[0] for row in BROKEN])
def test_broken_conditions(what: str, owned: Owned, answer: str, theta: float | None) -> None:
    found = isolation_of(owned, permutations=150)
    assert found.reasons
    assert found.answer == answer
    if answer == "not isolated":
        assert found.theta is not None
        assert permutation_theta(owned, found.witness) == pytest.approx(found.theta)
        assert found.theta < 1
    if theta is not None:
        assert found.theta == pytest.approx(theta, abs=1e-6)


def test_on_a_fabric() -> None:
    fabric = topo.fat_tree(4)
    rows = fabric.rows(["host-01", "host-02", "host-03", "host-04"])
    assert isolation(fabric, rows).answer == "the shape could be isolated"
    leaf = fabric.rows(["pod-1-leaf-1", "pod-1-leaf-2"])
    up = fabric.links.kind.is_any("scale_out") & (np.isin(fabric.link_a, leaf) | np.isin(fabric.link_b, leaf))
    links = np.flatnonzero(up)
    assert isolation(fabric, rows, owned_links=links).answer == "isolated"
    assert isolation(fabric, rows, owned_links=links[1:]).answer == "not isolated"
    # Three pods with one leaf of two nodes each, two of them of one leaf, one of two: sizes 2, 1, 1 leaves.
    odd = fabric.rows([f"host-{i:02}" for i in (1, 2, 3, 4, 5, 6, 9, 10)])
    assert isolation(fabric, odd).answer == "the shape cannot meet the conditions"


def test_over_pods_of_a_fabric() -> None:
    """Two whole pods of a fat-tree own everything between them."""
    fabric = topo.fat_tree(4)
    rows = fabric.rows([f"host-{i:02}" for i in range(1, 9)])
    names = fabric.nodes.name
    inside = np.char.startswith(names, "pod-1") | np.char.startswith(names, "pod-2")
    core = np.char.startswith(names, "core")
    a, b = fabric.link_a, fabric.link_b
    links = np.flatnonzero((inside[a] & (inside[b] | core[b])) | (inside[b] & (inside[a] | core[a])))
    links = links[fabric.links.kind.is_any("scale_out")[links]]
    assert isolation(fabric, rows, owned_links=links).answer == "isolated"


def test_endpoints_on_several_leaves_are_refused() -> None:
    fabric = topo.dual_tor(2, hosts_per_segment=4, rails=2, radix=16)
    with pytest.raises(ParameterError, match="endpoints on one leaf each"):
        isolation(fabric, fabric.endpoints[:4])
