"""What has to move so that a job fits on few leaf groups: fewest hosts moved, and fewest jobs restarted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from topo.errors import ParameterError
from topo.fabric import Fabric, State
from topo.placement.fold import Hosts, hosts_of, name_mask
from topo.placement.job import Job
from topo.placement.measure import end_tree
from topo.placement.placement import rank_width
from topo.placement.room import parts_of
from topo.progress import solving
from topo.result import Result, Row, Standing
from topo.table import Array

__all__ = ["Moves", "fewest_hosts_moved", "fewest_jobs_restarted", "fewest_moves_unspread", "what_to_move"]


@dataclass(frozen=True)
class Moves(Result):
    """Migrations that let a job in on at most so many leaf groups.

    ``moves`` are (host, free host) pairs, the fewest there can be; ``jobs_restarted`` the jobs they restart.
    ``fewest_jobs`` answers the other question: the fewest jobs that have to restart, with the hosts of theirs moved.
    """

    job: str
    at_most_leaves: int
    leaves: tuple[str, ...]
    hosts_moved: int
    moves: tuple[tuple[str, str], ...]
    jobs_restarted: tuple[str, ...]
    fewest_jobs: tuple[str, ...]
    fewest_jobs_hosts_moved: int
    standing: Standing

    title: ClassVar[str] = "What must move"

    def rows(self) -> list[Row]:
        """Both answers."""
        pairs = ", ".join(f"{a} to {b}" for a, b in self.moves[:12])
        more = f" and {len(self.moves) - 12} more" if len(self.moves) > 12 else ""
        return [
            Row("job", f"{self.job} on at most {self.at_most_leaves} leaf groups: {', '.join(self.leaves)}"),
            Row("fewest hosts moved", self.hosts_moved, standing=self.standing),
            Row("moves", pairs + more or "none"),
            Row("jobs these restart", ", ".join(self.jobs_restarted) or "none"),
            Row("fewest jobs restarted", len(self.fewest_jobs)),
            Row("these jobs", ", ".join(self.fewest_jobs) or "none"),
            Row("hosts moved then", self.fewest_jobs_hosts_moved),
        ]


def fewest_hosts_moved(
    free: ArrayLike, movable: ArrayLike, n: int, most_leaves: int, *, free_in_all: int | None = None
) -> tuple[int, NDArray[np.int64]] | None:
    """Fewest hosts to move so that n fit on so many leaf groups, and those groups; None: no way.

    With M the chosen groups, sum over M of (free + movable) >= n, the answer is
    max(0, n - the most free hosts any such M has). Room outside M always suffices, since
    free in all - free in M >= n - free in M. A table over (groups used, room capped at n) finds the most.
    ``free_in_all`` also counts free hosts that the job itself may not have, but that others may move to.

    >>> fewest_hosts_moved([5, 3, 8, 6], [3, 5, 0, 2], 16, 2)[0]
    2
    """
    f, c = np.asarray(free, np.int64), np.asarray(movable, np.int64)
    if (int(f.sum()) if free_in_all is None else free_in_all) < n:
        return None
    most = min(most_leaves, len(f))
    best = np.full((most + 1, n + 1), -1, np.int64)
    best[0, 0] = 0
    taken = np.zeros((len(f), most + 1, n + 1), bool)
    came = np.zeros((len(f), most + 1, n + 1), np.int32)
    room = np.arange(n + 1)
    for leaf in range(len(f)):
        to = np.minimum(room + int(f[leaf] + c[leaf]), n)
        for used in range(most - 1, -1, -1):
            has = np.flatnonzero(best[used] >= 0)
            for at in has[np.argsort(best[used, has], kind="stable")].tolist():
                value = int(best[used, at]) + int(f[leaf])
                if value > best[used + 1, to[at]]:
                    best[used + 1, to[at]] = value
                    taken[leaf, used + 1, to[at]] = True
                    came[leaf, used + 1, to[at]] = at
    column = best[:, n]
    if column.max() < 0:
        return None
    used, at = int(column.argmax()), n
    chosen = []
    for leaf in range(len(f) - 1, -1, -1):
        if taken[leaf, used, at]:
            chosen.append(leaf)
            used, at = used - 1, int(came[leaf, used, at])
    return max(0, n - int(column.max())), np.array(sorted(chosen), np.int64)


def fewest_jobs_restarted(
    free: ArrayLike, held: ArrayLike, n: int, most_leaves: int, *, free_in_all: int | None = None, limit_s: float = 30.0
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], bool] | None:
    """Fewest jobs to restart, then fewest of their hosts moved: (jobs, moved by job and leaf, groups, proved).

    ``held[j, l]`` is how many hosts job j has on leaf group l. A mixed-integer program solved by HiGHS.

    >>> jobs, moved, groups, proved = fewest_jobs_restarted([5, 3, 8, 6], [[3, 0, 0, 0], [0, 5, 0, 2]], 16, 2)
    >>> jobs.tolist(), int(moved.sum()), groups.tolist(), proved
    ([1], 2, [2, 3], True)
    """
    f, c = np.asarray(free, np.int64), np.asarray(held, np.int64)
    if (int(f.sum()) if free_in_all is None else free_in_all) < n:
        return None
    first = _restarts(f, c, n, most_leaves, None, limit_s)
    if first is None:
        return None
    second = _restarts(f, c, n, most_leaves, int(first[0].sum()), limit_s)
    jobs, moved, used, proved = second if second is not None else first
    return np.flatnonzero(jobs), moved, np.flatnonzero(used), proved and first[3]


def _restarts(
    f: Array, c: Array, n: int, most: int, most_jobs: int | None, limit_s: float
) -> tuple[Array, Array, Array, bool] | None:
    """Variables: group used (L), job restarted (J), hosts of j moved off l (J x L, where it has any)."""
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import coo_array

    n_leaves, n_jobs = len(f), len(c)
    job, leaf = np.nonzero(c)
    k, base = len(job), n_leaves + n_jobs
    weight = c[job, leaf].astype(float)
    cost = np.zeros(base + k)
    cost[n_leaves:base] = 1.0 if most_jobs is None else 0.0
    cost[base:] = 0.0 if most_jobs is None else 1.0
    row = np.arange(k)
    rows = np.concatenate([row, row, k + row, k + row, np.full(n_leaves, 2 * k), np.full(n_leaves + k, 2 * k + 1)])
    columns = np.concatenate(
        [base + row, leaf, base + row, n_leaves + job, np.arange(n_leaves), np.arange(n_leaves), base + row]
    )
    values = np.concatenate([np.ones(k), -weight, np.ones(k), -weight, np.ones(n_leaves), f.astype(float), np.ones(k)])
    low = np.concatenate([np.full(2 * k, -np.inf), [-np.inf, n]])
    high = np.concatenate([np.zeros(2 * k), [most, np.inf]])
    if most_jobs is not None:
        rows = np.concatenate([rows, np.full(n_jobs, 2 * k + 2)])
        columns, values = (
            np.concatenate([columns, n_leaves + np.arange(n_jobs)]),
            np.concatenate([values, np.ones(n_jobs)]),
        )
        low, high = np.append(low, -np.inf), np.append(high, most_jobs)
    matrix = coo_array((values, (rows, columns)), shape=(len(low), base + k)).tocsr()
    upper = np.concatenate([np.ones(base), weight])
    with solving(f"integer program of {k:,} moves, {limit_s:g} s at most"):
        answer = milp(cost, constraints=LinearConstraint(matrix, low, high), integrality=np.ones(base + k, np.int64),
                      bounds=Bounds(0, upper), options={"time_limit": limit_s})  # fmt: skip
    if answer.x is None:
        return None
    x = np.round(answer.x).astype(np.int64)  # the solver returns 0.9999999
    moved = np.zeros_like(c)
    moved[job, leaf] = x[base:]
    return x[n_leaves:base], moved, x[:n_leaves], bool(answer.status == 0)


def fewest_moves_unspread(
    size: ArrayLike, held: ArrayLike, n: int, most_leaves: int, *, limit_s: float = 30.0
) -> tuple[int, float, NDArray[np.int64]] | None:
    """Fewest hosts moved when no other job may span more leaf groups than today: (moves, gap, new hosts by job, leaf).

    Never below :func:`fewest_hosts_moved`. ``size`` is what each leaf group holds (free hosts and those of ``held``).

    >>> fewest_moves_unspread([8, 8, 8, 8], [[3, 0, 0, 0], [0, 5, 0, 2]], 16, 2)[:2]
    (2, 0.0)
    """
    from scipy.optimize import Bounds, LinearConstraint, milp

    room, c = np.asarray(size, np.int64), np.asarray(held, np.int64)
    n_jobs, n_leaves = c.shape
    cells = n_jobs * n_leaves
    y, u, d, x, z = np.split(np.arange(3 * cells + 2 * n_leaves), np.cumsum([cells, cells, cells, n_leaves]))
    matrix, low, high = _unspread_rows(room, c, n, most_leaves, (y, u, d, x, z))
    cost = np.zeros(matrix.shape[1])
    cost[d] = 1.0
    upper = np.full(matrix.shape[1], float(room.max()))
    upper[u], upper[z] = 1.0, 1.0
    with solving(f"integer program of {cells:,} moves, {limit_s:g} s at most"):
        answer = milp(cost, constraints=LinearConstraint(matrix, low, high), integrality=np.ones(len(cost), np.int64),
                      bounds=Bounds(0, upper), options={"time_limit": limit_s})  # fmt: skip
    if answer.x is None:
        return None
    after = np.round(answer.x[y]).astype(np.int64).reshape(c.shape)
    moved = int(np.maximum(after - c, 0).sum())
    bound = float(np.ceil((answer.mip_dual_bound or 0.0) - 1e-6))
    return moved, (moved - bound) / bound if bound > 0 else float(moved > 0), after


def _unspread_rows(
    room: Array, c: Array, n: int, most_leaves: int, variables: tuple[Array, Array, Array, Array, Array]
) -> tuple[Any, list[float], list[float]]:
    """The constraints of :func:`fewest_moves_unspread`, with the least and the most of each.

    Of job j and leaf group l: y hosts then, u whether any, d >= y - c of them moved in; of l alone: x hosts of the new
    job, z whether any.
    """
    from scipy.sparse import coo_array

    n_jobs, n_leaves = c.shape
    cells = n_jobs * n_leaves
    y, u, d, x, z = variables
    parts: list[tuple[Array, Array, Array]] = []
    low: list[float] = []
    high: list[float] = []

    def add(row: Array, column: Array, value: Array, least: Sequence[float], most: Sequence[float]) -> None:
        parts.append((row + len(low), column, value))
        low.extend(least)
        high.extend(most)

    inf, one = float("inf"), np.ones(cells)
    job, leaf = np.repeat(np.arange(n_jobs), n_leaves), np.tile(np.arange(n_leaves), n_jobs)
    cells_twice = np.tile(np.arange(cells), 2)
    total = c.sum(axis=1).astype(float)
    add(job, y, one, total.tolist(), total.tolist())
    add(cells_twice, np.concatenate([y, u]), np.concatenate([one, -room[leaf]]), [-inf] * cells, [0.0] * cells)
    add(job, u, one, [-inf] * n_jobs, (c > 0).sum(axis=1).astype(float).tolist())
    both = np.concatenate([leaf, np.arange(n_leaves)])
    add(both, np.concatenate([y, x]), np.ones(len(both)), [-inf] * n_leaves, room.astype(float).tolist())
    pair = np.tile(np.arange(n_leaves), 2)
    add(pair, np.concatenate([x, z]), np.concatenate([np.ones(n_leaves), -room]), [-inf] * n_leaves, [0.0] * n_leaves)
    add(np.zeros(n_leaves, int), z, np.ones(n_leaves), [-inf], [float(most_leaves)])
    add(np.zeros(n_leaves, int), x, np.ones(n_leaves), [float(n)], [float(n)])
    add(cells_twice, np.concatenate([d, y]), np.concatenate([one, -one]), (-c.ravel()).astype(float).tolist(),
        [inf] * cells)  # fmt: skip
    rows, columns, values = (np.concatenate(column) for column in zip(*parts, strict=True))
    matrix = coo_array((values.astype(float), (rows, columns)), shape=(len(low), len(z) * 2 + 3 * cells)).tocsr()
    return matrix, low, high


def what_to_move(
    fabric: Fabric,
    job: Job,
    jobs: Mapping[str, Sequence[str]],
    *,
    unmovable: Any = None,
    at_most_leaves: int | None = None,
    limit_s: float = 30.0,
    state: State | None = None,
) -> Moves:
    """The fewest migrations that let a job in on at most so many leaf groups, by hosts and by jobs restarted.

    ``jobs`` maps the jobs that may move to their hosts; ``unmovable`` hosts are busy and stay (drained, down). The
    job's constraints hold: ``within`` looks at every part of that level, hosts it excludes still take in what moves.

    >>> import topo
    >>> fabric = topo.leaf_spine(leaves=2, spines=2, hosts_per_leaf=4)
    >>> moves = what_to_move(fabric, Job(4), {"a": ["host-4"]}, unmovable=["host-5"], at_most_leaves=1)
    >>> moves.hosts_moved, moves.moves
    (1, (('host-4', 'host-6'),))

    :raises ParameterError: an unknown host, a host of two jobs, or a job for which there is no room at all.
    """
    hosts = hosts_of(fabric, state=state)
    stays = name_mask(hosts, unmovable)
    owner = _owners(hosts, jobs, stays)
    free = (owner < 0) & ~stays & (hosts.leaf >= 0)
    n = job.n_hosts(rank_width(hosts, job))
    have = int(free.sum())
    if have < n:
        raise ParameterError(
            f"{job.name!r} needs {n:,} hosts, {have:,} are free: {n - have:,} are missing, moves or not"
        )
    most = at_most_leaves or job.constraints.at_most_leaves or hosts.tree.n_leaves
    best = _best_part(hosts, job, free, owner, n, most)
    if isinstance(best, int):
        rules = f" within {job.constraints.within}" if job.constraints.within else ""
        raise ParameterError(
            f"{job.name!r} needs {n:,} hosts; {most} leaf groups{rules} hold at most {best:,} even if every job there "
            "moves"
        )
    moved, groups, leaf = best
    pairs = _pairs(leaf, hosts.leaf, free, owner, groups, moved, job.constraints.hosts_per_leaf)
    restart = _fewest_restarts(hosts, job, free, owner, n, most, limit_s) if moved else None
    names = list(jobs)
    return Moves(
        job=job.name,
        at_most_leaves=most,
        leaves=tuple(hosts.tree.levels[0].name[groups].tolist()),
        hosts_moved=moved,
        moves=tuple((str(hosts.name[a]), str(hosts.name[b])) for a, b in pairs),
        jobs_restarted=tuple(dict.fromkeys(names[int(owner[a])] for a, _ in pairs)),
        fewest_jobs=tuple(names[j] for j in restart[0].tolist()) if restart else (),
        fewest_jobs_hosts_moved=int(restart[1].sum()) if restart else 0,
        standing=Standing("exact", "table over leaf groups"),
    )


def _owners(hosts: Hosts, jobs: Mapping[str, Sequence[str]], stays: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Number of the job on each host; -1 for none."""
    owner = np.full(len(hosts), -1, np.int64)
    for j, (name, members) in enumerate(jobs.items()):
        rows = hosts.numbers(members)
        if (owner[rows] >= 0).any() or stays[rows].any():
            twice = str(hosts.name[rows[(owner[rows] >= 0) | stays[rows]][0]])
            raise ParameterError(f"host {twice!r} of job {name!r} is taken twice; each host has one owner")
        owner[rows] = j
    return owner


