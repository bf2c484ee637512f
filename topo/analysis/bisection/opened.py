"""Hosts that are opened: their inner parts replaced by direct links, since they carry no foreign traffic.

A part of a host forwards only its own host's traffic, which a plain cut cannot express. So each endpoint's own way to
the cables that leave its host is laid out as a flow, each such way becomes a direct link from endpoint to cable, and
what capacity is left inside stays for traffic within the host. Every flow of the new graph is one of the old: cuts
of the new graph bound those of the old from below, and equal them where the flow fills the cables.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from topo.analysis.flow import max_flow
from topo.fabric import FORWARDS_NOTHING, FORWARDS_OWN_HOST
from topo.network import Network
from topo.table import Array, ranges

__all__ = ["Edges", "direct_edges", "has_parts"]


@dataclass(frozen=True, eq=False)
class Edges:
    """Undirected bundles between node rows, capacity in Gb/s."""

    a: NDArray[np.int64]
    b: NDArray[np.int64]
    gbps: NDArray[np.float64]


def has_parts(network: Network) -> bool:
    """Whether any host of the fabric is opened."""
    return bool((network.fabric.nodes.forwards == FORWARDS_OWN_HOST).any())


def direct_edges(network: Network, chosen: Array) -> Edges:
    """The network with opened hosts replaced as the module says; ``chosen`` are the endpoints that take part."""
    fabric = network.fabric
    n = len(fabric.nodes)
    host = fabric.nodes.host.codes.astype(np.int64)
    is_chosen = np.zeros(n, bool)
    is_chosen[chosen] = True
    part = (fabric.nodes.forwards == FORWARDS_OWN_HOST) & ~is_chosen
    live = np.zeros(int(host.max(initial=-1)) + 2, bool)
    live[host[is_chosen & (host >= 0)]] = True
    inner = (part | is_chosen) & live[host] & (host >= 0)
    # What forwards nothing and takes no part is no way out, as a CPU that relays nothing.
    dead = (fabric.nodes.forwards == FORWARDS_NOTHING) & ~is_chosen
    alive = ~dead[network.a] & ~dead[network.b]
    a, b, gbps = network.a[alive].astype(np.int64), network.b[alive].astype(np.int64), network.capacity_gbps[alive]
    links = network.links[alive]
    same = inner[a] & inner[b] & (host[a] == host[b])
    leaves_host = ~same & ((part & inner)[a] ^ (part & inner)[b])
    idle = (part & ~inner)[a] | (part & ~inner)[b]
    plain = ~same & ~leaves_host & ~idle
    owner = np.where((part & inner)[a], a, b)[leaves_host]
    outside = np.where((part & inner)[a], b, a)[leaves_host]
    inside = Edges(a[same], b[same], gbps[same])
    ways, left = _ways(network, inside, fabric.links.kind.is_any("host_io")[links][same], owner, gbps[leaves_host])
    ends, cables, amounts = ways
    return Edges(
        np.concatenate([a[plain], inside.a, ends]),
        np.concatenate([b[plain], inside.b, outside[cables]]),
        np.concatenate([gbps[plain], left, amounts]),
    )


def _ways(
    network: Network, inside: Edges, local: Array, owner: Array, cable_gbps: Array
) -> tuple[tuple[Array, Array, Array], Array]:
    """(endpoint, cable, Gb/s) of each way out, and what each inner link has left.

    First the cables of parts that every endpoint of the host is linked to, in equal shares; then equal shares of
    endpoints and cables over the host's own input-output links; then whatever else fits.
    """
    fabric = network.fabric
    host = fabric.nodes.host.codes.astype(np.int64)
    ends = np.unique(np.concatenate([inside.a, inside.b]))
    ends = ends[fabric.nodes.is_endpoint[ends]]
    if not owner.size or not ends.size:
        none = np.empty(0, np.int64)
        return (none, none, np.empty(0)), inside.gbps
    n_hosts = int(host.max(initial=0)) + 1
    count = np.bincount(host[ends], minlength=n_hosts)
    ways, spare = _equal_ways(inside, fabric.nodes.is_endpoint, host, count, owner, cable_gbps)
    found = [ways]
    rest = np.setdiff1d(np.arange(len(owner)), ways[1])
    if not rest.size:
        return ways, spare
    owner, cable_gbps = owner[rest], cable_gbps[rest]
    share = np.bincount(host[owner], cable_gbps, n_hosts)
    fair = (share / np.maximum(count, 1))[host[ends]]
    forwards, unlimited = fabric.nodes.forwards, share[host[ends]]
    _, _, most = _one_flow(forwards, inside, spare, ends, unlimited, owner, cable_gbps)
    filling = np.bincount(host[owner], most, len(share)) / np.maximum(share, 1e-300)
    free = cable_gbps.copy()
    for usable, limit, open_share in (
        (local, fair, filling[host[owner]]),
        (np.ones_like(local), unlimited, np.ones(len(owner))),
    ):
        ways, used, filled = _one_flow(
            forwards, inside, np.where(usable, spare, 0), ends, limit, owner, np.minimum(free, cable_gbps * open_share)
        )
        found.append((ways[0], rest[ways[1]], ways[2]))
        spare, free = spare - used, free - filled
    joined = tuple(np.concatenate(columns) for columns in zip(*found, strict=True))
    return (joined[0], joined[1], joined[2]), np.maximum(spare, 0)


def _equal_ways(
    inside: Edges, is_endpoint: Array, host: Array, count: Array, owner: Array, cable_gbps: Array
) -> tuple[tuple[Array, Array, Array], Array]:
    """Ways over parts that every endpoint of their host is linked to, and what each inner link has left.

    Each endpoint takes the same share of each cable of such a part, where its links to the part hold that: so
    endpoints of a scale-up domain reach the switches above its own alike.
    """
    n = len(is_endpoint)
    end_at_a, end_at_b = is_endpoint[inside.a], is_endpoint[inside.b]
    row = np.flatnonzero(end_at_a != end_at_b)
    end = np.where(end_at_a, inside.a, inside.b)[row]
    part = np.where(end_at_a, inside.b, inside.a)[row]
    order = np.lexsort((end, part))
    row, end, part = row[order], end[order], part[order]
    pairs, pair = np.unique(part * n + end, return_inverse=True)
    first = np.searchsorted(pair, np.arange(len(pairs)))
    total = np.bincount(pair, inside.gbps[row], len(pairs))
    pair_part, pair_end = pairs // n, pairs % n
    wanted = np.bincount(owner, cable_gbps, n)[pair_part] / np.maximum(count[host[pair_part]], 1)
    fits = np.bincount(pair_part, (wanted <= total) & (wanted > 0), n)
    serves = (fits == count[np.maximum(host, 0)]) & (fits > 0) & (host >= 0)
    left = inside.gbps.copy()
    until = np.cumsum(inside.gbps[row])
    within = until - (until[first] - inside.gbps[row[first]])[pair]
    mine = serves[part]
    left[row[mine]] = np.clip(within - wanted[pair], 0, inside.gbps[row])[mine]
    start, stop = np.searchsorted(pair_part, owner), np.searchsorted(pair_part, owner, side="right")
    cable = np.flatnonzero(serves[owner])
    at, which = ranges(start[cable], (stop - start)[cable])
    cables = cable[which]
    return (pair_end[at], cables, cable_gbps[cables] / count[host[owner[cables]]]), left


def _one_flow(
    forwards: Array, inside: Edges, spare: Array, ends: Array, limit: Array, owner: Array, free: Array
) -> tuple[tuple[Array, Array, Array], Array, Array]:
    """Most flow from the endpoints to the cables, as ways; the use of inner links and of cables."""
    source, sink, first = len(forwards), len(forwards) + 1, len(forwards) + 2
    cables = first + np.arange(len(owner))
    relays = forwards != FORWARDS_NOTHING
    tail = np.concatenate([np.full(len(ends), source), inside.a, inside.b, owner, cables])
    head = np.concatenate([ends, inside.b, inside.a, cables, np.full(len(owner), sink)])
    rate = np.concatenate(
        [limit, np.where(relays[inside.b], spare, 0), np.where(relays[inside.a], spare, 0), free, free]
    )
    flow = max_flow(first + len(owner), tail, head, rate, source, sink)
    net: dict[int, dict[int, float]] = {}
    for t, h, amount in zip(flow.tail.tolist(), flow.head.tolist(), flow.amount.tolist(), strict=True):
        net.setdefault(t, {})[h] = amount
    ways = _decomposed(net, ends.tolist(), source, sink)
    used_pair: dict[tuple[int, int], float] = {}
    filled = np.zeros(len(owner))
    for path, amount in ways:
        filled[path[-1] - first] += amount
        for pair in itertools.pairwise(path):
            key = (min(pair), max(pair))
            used_pair[key] = used_pair.get(key, 0.0) + amount
    used = np.zeros(len(inside.a))
    for i, (x, y) in enumerate(zip(inside.a.tolist(), inside.b.tolist(), strict=True)):
        key = (min(x, y), max(x, y))
        taken = min(used_pair.get(key, 0.0), float(spare[i]))
        if taken:
            used[i] = taken
            used_pair[key] -= taken
    columns = (
        np.array([path[0] for path, _ in ways], np.int64),
        np.array([path[-1] - first for path, _ in ways], np.int64),
        np.array([amount for _, amount in ways], float),
    )
    return columns, used, filled


def _decomposed(
    net: dict[int, dict[int, float]], ends: list[int], source: int, sink: int
) -> list[tuple[list[int], float]]:
    """Paths endpoint ... cable with their amounts; circulations are cut off as they are met."""
    ways = []
    for end in ends:
        left = net.get(source, {}).get(end, 0.0)
        while left > 1e-12:
            path, seen = [end], {end: 0}
            while path[-1] != sink:
                following = max(net[path[-1]], key=lambda node: net[path[-1]][node])
                if following in seen:
                    loop = [*path[seen[following] :], following]
                    _take(net, loop, min(net[x][y] for x, y in itertools.pairwise(loop)))
                    for node in path[seen[following] + 1 :]:
                        del seen[node]
                    path = path[: seen[following] + 1]
                    continue
                seen[following] = len(path)
                path.append(following)
            amount = min(left, min(net[x][y] for x, y in itertools.pairwise(path)))
            _take(net, path, amount)
            left -= amount
            ways.append((path[:-1], amount))
    return ways


def _take(net: dict[int, dict[int, float]], path: list[int], amount: float) -> None:
    for x, y in itertools.pairwise(path):
        net[x][y] -= amount
        if net[x][y] <= 1e-12:
            del net[x][y]
