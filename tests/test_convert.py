"""Interchange: round trips, plain graphs, bad attributes, and agreement of the three forms."""

from __future__ import annotations

import pickle

import networkx as nx
import numpy as np
import pytest

import topo
from topo.build.assembly import Assembly
from topo.convert import from_networkx, to_igraph, to_networkx, to_sparse
from topo.fabric import FORWARDS_NOTHING, Fabric, GroupTable, LinkTable, NodeTable, PortTable
from topo.table import Labels


def full_fabric() -> Fabric:
    """Every column set, names repeated, links with end A after end B, parallels, a loopback, free ports, groups."""
    return Fabric(
        "everything",
        NodeTable(
            name=["same", "same", "h"],
            uid=["1", "2", "3"],
            kind=Labels.of(["switch", "switch", "nic"]),
            tier=[1, 2, 0],
            is_endpoint=[False, False, True],
            forwards=[2, 2, 0],
            host=Labels.of([None, None, "box"]),
            domain=Labels.of([None, None, "island"]),
            local_index=[-1, -1, 3],
            rail=Labels.of(["r", None, "r"]),
            plane=Labels.of(["p", "p", None]),
            pod=Labels.of(["one", None, "one"]),
            rack=Labels.of([None, "k", None]),
            chassis=Labels.of([None, "c", None]),
            part=Labels.of(["QM", "QM", None]),
        ),
        PortTable(
            node=[2, 0, 1, 0, 1, 0, 0, 1],
            label=Labels.of(["x", "1", "1", "2", "2", "3", "4", "9"]),
            cage=[0, 1, 2, 3, 4, 5, 5, -1],
            gbps=[100, 100, 100, 100, np.nan, 100, 100, 400],
        ),
        LinkTable(
            port_a=[1, 2, 4, 5],
            port_b=[0, 3, 1, 6],
            capacity_gbps=[100, 25.78125, np.nan, 0],
            kind=Labels.of(["access", "scale_out", "scale_out", "internal"]),
            cable=[-1, 4, 4, -1],
            length_m=[1.5, np.nan, 30, np.nan],
            evidence=Labels.of(["both ends", "one end", "planned", "both ends"]),
            source=Labels.of(["a.csv", "a.csv", None, None]),
            line=[3, 4, 0, 0],
        ),
        GroupTable(group=Labels.of(["card", "card"]), element=Labels.of(["node", "link"]), row=[1, 2]),
    )


FABRICS = [
    lambda: topo.fat_tree(4),
    lambda: topo.leaf_spine(leaves=3, spines=2, hosts_per_leaf=4, parallel=3),
    lambda: topo.rail_optimized(7, rails=4, hosts_per_unit=4, radix=16, managers=1),
    full_fabric,
]


@pytest.mark.parametrize("build", FABRICS)
def test_networkx_round_trip(build: object) -> None:
    fabric = build()  # type: ignore[operator]
    graph = to_networkx(fabric)
    back = from_networkx(graph)
    assert back.equals(fabric)
    assert back.name == fabric.name
    assert back.origin.assumptions == ()
    again = from_networkx(pickle.loads(pickle.dumps(graph)), name="other")
    assert again.equals(fabric)
    assert again.name == "other"


def test_networkx_attributes_are_plain_values() -> None:
    graph = to_networkx(full_fabric())
    node, edge = graph.nodes[2], graph.edges[0, 1, 1]
    assert node["name"] == "h"
    assert node["host"] == "box"
    assert type(node["tier"]) is int
    assert type(node["is_endpoint"]) is bool
    assert (edge["capacity_gbps"], edge["a_port"], edge["b_port"]) == (25.78125, "1", "2")
    assert set(NodeTable.columns()) <= set(node)
    assert set(LinkTable.columns()) <= set(edge)
    assert graph.number_of_edges(0, 1) == 2
    assert sorted(key for _, _, key in graph.edges(keys=True)) == [0, 1, 2, 3]


def test_nodes_and_links_removed_in_networkx_are_gone() -> None:
    fabric = topo.fat_tree(4)
    graph = to_networkx(fabric)
    graph.remove_node(35)
    graph.remove_edge(*next((a, b, key) for a, b, key in graph.edges(keys=True) if key == 20))
    assert from_networkx(graph).equals(fabric.without(nodes=[35], links=[20]))


def test_plain_graph() -> None:
    """A path of switches with one leaf node at each end and a rate on some edges only."""
    graph = nx.Graph()
    graph.add_edge("s1", "s2", capacity_gbps="1.6T")
    graph.add_edge("s2", "s3", capacity_gbps=400)
    graph.add_edge("a", "s1")
    graph.add_edge("s3", "b", b_port="eth0")
    fabric = from_networkx(graph, name="path", capacity_gbps="100G")
    assert fabric.nodes.name[fabric.endpoints].tolist() == ["a", "b"]
    assert fabric.nodes.forwards[fabric.endpoints].tolist() == [FORWARDS_NOTHING] * 2
    assert dict(zip(fabric.nodes.name.tolist(), fabric.nodes.tier.tolist(), strict=True)) == {
        "s1": 1,
        "s2": 2,
        "s3": 1,
        "a": 0,
        "b": 0,
    }
    assert sorted(fabric.links.capacity_gbps.tolist()) == [100, 100, 400, 1600]
    assert fabric.links.kind.values().tolist().count("access") == 2
    assert "eth0" in fabric.ports.label.values().tolist()
    assert len(fabric.origin.assumptions) == 3
    assert topo.inventory(fabric).paths.pairs_by_hops == {4: 1}


