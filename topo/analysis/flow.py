"""Maximum flow and minimum cut on arrays: exact whatever the size of the capacities."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order, maximum_flow

from topo.table import Array

__all__ = ["Flow", "common_unit", "max_flow", "merged_arcs"]

_INT32_MAX = 2**31 - 1
_EXACT = 2.0**52


@dataclass(frozen=True, eq=False)
class Flow:
    """A maximum flow: its value, the side of the cut that holds the source, and the net flow on each arc."""

    value: float
    source_side: NDArray[np.bool_]
    tail: NDArray[np.int32]
    head: NDArray[np.int32]
    amount: NDArray[np.float64]


def common_unit(capacities: Array) -> float:
    """Largest number that divides every capacity exactly; 0 where there is none a double can count in.

    Rates are doubles, hence exact fractions: 25.78125 and 100 share 0.78125. Counting in it makes sums exact.

    >>> common_unit(np.array([25.78125, 100.0])), common_unit(np.array([400.0, 800.0]))
    (0.78125, 400.0)
    """
    positive = capacities[capacities > 0]
    if not positive.size:
        return 0.0
    least = float(positive.min())
    if (np.rint(positive / least) * least == positive).all() and positive.sum() / least < _EXACT:
        return least
    distinct = np.unique(positive)
    if distinct[-1] < _EXACT and (np.rint(distinct) == distinct).all():
        unit = int(np.gcd.reduce(distinct.astype(np.int64)))
        return float(unit) if distinct[-1] / unit * len(capacities) < _EXACT else 0.0
    if len(distinct) > 10_000:
        return 0.0
    fractions = [Fraction(float(c)) for c in distinct]
    denominator = math.lcm(*(f.denominator for f in fractions))
    numerator = math.gcd(*(int(f * denominator) for f in fractions))
    step = Fraction(numerator, denominator)
    if fractions[-1] / step * len(capacities) >= _EXACT:
        return 0.0
    return float(step)


def merged_arcs(n: int, tail: Array, head: Array, capacity: Array) -> csr_array:
    """Arcs of each ordered node pair summed into one, as a sparse matrix; arcs from a node to itself are dropped."""
    keep = tail != head
    matrix = csr_array((capacity[keep], (tail[keep], head[keep])), shape=(n, n))
    matrix.sum_duplicates()
    return matrix


def max_flow(n: int, tail: Array, head: Array, capacity: Array, source: int, sink: int) -> Flow:
    """Maximum flow from ``source`` to ``sink`` over arcs of the given capacity.

    Capacities are counted in their :func:`common_unit`. Where the count fits 32 bits the flow runs on integers in
    scipy; elsewhere in doubles in igraph, exact while sums stay below 2^52 units. The cut is read off the residual.
    """
    arcs = merged_arcs(n, tail, head, capacity)
    unit = common_unit(arcs.data)
    out_of_source = float(arcs[[source], :].sum())
    into_sink = float(arcs[:, [sink]].sum())
    if unit and max(float(arcs.data.max(initial=0)), min(out_of_source, into_sink)) / unit <= _INT32_MAX:
        return _integer_flow(arcs, unit, source, sink)
    return _double_flow(arcs, source, sink)


def _integer_flow(arcs: csr_array, unit: float, source: int, sink: int) -> Flow:
    whole = arcs.copy()
    whole.data = np.rint(arcs.data / unit).astype(np.int32)
    result = maximum_flow(whole, source, sink, method="dinic")
    flow = csr_array(result.flow)
    residual = (whole - flow).tocsr()
    residual.data = (residual.data > 0).astype(np.int8)
    residual.eliminate_zeros()
    side = np.zeros(arcs.shape[0], bool)
    side[breadth_first_order(residual, source, directed=True, return_predecessors=False)] = True
    moved = flow.tocoo()
    positive = moved.data > 0
    return Flow(
        float(result.flow_value) * unit,
        side,
        moved.row[positive].astype(np.int32),
        moved.col[positive].astype(np.int32),
        moved.data[positive] * unit,
    )


def _double_flow(arcs: csr_array, source: int, sink: int) -> Flow:
    import igraph

    coo = arcs.tocoo()
    graph = igraph.Graph(n=arcs.shape[0], edges=np.stack([coo.row, coo.col], axis=1), directed=True)
    result = graph.maxflow(source, sink, capacity=coo.data.tolist())
    side = np.zeros(arcs.shape[0], bool)
    side[result.partition[0]] = True
    amount = np.asarray(result.flow, float)
    used = amount > 0
    return Flow(
        math.fsum(coo.data[side[coo.row] & ~side[coo.col]]),
        side,
        coo.row[used].astype(np.int32),
        coo.col[used].astype(np.int32),
        amount[used],
    )
