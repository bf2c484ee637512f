"""Exact minimum over even splits of a cost on a tree of blocks, by min-plus convolution.

Every element of the tree takes a label 0 or 1; a tree edge costs its ``kappa`` where labels differ; a unit off its
base's label costs its own rate. A function holds, for each label of its element, the least cost by number of
endpoints on side 1. Given the labels the cost is linear in the units, so some optimum splits at most one class of
equal units: counts then move in steps of the usual class size, and one *mixed* class takes what is left over.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from topo.analysis.bisection.blocks import BlockTree
from topo.table import Array

__all__ = ["Charges", "Split", "TreeCost"]

_PLAIN, _ALL_0, _ALL_1, _MIXED = 3, 0, 1, 2
_MOST_SPECIAL = 3
_MOST_STEPS = 40_000

Key = tuple[int, int, int]
"""(endpoints of special classes on side 1, endpoints of the mixed class or -1, labels the tracked bases bear)."""


@dataclass(frozen=True, eq=False)
class Charges:
    """What unsent flow may cost: ``flat`` in any case, and of each block the part that depends on its labels.

    Where all bases of block b bear its label the block's charge is 0; where all bear the other, ``opposed[b]``;
    else ``total[b]``.
    """

    flat: float
    total: NDArray[np.float64]
    opposed: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Split:
    """A minimiser: its cost, the label of every element, and units on side 1 of every class."""

    cost: float
    label: NDArray[np.int8]
    class_ones: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class _Function:
    """Costs by key as arrays (2 labels, steps); ``trace`` undoes the construction of one entry."""

    tables: dict[Key, Array]
    trace: Callable[[int, Key, int], list[tuple[_Function, int, Key, int]]]
    size: int = 1


class TreeCost:
    """The minimum for one tree, one set of targets and one ``kappa`` per element (edge to its parent).

    ``targets`` are the endpoint counts of side 1 that make the split even. Exact, but for fabrics of very many
    endpoints on leaves of many sizes: there units that fill no step are left out, and the cost is a lower bound, short
    by the dearest rate of half of them. Where most leaves are smaller than a step the bound says nothing.
    """

    def __init__(self, tree: BlockTree, kappa: Array, targets: Sequence[int], charges: Charges | None = None) -> None:
        self.tree, self.kappa, self.targets, self.charges = tree, kappa, tuple(targets), charges
        bases = tree.bases
        self._scale = int(bases.class_weight[0]) if (bases.class_weight == bases.class_weight[0]).all() else 1
        self._weight = bases.class_weight // self._scale
        self._count = bases.class_count
        self._goals = [t // self._scale for t in self.targets if t % self._scale == 0]
        self._slack = 0.0
        self._step, self._special = self._choose_step()
        self._residues = self._choose_residues()
        self._leaf_memo: dict[tuple[object, ...], _Function] = {}
        self._power_memo: dict[tuple[int, int], _Function] = {}
        self._edge_memo: dict[tuple[int, float, bool], _Function] = {}

    def solve(self) -> Split:
        """The minimum with its labels and unit counts."""
        root, own = self._root()
        best: tuple[float, int, Key, int] | None = None
        for key, table in own.tables.items():
            for target in self._goals:
                i, rest = divmod(target - key[0] - max(key[1], 0), self._step)
                if rest or not 0 <= i < table.shape[1]:
                    continue
                label = int(table[:, i].argmin())
                if best is None or table[label, i] < best[0]:
                    best = (float(table[label, i]), label, key, i)
        if best is None or not np.isfinite(best[0]):
            raise ArithmeticError("no even split was found; please report this fabric")
        cost, label, key, i = best
        labels = np.zeros(len(self.tree.parent), np.int8)
        ones = np.zeros(len(self.tree.bases.class_count), np.int64)
        self._unwind(root, own, label, key, i, labels, ones)
        return Split(cost - self._slack - (self.charges.flat if self.charges else 0.0), labels, ones)

    def _choose_step(self) -> tuple[int, Array]:
        """Step of the counts, and which classes are special: of a size that the step does not divide."""
        count, weight = self.tree.bases.class_count, self._weight
        none = np.zeros(len(count), bool)
        if int((count * weight).sum()) <= 256 or not (weight == 1).all():
            return 1, none
        sizes, repeats = np.unique(count, return_counts=True)
        step = int(sizes[(sizes * repeats).argmax()])
        special = (count % step) != 0
        if step > 1 and special.sum() <= _MOST_SPECIAL:
            return step, special
        common = int(np.gcd.reduce(count))
        if int(count.sum()) // common > _MOST_STEPS:
            common = -(-int(count.sum()) // _MOST_STEPS)
            self._coarsen(common)
        return common, none

    def _coarsen(self, step: int) -> None:
        """Leave out units so that every class is whole steps, and count what that may hide.

        Leaving units out never raises a cut. An even split of all leaves between goal - out and goal of the others on
        side 1, and a unit more or less there costs at most the dearest unit's rate.
        """
        left_out = int((self._count % step).sum())
        self._count = self._count - self._count % step
        dearest = float(self.tree.bases.class_cost.max())
        goal = self._goals[0]
        near = round((goal - left_out / 2) / step) * step
        self._goals = [near]
        self._slack = dearest * max(goal - near, near - (goal - left_out))

    def _choose_residues(self) -> list[int]:
        """Sizes of the mixed class that can complete an even split, modulo the step."""
        if self._step == 1:
            return []
        offsets = {0}
        for size in self.tree.bases.class_count[self._special].tolist():
            offsets |= {offset + size for offset in offsets}
        return sorted({(target - offset) % self._step for target in self._goals for offset in offsets})

    def _root(self) -> tuple[int, _Function]:
        tree = self.tree
        self._own: dict[int, _Function] = {}
        children: dict[int, list[int]] = {}
        for e, p in enumerate(tree.parent.tolist()):
            children.setdefault(p, []).append(e)
        self._children = children
        for base, function in enumerate(self._base_functions()):
            self._own[base] = function
        block_memo: dict[tuple[object, ...], _Function] = {}
        for block in range(tree.n_bases, len(tree.parent)):
            parts = Counter(map(id, self._slots(block)))
            key: tuple[object, ...] = (frozenset(parts.items()), self._charge_key(block))
            if key not in block_memo:
                block_memo[key] = self._block(block)
            self._own[block] = block_memo[key]
        return tree.root, self._own[tree.root]

    def _tracks(self, block: int) -> bool:
        return self.charges is not None and self.charges.total[block] > 0

    def _charge_key(self, block: int) -> tuple[float, float]:
        if self.charges is None:
            return (0.0, 0.0)
        return (float(self.charges.total[block]), float(self.charges.opposed[block]))

    def _base_functions(self) -> Iterator[_Function]:
        bases = self.tree.bases
        start = np.searchsorted(bases.class_base, np.arange(len(bases.vertex) + 1))
        for b in range(len(bases.vertex)):
            rows = range(int(start[b]), int(start[b + 1]))
            yield self._base(tuple(rows))

    def _base(self, classes: tuple[int, ...]) -> _Function:
        bases = self.tree.bases
        key = tuple(
            (
                float(bases.class_cost[c]),
                int(bases.class_count[c]),
                int(self._weight[c]),
                bool(self._special[c]),
            )
            for c in classes
        )
        if key not in self._leaf_memo:
            parts = [self._class_function(*part) for part in key]
            self._leaf_memo[key] = self._sum_slots(parts)
        return self._leaf_memo[key]

    def _class_function(self, cost: float, count: int, weight: int, special: bool) -> _Function:
        """Units of one class: label 0 pays ``cost`` for each on side 1, label 1 for each on side 0."""
        step = self._step
        tables: dict[Key, Array] = {}
        if special:
            tables[(0, -1, _PLAIN)] = np.array([[0.0], [cost * count]])
            tables[(count, -1, _PLAIN)] = np.array([[cost * count], [0.0]])
        else:
            ones = np.arange(0, count + 1) if step == 1 else np.array([0, count])
            table = np.full((2, count * weight // step + 1), np.inf)
            table[0, ones * weight // step] = cost * ones
            table[1, ones * weight // step] = cost * (count - ones)
            tables[(0, -1, _PLAIN)] = table
        for residue in self._residues:
            ones = np.arange(residue, count + 1, step)
            if ones.size:
                tables[(0, residue, _PLAIN)] = np.stack([cost * ones, cost * (count - ones)])
        return _Function(tables, lambda row, key, i: [])

    def _edge(self, child: _Function, kappa: float, track: bool) -> _Function:
        """The child as its parent's label sees it."""
        memo = (id(child), kappa, track)
        if memo not in self._edge_memo:
            self._edge_memo[memo] = _lifted(child, kappa, track)
        return self._edge_memo[memo]

    def _block(self, block: int) -> _Function:
        groups = Counter(self._slots(block))
        total = self._sum_slots([self._power(f, n) for f, n in groups.items()])
        return _closed(total, *self._charge_key(block)) if self._tracks(block) else total

    def _slots(self, block: int) -> list[_Function]:
        """Children as the block's label sees them; labels of bases are tracked where the block may be charged."""
        track, n_bases = self._tracks(block), self.tree.n_bases
        return [self._edge(self._own[e], float(self.kappa[e]), track and e < n_bases) for e in self._children[block]]

    def _power(self, function: _Function, n: int) -> _Function:
        if n == 1:
            return function
        memo = (id(function), n)
        if memo not in self._power_memo:
            self._power_memo[memo] = _sum(self._power(function, n // 2), self._power(function, n - n // 2))
        return self._power_memo[memo]

    def _sum_slots(self, parts: list[_Function]) -> _Function:
        """Sum in a balanced tree, left to right."""
        while len(parts) > 1:
            paired = [_sum(parts[i], parts[i + 1]) for i in range(0, len(parts) - 1, 2)]
            parts = paired + parts[len(parts) - len(parts) % 2 :]
        return parts[0]

    def _unwind(self, element: int, own: _Function, row: int, key: Key, i: int, labels: Array, ones: Array) -> None:
        """Walk one optimum back to labels and counts; elements that share a function take its slots in order."""
        stack = [(element, own, row, key, i)]
        start = np.searchsorted(self.tree.bases.class_base, np.arange(self.tree.n_bases + 1))
        while stack:
            element, own, row, key, i = stack.pop()
            labels[element] = row
            leaves = _expand(own, row, key, i)
            if element < self.tree.n_bases:
                for c, (_, _, k, j) in zip(range(int(start[element]), int(start[element + 1])), leaves, strict=True):
                    ones[c] = (k[0] + max(k[1], 0) + j * self._step) // int(self._weight[c])
                continue
            queue: dict[int, list[int]] = {}
            for child, edge in zip(self._children[element], self._slots(element), strict=True):
                queue.setdefault(id(edge), []).append(child)
            for edge, r, k, j in leaves:
                child = queue[id(edge)].pop()
                ((inner, label, inner_key, inner_i),) = edge.trace(r, k, j)
                stack.append((child, inner, label, inner_key, inner_i))


def _expand(function: _Function, row: int, key: Key, i: int) -> list[tuple[_Function, int, Key, int]]:
    """The slots of a sum, left to right, with the entry each contributes."""
    stack = [(function, row, key, i)]
    leaves = []
    while stack:
        item = stack.pop()
        if item[0].size == 1:
            leaves.append(item)
        else:
            stack.extend(reversed(item[0].trace(*item[1:])))
    return leaves


def _lifted(child: _Function, kappa: float, track: bool) -> _Function:
    swap = np.array([[0.0], [kappa]])
    tables: dict[Key, Array] = {}
    for (offset, residue, _), own in child.tables.items():
        stay, differ = own, own[::-1] + kappa
        if not track:
            tables[(offset, residue, _PLAIN)] = np.minimum(stay, differ)
            continue
        tables[(offset, residue, _ALL_0)] = own[0] + swap
        tables[(offset, residue, _ALL_1)] = own[1] + swap[::-1]

    def trace(row: int, key: Key, i: int) -> list[tuple[_Function, int, Key, int]]:
        inner = (key[0], key[1], _PLAIN)
        own = child.tables[inner]
        if track:
            label = key[2]
        else:
            label = row if own[row, i] <= own[1 - row, i] + kappa else 1 - row
        return [(child, label, inner, i)]

    return _Function(tables, trace)


def _closed(total: _Function, charge: float, opposed: float) -> _Function:
    """Charge the block by what its bases' labels are to its own."""
    less = {
        _ALL_0: np.array([[0.0], [min(opposed, charge)]]),
        _ALL_1: np.array([[min(opposed, charge)], [0.0]]),
        _MIXED: np.array([[charge], [charge]]),
    }
    tables: dict[Key, Array] = {}
    for (offset, residue, state), table in total.tables.items():
        _merge(tables, (offset, residue, _PLAIN), table - less[state])

    def trace(row: int, key: Key, i: int) -> list[tuple[_Function, int, Key, int]]:
        best: tuple[float, Key] | None = None
        for state in (_ALL_0, _ALL_1, _MIXED):
            inner = (key[0], key[1], state)
            table = total.tables.get(inner)
            if table is not None and i < table.shape[1]:
                value = float((table[:, i] - less[state][:, 0])[row])
                if best is None or value < best[0]:
                    best = (value, inner)
        assert best is not None
        return [(total, row, best[1], i)]

    return _Function(tables, trace, size=max(total.size, 2))


def _sum(left: _Function, right: _Function) -> _Function:
    tables: dict[Key, Array] = {}
    for lk, lt in left.tables.items():
        for rk, rt in right.tables.items():
            key = _sum_key(lk, rk)
            if key is not None:
                _merge(tables, key, _convolved(lt, rt))

    def trace(row: int, key: Key, i: int) -> list[tuple[_Function, int, Key, int]]:
        best: tuple[float, int, Key, Key] | None = None
        for lk, lt in left.tables.items():
            for rk, rt in right.tables.items():
                if _sum_key(lk, rk) != key:
                    continue
                low, high = max(0, i - rt.shape[1] + 1), min(i, lt.shape[1] - 1)
                if low > high:
                    continue
                values = lt[row, low : high + 1] + rt[row, i - high : i - low + 1][::-1]
                at = int(values.argmin())
                if best is None or values[at] < best[0]:
                    best = (float(values[at]), low + at, lk, rk)
        assert best is not None
        _, at, lk, rk = best
        return [(left, row, lk, at), (right, row, rk, i - at)]

    return _Function(tables, trace, size=left.size + right.size)


def _sum_key(left: Key, right: Key) -> Key | None:
    if left[1] >= 0 and right[1] >= 0:
        return None
    state = min(left[2], right[2]) if _PLAIN in (left[2], right[2]) or left[2] == right[2] else _MIXED
    return (left[0] + right[0], max(left[1], right[1]), state)


def _merge(tables: dict[Key, Array], key: Key, table: Array) -> None:
    known = tables.get(key)
    if known is None:
        tables[key] = table
        return
    if known.shape[1] < table.shape[1]:
        known, table = table, known
    merged = known.copy()
    np.minimum(merged[:, : table.shape[1]], table, out=merged[:, : table.shape[1]])
    tables[key] = merged


def _convolved(left: Array, right: Array) -> Array:
    """Min-plus convolution of both rows, looping over the shorter operand."""
    if left.shape[1] > right.shape[1]:
        left, right = right, left
    n = right.shape[1]
    out = np.full((2, left.shape[1] + n - 1), np.inf)
    work = np.empty_like(right)
    for i in range(left.shape[1]):
        np.add(right, left[:, i : i + 1], out=work)
        window = out[:, i : i + n]
        np.minimum(window, work, out=window)
    return out
