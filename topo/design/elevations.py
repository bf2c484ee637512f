"""The racks as a printable page: the floor with every rack, then each rack unit by unit, with its power."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from topo.design.boxes import Boxes
from topo.design.layout import Layout, row_letters
from topo.design.routes import Routes
from topo.output import plain
from topo.table import Array
from topo.units import format_number
from topo.view.text import escape_xml, plural, shorten

__all__ = ["RACK_COLUMNS", "UNIT_COLUMNS", "elevations_page", "rack_power_kw", "rack_rows", "unit_rows"]

RACK_COLUMNS = ("Rack", "Row", "Position", "Holds", "Boxes", "Units used", "Units", "Power kW", "Power limit kW")
UNIT_COLUMNS = ("Rack", "U from", "U to", "Box", "Type", "Part", "Power kW")

_PER_PAGE = 8
_ROWS_A_PAGE = 14
_UNIT = 13.0
_WIDTH = 128.0
_MOST_DRAWN = 1200
_SHADES = {"host": "h", "switch": "s", "storage switch": "s", "scale-up switch": "x", "switch tray": "x"}

_STYLE = """
@page{size:A4 landscape;margin:8mm}
body{font-family:Helvetica,Arial,sans-serif;color:#1b1f24;margin:0 auto;max-width:281mm;background:#fff}
h1{font-size:15px;margin:6px 0 2px}h2{font-size:12px;margin:4px 0}
p{font-size:11px;margin:2px 0 6px}
.page{page-break-after:always;break-after:page}.page:last-child{page-break-after:auto;break-after:auto}
svg{width:100%;height:auto;max-height:180mm;display:block}
text{font-size:8px;fill:#1b1f24}.n{font-size:10px;font-weight:700}.d{fill:#57606a;font-size:7px}
.m{text-anchor:middle}.e{text-anchor:end}
.f{fill:none;stroke:#57606a}.u{stroke:#e3e6e9;stroke-width:.5}
.h{fill:#f2f2f2;stroke:#6e7781}.s{fill:#dceefb;stroke:#0072b2}.x{fill:#fff0cc;stroke:#8a6100}
.o{fill:#d9f2e6;stroke:#00795a}.p{fill:#e3e6e9}.q{fill:#0072b2}.w{fill:#b34700}
"""


def rack_power_kw(boxes: Boxes, layout: Layout, routes: Routes, plug_box: Array) -> Array:
    """Power of every rack, kW: its boxes, the ends of its cables, and what a closed rack draws beside its trays."""
    optics = np.bincount(plug_box, weights=routes.end_w, minlength=len(boxes)) / 1e3
    kw = np.bincount(layout.of_box, weights=boxes.power_kw + optics, minlength=layout.n_racks)
    for rack in range(layout.n_racks):
        if layout.word[rack] == "closed rack":
            kw[rack] += max(boxes.size[i].rack_kw for i in np.flatnonzero(layout.of_box == rack))
    return kw


@dataclass(frozen=True, eq=False)
class _Racks:
    """Boxes of every rack, from the top down, and its power."""

    boxes: Boxes
    layout: Layout
    kw: Array
    box_kw: Array
    held: list[list[int]]


def _held(boxes: Boxes, layout: Layout) -> list[list[int]]:
    order = np.lexsort((-layout.unit, layout.of_box))
    ends = np.searchsorted(layout.of_box[order], np.arange(1, layout.n_racks))
    return [part.tolist() for part in np.split(order, ends)]


def rack_rows(boxes: Boxes, layout: Layout, kw: Array) -> Iterator[tuple[str | int | float, ...]]:
    """One tuple a rack, as :data:`RACK_COLUMNS`, row by row."""
    used = np.bincount(layout.of_box, weights=boxes.units, minlength=layout.n_racks).astype(int)
    held = np.bincount(layout.of_box, minlength=layout.n_racks)
    for i in np.lexsort((layout.position, layout.row)).tolist():
        yield (
            layout.rack[i], int(layout.row[i]), int(layout.position[i]), layout.word[i], int(held[i]), int(used[i]),
            int(layout.allowed_units[i]), round(float(kw[i]), 3), float(layout.power_kw[i]),
        )  # fmt: skip


def unit_rows(boxes: Boxes, layout: Layout, box_kw: Array) -> Iterator[tuple[str | int | float, ...]]:
    """One tuple a box, as :data:`UNIT_COLUMNS`, rack by rack from the top down."""
    held = _held(boxes, layout)
    for rack in np.lexsort((layout.position, layout.row)).tolist():
        for i in held[rack]:
            low = int(layout.unit[i])
            yield (
                layout.rack[rack], low, low + boxes.size[i].units - 1, boxes.name[i], boxes.word[i],
                boxes.part[i] or boxes.size[i].name, round(float(box_kw[i]), 3),
            )  # fmt: skip


def elevations_page(
    boxes: Boxes,
    layout: Layout,
    routes: Routes,
    kw: Array,
    box_kw: Array,
) -> str:
    """One HTML file that needs nothing else and prints on A4: the floor, then eight racks a page."""
    racks = _Racks(boxes, layout, kw, box_kw, _held(boxes, layout))
    name = escape_xml(boxes.fabric.name)
    order = np.lexsort((layout.position, layout.row)).tolist()
    drawn = order if len(order) <= _MOST_DRAWN else _one_of_each(racks, order)
    pages = list(_floor_pages(racks, routes, len(drawn)))
    for start in range(0, len(drawn), _PER_PAGE):
        some = drawn[start : start + _PER_PAGE]
        names = f"{layout.rack[some[0]]} to {layout.rack[some[-1]]}" if len(some) > 1 else layout.rack[some[0]]
        heading = f"<h2>{name}: racks {escape_xml(names)}</h2>"
        pages.append(f'<div class="page">{heading}{_rack_svg(racks, some)}</div>')
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{name}: rack elevations</title>'
        f"<style>{_STYLE}</style></head><body>\n" + "\n".join(pages) + "\n</body></html>\n"
    )


def _one_of_each(racks: _Racks, order: Sequence[int]) -> list[int]:
    """The first rack of every kind of content, where there are too many to draw."""
    seen: set[tuple[tuple[str, int], ...]] = set()
    out = []
    for rack in order:
        content = tuple((racks.boxes.size[i].name, int(racks.layout.unit[i])) for i in racks.held[rack])
        if content not in seen:
            seen.add(content)
            out.append(rack)
    return out


def _floor_pages(racks: _Racks, routes: Routes, n_drawn: int) -> Iterator[str]:
    """The floor seen from above, so many rows a page; the first page says what is planned."""
    layout, hall = racks.layout, racks.layout.rules.hall
    rows = int(layout.row.max(initial=1))
    said = (
        f"{plural(layout.n_racks, 'rack')} in {plural(rows, 'row')}, {racks.kw.sum():,.1f} kW with optics. "
        f"{plural(routes.n_cables, 'cable')}, {format_number(routes.total_m)} m in all, the longest "
        f"{routes.longest_m:g} m. Racks are {hall.rack_width_m:g} m wide, rows {hall.row_pitch_m:g} m apart; not drawn "
        "to scale."
    )
    if n_drawn < layout.n_racks:
        said += f" Of {layout.n_racks:,} racks, one of each of {n_drawn:,} kinds is drawn; racks.csv lists all."
    said += " Grey: hosts; green: hosts with their leaf on top; blue: leaves and spines; yellow: managers and storage."
    for first in range(1, rows + 1, _ROWS_A_PAGE):
        last = min(first + _ROWS_A_PAGE - 1, rows)
        part = "" if rows <= _ROWS_A_PAGE else f", rows {row_letters(first)} to {row_letters(last)}"
        text = f"<p>{escape_xml(said)}</p>" if first == 1 else ""
        yield (
            f'<div class="page"><h1>{escape_xml(racks.boxes.fabric.name)}: the floor{part}</h1>{text}'
            f"{_floor_svg(racks, first, last)}</div>"
        )


def _floor_svg(racks: _Racks, first: int, last: int) -> str:
    layout = racks.layout
    wide, high, gap = 46.0, 30.0, 12.0
    parts: list[str] = []
    for i in np.flatnonzero((layout.row >= first) & (layout.row <= last)).tolist():
        x, y = 40 + (int(layout.position[i]) - 1) * wide, 6 + (int(layout.row[i]) - first) * (high + gap)
        shade = {"hosts": "h", "closed rack": "h", "hosts and leaf": "o", "service": "x"}.get(layout.word[i], "s")
        tip = f"{layout.rack[i]}: {layout.word[i]}, {racks.kw[i]:.1f} kW"
        parts.append(
            f'<g><title>{escape_xml(tip)}</title><rect class="{shade}" x="{x:g}" y="{y:g}" width="{wide - 2:g}" '
            f'height="{high:g}"/><text class="m" x="{x + wide / 2 - 1:g}" y="{y + 12:g}">'
            f"{escape_xml(shorten(layout.rack[i], 9))}</text>"
            f'<text class="d m" x="{x + wide / 2 - 1:g}" y="{y + 23:g}">{racks.kw[i]:.1f} kW</text></g>'
        )
    for row in range(first, last + 1):
        y = 6 + (row - first) * (high + gap) + 19
        parts.append(f'<text class="n e" x="32" y="{y:g}">{row_letters(row)}</text>')
    width, height = 44 + int(layout.position.max(initial=1)) * wide, 8 + (last - first + 1) * (high + gap)
    box = f'viewBox="0 0 {width:g} {height:g}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {box} style="max-height:165mm">{"".join(parts)}</svg>'


def _rack_svg(racks: _Racks, some: Sequence[int]) -> str:
    units = int(racks.layout.allowed_units.max(initial=1))
    parts: list[str] = []
    for column, rack in enumerate(some):
        parts += _rack(racks, rack, 4 + column * (_WIDTH + 8))
    height = units * _UNIT + 46
    width = 8 + _PER_PAGE * (_WIDTH + 8)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" role="img" '
        f'aria-label="{escape_xml(", ".join(racks.layout.rack[rack] for rack in some))}">{"".join(parts)}</svg>'
    )


def _rack(racks: _Racks, rack: int, x: float) -> Iterator[str]:
    """One rack: its name and power, a bar of the power used, its boxes at their units."""
    layout, boxes = racks.layout, racks.boxes
    units, kw, limit = int(layout.allowed_units[rack]), float(racks.kw[rack]), float(layout.power_kw[rack])
    top, left, wide = 36.0, x + 16, _WIDTH - 16
    yield f'<text class="n" x="{left:g}" y="11">{escape_xml(shorten(layout.rack[rack], 16))}</text>'
    yield f'<text class="d e" x="{x + _WIDTH:g}" y="11">{escape_xml(layout.word[rack])}</text>'
    yield f'<text class="d" x="{left:g}" y="22">{kw:.1f} of {limit:g} kW</text>'
    share = min(kw / limit, 1.0)
    yield f'<rect class="p" x="{left:g}" y="26" width="{wide:g}" height="4"/>'
    yield f'<rect class="{"w" if kw > limit else "q"}" x="{left:g}" y="26" width="{wide * share:.1f}" height="4"/>'
    for unit in range(1, units + 1):
        y = top + (units - unit) * _UNIT
        if unit % 2 == 0 or unit == 1:
            yield f'<text class="d e" x="{left - 3:g}" y="{y + 9.5:g}">{unit}</text>'
        yield f'<path class="u" d="M{left:g} {y:g}h{wide:g}"/>'
    yield f'<rect class="f" x="{left:g}" y="{top:g}" width="{wide:g}" height="{units * _UNIT:g}"/>'
    for i in racks.held[rack]:
        size = boxes.size[i]
        y = top + (units + 1 - int(layout.unit[i]) - size.units) * _UNIT
        high = size.units * _UNIT
        shade = _SHADES.get(boxes.word[i], "o")
        part = boxes.part[i] or size.name
        name = plain(boxes.name[i])
        tip = f"{name}, {part}, {racks.box_kw[i]:.2f} kW, U{layout.unit[i]}"
        yield f'<g><title>{escape_xml(tip)}</title><rect class="{shade}" x="{left:g}" y="{y:g}" '
        yield f'width="{wide:g}" height="{high:g}"/>'
        if size.units == 1:
            yield f'<text x="{left + 3:g}" y="{y + 9.5:g}">{escape_xml(shorten(name, 24))}</text></g>'
            continue
        middle = y + high / 2
        yield f'<text class="m" x="{left + wide / 2:g}" y="{middle - 1:g}">{escape_xml(shorten(name, 26))}</text>'
        yield (
            f'<text class="d m" x="{left + wide / 2:g}" y="{middle + 8:g}">'
            f"{escape_xml(shorten(f'{part}, {racks.box_kw[i]:.2f} kW', 30))}</text></g>"
        )
