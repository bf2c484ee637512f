"""Which found box is which planned one where neither names nor ports agree: by what they are joined to alone.

Every switch is described by its degree, its endpoints, the ranks of the adapters on it, and averages of these over its
neighbours, three steps far. While planned switches look alike and are not twins (joined to the same boxes), one of them
is pinned to the found switch that is nearest, and the walk from the pinned one becomes a column more. Then switches are
assigned to least distance, hosts by the switches they hang on, and both again by votes: how many cables would agree.
The result is a heuristic: its number of operations is an upper bound.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from topo.table import Array
from topo.wiring.difference import difference
from topo.wiring.structure import Boxes

__all__ = ["Resemblance", "paired", "resembling_image"]

_STEPS = 3
_WALK = 4
_MOST_ANCHORS = 400
_MOST_SWITCHES = 3000
_MOST_HOSTS_LEFT = 1500
_RESTARTS = 24
_FEWEST_STARTS = 3
_ENOUGH = 0.97
_ROUNDS = 12
_DIGITS = 9


@dataclass(frozen=True, eq=False)
class Resemblance:
    """Planned box of every found switch and host (-1: none), and the share of the smaller side's cables it explains."""

    of: NDArray[np.int64]
    share: float


class _Side:
    """One side as a graph of switches and hosts; lone adapters are a number on their switch."""

    def __init__(self, boxes: Boxes, ranks: Array) -> None:
        from scipy.sparse import csr_array, diags_array

        self.boxes, self.n = boxes, boxes.n
        u, w, r = boxes.u, boxes.w, boxes.r
        lone = boxes.kind == 2
        inner = ~lone[u] & ~lone[w]
        self.joined = csr_array((np.ones(int(inner.sum())), (u[inner], w[inner])), shape=(boxes.n, boxes.n))
        degree = np.bincount(u, minlength=boxes.n).astype(float)
        own = np.asarray(self.joined.sum(axis=1)).ravel()
        self.step = csr_array(diags_array(1 / np.maximum(own, 1)) @ self.joined)
        self.lone = np.bincount(u[~lone[u] & lone[w]], minlength=boxes.n)
        held = [np.bincount(u[(boxes.kind[w] == 1) & (r == rank)], minlength=boxes.n) for rank in ranks.tolist()]
        self.first = np.stack([boxes.kind == 0, boxes.kind == 1, degree, self.lone, *held], axis=1).astype(float)
        self.switches = np.flatnonzero(boxes.kind == 0)
        self.hosts = np.flatnonzero(boxes.kind == 1)

    def described(self, scale: Array) -> NDArray[np.float64]:
        """What each box is and what its neighbours are on average."""
        columns = [self.first / scale]
        for _ in range(_STEPS):
            columns.append(np.asarray(self.step @ columns[-1]))
        return np.concatenate(columns, axis=1)

    def walk(self, box: int) -> NDArray[np.float64]:
        """How near each box is to one, in averaging steps."""
        column = np.zeros(self.n)
        column[box] = 1
        columns = [column]
        for _ in range(_WALK):
            columns.append(np.asarray(self.step @ columns[-1]))
        return np.stack(columns, axis=1)

    @cached_property
    def twins(self) -> NDArray[np.int64]:
        """Number of the class of boxes that are joined to the same boxes by as many cables, each."""
        random = np.random.default_rng(0).integers(1, 2**40, (self.n, 2)).astype(float)
        seen = np.concatenate([self.joined @ random, self.first], axis=1)
        return np.unique(seen, axis=0, return_inverse=True)[1].ravel()


