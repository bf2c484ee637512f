"""Cables that split into legs: a plug that several legs share moves as one, and a cable is laid or removed whole.

Found and planned cables are matched whole. From cable g to cable h it takes one job for a shared plug that sits
elsewhere and one for each plug of a leg that does; removing g and laying h takes two, so that no pair further apart is
matched. Where a side does not say what is one cable the rest is compared leg by leg.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from itertools import count

import numpy as np
from numpy.typing import NDArray

from topo.fabric import Fabric
from topo.io.infer_tiers import components
from topo.table import Array
from topo.wiring.difference import Difference, Moves, Walk, difference

__all__ = ["Splits", "least_jobs", "split_difference", "splits_of"]

_LEG = re.compile(r"(?P<plug>.*\d)(?:[/:.]|s)(?P<leg>\d+)\Z")
_MOST_LEGS = 8
_Legs = dict[int, tuple[int, int, int]]
_WHOLE = 2
"""Jobs that removing one cable and laying another takes."""


@dataclass(frozen=True, eq=False)
class Splits:
    """Which rows of either side are legs of one cable (-1: of none), the plug of every port, its number on the plug.

    ``head`` is the column of the plug that all legs of a cable share; ``says`` whether found and planned name cables.
    """

    cable_f: NDArray[np.int64]
    cable_p: NDArray[np.int64]
    head_f: NDArray[np.int64]
    head_p: NDArray[np.int64]
    plug: NDArray[np.int64]
    number: NDArray[np.int64]
    parent: NDArray[np.int64]
    says: tuple[bool, bool]


def splits_of(fabric: Fabric, ends_f: Array, ends_p: Array, cable_f: Array, cable_p: Array) -> Splits | None:
    """The legs of cables on both sides, rows of ports of one fabric; None where neither side tells of any.

    A side that does not say what is one cable, as discoveries do not, takes the plugs of the other: links on its ports
    are legs of one cable.
    """
    parent, leg = _plugs_by_label(fabric)
    sides = [
        (ends.astype(np.int64), _several(cable)) for ends, cable in ((ends_f, cable_f), (ends_p, cable_p))
    ]  # fmt: skip
    if all((cable < 0).all() for _, cable in sides):
        return None
    plug = np.arange(len(fabric.ports))
    for ends, cable in sides:
        for column in (0, 1):
            _join_plugs(plug, ends[:, column], cable, fabric, parent)
    sharing = np.bincount(plug, minlength=len(plug))[plug] > 1
    said = []
    for ends, cable in sides:
        if (cable < 0).all():
            cable = _by_plug(ends, plug, sharing)
        said.append(_with_head(ends, cable, plug))
    number = np.where(_told_apart(plug, leg), leg, _place(plug))
    (first, head_f), (second, head_p) = said
    says = tuple(bool((cable >= 0).any()) for _, cable in sides)
    return Splits(first, second, head_f, head_p, plug, number, parent, (says[0], says[1]))


def _plugs_by_label(fabric: Fabric) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """(node, label without leg) of each port as a number, its own where it is no leg; the number of the leg or -1."""
    labels = fabric.ports.label.labels.tolist()
    found = [_LEG.match(label) for label in labels]
    stems = {stem: i for i, stem in enumerate(dict.fromkeys(match["plug"] for match in found if match))}
    stem = np.array([stems[match["plug"]] if match else -1 for match in found] + [-1], np.int64)
    leg = np.array([int(match["leg"][:6]) if match else -1 for match in found] + [-1], np.int64)
    codes = fabric.ports.label.codes
    key = fabric.ports.node.astype(np.int64) * (len(stems) + 1) + stem[codes]
    _, group = np.unique(key, return_inverse=True)
    most = np.zeros(int(group.max(initial=-1)) + 1, np.int64)
    np.maximum.at(most, group, leg[codes])
    is_leg = (stem[codes] >= 0) & (most[group] <= _MOST_LEGS)  # more are the ports of a slot
    _, parent = np.unique(np.where(is_leg, key, -1 - np.arange(len(key))), return_inverse=True)
    return parent, np.where(is_leg, leg[codes], -1)


def _several(cable: Array) -> NDArray[np.int64]:
    """Numbers of cables that have two rows at least; -1 for the others."""
    cable = cable.astype(np.int64)
    times = np.bincount(cable[cable >= 0], minlength=int(cable.max(initial=-1)) + 1)
    return np.where((cable >= 0) & (np.append(times, 0)[cable] > 1), cable, -1)


def _constant(key: Array, cable: Array) -> NDArray[np.bool_]:
    """Of which cables (by number) all rows have one key."""
    rows = np.flatnonzero(cable >= 0)
    n = int(cable.max(initial=-1)) + 1
    low, high = np.full(n, np.iinfo(np.int64).max), np.full(n, -1)
    np.minimum.at(low, cable[rows], key[rows])
    np.maximum.at(high, cable[rows], key[rows])
    same: NDArray[np.bool_] = low == high
    return same


def _join_plugs(plug: NDArray[np.int64], port: Array, cable: Array, fabric: Fabric, parent: Array) -> None:
    """Ports of one cable's rows are one plug where they are legs of one port, or ports of one cage."""
    cage = fabric.ports.cage[port].astype(np.int64)
    shared = _constant(parent[port], cable) | (_constant(cage, cable) & _constant(np.where(cage < 0, port, 0), cable))
    rows = np.flatnonzero(cable >= 0)
    rows = rows[shared[cable[rows]]]
    least = np.full(int(cable.max(initial=-1)) + 1, len(plug))
    np.minimum.at(least, cable[rows], plug[port[rows]])
    np.minimum.at(plug, port[rows], least[cable[rows]])


