"""Two sets of cables to the fewest operations that turn one into the other, and what each operation belongs to.

A cable is an unordered pair of classes of ends: ports where ports are known, else devices. With f the cables found
and not planned, q those planned and not found (as multisets) and m the largest matching between cables of f and of q
that share a class, the least number of operations is ``|f| + |q| - m``: m moves of one end, the rest of f removed,
the rest of q laid.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from topo.io.infer_tiers import components
from topo.table import Array

__all__ = ["Difference", "Moves", "difference", "grouped_moves", "surplus"]

_STEP = 1e-4
_MOST_DENSE = 4_000_000

Walk = Callable[[Array, Array], NDArray[np.float64]]
"""How far a hand walks from one class to another, 0 to 1, element by element."""


@dataclass(frozen=True, eq=False)
class Moves:
    """Found cables that become planned ones by moving one end: rows into both inputs, class left, class entered."""

    found: NDArray[np.int64]
    planned: NDArray[np.int64]
    left: NDArray[np.int64]
    entered: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.found)


@dataclass(frozen=True, eq=False)
class Difference:
    """The fewest operations: ``moves``, found rows to remove, planned rows to lay; ``common`` pairs of equal rows.

    ``jobs`` numbers the job of each move, remove and add where legs of one cable share them; None: each is its own.
    ``excess`` is how many jobs are above what is proved to be needed.
    """

    moves: Moves
    removes: NDArray[np.int64]
    adds: NDArray[np.int64]
    common: tuple[NDArray[np.int64], NDArray[np.int64]]
    jobs: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]] | None = None
    excess: int = 0

    def __len__(self) -> int:
        if self.jobs is not None:
            return len(np.unique(np.concatenate(self.jobs)))
        return len(self.moves) + len(self.removes) + len(self.adds)


def difference(found: Array, planned: Array, walk: Walk | None = None) -> Difference:
    """The fewest operations from ``found`` to ``planned``, integer arrays of shape (cables, 2) of classes of ends.

    Among the shortest lists the one with the least walk is taken.

    >>> swap = difference(np.array([[0, 3], [2, 1]]), np.array([[0, 1], [2, 3]]))
    >>> len(swap), len(swap.moves)
    (2, 2)
    """
    common_f, common_q = _common(found, planned)
    f = np.setdiff1d(np.arange(len(found)), common_f, assume_unique=True)
    q = np.setdiff1d(np.arange(len(planned)), common_q, assume_unique=True)
    i, j = _matching(found[f], planned[q], walk)
    moves = _moves(found, planned, f[i], q[j])
    removes = np.setdiff1d(f, f[i], assume_unique=True)
    return Difference(moves, removes, np.setdiff1d(q, q[j], assume_unique=True), (common_f, common_q))


def surplus(found: Array, planned: Array) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rows of each side that the other lacks, as multisets of unordered pairs."""
    common_f, common_q = _common(found, planned)
    return np.setdiff1d(np.arange(len(found)), common_f), np.setdiff1d(np.arange(len(planned)), common_q)


def _common(found: Array, planned: Array) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rows of both sides that are equal, one to one."""
    base = int(max(found.max(initial=0), planned.max(initial=0))) + 1
    keys = [np.min(side, axis=1, initial=base) * base + np.max(side, axis=1, initial=0) for side in (found, planned)]
    order = [np.argsort(key, kind="stable") for key in keys]
    ranked = []
    for key, by in zip(keys, order, strict=True):
        ordered = key[by]
        first = np.searchsorted(ordered, ordered, side="left")
        ranked.append(np.stack([ordered, np.arange(len(by)) - first]))
    wide = max((int(part[1].max(initial=0)) for part in ranked), default=0) + 1
    _, codes = np.unique(np.concatenate([part[0] for part in ranked]), return_inverse=True)
    code_f = codes[: len(found)] * wide + ranked[0][1]
    code_q = codes[len(found) :] * wide + ranked[1][1]
    _, at_f, at_q = np.intersect1d(code_f, code_q, assume_unique=True, return_indices=True)
    return np.sort(order[0][at_f]), order[1][at_q][np.argsort(order[0][at_f])]


def _matching(f: Array, q: Array, walk: Walk | None) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """A largest matching between rows that share a class, with the least walk; rows of f and of q."""
    none = np.empty(0, np.int64)
    if not len(f) or not len(q):
        return none, none
    i, j = _sharing(f, q)
    if not len(i):
        return none, none
    left, entered = _ends_that_move(f[i], q[j])
    cost = 1 + _STEP * (walk(left, entered) if walk else np.zeros(len(i)))
    part = components(len(f) + len(q), i, len(f) + j)
    order = np.argsort(part[i], kind="stable")
    cuts = np.flatnonzero(np.diff(part[i][order])) + 1
    chosen_i, chosen_j = [none], [none]
    for rows in np.split(order, cuts):
        got_i, got_j = _assigned(i[rows], j[rows], cost[rows])
        chosen_i.append(got_i)
        chosen_j.append(got_j)
    return np.concatenate(chosen_i), np.concatenate(chosen_j)


def _sharing(f: Array, q: Array) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """All (row of f, row of q) that have a class in common, each once."""
    from scipy.sparse import coo_array

    classes, number = np.unique(np.concatenate([f.ravel(), q.ravel()]), return_inverse=True)
    n, of_f, of_q = len(classes), number[: f.size], number[f.size :]
    ends_f = coo_array((np.ones(f.size, np.int32), (np.repeat(np.arange(len(f)), 2), of_f)), shape=(len(f), n))
    ends_q = coo_array((np.ones(q.size, np.int32), (np.repeat(np.arange(len(q)), 2), of_q)), shape=(len(q), n))
    shared = (ends_f.tocsr() @ ends_q.tocsr().T).tocoo()
    return shared.row.astype(np.int64), shared.col.astype(np.int64)


def _ends_that_move(f: Array, q: Array) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Class left and class entered when each row of f becomes that of q, which shares one class with it."""
    stays = [(f[:, x] == q[:, y]) for x in (0, 1) for y in (0, 1)]
    left = np.select(stays, [f[:, 1], f[:, 1], f[:, 0], f[:, 0]], -1)
    entered = np.select(stays, [q[:, 1], q[:, 0], q[:, 1], q[:, 0]], -1)
    return left, entered


