"""What single members of a class carry, where twins send or receive differently: first hops and last hops.

Through traffic is the same on all members of a class. What a member sends itself differs in its first hop only, what
it receives in its last hop only; both follow from class distances by one small product each.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from topo.routing.columns import Block, Columns
from topo.routing.kernel import Descent, on_path
from topo.table import Array, ranges

__all__ = ["FirstHops", "LastHops"]

_STATES = 1 << 22
_FEW_CELLS = 1 << 20


class FirstHops:
    """Loads that members put on the arcs of their own rows, per unit of weight, added up block by block.

    A relay's own traffic differs from its twins' on its first arcs only; that of a host on all arcs inside it.
    """

    def __init__(self, columns: Columns, home: Array, goal: Array) -> None:
        q, core = columns.quotient, columns.quotient.core
        self.columns = columns
        n_sources = core.n_relays + core.n_parts
        sends, receives = np.zeros(core.n_rows, bool), np.zeros(core.n_rows, bool)
        sends[home], receives[goal] = True, True
        out, into = slice(core.n_relays, n_sources), slice(n_sources, core.n_rows)
        if core.n_parts:
            # All parts of the hosts that send; of those that receive, the parts passed on the way in.
            unit, n_units = core.unit[out], len(core.unit_start) - 1
            sends[out] = _any_in(unit, sends[out], n_units)[unit]
            sends[into] = _any_in(unit, receives[into], n_units)[unit]
        self.rows = np.flatnonzero(sends & (q.size[q.of] > 1))
        of = q.of[self.rows]
        self.start, self.end = columns.arc_start[of], columns.arc_start[of + 1]
        self.width = int((self.end - self.start).max(initial=0))
        self.load = np.zeros((len(self.rows), self.width))

    def add(self, block: Block, home: Array, row: Array, column: Array, gbps: Array) -> None:
        """Add traffic at core rows ``home``, graph rows ``row``, towards columns of the block, to the host's edge."""
        q = self.columns.quotient
        mine = np.flatnonzero(q.size[q.of[home]] > 1)
        held = home[mine], row[mine], column[mine], gbps[mine]
        while len(held[0]):
            self._add_arcs(block, *held)
            held = self._step_inside(block.found, *held)

    def _add_arcs(self, block: Block, home: Array, row: Array, column: Array, gbps: Array) -> None:
        found, n = block.found, len(block.sinks)
        sent = gbps / found.total[row, column]
        key, state = np.unique(row * n + column, return_inverse=True)
        member = np.searchsorted(self.rows, home)
        step = max(_STATES // max(self.width, 1), 1)
        for low in range(0, len(key), step):
            part = np.flatnonzero((state >= low) & (state < low + step)) if len(key) > step else slice(None)
            share = self._shares(found, key[low : low + step] // n, key[low : low + step] % n)
            _add_products(self.load, sent[part], member[part], state[part] - low, share)

    def _shares(self, found: Descent, row: Array, column: Array) -> NDArray[np.float64]:
        """Weight factor of each arc out of some rows, 0 off the shortest paths: (rows, width)."""
        start, end = self.columns.arc_start[row], self.columns.arc_start[row + 1]
        arc = np.minimum(start[:, None] + np.arange(self.width), max(len(found.graph.tail) - 1, 0))
        inside = np.arange(self.width) < (end - start)[:, None]
        return np.where(inside, on_path(found, row[:, None], arc, column[:, None]), 0.0)

    def _step_inside(
        self, found: Descent, home: Array, row: Array, column: Array, gbps: Array
    ) -> tuple[Array, Array, Array, Array]:
        """What is passed on to other parts of the same host, sinks left out."""
        columns, graph = self.columns, found.graph
        core, n_columns = columns.quotient.core, found.level.shape[1]
        part = np.flatnonzero(columns.class_of[row] >= columns.quotient.n_relays)
        start = columns.arc_start[row[part]]
        arc, which = ranges(start, columns.arc_start[row[part] + 1] - start)
        which = part[which]
        inner = columns.inside[arc]
        which, arc = which[inner], arc[inner]
        on = on_path(found, row[which], arc, column[which])
        on[found.level[graph.head[arc], column[which]] == 0] = 0
        which, arc, on = which[on > 0], arc[on > 0], on[on > 0]
        share = gbps[which] * graph.weight[arc] * on / found.total[row[which], column[which]]
        place = np.concatenate([core.place, core.place[core.n_relays :]])
        there = columns.quotient.first[columns.class_of[graph.head[arc]]]
        to = home[which] + place[there] - place[home[which]]
        key = (to * graph.n + graph.head[arc]) * n_columns + column[which]
        key, at = np.unique(key, return_inverse=True)
        rest = key // n_columns
        total = np.bincount(at, weights=share, minlength=len(key)).astype(float)
        return rest // graph.n, rest % graph.n, key % n_columns, total

    def bundle_loads(self, arc_of_bundle: Array) -> tuple[Array, Array]:
        """Bundles that leave these rows, and what was added up on each; ``arc_of_bundle`` are base arcs, -1 none."""
        tail = self.columns.quotient.core.tail
        low, high = np.searchsorted(tail, self.rows), np.searchsorted(tail, self.rows, side="right")
        bundle, member = ranges(low, high - low)
        place = arc_of_bundle[bundle] - self.start[member]
        there = arc_of_bundle[bundle] >= 0
        return bundle[there], self.load[member[there], place[there]]

    def away_loads(self, away: Array) -> tuple[Array, Array]:
        """The same for arcs from copies of chips to hosts without twins, base arcs ``away``, all members together."""
        q, graph = self.columns.quotient, self.columns.graph
        at = np.flatnonzero(away >= 0)
        at = at[(q.size[graph.tail[away[at]]] > 1) & (q.size[graph.head[away[at]]] == 1)]
        together = np.zeros((q.n, self.width))
        np.add.at(together, q.of[self.rows], self.load)
        tail = graph.tail[away[at]]
        return q.away_bundle[at], together[tail, away[at] - self.columns.arc_start[tail]]


class LastHops:
    """Loads on the arcs that enter single members, per unit of weight, added up block by block.

    Members are relays that are sinks, and hosts; what enters a host at one of its parts goes on inside it.
    """

    def __init__(self, columns: Columns, goal: Array) -> None:
        q, core = columns.quotient, columns.quotient.core
        self.columns = columns
        self.units = np.unique(self._unit(goal[q.size[q.of[goal]] > 1]))
        # Arcs into a host are numbered over all its parts.
        order, _ = columns.entries
        order = order[~columns.inside[order]]
        of = columns.graph.head[order]
        group = core.unit[q.first[np.where(columns.is_in_row[of], of - q.n_parts, of)]]
        sort = np.argsort(group, kind="stable")
        self.entry, self.group = order[sort], group[sort]
        begin = np.searchsorted(self.group, self.group)
        self.place = np.zeros(max(columns.n_base, 1), np.int64)
        self.place[self.entry] = np.arange(len(begin)) - begin
        self.width = int(self.place.max(initial=-1)) + 1
        self.arrived = np.zeros((len(self.units), self.width))

    def _unit(self, rows: Array) -> NDArray[np.int64]:
        core = self.columns.quotient.core
        return core.unit[np.where(rows < core.n_relays, rows, rows - core.n_parts)]

    def add(
        self, block: Block, goal: Array, row: Array, column: Array, gbps: Array
    ) -> tuple[Array, Array, Array, Array]:
        """Add traffic that ends at core rows ``goal``, from graph rows ``row``, in columns of the block.

        Returns what came in at parts of hosts that pass it on: (core row, graph row, column, rate).
        """
        q, found = self.columns.quotient, block.found
        mine = np.flatnonzero(q.size[q.of[goal]] > 1)
        none = np.empty(0, np.int64)
        if not len(mine):
            return none, none, none, np.empty(0)
        goal, row, column, gbps = goal[mine], row[mine], column[mine], gbps[mine]
        ends, end = np.unique(goal, return_inverse=True)
        column_of = np.zeros(len(ends), np.int64)
        column_of[end] = column
        into, of = self._entries_in_use(block)
        arrived = np.zeros((len(ends), self.width))
        # Where one arc leads in, all comes over it, but for what starts in the same host.
        only = (np.bincount(of, minlength=len(block.sinks)) == 1)[column]
        only &= ~np.isin(row, self.columns.own[self.columns.own >= 0])
        the_one = np.zeros(len(block.sinks), np.int64)
        the_one[of] = self.place[into]
        np.add.at(arrived, (end[only], the_one[column[only]]), gbps[only])
        rest = np.flatnonzero(~only)
        if len(rest):
            chosen, number = np.unique(column[rest], return_inverse=True)
            key, state = np.unique(number * found.graph.n + row[rest], return_inverse=True)
            share = _arrival_shares(found, chosen, into, of, self.place[into], self.width, key)
            _add_products(arrived, gbps[rest], end[rest], state, share)
        np.add.at(self.arrived, np.searchsorted(self.units, self._unit(ends)), arrived)
        return self._inward(block, ends, column_of, arrived)

    def _inward(self, block: Block, ends: Array, column: Array, arrived: Array) -> tuple[Array, Array, Array, Array]:
        """What arrived at parts that are not the sink themselves."""
        columns, q = self.columns, self.columns.quotient
        core = q.core
        host = np.flatnonzero(~columns.is_alone[block.first + column])
        unit_class = core.unit[q.first[q.of[ends[host]] - q.n_parts]]
        low, high = np.searchsorted(self.group, unit_class), np.searchsorted(self.group, unit_class, side="right")
        at, which = ranges(low, high - low)
        which, arc = host[which], self.entry[at]
        amount, head = arrived[which, self.place[arc]], columns.graph.head[arc]
        used = (amount > 0) & (block.found.level[head, column[which]] > 0)
        which, head, amount = which[used], head[used], amount[used]
        place = core.place[core.n_relays :]
        n_sources = core.n_relays + core.n_parts
        row = ends[which] + place[q.first[head] - n_sources] - place[ends[which] - n_sources]
        return row, head, column[which], amount

    def _entries_in_use(self, block: Block) -> tuple[Array, Array]:
        """Arcs on shortest paths into the sinks of classes with several members, and their column."""
        q, found = self.columns.quotient, block.found
        twinned = np.flatnonzero(q.size[block.sinks] > 1)
        sinks = block.sinks[twinned]
        group = q.core.unit[q.first[np.where(self.columns.is_in_row[sinks], sinks - q.n_parts, sinks)]]
        low, high = np.searchsorted(self.group, group), np.searchsorted(self.group, group, side="right")
        at, which = ranges(low, high - low)
        arc, column = self.entry[at], twinned[which]
        used = on_path(found, found.graph.tail[arc], arc, column) > 0
        return arc[used], column[used]

    def bundle_loads(self, arc_of_bundle: Array) -> tuple[Array, Array]:
        """Bundles that enter these members, and what was added up on each."""
        q, graph = self.columns.quotient, self.columns.graph
        core = q.core
        of_row = self._number_of_row()
        bundle = np.flatnonzero((of_row[core.head] >= 0) & (arc_of_bundle >= 0))
        bundle = bundle[~self.columns.is_in_row[q.of[core.tail[bundle]]]]
        arc = arc_of_bundle[bundle]
        per_weight = q.size[graph.tail[arc]] * graph.weight[arc]
        return bundle, self.arrived[of_row[core.head[bundle]], self.place[arc]] / per_weight

    def away_loads(self, away: Array) -> tuple[Array, Array]:
        """The same for arcs from copies of chips, base arcs ``away``, all senders together."""
        q, graph = self.columns.quotient, self.columns.graph
        of_row = self._number_of_row()
        at = np.flatnonzero(away >= 0)
        at = at[of_row[q.core.head[q.away_bundle[at]]] >= 0]
        arrived = self.arrived[of_row[q.core.head[q.away_bundle[at]]], self.place[away[at]]]
        return q.away_bundle[at], arrived / graph.weight[away[at]]

    def _number_of_row(self) -> NDArray[np.int64]:
        """Row of ``arrived`` for each core row that such members are reached over, -1 for others."""
        core = self.columns.quotient.core
        number = np.full(len(core.unit_start) - 1, -1, np.int64)
        number[self.units] = np.arange(len(self.units))
        of_row = number[self._unit(np.arange(core.n_rows))]
        of_row[core.n_relays : core.n_relays + core.n_parts] = -1
        return of_row


def _any_in(group: Array, flags: Array, n: int) -> NDArray[np.bool_]:
    found = np.zeros(n, bool)
    found[group[flags]] = True
    return found


def _arrival_shares(
    found: Descent, chosen: Array, into: Array, of: Array, place: Array, width: int, wanted: Array
) -> NDArray[np.float64]:
    """Share of what states send to their sink that arrives over each entry: (wanted states, entries).

    A state is a row and one of the ``chosen`` columns: its position there times the rows, plus the row. Entries are
    arcs ``into`` the sink of column ``of`` at number ``place``. Shares spread backwards from the sinks, one step of
    all shortest paths at a time.
    """
    from scipy.sparse import csr_array

    graph = found.graph
    number = np.full(found.level.shape[1], -1, np.int64)
    number[chosen] = np.arange(len(chosen))
    last = number[of] >= 0
    arc, column = into[last], of[last]
    tail = graph.tail[arc]
    n_states = graph.n * len(chosen)
    first = graph.weight[arc] * on_path(found, tail, arc, column) / found.total[tail, column]
    at = number[column] * graph.n + tail, place[last]
    step = _step_matrix(found, chosen, n_states)
    if n_states * width <= _FEW_CELLS:
        dense = np.zeros((n_states, width))
        dense[at] = first
        share = dense[wanted]
        while dense.any():
            dense = step @ dense
            share += dense[wanted]
        return share
    wave = csr_array((first, at), shape=(n_states, width))
    share = wave[wanted].toarray()
    while wave.nnz:
        wave = step @ wave
        share += wave[wanted].toarray()
    return share


def _step_matrix(found: Descent, chosen: Array, n_states: int) -> Any:
    """One step of all shortest paths that does not end at a sink: share of each state's traffic by next state."""
    from scipy.sparse import csr_array

    # Arcs are sorted by tail, so column by column the entries come in order of their states: no sorting.
    graph, heads, values, counts = found.graph, [], [], []
    size = max(_STATES // max(len(graph.tail), 1), 1)
    for low in range(0, len(chosen), size):
        some = chosen[low : low + size]
        on = on_path(found, graph.tail[:, None], np.arange(len(graph.tail))[:, None], some[None, :])
        on[found.level[graph.head][:, some] == 0] = 0
        at, arc = np.nonzero(np.ascontiguousarray(on.T))
        tail, head = graph.tail[arc], graph.head[arc]
        weight = graph.weight[arc] * graph.members[head] * on[arc, at]
        values.append(weight / found.total[tail, some[at]])
        heads.append((at + low) * graph.n + head)
        counts.append(np.bincount(at * graph.n + tail, minlength=len(some) * graph.n))
    start = np.concatenate([[0], np.cumsum(np.concatenate(counts))])
    return csr_array((np.concatenate(values), np.concatenate(heads), start), shape=(n_states, n_states))


def _add_products(into: Array, values: Array, rows: Array, at: Array, shares: Array) -> None:
    """Add values[i] times row at[i] of ``shares`` to row rows[i] of ``into``, for all i."""
    if len(values) * shares.shape[1] <= _FEW_CELLS:
        np.add.at(into, rows, values[:, None] * shares[at])
        return
    from scipy.sparse import csr_array

    into += csr_array((values, (rows, at)), shape=(len(into), len(shares))) @ shares
