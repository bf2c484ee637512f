"""A slow second way to all shortest paths: one pair at a time, on the whole graph with endpoints, nothing shared."""

from __future__ import annotations

import heapq
from typing import Any

import numpy as np

from topo.fabric import Fabric, State


def usable_arcs(fabric: Fabric, state: State | None = None) -> list[int]:
    """Arcs of present links that join two nodes."""
    present = np.ones(len(fabric.links), bool) if state is None else state.link_mask(fabric)
    return [
        arc for arc in range(2 * len(fabric.links))
        if present[arc // 2] and fabric.arc_source[arc] != fabric.arc_target[arc]
    ]  # fmt: skip


def may_cross(fabric: Fabric, arc: int, source: int, sink: int, *, pxn: bool = True) -> bool:
    """Whether a flow may cross an arc: its tail must be the source or forward, its head the sink or forward."""
    nodes = fabric.nodes

    def relays(v: int, end: int) -> bool:
        forwards = int(nodes.forwards[v])
        if forwards == 2:
            return True
        if forwards == 0 or (not pxn and nodes.is_endpoint[v]):
            return False
        return nodes.host.codes[v] >= 0 and nodes.host.codes[v] == nodes.host.codes[end]

    tail, head = int(fabric.arc_source[arc]), int(fabric.arc_target[arc])
    leaves = tail == source or relays(tail, source) or relays(tail, sink)
    enters = head == sink or relays(head, source) or relays(head, sink)
    return leaves and enters


def shortest_dag(
    fabric: Fabric,
    source: int,
    sink: int,
    *,
    state: State | None = None,
    costs: dict[str, int] | None = None,
    pxn: str = "needed",
) -> tuple[dict[int, list[int]], float]:
    """Next arcs of every node on some shortest path, and the distance."""
    costs = costs or {}
    arcs = [a for a in usable_arcs(fabric, state) if may_cross(fabric, a, source, sink, pxn=pxn != "never")]
    weight = {a: costs.get(fabric.links.kind[a // 2], 1) for a in arcs}
    nodes, scale_up = fabric.nodes, costs.get("scale_up", 1)
    opened = nodes.kind.is_any("accelerator") & (nodes.forwards == 1) & (nodes.host.codes >= 0)
    if pxn != "never" and opened.any():
        out, into = (0, 1) if pxn == "always" else (1_000_000, 1_000_001)
        for a in arcs:
            tail = int(fabric.arc_source[a])
            if pxn == "always" and fabric.links.kind[a // 2] != "scale_up":
                weight[a] *= 1 + scale_up
            if opened[tail]:
                weight[a] += out if nodes.host.codes[tail] == nodes.host.codes[source] else into
    into: dict[int, list[int]] = {}
    for a in arcs:
        into.setdefault(int(fabric.arc_target[a]), []).append(a)
    far: dict[int, float] = {sink: 0}
    heap: list[tuple[float, int]] = [(0, sink)]
    while heap:
        d, v = heapq.heappop(heap)
        if d > far[v]:
            continue
        for a in into.get(v, []):
            u = int(fabric.arc_source[a])
            if u != sink and d + weight[a] < far.get(u, np.inf):
                far[u] = d + weight[a]
                heapq.heappush(heap, (far[u], u))
    if source not in far:
        return {}, np.inf
    dag: dict[int, list[int]] = {}
    stack, seen = [source], {source}
    while stack:
        u = stack.pop()
        if u == sink:
            continue
        for a in arcs:
            v = int(fabric.arc_target[a])
            if int(fabric.arc_source[a]) == u and v in far and far[u] == weight[a] + far[v]:
                dag.setdefault(u, []).append(a)
                if v not in seen:
                    seen.add(v)
                    stack.append(v)
    return dag, far[source]


def walked_sets(fabric: Fabric, arcs: Any, source: Any, sink: Any) -> dict[tuple[int, int], dict[int, set[int]]]:
    """For each pair, the arcs seen at each node by many walks."""
    seen: dict[tuple[int, int], dict[int, set[int]]] = {}
    for flow in range(arcs.shape[1]):
        pair = seen.setdefault((int(source[flow]), int(sink[flow])), {})
        for arc in arcs[:, flow]:
            if arc >= 0:
                pair.setdefault(int(fabric.arc_source[arc]), set()).add(int(arc))
    return seen
