"""Scores of placements: worked values, and the load kernel as oracle."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest
from placement_states import FOUR_LEAVES, crossed_inside, hosts_by_leaf, isolated_rails, round_robin, swapped_rails

import topo
from topo.errors import InputError, ParameterError
from topo.fabric import State
from topo.placement.affinity import SCORES, fewest, fragmentation, placement_affinity
from topo.placement.contention import demand_of
from topo.placement.fold import hosts_of
from topo.placement.job import Job
from topo.placement.measure import end_tree, measured
from topo.placement.placement import Placement, on_hosts, placement_of, read_ranks
from topo.routing.loads import link_loads


@pytest.fixture(scope="module")
def four_leaves() -> topo.Fabric:
    return topo.leaf_spine(**FOUR_LEAVES, link_gbps=1, host_gbps=1)


@pytest.mark.parametrize(
    ("split", "hop_bytes", "share", "load", "ring", "ring_dealt"),
    [
        ([8, 4], 392, 48.5, 32, 28, 40),
        ([6, 6], 408, 54.5, 36, 28, None),
        ([8, 3, 1], 404, 53.0, 32, 30, None),
        ([4, 4, 4], 456, 72.7, 32, 30, None),
        ([3, 3, 3, 3], 480, 81.8, 27, 32, 48),
    ],
)
def test_twelve_hosts_on_four_leaves_of_eight(four_leaves, split, hop_bytes, share, load, ring, ring_dealt) -> None:  # type: ignore[no-untyped-def]
    scores = placement_affinity(four_leaves, hosts_by_leaf(split), Job(12))
    assert scores.hop_bytes == hop_bytes
    assert round(100 * scores.cross_leaf_share, 1) == share
    assert scores.max_uplink_load == load
    assert scores.busiest_link_load == load / 8
    assert scores.leaves_spanned == len(split)
    assert scores.least_leaves == 2
    assert placement_affinity(four_leaves, hosts_by_leaf(split), Job(12, pattern="ring")).hop_bytes == ring
    if ring_dealt:
        assert placement_affinity(four_leaves, round_robin(split), Job(12, pattern="ring")).hop_bytes == ring_dealt


@pytest.mark.parametrize(
    ("names", "crossings"),
    [
        (hosts_by_leaf([8, 4]), (2, 2)),
        (hosts_by_leaf([3, 3, 3, 3]), (7, 7)),
        (round_robin([3, 3, 3, 3]), (9, 9)),
    ],
)
def test_double_tree_crossings(four_leaves, names, crossings) -> None:  # type: ignore[no-untyped-def]
    from topo.traffic.rings import double_tree_parents

    leaf = [(int(name[-2:]) - 1) // 8 for name in names]
    each = [
        sum(p >= 0 and leaf[p] != leaf[i] for i, p in enumerate(parents.tolist()))
        for parents in double_tree_parents(12)
    ]
    assert tuple(each) == crossings
    job = Job(12, pattern="double-tree")
    scores = placement_affinity(four_leaves, names, job)
    assert round(scores.cross_leaf_share * scores.bytes_between_hosts) == 2 * sum(crossings)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    "build",
    [
        lambda: topo.leaf_spine(leaves=4, spines=3, hosts_per_leaf=4, link_gbps=100, host_gbps=100, parallel=2),
        lambda: topo.fat_tree(4, link_gbps=100),
        lambda: topo.rail_optimized(8, rails=4, hosts_per_unit=2, radix=8, tiers=3, link_gbps=100),
        lambda: topo.rail_optimized(8, rails=4, hosts_per_unit=2, radix=8, tiers=3, group_by="rail", link_gbps=100),
        lambda: topo.dual_tor(2, hosts_per_segment=4, rails=2, radix=16),
        lambda: topo.rail_only(8, rails=2),
    ],
)
@pytest.mark.parametrize("pxn", [True, False])
def test_tree_scores_equal_the_load_kernel(build, seed: int, pxn: bool) -> None:  # type: ignore[no-untyped-def]
    """hop-bytes is the sum of all arc loads, the utilization the largest load over capacity above the endpoints."""
    fabric = build()
    rng = np.random.default_rng(seed)
    hosts = hosts_of(fabric)
    assert hosts.tree.symmetric, hosts.tree.why_not
    picked = rng.permutation(len(hosts))[:6]
    n = 6 * int(hosts.size[0])
    pairs = tuple(
        (int(s), int(t), float(w))
        for s, t, w in zip(*rng.integers(0, n, (2, 40)), rng.integers(1, 9, 40), strict=True)
        if s != t
    )
    job = Job(n, pairs=pairs, pattern_bytes=0.25)
    placed = on_hosts(hosts, job, picked)
    ends = end_tree(hosts)
    assert ends.tree.symmetric, ends.tree.why_not
    scores = placement_affinity(fabric, placed, job, pxn=pxn)
    mine = measured(ends, job, placed, pxn=pxn)
    loads = link_loads(fabric, demand_of(mine))
    assert loads.arc_gbps.sum() / mine.scale == pytest.approx(scores.hop_bytes, rel=1e-9)
    network = loads.is_network_arc & (loads.capacity_gbps > 0)
    assert (loads.arc_gbps[network] / loads.capacity_gbps[network]).max() == pytest.approx(
        scores.max_utilization, rel=1e-9
    )
    assert (loads.arc_gbps[network]).max() / mine.scale == pytest.approx(scores.busiest_link_load, rel=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_opened_hosts_load_the_uplinks_of_their_own_adapters(seed: int) -> None:
    """Accelerators behind adapters: the kernel agrees on every link between switches; inside hosts we count nothing."""
    opened = topo.ClusterHosts(template="dgx-h100", count=8, inside=True)
    fabric = topo.cluster(opened, topo.RailPlan(hosts_per_unit=4, radix=16))
    hosts = hosts_of(fabric)
    rng = np.random.default_rng(seed)
    picked = rng.permutation(len(hosts))
    # Same index at both ends: what goes to another rail the kernel relays inside a host as it sees fit.
    pairs = tuple(
        (8 * int(a) + int(rail), 8 * int(b) + int(rail), float(w))
        for a, b, rail, w in rng.integers(0, (8, 8, 8, 9), (60, 4))
        if a != b
    )
    job = Job(64, pairs=pairs, pattern="none")
    placed = on_hosts(hosts, job, picked)
    scores = placement_affinity(fabric, placed, job, pxn=False)
    mine = measured(end_tree(hosts), job, placed, pxn=False)
    assert mine.ends.separate_rails
    loads = link_loads(fabric, demand_of(mine))
    outside = np.repeat(fabric.links.kind.is_any("scale_out"), 2) & loads.is_network_arc
    assert (loads.arc_gbps[outside] / loads.capacity_gbps[outside]).max() == pytest.approx(scores.max_utilization)


def test_rail_leaves_with_and_without_relays() -> None:
    """x ((n - 1) R - (x - 1)) leaves a rail leaf without PXN, R x (n - x) with it."""
    fabric = topo.rail_optimized(8, rails=4, hosts_per_unit=4, radix=16)
    hosts = hosts_of(fabric)
    ends, job = end_tree(hosts), Job(24)
    placed = on_hosts(hosts, job, np.arange(6))
    assert sorted(np.unique(measured(ends, job, placed, pxn=False).loads()[0]).tolist()) == [38, 68]
    assert np.unique(measured(ends, job, placed, pxn=True).loads()[0]).tolist() == [32]
    scores = placement_affinity(fabric, placed, job)
    assert scores.cross_rail_share == pytest.approx(3 / 4)
    assert (scores.leaves_spanned, scores.leaf_switches_used) == (2, 8)


def test_a_swapped_pair_of_rails() -> None:
    fabric = swapped_rails()
    job = Job(degrees={"tensor": 8, "data": 4}, order=("tensor", "data"), bytes_per_step={"data": 1})
    scores = placement_affinity(fabric, ["h0", "h1", "h2", "h3"], job)
    assert scores.rail_alignment == pytest.approx(28 / 32)
    assert [(m.local_index, m.rails) for m in scores.mixed_indices] == [
        (0, ("rail-1", "rail-2")),
        (1, ("rail-1", "rail-2")),
    ]


def test_an_accelerator_beside_another_adapter_lands_on_its_rail() -> None:
    """In one host of three each accelerator is beside the other's adapter: both indices lie on two rails."""
    fabric = crossed_inside()
    hosts = hosts_of(fabric)
    ring = tuple((2 * h + i, 2 * ((h + 1) % 3) + i, 1.0) for h in range(3) for i in range(2))
    job = Job(6, pairs=ring, pattern="none")
    scores = placement_affinity(fabric, ["h0", "h1", "h2"], job, pxn=False)
    assert [(one.local_index, one.rails) for one in scores.mixed_indices] == [
        (0, ("rail-1", "rail-2")),
        (1, ("rail-1", "rail-2")),
    ]
    # Of the three edges of an index only that between h1 and h2 stays on a rail.
    assert scores.rail_alignment == pytest.approx(1 / 3)
    mine = measured(end_tree(hosts), job, placement_of(hosts, job, ["h0", "h1", "h2"]), pxn=False)
    loads = link_loads(fabric, demand_of(mine))
    network = loads.is_network_arc & np.repeat(fabric.links.kind.is_any("scale_out"), 2)
    assert (loads.arc_gbps[network] / loads.capacity_gbps[network]).max() == pytest.approx(scores.max_utilization)


