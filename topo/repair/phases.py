"""When what is done: rounds of moves with what can be laid after each, then new devices one by one."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import count, groupby
from typing import NamedTuple

import numpy as np

from topo.errors import ParameterError
from topo.fabric import FORWARDS_ALL
from topo.repair.enlarged import Plan
from topo.repair.order import Act, Board
from topo.repair.rounds import MOST_MEASURED, Capacity, units_of, uplinks_of
from topo.repair.steps import step_texts
from topo.view.text import natural_key, plural

__all__ = ["Phase", "Round", "acted", "phases_of", "scheduled"]

_SLACK = 1e-9


class Round(NamedTuple):
    """One round: what is done, how many cables, what is left of the old capacity meanwhile and afterwards.

    A part that was not measured is nan.
    """

    number: int
    what: str
    n_cables: int
    during: float
    after: float


class Phase(NamedTuple):
    """Jobs done together: ``moves`` are drained, re-plugged or taken away, ``lays`` laid, then all come up.

    ``serves_all`` is false for the cables of a new device, which carry nothing for those that run.
    """

    what: str
    moves: list[int]
    lays: list[int]
    serves_all: bool = True


Done = list[tuple[Act, tuple[int, str]]]
"""Acts in order, each with the number of the phase it is done in and why."""


def scheduled(
    plan: Plan, capacity: Capacity, require: float, first: str = ""
) -> tuple[int, list[tuple[Act, str]], list[Round]]:
    """How many cables of a switch are out at a time, the acts, and what is left in each round.

    As many as leave ``require`` of every switch's uplinks are tried first, then fewer.

    :raises ParameterError: no number keeps what is required; the message has the nearest that works,
        behind what ``first`` says.
    """
    jobs, both = plan.jobs, plan.comparison.both
    stays = both.ports.node[[jobs[i].kept for unit in _units(plan, of_hosts=False) for i in unit]]
    up = uplinks_of(both, plan.comparison.found)[stays]
    most = max(1, math.floor(int(up[up > 0].min(initial=1 << 30)) * (1 - require) + _SLACK)) if (up > 0).any() else 1
    best = -1.0
    worst: Round | None = None
    n_units = len(_units(plan, of_hosts=False))
    tried: set[int] = set()
    for wanted in range(min(most, max(n_units, 1)), 0, -1):
        at_a_time = math.ceil(n_units / math.ceil(n_units / wanted)) if n_units else 0  # rounds of equal size
        if at_a_time in tried:
            continue
        tried.add(at_a_time)
        phases = phases_of(plan, max(at_a_time, 1))
        acts = acted(plan, phases)
        late = {i for phase in phases if not phase.serves_all for i in phase.lays}
        rounds = _measured(plan, capacity, acts, late, best)
        least = least_of(rounds)
        if least >= require - _SLACK:
            return at_a_time, _numbered(acts, rounds), rounds
        if least > best:
            best, worst = least, min(rounds, key=lambda one: least_of([one]))
    assert worst is not None
    raise ParameterError(
        f"{first}{100 * require:.4g} % of the capacity cannot be kept: the gentlest order leaves {100 * best:.4g} %, "
        f"in round {worst.number} ({worst.what}); the nearest that works is require {math.floor(best * 1000) / 1000:g}"
    )


def least_of(rounds: Sequence[Round]) -> float:
    """The least part of the capacity that any round leaves; 1 without rounds."""
    return min((part for one in rounds for part in (one.during, one.after) if not math.isnan(part)), default=1.0)


def _units(plan: Plan, *, of_hosts: bool) -> list[list[int]]:
    """Moves, then removals, in units; those of hosts, which no order spares, or all others."""
    jobs, both = plan.jobs, plan.comparison.both
    units = []
    for kind in ("move", "remove"):
        mine = [i for i, job in enumerate(jobs) if job.kind == kind and _is_of_host(plan, i) == of_hosts]
        units += units_of(both, jobs, mine)
    return units


def _is_of_host(plan: Plan, i: int) -> bool:
    """Whether one end of the job's cable, before or after, is no switch."""
    both, job = plan.comparison.both, plan.jobs[i]
    ends = both.ports.node[[port for port in (job.kept, job.left, job.entered) if port >= 0]]
    return bool((both.nodes.forwards[ends] < FORWARDS_ALL).any())


