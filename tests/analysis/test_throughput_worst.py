"""The worst permutation against brute force, the throughput upper bound against published numbers and optimal flows."""

from __future__ import annotations

import itertools
import json
import pickle

import numpy as np
import pytest
from direct_fabrics import jellyfish, switched, torus
from hypothesis import given, settings
from hypothesis import strategies as st

import topo
from topo import traffic
from topo.analysis.throughput import (
    largest_full_throughput,
    throughput,
    throughput_upper_bound,
    worst_case_throughput,
)
from topo.build.assembly import Assembly
from topo.errors import ParameterError
from topo.fabric import FORWARDS_NOTHING, State
from topo.routing.loads import link_loads
from topo.routing.scheme import Routing
from topo.traffic import Demand


def connected(n: int, more: list[tuple[int, int]]) -> list[tuple[int, int]]:
    return [(i, i - 1) for i in range(1, n)] + [(a % n, b % n) for a, b in more if a % n != b % n]


@settings(max_examples=25, deadline=None)
@given(
    n=st.integers(2, 5),
    more=st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), max_size=5),
    hosts=st.lists(st.integers(0, 4), min_size=2, max_size=5),
)
def test_no_permutation_is_worse_by_brute_force(n: int, more: list[tuple[int, int]], hosts: list[int]) -> None:
    f = switched(connected(n, more), [[h % n] for h in hosts])
    ends = f.endpoints
    least = np.inf
    for order in itertools.permutations(range(len(hosts))):
        moved = [i for i, j in enumerate(order) if i != j]
        if moved:
            sinks = ends[[order[i] for i in moved]]
            least = min(least, throughput(f, Demand.of(f, "p", source=ends[moved], sink=sinks, gbps=1)).theta_lower)
    found = worst_case_throughput(f)
    assert found.exact
    assert found.theta_upper == pytest.approx(least)
    if len(found.demand.source):
        assert throughput(f, found.demand).theta_lower == pytest.approx(found.theta_upper)


@pytest.mark.parametrize(
    ("build", "theta"),
    [
        (lambda: topo.leaf_spine(leaves=4, spines=2, hosts_per_leaf=8), 0.25),
        (lambda: topo.fat_tree(8), 1.0),
        (lambda: topo.leaf_spine(leaves=3, spines=4, hosts_per_leaf=4), 1.0),
    ],
)
def test_worst_permutation_of_clos_fabrics(build, theta: float) -> None:
    found = worst_case_throughput(build())
    assert found.exact and found.theta_upper == pytest.approx(theta)


@pytest.mark.parametrize("build", [lambda: torus(8), lambda: torus(4, 4), lambda: jellyfish(20, 5, 3)])
def test_the_witness_has_the_theta_and_random_permutations_none_below(build) -> None:
    f = build()
    found = worst_case_throughput(f)
    assert found.exact
    witness = throughput(f, found.demand)
    assert witness.theta_lower == pytest.approx(found.theta_upper)
    assert found.binding_direction[0] in witness.binding_direction
    for seed in range(30):
        assert throughput(f, traffic.permutation(f, seed=seed)).theta_lower >= found.theta_lower * (1 - 1e-9)
    assert throughput(f, traffic.longest_matching(f)).theta_lower >= found.theta_lower * (1 - 1e-9)


def test_a_lost_link_shows_in_the_worst_case() -> None:
    f = topo.leaf_spine(leaves=4, spines=4, hosts_per_leaf=4)
    state = State.without(f, links=np.flatnonzero(f.link_b == f.rows("spine-1")[0])[:1])
    found = worst_case_throughput(f, state=state)
    assert found.theta_upper == pytest.approx(0.75) and found.exact


def test_what_the_worst_case_is_not_known_for() -> None:
    with pytest.raises(ParameterError, match="not 'wcmp'"):
        worst_case_throughput(topo.fat_tree(4), routing="wcmp")
    with pytest.raises(ParameterError, match="does not hang on one switch"):
        worst_case_throughput(switched([(0, 1)], [[0, 1], [1]]))
    with pytest.raises(ParameterError, match="no path from"):
        worst_case_throughput(switched([(0, 1), (2, 3)], [[0], [2]]))
    f = topo.leaf_spine(leaves=2, spines=2, hosts_per_leaf=2)
    rates = f.links.capacity_gbps.copy()
    rates[0] = 100
    slow = topo.Fabric(
        f.name,
        f.nodes,
        f.ports,
        type(f.links)(
            **{c: getattr(f.links, c) for c in f.links.columns() if c != "capacity_gbps"}, capacity_gbps=rates
        ),
    )
    with pytest.raises(ParameterError, match="known for equal"):
        worst_case_throughput(slow)


def test_published_sizes_of_full_throughput() -> None:
    """Namyar and others, SIGCOMM 2021: radix 32, 111K, 256K and 3.97M servers at 8, 7 and 6 a switch."""
    assert largest_full_throughput(32, 8) == 111_008
    assert largest_full_throughput(32, 7) == 256_088
    assert largest_full_throughput(32, 6) == 3_967_278


