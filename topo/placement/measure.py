"""What a placed job puts on the placement tree: classes of endpoints, traffic between them, cuts at every node."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topo.fabric import FORWARDS_ALL
from topo.placement.adapters import adapter_owners
from topo.placement.fold import Hosts, fold
from topo.placement.job import Job
from topo.placement.placement import Placement
from topo.placement.traffic import Traffic
from topo.placement.tree import Tree
from topo.table import Array, freeze

__all__ = ["EndTree", "Measured", "end_tree", "measured", "physical_rail"]

_ROWS_AT_ONCE = 256


@dataclass(frozen=True, eq=False)
class EndTree:
    """The placement tree over endpoints instead of hosts: where rails are separate each rail has leaves of its own.

    ``leaf[v]`` is the leaf group of node row v (-1: none), ``rail[v]`` the rail its leaves stand for, ``reaches`` the
    sparse matrix (leaf groups, parts) of the parts of the network a group's ports touch: two groups without a common
    part have no path between them. ``line_gbps[v]`` is what an endpoint can send to switches (nan: unknown).
    """

    hosts: Hosts
    leaf: NDArray[np.int64]
    rail: NDArray[np.int64]
    n_rails: int
    tree: Tree
    reaches: Any
    line_gbps: NDArray[np.float64]

    @cached_property
    def hops(self) -> NDArray[np.float64]:
        """Links between the leaves of every two leaf groups on a shortest path; -1 where there is none."""
        return _hops(self)

    @cached_property
    def has_no_switch(self) -> bool:
        """Whether no switch joins the hosts: endpoints forward for each other, as in a torus."""
        return not bool((self.hosts.leaf_switches > 0).any())

    @cached_property
    def hosts_relay(self) -> bool:
        """Whether every endpoint passes on what is for others, so that a path need not touch a switch."""
        return bool((self.hosts.fabric.nodes.forwards[self.hosts.endpoint] == FORWARDS_ALL).all())

    @cached_property
    def separate_rails(self) -> bool:
        """Whether the endpoints of a host attach to different leaves."""
        own = self.leaf[self.hosts.endpoint]
        first = np.repeat(own[self.hosts.start[:-1]], self.hosts.size)
        return bool((own != first).any())


def _hops(ends: EndTree) -> NDArray[np.float64]:
    from topo.traffic.distance import leaf_groups

    fabric = ends.hosts.fabric
    groups = leaf_groups(fabric, state=ends.hosts.network.state)
    number = np.full(ends.tree.n_leaves, -1, np.int64)
    leaf = ends.leaf[fabric.endpoints]
    number[leaf[leaf >= 0]] = groups.group[leaf >= 0]
    away = groups.between(number[:, None], number[None, :]).astype(float)
    np.fill_diagonal(away, 0.0)
    return freeze(away)


def end_tree(hosts: Hosts) -> EndTree:
    """The tree over the endpoints of a fabric.

    >>> import topo
    >>> from topo.placement.fold import hosts_of
    >>> ends = end_tree(hosts_of(topo.rail_optimized(8, rails=4, hosts_per_unit=4, radix=16)))
    >>> ends.tree.n_leaves, ends.n_rails
    (8, 4)
    """
    fabric, network = hosts.fabric, hosts.network
    nodes = fabric.nodes
    direct = _direct(hosts)
    owner = _owners(hosts, direct)
    if owner is not None:
        group, switches, tree = fold(network, owner, len(hosts.endpoint))
    if owner is None or not len(switches):
        leaf = np.full(len(nodes), -1, np.int64)
        leaf[hosts.endpoint] = hosts.leaf[hosts.of_node[hosts.endpoint]]
        tree = hosts.tree
    else:
        leaf = np.full(len(nodes), -1, np.int64)
        leaf[hosts.endpoint] = group
    rail, n_rails = physical_rail(hosts, owner)
    reaches = _reaches(hosts, _group_of_parts(hosts, leaf, owner), tree.n_leaves)
    line = np.zeros(len(nodes))
    rates = fabric.links.capacity_gbps[network.links]
    outward = fabric.links.kind.is_any("access", "scale_out")[network.links]
    if not outward.any():  # endpoints that forward for each other: what they send leaves by any of their links
        outward = np.ones(len(network.links), bool)
    for end in (network.a, network.b):
        line += np.bincount(end[outward], weights=rates[outward], minlength=len(nodes))
    if not direct and len(hosts.leaf_switches[hosts.leaf_switches > 0]):
        line = _shared_line(hosts, line)
    return EndTree(hosts, freeze(leaf), freeze(rail), n_rails, tree, reaches, freeze(line))


def _owners(hosts: Hosts, direct: bool) -> Array | None:
    """Which endpoint (by position) each node sends for: itself, or as an adapter for the accelerator nearest to it.

    None where an endpoint has neither, so that a host's endpoints share its adapters.
    """
    if not direct:
        return adapter_owners(hosts)
    owner = np.full(len(hosts.fabric.nodes), -1, np.int64)
    owner[hosts.endpoint] = np.arange(len(hosts.endpoint))
    return owner


def _direct(hosts: Hosts) -> bool:
    """Whether every endpoint has links of its own to switches (else its host's adapters have)."""
    network, fabric = hosts.network, hosts.fabric
    outward = fabric.links.kind.is_any("access", "scale_out")[network.links]
    touched = np.zeros(len(fabric.nodes), bool)
    touched[network.a[outward]] = touched[network.b[outward]] = True
    return bool(touched[hosts.endpoint].all())


def _shared_line(hosts: Hosts, line: Array) -> Array:
    """A host's way out divided over its endpoints, where they reach it through adapters."""
    nodes = hosts.fabric.nodes
    inside = (nodes.host.codes >= 0) & (nodes.forwards != FORWARDS_ALL)
    per_host = np.bincount(nodes.host.codes[inside], weights=line[inside], minlength=len(nodes.host.labels) + 1)
    share = np.zeros(len(nodes))
    ends = hosts.endpoint
    share[ends] = per_host[nodes.host.codes[ends]] / hosts.size[hosts.of_node[ends]]
    return share


def physical_rail(hosts: Hosts, owner: Array | None) -> tuple[Array, int]:
    """Rail of every endpoint by the leaves it is wired to; by its own label where leaves bear none (-1: no rail).

    ``owner`` tells for every node the endpoint (by position) it sends for: an accelerator stands on the rail that its
    adapter is wired to.
    """
    nodes, network = hosts.fabric.nodes, hosts.network
    rail = nodes.rail.codes.astype(np.int64)
    access = hosts.fabric.links.kind.is_any("access")[network.links]
    a, b = network.a[access].astype(np.int64), network.b[access].astype(np.int64)
    end, switch = np.concatenate([a, b]), np.concatenate([b, a])
    keep = nodes.rail.codes[switch] >= 0
    end, switch = end[keep], switch[keep]
    wired = rail.copy()
    own = hosts.of_node[end] >= 0
    wired[end[own]] = nodes.rail.codes[switch[own]]
    if owner is not None:
        adapter = ~own & (owner[end] >= 0)
        wired[hosts.endpoint[owner[end[adapter]]]] = nodes.rail.codes[switch[adapter]]
    return wired, len(nodes.rail.labels)


def _reaches(hosts: Hosts, group: Array, n_groups: int) -> Any:
    """Connected parts of the switches that each leaf group's endpoints touch; endpoints pass nothing on."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    nodes, network = hosts.fabric.nodes, hosts.network
    links = hosts.fabric.links.kind.is_any("access", "scale_out", "internal")[network.links]
    relay, n = nodes.forwards == FORWARDS_ALL, len(nodes)
    if not links.any():  # no scale-out network at all: what the scale-up links join
        links, relay = np.ones(len(links), bool), np.ones(n, bool)
    a, b = network.a[links].astype(np.int64), network.b[links].astype(np.int64)
    both = relay[a] & relay[b]
    graph = coo_array((np.ones(int(both.sum())), (a[both], b[both])), shape=(n, n))
    n_parts, label = connected_components(graph, directed=False)
    end, switch = np.concatenate([a, b]), np.concatenate([b, a])
    keep = (group[end] >= 0) & relay[switch] & ~relay[end]
    own = np.flatnonzero(relay & (group >= 0))
    rows, parts = np.concatenate([group[end[keep]], group[own]]), np.concatenate([label[switch[keep]], label[own]])
    matrix = coo_array((np.ones(len(rows)), (rows, parts)), shape=(n_groups, n_parts)).tocsr()
    return (matrix > 0).astype(float)


def _group_of_parts(hosts: Hosts, leaf: Array, owner: Array | None) -> NDArray[np.int64]:
    """Leaf group of every node: an endpoint's own; an adapter's is that of the endpoint, or host, it sends for."""
    nodes = hosts.fabric.nodes
    if owner is not None:
        return np.where(owner >= 0, leaf[hosts.endpoint[owner]], leaf)
    of_host = np.full(len(nodes.host.labels) + 1, -1, np.int64)
    of_host[nodes.host.codes[hosts.endpoint]] = leaf[hosts.endpoint]
    return np.where((nodes.forwards != FORWARDS_ALL) & (nodes.host.codes >= 0), of_host[nodes.host.codes], leaf)


@dataclass(frozen=True, eq=False)
class Measured:
    """Traffic of one placed job between leaf groups, what stays inside hosts left out, and the cuts it makes.

    ``matrix`` is dense over the leaf groups of the endpoint tree, ``cuts`` its (out, in) per node and level.
    ``busiest`` is the most that one endpoint sends or receives, ``scale`` what one byte a step is in Gb/s if that
    endpoint runs at its line rate (nan: rates unknown).
    """

    ends: EndTree
    job: Job
    placement: Placement
    pxn: bool
    inter: float
    total: float
    matrix: NDArray[np.float64]
    cuts: list[tuple[NDArray[np.float64], NDArray[np.float64]]]
    busiest: float
    scale: float

    @property
    def on_tree(self) -> bool:
        """Whether the tree tells its loads: symmetric, and nothing wanted between parts that nothing joins."""
        tree = self.ends.tree
        if tree.joined or not tree.symmetric:
            return tree.symmetric
        top = tree.above[-1]
        return not bool((self.matrix * (top[:, None] != top[None, :])).any())

    @property
    def nearest(self) -> float:
        """Least links between the leaves of two different leaf groups."""
        hops = self.ends.hops + np.where(np.eye(len(self.ends.hops), dtype=bool), np.inf, 0)
        return float(hops[hops >= 0].min(initial=np.inf)) if (hops < np.inf).any() else 0.0

    @property
    def by_level(self) -> list[float]:
        """Bytes that meet on each level: inside a leaf group, a pod, ..., over the root."""
        crossing = [float(out.sum()) for out, _ in self.cuts]
        return [self.inter - crossing[0], *(-np.diff(crossing)).tolist(), crossing[-1]]

    @property
    def hop_bytes(self) -> float:
        """Sum over pairs of bytes times links between their endpoints; what no path joins counts nothing."""
        if self.ends.has_no_switch or self.ends.hosts_relay:
            return _direct_hop_bytes(self)
        if not self.on_tree and len(self.matrix):
            hops = self.ends.hops
            return float((self.matrix * (hops >= 0) * (hops + 2)).sum())
        return sum(amount * self.ends.tree.links(level) for level, amount in enumerate(self.by_level))

    def loads(self) -> list[NDArray[np.float64]]:
        """Busier direction of the uplinks of every node."""
        return [np.maximum(out, into) for out, into in self.cuts]


def _direct_hop_bytes(job: Measured) -> float:
    """Bytes times links where endpoints forward for each other: distances from every endpoint the job has."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import dijkstra

    hosts, traffic = job.ends.hosts, job.job.traffic
    network, n = hosts.network, len(hosts.fabric.nodes)
    rows, code = np.unique(job.placement.rows, return_inverse=True)
    host = np.unique(hosts.of_node[job.placement.rows], return_inverse=True)[1]
    sent = (traffic.between(code, len(rows)) - traffic.within(host).between(code, len(rows))).tocsr()
    graph = coo_array((np.ones(len(network.a)), (network.a, network.b)), shape=(n, n)).tocsr()
    total = 0.0
    for start in range(0, len(rows), _ROWS_AT_ONCE):  # distances of some endpoints at a time: n of them are many
        part = np.arange(start, min(start + _ROWS_AT_ONCE, len(rows)))
        away = dijkstra(graph, directed=False, unweighted=True, indices=rows[part])[:, rows]
        total += float((sent[part].toarray() * np.where(np.isfinite(away), away, 0.0)).sum())
    return total


def measured(ends: EndTree, job: Job, placement: Placement, *, pxn: bool = True) -> Measured:
    """Traffic of a placed job on the endpoint tree.

    With ``pxn`` what goes to another host leaves on the rail of its destination, relayed by the accelerator of that
    rail in the source host; else on the sender's own rail.
    """
    hosts, rows = ends.hosts, placement.rows
    traffic = job.traffic
    host = hosts.of_node[rows]
    code = np.unique(host, return_inverse=True)[1]
    inside = traffic.within(code)
    n_groups = ends.tree.n_leaves
    # Without rails nobody knows which adapter of the source's host stands beside the destination's.
    pxn = pxn and not (ends.separate_rails and bool((ends.rail[rows] < 0).any()))
    matrix = _matrix(ends, traffic, inside, rows, host, pxn=pxn and ends.separate_rails)
    sent, received = traffic.sent() - inside.sent(), traffic.received() - inside.received()
    _, at = np.unique(rows, return_inverse=True)
    per_end = [np.asarray(np.bincount(at, weights=values), float) for values in (sent, received)]
    if pxn and ends.separate_rails:  # leaves by the adapters of its host, on its destinations' rails
        per_end[0] = np.asarray(np.bincount(code, weights=sent) / np.bincount(code), float)
    line = float(ends.line_gbps[rows].min(initial=np.inf))
    busiest = float(max(values.max(initial=0.0) for values in per_end))
    known = np.isfinite(line) and line > 0 and busiest > 0
    return Measured(
        ends=ends,
        job=job,
        placement=placement,
        pxn=pxn,
        inter=traffic.total - inside.total,
        total=traffic.total,
        matrix=matrix,
        cuts=ends.tree.cuts(matrix),
        busiest=busiest,
        scale=line / busiest if known else (0.0 if line > 0 else float("nan")),
    ) if n_groups else _nowhere(ends, job, placement, pxn, traffic)  # fmt: skip


def _nowhere(ends: EndTree, job: Job, placement: Placement, pxn: bool, traffic: Traffic) -> Measured:
    return Measured(
        ends, job, placement, pxn, traffic.total, traffic.total, np.zeros((0, 0)), [], 0.0, float("nan")
    )  # fmt: skip


def _matrix(ends: EndTree, traffic: Traffic, inside: Traffic, rows: Array, host: Array, *, pxn: bool) -> Array:
    """Bytes between leaf groups of endpoints, inside of hosts left out."""
    n = ends.tree.n_leaves
    leaf = ends.leaf[rows]
    if not pxn:
        full = traffic.between(leaf, n) - inside.between(leaf, n)
        return np.asarray(full.toarray())
    # Sources by host leaf group and rail: what goes to rail r leaves on the leaf of r beside the source.
    unit = ends.hosts.leaf[host]
    n_units, n_rails = int(ends.hosts.leaf.max()) + 1, ends.n_rails + 1
    rail = ends.rail[rows] % n_rails  # no rail: the last column
    own = np.full((n_units, n_rails), -1, np.int64)
    every = ends.hosts.endpoint
    own[ends.hosts.leaf[ends.hosts.of_node[every]], ends.rail[every] % n_rails] = ends.leaf[every]
    key, inverse = np.unique(leaf * n_units + unit, return_inverse=True)
    wide = (traffic.between(inverse, len(key), leaf * n_rails + rail, n * n_rails)
            - inside.between(inverse, len(key), leaf * n_rails + rail, n * n_rails)).tocoo()  # fmt: skip
    source = own[key[wide.row] % n_units, wide.col % n_rails]
    source = np.where(source >= 0, source, key[wide.row] // n_units)
    flat = np.bincount(source * n + wide.col // n_rails, weights=wide.data, minlength=n * n)
    return flat.reshape(n, n)
