"""Which found box is which planned one, by votes along the ports; and a bound that holds under every renaming.

For every found half-cable (u, p) - (w, r) whose far end w is known, the box at planned port (image of w, r) gets a vote
as image of u: one, two if its port is p. Votes are summed, taken greedily one to one, and cast again until nothing
changes; every box is voted on in every round, so that one that came in by a miswired cable is corrected.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from topo.table import Array
from topo.wiring.difference import difference
from topo.wiring.structure import Boxes

__all__ = ["Image", "best_image", "least_operations", "refined"]

_ROUNDS = 40
_HELD = 4
_SAMPLE = 32
_CANDIDATES = 3
_FEWEST_SEEDS = 6
_MOST_SEEDS = 24
_ENOUGH = 0.97
_RESEEDS = 64
_DOUBTFUL = (0.999, 0.95, 0.9, 0.8, 0.6, 0.4)
_POLISHED = 3
_MOST_MATCHED = 1500


@dataclass(frozen=True, eq=False)
class Image:
    """Planned box of every found box (-1: none), the share of the smaller side it explains, the operations left."""

    of: NDArray[np.int64]
    share: float
    operations: int


class _Plan:
    """The planned half-cables, looked up by box and port."""

    def __init__(self, planned: Boxes) -> None:
        self.boxes = planned
        key = planned.u * planned.n_codes + planned.p
        order = np.argsort(key, kind="stable")
        self.key = key[order]
        self.far, self.far_port = planned.w[order], planned.r[order]

    def at(self, box: Array, port: Array) -> NDArray[np.int64]:
        """Row of the half-cable at (box, port), -1 where there is none."""
        key = np.where(box >= 0, box * self.boxes.n_codes + port, -1)
        row = np.minimum(np.searchsorted(self.key, key), len(self.key) - 1)
        return np.where(self.key[row] == key, row, -1) if len(self.key) else np.full(len(key), -1)


def best_image(found: Boxes, planned: Boxes) -> Image:
    """The image that leaves the fewest operations, of those grown from several seeds and polished."""
    plan = _Plan(planned)
    grown: list[tuple[int, NDArray[np.int64]]] = []
    none = np.full(found.n, -1)
    for count, (at, to) in enumerate(_seeds(found, planned, none)):
        if count >= _MOST_SEEDS:
            break
        image = _grown(found, plan, at, to)
        grown.append((int(_explained(found, plan, image).sum()), image))
        best = max(score for score, _ in grown)
        if best >= _ENOUGH * min(len(found.u), len(planned.u)) and (count + 1 >= 2 or best == len(found.u)):
            break
        if count + 1 >= _FEWEST_SEEDS and best >= 0.9 * min(len(found.u), len(planned.u)):
            break
    grown.sort(key=lambda pair: -pair[0])
    results = []
    for _, image in grown[:_POLISHED]:
        polished = _polished(found, plan, image)
        results.append((_operations(found, planned, polished), polished))
        if results[-1][0] == 0:
            break
    if not results:
        results = [(_operations(found, planned, none), none)]
    operations, image = min(results, key=lambda pair: pair[0])
    share = _explained(found, plan, image).sum() / max(1, min(len(found.u), len(planned.u)))
    return Image(image, float(share), operations)


def refined(found: Boxes, planned: Boxes, start: NDArray[np.int64]) -> Image:
    """An image that begins with a given one (by names); boxes less than half explained are voted on afresh.

    A renaming is taken only where it saves more operations than boxes it renames.
    """
    plan = _Plan(planned)
    before = _operations(found, planned, start)
    share = _shares(found, plan, start)
    doubtful = (share < 0.5) & (found.degree >= 2)
    image = start
    if doubtful.any() and before:
        trial = np.where(doubtful, -1, start)
        trial = _voted(found, plan, trial, hold=~doubtful)
        renamed = int(((trial != start) & (start >= 0)).sum())
        after = _operations(found, planned, trial)
        if after + renamed < before:
            image, before = trial, after
    explained = _explained(found, plan, image).sum() / max(1, min(len(found.u), len(planned.u)))
    return Image(image, float(explained), before)


def _seeds(found: Boxes, planned: Boxes, image: NDArray[np.int64]) -> list[tuple[int, int]]:
    """Pairs of unmatched switches whose entries (port, far port, far kind) agree best, those with fewest ties first."""
    free_f = np.flatnonzero((image < 0) & (found.kind == 0) & (found.degree > 1))
    taken = np.zeros(planned.n, bool)
    taken[image[image >= 0]] = True
    free_p = np.flatnonzero(~taken & (planned.kind == 0))
    if not free_f.size or not free_p.size:
        return []
    by_degree = free_f[np.argsort(-found.degree[free_f], kind="stable")]
    sample = by_degree[np.linspace(0, len(by_degree) - 1, min(_SAMPLE, len(by_degree))).astype(int)]
    common = _common_entries(found, planned, sample, free_p)
    seeds = []
    for i, row in enumerate(sample.tolist()):
        most = common[i].max(initial=0)
        if most <= 0:
            continue
        best = np.flatnonzero(common[i] == most)
        share = most / max(found.degree[row], 1)
        seeds += [((rank, -share, len(best)), row, int(free_p[to])) for rank, to in enumerate(best[:_CANDIDATES])]
    seeds.sort(key=lambda seed: seed[0])
    return [(at, to) for _, at, to in seeds]


def _common_entries(found: Boxes, planned: Boxes, rows: Array, columns: Array) -> NDArray[np.int64]:
    from scipy.sparse import csr_array

    n = found.n_codes
    entries = [(side.p * n + side.r) * 3 + side.kind[side.w] for side in (found, planned)]
    _, codes = np.unique(np.concatenate(entries), return_inverse=True)
    width = int(codes.max(initial=-1)) + 1
    code_f, code_p = codes[: len(found.u)], codes[len(found.u) :]
    table_f = csr_array((np.ones(len(found.u), np.int64), (found.u, code_f)), shape=(found.n, width))[rows]
    table_p = csr_array((np.ones(len(planned.u), np.int64), (planned.u, code_p)), shape=(planned.n, width))[columns]
    return np.asarray((table_f @ table_p.T).toarray())


def _grown(found: Boxes, plan: _Plan, at: int, to: int) -> NDArray[np.int64]:
    """The image that grows from one seed, and from new seeds where votes run dry (planes, islands)."""
    image = np.full(found.n, -1)
    hold = np.zeros(found.n, bool)
    image[at], hold[at] = to, True
    image = _voted(found, plan, image, hold=hold, release=True)
    for _ in range(_RESEEDS):
        seeds = _seeds(found, plan.boxes, image)
        if not seeds:
            break
        before = int((image >= 0).sum())
        at, to = seeds[0]
        image = image.copy()
        image[at] = to
        hold = np.zeros(found.n, bool)
        hold[at] = True
        image = _voted(found, plan, image, hold=hold, release=True)
        if int((image >= 0).sum()) <= before + 1:
            break
    return image


def _voted(
    found: Boxes, plan: _Plan, image: NDArray[np.int64], *, hold: NDArray[np.bool_], release: bool = False
) -> NDArray[np.int64]:
    """Votes, round after round, until nothing changes; ``hold`` keep their image, for the first rounds or for good."""
    seen: set[bytes] = set()
    for count in range(_ROUNDS):
        row = plan.at(image[found.w], found.r)
        hit = np.flatnonzero(row >= 0)
        voter, choice = found.u[hit], plan.far[row[hit]]
        alike = found.kind[voter] == plan.boxes.kind[choice]
        hit, voter, choice = hit[alike], voter[alike], choice[alike]
        weight = 2.0 + 2.0 * (plan.far_port[row[hit]] == found.p[hit])
        held = hold if (not release or count < _HELD) else np.zeros(found.n, bool)
        following = _taken(voter, choice, weight, image, held, plan.boxes.n)
        if np.array_equal(following, image):
            break
        image = following
        state = image.tobytes()
        if state in seen:
            break
        seen.add(state)
    return image


def _taken(
    voter: Array, choice: Array, weight: Array, image: NDArray[np.int64], held: NDArray[np.bool_], n_planned: int
) -> NDArray[np.int64]:
    """Pairs by summed weight, greedily one to one; the present image wins ties."""
    result = np.where(held, image, -1)
    used = np.zeros(n_planned, bool)
    used[result[result >= 0]] = True
    if not len(voter):
        return result
    key, back = np.unique(voter * n_planned + choice, return_inverse=True)
    total = np.bincount(back, weights=weight)
    u, v = key // n_planned, key % n_planned
    total = total + (image[u] == v)
    left = (result[u] < 0) & ~used[v]
    order = np.flatnonzero(left)[np.argsort(-total[left], kind="stable")]
    u, v = u[order], v[order]
    while len(u):
        first_u = np.zeros(len(u), bool)
        first_u[np.unique(u, return_index=True)[1]] = True
        first_v = np.zeros(len(v), bool)
        first_v[np.unique(v, return_index=True)[1]] = True
        best = first_u & first_v
        result[u[best]] = v[best]
        used[v[best]] = True
        keep = (result[u] < 0) & ~used[v]
        u, v = u[keep], v[keep]
    return result


def _explained(found: Boxes, plan: _Plan, image: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which found half-cables are planned ones under the image."""
    row = plan.at(image[found.u], found.p)
    known = row >= 0
    right: NDArray[np.bool_] = (
        known & (plan.far[row] == image[found.w]) & (plan.far_port[row] == found.r) & (image[found.w] >= 0)
    )
    return right


