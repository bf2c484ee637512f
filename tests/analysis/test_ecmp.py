"""One ECMP stage against published tables, brute force over all hashes, and exact rational arithmetic."""

from __future__ import annotations

import itertools
import json
import math
from collections import Counter
from decimal import Decimal, getcontext
from fractions import Fraction

import pytest

from topo import ParameterError, ecmp_stage
from topo.analysis.collisions import occupancy
from topo.analysis.collisions.occupancy import max_load_distribution

# flows, links, P(no collision), occupied links, colliding flows, pairs, mean rate, largest load, slowest rate
TABLE = [
    (2, 2, 0.5, 1.5, 1.0, 0.5, 0.75, 1.5, 0.75),
    (2, 4, 0.75, 1.75, 0.5, 0.25, 0.875, 1.25, 0.875),
    (3, 4, 0.375, 2.3125, 1.3125, 0.75, 0.770833, 1.6875, 0.677083),
    (4, 4, 0.09375, 2.734375, 2.3125, 1.5, 0.683594, 2.125, 0.511719),
    (4, 8, 0.410156, 3.310547, 1.320312, 0.75, 0.827637, 1.648438, 0.695475),
    (8, 4, 0.0, 3.599548, 6.932129, 7.0, 0.449944, 3.538086, 0.296277),
    (8, 8, 0.00240326, 5.251129, 4.858433, 3.5, 0.656391, 2.597233, 0.409994),
    (8, 16, 0.120820, 6.452488, 2.907994, 1.75, 0.806561, 2.062916, 0.531036),
    (16, 8, 0.0, 7.055463, 13.841059, 15.0, 0.440966, 4.201416, 0.248727),
    (16, 16, 1.134e-6, 10.302814, 9.923002, 7.5, 0.643926, 3.078247, 0.344533),
    (32, 32, 1.800e-13, 20.414231, 20.040496, 15.5, 0.637945, 3.532941, 0.295224),
]


def printed(value: float, digits: int = 6) -> object:
    return pytest.approx(value, abs=0.51 * 10**-digits, rel=0)


@pytest.mark.parametrize("row", TABLE, ids=lambda row: f"{row[0]}-{row[1]}")
def test_table_of_equal_flows(row: tuple[float, ...]) -> None:
    n, m, alone, occupied, colliding, pairs, mean, largest, slowest = row
    stage = ecmp_stage(int(n), int(m))
    assert stage.p_no_collision == pytest.approx(alone, rel=5e-4, abs=0)
    assert stage.occupied_links_mean == printed(occupied)
    assert stage.colliding_flows_mean == printed(colliding)
    assert stage.colliding_pairs_mean == pairs
    assert stage.mean_rate == printed(mean)
    assert stage.max_load_mean == printed(largest)
    assert stage.slowest_rate == printed(slowest)
    assert stage.mean_rate == pytest.approx(stage.occupied_links_mean / n, rel=1e-14)
    assert stage.load_cv == pytest.approx(math.sqrt((m - 1) / n), rel=1e-15)


@pytest.mark.parametrize(
    ("n", "m", "alone", "used", "largest", "slowest"),
    [
        (4, 4, 0.09375, 0.6836, 2.1250, 0.5117),
        (8, 8, 0.00240326, 0.6564, 2.5972, 0.4100),
        (16, 16, 1.134e-6, 0.6439, 3.0782, 0.3445),
        (32, 32, 1.800e-13, 0.6379, 3.5329, 0.2952),
        (8, 32, 0.385715, 0.8972, 1.6646, 0.6846),
        (16, 64, 0.129012, 0.8909, 1.9909, 0.5450),
    ],
)
def test_table_of_used_links(n: int, m: int, alone: float, used: float, largest: float, slowest: float) -> None:
    stage = ecmp_stage(n, m)
    assert stage.p_no_collision == pytest.approx(alone, rel=5e-4)
    assert stage.occupied_links_mean / min(n, m) == printed(used, 4)
    assert stage.max_load_mean == printed(largest, 4)
    assert stage.slowest_rate == printed(slowest, 4)


