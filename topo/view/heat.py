"""Heat of many links as strips of cells, one strip a stage, so that any number of links fits."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from topo.view.place import LETTER, NARROW, WIDTH, document, text_element
from topo.view.svg import STYLE
from topo.view.text import shorten
from topo.view.tiers import Drawing

__all__ = ["Strip", "cells_of", "draw_heat"]

_LEFT, _EDGE, _CELL, _STEPS = 250.0, 12.0, 9.0, 10
_SHADE, _SHADE_NARROW, _LINE = 22.0, 16.0, 16.0

_STYLE = (
    STYLE
    + "".join(f".tt .q{i}{{fill:var(--t1s);fill-opacity:{0.06 + 0.94 * i / _STEPS:.2f}}}" for i in range(_STEPS + 1))
    + ".tt .qs{stroke:var(--bg);stroke-width:2;fill:none}"
    + ".tt .qo{fill:var(--odd)}.tt .qe{fill:none;stroke:var(--line);stroke-opacity:.5}\n"
)


@dataclass(frozen=True, eq=False)
class Strip:
    """One stage: what it is called, what to say of it, and its cells (rows, columns) from 0 up; nan is no link."""

    name: str
    said: tuple[str, ...]
    cells: NDArray[np.float64]
    columns: str = ""


def cells_of(
    column: NDArray[np.int64], value: NDArray[np.float64], *, most_columns: int = 96, most_rows: int = 8
) -> NDArray[np.float64]:
    """Values by column number and order within the column, the greatest where several share a cell.

    >>> import numpy as np
    >>> cells_of(np.array([0, 0, 5, 5]), np.array([0.1, 0.2, 0.3, 0.4])).tolist()
    [[0.1, 0.3], [0.2, 0.4]]
    """
    _, number = np.unique(column, return_inverse=True)
    n = int(number.max(initial=-1)) + 1
    count = np.bincount(number, minlength=n)
    order = np.argsort(number, kind="stable")
    rank = np.empty(len(number), np.int64)
    rank[order] = np.arange(len(number)) - np.repeat(np.cumsum(count) - count, count)
    rows, columns = min(most_rows, int(count.max(initial=0))), min(most_columns, n)
    cells = np.full((rows, columns), -np.inf)
    # A column with few links fills its cells from the top; one with more than there are rows shares them out.
    row = np.where(count[number] > rows, rank * rows // np.maximum(count[number], 1), rank)
    np.maximum.at(cells, (row, number * columns // max(n, 1)), value)
    return np.where(np.isinf(cells), np.nan, cells)


def draw_heat(
    strips: Sequence[Strip], *, title: str, alt: str, unit: str = "load over capacity", narrow: bool = False
) -> Drawing:
    """Strips below each other: the darker the fuller, in another colour and struck through above 1.

    What is said of a strip stands beside it, or above it where the drawing is ``narrow``, for a telephone.

    >>> import numpy as np
    >>> strip = Strip("leaf to spine", ("4 links",), np.array([[0.5, 0.5], [1.2, 0.5]]))
    >>> draw_heat([strip], title="t", alt="one link is overloaded").svg.count('class="qo"')
    2
    """
    body: list[str] = []
    y = 14.0
    for strip in strips:
        said, cells = _LINE * (1 + len(strip.said)) + 6, len(strip.cells) * _CELL + 18
        body += _told(strip, y, narrow)
        body += _strip(strip, y + said if narrow else y, narrow)
        y += (said + cells if narrow else max(cells, said)) + 14
    overloaded = any((strip.cells > 1 + 1e-9).any() for strip in strips)
    legend, y = _legend(y + 8, unit, overloaded, narrow)
    width = NARROW if narrow else WIDTH
    svg = document([*body, *legend], height=math.ceil(y), title=title, alt=alt, style=_STYLE, width=width)
    return Drawing(svg, alt, ())


def _told(strip: Strip, y: float, narrow: bool) -> list[str]:
    """The name of a strip and what is said of it."""
    letters = int(((NARROW - 2 * _EDGE) if narrow else (_LEFT - 20)) / LETTER["d"])
    lines = [text_element(_EDGE, y + 10, strip.name, "h")]
    said = (shorten(text, letters) for text in strip.said)
    return lines + [text_element(_EDGE, y + 26 + _LINE * i, text, "d") for i, text in enumerate(said)]


def _strip(strip: Strip, y: float, narrow: bool) -> list[str]:
    """The cells of a strip in their frame, and below it what its columns are."""
    out: list[str] = []
    left, across = (_EDGE, NARROW - 2 * _EDGE) if narrow else (_LEFT, WIDTH - _LEFT - _EDGE)
    rows, columns = strip.cells.shape
    width = across / max(columns, 1)
    for r in range(rows):
        for first, last, shade in _runs(strip.cells[r]):
            x = left + first * width
            size = f'x="{x:.1f}" y="{y + r * _CELL:.1f}" width="{(last - first) * width:.1f}" height="{_CELL:.0f}"'
            out.append(f'<rect class="{shade}" {size} shape-rendering="crispEdges"/>')
            if shade == "qo":
                out.append(_struck(x, y + r * _CELL, (last - first) * width, _CELL))
    frame = f'x="{left}" y="{y:.1f}" width="{across:.1f}" height="{rows * _CELL:.0f}"'
    out.append(f'<rect class="qe" {frame}/>')
    if strip.columns:
        style = "d" if narrow else "s"
        said = shorten(strip.columns, int(across / LETTER[style]))
        out.append(text_element(left, y + rows * _CELL + 13, said, style))
    return out


def _struck(x: float, y: float, width: float, height: float) -> str:
    """A light line through a cell, which tells overload from full load without colour."""
    return f'<path class="qs" d="M{x:.1f} {y + height / 2:.1f}h{width:.1f}"/>'


def _runs(values: NDArray[np.float64]) -> list[tuple[int, int, str]]:
    """Neighbours of one shade as (first, after last, class); empty cells are left out."""
    shades = [_shade(float(value)) for value in values]
    edges = [0, *(i for i in range(1, len(shades)) if shades[i] != shades[i - 1]), len(shades)]
    return [(a, b, shades[a]) for a, b in pairwise(edges) if shades[a]]


def _shade(value: float) -> str:
    if math.isnan(value):
        return ""
    return "qo" if value > 1 + 1e-9 else f"q{round(value * _STEPS)}"


def _legend(y: float, unit: str, overloaded: bool, narrow: bool) -> tuple[list[str], float]:
    """The shades from empty to full, what is beyond them where something is, and where that ends."""
    out = [text_element(_EDGE, y + 10, unit, "d")]
    left, wide = (_EDGE, _SHADE_NARROW) if narrow else (_LEFT, _SHADE)
    y += _LINE if narrow else 0
    x = left
    for i in range(_STEPS + 1):
        out.append(f'<rect class="q{i}" x="{x:.1f}" y="{y:.1f}" width="{wide:.0f}" height="12"/>')
        x += wide
    style = "d" if narrow else "s"
    out += [text_element(left, y + 25, "0 %", style), text_element(x - 28, y + 25, "100 %", style)]
    if overloaded:
        x, y = (left, y + 36) if narrow else (x + 14, y)
        out.append(f'<rect class="qo" x="{x:.1f}" y="{y:.1f}" width="{wide:.0f}" height="12"/>')
        out.append(_struck(x, y, wide, 12))
        out.append(text_element(x + wide + 6, y + 10, "more than 100 %: the link cannot carry it", "d"))
    return out, y + (26 if not overloaded or not narrow else 20)
