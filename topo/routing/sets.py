"""Sets of next hops, each kept once: as bits over the hops of a row while they are compared, then as lists."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from topo.routing.arcs import list_codes
from topo.routing.distances import Reached, RelayGraph, Seeds, least_costs
from topo.table import Array, ranges
from topo.twins import equal_rows

__all__ = ["HopSets", "SetBits", "hop_sets"]

_BLOCK_CELLS = 1 << 20
_LISTED_OCTETS = 1 << 16


@dataclass(frozen=True, eq=False)
class SetBits:
    """Next hops of sets as bits: bit j of ``word[s]`` stands for the arc of hop j of row ``row[s]``.

    A torus has a set of its own for every pair of switches, whose lists are a hundred times what its walks look at.
    """

    graph: RelayGraph
    row: NDArray[np.int64]
    word: NDArray[np.uint64]

    @property
    def n_hops(self) -> NDArray[np.int64]:
        """How many next hops each set has."""
        count: NDArray[np.int64] = np.bitwise_count(self.word).sum(axis=1, dtype=np.int64)
        return count

    def arcs(self) -> NDArray[np.int64]:
        """Arcs of all sets, one after another, each in order of its hops."""
        arcs: NDArray[np.int64] = self.graph.arc[_lists(self.row, self.word, self.graph.start, self.n_hops)]
        return arcs

    def arc_of(self, number: Array, nth: Array) -> NDArray[np.int64]:
        """The nth arc, from 0, of each of some sets."""
        arcs: NDArray[np.int64] = self.graph.arc[self.graph.start[self.row[number]] + _nth_bits(self.word[number], nth)]
        return arcs


class HopSets(NamedTuple):
    """``table[u, g]``: the set of next hops of row u towards destination group g.

    Set s has ``sets.n_hops[s]`` next hops; set 0 is empty. ``cost[u, g]`` is the least cost, ``far`` where there is
    no path.
    """

    table: NDArray[np.int32]
    sets: SetBits
    cost: NDArray[np.int16] | NDArray[np.int32]
    far: int


def hop_sets(graph: RelayGraph, seeds: Seeds, n_groups: int, tier: Array, *, up_down: bool = False) -> HopSets:
    """Least costs and next hops from every row to every destination group.

    Groups that hang on twins of each other's relays, at equal costs, are searched once: the answer for another is the
    same with each relay exchanged for its twin. Only relays next to both tell them apart.
    """
    # Exchanging two rows of one tier with the same hops changes nothing; tiers matter to up/down routing alone.
    twin = equal_rows(graph.start, np.stack([graph.head, graph.cost]), tier if up_down else None)
    # Of a group's relays, twins come in the same order in every group.
    order = np.lexsort((seeds.row, twin[seeds.row], seeds.column))
    seeds = Seeds(seeds.row[order], seeds.cost[order], seeds.column[order])
    count = np.bincount(seeds.column, minlength=n_groups)
    code = list_codes(twin[seeds.row] * (int(seeds.cost.max(initial=0)) + 1) + seeds.cost, count)
    leaders = np.unique(code, return_index=True)[1]
    work = _Work(graph, up_down, n_groups, seeds)
    members = _members(leaders[code], n_groups)
    block = max(16, _BLOCK_CELLS // max(graph.n_rows * work.n_words, 1))
    for low in range(0, len(leaders), block):
        left = work.search(leaders[low : low + block], members)
        for more in range(0, len(left), block):
            work.search(left[more : more + block], None)
    return work.finish()


def _members(leader: Array, n_groups: int) -> tuple[Array, Array]:
    """Groups by leader: those of group g are ``rows[start[g]:start[g + 1]]``."""
    rows = np.argsort(leader, kind="stable")
    return rows, np.searchsorted(leader[rows], np.arange(n_groups + 1))


@dataclass(eq=False)
class _Work:
    """What is found block by block: sets as (row, word), table entries as rows of those lists."""

    graph: RelayGraph
    up_down: bool
    n_groups: int
    seeds: Seeds
    set_row: list[Array] = field(default_factory=list)
    set_word: list[Array] = field(default_factory=list)
    n_sets: int = 0

    def __post_init__(self) -> None:
        n = self.graph.n_rows
        self.degree = self.graph.degree
        self.n_words = max(1, -(-int(self.degree.max(initial=0)) // 64))
        self.by_degree = np.argsort(-self.degree, kind="stable")
        self.table = np.zeros((n, self.n_groups), np.int32)
        self.cost: Array | None = None
        self.far = 0
        by_head = np.argsort(self.graph.head, kind="stable")
        self.into = by_head
        self.into_start = np.searchsorted(self.graph.head[by_head], np.arange(n + 1))
        self.bit = np.arange(len(self.graph.tail)) - self.graph.start[self.graph.tail]
        self.seed_start = np.searchsorted(self.seeds.column, np.arange(self.n_groups + 1))

    def search(self, groups: Array, members: tuple[Array, Array] | None) -> Array:
        """Fill the columns of some groups, and of their twins; returns twins that need a search of their own."""
        index, column = ranges(self.seed_start[groups], self.seed_start[groups + 1] - self.seed_start[groups])
        mine = Seeds(self.seeds.row[index], self.seeds.cost[index], column)
        found = least_costs(self.graph, mine, len(groups), up_down=self.up_down)
        if self.cost is None:
            self.cost, self.far = np.full(self.table.shape, found.far, found.cost.dtype), found.far
        words = self._words(found)
        self.table[:, groups] = self._register_cells(words)
        self.cost[:, groups] = found.cost
        left = [np.empty(0, np.int64)]
        if members is not None:
            rows, start = members
            for i, group in enumerate(groups.tolist()):
                others = rows[start[group] : start[group + 1]]
                others = others[others != group]
                if others.size:
                    left.append(self._copy(group, others, found.cost[:, i], words[:, i]))
        return np.concatenate(left)

    def _words(self, found: Reached) -> NDArray[np.uint64]:
        """Bit j of a row and column: its hop j lies on a least-cost path."""
        graph, order = self.graph, self.by_degree
        cost = found.cost[order]
        words = np.zeros((*cost.shape, self.n_words), np.uint64)
        down = None if found.is_down is None else found.is_down[order]
        most = -np.sort(-self.degree)
        for j in range(int(self.degree.max(initial=0))):
            n = int(np.searchsorted(-most, -j, side="left"))
            hop = graph.start[order[:n]] + j
            head = graph.head[hop]
            on = cost[:n] - found.cost[head] == graph.cost[hop].astype(cost.dtype)[:, None]
            if down is not None and found.is_down is not None:
                climbs = graph.climbs[hop][:, None]
                on &= np.where(climbs < 0, down[:n] & found.is_down[head], (climbs > 0) & ~down[:n])
            words[:n, :, j // 64] |= on.astype(np.uint64) << np.uint64(j % 64)
        result = np.empty_like(words)
        result[order] = words
        return result

    def _register_cells(self, words: NDArray[np.uint64]) -> NDArray[np.int32]:
        """Numbers of the sets of a block; cells that repeat the one before are not compared again."""
        n_rows, n_columns = words.shape[:2]
        fresh = np.ones((n_rows, n_columns), bool)
        fresh[:, 1:] = (words[:, 1:] != words[:, :-1]).any(axis=2)
        rows, columns = np.nonzero(fresh)
        number = self.register(rows, words[rows, columns])
        cells: NDArray[np.int32] = number[np.cumsum(fresh.ravel()) - 1].reshape(n_rows, n_columns)
        return cells

    def register(self, row: Array, word: NDArray[np.uint64]) -> NDArray[np.int32]:
        """Numbers of the sets (row, word), each kept once among those given."""
        first, inverse = _distinct(row, word)
        return self._add(row[first], word[first])[inverse]

    def _add(self, row: Array, word: NDArray[np.uint64]) -> NDArray[np.int32]:
        self.set_row.append(row)
        self.set_word.append(word)
        number = np.arange(self.n_sets, self.n_sets + len(row), dtype=np.int32)
        self.n_sets += len(row)
        return number

    def _copy(self, group: int, others: Array, cost: Array, words: NDArray[np.uint64]) -> Array:
        """Columns of twins from their leader's, which hangs on relays ``a``, they on ``b``; returns those left out.

        Exchanging a[i] with b[i] is an automorphism that maps one column to the other; only relays next to a or b see
        a difference. Left out: groups that share a relay with the leader, and all where some relay has next hops
        both into a and elsewhere, or where the relays of groups are next to each other.
        """
        assert self.cost is not None
        graph, width = self.graph, int(self.seed_start[group + 1] - self.seed_start[group])
        a = self.seeds.row[self.seed_start[group] : self.seed_start[group + 1]]
        b = self.seeds.row[self.seed_start[others][:, None] + np.arange(width)]
        hung = np.zeros(graph.n_rows, bool)
        hung[a] = True
        apart = ~hung[b].any(axis=1)
        left: Array = others[~apart]
        others, b = others[apart], b[apart]
        hung[b] = True
        index, _ = ranges(self.into_start[a], self.into_start[a + 1] - self.into_start[a])
        near = self.into[index]
        at, wanted = self._bits(near, cost[graph.tail[near]] - cost[graph.head[near]])
        held = words[at]
        is_used = (held & wanted).any(axis=1)
        if hung[graph.tail[near]].any() or (held[is_used] != wanted[is_used]).any():
            return np.concatenate([left, others])
        self.table[:, others] = self.table[:, [group]]
        self.cost[:, others] = cost[:, None]
        for i in range(width):
            # Row a[i] now sees what b[i] saw, and the other way round.
            self.table[a[i], others] = self._add(np.repeat(a[i], len(b)), words[b[:, i]])
            self.table[b[:, i], others] = self._add(b[:, i], np.repeat(words[a[i]][None], len(b), axis=0))
            self.cost[a[i], others] = cost[b[:, i]]
            self.cost[b[:, i], others] = cost[a[i]]
        flat = b.ravel()
        index, owner = ranges(self.into_start[flat], self.into_start[flat + 1] - self.into_start[flat])
        hops = self.into[index]
        used = np.zeros(graph.n_rows, bool)
        used[at[is_used]] = True
        keep = used[graph.tail[hops]]
        hops, owner = hops[keep], owner[keep]
        spare = cost[graph.tail[hops]] - np.tile(cost[a], len(b))[owner]
        key, bits = self._bits(hops, spare, owner // width)
        tails = key % graph.n_rows
        self.table[tails, others[key // graph.n_rows]] = self._add(tails, bits)
        return left

    def _bits(self, hops: Array, spare: Array, owner: Array | None = None) -> tuple[Array, NDArray[np.uint64]]:
        """Bits of the hops whose cost is what is spare, by their tail (plus owner * rows)."""
        keep = self.graph.cost[hops] == spare
        hops = hops[keep]
        key = self.graph.tail[hops] if owner is None else owner[keep] * self.graph.n_rows + self.graph.tail[hops]
        distinct, inverse = np.unique(key, return_inverse=True)
        words = np.zeros((len(distinct), self.n_words), np.uint64)
        bit = self.bit[hops]
        np.bitwise_or.at(words, (inverse, bit // 64), np.uint64(1) << (bit % 64).astype(np.uint64))
        return distinct, words

    def finish(self) -> HopSets:
        """One number for each distinct set, 0 for the empty one."""
        n = self.graph.n_rows
        row = np.concatenate([np.zeros(1, np.int64), *self.set_row])
        word = np.concatenate([np.zeros((1, self.n_words), np.uint64), *self.set_word])
        self.set_row, self.set_word = [], []
        row = np.where(word.any(axis=1), row, 0)
        first, inverse = _distinct(row, word)
        # Numbered by first appearance, so that the empty set is 0.
        rank = np.empty(len(first), np.int64)
        by_first = np.argsort(first)
        rank[by_first] = np.arange(len(first))
        number = rank[inverse].astype(np.int32)
        first = first[by_first]
        for low in range(0, n, 512):
            self.table[low : low + 512] = number[1:][self.table[low : low + 512]]
        cost = self.cost if self.cost is not None else np.empty(self.table.shape, np.int16)
        return HopSets(self.table, SetBits(self.graph, row[first], word[first]), cost, self.far)


def _distinct(row: Array, word: NDArray[np.uint64]) -> tuple[Array, Array]:
    """First index and inverse of the distinct (row, word): by a mixed code that is then compared bit by bit."""
    for attempt in itertools.count(1):
        odd = np.uint64(0x9E3779B97F4A7C15 + 2 * attempt)
        with np.errstate(over="ignore"):
            code = row.astype(np.uint64) * odd
            for column in word.T:
                code = (code ^ (code >> np.uint64(31)) ^ column) * odd
        _, first, inverse = np.unique(code, return_index=True, return_inverse=True)
        at = first[inverse]
        if (row == row[at]).all() and all((column == column[at]).all() for column in word.T):
            return first, inverse
    raise AssertionError("unreachable: one of the codes tells all sets apart")


def _nth_bits(word: NDArray[np.uint64], nth: Array) -> NDArray[np.int64]:
    """Place of the nth bit that is set, from 0, of each row of words."""
    octets = word.astype("<u8").view(np.uint8)
    upto = np.cumsum(np.bitwise_count(octets), axis=1, dtype=np.int64)
    at = (upto <= nth[:, None]).sum(axis=1)
    rows = np.arange(len(at))
    octet = octets[rows, at]
    bits = np.cumsum(np.unpackbits(octet[:, None], axis=1, bitorder="little"), axis=1, dtype=np.int64)
    before = upto[rows, at] - bits[:, -1]
    place: NDArray[np.int64] = at * 8 + (bits <= (nth - before)[:, None]).sum(axis=1)
    return place


def _lists(row: Array, word: NDArray[np.uint64], hop_start: Array, count: Array) -> NDArray[np.int64]:
    """Bits, so many in each row, as lists of hops, in order."""
    start = np.concatenate([[0], np.cumsum(count)])
    hops = np.empty(int(start[-1]), np.int64)
    octets = word.astype("<u8").view(np.uint8)
    width = octets.shape[1]
    # Few sets at a time: what is made of millions at once leaves every cache.
    step = max(1, _LISTED_OCTETS // width)
    for low in range(0, len(row), step):
        part = octets[low : low + step]
        # Few octets of a wide row are not 0, so only those are unpacked.
        at = np.flatnonzero(part)
        place = np.flatnonzero(np.unpackbits(part.ravel()[at], bitorder="little").view(bool))
        base = np.repeat(hop_start[row[low : low + step]], count[low : low + step])
        hops[start[low] : start[low + len(part)]] = base + at[place >> 3] % width * 8 + (place & 7)
    return hops
