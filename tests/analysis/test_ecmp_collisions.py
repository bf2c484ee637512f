"""Collisions of demands on fabrics: published values, exact against sampled, seeds, bad input, rendering."""

from __future__ import annotations

import json
import math
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from collision_oracle import between_leaves

import topo
from topo import Fabric, ParameterError
from topo.analysis.collisions import EcmpCollisions, ecmp_collisions
from topo.analysis.collisions.sample import EQUAL, FITS, LARGEST, MEAN, SLOWEST, Sampler, draw
from topo.analysis.intervals import wilson
from topo.fabric import State
from topo.routing.next_hops import NextHops
from topo.routing.scheme import Routing
from topo.traffic import Demand, all_to_all, incast, permutation, random_pairing, shift


def drawn(fabric: Fabric, demand: Demand, samples: int, queue_pairs: int = 1) -> np.ndarray:
    rates = np.repeat(fabric.links.capacity_gbps, 2)
    sampler = Sampler(NextHops.of(fabric), demand.source, demand.sink, demand.gbps, rates, queue_pairs)
    return draw(sampler, samples=samples, tolerance=0, seed=9).values


def test_leaf_shift_is_one_stage_per_leaf() -> None:
    f = topo.leaf_spine(8, 8, 8)
    for q, slowest in ((1, 0.285903), (4, 0.455700), (16, 0.634340), (64, 0.779915)):
        found = ecmp_collisions(f, shift(f, by=8), queue_pairs=q, samples=0)
        assert found.slowest_rate is not None and found.slowest_rate.is_exact
        assert found.slowest_rate.estimate == pytest.approx(slowest, abs=6e-7)
        if q == 1:
            assert found.slowdown is not None
            assert found.slowdown.estimate == pytest.approx(3.606961, abs=6e-7)
            assert found.p_no_collision is not None
            assert found.p_no_collision.estimate == pytest.approx(1.113e-21, rel=5e-4)
            assert found.mean_equal_share is not None
            assert found.mean_equal_share.estimate == pytest.approx(0.656391, abs=6e-7)


# L = S = h: mean max-min, slowest, in an inter-leaf permutation.
TABLE = [(4, 0.575, 0.365), (8, 0.529, 0.262), (16, 0.509, 0.206), (32, 0.503, 0.183)]


@pytest.mark.parametrize(("n", "mean", "slowest"), TABLE)
def test_leaf_spine_table(n: int, mean: float, slowest: float) -> None:
    """Means over permutations; one permutation differs by a little."""
    f = topo.leaf_spine(n, n, n)
    means, lows, highs = [], [], []
    for seed in range(6 if n < 32 else 2):
        found = ecmp_collisions(f, between_leaves(f, n, seed), samples=256, tolerance=0.003)
        assert found.mean_rate is not None and found.slowest_rate is not None
        means.append(found.mean_rate.estimate)
        lows.append(found.slowest_rate.lower)
        highs.append(found.slowest_rate.upper)
    assert np.mean(means) == pytest.approx(mean, abs=0.012 if n > 4 else 0.03)
    assert np.mean(lows) - 0.02 < slowest < np.mean(highs) + 0.02


# k, mean max-min, slowest, mean equal share, E[max load]: random derangements.
TREES = [
    (4, 0.59290, 0.40710, 0.58771, 2.579),
    (8, 0.47680, 0.23740, 0.45870, 4.288),
    (16, 0.42804, 0.17786, 0.40460, 5.695),
]


@pytest.mark.parametrize(("k", "mean", "slowest", "equal", "largest"), TREES)
def test_fat_tree_table(k: int, mean: float, slowest: float, equal: float, largest: float) -> None:
    f = topo.fat_tree(k)
    values = []
    for seed in range({4: 80, 8: 12, 16: 2}[k]):
        found = ecmp_collisions(f, permutation(f, seed=seed), samples=64, tolerance=0.003)
        assert found.mean_rate and found.slowest_rate and found.mean_equal_share and found.slowdown
        parts = (found.mean_rate, found.slowest_rate, found.mean_equal_share, found.slowdown)
        values.append([part.estimate for part in parts])
    spread = {4: 0.0756, 8: 0.0207, 16: 0.0062}[k] * 4 / math.sqrt(len(values))
    means = np.mean(values, axis=0)
    assert means[0] == pytest.approx(mean, abs=spread)
    assert means[1] == pytest.approx(slowest, abs=spread + 0.005)
    assert means[2] == pytest.approx(equal, abs=spread)
    assert means[3] == pytest.approx(largest, rel=0.03)


