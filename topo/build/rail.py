"""Rail-optimized fabrics: NIC i of every host of a scalable unit on the leaves of rail i of that unit."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from topo.build.assembly import Assembly, numbered, refuse_too_many
from topo.build.hosts import HostPorts, add_adapters
from topo.build.layers import Layer, add_layer, even_width, given_width, positive, refuse_split_above
from topo.errors import ParameterError
from topo.fabric import FORWARDS_NOTHING, Fabric, Origin
from topo.table import Array, Labels
from topo.units import parse_gbps

__all__ = ["RailPlan", "rail_optimized"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RailPlan:
    """A rail-optimized fabric to stand over hosts; see :func:`rail_optimized` for what the numbers mean.

    ``core_uplinks`` are those of a spine in three tiers (default: as many as it has ports down). ``breakout`` is how
    many host links share a port of a leaf as legs of one cable, ``uplink_breakout`` how many links to spines do.
    Hosts with several ports a rail get a leaf for each.

    >>> import topo
    >>> f = topo.cluster(topo.ClusterHosts("dgx-h100", 32, inside=False), RailPlan(hosts_per_unit=32))
    >>> len(f.endpoints), f.switches.size
    (256, 12)
    """

    hosts_per_unit: int
    hosts_per_leaf: int | None = None
    radix: int = 64
    tiers: int = 2
    uplinks: int | None = None
    spine_groups: int | None = None
    spines_per_group: int | None = None
    group_by: Literal["unit", "rail"] = "unit"
    core_planes: int | None = None
    core_uplinks: int | None = None
    link_gbps: float = 400
    breakout: int = 1
    uplink_breakout: int = 1
    ports_per_cage: int = 0
    unit: str = "su"
    switch_part: str | None = None

    def over(self, assembly: Assembly, ports: HostPorts) -> None:
        """Add the switches and join them to every port of the hosts, and of those on standby.

        :raises ParameterError: numbers that do not fit the radix, with the ones that do.
        """
        self.add_spines(assembly, self.add_leaves(assembly, ports))

    def add_leaves(self, assembly: Assembly, ports: HostPorts) -> Array:
        """Add the leaves and the access links; returns leaf rows (units, rails, ports of an adapter, leaves a rail)."""
        self._refuse_misfit(ports)
        leaf = self._leaves(assembly, ports)
        self._attach(assembly, ports, leaf, self.hosts_per_unit // self.leaves_per_rail)
        if ports.standby is not None:
            self._attach(assembly, ports.standby, leaf, self._standby_per_leaf(ports))
        return leaf

    def add_spines(self, assembly: Assembly, leaf: Array) -> None:
        """Add the tiers above the leaves that :meth:`add_leaves` gave."""
        up = self.uplinks or self.radix - math.ceil(self.hosts_per_unit // self.leaves_per_rail / self.breakout)
        order = (1, 2, 0, 3) if self.group_by == "rail" else (0, 1, 2, 3)
        below, up = self._grouped_spines(assembly, leaf.transpose(order).reshape(-1, 1), up * self.uplink_breakout)
        if self.tiers == 2:
            return
        below = self._into_core_planes(below)
        top = even_width(len(below) * up, self.radix, up)
        self._layer(assembly, below, Layer(len(below), top, up // top, self.radix), 3)

    @property
    def leaves_per_rail(self) -> int:
        """Leaves of one rail in one unit.

        :raises ParameterError: the hosts of a unit are no multiple of the hosts of a leaf.
        """
        each = self.hosts_per_leaf or self.hosts_per_unit
        positive(hosts_per_unit=self.hosts_per_unit, hosts_per_leaf=each, radix=self.radix)
        positive(breakout=self.breakout, uplink_breakout=self.uplink_breakout)
        if self.hosts_per_unit % each:
            below = self.hosts_per_unit // each * each
            nearest = " or ".join(str(n) for n in (below, below + each) if n)
            raise ParameterError(
                f"hosts_per_unit is {self.hosts_per_unit}, no multiple of hosts_per_leaf {each}; use {nearest}"
            )
        return self.hosts_per_unit // each

    def _standby_per_leaf(self, ports: HostPorts) -> int:
        units = math.ceil(ports.n_hosts / self.hosts_per_unit)
        return math.ceil(ports.standby.n_hosts / (units * self.leaves_per_rail)) if ports.standby else 0

    def _refuse_misfit(self, ports: HostPorts) -> None:
        """Refuse hosts and uplinks that a leaf has no ports for."""
        if self.tiers not in (2, 3):
            raise ParameterError(f"tiers is {self.tiers!r}; a rail-optimized fabric is built with 2 or 3")
        refuse_split_above(self.uplink_breakout, self.tiers)
        per_rail = self.leaves_per_rail
        to_standby = math.ceil(self._standby_per_leaf(ports) / self.breakout)
        down = math.ceil(self.hosts_per_unit // per_rail / self.breakout)
        up = self.radix - down if self.uplinks is None else self.uplinks
        if up < 1 or down + to_standby + up > self.radix:
            most = (self.radix - to_standby - max(up, 1)) * per_rail * self.breakout
            left = self.radix - to_standby - down
            fewer = f", or uplinks at most {left}" if 0 < left < up else ""
            word = "unit" if self.unit == "su" else self.unit
            raise ParameterError(
                f"a leaf of {self.radix} ports cannot take {down + to_standby} ports to hosts and {max(up, 1)} or more "
                f"uplinks; hosts_per_{word} can be at most {most}{fewer}"
            )
        reserved = self.core_uplinks or 0
        if not 0 <= reserved < self.radix:
            raise ParameterError(
                f"core_uplinks is {reserved}, but a spine has {self.radix} ports; use at most {self.radix - 1}"
            )

    def _leaves(self, assembly: Assembly, ports: HostPorts) -> Array:
        """Leaf rows (units, rails, ports of an adapter, leaves of a rail)."""
        units = math.ceil(ports.n_hosts / self.hosts_per_unit)
        shape = (units, ports.n_rails, ports.n_ports, self.leaves_per_rail)
        unit, rail, port, number = (axis.ravel() for axis in np.indices(shape))
        in_unit = (rail * shape[2] + port) * shape[3] + number
        return assembly.add_nodes(
            numbered(f"{self.unit}-{{}}-leaf-{{}}", unit + 1, in_unit + 1),
            kind="switch",
            tier=1,
            radix=self.radix,
            port_gbps=max(self.link_gbps, ports.gbps * self.breakout),
            ports_per_cage=self.ports_per_cage,
            rail=Labels(rail, ports.rail_names),
            pod=Labels(unit, numbered(f"{self.unit}-{{}}", np.arange(1, units + 1))),
            part=self.switch_part,
        ).reshape(shape)

    def _attach(self, assembly: Assembly, ports: HostPorts, leaf: Array, per_leaf: int) -> None:
        """Access links: ``per_leaf`` hosts in turn to the first leaf of each rail, to the second, to the next unit."""
        place = np.arange(ports.n_hosts) // per_leaf
        target = leaf.transpose(0, 3, 1, 2).reshape(-1, *leaf.shape[1:3])[place]
        assembly.connect(ports.node, target, ports.gbps, kind="access", legs=self.breakout)

    def _grouped_spines(self, assembly: Assembly, leaves: Array, uplinks: int) -> tuple[Array, int]:
        """Spines in groups; returns them (groups, spines a group) with their uplinks."""
        reserved = self.core_uplinks or 0
        radix = self.radix * self.uplink_breakout
        down = radix - reserved if reserved else radix // 2 if self.tiers == 3 else radix
        fewest = math.ceil(len(leaves) / down) if self.tiers == 3 else 1
        n_groups = fewest if self.spine_groups is None else self.spine_groups
        positive(spine_groups=n_groups)
        children = math.ceil(len(leaves) / n_groups)
        if math.ceil(len(leaves) / children) != n_groups:
            fitting = math.ceil(len(leaves) / children)
            raise ParameterError(
                f"{len(leaves)} leaves do not fill {n_groups} spine groups of {children}; spine_groups can be {fitting}"
            )
        width = even_width(children * uplinks, down, uplinks)
        if self.spines_per_group is not None:
            width = given_width(self.spines_per_group, children * uplinks, down, uplinks, name="spines_per_group")
        spines = self._layer(assembly, leaves, Layer(children, width, uplinks // width, radix), 2)
        return spines, reserved or children * uplinks // width

    def _into_core_planes(self, spines: Array) -> Array:
        """Spines (groups, spines) dealt to ``core_planes``: one row for the spines of a group that share a plane."""
        groups, per_group = spines.shape
        planes = per_group if self.core_planes is None else self.core_planes
        positive(core_planes=planes)
        if per_group % planes:
            fitting = [n for n in range(1, per_group + 1) if per_group % n == 0]
            nearest = min(fitting, key=lambda n: abs(n - planes))
            raise ParameterError(
                f"core_planes is {planes}, which does not divide the {per_group} spines of a group; use {nearest}"
            )
        dealt: Array = spines.reshape(groups, planes, -1).transpose(0, 2, 1).reshape(-1, planes)
        return dealt

    def _layer(self, assembly: Assembly, below: Array, layer: Layer, tier: int) -> Array:
        return add_layer(
            assembly,
            below,
            layer,
            self.link_gbps / self.uplink_breakout,
            tier=tier,
            switch="spine" if tier == 2 else "core",
            block="group",
            part=self.switch_part,
            ports_per_cage=self.ports_per_cage * self.uplink_breakout,
            legs=self.uplink_breakout,
        )


def rail_optimized(
    hosts: int,
    *,
    rails: int = 8,
    hosts_per_unit: int = 32,
    hosts_per_leaf: int | None = None,
    radix: int = 64,
    tiers: int = 2,
    uplinks: int | None = None,
    spine_groups: int | None = None,
    spines_per_group: int | None = None,
    group_by: Literal["unit", "rail"] = "unit",
    core_planes: int | None = None,
    link_gbps: float = 400,
    host_gbps: float | None = None,
    breakout: int = 1,
    uplink_breakout: int = 1,
    ports_per_cage: int = 0,
    managers: int = 0,
    links_per_manager: int = 2,
    host_part: str | None = None,
    switch_part: str | None = None,
    name: str | None = None,
) -> Fabric:
    """Hosts of ``rails`` NICs in scalable units; in each unit NIC i of every host goes to a leaf of rail i.

    Every NIC is a node of its own, grouped by host: a host as one node would short-circuit the rails. A leaf takes
    ``hosts_per_leaf`` hosts (default: all of the unit) and has ``uplinks`` (default: the rest of its radix). Two
    tiers: spines are the fewest that fit and divide the uplinks. Three tiers: the leaves are dealt in order to
    ``spine_groups`` groups (default: as few as fit), unit by unit or, with ``group_by`` rail, rail by rail; spines keep
    as many ports up as down, and each group's spines are dealt to ``core_planes`` (default: one for each spine).
    Two tiers with several spine groups leave the groups apart, joined by nothing above. ``spines_per_group`` builds
    more spines than the fewest.

    With ``breakout`` n, a leaf's port carries n host links as legs of one cable; with ``uplink_breakout`` n, in two
    tiers, each uplink is n legs of link_gbps / n and a spine has n times the radix in such ports. ``managers``
    fabric-manager nodes take free ports of the last unit, one link a rail in turn, of kind ``management``: they carry
    no endpoint traffic.

    >>> f = rail_optimized(127, managers=2)
    >>> len(f.endpoints), len(f.switches)
    (1016, 48)

    :raises ParameterError: numbers that do not fit the radix, with the ones that do.
    """
    positive(hosts=hosts, rails=rails)
    link = parse_gbps(link_gbps)
    plan = RailPlan(
        hosts_per_unit=hosts_per_unit,
        hosts_per_leaf=hosts_per_leaf,
        radix=radix,
        tiers=tiers,
        uplinks=uplinks,
        spine_groups=spine_groups,
        spines_per_group=spines_per_group,
        group_by=group_by,
        core_planes=core_planes,
        link_gbps=link,
        breakout=breakout,
        uplink_breakout=uplink_breakout,
        ports_per_cage=ports_per_cage,
        switch_part=switch_part,
    )
    made_by = f"rail_optimized({hosts}, rails={rails}, hosts_per_unit={hosts_per_unit}, radix={radix}, tiers={tiers})"
    assembly = Assembly(name or f"rail-optimized, {hosts} hosts x {rails} rails")
    rate = link if host_gbps is None else parse_gbps(host_gbps)
    ports = add_adapters(assembly, hosts, rails=rails, gbps=rate, hosts_per_unit=plan.hosts_per_unit, part=host_part)
    leaf = plan.add_leaves(assembly, ports)
    if managers:
        _add_managers(assembly, managers, links_per_manager, leaf[-1].ravel(), link)
    plan.add_spines(assembly, leaf)
    return assembly.finish(Origin(made_by=made_by))


def _add_managers(assembly: Assembly, managers: int, links_each: int, leaves: Array, gbps: float) -> None:
    refuse_too_many(float(managers) * links_each, "links of managers")
    rows = assembly.add_nodes(
        numbered("manager-{}", np.arange(1, managers + 1)), kind="manager", forwards=FORWARDS_NOTHING
    )
    links = np.arange(managers * links_each)
    assembly.connect(rows[links // links_each], leaves[links % len(leaves)], gbps, kind="management")
