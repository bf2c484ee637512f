"""Written files keep the rules of the tools that own them: columns, sizes, names, trees; by other means than ours."""

from __future__ import annotations

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Any

import networkx as nx
import numpy as np
import pytest
import yaml
from defusedxml import ElementTree
from hypothesis import HealthCheck, given, settings
from odd_fabrics import Case, cases

import topo
from topo.fabric import Fabric
from topo.io import FORMATS
from topo.io.hostlist import expand_hosts
from topo.table import Labels

WRITERS = {row.name: row for row in FORMATS if row.writer}
SOME = settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
SWITCHED = ("leaf-spine", "fat tree", "rails", "dragonfly")


def text_of(format: str, fabric: Fabric) -> str | None:
    """The file, None where the writer refuses the fabric."""
    try:
        return WRITERS[format].write(fabric).data().decode("utf-8")
    except (topo.ParameterError, topo.InputError):
        return None


# NetBox: the form for the import of cables


@SOME
@given(cases())
def test_netbox_rows_fit_the_form(case: Case) -> None:
    try:
        written = WRITERS["netbox"].write(case.fabric)
    except topo.ParameterError:
        return
    text = written.data().decode("utf-8")
    rows = list(csv.DictReader(io.StringIO(text)))
    sides = {f"side_{side}_{what}" for side in "ab" for what in ("device", "type", "name")}
    assert sides <= rows[0].keys() <= sides | {"status", "label", "length", "length_unit"}
    ends = Counter[tuple[str, str]]()
    for row in rows:
        assert row["side_a_type"] == row["side_b_type"] == "dcim.interface"
        assert row["status"] in ("connected", "planned", "decommissioning")
        assert len(row["label"]) <= 100
        assert (row["length_unit"] == "m") == bool(row["length"]) and row["length_unit"] in ("m", "")
        assert re.fullmatch(r"(\d{1,6}(\.\d{1,2})?)?", row["length"])  # eight digits, two of them decimals
        for side in "ab":
            end = row[f"side_{side}_device"], row[f"side_{side}_name"]
            assert all(end)
            ends[end] += 1
    listed = sum("," in name for _, name in ends)  # several interfaces, in newer forms
    assert listed == sum(int(part.split()[0]) for part in written.lost if "have a comma" in part)
    used = np.concatenate([case.fabric.links.port_a, case.fabric.links.port_b])
    if np.bincount(used).max() == 1:
        assert max(ends.values()) == 1  # an interface takes one cable


# NVIDIA Air


@SOME
@given(cases())
def test_air_names_are_those_of_machines_and_interfaces(case: Case) -> None:
    content = json.loads(text_of("air", case.fabric) or "")["content"]
    ends = Counter((end["node"], end["interface"]) for link in content["links"] for end in link)
    assert all(len(link) == 2 for link in content["links"])
    assert {node for node, _ in ends} <= content["nodes"].keys()
    assert all(said["os"] for said in content["nodes"].values())
    for name in content["nodes"]:
        assert re.fullmatch(r"[A-Za-z0-9_.-]+", name), name
    for node, interface in ends:
        assert re.fullmatch(r"[A-Za-z0-9_.-]{1,15}", interface), interface
        if content["nodes"][node]["function"] == "switch":
            assert not interface.isdecimal()
    assert max(ends.values(), default=1) == 1 or "bcube" in case.fabric.name.lower()


def test_ports_of_air_switches_are_numbered_swp() -> None:
    text = text_of("air", topo.leaf_spine(leaves=2, spines=1, hosts_per_leaf=2))
    links = json.loads(text or "")["content"]["links"]
    assert [end["interface"] for end in links[0]] == ["1", "swp1"]


# Schedulers: trees and blocks


def slurm_tree(text: str) -> dict[str, dict[str, list[str]]]:
    lines = [dict(word.partition("=")[::2] for word in line.split()) for line in text.splitlines()]
    return {
        line["SwitchName"]: {
            "children": expand_hosts(line["Switches"]) if "Switches" in line else [],
            "hosts": expand_hosts(line["Nodes"]) if "Nodes" in line else [],
        }
        for line in lines
    }


