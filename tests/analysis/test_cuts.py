"""Minimum cuts: networkx as oracle, parallel links, forwarding, capacities past 32 bits."""

from __future__ import annotations

import math

import networkx as nx
import numpy as np
import pytest

import topo
from topo.analysis.flow import common_unit, max_flow
from topo.build.assembly import Assembly
from topo.fabric import FORWARDS_NOTHING, FORWARDS_OWN_HOST, Fabric, State


def ends_and_switches(rates: list[tuple[str, str, float]], ends: list[str]) -> Fabric:
    """A fabric of named endpoints and switches with the given links."""
    assembly = Assembly("small")
    names = list(dict.fromkeys([n for a, b, _ in rates for n in (a, b)] + ends))
    row = {}
    for name in names:
        end = name in ends
        row[name] = assembly.add_nodes(
            [name], kind="host" if end else "switch", is_endpoint=end, forwards=FORWARDS_NOTHING if end else 2
        )[0]
    for a, b, rate in rates:
        assembly.connect([row[a]], [row[b]], rate)
    return assembly.finish()


def test_parallel_links_all_count_and_are_named() -> None:
    fabric = ends_and_switches([("a", "b", 100), ("a", "b", 100), ("a", "b", 400)], ["a", "b"])
    cut = topo.min_cut(fabric, "a", "b")
    assert cut.capacity_gbps == 600
    assert sorted(link.capacity_gbps for link in cut.links) == [100, 100, 400]
    assert {link.a for link in cut.links} == {"a"}


def test_cut_goes_by_capacity_not_by_number() -> None:
    rates = [("s", "x", 800.0)] + [("x", f"m{i}", 100.0) for i in range(4)] + [(f"m{i}", "t", 100.0) for i in range(4)]
    cut = topo.min_cut(ends_and_switches(rates, ["s", "t"]), "s", "t")
    assert cut.capacity_gbps == 400
    assert len(cut.links) == 4


@pytest.mark.parametrize("rate", [2.0**31 - 1, 2.0**31, 2.0**32 + 1, 400e9, 6.5e15, 25.78125, 53.125, 106.25])
def test_one_link_of_any_rate_is_exact(rate: float) -> None:
    fabric = ends_and_switches([("s", "x", rate), ("x", "t", rate), ("x", "t", rate)], ["s", "t"])
    assert topo.min_cut(fabric, "s", "t").capacity_gbps == rate
    assert topo.min_cut(fabric, "t", "s").capacity_gbps == rate


def test_a_long_chain_is_no_trouble() -> None:
    n = 100_000
    assembly = Assembly("chain")
    rows = assembly.add_nodes(np.array(["x"] * n), kind="switch")
    assembly.connect(rows[:-1], rows[1:], 1)
    assert topo.min_cut(assembly.finish(), [0], [n - 1]).capacity_gbps == 1


def test_zero_rate_is_present_with_zero() -> None:
    fabric = ends_and_switches([("s", "x", 0.0), ("x", "t", 100.0)], ["s", "t"])
    cut = topo.min_cut(fabric, "s", "t")
    assert cut.capacity_gbps == 0
    assert [(link.a, link.b, link.capacity_gbps) for link in cut.links] == [("s", "x", 0.0)]


def test_disconnected_is_said_not_zero() -> None:
    fabric = ends_and_switches([("s", "x", 1.0), ("y", "t", 1.0)], ["s", "t"])
    with pytest.raises(topo.DisconnectedError, match="disconnected; components of 1, 1 endpoints"):
        topo.min_cut(fabric, "s", "t")


def test_unknown_rate_is_an_input_error_that_names_the_link() -> None:
    fabric = ends_and_switches([("s", "x", math.nan), ("x", "t", 1.0)], ["s", "t"])
    with pytest.raises(topo.InputError, match="s port 1 - x port 1; state one"):
        topo.min_cut(fabric, "s", "t")


