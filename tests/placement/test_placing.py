"""Placements: objectives, constraints, refusals, other jobs, several jobs."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest
from placement_states import FOUR_LEAVES, busy_but, count_vectors, half_full, superpod, uniform_cost

import topo
from topo.errors import ParameterError
from topo.fabric import State
from topo.placement.affinity import placement_affinity
from topo.placement.fold import hosts_of
from topo.placement.job import Constraints, Job
from topo.placement.placing import OBJECTIVES, place
from topo.placement.several import place_jobs


@pytest.fixture(scope="module")
def four_leaves() -> topo.Fabric:
    return topo.leaf_spine(**FOUR_LEAVES)


@pytest.fixture(scope="module")
def pod() -> topo.Fabric:
    return superpod()


def structured(p: int, d: int, ring: float, chain: float, e: int = 1, w: float = 0.0) -> Job:
    """Tensor parallel inside the host; bytes are given for a pair of hosts."""
    return Job(
        degrees={"tensor": 8, "pipeline": p, "data": d, "expert": e}, order=("tensor", "pipeline", "data"),
        bytes_per_step={"data": ring / 8, "pipeline": chain / 8, "expert": w / 8},
    )  # fmt: skip


def test_twelve_hosts(four_leaves) -> None:  # type: ignore[no-untyped-def]
    leaves = place(four_leaves, Job(12))
    assert (leaves.value, leaves.lower_bound, leaves.gap) == (2, 2, 0)
    assert sorted(leaves.leaf_counts.values()) == [4, 8]
    load = place(four_leaves, Job(12), objective="uplink_load")
    assert (load.value, load.gap, sorted(load.leaf_counts.values())) == (27, 0, [3, 3, 3, 3])
    assert load.by_leaves == {2: 32, 3: 32, 4: 27}
    assert any("gains no capacity" in note for note in load.notes)
    hop = place(four_leaves, Job(12), objective="hop_bytes")
    assert (hop.value, hop.lower_bound, hop.affinity.hop_bytes) == (392, 392, 392)
    assert str(hop.standing).startswith("exact")


@pytest.mark.parametrize("seed", range(25))
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_uniform_jobs_equal_brute_force(seed: int, objective: str) -> None:
    rng = np.random.default_rng(seed)
    fabric = topo.fat_tree(4) if seed % 2 else topo.leaf_spine(leaves=4, spines=4, hosts_per_leaf=4)
    hosts = hosts_of(fabric)
    busy = rng.random(len(hosts)) < 0.4
    free = np.bincount(hosts.leaf[~busy], minlength=hosts.tree.n_leaves)
    n = int(rng.integers(1, int(free.sum()) + 1))
    found = place(fabric, Job(n), busy=busy, objective=objective)
    vectors = list(count_vectors(free.tolist(), n))
    if objective == "leaves":
        least = min(((x > 0).sum(), uniform_cost(hosts.tree, x)[0]) for x in vectors)
        assert (found.value, found.affinity.hop_bytes) == least
    elif objective == "hop_bytes":
        assert found.value == min(uniform_cost(hosts.tree, x)[0] for x in vectors)
    else:
        pods = hosts.tree.depth > 1

        def load(x: np.ndarray) -> float:
            above = hosts.tree.count(x)[1]
            return max(float((x * (n - x)).max()), float((above * (n - above)).max() / 2) if pods else 0.0)

        assert found.value == min(map(load, vectors))
    assert found.gap == 0
    assert len(set(found.hosts)) == n
    assert not busy[hosts.numbers(found.hosts)].any()


def test_half_full_superpod(pod) -> None:  # type: ignore[no-untyped-def]
    busy = ~half_full().ravel()
    job = Job(1024, pattern_bytes=1 / 64)  # one byte a pair of hosts
    leaves = place(pod, job, busy=busy)
    assert (leaves.value, leaves.gap, leaves.affinity.hop_bytes) == (7, 0, 79_920)
    hop = place(pod, job, busy=busy, objective="hop_bytes")
    assert (hop.value, hop.gap, hop.affinity.leaves_spanned, hop.affinity.pods_spanned) == (77_100, 0, 8, 2)
    load = place(pod, job, busy=busy, objective="uplink_load")
    assert (load.value, load.gap) == (252 / 8, 0)  # a rail leaf carries an eighth of its unit's
    assert load.affinity.max_uplink_load == 252 / 8
    assert {m: value * 8 for m, value in load.by_leaves.items()} == {
        7: 2071,
        8: 1792,
        9: 1695,
        14: 1180,
        28: 615,
        56: 375,
    }


def test_one_ring_on_the_superpod(pod) -> None:  # type: ignore[no-untyped-def]
    busy = ~half_full().ravel()
    job = structured(1, 128, 1, 0)
    hop = place(pod, job, busy=busy, objective="hop_bytes")
    assert (hop.value, hop.gap) == (276, 0)
    load = place(pod, job, busy=busy, objective="uplink_load")
    assert (load.value, load.gap) == (1 / 8, 0)


@pytest.mark.parametrize(
    ("grid", "bound", "worst"),
    [
        ((8, 16, 10, 0.4), 2969.6, 2969.6),
        ((16, 8, 10, 1), 3328, 3328),
        ((8, 16, 1, 1), 838, 880),
        ((4, 32, 2, 1, 8, 1), 2928, 2944),
        ((2, 64, 5, 2, 16, 1), 6304, 6304),
    ],
)
def test_structured_hop_bytes_on_the_superpod(pod, grid, bound: float, worst: float) -> None:  # type: ignore[no-untyped-def]
    found = place(pod, structured(*grid), busy=~half_full().ravel(), objective="hop_bytes", budget_s=2.0)
    assert found.lower_bound == pytest.approx(bound)
    assert bound - 1e-6 <= found.value <= worst + 1e-6
    assert found.affinity.hop_bytes == pytest.approx(found.value)


@pytest.mark.parametrize(
    ("grid", "bound", "worst"),
    [((8, 16, 10, 0.4), 10.8, 12.8), ((16, 8, 10, 1), 13, 14), ((8, 16, 1, 1), 4, 4), ((4, 32, 2, 1, 8, 1), 12, 12)],
)
def test_structured_loads_on_the_superpod(pod, grid, bound: float, worst: float) -> None:  # type: ignore[no-untyped-def]
    found = place(pod, structured(*grid), busy=~half_full().ravel(), objective="uplink_load", budget_s=2.0)
    assert found.lower_bound * 8 == pytest.approx(bound)
    assert bound - 1e-6 <= found.value * 8 <= worst + 1e-6
    assert found.affinity.max_uplink_load == pytest.approx(found.value)


def test_others_load_the_uplinks() -> None:
    """A third leaf whose uplinks another job fills is left alone."""
    fabric = topo.leaf_spine(leaves=4, spines=2, hosts_per_leaf=8, link_gbps=1, host_gbps=1)
    other = Job(8, name="other")
    there = [f"host-{i:02}" for i in (1, 2, 3, 4, 9, 10, 11, 12)]
    found = place(fabric, Job(6), objective="uplink_load", others=[(other, there)], busy=busy_but([8, 8, 3, 3]))
    assert found.leaf_counts == {"leaf-3": 3, "leaf-4": 3}
    assert found.value == 9
    assert found.affinity.slowdown["other"] == 1.0


@pytest.mark.parametrize(
    ("rules", "check"),
    [
        ({"within": "pod"}, lambda f: f.affinity.pods_spanned == 1),
        ({"within": "pod-3"}, lambda f: all(name.startswith("pod-3") for name in f.leaf_counts)),
        ({"at_most_leaves": 2}, lambda f: f.affinity.leaves_spanned <= 2),
        ({"hosts_per_leaf": 1}, lambda f: max(f.leaf_counts.values()) == 1),
        ({"exclude": ("host-0*",)}, lambda f: not any(name.startswith("host-0") for name in f.hosts)),
    ],
)
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_constraints_hold(rules, check, objective: str) -> None:  # type: ignore[no-untyped-def]
    found = place(topo.fat_tree(4), Job(4, constraints=Constraints(**rules)), objective=objective)
    assert check(found)


def test_same_rail(pod) -> None:  # type: ignore[no-untyped-def]
    found = place(pod, Job(64, constraints=Constraints(same_rail=True)))
    rails = set(pod.nodes.rail.values(found.placement.rows).tolist())
    assert len(rails) == 1
    assert len(set(found.hosts)) == 64
    assert found.value == 2


def test_refusals_name_what_binds() -> None:
    fabric = topo.fat_tree(4)
    busy = ["host-01", "host-02"]
    cases = [
        (Job(15), "needs 15 hosts .*, 14 are free: 1 are missing; the largest that fits has 14 hosts"),
        (Job(5, constraints=Constraints(within="pod")), "within = pod leaves room for 4: 1 are missing"),
        (Job(5, constraints=Constraints(at_most_leaves=2)), "at_most_leaves = 2 leaves room for 4"),
        (Job(9, constraints=Constraints(hosts_per_leaf=1)), "hosts_per_leaf = 1 leaves room for 7"),
        (Job(3, constraints=Constraints(exclude=("host-*",))), "exclude = host-\\* leaves room for 0"),
        (Job(3, constraints=Constraints(within="moon")), "within is 'moon', no level and no node"),
        (Job(3, constraints=Constraints(exclude=("host-99",))), "no host of .* is called 'host-99'"),
    ]
    for job, said in cases:
        with pytest.raises(ParameterError, match=said):
            place(fabric, job, busy=busy)
    with pytest.raises(ParameterError, match="no host of .* is called 'nobody'"):
        place(fabric, Job(3), busy=["nobody"])
    with pytest.raises(ParameterError, match="unknown objective 'best'"):
        place(fabric, Job(3), objective="best")


def test_a_part_of_a_host_is_rounded_up() -> None:
    fabric = topo.rail_optimized(8, rails=4, hosts_per_unit=4, radix=16)
    found = place(fabric, Job(10))
    assert len(found.hosts) == 3
    assert any("no multiple of 4" in note for note in found.notes)
    assert found.affinity.idle_endpoints == 2


def test_where_the_fabric_is_no_tree_the_standing_says_so() -> None:
    fabric = topo.leaf_spine(leaves=4, spines=4, hosts_per_leaf=4, link_gbps=100, host_gbps=100)
    up = np.flatnonzero(fabric.links.kind.is_any("scale_out"))
    state = State.without(fabric, links=up[:1])
    found = place(fabric, Job(10, pattern="ring"), objective="hop_bytes", state=state, budget_s=0.3)
    assert "no tree" in str(found.standing)
    assert found.lower_bound <= found.value == found.affinity.hop_bytes
    assert place(fabric, Job(10), state=state).value == 3


def test_a_freed_host_never_makes_it_worse(four_leaves) -> None:  # type: ignore[no-untyped-def]
    rng = np.random.default_rng(5)
    busy = rng.random(32) < 0.5
    for objective in OBJECTIVES:
        before = place(four_leaves, Job(10), busy=busy, objective=objective).value
        for host in np.flatnonzero(busy)[:6].tolist():
            freed = busy.copy()
            freed[host] = False
            assert place(four_leaves, Job(10), busy=freed, objective=objective).value <= before


def test_the_same_seed_gives_the_same_hosts(four_leaves) -> None:  # type: ignore[no-untyped-def]
    busy = busy_but([5, 3, 8, 6])
    a, b = (place(four_leaves, Job(12), busy=busy) for _ in range(2))
    assert a.hosts == b.hosts
    assert placement_affinity(four_leaves, a.placement, Job(12), busy=busy).hop_bytes == a.affinity.hop_bytes


def test_result_forms(four_leaves) -> None:  # type: ignore[no-untyped-def]
    found = place(four_leaves, Job(12))
    value = json.loads(found.to_json())
    assert value["hosts"] == list(found.hosts)
    assert value["ranks"] == found.placement.rows.tolist()
    assert "lower bound" in str(found)
    assert pickle.loads(pickle.dumps(found)).hosts == found.hosts
    assert found._repr_html_().startswith("<table>")


def test_several_jobs() -> None:
    """Leaves of 4, 4, 4: jobs of 5, 3, 2, 2 need 2 + 1 + 1 + 1 leaves however they are placed."""
    fabric = topo.leaf_spine(leaves=3, spines=2, hosts_per_leaf=4)
    jobs = [Job(n, name=f"j{n}{i}") for i, n in enumerate((3, 5, 2, 2))]
    found = place_jobs(fabric, jobs, budget_s=1.0)
    used = [name for p in found.placements for name in p.hosts]
    assert len(set(used)) == len(used) == 12
    assert [p.job for p in found.placements] == [job.name for job in jobs]
    assert (found.value, found.lower_bound, found.gap) == (5, 5, 0)
    with pytest.raises(ParameterError, match="need 16 hosts, 12 are free: 4 are missing"):
        place_jobs(fabric, [*jobs, Job(4)])
    with pytest.raises(ParameterError, match="no job"):
        place_jobs(fabric, [])
    assert json.loads(found.to_json())["value"] == 5


def test_jobs_together_load_the_same_uplinks() -> None:
    """Two rings of 6 on two leaves of 6, at most 4 of a leaf each: each crosses both leaves, 2 bytes together."""
    fabric = topo.leaf_spine(leaves=2, spines=2, hosts_per_leaf=6, host_gbps=100, link_gbps=100)
    rules = Constraints(hosts_per_leaf=4)
    jobs = [Job(6, name=name, pattern="ring", constraints=rules) for name in ("a", "b")]
    found = place_jobs(fabric, jobs, objective="uplink_load", budget_s=1.0)
    assert [p.affinity.max_uplink_load for p in found.placements] == [1, 1]
    # Alone either needs 1; together both uplinks of 2 carry 2 of 2 x 100G: the bound of the single jobs is not met.
    assert (found.value, found.lower_bound, found.gap) == (2, 1, 1)
    assert found.slowdown == {"a": 1.0, "b": 1.0}
    narrow = topo.leaf_spine(leaves=2, spines=1, hosts_per_leaf=6, host_gbps=100, link_gbps=100)
    slowed = place_jobs(narrow, jobs, objective="uplink_load", budget_s=0.5)
    assert slowed.slowdown == {"a": 2.0, "b": 2.0} and "slowdown of b" in str(slowed)
    # A byte of a job that is sent thirty times as often weighs the same once both run at line rate.
    heavy = [jobs[0], Job(6, name="b", pattern="ring", pattern_bytes=30, constraints=rules)]
    assert place_jobs(fabric, heavy, objective="uplink_load", budget_s=0.5).value == pytest.approx(2)


def test_a_job_with_a_narrow_choice_goes_first() -> None:
    """Largest first would take leaf-1, where alone the small one may lie."""
    fabric = topo.leaf_spine(leaves=2, spines=2, hosts_per_leaf=4)
    jobs = [Job(4, name="large"), Job(3, name="small", constraints=Constraints(within="leaf-1"))]
    found = place_jobs(fabric, jobs, budget_s=0.5)
    assert [p.leaf_counts for p in found.placements] == [{"leaf-2": 4}, {"leaf-1": 3}]
    with pytest.raises(ParameterError, match="'third' needs 2 hosts.*within = leaf-1"):
        place_jobs(fabric, [*jobs[1:], Job(2, name="third", constraints=Constraints(within="leaf-1"))])


def test_exchange_mends_what_greedy_spoils() -> None:
    """Free 3, 3, 2: jobs 4 and 4. Never below the bound, hosts never shared."""
    fabric = topo.leaf_spine(leaves=3, spines=2, hosts_per_leaf=3)
    found = place_jobs(
        fabric, [Job(4, name="a"), Job(4, name="b")], busy=["host-9"], objective="hop_bytes", budget_s=1.0
    )
    assert found.value >= found.lower_bound
    used = [name for p in found.placements for name in p.hosts]
    assert len(set(used)) == 8
