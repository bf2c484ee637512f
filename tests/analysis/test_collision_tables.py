"""Values of the method notes that no other file holds: products and brackets of two tiers, larger fat-trees, tables."""

from __future__ import annotations

import math

import numpy as np
import pytest

import topo
from topo import Fabric
from topo.analysis.collisions import ecmp_collisions
from topo.analysis.collisions.bundles import split_mean_rate
from topo.analysis.collisions.clos_shape import ClosShape
from topo.analysis.collisions.equal_share import mean_equal_share, two_stage_share
from topo.analysis.collisions.occupancy import max_load_distribution, p_max_at_most
from topo.fabric import State
from topo.hashing import roce_flow_label, roce_source_port
from topo.hashing.functions import hash_function
from topo.hashing.keys import FlowKeys
from topo.hashing.selection import BucketTable, select
from topo.routing.loads import link_loads
from topo.routing.scheme import Routing
from topo.traffic import Demand, permutation, shift


def between_leaves(fabric: Fabric, hosts: int, seed: int) -> Demand:
    """A random permutation in which nobody stays on its leaf."""
    ends, random = fabric.endpoints, np.random.default_rng(seed)
    n = len(ends)
    to = random.permutation(n)
    while (bad := np.flatnonzero(to // hosts == np.arange(n) // hosts)).size:
        for i in bad.tolist():
            j = int(random.integers(n))
            to[i], to[j] = to[j], to[i]
    return Demand.of(fabric, "permutation between leaves", source=ends, sink=ends[to], gbps=400)


# L, S, h, k: stages taken for independent, and bounds where the note has them (of another permutation).
JOINT = [
    (4, 4, 4, 2, 0.1626, 0.0, 0.403),
    (4, 4, 4, 3, 0.8816, 0.879, 0.939),
    (8, 8, 8, 3, 0.2217, 0.042, 0.471),
    (4, 16, 16, 3, 0.1221, None, None),
    (16, 16, 16, 4, 0.2985, 0.164, 0.546),
    (16, 16, 16, 5, 0.8679, 0.8645, 0.9316),
]


@pytest.mark.parametrize(("leaves", "spines", "hosts", "k", "product", "lower", "upper"), JOINT)
def test_products_and_brackets_of_two_tiers(
    leaves: int, spines: int, hosts: int, k: int, product: float, lower: float | None, upper: float | None
) -> None:
    assert p_max_at_most(hosts, spines, k) ** (2 * leaves) == pytest.approx(product, abs=6e-5)
    f = topo.leaf_spine(leaves, spines, hosts, link_gbps=400 * k)
    found = ecmp_collisions(f, between_leaves(f, hosts, 1), samples=0)
    stages = math.prod(tier.p_no_overload_lower for tier in found.tiers)
    assert stages == pytest.approx(product, abs=6e-5)
    if lower is not None:
        assert found.p_no_overload.lower == pytest.approx(lower, abs=0.02)
    if upper is not None:
        assert found.p_no_overload.upper == pytest.approx(upper, abs=0.002)


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


# k, mean max-min, slowest, mean equal share, E[max load]; bounds of the slowest.
TREES = [
    (8, 0.47680, 0.2342, 0.45870, 4.288, 0.2304, 0.2585),
    (12, 0.44357, 0.19702, 0.42175, 5.149, None, None),
    (16, 0.42804, 0.1789, 0.40460, 5.695, 0.1725, 0.1930),
    (32, 0.40805, 0.1443, 0.38254, 6.935, 0.1400, 0.1563),
]


@pytest.mark.parametrize(("k", "mean", "slowest", "equal", "largest", "lower", "upper"), TREES)
def test_fat_tree_derangements(
    k: int, mean: float, slowest: float, equal: float, largest: float, lower: float | None, upper: float | None
) -> None:
    f = topo.fat_tree(k)
    few = {8: 8, 12: 3, 16: 2, 32: 1}[k]
    found = [ecmp_collisions(f, permutation(f, seed=seed), samples=32) for seed in range(few)]
    spread = {8: 0.0207, 12: 0.0103, 16: 0.0062, 32: 0.0020}[k] * 4 / math.sqrt(few)

    def over(name: str, part: str = "estimate") -> float:
        return float(np.mean([getattr(getattr(one, name), part) for one in found]))

    assert over("mean_rate") == pytest.approx(mean, abs=spread)
    assert over("mean_equal_share") == pytest.approx(equal, abs=spread)
    assert over("slowest_rate") == pytest.approx(slowest, abs=0.006)
    assert over("slowdown") == pytest.approx(largest, rel=0.025)
    if lower is not None:
        # Of one derangement: on 128 hosts their bounds vary by a standard deviation of .004.
        some = 0.006 if k == 8 else 0.003
        assert over("slowest_rate", "lower") == pytest.approx(lower, abs=some)
        assert over("slowest_rate", "upper") == pytest.approx(upper, abs=some)


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


def test_four_stages_are_not_independent() -> None:
    """Fat-tree of k = 16, a derangement: .3986, a hundredth or two above the product of its stages, .3902."""
    f = topo.fat_tree(16)
    shape = ClosShape.of(f)
    assert shape is not None
    shares = []
    for seed in (1, 2):
        demand = permutation(f, seed=seed)
        away = demand.source // 64 != demand.sink // 64
        found = mean_equal_share(shape, demand.source, demand.sink, np.ones(demand.n_pairs), 400.0, drawn_flows=200)
        assert found is not None
        assert away.any()
        shares.append(found.lower)
    assert np.mean(shares) == pytest.approx(0.4040, abs=0.008)
    assert np.mean(shares) > 0.3902


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


def test_most_queue_pairs_on_a_link() -> None:
    """Consecutive queue pairs on both sides through a CRC: as many on the fullest of eight links as by chance."""
    random = np.random.default_rng(1)
    n = 4000
    pair = random.integers(17, 1 << 24, (n, 2))[:, :, None] + np.arange(32)
    port = roce_source_port(roce_flow_label(pair[:, 0].ravel(), pair[:, 1].ravel()))
    keys = FlowKeys.of(source_ip=0x0A000001, destination_ip=0x0A000002, source_port=port)
    chosen = select(hash_function("crc-32")(keys.bytes()), 8, width=32).reshape(n, 32)
    for q, hashed, by_chance in ((4, 1.64, 1.63), (8, 2.60, 2.59), (16, 4.17, 4.20), (32, 7.03, 7.02)):
        most = [np.bincount(row[:q], minlength=8).max() for row in chosen]
        assert np.mean(most) == pytest.approx(hashed, abs=4 * np.std(most) / math.sqrt(n) + 0.02)
        law = max_load_distribution(q, 8)
        assert sum(k * p for k, p in law.items()) == pytest.approx(by_chance, abs=0.035)  # sampled in the note


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
