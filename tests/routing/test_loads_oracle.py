"""The kernel against the slow oracle, arc by arc, on random fabrics of every kind."""

from __future__ import annotations

import numpy as np
import pytest
from routing_oracle import Oracle

from topo.build.assembly import Assembly
from topo.fabric import FORWARDS_ALL, FORWARDS_NOTHING, FORWARDS_OWN_HOST, Fabric, State
from topo.routing.loads import link_loads
from topo.routing.scheme import Routing
from topo.table import Labels
from topo.traffic.demand import Block, Demand

N_CASES = 25


def random_clos(rng: np.random.Generator) -> Fabric:
    """Leaf-spine or three tiers, parallel and unequal cables, uneven hosts."""
    assembly = Assembly("clos")
    pods, leaves, spines = rng.integers(1, 4), rng.integers(1, 4), rng.integers(1, 4)
    rates = [100.0, 200.0, 400.0] if rng.random() < 0.5 else [100.0]
    groups = [
        (
            assembly.add_nodes([f"leaf-{p}-{i}" for i in range(leaves)], kind="switch", tier=1),
            assembly.add_nodes([f"spine-{p}-{i}" for i in range(spines)], kind="switch", tier=2),
        )
        for p in range(pods)
    ]
    cores = assembly.add_nodes([f"core-{i}" for i in range(rng.integers(1, 4))], kind="switch", tier=3)
    several = int(rng.integers(1, 3))
    for low, high in groups:
        for leaf in low:
            count = int(rng.integers(0, 4))
            hosts = assembly.add_nodes(
                [f"h-{leaf}-{i}" for i in range(count)], kind="host", is_endpoint=True, forwards=FORWARDS_NOTHING
            )
            for host in hosts:
                assembly.connect([host] * several, [leaf] * several, float(rng.choice(rates)), kind="access")
            for spine in high:
                n = int(rng.integers(1, 3)) if rng.random() < 0.5 else several
                assembly.connect([leaf] * n, [spine] * n, float(rng.choice(rates)))
        for spine in high:
            for core in cores:
                if rng.random() < 0.8:
                    assembly.connect([core], [spine], float(rng.choice(rates)))
    return assembly.finish()


def random_regular(rng: np.random.Generator) -> Fabric:
    """Switches joined at random, several cables between some, hosts anywhere."""
    assembly = Assembly("random")
    n = int(rng.integers(3, 9))
    switches = assembly.add_nodes([f"s-{i}" for i in range(n)], kind="switch", tier=1)
    hosts = assembly.add_nodes(
        [f"h-{i}" for i in range(2 * n)], kind="host", is_endpoint=True, forwards=FORWARDS_NOTHING
    )
    assembly.connect(hosts, rng.choice(switches, 2 * n), 100, kind="access")
    a, b = rng.choice(switches, 3 * n), rng.choice(switches, 3 * n)
    for kind in ("scale_out", "internal"):
        some = (a != b) & (rng.random(3 * n) < 0.5)
        assembly.connect(a[some], b[some], float(rng.choice([100, 200])), kind=kind)
    return assembly.finish()


def random_mesh(rng: np.random.Generator) -> Fabric:
    """Endpoints that forward: a torus or complete bipartite graph, some with hosts of their own."""
    assembly = Assembly("mesh")
    if rng.random() < 0.5:
        n = int(rng.integers(3, 5))
        rows = assembly.add_nodes([f"n-{i}" for i in range(n * n)], kind="accelerator", is_endpoint=True)
        grid = rows.reshape(n, n)
        for axis in (0, 1):
            assembly.connect(grid.ravel(), np.roll(grid, 1, axis).ravel(), 100, kind="scale_up")
    else:
        n, m = int(rng.integers(2, 5)), int(rng.integers(2, 5))
        rows = assembly.add_nodes([f"n-{i}" for i in range(n + m)], kind="accelerator", is_endpoint=True)
        assembly.connect(np.repeat(rows[:n], m), np.tile(rows[n:], n), 100, kind="scale_up")
    hosts = assembly.add_nodes(["h-0", "h-1"], kind="host", is_endpoint=True, forwards=FORWARDS_NOTHING)
    assembly.connect(hosts, rng.choice(rows, 2), 100, kind="access")
    return assembly.finish()


