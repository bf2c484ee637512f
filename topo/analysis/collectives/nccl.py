"""NCCL's own tuning model of latency, with the constants of a named version."""

from __future__ import annotations

from dataclasses import dataclass

from topo.errors import ParameterError

__all__ = ["NCCL_2_30_7", "NcclLatencies", "nccl_latency_us"]


@dataclass(frozen=True, slots=True)
class NcclLatencies:
    """Latency constants in microseconds, for the protocols LL, LL128 and Simple in this order."""

    version: str
    tree_base: tuple[float, float, float]
    ring_base: tuple[float, float, float]
    tree_nvlink: tuple[float, float, float]
    ring_nvlink: tuple[float, float, float]
    tree_net: tuple[float, float, float]
    ring_net: tuple[float, float, float]
    net_overhead: float


NCCL_2_30_7 = NcclLatencies(
    version="2.30.7",
    tree_base=(6.8, 14.0, 8.4),
    ring_base=(6.6, 14.0, 8.4),
    tree_nvlink=(0.6, 1.25, 4.0),
    ring_nvlink=(0.6, 1.9, 3.4),
    tree_net=(5.0, 8.5, 14.0),
    ring_net=(2.7, 4.0, 14.0),
    net_overhead=1.0,
)
"""Constants of NCCL 2.30.7 (June 2026); earlier versions differ (Tree Simple base was 0 up to 2.21)."""

PROTOCOLS = ("LL", "LL128", "Simple")


def nccl_latency_us(
    algorithm: str,
    protocol: str,
    *,
    ranks: int,
    nodes: int,
    nic_latency_us: float = 0.0,
    constants: NcclLatencies = NCCL_2_30_7,
) -> float:
    """Latency term of NCCL's model of an all-reduce, NVLink inside nodes.

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
    if nodes < 1 or ranks < nodes or ranks % nodes:
        raise ParameterError(f"{ranks} ranks on {nodes} nodes; ranks must be a multiple of the nodes")
    at = PROTOCOLS.index(protocol)
    simple = protocol == "Simple"
    net = constants.tree_net if algorithm == "tree" or ranks == nodes else constants.ring_net
    inter = net[at] + nic_latency_us * (2 if simple else 1)
    if algorithm == "tree":
        return constants.tree_base[at] + 2 * (
            (ranks // nodes - 1) * constants.tree_nvlink[at] + (nodes.bit_length() - 1) * inter
        )
    between = 2 * (nodes - 1) if nodes > 1 else 0
    overhead = constants.net_overhead * (3 if simple else 1) if nodes > 1 else 0.0
    inside = (2 * (ranks - 1) - between) * max(constants.ring_nvlink[at], overhead)
    return constants.ring_base[at] + inside + between * inter
