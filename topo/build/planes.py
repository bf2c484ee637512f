"""Disjoint fabrics under the same hosts: planes that share adapters' ports, rails without a spine between."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, Protocol

from topo.build.assembly import Assembly
from topo.build.clos import sized_clos
from topo.build.hosts import HostPorts, add_adapters, port_gbps_of
from topo.build.layers import positive
from topo.build.rail import RailPlan
from topo.errors import ParameterError
from topo.fabric import Fabric, Origin
from topo.units import parse_gbps

__all__ = ["Plan", "PlanesPlan", "multi_plane", "rail_only"]


class Plan(Protocol):
    """A scale-out fabric that stands over hosts of any making."""

    def over(self, assembly: Assembly, ports: HostPorts) -> object:
        """Add the switches and join them to every port of the hosts."""


@dataclass(frozen=True, slots=True)
class PlanesPlan:
    """The same fabric once for each port of an adapter, for each rail, or for each of both; nothing joins them.

    Plane p takes port p of every adapter (``port``), the adapters of rail p (``rail``), or port after port of rail
    after rail (``both``). ``planes``, where given, must be as many as the hosts have.

    >>> import topo
    >>> hosts = topo.ClusterHosts("dgx-h100", 4, inside=False)
    >>> f = topo.cluster(hosts, PlanesPlan(topo.ClosOver(tiers=1), by="rail"))
    >>> f.switches.size, f.nodes.plane.labels.tolist()[:2]
    (8, ['plane-1', 'plane-2'])
    """

    plan: Plan
    by: Literal["port", "rail", "both"] = "port"
    planes: int | None = None

    def over(self, assembly: Assembly, ports: HostPorts) -> None:
        """Add every plane's switches, labelled with their plane, and join them to the hosts.

        :raises ParameterError: another number of planes than the hosts have ports or rails.
        """
        found = self._count(ports)
        if self.planes is not None and self.planes != found:
            what = {"port": "ports an adapter", "rail": "rails", "both": "ports over all rails"}[self.by]
            raise ParameterError(f"planes is {self.planes}, but these hosts have {found} {what}; use {found} planes")
        width = len(str(found))
        for p in range(found):
            label = f"plane-{p + 1:0{width}d}"
            mine = self._slice(ports, p)
            rail = {} if self.by == "port" else {"rail": str(mine.rail_names[0])}
            with assembly.within(f"{label}-", plane=label, **rail):
                self.plan.over(assembly, mine)

    def _count(self, ports: HostPorts) -> int:
        return {"port": ports.n_ports, "rail": ports.n_rails, "both": ports.n_rails * ports.n_ports}[self.by]

    def _slice(self, ports: HostPorts, p: int) -> HostPorts:
        if self.by == "port":
            return ports.of_port(p)
        if self.by == "rail":
            return ports.of_rail(p)
        return ports.of_rail(p // ports.n_ports).of_port(p % ports.n_ports)


def multi_plane(
    hosts: int,
    *,
    planes: int,
    rails: int = 1,
    nic_gbps: float = 800,
    lanes: int = 8,
    fabric: Literal["clos", "rail_optimized"] = "clos",
    tiers: int = 2,
    radix: int = 64,
    taper: float | Sequence[float] = 1.0,
    hosts_per_unit: int | None = None,
    hosts_per_leaf: int | None = None,
    uplinks: int | None = None,
    spine_groups: int | None = None,
    link_gbps: float | None = None,
    breakout: int = 1,
    uplink_breakout: int = 1,
    ports_per_cage: int = 0,
    host_part: str | None = None,
    switch_part: str | None = None,
    name: str | None = None,
) -> Fabric:
    """``planes`` disjoint fabrics that share the hosts' adapters: plane p takes port p of each, at nic_gbps / planes.

    An adapter stays one endpoint, so that 131,072 of them over eight planes are 131,072. Each plane is a folded Clos
    of ``tiers``, ``radix`` and ``taper`` (see :func:`topo.clos`), or rail-optimized with ``hosts_per_unit`` and the
    rest (see :func:`topo.rail_optimized`). Two planes have no switch in common: what leaves by port p arrives by it.

    ``breakout`` links to adapters share a port of a leaf, as legs of one cable; ``radix`` and ``uplinks`` count whole
    ports, of ``link_gbps`` (default: nic_gbps / planes x ``breakout``). With ``uplink_breakout`` n, in two tiers, each
    uplink is n legs of link_gbps / n, and a spine has n times the radix in such ports.

    >>> f = multi_plane(512, planes=8, radix=32)
    >>> len(f.endpoints), len(f.switches), float(f.links.capacity_gbps[0])
    (512, 384, 100.0)

    :raises ParameterError: planes that do not divide the adapter's lanes, with the nearest number that does, or
        hosts that do not fit a plane.
    """
    nic = parse_gbps(nic_gbps)
    gbps = port_gbps_of(nic, planes, lanes=lanes, what="planes")
    positive(hosts=hosts, rails=rails, breakout=breakout)
    link = gbps * breakout if link_gbps is None else parse_gbps(link_gbps)
    assembly = Assembly(name or f"{planes} planes, {hosts} hosts x {rails} adapters")
    on_rails = fabric == "rail_optimized"
    ports = add_adapters(
        assembly, hosts, rails=rails, ports=planes, gbps=gbps, hosts_per_unit=hosts_per_unit or hosts,
        unit="su" if on_rails else "", on_rails=on_rails, part=host_part,
    )  # fmt: skip
    plan: Plan
    if on_rails:
        plan = RailPlan(
            hosts_per_unit=hosts_per_unit or hosts, hosts_per_leaf=hosts_per_leaf, radix=radix, tiers=tiers,
            uplinks=uplinks, spine_groups=spine_groups, link_gbps=link, breakout=breakout,
            uplink_breakout=uplink_breakout, ports_per_cage=ports_per_cage, switch_part=switch_part,
        )  # fmt: skip
    else:
        _refuse_foreign(hosts_per_unit=hosts_per_unit, hosts_per_leaf=hosts_per_leaf, uplinks=uplinks)
        sized = sized_clos(
            hosts * rails, tiers=tiers, radix=radix, taper=taper, link_gbps=link, host_gbps=gbps, breakout=breakout,
            uplink_breakout=uplink_breakout,
        )  # fmt: skip
        plan = replace(sized, ports_per_cage=ports_per_cage, switch_part=switch_part)
    PlanesPlan(plan, planes=planes).over(assembly, ports)
    return assembly.finish(
        Origin(
            made_by=f"multi_plane({hosts}, planes={planes}, rails={rails}, fabric={fabric!r}, radix={radix}, "
            f"tiers={tiers})"
        )
    )


def _refuse_foreign(**given: int | None) -> None:
    for name, value in given.items():
        if value is not None:
            raise ParameterError(f"{name} is {value}, but planes that are a clos take none; use fabric rail_optimized")


def rail_only(
    hosts: int,
    *,
    rails: int = 8,
    ports: int = 1,
    nic_gbps: float = 400,
    tiers: int = 2,
    radix: int = 64,
    taper: float | Sequence[float] = 1.0,
    link_gbps: float | None = None,
    breakout: int = 1,
    uplink_breakout: int = 1,
    ports_per_cage: int = 0,
    host_part: str | None = None,
    switch_part: str | None = None,
    name: str | None = None,
) -> Fabric:
    """Rails that no switch joins: the adapters of each rail, and each of their ``ports``, on a fabric of their own.

    Every rail is one switch (``tiers`` 1) or a folded Clos of ``radix`` and ``taper``; traffic from rail to rail has
    to pass a scale-up domain or a host (Wang et al., arXiv 2307.12169; DeepSeek's multi-plane fat-tree, arXiv
    2505.09343). A rail's switches are labelled with their rail and their plane. ``link_gbps`` and the breakouts are
    those of :func:`topo.multi_plane`.

    >>> f = rail_only(32, rails=4, tiers=1, radix=32)
    >>> len(f.switches), f.nodes.rail.values(f.switches).tolist()
    (4, ['rail-1', 'rail-2', 'rail-3', 'rail-4'])

    :raises ParameterError: the hosts do not fit a rail's switches, with the most that do.
    """
    nic = parse_gbps(nic_gbps)
    gbps = port_gbps_of(nic, ports)
    positive(hosts=hosts, rails=rails, breakout=breakout)
    assembly = Assembly(name or f"rail-only, {hosts} hosts x {rails} rails")
    waiting = add_adapters(
        assembly, hosts, rails=rails, ports=ports, gbps=gbps, hosts_per_unit=hosts, unit="", part=host_part
    )
    plan = sized_clos(
        hosts,
        tiers=tiers,
        radix=radix,
        taper=taper,
        link_gbps=gbps * breakout if link_gbps is None else parse_gbps(link_gbps),
        host_gbps=gbps,
        breakout=breakout,
        uplink_breakout=uplink_breakout,
    )
    by: Literal["rail", "both"] = "rail" if ports == 1 else "both"
    PlanesPlan(replace(plan, ports_per_cage=ports_per_cage, switch_part=switch_part), by=by).over(assembly, waiting)
    return assembly.finish(
        Origin(made_by=f"rail_only({hosts}, rails={rails}, ports={ports}, radix={radix}, tiers={tiers})")
    )
