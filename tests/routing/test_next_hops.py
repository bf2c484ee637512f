"""Next hops and walks against a slow search of every pair, and against closed forms."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from path_oracle import shortest_dag, walked_sets

import topo
from topo.build.assembly import Assembly
from topo.errors import ParameterError
from topo.fabric import FORWARDS_NOTHING, Fabric, Origin, State
from topo.routing.loads import link_loads
from topo.routing.next_hops import NO_PATH, NextHops
from topo.routing.scheme import Routing
from topo.routing.sets import SetBits
from topo.routing.walk import at_random, lost_mask, walk
from topo.table import Labels
from topo.traffic.demand import Demand


def check_pairs(
    fabric: Fabric, *, state: State | None = None, routing: Routing | None = None, pairs: int = 12, seed: int = 0
) -> int:
    """Walk some pairs many times; every arc of the oracle's DAG must be taken, and no other. Returns lost pairs."""
    routing = routing or Routing()
    random = np.random.default_rng(seed)
    ends = fabric.endpoints
    every = [(int(a), int(b)) for a in ends for b in ends if a != b]
    chosen = [every[i] for i in random.permutation(len(every))[:pairs]]
    found = NextHops.of(fabric, state=state, routing=routing)
    lost = 0
    for source, sink in chosen:
        dag, far = shortest_dag(fabric, source, sink, state=state, costs=dict(routing.costs), pxn=routing.pxn)
        many = 40 + 12 * sum(len(arcs) for arcs in dag.values())
        arcs = walk(found, np.full(many, source), np.full(many, sink), at_random(seed))
        if far == np.inf:
            assert lost_mask(arcs).all()
            lost += 1
            continue
        assert not lost_mask(arcs).any()
        assert (fabric.arc_source[arcs[0]] == source).all()
        seen = walked_sets(fabric, arcs, np.full(many, source), np.full(many, sink))[source, sink]
        for node, taken in seen.items():
            assert taken <= set(dag[node]), (fabric.nodes.name[node], taken, dag[node])
        # Rare arcs may be missed by chance only where paths are many: at the source none may be.
        assert seen[source] == set(dag[source])
        per_node = [node for node in dag if node in seen and len(dag) <= 6]
        for node in per_node:
            assert seen[node] == set(dag[node])
    return lost


def broken(fabric: Fabric, share: float, seed: int) -> State:
    random = np.random.default_rng(seed)
    return State.without(fabric, links=np.flatnonzero(random.random(len(fabric.links)) < share))


def random_switches(seed: int) -> Fabric:
    """A random multigraph of switches, hosts with one to three links, some on two switches."""
    random = np.random.default_rng(seed)
    assembly = Assembly(f"random {seed}")
    switches = assembly.add_nodes([f"s{i}" for i in range(7)], kind="switch", tier=1)
    hosts = assembly.add_nodes(
        [f"h{i}" for i in range(6)], kind="host", is_endpoint=True, tier=0, forwards=FORWARDS_NOTHING
    )
    pairs = [(i, j) for i in range(7) for j in range(i) if random.random() < 0.45]
    for i, j in pairs:
        many = int(random.integers(1, 3))
        kind = str(random.choice(["scale_out", "internal"]))
        assembly.connect(np.repeat(switches[i], many), np.repeat(switches[j], many), 100, kind=kind)
    for host in hosts:
        for leaf in random.choice(7, int(random.integers(1, 4))):
            assembly.connect([host], [switches[leaf]], 100, kind=str(random.choice(["access", "scale_out"])))
    return assembly.finish(Origin())


@pytest.mark.parametrize("seed", range(25))
def test_random_multigraphs_with_costs_and_failures(seed: int) -> None:
    fabric = random_switches(seed)
    check_pairs(fabric, seed=seed)
    check_pairs(
        fabric, routing=Routing(costs={"internal": 2, "access": 3}), state=broken(fabric, 0.15, seed), seed=seed
    )


