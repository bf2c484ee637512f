"""Servers that published fabrics connect, one row each; rates in Gb/s one direction, sources and labels beside them."""

from __future__ import annotations

from dataclasses import replace

from topo.parts.template import (
    Adapters,
    HostTemplate,
    Known,
    PartBlock,
    Wires,
    each_to_each,
    in_turn,
    mesh_pairs,
    pcie_gbps,
)

__all__ = ["SERVERS"]

_EIGHT = tuple(range(8))
_NONE = (-1, -1)
_PCIE = Known("D", "transfer rate times width times the share of line coding, rounded down to whole Gb/s")
_NVLINK = "NVLink {} of {} GB/s, both directions summed"
_FABRIC_MANAGER = "NVIDIA Fabric Manager user guide"
_FROM_MEMORY = Known("M", "from memory")
_IDLE_CPU = (
    "The CPUs are drawn with their links and relay nothing: between accelerators that have scale-up links, and from "
    "an accelerator to an adapter of another PCIe switch, traffic does not go over the CPU by default."
)


def _nvlink(generation: int, both_gbyte_s: int, lower: int, counts: tuple[int, ...], known: Known) -> Wires:
    one_direction = both_gbyte_s / 2 * 8
    medium = _NVLINK.format(generation, both_gbyte_s)
    return Wires("gpu", "nvswitch", each_to_each(lower, counts), one_direction, "scale_up", medium, known)


def _pcie(a: str, b: str, upper: tuple[int, ...], generation: int, known: Known = _PCIE) -> Wires:
    medium = f"PCIe Gen{generation} x16"
    return Wires(a, b, in_turn(upper), pcie_gbps(generation), "host_io", medium, known)


_A100_MANUAL = "NVIDIA DGX A100 user guide: 8 single-port ConnectX-6 of 200 Gb/s, 2 x EPYC 7742"
_A100_TREE = Known(
    "S", "NCCL topology file of an 8-GPU A100 server: two accelerators, two adapters a PCIe switch; NUMA 3, 1, 7, 5"
)
_DGX_A100 = HostTemplate(
    "dgx-a100",
    "NVIDIA DGX A100",
    (
        PartBlock("gpu", "accelerator", 8, Known("P", _A100_MANUAL), "A100"),
        PartBlock("nvswitch", "scale_up_switch", 6, Known("P", _FABRIC_MANAGER + ": 6 chips"), "NVSwitch2", 36),
        PartBlock("pcie", "pcie_switch", 4, _A100_TREE, "PCIe Gen4 switch"),
        PartBlock("numa", "cpu", 8, Known("M", "2 sockets of 4 NUMA nodes each"), "EPYC 7742, a quarter", relays=False),
        PartBlock("nic", "nic", 8, Known("P", _A100_MANUAL), "ConnectX-6"),
        PartBlock("storage-nic", "nic", 2, _FROM_MEMORY, "ConnectX-6"),
    ),
    (
        _nvlink(3, 50, 8, (2,) * 6, Known("S", "NVIDIA presentation: 2 links from each GPU to each of 6 chips")),
        _pcie("gpu", "pcie", (0, 0, 1, 1, 2, 2, 3, 3), 4),
        _pcie("nic", "pcie", (0, 0, 1, 1, 2, 2, 3, 3), 4),
        _pcie("pcie", "numa", (3, 1, 7, 5), 4),
        _pcie("storage-nic", "numa", (2, 6), 4, _FROM_MEMORY),
    ),
    (
        Adapters("compute", "nic", 200, _EIGHT, _EIGHT, _EIGHT, Known("P", _A100_MANUAL)),
        Adapters("storage", "storage-nic", 200, _NONE, (0, 1), (8, 9), _FROM_MEMORY),
    ),
    Known("P", _A100_MANUAL),
    (_IDLE_CPU, "How far the NUMA nodes of one socket are apart is left out."),
)

