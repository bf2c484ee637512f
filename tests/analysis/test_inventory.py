"""Counts against closed forms, published tables, hand-made fabrics and real dumps."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import numpy as np
import pytest

import topo
from topo.analysis.collisions.set_parts import SetParts
from topo.analysis.inventory import inventory
from topo.build.assembly import Assembly
from topo.fabric import FORWARDS_NOTHING, Fabric, LinkTable, NodeTable, PortTable, State
from topo.routing.next_hops import NextHops
from topo.table import Labels


@pytest.mark.parametrize("k", [2, 4, 8, 24, 48])
def test_fat_tree(k: int) -> None:
    found = inventory(topo.fat_tree(k, link_gbps=100))
    assert found.n_endpoints == found.n_hosts == found.n_host_links == k**3 // 4
    assert found.n_switches == 5 * k * k // 4
    assert found.n_links == found.n_carrying_links == found.n_cables == 3 * k**3 // 4
    assert found.n_fabric_links == k**3 // 2
    assert [(g.tier_name, g.n_switches, g.n_used_ports) for g in found.switch_groups] == [
        ("leaf", k * k // 2, k**3 // 2),
        ("spine", k * k // 2, k**3 // 2),
        ("core", k * k // 4, k**3 // 4),
    ]
    assert [(p.lower, p.upper, p.n_links) for p in found.tier_pairs] == [
        ("endpoint", "leaf", k**3 // 4),
        ("leaf", "spine", k**3 // 4),
        ("spine", "core", k**3 // 4),
    ]
    assert found.injection_gbps == 100 * k**3 / 4
    assert found.component_sizes == (k**3 // 4,)
    assert found.paths.diameter_hops == 6
    assert found.notes == ()


@pytest.mark.parametrize(
    ("units", "nodes", "leaf", "spine", "leaf_spine_links"),
    [(1, 31, 8, 4, 256), (2, 63, 16, 8, 512), (3, 95, 24, 16, 768), (4, 127, 32, 16, 1024)],
)
def test_h100_reference_table(units: int, nodes: int, leaf: int, spine: int, leaf_spine_links: int) -> None:
    """DGX SuperPOD H100 reference architecture: one node short for the fabric managers."""
    found = inventory(topo.rail_optimized(nodes, managers=2))
    assert (found.n_hosts, found.n_endpoints) == (nodes, 8 * nodes)
    assert [g.n_switches for g in found.switch_groups] == [leaf, spine]
    assert found.n_host_links + found.n_other_links["management"] == 8 * nodes + 4
    assert found.tier_pairs[-1].n_links == leaf_spine_links
    assert found.tier_pairs[-1].capacity_gbps == leaf_spine_links * 400


@pytest.mark.parametrize(
    ("units", "nodes", "counts", "links"),
    [(16, 512, [128, 128, 64], 4096), (32, 1024, [256, 256, 128], 8192), (64, 2048, [512, 512, 256], 16384)],
)
def test_b200_three_tier_table(units: int, nodes: int, counts: list[int], links: int) -> None:
    found = inventory(topo.rail_optimized(nodes, tiers=3, spine_groups=units // 4))
    assert [g.n_switches for g in found.switch_groups] == counts
    assert [p.n_links for p in found.tier_pairs] == [links] * 3
    assert found.n_free_ports == 0
    assert [g.port_gbps for g in found.switch_groups] == [400.0] * 3


def test_free_ports_and_parts() -> None:
    assembly = Assembly("parts")
    big = assembly.add_nodes(["a", "b"], kind="switch", tier=1, radix=8, port_gbps=400, part="big")
    assembly.add_nodes(["c"], kind="switch", tier=1, radix=4, port_gbps=100, part="small")
    host = assembly.add_nodes(["h"], kind="host", is_endpoint=True, forwards=FORWARDS_NOTHING)
    assembly.connect(host, big[:1], 200, kind="access")
    found = inventory(assembly.finish())
    groups = {g.part: g for g in found.switch_groups}
    assert (groups["big"].n_ports, groups["big"].n_used_ports, groups["big"].n_free_ports) == (16, 1, 15)
    assert (groups["small"].n_used_ports, groups["small"].port_gbps) == (0, 100)
    assert groups["big"].port_gbps == 400
    assert (found.n_used_ports, found.n_free_ports) == (1, 19)


def odd_fabric() -> Fabric:
    """Two switches, two hosts of which one has no host label, a loopback cable, a one-sided link, a breakout."""
    return Fabric(
        "odd",
        NodeTable(
            name=["leaf", "spine", "h1", "h2"],
            kind=Labels.of(["switch", "switch", "host", "host"]),
            tier=[1, 2, 0, 0],
            is_endpoint=[False, False, True, True],
            forwards=[2, 2, 0, 0],
            host=Labels.of([None, None, "one", None]),
        ),
        PortTable(node=[0, 0, 0, 0, 0, 0, 1, 1, 1, 2, 3, 2], label=Labels.of([str(i) for i in range(12)])),
        LinkTable(
            port_a=[9, 10, 0, 1, 2, 4, 11],
            port_b=[3, 5, 6, 7, 8, 1, 4],
            capacity_gbps=[100, 100, 50, 50, np.nan, 10, 1],
            kind=Labels.of(["access", "access", *["scale_out"] * 4, "storage"]),
            cable=[-1, -1, 7, 7, -1, -1, -1],
            evidence=Labels.of([*["both ends"] * 4, "one end", "both ends", "both ends"]),
        ),
    )


def test_loopbacks_one_sided_links_breakouts_and_other_kinds() -> None:
    found = inventory(odd_fabric())
    assert (found.n_links, found.n_carrying_links) == (6, 4)
    assert (found.n_loopback_links, found.n_one_sided_links) == (1, 1)
    assert found.n_cables == 5
    assert found.n_other_links == {"storage": 1}
    assert found.n_hosts == 2
    assert (found.n_host_links, found.n_fabric_links, found.n_service_links) == (2, 2, 0)
    assert found.injection_gbps == 200
    assert found.n_unknown_rates == 0
    assert "storage links, not looked at" in str(found)
    storage = inventory(odd_fabric(), kinds=["storage"])
    assert (storage.n_links, storage.n_other_links) == (1, {"access": 2, "scale_out": 4})
    assert storage.n_unattached_endpoints == 1


def test_unknown_rates_leave_totals_unknown() -> None:
    fabric = topo.leaf_spine(leaves=2, spines=2, hosts_per_leaf=2)
    rates = fabric.links.capacity_gbps.copy()
    rates[0] = np.nan
    found = inventory(fabric, state=State(capacity_gbps=rates))
    assert found.injection_gbps is None
    assert found.n_unknown_rates == 1
    assert [p.capacity_gbps for p in found.tier_pairs] == [None, 1600]
    assert "unknown: 1 link of unknown rate" in str(found)
    assert json.loads(found.to_json())["injection_gbps"] is None


def test_two_planes_are_two_parts_that_share_their_hosts() -> None:
    assembly = Assembly("planes")
    leaf = assembly.add_nodes(["a", "b"], kind="switch", tier=1)
    host = assembly.add_nodes([f"h{i}" for i in range(5)], kind="host", is_endpoint=True, forwards=FORWARDS_NOTHING)
    assembly.connect(host[:4], np.repeat(leaf[0], 4), 100, kind="access")
    assembly.connect(host[1:4], np.repeat(leaf[1], 3), 100, kind="access")
    found = inventory(assembly.finish())
    assert found.component_sizes == (4, 3)
    assert (found.n_shared_endpoints, found.n_unattached_endpoints) == (3, 1)
    assert found.paths.n_disconnected_pairs == 4
    assert any("2 parts" in note and "3 endpoints" in note for note in found.notes)
    assert "1 endpoint without a switch in this network" in str(found)
    with pytest.raises(topo.DisconnectedError, match="components of 4, 3, 1 endpoints"):
        topo.min_cut(assembly.finish(), "h0", "h4")


def test_state_removes_what_is_down() -> None:
    fabric = topo.fat_tree(4)
    found = inventory(fabric, state=State.without(fabric, nodes=["core-1", "host-01"]))
    assert (found.n_endpoints, found.n_switches, found.n_links) == (15, 19, 48 - 4 - 1)
    assert found.n_used_ports == 80 - 4, "the core that is down is not listed; cables stay in the others"


def test_a_dual_homed_fabric() -> None:
    """Pairs of leaves share their hosts: 2 hops inside a pair, 4 across; two cables and one host each."""
    assembly = Assembly("dual-homed")
    leaf = assembly.add_nodes([f"leaf-{i}" for i in range(6)], kind="switch", tier=1)
    spine = assembly.add_nodes(["s1", "s2"], kind="switch", tier=2)
    assembly.stripe(leaf, spine, 1, 400)
    host = assembly.add_nodes([f"h{i}" for i in range(12)], kind="host", is_endpoint=True, forwards=FORWARDS_NOTHING)
    pair = np.arange(12) // 4
    assembly.connect(host, leaf[2 * pair], 200, kind="access")
    assembly.connect(host, leaf[2 * pair + 1], 200, kind="access")
    found = inventory(assembly.finish())
    assert found.paths.pairs_by_hops == {2: 3 * 6, 4: 3 * 16}
    assert (found.n_host_links, found.injection_gbps) == (24, 4800)
    (count,) = found.paths.path_counts
    assert (count.node_paths_max, count.n_leaf_pairs) == (2, 15)


def test_renders_and_round_trips() -> None:
    found = inventory(topo.fat_tree(4))
    document = json.loads(found.to_json())
    assert document["paths"]["pairs_by_hops"] == {"2": 8, "4": 16, "6": 96}
    assert document["switch_groups"][0]["tier_name"] == "leaf"
    assert pickle.loads(pickle.dumps(found)) == found
    assert "<table>" in found._repr_html_()
    assert "diameter" in set(found.to_frame()["label"])


def test_empty_fabric() -> None:
    found = inventory(Assembly("empty").finish())
    assert (found.n_endpoints, found.n_links, found.component_sizes, found.injection_gbps) == (0, 0, (), 0)
    assert "none with endpoints" in str(found)


def test_unknown_kind_is_refused() -> None:
    with pytest.raises(topo.ParameterError, match="unknown link kind 'ethernet'"):
        inventory(topo.fat_tree(4), kinds=["ethernet"])


def test_selene(shared_data: Path) -> None:
    found = inventory(topo.read(shared_data / "ibnetdiscover" / "selene.compute.txt"))
    # 666 of the links lead to the aggregation nodes inside the switches: no cables.
    assert (found.n_links, found.n_cables) == (12852, 12852 - 666)
    assert (found.n_switches, found.n_endpoints, found.n_hosts) == (666, 4341 - 666, 458 + 11)
    assert found.n_service_links == 666
    assert found.component_sizes == (3675,)
    assert found.n_loopback_links == found.n_one_sided_links == 0
    assert found.paths.standing.kind == "exact"


def test_ufm_director(shared_data: Path) -> None:
    found = inventory(topo.read(shared_data / "ibnetdiscover" / "ufm_ndt__ibnetdiscover_director.txt"))
    assert found.n_links == 8723
    assert (found.n_endpoints, found.n_switches) == (2328, 400)
    assert found.n_fabric_links == 3195 + 3200


def test_ports_of_aggregation_nodes_are_no_faceplate_ports(shared_data: Path) -> None:
    """Every one of Selene's 666 switches has 40 ports for cables beside the one its aggregation node sits on."""
    found = inventory(topo.read(shared_data / "ibnetdiscover" / "selene.compute.txt"))
    assert sum(group.n_ports for group in found.switch_groups) == 666 * 40
    assert found.n_used_ports == 3675 + 2 * 8511