@pytest.mark.parametrize(("n", "rails", "without"), [(8, 4, 672), (32, 8, 55_552)])
def test_rail_only_pairs_without_a_path(n: int, rails: int, without: int) -> None:
    fabric = topo.rail_only(n, rails=rails)
    scores = placement_affinity(fabric, fabric.endpoints, Job(n * rails))
    assert scores.unreachable_pairs == n * (n - 1) * rails * (rails - 1) == without
    assert scores.unreachable_bytes == without
    assert scores.relay.startswith("unknown")
    aligned = Job(degrees={"tensor": rails, "data": n}, order=("tensor", "data"), bytes_per_step={"data": 1})
    assert placement_affinity(fabric, fabric.endpoints, aligned).unreachable_bytes == 0


@pytest.mark.parametrize("opened", [True, False])
def test_a_modelled_host_relays(opened: bool) -> None:
    """Four hosts of four accelerators, each on a rail leaf of its own, joined inside the host by a chip or not."""
    fabric = isolated_rails(opened=opened)
    scores = placement_affinity(fabric, fabric.endpoints, Job(16))
    assert scores.unreachable_pairs == 4 * 3 * 4 * 3
    assert scores.relay.startswith("for all of them" if opened else "unknown")


def test_slowdown_is_a_ratio_of_maxima() -> None:
    """Two leaves of 8, 4 uplinks each: A 4+4 with C 2+1 slows nobody; A with B, both 4+4, 8/7."""
    fabric = topo.leaf_spine(leaves=2, spines=4, hosts_per_leaf=8, link_gbps=1, host_gbps=1)

    def hosts(*numbers: int) -> list[str]:
        return [f"host-{i:02}" for i in numbers]

    first = hosts(1, 2, 3, 4, 9, 10, 11, 12)
    scores = placement_affinity(fabric, first, Job(8, name="a"), others=[(Job(3, name="c"), hosts(5, 6, 13))])
    assert scores.slowdown == {"a": 1.0, "c": 1.0}
    scores = placement_affinity(
        fabric, first, Job(8, name="a"), others=[(Job(8, name="b"), hosts(5, 6, 7, 8, 13, 14, 15, 16))]
    )
    assert scores.slowdown == pytest.approx({"a": 8 / 7, "b": 8 / 7})
    assert scores.max_utilization == pytest.approx(4 / 7)


