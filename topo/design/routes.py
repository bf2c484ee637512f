"""How long every cable is and what it is made of: route by tray, slack, medium by length and rate, ends by cage."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import get_args

import numpy as np
from numpy.typing import NDArray

from topo.design.boxes import Boxes
from topo.design.layout import Layout
from topo.design.plugs import Plugs
from topo.design.prices import DEFAULT_PRICES, PriceList
from topo.design.rules import CableRule, MediumKind, RackRules
from topo.errors import ParameterError
from topo.parts.media import MEDIA, MEDIUM_ORDER, Medium, Transceiver, transceiver_of
from topo.table import Array

__all__ = ["Routes", "optics_kw", "routes_of"]


@dataclass(frozen=True, eq=False)
class Routes:
    """Every cable of a layout, one row a link as in :class:`~topo.design.boxes.Boxes`.

    ``route_m`` is the way with slack, ``length_m`` the next length that is sold. ``medium`` is an index into
    :data:`~topo.parts.media.MEDIA`. Links of one ``cable`` (numbered from 0) are its legs: a breakout, or a copper
    cable between two cages of several ports; ``leg`` counts from 1, 0 for a cable of one link. ``bundle`` numbers the
    pairs of racks. ``ends`` are the transceivers of all plugs, None where the end is fixed to the cable; ``end_w``
    what each plug draws.
    """

    route_m: NDArray[np.float64]
    length_m: NDArray[np.float64]
    medium: NDArray[np.int64]
    cable: NDArray[np.int64]
    leg: NDArray[np.int64]
    bundle: NDArray[np.int64]
    ends: list[Transceiver | None]
    end_w: NDArray[np.float64]

    @property
    def n_cables(self) -> int:
        """Cables; the legs of one count once."""
        return int(self.cable.max(initial=-1)) + 1

    @property
    def first(self) -> NDArray[np.int64]:
        """The first link of every cable."""
        _, first = np.unique(self.cable, return_index=True)
        return first.astype(np.int64)

    @property
    def total_m(self) -> float:
        """Length of all cables as bought, the legs of one counted once."""
        return float(self.length_m[self.first].sum())

    @property
    def longest_m(self) -> float:
        """The longest cable as bought."""
        return float(self.length_m.max(initial=0.0))


def _choices(gbps: float, rules: RackRules) -> list[int]:
    """The media that carry a rate, as rows of MEDIA from the shortest reach to the longest, of those bought."""
    rates = sorted({row.gbps for row in MEDIA})
    able = [rate for rate in rates if rate >= gbps] or rates[-1:]
    return [
        i
        for kind in MEDIUM_ORDER
        if kind in rules.media
        for i, row in enumerate(MEDIA)
        if row.kind == kind and row.gbps == able[0]
    ]


def _end_w(medium: Medium, links: int, prices: PriceList) -> float:
    """What the end of a cable in one cage draws, W."""
    return prices.transceiver_w(transceiver_of(medium, links)) if medium.is_fibre else medium.end_w * links


def optics_kw(boxes: Boxes, plugs: Plugs, rules: RackRules, prices: PriceList = DEFAULT_PRICES) -> NDArray[np.float64]:
    """What the pluggable ends in every box draw at most, whatever medium the lengths ask for, kW."""
    pairs, code = np.unique(np.stack([plugs.gbps, plugs.links]), axis=1, return_inverse=True)
    worst = [
        max((_end_w(MEDIA[i], int(links), prices) for i in _choices(float(gbps), rules)), default=0.0)
        for gbps, links in pairs.T
    ]
    watts = np.array(worst, float)[code.ravel()] if len(plugs) else np.zeros(0)
    return np.bincount(plugs.box, weights=watts, minlength=len(boxes)) / 1e3


def routes_of(boxes: Boxes, plugs: Plugs, layout: Layout, prices: PriceList = DEFAULT_PRICES) -> Routes:
    """Lengths and media of all cables; what their ends draw is as ``prices`` states it, else as the part does.

    :raises ParameterError: a cable that is longer than any medium allows, with both lengths and what would do.
    """
    route = _route_m(boxes, layout)
    gbps = boxes.fabric.links.capacity_gbps[boxes.links]
    simple, hub = _stars(plugs)
    medium = _media(boxes, plugs, layout, route, gbps, simple)
    fixed = np.array([not row.is_fibre for row in MEDIA], bool)[medium] if len(medium) else np.zeros(0, bool)
    cable, leg = _cables(boxes, fixed, hub)
    longest = np.zeros(int(cable.max(initial=-1)) + 1)
    np.maximum.at(longest, cable, route)
    length = _sold_m(longest[cable], medium)
    ends, watts = _ends(plugs, medium, prices)
    pair = np.sort(np.stack([layout.of_box[boxes.a], layout.of_box[boxes.b]]), axis=0)
    _, bundle = np.unique(pair[0] * layout.n_racks + pair[1], return_inverse=True)
    return Routes(route, length, medium, cable, leg, bundle.astype(np.int64), ends, watts)


def _route_m(boxes: Boxes, layout: Layout) -> NDArray[np.float64]:
    """Up to the tray, along and across, and down; inside a rack straight; with slack.

    Trays run over all rows and across them at every rack, so the way on the floor is the sum of both distances.
    """
    rules = layout.rules.cables
    height = layout.height_m(boxes)
    ha, hb = height[boxes.a], height[boxes.b]
    ra, rb = layout.of_box[boxes.a], layout.of_box[boxes.b]
    floor = np.abs(layout.place_m(ra) - layout.place_m(rb)).sum(axis=-1)
    over = 2 * layout.tray_m - ha - hb + floor
    way = np.where(ra == rb, np.abs(ha - hb), over)
    route: NDArray[np.float64] = way * (1 + rules.slack_percent / 100) + 2 * rules.slack_m
    return route


def _stars(plugs: Plugs) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """Which links a cable with fixed ends can be part of, and the plug that tells which cable.

    Such a cable joins one plug to one, or one to several that hold nothing else.
    """
    n = len(plugs)
    pairs = np.unique(np.stack([plugs.a, plugs.b]), axis=1)
    degree = np.bincount(pairs.ravel(), minlength=n)
    lone = degree == 1
    around = np.ones(n, bool)
    for near, far in ((pairs[0], pairs[1]), (pairs[1], pairs[0])):
        np.logical_and.at(around, near, lone[far])
    at_a, at_b = around[plugs.a] & lone[plugs.b], around[plugs.b] & lone[plugs.a]
    return at_a | at_b, np.where(at_a, plugs.a, plugs.b)


def _media(boxes: Boxes, plugs: Plugs, layout: Layout, route: Array, gbps: Array, simple: Array) -> NDArray[np.int64]:
    """The shortest-reaching medium that does for every link, raised until all links of a plug have the same."""
    rank = np.full(len(route), -1, np.int64)
    twin = (plugs.links[plugs.a] > 1) & (plugs.links[plugs.b] > 1)
    options: dict[float, list[int]] = {}
    for rate in np.unique(gbps).tolist():
        mine = gbps == rate
        options[rate] = _choices(rate, layout.rules)
        for i, row in reversed(list(enumerate(options[rate]))):
            one = MEDIA[row]
            reach = np.where(twin, one.twin_reach_m or one.reach_m, one.reach_m)
            able = mine & (route <= reach) & (simple | one.is_fibre)
            rank[able] = i
    lost = np.flatnonzero(rank < 0)
    if lost.size:
        raise ParameterError(_too_long(boxes, layout, route, gbps, lost))
    while True:
        highest = np.full(len(plugs), -1, np.int64)
        np.maximum.at(highest, plugs.a, rank)
        np.maximum.at(highest, plugs.b, rank)
        raised = np.maximum(highest[plugs.a], highest[plugs.b])
        if np.array_equal(raised, rank):
            break
        rank = raised
    medium = np.zeros(len(route), np.int64)
    for rate, rows in options.items():
        mine = gbps == rate
        medium[mine] = np.array(rows, np.int64)[rank[mine]]
    return medium


def _too_long(boxes: Boxes, layout: Layout, route: Array, gbps: Array, lost: Array) -> str:
    """What to say of cables that nothing reaches: the longest of them, what comes nearest, what would do."""
    i = int(lost[np.argmax(route[lost])])
    way, rate = float(route[i]), float(gbps[i])
    a, b = (f"{boxes.name[box]} in rack {layout.rack[layout.of_box[box]]}" for box in (boxes.a[i], boxes.b[i]))
    said = f"{lost.size:,} cables are longer than any medium allows; the longest, {a} to {b}, runs {way:,.1f} m"
    bought = [MEDIA[row] for row in _choices(rate, layout.rules)]
    best = max((row for row in bought if row.is_fibre), key=lambda row: row.reach_m, default=None)
    best = best or max(bought, key=lambda row: row.reach_m, default=None)
    if best is None:
        said += f", and none of cables.media carries {rate:g} Gb/s"
    else:
        said += f", and {best.title} reaches {best.reach_m:,g} m"
    every = [MEDIA[row] for row in _choices(rate, RackRules(cables=CableRule(media=get_args(MediumKind))))]
    enough = [row for row in every if row.reach_m >= way and row.is_fibre]
    if enough:
        return f"{said}; {enough[0].title} reaches {enough[0].reach_m:,g} m: add {enough[0].kind} to cables.media"
    most = max(row.reach_m for row in every)
    said += f"; nothing reaches farther than {most:,g} m"
    near = _nearest_pitch_m(boxes, layout, route, lost, most)
    if near > 0:
        return f"{said}: hall.row_pitch_m of {near:g} instead of {layout.rules.hall.row_pitch_m:g} would do"
    return f"{said}: bring the racks closer (hall.racks_per_row is {layout.rules.hall.racks_per_row})"


def _nearest_pitch_m(boxes: Boxes, layout: Layout, route: Array, lost: Array, reach: float) -> float:
    """The widest distance of rows, to the next lower 0.1 m, at which the lost cables come within reach; 0 for none."""
    rows = np.abs(layout.row[layout.of_box[boxes.a[lost]]] - layout.row[layout.of_box[boxes.b[lost]]])
    if (rows == 0).any():
        return 0.0
    stretch = 1 + layout.rules.cables.slack_percent / 100
    beside = route[lost] - rows * layout.rules.hall.row_pitch_m * stretch
    return max(0.0, math.floor(float(((reach - beside) / (rows * stretch)).min()) * 10) / 10)


def _cables(boxes: Boxes, fixed: Array, hub: Array) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Cables numbered in the order of their first link, and the leg each link is of its cable, 0 for a lone one."""
    n = len(boxes.links)
    shared = boxes.fabric.links.cable[boxes.links].astype(np.int64)
    key = np.arange(n, dtype=np.int64)
    key = np.where(fixed, n + hub, key)
    key = np.where(shared >= 0, n + int(hub.max(initial=0)) + 1 + shared, key)
    _, first, code, times = np.unique(key, return_index=True, return_inverse=True, return_counts=True)
    rank = np.empty(len(first), np.int64)
    rank[np.argsort(first, kind="stable")] = np.arange(len(first))
    cable = rank[code]
    order = np.argsort(cable, kind="stable")
    count = times[np.argsort(rank)]
    start = np.cumsum(count) - count
    leg = np.zeros(n, np.int64)
    leg[order] = np.arange(n) - np.repeat(start, count) + 1
    leg[times[code] == 1] = 0
    return cable, leg