def _capped(
    leaf: Array, free: NDArray[np.bool_], owner: Array, n_leaves: int, most_each: int | None
) -> tuple[Array, Array]:
    """Free and movable hosts of each leaf group that the job may have, cut to what it may take of one."""
    usable = leaf >= 0
    f = np.bincount(leaf[usable & free], minlength=n_leaves)
    c = np.bincount(leaf[usable & (owner >= 0)], minlength=n_leaves)
    if most_each is not None:
        f = np.minimum(f, most_each)
        c = np.minimum(c, most_each - f)
    return f, c


def _best_part(
    hosts: Hosts, job: Job, free: NDArray[np.bool_], owner: Array, n: int, most: int
) -> tuple[int, NDArray[np.int64], Array] | int:
    """(hosts moved, leaf groups, leaf of usable hosts) of the part where least moves; else the most any part holds."""
    best: tuple[int, NDArray[np.int64], Array] | None = None
    room = 0
    for part in parts_of(hosts, end_tree(hosts), _at_host_level(job), free | (owner >= 0)):
        f, c = _capped(part.leaf, free, owner, hosts.tree.n_leaves, job.constraints.hosts_per_leaf)
        room = max(room, int(np.sort(f + c)[::-1][:most].sum()))
        found = fewest_hosts_moved(f, c, n, most, free_in_all=int(free.sum()))
        if found is not None and (best is None or found[0] < best[0]):
            best = (*found, part.leaf)
    return room if best is None else best


