"""Which arcs flows may cross, against all shortest paths of networkx; laws of arcs and stages against enumeration."""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from functools import lru_cache

import networkx as nx
import numpy as np
import pytest

import topo
from topo import Fabric, ParameterError
from topo.analysis.collisions.arc_laws import ArcLaws, overload_bracket, poisson_binomial
from topo.analysis.collisions.clos_shape import ClosShape
from topo.analysis.collisions.law import StageSet, bracket_of
from topo.analysis.collisions.traversal import Traversal, traverse
from topo.routing.next_hops import NextHops
from topo.traffic import permutation, shift


def arc_graph(fabric: Fabric) -> tuple[nx.DiGraph, dict[tuple[int, int], list[int]]]:
    graph, arcs = nx.DiGraph(), defaultdict(list)
    for arc, (a, b) in enumerate(zip(fabric.arc_source.tolist(), fabric.arc_target.tolist(), strict=True)):
        graph.add_edge(a, b)
        arcs[a, b].append(arc)
    return graph, arcs


def crossing(fabric: Fabric, source: int, sink: int) -> dict[int, float]:
    """Probability that one flow crosses each arc, hashing at every node over all links that lead on."""
    graph, arcs = arc_graph(fabric)
    away = [node for node in fabric.endpoints.tolist() if node not in (source, sink)]
    graph.remove_nodes_from(away)
    left = nx.single_source_shortest_path_length(graph.reverse(), sink)
    result: dict[int, float] = defaultdict(float)
    reach = {source: 1.0}
    while reach:
        following: dict[int, float] = defaultdict(float)
        for node, p in reach.items():
            if node == sink:
                continue
            onward = [arc for nb in graph[node] if left.get(nb) == left[node] - 1 for arc in arcs[node, nb]]
            for arc in onward:
                result[arc] += p / len(onward)
                following[int(fabric.arc_target[arc])] += p / len(onward)
        reach = following
    return dict(result)


def followed(fabric: Fabric, source: np.ndarray, sink: np.ndarray) -> Traversal:
    found = traverse(NextHops.of(fabric), source, sink, np.zeros(len(source), np.int64))
    assert found is not None
    return found


FABRICS = {
    "leaf-spine": lambda: topo.leaf_spine(3, 3, 3, parallel=2),
    "fat-tree": lambda: topo.fat_tree(4),
    "cables missing": lambda: topo.fat_tree(4).without(links=[17, 22, 35, 40]),
    "two planes": lambda: topo.multi_plane(8, planes=2, radix=8),
    "two leaves a host": lambda: topo.dual_tor(16, hosts_per_segment=8, rails=2),
    "zones": lambda: topo.joined_zones(2, leaves=4, spines=2, hosts_per_leaf=2, radix=8),
    "rails": lambda: topo.rail_optimized(8, rails=2, hosts_per_unit=4, radix=8),
}


@pytest.mark.parametrize("name", FABRICS)
def test_probabilities_equal_all_shortest_paths(name: str) -> None:
    fabric = FABRICS[name]()
    demand = permutation(fabric, seed=3)
    some = slice(0, 16 if len(fabric.links) < 200 else 4)
    source, sink = demand.source[some], demand.sink[some]
    found = followed(fabric, source, sink)
    expected: dict[int, list[float]] = defaultdict(list)
    for a, b in zip(source.tolist(), sink.tolist(), strict=True):
        for arc, p in crossing(fabric, a, b).items():
            expected[arc].append(p)
    mine: dict[int, list[float]] = defaultdict(list)
    entries = found.entries
    for arc, p, count in zip(entries.arc.tolist(), entries.p.tolist(), entries.count.tolist(), strict=True):
        mine[arc] += [p] * count
    assert set(mine) == set(expected)
    for arc, values in expected.items():
        assert sorted(mine[arc]) == pytest.approx(sorted(values), rel=1e-12)


def test_means_add_up_to_the_hops() -> None:
    fabric = topo.fat_tree(8).without(links=[130, 200, 201, 300])
    demand = permutation(fabric, seed=5)
    found = followed(fabric, demand.source, demand.sink)
    graph, _ = arc_graph(fabric)
    hops = sum(nx.shortest_path_length(graph, int(a), int(b)) for a, b in zip(demand.source, demand.sink, strict=True))
    assert float(found.entries.p @ found.entries.count) == pytest.approx(hops, rel=1e-13)


