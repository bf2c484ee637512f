"""Optimal throughput against a linear program of its own, with certificates; forwarding is kept."""

from __future__ import annotations

import dataclasses

import networkx as nx
import numpy as np
import pytest
from direct_fabrics import jellyfish, switched, torus
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from scipy.sparse import lil_array

import topo
from topo import traffic
from topo.analysis.throughput import optimal as optimal_module
from topo.analysis.throughput import throughput
from topo.analysis.throughput.certificate import CertificateError, check
from topo.build.assembly import Assembly
from topo.fabric import FORWARDS_ALL, FORWARDS_NOTHING, FORWARDS_OWN_HOST, Fabric
from topo.routing.scheme import Routing
from topo.traffic import Demand


def oracle(f: Fabric, demand: Demand) -> float:
    """theta by a linear program with one commodity a pair over every link of the fabric, nothing merged."""
    source, sink, gbps = demand.pairs()
    pairs, n, arcs = len(source), len(f.nodes), 2 * len(f.links)
    tail, head = f.arc_source, f.arc_target
    balance = lil_array((pairs * n, pairs * arcs + 1))
    upper = np.full(pairs * arcs + 1, np.inf)
    for i, (s, t, rate) in enumerate(zip(source.tolist(), sink.tolist(), gbps.tolist(), strict=True)):
        for a in range(arcs):
            balance[i * n + tail[a], i * arcs + a] = -1
            balance[i * n + head[a], i * arcs + a] = 1
            relays = {s} if tail[a] != s else set()
            mute = f.nodes.forwards[tail[a]] == FORWARDS_NOTHING and tail[a] != s
            if mute or relays & {int(head[a])} or tail[a] == t:
                upper[i * arcs + a] = 0
        balance[i * n + t, pairs * arcs] = -rate
        balance[i * n + s, pairs * arcs] = rate
    limit = lil_array((arcs, pairs * arcs + 1))
    for i in range(pairs):
        for a in range(arcs):
            limit[a, i * arcs + a] = 1
    cost = np.zeros(pairs * arcs + 1)
    cost[-1] = -1
    answer = linprog(
        cost,
        A_ub=limit.tocsr(),
        b_ub=np.repeat(f.links.capacity_gbps, 2),
        A_eq=balance.tocsr(),
        b_eq=np.zeros(pairs * n),
        bounds=[(0, None if np.isinf(u) else u) for u in upper],
        method="highs",
    )
    assert answer.status == 0
    return float(answer.x[-1])


@st.composite
def cases(draw: st.DrawFn) -> tuple[Fabric, Demand]:
    n = draw(st.integers(2, 5))
    tree = [(i, draw(st.integers(0, i - 1))) for i in range(1, n)]
    more = draw(
        st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)).filter(lambda e: e[0] != e[1]), max_size=5)
    )
    edges = tree + more
    rates = draw(st.lists(st.sampled_from([1.0, 2.0, 5.0]), min_size=len(edges), max_size=len(edges)))
    hosts = draw(st.lists(st.lists(st.integers(0, n - 1), min_size=1, max_size=2), min_size=2, max_size=5))
    f = switched(edges, hosts, gbps=rates, host_gbps=3.0)
    ends = len(hosts)
    pairs = draw(
        st.lists(
            st.tuples(st.integers(0, ends - 1), st.integers(0, ends - 1)).filter(lambda p: p[0] != p[1]),
            min_size=1,
            max_size=6,
        )
    )
    gbps = draw(st.lists(st.sampled_from([0.5, 1.0, 3.0]), min_size=len(pairs), max_size=len(pairs)))
    rows = f.endpoints
    source, sink = rows[[p[0] for p in pairs]], rows[[p[1] for p in pairs]]
    return f, Demand.of(f, "drawn", source=source, sink=sink, gbps=gbps)


@settings(max_examples=60, deadline=None)
@given(cases())
def test_equals_a_linear_program_without_merging(case: tuple[Fabric, Demand]) -> None:
    f, demand = case
    found = throughput(f, demand, routing="optimal")
    assert found.exact
    assert found.theta_lower == pytest.approx(oracle(f, demand), rel=1e-5)
    check(f, demand, found)
    for routing in ("ecmp", "wcmp"):
        assert throughput(f, demand, routing=routing).theta_lower <= found.theta_upper * (1 + 1e-6)