def _assigned(i: Array, j: Array, cost: Array) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The matching of one connected part."""
    if len(i) == 1:
        return i, j
    rows, a = np.unique(i, return_inverse=True)
    columns, b = np.unique(j, return_inverse=True)
    if len(rows) * len(columns) > _MOST_DENSE:
        return _matched_sparse(rows, columns, a, b)
    from scipy.optimize import linear_sum_assignment

    table = np.full((len(rows), len(columns)), 3.0)
    table[a, b] = cost
    at, to = linear_sum_assignment(table)
    real = table[at, to] < 2
    return rows[at[real]], columns[to[real]]


def _matched_sparse(rows: Array, columns: Array, a: Array, b: Array) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    from scipy.sparse import coo_array, csr_matrix
    from scipy.sparse.csgraph import maximum_bipartite_matching

    graph = csr_matrix(coo_array((np.ones(len(a), np.int8), (a, b)), shape=(len(rows), len(columns))))
    partner = np.asarray(maximum_bipartite_matching(graph, perm_type="column"))
    at = np.flatnonzero(partner >= 0)
    return rows[at], columns[partner[at]]


def _moves(found: Array, planned: Array, f: Array, q: Array) -> Moves:
    order = np.argsort(f, kind="stable")
    f, q = f[order].astype(np.int64), q[order].astype(np.int64)
    left, entered = _ends_that_move(found[f], planned[q])
    return Moves(f, q, left, entered)


def grouped_moves(moves: Moves, together: Array | None = None, *, chains: bool = True) -> list[tuple[str, list[int]]]:
    """The moves as (code, numbers of moves): ``swapped``, ``rotated``, ``shifted`` and ``miswired``.

    Each move is an arc from the class it leaves to the class it enters. Cycles of two are taken first, those within
    one group of ``together`` (a host) before others, then longer cycles, then, with ``chains``, paths.

    >>> swap = difference(np.array([[0, 3], [2, 1]]), np.array([[0, 1], [2, 3]]))
    >>> grouped_moves(swap.moves)
    [('swapped', [0, 1])]
    """
    left, entered = moves.left.tolist(), moves.entered.tolist()
    owner = [-1] * len(left) if together is None else together.tolist()
    free = dict.fromkeys(range(len(left)))
    groups: list[tuple[str, list[int]]] = []
    for alike in (True, False) if together is not None else (False,):
        _take_pairs(left, entered, owner if alike else [0] * len(left), free, groups)
    leaving = defaultdict(list)
    for move in free:
        leaving[left[move]].append(move)
    for move in list(free):
        cycle = _cycle_from(move, left, entered, leaving, free)
        if cycle:
            groups.append(("rotated", cycle))
            for one in cycle:
                del free[one]
    groups += _paths(left, entered, free) if chains else [("miswired", [move]) for move in free]
    return groups


def _take_pairs(
    left: list[int], entered: list[int], owner: list[int], free: dict[int, None], groups: list[tuple[str, list[int]]]
) -> None:
    waiting: dict[tuple[int, int, int], list[int]] = defaultdict(list)
    for move in list(free):
        back = waiting[owner[move], entered[move], left[move]]
        if back:
            other = back.pop()
            groups.append(("swapped", [other, move]))
            del free[other], free[move]
        else:
            waiting[owner[move], left[move], entered[move]].append(move)


def _cycle_from(
    start: int, left: list[int], entered: list[int], leaving: dict[int, list[int]], free: dict[int, None]
) -> list[int]:
    """A shortest cycle of free moves that begins with ``start``; empty where there is none."""
    if start not in free:
        return []
    before: dict[int, int] = {start: -1}
    front = [start]
    while front:
        following = []
        for move in front:
            if entered[move] == left[start]:
                cycle = []
                while move >= 0:
                    cycle.append(move)
                    move = before[move]
                return cycle[::-1]
            for onward in leaving.get(entered[move], ()):
                if onward in free and onward not in before:
                    before[onward] = move
                    following.append(onward)
        front = following
    return []


def _paths(left: list[int], entered: list[int], free: dict[int, None]) -> list[tuple[str, list[int]]]:
    """What is left as longest runs, from the free end on: each move enters the class that the one before it left."""
    leaving = {left[move]: move for move in free}
    entering = {entered[move] for move in free}
    groups: list[tuple[str, list[int]]] = []
    taken: set[int] = set()
    starts = [move for move in free if left[move] not in entering]
    for move in [*starts, *free]:
        run: list[int] = []
        here: int | None = move
        while here is not None and here not in taken:
            taken.add(here)
            run.append(here)
            here = leaving.get(entered[here])
        if run:
            groups.append(("shifted" if len(run) > 1 else "miswired", run[::-1]))
    return groups