def test_blocks_of_a_whole_fat_tree_and_of_one_with_a_cable_missing() -> None:
    fabric = topo.fat_tree(4)
    demand = permutation(fabric, seed=1)
    whole = followed(fabric, demand.source, demand.sink)
    assert dict(zip(whole.classes, map(len, whole.alike), strict=True)) == {(1, 2): 8, (2, 1): 8, (2, 3): 4, (3, 2): 4}
    assert all(alike.all() for alike in whole.alike) and all(whole.once)
    torn = fabric.without(links=[int(np.flatnonzero(fabric.links.kind.is_any("scale_out"))[0])])
    missing = followed(torn, demand.source, demand.sink)
    assert not all(alike.all() for alike in missing.alike)
    assert all(missing.once)


def test_poisson_binomial_of_the_table() -> None:
    pmf, above = poisson_binomial([1 / 4, 1 / 16, 1 / 64], [16, 40, 100], 30)
    tails = np.cumsum(np.append(above, pmf[::-1]))[::-1]  # tails[j] = P(N >= j)
    assert pmf[0] == pytest.approx(1.569960830669629e-4, rel=1e-14)
    assert pmf[5] == pytest.approx(0.08522422317877924, rel=1e-14)
    assert tails[8] == pytest.approx(0.5670367672461386, rel=1e-14)
    assert tails[16] == pytest.approx(4.634978789193557e-3, rel=1e-13)
    assert above == pytest.approx(3.384287297094e-12, rel=1e-12)


def test_poisson_binomial_equals_enumeration() -> None:
    p = [0.1, 0.5, 0.5, 0.9, 1.0]
    counted = Counter()
    for marks in itertools.product((0, 1), repeat=5):
        counted[sum(marks)] += math.prod(x if mark else 1 - x for x, mark in zip(p, marks, strict=True))
    pmf, above = poisson_binomial([0.1, 0.5, 0.9, 1.0], [1, 2, 1, 1], 3)
    assert pmf == pytest.approx([counted[j] for j in range(4)], rel=1e-14)
    assert above == pytest.approx(counted[4] + counted[5], rel=1e-14)
    with pytest.raises(ParameterError, match="0..1"):
        poisson_binomial([1.5], [1], 2)


def test_unequal_rates_of_the_table() -> None:
    p, rate, count = [1 / 4, 1 / 8, 1 / 16], [100, 200, 400], [4, 3, 2]
    low, high = overload_bracket(p, rate, count, 400)
    assert low == high == pytest.approx(71003 / 524288, rel=1e-14)
    at_least, _ = overload_bracket(p, rate, count, 399.999, cells=4000)
    assert at_least <= 0.227201938629 <= overload_bracket(p, rate, count, 399.999, cells=4000)[1]


def test_rates_off_the_grid_are_bracketed_and_the_bracket_closes() -> None:
    random = np.random.default_rng(5)
    rate = random.uniform(5, 120, 300)
    hits = (random.random((20_000, 300)) < 1 / 32) @ rate > 1000
    widths = []
    for cells in (200, 1000, 5000):
        low, high = overload_bracket([1 / 32] * 300, rate, [1] * 300, 1000, cells=cells)
        error = 4 * hits.std() / np.sqrt(len(hits))
        assert low - error < hits.mean() < high + error
        widths.append(high - low)
    assert widths[0] > 4 * widths[1] > 16 * widths[2] > 0


def all_loads(fabric: Fabric, source: np.ndarray, sink: np.ndarray) -> list[tuple[float, Counter[int]]]:
    """Every outcome of all hashes, with its probability: paths of each flow, then their product."""

    @lru_cache
    def paths(a: int, b: int) -> tuple[tuple[float, tuple[int, ...]], ...]:
        graph, arcs = arc_graph(fabric)
        graph.remove_nodes_from([node for node in fabric.endpoints.tolist() if node not in (a, b)])
        left = nx.single_source_shortest_path_length(graph.reverse(), b)
        done, open_ = [], [(1.0, a, ())]
        while open_:
            p, node, way = open_.pop()
            if node == b:
                done.append((p, way))
                continue
            onward = [arc for nb in graph[node] if left.get(nb) == left[node] - 1 for arc in arcs[node, nb]]
            open_ += [(p / len(onward), int(fabric.arc_target[arc]), (*way, arc)) for arc in onward]
        return tuple(done)

    outcomes = []
    for chosen in itertools.product(*(paths(int(a), int(b)) for a, b in zip(source, sink, strict=True))):
        load: Counter[int] = Counter()
        for _, way in chosen:
            load.update(way)
        outcomes.append((math.prod(p for p, _ in chosen), load))
    return outcomes


