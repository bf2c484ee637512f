"""Rows that are equal entry by entry, and graphs folded by them: the cheapest symmetry, and its own proof."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from topo.table import Array

__all__ = ["equal_rows", "fold"]


def equal_rows(start: Array, columns: Array, label: Array | None = None) -> NDArray[np.int64]:
    """For each row the first row equal to it (itself if none before it is).

    Row ``r`` is the entries ``columns[:, start[r]:start[r + 1]]`` in their order, which must be canonical (sorted);
    ``columns`` is integers of shape (fields, entries). Rows with different ``label`` are never equal. A random
    hash proposes, the comparison of all entries decides: a collision can only leave equal rows apart.

    >>> start, columns = np.array([0, 2, 4, 5]), np.array([[3, 4, 3, 4, 3]])
    >>> equal_rows(start, columns).tolist()
    [0, 0, 2]
    """
    n, degree = len(start) - 1, np.diff(start)
    random = np.random.default_rng(0)
    with np.errstate(over="ignore"):
        # From 1, so that an entry of zeros is told from no entry at all.
        mixed = np.ones(columns.shape[1], np.uint64)
        for field in columns:
            mixed *= np.uint64(random.integers(1, 2**63) | 1)
            mixed += field.astype(np.uint64)
            _mix(mixed)
        running = np.zeros(len(mixed) + 1, np.uint64)
        np.cumsum(mixed, out=running[1:])
        code = running[start[1:]] - running[start[:-1]]
        if label is not None:
            code += _mix(label.astype(np.uint64))
    _, first, inverse = np.unique(code, return_index=True, return_inverse=True)
    twin = first[inverse]
    equal = degree == degree[twin]
    if label is not None:
        equal &= label == label[twin]
    other = np.repeat(start[twin] - start[:-1], degree)
    other += np.arange(len(other))
    np.minimum(other, max(len(other) - 1, 0), out=other)
    differs = np.zeros(len(other), bool)
    for field in columns:
        differs |= field != field[other]
    equal[np.searchsorted(start, np.flatnonzero(differs), side="right") - 1] = False
    return np.where(equal, twin, np.arange(n))


def fold(
    colour: Array, tail: Array, head: Array, code: Array, may: Array
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Vertices that stand for nodes which some automorphism exchanges, and their colours, sizes told apart.

    Twins, nodes of one colour with equal neighbours, become one vertex. What then hangs on a single vertex goes into
    the colour of that one, so that leaves become twins once their hosts are gone, then pods: over and over until
    nothing is left to fold. Exchanging two twins together with all that hangs on them is an automorphism, which is
    the proof. Arcs come in both directions, ``code`` is one integer for what a link is; only nodes where ``may`` is
    true are folded.

    >>> star = np.array([[0, 0, 0, 1, 2, 3], [1, 2, 3, 0, 0, 0]])     # one centre, three alike around it
    >>> fold(np.array([0, 1, 1, 1]), *star, np.zeros(6, int), np.ones(4, bool))[0].tolist()
    [0, 1, 1, 1]
    """
    n = len(colour)
    vertex, live, rounds = np.arange(n), may.copy(), []
    while True:
        order = np.lexsort((code, head, tail))
        tail, head, code = tail[order], head[order], code[order]
        start = np.concatenate([[0], np.cumsum(np.bincount(tail, minlength=n))])
        alone = np.where(live, -1, np.arange(n))
        _, label = np.unique(colour * (n + 1) + alone + 1, return_inverse=True)
        twin = equal_rows(start, np.stack([head, code]), label)
        vertex = twin[vertex]
        colour = _ranks(colour, np.bincount(vertex, minlength=n))
        live &= twin == np.arange(n)
        kept = (twin[tail] == tail) & (twin[head] == head)
        tail, head, code = tail[kept], head[kept], code[kept]
        hangs, owner, kind = _hanging(colour, tail, head, code, live)
        if not hangs.size:
            break
        rounds.append((hangs, owner, kind))
        order = np.lexsort((kind, owner))
        start = np.concatenate([[0], np.cumsum(np.bincount(owner, minlength=n))])
        colour = _ranks(colour, equal_rows(start, kind[order][None]))
        gone = np.zeros(n, bool)
        gone[hangs] = True
        live &= ~gone
        kept = ~(gone[tail] | gone[head])
        tail, head, code = tail[kept], head[kept], code[kept]
    stands = np.arange(n)
    for hangs, owner, kind in reversed(rounds):
        # Alike on owners that became one are one; an owner that hung on another in turn was settled before.
        at = _ranks(stands[vertex[owner]], kind)
        _, first = np.unique(at, return_index=True)
        stands[hangs] = hangs[first][at]
    vertex = stands[vertex]
    return vertex, _ranks(colour, np.bincount(vertex, minlength=n))


def _hanging(colour: Array, tail: Array, head: Array, code: Array, live: Array) -> tuple[Array, Array, Array]:
    """Live nodes whose links all go to one other node and are alike; that node; one integer for how they hang."""
    n = len(colour)
    size = np.bincount(tail, minlength=n)
    begin = np.cumsum(size) - size
    at = np.flatnonzero(live & (size > 0))
    last = begin[at] + size[at] - 1
    # Rows are sorted by head, then by code: where the first entry is the last one, all are equal.
    at = at[(head[begin[at]] == head[last]) & (code[begin[at]] == code[last])]
    owner = head[begin[at]]
    hanging = np.zeros(n, bool)
    hanging[at] = True
    outer = ~hanging[owner]  # two nodes with nothing but each other stay
    at, owner = at[outer], owner[outer]
    kind = _ranks(_ranks(colour[at], code[begin[at]]), size[at])
    return at, owner, kind


def _ranks(*columns: Array) -> NDArray[np.int64]:
    """One integer a row for the values of two columns together."""
    first, second = (np.unique(column, return_inverse=True)[1] for column in columns)
    return np.asarray(np.unique(first * (int(second.max(initial=0)) + 1) + second, return_inverse=True)[1], np.int64)


def _mix(value: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Spread the bits of 64-bit integers in place, one to one (the finalizer of splitmix64); fresh memory costs."""
    value ^= value >> np.uint64(30)
    value *= np.uint64(0xBF58476D1CE4E5B9)
    value ^= value >> np.uint64(27)
    value *= np.uint64(0x94D049BB133111EB)
    value ^= value >> np.uint64(31)
    return value
