"""Max-min fair rates against exact rational water-filling, and what must hold of them."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import topo
from topo.errors import ParameterError
from topo.routing.fair import equal_share_rates, max_min_rates
from topo.routing.next_hops import NextHops
from topo.routing.walk import at_random, walk


def exact_rates(paths: list[list[int]], capacity: list[Fraction], limit: list[Fraction]) -> list[Fraction]:
    """Textbook water-filling: raise all rates together, freeze what is held back, one level at a time."""
    rate = [Fraction(0)] * len(paths)
    left = list(capacity)
    active = {f for f, path in enumerate(paths) if path}
    while active:
        level = []
        for f in active:
            level.append(limit[f] - rate[f])
        for a in range(len(left)):
            users = sum(paths[f].count(a) > 0 for f in active)
            if users:
                level.append(left[a] / users)
        step = min(level)
        for f in active:
            rate[f] += step
            for a in paths[f]:
                left[a] -= step
        full = {a for a in range(len(left)) if left[a] == 0}
        active = {f for f in active if rate[f] < limit[f] and not full & set(paths[f])}
    return rate


def random_case(seed: int) -> tuple[np.ndarray, list[Fraction], list[Fraction]]:
    random = np.random.default_rng(seed)
    n_arcs, n_flows, hops = int(random.integers(1, 9)), int(random.integers(1, 13)), int(random.integers(1, 5))
    arcs = np.full((hops, n_flows), -1)
    for f in range(n_flows):
        length = int(random.integers(0 if seed % 5 == 0 else 1, min(hops, n_arcs) + 1))
        arcs[:length, f] = random.choice(n_arcs, length, replace=False)
    capacity = [
        Fraction(int(c), int(random.integers(1, 4))) for c in random.integers(0 if seed % 3 == 0 else 1, 9, n_arcs)
    ]
    limit = [Fraction(3) if seed % 2 else Fraction(int(random.integers(0, 9)), 2) for _ in range(n_flows)]
    return arcs, capacity, limit


@pytest.mark.parametrize("block", range(10))
def test_against_exact_rationals(block: int) -> None:
    for seed in range(60 * block, 60 * block + 60):
        arcs, capacity, limit = random_case(seed)
        exact = exact_rates([[int(a) for a in column if a >= 0] for column in arcs.T], capacity, limit)
        found = max_min_rates(arcs, [float(c) for c in capacity], [float(r) for r in limit])
        np.testing.assert_allclose(found, [float(r) for r in exact], rtol=0, atol=4e-15, err_msg=str(seed))


def test_samples_do_not_meet() -> None:
    cases = [random_case(seed)[0] for seed in (1, 7, 13)]
    hops, flows = max(len(c) for c in cases), min(c.shape[1] for c in cases)
    together = np.full((hops, 3, flows), -1)
    for i, case in enumerate(cases):
        together[: len(case), i] = case[:, :flows]
    capacity = np.arange(1.0, 10.0)
    found = max_min_rates(together, capacity, 2.5)
    for i in range(3):
        assert found[i].tolist() == max_min_rates(together[:, i], capacity, 2.5).tolist()


def test_no_flow_can_gain() -> None:
    """Certificate on a fabric: every flow below its limit crosses a full arc on which none has more."""
    fabric = topo.fat_tree(8)
    ends, random = fabric.endpoints, np.random.default_rng(3)
    source, sink = random.choice(ends, 300), random.choice(ends, 300)
    other = source != sink
    arcs = walk(NextHops.of(fabric), source[other], sink[other], at_random(4))
    capacity = np.repeat(fabric.links.capacity_gbps, 2)
    limit = random.uniform(10, 400, int(other.sum()))
    rate = max_min_rates(arcs, capacity, limit)
    used = np.zeros(len(capacity))
    most = np.zeros(len(capacity))
    for row in arcs:
        np.add.at(used, row[row >= 0], rate[row >= 0])
        np.maximum.at(most, row[row >= 0], rate[row >= 0])
    assert (used <= capacity * (1 + 1e-12)).all()
    full = used >= capacity * (1 - 1e-12)
    for f in range(len(rate)):
        path = arcs[:, f][arcs[:, f] >= 0]
        held = full[path] & (most[path] <= rate[f] * (1 + 1e-12))
        assert rate[f] >= limit[f] * (1 - 1e-12) or held.any()
    assert (equal_share_rates(arcs, capacity, limit) <= rate * (1 + 1e-12)).all()


def test_slowest_is_least_share() -> None:
    """With equal limits the slowest flow gets capacity over the largest load, exactly."""
    fabric = topo.fat_tree(8)
    ends = fabric.endpoints
    for seed in range(20):
        random = np.random.default_rng(seed)
        sink = np.roll(random.permutation(len(ends)), 0)
        moves = sink != np.arange(len(ends))
        arcs = walk(NextHops.of(fabric), ends[moves], ends[sink[moves]], at_random(seed))
        load = np.bincount(arcs[arcs >= 0], minlength=2 * len(fabric.links))
        rate = max_min_rates(arcs, np.full(len(load), 400.0), 400.0)
        assert rate.min() == pytest.approx(400 / load.max(), rel=1e-14)
        assert equal_share_rates(arcs, np.full(len(load), 400.0), 400.0).min() == 400 / load.max()


@pytest.mark.parametrize(
    ("k", "samples", "mean", "slowest", "equal", "sd"),
    [
        (4, 4000, 0.59290, 0.40710, 0.58771, 0.0756),
        (8, 600, 0.47680, 0.23740, 0.45870, 0.0207),
        (16, 40, 0.42804, 0.17786, 0.40460, 0.0062),
    ],
)
def test_random_derangements_on_fat_trees(
    k: int, samples: int, mean: float, slowest: float, equal: float, sd: float
) -> None:
    """Values found once with another program on 2,000 to 20,000 samples; here within four standard errors of both."""
    fabric = topo.fat_tree(k)
    ends, random = fabric.endpoints, np.random.default_rng(k)
    sink = np.stack([derangement(len(ends), random) for _ in range(samples)])
    arcs = walk(NextHops.of(fabric), np.tile(ends, samples), ends[sink].ravel(), at_random(k + 1))
    arcs = arcs.reshape(len(arcs), samples, len(ends))
    capacity = np.ones(2 * len(fabric.links))
    rate = max_min_rates(arcs, capacity, 1.0)
    error = 4 * sd / samples**0.5 + sd / 10
    assert rate.mean() == pytest.approx(mean, abs=error)
    assert rate.min(axis=1).mean() == pytest.approx(slowest, abs=4 * rate.min(axis=1).std() / samples**0.5 + 0.002)
    assert equal_share_rates(arcs, capacity, 1.0).mean() == pytest.approx(equal, abs=error)


def derangement(n: int, random: np.random.Generator) -> np.ndarray:
    while True:
        order = random.permutation(n)
        if (order != np.arange(n)).all():
            return order


@pytest.mark.parametrize(
    ("arcs", "capacity", "limit", "said"),
    [
        ([[5]], [1.0], 1.0, "from -1 to 0"),
        ([[0]], [-1.0], 1.0, "capacity of arc 0"),
        ([[0]], [np.nan], 1.0, "capacity of arc 0"),
        ([[0]], [1.0], -1.0, "limits must be at least 0"),
        ([[0]], [1.0], [1.0, 2.0], "do not fit"),
        ([0], [1.0], 1.0, "dimensions"),
        ([[0]], [np.inf], np.inf, "no finite limit"),
    ],
)
def test_refused(arcs: list, capacity: list, limit: object, said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        max_min_rates(arcs, capacity, limit)  # type: ignore[arg-type]


def test_nothing_to_share() -> None:
    assert max_min_rates(np.empty((0, 3), int), [1.0], 2.0).tolist() == [0, 0, 0]
    assert max_min_rates([[0, -1]], [0.0], 2.0).tolist() == [0, 0]
    assert max_min_rates(np.empty((4, 0), int), [1.0], 2.0).tolist() == []
