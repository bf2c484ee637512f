"""Blocks whose rule is two neighbouring counts of cables a pair: the nearest wiring that keeps it, as jobs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topo.repair.moves import Job
from topo.table import Array
from topo.wiring.blocks import Block, TierPair, blocks_of
from topo.wiring.cabling import Cabling
from topo.wiring.comparison import Comparison, NewCables, with_laid
from topo.wiring.difference import difference
from topo.wiring.finding import Finding

__all__ = ["nearest_even", "uneven_jobs"]

_CODES = ("pair-uneven", "uplinks-fewer", "spine-uneven", "links-unlike")


def uneven_jobs(comparison: Comparison, findings: Sequence[Finding]) -> tuple[Comparison, list[Job]]:
    """Jobs that bring every pair of a block back to one of its two counts, and switches to their usual totals."""
    faults = {one.place: i for i, one in enumerate(findings) if one.code in _CODES and not one.accepted}
    if not faults:
        return comparison, []
    both = comparison.both
    there = both.without(links=np.flatnonzero(~comparison.found)) if not comparison.found.all() else both
    rows = np.flatnonzero(comparison.found)
    side = Cabling.of(there)
    laid: list[tuple[int, int, float]] = []
    jobs: list[tuple[str, int, int, int]] = []  # kind, found, number of the new cable, fault
    for lower in range(1, int(side.tier[side.is_switch].max(initial=0))):
        pair = blocks_of(side, lower)
        for block in pair.blocks:
            if block.spread is not None:
                _of_block(side, pair, block, faults, laid, jobs)
    if not jobs:
        return comparison, []
    first = len(both.links)
    a, b = (np.array([one[i] for one in laid], np.int64) for i in (0, 1))
    unknown = np.full(len(laid), -1)
    cables = NewCables(a, b, unknown, unknown, np.array([one[2] for one in laid]), np.full(len(laid), "scale_out"))
    whole = with_laid(both, cables)
    planned = comparison.planned.copy()
    planned[[int(rows[found]) for _, found, _, _ in jobs if found >= 0]] = False
    new = np.ones(len(laid), bool)
    wider = Comparison(whole, np.append(comparison.found, ~new), np.append(planned, new))
    return wider, [_job(wider, first, rows, *job) for job in jobs]


def _job(wider: Comparison, first: int, rows: Array, kind: str, found: int, number: int, fault: int) -> Job:
    links, node = wider.both.links, wider.both.ports.node
    nan = float("nan")
    if kind == "add":
        row = first + number
        return Job("add", -1, row, int(links.port_a[row]), -1, int(links.port_b[row]), nan, fault)
    was = int(rows[found])
    a, b = int(links.port_a[was]), int(links.port_b[was])
    if kind == "remove":
        return Job("remove", was, -1, a, b, -1, nan, fault)
    row = first + number
    ends = [int(links.port_a[row]), int(links.port_b[row])]
    kept, left = (a, b) if int(node[a]) in {int(node[port]) for port in ends} else (b, a)
    entered = next(port for port in ends if node[port] != node[kept])
    return Job("move", was, row, kept, left, entered, nan, fault)


def _of_block(
    side: Cabling,
    pair: TierPair,
    block: Block,
    faults: dict[str, int],
    laid: list[tuple[int, int, float]],
    jobs: list[tuple[str, int, int, int]],
) -> None:
    assert block.spread is not None
    target = nearest_even(block.count, block.spread)
    if target is None or (target == block.count).all():
        return
    low, high = pair.rows[block.rows], pair.columns[block.columns]
    names = side.fabric.nodes.name
    links = defaultdict(list)
    for i, ends in enumerate(zip(side.low.tolist(), side.high.tolist(), strict=True)):
        links[ends].append(int(side.between[i]))
    extra, lack = _unequal(block.count - target, low, high), _unequal(target - block.count, low, high)
    found = [links[int(a), int(b)].pop() for a, b in extra]
    rates = side.fabric.links.capacity_gbps[side.between]
    rate = float(np.nanmedian(rates)) if (~np.isnan(rates)).any() else float("nan")

    def fault(a: int, b: int) -> int:
        places = (f"{names[a]} - {names[b]}", str(names[a]), str(names[b]))
        return next((faults[place] for place in places if place in faults), next(iter(faults.values())))

    best = difference(extra, lack)
    moves = zip(best.moves.found.tolist(), best.moves.planned.tolist(), strict=True)
    for f, q in moves:
        jobs.append(("move", found[f], len(laid), fault(*map(int, lack[q]))))
        laid.append((int(lack[q, 0]), int(lack[q, 1]), rate))
    for q in best.adds.tolist():
        jobs.append(("add", -1, len(laid), fault(*map(int, lack[q]))))
        laid.append((int(lack[q, 0]), int(lack[q, 1]), rate))
    for f in best.removes.tolist():
        jobs.append(("remove", found[f], -1, fault(*map(int, extra[f]))))


def _unequal(more: NDArray[np.int64], low: Array, high: Array) -> NDArray[np.int64]:
    """Pairs of switches, each as often as its entry is above 0."""
    i, j = np.nonzero(more > 0)
    times = more[i, j]
    return np.stack([np.repeat(low[i], times), np.repeat(high[j], times)], axis=1).astype(np.int64).reshape(-1, 2)


def nearest_even(count: Array, spread: tuple[int, int]) -> NDArray[np.int64] | None:
    """The matrix nearest to ``count``: entries in the spread, usual row sums, column sums that differ by one at most.

    max sum min(count, target): each entry is split into what is kept, worth 1, and the rest, worth 0; the program is a
    transport problem, so its solution is whole. None where no matrix fits.

    >>> nearest_even(np.array([[1, 2, 0], [2, 1, 1], [1, 1, 2], [1, 2, 1]]), (1, 2)).tolist()
    [[1, 2, 1], [2, 1, 1], [1, 1, 2], [1, 2, 1]]
    """
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import coo_array, vstack

    n, m = count.shape
    low, high = spread
    total = int(np.bincount(count.sum(axis=1)).argmax())
    usual = int(np.bincount(count.sum(axis=0)).argmax())
    floor, ceiling = (usual, usual) if usual * m == n * total else (n * total // m, -(-n * total // m))
    at = np.arange(n * m)

    def sums(group: Array, size: int) -> Any:
        """One row a group: what is kept and the rest of its entries."""
        cells = np.concatenate([at, at + n * m])
        return coo_array((np.ones(2 * n * m), (np.tile(group, 2), cells)), shape=(size, 2 * n * m)).tocsr()

    limits = vstack([sums(at // m, n), sums(at % m, m), sums(at, n * m)])
    least = np.concatenate([np.full(n, total), np.full(m, floor), np.full(n * m, low)])
    most = np.concatenate([np.full(n, total), np.full(m, ceiling), np.full(n * m, high)])
    room = np.concatenate([np.minimum(count, high).ravel(), np.full(n * m, high)])
    worth = np.concatenate([np.ones(n * m), np.zeros(n * m)])
    answer = milp(-worth, constraints=LinearConstraint(limits, least, most), bounds=Bounds(np.zeros(2 * n * m), room))
    if answer.x is None:
        return None
    target: NDArray[np.int64] = np.round(answer.x[: n * m] + answer.x[n * m :]).astype(np.int64).reshape(n, m)
    return target