@pytest.mark.parametrize("share", [0.0, 0.1, 0.3])
def test_fat_tree(share: float) -> None:
    fabric = topo.fat_tree(4)
    check_pairs(fabric, state=broken(fabric, share, 3), pairs=30, seed=5)


def test_every_link_lost_every_flow_lost() -> None:
    fabric = topo.leaf_spine(2, 2, 2)
    assert check_pairs(fabric, state=State.without(fabric, links=np.arange(len(fabric.links)))) == 12


def test_switches_and_hosts_that_are_down() -> None:
    fabric = topo.fat_tree(4)
    state = State.without(fabric, nodes=["core-1", "pod-2-leaf-1", "host-09"])
    assert check_pairs(fabric, state=state, pairs=240) == 3 * 13 * 2 + 3 * 2


def test_links_at_rate_zero_are_next_hops() -> None:
    fabric = topo.leaf_spine(2, 2, 2)
    nothing = np.zeros(len(fabric.links))
    arcs = walk(
        NextHops.of(fabric, state=State(capacity_gbps=nothing)),
        fabric.endpoints[:1],
        fabric.endpoints[-1:],
        at_random(0),
    )
    assert arcs.shape == (4, 1)


def test_table_of_a_fat_tree() -> None:
    """k=8: towards another pod k/2 next hops up, k/2 again, then one each down."""
    fabric = topo.fat_tree(8)
    found = NextHops.of(fabric)
    assert found.table.shape == (80, 32) and found.table.dtype == np.int32
    size = np.diff(found.start)
    tier = fabric.nodes.tier[found.relays]
    ends = found.table < NO_PATH
    assert ends.sum() == 32 and (found.table[ends] == -2).all()
    sizes = size[np.maximum(found.table, 0)]
    assert set(sizes[tier == 1][~ends[tier == 1]].tolist()) == {4}
    assert np.bincount(sizes[tier == 2].ravel()).tolist() == [0, 32 * 4, 0, 0, 32 * 28]
    assert set(sizes[tier == 3].ravel().tolist()) == {1}
    assert found.group_of[fabric.endpoints].tolist() == np.repeat(np.arange(32), 4).tolist()


@pytest.mark.parametrize(
    ("name", "pairs"),
    [("nvidia-dgx-h100", 40), ("nvidia-gb200-nvl72", 6), ("nvidia-dgx-a100", 40), ("amd-mi300x-8", 40)],
)
def test_inside_opened_hosts(name: str, pairs: int) -> None:
    check_pairs(topo.load(name), pairs=pairs)
    check_pairs(topo.load(name), pairs=pairs, routing=Routing(pxn=False))


def test_planes_and_groups() -> None:
    fabric = topo.multi_plane(8, planes=4, radix=4, lanes=4)
    check_pairs(fabric)


def domain_of_two_hosts() -> Fabric:
    """Two hosts of two accelerators and two NICs on shared scale-up chips, a third host, all on two leaves."""
    assembly = Assembly("domain")
    leaf = assembly.add_nodes(["leaf-1", "leaf-2"], kind="switch", tier=1)
    spine = assembly.add_nodes(["spine-1"], kind="switch", tier=2)
    assembly.connect(leaf, np.repeat(spine, 2), 400)
    domain = Labels.constant("d", 4)
    host = Labels.of(["a", "a", "b", "b"])
    accelerators = assembly.add_nodes(
        [f"gpu-{i}" for i in range(4)],
        kind="accelerator",
        is_endpoint=True,
        tier=0,
        forwards=1,
        host=host,
        domain=domain,
    )
    nics = assembly.add_nodes([f"nic-{i}" for i in range(4)], kind="nic", tier=-1, forwards=1, host=host)
    chips = assembly.add_nodes(["chip-1", "chip-2"], kind="scale_up_switch", tier=1, domain=Labels.constant("d", 2))
    for chip in chips:
        assembly.connect(accelerators, np.repeat(chip, 4), 900, kind="scale_up")
    assembly.connect(accelerators, nics, 400, kind="host_io")
    assembly.connect(nics, leaf[[0, 1, 0, 1]], 400, kind="access")
    other = assembly.add_nodes(
        ["gpu-9"],
        kind="accelerator",
        is_endpoint=True,
        tier=0,
        forwards=1,
        host=Labels.of(["c"]),
        domain=Labels.of(["e"]),
    )
    nic = assembly.add_nodes(["nic-9"], kind="nic", tier=-1, forwards=1, host=Labels.of(["c"]))
    assembly.connect(other, nic, 400, kind="host_io")
    assembly.connect(nic, leaf[:1], 400, kind="access")
    return assembly.finish(Origin())