def test_nothing_relays_through_an_idle_endpoint() -> None:
    fabric = ends_and_switches([("s", "m", 1.0), ("m", "t", 1.0)], ["s", "m", "t"])
    with pytest.raises(topo.DisconnectedError):
        topo.min_cut(fabric, "s", "t")


def test_parts_of_a_host_carry_only_their_own_hosts_traffic() -> None:
    assembly = Assembly("two planes")
    leaf = assembly.add_nodes(["leaf-1", "leaf-2"], kind="switch", tier=1)
    own = {"forwards": FORWARDS_OWN_HOST, "tier": -1}
    rows = {}
    for host in ("h1", "h2", "h3"):
        accelerator = assembly.add_nodes([f"{host}-gpu"], kind="accelerator", is_endpoint=True, forwards=0, host=host)
        bridge = assembly.add_nodes([f"{host}-pcie"], kind="pcie", host=host, **own)
        assembly.connect(accelerator, bridge, 1, kind="host_io")
        rows[host] = bridge
    assembly.connect(rows["h1"], leaf[:1], 1, kind="access")
    assembly.connect(rows["h2"], leaf[1:], 1, kind="access")
    assembly.connect(np.repeat(rows["h3"], 2), leaf, 1, kind="access")
    fabric = assembly.finish()
    with pytest.raises(topo.DisconnectedError):
        topo.min_cut(fabric, "h1-gpu", "h2-gpu")
    assert topo.min_cut(fabric, "h1-gpu", "h3-gpu").capacity_gbps == 1
    assert topo.min_cut(fabric, ["h1-gpu", "h2-gpu"], "h3-gpu").capacity_gbps == 1


@pytest.mark.parametrize("seed", range(40))
def test_against_networkx_on_random_fabrics(seed: int) -> None:
    rng = np.random.default_rng(seed)
    ends = [f"e{i}" for i in range(6)]
    switches = [f"s{i}" for i in range(5)]
    rates = [(e, str(rng.choice(switches)), float(rng.integers(1, 9))) for e in ends for _ in range(2)]
    for _ in range(12):
        a, b = rng.choice(switches, 2, replace=False)
        rates.append((str(a), str(b), float(rng.integers(1, 9)) * 25.78125))
    fabric = ends_and_switches(rates, ends)
    sources, sinks = ends[:2], ends[2:4]
    graph = nx.DiGraph()
    for a, b, rate in rates:
        for tail, head in ((a, b), (b, a)):
            if (tail in ends and tail not in sources) or (head in ends and head not in sinks):
                continue
            known = graph.get_edge_data(tail, head, {"capacity": 0.0})["capacity"]
            graph.add_edge(tail, head, capacity=known + rate)
    for name in sources:
        graph.add_edge("S", name)
    for name in sinks:
        graph.add_edge(name, "T")
    cut = topo.min_cut(fabric, sources, sinks)
    assert cut.capacity_gbps == pytest.approx(nx.maximum_flow_value(graph, "S", "T"), abs=1e-9)
    crossing = cut.source_side[fabric.link_a] != cut.source_side[fabric.link_b]
    assert set(cut.links.rows.tolist()) <= set(np.flatnonzero(crossing).tolist())


@pytest.mark.parametrize("k", [4, 8, 16, 48])
def test_fat_tree_halves(k: int) -> None:
    fabric = topo.fat_tree(k, link_gbps=100)
    ends = np.random.default_rng(k).permutation(fabric.endpoints)
    half = len(ends) // 2
    assert topo.min_cut(fabric, ends[:half], ends[half:]).capacity_gbps == half * 100


def test_removing_a_link_never_raises_the_cut() -> None:
    fabric = topo.leaf_spine(leaves=3, spines=2, hosts_per_leaf=3)
    whole = topo.min_cut(fabric, "host-[1-3]", "host-[4-6]").capacity_gbps
    for link in range(len(fabric.links)):
        less = topo.min_cut(fabric, "host-[1-3]", "host-[4-6]", state=State.without(fabric, links=[link]))
        assert less.capacity_gbps <= whole


