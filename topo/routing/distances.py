"""Least costs over relays to many destinations at once: Dial's algorithm with one column a destination."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from topo.routing.arcs import Arcs
from topo.table import Array

__all__ = ["Reached", "RelayGraph", "Seeds", "least_costs"]


@dataclass(frozen=True, eq=False)
class RelayGraph:
    """Hops between relays, sorted by tail, head, cost, arc: those of row u are ``start[u]`` to ``start[u + 1]``.

    ``climbs`` is +1 for a hop to a higher tier, -1 to a lower, 0 inside a tier.
    """

    n_rows: int
    tail: NDArray[np.int64]
    head: NDArray[np.int64]
    cost: NDArray[np.int64]
    arc: NDArray[np.int64]
    climbs: NDArray[np.int8]
    start: NDArray[np.int64]

    @classmethod
    def of(cls, core: Arcs, tier: Array) -> RelayGraph:
        """The hops over ``core`` arcs between rows with their ``tier``."""
        tail, head, arc, cost = core.take(np.lexsort((core.arc, core.cost, core.head, core.tail)))
        height = tier.astype(np.int16)
        return cls(
            n_rows=len(tier),
            tail=tail,
            head=head,
            cost=cost,
            arc=arc,
            climbs=np.sign(height[head] - height[tail]).astype(np.int8),
            start=np.searchsorted(tail, np.arange(len(tier) + 1)),
        )

    @property
    def degree(self) -> NDArray[np.int64]:
        """Hops that leave each row."""
        return np.diff(self.start)


class Seeds(NamedTuple):
    """Where destinations hang: destination ``column`` is reached from relay ``row`` at ``cost``, sorted by column."""

    row: NDArray[np.int64]
    cost: NDArray[np.int64]
    column: NDArray[np.int64]

    def block(self, low: int, high: int) -> Seeds:
        """Those of columns low .. high - 1, numbered from 0."""
        a, b = np.searchsorted(self.column, [low, high])
        return Seeds(self.row[a:b], self.cost[a:b], self.column[a:b] - low)


class Reached(NamedTuple):
    """``cost`` (rows x columns), ``far`` where there is no path; ``is_down``: a downward path leads there (up/down)."""

    cost: NDArray[Any]
    far: int
    is_down: NDArray[np.bool_] | None


def least_costs(graph: RelayGraph, seeds: Seeds, n_columns: int, *, up_down: bool = False) -> Reached:
    """Least cost from every row to every destination.

    With ``up_down`` a row with a downward path counts only its downward paths; any other goes up at the least cost
    plus what the row above counts.
    """
    largest = int(graph.cost.max(initial=1)) * graph.n_rows + int(seeds.cost.max(initial=0))
    dtype, far = (np.int16, 32_767) if largest < 30_000 else (np.int32, 2**30)
    cost = np.full((graph.n_rows, n_columns), far, dtype)
    np.minimum.at(cost, (seeds.row, seeds.column), seeds.cost.astype(dtype))
    if not up_down:
        _settle(cost, far, _hops(graph, np.ones(len(graph.tail), bool)), None)
        return Reached(cost, far, None)
    _settle(cost, far, _hops(graph, graph.climbs < 0), None)
    is_down: NDArray[np.bool_] = cost < far
    _settle(cost, far, _hops(graph, graph.climbs > 0), is_down)
    return Reached(cost, far, is_down)


def _hops(graph: RelayGraph, mask: Array) -> list[tuple[int, Any]]:
    """For each link cost the matrix heads x tails, by columns of heads."""
    from scipy.sparse import csr_array

    shape = (graph.n_rows, graph.n_rows)
    found = []
    for cost in np.unique(graph.cost[mask]).tolist():
        mine = mask & (graph.cost == cost)
        matrix = csr_array((np.ones(int(mine.sum()), np.float32), (graph.head[mine], graph.tail[mine])), shape=shape)
        found.append((cost, matrix))
    return found


def _settle(cost: NDArray[Any], far: int, hops: list[tuple[int, Any]], fixed: Array | None) -> None:
    """Lower costs level by level until none falls; entries that are ``fixed`` stay."""
    pending = set(np.unique(cost).tolist()) - {far}
    while pending:
        level = min(pending)
        pending.remove(level)
        rows = np.flatnonzero((cost == level).any(axis=1))
        front = (cost[rows] == level).astype(np.float32)
        for step, matrix in hops:
            part = matrix[rows]
            touched = np.unique(part.indices)
            reach = (part[:, touched].T @ front) > 0
            nearer = reach & (cost[touched] > level + step)
            if fixed is not None:
                nearer &= ~fixed[touched]
            if nearer.any():
                kept = cost[touched]
                kept[nearer] = level + step
                cost[touched] = kept
                pending.add(level + step)
