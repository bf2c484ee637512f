"""Composition: what forwards for whom when hosts, racks, planes and a storage network are one fabric."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import coo_array
from scipy.sparse.csgraph import breadth_first_order

import topo
from topo.analysis.attachments import attachments
from topo.analysis.cuts import usable_arcs
from topo.build.cluster import ClusterHosts, StorageNetwork, cluster
from topo.build.planes import Plan, PlanesPlan
from topo.build.plans import PLANS, ClosOver, RailsOver
from topo.build.rail import RailPlan
from topo.fabric import Fabric, State
from topo.network import Network


def gpu(host: int, number: int) -> str:
    """Name of an accelerator among fewer than ten hosts."""
    return f"host-{host}-gpu-{number}"


def hops(fabric: Fabric, a: int, b: int) -> int:
    """Fewest links from a to b over the arcs their traffic may use; 0 where there is no path."""
    network = Network.of(fabric)
    tail, head, _ = usable_arcs(network, np.array([a]), np.array([b]))
    n = len(fabric.nodes)
    graph = coo_array((np.ones(len(tail), np.int8), (tail, head)), shape=(n, n)).tocsr()
    order, before = breadth_first_order(graph, a, directed=True)
    if b not in order:
        return 0
    count, node = 0, b
    while node != a:
        count, node = count + 1, int(before[node])
    return count


BUILT = {
    "dgx-h100 rail-optimized": (ClusterHosts("dgx-h100", 3), RailPlan(hosts_per_unit=2, radix=16, uplinks=4)),
    "dgx-a100 rail-only": (ClusterHosts("dgx-a100", 2), RailsOver(tiers=1, radix=8, link_gbps=200)),
    "nvl72 closed rail-only": (
        ClusterHosts("gb200-nvl72", 2, inside=False, hosts_per_domain=2),
        RailsOver(tiers=1, radix=8),
    ),
    "nvl72 opened rail-only": (ClusterHosts("gb200-nvl72", 2, hosts_per_domain=2), RailsOver(tiers=1, radix=8)),
    "ualink rail-only": (ClusterHosts("ualink-pod", 2, hosts_per_domain=2), RailsOver(tiers=1, radix=8)),
    "pcie": (ClusterHosts("hgx-pcie-8", 2), ClosOver(tiers=1, radix=8)),
    "gaudi3 three planes": (ClusterHosts("gaudi3", 2), PlanesPlan(ClosOver(tiers=1, radix=16), planes=3)),
}


@pytest.mark.parametrize("name", BUILT)
def test_distances_are_those_of_the_arcs_that_traffic_may_use(name: str) -> None:
    """Every pair of accelerators: paths() against a search over the arcs of min_cut()."""
    fabric = cluster(*BUILT[name])
    ends = fabric.endpoints.tolist()
    counted: dict[int, int] = {}
    for i, a in enumerate(ends):
        for b in ends[i + 1 :]:
            found = hops(fabric, a, b)
            counted[found] = counted.get(found, 0) + 1
    paths = topo.inventory(fabric).paths
    assert paths.n_disconnected_pairs == counted.pop(0, 0)
    assert paths.pairs_by_hops == counted


def test_rail_only_pairs_of_two_rails_meet_in_a_scale_up_domain_alone() -> None:
    fabric = cluster(ClusterHosts("dgx-h100", 4), RailsOver(tiers=1, radix=8))
    assert topo.min_cut(fabric, gpu(1, 1), gpu(4, 8)).capacity_gbps == 8 * 400
    without = ["access", "scale_out", "host_io"]
    with pytest.raises(topo.DisconnectedError):
        topo.min_cut(fabric, gpu(1, 1), gpu(4, 8), kinds=without)
    assert topo.min_cut(fabric, gpu(1, 8), gpu(4, 8), kinds=without).capacity_gbps == 400
    down = State.without(fabric, nodes="*-nvswitch-*")
    with pytest.raises(topo.DisconnectedError):
        topo.min_cut(fabric, gpu(1, 1), gpu(4, 8), state=down)
    apart = topo.inventory(fabric, kinds=without)
    assert sorted(apart.component_sizes) == [4] * 8, "one part a rail"
    assert topo.inventory(fabric).paths.n_disconnected_pairs == 0


def test_a_ualink_pod_stands_under_a_fabric_like_any_other_domain() -> None:
    """Its accelerators are their own adapters: four a host, so that much leaves a host whichever rail is asked for."""
    fabric = cluster(ClusterHosts("ualink-pod", 2, hosts_per_domain=4), RailsOver(tiers=1, radix=8))
    first, other, last = (int(row) for row in fabric.endpoints[[0, 5, -1]])
    assert (fabric.nodes.rail[first], fabric.nodes.rail[last]) == ("rail-1", "rail-4")
    assert topo.min_cut(fabric, first, last).capacity_gbps == 4 * 400
    assert topo.min_cut(fabric, first, other, kinds=["scale_up"]).capacity_gbps == 4 * 800


def test_adapters_alone_leave_the_rails_apart() -> None:
    fabric = cluster(ClusterHosts("dgx-h100", 4, inside=False), RailsOver(tiers=1, radix=8))
    found = topo.inventory(fabric)
    assert found.paths.pairs_by_hops == {2: 8 * 6}
    assert found.paths.n_disconnected_pairs == 32 * 31 // 2 - 48
    with pytest.raises(topo.DisconnectedError):
        topo.min_cut(fabric, "host-1-nic-1", "host-2-nic-2")


def test_a_rack_under_rail_only_relays_in_its_own_trays() -> None:
    fabric = cluster(ClusterHosts("gb200-nvl72", 2, inside=False), RailsOver(tiers=1, radix=64))
    cut = topo.min_cut(fabric, "gb200-nvl72-1-host-01-gpu-1", "gb200-nvl72-2-host-18-gpu-4")
    assert cut.capacity_gbps == 4 * 400, "the adapters of the tray, not those of the rack's other trays"
    with pytest.raises(topo.DisconnectedError, match="36, 36, 36, 36"):
        topo.min_cut(fabric, "gb200-nvl72-1-host-01-gpu-1", "gb200-nvl72-2-host-18-gpu-4", kinds=["access"])


def test_two_hosts_whose_last_planes_differ_are_disconnected() -> None:
    fabric = cluster(
        ClusterHosts("dgx-b300", 3, inside=False, ports_per_adapter=2),
        PlanesPlan(ClosOver(tiers=1, radix=64), planes=2),
    )
    plane = fabric.nodes.plane
    of_switch = np.where(fabric.nodes.kind.is_any("switch")[fabric.link_b], fabric.link_b, fabric.link_a)
    host = fabric.nodes.host.values(fabric.link_a)
    first, second = plane.is_any("plane-1")[of_switch], plane.is_any("plane-2")[of_switch]
    assert (first | second).all()
    lost = np.flatnonzero(((host == "host-1") & first) | ((host == "host-2") & second))
    state = State.without(fabric, links=lost)
    for other in ("host-1-nic-*", "host-2-nic-*"):
        # A third host keeps both planes, so that each still reaches it.
        assert topo.min_cut(fabric, other, "host-3-nic-*", state=state).capacity_gbps == 8 * 400
    with pytest.raises(topo.DisconnectedError):
        topo.min_cut(fabric, "host-1-nic-*", "host-2-nic-*", state=state)


@pytest.mark.parametrize("third", ["adapters", "pcie"])
def test_no_flow_relays_through_an_idle_host(third: str) -> None:
    """Opened hosts on two planes: host 3 alone has both, and neither its adapters nor its PCIe join the others."""
    fabric = cluster(ClusterHosts("dgx-b300", 3, ports_per_adapter=2), PlanesPlan(ClosOver(tiers=1, radix=64)))
    plane = fabric.nodes.plane
    of_switch = np.where(fabric.nodes.kind.is_any("switch")[fabric.link_b], fabric.link_b, fabric.link_a)
    host = fabric.nodes.host.values(fabric.link_a)
    lost = ((host == "host-1") & plane.is_any("plane-1")[of_switch]) | (
        (host == "host-2") & plane.is_any("plane-2")[of_switch]
    )
    if third == "pcie":  # the two planes end in different adapters of host 3, so that only its PCIe joins them
        adapter = fabric.nodes.name[fabric.link_a] == "host-3-nic-1"
        lost |= adapter & plane.is_any("plane-1")[of_switch]
    state = State.without(fabric, links=np.flatnonzero(lost))
    assert topo.min_cut(fabric, gpu(1, 1), gpu(3, 1), state=state).capacity_gbps > 0
    assert topo.min_cut(fabric, gpu(2, 1), gpu(3, 1), state=state).capacity_gbps > 0
    with pytest.raises(topo.DisconnectedError):
        topo.min_cut(fabric, gpu(1, 1), gpu(2, 1), state=state)


def test_relays_inside_source_and_destination_host_work() -> None:
    fabric = cluster(ClusterHosts("dgx-h100", 4), RailPlan(hosts_per_unit=4, radix=8))
    assert topo.min_cut(fabric, gpu(1, 1), gpu(4, 1)).capacity_gbps == 8 * 400
    own = State.without(fabric, nodes="host-1-nic-8")  # the adapter of GPU 1
    assert topo.min_cut(fabric, gpu(1, 1), gpu(4, 1), state=own).capacity_gbps == 7 * 400


def with_storage(hosts: int = 8) -> Fabric:
    """DGX H100 hosts, opened, with a storage network."""
    return cluster(
        ClusterHosts("dgx-h100", hosts),
        RailPlan(hosts_per_unit=8, radix=16),
        storage=StorageNetwork(servers=4, radix=8),
    )


def test_compute_never_crosses_storage() -> None:
    fabric, bare = with_storage(), cluster(ClusterHosts("dgx-h100", 8), RailPlan(hosts_per_unit=8, radix=16))
    storage = fabric.links.kind.is_any("storage")
    assert int(storage.sum()) > 0
    nics = fabric.select("*-storage-nic-*")
    on_storage = np.concatenate([fabric.link_a[storage], fabric.link_b[storage]])
    assert np.isin(nics, on_storage).all() and len(nics) == 16
    compute = np.concatenate([fabric.link_a[~storage], fabric.link_b[~storage]])
    switches = fabric.select(kind="storage_switch")
    assert not np.isin(switches, compute).any() and len(switches) > 0
    assert not np.isin(fabric.switches, on_storage).any()
    assert "storage" not in topo.inventory(fabric).kinds
    leaves_down = State.without(fabric, nodes=fabric.select(kind="switch", tier=1))
    with pytest.raises(topo.DisconnectedError):
        topo.min_cut(fabric, gpu(1, 1), gpu(8, 1), state=leaves_down)
    for one in (fabric, bare):
        assert topo.min_cut(one, gpu(1, 1), gpu(8, 1)).capacity_gbps == 3200
    assert topo.bisection_bandwidth(fabric).upper_gbps == topo.bisection_bandwidth(bare).upper_gbps


def test_storage_reaches_every_server_from_every_host() -> None:
    fabric = with_storage()
    cut = topo.min_cut(fabric, "host-1-storage-nic-*", "storage-4", kinds=["storage"])
    assert cut.capacity_gbps == 2 * 400
    leaf = np.where(np.isin(fabric.link_a, fabric.select(kind="storage_switch")), fabric.link_a, fabric.link_b)
    of_host = np.flatnonzero(fabric.nodes.host.is_any("host-1")[fabric.link_a] & fabric.links.kind.is_any("storage"))
    assert len(set(leaf[of_host])) == 2, "the two adapters of a host are on two leaves"


def test_cages_and_rails_of_an_opened_host() -> None:
    fabric = cluster(ClusterHosts("dgx-h100", 2), RailPlan(hosts_per_unit=2, radix=8))
    access = fabric.links.kind.is_any("access")
    nic = fabric.nodes.kind.is_any("nic")[fabric.link_a[access]]
    near = np.where(nic, fabric.links.port_a[access], fabric.links.port_b[access])
    far = np.where(nic, fabric.link_b[access], fabric.link_a[access])
    rail = fabric.nodes.rail.values(fabric.ports.node[near])
    assert (rail == fabric.nodes.rail.values(far)).all()
    cage = fabric.ports.cage[near]
    assert (cage >= 0).all() and set(np.bincount(cage - cage.min())) == {2}
    shared = {frozenset(rail[cage == c].tolist()) for c in np.unique(cage)}
    assert shared == {frozenset(f"rail-{r}" for r in pair) for pair in ((8, 5), (7, 6), (3, 2), (4, 1))}, (
        "two rails share each cage, as in table 6 of the user guide"
    )


@pytest.mark.parametrize("units", [1, 2, 4, 8, 16])
def test_nvl72_racks_under_the_published_superpod(units: int) -> None:
    """RA-11338-001: leaves, spines and cores of each size, 36, 48 and 64 ports of them in use."""
    plan = RailPlan(
        hosts_per_unit=144, hosts_per_leaf=18, uplinks=18, tiers=3 if units > 1 else 2, spine_groups=4 * units
    )
    fabric = cluster(ClusterHosts("gb200-nvl72", 8 * units), plan)
    tier = np.bincount(fabric.nodes.tier[fabric.switches], minlength=4)[1:].tolist()
    assert len(fabric.endpoints) == 576 * units
    if units > 1:
        assert tier == [32 * units, 24 * units, 9 * units]
        used = np.bincount(np.concatenate([fabric.link_a, fabric.link_b]), minlength=len(fabric.nodes))
        for level, ports in ((1, 36), (2, 48), (3, 64)):
            assert set(used[fabric.select(kind="switch", tier=level)]) == {ports}
    racks = fabric.nodes.domain.codes
    up = fabric.links.kind.is_any("scale_up")
    assert (racks[fabric.link_a[up]] == racks[fabric.link_b[up]]).all()
    assert int(up.sum()) == 1296 * 8 * units


def test_a_dgx_superpod_of_opened_hosts_has_the_bisection_of_its_adapters() -> None:
    fabric = topo.load("nvidia-superpod-h100-4su-dgx")
    for keep in ("host", "domain"):
        answer = topo.bisection_bandwidth(fabric, keep=keep)
        assert answer.exact and answer.upper_gbps == answer.full_gbps == 504 * 400


def test_one_leaf_of_one_plane_lost_leaves_an_adapter_half_its_rate() -> None:
    fabric = topo.load("nvidia-superpod-b300-spectrumx-1su-dgx")
    ends = ("host-01-nic-1", "host-64-nic-1")
    whole = topo.min_cut(fabric, *ends, kinds=["access", "scale_out"])
    rail = fabric.nodes.rail[int(fabric.rows("host-01-nic-1")[0])]
    leaf = fabric.select(kind="switch", tier=1, rail=rail, plane="plane-1")
    lost = State.without(fabric, nodes=leaf)
    half = topo.min_cut(fabric, *ends, kinds=["access", "scale_out"], state=lost)
    assert (len(leaf), whole.capacity_gbps, half.capacity_gbps) == (1, 800, 400)


COMPOSED = [
    "nvidia-superpod-a100-256",
    "nvidia-superpod-b300-spectrumx-1su-dgx",
    "nvidia-superpod-gb200-2su-nvl72",
    "nvidia-superpod-gb300-16su-nvl72",
    "nvidia-superpod-h100-4su-dgx",
]


def test_gb300_racks_hang_from_the_switches_of_their_adapters_alone() -> None:
    """Opened or closed, the same leaves and spines; 1,296 links and 18 chips more for each of 8 racks a unit."""
    closed, opened = (topo.load(f"nvidia-superpod-gb300-16su{end}") for end in ("", "-nvl72"))
    assert topo.buildable(closed).uses == tuple(
        use for use in topo.buildable(opened).uses if use.tier_name in ("leaf", "spine")
    )
    assert int(opened.links.kind.is_any("scale_up").sum()) == 16 * 8 * 1296
    nics = opened.nodes.kind.is_any("nic")
    assert (int(nics.sum()), len(opened.endpoints)) == (9216, 9216)
    spread = {}
    for end, leaf in zip(opened.link_a, opened.link_b, strict=True):
        if nics[end] and opened.nodes.tier[leaf] == 1:
            spread.setdefault(int(leaf), set()).add((opened.nodes.pod[int(end)], opened.nodes.rail[int(end)]))
    assert len(spread) == 128 and all(len(one) == 1 for one in spread.values())


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: cluster(ClusterHosts("dgx", 2), ClosOver()), "template is 'dgx', which is no server, rack or pod"),
        (lambda: cluster(ClusterHosts("dgx-h100", 0), ClosOver()), "count is 0; it must be a whole number"),
        (
            lambda: cluster(ClusterHosts("dgx-b300", 2, ports_per_adapter=3), PlanesPlan(ClosOver())),
            r"ports_per_adapter is 3, but an adapter of 800 Gb/s splits into .* the nearest that works is 2",
        ),
        (
            lambda: cluster(ClusterHosts("dgx-b300", 2, ports_per_adapter=2), PlanesPlan(ClosOver(), planes=4)),
            "planes is 4, but these hosts have 2 ports an adapter; use 2 planes",
        ),
        (
            lambda: cluster(ClusterHosts("gb200-nvl72", 1, hosts_per_domain=19), ClosOver()),
            r"hosts_per_domain is 19: 76 accelerators need 76 ports .* has 72; at most 18 hosts",
        ),
        (
            lambda: cluster(ClusterHosts("dgx-h100", 2, hosts_per_domain=2), ClosOver()),
            "hosts_per_domain is 2, but dgx-",
        ),
        (
            lambda: cluster(ClusterHosts("dgx-h100", 2, inside=False), ClosOver(), storage=StorageNetwork(servers=2)),
            "storage needs adapters of its own, and dgx-h100 here keeps them out; open the hosts with inside: true",
        ),
        (
            lambda: cluster(ClusterHosts("mi300x-8", 2), ClosOver(), storage=StorageNetwork(servers=2)),
            "mi300x-8 here has none; leave the storage network out",
        ),
    ],
)
def test_refusals_name_both_numbers_and_the_way_out(build, message: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(topo.ParameterError, match=message):
        build()


SPEC = """name: mine
title: A cluster
operator: us
sources:
  - text: own
    label: D
