"""Write a fabric for ns-3 simulators: HPCC's topology file, and SimAI's with its longer header."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from topo.errors import ParameterError
from topo.io.written import Written, expect_rates, left_unsaid, several_ports
from topo.output import plain

if TYPE_CHECKING:
    from topo.fabric import Fabric

__all__ = ["write_ns3", "write_simai"]

_LATENCY = "0.001ms"
_SCALE_UP_LATENCY = "0.000025ms"


def write_ns3(fabric: Fabric) -> Written:
    """The fabric as an ns-3 topology file: counts, the switches' ids, then source, target, rate, latency, loss a link.

    Endpoints are numbered first, then switches. Latency is a stated 1 us, for a Fabric holds none.

    >>> import topo
    >>> text = write_ns3(topo.leaf_spine(leaves=1, spines=1, hosts_per_leaf=1)).content
    >>> text.splitlines()
    ['3 2 2', '1 2', '0 1 400Gbps 0.001ms 0', '1 2 400Gbps 0.001ms 0']

    :raises ParameterError: a link without a rate, or nodes that are neither endpoints nor switches.
    """
    fabric, dropped = _without_parts(fabric)
    number, counts = _numbered(fabric)
    head = f"{len(fabric.nodes)} {counts[1] + counts[2]} {len(fabric.links)}"
    ids = " ".join(map(str, range(counts[0], len(fabric.nodes))))
    if counts[1] + counts[2]:
        dropped += several_ports(fabric)
    return _file(fabric, number, head, ids, dropped)


def write_simai(fabric: Fabric, *, accelerator: str = "") -> Written:
    """The fabric as SimAI's topology file: nodes, GPUs a server, NVSwitches, switches, links, GPU type; then as ns-3.

    Accelerators are numbered server by server, then scale-up switches, then the rest, as SimAI expects.

    >>> import topo
    >>> text = write_simai(topo.leaf_spine(leaves=1, spines=1, hosts_per_leaf=2), accelerator="H100").content
    >>> text.splitlines()[0]
    '4 1 0 2 3 H100'

    :raises ParameterError: as :func:`write_ns3`, or servers with different numbers of accelerators.
    """
    fabric, dropped = _without_parts(fabric)
    number, counts = _numbered(fabric)
    per_server = _per_server(fabric)
    kind = accelerator or _accelerator(fabric)
    if not kind.isalnum():
        raise ParameterError(f"accelerator is {kind!r}; SimAI takes a GPU type such as H100, without blanks")
    head = f"{len(fabric.nodes)} {per_server} {counts[1]} {counts[2]} {len(fabric.links)} {kind}"
    ids = " ".join(map(str, range(counts[0], len(fabric.nodes))))
    return _file(fabric, number, head, ids, dropped)


def _without_parts(fabric: Fabric) -> tuple[Fabric, list[str]]:
    """The fabric without parts of hosts that carry nothing between accelerators: CPUs, and adapters without a cable."""
    off = fabric.nodes.kind.is_any("cpu", "memory")
    outer = ~fabric.links.kind.is_any("host_io")
    cabled = np.zeros(len(fabric.nodes), bool)
    cabled[fabric.link_a[outer]] = cabled[fabric.link_b[outer]] = True
    off |= fabric.nodes.kind.is_any("nic") & ~fabric.nodes.is_endpoint & ~cabled & (fabric.nodes.tier < 0)
    rows = np.flatnonzero(off)
    if not rows.size:
        return fabric, []
    return fabric.without(nodes=rows), [f"{rows.size:,} CPUs, memories and adapters without a cable"]


def _file(fabric: Fabric, number: NDArray[np.int64], head: str, ids: str, dropped: list[str]) -> Written:
    expect_rates(fabric, "an ns-3 topology file")
    a, b = number[fabric.link_a], number[fabric.link_b]
    scale_up = fabric.links.kind.is_any("scale_up")
    rows = [
        f"{x} {y} {rate:.15g}Gbps {_SCALE_UP_LATENCY if inside else _LATENCY} 0"
        for x, y, rate, inside in zip(
            a.tolist(), b.tolist(), fabric.links.capacity_gbps.tolist(), scale_up.tolist(), strict=True
        )
    ]
    lost = [
        *dropped,
        f"latency: {_LATENCY} stated for every link" + (f", {_SCALE_UP_LATENCY} inside scale-up domains"
                                                         if scale_up.any() else ""),
        "names: nodes are numbers, endpoints first",
        *left_unsaid(fabric, nodes=("name", "kind", "is_endpoint", "forwards"), links=("capacity_gbps",)),
    ]  # fmt: skip
    return Written("\n".join([head, ids, *rows]) + "\n", tuple(lost), len(rows))


def _numbered(fabric: Fabric) -> tuple[NDArray[np.int64], tuple[int, int, int]]:
    """New number of every node, and how many endpoints, scale-up switches and other switches there are."""
    nodes = fabric.nodes
    chip = nodes.kind.is_any("scale_up_switch")
    switch = nodes.kind.is_any("switch", "router", "storage_switch") & ~nodes.is_endpoint
    ends = nodes.is_endpoint | (nodes.kind.is_any("host", "nic", "manager", "accelerator") & ~(chip | switch))
    other = ~(ends | chip | switch)
    if other.any():
        row = int(np.flatnonzero(other)[0])
        raise ParameterError(
            f"ns-3 topology files know hosts and switches; {int(other.sum()):,} nodes are neither, the first "
            f"{plain(nodes.name[row])} ({nodes.kind[row]}); build the fabric with inside=False"
        )
    servers = _servers_in_order(nodes.host.codes, ends)
    group = np.where(ends, 0, np.where(chip, 1, 2))
    order = np.lexsort((np.arange(len(nodes)), servers, group))
    number = np.empty(len(nodes), np.int64)
    number[order] = np.arange(len(nodes))
    return number, (int(ends.sum()), int(chip.sum()), int(switch.sum()))


def _servers_in_order(codes: NDArray[np.int32], endpoint: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Order of servers by first appearance, equal for nodes of one server; nodes without one keep their own place."""
    place = np.arange(len(codes), dtype=np.int64)
    known = (codes >= 0) & endpoint
    if known.any():
        first = np.full(int(codes.max()) + 1, len(codes), np.int64)
        np.minimum.at(first, codes[known], place[known])
        place[known] = first[codes[known]]
    return place


def _per_server(fabric: Fabric) -> int:
    host = fabric.nodes.host.codes[fabric.endpoints]
    sizes = np.unique(np.bincount(host[host >= 0])) if (host >= 0).any() else np.array([1])
    sizes = sizes[sizes > 0]
    if len(sizes) > 1:
        raise ParameterError(
            f"SimAI takes one number of GPUs for every server; here servers have {int(sizes[0])} to {int(sizes[-1])}"
        )
    return int(sizes[0])


def _accelerator(fabric: Fabric) -> str:
    parts = [part for part in fabric.nodes.part.values(fabric.endpoints[:1]).tolist() if part.isalnum()]
    return parts[0].upper() if parts else "GPU"
