"""Which arcs each flow may cross, and with what probability, over any shortest-path routing.

A flow's place after h hops is a law over switches. Flows with the same law and the same destination go on alike, so
they are followed together: in a whole Clos thousands of flows become a few dozen laws. Nothing is assumed about the
fabric; where cables miss, fewer flows are alike and the work grows.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from topo.analysis.collisions.set_parts import SetParts
from topo.routing.arcs import close_code, mixed_code
from topo.routing.hop_weights import HopWeights
from topo.routing.next_hops import NO_PATH, NextHops
from topo.table import Array, ranges

__all__ = ["Entries", "Traversal", "traverse"]

_CELLS = 4_000_000
_NO_WAY = np.iinfo(np.int64).max // 4


@dataclass(frozen=True, eq=False)
class Entries:
    """``count[i]`` flows of size ``size[i]`` (a number of its own per rate) cross ``arc[i]`` with probability ``p[i]``.

    Sorted by arc; equal (arc, p, size) are one entry.
    """

    arc: NDArray[np.int64]
    p: NDArray[np.float64]
    size: NDArray[np.int64]
    count: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Traversal:
    """All flows over all arcs. ``classes`` names sets of arcs by tiers: (tier an arc leaves, tier it enters).

    ``part[f, c]`` is the block of flow f among the arcs of class c (-1: it crosses none): blocks of a class share
    no flow and no arc. ``arc_class`` and ``arc_block`` say where each used arc belongs (-1 unused, access too).
    ``alike[c][b]`` tells whether all flows of block b have one law over its arcs, ``once[c]`` whether every flow
    crosses the class at most once. ``lost`` marks flows without a path.
    """

    entries: Entries
    lost: NDArray[np.bool_]
    classes: tuple[tuple[int, int], ...]
    part: NDArray[np.int64]
    arc_class: NDArray[np.int64]
    arc_block: NDArray[np.int64]
    alike: tuple[NDArray[np.bool_], ...]
    once: tuple[bool, ...]
    n_access: int


def traverse(hops: NextHops, source: Array, sink: Array, size: Array) -> Traversal | None:
    """Follow flows between endpoints (node rows); None where hosts are opened and paths begin or end inside them."""
    access = hops.access
    begin, end = access.end_of[source], access.end_of[sink]
    if not _attached(hops, begin, end):
        return None
    work = _Work(hops, len(source))
    order = np.argsort(hops.group_of[sink], kind="stable")
    widest = int(np.bincount(hops.fabric.nodes.tier[hops.relays] + 1).max(initial=1))
    step = max(256, _CELLS // widest)
    for low in range(0, len(order), step):
        chunk = order[low : low + step]
        if not work.follow(chunk, begin[chunk], end[chunk], np.asarray(size)[chunk]):
            return None
    return work.finish()


def _attached(hops: NextHops, begin: Array, end: Array) -> bool:
    """Whether all paths go from the source straight to a relay, and from a relay straight to the sink."""
    access = hops.access
    n_relays = access.n_relays
    state = access.source_state[np.unique(begin)]
    state = state[state >= n_relays]
    rows, _ = ranges(access.out_start[state], access.out_start[state + 1] - access.out_start[state])
    if (access.outward.head[rows] >= n_relays).any():
        return False
    ends = np.unique(end)
    way_end = access.ways.key // access.n_states
    way_state = access.ways.key % access.n_states
    inner = (way_state >= n_relays) & np.isin(way_end, ends) & (way_state != access.sink_state[way_end])
    return not bool(inner.any())


@dataclass(eq=False)
class _Work:
    """What is gathered over the chunks."""

    hops: NextHops
    n_flows: int
    set_entries: list[Array] = field(default_factory=list)
    set_p: list[Array] = field(default_factory=list)
    arc_entries: list[Array] = field(default_factory=list)
    arc_p: list[Array] = field(default_factory=list)
    edges: list[Array] = field(default_factory=list)
    laws: list[Array] = field(default_factory=list)

    def __post_init__(self) -> None:
        hops = self.hops
        self.parts = SetParts.of(hops)
        self.classes = self.parts.classes
        self.set_size = np.diff(hops.start)
        self.first_set = np.full((self.n_flows, len(self.classes)), -1, np.int64)
        self.once = np.ones(len(self.classes), bool)
        self.lost = np.zeros(self.n_flows, bool)

    def follow(self, flows: Array, begin: Array, end: Array, size: Array) -> bool:
        """One chunk of flows to its end; False where a path ends in a way that is not followed here."""
        hops, access = self.hops, self.hops.access
        group = hops.group_of[access.endpoints[end]]
        owner, relay, p = self._start(flows, begin, group, size)
        lump = np.arange(len(flows))  # lump of each flow
        goes = ~self.lost[flows]
        lump_group, lump_size = group, size
        while len(relay):
            owner, lump = self._joined(owner, relay, p, lump, lump_group, lump_size, goes)
            keep = owner >= 0
            owner, relay, p = owner[keep], relay[keep], p[keep]
            sample = np.full(int(lump.max(initial=-1)) + 1, -1, np.int64)
            sample[lump[goes]] = np.flatnonzero(goes)
            lump_group, lump_size = group[sample], size[sample]
            count = np.bincount(lump[goes], minlength=len(sample))
            code = hops.table[relay, lump_group[owner]]
            if (code == NO_PATH).any() or (code < -2).any():
                return False
            at_end = code < 0
            if at_end.any():
                self._end(owner[at_end], relay[at_end], p[at_end], lump, goes, end, size)
            owner, relay, p, code = owner[~at_end], relay[~at_end], p[~at_end], code[~at_end].astype(np.int64)
            # Of a set by its number: what each next hop takes, or under weights what crosses all of it.
            x = p / self.set_size[code] if hops.share is None else p
            self._record(flows, lump, goes, owner, code, x, lump_size, count)
            index, row = ranges(hops.start[code], self.set_size[code])
            taken = x[row] if hops.share is None else x[row] * hops.share[index]
            owner, relay, p = _summed(owner[row], hops.head_row[hops.arcs[index]], taken, access.n_relays)
        return True

    def _start(self, flows: Array, begin: Array, group: Array, size: Array) -> tuple[Array, Array, NDArray[np.float64]]:
        """Over the access links of least cost: law over the first relays."""
        access, hops = self.hops.access, self.hops
        state = access.source_state[begin]
        relaying = np.flatnonzero(state < access.n_relays)
        other = np.flatnonzero(state >= access.n_relays)
        first = access.out_start[state[other]]
        rows, index = ranges(first, access.out_start[state[other] + 1] - first)
        flow, head = other[index], access.outward.head[rows]
        cost = hops.cost[head, np.maximum(group[flow], 0)].astype(np.int64)
        whole = np.where((cost == hops.far) | (group[flow] < 0), _NO_WAY, cost + access.outward.cost[rows])
        best = np.full(len(flows), _NO_WAY, np.int64)
        np.minimum.at(best, flow, whole)
        cost_here = hops.cost[state[relaying], np.maximum(group[relaying], 0)]
        best[relaying] = np.where((cost_here == hops.far) | (group[relaying] < 0), _NO_WAY, 0)
        self.lost[flows[best == _NO_WAY]] = True
        good = (whole < _NO_WAY) & (whole == best[flow])
        flow, head, rows = flow[good], head[good], rows[good]
        p = _split(hops.weights, access.outward.arc[rows], head, group[flow], flow, len(flows))
        self._arcs(access.outward.arc[rows], p, size[flow])
        relaying = relaying[best[relaying] < _NO_WAY]
        return _summed(
            np.concatenate([flow, relaying]),
            np.concatenate([head, state[relaying]]),
            np.concatenate([p, np.ones(len(relaying))]),
            access.n_relays,
        )

    def _joined(
        self, owner: Array, relay: Array, p: Array, lump: Array, lump_group: Array, lump_size: Array, goes: Array
    ) -> tuple[Array, Array]:
        """Lumps that are alike made one: owner of each row (-1: a double), and lump of each flow, anew."""
        n = len(lump_group)
        with np.errstate(over="ignore"):
            code = mixed_code(relay * np.int64(7919) + 13) * (mixed_code(close_code(p)) | np.uint64(1))
            total = np.zeros(n, np.uint64)
            np.add.at(total, owner, code)
            total += mixed_code(lump_group * np.int64(1_000_003) + lump_size)
        alive = np.zeros(n, bool)
        alive[owner] = True
        rows = np.flatnonzero(alive)
        _, first, inverse = np.unique(total[rows], return_index=True, return_inverse=True)
        new = np.full(n, -1, np.int64)
        new[rows] = inverse
        leader = np.full(n, -1, np.int64)
        leader[rows[first]] = np.arange(len(first))
        ended = new[lump] < 0
        goes[ended] = False
        return leader[owner], np.where(goes, new[lump], -1)

    def _end(self, owner: Array, relay: Array, p: Array, lump: Array, goes: Array, end: Array, size: Array) -> None:
        """From the relays the sinks hang on, over their access links."""
        access = self.hops.access
        flows = np.flatnonzero(goes)
        by_lump = flows[np.argsort(lump[flows], kind="stable")]
        start = np.searchsorted(lump[by_lump], np.arange(int(lump.max()) + 2))
        index, row = ranges(start[owner], start[owner + 1] - start[owner])
        flow, relay, p = by_lump[index], relay[row], p[row]
        away = access.sink_state[end[flow]] >= access.n_relays
        flow, relay, p = flow[away], relay[away], p[away]
        at = access.way_at(end[flow], relay)
        n_ways = access.ways.start[at + 1] - access.ways.start[at]
        index, row = ranges(access.ways.start[at], n_ways)
        arc = access.ways.arc[index]
        share = _split(self.hops.weights, arc, np.full(len(arc), -1), np.zeros_like(arc), row, len(p))
        self._arcs(arc, p[row] * share, size[flow[row]])

    def _arcs(self, arc: Array, p: NDArray[np.float64], size: Array) -> None:
        columns = np.stack([arc, close_code(p), size, np.ones_like(arc)])
        merged, first = _reduced(columns)
        self.arc_entries.append(merged)
        self.arc_p.append(p[first])

    def _record(
        self,
        flows: Array,
        lump: Array,
        goes: Array,
        owner: Array,
        code: Array,
        x: Array,
        lump_size: Array,
        count: Array,
    ) -> None:
        """Flows per (set, probability), and which sets belong to one block."""
        parts = self.parts
        index, row = ranges(parts.first[code], parts.first[code + 1] - parts.first[code])
        code, owner, x = index, owner[row], x[row]
        if not len(code):
            return
        merged, first = _reduced(np.stack([code, close_code(x), lump_size[owner], count[owner]]))
        self.set_entries.append(merged)
        self.set_p.append(x[first])
        of_class = parts.of_class[code]
        n_classes = len(self.classes)
        group = owner * n_classes + of_class
        found, head, inverse = np.unique(group, return_index=True, return_inverse=True)
        edge = np.unique(code[head][inverse] * np.int64(parts.n) + code)
        self.edges.append(np.stack(np.divmod(edge, parts.n)))
        with np.errstate(over="ignore"):
            total = np.zeros(len(found), np.uint64)
            np.add.at(total, inverse, parts.code[code] * (mixed_code(close_code(x)) | np.uint64(1)))
        self.laws.append(_pairs(code[head].astype(np.uint64), total))
        for c in np.unique(of_class).tolist():
            mine = found % n_classes == c
            set_of_lump = np.full(len(count), -1, np.int64)
            set_of_lump[found[mine] // n_classes] = code[head[mine]]
            first_set = np.where(goes, set_of_lump[np.maximum(lump, 0)], -1)
            used = first_set >= 0
            self.once[c] &= not (self.first_set[flows[used], c] >= 0).any()
            self.first_set[flows[used], c] = first_set[used]

    def finish(self) -> Traversal:
        """Arcs instead of sets; blocks as connected components."""
        hops, parts = self.hops, self.parts
        n_arcs = 2 * len(hops.fabric.links)
        n_access = 0
        columns, p = np.empty((4, 0), np.int64), np.empty(0)
        if self.set_entries:
            sets, first = _reduced(np.concatenate(self.set_entries, axis=1))
            p_set = np.concatenate(self.set_p)[first]
            index, row = ranges(parts.start[sets[0]], parts.size[sets[0]])
            arc, p = parts.arcs[index], p_set[row]
            if parts.share is not None:
                p = p * parts.share[index]
            size, count = sets[2][row], sets[3][row]
            if hops.bundles is not None:
                index, row = ranges(hops.bundles.first[arc], hops.bundles.size[arc])
                p, size, count = (p / hops.bundles.size[arc])[row], size[row], count[row]
                arc = hops.bundles.members[index]
            columns = np.stack([arc, close_code(p), size, count])
        block_of_set, part, alike = self._blocks()
        arc_class, arc_block = np.full(n_arcs, -1, np.int64), np.full(n_arcs, -1, np.int64)
        used = np.flatnonzero(block_of_set >= 0)
        index, row = ranges(parts.start[used], parts.size[used])
        arcs = parts.arcs[index]
        arc_class[arcs], arc_block[arcs] = parts.of_class[used][row], block_of_set[used][row]
        if hops.bundles is not None:
            lead = np.unique(arcs)
            index, row = ranges(hops.bundles.first[lead], hops.bundles.size[lead])
            arc_class[hops.bundles.members[index]] = arc_class[lead][row]
            arc_block[hops.bundles.members[index]] = arc_block[lead][row]
        if self.arc_entries:
            access = np.concatenate(self.arc_entries, axis=1)
            n_access = len(np.unique(access[0]))
            columns = np.concatenate([columns, access], axis=1)
            p = np.concatenate([p, np.concatenate(self.arc_p)])
        merged, first = _reduced(columns)
        entries = Entries(merged[0], np.minimum(p[first], 1.0), merged[2], merged[3])
        return Traversal(
            entries, self.lost, self.classes, part, arc_class, arc_block, alike, tuple(self.once.tolist()), n_access
        )

    def _blocks(self) -> tuple[Array, Array, tuple[NDArray[np.bool_], ...]]:
        """Block of each used set, numbered from 0 in each class; of each flow; and which have one law."""
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        parts, n_classes = self.parts, len(self.classes)
        block_of_set = np.full(parts.n, -1, np.int64)
        part = np.full((self.n_flows, n_classes), -1, np.int64)
        if not self.edges:
            return block_of_set, part, tuple(np.zeros(0, bool) for _ in range(n_classes))
        edges = _pairs(*np.concatenate(self.edges, axis=1))
        used = np.unique(edges)
        index, row = ranges(parts.start[used], parts.size[used])
        # An arc joins the parts it is in.
        _, arc_node = np.unique(parts.arcs[index], return_inverse=True)
        tails = np.concatenate([edges[0], used[row]])
        heads = np.concatenate([edges[1], parts.n + arc_node])
        n = parts.n + int(arc_node.max(initial=-1)) + 1
        _, label = connected_components(coo_array((np.ones(len(tails)), (tails, heads)), shape=(n, n)), directed=False)
        alike = []
        laws = _pairs(*np.concatenate(self.laws, axis=1))
        law_set = laws[0].astype(np.int64)
        for c in range(n_classes):
            mine = used[parts.of_class[used] == c]
            labels, block = np.unique(label[mine], return_inverse=True)
            block_of_set[mine] = block
            has = self.first_set[:, c] >= 0
            part[has, c] = block_of_set[self.first_set[has, c]]
            of_class = parts.of_class[law_set] == c
            pairs = _pairs(block_of_set[law_set[of_class]].astype(np.uint64), laws[1][of_class])
            alike.append(np.bincount(pairs[0].astype(np.int64), minlength=len(labels)) == 1)
        return block_of_set, part, tuple(alike)


def _split(
    weights: HopWeights | None, arc: Array, head: Array, group: Array, owner: Array, n: int
) -> NDArray[np.float64]:
    """What each arc takes of its owner's flow: all the same, or by weight."""
    if weights is None:
        return np.asarray(1.0 / np.bincount(owner, minlength=n)[owner])
    weight = weights.of(arc, head, group)
    return np.asarray(weight / np.bincount(owner, weights=weight, minlength=n)[owner])


