"""Dragonflies: counts, global links per pair and switch, distances, minimal routing and its trap, Valiant, refusals."""

from __future__ import annotations

import numpy as np
import pytest
from family_oracle import adjacency, distances, mean_of_pairs, n_switch_links, ports_used
from hypothesis import given, settings
from hypothesis import strategies as st

import topo
from topo.build.dragonfly import dragonfly, dragonfly_plus
from topo.fabric import Fabric
from topo.routing.scheme import Routing
from topo.symmetry import symmetry
from topo.traffic import Demand, all_to_all


def between_groups(fabric: Fabric) -> np.ndarray:
    """Global links of every two groups."""
    rows = np.flatnonzero(topo.Network.of(fabric).is_global)
    rows = topo.Network.of(fabric).links[rows]
    pod = fabric.nodes.pod.codes
    n = int(pod.max()) + 1
    counts = np.zeros((n, n), int)
    np.add.at(counts, (pod[fabric.link_a[rows]], pod[fabric.link_b[rows]]), 1)
    return counts + counts.T


@settings(max_examples=40, deadline=None)
@given(p=st.integers(1, 3), a=st.integers(1, 6), h=st.integers(1, 4))
def test_canonical_dragonflies(p: int, a: int, h: int) -> None:
    fabric = dragonfly(p, a, h)
    g = a * h + 1
    assert (len(fabric.endpoints), len(fabric.switches)) == (a * p * g, a * g)
    assert n_switch_links(fabric) == g * a * (a - 1) // 2 + g * (g - 1) // 2
    assert set(ports_used(fabric, fabric.switches)) == {p + a - 1 + h}
    assert (between_groups(fabric) == 1 - np.eye(g, dtype=int)).all()
    far = distances(fabric, fabric.switches)
    assert far.max() <= 3
    assert topo.inventory(fabric).paths.diameter_hops == far.max() + 2


@pytest.mark.parametrize(
    ("p", "a", "h", "g", "switches", "nodes", "links", "mean"),
    [(1, 2, 1, 3, 6, 6, 6, None), (2, 4, 2, 9, 36, 72, 90, 2.3429), (3, 6, 3, 19, 114, 342, 456, None),
     (4, 8, 4, 33, 264, 1056, 1452, None)],
)  # fmt: skip
def test_published_instances(
    p: int, a: int, h: int, g: int, switches: int, nodes: int, links: int, mean: float | None
) -> None:
    fabric = dragonfly(p, a, h)
    assert len(set(fabric.nodes.pod.values())) == g
    assert (len(fabric.switches), len(fabric.endpoints), n_switch_links(fabric)) == (switches, nodes, links)
    if mean:
        assert mean_of_pairs(distances(fabric, fabric.switches)) == pytest.approx(mean, abs=5e-5)


@settings(max_examples=40, deadline=None)
@given(a=st.integers(2, 6), h=st.integers(1, 4), groups=st.integers(2, 9), each=st.integers(1, 4))
def test_fewer_groups_and_several_links_a_pair_are_spread_evenly(a: int, h: int, groups: int, each: int) -> None:
    if (groups - 1) * each > a * h:
        with pytest.raises(topo.ParameterError, match="global links"):
            dragonfly(1, a, h, groups=groups, pair_links=each)
        return
    fabric = dragonfly(1, a, h, groups=groups, pair_links=each)
    assert (between_groups(fabric) == each * (1 - np.eye(groups, dtype=int))).all()
    used = ports_used(fabric, fabric.switches) - 1 - (a - 1)
    assert used.max() - used.min() <= 1 and used.max() <= h


def test_copies_of_a_pair_are_on_different_switches() -> None:
    fabric = dragonfly(1, 4, 4, groups=5, pair_links=4)
    pod = fabric.nodes.pod.codes
    joined = adjacency(fabric, fabric.switches)
    switch_pod = pod[fabric.switches]
    assert joined[switch_pod[:, None] != switch_pod[None, :]].max() == 1


@pytest.mark.parametrize("a", [2, 4, 7])
def test_two_groups_with_a_cable_for_all_switches_join_each_to_each(a: int) -> None:
    fabric = dragonfly(1, a, a, groups=2, pair_links=a * a)
    assert (adjacency(fabric, fabric.switches)[:a, a:] == 1).all()


