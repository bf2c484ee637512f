"""Write a scene as SVG by hand: rectangles, lines and text, every name escaped, one style sheet."""

from __future__ import annotations

import math
import textwrap
from collections import Counter
from dataclasses import dataclass
from itertools import pairwise

from topo.units import format_gbps
from topo.view.scene import Box, Bundle, Scene, tier_word
from topo.view.text import escape_xml, plural, shorten

__all__ = ["render"]

_WIDTH = 1000
_LEFT = 152
_BOX = 56
_GAP = 92
_LETTER = {"h": 6.9, "d": 6.0, "": 6.4}  # mean advance of a system font at the sizes of the style sheet
_SQUEEZE = 1.15  # text that is a little too wide is set tighter, not shortened
_MOST_LABELS = 16
_MOST_RATES = 12

STYLE = """
.tt{--bg:#fff;--ink:#1b1f24;--dim:#57606a;--line:#8b949e;--odd:#b34700;--cut:#a0006e;
--t0:#f2f2f2;--t0s:#6e7781;--t1:#dceefb;--t1s:#0072b2;--t2:#d9f2e6;--t2s:#00795a;--t3:#fff0cc;--t3s:#8a6100}
@media screen and (prefers-color-scheme:dark){.tt{--bg:#15191e;--ink:#e6edf3;--dim:#9da7b1;--line:#6e7681;
--odd:#ff9b52;--cut:#ff8ad1;--t0:#22272e;--t0s:#9da7b1;--t1:#12293b;--t1s:#58b4e8;--t2:#10301f;--t2s:#3fc48f;
--t3:#33290e;--t3s:#e3b341}}
.tt{background:var(--bg);font-family:system-ui,sans-serif;font-size:12px}
.tt text{fill:var(--ink);unicode-bidi:isolate}.tt .d{fill:var(--dim);font-size:11px}
.tt .h{font-weight:600}.tt .l{stroke:var(--line);stroke-width:1.2;fill:none}
.tt .o{stroke:var(--odd);stroke-dasharray:6 3;stroke-width:1.8}.tt .c{stroke:var(--cut);stroke-width:3}
.tt .n{font-size:11px;fill:var(--dim);paint-order:stroke;stroke:var(--bg);stroke-width:4px}
.tt .no{fill:var(--odd)}.tt .nc{fill:var(--cut);font-weight:600}
.tt .t0{fill:var(--t0);stroke:var(--t0s)}.tt .t1{fill:var(--t1);stroke:var(--t1s)}
.tt .t2{fill:var(--t2);stroke:var(--t2s)}.tt .t3{fill:var(--t3);stroke:var(--t3s)}
.tt .m{stroke-dasharray:2 2}
"""


@dataclass(frozen=True, slots=True)
class _Placed:
    box: Box
    x: float
    y: float
    width: float

    @property
    def middle(self) -> float:
        return self.x + self.width / 2


def render(scene: Scene, *, title: str, alt: str, notes: tuple[str, ...]) -> str:
    """The scene as one SVG document."""
    rows = scene.rows()
    placed: dict[int, _Placed] = {}
    margin: list[str] = []
    y = top = 16.0 + (24 if any(_is_arch(scene, bundle, rows[0][0]) for bundle in scene.bundles) else 0)
    for tier, boxes in rows:
        for i in boxes:
            placed[i] = _place(scene.boxes[i], y, scene.columns)
        margin += _row_head(scene, tier, boxes, y)
        y += _BOX + _GAP
    captions, single = _gap_captions(scene, rows, top)
    margin += captions
    lines, labels = _lines(scene, placed, single)
    bottom = y - _GAP + 26
    foot: list[str] = []
    for note in notes:
        for piece in textwrap.wrap(note, 150):
            foot.append(_text(12, bottom, piece, "d"))
            bottom += 16
    height = math.ceil(bottom)
    within = {b.lower: b for b in scene.bundles if b.lower == b.upper}
    boxes_svg = [_box(placed[i], within.get(i)) for _, row in rows for i in row]
    body = "\n".join([*lines, *boxes_svg, *labels, *margin, *foot])
    size = f'viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" height="{height}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="tt" {size} role="img" '
        f'aria-label="{escape_xml(alt)}">\n'
        f"<title>{escape_xml(title)}</title>\n<desc>{escape_xml(' '.join([alt, *notes]))}</desc>\n"
        f"<style>{STYLE}</style>\n"
        f'<rect width="{_WIDTH}" height="{height}" fill="var(--bg)"/>\n{body}\n</svg>\n'
    )


