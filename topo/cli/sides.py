"""Comparisons and candidates as text, JSON or one page of HTML, printed or written."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from topo.cli.printing import tell

if TYPE_CHECKING:
    from topo.design.choosing import Candidates
    from topo.design.compare import FabricComparison
    from topo.report.content import Section

__all__ = ["write_candidates", "write_comparison"]


def write_comparison(found: FabricComparison, format: str, output: str | None) -> None:
    """The comparison to a file or standard output."""
    tell(found)
    if format == "html":
        from topo.report.content import Grid, Section, Text

        notes = [*found.standings, *(f"not computed: {text}" for text in found.not_computed)]
        sections = [
            Section("sides", "Side by side", [Grid(("", *found.names), tuple(found.cells()), "", "* differs")]),
            Section("differences", "What differs", [Text(text) for text in found.differences]),
            Section("standing", "How sure this is", [Text(text) for text in notes]),
        ]
        _write(_page(found.title, " and ".join(found.names), sections), output)
    else:
        _write(found.to_json() if format == "json" else str(found), output)


def write_candidates(found: Candidates, format: str, output: str | None) -> None:
    """The candidates to a file or standard output."""
    tell(found)
    if format == "html":
        from topo.report.content import Grid, Section, Text

        tables = [Grid(head, tuple(rows)) for head, rows in found.tables()]
        sections = [
            Section("candidates", "Candidates", [*tables, *(Text(text) for text in found.legend)]),
            Section("verdicts", "Why", [Text(text) for text in found.verdicts]),
            Section("standing", "How sure this is", [Text(text) for text in found.standings]),
        ]
        _write(_page(found.title, found.asked, sections), output)
    else:
        _write(found.to_json() if format == "json" else str(found), output)


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
