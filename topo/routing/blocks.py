"""One block of a demand folded onto columns: rows that weigh the same are labelled alike, so members do not differ."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from topo.routing.columns import Block, Columns
from topo.routing.core import Core
from topo.routing.orbits import Orbits, orbits_of
from topo.routing.passes import Lost, Totals
from topo.routing.scheme import Routing
from topo.routing.twins import Quotient, fold_twins, small_codes
from topo.table import Array, ranges
from topo.traffic.demand import Block as DemandBlock

__all__ = ["BlockPass", "block_pass"]


@dataclass(eq=False)
class BlockPass:
    """A block with the weights that each member of a class sends and receives with.

    With ``orbits`` a column stands for all sinks of its orbit.
    """

    columns: Columns
    block: DemandBlock
    send: NDArray[np.float64]
    receive: NDArray[np.float64]
    orbits: Orbits | None = None
    _lost: dict[bytes, list[int]] = field(default_factory=dict)

    @property
    def is_alike(self) -> bool:
        """Members do not differ."""
        return True

    def start(self) -> None:
        """Nothing is lost yet."""
        self._lost.clear()

    def corrections(self, position: Array) -> Iterator[tuple[Array, Array]]:
        """None."""
        return iter(())

    def fill(self, block: Block) -> NDArray[np.float64]:
        """Demand of all classes towards the classes of the block, all members together."""
        columns, q, sinks = self.columns, self.columns.quotient, block.sinks
        demand = np.zeros(block.found.level.shape)
        demand[: q.n] = np.outer(self.send * q.size, self.receive[sinks] * q.size[sinks] * self.block.gbps)
        column, size = np.arange(len(sinks)), q.size[sinks].astype(float)
        # Towards its own class only the other members send over the network: relays from their shadow.
        each = self.send[sinks] * self.receive[sinks] * self.block.gbps
        shadow = columns.shadow[sinks]
        demand[sinks, column] = 0.0
        demand[shadow[shadow >= 0], column[shadow >= 0]] = (size * (size - 1) * each)[shadow >= 0]
        # Hosts: twins of the sink's host from their main rows, its own parts from own rows.
        rows, at = columns.mates(sinks)
        each = self.send[rows] * self.receive[sinks[at]] * self.block.gbps
        demand[rows, at] = size[at] * (size[at] - 1) * each
        inner = (columns.own[rows] >= 0) & (rows != sinks[at] - q.n_parts)
        demand[columns.own[rows[inner]], at[inner]] = (size[at] * each)[inner]
        lost = (block.found.level < 0) & (demand > 0)
        if lost.any():
            for pattern, sink in zip(np.packbits(lost, axis=0).T, sinks.tolist(), strict=True):
                if pattern.any():
                    self._lost.setdefault(pattern.tobytes(), []).append(sink)
            demand[lost] = 0.0
        if self.orbits is not None:
            demand *= self.orbits.times[block.first : block.first + len(sinks)]
        return demand

    def evened(self, load: Array) -> NDArray[np.float64] | None:
        """Loads of the fabric's arcs; None where pairs without a path have to be named, so orbits do not do."""
        if self.orbits is None:
            return load
        return None if self._lost else self.orbits.evened(load)

    def each_alone(self) -> BlockPass:
        """The pass with a column for every sink."""
        quotient = self.columns.quotient
        columns = Columns.of(quotient, np.flatnonzero(self.receive > 0), self.columns.routing)
        return BlockPass(columns, self.block, self.send, self.receive)

    def finish(self, totals: Totals) -> None:
        """What endpoints send and receive, less what has no path; the lost pairs counted."""
        core, block = self.columns.quotient.core, self.block
        n = len(core.home)
        sends, receives = np.zeros(n), np.zeros(n)
        sends[block.sources], receives[block.sinks] = block.source_weight, block.sink_weight
        totals.sent += sends * (receives.sum() - receives) * block.gbps
        totals.received += receives * (sends.sum() - sends) * block.gbps
        for sources, sinks in self._lost_groups():
            here, there = sends[sources] * block.gbps, receives[sinks]
            both = np.intersect1d(sources, sinks)
            totals.sent[sources] -= here * there.sum()
            totals.received[sinks] -= there * here.sum()
            itself = sends[both] * receives[both] * block.gbps
            totals.sent[both] += itself
            totals.received[both] += itself
            pairs = int((here > 0).sum()) * int((there > 0).sum()) - int((itself > 0).sum())
            gbps = float(here.sum() * there.sum() - itself.sum())
            _count(totals.lost, sources[here > 0], sinks[there > 0], pairs, gbps)

    def _lost_groups(self) -> Iterator[tuple[Array, Array]]:
        """Groups (sources, sinks) of which no pair has a path; a node in both is no pair."""
        columns, q, block = self.columns, self.columns.quotient, self.block
        if not self._lost and (q.core.home[block.sources] >= 0).all() and (q.core.goal[block.sinks] >= 0).all():
            return
        sources, sinks = _ByClass.of(q, q.core.home, block.sources), _ByClass.of(q, q.core.goal, block.sinks)
        if len(sources.cut_off):
            yield sources.cut_off, block.sinks
        if len(sinks.cut_off) and len(sources.nodes):
            yield sources.nodes, sinks.cut_off
        main = np.arange(columns.graph.n)
        for beside in (columns.shadow, columns.own):
            main[beside[beside >= 0]] = np.flatnonzero(beside >= 0)
        for pattern, ends in self._lost.items():
            rows = np.flatnonzero(np.unpackbits(np.frombuffer(pattern, np.uint8), count=len(main)))
            sink = np.array(ends)
            unit_of_row = q.unit[q.first[main[rows]]]
            unit_of_sink = q.unit[q.first[np.where(sink < q.n_relays, sink, sink - q.n_parts)]]
            meets = np.isin(unit_of_row, unit_of_sink)
            yield sources.of_classes(main[rows[~meets]]), sinks.of_classes(sink)
            for row, unit in zip(rows[meets].tolist(), unit_of_row[meets].tolist(), strict=True):
                here, same = sources.of_classes(main[[row]]), unit_of_sink == unit
                yield here, sinks.of_classes(sink[~same])
                for one in sink[same].tolist():
                    own_host = row >= q.n and one >= q.n_relays
                    yield from _within_class(q.core, here, sinks.of_classes(np.array([one])), own_host=own_host)


