"""Polarization against published rules, real keys hashed by brute force, and counts of whole fabrics."""

from __future__ import annotations

import itertools
import json
import math
import pickle
from collections import defaultdict
from collections.abc import Sequence

import numpy as np
import pytest

import topo
from topo.analysis.collisions import hash_walks
from topo.analysis.collisions.hash_tiers import tier_polarization
from topo.analysis.collisions.hashed import hashed_paths
from topo.analysis.collisions.polarization import Polarization, polarization
from topo.build.clos import ClosPlan, _folded
from topo.build.layers import Layer
from topo.build.rail import RailPlan
from topo.errors import ParameterError
from topo.fabric import Fabric, State
from topo.hashing import EcmpHash, FlowKeys, endpoint_addresses, roce_keys
from topo.routing.fair import max_min_rates
from topo.routing.loads import link_loads
from topo.routing.next_hops import NextHops
from topo.routing.scheme import Routing
from topo.traffic import Demand

CRC = EcmpHash("crc-32", seed_per="fabric")
PAIRS = [(8, 8), (8, 4), (16, 16), (8, 6), (8, 7), (8, 16), (4, 8), (6, 4)]


def used(widths: Sequence[int], hash: EcmpHash) -> list[int]:
    """Next hops reached at the last tier, by choice below."""
    return tier_polarization(widths, hash=hash, cures=False).used_by_choice[-1].tolist()


@pytest.mark.parametrize(("widths", "expected"), [*zip(PAIRS, (1, 1, 1, 3, 7, 2, 2, 2), strict=True)])
@pytest.mark.parametrize("function", ["crc-32", "crc-16/arc", "toeplitz", "jenkins-lookup3"])
def test_modulo_leaves_m2_over_gcd(widths: tuple[int, int], expected: int, function: str) -> None:
    m1, m2 = widths
    assert expected == m2 // math.gcd(m1, m2)
    found = tier_polarization(widths, hash=EcmpHash(function, "ports", seed_per="fabric"), cures=False)
    assert found.used_by_choice[1].tolist() == [expected] * m1
    assert found.tiers[1].largest_share == pytest.approx(math.gcd(m1, m2), rel=2e-3)
    assert found.is_polarized == (expected < m2)


@pytest.mark.parametrize(
    ("widths", "expected"),
    [
        ((8, 8), [1] * 8),
        ((8, 16), [2] * 8),
        ((8, 6), [1, 2, 2, 1, 1, 2, 2, 1]),
        ((8, 7), [1, 2, 2, 2, 2, 2, 2, 1]),
        ((6, 4), [1, 2, 1, 1, 2, 1]),
    ],
)
def test_range_leaves_overlapping_regions(widths: tuple[int, int], expected: list[int]) -> None:
    assert used(widths, EcmpHash("crc-32", selection="range", seed_per="fabric")) == expected


@pytest.mark.parametrize("function", ["crc-32", "crc-32c", "crc-16/ccitt-false", "toeplitz", "xor-16"])
@pytest.mark.parametrize("selection", ["modulo", "range", "resilient"])
def test_another_seed_of_a_linear_hash_is_no_cure(function: str, selection: str) -> None:
    for seeds in ((1, 2), (0xFFFFFFFF, 12345)):
        hash = EcmpHash(function, selection=selection, seed=seeds, seed_per="tier")
        assert used((8, 8), hash) == [1] * 8
    assert "only adds a constant" in " ".join(tier_polarization((8, 8), hash=hash).causes)


def test_another_seed_of_a_mixing_hash_is_a_cure() -> None:
    for function in ("jenkins-lookup3", "siphash-2-4", "jenkins-one-at-a-time"):
        assert used((8, 8), EcmpHash(function, seed_per="tier")) == [8] * 8
        assert used((8, 8), EcmpHash(function, seed_per="fabric")) == [1] * 8


def test_another_seed_helps_in_part_without_powers_of_two() -> None:
    per_tier = CRC.with_(seed_per="tier")
    assert set(used((6, 6), per_tier)) == {3}
    assert set(used((12, 12), per_tier)) == {3}
    assert set(used((6, 6), per_tier.with_(selection="range"))) <= {1, 2, 3}
    shares = [
        tier_polarization((6, 6), hash=per_tier.with_(selection="range", seed=s), cures=False).tiers[1].largest_share
        for s in range(6)
    ]
    assert 3 < max(shares) < 6