# L, S, h, k: P(no link above k flows) by sampling, the pair-corrected estimate.
JOINT = [
    (4, 4, 4, 2, 0.1844, 0.1822),
    (4, 4, 4, 3, 0.8831, 0.8843),
    (8, 8, 8, 3, 0.2353, 0.2358),
    (4, 16, 16, 3, 0.1484, 0.1470),
    (16, 16, 16, 4, 0.3034, 0.3015),
    (16, 16, 16, 5, 0.8686, 0.8683),
]


@pytest.mark.parametrize(("leaves", "spines", "hosts", "k", "p", "estimate"), JOINT)
def test_nowhere_more_than_k(leaves: int, spines: int, hosts: int, k: int, p: float, estimate: float) -> None:
    """Uplinks of k flow rates: the estimate is near both, the bracket holds the sampled share."""
    f = topo.leaf_spine(leaves, spines, hosts, link_gbps=400 * k)
    found, sampled = [], []
    for seed in range(8):
        demand = between_leaves(f, hosts, seed)
        answer = ecmp_collisions(f, demand, samples=0)
        values = drawn(f, demand, 1000)[:, FITS]
        assert not answer.p_no_overload.is_exact
        error = 4 * math.sqrt(p * (1 - p) / len(values))
        assert answer.p_no_overload.lower - error < values.mean() < answer.p_no_overload.upper + error
        found.append(answer.p_no_overload.estimate)
        sampled.append(values.mean())
    # Permutations differ in their bundles; the table's is another one.
    assert np.mean(found) == pytest.approx(np.mean(sampled), abs=0.012 if leaves * hosts > 16 else 0.02)
    assert np.mean(found) == pytest.approx(estimate, abs=0.05)


def test_bracket_of_the_note() -> None:
    f = topo.leaf_spine(16, 16, 16, link_gbps=1600)
    answer = ecmp_collisions(f, between_leaves(f, 16, 1), samples=0).p_no_overload
    assert answer.lower == pytest.approx(0.164, abs=0.01)
    assert answer.upper == pytest.approx(0.546, abs=0.002)


@pytest.mark.parametrize("n", [2, 3])
def test_latin_squares(n: int) -> None:
    """One flow for each ordered pair of leaves (within a leaf too, over other hosts): proper colourings are counted."""
    probability = {2: 1 / 8, 3: 4 / 6561}[n]
    # Leaves that send and leaves that receive are set apart, so that all n x n flows cross the spines.
    f = topo.leaf_spine(2 * n, n, n)
    ends = f.endpoints.reshape(2 * n, n)
    source = np.concatenate([ends[u] for u in range(n)])
    sink = np.array([ends[n + v][u] for u in range(n) for v in range(n)])
    answer = ecmp_collisions(f, Demand.of(f, "latin", source=source, sink=sink, gbps=400), samples=0)
    assert answer.p_no_collision is not None
    assert answer.p_no_collision.is_exact
    assert answer.p_no_collision.estimate == pytest.approx(probability, rel=1e-10)


