"""Upper switches that serve a few cables of every lower one, as those that join zones: how many each should have."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from topo.table import Array
from topo.wiring.cabling import Cabling
from topo.wiring.learnt import BIG, SUPPORT
from topo.wiring.tier_pairs import Block, TierPair

__all__ = ["JointSides", "joint_sides"]

_OFF = 0.1


@dataclass(frozen=True)
class JointSides:
    """Pairs (lower, upper) that lack a cable or have one too many, and the number that the like have."""

    lack: tuple[tuple[int, int], ...]
    extra: tuple[tuple[int, int], ...]
    usual: int
    n_agree: int
    n_rows: int


def joint_sides(cabling: Cabling, pair: TierPair) -> list[JointSides]:
    """What differs from the rule of each block whose rows nearly all have k > 0 cables to switches of no block.

    A row with more than k has one too many, on another port than most. A block of r rows gives each of the u such
    switches r k / u cables, where that is whole: a row with fewer lacks a cable to the switch that is furthest from its
    number; elsewhere nothing is said of what lacks. Where every row has k but one switch a few too many (10 % at most)
    and another as many too few, rows are on the wrong one: those whose port on it is furthest from where the block is
    plugged.
    """
    apart = np.ones(len(pair.columns), bool)
    if pair.blocks:
        apart[np.concatenate([block.columns for block in pair.blocks])] = False
    columns = np.flatnonzero(apart)
    if not columns.size:
        return []
    reached = (pair.count[:, columns] > 0).sum(axis=0)
    columns = columns[2 * reached >= reached.max()]
    sides = (_of_block(cabling, pair, block, columns) for block in pair.blocks)
    return [one for one in sides if one is not None]


def _of_block(cabling: Cabling, pair: TierPair, block: Block, columns: Array) -> JointSides | None:
    count = pair.count[np.ix_(block.rows, columns)].copy()
    held = count.sum(axis=1)
    usual = int(np.bincount(held).argmax())
    agree = int((held == usual).sum())
    each, left = divmod(usual * len(held), len(columns))
    if not usual or len(held) < BIG or agree < SUPPORT * len(held):
        return None
    rows, uppers = pair.rows[block.rows], pair.columns[columns]
    extra = []
    for i in np.flatnonzero(held > usual).tolist():
        for j in _foreign(cabling, rows, int(rows[i]), uppers)[: int(held[i]) - usual]:
            count[i, j] -= 1
            extra.append((int(rows[i]), int(uppers[j])))
    if left:
        return JointSides((), tuple(extra), usual, agree, len(held)) if extra else None
    short = each - count.sum(axis=0)
    lack = []
    for i in np.flatnonzero(held < usual).tolist():
        for _ in range(usual - int(held[i])):
            j = int(np.argmax(short))
            if short[j] > 0:
                short[j] -= 1
                lack.append((int(rows[i]), int(uppers[j])))
    lack += _uneven(cabling, rows, uppers, short, each, extra)
    return JointSides(tuple(lack), tuple(extra), usual, agree, len(held))


def _uneven(
    cabling: Cabling, rows: Array, uppers: Array, short: Array, each: int, extra: list[tuple[int, int]]
) -> list[tuple[int, int]]:
    """Pairs that lack since their cable is on a switch that has too many; those it should leave join ``extra``."""
    lack: list[tuple[int, int]] = []
    while 0 < short.max() <= _OFF * each and 0 > short.min() >= -_OFF * each:
        i, j = int(np.argmax(short)), int(np.argmin(short))
        mine = np.flatnonzero(np.isin(cabling.low, rows) & (cabling.high == uppers[j]))
        number = cabling.number[cabling.high_port[mine]]
        known = {row for row, _ in (*extra, *lack)}
        far = [at for at in np.argsort(-np.abs(number - np.median(number)), kind="stable").tolist()
               if int(cabling.low[mine[at]]) not in known]  # fmt: skip
        if not far:
            break
        row = int(cabling.low[mine[far[0]]])
        extra.append((row, int(uppers[j])))
        lack.append((row, int(uppers[i])))
        short[i] -= 1
        short[j] += 1
    return lack


def _foreign(cabling: Cabling, rows: Array, row: int, uppers: Array) -> NDArray[np.int64]:
    """Numbers in ``uppers`` of the cables of a row, first those on ports that few rows use for them."""
    mine = np.flatnonzero(np.isin(cabling.low, rows) & np.isin(cabling.high, uppers))
    number = cabling.number[cabling.low_port[mine]]
    times = np.bincount(number)
    own = mine[cabling.low[mine] == row]
    order = np.argsort(times[cabling.number[cabling.low_port[own]]], kind="stable")
    found: NDArray[np.int64] = np.searchsorted(uppers, cabling.high[own[order]])
    return found
