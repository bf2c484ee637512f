"""Static routes: one next hop for each switch and destination, as InfiniBand subnet managers set them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from topo.errors import ParameterError
from topo.routing.dimension_order import dimension_order
from topo.routing.next_hops import NextHops
from topo.routing.scheme import SINGLE_PATH_TABLES
from topo.routing.walk import Choose, at_random, walk
from topo.table import Array

__all__ = ["ADDRESSES", "TABLES", "StaticTable", "leaf_order"]

TABLES = (*SINGLE_PATH_TABLES, "random-by-pair")
ADDRESSES = ("in leaf order", "in order of rows", "shuffled")
_MOST_CELLS = 200_000_000
_ODD = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True, eq=False)
class StaticTable:
    """A rule that gives every flow one path: at each switch the same next hop for the same destination.

    ``kind`` is one of

    - ``destination-modulo``: destination d takes next hop (d div w) mod n of n, w the product of the usual numbers
      of next hops below (1 on leaves, so leaf: d mod m1, and one tier up: (d div m1) mod m2);
    - ``min-hop``: on each switch, destinations in order of their addresses take the least-loaded of their shortest
      ports, counted in destinations so far, the first of equals: what a min-hop subnet manager does;
    - ``random``: drawn once for each switch and destination;
    - ``random-by-pair``: drawn once for each switch, source and destination;
    - ``dimension-order``: on grids the first coordinate is put right, then the second, and so on
      (:func:`topo.routing.dimension_order.dimension_order`);
    - ``hash``: drawn for each flow and switch anew, independent: ECMP with ideal hashes, not a table.

    ``address[e]`` is the rank of endpoint e in order of its address (LID), and ``addresses`` says which order that is.
    In leaf order, the default, destinations of one leaf are numbered one after another, so that each leaf's spread
    over all next hops of every other: as fat-tree routing of subnet managers does. Rows that count hosts across the
    leaves, as on rail-optimized fabrics, send all destinations of a leaf over the same few next hops instead.
    Parallel links are next hops of their own.
    """

    next_hops: NextHops
    kind: str
    seed: int
    address: NDArray[np.int64]
    addresses: str
    picks: NDArray[np.int16] | None

    @classmethod
    def of(
        cls,
        next_hops: NextHops,
        kind: str = "destination-modulo",
        *,
        seed: int = 0,
        addresses: str | Sequence[int] = "in leaf order",
    ) -> StaticTable:
        """A table over the next hops of a fabric.

        ``addresses`` are ``in leaf order`` (see :func:`leaf_order`), ``in order of rows``, ``shuffled`` by ``seed``, or
        the address of every endpoint. ``min-hop`` depends on them heavily: on three tiers addresses in order polarize.

        >>> import topo
        >>> f = topo.leaf_spine(leaves=2, spines=2, hosts_per_leaf=2)
        >>> table = StaticTable.of(NextHops.of(f))
        >>> arcs = table.paths(f.rows("host-1").repeat(2), f.rows(["host-3", "host-4"]))
        >>> [str(f.nodes.name[f.arc_target[a]]) for a in arcs[1]]
        ['spine-1', 'spine-2']

        :raises ParameterError: an unknown kind, addresses that do not fit, or a table larger than memory should hold.
        """
        if kind not in TABLES:
            raise ParameterError(f"unknown table {kind!r}; known: {', '.join(TABLES)}")
        address = _ranks(addresses, next_hops, seed)
        said = addresses if isinstance(addresses, str) else "as given"
        picks = _least_loaded(next_hops, address) if kind == "min-hop" else None
        return cls(next_hops, kind, seed, address, said, picks)

    @cached_property
    def digits(self) -> _Digits:
        """What destinations' numbers are divided by; for ``destination-modulo`` alone."""
        return _Digits.of(self.next_hops)

    @property
    def order_text(self) -> str:
        """In which order destinations are numbered, as a clause for results; empty where it does not matter."""
        return f"destinations numbered {self.addresses}" if self.kind in ("destination-modulo", "min-hop") else ""

    def paths(
        self, source: ArrayLike, sink: ArrayLike, *, seed: int | np.random.SeedSequence | None = None
    ) -> NDArray[np.int64]:
        """Arcs of every flow's path, as :func:`topo.routing.walk.walk`; ``seed`` is for ``hash`` alone."""
        return walk(self.next_hops, source, sink, self.choose(source, sink, seed=seed))

    def choose(self, source: ArrayLike, sink: ArrayLike, *, seed: int | np.random.SeedSequence | None = None) -> Choose:
        """The table as the choice of a walk over these flows."""
        if self.kind == "hash":
            return at_random(self.seed if seed is None else seed)
        if self.kind == "dimension-order":
            return dimension_order(self.next_hops, sink)
        ends = self.next_hops.access.end_of
        begin, end = ends[np.asarray(source).ravel()], ends[np.asarray(sink).ravel()]
        if self.kind in ("random", "random-by-pair"):
            mixed = _mixed(end + 1, np.uint64(self.seed))
            if self.kind == "random-by-pair":
                mixed = _mixed(begin + 1, mixed)
            return lambda flow, node, n_hops, hop: _scaled(_mixed(node + 1, mixed[flow]), n_hops)
        number = self.address[end]
        if self.picks is None:
            group = self.next_hops.group_of[np.asarray(sink).ravel()]
            return lambda flow, node, n_hops, hop: number[flow] // self.digits.at(node, group[flow]) % n_hops
        return self._looked_up(end, number)

    def _looked_up(self, end: Array, number: Array) -> Choose:
        hops, picks = self.next_hops, self.picks
        assert picks is not None

        def choose(flow: Array, node: Array, n_hops: Array, hop: int) -> NDArray[np.int64]:
            row = hops.row_of[node]
            held = picks[np.maximum(row, 0), end[flow]].astype(np.int64)
            # Access links, at the source or before the sink, are not in the switches' counts.
            return np.where((row >= 0) & (held >= 0), held, number[flow] % n_hops)

        return choose


