"""From a wiring to the shortest list of jobs that makes it right, each with what it gives back."""

from __future__ import annotations

import datetime
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import ClassVar

import numpy as np

from topo.errors import ParameterError
from topo.fabric import Fabric
from topo.repair.besides import adapter_jobs, loop_jobs, port_jobs, rename_jobs, replace_jobs
from topo.repair.moves import Bench, Job, apply_jobs, job_of, n_jobs, replaced_after, settled
from topo.repair.order import Act, ordered
from topo.repair.steps import Step, step_texts
from topo.result import Result, Row, Standing, hidden
from topo.view.text import plural
from topo.wiring.accept import Accepted
from topo.wiring.answer import Validation
from topo.wiring.cabling import Cabling
from topo.wiring.comparison import Comparison
from topo.wiring.finding import Finding
from topo.wiring.given import read_sides
from topo.wiring.mistyped import as_called
from topo.wiring.validation import validate

__all__ = ["Left", "Repair", "repair_wiring"]

_COUNTED = ("move", "add", "remove", "replace", "rename")
_WORDS = {
    "move": "ends to move",
    "add": "cables to lay",
    "remove": "cables to remove",
    "replace": "cables to replace",
    "rename": "devices to rename",
}
_FEWEST_ABSENT = 4
_SHARE_ABSENT = 0.1
"""So large a part of the design's devices absent is a fabric not built up yet, and no fault of its cables."""


@dataclass(frozen=True, slots=True)
class Left:
    """What no job here mends: a finding that is there still when all is done."""

    code: str
    place: str
    fix: str


@dataclass(frozen=True)
class Repair(Result):
    """The jobs that make a wiring right, most valuable first, in an order that makes nothing worse on the way.

    ``n_operations`` counts moves, additions, removals, replaced cables and renamed devices; ``least_operations`` is a
    bound on any list that does the same, so the two equal is a proof. ``left`` is what validating the mended wiring
    still finds. ``cut_off_before``, ``cut_off_most`` and ``cut_off_after`` count ends of hosts that do not reach the
    rest: as found, at worst on the way, at the end.
    """

    fabric: str
    against: str
    steps: tuple[Step, ...]
    n_operations: int
    least_operations: int
    how: str
    in_place_before: int
    n_planned: int
    cut_off_before: int
    cut_off_most: int
    cut_off_after: int
    left: tuple[Left, ...]
    first_aid: str
    assumptions: tuple[str, ...]
    jobs: tuple[Job, ...] = hidden(default=())
    acts: tuple[Act, ...] = hidden(default=())
    comparison: Comparison | None = hidden(default=None)
    validation: Validation | None = hidden(default=None)
    devices: tuple[int, int] = hidden(default=(0, 0))

    title: ClassVar[str] = "Repair"
    derived: ClassVar[tuple[str, ...]] = ("counts",)

    @property
    def counts(self) -> dict[str, int]:
        """How many jobs of each kind."""
        hands = {job.hand if job.hand >= 0 else -1 - i: job.kind for i, job in enumerate(self.jobs)}
        kinds = Counter(hands.values())
        return {kind: kinds[kind] for kind in _COUNTED if kinds[kind]}

    @property
    def is_shortest(self) -> bool:
        """Whether no shorter list does the same, proved."""
        return self.n_operations == self.least_operations

    @property
    def n_absent(self) -> int:
        """How many devices fewer than the design has were found with a cable: switches, and hosts as one each."""
        return max(0, self.devices[1] - self.devices[0])

    @property
    def growth_text(self) -> str:
        """What to ask instead where many devices lack, as in a fabric half built; '' elsewhere."""
        if self.n_absent < max(_FEWEST_ABSENT, _SHARE_ABSENT * self.devices[1]):
            return ""
        return (
            f"{self.n_absent:,} of the design's devices are absent; "
            f"'topo plan {self.against} --from {self.fabric}' is the verb for growth"
        )

    @cached_property
    def mended(self) -> Fabric:
        """The wiring with every job done, port by port."""
        assert self.comparison is not None
        return apply_jobs(self.comparison, self.jobs)

    def rows(self) -> list[Row]:
        """How many jobs of each kind, whether fewer would do, what happens on the way, what is left."""
        rows = [Row("half built", self.growth_text)] if self.growth_text else []
        rows.append(Row("against", self.against or "what the majority of its own cables does"))
        if not self.jobs:
            rows.append(Row("jobs", "none: nothing to mend at the cables"))
        standing = Standing("exact" if self.is_shortest else "upper bound", self.how)
        if self.jobs:
            rows.append(Row("jobs", self.n_operations, standing=standing))
            rows += [Row(_WORDS[kind], n) for kind, n in self.counts.items()]
        if self.jobs and not self.is_shortest:
            rows.append(Row("no list is shorter than", self.least_operations))
        if self.jobs:
            rows.append(Row("planned cables in place", f"{self.in_place_before:,} of {self.n_planned:,}, never fewer"))
            said = (
                f"{self.cut_off_before:,} before, {self.cut_off_most:,} at most on the way, {self.cut_off_after:,} then"
            )
            rows.append(Row("ends of hosts cut off", said))
        if self.first_aid:
            rows.append(Row("first aid", self.first_aid))
        rows.append(Row("left when done", _left_text(self.left)))
        return rows


