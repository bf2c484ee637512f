"""Fabrics side by side: the same measures of each, and in words what differs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from topo.design.measures import MEASURES, MeasureOf, standing_rows, standings_of
from topo.design.numbers import FabricNumbers, numbers_of
from topo.design.prices import PriceList, price_list
from topo.design.table_text import COLUMNS, folded_table, html_table, wrapped
from topo.errors import ParameterError
from topo.fabric import Fabric, expect_fabric
from topo.progress import steps
from topo.result import Result, Row
from topo.units import format_number

__all__ = ["FabricComparison", "compare_fabrics"]

_MOST_FABRICS = 26


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
        if sum(map(len, self.names)) + 50 <= COLUMNS:
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
            ((f"{measure.label} *" if self._differs(measure, texts) else measure.label), *texts)
            for measure, texts in self._texts()
        ]

    @property
    def differences(self) -> tuple[str, ...]:
        """What differs, a sentence a measure, largest against smallest where that is a ratio."""
        out = []
        for measure, texts in self._texts():
            if not self._differs(measure, texts):
                continue
            said = "; ".join(f"{name} {text}" for name, text in zip(self.names, texts, strict=True))
            out.append(f"{measure.label}: {said}{_ratio(measure, self.fabrics)}")
        return tuple(out)

    @property
    def spans(self) -> tuple[tuple[str, str, str, str], ...]:
        """Of each number that differs its label, the least and the most with whose it is, and how many times."""
        out = []
        for measure, texts in self._texts():
            if measure.value is None or not self._differs(measure, texts):
                continue
            values = [measure.value(one) for one in self.fabrics]
            known = [(value, i) for i, value in enumerate(values) if value is not None]
            if len({value for value, _ in known}) < 2:
                continue
            least, most = (f"{texts[i]}, {self.names[i]}" for _, i in (min(known), max(known)))
            out.append((measure.label, least, most, _ratio(measure, self.fabrics).strip(" ()").removesuffix(" times")))
        return tuple(out)

    @property
    def standing_rows(self) -> tuple[tuple[str, str, str], ...]:
        """How sure each measure is: what it is, of which fabrics ('' for all), its standing."""
        return standing_rows(self.names, self.fabrics)

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

    def _differs(self, measure: MeasureOf, texts: Sequence[str]) -> bool:
        """Whether the fabrics differ by more than sampling may: two intervals that have nothing in common."""
        if len(set(texts)) < 2 or measure.value is None or measure.margin is None:
            return len(set(texts)) > 1
        known = [(measure.value(one), measure.margin(one) or 0.0) for one in self.fabrics]
        low, high = ([v + sign * m for v, m in known if v is not None] for sign in (-1, 1))
        return len(low) < len(known) or max(low) > min(high)

    def __str__(self) -> str:
        return self.text()

    def text(self, width: int = COLUMNS) -> str:
        """All of it for a screen of ``width`` letters."""
        lines = [self.title, *wrapped(self.legend, width), *folded_table(self.head, self.cells(), width=width)]
        lines += ["* differs", "", *wrapped(self.standings, width)]
        return "\n".join([*lines, *wrapped((f"not computed: {text}" for text in self.not_computed), width)])

    def _repr_html_(self) -> str:
        return html_table(self.title, ("", *self.names), self.cells())


def _ratio(measure: MeasureOf, fabrics: Sequence[FabricNumbers]) -> str:
    """The largest over the smallest of two values or more that all are above 0."""
    if measure.value is None:
        return ""
    values = [measure.value(one) for one in fabrics]
    known = [value for value in values if value is not None and value > 0]
    if len(known) < len(values):
        return ""
    return f" ({format_number(max(known) / min(known), 3)} times)"


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
    found = tuple(numbers_of(fabric, prices=given, seed=seed) for fabric in steps(fabrics, "numbers of fabrics"))
    return FabricComparison(found, given.title)
