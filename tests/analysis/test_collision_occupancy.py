"""Occupancy with unequal links and sizes, bundles and striped connections against fractions and full enumeration."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from decimal import Decimal, getcontext
from fractions import Fraction

import pytest

from topo import ParameterError, ecmp_stage
from topo.analysis.collisions.bundles import p_bundle_pair, split_connection, split_mean_rate
from topo.analysis.collisions.occupancy import (
    binomial_above,
    log_p_loads_at_most,
    log_p_max_at_most,
    max_load_distribution,
    p_max_above,
    p_max_at_most,
    rational_p_max_at_most,
)
from topo.analysis.collisions.sizes import p_sizes_fit


def close(value: float, relative: float = 1e-12) -> object:
    return pytest.approx(value, rel=relative, abs=0)


@pytest.mark.parametrize(
    ("n", "m", "mean", "slowest"),
    [
        (64, 64, 3.957736864073, 0.261978566665),
        (1024, 1024, 5.526176317034, 0.183763619612),
        (8192, 8192, 6.577319925036, 0.153573605102),
        (65536, 65536, 7.563943095, 0.133149399545),
        (65536, 2048, 53.1924949, 0.0188330485),
        (16, 64, 1.990893300952, 0.545046105101),
    ],
)
def test_largest_load_of_big_stages(n: int, m: int, mean: float, slowest: float) -> None:
    stage = ecmp_stage(n, m)
    assert stage.max_load_mean == close(mean, 2e-10 if n < 60000 else 2e-9)
    assert stage.slowest_rate == close(slowest, 1e-11 if n < 60000 else 3e-9)


@pytest.mark.parametrize(
    ("n", "m", "k", "p", "relative"),
    [
        (1024, 1024, 5, 0.5448409084603223, 1e-13),
        (8192, 8192, 6, 0.5057411963030293, 1e-13),
        (4096, 1024, 12, 0.7568487698620797, 1e-13),
        (100, 10, 10, 2.357074589393044e-8, 1e-12),
        (300, 10, 35, 0.119282511975506, 1e-13),
        (512, 256, 4, 4.2112953146e-8, 2e-11),
    ],
)
def test_published_probabilities(n: int, m: int, k: int, p: float, relative: float) -> None:
    assert p_max_at_most(n, m, k) == close(p, relative)
    assert log_p_max_at_most(n, m, k) == close(math.log(p), relative * 10)


@pytest.mark.parametrize(("n", "m"), [(6, 4), (40, 40), (60, 7)])
def test_tails_of_small_stages_are_rational(n: int, m: int) -> None:
    for k in range(1, n + 1):
        exact = rational_p_max_at_most(n, m, k)
        assert p_max_above(n, m, k) == close(float(1 - exact))
        if exact:
            getcontext().prec = 80
            log_exact = float((Decimal(exact.numerator) / Decimal(exact.denominator)).ln())
            assert log_p_max_at_most(n, m, k) == pytest.approx(log_exact, rel=1e-13, abs=1e-300)


@pytest.mark.parametrize("n", [1, 5, 80])
def test_binomial_tail_is_rational(n: int) -> None:
    p = Fraction(1, 7)
    for k in range(-1, n + 1):
        terms = (math.comb(n, j) * p**j * (1 - p) ** (n - j) for j in range(k + 1, n + 1))
        assert float(binomial_above(k, n, 1 / 7)) == close(float(sum(terms)), 1e-12)


CASES = [
    (4, ((Fraction(1, 2), 2, 1), (Fraction(1, 4), 1, 2)), Fraction(3, 16)),
    (4, ((Fraction(1, 3), 2, 1), (Fraction(1, 3), 1, 2)), Fraction(4, 27)),
]


@pytest.mark.parametrize(("n", "groups", "p"), CASES)
def test_weighted_links_of_the_table(n: int, groups: tuple[tuple[Fraction, int, int], ...], p: Fraction) -> None:
    assert math.exp(log_p_loads_at_most(n, [(float(a), k, c) for a, k, c in groups])) == close(float(p))


@pytest.mark.parametrize(("weights", "mean"), [((2, 1, 1), 115 / 64), ((1, 1, 1), 2.04938)])
def test_mean_largest_utilization_of_weighted_links(weights: tuple[int, ...], mean: float) -> None:
    """Capacities 2, 1, 1 and four flows: E max = sum over the steps of P(above)."""
    capacity = (2, 1, 1)
    total = sum(weights)
    steps = sorted({Fraction(j, c) for c in capacity for j in range(1, 9)})
    found, before = 0.0, 0.0
    for step, after in itertools.pairwise([Fraction(0), *steps]):
        groups = [(w / total, math.floor(step * c), 1) for w, c in zip(weights, capacity, strict=True)]
        found += (1 - math.exp(log_p_loads_at_most(4, groups))) * float(after - step)
        before = float(after)
    assert before == 8.0
    assert found == pytest.approx(mean, abs=5e-6)


@pytest.mark.parametrize(
    ("n", "p", "room"),
    [
        (5, (0.5, 0.3, 0.2), (3, 2, 1)),
        (6, (0.1, 0.2, 0.3, 0.4), (1, 2, 3, 4)),
        (4, (0.25, 0.25, 0.5), (0, 2, 3)),
        (6, (0.2, 0.3, 0.5), (1, 2, 3)),
    ],
)
def test_unequal_links_equal_all_choices_counted(n: int, p: tuple[float, ...], room: tuple[int, ...]) -> None:
    total = 0.0
    for choice in itertools.product(range(len(p)), repeat=n):
        load = Counter(choice)
        if all(load[i] <= room[i] for i in range(len(p))):
            total += math.prod(p[i] for i in choice)
    assert math.exp(log_p_loads_at_most(n, [(a, k, 1) for a, k in zip(p, room, strict=True)])) == close(total)


def test_many_unequal_links_equal_a_polynomial() -> None:
    """200 flows over 30 links of three kinds, against exact fractions."""
    n, kinds = 200, [(Fraction(1, 20), 16, 10), (Fraction(1, 40), 9, 12), (Fraction(1, 40), 11, 8)]
    power = [Fraction(1)] + [Fraction(0)] * n
    for p, k, count in kinds:
        base = [p**j / math.factorial(j) for j in range(k + 1)]
        for _ in range(count):
            power = [sum(base[j] * power[t - j] for j in range(min(k, t) + 1)) for t in range(n + 1)]
    exact = power[n] * math.factorial(n)
    found = math.exp(log_p_loads_at_most(n, [(float(p), k, c) for p, k, c in kinds]))
    assert found == close(float(exact), 1e-11)


@pytest.mark.parametrize(
    ("counts", "sizes", "links", "capacity"),
    [
        ([3, 2], [1.0, 2.0], 3, 3.0),
        ([2, 2, 1], [1.0, 2.0, 4.0], 2, 5.0),
        ([6], [1.0], 4, 2.0),
        ([4, 1], [0.5, 1.5], 5, 1.5),
    ],
)
def test_sizes_equal_all_choices_counted(counts: list[int], sizes: list[float], links: int, capacity: float) -> None:
    each = [size for size, count in zip(sizes, counts, strict=True) for _ in range(count)]
    good = 0
    for choice in itertools.product(range(links), repeat=len(each)):
        load = [0.0] * links
        for link, size in zip(choice, each, strict=True):
            load[link] += size
        good += max(load) <= capacity + 1e-9
    assert p_sizes_fit(counts, sizes, links, capacity) == close(good / links ** len(each))


def test_one_size_is_plain_occupancy_and_many_states_are_refused() -> None:
    assert p_sizes_fit([40], [10.0], 16, 60.0) == close(p_max_at_most(40, 16, 6))
    with pytest.raises(ParameterError, match="flow sizes"):
        p_sizes_fit([100, 100], [1.0, 2.0], 4, 10.0)


@pytest.mark.parametrize(
    ("case", "p"),
    [
        ((4, 3, 2, 3, 2), Fraction(50, 81)),
        ((5, 5, 3, 3, 2), Fraction(14, 81)),
        ((4, 4, 4, 2, 2), Fraction(3, 8)),
        ((3, 3, 1, 3, 1), Fraction(4, 81)),
    ],
)
def test_bundle_pairs_of_the_table(case: tuple[int, int, int, int, int], p: Fraction) -> None:
    assert p_bundle_pair(*case) == close(float(p))


@pytest.mark.parametrize("case", [(3, 4, 2, 2, 3), (4, 3, 2, 3, 1), (3, 3, 2, 3, 2), (2, 5, 1, 2, 3), (3, 3, 0, 3, 2)])
def test_bundle_pairs_equal_all_choices_counted(case: tuple[int, int, int, int, int]) -> None:
    n_u, n_v, shared, links, k = case
    good = total = 0
    for choice in itertools.product(range(links), repeat=n_u + n_v - shared):
        up, down = Counter(choice[:n_u]), Counter(choice[n_u - shared :])
        good += max(up.values()) <= k and max(down.values()) <= k
        total += 1
    assert p_bundle_pair(*case) == close(good / total)


@pytest.mark.parametrize(
    ("n", "m", "q", "rate"),
    [
        (2, 2, 2, Fraction(37, 48)),
        (2, 3, 2, Fraction(143, 162)),
        (3, 2, 2, Fraction(87, 160)),
        (2, 2, 3, Fraction(507, 640)),
        (3, 3, 2, Fraction(2527, 3645)),
        (2, 3, 3, Fraction(2227, 2430)),
    ],
)
def test_striped_connections_are_fractions(n: int, m: int, q: int, rate: Fraction) -> None:
    assert split_mean_rate(n, m, q) == close(float(rate), 1e-10)


SPLIT = {
    8: (0.65639108, 0.62896241, 0.64104376, 0.68310731, 0.74054104, 0.79903942, 0.84893514),
    16: (0.64392587, 0.61200654, 0.61667194, 0.65138079, 0.70349990, 0.76189439, 0.81752229),
    32: (0.63794471, 0.60386442, 0.60472748, 0.63525565, 0.68309465, 0.73805071, None),
}


@pytest.mark.parametrize("n", SPLIT)
def test_striped_connections_of_the_table(n: int) -> None:
    for i, expected in enumerate(SPLIT[n]):
        if expected is not None:
            assert split_mean_rate(n, n, 2**i) == pytest.approx(expected, abs=6e-9)


def test_law_of_a_striped_connection_is_one_and_equals_counting() -> None:
    n, m, q = 3, 3, 2
    counted: Counter[int] = Counter()
    for choice in itertools.product(range(m), repeat=n * q):
        load = Counter(choice)
        counted[max(load[link] for link in choice[:q])] += 1
    law = split_connection(n, m, q)
    assert math.fsum(law.values()) == close(1)
    for most, number in counted.items():
        assert law[most] == pytest.approx(number / m ** (n * q), abs=1e-11)


# n = m: mean largest load over mean load, and the slowest link's flow, at q = 1, 2, 4, ..., 64.
STRIPES = {
    8: "2.597233/.409994 2.100708/.497454 1.761946/.583067 1.529412/.664566 "
    "1.369347/.737252 1.258536/.798865 1.181446/.848934",
    16: "3.078247/.344533 2.415208/.429031 1.970096/.519302 1.669612/.607415 "
    "1.464775/.688429 1.324076/.758882 1.226788/.817323",
    32: "3.532941/.295224 2.707416/.380349 2.162649/.471190 1.798004/.562777 "
    "1.551476/.649160 1.383254/.725942 1.267534/.790782",
    64: "3.957737/.261979 2.983661/.343127 2.342577/.433550 1.917034/.526807 "
    "1.631339/.616703 1.437486/.698137 1.304727/.767997",
}


@pytest.mark.parametrize("n", STRIPES)
def test_striping_table(n: int) -> None:
    for i, entry in enumerate(STRIPES[n].split()):
        largest, slowest = map(float, entry.split("/"))
        q = 2**i
        pmf = max_load_distribution(n * q, n)
        assert math.fsum(k * p for k, p in pmf.items()) / q == pytest.approx(largest, abs=6e-7)
        assert math.fsum(min(1, q / k) * p for k, p in pmf.items()) == pytest.approx(slowest, abs=6e-7)


def test_aggregate_of_striped_flows() -> None:
    for i, share in enumerate((0.656391, 0.746999, 0.817319, 0.869453, 0.907199, 0.934206, 0.953415)):
        assert ecmp_stage(8 * 2**i, 8, link_gbps=2.0**i).mean_rate == pytest.approx(share, abs=6e-7)
