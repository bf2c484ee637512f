"""Lower bounds without tiers: uniform traffic embedded in the fabric, and the second Laplacian eigenvalue."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from topo.analysis.bisection.problem import Problem
from topo.progress import solving
from topo.table import Array

__all__ = ["spectral_bound", "uniform_bound", "uniform_loads"]

_MOST_VERTICES = 2500


def uniform_bound(problem: Problem, smaller: int) -> float:
    """Every endpoint sends theta to every other over all shortest paths between their switches alike.

    theta is the largest rate the links between switches hold. A split of the switches with n endpoints on one side
    cuts at least theta * n * (N - n), and evening it out cuts the access links of the endpoints moved. Both together
    are least at n = 0 or at n = smaller. 0 where the fabric is too large to try.
    """
    reduced = _folded(problem)
    if reduced is None:
        return 0.0
    capacity, weight, access_gbps = reduced
    _, part = connected_components(capacity, directed=False)
    mine = part == part[np.argmax(weight > 0)]
    if weight[~mine].any():
        return 0.0
    # What is joined to no endpoint, as parts of a host whose links are not looked at, takes no part.
    capacity, weight = capacity[mine][:, mine], weight[mine]
    with solving(f"uniform traffic over {len(weight):,} switches"):
        loads = uniform_loads(capacity, weight)
    busy = loads > 0
    if not busy.any():
        return access_gbps * smaller if np.isfinite(access_gbps) else 0.0
    theta = float((capacity.toarray()[busy] / loads[busy]).min())
    return min(theta * smaller * (int(weight.sum()) - smaller), access_gbps * smaller)


def _folded(problem: Problem) -> tuple[csr_array, Array, float] | None:
    """Single-homed units folded into their switch: capacities, endpoints a vertex, least access rate an endpoint."""
    n, a, b = problem.n_units, problem.edge_a, problem.edge_b
    links = np.bincount(np.concatenate([a, b]), minlength=problem.n_vertices)
    single = np.zeros(problem.n_vertices, bool)
    single[:n] = links[:n] == 1
    hang = (single[a] & ~single[b]) | (single[b] & ~single[a])
    kept = np.flatnonzero(~single)
    if len(kept) > _MOST_VERTICES or (single[a] & single[b]).any():
        return None
    unit, switch = np.where(single[a], a, b)[hang], np.where(single[a], b, a)[hang]
    weight = np.zeros(problem.n_vertices)
    weight[:n] = problem.weight
    access = problem.capacity[hang] / weight[unit]
    np.add.at(weight, switch, weight[unit])
    number = np.full(problem.n_vertices, -1)
    number[kept] = np.arange(len(kept))
    i, j, c = number[a[~hang]], number[b[~hang]], problem.capacity[~hang]
    shape = (len(kept), len(kept))
    matrix = csr_array((np.concatenate([c, c]), (np.concatenate([i, j]), np.concatenate([j, i]))), shape=shape)
    return matrix, weight[kept], float(access.min(initial=np.inf))


def uniform_loads(capacity: csr_array, weight: Array) -> Array:
    """Load on each arc (dense, tail x head) when every endpoint sends 1 to every other over all shortest paths.

    Shares follow the number of shortest paths, bundles counted by capacity (Brandes' accumulation, all sources at
    once, level by level).
    """
    from scipy.sparse.csgraph import shortest_path

    dense = capacity.toarray()
    distance = shortest_path(capacity, unweighted=True, directed=False)
    levels = int(distance[np.isfinite(distance)].max())
    count = np.where(distance == 0, 1.0, 0.0)
    for level in range(1, levels + 1):
        step = np.where(distance == level - 1, count, 0.0) @ dense
        count = np.where(distance == level, step, count)
    carried = np.zeros_like(count)
    loads = np.zeros_like(count)
    for level in range(levels, 0, -1):
        at = distance == level
        per_path = np.divide(weight[None, :] + carried, count, out=np.zeros_like(count), where=at)
        before = np.where(distance == level - 1, count, 0.0)
        loads += dense * ((before * weight[:, None]).T @ per_path)
        carried += before * (per_path @ dense)
    return loads


def spectral_bound(problem: Problem, smaller: int) -> float:
    """Cut of any two-colouring with k of n switches on one side is at least lambda2 * k * (n - k) / n.

    Those k switches bear no fewer units than the k with the fewest, and no more than the k with the most; what is over
    or short of half is moved, which cuts access links, none slower than the slowest. 0 where units do not hang on one
    switch each. The eigenvalue is lowered by its rounding error.
    """
    n_units, n = problem.n_units, problem.n_vertices - problem.n_units
    if not 2 <= n <= _MOST_VERTICES or not problem.is_uniform:
        return 0.0
    adjacency = problem.adjacency
    access = adjacency[:n_units, n_units:]
    hosts = np.sort(np.asarray((access > 0).sum(axis=0)).ravel())
    if (np.diff(access.indptr) != 1).any() or access.nnz != n_units:
        return 0.0
    rate = float(access.data.min())
    switches = adjacency[n_units:, n_units:].toarray()
    laplacian = np.diag(switches.sum(axis=1)) - switches
    with solving(f"eigenvalues over {n:,} switches"):
        values = np.linalg.eigvalsh(laplacian)
    second = max(0.0, float(values[1]) - 1e-9 * float(values[-1]))
    k = np.arange(n + 1)
    fewest, most = (np.concatenate([[0], np.cumsum(order)]) for order in (hosts, hosts[::-1]))
    half = smaller // int(problem.weight[0])
    moved = np.maximum(0, np.maximum(fewest - (n_units - half), half - most))
    return float((second * k * (n - k) / n + rate * moved).min())