def test_own_traffic_may_come_back_through_a_scale_up_chip() -> None:
    fabric = domain_of_two_hosts()
    assert check_pairs(fabric, pairs=20) == 0
    # With the NIC of gpu-0 gone its way out is chip, gpu-1, nic-1; the neighbour host b never relays.
    state = State.without(fabric, nodes="nic-0")
    assert check_pairs(fabric, state=state, pairs=20) == 0
    source, sink = fabric.rows("gpu-0"), fabric.rows("gpu-9")
    arcs = walk(NextHops.of(fabric, state=state), np.repeat(source, 50), np.repeat(sink, 50), at_random(1))
    seen = {str(fabric.nodes.name[fabric.arc_target[a]]) for a in arcs.ravel() if a >= 0}
    assert seen == {"chip-1", "chip-2", "gpu-1", "nic-1", "leaf-2", "spine-1", "leaf-1", "nic-9", "gpu-9"}
    loads = link_loads(fabric, Demand.of(fabric, "one", source=source, sink=sink, gbps=1.0), state=state)
    assert loads.lost_pairs == 0
    assert {str(fabric.nodes.name[v]) for v in fabric.arc_target[np.flatnonzero(loads.is_loaded)]} == seen
    back = walk(NextHops.of(fabric, state=state), np.repeat(sink, 50), np.repeat(source, 50), at_random(1))
    mirrored = {str(fabric.nodes.name[fabric.arc_source[a]]) for a in back.ravel() if a >= 0}
    assert mirrored == seen
    # Without PXN no accelerator relays, and gpu-0 is cut off from the third host.
    assert check_pairs(fabric, state=state, pairs=20, routing=Routing(pxn=False)) == 2


def test_hosts_cabled_back_to_back() -> None:
    assembly = Assembly("pair")
    ends = assembly.add_nodes(["a", "b", "c"], kind="host", is_endpoint=True, tier=0, forwards=FORWARDS_NOTHING)
    assembly.connect(ends[[0, 0, 1]], ends[[1, 1, 2]], 100)
    fabric = assembly.finish(Origin())
    # a - b directly over either cable, b - c; a - c would pass through b, which forwards nothing.
    assert check_pairs(fabric, pairs=6) == 2


def test_tori_relay_through_endpoints() -> None:
    assembly = Assembly("ring")
    ring = assembly.add_nodes([f"n{i}" for i in range(6)], kind="host", is_endpoint=True, tier=0, forwards=2)
    assembly.connect(ring, np.roll(ring, -1), 100)
    fabric = assembly.finish(Origin())
    assert check_pairs(fabric, pairs=30) == 0
    arcs = walk(NextHops.of(fabric), np.repeat(ring[0], 400), np.repeat(ring[3], 400), at_random(7))
    assert len(arcs) == 3 and sorted(np.unique(arcs[0]).tolist()) == [0, 11]


