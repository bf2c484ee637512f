"""Distances, splits and loads towards many destinations at once, one column each, as masked sparse products.

Towards its destination a row sends what it holds over every arc that lies on a shortest path, in proportion to the
weights. Distances D and total weights C come out of one backward pass, level by level (Dial's algorithm, so whole
costs come free); what every row sends per unit of weight, Y, out of one forward pass; loads out of one product an arc.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topo.table import Array

__all__ = ["Descent", "Graph", "Steps", "arc_sums", "arrivals", "descend", "on_path", "push", "spread"]

_CHUNK = 1 << 16
_SMALL = 1 << 18
_CELLS = 1 << 22
_FAR = 120
_FAR_WIDE = 30_000


@dataclass(frozen=True, eq=False)
class Steps:
    """Arcs of one cost, and one direction where that matters: ``out`` is (rows, rows), ``into`` its transpose."""

    cost: int
    up: bool
    out: Any
    into: Any


@dataclass(frozen=True, eq=False)
class Graph:
    """Weighted arcs between ``n`` rows; a flow may pass through ``members[r]`` members of row r (0: it relays nothing).

    Arcs are sorted by tail.
    ``up`` says which arcs go up, under up/down routing; None elsewhere.
    """

    n: int
    tail: NDArray[np.int64]
    head: NDArray[np.int64]
    cost: NDArray[np.int64]
    weight: NDArray[np.float64]
    members: NDArray[np.float64]
    up: NDArray[np.bool_] | None = None

    @cached_property
    def steps(self) -> list[Steps]:
        """The arcs by cost and direction."""
        from scipy.sparse import csr_array

        up = np.zeros(len(self.tail), bool) if self.up is None else self.up
        found = []
        costs = np.flatnonzero(np.bincount(self.cost)).tolist()
        for cost in costs:
            for upward in (False, True) if self.up is not None else (False,):
                whole = len(costs) == 1 and self.up is None
                mine = slice(None) if whole else np.flatnonzero((self.cost == cost) & (up == upward))
                tail = self.tail[mine]
                if len(tail):
                    start = np.searchsorted(tail, np.arange(self.n + 1))
                    out = csr_array((self.weight[mine], self.head[mine], start), shape=(self.n, self.n))
                    found.append(Steps(cost, upward, out, out.T.tocsr()))
        return found


@dataclass(frozen=True, eq=False)
class Descent:
    """Distances and splits of a block: ``level`` D (-1 unreached), ``total`` C, both (rows, columns).

    ``rows_at[l]`` are the rows with a column at level l. ``below`` marks what has a way down, under up/down.
    ``favour`` is the factor on the weight of arcs into a row, under path-aware weights.
    """

    graph: Graph
    level: NDArray[Any]
    total: NDArray[np.float64]
    rows_at: dict[int, NDArray[np.int64]]
    below: NDArray[np.bool_] | None = None
    favour: NDArray[np.float64] | None = None
    _narrow: dict[str, Array] = field(default_factory=dict)

    def factor(self, rows: Array | slice, level: int) -> Array:
        """Members times favour of rows that stand at a level, (rows, columns) or (rows, 1)."""
        members = self.graph.members[rows, None]
        members = np.ones_like(members) if level == 0 else members
        return members if self.favour is None else members * self.favour[rows]

    @cached_property
    def _levels(self) -> tuple[Array, Array]:
        """Levels in the narrowest type that holds them: as tails (-1 unreached), as heads (far where barred)."""
        top = max(self.rows_at, default=0) + int(self.graph.cost.max(initial=1))
        kind, far = (np.int8, _FAR) if top < _FAR else (np.int16, _FAR_WIDE) if top < _FAR_WIDE else (np.int32, 1 << 29)
        tails = self.level.astype(kind)
        barred = (self.level < 0) | ((self.graph.members == 0)[:, None] & (self.level > 0))
        heads = tails.copy()
        heads[barred] = far
        return tails, heads

    def ends(self, up: bool) -> tuple[Array, Array]:
        """Levels of tails and heads such that an arc is on a shortest path where they differ by its cost."""
        tails, heads = self._levels
        if self.below is None:
            return tails, heads
        key = "up" if up else "down"
        if key not in self._narrow:
            far = heads.dtype.type(np.iinfo(heads.dtype).max)
            tails = np.where(self.below != up, tails, heads.dtype.type(-1))
            if not up:
                heads = np.where(self.below, heads, far)
            self._narrow[key] = np.stack([tails, heads])
        tails, heads = self._narrow[key]
        return tails, heads


def descend(
    graph: Graph,
    seed_row: Array,
    seed_column: Array,
    n_columns: int,
    *,
    favour: Callable[[Array, Array], Array] | None = None,
) -> Descent:
    """Distances and next-hop weights towards sinks: seed i makes row ``seed_row[i]`` a sink of its column.

    ``favour(rows, totals)`` gives the factor on arcs into rows just settled, from their total weights.
    """
    # No distance is beyond every row at the greatest cost.
    narrow = (graph.n + 1) * int(graph.cost.max(initial=1)) < _FAR_WIDE
    level = np.full((graph.n, n_columns), -1, np.int16 if narrow else np.int32)
    total = np.zeros((graph.n, n_columns))
    factor = None if favour is None else np.ones((graph.n, n_columns))
    level[seed_row, seed_column] = 0
    found = Descent(graph, level, total, {0: np.unique(seed_row)}, None, factor)
    if graph.up is None and favour is None and len(graph.tail) and int(graph.cost.min()) == int(graph.cost.max()):
        _settle_alike(found, seed_row, seed_column)
        return found
    if graph.up is None:
        _settle(found, graph.steps, [0], favour)
        return found
    _settle(found, [s for s in graph.steps if not s.up], [0], favour)
    below = level >= 0
    _settle(found, [s for s in graph.steps if s.up], sorted(found.rows_at), favour)
    return Descent(graph, level, total, found.rows_at, below, factor)


def _settle(
    found: Descent, steps: list[Steps], levels: Iterable[int], favour: Callable[[Array, Array], Array] | None
) -> None:
    """Dial's search outwards from everything at ``levels``; what is settled already does not change."""
    level, total, rows_at = found.level, found.total, found.rows_at
    costs = sorted({s.cost for s in steps})
    pending = {at + cost for at in levels for cost in costs}
    while pending:
        at = min(pending)
        pending.discard(at)
        found_here = None
        for step in steps:
            rows = rows_at.get(at - step.cost)
            if rows is None:
                continue
            there = (level[rows] == at - step.cost) * found.factor(rows, at - step.cost)
            found_here = _added(found_here, spread(step.into, step.out, rows, there))
        if found_here is None:
            continue
        touched, weight = found_here
        new = (weight > 0) & (level[touched] < 0)
        settled = np.flatnonzero(new.any(axis=1))
        if not len(settled):
            continue
        rows, new = settled if isinstance(touched, slice) else touched[settled], new[settled]
        level[rows] = np.where(new, level.dtype.type(at), level[rows])
        total[rows] += np.where(new, weight[settled], 0.0)
        if favour is not None and found.favour is not None:
            found.favour[rows] = np.where(new, favour(rows, total[rows]), found.favour[rows])
        rows_at[at] = np.union1d(rows_at[at], rows) if at in rows_at else rows
        pending |= {at + cost for cost in costs}


