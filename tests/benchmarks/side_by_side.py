"""topo beside networkx, igraph alone and ngraph: the same work, the same run, and how many times as long each takes.

``python tests/benchmarks/side_by_side.py`` prints the table in Markdown; ``--write README.md`` puts it between the
markers ``<!-- side-by-side -->`` and ``<!-- /side-by-side -->`` there. Every tool's answer is checked against topo's.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import sys
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

import test_bench_capacity as capacity
import test_routing_speed as speed

import topo
from topo.routing.loads import link_loads

K_LOADS = 16
K_DISTANCE = 20
_MARKED = re.compile(r"(<!-- side-by-side -->\n).*(<!-- /side-by-side -->)", re.DOTALL)

Row = tuple[str, str, float, str]


def cut_with_igraph() -> float:
    """Build from the same list of links and cut, by igraph alone: integers for names, one source and one sink."""
    import igraph

    names, links = capacity.fat_tree_links(capacity.K)
    number = {name: i for i, name in enumerate(names)}
    one, other = capacity.halves(capacity.K**3 // 4)
    source, sink = len(names), len(names) + 1
    edges = [(number[a], number[b]) for a, b in links]
    edges += [(b, a) for a, b in edges]
    free = len(links)
    edges += [(source, number[f"h{i}"]) for i in one.tolist()] + [(number[f"h{i}"], sink) for i in other.tolist()]
    rates = [1.0] * (2 * free) + [float(free)] * (len(edges) - 2 * free)
    graph = igraph.Graph(n=len(names) + 2, edges=edges, directed=True)
    return float(graph.maxflow_value(source, sink, rates))


def cuts() -> Iterator[Row]:
    """Build a fat-tree of 27,648 hosts and cut a random half from the other."""
    question = f"build fat-tree k={capacity.K}, cut a random half from the other"
    tools: list[tuple[str, Callable[[], float], int]] = [
        ("topo", capacity.with_topo, 15),
        ("igraph alone", cut_with_igraph, 3),
        ("ngraph", capacity.with_ngraph, 3),
        ("networkx", capacity.with_networkx, 3),
    ]
    for tool, work, rounds in tools:
        seconds, value = speed.timed(work, rounds)
        _expect(value, capacity.K**3 // 8, tool)
        yield question, tool, seconds, f"{value:,.0f} links"


def loads() -> Iterator[Row]:
    """Load of every arc under even splits of a permutation, the fabric built before."""
    fabric = topo.fat_tree(K_LOADS, link_gbps=1)
    demand = speed.permutation(fabric)
    question = f"fluid ECMP of a permutation, fat-tree k={K_LOADS}, built before"
    seconds, found = speed.timed(lambda: link_loads(fabric, demand), 20)
    yield question, "topo", seconds, f"theta {found.theta:.4g}"
    whole, _ = speed.for_ngraph(fabric, demand)
    seconds, ratio = speed.timed(whole, 3)
    _expect(ratio, 1.0, "ngraph")
    yield question, "ngraph", seconds, f"places {ratio:.4g}"
    seconds, by_pair = speed.timed(speed.for_networkx(fabric, demand), 1)
    ends = zip(fabric.arc_source.tolist(), fabric.arc_target.tolist(), strict=True)
    np.testing.assert_allclose(found.arc_gbps, [by_pair.get(pair, 0.0) for pair in ends], rtol=1e-9, atol=1e-12)
    yield question, "networkx and dicts", seconds, "the same loads"


def distances() -> Iterator[Row]:
    """Longest shortest path among 2,000 hosts, and the mean where the tool has it in one call."""
    import igraph
    import networkx as nx

    question = f"build fat-tree k={K_DISTANCE}, its diameter"
    names, links = capacity.fat_tree_links(K_DISTANCE)
    number = {name: i for i, name in enumerate(names)}

    def alone() -> int:
        graph = igraph.Graph(n=len(names), edges=[(number[a], number[b]) for a, b in links])
        return int(graph.diameter(directed=False))

    tools: list[tuple[str, Callable[[], Any], int]] = [
        ("topo", lambda: topo.inventory(topo.fat_tree(K_DISTANCE)).paths.diameter_hops, 10),
        ("igraph alone", alone, 3),
        ("networkx", lambda: nx.diameter(nx.Graph(links)), 1),
    ]
    for tool, work, rounds in tools:
        seconds, hops = speed.timed(work, rounds)
        _expect(hops, 6, tool)
        yield question, tool, seconds, f"{hops} hops"


def _expect(value: float, wanted: float, tool: str) -> None:
    if abs(value - wanted) > 1e-3 * wanted:
        raise SystemExit(f"{tool} gives {value}, but {wanted} is right: the tools did not do the same work")


def table(rows: list[Row]) -> str:
    """Rows in Markdown; the ratio is to topo's time for the same question."""
    tools = ", ".join(f"{name} {version(name)}" for name in ("networkx", "igraph", "ngraph"))
    lines = [
        f"{os.cpu_count()} cores ({platform.machine()}, Python {platform.python_version()}; {tools}), best of the "
        "rounds, one process; printed by `python tests/benchmarks/side_by_side.py`.",
        "",
        "| question | tool | seconds | times as long | answer |",
        "|---|---|---:|---:|---|",
    ]
    own = {question: seconds for question, tool, seconds, _ in rows if tool == "topo"}
    for question, tool, seconds, answer in rows:
        lines.append(f"| {question} | {tool} | {seconds:.3g} | {seconds / own[question]:.3g} | {answer} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure, print, write where asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", type=Path, help="a document with the markers")
    asked = parser.parse_args()
    block = table([*cuts(), *loads(), *distances()])
    print(block)
    if asked.write:
        text = asked.write.read_text(encoding="utf-8")
        if not _MARKED.search(text):
            raise SystemExit(f"no <!-- side-by-side --> ... <!-- /side-by-side --> in {asked.write}")
        asked.write.write_text(_MARKED.sub(lambda marks: marks[1] + block + marks[2], text), encoding="utf-8")


if __name__ == "__main__":
    main()
