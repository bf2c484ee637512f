"""Building and cutting side by side with networkx and ngraph, and our own large sizes.

Run with ``python -m pytest tests/benchmarks -s``: prints one table. Nothing here has a time limit.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import topo
from topo.analysis.bisection import certificate

K = 48
SEED = 0


def timed(work: Callable[[], Any], rounds: int = 3) -> tuple[float, Any]:
    """Best wall-clock time of some rounds, and the last answer."""
    best = np.inf
    for _ in range(rounds):
        start = time.perf_counter()
        answer = work()
        best = min(best, time.perf_counter() - start)
    return float(best), answer


def halves(n: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """A random half of the hosts and the rest, by host number."""
    order = np.random.default_rng(SEED).permutation(n)
    return order[: n // 2], order[n // 2 :]


def fat_tree_links(k: int) -> tuple[list[str], list[tuple[str, str]]]:
    """Nodes and links of a k-ary fat-tree as plain names, for the peers."""
    half = k // 2
    links = []
    for pod in range(k):
        for leaf in range(half):
            links += [(f"h{(pod * half + leaf) * half + h}", f"l{pod}_{leaf}") for h in range(half)]
            links += [(f"l{pod}_{leaf}", f"s{pod}_{spine}") for spine in range(half)]
        links += [(f"s{pod}_{spine}", f"c{spine * half + core}") for spine in range(half) for core in range(half)]
    return sorted({name for link in links for name in link}), links


def with_topo() -> float:
    """Build and cut with topo."""
    fabric = topo.fat_tree(K, link_gbps=1)
    one, other = halves(len(fabric.endpoints))
    return topo.min_cut(fabric, fabric.endpoints[one], fabric.endpoints[other]).capacity_gbps


def with_networkx() -> float:
    """Build and cut with networkx: a DiGraph and preflow-push, the fastest of its flows here (dinitz takes minutes)."""
    import networkx as nx

    names, links = fat_tree_links(K)
    graph = nx.DiGraph()
    graph.add_nodes_from(names)
    for a, b in links:
        graph.add_edge(a, b, capacity=1)
        graph.add_edge(b, a, capacity=1)
    one, other = halves(K**3 // 4)
    graph.add_edges_from(("source", f"h{i}") for i in one.tolist())
    graph.add_edges_from((f"h{i}", "sink") for i in other.tolist())
    return float(nx.maximum_flow_value(graph, "source", "sink"))


def with_ngraph() -> float:
    """Build and cut with ngraph (NetGraph), through its public interface; groups are chosen by name prefix."""
    from ngraph import Link, Mode, Network, Node, analyze

    names, links = fat_tree_links(K)
    one, other = halves(K**3 // 4)
    label = {name: name for name in names}
    label |= {f"h{i}": f"one/h{i}" for i in one.tolist()} | {f"h{i}": f"other/h{i}" for i in other.tolist()}
    network = Network()
    for name in names:
        network.add_node(Node(label[name]))
    for a, b in links:
        network.add_link(Link(source=label[a], target=label[b], capacity=1.0))
    flow = analyze(network).max_flow("^one/", "^other/", mode=Mode.COMBINE)
    return float(next(iter(flow.values())))


@pytest.mark.parametrize(
    ("tool", "work", "rounds"),
    [("topo", with_topo, 15), ("ngraph", with_ngraph, 3), ("networkx", with_networkx, 3)],
)
def test_build_and_cut_k48(record, tool, work, rounds) -> None:  # type: ignore[no-untyped-def]
    seconds, value = timed(work, rounds)
    assert value == K**3 // 8
    record(
        f"build fat-tree k={K} (27,648 hosts), cut a random half from the other",
        tool,
        seconds,
        f"{value:,.0f} links",
    )


def test_build_k160(record) -> None:  # type: ignore[no-untyped-def]
    code = (
        "import time, resource, topo; t = time.perf_counter(); f = topo.fat_tree(160); s = time.perf_counter() - t;"
        "print(s, len(f.links), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20)"
    )
    seconds, links, gib = map(float, subprocess.check_output([sys.executable, "-c", code]).split())
    assert links == 3_072_000
    assert gib < 2
    record(
        "build fat-tree k=160 (1,024,000 hosts), first time in a process",
        "topo",
        seconds,
        f"{gib:.2f} GiB peak",
    )


def test_certified_bisection_k160(record) -> None:  # type: ignore[no-untyped-def]
    fabric = topo.fat_tree(160)
    seconds, answer = timed(lambda: topo.bisection_bandwidth(fabric), 1)
    assert answer.exact
    assert answer.upper_gbps == 512_000 * 400
    record("its bisection with both witnesses", "topo", seconds, "204.8 Pb/s, exact")
    seconds, _ = timed(lambda: certificate.check(fabric, answer), 1)
    gib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    record("both witnesses checked", "topo", seconds, f"{gib:.2f} GiB peak of the run")


def test_selene(record, shared_data) -> None:  # type: ignore[no-untyped-def]
    path = shared_data / "ibnetdiscover" / "selene.compute.txt"
    seconds, fabric = timed(lambda: topo.read(path))
    assert len(fabric.links) == 12_852
    record("read Selene's dump (2.8 MB)", "topo", seconds, "666 switches, 12,852 links")
    seconds, report = timed(lambda: topo.make_report(topo.read(path), endpoints="luna-*").to_html(), 1)
    assert "luna" in report
    record("report of Selene, reading included", "topo", seconds, "HTML")


def test_superpod_report(record) -> None:  # type: ignore[no-untyped-def]
    seconds, report = timed(lambda: topo.make_report(topo.load("nvidia-superpod-h100-4su")).to_html(), 3)
    assert "</html>" in report
    record("report of the 4-SU SuperPOD", "topo", seconds, "HTML")


def test_import(record) -> None:  # type: ignore[no-untyped-def]
    code = "import time; t = time.perf_counter(); import topo; print(time.perf_counter() - t)"
    seconds = min(float(subprocess.check_output([sys.executable, "-c", code])) for _ in range(5))
    assert seconds > 0
    record("import topo", "topo", seconds)
