"""Throughput where traffic divides like a fluid over its next hops: ECMP, WCMP, spraying."""

from __future__ import annotations

from topo.analysis.throughput.answer import Throughput, shared_fields
from topo.fabric import Fabric, State
from topo.result import Standing
from topo.routing.loads import link_loads
from topo.routing.scheme import Routing
from topo.traffic.demand import Demand

__all__ = ["fluid_throughput"]


def fluid_throughput(fabric: Fabric, demand: Demand, routing: Routing, state: State | None) -> Throughput:
    """theta = least capacity over load of any arc under the routing's fixed shares; exact for those shares."""
    loads = link_loads(fabric, demand, routing=routing, state=state)
    theta = float(loads.theta) if demand.n_pairs > loads.lost_pairs else 0.0
    how = {
        "ecmp": "even shares over all shortest paths",
        "wcmp": "weighted shares over all shortest paths",
        "spray": "even shares, packet by packet",
    }[routing.scheme]
    lost = (loads.lost_pairs, loads.lost_gbps, loads.lost_source, loads.lost_sink)
    return Throughput(
        **shared_fields(fabric, demand, routing, state, lost=lost, binding=loads.binding_arcs),
        theta_lower=theta,
        theta_upper=theta,
        network_theta=float(loads.network_theta),
        standing=Standing("exact", f"fluid, {how}"),
        assumptions=loads.assumptions,
        arc_gbps=loads.arc_gbps,
    )
