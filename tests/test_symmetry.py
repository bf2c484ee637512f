"""Classes are orbits: never coarser than what all automorphisms of a small network join, and no finer on fabrics."""

import networkx as nx
import numpy as np
import pytest
from networkx.algorithms.isomorphism import MultiGraphMatcher, numerical_multiedge_match

import topo
from topo.build.assembly import Assembly
from topo.errors import FabricError, ParameterError
from topo.fabric import State
from topo.symmetry import _Folded, symmetry
from topo.twins import equal_rows, fold


def _orbits(fabric, state=None):
    """Node classes from every automorphism that keeps tier, endpoint mark and link rates, by exhaustion."""
    network = topo.Network.of(fabric, state=state)
    graph = nx.MultiGraph()
    for row in range(len(fabric.nodes)):
        graph.add_node(row, look=(int(fabric.nodes.tier[row]), bool(fabric.nodes.is_endpoint[row])))
    for a, b, rate in zip(network.a.tolist(), network.b.tolist(), network.capacity_gbps.tolist(), strict=True):
        graph.add_edge(a, b, rate=rate)
    matcher = MultiGraphMatcher(
        graph, graph, node_match=lambda u, v: u == v, edge_match=numerical_multiedge_match("rate", 0.0)
    )
    joined = nx.utils.UnionFind(graph.nodes)
    for mapping in matcher.isomorphisms_iter():
        for u, v in mapping.items():
            joined.union(u, v)
    return {frozenset(part) for part in joined.to_sets()}


def _classes(of):
    return {frozenset(np.flatnonzero(of == c).tolist()) for c in np.unique(of[of >= 0])}


@pytest.mark.parametrize("lost", [(), (0,), (7,), (6, 9)])
def test_small_leaf_spine_classes_are_the_orbits(lost):
    fabric = topo.leaf_spine(leaves=3, spines=2, hosts_per_leaf=1, parallel=2, link_gbps=100)
    state = State.without(fabric, links=lost)
    found = symmetry(topo.Network.of(fabric, state=state))
    assert _classes(found.node_class) == _orbits(fabric, state)


def test_unequal_rates_and_a_label_split_classes():
    fabric = topo.leaf_spine(leaves=3, spines=2, hosts_per_leaf=1, link_gbps=100)
    rate = fabric.links.capacity_gbps.copy()
    rate[4] = 40.0
    state = State(None, None, rate)
    assert _classes(symmetry(topo.Network.of(fabric, state=state)).node_class) == _orbits(fabric, state)
    label = np.zeros(len(fabric.nodes), int)
    label[fabric.endpoints[0]] = 1
    marked = symmetry(topo.Network.of(fabric), label=label)
    assert _classes(marked.node_class) == {frozenset(part) for part in ({0}, {1, 2}, {3}, {4, 5}, {6, 7})}
    with pytest.raises(ParameterError, match="label has 2 entries for 8"):
        symmetry(topo.Network.of(fabric), label=np.zeros(2))


def test_fat_tree_arcs_have_one_class_a_tier_and_direction():
    found = symmetry(topo.Network.of(topo.fat_tree(8)))
    assert sorted(found.representatives("arc")[1].tolist()) == [128] * 6
    assert found.representatives("link")[1].tolist() == [128] * 3
    assert found.representatives("node")[1].sum() == 128 + 80


def test_a_random_regular_graph_has_no_symmetry_though_all_degrees_are_equal():
    graph = nx.random_regular_graph(6, 64, seed=0)
    assembly = Assembly("random")
    switches = assembly.add_nodes([f"s{i}" for i in range(64)], kind="switch", tier=1)
    hosts = assembly.add_nodes([f"h{i}" for i in range(64)], kind="host", tier=0, is_endpoint=True, forwards=0)
    edges = np.array(graph.edges)
    assembly.connect(switches[edges[:, 0]], switches[edges[:, 1]], gbps=1.0)
    assembly.connect(hosts, switches, gbps=1.0, kind="access")
    found = symmetry(topo.Network.of(assembly.finish()))
    assert len(found.representatives("node")[0]) == 128
    assert found.n_generators == 0