@settings(max_examples=30, deadline=None)
@given(cases(), st.integers(0, 100), st.integers(0, 100), st.sampled_from([0.5, 4.0]))
def test_a_cable_more_never_lowers_the_optimum(case: tuple[Fabric, Demand], a: int, b: int, rate: float) -> None:
    f, demand = case
    switches = f.switches
    one, other = switches[a % len(switches)], switches[b % len(switches)]
    if one == other:
        return
    assembly = Assembly("with one more")
    assembly.add_nodes(f.nodes.name[switches], kind="switch", tier=1)
    assembly.add_nodes(f.nodes.name[f.endpoints], kind="host", is_endpoint=True, forwards=FORWARDS_NOTHING)
    for link in range(len(f.links)):
        assembly.connect(
            f.link_a[[link]], f.link_b[[link]], float(f.links.capacity_gbps[link]), kind=f.links.kind[link]
        )
    assembly.connect([one], [other], rate)
    more = throughput(assembly.finish(), demand, routing="optimal")
    assert more.theta_upper >= throughput(f, demand, routing="optimal").theta_lower * (1 - 2e-6)


@pytest.mark.parametrize("build", [lambda: jellyfish(12, 4, 2), lambda: torus(4, 4), lambda: torus(5, 3)])
def test_the_descent_brackets_the_linear_program(build, monkeypatch: pytest.MonkeyPatch) -> None:
    f = build()
    for demand in (traffic.permutation(f, seed=1), traffic.longest_matching(f)):
        exact = throughput(f, demand, routing="optimal")
        assert exact.exact
        with monkeypatch.context() as patch:
            patch.setattr(optimal_module, "MOST_VARIABLES", 0)
            found = throughput(f, demand, routing="optimal", accuracy=0.02)
        assert found.theta_lower <= exact.theta_upper * (1 + 1e-6)
        assert exact.theta_lower <= found.theta_upper * (1 + 1e-6)
        assert found.theta_lower >= found.theta_upper * 0.979
        check(f, demand, found)


def test_a_random_fabric_of_a_hundred_switches_is_bracketed() -> None:
    f = jellyfish(100, 8, 4)
    demand = traffic.all_to_all(f)
    found = throughput(f, demand, routing="optimal", accuracy=0.03)
    assert not found.exact and found.standing.kind == "bracket"
    assert 0.97 <= found.theta_lower / found.theta_upper < 1
    assert found.theta_lower > throughput(f, demand).theta_lower
    check(f, demand, found)
    with pytest.raises(CertificateError, match="more than its capacity"):
        check(f, demand, dataclasses.replace(found, theta_lower=found.theta_lower * 1.01))
    assert found.lengths is not None
    with pytest.raises(CertificateError, match="the lengths prove"):
        check(f, demand, dataclasses.replace(found, lengths=np.ones_like(found.lengths), theta_upper=found.theta_lower))
    assert found.flows is not None
    with pytest.raises(CertificateError, match="not conserved"):
        check(f, demand, dataclasses.replace(found, flows=found.flows * 0.9))


def test_no_flow_relays_through_an_idle_host() -> None:
    """A on rail 0 alone, C on rail 1 alone, B on both: B's NIC is no bridge."""
    f = switched([(0, 1), (2, 3)], [[0], [1, 3], [2]])
    demand = Demand.of(f, "across", source=f.rows("h-0"), sink=f.rows("h-2"), gbps=1)
    found = throughput(f, demand, routing="optimal")
    assert found.lost_pairs == 1 and found.theta_upper == 0


def opened() -> Fabric:
    """Three hosts of two accelerators, each behind its own NIC on its own rail, joined by a link inside the host."""
    assembly = Assembly("opened")
    leaf = assembly.add_nodes(["leaf-0", "leaf-1"], kind="switch", tier=1, forwards=FORWARDS_ALL)
    for host in ("a", "b", "c"):
        gpu = assembly.add_nodes(
            [f"{host}-gpu-0", f"{host}-gpu-1"],
            kind="accelerator",
            is_endpoint=True,
            forwards=FORWARDS_OWN_HOST,
            host=host,
        )
        nic = assembly.add_nodes(
            [f"{host}-nic-0", f"{host}-nic-1"], kind="nic", tier=-1, forwards=FORWARDS_OWN_HOST, host=host
        )
        assembly.connect(gpu, nic, 2.0, kind="host_io")
        assembly.connect(gpu[:1], gpu[1:], 4.0, kind="scale_up")
        assembly.connect(nic, leaf, 1.0, kind="access")
    return assembly.finish()


def test_parts_relay_for_their_own_host_alone() -> None:
    f = opened()

    def theta(a: str, b: str, **kw: bool) -> topo.Result:
        demand = Demand.of(f, f"{a} to {b}", source=f.rows(a), sink=f.rows(b), gbps=1)
        return throughput(f, demand, routing=Routing("optimal", **kw))

    # Both rails: the far accelerator's NIC too, over the link inside the host at either end.
    assert theta("a-gpu-0", "b-gpu-0").theta_lower == pytest.approx(2)
    assert theta("a-gpu-0", "b-gpu-1").theta_lower == pytest.approx(2)
    # Inside the host: the direct link, and no way out and back through others' hosts.
    inside = theta("a-gpu-0", "a-gpu-1")
    assert inside.theta_lower == pytest.approx(4)
    # Without PXN accelerators relay for none: rail 0 reaches rail 0 only.
    assert theta("a-gpu-0", "b-gpu-0", pxn=False).theta_lower == pytest.approx(1)
    apart = theta("a-gpu-0", "b-gpu-1", pxn=False)
    assert apart.lost_pairs == 1 and apart.theta_upper == 0