def test_plain_multigraph_keeps_parallels() -> None:
    graph = nx.MultiGraph()
    graph.add_edges_from([("a", "b", {"capacity_gbps": rate}) for rate in (100, 100, 400)])
    fabric = from_networkx(graph)
    assert len(fabric.links) == 3
    assert fabric.links.capacity_gbps.sum() == 600
    assert len(fabric.ports) == 6


def test_torus_of_endpoints_forwards() -> None:
    graph = nx.grid_graph((4, 4), periodic=True)
    nx.set_node_attributes(graph, True, "is_endpoint")
    fabric = from_networkx(graph, capacity_gbps=50)
    found = topo.inventory(fabric)
    expected = nx.average_shortest_path_length(graph)
    assert found.n_endpoints == 16
    assert found.paths.mean_hops == pytest.approx(expected)
    assert fabric.nodes.name[1] == "(0, 1)"


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ({}, r"edge 'a' - 'b' has no capacity_gbps"),
        ({"capacity_gbps": "fast"}, r"edge 'a' - 'b': capacity_gbps: 'fast'"),
        ({"capacity_gbps": -1}, r"edge 'a' - 'b': capacity_gbps: -1"),
        ({"capacity_gbps": float("inf")}, r"edge 'a' - 'b': capacity_gbps"),
        ({"capacity_gbps": [1]}, r"edge 'a' - 'b': capacity_gbps"),
        ({"capacity_gbps": 1, "cable": "red"}, r"edge 'a' - 'b': cable is 'red'"),
        ({"capacity_gbps": 1, "line": 1.5}, r"edge 'a' - 'b': line is 1.5"),
        ({"capacity_gbps": 1, "length_m": "long"}, r"edge 'a' - 'b': length_m is 'long'"),
    ],
)
def test_bad_edges_are_named(attributes: dict[str, object], message: str) -> None:
    graph = nx.Graph()
    graph.add_edge("a", "b", **attributes)
    with pytest.raises(topo.InputError, match=message):
        from_networkx(graph)


def test_bad_nodes_ports_and_direction_are_named() -> None:
    graph = nx.Graph()
    graph.add_node("a", tier=400)
    with pytest.raises(topo.InputError, match="node 'a': tier is 400"):
        from_networkx(graph)
    with pytest.raises(topo.InputError, match="directed"):
        from_networkx(nx.DiGraph([(0, 1)]))
    wrong = to_networkx(topo.leaf_spine(leaves=2, spines=2, hosts_per_leaf=1))
    wrong.edges[0, 2, 0]["port_a"] = 99
    with pytest.raises(topo.InputError, match="edge 0 - 2 .*port_a is 99"):
        from_networkx(wrong)


def test_unknown_rate_stays_unknown() -> None:
    graph = nx.Graph()
    graph.add_edge("a", "b", capacity_gbps=float("nan"))
    assert np.isnan(from_networkx(graph).links.capacity_gbps[0])


@pytest.mark.parametrize("build", FABRICS)
def test_igraph_rows_are_identity(build: object) -> None:
    fabric = build()  # type: ignore[operator]
    graph = to_igraph(fabric)
    assert not graph.is_directed()
    assert (graph.vcount(), graph.ecount()) == (len(fabric.nodes), len(fabric.links))
    for edge, a, b in zip(graph.es, fabric.link_a.tolist(), fabric.link_b.tolist(), strict=True):
        assert {edge.source, edge.target} == {a, b}
    assert graph.vs["name"] == fabric.nodes.name.tolist()
    assert graph.vs["host"] == fabric.nodes.host.values().tolist()
    assert np.array_equal(graph.es["capacity_gbps"], fabric.links.capacity_gbps, equal_nan=True)
    assert set(NodeTable.columns()) <= set(graph.vs.attributes())
    assert set(LinkTable.columns()) <= set(graph.es.attributes())


@pytest.mark.parametrize("build", FABRICS[:3])
@pytest.mark.parametrize("weight", ["links", "capacity_gbps"])
def test_sparse_equals_networkx(build: object, weight: str) -> None:
    fabric = build()  # type: ignore[operator]
    graph = to_networkx(fabric)
    oracle = nx.to_numpy_array(graph, nodelist=range(len(graph)), weight=None if weight == "links" else weight)
    assert np.array_equal(to_sparse(fabric, weight).toarray(), oracle)  # type: ignore[arg-type]


def test_sparse_leaves_loopbacks_out_and_refuses_unknown_rates() -> None:
    fabric = full_fabric()
    assert to_sparse(fabric).toarray().tolist() == [[0, 2, 1], [2, 0, 0], [1, 0, 0]]
    with pytest.raises(topo.InputError, match="unknown, first same port 2 - same port 1"):
        to_sparse(fabric, "capacity_gbps")
    with pytest.raises(topo.ParameterError, match="weight is 'hops'"):
        to_sparse(fabric, "hops")  # type: ignore[arg-type]


def test_empty_fabric_in_all_forms() -> None:
    empty = Assembly("empty").finish()
    assert from_networkx(to_networkx(empty)).equals(empty)
    assert to_igraph(empty).vcount() == 0
    assert to_sparse(empty).shape == (0, 0)
