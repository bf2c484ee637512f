"""The swap list on paper: every rack, every switch with a picture of its ports, boxes to tick; one HTML file."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from itertools import groupby

import numpy as np

from topo.fabric import FORWARDS_ALL, Fabric
from topo.output import plain
from topo.repair.steps import DOES, NO_RACK, Step, Touch, gives_text, in_order
from topo.result import Row
from topo.view.text import escape_xml, natural_key, plural

__all__ = ["face", "swap_page"]

_COLUMNS = 32
_PORT_W, _PORT_H, _GAP = 22, 26, 2
_STYLE = """
:root{color-scheme:light}
*{box-sizing:border-box}
body{margin:0 auto;padding:1.25rem;max-width:62rem;background:#fff;color:#1b1f24;font:14px/1.45 system-ui,sans-serif}
h1{font-size:1.5rem;margin:0 0 .3rem}
h2{font-size:1.2rem;margin:1.6rem 0 .4rem;border-top:2px solid #1b1f24;padding-top:.4rem}
h3{font-size:1rem;margin:1rem 0 .25rem}
p{margin:.3rem 0;max-width:52rem}.dim{color:#57606a}
table{border-collapse:collapse;width:100%;font-size:.87rem;margin:.25rem 0 .6rem}
th,td{text-align:left;vertical-align:top;padding:.18rem .7rem .18rem 0;border-bottom:1px solid #d0d7de}
th,td{overflow-wrap:anywhere}
thead th{color:#57606a;font-weight:600;white-space:nowrap}
.facts{width:auto}.facts th{font-weight:400;color:#57606a;min-width:8.5rem;max-width:20rem;overflow-wrap:break-word}
.facts td{min-width:9rem;overflow-wrap:break-word}
.n{text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums}
.k{white-space:nowrap}.why td{background:#f6f8fa;font-weight:600;padding-top:.4rem;break-after:avoid}
.box{display:inline-block;width:.95em;height:.95em;border:1.4px solid #1b1f24;border-radius:2px;vertical-align:-.1em}
svg{display:block;max-width:100%;height:auto}
svg text{font-family:system-ui,sans-serif}
.device{break-inside:avoid}
@media print{@page{size:A4;margin:12mm}body{padding:0;max-width:none;font-size:9.5pt}
.rack{break-before:page}tr{break-inside:avoid}thead{display:table-header-group}h2,h3{break-after:avoid}}
"""
_FILL = {"out": "#ffd9b8", "in": "#cfe8fb", "both": "#e4d7f7", "change": "#d8f0dd", "used": "#e6e8eb", "free": "#fff"}
_EDGE = {
    "out": "#b34700",
    "in": "#0072b2",
    "both": "#6f42c1",
    "change": "#00795a",
    "used": "#8c959f",
    "free": "#8c959f",
}
_SIGN = {"out": "-", "in": "+", "change": "="}


def swap_page(
    title: str,
    lead: str,
    rows: Sequence[Row],
    fabric: Fabric,
    steps: Sequence[Step],
    touches: Sequence[Touch],
    notes: Sequence[str] = (),
) -> str:
    """The whole list as one page: sums, the steps in order, then a sheet a rack with the face of every switch.

    Nothing is loaded from elsewhere and every name is escaped; print it and tick the boxes.
    """
    body = [f"<h1>{escape_xml(title)}</h1>", f"<p>{escape_xml(lead)}</p>" if lead else "", _facts(rows)]
    body += [f"<p class='dim'>{escape_xml(note)}</p>" for note in notes]
    if steps:
        body += [f"<h2>{in_order(steps)}</h2>", _steps(steps)]
    if touches:
        body.append(_legend())
    for rack, mine in groupby(touches, key=lambda one: one.rack):
        name = "Devices (no rack is stated)" if rack == NO_RACK else f"Rack {rack}"
        body.append(f"<section class='rack'><h2>{escape_xml(name)}</h2>")
        body += [_device(fabric, device, list(ports)) for device, ports in groupby(mine, key=lambda one: one.device)]
        body.append("</section>")
    whole = "\n".join(part for part in body if part)
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape_xml(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n{whole}\n</body>\n</html>\n"
    )


def _facts(rows: Sequence[Row]) -> str:
    cells = "".join(
        f"<tr><th>{escape_xml(row.label)}</th><td>{escape_xml(row.text())}"
        + (f" <span class='dim'>({escape_xml(str(row.standing))})</span>" if row.standing else "")
        + "</td></tr>"
        for row in rows
    )
    return f"<table class='facts'><tbody>{cells}</tbody></table>"


def _steps(steps: Sequence[Step]) -> str:
    """The steps, those of one fault or round under one line that says why and what it gives."""
    watched = any(step.cut_off >= 0 for step in steps)
    head = ["", "step", "what", "in place"] + ["cut off"] * watched
    lines = []
    for because, mine in groupby(steps, key=lambda step: step.because):
        alike = list(mine)
        said = because + ("" if math.isnan(alike[0].gives_gbps) else f"; mending it {gives_text(alike[0])}")
        together = " - enable these together, when all are in" if sum(one.kind == "add" for one in alike) > 1 else ""
        lines.append(f"<tr class='why'><td colspan='{len(head)}'>{escape_xml(said)}{together}</td></tr>")
        for step in alike:
            cells = ["<td><span class='box'></span></td>", f"<td class='n'>{step.number}</td>",
                     f"<td>{escape_xml(step.text)}</td>", f"<td class='n'>{step.in_place:,}</td>"]  # fmt: skip
            cells += [f"<td class='n'>{step.cut_off if step.cut_off >= 0 else '-'}</td>"] * watched
            lines.append(f"<tr>{''.join(cells)}</tr>")
    heads = "".join(f"<th class='n'>{text}</th>" if text and text != "what" else f"<th>{text}</th>" for text in head)
    said = "In place: planned cables that are plugged once the step is done."
    said += (
        " Cut off: ends of hosts that have no way to the others meanwhile. Gb/s are in one direction."
        if watched
        else ""
    )
    return f"<p class='dim'>{said}</p><table><thead><tr>{heads}</tr></thead><tbody>{''.join(lines)}</tbody></table>"


def _legend() -> str:
    shown = (("out", "- unplug in that step"), ("in", "+ plug in"), ("both", "unplug, then plug in"),
             ("change", "= change the cable"), ("used", "cable stays"), ("free", "free"))  # fmt: skip
    parts = [
        f"<span class='k'><svg width='16' height='14' style='display:inline;vertical-align:-2px'>"
        f"<rect x='1' y='1' width='14' height='12' rx='2' fill='{_FILL[kind]}' stroke='{_EDGE[kind]}'/></svg>"
        f" {text}</span>"
        for kind, text in shown
    ]
    return f"<p class='dim'>Numbers in the pictures are steps: {' &nbsp; '.join(parts)}</p>"


def _device(fabric: Fabric, device: str, touches: Sequence[Touch]) -> str:
    lines = []
    for one in touches:
        port = f"port {one.port}" if one.port.isdecimal() else one.port
        lines.append(
            f"<tr><td><span class='box'></span></td><td class='n'>{one.step}</td><td class='k'>{escape_xml(port)}</td>"
            f"<td class='k'>{_SIGN.get(one.does, '')} {DOES[one.does]}</td><td>{escape_xml(one.text)}</td></tr>"
        )
    nodes = sorted({one.node for one in touches})
    pictures = [face(fabric, node, touches) for node in nodes if fabric.nodes.forwards[node] == FORWARDS_ALL]
    head = "<thead><tr><th></th><th class='n'>step</th><th>port</th><th>do</th><th>which cable</th></tr></thead>"
    return (
        f"<div class='device'><h3>{escape_xml(device)} <span class='dim'>({plural(len(touches), 'thing')} to do)</span>"
        f"</h3>{''.join(pictures)}<table>{head}<tbody>{''.join(lines)}</tbody></table></div>"
    )


def face(fabric: Fabric, node: int, touches: Sequence[Touch]) -> str:
    """The ports of a switch as a drawing: odd places above, even below, 32 columns a band; steps on those touched.

    The order is that of the port labels; a device whose face is laid out otherwise has the same labels elsewhere.
    """
    ports = np.flatnonzero(fabric.ports.node == node)
    labels = fabric.ports.label.values(ports).tolist()
    cabled = np.isin(ports, np.concatenate([fabric.links.port_a, fabric.links.port_b]))
    does: dict[int, list[Touch]] = defaultdict(list)
    for one in touches:
        if one.node == node and one.row >= 0:
            does[one.row].append(one)
    order = [i for i in sorted(range(len(ports)), key=lambda i: natural_key(labels[i]))
             if labels[i] or int(ports[i]) in does]  # fmt: skip
    columns = min(_COLUMNS, max(1, math.ceil(len(order) / 2)))
    bands = max(1, math.ceil(len(order) / (2 * columns)))
    band_h = 2 * (_PORT_H + _GAP) + 10
    width, height = columns * (_PORT_W + _GAP) + 12, bands * band_h + 4
    parts = [f"<rect x='1' y='1' width='{width - 2}' height='{height - 2}' rx='5' fill='#f6f8fa' stroke='#57606a'/>"]
    for place, i in enumerate(order):
        band, inside = divmod(place, 2 * columns)
        x, y = 6 + inside // 2 * (_PORT_W + _GAP), 7 + band * band_h + inside % 2 * (_PORT_H + _GAP)
        parts.append(_port(x, y, labels[i] or "?", does.get(int(ports[i]), []), used=bool(cabled[i])))
    name = escape_xml(str(fabric.nodes.name[node]))
    return (
        f"<svg width='{width}' height='{height}' viewBox='0 0 {width} {height}' role='img' "
        f"aria-label='ports of {name}'>{''.join(parts)}</svg>"
    )


def _port(x: float, y: float, label: str, touches: Sequence[Touch], *, used: bool) -> str:
    kinds = {one.does for one in touches}
    kind = "both" if {"out", "in"} <= kinds else next(iter(kinds), "used" if used else "free")
    shown, middle = escape_xml(plain(label)[-4:]), x + _PORT_W / 2
    box = f"x='{x}' y='{y}' width='{_PORT_W}' height='{_PORT_H}' rx='2'"
    parts = [
        f"<rect {box} fill='{_FILL[kind]}' stroke='{_EDGE[kind]}' stroke-width='{1.6 if touches else 0.7}'/>",
        f"<text x='{middle}' y='{y + 8}' font-size='7' text-anchor='middle' fill='#57606a'>{shown}</text>",
    ]
    said = [f"{_SIGN[one.does]}{one.step}" for one in touches][:2]
    for row, text in enumerate(said):
        low = y + (19 if len(said) == 1 else 16 + 8 * row)
        size = 9 if len(said) == 1 and len(text) < 5 else 7
        style = f"font-size='{size}' font-weight='700' text-anchor='middle'"
        parts.append(f"<text x='{middle}' y='{low}' {style}>{text}</text>")
    return "".join(parts)