def _fewest_restarts(
    hosts: Hosts, job: Job, free: NDArray[np.bool_], owner: Array, n: int, most: int, limit_s: float
) -> tuple[Array, Array] | None:
    """(jobs, hosts moved by job and leaf group) of the part where fewest jobs restart."""
    best: tuple[Array, Array] | None = None
    n_leaves, n_jobs = hosts.tree.n_leaves, int(owner.max()) + 1
    for part in parts_of(hosts, end_tree(hosts), _at_host_level(job), free | (owner >= 0)):
        f, _ = _capped(part.leaf, free, owner, n_leaves, job.constraints.hosts_per_leaf)
        mine = (part.leaf >= 0) & (owner >= 0)
        held = np.zeros((n_jobs, n_leaves), np.int64)
        np.add.at(held, (owner[mine], part.leaf[mine]), 1)
        if job.constraints.hosts_per_leaf is not None:
            held = np.minimum(held, job.constraints.hosts_per_leaf - f[None, :])
        found = fewest_jobs_restarted(f, held, n, most, free_in_all=int(free.sum()), limit_s=limit_s)
        if found is None:
            continue
        cost = len(found[0]), int(found[1].sum())
        if best is None or cost < (len(best[0]), int(best[1].sum())):
            best = found[0], found[1]
    return best


