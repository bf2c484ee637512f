"""A fabric with scale-up domains taken apart, or its domains gathered into one switch each.

Apart: the links are shared out among layers, each link to one. The cut of a split is the sum of its cuts in the
layers, so the sum of the layers' least cuts bounds it from below. Halves that keep domains whole cut no scale-up
link, and where the number of domains is odd the one that is split pays for itself.

Gathered: where the switches of a domain join its units in one proportion, the domain's scale-out links are led to a
hub spread over those switches, on a share of every unit's scale-up links; units hang on the hub by what is left. A
flow of the new fabric is one of the old, the hub's label that of a switch drawn by its share: the least cut can only
be lower. It counts what layers apart do not see: that cutting between rails cuts every domain.

A mesh of n units that are all linked to each other at w or more holds a hub spread over the units themselves, with
n w / 2 to each: both ends of a link of the mesh send a share 1 / n of that over it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from topo.analysis.bisection.blocks import BlockTree, find_bases, grow_tree, joined_apart
from topo.analysis.bisection.problem import Problem, inner_switches, with_edges
from topo.table import Array

__all__ = ["Gathering", "gathered", "layers_of", "meshes_as_hubs", "tree_apart"]


@dataclass(frozen=True, eq=False)
class Gathering:
    """The layers, hubs in the first; the ``hub`` of each unit, -1 for none, and each switch's ``share`` of its hub.

    ``hub_of_switch`` is the hub each switch of a domain belongs to: the first of them stands for all.
    """

    layers: list[Problem]
    hub: NDArray[np.int64]
    hub_of_switch: NDArray[np.int64]
    share: NDArray[np.float64]


def meshes_as_hubs(problem: Problem) -> Problem:
    """The problem with a hub, a new vertex, in place of the links of each full mesh of three or more units."""
    n_units, a, b = problem.n_units, problem.edge_a, problem.edge_b
    between = np.flatnonzero((a < n_units) & (b < n_units))
    if not between.size:
        return problem
    graph = coo_array((np.ones(len(between)), (a[between], b[between])), shape=(n_units, n_units))
    _, part = connected_components(graph, directed=False)
    size = np.bincount(part)
    mesh = part[a[between]]
    full = (np.bincount(mesh, minlength=len(size)) == size * (size - 1) // 2) & (size > 2)
    if not full.any():
        return problem
    least = np.full(len(size), np.inf)
    np.minimum.at(least, mesh, problem.capacity[between])
    number = problem.n_vertices + np.cumsum(full) - 1
    unit = np.flatnonzero(full[part])
    kept = np.ones(len(a), bool)
    kept[between[full[mesh]]] = False
    return replace(
        problem,
        n_vertices=problem.n_vertices + int(full.sum()),
        edge_a=np.concatenate([a[kept], unit]),
        edge_b=np.concatenate([b[kept], number[part[unit]]]),
        capacity=np.concatenate([problem.capacity[kept], (least * size / 2)[part[unit]]]),
    )


def layers_of(problem: Problem) -> list[Problem]:
    """The links of a problem without meshes in layers: of no inner switch first, then inner switches group by group.

    A group are the inner switches that join the same units; groups that share no unit go into one layer, those of
    many units first. Empty where that leaves everything in one layer.
    """
    layer, _ = _layer_of_edges(problem)
    used = np.unique(layer).tolist()
    return [with_edges(problem, layer == number) for number in used] if len(used) > 1 else []


def gathered(problem: Problem) -> Gathering | None:
    """Domains of a problem without meshes gathered where scale-up holds all scale-out; ``None`` if there are none.

    With share p_k of switch k and c_uk the rate of unit u there, r_u = min over k of c_uk / p_k is what u can spread
    over the domain's switches, and r_u less the scale-out rate of u is its link to the hub.
    """
    layer, hub_of_switch = _layer_of_edges(problem)
    if not (layer == 0).any() or not (layer == 1).any():
        return None
    n, n_units = problem.n_vertices, problem.n_units
    outside, star = with_edges(problem, layer == 0), with_edges(problem, layer == 1)
    unit, switch, rate = star.edge_a, star.edge_b, star.capacity
    at = hub_of_switch[switch]
    share = np.bincount(switch, rate, n) / np.maximum(np.bincount(at, rate, n), 1e-300)[np.maximum(hub_of_switch, 0)]
    spread = _spread(unit, rate, share[switch], n_units)
    room = spread - outside.injection
    hub = np.full(n_units, -1)
    hub[unit] = at
    narrow = np.zeros(n, bool)
    narrow[hub[(hub >= 0) & (room < 0)]] = True
    hub[(hub >= 0) & narrow[hub]] = -1
    if (hub < 0).all():
        return None
    hub_of_switch = np.where((hub_of_switch >= 0) & narrow[hub_of_switch], -1, hub_of_switch)
    moved = np.arange(n)
    moved[:n_units] = np.where(hub >= 0, hub, moved[:n_units])
    plain = hub[unit] < 0
    mine = np.flatnonzero((hub >= 0) & (room > 0))
    a = np.concatenate([moved[outside.edge_a], unit[plain], mine])
    b = np.concatenate([moved[outside.edge_b], switch[plain], hub[mine]])
    gbps = np.concatenate([outside.capacity, rate[plain], room[mine]])
    first = _with_bundles(problem, a, b, gbps)
    rest = [with_edges(problem, layer == number) for number in np.unique(layer[layer > 1]).tolist()]
    return Gathering([first, *rest], hub, hub_of_switch, np.where(hub_of_switch >= 0, share, 0.0))


def _spread(unit: Array, rate: Array, share: Array, n_units: int) -> Array:
    """What each unit can spread over its switches in their shares: all it has, if its rates are in proportion."""
    total: Array = np.bincount(unit, rate, n_units)
    least = np.full(n_units, np.inf)
    np.minimum.at(least, unit, rate / np.maximum(share, 1e-300))
    return np.where(least >= total * (1 - 1e-12), total, np.where(np.isfinite(least), least, 0.0))


def _layer_of_edges(problem: Problem) -> tuple[Array, Array]:
    """The layer of each edge, and for switches of the first layer of groups the first switch of their group."""
    layer_of_vertex = np.zeros(problem.n_vertices, np.int64)
    hub_of_switch = np.full(problem.n_vertices, -1)
    inner = inner_switches(problem)
    taken: list[Array] = []
    groups = _groups(problem, inner) if inner.any() else []
    for units, switches in sorted(groups, key=lambda group: -len(group[0])):
        number = next((i for i, used in enumerate(taken) if not used[units].any()), len(taken))
        if number == len(taken):
            taken.append(np.zeros(problem.n_units, bool))
        taken[number][units] = True
        layer_of_vertex[switches] = number + 1
        if number == 0:
            hub_of_switch[switches] = switches[0]
    return np.maximum(layer_of_vertex[problem.edge_a], layer_of_vertex[problem.edge_b]), hub_of_switch


def _groups(problem: Problem, inner: Array) -> list[tuple[Array, list[int]]]:
    """(units, switches) of each group."""
    adjacency = problem.adjacency
    adjacency.sort_indices()
    found: dict[bytes, list[int]] = {}
    for switch in np.flatnonzero(inner).tolist():
        units = adjacency.indices[adjacency.indptr[switch] : adjacency.indptr[switch + 1]]
        found.setdefault(units.tobytes(), []).append(switch)
    return [(np.frombuffer(units, adjacency.indices.dtype), switches) for units, switches in found.items()]


def _with_bundles(problem: Problem, a: Array, b: Array, gbps: Array) -> Problem:
    used = a != b
    low, high = np.minimum(a, b)[used], np.maximum(a, b)[used]
    shape = (problem.n_vertices, problem.n_vertices)
    merged = coo_array((gbps[used], (low, high)), shape=shape).tocsr().tocoo()
    return replace(
        problem, edge_a=merged.row.astype(np.int64), edge_b=merged.col.astype(np.int64), capacity=merged.data
    )  # fmt: skip


def tree_apart(problem: Problem) -> BlockTree | None:
    """The block tree of a layer, whose parts need not be joined; ``None`` where it has no tiers."""
    bases = find_bases(problem)
    if bases is None:
        return None
    return grow_tree(bases) or grow_tree(joined_apart(bases), apart=True)
