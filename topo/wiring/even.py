"""Numbers of cables brought back to what was learnt of numbers alone: the nearest such wiring, as jobs and findings."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topo.progress import solving
from topo.table import Array
from topo.wiring.cabling import Cabling
from topo.wiring.codes import CONSEQUENCES
from topo.wiring.difference import difference
from topo.wiring.finding import Operation, finding
from topo.wiring.learnt import MINN, SUPPORT, Learnt

__all__ = [
    "Grid",
    "Symptom",
    "nearest_even",
    "say_apart",
    "say_between",
    "say_moved",
    "say_too_many",
    "say_uneven",
    "usual_total",
]

_MOST_CELLS = 100_000

Key = tuple[int, int]
"""What a symptom is seen at: a pair of switches (lower, upper), a lower one alone (row, -1), an upper one (-1, row)."""


@dataclass(frozen=True, eq=False)
class Grid:
    """Lower switches, upper switches, cables of each pair of them, and the least and the most a pair may have."""

    low: NDArray[np.int64]
    high: NDArray[np.int64]
    count: NDArray[np.int64]
    spread: tuple[int, int]


@dataclass(frozen=True)
class Symptom:
    """A number that differs from what was learnt: its code, place, evidence, what it means, what is lost at least."""

    code: str
    place: str
    said: str
    at: tuple[str, int]
    words: str = ""
    lost_gbps: float = float("nan")


@dataclass(frozen=True)
class _Change:
    """An operation, the row of the cable it lays and of the one it takes away (-1: none), and the pairs they are of."""

    operation: Operation
    laid: int
    gone: int
    pairs: tuple[Key, ...]

    def places(self) -> list[Key]:
        """Where a symptom may show: the pairs, then the lower switches, then the upper ones."""
        return [*self.pairs, *((low, -1) for low, _ in self.pairs), *((-1, high) for _, high in self.pairs)]

    def is_told_by(self, symptoms: Collection[Key]) -> bool:
        """Whether no other cable would do: one is laid or taken away, and both its ends or its pair are symptoms."""
        places = [key in symptoms for key in self.places()]
        return len(self.pairs) == 1 and (places[0] or all(places[1:]))


def say_uneven(cabling: Cabling, grid: Grid, symptoms: Mapping[Key, Symptom], learnt: Learnt) -> None:
    """The symptoms as findings, each job of the nearest even wiring told with the first that it mends.

    A symptom that a job of another mends is told there: a cable that one spine has too many and another lacks is one
    fault.
    """
    if not symptoms:
        return
    target = nearest_even(grid.count, grid.spread) if grid.count.size <= _MOST_CELLS else None
    changes = [] if target is None else _changes(cabling, grid, target, learnt)
    sure = len(changes) == 1 and changes[0].is_told_by(symptoms)
    of_head: dict[Key, list[_Change]] = defaultdict(list)
    for one in changes:
        of_head[next((key for key in one.places() if key in symptoms), next(iter(symptoms)))].append(one)
    told = dict.fromkeys(of_head)
    for head, mine in of_head.items():
        beside = dict.fromkeys(key for one in mine for key in one.places() if key in symptoms and key not in told)
        told |= beside
        _say([symptoms[key] for key in (head, *beside)], mine, learnt, sure=sure)
    # An upper switch that keeps its number has what can be shared out: no fault where the nearest is known.
    in_pairs = {node for key in symptoms if min(key) >= 0 for node in key}
    left = [key for key in symptoms if key not in told and (target is None or key[0] >= 0)]
    say_apart((symptoms[key] for key in left if min(key) >= 0 or max(key) not in in_pairs), learnt)


def say_between(cabling: Cabling, ends: Key, symptoms: tuple[Symptom, Symptom], learnt: Learnt) -> None:
    """Two switches that lack a cable each: the one between them."""
    name = cabling.fabric.nodes.name
    laid = learnt.lay(*ends, gbps=cabling.usual_gbps(*ends))
    job = Operation("add", -1, laid, f"lay {name[ends[0]]} - {name[ends[1]]}")
    _say(symptoms, [_Change(job, laid, -1, (ends,))], learnt, sure=True)


def say_moved(cabling: Cabling, ends: tuple[int, int, int], symptoms: tuple[Symptom, ...], learnt: Learnt) -> None:
    """A cable of the first switch to the second that belongs at the third: both others' numbers come right by it."""
    kept, left, entered = ends
    name = cabling.fabric.nodes.name
    link = _cable_between(cabling, kept, left)
    laid = learnt.lay(kept, entered, ports=(cabling.port_at(link, kept), -1), gbps=cabling.usual_gbps(kept, entered))
    text = f"move {learnt.link_text(link)} from {name[left]} to {name[entered]}"
    pairs = ((kept, left), (kept, entered))
    _say(symptoms, [_Change(learnt.move(link, laid, text), laid, link, pairs)], learnt, sure=True)


