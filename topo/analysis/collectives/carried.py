"""How long a phase of flows takes on a fabric under stated conditions: fluid, at best, or one path a flow."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from topo.analysis.collectives.conditions import STATISTICS, Conditions, Wire, inside_first, payload_gbps
from topo.analysis.collectives.phase import Phase
from topo.analysis.collectives.walked import walked_seconds
from topo.analysis.throughput import throughput
from topo.analysis.throughput.answer import equal_bounds
from topo.analysis.throughput.bounds import best_cut
from topo.errors import DisconnectedError
from topo.fabric import Fabric, State
from topo.network import Network
from topo.routing.loads import link_loads
from topo.routing.scheme import Routing
from topo.table import Array, freeze
from topo.traffic.demand import Demand
from topo.traffic.rates import line_rate_gbps, way_out_of_no_link

__all__ = [
    "STATISTICS",
    "Conditions",
    "Wire",
    "busiest",
    "draws_for",
    "inside_first",
    "optimal_seconds",
    "payload_gbps",
    "phase_loads",
    "phase_seconds",
    "port_seconds",
]

_MOST_BLOCKS = 64
_DRAWS, _LEAST_DRAWS, _WALKS = 100, 8, 4_000_000


def port_seconds(fabric: Fabric, phase: Phase, share: float = 1.0) -> float:
    """Transfer of one repeat if the endpoints' own ports were all: most gigabits of an endpoint over its line rate."""
    most, line = busiest(fabric, phase)
    return most / (line * share) if most else 0.0


def busiest(fabric: Fabric, phase: Phase) -> tuple[float, float]:
    """Gigabits that the endpoint with the fullest port sends or receives, and its line rate.

    :raises DisconnectedError: one that sends or receives has no link.
    """
    moved = np.maximum(phase.sent_gbps(fabric), phase.received_gbps(fabric))[fabric.endpoints]
    rate = line_rate_gbps(fabric)
    busy = moved > 0
    if not busy.any():
        return 0.0, 1.0
    time = np.full(len(moved), 0.0)
    time[busy] = np.where(rate[busy] > 0, moved[busy] / np.where(rate[busy] > 0, rate[busy], 1.0), math.inf)
    at = int(np.argmax(time))
    if not rate[at]:
        raise DisconnectedError(
            f"{fabric.nodes.name[fabric.endpoints[at]]} sends or receives and has no link of a rate above 0 on "
            f"{fabric.name!r}; {way_out_of_no_link(fabric)}"
        )
    return float(moved[at]), float(rate[at])


def phase_seconds(fabric: Fabric, phase: Phase, under: Conditions) -> NDArray[np.float64]:
    """Transfer time of one repeat, one entry a draw (a single one where nothing is drawn); infinite without a path."""
    if not phase.total_gbps > 0:
        return np.zeros(1)
    if phase.own_links:
        own = np.repeat(fabric.links.kind.is_any("access", "scale_up", "host_io"), 2)
        touching = np.zeros(len(fabric.nodes), bool)
        touching[fabric.endpoints] = True
        own &= touching[fabric.arc_source] | touching[fabric.arc_target]
        under = under.with_(arcs=own if under.arcs is None else under.arcs & own)
    if under.routing.scheme == "single-path":
        return _drawn(fabric, phase, under)
    if under.routing.scheme == "optimal":
        return np.array([optimal_seconds(fabric, phase, under)[0]])
    return np.array([_fluid(fabric, phase, under)])


def _drawn(fabric: Fabric, phase: Phase, under: Conditions) -> NDArray[np.float64]:
    """One path a flow, walked once for equal conditions."""
    told = (under.state, under.others, under.arcs, under.capacity_gbps)
    key = (id(phase), under.routing, under.queue_pairs, under.samples, under.seed, under.statistic, *map(id, told))
    if key not in under.kept:
        under.kept[key] = (walked_seconds(fabric, phase, under, *busiest(fabric, phase)), phase, told)
    seconds: NDArray[np.float64] = under.kept[key][0]
    return seconds


