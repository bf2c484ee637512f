"""Link loads against closed forms, published tables and known facts of real fabrics."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest

import topo
from topo.build.assembly import Assembly
from topo.errors import InputError, ParameterError
from topo.fabric import FORWARDS_NOTHING, Fabric, LinkTable, State
from topo.routing.loads import LinkLoads, link_loads
from topo.routing.scheme import Routing
from topo.traffic.demand import Block, Demand


def everyone(fabric: Fabric, gbps: float = 1.0, rows: np.ndarray | None = None) -> Demand:  # type: ignore[type-arg]
    """All-to-all: each endpoint sends ``gbps`` in all, evenly to the others."""
    ends = fabric.endpoints if rows is None else rows
    return Demand.of(fabric, "all-to-all", blocks=(Block.of(ends, ends, gbps / (len(ends) - 1)),))


def pairs(fabric: Fabric, source: object, sink: object, gbps: float = 1.0) -> Demand:
    """Single pairs at one rate."""
    return Demand.of(fabric, "pairs", source=source, sink=sink, gbps=gbps)  # type: ignore[arg-type]


def torus(*dims: int) -> Fabric:
    """Endpoints that forward, on a torus of unit links."""
    assembly = Assembly("torus")
    rows = assembly.add_nodes([f"n{i}" for i in range(np.prod(dims))], kind="accelerator", is_endpoint=True)
    grid = rows.reshape(dims)
    for axis in range(len(dims)):
        assembly.connect(grid.ravel(), np.roll(grid, -1, axis).ravel(), 1.0, kind="scale_up")
    return assembly.finish()


def dragonfly(p: int, a: int, h: int) -> Fabric:
    """Groups of ``a`` routers, all joined; one global link between any two groups; global links are ``internal``."""
    assembly, groups = Assembly("dragonfly"), a * h + 1
    routers = assembly.add_nodes([f"r{i}" for i in range(groups * a)], kind="switch", tier=1).reshape(groups, a)
    hosts = assembly.add_nodes(
        [f"h{i}" for i in range(groups * a * p)], kind="host", is_endpoint=True, forwards=FORWARDS_NOTHING
    )
    assembly.connect(hosts, np.repeat(routers.ravel(), p), 1.0, kind="access")
    for group in routers:
        one, other = np.triu_indices(a, 1)
        assembly.connect(group[one], group[other], 1.0)
    for i, j in itertools.combinations(range(groups), 2):
        # Global port j - i - 1 of group i meets port i - j - 1 (modulo groups) of group j.
        one, other = (j - i - 1) // h, ((i - j - 1) % groups) // h
        assembly.connect([routers[i, one]], [routers[j, other]], 1.0, kind="internal")
    return assembly.finish()


@pytest.mark.parametrize(("spines", "to_all", "to_one"), [(8, 1.0, 1.0), (4, 0.6458, 0.5), (2, 0.3229, 0.25)])
def test_leaf_spine(spines: int, to_all: float, to_one: float) -> None:
    fabric = topo.leaf_spine(leaves=4, spines=spines, hosts_per_leaf=8, host_gbps=1, link_gbps=1)
    assert link_loads(fabric, everyone(fabric)).theta == pytest.approx(to_all, abs=5e-5)
    ends = fabric.endpoints
    shifted = link_loads(fabric, pairs(fabric, ends, np.roll(ends, 8)))
    assert shifted.theta == pytest.approx(to_one, abs=1e-12)
    assert shifted.lost_pairs == 0
    expected = 1 / (8 / spines * (32 - 8) / 31)
    assert link_loads(fabric, everyone(fabric)).network_theta == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("k", [4, 6, 8])
def test_fat_tree_takes_any_permutation(k: int) -> None:
    fabric = topo.fat_tree(k, link_gbps=1)
    ends = fabric.endpoints
    for seed in range(3):
        to = np.random.default_rng(seed).permutation(ends)
        moved = ends != to
        loads = link_loads(fabric, pairs(fabric, ends[moved], to[moved]))
        assert loads.theta == pytest.approx(1, rel=1e-12)
        assert loads.arc_gbps.max() == pytest.approx(1, rel=1e-12)


@pytest.mark.parametrize(
    ("dims", "theta"),
    [((8,), 0.875), ((4, 4), 1.875), ((8, 8), 0.984375), ((4, 4, 4), 1.96875), ((6, 6), 35 / 27), ((5, 5), 1.6)],
)
def test_torus_all_to_all(dims: tuple[int, ...], theta: float) -> None:
    fabric = torus(*dims)
    loads = link_loads(fabric, everyone(fabric))
    assert loads.theta == pytest.approx(theta, rel=1e-12)
    assert loads.network_theta == loads.theta
    assert len(loads.binding_arcs) == 2 * len(fabric.links)


def test_tornado_on_a_ring() -> None:
    fabric = torus(8)
    ends = fabric.endpoints
    assert link_loads(fabric, pairs(fabric, ends, np.roll(ends, -3))).theta == pytest.approx(1 / 3)


@pytest.mark.parametrize(("shape", "load"), [((1, 2, 1), 0.8), ((2, 4, 2), 64 / 71)])
def test_dragonfly_minimal(shape: tuple[int, int, int], load: float) -> None:
    fabric = dragonfly(*shape)
    minimal = Routing(costs={"internal": 10})
    loads = link_loads(fabric, everyone(fabric), routing=minimal)
    across = np.repeat(fabric.links.kind.is_any("internal"), 2)
    np.testing.assert_allclose(loads.arc_gbps[across], load, rtol=1e-12)
    p, a, _ = shape
    ends = fabric.endpoints
    next_group = link_loads(fabric, pairs(fabric, ends, np.roll(ends, -a * p)), routing=minimal)
    assert next_group.theta == pytest.approx(1 / (a * p))
    if shape == (2, 4, 2):
        local = np.repeat(fabric.links.kind.is_any("scale_out"), 2)
        assert loads.arc_gbps[local].max() == pytest.approx(0.957746, abs=1e-6)
        # With plain hop counts two global links tie with local-global-local, or win.
        assert link_loads(fabric, everyone(fabric)).arc_gbps[across].max() == pytest.approx(1.324, abs=5e-4)


def double_cables() -> tuple[Fabric, int]:
    """Four leaves of four hosts on two spines over two cables each, and the row of one leaf-spine cable."""
    fabric = topo.leaf_spine(leaves=4, spines=2, hosts_per_leaf=4, parallel=2, host_gbps=1, link_gbps=1)
    leaf, spine = fabric.rows("leaf-1")[0], fabric.rows("spine-1")[0]
    ends = np.stack([fabric.link_a, fabric.link_b])
    return fabric, int(np.flatnonzero((ends == leaf).any(axis=0) & (ends == spine).any(axis=0))[0])


@pytest.mark.parametrize(
    ("routing", "theta", "to_leaf"),
    [
        (Routing("ecmp"), 0.625, 0.5),
        (Routing("spray"), 0.625, 0.5),
        (Routing("ecmp", lag=True), 0.625, 0.5),
        (Routing("wcmp", weights="local"), 0.625, 0.5),
        (Routing("wcmp"), 0.9375, 0.75),
    ],
    ids=str,
)
def test_one_of_two_cables_lost(routing: Routing, theta: float, to_leaf: float) -> None:
    fabric, cable = double_cables()
    state = State.without(fabric, links=[cable])
    assert link_loads(fabric, everyone(fabric), routing=routing).theta == pytest.approx(1)
    assert link_loads(fabric, everyone(fabric), routing=routing, state=state).theta == pytest.approx(theta, rel=1e-12)
    ends = fabric.endpoints
    to_first = link_loads(fabric, pairs(fabric, ends[4:8], ends[:4]), routing=routing, state=state)
    assert to_first.theta == pytest.approx(to_leaf, rel=1e-12)


def test_path_weights_know_what_was_built() -> None:
    fabric, cable = double_cables()
    found = fabric.without(links=[cable])
    assert link_loads(found, everyone(found), routing="wcmp").theta == pytest.approx(0.8333, abs=5e-5)
    tree = topo.fat_tree(4, link_gbps=1)
    upper = np.flatnonzero(tree.nodes.tier[tree.link_a] + tree.nodes.tier[tree.link_b] == 5)[:1]
    state, left = State.without(tree, links=upper), tree.without(links=upper)
    for routing in (Routing(), Routing("wcmp", weights="local")):
        assert link_loads(tree, everyone(tree), routing=routing, state=state).network_theta == pytest.approx(0.625)
    built = link_loads(tree, everyone(tree), routing="wcmp", state=state).network_theta
    assert built == pytest.approx(0.8333, abs=5e-5)
    assert link_loads(left, everyone(left), routing="wcmp").network_theta == pytest.approx(0.8523, abs=5e-5)


def three_tiers() -> tuple[Fabric, int]:
    """Three pods of four leaves, four spines; each spine has two cables to both cores of its plane. One such cable."""
    assembly = Assembly("three tiers")
    cores = assembly.add_nodes([f"core-{i}" for i in range(8)], kind="switch", tier=3)
    for pod in range(3):
        spines = assembly.add_nodes([f"spine-{pod}-{i}" for i in range(4)], kind="switch", tier=2)
        leaves = assembly.add_nodes([f"leaf-{pod}-{i}" for i in range(4)], kind="switch", tier=1)
        hosts = assembly.add_nodes(
            [f"host-{pod}-{i}" for i in range(16)], kind="host", is_endpoint=True, forwards=FORWARDS_NOTHING
        )
        assembly.connect(hosts, np.repeat(leaves, 4), 1, kind="access")
        assembly.connect(np.repeat(leaves, 4), np.tile(spines, 4), 1)
        assembly.connect(np.repeat(cores, 2), np.repeat(spines, 4), 1)
    fabric = assembly.finish()
    tier = fabric.nodes.tier
    return fabric, int(np.flatnonzero(tier[fabric.link_a] + tier[fabric.link_b] == 5)[0])


def test_path_weights_see_past_the_next_link() -> None:
    fabric, cable = three_tiers()
    state = State.without(fabric, links=[cable])
    demand = everyone(fabric)
    assert link_loads(fabric, demand, state=state).network_theta == pytest.approx(0.734375, rel=1e-12)
    local = link_loads(fabric, demand, routing=Routing("wcmp", weights="local"), state=state)
    assert local.network_theta == pytest.approx(0.734375, rel=1e-12)
    built = link_loads(fabric, demand, routing="wcmp", state=state)
    assert built.network_theta == pytest.approx(1.0188, abs=5e-5)
    found = link_loads(fabric.without(links=[cable]), demand, routing="wcmp")
    assert found.network_theta == pytest.approx(1.0465, abs=5e-5)


@pytest.fixture(scope="module")
def selene(shared_data: Path) -> Fabric:
    return topo.read(shared_data / "ibnetdiscover" / "selene.compute.txt")


def of_luna(fabric: Fabric) -> Demand:
    """All-to-all of the compute nodes' adapters at their rate."""
    return everyone(fabric, 200.0, fabric.endpoint_rows("luna-*"))


