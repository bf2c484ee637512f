"""How long a phase of flows takes on a fabric under stated conditions: rates, state, routing, hashes, other jobs."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from topo.analysis.collectives.flows import Phase
from topo.analysis.collectives.wire import wire_efficiency
from topo.analysis.throughput import throughput
from topo.errors import ParameterError
from topo.fabric import Fabric, State
from topo.network import Network
from topo.routing.fair import max_min_rates
from topo.routing.loads import link_loads
from topo.routing.next_hops import NextHops
from topo.routing.scheme import Routing
from topo.routing.tables import StaticTable
from topo.table import Array, freeze
from topo.traffic.demand import Demand
from topo.traffic.rates import line_rate_gbps

__all__ = [
    "STATISTICS",
    "Conditions",
    "Wire",
    "busiest",
    "inside_first",
    "optimal_seconds",
    "payload_gbps",
    "phase_seconds",
    "port_seconds",
]

STATISTICS = ("slowest", "mean")
_PCIE_OVERHEAD = 24
_SLOTS = 4_000_000


@dataclass(frozen=True, slots=True)
class Wire:
    """What headers leave of a link: transport and MTU of the scale-out links, payload of PCIe packets.

    ``link_mtu`` is the largest frame the links take, where known; ``scale_up_share`` what a collective library gets of
    scale-up links (370 of 450 GB/s on an H100: 0.82).
    """

    transport: str = "rocev2"
    mtu: int = 4096
    link_mtu: int | None = None
    pcie_payload: int = 256
    scale_up_share: float = 1.0

    def __post_init__(self) -> None:
        wire_efficiency(self.transport, self.mtu)
        if self.link_mtu is not None and self.mtu > self.link_mtu:
            raise ParameterError(f"mtu {self.mtu} is above the links' {self.link_mtu}; packets would not pass")
        if self.pcie_payload < 1 or not 0 < self.scale_up_share <= 1:
            raise ParameterError(
                f"pcie_payload is {self.pcie_payload} and scale_up_share {self.scale_up_share}; at least 1, and 0 to 1"
            )

    @property
    def efficiency(self) -> float:
        """Payload over line rate of the scale-out links."""
        return wire_efficiency(self.transport, self.mtu)

    @property
    def pcie_efficiency(self) -> float:
        """Payload over line rate of PCIe: 24 bytes of headers and framing a packet."""
        return self.pcie_payload / (self.pcie_payload + _PCIE_OVERHEAD)


def payload_gbps(fabric: Fabric, wire: Wire | None, state: State | None = None) -> NDArray[np.float64]:
    """Payload rate of every arc of the endpoints' network in a state, 0 outside it; line rate without ``wire``."""
    network = Network.of(fabric, state=state)
    rate = np.zeros(len(fabric.links))
    rate[network.links] = network.capacity_gbps
    if wire is not None:
        kind = fabric.links.kind
        rate[kind.is_any("scale_out", "access", "internal")] *= wire.efficiency
        rate[kind.is_any("host_io")] *= wire.pcie_efficiency
        rate[kind.is_any("scale_up")] *= wire.scale_up_share
    return np.repeat(rate, 2)


