"""Comparisons and candidates as text, JSON or one page of HTML, printed or written."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from topo.cli.printing import tell
from topo.view.text import sentence

if TYPE_CHECKING:
    from topo.design.choosing import Candidates
    from topo.design.compare import FabricComparison
    from topo.report.content import Section

__all__ = ["write_candidates", "write_comparison"]


def write_comparison(found: FabricComparison, format: str, output: str | None) -> None:
    """The comparison to a file or standard output."""
    tell(found)
    if format == "html":
        from topo.report.content import Grid, Section

        sections = [
            Section("sides", "Side by side", [Grid(("", *found.names), tuple(found.cells()), "", "* differs")]),
            Section("differences", "What differs", [Grid(("what", "least", "most", "times"), found.spans)]),
            _sure(found.standing_rows, [f"not computed: {text}" for text in found.not_computed]),
        ]
        _write(_page(found.title, " and ".join(found.names), sections), output)
    else:
        _write(found.to_json() if format == "json" else found.text(_columns(output)), output)


def write_candidates(found: Candidates, format: str, output: str | None) -> None:
    """The candidates to a file or standard output."""
    tell(found)
    if format == "html":
        from topo.report.content import Grid, Section

        tables = [Grid(head, tuple(rows)) for head, rows in found.tables()]
        sections = [
            Section("candidates", "Candidates", [*tables, Grid(("sign or head", "what it means"), found.meanings)]),
            Section("verdicts", "Why", [Grid(("family", "verdict", "built as", "why"), found.reasons)]),
            _sure(found.standing_rows, (*found.remarks, *(f"not computed: {text}" for text in found.not_computed))),
        ]
        _write(_page(found.title, found.asked, sections), output)
    else:
        _write(found.to_json() if format == "json" else found.text(_columns(output)), output)


def _columns(output: str | None) -> int:
    """Letters of a line: those of the screen, or as many as suit a file."""
    from topo.design.table_text import COLUMNS

    on_screen = output is None and (sys.stdout.isatty() or "COLUMNS" in os.environ)
    return shutil.get_terminal_size((COLUMNS, 24)).columns if on_screen else COLUMNS


def _sure(rows: Sequence[tuple[str, str, str]], remarks: Sequence[str]) -> Section:
    """The standing of every measure, then what else is to be said."""
    from topo.report.content import Grid, Section, Text

    said = tuple((what, of or "all", standing) for what, of, standing in rows)
    grid = Grid(("what", "of", "standing"), said)
    return Section("standing", "How sure this is", [grid, *(Text(sentence(text)) for text in remarks)])


def _page(title: str, headline: str, sections: list[Section]) -> str:
    from topo.report.page import html_page

    return html_page(title, headline, sections)


def _write(content: str, output: str | None) -> None:
    from topo.cli.printing import print_screen
    from topo.output import plain, write_whole

    text = content if content.endswith("\n") else content + "\n"
    if output is None or output == "-":
        if text.startswith(("{", "<")):
            sys.stdout.write(text)
        else:
            print_screen(text)
        return
    write_whole(output, text)
    print(plain(f"Written to {output}"))
