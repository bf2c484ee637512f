"""Hosts of a fabric: their adapters as nodes, and the ports that wait for a scale-out cable."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from topo.build.assembly import Assembly, numbered
from topo.build.clos import positive
from topo.fabric import FORWARDS_NOTHING
from topo.table import Labels

__all__ = ["HostPorts", "add_adapters"]


@dataclass(frozen=True, eq=False)
class HostPorts:
    """Where scale-out cables go: ``node[h, r, p]`` is the node that port p of rail r of host h belongs to.

    A node that appears for several p has that many ports. ``gbps`` is the rate of one port.
    """

    node: NDArray[np.int64]
    gbps: float

    @property
    def n_hosts(self) -> int:
        """Hosts, first axis."""
        return int(self.node.shape[0])

    @property
    def n_rails(self) -> int:
        """Rails, second axis."""
        return int(self.node.shape[1])


def add_adapters(
    assembly: Assembly,
    hosts: int,
    *,
    rails: int,
    ports: int = 1,
    gbps: float,
    hosts_per_unit: int,
    part: str | None = None,
) -> HostPorts:
    """Add ``hosts`` servers as their adapters alone: one endpoint a rail, grouped by host and scalable unit.

    >>> assembly = Assembly("hosts")
    >>> add_adapters(assembly, 4, rails=8, gbps=400, hosts_per_unit=2).node.shape
    (4, 8, 1)
    """
    positive(hosts=hosts, rails=rails, ports=ports, hosts_per_unit=hosts_per_unit)
    host = np.repeat(np.arange(hosts), rails)
    rail = np.tile(np.arange(rails), hosts)
    units = -(-hosts // hosts_per_unit)
    nics = assembly.add_nodes(
        numbered("host-{}-nic-{}", host + 1, rail + 1),
        kind="nic",
        is_endpoint=True,
        forwards=FORWARDS_NOTHING,
        host=Labels(host, numbered("host-{}", np.arange(1, hosts + 1))),
        rail=Labels(rail, numbered("rail-{}", np.arange(1, rails + 1))),
        pod=Labels(host // hosts_per_unit, numbered("su-{}", np.arange(1, units + 1))),
        part=part,
        local_index=rail,
    )
    return HostPorts(np.repeat(nics.reshape(hosts, rails, 1), ports, axis=2), gbps)
