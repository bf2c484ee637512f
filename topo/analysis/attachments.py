"""Where endpoints meet the nodes that relay for everybody, and those relays with their twins folded."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topo.fabric import FORWARDS_ALL, FORWARDS_OWN_HOST
from topo.network import Network
from topo.routing.arcs import positions
from topo.table import Array
from topo.twins import equal_rows

__all__ = ["Attachments", "Quotient", "attachments", "collapse_twins", "distinct_sets", "network_parts"]


@dataclass(frozen=True, eq=False)
class Attachments:
    """Endpoints on one side, relays (nodes that forward everything) on the other.

    Entry ``i`` says: endpoint ``endpoint[i]`` (index into ``endpoints``) reaches relay ``relay[i]`` (index
    into ``relays``) over ``offset[i]`` links, relaying at most through parts of its own host. An endpoint
    that relays itself has the one entry (itself, 0). Entries are sorted by endpoint, then relay. ``inside``
    holds (endpoint, endpoint, links) triples, first below second, of endpoints joined without any such relay.
    """

    network: Network
    endpoints: NDArray[np.int64]
    relays: NDArray[np.int64]
    endpoint: NDArray[np.int64]
    relay: NDArray[np.int64]
    offset: NDArray[np.int64]
    inside: NDArray[np.int64]

    @cached_property
    def adjacency(self) -> Any:
        """Sparse relays x relays matrix of parallel-link counts."""
        index = positions(len(self.network.fabric.nodes), self.relays)
        a, b = index[self.network.a], index[self.network.b]
        both = (a >= 0) & (b >= 0)
        return _counts(a[both], b[both], len(self.relays))

    @cached_property
    def leaf_mask(self) -> NDArray[np.bool_]:
        """Which relays are leaves: switches with endpoints; relaying endpoints where no switch has any."""
        nodes = self.network.fabric.nodes
        attached = np.zeros(len(self.relays), bool)
        attached[self.relay] = True
        switch: NDArray[np.bool_] = attached & ~nodes.is_endpoint[self.relays]
        return switch if switch.any() else attached


def attachments(network: Network) -> Attachments:
    """The endpoints of a network with the relays they attach to."""
    fabric = network.fabric
    nodes = fabric.nodes
    present = np.ones(len(nodes), bool)
    if network.state is not None and network.state.node_present is not None:
        present = network.state.node_present
    full = (nodes.forwards == FORWARDS_ALL) & present
    ends = np.flatnonzero(nodes.is_endpoint & present)
    relays = np.flatnonzero(full)
    relaying = np.flatnonzero(full[ends])
    a, b = network.a, network.b
    touches = ~(full[a] & full[b])
    source = np.concatenate([a[touches], b[touches]])
    target = np.concatenate([b[touches], a[touches]])
    outward = ~full[source]  # an arc that leaves a full relay starts no endpoint's way to the relays
    source, target = source[outward], target[outward]
    end_index = positions(len(nodes), ends)
    simple = full[target] & (end_index[source] >= 0)
    comes_back = (nodes.forwards == FORWARDS_OWN_HOST) & (nodes.domain.codes >= 0)
    if simple.sum() == np.count_nonzero(end_index[source] >= 0) and not comes_back.any():
        entries = np.stack([end_index[source[simple]], target[simple], np.ones(int(simple.sum()), np.int64)])
        inside = np.empty((0, 3), np.int64)
    else:
        entries, inside = _through_hosts(network, ends, full, source, target)
    own = np.stack([relaying, ends[relaying], np.zeros(len(relaying), np.int64)])
    entries = _sorted_least(np.concatenate([own, entries], axis=1), len(nodes))
    relay_index = positions(len(nodes), relays)
    return Attachments(network, ends, relays, entries[0], relay_index[entries[1]], entries[2], inside)


def _through_hosts(network: Network, ends: Array, full: Array, source: Array, target: Array) -> tuple[Array, Array]:
    """Entries and inside pairs where hosts hold parts that relay their own host's traffic."""
    nodes = network.fabric.nodes
    n = len(nodes)
    host, own = nodes.host.codes, (nodes.forwards == FORWARDS_OWN_HOST) & (nodes.host.codes >= 0)
    same = (host[source] == host[target]) & (host[source] >= 0)
    final = nodes.is_endpoint[target] & ~full[target]
    start = nodes.is_endpoint[source] & ~full[source]
    to_relay = _counts_directed(source, target, full[target], n)
    to_own = _counts_directed(source, target, own[target] & same, n)
    to_other = _counts_directed(source, target, own[target] & ~same, n)
    first_end = _counts_directed(source, target, final & start, n)
    next_end = _counts_directed(source, target, final & same, n)
    start_rows = np.flatnonzero(~full[ends])
    here = _counts_matrix(start_rows, ends[start_rows], (len(ends), n))
    foreign = _counts_matrix(np.empty(0, int), np.empty(0, int), (len(ends), n))
    seen_here, seen_foreign = here, foreign
    to_chip, from_chip = _chip_steps(network, full, own)
    entries, pairs, step, at_chip = [], [], 0, foreign
    while here.nnz or foreign.nnz or at_chip.nnz:
        step += 1
        entries.append(_entries(here @ to_relay, step))
        reached = here @ (first_end if step == 1 else next_end) + foreign @ next_end
        pairs.append(_entries(reached, step))
        foreign = _unseen(foreign @ to_own + here @ to_other, seen_foreign)
        back = _of_own_host(at_chip @ from_chip, host[ends], host)
        at_chip = here @ to_chip
        here = _unseen(here @ to_own + back, seen_here)
        seen_here, seen_foreign = seen_here + here, seen_foreign + foreign
    end_index = positions(n, ends)
    inside = np.concatenate(pairs, axis=1)
    inside[1] = end_index[inside[1]]
    inside = _sorted_least(inside[:, inside[0] < inside[1]], len(ends))
    return np.concatenate(entries, axis=1), inside.T


