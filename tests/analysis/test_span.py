"""Leaves and pods spanned, and the least possible, against counting and exhaustive search."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest

import topo
from topo.analysis.span import _fewest, _knapsack, leaves_spanned
from topo.build.assembly import Assembly
from topo.fabric import FORWARDS_NOTHING, Fabric, State
from topo.table import Labels


def test_leaf_spine_hosts() -> None:
    fabric = topo.leaf_spine(leaves=4, spines=2, hosts_per_leaf=8)
    span = leaves_spanned(fabric, ["host-01", "host-02", "host-09", "host-32"])
    assert (span.n_hosts, span.n_endpoints, span.n_leaves, span.least_leaves) == (4, 4, 3, 1)
    assert span.leaves == ("leaf-1", "leaf-2", "leaf-4")
    assert span.least_leaves_standing.kind == "exact"
    assert (span.n_pods, span.least_pods) == (None, None)
    assert "unknown: the leaves bear no pod" in str(span)


@pytest.mark.parametrize(("hosts", "leaves", "least"), [(1, 8, 8), (32, 8, 8), (33, 16, 16), (65, 24, 24)])
def test_rail_optimized_units(hosts: int, leaves: int, least: int) -> None:
    fabric = topo.rail_optimized(128)
    span = leaves_spanned(fabric, [f"host-{i + 1:03}" for i in range(hosts)])
    assert (span.n_hosts, span.n_endpoints, span.n_leaves, span.least_leaves) == (
        hosts,
        8 * hosts,
        leaves,
        least,
    )
    assert (span.n_pods, span.least_pods) == (leaves // 8, least // 8)


def test_spread_over_units() -> None:
    fabric = topo.rail_optimized(128)
    span = leaves_spanned(fabric, [f"host-{32 * unit + 1:03}" for unit in range(4)])
    assert (span.n_leaves, span.least_leaves, span.n_pods, span.least_pods) == (32, 8, 4, 1)


def test_some_rails_only_count_endpoints() -> None:
    """One adapter of each host of a unit: one leaf holds all 32."""
    fabric = topo.rail_optimized(128)
    span = leaves_spanned(fabric, [f"host-{i + 1:03}-nic-3" for i in range(32)])
    assert (span.n_hosts, span.n_endpoints, span.n_leaves, span.least_leaves) == (32, 32, 1, 1)
    assert "endpoints" in span.least_leaves_standing.how


def test_fat_tree_pods() -> None:
    fabric = topo.fat_tree(8)
    span = leaves_spanned(fabric, "host-*")
    assert (span.n_leaves, span.least_leaves, span.n_pods, span.least_pods) == (32, 32, 8, 8)
    few = leaves_spanned(fabric, ["host-001", "host-005", "host-017"])
    assert (few.n_leaves, few.least_leaves, few.n_pods, few.least_pods) == (3, 1, 2, 1)
    assert few.pods == ("pod-1", "pod-2")


def attached_fabric(sets: list[list[int]], n_leaves: int) -> Fabric:
    assembly = Assembly("sets")
    leaf = assembly.add_nodes([f"leaf-{i}" for i in range(n_leaves)], kind="switch", tier=1)
    names = [f"h{i}" for i in range(len(sets))]
    host = assembly.add_nodes(
        names, kind="host", is_endpoint=True, forwards=FORWARDS_NOTHING, host=Labels.distinct(names)
    )
    for node, mine in zip(host, sets, strict=True):
        if mine:
            assembly.connect(np.repeat(node, len(mine)), leaf[mine], 100, kind="access")
    return assembly.finish()


def brute_least(sets: list[list[int]], number: int) -> int:
    attached = [set(s) for s in sets if s]
    return min(len(set().union(*choice)) for choice in itertools.combinations(attached, number))


@pytest.mark.parametrize("seed", range(40))
def test_random_attachments_against_every_choice(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n_leaves = 6
    sets = [
        sorted(rng.choice(n_leaves, int(rng.integers(1, 4)), replace=False).tolist())
        for _ in range(int(rng.integers(3, 9)))
    ]
    if seed % 2:  # disjoint sets of unequal size: the knapsack
        blocks = [[0], [1, 2], [3, 4, 5]]
        sets = [blocks[int(i)] for i in rng.integers(0, 3, len(sets))]
    fabric = attached_fabric(sets, n_leaves)
    number = int(rng.integers(1, len(sets) + 1))
    chosen = rng.choice(len(sets), number, replace=False)
    span = leaves_spanned(fabric, [f"h{i}" for i in chosen.tolist()])
    least = brute_least(sets, number)
    assert span.n_leaves == len(set().union(*(sets[i] for i in chosen)))
    assert span.least_leaves <= least <= span.n_leaves
    assert span.least_leaves_standing.kind in ("exact", "lower bound")
    if span.least_leaves_standing.kind == "exact":
        assert span.least_leaves == least
    if seed % 2:
        assert span.least_leaves_standing.kind == "exact"


def test_bound_is_often_exact_where_sets_overlap() -> None:
    kinds = []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        members = [np.sort(rng.choice(5, 2, replace=False)) for _ in range(4)]
        members = list({tuple(m.tolist()): m for m in members}.values())
        hosts = rng.integers(1, 4, len(members))
        kinds.append(_fewest(members, hosts, int(rng.integers(1, hosts.sum() + 1)))[1])
    assert sum(kinds) > 30


def test_knapsack_against_every_choice() -> None:
    rng = np.random.default_rng(0)
    for _ in range(100):
        n = int(rng.integers(1, 8))
        costs, sizes = rng.integers(1, 5, n), rng.integers(1, 9, n)
        number = int(rng.integers(1, sizes.sum() + 1))
        best = min(
            sum(costs[list(choice)])
            for size in range(1, n + 1)
            for choice in itertools.combinations(range(n), size)
            if sizes[list(choice)].sum() >= number
        )
        assert _knapsack(costs, sizes, number) == best


def test_hosts_of_unequal_size_give_a_bound() -> None:
    assembly = Assembly("mixed")
    leaf = assembly.add_nodes(["a", "b"], kind="switch", tier=1)
    ends = assembly.add_nodes(
        ["x1", "x2", "y1"],
        kind="nic",
        is_endpoint=True,
        forwards=FORWARDS_NOTHING,
        host=Labels.of(["x", "x", "y"]),
    )
    assembly.connect(ends, leaf[[0, 1, 1]], 100, kind="access")
    span = leaves_spanned(assembly.finish(), ["x", "y"])
    assert (span.n_hosts, span.n_leaves, span.least_leaves) == (2, 2, 2)
    assert span.least_leaves_standing.kind == "lower bound"


def test_unattached_and_absent() -> None:
    fabric = attached_fabric([[0], [], [1]], 2)
    span = leaves_spanned(fabric, "h*")
    assert (span.n_hosts, span.n_leaves, span.n_unattached_endpoints) == (3, 2, 1)
    down = State.without(fabric, nodes="h0")
    assert leaves_spanned(fabric, "h*", state=down).n_hosts == 2
    with pytest.raises(topo.ParameterError, match="present"):
        leaves_spanned(fabric, "h0", state=down)
    with pytest.raises(topo.ParameterError, match="no node or host"):
        leaves_spanned(fabric, "nothing-*")
    with pytest.raises(topo.ParameterError, match="no endpoint"):
        leaves_spanned(fabric, "leaf-*")


def test_renders() -> None:
    import json
    import pickle

    span = leaves_spanned(topo.fat_tree(4), "host-*")
    assert json.loads(span.to_json())["least_leaves"] == 8
    assert pickle.loads(pickle.dumps(span)) == span
    assert "least possible leaves" in str(span)


def test_selene_hosts(shared_data: Path) -> None:
    """Each of the 458 compute hosts touches the eight rail leaves of its group."""
    fabric = topo.read(shared_data / "ibnetdiscover" / "selene.compute.txt")
    span = leaves_spanned(fabric, "luna-*")
    assert (span.n_hosts, span.n_endpoints) == (458, 3664)
    assert span.n_leaves == 25 * 8
    assert (span.least_leaves, span.least_leaves_standing.kind) == (25 * 8, "exact")
    one = fabric.nodes.host.values(fabric.rows("luna-*"))[0]
    single = leaves_spanned(fabric, str(one))
    assert (single.n_endpoints, single.n_leaves, single.least_leaves) == (8, 8, 8)


def test_a_leaf_without_a_pod_label_counts_as_a_pod() -> None:
    """Else hosts on it would be free, and the least above what fewer labelled pods reach."""
    from topo.build.assembly import Assembly
    from topo.fabric import FORWARDS_NOTHING

    assembly = Assembly("half labelled")
    leaf = np.concatenate(
        [assembly.add_nodes([f"leaf-{i}"], kind="switch", tier=1, pod=pod) for i, pod in enumerate([None, "p1"])]
    )
    spine = assembly.add_nodes(["spine"], kind="switch", tier=2)
    for i in range(2):
        host = assembly.add_nodes([f"h{i}"], kind="host", is_endpoint=True, forwards=FORWARDS_NOTHING, host=f"h{i}")
        assembly.connect(host, leaf[[i]], 100, kind="access")
    assembly.stripe(leaf, spine, 1, 100)
    fabric = assembly.finish()
    both = topo.leaves_spanned(fabric, ["h0", "h1"])
    assert (both.n_pods, both.least_pods) == (2, 2)
    assert both.pods == ("p1", "leaf-0")
    assert topo.leaves_spanned(fabric, "h1").least_pods == 1
