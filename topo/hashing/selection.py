"""From a hash to a next hop: modulo, range (hash-threshold) and resilient tables of buckets."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from topo.errors import ParameterError

__all__ = ["SELECTIONS", "BucketTable", "check_selection", "rotate", "select", "select_without"]

SELECTIONS = ("modulo", "range", "resilient")


def check_selection(selection: str) -> str:
    """The name, if there is such a selection.

    :raises ParameterError: there is none.
    """
    if selection not in SELECTIONS:
        raise ParameterError(f"unknown selection {selection!r}; known: {', '.join(SELECTIONS)}")
    return selection


def rotate(hashes: NDArray[np.uint32], offset: ArrayLike, width: int) -> NDArray[np.uint32]:
    """Hashes of ``width`` bits rotated right by ``offset`` bits (one number or one a hash): a hash offset.

    >>> hex(rotate(np.array([0x1234], np.uint32), 4, 16)[0])
    '0x4123'
    """
    by = np.asarray(offset, np.uint32) % np.uint32(width)
    wide = hashes.astype(np.uint64)
    doubled = wide | (wide << np.uint64(width))
    turned = (doubled >> by.astype(np.uint64)) & np.uint64((1 << width) - 1)
    return turned.astype(np.uint32)


def select(
    hashes: NDArray[np.uint32], n: ArrayLike, *, width: int, selection: str = "modulo", buckets: int = 64
) -> NDArray[np.int64]:
    """Which of ``n`` next hops each hash of ``width`` bits takes; ``n`` is one number or one a hash.

    ``modulo``: h mod n. ``range``: floor(h n / 2^width), n equal regions of the hash as in hash-threshold (RFC
    2992). ``resilient``: bucket h mod B of a table of B buckets dealt to the next hops in turn.

    >>> hashes = np.array([0, 21845, 21846, 65535], np.uint32)
    >>> select(hashes, 3, width=16).tolist(), select(hashes, 3, width=16, selection="range").tolist()
    ([0, 2, 0, 0], [0, 0, 1, 2])

    :raises ParameterError: an unknown selection, no next hop, or more next hops than buckets.
    """
    check_selection(selection)
    count = np.asarray(n, np.uint64)
    if count.size and int(count.min()) < 1:
        raise ParameterError("a flow has no next hop to be hashed onto")
    wide = hashes.astype(np.uint64)
    if selection == "range":
        chosen = (wide * count) >> np.uint64(width)
    elif selection == "modulo":
        chosen = wide % count
    else:
        if count.size and int(count.max()) > buckets:
            raise ParameterError(f"{int(count.max())} next hops do not fit {buckets} buckets; give more buckets")
        chosen = (wide % np.uint64(buckets)) % count
    return chosen.astype(np.int64)


def select_without(
    hashes: NDArray[np.uint32],
    n: int,
    removed: int,
    *,
    width: int,
    selection: str = "modulo",
    buckets: int = 64,
) -> NDArray[np.int64]:
    """What :func:`select` gives once next hop ``removed`` of ``n`` is gone, by the old numbers of the next hops.

    Under modulo and range the survivors close ranks and are chosen from anew; a resilient table keeps its buckets.

    >>> select_without(np.arange(6, dtype=np.uint32), 3, 1, width=16).tolist()
    [0, 2, 0, 2, 0, 2]

    :raises ParameterError: no such next hop, or it is the last.
    """
    if selection == "resilient":
        table = BucketTable(buckets, n).without(removed)
        kept: NDArray[np.int64] = table.member[hashes.astype(np.int64) % buckets]
        return kept
    if not 0 <= removed < n or n < 2:
        raise ParameterError(f"next hop {removed} of {n} cannot be removed; there must be such a one and another left")
    survivors = np.delete(np.arange(n), removed)
    moved: NDArray[np.int64] = survivors[select(hashes, n - 1, width=width, selection=selection)]
    return moved


class BucketTable:
    """The table of a resilient group: which member holds each bucket, before and after members die.

    Buckets are dealt to the members in turn; those of a dead member are dealt in turn to the survivors and no other
    bucket moves.

    >>> table = BucketTable(8, 4)
    >>> table.member.tolist(), table.without(1).member.tolist()
    ([0, 1, 2, 3, 0, 1, 2, 3], [0, 0, 2, 3, 0, 2, 2, 3])
    """

    def __init__(self, buckets: int, members: int) -> None:
        if not 1 <= members <= buckets:
            raise ParameterError(f"{members} next hops in {buckets} buckets; each needs at least one bucket")
        self.member: NDArray[np.int64] = np.arange(buckets) % members
        self.alive: NDArray[np.bool_] = np.ones(members, bool)

    def without(self, member: int) -> BucketTable:
        """The table after one more member died.

        :raises ParameterError: no such living member, or it is the last.
        """
        if not (0 <= member < len(self.alive) and self.alive[member]):
            raise ParameterError(f"member {member} is not among the living next hops")
        table = BucketTable(len(self.member), len(self.alive))
        table.alive = self.alive.copy()
        table.alive[member] = False
        survivors = np.flatnonzero(table.alive)
        if not survivors.size:
            raise ParameterError(f"member {member} is the last next hop; nothing is left to take its buckets")
        orphans = np.flatnonzero(self.member == member)
        table.member = self.member.copy()
        table.member[orphans] = survivors[np.arange(len(orphans)) % len(survivors)]
        return table