def _left_text(left: Sequence[Left]) -> str:
    codes = Counter(one.code for one in left)
    return ", ".join(f"{n:,} {code}" for code, n in codes.most_common()) or "nothing: validating again finds no fault"


def repair_wiring(
    wiring: Fabric | str | Path,
    against: Fabric | str | Path | Sequence[Fabric | str | Path] | None = None,
    *,
    accept: str | Path | Sequence[Accepted] | None = None,
    today: datetime.date | None = None,
    consequence: bool = True,
) -> Repair:
    """The shortest list of jobs that makes a wiring follow its design, or makes it regular again without one.

    With f the cables found and not planned, q those planned and not found, and m the largest matching between them of
    cables that share an end, it takes ``|f| + |q| - m`` jobs: m ends moved, the rest of f removed, the rest of q laid.
    Without a design the rules of the majority are the plan. The jobs of one fault stand together, the fault that costs
    most first (as :func:`topo.validate` prices it); each waits for the port it needs, a circle is broken by letting
    one cable hang. The mended wiring is validated once more and ``left`` says what it still finds.

    >>> import topo
    >>> design = topo.leaf_spine(leaves=4, spines=4, hosts_per_leaf=8, parallel=2)
    >>> repair = topo.repair_wiring(design.without(links=[40, 47]), design)
    >>> repair.counts, repair.is_shortest, repair.left
    ({'add': 2}, True, ())
    >>> repair.steps[0].text
    'lay leaf-2 port 16 - spine-4 port 4'

    :raises InputError: a file that cannot be used; wiring and design are the same file.
    :raises ParameterError: a side without any cable; a design of another fabric, with what the two have in common.
    """
    parts = [against] if isinstance(against, (Fabric, str, Path)) else list(against or ())
    found, design = read_sides(wiring, parts)
    answer = validate(found, design, accept=accept, today=today, consequence=consequence, bisection=False)
    if answer.comparison is None:
        raise ParameterError(_wrong(answer))
    if design is not None:
        found = as_called(Cabling.of(found), Cabling.of(design))[0].fabric
    comparison, jobs, notes = _jobs(found, design, answer)
    acts, blocked, (before, most, after) = ordered(comparison, jobs, lambda fault: (float(fault),))
    stuck = set(blocked)
    jobs = [job for i, job in enumerate(jobs) if i not in stuck]
    number = {old: new for new, old in enumerate(i for i in range(len(jobs) + len(stuck)) if i not in stuck)}
    acts = [act._replace(job=number[act.job]) for act in acts if act.job in number]
    if stuck:
        notes.append(f"{plural(len(stuck), 'job')} left out: the port is held by a cable that stays, or is accepted")
    again = validate(apply_jobs(comparison, jobs), design, accept=accept, today=today, consequence=False)
    left = tuple(
        Left(one.code, one.place, one.fix) for one in again.findings if one.severity != "note" and not one.accepted
    )
    least, how = _bound(answer, jobs, design is not None)
    aid = answer.consequence.first_aid_text() if answer.consequence is not None else ""
    return Repair(
        answer.fabric, answer.against, tuple(_steps(comparison, jobs, acts, answer.findings)), len(jobs), least, how,
        int((comparison.found & comparison.planned).sum()), int(comparison.planned.sum()), before, most,
        after, left, aid, (*answer.assumptions, *notes), tuple(jobs), tuple(acts), comparison,
        answer, (0, 0) if design is None else (_n_devices(found), _n_devices(design)),
    )  # fmt: skip


