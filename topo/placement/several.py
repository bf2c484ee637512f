"""Several jobs at once: largest first by the exact tables, then pairs taken out and put back; with a bound."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from topo.errors import ParameterError
from topo.fabric import Fabric, State
from topo.placement.affinity import distinct_names
from topo.placement.contention import contention
from topo.placement.job import Job
from topo.placement.measure import measured
from topo.placement.names import folded
from topo.placement.placement import on_hosts, rank_width
from topo.placement.placing import Cluster, PlacementFound, load_units, placed_on
from topo.result import Result, Row, Standing

__all__ = ["JobsPlaced", "place_jobs"]


@dataclass(frozen=True)
class JobsPlaced(Result):
    """One placement a job, in the order of the jobs, and the sum of their values.

    For ``uplink_load`` the value is the load of the busiest uplinks under all jobs together, in bytes a step of the
    first (a byte of another weighs as much as its own busiest endpoint at line rate makes it). ``lower_bound`` adds
    the bounds each job has alone on the same free hosts, or takes the largest: valid, and loose where jobs compete.
    ``slowdown`` is what each suffers from the others; nan where rates are unknown.
    """

    fabric: str
    objective: str
    placements: tuple[PlacementFound, ...]
    value: float
    lower_bound: float
    gap: float | None
    standing: Standing
    slowdown: dict[str, float]

    title: ClassVar[str] = "Several jobs placed"

    def rows(self) -> list[Row]:
        """The totals, then one line a job with its hosts."""
        gap = "unknown" if self.gap is None else f"{100 * self.gap:.2f} %"
        rows = [
            Row("objective", self.objective),
            Row("value of all jobs", self.value, standing=self.standing),
            Row("lower bound", self.lower_bound),
            Row("gap", gap),
        ]
        for found in self.placements:
            said = f"{found.value:,.6g}, not below {found.lower_bound:,.6g} alone; {len(found.hosts):,} hosts on "
            rows.append(Row(found.job, f"{said}{len(found.leaf_counts):,} leaf groups: {folded(found.hosts)}"))
        if any(np.isnan(value) for value in self.slowdown.values()):
            return [*rows, Row("slowdown by each other", "rates unknown")]
        return rows + [Row(f"slowdown of {name}", value, "times") for name, value in self.slowdown.items()]


def place_jobs(
    fabric: Fabric,
    jobs: Sequence[Job],
    *,
    busy: Any = None,
    objective: str = "leaves",
    budget_s: float = 8.0,
    seed: int = 0,
    state: State | None = None,
) -> JobsPlaced:
    """Placements of several jobs on the same free hosts.

    Fewest leaf groups in all is bin packing, so no optimum is claimed: jobs are placed largest first, each knowing the
    loads of those before it, then two at a time are taken out and placed again in either order, as long as the total
    falls and time is left.

    >>> import topo
    >>> fabric = topo.leaf_spine(leaves=3, spines=2, hosts_per_leaf=4)
    >>> found = place_jobs(fabric, [Job(3, name="a"), Job(4, name="b"), Job(4, name="c")])
    >>> found.value, found.lower_bound
    (3.0, 3.0)

    :raises ParameterError: no job, or jobs that do not fit together (how many hosts are missing).
    """
    begin = time.perf_counter()
    if not jobs:
        raise ParameterError("no job is given; give at least one")
    cluster = Cluster.of(fabric, busy=busy, state=state)
    width = [rank_width(cluster.hosts, job) for job in jobs]
    need = sum(job.n_hosts(w) for job, w in zip(jobs, width, strict=True))
    if need > int(cluster.free.sum()):
        have = int(cluster.free.sum())
        raise ParameterError(
            f"the {len(jobs)} jobs need {need:,} hosts, {have:,} are free: {need - have:,} are missing"
        )
    share = budget_s / (2 * len(jobs) + 1)
    how: dict[str, Any] = {"objective": objective, "seed": seed}
    alone = [placed_on(cluster, job, budget_s=share, **how) for job in jobs]
    order = sorted(range(len(jobs)), key=lambda i: (-jobs[i].n_hosts(width[i]), i))
    found = _greedy(cluster, jobs, order, {**how, "budget_s": share})
    scale = [_scale(cluster, job, width[i]) for i, job in enumerate(jobs)]
    known = objective == "uplink_load" and bool(np.isfinite(scale).all()) and scale[0] > 0
    ratio = [s / scale[0] if known else 1.0 for s in scale]
    lower = _total(objective, [p.lower_bound * r for p, r in zip(alone, ratio, strict=True)])
    task = _Task(cluster, jobs, objective, ratio)
    rng = np.random.default_rng(seed)
    while time.perf_counter() - begin < budget_s and len(jobs) > 1 and task.value(found) > lower * (1 + 1e-9):
        better = _exchanged(task, found, {**how, "budget_s": share / 4}, rng, begin + budget_s)
        if better is None:
            break
        found = better
    value = task.value(found)
    gap = 0.0 if value <= lower * (1 + 1e-9) else (value / lower - 1 if lower > 0 else None)
    standing = Standing("exact", "meets what each needs alone") if gap == 0 else Standing(
        "upper bound", "greedy and exchange; the bound is what each job needs alone")  # fmt: skip
    slower = contention([measured(cluster.ends, job, p.placement) for job, p in zip(jobs, found, strict=True)]).slowdown
    names = distinct_names([job.name for job in jobs])
    slowdown = dict(zip(names, slower, strict=True))
    return JobsPlaced(fabric.name, objective, tuple(found), value, lower, gap, standing, slowdown)


def _scale(cluster: Cluster, job: Job, width: int) -> float:
    """Gb/s of one byte a step when the job's busiest endpoint runs at line rate, on any hosts."""
    some = np.flatnonzero(cluster.hosts.leaf >= 0)[: job.n_hosts(width)]
    return measured(cluster.ends, job, on_hosts(cluster.hosts, job, some)).scale


