"""Fabrics side by side: the same measures of each, and in words what differs."""

from __future__ import annotations

import html
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from topo.design.measures import MEASURES, MeasureOf, standings_of
from topo.design.numbers import FabricNumbers, numbers_of, price_list
from topo.design.prices import PriceList
from topo.errors import ParameterError
from topo.fabric import Fabric, expect_fabric
from topo.output import plain
from topo.result import Result, Row
from topo.units import format_number

__all__ = ["FabricComparison", "compare_fabrics", "html_table", "text_table"]

_MOST_FABRICS = 26
_COLUMNS = 110


@dataclass(frozen=True)
class FabricComparison(Result):
    """Two fabrics or more, each with all its numbers; ``fabrics`` are in the order in which they were given."""

    fabrics: tuple[FabricNumbers, ...]
    prices: str

    title: ClassVar[str] = "Fabrics side by side"
    derived: ClassVar[tuple[str, ...]] = ("differences", "not_computed")

    @property
    def names(self) -> tuple[str, ...]:
        """A name for each, told apart where two are the same."""
        given = [one.name for one in self.fabrics]
        return tuple(f"{name} ({i})" if given.count(name) > 1 else name for i, name in enumerate(given, 1))

    @property
    def head(self) -> tuple[str, ...]:
        """Heads of the columns of :meth:`cells`: the names, or letters where they are too wide for a screen."""
        if sum(map(len, self.names)) + 50 <= _COLUMNS:
            return ("", *self.names)
        return ("", *(chr(ord("A") + i) for i in range(len(self.fabrics))))

    @property
    def legend(self) -> tuple[str, ...]:
        """What the letters of :attr:`head` stand for; empty where it has the names."""
        if self.head[1:] == self.names:
            return ()
        return tuple(f"{letter}: {name}" for letter, name in zip(self.head[1:], self.names, strict=True))

    def cells(self) -> list[tuple[str, ...]]:
        """One line a measure: its label, then its text for every fabric; lines that differ are marked with ``*``."""
        return [
            ((f"{measure.label} *" if _differs(texts) else measure.label), *texts) for measure, texts in self._texts()
        ]

    @property
    def differences(self) -> tuple[str, ...]:
        """What differs, a sentence a measure, largest against smallest where that is a ratio."""
        out = []
        for measure, texts in self._texts():
            if not _differs(texts):
                continue
            said = "; ".join(f"{name} {text}" for name, text in zip(self.names, texts, strict=True))
            out.append(f"{measure.label}: {said}{_ratio(measure, self.fabrics)}")
        return tuple(out)

    @property
    def not_computed(self) -> tuple[str, ...]:
        """What could not be computed of which fabric, and why."""
        named = zip(self.names, self.fabrics, strict=True)
        return tuple(f"{name}: {what}: {why}" for name, one in named for what, why in one.missing.items())

    def rows(self) -> list[Row]:
        """The measures line by line, then what differs."""
        rows = [Row(cells[0], " | ".join(cells[1:])) for cells in [self.head, *self.cells()]]
        rows[0] = Row("fabric", " | ".join(self.names))
        rows += [Row("standing", text) for text in self.standings]
        return rows + [Row("not computed", text) for text in self.not_computed]

    @property
    def standings(self) -> tuple[str, ...]:
        """How sure the measures are, those alike said once."""
        return standings_of(self.names, self.fabrics)

    def _texts(self) -> list[tuple[MeasureOf, list[str]]]:
        return [(measure, [measure.text(one) for one in self.fabrics]) for measure in MEASURES]

    def __str__(self) -> str:
        lines = [self.title, *self.legend, *text_table(self.head, self.cells())]
        lines += ["* differs", "", *self.standings]
        return "\n".join([*lines, *(f"not computed: {text}" for text in self.not_computed)])

    def _repr_html_(self) -> str:
        return html_table(self.title, ("", *self.names), self.cells())


def _differs(texts: Sequence[str]) -> bool:
    return len(set(texts)) > 1


def _ratio(measure: MeasureOf, fabrics: Sequence[FabricNumbers]) -> str:
    """The largest over the smallest of two values or more that all are above 0."""
    if measure.value is None:
        return ""
    values = [measure.value(one) for one in fabrics]
    known = [value for value in values if value is not None and value > 0]
    if len(known) < len(values):
        return ""
    return f" ({format_number(max(known) / min(known), 3)} times)"


def text_table(head: Sequence[str], rows: Sequence[Sequence[str]], *, most: int = 40) -> list[str]:
    """Lines of a table, cells made safe and wrapped at ``most`` letters.

    >>> text_table(("", "A"), [("switches", "12")])
    ['          A', 'switches  12']
    """
    wrapped = [[textwrap.wrap(plain(cell), most) or [""] for cell in row] for row in [head, *rows]]
    widths = [max(len(line) for row in wrapped for line in row[i]) for i in range(len(head))]
    out = []
    for row in wrapped:
        for at in range(max(map(len, row))):
            cells = [cell[at] if at < len(cell) else "" for cell in row]
            out.append("  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)).rstrip())
    return out


def html_table(title: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """The same as HTML, everything escaped."""
    top = "".join(f"<th>{html.escape(plain(cell))}</th>" for cell in head)
    body = "".join("<tr>" + "".join(f"<td>{html.escape(plain(cell))}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><caption>{html.escape(plain(title))}</caption><tr>{top}</tr>{body}</table>"


def compare_fabrics(
    fabrics: Sequence[Fabric], *, prices: PriceList | str | Path | None = None, seed: int = 0
) -> FabricComparison:
    """Fabrics side by side: equipment, power, price, distances, bisection, hashed and degraded rates; what differs.

    Every number is one of :class:`~topo.design.numbers.FabricNumbers`. Cables, power and price are those of
    :func:`topo.cabling_plan` by the usual rules of racks, of the network without hosts; ``prices`` replaces the usual
    list. Cost: one to ten seconds for a fabric of 16,384 endpoints.

    >>> import topo
    >>> both = [topo.leaf_spine(leaves=4, spines=n, hosts_per_leaf=8) for n in (8, 4)]
    >>> found = topo.compare_fabrics(both)
    >>> [one.n_switches for one in found.fabrics], found.differences[0]
    ([12, 8], 'switches: leaf-spine 4x8 12; leaf-spine 4x4 8 (1.5 times)')

    :raises ParameterError: fewer than two fabrics, more than 26, or something that is none.
    :raises InputError: a file of prices that cannot be used.
    """
    for fabric in fabrics:
        expect_fabric(fabric)
    if not 2 <= len(fabrics) <= _MOST_FABRICS:
        raise ParameterError(f"{len(fabrics)} fabric(s) to compare; give 2 to {_MOST_FABRICS}")
    given = price_list(prices)
    found = tuple(numbers_of(fabric, prices=given, seed=seed) for fabric in fabrics)
    return FabricComparison(found, given.title)