def _by_plug(ends: Array, plug: Array, sharing: Array) -> NDArray[np.int64]:
    """Rows on ports of one plug are one cable, where no side says so itself."""
    cable = np.full(len(ends), -1)
    for column in (1, 0):
        mine = sharing[ends[:, column]]
        cable[mine] = plug[ends[mine, column]]
    return _several(cable)


def _with_head(ends: Array, cable: Array, plug: Array) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The cables whose legs share a plug, and the column of it."""
    if not (cable >= 0).any():
        return cable, np.zeros(len(ends), np.int64)
    same = [_constant(plug[ends[:, column]], cable) for column in (0, 1)]
    known = np.append(same[0] | same[1], False)
    kept = np.where(known[cable], cable, -1)
    return kept, np.where(np.append(same[0], True)[cable], 0, 1)


def _told_apart(plug: Array, leg: Array) -> NDArray[np.bool_]:
    """Ports on plugs whose ports all have a number of their own."""
    order = np.lexsort((leg, plug))
    same = (np.diff(plug[order]) == 0) & (np.diff(leg[order]) == 0)
    bad = np.zeros(len(plug), bool)
    bad[plug[order[1:]][same]] = True
    bad[plug[leg < 0]] = True
    return ~bad[plug]


def _place(plug: Array) -> NDArray[np.int64]:
    """Place of each port among those of its plug."""
    order = np.argsort(plug, kind="stable")
    place = np.empty(len(plug), np.int64)
    place[order] = np.arange(len(plug)) - np.searchsorted(plug[order], plug[order])
    return place


@dataclass(eq=False)
class _Jobs:
    """Moves, removes and adds as they are decided, each with the number of its job."""

    moves: list[tuple[int, int, int, int, int]]
    removes: list[tuple[int, int]]
    adds: list[tuple[int, int]]


class _Ends:
    """The legs of the cables of one side: row, shared port and own port of each number."""

    def __init__(self, ends: Array, cable: Array, head: Array, splits: Splits) -> None:
        self.legs: dict[int, _Legs] = defaultdict(dict)
        for row in np.flatnonzero(cable >= 0).tolist():
            top, own = int(ends[row, head[row]]), int(ends[row, 1 - head[row]])
            self.legs[int(cable[row])][int(splits.number[top])] = row, top, own


def split_difference(found: Array, planned: Array, splits: Splits, walk: Walk | None = None) -> Difference:
    """As :func:`topo.wiring.difference.difference`, jobs counted by plugs and whole cables."""
    whole = difference(found, planned, walk)
    f, q = (np.concatenate(parts) for parts in ((whole.moves.found, whole.removes), (whole.moves.planned, whole.adds)))
    open_f, open_q = np.zeros(len(found), bool), np.zeros(len(planned), bool)
    open_f[f], open_q[q] = True, True
    jobs, number = _Jobs([], [], []), count()
    left = _Ends(found, np.where(_of_open(splits.cable_f, open_f), splits.cable_f, -1), splits.head_f, splits)
    right = _Ends(planned, np.where(_of_open(splits.cable_p, open_q), splits.cable_p, -1), splits.head_p, splits)
    excess = 0
    for g, h in _matched(left, right, splits):
        excess += max(0, _cost(left.legs[g], right.legs[h], splits)[1] - _WHOLE)
        _say_pair(left.legs[g], right.legs[h], splits, jobs, number, (open_f, open_q))
    _say_rest(found, planned, splits, walk, jobs, number, (open_f, open_q))
    return _as_difference(jobs, whole.common, excess)


def least_jobs(best: Difference, splits: Splits, found: Array, planned: Array) -> int:
    """Jobs that no list goes below: all of them, but for cables that are mended where replacing them takes fewer.

    Where only one side says what is one cable: a job at least for every cable of that side that differs; and for every
    cable that appears or goes whose plugs no other shares, as one job moves or lays what hangs on one plug.
    """
    if all(splits.says):
        return len(best) - best.excess
    rows_f = np.concatenate([best.moves.found, best.removes])
    rows_p = np.concatenate([best.moves.planned, best.adds])
    rows, cable = (rows_f, splits.cable_f) if splits.says[0] else (rows_p, splits.cable_p)
    own = cable[rows]
    said = len(np.unique(own[own >= 0])) + len(np.unique(rows[own < 0]))
    part = components(len(splits.plug), *_tied(splits))
    apart = (_n_apart(part[ends[open_rows]]) for ends, open_rows in ((found, rows_f), (planned, rows_p)))
    return max(said, *apart)


def _tied(splits: Splits) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Pairs of ports that may move as one: those of one plug, and of one label without its leg."""
    n = len(splits.plug)
    _, first = np.unique(splits.parent, return_index=True)
    return np.tile(np.arange(n), 2), np.concatenate([splits.plug, first[splits.parent]])


