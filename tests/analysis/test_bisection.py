"""Bisection: published splits, closed forms, brute force, certificates that catch lies."""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import topo
from topo.analysis.bisection import certificate
from topo.analysis.bisection.problem import even_sizes, make_problem
from topo.build.assembly import Assembly, numbered
from topo.fabric import FORWARDS_NOTHING, Fabric, State
from topo.table import Labels

UNIT = {"link_gbps": 1, "host_gbps": 1}


def brute_force(fabric: Fabric, keep: str = "host") -> float:
    """Least cut by trying every even set of units and every side of every switch."""
    problem = make_problem(fabric, None, keep, kinds=None, state=None)
    n, m = problem.n_units, problem.n_vertices - problem.n_units
    smaller, _ = even_sizes(problem.weight)
    adjacency = problem.adjacency.toarray()
    codes = (np.arange(1 << m)[:, None] >> np.arange(m)) & 1
    within = ((codes @ adjacency[n:, n:]) * (1 - codes)).sum(axis=1)
    best = np.inf
    for size in range(n + 1):
        for chosen in itertools.combinations(range(n), size):
            if problem.weight[list(chosen)].sum() != smaller:
                continue
            one = np.zeros(n)
            one[list(chosen)] = 1
            direct = (one @ adjacency[:n, :n]) @ (1 - one)
            to_switch = codes @ ((1 - one) @ adjacency[:n, n:]) + (1 - codes) @ (one @ adjacency[:n, n:])
            best = min(best, float((within + to_switch).min() + direct))
    return best


def random_tiers(seed: int) -> Fabric:
    """A small leaf-spine or three-tier fabric, unevenly populated and with links missing."""
    rng = np.random.default_rng(seed)
    assembly = Assembly(f"random {seed}")
    leaves, spines = int(rng.integers(2, 5)), int(rng.integers(1, 4))
    cores = int(rng.integers(0, 3))
    hosts = int(rng.integers(3, 9))
    names = numbered("h-{}", np.arange(hosts))
    host = assembly.add_nodes(
        names, kind="host", is_endpoint=True, forwards=FORWARDS_NOTHING, host=Labels.distinct(names)
    )
    leaf = assembly.add_nodes(numbered("leaf-{}", np.arange(leaves)), kind="switch", tier=1)
    spine = assembly.add_nodes(numbered("spine-{}", np.arange(spines)), kind="switch", tier=2)
    a_host = float(rng.choice([1.0, 2.0, 3.0]))
    for h in host:
        for at in rng.choice(leaf, size=1 if rng.random() < 0.7 else min(2, leaves), replace=False):
            assembly.connect([h], [at], a_host, kind="access")
    for low in leaf:
        for up in spine:
            if rng.random() < 0.85:
                assembly.connect([low], [up], float(rng.integers(1, 4)))
    if cores:
        core = assembly.add_nodes(numbered("core-{}", np.arange(cores)), kind="switch", tier=3)
        assembly.stripe(spine, core, 1, float(rng.integers(1, 4)))
        if rng.random() < 0.3:
            assembly.connect([core[0]], [leaf[0]], 1.0)
    if rng.random() < 0.3:
        assembly.connect([leaf[0]], [leaf[1]], 1.0)
    return assembly.finish()


@pytest.mark.parametrize(
    ("leaves", "spines", "hosts", "expected"),
    [(3, 4, 8, 8), (5, 2, 4, 6), (3, 1, 4, 3), (2, 2, 4, 2), (1, 2, 4, 2), (4, 16, 32, 32)],
)
def test_leaf_spine_values_that_permutation_bounds_miss(leaves: int, spines: int, hosts: int, expected: float) -> None:
    fabric = topo.leaf_spine(leaves, spines, hosts, **UNIT)
    answer = topo.bisection_bandwidth(fabric)
    assert answer.lower_gbps == answer.upper_gbps == expected
    assert answer.exact
    certificate.check(fabric, answer)


