"""Every family by one measure: counts by networkx, least cuts by brute force, and what every analysis answers."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable

import networkx as nx
import numpy as np
import pytest
from family_oracle import all_distances
from hypothesis import given, settings
from hypothesis import strategies as st

import topo
from topo.analysis.bisection.certificate import check
from topo.build.dcell import dcell_sizes
from topo.fabric import Fabric
from topo.placement.fold import hosts_of
from topo.routing.scheme import Routing

Build = Callable[[], Fabric]

# Small instances of every family, with endpoints, switches, links and most hops between endpoints, by hand.
SMALL: dict[str, tuple[Build, tuple[int, int, int, int]]] = {
    "torus": (lambda: topo.torus([4, 2], link_gbps=1), (8, 0, 12, 3)),
    "torus of switches": (lambda: topo.torus([3, 2], hosts_per_switch=1, link_gbps=1), (6, 6, 15, 4)),
    "mesh": (lambda: topo.mesh([3, 3], link_gbps=1), (9, 0, 12, 4)),
    "hypercube": (lambda: topo.torus([2, 2, 2], link_gbps=1), (8, 0, 12, 3)),
    "twisted torus": (lambda: topo.torus([2, 4], twist=[[1, 2, 2]], link_gbps=1), (8, 0, 16, 2)),
    "accelerators": (lambda: topo.accelerator_torus([2, 4], host_dims=[1, 1], link_gbps=1), (8, 0, 12, 3)),
    "slice in a cube": (lambda: topo.tpu_slice([2, 2, 2], link_gbps=1), (8, 0, 12, 3)),
    "dragonfly": (lambda: topo.dragonfly(1, 2, 1, link_gbps=1), (6, 6, 12, 5)),
    "dragonfly+": (lambda: topo.dragonfly_plus(2, 1, 2, 1, link_gbps=1), (6, 9, 15, 5)),
    "hyperx": (lambda: topo.hyperx([2, 3], 1, link_gbps=1), (6, 6, 15, 4)),
    "flattened butterfly": (lambda: topo.flattened_butterfly(2, 3, link_gbps=1), (8, 4, 12, 4)),
    "jellyfish": (lambda: topo.jellyfish(8, 3, 1, seed=2, link_gbps=1), (8, 8, 20, 5)),
    "xpander": (lambda: topo.xpander(3, 2, 1, seed=1, link_gbps=1), (8, 8, 20, 5)),
    "bcube": (lambda: topo.bcube(2, 2, link_gbps=1), (8, 12, 24, 6)),
    "dcell": (lambda: topo.dcell(3, 1, link_gbps=1), (12, 4, 18, 5)),
    "hamming mesh": (lambda: topo.hamming_mesh([2, 2], [2, 1], link_gbps=1), (8, 6, 24, 3)),
    "xgft": (lambda: topo.xgft([2, 2, 2], [1, 2, 1], link_gbps=1), (8, 10, 20, 6)),
    "k-ary n-tree": (lambda: topo.k_ary_n_tree(2, 3, link_gbps=1), (8, 12, 24, 6)),
}  # fmt: skip


def graph_of(fabric: Fabric) -> nx.MultiGraph:
    """The cables of a fabric."""
    graph = nx.MultiGraph()
    graph.add_nodes_from(range(len(fabric.nodes)))
    graph.add_edges_from(zip(fabric.link_a.tolist(), fabric.link_b.tolist(), strict=True))
    return graph


def least_even_cut(fabric: Fabric) -> float:
    """The least of the maximum flows between the halves of all even splits, over directed networkx graphs."""
    simple = nx.Graph()
    counts = Counter(tuple(sorted(edge)) for edge in zip(fabric.link_a.tolist(), fabric.link_b.tolist(), strict=True))
    for (a, b), count in counts.items():
        simple.add_edge(a, b, capacity=count)
    # Each end counts as infinitely wide to the poles.
    ends, best = fabric.endpoints.tolist(), math.inf
    for half in itertools.combinations(ends[1:], len(ends) // 2):
        poles = simple.copy()
        for end in ends:
            poles.add_edge("s" if end in half else "t", end, capacity=10**6)
        best = min(best, nx.maximum_flow_value(poles, "s", "t"))
    return best


@pytest.mark.parametrize("family", SMALL)
def test_counts_and_diameter_by_networkx(family: str) -> None:
    build, (endpoints, switches, links, diameter) = SMALL[family]
    fabric = build()
    graph = graph_of(fabric)
    assert (len(fabric.endpoints), len(fabric.switches), graph.number_of_edges()) == (endpoints, switches, links)
    assert nx.is_connected(graph)
    far = dict(nx.all_pairs_shortest_path_length(nx.Graph(graph)))
    between = [far[a][b] for a in fabric.endpoints.tolist() for b in fabric.endpoints.tolist() if a != b]
    assert max(between) == diameter == topo.inventory(fabric).paths.diameter_hops
    assert topo.inventory(fabric).paths.mean_hops == pytest.approx(sum(between) / len(between))


@pytest.mark.parametrize("family", SMALL)
def test_bisection_holds_the_least_cut_of_all_even_splits(family: str) -> None:
    fabric = SMALL[family][0]()
    found = topo.bisection_bandwidth(fabric)
    check(fabric, found)
    assert found.lower_gbps <= least_even_cut(fabric) == found.upper_gbps


@settings(max_examples=15, deadline=None)
@given(dims=st.lists(st.sampled_from([2, 4, 6, 8]), min_size=1, max_size=3).filter(lambda d: 4 <= math.prod(d) <= 200))
def test_tori_of_even_sides_have_no_gap(dims: list[int]) -> None:
    found = topo.bisection_bandwidth(topo.torus(dims, link_gbps=1))
    # The longest rings are cut twice; rings of two are one link.
    least = min(math.prod(dims) // size * (2 if size > 2 else 1) for size in dims)
    check(topo.torus(dims, link_gbps=1), found)
    assert found.lower_gbps == found.upper_gbps == least == len(found.links)


@settings(max_examples=15, deadline=None)
@given(
    dims=st.lists(st.sampled_from([2, 4, 6]), min_size=1, max_size=2),
    hosts=st.integers(1, 8),
    links=st.integers(1, 2),
)
def test_hyperx_of_even_sides_has_no_gap(dims: list[int], hosts: int, links: int) -> None:
    fabric = topo.hyperx(dims, hosts, links=links, link_gbps=1)
    found = topo.bisection_bandwidth(fabric)
    check(fabric, found)
    n = math.prod(dims)
    # Halves along dimension i: (S_i / 2)^2 pairs in each of n / S_i rows; hosts' own links where those are fewer.
    cut = min(links * size * n // 4 for size in dims)
    assert found.lower_gbps == found.upper_gbps == min(cut, n * hosts // 2)


@settings(max_examples=12, deadline=None)
@given(a=st.integers(2, 5), h=st.integers(1, 2), short=st.integers(0, 3), extra=st.integers(0, 2))
def test_halves_of_whole_groups_of_a_dragonfly(a: int, h: int, short: int, extra: int) -> None:
    """floor(g / 2) * ceil(g / 2) global links, exactly, where every switch's hosts fill its global ports."""
    g = max(a * h + 1 - short, 2)
    fabric = topo.dragonfly(h + extra, a, h, groups=g, link_gbps=1)
    found = topo.bisection_bandwidth(fabric, keep="pod")
    check(fabric, found)
    assert found.keep == "pod" and found.exact
    assert found.upper_gbps == (g // 2) * (g - g // 2) == len(found.links)
    pod, ones = fabric.nodes.pod.codes[fabric.endpoints], found.side[fabric.endpoints]
    assert not set(pod[ones]) & set(pod[~ones]), "no group is torn apart"
    if g % 2 == 0:  # else halves of hosts are more even than those of groups
        assert topo.bisection_bandwidth(fabric).lower_gbps <= found.upper_gbps
    assert "pods, or groups of switches" in str(found)


def test_halves_of_pods_need_pods() -> None:
    with pytest.raises(topo.ParameterError, match="no endpoint of 'torus 4 x 4' is in a pod; keep hosts whole"):
        topo.bisection_bandwidth(topo.torus([4, 4]), keep="pod")
    tree = topo.bisection_bandwidth(topo.fat_tree(4, link_gbps=1), keep="pod")
    assert tree.exact and tree.ratio == 1


@pytest.mark.parametrize("family", SMALL)
def test_every_analysis_answers(family: str) -> None:
    fabric = SMALL[family][0]()
    demand = topo.traffic.all_to_all(fabric)
    best = topo.throughput(fabric, demand, routing="optimal")
    for routing in ("ecmp", "wcmp", "spray"):
        assert 0 < topo.throughput(fabric, demand, routing=routing).theta_lower <= best.theta_upper * (1 + 1e-9)
    assert topo.throughput_upper_bound(fabric).theta > 0
    far = all_distances(fabric)
    # No more than all links hold in both directions, of what an all-to-all asks of them.
    asked = far.sum() * demand.total_gbps / (len(far) * (len(far) - 1))
    assert best.theta_lower <= 2 * fabric.links.capacity_gbps.sum() / asked * (1 + 1e-9)
    flows = topo.traffic.permutation(fabric, seed=1)
    hashed = topo.ecmp_collisions(fabric, flows)
    assert hashed.flows == len(fabric.endpoints) and hashed.lost_flows == 0
    assert hashed.mean_rate is not None and 0 < hashed.mean_rate.estimate <= 1


@pytest.mark.parametrize("family", SMALL)
def test_failures_are_told_of_every_link(family: str) -> None:
    fabric = SMALL[family][0]()
    told = topo.survivability(fabric, kinds=("link",))
    assert told.n_elements == len(fabric.links) and told.verdicts
    assert sum(verdict.n_elements for verdict in told.verdicts) == len(fabric.links)
    bridges = sum(1 for _ in nx.bridges(nx.Graph(graph_of(fabric))))
    assert sum(loss.n_alike for loss in told.losses if loss.cut_off) == bridges
    assert topo.worst_failures(fabric, 1, kinds=("link",)).rows()
    if not len(fabric.switches):
        with pytest.raises(topo.ParameterError, match="has no switch to fail; name what it has, such as link"):
            topo.worst_failures(fabric, 1)
    assert topo.degradation_curve(fabric).rows()


@pytest.mark.parametrize("family", SMALL)
def test_a_job_of_all_but_one_host_is_placed_and_scored(family: str) -> None:
    fabric = SMALL[family][0]()
    hosts = hosts_of(fabric)
    n = int(hosts.size[:-1].sum()) if len(hosts) > 1 else len(fabric.endpoints)
    found = topo.place(fabric, topo.Job(n), objective="hop_bytes")
    assert len(set(found.ranks)) == n and found.lower_bound <= found.value * (1 + 1e-9)
    far = all_distances(fabric)
    at = {row: i for i, row in enumerate(fabric.endpoints.tolist())}
    rows = [at[row] for row in found.ranks]
    inside = fabric.nodes.host.codes[fabric.endpoints][rows]
    apart = inside[:, None] != inside[None, :]
    assert found.affinity.hop_bytes == pytest.approx(far[np.ix_(rows, rows)][apart].sum())


@settings(max_examples=25, deadline=None)
@given(
    dims=st.lists(st.integers(2, 5), min_size=2, max_size=3),
    pair=st.sampled_from([(0, 1), (1, 0)]),
    shift=st.integers(0, 7),
)
def test_twisted_tori_are_quotients_of_a_lattice(dims: list[int], pair: tuple[int, int], shift: int) -> None:
    """Neighbours are p + e_k and p - e_k, places being equal modulo d_k e_k, of which one has s e_j added."""
    i, j = pair
    fabric = topo.torus(dims, twist=[[i + 1, j + 1, shift]])

    def reduced(place: list[int]) -> tuple[int, ...]:
        # d_i e_i = -(shift) e_j in the quotient: leaving at the end of dimension i moves on by the shift in j.
        turns, place[i] = divmod(place[i], dims[i])
        place[j] += turns * shift
        return tuple(one % size for one, size in zip(place, dims, strict=True))

    wanted = set()
    for place in itertools.product(*map(range, dims)):
        for axis in range(len(dims)):
            other = list(place)
            other[axis] += 1
            wanted.add(frozenset((place, reduced(other))))
    ours = fabric.nodes.places()
    built = {
        frozenset((tuple(ours[a].tolist()), tuple(ours[b].tolist())))
        for a, b in zip(fabric.link_a, fabric.link_b, strict=True)
    }
    assert built == {edge for edge in wanted if len(edge) == 2}


@pytest.mark.parametrize("dims", [[4, 4, 4], [8, 4, 4], [8, 8, 8], [4, 8, 12], [16, 16, 16]])
def test_circuits_of_slices(dims: list[int]) -> None:
    """48 switches: each takes two ports of every cube, so as many circuits as cubes; 96 links leave a cube."""
    fabric = topo.tpu_slice(dims)
    cubes = math.prod(dims) // 64
    names, counts = np.unique(fabric.groups.group.values(), return_counts=True)
    assert len(names) == 48 and set(counts) == {cubes}
    at = fabric.nodes.places() // 4
    crossing = (at[fabric.link_a] != at[fabric.link_b]).any(axis=1)
    assert 48 * cubes == len(fabric.groups) >= int(crossing.sum())
    assert len(fabric.links) - 48 * cubes == cubes * 3 * 48, "copper inside cubes: three times 48 of each"


@pytest.mark.parametrize(("a", "h"), [(2, 1), (4, 2), (6, 3)])
def test_valiant_on_a_dragonfly_and_the_trap_of_counting_hops(a: int, h: int) -> None:
    """Detours load a global link with twice (a p)^2 / N whatever the pairs; counted in hops both legs load it more."""
    fabric = topo.dragonfly(h, a, h, link_gbps=1)
    n = len(fabric.endpoints)
    neighbours = topo.traffic.shift(fabric, by=a * h)
    network = topo.Network.of(fabric)
    at = network.links[network.is_global]
    arcs = np.concatenate([2 * at, 2 * at + 1])
    detour = topo.traffic.valiant(fabric, neighbours)
    minimal = topo.link_loads(fabric, detour).arc_gbps[arcs]
    assert minimal == pytest.approx(2 * (a * h) ** 2 / n)
    straight = topo.link_loads(fabric, neighbours).arc_gbps[arcs]
    assert sorted(set(np.round(straight, 9))) == [0, a * h], "minimal routes take one link of each group"
    counted = topo.link_loads(fabric, detour, routing=Routing(costs={})).arc_gbps[arcs]
    if a > 2:
        assert counted.sum() > minimal.sum() * 1.2, "paths of two global links tie with local, global, local"
    # Own links carry strangers' halves too: twice (N - 1) / N of line rate, the switches twice (a p)^2 / N or less.
    theta = topo.throughput(fabric, detour).theta_lower
    assert theta <= n / (2 * (n - 1)) * (1 + 1e-9)
    assert theta > topo.throughput(fabric, neighbours).theta_lower


@pytest.mark.parametrize("family", ["jellyfish", "xpander"])
def test_an_expander_of_full_bisection_has_not_full_throughput(family: str) -> None:
    """64 links hold 23 hosts a switch: every cut is full, and distance alone keeps some permutation to 64 / 69.

    The cut is at least lambda_2 n / 4 links (Fiedler), more than the n 23 / 2 of half the hosts. Each switch has a
    partner three links away, and 3 x 23 n links are not there (Namyar et al., SIGCOMM 2021).
    """
    build = {"jellyfish": lambda: topo.jellyfish(1200, 64, 23, seed=3), "xpander": lambda: topo.xpander(64, 20, 23)}
    fabric = build[family]()
    joined = nx.Graph(graph_of(fabric)).subgraph(fabric.switches.tolist())
    spread = np.linalg.eigvalsh(nx.laplacian_matrix(joined).astype(float).toarray())
    assert spread[1] / 4 > 23 / 2
    assert topo.throughput_upper_bound(fabric).theta == pytest.approx(64 / 69)


@pytest.mark.parametrize(("n", "k"), [(2, 1), (3, 1), (4, 1), (2, 2), (3, 2)])
def test_dcells_number_their_hosts_as_published(n: int, k: int) -> None:
    """Hosts [i, j - 1] and [j, i] of a level are joined, for i < j; built anew by recursion (Guo et al., figure 3)."""

    def cables(first: int, level: int) -> list[tuple[int, int]]:
        if level == 0:
            return []
        below = dcell_sizes(n, level - 1)[-1]
        inner = [cable for cell in range(below + 1) for cable in cables(first + cell * below, level - 1)]
        return inner + [
            (first + i * below + j - 1, first + j * below + i)
            for i in range(below + 1)
            for j in range(i + 1, below + 1)
        ]

    fabric = topo.dcell(n, k)
    direct = ~fabric.links.kind.is_any("access")
    built = sorted(zip(fabric.link_a[direct].tolist(), fabric.link_b[direct].tolist(), strict=True))
    assert built == sorted(cables(0, k))


def test_dcell_6_2_and_the_size_of_6_3() -> None:
    fabric = topo.dcell(6, 2)
    assert (len(fabric.endpoints), len(fabric.switches), len(fabric.links)) == (1806, 301, 3612)
    assert dcell_sizes(6, 3)[-1] == 3_263_442