def random_planes(rng: np.random.Generator) -> Fabric:
    """Endpoints on several leaves: planes, dual-homed pairs, some with one home, some with parallel links."""
    assembly = Assembly("planes")
    leaves = assembly.add_nodes([f"leaf-{i}" for i in range(int(rng.integers(2, 7)))], kind="switch", tier=1)
    spines = assembly.add_nodes([f"spine-{i}" for i in range(int(rng.integers(1, 4)))], kind="switch", tier=2)
    joined = rng.random() < 0.5
    for i, leaf in enumerate(leaves):
        up = spines if joined else spines[[i % len(spines)]]
        assembly.connect([leaf] * len(up), up, float(rng.choice([100, 200])))
    for group in range(int(rng.integers(1, 4))):
        homes = rng.choice(leaves, int(rng.integers(1, min(3, len(leaves)) + 1)), replace=rng.random() < 0.2)
        n = int(rng.integers(1, 4))
        names = [f"h-{group}-{i}" for i in range(n)]
        hosts = assembly.add_nodes(names, kind="nic", is_endpoint=True, forwards=FORWARDS_NOTHING)
        for leaf in homes:
            assembly.connect(hosts, [leaf] * n, 100, kind="access")
    single = assembly.add_nodes(["lone-0", "lone-1"], kind="nic", is_endpoint=True, forwards=FORWARDS_NOTHING)
    assembly.connect(single, rng.choice(leaves, 2), 100, kind="access")
    return assembly.finish()


def random_opened(rng: np.random.Generator) -> Fabric:
    """Hosts opened to accelerators, PCIe switches, adapters, host switch chips; perhaps a domain switch of all."""
    assembly = Assembly("opened")
    leaves = assembly.add_nodes([f"leaf-{i}" for i in range(2)], kind="switch", tier=1)
    spines = assembly.add_nodes([f"spine-{i}" for i in range(int(rng.integers(1, 3)))], kind="switch", tier=2)
    if rng.random() < 0.8:
        assembly.connect(np.repeat(leaves, len(spines)), np.tile(spines, 2), 400)
    domain = assembly.add_nodes(["chip"], kind="scale_up_switch", tier=-1) if rng.random() < 0.4 else None
    chips = int(rng.integers(0, 3))
    direct = rng.random() < 0.3
    rails = rng.random() < 0.5
    previous = None
    alike = rng.random() < 0.5
    for h in range(int(rng.integers(2, 5))):

        def add(word: str, n: int, kind: str, *, ends: bool = False, passes: bool = True, host: int = h) -> np.ndarray:  # type: ignore[type-arg]
            return assembly.add_nodes(
                [f"{word}-{host}-{i}" for i in range(n)], kind=kind, tier=0 if ends else -1, is_endpoint=ends,
                forwards=FORWARDS_OWN_HOST if passes else FORWARDS_NOTHING, host=f"host-{host}",
            )  # fmt: skip

        accelerators = add("gpu", 2, "accelerator", ends=True)
        pcie, adapters = add("pcie", 1 if h % 2 and not alike else 2, "pcie_switch"), add("nic", 2, "nic")
        cpu = add("cpu", 1, "cpu", passes=False)
        assembly.connect(accelerators, np.resize(pcie, 2), 500, kind="host_io")
        assembly.connect(adapters, np.resize(pcie, 2), 500, kind="host_io")
        assembly.connect(pcie, np.resize(cpu, len(pcie)), 500, kind="host_io")
        inner = add("chip", chips, "scale_up_switch")
        for chip in inner:
            assembly.connect(accelerators, [chip] * 2, 900, kind="scale_up")
        if domain is not None:
            assembly.connect(accelerators, np.resize(domain, 2), 900, kind="scale_up")
        assembly.connect(adapters, leaves if rails else np.resize(leaves[0 if alike else h % 2], 2), 400, kind="access")
        if direct and previous is not None:
            assembly.connect(accelerators[:1], previous[:1], 900, kind="scale_up")
        previous = accelerators
    return assembly.finish()


