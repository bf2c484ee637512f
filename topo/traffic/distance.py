"""Switch hops between endpoints, with endpoints and switches of equal neighbours folded.

The hops of a pair are the links between relays (nodes that forward everything) on its shortest path; the links that
join endpoints and parts of hosts to relays do not count.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topo.fabric import FORWARDS_ALL, FORWARDS_OWN_HOST, Fabric, State
from topo.network import Network
from topo.table import Array

__all__ = ["LeafGroups", "equal_rows", "leaf_groups"]

_MOST_CELLS = 200_000_000


@dataclass(frozen=True, eq=False)
class LeafGroups:
    """Endpoints grouped by the set of relays they attach to; groups alike in place folded into classes.

    ``group[i]`` is the group of the fabric's i-th endpoint (-1: attached to no relay), ``of[g]`` the class of
    group g. ``hops[a, b]`` is the least number of relay-to-relay links from a group of class a to another group of
    class b, -1 where no path joins them; on the diagonal that between two different groups of one class. Inside a
    group it is 0.
    """

    group: NDArray[np.int64]
    of: NDArray[np.int64]
    hops: NDArray[np.int16]

    def between(self, source: Array, sink: Array) -> NDArray[np.int64]:
        """Hops of each pair of groups; -1 where there is no path, or a group is -1."""
        a, b = self.of[source], self.of[sink]
        hops = np.where(source == sink, 0, self.hops[a, b].astype(np.int64))
        return np.where((source < 0) | (sink < 0), -1, hops)


def leaf_groups(fabric: Fabric, *, state: State | None = None) -> LeafGroups:
    """The groups of a fabric's endpoints with the hops between them.

    >>> import topo
    >>> groups = leaf_groups(topo.fat_tree(4))
    >>> len(groups.of), groups.hops.tolist()
    (8, [[2, 4, 4, 4], [4, 2, 4, 4], [4, 4, 2, 4], [4, 4, 4, 2]])

    :raises MemoryError: more than 200 million pairs of classes.
    """
    network = Network.of(fabric, state=state)
    nodes = fabric.nodes
    relay = nodes.forwards == FORWARDS_ALL
    if state is not None and state.node_present is not None:
        relay &= state.node_present
    relays = np.flatnonzero(relay)
    number = np.full(len(nodes), -1, np.int64)
    number[relays] = np.arange(len(relays))
    attached = _attached(network, relay, number)
    matrix = _matrix(attached[0], attached[1], (len(fabric.endpoints), len(relays)))
    first, group = equal_rows(matrix)
    bare = np.diff(matrix.indptr)[first] == 0
    kept = np.cumsum(~bare) - 1
    group = np.where(bare[group], -1, kept[group])
    first = first[~bare]
    both = relay[network.a] & relay[network.b]
    a, b = number[network.a[both]], number[network.b[both]]
    adjacency = _matrix(np.concatenate([a, b]), np.concatenate([b, a]), (len(relays), len(relays)))
    return _folded(group, matrix[first], adjacency)


def equal_rows(matrix: Any) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rows of a sparse matrix of ones with equal columns: a first member of every class, and the class of every row."""
    matrix.sort_indices()
    n, width = matrix.shape
    degree = np.diff(matrix.indptr)
    weight = np.random.default_rng(0).integers(1, 2**63, width, dtype=np.uint64)
    with np.errstate(over="ignore"):
        running = np.concatenate([np.zeros(1, np.uint64), np.cumsum(weight[matrix.indices], dtype=np.uint64)])
        code = running[matrix.indptr[1:]] - running[matrix.indptr[:-1]]
    _, first, inverse = np.unique(code, return_index=True, return_inverse=True)
    twin = first[inverse]
    # The code proposes; a row that differs from the proposed twin stands alone.
    equal = degree == degree[twin]
    rows = np.repeat(np.arange(n), degree)
    within = np.arange(len(rows)) - matrix.indptr[rows]
    other = np.minimum(matrix.indptr[twin[rows]] + within, max(len(rows) - 1, 0))
    equal[rows[matrix.indices != matrix.indices[other]]] = False
    twin = np.where(equal, twin, np.arange(n))
    members, of = np.unique(twin, return_inverse=True)
    return members.astype(np.int64), of.astype(np.int64)


