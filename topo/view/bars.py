"""A waterfall as SVG by hand: what is left after each effect as a bar, what the effect took as a gap behind it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from topo.units import format_number
from topo.view.curves import CHART_STYLE
from topo.view.place import LETTER, NARROW, WIDTH, document, text_element
from topo.view.text import escape_xml, shorten
from topo.view.tiers import Drawing

__all__ = ["Bar", "draw_waterfall"]

_NAMES, _RIGHT, _TOP, _STEP, _THICK = 132.0, 440.0, 34.0, 30.0, 18.0
_EDGE, _STACK = 12.0, 62.0
_SHOWN = 0.05
"""What is less rounds to 0.0 and is not written."""

_STYLE = (
    CHART_STYLE
    + ".tt .wl{fill:var(--t1s)}.tt .wt{fill:var(--odd);fill-opacity:.22;stroke:var(--odd);stroke-width:1}"
    + ".tt .wg{fill:var(--t2s);fill-opacity:.35;stroke:var(--t2s);stroke-width:1}"
    + ".tt .wn{font-variant-numeric:tabular-nums;font-weight:600}.tt .wo{fill:var(--odd);font-weight:600}\n"
)


@dataclass(frozen=True, slots=True)
class Bar:
    """What is left after an effect, what it took (below 0: gave back), and how well that is known."""

    name: str
    left: float
    taken: float = 0.0
    standing: str = ""


def draw_waterfall(bars: Sequence[Bar], *, unit: str, title: str, alt: str, narrow: bool = False) -> Drawing:
    """Bars from top to bottom in the order given, each named with its value, its loss and its standing.

    Values stand beside the bars, or above and below them where the drawing is ``narrow``, for a telephone.

    >>> drawing = draw_waterfall([Bar("line rate", 400), Bar("wire", 392, 8)], unit="Gb/s", title="t", alt="a")
    >>> drawing.svg.count('class="wl"'), drawing.svg.count('class="wt"')
    (2, 1)
    """
    most = max((max(bar.left, bar.left + bar.taken) for bar in bars), default=0.0) or 1.0
    layout, step = (_stacked, _STACK) if narrow else (_beside, _STEP)
    body = [] if narrow else _heads()
    body.append(text_element(_EDGE if narrow else _NAMES, 20, f"{unit} left after each effect", "d"))
    for i, bar in enumerate(bars):
        body += layout(bar, _TOP + i * step, most)
    height = math.ceil(_TOP + len(bars) * step + 8)
    width = NARROW if narrow else WIDTH
    return Drawing(document(body, height=height, title=title, alt=alt, style=_STYLE, width=width), alt, ())


def _heads() -> list[str]:
    numbers = WIDTH - _RIGHT + 10
    return [
        text_element(numbers, 20, "left", "d"),
        text_element(numbers + 58, 20, "lost", "d"),
        text_element(numbers + 116, 20, "standing", "d"),
    ]


def _beside(bar: Bar, y: float, most: float) -> list[str]:
    """One line: the name, the bar, its numbers and its standing."""
    line, numbers = y + _THICK - 5, WIDTH - _RIGHT + 10
    out = [text_element(12, line, bar.name, "h"), *_bar(bar, _NAMES, y, (WIDTH - _NAMES - _RIGHT) / most)]
    out.append(text_element(numbers, line, f"{bar.left:.1f}", "wn"))
    if abs(bar.taken) >= _SHOWN:
        out.append(text_element(numbers + 58, line, f"{bar.taken:.1f}", "wo"))
    room = int((_RIGHT - 126 - 12) / LETTER["d"])
    out.append(text_element(numbers + 116, line, shorten(bar.standing, room), "d"))
    return out


def _stacked(bar: Bar, y: float, most: float) -> list[str]:
    """Three lines: the name with its numbers, the bar across, the standing."""
    line, across = y + 11, NARROW - 2 * _EDGE
    out = [text_element(_EDGE, line, bar.name, "h"), text_element(_EDGE + 150, line, f"{bar.left:.1f}", "wn")]
    if abs(bar.taken) >= _SHOWN:
        out.append(text_element(_EDGE + 210, line, f"lost {bar.taken:.1f}", "wo"))
    out += _bar(bar, _EDGE, y + 17, across / most)
    out.append(text_element(_EDGE, y + 49, shorten(bar.standing, int(across / LETTER["d"])), "d"))
    return out


def _bar(bar: Bar, x: float, y: float, across: float) -> list[str]:
    """What is left, and behind it what the effect took or gave back; ``across`` pixels a unit."""
    width = across * min(bar.left, bar.left + bar.taken)
    tip = escape_xml(f"{bar.name}: {format_number(bar.left, 4)} left, {format_number(bar.taken, 4)} lost")
    out = [
        f'<rect class="wl" x="{x}" y="{y:.1f}" width="{max(width, 0):.1f}" height="{_THICK}">'
        f"<title>{tip}</title></rect>"
    ]
    if abs(bar.taken) * across >= 0.5:
        style = "wt" if bar.taken > 0 else "wg"
        out.append(
            f'<rect class="{style}" x="{x + width:.1f}" y="{y:.1f}" width="{across * abs(bar.taken):.1f}" '
            f'height="{_THICK}"><title>{tip}</title></rect>'
        )
    return out
