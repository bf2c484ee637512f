"""Whole folded Clos fabrics of two or three tiers, recognised from their links and nothing else."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from topo.fabric import FORWARDS_ALL, Fabric, State
from topo.network import Network
from topo.table import Array

__all__ = ["ClosShape"]


@dataclass(frozen=True, eq=False)
class ClosShape:
    """A Clos with no cable missing: every leaf meets each of ``spines`` spines of its pod on ``parallel`` links.

    With three tiers all links are single, every spine meets ``cores`` cores, and a core meets one spine a pod. ``leaf``
    and ``pod`` are numbers by node row (-1 where the node is no endpoint); with two tiers all is one pod. Rates are
    those of one link, the same all over a tier.
    """

    leaf: NDArray[np.int64]
    pod: NDArray[np.int64]
    n_leaves: int
    n_pods: int
    spines: int
    parallel: int
    cores: int
    leaf_gbps: float
    core_gbps: float

    @property
    def tiers(self) -> int:
        """Two, or three where there are cores."""
        return 3 if self.cores else 2

    @classmethod
    def of(cls, fabric: Fabric, state: State | None = None) -> ClosShape | None:
        """The shape of a fabric; None where it is anything else: a cable missing, a second port, a relaying host."""
        network = Network.of(fabric, state=state)
        graph = _Graph.of(network)
        if graph is None:
            return None
        up_leaf = graph.is_leaf[graph.low] & ~graph.is_leaf[graph.high]
        spine = np.zeros(len(fabric.nodes), bool)
        spine[graph.high[up_leaf]] = True
        up_core = spine[graph.low] & ~graph.is_leaf[graph.high] & ~spine[graph.high]
        if not (up_leaf | up_core).all():
            return None
        first = _full_blocks(graph.low[up_leaf], graph.high[up_leaf], graph.gbps[up_leaf])
        has_core = bool(up_core.any())
        if first is None or (first.parallel > 1 if has_core else first.n_blocks > 1):
            return None
        second = _full_blocks(graph.low[up_core], graph.high[up_core], graph.gbps[up_core]) if has_core else None
        if has_core and (second is None or not _one_spine_a_pod(first, second, spine)):
            return None
        leaves = np.flatnonzero(graph.is_leaf)
        leaf_number = np.full(len(fabric.nodes), -1, np.int64)
        leaf_number[leaves] = np.arange(len(leaves))
        at = graph.leaf_of_end
        ends = at >= 0
        leaf, pod = np.full(len(at), -1, np.int64), np.full(len(at), -1, np.int64)
        leaf[ends] = leaf_number[at[ends]]
        pod[ends] = first.block[at[ends]]
        return cls(
            leaf,
            pod,
            len(leaves),
            first.n_blocks,
            first.above,
            first.parallel,
            second.above if second is not None else 0,
            first.gbps,
            second.gbps if second is not None else 0.0,
        )


@dataclass(frozen=True, eq=False)
class _Graph:
    """Links between switches, lower end first, and the one leaf of each endpoint."""

    low: Array
    high: Array
    gbps: Array
    is_leaf: Array
    leaf_of_end: Array

    @classmethod
    def of(cls, network: Network) -> _Graph | None:
        nodes = network.fabric.nodes
        a, b = network.a.astype(np.int64), network.b.astype(np.int64)
        end_a, end_b = nodes.is_endpoint[a], nodes.is_endpoint[b]
        switch = (nodes.forwards == FORWARDS_ALL) & ~nodes.is_endpoint
        if (nodes.forwards[nodes.is_endpoint] == FORWARDS_ALL).any() or (end_a & end_b).any():
            return None
        other_a, other_b = ~end_a & ~switch[a], ~end_b & ~switch[b]
        if (other_a | other_b).any():
            return None
        access = end_a | end_b
        end, leaf = np.where(end_a, a, b)[access], np.where(end_a, b, a)[access]
        if (np.bincount(end, minlength=len(nodes))[nodes.is_endpoint] != 1).any():
            return None
        leaf_of_end = np.full(len(nodes), -1, np.int64)
        leaf_of_end[end] = leaf
        is_leaf = np.zeros(len(nodes), bool)
        is_leaf[leaf] = True
        a, b, rate = a[~access], b[~access], network.capacity_gbps[~access]
        if not len(a) or (is_leaf[a] & is_leaf[b]).any():
            return None
        # A leaf is below; between two switches without endpoints the one that meets a leaf is.
        meets = np.zeros(len(nodes), bool)
        meets[a[is_leaf[b]]] = meets[b[is_leaf[a]]] = True
        height = np.where(is_leaf, 0, np.where(meets, 1, 2))
        if (height[a] == height[b]).any() or (abs(height[a] - height[b]) > 1).any():
            return None
        a_below = height[a] < height[b]
        return cls(np.where(a_below, a, b), np.where(a_below, b, a), rate, is_leaf, leaf_of_end)


@dataclass(frozen=True, eq=False)
class _Blocks:
    """Complete bipartite blocks, all with ``above`` upper nodes, ``parallel`` links a pair, one rate."""

    block: Array
    n_blocks: int
    above: int
    parallel: int
    gbps: float


def _full_blocks(low: Array, high: Array, gbps: Array) -> _Blocks | None:
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    n = int(max(low.max(), high.max())) + 1
    pair, count = np.unique(low * n + high, return_counts=True)
    if (count != count[0]).any() or (gbps != gbps[0]).any() or gbps[0] <= 0:
        return None
    lower, upper = pair // n, pair % n
    _, label = connected_components(coo_array((np.ones(len(pair)), (lower, upper)), shape=(n, n)), directed=False)
    in_use = np.zeros(n, bool)
    in_use[lower] = in_use[upper] = True
    number = np.full(n, -1, np.int64)
    _, number[in_use] = np.unique(label[in_use], return_inverse=True)
    n_blocks = int(number.max()) + 1
    per_lower = np.bincount(number[np.unique(lower)], minlength=n_blocks)
    per_upper = np.bincount(number[np.unique(upper)], minlength=n_blocks)
    complete = np.bincount(number[lower], minlength=n_blocks) == per_lower * per_upper
    if not complete.all() or (per_upper != per_upper[0]).any():
        return None
    return _Blocks(number, n_blocks, int(per_upper[0]), int(count[0]), float(gbps[0]))


def _one_spine_a_pod(first: _Blocks, second: _Blocks, spine: Array) -> bool:
    """Whether each plane of cores holds exactly one spine of every pod, on single links."""
    rows = np.flatnonzero(spine)
    if second.parallel != 1 or rows.max() >= len(second.block) or (second.block[rows] < 0).any():
        return False
    together = np.unique(second.block[rows] * first.n_blocks + first.block[rows])
    return len(together) == len(rows) == second.n_blocks * first.n_blocks