def leaf_order(next_hops: NextHops) -> NDArray[np.int64]:
    """Rank of every endpoint when destinations are numbered leaf by leaf: in order of the leaves, then of rows.

    The leaf of an endpoint is the switch it hangs on at least cost, of several the first; switch chips inside hosts
    count only where there is nothing else. Endpoints on no switch come last.

    >>> import topo
    >>> f = topo.rail_optimized(2, rails=2, hosts_per_unit=2, radix=4)
    >>> hops = NextHops.of(f)
    >>> dict(zip(f.nodes.name[hops.access.endpoints].tolist(), leaf_order(hops).tolist()))
    {'host-1-nic-1': 0, 'host-1-nic-2': 2, 'host-2-nic-1': 1, 'host-2-nic-2': 3}
    """
    access, nodes = next_hops.access, next_hops.fabric.nodes
    end, state, cost = access.ways.key // access.n_states, access.ways.key % access.n_states, access.ways.cost
    on_relay = np.flatnonzero(state < access.n_relays)
    end, state, cost = end[on_relay], state[on_relay], cost[on_relay]
    inside = nodes.tier[access.relays[state]] < 1
    first = np.lexsort((state, cost, inside, end))
    starts = np.ones(len(first), bool)
    starts[1:] = np.diff(end[first]) != 0
    first = first[starts]
    leaf = np.full(len(access.endpoints), access.n_relays, np.int64)
    leaf[end[first]] = state[first]
    return _rank(leaf)


def _rank(key: Array) -> NDArray[np.int64]:
    rank = np.empty(len(key), np.int64)
    rank[np.argsort(key, kind="stable")] = np.arange(len(key))
    return rank


def _ranks(addresses: str | Sequence[int], next_hops: NextHops, seed: int) -> NDArray[np.int64]:
    n = len(next_hops.access.endpoints)
    if isinstance(addresses, str):
        if addresses == "in leaf order":
            return leaf_order(next_hops)
        if addresses == "in order of rows":
            return np.arange(n)
        if addresses == "shuffled":
            return np.random.default_rng(np.random.SeedSequence([seed, 1])).permutation(n)
        known = ", ".join(ADDRESSES)
        raise ParameterError(f"unknown addresses {addresses!r}; known: {known}, or one number an endpoint")
    given = np.asarray(addresses)
    if given.shape != (n,) or given.dtype.kind not in "iu" or len(np.unique(given)) != n:
        raise ParameterError(f"addresses must be {n} different whole numbers, one an endpoint")
    return _rank(given)


