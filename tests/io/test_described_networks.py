"""Networks that a file describes by counts or slices: htsim, InfraGraph, SONiC's testbed."""

from __future__ import annotations

import json
from collections import Counter
from math import isnan

import pytest
import yaml
from format_samples import HTSIM, INFRAGRAPH, TESTBED

import topo
from topo.fabric import Fabric
from topo.io import fabric_of_text
from topo.io.htsim import read_htsim
from topo.io.infragraph import read_infragraph
from topo.io.sonic_testbed import read_testbed


def notes(fabric: Fabric) -> list[str]:
    return [str(note) for note in fabric.origin.notes]


def ends(fabric: Fabric) -> set[frozenset[str]]:
    nodes, ports = fabric.nodes, fabric.ports
    said = [f"{nodes.name[node]}:{label}" for node, label in zip(ports.node, ports.label.values(), strict=True)]
    return {frozenset({said[a], said[b]}) for a, b in zip(fabric.links.port_a, fabric.links.port_b, strict=True)}


def test_counts_of_an_htsim_tree_are_those_of_its_radixes() -> None:
    """8 nodes, leaves 2 down 2 up, spines 2 down 4 up, cores 4 down in bundles of 2: every port is used."""
    fabric = read_htsim(HTSIM)
    degree = Counter(fabric.ports.node.tolist())
    name = fabric.nodes.name.tolist()
    used = {kind: {degree[row] for row, each in enumerate(name) if each.startswith(kind)} for kind in KINDS}
    assert used == {"host": {1}, "leaf": {4}, "spine": {6}, "core": {4}}
    assert Counter(each.split("-")[0] for each in name) == {"host": 8, "leaf": 4, "spine": 4, "core": 4}
    assert Counter(fabric.links.capacity_gbps.tolist()) == {200.0: 8 + 8, 100.0: 16}


KINDS = ("host", "leaf", "spine", "core")


def test_an_htsim_tree_is_our_own_fat_tree() -> None:
    """k = 4: 16 hosts, radix 4 throughout; the same counts and the same even cut as the builder's."""
    tier = "Downlink_speed_Gbps 400\nRadix_Down 2\nRadix_Up 2\n"
    text = f"Nodes 16\nTiers 3\nPodsize 4\nTier 0\n{tier}Tier 1\n{tier}Tier 2\nDownlink_speed_Gbps 400\nRadix_Down 4\n"
    ours, theirs = topo.fat_tree(4), read_htsim(text)
    for fabric in (ours, theirs):
        assert (len(fabric.endpoints), len(fabric.switches), len(fabric.links)) == (16, 20, 48)
    degrees = [sorted(Counter(fabric.ports.node.tolist()).values()) for fabric in (ours, theirs)]
    assert degrees[0] == degrees[1]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("Nodes 8", "Nodes 9", "Nodes 9 is no multiple of 4, a pod"),
        ("Podsize 4", "Podsize 3", "Nodes 8 is no multiple of 3"),
        ("Radix_Up 4", "Radix_Up 3", "tier 1: Radix_Up 3 is no multiple of Bundle 2 of tier 2"),
        ("Radix_Down 4", "Radix_Down 6", "tier 2: Radix_Down 6 against 4, 2 pods times Bundle 2"),
        ("Tiers 3", "Tiers 2", "Tiers 2, but there is a tier '2'"),
        ("Tier 2", "Tier 1", ":18: tier 1 stands there twice"),
        ("Nodes 8", "Nodes 99999999", "1 to 1,000,000 nodes"),
        ("Radix_Down 4\n", "", "tier 2: radix_down is not stated"),
    ],
)
def test_htsim_counts_that_do_not_fit(old: str, new: str, said: str) -> None:
    with pytest.raises(topo.FormatError, match=said.replace("(", r"\(")):
        read_htsim(HTSIM.replace(old, new), "t")


def test_slices_and_schemes_of_infragraph() -> None:
    fabric = read_infragraph(INFRAGRAPH, "i.yaml")
    assert ends(fabric) == {
        frozenset({"host.0:nic.0", "leaf.0:port.0"}),
        frozenset({"host.1:nic.0", "leaf.0:port.1"}),
        frozenset({"host.0:nic.1", "leaf.1:port.0"}),
        frozenset({"host.1:nic.1", "leaf.1:port.4"}),
        frozenset({"leaf.0:port.7", "leaf.1:port.7"}),
    }
    rates = fabric.links.capacity_gbps
    assert rates[:4].tolist() == [400.0] * 4  # 50 GB/s
    assert isnan(rates[4])
    assert "i.yaml: 1 edge(s) inside devices are not kept: a device is one node" in notes(fabric)