def random_domain(rng: np.random.Generator) -> Fabric:
    """Hosts that share the switch chips of their scale-up domain, often all alike, and leaves for their adapters."""
    assembly = Assembly("domains")
    leaves = assembly.add_nodes([f"leaf-{i}" for i in range(2)], kind="switch", tier=1)
    assembly.connect(leaves, np.repeat(assembly.add_nodes(["spine"], kind="switch", tier=2), 2), 400)
    alike, rails, upper = rng.random() < 0.7, rng.random() < 0.6, rng.random() < 0.2
    n_chips, per_host, cpus = int(rng.integers(1, 3)), int(rng.integers(1, 3)), rng.random() < 0.3
    for d in range(int(rng.integers(1, 3))):
        inside = Labels.constant(f"d{d}", n_chips)
        chips = assembly.add_nodes([f"chip-{d}-{i}" for i in range(n_chips)], kind="scale_up_switch", domain=inside)
        if upper:
            above = assembly.add_nodes([f"upper-{d}"], kind="scale_up_switch", tier=2)
            assembly.connect(chips, np.repeat(above, n_chips), 900, kind="scale_up")
        for h in range(int(rng.integers(1, 5))):
            own = {"host": Labels.constant(f"h-{d}-{h}", per_host), "forwards": FORWARDS_OWN_HOST}
            names = [f"gpu-{d}-{h}-{i}" for i in range(per_host)]
            domain = Labels.constant(f"d{d}", per_host)
            gpus = assembly.add_nodes(names, kind="accelerator", is_endpoint=True, domain=domain, **own)
            nics = assembly.add_nodes([f"nic-{d}-{h}-{i}" for i in range(per_host)], kind="nic", tier=-1, **own)
            for chip in chips if alike else rng.choice(chips, int(rng.integers(1, n_chips + 1)), replace=False):
                several = 1 if alike else int(rng.integers(1, 3))
                assembly.connect(np.repeat(gpus, several), np.repeat(chip, several * per_host), 900, kind="scale_up")
            if cpus:
                own["host"] = f"h-{d}-{h}"
                cpu = assembly.add_nodes([f"cpu-{d}-{h}"], kind="cpu", tier=-1, **own)
                assembly.connect(gpus, np.repeat(cpu, per_host), 500, kind="host_io")
            assembly.connect(gpus, nics, 400, kind="host_io")
            assembly.connect(nics, np.resize(leaves if rails else leaves[:1], per_host), 400, kind="access")
    return assembly.finish()


