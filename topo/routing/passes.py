"""One pass of a demand through the columns, whatever the demand is: loads of arcs, what was carried, what was lost."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from topo.routing.columns import Block, Columns
from topo.routing.core import Core
from topo.routing.kernel import arc_sums, on_path, push
from topo.table import Array

__all__ = ["Lost", "Pass", "Totals"]

_EXAMPLES = 1000


@dataclass(eq=False)
class Lost:
    """Pairs without a path: how many, how much, and the first thousand."""

    pairs: int = 0
    gbps: float = 0.0
    _source: list[Array] = field(default_factory=list)
    _sink: list[Array] = field(default_factory=list)

    def add(self, source: Array, sink: Array, *, pairs: int, gbps: float) -> None:
        """Count ``pairs`` and keep those given by node, as far as there is room."""
        self.pairs += pairs
        self.gbps += gbps
        self._source.append(source[: self.room])
        self._sink.append(sink[: len(self._source[-1])])

    @property
    def room(self) -> int:
        """How many more are kept."""
        return max(_EXAMPLES - sum(map(len, self._source)), 0)

    def examples(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The pairs kept."""
        none = np.empty(0, np.int64)
        return np.concatenate([none, *self._source]), np.concatenate([none, *self._sink])


class Pass(Protocol):
    """A demand folded onto columns."""

    @property
    def columns(self) -> Columns:
        """The columns its sinks are."""

    @property
    def is_alike(self) -> bool:
        """Whether members of a class send and receive alike."""

    def start(self) -> None:
        """Called before the first block."""

    def fill(self, block: Block) -> NDArray[np.float64]:
        """Demand at every row of the graph (rows, columns of the block), what has no path left out and noted."""

    def corrections(self, position: Array) -> Iterator[tuple[Array, Array]]:
        """Bundles whose load differs between members, and by how much (some twice: by so much together).

        ``position`` are base arcs of the graph by arc of the quotient, -1 where there is none.
        """

    def evened(self, load: Array) -> NDArray[np.float64] | None:
        """Loads of the fabric's arcs from what the columns gave; None where ``each_alone`` is to be run instead."""

    def each_alone(self) -> Pass:
        """The pass with a column for every sink."""

    def finish(self, totals: Totals) -> None:
        """Add what endpoints sent and received, and what was lost."""


@dataclass(eq=False)
class Totals:
    """Sums over passes: loads of arcs, rates that each node sent and received, pairs without a path."""

    load: NDArray[np.float64]
    sent: NDArray[np.float64]
    received: NDArray[np.float64]
    lost: Lost

    @classmethod
    def of(cls, core: Core) -> Totals:
        """Nothing yet."""
        n, n_links = len(core.home), len(core.network.fabric.links)
        return cls(np.zeros(2 * n_links), np.zeros(n), np.zeros(n), Lost())

    def take(self, work: Pass) -> None:
        """Run a pass and add what it gives."""
        core = work.columns.quotient.core
        per_weight = _bundle_loads(work)
        weights = per_weight[core.bundle] * core.arc_weight
        load = work.evened(np.bincount(core.arc, weights=weights, minlength=len(self.load)).astype(float))
        if load is None:
            self.take(work.each_alone())
            return
        self.load += load
        work.finish(self)

    def with_access(self, core: Core) -> NDArray[np.float64]:
        """Loads of arcs, those of folded endpoints' own links included."""
        folded = core.folded
        at_end = np.where(folded.out, self.sent[folded.node], self.received[folded.node])
        access = np.bincount(folded.arc, weights=folded.share * at_end, minlength=len(self.load))
        total: NDArray[np.float64] = self.load + access
        return total


def _bundle_loads(work: Pass) -> NDArray[np.float64]:
    """Load per unit of weight of every bundle.

    Over an arc goes through traffic, the same on all bundles of the arc, and traffic into a sink, which all columns
    of the sink's class share out among its members. What members send and receive unlike each other is added last.
    """
    columns = work.columns
    q = columns.quotient
    through, into_sink = np.zeros(len(q.tail)), np.zeros(len(q.tail))
    work.start()
    for block in columns.blocks():
        _add_block(work, block, through, into_sink)
    # Each member of an in row's class is entered by its own column's share; from in rows on, hosts are apart.
    enters = columns.is_in_row[q.head] & ~columns.is_in_row[q.tail]
    per_arc = through / (q.size[q.tail] * np.where(enters, q.size[q.head] - q.between_twins, 1))
    per_arc += into_sink / (q.size[q.tail] * (q.size[q.head] if work.is_alike else 1))
    load: NDArray[np.float64] = per_arc[q.arc_of]
    position = np.full(len(q.tail), -1, np.int64)
    position[columns.arc_of[: columns.n_base]] = np.arange(columns.n_base)
    away = [(q.away_bundle, per_arc[q.away_arc] * q.away_members)] if len(q.away_arc) else []
    for bundle, extra in (*away, *work.corrections(position)):
        load += np.bincount(bundle, weights=extra, minlength=len(load))
    return load


def _add_block(work: Pass, block: Block, through: Array, into_sink: Array) -> None:
    """Add one block's loads by arc of the quotient: ``through`` (classes together), ``into_sink``."""
    columns, found = work.columns, block.found
    q, base = columns.quotient, np.arange(columns.n_base)
    if not work.is_alike:
        base = base[~columns.differs_by_member]
    demand = work.fill(block)
    own = None if work.is_alike else _own_part(columns, block, demand)
    sent = push(found, demand)
    sinks, sink_columns, copies, copy_columns = columns.special_arcs(block)
    if own is not None:
        # First and last hops of members that differ are added by member.
        kept = q.size[q.tail[columns.arc_of[copies]]] == 1
        copies, copy_columns = copies[kept], copy_columns[kept]
        kept = q.size[block.sinks[sink_columns]] == 1
        sinks, sink_columns = sinks[kept], sink_columns[kept]
    for arcs, at, total in ((copies, copy_columns, through), (sinks, sink_columns, into_sink)):
        load = on_path(found, found.graph.tail[arcs], arcs, at) * sent[found.graph.tail[arcs], at]
        total += np.bincount(columns.arc_of[arcs], weights=load, minlength=len(total))
    if own is not None:
        sent[: q.n] -= own
    alone = np.flatnonzero(columns.is_alone[block.first : block.first + len(block.sinks)])
    sums = arc_sums(found, sent, (block.sinks[alone], alone), base)
    through[columns.arc_of[base]] += sums


def _own_part(columns: Columns, block: Block, demand: Array) -> NDArray[np.float64]:
    """What classes of several members send of their own, per unit of weight."""
    q = columns.quotient
    own = np.zeros((q.n, demand.shape[1]))
    rows = np.flatnonzero((q.size > 1) & demand[: q.n].any(axis=1))
    total = block.found.total[rows]
    own[rows] = np.divide(demand[rows], total, out=np.zeros_like(total), where=total > 0)
    return own
