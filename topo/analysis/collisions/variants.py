"""The same fabric and flows with something done about collisions."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from topo.analysis.collisions.clos_shape import ClosShape
from topo.fabric import Fabric, GroupTable, LinkTable, NodeTable, PortTable, State
from topo.table import Array, Labels, Table, check_rows
from topo.traffic.demand import Demand

__all__ = ["aligned_to_rails", "faster_uplinks", "most_at_a_leaf", "upper_switches", "with_copies"]


def upper_switches(fabric: Fabric) -> NDArray[np.int64]:
    """Switches without endpoints on them: spines, cores."""
    end = fabric.nodes.is_endpoint
    holds = np.zeros(len(end), bool)
    for near, far in ((fabric.link_a, fabric.link_b), (fabric.link_b, fabric.link_a)):
        holds[near[end[far]]] = True
    switches = fabric.switches
    return np.asarray(switches[~holds[switches]])


def with_copies(fabric: Fabric, nodes: ArrayLike) -> Fabric:
    """A fabric with a second one of each given switch, cabled alike; copies meet copies and the switches not copied."""
    rows = check_rows(np.asarray(nodes), len(fabric.nodes), "nodes")
    twin = np.full(len(fabric.nodes), -1, np.int64)
    twin[rows] = len(fabric.nodes) + np.arange(len(rows))
    link = np.flatnonzero((twin[fabric.link_a] >= 0) | (twin[fabric.link_b] >= 0))
    port = np.concatenate([fabric.links.port_a[link], fabric.links.port_b[link]]).astype(np.int64)
    n_ports, n = len(fabric.ports), len(link)
    ports = _extended(fabric.ports, port)
    owner = fabric.ports.node[port].astype(np.int64)
    ports["node"] = np.concatenate([fabric.ports.node, np.where(twin[owner] >= 0, twin[owner], owner)])
    ports["cage"] = np.concatenate([fabric.ports.cage, np.full(len(port), -1)])
    links = _extended(fabric.links, link)
    links["port_a"] = np.concatenate([fabric.links.port_a, n_ports + np.arange(n)])
    links["port_b"] = np.concatenate([fabric.links.port_b, n_ports + n + np.arange(n)])
    links["cable"] = np.concatenate([fabric.links.cable, np.full(n, -1)])
    added = _extended(fabric.nodes, rows)
    names = np.char.add(fabric.nodes.name[rows].astype(str), " (second)")
    added["name"] = np.concatenate([fabric.nodes.name, names])
    return Fabric(fabric.name, NodeTable(**added), PortTable(**ports), LinkTable(**links), _no_groups(), fabric.origin)


def faster_uplinks(fabric: Fabric, factor: float, state: State | None = None) -> State:
    """The state in which links between switches run ``factor`` times as fast."""
    now = state or State()
    rate = now.link_capacity_gbps(fabric).copy()
    end = fabric.nodes.is_endpoint
    rate[~(end[fabric.link_a] | end[fabric.link_b])] *= factor
    return replace(now, capacity_gbps=rate)


def aligned_to_rails(fabric: Fabric, flows: Demand) -> Demand | None:
    """Flows that leave from the endpoint of their own host on the sink's rail, as NCCL's PXN does; None without rails.

    The way there inside the host is not counted; a flow that then has nothing left to cross is gone.
    """
    nodes = fabric.nodes
    host, rail = nodes.host.codes.astype(np.int64), nodes.rail.codes.astype(np.int64)
    ends = fabric.endpoints
    if (host[ends] < 0).any() or (rail[ends] < 0).any() or len(np.unique(rail[ends])) < 2:
        return None
    source, sink, gbps = flows.pairs()
    width = len(nodes.rail.labels)
    place = np.full(len(nodes.host.labels) * width, -1, np.int64)
    place[host[ends] * width + rail[ends]] = ends
    start = place[host[source] * width + rail[sink]]
    start = np.where(start < 0, source, start)
    left = start != sink
    if not left.any():
        return None
    return Demand.of(fabric, f"{flows.name}, on the sink's rail", source=start[left], sink=sink[left], gbps=gbps[left])


def most_at_a_leaf(shape: ClosShape, source: Array, sink: Array) -> int:
    """Most flows that leave or enter one leaf for another."""
    u, v = shape.leaf[source], shape.leaf[sink]
    moves = u != v
    if not moves.any():
        return 0
    return int(max(np.bincount(u[moves]).max(), np.bincount(v[moves]).max()))


def _extended(table: Table, rows: Array) -> dict[str, Any]:
    """Columns with copies of some rows behind."""
    columns: dict[str, Any] = {}
    for name in table.columns():
        column = getattr(table, name)
        if isinstance(column, Labels):
            columns[name] = Labels(np.concatenate([column.codes, column.codes[rows]]), column.labels)
        else:
            columns[name] = np.concatenate([column, column[rows]])
    return columns


def _no_groups() -> GroupTable:
    return GroupTable(group=Labels.of([]), row=np.empty(0, np.int32))
