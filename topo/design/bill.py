"""The bill of materials: switches, servers, cables by medium and length, optics; with power and price."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from topo.design.boxes import SWITCH_WORDS, Boxes
from topo.design.plugs import Plugs
from topo.design.prices import PriceList
from topo.design.routes import Routes
from topo.parts.media import MEDIA, Transceiver
from topo.result import Result, Row, Standing

__all__ = ["BILL_COLUMNS", "Bill", "BillLine", "bill_of"]

BILL_COLUMNS = ("Group", "Use", "Item", "Length m", "Count", "Power kW", "Unit price", "Price", "Source")

_USES = {
    "access": "hosts", "scale_out": "fabric", "storage": "storage", "management": "management", "scale_up": "scale-up",
}  # fmt: skip
_POWER = Standing("model", "published power of the boxes, and their optics")
_TIERS = {1: "leaf", 2: "spine", 3: "core"}


@dataclass(frozen=True, slots=True)
class BillLine:
    """Pieces of one kind: ``group`` is switch, server, cable or transceiver, ``use`` where they go.

    ``length_m`` is None for what has none; ``unit_price`` and ``price`` are None where the list has none.
    """

    group: str
    use: str
    item: str
    length_m: float | None
    count: int
    power_kw: float
    unit_price: float | None
    source: str

    @property
    def price(self) -> float | None:
        """Price of all pieces."""
        return None if self.unit_price is None else self.unit_price * self.count

    def cells(self) -> tuple[str | int | float, ...]:
        """The line as :data:`BILL_COLUMNS`."""
        length = "" if self.length_m is None else self.length_m
        unit, price = ("" if value is None else round(value, 2) for value in (self.unit_price, self.price))
        return self.group, self.use, self.item, length, self.count, round(self.power_kw, 4), unit, price, self.source


@dataclass(frozen=True)
class Bill(Result):
    """What is to be bought for a fabric, line by line; prices in ``currency``, power in kW.

    ``n_cables`` counts the legs of one cable once, ``n_links`` counts them all.
    """

    fabric: str
    currency: str
    prices: str
    lines: tuple[BillLine, ...]
    n_cables: int
    n_links: int
    total_m: float
    longest_m: float

    title: ClassVar[str] = "Bill of materials"
    derived: ClassVar[tuple[str, ...]] = ("power_kw", "price")

    def count(self, group: str, *uses: str) -> int:
        """How many pieces of a group there are, for all or some uses."""
        return sum(line.count for line in self.lines if line.group == group and (not uses or line.use in uses))

    @property
    def power_kw(self) -> float:
        """Power of everything."""
        return sum(line.power_kw for line in self.lines)

    @property
    def price(self) -> float:
        """Price of all that has one."""
        return sum(line.price or 0.0 for line in self.lines)

    @property
    def unpriced(self) -> tuple[BillLine, ...]:
        """Lines that the price list has no price for."""
        return tuple(line for line in self.lines if line.unit_price is None)

    def rows(self) -> list[Row]:
        """Counts by group, then power and price."""
        rows = [Row("fabric", self.fabric)]
        for group, plural in (("switch", "switches"), ("server", "servers")):
            for line in self.lines:
                if line.group == group:
                    rows.append(Row(f"{plural}: {line.use} {line.item}".rstrip(), line.count))
        rows.append(Row("cables", self.n_cables, standing=Standing("exact", "legs of a breakout counted once")))
        for (use, item), lines in _together(self.lines, "cable").items():
            lengths = ", ".join(f"{line.count:,} x {line.length_m:g} m" for line in lines)
            rows.append(Row(f"  {use}: {item}", f"{sum(line.count for line in lines):,}: {lengths}"))
        rows += [Row("cable in all", self.total_m, "m"), Row("longest cable", self.longest_m, "m")]
        for line in self.lines:
            if line.group == "transceiver":
                rows.append(Row(f"transceivers in {line.use}: {line.item}", line.count))
        rows.append(Row("power", round(self.power_kw, 1), "kW", _POWER))
        rows.append(Row("price", round(self.price), self.currency, Standing("model", self.prices or "the price list")))
        if self.unpriced:
            without = ", ".join(dict.fromkeys(f"{line.group} {line.item}" for line in self.unpriced))
            rows.append(Row("without a price", without))
        return rows

    def cells(self) -> Iterator[tuple[str | int | float, ...]]:
        """The lines and the totals as :data:`BILL_COLUMNS`."""
        yield from (line.cells() for line in self.lines)
        price = round(self.price, 2)
        said = "without: " + ", ".join(dict.fromkeys(line.item for line in self.unpriced)) if self.unpriced else ""
        yield "total", "", f"in {self.currency}", "", "", round(self.power_kw, 3), "", price, said


def _together(lines: Iterable[BillLine], group: str) -> dict[tuple[str, str], list[BillLine]]:
    out: dict[tuple[str, str], list[BillLine]] = defaultdict(list)
    for line in lines:
        if line.group == group:
            out[line.use, line.item].append(line)
    return dict(out)


def bill_of(boxes: Boxes, plugs: Plugs, routes: Routes, prices: PriceList) -> Bill:
    """The bill of planned cables; power of boxes is as published, without optics, which have lines of their own.

    The power that a closed rack draws beside its trays is in the lines of the trays.
    """
    lines = [*_boxes(boxes, prices), *_cables(boxes, routes, prices), *_transceivers(boxes, plugs, routes, prices)]
    return Bill(
        boxes.fabric.name, prices.currency, prices.title, tuple(lines), routes.n_cables, len(boxes.links),
        routes.total_m, routes.longest_m,
    )  # fmt: skip


def _boxes(boxes: Boxes, prices: PriceList) -> Iterator[BillLine]:
    ports = boxes.fabric.ports
    of_port = boxes.of_node[ports.node]
    rate = np.bincount(of_port[of_port >= 0], weights=np.nan_to_num(ports.gbps[of_port >= 0]), minlength=len(boxes))
    groups: dict[tuple[str, str, str, str, float], list[int]] = defaultdict(list)
    for i, (word, part, size) in enumerate(zip(boxes.word, boxes.part, boxes.size, strict=True)):
        above = bool(boxes.is_switch[i])
        tier = int(boxes.tier[i])
        use = _use(word, tier) if above else word
        gbps = round(float(rate[i]), 3) if above else 0.0
        groups["switch" if above else "server", use, part or size.name, word, gbps].append(i)
    for (group, use, item, word, gbps), rows in sorted(groups.items(), key=lambda pair: _place(pair[0], pair[1])):
        size = boxes.size[rows[0]]
        price = prices.switch(item, gbps, word) if group == "switch" else prices.host(item, word)
        kw = size.power_kw + (size.rack_kw / size.per_rack if size.per_rack else 0.0)
        source = "; ".join(text for text in (price.source, f"power: {size.source}") if text)
        yield BillLine(group, use, item, None, len(rows), kw * len(rows), price.price, source)


def _use(word: str, tier: int) -> str:
    """Leaf, spine or core, of which network where it is not the compute one."""
    name = _TIERS.get(tier, f"tier {tier}")
    return {"switch": name, "storage switch": f"storage {name}"}.get(word, "scale-up")


def _place(key: tuple[str, str, str, str, float], rows: list[int]) -> tuple[bool, int]:
    return key[0] == "server", rows[0]


def _cables(boxes: Boxes, routes: Routes, prices: PriceList) -> Iterator[BillLine]:
    kinds = boxes.fabric.links.kind
    first = routes.first
    legs = np.bincount(routes.cable, minlength=routes.n_cables)
    use = kinds.codes[boxes.links][first]
    rates, rate = np.unique(boxes.fabric.links.capacity_gbps[boxes.links][first], return_inverse=True)
    millimetres = np.round(routes.length_m[first] * 1000).astype(np.int64)
    key = np.stack([use, routes.medium[first], millimetres, legs, rate])
    groups, count = np.unique(key, axis=1, return_counts=True)
    order = sorted(range(groups.shape[1]), key=lambda i: (_use_order(str(kinds.labels[groups[0, i]])), *groups[1:, i]))
    for i in order:
        code, row, sold, links, at = (int(value) for value in groups[:, i])
        medium, length = MEDIA[row], sold / 1000
        price = prices.cable(medium, length, float(rates[at]), links)
        item = medium.title + (f", {links} legs" if links > 1 else "")
        label = str(kinds.labels[code])
        use_text = _USES.get(label, label)
        yield BillLine("cable", use_text, item, length, int(count[i]), 0.0 if medium.is_fibre else
                       2 * medium.end_w * links * int(count[i]) / 1e3, price.price, price.source)  # fmt: skip


def _use_order(kind: str) -> int:
    return list(_USES).index(kind) if kind in _USES else len(_USES)


def _transceivers(boxes: Boxes, plugs: Plugs, routes: Routes, prices: PriceList) -> Iterator[BillLine]:
    counts: dict[tuple[str, Transceiver], int] = defaultdict(int)
    where = {"host": "hosts"} | dict.fromkeys(SWITCH_WORDS, "switches")
    for end, box in zip(routes.ends, plugs.box.tolist(), strict=True):
        if end is not None:
            counts[where.get(boxes.word[box], "other boxes"), end] += 1
    for (use, one), count in sorted(counts.items(), key=lambda pair: (pair[0][0], pair[0][1].title)):
        price = prices.transceiver(one)
        kw = prices.transceiver_w(one) * count / 1e3
        yield BillLine("transceiver", use, one.title, None, count, kw, price.price, price.source or one.source)
