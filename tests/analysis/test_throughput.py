"""Throughput by closed forms, bad input, and what a result says."""

from __future__ import annotations

import json
import math
import pickle

import numpy as np
import pytest
from direct_fabrics import dragonfly, switched, torus
from hypothesis import given, settings
from hypothesis import strategies as st

import topo
from topo import traffic
from topo.analysis.throughput import throughput
from topo.analysis.throughput.certificate import CertificateError, check
from topo.errors import InputError, ParameterError
from topo.fabric import Fabric, State
from topo.routing.scheme import Routing
from topo.traffic import Block, Demand

FLUID = ("ecmp", "wcmp", "spray", "optimal")


def unit(f: Fabric, gbps: float = 1.0) -> Demand:
    """Everyone to everyone at ``gbps`` in all."""
    ends = f.endpoints
    return Demand.of(f, "all-to-all", blocks=(Block.of(ends, ends, gbps / (len(ends) - 1)),))


@pytest.mark.parametrize(("spines", "everyone", "across"), [(8, 1.0, 1.0), (4, 20 / 24 * 31 / 40, 0.5), (2, 0.0, 0.25)])
def test_leaf_spine_of_the_published_sizes(spines: int, everyone: float, across: float) -> None:
    """4 leaves of 8 hosts: all-to-all min(1, (N-1)/(o (N-h))), permutation between leaves min(1, 1/o)."""
    f = topo.leaf_spine(leaves=4, spines=spines, hosts_per_leaf=8)
    o = 8 / spines
    closed = min(1.0, 31 / (o * 24))
    if everyone:
        assert closed == pytest.approx(everyone)
    for routing in FLUID:
        assert throughput(f, traffic.all_to_all(f), routing=routing).theta_lower == pytest.approx(closed, rel=1e-9)
        assert throughput(f, traffic.shift(f, by=8), routing=routing).theta_upper == pytest.approx(across, rel=1e-9)


@settings(max_examples=25, deadline=None)
@given(
    leaves=st.integers(2, 5),
    spines=st.integers(1, 5),
    hosts=st.integers(1, 5),
    parallel=st.integers(1, 2),
    rate=st.sampled_from([100, 200, 400]),
)
def test_leaf_spine_of_any_size(leaves: int, spines: int, hosts: int, parallel: int, rate: int) -> None:
    f = topo.leaf_spine(
        leaves=leaves, spines=spines, hosts_per_leaf=hosts, parallel=parallel, link_gbps=rate, host_gbps=200
    )
    o = hosts * 200 / (spines * parallel * rate)
    n = leaves * hosts
    for routing in ("ecmp", "optimal"):
        across = throughput(f, traffic.shift(f, by=hosts), routing=routing)
        assert across.theta_lower == pytest.approx(min(1, 1 / o)) and across.exact
        everyone = throughput(f, traffic.all_to_all(f), routing=routing)
        assert everyone.theta_upper == pytest.approx(min(1, (n - 1) / (o * (n - hosts)))) and everyone.exact


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10**6), k=st.sampled_from([4, 6, 8]))
def test_every_permutation_fits_a_fat_tree(seed: int, k: int) -> None:
    f = topo.fat_tree(k)
    for routing in ("ecmp", "optimal"):
        found = throughput(f, traffic.permutation(f, seed=seed), routing=routing)
        assert found.theta_lower == pytest.approx(1) and found.exact


@pytest.mark.parametrize(
    ("sides", "theta"),
    [
        ((8,), 0.875),
        ((4, 4), 1.875),
        ((8, 8), 0.984375),
        ((4, 4, 4), 1.96875),
        ((6, 6), 4 / 3 * 35 / 36),
        ((5, 5), 1.6),
        ((7,), 8 * 7 / 48 * 6 / 7),
    ],
)
def test_all_to_all_on_tori(sides: tuple[int, ...], theta: float) -> None:
    """(8/k)(N-1)/N for even sides, (8k/(k^2-1))(N-1)/N for odd; the even split is optimal."""
    k, n = sides[0], math.prod(sides)
    assert theta == pytest.approx((8 / k if k % 2 == 0 else 8 * k / (k**2 - 1)) * (n - 1) / n)
    f = torus(*sides)
    for routing in ("ecmp", "optimal"):
        found = throughput(f, unit(f), routing=routing)
        assert found.theta_lower == pytest.approx(theta, rel=1e-6) and found.exact
        check(f, unit(f), found)


