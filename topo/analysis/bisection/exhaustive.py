"""The exact minimum by trying every side of every switch, for fabrics of at most 20 switches."""

from __future__ import annotations

import numpy as np

from topo.analysis.bisection.problem import Problem
from topo.table import Array

__all__ = ["MOST_SWITCHES", "enumerated"]

MOST_SWITCHES = 20
_CHUNK = 1 << 14
_MOST_WORK = 2.0e8


def enumerated(problem: Problem, smaller: int) -> tuple[float, Array] | None:
    """Least cut over all even splits with its sides; ``None`` where there are too many switches or unequal units.

    For each of the 2^(switches - 1) choices of switch sides the units follow at least cost: those with the smallest
    difference between side 1 and side 0 fill side 1.
    """
    n = problem.n_units
    m = problem.n_vertices - n
    if m > MOST_SWITCHES or m < 1 or not problem.is_uniform:
        return None
    adjacency = problem.adjacency
    access = adjacency[:n, n:].toarray()
    patterns, repeats = np.unique(access, axis=0, return_counts=True)
    direct = adjacency[:n, :n].nnz
    if direct or 2.0 ** (m - 1) * len(patterns) > _MOST_WORK:
        return None
    switches = adjacency[n:, n:].toarray()
    take = smaller // int(problem.weight[0])
    best = (np.inf, 0)
    for start in range(0, 1 << (m - 1), _CHUNK):
        code = np.arange(start, min(start + _CHUNK, 1 << (m - 1)))
        costs = _costs(code, switches, patterns, repeats, take)
        at = int(costs.argmin())
        if costs[at] < best[0]:
            best = (float(costs[at]), int(code[at]))
    return best[0], _sides(best[1], access, m, n, take)


def _bits(code: Array, m: int) -> Array:
    return (code[:, None] >> np.arange(m)) & 1


def _costs(code: Array, switches: Array, patterns: Array, repeats: Array, take: int) -> Array:
    m = switches.shape[0]
    one = _bits(code, m).astype(float)
    between = ((one @ switches) * (1 - one)).sum(axis=1)
    to_zero = (1 - one) @ patterns.T  # cost of side 1: links to switches on side 0
    to_one = one @ patterns.T
    best = np.full(len(code), np.inf)
    for count in {take, int(repeats.sum()) - take}:
        order = np.argsort(to_zero - to_one, axis=1)
        available = repeats[order]
        before = np.cumsum(available, axis=1) - available
        chosen = np.clip(count - before, 0, available)
        difference = np.take_along_axis(to_zero - to_one, order, axis=1)
        best = np.minimum(best, (to_one * repeats).sum(axis=1) + (difference * chosen).sum(axis=1))
    total: Array = between + best
    return total


def _sides(code: int, access: Array, m: int, n: int, take: int) -> Array:
    one = _bits(np.array([code]), m)[0].astype(float)
    difference = access @ (1 - one) - access @ one
    order = np.argsort(difference, kind="stable")
    options = []
    for count in (take, n - take):
        unit = np.zeros(n, bool)
        unit[order[:count]] = True
        cost = (access @ (1 - one))[unit].sum() + (access @ one)[~unit].sum()
        options.append((cost, count, unit))
    unit = min(options, key=lambda option: option[:2])[2]
    return np.concatenate([unit, one.astype(bool)])