CASES = {
    "leaf-spine": lambda: topo.leaf_spine(4, 4, 4),
    "oversubscribed": lambda: topo.leaf_spine(4, 2, 6),
    "fast uplinks": lambda: topo.leaf_spine(4, 4, 4, link_gbps=1000),
    "parallel": lambda: topo.leaf_spine(3, 2, 4, parallel=2),
    "fat-tree": lambda: topo.fat_tree(8),
    "cables missing": lambda: topo.fat_tree(8).without(links=[130, 200, 201, 300, 333]),
    "planes": lambda: topo.multi_plane(16, planes=2, radix=8),
    "zones": lambda: topo.joined_zones(2, leaves=4, spines=2, hosts_per_leaf=2, radix=8),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("q", [1, 3])
def test_exact_and_sampled_agree(name: str, q: int) -> None:
    f = CASES[name]()
    demand = permutation(f, seed=4)
    found = ecmp_collisions(f, demand, queue_pairs=q, samples=0)
    values = drawn(f, demand, 2000, q)
    assert found.slowest_rate and found.slowdown

    def error(column: np.ndarray) -> float:
        return 4 * float(column.std(ddof=1)) / math.sqrt(len(column)) + 5 / len(column)

    slowest, stretch = values[:, SLOWEST], np.maximum(values[:, LARGEST], 1)
    assert found.slowest_rate.lower - error(slowest) < slowest.mean() < found.slowest_rate.upper + error(slowest)
    assert found.slowdown.lower - error(stretch) < stretch.mean() < found.slowdown.upper + error(stretch)
    assert found.slowest_rate.estimate == pytest.approx(slowest.mean(), abs=error(slowest) + 0.012)
    low, high = wilson(int(values[:, FITS].sum()), len(values), alpha=1e-4)
    assert found.p_no_overload.lower <= high and low <= found.p_no_overload.upper
    if found.mean_equal_share is not None:
        equal = values[:, EQUAL]
        assert abs(found.mean_equal_share.estimate - equal.mean()) < error(equal)
    # The slowest flow is one over the largest utilization, sample by sample, and no mean is below the equal share's.
    assert slowest == pytest.approx(np.minimum(1, 1 / values[:, LARGEST]), rel=1e-9)
    assert (values[:, EQUAL] <= values[:, MEAN] + 1e-12).all()


def test_tier_laws_agree_with_sampled_loads() -> None:
    f = topo.fat_tree(4)
    demand = permutation(f, seed=4)
    found = ecmp_collisions(f, demand, samples=0)
    tier = next(t for t in found.tiers if t.name == "spine to core")
    assert (tier.links_available, tier.links_used, tier.standing.kind) == (16, 16, "exact")
    assert tier.max_load_mean_lower == tier.max_load_mean_upper
    from topo.routing.walk import at_random, walk

    n = 4000
    arcs = walk(NextHops.of(f), np.tile(demand.source, n), np.tile(demand.sink, n), at_random(3)).reshape(-1, n, 16)
    tiers = f.nodes.tier
    up = (tiers[f.arc_source] == 2) & (tiers[f.arc_target] == 3)
    load = np.zeros((n, 2 * len(f.links)), int)
    for hop in arcs:
        on = hop >= 0
        np.add.at(load, (np.nonzero(on)[0], hop[on]), 1)
    largest = load[:, up].max(axis=1)
    for k, (low, high) in tier.p_max_at_most.items():
        share = float((largest <= k).mean())
        assert abs(share - low) < 4 * math.sqrt(max(low * (1 - low), 1e-4) / n)
        assert low == high
    assert load[:, up].mean() == pytest.approx(tier.mean_load, abs=1e-12)


def test_unused_links_show() -> None:
    f = topo.fat_tree(4)
    found = ecmp_collisions(f, incast(f, "host-01"), samples=0)
    down = next(tier for tier in found.tiers if tier.name == "spine to leaf")
    assert (down.links_used, down.links_available) == (2, 16)
    assert found.slowest_rate is not None
    assert found.slowest_rate.estimate == pytest.approx(1 / 15, rel=1e-12)
    assert found.worst_links[0].target == "host-01"
    assert found.worst_links[0].p_overload_lower == 1.0


def test_collision_is_not_overload() -> None:
    f = topo.leaf_spine(2, 2, 2, link_gbps=800)
    found = ecmp_collisions(f, shift(f, by=2), samples=0)
    assert found.p_no_collision is not None
    assert found.p_no_overload.estimate == 1.0
    assert found.p_no_collision.estimate == pytest.approx(1 / 4, rel=1e-12)
    assert found.slowest_rate is not None and found.slowest_rate.estimate == 1.0


def test_flows_of_several_rates() -> None:
    f = topo.leaf_spine(4, 4, 4)
    demand = permutation(f, seed=4)
    mixed = Demand.of(
        f, "mixed", source=demand.source, sink=demand.sink, gbps=np.where(np.arange(16) % 3, 150.0, 350.0)
    )
    found = ecmp_collisions(f, mixed, samples=4000, tolerance=0)
    assert found.slowest_rate is not None and found.slowest_rate.standing.kind == "sampled"
    assert found.flow_gbps is None
    low, high, share = found.p_no_overload.lower, found.p_no_overload.upper, drawn(f, mixed, 4000)[:, FITS].mean()
    assert 0.01 < share < 0.99
    assert low - 0.03 <= share <= high + 0.03
    assert found.p_no_overload.standing.kind == "exact"


def test_one_block_of_several_rates_is_exact() -> None:
    """Two flows of 300 and two of 100 from one leaf to sinks of their own leaves: only the uplinks matter."""
    f = topo.leaf_spine(5, 3, 4)
    ends = f.endpoints.reshape(5, 4)
    demand = Demand.of(f, "fan", source=ends[0], sink=ends[1:, 0], gbps=[300.0, 300.0, 100.0, 100.0])
    found = ecmp_collisions(f, demand, samples=0)
    good = 0
    import itertools

    for spines in itertools.product(range(3), repeat=4):
        load = [0.0] * 3
        for spine, rate in zip(spines, (300, 300, 100, 100), strict=True):
            load[spine] += rate
        good += max(load) <= 400
    assert found.p_no_overload.estimate == pytest.approx(good / 81, rel=1e-12)
    up = next(tier for tier in found.tiers if tier.name == "leaf to spine")
    assert up.p_no_overload_lower == up.p_no_overload_upper == pytest.approx(good / 81, rel=1e-12)


def test_rates_that_differ_by_rounding_are_one() -> None:
    f = topo.leaf_spine(2, 2, 2)
    ends = f.endpoints
    found = ecmp_collisions(
        f, Demand.of(f, "x", source=ends[:2], sink=ends[2:], gbps=[400.0, 400.0 * (1 + 1e-15)]), samples=0
    )
    assert found.flow_gbps == 400.0


def test_the_same_answer_for_any_number_of_workers() -> None:
    f = topo.fat_tree(8)
    demand = permutation(f, seed=4)
    alone = ecmp_collisions(f, demand, samples=600, tolerance=0, seed=5)
    with ThreadPoolExecutor(3) as pool:
        many = ecmp_collisions(f, demand, samples=600, tolerance=0, seed=5, executor=pool)
    assert alone.mean_rate == many.mean_rate
    assert (alone.slowest_samples == many.slowest_samples).all()
    other = ecmp_collisions(f, demand, samples=600, tolerance=0, seed=6)
    assert other.mean_rate != alone.mean_rate


def test_sampler_travels_to_other_processes() -> None:
    f = topo.leaf_spine(2, 2, 2)
    demand = shift(f, by=2)
    sampler = Sampler(NextHops.of(f), demand.source, demand.sink, demand.gbps, np.full(24, 400.0), 1)
    seeds = np.random.SeedSequence(1).spawn(1)
    assert (pickle.loads(pickle.dumps(sampler)).run(seeds)[0] == sampler.run(seeds)[0]).all()


def test_exact_equal_share_narrows_the_mean() -> None:
    f = topo.fat_tree(8)
    demand = permutation(f, seed=4)
    rates = np.full(2 * len(f.links), 400.0)
    sampler = Sampler(NextHops.of(f), demand.source, demand.sink, demand.gbps, rates, 1)
    exact = ecmp_collisions(f, demand, samples=0).mean_equal_share
    assert exact is not None and exact.is_exact
    plain = draw(sampler, samples=512, tolerance=0, seed=2)
    helped = draw(sampler, samples=512, tolerance=0, seed=2, exact_equal_share=exact.estimate)
    truth = draw(sampler, samples=20_000, tolerance=0, seed=3, exact_equal_share=exact.estimate).looks[-1].mean
    assert helped.looks[-1].half_width < plain.looks[-1].half_width / 2.5
    assert abs(helped.looks[-1].mean - truth) < helped.looks[-1].half_width


def test_looks_spend_the_error_and_stop_at_the_tolerance() -> None:
    f = topo.fat_tree(16)
    rates = np.full(2 * len(f.links), 400.0)
    demand = permutation(f, seed=4)
    sampler = Sampler(NextHops.of(f), demand.source, demand.sink, demand.gbps, rates, 1)
    found = draw(sampler, samples=10_000, tolerance=0.001, seed=2)
    counts = [look.samples for look in found.looks]
    assert counts == sorted(counts) and counts[0] >= 32 and found.n == counts[-1] < 10_000
    assert all(look.half_width > 0.001 for look in found.looks[:-1]) and found.looks[-1].half_width <= 0.001


def test_hashing_as_switches_do_it() -> None:
    f = topo.fat_tree(8)
    demand = permutation(f, seed=4)
    ideal = ecmp_collisions(f, demand, samples=300)
    mixing = ecmp_collisions(f, demand, samples=300, hash="vendor-mixing")
    assert ideal.mean_rate and mixing.mean_rate and mixing.slowest_rate
    assert mixing.mean_rate.estimate == pytest.approx(ideal.mean_rate.estimate, abs=0.01)
    assert mixing.tiers == () and mixing.p_no_collision is None
    assert any("stand-in" in text for text in mixing.assumptions)
    same = topo.hashing.EcmpHash("crc-32", seed_per="fabric")
    polarized = ecmp_collisions(f, demand, samples=300, hash=same)
    assert polarized.mean_rate is not None
    assert polarized.mean_rate.estimate < 0.75 * ideal.mean_rate.estimate


def test_flows_without_a_path_are_counted_and_named() -> None:
    f = topo.fat_tree(4)
    cut = State.without(f, links=[0])
    found = ecmp_collisions(f, permutation(f, seed=0), state=cut, samples=64)
    assert found.lost_flows == 2
    assert all("host-01" in pair for pair in found.lost_pairs)
    assert found.mean_rate is not None and found.mean_rate.estimate > 0.4
    assert "2: first" in str(found)


def test_links_at_rate_zero_give_nothing() -> None:
    f = topo.leaf_spine(2, 2, 2)
    rates = f.links.capacity_gbps.copy()
    dead = int(np.flatnonzero((f.link_a == f.rows("leaf-1")[0]) & (f.link_b == f.rows("spine-1")[0]))[0])
    rates[dead] = 0
    one = Demand.of(f, "one", source=f.rows("host-1"), sink=f.rows("host-3"), gbps=400)
    found = ecmp_collisions(f, one, state=State(capacity_gbps=rates), samples=4000, tolerance=0)
    assert found.slowest_rate is not None and found.slowdown is None
    assert found.slowest_rate.lower <= 0.5 <= found.slowest_rate.upper
    assert found.mean_rate is not None
    assert found.mean_rate.estimate == pytest.approx(0.5, abs=0.03)
    assert found.worst_links[0].link == dead


def test_opened_hosts_are_sampled() -> None:
    f = topo.server("dgx-h100")
    found = ecmp_collisions(f, permutation(f, seed=1), samples=32)
    assert found.slowest_rate is not None and found.slowest_rate.standing.kind == "sampled"
    with pytest.raises(ParameterError, match="only be sampled"):
        ecmp_collisions(f, permutation(f, seed=1), samples=0)


def test_all_to_all_and_pairings() -> None:
    f = topo.fat_tree(4)
    every = ecmp_collisions(f, all_to_all(f), samples=64)
    assert every.flows == 240 and every.slowest_rate is not None
    assert every.slowest_rate.estimate == pytest.approx(0.76, abs=0.02)
    half = ecmp_collisions(f, random_pairing(f, seed=2), samples=64)
    assert half.flows == 8


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"queue_pairs": 16_385}, "UDP source ports"),
        ({"queue_pairs": 0}, "queue_pairs"),
        ({"queue_pairs": 2.5}, "queue_pairs"),
        ({"samples": -1}, "samples"),
        ({"seed": -1}, "seed"),
        ({"tolerance": math.nan}, "tolerance"),
        ({"routing": "spray"}, "sprays packets"),
        ({"routing": "optimal"}, "places flows"),
        ({"routing": Routing("single-path", table="destination-modulo")}, "table by destination"),
        ({"routing": "magic"}, "magic"),
        ({"hash": "rot13"}, "rot13"),
    ],
)
def test_bad_arguments_are_named(options: dict[str, object], match: str) -> None:
    f = topo.leaf_spine(2, 2, 2)
    with pytest.raises(ParameterError, match=match):
        ecmp_collisions(f, shift(f, by=2), **options)  # type: ignore[arg-type]


