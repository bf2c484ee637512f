"""The minimum over even splits of a cost on a tree of blocks, by min-plus convolution: exact, or bounded from below.

Every element of the tree takes a label 0 or 1; a tree edge costs its ``kappa`` where labels differ; a unit off its
base's label costs its own rate. A function holds, for each label of its element, the least cost by number of
endpoints on side 1. Given the labels the cost is linear in the units, so some optimum splits at most one class of
equal units: counts then move in steps of the usual class size, and one *mixed* class takes what is left over.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from topo.analysis.bisection.blocks import BlockTree
from topo.analysis.bisection.cost_tables import PLAIN, CostFunction, Key, added, closed, coarser, expanded, lifted
from topo.table import Array

__all__ = ["Charges", "Split", "TreeCost"]

_MOST_SPECIAL = 3
_MOST_STEPS = 40_000
_COARSE_ENTRIES = 10_000


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
    """A minimiser: its cost, the label of every element, and units on side 1 of every class.

    ``strayed`` is by how many endpoints side 1 may be off the target at most: where it is not 0, the cost is a lower
    bound.
    """

    cost: float
    label: NDArray[np.int8]
    class_ones: NDArray[np.int64]
    strayed: int = 0


class TreeCost:
    """The minimum for one tree, one set of targets and one ``kappa`` per element (edge to its parent).

    ``targets`` are the endpoint counts of side 1 that make the split even. Exact, but for more than ``most_steps``
    endpoints on leaves of many sizes: there tables of more than ``entries`` entries are made coarse, the count of
    side 1 may stray from the target, and the cost is a lower bound. Where units hold one endpoint each it is short of
    the exact one by at most ``Split.strayed`` times the dearest unit's rate. N endpoints stray by about
    log2(N / entries) steps of N / entries: of 200,000 about a hundred.
    """

    def __init__(
        self,
        tree: BlockTree,
        kappa: Array,
        targets: Sequence[int],
        charges: Charges | None = None,
        *,
        most_steps: int = _MOST_STEPS,
        entries: int = _COARSE_ENTRIES,
    ) -> None:
        self.tree, self.kappa, self.targets, self.charges = tree, kappa, tuple(targets), charges
        bases = tree.bases
        self._scale = int(bases.class_weight[0]) if (bases.class_weight == bases.class_weight[0]).all() else 1
        self._weight = bases.class_weight // self._scale
        self._goals = [t // self._scale for t in self.targets if t % self._scale == 0]
        self._step, self._special, is_ragged = self._choose_step()
        n_steps = int((self._weight * bases.class_count).sum()) // self._step
        self._entries = entries if is_ragged and n_steps > most_steps else math.inf
        self._residues = self._choose_residues()
        self._leaf_memo: dict[tuple[object, ...], CostFunction] = {}
        self._power_memo: dict[tuple[int, int], CostFunction] = {}
        self._edge_memo: dict[tuple[int, float, bool], CostFunction] = {}

    def solve(self) -> Split:
        """The minimum with its labels and unit counts."""
        root, own = self._root()
        best: tuple[float, int, Key, int] | None = None
        for key, table in own.tables.items():
            for target in self._goals:
                steps, rest = divmod(target - key[0] - max(key[1], 0), self._step)
                first = max(0, -(-(steps - own.width) // own.step))
                near = table[:, first : max(0, steps // own.step + 1)]
                if rest or not near.size:
                    continue
                label, at = divmod(int(near.argmin()), near.shape[1])
                if best is None or near[label, at] < best[0]:
                    best = (float(near[label, at]), label, key, first + at)
        if best is None or not np.isfinite(best[0]):
            raise ArithmeticError("no even split was found; please report this fabric")
        cost, label, key, i = best
        labels = np.zeros(len(self.tree.parent), np.int8)
        ones = np.zeros(len(self.tree.bases.class_count), np.int64)
        self._unwind(root, own, label, key, i, labels, ones)
        flat = self.charges.flat if self.charges else 0.0
        return Split(cost - flat, labels, ones, own.width * self._step * self._scale)

    def _choose_step(self) -> tuple[int, Array, bool]:
        """Step of the counts, which classes are special (of a size that the step does not divide), if many would be."""
        count, weight = self.tree.bases.class_count, self._weight
        none = np.zeros(len(count), bool)
        if int((count * weight).sum()) <= 256 or not (weight == 1).all():
            return 1, none, True
        sizes, repeats = np.unique(count, return_counts=True)
        step = int(sizes[(sizes * repeats).argmax()])
        special = (count % step) != 0
        if step > 1 and special.sum() <= _MOST_SPECIAL:
            return step, special, False
        return int(np.gcd.reduce(count)), none, True

    def _choose_residues(self) -> list[int]:
        """Sizes of the mixed class that can complete an even split, modulo the step."""
        if self._step == 1:
            return []
        offsets = {0}
        for size in self.tree.bases.class_count[self._special].tolist():
            offsets |= {offset + size for offset in offsets}
        return sorted({(target - offset) % self._step for target in self._goals for offset in offsets})

    def _root(self) -> tuple[int, CostFunction]:
        tree = self.tree
        self._own: dict[int, CostFunction] = {}
        children: dict[int, list[int]] = {}
        for e, p in enumerate(tree.parent.tolist()):
            children.setdefault(p, []).append(e)
        self._children = children
        for base, function in enumerate(self._base_functions()):
            self._own[base] = function
        block_memo: dict[tuple[object, ...], CostFunction] = {}
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

    def _base_functions(self) -> Iterator[CostFunction]:
        bases = self.tree.bases
        start = np.searchsorted(bases.class_base, np.arange(len(bases.vertex) + 1))
        for b in range(len(bases.vertex)):
            rows = range(int(start[b]), int(start[b + 1]))
            yield self._base(tuple(rows))

    def _base(self, classes: tuple[int, ...]) -> CostFunction:
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
            parts = [self._narrowed(self._class_function(*part)) for part in key]
            self._leaf_memo[key] = self._sum_slots(parts)
        return self._leaf_memo[key]

    def _class_function(self, cost: float, count: int, weight: int, special: bool) -> CostFunction:
        """Units of one class: label 0 pays ``cost`` for each on side 1, label 1 for each on side 0."""
        step = self._step
        tables: dict[Key, Array] = {}
        if special:
            tables[(0, -1, PLAIN)] = np.array([[0.0], [cost * count]])
            tables[(count, -1, PLAIN)] = np.array([[cost * count], [0.0]])
        else:
            ones = np.arange(0, count + 1) if step == 1 else np.array([0, count])
            table = np.full((2, count * weight // step + 1), np.inf)
            table[0, ones * weight // step] = cost * ones
            table[1, ones * weight // step] = cost * (count - ones)
            tables[(0, -1, PLAIN)] = table
        for residue in self._residues:
            ones = np.arange(residue, count + 1, step)
            if ones.size:
                tables[(0, residue, PLAIN)] = np.stack([cost * ones, cost * (count - ones)])
        return CostFunction(tables, lambda row, key, i: [])

    def _edge(self, child: CostFunction, kappa: float, track: bool) -> CostFunction:
        """The child as its parent's label sees it."""
        memo = (id(child), kappa, track)
        if memo not in self._edge_memo:
            self._edge_memo[memo] = lifted(child, kappa, track)
        return self._edge_memo[memo]

    def _block(self, block: int) -> CostFunction:
        groups = Counter(self._slots(block))
        total = self._sum_slots([self._power(f, n) for f, n in groups.items()])
        return closed(total, *self._charge_key(block)) if self._tracks(block) else total

    def _slots(self, block: int) -> list[CostFunction]:
        """Children as the block's label sees them; labels of bases are tracked where the block may be charged."""
        track, n_bases = self._tracks(block), self.tree.n_bases
        return [self._edge(self._own[e], float(self.kappa[e]), track and e < n_bases) for e in self._children[block]]

    def _power(self, function: CostFunction, n: int) -> CostFunction:
        if n == 1:
            return function
        memo = (id(function), n)
        if memo not in self._power_memo:
            self._power_memo[memo] = self._added(self._power(function, n // 2), self._power(function, n - n // 2))
        return self._power_memo[memo]

    def _added(self, left: CostFunction, right: CostFunction) -> CostFunction:
        return self._narrowed(added(left, right))

    def _narrowed(self, function: CostFunction) -> CostFunction:
        """The function, made coarse where its tables are too long."""
        longest, factor = max(table.shape[1] for table in function.tables.values()), 1
        while longest > self._entries * factor:
            factor *= 2
        return coarser(function, factor * function.step)

    def _sum_slots(self, parts: list[CostFunction]) -> CostFunction:
        """Sum in a balanced tree, left to right."""
        while len(parts) > 1:
            paired = [self._added(parts[i], parts[i + 1]) for i in range(0, len(parts) - 1, 2)]
            parts = paired + parts[len(parts) - len(parts) % 2 :]
        return parts[0]

    def _unwind(self, element: int, own: CostFunction, row: int, key: Key, i: int, labels: Array, ones: Array) -> None:
        """Walk one optimum back to labels and counts; elements that share a function take its slots in order."""
        stack = [(element, own, row, key, i)]
        start = np.searchsorted(self.tree.bases.class_base, np.arange(self.tree.n_bases + 1))
        while stack:
            element, own, row, key, i = stack.pop()
            labels[element] = row
            leaves = expanded(own, row, key, i)
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