def draws_for(phases: Sequence[Phase], queue_pairs: int, samples: int | None) -> int:
    """How often hashed paths are drawn: as asked, else 100 times, fewer where that is more than some million walks."""
    if samples is not None:
        return samples
    flows = max(1, queue_pairs) * sum(phase.n_pairs for phase in phases)
    return max(_LEAST_DRAWS, min(_DRAWS, _WALKS // max(flows, 1)))


def phase_loads(fabric: Fabric, phase: Phase, under: Conditions) -> tuple[NDArray[np.float64], int]:
    """Gigabits of one repeat on every arc, split like a fluid, and how many of its pairs have no path."""
    load, lost = _loads(fabric, phase.demand, under)
    if phase.less is not None:
        minus, fewer = _loads(fabric, phase.less, under)
        # A difference of equal sums is no load.
        load = np.where(load - minus > 1e-9 * load, load - minus, 0.0)
        lost -= fewer
    return load, lost


def _loads(fabric: Fabric, demand: Demand, under: Conditions) -> tuple[NDArray[np.float64], int]:
    """Loads by the routing kernel, worked out once for all rates and questions of one state."""
    routing = under.routing
    if routing.scheme not in ("wcmp", "valiant"):  # spraying divides like ECMP
        routing = routing.with_(scheme="ecmp")
    key = (id(demand), routing, id(under.state))
    if key not in under.kept:
        found = link_loads(fabric, demand, routing=routing, state=under.state)
        # The demand and the state are kept too, so that no other takes their identity.
        under.kept[key] = (found.arc_gbps, found.lost_pairs, demand, under.state)
    load, lost, _, _ = under.kept[key]
    return load, lost


def _fluid(fabric: Fabric, phase: Phase, under: Conditions) -> float:
    load, lost = phase_loads(fabric, phase, under)
    if lost:
        return math.inf
    counted = load > 1e-12 * load.max(initial=0.0)
    if under.arcs is not None:
        counted &= under.arcs
    if under.others is not None:
        # Both jobs push at once: this one at the rate of its ports, what is offered beside it on its arcs.
        most, line = busiest(fabric, phase)
        beside, _ = _loads(fabric, under.others, under)
        load = load + beside * (most / line)
    return _longest(load, under.capacity_gbps, counted)


def _longest(load: Array, capacity: Array, counted: Array) -> float:
    at = np.flatnonzero(counted)
    if not at.size:
        return 0.0
    with np.errstate(divide="ignore"):
        return float((load[at] / capacity[at]).max())


def optimal_seconds(fabric: Fabric, phase: Phase, under: Conditions) -> tuple[float, float]:
    """Time of a routing that was found, and a time that no routing beats; equal where the bounds meet.

    The even split against the tightest of the cuts that are tried; where they differ, the maximum concurrent flow.
    """
    fluid = under.fluid()
    load, lost = phase_loads(fabric, phase, fluid)
    if lost:
        return math.inf, math.inf
    slow = _longest(load, under.capacity_gbps, load > 1e-12 * load.max(initial=0.0))
    state = under.state or State()
    scaled = State(state.node_present, state.link_present, freeze(under.capacity_gbps[::2]))
    theta, _, _ = best_cut(Network.of(fabric, state=scaled), phase.signed())
    fast = 1 / theta if theta > 0 else math.inf
    if math.isfinite(slow) and equal_bounds(1 / slow, theta):
        return slow, slow
    if len(phase.demand.blocks) > _MOST_BLOCKS:
        return slow, min(slow, fast)
    demand = phase.listed()
    if len(demand.blocks) > _MOST_BLOCKS:  # too many to be worth more than the bracket
        return slow, min(slow, fast)
    answer = throughput(fabric, demand, routing=Routing(scheme="optimal", pxn=under.routing.pxn), state=scaled)
    if answer.lost_pairs or not answer.theta_lower:
        return math.inf, math.inf
    return min(slow, 1 / answer.theta_lower), max(fast, 1 / answer.theta_upper)