@pytest.mark.parametrize(
    ("n", "m", "c", "mean", "slowest"),
    [
        (32, 32, 1, 0.6379, 0.2952),
        (64, 32, 2, 0.7336, 0.3803),
        (128, 32, 4, 0.8077, None),
        (256, 32, 8, 0.8626, None),
        (16, 32, 1, 0.7966, 0.4419),
    ],
)
def test_fat_uplinks(n: int, m: int, c: float, mean: float, slowest: float | None) -> None:
    stage = ecmp_stage(n, m, flow_gbps=200, link_gbps=200 * c)
    assert stage.capacity_ratio == c
    assert stage.mean_rate == printed(mean, 4)
    if slowest is not None:
        assert stage.slowest_rate == printed(slowest, 4)


def test_largest_load_laws() -> None:
    assert max_load_distribution(4, 4) == {1: 0.09375, 2: 0.703125, 3: 0.1875, 4: 0.015625}
    eight = max_load_distribution(8, 8)
    for load, p in {1: 0.002403, 2: 0.498376, 3: 0.409355, 4: 0.080025, 5: 0.009159, 6: 0.000654}.items():
        assert eight[load] == printed(p)
    assert eight[7] == printed(0.000027)
    assert eight[8] == pytest.approx(8**-7, rel=1e-14)


@pytest.mark.parametrize(("n", "m", "mean"), [(3, 3, 17 / 9), (4, 4, 17 / 8), (5, 3, 25 / 9)])
def test_largest_load_of_small_cases(n: int, m: int, mean: float) -> None:
    assert ecmp_stage(n, m).max_load_mean == pytest.approx(mean, rel=1e-15)


@pytest.mark.parametrize(("n", "m"), [(1, 1), (1, 3), (3, 1), (2, 3), (4, 3), (5, 4), (6, 2), (3, 6)])
@pytest.mark.parametrize("c", [0.5, 1.0, 1.5, 2.0, 9.0])
def test_every_figure_equals_all_hashes_counted(n: int, m: int, c: float) -> None:
    total = m**n
    sums: Counter[str] = Counter()
    largest: Counter[int] = Counter()
    for hashes in itertools.product(range(m), repeat=n):
        load = Counter(hashes)
        top = max(load.values())
        largest[top] += 1
        sums["p_no_collision"] += top == 1
        sums["occupied_links_mean"] += len(load)
        sums["colliding_flows_mean"] += sum(x for x in load.values() if x > 1)
        sums["colliding_pairs_mean"] += sum(math.comb(x, 2) for x in load.values())
        sums["mean_rate"] += sum(min(1.0, c / x) * x for x in load.values()) / n
        sums["slowest_rate"] += min(1.0, c / top)
        sums["slowdown_mean"] += max(1.0, top / c)
        sums["max_load_mean"] += top
    stage = ecmp_stage(n, m, link_gbps=c)
    for name, value in sums.items():
        assert getattr(stage, name) == pytest.approx(value / total, rel=1e-13, abs=1e-15), name
    assert stage.max_load_pmf == pytest.approx({load: x / total for load, x in largest.items()}, rel=1e-13)


@pytest.mark.parametrize(("n", "m"), [(65, 65), (90, 2), (100, 7), (120, 31), (70, 500), (96, 32)])
@pytest.mark.parametrize("c", [0.7, 1.0, 2.0, 5.5])
def test_float_scheme_equals_rational_arithmetic(n: int, m: int, c: float) -> None:
    assert n > occupancy.RATIONAL_FLOWS
    cdf = [occupancy.rational_p_max_at_most(n, m, k) for k in range(n + 1)]
    pmf = {k: cdf[k] - cdf[k - 1] for k in range(1, n + 1)}
    ratio, p = Fraction(c), Fraction(1, m)
    stage = ecmp_stage(n, m, link_gbps=c)
    binomial = [math.comb(n - 1, j) * p**j * (1 - p) ** (n - 1 - j) for j in range(n)]
    expected = {
        "mean_rate": sum(b * min(1, ratio / (j + 1)) for j, b in enumerate(binomial)),
        "slowest_rate": sum(q * min(1, ratio / k) for k, q in pmf.items()),
        "slowdown_mean": sum(q * max(1, k / ratio) for k, q in pmf.items()),
        "max_load_mean": sum(q * k for k, q in pmf.items()),
    }
    for name, value in expected.items():
        assert abs(Fraction(getattr(stage, name)) / value - 1) < 1e-12, name
    for load, q in pmf.items():
        assert abs(Fraction(stage.max_load_pmf.get(load, 0.0)) - q) < 1e-12
    assert math.fsum(stage.max_load_pmf.values()) == pytest.approx(1, abs=1e-12)


