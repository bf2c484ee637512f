"""Single pairs folded onto columns: twins there may send and receive unlike each other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from topo.routing.columns import Block, Columns
from topo.routing.core import Core
from topo.routing.members import FirstHops, LastHops
from topo.routing.passes import Totals
from topo.routing.scheme import Routing
from topo.routing.twins import fold_twins
from topo.table import Array, grouped_order

__all__ = ["PairPass", "pair_pass"]


@dataclass(eq=False)
class PairPass:
    """Pairs ``source``, ``sink``, ``gbps``; those in ``routed`` cross rows, sorted by column.

    ``home``, ``goal`` and ``row`` (core row of the source, of the sink, row of the graph it starts from) have one
    entry a routed pair; column c holds entries ``column_start[c]`` up to ``column_start[c + 1]``. ``carried`` marks the
    pairs that have a path.
    """

    columns: Columns
    source: NDArray[np.int64]
    sink: NDArray[np.int64]
    gbps: NDArray[np.float64]
    routed: NDArray[np.int64]
    home: NDArray[np.int64]
    goal: NDArray[np.int64]
    row: NDArray[np.int64]
    column_start: NDArray[np.int64]
    carried: NDArray[np.bool_]
    first_hops: FirstHops
    last_hops: LastHops

    @property
    def is_alike(self) -> bool:
        """Members differ."""
        return False

    def start(self) -> None:
        """Nothing to do."""

    def fill(self, block: Block) -> NDArray[np.float64]:
        """Demand of the pairs whose sink is in the block; those without a path are noted as not carried."""
        n, n_rows = len(block.sinks), self.columns.graph.n
        bounds = self.column_start[block.first : block.first + n + 1]
        low, high = bounds[0], bounds[-1]
        column, row = np.repeat(np.arange(n), np.diff(bounds)), self.row[low:high]
        reached = block.found.level[row, column] >= 0
        self.carried[self.routed[low:high]] = reached
        at = low + np.flatnonzero(reached)
        row, column, gbps = row[reached], column[reached], self.gbps[self.routed[at]]
        self.first_hops.add(block, self.home[at], row, column, gbps)
        self.first_hops.add(block, *self.last_hops.add(block, self.goal[at], row, column, gbps))
        total = np.bincount(row * n + column, weights=gbps, minlength=n_rows * n)
        return total.astype(float).reshape(n_rows, n)

    def corrections(self, position: Array) -> Iterator[tuple[Array, Array]]:
        """First and last hops."""
        q = self.columns.quotient
        arc_of_bundle, away = position[q.arc_of], position[q.away_arc]
        for hops, used in ((self.first_hops, len(self.first_hops.rows)), (self.last_hops, len(self.last_hops.units))):
            if used:
                yield hops.bundle_loads(arc_of_bundle)
                yield hops.away_loads(away)

    def evened(self, load: Array) -> NDArray[np.float64]:
        """As they are."""
        return load

    def each_alone(self) -> PairPass:
        """This."""
        return self

    def finish(self, totals: Totals) -> None:
        """What was carried counts at both ends."""
        gbps = np.where(self.carried, self.gbps, 0.0)
        totals.sent += np.bincount(self.source, weights=gbps, minlength=len(totals.sent))
        totals.received += np.bincount(self.sink, weights=gbps, minlength=len(totals.received))
        off = np.flatnonzero(~self.carried)
        totals.lost.add(self.source[off], self.sink[off], pairs=len(off), gbps=float(self.gbps[off].sum()))


def pair_pass(core: Core, routing: Routing, source: Array, sink: Array, gbps: Array) -> PairPass:
    """Fold single pairs onto columns, one for each class of rows that something is sent to."""
    home, goal = core.home[source], core.goal[sink]
    joined = (home >= 0) & (goal >= 0)
    carried = joined & (home == goal)
    routed = np.flatnonzero(joined & ~carried)
    quotient = fold_twins(core, _kept_apart(core, home[routed], goal[routed]))
    of = quotient.of[goal[routed]]
    there = np.zeros(quotient.n, bool)
    there[of] = True
    sinks, column = np.flatnonzero(there), (np.cumsum(there) - 1)[of]
    order = grouped_order(column, max(len(sinks), 1))
    routed, column = routed[order], column[order]
    home, goal = home[routed], goal[routed]
    columns = Columns.of(quotient, sinks, routing)
    return PairPass(
        columns=columns,
        source=source,
        sink=sink,
        gbps=gbps,
        routed=routed,
        home=home,
        goal=goal,
        row=columns.source_rows(home, goal),
        column_start=np.concatenate([[0], np.cumsum(np.bincount(column, minlength=len(sinks)))]),
        carried=carried,
        first_hops=FirstHops(columns, home, goal),
        last_hops=LastHops(columns, goal),
    )


def _kept_apart(core: Core, home: Array, goal: Array) -> NDArray[np.int64]:
    """Labels that keep apart neighbours that both have traffic of their own: a first hop is then never a last hop."""
    n_sources = core.n_relays + core.n_parts
    busy = np.zeros(core.n_rows, bool)
    busy[home] = busy[goal] = True
    label = np.zeros(n_sources, np.int64)
    joined = np.flatnonzero(busy[core.tail])
    joined = joined[busy[core.head[joined]]]
    tail, head = (np.where(r < n_sources, r, r - core.n_parts) for r in (core.tail[joined], core.head[joined]))
    if core.n_parts:
        unit = core.unit
        apart = unit[tail] != unit[head]
        tail, head = tail[apart], head[apart]
    label[tail], label[head] = tail + 1, head + 1
    return label
