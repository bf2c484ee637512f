"""What ``topo place`` hands to the library: the job, the hosts that are free, and where answers are written."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from topo.errors import InputError, ParameterError

if TYPE_CHECKING:
    from topo.fabric import Fabric, State
    from topo.io.slurm_state import ClusterState
    from topo.placement.affinity import PlacementAffinity
    from topo.placement.compare import SchedulerComparison
    from topo.placement.fold import Hosts
    from topo.placement.job import Job
    from topo.placement.placement import Placement
    from topo.result import Result

__all__ = ["Answer", "Asked", "ask", "not_free", "rules_of", "write_files"]


@dataclass(frozen=True, eq=False)
class Answer:
    """A placement with what is said of it, and the schedulers' choices beside; none where nothing was placed."""

    result: Result
    placement: Placement | None = None
    comparison: SchedulerComparison | None = None
    affinities: tuple[PlacementAffinity, ...] = ()


@dataclass(eq=False)
class Asked:
    """The question: a fabric in a state, jobs, the hosts that are not free, jobs there already, and how to look."""

    fabric: Fabric
    state: State | None
    objective: str
    rules: tuple[str, ...]
    budget_s: float
    seed: int
    segment: int = 0
    block_sizes: tuple[int, ...] = ()
    jobs: list[Job] = field(default_factory=list)
    busy: Any = None
    running: dict[str, list[str]] = field(default_factory=dict)
    unavailable: frozenset[str] = frozenset()
    others: list[tuple[Job, Placement]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    hosts: Hosts = field(init=False)

    def __post_init__(self) -> None:
        from topo.placement.compare import RULES
        from topo.placement.fold import hosts_of

        for rule in self.rules:
            if rule not in RULES:
                raise ParameterError(f"--compare names {rule!r}; known: {', '.join(RULES)}")
        self.hosts = hosts_of(self.fabric, state=self.state)

    @property
    def job(self) -> Job:
        """The one job, where there is one."""
        return self.jobs[0]

    def take_jobs(
        self,
        paths: Sequence[str],
        n_hosts: int | None,
        pattern: str | None,
        exclude: Sequence[str],
        at_most_leaves: int | None,
        score: str | None = None,
    ) -> None:
        """The jobs of files, or of so many whole hosts, with constraints added to their own.

        With neither the job is the hosts that the file to ``score`` lists.

        :raises ParameterError: both are given, or neither.
        """
        from topo.placement.fold import name_mask
        from topo.placement.job_file import read_job

        if score is not None and not paths and n_hosts is None:
            n_hosts = _n_listed(score)
        if bool(paths) == (n_hosts is not None):
            raise ParameterError("a job is --job FILE ('topo template job' writes one) or --hosts N; give one of them")
        if paths and pattern is not None:
            raise ParameterError(f"--pattern is for --hosts; say it in {paths[0]} (pattern: {pattern})")
        if paths:
            jobs = [read_job(path) for path in paths]
        else:
            jobs = [self._whole_hosts(n_hosts or 0, pattern or "all-to-all")]
        name_mask(self.hosts, exclude)  # a pattern that matches nothing is refused by name
        for job in jobs:
            own = job.constraints
            kept = replace(own, exclude=(*own.exclude, *exclude), at_most_leaves=at_most_leaves or own.at_most_leaves)
            self.jobs.append(replace(job, constraints=kept))

    def _whole_hosts(self, n_hosts: int, pattern: str) -> Job:
        """A job of so many hosts; of the size that most have, where they differ."""
        import numpy as np

        from topo.placement.job import Constraints, Job

        size = self.hosts.size[self.hosts.leaf >= 0]
        sizes, counts = np.unique(size, return_counts=True)
        width = int(sizes[counts.argmax()]) if len(sizes) else 1
        other = self.hosts.name[(self.hosts.leaf >= 0) & (self.hosts.size != width)]
        if len(other):
            self.notes.append(
                f"{len(other):,} hosts with other than {width} endpoints are left out, {other[0]} the first"
            )
        rules = Constraints(exclude=tuple(other.tolist()))
        name = f"{n_hosts:,} {'host' if n_hosts == 1 else 'hosts'}"
        return Job(n_hosts * width, pattern=pattern, name=name, ranks_per_host=width, constraints=rules)

    def take_busy(self, paths: Sequence[str]) -> None:
        """The hosts that the output of ``sinfo`` or ``squeue`` leaves free."""
        from topo.io.slurm_state import read_cluster_state

        if not paths:
            return
        states = [read_cluster_state(path) for path in paths]
        self.busy, notes = not_free(self.hosts, states)
        self.notes += notes
        self.unavailable = frozenset[str]().union(*(state.unavailable for state in states))
        for state in states:
            for name, members in state.jobs.items():
                self.running.setdefault(name, []).extend(sorted(members))

    def take_others(self, given: Sequence[str]) -> None:
        """Jobs that are there already, from ``JOB=HOSTS`` words.

        :raises ParameterError: a word that is no such pair, or a host of two jobs.
        """
        from topo.placement.job_file import read_job

        taken: dict[int, str] = {}
        for word in given:
            path, equals, hosts = word.partition("=")
            if not (path and equals and hosts):
                raise ParameterError(
                    f"--beside {word!r} is not JOB=HOSTS, a job file and its host file: other.yaml=other-hosts.txt"
                )
            job = read_job(path)
            placement = _placement_in(self, job, hosts)
            for host in placement.hosts(self.hosts).tolist():
                if host in taken:
                    name = str(self.hosts.name[host])
                    raise ParameterError(f"--beside puts {taken[host]!r} and {job.name!r} on one host, {name!r}")
                taken[host] = job.name
            self.others.append((job, placement))


def rules_of(given: Sequence[str] | None) -> tuple[str, ...]:
    """The schedulers' rules that ``--compare`` names, several in one word or in several."""
    return tuple(name.strip() for words in given or () for name in words.split(",") if name.strip())


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


def ask(asked: Asked, score: str | None, *, move: bool = False) -> Answer:
    """The placement found, or the one in a file scored, and what the schedulers' rules make of the same state.

    Several jobs are placed together; with ``move`` the answer is what must move first.
    """
    if score is not None:
        if asked.rules:
            raise ParameterError("--compare goes with a placement that is found; leave --score out")
        return _scored(asked, score)
    if move:
        return _moves(asked)
    from topo.placement.compare import SchedulerChoice, compare_schedulers
    from topo.placement.placing import place
    from topo.placement.several import place_jobs

    given: dict[str, Any] = {
        "busy": asked.busy, "objective": asked.objective, "seed": asked.seed, "state": asked.state
    }  # fmt: skip
    if len(asked.jobs) > 1:
        several = place_jobs(asked.fabric, asked.jobs, budget_s=asked.budget_s, **given)
        return Answer(several, affinities=tuple(found.affinity for found in several.placements))
    given["others"] = asked.others
    found = place(asked.fabric, asked.job, budget_s=asked.budget_s, **given)
    if not asked.rules:
        return Answer(found, found.placement, affinities=(found.affinity,))
    # The search is not run twice: the first choice, made in no time, gives way to what was found above.
    sizes = asked.block_sizes or None
    others = compare_schedulers(
        asked.fabric, asked.job, rules=asked.rules, budget_s=0.0, segment=asked.segment, block_sizes=sizes, **given
    )
    name = others.choices[0].rule
    mine = SchedulerChoice(name, found.hosts, found.leaf_counts, found.affinity, found.notes)
    return Answer(found, found.placement, replace(others, choices=(mine, *others.choices[1:])), (found.affinity,))


def _scored(asked: Asked, path: str) -> Answer:
    from topo.placement.affinity import placement_affinity

    placement = _placement_in(asked, asked.job, path)
    result = placement_affinity(
        asked.fabric, placement, asked.job, busy=asked.busy, others=asked.others, state=asked.state
    )
    return Answer(result, placement, affinities=(result,))


def _n_listed(path: str) -> int:
    """How many hosts a host file or rank file lists."""
    from topo.io.text import read_text
    from topo.placement.placement import listed_hosts

    text, source = read_text(path)
    found = len({name for _, _, name in listed_hosts(text, path=source)})
    if not found:
        raise InputError("no host in it; list one a line, as topo place --write hostfile does", path=source)
    return found


def _placement_in(asked: Asked, job: Job, path: str) -> Placement:
    from topo.io.text import read_text
    from topo.placement.placement import read_ranks

    text, source = read_text(path)
    return read_ranks(asked.hosts, job, text, path=source)


def _moves(asked: Asked) -> Answer:
    """What must move: hosts of one running job each may, other hosts that are not free stay."""
    import numpy as np

    from topo.placement.moves import what_to_move

    if asked.job.constraints.at_most_leaves is None:
        raise ParameterError("--move asks how the job fits on few leaf groups; say how many: --at-most-leaves N")
    known = set(asked.hosts.name.tolist())
    jobs = {name: [host for host in members if host in known] for name, members in asked.running.items()}
    for job, placement in asked.others:
        name = job.name if job.name not in jobs else f"{job.name} (beside)"
        jobs[name] = [str(host) for host in asked.hosts.name[placement.hosts(asked.hosts)].tolist()]
    if not any(jobs.values()):
        raise ParameterError("no job is known that could move; give the output of squeue with --busy, or --beside")
    times = Counter(host for members in jobs.values() for host in members)
    twice = {host for host, count in times.items() if count > 1}
    if twice:
        asked.notes.append(f"{len(twice):,} hosts run more than one job, {min(twice)} the first: they stay")
    stay = twice | asked.unavailable  # a host that drains is of no use once its job has left
    jobs = {name: [host for host in members if host not in stay] for name, members in jobs.items()}
    busy = np.zeros(len(asked.hosts), bool) if asked.busy is None else np.asarray(asked.busy, bool)
    movable = np.isin(asked.hosts.name, sorted({host for members in jobs.values() for host in members}))
    result = what_to_move(
        asked.fabric, asked.job, jobs, unmovable=busy & ~movable,
        at_most_leaves=asked.job.constraints.at_most_leaves, state=asked.state,
    )  # fmt: skip
    return Answer(result)


def write_files(asked: Asked, answer: Answer, format: str | None, output: str | None, picture: str | None) -> list[str]:
    """Write what was asked for; the lines that say where it is."""
    from topo.output import write_whole

    said: list[str] = []
    if answer.placement is None:
        return said
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