def test_opened_hosts_keep_their_parts_together():
    fabric = topo.load("nvidia-dgx-h100")
    found = symmetry(topo.Network.of(fabric))
    kinds = fabric.nodes.kind.values()
    for c in np.unique(found.node_class[found.node_class >= 0]):
        assert len(set(kinds[found.node_class == c].tolist())) == 1
    # NVSwitches have 5, 4, 4 and 5 links to each accelerator: two classes of two.
    switches = found.node_class[kinds == "scale_up_switch"]
    assert np.bincount(np.unique(switches, return_inverse=True)[1]).tolist() == [2, 2]


def test_a_shifted_numbering_is_refused_with_the_link_that_has_no_image():
    fabric = topo.leaf_spine(leaves=3, spines=2, hosts_per_leaf=1, link_gbps=100)
    folded = _Folded.of(topo.Network.of(fabric), np.arange(len(fabric.nodes)))
    with pytest.raises(FabricError, match="no automorphism: the link between nodes 0 and 3 would lie between 1 and 3"):
        folded.arc_images(np.array([0, 1]), np.array([1, 0]))


def test_equal_rows_compares_every_entry_and_the_label():
    start = np.array([0, 2, 4, 6, 6])
    columns = np.array([[1, 2, 1, 2, 1, 2], [5, 6, 5, 6, 5, 7]])
    assert equal_rows(start, columns).tolist() == [0, 0, 2, 3]
    assert equal_rows(start, columns, np.array([0, 1, 0, 0])).tolist() == [0, 1, 2, 3]


def _random_forest_on_a_ring(seed):
    """A few trees of random shape, equal ones among them, hung on a random core: what folds and what does not."""
    rng = np.random.default_rng(seed)
    graph = nx.gnp_random_graph(int(rng.integers(2, 6)), 0.6, seed=seed)
    for node in list(graph):
        for _ in range(int(rng.integers(0, 3))):
            child = graph.number_of_nodes()
            graph.add_edge(node, child)
            for _ in range(int(rng.integers(0, 3))):
                graph.add_edge(child, graph.number_of_nodes())
    return graph


def _fold_and_orbits(graph):
    n = graph.number_of_nodes()
    ends = np.array([*graph.edges, *((b, a) for a, b in graph.edges)], int).reshape(-1, 2)
    joined = nx.utils.UnionFind(range(n))
    for mapping in nx.isomorphism.GraphMatcher(graph, graph).isomorphisms_iter():
        for u, v in mapping.items():
            joined.union(u, v)
    return *fold(np.zeros(n, int), *ends.T, np.zeros(len(ends), int), np.ones(n, bool)), joined


@pytest.mark.parametrize("seed", range(40))
def test_what_is_folded_lies_in_one_orbit_and_colours_tell_sizes_apart(seed):
    vertex, colour, joined = _fold_and_orbits(_random_forest_on_a_ring(seed))
    assert all(joined[row] == joined[int(vertex[row])] for row in range(len(vertex)))
    size = np.bincount(vertex, minlength=len(vertex))
    for alike in _classes(colour):
        assert len({size[row] for row in alike if size[row]}) <= 1


@pytest.mark.parametrize("seed", range(40))
def test_a_tree_folds_to_its_orbits(seed):
    tree = nx.from_prufer_sequence(np.random.default_rng(seed).integers(0, 9, 7).tolist())
    vertex, _, joined = _fold_and_orbits(tree)
    exchanged = len(nx.center(tree)) == 2 and joined[nx.center(tree)[0]] == joined[nx.center(tree)[1]]
    # Halves that mirror each other about the middle link stay two: nothing hangs on the other's side.
    assert len(np.unique(vertex)) == len(list(joined.to_sets())) * (2 if exchanged else 1)
