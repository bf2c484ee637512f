"""Lower bounds on what any placement of a job costs, and the counts that suggest themselves."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from topo.placement.counts import Counts, best_counts, waterfilled_load
from topo.placement.search import Problem
from topo.table import Array

__all__ = ["Bound", "compact_counts", "hop_bound", "load_bound", "table_of_loads"]


@dataclass(frozen=True, eq=False)
class Bound:
    """A lower bound, how it was found, and the counts of hosts the computations suggest."""

    value: float
    how: str
    counts: list[NDArray[np.int64]]


def hop_bound(problem: Problem) -> Bound:
    """hop-bytes = 2 (sum of bytes) + 2 (sum of cuts), with each cut replaced by the profile of its count.

    With both ends of every chain counted a level's cuts sum to at least the profile's minus a constant.
    """
    pattern, tree = problem.pattern, problem.tree
    kinds: list[tuple[list[Array], float]] = [([pattern.least] * tree.depth, 0.0)]
    if pattern.both_ends is not None:
        both, plain = pattern.both_ends, pattern.least
        kinds.append(([both] * tree.depth, tree.depth * pattern.excess))
        if tree.depth > 1:
            kinds.append(([both, *[plain] * (tree.depth - 1)], pattern.excess))
    best, found = -math.inf, []
    for profiles, excess in kinds:
        counts = _sum_counts(problem, profiles)
        found.append(counts.hosts)
        best = max(best, 2 * pattern.total + 2 * (counts.value - excess))
    best = max(best, 2 * pattern.total)
    return Bound(best, "exact count table" if pattern.uniform is not None else "count table of the profile", found)


def _sum_counts(problem: Problem, profiles: list[Array]) -> Counts:
    levels = problem.tree.levels

    def cost(level: int, node: int, k: Array) -> Array:
        return profiles[level][k] if levels[level].real[node] else np.zeros(len(k))

    return _wanted(best_counts(problem.tree, problem.free, problem.pattern.n, cost, most_leaves=problem.most_leaves))


def compact_counts(problem: Problem) -> Counts:
    """Fewest leaf groups, then least hop-bytes by the profile, then fewest free hosts left in used leaf groups.

    The three are one sum with weights so far apart that each outweighs all that follow.
    """
    pattern, tree, free = problem.pattern, problem.tree, problem.free
    unit = pattern.step or 1.0
    profile = np.round(pattern.least / unit) if pattern.step else pattern.least
    left = float(free.sum()) + 1
    hop = (float(profile.max(initial=0.0)) * tree.depth * min(pattern.n, len(free)) + 1) * left
    if hop * min(pattern.n, len(free)) > 2**52:  # keep the sums exact: give up the last tie-break
        left, hop = 1.0, hop / left

    def cost(level: int, node: int, k: Array) -> Array:
        own = profile[k] * left if tree.levels[level].real[node] else np.zeros(len(k))
        if level:
            return own
        return own + np.where(k > 0, hop + (free[node] - k if left > 1 else 0.0), 0.0)

    found = _wanted(best_counts(tree, free, pattern.n, cost, most_leaves=problem.most_leaves))
    return Counts(float((found.hosts > 0).sum()), found.hosts)


def load_bound(problem: Problem) -> Bound:
    """Largest (base + cut) / capacity, each cut replaced by the profile; rounded up where loads are multiples.

    Of the placements that reach the bound by counts, those with the fewest leaf groups, then hop-bytes, are suggested.
    """
    pattern, tree = problem.pattern, problem.tree
    every = _bottleneck(problem, leaves_only=False)
    value, how = every.value, "exact count table" if pattern.uniform is not None else "count table of the profile"
    counts = [_compact_within(problem, value), every.hosts]
    if pattern.uniform is not None:
        return Bound(value, how, counts)
    leaf = _bottleneck(problem, leaves_only=True).value
    even = tree.levels[0].real.all() and _alike(problem.capacity[0])
    bare = not any(base.any() for base in problem.base)
    if even and bare and pattern.both_ends is not None and pattern.excess:
        leaf = max(leaf, _chained(problem, leaf))
    if even and bare and pattern.step:
        step = pattern.step / float(problem.capacity[0][0])
        rounded = math.ceil(leaf / step - 1e-6) * step
        if rounded > value:
            value, how = rounded, f"{how}, rounded up to what loads can be"
    return Bound(max(value, leaf), how, counts)


def _load_cost(problem: Problem, level: int, node: int, k: Array) -> Array:
    cut = problem.pattern.least[k]
    if not problem.tree.levels[level].real[node]:
        return np.zeros(len(k))
    load = (cut + problem.base[level][node]) / problem.capacity[level][node]
    return np.where(cut > 0, load, 0.0)


def _bottleneck(problem: Problem, *, leaves_only: bool) -> Counts:
    def cost(level: int, node: int, k: Array) -> Array:
        return np.zeros(len(k)) if leaves_only and level else _load_cost(problem, level, node, k)

    most = problem.most_leaves
    return _wanted(best_counts(problem.tree, problem.free, problem.pattern.n, cost, bottleneck=True, most_leaves=most))


def _compact_within(problem: Problem, theta: float) -> NDArray[np.int64]:
    """Fewest leaf groups, then hop-bytes, of the counts with no load above theta."""
    pattern, tree = problem.pattern, problem.tree
    leaf = float(pattern.least.max(initial=0.0)) * tree.depth * min(pattern.n, tree.n_leaves) + 1

    def cost(level: int, node: int, k: Array) -> Array:
        over = _load_cost(problem, level, node, k) > theta * (1 + 1e-9)
        own = np.where(k > 0, leaf, 0.0) if level == 0 else np.zeros(len(k))
        return np.where(over, np.inf, own + pattern.least[k])

    return _wanted(best_counts(tree, problem.free, pattern.n, cost, most_leaves=problem.most_leaves)).hosts


def _chained(problem: Problem, low: float) -> float:
    """Least theta for which the cuts of the used leaf groups, chain ends counted, can sum to what theta allows."""
    pattern, capacity = problem.pattern, float(problem.capacity[0][0])
    both = pattern.both_ends
    assert both is not None

    def feasible(theta: float) -> bool:
        def cost(level: int, node: int, k: Array) -> Array:
            if level:
                return np.zeros(len(k))
            own = np.where(k > 0, both[k] - theta * capacity, 0.0)
            return np.where(pattern.least[k] > theta * capacity * (1 + 1e-12), np.inf, own)

        found = best_counts(problem.tree, problem.free, pattern.n, cost, most_leaves=problem.most_leaves)
        return found is not None and found.value <= pattern.excess * (1 + 1e-12)

    high = max(low, float(pattern.least.max()) / capacity) * 2 + 1e-12
    if feasible(low) or not feasible(high):
        return low
    for _ in range(24):
        middle = (low + high) / 2
        low, high = (low, middle) if feasible(middle) else (middle, high)
    return low


def table_of_loads(problem: Problem, most: list[int]) -> dict[int, float]:
    """Least busiest-uplink load with at most so many leaf groups, by the profile (exact for a uniform all-to-all).

    Where only the leaves' uplinks count, and alike, a closed form tells; else the fewest leaf groups for which no load
    is above theta fall as theta grows, so that the least theta of each number is found by halving.
    """
    pattern, tree = problem.pattern, problem.tree
    above = any(
        np.isfinite(unit[level.real]).any() for unit, level in zip(problem.capacity[1:], tree.levels[1:], strict=True)
    )
    alike = _alike(problem.capacity[0]) and tree.levels[0].real.all()
    if pattern.uniform is not None and not above and alike and not any(base.any() for base in problem.base):
        unit = pattern.uniform / float(problem.capacity[0][0])
        fits = [m for m in most if int(np.sort(problem.free)[::-1][:m].sum()) >= pattern.n]
        return {m: waterfilled_load(problem.free, pattern.n, m) * unit for m in fits}
    loads = _possible_loads(problem)
    fewest: dict[int, float] = {}

    def leaves_at(i: int) -> float:
        if i not in fewest:
            fewest[i] = _fewest_leaves(problem, float(loads[i]))
        return fewest[i]

    out = {}
    for m in most:
        known = [i for i, leaves in fewest.items() if leaves <= m]
        low, high = (
            max((i + 1 for i, leaves in fewest.items() if leaves > m), default=0),
            min(known, default=len(loads)),
        )
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if leaves_at(middle) <= m else (middle + 1, high)
        if low < len(loads):
            out[m] = float(loads[low])
    return out


def _possible_loads(problem: Problem) -> NDArray[np.float64]:
    """Every load that some count of hosts below some node puts on it, in order."""
    rooms = problem.tree.count(problem.free)
    found = [np.zeros(1)]
    for level, nodes in enumerate(problem.tree.levels):
        kinds = np.stack([problem.base[level], problem.capacity[level], nodes.real])
        _, first, kind = np.unique(kinds, axis=1, return_index=True, return_inverse=True)
        for i, node in enumerate(first.tolist()):
            room = int(rooms[level][kind.ravel() == i].max())
            found.append(_load_cost(problem, level, node, np.arange(min(room, problem.pattern.n) + 1)))
    loads: NDArray[np.float64] = np.unique(np.concatenate(found))
    return loads


def _fewest_leaves(problem: Problem, theta: float) -> float:
    """Fewest leaf groups with no load above theta; infinite where there is no way."""

    def cost(level: int, node: int, k: Array) -> Array:
        own = (k > 0).astype(float) if level == 0 else np.zeros(len(k))
        return np.where(_load_cost(problem, level, node, k) > theta * (1 + 1e-9), np.inf, own)

    found = best_counts(problem.tree, problem.free, problem.pattern.n, cost)
    return np.inf if found is None else found.value


def _alike(values: Array) -> bool:
    return bool((values == values[0]).all())


def _wanted(found: Counts | None) -> Counts:
    """The counts of a scope that is known to hold the job."""
    assert found is not None
    return found
