"""From a fabric that runs to a larger one: which cables move, which are new, in rounds that keep it running."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import ClassVar

from topo.errors import ParameterError
from topo.fabric import Fabric
from topo.repair.enlarged import planned_jobs
from topo.repair.moves import Job, apply_jobs
from topo.repair.order import Act
from topo.repair.phases import Round, least_of, scheduled
from topo.repair.rounds import Capacity
from topo.repair.steps import Step, step_texts
from topo.repair.targets import Target
from topo.result import Result, Row, Standing, hidden
from topo.view.text import plural
from topo.wiring.comparison import Comparison

__all__ = ["Growth", "Round", "grow_fabric"]


@dataclass(frozen=True)
class Growth(Result):
    """What it takes to grow one fabric into another: cables that stay, move, are new or go, and the order.

    ``targets`` are the asked wiring and, where the fabric is two tiers of equal pairs, those that move fewer cables
    with what they give up. ``renamed`` holds the old and the new name of devices known by their cables.
    ``least_capacity`` is the least part of the old all-to-all that is left on the way.
    """

    old: str
    new: str
    n_stay: int
    n_moved: int
    n_moved_between: int
    n_new: int
    n_new_between: int
    n_removed: int
    n_replaced: int
    n_new_switches: int
    n_new_endpoints: int
    n_old_cables: int
    n_new_cables: int
    require: float
    least_capacity: float
    capacity_how: str
    at_a_time: int
    rounds: tuple[Round, ...]
    targets: tuple[Target, ...]
    how: str
    renamed: tuple[tuple[str, str], ...]
    assumptions: tuple[str, ...]
    steps: tuple[Step, ...]
    jobs: tuple[Job, ...] = hidden(default=())
    acts: tuple[Act, ...] = hidden(default=())
    comparison: Comparison | None = hidden(default=None)

    title: ClassVar[str] = "Growth"

    @property
    def grown(self) -> Fabric:
        """The old fabric with every job done, port by port."""
        assert self.comparison is not None
        return apply_jobs(self.comparison, self.jobs)

    def rows(self) -> list[Row]:
        """Both totals, the least capacity on the way, cheaper targets."""
        exact = Standing("exact", self.how)
        rows = [
            Row("from", f"{self.old}: {self.n_old_cables:,} cables"),
            Row("to", f"{self.new}: {self.n_new_cables:,} cables"),
            Row("cables that stay", self.n_stay),
            Row("cables that move, one end each", self.n_moved_between, standing=exact),
            Row("new cables", f"{self.n_new:,}: {self.n_new_between:,} between switches, "
                f"{self.n_new - self.n_new_between:,} to hosts"),
            Row("new switches", self.n_new_switches),
            Row("new endpoints", self.n_new_endpoints),
        ]  # fmt: skip
        hosts = self.n_moved - self.n_moved_between
        rows += [Row("cables of hosts that move, one end each", hosts, standing=exact)] if hosts else []
        rows += [Row("cables that go", self.n_removed)] if self.n_removed else []
        rows += [Row("cables to replace by faster ones", self.n_replaced)] if self.n_replaced else []
        if self.rounds:
            said = f"{100 * self.least_capacity:.4g} % of the old capacity, {100 * self.require:.4g} % required"
            rows.append(Row("least on the way", said, standing=Standing("model", self.capacity_how)))
            at_a_time = f", {plural(self.at_a_time, 'cable')} of a switch at a time" if self.at_a_time else ""
            rows.append(Row("rounds", f"{len(self.rounds):,}{at_a_time}"))
        return rows + [_target_row(one, self.targets[0]) for one in self.targets[1:]]


def _target_row(one: Target, asked: Target) -> Row:
    oo, on, no, nn = one.links
    said = (
        f"{one.moves:,} cables move instead of {asked.moves:,} if an old leaf gets {oo} to an old and {on} to a new "
        f"spine, a new leaf {no} and {nn}; that leaves {100 * one.bisection:.4g} % of full bisection, and of an "
        f"all-to-all {100 * one.plain:.4g} % under a plain split, {100 * one.ideal:.4g} % at best"
    )
    return Row("with fewer moves", said)


def grow_fabric(old: Fabric, new: Fabric, *, require: float = 0.5) -> Growth:
    """Which cables move and which are new when ``old`` becomes ``new``, in rounds that keep it running.

    Devices of one name are one. A cable of a pair that the new fabric has too stays; of the others as many as can keep
    an end are moved, the leaf's end staying; what lacks then is new. With L0 leaves and S0 spines at m0 cables a pair
    that become m1, ``L0 S0 max(0, m0 - m1)`` move. Each round takes one cable of every leaf to a spine, as many such
    at a time as leave ``require`` of the old all-to-all; new leaves are wired whole before they are enabled.

    >>> import topo
    >>> old = topo.leaf_spine(leaves=4, spines=2, hosts_per_leaf=8, parallel=4)
    >>> new = topo.leaf_spine(leaves=8, spines=4, hosts_per_leaf=8, parallel=2)
    >>> growth = topo.grow_fabric(old, new, require=0.5)
    >>> growth.n_stay, growth.n_moved, growth.n_new_between, len(growth.rounds), growth.least_capacity
    (48, 16, 32, 1, 0.5)

    :raises ParameterError: ``require`` is no part of 1; ``new`` is another fabric; the capacity cannot be kept, with
        the nearest that can.
    """
    if not 0 <= require <= 1:
        raise ParameterError(f"require is {require:g}; it is the part of the old capacity to keep, from 0 to 1")
    plan = planned_jobs(old, new)
    capacity = Capacity(plan.comparison, old.endpoints)
    at_a_time, acts, rounds = scheduled(plan, capacity, require, _exchanged(old, new))
    steps = []
    for n, (act, because) in enumerate(acts, 1):
        cable, leaves, enters, text = step_texts(plan.comparison.both, plan.jobs[act.job], act.kind)
        steps.append(Step(n, act.kind, text, cable, leaves, enters, because, math.nan, math.nan, act.in_place, -1))
    kinds = Counter(job.kind for job in plan.jobs)
    measured = sum(not math.isnan(one.during) for one in rounds)
    how = capacity.how + (f"; {measured} of {len(rounds)} rounds measured" if measured < len(rounds) else "")
    return Growth(
        old.name, new.name, plan.n_stay, kinds["move"], plan.n_between("move"), kinds["add"], plan.n_between("add"),
        kinds["remove"], kinds["replace"], plan.n_new_switches, plan.n_new_endpoints, plan.n_old, plan.n_new, require,
        least_of(rounds), how, at_a_time, tuple(rounds), tuple(plan.targets), plan.how, plan.renamed, plan.notes,
        tuple(steps), tuple(plan.jobs), tuple(act for act, _ in acts), plan.comparison,
    )  # fmt: skip


def _exchanged(old: Fabric, new: Fabric) -> str:
    """The question whether the two were exchanged, where the new one is the smaller; else ''."""
    n_old, n_new = len(old.endpoints), len(new.endpoints)
    if n_new >= n_old:
        return ""
    return (
        f"{new.name}, which is to be, has {plural(n_new, 'endpoint')} and is smaller than {old.name}, which is there, "
        f"with {n_old:,}; were the two exchanged? Give the larger one as the new and the smaller one as the old "
        "(topo plan LARGER --from SMALLER); if it is to shrink, "
    )
