"""Values of the method notes that no other file holds: products and brackets of two tiers, larger fat-trees, tables."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from collision_oracle import between_leaves, own_mean_largest

import topo
from topo.analysis.collisions import ecmp_collisions
from topo.analysis.collisions.bundles import split_mean_rate
from topo.analysis.collisions.equal_share import two_stage_share
from topo.analysis.collisions.occupancy import max_load_distribution, p_max_at_most
from topo.fabric import State
from topo.hashing import roce_flow_label, roce_source_port
from topo.hashing.functions import hash_function
from topo.hashing.keys import FlowKeys
from topo.hashing.selection import BucketTable, select
from topo.routing.loads import link_loads
from topo.routing.scheme import Routing
from topo.traffic import Demand, permutation, shift


@pytest.mark.parametrize(("spines", "hosts", "mean", "slowest"), [(16, 8, 0.695, 0.327), (32, 16, 0.674, 0.269)])
def test_twice_the_spines(spines: int, hosts: int, mean: float, slowest: float) -> None:
    """Permutations between leaves by sampling, max-min."""
    f = topo.leaf_spine(hosts, spines, hosts)
    found = [ecmp_collisions(f, between_leaves(f, hosts, seed), samples=256) for seed in range(4)]
    rates = [one.mean_rate.estimate for one in found if one.mean_rate]
    slow = [one.slowest_rate.estimate for one in found if one.slowest_rate]
    assert np.mean(rates) == pytest.approx(mean, abs=0.012)
    assert np.mean(slow) == pytest.approx(slowest, abs=0.008)


def test_uplinks_four_times_as_fast_a_quarter_as_many() -> None:
    """Sixteen leaves of sixteen hosts under four spines: bounds, estimate, sampled and mean of the remedy table."""
    f = topo.leaf_spine(16, 4, 16)
    rates = np.where(f.links.kind.is_any("scale_out"), 1600.0, 400.0)
    found = ecmp_collisions(f, between_leaves(f, 16, 1), state=State(capacity_gbps=rates), samples=512)
    assert found.slowest_rate and found.mean_rate and found.mean_equal_share
    assert found.slowest_rate.lower == pytest.approx(0.447, abs=0.008)
    assert found.slowest_rate.upper == pytest.approx(0.485, abs=0.002)
    assert found.slowest_rate.estimate == pytest.approx(0.4574, abs=0.002)
    assert found.slowest_samples.mean() == pytest.approx(0.457, abs=0.006)
    assert found.mean_equal_share.estimate == pytest.approx(0.739, abs=0.004)
    assert found.mean_rate.estimate == pytest.approx(0.763, abs=0.006)


def test_bounds_of_twice_the_uplinks_with_four_queue_pairs() -> None:
    f = topo.leaf_spine(16, 32, 16)
    found = ecmp_collisions(f, between_leaves(f, 16, 1), queue_pairs=4, samples=0).slowest_rate
    assert found is not None
    assert found.lower == pytest.approx(0.510, abs=0.006)
    assert found.upper == pytest.approx(0.554, abs=0.002)


# The remedy table once more: mean equal share, and slowest by sampling.
EQUAL = [
    (16, 1, 0.494, 0.2104),
    (18, 1, 0.527, 0.220),
    (32, 1, 0.672, 0.269),
    (8, 2, 0.624, 0.314),
    (16, 2, 0.837, 0.423),
]


@pytest.mark.parametrize(("spines", "times", "mean", "slowest"), EQUAL)
def test_equal_shares_of_the_remedy_table(spines: int, times: int, mean: float, slowest: float) -> None:
    f = topo.leaf_spine(16, spines, 16)
    rates = np.where(f.links.kind.is_any("scale_out"), 400.0 * times, 400.0)
    found = ecmp_collisions(f, between_leaves(f, 16, 1), state=State(capacity_gbps=rates), samples=512, tolerance=0)
    assert found.mean_equal_share and found.mean_equal_share.is_exact
    assert found.mean_equal_share.estimate == pytest.approx(mean, abs=0.004)
    error = 4 * found.slowest_samples.std() / math.sqrt(found.samples)
    assert found.slowest_samples.mean() == pytest.approx(slowest, abs=error + 0.002)


# k, mean max-min, slowest, mean equal share, E[max load], and the standard deviation of one derangement's mean.
TREES = [
    (8, 0.47680, 0.23740, 0.45870, 4.288, 0.0207),
    (12, 0.44357, 0.19702, 0.42175, 5.149, 0.0103),
    (16, 0.42804, 0.17786, 0.40460, 5.695, 0.0062),
    (32, 0.40805, 0.14548, 0.38254, 6.935, 0.0020),
]


@pytest.mark.parametrize(("k", "mean", "slowest", "equal", "largest", "sd"), TREES)
def test_fat_tree_derangements(k: int, mean: float, slowest: float, equal: float, largest: float, sd: float) -> None:
    """Means over thousands of derangements; what one derangement's mean is off by is the standard deviation."""
    f = topo.fat_tree(k)
    few = {8: 8, 12: 3, 16: 2, 32: 1}[k]
    found = [ecmp_collisions(f, permutation(f, seed=seed), samples=32) for seed in range(few)]
    spread = sd * 4 / math.sqrt(few)

    def over(name: str, part: str = "estimate") -> float:
        return float(np.mean([getattr(getattr(one, name), part) for one in found]))

    assert over("mean_rate") == pytest.approx(mean, abs=spread)
    assert over("mean_equal_share") == pytest.approx(equal, abs=spread)
    assert over("slowest_rate") == pytest.approx(slowest, abs=0.006 if k == 8 else 0.003)
    assert over("slowdown") == pytest.approx(largest, rel=0.025)


