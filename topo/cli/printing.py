"""Results as lines of a terminal, every name in them made safe, and as JSON."""

from __future__ import annotations

import json
import sys
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, TypeVar

from topo.output import plain, write_whole
from topo.result import Result, Row, to_json_value

if TYPE_CHECKING:
    from topo.fabric import Fabric
    from topo.report.explaining import Explanation

__all__ = [
    "answers_told",
    "deliver",
    "explanations_text",
    "form_by_ending",
    "print_alerts",
    "print_heading",
    "print_json",
    "print_lines",
    "print_result",
    "print_rows",
    "print_table",
    "tell",
]

_MOST_LABEL = 44
_ENDINGS = {"htm": "html", "xml": "junit"}
_Form = TypeVar("_Form", bound=str)
_told: ContextVar[list[Result] | None] = ContextVar("told", default=None)


@contextmanager
def answers_told() -> Iterator[list[Result]]:
    """The answers that a verb prints meanwhile, each once, for who wants to explain them."""
    told: list[Result] = []
    token = _told.set(told)
    try:
        yield told
    finally:
        _told.reset(token)


def tell(*answers: Any) -> None:
    """Keep the answers among what a verb prints for its explanation."""
    told = _told.get()
    if told is not None:
        told += [one for one in answers if isinstance(one, Result) and not any(one is other for other in told)]


def explanations_text(explanations: Iterable[Explanation]) -> str:
    """Three sentences an answer, wrapped, for people."""
    lines = []
    for one in explanations:
        lines.append(f"\n{plain(one.of)} explained")
        for sentence in one.sentences:
            lines += textwrap.wrap(plain(sentence), 110, initial_indent="  ", subsequent_indent="    ")
    return "\n".join(lines) + "\n" if lines else ""


def print_json(value: Any) -> None:
    """A result, or a mapping of results, as indented JSON."""
    tell(value, *(value.values() if isinstance(value, dict) else ()))
    plain_value = to_json_value(value)
    sys.stdout.write(json.dumps(plain_value, indent=2, ensure_ascii=False, allow_nan=False) + "\n")


def deliver(content: str, output: str | None, *told: str) -> None:
    """An answer to standard output, or whole to a file with lines that say so."""
    content += "" if content.endswith("\n") else "\n"
    if output is None or output == "-":
        sys.stdout.write(content)
        return
    write_whole(output, content)
    for line in told:
        print(plain(line))


def form_by_ending(output: str | None, known: Iterable[_Form], otherwise: _Form) -> _Form:
    """The form that the ending of a file's name tells, of those that are known.

    >>> form_by_ending("findings.XML", ["text", "junit"], "text"), form_by_ending("list.htm", ["text", "html"], "text")
    ('junit', 'html')
    >>> form_by_ending("json", ["text", "json"], "text"), form_by_ending(None, ["text", "json"], "text")
    ('text', 'text')
    """
    ending = PurePath(output or "").suffix.lower().removeprefix(".")
    wanted = _ENDINGS.get(ending, ending)
    return next((form for form in known if form == wanted), otherwise)


def print_heading(title: str) -> None:
    """A title with an empty line above it."""
    sys.stdout.write(f"\n{plain(title)}\n")


def print_lines(lines: Iterable[str]) -> None:
    """Indented lines."""
    for line in lines:
        sys.stdout.write(f"  {plain(line)}\n")


def print_alerts(fabric: Fabric) -> None:
    """What puts every number of a fabric in doubt, a line each."""
    for note in fabric.origin.notes:
        if note.severity == "alert":
            sys.stdout.write(f"  WARNING: {plain(str(note))}\n")


def print_result(result: Result) -> None:
    """A result's title and rows."""
    tell(result)
    print_heading(result.title)
    print_rows(result.rows())


def print_rows(rows: Sequence[Row]) -> None:
    """Label, value with unit, and standing of each row; long labels wrap rather than push the values away."""
    width = min(max((len(plain(row.label)) for row in rows), default=0), _MOST_LABEL)
    for row in rows:
        standing = f"  ({row.standing})" if row.standing else ""
        label = textwrap.wrap(plain(row.label), _MOST_LABEL) or [""]
        for line in label[:-1]:
            sys.stdout.write(f"  {line}\n")
        sys.stdout.write(f"  {label[-1]:<{width}}  {plain(row.text() + standing)}\n".rstrip() + "\n")


def print_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Columns under their heads; a column whose cells are all numbers is aligned at the right.

    A row of one cell alone is a heading for the rows below it.
    """
    cells = [[plain(cell) for cell in row] for row in rows]
    columns = list(zip(head, *(row for row in cells if len(row) > 1), strict=True))
    right = [all(cell[:1].isdigit() or cell == "-" for cell in column[1:]) and bool(cells) for column in columns]
    widths = [max(map(len, column)) for column in columns]
    for row in [list(head), *cells]:
        if len(row) == 1:
            sys.stdout.write(f"{row[0]}\n")
            continue
        fields = [
            cell.rjust(width) if is_right else cell.ljust(width)
            for cell, width, is_right in zip(row, widths, right, strict=True)
        ]
        sys.stdout.write("  ".join(fields).rstrip() + "\n")
