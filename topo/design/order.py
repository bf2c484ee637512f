"""A better order of the racks on the floor: exchange racks while that shortens the cables."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from topo.design.boxes import Boxes
from topo.design.layout import Layout, row_letters
from topo.errors import ParameterError

__all__ = ["MOST_RACKS", "reorder"]

MOST_RACKS = 3000
"""Most racks whose order is searched: the search holds a few matrices of racks by racks."""

_MOST_ROUNDS = 400


def reorder(boxes: Boxes, layout: Layout) -> Layout:
    """The same racks at better places: exchanges of two racks, the best first, until none shortens the cables.

    The total way on the floor, sum over pairs of racks of cables times distance, is a quadratic assignment problem;
    what comes out is a local optimum under exchanges, an upper bound on the shortest. Racks that the rules fix stay.

    :raises ParameterError: more than ``MOST_RACKS`` racks.
    """
    n = layout.n_racks
    if n > MOST_RACKS:
        raise ParameterError(f"{n:,} racks are too many for a search of their order; at most {MOST_RACKS:,} are")
    weight = np.zeros((n, n))
    pair = layout.of_box[boxes.a], layout.of_box[boxes.b]
    np.add.at(weight, pair, 1.0)
    weight += weight.T
    np.fill_diagonal(weight, 0.0)
    place = layout.place_m(np.arange(n))
    apart = np.abs(place[:, None] - place[None, :]).sum(axis=-1)
    fixed = {one.rack for one in layout.rules.place if one.row is not None}
    free = np.array([name not in fixed for name in layout.rack], bool)
    at = _improved(weight, apart, free)
    row, position = layout.row[at], layout.position[at]
    renamed = _renamed(layout, at)
    return replace(layout, row=row, position=position, rack=renamed)


def _improved(weight: NDArray[np.float64], apart: NDArray[np.float64], free: NDArray[np.bool_]) -> NDArray[np.int64]:
    """The place of every rack once no exchange of two shortens the way; several disjoint exchanges a round."""
    n = len(weight)
    at = np.arange(n)
    total = float((weight * apart).sum())
    for _ in range(_MOST_ROUNDS):
        here = apart[np.ix_(at, at)]
        cross = weight @ here
        own = np.diag(cross)
        gain = own[:, None] + own[None, :] - cross - cross.T - 2 * weight * here
        gain[~free, :] = gain[:, ~free] = -1.0
        gain[np.tril_indices(n)] = -1.0
        chosen = _disjoint(gain)
        if not len(chosen):
            break
        at, total = _applied(weight, apart, at, total, chosen)
    return at


def _disjoint(gain: NDArray[np.float64]) -> list[tuple[int, int]]:
    """The exchanges that gain most, no rack in two of them."""
    best = gain.argmax(axis=1)
    value = gain[np.arange(len(gain)), best]
    taken: set[int] = set()
    chosen = []
    for i in np.argsort(-value).tolist():
        if value[i] <= 1e-9:
            break
        j = int(best[i])
        if i not in taken and j not in taken:
            chosen.append((i, j))
            taken |= {i, j}
    return chosen


def _applied(
    weight: NDArray[np.float64], apart: NDArray[np.float64], at: NDArray[np.int64], total: float,
    chosen: list[tuple[int, int]],
) -> tuple[NDArray[np.int64], float]:  # fmt: skip
    """All of the exchanges at once where that gains, else the first half of them, down to the best one alone."""
    while True:
        tried = at.copy()
        for i, j in chosen:
            tried[i], tried[j] = tried[j], tried[i]
        now = float((weight * apart[np.ix_(tried, tried)]).sum())
        if now < total - 1e-9 or len(chosen) == 1:
            return tried, now
        chosen = chosen[: len(chosen) // 2]


def _renamed(layout: Layout, at: NDArray[np.int64]) -> list[str]:
    """Racks named by their place take the name of their new place; given names stay."""
    width = max(len(str(int(layout.position.max(initial=1)))), 2)
    by_place = [
        f"{row_letters(int(row))}{int(position):0{width}d}"
        for row, position in zip(layout.row, layout.position, strict=True)
    ]
    return [
        by_place[new] if name == by_place[old] else name
        for old, (name, new) in enumerate(zip(layout.rack, at.tolist(), strict=True))
    ]
