"""Demands of collectives over a rank order: rings and (double) binary trees.

A placement is endpoint rows in rank order. A collective runs at one speed, so every pair wants the same rate: that at
which the busiest rank sends at the least line rate of all.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from topo.errors import ParameterError
from topo.fabric import Fabric, Selector
from topo.table import Array
from topo.traffic.demand import Demand
from topo.traffic.patterns import chosen, wanted_rates

__all__ = ["double_tree", "double_tree_parents", "ring", "tree", "tree_parents"]


def ring(fabric: Fabric, ranks: Selector = None, *, both_ways: bool = False) -> Demand:
    """Rank i sends to rank i + 1 and the last to the first, as a ring all-reduce does in every step.

    Each wants the least line rate r among the ranks; with ``both_ways`` it sends r/2 to each neighbour.

    >>> import topo
    >>> f = topo.leaf_spine(leaves=2, spines=2, hosts_per_leaf=2)
    >>> demand = ring(f, ["host-1", "host-2", "host-4"])
    >>> f.nodes.name[demand.sink].tolist()
    ['host-2', 'host-4', 'host-1']

    :raises ParameterError: fewer than two ranks, or one listed twice.
    """
    rows = chosen(fabric, ranks)
    rate = float(wanted_rates(fabric, rows).min())
    following = np.roll(rows, -1)
    if not both_ways:
        return Demand.of(fabric, f"ring of {len(rows)}", source=rows, sink=following, gbps=rate)
    source, sink = np.concatenate([rows, following]), np.concatenate([following, rows])
    return Demand.of(fabric, f"ring of {len(rows)}, both ways", source=source, sink=sink, gbps=rate / 2)


def tree(fabric: Fabric, ranks: Selector = None) -> Demand:
    """A binary tree over the ranks, reduced up and broadcast down at once: each edge is used both ways.

    The tree is :func:`tree_parents`. A rank with a parent and two children sends three messages, so each wants a
    third of the least line rate.

    >>> import topo
    >>> tree(topo.fat_tree(4, link_gbps=300), ["host-01", "host-02", "host-03", "host-05"]).gbps.tolist()
    [100.0, 100.0, 100.0, 100.0, 100.0, 100.0]

    :raises ParameterError: fewer than two ranks, or one listed twice.
    """
    rows = chosen(fabric, ranks)
    return _over_edges(fabric, f"binary tree of {len(rows)}", rows, [tree_parents(len(rows))])


def double_tree(fabric: Fabric, ranks: Selector = None) -> Demand:
    """Two binary trees over the ranks, half the data in each, where a rank inside one is a leaf of the other.

    Over four ranks or more the busiest rank sends four messages: up in both trees, down to two children in one.
    So each wants a quarter of the least line rate, and both trees together use the links a ring would (Sanders,
    Speck, Traeff 2009; the trees of :func:`double_tree_parents` are those NCCL builds over hosts).

    >>> import topo
    >>> double_tree(topo.fat_tree(4, link_gbps=400)).gbps[0].item()
    100.0

    :raises ParameterError: fewer than two ranks, or one listed twice.
    """
    rows = chosen(fabric, ranks)
    return _over_edges(fabric, f"double binary tree of {len(rows)}", rows, list(double_tree_parents(len(rows))))


def tree_parents(n: int) -> NDArray[np.int64]:
    """Parent of each of ``n`` ranks in a binary tree of logarithmic height; -1 for the root, rank 0.

    With b the lowest set bit of a rank, its parent is the rank with b cleared and 2b set, or, past the end, only
    with b cleared. Odd ranks are leaves.

    >>> tree_parents(8).tolist()
    [-1, 2, 4, 2, 0, 6, 4, 6]

    :raises ParameterError: no rank.
    """
    if n < 1:
        raise ParameterError(f"a tree over {n} ranks; it needs at least one")
    rank = np.arange(n, dtype=np.int64)
    bit = rank & -rank
    cleared = rank ^ bit
    parent = cleared | (bit << 1)
    parent = np.where(parent >= n, cleared, parent)
    parent[0] = -1
    return parent


def double_tree_parents(n: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """:func:`tree_parents` and a second tree: its mirror image for even ``n``, the ranks moved on by one for odd.

    No rank has children in both for even ``n``; for odd ``n`` rank 0 alone may.

    >>> [parents.tolist() for parents in double_tree_parents(4)]
    [[-1, 2, 0, 2], [1, 3, 1, -1]]
    """
    first = tree_parents(n)
    if n % 2 == 0:
        mirrored = first[::-1]
        return first, np.where(mirrored < 0, -1, n - 1 - mirrored)
    moved = np.roll(first, 1)
    return first, np.where(moved < 0, -1, (moved + 1) % n)


def _over_edges(fabric: Fabric, name: str, rows: Array, trees: list[NDArray[np.int64]]) -> Demand:
    """Both directions of every edge of the trees, at the rate that fills the busiest rank."""
    child = np.concatenate([np.flatnonzero(parents >= 0) for parents in trees])
    parent = np.concatenate([parents[parents >= 0] for parents in trees])
    source, sink = np.concatenate([child, parent]), np.concatenate([parent, child])
    busiest = int(np.bincount(source).max())
    rate = float(wanted_rates(fabric, rows).min()) / busiest
    return Demand.of(fabric, name, source=rows[source], sink=rows[sink], gbps=rate)