def test_spreading_helps_only_where_uplinks_are_short() -> None:
    thin = topo.leaf_spine(leaves=4, spines=2, hosts_per_leaf=8, link_gbps=1, host_gbps=1)
    compact, spread = (placement_affinity(thin, hosts_by_leaf(split), Job(12)) for split in ([8, 4], [3, 3, 3, 3]))
    assert compact.max_utilization == pytest.approx(32 / 11 / 2)
    assert spread.max_utilization == pytest.approx(27 / 11 / 2)
    assert "spreading over more leaf groups helps, down to 0.844 of" in compact.verdict  # 27 of 32
    assert "no other split of the free hosts loads the busiest leaf less" in spread.verdict
    ring = Job(12, pattern="ring")
    slow = topo.leaf_spine(leaves=4, spines=1, hosts_per_leaf=8, link_gbps=1, host_gbps=2)
    # A ring crosses every used leaf once however it is split: nobody says that spreading helps.
    assert "objective uplink_load looks for" in placement_affinity(slow, hosts_by_leaf([8, 4]), ring).verdict
    full = topo.leaf_spine(**FOUR_LEAVES)
    assert "gains nothing" in placement_affinity(full, hosts_by_leaf([8, 4]), Job(12)).verdict


def test_fragmentation_of_free_5_3_8_6() -> None:
    cases = {
        (5, 3, 8, 6): ([0.636, 0.364, 0.136], 14),
        (1, 3, 0, 6): ([0.4, 0.1, 0.0], 10),
        (2, 3, 2, 3): ([0.7, 0.4, 0.2], 10),
    }
    for free, (wanted, _) in cases.items():
        assert [round(fragmentation(np.array(free), m), 3) for m in (1, 2, 3)] == wanted
    fabric = topo.leaf_spine(**FOUR_LEAVES)
    busy = [f"host-{leaf * 8 + i + 1:02}" for leaf, f in enumerate((5, 3, 8, 6)) for i in range(f, 8)]
    scores = placement_affinity(fabric, [f"host-{i:02}" for i in (*range(17, 25), 1, 2, 3, 4)], Job(12), busy=busy)
    assert (scores.free_hosts_left, scores.free_in_part_used_leaves) == (10, 10)
    assert scores.fragmentation == pytest.approx(0.1)
    assert fewest(np.array([5, 3, 8, 6]), 15) == 3


