"""The bill of materials of a fabric as a section of its report: racked and cabled by the usual rules and prices."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from topo.errors import TopoError
from topo.report.answers import why_not
from topo.report.asked import LeftOut
from topo.report.content import Facts, Grid, Section, Text
from topo.result import Row
from topo.units import format_number
from topo.view.text import plural

if TYPE_CHECKING:
    from topo.design.bill import Bill, BillLine
    from topo.design.planning import CablingPlan
    from topo.fabric import Fabric

__all__ = ["ask_bill", "bill_section", "has_cables"]

_TITLE = "Bill of materials"


def has_cables(fabric: Fabric) -> bool:
    """Whether any cable joins two boxes, so that there is something to buy and to pull."""
    from topo.design.boxes import boxes_of

    return bool(len(boxes_of(fabric).links))


def ask_bill(fabric: Fabric) -> CablingPlan:
    """The plan of a fabric by the usual rules, without the files.

    :raises TopoError: no cable between boxes, a link of unknown rate, a box that no usual rack takes.
    """
    from topo.design.planning import cabling_plan

    return cabling_plan(fabric)


def bill_section(answer: CablingPlan | LeftOut | TopoError) -> Section:
    """Racks, cables, power and price, then every line of the bill."""
    if isinstance(answer, TopoError):
        return Section("bill", _TITLE, why_not(answer))
    if isinstance(answer, LeftOut):
        return Section("bill", _TITLE, [Text(str(answer))])
    items: list[Text | Facts | Grid] = [
        Text(
            "Racks filled and cables measured by the usual rules; topo plan writes the schedule, the labels and the "
            "rack elevations, and takes rules (--racks) and prices (--prices) of your own."
        ),
        Facts(tuple(_totals(answer))),
        *_grids(answer.bill),
    ]
    return Section("bill", _TITLE, items)


def _totals(answer: CablingPlan) -> Iterator[Row]:
    wanted = {"racks", "cables", "cable in all", "longest cable", "power", "assumed"}
    yield from (row for row in answer.rows() if row.label in wanted)
    yield from (row for row in answer.bill.rows() if row.label in {"price", "without a price"})


def _grids(bill: Bill) -> Iterator[Grid]:
    head = ("piece", "where", "count", "power, kW", f"price, {bill.currency}")
    boxes = tuple(_cells(line) for line in bill.lines if line.group in ("switch", "server"))
    yield Grid(head, boxes, "Switches and servers", "Power is that of the boxes without optics.")
    lengths: dict[tuple[str, str], list[BillLine]] = {}
    for line in bill.lines:
        if line.group == "cable":
            lengths.setdefault((line.use, line.item), []).append(line)
    rows = tuple(
        (item, use, f"{sum(line.count for line in lines):,}",
         ", ".join(f"{line.count:,} x {line.length_m:g} m" for line in lines), _money(lines))
        for (use, item), lines in lengths.items()
    )  # fmt: skip
    total = f"{plural(bill.n_cables, 'cable')}, {format_number(bill.total_m)} m; the longest {bill.longest_m:g} m."
    yield Grid(("cable", "for", "count", "lengths", f"price, {bill.currency}"), rows, "Cables", total)
    optics = tuple(_cells(line) for line in bill.lines if line.group == "transceiver")
    if optics:
        note = "One for each cage that holds a fibre, whatever its number of ports."
        if all(line.price == 0 for line in bill.lines if line.group == "transceiver"):
            note += " The price list counts them in the price of their cables."
        yield Grid(head, optics, "Transceivers", note)


def _cells(line: BillLine) -> tuple[str, ...]:
    return line.item, line.use, f"{line.count:,}", _kilowatts(line.power_kw), _money([line])


def _kilowatts(power: float) -> str:
    """To ten watts, so that the lines add up to the total.

    >>> _kilowatts(20889.6), _kilowatts(0.0105), _kilowatts(384)
    ('20,889.6', '0.01', '384')
    """
    return f"{power:,.2f}".rstrip("0").rstrip(".") if math.isfinite(power) else "-"


def _money(lines: list[BillLine]) -> str:
    known = [line.price for line in lines if line.price is not None]
    return f"{sum(known):,.0f}" if len(known) == len(lines) else "-"
