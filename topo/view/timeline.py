"""A timeline as SVG by hand: one lane a row, what runs in it as boxes from start to end, in the order of time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from topo.units import format_number
from topo.view.curves import CHART_STYLE
from topo.view.place import LETTER, NARROW, WIDTH, document, text_element
from topo.view.text import escape_xml
from topo.view.tiers import Drawing

__all__ = ["Span", "draw_timeline"]

_LEFT, _RIGHT, _TOP, _LANE, _THICK = 76.0, 24.0, 30.0, 26.0, 18.0
_TICKS = 5

_STYLE = CHART_STYLE + "".join(
    f".tt .u{i}{{fill:var(--{ink});fill-opacity:{shade};stroke:var(--{ink});stroke-width:.6}}"
    for i, (ink, shade) in enumerate((("t1s", 0.95), ("t2s", 0.45), ("odd", 0.75), ("t4s", 0.2)))
)
"""Kinds differ in colour and in how dark they are."""


@dataclass(frozen=True, slots=True)
class Span:
    """Something that runs in lane ``lane`` from ``start`` to ``end``; ``kind`` indexes the legend."""

    lane: int
    start: float
    end: float
    kind: int


def draw_timeline(
    lanes: Sequence[str],
    spans: Sequence[Span],
    kinds: Sequence[str],
    *,
    unit: str,
    title: str,
    alt: str,
    narrow: bool = False,
) -> Drawing:
    """Lanes from top to bottom over one axis of time from 0; at most four kinds; ``narrow`` is for a telephone.

    >>> drawing = draw_timeline(["one"], [Span(0, 0, 1, 0), Span(0, 1, 3, 1)], ["forward", "backward"], unit="ms",
    ...                         title="t", alt="forward, then backward")
    >>> drawing.svg.count('class="u0"') - 1, drawing.svg.count('class="u1"') - 1   # less the legend's
    (1, 1)
    """
    end = max((span.end for span in spans), default=0.0) or 1.0
    width = NARROW if narrow else WIDTH
    across = (width - _LEFT - _RIGHT) / end
    bottom = _TOP + len(lanes) * _LANE
    body = []
    step = _round_step(end / _TICKS)
    for i in range(int(end / step) + 1):
        x = _LEFT + across * step * i
        body.append(f'<path class="g" d="M{x:.1f} {_TOP - 6}V{bottom}"/>')
        body.append(text_element(x, bottom + 14, format_number(step * i, 3), "d", middle=True))
    body += [text_element(12, _TOP + i * _LANE + _THICK - 5, name, "h") for i, name in enumerate(lanes)]
    for span in spans:
        y, long = _TOP + span.lane * _LANE, across * (span.end - span.start)
        tip = escape_xml(f"{kinds[span.kind]}: {format_number(span.start, 4)} to {format_number(span.end, 4)} {unit}")
        body.append(
            f'<rect class="u{span.kind}" x="{_LEFT + across * span.start:.2f}" y="{y:.1f}" width="{long:.2f}" '
            f'height="{_THICK}"><title>{tip}</title></rect>'
        )
    body.append(text_element(_LEFT + (width - _LEFT - _RIGHT) / 2, bottom + 32, f"time, {unit}", "d", middle=True))
    keys, below = _legend(kinds, bottom + 52, width)
    svg = document([*body, *keys], height=math.ceil(below), title=title, alt=alt, style=_STYLE, width=width)
    return Drawing(svg, alt, ())


def _legend(kinds: Sequence[str], y: float, width: int) -> tuple[list[str], float]:
    """The kinds with their colours, in as many lines as they take, and where they end."""
    out: list[str] = []
    x = _LEFT
    for i, name in enumerate(kinds):
        long = 22 + len(name) * LETTER["d"]
        if x > _LEFT and x + long > width:
            x, y = _LEFT, y + 18
        out.append(f'<rect class="u{i}" x="{x:.1f}" y="{y - 10:.1f}" width="16" height="11"/>')
        out.append(text_element(x + 22, y, name, "d"))
        x += long + 24
    return out, y + 12


def _round_step(least: float) -> float:
    """The smallest of 1, 2 and 5 times a power of ten that is at least so much.

    >>> _round_step(697), _round_step(0.04)
    (1000.0, 0.05)
    """
    power = 10.0 ** math.floor(math.log10(least))
    return next(round(k * power, 12) for k in (1, 2, 5, 10) if k * power >= least * (1 - 1e-9))
