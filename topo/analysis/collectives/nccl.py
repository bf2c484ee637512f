"""NCCL's own tuning model of an all-reduce, latency and bandwidth, with the constants of a named version.

Covered: ring and tree over NVLink or PCI and the network, protocols LL, LL128 and Simple; NVLS in its bandwidth inside
a host. Left out: CollNet, NVLS trees and PAT, the other collectives, and the correction by size that NCCL puts on trees
(down to 0.4 to 0.5 of the bandwidth in the middle of 64 B to 256 MB), so that trees look better there than NCCL has
them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

from topo.errors import ParameterError

__all__ = [
    "NCCL_2_30_7",
    "NCCL_CAPS",
    "PROTOCOLS",
    "NcclCaps",
    "NcclChoice",
    "NcclLatencies",
    "nccl_bandwidth_gbyte_s",
    "nccl_choice",
    "nccl_latency_us",
    "nccl_time_us",
]


@dataclass(frozen=True, slots=True)
class NcclLatencies:
    """Latency constants in microseconds, for the protocols LL, LL128 and Simple in this order."""

    version: str
    tree_base: tuple[float, float, float]
    ring_base: tuple[float, float, float]
    tree_nvlink: tuple[float, float, float]
    ring_nvlink: tuple[float, float, float]
    tree_pci: tuple[float, float, float]
    ring_pci: tuple[float, float, float]
    tree_net: tuple[float, float, float]
    ring_net: tuple[float, float, float]
    net_overhead: float


NCCL_2_30_7 = NcclLatencies(
    version="2.30.7",
    tree_base=(6.8, 14.0, 8.4),
    ring_base=(6.6, 14.0, 8.4),
    tree_nvlink=(0.6, 1.25, 4.0),
    ring_nvlink=(0.6, 1.9, 3.4),
    tree_pci=(1.0, 1.9, 4.0),
    ring_pci=(1.0, 2.5, 5.7),
    tree_net=(5.0, 8.5, 14.0),
    ring_net=(2.7, 4.0, 14.0),
    net_overhead=1.0,
)
"""Constants of NCCL 2.30.7 (June 2026); earlier versions differ (Tree Simple base was 0 up to 2.21)."""


@dataclass(frozen=True, slots=True)
class NcclCaps:
    """Most GB/s of one accelerator generation on 1, 2, and more nodes: LL in all, the others a channel."""

    ll: tuple[float, float, float]
    ring_ll128: tuple[float, float, float]
    tree_ll128: tuple[float, float, float]
    tree_simple: tuple[float, float, float]
    nvls_share: float


NCCL_CAPS = {
    "ampere": NcclCaps((87.7, 22.5, 19.0), (20.0, 20.0, 20.0), (20.0, 20.0, 20.0), (24.0, 23.6, 17.8), 0.85),
    "hopper": NcclCaps((141.0, 45.0, 35.0), (36.7, 36.7, 36.7), (36.7, 36.7, 29.0), (38.7, 41.4, 36.0), 0.85),
    "blackwell": NcclCaps((282.0, 90.0, 70.0), (73.4, 73.4, 73.4), (73.4, 73.4, 58.0), (77.4, 82.8, 72.0), 0.74),
}
"""Caps by generation, as NCCL's sources had them before 2.30.7. Between nodes NCCL picks that of LL by the host's CPU
as well; here it goes by generation. NVLS needs Hopper or later."""

PROTOCOLS = ("LL", "LL128", "Simple")


def nccl_latency_us(
    algorithm: str,
    protocol: str,
    *,
    ranks: int,
    nodes: int,
    nic_latency_us: float = 0.0,
    inside: str = "nvlink",
    constants: NcclLatencies = NCCL_2_30_7,
) -> float:
    """Latency term of NCCL's model of an all-reduce, ``inside`` nodes over "nvlink" or "pci".

    Tree: base + 2 ((R/N - 1) intra + floor(log2 N) inter). Ring: base + (steps - steps between nodes) max(intra,
    overhead) + steps between nodes x inter, with 2 (R - 1) steps of which 2 (N - 1) between nodes. The NIC's own
    latency adds to inter, twice for Simple; the network overhead is threefold for Simple.

    >>> [round(nccl_latency_us("ring", p, ranks=64, nodes=8), 1) for p in PROTOCOLS]
    [156.4, 282.8, 585.2]

    :raises ParameterError: an unknown algorithm or protocol, or ranks that do not spread evenly over the nodes.
    """
    if algorithm not in ("tree", "ring"):
        raise ParameterError(f"unknown algorithm {algorithm!r}; the model knows tree and ring")
    if protocol not in PROTOCOLS:
        raise ParameterError(f"unknown protocol {protocol!r}; known: {', '.join(PROTOCOLS)}")
    if inside not in ("nvlink", "pci"):
        raise ParameterError(f"inside is {inside!r}; known: nvlink, pci")
    _even(ranks, nodes)
    tree_inside, ring_inside = constants.tree_nvlink, constants.ring_nvlink
    if inside == "pci":
        tree_inside, ring_inside = constants.tree_pci, constants.ring_pci
    at = PROTOCOLS.index(protocol)
    simple = protocol == "Simple"
    net = constants.tree_net if algorithm == "tree" or ranks == nodes else constants.ring_net
    inter = net[at] + nic_latency_us * (2 if simple else 1)
    if algorithm == "tree":
        return constants.tree_base[at] + 2 * ((ranks // nodes - 1) * tree_inside[at] + (nodes.bit_length() - 1) * inter)
    between = 2 * (nodes - 1) if nodes > 1 else 0
    overhead = constants.net_overhead * (3 if simple else 1) if nodes > 1 else 0.0
    local = (2 * (ranks - 1) - between) * max(ring_inside[at], overhead)
    return constants.ring_base[at] + local + between * inter


def nccl_bandwidth_gbyte_s(
    algorithm: str,
    protocol: str,
    *,
    ranks: int,
    nodes: int,
    channels: int,
    channel_gbyte_s: float,
    generation: str = "hopper",
) -> float:
    """Bandwidth term of NCCL's model of an all-reduce: bytes of the buffer over time, algbw in GB/s (10^9).

    B = ``channels`` x ``channel_gbyte_s``. Ring: Simple B, LL min(cap, B/2), LL128 0.92 B, times R / (2 (R - 1)).
    Tree: B' = min(0.92 B, cap), Simple B', LL B'/3.8, LL128 7/9 B' on one node and 120/128 B' on more, times 1/2.
    NVLS (Simple, one node): 0.85 B on Hopper and 0.74 B on Blackwell, times R / (2 (R - 1)). LL and LL128 end at
    :data:`NCCL_CAPS`. Rules of NCCL 2.30.7.

    >>> given = {"ranks": 8, "nodes": 1, "channels": 16, "channel_gbyte_s": 20.0}
    >>> [round(nccl_bandwidth_gbyte_s("ring", p, **given) * 14 / 8, 1) for p in PROTOCOLS]   # busbw
    [141.0, 294.4, 320.0]

    :raises ParameterError: an unknown algorithm, protocol or generation, NVLS where it does not run, ranks that do not
        spread evenly over the nodes, no channel or rate.
    """
    if algorithm not in ("tree", "ring", "nvls"):
        raise ParameterError(f"unknown algorithm {algorithm!r}; the model knows tree, ring and nvls")
    if protocol not in PROTOCOLS:
        raise ParameterError(f"unknown protocol {protocol!r}; known: {', '.join(PROTOCOLS)}")
    if generation not in NCCL_CAPS:
        raise ParameterError(f"unknown generation {generation!r}; known: {', '.join(NCCL_CAPS)}")
    _even(ranks, nodes)
    if ranks < 2:
        raise ParameterError("a single rank sends nothing; the model needs at least 2 ranks")
    if channels < 1 or not 0 < channel_gbyte_s < math.inf:
        raise ParameterError(f"channels is {channels} and channel_gbyte_s {channel_gbyte_s}; at least 1, and above 0")
    if algorithm == "nvls" and (protocol != "Simple" or nodes > 1 or generation == "ampere"):
        raise ParameterError(f"nvls runs with Simple on one node of Hopper or later, not {protocol} on {nodes}")
    caps, at, bus = NCCL_CAPS[generation], min(nodes, 3) - 1, channels * channel_gbyte_s
    around = ranks / (2 * (ranks - 1))
    if algorithm == "nvls":
        return bus * caps.nvls_share * around
    if algorithm == "ring":
        by = {
            "LL": min(caps.ll[at], 0.5 * bus),
            "LL128": min(0.92 * bus, channels * caps.ring_ll128[at]),
            "Simple": bus,
        }
        return by[protocol] * around
    bus = min(0.92 * bus, channels * caps.tree_simple[at])
    part = 7 / 9 if nodes == 1 else 120 / 128
    by = {"LL": min(bus / 3.8, caps.ll[at]), "LL128": min(part * bus, channels * caps.tree_ll128[at]), "Simple": bus}
    return 0.5 * by[protocol]


def nccl_time_us(
    algorithm: str, protocol: str, size: float, *, ranks: int, nodes: int, channels: int, channel_gbyte_s: float,
    generation: str = "hopper", nic_latency_us: float = 0.0, inside: str = "nvlink",
) -> float:  # fmt: skip
    """Time of an all-reduce of ``size`` bytes as NCCL's model has it: latency + size / bandwidth, ring or tree.

    A ring with Simple over several nodes costs 1.4 times its latency from 64 bytes a channel and rank up.

    >>> given = {"ranks": 8, "nodes": 1, "channels": 16, "channel_gbyte_s": 20.0}
    >>> round(nccl_time_us("ring", "Simple", 2**30, **given), 1)   # 56 us and 2^30 bytes at 182.9 GB/s
    5928.0

    :raises ParameterError: as :func:`nccl_latency_us` and :func:`nccl_bandwidth_gbyte_s`, or a negative size.
    """
    if not 0 <= size < math.inf:
        raise ParameterError(f"size is {size}; it must be finite and at least 0")
    latency = nccl_latency_us(
        algorithm, protocol, ranks=ranks, nodes=nodes, nic_latency_us=nic_latency_us, inside=inside
    )
    rate = nccl_bandwidth_gbyte_s(
        algorithm, protocol, ranks=ranks, nodes=nodes, channels=channels, channel_gbyte_s=channel_gbyte_s,
        generation=generation,
    )  # fmt: skip
    if algorithm == "ring" and protocol == "Simple" and nodes > 1 and size / (channels * ranks) >= 64:
        latency *= 1.4
    return latency + size / (1e3 * rate)


class NcclChoice(NamedTuple):
    """What the model would run."""

    algorithm: str
    protocol: str
    time_us: float


def nccl_choice(
    size: float, *, ranks: int, nodes: int, channels: int, channel_gbyte_s: float, generation: str = "hopper",
    nic_latency_us: float = 0.0, inside: str = "nvlink",
) -> NcclChoice:  # fmt: skip
    """The fastest of ring and tree over the three protocols for an all-reduce of ``size`` bytes.

    >>> given = {"ranks": 64, "nodes": 8, "channels": 8, "channel_gbyte_s": 40.0}
    >>> nccl_choice(1024, **given)[:2], nccl_choice(2**32, **given)[:2]
    (('tree', 'LL'), ('ring', 'Simple'))

    :raises ParameterError: as :func:`nccl_time_us`.
    """
    found = [
        NcclChoice(
            algorithm,
            protocol,
            nccl_time_us(
                algorithm, protocol, size, ranks=ranks, nodes=nodes, channels=channels,
                channel_gbyte_s=channel_gbyte_s, generation=generation, nic_latency_us=nic_latency_us, inside=inside,
            ),
        )
        for algorithm in ("ring", "tree")
        for protocol in PROTOCOLS
    ]  # fmt: skip
    return min(found, key=lambda choice: choice.time_us)


def _even(ranks: int, nodes: int) -> None:
    if nodes < 1 or ranks < nodes or ranks % nodes:
        raise ParameterError(f"{ranks} ranks on {nodes} nodes; ranks must be a multiple of the nodes")
