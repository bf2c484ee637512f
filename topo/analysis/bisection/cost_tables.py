"""Costs by the number of endpoints on side 1, for each label of a block: how they are lifted, added and made coarse.

A function is a table for each key (see :data:`Key`) with a row for each label. Entry i of a table of ``step`` s and
``width`` w is the least cost at any number of endpoints (in steps of the tree's own) from i s to i s + w. So a table
of s = 1, w = 0 is exact, and a coarse one a lower bound that keeps track of where the count may lie.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from topo.table import Array

__all__ = ["PLAIN", "CostFunction", "Key", "added", "closed", "coarser", "expanded", "lifted"]

_ALL_0, _ALL_1, _MIXED, PLAIN = 0, 1, 2, 3

Key = tuple[int, int, int]
"""(endpoints of special classes on side 1, endpoints of the mixed class or -1, labels the tracked bases bear)."""


@dataclass(frozen=True, eq=False)
class CostFunction:
    """Costs by key as arrays (2 labels, entries); ``trace`` undoes the construction of one entry.

    ``is_slot`` tells the functions of classes and children from what was made of them.
    """

    tables: dict[Key, NDArray[np.float64]]
    trace: Callable[[int, Key, int], list[tuple[CostFunction, int, Key, int]]]
    is_slot: bool = True
    step: int = 1
    width: int = 0


def coarser(function: CostFunction, step: int) -> CostFunction:
    """The same at a coarser step, a multiple of its own: an entry is the least of those it stands for."""
    factor = step // function.step
    if factor == 1:
        return function
    tables = {key: _least_of(table, factor) for key, table in function.tables.items()}

    def trace(row: int, key: Key, i: int) -> list[tuple[CostFunction, int, Key, int]]:
        own = function.tables[key][row, i * factor : (i + 1) * factor]
        return [(function, row, key, i * factor + int(own.argmin()))]

    width = function.width + (factor - 1) * function.step
    return CostFunction(tables, trace, False, step, width)


def _least_of(table: Array, factor: int) -> Array:
    entries = -(-table.shape[1] // factor)
    padded = np.full((2, entries * factor), np.inf)
    padded[:, : table.shape[1]] = table
    least: Array = padded.reshape(2, entries, factor).min(axis=2)
    return least


def expanded(function: CostFunction, row: int, key: Key, i: int) -> list[tuple[CostFunction, int, Key, int]]:
    """The slots of a sum, left to right, with the entry each contributes."""
    stack = [(function, row, key, i)]
    leaves = []
    while stack:
        item = stack.pop()
        if item[0].is_slot:
            leaves.append(item)
        else:
            stack.extend(reversed(item[0].trace(*item[1:])))
    return leaves


def lifted(child: CostFunction, kappa: float, track: bool) -> CostFunction:
    """The child as its parent's label sees it, ``kappa`` more where their labels differ; its label kept if tracked."""
    swap = np.array([[0.0], [kappa]])
    tables: dict[Key, Array] = {}
    for (offset, residue, _), own in child.tables.items():
        stay, differ = own, own[::-1] + kappa
        if not track:
            tables[(offset, residue, PLAIN)] = np.minimum(stay, differ)
            continue
        tables[(offset, residue, _ALL_0)] = own[0] + swap
        tables[(offset, residue, _ALL_1)] = own[1] + swap[::-1]

    def trace(row: int, key: Key, i: int) -> list[tuple[CostFunction, int, Key, int]]:
        inner = (key[0], key[1], PLAIN)
        own = child.tables[inner]
        if track:
            label = key[2]
        else:
            label = row if own[row, i] <= own[1 - row, i] + kappa else 1 - row
        return [(child, label, inner, i)]

    return CostFunction(tables, trace, True, child.step, child.width)


def closed(total: CostFunction, charge: float, opposed: float) -> CostFunction:
    """Charge the block by what its bases' labels are to its own."""
    less = {
        _ALL_0: np.array([[0.0], [min(opposed, charge)]]),
        _ALL_1: np.array([[min(opposed, charge)], [0.0]]),
        _MIXED: np.array([[charge], [charge]]),
    }
    tables: dict[Key, Array] = {}
    for (offset, residue, state), table in total.tables.items():
        _merge(tables, (offset, residue, PLAIN), table - less[state])

    def trace(row: int, key: Key, i: int) -> list[tuple[CostFunction, int, Key, int]]:
        best: tuple[float, Key] | None = None
        for state in (_ALL_0, _ALL_1, _MIXED):
            inner = (key[0], key[1], state)
            table = total.tables.get(inner)
            if table is not None and i < table.shape[1]:
                value = float((table[:, i] - less[state][:, 0])[row])
                if best is None or value < best[0]:
                    best = (value, inner)
        assert best is not None
        return [(total, row, best[1], i)]

    return CostFunction(tables, trace, False, total.step, total.width)


def added(left: CostFunction, right: CostFunction) -> CostFunction:
    """The least cost of both together, whoever bears how many of the endpoints; at the coarser of their steps."""
    step = max(left.step, right.step)
    left, right = coarser(left, step), coarser(right, step)
    tables: dict[Key, Array] = {}
    for lk, lt in left.tables.items():
        for rk, rt in right.tables.items():
            key = _sum_key(lk, rk)
            if key is not None:
                _merge(tables, key, _convolved(lt, rt))

    def trace(row: int, key: Key, i: int) -> list[tuple[CostFunction, int, Key, int]]:
        best: tuple[float, int, Key, Key] | None = None
        for lk, lt in left.tables.items():
            for rk, rt in right.tables.items():
                if _sum_key(lk, rk) != key:
                    continue
                low, high = max(0, i - rt.shape[1] + 1), min(i, lt.shape[1] - 1)
                if low > high:
                    continue
                values = lt[row, low : high + 1] + rt[row, i - high : i - low + 1][::-1]
                at = int(values.argmin())
                if best is None or values[at] < best[0]:
                    best = (float(values[at]), low + at, lk, rk)
        assert best is not None
        _, at, lk, rk = best
        return [(left, row, lk, at), (right, row, rk, i - at)]

    return CostFunction(tables, trace, False, step, left.width + right.width)


def _sum_key(left: Key, right: Key) -> Key | None:
    if left[1] >= 0 and right[1] >= 0:
        return None
    state = min(left[2], right[2]) if PLAIN in (left[2], right[2]) or left[2] == right[2] else _MIXED
    return (left[0] + right[0], max(left[1], right[1]), state)


def _merge(tables: dict[Key, Array], key: Key, table: Array) -> None:
    known = tables.get(key)
    if known is None:
        tables[key] = table
        return
    if known.shape[1] < table.shape[1]:
        known, table = table, known
    merged = known.copy()
    np.minimum(merged[:, : table.shape[1]], table, out=merged[:, : table.shape[1]])
    tables[key] = merged


def _convolved(left: Array, right: Array) -> Array:
    """Min-plus convolution of both rows, looping over the shorter operand."""
    if left.shape[1] > right.shape[1]:
        left, right = right, left
    n = right.shape[1]
    out = np.full((2, left.shape[1] + n - 1), np.inf)
    work = np.empty_like(right)
    for i in range(left.shape[1]):
        np.add(right, left[:, i : i + 1], out=work)
        window = out[:, i : i + n]
        np.minimum(window, work, out=window)
    return out