def ends_of(fabric: Fabric, loads: LinkLoads) -> list[tuple[str, str]]:
    """Names of the binding arcs' ends."""
    arcs = loads.binding_arcs
    return [
        (str(a), str(b))
        for a, b in zip(
            fabric.nodes.name[fabric.arc_source[arcs]], fabric.nodes.name[fabric.arc_target[arcs]], strict=True
        )
    ]


def test_selene_as_found(selene: Fabric) -> None:
    demand = of_luna(selene)
    assert len(demand.blocks[0].sources) == 3664
    loads = link_loads(selene, demand)
    assert loads.theta == pytest.approx(0.5020631645770511, rel=1e-12)
    assert ends_of(selene, loads) == [("CSPINE1-67", "LG06-07")]
    assert loads.valley_share == 0
    assert link_loads(selene, demand, routing=Routing(lag=True)).theta == pytest.approx(0.5026, abs=5e-5)
    assert link_loads(selene, demand, routing=Routing("wcmp", weights="local")).theta == pytest.approx(0.5021, abs=5e-5)
    assert link_loads(selene, demand, routing="wcmp").theta == pytest.approx(0.8843, abs=5e-5)
    assert link_loads(selene, demand, routing=Routing(up_down=True)).theta == pytest.approx(loads.theta, rel=1e-12)


