"""Tori, meshes, twisted tori, TPU slices: neighbours, distances, bisections by closed form; circuits; refusals."""

from __future__ import annotations

import itertools
import pickle

import networkx as nx
import numpy as np
import pytest
from family_oracle import all_distances, mean_of_pairs, n_switch_links, ports_used
from hypothesis import given, settings
from hypothesis import strategies as st

import topo
from topo.build.torus import accelerator_torus, mesh, torus
from topo.build.tpu import tpu_slice
from topo.fabric import FORWARDS_ALL, Fabric, State

SIZES = st.lists(st.integers(2, 6), min_size=1, max_size=3)


def mean_of_ring(k: int) -> float:
    """Mean distance from a node of a ring to all of them, itself too."""
    return k / 4 if k % 2 == 0 else (k * k - 1) / (4 * k)


@settings(max_examples=40, deadline=None)
@given(dims=SIZES, wrap=st.booleans(), links=st.integers(1, 2))
def test_counts_neighbours_and_distances(dims: list[int], wrap: bool, links: int) -> None:
    fabric = torus(dims, wrap=wrap, links=links)
    n = int(np.prod(dims))
    assert len(fabric.endpoints) == n == len(fabric.nodes)
    around = [n if wrap and size > 2 else n * (size - 1) // size for size in dims]
    assert len(fabric.links) == links * sum(around)
    places = fabric.nodes.places()
    step = (places[fabric.link_a] - places[fabric.link_b]) % np.asarray(dims)
    moved = np.minimum(step, np.asarray(dims) - step)
    assert (moved.sum(axis=1) == 1).all(), "every cable joins two that differ by one in one coordinate"
    far = all_distances(fabric)
    gap = np.abs(places[:, None] - places[None, :])
    expected = (np.minimum(gap, np.asarray(dims) - gap) if wrap else gap).sum(axis=2)
    assert (far == expected).all()
    if wrap:
        assert far.max() == sum(size // 2 for size in dims)
        assert mean_of_pairs(far) == pytest.approx(sum(map(mean_of_ring, dims)) * n / (n - 1))
    else:
        assert far.max() == sum(size - 1 for size in dims)


@pytest.mark.parametrize("dims", [[7], [3, 4], [2, 5, 3], [2, 2, 2, 2]])
def test_against_networkx(dims: list[int]) -> None:
    for periodic, fabric in ((True, torus(dims)), (False, mesh(dims))):
        theirs = nx.Graph(nx.grid_graph(list(reversed(dims)), periodic=periodic))
        if periodic:  # networkx drops the closing link of a ring of two as well
            assert theirs.number_of_edges() == len(fabric.links)
        places = [tuple(place) if len(place) > 1 else int(place[0]) for place in fabric.nodes.places().tolist()]
        ours = {frozenset((places[a], places[b])) for a, b in zip(fabric.link_a, fabric.link_b, strict=True)}
        assert ours == {frozenset(edge) for edge in theirs.edges}


@pytest.mark.parametrize(
    ("dims", "mean"), [([4, 4, 4], 3.0476), ([8, 8, 8], 6.0117), ([4, 4, 8], 4.0315), ([4, 8, 8], 5.0196)]
)
def test_mean_distances_as_tabulated(dims: list[int], mean: float) -> None:
    assert mean_of_pairs(all_distances(torus(dims))) == pytest.approx(mean, abs=5e-5)


@pytest.mark.parametrize("dims", [[8], [4, 4], [8, 8], [4, 6], [4, 4, 4], [6, 4, 4], [2, 2, 2, 2, 2]])
def test_bisection_is_exact(dims: list[int]) -> None:
    n, largest = int(np.prod(dims)), max(dims)
    answer = topo.bisection_bandwidth(torus(dims, link_gbps=1))
    assert answer.exact
    assert answer.upper_gbps == (2 if largest > 2 else 1) * n / largest


@pytest.mark.parametrize("dims", [[5, 5], [3, 4], [3, 3, 3]])
def test_bisection_of_odd_tori_has_a_gap_that_holds_the_best_straight_cut(dims: list[int]) -> None:
    answer = topo.bisection_bandwidth(torus(dims, link_gbps=1))
    assert 0 < answer.lower_gbps <= answer.upper_gbps
    # Straight cuts: 3 x 4 between two rings of three; 5 x 5 after two lines and a half; 3 x 3 x 3 after nine and four.
    assert answer.upper_gbps == {(5, 5): 12, (3, 4): 6, (3, 3, 3): 26}[tuple(dims)]
    assert answer.exact == (dims == [3, 4])


@pytest.mark.parametrize(
    ("dims", "theta"),
    [([8], 0.875), ([4, 4], 1.875), ([8, 8], 0.984375), ([4, 4, 4], 1.96875), ([6, 6], 35 / 27), ([5, 5], 1.6)],
)
def test_uniform_traffic_over_unit_links(dims: list[int], theta: float) -> None:
    """theta of an all-to-all in which each node sends 1: (8 / k) (N - 1) / N for even k, 8 k / (k^2 - 1) else."""
    fabric = torus(dims, link_gbps=1)
    demand = topo.traffic.all_to_all(fabric)
    wanted = demand.total_gbps / len(fabric.endpoints)
    assert topo.throughput(fabric, demand).theta_lower * wanted == pytest.approx(theta)


@pytest.mark.parametrize("dims", [[8], [4, 4], [5, 5]])
def test_even_splits_are_optimal_for_uniform_traffic(dims: list[int]) -> None:
    fabric = torus(dims, link_gbps=1)
    demand = topo.traffic.all_to_all(fabric)
    best = topo.throughput(fabric, demand, routing="optimal")
    assert best.theta_lower == pytest.approx(topo.throughput(fabric, demand).theta_lower, rel=1e-6)


def test_tornado_on_a_ring() -> None:
    fabric = torus([8], link_gbps=1)
    demand = topo.traffic.shift(fabric, by=3)
    rate = demand.gbps[0]
    assert topo.throughput(fabric, demand).theta_lower * rate == pytest.approx(1 / 3)
    assert topo.throughput(fabric, demand, routing="optimal").theta_lower * rate == pytest.approx(8 / 15, rel=1e-6)


def test_tori_of_switches() -> None:
    fabric = torus([4, 3], hosts_per_switch=5, links=2, link_gbps=400, host_gbps=200)
    assert (len(fabric.switches), len(fabric.endpoints), n_switch_links(fabric)) == (12, 60, 48)
    assert set(ports_used(fabric, fabric.switches)) == {5 + 8}
    access = fabric.links.kind.is_any("access")
    assert set(fabric.links.capacity_gbps[access]) == {200}
    assert topo.inventory(fabric).paths.diameter_hops == 2 + 1 + 2


def test_twisted_torus_as_published() -> None:
    twisted = torus([4, 4, 8], twist=[[1, 3, 4], [2, 3, 4]], link_gbps=1)
    far = all_distances(twisted)
    assert (len(twisted.nodes), len(twisted.links), far.max()) == (128, 384, 6)
    assert mean_of_pairs(far) == pytest.approx(3.465, abs=5e-4)
    assert all_distances(torus([4, 4, 8])).max() == 8
    assert len(set(far.sum(axis=1))) == 1, "every node sees the same"
    plain, better = (topo.bisection_bandwidth(f) for f in (torus([4, 4, 8], link_gbps=1), twisted))
    assert plain.exact and plain.upper_gbps == 32 < better.lower_gbps <= better.upper_gbps <= 64


@pytest.mark.parametrize(("dims", "gain"), [([4, 4, 8], 1.63), ([4, 8, 8], 1.31)])
def test_twisted_slices_carry_more_all_to_all(dims: list[int], gain: float) -> None:
    """Ideal gain of the twist beside the published measurement, which it should not fall short of by much."""
    theta = []
    for twisted in (False, True):
        fabric = tpu_slice(dims, twisted=twisted)
        theta.append(topo.throughput(fabric, topo.traffic.all_to_all(fabric)).theta_lower)
    assert gain * 0.9 < theta[1] / theta[0] < gain * 1.3


def faces(fabric: Fabric) -> np.ndarray:
    """Links that leave a cube, going around too."""
    rack = fabric.nodes.rack.codes
    return np.flatnonzero(rack[fabric.link_a] != rack[fabric.link_b])


@pytest.mark.parametrize(
    ("dims", "chips", "links", "diameter", "bisection"),
    [
        ([16, 16, 16], 4096, 12288, 24, 512),
        ([16, 20, 28], 8960, 26880, 32, 640),
        ([16, 24, 24], 9216, 27648, 32, 768),
    ],
)
def test_tpu_pods(dims: list[int], chips: int, links: int, diameter: int, bisection: int) -> None:
    fabric = tpu_slice(dims, link_gbps=1)
    assert (len(fabric.endpoints), len(fabric.links)) == (chips, links)
    assert set(ports_used(fabric, fabric.endpoints)) == {6}
    assert len(set(fabric.nodes.host.values())) == chips // 4
    assert set(np.bincount(fabric.nodes.rack.codes)) == {64}
    far = sum(size // 2 for size in dims)
    assert diameter == far
    assert bisection == 2 * chips / max(dims)
    cut = fabric.nodes.places()[:, int(np.argmax(dims))] < max(dims) // 2
    assert int((cut[fabric.link_a] != cut[fabric.link_b]).sum()) == bisection


def test_circuits_of_a_v4_pod() -> None:
    fabric = tpu_slice([16, 16, 16])
    assert fabric.groups.row.tolist() != [] and set(fabric.groups.element.values()) == {"link"}
    assert sorted(fabric.groups.row.tolist()) == faces(fabric).tolist(), "each link from cube to cube, and no other"
    per_switch = np.bincount(fabric.groups.group.codes)
    assert len(per_switch) == 48 and set(per_switch) == {64}, "64 circuits on 128 ports"
    assert int(per_switch.sum()) == 3072
    # Each cube meets each switch with two ports.
    rack = fabric.nodes.rack.codes
    rows = fabric.groups.row[fabric.groups.group.is_any("ocs-y-07")]
    ends = np.concatenate([rack[fabric.link_a[rows]], rack[fabric.link_b[rows]]])
    assert set(np.bincount(ends, minlength=64)) == {2}
    places = fabric.nodes.places()
    assert len({tuple(place) for place in (places[fabric.link_a[rows]][:, [0, 2]] % 4).tolist()}) == 1


def test_losing_an_optical_switch_opens_rings_and_parts_nothing() -> None:
    fabric = tpu_slice([8, 8, 8])
    rows = fabric.groups.row[fabric.groups.group.is_any("ocs-x-01")]
    hurt = topo.throughput(fabric, topo.traffic.all_to_all(fabric), state=State.without(fabric, links=rows))
    whole = topo.throughput(fabric, topo.traffic.all_to_all(fabric))
    assert len(rows) == 8 and 0 < hurt.theta_lower < whole.theta_lower


def test_slices_within_a_cube_are_open() -> None:
    fabric = tpu_slice([2, 2, 1])
    assert (len(fabric.endpoints), len(fabric.links), len(fabric.groups)) == (4, 4, 0)
    fabric = tpu_slice([2, 4, 4])
    assert len(fabric.links) == 32 * 3 - 16 - 8 - 8
    assert len(tpu_slice([4, 4, 4]).links) == 192, "a whole cube closes its rings over the switches"


def test_trn2_ultraserver() -> None:
    fabric = accelerator_torus([4, 4, 4], host_dims=[4, 4, 1], link_gbps=512)
    hosts = fabric.nodes.host.codes
    inside = hosts[fabric.link_a] == hosts[fabric.link_b]
    assert (int(inside.sum()), int((~inside).sum())) == (4 * 32, 64)
    assert (fabric.nodes.forwards == FORWARDS_ALL).all()
    assert set(fabric.nodes.local_index.tolist()) == set(range(16))


@settings(max_examples=25, deadline=None)
@given(
    dims=st.lists(st.integers(2, 5), min_size=2, max_size=3),
    shift=st.integers(-3, 9),
    pair=st.sampled_from([(1, 2), (2, 1)]),
)
def test_twists_keep_all_nodes_alike(dims: list[int], shift: int, pair: tuple[int, int]) -> None:
    fabric = torus(dims, twist=[[*pair, shift]])
    far = all_distances(fabric)
    assert len(set(far.sum(axis=1))) == 1
    assert len(set(ports_used(fabric, fabric.endpoints))) == 1


@pytest.mark.parametrize(
    ("build", "said"),
    [
        (lambda: torus([]), "dims lists 0 sizes"),
        (lambda: torus([4, 1]), r"dims\[2\] is 1; the nearest that can be built is 2"),
        (lambda: torus([4, 4], wrap=[True]), "wrap lists 1 values for 2 dimensions"),
        (lambda: torus([4, 4], twist=[[1, 1, 2]]), "two different dimensions from 1 to 2"),
        (lambda: torus([4, 4], twist=[[1, 2]]), "two different dimensions"),
        (lambda: torus([4, 4], wrap=[True, False], twist=[[1, 2, 2]]), "no rings to twist"),
        (lambda: torus([4, 4], twist=[[1, 2, 2], [2, 1, 2]]), "shift only dimensions that shift none"),
        (lambda: torus([100_000, 100_000]), "at most"),
        (lambda: tpu_slice([16, 16]), "a slice has 3"),
        (lambda: tpu_slice([16, 16, 18]), r"dims\[3\] is 18; cubes of 4 make sides of 16 or 20"),
        (lambda: tpu_slice([2, 2, 3]), r"dims\[3\] is 3; within a cube"),
        (lambda: tpu_slice([4, 4, 12], twisted=True), r"such as \[4, 4, 8\]"),
        (lambda: accelerator_torus([4, 4], host_dims=[3, 4], link_gbps=1), r"host_dims\[1\] is 3.*use 2"),
        (lambda: accelerator_torus([4, 4], host_dims=[4], link_gbps=1), "give one for each"),
    ],
)
def test_what_cannot_be_built_is_refused(build, said: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(topo.ParameterError, match=said):
        build()


def test_a_contiguous_slice_of_a_torus_is_a_mesh() -> None:
    """A placement's inner links: the block of 4 x 4 x 4 in a larger torus has all of its own mesh."""
    fabric = torus([8, 8, 8])
    block = (fabric.nodes.places() < 4).all(axis=1)
    inside = block[fabric.link_a] & block[fabric.link_b]
    assert int(inside.sum()) == len(mesh([4, 4, 4]).links) == 144
    assert len(list(itertools.product(range(4), repeat=3))) == int(block.sum())


def test_coordinates_are_a_column_like_the_others() -> None:
    fabric = mesh([3, 2], hosts_per_switch=1)
    again = pickle.loads(pickle.dumps(fabric))
    assert again.equals(fabric) and again.digest == fabric.digest
    assert fabric.select(coordinates="2,*").tolist() == [8, 11]
    assert fabric.nodes.places().tolist() == [[-1, -1]] * 6 + [[x, y] for y in range(2) for x in range(3)]
    left = fabric.without(nodes="switch-0-*")
    assert left.nodes.coordinates.values(left.switches).tolist() == ["1,0", "2,0", "1,1", "2,1"]
    assert topo.fat_tree(4).nodes.places().shape == (36, 0)
