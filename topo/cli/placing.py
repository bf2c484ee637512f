"""What ``topo place`` hands to the library: the job, the hosts that are free, and where answers are written."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from topo.errors import InputError, ParameterError

if TYPE_CHECKING:
    from topo.fabric import Fabric, State
    from topo.io.slurm_state import ClusterState
    from topo.placement.compare import SchedulerComparison
    from topo.placement.fold import Hosts
    from topo.placement.job import Job
    from topo.placement.placement import Placement
    from topo.result import Result

__all__ = ["Answer", "Asked", "ask", "not_free", "write_files"]


@dataclass(frozen=True, eq=False)
class Answer:
    """A placement with what is said of it, and the schedulers' choices beside."""

    result: Result
    placement: Placement
    comparison: SchedulerComparison | None


@dataclass(eq=False)
class Asked:
    """The question: a fabric in a state, a job, the hosts that are not free, and how to look."""

    fabric: Fabric
    state: State | None
    objective: str
    rules: tuple[str, ...]
    budget_s: float
    seed: int
    job: Job = field(init=False)
    busy: Any = None
    notes: list[str] = field(default_factory=list)
    hosts: Hosts = field(init=False)

    def __post_init__(self) -> None:
        from topo.placement.compare import RULES
        from topo.placement.fold import hosts_of

        for rule in self.rules:
            if rule not in RULES:
                raise ParameterError(f"--compare names {rule!r}; known: {', '.join(RULES)}")
        self.hosts = hosts_of(self.fabric, state=self.state)

    def take_job(
        self,
        path: str | None,
        n_hosts: int | None,
        pattern: str | None,
        exclude: Sequence[str],
        at_most_leaves: int | None,
    ) -> None:
        """The job of a file, or of so many whole hosts, with constraints added to its own.

        :raises ParameterError: both are given, or neither.
        """
        from topo.placement.fold import name_mask
        from topo.placement.job import Job
        from topo.placement.job_file import read_job
        from topo.placement.placement import rank_width

        if (path is None) == (n_hosts is None):
            raise ParameterError("a job is --job FILE or --hosts N; give one of them")
        if path is not None:
            if pattern is not None:
                raise ParameterError(f"--pattern is for --hosts; say it in {path} (pattern: {pattern})")
            job = read_job(path)
        else:
            width = rank_width(self.hosts, Job(1))
            name = f"{n_hosts:,} {'host' if n_hosts == 1 else 'hosts'}"
            job = Job((n_hosts or 0) * width, pattern=pattern or "all-to-all", name=name)
        own = job.constraints
        name_mask(self.hosts, exclude)  # a pattern that matches nothing is refused by name
        kept = replace(own, exclude=(*own.exclude, *exclude), at_most_leaves=at_most_leaves or own.at_most_leaves)
        self.job = replace(job, constraints=kept)

    def take_busy(self, paths: Sequence[str]) -> None:
        """The hosts that the output of ``sinfo`` or ``squeue`` leaves free."""
        from topo.io.slurm_state import read_cluster_state

        if not paths:
            return
        states = [read_cluster_state(path) for path in paths]
        self.busy, self.notes = not_free(self.hosts, states)


def not_free(hosts: Hosts, states: Sequence[ClusterState]) -> tuple[Any, list[str]]:
    """A mask over the hosts that are not free, and what was noticed.

    Where ``sinfo`` was given a host is free only if it calls it idle. ``squeue`` alone names only hosts that are
    busy, so that there all others are taken for free, and that is told.

    :raises InputError: no host that is named belongs to the fabric.
    """
    import numpy as np

    known = set(hosts.name.tolist())
    named = frozenset[str]().union(*(state.hosts for state in states))
    source = ", ".join(state.source for state in states)
    if named and not named & known:
        raise InputError(
            f"none of its {len(named):,} hosts is a host of {hosts.fabric.name!r}: it names {min(named)!r}, the fabric "
            f"{hosts.name[0]!r}; give the state of this cluster",
            path=source or None,
        )
    sinfo = [state for state in states if not _is_squeue(state)]
    taken = frozenset[str]().union(*(state.busy | state.unavailable for state in states))
    if sinfo:
        free = frozenset[str]().union(*(state.idle for state in sinfo)) - taken
    else:
        free = frozenset(known) - taken
    notes = [str(note) for state in states for note in state.notes]
    lacking = sorted(named - known)
    if lacking:
        notes.append(f"{len(lacking):,} hosts of {source} are not in the fabric, {lacking[0]} the first")
    unnamed = len(known - named)
    if unnamed and sinfo:
        notes.append(f"{unnamed:,} of {len(known):,} hosts are not named in {source}: taken for unavailable")
    if not sinfo:
        notes.append(f"{source} tells running jobs only: hosts without one are taken for free")
    mask = ~np.isin(hosts.name, sorted(free))
    notes.append(f"{int((~mask).sum()):,} of {len(hosts):,} hosts are free")
    return mask, notes


def _is_squeue(state: ClusterState) -> bool:
    """Whether a state came from ``squeue``: hosts of jobs alone, or jobs that all wait."""
    return not state.idle and not state.unavailable and bool(state.jobs or not state.hosts)


def ask(asked: Asked, score: str | None) -> Answer:
    """The placement found, or the one in a file scored, and what the schedulers' rules make of the same state."""
    if score is not None:
        if asked.rules:
            raise ParameterError("--compare goes with a placement that is found; leave --score out")
        return _scored(asked, score)
    from topo.placement.compare import SchedulerChoice, compare_schedulers
    from topo.placement.placing import place

    given: dict[str, Any] = {
        "busy": asked.busy, "objective": asked.objective, "seed": asked.seed, "state": asked.state
    }  # fmt: skip
    found = place(asked.fabric, asked.job, budget_s=asked.budget_s, **given)
    if not asked.rules:
        return Answer(found, found.placement, None)
    # The search is not run twice: the first choice, made in no time, gives way to what was found above.
    others = compare_schedulers(asked.fabric, asked.job, rules=asked.rules, budget_s=0.0, **given)
    name = others.choices[0].rule
    mine = SchedulerChoice(name, found.hosts, found.leaf_counts, found.affinity, found.notes)
    return Answer(found, found.placement, replace(others, choices=(mine, *others.choices[1:])))


def _scored(asked: Asked, path: str) -> Answer:
    from topo.io.text import read_text
    from topo.placement.affinity import placement_affinity
    from topo.placement.placement import read_ranks

    text, source = read_text(path)
    placement = read_ranks(asked.hosts, asked.job, text, path=source)
    result = placement_affinity(asked.fabric, placement, asked.job, busy=asked.busy, state=asked.state)
    return Answer(result, placement, None)


def write_files(asked: Asked, answer: Answer, format: str | None, output: str | None, picture: str | None) -> list[str]:
    """Write what was asked for; the lines that say where it is."""
    from topo.output import write_whole

    said = []
    if picture is not None:
        from topo.placement.drawn import draw_placement

        drawing = draw_placement(asked.fabric, asked.job, answer.placement, busy=asked.busy, state=asked.state)
        write_whole(picture, drawing.svg)
        said.append(f"the picture is in {picture}")
    if format is not None:
        from topo.placement.written import write_placement

        text = write_placement(asked.fabric, answer.placement, format)
        if output in (None, "-"):
            sys.stdout.write(text)
        else:
            write_whole(str(output), text)
            said.append(f"the {format} is in {output}")
    return said