_H100_MANUAL = Known("P", "NVIDIA DGX H100 user guide, table 6: which adapter serves which GPU and ends in which cage")
_H100_TREE = Known("S", "nvidia-smi matrix of an 8 x H100 server: each GPU shares a PCIe switch with its own adapter")
_H100_SOCKETS = (0, 0, 0, 0, 1, 1, 1, 1)
# Table 6 in the order of the cages, OSFP1P1 to OSFP4P2: the adapter behind each port serves this GPU.
_H100_GPU_OF_PORT = (7, 4, 6, 5, 2, 1, 3, 0)
_SUPERPOD_H100 = "NVIDIA DGX SuperPOD H100 reference architecture RA-11333-001"
_DGX_H100 = HostTemplate(
    "dgx-h100",
    "NVIDIA DGX H100",
    (
        PartBlock("gpu", "accelerator", 8, _H100_MANUAL, "H100"),
        PartBlock("nvswitch", "scale_up_switch", 4, Known("P", _FABRIC_MANAGER + ": 4 chips"), "NVSwitch3", 64),
        PartBlock("pcie", "pcie_switch", 8, _H100_TREE, "PCIe Gen5 switch"),
        PartBlock("cpu", "cpu", 2, _H100_MANUAL, "Xeon 8480C", relays=False),
        PartBlock("nic", "nic", 8, _H100_MANUAL, "ConnectX-7"),
        PartBlock("storage-nic", "nic", 2, Known("P", _SUPERPOD_H100 + ": two storage ports a node"), "ConnectX-7"),
    ),
    (
        _nvlink(4, 50, 8, (5, 4, 4, 5), Known("M", "18 links from each GPU, 5, 4, 4 and 5 to the four chips")),
        _pcie("gpu", "pcie", _EIGHT, 5),
        _pcie("nic", "pcie", _H100_GPU_OF_PORT, 5),
        _pcie("pcie", "cpu", _H100_SOCKETS, 5),
        _pcie("storage-nic", "cpu", (0, 1), 5, _FROM_MEMORY),
    ),
    (
        Adapters("compute", "nic", 400, _H100_GPU_OF_PORT, _H100_GPU_OF_PORT, (0, 0, 1, 1, 2, 2, 3, 3), _H100_MANUAL),
        Adapters("storage", "storage-nic", 400, _NONE, (0, 1), (4, 5), Known("P", _SUPERPOD_H100)),
        Adapters("in_band", "storage-nic", 200, _NONE, (0, 1), (4, 5), Known("P", _SUPERPOD_H100)),
    ),
    _H100_MANUAL,
    (_IDLE_CPU, "Adapters are numbered by cage and port; an adapter is on the rail of the GPU that it serves."),
)
_DGX_H200 = replace(
    _DGX_H100,
    name="dgx-h200",
    title="NVIDIA DGX H200",
    known=Known("P", "NVIDIA DGX BasePOD reference architecture, core components: as DGX H100"),
)

_B200_MANUAL = Known(
    "P", "NVIDIA DGX BasePOD reference architecture, core components: 4 OSFP ports for 8 ConnectX-7 of 400 Gb/s"
)
_BLACKWELL = Known("M", "two chips of 72 ports, 9 links from each GPU to each")
_DGX_B200 = replace(
    _DGX_H100,
    name="dgx-b200",
    title="NVIDIA DGX B200",
    parts=(
        PartBlock("gpu", "accelerator", 8, _B200_MANUAL, "B200"),
        PartBlock("nvswitch", "scale_up_switch", 2, _BLACKWELL, "NVSwitch4", 72),
        PartBlock("pcie", "pcie_switch", 8, _FROM_MEMORY, "PCIe Gen5 switch"),
        PartBlock("cpu", "cpu", 2, _B200_MANUAL, "Xeon, 5th generation", relays=False),
        PartBlock("nic", "nic", 8, _B200_MANUAL, "ConnectX-7"),
        PartBlock("storage-nic", "nic", 2, _B200_MANUAL, "BlueField-3"),
    ),
    wires=(
        _nvlink(5, 100, 8, (9, 9), _BLACKWELL),
        _pcie("gpu", "pcie", _EIGHT, 5),
        _pcie("nic", "pcie", _EIGHT, 5),
        _pcie("pcie", "cpu", _H100_SOCKETS, 5),
        _pcie("storage-nic", "cpu", (0, 1), 5, _FROM_MEMORY),
    ),
    adapters=(
        Adapters("compute", "nic", 400, _EIGHT, _EIGHT, (0, 0, 1, 1, 2, 2, 3, 3), _B200_MANUAL),
        Adapters("storage", "storage-nic", 400, _NONE, (0, 1), (4, 5), _FROM_MEMORY),
    ),
    known=_B200_MANUAL,
    notes=(_IDLE_CPU, "Which two adapters share a cage is our choice: neighbours do."),
)