def _greedy(cluster: Cluster, jobs: Sequence[Job], order: list[int], how: dict[str, Any]) -> list[PlacementFound]:
    """Jobs placed in an order; one that no longer fits (its constraints) goes first, and all are placed again.

    :raises ParameterError: a job that does not fit even when it goes first.
    """
    moved: set[int] = set()
    while True:
        placed: list[PlacementFound | None] = [None] * len(jobs)
        at = order[0]
        try:
            for at in order:
                placed[at] = placed_on(_left(cluster, jobs, placed), jobs[at], **how)
        except ParameterError:
            if at in moved or at == order[0]:
                raise
            moved.add(at)
            order = [at, *(i for i in order if i != at)]
            continue
        return [p for p in placed if p is not None]


def _total(objective: str, values: list[float]) -> float:
    return max(values) if objective == "uplink_load" else float(sum(values))


@dataclass(frozen=True, eq=False)
class _Task:
    """Jobs to place together; ``ratio`` is what a byte of each weighs in bytes of the first."""

    cluster: Cluster
    jobs: Sequence[Job]
    objective: str
    ratio: list[float]

    def value(self, found: Sequence[PlacementFound]) -> float:
        """Sum of the jobs' values, or the busiest uplinks under all of them."""
        if self.objective != "uplink_load" or len(found) == 1:
            return _total(self.objective, [p.value for p in found])
        hosts, tree = self.cluster.hosts, self.cluster.hosts.tree
        matrix = np.zeros((tree.n_leaves, tree.n_leaves))
        for job, placed, ratio in zip(self.jobs, found, self.ratio, strict=True):
            leaf = hosts.leaf[hosts.of_node[placed.placement.rows]]
            matrix += ratio * job.traffic.between(leaf, tree.n_leaves).toarray()
        loads = [
            np.maximum(out, into) / unit
            for (out, into), unit in zip(tree.cuts(matrix), load_units(self.cluster, tree), strict=True)
        ]
        return max(float(load.max(initial=0.0)) for load in loads)


def _left(cluster: Cluster, jobs: Sequence[Job], placed: Sequence[PlacementFound | None]) -> Cluster:
    """The cluster with what is placed: its hosts taken, its loads there."""
    free, there = cluster.free.copy(), list(cluster.others)
    for job, found in zip(jobs, placed, strict=True):
        if found is not None:
            free[cluster.hosts.of_node[found.placement.rows]] = False
            there.append(measured(cluster.ends, job, found.placement))
    return replace(cluster, free=free, others=tuple(there))


def _exchanged(
    task: _Task, found: list[PlacementFound], how: dict[str, Any], rng: np.random.Generator, deadline: float
) -> list[PlacementFound] | None:
    """The first pair that is better placed again, or None."""
    jobs = task.jobs
    pairs = [(i, j) for i in range(len(jobs)) for j in range(len(jobs)) if i != j]
    before = task.value(found)
    for index in rng.permutation(len(pairs)).tolist():
        if time.perf_counter() > deadline:
            return None
        i, j = pairs[index]
        trial: list[PlacementFound | None] = list(found)
        trial[i] = trial[j] = None
        try:
            for at in (i, j):
                trial[at] = placed_on(_left(task.cluster, jobs, trial), jobs[at], **how)
        except ParameterError:  # a constraint of the second no longer holds
            continue
        whole = [p for p in trial if p is not None]
        if task.value(whole) < before * (1 - 1e-12):
            return whole
    return None