def test_tornado_on_a_ring() -> None:
    """Everyone sends three ahead on a ring of eight: 1/3 on shortest paths, 8/15 at best."""
    f = torus(8)
    demand = traffic.shift(f, by=3).scaled(1 / 2)
    assert throughput(f, demand).theta_lower == pytest.approx(1 / 3)
    best = throughput(f, demand, routing="optimal")
    assert best.theta_lower == pytest.approx(8 / 15, rel=1e-6) and best.exact
    check(f, demand, best)


@pytest.mark.parametrize(("shape", "n"), [((1, 2, 1), 6), ((2, 4, 2), 72)])
def test_dragonfly_on_minimal_paths(shape: tuple[int, int, int], n: int) -> None:
    p, a, _ = shape
    f = dragonfly(*shape)
    assert len(f.endpoints) == n
    # Global links cost 3, so that two of them never beat local, global, local.
    minimal = Routing(costs={"scale_out": 3})
    everyone = throughput(f, unit(f), routing=minimal)
    assert everyone.theta_lower == pytest.approx(1)
    assert everyone.arc_gbps is not None
    links = f.links.kind
    assert everyone.arc_gbps[np.repeat(links.is_any("scale_out"), 2)] == pytest.approx((a * p) ** 2 / (n - 1))
    if n == 72:
        assert everyone.arc_gbps[np.repeat(links.is_any("internal"), 2)].max() == pytest.approx(0.957746, abs=1e-6)
    adversarial = throughput(f, traffic.shift(f, by=a * p), routing=minimal)
    assert adversarial.theta_lower == pytest.approx(1 / (a * p))
    assert adversarial.network_theta == pytest.approx(1 / (a * p))


def test_traffic_of_one_rank_stays_on_its_rail() -> None:
    f = topo.rail_optimized(hosts=16, rails=4, hosts_per_unit=16, radix=32)
    ranks = f.select(kind="nic", rail="rail-2")
    found = throughput(f, traffic.shift(f, ranks, by=5))
    assert found.theta_lower == pytest.approx(1)
    spines = np.isin(f.arc_target, f.select("*spine*"))
    assert spines.any() and found.arc_gbps is not None and not found.arc_gbps[spines].any()


@pytest.mark.parametrize(
    ("demand", "before", "even", "best"), [("incast", 1.0, 0.5, 0.75), ("all", 1.0, 0.625, 0.9375)]
)
def test_one_of_two_cables_lost(demand: str, before: float, even: float, best: float) -> None:
    """4 leaves of 4 hosts, 2 spines, two cables each; one of leaf 1 to spine 1 lost."""
    f = topo.leaf_spine(leaves=4, spines=2, hosts_per_leaf=4, parallel=2)
    wanted = traffic.all_to_all(f)
    if demand == "incast":
        wanted = Demand.of(f, "leaf 2 to leaf 1", source=f.rows("host-0[5-8]"), sink=f.rows("host-0[1-4]"), gbps=400)
    lost = np.flatnonzero((f.link_a == f.rows("leaf-1")[0]) & (f.link_b == f.rows("spine-1")[0]))[:1]
    state = State.without(f, links=lost)
    assert throughput(f, wanted).theta_lower == pytest.approx(before)
    assert throughput(f, wanted, state=state).theta_lower == pytest.approx(even)
    for routing in ("wcmp", "optimal"):
        found = throughput(f, wanted, routing=routing, state=state)
        assert found.theta_lower == pytest.approx(best) and found.exact
        check(f, wanted, found)
    binding = throughput(f, wanted, state=state)
    assert "spine-1 to leaf-1" in binding.binding_direction