def test_a_switch_that_is_renamed_takes_no_hosts_name() -> None:
    fabric = topo.leaf_spine(leaves=2, spines=1, hosts_per_leaf=2)
    odd = {"leaf-1": ";", "host-1": "switch", "host-3": "switch-2"}
    names = np.array([odd.get(name, name) for name in fabric.nodes.name.tolist()])
    hosts = fabric.nodes.host
    called = Labels(hosts.codes, [odd.get(name, name) for name in hosts.labels.tolist()])
    text = text_of("slurm-topology", replace(fabric, nodes=replace(fabric.nodes, name=names, host=called)))
    assert slurm_tree(text or "")["switch-3"]["hosts"] == ["host-2", "switch"]


def yaml_tree(text: str) -> dict[str, dict[str, list[str]]]:
    (tree,) = [each for each in yaml.safe_load(text) if each["cluster_default"]]
    return {
        each["switch"]: {key: expand_hosts(each[word]) if word in each else []
                         for key, word in (("children", "children"), ("hosts", "nodes"))}
        for each in tree["tree"]["switches"]
    }  # fmt: skip


def topograph_tree(text: str) -> dict[str, dict[str, list[str]]]:
    said = yaml.safe_load(text)
    tree = {name: {"children": each["switches"], "hosts": []} for name, each in said["switches"].items()}
    for block in said["blocks"]:
        tree.setdefault(block["switch"], {"children": [], "hosts": []})["hosts"] += expand_hosts(
            ",".join(block["nodes"])
        )
    return tree


TREES: dict[str, Callable[[str], dict[str, dict[str, list[str]]]]] = {
    "slurm-topology": slurm_tree,
    "slurm-yaml": yaml_tree,
    "topograph": topograph_tree,
}


@pytest.mark.parametrize("format", TREES)
@SOME
@given(case=cases(SWITCHED))
def test_every_child_is_defined_no_switch_is_empty_and_every_tier_is_there(format: str, case: Case) -> None:
    fabric = case.fabric
    text = text_of(format, fabric)
    if text is None:
        return
    tree = TREES[format](text)
    children = [child for said in tree.values() for child in said["children"]]
    hosts = [host for said in tree.values() for host in said["hosts"]]
    assert set(children) <= tree.keys()
    assert len(children) == len(set(children)) and len(hosts) == len(set(hosts))
    assert all(bool(said["children"]) != bool(said["hosts"]) for said in tree.values())  # the one or the other

    def height(name: str) -> int:
        return 1 + max((height(child) for child in tree[name]["children"]), default=0)

    tops = tree.keys() - set(children)
    tiers = set(fabric.nodes.tier[fabric.switches].tolist())
    assert max(map(height, tops)) == len(tiers)
    graph = nx.Graph(list(zip(fabric.link_a.tolist(), fabric.link_b.tolist(), strict=True)))
    assert len(tops) == nx.number_connected_components(graph)  # a forest where no switch is common
    assert not re.search(r"[\s,\[\]]", "".join(tree))


@pytest.mark.parametrize("format", TREES)
def test_pieces_without_a_common_switch_are_a_forest_of_whole_trees(format: str) -> None:
    fabric = topo.fat_tree(4).without(nodes="core-*")
    tree = TREES[format](text_of(format, fabric) or "")
    children = {child for said in tree.values() for child in said["children"]}
    tops = tree.keys() - children
    assert len(tops) == 4 and all(len(tree[top]["children"]) == 2 for top in tops)
    assert len(tree) == 12


def test_block_sizes_are_positive_multiples_of_the_least_and_no_larger_than_there_are_hosts() -> None:
    for name in ("nvidia-superpod-gb200-2su-nvl72", "nvidia-gb200-nvl72"):
        if name not in topo.catalog():
            continue
        lines = (text_of("slurm-block", topo.load(name)) or "").splitlines()
        blocks = [len(expand_hosts(line.partition("Nodes=")[2])) for line in lines if line.startswith("BlockName=")]
        sizes = [int(size) for size in lines[-1].removeprefix("BlockSizes=").split(",")]
        assert sizes[0] == min(blocks) > 0
        assert all(later == 2 * size for size, later in pairwise(sizes))
        assert sizes[-1] <= sum(blocks)