def _n_apart(ends: Array) -> int:
    """Rows of which no two share an end, picked one after the other: no job makes, or takes away, two of them."""
    seen: set[int] = set()
    n = 0
    for a, b in ends.tolist():
        if a not in seen and b not in seen:
            seen |= {a, b}
            n += 1
    return n


def _of_open(cable: Array, is_open: Array) -> NDArray[np.bool_]:
    """Rows of cables of which a row is open."""
    return np.isin(cable, np.unique(cable[is_open & (cable >= 0)])) & (cable >= 0)


def _matched(left: _Ends, right: _Ends, splits: Splits) -> list[tuple[int, int]]:
    """Found and planned cables that belong together: those with a leg in place first, then fewest jobs."""
    at_plug, at_port = defaultdict(set), defaultdict(set)
    for h, legs in right.legs.items():
        for _, top, own in legs.values():
            at_plug[int(splits.plug[top])].add(h)
            at_port[own].add(h)
    costs: dict[tuple[int, int], tuple[int, int]] = {}
    for g, legs in left.legs.items():
        near = set()
        for _, top, own in legs.values():
            near |= at_plug[int(splits.plug[top])] | at_port[own]
        for h in near:
            costs[g, h] = _cost(legs, right.legs[h], splits)
    pairs, used_g, used_h = [], set(), set()
    for (g, h), (in_place, _) in sorted(costs.items(), key=lambda item: (-item[1][0], item[1][1], item[0])):
        if in_place and g not in used_g and h not in used_h:
            pairs.append((g, h))
            used_g.add(g)
            used_h.add(h)
    rest = {
        pair: jobs
        for pair, (_, jobs) in costs.items()
        if pair[0] not in used_g and pair[1] not in used_h and jobs <= _WHOLE
    }
    return pairs + _cheapest(rest)


def _cost(found: _Legs, planned: _Legs, splits: Splits) -> tuple[int, int]:
    """Legs that are in place, and jobs that make one cable the other."""
    shared = found.keys() & planned.keys()
    in_place = sum(found[i][1:] == planned[i][1:] for i in shared)
    own = {
        (int(splits.plug[found[i][2]]), int(splits.plug[planned[i][2]])) for i in shared if found[i][2] != planned[i][2]
    }
    tops = any(found[i][1] != planned[i][1] for i in shared)
    return in_place, tops + len(own) + len(found.keys() ^ planned.keys())