def test_incast_is_bound_by_the_sinks_own_link() -> None:
    f = topo.fat_tree(4)
    for routing in (*FLUID, "single-path"):
        found = throughput(f, traffic.incast(f, "host-03"), routing=routing, samples=4)
        assert found.theta_lower == pytest.approx(1 / 15)
        assert found.binding_direction[0].endswith("to host-03")


def test_links_that_bind_come_worst_first_with_their_direction() -> None:
    f = switched([(0, 1), (1, 2)], [[0], [0], [2]], gbps=[1.0, 3.0], host_gbps=2.0)
    demand = Demand.of(f, "to the right", source=f.rows("h-[01]"), sink=f.rows("h-2").repeat(2), gbps=1)
    found = throughput(f, demand)
    assert found.theta_lower == 0.5
    assert found.binding_direction == ("s-0 to s-1",)
    assert found.binding_links[0].capacity_gbps == 1.0 and found.n_binding == 1


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 1000), factor=st.sampled_from([0.5, 2.0, 3.0]))
def test_doubling_rates_doubles(seed: int, factor: float) -> None:
    f = topo.leaf_spine(leaves=3, spines=2, hosts_per_leaf=3)
    demand = traffic.permutation(f, seed=seed)
    links = State(capacity_gbps=f.links.capacity_gbps * factor)
    for routing in FLUID:
        theta = throughput(f, demand, routing=routing).theta_lower
        assert throughput(f, demand, routing=routing, state=links).theta_lower == pytest.approx(factor * theta)
        assert throughput(f, demand.scaled(factor), routing=routing).theta_lower == pytest.approx(theta / factor)


def test_a_cable_more_may_cost_an_even_split() -> None:
    """The paradox: a slow shortcut draws all traffic off two fast hops."""
    hosts = [[0], [2]]
    before = switched([(0, 1), (1, 2)], hosts, gbps=[10, 10], host_gbps=10)
    after = switched([(0, 1), (1, 2), (0, 2)], hosts, gbps=[10, 10, 1], host_gbps=10)
    demand = traffic.shift(before)
    assert throughput(before, demand).theta_lower == 1
    assert throughput(after, demand).theta_lower == pytest.approx(0.1)
    assert throughput(after, demand, routing="optimal").theta_lower == pytest.approx(1)


@pytest.mark.parametrize("routing", [*FLUID, "single-path"])
def test_pairs_without_a_path_are_counted_not_averaged(routing: str) -> None:
    f = switched([(0, 1), (2, 3)], [[0], [1], [2], [3]])
    found = throughput(f, traffic.all_to_all(f), routing=routing, samples=2)
    assert found.lost_pairs == 8 and found.lost_gbps == pytest.approx(8 / 3)
    assert ("h-0", "h-2") in found.lost and ("h-0", "h-1") not in found.lost
    assert found.theta_lower == pytest.approx(3) if routing != "single-path" else True
    assert "8 of 12" in str(found)
    nobody = Demand.of(f, "apart", source=f.rows("h-0"), sink=f.rows("h-2"), gbps=1)
    alone = throughput(f, nobody, routing=routing, samples=2)
    assert alone.theta_lower == alone.theta_upper == 0 and alone.lost_pairs == 1


@pytest.mark.parametrize("routing", FLUID)
def test_an_endpoint_that_is_down_is_lost(routing: str) -> None:
    f = topo.leaf_spine(leaves=2, spines=2, hosts_per_leaf=2)
    found = throughput(f, traffic.all_to_all(f), routing=routing, state=State.without(f, nodes="host-1"))
    assert found.lost_pairs == 6
    assert found.theta_lower == pytest.approx(1.5)
    assert all("host-1" in pair for pair in found.lost)


