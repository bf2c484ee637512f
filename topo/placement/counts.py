"""Best counts of hosts per leaf group by dynamic programming over the placement tree: exact on any tree."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from topo.placement.tree import Tree
from topo.table import Array

__all__ = ["Cost", "Counts", "best_counts", "water_level", "waterfilled_load"]

Cost = Callable[[int, int, NDArray[np.int64]], NDArray[np.float64]]
"""``cost(level, node, k)``: price of having k = 0, 1, ... of the job's hosts below a node."""


@dataclass(frozen=True, eq=False)
class Counts:
    """The best value and the hosts taken of each leaf group."""

    value: float
    hosts: NDArray[np.int64]


@dataclass(eq=False)
class _Table:
    """Best values by (leaf groups used, hosts); ``merges`` remembers which child gave how much."""

    value: NDArray[np.float64]
    leaf: int
    merges: list[tuple[_Table, NDArray[np.int32], NDArray[np.int32]]]


def best_counts(
    tree: Tree,
    free: Array,
    n: int,
    cost: Cost,
    *,
    bottleneck: bool = False,
    most_leaves: int | None = None,
) -> Counts | None:
    """Counts x with 0 <= x <= free, sum n, that minimise the sum (or the maximum) of the costs of all tree nodes.

    ``table(v)[k]`` is the best of putting k hosts below v: children are combined by
    ``min over i of t1[k - i] + t2[i]`` (max for a bottleneck), then v's own cost is added. Correct by induction, since
    a node's cost depends on what is below it only through k. With ``most_leaves`` tables have a second index, the leaf
    groups used. Time is at most n times the hosts, a row at a time. None: nothing fits.

    >>> tree = Tree.of_counts([5, 3, 8, 6])
    >>> answer = best_counts(tree, np.array([5, 3, 8, 6]), 12, lambda level, node, k: k * (12.0 - k), bottleneck=True)
    >>> answer.value, answer.hosts.tolist()
    (27.0, [3, 3, 3, 3])
    """
    reached = np.minimum(free, n)
    tables = [_leaf_table(i, int(most), cost, most_leaves) for i, most in enumerate(reached.tolist())]
    for at, level in enumerate(tree.levels):
        width = len(tree.levels[at + 1]) if at + 1 < tree.depth else 1
        children: list[list[_Table]] = [[] for _ in range(width)]
        for table, parent in zip(tables, level.parent.tolist(), strict=True):
            children[parent].append(table)
        tables = [_merged(group, n, bottleneck, most_leaves) for group in children]
        if at + 1 < tree.depth:
            for node, table in enumerate(tables):
                own = cost(at + 1, node, np.arange(table.value.shape[1]))
                table.value = np.maximum(table.value, own) if bottleneck else table.value + own
    root = tables[0]
    if root.value.shape[1] <= n:
        return None
    column = root.value[:, n]
    used = int(column.argmin())
    if not np.isfinite(column[used]):
        return None
    hosts = np.zeros(tree.n_leaves, np.int64)
    _trace(root, used, n, hosts)
    return Counts(float(column[used]), hosts)


def _leaf_table(leaf: int, most: int, cost: Cost, most_leaves: int | None) -> _Table:
    value = np.asarray(cost(0, leaf, np.arange(most + 1)), float)[None, :]
    if most_leaves is not None:
        idle = np.full(most + 1, np.inf)
        idle[0] = value[0, 0]
        value = np.stack([idle, value[0]])
    return _Table(value, leaf, [])


def _merged(group: list[_Table], n: int, bottleneck: bool, most_leaves: int | None) -> _Table:
    out = _Table(group[0].value, -1, [])
    value = group[0].value
    for other in group[1:]:
        value, used, taken = _convolved(value, other.value, n, bottleneck, most_leaves)
        out.merges.append((other, used, taken))
    out.value = value
    out.merges.insert(0, (group[0], np.empty((0, 0), np.int32), np.empty((0, 0), np.int32)))
    return out


def _convolved(a: Array, b: Array, n: int, bottleneck: bool, most_leaves: int | None) -> tuple[Array, Array, Array]:
    """Best of every split of (leaf groups, hosts) between two tables, and what the second gives."""
    rows = 1 if most_leaves is None else min(a.shape[0] + b.shape[0] - 1, most_leaves + 1)
    width = min(a.shape[1] + b.shape[1] - 1, n + 1)
    value = np.full((rows, width), np.inf)
    used, taken = np.zeros((rows, width), np.int32), np.zeros((rows, width), np.int32)
    swap = b.size > a.size  # step through the smaller table, a row operation for each of its entries
    long, short = (b, a) if swap else (a, b)
    for j in range(min(short.shape[0], rows)):
        for i in range(min(short.shape[1], width)):
            if not np.isfinite(short[j, i]):
                continue
            part = long[: rows - j, : width - i]
            place = np.s_[j : j + part.shape[0], i : i + part.shape[1]]
            candidate = np.maximum(part, short[j, i]) if bottleneck else part + short[j, i]
            better = candidate < value[place]
            np.copyto(value[place], candidate, where=better)
            if swap:
                np.copyto(used[place], np.arange(part.shape[0])[:, None], where=better)
                np.copyto(taken[place], np.arange(part.shape[1])[None, :], where=better)
            else:
                used[place][better] = j
                taken[place][better] = i
    return value, used, taken


def _trace(table: _Table, used: int, n: int, hosts: Array) -> None:
    if table.leaf >= 0:
        hosts[table.leaf] = n
        return
    for child, by_used, by_taken in reversed(table.merges):
        if not by_taken.size:
            _trace(child, used, n, hosts)
            return
        j, i = int(by_used[used, n]), int(by_taken[used, n])
        _trace(child, j, i, hosts)
        used, n = used - j, n - i


def water_level(free: Array, n: int) -> int:
    """Least t for which min(free, t) sums to at least n.

    >>> water_level(np.array([5, 3, 8, 6]), 12)
    3

    :raises ValueError: fewer are free.
    """
    ordered = np.sort(free)
    below = np.concatenate([[0], np.cumsum(ordered)])
    for i, most in enumerate(ordered.tolist()):
        left = len(ordered) - i
        t = -(-(n - int(below[i])) // left)
        if t <= most:
            return max(t, 0)
    raise ValueError(f"{n} hosts do not fit the {int(ordered.sum())} free ones")


def waterfilled_load(free: Array, n: int, most_leaves: int | None = None) -> int:
    """Least possible max of x (n - x) over leaf groups: busiest uplinks of a uniform all-to-all on two levels.

    The least of: 0 if one group holds all; f (n - f) for the largest f with 2 f >= n; t (n - t) for the water level t
    with 2 t <= n. With at most m groups the m largest are used, which maximise every sum of min(f, t).

    >>> [waterfilled_load(np.array([8, 8, 8, 8]), 12, m) for m in (2, 3, 4)]
    [32, 32, 27]
    """
    chosen = np.sort(free)[::-1][: len(free) if most_leaves is None else most_leaves]
    largest = int(chosen[0])
    found = [0] if largest >= n else []
    if 2 * largest >= n:
        found.append(min(largest, n) * (n - min(largest, n)))
    if int(chosen.sum()) >= n:
        t = water_level(chosen, n)
        if 2 * t <= n:
            found.append(t * (n - t))
    return min(found)
