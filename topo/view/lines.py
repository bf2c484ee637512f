"""The lines of a picture: one for each bundle, with its label, and what all lines between two rows have in common."""

from __future__ import annotations

import math
from collections import Counter
from itertools import pairwise

from topo.units import format_gbps
from topo.view.place import BOX, GAP, LEFT, LETTER, WIDTH, Placed, label_element, text_element
from topo.view.scene import Bundle, Scene
from topo.view.text import escape_xml, plural, shorten

__all__ = ["captions", "draw_lines", "headroom", "rate_text"]

_MOST_LABELS = 16
_MOST_RATES = 12
_MARGIN = 24
_WIDE, _CLOSE = 36.0, 9.0
_FEW = 5
_LOW_ARC = 22.0
_HIGH_ARC = 104.0
_CAPTION = 46.0  # the totals of arcs over the top row stand in the margin beside them


def rate_text(gbps: float) -> str:
    """A rate, or that it is not known."""
    return "rate unknown" if math.isnan(gbps) else format_gbps(gbps)


def _arcs(scene: Scene, boxes: list[int]) -> list[Bundle]:
    own = set(boxes)
    return [b for b in scene.bundles if b.lower != b.upper and b.lower in own and b.upper in own]


def headroom(scene: Scene, boxes: list[int], *, first: bool) -> float:
    """How much higher the gap above a row is to be for the arcs that join its boxes."""
    arcs = _arcs(scene, boxes)
    if not arcs:
        return 0.0
    high = _arc_height(scene, boxes)
    return max(high, _CAPTION) if first else max(0.0, high - GAP / 2)


def _arc_height(scene: Scene, boxes: list[int]) -> float:
    """Height of the widest arc of a row: a few arcs between neighbours stay low."""
    spans = {round(_span(scene, bundle), 6) for bundle in _arcs(scene, boxes)}
    return min(_HIGH_ARC, _LOW_ARC + 14.0 * (len(spans) - 1))


def _span(scene: Scene, bundle: Bundle) -> float:
    low, high = scene.boxes[bundle.lower], scene.boxes[bundle.upper]
    return abs(low.start + low.end - high.start - high.end) / 2


def captions(
    scene: Scene, rows: list[tuple[int, list[int]]], placed: dict[int, Placed]
) -> tuple[list[str], set[tuple[int, int]]]:
    """Totals between rows, at the left; also the pairs of rows whose lines are all alike."""
    out: list[str] = []
    alike: set[tuple[int, int]] = set()
    for tier, boxes in rows:
        told, same = _caption(scene, _arcs(scene, boxes), placed[boxes[0]].y - 44)
        out += told if tier == rows[0][0] else []
        alike |= {(tier, tier)} if same else set()
    for (upper, _), (lower, below) in pairwise(rows):
        own = [b for b in scene.bundles if (scene.boxes[b.upper].tier, scene.boxes[b.lower].tier) == (upper, lower)]
        told, same = _caption(scene, own, placed[below[0]].y - GAP / 2 - 16)
        out += told
        alike |= {(upper, lower)} if same else set()
    return out, alike


def _caption(scene: Scene, own: list[Bundle], y: float) -> tuple[list[str], bool]:
    if not own:
        return [], False
    word = scene.called(own)
    said = [plural(sum(b.cables for b in own), word), rate_text(sum(b.gbps for b in own))]
    kinds = Counter((b.cables, -1.0 if math.isnan(b.gbps) else b.gbps) for b in own)
    same = len(kinds) == 1 and len(own) > 1
    if same:
        each = f"each line: {plural(own[0].cables, word)},"
        said += [each if len(each) <= _MARGIN else f"each line: x{own[0].cables:,},", rate_text(own[0].gbps)]
    else:
        rates = {round(b.gbps / b.cables, 6) for b in own}
        if len(rates) == 1 and sum(b.cables for b in own) > 1:
            said.append(f"{rate_text(rates.pop())} a {word}")
        if len(own) > _MOST_LABELS and len(kinds) <= 3:
            said += [f"{plural(n, 'line')} of {size[0]:,}" for size, n in kinds.most_common()]
    first = y - 14.0 * max(0, len(said) - 4)
    return [text_element(12, first + 14 * i, shorten(text, _MARGIN), "d") for i, text in enumerate(said)], same