def test_another_polynomial_is_a_cure() -> None:
    found = tier_polarization((8, 8), hash=CRC.with_(function=("crc-32", "crc-32c")))
    assert found.used_by_choice[1].tolist() == [8] * 8
    assert not found.is_polarized
    assert found.capacity_left == 1.0


@pytest.mark.parametrize(("bits", "expected"), [(0, 1), (1, 2), (2, 4), (3, 8), (4, 8)])
@pytest.mark.parametrize("selection", ["modulo", "range"])
def test_offset_cures_when_it_is_wide_enough(bits: int, expected: int, selection: str) -> None:
    hash = CRC.with_(offset=bits, offset_per="tier", selection=selection)
    assert used((8, 8), hash) == [expected] * 8


@pytest.mark.parametrize(
    ("function", "bits", "expected"),
    [
        (("crc-32", "crc-32c"), 3, [8, 1]),
        (("crc-32", "crc-32c"), 4, [8, 2]),
        (("crc-32", "crc-32c"), 14, [8, 8]),
        ("toeplitz", 14, [8, 1]),
    ],
)
def test_few_varying_bits_show_as_rank(function: str | tuple[str, ...], bits: int, expected: list[int]) -> None:
    found = tier_polarization(
        (8, 8), hash=EcmpHash(function, seed_per="fabric"), varying={"source_port": (1 << bits) - 1}, cures=False
    )
    assert [tier.used_max for tier in found.tiers] == expected
    assert found.standing.kind == "exact"


def test_published_recipe_of_three_stages() -> None:
    """Stages of CRC-32 low, CRC-CCITT rotated by 4 and another CRC rotated by 8 leave nothing tied."""
    hash = EcmpHash(
        ("crc-32:low", "crc-16/ccitt-false", "crc-16/arc"), seed_per="fabric", offset=(0, 4, 8), offset_per="tier"
    )
    found = tier_polarization((16, 16, 16), hash=hash, cures=False)
    assert [tier.used_min for tier in found.tiers] == [16, 16, 16]
    assert found.capacity_left == 1.0


def test_independent_tiers_of_any_size_are_whole() -> None:
    found = tier_polarization((64, 100, 64), hash=EcmpHash(), cures=False)
    assert [tier.used_min for tier in found.tiers] == [64, 100, 64]
    assert found.capacity_left == 1.0
    assert found.standing.kind == "model"


def test_cures_say_what_each_gives() -> None:
    found = tier_polarization((8, 8), hash=CRC)
    gives = {cure.name: (cure.used_share, cure.capacity_left) for cure in found.cures}
    assert gives == {
        "3 bits more offset each tier": (1.0, 1.0),
        "another polynomial each tier": (1.0, 1.0),
        "another seed each tier, same function": (0.125, 0.125),
        "a seed per switch, same function": (0.125, 0.125),
        "a seed per switch, a function that mixes": (1.0, 1.0),
    }


