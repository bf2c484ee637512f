"""What a failure is measured by: throughput of a demand, bisection, endpoints reached."""

from __future__ import annotations

import hashlib
import operator
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topo.analysis.attachments import distinct_sets
from topo.analysis.failures.healthy import Healthy
from topo.errors import ParameterError
from topo.fabric import FORWARDS_ALL, Fabric, State, expect_fabric
from topo.network import Network
from topo.routing.scheme import FLUID, Routing
from topo.table import Array, ranges
from topo.traffic import Block, Demand, all_to_all, line_rate_gbps, permutation

__all__ = [
    "MEASURES",
    "BisectionMeasure",
    "Measure",
    "ThroughputMeasure",
    "Value",
    "largest_part",
    "measure_of",
    "question_key",
]


@dataclass(frozen=True, slots=True)
class Value:
    """A measure in one state: bounds (equal where exact), and what it does not speak of.

    ``cut_off`` endpoints have no path to most others; ``reduced`` have lost part of their own links;
    ``lost_pairs`` flows have no path at all. The bounds are about the pairs that still have one.
    """

    lower: float
    upper: float
    cut_off: int
    reduced: int
    lost_pairs: int

    @property
    def is_exact(self) -> bool:
        """Whether the bounds meet."""
        return self.lower == self.upper


@dataclass(frozen=True)
class ThroughputMeasure:
    """Rate an endpoint gets on average at the largest scale at which a demand fits: theta times the wanted Gb/s of
    the pairs that have a path."""

    fabric: Fabric
    demand: Demand
    routing: Routing
    name: str
    unit: str = "Gb/s per endpoint"

    def __call__(self, state: State | None) -> Value:
        up = None if state is None else self._healthy.is_up(state)
        demand = self.demand if up is None else surviving(self.demand, up)
        whole = demand is self.demand
        n_pairs = self._n_pairs if whole else demand.n_pairs
        lower, upper, lost, lost_gbps = self._theta(demand, n_pairs, state) if n_pairs else (0.0, 0.0, 0, 0.0)
        cut_off = 0
        if lost or not n_pairs:
            cut_off = _cut_off(self.fabric, self._ends, state)
        elif up is not None and not whole:
            # Everyone left reaches whom he wants to: only those without a link are cut off.
            cut_off = int((~up[self._ends]).sum())
        spared = state is None or self._healthy.keeps_rates(state)
        reduced = 0 if spared else _reduced(self.fabric, self._before, self._ends, state)
        carried = self._mean_wanted if whole else _mean_wanted(demand, self.fabric)
        if lost_gbps:
            carried *= 1 - lost_gbps / demand.total_gbps
        return Value(lower * carried, upper * carried, cut_off, reduced, lost + self._n_pairs - n_pairs)

    def _theta(self, demand: Demand, n_pairs: int, state: State | None) -> tuple[float, float, int, float]:
        if self.routing.scheme in FLUID:
            from topo.routing.loads import link_loads

            loads = link_loads(self.fabric, demand, routing=self.routing, state=state)
            # Where no pair has a path nothing flows, and nothing is what is left.
            theta = loads.theta if loads.lost_pairs < n_pairs else 0.0
            return theta, theta, loads.lost_pairs, loads.lost_gbps
        from topo.analysis.throughput import throughput

        answer = throughput(self.fabric, demand, routing=self.routing, state=state)
        return answer.theta_lower, answer.theta_upper, answer.lost_pairs, answer.lost_gbps

    @cached_property
    def _ends(self) -> NDArray[np.int64]:
        sent = self.demand.sent_gbps(self.fabric) + self.demand.received_gbps(self.fabric)
        return np.flatnonzero(sent > 0)

    @cached_property
    def _healthy(self) -> Healthy:
        return Healthy(self.fabric)

    @cached_property
    def _n_pairs(self) -> int:
        return self.demand.n_pairs

    @cached_property
    def _mean_wanted(self) -> float:
        return _mean_wanted(self.demand, self.fabric)

    @cached_property
    def _before(self) -> NDArray[np.float64]:
        return line_rate_gbps(self.fabric)


@dataclass(frozen=True)
class BisectionMeasure:
    """Bisection bandwidth of the endpoints that still reach each other."""

    fabric: Fabric
    keep: str = "host"
    seed: int = 0
    name: str = "bisection bandwidth"
    unit: str = "Gb/s"

    def __call__(self, state: State | None) -> Value:
        from topo.analysis.bisection import bisection_bandwidth

        ends = largest_part(self.fabric, state)
        cut_off, reduced = touched(self.fabric, state)
        if len(ends) < 2:
            return Value(0.0, 0.0, cut_off, reduced, 0)
        answer = bisection_bandwidth(self.fabric, ends, keep=self.keep, state=state, seed=self.seed)
        return Value(answer.lower_gbps, answer.upper_gbps, cut_off, reduced, 0)