def phases_of(plan: Plan, at_a_time: int) -> list[Phase]:
    """New cables between switches that have their ports, then rounds and what each makes room for, then new devices."""
    jobs, links = plan.jobs, plan.comparison.both.links
    rows = np.flatnonzero(plan.comparison.found)
    held = np.bincount(
        np.concatenate([links.port_a[rows], links.port_b[rows]]), minlength=len(plan.comparison.both.ports)
    )
    early, late = _new_cables(plan)

    def ready() -> list[int]:
        done = [name for name, mine in early.items() if not held[[port for i in mine for port in jobs[i].enters]].any()]
        return [i for name in done for i in early.pop(name)]

    phases = []
    first = ready()
    if first:
        phases.append(Phase("new cables between switches, before any moves", [], first))
    rounds: list[list[int]] = []
    kind, n = "", 0
    for unit in _units(plan, of_hosts=False):
        if not rounds or n == at_a_time or jobs[unit[0]].kind != kind:
            rounds.append([])
            n = 0
        rounds[-1] += unit
        n, kind = n + 1, jobs[unit[0]].kind
    hosts = [i for unit in _units(plan, of_hosts=True) for i in unit]
    for moves in [*rounds, *([hosts] if hosts else [])]:
        for i in moves:
            held[list(jobs[i].leaves)] -= 1
            held[list(jobs[i].enters)] += 1
        what = (
            _what(plan, moves) if moves is not hosts else f"re-plug {plural(len(hosts), 'cable')} of hosts, one by one"
        )
        phases.append(Phase(what, moves, ready()))
    rest = [i for mine in early.values() for i in mine]
    if rest:
        phases.append(Phase("more cables between switches", [], rest))
    return phases + [Phase(what, [], mine, serves_all=False) for what, mine in late.items()]


def _new_cables(plan: Plan) -> tuple[dict[str, list[int]], dict[str, list[int]]]:
    """New cables that serve all (by switch), and those of one new device, which is enabled once it has them all."""
    both, jobs = plan.comparison.both, plan.jobs
    switch = both.nodes.forwards == FORWARDS_ALL
    tier, names = both.nodes.tier, both.nodes.name
    early: dict[str, list[int]] = defaultdict(list)
    late: dict[str, list[int]] = defaultdict(list)
    for i, job in enumerate(jobs):
        if job.kind == "replace":
            late["faster cables where they are planned"].append(i)
        if job.kind != "add":
            continue
        ends = [int(both.ports.node[port]) for port in (job.kept, job.entered)]
        low = min(ends, key=lambda node: int(tier[node]))
        if not switch[ends].all():
            leaf = ends[0] if switch[ends[0]] else ends[1]
            host = both.nodes.host[low] or str(names[low])
            name = f"new {names[leaf]}" if leaf >= plan.n_old_nodes else f"new {host}"
            late[f"{name}: enable it when all its cables are in"].append(i)
        elif tier[low] <= 1 and low >= plan.n_old_nodes:
            late[f"new {names[low]}: enable it when all its cables are in"].append(i)
        else:
            early[str(names[low])].append(i)
    in_order = sorted(late.items(), key=lambda item: natural_key(item[0]))
    return dict(early), {what: sorted(mine, key=lambda i: _last(plan, i)) for what, mine in in_order}


def _last(plan: Plan, i: int) -> bool:
    """Cables to hosts come after those between switches."""
    return plan.jobs[i].kind == "add" and _is_of_host(plan, i)


def _measured(plan: Plan, capacity: Capacity, acts: Done, late: set[int], floor: float) -> list[Round]:
    """What is left while the acts of each round are done and after; stops at one worse than the floor.

    All cables of a round are out at once; so are those that wait for a port until it is free.
    """
    there = plan.comparison.found.copy()
    rounds: list[Round] = []
    groups = [(because, [act for act, _ in mine]) for (_, because), mine in groupby(acts, key=lambda one: one[1])]
    n = sum(_has_moves(plan, mine) for _, mine in groups)
    watched = set(np.linspace(1, max(n, 1), min(max(n, 1), MOST_MEASURED)).round().astype(int).tolist())
    for because, mine in groups:
        jobs = [(act.kind, act.job, plan.jobs[act.job]) for act in mine]
        there[[job.found for kind, _, job in jobs if kind in ("move", "remove", "unplug")]] = False
        measured = len(rounds) + 1 in watched and not _is_of_host(plan, mine[0].job)
        during = capacity.of(there) if measured and _has_moves(plan, mine) else math.nan
        there[[job.planned for kind, _, job in jobs if kind in ("move", "plug")]] = True
        there[[job.planned for kind, i, job in jobs if kind == "add" and i not in late]] = True
        if not _has_moves(plan, mine):
            continue
        after = capacity.of(there) if measured else math.nan
        n_cables = sum(kind in ("move", "plug", "remove") for kind, _, _ in jobs)
        rounds.append(Round(len(rounds) + 1, because, n_cables, during, after))
        if min(during, after) < floor:
            break
    return rounds


