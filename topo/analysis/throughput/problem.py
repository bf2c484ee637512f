"""The concurrent-flow problem behind a demand: what each start wants at each end of the merged graph, what is lost."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topo.analysis.throughput.places import Places, places_of
from topo.errors import ParameterError
from topo.fabric import Fabric, State
from topo.network import Network
from topo.traffic.demand import Block, Demand

__all__ = ["Lost", "Problem", "make_problem", "wanted_between", "without_lost"]

MOST_CELLS = 25_000_000
_EXAMPLES = 1000


@dataclass(frozen=True, eq=False)
class Lost:
    """Pairs that no path joins: how many, what they wanted, and the first of them by fabric row."""

    pairs: int
    gbps: float
    source: NDArray[np.int64]
    sink: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Problem:
    """``wanted[k, v]`` Gb/s from ``sources[k]`` to node v of the graph of ``places``; every such pair has a path.

    ``access_theta`` is what the folded endpoints' own links allow, ``access_arcs`` the fabric arcs that bind there;
    ``demand`` is what is left without lost pairs.
    """

    places: Places
    sources: NDArray[np.int64]
    wanted: NDArray[np.float64]
    access_theta: float
    access_arcs: NDArray[np.int64]
    demand: Demand

    @cached_property
    def variables(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Source (index) and arc of every variable: flow of a source on an arc that it can reach and that leads on.

        Arcs back into the source, out of its reach, or from which none of its ends can be reached are left out.
        """
        places = self.places
        rows = np.arange(len(self.sources))
        ahead, back = places.matrix(np.ones(len(places.tail))), places.matrix(np.ones(len(places.tail))).T
        reached = np.zeros(self.wanted.shape, bool)
        reached[rows, self.sources] = True
        reached, leads = _closed(reached, ahead), _closed(self.wanted > 0, back)
        useful = reached[:, places.tail] & leads[:, places.head]
        useful &= places.head[None, :] != self.sources[:, None]
        source, arc = np.nonzero(useful)
        return source, arc

    def load(self, flows: NDArray[np.float64]) -> NDArray[np.float64]:
        """Load of every resource, from one flow a variable."""
        of = self.places.resource[self.variables[1]]
        on = of >= 0
        total = np.bincount(of[on], weights=flows[on], minlength=len(self.places.capacity))
        return np.asarray(total, float)

    def net(self, flows: NDArray[np.float64]) -> NDArray[np.float64]:
        """Inflow less outflow of every source's flow at every node."""
        source, arc = self.variables
        n, size = self.places.n, len(self.sources) * self.places.n
        into = np.bincount(source * n + self.places.head[arc], weights=flows, minlength=size)
        out = np.bincount(source * n + self.places.tail[arc], weights=flows, minlength=size)
        return np.asarray(into - out, float).reshape(len(self.sources), n)


def _closed(mask: NDArray[np.bool_], matrix: Any) -> NDArray[np.bool_]:
    """The nodes of each row with all that can be reached from them."""
    while True:
        following = mask | ((mask.astype(np.float32) @ matrix) > 0)
        if np.array_equal(following, mask):
            return mask
        mask = following


def make_problem(
    fabric: Fabric, demand: Demand, *, state: State | None = None, pxn: bool = True
) -> tuple[Problem, Lost]:
    """The problem of a demand, and the pairs that no path joins, which are left out of it.

    :raises ParameterError: starts times nodes are too many for a table.
    """
    places = places_of(Network.of(fabric, state=state), pxn=pxn)
    routable, lost = without_lost(places, demand)
    sources, wanted = wanted_between(places, routable)
    theta, arcs = _access(places, routable)
    used = wanted.any(axis=1)
    return Problem(places, sources[used], wanted[used], theta, arcs, routable), lost