def test_demands_that_cannot_be() -> None:
    f = topo.leaf_spine(2, 2, 2)
    ends = f.endpoints
    with pytest.raises(ParameterError, match="to itself"):
        Demand.of(f, "x", source=ends[:1], sink=ends[:1], gbps=1)
    for rate in (-1.0, math.nan, math.inf):
        with pytest.raises(ParameterError, match=r"gbps\[0\]"):
            Demand.of(f, "x", source=ends[:1], sink=ends[1:2], gbps=rate)
    with pytest.raises(ParameterError, match="no flow"):
        ecmp_collisions(f, Demand.of(f, "x", source=ends[:1], sink=ends[1:2], gbps=0.0))
    idle = Demand.of(f, "x", source=ends[:2], sink=ends[2:], gbps=[400.0, 0.0])
    assert ecmp_collisions(f, idle, samples=0).idle_flows == 1


def test_single_path_by_hash_is_ecmp() -> None:
    f = topo.leaf_spine(2, 2, 2)
    one = ecmp_collisions(f, shift(f, by=2), samples=0)
    two = ecmp_collisions(f, shift(f, by=2), routing="single-path", samples=0)
    assert one.slowest_rate == two.slowest_rate


def test_link_aggregation_hashes_twice() -> None:
    """Two spines, one on a bundle of two: even splits between bundles, 1/4 1/4 1/2, or between cables, 1/3 each."""
    f = topo.leaf_spine(2, 2, 2, parallel=2)
    spine = f.rows("spine-2")[0]
    extra = [i for i in range(len(f.links)) if spine in (f.link_a[i], f.link_b[i])][::2]
    f = f.without(links=extra)
    ends = f.endpoints
    one = Demand.of(f, "one", source=ends[:1], sink=ends[2:3], gbps=400)
    up = np.flatnonzero(f.arc_source == f.rows("leaf-1")[0])
    up = up[~f.nodes.is_endpoint[f.arc_target[up]]]
    plain = ecmp_collisions(f, one, samples=0).arc_mean_gbps[up]
    bundled = ecmp_collisions(f, one, routing=Routing(lag=True), samples=0).arc_mean_gbps[up]
    assert sorted(plain) == pytest.approx([400 / 3] * 3)
    assert sorted(bundled) == pytest.approx([100, 100, 200])


def test_result_renders_everywhere() -> None:
    f = topo.fat_tree(4)
    found = ecmp_collisions(f, permutation(f, seed=1), samples=64)
    assert isinstance(found, EcmpCollisions)
    document = json.loads(found.to_json())
    assert document["slowest_rate"]["standing"].startswith("bracket")
    assert document["tiers"][0]["links_available"] == 16
    assert document["worst_links"][0]["mean_utilization"] > 0
    assert "arc_mean_gbps" not in document and "laws" not in document
    assert {"mean rate of the slowest flow", "worst link 1"} <= set(found.to_frame()["label"])
    again = pickle.loads(pickle.dumps(found))
    assert again.slowest_rate == found.slowest_rate
    assert found.load_pmf(0).sum() == pytest.approx(1)
    with pytest.raises(ParameterError, match="arc"):
        found.load_pmf(10**6)
    assert "<table>" in found._repr_html_()