@dataclass(frozen=True)
class EndpointMeasure:
    """How many endpoints still reach the largest part of the others."""

    fabric: Fabric
    name: str = "endpoints that reach most others"
    unit: str = "endpoints"

    def __call__(self, state: State | None) -> Value:
        cut_off, reduced = touched(self.fabric, state)
        left = float(len(self.fabric.endpoints) - cut_off)
        return Value(left, left, cut_off, reduced, 0)


Measure = ThroughputMeasure | BisectionMeasure | EndpointMeasure

_MAKERS: dict[str, Callable[[Fabric, Routing], Measure]] = {
    "all-to-all": lambda f, r: ThroughputMeasure(f, all_to_all(f), r, f"all-to-all, {r}"),
    "permutation": lambda f, r: ThroughputMeasure(f, permutation(f, seed=r.seed), r, f"random permutation, {r}"),
    "bisection": lambda f, r: BisectionMeasure(f, seed=r.seed),
    "endpoints": lambda f, r: EndpointMeasure(f),
}
MEASURES = tuple(_MAKERS)


def measure_of(fabric: Fabric, measure: str | Demand | Measure, routing: str | Routing = "ecmp") -> Measure:
    """A measure by name, of a demand's throughput, or as it is.

    :raises ParameterError: an unknown name, no fabric, a demand made for another one.
    """
    expect_fabric(fabric)
    rule = Routing.of(routing)
    if isinstance(measure, Demand):
        measure.expect_made_for(fabric)
        return ThroughputMeasure(fabric, measure, rule, f"{measure.name}, {rule}")
    if not isinstance(measure, str):
        return measure
    if measure not in _MAKERS:
        raise ParameterError(f"unknown measure {measure!r}; known: {', '.join(MEASURES)}, or a Demand")
    return _MAKERS[measure](fabric, rule)


def question_key(measure: Measure, state: State | None, *more: object) -> str:
    """A name for what a sweep asks, the same for the same question only: fabric, measure, demand, state and ``more``.

    ``more`` is text or arrays. A checkpoint bears it, so that no other question goes on from there.
    """
    digest = hashlib.sha256(f"{measure.fabric.digest} {measure.name}".encode())
    arrays: list[object] = list(more)
    if isinstance(measure, ThroughputMeasure):
        demand = measure.demand
        arrays += [repr(measure.routing), demand.source, demand.sink, demand.gbps]
        for block in demand.blocks:
            arrays += [block.sources, block.sinks, repr(block.gbps), block.source_weight, block.sink_weight]
    if isinstance(measure, BisectionMeasure):
        arrays += [measure.keep, str(measure.seed)]
    if state is not None:
        arrays += [state.node_present, state.link_present, state.capacity_gbps]
    for part in arrays:
        digest.update(b"|")
        if part is not None:
            digest.update(part.encode() if isinstance(part, str) else np.ascontiguousarray(part).tobytes())
    return digest.hexdigest()


def surviving(demand: Demand, up: Array) -> Demand:
    """The demand without the endpoints that are down or have no link left (``up`` by node); the others' rates stay.

    Where all are left it is the demand itself.
    """
    blocks = tuple(kept for block in demand.blocks if (kept := _kept(block, up)) is not None)
    alive = up[demand.source] & up[demand.sink]
    if alive.all() and len(blocks) == len(demand.blocks) and all(map(operator.is_, blocks, demand.blocks)):
        return demand
    return replace(demand, blocks=blocks, source=demand.source[alive], sink=demand.sink[alive], gbps=demand.gbps[alive])


def _mean_wanted(demand: Demand, fabric: Fabric) -> float:
    """Mean wanted Gb/s of an endpoint that sends."""
    sent = demand.sent_gbps(fabric)
    return float(sent.sum() / max(np.count_nonzero(sent), 1))


def _kept(block: Block, up: Array) -> Block | None:
    source, sink = up[block.sources], up[block.sinks]
    if source.all() and sink.all():
        return block
    if not source.any() or not sink.any():
        return None
    return Block(
        block.sources[source], block.sinks[sink], block.gbps, block.source_weight[source], block.sink_weight[sink]
    )