def _shares(found: Boxes, plan: _Plan, image: NDArray[np.int64]) -> NDArray[np.float64]:
    explained = np.bincount(found.u, weights=_explained(found, plan, image), minlength=found.n)
    return explained / np.maximum(found.degree, 1)


def _polished(found: Boxes, plan: _Plan, image: NDArray[np.int64]) -> NDArray[np.int64]:
    """Forget boxes that are little explained and vote again, harder and harder; keep what gains."""
    best = int(_explained(found, plan, image).sum())
    for least in _DOUBTFUL:
        doubtful = _shares(found, plan, image) < least
        if not doubtful.any():
            continue
        trial = _voted(found, plan, np.where(doubtful, -1, image), hold=np.zeros(found.n, bool))
        score = int(_explained(found, plan, trial).sum())
        if score > best:
            image, best = trial, score
    return image


def _operations(found: Boxes, planned: Boxes, image: NDArray[np.int64]) -> int:
    """The fewest operations under an image; ends are ports."""
    n_f, n_p = len(found.u) // 2, len(planned.u) // 2
    apart = planned.n + np.arange(found.n)
    box = np.where(image >= 0, image, apart)
    ends_f = (box[found.u] * found.n_codes + found.p).reshape(2, n_f).T
    ends_p = (planned.u * planned.n_codes + planned.p).reshape(2, n_p).T
    return len(difference(ends_f, ends_p))


