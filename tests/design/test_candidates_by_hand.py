"""Numbers of candidates worked out another way: by hand, by a simulation of its own, by brute force."""

from __future__ import annotations

import itertools
import math
from collections import Counter

import networkx
import numpy as np
import pytest

import topo
from topo.design.families import FAMILIES
from topo.design.measures import cables_by_kind
from topo.design.numbers import FabricNumbers, numbers_of
from topo.design.requirements import Requirements

_PORT, _LINK = 1280.0, 550.0  # dollars of a port of 400 Gb/s and of a link, as DeepSeek's table gives them


def _numbers(family: str, n: int, **asked: object) -> FabricNumbers:
    return numbers_of(FAMILIES[family](Requirements(accelerators=n, **asked)).build())  # type: ignore[arg-type]


def _leaf_spine_rates(generator: np.random.Generator) -> float:
    """Mean rate of a random permutation over 32 leaves of 32 hosts and 16 spines, two cables each, by filling up.

    Every flow takes one of 32 cables up at random and one of two down; all flows rise together until a link is full,
    then the flows over it stay.
    """
    n, hosts, spines = 1024, 32, 16
    while True:
        to = generator.permutation(n)
        if (to != np.arange(n)).all():
            break
    links: list[list[tuple[object, ...]]] = []
    for source, sink in enumerate(to.tolist()):
        path: list[tuple[object, ...]] = [("out", source), ("in", sink)]
        if source // hosts != sink // hosts:
            spine, cable = divmod(int(generator.integers(2 * spines)), 2)
            path += [("up", source // hosts, spine, cable), ("down", sink // hosts, spine, int(generator.integers(2)))]
        links.append(path)
    return _filled_up(links)


def _filled_up(links: list[list[tuple[object, ...]]]) -> float:
    """Mean rate of flows over links of rate 1: all rise together until a link is full, then the flows over it stay."""
    rate, left = np.zeros(len(links)), dict.fromkeys((link for path in links for link in path), 1.0)
    rising = set(range(len(links)))
    while rising:
        over = Counter(link for flow in rising for link in links[flow])
        step = min(left[link] / count for link, count in over.items())
        for link, count in over.items():
            left[link] -= step * count
        full = {link for link in over if left[link] < 1e-12}
        for flow in list(rising):
            rate[flow] += step
            if any(link in full for link in links[flow]):
                rising.discard(flow)
    return float(rate.mean())


def _hashed_rates(fabric: topo.Fabric, draws: int) -> list[float]:
    """Mean rates of random permutations where every switch draws one of the cables on a way of least cost, by networkx.

    A cable between two groups of a dragonfly costs 3, so that ways are local, global, local.
    """
    ends, pods = fabric.endpoints.tolist(), fabric.nodes.pod.codes
    home: dict[int, int] = {}
    cables: dict[tuple[int, int], list[int]] = {}
    graph = networkx.Graph()
    for key, (a, b) in enumerate(zip(fabric.link_a.tolist(), fabric.link_b.tolist(), strict=True)):
        if fabric.nodes.is_endpoint[a] or fabric.nodes.is_endpoint[b]:
            home |= {a: b} if fabric.nodes.is_endpoint[a] else {b: a}
            continue
        for pair in ((a, b), (b, a)):
            cables.setdefault(pair, []).append(key)
        graph.add_edge(a, b, cost=3 if pods[a] >= 0 and pods[a] != pods[b] else 1)
    far = dict(networkx.all_pairs_dijkstra_path_length(graph, weight="cost"))
    found = []
    for seed in range(draws):
        generator = np.random.default_rng(seed)
        to = generator.permutation(len(ends))
        while (to == np.arange(len(ends))).any():
            to = generator.permutation(len(ends))
        links: list[list[tuple[object, ...]]] = []
        for source, sink in enumerate(to.tolist()):
            at, last = home[ends[source]], home[ends[sink]]
            path: list[tuple[object, ...]] = [("out", source), ("in", sink)]
            while at != last:
                ways = [head for head in graph[at] if far[head][last] == far[at][last] - graph[at][head]["cost"]]
                hops = [(at, head, key) for head in ways for key in cables[at, head]]
                taken = hops[int(generator.integers(len(hops)))]
                path.append(taken)
                at = taken[1]
            links.append(path)
        found.append(_filled_up(links))
    return found


@pytest.mark.parametrize(
    ("family", "n", "asked"),
    [
        ("three tiers", 128, {"radix": 8, "rails": 4}),
        ("dragonfly", 256, {"radix": 12, "rails": 4}),
        ("torus", 256, {"radix": 12, "rails": 4}),
    ],
)
def test_hashed_rates_by_drawing_the_hashes_anew(family: str, n: int, asked: dict[str, int]) -> None:
    fabric = FAMILIES[family](Requirements(accelerators=n, **asked)).build()
    one = numbers_of(fabric)
    draws = _hashed_rates(fabric, 3072 // n)
    wide = one.hashed_margin + 3 * np.std(draws, ddof=1) / math.sqrt(len(draws))
    assert one.hashed_share == pytest.approx(np.mean(draws), abs=wide)
    assert wide < 0.03


def test_a_leaf_spine_of_1024_by_hand() -> None:
    """64-port switches in twin cages: 32 leaves of 32 + 32 ports, 16 spines, two cables a pair."""
    one = _numbers("leaf-spine", 1024, switch="qm9700")
    assert (one.n_switches, one.switches) == (48, {"leaf qm9700": 32, "spine qm9700": 16})
    assert (one.n_host_links, one.n_fabric_links, one.diameter_hops) == (1024, 32 * 32, 4)
    assert one.mean_hops == pytest.approx((31 * 2 + 992 * 4) / 1023)
    assert one.price == 48 * 64 * _PORT + (1024 + 1024) * _LINK
    assert one.bisection_share == (1.0, 1.0) and one.even_share == 1.0
    # One of two cables from a spine down to a leaf: the other takes both shares of 992/1023 of a host's rate.
    assert one.n1_share == pytest.approx(1023 / (2 * 992)) and one.n1_cut_off == 32
    assert one.n1_standing is not None and one.n1_standing.kind == "exact"
    # A transceiver in two ports of a switch serves two fibres, one in a host serves one.
    fibres = cables_by_kind(one)["multimode fibre"]
    at_hosts = fibres - one.n_fabric_links
    assert one.n_transceivers == at_hosts + math.ceil(at_hosts / 2) + one.n_fabric_links
    draws = [_leaf_spine_rates(np.random.default_rng(seed)) for seed in range(4)]
    assert one.hashed_share == pytest.approx(np.mean(draws), abs=one.hashed_margin + 3 * np.std(draws, ddof=1) / 2)
    assert 0 < one.hashed_margin < 0.01


@pytest.fixture(scope="module")
def tree() -> FabricNumbers:
    return _numbers("three tiers", 16384)


@pytest.fixture(scope="module")
def dragonfly() -> FabricNumbers:
    return _numbers("dragonfly", 16384)


def test_three_tiers_of_16384_by_hand(tree: FabricNumbers) -> None:
    """16 pods of 32 leaves and 32 spines of 64 ports, 256 cores, four cables from each spine to each of its 8 cores."""
    assert tree.n_switches == 16 * (32 + 32) + 256 and tree.n_fabric_links == 2 * 16384
    assert tree.diameter_hops == 6
    assert tree.mean_hops == pytest.approx((31 * 2 + (1024 - 32) * 4 + (16384 - 1024) * 6) / 16383)
    assert tree.price == 1280 * 64 * _PORT + 3 * 16384 * _LINK
    # Three of four cables from a core down to a pod are left: 4/3 of the 15,360/16,383 that go between pods.
    assert tree.n1_share == pytest.approx(3 / 4 * 16383 / 15360) and tree.n1_cut_off == 32
    assert tree.bisection_share == (1.0, 1.0)


def test_a_dragonfly_of_16384_by_hand(dragonfly: FabricNumbers) -> None:
    """p = h = 16, a = 32: 32 groups of 512, floor(512 / 31) = 16 global cables between every two."""
    pairs = math.comb(32, 2)
    assert dragonfly.n_switches == 32 * 32
    assert dragonfly.n_fabric_links == 32 * math.comb(32, 2) + 16 * pairs == 23_808
    assert dragonfly.diameter_hops == 2 + 3
    assert dragonfly.price == 1024 * 64 * _PORT + (16384 + 23808) * _LINK
    # Half the groups against the other half: 16 * 16 pairs of 16 cables, of 8,192 endpoints that may send across.
    assert dragonfly.bisection_share == pytest.approx((0.5, 0.5)) and 16 * 16 * 16 / 8192 == 0.5
    # Two groups of 512 exchange 512 * 512 / 16,383 rates over their 16 cables; one less leaves 15.
    assert dragonfly.even_share == pytest.approx(16 * 16383 / 512**2)
    assert dragonfly.n1_share == pytest.approx(15 / 16) and dragonfly.n1_cut_off == 16
    assert dragonfly.n1_standing is not None and dragonfly.n1_standing.kind == "exact"
    assert FAMILIES["dragonfly"](Requirements(accelerators=16384)).largest == 32 * 16 * (32 * 16 + 1)


def _even_thetas(fabric: topo.Fabric, down: list[tuple[int, int, int]]) -> tuple[float, float]:
    """Theta of an all-to-all at rate 1 an endpoint, whole and without some cable, by networkx and nothing of ours.

    At each switch a flow divides over all cables that lie on a shortest path.
    """
    ends = set(fabric.endpoints.tolist())
    hosts: Counter[int] = Counter()
    whole = networkx.MultiDiGraph()
    for key, (a, b) in enumerate(zip(fabric.link_a.tolist(), fabric.link_b.tolist(), strict=True)):
        if a in ends or b in ends:
            hosts[b if a in ends else a] += 1
        else:
            whole.add_edge(a, b, key=key)
            whole.add_edge(b, a, key=key)
    n, rate = sum(hosts.values()), 1 / (sum(hosts.values()) - 1)

    def theta(graph: networkx.MultiDiGraph) -> float:
        load: Counter[tuple[int, int, int]] = Counter()
        for sink in hosts:
            far = networkx.single_source_shortest_path_length(graph.reverse(copy=False), sink)
            held = {node: rate * hosts[node] * hosts[sink] for node in graph if node != sink}
            for node in sorted(held, key=lambda one: -far[one]):
                ways = [(node, head, key) for _, head, key in graph.out_edges(node, keys=True) if far[head] < far[node]]
                for way in ways:
                    load[way] += held[node] / len(ways)
                    if way[1] != sink:
                        held[way[1]] += held[node] / len(ways)
        return min(1.0, 1 / max(load.values()))

    failed = whole.copy()
    for a, b, key in down:
        failed.remove_edge(a, b, key=key)
        failed.remove_edge(b, a, key=key)
    assert n > 2
    return theta(whole), theta(failed)


@pytest.mark.parametrize(
    "fabric",
    [
        topo.torus([4, 4], hosts_per_switch=3),
        topo.torus([3, 4], hosts_per_switch=2, links=2),
        topo.hyperx([3, 4], hosts_per_switch=3),
        topo.slim_fly(4, hosts_per_switch=3),
        topo.jellyfish(10, 4, 3, seed=2),
    ],
    ids=lambda fabric: fabric.name,
)
def test_a_cable_less_is_what_networkx_says(fabric: topo.Fabric) -> None:
    """The worst cable, tried one by one without symmetry; the worst switch takes its own endpoints along."""
    is_switch = fabric.nodes.kind.is_any("switch")
    cables = [
        (int(a), int(b), key)
        for key, (a, b) in enumerate(zip(fabric.link_a, fabric.link_b, strict=True))
        if is_switch[a] and is_switch[b]
    ]
    whole, _ = _even_thetas(fabric, [])
    left = min(_even_thetas(fabric, [cable])[1] for cable in cables) / whole
    one = numbers_of(fabric)
    assert one.even_share == pytest.approx(whole)
    assert one.n1_standing is not None and one.n1_standing.kind == "exact"
    every = topo.survivability(fabric, kinds=["switch"], use_symmetry=False)
    assert one.n1_share == pytest.approx(min(left, *(loss.share_lower for loss in every.losses)))


@pytest.mark.parametrize(
    "fabric",
    [
        topo.torus([4, 4, 2], hosts_per_switch=2),
        topo.hyperx([4, 4], hosts_per_switch=4),
        topo.slim_fly(5, hosts_per_switch=2),
        topo.dragonfly(2, 4, 2, groups=5, pair_links=2),
        FAMILIES["dragonfly"](Requirements(accelerators=64, radix=8, rails=1)).build(),
        FAMILIES["torus"](Requirements(accelerators=96, radix=8, rails=1)).build(),
        topo.xpander(6, 3, 2, seed=1),
    ],
    ids=lambda fabric: fabric.name,
)
def test_classes_of_failures_lose_nothing(fabric: topo.Fabric) -> None:
    """One of each verified class against every single switch and cable."""
    one = numbers_of(fabric)
    every = topo.survivability(fabric, kinds=["switch", "link"], use_symmetry=False)
    between = [loss for loss in every.losses if loss.kind == "switch" or "endpoint" not in loss.tier]
    assert len(between) > 10
    assert one.n1_share == pytest.approx(min(1.0, *(loss.share_lower for loss in between)))
    assert one.n1_cut_off == max(loss.cut_off for loss in between)
    assert one.n1_standing is not None and one.n1_standing.kind == "exact"


def test_many_unlike_cables_are_an_upper_bound_and_say_so() -> None:
    """A random graph has no symmetry: the busiest are tried, the sign stands in the table, nobody is beaten by it."""
    from topo.design.measures import MEASURES
    from topo.design.pareto import CRITERIA, interval

    one = numbers_of(topo.jellyfish(80, 12, 4, seed=1))
    assert one.n1_standing is not None and one.n1_standing.kind == "upper bound"
    measure = next(measure for measure in MEASURES if measure.key == "n1_share")
    assert measure.text(one).startswith("≤")
    judged = next(measure for measure in CRITERIA if measure.key == "n1_share")
    assert interval(judged, one) == (0.0, round(one.n1_share or 0.0, 2))


def test_cages_of_a_part_are_filled_in_every_family() -> None:
    """Two ports in a cage share a transceiver, so that no family pays for twice the optics of another."""
    for family in FAMILIES:
        asked = Requirements(accelerators=2048, switch="qm9700")
        fabric = FAMILIES[family](asked).build()
        switches = fabric.nodes.kind.is_any("switch")[fabric.ports.node]
        node, cage = fabric.ports.node[switches], fabric.ports.cage[switches]
        assert (cage >= 0).all(), family
        ports = Counter(zip(node.tolist(), cage.tolist(), strict=True))
        most = asked.cage(fabric.ports.gbps[switches].max())
        assert most in (2, 4) and max(ports.values()) == most, family
        assert len({at for _, at in ports}) == len(ports), family  # no cage in two switches
        odd = Counter(at for (at, _), count in ports.items() if count < most)
        assert max(odd.values(), default=0) <= 1, family


def test_what_cannot_be_built_still_says_its_largest() -> None:
    found = topo.candidates(Requirements(accelerators=64, radix=8, rails=4))
    one = found["leaf-spine"]
    assert one.verdict == "cannot" and one.numbers is None and one.largest == 8**2 // 2
    head, rows = found.tables()[1]
    line = next(row for row in rows if row[1] == "leaf-spine")
    assert line[0] == "x" and line[head.index("largest")] == "32" and line[2] == "-"


def test_growth_chooses_planes_with_room() -> None:
    """64 ports in halves take 8,192 in two tiers, in quarters 32,768: planes cannot be split once more later."""
    plan = FAMILIES["multi-plane"](Requirements(accelerators=4096, radix=64))
    assert plan.note.startswith("2 planes")
    grown = FAMILIES["multi-plane"](Requirements(accelerators=4096, radix=64, growth=4))
    assert grown.note.startswith("4 planes") and grown.note.endswith("2 tiers")
    assert (grown.largest or 0) >= 4 * 4096


@pytest.mark.parametrize("width", [60, 80, 120, 200])
def test_tables_and_sentences_fit_the_screen(width: int) -> None:
    found = topo.candidates(Requirements(accelerators=128, radix=16, rails=4))
    lines = found.text(width).splitlines()
    assert max(map(len, lines)) <= width
    for one, words in itertools.product(found.candidates, (found.text(width),)):
        assert one.family in words
    compared = topo.compare_fabrics([one.fabric for one in found.candidates[:4]])
    assert max(map(len, compared.text(max(width, 100)).splitlines())) <= max(width, 100)
