"""Bound of splits into whole pods: what every pod can lead from its endpoints to its links to other pods, at once.

Where pods stay whole, all of a pod's endpoints are on one side. A flow inside each pod from its endpoints to the
switches with links to other pods serves every split: in pods of one half it runs outward, in those of the other half
inward, and only the links between the halves are used in between. So a split costs at least the sum, over links between
its halves, of what the flows bring to both ends of the link; and, at each relay outside the pods of endpoints, the
lesser of what the links from either half bring there.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from topo.analysis.bisection.problem import Problem
from topo.analysis.flow import max_flow
from topo.table import Array

__all__ = ["PodFlow", "cheapest_whole", "filled", "inner_flow", "joined_pods", "pod_of_vertex", "relayed"]

_ROUNDS = 8
_MOST_COUNTS = 1 << 20
_FULL = 1 - 1e-9


@dataclass(frozen=True, eq=False)
class PodFlow:
    """Witness: entry i sends ``gbps[i]`` from vertex to vertex of one pod.

    ``brought`` of each vertex is what the flow ends with there; it starts at units.
    """

    tail: NDArray[np.int64]
    head: NDArray[np.int64]
    gbps: NDArray[np.float64]
    brought: NDArray[np.float64]


def pod_of_vertex(problem: Problem) -> NDArray[np.int64] | None:
    """Unit of the pod that each vertex is in; None where units are no pods.

    -1 where it is in none, -2 and less for pods without endpoints.
    """
    codes = problem.network.fabric.nodes.pod.codes.astype(np.int64)
    vertex, n = problem.vertex_of_node, problem.n_units
    unit = vertex[problem.chosen]
    pod = np.full(n, -1, np.int64)
    pod[unit] = codes[problem.chosen]
    known = pod[pod >= 0]
    if (pod[unit] != codes[problem.chosen]).any() or not known.size or len(np.unique(known)) < len(known):
        return None
    unit_of_pod = np.append(-2 - np.arange(int(codes.max()) + 1), -1)
    unit_of_pod[known] = np.flatnonzero(pod >= 0)
    of = np.full(problem.n_vertices, -1, np.int64)
    switches = np.flatnonzero(vertex >= n)
    of[vertex[switches]] = unit_of_pod[codes[switches]]
    of[:n] = np.arange(n)
    return of


def inner_flow(problem: Problem, of: Array, smaller: int) -> PodFlow:
    """The flow from each pod's endpoints towards its links to other pods, in one share of each pod's links.

    The share shrinks to the narrowest cut inside the pod until all of it arrives.
    """
    n, n_units = problem.n_vertices, problem.n_units
    inner = (of[problem.edge_a] == of[problem.edge_b]) & (of[problem.edge_a] >= 0)
    a, b, gbps = problem.edge_a[inner], problem.edge_b[inner], problem.capacity[inner]
    outward = _wanted_gbps(problem, of, smaller)
    ends = np.flatnonzero((outward > 0) & (of >= 0))
    units = np.arange(n_units)
    tail = np.concatenate([a, b, np.full(n_units, n), ends])
    head = np.concatenate([b, a, units, np.full(len(ends), n + 1)])
    enough = np.bincount(of[ends], outward[ends], n_units)
    share = np.ones(n_units)
    for _ in range(_ROUNDS):
        wanted = outward[ends] * share[of[ends]]
        flow = max_flow(n + 2, tail, head, np.concatenate([gbps, gbps, enough, wanted]), n, n + 1)
        if flow.value >= wanted.sum() * _FULL:
            break
        # Of each pod: what its cut lets through over what is wanted behind it.
        far = ~flow.source_side[:n]
        behind = np.bincount(of[ends], outward[ends] * far[ends], n_units)
        crossing = flow.source_side[a] != flow.source_side[b]
        through = np.bincount(of[a][crossing], gbps[crossing], n_units) + np.where(far[:n_units], enough, 0.0)
        share = np.minimum(share, np.divide(through, behind, out=np.ones(n_units), where=behind > 0))
    last = flow.head == n + 1
    brought = np.bincount(flow.tail[last], flow.amount[last], n + 2)[:n].astype(float)
    # What goes to and fro over one link is no use.
    moved = csr_array((flow.amount, (flow.tail, flow.head)), shape=(n + 2, n + 2))[:n, :n]
    net = (moved - moved.T).tocoo()
    on = net.data > 0
    return PodFlow(net.row[on].astype(np.int64), net.col[on].astype(np.int64), net.data[on], brought)


def _wanted_gbps(problem: Problem, of: Array, smaller: int) -> NDArray[np.float64]:
    """Most that any even split uses of each vertex's links to other pods: all to relays, some to pods.

    At most as many pods are on the other side as the lightest that fill the larger half.
    """
    a, b, gbps = _outer_edges(problem, of)
    tail, head, gbps = np.concatenate([a, b]), of[np.concatenate([b, a])], np.concatenate([gbps, gbps])
    weight = np.cumsum(np.sort(problem.weight))
    most = int(np.searchsorted(weight, weight[-1] - smaller, side="right"))
    to_pod = head >= 0
    key, inverse = np.unique(tail[to_pod] * problem.n_units + head[to_pod], return_inverse=True)
    rate, vertex = np.bincount(inverse, gbps[to_pod], len(key)), key // problem.n_units
    order = np.lexsort((-rate, vertex))
    rank = np.arange(len(order)) - np.searchsorted(vertex, vertex)
    used = order[rank < most]
    total = np.bincount(vertex[used], rate[used], problem.n_vertices)
    return np.asarray(total + np.bincount(tail[~to_pod], gbps[~to_pod], problem.n_vertices), float)


def filled(problem: Problem, of: Array, brought: Array, smaller: int) -> NDArray[np.float64]:
    """Share of what is wanted at each vertex that the flow brings there."""
    wanted = _wanted_gbps(problem, of, smaller)
    return np.divide(brought, wanted, out=np.zeros(len(wanted)), where=wanted > 0)


def joined_pods(problem: Problem, of: Array, part: Array) -> NDArray[np.float64]:
    """Rate between every two pods (units by units) that the ``filled`` shares of the links' ends let through."""
    a, b, gbps = _outer_edges(problem, of)
    both = (of[a] >= 0) & (of[b] >= 0)
    a, b, gbps = a[both], b[both], gbps[both]
    joined = np.zeros((problem.n_units, problem.n_units))
    np.add.at(joined, (of[a], of[b]), gbps * np.minimum(part[a], part[b]))
    return joined + joined.T


