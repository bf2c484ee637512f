"""Sets of next hops with the share of each, told apart by their shares as well."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from topo.errors import ParameterError
from topo.routing.arcs import close_code, mixed_code
from topo.routing.hop_weights import HopWeights
from topo.table import Array, ranges

__all__ = ["WeightedSets", "shares_of", "table_entries"]

_CELLS = 4_000_000
_FINEST = 1 << 31
_MOST_TIMES = 16


class WeightedSets(NamedTuple):
    """Sets of next hops told apart by their shares too; ``share`` is parallel to ``arcs`` and adds up to 1 a set."""

    table: NDArray[np.int32]
    start: NDArray[np.int64]
    arcs: NDArray[np.int64]
    share: NDArray[np.float64]

    @classmethod
    def of(
        cls, table: NDArray[np.int32], start: Array, arcs: Array, head_row: Array, weights: HopWeights
    ) -> WeightedSets:
        """The sets of a table (relays x groups), split where weights differ by destination; set 0 is the empty one."""
        if weights.pull is None:
            return cls(table, start, arcs, shares_of(weights.gbps[arcs], start))
        size = np.diff(start)
        codes, lengths, held, shares = [np.zeros(1, np.uint64)], [np.zeros(1, np.int64)], [arcs[:0]], [np.zeros(0)]
        where, number = [], []
        n_found = 1
        step = max(1, _CELLS // max(int(table.shape[1] * size.max(initial=1)), 1))
        for low in range(0, table.shape[0], step):
            relay, group = np.nonzero(table[low : low + step] != -1)
            cell = table[low + relay, group].astype(np.int64)
            sets = np.where(cell >= 0, cell, -2 - cell)
            some = size[sets] > 0
            relay, group, cell, sets = relay[some] + low, group[some], cell[some], sets[some]
            if not len(sets):
                continue
            index, owner = ranges(start[sets], size[sets])
            begin = np.cumsum(size[sets]) - size[sets]
            arc = arcs[index]
            share = shares_of(weights.of(arc, head_row[arc], group[owner]), np.append(begin, len(arc)))
            with np.errstate(over="ignore"):
                marks = mixed_code(arc) * (mixed_code(close_code(share)) | np.uint64(1))
                code = np.add.reduceat(marks, begin) + mixed_code(sets)
            found, first, inverse = np.unique(code, return_index=True, return_inverse=True)
            taken, _ = ranges(begin[first], size[sets[first]])
            codes.append(found)
            lengths.append(size[sets[first]])
            held.append(arc[taken])
            shares.append(share[taken])
            where.append((relay, group, cell < 0))
            number.append(n_found + inverse)
            n_found += len(found)
        result = table.copy()
        for (relay, group, ends), numbers in zip(where, number, strict=True):
            result[relay, group] = np.where(ends, -2 - numbers, numbers)
        return cls(
            result, np.concatenate([[0], np.cumsum(np.concatenate(lengths))]), np.concatenate(held),
            np.concatenate(shares),
        )  # fmt: skip


def shares_of(weight: NDArray[np.float64], start: Array) -> NDArray[np.float64]:
    """Weights over their sum, list by list."""
    owner = np.repeat(np.arange(len(start) - 1), np.diff(start))
    total = np.bincount(owner, weights=weight, minlength=len(start) - 1)
    return np.asarray(weight / total[owner])


def table_entries(share: NDArray[np.float64], start: Array, most: int | None) -> tuple[NDArray[np.int64], Array]:
    """Sets as tables of entries: how far each next hop's entries go (cumulative, in its set), and each table's size.

    None is a table of 2^31, exact to rounding. Otherwise at most ``most`` entries, as switches replicate them: the
    fewest that give the shares exactly, if up to 16 for the least share do, else the whole table by largest remainders.

    >>> [a.tolist() for a in table_entries(np.array([1, 2, 1, 1]) / [3, 3, 2, 2], np.array([0, 2, 4]), 64)]
    [[1, 3, 1, 2], [3, 2]]

    :raises ParameterError: more next hops than entries.
    """
    n = len(start) - 1
    size = np.diff(start)
    owner = np.repeat(np.arange(n), size)
    if most is None:
        before = np.concatenate([[0.0], np.cumsum(share)])[start[:-1]]
        upto = np.rint((np.cumsum(share) - before[owner]) * _FINEST).astype(np.int64)
        upto[start[1:] - 1] = _FINEST
        return upto, np.full(n, _FINEST)
    if size.size and int(size.max()) > most:
        raise ParameterError(f"{int(size.max())} next hops do not fit a table of {most} entries; give more buckets")
    count = _dealt(share, owner, n, most)
    least = np.full(n, np.inf)
    np.minimum.at(least, owner, share)
    found = np.zeros(n, bool)
    for times in range(1, _MOST_TIMES + 1):
        whole = share / least[owner] * times
        near = np.abs(whole - np.rint(whole)) < 1e-9 * whole
        fits = np.bincount(owner, weights=np.rint(whole), minlength=n) <= most
        exact = ~found & (np.bincount(owner, weights=near, minlength=n) == size) & fits
        count = np.where(exact[owner], np.rint(whole).astype(np.int64), count)
        found |= exact
    total = np.cumsum(count)
    before = np.concatenate([[0], total])[start[:-1]]
    return total - before[owner], np.bincount(owner, weights=count, minlength=n).astype(np.int64)


def _dealt(share: NDArray[np.float64], owner: Array, n: int, most: int) -> NDArray[np.int64]:
    """``most`` entries dealt by largest remainders."""
    count = np.floor(share * most).astype(np.int64)
    spare = most - np.bincount(owner, weights=count, minlength=n).astype(np.int64)
    order = np.lexsort((-(share * most - count), owner))
    first = np.searchsorted(owner, np.arange(n))
    rank = np.empty(len(owner), np.int64)
    rank[order] = np.arange(len(owner)) - first[owner]
    return count + (rank < spare[owner])