def with_second_cable(fabric: Fabric, cables: list[int]) -> Fabric:
    """The fabric with another cable beside each of the given ones."""
    rows = np.concatenate([np.arange(len(fabric.links)), np.array(cables, int)])
    return Fabric(fabric.name, fabric.nodes, fabric.ports, fabric.links.take(rows), fabric.groups, fabric.origin)


def test_selene_repaired(selene: Fabric) -> None:
    name = selene.nodes.name
    cables: dict[tuple[str, ...], list[int]] = {}
    for link, ends in enumerate(zip(name[selene.link_a].tolist(), name[selene.link_b].tolist(), strict=True)):
        if sorted(end[:2] for end in ends) == ["CS", "LG"]:
            cables.setdefault(tuple(sorted(ends)), []).append(link)
    thin = {ends: rows[0] for ends, rows in cables.items() if len(rows) == 1}
    assert len(thin) == 13
    repaired = with_second_cable(selene, list(thin.values()))
    loads = link_loads(repaired, of_luna(repaired))
    assert loads.theta == pytest.approx(0.93019, abs=5e-6)
    assert ("CCORE1-013", "CSPINE1-31") in ends_of(repaired, loads)
    for ends, cable in thin.items():  # one alone changes little: the others still bind
        one = link_loads(with_second_cable(selene, [cable]), of_luna(selene))
        assert 0.501 < one.theta < 0.503
        if ends == ("CSPINE2-69", "LG14-07"):
            assert one.theta == pytest.approx(0.50219, abs=5e-6)
    # ECMP's paradox on a real machine: one cable less, and more fits.
    better = State.without(selene, links=cables["CSPINE1-07", "LG01-01"][:1])
    assert link_loads(selene, of_luna(selene), state=better).theta == pytest.approx(0.50228, abs=5e-6)
    worst = State.without(selene, nodes="CSPINE1-61")
    assert link_loads(selene, of_luna(selene), state=worst).theta == pytest.approx(0.4517, abs=5e-5)