def draw_lines(scene: Scene, placed: dict[int, Placed], alike: set[tuple[int, int]]) -> tuple[list[str], list[str]]:
    """The lines and their labels; lines all alike are told once in the margin."""
    lines: list[str] = []
    labels: list[str] = []
    taken: list[tuple[float, float, float]] = []
    between = [b for b in scene.bundles if b.lower != b.upper]
    per_gap = Counter((scene.boxes[b.upper].tier, scene.boxes[b.lower].tier) for b in between)
    fan = _fan(scene, between)
    ends = _attachments(between, placed)
    heights = {tier: _arc_height(scene, boxes) for tier, boxes in scene.rows()}
    widest = {tier: max((_span(scene, b) for b in _arcs(scene, boxes)), default=1.0) for tier, boxes in scene.rows()}
    lanes = _Lanes(placed)
    for bundle, (x1, x2) in zip(between, ends, strict=True):
        low, high = placed[bundle.lower], placed[bundle.upper]
        gap = (high.box.tier, low.box.tier)
        if gap[0] == gap[1]:
            share = _span(scene, bundle) / widest[gap[0]]
            path, at = _arc(low.y, x1, x2, _LOW_ARC + (heights[gap[0]] - _LOW_ARC) * share)
        else:
            path, at = _line(low, high, x1, x2, lanes)
            if 1 < fan[bundle.lower, gap] <= _FEW and fan[bundle.upper, gap] > 1:
                near = 0.16 if per_gap[gap] > _MOST_RATES else 0.24
                at = [(x1 + (x2 - x1) * near, low.y - GAP * near), *at]  # where lines that cross stand apart
        shade = "c" if bundle.marked else "o" if bundle.uneven else ""
        tip = escape_xml(_tip(scene, bundle))
        lines.append(f'<path class="{f"l {shade}".strip()}" d="{path}"><title>{tip}</title></path>')
        few = per_gap[gap] <= _MOST_LABELS and (
            gap not in alike or (scene.all_single and bundle.cables > 1 and per_gap[gap] <= _MOST_RATES)
        )
        if (bundle.marked or bundle.uneven or few) and len(labels) < _MOST_LABELS * 9:
            text = f"{bundle.marked:,} of {bundle.cables:,}" if bundle.marked else f"x{bundle.cables:,}"
            style = f"n n{shade}" if shade else "n"
            rate = "" if shade == "c" or gap in alike or per_gap[gap] > _MOST_RATES else rate_text(bundle.gbps)
            labels += _label(at, text, rate, style, taken)
    return lines, labels


def _fan(scene: Scene, bundles: list[Bundle]) -> Counter[tuple[int, tuple[int, int]]]:
    """How many lines meet each box between two rows."""
    found: Counter[tuple[int, tuple[int, int]]] = Counter()
    for bundle in bundles:
        gap = (scene.boxes[bundle.upper].tier, scene.boxes[bundle.lower].tier)
        found.update([(bundle.lower, gap), (bundle.upper, gap)])
    return found


def _attachments(bundles: list[Bundle], placed: dict[int, Placed]) -> list[tuple[float, float]]:
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
            spread = min(here.width * 0.7, (_WIDE if len(own) <= _FEW else _CLOSE) * (len(own) - 1))
            for order, i in enumerate(own):
                share = order / (len(own) - 1) - 0.5 if len(own) > 1 else 0.0
                at[i, 0 if side == "lower" else 1] = here.middle + share * spread
    return [(at[i, 0], at[i, 1]) for i in range(len(bundles))]


