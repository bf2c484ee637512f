"""Catalogue fabrics of these families against numbers typed from the references, and the analyses that hold on them."""

from __future__ import annotations

import numpy as np
import pytest
from family_oracle import n_switch_links, ports_used
from scipy.sparse import csr_array
from scipy.sparse.csgraph import shortest_path

import topo
from topo.analysis.bisection.certificate import check
from topo.fabric import State

# Name, endpoints, switches, links from switch to switch.
ROWS = [
    ("alcf-aurora", 84992, 5600, 117914),
    ("olcf-frontier", 37632, 2368, 47508),
    ("cineca-leonardo", 13680, 828, 12006),
    ("tsubame2-hyperx", 672, 96, 864),
    ("google-tpu-v4", 4096, 0, 0),
    ("google-tpu-v4-twisted", 128, 0, 0),
    ("google-tpu-v5p", 8960, 0, 0),
    ("google-tpu-ironwood", 9216, 0, 0),
    ("aws-trn2-ultraserver", 64, 0, 0),
    ("deepseek-dragonfly", 261632, 16352, 383761),
    ("slim-fly-q5", 200, 50, 175),
    ("slim-fly-q19", 10830, 722, 10469),
    ("dragonfly-1056", 1056, 264, 1452),
    ("bcube-8-3", 4096, 2048, 0),
    ("dcell-4-2", 420, 105, 0),
    ("torus-8x8x8", 512, 0, 0),
    ("k-ary-n-tree-4-3", 64, 48, 128),
    ("jellyfish-8000", 8000, 1000, 12000),
    ("xpander-1000", 8000, 1000, 12000),
    ("hx2mesh-1024", 1024, 64, 0),
]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_counts(row: tuple[str, int, int, int]) -> None:
    name, endpoints, switches, links = row
    fabric = topo.load(name)
    assert (len(fabric.endpoints), len(fabric.switches), n_switch_links(fabric)) == (endpoints, switches, links)
    assert len(set(fabric.nodes.name.tolist())) == len(fabric.nodes)
    used = np.bincount(np.concatenate([fabric.links.port_a, fabric.links.port_b]), minlength=len(fabric.ports))
    assert used.max() == 1


def test_aurora_fits_its_switches() -> None:
    fabric = topo.load("alcf-aurora")
    used = ports_used(fabric, fabric.switches)
    on = np.bincount(fabric.link_b[fabric.links.kind.is_any("access")], minlength=len(fabric.nodes))[fabric.switches]
    assert used.max() <= 64 and sorted(set(on.tolist())) == [0, 16]
    assert (used - on - 31).max() <= 16, "at most 16 global ports a switch"
    network = topo.Network.of(fabric)
    pod = fabric.nodes.pod.codes
    links = network.links[network.is_global]
    low = np.minimum(pod[fabric.link_a[links]], pod[fabric.link_b[links]])
    high = np.maximum(pod[fabric.link_a[links]], pod[fabric.link_b[links]])
    pairs, counts = np.unique(low * 200 + high, return_counts=True)
    kind = [
        (int(one < 166), int(other < 166), int(other == 174)) for one, other in zip(*np.divmod(pairs, 200), strict=True)
    ]
    expected = {(1, 1, 0): 2, (1, 0, 0): 2, (1, 0, 1): 2, (0, 0, 0): 24, (0, 0, 1): 8}
    assert all(count == expected[key] for key, count in zip(kind, counts.tolist(), strict=True))
    assert len(pairs) == 175 * 174 // 2


def test_slingshot_at_its_largest() -> None:
    """545 groups of 512; texts that print 278,528 endpoints count 544."""
    fabric = topo.dragonfly(p=16, a=32, h=17)
    assert len(set(fabric.nodes.pod.labels.tolist())) == 545
    assert len(fabric.endpoints) == 279_040 == 278_528 + 512


def test_leonardo_fills_every_port_of_its_spines() -> None:
    fabric = topo.load("cineca-leonardo")
    tier = fabric.nodes.tier[fabric.switches]
    assert set(ports_used(fabric, fabric.switches)[tier == 2]) == {40}
    leaves = fabric.switches[tier == 1]
    cables = np.bincount(fabric.ports.node, minlength=len(fabric.nodes))[leaves]
    assert cables.max() == 20 + 20 + 18 + 2, "20 split ports of two legs, 18 up, two free: 40 ports"
    at = fabric.links.kind.is_any("access")
    assert len(np.unique(fabric.links.cable[at])) == 13680 // 2


