"""Several jobs at once: largest first by the exact tables, then pairs taken out and put back; with a bound."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from topo.errors import ParameterError
from topo.fabric import Fabric, State
from topo.placement.job import Job
from topo.placement.placement import rank_width
from topo.placement.placing import Cluster, PlacementFound, placed_on
from topo.result import Result, Row, Standing

__all__ = ["JobsPlaced", "place_jobs"]


@dataclass(frozen=True)
class JobsPlaced(Result):
    """One placement a job, in the order of the jobs; the sum of their values (the largest for ``uplink_load``).

    ``lower_bound`` adds the bounds each job has alone on the same free hosts: valid, and loose where jobs compete.
    """

    fabric: str
    objective: str
    placements: tuple[PlacementFound, ...]
    value: float
    lower_bound: float
    gap: float | None
    standing: Standing
    seconds: float

    title: ClassVar[str] = "Several jobs placed"

    def rows(self) -> list[Row]:
        """The totals, then one line a job."""
        gap = "unknown" if self.gap is None else f"{100 * self.gap:.2f} %"
        rows = [
            Row("objective", self.objective),
            Row("value of all jobs", self.value, standing=self.standing),
            Row("lower bound", self.lower_bound),
            Row("gap", gap),
        ]
        return rows + [
            Row(found.job, f"{len(found.hosts):,} hosts on {len(found.leaf_counts)} leaf groups: {found.value:,.6g}")
            for found in self.placements
        ]


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

    Fewest leaf groups in all is bin packing, so no optimum is claimed: jobs are placed largest first, then two at a
    time are taken out and placed again in either order, as long as the total falls and time is left.

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
    alone = [placed_on(cluster, job, objective=objective, budget_s=share, seed=seed) for job in jobs]
    order = sorted(range(len(jobs)), key=lambda i: (-jobs[i].n_hosts(width[i]), i))
    placed: list[PlacementFound | None] = [None] * len(jobs)
    for i in order:
        placed[i] = placed_on(_left(cluster, placed), jobs[i], objective=objective, budget_s=share, seed=seed)
    found = [p for p in placed if p is not None]
    lower = _total(objective, [p.lower_bound for p in alone])
    rng = np.random.default_rng(seed)
    while time.perf_counter() - begin < budget_s and len(jobs) > 1 and _value(objective, found) > lower * (1 + 1e-9):
        better = _exchanged(cluster, jobs, found, objective, share / 4, seed, rng, begin + budget_s)
        if better is None:
            break
        found = better
    value = _value(objective, found)
    gap = 0.0 if value <= lower * (1 + 1e-9) else (value / lower - 1 if lower > 0 else None)
    standing = Standing("exact", "meets the sum of the single bounds") if gap == 0 else Standing(
        "upper bound", "greedy and exchange; the bound adds what each job needs alone")  # fmt: skip
    seconds = time.perf_counter() - begin
    return JobsPlaced(fabric.name, objective, tuple(found), value, lower, gap, standing, seconds)


def _total(objective: str, values: list[float]) -> float:
    return max(values) if objective == "uplink_load" else float(sum(values))


def _value(objective: str, found: Sequence[PlacementFound]) -> float:
    return _total(objective, [p.value for p in found])


def _left(cluster: Cluster, placed: Sequence[PlacementFound | None]) -> Cluster:
    """The cluster without the hosts of what is placed."""
    free = cluster.free.copy()
    for found in placed:
        if found is not None:
            free[cluster.hosts.of_node[found.placement.rows]] = False
    return replace(cluster, free=free)


def _exchanged(
    cluster: Cluster, jobs: Sequence[Job], found: list[PlacementFound], objective: str, budget_s: float, seed: int,
    rng: np.random.Generator, deadline: float,
) -> list[PlacementFound] | None:  # fmt: skip
    """The first pair that is better placed again, or None."""
    pairs = [(i, j) for i in range(len(jobs)) for j in range(len(jobs)) if i != j]
    before = _value(objective, found)
    for index in rng.permutation(len(pairs)).tolist():
        if time.perf_counter() > deadline:
            return None
        i, j = pairs[index]
        trial: list[PlacementFound | None] = list(found)
        trial[i] = trial[j] = None
        try:
            for at in (i, j):
                trial[at] = placed_on(
                    _left(cluster, trial), jobs[at], objective=objective, budget_s=budget_s, seed=seed
                )
        except ParameterError:  # a constraint of the second no longer holds
            continue
        whole = [p for p in trial if p is not None]
        if _value(objective, whole) < before * (1 - 1e-12):
            return whole
    return None