@pytest.mark.slow
def test_a_permutation_with_flows_to_oneself() -> None:
    """Fat-tree of k = 4: any permutation, who sends to itself at full rate: .632 mean, .420 slowest of the others."""
    f = topo.fat_tree(4)
    means, slow = [], []
    for seed in range(300):
        to = np.random.default_rng(seed).permutation(16)
        away = np.flatnonzero(to != np.arange(16))
        demand = Demand.of(f, "any", source=f.endpoints[away], sink=f.endpoints[to[away]], gbps=400)
        found = ecmp_collisions(f, demand, samples=32, tolerance=0, seed=seed)
        assert found.mean_rate
        means.append((found.mean_rate.estimate * len(away) + 16 - len(away)) / 16)
        slow.append(found.slowest_samples.mean())
    assert np.mean(means) == pytest.approx(0.632, abs=4 * np.std(means) / math.sqrt(300))
    assert np.mean(slow) == pytest.approx(0.420, abs=4 * np.std(slow) / math.sqrt(300))


@pytest.mark.parametrize(("by", "mean", "slowest"), [(3, 0.6028, 0.4620), (4, 0.6156, 0.3951), (5, 0.5269, 0.3628)])
def test_max_min_of_shifts(by: int, mean: float, slowest: float) -> None:
    f = topo.fat_tree(4)
    found = ecmp_collisions(f, shift(f, by=by), samples=8000, tolerance=0)
    assert found.mean_rate
    assert found.mean_rate.estimate == pytest.approx(mean, abs=0.0025)
    error = 4 * found.slowest_samples.std() / math.sqrt(found.samples)
    assert found.slowest_samples.mean() == pytest.approx(slowest, abs=error)


@pytest.mark.parametrize(
    ("n", "stages", "share"),
    [(4, 2, 0.5384), (8, 2, 0.5050), (16, 2, 0.4901), (32, 2, 0.4831), (64, 2, 0.4796), (8, 4, 0.3929), (16, 4, 0.3775),
     (32, 4, 0.3703)],
)  # fmt: skip
def test_independent_stages(n: int, stages: int, share: float) -> None:
    """E[1 / largest of k loads], by its own sum here; two stages are what two tiers give, exactly."""
    from scipy.stats import binom

    below = binom.cdf(np.arange(n), n - 1, 1 / n) ** stages
    own = float((np.diff(below, prepend=0) / np.arange(1, n + 1)).sum())
    assert own == pytest.approx(share, abs=6e-5)
    if stages == 2:
        assert two_stage_share(n, n, 1, n) == pytest.approx(own, rel=1e-10)


@pytest.mark.parametrize(("n", "p", "times"), [(4, 9 / 67108864, 22.47), (5, 32256 / 59604644775390625, 77.63)])
def test_large_latin_squares_lie_in_the_bracket(n: int, p: float, times: float) -> None:
    """One flow for each ordered pair of n leaves to n others: bounds hold the count of Latin squares."""
    assert p / p_max_at_most(n, n, 1) ** (2 * n) == pytest.approx(times, rel=3e-4)
    f = topo.leaf_spine(2 * n, n, n)
    ends = f.endpoints.reshape(2 * n, n)
    source = np.concatenate([ends[u] for u in range(n)])
    sink = np.array([ends[n + v][u] for u in range(n) for v in range(n)])
    found = ecmp_collisions(f, Demand.of(f, "latin", source=source, sink=sink, gbps=400), samples=0).p_no_collision
    assert found is not None
    assert found.lower <= p <= found.upper


