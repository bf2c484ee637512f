"""The routed graph: rows that traffic passes through, bundles of arcs between them, and where endpoints hang on.

A node that forwards everything is one row. An endpoint on a single such node is folded into its row. Every other
part (an endpoint with several homes, a part of an opened host) has two rows: it is left over its *out* row, whose arcs
lead to out rows of its own host and to relays, and reached over its *in* row, whose arcs lead to in rows of its own
host alone. So nothing passes through a third host, whatever its parts would forward. A switch chip that hosts share
is a relay, and has a copy among the parts of each host beside it (see ``chips``).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from topo.fabric import FORWARDS_ALL, FORWARDS_NOTHING, Fabric, State
from topo.network import Network
from topo.routing.chips import ChipCopies
from topo.routing.relaying import find_relaying, passing_parts
from topo.routing.scheme import Routing
from topo.routing.weights import LinkWeights, is_path_aware
from topo.table import Array, grouped_order

__all__ = ["Core", "Folded", "number_rows"]


@dataclass(frozen=True, eq=False)
class Folded:
    """Access arcs of endpoints that hang on one row: ``out``: those that leave it, ``share`` of its traffic."""

    arc: NDArray[np.int64]
    node: NDArray[np.int64]
    out: NDArray[np.bool_]
    share: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Core:
    """Rows and bundles of one fabric in one state under one routing.

    Rows 0 .. n_relays - 1 are relays, then come the out rows of the parts, then their in rows, in the same order.
    ``home[v]`` and ``goal[v]`` are the rows where traffic of node v starts and ends (-1: cut off). Parts that are
    joined inside their host form a unit; a relay is a unit of its own: ``unit_start`` cuts relays and out rows into
    units, ``place`` numbers the rows of each.

    A bundle is all arcs of one tail, head, cost and rate, sorted by these: ``tail``, ``head``, ``cost``, ``weight``
    (sum of the split weights of its arcs), ``built_gbps`` (their sum of rates before anything failed). Entry i puts
    fabric arc ``arc[i]`` into bundle ``bundle[i]`` with weight ``arc_weight[i]``. ``relays[r]`` says whether row r
    passes on what is not for itself, ``inflow_gbps[r]`` what its folded endpoints could send into it (0 where
    weights do not ask).

    ``chip[p]`` is the relay that out row n_relays + p is a host's copy of, -1 for other parts. Bundles from copies to
    parts of other hosts are left out, there being so many: they are those of the chip itself. ``alike``, where known,
    is for each unit the first of those with equal bundles (see ``twins``).
    """

    network: Network
    node: NDArray[np.int64]
    n_relays: int
    n_parts: int
    chip: NDArray[np.int64]
    home: NDArray[np.int64]
    goal: NDArray[np.int64]
    unit_start: NDArray[np.int64]
    place: NDArray[np.int64]
    relays: NDArray[np.bool_]
    inflow_gbps: NDArray[np.float64]
    tail: NDArray[np.int32]
    head: NDArray[np.int32]
    kind: NDArray[np.int32]
    cost: NDArray[np.int64]
    weight: NDArray[np.float64]
    built_gbps: NDArray[np.float64]
    arc: NDArray[np.int64]
    bundle: NDArray[np.int32]
    arc_weight: NDArray[np.float64]
    folded: Folded
    alike: NDArray[np.int64] | None = None

    @property
    def n_rows(self) -> int:
        """Relays, out rows and in rows."""
        return self.n_relays + 2 * self.n_parts

    @cached_property
    def unit(self) -> NDArray[np.int64]:
        """Unit of each relay and out row."""
        return np.repeat(np.arange(len(self.unit_start) - 1), np.diff(self.unit_start))

    @cached_property
    def start(self) -> NDArray[np.int64]:
        """Where the bundles of each row start."""
        return np.searchsorted(self.tail, np.arange(self.n_rows + 1))

    @classmethod
    def of(cls, fabric: Fabric, *, state: State | None, routing: Routing) -> Core:
        """The core of a fabric in a state; under path-aware WCMP it keeps what failed, with weight 0.

        :raises InputError: a link of unknown rate.
        """
        weights = LinkWeights.of(fabric, state=state, routing=routing)
        rows = number_rows(weights.network, weights.cost, routing)
        tail, head, entry, arc = rows.entries()
        cost_of, kind = _leaving(*weights.kinds(entry), rows.leave_costs(routing)[tail])
        order = _sorted(tail, head, kind, rows.n_rows)
        tail, head, kind, entry, arc = tail[order], head[order], kind[order], entry[order], arc[order]
        first = _starts(tail, head, kind)
        bundle = np.cumsum(first, dtype=np.int32) - np.int32(1)
        cost = cost_of[kind]
        arc_weight = weights.of_entries(entry, np.cumsum(_starts(tail, head, cost), dtype=np.int64) - 1)
        n_bundles = int(bundle[-1]) + 1 if len(bundle) else 0
        folded, home, goal, inflow = rows.fold(weights)
        return cls(
            network=weights.network,
            node=rows.node,
            n_relays=rows.n_relays,
            n_parts=len(rows.part),
            chip=np.where(rows.is_copy, rows.relay_row[rows.part], -1),
            home=home,
            goal=goal,
            unit_start=rows.unit_start(),
            place=np.concatenate([np.zeros(rows.n_relays, np.int64), rows.place]),
            relays=rows.relays(routing),
            inflow_gbps=inflow if is_path_aware(routing) else np.zeros(rows.n_rows),
            tail=tail[first],
            head=head[first],
            kind=kind[first],
            cost=cost[first],
            weight=np.bincount(bundle, weights=arc_weight, minlength=n_bundles).astype(float),
            built_gbps=np.bincount(bundle, weights=weights.built_gbps[entry], minlength=n_bundles).astype(float),
            arc=arc,
            bundle=bundle,
            arc_weight=arc_weight,
            folded=folded,
        )


@dataclass(frozen=True, eq=False)
class Rows:
    """Numbering of relays and parts of a network; links by what they join (positions in the network's links).

    ``part`` are the nodes of parts and, where ``is_copy``, of chips copied for a host; ``copy_row[i]`` numbers copy i
    among them (-1: left out). ``reached`` are links over which parts are only reached: they send into a copy instead.
    """

    network: Network
    relay_row: NDArray[np.int64]
    n_relays: int
    part: NDArray[np.int64]
    part_row: NDArray[np.int64]
    is_copy: NDArray[np.bool_]
    copy_row: NDArray[np.int64]
    copies: ChipCopies | None
    module: NDArray[np.int64]
    place: NDArray[np.int64]
    between: NDArray[np.int64]
    hanging: NDArray[np.int64]
    access: NDArray[np.int64]
    reached: NDArray[np.int64]
    inner: NDArray[np.int64]
    across: NDArray[np.int64]

    @property
    def n_rows(self) -> int:
        """Relays, out rows and in rows."""
        return self.n_relays + 2 * len(self.part)

    @property
    def node(self) -> NDArray[np.int64]:
        """Node of each row."""
        return np.concatenate([np.flatnonzero(self.relay_row >= 0), self.part, self.part])

    def unit_start(self) -> NDArray[np.int64]:
        """Bounds of the units among relays and out rows."""
        counts = np.bincount(self.module)
        return np.concatenate([np.arange(self.n_relays + 1), self.n_relays + np.cumsum(counts)]).astype(np.int64)

    def relays(self, routing: Routing) -> NDArray[np.bool_]:
        """Which rows pass traffic on; accelerators unless they never relay."""
        passes = passing_parts(self.network, routing)[self.part] | self.is_copy
        return np.concatenate([np.ones(self.n_relays, bool), passes, passes])

    def leave_costs(self, routing: Routing) -> NDArray[np.int64]:
        """What it costs to leave each row besides the link: more than nothing for accelerators that may relay."""
        found = find_relaying(self.network, routing)
        leaves = found.accelerators[self.part] & ~self.is_copy
        parts = [np.where(leaves, cost, 0) for cost in (found.out, found.into)]
        return np.concatenate([np.zeros(self.n_relays, np.int64), *parts])

    def entries(self) -> tuple[Array, Array, Array, Array]:
        """Arcs between rows as (tail row, head row, position of the link, fabric arc)."""
        network, out, into = self.network, self.n_relays + self.part_row, self.n_relays + len(self.part) + self.part_row
        tails, heads, entries, arcs = [], [], [], []

        def add(links: Array, start_a: Array, end_a: Array, start_b: Array, end_b: Array) -> None:
            if not len(links):
                return
            a, b, forth = network.a[links], network.b[links], 2 * network.links[links]
            tails.extend([start_a[a], start_b[b]])
            heads.extend([end_b[b], end_a[a]])
            entries.extend([links, links])
            arcs.extend([forth, forth + 1])

        start, end = (
            np.where(self.relay_row >= 0, self.relay_row, out),
            np.where(self.relay_row >= 0, self.relay_row, into),
        )
        add(self.between, start, end, start, end)
        add(self.access, start, end, start, end)
        add(self.inner, out, out, out, out)
        add(self.inner, into, into, into, into)
        add(self.across, out, into, out, into)
        if self.copies is not None:
            self._add_copies(tails, heads, entries, arcs)
        if not tails:
            none = np.empty(0, np.int32)
            return none, none, np.empty(0, np.int64), np.empty(0, np.int64)
        return (
            np.concatenate(tails).astype(np.int32),
            np.concatenate(heads).astype(np.int32),
            np.concatenate(entries),
            np.concatenate(arcs),
        )

    def _add_copies(self, tails: list[Array], heads: list[Array], entries: list[Array], arcs: list[Array]) -> None:
        network, n_parts = self.network, len(self.part)
        out = np.where(self.part_row >= 0, self.n_relays + self.part_row, -1)
        copy = np.where(self.copy_row >= 0, self.n_relays + self.copy_row, -1)
        assert self.copies is not None
        found = self.copies.entries(network, self.between, self.relay_row, out, copy, n_parts)
        at, to_b = self.reached, self.relay_row[network.a[self.reached]] >= 0
        part, relay = (np.where(to_b, x[at], y[at]) for x, y in ((network.b, network.a), (network.a, network.b)))
        found.append((self.relay_row[relay], out[part] + n_parts, at, 2 * network.links[at] + ~to_b))
        for column, more in zip((tails, heads, entries, arcs), zip(*found, strict=True), strict=True):
            column.extend(more)

    def fold(self, weights: LinkWeights) -> tuple[Folded, Array, Array, Array]:
        """Access arcs of folded endpoints, the rows where every node's traffic starts and ends, and their inflow."""
        network = self.network
        out = np.where(self.part_row >= 0, self.n_relays + self.part_row, -1)
        into = np.where(self.part_row >= 0, out + len(self.part), -1)
        home, goal = (
            np.where(self.relay_row >= 0, self.relay_row, out),
            np.where(self.relay_row >= 0, self.relay_row, into),
        )
        links = self.hanging
        a, b, forth = network.a[links], network.b[links], 2 * network.links[links]
        at_a = self.relay_row[a] < 0
        node, leaf = np.where(at_a, a, b).astype(np.int64), self.relay_row[np.where(at_a, b, a)]
        weight = weights.of_entries(links, node)
        total = np.bincount(node, weights=weight, minlength=len(home))
        inflow = np.bincount(leaf, weights=weights.built_gbps[links], minlength=self.n_rows).astype(float)
        alive = total[node] > 0
        home[node[alive]] = leaf[alive]
        goal[node[alive]] = leaf[alive]
        share = np.where(alive, weight / np.where(alive, total[node], 1.0), 0.0)
        outward = forth + ~at_a
        folded = Folded(
            np.concatenate([outward, outward ^ 1]),
            np.concatenate([node, node]),
            np.repeat([True, False], len(node)),
            np.concatenate([share, share]),
        )
        return folded, home, goal, inflow


def number_rows(network: Network, cost: Array, routing: Routing) -> Rows:
    """Decide which nodes are relays, which endpoints fold into one, and which parts have rows of their own."""
    nodes = network.fabric.nodes
    n, a, b = len(nodes), network.a, network.b
    full = nodes.forwards == FORWARDS_ALL
    useful = full | nodes.is_endpoint | (nodes.forwards != FORWARDS_NOTHING)
    full_a, full_b = full[a], full[b]
    both = full_a & full_b
    between = np.flatnonzero(both)
    rest = np.flatnonzero(~both)
    rest = rest[useful[a[rest]] & useful[b[rest]]]
    mixed = full_a[rest] != full_b[rest]
    access, inside = rest[mixed], rest[~mixed]
    part = np.where(full_a[access], b[access], a[access])
    relay = np.where(full_a[access], a[access], b[access])
    several = _differs(part, relay, n) | _differs(part, cost[access], n)
    several[a[inside]] = several[b[inside]] = True
    host = nodes.host.codes
    own = (host[a[inside]] == host[b[inside]]) & (host[a[inside]] >= 0)
    joined = a[inside][own], b[inside][own]
    copies = ChipCopies.of(network, routing)
    sends = np.ones(len(access), bool)
    if copies is not None:
        several[part[copies.is_copied[relay]]] = True
        joined = np.concatenate([joined[0], copies.part]), np.concatenate([joined[1], n + copies.copy])
        sends = ~np.isin(access, copies.beside[copies.enters])
    single = ~several[part] & nodes.is_endpoint[part]
    n_copies = 0 if copies is None else len(copies.chip)
    ids = np.concatenate([np.flatnonzero(several), n + np.arange(n_copies)])
    rows, module, place = _modules(ids, *joined, np.append(nodes.is_endpoint, np.zeros(n_copies, bool)))
    row_of = np.full(n + n_copies, -1, np.int64)
    row_of[rows] = np.arange(len(rows))
    part_row, copy_row = row_of[:n], row_of[n:]
    if copies is not None:
        rows = np.append(np.arange(n), copies.chip)[rows]
    relay_row = np.full(n, -1, np.int64)
    relay_row[full] = np.arange(int(full.sum()))
    kept = part_row[part] >= 0
    reach = (part_row[a[inside]] >= 0) & (part_row[b[inside]] >= 0)
    return Rows(
        network, relay_row, int(full.sum()), rows, part_row, full[rows], copy_row, copies, module, place, between,
        access[single], access[kept & sends], access[kept & ~sends], inside[own & reach], inside[~own & reach],
    )  # fmt: skip


def _leaving(cost_of: Array, kind: Array, more: Array) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Kinds of entries told apart by what it costs to leave their tails besides, numbered by cost again."""
    if not more.any():
        return cost_of, kind
    code = kind.astype(np.int64) * (int(more.max()) + 1) + more
    _, first, inverse = np.unique(code, return_index=True, return_inverse=True)
    cost = cost_of[kind[first]] + more[first]
    order = np.argsort(cost, kind="stable")
    rank = np.empty(len(order), np.int32)
    rank[order] = np.arange(len(order))
    return cost[order], rank[inverse]


def _differs(owner: Array, value: Array, n: int) -> NDArray[np.bool_]:
    """Which owners have more than one value."""
    last = np.full(n, -1, np.int64)
    last[owner] = value
    several = np.zeros(n, bool)
    several[owner[last[owner] != value]] = True
    return several


def _modules(parts: Array, a: Array, b: Array, is_endpoint: Array) -> tuple[Array, Array, Array]:
    """Parts sorted by the set that links inside their host join them to; sets without an endpoint are left out."""
    if not len(parts):
        none = np.empty(0, np.int64)
        return none, none, none
    index = np.full(len(is_endpoint), -1, np.int64)
    index[parts] = np.arange(len(parts))
    label = np.arange(len(parts))
    if len(a):
        from scipy.sparse import csr_array
        from scipy.sparse.csgraph import connected_components

        joined = csr_array((np.ones(len(a), np.int8), (index[a], index[b])), shape=(len(parts), len(parts)))
        label = connected_components(joined, directed=False)[1].astype(np.int64)
    ends = np.bincount(label, weights=is_endpoint[parts].astype(float)) > 0
    parts, label = parts[ends[label]], label[ends[label]]
    _, first, module = np.unique(label, return_index=True, return_inverse=True)
    module = np.argsort(np.argsort(first))[module]
    order = np.argsort(module, kind="stable")
    parts, module = parts[order], module[order]
    start = np.concatenate([[0], np.cumsum(np.bincount(module))]) if len(module) else np.zeros(1, np.int64)
    return parts.astype(np.int64), module, np.arange(len(parts)) - start[module]


def _sorted(tail: Array, head: Array, kind: Array, n: int) -> Array:
    """Order by tail, then head, then kind, in linear time."""
    if not len(tail):
        return np.empty(0, np.int64)
    n_kinds = int(kind.max()) + 1
    order = grouped_order(kind, n_kinds) if n_kinds > 1 else None
    for key in (head, tail):
        step = grouped_order(key if order is None else key[order], n)
        order = step if order is None else order[step]
    assert order is not None
    return order


def _starts(*keys: Array) -> NDArray[np.bool_]:
    """Where a run of equal keys starts, in sorted arrays."""
    first = np.ones(len(keys[0]), bool)
    if len(first) > 1:
        first[1:] = keys[0][1:] != keys[0][:-1]
        for key in keys[1:]:
            first[1:] |= key[1:] != key[:-1]
    return first
