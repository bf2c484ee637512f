"""Rail-optimized fabrics: NIC i of every host of a scalable unit on leaf i of that unit."""

from __future__ import annotations

import math

import numpy as np

from topo.build.assembly import Assembly, numbered
from topo.build.clos import Layer, add_layer, even_width, positive
from topo.build.hosts import HostPorts, add_adapters
from topo.errors import ParameterError
from topo.fabric import FORWARDS_NOTHING, Fabric, Origin
from topo.table import Array, Labels
from topo.units import parse_gbps

__all__ = ["rail_optimized"]


def rail_optimized(
    hosts: int,
    *,
    rails: int = 8,
    hosts_per_unit: int = 32,
    radix: int = 64,
    tiers: int = 2,
    uplinks: int | None = None,
    spine_groups: int | None = None,
    link_gbps: float = 400,
    host_gbps: float | None = None,
    managers: int = 0,
    links_per_manager: int = 2,
    host_part: str | None = None,
    switch_part: str | None = None,
    name: str | None = None,
) -> Fabric:
    """Hosts of ``rails`` NICs in scalable units; in each unit NIC i of every host goes to leaf i (rail i).

    Every NIC is a node of its own, grouped by host: a host as one node would short-circuit the rails. A leaf has
    ``hosts_per_unit`` down-ports and ``uplinks`` up-ports (default: the rest of its radix). Two tiers: spines are the
    fewest that fit and divide the uplinks. Three tiers: the leaves are dealt in order to ``spine_groups`` groups
    (default: as few as fit); spines keep as many ports up as down, and spine i of every group goes to core plane i.

    ``managers`` fabric-manager nodes take free ports of the last unit, one link a rail in turn; their links are of
    kind ``management`` and carry no endpoint traffic.

    >>> f = rail_optimized(127, managers=2)
    >>> len(f.endpoints), len(f.switches)
    (1016, 48)

    :raises ParameterError: numbers that do not fit the radix, with the ones that do.
    """
    positive(hosts=hosts, rails=rails, hosts_per_unit=hosts_per_unit, radix=radix)
    if tiers not in (2, 3):
        raise ParameterError(f"tiers is {tiers!r}; a rail-optimized fabric is built with 2 or 3")
    up = radix - hosts_per_unit if uplinks is None else uplinks
    if up < 1 or hosts_per_unit + up > radix:
        raise ParameterError(
            f"a leaf of {radix} ports cannot take {hosts_per_unit} hosts and {up} uplinks; "
            f"hosts_per_unit can be at most {radix - max(up, 1)}"
        )
    link = parse_gbps(link_gbps)
    made_by = f"rail_optimized({hosts}, rails={rails}, hosts_per_unit={hosts_per_unit}, radix={radix}, tiers={tiers})"
    assembly = Assembly(name or f"rail-optimized, {hosts} hosts x {rails} rails")
    host_rate = link if host_gbps is None else parse_gbps(host_gbps)
    ports = add_adapters(
        assembly, hosts, rails=rails, gbps=host_rate, hosts_per_unit=hosts_per_unit, part=host_part
    )  # fmt: skip
    leaf = _rail_leaves(assembly, ports, hosts_per_unit, radix=radix, link_gbps=link, part=switch_part)
    if managers:
        _add_managers(assembly, managers, links_per_manager, leaf[-1], link)
    below = leaf.reshape(-1, 1)
    if tiers == 3:
        below, up = _grouped_spines(assembly, below, up, radix, spine_groups, link, switch_part)
    top = even_width(len(below) * up, radix, up)
    add_layer(
        assembly,
        below,
        Layer(len(below), top, up // top, radix),
        link,
        tier=tiers,
        switch="spine" if tiers == 2 else "core",
        block="group",
        part=switch_part,
    )
    return assembly.finish(Origin(made_by=made_by))


def _rail_leaves(
    assembly: Assembly, ports: HostPorts, hosts_per_unit: int, *, radix: int, link_gbps: float, part: str | None
) -> Array:
    """One leaf a rail in each scalable unit, with the access links; returns leaf rows (units, rails)."""
    hosts, rails = ports.n_hosts, ports.n_rails
    units = math.ceil(hosts / hosts_per_unit)
    unit, rail = np.repeat(np.arange(units), rails), np.tile(np.arange(rails), units)
    leaf = assembly.add_nodes(
        numbered("su-{}-leaf-{}", unit + 1, rail + 1),
        kind="switch",
        tier=1,
        radix=radix,
        port_gbps=link_gbps,
        rail=Labels(rail, numbered("rail-{}", np.arange(1, rails + 1))),
        pod=Labels(unit, numbered("su-{}", np.arange(1, units + 1))),
        part=part,
    ).reshape(units, rails)
    own_unit = np.arange(hosts) // hosts_per_unit
    assembly.connect(ports.node[:, :, 0], leaf[own_unit], ports.gbps, kind="access")
    return leaf


def _add_managers(assembly: Assembly, managers: int, links_each: int, leaves: Array, gbps: float) -> None:
    rows = assembly.add_nodes(
        numbered("manager-{}", np.arange(1, managers + 1)), kind="manager", forwards=FORWARDS_NOTHING
    )
    links = np.arange(managers * links_each)
    assembly.connect(rows[links // links_each], leaves[links % len(leaves)], gbps, kind="management")


def _grouped_spines(
    assembly: Assembly,
    leaves: Array,
    uplinks: int,
    radix: int,
    groups: int | None,
    gbps: float,
    part: str | None,
) -> tuple[Array, int]:
    """Spines in groups, half their ports up; returns them (groups, spines a group) with their uplinks."""
    half = radix // 2
    n_groups = math.ceil(len(leaves) / half) if groups is None else groups
    positive(spine_groups=n_groups)
    children = math.ceil(len(leaves) / n_groups)
    if math.ceil(len(leaves) / children) != n_groups:
        raise ParameterError(f"{len(leaves)} leaves do not fill {n_groups} spine groups of {children}")
    width = even_width(children * uplinks, half, uplinks)
    layer = Layer(children, width, uplinks // width, radix)
    spines = add_layer(assembly, leaves, layer, gbps, tier=2, switch="spine", block="group", part=part)
    return spines, children * uplinks // width
