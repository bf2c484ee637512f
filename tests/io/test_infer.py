"""Structure from wiring: what a builder wrote down is found again, and stays found with strays and faults."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import topo
from topo.build.assembly import Assembly
from topo.fabric import FORWARDS_NOTHING, Fabric
from topo.io.infer import infer_structure
from topo.table import Labels


def forgotten(fabric: Fabric) -> Fabric:
    """The fabric without what inference is to find."""
    n = len(fabric.nodes)
    none = Labels.constant(None, n)
    nodes = dataclasses.replace(fabric.nodes, tier=np.zeros(n, np.int8), rail=none, pod=none, plane=none)
    return dataclasses.replace(fabric, nodes=nodes)


def partition(labels: Labels, rows: np.ndarray) -> set[frozenset[int]]:
    """Rows grouped by label, the unlabelled left out."""
    codes = labels.codes[rows]
    return {frozenset(rows[codes == code].tolist()) for code in np.unique(codes[codes >= 0])}


def two_tiers(endpoints: list[int], spines: int, parallel: int = 1) -> tuple[Assembly, np.ndarray, np.ndarray]:
    """Leaves that serve the given numbers of endpoints, each joined to every spine."""
    assembly = Assembly("two tiers")
    leaf = assembly.add_nodes([f"leaf-{i}" for i in range(len(endpoints))], kind="switch")
    spine = assembly.add_nodes([f"spine-{i}" for i in range(spines)], kind="switch")
    for row, n in zip(leaf, endpoints, strict=True):
        attach(assembly, [f"h{row}-{i}" for i in range(n)], np.full(n, row))
    assembly.stripe(leaf, spine, parallel, 400)
    return assembly, leaf, spine


def attach(assembly: Assembly, names: list[str], switches: np.ndarray, hosts: list[str] | None = None) -> np.ndarray:
    """Endpoints on the given switches; each is its own host unless ``hosts`` names them."""
    owner = hosts or names
    index: list[int] = [owner[:i].count(host) for i, host in enumerate(owner)]
    rows = assembly.add_nodes(
        names, kind="nic", is_endpoint=True, forwards=FORWARDS_NOTHING, host=Labels.of(owner), local_index=index
    )
    assembly.connect(rows, switches, 400, kind="access")
    return rows


@settings(max_examples=25, deadline=None)
@given(st.sampled_from([4, 6, 8]))
def test_fat_tree_tiers_and_pods(k: int) -> None:
    built = topo.fat_tree(k)
    found = infer_structure(forgotten(built))
    np.testing.assert_array_equal(found.nodes.tier, built.nodes.tier)
    low = built.switches[built.nodes.tier[built.switches] < 3]
    assert partition(found.nodes.pod, low) == partition(built.nodes.pod, low)
    assert len(found.nodes.rail.labels) == 0


@pytest.mark.parametrize(("hosts", "rails", "tiers"), [(32, 2, 2), (32, 4, 2), (64, 8, 3), (128, 4, 3)])
def test_rail_optimized(hosts: int, rails: int, tiers: int) -> None:
    built = topo.rail_optimized(hosts=hosts, rails=rails, hosts_per_unit=8, radix=16, tiers=tiers)
    found = infer_structure(forgotten(built))
    np.testing.assert_array_equal(found.nodes.tier[built.switches], built.nodes.tier[built.switches])
    assert found.nodes.rail.labels.tolist() == [f"rail-{i}" for i in range(1, rails + 1)]
    nic = built.endpoints
    assert partition(found.nodes.rail, nic) == partition(built.nodes.rail, nic)
    leaf = built.switches[built.nodes.tier[built.switches] == 1]
    assert partition(found.nodes.rail, leaf) == partition(built.nodes.rail, leaf)


def test_renaming_and_reordering_change_nothing() -> None:
    built = forgotten(topo.fat_tree(4))
    renamed = dataclasses.replace(
        built, nodes=dataclasses.replace(built.nodes, name=np.array([f"x{i}" for i in range(len(built.nodes))]))
    )
    np.testing.assert_array_equal(infer_structure(renamed).nodes.tier, infer_structure(built).nodes.tier)
    rows = np.random.default_rng(1).permutation(len(built.links))
    shuffled = infer_structure(dataclasses.replace(built, links=built.links.take(rows)))
    assert shuffled.nodes.equals(infer_structure(built).nodes)


@pytest.mark.parametrize("strays", [1, 2, 3])
def test_a_few_adapters_on_a_spine_make_no_leaf(strays: int) -> None:
    assembly, leaf, spine = two_tiers([16] * 16, 8)
    attach(assembly, [f"manager-{i}" for i in range(strays)], np.full(strays, spine[0]))
    found = infer_structure(assembly.finish())
    assert found.nodes.tier[leaf].tolist() == [1] * 16
    assert found.nodes.tier[spine].tolist() == [2] * 8


def test_a_leaf_of_few_endpoints_is_a_leaf() -> None:
    assembly, leaf, spine = two_tiers([16] * 15 + [1], 8)
    found = infer_structure(assembly.finish())
    assert found.nodes.tier[leaf].tolist() == [1] * 16
    assert found.nodes.tier[spine].tolist() == [2] * 8


def test_a_leaf_without_endpoints_is_no_core() -> None:
    assembly, leaf, spine = two_tiers([16] * 15 + [0], 8, parallel=2)
    found = infer_structure(assembly.finish())
    assert found.nodes.tier[leaf].tolist() == [1] * 16
    assert found.nodes.tier[spine].tolist() == [2] * 8


def test_a_leaf_on_the_core_does_not_pull_it_down() -> None:
    built = topo.fat_tree(8)
    core = built.rows("core-*")
    assembly = Assembly("stray leaf")
    old = assembly.add_nodes(built.nodes.name, kind="switch")
    stray = assembly.add_nodes(["management"], kind="switch")
    assembly.connect(built.link_a, built.link_b, 400)
    assembly.connect(stray, core[:1], 400)
    attach(assembly, ["manager"], stray)
    fabric = assembly.finish()
    ends = fabric.nodes.is_endpoint.copy()
    ends[old] = built.nodes.is_endpoint
    kind = np.where(ends, "nic", "switch")
    nodes = dataclasses.replace(fabric.nodes, is_endpoint=ends, kind=Labels.of(kind.tolist()))
    found = infer_structure(dataclasses.replace(fabric, nodes=nodes))
    np.testing.assert_array_equal(found.nodes.tier[old], built.nodes.tier)
    assert found.nodes.tier[stray].tolist() == [1]
    assert any("1 of 257 switch links do not join adjacent tiers" in note.text for note in found.origin.notes)


def test_switches_that_hang_from_the_core_are_no_fourth_tier() -> None:
    """A management spine with its leaf, no endpoint on it: two steps above the core by distance alone."""
    built = topo.fat_tree(8)
    assembly = Assembly("hanging")
    old = assembly.add_nodes(built.nodes.name, kind="switch")
    spine, leaf = assembly.add_nodes(["m-spine", "m-leaf"], kind="switch")
    assembly.connect(built.link_a, built.link_b, 400)
    assembly.connect(np.repeat(spine, 2), built.rows("core-*")[:2], 400)
    assembly.connect([leaf], [spine], 400)
    fabric = assembly.finish()
    ends = np.append(built.nodes.is_endpoint, [False, False])
    nodes = dataclasses.replace(
        fabric.nodes, is_endpoint=ends, kind=Labels.of(np.where(ends, "nic", "switch").tolist())
    )
    found = infer_structure(dataclasses.replace(fabric, nodes=nodes))
    np.testing.assert_array_equal(found.nodes.tier[old], built.nodes.tier)
    assert found.nodes.tier[[spine, leaf]].tolist() == [2, 1]
    assert found.nodes.pod.codes[[spine, leaf]].tolist() == [-1, -1]
    assert len(found.nodes.pod.labels) == 8


def test_torus_of_leaves() -> None:
    """Every switch serves endpoints: all are leaves, and the links between them are said to be level."""
    assembly = Assembly("ring")
    switch = assembly.add_nodes([f"s{i}" for i in range(6)], kind="switch")
    attach(assembly, [f"h{i}" for i in range(6)], switch)
    assembly.connect(switch, np.roll(switch, 1), 100)
    found = infer_structure(assembly.finish())
    assert found.nodes.tier[switch].tolist() == [1] * 6
    assert found.origin.notes[-1].text == "6 of 6 switch links do not join adjacent tiers"


def test_long_chain_is_quick() -> None:
    n = 50_000
    assembly = Assembly("chain")
    switch = assembly.add_nodes([f"s{i}" for i in range(n)], kind="switch")
    attach(assembly, ["h"], switch[:1])
    assembly.connect(switch[:-1], switch[1:], 100)
    assert infer_structure(assembly.finish()).nodes.tier.max() <= 120


def rail_pair(hosts: int, swapped: list[int]) -> Fabric:
    """Two leaves joined by a spine; adapter i of each host on leaf i, but crossed for the ``swapped`` hosts."""
    assembly = Assembly("two rails")
    leaf = assembly.add_nodes(["left", "right"], kind="switch")
    spine = assembly.add_nodes(["spine"], kind="switch")
    assembly.stripe(leaf, spine, hosts, 400)
    place = np.tile([0, 1], (hosts, 1))
    place[swapped] = [1, 0]
    names = [f"h{i} nic{j}" for i in range(hosts) for j in (0, 1)]
    attach(assembly, names, leaf[place.ravel()], [name.split()[0] for name in names])
    return assembly.finish()


def test_a_swapped_pair_shows_against_its_leaves() -> None:
    found = infer_structure(rail_pair(10, [4]))
    rail = found.nodes.rail
    assert rail.values(found.rows(["left", "right"])).tolist() == ["rail-1", "rail-2"]
    assert rail.values(found.rows("h4")).tolist() == ["rail-1", "rail-2"]  # where they belong, not where they sit
    assert "2 of them elsewhere" in found.origin.assumptions[-1]


def test_no_rails_where_the_rule_explains_too_little() -> None:
    assert len(infer_structure(rail_pair(10, [1, 3, 5, 7])).nodes.rail.labels) == 0
    assert len(infer_structure(rail_pair(1, [])).nodes.rail.labels) == 0, "one host is no rule"


def test_no_rails_where_hosts_sit_on_one_leaf() -> None:
    assembly = Assembly("one leaf a host")
    leaf = assembly.add_nodes([f"leaf-{i}" for i in range(4)], kind="switch")
    names = [f"h{i}" for i in range(8) for _ in range(4)]
    attach(assembly, names, np.repeat(np.tile(leaf, 2), 4), names)
    assert len(infer_structure(assembly.finish()).nodes.rail.labels) == 0


def test_two_adapters_a_leaf_are_one_rail() -> None:
    assembly = Assembly("paired")
    leaf = assembly.add_nodes(["a", "b"], kind="switch")
    names = [f"h{i}" for i in range(6) for _ in range(4)]
    rows = attach(assembly, names, np.tile(leaf[[0, 0, 1, 1]], 6), names)
    rail = infer_structure(assembly.finish()).nodes.rail
    assert rail.values(rows[:4]).tolist() == ["rail-1", "rail-1", "rail-2", "rail-2"]


def test_device_names_hold_where_an_adapter_is_missing() -> None:
    """A host that lost its first adapter shifts its ordinals, not its device names."""
    assembly = Assembly("four rails")
    leaf = assembly.add_nodes([f"leaf-{i}" for i in range(4)], kind="switch")
    names = [f"h{i} nic{j}" for i in range(10) for j in range(4) if (i, j) != (3, 0)]
    place = np.array([int(name[-1]) for name in names])
    rows = attach(assembly, names, leaf[place], [name.split()[0] for name in names])
    fabric = assembly.finish()
    device = Labels.of([name.partition(" ")[2] for name in fabric.nodes.name.tolist()])
    lost = fabric.rows("h3")
    assert fabric.nodes.local_index[lost].tolist() == [0, 1, 2]
    assert infer_structure(fabric, device=device).nodes.rail.values(lost).tolist() == ["rail-2", "rail-3", "rail-4"]
    by_ordinal = infer_structure(fabric)
    assert by_ordinal.nodes.rail.values(lost).tolist() == ["rail-1", "rail-2", "rail-3"]
    assert "3 of them elsewhere" in " ".join(by_ordinal.origin.assumptions)
    assert len(rows) == 39


def test_a_leaf_of_incomplete_hosts_takes_its_rail_from_their_devices() -> None:
    """Every host of the second unit lacks nic2, so none of them is whole; their leaves have rails all the same."""
    assembly = Assembly("two units")
    leaf = assembly.add_nodes([f"u{u}-leaf-{i}" for u in (0, 1) for i in range(3)], kind="switch").reshape(2, 3)
    names = [f"h{u}-{i} nic{j}" for u in (0, 1) for i in range(8 - 2 * u) for j in range(3 - u)]
    place = np.array([leaf[int(name[1]), int(name[-1])] for name in names])
    attach(assembly, names, place, [name.split()[0] for name in names])
    fabric = assembly.finish()
    device = Labels.of([name.partition(" ")[2] for name in fabric.nodes.name.tolist()])
    rail = infer_structure(fabric, device=device).nodes.rail
    assert rail.values(leaf.ravel()).tolist() == ["rail-1", "rail-2", "rail-3", "rail-1", "rail-2", ""]


def test_planes_are_parts_that_hosts_share() -> None:
    """16 hosts on two planes without a common switch: both reported, the hosts on each."""
    assembly = Assembly("planes")
    leaf = assembly.add_nodes([f"p{p}-leaf-{i}" for p in (1, 2) for i in range(4)], kind="switch").reshape(2, 4)
    spine = assembly.add_nodes([f"p{p}-spine-{i}" for p in (1, 2) for i in range(2)], kind="switch").reshape(2, 2)
    assembly.stripe(leaf, spine, 1, 400)
    host = assembly.add_nodes(
        [f"h{i}" for i in range(16)],
        kind="nic",
        is_endpoint=True,
        forwards=FORWARDS_NOTHING,
        host=Labels.of([f"h{i}" for i in range(16)]),
    )
    for plane in (0, 1):
        assembly.connect(host, np.repeat(leaf[plane], 4), 400, kind="access")
    found = infer_structure(assembly.finish())
    assert found.nodes.plane.values(leaf.ravel()).tolist() == ["plane-1"] * 4 + ["plane-2"] * 4
    assert found.nodes.plane.values(spine.ravel()).tolist() == ["plane-1"] * 2 + ["plane-2"] * 2
    assert set(found.nodes.plane.values(host).tolist()) == {""}
    assert any("2 planes" in said for said in found.origin.assumptions)


def test_parts_without_shared_hosts_are_no_planes() -> None:
    assembly = Assembly("islands")
    leaf = assembly.add_nodes(["a", "b"], kind="switch")
    attach(assembly, ["h0", "h1"], leaf)
    found = infer_structure(assembly.finish())
    assert len(found.nodes.plane.labels) == 0
    assert "the switches form 2 parts that no link joins" in found.origin.assumptions


def test_a_host_on_two_pods_joins_nothing() -> None:
    built = topo.fat_tree(8)
    host = built.nodes.host
    one, other = built.rows(["host-001"]), built.rows(["host-128"])
    codes = host.codes.copy()
    codes[other] = codes[one]
    nodes = dataclasses.replace(built.nodes, host=Labels(codes, host.labels))
    found = infer_structure(forgotten(dataclasses.replace(built, nodes=nodes)))
    assert len(found.nodes.pod.labels) == 8
