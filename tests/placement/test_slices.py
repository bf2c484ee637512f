"""Jobs on grids: contiguous slices against brute force and closed forms, jobs that share no link, and a bound."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import topo
from topo.fabric import Fabric
from topo.placement.fold import hosts_of
from topo.placement.slices import Grid, slices_for


def used_links(fabric: Fabric, hosts: tuple[str, ...]) -> set[int]:
    """Links that an all-to-all among these hosts loads."""
    rows = np.concatenate([np.flatnonzero(fabric.nodes.host.matches(host)) for host in hosts])
    rows = rows[fabric.nodes.is_endpoint[rows]]
    loads = topo.link_loads(fabric, topo.traffic.all_to_all(fabric, rows))
    return set((np.flatnonzero(loads.arc_gbps > 1e-9) // 2).tolist())


@settings(max_examples=40, deadline=None)
@given(
    dims=st.lists(st.integers(2, 5), min_size=1, max_size=3),
    wrap=st.booleans(),
    seed=st.integers(0, 99),
    n=st.integers(1, 9),
)
def test_a_slice_is_a_block_of_free_hosts_wherever_there_is_one(dims: list[int], wrap: bool, seed: int, n: int) -> None:
    fabric = topo.torus(dims, wrap=wrap)
    hosts = hosts_of(fabric)
    grid = Grid.of(hosts)
    assert grid is not None and grid.dims == tuple(dims)
    assert grid.closes == tuple(wrap and size > 2 for size in dims)
    free = np.flatnonzero(np.random.default_rng(seed).random(len(hosts)) < 0.6)
    found = slices_for(grid, free, n)
    assert bool(found) == (len(free) >= n)
    for block in found:
        assert len(set(block.hosts.tolist())) == n and set(block.hosts.tolist()) <= set(free.tolist())
        inside = {
            tuple((first + step) % size for first, step, size in zip(block.first, steps, dims, strict=True))
            for steps in itertools.product(*map(range, block.size))
        }
        assert {tuple(place) for place in grid.place[block.hosts].tolist()} <= inside
        if not wrap:
            assert all(f + s <= d for f, s, d in zip(block.first, block.size, dims, strict=True))


@pytest.mark.parametrize(("n", "side"), [(8, 2), (27, 3), (64, 4)])
@pytest.mark.parametrize("objective", ["leaves", "hop_bytes"])
def test_a_job_of_a_cube_gets_a_cube(n: int, side: int, objective: str) -> None:
    """Mean |i - j| of a row is (s^2 - 1) / (3 s): n^2 pairs at three of it, in a torus twice as wide."""
    found = topo.place(topo.torus([8, 8, 8]), topo.Job(n), objective=objective)
    assert found.affinity.hop_bytes == pytest.approx(n * n * (side * side - 1) / side)
    assert any(f"a slice of {side} x {side} x {side} hosts" in note for note in found.notes)
    if objective == "hop_bytes":
        assert found.lower_bound <= found.value == found.affinity.hop_bytes


def test_ranks_wind_through_a_slice_so_that_a_ring_takes_one_link_a_step() -> None:
    found = topo.place(topo.torus([6, 6]), topo.Job(16, pattern="ring"), objective="hop_bytes")
    place = np.array([[int(part) for part in host.split("-")[1:]] for host in found.hosts])
    assert (np.abs(np.diff(place, axis=0)).sum(axis=1) == 1).all()
    gap = np.abs(place[-1] - place[0])
    assert found.affinity.hop_bytes == 15 + np.minimum(gap, 6 - gap).sum()


def test_jobs_one_after_the_other_share_no_link() -> None:
    """Blocks of at most half a ring keep minimal routes inside; the eight of them fill the torus."""
    fabric = topo.torus([8, 8, 8])
    busy: list[str] = []
    used: list[set[int]] = []
    for _ in range(8):
        found = topo.place(fabric, topo.Job(64), busy=busy or None)
        busy += found.hosts
        used.append(used_links(fabric, found.hosts))
    assert len(set(busy)) == 512
    assert [len(one) for one in used] == [len(topo.mesh([4, 4, 4]).links)] * 8
    assert sum(map(len, used)) == len(set().union(*used))


def test_a_slice_goes_around_where_the_middle_is_busy() -> None:
    fabric = topo.torus([8, 4])
    busy = [f"host-{x}-{y}" for x in (3, 4, 5) for y in range(4)]
    found = topo.place(fabric, topo.Job(9), busy=busy, objective="hop_bytes")
    at = {int(host.split("-")[1]) for host in found.hosts}
    assert len(at) == 3 and at <= {6, 7, 0, 1, 2}
    closed = topo.place(topo.mesh([8, 4]), topo.Job(9), busy=busy, objective="hop_bytes")
    assert {int(host.split("-")[1]) for host in closed.hosts} == {0, 1, 2}


@pytest.mark.parametrize("n", [3, 4, 5])
@pytest.mark.parametrize("wrap", [True, False])
def test_the_bound_lies_below_every_placement(n: int, wrap: bool) -> None:
    fabric = topo.torus([4, 3], wrap=wrap)
    found = topo.place(fabric, topo.Job(n), objective="hop_bytes")
    place = fabric.nodes.places()
    gap = np.abs(place[:, None] - place[None, :])
    far = (np.minimum(gap, np.array([4, 3]) - gap) if wrap else gap).sum(axis=2)
    least = min(int(far[np.ix_(some, some)].sum()) for some in itertools.combinations(range(12), n))
    assert found.lower_bound <= least <= found.value
    assert found.value <= 1.2 * least


def test_hosts_of_several_accelerators_and_hosts_on_switches_stand_on_grids_too() -> None:
    pod = hosts_of(topo.tpu_slice([8, 8, 8]))
    grid = Grid.of(pod)
    assert grid is not None and grid.dims == (4, 4, 8)
    switched = topo.torus([4, 6], hosts_per_switch=3)
    found = topo.place(switched, topo.Job(12))
    assert len(found.leaf_counts) == 4 and set(found.leaf_counts.values()) == {3}
    names = {tuple(map(int, leaf.split("-")[1:])) for leaf in found.leaf_counts}
    assert np.ptp(np.array(sorted(names)), axis=0).tolist() == [1, 1], "two by two switches"
    assert Grid.of(hosts_of(topo.fat_tree(4))) is None and Grid.of(hosts_of(topo.dragonfly(2, 4, 2))) is None


@pytest.mark.parametrize("seed", range(4))
def test_a_job_that_a_group_of_a_dragonfly_can_hold_lies_in_one(seed: int) -> None:
    fabric = topo.dragonfly(2, 4, 2)
    hosts = hosts_of(fabric)
    busy = np.random.default_rng(seed).random(len(hosts)) < 0.4
    pod = fabric.nodes.pod.codes[hosts.endpoint]
    largest = int(np.bincount(pod[~busy]).max())
    found = topo.place(fabric, topo.Job(largest), busy=busy, objective="hop_bytes")
    groups = {fabric.nodes.pod[int(fabric.rows(host)[0])] for host in found.hosts}
    assert len(groups) == 1
    network = topo.Network.of(fabric)
    assert not used_links(fabric, found.hosts) & set(network.links[network.is_global].tolist())
