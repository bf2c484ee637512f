"""topo: the network topology of AI and HPC clusters as a graph.

Build or read a fabric
    fat_tree, leaf_spine, clos, rail_optimized: parameters to a :class:`Fabric`
    multi_plane, rail_only, dual_tor, tapered_pods, joined_zones: planes, rails, dual-homed hosts, pods
    server, scale_up_domain, ualink_pod, full_mesh_pod: hosts opened, racks and pods of accelerators
    xgft, k_ary_n_tree, dragonfly, dragonfly_plus, slim_fly, hyperx, flattened_butterfly, torus, mesh, jellyfish,
        xpander, bcube, dcell: every other family; slim_fly_orders: which there are
    random_graph_like: the same switches and cables, drawn anew at random
    accelerator_torus, tpu_slice, hamming_mesh: accelerators that forward for each other
    cluster: hosts or racks under a scale-out fabric (RailPlan, ClosOver, RailsOver, PlanesPlan), storage beside
    load, read, catalog: a published fabric, a spec, or a discovery dump
Look at it
    inventory, oversubscription: what it is made of and where it narrows
    buildable: whether its switches could be switches that are sold
Ask it
    min_cut, bisection_bandwidth: capacity between sets of endpoints, and across the worst even split
    leaves_spanned: how many leaves and pods a set of hosts spans
    validate: every fault of a wiring, where it stands, what it costs; with or without the design it should follow
    repair_wiring, repair_written: the fewest moves that mend it, in an order that is safe; swap lists to tick
    grow_fabric, growth_written: which cables move when a fabric becomes a larger one, in rounds that keep it running
Send through it
    traffic: a submodule of demands, from all_to_all and permutation to files; they make a :class:`Demand`
    link_loads, throughput: what a demand puts on every link, and how much of it fits, as a :class:`Routing` says
    worst_case_throughput, throughput_upper_bound, effective_bisection: the worst permutation, what none can beat,
        what random pairs get on static routes
    ecmp_stage, stage_remedies: equal flows on equal links, and what would help them
    ecmp_collisions, ecmp_remedies: any flows on a fabric, and what would help them
    job_collisions, polarization, link_churn: a ring's stretch, tiers that share a hash, flows that move
Train on it
    goodput: from line rate to what the application gets, and where the rest went
    collective_time, collective_cost: a collective on placed ranks, and by closed form
    training_step, parallelism: time, MFU and terms of a step, and what each dimension of a job sends
    training: a submodule with plans, splits, scaling, sensitivity, measurements beside predictions
Take parts of it away
    down_state, degraded_capacity: elements by name as a :class:`State`, and what they leave of a measure
    survivability, worst_failures, degradation_curve: every single failure, the worst k together, more and more
    availability, read_failure_rates: how much is there how often, from failure rates
    job_failures, effective_training_time: what stops which job how often, and the training time left
    replay: a log of dated events as a capacity curve
Put jobs on it
    Job, Constraints, read_job, read_cluster_state: what is to be placed, and which hosts a scheduler says are free
    place, place_jobs: the best hosts and rank order, with a bound; placement_affinity: what a placement costs
    compare_schedulers, what_to_move: what schedulers would choose; the fewest migrations that let a job in
    isolation: whether a job's own links give it its full bandwidth; write_placement, draw_placement
Choose
    candidates: a fabric of every family for some Requirements, which are worth a look and why
    compare_fabrics: fabrics side by side, and what differs
Build it
    cabling_plan, write_plan: racks, cable schedule, labels, elevations and bill of materials, by rules and prices that
        files replace (RackRules, PriceList)
Take it elsewhere
    write: a file of another tool, or our own that keeps everything
    to_networkx, from_networkx, to_igraph; make_report; explain
Values
    Fabric, State, Network, LinkSet, Demand, Routing, EcmpHash, Result, TopoError and its kin
"""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.1.0"