def test_latin_squares_are_counted() -> None:
    """The numbers themselves: 576 and 161,280 Latin squares of order 4 and 5 over all ways."""
    assert 576 / 4**16 == 9 / 67108864
    assert 161280 / 5**25 == 32256 / 59604644775390625


def test_widest_striped_connection() -> None:
    assert split_mean_rate(32, 32, 64) == pytest.approx(0.79335350, abs=6e-9)


# Queue pairs; most on one of 8 links: exactly; through a CRC by simulation apart from the library (200,000 pairs,
# error .003); as the note prints both, sampled: its column "by chance" is off by up to two units of the second digit.
MOST = [
    (4, Fraction(211, 128), 1.646, 1.64, 1.63),
    (8, Fraction(0), 2.5914, 2.60, 2.59),
    (16, Fraction(0), 4.191, 4.17, 4.20),
    (32, Fraction(0), 7.0345, 7.03, 7.02),
]


@pytest.mark.parametrize(("q", "fraction", "simulated", "hashed", "by_chance"), MOST)
def test_most_queue_pairs_on_a_link(
    q: int, fraction: Fraction, simulated: float, hashed: float, by_chance: float
) -> None:
    """Consecutive queue pairs on both sides through a CRC: as many on the fullest of eight links as by chance."""
    exact = own_mean_largest(q, 8)
    assert fraction in (exact, 0)
    law = max_load_distribution(q, 8)
    assert sum(k * p for k, p in law.items()) == pytest.approx(float(exact), rel=1e-12)
    random = np.random.default_rng(1)
    n = 4000
    pair = random.integers(17, 1 << 24, (n, 2))[:, :, None] + np.arange(32)
    port = roce_source_port(roce_flow_label(pair[:, 0].ravel(), pair[:, 1].ravel()))
    keys = FlowKeys.of(source_ip=0x0A000001, destination_ip=0x0A000002, source_port=port)
    chosen = select(hash_function("crc-32")(keys.bytes()), 8, width=32).reshape(n, 32)
    most = [np.bincount(row[:q], minlength=8).max() for row in chosen]
    assert np.mean(most) == pytest.approx(simulated, abs=4 * np.std(most) / math.sqrt(n))
    # As good as uniform: within one in a hundred. The note's figures are of about a thousand draws each.
    assert simulated == pytest.approx(float(exact), rel=0.004)
    assert (hashed, by_chance) == pytest.approx((simulated, float(exact)), abs=3 * np.std(most) / math.sqrt(1000))


@pytest.mark.parametrize(
    ("buckets", "n", "percent"), [(64, 12, 12.5), (128, 12, 3.1), (1024, 12, 0.78), (64, 7, 9.4), (64, 3, 3.1)]
)
def test_tables_that_do_not_divide(buckets: int, n: int, percent: float) -> None:
    """The fullest next hop of a resilient table has ceil(B / N) of B buckets."""
    held = np.bincount(BucketTable(buckets, n).member, minlength=n)
    assert held.max() == math.ceil(buckets / n)
    assert 100 * (held.max() * n / buckets - 1) == pytest.approx(percent, abs=0.05)


@pytest.mark.parametrize(("routing", "shares"), [
    (Routing(lag=True), [0.25, 0.25, 0.5]), (Routing("wcmp", weights="local"), [1 / 3] * 3), (Routing(), [1 / 3] * 3),
])  # fmt: skip
def test_a_lag_of_two_beside_one_link(routing: Routing, shares: list[float]) -> None:
    """Leaves joined twice to one spine and once to another: by next hop 25, 25, 50; by link a third each."""
    f = topo.leaf_spine(2, 2, 1, parallel=2)
    joined = np.flatnonzero(
        ((f.link_a == f.rows("spine-2")[0]) | (f.link_b == f.rows("spine-2")[0])) & f.links.kind.is_any("scale_out")
    )
    _, first = np.unique(np.stack([f.link_a[joined], f.link_b[joined]]), axis=1, return_index=True)
    one = np.setdiff1d(joined, joined[first])
    demand = Demand.of(f, "one", source=f.endpoints[:1], sink=f.endpoints[1:], gbps=1.0)
    state = State.without(f, links=one)
    leaf = f.rows("leaf-1")[0]
    up = (f.arc_source == leaf) & np.repeat(f.links.kind.is_any("scale_out"), 2)
    fluid = link_loads(f, demand, routing=routing, state=state).arc_gbps[up]
    assert np.sort(fluid[fluid > 0]) == pytest.approx(shares)
    hashed = ecmp_collisions(f, demand, routing=routing, state=state, samples=0).arc_mean_gbps[up]
    assert hashed == pytest.approx(fluid)