def _arc(y: float, x1: float, x2: float, height: float) -> tuple[str, list[tuple[float, float]]]:
    """An arc over a row of boxes, and the place for its label."""
    return f"M{x1:.1f} {y:.0f}C{x1:.1f} {y - height * 4 / 3:.0f} {x2:.1f} {y - height * 4 / 3:.0f} {x2:.1f} {y:.0f}", [
        ((x1 + x2) / 2, y - height + 4)
    ]


def _line(low: Placed, high: Placed, x1: float, x2: float, lanes: _Lanes) -> tuple[str, list[tuple[float, float]]]:
    """The line, beside the boxes of rows that lie between, and places along it for a label."""
    top, bottom = high.y + BOX, low.y
    between = lanes.between(high.y, low.y)
    if not between:
        spots = [(x1 + (x2 - x1) * t, bottom + (top - bottom) * t + 4) for t in (0.4, 0.55, 0.28, 0.68, 0.8)]
        return f"M{x1:.1f} {bottom:.0f}L{x2:.1f} {top:.0f}", spots
    x = lanes.free(between, x1, x2)
    upper, lower = between[0] - 12, between[-1] + BOX + 12
    path = f"M{x1:.1f} {bottom:.0f}L{x:.1f} {lower:.0f}V{upper:.0f}L{x2:.1f} {top:.0f}"
    return path, [((x + x1) / 2, (lower + bottom) / 2 + 4), ((x + x2) / 2, (upper + top) / 2 + 4)]


class _Lanes:
    """The ways between the boxes of a row, for lines that pass it; each line takes a lane a little beside the last."""

    def __init__(self, placed: dict[int, Placed]) -> None:
        self._spans: dict[float, list[tuple[float, float]]] = {}
        for here in placed.values():
            self._spans.setdefault(here.y, []).append((here.x, here.x + here.width))
        self._used: Counter[float] = Counter()

    def between(self, high: float, low: float) -> list[float]:
        """Tops of the rows between two others."""
        return sorted(y for y in self._spans if high < y < low)

    def free(self, rows: list[float], x1: float, x2: float) -> float:
        """The nearest way past the boxes of all these rows."""
        spans = sorted(span for y in rows for span in self._spans[y])
        edges = [0.0] + [x for span in spans for x in span] + [float(WIDTH)]
        ways = [x1, x2, *((a + b) / 2 for a, b in pairwise(edges))]
        fits = [x for x in ways if x >= LEFT - 6 and not any(a - 1 < x < b + 1 for a, b in spans)]
        best = min(fits, key=lambda x: abs(x - x1) + abs(x - x2), default=(x1 + x2) / 2)
        self._used[best] += 1
        return best + 5.0 * (self._used[best] - 1) * (best not in (x1, x2))


def _label(
    spots: list[tuple[float, float]],
    text: str,
    rate: str,
    style: str,
    taken: list[tuple[float, float, float]],
) -> list[str]:
    """A label in the first free spot, its rate below if there is room as well; nothing if none is free."""
    for shown in ([text, rate] if rate else [text], [text]):
        width = max(map(len, shown)) * LETTER["n"]
        for x, y in ((min(x, WIDTH - width / 2 - 4), y) for x, y in spots):
            ys = [y - 6.5 * (len(shown) - 1) + 13 * k for k in range(len(shown))]
            if all(abs(yy - v) >= 13 or abs(x - u) > (width + w) / 2 + 6 for yy in ys for u, v, w in taken):
                taken.extend((x, yy, width) for yy in ys)
                return label_element(x, ys, shown, style)
    return []


def _tip(scene: Scene, bundle: Bundle) -> str:
    low, high = scene.boxes[bundle.lower], scene.boxes[bundle.upper]
    ends = " to ".join(" ".join(part for part in (box.count, box.label) if part) for box in (low, high))
    said = f"{ends}: {plural(bundle.cables, scene.called([bundle]))}, {rate_text(bundle.gbps)}"
    if bundle.marked:
        said += f"; {bundle.marked:,} marked"
    return said + (f"; {bundle.uneven}" if bundle.uneven else "")
