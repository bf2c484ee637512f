"""Tiers of switches from the wiring: distance to the endpoints, robust against strays and empty leaves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from topo.fabric import Fabric
from topo.table import Array

__all__ = ["Wiring", "components", "switch_tiers"]

_SWITCHES = ("switch", "router")
_FEW = 0.25
_ALIKE = 0.8
_TOP = 0.05
_ROUNDS = 8
_HIGHEST = 120
_CHUNK = 256


@dataclass(frozen=True, slots=True)
class Wiring:
    """The links that structure is read from, as arrays of node rows.

    ``nic``, ``leaf``: links between an endpoint and a switch; ``a``, ``b``: links between two different
    switches.
    """

    n: int
    is_switch: NDArray[np.bool_]
    nic: NDArray[np.int32]
    leaf: NDArray[np.int32]
    a: NDArray[np.int32]
    b: NDArray[np.int32]

    @classmethod
    def of(cls, fabric: Fabric) -> Wiring:
        """The endpoint and switch links of a fabric."""
        is_switch = fabric.nodes.kind.is_any(*_SWITCHES)
        a, b = fabric.link_a, fabric.link_b
        ends = fabric.nodes.is_endpoint
        up, down = ends[a] & is_switch[b], is_switch[a] & ends[b]
        between = is_switch[a] & is_switch[b] & (a != b)
        return cls(
            len(fabric.nodes),
            is_switch,
            np.concatenate([a[up], b[down]]),
            np.concatenate([b[up], a[down]]),
            a[between],
            b[between],
        )

    def both_ways(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Source and target of every switch link, each link once in either direction."""
        return np.concatenate([self.a, self.b]), np.concatenate([self.b, self.a])


def components(n: int, a: Array, b: Array) -> NDArray[np.int64]:
    """Component number of each of ``n`` nodes under the links ``a[i]``, ``b[i]``."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    graph = coo_array((np.ones(len(a), np.int8), (a, b)), shape=(n, n)).tocsr()
    return np.asarray(connected_components(graph, directed=False)[1], np.int64)


def switch_tiers(wiring: Wiring) -> NDArray[np.int64]:
    """Height of every switch: leaf 1, spine 2, core 3, ...; 0 for endpoints and for switches that reach none.

    A switch with endpoints is a leaf; the others stand as high as their distance from the nearest leaf. Real
    machines need four corrections:

    - a few adapters on a spine (a subnet manager's, say) make no leaf of it: it has less than a quarter of
      the endpoints of a usual leaf, and they are under a quarter of its cables to endpoints and usual leaves;
    - a stray leaf on a core does not pull the core down: a switch with few cables to the tier below and most
      to its own height stands one above;
    - a leaf without endpoints is not a core: its neighbours are those of some leaf (Jaccard of 0.8), and such
      switches have at most a quarter of the cables that the leaves have;
    - a tier that holds less than 5 % of the cables of the tier below it is none: its switches hang from
      there, and their height is mirrored.
    """
    n = wiring.n
    served = np.bincount(wiring.leaf, minlength=n)
    is_leaf = served > 0
    if not is_leaf.any():
        return np.zeros(n, np.int64)
    is_usual = served >= _FEW * np.quantile(served[is_leaf], 0.75)
    source, target = wiring.both_ways()
    to_usual = np.bincount(source[is_usual[target]], minlength=n)
    is_leaf &= is_usual | (served >= _FEW * (served + to_usual))
    tier = _raised(wiring, _distances(wiring, is_leaf), is_leaf)
    empty = _empty_leaves(wiring, tier, is_leaf)
    if empty.any():
        is_leaf |= empty
        tier = _raised(wiring, _distances(wiring, is_leaf), is_leaf)
    return _mirrored(wiring, tier)


def _distances(wiring: Wiring, is_leaf: Array) -> NDArray[np.int64]:
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import dijkstra

    n = wiring.n
    leaves = np.flatnonzero(is_leaf)
    source, target = wiring.both_ways()
    source = np.concatenate([np.full(len(leaves), n), source])
    target = np.concatenate([leaves, target])
    graph = coo_array((np.ones(len(source)), (source, target)), shape=(n + 1, n + 1)).tocsr()
    away = np.asarray(dijkstra(graph, indices=np.array([n]), unweighted=True))[0, :n]
    return np.where(np.isfinite(away), np.minimum(away, _HIGHEST), 0).astype(np.int64)


def _raised(wiring: Wiring, tier: Array, is_leaf: Array) -> NDArray[np.int64]:
    """The tiers, switches that a stray leaf pulled down lifted again."""
    source, target = wiring.both_ways()
    for _ in range(_ROUNDS):
        level = tier[source] == tier[target]
        below = np.bincount(source[tier[target] == tier[source] - 1], minlength=wiring.n)
        same = np.bincount(source[level], minlength=wiring.n)
        low = (same > 0) & (below < _FEW * (below + same)) & ~is_leaf & (tier > 1) & (tier < _HIGHEST)
        settled = np.bincount(source[level & ~low[target]], minlength=wiring.n)
        low &= 2 * settled >= same
        if not low.any():
            break
        tier = tier + low
    return tier


def _empty_leaves(wiring: Wiring, tier: Array, is_leaf: Array) -> NDArray[np.bool_]:
    """Switches of tier 3 that are cabled as leaves are, but serve no endpoint."""
    from scipy.sparse import coo_array

    n = wiring.n
    found = np.zeros(n, bool)
    source, target = wiring.both_ways()
    up = np.unique(np.stack([source, target])[:, is_leaf[source] | (tier[source] == 3)], axis=1)
    degree = np.bincount(up[0], minlength=n)
    graph = coo_array((np.ones(up.shape[1], np.int32), (up[0], up[1])), shape=(n, n)).tocsr()
    candidates, leaves = np.flatnonzero(tier == 3), np.flatnonzero(is_leaf)
    of_leaves = graph[leaves].T.tocsr()
    for start in range(0, len(candidates), _CHUNK):
        rows = candidates[start : start + _CHUNK]
        shared = (graph[rows] @ of_leaves).tocoo()
        union = degree[rows[shared.row]] + degree[leaves[shared.col]] - shared.data
        found[rows[shared.row[shared.data >= _ALIKE * union]]] = True
    above = np.zeros(n, bool)
    above[target[found[source]]] = True
    cables = int(found[source].sum())
    usual = int((is_leaf[source] & above[target]).sum())
    return found if cables <= _FEW * usual else np.zeros(n, bool)


def _mirrored(wiring: Wiring, tier: Array) -> NDArray[np.int64]:
    """The tiers, those above the last that holds a fair share of cables folded back below it."""
    lower = np.minimum(tier[wiring.a], tier[wiring.b])
    upper = np.maximum(tier[wiring.a], tier[wiring.b])
    cables = np.bincount(lower[(upper == lower + 1) & (lower > 0)], minlength=2)
    top = 1
    while top < len(cables) and cables[top] and (top == 1 or cables[top] >= _TOP * cables[top - 1]):
        top += 1
    return np.where(tier > top, np.maximum(2 * top - tier, 1), tier)
