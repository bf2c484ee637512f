"""Distances and path counts against closed forms, published counts and brute force over networkx."""

from __future__ import annotations

import itertools
import statistics
from collections import Counter, defaultdict
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

import topo
from topo.analysis import paths as module
from topo.analysis.attachments import attachments, collapse_twins
from topo.analysis.paths import Paths, paths
from topo.build.assembly import Assembly
from topo.fabric import FORWARDS_ALL, FORWARDS_NOTHING, FORWARDS_OWN_HOST, Fabric, State
from topo.network import Network


def simple_graph(fabric: Fabric) -> tuple[nx.Graph, Counter[tuple[int, int]]]:
    graph, links = nx.Graph(), Counter()
    graph.add_nodes_from(range(len(fabric.nodes)))
    for a, b in zip(fabric.link_a.tolist(), fabric.link_b.tolist(), strict=True):
        if a != b:
            graph.add_edge(a, b)
            links[min(a, b), max(a, b)] += 1
    return graph, links


def allowed(fabric: Fabric, *ends: int) -> set[int]:
    """Nodes a path between ``ends`` may use, by the rule of forwarding itself."""
    nodes = fabric.nodes
    hosts = {int(nodes.host.codes[end]) for end in ends} - {-1}
    own = (nodes.forwards == FORWARDS_OWN_HOST) & np.isin(nodes.host.codes, list(hosts))
    return set(np.flatnonzero((nodes.forwards == FORWARDS_ALL) | own).tolist()) | set(ends)


def brute_distances(fabric: Fabric) -> tuple[dict[int, int], int]:
    graph, _ = simple_graph(fabric)
    hops: Counter[int] = Counter()
    disconnected = 0
    for s, t in itertools.combinations(fabric.endpoints.tolist(), 2):
        try:
            hops[nx.shortest_path_length(graph.subgraph(allowed(fabric, s, t)), s, t)] += 1
        except nx.NetworkXNoPath:
            disconnected += 1
    return dict(sorted(hops.items())), disconnected


def brute_counts(fabric: Fabric, leaves: list[int]) -> dict[int, tuple[int, list[int], list[int]]]:
    graph, links = simple_graph(fabric)
    sub = graph.subgraph(allowed(fabric))
    found: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for s, t in itertools.combinations(leaves, 2):
        if not nx.has_path(sub, s, t):
            continue
        routes = list(nx.all_shortest_paths(sub, s, t))
        by_link = 0
        for route in routes:
            product = 1
            for a, b in itertools.pairwise(route):
                product *= links[min(a, b), max(a, b)]
            by_link += product
        found[len(routes[0]) - 1].append((len(routes), by_link))
    return {h: (len(c), [x for x, _ in c], [y for _, y in c]) for h, c in found.items()}


def assert_equals_brute_force(fabric: Fabric, found: Paths, leaves: list[int]) -> None:
    by_hops, disconnected = brute_distances(fabric)
    assert found.pairs_by_hops == by_hops
    assert found.n_disconnected_pairs == disconnected
    assert found.diameter_hops == max(by_hops, default=None)
    expected = brute_counts(fabric, leaves)
    assert [c.hops_between_leaves for c in found.path_counts] == sorted(expected)
    for count in found.path_counts:
        pairs, by_node, by_link = expected[count.hops_between_leaves]
        assert count.n_leaf_pairs == pairs
        assert (count.node_paths_min, count.node_paths_max) == (min(by_node), max(by_node))
        assert (count.link_paths_min, count.link_paths_max) == (min(by_link), max(by_link))
        assert count.node_paths_median == statistics.median(by_node)
        assert count.link_paths_median == statistics.median(by_link)


