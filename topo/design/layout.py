"""Boxes into racks and racks onto the floor: leaves beside their hosts, rails together, spines in the middle."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from topo.design.boxes import Boxes
from topo.design.cells import cells_of
from topo.design.filling import Filled, expect_fit, fill
from topo.design.rules import RackRules
from topo.errors import ParameterError
from topo.table import Array

__all__ = ["UNIT_M", "Layout", "lay_out", "least_power_kw", "row_letters"]

UNIT_M = 0.04445
"""Height of a rack unit, EIA-310."""

_FOOT_M = 0.1


@dataclass(frozen=True, eq=False)
class Layout:
    """Where every box stands: its rack and its lowest rack unit; where every rack stands: its row and position.

    Rows and positions count from 1. ``power_kw`` is what a rack may draw, ``allowed_units`` what it holds, ``word``
    what kind of rack it is.
    """

    rack: list[str]
    word: list[str]
    row: NDArray[np.int64]
    position: NDArray[np.int64]
    power_kw: NDArray[np.float64]
    allowed_units: NDArray[np.int64]
    of_box: NDArray[np.int64]
    unit: NDArray[np.int64]
    rules: RackRules

    @property
    def n_racks(self) -> int:
        """How many racks there are."""
        return len(self.rack)

    def place_m(self, racks: Array) -> NDArray[np.float64]:
        """Where racks stand on the floor, shape (racks, 2): along the row, and across the rows."""
        hall = self.rules.hall
        along, across = self.position[racks] * hall.rack_width_m, self.row[racks] * hall.row_pitch_m
        return np.stack([along, across], axis=-1)

    def height_m(self, boxes: Boxes) -> NDArray[np.float64]:
        """Height of the middle of every box above the floor."""
        middle: NDArray[np.float64] = _FOOT_M + (self.unit - 1 + boxes.units / 2) * UNIT_M
        return middle

    @property
    def tray_m(self) -> float:
        """Height of the cable tray above the floor."""
        return _FOOT_M + int(self.rules.rack.units) * UNIT_M + self.rules.hall.tray_m


def lay_out(boxes: Boxes, rules: RackRules, optics_kw: Array) -> Layout:
    """Racks by the rules; ``optics_kw`` is what the pluggable ends in every box draw at most.

    :raises ParameterError: a box that no rack takes, or more racks than there may be; with the nearest that works.
    """
    power = boxes.power_kw + optics_kw
    expect_fit(boxes, rules, power)
    cells, middle = cells_of(boxes, rules, power)
    blocks = [fill(boxes, rules, power, cell) for cell in cells]
    spines = [filled for cell in middle for filled in fill(boxes, rules, power, cell)]
    half = sum(map(len, blocks)) / 2 if rules.spine == "middle" else np.inf
    placed: list[list[Filled]] = []
    for block in blocks:
        if spines and sum(map(len, placed)) + len(block) / 2 > half:
            placed.append(spines)
            spines = []
        placed.append(block)
    placed += [spines] if spines else []
    needed, most = sum(map(len, placed)), rules.hall.most_racks
    if most is not None and needed > most:
        raise ParameterError(_too_few(boxes, rules, power, needed, most))
    return _on_the_floor(boxes, rules, placed)


def _too_few(boxes: Boxes, rules: RackRules, power: Array, needed: int, most: int) -> str:
    said = f"{needed:,} racks are needed by these rules, but hall.most_racks is {most:,}: {needed - most:,} too few"
    enough = least_power_kw(boxes, rules, power, most)
    if enough is not None:
        return f"{said}; {most:,} would do at rack.power_kw of {enough:g} instead of {rules.rack.power_kw:g}"
    fullest = _n_racks(boxes, _with_power(rules, 1000.0), power)
    return (
        f"{said}; however much power a rack has, {fullest:,} are needed (rack.units {rules.rack.units}, "
        f"rack.switches {rules.rack.switches}); set most_racks to {needed:,}, or to {fullest:,} with more power"
    )


def least_power_kw(boxes: Boxes, rules: RackRules, power: Array, racks: int) -> float | None:
    """The least power of a rack, in whole kW, at which so many racks do; None where none is enough."""
    low, high = int(np.ceil(rules.rack.power_kw)), 1000
    if _n_racks(boxes, _with_power(rules, float(high)), power) > racks:
        return None
    while low < high:
        middle = (low + high) // 2
        if _n_racks(boxes, _with_power(rules, float(middle)), power) <= racks:
            high = middle
        else:
            low = middle + 1
    return float(low)


def _n_racks(boxes: Boxes, rules: RackRules, power: Array) -> int:
    cells, middle = cells_of(boxes, rules, power)
    return sum(len(fill(boxes, rules, power, cell)) for cell in (*cells, *middle))


def _with_power(rules: RackRules, power_kw: float) -> RackRules:
    return rules.model_copy(update={"rack": rules.rack.model_copy(update={"power_kw": power_kw})})


def _on_the_floor(boxes: Boxes, rules: RackRules, blocks: Sequence[Sequence[Filled]]) -> Layout:
    """Blocks of racks row by row; one that fits into a row is not torn over two."""
    across = rules.hall.racks_per_row
    fixed = {one.rack: (one.row, one.position) for one in rules.place if one.row is not None}
    taken = set(fixed.values())
    places: list[tuple[int, int]] = []
    filled: list[Filled] = []
    at = 0
    for block in blocks:
        left = across - at % across
        if left < len(block) <= across:
            at += left
        for rack in block:
            spot = fixed.get(rack.name)
            while spot is None:
                here = (at // across + 1, at % across + 1)
                at += 1
                spot = here if here not in taken else None
            places.append((int(spot[0] or 1), int(spot[1] or 1)))
            filled.append(rack)
    of_box = np.full(len(boxes), -1, np.int64)
    unit = np.ones(len(boxes), np.int64)
    for number, rack in enumerate(filled):
        of_box[rack.boxes] = number
        unit[rack.boxes] = rack.unit
    return Layout(
        _names(filled, places), [rack.word for rack in filled], np.array([row for row, _ in places], np.int64),
        np.array([position for _, position in places], np.int64),
        np.array([rack.power_kw for rack in filled], float), np.array([rack.units for rack in filled], np.int64),
        of_box, unit, rules,
    )  # fmt: skip


def _names(filled: Sequence[Filled], places: Sequence[tuple[int, int]]) -> list[str]:
    """The names that are given; all others by row and position: A01, A02, ..., B01, ..."""
    given = {rack.name for rack in filled}
    width = len(str(max((position for _, position in places), default=1)))
    names = []
    for rack, (row, position) in zip(filled, places, strict=True):
        name = rack.name or f"{row_letters(row)}{position:0{max(width, 2)}d}"
        while not rack.name and name in given:
            name += "x"
        names.append(name)
    return names


def row_letters(row: int) -> str:
    """Letters of a row from 1: A to Z, then AA.

    >>> [row_letters(n) for n in (1, 26, 27, 703)]
    ['A', 'Z', 'AA', 'AAA']
    """
    text = ""
    while row > 0:
        row, digit = divmod(row - 1, 26)
        text = chr(ord("A") + digit) + text
    return text
