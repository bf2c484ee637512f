"""The schedule for the people who pull the cables: a printable page, bundle by bundle, with a box to tick each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np

from topo.design.schedule import COLUMNS, Schedule
from topo.units import format_number
from topo.view.text import escape_xml, plural

__all__ = ["pull_page"]

_STYLE = """
@page{size:A4 portrait;margin:9mm}
body{font-family:Helvetica,Arial,sans-serif;color:#1b1f24;margin:0 auto;max-width:192mm;font-size:9px}
h1{font-size:15px;margin:4px 0}h2{font-size:11px;margin:10px 0 2px;break-after:avoid;page-break-after:avoid}
p{margin:2px 0 6px}
table{border-collapse:collapse;width:100%}
thead{display:table-header-group}tr{break-inside:avoid;page-break-inside:avoid}
th{text-align:left;border-bottom:1px solid #1b1f24;font-weight:600}
td{border-bottom:1px solid #d0d7de}
th,td{padding:1px 5px 1px 0;white-space:nowrap;font-size:8.5px}
td.n,th.n{text-align:right}td.t{width:11px}
i{display:inline-block;width:8px;height:8px;border:1px solid #1b1f24}
"""
_AT = {name: i for i, name in enumerate(COLUMNS)}


def pull_page(schedule: Schedule) -> str:
    """One HTML file that needs nothing else: under each pair of racks its cables, with both ends, length and medium.

    Bundles come in the order of their first rack on the floor; A is the lower end.
    """
    rows = list(schedule.rows())
    layout, routes = schedule.layout, schedule.routes
    bundle = routes.bundle[schedule.order]
    by_bundle = np.split(np.argsort(bundle, kind="stable"), np.flatnonzero(np.diff(np.sort(bundle))) + 1)
    name = escape_xml(schedule.boxes.fabric.name)
    said = (
        f"{plural(routes.n_cables, 'cable')}, {format_number(routes.total_m)} m, "
        f"in {plural(len(by_bundle), 'bundle')}: a bundle is all cables between two of "
        f"{plural(layout.n_racks, 'rack')}, or inside one."
    )
    body = "\n".join(piece for part in by_bundle for piece in _bundle([rows[i] for i in part.tolist()]))
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{name}: cables to pull</title>'
        f"<style>{_STYLE}</style></head><body><h1>{name}: cables to pull</h1><p>{said}</p>\n{body}\n</body></html>\n"
    )


def _bundle(rows: list[tuple[str | int | float, ...]]) -> Iterator[str]:
    """A heading with the two racks and what to fetch, then a line a cable end pair."""
    first = rows[0]
    racks = sorted({str(row[_AT[f"{end} Rack"]]) for row in rows for end in "AZ"})
    # A cable whose legs go to several racks is fetched once, with its first leg.
    fetched = Counter(
        (str(row[_AT["Medium"]]), float(row[_AT["Length m"]])) for row in rows if row[_AT["Leg"]] in ("", 1)
    )
    fetch = ", ".join(f"{count:,} x {length:g} m {medium}" for (medium, length), count in sorted(fetched.items()))
    fetch = fetch or "second legs alone"
    where = f"{racks[0]} to {racks[1]}" if len(racks) > 1 else f"inside {racks[0]}"
    yield f"<h2>{escape_xml(str(first[_AT['Bundle']]))}: {escape_xml(where)}. {escape_xml(fetch)}</h2>"
    yield (
        "<table><thead><tr><th></th><th>Cable</th><th>A end</th><th>A port</th><th>A cage</th><th>Z end</th>"
        '<th>Z port</th><th>Z cage</th><th class="n">m</th><th>Medium</th></tr></thead><tbody>'
    )
    for row in rows:
        leg = row[_AT["Leg"]]
        cable = f"{row[_AT['Cable ID']]}.{leg}" if leg else str(row[_AT["Cable ID"]])
        cells = "".join(f"<td>{escape_xml(text)}</td>" for text in (cable, *_end(row, "A"), *_end(row, "Z")))
        yield (
            f'<tr><td class="t"><i></i></td>{cells}<td class="n">{row[_AT["Length m"]]:g}</td>'
            f"<td>{escape_xml(str(row[_AT['Medium']]))}</td></tr>"
        )
    yield "</tbody></table>"


def _end(row: tuple[str | int | float, ...], end: str) -> tuple[str, str, str]:
    place = f"{row[_AT[f'{end} Rack']]}.U{row[_AT[f'{end} U']]} {row[_AT[f'{end} Node']]}"
    return place, str(row[_AT[f"{end} Port"]]), str(row[_AT[f"{end} Cage"]])