def _sold_m(route: Array, medium: Array) -> NDArray[np.float64]:
    """The next length that is sold; beyond the longest, made to measure in whole metres."""
    length = np.ceil(route)
    for row in np.unique(medium).tolist():
        sold = np.array(MEDIA[row].lengths_m, float)
        mine = np.flatnonzero(medium == row)
        at = np.searchsorted(sold, route[mine] - 1e-9)
        within = at < len(sold)
        length[mine[within]] = sold[at[within]]
    return length


def _ends(plugs: Plugs, medium: Array, prices: PriceList) -> tuple[list[Transceiver | None], NDArray[np.float64]]:
    """The transceiver in every plug, and what the plug draws in W."""
    of_plug = np.full(len(plugs), -1, np.int64)
    of_plug[plugs.a] = medium
    of_plug[plugs.b] = medium
    made: dict[tuple[int, int], tuple[Transceiver | None, float]] = {}
    ends: list[Transceiver | None] = []
    watts = np.zeros(len(plugs))
    for i, (row, links) in enumerate(zip(of_plug.tolist(), plugs.links.tolist(), strict=True)):
        found = made.get((row, links))
        if found is None:
            one = MEDIA[row]
            end = transceiver_of(one, links) if one.is_fibre else None
            found = made[row, links] = (end, _end_w(one, links, prices))
        ends.append(found[0])
        watts[i] = found[1]
    return ends, watts