@pytest.mark.parametrize("k", [2, 4, 6, 8, 12, 16, 24, 48])
def test_fat_tree_has_full_bisection(k: int) -> None:
    fabric = topo.fat_tree(k, link_gbps=100)
    answer = topo.bisection_bandwidth(fabric)
    assert answer.exact
    assert answer.upper_gbps == k**3 // 8 * 100 == answer.full_gbps
    assert answer.ratio == 1
    certificate.check(fabric, answer)


@pytest.mark.parametrize("hosts", [31, 63, 95, 127, 128, 256])
@pytest.mark.parametrize("keep", ["host", "none"])
def test_rail_optimized_is_full_with_odd_host_counts(hosts: int, keep: str) -> None:
    fabric = topo.rail_optimized(hosts)
    answer = topo.bisection_bandwidth(fabric, keep=keep)
    smaller = hosts // 2 * 8 if keep == "host" else hosts * 8 // 2
    assert answer.exact
    assert answer.upper_gbps == answer.full_gbps == smaller * 400
    assert answer.halves == (smaller, hosts * 8 - smaller)
    certificate.check(fabric, answer)


@pytest.mark.parametrize(("groups", "hosts"), [(8, 512), (8, 1024), (16, 2048)])
def test_three_tier_superpods_have_half_their_gpus_times_400(groups: int, hosts: int) -> None:
    fabric = topo.rail_optimized(hosts, tiers=3, spine_groups=groups)
    answer = topo.bisection_bandwidth(fabric)
    assert answer.exact
    assert answer.upper_gbps == hosts * 8 // 2 * 400


@settings(max_examples=40, deadline=None)
@given(
    hosts=st.integers(2, 700),
    tiers=st.integers(2, 3),
    radix=st.sampled_from([4, 6, 8, 16, 24]),
    taper=st.sampled_from([1.0, 1.5, 2.0, 3.0]),
    top=st.sampled_from([1.0, 2.0]),
)
def test_bounds_meet_on_every_healthy_clos(hosts: int, tiers: int, radix: int, taper: float, top: float) -> None:
    try:
        fabric = topo.clos(hosts, tiers=tiers, radix=radix, taper=(taper, top)[: tiers - 1])
    except topo.ParameterError:
        return
    answer = topo.bisection_bandwidth(fabric)
    certificate.check_cut(fabric, answer)
    certificate.check_lower(fabric, answer)
    assert answer.upper_gbps <= answer.full_gbps
    if _is_proportional(fabric):
        assert answer.exact


def _is_proportional(fabric: Fabric) -> bool:
    """All groups of the last tier but one are full: a remainder group is tapered otherwise and need not be exact."""
    pods = fabric.nodes.pod.codes[fabric.nodes.tier == 1]
    return bool(pods.size == 0 or (pods < 0).all() or len(set(np.bincount(pods).tolist())) == 1)


@pytest.mark.parametrize("seed", range(120))
def test_small_random_fabrics_against_brute_force(seed: int) -> None:
    fabric = random_tiers(seed)
    for keep in ("host", "none"):
        try:
            answer = topo.bisection_bandwidth(fabric, keep=keep)
        except topo.DisconnectedError:
            continue
        true = brute_force(fabric, keep)
        assert answer.lower_gbps <= true + 1e-9
        assert answer.upper_gbps >= true - 1e-9
        assert answer.exact, "at most 20 switches are enumerated"
        certificate.check(fabric, answer)


@pytest.mark.parametrize("seed", range(120))
def test_tree_bound_alone_never_exceeds_brute_force(seed: int) -> None:
    from topo.analysis.bisection.blocks import find_bases, grow_tree
    from topo.analysis.bisection.lower import lower_bound

    fabric = random_tiers(seed)
    try:
        problem = make_problem(fabric, None, "host", kinds=None, state=None)
    except topo.DisconnectedError:
        return
    bases = find_bases(problem)
    tree = grow_tree(bases) if bases is not None else None
    smaller, _ = even_sizes(problem.weight)
    lower, _, _ = lower_bound(problem, tree, smaller)
    assert lower <= brute_force(fabric) + 1e-9


