"""Hashes drawn at random: paths, max-min fair rates, and an interval that may be looked at while it is drawn.

Batches are the unit: batch i uses child i of the seed and its size depends on the flows alone, so the answer is the
same for any number of workers. The interval is looked at after 32, 64, 128, ... samples; look i spends alpha / (i (i +
1)) of the error, which adds up to alpha, so that stopping early stays honest.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from concurrent.futures import Executor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from topo.analysis.collisions.hashed import hashed_paths
from topo.analysis.intervals import ERROR, student_half_width, student_quantile, wilson
from topo.hashing.keys import roce_keys
from topo.hashing.scheme import EcmpHash
from topo.progress import counted
from topo.routing.fair import equal_share_rates, max_min_rates
from topo.routing.next_hops import NextHops
from topo.routing.walk import at_random, walk

__all__ = ["Look", "Sampled", "Sampler", "draw"]

_FIRST_LOOK = 32
_SLOTS = 300_000
_SLACK = 1e-9

MEAN, EQUAL, SLOWEST, FITS, LARGEST, STRIPED = range(6)
_N_COLUMNS = 6


@dataclass(frozen=True)
class Look:
    """What was known after ``samples`` samples: the estimate and its half-width, and the slowest flow's."""

    samples: int
    mean: float
    half_width: float
    slowest: float
    slowest_half_width: float


@dataclass(frozen=True, eq=False)
class Sampled:
    """One line a sample: mean max-min rate, mean equal share, slowest, 1 if nothing overflows, largest utilization,
    mean rate of a connection that waits for its slowest queue pair; rates as shares of the flow's own.
    """

    values: NDArray[np.float64]
    looks: tuple[Look, ...]
    seed: int
    is_corrected: bool

    @property
    def n(self) -> int:
        """Samples drawn."""
        return len(self.values)

    @property
    def p_fits(self) -> tuple[float, float, float]:
        """Probability that nothing overflows: Wilson interval and share of the samples."""
        hits = int(self.values[:, FITS].sum())
        return (*wilson(hits, self.n), hits / self.n)

    def interval(self, column: int) -> tuple[float, float]:
        """Mean of a column with the half-width of its 95 % Student interval."""
        return float(self.values[:, column].mean()), student_half_width(self.values[:, column])


