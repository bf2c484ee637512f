"""Scale-out families: published tables row by row, planes that nothing joins, what one lost switch costs, refusals."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

import topo
from topo.build.assembly import Assembly
from topo.build.clos import ClosPlan, sized_clos
from topo.build.hosts import HostPorts, add_adapters
from topo.build.layers import Layer, given_width
from topo.build.planes import Plan, PlanesPlan
from topo.build.pods import tapered_pods_plan
from topo.build.rail import RailPlan
from topo.build.segments import dual_tor_plan
from topo.build.zones import ZonesPlan
from topo.fabric import Fabric, State

# Typed from the references: name, endpoints, leaves, spines, cores, host links, leaf-spine links, spine-core links.
ROWS = [
    ("nvidia-superpod-a100-7su", 1120, 56, 80, 28, 1120, 1120, 1120),
    ("nvidia-superpod-gb200-1su", 576, 32, 24, 0, 576, 576, 0),
    ("nvidia-superpod-gb200-2su", 1152, 64, 48, 18, 1152, 1152, 1152),
    ("nvidia-superpod-gb200-4su", 2304, 128, 96, 36, 2304, 2304, 2304),
    ("nvidia-superpod-gb200-8su", 4608, 256, 192, 72, 4608, 4608, 4608),
    ("nvidia-superpod-gb200-16su", 9216, 512, 384, 144, 9216, 9216, 9216),
    ("nvidia-superpod-gb300-16su", 9216, 128, 72, 0, 9216, 9216, 0),
    ("nvidia-superpod-b300-xdr-1su", 576, 8, 4, 0, 576, 576, 0),
    ("nvidia-superpod-b300-xdr-2su", 1152, 16, 8, 0, 1152, 1152, 0),
    ("nvidia-superpod-b300-xdr-4su", 2304, 32, 18, 0, 2304, 2304, 0),
    ("nvidia-superpod-b300-xdr-8su", 4608, 64, 36, 0, 4608, 4608, 0),
    ("nvidia-superpod-b300-xdr-18su", 10368, 144, 72, 0, 10368, 10368, 0),
    ("nvidia-superpod-b300-spectrumx-1su", 512, 16, 8, 0, 1024, 512, 0),
    ("nvidia-superpod-b300-spectrumx-2su", 1024, 32, 16, 0, 2048, 1024, 0),
    ("nvidia-superpod-b300-spectrumx-4su", 2048, 64, 32, 0, 4096, 2048, 0),
    ("nvidia-superpod-b300-spectrumx-8su", 4096, 128, 64, 0, 8192, 4096, 0),
    ("nvidia-superpod-b300-spectrumx-16su", 8192, 256, 128, 0, 16384, 16384, 0),
    ("alibaba-hpn-segment", 1024, 16, 120, 0, 2048, 960, 0),
    ("alibaba-hpn-pod", 15360, 240, 120, 8, 30720, 14400, 960),
    ("alibaba-hpn-rail-only", 122880, 1920, 960, 0, 245760, 115200, 0),
    ("alibaba-dcn-plus", 16384, 2048, 256, 128, 32768, 16384, 16384),
    ("deepseek-ft2", 2048, 64, 32, 0, 2048, 2048, 0),
    ("deepseek-mpft", 16384, 512, 256, 0, 16384, 16384, 0),
    ("deepseek-ft3", 65536, 2048, 2048, 1024, 65536, 65536, 65536),
    ("deepseek-fire-flyer-2", 1200, 80, 40, 2, 1200, 1600, 0),
    ("meta-llama3-24k", 24576, 1536, 128, 16, 24576, 24576, 3456),
    ("bytedance-megascale", 12288, 192, 192, 128, 12288, 6144, 6144),
    ("openai-mrc-131k", 131072, 4096, 2048, 0, 1048576, 1048576, 0),
    ("oracle-zettascale", 131072, 2048, 2048, 1024, 131072, 131072, 131072),
]


def tiers(fabric: Fabric) -> list[int]:
    """Switches by tier, leaf first, four numbers."""
    return np.bincount(fabric.nodes.tier[fabric.switches], minlength=4)[1:4].tolist()


def between(fabric: Fabric, low: np.ndarray, high: np.ndarray) -> int:
    """Links from one set of nodes to another."""
    a, b = fabric.link_a, fabric.link_b
    return int(((low[a] & high[b]) | (high[a] & low[b])).sum())


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_published_tables(row: tuple[str, int, int, int, int, int, int, int]) -> None:
    name, endpoints, leaves, spines, cores, *links = row
    fabric = topo.load(name)
    at = [fabric.nodes.is_endpoint] + [(fabric.nodes.tier == t) & fabric.nodes.kind.is_any("switch") for t in (1, 2, 3)]
    assert len(fabric.endpoints) == endpoints
    assert tiers(fabric) == [leaves, spines, cores]
    assert [between(fabric, at[t], at[t + 1]) for t in range(3)] == links
    assert_sound(fabric)


def assert_sound(fabric: Fabric) -> None:
    """No port twice; ports numbered in order of nodes; capacity of a switch within the ports it has; cages of few."""
    used = np.concatenate([fabric.links.port_a, fabric.links.port_b])
    assert len(np.unique(used)) == len(used)
    assert (np.diff(fabric.ports.node) >= 0).all()
    rate = np.concatenate([fabric.links.capacity_gbps] * 2)
    assert (rate <= fabric.ports.gbps[used] * (1 + 1e-9)).all()
    caged = fabric.ports.cage >= 0
    owner = np.full(int(fabric.ports.cage.max(initial=-1)) + 1, -1)
    owner[fabric.ports.cage[caged]] = fabric.ports.node[caged]
    assert (owner[fabric.ports.cage[caged]] == fabric.ports.node[caged]).all()
    assert topo.buildable(fabric).all_buildable


def plane_of_parts(fabric: Fabric) -> list[set[str]]:
    """Plane labels of the switches of each part that switches alone join."""
    rows = fabric.switches
    index = np.full(len(fabric.nodes), -1)
    index[rows] = np.arange(len(rows))
    a, b = index[fabric.link_a], index[fabric.link_b]
    both = (a >= 0) & (b >= 0)
    n, part = connected_components(
        coo_array((np.ones(both.sum()), (a[both], b[both])), shape=(len(rows), len(rows))), directed=False
    )
    return [set(fabric.nodes.plane.values(rows[part == i]).tolist()) for i in range(n)]


@pytest.mark.parametrize(
    ("name", "planes"),
    [("nvidia-superpod-b300-spectrumx-2su", 2), ("alibaba-hpn-pod", 2), ("deepseek-mpft", 8)],
)
def test_no_switch_joins_two_planes(name: str, planes: int) -> None:
    found = plane_of_parts(topo.load(name))
    assert len(found) == planes
    assert all(len(labels) == 1 for labels in found)
    assert len(set.union(*found)) == planes


def test_every_adapter_has_a_port_in_every_plane() -> None:
    fabric = topo.load("nvidia-superpod-b300-spectrumx-1su")
    access = fabric.links.kind.is_any("access")
    for plane in ("plane-1", "plane-2"):
        mine = access & (fabric.nodes.plane.values(fabric.link_b) == plane)
        assert np.array_equal(np.unique(fabric.link_a[mine]), fabric.endpoints)
        assert (fabric.nodes.rail.values(fabric.link_a[mine]) == fabric.nodes.rail.values(fabric.link_b[mine])).all()
    ends = fabric.links.port_a[access]
    cages = fabric.ports.cage[ends]
    assert (np.bincount(cages)[np.unique(cages)] == 2).all(), "both ports of an adapter are in its one cage"


def test_two_planes_and_one_leaf_lost_leave_half_the_rate() -> None:
    fabric = topo.load("nvidia-superpod-b300-spectrumx-2su")
    leaf = fabric.select("plane-1-su-1-leaf-1")
    lost = State.without(fabric, nodes=leaf)
    one = fabric.select("host-001-nic-1")
    other = fabric.select("host-100-nic-1")
    untouched = fabric.select("host-001-nic-2")
    assert topo.min_cut(fabric, one, other).capacity_gbps == 800
    assert topo.min_cut(fabric, one, other, state=lost).capacity_gbps == 400
    assert topo.min_cut(fabric, untouched, other, state=lost).capacity_gbps == 800


def test_one_leaf_of_a_dual_homed_set_lost_cuts_nobody_off() -> None:
    fabric = topo.load("alibaba-hpn-segment")
    lost = State.without(fabric, nodes=["plane-1-segment-1-leaf-1"])
    found = topo.inventory(fabric, state=lost)
    assert found.n_unattached_endpoints == 0
    one, other = fabric.select("host-001-nic-1"), fabric.select("host-050-nic-1")
    assert topo.min_cut(fabric, one, other, state=lost).capacity_gbps == 200
    assert topo.min_cut(fabric, one, other).capacity_gbps == 400


def test_planes_that_differ_leave_two_adapters_apart() -> None:
    """Ports of one adapter are no bridge: with each on its last plane, two adapters have no path."""
    fabric = topo.multi_plane(8, planes=2, radix=8)
    one, other = fabric.endpoints[:1], fabric.endpoints[-1:]
    plane = fabric.nodes.plane.values(fabric.link_b)
    cut = ((fabric.link_a == one[0]) & (plane == "plane-1")) | ((fabric.link_a == other[0]) & (plane == "plane-2"))
    with pytest.raises(topo.DisconnectedError):
        topo.min_cut(fabric, one, other, state=State.without(fabric, links=np.flatnonzero(cut)))


def test_rails_alone_are_joined_by_nothing() -> None:
    fabric = topo.rail_only(40, rails=4, radix=16)
    one, other = fabric.select("host-01-nic-1"), fabric.select("host-40-nic-2")
    with pytest.raises(topo.DisconnectedError):
        topo.min_cut(fabric, one, other)
    assert topo.min_cut(fabric, one, fabric.select("host-40-nic-1")).capacity_gbps == 400
    assert [len(labels) for labels in plane_of_parts(fabric)] == [1] * 4


def test_eight_planes_take_three_fifths_of_the_switches_of_three_tiers() -> None:
    eight = topo.load("openai-mrc-131k")
    three = topo.multi_plane(131072, planes=2, tiers=3, radix=128)  # 800G as 2 x 400G: what 51.2 Tb/s reach in 3 tiers
    assert (len(eight.switches), len(three.switches)) == (6144, 10240)
    assert len(eight.switches) * 5 == len(three.switches) * 3
    assert len(eight.endpoints) == len(three.endpoints) == 131072


def test_hpn_ratios() -> None:
    tiers_found = topo.oversubscription(topo.load("alibaba-hpn-pod")).tiers
    assert tiers_found[0].ratio == pytest.approx(128 * 200 / (60 * 400))
    assert tiers_found[1].ratio == 15
    assert topo.oversubscription(topo.load("meta-llama3-24k")).tiers[1].ratio == pytest.approx(7, abs=0.12)


@pytest.mark.parametrize(("name", "megadollars"), [("deepseek-ft2", 9), ("deepseek-mpft", 72), ("deepseek-ft3", 491)])
def test_cost_of_the_fat_tree_columns(name: str, megadollars: int) -> None:
    fabric = topo.load(name)
    switch = fabric.nodes.kind.is_any("switch")
    cost = 81_920 * len(fabric.switches) + 550 * between(fabric, switch, switch)
    assert int(cost / 1e6 + 0.5) == megadollars or round(cost / 1e6, 1) == megadollars + 0.5
    assert dict(fabric.origin.expect)["cost_usd"].value == cost


def test_spine_groups_are_those_of_a_rail_and_a_unit() -> None:
    fabric = topo.load("nvidia-superpod-gb200-2su")
    leaf_spine = (fabric.nodes.tier[fabric.link_a] == 1) & (fabric.nodes.tier[fabric.link_b] == 2)
    leaf, spine = fabric.link_a[leaf_spine], fabric.link_b[leaf_spine]
    for row in np.unique(spine):
        below = np.unique(leaf[spine == row])
        assert len(below) == 8
        assert len(set(fabric.nodes.rail.values(below))) == len(set(fabric.nodes.pod.values(below))) == 1


def _bisection(fabric: Fabric) -> float:
    found = topo.bisection_bandwidth(fabric)
    assert found.exact
    return found.upper_gbps


@pytest.mark.parametrize("build", [lambda gbps: topo.multi_plane(64, planes=4, rails=2, nic_gbps=gbps, radix=16),
                                   lambda gbps: topo.dual_tor(4, hosts_per_segment=8, rails=2, nic_gbps=gbps, radix=16,
                                                              link_gbps=gbps, uplinks=4)])  # fmt: skip
def test_bisection_doubles_with_the_rates(build: Callable[[float], Fabric]) -> None:
    assert _bisection(build(800)) == 2 * _bisection(build(400)) > 0


@settings(max_examples=25, deadline=None)
@given(
    segments=st.integers(1, 6), hosts=st.sampled_from([4, 8, 16]), backup=st.integers(0, 4), rails=st.integers(1, 4),
    planes=st.sampled_from([1, 2]), uplinks=st.sampled_from([4, 8]),
)  # fmt: skip
def test_dual_tor_closed_forms(segments: int, hosts: int, backup: int, rails: int, planes: int, uplinks: int) -> None:
    fabric = topo.dual_tor(
        segments, hosts_per_segment=hosts, backup_hosts=backup, rails=rails, planes=planes, uplinks=uplinks, radix=64
    )
    assert len(fabric.endpoints) == segments * hosts * rails
    leaves = fabric.select(tier=1)
    assert len(leaves) == segments * rails * 2
    a, b = fabric.link_a, fabric.link_b
    up = np.bincount(a[fabric.nodes.tier[b] == 2], minlength=len(fabric.nodes))[leaves]
    down = np.bincount(b[fabric.links.kind.is_any("access")], minlength=len(fabric.nodes))[leaves]
    assert (up == uplinks).all() and (down == hosts + backup).all()
    standby = fabric.nodes.kind.is_any("nic") & ~fabric.nodes.is_endpoint
    assert int(standby.sum()) == segments * backup * rails
    assert len(plane_of_parts(fabric)) == planes
    assert_sound(fabric)


PLANS: list[Plan] = [
    RailPlan(hosts_per_unit=8, radix=32),
    ClosPlan(16, (Layer(8, 4, 4),), 400),
    sized_clos(128, tiers=3, radix=16, link_gbps=400, host_gbps=200),
    PlanesPlan(RailPlan(hosts_per_unit=8, radix=32, link_gbps=200)),
    PlanesPlan(RailPlan(hosts_per_unit=8, radix=32), by="both"),
    dual_tor_plan(2, hosts_per_segment=8, rails=4, port_gbps=200, radix=16),
    dual_tor_plan(2, hosts_per_segment=8, rails=4, port_gbps=200, radix=16, planes=1),
    tapered_pods_plan(4, leaves_per_pod=2, ends_per_leaf=16, spines_per_pod=4),
    ZonesPlan(ClosPlan(16, (Layer(4, 4, 4),), 400), zones=2, joints=2, radix=8),
]


@pytest.mark.parametrize("plan", PLANS, ids=lambda plan: type(plan).__name__)
def test_every_family_stands_over_hosts_of_any_making(plan: Plan) -> None:
    """Each port a node of its own, rails in reverse: every port gets one cable, to a leaf of its rail and plane."""
    assembly = Assembly("given hosts")
    foreign = assembly.add_nodes(["foreign"], kind="accelerator")
    nics = add_adapters(assembly, 16, rails=8, gbps=200, hosts_per_unit=8)
    by_port = nics.node.reshape(16, 4, 2)[:, ::-1]
    names = np.array(["rail-d", "rail-c", "rail-b", "rail-a"])
    plan.over(assembly, HostPorts(by_port, 200, names))
    fabric = assembly.finish()
    degree = np.bincount(np.concatenate([fabric.link_a, fabric.link_b]), minlength=len(fabric.nodes))
    assert (degree[fabric.endpoints] == 1).all()
    assert degree[foreign] == 0
    rail_of, port_of = {}, {}
    for (_, rail, port), node in np.ndenumerate(by_port):
        rail_of[node], port_of[node] = names[rail], port
    plane_of: dict[str, set[tuple[str, int]]] = {}
    access = fabric.links.kind.is_any("access")
    for nic, leaf in zip(fabric.link_a[access].tolist(), fabric.link_b[access].tolist(), strict=True):
        assert fabric.nodes.rail[leaf] in (rail_of[nic], "")
        plane_of.setdefault(fabric.nodes.plane[leaf], set()).add((rail_of[nic], port_of[nic]))
    if isinstance(plan, PlanesPlan):
        ports_of_a_plane = {len(ports) for ports in plane_of.values()}
        assert ports_of_a_plane == ({4} if plan.by == "port" else {1})
        assert all(len({port for _, port in ports}) == 1 for ports in plane_of.values())


def test_spine_groups_by_rail_and_cores_that_reach_every_group() -> None:
    fabric = topo.load("nvidia-superpod-a100-7su")
    tier, a, b = fabric.nodes.tier, fabric.link_a, fabric.link_b
    low, high = (tier[a] == 1) & (tier[b] == 2), (tier[a] == 2) & (tier[b] == 3)
    for spine in fabric.select(tier=2):
        below = np.unique(a[low][b[low] == spine])
        assert len(below) == 7
        assert len(set(fabric.nodes.rail.values(below))) == 1
    for core in fabric.select(tier=3):
        groups, links = np.unique(fabric.nodes.pod.values(a[high][b[high] == core]), return_counts=True)
        assert (len(groups), set(links.tolist())) == (8, {5})


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: topo.multi_plane(64, planes=3), r"planes is 3.*800 Gb/s and 8 lanes; .*2 or 4"),
        (lambda: topo.multi_plane(64, planes=16), r"planes is 16.*nearest that does is 8"),
        (lambda: topo.multi_plane(10000, planes=2), r"10000 hosts do not fit .*at most 2048"),
        (lambda: topo.multi_plane(64, planes=2, hosts_per_unit=8), r"hosts_per_unit is 8, but planes that are a clos"),
        (
            lambda: topo.multi_plane(64, planes=2, tiers=3, breakout=2, uplink_breakout=2),
            r"uplink_breakout is 2 with 3 tiers.* use 2 tiers",
        ),
        (
            lambda: topo.rail_optimized(64, tiers=3, uplink_breakout=2),
            r"uplink_breakout is 2 with 3 tiers.* 2 times the radix",
        ),
        (lambda: topo.multi_plane(64, planes=2, breakout=0), r"breakout is 0; it must be a whole number"),
        (lambda: topo.multi_plane(64, planes=2, uplink_breakout=0), r"uplink_breakout is 0; it must be a whole number"),
        (lambda: topo.multi_plane(4096, planes=2, breakout=100), r"breakout of 100 .* at most 64 legs"),
        (
            lambda: topo.rail_only(70, tiers=1, radix=32, breakout=2),
            r"70 hosts do not fit one switch of 32 ports that 2",
        ),
        (lambda: topo.rail_only(5000), r"5000 hosts do not fit .*at most 2048"),
        (lambda: topo.rail_only(64, ports=5), r"ports is 5.*4 or 8"),
        (lambda: topo.dual_tor(15, pods=2), r"segments is 15, which does not fill 2 pods; use 14 or 16"),
        (lambda: topo.dual_tor(15, planes=3), r"planes is 3, but adapters on 2 leaves make 1 plane or 2"),
        (lambda: topo.dual_tor(15, backup_hosts=8, uplinks=64), r"128 ports cannot take 68 .*hosts_per_segment .* 120"),
        (lambda: topo.dual_tor(15, backup_hosts=8), r"hosts_per_segment can be at most 120, or uplinks at most 60"),
        (lambda: topo.dual_tor(4, tiers=3, core_uplinks=200), r"core_uplinks is 200, but a spine has 128 ports"),
        (lambda: topo.dual_tor(4, planes=1, join_rails=False), r"each of the 2 ports is a plane; use planes 2"),
        (lambda: topo.rail_optimized(64, hosts_per_unit=36, hosts_per_leaf=10), r"36, no multiple .* 10; use 30 or 40"),
        (lambda: topo.rail_optimized(64, tiers=3, spine_groups=2, core_planes=5), r"core_planes is 5.*8 spines.*use 4"),
        (lambda: topo.rail_optimized(64, spines_per_group=7), r"spines_per_group is 7.*nearest is 8"),
        (
            lambda: topo.tapered_pods(8, leaves_per_pod=12, hosts_per_leaf=16, spines_per_pod=5),
            r"spines_per_pod is 5, which does not divide the 16 uplinks of a leaf; use 4",
        ),
        (
            lambda: topo.tapered_pods(8, leaves_per_pod=64, hosts_per_leaf=16, spines_per_pod=16),
            r"spine_radix is 64, but 64 ports down and 64 up make 128",
        ),
        (
            lambda: topo.joined_zones(2, leaves=40, spines=20, hosts_per_leaf=25),
            r"zone-1-leaf-01 needs 46 ports but has a radix of 40",
        ),
        (lambda: given_width(0, 8, 8, 8, name="spines"), r"spines is 0"),
    ],
)
def test_refusals_name_both_numbers_and_the_nearest(build: Callable[[], object], message: str) -> None:
    with pytest.raises(topo.ParameterError, match=message):
        build()


def test_hosts_whose_rails_and_ports_do_not_add_up_are_refused() -> None:
    assembly = Assembly("mismatch")
    ports = add_adapters(assembly, 8, rails=4, gbps=400, hosts_per_unit=8)
    plan = RailPlan(hosts_per_unit=8, radix=32)
    with pytest.raises(topo.ParameterError, match="planes is 2, but these hosts have 1 ports an adapter; use 1 planes"):
        PlanesPlan(plan, planes=2).over(assembly, ports)
    with pytest.raises(topo.ParameterError, match="planes is 8, but these hosts have 4 rails; use 4"):
        PlanesPlan(plan, by="rail", planes=8).over(assembly, ports)
    with pytest.raises(topo.ParameterError, match="8 hosts do not divide over 3 zones; use 6 or 9"):
        ZonesPlan(ClosPlan(4, (Layer(2, 2),), 400), zones=3, joints=2, radix=8).over(assembly, ports)


def test_joints_without_a_cable_are_refused() -> None:
    with pytest.raises(topo.ParameterError, match="joints is 3, but a zone has 2 leaves .* use 2 joints or fewer"):
        topo.joined_zones(2, leaves=2, spines=2, hosts_per_leaf=2, joints=3)
    assert len(topo.joined_zones(2, leaves=2, spines=2, hosts_per_leaf=2, joints=2).switches) == 10


@pytest.mark.parametrize("units", [1, 2, 4, 8, 16])
def test_cables_of_two_planes_are_the_printed_ones(units: int) -> None:
    """The two cable columns are 512 a unit each: legs of one port of 800 Gb/s are one cable."""
    fabric = topo.load(f"nvidia-superpod-b300-spectrumx-{units}su")
    at_leaf = fabric.nodes.kind.is_any("switch") & (fabric.nodes.tier == 1)
    access = fabric.links.kind.is_any("access")
    for mine in (access, ~access):
        assert fabric.links.capacity_gbps[mine].sum() == 512 * units * 800
        cable = fabric.links.cable[mine]
        assert len(np.unique(cable[cable >= 0])) + (cable < 0).sum() == 512 * units
    assert topo.inventory(fabric).n_cables == 1024 * units
    on_switch = np.isin(fabric.ports.node, fabric.switches)
    in_cage = np.bincount(fabric.ports.cage[on_switch], weights=fabric.ports.gbps[on_switch])
    assert (in_cage[in_cage > 0] == 800).all() and (in_cage > 0).sum() == 64 * len(fabric.switches)
    split = fabric.links.cable >= 0
    leaf_end = np.where(at_leaf[fabric.link_a], fabric.links.port_a, fabric.links.port_b)[split]
    slots = {}
    for cable, port in zip(fabric.links.cable[split].tolist(), leaf_end.tolist(), strict=True):
        slots.setdefault(cable, []).append((int(fabric.ports.node[port]), str(fabric.ports.label[port])))
    for legs in slots.values():
        (node, first), (same, second) = sorted(legs)
        assert node == same and (first.split("/")[0], first[-2:], second[-2:]) == (second.split("/")[0], "/1", "/2")


def test_a_host_opened_and_closed_hangs_from_the_same_cables() -> None:
    closed, opened = (topo.load(f"nvidia-superpod-b300-spectrumx-1su{end}") for end in ("", "-dgx"))
    for ask in (lambda f: topo.inventory(f).n_cables, lambda f: topo.buildable(f).uses[0].used):
        assert ask(closed) == ask(opened)


@settings(deadline=None, max_examples=25)
@given(planes=st.sampled_from([1, 2, 4]), legs=st.sampled_from([1, 2, 4]), up=st.booleans(), hosts=st.integers(4, 128))
def test_split_ports_join_what_as_many_small_ports_join(planes: int, legs: int, up: bool, hosts: int) -> None:
    """Switches of r ports, each split into n, have the links of switches of r x n ports, and 1 / n of the cables."""
    above = legs if up else 1
    split = topo.multi_plane(hosts, planes=planes, radix=16, nic_gbps=200, breakout=legs, uplink_breakout=above)
    small = topo.multi_plane(hosts, planes=planes, nic_gbps=200, radix=16 * legs)
    rate = 200 / planes
    if above == legs:
        pairs = [
            np.sort(np.sort(np.stack([f.link_a, f.link_b], 1), axis=1).view("i4,i4"), axis=0) for f in (split, small)
        ]
        assert (pairs[0] == pairs[1]).all()
        assert (split.links.capacity_gbps == rate).all()
    leaf = split.nodes.tier == 1
    up_link = ~split.links.kind.is_any("access")
    down = np.bincount(split.link_b[~up_link], minlength=len(split.nodes))[leaf]
    lower = np.where(leaf[split.link_a], split.link_a, split.link_b)[up_link]
    whole = np.bincount(lower, weights=split.links.capacity_gbps[up_link], minlength=len(split.nodes))[leaf]
    assert (whole == 8 * legs * rate).all() and down.max() <= 8 * legs
    n_cables = planes * sum(-(-int(n) // legs) for n in down[: len(down) // planes]) + 8 * leaf.sum()
    assert topo.inventory(split).n_cables == n_cables
    assert_sound(split)


def test_rail_only_takes_breakouts_too() -> None:
    fabric = topo.rail_only(64, rails=2, ports=2, nic_gbps=800, radix=32, tiers=1, breakout=2, ports_per_cage=1)
    assert len(fabric.switches) == 4
    assert topo.inventory(fabric).n_cables == 4 * 32
    assert topo.buildable(fabric).uses[0].used == ((64, 400.0),)
    assert len(np.unique(fabric.ports.cage[fabric.links.port_b])) == 4 * 32


def test_bisection_of_a_pod_over_many_planes_is_certified() -> None:
    """Every catalogue fabric here that states a bisection has it exactly; the largest is stated, too."""
    expected = {row[0]: dict(topo.load(row[0]).origin.expect) for row in ROWS if row[1] < 20000}
    assert all("bisection_gbps" in numbers for numbers in expected.values())
    for name in ("alibaba-hpn-pod", "nvidia-superpod-b300-spectrumx-4su", "nvidia-superpod-gb200-2su"):
        fabric = topo.load(name)
        found = topo.bisection_bandwidth(fabric)
        assert found.exact
        assert found.upper_gbps == expected[name]["bisection_gbps"].value