def largest_part(fabric: Fabric, state: State | None, among: Array | None = None) -> NDArray[np.int64]:
    """The present endpoints that the best connected endpoint reaches, itself among them; of ``among`` where given."""
    ends, owner, part = _memberships(fabric, state, among)
    if not owner.size:
        return ends[:1]
    of, together = _sets_together(ends, owner, part)
    best = int(np.asarray(together @ np.bincount(of[of >= 0], minlength=together.shape[0])).argmax())
    reached = np.append(together[[best]].toarray().ravel().astype(bool), False)
    return np.asarray(ends[reached[of]])


def _sets_together(ends: Array, owner: Array, part: Array) -> tuple[Array, Any]:
    """Number of each endpoint's set of parts (-1: none), and which sets share a part."""
    from scipy.sparse import csr_array

    of, start, parts = distinct_sets(owner, part, len(ends))
    n_sets = len(start) - 1
    member = csr_array(
        (np.ones(len(parts), np.int64), (np.repeat(np.arange(n_sets), np.diff(start)), parts)),
        shape=(n_sets, int(parts.max()) + 1),
    )
    return of, (member @ member.T) > 0


def touched(fabric: Fabric, state: State | None) -> tuple[int, int]:
    """Endpoints cut off from most others, and endpoints left with a lower rate of their own."""
    ends = fabric.endpoints
    return _cut_off(fabric, ends, state), _reduced(fabric, line_rate_gbps(fabric), ends, state)


def _cut_off(fabric: Fabric, ends: Array, state: State | None) -> int:
    left = len(largest_part(fabric, state, ends))
    # One that reaches nobody is cut off as well, though no other part is larger.
    return len(ends) - (left if left > 1 else 0)


def _reduced(fabric: Fabric, before: Array, ends: Array, state: State | None) -> int:
    """Endpoints among ``ends`` that still have a rate, below what they had."""
    if state is None:
        return 0
    after = line_rate_gbps(fabric, state=state)
    slower = np.zeros(len(fabric.nodes), bool)
    slower[fabric.endpoints] = (after < before * (1 - 1e-12)) & (after > 0)
    return int(slower[ends].sum())


def _memberships(fabric: Fabric, state: State | None, among: Array | None) -> tuple[Array, Array, Array]:
    """Present endpoints (of ``among``), and pairs (index of one, connected part of the relays it attaches to), sorted.

    Hosts and endpoints carry no traffic of others, so endpoints are together where they share a part; one on
    several planes is in several.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    network, n = Network.of(fabric, state=state), len(fabric.nodes)
    up = fabric.nodes.is_endpoint.copy()
    if among is not None:
        up[np.setdiff1d(fabric.endpoints, among, assume_unique=True)] = False
    if state is not None and state.node_present is not None:
        up &= state.node_present
    carries = network.capacity_gbps > 0
    a, b = network.a[carries].astype(np.int64), network.b[carries].astype(np.int64)
    everybody = fabric.nodes.forwards == FORWARDS_ALL
    core = everybody[a] & everybody[b]
    graph = coo_array((np.ones(int(core.sum()), bool), (a[core], b[core])), shape=(n, n))
    part = connected_components(graph, directed=False)[1].astype(np.int64)
    # Inside a host its parts relay: they are one island, which attaches wherever one of them does.
    inner = ~everybody[a] & ~everybody[b]
    joined = coo_array((np.ones(int(inner.sum()), bool), (a[inner], b[inner])), shape=(n, n))
    island = connected_components(joined, directed=False)[1].astype(np.int64)
    out = everybody[a] != everybody[b]
    inside, outside = np.where(everybody[a], b, a)[out], np.where(everybody[a], a, b)[out]
    ends = np.flatnonzero(up)
    at = np.unique(island[inside] * n + part[outside])
    own = np.stack([island[ends], np.arange(len(ends))])
    order = np.argsort(own[0], kind="stable")
    low = np.searchsorted(at // n, own[0][order], side="left")
    count = np.searchsorted(at // n, own[0][order], side="right") - low
    pick, whose = ranges(low, count)
    owner, found = own[1][order][whose], at[pick] % n
    relaying = np.flatnonzero(everybody[ends])
    # Endpoints joined without any switch (a full mesh inside one box) share their island instead.
    alone = np.setdiff1d(np.arange(len(ends)), np.concatenate([owner, relaying]))
    owner = np.concatenate([owner, relaying, alone])
    found = np.concatenate([found, part[ends[relaying]], n + island[ends[alone]]])
    pairs = np.unique(owner * (2 * n) + found)
    return ends, pairs // (2 * n), pairs % (2 * n)