@dataclass(frozen=True, eq=False)
class _ByClass:
    """Endpoints of a block on one side, sorted by the class of their row; ``cut_off`` have no row."""

    nodes: NDArray[np.int64]
    classes: NDArray[np.int64]
    cut_off: NDArray[np.int64]

    @classmethod
    def of(cls, quotient: Quotient, row_of: Array, nodes: Array) -> _ByClass:
        row = row_of[nodes]
        there, classes = nodes[row >= 0], quotient.of[row[row >= 0]]
        order = np.argsort(classes, kind="stable")
        return cls(there[order], classes[order], nodes[row < 0])

    def of_classes(self, numbers: Array) -> NDArray[np.int64]:
        """The endpoints whose rows are in some classes, by node."""
        low, high = np.searchsorted(self.classes, numbers), np.searchsorted(self.classes, numbers, side="right")
        at, _ = ranges(low, high - low)
        return np.sort(self.nodes[at])


def _within_class(core: Core, sources: Array, sinks: Array, *, own_host: bool) -> Iterator[tuple[Array, Array]]:
    """Groups between members of one class: each to all others, or each inside itself (``own_host``)."""
    unit = core.unit
    row = core.goal[sinks]
    from_unit, to_unit = unit[core.home[sources]], unit[np.where(row < core.n_relays, row, row - core.n_parts)]
    for u in np.unique(from_unit).tolist():
        mine = to_unit == u if own_host else to_unit != u
        if mine.any():
            yield sources[from_unit == u], sinks[mine]


def _count(lost: Lost, sources: Array, sinks: Array, pairs: int, gbps: float) -> None:
    """Count a group of pairs; the first of them by node."""
    few = sources[: lost.room + 1], sinks[: lost.room + 1]
    source, sink = np.repeat(few[0], len(few[1])), np.tile(few[1], len(few[0]))
    other = source != sink
    lost.add(source[other], sink[other], pairs=pairs, gbps=gbps)


def block_pass(core: Core, routing: Routing, block: DemandBlock) -> BlockPass:
    """Fold one block onto columns, one for each class of rows that something is sent to, or for each orbit of them."""
    home, goal = core.home[block.sources], core.goal[block.sinks]
    send, receive = np.zeros(core.n_rows), np.zeros(core.n_rows)
    np.add.at(send, home[home >= 0], block.source_weight[home >= 0])
    np.add.at(receive, goal[goal >= 0], block.sink_weight[goal >= 0])
    n_sources = core.n_relays + core.n_parts
    into = np.concatenate([receive[: core.n_relays], receive[n_sources:]])
    quotient = fold_twins(core, small_codes(send[:n_sources], into))
    send, receive = send[quotient.first], receive[quotient.first]
    sinks = np.flatnonzero(receive > 0)
    orbits = orbits_of(quotient, sinks, block, routing)
    columns = Columns.of(quotient, sinks if orbits is None else orbits.sinks, routing)
    return BlockPass(columns, block, send, receive, orbits)
