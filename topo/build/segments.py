"""Dual-homed hosts: segments whose adapters reach two leaves, in one plane or in two."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import Literal

from topo.build.assembly import Assembly
from topo.build.hosts import add_adapters, port_gbps_of
from topo.build.layers import positive
from topo.build.planes import PlanesPlan
from topo.build.rail import RailPlan
from topo.errors import ParameterError
from topo.fabric import Fabric, Origin
from topo.units import parse_gbps

__all__ = ["dual_tor", "dual_tor_plan"]


def dual_tor(
    segments: int,
    *,
    hosts_per_segment: int = 128,
    backup_hosts: int = 0,
    rails: int = 8,
    nic_gbps: float = 400,
    tors: int = 2,
    planes: int = 2,
    join_rails: bool = True,
    radix: int = 128,
    tiers: int = 2,
    uplinks: int | None = None,
    spines_per_group: int | None = None,
    pods: int = 1,
    core_uplinks: int | None = None,
    core_planes: int | None = None,
    link_gbps: float = 400,
    ports_per_cage: int = 0,
    host_part: str | None = None,
    switch_part: str | None = None,
    name: str | None = None,
) -> Fabric:
    """Segments of rail leaves in sets of ``tors``: port p of every adapter of a rail goes to leaf p of its set.

    One lost leaf costs its hosts 1 / tors of their rate and cuts nobody off. With ``planes`` equal to ``tors`` the
    leaves of one port and everything above them are a plane of their own (dual-plane); with one plane all leaves share
    the spines. ``join_rails`` False gives each rail of each port its own spines, rail-only, joined by nothing.

    A segment has ``hosts_per_segment`` hosts and ``backup_hosts`` wired the same, which are no endpoints: they stand
    by. Where ports to hosts are slower than ``link_gbps``, several are legs of one cable on a leaf's port.
    ``spines_per_group`` builds more spines for each pod of a plane than the fewest. With three tiers the segments are
    dealt to ``pods``, a spine has ``core_uplinks`` and the spines of a pod are dealt to ``core_planes`` (Alibaba HPN,
    SIGCOMM 2024).

    >>> f = dual_tor(15, backup_hosts=8, uplinks=60)
    >>> len(f.endpoints), len(f.select(tier=1)), len(f.select(tier=2))
    (15360, 240, 120)

    :raises ParameterError: ports that do not fit the radix, planes that are neither 1 nor ``tors``, segments that do
        not fill the pods.
    """
    positive(segments=segments, rails=rails, hosts_per_segment=hosts_per_segment, pods=pods)
    gbps = port_gbps_of(parse_gbps(nic_gbps), tors, what="tors")
    plan = dual_tor_plan(
        segments,
        hosts_per_segment=hosts_per_segment,
        rails=rails,
        port_gbps=gbps,
        tors=tors,
        planes=planes,
        join_rails=join_rails,
        radix=radix,
        tiers=tiers,
        uplinks=uplinks,
        spines_per_group=spines_per_group,
        pods=pods,
        core_uplinks=core_uplinks,
        core_planes=core_planes,
        link_gbps=parse_gbps(link_gbps),
        ports_per_cage=ports_per_cage,
        switch_part=switch_part,
    )
    assembly = Assembly(name or f"dual-ToR, {segments} segments of {hosts_per_segment} hosts")
    ports = partial(add_adapters, assembly, rails=rails, ports=tors, gbps=gbps, unit="segment", part=host_part)
    active = ports(segments * hosts_per_segment, hosts_per_unit=hosts_per_segment)
    if backup_hosts:
        standby = ports(segments * backup_hosts, hosts_per_unit=backup_hosts, host="backup", is_endpoint=False)
        active = replace(active, standby=standby)
    plan.over(assembly, active)
    return assembly.finish(
        Origin(
            made_by=f"dual_tor({segments}, hosts_per_segment={hosts_per_segment}, backup_hosts={backup_hosts}, "
            f"rails={rails}, tors={tors}, planes={planes}, join_rails={join_rails}, radix={radix}, tiers={tiers})"
        )
    )


def dual_tor_plan(
    segments: int,
    *,
    hosts_per_segment: int,
    rails: int,
    port_gbps: float,
    tors: int = 2,
    planes: int = 2,
    join_rails: bool = True,
    radix: int = 128,
    tiers: int = 2,
    uplinks: int | None = None,
    spines_per_group: int | None = None,
    pods: int = 1,
    core_uplinks: int | None = None,
    core_planes: int | None = None,
    link_gbps: float = 400,
    ports_per_cage: int = 0,
    switch_part: str | None = None,
) -> RailPlan | PlanesPlan:
    """The scale-out fabric of :func:`dual_tor`, to stand over hosts whose adapters have ``tors`` ports.

    :raises ParameterError: planes that are neither 1 nor ``tors``, segments that do not fill the pods.
    """
    if planes not in (1, tors):
        raise ParameterError(f"planes is {planes}, but adapters on {tors} leaves make 1 plane or {tors}")
    if segments % pods:
        below = segments // pods * pods
        nearest = " or ".join(str(n) for n in (below, below + pods) if n)
        raise ParameterError(f"segments is {segments}, which does not fill {pods} pods; use {nearest}")
    if not join_rails and planes == 1 and tors > 1:
        raise ParameterError(f"join_rails is false, so each of the {tors} ports is a plane; use planes {tors}")
    by: Literal["port", "both"] = "port" if join_rails else "both"
    plan = RailPlan(
        hosts_per_unit=hosts_per_segment,
        radix=radix,
        tiers=tiers,
        uplinks=uplinks,
        spine_groups=pods,
        spines_per_group=spines_per_group,
        core_uplinks=core_uplinks,
        core_planes=core_planes,
        link_gbps=link_gbps,
        breakout=max(1, math.floor(link_gbps / port_gbps)),
        ports_per_cage=ports_per_cage,
        unit="segment",
        switch_part=switch_part,
    )
    if planes == 1 and join_rails:
        return plan
    return PlanesPlan(plan, by=by)