def test_a_fabric_that_is_no_tree_uses_the_kernel() -> None:
    fabric = topo.leaf_spine(leaves=4, spines=4, hosts_per_leaf=4, link_gbps=100, host_gbps=100)
    up = np.flatnonzero(fabric.links.kind.is_any("scale_out"))
    state = State.without(fabric, links=up[:2])
    names = [f"host-{i:02}" for i in range(1, 9)]
    scores = placement_affinity(fabric, names, Job(8), state=state)
    assert scores.standing.kind == "model"
    ends = end_tree(hosts_of(fabric, state=state))
    mine = measured(ends, Job(8), placement_of(ends.hosts, Job(8), names))
    loads = link_loads(fabric, demand_of(mine), state=state)
    assert scores.max_utilization == pytest.approx(float((loads.arc_gbps[loads.is_network_arc] / 100).max()))
    assert scores.hop_bytes == pytest.approx(loads.arc_gbps.sum() / mine.scale)


def test_renaming_changes_nothing_but_names(four_leaves) -> None:  # type: ignore[no-untyped-def]
    a = placement_affinity(four_leaves, hosts_by_leaf([8, 4]), Job(12))
    b = placement_affinity(four_leaves, hosts_by_leaf([0, 4, 0, 8]), Job(12))
    for name in ("hop_bytes", "cross_leaf_share", "max_uplink_load", "max_utilization", "leaves_spanned"):
        assert getattr(a, name) == getattr(b, name)


def test_bad_placements_are_refused(four_leaves) -> None:  # type: ignore[no-untyped-def]
    names = hosts_by_leaf([8, 4])
    for placed, said in [
        ([*names[:-1], names[0]], "'host-01' is there twice"),
        ([*names[:-1], "host-99"], "no host of .* is called 'host-99'"),
        (names[:-1], "11 hosts for 12 ranks"),
        (np.zeros(12, int), "holds 12 ranks of the placement"),
        (np.arange(10**6, 10**6 + 12), "outside the"),
        (four_leaves.switches[:12], "which is no endpoint"),
    ]:
        with pytest.raises(ParameterError, match=said):
            placement_affinity(four_leaves, placed, Job(12))


def test_rank_files(four_leaves) -> None:  # type: ignore[no-untyped-def]
    hosts, job = hosts_of(four_leaves), Job(3)
    for text in (
        "host-03\nhost-01 slots=1\nhost-02\n",
        "rank 0=host-03 slot=0\nrank 1=host-01 slot=0\nrank 2=host-02 slot=0\n",
    ):
        rows = read_ranks(hosts, job, text).rows
        assert four_leaves.nodes.name[rows].tolist() == ["host-03", "host-01", "host-02"]
    for text, said in [
        ("host-01\nhost-01\nhost-02\n", ":2: host 'host-01' is there twice"),
        ("host-01\nnobody\n", ":2: no host of"),
        ("rank 0=host-01 slot=0\nrank 0=host-02 slot=0\n", ":2: rank 0 is there twice"),
    ]:
        with pytest.raises(InputError) as error:
            read_ranks(hosts, job, text)
        assert said in str(error.value)


def test_ranks_that_share_an_endpoint(four_leaves) -> None:  # type: ignore[no-untyped-def]
    job = Job(degrees={"tensor": 8, "data": 12}, order=("tensor", "data"), bytes_per_step={"data": 1}, ranks_per_host=8)
    scores = placement_affinity(four_leaves, hosts_by_leaf([8, 4]), job)
    assert scores.hop_bytes == 8 * 28
    assert (scores.n_ranks, scores.n_hosts) == (96, 12)


def test_result_forms(four_leaves) -> None:  # type: ignore[no-untyped-def]
    scores = placement_affinity(four_leaves, hosts_by_leaf([8, 4]), Job(12))
    assert json.loads(scores.to_json())["hop_bytes"] == 392
    assert pickle.loads(pickle.dumps(scores)) == scores
    assert "hop-bytes" in str(scores)
    told = {score.name: score for score in scores.scores}
    assert set(told) == set(SCORES) and told["hop_bytes"].value == 392
    assert told["cross_leaf_share"].text() == "48.5 %" and told["cross_leaf_share"].better == "less is better"
    assert told["max_uplink_load"].ignores.startswith("the split over single links")
    assert json.loads(scores.to_json())["scores"][0]["unit"] == "leaf groups"
    assert len(scores.to_frame()) == len(scores.rows())
    assert Placement.of([1]).rows.flags.writeable is False