def _has_moves(plan: Plan, acts: Sequence[Act]) -> bool:
    return any(plan.jobs[act.job].kind in ("move", "remove") for act in acts)


def _numbered(acts: Done, rounds: Sequence[Round]) -> list[tuple[Act, str]]:
    """The acts, those of a round saying which it is and what is left meanwhile."""
    told = iter(rounds)
    said: list[tuple[Act, str]] = []
    following = next(told, None)
    for (_, because), group in groupby(acts, key=lambda one: one[1]):
        mine = list(group)
        text = because
        if following is not None and because == following.what and any(act.kind != "add" for act, _ in mine):
            left = "" if math.isnan(following.during) else f"; {100 * following.during:.4g} % of the capacity meanwhile"
            text = f"round {following.number} of {len(rounds)}: {because}{left}"
            following = next(told, None)
        said += [(act, text) for act, _ in mine]
    return said


def _what(plan: Plan, moves: Sequence[int]) -> str:
    both, jobs = plan.comparison.both, [plan.jobs[i] for i in moves]
    times = Counter(both.nodes.name[both.ports.node[[job.left for job in jobs]]].tolist())
    ends = ", ".join(f"{n} at {name}" for name, n in list(times.items())[:4]) + (", ..." if len(times) > 4 else "")
    verb = "drain and re-plug" if jobs[0].kind == "move" else "drain and take away"
    return f"{verb} {plural(len(jobs), 'cable')}, {ends}"


def acted(plan: Plan, phases: Sequence[Phase]) -> Done:
    """Every job as an act on a board of ports, with why; what finds its port taken is done as soon as that is free.

    Cables that wait for each other's ports to the end are unplugged together and then plugged.

    :raises ParameterError: a cable for which no port is free in the end.
    """
    board = Board(plan.comparison, plan.jobs)
    acts: Done = []
    waiting: list[int] = []
    number = count()
    free = "cables whose ports are free by now"
    for phase in phases:
        waiting = _do(plan, board, waiting, (next(number), free), acts)
        waiting += _do(plan, board, [*phase.moves, *phase.lays], (next(number), phase.what), acts)
    while waiting:
        rest = _do(plan, board, waiting, (next(number), free), acts)
        if len(rest) == len(waiting):
            text = step_texts(plan.comparison.both, plan.jobs[rest[0]], plan.jobs[rest[0]].kind)[3]
            raise ParameterError(
                f"{plural(len(rest), 'cable')} find no free port, first: {text}; give that switch more ports, or "
                "another plan"
            )
        waiting = rest
    return acts


def _do(plan: Plan, board: Board, numbers: Sequence[int], because: tuple[int, str], acts: Done) -> list[int]:
    """Do the jobs in turn; moves whose ports are taken are unplugged first and plugged when the others are out."""
    jobs = plan.jobs
    late = [i for i in numbers if jobs[i].kind == "move" and not _is_free(board, plan, i)]
    inside = {port for i in numbers for port in jobs[i].leaves}
    hang = {i for i in late if set(jobs[i].enters) <= inside}
    for i in sorted(hang):
        board.unplug(jobs[i])
        acts.append((Act("unplug", i, board.in_place, -1), because))
    rest = []
    for i in numbers:
        if not _is_free(board, plan, i):
            rest.append(i)
            continue
        if i not in hang:
            board.unplug(jobs[i])
        board.plug(jobs[i])
        acts.append((Act("plug" if i in hang else jobs[i].kind, i, board.in_place, -1), because))
    for i in [i for i in rest if i in hang and _is_free(board, plan, i)]:
        rest.remove(i)
        board.plug(jobs[i])
        acts.append((Act("plug", i, board.in_place, -1), because))
    return rest


def _is_free(board: Board, plan: Plan, i: int) -> bool:
    return all(board.is_free(port) for port in plan.jobs[i].enters)
