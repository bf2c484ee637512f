"""What switches print of their LLDP neighbours: every spelling says the same, and the traps of each."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from format_samples import OTHER_LLDP

import topo
from topo.fabric import Fabric
from topo.io import fabric_of_text
from topo.io.lldp import read_lldp_files


def ends(fabric: Fabric) -> set[frozenset[str]]:
    nodes, ports = fabric.nodes, fabric.ports
    said = [f"{nodes.name[node]}:{label}" for node, label in zip(ports.node, ports.label.values(), strict=True)]
    return {frozenset({said[a], said[b]}) for a, b in zip(fabric.links.port_a, fabric.links.port_b, strict=True)}


def notes(fabric: Fabric) -> list[str]:
    return [str(note) for note in fabric.origin.notes]


def of(*files: tuple[str, str]) -> Fabric:
    return read_lldp_files([(text, name) for name, text in files])


EXPECTED = {
    "IOS": {
        ("leaf-1:Gi1/0/1", "spine-1.local.domain:17"),
        ("leaf-1:Gi1/0/2", "spine-2:Gi0/2"),
        ("leaf-1:Gi1/0/3", "480f.cf28.8a1b:480f.cf28.8a1b"),
    },
    "NX-OS": {
        ("leaf-1:Eth1/1", "spine-1.with.a.long.name:Eth1/17"),
        ("leaf-1:Eth1/2", "spine-2.pod.local:Eth1/18"),
        ("leaf-1:Eth1/3", "server-1:ens1f0"),
    },
    "EOS": {("leaf-1:Et1", "spine-1:Ethernet7"), ("leaf-1:Et2", "server-1:0011.2233.4455")},
    "EOS detail": {("leaf-1:Ethernet1", "server-1:ens1f0"), ("leaf-1:Ethernet1", "spine-1.company.com:Ethernet2")},
    "NX-OS detail": {("leaf-1:Eth1/1", "spine-1:Ethernet1/7"), ("leaf-1:Eth1/2", "server-1:ens1f0")},
    "SONiC table": {("leaf-1:Ethernet0", "spine-1:Ethernet7"), ("leaf-1:Ethernet4", "server-1:ens1f0")},
    "lldpctl": {("leaf-1:Ethernet0", "spine-1:Ethernet7"), ("leaf-1:Ethernet4", "server-1:ens1f0")},
    "lldpctl XML": {("leaf-1:Ethernet0", "spine-1:Ethernet7"), ("leaf-1:Ethernet4", "00:11:22:33:44:55:ens1f0")},
}


@pytest.mark.parametrize("which", EXPECTED)
def test_every_spelling(which: str) -> None:
    fabric = of(("leaf-1.txt", OTHER_LLDP[which]))
    assert ends(fabric) == {frozenset(pair) for pair in EXPECTED[which]}
    assert set(fabric.links.evidence.values().tolist()) == {"one end"}
    assert not any("not understood" in note for note in notes(fabric))


def test_two_switches_of_two_vendors_meet() -> None:
    leaf = "leaf-1#show lldp neighbors\nDevice ID           Local Intf     Hold-time  Capability      Port ID\n"
    leaf += "spine-1.pod.local   Et1            120        B,R             Ethernet7\n"
    spine = "Port          Neighbor Device ID       Neighbor Port ID    TTL\n"
    spine += "Et7           leaf-1.example.com       Eth1                120\n"
    fabric = of(("a.txt", leaf), ("spine-1.txt", spine))
    assert ends(fabric) == {frozenset({"leaf-1:Et1", "spine-1:Et7"})}
    assert fabric.links.evidence.values().tolist() == ["both ends"]


def test_a_name_cut_by_its_column_meets_the_device_that_begins_so() -> None:
    ios = OTHER_LLDP["IOS"]
    far = json.dumps({"17": [{"hostname": "leaf-1", "port": "Gi1/0/1"}]})
    fabric = of(("leaf-1.txt", ios), ("x", json.dumps({"spine-1.local.domain.com": json.loads(far)})))
    assert frozenset({"leaf-1:Gi1/0/1", "spine-1.local.domain.com:17"}) in ends(fabric)
    assert any("name cut short, taken for the device that begins so" in note for note in notes(fabric))
    alone = of(("leaf-1.txt", ios))
    assert any("leaf-1.txt:6: name as long as its column" in note for note in notes(alone))


def test_a_cut_name_that_begins_two_devices_stays_apart() -> None:
    two = {"spine-1.local.domain1": {"1": []}, "spine-1.local.domain2": {"1": []}}
    fabric = of(("leaf-1.txt", OTHER_LLDP["IOS"]), ("x", json.dumps(two)))
    assert "spine-1.local.domain" in fabric.nodes.name.tolist()


def test_two_neighbours_on_one_port_are_told_once_and_kept() -> None:
    fabric = of(("leaf-1.txt", OTHER_LLDP["EOS detail"]))
    said = [note for note in notes(fabric) if "ambiguous" in note]
    assert len(fabric.links) == 2
    assert len(said) == 1
    assert "leaf-1 port Ethernet1" in said[0]


def test_a_port_told_by_its_mac_goes_by_its_description() -> None:
    fabric = of(("leaf-1.txt", OTHER_LLDP["SONiC table"]))
    assert any("told by its MAC address; its description is taken: server-1" in note for note in notes(fabric))


def test_a_description_finds_the_port_that_the_far_end_lists() -> None:
    leaf = {"interface": {"swp1": {"chassis": {"s1": {}}, "port": {"id": {"value": "etp7"}, "descr": "Ethernet24"}}}}
    spine = {"Ethernet24": [{"hostname": "l1", "port": "swp1"}]}
    fabric = of(("l1.json", json.dumps({"lldp": leaf})), ("s1.json", json.dumps(spine)))
    assert ends(fabric) == {frozenset({"l1:swp1", "s1:Ethernet24"})}
    assert any("found by its description" in note for note in notes(fabric))


def test_several_devices_in_one_log() -> None:
    fabric = fabric_of_text(OTHER_LLDP["EOS"] + OTHER_LLDP["SONiC table"].replace("leaf-1", "leaf-2"), "session.log")
    assert {"leaf-1", "leaf-2"} <= set(fabric.nodes.name.tolist())


def test_two_macs_on_one_port_of_lldpctl() -> None:
    text = OTHER_LLDP["lldpctl XML"].replace('name="Ethernet4"', 'name="Ethernet0"')
    fabric = of(("leaf-1.xml", text))
    assert len(fabric.links) == 2
    assert sum("ambiguous" in note for note in notes(fabric)) == 1


def test_odd_rows_are_located_and_the_others_read() -> None:
    text = OTHER_LLDP["EOS"].replace("Et2 ", "%% Error: no such\nEt2 ")
    fabric = of(("leaf-1.txt", text))
    assert len(fabric.links) == 2
    assert any("leaf-1.txt:6: line not understood" in note for note in notes(fabric))


@pytest.mark.parametrize(
    "text",
    ["<lldp/>", "<other/>", "leaf-1#show lldp neighbors\n", "Device ID  Local Intf\n", "{}", "Chassis id:\nPort id:\n"],
)
def test_nothing_heard_is_an_error(text: str) -> None:
    with pytest.raises(topo.TopoError) as caught:
        fabric_of_text(text, "t", format="lldp")
    assert "\n" not in str(caught.value)


def test_entities_are_refused() -> None:
    text = '<!DOCTYPE lldp [<!ENTITY a "b">]><lldp><interface name="&a;"/></lldp>'
    with pytest.raises(topo.InputError, match="entities"):
        fabric_of_text(text, "t", format="lldp")


def test_text_and_detail_of_one_real_switch_agree(shared_data: Path) -> None:
    """Both outputs of one IOS device name the same fourteen ports of neighbours."""
    start = "lldp/napalm_ios__inconsistent_domain_name__show_lldp_neighbors"
    said = []
    for end in (".txt", "_detail.txt"):
        fabric = topo.read(shared_data / f"{start}{end}")
        far = [(str(fabric.nodes.name[node]).split(".")[0], label) for node, label in far_ends(fabric)]
        said.append(sorted(far))
    assert said[0] == said[1]
    assert len(said[0]) == 14


def far_ends(fabric: Fabric) -> list[tuple[int, str]]:
    ports = fabric.ports
    return [(int(ports.node[port]), ports.label[int(port)]) for port in fabric.links.port_b]


def test_a_real_name_cut_at_twenty_characters(shared_data: Path) -> None:
    fabric = topo.read(shared_data / "lldp/napalm_ios__long_names__show_lldp_neighbors.txt")
    assert fabric.nodes.name.tolist()[1:] == ["twb-sf-hpsw1.local.d", "twb-sf-hpsw2"]
    assert set(fabric.ports.label.values().tolist()) == {"Gi1", "17", "Gi2", "18"}
