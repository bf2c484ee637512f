"""Hosts that published fabrics connect: accelerators, adapters of the compute fabric, and their cages."""

from __future__ import annotations

from dataclasses import dataclass

from topo.document import nearest
from topo.errors import ParameterError

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


HOSTS: tuple[HostPart, ...] = (
    HostPart(
        "dgx-b200",
        "NVIDIA DGX B200",
        8,
        8,
        400,
        2,
        "NVIDIA DGX B200 user guide, hardware overview: 4 OSFP ports for 8 single-port adapters of 400 Gb/s",
    ),
    HostPart(
        "dgx-h100",
        "NVIDIA DGX H100",
        8,
        8,
        400,
        2,
        "NVIDIA DGX H100 user guide, table 6: 8 adapters in 4 OSFP ports of two; RA-11333-001: 400 Gb/s each",
    ),
    HostPart(
        "dgx-h200",
        "NVIDIA DGX H200",
        8,
        8,
        400,
        2,
        "NVIDIA DGX BasePOD reference architecture, core components: as DGX H100",
    ),
)
"""Every host that a spec may name, by name."""


def host_part(name: str) -> HostPart:
    """The host of that name.

    >>> host_part("dgx-h100").n_nics
    8

    :raises ParameterError: no such host; the nearest names are told.
    """
    for part in HOSTS:
        if part.name == name:
            return part
    raise ParameterError(f"{name!r} is not a known host{nearest(name, (part.name for part in HOSTS))}")
