"""Collisions over weighted next hops: worked values, exact against sampled, real hashes, what is refused."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import topo
from topo import Fabric, ParameterError
from topo.analysis.collisions import ecmp_collisions
from topo.analysis.collisions.churn import link_churn
from topo.build.assembly import Assembly
from topo.fabric import FORWARDS_OWN_HOST, Origin, State
from topo.hashing.scheme import EcmpHash
from topo.routing.loads import link_loads
from topo.routing.scheme import Routing
from topo.table import Labels
from topo.traffic import Demand, permutation, shift


def two_leaves(rates: tuple[float, ...], hosts: int) -> tuple[Fabric, State, Demand]:
    """Leaf 1 with uplinks of these rates, all else wide; each of its hosts sends 1 Gb/s to one on leaf 2."""
    f = topo.leaf_spine(2, len(rates), hosts, link_gbps=100)
    gbps = f.links.capacity_gbps.copy()
    leaf = f.rows("leaf-1")[0]
    ends = np.where(f.link_a == leaf, f.link_b, np.where(f.link_b == leaf, f.link_a, -1))
    for spine, rate in zip(f.rows("spine-*"), rates, strict=True):
        gbps[ends == spine] = rate
    demand = Demand.of(f, "across", source=f.endpoints[:hosts], sink=f.endpoints[hosts:], gbps=1.0)
    return f, State(capacity_gbps=gbps), demand


@pytest.mark.parametrize(
    ("routing", "fits", "largest"), [("wcmp", 3 / 16, 115 / 64), ("ecmp", 4 / 27, 2.04938)], ids=["wcmp", "ecmp"]
)
def test_capacities_2_1_1(routing: str, fits: float, largest: float) -> None:
    """Four flows on capacities (2, 1, 1): P(no link above capacity) and E[largest utilization], published values."""
    f, state, demand = two_leaves((2, 1, 1), 4)
    found = ecmp_collisions(f, demand, routing=routing, state=state, samples=0)
    assert found.p_no_overload.is_exact
    assert found.p_no_overload.estimate == pytest.approx(fits, abs=1e-12)
    assert found.slowdown is not None
    assert found.slowdown.estimate == pytest.approx(largest, abs=1e-5)


def test_every_outcome_counted() -> None:
    """Five flows, rates 3, 2, 1: all 243 outcomes by hand."""
    rates = (3.0, 2.0, 1.0)
    f, state, demand = two_leaves(rates, 5)
    found = ecmp_collisions(f, demand, routing=Routing("wcmp", weights="local"), state=state, samples=0)
    p_fits = slowest = p_apart = 0.0
    for outcome in itertools.product(range(3), repeat=5):
        p = float(np.prod([rates[i] / 6 for i in outcome]))
        load = np.bincount(outcome, minlength=3)
        worst = float((load / np.array(rates)).max())
        p_fits += p * (worst <= 1 + 1e-12)
        slowest += p * min(1.0, 1 / worst)
        p_apart += p * (load.max() <= 1)
    assert found.p_no_overload.estimate == pytest.approx(p_fits, rel=1e-12)
    assert found.slowest_rate is not None
    assert found.slowest_rate.estimate == pytest.approx(slowest, rel=1e-12)
    assert found.p_no_collision is not None
    assert found.p_no_collision.estimate == pytest.approx(p_apart, abs=1e-15)


@pytest.mark.parametrize("weights", ["path", "local"])
def test_exact_and_sampled_agree(weights: str) -> None:
    """On a fat-tree with links lost and slowed: means of arcs are the fluid loads, samples lie in the brackets."""
    f = topo.fat_tree(6)
    random = np.random.default_rng(3)
    n = len(f.links)
    rates = f.links.capacity_gbps * np.where(random.random(n) < 0.2, 0.5, 1.0)
    state = State(link_present=(random.random(n) >= 0.04) | f.links.kind.is_any("access"), capacity_gbps=rates)
    routing, demand = Routing("wcmp", weights=weights), permutation(f, seed=2)
    found = ecmp_collisions(f, demand, routing=routing, state=state, samples=4000, tolerance=0)
    loads = link_loads(f, demand, routing=routing, state=state)
    assert found.lost_flows == loads.lost_pairs
    assert np.abs(found.arc_mean_gbps - loads.arc_gbps).max() < 1e-9
    assert found.slowest_rate is not None
    error = 4 * found.slowest_samples.std() / np.sqrt(found.samples)
    assert found.slowest_rate.lower - error < found.slowest_samples.mean() < found.slowest_rate.upper + error


def test_weights_help_where_a_link_is_slow() -> None:
    """A leaf's uplink at a quarter of its rate: weights keep most flows off it, even hashes do not."""
    f, state, demand = two_leaves((4, 4, 4, 1), 12)
    even, weighted = (
        ecmp_collisions(f, demand, routing=routing, state=state, samples=0).slowest_rate for routing in ("ecmp", "wcmp")
    )
    assert even is not None
    assert weighted is not None
    assert weighted.lower > 1.2 * even.upper