def test_domains_of_unequal_size_start_with_the_smallest() -> None:
    fabric = topo.load("nvidia-superpod-gb200-2su-nvl72").without(nodes="gb200-nvl72-03-host-0*")
    lines = (text_of("slurm-block", fabric) or "").splitlines()
    assert lines[-1] == "BlockSizes=9,18,36,72,144"


@SOME
@given(cases(SWITCHED))
def test_kubernetes_takes_every_name_and_label(case: Case) -> None:
    text = text_of("kubernetes", case.fabric)
    if text is None:
        return
    items = json.loads(text)["items"]
    assert len({item["metadata"]["name"] for item in items}) == len(items)
    for item in items:
        assert (item["apiVersion"], item["kind"]) == ("v1", "Node")
        part = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
        name = item["metadata"]["name"]
        assert re.fullmatch(rf"{part}(\.{part})*", name) and len(name) <= 253
        for key, value in item["metadata"]["labels"].items():
            prefix, _, label = key.partition("/")
            assert re.fullmatch(r"[a-z0-9.]+", prefix) and label
            assert re.fullmatch(r"[A-Za-z0-9]([A-Za-z0-9_.-]*[A-Za-z0-9])?", value) and len(value) <= 63


def test_hosts_in_capitals_are_nodes_in_small_letters_and_clashes_are_refused() -> None:
    rows = "leaf,1,{},HCA-1\nleaf,2,{},HCA-1\n"

    def written(one: str, two: str) -> topo.io.written.Written:
        text = f"A-Node,A-Port,Z-Node,Z-Port\n{rows.format(one, two)}"
        return WRITERS["kubernetes"].write(topo.io.fabric_of_text(text, "t", hosts=[one, two]))

    good = written("NODE-1", "node-2")
    assert [item["metadata"]["name"] for item in json.loads(str(good.content))["items"]] == ["node-1", "node-2"]
    assert "1 names of hosts in capitals, which nodes have not" in good.lost
    with pytest.raises(topo.ParameterError, match="'NODE-1' and 'node-1' would be one node"):
        written("NODE-1", "node-1")
    with pytest.raises(topo.ParameterError, match="no node of Kubernetes can be named 'node_1'"):
        written("node_1", "node-2")


# Simulators


@pytest.mark.parametrize("format", ["ns-3", "simai"])
@SOME
@given(case=cases())
def test_headers_of_simulators_count_what_follows(format: str, case: Case) -> None:
    text = text_of(format, case.fabric)
    if text is None:
        return
    lines = text.splitlines()
    head = lines[0].split()
    ids = [int(word) for word in lines[1].split()]
    n_nodes, n_links = int(head[0]), int(head[4] if format == "simai" else head[2])
    assert len(head) == (6 if format == "simai" else 3)
    assert len(ids) == (int(head[2]) + int(head[3]) if format == "simai" else int(head[1]))
    assert ids == list(range(n_nodes - len(ids), n_nodes))
    assert len(lines) == 2 + n_links
    used = set[int]()
    for line in lines[2:]:
        a, b, rate, latency, loss = line.split()
        assert re.fullmatch(r"\d+(\.\d+)?Gbps", rate) and re.fullmatch(r"\d+\.\d+ms", latency) and loss == "0"
        used |= {int(a), int(b)}
    assert max(used) < n_nodes


@SOME
@given(cases())
def test_astra_lists_are_of_one_length(case: Case) -> None:
    text = text_of("astra-sim", case.fabric)
    if text is None:
        return
    said = yaml.safe_load(text)
    assert list(said) == ["topology", "npus_count", "bandwidth", "latency"]
    assert len({len(each) for each in said.values()}) == 1
    assert set(said["topology"]) <= {"Ring", "FullyConnected", "Switch"}
    assert all(isinstance(count, int) and count >= 1 for count in said["npus_count"])
    assert all(each > 0 for each in said["bandwidth"])
    assert np.prod(said["npus_count"]) == len(case.fabric.endpoints)