def _chip_steps(network: Network, full: Array, own: Array) -> tuple[Any, Any]:
    """Links to and from the switch chips of a scale-up domain, over which a host's own traffic may come back to it."""
    nodes, n = network.fabric.nodes, len(network.fabric.nodes)
    a, b, domain = network.a, network.b, nodes.domain.codes
    mine = network.fabric.links.kind.is_any("scale_up")[network.links] & (domain[a] == domain[b]) & (domain[a] >= 0)
    up, down = mine & own[a] & full[b], mine & full[a] & own[b]
    part, chip = np.concatenate([a[up], b[down]]), np.concatenate([b[up], a[down]])
    every = np.ones(len(part), bool)
    return _counts_directed(part, chip, every, n), _counts_directed(chip, part, every, n)


def _of_own_host(matrix: Any, row_host: Array, column_host: Array) -> Any:
    """The entries whose column is a part of the host of their row."""
    coo = matrix.tocoo()
    mine = row_host[coo.row] == column_host[coo.col]
    return _counts_matrix(coo.row[mine], coo.col[mine], matrix.shape)


def _counts(a: Array, b: Array, n: int) -> Any:
    return _counts_matrix(np.concatenate([a, b]), np.concatenate([b, a]), (n, n))


def _counts_matrix(rows: Array, columns: Array, shape: tuple[int, int]) -> Any:
    from scipy.sparse import csr_array

    matrix = csr_array((np.ones(len(rows), np.int64), (rows, columns)), shape=shape)
    matrix.sum_duplicates()
    return matrix


def _counts_directed(source: Array, target: Array, mask: Array, n: int) -> Any:
    return _counts_matrix(source[mask], target[mask], (n, n))


def _entries(matrix: Any, step: int) -> NDArray[np.int64]:
    coo = matrix.tocoo()
    return np.stack([coo.row.astype(np.int64), coo.col.astype(np.int64), np.full(coo.nnz, step, np.int64)])


def _unseen(matrix: Any, seen: Any) -> Any:
    """Pattern of ``matrix`` outside the pattern of ``seen``."""
    pattern = (matrix > 0).astype(np.int64)
    left = pattern - pattern.multiply(seen > 0)
    left.eliminate_zeros()
    return left.tocsr()