def test_selene_valleys(selene: Fabric) -> None:
    demand = everyone(selene, 200.0)
    loads = link_loads(selene, demand)
    assert loads.theta == pytest.approx(0.40044, abs=5e-6)
    assert loads.valley_share == pytest.approx(3e-6, rel=0.2)
    strict = link_loads(selene, demand, routing=Routing(up_down=True))
    assert strict.lost_pairs == 36
    assert "a model" in " ".join(strict.assumptions)
    assert strict.theta == pytest.approx(0.40065, abs=5e-6)
    assert strict.valley_share == 0
    managers = np.setdiff1d(selene.endpoints, selene.endpoint_rows("luna-*"))
    among = link_loads(selene, everyone(selene, 200.0, managers))
    between_leaves = 76  # of 110 ordered pairs; the others share a leaf
    assert among.valley_share * 110 / between_leaves == pytest.approx(0.47, abs=0.005)


@pytest.fixture(scope="module")
def superpod() -> Fabric:
    return topo.load("nvidia-superpod-b200-64su")


@pytest.mark.parametrize(
    ("tiers", "theta"), [((1, 2), 0.97059), ((2, 3), 0.79995)], ids=["leaf-spine cable", "spine-core cable"]
)
def test_superpod_loses_a_cable(superpod: Fabric, tiers: tuple[int, int], theta: float) -> None:
    ends = np.sort(np.stack([superpod.nodes.tier[superpod.link_a], superpod.nodes.tier[superpod.link_b]]), axis=0)
    cable = int(np.flatnonzero((ends[0] == tiers[0]) & (ends[1] == tiers[1]))[17])
    demand = everyone(superpod, 400.0)
    assert link_loads(superpod, demand).theta == pytest.approx(1)
    state = State.without(superpod, links=[cable])
    assert link_loads(superpod, demand, state=state).theta == pytest.approx(theta, abs=5e-6)


# What the survivors send among themselves is less than all: 16,383 shares less the 32 of the lost leaf.
@pytest.mark.parametrize(("tier", "theta"), [(1, 16383 / 16351), (2, 0.97059), (3, 0.93328)])
def test_superpod_loses_a_switch(superpod: Fabric, tier: int, theta: float) -> None:
    switch = superpod.select(tier=tier)[5]
    loads = link_loads(superpod, everyone(superpod, 400.0), state=State.without(superpod, nodes=[switch]))
    assert loads.theta == pytest.approx(theta, abs=5e-6)
    gone = 32 if tier == 1 else 0
    n = len(superpod.endpoints)
    assert loads.lost_pairs == gone * (2 * n - gone - 1)
    assert loads.lost_gbps == pytest.approx(loads.lost_pairs * 400 / (n - 1))
    assert len(loads.lost_source) == (1000 if gone else 0)


