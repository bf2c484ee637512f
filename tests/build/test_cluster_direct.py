"""Pods without switches under a scale-out fabric: their members relay for each other, never for another pod."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.sparse import lil_array

import topo
from topo.analysis.attachments import attachments
from topo.build.cluster import ClusterHosts, StorageNetwork, cluster
from topo.build.planes import Plan, PlanesPlan
from topo.build.plans import ClosOver, RailsOver
from topo.build.rail import RailPlan
from topo.build.scale_up_mesh import DirectDomain, full_mesh_pod
from topo.fabric import FORWARDS_OWN_HOST, Fabric, State
from topo.network import Network
from topo.routing.loads import link_loads
from topo.routing.scheme import Routing
from topo.traffic import all_to_all
from topo.traffic.demand import Block, Demand
from topo.traffic.patterns import shift


def mesh(count: int, dims: list[int], plan: Plan, *, nic: float = 400, link: float = 800, **more: int) -> Fabric:
    """Full-mesh pods under a scale-out fabric."""
    direct = DirectDomain(dims=dims, link_gbps=link, nic_gbps=nic)
    return cluster(ClusterHosts("full-mesh-pod", count, direct=direct, **more), plan)  # type: ignore[arg-type]


def torus(count: int, dims: list[int], plan: Plan, *, nic: float = 400, link: float = 800) -> Fabric:
    """Tori whose hosts are rows of two, under a scale-out fabric."""
    direct = DirectDomain(dims=dims, link_gbps=link, nic_gbps=nic, host_dims=[2] + [1] * (len(dims) - 1))
    return cluster(ClusterHosts("accelerator-torus", count, direct=direct), plan)


def slices(count: int, dims: list[int], plan: Plan) -> Fabric:
    """TPU slices under a scale-out fabric."""
    direct = DirectDomain(dims=dims, link_gbps=400, nic_gbps=100)
    return cluster(ClusterHosts("tpu-slice", count, direct=direct), plan)


Rates = dict[tuple[int, int], float]


def rates_of(network: Network) -> Rates:
    """Rates from node to node, parallel links summed."""
    rate: Rates = {}
    for a, b, gbps in zip(network.a.tolist(), network.b.tolist(), network.capacity_gbps.tolist(), strict=True):
        for pair in ((a, b), (b, a)):
            rate[pair] = rate.get(pair, 0.0) + gbps
    return rate


def without_foreign_pods(fabric: Fabric, source: int, sink: int, rates: Rates) -> Rates:
    """The ways left once every pod that holds neither end is taken out.

    Between two pods nothing comes back into the source's, and what came into the sink's stays there.
    """
    host = fabric.nodes.host.values()
    mine = {"", str(host[source]), str(host[sink])}
    across = host[source] != host[sink]
    return {
        (a, b): gbps
        for (a, b), gbps in rates.items()
        if host[a] in mine
        and host[b] in mine
        and not (across and host[a] == "" and host[b] == host[source])
        and not (across and host[b] == "" and host[a] == host[sink])
    }


def largest_flow(fabric: Fabric, source: int, sink: int, state: State | None) -> float:
    """Maximum flow with foreign pods removed."""
    graph = nx.DiGraph()
    graph.add_nodes_from((source, sink))
    for (a, b), gbps in without_foreign_pods(fabric, source, sink, rates_of(Network.of(fabric, state=state))).items():
        graph.add_edge(a, b, capacity=gbps)
    return float(nx.maximum_flow_value(graph, source, sink))


def largest_share(fabric: Fabric, pairs: list[tuple[int, int, float]]) -> float:
    """Maximum concurrent flow as one linear program, each pair on its own ways without foreign pods."""
    rates = rates_of(Network.of(fabric))
    arcs = list(rates)
    n, m, k = len(fabric.nodes), len(arcs), len(pairs)
    balance, limit = lil_array((n * k, m * k + 1)), lil_array((m, m * k + 1))
    bounds: list[tuple[float, float | None]] = []
    for i, (source, sink, gbps) in enumerate(pairs):
        mine = without_foreign_pods(fabric, source, sink, rates)
        for j, (a, b) in enumerate(arcs):
            balance[i * n + a, i * m + j] += 1
            balance[i * n + b, i * m + j] -= 1
            limit[j, i * m + j] = 1
            bounds.append((0, None if (a, b) in mine else 0))
        balance[i * n + source, m * k] = -gbps
        balance[i * n + sink, m * k] = gbps
    cost = np.zeros(m * k + 1)
    cost[-1] = -1
    found = linprog(
        cost,
        A_ub=limit.tocsr(),
        b_ub=[rates[arc] for arc in arcs],
        A_eq=balance.tocsr(),
        b_eq=np.zeros(n * k),
        bounds=[*bounds, (0, None)],
    )
    return float(found.x[-1])


def test_a_pod_is_one_host_of_accelerators_with_a_port_each() -> None:
    fabric = mesh(3, [4, 2, 2], ClosOver(tiers=2, radix=16))
    alone = full_mesh_pod([4, 2, 2], link_gbps=800)
    nodes, ends = fabric.nodes, fabric.endpoints
    assert len(ends) == 3 * 16 and (nodes.forwards[ends] == FORWARDS_OWN_HOST).all()
    assert sorted(set(nodes.host.values(ends))) == ["pod-1", "pod-2", "pod-3"]
    assert (nodes.host.values() == nodes.domain.values()).all()
    inside = fabric.links.kind.is_any("scale_up")
    assert int(inside.sum()) == 3 * len(alone.links) == 3 * 16 * (3 + 1 + 1) // 2
    assert (nodes.host.codes[fabric.link_a[inside]] == nodes.host.codes[fabric.link_b[inside]]).all()
    access = fabric.links.kind.is_any("access")
    assert np.bincount(fabric.link_a[access], minlength=len(nodes))[ends].tolist() == [1] * 48
    assert set(nodes.rail.values(ends)) == {f"rail-{i}" for i in range(1, 5)}, "a row is a host of the scale-out"
    assert len(set(nodes.rack.values(ends))) == 3 * 2
    assert fabric.origin.assumptions == (
        "The accelerators of a pod relay for each other only: a pod is one host, and no other's traffic enters it.",
    )


@pytest.mark.parametrize(("taper", "most"), [(1.0, 1600), (3.0, 800)])
def test_between_pods_there_is_the_scale_out_alone(taper: float, most: float) -> None:
    """Six links of 3.2 Tb/s leave each accelerator inside, one of 100 Gb/s above: those above are the cut.

    Tapered 3:1, pod 1 is 12 ports under a leaf with 4 links up, and 4 ports under the leaf of 8 of pod 2.
    """
    plan = ClosOver(tiers=2, radix=16, taper=taper, link_gbps=100)
    fabric = mesh(3, [4, 4], plan, nic=100, link=3200)
    alone = mesh(2, [4, 4], plan, nic=100, link=3200)
    for one in (fabric, alone):
        assert topo.min_cut(one, "pod-1-*", "pod-2-*").capacity_gbps == most
    if taper == 1:
        halves = topo.bisection_bandwidth(alone)
        assert halves.exact and halves.upper_gbps == halves.full_gbps == 16 * 100


def test_an_accelerator_borrows_the_ports_of_its_own_pod() -> None:
    """Over its six neighbours in the mesh the ports of all 16 members are its own; by itself it has one."""
    fabric = mesh(2, [4, 4], ClosOver(tiers=1, radix=32), nic=100)
    a, b = "pod-1-host-1-npu-1", "pod-2-host-4-npu-4"
    assert topo.min_cut(fabric, a, b).capacity_gbps == 16 * 100
    assert topo.min_cut(fabric, a, b, kinds=["access"]).capacity_gbps == 100
    assert topo.min_cut(fabric, a, "pod-1-host-4-npu-4", kinds=["scale_up"]).capacity_gbps == 6 * 800
    with pytest.raises(topo.DisconnectedError):
        topo.min_cut(fabric, a, b, kinds=["scale_up"])


def crossed(fabric: Fabric) -> State:
    """Pod 1 keeps rail 1 alone, pod 2 rail 2 alone; pod 3 has both."""
    host, rail = fabric.nodes.host.values(fabric.link_a), fabric.nodes.rail.values(fabric.link_a)
    lost = ((host == "pod-1") & (rail == "rail-2")) | ((host == "pod-2") & (rail == "rail-1"))
    return State.without(fabric, links=np.flatnonzero(lost & fabric.links.kind.is_any("access")))


def test_no_pod_relays_for_another() -> None:
    fabric = mesh(3, [2, 2], RailsOver(tiers=1, radix=8))
    state = crossed(fabric)
    for pair in (("pod-1-*", "pod-3-*"), ("pod-2-*", "pod-3-*")):
        assert topo.min_cut(fabric, *pair, state=state).capacity_gbps == 2 * 400
    with pytest.raises(topo.DisconnectedError):
        topo.min_cut(fabric, "pod-1-*", "pod-2-*", state=state)
    loads = link_loads(fabric, all_to_all(fabric), state=state)
    assert loads.lost_pairs == 2 * 4 * 4
    found = topo.throughput(fabric, all_to_all(fabric), routing="optimal", state=state)
    assert found.lost_pairs == 2 * 4 * 4
    assert topo.inventory(fabric, state=state).paths.n_disconnected_pairs == 4 * 4


MADE = {
    "mesh": lambda: mesh(3, [2, 3], RailsOver(tiers=1, radix=16), nic=100, link=50),
    "mesh, two tiers": lambda: mesh(3, [2, 2], ClosOver(tiers=2, radix=8, taper=3, link_gbps=400), link=100),
    "torus": lambda: torus(3, [4, 3], RailsOver(tiers=1, radix=32), nic=100, link=60),
    "slices": lambda: slices(2, [2, 2, 4], ClosOver(tiers=1, radix=32)),
}


@pytest.mark.parametrize(
    ("make", "chosen"),
    [
        (lambda: mesh(2, [2, 2], ClosOver(tiers=2, radix=8, taper=3, link_gbps=100), nic=100, link=30), range(8)),
        (lambda: torus(2, [4], RailsOver(tiers=1, radix=32), nic=100, link=20), range(8)),
        (lambda: mesh(3, [4, 2], RailsOver(tiers=1, radix=32), nic=100, link=70), (0, 1, 5, 8, 9, 15)),
        (lambda: torus(2, [6], RailsOver(tiers=1, radix=32), nic=100, link=20), (0, 2, 3, 6, 8, 9)),
    ],
)
def test_bisection_brackets_the_least_of_all_even_splits(make, chosen) -> None:  # type: ignore[no-untyped-def]
    """Every split by itself, pods kept whole or not; members that take no part relay for their own pod."""
    fabric = make()
    ends = [int(row) for row in fabric.endpoints[list(chosen)]]
    cuts = {}
    for half in combinations(ends[1:], len(ends) // 2 - 1):
        one = {ends[0], *half}
        cuts[frozenset(one)] = topo.min_cut(fabric, sorted(one), sorted(set(ends) - one)).capacity_gbps
    pods = fabric.nodes.host.codes
    whole = [cut for one, cut in cuts.items() if not set(pods[list(one)]) & set(pods[list(set(ends) - one)])]
    for keep, least in (("none", min(cuts.values())), ("host", min(whole))):
        found = topo.bisection_bandwidth(fabric, ends, keep=keep)
        assert found.lower_gbps <= least * (1 + 1e-9) and least <= found.upper_gbps * (1 + 1e-9)


@pytest.mark.parametrize("name", MADE)
@pytest.mark.parametrize("seed", range(4))
def test_minimum_cuts_are_flows_without_the_foreign_pods(name: str, seed: int) -> None:
    fabric, rng = MADE[name](), np.random.default_rng(seed)
    state = State.without(fabric, links=np.flatnonzero(rng.random(len(fabric.links)) < 0.2)) if seed else None
    for _ in range(12):
        a, b = (int(row) for row in rng.choice(fabric.endpoints, 2, replace=False))
        most = largest_flow(fabric, a, b, state)
        if most:
            assert topo.min_cut(fabric, a, b, state=state).capacity_gbps == pytest.approx(most)
        else:
            with pytest.raises(topo.DisconnectedError):
                topo.min_cut(fabric, a, b, state=state)


@pytest.mark.parametrize("name", ["mesh", "mesh, two tiers"])
@pytest.mark.parametrize("more", [1, 2])
def test_throughput_is_the_linear_program_without_the_foreign_pods(name: str, more: int) -> None:
    """Every endpoint sends to one in the next pod."""
    fabric = MADE[name]()
    demand = shift(fabric, by=len(fabric.endpoints) // 3 + more)
    best = largest_share(fabric, list(zip(*(column.tolist() for column in demand.pairs()), strict=True)))
    found = topo.throughput(fabric, demand, routing="optimal")
    assert found.theta_lower <= best * (1 + 1e-6) and best <= found.theta_upper * (1 + 1e-6)
    assert found.theta_upper - found.theta_lower <= 0.011 * found.theta_upper


def loads_of(fabric: Fabric, pxn: str) -> dict[str, set[float]]:
    """All-to-all of 1 Gb/s a pair: the loads of arcs along rows, along columns, out of and into accelerators."""
    everyone = Block.of(fabric.endpoints, fabric.endpoints, 1.0)
    found = link_loads(fabric, Demand.of(fabric, "all", blocks=(everyone,)), routing=Routing(pxn=pxn))
    a, b, nodes = fabric.link_a, fabric.link_b, fabric.nodes
    inside = fabric.links.kind.is_any("scale_up")
    row = inside & (nodes.rail.codes[a] != nodes.rail.codes[b])
    loads = found.arc_gbps.reshape(-1, 2)
    kinds = {"row": row, "column": inside & ~row, "access": ~inside}
    assert not found.lost_pairs
    return {kind: set(np.round(loads[mine], 9).ravel().tolist()) for kind, mine in kinds.items()}


def test_all_to_all_on_one_switch() -> None:
    """Pods of 2 x 2: neighbours over their link, four pairs across for each; a diagonal over the mesh or the switch."""
    fabric = mesh(2, [2, 2], ClosOver(tiers=1, radix=8))
    assert loads_of(fabric, "always") == {"row": {2.0}, "column": {2.0}, "access": {4.0}}
    assert loads_of(fabric, "needed") == {"row": {1.0}, "column": {1.0}, "access": {5.0}}


def test_all_to_all_on_rails_apart() -> None:
    """A row holds both rails: two sinks a source are on the other one, reached over the source's neighbour in its row.

    A row's link carries those 2, its own pair and half of two diagonals; a column's its own pair and the diagonals.
    """
    fabric = mesh(2, [2, 2], RailsOver(tiers=1, radix=8))
    assert loads_of(fabric, "needed") == {"row": {4.0}, "column": {2.0}, "access": {4.0}}


def test_a_line_of_relays_within_the_pod() -> None:
    """Rings of six, one rail each: from place 0 of pod 1 to place 3 of pod 2 is three steps around, half each way."""
    direct = DirectDomain(dims=[6], link_gbps=800, nic_gbps=400, host_dims=[6])
    fabric = cluster(ClusterHosts("accelerator-torus", 2, direct=direct), RailsOver(tiers=1, radix=8))
    assert len(fabric.switches) == 6
    a, b = (int(fabric.rows(f"torus-{pod}-chip-{place}")[0]) for pod, place in ((1, 0), (2, 3)))
    demand = Demand.of(fabric, "one", source=[a], sink=[b], gbps=[100.0])
    found = link_loads(fabric, demand)
    inside = fabric.links.kind.is_any("scale_up")
    loads = found.arc_gbps.reshape(-1, 2)
    assert loads[inside].sum() == pytest.approx(300) and loads[inside].max() == pytest.approx(50)
    assert loads[~inside].sum() == pytest.approx(200), "up and down, once"
    assert topo.min_cut(fabric, a, b).capacity_gbps == 2 * 800 + 400, "two links of the ring and its own port"


def test_optical_switches_of_every_slice_are_groups_of_its_own() -> None:
    alone = topo.tpu_slice([4, 4, 8])
    fabric = slices(2, [4, 4, 8], ClosOver(tiers=2, radix=64))
    groups = fabric.groups
    assert len(groups) == 2 * len(alone.groups) and len(set(groups.group.values())) == 2 * 48
    for name, word in (("domain-1-ocs-x-01", "slice-1"), ("domain-2-ocs-z-16", "slice-2")):
        rows = groups.row[groups.group.is_any(name)]
        ends = np.concatenate([fabric.link_a[rows], fabric.link_b[rows]])
        assert set(fabric.nodes.host.values(ends)) == {word}
        first = alone.groups.row[alone.groups.group.is_any(name[9:])]
        at = alone.nodes.name[alone.link_a[first]]
        assert sorted(fabric.nodes.name[fabric.link_a[rows]]) == sorted(f"{word}-{one}" for one in at)


@pytest.mark.parametrize(
    "plan",
    [
        ClosOver(tiers=2, radix=16),
        PlanesPlan(ClosOver(tiers=1, radix=64), planes=2),
        RailsOver(tiers=2, radix=8),
        RailPlan(hosts_per_unit=4, radix=32, uplinks=8),
    ],
    ids=str,
)
def test_every_plan_stands_over_pods_without_switches(plan: Plan) -> None:
    ports = 2 if isinstance(plan, PlanesPlan) else 1
    fabric = mesh(2, [4, 4], plan, ports_per_adapter=ports)
    access = fabric.links.kind.is_any("access")
    assert np.bincount(fabric.link_a[access], minlength=len(fabric.nodes))[fabric.endpoints].tolist() == [ports] * 32
    assert fabric.links.capacity_gbps[access].tolist() == [400 / ports] * 32 * ports
    assert len(attachments(Network.of(fabric)).endpoints) == 32
    assert topo.inventory(fabric).paths.n_disconnected_pairs == 0
    assert topo.min_cut(fabric, "pod-1-*", "pod-2-*").capacity_gbps == 16 * 400


MESH = DirectDomain(dims=[2, 2], link_gbps=800, nic_gbps=400)


@pytest.mark.parametrize(
    ("hosts", "storage", "message"),
    [
        (ClusterHosts("full-mesh-pod", 2), None, "template is full-mesh-pod, .* give direct with dims, link_gbps"),
        (ClusterHosts("dgx-h100", 2, direct=MESH), None, "direct is given, but dgx-h100 is no pod without switches"),
        (ClusterHosts("ful-mesh-pod", 2), None, "'ful-mesh-pod', which is no .*'full-mesh-pod'"),
        (
            ClusterHosts("full-mesh-pod", 2, hosts_per_domain=2, direct=MESH),
            None,
            "hosts_per_domain is 2, but the dims",
        ),
        (ClusterHosts("full-mesh-pod", 0, direct=MESH), None, "count is 0"),
        (ClusterHosts("full-mesh-pod", 2, ports_per_adapter=3, direct=MESH), None, "ports_per_adapter is 3, .* 2 or 4"),
        (ClusterHosts("full-mesh-pod", 2, direct=MESH), StorageNetwork(servers=2), "full-mesh-pod here has none"),
        (
            ClusterHosts("full-mesh-pod", 2, direct=DirectDomain(dims=[2, 2], link_gbps=1, nic_gbps=0)),
            None,
            "nic_gbps is 0; each accelerator has an adapter",
        ),
        (
            ClusterHosts("tpu-slice", 2, direct=DirectDomain(dims=[4, 4, 4], link_gbps=1, nic_gbps=1, links=2)),
            None,
            "links is 2, but tpu-slice takes none; it takes dims, link_gbps, twisted",
        ),
        (
            ClusterHosts("full-mesh-pod", 10**6, direct=DirectDomain(dims=[8, 8, 4], link_gbps=1, nic_gbps=1)),
            None,
            "256,000,000 accelerators would be built",
        ),
    ],
)
def test_refusals_name_the_way_out(hosts: ClusterHosts, storage: StorageNetwork | None, message: str) -> None:
    with pytest.raises(topo.ParameterError, match=message):
        cluster(hosts, ClosOver(), storage=storage)


SPEC = """name: mine
title: UB-Mesh racks under a Clos
operator: us
sources:
  - text: own
    label: D
