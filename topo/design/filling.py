"""One cell's boxes into racks: by rack units, by power, by number of switches; each box at its rack unit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from topo.design.boxes import Boxes
from topo.design.cells import Cell
from topo.design.rules import RackRules
from topo.errors import ParameterError
from topo.table import Array

__all__ = ["Filled", "expect_fit", "fill"]


@dataclass(frozen=True, eq=False)
class Filled:
    """One rack: its boxes with the lowest rack unit of each, its limits, what it holds in a word, its given name."""

    boxes: NDArray[np.int64]
    unit: NDArray[np.int64]
    word: str
    power_kw: float
    units: int
    name: str = ""


def expect_fit(boxes: Boxes, rules: RackRules, power: Array) -> None:
    """Refuse a box that no rack takes.

    :raises ParameterError: a box higher than a rack or that draws more, with both numbers and the nearest that works.
    """
    units = boxes.units
    closed = np.array([bool(size.per_rack) for size in boxes.size], bool)
    tall = np.flatnonzero(units > rules.rack.units)
    if tall.size:
        i = int(tall[0])
        raise ParameterError(
            f"{boxes.name[i]} ({boxes.size[i].name}) takes {units[i]} rack units, but rack.units is "
            f"{rules.rack.units}; set it to {int(units.max())} or more"
        )
    hungry = np.flatnonzero(~closed & (power > rules.rack.power_kw))
    if hungry.size:
        i = int(hungry[np.argmax(power[hungry])])
        raise ParameterError(
            f"{boxes.name[i]} ({boxes.size[i].name}) draws {power[i]:.2f} kW with its optics, but rack.power_kw is "
            f"{rules.rack.power_kw:g} and {hungry.size:,} boxes draw more than that; set it to "
            f"{np.ceil(power[i] * 10) / 10:g} or more"
        )
    for size in {size for size in boxes.size if size.per_rack}:
        kw = size.per_rack * float(power[[one is size for one in boxes.size]].max()) + size.rack_kw
        if kw > rules.rack.closed_kw:
            raise ParameterError(
                f"a rack of {size.per_rack} {size.name} draws {kw:.1f} kW with its switch trays and optics, but "
                f"rack.closed_kw is {rules.rack.closed_kw:g}; set it to {np.ceil(kw):g} or more"
            )


def fill(boxes: Boxes, rules: RackRules, power: Array, cell: Cell) -> list[Filled]:
    """The racks of a cell: hosts first, its racks of switches at the end or in the middle of them."""
    hosts = [filled for rack in cell.named for filled in _named(boxes, rules, power, rack)]
    hosts += _groups(boxes, rules, power, cell.groups)
    hosts += _in_order(boxes, rules, power, cell.hosts, cell.word or "hosts")
    word = cell.word or "leaves"
    switches = _in_order(boxes, rules, power, cell.switches, word, most=rules.rack.switches, down=True)
    if cell.where == "middle_of_row":
        half = len(hosts) // 2
        return [*hosts[:half], *switches, *hosts[half:]]
    return [*hosts, *switches]


def _named(boxes: Boxes, rules: RackRules, power: Array, cell: Cell) -> list[Filled]:
    """A rack of a given name; boxes that one rack does not hold go on in ``name.2``, ``name.3``, ..."""
    together = sorted([*cell.hosts, *cell.switches])
    one = _one_rack(boxes, rules, power, together)
    if one is not None:
        return [Filled(one.boxes, one.unit, one.word, one.power_kw, one.units, cell.name)]
    racks = _in_order(boxes, rules, power, cell.hosts, "hosts")
    racks += _in_order(boxes, rules, power, cell.switches, "leaves", most=rules.rack.switches, down=True)
    return [
        Filled(rack.boxes, rack.unit, rack.word, rack.power_kw, rack.units, f"{cell.name}.{i}" if i > 1 else cell.name)
        for i, rack in enumerate(racks, 1)
    ]


def _one_rack(boxes: Boxes, rules: RackRules, power: Array, rows: Sequence[int]) -> Filled | None:
    closed = next((boxes.size[i] for i in rows if boxes.size[i].per_rack), None)
    limit = rules.rack.closed_kw if closed else rules.rack.power_kw
    index = np.array(rows, np.int64)
    kw = power[index].sum() + (closed.rack_kw if closed else 0.0)
    if boxes.units[index].sum() > rules.rack.units or kw > limit:
        return None
    return _stacked(boxes, rules, index, "closed rack" if closed else "hosts", limit)


def _groups(boxes: Boxes, rules: RackRules, power: Array, groups: Sequence[NDArray[np.int64]]) -> list[Filled]:
    """Groups of a leaf and its hosts, as many whole ones in a rack as it holds."""
    racks: list[Filled] = []
    held: list[NDArray[np.int64]] = []
    units = kw = 0.0
    for group in groups:
        more_units, more_kw = int(boxes.units[group].sum()), float(power[group].sum())
        if held and (units + more_units > rules.rack.units or kw + more_kw > rules.rack.power_kw):
            racks.append(_stacked(boxes, rules, np.concatenate(held), "hosts and leaf", rules.rack.power_kw))
            held, units, kw = [], 0.0, 0.0
        held.append(group)
        units, kw = units + more_units, kw + more_kw
    if held:
        racks.append(_stacked(boxes, rules, np.concatenate(held), "hosts and leaf", rules.rack.power_kw))
    return racks


def _in_order(
    boxes: Boxes, rules: RackRules, power: Array, rows: Sequence[int], word: str, *, most: int = 0, down: bool = False
) -> list[Filled]:
    """Boxes in order, a new rack where the next one does not fit; closed racks hold their own kind alone."""
    racks: list[Filled] = []
    held: list[int] = []
    kw, units, kind = 0.0, 0, -1
    sizes = boxes.units.tolist()
    for i in rows:
        size = boxes.size[i]
        limit = rules.rack.closed_kw if size.per_rack else rules.rack.power_kw
        full = kw + power[i] > limit or units + sizes[i] > rules.rack.units
        full |= bool(most and len(held) >= most) or bool(size.per_rack and len(held) >= size.per_rack)
        if held and (full or size.per_rack != kind):
            racks.append(_rack(boxes, rules, held, word, down))
            held, kw, units = [], 0.0, 0
        if not held:
            kw, units = size.rack_kw, size.rack_units
        held.append(i)
        kind = size.per_rack
        kw += float(power[i])
        units += sizes[i]
    if held:
        racks.append(_rack(boxes, rules, held, word, down))
    return racks


def _rack(boxes: Boxes, rules: RackRules, held: Sequence[int], word: str, down: bool) -> Filled:
    closed = bool(boxes.size[held[0]].per_rack)
    limit = rules.rack.closed_kw if closed else rules.rack.power_kw
    return _stacked(boxes, rules, np.array(held, np.int64), "closed rack" if closed else word, limit, down=down)


def _stacked(
    boxes: Boxes, rules: RackRules, rows: NDArray[np.int64], word: str, limit: float, *, down: bool = False
) -> Filled:
    """Hosts from the lowest unit up, switches from the highest down; a rack of switches is filled from the top."""
    above = boxes.is_switch[rows] | down
    units = boxes.units[rows]
    unit = np.empty(len(rows), np.int64)
    lower = np.flatnonzero(~above)
    unit[lower] = 1 + np.cumsum(units[lower]) - units[lower]
    upper = np.flatnonzero(above)
    unit[upper] = rules.rack.units + 1 - np.cumsum(units[upper])
    return Filled(rows, unit, word, limit, rules.rack.units)
