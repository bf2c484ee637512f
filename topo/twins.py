"""Rows of a sparse table that are equal entry by entry: the cheapest symmetry there is, and its own proof."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from topo.table import Array

__all__ = ["equal_rows"]


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
        mixed = np.zeros(columns.shape[1], np.uint64)
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


def _mix(value: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Spread the bits of 64-bit integers in place, one to one (the finalizer of splitmix64); fresh memory costs."""
    value ^= value >> np.uint64(30)
    value *= np.uint64(0xBF58476D1CE4E5B9)
    value ^= value >> np.uint64(27)
    value *= np.uint64(0x94D049BB133111EB)
    value ^= value >> np.uint64(31)
    return value
