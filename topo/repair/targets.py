"""What a growing two-tier fabric could be wired to instead, how many cables that moves, and what it gives up.

Every pair of a leaf and a spine has a number of cables by class: old leaf and old spine ``oo``, old and new ``on``,
new and old ``no``, new and new ``nn``. Full bisection holds if and only if all leaves have the same row, so with u
uplinks a leaf and k_s cables from every leaf to spine s (k_s at most radix over leaves, their sum u) no target of full
bisection moves fewer than ``L0 * sum over old spines of max(0, m0 - k_s)`` cables. Fewer moves cost bisection, in
proportion.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from topo.table import Array

__all__ = ["Growing", "Target", "growing_of", "targets_of"]


@dataclass(frozen=True, slots=True)
class Growing:
    """A two-tier fabric that grows: leaves and spines before and after, cables a pair, uplinks, ports of a spine."""

    old_leaves: int
    old_spines: int
    old_count: int
    leaves: int
    spines: int
    count: int
    radix: int

    @property
    def uplinks(self) -> int:
        """Uplinks of every leaf, before and after."""
        return self.spines * self.count


class Target(NamedTuple):
    """A wiring to grow to: cables a pair (old-old, old-new, new-old, new-new), cables that move, what it gives.

    ``bisection`` is that of the worst even split of leaves over that of full bisection; ``ideal`` and ``plain`` what
    fits of an all-to-all with ideal routing and with a plain split over all links.
    """

    links: tuple[int, int, int, int]
    moves: int
    bisection: float
    ideal: float
    plain: float


def growing_of(old: Array, new: Array, radix: int) -> Growing | None:
    """The growth as one of equal pairs; None where pairs differ, or leaves change their number of uplinks.

    ``old`` and ``new`` count the cables of leaf (row) and spine (column); the old ones come first in both.

    >>> growing_of(np.full((16, 8), 4), np.full((32, 16), 2), 64)
    Growing(old_leaves=16, old_spines=8, old_count=4, leaves=32, spines=16, count=2, radix=64)
    """
    if not old.size or not new.size or old.min() != old.max() or new.min() != new.max():
        return None
    (n_old, n_old_spines), (n_new, n_new_spines) = old.shape, new.shape
    growing = Growing(n_old, n_old_spines, int(old[0, 0]), n_new, n_new_spines, int(new[0, 0]), radix)
    if growing.uplinks != growing.old_spines * growing.old_count or growing.count == 0 or growing.old_count == 0:
        return None
    return growing if growing.leaves >= growing.old_leaves and growing.spines >= growing.old_spines else None


def targets_of(growing: Growing) -> list[Target]:
    """The asked target, and of all others with fewer moves the best for each number of moves; fewest moves last.

    >>> for target in targets_of(Growing(16, 8, 4, 32, 16, 2, 64)):
    ...     print(target.links, target.moves, target.bisection, target.ideal, round(target.plain, 3))
    (2, 2, 2, 2) 256 1.0 1.0 1.0
    (3, 1, 1, 3) 128 0.5 0.999023 0.507
    """
    asked = _target(growing, (growing.count,) * 4)
    best: dict[int, Target] = {}
    for links in _possible(growing):
        moves = _moves(growing, links)
        if moves >= asked.moves:
            continue
        target = _target(growing, links)
        known = best.get(moves)
        if known is None or (target.bisection, target.plain) > (known.bisection, known.plain):
            best[moves] = target
    kept: list[Target] = []
    for moves in sorted(best):  # a target that moves more must give more
        if not kept or best[moves].bisection > kept[-1].bisection + 1e-9 or best[moves].plain > kept[-1].plain + 1e-9:
            kept.append(best[moves])
    kept = [one for one in kept if one.bisection > 0 and one.plain > 0]
    return [asked, *reversed(kept)]


def _possible(growing: Growing) -> Iterator[tuple[int, int, int, int]]:
    """Counts of the four classes that leave every leaf its uplinks and every spine its ports."""
    new_spines, new_leaves = growing.spines - growing.old_spines, growing.leaves - growing.old_leaves
    if not new_spines or not new_leaves:
        return
    rows = [
        (mine, (growing.uplinks - mine * growing.old_spines) // new_spines)
        for mine in range(growing.uplinks // growing.old_spines + 1)
        if (growing.uplinks - mine * growing.old_spines) % new_spines == 0
    ]
    for oo, on in rows:
        for no, nn in rows:
            if (
                max(growing.old_leaves * oo + new_leaves * no, growing.old_leaves * on + new_leaves * nn)
                <= growing.radix
            ):
                yield oo, on, no, nn


def _moves(growing: Growing, links: tuple[int, int, int, int]) -> int:
    return growing.old_leaves * growing.old_spines * max(0, growing.old_count - links[0])


def _target(growing: Growing, links: tuple[int, int, int, int]) -> Target:
    counts = np.array(links, float).reshape(2, 2)  # class of leaf, class of spine
    leaves = np.array([growing.old_leaves, growing.leaves - growing.old_leaves])
    spines = np.array([growing.old_spines, growing.spines - growing.old_spines])
    bisection = _bisection(counts, leaves, spines) / (growing.leaves // 2 * growing.uplinks)
    pair = _pair_demand(growing)
    plain, ideal = _plain(counts, leaves, spines, growing.uplinks, pair), _ideal(counts, leaves, spines, pair)
    return Target(
        links, _moves(growing, links), round(min(1.0, bisection), 9), round(min(1.0, ideal), 6), min(1.0, plain)
    )


def _pair_demand(growing: Growing) -> float:
    """What a leaf of u endpoints sends another in an all-to-all, in links: u * u / (N - 1)."""
    return growing.uplinks**2 / (growing.leaves * growing.uplinks - 1)


def _bisection(counts: NDArray[np.float64], leaves: Array, spines: Array) -> float:
    """Least capacity of a split of half the leaves, x old and y new: all of them are tried."""
    half = int(leaves.sum()) // 2
    x = np.arange(max(0, half - leaves[1]), min(half, leaves[0]) + 1)
    inside = np.stack([x, half - x])  # class, split
    mine, other = counts.T @ inside, counts.T @ (leaves[:, None] - inside)
    return float((spines[:, None] * np.minimum(mine, other)).sum(axis=0).min())


def _plain(counts: NDArray[np.float64], leaves: Array, spines: Array, uplinks: int, pair: float) -> float:
    """Theta of an all-to-all whose leaves split evenly over their links and whose spines do over theirs to the leaf."""
    theta = np.inf
    for leaf in (0, 1):
        for spine in (0, 1):
            others = leaves - (np.arange(2) == leaf)
            load = pair * float((others * counts[:, spine]).sum()) / uplinks
            if leaves[leaf] and spines[spine] and load > 0:
                theta = min(theta, counts[leaf, spine] / load)
    return float(theta)


def _ideal(counts: NDArray[np.float64], leaves: Array, spines: Array, pair: float) -> float:
    """Theta of an all-to-all under the best split: flows from class to class over either class of spine, an LP."""
    from scipy.optimize import linprog

    size = [(a, b) for a in (0, 1) for b in (0, 1)]
    n_pairs = {(a, b): float(leaves[a] * (leaves[b] - (a == b))) for a, b in size}
    column = {(a, b, s): 1 + 2 * i + s for i, (a, b) in enumerate(size) for s in (0, 1)}
    equal = np.zeros((4, 9))
    for i, (a, b) in enumerate(size):
        equal[i, 0] = -pair * n_pairs[a, b]
        equal[i, [column[a, b, 0], column[a, b, 1]]] = 1.0
    rows, most = [], []
    for leaf in (0, 1):
        for spine in (0, 1):
            room = float(leaves[leaf] * spines[spine] * counts[leaf, spine])
            for up in (True, False):
                row = np.zeros(9)
                for other in (0, 1):
                    row[column[(leaf, other, spine) if up else (other, leaf, spine)]] = 1.0
                rows.append(row)
                most.append(room)
    cost = np.zeros(9)
    cost[0] = -1.0
    answer = linprog(cost, A_ub=np.array(rows), b_ub=most, A_eq=equal, b_eq=np.zeros(4), bounds=[(0, None)] * 9)
    return float(answer.x[0]) if answer.success and answer.x is not None else 0.0