def say_too_many(cabling: Cabling, ends: Key, symptoms: tuple[Symptom, Symptom], learnt: Learnt) -> None:
    """Two switches that have a cable too many each: the one between them."""
    link = _cable_between(cabling, *ends)
    learnt.remove(link)
    job = Operation("remove", link, -1, f"remove {learnt.link_text(link)}")
    _say(symptoms, [_Change(job, -1, link, (ends,))], learnt, sure=True)


def _cable_between(cabling: Cabling, a: int, b: int) -> int:
    ends = np.sort(np.stack([cabling.low, cabling.high]), axis=0)
    return int(cabling.between[np.argmax((ends[0] == min(a, b)) & (ends[1] == max(a, b)))])


def say_apart(symptoms: Iterable[Symptom], learnt: Learnt) -> None:
    """Symptoms of which nothing tells the cables, a finding each."""
    for one in symptoms:
        _say([one], [], learnt, sure=True)


def _say(symptoms: Sequence[Symptom], changes: Sequence[_Change], learnt: Learnt, *, sure: bool) -> None:
    """One finding: the first of the symptoms with those that the same jobs mend; not ``sure``: others might too."""
    head = symptoms[0]
    place = "; ".join(one.place for one in symptoms if one.code == head.code)
    said = [one.said if len(symptoms) == 1 else f"{one.place} has {one.said}" for one in symptoms]
    words = head.words or CONSEQUENCES[head.code]
    if not sure:
        words += "; other cables would even the numbers out too, these are priced"
    learnt.findings.append(
        finding(
            head.code, place, "; ".join(said), at=head.at, words=words, lost_gbps=head.lost_gbps,
            operations=tuple(one.operation for one in changes),
            lacks=tuple(one.laid for one in changes if one.laid >= 0),
            extra=tuple(one.gone for one in changes if one.gone >= 0),
        )
    )  # fmt: skip


def _changes(cabling: Cabling, grid: Grid, target: NDArray[np.int64], learnt: Learnt) -> list[_Change]:
    """The fewest operations from the cables of the grid to the target."""
    name = cabling.fabric.nodes.name
    extra, lack = _unequal(grid, grid.count - target), _unequal(grid, target - grid.count)
    links = defaultdict(list)
    for link, pair in zip(
        cabling.between.tolist(), zip(cabling.low.tolist(), cabling.high.tolist(), strict=True), strict=True
    ):
        links[pair].append(link)
    found = [links[pair].pop() for pair in extra]
    best = difference(np.array(extra, np.int64).reshape(-1, 2), np.array(lack, np.int64).reshape(-1, 2))
    changes = []
    for f, q in zip(best.moves.found.tolist(), best.moves.planned.tolist(), strict=True):
        (low, high), link = lack[q], found[f]
        kept = low if low == extra[f][0] else high
        left, entered = (set(pair) - {kept} for pair in (extra[f], lack[q]))
        port = cabling.port_at(link, kept)
        laid = learnt.lay(
            low, high, ports=(port, -1) if kept == low else (-1, port), gbps=cabling.usual_gbps(low, high)
        )
        text = f"move {learnt.link_text(link)} from {name[left.pop()]} to {name[entered.pop()]}"
        changes.append(_Change(learnt.move(link, laid, text), laid, link, (extra[f], lack[q])))
    for low, high in (lack[q] for q in best.adds.tolist()):
        laid = learnt.lay(low, high, gbps=cabling.usual_gbps(low, high))
        job = Operation("add", -1, laid, f"lay {name[low]} - {name[high]}")
        changes.append(_Change(job, laid, -1, ((low, high),)))
    for f in best.removes.tolist():
        learnt.remove(found[f])
        job = Operation("remove", found[f], -1, f"remove {learnt.link_text(found[f])}")
        changes.append(_Change(job, -1, found[f], (extra[f],)))
    return changes