builder: cluster
parameters:
  hosts:
    template: dgx-h100
    count: 4
  scale_out:
    builder: rail_optimized
    hosts_per_unit: 4
    radix: 16
    link_gbps: 400G
"""


def load(folder: Path, text: str) -> Fabric:
    """The fabric of a spec's text."""
    path = folder / "mine.yaml"
    path.write_text(text, "utf-8")
    return topo.load(path)


def test_a_cluster_is_one_spec_file(tmp_path: Path) -> None:
    storage = "  storage:\n    servers: 2\n    radix: 8\n"
    fabric = load(tmp_path, SPEC + storage)
    again = cluster(
        ClusterHosts("dgx-h100", 4), RailPlan(hosts_per_unit=4, radix=16), storage=StorageNetwork(servers=2, radix=8)
    )
    assert fabric.equals(again)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("count: 4", "count: four", r"mine.yaml:11: key parameters.hosts.count: 'four' is not a whole number"),
        ("count: 4", "cuont: 4", r"mine.yaml:11: key parameters.hosts.cuont: .*did you mean 'count'"),
        ("    count: 4\n", "", r"mine.yaml:9: key parameters.hosts: count is missing; cluster hosts needs template"),
        ("dgx-h100", "dgx-h10", r"mine.yaml:10: key parameters.hosts.template: template is 'dgx-h10'.*'dgx-h100'"),
        ("    builder: rail_optimized\n", "", r"mine.yaml:12: key parameters.scale_out: builder is missing; .*clos"),
        ("rail_optimized", "rail_optimised", r"mine.yaml:13: key parameters.scale_out.builder: .*'rail_optimized'"),
        ("radix: 16", "radius: 16", r"mine.yaml:15: key parameters.scale_out.radius: is not a parameter of rail_opt"),
        ("400G", "fast", r"mine.yaml:16: key parameters.scale_out.link_gbps: .*fast"),
        ("hosts_per_unit: 4", "hosts_per_unit: 20", r"mine.yaml:14: key parameters.scale_out.hosts_per_unit: .*most"),
        ("count: 4", "count: 1000000", r"mine.yaml:8: key parameters: would make about .*e\+08 ports"),
        ("radix: 16", "radix: 1000000000", r"mine.yaml:8: key parameters: would make about .* ports"),
        ("count: 4", "count: 0", r"mine.yaml:11: key parameters.hosts.count: count is 0"),
        ("  hosts:\n    template: dgx-h100\n    count: 4", "  hosts: 4", r"mine.yaml:9: key parameters.hosts: 4 is"),
        ("radix: 16", "switch_part: qm9700", r"mine.yaml:15: .*it is a key of the spec itself, at the top"),
    ],
)  # fmt: skip
def test_errors_inside_parameters_name_their_line(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in SPEC
    with pytest.raises(topo.InputError, match=message):
        load(tmp_path, SPEC.replace(old, new, 1))


def test_every_plan_stands_over_hosts_of_any_making() -> None:
    given: dict[str, Plan] = {
        "clos": ClosOver(tiers=2, radix=16),
        "multi_plane": PlanesPlan(ClosOver(tiers=1, radix=64)),
        "rail_only": RailsOver(tiers=2, radix=8),
        "rail_optimized": RailPlan(hosts_per_unit=2, radix=32, uplinks=8),
    }
    assert given.keys() == PLANS.keys()
    for name, plan in given.items():
        assert isinstance(plan, PLANS[name])
        for hosts in (ClusterHosts("dgx-h100", 4), ClusterHosts("gb200-nvl72", 2, hosts_per_domain=2)):
            fabric = cluster(hosts, plan)
            adapters = fabric.select(kind="nic", rail="rail-*")
            access = fabric.links.kind.is_any("access")
            wired = np.unique(np.concatenate([fabric.link_a[access], fabric.link_b[access]]))
            assert np.isin(adapters, wired).all()
            assert len(attachments(Network.of(fabric)).endpoints) == len(fabric.endpoints)
