"""Values of the method notes that need simulation, a second model, or large fabrics; each beside its own oracle."""

from __future__ import annotations

import math

import numpy as np
import pytest
from collision_oracle import between_leaves, own_p_max_at_most

import topo
from topo import ecmp_stage
from topo.analysis.collisions import ecmp_collisions
from topo.analysis.collisions.bundles import split_mean_rate
from topo.analysis.collisions.equal_share import two_stage_share
from topo.analysis.collisions.occupancy import binomial_above, max_load_distribution, p_max_above
from topo.analysis.collisions.remedies import round_robin_rate
from topo.analysis.collisions.sample import EQUAL, LARGEST, MEAN, Sampler, draw
from topo.analysis.intervals import student_half_width, wilson
from topo.analysis.throughput.effective import effective_bisection
from topo.routing.next_hops import NextHops
from topo.routing.tables import StaticTable
from topo.traffic import permutation


def test_product_of_stages_of_an_all_to_all() -> None:
    """64 ranks on 8 x 8 x 8 by shifts: stages taken for independent give 3.624; with bundles 3.477 (its own test)."""
    stretches = []
    for shift in range(1, 64):
        on, off = divmod(shift, 8)
        moves = 8 - (8 - off if on == 0 else 0) - (off if on == 7 else 0)
        law = [own_p_max_at_most(moves, 8, k) ** 16 for k in range(9)]
        stretches.append(1 + sum(1 - law[k] for k in range(1, 9)))
    assert np.mean(stretches) == pytest.approx(3.624, abs=6e-4)


@pytest.mark.parametrize(("n", "gonnet"), [(8, 2.72), (64, 4.12), (1024, 5.69)])
def test_an_asymptotic_mean_is_too_high(n: int, gonnet: float) -> None:
    """Gonnet's inverse gamma function less 3/2 is what is printed; the exact mean lies 0.12 to 0.17 lower."""
    from scipy.optimize import brentq
    from scipy.special import gammaln

    own = brentq(lambda x: float(gammaln(x)) - math.log(n), 2.0, 50.0) - 1.5
    assert own == pytest.approx(gonnet, abs=0.006)
    assert 0.12 < own - ecmp_stage(n, n).max_load_mean < 0.17


@pytest.mark.parametrize(("n", "m"), [(16, 16), (64, 64), (200, 50)])
def test_tail_lies_in_the_bracket_of_negative_association(n: int, m: int) -> None:
    for k in range(2, 16):
        u = m * float(binomial_above(k, n, 1 / m))
        if u < 0.5:
            assert u - u * u / 2 <= p_max_above(n, m, k) * (1 + 1e-12)
            assert p_max_above(n, m, k) <= u * (1 + 1e-12)


# n = m, as printed from sampling (+-0.01): largest over mean load, slowest link's flow, at q = 1, 2, 4, ..., 64.
SAMPLED = {
    8: "2.60/.410 2.10/.499 1.76/.584 1.53/.664 1.37/.737 1.26/.800 1.18/.849",
    16: "3.08/.345 2.41/.429 1.97/.520 1.67/.608 1.46/.689 1.32/.759 1.23/.818",
    32: "3.53/.295 2.71/.379 2.16/.471 1.80/.562 1.55/.649 1.38/.726 1.27/.790",
    64: "3.96/.262 2.98/.344 2.35/.433 1.92/.527 1.63/.617 1.44/.698 1.30/.768",
}


@pytest.mark.parametrize("n", SAMPLED)
def test_sampled_table_of_queue_pairs(n: int) -> None:
    """Within its error of the exact values, which other tests hold to six digits."""
    for i, entry in enumerate(SAMPLED[n].split()):
        largest, slowest = map(float, entry.split("/"))
        law = max_load_distribution(n * 2**i, n)
        assert sum(k * p for k, p in law.items()) / 2**i == pytest.approx(largest, abs=0.01)
        assert sum(p * min(1, 2**i / k) for k, p in law.items()) == pytest.approx(slowest, abs=0.0026)


