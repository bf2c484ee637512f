"""Profiles of demands never exceed the true least cut; bounds never exceed the best placement."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import topo
from topo.placement.job import Job
from topo.placement.placing import place
from topo.placement.profile import pattern_of


def least_cuts(job: Job) -> np.ndarray:
    """Least traffic out of any k ranks (the larger direction), by trying every subset."""
    n = job.size
    w = job.traffic.between(np.arange(n), n).toarray()
    inside = (np.arange(1 << n)[:, None] >> np.arange(n)) & 1
    out = np.einsum("si,ij,sj->s", inside, w, 1 - inside, optimize=True)
    into = np.einsum("si,ij,sj->s", 1 - inside, w, inside, optimize=True)
    size = inside.sum(axis=1)
    return np.array([np.maximum(out, into)[size == k].min() for k in range(n + 1)])


GRIDS = [
    (1, 12, 1, 3, 0, 0),
    (3, 4, 1, 2, 1, 0),
    (3, 4, 2, 2, 1, 1),
    (2, 6, 3, 5, 2, 1),
    (4, 3, 1, 1, 4, 0),
    (2, 6, 2, 1, 1, 0.5),
    (6, 2, 2, 3, 1, 2),
]


def grid_job(
    p: int, d: int, e: int, a: float, b: float, w: float, order: tuple[str, ...] = ("pipeline", "data")
) -> Job:
    return Job(
        degrees={"pipeline": p, "data": d, "expert": e}, order=order,
        bytes_per_step={"data": a, "pipeline": b, "expert": w},
    )  # fmt: skip


@pytest.mark.parametrize("grid", GRIDS)
def test_structured_profile_is_below_the_truth(grid) -> None:  # type: ignore[no-untyped-def]
    job = grid_job(*grid)
    least, pattern = least_cuts(job), pattern_of(job, 1)
    assert pattern.grid is not None
    assert (pattern.least <= least + 1e-9).all()
    assert pattern.least[1:-1].min() > 0
    # Tight on nearly all counts: a bound that is only small would pass the line above.
    assert np.isclose(pattern.least, least).mean() >= 0.6


@pytest.mark.parametrize("grid", GRIDS)
def test_chain_ends_sum_to_the_constant_too_much(grid) -> None:  # type: ignore[no-untyped-def]
    """For every partition into groups: sum of true cuts >= sum of the two-sided profile less the constant."""
    job = grid_job(*grid)
    pattern = pattern_of(job, 1)
    assert pattern.both_ends is not None
    n = job.size
    w = job.traffic.between(np.arange(n), n).toarray()
    rng = np.random.default_rng(0)
    for _ in range(300):
        label = rng.integers(0, int(rng.integers(1, 5)), n)
        cut = w[label[:, None] != label[None, :]].sum()
        counts = np.bincount(label)
        assert cut >= pattern.both_ends[counts].sum() - pattern.excess - 1e-9


@pytest.mark.parametrize("seed", range(12))
def test_generic_profile_is_below_the_truth(seed: int) -> None:
    rng = np.random.default_rng(seed)
    pairs = tuple(
        (int(s), int(t), float(x))
        for s, t, x in zip(*rng.integers(0, 10, (2, 30)), rng.integers(1, 9, 30), strict=True)
        if s != t
    )
    job = Job(10, pairs=pairs, pattern="none")
    assert (pattern_of(job, 1).least <= least_cuts(job) + 1e-9).all()


def test_uniform_profile_is_the_truth() -> None:
    np.testing.assert_allclose(pattern_of(Job(10), 1).least, least_cuts(Job(10)))
    as_pairs = Job(10, pattern="none", pairs=tuple((i, j, 1.0) for i, j in itertools.permutations(range(10), 2)))
    np.testing.assert_allclose(pattern_of(as_pairs, 1).least, least_cuts(Job(10)), rtol=1e-6)


def best_by_trying(free: list[int], job: Job, pods: list[int] | None) -> tuple[float, float]:
    """Least hop-bytes and least leaf load over every assignment of ranks to leaves."""
    n = job.size
    w = job.traffic.between(np.arange(n), n).toarray()
    slots = (
        sorted(set(itertools.permutations([leaf for leaf, f in enumerate(free) for _ in range(f)][:n])))
        if sum(free) == n
        else None
    )
    assert slots is not None, "states here have no spare host"
    least = [np.inf, np.inf]
    for labels in slots:
        leaf = np.array(labels)
        apart = leaf[:, None] != leaf[None, :]
        hop = 2 * w.sum() + 2 * (w * apart).sum()
        if pods is not None:
            pod = np.array(pods)[leaf]
            hop += 2 * (w * (pod[:, None] != pod[None, :])).sum()
        load = max(max((w * apart)[leaf == x].sum(), (w * apart)[:, leaf == x].sum()) for x in set(labels))
        least = [min(least[0], hop), min(least[1], load)]
    return least[0], least[1]


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("objective", ["hop_bytes", "uplink_load"])
def test_found_is_the_optimum_and_the_bound_below(seed: int, objective: str) -> None:
    """Two or three leaves, no spare host: every assignment is tried."""
    rng = np.random.default_rng(seed)
    fabric = topo.leaf_spine(leaves=3, spines=4, hosts_per_leaf=4)
    free = [[4, 4, 0], [3, 3, 2], [4, 2, 2], [4, 3, 1]][seed % 4]
    busy = [f"host-{leaf * 4 + i + 1:02}" for leaf, f in enumerate(free) for i in range(f, 4)]
    if seed % 2:
        job = grid_job(2, 4, 2, float(rng.integers(1, 5)), float(rng.integers(1, 5)), float(rng.integers(0, 3)))
    else:
        pairs = tuple(
            (int(s), int(t), float(x))
            for s, t, x in zip(*rng.integers(0, 8, (2, 14)), rng.integers(1, 9, 14), strict=True)
            if s != t
        )
        job = Job(8, pairs=pairs, pattern="none")
    hop, load = best_by_trying([f for f in free if f], job, None)
    found = place(fabric, job, busy=busy, objective=objective, budget_s=0.5)
    best = hop if objective == "hop_bytes" else load
    assert found.lower_bound <= best + 1e-9
    assert found.value >= best - 1e-9
    assert found.value == pytest.approx(best)
