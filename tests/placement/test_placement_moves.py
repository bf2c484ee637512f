"""Fewest migrations: closed form, brute force, and programs."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from placement_states import FOUR_LEAVES

import topo
from topo.errors import ParameterError
from topo.placement.fold import hosts_of
from topo.placement.job import Constraints, Job
from topo.placement.moves import fewest_hosts_moved, fewest_jobs_restarted, fewest_moves_unspread, what_to_move


def moved(free, movable, n: int, m: int) -> int | None:  # type: ignore[no-untyped-def]
    found = fewest_hosts_moved(free, movable, n, m)
    return None if found is None else found[0]


def test_leaves_5_3_8_6() -> None:
    free, movable = [5, 3, 8, 6], [3, 5, 0, 2]
    assert [moved(free, movable, 16, m) for m in (1, 2, 3)] == [None, 2, 0]
    assert [moved(free, movable, 12, m) for m in (1, 2)] == [None, 0]
    assert moved(free, movable, 23, 4) is None


@pytest.mark.parametrize(("seed", "total", "wanted"), [(0, 1012, [41, 21, 1, 0]), (1, 1022, [43, 23, 3, 0])])
def test_superpod(seed: int, total: int, wanted: list[int]) -> None:
    free = (np.random.default_rng(seed).random((64, 32)) >= 0.5).sum(axis=1)
    assert int(free.sum()) == total
    assert [moved(free, 32 - free, 128, m) for m in (4, 5, 6, 7)] == wanted


@pytest.mark.parametrize("seed", range(60))
def test_brute_force(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n_leaves = int(rng.integers(1, 6))
    free, movable = rng.integers(0, 6, n_leaves), rng.integers(0, 6, n_leaves)
    n, m = int(rng.integers(1, 12)), int(rng.integers(1, n_leaves + 1))
    best = None
    if free.sum() >= n:
        for size in range(1, m + 1):
            for chosen in itertools.combinations(range(n_leaves), size):
                at = list(chosen)
                if (free + movable)[at].sum() >= n:
                    need = max(0, n - int(free[at].sum()))
                    best = need if best is None else min(best, need)
    found = fewest_hosts_moved(free, movable, n, m)
    assert (None if found is None else found[0]) == best
    if found is not None:
        groups = found[1]
        assert len(groups) <= m
        assert (free + movable)[groups].sum() >= n
        assert max(0, n - free[groups].sum()) == found[0]


@pytest.mark.parametrize("seed", range(12))
def test_programs_against_the_closed_form(seed: int) -> None:
    rng = np.random.default_rng(seed)
    size, n_jobs = np.full(4, 5), 3
    held = rng.integers(0, 3, (n_jobs, 4))
    held[:, held.sum(axis=0) > 5] = 0
    free = size - held.sum(axis=0)
    n, m = int(rng.integers(2, 9)), 2
    closed = moved(free, held.sum(axis=0), n, m)
    unspread = fewest_moves_unspread(size, held, n, m)
    jobs = fewest_jobs_restarted(free, held, n, m)
    assert (closed is None) == (jobs is None)
    if closed is None:
        return
    if unspread is not None:
        assert unspread[0] >= closed
        after = unspread[2]
        assert (after.sum(axis=1) == held.sum(axis=1)).all()
        assert ((after > 0).sum(axis=1) <= (held > 0).sum(axis=1)).all()
    assert jobs is not None
    best = None
    for count in range(n_jobs + 1):
        for subset in itertools.combinations(range(n_jobs), count):
            room = free + held[list(subset)].sum(axis=0)
            if np.sort(room)[::-1][:m].sum() >= n and best is None:
                best = count
    assert len(jobs[0]) == best
    assert free[jobs[2]].sum() + jobs[1][:, jobs[2]].sum() >= n
    assert set(np.flatnonzero(jobs[1].sum(axis=1))) <= set(jobs[0].tolist())


def test_what_to_move() -> None:
    fabric = topo.leaf_spine(**FOUR_LEAVES)
    jobs = {
        "a": ["host-06", "host-07", "host-08"],
        "b": ["host-12", "host-13", "host-14"],
        "c": ["host-15", "host-16", "host-31", "host-32"],
    }
    answer = what_to_move(fabric, Job(16), jobs, at_most_leaves=2)
    assert answer.hosts_moved == len(answer.moves) == 2
    assert answer.leaves == ("leaf-3", "leaf-4")
    assert answer.jobs_restarted == answer.fewest_jobs == ("c",)
    free = {f"host-{i:02}" for i in range(1, 33)} - {name for names in jobs.values() for name in names}
    assert all(there in free and here in jobs["c"] for here, there in answer.moves)
    assert what_to_move(fabric, Job(16), jobs, at_most_leaves=3).hosts_moved == 0
    drained = what_to_move(fabric, Job(16), {"a": jobs["a"]}, unmovable=[*jobs["b"], *jobs["c"]], at_most_leaves=2)
    assert (drained.hosts_moved, drained.leaves) == (3, ("leaf-1", "leaf-3"))
    with pytest.raises(ParameterError, match="1 leaf groups hold at most 8"):
        what_to_move(fabric, Job(12), jobs, at_most_leaves=1)
    with pytest.raises(ParameterError, match="taken twice"):
        what_to_move(fabric, Job(4), {"a": ["host-01"], "b": ["host-01"]})
    with pytest.raises(ParameterError, match="are missing"):
        what_to_move(fabric, Job(24), jobs)
    assert "fewest hosts moved" in str(answer)


@pytest.mark.parametrize("seed", range(12))
def test_constraints_hold_and_nothing_less_will_do(seed: int) -> None:
    """Against brute force over the leaves of each pod of a small fat tree: within a pod, hosts excluded, a cap."""
    rng = np.random.default_rng(seed)
    fabric = topo.fat_tree(8)  # 8 pods of 4 leaves of 4
    hosts = hosts_of(fabric)
    owner = np.where(rng.random(128) < 0.6, rng.integers(0, 12, 128), -1)
    barred = rng.random(128) < 0.15
    cap = int(rng.integers(2, 5))
    names = hosts.name
    jobs = {f"j{j}": names[owner == j].tolist() for j in range(12)}
    n, most = int(rng.integers(4, 11)), 4
    rules = Constraints(within="pod", exclude=tuple(names[barred].tolist()), hosts_per_leaf=cap)
    free, pods = owner < 0, hosts.tree.above[1]
    best: list[int] = []
    for pod in range(8):
        leaves = np.flatnonzero(pods == pod)
        usable = [np.flatnonzero((hosts.leaf == leaf) & ~barred) for leaf in leaves]
        f = [min(int(free[u].sum()), cap) for u in usable]
        room = [min(len(u), cap) for u in usable]
        if sum(room) >= n:
            best.append(max(0, n - sum(f)))
    if not best or int(free.sum()) < n:
        with pytest.raises(ParameterError, match="within pod hold at most|are missing"):
            what_to_move(fabric, Job(n, constraints=rules), jobs, at_most_leaves=most)
        return
    answer = what_to_move(fabric, Job(n, constraints=rules), jobs, at_most_leaves=most, limit_s=5)
    assert answer.hosts_moved == len(answer.moves) == min(best)
    assert len(answer.fewest_jobs) <= len(answer.jobs_restarted)
    # After the moves the job fits: the places left are free, those taken were free and are not needed.
    gone, taken = (hosts.numbers([pair[i] for pair in answer.moves]) for i in (0, 1))
    assert free[taken].all() and not free[gone].any() and len(set(taken.tolist())) == len(taken)
    after = free.copy()
    after[gone], after[taken] = True, False
    topo.place(fabric, Job(n, constraints=rules), busy=~after)
