"""The exact minimum by trying every side of every switch, for fabrics of at most 20 switches."""

from __future__ import annotations

import numpy as np

from topo.analysis.bisection.problem import Problem
from topo.analysis.bisection.search import cheapest_units
from topo.table import Array

__all__ = ["MOST_SWITCHES", "MOST_VERTICES", "enumerated"]

MOST_SWITCHES = 20
MOST_VERTICES = 18
_CHUNK = 1 << 14
_MOST_WORK = 2.0e8


def enumerated(problem: Problem, smaller: int) -> tuple[float, Array] | None:
    """Least cut over all even splits with its sides; ``None`` where there is too much to try.

    Up to 18 units and switches in all, every side of every one. Up to 20 switches that units hang on, each of the
    2^(switches - 1) choices of switch sides, the units following at least cost (up to 10 where units are unequal).
    """
    n = problem.n_units
    m = problem.n_vertices - n
    if problem.n_vertices <= MOST_VERTICES:
        return _all_sides(problem, smaller)
    adjacency = problem.adjacency
    if m > MOST_SWITCHES or m < 1 or adjacency[:n, :n].nnz:
        return None
    access = adjacency[:n, n:].toarray()
    switches = adjacency[n:, n:].toarray()
    if not problem.is_uniform:
        return _unequal(problem, access, switches, smaller) if m <= 10 else None
    patterns, repeats = np.unique(access, axis=0, return_counts=True)
    if 2.0 ** (m - 1) * len(patterns) > _MOST_WORK:
        return None
    take = smaller // int(problem.weight[0])
    best = (np.inf, 0)
    for start in range(0, 1 << (m - 1), _CHUNK):
        code = np.arange(start, min(start + _CHUNK, 1 << (m - 1)))
        costs = _costs(code, switches, patterns, repeats, take)
        at = int(costs.argmin())
        if costs[at] < best[0]:
            best = (float(costs[at]), int(code[at]))
    return best[0], _sides(best[1], access, m, n, take)


def _all_sides(problem: Problem, smaller: int) -> tuple[float, Array]:
    """Every side of every unit and switch."""
    n = problem.n_vertices
    best, best_side = np.inf, np.zeros(n, bool)
    total = int(problem.weight.sum())
    for start in range(0, 1 << (n - 1), _CHUNK):
        side = _bits(np.arange(start, min(start + _CHUNK, 1 << (n - 1))), n).astype(bool)
        held = side[:, : problem.n_units] @ problem.weight
        side = side[(held == smaller) | (held == total - smaller)]
        if not len(side):
            continue
        cut = (side[:, problem.edge_a] != side[:, problem.edge_b]) @ problem.capacity
        at = int(cut.argmin())
        if cut[at] < best:
            best, best_side = float(cut[at]), side[at]
    return best, best_side


def _unequal(problem: Problem, access: Array, switches: Array, smaller: int) -> tuple[float, Array]:
    """Units of several sizes: a knapsack for each choice of switch sides."""
    m = len(switches)
    best, best_side = np.inf, np.zeros(problem.n_vertices, bool)
    total = int(problem.weight.sum())
    for code in range(1 << (m - 1)):
        one = _bits(np.array([code]), m)[0].astype(float)
        between = float((one @ switches) @ (1 - one))
        if_one, if_zero = access @ (1 - one), access @ one
        for size in {smaller, total - smaller}:
            chosen = cheapest_units(problem.weight, if_one - if_zero, size)
            cost = between + float(if_zero.sum() + (if_one - if_zero)[chosen].sum())
            if cost < best - 1e-9:
                unit = np.zeros(problem.n_units, bool)
                unit[chosen] = True
                best, best_side = cost, np.concatenate([unit, one.astype(bool)])
    return best, best_side


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