def _at_host_level(job: Job) -> Job:
    """The job with the constraints that say which hosts it may have, and where; not how many of what."""
    rules = replace(job.constraints, at_most_leaves=None, hosts_per_leaf=None, same_rail=False)
    return replace(job, constraints=rules)


def _pairs(
    usable: Array, leaf: Array, free: NDArray[np.bool_], owner: Array, groups: Array, moved: int, most_each: int | None
) -> list[tuple[int, int]]:
    """Hosts to move off the groups, those of the fewest jobs first, each to a free host elsewhere."""
    inside = np.flatnonzero(np.isin(usable, groups) & (owner >= 0))
    largest = np.argsort(-np.bincount(owner[inside], minlength=int(owner.max(initial=0)) + 1), kind="stable")
    rank = np.argsort(largest)
    inside = inside[np.argsort(rank[owner[inside]], kind="stable")]
    own = np.flatnonzero(free & np.isin(usable, groups))
    if most_each is not None:  # no more of a leaf group than the job may take there
        own = own[_place_in_group(usable[own]) < most_each]
        left = most_each - np.bincount(usable[own], minlength=int(leaf.max()) + 1)
        inside = inside[_place_in_group(usable[inside]) < left[usable[inside]]]
    elsewhere = free.copy()
    elsewhere[own] = False  # the job has these; any other free host, outside its groups first, takes in what moves
    outside = np.flatnonzero(elsewhere)
    outside = outside[np.argsort(np.isin(leaf[outside], groups), kind="stable")][:moved]
    return list(zip(inside[:moved].tolist(), outside.tolist(), strict=True))


def _place_in_group(group: Array) -> NDArray[np.int64]:
    """How many before each entry bear the same number."""
    order = np.argsort(group, kind="stable")
    _, first, count = np.unique(group[order], return_index=True, return_counts=True)
    out = np.empty(len(group), np.int64)
    out[order] = np.arange(len(group)) - np.repeat(first, count)
    return out