@pytest.mark.parametrize("routing", [*FLUID, "single-path"])
def test_on_links_of_rate_0_flows_get_0(routing: str) -> None:
    f = topo.leaf_spine(leaves=2, spines=1, hosts_per_leaf=2)
    rates = f.links.capacity_gbps.copy()
    rates[np.flatnonzero(f.link_a == f.rows("leaf-1")[0])] = 0
    found = throughput(f, traffic.shift(f, by=2), routing=routing, state=State(capacity_gbps=rates), samples=2)
    assert found.theta_lower == found.theta_upper == 0
    # To weights by rate a link of rate 0 is no way at all.
    assert found.lost_pairs == (4 if routing == "wcmp" else 0)


def test_a_zero_link_beside_a_good_one_kills_ecmp_alone() -> None:
    f = topo.leaf_spine(leaves=2, spines=2, hosts_per_leaf=1)
    rates = f.links.capacity_gbps.copy()
    rates[np.flatnonzero((f.link_a == f.rows("leaf-1")[0]) & (f.link_b == f.rows("spine-1")[0]))] = 0
    state = State(capacity_gbps=rates)
    assert throughput(f, traffic.shift(f), state=state).theta_lower == 0
    assert throughput(f, traffic.shift(f), routing="optimal", state=state).theta_lower == pytest.approx(1)


def test_bad_input_is_named() -> None:
    f = topo.leaf_spine(leaves=2, spines=2, hosts_per_leaf=2)
    ends = f.endpoints
    with pytest.raises(ParameterError, match="'host-1' to itself"):
        Demand.of(f, "self", source=ends[:1], sink=ends[:1], gbps=1)
    for bad in (-1.0, math.nan, math.inf):
        with pytest.raises(ParameterError, match=rf"gbps\[0\] is {bad}"):
            Demand.of(f, "bad", source=ends[:1], sink=ends[1:2], gbps=bad)
    with pytest.raises(ParameterError, match="wants nothing"):
        throughput(f, traffic.all_to_all(f).scaled(0))
    with pytest.raises(ParameterError, match="unknown routing scheme 'best'"):
        throughput(f, traffic.all_to_all(f), routing="best")
    with pytest.raises(ParameterError, match="is no demand"):
        throughput(f, "all-to-all")  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="accuracy is 0"):
        throughput(f, traffic.all_to_all(f), routing="optimal", accuracy=0)
    unknown = State(capacity_gbps=np.full(len(f.links), np.nan))
    for routing in FLUID:
        with pytest.raises(InputError, match="unknown"):
            throughput(f, traffic.all_to_all(f), routing=routing, state=unknown)


@pytest.mark.parametrize("routing", [*FLUID, "single-path"])
def test_a_result_renders_and_travels(routing: str) -> None:
    f = topo.leaf_spine(leaves=3, spines=2, hosts_per_leaf=4)
    found = throughput(f, traffic.all_to_all(f), routing=routing, samples=3)
    text = str(found)
    assert ("theta: the share of" in text and "leaf-1 to spine-1" in text) or routing == "single-path"
    data = json.loads(found.to_json())
    assert data["theta_lower"] == found.theta_lower and data["exact"] == found.exact
    assert data["binding_links"][0]["capacity_gbps"] == 400
    assert len(found.to_frame()) == len(found.rows())
    assert "<table>" in found._repr_html_()
    again = pickle.loads(pickle.dumps(found))
    assert str(again) == text


def test_a_forged_answer_is_refused() -> None:
    import dataclasses

    f = topo.leaf_spine(leaves=4, spines=2, hosts_per_leaf=4)
    demand = traffic.all_to_all(f)
    for routing in ("ecmp", "optimal"):
        found = throughput(f, demand, routing=routing)
        check(f, demand, found)
        with pytest.raises(CertificateError):
            check(f, demand, dataclasses.replace(found, theta_lower=found.theta_lower * 1.01))
        with pytest.raises(CertificateError):
            check(f, demand, dataclasses.replace(found, theta_upper=found.theta_upper * 0.99))
        assert found.arc_gbps is not None
        forged = found.arc_gbps.copy()
        forged[np.flatnonzero(forged)[0]] *= 0.5
        with pytest.raises(CertificateError):
            check(f, demand, dataclasses.replace(found, arc_gbps=forged))
