"""Labs, discovered neighbours, graphs and simulators: what each format says is kept, and what it lacks is told."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

import topo
from topo.fabric import Fabric
from topo.io.air import read_air, read_paddle
from topo.io.astra import read_astra
from topo.io.containerlab import read_containerlab, read_netlab
from topo.io.dot import read_dot
from topo.io.graphs import read_graphml, read_node_link
from topo.io.hedgehog import read_hedgehog
from topo.io.ibnl import read_ibnl
from topo.io.lldp import read_lldp, read_lldp_files
from topo.io.netq import read_netq
from topo.io.ns3 import read_ns3
from topo.io.sonic import read_minigraph
from topo.io.topograph import read_topograph


def notes(fabric: Fabric) -> list[str]:
    return [str(note) for note in fabric.origin.notes]


def ends(fabric: Fabric) -> set[frozenset[str]]:
    links = topo.LinkSet.of(fabric, range(len(fabric.links)))
    return {frozenset({f"{link.a}:{link.a_port}", f"{link.b}:{link.b_port}"}) for link in links}


# containerlab and netlab


@pytest.mark.parametrize(
    ("links", "said"),
    [
        ('- endpoints: ["a:e1", "b"]', "t:5: .*'b' is no node:interface"),
        ('- endpoints: ["a:e1", "b:e1"]\n    - endpoints: ["a:e1", "b:e2"]', "t:6: a:e1 has a link already, at line 5"),
        ('- endpoints: ["a:e1"]', "t:5: .*a link has two endpoints"),
        ('- endpoints: ["{{ .x }}:e1", "b:e1"]', "t:5: this is a template"),
    ],
)
def test_labs_that_are_wrong_say_where(links: str, said: str) -> None:
    text = f"name: x\ntopology:\n  nodes: {{a: {{kind: srl}}, b: {{kind: srl}}}}\n  links:\n    {links}\n"
    with pytest.raises(topo.FormatError, match=said):
        read_containerlab(text, "t")


def test_the_long_form_of_endpoints() -> None:
    text = "topology:\n  links:\n  - type: veth\n    endpoints:\n    - {node: l1, interface: e1-1}\n"
    text += "    - {node: c1, interface: eth1}\n"
    assert ends(read_containerlab(text)) == {frozenset({"l1:e1-1", "c1:eth1"})}


def test_shared_segments_of_netlab_are_no_cables() -> None:
    end = "{node: %s, ifname: e%d}"
    three = ", ".join(end % (name, 1) for name in "abc")
    two = f"{end % ('a', 2)}, {end % ('b', 2)}"
    text = f"provider: clab\nnodes: {{a: , b: , c: }}\nlinks:\n- interfaces: [{three}]\n- interfaces: [{two}]\n"
    fabric = read_netlab(text, "t")
    assert len(fabric.links) == 1
    assert "t:4: shared segment, not a cable; left out: 3 nodes: a, b, c" in notes(fabric)


# Hedgehog, Air, paddle


def test_breakouts_give_rates_and_one_ended_connections_keep_their_port() -> None:
    from format_samples import HEDGEHOG

    fabric = read_hedgehog(HEDGEHOG, "t")
    assert fabric.links.capacity_gbps.tolist() == [25, 25]
    assert len(fabric.ports) == 5
    lines = HEDGEHOG.split("\n")

    def line_of(text: str) -> int:
        return next(i for i, line in enumerate(lines, 1) if text in line)

    place = line_of("external: {link:")
    assert f"t:{place}: port that leads out of the fabric, kept free: out: leaf-1/E1/9" in notes(fabric)
    assert fabric.links.line.tolist() == [line_of("enp2s1"), line_of("enp2s2")]


def test_errors_of_a_stream_count_lines_over_the_file() -> None:
    with pytest.raises(topo.InputError, match="^t:5: not valid YAML"):
        read_hedgehog("apiVersion: wiring.githedgehog.com/v1beta1\nkind: Switch\n---\na: [\n", "t")


def test_aliases_are_refused() -> None:
    with pytest.raises(topo.InputError, match="anchors and aliases"):
        read_containerlab("topology: &a\n  links: *a\n")


def test_air_and_paddle_that_are_none() -> None:
    with pytest.raises(topo.FormatError, match='no "links" under "content"'):
        read_air("{}")
    with pytest.raises(topo.FormatError, match='no list "topology"'):
        read_paddle("{}")
    with pytest.raises(topo.InputError, match="t:2: not valid JSON"):
        read_air('{"a": 1,\n nope}', "t")
    with pytest.raises(topo.InputError, match="nested too deep"):
        read_air("[" * 100_000)


# LLDP


def test_both_ends_merge_by_name_and_abbreviation() -> None:
    leaf = {"Ethernet1": [{"hostname": "spine1.dc.example", "port": "Et7"}]}
    spine = {"Ethernet7": [{"hostname": "leaf1", "port": "Ethernet1"}]}
    fabric = read_lldp_files([(json.dumps(leaf), "out/leaf1.json"), (json.dumps(spine), "out/spine1.json")])
    assert fabric.nodes.name.tolist() == ["leaf1", "spine1"]
    assert ends(fabric) == {frozenset({"leaf1:Ethernet1", "spine1:Ethernet7"})}
    assert fabric.links.evidence.values().tolist() == ["both ends"]


def test_names_with_dots_match_exactly_first() -> None:
    text = {
        "leaf1.pod1": {"e1": [{"hostname": "leaf1.pod2", "port": "e1"}]},
        "leaf1.pod2": {"e1": [{"hostname": "leaf1.pod1", "port": "e1"}], "e2": [{"hostname": "leaf1", "port": "e9"}]},
    }
    fabric = read_lldp(json.dumps(text), "t")
    assert sorted(fabric.nodes.name.tolist()) == ["leaf1", "leaf1.pod1", "leaf1.pod2"]
    assert fabric.links.evidence.values().tolist() == ["both ends", "one end"]
    assert "t: name fits several devices, kept apart: leaf1: leaf1.pod1, leaf1.pod2" in notes(fabric)


def test_two_neighbours_on_one_port_are_told_and_both_kept() -> None:
    text = {"swp1": [{"hostname": "a", "port": "e1"}, {"hostname": "b", "port": "e1"}]}
    fabric = read_lldp(json.dumps(text), "leaf1.json")
    assert len(fabric.links) == 2
    assert "leaf1.json: ambiguous: a port has several neighbours: leaf1 port swp1" in notes(fabric)


def test_output_of_lldpctl() -> None:
    interface = {
        "swp1": {
            "chassis": {"spine1": {"id": {"type": "mac", "value": "00:11:22:33:44:55"}}},
            "port": {"id": {"type": "mac", "value": "00:11:22:33:44:66"}, "descr": "swp9"},
        }
    }
    for said in ({"interface": interface}, {"interface": [interface]}):
        fabric = read_lldp(json.dumps({"lldp": said}), "leaf1.json")
        assert ends(fabric) == {frozenset({"leaf1:swp1", "spine1:swp9"})}
    assert any("told by its MAC address; its description is taken" in note for note in notes(fabric))


def test_several_files_only_where_a_file_is_a_device(tmp_path: Path) -> None:
    for name, far in (("l1", "s1"), ("s1", "l1")):
        (tmp_path / f"{name}.json").write_text(json.dumps({"e1": [{"hostname": far, "port": "e1"}]}))
    fabric = topo.read([tmp_path / "l1.json", tmp_path / "s1.json"], assume_gbps=100)
    assert fabric.links.capacity_gbps.tolist() == [100.0]
    with pytest.raises(topo.FormatError, match="device 'l1' is there twice"):
        topo.read([tmp_path / "l1.json"] * 2)
    plan = tmp_path / "plan.csv"
    plan.write_text("A-Node,A-Port,Z-Node,Z-Port\na,1,b,1\n")
    with pytest.raises(topo.ParameterError, match=r"several files make one fabric of the formats lldp; .* is schedule"):
        topo.read([plan, plan])
    with pytest.raises(topo.ParameterError, match="no file in the list"):
        topo.read([])


# DOT


def test_ports_after_the_colon_stay() -> None:
    fabric = read_dot('graph { "leaf01":"swp51" -- "spine01":"swp1" -- x:y; a:"b:c" -> d }', "t")
    assert ends(fabric) == {
        frozenset({"leaf01:swp51", "spine01:swp1"}),
        frozenset({"spine01:swp1", "x:y"}),
        frozenset({"a:b:c", "d:1"}),
    }


def test_subgraphs_comments_and_attributes() -> None:
    fabric = read_dot(
        """strict graph "g" { /* x -- y */ node [shape=box]; rank=same
        subgraph cluster_a { label="a"; leaf1 leaf2 } -- spine1 [speed="400G"]
        # c -- d
        h1 [function=host label=<<b>-- h9</b>>]; h1:eth0 -- leaf1:swp1 }""",
        "t",
    )
    assert len(fabric.links) == 3
    assert fabric.links.capacity_gbps.tolist()[:2] == [400, 400]
    assert fabric.nodes.name[fabric.endpoints].tolist() == ["h1"]
    assert "h9" not in fabric.nodes.name


def test_ports_in_attributes_and_labels_of_an_edge_are_ports() -> None:
    fabric = read_dot(
        """digraph {
        leaf1 -> spine1 [taillabel="E1/1,E1/2", headlabel="E1/28\\nE1/29", label="x2"]
        leaf1 -> h1 [taillabel="E1/3", headlabel=""]
        leaf2 -> spine1 [tailport="swp1", headport=n, taillabel="uplink"]
        leaf2:swp2 -> spine2:e [headlabel="400G", speed="400G"]
        leaf1 -> leaf2 [taillabel="E1/7", headlabel="swp8,swp9"] }""",
        "t",
    )
    assert ends(fabric) == {
        frozenset({"leaf1:E1/1", "spine1:E1/28"}),
        frozenset({"leaf1:E1/2", "spine1:E1/29"}),
        frozenset({"leaf1:E1/3", "h1:1"}),
        frozenset({"leaf2:swp1", "spine1:1"}),
        frozenset({"leaf2:swp2", "spine2:e"}),
    }
    notes = [str(note) for note in fabric.origin.notes]
    assert "t:2: edge that stands for several cables, its rate is that of each: leaf1 - spine1: 2" in notes
    assert "t:4: label at the end of an edge, not taken for a port: 'uplink'" in notes
    assert "t:5: label at the end of an edge, not taken for a port: '400G'" in notes
    assert any("t:6: edge whose ends name different numbers of ports" in note for note in notes)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('graph { "a -- b }', "t:1: .*is a quote unpaired"),
        ("graph { a -- }", "t:1: a node is wanted, not '}'"),
        ("graph { a -- b", "t:1: } is wanted, not the end"),
        ("graph {\n a: -- b }", "t:2: a port is wanted after the colon"),
        ("graph { a }", "no edge between two nodes"),
        ("graph " + "{" * 50, "at most 32 subgraphs"),
    ],
)
def test_what_is_no_dot(text: str, said: str) -> None:
    with pytest.raises(topo.FormatError, match=said):
        read_dot(text, "t")


# graphs


def test_networkx_writes_and_we_read(tmp_path: Path) -> None:
    graph = nx.MultiGraph()
    graph.add_node("leaf", kind="switch")
    graph.add_node("h", kind="host")
    for rate in (100, 100, 400):
        graph.add_edge("leaf", "h", capacity_gbps=rate)
    nx.write_graphml(graph, tmp_path / "g.graphml")
    data = nx.node_link_data(graph)
    edges = data.pop("edges" if "edges" in data else "links")  # networkx changed its word in 3.6
    for word in ("edges", "links"):
        (tmp_path / f"{word}.json").write_text(json.dumps({**data, word: edges}))
    for path in ("g.graphml", "edges.json", "links.json"):
        fabric = topo.read(tmp_path / path)
        assert fabric.links.capacity_gbps.tolist() == [100, 100, 400]
        assert fabric.nodes.kind.values().tolist() == ["switch", "host"]
        assert fabric.links.kind.values().tolist() == ["access"] * 3


def test_directed_edges_there_and_back_are_one_cable(tmp_path: Path) -> None:
    graph = nx.MultiDiGraph([("a", "b"), ("b", "a"), ("a", "b"), ("b", "c")])
    nx.write_graphml(graph, tmp_path / "g.graphml")
    fabric = topo.read(tmp_path / "g.graphml")
    pairs = Counter(frozenset(pair) for pair in zip(fabric.link_a.tolist(), fabric.link_b.tolist(), strict=True))
    assert sorted(pairs.values()) == [1, 2]


def test_graphs_that_cannot_be_used() -> None:
    with pytest.raises(topo.FormatError, match="an edge ends at 'z', which is no node here"):
        read_graphml('<graphml><graph><node id="a"/><edge source="a" target="z"/></graph></graphml>')
    with pytest.raises(topo.FormatError, match="no graph in it"):
        read_graphml("<graphml/>")
    with pytest.raises(topo.FormatError, match='lists "nodes" and "links"'):
        read_node_link("[]")
    bomb = '<!DOCTYPE g [<!ENTITY a "aa"><!ENTITY b "&a;&a;">]><graphml>&b;</graphml>'
    with pytest.raises(topo.InputError, match="entities are not read"):
        read_graphml(bomb)


# simulators


def test_a_header_that_counts_other_rows_is_an_error_with_both_numbers() -> None:
    rows = "".join(f"{i} 4 100Gbps 1us 0\n" for i in range(4)) * 6
    with pytest.raises(topo.FormatError, match="t:1: the header says 20 links, there are 24 rows"):
        read_ns3(f"5 1 20\n4\n{rows}", "t")
    assert len(read_ns3(f"5 1 24\n4\n{rows}", "t").links) == 24


def test_the_header_of_simai() -> None:
    """nodes, GPUs a server, NVSwitches, switches, links, GPU type: 2 servers of 2 GPUs, a chip each, one switch."""
    rows = "0 4 2400Gbps 25ns 0\n1 4 2400Gbps 25ns 0\n2 5 2400Gbps 25ns 0\n3 5 2400Gbps 25ns 0\n"
    rows += "".join(f"{gpu} 6 200Gbps 500ns 0\n" for gpu in range(4))
    fabric = read_ns3(f"7 2 2 1 8 H100\n4 5 6\n{rows}", "t")
    assert len(fabric.endpoints) == 4
    assert Counter(fabric.links.kind.values().tolist()) == {"scale_up": 4, "access": 4}
    assert fabric.nodes.host.values(fabric.endpoints).tolist() == ["server-0", "server-0", "server-1", "server-1"]
    assert fabric.nodes.local_index[fabric.endpoints].tolist() == [0, 1, 0, 1]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("3 1 1\n2\n0 9 100Gbps 1us 0\n", "t:3: node 9 is beyond the 3 nodes"),
        ("3 1 1\n2\nhello\n", "t:3: 'hello' is no link"),
        ("3 2 1\n2\n0 2 100Gbps 1us 0\n", "t:2: the header says 2 switches, the second line lists 1"),
        ("3 1 1\n7\n0 2 100Gbps 1us 0\n", "t:2: .*each below 3"),
        ("hello\n", "t:1: the first line is 'hello'"),
        ("999999999 0 0\n\n", "t:1: 999,999,999 nodes, more than a file of this length can join"),
    ],
)
def test_files_of_ns3_that_are_wrong(text: str, said: str) -> None:
    with pytest.raises(topo.InputError, match=said):
        read_ns3(text, "t")


@pytest.mark.parametrize(
    ("shape", "counts", "links"),
    [
        ("[ Ring ]", "[ 5 ]", 5),
        ("[ Ring, Ring ]", "[ 2, 4 ]", 4 + 8),
        ("[ FullyConnected, Switch ]", "[ 4, 3 ]", 3 * 6 + 12),
        ("[ Switch ]", "[ 8 ]", 8),
        ("[ Ring, Ring, Ring ]", "[ 3, 3, 3 ]", 81),
    ],
)
def test_dimensions_of_astra_sim(shape: str, counts: str, links: int) -> None:
    n = shape.count(",") + 1
    fabric = read_astra(f"topology: {shape}\nnpus_count: {counts}\nbandwidth: [{', '.join(['50'] * n)}]\n", "t")
    assert len(fabric.links) == links
    assert set(fabric.links.capacity_gbps.tolist()) == {400.0}
    joined = nx.MultiGraph(zip(fabric.link_a.tolist(), fabric.link_b.tolist(), strict=True))
    assert nx.is_connected(joined)
    assert len(joined) == len(fabric.nodes)


def test_shapes_are_not_symmetric() -> None:
    two = [
        read_astra(f"topology: [ Ring, Switch ]\nnpus_count: {counts}\nbandwidth: [ 50, 25 ]\n")
        for counts in ("[ 2, 8 ]", "[ 8, 2 ]")
    ]
    assert [Counter(fabric.links.capacity_gbps.tolist()) for fabric in two] == [
        {400.0: 8, 200.0: 16},
        {400.0: 16, 200.0: 16},
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("topology: [ Ring ]\nnpus_count: [ 2, 2 ]\nbandwidth: [ 1 ]\n", "1 topologies, 2 counts, 1 bandwidths"),
        ("topology: [ Torus ]\nnpus_count: [ 2 ]\nbandwidth: [ 1 ]\n", "'Torus' is not known"),
        ("topology: [ Ring ]\nnpus_count: [ 0 ]\nbandwidth: [ 1 ]\n", "t:2: npus_count: '0' is no count"),
        ("topology: [ FullyConnected ]\nnpus_count: [ 99999 ]\nbandwidth: [ 1 ]\n", "links or so; at most"),
    ],
)
def test_networks_of_astra_sim_that_are_wrong(text: str, said: str) -> None:
    with pytest.raises(topo.FormatError, match=said):
        read_astra(text, "t")


# the rest


def test_a_logical_link_of_a_minigraph_is_no_cable() -> None:
    link = (
        "<StartDevice>a</StartDevice><StartPort>e0</StartPort><EndDevice>b</EndDevice><EndPort>e1</EndPort>"
        "<Bandwidth>40000</Bandwidth></DeviceLinkBase>"
    )
    text = (
        '<DeviceMiniGraph xmlns:i="x"><PngDec>'
        f'<DeviceLinkBase i:type="DeviceInterfaceLink">{link}<DeviceLinkBase i:type="LogicalLink">{link}'
        "</PngDec></DeviceMiniGraph>"
    )
    fabric = read_minigraph(text, "t")
    assert fabric.links.capacity_gbps.tolist() == [40.0]
    assert "t: logical link, not a cable; left out: a e0 b e1" in notes(fabric)
    with pytest.raises(topo.FormatError, match="no PngDec"):
        read_minigraph("<DeviceMiniGraph/>")


def test_netq_without_links_and_topograph_of_another_shape() -> None:
    with pytest.raises(topo.FormatError, match="no links in it"):
        read_netq("[]")
    with pytest.raises(topo.FormatError, match="t:1: switches: keys with values are wanted, this is a list of 1"):
        read_topograph("switches: [a]\nblocks: []\n", "t")
    with pytest.raises(topo.InputError, match="t:3: host list"):
        read_topograph("switches:\nblocks:\n- {switch: a, nodes: ['n[1']}\n", "t")


def test_rates_of_ibdm() -> None:
    fabric = read_ibnl("SW s1\n  P1 -4x-14G-> SW s2 P1\n  P2 -4x-> SW s2 P2\n  P3 -> HCA h P1\n", "t")
    np.testing.assert_array_equal(fabric.links.capacity_gbps, [56, np.nan, np.nan])
    assert "t:3: rate of an unknown kind: s1 port P2 - s2 port P2" in notes(fabric)


def test_yaml_of_other_tools_is_loaded_by_name(tmp_path: Path) -> None:
    """A YAML file that is no spec goes to its reader; a spec stays a spec."""
    path = tmp_path / "lab.clab.yml"
    path.write_text('topology:\n  links:\n  - endpoints: ["leaf1:e1", "client1:eth1"]\n')
    assert len(topo.load(str(path)).links) == 1
    with pytest.raises(topo.InputError, match="lab.clab.yml"):
        topo.load(str(path), format="spec")
