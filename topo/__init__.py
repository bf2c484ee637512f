"""topo: the network topology of AI and HPC clusters as a graph.

Build or read a fabric
    fat_tree, leaf_spine, clos, rail_optimized: parameters to a :class:`Fabric`
    multi_plane, rail_only, dual_tor, tapered_pods, joined_zones: planes, rails, dual-homed hosts, pods
    server, scale_up_domain, ualink_pod, full_mesh_pod: hosts opened, racks and pods of accelerators
    cluster: hosts or racks under a scale-out fabric (RailPlan, ClosOver, RailsOver, PlanesPlan), storage beside
    load, read, catalog: a published fabric, a spec, or a discovery dump
Look at it
    inventory, oversubscription: what it is made of and where it narrows
    buildable: whether its switches could be switches that are sold
Ask it
    min_cut, bisection_bandwidth: capacity between sets of endpoints, and across the worst even split
    ecmp_stage: collisions of equal flows hashed onto equal links
    leaves_spanned: how many leaves and pods a set of hosts spans
Take it elsewhere
    to_networkx, from_networkx, to_igraph; make_report
Values
    Fabric, State, Network, LinkSet, Result, TopoError and its kin
"""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.1.0"

_WHERE = {
    "ClosOver": "topo.build.plans",
    "ClusterHosts": "topo.build.cluster",
    "DisconnectedError": "topo.errors",
    "Fabric": "topo.fabric",
    "FabricError": "topo.errors",
    "FormatError": "topo.errors",
    "InputError": "topo.errors",
    "LinkSet": "topo.fabric",
    "Network": "topo.network",
    "ParameterError": "topo.errors",
    "PlanesPlan": "topo.build.planes",
    "RailPlan": "topo.build.rail",
    "RailsOver": "topo.build.plans",
    "Result": "topo.result",
    "State": "topo.fabric",
    "StorageNetwork": "topo.build.cluster",
    "TopoError": "topo.errors",
    "bisection_bandwidth": "topo.analysis.bisection",
    "buildable": "topo.analysis.buildable",
    "catalog": "topo.source",
    "clos": "topo.build.clos",
    "cluster": "topo.build.cluster",
    "dual_tor": "topo.build.segments",
    "ecmp_stage": "topo.analysis.ecmp",
    "fat_tree": "topo.build.clos",
    "from_networkx": "topo.convert",
    "full_mesh_pod": "topo.build.scale_up_mesh",
    "inventory": "topo.analysis.inventory",
    "joined_zones": "topo.build.zones",
    "leaf_spine": "topo.build.clos",
    "leaves_spanned": "topo.analysis.span",
    "load": "topo.source",
    "make_report": "topo.report",
    "min_cut": "topo.analysis.cuts",
    "multi_plane": "topo.build.planes",
    "oversubscription": "topo.analysis.oversubscription",
    "rail_only": "topo.build.planes",
    "rail_optimized": "topo.build.rail",
    "read": "topo.io",
    "scale_up_domain": "topo.build.scale_up",
    "server": "topo.build.opened",
    "tapered_pods": "topo.build.pods",
    "to_igraph": "topo.convert",
    "to_networkx": "topo.convert",
    "ualink_pod": "topo.build.scale_up",
}

__all__ = sorted(_WHERE)


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module 'topo' has no attribute {name!r}")
    value = getattr(importlib.import_module(_WHERE[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_WHERE])