def test_eight_planes_share_evenly() -> None:
    fabric = topo.load("openai-mrc-131k")
    demand = everyone(fabric, 800.0)
    loads = link_loads(fabric, demand)
    assert loads.theta == pytest.approx(1, rel=1e-9)
    assert loads.lost_pairs == 0
    access = np.repeat(fabric.links.kind.is_any("access"), 2)
    np.testing.assert_allclose(loads.arc_gbps[access], 100, rtol=1e-9)


def test_absent_is_no_next_hop_and_rate_zero_is_one() -> None:
    fabric = topo.leaf_spine(leaves=2, spines=2, hosts_per_leaf=2, host_gbps=1, link_gbps=1)
    ends, uplink = fabric.endpoints, fabric.select(tier=1)[0]
    cable = int(np.flatnonzero((fabric.link_a == uplink) & (fabric.nodes.tier[fabric.link_b] == 2))[0])
    demand = pairs(fabric, ends[:2], ends[2:])
    rates = fabric.links.capacity_gbps.copy()
    rates[cable] = 0
    slow = State(None, None, rates)
    loads = link_loads(fabric, demand, state=slow)
    assert loads.theta == 0
    assert loads.binding_arcs.tolist() == [2 * cable]
    assert link_loads(fabric, demand, routing="wcmp", state=slow).theta == pytest.approx(0.5)
    absent = link_loads(fabric, demand, state=State.without(fabric, links=[cable]))
    assert absent.theta == pytest.approx(0.5)
    assert absent.capacity_gbps[2 * cable] == 0


def test_lost_pairs_are_counted_and_carry_nothing() -> None:
    fabric = topo.leaf_spine(leaves=3, spines=1, hosts_per_leaf=2, host_gbps=1, link_gbps=1)
    leaf = fabric.select(tier=1)[0]
    uplinks = np.flatnonzero((fabric.link_a == leaf) & (fabric.nodes.tier[fabric.link_b] == 2))
    state = State.without(fabric, links=uplinks)
    loads = link_loads(fabric, everyone(fabric, 5.0), state=state)
    assert loads.lost_pairs == 2 * 2 * 4
    assert loads.lost_gbps == pytest.approx(16)
    first = set(fabric.endpoints[:2].tolist())
    for source, sink in zip(loads.lost_source.tolist(), loads.lost_sink.tolist(), strict=True):
        assert (source in first) != (sink in first)
    # The two hosts cut off still talk to each other, at 1 Gb/s of the 5.
    assert loads.arc_gbps[:4].max() == pytest.approx(1)


def test_nothing_flows() -> None:
    fabric = topo.leaf_spine(leaves=2, spines=1, hosts_per_leaf=1, host_gbps=1, link_gbps=1)
    ends = fabric.endpoints
    for demand in (Demand.of(fabric, "none"), pairs(fabric, ends[:1], ends[1:], 0.0)):
        loads = link_loads(fabric, demand)
        assert loads.theta == np.inf
        assert loads.binding_arcs.tolist() == []
        assert not loads.arc_gbps.any()
        assert loads.valley_share == 0
    gone = link_loads(fabric, everyone(fabric), state=State.without(fabric, links=np.arange(len(fabric.links))))
    assert gone.lost_pairs == 2
    assert gone.theta == np.inf


def test_blocks_and_pairs_add_up() -> None:
    fabric = topo.fat_tree(6, link_gbps=1)
    ends, rng = fabric.endpoints, np.random.default_rng(1)
    blocks = tuple(
        Block.of(
            rng.choice(ends, 20, replace=False),
            rng.choice(ends, 9, replace=False),
            2.0,
            source_weight=rng.random(20),
            sink_weight=rng.random(9),
        )
        for _ in range(6)
    )
    source, sink = rng.choice(ends, 50), rng.choice(ends, 50)
    other = source != sink
    demand = Demand.of(fabric, "both", blocks=blocks, source=source[other], sink=sink[other], gbps=0.5)
    together = link_loads(fabric, demand)
    one_by_one = (
        sum(link_loads(fabric, Demand.of(fabric, "one", blocks=(block,))).arc_gbps for block in blocks)
        + link_loads(fabric, Demand.of(fabric, "rest", source=source[other], sink=sink[other], gbps=0.5)).arc_gbps
    )
    np.testing.assert_allclose(together.arc_gbps, one_by_one, rtol=1e-12, atol=1e-13)
    listed = Demand.of(fabric, "listed", **dict(zip(("source", "sink", "gbps"), demand.pairs(), strict=True)))
    np.testing.assert_allclose(together.arc_gbps, link_loads(fabric, listed).arc_gbps, rtol=1e-12, atol=1e-13)


