"""How Slurm's topology/tree plugin picks nodes, and its dragonfly variant: pure functions of the free counts.

Assumes whole identical hosts of equal weight, no required nodes, no reservations, neither --contiguous nor
--distribution=arbitrary, and that nodes are ordered as in the topology file. Read in Slurm's source, commit 284c3b95.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from topo.placement.tree import Tree
from topo.table import Array

__all__ = ["dragonfly_choice", "tree_choice"]

Choice = list[tuple[int, int]]
"""(leaf group, hosts) in the order in which they are taken."""


class _Walk:
    """Counts below every switch inside the chosen top, and the distances from the leaves used so far."""

    def __init__(self, tree: Tree, free: Array, level: int, top: int) -> None:
        self.tree, self.level = tree, level
        inside = tree.above[level] == top if level < tree.depth else np.ones(tree.n_leaves, bool)
        self.count = [c.astype(np.int64) for c in tree.count(np.where(inside, free, 0))]
        self.leaves = np.flatnonzero(inside)
        self.distance = np.zeros(tree.n_leaves, np.int64)
        self.above = [*tree.above, np.zeros(tree.n_leaves, np.int64)]

    def compare(self, i: int, j: int, rem: int) -> tuple[int, bool]:
        """+1 if leaf i is better, -1 if j; and whether i's side holds the rest at the level where it ended."""
        level = 0
        while True:
            a, b = int(self.above[level][i]), int(self.above[level][j])
            ci, cj = int(self.count[level][a]), int(self.count[level][b])
            fi, fj = ci >= rem, cj >= rem
            if fi and fj:
                if ci != cj:
                    return (1 if ci < cj else -1), True
                return 0, True
            if fi or fj:
                return (1 if fi else -1), fi
            above_differs = level + 1 < len(self.above) and self.above[level + 1][i] != self.above[level + 1][j]
            if not above_differs:
                return (0 if ci == cj else 1 if ci > cj else -1), False
            level += 1

    def take(self, leaf: int) -> None:
        """A leaf is used up: nothing of it counts any more, and every leaf remembers how far it is."""
        used = int(self.count[0][leaf])
        for level, at in enumerate(self.above):
            node = at[leaf]
            self.count[level][node] = max(int(self.count[level][node]) - used, 0)
        # Distance in edges: twice the level at which two leaves meet.
        apart = np.zeros(self.tree.n_leaves, np.int64)
        for at in self.above:
            apart += 2 * (at != at[leaf])
        self.distance += apart


def tree_choice(tree: Tree, free: ArrayLike, n: int) -> Choice | None:
    """Leaf groups and hosts that topology/tree would take; None: the job waits.

    The highest, last-listed switch that can hold the job is its top. Then, leaf by leaf: one that is closer to those
    used already and fits wins; at equal distance two leaves are compared upwards until one side holds the rest, where
    the smaller of two that fit wins; if none does, the larger. The leaf is taken whole.

    >>> tree_choice(Tree.of_counts([8] * 4), [5, 3, 8, 6], 12)
    [(2, 8), (0, 4)]
    """
    counts = tree.count(np.asarray(free))
    top: tuple[int, int] | None = None
    for level in range(tree.depth, -1, -1):
        fitting = np.flatnonzero(counts[level] >= n)
        if len(fitting):
            top = (level, int(fitting[-1]))
            break
    if top is None:
        return None
    walk = _Walk(tree, np.asarray(free, np.int64), *top)
    rem, choice = n, []
    while rem > 0:
        best = -1
        for leaf in walk.leaves.tolist():
            if walk.count[0][leaf] <= 0:
                continue
            if best < 0:
                best = leaf
                continue
            better, fits = walk.compare(leaf, best, rem)
            closer = int(walk.distance[leaf]) - int(walk.distance[best])
            if (closer < 0 and fits) or (closer == 0 and better > 0):
                best = leaf
        if best < 0:
            return None
        taken = min(rem, int(walk.count[0][best]))
        choice.append((best, taken))
        rem -= taken
        walk.take(best)
    return choice


def dragonfly_choice(tree: Tree, free: ArrayLike, n: int) -> Choice | None:
    """The same under TopologyParam=dragonfly: the fullest leaf if it holds the job, else one host a leaf in turn.

    >>> dragonfly_choice(Tree.of_counts([8] * 4), [5, 3, 8, 6], 12)
    [(0, 3), (1, 3), (2, 3), (3, 3)]
    """
    left = np.asarray(free, np.int64).copy()
    if int(left.sum()) < n:
        return None
    largest = int(left.argmax())
    if left[largest] >= n:
        return [(largest, n)]
    taken, rem = np.zeros_like(left), n
    while rem > 0:
        for leaf in np.flatnonzero(left > taken).tolist():
            if rem == 0:
                break
            taken[leaf] += 1
            rem -= 1
    return [(int(leaf), int(taken[leaf])) for leaf in np.flatnonzero(taken)]