def _place(box: Box, y: float, columns: int) -> _Placed:
    step = (_WIDTH - _LEFT - 8) / columns
    slot = (box.end - box.start) * step
    width = min(slot - (6 if slot > 60 else 3), 190.0)
    middle = _LEFT + (box.start + box.end) / 2 * step
    return _Placed(box, round(middle - width / 2, 1), y, round(width, 1))


def _row_head(scene: Scene, tier: int, boxes: list[int], y: float) -> list[str]:
    word = tier_word(tier)
    total = sum(len(scene.boxes[i].units) for i in boxes)
    head = [_text(12, y + 20, plural(total, word), "h")]
    if tier == 0:
        endpoints = sum(int(scene.units.n_endpoints[scene.boxes[i].units].sum()) for i in boxes)
        head.append(_text(12, y + 36, plural(endpoints, "endpoint"), "d"))
    else:
        head.append(_text(12, y + 36, f"tier {tier}" if tier < 100 else "tier not known", "d"))
    return head


def _rate(gbps: float) -> str:
    return "rate unknown" if math.isnan(gbps) else format_gbps(gbps)


def _is_arch(scene: Scene, bundle: Bundle, tier: int) -> bool:
    """Whether a bundle joins two boxes of the row of this tier."""
    return bundle.lower != bundle.upper and scene.boxes[bundle.lower].tier == tier == scene.boxes[bundle.upper].tier


def _gap_captions(
    scene: Scene, rows: list[tuple[int, list[int]]], top: float
) -> tuple[list[str], set[tuple[int, int]]]:
    """Totals between neighbouring rows, at the left; also the gaps whose lines are all alike."""
    out: list[str] = []
    alike: set[tuple[int, int]] = set()
    for i, ((upper, _), (lower, _)) in enumerate(pairwise(rows)):
        own = [b for b in scene.bundles if (scene.boxes[b.upper].tier, scene.boxes[b.lower].tier) == (upper, lower)]
        if not own:
            continue
        y = top + (i + 1) * (_BOX + _GAP) - _GAP / 2 - 16
        cables, gbps = sum(b.cables for b in own), sum(b.gbps for b in own)
        out += [_text(12, y, plural(cables, "cable"), "d"), _text(12, y + 14, _rate(gbps), "d")]
        kinds = Counter((b.cables, b.gbps if b.gbps == b.gbps else -1.0) for b in own)
        if len(kinds) == 1 and len(own) > 1:
            alike.add((upper, lower))
            out.append(_text(12, y + 28, f"each line: {plural(own[0].cables, 'cable')},", "d"))
            out.append(_text(12, y + 42, _rate(own[0].gbps), "d"))
        elif 1 < len(kinds) <= 3 and len(own) > _MOST_LABELS:
            most = ", ".join(f"{n:,} of {size[0]:,}" for size, n in kinds.most_common())
            out.append(_text(12, y + 28, shorten(f"lines: {most}", 24), "d"))
    return out, alike


def _lines(scene: Scene, placed: dict[int, _Placed], alike: set[tuple[int, int]]) -> tuple[list[str], list[str]]:
    lines: list[str] = []
    labels: list[str] = []
    taken: list[tuple[float, float, float]] = []
    between = [b for b in scene.bundles if b.lower != b.upper]
    per_gap = Counter((scene.boxes[b.upper].tier, scene.boxes[b.lower].tier) for b in between)
    ends = _attachments(between, placed)
    for bundle, (x1, x2) in zip(between, ends, strict=True):
        low, high = placed[bundle.lower], placed[bundle.upper]
        gap = (high.box.tier, low.box.tier)
        path, at = _path(low, high, x1, x2)
        shade = "c" if bundle.marked else "o" if bundle.uneven else ""
        tip = escape_xml(_tip(scene, bundle))
        lines.append(f'<path class="{f"l {shade}".strip()}" d="{path}"><title>{tip}</title></path>')
        few = per_gap[gap] <= _MOST_LABELS and (gap not in alike or (scene.all_single and bundle.cables > 1))
        if (bundle.marked or bundle.uneven or few) and len(labels) < _MOST_LABELS * 6:
            text = f"{bundle.marked:,} of {bundle.cables:,}" if bundle.marked else f"x{bundle.cables:,}"
            style = f"n n{shade}" if shade else "n"
            rate = "" if shade == "c" or gap in alike or per_gap[gap] > _MOST_RATES else _rate(bundle.gbps)
            labels += _label(at, text, rate, style, taken)
    return lines, labels