def test_relabelling_changes_nothing() -> None:
    fabric = topo.fat_tree(6, link_gbps=1)
    rng = np.random.default_rng(3)
    order = rng.permutation(len(fabric.links))
    shuffled = Fabric(fabric.name, fabric.nodes, fabric.ports, fabric.links.take(order), fabric.groups, fabric.origin)
    to = rng.permutation(fabric.endpoints)
    demand = pairs(fabric, fabric.endpoints[to != fabric.endpoints], to[to != fabric.endpoints])
    state = State.without(fabric, links=np.arange(60, 75))
    moved = State.without(shuffled, links=np.flatnonzero(np.isin(order, np.arange(60, 75))))
    before = link_loads(fabric, demand, state=state).arc_gbps.reshape(-1, 2)
    after = link_loads(shuffled, demand, state=moved).arc_gbps.reshape(-1, 2)
    np.testing.assert_allclose(after, before[order], rtol=1e-12, atol=1e-13)


def test_results_are_read_only_and_say_what_they_assume() -> None:
    fabric = topo.leaf_spine(leaves=2, spines=2, hosts_per_leaf=2, host_gbps=1, link_gbps=1)
    loads = link_loads(fabric, everyone(fabric), routing=Routing("spray", lag=True, costs={"access": 2}))
    assert not loads.arc_gbps.flags.writeable
    text = " ".join(loads.assumptions)
    for word in ("access", "one next hop", "spraying", "link costs"):
        assert word in text
    assert "quantised" in " ".join(link_loads(fabric, everyone(fabric), routing="wcmp").assumptions)
    assert "theta 1" in repr(loads)


def test_refusals() -> None:
    fabric = topo.leaf_spine(leaves=2, spines=2, hosts_per_leaf=2, host_gbps=1, link_gbps=1)
    for scheme in ("single-path", "optimal"):
        with pytest.raises(ParameterError, match=scheme):
            link_loads(fabric, everyone(fabric), routing=scheme)
    with pytest.raises(ParameterError, match="unknown link kind.*'sclae_out'"):
        link_loads(fabric, everyone(fabric), routing=Routing(costs={"sclae_out": 2}))
    larger = topo.leaf_spine(leaves=4, spines=2, hosts_per_leaf=8)
    with pytest.raises(ParameterError, match="names node row 31, but .* has 8 nodes"):
        link_loads(fabric, everyone(larger))
    ring = torus(8)
    with pytest.raises(ParameterError, match="'n0' forwards for others"):
        link_loads(ring, everyone(ring), routing=Routing(up_down=True))
    columns = {name: getattr(fabric.links, name) for name in fabric.links.columns()}
    unknown = LinkTable(**columns | {"capacity_gbps": np.full(len(fabric.links), np.nan)})
    nameless = Fabric("x", fabric.nodes, fabric.ports, unknown, fabric.groups, fabric.origin)
    with pytest.raises(InputError, match="assume_gbps"):
        link_loads(nameless, everyone(nameless))