def _unequal(grid: Grid, more: NDArray[np.int64]) -> list[Key]:
    """Pairs of switches, each as often as its entry is above 0."""
    i, j = np.nonzero(more > 0)
    times = more[i, j]
    low, high = np.repeat(grid.low[i], times).tolist(), np.repeat(grid.high[j], times).tolist()
    return list(zip(low, high, strict=True))


def usual_total(totals: Array) -> int | None:
    """The number that at least 80 % of four or more have; None where none is usual.

    >>> usual_total(np.array([8, 8, 8, 8, 7])), usual_total(np.array([8, 7, 8, 7]))
    (8, None)
    """
    usual = int(np.bincount(totals).argmax()) if len(totals) >= MINN else -1
    return usual if usual >= 0 and (totals == usual).sum() >= SUPPORT * len(totals) else None


def nearest_even(count: Array, spread: tuple[int, int]) -> NDArray[np.int64] | None:
    """The matrix nearest to ``count`` with entries in the spread, and usual sums where most rows or columns have one.

    Rows without a usual sum keep theirs. Columns differ by one at most; where none is usual, only if that is as near.
    None where no matrix fits.

    >>> nearest_even(np.array([[1, 2, 0], [2, 1, 1], [1, 1, 2], [1, 2, 1], [2, 1, 1]]), (1, 2)).tolist()
    [[1, 2, 1], [2, 1, 1], [1, 1, 2], [1, 2, 1], [2, 1, 1]]
    """
    n, m = count.shape
    total, usual = usual_total(count.sum(axis=1)), usual_total(count.sum(axis=0))
    rows = count.sum(axis=1) if total is None else np.full(n, total)
    whole = int(rows.sum())
    target = _nearest(count, spread, rows, (whole // m, -(-whole // m)))
    if usual is not None:
        return target
    free = _nearest(count, spread, rows, (0, n * spread[1]))
    return free if target is None or (free is not None and _kept(count, free) > _kept(count, target)) else target


def _kept(count: Array, target: Array) -> int:
    return int(np.minimum(count, target).sum())


def _nearest(count: Array, spread: tuple[int, int], rows: Array, columns: tuple[int, int]) -> NDArray[np.int64] | None:
    """max sum min(count, target) with these row sums, and column sums between two numbers.

    Each entry is split into what is kept, worth 1, and the rest, worth 0; the program is a transport problem, so its
    solution is whole.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import coo_array, vstack

    n, m = count.shape
    low, high = spread
    at = np.arange(n * m)

    def sums(group: Array, size: int) -> Any:
        """One row a group: what is kept and the rest of its entries."""
        cells = np.concatenate([at, at + n * m])
        return coo_array((np.ones(2 * n * m), (np.tile(group, 2), cells)), shape=(size, 2 * n * m)).tocsr()

    limits = vstack([sums(at // m, n), sums(at % m, m), sums(at, n * m)])
    least = np.concatenate([rows, np.full(m, columns[0]), np.full(n * m, low)])
    most = np.concatenate([rows, np.full(m, columns[1]), np.full(n * m, high)])
    room = np.concatenate([np.minimum(count, high).ravel(), np.full(n * m, high)])
    worth = np.concatenate([np.ones(n * m), np.zeros(n * m)])
    conditions = LinearConstraint(limits, least, most)
    with solving(f"even numbers of cables between {n:,} and {m:,} switches"):
        answer = milp(-worth, constraints=conditions, bounds=Bounds(np.zeros(2 * n * m), room))
    if answer.x is None:
        return None
    target: NDArray[np.int64] = np.round(answer.x[: n * m] + answer.x[n * m :]).astype(np.int64).reshape(n, m)
    return target