def test_bad_selectors_are_refused_by_name() -> None:
    fabric = topo.leaf_spine(leaves=2, spines=1, hosts_per_leaf=2)
    with pytest.raises(topo.ParameterError, match="'host-1' is both source and sink"):
        topo.min_cut(fabric, "host-*", "host-1")
    with pytest.raises(topo.ParameterError, match=r"'hots-1'; did you mean 'host-1'"):
        topo.min_cut(fabric, "hots-1", "host-2")
    with pytest.raises(topo.ParameterError, match="row 99 is outside the 7 nodes"):
        topo.min_cut(fabric, [99], [0])


def test_both_engines_agree() -> None:
    from topo.analysis import flow as engine

    rng = np.random.default_rng(0)
    for _ in range(30):
        tail, head = rng.integers(0, 12, 40), rng.integers(0, 12, 40)
        capacity = rng.integers(1, 50, 40).astype(float)
        arcs = engine.merged_arcs(12, tail, head, capacity)
        whole = engine._integer_flow(arcs, 1.0, 0, 11)
        double = engine._double_flow(arcs, 0, 11)
        assert whole.value == double.value == max_flow(12, tail, head, capacity, 0, 11).value
        for flow in (whole, double):
            net = np.bincount(flow.tail, flow.amount, 12) - np.bincount(flow.head, flow.amount, 12)
            assert net[0] == flow.value == -net[11]
            assert not net[1:11].any()


def test_common_unit() -> None:
    assert common_unit(np.array([25.78125, 100.0])) == 0.78125
    assert common_unit(np.array([400.0, 0.0])) == 400
    assert common_unit(np.array([0.1, 0.3])) == 0


def rails_joined_by_one_host() -> Fabric:
    """Hosts x on leaf A, hosts y on leaf B, and host h with an accelerator and an adapter on each; all opened."""
    assembly = Assembly("rails")
    own = {"forwards": FORWARDS_OWN_HOST, "tier": -1}
    leaf = assembly.add_nodes(["leaf-a", "leaf-b"], kind="switch", tier=1)
    for host, rails in [(f"x{i}", [0]) for i in range(3)] + [(f"y{i}", [1]) for i in range(3)] + [("h", [0, 1])]:
        pcie = assembly.add_nodes([f"{host}-pcie"], kind="pcie", host=host, **own)  # type: ignore[arg-type]
        for rail in rails:
            gpu = assembly.add_nodes(
                [f"{host}-gpu{rail}"], kind="accelerator", is_endpoint=True, forwards=FORWARDS_NOTHING, host=host
            )
            nic = assembly.add_nodes([f"{host}-nic{rail}"], kind="nic", host=host, **own)  # type: ignore[arg-type]
            assembly.connect(gpu, pcie, 100, kind="host_io")
            assembly.connect(pcie, nic, 400, kind="host_io")
            assembly.connect(nic, leaf[[rail]], 400, kind="access")
    return assembly.finish()


def test_a_cut_that_may_pass_a_host_of_both_sides_is_an_upper_bound() -> None:
    fabric = rails_joined_by_one_host()
    cut = topo.min_cut(fabric, "*-gpu0", "*-gpu1")
    # True is 200: the x reach only h's other accelerator (100), h's own first adds 100.
    assert cut.capacity_gbps >= 200
    assert not cut.exact
    assert cut.standing.kind == "upper bound"
    assert topo.min_cut(fabric, "x*-gpu0", "h-gpu0").exact


def test_a_source_that_is_down_is_no_source() -> None:
    fabric = topo.leaf_spine(leaves=2, spines=2, hosts_per_leaf=2)
    down = State.without(fabric, nodes="host-1")
    cut = topo.min_cut(fabric, ["host-1", "host-2"], ["host-3"], state=down)
    assert (cut.n_sources, cut.n_sinks) == (1, 1)
    with pytest.raises(topo.ParameterError, match="that are up"):
        topo.min_cut(fabric, "host-1", "host-3", state=down)