# Graphs, and the inside of a host


@SOME
@given(cases())
def test_graphml_is_well_formed_and_declares_its_keys(case: Case) -> None:
    root = ElementTree.fromstring(text_of("graphml", case.fabric) or "")
    space = "{http://graphml.graphdrawing.org/xmlns}"
    keys = {key.get("id"): key.get("for") for key in root.iter(f"{space}key")}
    for what in ("node", "edge"):
        found = list(root.iter(f"{space}{what}"))
        assert len({each.get("id") for each in found}) == len(found)  # every id once
        assert {keys[data.get("key")] for each in found for data in each} <= {what}
    assert len(list(root.iter(f"{space}edge"))) == len(case.fabric.links)


@SOME
@given(cases())
def test_dot_holds_statements_of_quoted_names_alone(case: Case) -> None:
    text = text_of("dot", case.fabric) or ""
    word = r'"(?:[^"\\\n]|\\.)*"'
    cell = r"<tr><td[^<>]*>[^<>]*</td>(?:<td[^<>]*>[^<>]*</td>)*</tr>"
    attributes = rf" \[(?:label=<<table>(?:{cell})+</table>>|\w+={word})?(?:, \w+={word})*\];"
    first, plain, *rest = text.splitlines()
    assert plain == '  node [shape="plain"];'
    assert re.fullmatch(rf"graph {word} {{", first) and rest[-1] == "}"
    edges = [line for line in rest[:-1] if " -- " in re.sub(word, "x", line)]
    for line in rest[:-1]:
        assert re.fullmatch(rf"  {word}{attributes}|  {word}:{word} -- {word}:{word}{attributes}", line), line
    assert (len(edges), len(rest) - 1 - len(edges)) == (len(case.fabric.links), len(case.fabric.nodes))


@pytest.mark.parametrize("name", ["dgx-h100", "dgx-a100", "dgx-b200"])
def test_nccl_has_what_its_parser_looks_up(name: str) -> None:
    root = ElementTree.fromstring(text_of("nccl", topo.server(name, inside=True)) or "")
    assert root.tag == "system" and root.get("version") == "1"
    wanted: dict[str, tuple[str, ...]] = {
        "cpu": ("numaid", "arch", "vendor"),
        "pci": ("busid", "class", "link_speed", "link_width"),
        "gpu": ("dev", "sm"),
        "net": ("name", "dev", "speed", "port"),
        "nvlink": ("target", "count", "tclass"),
    }
    inside = {"cpu": "system", "pci": "cpu pci", "gpu": "pci", "nic": "pci cpu", "net": "nic", "nvlink": "gpu"}
    parents = {child: parent for parent in root.iter() for child in parent}
    buses = []
    for element in list(root.iter())[1:]:
        assert parents[element].tag in inside[element.tag].split()
        assert all(element.get(key) for key in wanted.get(element.tag, ())), (element.tag, element.attrib)
        if element.tag == "pci":
            assert re.fullmatch(r"[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-9a-f]", element.get("busid") or "")
            assert re.fullmatch(r"(2\.5|5\.0|8\.0|16\.0|32\.0|64\.0) GT/s PCIe", element.get("link_speed") or "")
            assert element.get("link_width") in ("1", "2", "4", "8", "16")
            buses.append(element.get("busid"))
    assert len(buses) == len(set(buses))


# What a schedule's cells may hold


@pytest.mark.parametrize("format", ["schedule", "netbox"])
@SOME
@given(case=cases())
def test_tables_are_of_one_width_and_no_cell_acts(format: str, case: Case) -> None:
    rows = list(csv.reader(io.StringIO(text_of(format, case.fabric) or "")))
    cells: list[Any] = [cell for row in rows for cell in row]
    assert len({len(row) for row in rows}) <= 1
    assert all(cell.isprintable() and cell[:1] not in "=+-@" for cell in cells if cell)