def test_sampled_aggregate_and_split_means() -> None:
    """Printed from sampling; at q = 4 .637, a little below the exact .64104."""
    for i, share in enumerate((0.657, 0.748, 0.817, 0.869, 0.907, 0.934, 0.953)):
        assert ecmp_stage(8 * 2**i, 8, link_gbps=2.0**i).mean_rate == pytest.approx(share, abs=0.0011)
    exact = {1: 0.65639108, 4: 0.64104376, 16: 0.74054104, 64: 0.84893514}  # to eight digits in tests of their own
    for q, mean in ((1, 0.656), (4, 0.637), (16, 0.744), (64, 0.848)):
        assert exact[q] == pytest.approx(mean, abs=0.0045)
    assert split_mean_rate(8, 8, 4) == pytest.approx(exact[4], abs=6e-9)


def shared_links(share: np.ndarray) -> np.ndarray:
    """Rates of connections with one message under way at processor-sharing links: mean value analysis, exactly.

    ``share[a, c, l]``: part of its messages that connection c of assignment a sends over link l.
    """
    n_sets = 1 << share.shape[1]
    queue = np.zeros((n_sets, share.shape[0], share.shape[2]))
    rate = np.zeros(share.shape[:2])
    for members in range(1, n_sets):
        for c in range(share.shape[1]):
            if members >> c & 1:
                stay = share[:, c] * (1 + queue[members ^ (1 << c)])
                through = 1 / stay.sum(axis=1)
                queue[members] += through[:, None] * stay
                if members == n_sets - 1:
                    rate[:, c] = through
    return rate


# Queue pairs: mean and slowest rate of round robin, one message under way, 8 connections on 8 links, over 4,000
# assignments (errors below .002); and what the note has by simulation (+-.003 to .02). Its means agree. Its slowest
# rates lie lower the more queue pairs there are: the least of eight rates measured over a short run is below the
# least rate. An event by event simulation with 64 queue pairs gives .478 over 50 messages, .505 over 200, .521 over
# 1,500, and goes to .526.
ROUND_ROBIN = [
    (1, 0.6564, 0.4100, 0.651, 0.406),
    (2, 0.5784, 0.4156, 0.578, 0.406),
    (4, 0.5498, 0.4550, 0.546, 0.441),
    (8, 0.5383, 0.4864, 0.538, 0.463),
    (16, 0.5345, 0.5073, 0.537, 0.465),
    (64, 0.5334, 0.5264, 0.533, 0.497),
]


@pytest.mark.parametrize(("q", "mean", "slowest", "printed_mean", "printed_slowest"), ROUND_ROBIN)
def test_round_robin_over_few_queue_pairs(
    q: int, mean: float, slowest: float, printed_mean: float, printed_slowest: float
) -> None:
    """A product-form network for each assignment of queue pairs to links; the mean falls to the limit of many."""
    random = np.random.default_rng(q)
    n = 800
    link = random.integers(0, 8, (n, 8, q))
    share = np.stack([(link == at).mean(axis=2) for at in range(8)], axis=2)
    rate = shared_links(share)
    means, slow = rate.mean(axis=1), rate.min(axis=1)
    error = 4 * means.std() / math.sqrt(n)
    assert means.mean() == pytest.approx(mean, abs=error)
    assert slow.mean() == pytest.approx(slowest, abs=4 * slow.std() / math.sqrt(n))
    assert printed_mean == pytest.approx(mean, abs=0.006)
    assert slowest - 0.045 < printed_slowest < slowest
    if q == 1:
        stage = ecmp_stage(8, 8)
        assert means.mean() == pytest.approx(stage.mean_rate, abs=error)
        assert slow.mean() == pytest.approx(stage.slowest_rate, abs=4 * slow.std() / math.sqrt(n))
    limit = round_robin_rate(8, 8, 1)
    assert means.mean() > limit - error
    if q == 64:
        assert means.mean() == pytest.approx(limit, abs=0.003)