def decimal_cdf(n: int, m: int, k: int) -> Decimal:
    """The rational recurrence with 400 digits: its signs alternate, so many digits are needed and enough."""
    inverse = [Decimal(1) / math.factorial(i) for i in range(k + 1)]
    power = [Decimal(1)]
    for t in range(1, n + 1):
        terms = (((m + 1) * i - t) * inverse[i] * power[t - i] for i in range(1, min(k, t) + 1))
        power.append(sum(terms, Decimal(0)) / t)
    return power[n] * math.factorial(n) / Decimal(m) ** n


@pytest.mark.parametrize(("n", "m", "k"), [(1024, 1024, 5), (4096, 4096, 6), (4096, 1024, 12), (512, 64, 14)])
def test_large_stages_equal_400_digits(n: int, m: int, k: int) -> None:
    getcontext().prec = 400
    exact = decimal_cdf(n, m, k)
    assert Decimal("0.001") < exact < 1
    assert abs(Decimal(occupancy.p_max_at_most(n, m, k)) / exact - 1) < Decimal("1e-12")


def test_large_mean_of_the_largest_load() -> None:
    assert ecmp_stage(64, 64).max_load_mean == printed(3.957737)
    assert ecmp_stage(1024, 1024).max_load_mean == printed(5.526176)
    stage = ecmp_stage(65536, 65536)
    assert math.fsum(stage.max_load_pmf.values()) == pytest.approx(1, abs=1e-12)
    assert stage.mean_rate == pytest.approx(1 - math.exp(-1), abs=1e-5)


def test_tails_keep_relative_accuracy() -> None:
    """P(all 70 flows on one of 70 links) and P(at least 20 on one) where 1 - P would lose every digit."""
    pmf = max_load_distribution(70, 70)
    exact = occupancy.rational_p_max_at_most(70, 70, 20) - occupancy.rational_p_max_at_most(70, 70, 19)
    assert abs(Fraction(pmf[20]) / exact - 1) < Fraction(1, 10**6)
    assert 0 < exact < Fraction(1, 10**15)


def test_more_links_never_slow_anything() -> None:
    stages = [ecmp_stage(100, m) for m in (1, 2, 5, 20, 100, 1000)]
    for wider, narrower in itertools.pairwise(reversed(stages)):
        assert wider.mean_rate > narrower.mean_rate
        assert wider.max_load_mean < narrower.max_load_mean


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ({"flows": 0, "links": 4}, "flows"),
        ({"flows": 4, "links": -1}, "links"),
        ({"flows": 2.5, "links": 4}, "flows"),
        ({"flows": True, "links": 4}, "flows"),
        ({"flows": 4, "links": 10**8}, "links"),
        ({"flows": 4, "links": 4, "flow_gbps": 0}, "flow_gbps"),
        ({"flows": 4, "links": 4, "link_gbps": -400}, "link_gbps"),
        ({"flows": 4, "links": 4, "link_gbps": math.nan}, "link_gbps"),
        ({"flows": 4, "links": 4, "flow_gbps": "fast"}, "flow_gbps"),
    ],
)
def test_bad_arguments_are_named(arguments: dict[str, object], name: str) -> None:
    with pytest.raises(ParameterError, match=name):
        ecmp_stage(**arguments)  # type: ignore[arg-type]


def test_result_renders() -> None:
    stage = ecmp_stage(64, 32, flow_gbps="200G", link_gbps="400G")
    document = json.loads(stage.to_json())
    assert document["capacity_ratio"] == 2.0
    assert document["max_load_pmf"]["4"] == stage.max_load_pmf[4]
    assert "model" in document["standing"]
    assert "73.36 % of 200 Gb/s" in str(stage)
