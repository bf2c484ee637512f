"""Leaf-spine zones that a few switches join at leaf ports."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from topo.build.assembly import Assembly, numbered
from topo.build.clos import ClosPlan
from topo.build.hosts import HostPorts, add_adapters
from topo.build.layers import Layer, positive
from topo.errors import ParameterError
from topo.fabric import Fabric, Origin
from topo.units import parse_gbps

__all__ = ["ZonesPlan", "joined_zones"]


@dataclass(frozen=True, slots=True)
class ZonesPlan:
    """``zones`` times the same Clos over an equal share of the hosts; leaf i of every zone also goes to joint i mod n.

    The joints are switches of a third tier with ``radix`` ports; each leaf gives one port to one of them.
    """

    plan: ClosPlan
    zones: int
    joints: int
    radix: int

    def over(self, assembly: Assembly, ports: HostPorts) -> None:
        """Add the switches and join them to every port of the hosts.

        :raises ParameterError: hosts that do not divide over the zones, with the nearest numbers that do; more joints
            than a zone has leaves, so that some would have no cable.
        """
        share, left = divmod(ports.n_hosts, self.zones)
        if left or not share:
            nearest = " or ".join(str(n * self.zones) for n in (share, share + 1) if n)
            raise ParameterError(f"{ports.n_hosts} hosts do not divide over {self.zones} zones; use {nearest}")
        leaves = []
        for zone in range(self.zones):
            label = f"zone-{zone + 1:0{len(str(self.zones))}d}"
            with assembly.within(f"{label}-", pod=label):
                leaves.append(self.plan.over(assembly, ports.of_hosts(zone * share, (zone + 1) * share)))
        n_leaves = min(map(len, leaves))
        if self.joints > n_leaves:
            raise ParameterError(
                f"joints is {self.joints}, but a zone has {n_leaves} leaves with one cable each to a joint; "
                f"use {n_leaves} joints or fewer"
            )
        joints = assembly.add_nodes(
            numbered("joint-{}", np.arange(1, self.joints + 1)),
            kind="switch",
            tier=3,
            radix=self.radix,
            port_gbps=self.plan.link_gbps,
            ports_per_cage=self.plan.ports_per_cage,
            part=self.plan.switch_part,
        )
        for rows in leaves:
            assembly.connect(rows, joints[np.arange(len(rows)) % self.joints], self.plan.link_gbps)


def joined_zones(
    zones: int,
    *,
    leaves: int,
    spines: int,
    hosts_per_leaf: int,
    parallel: int = 1,
    joints: int = 2,
    radix: int = 40,
    link_gbps: float = 200,
    ports_per_cage: int = 0,
    host_part: str | None = None,
    switch_part: str | None = None,
    name: str | None = None,
) -> Fabric:
    """Zones of ``leaves`` and ``spines``, joined by ``joints`` switches: leaf i of every zone to joint i mod joints.

    Inside a zone everything is a plain leaf-spine of switches with ``radix`` ports; from zone to zone there is one
    link a leaf. Fire-Flyer 2 is two zones of 40 leaves and 20 spines with two joints (arXiv 2408.14158).

    >>> f = joined_zones(2, leaves=40, spines=20, hosts_per_leaf=15)
    >>> len(f.switches), len(f.endpoints)
    (122, 1200)

    :raises ParameterError: ports that do not fit the radix, or more joints than leaves.
    """
    positive(zones=zones, leaves=leaves, spines=spines, hosts_per_leaf=hosts_per_leaf, parallel=parallel)
    positive(joints=joints, radix=radix)
    link = parse_gbps(link_gbps)
    assembly = Assembly(name or f"{zones} zones of {leaves} leaves")
    hosts = zones * leaves * hosts_per_leaf
    ports = add_adapters(
        assembly,
        hosts,
        rails=1,
        gbps=link,
        hosts_per_unit=hosts // zones,
        unit="zone",
        on_rails=False,
        part=host_part,
    )
    plan = ClosPlan(
        hosts_per_leaf,
        (Layer(leaves, spines, parallel, radix),),
        link,
        leaf_radix=radix,
        ports_per_cage=ports_per_cage,
        switch_part=switch_part,
    )
    ZonesPlan(plan, zones, joints, radix).over(assembly, ports)
    made_by = f"joined_zones({zones}, leaves={leaves}, spines={spines}, hosts_per_leaf={hosts_per_leaf}, radix={radix})"
    return assembly.finish(Origin(made_by=made_by))