@pytest.mark.parametrize(
    ("widths", "words"),
    [((), "no tier"), ((8, 0), "lists 0"), ((8, 2.5), "lists 2.5"), ((4096, 4096), "combinations")],
)
def test_refused_tiers(widths: tuple[int, ...], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        tier_polarization(widths)


def by_stage(found: Polarization) -> dict[str, tuple[int, int]]:
    return {stage.stage: (stage.used_arcs, stage.available_arcs) for stage in found.stages}


@pytest.mark.parametrize(("k", "idle"), [(8, 32), (16, 128)])
def test_fat_tree_with_one_hash(k: int, idle: int) -> None:
    n = k**3 // 4
    found = polarization(topo.fat_tree(k), hash=CRC)
    assert found.standing.kind == "exact"
    assert by_stage(found) == {
        "leaf to spine": (n, n),
        "spine to core": (idle, n),
        "core to spine": (idle, n),
        "spine to leaf": (n, n),
    }
    up, core = found.stages[0], found.stages[1]
    assert (up.reached, up.next_hops, core.reached, core.next_hops) == (k // 2, k // 2, 1.0, k // 2)
    assert core.capacity_left == pytest.approx(2 / k)
    # Overall, a leaf's own uplinks carry the pod's inner traffic too, so they are the narrow side of an even split.
    pods, leaves = k, k // 2
    between = (pods - 1) * leaves / ((pods - 1) * leaves + leaves - 1)
    assert found.capacity_left == pytest.approx(2 / k / between)
    gives = {cure.name: cure.capacity_left for cure in found.cures}
    assert gives["another polynomial each tier"] == gives["a seed per switch, a function that mixes"] == 1.0
    assert gives["another seed each tier, same function"] == pytest.approx(found.capacity_left)


@pytest.mark.parametrize(("k", "expected"), [(8, 1 - (1 - 1 / 4) ** 4), (16, 1 - (1 - 1 / 8) ** 8)])
def test_a_seed_per_switch_spreads_leaves_but_frees_no_flow(k: int, expected: float) -> None:
    fabric = topo.fat_tree(k)
    shares, worst = [], []
    for seed in range(6):
        found = polarization(fabric, hash=EcmpHash("crc-32", seed=seed), cures=False)
        core = found.stages[1]
        assert core.reached == 1.0
        shares.append(core.used_arcs / core.available_arcs)
        worst.append(core.largest_share)
    assert np.mean(shares) == pytest.approx(expected, abs=0.03)
    assert 2.4 < np.mean(worst) < 4.6


def test_independent_seeds_are_not_polarized() -> None:
    found = polarization(topo.fat_tree(8))
    default = polarization(topo.fat_tree(8), hash=EcmpHash(), cures=False)
    assert found.is_polarized and not default.is_polarized
    assert default.capacity_left == 1.0
    assert default.standing.kind == "model"
    assert {stage.capacity_left for stage in default.stages} == {1.0}


def three_tiers_with_bundles(parallel: int, children: int = 2) -> Fabric:
    plan = ClosPlan(2, (Layer(children, 2, parallel), Layer(2, 2)), 100.0)
    return _folded("bundles", 4 * children, plan, host_gbps=100.0, made_by="test")


def brute(
    fabric: Fabric, hash: EcmpHash, keys_per_pair: int, routing: str = "ecmp", state: State | None = None
) -> tuple[np.ndarray, dict, int]:
    """Flows on every arc, and after each arc at each fork the arcs taken with their flows: random keys hashed."""
    hops = NextHops.of(fabric, routing=routing, state=state)
    group = hops.group_of[fabric.endpoints]
    known, first = np.unique(group, return_index=True)
    ends = fabric.endpoints[first[known >= 0]]
    source, sink = (a.ravel() for a in np.meshgrid(ends, ends, indexing="ij"))
    source, sink = source[source != sink], sink[source != sink]
    source, sink = np.repeat(source, keys_per_pair), np.repeat(sink, keys_per_pair)
    rng = np.random.default_rng(5)
    address = rng.integers(0, 1 << 32, (2, len(source)))
    port = rng.integers(0, 1 << 16, len(source))
    keys = FlowKeys.of(source_ip=address[0], destination_ip=address[1], source_port=port)
    arcs = hashed_paths(hops, source, sink, keys, hash=hash)
    load = np.bincount(arcs[arcs >= 0], minlength=2 * len(fabric.links))
    after: dict[tuple[int, int], dict[int, int]] = defaultdict(dict)
    for before, behind in itertools.pairwise(arcs):
        on = np.flatnonzero(behind >= 0)
        code = hops.table[hops.row_of[fabric.arc_source[behind[on]]], hops.group_of[sink[on]]]
        seen, times = np.unique(np.stack([before[on], code, behind[on]]), axis=1, return_counts=True)
        for (one, fork, other), flows in zip(seen.T.tolist(), times.tolist(), strict=True):
            if fork >= 0 and hops.start[fork + 1] - hops.start[fork] > 1:
                after[one, fork][other] = after[one, fork].get(other, 0) + flows
    return load, after, len(source)


FABRICS = {
    "fat-tree": lambda: topo.fat_tree(4),
    "parallel links": lambda: topo.leaf_spine(leaves=3, spines=4, hosts_per_leaf=2, parallel=2),
    "six spines": lambda: topo.leaf_spine(leaves=3, spines=3, hosts_per_leaf=2, parallel=2),
    "core bundles": lambda: topo.clos(24, tiers=3, radix=8),
    "leaf bundles": lambda: three_tiers_with_bundles(2),
    "leaf bundles of three": lambda: three_tiers_with_bundles(3),
    "missing links": lambda: topo.fat_tree(6).without(links=range(60, 162, 17)),
}


@pytest.mark.parametrize("name", FABRICS)
@pytest.mark.parametrize(
    "hash",
    [
        CRC,
        EcmpHash("crc-32", seed=3),
        EcmpHash("crc-32", selection="range", seed=3, seed_per="tier"),
        EcmpHash(("crc-32", "crc-32c", "crc-32q"), seed_per="tier"),
        CRC.with_(offset=1, offset_per="tier"),
        EcmpHash("jenkins-lookup3", seed_per="fabric"),
        EcmpHash("jenkins-lookup3", seed_per="switch", selection="resilient"),
    ],
    ids=str,
)
def test_whole_fabrics_equal_random_keys_hashed(name: str, hash: EcmpHash) -> None:
    fabric = FABRICS[name]()
    found = polarization(fabric, hash=hash, cures=False)
    load, after, n = brute(fabric, hash, 150 if len(fabric.endpoints) > 30 else 1500)
    between = (fabric.nodes.tier[fabric.arc_source] > 0) & (fabric.nodes.tier[fabric.arc_target] > 0)
    share = found.arc_share
    assert (load[between & (share == 0)] == 0).all()
    assert (load[between & (share > 30 / n)] > 0).all()
    is_sampled = found.standing.kind == "sampled"
    spread = np.sqrt(share * (1 - share) / n) * (1.5 if is_sampled else 1.0)
    assert (np.abs(load / n - share)[between] <= 5.5 * spread[between] + 1e-12).all()
    tier = fabric.nodes.tier
    for stage in found.stages:
        arcs = np.flatnonzero((tier[fabric.arc_source] == stage.from_tier) & (tier[fabric.arc_target] == stage.to_tier))
        assert stage.used_arcs == int((share[arcs] > 0).sum())
        taken = [counts for counts in after.values() if counts.keys() <= set(arcs.tolist())]
        flows = np.array([sum(counts.values()) for counts in taken])
        reached = flows @ [len(counts) for counts in taken] / flows.sum() if taken else 0
        # A fork that few pairs share meets few keys here, so some of its next hops are not seen.
        assert stage.reached == pytest.approx(reached, rel=0.02 if name == "missing links" else 0.01)


def slowed(fabric: Fabric, seed: int) -> State:
    """A third of the links between switches at half or a third of their rate."""
    random = np.random.default_rng(seed)
    inner = fabric.links.kind.is_any("scale_out")
    part = random.choice([1.0, 1.0, 1.0, 1.0, 1 / 2, 1 / 3], len(fabric.links))
    return State(capacity_gbps=np.where(inner, fabric.links.capacity_gbps * part, fabric.links.capacity_gbps))


@pytest.mark.parametrize("name", ["fat-tree", "leaf bundles of three"])
@pytest.mark.parametrize("routing", ["wcmp", Routing("wcmp", weights="local")], ids=str)
@pytest.mark.parametrize(
    "hash",
    [
        CRC,
        EcmpHash("crc-32", seed=3),
        EcmpHash("jenkins-lookup3", seed_per="fabric"),
        EcmpHash("crc-32", selection="resilient", seed_per="fabric", buckets=60),
    ],
    ids=str,
)
def test_weighted_fabrics_equal_random_keys_hashed(name: str, routing: Routing, hash: EcmpHash) -> None:
    """Next hops by weight in tables: used arcs and loads against random keys hashed along the same tables."""
    fabric = FABRICS[name]()
    state = slowed(fabric, 4)
    found = polarization(fabric, hash=hash, cures=False, routing=routing, state=state)
    load, _, n = brute(fabric, hash, 700, routing, state)
    between = (fabric.nodes.tier[fabric.arc_source] > 0) & (fabric.nodes.tier[fabric.arc_target] > 0)
    share = found.arc_share
    assert (load[between & (share == 0)] == 0).all()
    assert (load[between & (share > 30 / n)] > 0).all()
    spread = np.sqrt(share * (1 - share) / n) * (2 if found.standing.kind == "sampled" else 1)
    assert (np.abs(load / n - share)[between] <= 5.5 * spread[between] + 1e-12).all()


def test_weights_without_a_shared_hash_are_the_fluid_split() -> None:
    """Independent hashes: shares are those of link loads but for what tables of 1,024 entries round."""
    fabric = topo.fat_tree(4)
    state = slowed(fabric, 1)
    found = polarization(fabric, hash=EcmpHash(), cures=False, routing="wcmp", state=state)
    ends = fabric.endpoints[::2]
    pairs = [(a, b) for a in ends for b in ends if a != b]
    demand = Demand.of(fabric, "even", source=[a for a, _ in pairs], sink=[b for _, b in pairs], gbps=1 / len(pairs))
    fluid = link_loads(fabric, demand, routing="wcmp", state=state).arc_gbps
    between = (fabric.nodes.tier[fabric.arc_source] > 0) & (fabric.nodes.tier[fabric.arc_target] > 0)
    assert found.arc_share[between] == pytest.approx(fluid[between], abs=1e-4)
    assert not found.is_polarized
    assert found.capacity_left == 1.0


def test_equal_weights_polarize_as_an_even_split() -> None:
    for routing in ("ecmp", "wcmp"):
        found = polarization(topo.fat_tree(8), hash=CRC, routing=routing)
        assert by_stage(found)["spine to core"] == (32, 128)
        assert found.stages[1].capacity_left == pytest.approx(1 / 4)


def test_state_and_named_groups() -> None:
    fabric = topo.fat_tree(4)
    cut = State.without(fabric, nodes="core-1")
    found = polarization(fabric, hash=EcmpHash(), state=cut, cures=False)
    assert by_stage(found)["spine to core"] == (12, 12)
    with pytest.raises(ParameterError, match="has 1 leaf or group"):
        polarization(topo.leaf_spine(leaves=1, spines=2, hosts_per_leaf=4))
    with pytest.raises(ParameterError, match="LAG"):
        polarization(fabric, hash=CRC, routing=Routing(lag=True))
    with pytest.raises(ParameterError, match="'destination_qpn' is not among"):
        polarization(fabric, hash=CRC, varying={"destination_qpn": 1})
    with pytest.raises(ParameterError, match="buckets"):
        polarization(fabric, hash=CRC.with_(selection="resilient", buckets=1))


def test_a_fabric_without_forks_is_whole() -> None:
    found = polarization(topo.leaf_spine(leaves=3, spines=1, hosts_per_leaf=2), hash=CRC)
    assert not found.is_polarized
    assert found.capacity_left == 1.0
    assert {stage.next_hops for stage in found.stages} == {0.0}


def test_a_part_of_pairs_and_cases_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """With room for few walks the answer is sampled, and near the exact one."""
    fabric = topo.fat_tree(8)
    hash = EcmpHash("crc-32", seed=1)
    exact = polarization(fabric, hash=hash, cures=False)
    monkeypatch.setattr(hash_walks, "_MOST_WALKS", 12_000)
    pairs = polarization(fabric, hash=hash, cures=False)
    assert pairs.n_pairs == 32 * 23
    assert pairs.standing.kind == "sampled"
    assert "736 pairs of groups, 4 of 4 cases" in pairs.standing.how
    assert pairs.stages[1].used_arcs == exact.stages[1].used_arcs
    assert pairs.capacity_left == pytest.approx(exact.capacity_left, rel=0.1)
    six = topo.fat_tree(12)  # six next hops at both tiers: half of them are reached
    cases = polarization(six, hash=hash, cures=False)
    assert cases.standing.how == "720 pairs of groups, 16 of 16,384 cases each, seed 0"
    assert cases.is_polarized
    assert cases.stages[1].reached == pytest.approx(3, abs=0.3)
    assert not polarization(six, hash=EcmpHash(("crc-32", "crc-32c")), cures=False).is_polarized


def test_links_at_rate_zero_count_as_dead() -> None:
    fabric = topo.leaf_spine(leaves=3, spines=2, hosts_per_leaf=2)
    rates = fabric.links.capacity_gbps.copy()
    spine = int(fabric.rows("spine-2")[0])
    rates[(fabric.link_a == spine) | (fabric.link_b == spine)] = 0.0
    found = polarization(fabric, hash=CRC, state=State(None, None, rates), cures=False)
    assert by_stage(found)["leaf to spine"] == (3, 3)


def test_results_render() -> None:
    for found in (polarization(topo.fat_tree(4), hash=CRC), tier_polarization((8, 6), hash=CRC)):
        data = json.loads(found.to_json())
        assert data["is_polarized"] is True
        assert len(data["cures"]) == 5
        assert "polarized" in str(found) and "<table>" in found._repr_html_()
        assert len(found.to_frame()) == len(found.rows())
        assert str(pickle.loads(pickle.dumps(found))) == str(found)
    assert "8 of 16 links used, 1 of 2 next hops" in str(polarization(topo.fat_tree(4), hash=CRC))
    stand_in = tier_polarization((8, 8), hash="vendor-linear", cures=False)
    assert "secret" in str(stand_in)


def permutation_rates(hash: EcmpHash, samples: int) -> tuple[float, float]:
    """Mean and slowest max-min rate of random derangements of a fat-tree's 1,024 hosts, keys hashed."""
    fabric = topo.fat_tree(16, link_gbps=1)
    hops, n = NextHops.of(fabric), len(fabric.endpoints)
    rng = np.random.default_rng(11)
    sinks = []
    while len(sinks) < samples:
        order = rng.permutation(n)
        if (order != np.arange(n)).all():
            sinks.append(fabric.endpoints[order])
    source, sink = np.tile(fabric.endpoints, samples), np.concatenate(sinks)
    keys = roce_keys(fabric, source, sink, seed=2)
    rates = max_min_rates(
        hashed_paths(hops, source, sink, keys, hash=hash).reshape(-1, samples, n), np.ones(2 * len(fabric.links)), 1.0
    )
    return float(rates.mean()), float(rates.min(axis=1).mean())


@pytest.mark.parametrize(
    ("hash", "mean", "slowest"),
    [
        (EcmpHash("jenkins-lookup3"), 0.428, 0.178),
        (EcmpHash("crc-32"), 0.413, 0.131),
        (EcmpHash("crc-32", seed_per="fabric"), 0.167, 0.064),
    ],
    ids=str,
)
def test_permutations_over_hashed_keys(hash: EcmpHash, mean: float, slowest: float) -> None:
    """Independent hashes, one seed per switch of a CRC, and one hash for all: published means at k = 16."""
    found = permutation_rates(hash, 40)
    assert found[0] == pytest.approx(mean, abs=0.008)
    assert found[1] == pytest.approx(slowest, abs=0.02)


def test_ingress_port_is_hashed_along_the_path() -> None:
    """Brute force, flow by flow: the port of arrival at each switch enters the key."""
    fabric = topo.fat_tree(4)
    hash = EcmpHash("jenkins-lookup3", ("source_ip", "source_port", "ingress_port"), seed_per="fabric")
    hops = NextHops.of(fabric)
    source, sink = np.repeat(fabric.rows("host-01"), 50), np.repeat(fabric.rows("host-16"), 50)
    address = endpoint_addresses(fabric)
    keys = FlowKeys.of(source_ip=address[source], destination_ip=address[sink], source_port=49152 + np.arange(50))
    arcs = hashed_paths(hops, source, sink, keys, hash=hash)
    first_port = {v: int(np.flatnonzero(fabric.ports.node == v)[0]) for v in range(len(fabric.nodes))}
    raw = keys.bytes(hash.fields)
    for flow in range(50):
        path = arcs[:, flow].tolist()
        for came, went in itertools.pairwise(path[:3]):
            node = int(fabric.arc_target[came])
            port = (fabric.links.port_a if came % 2 else fabric.links.port_b)[came // 2] - first_port[node] + 1
            raw[flow, 6:8] = divmod(int(port), 256)
            value = int(hash.functions[0](raw[flow : flow + 1])[0])
            assert went == hops.next_arcs(node, int(sink[flow]))[value % 2]


def test_where_weights_end_is_said() -> None:
    """Parts of opened hosts split by weight in loads and walks; here their traffic enters evenly, and that is said."""
    opened = topo.cluster(topo.ClusterHosts("dgx-h100", 8), RailPlan(hosts_per_unit=4))
    for fabric, routing, said in ((opened, "wcmp", 1), (opened, "ecmp", 0), (topo.fat_tree(4), "wcmp", 0)):
        found = polarization(fabric, routing=routing, cures=False)
        assert sum("opened hosts" in text for text in found.assumptions) == said