# k-ary fat-tree of 3,456 hosts: one direction, both, coupled; mean rate.
K24 = {
    ("destination-modulo", "in order of rows"): (0.684, 0.511, 0.394),
    ("random", "in order of rows"): (0.542, 0.389, 0.319),
    ("min-hop", "in order of rows"): (0.168, 0.101, 0.090),
}


@pytest.mark.parametrize(("kind", "addresses"), list(K24))
def test_effective_bisection_of_3456_hosts(kind: str, addresses: str) -> None:
    fabric = topo.fat_tree(24)
    table = StaticTable.of(NextHops.of(fabric), kind, addresses=addresses, seed=24)
    for pattern, wanted in zip(("uni", "bi", "coupled"), K24[kind, addresses], strict=True):
        found = effective_bisection(fabric, table=table, pattern=pattern, samples=12, seed=2)
        # Three digits printed from few patterns, and one table drawn.
        assert found.share == pytest.approx(wanted, abs=0.004 + (found.interval[1] - found.interval[0]) / 2)


@pytest.mark.parametrize(("spread", "stages", "share"), [(0.5, 2, 0.682), (0.5, 1, 0.807)])
def test_one_direction_with_stages_taken_for_independent(spread: float, stages: int, share: float) -> None:
    """Half of the endpoints send, so each of 15 others meets with probability p / 2."""
    from scipy.stats import binom

    below = binom.cdf(np.arange(16), 15, spread * 496 / 511 / 16) ** stages
    mean = float((np.diff(below, prepend=0) / np.arange(1, 17)).sum())
    assert 15 / 511 + 496 / 511 * mean == pytest.approx(share, abs=6e-4)


def test_coupled_time_with_stages_taken_for_independent() -> None:
    from scipy.stats import binom

    below = binom.cdf(np.arange(16), 15, 496 / 511 / 16) ** 4
    time = float((np.diff(below, prepend=0) * np.arange(1, 17)).sum())
    assert 1 / (15 / 511 + 496 / 511 * time) == pytest.approx(0.3529, abs=6e-4)


@pytest.mark.parametrize(("k", "mean", "n"), [(8, 0.483, 60), (12, 0.4445, 12), (16, 0.428, 6)])
def test_any_permutation_with_flows_to_oneself(k: int, mean: float, n: int) -> None:
    """Who sends to itself at full rate: printed .486 at k = 8, .483 when drawn again; one permutation's sd .021."""
    f = topo.fat_tree(k)
    hops, rates, means = NextHops.of(f), np.repeat(f.links.capacity_gbps, 2), []
    for seed in range(n):
        to = np.random.default_rng(seed).permutation(len(f.endpoints))
        away = np.flatnonzero(to != np.arange(len(to)))
        sampler = Sampler(hops, f.endpoints[away], f.endpoints[to[away]], np.full(len(away), 400.0), rates, 1)
        drawn = draw(sampler, samples=64, tolerance=0, seed=seed).values[:, MEAN].mean()
        means.append((drawn * len(away) + len(to) - len(away)) / len(to))
    sd = {8: 0.0207, 12: 0.0105, 16: 0.0062}[k]
    assert np.mean(means) == pytest.approx(mean, abs=4 * sd / math.sqrt(n))
    if k == 8:
        assert abs(0.486 - np.mean(means)) < sd


@pytest.mark.parametrize(("k", "n", "correlation"), [(4, 2000, 0.99), (8, 2000, 0.96), (16, 400, 0.95)])
def test_control_variate(k: int, n: int, correlation: float) -> None:
    """Mean equal share and mean max-min rate over hashes of one flow set."""
    f = topo.fat_tree(k)
    demand = permutation(f, seed=3)
    rates = np.repeat(f.links.capacity_gbps, 2)
    sampler = Sampler(NextHops.of(f), demand.source, demand.sink, demand.gbps, rates, 1)
    values = draw(sampler, samples=n, tolerance=0, seed=1).values
    found = np.corrcoef(values[:, MEAN], values[:, EQUAL])[0, 1]
    assert found == pytest.approx(correlation, abs=0.02)


