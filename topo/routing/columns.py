"""Destinations as columns of a graph of classes, with the extra rows that traffic between twins starts from.

Towards a destination its own twins are no transit, so their traffic starts from a *shadow* row that nothing enters.
Parts of the destination's own host may also reach it inside the host: they start from *own* rows, where the
destination can be met on the way out. Both have the same arcs as the rows they stand beside.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from topo.errors import ParameterError
from topo.routing.favour import filling, senders
from topo.routing.kernel import Descent, Graph, arrivals, descend
from topo.routing.scheme import Routing
from topo.routing.twins import Quotient
from topo.routing.weights import is_path_aware
from topo.table import Array, ranges

__all__ = ["Block", "Columns", "arc_directions"]

_CELLS = 1 << 21
_CACHED_CELLS = 1 << 18
_FEW_COLUMNS = 32


@dataclass(frozen=True, eq=False)
class Block:
    """Some columns with their descent; ``first`` is the column the block starts at."""

    first: int
    sinks: NDArray[np.int64]
    found: Descent


@dataclass(frozen=True, eq=False)
class Columns:
    """The graph that demand towards ``sinks`` (classes of rows, one column each) is pushed through.

    Arcs of ``graph`` up to ``n_base`` are those of the quotient, arc i its arc ``arc_of[i]``; copies that leave shadow
    and own rows follow. ``shadow[k]`` and ``own[k]`` are the rows beside class k, -1 where there is none.
    """

    quotient: Quotient
    routing: Routing
    sinks: NDArray[np.int64]
    graph: Graph
    arc_of: NDArray[np.int64]
    n_base: int
    shadow: NDArray[np.int64]
    own: NDArray[np.int64]
    built: Graph | None

    @classmethod
    def of(cls, quotient: Quotient, sinks: Array, routing: Routing) -> Columns:
        """Columns for the given classes, sorted.

        :raises ParameterError: up/down routing where endpoints forward themselves: there is no up.
        """
        q = quotient
        way = None
        if routing.up_down:
            _expect_tiers(q)
            way = arc_directions(q)
        shadow, own = np.full(q.n, -1, np.int64), np.full(q.n, -1, np.int64)
        twinned = sinks[(sinks < q.n_relays) & (q.size[sinks] > 1)]
        shadow[twinned] = q.n + np.arange(len(twinned))
        inner = _own_classes(q, sinks)
        own[inner] = q.n + len(twinned) + np.arange(len(inner))
        copy_arc, copy_tail, copy_head = _copies(q, shadow, own)
        arc_of = np.concatenate([np.arange(len(q.tail)), copy_arc])
        tail, head = np.concatenate([q.tail, copy_tail]), np.concatenate([q.head, copy_head])
        passes = q.core.relays[q.first]
        members = np.zeros(q.n + len(twinned) + len(inner))
        members[: q.n] = np.where(np.arange(q.n) < q.n_relays, q.size, passes)
        members[own[inner]] = passes[inner]

        def graph(weight: Array) -> tuple[Graph, Array]:
            used = weight[arc_of] > 0
            if way is not None:
                used &= way[arc_of] != 0
            at = np.flatnonzero(used)
            arcs = arc_of[at]
            up = None if way is None else way[arcs] == 1
            return Graph(len(members), tail[at], head[at], q.cost[arcs], weight[arcs], members, up), arcs

        present, arcs = graph(q.weight)
        built = graph(q.built_gbps)[0] if is_path_aware(routing) else None
        n_base = int((present.tail < q.n).sum())
        return cls(q, routing, sinks, present, arcs, n_base, shadow, own, built)

    @cached_property
    def arc_start(self) -> NDArray[np.int64]:
        """Where the arcs of each row of the graph start; they are sorted by tail, copies in the order of their base."""
        return np.searchsorted(self.graph.tail, np.arange(self.graph.n + 1))

    @cached_property
    def entries(self) -> tuple[Array, Array]:
        """Base arcs sorted by head, and where those into each class start."""
        order = np.argsort(self.graph.head[: self.n_base], kind="stable")
        return order, np.searchsorted(self.graph.head[order], np.arange(self.quotient.n + 1))

    @cached_property
    def class_of(self) -> NDArray[np.int64]:
        """Class of each row of the graph: of shadow and own rows the one they stand beside."""
        of = np.arange(self.graph.n)
        for beside in (self.shadow, self.own):
            of[beside[beside >= 0]] = np.flatnonzero(beside >= 0)
        return of

    @cached_property
    def inside(self) -> NDArray[np.bool_]:
        """Which arcs join parts of one host: every tail has its own head."""
        return self._inside(self.graph)

    @property
    def is_in_row(self) -> NDArray[np.bool_]:
        """Which classes are in rows."""
        return np.arange(self.quotient.n) >= self.quotient.n_relays + self.quotient.n_parts

    @cached_property
    def is_alone(self) -> NDArray[np.bool_]:
        """Which sinks are reached over their own row only: all but parts joined to others inside their host."""
        alone = np.ones(len(self.sinks), bool)
        inside = self.sinks >= self.quotient.n_relays + self.quotient.n_parts
        alone[inside] = self.own[self.sinks[inside] - self.quotient.n_parts] < 0
        return alone

    def source_rows(self, home: Array, goal: Array) -> NDArray[np.int64]:
        """Row that traffic from core row ``home`` to core row ``goal`` starts from."""
        q = self.quotient
        start, end = q.of[home], q.of[goal]
        row = start.copy()
        beside = start == end
        row[beside] = self.shadow[end[beside]]
        part = np.flatnonzero(goal >= q.core.n_relays)
        if len(part):
            same = part[q.unit[home[part]] == q.unit[goal[part] - q.core.n_parts]]
            row[same] = self.own[start[same]]
        return row

    def blocks(self) -> Iterator[Block]:
        """The columns some at a time, with distances and splits; how many depends on the graph alone."""
        n = max(self.graph.n, 1)
        # Blocks that stay in a processor's cache are faster, unless they become so narrow that each arc costs more.
        size = int(np.clip(max(_CACHED_CELLS // n, min(_FEW_COLUMNS, _CELLS // n)), 8, 256))
        n_blocks = max(-(-len(self.sinks) // size), 1)
        size = -(-len(self.sinks) // n_blocks)
        for first in range(0, len(self.sinks), max(size, 1)):
            sinks = self.sinks[first : first + size]
            yield Block(first, sinks, self._descend(first, sinks))

    def _descend(self, first: int, sinks: Array) -> Descent:
        column = np.arange(len(sinks))
        rows, columns = sinks, column
        inside = np.flatnonzero(~self.is_alone[first : first + len(sinks)])
        if len(inside):
            rows = np.concatenate([rows, self.own[sinks[inside] - self.quotient.n_parts]])
            columns = np.concatenate([columns, inside])
        if self.built is None:
            return descend(self.graph, rows, columns, len(sinks))
        room = self._built_inflow(descend(self.built, rows, columns, len(sinks)), sinks)
        return descend(self.graph, rows, columns, len(sinks), favour=filling(room))

    def _built_inflow(self, found: Descent, sinks: Array) -> NDArray[np.float64]:
        """Rate that could come into each row on its shortest paths in the fabric as built, (rows, columns)."""
        q = self.quotient
        sources = np.zeros(found.level.shape)
        sources[: q.n] = np.where(self.is_in_row, 1, q.size)[:, None]
        twinned = np.flatnonzero(self.shadow[sinks] >= 0)
        sources[self.shadow[sinks[twinned]], twinned] = q.size[sinks[twinned]] - 1
        rows, at = self.mates(sinks)
        sources[rows, at] -= 1
        inner = self.own[rows] >= 0
        sources[self.own[rows[inner]], at[inner]] = 1
        inside = self._inside(found.graph)
        total = arrivals(found, sources, _without(found.graph, inside).steps)
        if inside.any():
            is_in = self.class_of >= q.n_relays + q.n_parts
            total += arrivals(found, senders(found, is_in), _without(found.graph, ~inside).steps)
        total[: q.n] += q.core.inflow_gbps[q.first][:, None]
        return total

    @cached_property
    def differs_by_member(self) -> NDArray[np.bool_]:
        """Base arcs that carry nothing but what their host sends or receives, of hosts with twins."""
        q, n = self.quotient, self.n_base
        tail, head = self.graph.tail[:n], self.graph.head[:n]
        found: NDArray[np.bool_] = (tail >= q.n_relays) & (q.size[tail] > 1)
        return found | ((head >= q.n_relays + q.n_parts) & (q.size[head] > 1))

    def _inside(self, graph: Graph) -> NDArray[np.bool_]:
        q = self.quotient
        is_out, is_in = self.class_of >= q.n_relays, self.class_of >= q.n_relays + q.n_parts
        both: NDArray[np.bool_] = (is_out & ~is_in)[graph.tail] & ~is_in[graph.head] & is_out[graph.head]
        return both | is_in[graph.tail]

    def special_arcs(self, block: Block) -> tuple[Array, Array, Array, Array]:
        """Arcs that matter to single columns: (into its sink, column), (out of its shadow or own rows, column)."""
        order, start = self.entries
        column = np.flatnonzero(self.is_alone[block.first : block.first + len(block.sinks)])
        sinks = block.sinks[column]
        at, which = ranges(start[sinks], start[sinks + 1] - start[sinks])
        rows, columns = self._beside(block)
        copies, of = ranges(self.arc_start[rows], self.arc_start[rows + 1] - self.arc_start[rows])
        return order[at], column[which], copies, columns[of]

    def _beside(self, block: Block) -> tuple[Array, Array]:
        """Shadow and own rows of a block with the column they matter to."""
        twinned = np.flatnonzero(self.shadow[block.sinks] >= 0)
        mates, at = self.mates(block.sinks)
        inner = self.own[mates] >= 0
        rows = np.concatenate([self.shadow[block.sinks[twinned]], self.own[mates[inner]]])
        return rows, np.concatenate([twinned, at[inner]])

    def mates(self, sinks: Array) -> tuple[Array, Array]:
        """Out classes of the hosts that sinks are parts of, as (class, position in ``sinks``)."""
        q = self.quotient
        unit = q.unit[q.first[q.n_relays : q.n_relays + q.n_parts]]
        part = np.flatnonzero(sinks >= q.n_relays + q.n_parts)
        mine = unit[sinks[part] - q.n_parts - q.n_relays]
        low, high = np.searchsorted(unit, mine), np.searchsorted(unit, mine, side="right")
        at, which = ranges(low, high - low)
        return q.n_relays + at, part[which]


def _own_classes(q: Quotient, sinks: Array) -> Array:
    """Out classes of hosts whose parts are joined, where one of them is a sink."""
    n_sources = q.n_relays + q.n_parts
    unit = q.unit[q.first[:n_sources]]
    rows_of = np.diff(q.core.unit_start)
    wanted = np.zeros(len(rows_of), bool)
    wanted[unit[sinks[sinks >= n_sources] - q.n_parts]] = True
    wanted &= rows_of > 1
    out: Array = q.n_relays + np.flatnonzero(wanted[unit[q.n_relays :]])
    return out


def _copies(q: Quotient, shadow: Array, own: Array) -> tuple[Array, Array, Array]:
    """Arcs out of shadow and own rows: (arc copied, tail, head)."""
    beside = np.flatnonzero(shadow[q.tail] >= 0)
    inner = np.flatnonzero((own[q.tail] >= 0) & ~q.between_twins)
    inner_head = np.where(own[q.head[inner]] >= 0, own[q.head[inner]], q.head[inner])
    arcs = np.concatenate([beside, inner])
    return (
        arcs,
        np.concatenate([shadow[q.tail[beside]], own[q.tail[inner]]]),
        np.concatenate([q.head[beside], inner_head]),
    )


def arc_directions(q: Quotient) -> NDArray[np.int8]:
    """1 for arcs of a quotient that go up a tier, -1 down, 0 within one; hosts are below everything."""
    core = q.core
    tier = core.network.fabric.nodes.tier[core.node[q.first]].astype(np.int64)
    way = np.sign(tier[q.head] - tier[q.tail])
    n_sources = q.n_relays + q.n_parts
    leaving, entering = (q.tail >= q.n_relays) & (q.tail < n_sources), q.head >= n_sources
    return np.where(entering, -1, np.where(leaving, 1, way)).astype(np.int8)


def _expect_tiers(q: Quotient) -> None:
    nodes, core = q.core.network.fabric.nodes, q.core
    relaying = np.flatnonzero(nodes.is_endpoint[core.node[: core.n_relays]])
    if relaying.size:
        name = str(nodes.name[core.node[relaying[0]]])
        raise ParameterError(
            f"up/down routing needs switches above the endpoints, but {name!r} forwards for others itself"
        )


def _without(graph: Graph, arcs: Array) -> Graph:
    if not arcs.any():
        return graph
    keep = ~arcs
    up = None if graph.up is None else graph.up[keep]
    return Graph(graph.n, graph.tail[keep], graph.head[keep], graph.cost[keep], graph.weight[keep], graph.members, up)