def wanted_between(places: Places, demand: Demand) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Starts, and Gb/s from each to every node of the graph; traffic that stays inside one node is left out."""
    from scipy.sparse import csr_array

    rows = np.concatenate([demand.source, *(block.sources for block in demand.blocks)])
    sources = np.unique(places.start[rows])
    _refuse_large(len(sources), places.n)
    number = np.full(places.n, -1, np.int64)
    number[sources] = np.arange(len(sources))
    shape = (len(sources), places.n)
    pairs = csr_array((demand.gbps, (number[places.start[demand.source]], places.end[demand.sink])), shape=shape)
    wanted: NDArray[np.float64] = pairs.toarray()
    for block in demand.blocks:
        from_, to = number[places.start[block.sources]], places.end[block.sinks]
        out = np.bincount(from_, weights=block.source_weight, minlength=len(sources))
        into = np.bincount(to, weights=block.sink_weight, minlength=places.n)
        wanted += block.gbps * np.outer(out, into)
        _, i, j = np.intersect1d(block.sources, block.sinks, return_indices=True)
        np.subtract.at(wanted, (from_[i], to[j]), block.gbps * block.source_weight[i] * block.sink_weight[j])
    wanted[np.arange(len(sources)), sources] = 0
    # What is left of a difference of equal sums is no demand.
    wanted[wanted < 1e-12 * wanted.max(initial=0)] = 0
    return sources, wanted


def without_lost(places: Places, demand: Demand) -> tuple[Demand, Lost]:
    """The demand without its pairs that no path joins, and those."""
    from scipy.sparse.csgraph import dijkstra

    tied = (places.start >= 0) & _has_link(places)
    lonely = [block for block in demand.blocks if not tied[block.sources].all() or not tied[block.sinks].all()]
    starts = np.unique(places.start[np.concatenate([demand.source, *(block.sources for block in demand.blocks)])])
    starts = starts[starts >= 0]
    _refuse_large(len(starts), places.n)
    hops = dijkstra(places.matrix(np.ones(len(places.tail))), unweighted=True, indices=starts)
    reached = np.isfinite(hops)
    row_of = np.full(places.n + 1, -1, np.int64)
    row_of[starts] = np.arange(len(starts))
    ends = np.unique(places.end[np.concatenate([demand.sink, *(block.sinks for block in demand.blocks)])])
    whole = bool(reached[:, ends[ends >= 0]].all())
    if not lonely and whole and tied[demand.source].all() and tied[demand.sink].all():
        return demand, Lost(0, 0.0, np.empty(0, np.int64), np.empty(0, np.int64))
    part = _parts(places)
    apart = part[places.start] if (places.start == places.end)[tied].all() else None
    if apart is not None and np.array_equal(
        reached[:, ends[ends >= 0]], part[starts][:, None] == part[ends[ends >= 0]]
    ):
        return _within_parts(demand, np.where(tied, apart, -1))
    source, sink, gbps = demand.pairs()
    joined = tied[source] & tied[sink]
    joined[joined] = reached[row_of[places.start[source[joined]]], places.end[sink[joined]]]
    lost = np.flatnonzero(~joined)
    kept = Demand(demand.name, (), source[joined], sink[joined], gbps[joined])
    return kept, Lost(len(lost), float(gbps[lost].sum()), source[lost[:_EXAMPLES]], sink[lost[:_EXAMPLES]])


def _parts(places: Places) -> NDArray[np.int64]:
    """The part of the graph, joined in either direction, that each of its nodes is in."""
    from scipy.sparse.csgraph import connected_components

    _, part = connected_components(places.matrix(np.ones(len(places.tail))), directed=False)
    return part.astype(np.int64)


def _within_parts(demand: Demand, part: NDArray[np.int64]) -> tuple[Demand, Lost]:
    """The pairs inside one part each, blocks cut up by part, where ``part`` (-1: none) says what reaches what."""
    same = (part[demand.source] == part[demand.sink]) & (part[demand.source] >= 0)
    blocks = []
    gone = [(demand.source[~same][:_EXAMPLES], demand.sink[~same][:_EXAMPLES])]
    for block in demand.blocks:
        from_, to = part[block.sources], part[block.sinks]
        for number in np.intersect1d(from_[from_ >= 0], to[to >= 0]).tolist():
            mine, other = from_ == number, to == number
            piece = Block(
                block.sources[mine], block.sinks[other], block.gbps, block.source_weight[mine], block.sink_weight[other]
            )
            if piece.n_pairs:
                blocks.append(piece)
        # Rows of the first sources that lose any, enough for examples.
        some = np.flatnonzero([((to != one) | (to < 0)).any() for one in from_[:_EXAMPLES].tolist()])[:8]
        for i in some.tolist():
            away = block.sinks[(to != from_[i]) | (to < 0)]
            away = away[away != block.sources[i]][:_EXAMPLES]
            gone.append((np.full(len(away), block.sources[i]), away))
    kept = Demand(demand.name, tuple(blocks), demand.source[same], demand.sink[same], demand.gbps[same])
    source = np.concatenate([pair[0] for pair in gone])[:_EXAMPLES]
    sink = np.concatenate([pair[1] for pair in gone])[:_EXAMPLES]
    lost_gbps = max(0.0, demand.total_gbps - kept.total_gbps)
    return kept, Lost(demand.n_pairs - kept.n_pairs, lost_gbps, source, sink)


def _has_link(places: Places) -> NDArray[np.bool_]:
    linked = np.zeros(len(places.start), bool)
    linked[places.network.a] = linked[places.network.b] = True
    return linked


def _access(places: Places, demand: Demand) -> tuple[float, NDArray[np.int64]]:
    """Least capacity over wanted rate on the links of folded endpoints, with the arcs where it is least."""
    network = places.network
    fabric, n = network.fabric, len(places.start)
    capacity = np.bincount(network.a, weights=network.capacity_gbps, minlength=n)
    capacity = capacity + np.bincount(network.b, weights=network.capacity_gbps, minlength=n)
    ratios = []
    for wanted in (demand.sent_gbps(fabric), demand.received_gbps(fabric)):
        ratio = np.full(n, math.inf)
        busy = places.folded & (wanted > 0)
        ratio[busy] = capacity[busy] / wanted[busy]
        ratios.append(ratio)
    out, into = ratios
    theta = min(float(out.min(initial=math.inf)), float(into.min(initial=math.inf)))
    if not math.isfinite(theta):
        return theta, np.empty(0, np.int64)
    limit = theta * (1 + 1e-9)
    forward = (out[network.a] <= limit) | (into[network.b] <= limit)
    backward = (out[network.b] <= limit) | (into[network.a] <= limit)
    return theta, np.sort(np.concatenate([2 * network.links[forward], 2 * network.links[backward] + 1]))


def _refuse_large(n_starts: int, n: int) -> None:
    if n_starts * n > MOST_CELLS:
        raise ParameterError(
            f"{n_starts:,} starts times {n:,} nodes are too many for an optimal flow (at most {MOST_CELLS:,}); "
            "use routing 'ecmp' or fewer endpoints"
        )
