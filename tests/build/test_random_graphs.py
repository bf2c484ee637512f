"""Jellyfish, Xpander and the random graph of the same equipment: regular, simple, connected, seeded, near-Ramanujan."""

from __future__ import annotations

import numpy as np
import pytest
from family_oracle import adjacency, distances, n_switch_links, ports_used
from hypothesis import given, settings
from hypothesis import strategies as st

import topo
from topo.analysis.throughput.upper import largest_full_throughput
from topo.build.jellyfish import jellyfish, random_graph_like
from topo.build.xpander import xpander
from topo.fabric import Fabric


def spectrum(fabric: Fabric) -> np.ndarray:
    """Eigenvalues of the switches' graph, largest first."""
    return np.linalg.eigvalsh(adjacency(fabric, fabric.switches).astype(float))[::-1]


@settings(max_examples=60, deadline=None)
@given(n=st.integers(3, 40), r=st.integers(2, 39), seed=st.integers(0, 5))
def test_jellyfish_is_simple_regular_and_connected(n: int, r: int, seed: int) -> None:
    if r >= n or (n % 2 and r % 2):
        with pytest.raises(topo.ParameterError, match="links_per_switch is"):
            jellyfish(n, r, 1, seed=seed)
        return
    fabric = jellyfish(n, r, 2, seed=seed)
    joined = adjacency(fabric, fabric.switches)
    assert set(joined.sum(axis=1)) == {r} and joined.max() == 1 and not joined.diagonal().any()
    assert np.isfinite(distances(fabric, fabric.switches)).all()
    assert len(fabric.endpoints) == 2 * n and set(ports_used(fabric, fabric.switches)) == {r + 2}


def test_the_same_seed_draws_the_same_and_another_another() -> None:
    assert jellyfish(50, 6, 1, seed=3).digest == jellyfish(50, 6, 1, seed=3).digest
    assert jellyfish(50, 6, 1, seed=3).digest != jellyfish(50, 6, 1, seed=4).digest


def test_draws_are_spread_over_all_graphs() -> None:
    """Cubic graphs on six nodes: the prism (60 labelled) and K_3,3 (10); a biased draw would be far from 6 to 1."""
    triangles = [np.trace(np.linalg.matrix_power(adjacency(f, f.switches), 3)) // 6
                 for f in (jellyfish(6, 3, 1, seed=s) for s in range(300))]  # fmt: skip
    share = np.mean(np.array(triangles) == 2)
    assert set(triangles) == {0, 2} and 0.75 < share < 0.95


def test_a_random_graph_is_an_expander() -> None:
    values = spectrum(jellyfish(400, 10, 1))
    assert values[0] == pytest.approx(10)
    assert values[1] < 2 * np.sqrt(9) * 1.05


@settings(max_examples=30, deadline=None)
@given(d=st.integers(2, 8), lift=st.integers(1, 12), seed=st.integers(0, 3))
def test_xpander_is_a_lift_of_a_complete_graph(d: int, lift: int, seed: int) -> None:
    fabric = xpander(d, lift, 2, seed=seed)
    joined = adjacency(fabric, fabric.switches)
    assert len(fabric.switches) == (d + 1) * lift and set(joined.sum(axis=1)) == {d}
    blocks = joined.reshape(d + 1, lift, d + 1, lift)
    for i in range(d + 1):
        for j in range(d + 1):
            mine = blocks[i, :, j, :]
            assert not mine.any() if i == j else (mine.sum(axis=0) == 1).all() and (mine.sum(axis=1) == 1).all()
    assert np.isfinite(distances(fabric, fabric.switches)).all()


@pytest.mark.parametrize(("d", "lift"), [(8, 30), (11, 24), (16, 20)])
def test_xpander_is_close_to_ramanujan(d: int, lift: int) -> None:
    values = spectrum(xpander(d, lift, 1))
    assert values[0] == pytest.approx(d) and values[1] <= 1.1 * 2 * np.sqrt(d - 1)


@pytest.mark.parametrize(
    "build",
    [
        lambda: topo.fat_tree(8),
        lambda: topo.dragonfly(2, 4, 2),
        lambda: topo.hyperx([4, 4], 2),
        lambda: topo.leaf_spine(8, 4, 4, parallel=2),
        lambda: topo.slim_fly(5),
    ],
)
def test_random_graph_of_the_same_equipment(build) -> None:  # type: ignore[no-untyped-def]
    fabric = build()
    drawn = random_graph_like(fabric, seed=2)
    nodes = np.arange(len(fabric.nodes))
    assert (ports_used(drawn, nodes) == ports_used(fabric, nodes)).all()
    assert np.bincount(np.concatenate([drawn.links.port_a, drawn.links.port_b])).max() == 1, "a port takes one cable"
    assert n_switch_links(drawn) == n_switch_links(fabric)
    assert drawn.nodes.equals(fabric.nodes) and drawn.ports.equals(fabric.ports)
    assert np.sort(drawn.links.capacity_gbps).tolist() == np.sort(fabric.links.capacity_gbps).tolist()
    joined = adjacency(drawn, drawn.switches)
    assert not joined.diagonal().any() and (joined != adjacency(fabric, fabric.switches)).any()
    assert np.isfinite(distances(drawn, np.arange(len(drawn.nodes)))).all()
    assert random_graph_like(fabric, seed=2).digest == drawn.digest


def test_jellyfish_serves_more_than_the_fat_tree_of_its_equipment() -> None:
    """Same switches and hosts: the random graph's hosts are closer together (Singla et al.)."""
    tree = topo.fat_tree(8)
    drawn = jellyfish(80, 6, 2)  # 80 switches of 8 ports, 160 hosts where the tree has 128
    demand = topo.traffic.permutation(drawn, seed=1)
    assert len(drawn.endpoints) == 1.25 * len(tree.endpoints)
    assert topo.throughput(drawn, demand, routing="optimal").theta_lower > 0.9


def test_upper_bound_of_expanders() -> None:
    """Full bisection is not full throughput: the bound falls below 1 as 24 links hold 8 hosts of a growing graph."""
    assert topo.throughput_upper_bound(jellyfish(200, 12, 4)).theta == pytest.approx(1, abs=0.4)
    theta = [topo.throughput_upper_bound(jellyfish(n, 12, 6)).theta for n in (40, 160, 640)]
    assert theta[0] > theta[1] > theta[2]
    assert theta[2] < 1
    assert [largest_full_throughput(32, hosts) for hosts in (8, 7, 6)] == [111_008, 256_088, 3_967_278]


@pytest.mark.parametrize(
    ("build", "said"),
    [
        (lambda: jellyfish(10, 10, 1), "a switch has 9 others"),
        (lambda: jellyfish(9, 5, 1), "use 4 or 6 or 10 switches"),
        (lambda: jellyfish(10, 1, 1), "nearest is 2"),
        (lambda: jellyfish(10, 3, 0), "hosts_per_switch is 0"),
        (lambda: xpander(1, 4, 1), "nearest is 2"),
        (lambda: random_graph_like(topo.torus([4, 4])), "no cables between switches"),
    ],
)
def test_what_cannot_be_built_is_refused(build, said: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(topo.ParameterError, match=said):
        build()