def _pairs(first: Array, second: Array) -> Array:
    """Distinct pairs, as two rows, sorted."""
    order = np.lexsort((second, first))
    first, second = first[order], second[order]
    fresh = np.ones(len(order), bool)
    fresh[1:] = (first[1:] != first[:-1]) | (second[1:] != second[:-1])
    return np.stack([first[fresh], second[fresh]])


def _summed(owner: Array, relay: Array, p: Array, n_relays: int) -> tuple[Array, Array, NDArray[np.float64]]:
    """Rows of one owner and relay added up, sorted."""
    key = owner * np.int64(n_relays) + relay
    found, inverse = np.unique(key, return_inverse=True)
    total = np.bincount(inverse, weights=p, minlength=len(found))
    return found // n_relays, found % n_relays, np.asarray(total, dtype=float)


def _reduced(columns: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rows equal in all but the last line of ``columns`` become one, the last added up; with a sample of each."""
    order = np.lexsort(columns[-2::-1])
    arranged = columns[:, order]
    fresh = np.ones(len(order), bool)
    fresh[1:] = (arranged[:-1, 1:] != arranged[:-1, :-1]).any(axis=0)
    start = np.flatnonzero(fresh)
    merged = arranged[:, start]
    if len(start):
        merged[-1] = np.add.reduceat(arranged[-1], start)
    return merged, order[start]