def test_estimate_of_a_bracket_comes_from_samples_where_stages_are_tied() -> None:
    """Leaf shift without one uplink: up and down loads are the same, so a product of both stages is far too low."""
    f = topo.leaf_spine(4, 4, 4)
    gone = np.flatnonzero((f.link_a == f.rows("leaf-1")[0]) & (f.link_b == f.rows("spine-2")[0]))
    state = State.without(f, links=gone)
    drawn = ecmp_collisions(f, shift(f, by=4), state=state, samples=4000, tolerance=0)
    assert drawn.slowest_rate is not None
    assert drawn.slowest_rate.estimate == pytest.approx(drawn.slowest_samples.mean())
    assert "4000 samples" in drawn.slowest_rate.standing.how
    # Four bundles that hash apart: two of four flows on four spines, one of three spines each for the others.
    f3, f4 = ({k: topo.analysis.collisions.occupancy.p_max_at_most(4, m, k) for k in (1, 2, 3, 4)} for m in (3, 4))
    law = {k: f3[k] ** 2 * f4[k] ** 2 for k in (1, 2, 3, 4)}
    exact = sum((law[k] - law.get(k - 1, 0.0)) / k for k in (1, 2, 3, 4))
    assert drawn.slowest_rate.lower <= exact <= drawn.slowest_rate.upper
    assert drawn.slowest_rate.estimate == pytest.approx(exact, abs=0.006)


@pytest.mark.parametrize("selection", ["modulo", "range", "resilient"])
def test_real_hashes_follow_weights(selection: str) -> None:
    f, state, _ = two_leaves((300, 200, 100), 2)
    many = Demand.of(f, "many", source=[f.endpoints[0]] * 3000, sink=[f.endpoints[2]] * 3000, gbps=0.01)
    from topo.analysis.collisions.hashed import hashed_paths
    from topo.hashing import roce_keys
    from topo.routing.next_hops import NextHops

    hops = NextHops.of(f, routing="wcmp", state=state)
    keys = roce_keys(f, many.source, many.sink, seed=1)
    arcs = hashed_paths(hops, many.source, many.sink, keys, hash=EcmpHash("crc-32", selection=selection))
    spine, count = np.unique(f.arc_target[arcs[1]], return_counts=True)
    assert spine.tolist() == f.rows("spine-*").tolist()
    assert count / 3000 == pytest.approx([1 / 2, 1 / 3, 1 / 6], abs=0.035)
    said = ecmp_collisions(f, many, routing="wcmp", state=state, hash="crc-32", samples=4).assumptions
    assert any("tables of 1024" in text for text in said)


def test_what_knows_no_weights_says_so() -> None:
    f = topo.leaf_spine(4, 4, 4)
    with pytest.raises(ParameterError, match="use 'ecmp' or 'wcmp'"):
        link_churn(f, [0], shift(f, by=4), routing="spray")
    with pytest.raises(ParameterError, match="sprays packets"):
        ecmp_collisions(f, shift(f, by=4), routing="spray")