def _settle_alike(found: Descent, seed_row: Array, seed_column: Array) -> None:
    """The same where all arcs cost alike: levels by sets of columns as bits, then all total weights at once."""
    graph, level = found.graph, found.level
    n, n_columns = level.shape
    cost = int(graph.cost[0])
    words = np.zeros((n, -(-n_columns // 64)), "<u8")
    bits = np.uint64(1) << (seed_column % 64).astype(np.uint64)
    np.bitwise_or.at(words, (seed_row, seed_column // 64), bits)
    begin = np.searchsorted(graph.tail, np.arange(n + 1))
    tails = np.flatnonzero(np.diff(begin))
    reached, at = words.copy(), 0
    while True:
        at += cost
        ahead = np.zeros_like(words)
        ahead[tails] = np.bitwise_or.reduceat(words[graph.head], begin[tails], axis=0)
        words = ahead & ~reached
        rows = np.flatnonzero(words.any(axis=1))
        if not len(rows):
            break
        reached |= words
        new = np.unpackbits(words[rows].view(np.uint8), axis=1, count=n_columns, bitorder="little").view(bool)
        level[rows] = np.where(new, level.dtype.type(at), level[rows])
        found.rows_at[at] = rows
        words[graph.members == 0] = 0
    _total_alike(found, begin, cost)


def _total_alike(found: Descent, begin: Array, cost: int) -> None:
    """Total weights from the levels: of each row the sum over its arcs on shortest paths, sinks counted once."""
    from scipy.sparse import csr_array

    graph = found.graph
    n, n_arcs = graph.n, len(graph.tail)
    tails, heads = found.ends(False)
    shape = (n, n_arcs)
    through = csr_array((graph.weight * graph.members[graph.head], np.arange(n_arcs), begin), shape=shape)
    last = csr_array((graph.weight, np.arange(n_arcs), begin), shape=shape)
    is_plain = bool((graph.members[graph.head] == 1).all())
    step = max(_CELLS // n_arcs, 1)
    for low in range(0, found.level.shape[1], step):
        part = slice(low, low + step)
        used = (tails[graph.tail, part] - heads[graph.head, part] == tails.dtype.type(cost)).astype(float)
        found.total[:, part] = through @ used
        if not is_plain:
            found.total[:, part] = np.where(found.level[:, part] == cost, last @ used, found.total[:, part])


def push(found: Descent, demand: Array) -> NDArray[np.float64]:
    """What every row sends per unit of weight when ``demand`` (rows, columns) goes to the sinks.

    That is its own demand and its transit together, over its total weight.
    """
    held, sent = demand.copy(), np.zeros_like(demand)
    live = np.asarray(demand.any(axis=1))
    for at in sorted(found.rows_at, reverse=True):
        if at == 0:
            break
        rows = found.rows_at[at]
        rows = rows[live[rows]]
        if not len(rows):
            continue
        here = found.level[rows] == at
        flow = np.divide(held[rows], found.total[rows], out=np.zeros((len(rows), held.shape[1])), where=here)
        sent[rows] += flow
        for step in found.graph.steps:
            if step.cost < at:
                _carry(found, step, at, rows, flow, held, live)
    return sent


def _carry(found: Descent, step: Steps, at: int, rows: Array, flow: Array, held: Array, live: Array) -> None:
    """Move what rows at a level send over arcs of one kind to the rows these lead to, which then are ``live``."""
    if at - step.cost not in found.rows_at:
        return
    if found.below is not None:
        flow = np.where(found.below[rows] != step.up, flow, 0.0)
    targets, sums = spread(step.out, step.into, rows, flow)
    there = found.level[targets] == at - step.cost
    if found.below is not None and not step.up:
        there &= found.below[targets]
    sums *= there
    if not isinstance(targets, slice):
        some = np.flatnonzero(sums.any(axis=1))
        targets, sums = targets[some], sums[some]
    if at > step.cost:
        sums *= found.factor(targets, at - step.cost)
    held[targets] += sums
    live[targets] = True


def arrivals(found: Descent, sources: Array, steps: list[Steps]) -> NDArray[np.float64]:
    """For each row the sum, over arcs of ``steps`` into it on shortest paths, weight times the tail's ``sources``."""
    result = np.zeros(found.level.shape)
    for at, rows in found.rows_at.items():
        flow = np.where(found.level[rows] == at, sources[rows], 0.0)
        for step in steps:
            if found.below is not None:
                mine = np.where(found.below[rows] != step.up, flow, 0.0)
            else:
                mine = flow
            targets, sums = spread(step.out, step.into, rows, mine)
            there = found.level[targets] == at - step.cost
            if found.below is not None and not step.up:
                there &= found.below[targets]
            result[targets] += np.where(there, sums, 0.0)
    return result


def arc_sums(found: Descent, sent: Array, heads_barred: tuple[Array, Array], arcs: Array) -> NDArray[np.float64]:
    """Load per unit of weight of each arc in ``arcs``, over all columns: sum of sent[tail] on shortest paths.

    ``heads_barred`` are (row, column) index arrays whose arcs are summed elsewhere: the sinks.
    """
    result = np.zeros(len(arcs))
    live = np.asarray(sent.any(axis=1))
    for mine, up in _directions(found.graph, arcs):
        mine = mine[live[found.graph.tail[arcs[mine]]]]
        tails, heads = found.ends(up)
        heads = heads.copy()
        heads[heads_barred[0], heads_barred[1]] = np.iinfo(heads.dtype).max
        for part in _chunks(mine, sent.shape[1]):
            at = arcs[part]
            tail, head = found.graph.tail[at], found.graph.head[at]
            cost = found.graph.cost[at].astype(heads.dtype)
            used = (tails[tail] - heads[head]) == cost[:, None]
            weight = used.astype(float) if found.favour is None else used * found.favour[head]
            result[part] = np.vecdot(sent[tail], weight)
    return result


def on_path(found: Descent, row: Array, arc: Array, column: Array) -> NDArray[np.float64]:
    """Weight factor of arcs as if they left ``row``, 0 where they are on no shortest path."""
    graph = found.graph
    cost, head = graph.cost[arc], graph.head[arc]
    value = np.zeros(np.broadcast_shapes(row.shape, arc.shape, column.shape))
    for upward in (False, True) if graph.up is not None else (False,):
        tails, heads = found.ends(upward)
        on = tails[row, column].astype(np.int64) - heads[head, column] == cost
        value += on if graph.up is None else on & (graph.up[arc] == upward)
    return value if found.favour is None else value * found.favour[head, column]


def _directions(graph: Graph, arcs: Array) -> Iterator[tuple[Array, bool]]:
    if graph.up is None:
        yield np.arange(len(arcs)), False
        return
    for upward in (False, True):
        yield np.flatnonzero(graph.up[arcs] == upward), upward


def _chunks(positions: Array, n_columns: int) -> Iterator[Array]:
    size = max(_CHUNK // max(n_columns, 1), 1)
    for start in range(0, len(positions), size):
        yield positions[start : start + size]


def spread(matrix: Any, transposed: Any, rows: Array, values: Array) -> tuple[Array | slice, Array]:
    """``matrix[rows].T @ values`` on the rows it touches, as (touched, sums); ``transposed`` is matrix.T, by rows.

    Where it may touch all, ``touched`` is a slice of them.
    """
    n = matrix.shape[0]
    if 2 * len(rows) > n or matrix.nnz * values.shape[1] < _SMALL:
        full = np.zeros((n, values.shape[1]))
        full[rows] = values
        return slice(0, n), transposed @ full
    # By hand: taking rows of a sparse matrix costs more than the product here.
    start = matrix.indptr[rows].astype(np.int64)
    count = matrix.indptr[rows + 1] - start
    bounds = np.concatenate([[0], np.cumsum(count)])
    at = np.arange(bounds[-1]) + np.repeat(start - bounds[:-1], count)
    indices = matrix.indices[at]
    mark = np.zeros(n, bool)
    mark[indices] = True
    touched = np.flatnonzero(mark)
    place = np.cumsum(mark) - 1
    from scipy.sparse import csc_array

    small = csc_array((matrix.data[at], place[indices], bounds), shape=(len(touched), len(rows)))
    return touched, small @ values


def _added(
    before: tuple[Array | slice, Array] | None, more: tuple[Array | slice, Array]
) -> tuple[Array | slice, Array]:
    """Sum of two sparse stacks of dense rows."""
    if before is None:
        return more
    (rows, values), (more_rows, more_values) = before, more
    if isinstance(more_rows, slice):
        (rows, values), (more_rows, more_values) = more, before
    if isinstance(rows, slice) or isinstance(more_rows, slice):
        values[more_rows] += more_values
        return rows, values
    both = np.union1d(rows, more_rows)
    total = np.zeros((len(both), values.shape[1]))
    total[np.searchsorted(both, rows)] += values
    total[np.searchsorted(both, more_rows)] += more_values
    return both, total
