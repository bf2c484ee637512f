"""What an analysis answers: a small frozen dataclass that renders itself as text, HTML, JSON and a frame."""

from __future__ import annotations

import dataclasses
import html
import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, runtime_checkable

import numpy as np

from topo.units import format_gbps, format_number

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Result", "Row", "Standing", "hidden", "to_json_value"]


@dataclass(frozen=True, slots=True)
class Standing:
    """How sure a number is: ``exact``, ``lower bound``, ``upper bound``, ``bracket``, ``sampled`` or ``model``.

    ``how`` says in a few words how it was computed or which assumption it rests on.
    """

    kind: str
    how: str = ""

    def __str__(self) -> str:
        return f"{self.kind}: {self.how}" if self.how else self.kind

    def given(self, condition: str) -> Standing:
        """The same standing under a condition, which is told first; none changes nothing.

        >>> str(Standing("exact", "the bounds meet").given("400 Gb/s assumed for 3 of 9 links"))
        'exact: 400 Gb/s assumed for 3 of 9 links; the bounds meet'
        """
        if not condition:
            return self
        return Standing(self.kind, f"{condition}; {self.how}" if self.how else condition)


_ONE = {"hops": "hop", "leaf groups": "leaf group"}
"""Units that are counted things, and what one of them is called."""


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a result: what it is, its value, its unit, its standing.

    >>> Row("diameter", 4, "hops").text(), Row("diameter", 1, "hops").text()
    ('4 hops', '1 hop')
    """

    label: str
    value: Any
    unit: str = ""
    standing: Standing | None = None

    def text(self) -> str:
        """Value and unit as people read them; rates in Gb/s grow to Tb/s and Pb/s."""
        if isinstance(self.value, (bool, np.bool_)):
            return "yes" if self.value else "no"
        if isinstance(self.value, (int, float, np.integer, np.floating)):
            number = float(self.value)
            if self.unit == "Gb/s":
                return format_gbps(number) if math.isfinite(number) else "unknown"
            unit = _ONE.get(self.unit, self.unit) if number == 1 else self.unit
            return f"{format_number(number)} {unit}".rstrip()
        return f"{self.value} {self.unit}".rstrip()


@runtime_checkable
class _Records(Protocol):
    def to_records(self) -> list[dict[str, Any]]: ...


def hidden(**kwargs: Any) -> Any:
    """A dataclass field that is not part of the JSON: bulk arrays kept for checkers and pictures."""
    return dataclasses.field(metadata={"hidden": True}, repr=False, **kwargs)


def to_json_value(value: Any) -> Any:
    """Plain JSON types from numpy values, dataclasses, sequences and mappings; nan and infinity become null.

    :raises TypeError: a value of another type.
    """
    if value is None or isinstance(value, (str, bool)):
        return value
    if isinstance(value, np.generic):
        return to_json_value(value.item())
    if isinstance(value, int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Result):
        return value.to_dict()
    if isinstance(value, Standing):
        return str(value)
    if isinstance(value, _Records):
        return to_json_value(value.to_records())
    if isinstance(value, np.ndarray):
        return to_json_value(value.tolist())
    if isinstance(value, dict):
        return {str(key): to_json_value(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [to_json_value(item) for item in value]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {
            f.name: to_json_value(getattr(value, f.name))
            for f in dataclasses.fields(value)
            if not f.metadata.get("hidden")
        }
    raise TypeError(f"{type(value).__name__} has no JSON form")


class Result:
    """Base of every answer. Subclasses are frozen dataclasses; they define :meth:`rows` and a ``title``.

    ``derived`` names properties that appear in the JSON beside the fields; ``main_row`` says which of the rows that
    have a standing, counted from 0, is the answer in short.
    """

    title: ClassVar[str] = ""
    derived: ClassVar[tuple[str, ...]] = ()
    main_row: ClassVar[int] = 0

    def rows(self) -> list[Row]:
        """The answer line by line, in reading order."""
        raise TypeError(f"{type(self).__name__} defines no rows")

    def to_dict(self) -> dict[str, Any]:
        """Field names to plain JSON types; links and nodes as records with names."""
        out: dict[str, Any] = {}
        for f in dataclasses.fields(self):  # type: ignore[arg-type]
            if not f.metadata.get("hidden"):
                out[f.name] = to_json_value(getattr(self, f.name))
        for name in self.derived:
            out[name] = to_json_value(getattr(self, name))
        return out

    def to_json(self, *, indent: int | None = 2) -> str:
        """The same as text; ``json.loads`` gives :meth:`to_dict` back."""
        return json.dumps(self.to_dict(), indent=indent, ensure_ascii=False, allow_nan=False)

    def to_frame(self) -> pd.DataFrame:
        """The rows as a DataFrame with columns label, value, unit, standing."""
        import pandas as pd

        rows = self.rows()
        return pd.DataFrame(
            {
                "label": [row.label for row in rows],
                "value": pd.Series([row.value for row in rows], dtype=object),
                "unit": [row.unit for row in rows],
                "standing": [str(row.standing or "") for row in rows],
            }
        )

    def __str__(self) -> str:
        rows = self.rows()
        width = max((len(row.label) for row in rows), default=0)
        lines = [self.title] if self.title else []
        for row in rows:
            standing = f"  ({row.standing})" if row.standing else ""
            lines.append(f"  {row.label:<{width}}  {row.text()}{standing}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        cells = "".join(
            f"<tr><th style='text-align:left'>{html.escape(row.label)}</th>"
            f"<td style='text-align:left'>{html.escape(row.text())}</td>"
            f"<td style='text-align:left'>{html.escape(str(row.standing or ''))}</td></tr>"
            for row in self.rows()
        )
        return f"<table><caption>{html.escape(self.title)}</caption>{cells}</table>"
