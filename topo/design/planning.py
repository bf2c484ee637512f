"""A fabric to what the people who build it need: racks, cables, labels, a bill; shown, and written as files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from topo.design.bill import BILL_COLUMNS, Bill, bill_of
from topo.design.boxes import Boxes, boxes_of
from topo.design.elevations import RACK_COLUMNS, UNIT_COLUMNS, elevations_page, rack_power_kw, rack_rows, unit_rows
from topo.design.layout import Layout, lay_out
from topo.design.order import reorder
from topo.design.plugs import plugs_of
from topo.design.prices import PriceList, price_list
from topo.design.pull import pull_page
from topo.design.routes import Routes, optics_kw, routes_of
from topo.design.rules import RackRules, read_rack_rules
from topo.design.schedule import Schedule, as_csv
from topo.design.sheets import workbook_of
from topo.errors import ParameterError
from topo.fabric import Fabric, expect_fabric
from topo.io.written import expect_rates
from topo.output import write_folder
from topo.progress import part
from topo.result import Result, Row, Standing, hidden
from topo.view.text import plural

__all__ = ["CablingPlan", "cabling_plan", "write_plan"]

_POWER = Standing("model", "published power of the boxes, and their optics")
_RACKED = Standing("model", "boxes put into racks by the rules")
_MEASURED = Standing("model", "by tray, with slack, as sold")


@dataclass(frozen=True)
class CablingPlan(Result):
    """Where every box of a fabric stands and how every cable of it runs; lengths in m, power in kW.

    ``before_m`` is the length of all cables in the order of racks that the rules give, where a better order was
    searched, else nan. ``fullest_rack`` is the one nearest to its limit of power. ``assumed`` are the sizes of boxes
    that nothing is known of.
    """

    fabric: str
    n_racks: int
    n_rows: int
    n_cables: int
    n_links: int
    n_bundles: int
    total_m: float
    longest_m: float
    longest: str
    before_m: float
    power_kw: float
    fullest_rack: str
    fullest_kw: float
    bill: Bill
    assumed: tuple[str, ...]
    schedule: Schedule = hidden()
    layout: Layout = hidden()
    rack_kw: NDArray[np.float64] = hidden()
    box_kw: NDArray[np.float64] = hidden()

    title: ClassVar[str] = "Cabling plan"

    def rows(self) -> list[Row]:
        """Racks, cables, power."""
        counts = Counter(self.layout.word)
        kinds = ", ".join(f"{count:,} of {word}" for word, count in counts.items())
        rows = [
            Row("fabric", self.fabric),
            Row("racks", f"{self.n_racks:,} in {plural(self.n_rows, 'row')}: {kinds}", standing=_RACKED),
            Row("cables", self.n_cables, standing=Standing("exact", "legs of a breakout counted once")),
        ]
        if self.n_links != self.n_cables:
            rows.append(Row("links on them", self.n_links))
        rows += [
            Row("bundles (pairs of racks)", self.n_bundles),
            Row("cable in all", self.total_m, "m", _MEASURED),
            Row("longest cable", f"{self.longest_m:g} m, {self.longest}", standing=_MEASURED),
        ]
        if np.isfinite(self.before_m):
            saved = 1 - self.total_m / self.before_m if self.before_m else 0.0
            text = f"{self.before_m:,.0f} m before, {100 * saved:.1f} % less now"
            rows.append(Row("order of racks searched", text, standing=Standing("upper bound", "local optimum")))
        rows.append(Row("power", round(self.power_kw, 1), "kW", _POWER))
        rows.append(Row("fullest rack", f"{self.fullest_rack}, {self.fullest_kw:.1f} kW"))
        return rows + [Row("assumed", text) for text in self.assumed]

    @cached_property
    def boxes(self) -> Boxes:
        """The boxes that stand in the racks."""
        return self.schedule.boxes

    @property
    def routes(self) -> Routes:
        """Lengths and media of all cables."""
        return self.schedule.routes

    def schedule_csv(self) -> str:
        """The cable schedule as CSV, which the reader of schedules takes back."""
        return self.schedule.to_csv()

    def labels_csv(self) -> str:
        """The labels of all ends as CSV."""
        return self.schedule.labels_csv()

    def bill_csv(self) -> str:
        """The bill of materials as CSV."""
        return as_csv(BILL_COLUMNS, self.bill.cells())

    def racks_csv(self) -> str:
        """Every rack with its place and power as CSV."""
        return as_csv(RACK_COLUMNS, rack_rows(self.boxes, self.layout, self.rack_kw))

    def units_csv(self) -> str:
        """Every box with its rack and rack units as CSV."""
        return as_csv(UNIT_COLUMNS, unit_rows(self.boxes, self.layout, self.box_kw))

    def elevations_html(self) -> str:
        """The floor and all racks as one page to print."""
        return elevations_page(self.boxes, self.layout, self.routes, self.rack_kw, self.box_kw)

    def pull_html(self) -> str:
        """The schedule as one page to print, bundle by bundle, with a box to tick a cable."""
        return pull_page(self.schedule)

    def workbook(self) -> bytes:
        """Schedule, racks, boxes and bill as sheets of one XLSX workbook.

        :raises InputError: XlsxWriter is not installed.
        """
        return workbook_of(self.schedule, self.bill, self.layout, self.rack_kw, self.box_kw)


def cabling_plan(
    fabric: Fabric,
    *,
    racks: RackRules | str | Path | None = None,
    prices: PriceList | str | Path | None = None,
    search_order: bool = False,
) -> CablingPlan:
    """Racks, cable lengths, media and a bill for a fabric, by rules that a file may replace.

    Hosts stand unit by unit, the leaves of a unit beside them by rail, or on top of their hosts where that is one
    rackful; spines in the middle. A cable's length is the way up to the tray, along and across, and down, plus slack,
    rounded up to the next length that is sold; its medium the shortest-reaching one that does, the same for all cables
    of a cage. ``search_order`` exchanges racks while that shortens the cables.

    >>> import topo
    >>> plan = topo.cabling_plan(topo.load("nvidia-superpod-h100-4su"))
    >>> plan.n_racks, plan.bill.count("cable", "hosts", "fabric"), plan.bill.count("transceiver", "switches")
    (38, 2040, 1536)

    :raises ParameterError: a box that no rack takes, too few racks, a cable longer than any medium allows, a link of
        unknown rate, or a fabric without cables between boxes.
    :raises InputError: a file of rules or prices that cannot be used.
    """
    expect_fabric(fabric)
    rules = racks if isinstance(racks, RackRules) else RackRules() if racks is None else read_rack_rules(racks)
    given = price_list(prices)
    boxes = _powered(boxes_of(fabric, rules.sizes()), given)
    if not len(boxes.links):
        raise ParameterError(f"{fabric.name!r} has no cable between boxes; there is nothing to plan")
    expect_rates(fabric, "a cabling plan")
    plugs = plugs_of(boxes)
    layout = lay_out(boxes, rules, optics_kw(boxes, plugs, rules, given))
    before = float("nan")
    if search_order:
        before = routes_of(boxes, plugs, layout).total_m
        layout = reorder(boxes, layout)
    routes = routes_of(boxes, plugs, layout, given)
    return _summed(Schedule(boxes, plugs, layout, routes), before, bill_of(boxes, plugs, routes, given))


def _powered(boxes: Boxes, prices: PriceList) -> Boxes:
    """The boxes with the power that a price list states."""
    if all(row.power_kw is None for rows in (prices.switches, prices.hosts) for row in rows.values()):
        return boxes
    given = zip(boxes.size, boxes.part, boxes.word, strict=True)
    return replace(boxes, size=[prices.powered(size, part, word) for size, part, word in given])


def _summed(schedule: Schedule, before_m: float, bill: Bill) -> CablingPlan:
    boxes, plugs, layout, routes = schedule.boxes, schedule.plugs, schedule.layout, schedule.routes
    rack_kw = rack_power_kw(boxes, layout, routes, plugs.box)
    box_kw = boxes.power_kw + np.bincount(plugs.box, weights=routes.end_w, minlength=len(boxes)) / 1e3
    at = int(np.argmax(routes.length_m))
    ends = [f"{boxes.name[box]} in {layout.rack[layout.of_box[box]]}" for box in (int(boxes.a[at]), int(boxes.b[at]))]
    fullest = int(np.argmax(rack_kw / layout.power_kw))
    used = {size.name: size for size in boxes.size if size.label == "assumed"}
    assumed = tuple(f"{name}: {size.units} U, {size.power_kw:g} kW: {size.source}" for name, size in used.items())
    return CablingPlan(
        boxes.fabric.name, layout.n_racks, int(layout.row.max(initial=0)), routes.n_cables, len(boxes.links),
        int(routes.bundle.max(initial=-1)) + 1, routes.total_m, routes.longest_m, " to ".join(ends), before_m,
        float(rack_kw.sum()), layout.rack[fullest], float(rack_kw[fullest]), bill, assumed, schedule, layout, rack_kw,
        box_kw,
    )  # fmt: skip


def write_plan(plan: CablingPlan, folder: str | Path, *, xlsx: bool = True) -> list[Path]:
    """Write a plan into a folder: all files or none, and none before all of them are made.

    ``schedule.csv``, ``labels.csv``, ``bill.csv``, ``racks.csv``, ``boxes.csv``; to print, ``elevations.html`` and
    ``pull.html``, the schedule by bundle; with ``xlsx``, ``plan.xlsx`` that holds all tables but the labels.

    >>> import tempfile, topo
    >>> plan = cabling_plan(topo.leaf_spine(leaves=2, spines=2, hosts_per_leaf=4))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     files = write_plan(plan, Path(folder, "plan"), xlsx=False)
    ...     read = topo.read(files[0])
    >>> [path.name for path in files][:2], len(read.links)
    (['schedule.csv', 'labels.csv'], 12)

    :raises InputError: the folder cannot be made or written, or XlsxWriter is not installed.
    """
    makers: dict[str, Callable[[], str | bytes]] = {
        "schedule.csv": plan.schedule_csv,
        "labels.csv": plan.labels_csv,
        "bill.csv": plan.bill_csv,
        "racks.csv": plan.racks_csv,
        "boxes.csv": plan.units_csv,
        "elevations.html": plan.elevations_html,
        "pull.html": plan.pull_html,
    }
    if xlsx:
        makers["plan.xlsx"] = plan.workbook
    made: dict[str, str | bytes] = {}
    for name, make in makers.items():
        with part(name, 1.0 if name == "plan.xlsx" else 0.05):  # the workbook takes far longer than all the rest
            made[name] = make()
    return write_folder(folder, made)
