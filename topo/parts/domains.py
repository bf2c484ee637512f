"""Scale-up domains larger than a host: racks and pods, one row each, and the pods that are made to measure."""

from __future__ import annotations

from topo.parts.named import named
from topo.parts.servers import SERVERS
from topo.parts.template import Adapters, DomainTemplate, HostTemplate, Known, PartBlock

__all__ = ["DOMAINS", "host_template", "mesh_host", "scale_up_template", "ualink_template"]


def host_template(name: str) -> HostTemplate:
    """The server of that name, described inside.

    >>> host_template("dgx-h100").compute.accelerators
    (7, 4, 6, 5, 2, 1, 3, 0)

    :raises ParameterError: no such server; the nearest names are told.
    """
    return named(SERVERS, name, f"template is {name!r}, which is not a known host")


def mesh_host(name: str, part: str, accelerators: int, nic_gbps: float, known: Known) -> HostTemplate:
    """A host of bare accelerators that are their own adapters, one rail each.

    >>> mesh_host("board", "NPU", 8, 400, Known("D", "own example")).n_accelerators
    8
    """
    each = tuple(range(accelerators))
    return HostTemplate(
        name,
        part,
        (PartBlock("npu", "accelerator", accelerators, known, part),),
        (),
        (Adapters("compute", "npu", nic_gbps, each, each, (-1,) * accelerators, known),),
        known,
    )


def ualink_template(
    accelerators_per_host: int, hosts: int, stations: int, *, switch_ports: int, station_gbps: float
) -> DomainTemplate:
    """A UALink pod: every accelerator has one station on each of ``stations`` switches, a port to itself.

    >>> ualink_template(4, 256, 4, switch_ports=1024, station_gbps=800).ports_per_host
    4
    """
    known = Known("S", "UALink 200G 1.0: up to 1,024 accelerators, each switch port to a distinct accelerator")
    return DomainTemplate(
        "ualink-pod",
        "UALink pod",
        mesh_host("ualink-host", "UALink accelerator", accelerators_per_host, 400, known),
        n_hosts=hosts,
        lower="npu",
        uppers=stations,
        upper_name="ualink-switch",
        upper_ports=switch_ports,
        parallel=1,
        gbps=station_gbps,
        medium="UALink station of 4 lanes",
        known=known,
    )


_NVL72 = Known("P", "NVIDIA DGX SuperPOD GB200 reference architecture RA-11338-001, network fabrics")
_GB300_NVL72 = Known(
    "P", "NVIDIA enterprise reference architecture, NVL72 AI factory, components: 9 switch trays, 130 TB/s in all"
)
_H100_256 = Known(
    "D",
    "72 links leave a node (18 cages of 4, 2:1) and 2,304 links end in 18 switches of 128 ports; the 57.6 TB/s is P",
)
_CLOUDMATRIX = Known("S", "text on arXiv 2506.12708: 7 sub-planes of 16 second-level chips, 48 ports of 28 GB/s each")

DOMAINS: tuple[DomainTemplate, ...] = (
    DomainTemplate(
        "cloudmatrix384",
        "Huawei CloudMatrix384",
        host_template("cloudmatrix-node"),
        n_hosts=48,
        lower="ub-l1",
        uppers=16,
        upper_name="ub-l2",
        upper_ports=48,
        parallel=1,
        gbps=224,
        medium="UB, 28 GB/s a direction",
        known=_CLOUDMATRIX,
        in_planes=True,
        hosts_per_rack=4,
    ),
    DomainTemplate(
        "dgx-h100-nvlink-256",
        "DGX H100, 32 joined by NVLink Switches",
        host_template("dgx-h100"),
        n_hosts=32,
        lower="nvswitch",
        uppers=18,
        upper_name="nvlink-switch",
        upper_ports=128,
        parallel=1,
        gbps=200,
        medium="NVLink 4 of 50 GB/s, both directions summed",
        known=_H100_256,
    ),
    DomainTemplate(
        "gb200-nvl72",
        "NVIDIA GB200 NVL72",
        host_template("gb200-tray"),
        n_hosts=18,
        lower="gpu",
        uppers=18,
        upper_name="nvswitch",
        upper_ports=72,
        parallel=1,
        gbps=400,
        medium="NVLink 5 of 100 GB/s, both directions summed",
        known=_NVL72,
        uppers_per_tray=2,
        hosts_per_rack=18,
    ),
    DomainTemplate(
        "gb300-nvl72",
        "NVIDIA GB300 NVL72",
        host_template("gb300-tray"),
        n_hosts=18,
        lower="gpu",
        uppers=18,
        upper_name="nvswitch",
        upper_ports=72,
        parallel=1,
        gbps=400,
        medium="NVLink 5 of 100 GB/s, both directions summed",
        known=_GB300_NVL72,
        uppers_per_tray=2,
        hosts_per_rack=18,
    ),
    ualink_template(4, 256, 4, switch_ports=1024, station_gbps=800),
)
"""Every rack or pod that a spec may name, by name."""


def scale_up_template(name: str) -> DomainTemplate:
    """The rack or pod of that name.

    >>> scale_up_template("gb200-nvl72").n_uppers
    18

    :raises ParameterError: no such domain; the nearest names are told.
    """
    return named(DOMAINS, name, f"template is {name!r}, which is not a known scale-up domain")
