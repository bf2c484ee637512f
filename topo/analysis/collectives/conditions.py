"""Under what flows run: headers on the wire, payload rates of arcs, state, routing, hash draws, other jobs."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topo.analysis.collectives.wire import wire_efficiency
from topo.errors import ParameterError
from topo.fabric import Fabric, State
from topo.network import Network
from topo.routing.scheme import Routing
from topo.traffic.demand import Demand

__all__ = ["STATISTICS", "Conditions", "Wire", "inside_first", "payload_gbps"]

STATISTICS = ("slowest", "mean")
_PCIE_OVERHEAD = 24


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
    ``kept`` holds loads that were worked out, for all that is derived by :meth:`with_`.
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
    kept: dict[Any, Any] = field(default_factory=dict, repr=False)

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

    def fluid(self) -> Conditions:
        """The same with flows split evenly over all shortest paths, the slowest one counting."""
        return self.with_(routing=self.routing.with_(scheme="ecmp"), statistic="slowest")

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