def least_operations(found: Boxes, planned: Boxes) -> int:
    """Operations that no renaming can avoid: ``|d| + max(0, ceil((D - 2 |d|) / 4))``.

    d is the difference in cables; D the least total difference of the boxes' entries (own port, far port, far kind)
    over all one-to-one maps of boxes of one kind. A move changes at most four entries, laying or removing two.
    """
    n = found.n_codes
    entries = [(side.p * n + side.r) * 3 + side.kind[side.w] for side in (found, planned)]
    _, codes = np.unique(np.concatenate(entries), return_inverse=True)
    code_f, code_p = codes[: len(found.u)], codes[len(found.u) :]
    d = abs(len(found.u) - len(planned.u)) // 2
    total = 0
    for kind in (0, 1, 2):
        total += _least_difference(found, planned, code_f, code_p, kind)
    return d + max(0, -(-(total - 2 * d) // 4))


def _least_difference(found: Boxes, planned: Boxes, code_f: Array, code_p: Array, kind: int) -> int:
    """Least sum of symmetric differences of entries over one-to-one maps of the boxes of a kind."""
    rows = [_bags(side, code, kind) for side, code in ((found, code_f), (planned, code_p))]
    left_f, left_p = _uncancelled(rows[0], rows[1])
    if not left_f and not left_p:
        return 0
    if max(len(left_f), len(left_p)) > _MOST_MATCHED:
        return 0
    from scipy.optimize import linear_sum_assignment

    cost = _differences(left_f, left_p)
    at, to = linear_sum_assignment(cost)
    return int(cost[at, to].sum())


def _bags(side: Boxes, code: Array, kind: int) -> list[tuple[int, ...]]:
    mine = np.flatnonzero(side.kind[side.u] == kind)
    order = mine[np.lexsort((code[mine], side.u[mine]))]
    cuts = np.flatnonzero(np.diff(side.u[order])) + 1
    return [tuple(part.tolist()) for part in np.split(code[order], cuts)] if len(order) else []


def _uncancelled(
    found: list[tuple[int, ...]], planned: list[tuple[int, ...]]
) -> tuple[list[tuple[int, ...]], list[tuple[int, ...]]]:
    """What is left when equal bags are paired; pairing equals never costs (the difference is a metric)."""
    a, b = Counter(found), Counter(planned)
    return list((a - b).elements()), list((b - a).elements())


def _differences(found: list[tuple[int, ...]], planned: list[tuple[int, ...]]) -> NDArray[np.int64]:
    """Size of the symmetric difference of every bag of the one side and of the other, square; a bag too few is empty.

    It is |a| + |b| - 2 |a and b|; the n-th time that a bag holds an entry is an entry of its own.
    """
    from scipy.sparse import csr_array

    size = max(len(found), len(planned))
    column: dict[tuple[int, int], int] = {}
    tables = []
    for bags in (found, planned):
        rows, columns = [], []
        for row, bag in enumerate(bags):
            for entry, times in Counter(bag).items():
                rows += [row] * times
                columns += [column.setdefault((entry, copy), len(column)) for copy in range(times)]
        tables.append((rows, columns))
    ones = [csr_array((np.ones(len(rows), np.int64), (rows, columns)), shape=(size, len(column)))
            for rows, columns in tables]  # fmt: skip
    shared = np.asarray((ones[0] @ ones[1].T).toarray())
    held = [np.bincount(np.array(rows, np.int64), minlength=size) for rows, _ in tables]
    apart: NDArray[np.int64] = held[0][:, None] + held[1][None, :] - 2 * shared
    return apart