def random_fabric(seed: int, *, direct: bool = False) -> Fabric:
    """Switches joined at random with parallels, hosts on up to three of them, twins and strays among them."""
    rng = np.random.default_rng(seed)
    assembly = Assembly(f"random {seed}")
    n_leaves, n_spines, n_hosts = rng.integers(2, 6), rng.integers(1, 5), rng.integers(2, 12)
    leaf = assembly.add_nodes([f"leaf-{i}" for i in range(n_leaves)], kind="switch", tier=1)
    spine = assembly.add_nodes([f"spine-{i}" for i in range(n_spines)], kind="switch", tier=2)
    host = assembly.add_nodes(
        [f"h{i}" for i in range(n_hosts)], kind="host", is_endpoint=True, forwards=FORWARDS_NOTHING
    )
    for low in leaf:
        for up in spine[rng.random(n_spines) < 0.7]:
            assembly.connect(np.repeat(low, rng.integers(1, 4)), up, 100)
    for node in host:
        for low in rng.choice(leaf, size=min(int(rng.integers(0, 4)), len(leaf)), replace=False):
            assembly.connect(np.repeat(node, rng.integers(1, 3)), low, 100, kind="access")
    if rng.random() < 0.5:
        assembly.connect([leaf[0]], [leaf[1]], 100)
    if direct:
        assembly.connect(host[:1], host[1:2], 100)
    return assembly.finish()


def leaves_of(fabric: Fabric) -> list[int]:
    ends = set(fabric.endpoints.tolist())
    touched = set()
    for a, b in zip(fabric.link_a.tolist(), fabric.link_b.tolist(), strict=True):
        touched |= {b} if a in ends else {a} if b in ends else set()
    return sorted(touched - ends)


@pytest.mark.parametrize("seed", range(60))
def test_random_fabrics_equal_brute_force(seed: int) -> None:
    fabric = random_fabric(seed, direct=seed % 3 == 0)
    assert_equals_brute_force(fabric, paths(fabric), leaves_of(fabric))


@pytest.mark.parametrize("seed", range(8))
def test_random_failures_equal_brute_force(seed: int) -> None:
    fabric = topo.fat_tree(4)
    links = np.random.default_rng(seed).choice(len(fabric.links), 8, replace=False)
    broken = fabric.without(links=links)
    found = paths(fabric, state=State.without(fabric, links=links))
    assert_equals_brute_force(broken, found, leaves_of(broken))


