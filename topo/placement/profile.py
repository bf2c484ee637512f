"""The profile of a demand: a lower bound on the traffic that leaves any k of its hosts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topo.placement.job import Job
from topo.table import Array, freeze

__all__ = ["JobGrid", "Pattern", "pattern_of"]

_MOST_DENSE = 4096
_MOST_SPECTRAL = 1024


@dataclass(frozen=True)
class JobGrid:
    """A job of p stages x d replicas of hosts: bytes of a ring edge, of a chain edge, of a pair of an expert group.

    ``host[s, r]`` is the number of the host of stage s and replica r.
    """

    stages: int
    replicas: int
    experts: int
    ring: float
    chain: float
    pair: float
    host: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Pattern:
    """What hosts of a job say to each other, and what any k of them must send out.

    ``least[k]`` bounds the cut of k hosts per direction, ``both_ends[k]`` the same with both ends of every chain
    counted, which sums to ``excess`` too much over a partition (inf arrays are never used). ``weights`` is the sparse
    host-to-host matrix, None for a uniform all-to-all of ``uniform`` a pair.
    """

    n: int
    total: float
    uniform: float | None
    weights: Any
    least: NDArray[np.float64]
    both_ends: NDArray[np.float64] | None
    excess: float
    step: float
    grid: JobGrid | None
    how: str
    spectral_order: NDArray[np.int64] | None


def pattern_of(job: Job, width: int) -> Pattern:
    """The pattern of a job with ``width`` ranks a host.

    >>> pattern = pattern_of(Job(6, pattern="ring"), 1)
    >>> pattern.least.tolist()
    [0.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.0]
    """
    n = job.n_hosts(width)
    traffic = job.host_traffic(width)
    k = np.arange(n + 1, dtype=float)
    if len(traffic.group_amount) == 1 and not len(traffic.source) and len(traffic.member) == n:
        w = float(traffic.group_amount[0])
        return Pattern(n, traffic.total, w, None, freeze(w * k * (n - k)), None, 0.0, w, None, "uniform", None)
    weights = traffic.between(np.arange(n), n)
    grid = _grid(job, width)
    least, both, excess, order = np.zeros(n + 1), None, 0.0, None
    how = []
    if grid is not None:
        least, both = _structured(grid, closed=False), _structured(grid, closed=True)
        excess = 2 * grid.chain * grid.replicas
        how.append("rings, chains and expert groups")
    if n <= _MOST_DENSE and (grid is None or n <= _MOST_SPECTRAL):
        generic, order = _generic(weights, n)
        least = np.maximum(least, generic)
        how.append("heaviest neighbours" + (" and the spectrum" if n <= _MOST_SPECTRAL else ""))
    least = np.maximum(least, least[::-1])
    least[0] = least[n] = 0.0
    return Pattern(
        n, traffic.total, None, weights, freeze(least), both, excess, _step(weights.data), grid, ", ".join(how), order
    )


def _grid(job: Job, width: int) -> JobGrid | None:
    """The stages and replicas of a standard job whose tensor and context ranks fill a host, or of one ring."""
    n = job.n_hosts(width)
    if job.pairs:
        return None
    if not job.degrees:
        if job.pattern != "ring" or job.size % width or n < 2:
            return None
        return JobGrid(1, n, 1, job.pattern_bytes, 0.0, 0.0, np.arange(n)[None, :])
    inner = job.degree("tensor") * job.degree("context")
    used = [name for name in job.order if job.degree(name) > 1]
    outer = [name for name in used if name in ("pipeline", "data")]
    if inner != width or used[len(used) - len(outer) :] != outer:
        return None
    host = job.grid[0, 0] // width
    amount = {name: width * job.bytes_per_step.get(name, 0.0) for name in ("data", "pipeline", "expert")}
    return JobGrid(
        stages=job.degree("pipeline"),
        replicas=job.degree("data"),
        experts=job.degree("expert"),
        ring=amount["data"] if job.degree("data") > 1 else 0.0,
        chain=amount["pipeline"] if job.degree("pipeline") > 1 else 0.0,
        pair=amount["expert"] if job.degree("expert") > 1 else 0.0,
        host=host,
    )


def _structured(grid: JobGrid, *, closed: bool) -> NDArray[np.float64]:
    """Least cut of k hosts of a grid, by the number r of stages touched.

    A ring partly inside has at least one edge out, and at most floor(k / d) rings are whole; an expert group with x
    inside cuts x (e - x); chains between adjacent stages cut at least the difference of their counts.
    """
    p, d, e = grid.stages, grid.replicas, grid.experts
    n, k = p * d, np.arange(p * d + 1)
    best = np.full(n + 1, np.inf)
    x = np.arange(e + 1)
    state = np.full((e + 1, p * e + 1), np.inf)  # by count in the last stage, and total
    for r in range(1, p + 1):
        if r == 1:
            state[x, x] = grid.pair * x * (e - x) + (grid.chain * x if closed else 0.0)
        else:
            state = _next_stage(state, grid, x)
        ends = grid.chain * x if (closed or r < p) else np.zeros(e + 1)
        column = (state + ends[:, None]).min(axis=0)[: r * e + 1]
        columns = _folded(column, d // e, n + 1)
        rings = grid.ring * np.maximum(np.minimum(r, k) - np.minimum(r, k // d), 0)
        best[: len(columns)] = np.minimum(best[: len(columns)], columns + rings[: len(columns)])
    best[0] = 0.0
    return best


def _next_stage(state: Array, grid: JobGrid, x: Array) -> Array:
    out = np.full_like(state, np.inf)
    for y in x.tolist():
        step = (state + grid.chain * np.abs(x - y)[:, None]).min(axis=0)
        out[y, y:] = step[: state.shape[1] - y] + grid.pair * y * (len(x) - 1 - y)
    return out


def _folded(column: Array, times: int, most: int) -> Array:
    """The min-plus power of a row, by squaring."""
    out: Array | None = None
    power = column
    while times:
        if times & 1:
            out = power if out is None else _plus(out, power, most)
        times >>= 1
        if times:
            power = _plus(power, power, most)
    assert out is not None
    return out


def _plus(a: Array, b: Array, most: int) -> Array:
    long, short = (a, b) if len(a) >= len(b) else (b, a)
    out = np.full(min(len(a) + len(b) - 1, most), np.inf)
    for i, value in enumerate(short.tolist()):
        part = long[: len(out) - i]
        np.minimum(out[i : i + len(part)], part + value, out=out[i : i + len(part)])
    return out


def _generic(weights: Any, n: int) -> tuple[NDArray[np.float64], NDArray[np.int64] | None]:
    """Bounds for any demand: what each host says beyond its k - 1 heaviest neighbours; the second eigenvalue."""
    dense = weights.toarray()
    mean = (dense + dense.T) / 2
    degree = mean.sum(axis=1)
    heaviest = np.cumsum(np.sort(mean, axis=1)[:, ::-1], axis=1)
    left = degree[:, None] - np.concatenate([np.zeros((n, 1)), heaviest[:, :-1]], axis=1)
    left.sort(axis=0)
    least = np.zeros(n + 1)
    least[1:] = np.maximum(np.diagonal(np.cumsum(left, axis=0)), 0.0)
    order = None
    if n <= _MOST_SPECTRAL and n > 2:
        values, vectors = np.linalg.eigh(np.diag(degree) - mean)
        k = np.arange(n + 1)
        # A little below, so that rounding never lifts the bound above the truth.
        least = np.maximum(least, max(float(values[1]), 0.0) * (1 - 1e-9) * k * (n - k) / n)
        order = np.argsort(vectors[:, 1], kind="stable")
    return np.asarray(least * (1 - 1e-12), float), order


def _step(amounts: Array) -> float:
    """The largest amount that all amounts are multiples of, to a millionth; 0 where there is none."""
    if not len(amounts):
        return 0.0
    values = np.unique(amounts)
    scaled = np.round(values * 1e6)
    if len(values) > 10_000 or (np.abs(scaled - values * 1e6) > 1e-3).any() or scaled.max() > 2**52:
        return 0.0
    return float(np.gcd.reduce(scaled.astype(np.int64))) / 1e6