def test_an_idle_host_does_not_join_two_rails() -> None:
    f = opened()
    nic = f.rows(["a-nic-1", "b-nic-0"])
    state = topo.State.without(f, nodes=nic)
    demand = Demand.of(f, "rail 0 to rail 1", source=f.rows("a-gpu-0"), sink=f.rows("b-gpu-1"), gbps=1)
    found = throughput(f, demand, routing="optimal", state=state)
    assert found.lost_pairs == 1 and found.theta_upper == 0


def test_planes_add_up() -> None:
    f = switched([(0, 1), (2, 3)], [[0, 2], [1, 3]], gbps=[1.0, 2.0], host_gbps=2.0)
    demand = Demand.of(f, "both planes", source=f.rows("h-0"), sink=f.rows("h-1"), gbps=4)
    assert throughput(f, demand, routing="optimal").theta_lower == pytest.approx(3 / 4)
    assert throughput(f, demand).theta_lower == pytest.approx(1 / 2)


@pytest.mark.parametrize("k", [8, 16])
def test_a_tapered_tree_is_exact_at_once(k: int) -> None:
    f = topo.clos(k * k, tiers=3, radix=k, taper=[1, 2])
    for demand in (traffic.all_to_all(f), traffic.longest_matching(f), traffic.permutation(f, seed=2)):
        found = throughput(f, demand, routing="optimal", accuracy=0.05)
        assert found.theta_lower <= found.theta_upper <= 1
        check(f, demand, found)
    assert throughput(f, traffic.all_to_all(f), routing="optimal").exact


def test_networkx_agrees_on_a_single_pair() -> None:
    f = jellyfish(14, 4, 1, seed=3)
    graph = nx.Graph()
    for a, b in zip(f.link_a.tolist(), f.link_b.tolist(), strict=True):
        graph.add_edge(a, b, capacity=1.0)
    a, b = f.endpoints[0], f.endpoints[9]
    demand = Demand.of(f, "one pair", source=[a], sink=[b], gbps=2)
    assert throughput(f, demand, routing="optimal").theta_lower == pytest.approx(nx.maximum_flow_value(graph, a, b) / 2)


def test_twin_leaves_and_spines_are_folded_rightly() -> None:
    """Hosts on two equal leaves, two equal spines, a slow third leaf: as the program over every link says."""
    edges = [(0, 2), (0, 3), (1, 2), (1, 3), (4, 2), (4, 3), (4, 3)]
    f = switched(edges, [[0, 1], [0, 1], [4], [4]], gbps=[1, 1, 1, 1, 1, 1, 1], host_gbps=1.5)
    for demand in (traffic.all_to_all(f), traffic.shift(f, by=2), traffic.incast(f, "h-0")):
        found = throughput(f, demand, routing="optimal")
        assert found.exact and found.theta_lower == pytest.approx(oracle(f, demand), rel=1e-6)
        check(f, demand, found)


@pytest.mark.parametrize(
    "name", ["amd-mi300x-8", "nvidia-dgx-a100", "nvidia-gb200-nvl72", "deepseek-fire-flyer-2", "huawei-cloudmatrix384"]
)
def test_published_fabrics_opened_or_not(name: str) -> None:
    """No fixed split beats the optimum, both lose the same pairs, and every bound has its certificate."""
    f = topo.load(name)
    for demand in (traffic.all_to_all(f), traffic.permutation(f, seed=1)):
        best = throughput(f, demand, routing="optimal", accuracy=0.1)
        check(f, demand, best)
        for routing in ("ecmp", "wcmp"):
            found = throughput(f, demand, routing=routing)
            assert found.theta_lower <= best.theta_upper * (1 + 1e-6)
            assert found.lost_pairs == best.lost_pairs


def test_eight_accelerators_all_joined() -> None:
    """Seven links each: a permutation has one direct link, 1/7 of the line rate of seven.

    At best a flow of x links' worth sends 1 over its direct link and the rest over two hops: 8 (1 + 2 (x - 1)) of
    the 8 * 7 arcs, so x = 4 and theta = 4/7.
    """
    f = topo.load("amd-mi300x-8")
    demand = traffic.permutation(f)
    assert throughput(f, demand).theta_lower == pytest.approx(1 / 7)
    assert throughput(f, demand, routing="optimal").theta_lower == pytest.approx(4 / 7, rel=1e-6)
