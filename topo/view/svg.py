"""Write scenes as one SVG by hand: rectangles, lines and text, every name escaped, one style sheet."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence

from topo.units import format_gbps
from topo.view.lines import captions, draw_lines, headroom
from topo.view.place import BOX, GAP, LETTER, WIDTH, Placed, document, place, text_element
from topo.view.scene import Bundle, Scene
from topo.view.text import escape_xml, plural, shorten, wrapped
from topo.view.units import UNKNOWN_TIER

__all__ = ["render"]

_SQUEEZE = 1.15  # text that is a little too wide is set tighter, not shortened
_MOST_LINES = 3
_LONG_HEAD = 19

STYLE = """
.tt{--bg:#fff;--ink:#1b1f24;--dim:#57606a;--line:#8b949e;--odd:#b34700;--cut:#a0006e;
--t0:#f2f2f2;--t0s:#6e7781;--t1:#dceefb;--t1s:#0072b2;--t2:#d9f2e6;--t2s:#00795a;--t3:#fff0cc;--t3s:#8a6100;
--t4:#ece4fb;--t4s:#6f42c1;--t5:#fde7e0;--t5s:#b5482a}
@media screen and (prefers-color-scheme:dark){.tt{--bg:#15191e;--ink:#e6edf3;--dim:#9da7b1;--line:#6e7681;
--odd:#ff9b52;--cut:#ff8ad1;--t0:#22272e;--t0s:#9da7b1;--t1:#12293b;--t1s:#58b4e8;--t2:#10301f;--t2s:#3fc48f;
--t3:#33290e;--t3s:#e3b341;--t4:#271c3d;--t4s:#b392f0;--t5:#3a1f17;--t5s:#f0906c}}
.tt{background:var(--bg);font-family:system-ui,sans-serif;font-size:12px}
.tt text{fill:var(--ink);unicode-bidi:isolate}.tt .d{fill:var(--dim);font-size:11px}
.tt .h{font-weight:600}.tt .l{stroke:var(--line);stroke-width:1.2;fill:none}
.tt .o{stroke:var(--odd);stroke-dasharray:6 3;stroke-width:1.8}.tt .c{stroke:var(--cut);stroke-width:3}
.tt .n{font-size:11px;fill:var(--dim)}
.tt .b{fill:var(--bg)}
.tt .s{fill:var(--dim);font-size:10px}.tt .p{font-size:14px;font-weight:600}
.tt .no{fill:var(--odd)}.tt .nc{fill:var(--cut);font-weight:600}
.tt .t0{fill:var(--t0);stroke:var(--t0s)}.tt .t1{fill:var(--t1);stroke:var(--t1s)}
.tt .t2{fill:var(--t2);stroke:var(--t2s)}.tt .t3{fill:var(--t3);stroke:var(--t3s)}
.tt .t4{fill:var(--t4);stroke:var(--t4s)}.tt .t5{fill:var(--t5);stroke:var(--t5s)}
.tt .m{stroke-dasharray:2 2}
"""


def render(
    panels: Sequence[tuple[Scene, Sequence[str]]], *, title: str, alt: str, told: str, notes: Sequence[str]
) -> str:
    """Scenes, each with what to say under it, as one SVG document; ``notes`` stand at the end.

    ``alt`` is the document's label and ``told`` its description, for who does not see it.
    """
    body: list[str] = []
    y = 0.0
    for i, (scene, said) in enumerate(panels):
        if i:
            body.append(f'<path class="l" d="M12 {y + 6:.0f}H{WIDTH - 12}"/>')
        if scene.heading and (i or len(panels) > 1):
            body.append(text_element(12, y + 26, scene.heading, "p"))
            y += 26
        drawn, y = _panel(scene, y)
        body += drawn
        body += _foot(said, y)
        y = _below(said, y) + 6
    body += _foot(notes, y)
    height = math.ceil(_below(notes, y))
    return document(body, height=height, title=title, alt=alt, style=STYLE, description=told)


def _panel(scene: Scene, y: float) -> tuple[list[str], float]:
    """The elements of one scene that begins at ``y``, and where the text under it begins."""
    rows = scene.rows()
    y += 16.0
    placed: dict[int, Placed] = {}
    margin: list[str] = []
    for tier, boxes in rows:
        y += headroom(scene, boxes, first=tier == rows[0][0])
        for i in boxes:
            placed[i] = place(scene.boxes[i], y, scene.columns)
        margin += _row_head(scene, tier, boxes, y)
        y += BOX + GAP
    told, alike = captions(scene, rows, placed)
    lines, labels = draw_lines(scene, placed, alike)
    within = {b.lower: b for b in scene.bundles if b.lower == b.upper}
    boxes_svg = [_box(scene, placed[i], within.get(i)) for _, row in rows for i in row]
    return [*lines, *boxes_svg, *labels, *margin, *told], y - GAP + 26


def _foot(notes: Sequence[str], y: float) -> list[str]:
    pieces = [piece for note in notes for piece in textwrap.wrap(note, 150)]
    return [text_element(12, y + 16 * i, piece, "d") for i, piece in enumerate(pieces)]


def _below(notes: Sequence[str], y: float) -> float:
    return y + 16 * sum(len(textwrap.wrap(note, 150)) for note in notes)


def _row_head(scene: Scene, tier: int, boxes: list[int], y: float) -> list[str]:
    lines = [(plural(n, word), "h") for word, n in scene.words(boxes)[:3]]
    endpoints = sum(int(scene.units.n_endpoints[scene.boxes[i].units].sum()) for i in boxes)
    units = sum(len(scene.boxes[i].units) for i in boxes)
    if endpoints and endpoints != units and len(lines) == 1:
        lines.append((plural(endpoints, "endpoint"), "d"))
    elif scene.tiered and tier:
        lines.append((f"tier {tier}" if tier < UNKNOWN_TIER else "tier not known", "d"))
    first = y + (20 if len(lines) < 3 else 14)
    lines = [(text, "" if style == "h" and len(text) > _LONG_HEAD else style) for text, style in lines]
    return [text_element(12, first + 16 * i, shorten(text, 22), style) for i, (text, style) in enumerate(lines)]


def _box(scene: Scene, here: Placed, within: Bundle | None) -> str:
    box = here.box
    room = here.width - 4
    wanted = [text for text in (box.count, box.label) if text]
    if within is not None:
        inside = plural(within.cables, "link") + " inside"
        wanted.append(inside if math.isnan(within.gbps) else f"{inside}, {format_gbps(within.gbps)}")
    if box.detail and box.detail not in wanted:
        wanted.append(box.detail)
    lines = _fitted(wanted, room, keep=len(wanted) - (bool(box.detail) and box.detail == wanted[-1]))
    first = here.y + BOX / 2 + 4 - 8 * (len(lines) - 1)
    texts = []
    for i, (text, style) in enumerate(lines):
        wide = len(text) * LETTER[style]
        squeezed = room if room < wide <= room * _SQUEEZE else 0.0
        short = text if squeezed else shorten(text, max(3, int(room / LETTER[style])))
        texts.append(text_element(here.middle, first + 16 * i, short, style, middle=True, length=squeezed))
    shade = (box.shade or f"t{min(max(box.tier, 0), 3)}") + (" m" if box.n_more else "")
    tip = "; ".join(dict.fromkeys(text for text in (box.count, box.label, box.detail) if text))
    return (
        f'<g><title>{escape_xml(tip)}</title><rect class="{shade}" x="{here.x}" y="{here.y:.0f}" '
        f'width="{here.width}" height="{BOX}" rx="4"/>{"".join(texts)}</g>'
    )


def _longest_piece(text: str) -> int:
    return max(map(len, wrapped(text, 1)))


def _fitted(wanted: list[str], room: float, *, keep: int) -> list[tuple[str, str]]:
    """At most three lines with their styles: the first bold if more follow; too wide ones are wrapped if that fits.

    Texts after the first ``keep`` are left out where they do not fit; the box's tip has them all.
    """
    lines: list[tuple[str, str]] = []
    for i, text in enumerate(wanted):
        style = "d" if i else "h" if len(wanted) > 1 else ""
        style = style if len(text) * LETTER[style] <= room * _SQUEEZE else "d"
        style = style if _longest_piece(text) * LETTER[style] <= room * _SQUEEZE else "s"
        left = _MOST_LINES - len(lines) - max(0, keep - i - 1)
        letters = int(room * _SQUEEZE / LETTER[style])
        pieces = [text] if len(text) <= letters else wrapped(text, letters)
        if i >= keep and (len(pieces) > left or max(map(len, pieces)) > letters):
            continue
        if len(pieces) > left:
            pieces = [text]
        lines += [(piece, style) for piece in pieces]
    return lines[:_MOST_LINES]