def small_cases() -> dict[str, tuple[Fabric, np.ndarray, np.ndarray]]:
    cases = {}
    f = topo.leaf_spine(3, 3, 3)
    e = f.endpoints
    cases["three leaves"] = (f, e[[0, 1, 2, 3, 4, 6]], e[[3, 4, 6, 0, 7, 1]])
    cases["a bundle"] = (f, e[[0, 1, 2, 6]], e[[3, 4, 5, 0]])
    cases["bundles only"] = (f, e[[0, 1, 3, 4, 5]], e[[3, 4, 6, 7, 8]])
    f = topo.leaf_spine(2, 2, 3, parallel=2)
    e = f.endpoints
    cases["parallel"] = (f, e[[0, 1, 3]], e[[3, 4, 0]])
    f = topo.fat_tree(4).without(links=[17])
    e = f.endpoints
    cases["a cable missing"] = (f, e[[0, 1, 2, 5]], e[[6, 7, 12, 0]])
    f = topo.fat_tree(4)
    cases["three tiers"] = (f, f.endpoints[[0, 1, 2, 3, 4]], f.endpoints[[4, 6, 8, 5, 0]])
    return cases


@pytest.mark.parametrize("name", small_cases())
def test_stages_and_their_joint_law_against_all_hashes(name: str) -> None:
    fabric, source, sink = small_cases()[name]
    found = followed(fabric, source, sink)
    laws = ArcLaws.of(found.entries, 2 * len(fabric.links))
    stages = StageSet.of(fabric, found, laws, np.ones(2 * len(fabric.links)), 1, ClosShape.of(fabric))
    outcomes = all_loads(fabric, source, sink)
    assert math.fsum(p for p, _ in outcomes) == pytest.approx(1, rel=1e-12)
    for stage in stages.stages:
        mean_largest = math.fsum(p * max(load[a] for a in stage.arcs.tolist()) for p, load in outcomes)
        law, low_mean, high_mean = bracket_of(stage)
        assert low_mean - 1e-9 <= mean_largest <= high_mean + 1e-9
        for k in (1, 2, 3):
            p = math.fsum(p for p, load in outcomes if max(load[a] for a in stage.arcs.tolist()) <= k)
            low, high = (math.exp(x) for x in stage.log_p(1.0, count=k))
            assert low - 1e-12 <= p <= high + 1e-12
            if stage.is_exact:
                assert low == high == pytest.approx(p, rel=1e-11, abs=1e-12)
            if k in law:
                assert law[k] == (low, high)
    for k in (1.0, 2.0, 3.0):
        p = math.fsum(p for p, load in outcomes if max(load.values()) <= k)
        joint = stages.p_nowhere_above(k)
        assert joint.lower - 1e-12 <= p <= joint.upper + 1e-12
        assert joint.lower <= joint.estimate <= joint.upper
        assert joint.estimate == pytest.approx(p, abs=0.065)
    for arc in np.flatnonzero(laws.signature >= 0)[::3].tolist():
        pmf = laws.pmf(arc)
        for j in range(min(4, len(pmf))):
            p = math.fsum(p for p, load in outcomes if load[arc] == j)
            assert pmf[j] == pytest.approx(p, abs=1e-13)


def test_bundles_alone_are_exact() -> None:
    fabric, source, sink = small_cases()["bundles only"]
    found = followed(fabric, source, sink)
    laws = ArcLaws.of(found.entries, 2 * len(fabric.links))
    stages = StageSet.of(fabric, found, laws, np.ones(2 * len(fabric.links)), 1, ClosShape.of(fabric))
    joint = stages.p_nowhere_above(1.0)
    assert joint.is_exact
    assert joint.estimate == pytest.approx((2 / 3) * (6 / 27), rel=1e-12)


def test_up_and_down_of_a_leaf_shift_have_one_law() -> None:
    fabric = topo.leaf_spine(8, 8, 8)
    demand = shift(fabric, by=8)
    found = followed(fabric, demand.source, demand.sink)
    laws = ArcLaws.of(found.entries, 2 * len(fabric.links))
    inner = np.flatnonzero(np.repeat(fabric.links.kind.is_any("scale_out"), 2))
    assert len(np.unique(laws.signature[inner])) == 1
    assert laws.pmf(int(inner[0]))[:3] == pytest.approx([math.comb(8, j) * 7 ** (8 - j) / 8**8 for j in range(3)])


def test_queue_pairs_multiply_flows() -> None:
    fabric = topo.leaf_spine(2, 2, 2)
    demand = shift(fabric, by=2)
    found = followed(fabric, demand.source, demand.sink)
    laws = ArcLaws.of(found.entries, 2 * len(fabric.links), 3)
    arc = int(np.flatnonzero(fabric.arc_source == fabric.rows("leaf-1")[0])[-1])
    assert laws.pmf(arc) == pytest.approx([math.comb(6, j) / 64 for j in range(7)])
