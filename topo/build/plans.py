"""Scale-out fabrics by name, to stand over hosts of any making: what a composed cluster chooses from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace

from topo.build.assembly import Assembly
from topo.build.clos import sized_clos
from topo.build.hosts import HostPorts
from topo.build.planes import Plan, PlanesPlan
from topo.build.rail import RailPlan

__all__ = ["PLANS", "ClosOver", "RailsOver", "hosts_per_unit_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClosOver:
    """The smallest folded Clos that takes every port of the hosts, in order; see :func:`topo.clos` for the numbers.

    ``breakout`` host links share a leaf's port as legs of one cable, ``uplink_breakout`` links to spines another.

    >>> import topo
    >>> topo.cluster(topo.ClusterHosts("dgx-h100", 16, inside=False), ClosOver(radix=64)).switches.size
    6
    """

    tiers: int = 2
    radix: int | Sequence[int] = 64
    taper: float | Sequence[float] = 1.0
    link_gbps: float = 400
    breakout: int = 1
    uplink_breakout: int = 1
    ports_per_cage: int = 0
    switch_part: str | None = None

    def over(self, assembly: Assembly, ports: HostPorts) -> None:
        """Add the switches and join them to every port of the hosts, of those on standby last.

        :raises ParameterError: the ports do not fit, with the most that do.
        """
        plan = sized_clos(
            ports.node.size + (ports.standby.node.size if ports.standby else 0),
            tiers=self.tiers,
            radix=self.radix,
            taper=self.taper,
            link_gbps=self.link_gbps,
            host_gbps=ports.gbps,
            breakout=self.breakout,
            uplink_breakout=self.uplink_breakout,
        )
        replace(plan, ports_per_cage=self.ports_per_cage, switch_part=self.switch_part).over(assembly, ports)


@dataclass(frozen=True, slots=True, kw_only=True)
class RailsOver:
    """A folded Clos for each rail, and for each port of its adapters, that no switch joins to another.

    >>> import topo
    >>> f = topo.cluster(topo.ClusterHosts("dgx-h100", 16, inside=False), RailsOver(tiers=1))
    >>> f.switches.size, len(topo.inventory(f).component_sizes)
    (8, 8)
    """

    tiers: int = 2
    radix: int | Sequence[int] = 64
    taper: float | Sequence[float] = 1.0
    link_gbps: float = 400
    breakout: int = 1
    uplink_breakout: int = 1
    ports_per_cage: int = 0
    switch_part: str | None = None

    def over(self, assembly: Assembly, ports: HostPorts) -> None:
        """Add every rail's switches and join them to the hosts.

        :raises ParameterError: a rail's ports do not fit, with the most that do.
        """
        each = ClosOver(**{field.name: getattr(self, field.name) for field in fields(self)})
        PlanesPlan(each, by="rail" if ports.n_ports == 1 else "both").over(assembly, ports)


PLANS: Mapping[str, type[Plan]] = {
    "clos": ClosOver,
    "multi_plane": PlanesPlan,
    "rail_only": RailsOver,
    "rail_optimized": RailPlan,
}
"""Every scale-out fabric that can stand over hosts of any making, by the name of its builder."""


def hosts_per_unit_of(plan: Plan) -> int:
    """Hosts of a scalable unit where the plan has such, else 0.

    >>> hosts_per_unit_of(PlanesPlan(RailPlan(hosts_per_unit=32))), hosts_per_unit_of(ClosOver())
    (32, 0)
    """
    if isinstance(plan, PlanesPlan):
        return hosts_per_unit_of(plan.plan)
    return plan.hosts_per_unit if isinstance(plan, RailPlan) else 0