def _sorted_least(entries: Array, n: int) -> Array:
    """Columns (first, second, value) sorted by first, then second, keeping the least value of equal pairs."""
    key = entries[0] * n + entries[1]
    order = np.lexsort((entries[2], key))
    key, entries = key[order], entries[:, order]
    keep = np.ones(len(key), bool)
    keep[1:] = key[1:] != key[:-1]
    kept: Array = entries[:, keep]
    return kept


@dataclass(frozen=True, eq=False)
class Quotient:
    """Relays with twins folded: ``of[v]`` is the class of relay v, ``size`` members a class.

    Twins have the same neighbours over the same numbers of links, so exchanging two of them maps the graph of
    the relays onto itself. Between two classes either all pairs of members are joined, over equally many
    links (``adjacency``), or none are; members of one class are never joined to each other.
    """

    of: NDArray[np.int64]
    size: NDArray[np.int64]
    adjacency: Any


def collapse_twins(adjacency: Any) -> Quotient:
    """Fold nodes with equal rows of a symmetric matrix without diagonal; rows are compared entry by entry."""
    matrix = adjacency.tocsr()
    matrix.sort_indices()
    twin = equal_rows(matrix.indptr, np.stack([matrix.indices, matrix.data]))
    representative, of = np.unique(twin, return_inverse=True)
    folded = matrix[representative][:, representative]
    return Quotient(of.astype(np.int64), np.bincount(of, minlength=len(representative)), folded)


def distinct_sets(owner: Array, key: Array, n_owners: int) -> tuple[Array, Array, Array]:
    """Group owners by the set of their keys; ``owner`` is sorted, each owner's keys ascend without repeats.

    Returns the set of each owner (-1: it has no key), and the sets as ``start`` (n_sets + 1) into ``keys``.
    """
    count = np.bincount(owner, minlength=n_owners)
    first = np.concatenate([[0], np.cumsum(count)])
    of = np.full(n_owners, -1, np.int64)
    starts, keys, n_sets = [np.zeros(1, np.int64)], [], 0
    for size in np.unique(count[count > 0]).tolist():
        mine = np.flatnonzero(count == size)
        table = key[first[mine][:, None] + np.arange(size)]
        code = np.zeros(len(mine), np.int64)
        for column in table.T:
            values, rank = np.unique(column, return_inverse=True)
            code = np.unique(code * len(values) + rank, return_inverse=True)[1]
        _, sample = np.unique(code, return_index=True)
        of[mine] = n_sets + code
        starts.append(np.full(len(sample), size, np.int64))
        keys.append(table[sample].ravel())
        n_sets += len(sample)
    start = np.cumsum(np.concatenate(starts))
    return of, start, np.concatenate(keys) if keys else np.empty(0, np.int64)


def network_parts(attached: Attachments) -> tuple[tuple[int, ...], int, int]:
    """Endpoints of each part that relays join, largest first; endpoints in several parts; those joined to nothing.

    Switch chips of scale-up domains count where there is nothing else; endpoints that only the inside of their host
    joins make a part of their own.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    n = len(attached.endpoints)
    chip = attached.network.fabric.nodes.kind.is_any("scale_up_switch")[attached.relays][attached.relay]
    counted = np.ones(len(chip), bool) if chip.all() else ~chip
    _, part = connected_components(attached.adjacency, directed=False)
    pairs = np.unique(np.stack([attached.endpoint, part[attached.relay].astype(np.int64)], axis=1)[counted], axis=0)
    sizes = np.bincount(pairs[:, 1])
    touches = np.bincount(pairs[:, 0], minlength=n)
    inside = attached.inside[(touches[attached.inside[:, :2]] == 0).all(axis=1)]
    joined = coo_array((np.ones(len(inside)), (inside[:, 0], inside[:, 1])), shape=(n, n))
    _, island = connected_components(joined, directed=False)
    islands = np.bincount(island[touches == 0])
    alone = int((islands == 1).sum())
    largest = tuple(sorted([*sizes[sizes > 0].tolist(), *islands[islands > 1].tolist()], reverse=True))
    return largest, int((touches > 1).sum()), alone