def _cheapest(costs: dict[tuple[int, int], int]) -> list[tuple[int, int]]:
    """Pairs of cables with fewest jobs in all."""
    if not costs:
        return []
    from scipy.optimize import linear_sum_assignment

    rows = {g: i for i, g in enumerate(dict.fromkeys(g for g, _ in costs))}
    columns = {h: i for i, h in enumerate(dict.fromkeys(h for _, h in costs))}
    table = np.full((len(rows), len(columns)), _WHOLE + 1e-6)  # a cable is kept rather than replaced
    for (g, h), jobs in costs.items():
        table[rows[g], columns[h]] = jobs
    at, to = linear_sum_assignment(table)
    names_g, names_h = list(rows), list(columns)
    chosen = ((names_g[i], names_h[j]) for i, j in zip(at.tolist(), to.tolist(), strict=True))
    return [pair for pair in chosen if pair in costs]


def _say_pair(
    found: _Legs,
    planned: _Legs,
    splits: Splits,
    jobs: _Jobs,
    number: count[int],
    is_open: tuple[NDArray[np.bool_], NDArray[np.bool_]],
) -> None:
    """The jobs that make one cable the other; its rows are open no more."""
    of_plug: dict[object, int] = {}

    def job(key: object) -> int:
        if key not in of_plug:
            of_plug[key] = next(number)
        return of_plug[key]

    for leg in sorted(found.keys() | planned.keys()):
        row, top, own = found.get(leg, (-1, -1, -1))
        wanted, wanted_top, wanted_own = planned.get(leg, (-1, -1, -1))
        for flags, one in zip(is_open, (row, wanted), strict=True):
            if one >= 0:
                flags[one] = False
        if row >= 0 and wanted >= 0 and (top, own) == (wanted_top, wanted_own):
            continue
        if wanted < 0:
            jobs.removes.append((row, next(number)))
        elif row < 0:
            jobs.adds.append((wanted, next(number)))
        elif top == wanted_top:
            key = int(splits.plug[own]), int(splits.plug[wanted_own])
            jobs.moves.append((row, wanted, own, wanted_own, job(key)))
        elif own == wanted_own:
            jobs.moves.append((row, wanted, top, wanted_top, job("shared plug")))
        else:  # both its plugs move
            key = int(splits.plug[own]), int(splits.plug[wanted_own])
            jobs.removes.append((row, job("shared plug")))
            jobs.adds.append((wanted, job(key)))


def _say_rest(
    found: Array,
    planned: Array,
    splits: Splits,
    walk: Walk | None,
    jobs: _Jobs,
    number: count[int],
    is_open: tuple[NDArray[np.bool_], NDArray[np.bool_]],
) -> None:
    """What no matched cable explains: leg by leg where a side does not say what is one cable, else whole cables.

    Moves from ports of one plug to ports of one plug are one job.
    """
    of_key: dict[object, int] = {}

    def job(*key: object) -> int:
        if key not in of_key:
            of_key[key] = next(number)
        return of_key[key]

    for plain in ((True, False), (False, True), (True, True)):
        f, q = (
            np.flatnonzero(flags & (cable < 0) if only else flags)
            for flags, cable, only in zip(is_open, (splits.cable_f, splits.cable_p), plain, strict=True)
        )
        moves = difference(found[f], planned[q], walk).moves
        for row, wanted, port, entered in zip(
            f[moves.found].tolist(), q[moves.planned].tolist(), moves.left.tolist(), moves.entered.tolist(), strict=True
        ):
            is_open[0][row] = is_open[1][wanted] = False
            of_one = splits.cable_f[row] >= 0 or splits.cable_p[wanted] >= 0
            key = (int(splits.parent[port]), int(splits.parent[entered])) if of_one else (row, wanted, -1)
            jobs.moves.append((row, wanted, port, entered, job(*key)))
    f, q = (np.flatnonzero(flags) for flags in is_open)
    for kind, rows, cable, said in (("remove", f, splits.cable_f, jobs.removes), ("add", q, splits.cable_p, jobs.adds)):
        for row in rows.tolist():
            one = int(cable[row])
            said.append((row, job(kind, one) if one >= 0 else next(number)))


def _as_difference(jobs: _Jobs, common: tuple[NDArray[np.int64], NDArray[np.int64]], excess: int) -> Difference:
    jobs.moves.sort()
    jobs.removes.sort()
    jobs.adds.sort()
    table = np.array(jobs.moves, np.int64).reshape(-1, 5)
    removes, adds = (np.array(rows, np.int64).reshape(-1, 2) for rows in (jobs.removes, jobs.adds))
    moves = Moves(table[:, 0], table[:, 1], table[:, 2], table[:, 3])
    return Difference(moves, removes[:, 0], adds[:, 0], common, (table[:, 4], removes[:, 1], adds[:, 1]), excess)
