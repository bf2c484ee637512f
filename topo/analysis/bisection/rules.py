"""Lower bounds whose witness is a rule, found once more by plainer means: source by source, side by side."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components, dijkstra

from topo.analysis.bisection.exhaustive import MOST_VERTICES
from topo.analysis.bisection.problem import Problem
from topo.analysis.bisection.search import cheapest_units
from topo.errors import CertificateError
from topo.table import Array

__all__ = ["BY_RULE"]


def _routed(problem: Problem, smaller: int) -> float:
    """All-to-all, every switch splitting over its least-cost ways link by link, sink by sink.

    A link between switches of one tier in two pods costs 3, any other between switches 1.
    """
    network = problem.network
    nodes, a, b = network.fabric.nodes, network.a.astype(np.int64), network.b.astype(np.int64)
    is_end = np.zeros(len(nodes), bool)
    is_end[problem.chosen] = True
    access = is_end[a] | is_end[b]
    if (np.bincount(np.concatenate([a, b]), minlength=len(nodes))[problem.chosen] != 1).any():
        return 0.0
    at = np.concatenate([a[access & is_end[b]], b[access & is_end[a]]])
    weight = np.bincount(at, minlength=len(nodes)).astype(float)
    rate, a, b, pod = network.capacity_gbps[~access], a[~access], b[~access], nodes.pod.codes
    far = (nodes.tier[a] == nodes.tier[b]) & (pod[a] != pod[b]) & (pod[a] >= 0) & (pod[b] >= 0)
    loads = _over_least_cost(np.concatenate([a, b]), np.concatenate([b, a]), np.tile(np.where(far, 3, 1), 2), weight)
    if loads is None:
        return 0.0
    busy, total = loads > 0, int(weight.sum())
    across = float((np.tile(rate, 2)[busy] / loads[busy]).min(initial=math.inf)) * smaller * (total - smaller)
    return min(across, float(network.capacity_gbps[access].min()) * smaller)


def _over_least_cost(tail: Array, head: Array, cost: Array, weight: Array) -> Array | None:
    """Loads of arcs when all send one another their weights, farthest first; None where some do not reach a sink."""
    n = len(weight)
    order = np.lexsort((cost, head, tail))
    first = order[np.flatnonzero(np.diff(tail[order] * n + head[order], prepend=-1))]
    lengths = csr_array((cost[first].astype(float), (tail[first], head[first])), shape=(n, n))
    distances: Any = dijkstra
    loads = np.zeros(len(tail))
    for sink in np.flatnonzero(weight).tolist():
        away = distances(lengths, indices=sink)
        if np.isinf(away[weight > 0]).any():
            return None
        nearer = np.flatnonzero(away[tail] == away[head] + cost)
        nearer = nearer[np.argsort(-away[tail[nearer]], kind="stable")]
        ways = np.bincount(tail[nearer], minlength=n)
        passed = weight.copy()
        for arcs in np.split(nearer, np.flatnonzero(np.diff(away[tail[nearer]])) + 1):
            share = passed[tail[arcs]] / ways[tail[arcs]]
            loads[arcs] += weight[sink] * share
            passed += np.bincount(head[arcs], share, n)
    return loads


def _uniform(problem: Problem, smaller: int) -> float:
    """All-to-all over shortest paths, source by source; units on one switch alone start and end there."""
    adjacency, n_units = problem.adjacency, problem.n_units
    part = connected_components(adjacency, directed=False)[1][:n_units]
    if (part != part[0]).any():
        return 0.0
    single = (np.arange(problem.n_vertices) < n_units) & (np.diff(adjacency.indptr) == 1)
    first = adjacency.indptr[:-1][single]
    at = np.arange(n_units)
    at[single[:n_units]] = adjacency.indices[first]
    weight = np.bincount(at, problem.weight, problem.n_vertices)
    kept = np.flatnonzero(~single | (weight > 0))
    own = problem.weight[single[:n_units]]
    adjacency, weight = adjacency[kept][:, kept], weight[kept]
    loads = np.zeros(adjacency.nnz)
    row = np.repeat(np.arange(len(kept)), np.diff(adjacency.indptr))
    for source in np.flatnonzero(weight).tolist():
        loads += weight[source] * _loads_from(source, adjacency, row, weight)
    busy = loads > 0
    across = math.inf
    if busy.any():
        total = int(problem.weight.sum())
        across = float((adjacency.data[busy] / loads[busy]).min()) * smaller * (total - smaller)
    rates = problem.adjacency.data[first] / own
    return min(across, float(rates.min(initial=math.inf)) * smaller)


def _loads_from(source: int, adjacency: csr_array, row: Array, weight: Array) -> Array:
    """Loads of the arcs when the source sends every vertex its weight, level by level outwards and back."""
    n = len(weight)
    level, paths, loads = np.full(n, -1), np.zeros(n), np.zeros(adjacency.nnz)
    level[source], paths[source] = 0, 1.0
    forward: list[Array] = []
    while True:
        arcs = np.flatnonzero((level[row] == len(forward)) & (level[adjacency.indices] < 0))
        if not arcs.size:
            break
        heads = adjacency.indices[arcs]
        level[heads] = len(forward) + 1
        paths += np.bincount(heads, paths[row[arcs]] * adjacency.data[arcs], n)
        forward.append(arcs)
    through = weight.astype(float)
    for arcs in reversed(forward):
        tail, head = row[arcs], adjacency.indices[arcs]
        loads[arcs] = paths[tail] * adjacency.data[arcs] / paths[head] * through[head]
        through += np.bincount(tail, loads[arcs], n)
    return loads


def _spectral(problem: Problem, smaller: int) -> float:
    """The eigenvalue is proved by a factorization: Laplacian minus lambda (I - J/n), plus J, is positive definite."""
    from topo.analysis.bisection.spread import spectral_bound

    n_units, n = problem.n_units, problem.n_vertices - problem.n_units
    switches = problem.adjacency[n_units:, n_units:].toarray()
    laplacian = np.diag(switches.sum(axis=1)) - switches
    scale = float(laplacian.diagonal().max())
    second = float(np.linalg.eigvalsh(laplacian)[1]) - 2e-9 * scale
    shifted = laplacian - second * np.eye(n) + (second + scale) / n * np.ones((n, n))
    try:
        np.linalg.cholesky(shifted)
    except np.linalg.LinAlgError as error:
        raise CertificateError("the certificate does not hold: the eigenvalue is smaller than claimed") from error
    return spectral_bound(problem, smaller)


def _enumerated(problem: Problem, smaller: int) -> float:
    """Every side of every switch (of every unit too, where there are few) once more, one at a time."""
    n, m = problem.n_units, problem.n_vertices - problem.n_units
    adjacency = problem.adjacency.toarray()
    total = int(problem.weight.sum())
    best = math.inf
    if problem.n_vertices <= MOST_VERTICES:
        for code in range(1 << (n + m - 1)):
            one = (code >> np.arange(n + m) & 1).astype(bool)
            if int(problem.weight[one[:n]].sum()) in (smaller, total - smaller):
                best = min(best, float(adjacency[one][:, ~one].sum()))
        return best
    access, switches = adjacency[:n, n:], adjacency[n:, n:]
    for code in range(1 << (m - 1)):
        one = (code >> np.arange(m) & 1).astype(bool)
        between = switches[one][:, ~one].sum()
        if between >= best:
            continue
        if_one, if_zero = access[:, ~one].sum(axis=1), access[:, one].sum(axis=1)
        for size in (smaller, total - smaller):
            chosen = cheapest_units(problem.weight, if_one - if_zero, size)
            best = min(best, float(between + if_zero.sum() + (if_one - if_zero)[chosen].sum()))
    return best


BY_RULE = {"routed": _routed, "uniform": _uniform, "spectral": _spectral, "enumeration": _enumerated}
"""What a method's rule proves of a problem and the smaller half, in Gb/s, by the method's name."""