def test_infragraph_as_json_is_the_same() -> None:
    text = json.dumps(yaml.safe_load(INFRAGRAPH))
    assert ends(fabric_of_text(text, "i.json")) == ends(read_infragraph(INFRAGRAPH))


def test_many_to_many_joins_each_with_each() -> None:
    text = INFRAGRAPH.replace(
        'ep2: {instance: "leaf[0]", component: "port[0:2]"}\n  link: eth\n  scheme: one2one',
        ('ep2: {instance: "leaf[0]", component: "port[0:2]"}\n  link: eth\n  scheme: many2many'),
    )
    assert len(read_infragraph(text).links) == 4 + 2 + 1


def test_dotted_connections_of_earlier_versions() -> None:
    text = """
devices: [{name: srv, components: [{name: nic, type: nic, count: 2}, {name: xpu, type: xpu, count: 1}]},
          {name: sw, components: [{name: port, type: custom, count: 8}]}]
instances: [{name: host, count: 2, device: srv}, {name: su, count: 1, device: sw}]
links: [{name: eth, bandwidth: {choice: giga_bytes_per_second, giga_bytes_per_second: 400}}]
connections: [host.0.nic.0.eth.su.0.port.0, host.1.nic.0.eth.su.0.port.1]
"""
    fabric = read_infragraph(text)
    assert ends(fabric) == {frozenset({"host.0:nic.0", "su:port.0"}), frozenset({"host.1:nic.0", "su:port.1"})}
    assert fabric.links.capacity_gbps.tolist() == [3200.0, 3200.0]
    assert fabric.nodes.kind.values().tolist() == ["host", "host", "switch"]


def test_edges_of_unknown_names_and_reach_are_located() -> None:
    text = INFRAGRAPH.replace('"leaf[1]", component: "port[7]"', '"leaf[2]", component: "port[7]"')
    fabric = read_infragraph(text, "i.yaml")
    assert len(fabric.links) == 4
    assert any("edge without two ends that are there" in note and "i.yaml:2" in note for note in notes(fabric))


def test_lists_of_different_lengths_are_told() -> None:
    fabric = read_infragraph(INFRAGRAPH.replace("port[0:2]", "port[0:3]"), "i")
    assert len(fabric.links) == 5
    assert any(
        "one2one with lists of different lengths: 2 and 3; the first 2 are joined" in note for note in notes(fabric)
    )


@pytest.mark.parametrize("old", ["count: 2}\n- {name: leaf", "name: xpu, count: 2"])
def test_counts_are_bounded(old: str) -> None:
    with pytest.raises(topo.FormatError):
        read_infragraph(INFRAGRAPH.replace("device: server, count: 2", f"device: server, count: {10**9}"), "i")


def test_ports_of_the_switch_under_test() -> None:
    fabric = read_testbed(TESTBED, "t.yml")
    expected = {frozenset({f"dut:{i}", f"ptf eth{i}:1"}) for i in range(4)}
    expected |= {
        frozenset({"dut:28", "ARISTA01T1:Ethernet1"}),
        frozenset({"dut:29", "ARISTA01T1:Ethernet2"}),
        frozenset({"dut:30", "ARISTA02T1:Ethernet1"}),
    }
    assert ends(fabric) == expected


def test_a_testbed_of_two_switches() -> None:
    text = """
topology:
  VMs:
    ARISTA01T2: {vlans: [0.1@1, 1.1@8], vm_offset: 0}
  devices_interconnect_interfaces:
    - a
"""
    fabric = read_testbed(text.replace("    - a", '    "0": ["0.30", "1.30"]'))
    assert ends(fabric) == {
        frozenset({"dut-0:1", "ARISTA01T2:Ethernet1"}),
        frozenset({"dut-1:1", "ARISTA01T2:Ethernet2"}),
        frozenset({"dut-0:30", "dut-1:30"}),
    }


def test_a_port_that_yaml_takes_for_a_number_is_told() -> None:
    """0.30 arrives as 0.3: port 3 or port 30 of device 0, nobody knows."""
    fabric = read_testbed(TESTBED.replace("vlans: [30]", "vlans: [0.30]"), "t.yml")
    assert len(fabric.links) == 6
    assert "t.yml:7: entry that is no port of the switch: '0.3'" in notes(fabric)


@pytest.mark.parametrize("text", ["topology: {VMs: {}}", "topology: 3", "a: 1"])
def test_no_testbed(text: str) -> None:
    with pytest.raises(topo.FormatError):
        read_testbed(text, "t")