_B300_PAPER = Known("P", "NVIDIA DGX SuperPOD B300 reference architectures, XDR and Spectrum-X: 8 adapters of 800 Gb/s")
_DGX_B300 = replace(
    _DGX_B200,
    name="dgx-b300",
    title="NVIDIA DGX B300",
    parts=(
        PartBlock("gpu", "accelerator", 8, _B300_PAPER, "B300"),
        PartBlock("nvswitch", "scale_up_switch", 2, _BLACKWELL, "NVSwitch4", 72),
        PartBlock("cpu", "cpu", 2, _FROM_MEMORY, "Xeon 6", relays=False),
        PartBlock("nic", "nic", 8, _B300_PAPER, "ConnectX-8"),
        PartBlock("storage-nic", "nic", 2, _FROM_MEMORY, "BlueField-3"),
    ),
    wires=(
        _nvlink(5, 100, 8, (9, 9), _BLACKWELL),
        _pcie("gpu", "nic", _EIGHT, 6, Known("S", "blogs on the board: the adapter holds the PCIe Gen6 switch")),
        _pcie("nic", "cpu", _H100_SOCKETS, 5, _FROM_MEMORY),
        _pcie("storage-nic", "cpu", (0, 1), 5, _FROM_MEMORY),
    ),
    adapters=(
        Adapters("compute", "nic", 800, _EIGHT, _EIGHT, _EIGHT, _B300_PAPER, (1, 2, 4)),
        Adapters("storage", "storage-nic", 400, _NONE, (0, 1), (8, 9), _FROM_MEMORY),
    ),
    known=_B300_PAPER,
    notes=(_IDLE_CPU, "An adapter is one port of 800 Gb/s (XDR), two of 400 (two planes) or four of 200."),
)

_OWN = Known("D", "own example; every number follows from the standard")
_PCIE_8 = HostTemplate(
    "hgx-pcie-8",
    "Server of eight PCIe accelerators, no scale-up links",
    (
        PartBlock("gpu", "accelerator", 8, _OWN, "PCIe Gen5 accelerator"),
        PartBlock("pcie", "pcie_switch", 4, _OWN, "PCIe Gen5 switch"),
        PartBlock("cpu", "cpu", 2, _OWN, "CPU"),
        PartBlock("nic", "nic", 4, _OWN, "adapter of 400 Gb/s"),
        PartBlock("storage-nic", "nic", 2, _OWN, "adapter of 200 Gb/s"),
    ),
    (
        _pcie("gpu", "pcie", (0, 0, 1, 1, 2, 2, 3, 3), 5),
        _pcie("nic", "pcie", (0, 1, 2, 3), 5),
        _pcie("pcie", "cpu", (0, 0, 1, 1), 5),
        Wires("cpu", "cpu", ((0, 1, 3),), 384, "host_io", "UPI, 16 GT/s x 24", Known("M", "3 links between sockets")),
        _pcie("storage-nic", "cpu", (0, 1), 5),
    ),
    (
        Adapters("compute", "nic", 400, (0, 2, 4, 6), (0, 1, 2, 3), (0, 1, 2, 3), _OWN),
        Adapters("storage", "storage-nic", 200, _NONE, (0, 1), (4, 5), _OWN),
    ),
    _OWN,
    ("Here the CPUs relay: nothing else joins the PCIe switches.",),
)