def test_remedies_under_weights() -> None:
    f, state, demand = two_leaves((4, 4, 4, 1), 12)
    table = topo.ecmp_remedies(f, demand, routing="wcmp", state=state, queue_pairs=(8,), samples=0)
    rates = {remedy.kind: remedy.slowest.estimate for remedy in table.remedies}
    assert rates["as is"] < rates["striping"] < rates["spraying"] == 1.0


def test_small_flows_far_above_capacity() -> None:
    """An oversubscribed all-to-all, hundreds of small flows an uplink: bounds stay close, below the fluid limit."""
    f = topo.leaf_spine(4, 4, 32)
    found = ecmp_collisions(f, topo.traffic.all_to_all(f), samples=64)
    assert found.slowest_rate is not None
    assert found.slowdown is not None
    assert found.slowest_rate.upper - found.slowest_rate.lower < 0.004
    error = 4 * found.slowest_samples.std() / 8
    assert found.slowest_rate.lower - error < found.slowest_samples.mean() < found.slowest_rate.upper + error
    fluid = topo.throughput(f, topo.traffic.all_to_all(f)).theta_upper
    assert found.slowest_rate.upper < fluid


def test_opened_hosts_choose_adapters_by_weight() -> None:
    """One accelerator a host behind two adapters, cabled at 100 and 300 of 400 Gb/s: 1/4 x 1/4 + 3/4 x 3/4 = 5/8."""
    assembly = Assembly("two adapters")
    names = Labels.of(["host-1", "host-2"])
    gpu = assembly.add_nodes(
        ["gpu-1", "gpu-2"], kind="accelerator", is_endpoint=True, forwards=FORWARDS_OWN_HOST, host=names
    )
    nic = assembly.add_nodes(
        ["nic-1", "nic-2", "nic-3", "nic-4"], kind="nic", tier=-1, forwards=FORWARDS_OWN_HOST,
        host=Labels([0, 0, 1, 1], names.labels),
    )  # fmt: skip
    leaf = assembly.add_nodes(["leaf-1", "leaf-2"], kind="switch", tier=1)
    assembly.connect(np.repeat(gpu, 2), nic, 400, kind="host_io")
    assembly.connect(nic, np.tile(leaf, 2), 400, kind="access")
    f = assembly.finish(Origin())
    gbps = f.links.capacity_gbps.copy()
    for name, rate in (("nic-1", 100.0), ("nic-2", 300.0)):
        at = f.rows(name)[0]
        gbps[f.links.kind.is_any("access") & ((f.link_a == at) | (f.link_b == at))] = rate
    state = State(capacity_gbps=gbps)
    one = Demand.of(f, "one", source=f.endpoints[:1], sink=f.endpoints[1:], gbps=400)
    for routing, mean in (("ecmp", 1 / 2), ("wcmp", 5 / 8)):
        found = ecmp_collisions(f, one, routing=routing, state=state, samples=6000, tolerance=0)
        assert found.mean_rate is not None
        assert found.mean_rate.estimate == pytest.approx(mean, abs=4 * 0.25 / np.sqrt(6000))
    # A hashed queue pair finds them in tables of entries.
    real = ecmp_collisions(f, one, routing="wcmp", state=state, samples=2000, tolerance=0, hash="jenkins-lookup3")
    assert real.mean_rate is not None
    assert real.mean_rate.estimate == pytest.approx(5 / 8, abs=4 * 0.25 / np.sqrt(2000))
    # An adapter's cable dead: all flows on it move, and no other.
    dead = np.flatnonzero((f.link_a == f.rows("nic-2")[0]) & f.links.kind.is_any("access"))
    many = Demand.of(f, "many", source=[f.endpoints[0]] * 500, sink=[f.endpoints[1]] * 500, gbps=0.1)
    moved = link_churn(f, dead, many, hash=EcmpHash("crc-32", selection="resilient"), routing="wcmp")
    assert moved.moved == moved.on_links > 0
