"""Throughput where traffic divides like a fluid over its next hops: ECMP, WCMP, spraying, Valiant."""

from __future__ import annotations

import numpy as np

from topo.analysis.throughput.answer import Throughput, shared_fields
from topo.fabric import Fabric, State
from topo.network import Network
from topo.result import Standing
from topo.routing.loads import LinkLoads, link_loads
from topo.routing.scheme import Routing
from topo.traffic.demand import Demand

__all__ = ["fluid_throughput"]


def fluid_throughput(fabric: Fabric, demand: Demand, routing: Routing, state: State | None) -> Throughput:
    """theta = least capacity over load of any arc under the routing's fixed shares; exact for those shares."""
    loads = link_loads(fabric, demand, routing=routing, state=state)
    theta = float(loads.theta) if loads.demand.n_pairs > loads.lost_pairs else 0.0
    how = {
        "ecmp": "even shares over all shortest paths",
        "wcmp": "weighted shares over all shortest paths",
        "spray": "even shares, packet by packet",
        "valiant": "by way of all endpoints alike, even shares over all shortest paths of both legs",
    }[routing.scheme]
    lost = (loads.lost_pairs, loads.lost_gbps, loads.lost_source, loads.lost_sink)
    return Throughput(
        # Where legs are lost they are what is counted.
        **shared_fields(
            fabric, loads.demand if lost[0] else demand, routing, state, lost=lost, binding=loads.binding_arcs
        ),
        theta_lower=theta,
        theta_upper=theta,
        network_theta=float(loads.network_theta),
        standing=Standing("exact", f"fluid, {how}"),
        assumptions=loads.assumptions + _longer_paths(loads, demand),
        arc_gbps=loads.arc_gbps,
    )


def _longer_paths(loads: LinkLoads, demand: Demand) -> tuple[str, ...]:
    """What Valiant routing would carry, where shortest paths meet on the links between groups and it carries more."""
    network = Network.of(loads.fabric, state=loads.state)
    between = network.links[network.is_global]
    if loads.routing.scheme == "valiant" or loads.lost_pairs or not np.isin(loads.binding_arcs // 2, between).any():
        return ()
    spread = link_loads(loads.fabric, demand, routing=loads.routing.with_(scheme="valiant"), state=loads.state)
    if spread.theta <= loads.theta or spread.lost_pairs:
        return ()
    return (
        f"shortest paths meet on links between groups, where longer ones would not: routing valiant carries theta "
        f"{spread.theta:.4g}, {spread.network_theta:.4g} of the links between switches alone",
    )