@pytest.mark.parametrize(("radix", "h"), [(4, 1), (5, 2), (8, 3), (10, 4), (6, 3), (3, 1), (12, 7)])
def test_the_closed_form_counts_switch_by_switch(radix: int, h: int) -> None:
    r = radix - h
    n, total, level, left = 1, 0, 1, r
    while True:  # one switch more, at the nearest place that Moore's tree has left
        if left == 0:
            level, left = level + 1, r * (r - 1) ** level
        if left == 0 or h * (total + level) > r * (n + 1):
            break
        n, total, left = n + 1, total + level, left - 1
    assert largest_full_throughput(radix, h) == n * h


def test_impossible_sizes_are_refused() -> None:
    for h in (0, 32, 40):
        with pytest.raises(ParameterError, match="ports"):
            largest_full_throughput(32, h)


@settings(max_examples=20, deadline=None)
@given(leaves=st.integers(2, 6), spines=st.integers(1, 4), hosts=st.integers(1, 5), parallel=st.integers(1, 2))
def test_the_bound_of_a_leaf_spine_is_one_over_its_oversubscription(
    leaves: int, spines: int, hosts: int, parallel: int
) -> None:
    f = topo.leaf_spine(leaves=leaves, spines=spines, hosts_per_leaf=hosts, parallel=parallel, link_gbps=100)
    bound = throughput_upper_bound(f)
    assert bound.is_longest
    assert bound.theta == pytest.approx(spines * parallel * 100 / (hosts * 400))


@pytest.mark.parametrize("seed", range(3))
def test_the_bound_holds_for_the_optimum_of_its_matching(seed: int) -> None:
    f = jellyfish(16, 4, 3, seed=seed)
    bound = throughput_upper_bound(f)
    best = throughput(f, bound.matching, routing="optimal")
    assert best.theta_lower <= bound.theta * (1 + 1e-6)
    assert worst_case_throughput(f).theta_lower <= bound.theta


def test_full_bisection_is_not_full_throughput() -> None:
    """8 servers on switches of radix 32: 1,000 switches are at the bound of 1, 2,000 fall to 0.78."""
    small, large = jellyfish(1000, 24, 8), jellyfish(2000, 24, 8)
    assert throughput_upper_bound(small).theta == pytest.approx(1.0, abs=0.001)
    assert throughput_upper_bound(large).theta == pytest.approx(0.7829, abs=0.004)


def test_the_bound_is_nothing_on_one_switch() -> None:
    bound = throughput_upper_bound(switched([], [[0], [0], [0]]))
    assert bound.theta == float("inf") and json.loads(bound.to_json())["theta"] is None


def test_results_render_and_travel() -> None:
    f = topo.leaf_spine(leaves=4, spines=2, hosts_per_leaf=4)
    for found in (worst_case_throughput(f), throughput_upper_bound(f)):
        assert "worst permutation" in str(found)
        assert "<table>" in found._repr_html_()
        assert str(pickle.loads(pickle.dumps(found))) == str(found)
        assert json.loads(found.to_json())["fabric"] == f.name
        assert len(found.to_frame()) == len(found.rows())


@pytest.mark.parametrize("seed", range(6))
def test_bundles_against_every_permutation(seed: int) -> None:
    """Under LAG a bundle is one next hop and its slowest member binds; loads from the kernel, all 720 permutations."""
    random = np.random.default_rng(seed)
    assembly = Assembly("bundles")
    leaves = assembly.add_nodes([f"leaf-{i}" for i in range(3)], kind="switch", tier=1)
    spines = assembly.add_nodes(["spine-0", "spine-1"], kind="switch", tier=2)
    hosts = assembly.add_nodes([f"h-{i}" for i in range(6)], kind="host", is_endpoint=True, forwards=FORWARDS_NOTHING)
    assembly.connect(hosts, leaves[[0, 1, 2, 0, 1, 1]], 100, kind="access")
    for leaf in leaves:
        for spine in spines:
            for rate in random.choice([30.0, 50.0, 100.0], int(random.integers(1, 4))):
                assembly.connect([leaf], [spine], float(rate))
    f = assembly.finish()
    routing = Routing(lag=True)
    load = np.zeros((6, 6, 2 * len(f.links)))
    for a, b in itertools.permutations(range(6), 2):
        pair = Demand.of(f, "pair", source=hosts[[a]], sink=hosts[[b]], gbps=100)
        load[a, b] = link_loads(f, pair, routing=routing).arc_gbps
    capacity = np.repeat(f.links.capacity_gbps, 2)
    most = max((load[range(6), order].sum(axis=0) / capacity).max() for order in itertools.permutations(range(6)))
    found = worst_case_throughput(f, routing=routing)
    assert found.exact
    assert found.theta_upper == pytest.approx(1 / most, rel=1e-12)
    of_it = link_loads(f, found.demand, routing=routing)
    assert of_it.theta == pytest.approx(found.theta_upper, rel=1e-12)
    assert set(found.binding_links.rows.tolist()) <= set((of_it.binding_arcs // 2).tolist())