@pytest.mark.parametrize("k", [2, 4, 6, 8, 16, 24, 48])
def test_fat_tree_closed_form(k: int) -> None:
    found = paths(topo.fat_tree(k))
    half, n = k // 2, k**3 // 4
    per_pod = half * half
    expected = {2: n * (half - 1) // 2, 4: n * (per_pod - half) // 2, 6: n * (n - per_pod) // 2}
    assert found.pairs_by_hops == {hops: pairs for hops, pairs in expected.items() if pairs}
    assert found.standing.kind == "exact"
    counts = {c.hops_between_leaves: c for c in found.path_counts}
    if half > 1:
        assert (counts[2].node_paths_min, counts[2].node_paths_max) == (half, half)
    assert (counts[4].node_paths_min, counts[4].node_paths_max) == (half**2, half**2)
    assert counts[4].link_paths_median == half**2


def test_leaf_spine_with_parallel_links() -> None:
    found = paths(topo.leaf_spine(leaves=4, spines=3, hosts_per_leaf=5, parallel=2))
    assert found.pairs_by_hops == {2: 4 * 10, 4: 6 * 25}
    assert found.mean_hops == pytest.approx((2 * 40 + 4 * 150) / 190)
    (count,) = found.path_counts
    assert (count.node_paths_min, count.link_paths_min, count.n_leaf_pairs) == (3, 12, 6)


def test_h100_four_units() -> None:
    """Rail-optimized to the top: 32 uplinks a leaf over 16 spines, so two parallel links each."""
    found = paths(topo.rail_optimized(128))
    same_leaf = 32 * 32 * 31 // 2
    assert found.pairs_by_hops == {2: same_leaf, 4: 1024 * 1023 // 2 - same_leaf}
    (count,) = found.path_counts
    uplinks, spines = 32, 16
    assert (count.node_paths_min, count.node_paths_max) == (spines, spines)
    assert count.link_paths_max == spines * (uplinks // spines) ** 2
    assert count.n_leaf_pairs == 32 * 31 // 2


def test_no_host_relays() -> None:
    """Two leaves share a dual-homed host and nothing else: their other hosts are apart."""
    assembly = Assembly("two planes")
    leaf = assembly.add_nodes(["a", "b"], kind="switch", tier=1)
    host = assembly.add_nodes(["only-a", "both", "only-b"], kind="host", is_endpoint=True, forwards=FORWARDS_NOTHING)
    assembly.connect([host[0], host[1], host[1], host[2]], [leaf[0], leaf[0], leaf[1], leaf[1]], 100, kind="access")
    found = paths(assembly.finish())
    assert found.pairs_by_hops == {2: 2}
    assert found.n_disconnected_pairs == 1
    assert found.path_counts == ()


@pytest.mark.parametrize("shape", [(4, 5), (3, 3, 3), (6,)])
def test_torus_of_relaying_endpoints(shape: tuple[int, ...]) -> None:
    grid = nx.grid_graph(shape, periodic=True)
    index = {node: i for i, node in enumerate(sorted(grid))}
    assembly = Assembly("torus")
    rows = assembly.add_nodes(
        [str(node) for node in index], kind="accelerator", is_endpoint=True, forwards=FORWARDS_ALL
    )
    ends = np.array([(index[a], index[b]) for a, b in grid.edges])
    assembly.connect(rows[ends[:, 0]], rows[ends[:, 1]], 100)
    fabric = assembly.finish()
    assert_equals_brute_force(fabric, paths(fabric), fabric.endpoints.tolist())


@pytest.mark.parametrize("seed", range(10))
def test_opened_hosts_relay_only_their_own_traffic(seed: int) -> None:
    """Accelerators behind a host switch and NICs; a cable between two hosts' NICs serves those two only."""
    rng = np.random.default_rng(seed)
    assembly = Assembly("opened hosts")
    leaf = assembly.add_nodes(["leaf-1", "leaf-2", "leaf-3"], kind="switch", tier=1)
    spine = assembly.add_nodes(["spine-1"], kind="switch", tier=2)
    assembly.connect(leaf[: int(rng.integers(1, 4))], spine[0], 400)
    nics = []
    for h in range(4):
        own = {"host": f"host-{h}", "forwards": FORWARDS_OWN_HOST, "tier": -1}
        gpu = assembly.add_nodes(
            [f"h{h}-gpu-{i}" for i in range(3)],
            kind="accelerator",
            is_endpoint=True,
            forwards=FORWARDS_NOTHING,
            host=f"host-{h}",
        )
        nic = assembly.add_nodes([f"h{h}-nic-{i}" for i in range(3)], kind="nic", **own)
        inner = assembly.add_nodes([f"h{h}-switch"], kind="scale_up_switch", **own)
        assembly.connect(gpu, inner[0], 900, kind="scale_up")
        assembly.connect(gpu, nic, 400, kind="host_io")
        assembly.connect(nic, inner[0], 400, kind="host_io")
        up = rng.integers(0, 4, 3)
        for i in range(3):
            if up[i] < 3:
                assembly.connect(nic[i : i + 1], leaf[up[i] : up[i] + 1], 400)
        nics.append(nic)
    assembly.connect(nics[0][:1], nics[1][:1], 400)
    fabric = assembly.finish()
    found = paths(fabric)
    by_hops, disconnected = brute_distances(fabric)
    assert found.pairs_by_hops == by_hops
    assert found.n_disconnected_pairs == disconnected
    assert sum(by_hops.values()) > 0


def test_twins_are_checked_entry_by_entry() -> None:
    from scipy.sparse import csr_array

    rng = np.random.default_rng(3)
    for _ in range(30):
        half = np.triu(rng.integers(0, 3, (9, 9)) * (rng.random((9, 9)) < 0.3), 1)
        dense = half + half.T
        quotient = collapse_twins(csr_array(dense))
        for i, j in itertools.combinations(range(9), 2):
            assert (quotient.of[i] == quotient.of[j]) == np.array_equal(dense[i], dense[j])
        unfolded = quotient.adjacency.toarray()[np.ix_(quotient.of, quotient.of)]
        assert np.array_equal(unfolded, dense)


def test_a_thousand_leaves_fold_to_one_class_a_pod() -> None:
    quotient = collapse_twins(attachments(Network.of(topo.fat_tree(16))).adjacency)
    assert len(quotient.size) == 16 + 16 * 8 + 8
    assert quotient.size.sum() == 320


def random_regular(n: int, degree: int, hosts: int) -> Fabric:
    assembly = Assembly("random regular")
    switch = assembly.add_nodes([f"s{i}" for i in range(n)], kind="switch", tier=1)
    names = [f"h{i}" for i in range(n * hosts)]
    host = assembly.add_nodes(names, kind="host", is_endpoint=True, forwards=FORWARDS_NOTHING)
    assembly.connect(host, np.repeat(switch, hosts), 100, kind="access")
    edges = np.array(nx.random_regular_graph(degree, n, seed=1).edges)
    assembly.connect(switch[edges[:, 0]], switch[edges[:, 1]], 100)
    return assembly.finish()


def test_sample_says_so_and_brackets_the_truth(monkeypatch: pytest.MonkeyPatch) -> None:
    fabric = random_regular(60, 3, 2)
    exact = paths(fabric)
    assert exact.standing.kind == "exact"
    assert exact.mean_hops is not None
    monkeypatch.setattr(module, "_MOST_WORK", 20 * (180 + 60 * 60 + 180 * 60))
    samples = [paths(fabric, seed=seed) for seed in range(30)]
    covered = 0
    for seed, sample in enumerate(samples):
        assert sample.standing.kind == "sampled"
        assert f"seed {seed}" in sample.standing.how
        assert "n=" in sample.standing.how
        assert sample.mean_hops_interval is not None
        covered += sample.mean_hops_interval[0] <= exact.mean_hops <= sample.mean_hops_interval[1]
        assert sum(sample.pairs_by_hops.values()) == pytest.approx(120 * 119 // 2, abs=5)
        assert sample.pairs_by_hops[2] == 60  # one pair a switch, whichever are drawn
    assert covered >= 25
    assert samples[3] == paths(fabric, seed=3)
    assert samples[3].pairs_by_hops != samples[4].pairs_by_hops
    assert "sampled" in str(samples[3])


def test_random_regular_switches_equal_brute_force() -> None:
    fabric = random_regular(20, 3, 2)
    assert_equals_brute_force(fabric, paths(fabric), fabric.switches.tolist())


def test_result_renders_and_survives_json() -> None:
    import json
    import pickle

    found = paths(topo.leaf_spine(leaves=2, spines=2, hosts_per_leaf=2))
    assert json.loads(found.to_json())["pairs_by_hops"] == {"2": 2, "4": 4}
    assert pickle.loads(pickle.dumps(found)) == found
    assert "endpoint pairs 4 hops apart" in str(found)
    assert "by links" in found._repr_html_()
    assert len(found.to_frame()) == len(found.rows())


def test_no_endpoint_no_distance() -> None:
    assembly = Assembly("switch alone")
    assembly.add_nodes(["s"], kind="switch", tier=1)
    found = paths(assembly.finish())
    assert (found.diameter_hops, found.mean_hops, found.pairs_by_hops) == (None, None, {})
    assert "no pair is joined" in str(found)


def leaf_pair(fabric: Fabric, a: str, b: str) -> tuple[int, float, float]:
    from topo.analysis.search import search

    attached = attachments(Network.of(fabric))
    quotient = collapse_twins(attached.adjacency)
    names = fabric.nodes.name[attached.relays].tolist()
    s, t = names.index(a), names.index(b)
    (found,) = search(quotient, quotient.of[[s]])
    column = quotient.of[t]
    return (
        int(found.distance[0, column]),
        float(found.node_paths[0, column]),
        float(found.link_paths[0, column]),
    )


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ("LG01-01", "LG02-01", (2, 10, 38)),
        ("LG01-01", "LG01-02", (4, 140, 532)),
        ("LG01-01", "LG28-01", (4, 140, 532)),
        ("LG01-01", "LG28-08", (4, 139, 502)),
        ("LG27-04", "LG14-04", (4, 137, 496)),
        ("LG10-02", "LG11-02", (2, 10, 38)),
    ],
)
def test_selene_leaf_pairs(shared_data: Path, a: str, b: str, expected: tuple[int, int, int]) -> None:
    fabric = topo.read(shared_data / "ibnetdiscover" / "selene.compute.txt")
    assert leaf_pair(fabric, a, b) == expected


def test_selene_whole(shared_data: Path) -> None:
    found = paths(topo.read(shared_data / "ibnetdiscover" / "selene.compute.txt"))
    assert found.standing.kind == "exact"
    assert found.n_disconnected_pairs == 0
    assert sum(found.pairs_by_hops.values()) == found.n_endpoints * (found.n_endpoints - 1) // 2