def _attached(network: Network, relay: Array, number: Array) -> tuple[Array, Array]:
    """Pairs (endpoint, relay): by a link of its own, through parts of its own host, or the endpoint itself."""
    fabric = network.fabric
    nodes, ends = fabric.nodes, fabric.endpoints
    index = np.full(len(nodes), -1, np.int64)
    index[ends] = np.arange(len(ends))
    source = np.concatenate([network.a, network.b])
    target = np.concatenate([network.b, network.a])
    outward = ~relay[source] & relay[target]
    source, target = source[outward], target[outward]
    host = nodes.host.codes.astype(np.int64)
    opened = np.zeros(len(nodes.host.labels) + 1, bool)
    opened[host[(nodes.forwards == FORWARDS_OWN_HOST) & (host >= 0)]] = True
    shared = opened[host[source]]
    direct = (index[source] >= 0) & ~shared
    itself = ends[relay[ends]]
    end = [index[source[direct]], index[itself]]
    to = [number[target[direct]], number[itself]]
    if shared.any():
        part = np.unique(np.stack([host[source[shared]], number[target[shared]]]), axis=1)
        inside = ends[(host[ends] >= 0) & ~relay[ends]]
        n_hosts, n_relays = len(nodes.host.labels), int(number.max()) + 1
        of_host = _matrix(index[inside], host[inside], (len(ends), n_hosts))
        pairs = (of_host @ _matrix(part[0], part[1], (n_hosts, n_relays))).tocoo()
        end.append(pairs.row.astype(np.int64))
        to.append(pairs.col.astype(np.int64))
    return np.concatenate(end), np.concatenate(to)


def _folded(group: NDArray[np.int64], places: Any, adjacency: Any) -> LeafGroups:
    """Classes of groups by the classes of the relays they attach to, and the hops between those."""
    from scipy.sparse.csgraph import shortest_path

    relay_first, relay_of = equal_rows(adjacency)
    n_classes = len(relay_first)
    folded = adjacency[relay_first][:, relay_first]
    owner = np.repeat(np.arange(places.shape[0]), np.diff(places.indptr))
    class_matrix = _matrix(owner, relay_of[places.indices], (places.shape[0], n_classes))
    # Two groups share no relay unless some relay has several; such groups are not folded.
    shares = np.zeros(places.shape[0], bool)
    crowded = np.bincount(places.indices, minlength=places.shape[1]) > 1
    shares[owner[crowded[places.indices]]] = True
    first, of = equal_rows(class_matrix)
    if shares.any():
        first, of = np.arange(places.shape[0]), np.arange(places.shape[0])
    if len(first) ** 2 > _MOST_CELLS:
        raise MemoryError(f"{len(first):,} classes of leaves are too many to list their distances")
    used = np.unique(class_matrix.indices)
    distance = shortest_path(folded, unweighted=True, indices=used)[:, used] if len(used) else np.zeros((0, 0))
    # Two different relays of one class have their neighbours in common, two links apart.
    has_twin = np.bincount(relay_of, minlength=n_classes)[used] > 1
    joined = np.diff(folded.indptr)[used] > 0
    hops = np.full((len(first), len(first)), np.inf)
    position = np.full(n_classes, -1, np.int64)
    position[used] = np.arange(len(used))
    slots = _slots(class_matrix[first] if not shares.any() else class_matrix, position)
    own_distance = distance.copy()
    np.fill_diagonal(own_distance, np.where(has_twin & joined, 2.0, np.inf))
    for one in slots.T:
        for other in slots.T:
            valid = (one >= 0)[:, None] & (other >= 0)[None, :]
            np.minimum(hops, np.where(valid, own_distance[np.ix_(one, other)], np.inf), out=hops)
    if shares.any():
        hops[(places @ places.T).toarray() > 0] = 0
    return LeafGroups(group, of, np.where(np.isfinite(hops), hops, -1).astype(np.int16))


def _slots(matrix: Any, position: Array) -> Array:
    """The classes of each row as a table, -1 where a row has fewer."""
    degree = np.diff(matrix.indptr)
    table = np.full((matrix.shape[0], int(degree.max(initial=0))), -1, np.int64)
    rows = np.repeat(np.arange(matrix.shape[0]), degree)
    table[rows, np.arange(len(rows)) - matrix.indptr[rows]] = position[matrix.indices]
    return table


def _matrix(rows: Array, columns: Array, shape: tuple[int, int]) -> Any:
    from scipy.sparse import csr_array

    matrix = csr_array((np.ones(len(rows), np.int32), (rows, columns)), shape=shape)
    matrix.sum_duplicates()
    matrix.data[:] = 1
    matrix.sort_indices()
    return matrix
