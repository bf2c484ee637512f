"""Hosts that published fabrics connect: accelerators, adapters of the compute fabric, and their cages."""

from __future__ import annotations

from dataclasses import dataclass

from topo.parts.named import named
from topo.parts.servers import SERVERS
from topo.parts.template import HostTemplate

__all__ = ["HOSTS", "HostPart", "host_part"]


@dataclass(frozen=True, slots=True)
class HostPart:
    """A server: accelerators, and adapters on the compute fabric with ``nics_per_cage`` in each cage."""

    name: str
    title: str
    n_accelerators: int
    n_nics: int
    nic_gbps: float
    nics_per_cage: int
    source: str

    @classmethod
    def of(cls, template: HostTemplate) -> HostPart:
        """The summary of a server that is described inside; ``nic_gbps`` is all ports of an adapter together."""
        compute = template.compute
        cages = [cage for cage in compute.cages if cage >= 0]
        return cls(
            template.name,
            template.title,
            template.n_accelerators,
            len(compute.rails),
            compute.gbps,
            max(map(cages.count, cages), default=1),
            template.known.source,
        )


HOSTS: tuple[HostPart, ...] = tuple(HostPart.of(template) for template in SERVERS)
"""Every host that a spec may name, by name."""


def host_part(name: str) -> HostPart:
    """The host of that name.

    >>> host_part("dgx-h100").n_nics
    8

    :raises ParameterError: no such host; the nearest names are told.
    """
    return named(HOSTS, name, f"{name!r} is not a known host")
