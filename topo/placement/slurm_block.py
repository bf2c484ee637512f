"""How Slurm's topology/block plugin picks nodes: blocks, aggregates of powers of two, segments.

First pass only, for jobs that take whole identical hosts of equal weight, without reservations. After a failed pass
Slurm tries again without the hosts that have less to give than others (in an unstable order); for a job of whole hosts
their counts are alike and stay so, nothing is dropped, and the same pass fails again. Jobs that share hosts may fare
otherwise. Read in Slurm's source, commit 284c3b95, and in its select/cons_tres.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from topo.errors import ParameterError
from topo.table import Array

__all__ = ["block_choice", "block_fragmentation", "spanning_segments"]


class _Blocks:
    """Free nodes by base block, and the sizes of aggregates that exist."""

    def __init__(self, free: Array, sizes: Sequence[int]) -> None:
        self.base = int(sizes[0])
        self.count = free.astype(np.int64).copy()
        self.number = len(free)
        steps = {round(math.log2(size / self.base)) for size in sizes if size % self.base == 0}
        bad = [s for s in sizes if s % self.base or (s // self.base) & (s // self.base - 1)]
        if bad:
            raise ParameterError(f"BlockSizes lists {bad[0]}; each is the base {self.base} times a power of two")
        self.exponents = sorted(steps | {0})

    def levels(self, need: int) -> tuple[int, int, int, bool]:
        """(blocks of an aggregate, blocks of a lower one, most lower ones, whether that limit holds) for a need."""
        blocks = -(-need // self.base)
        wanted = math.ceil(math.log2(blocks)) if blocks > 1 else 0
        upper = [e for e in self.exponents if e >= wanted]
        lower = [e for e in self.exponents if e <= wanted - 1]
        per = 2 ** upper[0] if upper else self.number
        per_lower = 2 ** lower[-1] if wanted and lower else 1
        most = -(-need // (per_lower * self.base))
        return per, per_lower, most, per != per_lower * most


def block_choice(
    free: ArrayLike,
    n: int,
    *,
    block_sizes: Sequence[int],
    segment: int = 0,
    spread: bool = False,
    consolidate: bool = False,
) -> list[list[tuple[int, int]]] | None:
    """(block, nodes) of each segment in the order they are taken (one segment without ``segment``); None: no placement.

    The smallest aggregate level that can hold the need, in it the aggregate with the least free nodes, the last among
    equals; inside, base blocks by best fit. ``spread`` uses a base block for one segment only; ``consolidate`` keeps
    all segments in one aggregate of the level the whole job needs.

    >>> block_choice([17, 17, 17], 36, block_sizes=[17], segment=12)
    [[(2, 12)], [(1, 12)], [(0, 12)]]
    >>> block_choice([17, 17, 17], 36, block_sizes=[17])
    [[(2, 17), (1, 17), (0, 2)]]

    :raises ParameterError: a job that is no multiple of its segment, or sizes that are no powers of two of the first.
    """
    state = _Blocks(np.asarray(free), block_sizes)
    if segment > n:
        segment = 0
    if segment and n % segment:
        raise ParameterError(f"{n} nodes are no multiple of the segment {segment}; use {n // segment * segment}")
    need, times = (segment, n // segment) if segment else (n, 1)
    if consolidate and segment:
        return _consolidated(state, need, times, spread)
    pool = state.count.copy()
    out: list[list[tuple[int, int]]] = []
    for _ in range(times):
        taken = _segment(state, pool, need, np.ones(state.number, bool))
        if taken is None:
            return None
        _remove(pool, taken, spread)
        out.append(taken)
    return out


def _consolidated(state: _Blocks, need: int, times: int, spread: bool) -> list[list[tuple[int, int]]] | None:
    whole = -(-need // state.base) * state.base * times if spread else need * times
    per_whole = state.levels(whole)[0]
    pool = state.count.copy()
    group = np.arange(state.number) // per_whole
    while int(pool.sum()) >= need * times:
        room = np.bincount(group, weights=pool).astype(np.int64)
        allowed = room[group] >= need * times
        left = pool.copy()
        out: list[list[tuple[int, int]]] = []
        home = -1
        for _ in range(times):
            taken = _segment(state, left, need, allowed if home < 0 else group == home)
            if taken is None:
                break
            home = int(group[taken[0][0]])
            _remove(left, taken, spread)
            out.append(taken)
        if len(out) == times:
            return out
        if home < 0:
            return None
        pool[group == home] = 0
    return None


def _remove(pool: Array, taken: list[tuple[int, int]], spread: bool) -> None:
    for block, count in taken:
        pool[block] = 0 if spread else pool[block] - count


def _segment(state: _Blocks, pool: Array, need: int, allowed: Array) -> list[tuple[int, int]] | None:
    """One need placed in the aggregate with the least free nodes that can hold it."""
    per, per_lower, most, limited = state.levels(need)
    usable_pool = np.where(allowed, pool, 0)
    lower = np.bincount(np.arange(state.number) // per_lower, weights=usable_pool).astype(np.int64)
    best, least = -1, -1
    for i in range(-(-state.number // per)):
        room = int(usable_pool[i * per : (i + 1) * per].sum())
        usable = room
        if limited:
            first, last = i * per // per_lower, -(-min((i + 1) * per, state.number) // per_lower)
            usable = int(np.sort(lower[first:last])[::-1][:most].sum())
        if usable >= need and (best < 0 or room <= least):
            best, least = i, room
    if best < 0:
        return None
    inside = range(best * per, min((best + 1) * per, state.number))
    return _fill(usable_pool, lower, inside, per_lower, need, most, limited)


def _fill(
    pool: Array, lower: Array, inside: range, per_lower: int, need: int, most: int, limited: bool
) -> list[tuple[int, int]] | None:
    """Base blocks of one aggregate by best fit; with a limit those of a lower aggregate in use come first."""
    rem, used, out = need, set[int](), list[tuple[int, int]]()
    while rem > 0:
        best, best_fit, best_same = -1, False, True
        for i in inside:
            count = int(pool[i])
            if i in used or count <= 0:
                continue
            fit = count >= rem
            if limited and (best < 0 or i // per_lower != best // per_lower):
                same = any(block // per_lower == i // per_lower for block in used)
                if best < 0 or (same and not best_same):
                    best, best_fit, best_same = i, fit, same
                    continue
                if not same and best_same:
                    continue
                verdict = _lower_first(int(lower[i // per_lower]), int(lower[best // per_lower]), rem)
                if verdict:
                    if verdict > 0:
                        best, best_fit, best_same = i, fit, same
                    continue
            better = best < 0 or (fit and not best_fit)
            if not better and best >= 0:
                better = (not fit and not best_fit and count >= pool[best]) or (fit and count <= pool[best])
            if better:
                best, best_fit = i, fit
        if best < 0 or (limited and most <= 0 and not best_same):
            return None
        taken = min(rem, int(pool[best]))
        out.append((best, taken))
        used.add(best)
        rem -= taken
        if limited and not best_same:
            most -= 1
    return out


def _lower_first(mine: int, other: int, rem: int) -> int:
    """+1 if the lower aggregate of the new block is the better one, -1 if the other, 0 if they are equal."""
    fits, other_fits = mine >= rem, other >= rem
    if fits != other_fits:
        return 1 if fits else -1
    if mine == other:
        return 0
    smaller = mine < other
    return (1 if smaller else -1) if fits else (-1 if smaller else 1)


def block_fragmentation(free: ArrayLike, *, block_sizes: Sequence[int], block_nodes: ArrayLike) -> int:
    """Slurm's own number: base nodes of all base and aggregate blocks that are not wholly free, plus nodes not free.

    >>> block_fragmentation([3, 4, 4, 4, 4, 4, 4, 4], block_sizes=[4, 8, 16, 32, 64], block_nodes=[4] * 8)
    61
    """
    counts, sizes = np.asarray(free, np.int64), np.asarray(block_nodes, np.int64)
    state = _Blocks(counts, block_sizes)
    available = counts >= state.base
    broken = 0
    for exponent in state.exponents:
        per = 2**exponent
        for i in range(state.number // per):
            if not available[i * per : (i + 1) * per].all():
                broken += per
        if per >= state.number:
            break
    return state.base * broken + int((sizes - counts).sum())


def spanning_segments(block_of_rank: Sequence[int], segment: int) -> int:
    """How many consecutive segments of a rank list have ranks in more than one block.

    >>> spanning_segments([0] * 17 + [1] * 17 + [2] * 2, 12)
    2
    """
    return sum(len(set(block_of_rank[i : i + segment])) > 1 for i in range(0, len(block_of_rank), segment))
