"""Through which adapter of its host an accelerator sends: the nearest over the links inside the host."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from topo.fabric import FORWARDS_ALL
from topo.placement.fold import Hosts
from topo.table import Array

__all__ = ["adapter_owners"]

_MOST_STEPS = 8


def adapter_owners(hosts: Hosts) -> NDArray[np.int64] | None:
    """For every node the endpoint (its position among the hosts' endpoints) that it is the adapter of; -1 for none.

    An adapter belongs to the accelerator nearest to it over the links inside the host, among equally near ones to that
    of its own index; where the inside is not modelled to that of its index. None where an endpoint would have no
    adapter, so that those of a host share them.
    """
    nodes, ends, links = hosts.fabric.nodes, hosts.endpoint, hosts.fabric.links
    if (nodes.host.codes[ends] < 0).any():
        return None
    network = hosts.network
    outward = links.kind.is_any("access", "scale_out")[network.links]
    touched = np.zeros(len(nodes), bool)
    touched[network.a[outward]] = touched[network.b[outward]] = True
    adapter = np.flatnonzero(touched & (nodes.forwards != FORWARDS_ALL) & (nodes.host.codes >= 0))
    owner = np.full(len(nodes), -1, np.int64)
    for found in (_nearest(hosts, adapter), _by_index(hosts, adapter)):
        if found is None:
            continue
        owner[adapter] = found
        if len(np.unique(found[found >= 0])) == len(ends):
            return owner
    return None


def _by_index(hosts: Hosts, adapter: Array) -> NDArray[np.int64] | None:
    """The endpoint of each adapter's host with its local index; -1 where there is none."""
    nodes, ends = hosts.fabric.nodes, hosts.endpoint
    width = int(nodes.local_index.max(initial=-1)) + 1
    if (nodes.local_index[ends] < 0).any() or width < 1:
        return None
    table = np.full((len(nodes.host.labels), width), -1, np.int64)
    table[nodes.host.codes[ends], nodes.local_index[ends]] = np.arange(len(ends))
    index = nodes.local_index[adapter]
    return np.where(index >= 0, table[nodes.host.codes[adapter], np.maximum(index, 0)], -1)


def _nearest(hosts: Hosts, adapter: Array) -> NDArray[np.int64] | None:
    """The endpoint fewest links inside the host away from each adapter; -1 where none is reached."""
    from scipy.sparse import coo_array

    fabric, ends = hosts.fabric, hosts.endpoint
    nodes, inner = fabric.nodes, fabric.links.kind.is_any("host_io")
    if not inner.any() or not len(adapter):
        return None
    a, b = fabric.link_a[inner].astype(np.int64), fabric.link_b[inner].astype(np.int64)
    n = len(nodes)
    step = coo_array((np.ones(2 * len(a)), (np.concatenate([a, b]), np.concatenate([b, a]))), shape=(n, n)).tocsr()
    place = np.full(n, -1, np.int64)
    place[ends] = np.arange(len(ends))
    found = np.full(len(adapter), -1, np.int64)
    at = coo_array((np.ones(len(adapter)), (np.arange(len(adapter)), adapter)), shape=(len(adapter), n)).tocsr()
    index, own = nodes.local_index.astype(np.int64), nodes.local_index[adapter].astype(np.int64)
    for _ in range(_MOST_STEPS):  # one link further each time, for the adapters that have met no accelerator
        at = at @ step
        at.data[:] = 1.0
        reached = at.tocoo()
        hit = (place[reached.col] >= 0) & (found[reached.row] < 0)
        row, end = reached.row[hit], reached.col[hit]
        order = np.lexsort((place[end], index[end] != own[row], row))
        first, pick = np.unique(row[order], return_index=True)
        found[first] = place[end[order][pick]]
        if (found >= 0).all():
            break
    return found