builder: cluster
parameters:
  hosts:
    template: full-mesh-pod
    count: 2
    direct:
      dims: [8, 8]
      link_gbps: 300G
      nic_gbps: 400G
  scale_out:
    builder: clos
    radix: 32
assumptions:
  - The rates are our choice.
expect:
  n_endpoints: 128
  n_domains:
    value: 2
  n_scale_up_links:
    value: 896
    label: D
    note: 2 x 64 x (7 + 7) / 2
"""


def test_a_spec_puts_meshes_under_a_clos(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(SPEC, "utf-8")
    fabric = topo.load(path)
    again = mesh(2, [8, 8], ClosOver(radix=32), link=300)
    assert fabric.equals(again)
    assert any("relay for each other only" in note.text for note in fabric.origin.notes)
    for key, number in fabric.origin.expect:
        assert number.value == {"n_endpoints": 128, "n_domains": 2, "n_scale_up_links": 896}[key]
    assert topo.min_cut(fabric, "pod-1-*", "pod-2-*").capacity_gbps == 64 * 400


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("dims: [8, 8]", "dims: [8, 1]", r"mine.yaml:13: key parameters.hosts.direct.dims: dims\[2\] is 1"),
        ("      nic_gbps: 400G\n", "", r"mine.yaml:12: key parameters.hosts.direct: nic_gbps is missing"),
        ("300G", "fast", r"mine.yaml:14: key parameters.hosts.direct.link_gbps: .*fast"),
        ("count: 2", "count: 9000000", r"mine.yaml:8: key parameters: would make about .* ports"),
    ],
)
def test_errors_inside_a_spec_name_their_line(tmp_path: Path, old: str, new: str, message: str) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(SPEC.replace(old, new, 1), "utf-8")
    with pytest.raises(topo.InputError, match=message):
        topo.load(path)
