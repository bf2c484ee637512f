"""An order of jobs in which no planned cable is touched, every port is free when it is needed, and little is cut off.

A job waits for the port it enters; a chain runs from its free end; in a circle one cable is unplugged and hangs while
the others move round. Every job takes a cable that is in nobody's planned place or fills a place that is empty, so the
number of planned cables in place never falls, in any order and with an end in the hand; what the order decides is who
is cut off on the way and what comes back first.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from topo.fabric import FORWARDS_ALL
from topo.repair.joins import Joins
from topo.repair.moves import Job
from topo.table import Array
from topo.wiring.comparison import Comparison

__all__ = ["Act", "Board", "bundles_of", "ordered"]

_KINDS = ("rename", "replace", "add", "move", "remove")
MOST_WATCHED = 600
"""So many acts are watched one by one; of longer lists groups of them are watched."""


class Act(NamedTuple):
    """One thing a hand does: ``unplug`` and let hang, ``plug`` what hangs, or a whole job.

    ``job`` is the row in the list of jobs; ``in_place`` counts planned cables in place afterwards, ``cut_off`` the
    ends of hosts cut off (-1 where nobody looked).
    """

    kind: str
    job: int
    in_place: int
    cut_off: int


class Board:
    """Cables on their ports while jobs are done one after the other; refuses a port that is not free."""

    def __init__(self, comparison: Comparison, jobs: Sequence[Job]) -> None:
        links = comparison.both.links
        self.comparison, self.jobs = comparison, jobs
        self.port_a, self.port_b = links.port_a.astype(np.int64).copy(), links.port_b.astype(np.int64).copy()
        self.there = comparison.found.copy()
        self.in_place = int((comparison.found & comparison.planned).sum())
        self.on: dict[int, set[int]] = defaultdict(set)
        touched = {port for job in jobs for port in (*job.leaves, *job.enters)}
        rows = np.flatnonzero(self.there)
        for ports in (self.port_a, self.port_b):
            mine = rows[np.isin(ports[rows], list(touched))]
            for port, row in zip(ports[mine].tolist(), mine.tolist(), strict=True):
                self.on[port].add(row)

    def is_free(self, port: int) -> bool:
        """Whether nothing is plugged in."""
        return not self.on.get(port)

    def unplug(self, job: Job) -> None:
        """Take the cable out of the ports it leaves."""
        for port in job.leaves:
            self.on[port].discard(job.found)
        if job.leaves:
            self.there[job.found] = False

    def plug(self, job: Job) -> None:
        """Put the cable where it is planned.

        :raises AssertionError: a port is not free; an order that does this is wrong.
        """
        for port in job.enters:
            assert self.is_free(port), f"port {port} is not free"
            self.on[port].add(job.found if job.kind == "move" else job.planned)
        if job.kind == "move":
            ends = self.port_a if self.port_a[job.found] == job.left else self.port_b
            ends[job.found] = job.entered
            self.there[job.found] = True
        elif job.kind == "add":
            self.port_a[job.planned], self.port_b[job.planned] = job.kept, job.entered
            self.there[job.planned] = True
        self.in_place += job.kind in ("move", "add")

    def saved(self) -> tuple[Array, Array, Array]:
        """Ports and presence as they are now, for :class:`Joins`."""
        return self.port_a, self.port_b, self.there


def bundles_of(jobs: Sequence[Job], board: Board) -> list[list[int]]:
    """Jobs that belong together: of one fault, and those that wait for each other's ports."""
    parent = list(range(len(jobs)))

    def root(i: int) -> int:
        while parent[i] != i:
            parent[i] = parent[parent[i]]
            i = parent[i]
        return i

    first: dict[int, int] = {}
    leaver: dict[int, int] = {}
    for i, job in enumerate(jobs):
        parent[root(i)] = root(first.setdefault(job.fault, i))
        for _ in job.leaves:
            leaver[job.found] = i
    for i, job in enumerate(jobs):
        for port in job.enters:
            for cable in board.on.get(port, ()):
                if cable in leaver:
                    parent[root(i)] = root(leaver[cable])
    groups: dict[int, list[int]] = defaultdict(list)
    for i in range(len(jobs)):
        groups[root(i)].append(i)
    return list(groups.values())


