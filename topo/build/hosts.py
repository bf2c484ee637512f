"""Hosts of a fabric: their adapters as nodes, and the ports that wait for a scale-out cable."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from topo.build.assembly import Assembly, numbered, refuse_too_many
from topo.build.layers import positive
from topo.errors import ParameterError
from topo.fabric import FORWARDS_NOTHING
from topo.table import Labels

__all__ = ["HostPorts", "add_adapters", "add_hosts", "port_gbps_of"]


@dataclass(frozen=True, eq=False)
class HostPorts:
    """Where scale-out cables go: ``node[h, r, p]`` is the node that port p of rail r of host h belongs to.

    A node that appears for several p has that many ports. ``gbps`` is the rate of one port. ``rails`` names the rails
    where they are not simply numbered. ``standby`` are hosts wired beside these, as many in each scalable unit.
    """

    node: NDArray[np.int64]
    gbps: float
    rails: NDArray[np.str_] | None = None
    standby: HostPorts | None = None

    @property
    def n_hosts(self) -> int:
        """Hosts, first axis."""
        return int(self.node.shape[0])

    @property
    def n_rails(self) -> int:
        """Rails, second axis."""
        return int(self.node.shape[1])

    @property
    def n_ports(self) -> int:
        """Ports of an adapter, third axis."""
        return int(self.node.shape[2])

    @property
    def rail_names(self) -> NDArray[np.str_]:
        """A name for each rail."""
        return numbered("rail-{}", np.arange(1, self.n_rails + 1)) if self.rails is None else self.rails

    def of_port(self, port: int) -> HostPorts:
        """Port ``port`` of every adapter alone."""
        beside = self.standby and self.standby.of_port(port)
        return HostPorts(self.node[:, :, port : port + 1], self.gbps, self.rail_names, beside)

    def of_rail(self, rail: int) -> HostPorts:
        """The adapters of one rail alone."""
        beside = self.standby and self.standby.of_rail(rail)
        return HostPorts(self.node[:, rail : rail + 1, :], self.gbps, self.rail_names[rail : rail + 1], beside)

    def of_hosts(self, first: int, last: int) -> HostPorts:
        """Hosts ``first`` up to but not ``last`` alone."""
        return HostPorts(self.node[first:last], self.gbps, self.rails)


def add_adapters(
    assembly: Assembly,
    hosts: int,
    *,
    rails: int,
    ports: int = 1,
    gbps: float,
    hosts_per_unit: int,
    unit: str = "su",
    host: str = "host",
    is_endpoint: bool = True,
    on_rails: bool = True,
    part: str | None = None,
) -> HostPorts:
    """Add ``hosts`` servers as their adapters alone: one endpoint a rail, grouped by host and scalable unit.

    ``gbps`` is the rate of one of an adapter's ``ports``, which share a cage where there are several. ``unit`` and
    ``host`` are the words for names; ``on_rails`` False leaves the adapters without a rail.

    >>> assembly = Assembly("hosts")
    >>> add_adapters(assembly, 4, rails=8, gbps=400, hosts_per_unit=2).node.shape
    (4, 8, 1)
    """
    positive(hosts=hosts, rails=rails, ports=ports, hosts_per_unit=hosts_per_unit)
    refuse_too_many(float(hosts) * rails * ports, "adapters' ports")
    number = np.repeat(np.arange(hosts), rails)
    rail = np.tile(np.arange(rails), hosts)
    units = -(-hosts // hosts_per_unit)
    nics = assembly.add_nodes(
        numbered(f"{host}-{{}}-nic-{{}}", number + 1, rail + 1),
        kind="nic",
        is_endpoint=is_endpoint,
        forwards=FORWARDS_NOTHING,
        host=Labels(number, numbered(f"{host}-{{}}", np.arange(1, hosts + 1))),
        rail=Labels(rail, numbered("rail-{}", np.arange(1, rails + 1))) if on_rails else None,
        pod=Labels(number // hosts_per_unit, numbered(f"{unit}-{{}}", np.arange(1, units + 1))) if unit else None,
        part=part,
        local_index=rail,
        ports_per_cage=ports if ports > 1 else 0,
    )
    return HostPorts(np.repeat(nics.reshape(hosts, rails, 1), ports, axis=2), gbps)


def add_hosts(assembly: Assembly, hosts: int, *, gbps: float, hosts_per_pod: int = 0) -> HostPorts:
    """Add ``hosts`` servers of one port each, the server itself being the endpoint.

    >>> add_hosts(Assembly("hosts"), 4, gbps=400).node.ravel().tolist()
    [0, 1, 2, 3]
    """
    positive(hosts=hosts)
    names = numbered("host-{}", np.arange(1, hosts + 1))
    pod = np.arange(hosts) // hosts_per_pod if hosts_per_pod else None
    rows = assembly.add_nodes(
        names,
        kind="host",
        is_endpoint=True,
        forwards=FORWARDS_NOTHING,
        host=Labels(np.arange(hosts), names),
        pod=None if pod is None else Labels(pod, numbered("pod-{}", np.arange(1, pod[-1] + 2))),
    )
    return HostPorts(rows.reshape(-1, 1, 1), gbps)


def port_gbps_of(nic_gbps: float, ports: int, *, lanes: int = 8, what: str = "ports") -> float:
    """Rate of one of the ``ports`` that an adapter of ``nic_gbps`` and that many lanes is split into.

    >>> port_gbps_of(800, 8)
    100.0

    :raises ParameterError: the lanes do not split evenly, with the nearest numbers that do.
    """
    positive(**{what: ports, "lanes": lanes})
    if lanes % ports:
        fitting = [n for n in range(1, lanes + 1) if lanes % n == 0]
        below = max(n for n in fitting if n < ports)
        above = [n for n in fitting if n > ports][:1]
        nearest = " or ".join(map(str, [below, *above]))
        raise ParameterError(
            f"{what} is {ports}, which does not divide an adapter of {nic_gbps:g} Gb/s and {lanes} lanes; "
            f"the nearest that does is {nearest}"
        )
    return nic_gbps / ports