_WHERE = {
    "ClosOver": "topo.build.plans",
    "ClusterHosts": "topo.build.cluster",
    "Constraints": "topo.placement.job",
    "Demand": "topo.traffic.demand",
    "DisconnectedError": "topo.errors",
    "EcmpHash": "topo.hashing.scheme",
    "Fabric": "topo.fabric",
    "FabricError": "topo.errors",
    "FormatError": "topo.errors",
    "InputError": "topo.errors",
    "Job": "topo.placement.job",
    "LinkSet": "topo.fabric",
    "Network": "topo.network",
    "ParameterError": "topo.errors",
    "PlanesPlan": "topo.build.planes",
    "RailPlan": "topo.build.rail",
    "RailsOver": "topo.build.plans",
    "PriceList": "topo.design.prices",
    "RackRules": "topo.design.rules",
    "Requirements": "topo.design.requirements",
    "Result": "topo.result",
    "Routing": "topo.routing.scheme",
    "State": "topo.fabric",
    "StorageNetwork": "topo.build.cluster",
    "TopoError": "topo.errors",
    "accelerator_torus": "topo.build.torus",
    "availability": "topo.analysis.failures.availability",
    "bcube": "topo.build.bcube",
    "bisection_bandwidth": "topo.analysis.bisection",
    "buildable": "topo.analysis.buildable",
    "cabling_plan": "topo.design",
    "candidates": "topo.design.choosing",
    "catalog": "topo.source",
    "clos": "topo.build.clos",
    "cluster": "topo.build.cluster",
    "collective_cost": "topo.analysis.collectives.cost",
    "collective_time": "topo.analysis.collectives.on_fabric",
    "compare_fabrics": "topo.design.compare",
    "compare_schedulers": "topo.placement.compare",
    "dcell": "topo.build.dcell",
    "degradation_curve": "topo.analysis.degradation",
    "degraded_capacity": "topo.analysis.failures.degraded",
    "down_state": "topo.analysis.failures.elements",
    "dragonfly": "topo.build.dragonfly",
    "dragonfly_plus": "topo.build.dragonfly",
    "draw_placement": "topo.placement.drawn",
    "dual_tor": "topo.build.segments",
    "ecmp_collisions": "topo.analysis.collisions",
    "ecmp_remedies": "topo.analysis.collisions.fabric_remedies",
    "ecmp_stage": "topo.analysis.ecmp",
    "effective_bisection": "topo.analysis.throughput",
    "effective_training_time": "topo.analysis.failures.checkpointing",
    "explain": "topo.report.explaining",
    "fat_tree": "topo.build.clos",
    "flattened_butterfly": "topo.build.hyperx",
    "from_networkx": "topo.convert",
    "full_mesh_pod": "topo.build.scale_up_mesh",
    "goodput": "topo.training.waterfall",
    "grow_fabric": "topo.repair",
    "growth_written": "topo.repair",
    "hamming_mesh": "topo.build.hamming_mesh",
    "hyperx": "topo.build.hyperx",
    "inventory": "topo.analysis.inventory",
    "isolation": "topo.placement.isolating",
    "jellyfish": "topo.build.jellyfish",
    "job_collisions": "topo.analysis.collisions.job",
    "job_failures": "topo.analysis.failures.jobs",
    "joined_zones": "topo.build.zones",
    "k_ary_n_tree": "topo.build.xgft",
    "leaf_spine": "topo.build.clos",
    "leaves_spanned": "topo.analysis.span",
    "link_churn": "topo.analysis.collisions.churn",
    "link_loads": "topo.routing.loads",
    "load": "topo.source",
    "make_report": "topo.report",
    "mesh": "topo.build.torus",
    "min_cut": "topo.analysis.cuts",
    "multi_plane": "topo.build.planes",
    "oversubscription": "topo.analysis.oversubscription",
    "parallelism": "topo.training.fingerprint",
    "place": "topo.placement.placing",
    "place_jobs": "topo.placement.several",
    "placement_affinity": "topo.placement.affinity",
    "polarization": "topo.analysis.collisions.polarization",
    "rail_only": "topo.build.planes",
    "rail_optimized": "topo.build.rail",
    "random_graph_like": "topo.build.jellyfish",
    "read": "topo.io",
    "write": "topo.io",
    "read_cluster_state": "topo.io.slurm_state",
    "read_failure_rates": "topo.analysis.failures.rates",
    "read_job": "topo.placement.job_file",
    "repair_wiring": "topo.repair",
    "repair_written": "topo.repair",
    "replay": "topo.analysis.failures.replay",
    "scale_up_domain": "topo.build.scale_up",
    "server": "topo.build.opened",
    "slim_fly": "topo.build.slim_fly",
    "slim_fly_orders": "topo.build.slim_fly",
    "stage_remedies": "topo.analysis.collisions.remedies",
    "survivability": "topo.analysis.failures.survivability",
    "tapered_pods": "topo.build.pods",
    "throughput": "topo.analysis.throughput",
    "throughput_upper_bound": "topo.analysis.throughput",
    "to_igraph": "topo.convert",
    "to_networkx": "topo.convert",
    "torus": "topo.build.torus",
    "tpu_slice": "topo.build.tpu",
    "training_step": "topo.training.step",
    "ualink_pod": "topo.build.scale_up",
    "validate": "topo.wiring",
    "what_to_move": "topo.placement.moves",
    "worst_case_throughput": "topo.analysis.throughput",
    "worst_failures": "topo.analysis.failures.worst",
    "write_placement": "topo.placement.written",
    "write_plan": "topo.design",
    "xgft": "topo.build.xgft",
    "xpander": "topo.build.xpander",
}

_MODULES = frozenset({"hashing", "routing", "traffic", "training"})
"""Submodules that are there without an import of their own."""

__all__ = sorted(_WHERE)


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"topo.{name}")
    if name not in _WHERE:
        raise AttributeError(f"module 'topo' has no attribute {name!r}")
    value = getattr(importlib.import_module(_WHERE[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_WHERE, *_MODULES})