def resembling_image(found: Boxes, planned: Boxes) -> Resemblance | None:
    """The map of found to planned boxes that leaves fewest operations, of several starts; None for too many switches.

    Ends of cables are devices here, ports do not count.
    """
    if any((side.degree[side.kind == 2] > 1).any() for side in (found, planned)):
        found, planned = _as_hosts(found), _as_hosts(planned)
    ranks = np.unique(np.concatenate([side.r[side.kind[side.w] == 1] for side in (found, planned)]))
    first, second = _Side(found, ranks), _Side(planned, ranks)
    if max(len(first.switches), len(second.switches)) > _MOST_SWITCHES or not len(first.switches):
        return None
    if not len(second.switches):
        return None
    smaller = max(1, min(len(found.u), len(planned.u)) // 2)
    best: tuple[int, float, NDArray[np.int64]] | None = None
    for start in range(_RESTARTS):
        image = _polished(first, second, _assigned(first, second, start))
        share = _n_explained(first, second, image) / smaller
        operations = _operations(first, second, image) if share > 0.5 else len(found.u) + len(planned.u)
        if best is None or (operations, -share) < best[:2]:
            best = operations, -share, image
        if not best[0] or (start >= _FEWEST_STARTS - 1 and (-best[1] >= _ENOUGH or -best[1] < 0.5)):
            break
    assert best is not None
    return Resemblance(best[2], -best[1])


def _as_hosts(boxes: Boxes) -> Boxes:
    """Lone adapters with several cables as hosts without ranks: they tell which switch is which."""
    lone = (boxes.kind == 2) & (boxes.degree > 1)
    return replace(
        boxes,
        kind=np.where(lone, 1, boxes.kind),
        p=np.where(lone[boxes.u], boxes.n_codes, boxes.p),
        r=np.where(lone[boxes.w], boxes.n_codes, boxes.r),
        n_codes=boxes.n_codes + 1,
    )


def _assigned(found: _Side, planned: _Side, start: int) -> NDArray[np.int64]:
    """Switches to least distance of what describes them, hosts by their switches."""
    scale = np.maximum(planned.first.max(axis=0), 1)
    near, far = found.described(scale), planned.described(scale)
    pinned_f: list[int] = []
    pinned_p: list[int] = []
    for count in range(_MOST_ANCHORS):
        row = _to_pin(planned, far, pinned_p)
        if row is None:
            break
        free = np.setdiff1d(found.switches, pinned_f)
        if not free.size:
            break
        apart = np.abs(near[free] - far[row]).sum(axis=1)
        nth = min(start, len(free) - 1) if count == 0 else 0
        at = int(free[np.argsort(apart, kind="stable")[nth]])
        pinned_f.append(at)
        pinned_p.append(row)
        walk_f, walk_p = found.walk(at), planned.walk(row)
        most = np.maximum(walk_p.max(axis=0), 1e-12)
        near = np.concatenate([near, walk_f / most], axis=1)
        far = np.concatenate([far, walk_p / most], axis=1)
    return _hosts_by_switches(found, planned, _least_apart(found, planned, near, far))


def _to_pin(planned: _Side, described: Array, pinned: list[int]) -> int | None:
    """A planned switch that looks like others which are no twins of it; None where there is none left."""
    rows = np.setdiff1d(planned.switches, pinned)
    if len(rows) < 2:
        return None
    mixed = np.round(described[rows] @ _random(described.shape[1]), _DIGITS)
    order = np.lexsort((planned.twins[rows], mixed))
    same_look = np.diff(mixed[order]) < 10.0**-_DIGITS * 20
    other = np.diff(planned.twins[rows][order]) != 0
    doubtful = np.flatnonzero(same_look & other)
    return int(rows[order[doubtful[0]]]) if doubtful.size else None


def _random(n: int) -> NDArray[np.float64]:
    return np.random.default_rng(1).uniform(0.5, 1.5, n)


def _least_apart(found: _Side, planned: _Side, near: Array, far: Array) -> NDArray[np.int64]:
    from scipy.optimize import linear_sum_assignment
    from scipy.spatial.distance import cdist

    image = np.full(found.n, -1)
    at, to = linear_sum_assignment(cdist(near[found.switches], far[planned.switches], "cityblock"))
    image[found.switches[at]] = planned.switches[to]
    return image


def _hosts_by_switches(found: _Side, planned: _Side, image: NDArray[np.int64]) -> NDArray[np.int64]:
    """Hosts that hang on the same switches by the same adapters; the rest by how many of them agree."""
    image = image.copy()
    image[found.hosts] = -1
    if not len(found.hosts) or not len(planned.hosts):
        return image
    seats_f, seats_p = _seats(found, image), _seats(planned, None)
    random = np.random.default_rng(2).integers(1, 2**62, int(max(seats_f.max(), seats_p.max())) + 2, dtype=np.uint64)
    codes = []
    for side, seats in ((found, seats_f), (planned, seats_p)):
        code = np.zeros(side.n, np.uint64)
        with np.errstate(over="ignore"):
            np.add.at(code, side.boxes.u, np.where(seats >= 0, random[seats], np.uint64(0)))
        codes.append(code)
    rows_f, rows_p = paired(found.hosts, codes[0][found.hosts], planned.hosts, codes[1][planned.hosts])
    image[rows_f] = rows_p
    left_f, left_p = found.hosts[image[found.hosts] < 0], np.setdiff1d(planned.hosts, rows_p)
    if 0 < len(left_f) <= _MOST_HOSTS_LEFT and 0 < len(left_p) <= _MOST_HOSTS_LEFT:
        from scipy.optimize import linear_sum_assignment

        votes = _shared_seats(found, planned, seats_f, seats_p)[left_f][:, left_p].toarray()
        at, to = linear_sum_assignment(-votes)
        image[left_f[at]] = left_p[to]
    return image


def _seats(side: _Side, image: NDArray[np.int64] | None) -> NDArray[np.int64]:
    """(planned switch, rank) of each half-cable of a host as one number; -1 for other half-cables."""
    boxes = side.boxes
    far = boxes.w if image is None else image[boxes.w]
    mine = (boxes.kind[boxes.u] == 1) & (boxes.kind[boxes.w] == 0) & (far >= 0)
    return np.where(mine, far * boxes.n_codes + boxes.p, -1)


def _shared_seats(found: _Side, planned: _Side, seats_f: Array, seats_p: Array):  # type: ignore[no-untyped-def]
    from scipy.sparse import csr_array

    _, codes = np.unique(np.concatenate([seats_f, seats_p]), return_inverse=True)
    width = int(codes.max(initial=0)) + 1
    tables = []
    for side, seats, code in ((found, seats_f, codes[: len(seats_f)]), (planned, seats_p, codes[len(seats_f) :])):
        kept = seats >= 0
        ones = np.ones(int(kept.sum()))
        tables.append(csr_array((ones, (side.boxes.u[kept], code[kept])), shape=(side.n, width)))
    return csr_array(tables[0] @ tables[1].T)


def paired(rows_f: Array, code_f: Array, rows_p: Array, code_p: Array) -> tuple[Array, Array]:
    """Rows of both sides with equal codes, one to one."""
    ranked = []
    for rows, code in ((rows_f, code_f), (rows_p, code_p)):
        order = np.argsort(code, kind="stable")
        ordered = code[order]
        ranked.append((rows[order], ordered, np.arange(len(order)) - np.searchsorted(ordered, ordered)))
    _, number = np.unique(np.concatenate([ranked[0][1], ranked[1][1]]), return_inverse=True)
    wide = max(len(rows_f), len(rows_p)) + 1
    keys_f = number[: len(rows_f)] * wide + ranked[0][2]
    keys_p = number[len(rows_f) :] * wide + ranked[1][2]
    _, at_f, at_p = np.intersect1d(keys_f, keys_p, assume_unique=True, return_indices=True)
    return ranked[0][0][at_f], ranked[1][0][at_p]


def _polished(found: _Side, planned: _Side, image: NDArray[np.int64]) -> NDArray[np.int64]:
    """Assign switches anew by the cables that would agree, all at once or those of one height; keep what gains."""
    best = _n_explained(found, planned, image)
    heights = _heights(found)
    for _ in range(_ROUNDS):
        before = best
        for height in (None, *np.unique(heights[found.switches]).tolist()):
            rows = found.switches if height is None else found.switches[heights[found.switches] == height]
            trial = _hosts_by_switches(found, planned, _voted(found, planned, image, rows))
            score = _n_explained(found, planned, trial)
            if score > best:
                image, best = trial, score
        if best == before:
            break
    return image


def _voted(found: _Side, planned: _Side, image: NDArray[np.int64], rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """The rows that are not fully explained, assigned to most agreeing cables among the planned boxes they hold now."""
    from scipy.optimize import linear_sum_assignment

    votes = _votes(found, planned, image, rows)
    held = image[rows]
    own = np.where(held >= 0, votes[np.arange(len(rows)), held], 0)
    full = np.minimum(np.asarray(found.joined.sum(axis=1)).ravel() + found.lone, 1e18)[rows]
    open_rows = np.flatnonzero(own < full)
    taken = image[np.setdiff1d(found.switches, rows[open_rows])]
    free = np.setdiff1d(planned.switches, taken[taken >= 0])
    if len(open_rows) < 2 or not free.size:
        return image
    gain = votes[np.ix_(open_rows, free)] + 1e-3 * (held[open_rows][:, None] == free[None, :])
    at, to = linear_sum_assignment(-gain)
    image = image.copy()
    image[rows[open_rows]] = -1
    image[rows[open_rows[at]]] = free[to]
    return image


def _votes(found: _Side, planned: _Side, image: NDArray[np.int64], rows: Array) -> NDArray[np.float64]:
    """Cables of each found row that would agree if it were each planned box: sum over neighbours of the least count."""
    mapped = _mapped(found, planned, image)[rows]
    most = int(max(mapped.data.max(initial=0), planned.joined.data.max(initial=0)))
    total = np.zeros((len(rows), planned.n))
    for copy in range(1, most + 1):
        total += (_at_least(mapped, copy) @ _at_least(planned.joined, copy).T).toarray()
    return total + np.minimum(found.lone[rows][:, None], planned.lone[None, :])


def _mapped(found: _Side, planned: _Side, image: NDArray[np.int64]):  # type: ignore[no-untyped-def]
    """Cables of found boxes to the planned ones that their neighbours are."""
    from scipy.sparse import csr_array

    known = np.flatnonzero(image >= 0)
    turn = csr_array((np.ones(len(known)), (known, image[known])), shape=(found.n, planned.n))
    return csr_array(found.joined @ turn)


def _at_least(table, copy: int):  # type: ignore[no-untyped-def]
    part = table.copy()
    part.data = (part.data >= copy).astype(float)
    part.eliminate_zeros()
    return part


def _n_explained(found: _Side, planned: _Side, image: NDArray[np.int64]) -> float:
    """Found cables that are planned ones under the image."""
    from scipy.sparse import csr_array

    known = np.flatnonzero(image >= 0)
    turn = csr_array((np.ones(len(known)), (image[known], known)), shape=(planned.n, found.n))
    whole = csr_array(turn @ _mapped(found, planned, image))
    inner = whole.minimum(planned.joined).sum() / 2
    return float(inner + np.minimum(found.lone[known], planned.lone[image[known]]).sum())


def _operations(found: _Side, planned: _Side, image: NDArray[np.int64]) -> int:
    """The fewest operations under an image; ends are boxes, all lone adapters one."""
    ends = []
    for side, box in ((found, np.where(image >= 0, image, planned.n + np.arange(found.n))), (planned, None)):
        boxes, half = side.boxes, len(side.boxes.u) // 2
        own = np.arange(side.n) if box is None else box
        own = np.where(boxes.kind == 2, planned.n + found.n, own)
        ends.append(np.stack([own[boxes.u[:half]], own[boxes.w[:half]]], axis=1))
    return len(difference(ends[0], ends[1]))


def _heights(side: _Side) -> NDArray[np.int64]:
    """Steps from the nearest host or lone adapter; switches that none reaches stand above all."""
    height = np.full(side.n, side.n)
    front = (side.boxes.kind == 1) | ((side.lone > 0) & (side.boxes.kind == 0))
    height[front & (side.boxes.kind == 1)] = 0
    height[front & (side.boxes.kind == 0)] = 1
    step = 0 if (side.boxes.kind == 1).any() else 1
    while True:
        reached = (side.joined @ (height == step).astype(float) > 0) & (height > step + 1)
        if not reached.any() and step > 0:
            return height
        height[reached] = step + 1
        step += 1