def ordered(
    comparison: Comparison, jobs: Sequence[Job], worth: Callable[[int], tuple[float, ...]]
) -> tuple[list[Act], list[int], tuple[int, int, int]]:
    """All jobs as acts, the most valuable fault first; blocked jobs; ends cut off before, at worst on the way, then.

    ``worth`` gives a sorting key of a fault, smallest first. A group of jobs that would cut more ends off than before
    waits until the others are done. A job whose port is held by a cable that no job moves is blocked.
    """
    board = Board(comparison, jobs)
    joins = Joins(comparison)
    groups = sorted(bundles_of(jobs, board), key=lambda group: min(worth(jobs[i].fault) for i in group))
    watch = len(jobs) <= MOST_WATCHED
    before = now = joins.cut_off(*board.saved())
    acts: list[Act] = []
    blocked: list[int] = []
    most = before
    waiting = deque(groups)
    turns = 0
    while waiting:
        group = waiting.popleft()
        trial = _done(board, jobs, group, joins if watch else None)
        after = trial.acts[-1].cut_off if watch and trial.acts else joins.cut_off(*board.saved())
        if after > now and waiting and turns < len(waiting):
            trial.undo()
            waiting.append(group)
            turns += 1
            continue
        turns, now = 0, after
        acts += trial.acts
        blocked += trial.blocked
        most = max([most, *(act.cut_off for act in trial.acts), after])
    return acts, blocked, (before, most, now)


class _Trial:
    """The acts of a group on a board, and the way back."""

    def __init__(self, board: Board, group: Sequence[int]) -> None:
        self.board = board
        self.acts: list[Act] = []
        self.blocked: list[int] = []
        mine = [board.jobs[i] for i in group]
        self._cables = np.array(sorted({row for job in mine for row in (job.found, job.planned) if row >= 0}), np.int64)
        if any(job.kind == "rename" for job in mine):
            self._cables = self._cables[self._cables < len(board.there)]
        self._kept = [part[self._cables].copy() for part in board.saved()]
        ports = {port for job in mine for port in (*job.leaves, *job.enters)}
        self._on = {port: set(board.on.get(port, ())) for port in ports}
        self._in_place = board.in_place

    def undo(self) -> None:
        """The board as it was before."""
        for part, kept in zip(self.board.saved(), self._kept, strict=True):
            part[self._cables] = kept
        self.board.on.update(self._on)
        self.board.in_place = self._in_place


def _done(board: Board, jobs: Sequence[Job], group: Sequence[int], joins: Joins | None) -> _Trial:
    """Do the jobs of a group: adds first, removes last unless waited for; where nothing can be done, break a circle."""
    trial = _Trial(board, group)
    left = sorted(group, key=lambda i: (_KINDS.index(jobs[i].kind), i))
    hanging: list[int] = []

    def act(kind: str, i: int) -> None:
        cut = joins.cut_off(*board.saved()) if joins is not None else -1
        trial.acts.append(Act(kind, i, board.in_place, cut))

    def can(i: int) -> bool:
        return all(board.is_free(port) for port in jobs[i].enters)

    def do(i: int) -> None:
        board.unplug(jobs[i])
        board.plug(jobs[i])
        act(jobs[i].kind, i)
        for other in [other for other in hanging if can(other)]:
            hanging.remove(other)
            board.plug(jobs[other])
            act("plug", other)

    patient = True
    while left:
        wanted = {cable for i in left for port in jobs[i].enters for cable in board.on.get(port, ())}
        rest: list[int] = []
        for i in left:
            waits = patient and jobs[i].kind == "remove" and jobs[i].found not in wanted and len(rest) > 0
            if can(i) and not waits:
                do(i)
            else:
                rest.append(i)
        if len(rest) < len(left) or patient:
            patient, left = len(rest) < len(left), rest
            continue
        parked = _least_missed(board, jobs, [i for i in left if jobs[i].kind == "move"], wanted)
        if parked < 0:
            trial.blocked += left
            break
        board.unplug(jobs[parked])
        hanging.append(parked)
        left.remove(parked)
        act("unplug", parked)
    trial.blocked += hanging
    return trial


def _least_missed(board: Board, jobs: Sequence[Job], moves: Sequence[int], wanted: set[int]) -> int:
    """The cable to park in a circle: one between switches before one of a host, the slowest first; -1 for none."""
    usable = [i for i in moves if jobs[i].found in wanted]
    if not usable:
        return -1
    fabric = board.comparison.both
    inner = fabric.nodes.forwards == FORWARDS_ALL

    def missed(i: int) -> tuple[bool, float, int]:
        a, b = fabric.link_a[jobs[i].found], fabric.link_b[jobs[i].found]
        rate = float(fabric.links.capacity_gbps[jobs[i].found])
        return not (inner[a] and inner[b]), rate if rate == rate else 0.0, i

    return min(usable, key=missed)
