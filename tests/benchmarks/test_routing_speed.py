"""Fluid ECMP loads side by side with ngraph and networkx, and our own large sizes.

Run with ``python -m pytest tests/benchmarks/test_routing_speed.py -s``: prints one table. Every tool gets its fabric
built beforehand and answers the same question in the same run; nothing here has a time limit.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import topo
from topo.fabric import Fabric
from topo.routing.loads import link_loads
from topo.routing.scheme import Routing
from topo.traffic.demand import Block, Demand

SEED = 0


def timed(work: Callable[[], Any], rounds: int) -> tuple[float, Any]:
    """Best wall-clock time of some rounds, and the last answer."""
    best = np.inf
    for _ in range(rounds):
        start = time.perf_counter()
        answer = work()
        best = min(best, time.perf_counter() - start)
    return float(best), answer


def permutation(fabric: Fabric) -> Demand:
    """Each endpoint sends 1 Gb/s to another, at random; who draws itself is left out."""
    ends = fabric.endpoints
    to = np.random.default_rng(SEED).permutation(ends)
    moved = ends != to
    return Demand.of(fabric, "permutation", source=ends[moved], sink=to[moved], gbps=1.0)


def everyone(fabric: Fabric, rows: np.ndarray | None = None) -> Demand:  # type: ignore[type-arg]
    """Each endpoint sends 1 Gb/s in all, evenly to the others."""
    ends = fabric.endpoints if rows is None else rows
    return Demand.of(fabric, "all-to-all", blocks=(Block.of(ends, ends, 1 / (len(ends) - 1)),))


def for_ngraph(fabric: Fabric, demand: Demand) -> tuple[Callable[[], float], Callable[[], float]]:
    """Its placement from a network built beforehand, and from its own graph of it; both give the share it places."""
    import netgraph_core
    from ngraph import FlowPolicyPreset, Link, Network, Node
    from ngraph.analysis.context import AnalysisContext
    from ngraph.analysis.demand import DemandExpansion, ExpandedDemand
    from ngraph.analysis.functions import demand_placement_analysis
    from ngraph.analysis.placement import place_demands

    network, names = Network(), fabric.nodes.name.tolist()
    for name in names:
        network.add_node(Node(name))
    for a, b in zip(fabric.link_a.tolist(), fabric.link_b.tolist(), strict=True):
        network.add_link(Link(names[a], names[b], capacity=1.0, cost=1))
    preset = FlowPolicyPreset.SHORTEST_PATHS_ECMP
    flows = [
        ExpandedDemand(src_name=names[s], dst_name=names[t], volume=1.0, priority=0, policy_preset=preset)
        for s, t in zip(demand.source.tolist(), demand.sink.tolist(), strict=True)
    ]
    context = AnalysisContext.from_network(network)
    nodes, edges = context.build_node_mask(set()), context.build_edge_mask(set())

    def whole() -> float:
        expansion = DemandExpansion(demands=flows, augmentations=[])
        return demand_placement_analysis(network, set(), set(), [], expansion=expansion).summary.overall_ratio

    def placement() -> float:
        graph = netgraph_core.FlowGraph(context.multidigraph)
        return place_demands(flows, [1.0] * len(flows), graph, context, nodes, edges).summary.ratio

    return whole, placement


def for_networkx(fabric: Fabric, demand: Demand) -> Callable[[], dict[tuple[int, int], float]]:
    """Distances by networkx, splits by hand, one destination at a time: loads by node pair."""
    import networkx as nx

    graph = nx.Graph(zip(fabric.link_a.tolist(), fabric.link_b.tolist(), strict=True))
    pairs = list(zip(demand.source.tolist(), demand.sink.tolist(), demand.gbps.tolist(), strict=True))

    def work() -> dict[tuple[int, int], float]:
        load: dict[tuple[int, int], float] = defaultdict(float)
        for source, sink, gbps in pairs:
            distance = nx.single_source_shortest_path_length(graph, sink)
            held = defaultdict(float, {source: gbps})
            front = [source]
            while front != [sink]:
                after: dict[int, None] = {}
                for node in front:
                    hops = [v for v in graph[node] if distance[v] == distance[node] - 1]
                    for v in hops:
                        load[node, v] += held[node] / len(hops)
                        held[v] += held[node] / len(hops)
                        after[v] = None
                front = list(after)
        return load

    return work


@pytest.mark.parametrize("k", [8, 16])
def test_permutation_beside_others(record, k: int) -> None:  # type: ignore[no-untyped-def]
    fabric = topo.fat_tree(k, link_gbps=1)
    demand = permutation(fabric)
    question = f"permutation of {len(fabric.endpoints):,} hosts, fat-tree k={k}, fluid ECMP"
    seconds, loads = timed(lambda: link_loads(fabric, demand), 20)
    record(question, "topo", seconds, f"theta {loads.theta:.6g}")
    for tool, work in zip(("ngraph, whole call", "ngraph, placement alone"), for_ngraph(fabric, demand), strict=True):
        other, ratio = timed(work, 3)
        assert ratio == pytest.approx(1, abs=1e-3)
        record(question, tool, other, f"places {ratio:.6g}; {other / seconds:.1f} times as long")
    assert loads.theta == pytest.approx(1, rel=1e-9)
    slow, by_pair = timed(for_networkx(fabric, demand), 1)
    record(question, "networkx and dicts", slow, f"{slow / seconds:.0f} times as long")
    wanted = [
        by_pair.get((a, b), 0.0) for a, b in zip(fabric.arc_source.tolist(), fabric.arc_target.tolist(), strict=True)
    ]
    np.testing.assert_allclose(loads.arc_gbps, wanted, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("k", [32, 64])
def test_permutation_large(record, k: int) -> None:  # type: ignore[no-untyped-def]
    fabric = topo.fat_tree(k, link_gbps=1)
    demand = permutation(fabric)
    seconds, loads = timed(lambda: link_loads(fabric, demand), 3)
    assert loads.theta == pytest.approx(1, rel=1e-9)
    record(
        f"permutation of {len(fabric.endpoints):,} hosts, fat-tree k={k}", "topo", seconds, f"theta {loads.theta:.6g}"
    )
    seconds, loads = timed(lambda: link_loads(fabric, everyone(fabric)), 3)
    record("all-to-all on it", "topo", seconds, f"theta {loads.theta:.6g}, network {loads.network_theta:.6g}")


@pytest.mark.parametrize("what", ["permutation", "all-to-all"])
def test_million_hosts(record, what: str) -> None:  # type: ignore[no-untyped-def]
    code = (
        "import sys, time, resource; sys.path.insert(0, 'tests/benchmarks')\n"
        "import topo, test_routing_speed as speed; from topo.routing.loads import link_loads\n"
        f"f = topo.fat_tree(160, link_gbps=1); d = speed.{'permutation' if what == 'permutation' else 'everyone'}(f)\n"
        "t = time.perf_counter(); theta = link_loads(f, d).theta; s = time.perf_counter() - t\n"
        "print(s, theta, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20)"
    )
    seconds, theta, gib = map(float, subprocess.check_output([sys.executable, "-c", code]).split())
    assert theta == pytest.approx(1, rel=1e-9)
    record(f"{what} of 1,024,000 hosts, fat-tree k=160, first in a process", "topo", seconds, f"{gib:.2f} GiB peak")


@pytest.mark.parametrize(
    ("name", "words", "rounds"),
    [
        ("nvidia-superpod-b200-64su", "16,384-GPU SuperPOD", 20),
        ("openai-mrc-131k", "131,072 endpoints, eight planes", 3),
    ],
)
def test_all_to_all_of_the_catalogue(record, name: str, words: str, rounds: int) -> None:  # type: ignore[no-untyped-def]
    fabric = topo.load(name)
    demand = everyone(fabric)
    seconds, loads = timed(lambda: link_loads(fabric, demand), rounds)
    record(f"all-to-all, {words}", "topo", seconds, f"network theta {loads.network_theta:.6g} Gb/s an endpoint")
    assert loads.lost_pairs == 0


def test_selene(record, shared_data) -> None:  # type: ignore[no-untyped-def]
    fabric = topo.read(shared_data / "ibnetdiscover" / "selene.compute.txt")
    demand = everyone(fabric, fabric.endpoint_rows("luna-*")).scaled(200.0)
    for routing in (Routing(), Routing("wcmp"), Routing(up_down=True)):
        seconds, loads = timed(lambda routing=routing: link_loads(fabric, demand, routing=routing), 20)
        record(f"all-to-all of Selene's 3,664 adapters, {routing}", "topo", seconds, f"theta {loads.theta:.6g}")
    assert link_loads(fabric, demand).theta == pytest.approx(0.5020631645770511, rel=1e-12)


def test_hosts_opened(record) -> None:  # type: ignore[no-untyped-def]
    from topo.build.rail import RailPlan

    fabric = topo.cluster(topo.ClusterHosts("dgx-h100", 128), RailPlan(hosts_per_unit=32))
    for demand, rounds in ((everyone(fabric), 5), (permutation(fabric), 3)):
        seconds, loads = timed(lambda demand=demand: link_loads(fabric, demand), rounds)
        record(f"{demand.name} of 1,024 accelerators in opened hosts", "topo", seconds, f"{len(fabric.links):,} links")
        assert loads.lost_pairs == 0