@pytest.mark.parametrize(
    ("name", "diameter", "bisection"),
    [("google-tpu-v4", 24, 512), ("google-tpu-v5p", 8 + 10 + 14, 640), ("google-tpu-ironwood", 8 + 12 + 12, 768)],
)
def test_tpu_pods_reach_as_far_as_the_closed_form_says(name: str, diameter: int, bisection: int) -> None:
    fabric = topo.load(name)
    n = len(fabric.nodes)
    graph = csr_array((np.ones(len(fabric.links)), (fabric.link_a, fabric.link_b)), shape=(n, n))
    far = shortest_path(graph, unweighted=True, directed=False, indices=[0, n // 3])
    assert far.max(axis=1).tolist() == [diameter, diameter]
    places = fabric.nodes.places()
    axis = int(np.argmax(places.max(axis=0)))
    half = places[:, axis] <= places[:, axis].max() // 2
    assert int((half[fabric.link_a] != half[fabric.link_b]).sum()) == bisection


@pytest.mark.parametrize(
    "build",
    [
        lambda: topo.torus([4, 4, 8], twist=[[1, 3, 4], [2, 3, 4]]),
        lambda: topo.torus([5, 5]),
        lambda: topo.dragonfly(2, 4, 2),
        lambda: topo.dragonfly_plus(2, 3, 3, 2),
        lambda: topo.slim_fly(5),
        lambda: topo.hyperx([4, 3], 3),
        lambda: topo.jellyfish(40, 6, 3),
        lambda: topo.xpander(5, 6, 3),
        lambda: topo.bcube(4, 1),
        lambda: topo.dcell(4, 1),
        lambda: topo.hamming_mesh([2, 2], [3, 3]),
        lambda: topo.xgft([3, 2, 4], [1, 2, 2]),
    ],
)
def test_brackets_are_certified_and_failures_lower_them(build) -> None:  # type: ignore[no-untyped-def]
    fabric = build()
    found = topo.bisection_bandwidth(fabric)
    check(fabric, found)
    assert 0 < found.lower_gbps <= found.upper_gbps <= found.full_gbps
    demand = topo.traffic.all_to_all(fabric)
    whole = topo.throughput(fabric, demand)
    best = topo.throughput(fabric, demand, routing="optimal")
    assert best.theta_upper >= whole.theta_lower * (1 - 1e-9)
    switch_links = np.flatnonzero(~fabric.links.kind.is_any("access"))
    gone = switch_links[:1] if len(switch_links) else np.array([0])
    state = State.without(fabric, links=gone)
    hurt = topo.throughput(fabric, demand, routing="optimal", state=state)
    assert hurt.theta_lower <= best.theta_upper * (1 + 1e-9)


def test_throughput_against_bisection_of_expanders() -> None:
    """An expander's uniform throughput is bounded by distance, not by its cut: full cut, less than full throughput."""
    fabric = topo.jellyfish(160, 12, 6, seed=1, link_gbps=1)
    cut = topo.bisection_bandwidth(fabric)
    bound = topo.throughput_upper_bound(fabric)
    assert cut.ratio_lower < bound.theta < 1


def test_jobs_on_contiguous_slices_share_no_link_and_scattered_ones_do() -> None:
    fabric = topo.torus([8, 8, 8], link_gbps=1)
    places = fabric.nodes.places()
    corner = places // 4 @ np.array([1, 2, 4])
    order = np.random.default_rng(0).permutation(len(fabric.nodes))
    shared = []
    for jobs in ([np.flatnonzero(corner == c) for c in range(8)], [np.sort(part) for part in np.split(order, 8)]):
        used = [topo.link_loads(fabric, topo.traffic.all_to_all(fabric, rows)).arc_gbps > 0 for rows in jobs]
        shared.append(int((np.sum(used, axis=0) > 1).sum()))
    inside = corner[fabric.arc_source] == corner[fabric.arc_target]
    assert shared[0] == 0 < shared[1]
    block = topo.link_loads(fabric, topo.traffic.all_to_all(fabric, np.flatnonzero(corner == 0))).arc_gbps
    alone = topo.mesh([4, 4, 4], link_gbps=1)
    mesh_load = topo.link_loads(alone, topo.traffic.all_to_all(alone)).arc_gbps
    wanted = topo.traffic.all_to_all(fabric, np.flatnonzero(corner == 0)).total_gbps
    scale = wanted / topo.traffic.all_to_all(alone).total_gbps
    assert block[~inside].max() == 0
    assert block.max() == pytest.approx(mesh_load.max() * scale), "the slice is a mesh of its own"


def test_a_job_inside_a_dragonfly_group_uses_no_global_link() -> None:
    fabric = topo.dragonfly(2, 4, 2)
    group = fabric.endpoints[fabric.nodes.pod.codes[fabric.endpoints] == 3]
    loads = topo.link_loads(fabric, topo.traffic.all_to_all(fabric, group))
    network = topo.Network.of(fabric)
    on_global = network.links[network.is_global]
    assert loads.arc_gbps[2 * on_global].max() == loads.arc_gbps[2 * on_global + 1].max() == 0
    across = topo.link_loads(fabric, topo.traffic.all_to_all(fabric, fabric.endpoints[::9]))
    assert across.arc_gbps[2 * on_global].max() > 0