def symmetric(rng: np.random.Generator) -> Fabric:
    """Full of twins: equal hosts with one or two homes, leaves of one or two sorts, spines perhaps in planes."""
    assembly = Assembly("symmetric")
    pods, n_leaves, n_spines, several = (int(rng.integers(low, high)) for low, high in ((1, 4), (2, 6), (1, 4), (1, 3)))
    cores = assembly.add_nodes([f"core-{i}" for i in range(n_spines * 2)], kind="switch", tier=3)
    uneven, split = rng.random() < 0.5, rng.random() < 0.7
    homes, per_leaf = int(rng.integers(1, 3)), int(rng.integers(1, 4))
    for pod in range(pods):
        leaves = assembly.add_nodes([f"leaf-{pod}-{i}" for i in range(n_leaves)], kind="switch", tier=1)
        spines = assembly.add_nodes([f"spine-{pod}-{i}" for i in range(n_spines)], kind="switch", tier=2)
        ends = assembly.add_nodes(
            [f"h-{pod}-{i}" for i in range(per_leaf * n_leaves)],
            kind="nic",
            is_endpoint=True,
            forwards=FORWARDS_NOTHING,
        )
        for home in range(homes):
            assembly.connect(ends, np.roll(np.repeat(leaves, per_leaf), home * per_leaf), 100, kind="access")
        for sort in (leaves[: n_leaves - n_leaves // 3], leaves[n_leaves - n_leaves // 3 :]):
            for spine in spines:
                rate = float(rng.choice([100, 200])) if uneven else 100
                assembly.connect(np.repeat(sort, several), [spine] * len(sort) * several, rate)
        for i, spine in enumerate(spines):
            above = cores[2 * i : 2 * i + 2] if split else cores
            assembly.connect([spine] * len(above), above, 100)
    return assembly.finish()


MAKERS = [symmetric, random_clos, random_regular, random_mesh, random_planes, random_opened, random_domain]


def random_state(fabric: Fabric, rng: np.random.Generator) -> State | None:
    """Some links lost, perhaps a node, perhaps other rates, some of them 0."""
    if rng.random() < 0.4 or not len(fabric.links):
        return None
    lost = rng.choice(len(fabric.links), int(rng.integers(0, min(4, len(fabric.links)))), replace=False)
    down = rng.choice(len(fabric.nodes), 1) if rng.random() < 0.2 else np.empty(0, int)
    state = State.without(fabric, nodes=down, links=lost)
    if rng.random() < 0.3:
        rates = fabric.links.capacity_gbps * rng.choice([1.0, 0.5, 0.0], len(fabric.links), p=[0.6, 0.3, 0.1])
        state = State(state.node_present, state.link_present, rates)
    return state


def random_routing(fabric: Fabric, rng: np.random.Generator) -> Routing:
    """Any scheme that is a fluid split."""
    scheme = str(rng.choice(["ecmp", "spray", "wcmp", "wcmp"]))
    costs = {kind: int(rng.integers(1, 6)) for kind in ("scale_out", "internal", "host_io", "access", "scale_up")}
    relaying = bool((fabric.nodes.is_endpoint & (fabric.nodes.forwards == FORWARDS_ALL)).any())
    return Routing(
        scheme,
        lag=bool(rng.random() < 0.3),
        up_down=not relaying and bool(rng.random() < 0.3),
        costs=costs if rng.random() < 0.3 else (),
        weights=str(rng.choice(["path", "local"])),
        pxn=str(rng.choice(["needed", "always", "never"])),
    )


def random_demand(fabric: Fabric, rng: np.random.Generator) -> Demand:
    """Single pairs (some twice), or blocks with weights, or both."""
    ends = fabric.endpoints
    kind = rng.integers(0, 4)
    source, sink = rng.choice(ends, 12), rng.choice(ends, 12)
    if rng.random() < 0.2:
        return Demand.of(fabric, "everyone", blocks=(Block.of(ends, ends, 1.0),))
    if kind == 0:
        source, sink = ends, rng.permutation(ends)
    other = source != sink
    pairs = {} if kind == 1 else {"source": source[other], "sink": sink[other], "gbps": rng.integers(1, 9, other.sum())}
    blocks = []
    for _ in range(0 if kind == 0 else int(rng.integers(1, 3))):
        some = np.sort(rng.choice(ends, int(rng.integers(1, len(ends) + 1)), replace=False))
        others = (
            some
            if rng.random() < 0.6
            else np.sort(rng.choice(ends, int(rng.integers(1, len(ends) + 1)), replace=False))
        )
        weight = None if rng.random() < 0.5 else rng.integers(0, 3, len(some))
        blocks.append(Block.of(some, others, float(rng.integers(1, 5)), source_weight=weight))
    return Demand.of(fabric, "random", blocks=tuple(blocks), **pairs)


def check(fabric: Fabric, demand: Demand, routing: Routing, state: State | None) -> int:
    """Every arc and every lost pair; the number of arcs that carry something."""
    oracle = Oracle(fabric, routing, state)
    wanted = np.zeros(2 * len(fabric.links))
    lost, lost_gbps, carried, risen = [], 0.0, 0.0, 0.0
    for source, sink, gbps in zip(*(column.tolist() for column in demand.pairs()), strict=True):
        if not gbps:
            continue
        shares = oracle.pair(source, sink)
        if shares is None:
            lost.append((source, sink))
            lost_gbps += gbps
            continue
        for arc, share in shares.items():
            wanted[arc] += gbps * float(share)
        carried += gbps
        risen += gbps * float(oracle.valley(source, sink))
    found = link_loads(fabric, demand, routing=routing, state=state)
    np.testing.assert_allclose(found.arc_gbps, wanted, rtol=1e-12, atol=1e-11)
    assert found.lost_gbps == pytest.approx(lost_gbps, abs=1e-9)
    assert found.lost_pairs == len(lost)
    assert sorted(zip(found.lost_source.tolist(), found.lost_sink.tolist(), strict=True)) == sorted(lost)
    assert found.valley_share == pytest.approx(risen / carried if carried else 0, abs=1e-12)
    return int((wanted > 0).sum())


@pytest.mark.parametrize("seed", range(N_CASES))
@pytest.mark.parametrize("make", MAKERS, ids=lambda make: make.__name__)
def test_against_oracle(make, seed: int) -> None:  # type: ignore[no-untyped-def]
    rng = np.random.default_rng([seed, MAKERS.index(make)])
    while True:
        fabric = make(rng)
        if len(fabric.endpoints) >= 2:
            break
    check(fabric, random_demand(fabric, rng), random_routing(fabric, rng), random_state(fabric, rng))


def test_path_weights_among_twins() -> None:
    """What comes into a spine from the sink's own twins is that of one leaf less."""
    assembly = Assembly("two sorts of leaf")
    leaves = assembly.add_nodes([f"leaf-{i}" for i in range(5)], kind="switch", tier=1)
    spines = assembly.add_nodes(["spine-0", "spine-1"], kind="switch", tier=2)
    hosts = assembly.add_nodes([f"h-{i}" for i in range(10)], kind="host", is_endpoint=True, forwards=FORWARDS_NOTHING)
    assembly.connect(hosts, np.repeat(leaves, 2), 400, kind="access")
    for sort, rates in ((leaves[:3], (100, 200)), (leaves[3:], (200, 100))):
        for spine, rate in zip(spines, rates, strict=True):
            assembly.connect(sort, [spine] * len(sort), rate)
    fabric = assembly.finish()
    ends = fabric.endpoints
    for demand in (
        Demand.of(fabric, "all", blocks=(Block.of(ends, ends, 1.0),)),
        Demand.of(fabric, "some", source=ends[[0, 2, 6]], sink=ends[[2, 4, 1]], gbps=[1, 2, 3]),
    ):
        assert check(fabric, demand, Routing("wcmp"), None)


@pytest.mark.parametrize("pxn", [True, False])
def test_no_pxn_through_a_neighbour_just_as_near(pxn: bool) -> None:
    """gpu-1 reaches the adapter over the processor or over gpu-2, at equal cost; without PXN over the first alone."""
    assembly = Assembly("one adapter")
    leaf = assembly.add_nodes(["leaf"], kind="switch", tier=1)
    for host in ("a", "b", "c"):
        own = {"host": host, "forwards": FORWARDS_OWN_HOST}
        gpus = assembly.add_nodes([f"{host}-gpu-{i}" for i in (1, 2)], kind="accelerator", is_endpoint=True, **own)
        nic = assembly.add_nodes([f"{host}-nic"], kind="nic", tier=-1, **own)
        cpu = assembly.add_nodes([f"{host}-cpu"], kind="cpu", tier=-1, **own)
        for a, b in ((gpus[:1], gpus[1:]), (gpus[:1], cpu), (cpu, nic), (gpus[1:], nic), (nic, leaf)):
            assembly.connect(a, b, 100, kind="host_io" if b is not leaf else "access")
    fabric = assembly.finish()
    ends = fabric.endpoints
    everyone = Demand.of(fabric, "all", blocks=(Block.of(ends, ends, 1.0),))
    ring = Demand.of(fabric, "ring", source=ends, sink=np.roll(ends, 2), gbps=1.0)
    between = np.repeat(np.isin(fabric.link_a, ends) & np.isin(fabric.link_b, ends), 2)
    for demand, neighbours in ((everyone, 1.0), (ring, 0.0)):
        check(fabric, demand, Routing(pxn=pxn), None)
        loads = link_loads(fabric, demand, routing=Routing(pxn=pxn))
        assert (loads.arc_gbps[between].max() > neighbours) == pxn
