"""Curves with their intervals as SVG by hand: lines, steps or dots over one pair of axes, a legend, no script."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from topo.units import format_number
from topo.view.place import LETTER, NARROW, WIDTH, document, text_element
from topo.view.svg import STYLE
from topo.view.text import escape_xml
from topo.view.tiers import Drawing

__all__ = ["CHART_STYLE", "Axis", "Curve", "draw_curves"]

_LEFT, _RIGHT, _TOP, _PLOT = 54.0, 24.0, 28.0, 172.0
_DASHES = ("none", "8 3", "2 3", "9 3 2 3")
"""Series differ without colour as well."""

CHART_STYLE = (
    STYLE
    + "\n".join(
        f".tt .k{i}{{stroke:var(--{ink});stroke-width:2;fill:none;stroke-dasharray:{_DASHES[i]}}}"
        f".tt .f{i}{{fill:var(--{ink});fill-opacity:.16}}"
        f".tt .p{i}{{fill:var(--{ink})}}"
        for i, ink in enumerate(("t1s", "odd", "t2s", "t4s"))
    )
    + "\n.tt .g{stroke:var(--line);stroke-opacity:.35;stroke-width:1}.tt .x{stroke:var(--line);stroke-width:1.2}\n"
)
"""The pictures' style sheet with strokes, bands and dots of four series."""


@dataclass(frozen=True)
class Curve:
    """One series: points (x, y) and, where known, a band from ``low`` to ``high``.

    ``shape`` is ``line`` with dots, or ``steps``: y holds from each x to the next.
    """

    name: str
    x: Sequence[float]
    y: Sequence[float]
    low: Sequence[float] = ()
    high: Sequence[float] = ()
    shape: str = "line"


@dataclass(frozen=True)
class Axis:
    """What an axis shows: its name with the unit, its ends, where it is marked (and how), whether it doubles."""

    name: str
    start: float
    end: float
    ticks: Sequence[float]
    log: bool = False
    labels: Sequence[str] = ()

    def share(self, value: float) -> float:
        """Where a value lies between both ends, 0 to 1."""
        if self.log:
            return (math.log(value) - math.log(self.start)) / (math.log(self.end) - math.log(self.start))
        return (value - self.start) / ((self.end - self.start) or 1.0)


def draw_curves(curves: Sequence[Curve], x: Axis, y: Axis, *, title: str, alt: str, narrow: bool = False) -> Drawing:
    """At most four curves over common axes; ``alt`` says in words what they show; ``narrow`` is for a telephone.

    >>> axis = Axis("share, %", 0, 100, (0, 50, 100))
    >>> drawing = draw_curves([Curve("a", (0, 100), (100, 0))], axis, axis, title="t", alt="a falls from 100 to 0")
    >>> drawing.svg.count("<polyline"), drawing.alt
    (1, 'a falls from 100 to 0')
    """
    width = NARROW if narrow else WIDTH
    plane = _Plane(x, y, width)
    body = plane.grid()
    for i, curve in enumerate(curves):
        body += plane.curve(curve, i % 4)
    bottom = _TOP + _PLOT + 34
    body.append(text_element(_LEFT + plane.width / 2, bottom, x.name, "d", middle=True))
    body.append(text_element(12, _TOP - 14, y.name, "d"))
    keys, below = _legend(curves, bottom + 22, width)
    height = math.ceil(below if len(curves) > 1 or curves[0].low else bottom + 22)
    svg = document([*body, *keys], height=height, title=title, alt=alt, style=CHART_STYLE, width=width)
    return Drawing(svg, alt, ())


class _Plane:
    """The plotting area and what is drawn on it."""

    def __init__(self, x: Axis, y: Axis, width: int) -> None:
        self.x, self.y = x, y
        self.width = width - _LEFT - _RIGHT

    def at(self, x: float, y: float) -> tuple[float, float]:
        across = min(max(self.x.share(x), 0.0), 1.0)
        up = min(max(self.y.share(y), 0.0), 1.0)
        return _LEFT + across * self.width, _TOP + _PLOT * (1 - up)

    def grid(self) -> list[str]:
        out = []
        for value in self.y.ticks:
            _, down = self.at(self.x.start, value)
            out.append(f'<path class="g" d="M{_LEFT} {down:.1f}H{_LEFT + self.width:.1f}"/>')
            said = format_number(value, 4)
            out.append(text_element(_LEFT - 8 - len(said) * LETTER["d"], down + 4, said, "d"))
        named = self.x.labels or [format_number(value, 4) for value in self.x.ticks]
        for value, said in zip(self.x.ticks, named, strict=True):
            across, _ = self.at(value, self.y.start)
            out.append(f'<path class="g" d="M{across:.1f} {_TOP}V{_TOP + _PLOT}"/>')
            out.append(text_element(across, _TOP + _PLOT + 16, said, "d", middle=True))
        out.append(f'<path class="x" d="M{_LEFT} {_TOP}V{_TOP + _PLOT}H{_LEFT + self.width:.1f}" fill="none"/>')
        return out

    def curve(self, curve: Curve, i: int) -> list[str]:
        out = []
        if curve.low:
            upper = self._points(curve.x, curve.high, curve.shape)
            lower = self._points(curve.x, curve.low, curve.shape)
            out.append(f'<polygon class="f{i}" points="{_joined([*upper, *reversed(lower)])}"/>')
        points = self._points(curve.x, curve.y, curve.shape)
        out.append(f'<polyline class="k{i}" points="{_joined(points)}"/>')
        if curve.shape == "line":
            for x, y in zip(curve.x, curve.y, strict=True):
                across, down = self.at(x, y)
                tip = escape_xml(f"{curve.name}: {format_number(y, 4)} at {format_number(x, 4)}")
                out.append(
                    f'<circle class="p{i}" cx="{across:.1f}" cy="{down:.1f}" r="3"><title>{tip}</title></circle>'
                )
        return out

    def _points(self, xs: Sequence[float], ys: Sequence[float], shape: str) -> list[tuple[float, float]]:
        points = [self.at(x, y) for x, y in zip(xs, ys, strict=True)]
        if shape != "steps":
            return points
        stairs = points[:1]
        for here, after in pairwise(points):
            stairs += [(after[0], here[1]), after]
        return stairs


def _joined(points: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in points)


def _legend(curves: Sequence[Curve], y: float, width: int) -> tuple[list[str], float]:
    """The names with their strokes, in as many lines as they take, and where they end."""
    out: list[str] = []
    x = _LEFT
    for i, curve in enumerate(curves):
        long = 28 + len(curve.name) * LETTER["d"]
        if x > _LEFT and x + long > width:
            x, y = _LEFT, y + 18
        out.append(f'<path class="k{i % 4}" d="M{x:.1f} {y - 4:.1f}h22"/>')
        out.append(text_element(x + 28, y, curve.name, "d"))
        x += long + 26
    return out, y + 16