def _n_devices(fabric: Fabric) -> int:
    """Switches with a cable, and hosts with one."""
    side = Cabling.of(fabric)
    rows = np.unique(np.concatenate([fabric.link_a[side.links], fabric.link_b[side.links]]))
    hosts, names = fabric.nodes.host.values(), fabric.nodes.name
    return len({str(hosts[row] or names[row]) for row in rows.tolist()})


def _wrong(answer: Validation) -> str:
    wrong = next((one for one in answer.findings if one.code == "wrong-design"), None)
    said = wrong.evidence if wrong is not None else "the two cannot be compared"
    return f"{answer.fabric!r} against {answer.against!r}: {said} A repair needs the design of this fabric"


def _jobs(found: Fabric, design: Fabric | None, answer: Validation) -> tuple[Comparison, list[Job], list[str]]:
    """The jobs of every finding that is not accepted, each cable once."""
    comparison = answer.comparison
    notes: list[str] = []
    assert comparison is not None
    comparison, more = loop_jobs(comparison, answer.findings)
    if design is None:
        comparison, others = port_jobs(comparison, answer.findings)
        more += others
        comparison, others, notes = adapter_jobs(found, comparison, answer.findings)
        more += others
    bench = Bench(comparison)
    used: set[tuple[str, int]] = set()
    jobs: list[Job] = []
    for i, one in enumerate(answer.findings):
        for operation in () if one.accepted else one.operations:
            pairs = (("found", operation.found), ("planned", operation.planned))
            keys = {(side, row) for side, row in pairs if row >= 0}
            if not keys & used:
                used |= keys
                jobs.append(job_of(bench, operation, i))
    for job in more:
        if job.found < 0 or ("found", job.found) not in used:
            used.add(("found", job.found))
            enters = bench.a_free_port(job.entered) if job.entered >= 0 else -1
            jobs.append(job._replace(entered=enters))
    jobs += replace_jobs(comparison, answer.findings, (found, design))
    jobs += rename_jobs(found, design, answer.findings)
    jobs += replaced_after(comparison.both, jobs)
    return comparison, settled(bench, jobs) if design is None else jobs, notes


def _bound(answer: Validation, jobs: Sequence[Job], has_design: bool) -> tuple[int, str]:
    """A bound no list goes below, and what it rests on."""
    n = n_jobs(jobs)
    if not has_design:
        return n, "|f| + |q| - m with the rules of the majority as the plan; the true plan may be another"
    accepted = "; accepted deviations stay" if any(one.accepted and one.operations for one in answer.findings) else ""
    beside = max(0, n - answer.n_operations)  # replaced, renamed, taken out: each is needed
    least = n if accepted else min(n, answer.least_operations + beside)
    if answer.rules and "found by name" in answer.rules[0]:
        said = "|f| + |q| - m, m the largest matching of cables that share an end; names of devices are trusted"
        return least, said + accepted + ("" if least == n else "; legs of one cable might move together otherwise")
    return least, "devices identified by their ports; the bound holds for any way to name them" + accepted


def _steps(comparison: Comparison, jobs: Sequence[Job], acts: Sequence[Act], findings: Sequence[Finding]) -> list[Step]:
    steps = []
    for number, act in enumerate(acts, 1):
        job, one = jobs[act.job], findings[jobs[act.job].fault]
        price = one.price
        cable, leaves, enters, text = step_texts(comparison.both, job, act.kind)
        gives = price.lost_gbps if price is not None else one.lost_gbps
        steps.append(
            Step(number, act.kind, text, cable, leaves, enters, f"{one.code}: {one.place}", gives,
                 price.theta if price is not None else math.nan, act.in_place, act.cut_off)
        )  # fmt: skip
    return steps