def _attachments(bundles: list[Bundle], placed: dict[int, _Placed]) -> list[tuple[float, float]]:
    """Where each line meets its two boxes: spread over the box in the order of the far ends."""
    at: dict[tuple[int, int], float] = {}
    for side in ("lower", "upper"):
        by_box: dict[int, list[int]] = {}
        for i, bundle in enumerate(bundles):
            by_box.setdefault(getattr(bundle, side), []).append(i)
        other = "upper" if side == "lower" else "lower"
        for box, own in by_box.items():
            own.sort(key=lambda i: placed[getattr(bundles[i], other)].middle)
            here = placed[box]
            spread = min(here.width * 0.7, 9.0 * (len(own) - 1))
            for order, i in enumerate(own):
                share = order / (len(own) - 1) - 0.5 if len(own) > 1 else 0.0
                at[i, 0 if side == "lower" else 1] = here.middle + share * spread
    return [(at[i, 0], at[i, 1]) for i in range(len(bundles))]


def _path(low: _Placed, high: _Placed, x1: float, x2: float) -> tuple[str, list[tuple[float, float]]]:
    """The line, and places along it for a label."""
    if low.y == high.y:
        lift = low.y - 34
        middle = ((x1 + x2) / 2, low.y - 17)
        return f"M{x1:.1f} {low.y:.0f}Q{middle[0]:.1f} {lift:.0f} {x2:.1f} {high.y:.0f}", [middle]
    top, bottom = high.y + _BOX, low.y
    spots = [(x1 + (x2 - x1) * t, bottom + (top - bottom) * t + 4) for t in (0.4, 0.55, 0.28, 0.68, 0.8)]
    return f"M{x1:.1f} {bottom:.0f}L{x2:.1f} {top:.0f}", spots


def _label(
    spots: list[tuple[float, float]],
    text: str,
    rate: str,
    style: str,
    taken: list[tuple[float, float, float]],
) -> list[str]:
    """A label in the first free spot, its rate below if there is room as well; nothing if none is free."""
    width = max(len(text), len(rate)) * _LETTER["d"]
    lines = [text, rate] if rate else [text]
    for shown in (lines, [text]):
        for x, y in spots:
            ys = [y - 6.5 * (len(shown) - 1) + 13 * k for k in range(len(shown))]
            if all(abs(yy - v) >= 13 or abs(x - u) > (width + w) / 2 + 3 for yy in ys for u, v, w in taken):
                taken.extend((x, yy, width) for yy in ys)
                return [_text(x, yy, part, style, middle=True) for yy, part in zip(ys, shown, strict=True)]
    return []


def _tip(scene: Scene, bundle: Bundle) -> str:
    low, high = scene.boxes[bundle.lower], scene.boxes[bundle.upper]
    ends = " to ".join(" ".join(part for part in (box.count, box.label) if part) for box in (low, high))
    said = f"{ends}: {plural(bundle.cables, 'cable')}, {_rate(bundle.gbps)}"
    if bundle.marked:
        said += f"; {bundle.marked:,} marked"
    return said + (f"; {bundle.uneven}" if bundle.uneven else "")


def _box(here: _Placed, within: Bundle | None) -> str:
    box = here.box
    room = here.width - 4
    lines = [text for text in (box.count, box.label) if text]
    if within is not None:
        lines.append(f"{plural(within.cables, 'link')} inside")
    elif box.detail and box.detail != box.label and len(box.detail) * _LETTER["d"] <= room:
        lines.append(box.detail)
    first = here.y + _BOX / 2 + 4 - 8 * (len(lines) - 1)
    texts = []
    for i, text in enumerate(lines):
        style = "d" if i else "h" if len(lines) > 1 else ""
        style = style if len(text) * _LETTER[style] <= room else "d"
        wide = len(text) * _LETTER[style]
        squeezed = room if room < wide <= room * _SQUEEZE else 0.0
        short = text if squeezed else shorten(text, max(3, int(room / _LETTER[style])))
        texts.append(_text(here.middle, first + 16 * i, short, style, middle=True, length=squeezed))
    shade = f"t{min(max(box.tier, 0), 3)}" + (" m" if box.n_more else "")
    tip = "; ".join(dict.fromkeys(text for text in (box.count, box.label, box.detail) if text))
    return (
        f'<g><title>{escape_xml(tip)}</title><rect class="{shade}" x="{here.x}" y="{here.y:.0f}" '
        f'width="{here.width}" height="{_BOX}" rx="4"/>{"".join(texts)}</g>'
    )


def _text(x: float, y: float, text: str, style: str = "", *, middle: bool = False, length: float = 0.0) -> str:
    anchor = ' text-anchor="middle"' if middle else ""
    chosen = f' class="{style}"' if style else ""
    fit = f' textLength="{length:.0f}" lengthAdjust="spacingAndGlyphs"' if length else ""
    return f'<text x="{x:.1f}" y="{y:.1f}"{chosen}{anchor}{fit}>{escape_xml(text)}</text>'