_MI300X = Known("S", "gpu.blog and others: 7 links of 128 GB/s a GPU, both directions summed, to the seven others")
_MI300X_TREE = Known("S", "RCCL topology model of an 8 x MI300X server: a PCIe Gen5 switch for each GPU and adapter")
_MI300X_8 = HostTemplate(
    "mi300x-8",
    "AMD Instinct MI300X, eight in a full mesh",
    (
        PartBlock("gpu", "accelerator", 8, _MI300X, "MI300X"),
        PartBlock("pcie", "pcie_switch", 8, _MI300X_TREE, "PCIe Gen5 switch"),
        PartBlock("cpu", "cpu", 2, _MI300X_TREE, "CPU", relays=False),
        PartBlock("nic", "nic", 8, _MI300X_TREE, "adapter of 400 Gb/s"),
    ),
    (
        Wires("gpu", "gpu", mesh_pairs(8), 512, "scale_up", "xGMI, 64 GB/s a direction", _MI300X),
        _pcie("gpu", "pcie", _EIGHT, 5, _MI300X_TREE),
        _pcie("nic", "pcie", _EIGHT, 5, _MI300X_TREE),
        _pcie("pcie", "cpu", _H100_SOCKETS, 5, _MI300X_TREE),
    ),
    (Adapters("compute", "nic", 400, _EIGHT, _EIGHT, _EIGHT, _MI300X_TREE),),
    _MI300X,
    (_IDLE_CPU,),
)


def _gaudi(name: str, title: str, part: str, port_gbps: float, pcie_generation: int) -> HostTemplate:
    known = Known("P", "Intel Gaudi documentation, network configuration: 21 ports inside, 3 to each peer, 3 outside")
    return HostTemplate(
        name,
        title,
        (
            PartBlock("gpu", "accelerator", 8, known, part),
            PartBlock("cpu", "cpu", 2, _FROM_MEMORY, "Xeon", relays=False),
        ),
        (
            Wires("gpu", "gpu", mesh_pairs(8, 3), port_gbps, "scale_up", f"Ethernet {port_gbps:g}G", known),
            _pcie("gpu", "cpu", _H100_SOCKETS, pcie_generation, _FROM_MEMORY),
        ),
        (Adapters("compute", "gpu", 3 * port_gbps, _EIGHT, _EIGHT, (-1,) * 8, known, (3,)),),
        known,
        ("The accelerators are their own adapters; how their 24 outside ports share 6 cages is not published.",),
    )


_GB200_PAPER = Known("P", "NVIDIA DGX SuperPOD GB200 reference architecture RA-11338-001, network fabrics")
_GB200_TRAY = HostTemplate(
    "gb200-tray",
    "NVIDIA GB200 NVL72, one compute tray",
    (
        PartBlock("gpu", "accelerator", 4, _GB200_PAPER, "B200"),
        PartBlock("cpu", "cpu", 2, _GB200_PAPER, "Grace"),
        PartBlock("nic", "nic", 4, _GB200_PAPER, "ConnectX-7"),
        PartBlock("storage-nic", "nic", 2, _GB200_PAPER, "BlueField-3"),
    ),
    (
        Wires("gpu", "cpu", in_turn((0, 0, 1, 1)), 3600, "host_io", "NVLink-C2C, 450 GB/s a direction", _FROM_MEMORY),
        _pcie("nic", "cpu", (0, 0, 1, 1), 5, _FROM_MEMORY),
        _pcie("storage-nic", "cpu", (0, 1), 5, _FROM_MEMORY),
    ),
    (
        Adapters("compute", "nic", 400, (0, 1, 2, 3), (0, 1, 2, 3), (0, 1, 2, 3), _GB200_PAPER),
        Adapters(
            "storage", "storage-nic", 400, _NONE, (0, 1), (4, 5),
            Known("S", "notes on RA-11338-001: 4 x 200 Gb/s a tray over two BlueField-3"), (2,),
        ),
    ),
    _GB200_PAPER,
    ("The CPUs relay: an accelerator reaches its adapter over its CPU.", "A link between the two CPUs is left out."),
)  # fmt: skip

