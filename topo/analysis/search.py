"""Breadth-first search over folded relays: distances and numbers of shortest paths, many sources at once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from topo.analysis.attachments import Quotient
from topo.table import Array

__all__ = ["UNREACHED", "Found", "PathCounts", "path_counts", "search", "search_work", "tally"]

UNREACHED = 1 << 30
_CELLS = 4_000_000


@dataclass(frozen=True, slots=True)
class PathCounts:
    """Shortest paths between pairs of leaves ``hops_between_leaves`` links apart.

    Node paths differ in a node; link paths also where parallel links join the same two nodes.
    """

    hops_between_leaves: int
    n_leaf_pairs: int
    node_paths_min: float
    node_paths_median: float
    node_paths_max: float
    link_paths_min: float
    link_paths_median: float
    link_paths_max: float


class Found(NamedTuple):
    """Rows are sources, columns classes: links away, shortest node and link paths to a member of the class.

    The column of the source's own class means one of its twins, not itself.
    """

    sources: NDArray[np.int64]
    distance: NDArray[np.int32]
    node_paths: NDArray[np.float64]
    link_paths: NDArray[np.float64]


def search_work(quotient: Quotient, n_sources: int, n_targets: int) -> int:
    """Cost of a search with tallies, in steps of some 2 to 5 ns, counted before it starts.

    Each source takes every arc of the quotient once; visiting a class costs as much as 60 arcs and sorting a target
    into the tally as much as 180, as measured on fat-trees with failures and on random regular graphs.
    """
    return int(n_sources) * (int(quotient.adjacency.nnz) + 60 * len(quotient.size) + 180 * n_targets)


def search(quotient: Quotient, sources: Array) -> Iterator[Found]:
    """One member of each source class against all classes, in batches of bounded memory.

    Counts follow sigma(t) = sum over previous nodes v of size(v) sigma(v) m(v, t), with m = 1 for node paths
    and the number of parallel links for link paths. A shortest path never passes a twin of its source,
    because the twin's neighbours are the source's own; so the source stands for itself alone at level 0.
    """
    links = quotient.adjacency.astype(np.float64)
    nodes = links
    if (links.data != 1).any():
        nodes = links.copy()
        nodes.data[:] = 1.0
    n = len(quotient.size)
    batch = max(1, _CELLS // max(n, 1))
    for low in range(0, len(sources), batch):
        yield _search_batch(quotient, links, nodes, np.asarray(sources[low : low + batch], np.int64))


def _search_batch(quotient: Quotient, links: Any, nodes: Any, sources: Array) -> Found:
    from scipy.sparse import csr_array

    b, n = len(sources), len(quotient.size)
    size = quotient.size.astype(np.float64)
    distance = np.full((b, n), UNREACHED, np.int32)
    node_paths, link_paths = np.zeros((b, n)), np.zeros((b, n))
    distance[np.arange(b), sources] = 0
    start, column = np.arange(b + 1), sources
    by_node = by_link = np.ones(b)
    level = 0
    while len(column):
        level += 1
        frontier = csr_array((by_node, column, start), shape=(b, n)) @ nodes
        # Where no links are parallel both are one product.
        parallel = frontier if links is nodes else csr_array((by_link, column, start), shape=(b, n)) @ links
        if not np.array_equal(frontier.indices, parallel.indices):  # one pattern, so in practice one order
            frontier.sort_indices()
            parallel.sort_indices()
        row = np.repeat(np.arange(b), np.diff(frontier.indptr))
        new = distance[row, frontier.indices] == UNREACHED
        row, column = row[new], frontier.indices[new]
        by_node, by_link = frontier.data[new], parallel.data[new]
        distance[row, column] = level
        node_paths[row, column], link_paths[row, column] = by_node, by_link
        by_node, by_link = by_node * size[column], by_link * size[column]
        start = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=b))])
    _to_twins(quotient, sources, distance, node_paths, link_paths)
    return Found(sources, distance, node_paths, link_paths)


def _to_twins(quotient: Quotient, sources: Array, distance: Array, node_paths: Array, link_paths: Array) -> None:
    """Twins are two links apart, over every common neighbour: all the neighbours they have."""
    matrix = quotient.adjacency[sources].astype(np.float64)
    size = quotient.size.astype(np.float64)
    own = (np.arange(len(sources)), sources)
    distance[own] = np.where(np.diff(matrix.indptr) > 0, 2, UNREACHED)
    node_paths[own] = (matrix > 0).astype(np.float64) @ size
    link_paths[own] = matrix.multiply(matrix).tocsr() @ size


def tally(found: Found, leaves: Array) -> Array:
    """Distinct (hops, node paths, link paths) with their ordered leaf pairs, one row each."""
    targets = np.flatnonzero(leaves)
    rows = np.flatnonzero(leaves[found.sources])
    weight = leaves[found.sources[rows]][:, None] * leaves[targets][None, :]
    weight = weight - np.where(found.sources[rows][:, None] == targets[None, :], leaves[targets][None, :], 0)
    block = np.ix_(rows, targets)
    hops, by_node, by_link = found.distance[block], found.node_paths[block], found.link_paths[block]
    keep = (weight > 0) & (hops < UNREACHED)
    table = np.stack([hops[keep].astype(float), by_node[keep], by_link[keep]], axis=1)
    return _merged(table, weight[keep].astype(float))


def _merged(table: Array, weight: Array) -> Array:
    if not len(table):
        return np.empty((0, 4))
    order = np.lexsort(table.T[::-1])
    table = table[order]
    first = np.ones(len(table), bool)
    first[1:] = (table[1:] != table[:-1]).any(axis=1)
    total = np.add.reduceat(weight[order], np.flatnonzero(first))
    return np.column_stack([table[first], total])


def path_counts(tallies: list[Array], scale: float) -> tuple[PathCounts, ...]:
    """Tallies summed up by hops; ``scale`` turns pairs seen in a sample into pairs there are."""
    everything = np.concatenate([np.empty((0, 4)), *tallies])
    counts = []
    for hops in np.unique(everything[:, 0]):
        here = everything[everything[:, 0] == hops]
        pairs = round(float(here[:, 3].sum()) * scale / 2)
        counts.append(PathCounts(int(hops), pairs, *_spread(here[:, 1], here[:, 3]), *_spread(here[:, 2], here[:, 3])))
    return tuple(counts)


def _spread(values: Array, weight: Array) -> tuple[float, float, float]:
    order = np.argsort(values)
    values, running = values[order], np.cumsum(weight[order])
    total = running[-1]
    low = values[np.searchsorted(running, (total - 1) // 2, side="right")]
    high = values[np.searchsorted(running, total // 2, side="right")]
    return _plain(values[0]), _plain((low + high) / 2), _plain(values[-1])


def _plain(value: float) -> float:
    return int(value) if float(value).is_integer() else float(value)