def test_means_lie_between_their_bounds() -> None:
    """Two tiers of 16: equal share .490 <= max-min .509 <= occupied links over flows .644."""
    f = topo.leaf_spine(16, 16, 16)
    found = ecmp_collisions(f, between_leaves(f, 16, 1), samples=200)
    assert found.mean_rate and found.mean_equal_share
    most = ecmp_stage(16, 16).mean_rate
    # .490 is of leaves that share one flow at most; a permutation's leaves share more, which collide once only.
    assert two_stage_share(16, 16, 1, 16) == pytest.approx(0.490, abs=5e-4)
    assert two_stage_share(16, 16, 1, 16) < found.mean_equal_share.estimate
    assert most == pytest.approx(0.644, abs=5e-4)
    assert found.mean_equal_share.estimate < found.mean_rate.lower < found.mean_rate.upper < most


# Sixteen leaves, spines, hosts: slowest flow by sampling, striped over q queue pairs.
STRIPED = [(2, 0.281), (4, 0.370), (8, 0.462), (16, 0.553), (32, 0.641), (64, 0.724)]


@pytest.mark.parametrize(("q", "slowest"), STRIPED)
def test_sampled_column_of_striping(q: int, slowest: float) -> None:
    """300 samples there; here 300 or fewer: one flow's slowest queue pair is one over the largest load."""
    f = topo.leaf_spine(16, 16, 16)
    demand = between_leaves(f, 16, 1)
    sampler = Sampler(NextHops.of(f), demand.source, demand.sink, demand.gbps, np.repeat(f.links.capacity_gbps, 2), q)
    n = max(40, 400 // q)
    values = np.minimum(1, 1 / draw(sampler, samples=n, tolerance=0, seed=1).values[:, LARGEST])
    error = 4 * values.std() * math.sqrt(1 / n + 1 / 300)
    assert values.mean() == pytest.approx(slowest, abs=error + 0.002)


def test_looks_are_honest() -> None:
    """Stopping when the interval is narrow: looks that share the error cover; 1.96 after every sample does not."""
    random = np.random.default_rng(1)
    runs, target = 1500, 0.25
    values = random.normal(0, 1, (runs, 512))
    covered = naive = 0
    for row in values:
        for look in range(5):
            n = 32 << look
            half = student_half_width(row[:n], 0.05 / ((look + 1) * (look + 2)))
            if half <= target or n == 512:
                covered += abs(row[:n].mean()) <= half
                break
        n = np.arange(8, 513)
        mean = np.cumsum(row)[n - 1] / n
        sd = np.sqrt((np.cumsum(row**2)[n - 1] / n - mean**2) * n / (n - 1))
        stop = int(np.argmax(1.96 * sd / np.sqrt(n) <= target))
        naive += abs(mean[stop]) <= 1.96 * sd[stop] / math.sqrt(n[stop])
    assert covered / runs > 0.98
    assert naive / runs < 0.945


def test_no_hit_in_many_samples() -> None:
    """The rule of three, from Wilson's interval: 0 of n is at most 4 / n."""
    low, high = wilson(0, 1000)
    assert low == 0
    assert 3 / 1000 < high < 4 / 1000


@pytest.mark.slow
def test_65536_hosts() -> None:
    """k = 64, two samples in the note: .398 mean, .118 slowest, .372 equal share."""
    f = topo.fat_tree(64)
    found = ecmp_collisions(f, permutation(f, seed=1), samples=2)
    assert found.mean_rate and found.slowest_rate and found.mean_equal_share
    assert found.mean_rate.estimate == pytest.approx(0.398, abs=0.003)
    assert found.mean_equal_share.estimate == pytest.approx(0.372, abs=0.003)
    assert found.slowest_rate.lower - 0.006 < 0.118 < found.slowest_rate.upper + 0.006
    assert 1.06 < found.mean_rate.estimate / found.mean_equal_share.estimate < 1.08
