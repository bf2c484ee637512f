"""The longest matching against distances and assignments by others."""

from __future__ import annotations

import itertools

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

import topo
from topo.build.assembly import Assembly, numbered
from topo.fabric import FORWARDS_NOTHING, Fabric, State
from topo.traffic import longest_matching
from topo.traffic.distance import leaf_groups
from topo.traffic.matching import find_longest_matching, largest_transport, spread


def random_fabric(seed: int, n: int, hosts: list[list[int]]) -> Fabric:
    assembly = Assembly("random")
    switches = assembly.add_nodes(numbered("s-{}", np.arange(n)), kind="switch", tier=1)
    rows = assembly.add_nodes(
        numbered("h-{}", np.arange(len(hosts))), kind="host", is_endpoint=True, forwards=FORWARDS_NOTHING
    )
    graph = nx.gnm_random_graph(n, 2 * n, seed=seed)
    edges = np.array(list(graph.edges()) + list(nx.path_graph(n).edges()))
    assembly.connect(switches[edges[:, 0]], switches[edges[:, 1]], 100)
    for host, to in zip(rows.tolist(), hosts, strict=True):
        assembly.connect(np.full(len(to), host), switches[to], 100, kind="access")
    return assembly.finish()


def oracle_hops(f: Fabric) -> np.ndarray:
    """Hops between switches of every two endpoints, by networkx on the switches alone."""
    graph = nx.Graph()
    graph.add_nodes_from(f.switches.tolist())
    leaves: dict[int, set[int]] = {int(e): set() for e in f.endpoints}
    for a, b in zip(f.link_a.tolist(), f.link_b.tolist(), strict=True):
        for one, other in ((a, b), (b, a)):
            if one in leaves:
                leaves[one].add(other)
        if a not in leaves and b not in leaves:
            graph.add_edge(a, b)
    length = dict(nx.all_pairs_shortest_path_length(graph))
    ends = f.endpoints.tolist()
    return np.array([[min(length[u][v] for u in leaves[s] for v in leaves[t]) for t in ends] for s in ends])


places = st.lists(st.lists(st.integers(0, 6), min_size=1, max_size=2, unique=True), min_size=4, max_size=12)


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 1000), hosts=places)
def test_hops_equal_those_of_networkx(seed: int, hosts: list[list[int]]) -> None:
    f = random_fabric(seed, 7, hosts)
    groups = leaf_groups(f)
    index = np.arange(len(hosts))
    found = groups.between(groups.group[index][:, None], groups.group[index][None, :])
    assert np.array_equal(found, oracle_hops(f))


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 1000), hosts=places)
def test_no_permutation_is_longer(seed: int, hosts: list[list[int]]) -> None:
    f = random_fabric(seed, 7, hosts)
    hops = oracle_hops(f)
    best = hops[linear_sum_assignment(hops, maximize=True)].sum()
    found = find_longest_matching(f)
    assert len(set(found.demand.source)) == len(set(found.demand.sink)) == len(found.demand.source)
    index = {int(e): i for i, e in enumerate(f.endpoints)}
    pairs = zip(found.demand.source.tolist(), found.demand.sink.tolist(), strict=True)
    assert found.hops.tolist() == [hops[index[s], index[t]] for s, t in pairs]
    # Inside a class of leaves the spread may fall short; the bound never does.
    assert found.hops.sum() <= best <= found.most_hops + 1e-9
    if found.is_longest:
        assert found.hops.sum() == best


@pytest.mark.parametrize("k", [4, 8, 16])
def test_on_a_fat_tree_everyone_leaves_the_pod(k: int) -> None:
    found = find_longest_matching(topo.fat_tree(k))
    assert found.is_longest
    assert (found.hops == 4).all() and len(found.hops) == k**3 // 4


def test_unequal_leaves_are_matched_as_a_transport() -> None:
    weight = np.array([[0.0, 3.0, 1.0], [2.0, 0.0, 5.0], [1.0, 1.0, 2.0]])
    count = np.array([3, 1, 2])
    amount, most = largest_transport(weight, count)
    assert amount.sum(axis=0).tolist() == amount.sum(axis=1).tolist() == count.tolist()
    units = np.repeat(np.arange(3), count)
    best = max(sum(weight[units[i], units[j]] for i, j in enumerate(p)) for p in itertools.permutations(range(6)))
    assert (amount * weight).sum() == most == best
    partner = spread(amount, count)
    assert sorted(partner.tolist()) == list(range(6))
    assert np.array_equal(np.histogram2d(units, units[partner], bins=3)[0], amount)


def test_many_unequal_leaves_are_cut_into_units() -> None:
    rng = np.random.default_rng(0)
    count = rng.integers(1, 40, 150)
    weight = rng.integers(0, 6, (150, 150)).astype(float)
    amount, most = largest_transport(weight, count)
    assert amount.sum(axis=0).tolist() == amount.sum(axis=1).tolist() == count.tolist()
    assert (amount * weight).sum() <= most


def test_endpoints_that_a_state_cuts_off_stay_out() -> None:
    f = topo.leaf_spine(leaves=4, spines=2, hosts_per_leaf=2)
    demand = longest_matching(f, state=State.without(f, nodes="leaf-1"))
    cut = set(f.rows(["host-1", "host-2"]).tolist())
    assert not cut & set(demand.source.tolist()) and len(demand.source) == 6
