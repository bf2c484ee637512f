"""How much of a flow goes down a tier and then up again: what shortest paths do where a Clos is broken."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topo.routing.columns import Columns, arc_directions
from topo.routing.kernel import Descent, spread
from topo.routing.passes import Pass
from topo.table import Array

__all__ = ["valley_gbps"]


@dataclass(frozen=True, eq=False)
class _Steps:
    cost: int
    direction: int
    out: Any
    into: Any


def valley_gbps(work: Pass) -> float:
    """Rate that takes an arc up after one down, over all columns; each flow is counted once.

    A flow is carried forward in two parts: what has not gone down yet, and what has. The second part leaves the
    count when it goes up.
    """
    columns = work.columns
    steps = _directed_steps(columns)
    if {s.direction for s in steps} <= {0}:
        return 0.0
    work.start()
    return sum(_of_block(block.found, work.fill(block), steps) for block in columns.blocks())


def _directed_steps(columns: Columns) -> list[_Steps]:
    from scipy.sparse import csr_array

    graph = columns.graph
    direction = arc_directions(columns.quotient)[columns.arc_of]
    steps = []
    for cost in np.unique(graph.cost).tolist():
        for way in (-1, 0, 1):
            mine = (graph.cost == cost) & (direction == way)
            if mine.any():
                ends = (graph.tail[mine], graph.head[mine])
                out = csr_array((graph.weight[mine], ends), shape=(graph.n, graph.n))
                steps.append(_Steps(cost, way, out, out.T.tocsr()))
    return steps


def _of_block(found: Descent, fresh: Array, steps: list[_Steps]) -> float:
    sunk, valley = np.zeros_like(fresh), 0.0
    for at in sorted(found.rows_at, reverse=True):
        if at == 0:
            break
        rows = found.rows_at[at]
        here = found.level[rows] == at
        parts = [_per_weight(held[rows], found.total[rows], here) for held in (fresh, sunk)]
        for step in steps:
            for part, has_sunk in zip(parts, (False, True), strict=True):
                if at - step.cost not in found.rows_at or not part.any():
                    continue
                targets, sums = spread(step.out, step.into, rows, part)
                there = found.level[targets] == at - step.cost
                moved = np.where(there, sums * found.factor(targets, at - step.cost), 0.0)
                if has_sunk and step.direction == 1:
                    valley += float(moved.sum())
                elif has_sunk or step.direction == -1:
                    sunk[targets] += moved
                else:
                    fresh[targets] += moved
    return valley


def _per_weight(held: Array, total: Array, here: Array) -> NDArray[np.float64]:
    return np.divide(held, total, out=np.zeros_like(held), where=here)
