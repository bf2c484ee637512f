"""The tree of blocks of a tiered fabric: what the lower bound selects switches from.

A *base* is a switch together with the units that hang on it alone, or a unit of several links. Tiers are distances
from the units, so a switch with units of its own stands beside the leaves of units with several links. A *block* of
tier t is a connected part of the vertices up to tier t, represented by its switches of tier t. Bases and
blocks are the elements of the tree; the root is the first block that holds every unit.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import connected_components

from topo.analysis.bisection.problem import Problem
from topo.table import Array

__all__ = ["Bases", "BlockTree", "find_bases", "grow_tree", "joined_apart", "tiers_of", "tree_of"]


@dataclass(frozen=True, eq=False)
class Bases:
    """Bases and their unit classes; vertices beyond the problem's are virtual leaves (see :func:`find_bases`).

    Units of one class hang on one base by links of the same rate ``class_cost`` and hold ``class_weight`` endpoints.
    ``edge_*`` are the bundles between bases and switches.
    """

    n_vertices: int
    vertex: NDArray[np.int64]
    class_base: NDArray[np.int64]
    class_cost: NDArray[np.float64]
    class_weight: NDArray[np.int64]
    class_count: NDArray[np.int64]
    class_of_unit: NDArray[np.int64]
    edge_a: NDArray[np.int64]
    edge_b: NDArray[np.int64]
    capacity: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class BlockTree:
    """Elements 0..n_bases-1 are bases, then blocks tier by tier; ``parent`` is -1 at the root, the last element.

    ``element`` gives the element each vertex represents, -1 for those above the root. Edges are those between an
    element and its parent, from ``edge_low`` up to ``edge_high``.
    """

    bases: Bases
    parent: NDArray[np.int64]
    tier_of_element: NDArray[np.int64]
    element: NDArray[np.int64]
    edge_low: NDArray[np.int64]
    edge_high: NDArray[np.int64]
    edge_gbps: NDArray[np.float64]

    @property
    def n_bases(self) -> int:
        """Number of bases."""
        return len(self.bases.vertex)

    @property
    def root(self) -> int:
        """The element that holds every unit."""
        return len(self.parent) - 1


def find_bases(problem: Problem) -> Bases | None:
    """Bases of a problem, none adjacent to another; ``None`` where the fabric has no tiers to speak of.

    A switch with units that touches another such switch is given a virtual leaf that takes its units, joined by
    their summed rate: an equal problem. Where most switches would need that (tori, random graphs) there are no tiers.
    """
    n_units, n = problem.n_units, problem.n_vertices
    a, b, c = problem.edge_a, problem.edge_b, problem.capacity
    links = np.bincount(a, minlength=n) + np.bincount(b, minlength=n)
    single = np.zeros(n, bool)
    single[:n_units] = links[:n_units] == 1
    hang = (single[a] & (b >= n_units)) | (single[b] & (a >= n_units))
    unit = np.where(single[a[hang]], a[hang], b[hang])
    host = np.where(single[a[hang]], b[hang], a[hang])
    owner = np.arange(n_units)
    cost = problem.injection.copy()
    owner[unit], cost[unit] = host, c[hang]
    edge_a, edge_b, capacity = a[~hang], b[~hang], c[~hang]
    demoted = _demoted(n, np.unique(owner), edge_a, edge_b, capacity, np.bincount(owner, minlength=n))
    if demoted is None:
        return None
    n_total = n + len(demoted)
    if len(demoted):
        virtual = np.full(n, -1)
        virtual[demoted] = n + np.arange(len(demoted))
        moved = virtual[owner] >= 0
        total = np.bincount(owner[moved], cost[moved], n)[demoted]
        owner[moved] = virtual[owner[moved]]
        edge_a = np.concatenate([edge_a, demoted])
        edge_b = np.concatenate([edge_b, virtual[demoted]])
        capacity = np.concatenate([capacity, total])
    vertex, base = np.unique(owner, return_inverse=True)
    keys = np.stack([base.astype(float), cost, problem.weight.astype(float)], axis=1)
    order = np.lexsort(keys.T[::-1])
    fresh = np.append(True, (np.diff(keys[order], axis=0) != 0).any(axis=1))
    class_of_unit = np.empty(n_units, np.int64)
    class_of_unit[order] = np.cumsum(fresh) - 1
    first = order[fresh]
    return Bases(
        n_total,
        vertex,
        base[first],
        cost[first],
        problem.weight[first],
        np.bincount(class_of_unit),
        class_of_unit,
        edge_a,
        edge_b,
        capacity,
    )


def _demoted(n: int, bases: Array, a: Array, b: Array, c: Array, hosts: Array) -> Array | None:
    """Bases to be given a virtual leaf so that no two are adjacent: those best joined to others, host for host."""
    is_base = np.zeros(n, bool)
    is_base[bases] = True
    between = is_base[a] & is_base[b]
    if not between.any():
        return np.empty(0, np.int64)
    joint = csr_array((c[between], (a[between], b[between])), shape=(n, n))
    joint = (joint + joint.T).tocsr()
    to_bases = np.asarray(joint.sum(axis=1)).ravel()
    if (to_bases > 0).sum() > max(4, len(bases) // 3):
        return None
    removed: list[int] = []
    while True:
        ratio = np.where(to_bases > 1e-12, to_bases / np.maximum(hosts, 1), -1.0)
        worst = int(ratio.argmax())
        if ratio[worst] <= 0:
            return np.array(sorted(removed), np.int64)
        removed.append(worst)
        row = slice(joint.indptr[worst], joint.indptr[worst + 1])
        to_bases[joint.indices[row]] -= joint.data[row]
        to_bases[worst] = 0.0
        joint.data[row] = 0.0
        to_bases[np.asarray(removed)] = 0.0


def joined_apart(bases: Bases) -> Bases:
    """The bases with one more vertex, the last, that no link reaches: the root where separate parts are one tree."""
    return replace(bases, n_vertices=bases.n_vertices + 1)


def grow_tree(bases: Bases, *, apart: bool = False) -> BlockTree | None:
    """The block tree over the bases; ``None`` where the switches above never join them all.

    With ``apart`` the bases come from :func:`joined_apart` and what stays separate hangs on their last vertex.
    """
    n = bases.n_vertices
    tier = tiers_of(bases)
    base_tier = tier[bases.vertex]
    element = np.full(n, -1, np.int64)
    n_bases = len(bases.vertex)
    element[bases.vertex] = np.arange(n_bases)
    parent: list[Array] = [np.full(n_bases, -1, np.int64)]
    tiers: list[Array] = [base_tier]
    active, anchor = np.arange(n_bases), bases.vertex
    n_elements = n_bases
    if n_bases == 1:
        return _finished(bases, parent[0], tiers[0], element, 0)
    for t in range(2, int(tier.max(initial=1)) + 1):
        inside = (tier[bases.edge_a] <= t) & (tier[bases.edge_b] <= t)
        graph = coo_array(
            (np.ones(int(inside.sum()), np.int8), (bases.edge_a[inside], bases.edge_b[inside])), shape=(n, n)
        )
        _, part = connected_components(graph, directed=False)
        new = (tier == t) & (element < 0)
        if not new.any():
            continue
        grown, index = np.unique(part[new], return_inverse=True)
        element[new] = n_elements + index
        lookup = np.full(int(part.max()) + 1, -1)
        lookup[grown] = n_elements + np.arange(len(grown))
        joined = lookup[part[anchor]]
        all_parents = np.concatenate(parent)
        all_parents[active] = joined
        parent = [all_parents, np.full(len(grown), -1, np.int64)]
        tiers.append(np.full(len(grown), t))
        first = np.unique(index, return_index=True)[1]
        left = joined < 0
        active = np.concatenate([active[left], n_elements + np.arange(len(grown))])
        anchor = np.concatenate([anchor[left], np.flatnonzero(new)[first]])
        n_elements += len(grown)
        if len(active) == 1:
            return _finished(bases, np.concatenate(parent), np.concatenate(tiers), element, int(active[0]))
    if not apart:
        return None
    all_parents, top = np.concatenate(parent), int(tier.max(initial=1)) + 1
    all_parents[active] = n_elements
    element[n - 1] = n_elements
    return _finished(bases, np.append(all_parents, -1), np.append(np.concatenate(tiers), top), element, n_elements)


def tree_of(problem: Problem) -> BlockTree | None:
    """The block tree of a problem, where it has tiers."""
    bases = find_bases(problem)
    return grow_tree(bases) if bases is not None else None


def tiers_of(bases: Bases) -> Array:
    """Tier of every vertex: units 1, switches that units hang on 2 (1 where none is a unit), then distance from these.

    0 for vertices that are not reached.
    """
    n = bases.n_vertices
    unreached = np.iinfo(np.int64).max
    tier = np.full(n, unreached)
    is_unit = bases.vertex < len(bases.class_of_unit)
    tier[bases.vertex] = np.where(is_unit | (not is_unit.any()), 1, 2)
    t = 1
    while True:
        at = (tier == t, tier == unreached)
        reached = np.concatenate(
            [
                bases.edge_b[at[0][bases.edge_a] & at[1][bases.edge_b]],
                bases.edge_a[at[0][bases.edge_b] & at[1][bases.edge_a]],
            ]
        )
        if not reached.size and t > 1:
            tier[tier == unreached] = 0
            return tier
        t += 1
        tier[reached] = t


def _finished(bases: Bases, parent: Array, tiers: Array, element: Array, root: int) -> BlockTree:
    """Renumber so that the root is last and drop what hangs beside or above it."""
    keep = np.zeros(len(parent), bool)
    keep[: len(bases.vertex)] = True
    for t in range(2, int(tiers.max()) + 1):
        used = parent[keep & (tiers == t - 1)]
        keep[used[used >= 0]] = True
    keep[root] = True
    renumber = np.where(keep, np.cumsum(keep) - 1, -1)
    new_parent = np.where(parent >= 0, renumber[parent], -1)[keep]
    new_element = np.where(element >= 0, renumber[element], -1)
    a, b = bases.edge_a, bases.edge_b
    up, down = _is_child(new_parent, new_element, a, b), _is_child(new_parent, new_element, b, a)
    low, high = np.concatenate([a[up], b[down]]), np.concatenate([b[up], a[down]])
    gbps = np.concatenate([bases.capacity[up], bases.capacity[down]])
    return BlockTree(bases, new_parent, tiers[keep], new_element, low, high, gbps)


def _is_child(parent: Array, element: Array, low: Array, high: Array) -> Array:
    """Whether the element of ``low`` is a child of the element of ``high``."""
    known = (element[low] >= 0) & (element[high] >= 0)
    child: Array = known & (parent[element[low]] == element[high])
    return child