def test_accelerators_reach_rails_through_their_host() -> None:
    """Rails that nothing joins: with PXN a neighbour in the host relays, without it the pair is lost."""
    assembly = Assembly("rail only")
    leaves = assembly.add_nodes(["rail-1", "rail-2"], kind="switch", tier=1)
    for host in ("a", "b"):
        own = {"host": host, "forwards": 1}
        gpus = assembly.add_nodes([f"{host}-gpu-{i}" for i in (1, 2)], kind="accelerator", is_endpoint=True, **own)
        nics = assembly.add_nodes([f"{host}-nic-{i}" for i in (1, 2)], kind="nic", tier=-1, **own)
        assembly.connect(gpus, nics, 400, kind="host_io")
        assembly.connect(nics, leaves, 400, kind="access")
        assembly.connect(gpus[:1], gpus[1:], 900, kind="scale_up")
    fabric = assembly.finish()
    cross = pairs(fabric, fabric.rows("a-gpu-1"), fabric.rows("b-gpu-2"), 100)
    loads = link_loads(fabric, cross)
    assert loads.lost_pairs == 0
    # The sender's neighbour relays: scale-up, its adapter, two access links, and the sink's own adapter.
    assert sorted(loads.arc_gbps[loads.is_loaded].tolist()) == [100] * 5
    names = fabric.nodes.name[fabric.arc_target[np.flatnonzero(loads.is_loaded)]].tolist()
    assert sorted(names) == ["a-gpu-2", "a-nic-2", "b-gpu-2", "b-nic-2", "rail-2"]
    always = link_loads(fabric, cross, routing=Routing(pxn="always"))
    assert always.arc_gbps.tolist() == loads.arc_gbps.tolist()
    alone = link_loads(fabric, cross, routing=Routing(pxn=False))
    assert alone.lost_pairs == 1
    assert alone.lost_gbps == 100


def test_opened_twins_differ_by_what_they_send() -> None:
    """Sixteen equal hosts, a ring over their accelerators: every arc inside a host as if the host stood alone."""
    from topo.build.rail import RailPlan

    fabric = topo.cluster(topo.ClusterHosts("dgx-h100", 16), RailPlan(hosts_per_unit=16))
    ends = fabric.endpoints
    rng = np.random.default_rng(5)
    to = rng.permutation(ends)
    moved = ends != to
    gbps = rng.random(int(moved.sum()))
    demand = Demand.of(fabric, "permutation", source=ends[moved], sink=to[moved], gbps=gbps)
    loads = link_loads(fabric, demand)
    one_by_one = np.zeros_like(loads.arc_gbps)
    for source, sink, rate in zip(demand.source, demand.sink, gbps, strict=True):
        # A lone pair has no twins to be told from: the class of its host is split off by nothing else.
        one_by_one += link_loads(fabric, pairs(fabric, [source], [sink], float(rate))).arc_gbps
    np.testing.assert_allclose(loads.arc_gbps, one_by_one, rtol=1e-11, atol=1e-12)
    sent = np.bincount(fabric.arc_source[loads.is_loaded], loads.arc_gbps[loads.is_loaded], len(fabric.nodes))
    came = np.bincount(fabric.arc_target[loads.is_loaded], loads.arc_gbps[loads.is_loaded], len(fabric.nodes))
    net = demand.sent_gbps(fabric) - demand.received_gbps(fabric)
    np.testing.assert_allclose(sent - came, net, atol=1e-10)
    assert loads.lost_pairs == 0


def test_conservation_on_a_large_broken_tree() -> None:
    """Ten thousand pairs on a fat-tree that lost a tenth of its links: what comes in goes out, at every node."""
    fabric = topo.fat_tree(16, link_gbps=1)
    rng = np.random.default_rng(7)
    state = State.without(fabric, links=rng.choice(len(fabric.links), len(fabric.links) // 10, replace=False))
    source, sink = rng.choice(fabric.endpoints, 10_000), rng.choice(fabric.endpoints, 10_000)
    other = source != sink
    demand = Demand.of(fabric, "random", source=source[other], sink=sink[other], gbps=rng.random(int(other.sum())))
    for routing in (Routing(), Routing("wcmp"), Routing(up_down=True)):
        loads = link_loads(fabric, demand, routing=routing, state=state)
        assert 0 < loads.lost_pairs < demand.n_pairs
        sent = np.bincount(fabric.arc_source, loads.arc_gbps, len(fabric.nodes))
        came = np.bincount(fabric.arc_target, loads.arc_gbps, len(fabric.nodes))
        switch = ~fabric.nodes.is_endpoint
        np.testing.assert_allclose(sent[switch], came[switch], rtol=1e-10, atol=1e-10)
        assert sent[~switch].sum() == pytest.approx(demand.total_gbps - loads.lost_gbps)
        assert not loads.arc_gbps[np.repeat(~state.link_mask(fabric), 2)].any()