@settings(max_examples=40, deadline=None)
@given(a=st.integers(2, 8), h=st.integers(1, 16), groups=st.integers(2, 5), copies=st.data())
def test_many_copies_of_a_pair_are_dealt_over_all_switches(a: int, h: int, groups: int, copies: st.DataObject) -> None:
    """No more than two cables between two switches while a pair has no more than a * a."""
    most = min(a * h // (groups - 1), a * a)
    if most:
        fabric = dragonfly(1, a, h, groups=groups, pair_links=copies.draw(st.integers(1, most)))
        pod = fabric.nodes.pod.codes[fabric.switches]
        assert adjacency(fabric, fabric.switches)[pod[:, None] != pod].max() <= 2


def test_a_few_large_groups_carry_an_all_to_all() -> None:
    """Four groups of 512 send 512 * 512 / 2047 rates over 170 cables; no cable of a group takes more than those."""
    fabric = dragonfly(16, 32, 16, groups=4, pair_links=170)
    assert 512 * 512 / 2047 < 170
    assert topo.throughput(fabric, all_to_all(fabric), routing="ecmp").theta_lower == pytest.approx(1.0)


@settings(max_examples=25, deadline=None)
@given(p=st.integers(1, 3), leaves=st.integers(1, 4), spines=st.integers(1, 4), h=st.integers(1, 3))
def test_dragonfly_plus(p: int, leaves: int, spines: int, h: int) -> None:
    fabric = dragonfly_plus(p, leaves, spines, h)
    g = spines * h + 1
    tier = fabric.nodes.tier[fabric.switches]
    assert (len(fabric.endpoints), len(fabric.switches)) == (g * leaves * p, g * (leaves + spines))
    assert n_switch_links(fabric) == g * leaves * spines + g * (g - 1) // 2
    assert set(ports_used(fabric, fabric.switches[tier == 1])) == {p + spines}
    assert set(ports_used(fabric, fabric.switches[tier == 2])) == {leaves + h}
    assert (between_groups(fabric) == 1 - np.eye(g, dtype=int)).all()
    leaf = tier == 1
    assert distances(fabric, fabric.switches)[np.ix_(leaf, leaf)].max() == 3


def test_kinds_of_groups() -> None:
    fabric = dragonfly([2, 0], 4, 8, groups=[4, 2], pair_links=[[1, 2], [2, 6]])
    counts = between_groups(fabric)
    compute = np.arange(6) < 4
    assert set(counts[np.ix_(compute, ~compute)].ravel()) == {2}
    assert counts[4, 5] == 6 and counts[0, 1] == 1
    assert len(fabric.endpoints) == 4 * 4 * 2
    assert set(fabric.nodes.pod.codes[fabric.endpoints]) == {0, 1, 2, 3}


def test_adapters_of_a_host_are_on_different_switches_of_one_group() -> None:
    fabric = dragonfly(4, 8, 2, groups=3, adapters_per_host=4, hosts=20)
    assert len(fabric.endpoints) == 80 and len(set(fabric.nodes.host.values())) == 20 + 1
    access = fabric.links.kind.is_any("access")
    pairs = {(fabric.nodes.host[a], int(b)) for a, b in zip(fabric.link_a[access], fabric.link_b[access], strict=True)}
    assert len(pairs) == 80
    on = np.bincount(fabric.link_b[access], minlength=len(fabric.nodes))[fabric.switches].reshape(3, 8)
    assert on.max() == 4 and on.sum(axis=1).tolist() == [32, 32, 16]


def all_to_all_theta(fabric: Fabric, routing: Routing | str = "ecmp") -> float:
    """Share of line rate that an all-to-all gets."""
    return topo.throughput(fabric, all_to_all(fabric), routing=routing).theta_lower


@pytest.mark.parametrize(("p", "a", "h", "theta"), [(1, 2, 1, 0.8), (2, 4, 2, 64 / 71)])
def test_uniform_traffic_loads_global_links_as_the_closed_form_says(p: int, a: int, h: int, theta: float) -> None:
    fabric = dragonfly(p, a, h, link_gbps=1)
    demand = all_to_all(fabric)
    loads = topo.link_loads(fabric, demand)
    network = topo.Network.of(fabric)
    arcs = np.repeat(2 * network.links[network.is_global], 2) + np.tile([0, 1], int(network.is_global.sum()))
    on_global = loads.arc_gbps[arcs]
    n = len(fabric.endpoints)
    assert on_global == pytest.approx((a * p) ** 2 / (n - 1))
    assert (a * p) ** 2 / (n - 1) == pytest.approx(theta)
    if (p, a, h) == (2, 4, 2):
        local = np.flatnonzero(
            fabric.links.kind.is_any("scale_out") & ~np.isin(np.arange(len(fabric.links)), arcs // 2)
        )
        assert loads.arc_gbps[2 * local].max() == pytest.approx(0.957746, abs=1e-6)


def neighbours_only(fabric: Fabric) -> Demand:
    """Every endpoint of a group sends its line rate to its like in the next group."""
    ends = fabric.endpoints
    per_group = int((fabric.nodes.pod.codes[ends] == 0).sum())
    return topo.traffic.shift(fabric, by=per_group)


@pytest.mark.parametrize(("p", "a", "h"), [(1, 2, 1), (2, 4, 2)])
def test_adversarial_traffic_on_minimal_paths_gets_one_global_link_a_group(p: int, a: int, h: int) -> None:
    fabric = dragonfly(p, a, h, link_gbps=1)
    assert topo.throughput(fabric, neighbours_only(fabric)).theta_lower == pytest.approx(1 / (a * p))


def test_the_trap_of_counting_hops() -> None:
    """Charged alike, paths over two global links count as short as local - global - local, and theta seems double."""
    fabric = dragonfly(2, 4, 2, link_gbps=1)
    demand = neighbours_only(fabric)
    assert topo.throughput(fabric, demand, routing=Routing(costs={})).theta_lower == pytest.approx(0.25)
    assert topo.throughput(fabric, demand, routing=Routing(costs={"global": 10})).theta_lower == pytest.approx(0.125)
    best = topo.throughput(fabric, demand, routing="optimal").theta_lower
    assert best > 0.25


def test_global_links_are_told_from_local_ones_by_pod() -> None:
    for fabric in (topo.fat_tree(4), topo.leaf_spine(2, 2, 2), topo.load("meta-llama3-24k"), topo.hyperx([3, 3], 1)):
        assert not topo.Network.of(fabric).is_global.any()
    assert int(topo.Network.of(dragonfly(2, 4, 2)).is_global.sum()) == 36
    assert int(topo.Network.of(dragonfly_plus(2, 2, 2, 2)).is_global.sum()) == 10


def test_symmetry_never_swaps_local_and_global_links() -> None:
    fabric = dragonfly(1, 2, 1)  # a ring of six: as a graph, local and global links are alike
    network = topo.Network.of(fabric)
    classes = symmetry(network).link_class[network.links]
    assert not set(classes[network.is_global]) & set(classes[~network.is_global])


def test_group_aligned_bisection_where_groups_are_even() -> None:
    fabric = dragonfly(2, 4, 2, groups=8, link_gbps=1)
    answer = topo.bisection_bandwidth(fabric)
    assert answer.lower_gbps <= answer.upper_gbps <= 16, "four groups against four, one link a pair"
    canonical = topo.bisection_bandwidth(dragonfly(2, 4, 2, link_gbps=1))
    assert canonical.upper_gbps <= 24


@pytest.mark.parametrize(
    ("build", "said"),
    [
        (lambda: dragonfly(2, 4, 2, groups=10), "9 global links, but a 4 with h 2 has 8 .*at most 9 groups"),
        (lambda: dragonfly(2, 4, 2, groups=2, pair_links=9), "use at most 8 links a pair, or h 3|use at most"),
        (lambda: dragonfly(2, 4, 2, groups=1), "groups is 1; the nearest that is built is 2"),
        (lambda: dragonfly([1, 2], 4, 2), "p is"),
        (lambda: dragonfly(1, 4, 2, groups=[2, 2], pair_links=[[1, 2], [1, 1]]), "symmetric"),
        (lambda: dragonfly(1, 4, 2, groups=[2, 2], pair_links=[[1, 1]]), "a row and a column each"),
        (lambda: dragonfly(0, 4, 2), "p is 0"),
        (lambda: dragonfly(2, 4, 2, hosts=73), "hosts is 73, but there are places for 72"),
        (lambda: dragonfly(3, 4, 2, adapters_per_host=5), "adapters_per_host is 5.*use 4 or fewer"),
        (lambda: dragonfly(2, 4, 2, radix=6), "has a radix of 6"),
        (lambda: dragonfly_plus(1, 2, 2, 1, groups=4), "spines 2 with h 1 has 2 ports for them; use at most 3 groups"),
        (lambda: dragonfly(1, 9000, 9000), "groups is"),
    ],
)  # fmt: skip
def test_what_cannot_be_built_is_refused(build, said: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(topo.ParameterError, match=said):
        build()