_GB300_PAPER = Known(
    "P", "NVIDIA enterprise reference architecture, NVL72 AI factory, components: 4 GPUs, 2 Grace, 4 ConnectX-8 a tray"
)
_GB300_RATE = Known(
    "S", "text on the DGX SuperPOD GB300 reference architecture: 4 rails of 800 Gb/s, adapter i on rail i"
)
_GB300_TRAY = HostTemplate(
    "gb300-tray",
    "NVIDIA GB300 NVL72, one compute tray",
    (
        PartBlock("gpu", "accelerator", 4, _GB300_PAPER, "B300"),
        PartBlock("cpu", "cpu", 2, _GB300_PAPER, "Grace", relays=False),
        PartBlock("nic", "nic", 4, _GB300_PAPER, "ConnectX-8"),
    ),
    (
        Wires("gpu", "cpu", in_turn((0, 0, 1, 1)), 3600, "host_io", "NVLink-C2C, 450 GB/s a direction", _FROM_MEMORY),
        _pcie("gpu", "nic", (0, 1, 2, 3), 6, Known("M", "the adapter holds the PCIe Gen6 switch of its GPU")),
        _pcie("nic", "cpu", (0, 0, 1, 1), 5, _FROM_MEMORY),
    ),
    (Adapters("compute", "nic", 800, (0, 1, 2, 3), (0, 1, 2, 3), (0, 1, 2, 3), _GB300_RATE, (1, 2, 4)),),
    _GB300_PAPER,
    (
        _IDLE_CPU,
        "An accelerator reaches its adapter over PCIe; a link between the two CPUs is left out.",
        "Adapters for storage and in-band traffic are left out: the sources that were read are silent on their wiring.",
    ),
)

_CLOUDMATRIX = Known("S", "text on arXiv 2506.12708: 8 NPUs and 7 first-level chips a node, 7 x 56 GB/s an NPU")
_CLOUDMATRIX_NODE = HostTemplate(
    "cloudmatrix-node",
    "Huawei CloudMatrix384, one node",
    (
        PartBlock("npu", "accelerator", 8, _CLOUDMATRIX, "Ascend 910C"),
        PartBlock("ub-l1", "scale_up_switch", 7, _CLOUDMATRIX, "UB switch, first level"),
    ),
    (Wires("npu", "ub-l1", each_to_each(8, (1,) * 7), 448, "scale_up", "UB, 56 GB/s a direction", _CLOUDMATRIX),),
    (Adapters("compute", "npu", 400, _EIGHT, _EIGHT, (-1,) * 8, _CLOUDMATRIX, (2,)),),
    _CLOUDMATRIX,
    ("The four CPUs of a node and their UB ports are left out: their wiring is not published.",),
)

SERVERS: tuple[HostTemplate, ...] = (
    _CLOUDMATRIX_NODE,
    _DGX_A100,
    _DGX_B200,
    _DGX_B300,
    _DGX_H100,
    _DGX_H200,
    _gaudi("gaudi2", "Intel Gaudi 2, eight in a full mesh", "Gaudi 2", 100, 4),
    _gaudi("gaudi3", "Intel Gaudi 3, eight in a full mesh", "Gaudi 3", 200, 5),
    _GB200_TRAY,
    _GB300_TRAY,
    _PCIE_8,
    _MI300X_8,
)
"""Every server that is described inside, by name."""