@dataclass(frozen=True, eq=False)
class _Digits:
    """What a destination's number is divided by before it is taken modulo: at a node and a set of next hops.

    ``below[v]`` is the product of the usual numbers of next hops up, of all tiers below node v's; ``lower[v]`` the
    same for the next tier below. A hop down takes the digit of the hop up beside it, so that parallel links share
    evenly too.
    """

    hops: NextHops
    below: NDArray[np.int64]
    lower: NDArray[np.int64]
    climbs: NDArray[np.bool_]

    @classmethod
    def of(cls, hops: NextHops) -> _Digits:
        fabric, access = hops.fabric, hops.access
        tier = fabric.nodes.tier.astype(np.int64)
        size = np.diff(hops.start)
        first = hops.arcs[np.minimum(hops.start[:-1], max(len(hops.arcs) - 1, 0))] if len(hops.arcs) else size
        tail, head = (tier[ends[first]] if len(hops.arcs) else size for ends in (fabric.arc_source, fabric.arc_target))
        climbs = (size > 0) & (head >= tail)
        part = access.source_state[access.source_state >= access.n_relays]
        straight = bool((access.outward.head < access.n_relays).all())
        width = _usual(np.diff(access.out_start)[part]) if straight else 1
        below, lower = np.ones(len(tier), np.int64), np.ones(len(tier), np.int64)
        for level in np.unique(tier[hops.relays]).tolist():
            here = tier == level
            below[here] = width
            lower[here] = below[tier == level - 1].max(initial=1)
            width *= _usual(size[climbs & (tail == level)])
        return cls(hops, below, lower, climbs)

    def at(self, node: Array, group: Array) -> NDArray[np.int64]:
        """Divisor for choices at some nodes on the way to groups."""
        row = self.hops.row_of[node]
        if (row < 0).all():
            return np.ones(len(node), np.int64)
        code = self.hops.table[np.maximum(row, 0), np.maximum(group, 0)]
        up = self.climbs[np.where(code >= 0, code, 0)]
        divisor = np.where(up, self.below[node], self.lower[node])
        return np.where((row >= 0) & (code >= 0), divisor, 1)


def _usual(sizes: Array) -> int:
    """The commonest of some counts, the larger of equally common ones; 1 for none."""
    counts = np.bincount(sizes, minlength=2)
    return max(1, len(counts) - 1 - int(np.argmax(counts[::-1]))) if len(sizes) else 1


def _least_loaded(hops: NextHops, address: Array) -> NDArray[np.int16]:
    """Index into the set of each relay and endpoint (-1: none), destinations dealt in order of their addresses."""
    n_ends = len(hops.access.endpoints)
    if len(hops.relays) * n_ends > _MOST_CELLS:
        raise ParameterError(
            f"a min-hop table of {len(hops.relays):,} switches and {n_ends:,} destinations is larger than the "
            f"{_MOST_CELLS:,} entries held; destination-modulo and random need no table"
        )
    picks = np.full((len(hops.relays), n_ends), -1, np.int16)
    held = np.zeros(2 * len(hops.fabric.links), np.int64)
    order = np.argsort(address)
    group = hops.group_of[hops.access.endpoints[order]]
    cuts = np.flatnonzero(np.diff(group, prepend=-2))
    for low, high in zip(cuts.tolist(), [*cuts[1:].tolist(), n_ends], strict=True):
        if group[low] >= 0:
            _deal(hops, int(group[low]), order[low:high], held, picks)
    return picks


def _deal(hops: NextHops, group: int, ends: Array, held: Array, picks: NDArray[np.int16]) -> None:
    """Deal destinations of one group, in order, to the least-loaded next hops of every relay."""
    code = hops.table[:, group]
    rows = np.flatnonzero(code >= 0)
    first = hops.start[code[rows]]
    size = hops.start[code[rows] + 1] - first
    for n in np.unique(size).tolist():
        mine = size == n
        arcs = hops.arcs[first[mine][:, None] + np.arange(n)]
        if n == 1:
            picks[rows[mine][:, None], ends] = 0
            held[arcs[:, 0]] += len(ends)
            continue
        # The i-th destination a port would take comes when all have held[port] + i: sort by that, then by port.
        turns = (held[arcs][:, :, None] + np.arange(len(ends))) * n + np.arange(n)[None, :, None]
        turns = turns.reshape(len(arcs), -1)
        if len(ends) == 1:
            taken = turns.min(axis=1)[:, None] % n
        else:
            taken = np.sort(turns, axis=1)[:, : len(ends)] % n
        picks[rows[mine][:, None], ends] = taken
        for port in range(n):
            held[arcs[:, port]] += (taken == port).sum(axis=1)


def _mixed(number: Array, key: NDArray[np.uint64] | np.uint64) -> NDArray[np.uint64]:
    """64 well-mixed bits of a number and a key (the finalizer of splitmix64)."""
    with np.errstate(over="ignore"):
        bits = (np.asarray(number).astype(np.uint64) + key * np.uint64(3)) * _ODD + (key ^ (key >> np.uint64(29)))
        bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        mixed: NDArray[np.uint64] = bits ^ (bits >> np.uint64(31))
    return mixed


def _scaled(bits: NDArray[np.uint64], n: Array) -> NDArray[np.int64]:
    """Bits as uniform whole numbers below n."""
    below: NDArray[np.int64] = (((bits >> np.uint64(32)) * n.astype(np.uint64)) >> np.uint64(32)).astype(np.int64)
    return below
