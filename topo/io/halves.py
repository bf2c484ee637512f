"""Link ends as a discovery reports them, each from its own side, to links counted once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from topo.table import Array

__all__ = ["BOTH_ENDS", "MISSING", "ONE_END", "STATED", "UNKNOWN", "Joined", "join_halves", "usual_rate"]

STATED, MISSING, UNKNOWN = 0, 1, 2
BOTH_ENDS, ONE_END = 0, 1


@dataclass(frozen=True, slots=True)
class Joined:
    """Links made of halves, in order of their first line.

    ``a`` and ``b`` are port numbers (whatever the halves used), ``a`` the end that was listed first; ``gbps``
    the lower of the stated rates, nan where none was stated or where an end states a rate nobody knows;
    ``evidence`` :data:`BOTH_ENDS` or :data:`ONE_END`; ``line`` the first line, ``other_line`` the first of the other
    end, -1 without one. Masks: ``differs`` where the ends state different rates, ``missing`` where no end states any,
    ``unknown`` where an end states an unknown one. ``again`` has a row for every half that its own end listed before:
    the link, the half's line, and the line where that end listed it first. ``shared`` holds the ports that several
    links claim.
    """

    a: NDArray[np.int64]
    b: NDArray[np.int64]
    gbps: NDArray[np.float64]
    evidence: NDArray[np.int32]
    line: NDArray[np.int64]
    other_line: NDArray[np.int64]
    differs: NDArray[np.bool_]
    missing: NDArray[np.bool_]
    unknown: NDArray[np.bool_]
    again: NDArray[np.int64]
    shared: NDArray[np.int64]


def join_halves(near: Array, far: Array, gbps: Array, status: Array, line: Array) -> Joined:
    """One link for each pair of ports that a half joins; ``near`` and ``far`` differ on every row.

    ``status`` is :data:`STATED`, :data:`MISSING` or :data:`UNKNOWN` for the half's rate; lines are 0 or above.

    >>> joined = join_halves(*map(np.array, ([1, 2, 5], [2, 1, 6], [200., 100., 50.], [0, 0, 0], [1, 2, 3])))
    >>> joined.gbps.tolist(), joined.evidence.tolist(), joined.differs.tolist()
    ([100.0, 50.0], [0, 1], [True, False])
    """
    low, high = np.minimum(near, far), np.maximum(near, far)
    order = np.lexsort((line, high, low))
    low, high, near_s = low[order], high[order], near[order]
    new = np.ones(len(order), bool)
    new[1:] = (low[1:] != low[:-1]) | (high[1:] != high[:-1])
    start = np.flatnonzero(new)
    if not start.size:
        none, flags = np.empty(0, np.int64), np.empty(0, bool)
        again = np.empty((0, 3), np.int64)
        return Joined(none, none, np.empty(0), np.empty(0, np.int32), none, none, flags, flags, flags, again, none)
    size = np.diff(np.append(start, len(order)))
    rate = np.where(status[order] == STATED, gbps[order], np.nan)
    least = np.fmin.reduceat(rate, start)
    most = np.fmax.reduceat(rate, start)
    unknown = np.maximum.reduceat(status[order] == UNKNOWN, start)
    first = order[start]
    by_line = np.argsort(line[first], kind="stable")
    place = np.empty(len(start), np.int64)
    place[by_line] = np.arange(len(start))
    of = np.repeat(np.arange(len(start)), size)  # the link of each half
    again, other_line = _by_end(place[of], near_s != near[first][of], line[order], len(start))
    a, b = near[first][by_line], far[first][by_line]
    ports, times = np.unique(np.concatenate([a, b]), return_counts=True)
    return Joined(
        a=a,
        b=b,
        gbps=np.where(unknown, np.nan, least)[by_line],
        evidence=np.where(other_line >= 0, BOTH_ENDS, ONE_END).astype(np.int32),
        line=line[first][by_line],
        other_line=other_line,
        differs=(most > least)[by_line],
        missing=(np.isnan(least) & ~unknown)[by_line],
        unknown=unknown[by_line],
        again=again,
        shared=ports[times > 1],
    )


def _by_end(link: Array, other: Array, line: Array, n: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Halves that their own end lists again, as :attr:`Joined.again`, and the first line of every link's other end.

    Halves come link by link and by line inside; ``other`` marks those of the end that is listed later.
    """
    sides, first, side = np.unique(2 * link + other, return_index=True, return_inverse=True)
    repeats = np.flatnonzero(first[side] != np.arange(len(link)))
    again = np.column_stack([link[repeats], line[repeats], line[first[side[repeats]]]]).astype(np.int64)
    other_line = np.full(n, -1, np.int64)
    later = sides % 2 == 1
    other_line[sides[later] // 2] = line[first[later]]
    return again[np.argsort(again[:, 1], kind="stable")], other_line


def usual_rate(group: Array, gbps: Array, n: int) -> NDArray[np.float64]:
    """Most common known rate of each of ``n`` groups, the higher of equals, nan where none is known."""
    usual = np.full(n, np.nan)
    known = ~np.isnan(gbps)
    group, gbps = group[known], gbps[known]
    if not len(group):
        return usual
    rates, code = np.unique(gbps, return_inverse=True)
    pair, times = np.unique(group * len(rates) + code, return_counts=True)
    order = np.lexsort((pair % len(rates), times, pair // len(rates)))
    pair = pair[order]
    usual[pair // len(rates)] = rates[pair % len(rates)]  # the last of a group is the most common
    return usual
