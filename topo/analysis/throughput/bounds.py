"""Upper bounds of theta that hold for every routing: cuts, and lengths of links (linear-programming duality)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from topo.analysis.throughput.problem import Problem
from topo.network import Network
from topo.table import Array
from topo.traffic.demand import Demand

__all__ = ["CutWitness", "best_cut", "length_theta"]

_LABELS = ("host", "domain", "rack", "pod", "plane", "rail", "chassis")


@dataclass(frozen=True, eq=False)
class CutWitness:
    """A set of nodes: what leaves it (or enters, with ``inward``) has to fit the links that cross."""

    inside: NDArray[np.bool_]
    inward: bool


def best_cut(network: Network, demand: Demand) -> tuple[float, CutWitness | None, NDArray[np.int64]]:
    """The tightest of the cuts around single endpoints, leaves with what hangs on them, pods, racks, planes, hosts.

    Returns its capacity over demand, one cut that proves it, and the fabric arcs across all cuts of its kind that are
    as tight. Costs a few passes over links and endpoints whatever the number of pairs.
    """
    best, witness, arcs = math.inf, None, np.empty(0, np.int64)
    for part in _partitions(network):
        out, into = _ratios(network, demand, part + 1)
        theta = min(float(out.min()), float(into.min()))
        if theta < best * (1 - 1e-12):
            inward = float(into.min()) < float(out.min())
            worst = int(np.argmin(into if inward else out)) - 1
            best, witness = theta, CutWitness(part == worst, inward)
            arcs = _tight_arcs(network, part + 1, out <= theta * (1 + 1e-9), into <= theta * (1 + 1e-9))
    return best, witness, arcs


def _tight_arcs(network: Network, part: Array, out: Array, into: Array) -> NDArray[np.int64]:
    a, b = part[network.a], part[network.b]
    crosses = a != b
    forward, backward = crosses & (out[a] | into[b]), crosses & (out[b] | into[a])
    return np.sort(np.concatenate([2 * network.links[forward], 2 * network.links[backward] + 1]))


def _partitions(network: Network) -> Iterator[NDArray[np.int64]]:
    fabric = network.fabric
    yield np.arange(len(fabric.nodes))
    for top in np.unique(fabric.nodes.tier[fabric.nodes.tier > 0]).tolist()[:-1]:
        yield _joined_below(network, top)
    for label in _LABELS:
        codes = getattr(fabric.nodes, label).codes
        if (codes >= 0).any():
            yield _with_endpoints(network, codes.astype(np.int64))


def _joined_below(network: Network, top: int) -> NDArray[np.int64]:
    """Parts of the network that hang together without the switches above tier ``top``."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    tier = network.fabric.nodes.tier
    low = (tier[network.a] <= top) & (tier[network.b] <= top)
    n = len(tier)
    graph = coo_array((np.ones(int(low.sum()), np.int8), (network.a[low], network.b[low])), shape=(n, n))
    _, part = connected_components(graph, directed=False)
    return part.astype(np.int64)


def _with_endpoints(network: Network, part: Array) -> NDArray[np.int64]:
    """A grouping of nodes where endpoints without a group join that of a neighbour."""
    bare = (part < 0) & network.fabric.nodes.is_endpoint
    taken = part.copy()
    for end, other in ((network.a, network.b), (network.b, network.a)):
        mine = bare[end] & (part[other] >= 0)
        taken[end[mine]] = part[other[mine]]
    return taken


def _ratios(network: Network, demand: Demand, of: Array) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Capacity over demand across the border of every part, outward and inward; infinite where nothing crosses."""
    n = int(of.max()) + 1
    a, b = of[network.a], of[network.b]
    crosses = a != b
    rate = network.capacity_gbps[crosses]
    capacity = np.bincount(a[crosses], weights=rate, minlength=n) + np.bincount(b[crosses], weights=rate, minlength=n)
    source, sink = of[demand.source], of[demand.sink]
    apart = source != sink
    out = np.bincount(source[apart], weights=demand.gbps[apart], minlength=n).astype(float)
    into = np.bincount(sink[apart], weights=demand.gbps[apart], minlength=n).astype(float)
    for block in demand.blocks:
        sent = np.bincount(of[block.sources], weights=block.source_weight, minlength=n)
        got = np.bincount(of[block.sinks], weights=block.sink_weight, minlength=n)
        out += block.gbps * sent * (got.sum() - got)
        into += block.gbps * got * (sent.sum() - sent)
    ratios = []
    for wanted in (out, into):
        ratio = np.full(n, math.inf)
        # A part that wants next to nothing across, but for rounding, binds nothing.
        busy = wanted > 1e-9 * wanted.max(initial=0)
        ratio[busy] = capacity[busy] / wanted[busy]
        ratios.append(ratio)
    return ratios[0], ratios[1]


def length_theta(problem: Problem, lengths: Array) -> float:
    """Sum of capacity times length over sum of demand times distance: no routing can carry more.

    Each wanted Gb/s uses at least its distance in length, and a link of length l offers capacity times l.
    """
    from scipy.sparse.csgraph import dijkstra

    places = problem.places
    offered = float(places.capacity @ lengths)
    distance = dijkstra(places.matrix(places.lengths_of_arcs(lengths)), indices=problem.sources)
    needed = float(np.sum(problem.wanted * np.where(problem.wanted > 0, distance, 0.0)))
    return offered / needed if needed > 0 else math.inf
