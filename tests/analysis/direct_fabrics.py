"""Fabrics put together by hand for tests: tori, random regular graphs, dragonflies, small hosts."""

from __future__ import annotations

import networkx as nx
import numpy as np

from topo.build.assembly import Assembly, numbered
from topo.fabric import FORWARDS_ALL, FORWARDS_NOTHING, Fabric


def torus(*sides: int, gbps: float = 1.0) -> Fabric:
    """A torus of accelerators that forward, one link a neighbour."""
    assembly = Assembly("torus " + "x".join(map(str, sides)))
    n = int(np.prod(sides))
    rows = assembly.add_nodes(
        numbered("n-{}", np.arange(n)), kind="accelerator", is_endpoint=True, forwards=FORWARDS_ALL
    )
    grid = rows.reshape(sides)
    for axis in range(len(sides)):
        assembly.connect(grid.ravel(), np.roll(grid, -1, axis).ravel(), gbps)
    return assembly.finish()


def switched(edges: list[tuple[int, int]], hosts: list[list[int]], *, gbps=1.0, host_gbps=1.0) -> Fabric:
    """Switches joined by ``edges`` (repeats are parallel links); host i has one link to each of ``hosts[i]``."""
    assembly = Assembly("by hand")
    ends = [s for e in edges for s in e] + [s for h in hosts for s in h]
    switches = assembly.add_nodes(numbered("s-{}", np.arange(max(ends) + 1)), kind="switch", tier=1)
    rows = assembly.add_nodes(
        numbered("h-{}", np.arange(len(hosts))), kind="host", is_endpoint=True, forwards=FORWARDS_NOTHING
    )
    for host, to in zip(rows.tolist(), hosts, strict=True):
        assembly.connect(np.full(len(to), host), switches[to], host_gbps, kind="access")
    rates = np.broadcast_to(np.asarray(gbps, float), len(edges)).tolist()
    for (a, b), rate in zip(edges, rates, strict=True):
        assembly.connect([switches[a]], [switches[b]], rate)
    return assembly.finish()


def jellyfish(n: int, links: int, hosts: int, seed: int = 0) -> Fabric:
    """A random regular graph of switches with ``hosts`` each; unit links."""
    graph = nx.random_regular_graph(links, n, seed=seed)
    return switched(list(graph.edges()), [[s] for s in range(n) for _ in range(hosts)])


def dragonfly(p: int, a: int, h: int) -> Fabric:
    """p hosts a router, a routers a group, h global links a router, one global link between every two groups.

    Local links are of kind ``internal``, so that costs can tell them from global ones.
    """
    groups = a * h + 1
    assembly = Assembly(f"dragonfly ({p}, {a}, {h})")
    routers = assembly.add_nodes(numbered("r-{}", np.arange(groups * a)), kind="switch", tier=1).reshape(groups, a)
    rows = assembly.add_nodes(
        numbered("h-{}", np.arange(groups * a * p)), kind="host", is_endpoint=True, forwards=FORWARDS_NOTHING
    )
    assembly.connect(rows, np.repeat(routers.ravel(), p), 1.0, kind="access")
    for i in range(a):
        for j in range(i):
            assembly.connect(routers[:, i], routers[:, j], 1.0, kind="internal")
    for group in range(groups):
        for port in range(a * h):
            other = (group + port + 1) % groups
            if group < other:
                assembly.connect([routers[group, port // h]], [routers[other, (groups - 2 - port) // h]], 1.0)
    return assembly.finish()