def test_ports_of_unknown_rate_are_not_counted_among_those_of_known_rate(tmp_path: Path) -> None:
    path = tmp_path / "cables.csv"
    path.write_text("a_node,a_port,z_node,z_port,speed\nspine-1,1,leaf-1,1,400G\nspine-2,1,leaf-1,2,\n")
    (group,) = inventory(topo.load(path)).switch_groups
    assert (group.n_ports, group.n_unknown_rates) == (4, 2)
    assert group.ports_text == "4 ports, 2 of 400 Gb/s and 2 of unknown rate"


def test_switches_below_the_endpoints_keep_their_tiers() -> None:
    assembly = Assembly("two scale-up tiers")
    host = assembly.add_nodes(["h0", "h1"], kind="host", is_endpoint=True, forwards=FORWARDS_NOTHING)
    low = assembly.add_nodes(["low"], kind="switch", tier=-1)
    high = assembly.add_nodes(["high"], kind="switch", tier=-2)
    assembly.connect(host, np.repeat(low, 2), 100)
    assembly.connect(low, high, 100)
    fabric = assembly.finish()
    names = [(pair.lower, pair.upper) for pair in inventory(fabric).tier_pairs]
    assert names == [("endpoint", "scale-up"), ("scale-up tier 2", "scale-up")]
    assert SetParts.of(NextHops.of(fabric)).classes == ((-2, -1),), "the ends' own links are in no set"
