"""The merged graph that an optimal flow runs on: where traffic starts and ends, and which nodes and links are one.

Endpoints that hang on one relay are folded into it: their traffic has one way in and out, so their own links bound
theta by themselves. Relays with the same neighbours at the same rates are folded into one: exchanging them changes
nothing, so some best flow loads them alike. Every other node that does not forward for everybody stands twice, once
where traffic starts and once where it ends, and nothing leads from the second to the first: so no flow relays through
an idle host. Arcs of one ordered node pair share one resource, the sum of their links.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topo.fabric import FORWARDS_ALL, FORWARDS_NOTHING, FORWARDS_OWN_HOST
from topo.network import Network
from topo.table import Array

__all__ = ["Places", "places_of"]


@dataclass(frozen=True, eq=False)
class Places:
    """Where traffic starts and ends on the merged graph.

    ``start[v]`` and ``end[v]`` are the graph's nodes for fabric node v, -1 where there is none. ``folded`` marks
    endpoints that stand for nothing of their own. Arc ``i`` leads from ``tail[i]`` to ``head[i]`` and loads
    ``resource[i]`` (-1: nothing); ``capacity`` is per resource, ``link_arc`` and ``link_resource`` pair fabric
    arcs with the resources they belong to.
    """

    network: Network
    n: int
    start: NDArray[np.int64]
    end: NDArray[np.int64]
    folded: NDArray[np.bool_]
    tail: NDArray[np.int64]
    head: NDArray[np.int64]
    resource: NDArray[np.int64]
    capacity: NDArray[np.float64]
    link_arc: NDArray[np.int64]
    link_resource: NDArray[np.int64]

    def lengths_of_arcs(self, lengths: Array) -> NDArray[np.float64]:
        """The length of each arc from those of the resources; arcs without one have length 0."""
        return np.append(lengths, 0.0)[self.resource]

    def matrix(self, values: Array) -> Any:
        """Sparse n x n matrix of one value an arc; arcs are distinct node pairs."""
        from scipy.sparse import csr_array

        return csr_array((values, (self.tail, self.head)), shape=(self.n, self.n))


def places_of(network: Network, *, pxn: bool = True, fold_relays: bool = True) -> Places:
    """The merged graph of a network; with ``pxn`` accelerators relay for others of their own host."""
    fabric = network.fabric
    nodes = fabric.nodes
    forwards = nodes.forwards.astype(np.int64)
    if not pxn:
        forwards = np.where(nodes.kind.is_any("accelerator") & (forwards == FORWARDS_OWN_HOST), 0, forwards)
    present = np.ones(len(nodes), bool)
    if network.state is not None and network.state.node_present is not None:
        present = network.state.node_present
    host = nodes.host.codes.astype(np.int64)
    relay = (forwards == FORWARDS_ALL) & present & ~_inner_chips(network, forwards, host)
    part = ~relay & (forwards != FORWARDS_NOTHING) & (host >= 0)
    same = np.arange(len(nodes))
    if fold_relays:
        same = _twins(network, relay & ~nodes.is_endpoint)
    leaf = _only_relay(network, relay, same)
    folded = nodes.is_endpoint & ~relay & ~part & (leaf >= 0)
    start = np.full(len(nodes), -1, np.int64)
    relays = np.flatnonzero(relay & (same == np.arange(len(nodes))))
    start[relays] = np.arange(len(relays))
    start[relay] = start[same[relay]]
    end = start.copy()
    twice = np.flatnonzero(~relay & ~folded & present)
    start[twice] = len(relays) + np.arange(len(twice))
    end[twice] = len(relays) + len(twice) + np.arange(len(twice))
    start[folded] = end[folded] = start[leaf[folded]]
    n = len(relays) + 2 * len(twice)
    tail, head, arc, resource, capacity = _arcs(network, relay, part, folded, host, same, start, end)
    through = np.flatnonzero(part & present)
    tail = np.concatenate([tail, start[through]])
    head = np.concatenate([head, end[through]])
    of = np.concatenate([resource[1], np.full(len(through), -1, np.int64)])
    pair = tail * n + head
    _, first = np.unique(pair, return_index=True)
    return Places(network, n, start, end, folded, tail[first], head[first], of[first], capacity, arc, resource[0])


def _inner_chips(network: Network, forwards: Array, host: Array) -> NDArray[np.bool_]:
    """Switch chips inside a host that touch nothing else: they relay its own traffic only, whatever they could."""
    fabric = network.fabric
    chip: NDArray[np.bool_] = (forwards == FORWARDS_ALL) & (host >= 0) & ~fabric.nodes.is_endpoint
    if not chip.any():
        return chip
    outward = host[network.a] != host[network.b]
    chip[network.a[outward]] = False
    chip[network.b[outward]] = False
    return chip


def _only_relay(network: Network, relay: Array, same: Array) -> NDArray[np.int64]:
    """The one relay that all links of a node lead to; -1 where there are none or several, or other nodes."""
    n = len(relay)
    node = np.concatenate([network.a, network.b])
    other = same[np.concatenate([network.b, network.a])]
    lowest, highest = np.full(n, n, np.int64), np.full(n, -1, np.int64)
    np.minimum.at(lowest, node, other)
    np.maximum.at(highest, node, other)
    one = (lowest == highest) & relay[np.minimum(lowest, n - 1)]
    return np.where(one, highest, -1)


def _arcs(
    network: Network, relay: Array, part: Array, folded: Array, host: Array, same: Array, start: Array, end: Array
) -> tuple[Array, Array, Array, tuple[Array, Array], Array]:
    """Arcs of the graph: tail, head; the fabric arcs with their resources; the resource of each arc; capacities."""
    links, capacity = network.links, network.capacity_gbps
    a = same[np.concatenate([network.a, network.b])]
    b = same[np.concatenate([network.b, network.a])]
    arc = np.concatenate([2 * links, 2 * links + 1])
    rate = np.concatenate([capacity, capacity])
    keep = ~(folded[a] | folded[b])
    a, b, arc, rate = a[keep], b[keep], arc[keep], rate[keep]
    pairs, resource = np.unique(a * len(relay) + b, return_inverse=True)
    total = np.bincount(resource, weights=rate, minlength=len(pairs)).astype(float)
    u, v = pairs // len(relay), pairs % len(relay)
    within = ~relay[u] & ~relay[v] & (host[u] == host[v]) & (host[u] >= 0)
    moves = [
        (start, start, relay[v] | (within & part[v])),  # towards the fabric
        (start, end, ~relay[v] & ~(within & part[v])),  # out of the fabric, or straight to an end
        (end, end, within & part[u]),  # inside the host where it ends
    ]
    tail = np.concatenate([from_[u[mine]] for from_, _, mine in moves])
    head = np.concatenate([to[v[mine]] for _, to, mine in moves])
    of = np.concatenate([np.flatnonzero(mine) for _, _, mine in moves])
    return tail, head, arc, (resource, of), total


def _twins(network: Network, mask: Array) -> NDArray[np.int64]:
    """For every node the first of those in ``mask`` with its neighbours at its rates, folded until none are alike."""
    from scipy.sparse import csr_array

    from topo.analysis.attachments import collapse_twins

    n = len(mask)
    same = np.arange(n)
    both = np.concatenate([network.capacity_gbps, network.capacity_gbps])
    while True:
        a, b = same[network.a], same[network.b]
        # A present link of rate 0 is a neighbour too.
        rate = csr_array((both + 1e-9, (np.concatenate([a, b]), np.concatenate([b, a]))), shape=(n, n))
        rate.sum_duplicates()
        group = collapse_twins(rate).of * 2 + mask
        _, first, inverse = np.unique(group, return_index=True, return_inverse=True)
        alone = ~mask | (same != np.arange(n))
        merged = np.where(alone, np.arange(n), first[inverse])
        following = merged[same]
        if np.array_equal(following, same):
            return same
        same = following
