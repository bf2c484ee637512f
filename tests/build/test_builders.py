"""Builders: closed forms over many parameters, published tables, even striping, refusals with the way out."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import topo
from topo.build.assembly import Assembly, numbered
from topo.build.layers import even_width, split_ports
from topo.fabric import FORWARDS_NOTHING, Fabric


def tiers(fabric: Fabric) -> list[int]:
    """Switches by tier, leaf first."""
    return np.bincount(fabric.nodes.tier[fabric.switches])[1:].tolist()


def links_between(fabric: Fabric, low: int, high: int) -> int:
    """Links between two tiers of the endpoints' network and the managers'."""
    tier = np.stack([fabric.nodes.tier[fabric.link_a], fabric.nodes.tier[fabric.link_b]])
    return int(((tier.min(axis=0) == low) & (tier.max(axis=0) == high)).sum())


def parallel_counts(fabric: Fabric, low: int, high: int) -> set[int]:
    """Distinct numbers of parallel links between joined switch pairs of two tiers."""
    tier = fabric.nodes.tier
    a, b = fabric.link_a.astype(np.int64), fabric.link_b.astype(np.int64)
    mine = (np.minimum(tier[a], tier[b]) == low) & (np.maximum(tier[a], tier[b]) == high)
    pair = np.minimum(a, b)[mine] * len(fabric.nodes) + np.maximum(a, b)[mine]
    return set(np.unique(pair, return_counts=True)[1].tolist())


def assert_ports_are_sound(fabric: Fabric) -> None:
    """No port cabled twice, labels 1..n on every node, no switch over its ports."""
    used = np.concatenate([fabric.links.port_a, fabric.links.port_b])
    assert len(np.unique(used)) == len(used)
    assert (np.diff(fabric.ports.node) >= 0).all()
    first = np.searchsorted(fabric.ports.node, np.arange(len(fabric.nodes)))
    ordinal = np.arange(len(fabric.ports)) - first[fabric.ports.node] + 1
    assert (fabric.ports.label.values() == ordinal.astype(str)).all()


@pytest.mark.parametrize("k", [2, 4, 8, 16, 24, 48, 64])
def test_fat_tree_closed_forms(k: int) -> None:
    fabric = topo.fat_tree(k)
    assert len(fabric.endpoints) == k**3 // 4
    assert tiers(fabric) == [k * k // 2, k * k // 2, k * k // 4]
    assert len(fabric.links) == 3 * k**3 // 4
    degree = np.bincount(np.concatenate([fabric.link_a, fabric.link_b]), minlength=len(fabric.nodes))
    assert (degree[fabric.switches] == k).all()
    assert_ports_are_sound(fabric)


@settings(max_examples=30, deadline=None)
@given(
    leaves=st.integers(1, 12), spines=st.integers(1, 8), hosts=st.integers(1, 9), parallel=st.integers(1, 4)
)  # fmt: skip
def test_leaf_spine_closed_forms(leaves: int, spines: int, hosts: int, parallel: int) -> None:
    fabric = topo.leaf_spine(leaves, spines, hosts, parallel=parallel, link_gbps=800, host_gbps=400)
    assert tiers(fabric) == [leaves, spines]
    assert links_between(fabric, 0, 1) == leaves * hosts
    assert links_between(fabric, 1, 2) == leaves * spines * parallel
    assert parallel_counts(fabric, 1, 2) == {parallel}
    assert set(fabric.links.capacity_gbps[fabric.links.kind.is_any("access")]) == {400}
    assert set(fabric.links.capacity_gbps[fabric.links.kind.is_any("scale_out")]) == {800}
    assert_ports_are_sound(fabric)


# NVIDIA DGX SuperPOD H100 reference architecture, RA-11333-001 V11, table 4: one slot serves the fabric manager.
H100 = [
    (1, 31, 248, 8, 4, 252, 256, 8),
    (2, 63, 504, 16, 8, 508, 512, 4),
    (3, 95, 760, 24, 16, 764, 768, 2),
    (4, 127, 1016, 32, 16, 1020, 1024, 2),
]


@pytest.mark.parametrize(("units", "nodes", "gpus", "leaf", "spine", "access", "up", "parallel"), H100)
def test_superpod_h100_table(
    units: int, nodes: int, gpus: int, leaf: int, spine: int, access: int, up: int, parallel: int
) -> None:  # fmt: skip
    fabric = topo.rail_optimized(nodes, managers=2)
    assert len(fabric.endpoints) == gpus
    assert tiers(fabric) == [leaf, spine]
    managed = int(fabric.links.kind.is_any("management").sum())
    assert (managed, links_between(fabric, 0, 1)) == (4, access)
    assert links_between(fabric, 1, 2) == up
    assert parallel_counts(fabric, 1, 2) == {parallel}
    assert len(set(fabric.nodes.pod.values(fabric.endpoints))) == units
    assert_ports_are_sound(fabric)


# DGX SuperPOD B200 reference architecture, table 3; the H100 architecture prints the same rows from 4 SU on.
B200 = [
    (64, 2, None, [16, 8], (512, 512)),
    (128, 2, None, [32, 16], (1024, 1024)),
    (256, 2, None, [64, 32], (2048, 2048)),
    (512, 3, 8, [128, 128, 64], (4096, 4096, 4096)),
    (1024, 3, 8, [256, 256, 128], (8192, 8192, 8192)),
    (2048, 3, 16, [512, 512, 256], (16384, 16384, 16384)),
]


@pytest.mark.parametrize(("nodes", "n_tiers", "groups", "switches", "cables"), B200)
def test_superpod_b200_table(
    nodes: int, n_tiers: int, groups: int | None, switches: list[int], cables: tuple[int, ...]
) -> None:  # fmt: skip
    fabric = topo.rail_optimized(nodes, tiers=n_tiers, spine_groups=groups)
    assert tiers(fabric) == switches
    assert tuple(links_between(fabric, t, t + 1) for t in range(n_tiers)) == cables
    assert_ports_are_sound(fabric)
    spine = fabric.select(tier=2)
    free = np.bincount(fabric.ports.node, minlength=len(fabric.nodes))[spine] - 64
    assert not free.any()


def test_three_tier_grouping_as_described() -> None:
    fabric = topo.rail_optimized(512, tiers=3, spine_groups=8)
    assert parallel_counts(fabric, 1, 2) == {2}
    a, b = fabric.link_a, fabric.link_b
    name = fabric.nodes.name
    up = (fabric.nodes.tier[a] == 2) & (fabric.nodes.tier[b] == 3)
    spine_number = np.array([int(n.rsplit("-", 1)[1]) - 1 for n in name[a[up]]])
    core_number = np.array([int(n.rsplit("-", 1)[1]) - 1 for n in name[b[up]]])
    assert (spine_number == core_number // 4).all(), "spine i goes to core plane i"


def test_rails_and_hosts_are_labelled() -> None:
    fabric = topo.rail_optimized(40, rails=8)
    ends = fabric.endpoints
    assert len(set(fabric.nodes.host.values(ends))) == 40
    access = fabric.links.kind.is_any("access")
    nic, leaf = fabric.link_a[access], fabric.link_b[access]
    assert (fabric.nodes.rail.values(nic) == fabric.nodes.rail.values(leaf)).all()
    assert (fabric.nodes.pod.values(nic) == fabric.nodes.pod.values(leaf)).all()
    assert (fabric.nodes.forwards[ends] == FORWARDS_NOTHING).all()


def test_spine_counts_divide_the_uplinks() -> None:
    assert even_width(24 * 32, 64, 32) == 16
    for leaves, spines in ((8, 4), (16, 8), (32, 18), (64, 36), (144, 72)):  # B300 XDR, 144-port switches
        assert even_width(leaves * 72, 144, 72) == spines
    for leaves in range(1, 65):
        width = even_width(leaves * 32, 64, 32)
        assert width * 64 >= leaves * 32
        assert 32 % width == 0


@settings(max_examples=60, deadline=None)
@given(
    hosts=st.integers(1, 3000),
    n_tiers=st.integers(1, 4),
    radix=st.sampled_from([4, 8, 16, 32, 64]),
    taper=st.sampled_from([1.0, 1.5, 2.0, 3.0]),
)
def test_clos_never_exceeds_radix_or_taper(hosts: int, n_tiers: int, radix: int, taper: float) -> None:
    try:
        fabric = topo.clos(hosts, tiers=n_tiers, radix=radix, taper=taper)
    except topo.ParameterError as error:
        assert "fit" in str(error) or "at most" in str(error)
        return
    assert len(fabric.endpoints) == hosts
    assert fabric.nodes.tier.max() == n_tiers
    ports = np.bincount(fabric.ports.node, minlength=len(fabric.nodes))
    assert (ports[fabric.switches] == radix).all()
    low, high = fabric.nodes.tier[fabric.link_a], fabric.nodes.tier[fabric.link_b]
    assert (high == low + 1).all()
    down = np.bincount(fabric.link_b, minlength=len(fabric.nodes))
    up = np.bincount(fabric.link_a, minlength=len(fabric.nodes))
    for tier in range(1, n_tiers):
        rows = fabric.select(tier=tier)
        assert (down[rows] <= taper * up[rows] + 1e-9).all()
        assert all(len(parallel_counts(fabric, tier, tier + 1)) == 1 for _ in (0,))
    assert_ports_are_sound(fabric)


def test_split_ports_uses_the_most_down_ports() -> None:
    for radix in (8, 33, 48, 64, 144):
        for taper in (1.0, 1.5, 2.0, 3.0, 7.0):
            down, up = split_ports(radix, taper)
            assert down <= taper * up + 1e-9
            assert down + up <= radix
            assert down + 1 + math.ceil((down + 1) / taper - 1e-9) > radix


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: topo.fat_tree(5), r"k is 5; a fat-tree needs an even number of ports, so 4 or 6"),
        (lambda: topo.fat_tree(0), r"k is 0; it must be a whole number of at least 1"),
        (lambda: topo.leaf_spine(0, 1, 1), r"leaves is 0"),
        (lambda: topo.leaf_spine(2, 2, 2, link_gbps=-1), r"-1 is not a rate"),
        (lambda: topo.clos(5000, tiers=2, radix=64), r"5000 hosts do not fit 2 tiers .*at most 2048; use more tiers"),
        (lambda: topo.clos(100, tiers=2, radix=(64, 64, 64)), r"radix lists 3 values; this fabric needs 2"),
        (lambda: topo.clos(100, taper=0.0), r"taper is 0.0; it must be above 0"),
        (lambda: topo.rail_optimized(10, tiers=4), r"tiers is 4; a rail-optimized fabric is built with 2 or 3"),
        (lambda: topo.rail_optimized(10, hosts_per_unit=64), r"cannot take 64 ports to hosts .*at most 63"),
        (lambda: topo.rail_optimized(4096), r"do not fit.*one more tier"),
        (lambda: topo.rail_optimized(512, tiers=3, spine_groups=100), r"128 leaves do not fill 100 spine groups"),
    ],
)
def test_refusals_name_the_value_and_the_way_out(build, message: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(topo.ParameterError, match=message):
        build()


def test_a_switch_over_its_radix_is_refused() -> None:
    assembly = Assembly("over")
    leaf = assembly.add_nodes(["leaf-1"], kind="switch", tier=1, radix=2)
    host = assembly.add_nodes(numbered("h-{}", [1, 2, 3]), kind="host", is_endpoint=True)
    assembly.connect(host, leaf, 400)
    with pytest.raises(topo.ParameterError, match="leaf-1 needs 3 ports but has a radix of 2"):
        assembly.finish()


def test_names_pad_to_the_widest() -> None:
    assert numbered("a{}b{}", [1, 10], [7, 100]).tolist() == ["a01b007", "a10b100"]
    assert numbered("x{}", np.array([], int)).tolist() == []
    with pytest.raises(topo.ParameterError, match="2 fields for 1 counters"):
        numbered("{}{}", [1])


def test_building_is_deterministic() -> None:
    assert topo.fat_tree(8).digest == topo.fat_tree(8).digest != topo.fat_tree(10).digest