def test_unequal_hosts_split_as_evenly_as_they_allow() -> None:
    assembly = Assembly("unequal")
    leaf = assembly.add_nodes(["leaf-1", "leaf-2"], kind="switch", tier=1)
    spine = assembly.add_nodes(["spine-1"], kind="switch", tier=2)
    host = np.repeat([0, 1, 2, 3], [3, 3, 1, 1])
    nics = assembly.add_nodes(
        numbered("nic-{}", np.arange(8)), kind="nic", is_endpoint=True, forwards=FORWARDS_NOTHING,
        host=Labels(host, ["a", "b", "c", "d"]),
    )  # fmt: skip
    assembly.connect(nics, leaf[np.array([0, 0, 0, 1, 1, 1, 0, 1])], 1, kind="access")
    assembly.stripe(leaf, spine, 3, 1)
    fabric = assembly.finish()
    answer = topo.bisection_bandwidth(fabric)
    assert answer.halves == (4, 4)
    assert answer.lower_gbps <= brute_force(fabric) == 3 <= answer.upper_gbps
    certificate.check(fabric, answer)


def test_even_sizes_of_unequal_units_by_brute_force() -> None:
    rng = np.random.default_rng(3)
    for _ in range(200):
        weight = rng.integers(1, 9, size=rng.integers(2, 9))
        total = int(weight.sum())
        sums = {sum(c) for r in range(len(weight) + 1) for c in itertools.combinations(weight.tolist(), r)}
        smaller = max(s for s in sums if s <= total // 2)
        assert even_sizes(weight) == (smaller, total - smaller)


@pytest.mark.parametrize(("share", "lower", "upper"), [(0.005, 495, 512), (0.02, 460, 492), (0.05, 400, 464)])
def test_degraded_fat_tree_gets_an_honest_bracket(share: float, lower: float, upper: float) -> None:
    fabric = topo.fat_tree(16, link_gbps=1)
    rng = np.random.default_rng(1)
    links = np.flatnonzero(fabric.links.kind.is_any("scale_out"))
    state = State.without(fabric, links=rng.choice(links, round(len(links) * share), replace=False))
    answer = topo.bisection_bandwidth(fabric, state=state)
    assert lower <= answer.lower_gbps <= answer.upper_gbps <= upper
    certificate.check(fabric, answer)
    same = topo.bisection_bandwidth(fabric, state=state)
    assert same.to_json() == answer.to_json()


def mesh(shape: tuple[int, ...]) -> Fabric:
    """A torus of switches with one host each, unit rates."""
    assembly = Assembly(f"torus {shape}")
    n = int(np.prod(shape))
    names = numbered("h-{}", np.arange(n))
    host = assembly.add_nodes(
        names, kind="host", is_endpoint=True, forwards=FORWARDS_NOTHING, host=Labels.distinct(names)
    )
    switch = assembly.add_nodes(numbered("s-{}", np.arange(n)), kind="switch", tier=1)
    assembly.connect(host, switch, 1, kind="access")
    grid = switch.reshape(shape)
    for axis, length in enumerate(shape):
        following = np.roll(grid, -1, axis=axis)
        keep = np.ones(shape, bool)
        if length == 2:
            keep = np.take(np.indices(shape)[axis], range(length), axis) == 0
        assembly.connect(grid[keep], following[keep], 1)
    return assembly.finish()


@pytest.mark.parametrize(("shape", "expected"), [((8, 8), 16), ((4, 4, 4), 32), ((6, 4, 4), 32), ((2,) * 6, 32)])
def test_tori_and_hypercubes_are_exact(shape: tuple[int, ...], expected: float) -> None:
    fabric = mesh(shape)
    answer = topo.bisection_bandwidth(fabric)
    assert answer.lower_gbps == answer.upper_gbps == expected
    certificate.check(fabric, answer)
    for seed in range(1, 6):  # swaps find the straight cut from wherever they start
        assert topo.bisection_bandwidth(fabric, seed=seed).upper_gbps == expected


def test_random_regular_graph_is_bracketed() -> None:
    import networkx as nx

    graph = nx.random_regular_graph(8, 64, seed=5)
    assembly = Assembly("random regular")
    names = numbered("h-{}", np.arange(64))
    host = assembly.add_nodes(
        names, kind="host", is_endpoint=True, forwards=FORWARDS_NOTHING, host=Labels.distinct(names)
    )
    switch = assembly.add_nodes(numbered("s-{}", np.arange(64)), kind="switch", tier=1)
    assembly.connect(host, switch, 100, kind="access")
    ends = np.array(list(graph.edges))
    assembly.connect(switch[ends[:, 0]], switch[ends[:, 1]], 1)
    fabric = assembly.finish()
    answer = topo.bisection_bandwidth(fabric)
    assert 45 <= answer.lower_gbps <= answer.upper_gbps <= 76
    certificate.check(fabric, answer)


def test_disconnected_is_said_with_sizes() -> None:
    fabric = topo.leaf_spine(leaves=3, spines=1, hosts_per_leaf=4)
    links = np.flatnonzero(fabric.links.kind.is_any("scale_out"))
    with pytest.raises(topo.DisconnectedError, match=r"2 components of 8, 4 endpoints") as caught:
        topo.bisection_bandwidth(fabric.without(links=links[:1]))
    assert caught.value.component_sizes == (8, 4)


def test_capacities_beyond_32_bits_are_exact() -> None:
    for rate in (2.0**31, 2.0**31 + 1, 2.0**32 + 1, 400e9, 25.78125, 53.125):
        fabric = topo.leaf_spine(leaves=2, spines=3, hosts_per_leaf=4)
        state = State(capacity_gbps=np.full(len(fabric.links), rate))
        answer = topo.bisection_bandwidth(fabric, state=state)
        assert answer.lower_gbps == answer.upper_gbps == 3 * rate


def test_unselected_endpoints_take_no_part() -> None:
    fabric = topo.leaf_spine(leaves=2, spines=1, hosts_per_leaf=4, **UNIT)
    answer = topo.bisection_bandwidth(fabric, "host-[1256]")
    assert answer.n_endpoints == 4
    assert answer.upper_gbps == 1


def test_doubling_rates_doubles_and_a_cable_more_never_lowers() -> None:
    for seed in range(20):
        fabric = random_tiers(seed)
        try:
            before = topo.bisection_bandwidth(fabric).upper_gbps
        except topo.DisconnectedError:
            continue
        state = State(capacity_gbps=fabric.links.capacity_gbps * 2)
        assert topo.bisection_bandwidth(fabric, state=state).upper_gbps == 2 * before
        fewer = State.without(fabric, links=[len(fabric.links) - 1])
        try:
            assert topo.bisection_bandwidth(fabric, state=fewer).upper_gbps <= before
        except topo.DisconnectedError:
            continue


def test_a_lying_certificate_is_caught() -> None:
    fabric = topo.fat_tree(8, link_gbps=1)
    answer = topo.bisection_bandwidth(fabric)
    with pytest.raises(certificate.CertificateError, match="sums to"):
        certificate.check_cut(fabric, dataclasses.replace(answer, upper_gbps=answer.upper_gbps - 1))
    with pytest.raises(certificate.CertificateError, match="proves"):
        certificate.check_lower(fabric, dataclasses.replace(answer, lower_gbps=answer.lower_gbps + 1))
    side = answer.side.copy()
    side[fabric.endpoints[0]] ^= True
    with pytest.raises(certificate.CertificateError, match="halves"):
        certificate.check_cut(fabric, dataclasses.replace(answer, side=side))
    assert answer.witness is not None
    inflated = dataclasses.replace(answer.witness, gbps=answer.witness.gbps * 1.5)
    with pytest.raises(certificate.CertificateError, match="conserved|capacity"):
        certificate.check_lower(fabric, dataclasses.replace(answer, witness=inflated))


@pytest.mark.parametrize("keep", ["hosts", ""])
def test_unknown_keep_is_refused(keep: str) -> None:
    with pytest.raises(topo.ParameterError, match="choose one of host, domain, pod, none"):
        topo.bisection_bandwidth(topo.fat_tree(4), keep=keep)


def test_one_host_cannot_be_split() -> None:
    with pytest.raises(topo.ParameterError, match="cannot be split"):
        topo.bisection_bandwidth(topo.fat_tree(4), "host-01")


def test_renumbering_changes_nothing() -> None:
    from topo.fabric import LinkTable

    fabric = random_tiers(7)
    order = np.random.default_rng(0).permutation(len(fabric.links))
    links = fabric.links.take(order)
    columns = {name: getattr(links, name) for name in links.columns()}
    columns["port_a"], columns["port_b"] = links.port_b, links.port_a
    shuffled = Fabric(fabric.name, fabric.nodes, fabric.ports, LinkTable(**columns))
    assert topo.bisection_bandwidth(shuffled).upper_gbps == topo.bisection_bandwidth(fabric).upper_gbps


@pytest.mark.parametrize(
    ("selector", "keep", "lower", "upper", "full"),
    [
        ("luna-*", "none", 1828, 1829, 1832),
        ("luna-*", "host", 1828, 1829, 1832),
        (None, "none", 1825, 1829, 1837),
    ],
)
def test_selene_as_found(shared_data, selector, keep, lower, upper, full) -> None:  # type: ignore[no-untyped-def]
    fabric = topo.read(shared_data / "ibnetdiscover" / "selene.compute.txt")
    answer = topo.bisection_bandwidth(fabric, selector, keep=keep)
    assert answer.lower_gbps >= lower * 200
    assert answer.upper_gbps <= upper * 200
    assert answer.full_gbps == full * 200
    certificate.check(fabric, answer)


def test_three_full_leaves_with_one_cable_less_are_the_cheap_side_of_selene(shared_data) -> None:  # type: ignore[no-untyped-def]
    fabric = topo.read(shared_data / "ibnetdiscover" / "selene.compute.txt")
    ends = fabric.endpoint_rows("luna-*")
    leaf_of = np.full(len(fabric.nodes), -1)
    access = fabric.links.kind.is_any("access")
    a, b = fabric.link_a[access], fabric.link_b[access]
    is_end = fabric.nodes.is_endpoint
    leaf_of[np.where(is_end[a], a, b)] = np.where(is_end[a], b, a)
    hosts = np.bincount(leaf_of[ends], minlength=len(fabric.nodes))
    tier = fabric.nodes.tier
    up = (tier[fabric.link_a] + tier[fabric.link_b]) == 3
    low = np.where(tier[fabric.link_a] < tier[fabric.link_b], fabric.link_a, fabric.link_b)[up]
    uplinks = np.bincount(low, minlength=len(fabric.nodes))
    short = (hosts == 20) & (uplinks == 19)
    assert short.sum() == 3
    assert 3 * 19 + (len(ends) // 2 - 60) == 1829


def graph(text: str, *, relay: bool = False) -> Fabric:
    """A fabric from 'a-b-rate' words; names with s are switches, the part before the dot is the host."""
    import networkx as nx

    multi = nx.MultiGraph()
    for word in text.split():
        a, b, *rate = word.split("-")
        for name in (a, b):
            if name[0] == "s":
                multi.add_node(name, kind="switch", is_endpoint=False, forwards=2)
            else:
                host = name.split(".")[0]
                multi.add_node(name, kind="nic", is_endpoint=True, forwards=2 if relay else 0, host=host)
        multi.add_edge(a, b, capacity_gbps=float(rate[0]) if rate else 100.0)
    return topo.from_networkx(multi)


@pytest.mark.parametrize(
    ("text", "relay", "expected"),
    [
        ("s0-h0.2 s0-h1.2 s0-h3.0 s0-h5.0 s1-h0.1 s1-h1.2 s1-h4.2 s1-h5.2 s1-h1.1", False, 400),
        ("s0-h1 s0-h4 s1-h1-40 s1-h3.0 s1-h3.1 s1-h4", False, 140),
        ("s0-a s0-b-40 s2-b a-c", False, 40),
        ("s0-a s0-b s0-c a-b", False, 100),
        ("a-b b-c c-d", True, 100),
        ("a-b b-c c-d d-a", True, 200),
    ],
)
def test_odd_little_fabrics_are_exact_and_even(text: str, relay: bool, expected: float) -> None:
    fabric = graph(text, relay=relay)
    assert brute_force(fabric) == expected
    answer = topo.bisection_bandwidth(fabric)
    assert answer.lower_gbps == answer.upper_gbps == expected
    certificate.check(fabric, answer)


def test_links_at_rate_zero_carry_nothing() -> None:
    fabric = topo.leaf_spine(leaves=2, spines=2, hosts_per_leaf=1)
    rates = fabric.links.capacity_gbps.copy()
    rates[[3, 4]] = 0  # leaf-1 to spine-2 and leaf-2 to spine-1
    state = State(capacity_gbps=rates)
    answer = topo.bisection_bandwidth(fabric, state=state)
    assert answer.lower_gbps == answer.upper_gbps == 0
    certificate.check(fabric, answer)


@pytest.mark.parametrize("seed", range(40))
def test_random_rates_and_zeros_against_brute_force(seed: int) -> None:
    rng = np.random.default_rng(seed)
    fabric = topo.leaf_spine(int(rng.integers(2, 4)), int(rng.integers(1, 4)), int(rng.integers(1, 4)))
    rates = rng.choice([0.0, 0.0, 25.78125, 33.3, 100.0, 400.0], len(fabric.links))
    state = State(capacity_gbps=rates)
    answer = topo.bisection_bandwidth(fabric, state=state)
    links = {name: getattr(fabric.links, name) for name in fabric.links.columns()} | {"capacity_gbps": rates}
    true = brute_force(Fabric("x", fabric.nodes, fabric.ports, type(fabric.links)(**links)))
    assert answer.exact
    assert answer.upper_gbps == pytest.approx(true, rel=1e-9, abs=1e-9)
    certificate.check(fabric, answer)


# (hosts, rails, hosts a unit, radix, more, true value): units straddle spine groups, or a group is not filled.
STRADDLING = [
    (17, 3, 4, 8, {}, 9600), (28, 3, 3, 8, {}, 16800), (36, 2, 8, 16, {"spine_groups": 4}, 14400),
    (35, 4, 8, 16, {}, 27200), (80, 3, 8, 16, {}, 48000), (76, 4, 16, 32, {"spine_groups": 4}, 60800),
    (41, 8, 16, 32, {"spine_groups": 4}, 64000), (39, 8, 4, 64, {"uplinks": 4}, 60800),
    (151, 3, 2, 64, {"uplinks": 3}, 90000), (142, 8, 32, 64, {"spine_groups": 3, "uplinks": 16}, 124800),
]  # fmt: skip


@pytest.mark.parametrize(("hosts", "rails", "unit", "radix", "more", "expected"), STRADDLING)
def test_units_across_spine_groups_are_exact(
    hosts: int, rails: int, unit: int, radix: int, more: dict[str, int], expected: float
) -> None:
    fabric = topo.rail_optimized(hosts, rails=rails, hosts_per_unit=unit, radix=radix, tiers=3, **more)
    answer = topo.bisection_bandwidth(fabric)
    assert answer.lower_gbps == answer.upper_gbps == expected
    certificate.check(fabric, answer)


@pytest.mark.parametrize("rate", [33.3, 100 / 3])
def test_rates_without_a_common_unit_are_exact_to_rounding(rate: float) -> None:
    fabric = topo.leaf_spine(20, 4, 12, host_gbps=rate, link_gbps=53.125)
    answer = topo.bisection_bandwidth(fabric)
    assert answer.exact
    certificate.check(fabric, answer)


def test_a_host_kept_bound_is_never_below_the_single_one(shared_data) -> None:  # type: ignore[no-untyped-def]
    fabric = topo.read(shared_data / "ibnetdiscover" / "topograph__example.out")
    whole = topo.bisection_bandwidth(fabric)
    single = topo.bisection_bandwidth(fabric, keep="none")
    assert whole.halves == single.halves == (271, 271)
    assert single.lower_gbps <= whole.lower_gbps <= whole.upper_gbps
    certificate.check(fabric, whole)
    certificate.check(fabric, single)