@dataclass(frozen=True, eq=False)
class Conditions:
    """Under what a phase runs: payload rate of every arc, state, routing, hash draws, other jobs, which flow counts.

    ``routing`` "single-path" with table "hash" is drawn ``samples`` times with ``queue_pairs`` a flow; with another
    table flows are walked once; "optimal" divides as is best; the rest split like a fluid. ``others`` is what other
    jobs offer in Gb/s, beside flows that push at the ports' rate; arcs are shared in proportion. ``arcs`` limits what
    counts to some arcs. ``statistic``: the slowest flow ends a phase, or the mean of the flows' max-min rates.
    """

    capacity_gbps: NDArray[np.float64]
    state: State | None = None
    routing: Routing = Routing()
    queue_pairs: int = 1
    samples: int = 100
    seed: int = 0
    others: Demand | None = None
    arcs: NDArray[np.bool_] | None = None
    statistic: str = "slowest"

    def __post_init__(self) -> None:
        if self.statistic not in STATISTICS:
            raise ParameterError(f"unknown statistic {self.statistic!r}; known: {', '.join(STATISTICS)}")
        for name in ("queue_pairs", "samples"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise ParameterError(f"{name} is {value!r}; it must be a whole number of at least 1")

    def with_(self, **changes: object) -> Conditions:
        """The same with some parts changed."""
        return replace(self, **changes)  # type: ignore[arg-type]

    @property
    def is_drawn(self) -> bool:
        """Whether paths are drawn at random."""
        return self.routing.scheme == "single-path" and self.routing.table == "hash"


def inside_first(fabric: Fabric, routing: Routing | str) -> Routing:
    """The routing, with accelerators of one host reaching each other over scale-up links where both ways are short.

    Every path between hosts has two access links, so that their cost decides inside hosts alone. Accelerators relay
    for others of their host (PXN) as NCCL has it by default, unless the routing says never.
    """
    chosen = Routing.of(routing)
    if chosen.pxn == "needed" and fabric.links.kind.is_any("scale_up").any():
        chosen = chosen.with_(pxn="always")
    costs = dict(chosen.costs)
    if "access" in costs or not fabric.links.kind.is_any("scale_up").any():
        return chosen
    return chosen.with_(costs=tuple(sorted({**costs, "access": 2}.items())))


def port_seconds(fabric: Fabric, phase: Phase, share: float = 1.0) -> float:
    """Transfer of one repeat if the endpoints' own ports were all: most gigabits of an endpoint over its line rate."""
    most, line = busiest(fabric, phase.demand)
    return most / (line * share) if most else 0.0


def busiest(fabric: Fabric, demand: Demand) -> tuple[float, float]:
    """Gigabits that the endpoint with the fullest port sends or receives, and its line rate."""
    moved = np.maximum(demand.sent_gbps(fabric), demand.received_gbps(fabric))[fabric.endpoints]
    rate = line_rate_gbps(fabric)
    busy = moved > 0
    if not busy.any():
        return 0.0, 1.0
    time = np.full(len(moved), 0.0)
    time[busy] = np.where(rate[busy] > 0, moved[busy] / np.where(rate[busy] > 0, rate[busy], 1.0), math.inf)
    at = int(np.argmax(time))
    return float(moved[at]), float(rate[at])


def phase_seconds(fabric: Fabric, phase: Phase, under: Conditions) -> NDArray[np.float64]:
    """Transfer time of one repeat, one entry a draw (a single one where nothing is drawn); infinite without a path."""
    if not phase.demand.total_gbps > 0:
        return np.zeros(1)
    if phase.own_links:
        own = np.repeat(fabric.links.kind.is_any("access", "scale_up", "host_io"), 2)
        touching = np.zeros(len(fabric.nodes), bool)
        touching[fabric.endpoints] = True
        own &= touching[fabric.arc_source] | touching[fabric.arc_target]
        under = under.with_(arcs=own if under.arcs is None else under.arcs & own)
    if under.routing.scheme == "single-path":
        return _walked(fabric, phase.demand, under)
    if under.routing.scheme == "optimal":
        return np.array([optimal_seconds(fabric, phase.demand, under)[0]])
    return np.array([_fluid(fabric, phase.demand, under)])


def _fluid(fabric: Fabric, demand: Demand, under: Conditions) -> float:
    loads = link_loads(fabric, demand, routing=under.routing, state=under.state)
    if loads.lost_pairs:
        return math.inf
    load = loads.arc_gbps
    counted = loads.is_loaded if under.arcs is None else loads.is_loaded & under.arcs
    if under.others is not None:
        # Both jobs push at once: this one at the rate of its ports, what is offered beside it on its arcs.
        most, line = busiest(fabric, demand)
        beside = link_loads(fabric, under.others, routing=under.routing, state=under.state)
        load = load + beside.arc_gbps * (most / line)
    return _longest(load, under.capacity_gbps, counted)


def _longest(load: Array, capacity: Array, counted: Array) -> float:
    at = np.flatnonzero(counted)
    if not at.size:
        return 0.0
    with np.errstate(divide="ignore"):
        return float((load[at] / capacity[at]).max())


def optimal_seconds(fabric: Fabric, demand: Demand, under: Conditions) -> tuple[float, float]:
    """Time of a routing that was found, and a time that no routing beats; equal where the bounds meet."""
    rate = freeze(under.capacity_gbps[::2])
    state = under.state or State()
    scaled = State(state.node_present, state.link_present, rate)
    answer = throughput(fabric, demand, routing="optimal", state=scaled)
    if answer.lost_pairs or not answer.theta_lower:
        return math.inf, math.inf
    return 1 / answer.theta_lower, 1 / answer.theta_upper


def _walked(fabric: Fabric, demand: Demand, under: Conditions) -> NDArray[np.float64]:
    """One path a flow: largest load over capacity, or ports' time over the mean share, of every draw."""
    own = _Flows.of(fabric, demand, under)
    beside = None if under.others is None else _Flows.of(fabric, under.others, under)
    n = under.samples if under.is_drawn else 1
    n_arcs = len(under.capacity_gbps)
    batch = max(1, min(n, _SLOTS // max(n_arcs, 6 * len(own.source), 1)))
    seeds = np.random.SeedSequence(under.seed).spawn(-(-n // batch))
    out = []
    most, line = busiest(fabric, demand)
    for i, seed in enumerate(seeds):
        many = min(batch, n - i * batch)
        # Own and other flows draw from streams of their own: another job changes no path of this one.
        mine, theirs = seed.spawn(2)
        arcs = own.paths(many, mine)
        others = None if beside is None else beside.paths(many, theirs)
        if under.statistic == "mean":
            out.append(_by_mean(own, arcs, beside, others, under, most, line))
        else:
            out.append(_by_slowest(own, arcs, beside, others, under, most / line))
    return np.concatenate(out)


@dataclass(frozen=True, eq=False)
class _Flows:
    """Flows, each as so many queue pairs, with the table that gives their paths."""

    table: StaticTable
    source: NDArray[np.int64]
    sink: NDArray[np.int64]
    gigabits: NDArray[np.float64]
    queue_pairs: int

    @classmethod
    def of(cls, fabric: Fabric, demand: Demand, under: Conditions) -> _Flows:
        source, sink, gigabits = demand.pairs()
        keep = gigabits > 0
        source, sink, gigabits = source[keep], sink[keep], gigabits[keep]
        hops = NextHops.of(fabric, state=under.state, routing=under.routing, sinks=np.unique(sink))
        table = StaticTable.of(hops, under.routing.table, seed=under.routing.seed)
        q = under.queue_pairs
        return cls(table, np.repeat(source, q), np.repeat(sink, q), np.repeat(gigabits / q, q), q)

    def paths(self, samples: int, seed: np.random.SeedSequence) -> NDArray[np.int64]:
        """Arcs (hops, samples, flows), -1 after the end."""
        arcs = self.table.paths(np.tile(self.source, samples), np.tile(self.sink, samples), seed=seed)
        return arcs.reshape(-1, samples, len(self.source))

    def loads(self, arcs: Array, n_arcs: int) -> NDArray[np.float64]:
        """Gigabits on every arc, (samples, arcs)."""
        samples = arcs.shape[1]
        slot = arcs + (np.arange(samples) * n_arcs)[None, :, None]
        on = arcs >= 0
        weight = np.broadcast_to(self.gigabits, arcs.shape)[on]
        total: NDArray[np.float64] = np.bincount(slot[on], weights=weight, minlength=samples * n_arcs).astype(float)
        return total.reshape(samples, n_arcs)


def _by_slowest(
    own: _Flows, arcs: Array, beside: _Flows | None, others: Array | None, under: Conditions, unit: float
) -> NDArray[np.float64]:
    capacity = under.capacity_gbps
    load = own.loads(arcs, len(capacity))
    counted = load > 0
    if under.arcs is not None:
        counted &= under.arcs
    if beside is not None and others is not None:
        load = load + unit * beside.loads(others, len(capacity))
    with np.errstate(divide="ignore", invalid="ignore"):
        time = np.where(counted, load / capacity, 0.0).max(axis=1)
    lost = np.any(np.all(arcs < 0, axis=0), axis=1) if len(arcs) else np.ones(len(time), bool)
    return np.where(lost, math.inf, time)


def _by_mean(
    own: _Flows, arcs: Array, beside: _Flows | None, others: Array | None, under: Conditions, most: float, line: float
) -> NDArray[np.float64]:
    """Ports' time over the mean share of what flows at the ports' rate want; a lost flow's share is 0."""
    limit = own.gigabits * (line / most)
    both, wanted = arcs, limit
    if beside is not None and others is not None:
        hops = max(len(arcs), len(others))
        both = np.concatenate([_padded(arcs, hops), _padded(others, hops)], axis=2)
        wanted = np.concatenate([limit, beside.gigabits])
    if under.arcs is not None:
        both = np.where((both >= 0) & under.arcs[both], both, -1)
    capacity = under.capacity_gbps
    rate = max_min_rates(both, capacity, wanted)[:, : len(limit)]
    share = rate / limit
    if own.queue_pairs > 1:
        # A message striped over queue pairs ends with the slowest.
        share = share.reshape(len(share), -1, own.queue_pairs).min(axis=2)
    mean = share.mean(axis=1)
    with np.errstate(divide="ignore"):
        return np.asarray(most / line / mean)


def _padded(arcs: Array, hops: int) -> Array:
    return np.pad(arcs, ((0, hops - len(arcs)), (0, 0), (0, 0)), constant_values=-1)
