"""Tables and sentences for a screen of some width, and the same tables as HTML."""

from __future__ import annotations

import html
import textwrap
from collections.abc import Iterable, Sequence

from topo.output import plain

__all__ = ["COLUMNS", "folded_table", "html_table", "is_number", "text_table", "with_units", "wrapped"]

COLUMNS = 110
"""Letters of a line where nothing is known of the screen."""

_GAP = 2
_NARROWEST, _WIDEST = 40, 120


def is_number(cell: str) -> bool:
    """Whether a cell is a number or a span of numbers, with what marks a bound, or nothing.

    >>> is_number("1,024"), is_number("\\N{LESS-THAN OR EQUAL TO}93.8"), is_number("84.2-100"), is_number("2 leaf")
    (True, True, True, False)
    """
    said = cell.lstrip("≤≥").removeprefix("from ").removesuffix(" %")
    return said in ("", "-", "no end") or (said[:1].isdigit() and not any(letter.isalpha() for letter in said))


def with_units(head: str, cells: Sequence[str]) -> tuple[str, list[str]]:
    """A column whose cells all end in one unit with the unit in its head.

    >>> with_units("even", ["100 %", "-", "99.2 %"])
    ('even %', ['100', '-', '99.2'])
    """
    known = [cell for cell in cells if cell not in ("", "-")]
    units = {cell.rpartition(" ")[2] for cell in known if is_number(cell.rpartition(" ")[0])}
    if len(units) != 1 or not all(" " in cell and not cell[-1].isdigit() for cell in known):
        return head, list(cells)
    unit = units.pop()
    return f"{head} {unit}", [cell.removesuffix(f" {unit}") for cell in cells]


def text_table(head: Sequence[str], rows: Sequence[Sequence[str]], *, most: int = 40) -> list[str]:
    """Lines of a table, cells made safe and wrapped at ``most`` letters, columns of numbers at the right.

    >>> text_table(("", "A"), [("switches", "12"), ("cables", "1,024")])
    ['              A', 'switches     12', 'cables    1,024']
    """
    cells = [[plain(cell) for cell in row] for row in [head, *rows]]
    right = [i > 0 and bool(rows) and all(is_number(row[i]) for row in cells[1:]) for i in range(len(head))]
    wide = [11 if aligned else most for aligned in right]
    split = [
        [textwrap.wrap(cell, at, break_on_hyphens=False) or [""] for cell, at in zip(row, wide, strict=True)]
        for row in cells[:1]
    ]
    split += [[textwrap.wrap(cell, most) or [""] for cell in row] for row in cells[1:]]
    widths = [max(len(line) for row in split for line in row[i]) for i in range(len(head))]
    out = []
    for row in split:
        for at in range(max(map(len, row))):
            line = [cell[at] if at < len(cell) else "" for cell in row]
            aligned = [
                cell.rjust(width) if to_right else cell.ljust(width)
                for cell, width, to_right in zip(line, widths, right, strict=True)
            ]
            out.append((" " * _GAP).join(aligned).rstrip())
    return out


def folded_table(
    head: Sequence[str], rows: Sequence[Sequence[str]], *, width: int = COLUMNS, keep: int = 1, most: int = 40
) -> list[str]:
    """The table below itself as often as its columns take; the first ``keep`` columns stand in every part.

    >>> for line in folded_table(("", "left", "right"), [("a", "1", "22")], width=8):
    ...     print(line)
       left
    a     1
    <BLANKLINE>
       right
    a     22
    """
    parts: list[list[int]] = []
    chosen: list[int] = []
    for i in range(keep, len(head)):
        columns = [*range(keep), *chosen, i]
        if chosen and _width(head, rows, columns, most) > width:
            parts.append(chosen)
            chosen = []
        chosen.append(i)
    parts.append(chosen)
    out: list[str] = []
    for part in parts:
        columns = [*range(keep), *part]
        out += [""] if out else []
        out += text_table([head[i] for i in columns], [[row[i] for i in columns] for row in rows], most=most)
    return out


def _width(head: Sequence[str], rows: Sequence[Sequence[str]], columns: Sequence[int], most: int) -> int:
    lines = text_table([head[i] for i in columns], [[row[i] for i in columns] for row in rows], most=most)
    return max(map(len, lines))


def wrapped(texts: Iterable[str], width: int = COLUMNS) -> list[str]:
    """Sentences as lines of at most so many letters, and no more than a reader follows; what goes on is set in.

    >>> wrapped(["one two three"], 40), wrapped(["word " * 12], 40)[1]
    (['one two three'], '  word word word word')
    """
    out: list[str] = []
    for text in texts:
        letters = min(max(width, _NARROWEST), _WIDEST)
        out += textwrap.wrap(plain(text), letters, subsequent_indent="  ", break_on_hyphens=False) or [""]
    return out


def html_table(title: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """The table as HTML, everything escaped."""
    top = "".join(f"<th>{html.escape(plain(cell))}</th>" for cell in head)
    body = "".join("<tr>" + "".join(f"<td>{html.escape(plain(cell))}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><caption>{html.escape(plain(title))}</caption><tr>{top}</tr>{body}</table>"
