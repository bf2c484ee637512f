"""Dots, lines and words of the pictures that are no rows of tiers, gathered into one SVG."""

from __future__ import annotations

import math
import textwrap
from collections import defaultdict
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from topo.table import Array
from topo.view.place import document, text_element
from topo.view.svg import STYLE
from topo.view.text import escape_xml, shorten

__all__ = ["Canvas", "on_circle"]

_STYLE = (
    STYLE
    + ".tt .f{stroke:var(--line);stroke-width:1;stroke-opacity:.45;fill:none}"
    + ".tt .ff{stroke:var(--line);stroke-width:.7;stroke-opacity:.18;fill:none}"
    + ".tt .w{stroke:var(--line);stroke-width:1.2;stroke-dasharray:4 3;fill:none}"
    + ".tt .g{stroke:var(--t2s);stroke-width:5;stroke-opacity:.35;stroke-linecap:round;fill:none}"
    + ".tt .mf{fill:var(--t1s);stroke:none}.tt .mh{fill:var(--t1s);fill-opacity:.45;stroke:none}"
    + ".tt .mc{fill:var(--cut);stroke:none}.tt .e{fill:none;stroke:var(--line)}\n"
)
_LETTERS = 150


@dataclass(eq=False)
class Canvas:
    """What is drawn so far; lines of one style become one path, so that thousands of them stay a small file."""

    _paths: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    _above: list[str] = field(default_factory=list)
    height: float = 0.0

    def line(self, x1: float, y1: float, x2: float, y2: float, style: str, *, bow: float = 0.0) -> None:
        """A line, or a curve bowed by so many pixels to the left of its way (seen going from 1 to 2)."""
        start, end = f"M{x1:.1f} {y1:.1f}", f"{x2:.1f} {y2:.1f}"
        if not bow:
            self._paths[style].append(f"{start}L{end}")
            return
        length = math.hypot(x2 - x1, y2 - y1) or 1.0
        middle_x = (x1 + x2) / 2 + 2 * bow * (y2 - y1) / length
        middle_y = (y1 + y2) / 2 - 2 * bow * (x2 - x1) / length
        self._paths[style].append(f"{start}Q{middle_x:.1f} {middle_y:.1f} {end}")

    def bar(self, x: float, y: float, width: float, height: float, style: str) -> None:
        """A filled rectangle."""
        self._paths[style].append(f"M{x:.1f} {y:.1f}h{width:.1f}v{height:.1f}h{-width:.1f}z")

    def dot(self, x: float, y: float, radius: float, tip: str, style: str = "t1") -> None:
        """A circle that tells its name when pointed at."""
        self._above.append(
            f'<circle class="{style}" cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}"><title>{escape_xml(tip)}</title>'
            "</circle>"
        )

    def text(self, x: float, y: float, words: str, style: str = "d", *, middle: bool = False, most: int = 60) -> None:
        """A line of text."""
        self._above.append(text_element(x, y, shorten(words, most), style, middle=middle))

    def frame(self, x: float, y: float, width: float, height: float) -> None:
        """An empty rectangle."""
        self._paths["e"].append(f"M{x:.1f} {y:.1f}h{width:.1f}v{height:.1f}h{-width:.1f}z")

    def svg(self, *, title: str, alt: str, notes: tuple[str, ...]) -> str:
        """The document, with the notes under the picture."""
        y = self.height + 18
        foot = []
        for piece in (piece for note in notes for piece in textwrap.wrap(note, _LETTERS)):
            foot.append(text_element(12, y, piece, "d"))
            y += 16
        lines = [f'<path class="{style}" d="{"".join(parts)}"/>' for style, parts in self._paths.items()]
        height = math.ceil(y + 4)
        return document(
            [*lines, *self._above, *foot],
            height=height,
            title=title,
            alt=alt,
            style=_STYLE,
            description=" ".join([alt, *notes]),
        )


def on_circle(n: int, x: float, y: float, radius: float) -> tuple[NDArray[np.float64], Array]:
    """n places on a circle, the first at the top, clockwise, and their directions from the middle; both (n, 2)."""
    angle = 2 * np.pi * np.arange(n) / max(n, 1) - np.pi / 2
    way = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    return np.array([x, y]) + radius * way, way