@dataclass(frozen=True, eq=False)
class Sampler:
    """Everything a batch needs: flows (with their queue pairs), capacities, and how many samples make a batch."""

    hops: NextHops
    source: NDArray[np.int64]
    sink: NDArray[np.int64]
    flow_gbps: NDArray[np.float64]
    capacity_gbps: NDArray[np.float64]
    queue_pairs: int
    rule: EcmpHash | None = None
    inner_utilization: NDArray[np.float64] | None = None
    """Of arcs that are striped over, not hashed: fluid load over capacity; 0 for the others."""

    @property
    def batch(self) -> int:
        """Samples in a batch."""
        flows = max(1, len(self.source) * self.queue_pairs)
        return int(min(256, max(1, _SLOTS // max(len(self.capacity_gbps), 4 * flows))))

    def run(self, seeds: list[np.random.SeedSequence]) -> list[NDArray[np.float64]]:
        """One array a seed, a line a sample."""
        return [self._batch(seed) for seed in seeds]

    def _batch(self, seed: np.random.SeedSequence) -> NDArray[np.float64]:
        n, q, b = len(self.source), self.queue_pairs, self.batch
        source, sink = np.tile(np.repeat(self.source, q), b), np.tile(np.repeat(self.sink, q), b)
        arcs = self._paths(source, sink, seed).reshape(-1, b, n * q)
        limit = np.repeat(self.flow_gbps, q) / q
        arcs, cap = self._without_inner(arcs)
        rate = max_min_rates(arcs, self.capacity_gbps, limit * cap)
        spare = equal_share_rates(arcs, self.capacity_gbps, np.inf)
        if self.inner_utilization is not None:
            inside = (arcs < 0).all(axis=0)  # no hashed arc at all
            rate, spare = np.where(inside, limit * cap, rate), np.where(inside, np.inf, spare)
        share, equal_share = rate / limit, np.minimum(spare / limit, cap)
        values = np.empty((b, _N_COLUMNS))
        values[:, MEAN], values[:, EQUAL] = share.mean(axis=1), equal_share.mean(axis=1)
        values[:, SLOWEST] = share.min(axis=1)
        if (limit == limit[0]).all():
            # Equal flows: the largest load over capacity is where the least capacity over flows is.
            with np.errstate(divide="ignore"):
                largest = limit[0] / spare.min(axis=1)
        else:
            largest = self._largest(arcs, limit)
        with np.errstate(divide="ignore"):
            # A capped flow crosses a striped arc that is overloaded.
            largest = np.maximum(largest, np.where(cap.min(axis=-1) < 1, 1 / cap.min(axis=-1), 0.0))
        values[:, FITS], values[:, LARGEST] = largest <= 1 + _SLACK, largest
        values[:, STRIPED] = share.reshape(b, n, q).min(axis=2).mean(axis=1)
        return values

    def _without_inner(self, arcs: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Paths over hashed arcs alone, and the share of its rate that the striped arcs leave each flow."""
        if self.inner_utilization is None:
            return arcs, np.ones(arcs.shape[1:])
        on = np.where(arcs >= 0, self.inner_utilization[arcs], 0.0)
        cap = 1 / np.maximum(on.max(axis=0, initial=0.0), 1.0)
        return np.where(on > 0, -1, arcs), np.where(cap > 1 - _SLACK, 1.0, cap)

    def _paths(
        self, source: NDArray[np.int64], sink: NDArray[np.int64], seed: np.random.SeedSequence
    ) -> NDArray[np.int64]:
        """Ideal hashes, or the switches' own on queue pairs drawn anew."""
        if self.rule is None:
            return walk(self.hops, source, sink, at_random(seed))
        keys = roce_keys(self.hops.fabric, source, sink, seed=int(seed.generate_state(1, np.uint64)[0]))
        return hashed_paths(self.hops, source, sink, keys, hash=self.rule)

    def _largest(self, arcs: NDArray[np.int64], limit: NDArray[np.float64]) -> NDArray[np.float64]:
        """Largest utilization in each sample; infinite where a flow meets a link of rate 0."""
        b, n_arcs = arcs.shape[1], len(self.capacity_gbps)
        load = np.zeros(b * n_arcs)
        offset = (np.arange(b) * n_arcs)[:, None]
        for hop in arcs:
            on = hop >= 0
            load += np.bincount((hop + offset)[on], weights=np.broadcast_to(limit, hop.shape)[on], minlength=b * n_arcs)
        used = load > 0
        capacity = np.tile(self.capacity_gbps, b)
        with np.errstate(divide="ignore", invalid="ignore"):
            utilization = np.where(used, load / capacity, 0.0)
        return np.asarray(utilization.reshape(b, n_arcs).max(axis=1))


def draw(
    sampler: Sampler,
    *,
    samples: int,
    tolerance: float,
    seed: int,
    exact_equal_share: float | None = None,
    executor: Executor | None = None,
) -> Sampled:
    """Sample until the half-width of the mean rate is at most ``tolerance``, at most ``samples`` times.

    With ``exact_equal_share``, the mean of the equal share over hashes, the sampled equal share corrects the mean
    (a control variate): their correlation is 0.95 and more, so a tenth of the samples does.
    """
    children = np.random.SeedSequence(seed)
    blocks: list[NDArray[np.float64]] = []
    looks: list[Look] = []
    target = min(_FIRST_LOOK, samples)
    with counted(samples, "hashes drawn") as count:
        while True:
            wanted = -(-target // sampler.batch) - len(blocks)
            blocks += _run(sampler, children.spawn(wanted), executor)
            values = np.concatenate(blocks)[:samples]  # the last batch may hold more than were asked for
            share = ERROR / ((len(looks) + 1) * (len(looks) + 2))
            mean, half = _corrected(values, exact_equal_share, share)
            slowest = values[:, SLOWEST]
            looks.append(Look(len(values), mean, half, float(slowest.mean()), student_half_width(slowest, share)))
            if half <= tolerance or len(values) >= samples:
                return Sampled(values, tuple(looks), seed, exact_equal_share is not None)
            # The half-width falls with the root of the samples: that many will do.
            enough = min(samples, len(values) * (half / tolerance) ** 2) if tolerance > 0 else samples
            count(int(samples * len(values) / enough))
            target = min(samples, max(2 * target, len(values) + 1))


def _run(
    sampler: Sampler, seeds: list[np.random.SeedSequence], executor: Executor | None
) -> Iterable[NDArray[np.float64]]:
    if executor is None or len(seeds) < 2:
        return sampler.run(seeds)
    # A few batches a task: the next-hop tables travel with each.
    size = max(1, -(-len(seeds) // 16))
    parts = [seeds[i : i + size] for i in range(0, len(seeds), size)]
    return [block for part in executor.map(sampler.run, parts) for block in part]


def _corrected(values: NDArray[np.float64], exact: float | None, alpha: float) -> tuple[float, float]:
    """Mean of the max-min rate with half-width, by regression on the equal share where its mean is known."""
    rate, equal = values[:, MEAN], values[:, EQUAL]
    if exact is None or len(rate) < 8 or np.ptp(equal) < 1e-12:
        return float(rate.mean()), student_half_width(rate, alpha)
    centred = equal - equal.mean()
    slope = float(centred @ rate) / float(centred @ centred)
    residual = rate - rate.mean() - slope * centred
    n = len(rate)
    spread = math.sqrt(float(residual @ residual) / (n - 2))
    away = float(equal.mean()) - exact
    error = spread * math.sqrt(1 / n + away**2 / float(centred @ centred))
    return float(rate.mean()) - slope * away, student_quantile(n - 2, alpha) * error
