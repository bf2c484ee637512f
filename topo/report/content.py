"""What a report says before it is HTML, Markdown or text: sections of facts, tables and a picture."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from topo.result import Row
from topo.view.map_data import FabricMap
from topo.view.tiers import Drawing

__all__ = ["Facts", "Grid", "Map", "Picture", "Section", "Text", "is_numeric"]

_LONGEST_NUMBER = 24
_LONGEST_NAME = 36


@dataclass(frozen=True, slots=True)
class Text:
    """A paragraph; ``tone`` is '' or 'warning' for what could not be computed or does not hold."""

    text: str
    tone: str = ""


@dataclass(frozen=True, slots=True)
class Facts:
    """Lines of label, value with unit, and standing."""

    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class Grid:
    """A table of text cells; ``bars`` are shares from 0 to 1, one a row; ``note`` stands below.

    With ``fold`` an HTML page shows that line alone until the reader opens it.
    """

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    caption: str = ""
    note: str = ""
    bars: tuple[float, ...] = ()
    fold: str = ""

    @property
    def is_prose(self) -> bool:
        """Whether some cell is a sentence rather than a name or a number."""
        return any(len(cell) > _LONGEST_NAME for row in self.rows for cell in row)

    @property
    def numeric(self) -> tuple[bool, ...]:
        """Which columns hold numbers only, to be aligned at the right."""
        columns = [[row[i] for row in self.rows] for i in range(len(self.head))]
        return tuple(all(map(is_numeric, column)) and any(map(_has_digit, column)) for column in columns)


@dataclass(frozen=True, slots=True)
class Picture:
    """A drawing with its caption; ``narrow`` is the same once more for a screen too narrow for it."""

    drawing: Drawing
    caption: str = ""
    narrow: Drawing | None = None

    @classmethod
    def of_chart(cls, draw: Callable[..., Drawing], *given: Any, caption: str, **named: Any) -> Picture:
        """What ``draw`` makes of its arguments, for a screen of usual width and once more ``narrow``."""
        return cls(draw(*given, **named), caption, draw(*given, **named, narrow=True))


@dataclass(frozen=True, slots=True)
class Map:
    """A map to pan, zoom and open; in Markdown its words alone."""

    content: FabricMap


@dataclass(frozen=True, slots=True)
class Section:
    """A heading with what stands under it; ``key`` names it in JSON and in links inside the page."""

    key: str
    title: str
    items: Sequence[Text | Facts | Grid | Picture | Map]


def is_numeric(cell: str) -> bool:
    """Whether a cell reads as a number, with or without a unit; a sentence that begins with one does not.

    >>> is_numeric("1,024"), is_numeric("201.6 Tb/s"), is_numeric("2:1"), is_numeric("leaf"), is_numeric("-")
    (True, True, True, False, True)
    >>> is_numeric("+0.12"), is_numeric("-3.1"), is_numeric("+c")
    (True, True, False)
    >>> is_numeric("1 of 2 planned cables not found")
    False
    """
    if len(cell) > _LONGEST_NUMBER:
        return False
    cell = cell.removeprefix("≤")
    return cell in {"", "-", "no end"} or cell.removeprefix("+").removeprefix("-")[:1].isdigit()


def _has_digit(cell: str) -> bool:
    return any(letter.isdigit() for letter in cell)
