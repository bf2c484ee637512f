"""The flows of a demand, checked, with the capacities they meet."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from topo.errors import ParameterError
from topo.fabric import Fabric, State
from topo.routing.loads import link_loads
from topo.routing.next_hops import NextHops
from topo.routing.scheme import Routing
from topo.traffic.demand import Demand

__all__ = ["MOST_QUEUE_PAIRS", "FlowSet", "check_queue_pairs", "check_whole", "check_work"]

MOST_QUEUE_PAIRS = 16_384
_MOST_FLOWS = 5_000_000


@dataclass(frozen=True, eq=False)
class FlowSet:
    """Flows as node rows with their rates; ``size`` numbers the distinct rates ``size_gbps``, ``idle`` want nothing."""

    fabric: Fabric
    hops: NextHops
    source: NDArray[np.int64]
    sink: NDArray[np.int64]
    size: NDArray[np.int64]
    size_gbps: NDArray[np.float64]
    capacity_gbps: NDArray[np.float64]
    idle: int
    name: str
    state: State | None = None

    @classmethod
    def of(cls, fabric: Fabric, flows: Demand, *, routing: Routing, state: State | None = None) -> FlowSet:
        """The flows that want something.

        :raises ParameterError: too many flows, none at all, or a routing under which nothing is hashed.
        """
        _check_routing(routing)
        if flows.n_pairs > _MOST_FLOWS:
            raise ParameterError(
                f"{flows.name} has {flows.n_pairs:,} flows, more than {_MOST_FLOWS:,}; ask for a phase of it, such "
                "as one shift of an all-to-all"
            )
        source, sink, gbps = flows.pairs()
        keep = gbps > 0
        if not keep.any():
            raise ParameterError(f"{flows.name} has no flow of a rate above 0; nothing can collide")
        source, sink, gbps = source[keep], sink[keep], gbps[keep]
        # Rates that differ by rounding alone are one rate.
        size_gbps, size = np.unique(_rounded(gbps), return_inverse=True)
        hops = NextHops.of(fabric, state=state, routing=routing, sinks=np.unique(sink))
        capacity = np.full(2 * len(fabric.links), np.nan)
        links = hops.network.links
        capacity[2 * links] = capacity[2 * links + 1] = hops.network.capacity_gbps
        return cls(fabric, hops, source, sink, size.ravel(), size_gbps, capacity, int((~keep).sum()), flows.name, state)

    @cached_property
    def inner_mask(self) -> NDArray[np.bool_]:
        """Arcs that no hash chooses: accelerators stripe over the lanes of a scale-up domain, and over a host's own."""
        return np.repeat(self.fabric.links.kind.is_any("scale_up", "host_io"), 2)

    @cached_property
    def inner_utilization(self) -> NDArray[np.float64] | None:
        """Fluid load over capacity of the arcs that no hash chooses, 0 elsewhere; None where the network has none."""
        if not self.inner_mask[2 * self.hops.network.links].any():
            return None
        demand = Demand.of(self.fabric, self.name, source=self.source, sink=self.sink, gbps=self.gbps)
        scheme = "wcmp" if self.hops.routing.scheme == "wcmp" else "ecmp"
        routing = replace(self.hops.routing, scheme=scheme)
        load = link_loads(self.fabric, demand, routing=routing, state=self.state).arc_gbps
        used = self.inner_mask & (load > 0)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(np.where(used, load / self.capacity_gbps, 0.0))

    @property
    def gbps(self) -> NDArray[np.float64]:
        """Rate of each flow."""
        return self.size_gbps[self.size]

    @property
    def is_even(self) -> bool:
        """Whether all flows want the same."""
        return len(self.size_gbps) == 1


def check_queue_pairs(queue_pairs: int) -> int:
    """A whole number from 1 to the UDP source ports of RoCEv2.

    :raises ParameterError: anything else.
    """
    if isinstance(queue_pairs, bool) or not isinstance(queue_pairs, (int, np.integer)) or queue_pairs < 1:
        raise ParameterError(f"queue_pairs is {queue_pairs!r}; it must be a whole number of at least 1")
    if queue_pairs > MOST_QUEUE_PAIRS:
        raise ParameterError(
            f"queue_pairs is {queue_pairs:,}, more than the {MOST_QUEUE_PAIRS:,} UDP source ports (49152 to 65535) "
            f"that tell RoCEv2 queue pairs apart; use at most {MOST_QUEUE_PAIRS:,}"
        )
    return int(queue_pairs)


def check_whole(name: str, value: int, least: int, most: int) -> int:
    """A whole number in a range.

    :raises ParameterError: anything else.
    """
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or not least <= value <= most:
        raise ParameterError(f"{name} is {value!r}; it must be a whole number from {least:,} to {most:,}")
    return int(value)


def check_work(flows: Demand, queue_pairs: int) -> None:
    """Flows times queue pairs within what is worked out in bounded time.

    :raises ParameterError: more than 5,000,000 of them.
    """
    total = flows.n_pairs * queue_pairs
    if queue_pairs > 1 and total > _MOST_FLOWS:
        most = max(1, _MOST_FLOWS // max(1, flows.n_pairs))
        raise ParameterError(
            f"{flows.name} has {flows.n_pairs:,} flows, with {queue_pairs:,} queue pairs each {total:,} hashed flows, "
            f"more than {_MOST_FLOWS:,}; use at most {most:,} queue pairs, or ask for a phase of it"
        )


def _check_routing(routing: Routing) -> None:
    if routing.scheme in ("ecmp", "wcmp") or (routing.scheme == "single-path" and routing.table == "hash"):
        return
    why = {
        "spray": "sprays packets, so no flow collides",
        "optimal": "places flows, so none collides by chance",
    }.get(routing.scheme, "reads its paths from a table by destination, so nothing is drawn")
    raise ParameterError(
        f"routing {str(routing)!r} {why}; use 'ecmp' or 'wcmp' here, or ask throughput about {routing.scheme!r}"
    )


def _rounded(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """To 12 significant digits."""
    scale = 10.0 ** (11 - np.floor(np.log10(values)))
    return np.asarray(np.round(values * scale) / scale)