def test_lag_is_one_next_hop_with_members() -> None:
    fabric = topo.leaf_spine(2, 2, 2, parallel=3)
    plain, lag = NextHops.of(fabric), NextHops.of(fabric, routing=Routing(lag=True))
    assert np.diff(plain.start).max() == 6 and np.diff(lag.start).max() == 2
    asked: list[list[int]] = []

    def choose(flow: np.ndarray, node: np.ndarray, n_hops: np.ndarray, hop: int) -> np.ndarray:
        asked.append([hop, *np.unique(n_hops).tolist()])
        return at_random(hop + len(asked))(flow, node, n_hops, hop)

    arcs = walk(lag, np.repeat(fabric.endpoints[:1], 600), np.repeat(fabric.endpoints[-1:], 600), choose)
    assert asked == [[1, 2], [1, 3], [2, 3]]
    assert len(np.unique(arcs[1])) == 6 and len(np.unique(arcs[2])) == 6


def lopsided(seed: int) -> Fabric:
    """Three tiers with links missing and a few inside a tier or past one."""
    random = np.random.default_rng(seed)
    assembly = Assembly("lopsided")
    leaf = assembly.add_nodes([f"l{i}" for i in range(5)], kind="switch", tier=1)
    spine = assembly.add_nodes([f"s{i}" for i in range(4)], kind="switch", tier=2)
    core = assembly.add_nodes([f"c{i}" for i in range(3)], kind="switch", tier=3)
    for low, high, share in ((leaf, spine, 0.45), (spine, core, 0.6), (leaf, leaf, 0.15), (leaf, core, 0.1)):
        for u in low:
            for v in high:
                if u < v and random.random() < share:
                    assembly.connect([u], [v], 100)
    hosts = assembly.add_nodes(
        [f"h{i}" for i in range(7)], kind="host", is_endpoint=True, tier=0, forwards=FORWARDS_NOTHING
    )
    assembly.connect(hosts, np.concatenate([leaf, spine[:2]]), 100, kind="access")
    return assembly.finish(Origin())


@pytest.mark.parametrize("seed", range(20))
def test_up_then_down(seed: int) -> None:
    """Destination-based up/down by its definition: shortest down where there is a way down, else up."""
    fabric = lopsided(seed)
    found = NextHops.of(fabric, routing=Routing(up_down=True))
    tier, ends = fabric.nodes.tier, fabric.endpoints
    arcs = [a for a in range(2 * len(fabric.links)) if tier[fabric.arc_source[a]] and tier[fabric.arc_target[a]]]
    for sink in ends:
        home = int(fabric.arc_target[np.flatnonzero(fabric.arc_source == sink)[0]])
        down, up = {home: 1}, {}
        for _ in range(20):
            for a in arcs:
                u, v = int(fabric.arc_source[a]), int(fabric.arc_target[a])
                if tier[u] > tier[v] and v in down:
                    down[u] = min(down.get(u, 99), down[v] + 1)
        for _ in range(20):
            for a in arcs:
                u, v = int(fabric.arc_source[a]), int(fabric.arc_target[a])
                value = down.get(v, up.get(v))
                if u not in down and tier[u] < tier[v] and value is not None:
                    up[u] = min(up.get(u, 99), value + 1)
        for u in fabric.switches.tolist():
            wanted = set()
            for a in arcs:
                v = int(fabric.arc_target[a])
                if int(fabric.arc_source[a]) != u or u == home:
                    continue
                goes_down = u in down and tier[u] > tier[v] and down.get(v) == down[u] - 1
                goes_up = u in up and tier[u] < tier[v] and down.get(v, up.get(v)) == up[u] - 1
                if goes_down or goes_up:
                    wanted.add(a)
            got = {int(a) for a in found.next_arcs(u, int(sink))}
            assert (len(got) == 1) if u == home else (got == wanted)


def test_one_destination_alone() -> None:
    fabric = topo.fat_tree(8)
    some = NextHops.of(fabric, sinks=fabric.endpoints[5:6])
    assert some.table.shape == (80, 1)
    every = NextHops.of(fabric)
    for switch in fabric.switches[:40:7].tolist():
        sink = int(fabric.endpoints[5])
        assert some.next_arcs(switch, sink).tolist() == every.next_arcs(switch, sink).tolist()


