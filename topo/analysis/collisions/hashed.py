"""Paths of real flows: their keys hashed at every switch they meet."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from topo.errors import ParameterError
from topo.hashing.chooser import HashChooser
from topo.hashing.keys import FlowKeys
from topo.hashing.scheme import EcmpHash
from topo.hashing.selection import select
from topo.routing.next_hops import NextHops
from topo.routing.walk import walk
from topo.routing.weighted_sets import table_entries
from topo.table import ranges

__all__ = ["hashed_paths"]


def hashed_paths(
    next_hops: NextHops,
    source: ArrayLike,
    sink: ArrayLike,
    keys: FlowKeys,
    *,
    hash: EcmpHash | str = "vendor-mixing",
    before: NextHops | None = None,
) -> NDArray[np.int64]:
    """Arcs of every flow's path, (hops, flows), -1 after its end, when each switch hashes the flow's key.

    ``source`` and ``sink`` are node rows of endpoints, ``keys`` one key a flow in the same order. Where the ingress
    port is hashed, a choice depends on the arc before it, so the walk is repeated until no path changes. ``before``
    holds the next hops of the time when resilient tables were filled: where next hops have only been lost since, the
    buckets of the others stay. Under weights a table holds next hops by their weight, and after a change each keeps
    as many of its buckets as are due to it now.

    >>> import topo
    >>> from topo.hashing import roce_keys
    >>> f = topo.fat_tree(4)
    >>> source, sink = f.rows("host-01"), f.rows("host-16")
    >>> arcs = hashed_paths(NextHops.of(f), source, sink, roce_keys(f, source, sink), hash="crc-32")
    >>> len(arcs), str(f.nodes.name[f.arc_target[arcs[-1, 0]]])
    (6, 'host-16')

    :raises ParameterError: keys and flows that differ in number, a row that is no endpoint, a flow to itself.
    """
    flows = np.size(source)
    if len(keys) != flows:
        raise ParameterError(f"{len(keys)} keys for {flows} flows; each flow needs one")
    chooser = HashChooser(hash, next_hops.fabric, keys)
    most = chooser.hash.most_entries
    choices = _Choices(chooser, next_hops, np.asarray(sink), before)
    if "ingress_port" not in chooser.hash.fields:
        return walk(next_hops, source, sink, choices, most_entries=most)
    arcs = np.full((1, flows), -1, np.int64)
    while True:
        # Every pass settles one more hop at least.
        choices.arcs = arcs
        again = walk(next_hops, source, sink, choices, most_entries=most)
        if np.array_equal(again, arcs):
            return again
        arcs = again


class _Choices:
    """Choices by hash, with the arcs of an earlier walk as arrivals, and resilient tables kept from before."""

    def __init__(self, chooser: HashChooser, now: NextHops, sink: NDArray[np.int64], before: NextHops | None) -> None:
        self.chooser, self.now, self.sink = chooser, now, sink
        self.before = before if chooser.hash.selection == "resilient" else None
        self.arcs: NDArray[np.int64] = np.empty((0, len(sink)), np.int64)
        if self.before is not None:
            self._index_sets()

    def __call__(
        self, flow: NDArray[np.int64], node: NDArray[np.int64], n_hops: NDArray[np.int64], hop: int
    ) -> NDArray[np.int64]:
        known = 0 < hop <= len(self.arcs)
        arriving = self.arcs[hop - 1, flow] if known else np.full(len(flow), -1, np.int64)
        if self.before is None:
            return self.chooser(flow, node, n_hops, hop, arriving)
        return self._kept(flow, node, n_hops, arriving, self.before)

    def _index_sets(self) -> None:
        """Keys set * arcs + arc of the sets of now, sorted, to find an old next hop among the new."""
        sizes = np.diff(self.now.start)
        owner = np.repeat(np.arange(len(sizes)), sizes)
        self.n_arcs = 2 * len(self.now.fabric.links)
        key = owner * self.n_arcs + self.now.arcs
        self.order = np.argsort(key, kind="stable")
        self.keys = key[self.order]

    def _kept(
        self,
        flow: NDArray[np.int64],
        node: NDArray[np.int64],
        n_hops: NDArray[np.int64],
        arriving: NDArray[np.int64],
        before: NextHops,
    ) -> NDArray[np.int64]:
        buckets = self.chooser.hash.buckets
        bucket = self.chooser.hashes(flow, node, arriving).astype(np.int64) % buckets
        chosen = select(bucket.astype(np.uint32), n_hops, width=32, selection="resilient", buckets=buckets)
        old, new = self._sets(before, flow, node), self._sets(self.now, flow, node)
        if self.now.share is not None:
            return self._kept_by_weight(before, chosen, bucket, old, new)
        size = np.diff(before.start)
        mine = np.flatnonzero((old >= 0) & (new >= 0) & (size[np.maximum(old, 0)] >= n_hops))
        old, new, bucket = old[mine], new[mine], bucket[mine]
        only_lost = self._only_lost(before, old, new)
        mine, old, new, bucket = (part[only_lost] for part in (mine, old, new, bucket))
        held = bucket % size[old]
        place = self._find(new, before.arcs[before.start[old] + held])
        # Buckets of a dead next hop are dealt to the survivors in turn.
        dealt = bucket // size[old] % n_hops[mine]
        chosen[mine] = np.where(place >= 0, place, dealt)
        return chosen

    def _kept_by_weight(
        self,
        before: NextHops,
        chosen: NDArray[np.int64],
        bucket: NDArray[np.int64],
        old: NDArray[np.int64],
        new: NDArray[np.int64],
    ) -> NDArray[np.int64]:
        """Entries of tables in which next hops stand by weight: as few buckets change hands as new weights allow."""
        mine = np.flatnonzero((old >= 0) & (new >= 0))
        pairs, inverse = np.unique(np.stack([old[mine], new[mine]]), axis=1, return_inverse=True)
        tables = np.array([self._moved_buckets(before, *pair) for pair in pairs.T.tolist()], np.int64)
        if mine.size:
            chosen[mine] = tables.reshape(-1, self.chooser.hash.buckets)[inverse.ravel(), bucket[mine]]
        return chosen

    def _moved_buckets(self, before: NextHops, old: int, new: int) -> NDArray[np.int64]:
        """Entry of the new table for each bucket of the one that was filled by the old set."""
        buckets = self.chooser.hash.buckets
        was, _ = _filled(before, old, buckets)
        now, last = _filled(self.now, new, buckets)
        arcs = self.now.arcs[self.now.start[new] : self.now.start[new + 1]]
        held = before.arcs[before.start[old] + was]
        order = np.argsort(arcs)
        at = order[np.minimum(np.searchsorted(arcs, held, sorter=order), len(arcs) - 1)]
        place = np.where(arcs[at] == held, at, -1)
        due = np.bincount(now, minlength=len(arcs))
        # Each keeps its first buckets up to its due; the others go in turn to whom some are due.
        rank = np.empty(buckets, np.int64)
        by_place = np.argsort(place, kind="stable")
        rank[by_place] = np.arange(buckets) - np.searchsorted(place[by_place], place[by_place])
        keeps = (place >= 0) & (rank < due[place])
        owed = due - np.bincount(place[keeps], minlength=len(arcs))
        turn, whose = ranges(np.zeros(len(arcs), np.int64), owed)
        place[~keeps] = whose[np.lexsort((whose, turn))]
        return last[place]

    def _sets(self, hops: NextHops, flow: NDArray[np.int64], node: NDArray[np.int64]) -> NDArray[np.int64]:
        """Set of next hops of each flow at its node, -1 where there is no set that only leads on."""
        row, group = hops.row_of[node], hops.group_of[self.sink[flow]]
        code = hops.table[np.maximum(row, 0), np.maximum(group, 0)].astype(np.int64)
        return np.where((row >= 0) & (group >= 0), np.maximum(code, -1), -1)

    def _only_lost(self, before: NextHops, old: NDArray[np.int64], new: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether every new next hop was one before."""
        pairs, inverse = np.unique(np.stack([old, new]), axis=1, return_inverse=True)
        answer = [
            bool(
                np.isin(
                    self.now.arcs[self.now.start[b] : self.now.start[b + 1]],
                    before.arcs[before.start[a] : before.start[a + 1]],
                ).all()
            )
            for a, b in pairs.T.tolist()
        ]
        return np.array(answer, bool)[inverse.ravel()]

    def _find(self, sets: NDArray[np.int64], arcs: NDArray[np.int64]) -> NDArray[np.int64]:
        """Place of each arc in its set of now, -1 where it is not there."""
        if not len(self.keys):
            return np.full(len(sets), -1, np.int64)
        wanted = sets * self.n_arcs + arcs
        at = np.minimum(np.searchsorted(self.keys, wanted), len(self.keys) - 1)
        return np.where(self.keys[at] == wanted, self.order[at] - self.now.start[sets], -1)


def _filled(hops: NextHops, number: int, buckets: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Next hop in each bucket of a set's table, by its place in the set; and the last entry of each."""
    assert hops.share is not None
    share = hops.share[hops.start[number] : hops.start[number + 1]]
    upto, size = table_entries(share, np.array([0, len(share)]), buckets)
    return np.searchsorted(upto, np.arange(buckets) % int(size[0]), side="right"), upto - 1