def relayed(problem: Problem, of: Array, part: Array) -> NDArray[np.float64]:
    """Rate from every pod at each relay outside (relays by units), in all splits at once.

    A pod without endpoints is one relay where its switches are a full mesh that spreads what comes in evenly. With x at
    its switches, X in all, links of 2 x_v x_w / X make every cut inside cost the lesser x of its sides; where they fall
    short, no more than half, x is taken less.
    """
    a, b, gbps = _outer_edges(problem, of)
    one = (of[a] >= 0) != (of[b] >= 0)
    inside, outside = (np.where((of[a] >= 0) == is_first, a, b)[one] for is_first in (True, False))
    at = np.unique(outside)
    rates = np.zeros((len(at), problem.n_units))
    np.add.at(rates, (np.searchsorted(at, outside), of[inside]), gbps[one] * part[inside])
    for pod in np.unique(of[at][of[at] < -1]).tolist():
        mine = np.flatnonzero(of[at] == pod)
        x = rates[mine].sum(axis=1)
        links = problem.adjacency[at[mine]][:, at[mine]].toarray()
        np.fill_diagonal(links, np.inf)
        wanted = 2 * np.outer(x, x) / max(float(x.sum()), 1e-300)
        share = float(np.divide(links, wanted, out=np.ones_like(links), where=wanted > links).min())
        if share >= 1 / 2:
            rates[mine[0]] = rates[mine].sum(axis=0) * share
            rates[mine[1:]] = 0.0
    return rates


def cheapest_whole(weight: Array, joined: Array, relays: Array, smaller: int) -> tuple[float, NDArray[np.bool_]]:
    """Least rate between halves of whole pods, one of ``smaller`` endpoints, at least; and pods of one such half.

    Pods of equal weights and rates to all others are a class, and only how many of each class are in the half is
    tried. Where those are too many, classes go by weight alone, joined at the least rate of any two: a lower bound.

    >>> cheapest_whole(np.array([4, 4, 4, 4]), 1.0 - np.eye(4), np.zeros((0, 4)), 8)[0]
    4.0
    """
    rates = np.round(np.sort(joined, axis=1), 6)
    fine = np.column_stack([weight, rates])
    for keys in (fine, np.asarray(weight)[:, None]):
        _, of, count = np.unique(keys, axis=0, return_inverse=True, return_counts=True)
        if np.prod(count + 1.0) <= _MOST_COUNTS:
            return _by_counts(np.asarray(weight), joined, relays, smaller, of.ravel(), count)
    return 0.0, np.zeros(len(weight), bool)


def _by_counts(
    weight: Array, joined: Array, relays: Array, smaller: int, of: Array, count: Array
) -> tuple[float, NDArray[np.bool_]]:
    order = np.argsort(of, kind="stable")
    start = np.concatenate([[0], np.cumsum(count)])
    apart = joined.copy()
    np.fill_diagonal(apart, np.inf)
    least = np.minimum.reduceat(np.minimum.reduceat(apart[np.ix_(order, order)], start[:-1], 0), start[:-1], 1)
    least[np.isinf(least)] = 0.0
    taken = np.indices(tuple((count + 1).tolist())).reshape(len(count), -1).T
    taken = taken[taken @ weight[order[start[:-1]]] == smaller]
    cost = np.einsum("ki,ij,kj->k", taken, least, count - taken, optimize=True)
    bounds = list(pairwise(start.tolist()))
    for rates in relays[relays.any(axis=1)]:
        least_of = [np.concatenate([[0.0], np.cumsum(np.sort(rates[order[low:high]]))]) for low, high in bounds]
        sides = (sum(one[k] for one, k in zip(least_of, number.T, strict=True)) for number in (taken, count - taken))
        cost += np.minimum(*sides)
    best = int(np.argmin(cost))
    half = np.zeros(len(weight), bool)
    for (low, high), number in zip(bounds, taken[best].tolist(), strict=True):
        half[order[low : min(low + number, high)]] = True
    return float(cost[best]), half


def _outer_edges(problem: Problem, of: Array) -> tuple[Array, Array, Array]:
    a, b = problem.edge_a, problem.edge_b
    outer = (of[a] != of[b]) & ((of[a] >= 0) | (of[b] >= 0))
    return a[outer], b[outer], problem.capacity[outer]