def overlapping_pairs() -> Fabric:
    """Hosts on two leaves each, host i on leaves i and i + 1, some doubly; all leaves are twins."""
    assembly = Assembly("overlapping")
    leaf = assembly.add_nodes([f"leaf-{i}" for i in range(6)], kind="switch", tier=1)
    spine = assembly.add_nodes([f"spine-{i}" for i in range(3)], kind="switch", tier=2)
    assembly.connect(np.repeat(leaf, 3), np.tile(spine, 6), 100)
    host = assembly.add_nodes(
        [f"h{i}" for i in range(9)], kind="host", is_endpoint=True, tier=0, forwards=FORWARDS_NOTHING
    )
    first = np.array([0, 1, 2, 3, 4, 5, 0, 2, 4])
    assembly.connect(np.repeat(host, 2), leaf[np.stack([first, (first + 1) % 6], axis=1).ravel()], 100, kind="access")
    assembly.connect(host[6:7], leaf[:1], 100, kind="access")
    return assembly.finish(Origin())


def peered_pairs() -> Fabric:
    """Dual-homed hosts whose two leaves are joined to each other as well."""
    assembly = Assembly("peered")
    leaf = assembly.add_nodes([f"leaf-{i}" for i in range(8)], kind="switch", tier=1)
    spine = assembly.add_nodes([f"spine-{i}" for i in range(2)], kind="switch", tier=2)
    assembly.connect(np.repeat(leaf, 2), np.tile(spine, 8), 100)
    assembly.connect(leaf[::2], leaf[1::2], 100)
    host = assembly.add_nodes(
        [f"h{i}" for i in range(4)], kind="host", is_endpoint=True, tier=0, forwards=FORWARDS_NOTHING
    )
    assembly.connect(np.repeat(host, 2), leaf, 100, kind="access")
    return assembly.finish(Origin())


def leaf_and_spine_homed() -> Fabric:
    """Hosts on a leaf and on a spine beside it: the relays of one group are next to those of the others."""
    assembly = Assembly("both tiers")
    leaf = assembly.add_nodes([f"leaf-{i}" for i in range(4)], kind="switch", tier=1)
    spine = assembly.add_nodes([f"spine-{i}" for i in range(4)], kind="switch", tier=2)
    assembly.connect(np.repeat(leaf, 4), np.tile(spine, 4), 100)
    host = assembly.add_nodes(
        [f"h{i}" for i in range(4)], kind="host", is_endpoint=True, tier=0, forwards=FORWARDS_NOTHING
    )
    assembly.connect(np.concatenate([host, host]), np.concatenate([leaf, spine]), 100, kind="access")
    return assembly.finish(Origin())


def direct_and_roundabout() -> Fabric:
    """Twin leaves that a far switch reaches at equal cost directly (2) and over a nearer one (1 + 1)."""
    assembly = Assembly("roundabout")
    leaf = assembly.add_nodes([f"leaf-{i}" for i in range(3)], kind="switch", tier=1)
    near, far = assembly.add_nodes(["near", "far"], kind="switch", tier=2)
    assembly.connect(leaf, np.repeat(near, 3), 100)
    assembly.connect(leaf, np.repeat(far, 3), 100, kind="internal")
    assembly.connect([near], [far], 100)
    host = assembly.add_nodes(
        [f"h{i}" for i in range(4)], kind="host", is_endpoint=True, tier=0, forwards=FORWARDS_NOTHING
    )
    assembly.connect(host, np.append(leaf, far), 100, kind="access")
    return assembly.finish(Origin())


@pytest.mark.parametrize("share", [0.0, 0.02, 0.15])
@pytest.mark.parametrize("up_down", [False, True])
@pytest.mark.parametrize(
    "build",
    [
        lambda: topo.fat_tree(8),
        lambda: topo.multi_plane(32, planes=4, radix=8, lanes=4),
        overlapping_pairs,
        peered_pairs,
        leaf_and_spine_homed,
        direct_and_roundabout,
        lambda: topo.server("dgx-h100", hosts=2),
        lambda: topo.clos(48, tiers=3, radix=8, taper=1.5),
    ],
)
def test_twins_change_nothing(build: Callable[[], Fabric], up_down: bool, share: float) -> None:
    """Column by column the same sets and costs as for one destination alone, which has no twin to copy from."""
    fabric = build()
    state, routing = broken(fabric, share, 9), Routing(up_down=up_down, costs={"internal": 2})
    every = NextHops.of(fabric, state=state, routing=routing)
    for end in fabric.endpoints[:: max(1, len(fabric.endpoints) // 40)]:
        alone = NextHops.of(fabric, state=state, routing=routing, sinks=[end])
        group = every.group_of[end]
        if group < 0:
            assert alone.n_groups == 0
            continue
        assert every.cost[:, group].tolist() == alone.cost[:, 0].tolist()
        for row in range(len(every.relays)):
            a, b = int(every.table[row, group]), int(alone.table[row, 0])
            assert (a < 0, a == NO_PATH) == (b < 0, b == NO_PATH)
            a, b = (-2 - a, -2 - b) if a < NO_PATH else (max(a, 0), max(b, 0))
            assert (
                every.arcs[every.start[a] : every.start[a + 1]].tolist()
                == alone.arcs[alone.start[b] : alone.start[b + 1]].tolist()
            )


@pytest.mark.parametrize(
    "build",
    [
        lambda: topo.torus([4, 4, 2], hosts_per_switch=2, links=3),
        lambda: topo.hyperx([9, 9], hosts_per_switch=1, link_gbps=100),
        lambda: topo.jellyfish(90, 70, 1),
        lambda: topo.fat_tree(8),
    ],
)
def test_single_next_hops_are_those_listed(build: Callable[[], Fabric]) -> None:
    """Looked up in bits and in the lists of all sets, the nth next hop is the same arc."""
    fabric = build()
    bits, listed = NextHops.of(fabric), NextHops.of(fabric)
    size = np.diff(listed.start)
    assert len(listed.arcs) == size.sum() > 0
    number = np.repeat(np.arange(listed.n_sets), size)
    nth = np.arange(len(number)) - listed.start[number]
    few = max(1, len(number) // 9)
    for low in range(0, len(number), few):
        part = slice(low, low + few)
        assert bits.arc_of(number[part], nth[part]).tolist() == listed.arcs[part].tolist()
    assert "arcs" not in vars(bits) and isinstance(bits.held, SetBits)


def test_refusals() -> None:
    fabric = topo.leaf_spine(2, 2, 2)
    found, ends = NextHops.of(fabric), fabric.endpoints
    with pytest.raises(ParameterError, match="from 'host-1' to itself"):
        walk(found, ends[:1], ends[:1], at_random(0))
    with pytest.raises(ParameterError, match="'leaf-1' is no endpoint"):
        walk(found, fabric.rows("leaf-1"), ends[:1], at_random(0))
    with pytest.raises(ParameterError, match="choose gave"):
        walk(found, ends[:1], ends[-1:], lambda flow, node, n_hops, hop: n_hops)
    with pytest.raises(ParameterError, match="forwards nothing"):
        found.next_arcs(int(ends[0]), int(ends[1]))
    with pytest.raises(ParameterError, match="1 sources and 2 sinks"):
        walk(found, ends[:1], ends[1:3], at_random(0))
    with pytest.raises(ParameterError, match="leads to .* only"):
        walk(NextHops.of(fabric, sinks=ends[:1]), ends[:1], ends[-1:], at_random(0))
