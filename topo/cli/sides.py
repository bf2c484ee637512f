"""Comparisons and candidates as text, JSON or one page of HTML, printed or written."""

from __future__ import annotations

import os
import shutil
import sys
from typing import TYPE_CHECKING

from topo.cli.printing import deliver, tell
from topo.output import plain

if TYPE_CHECKING:
    from topo.design.choosing import Candidates
    from topo.design.compare import FabricComparison
    from topo.report.content import Section

__all__ = ["columns_of", "write_candidates", "write_comparison"]


def write_comparison(found: FabricComparison, format: str, output: str | None) -> None:
    """The comparison to a file or standard output."""
    from topo.report.compared import side_by_side

    headline = " and ".join(found.names)
    _write(found, format, output, headline, side_by_side(found) if format == "html" else [])


def write_candidates(found: Candidates, format: str, output: str | None) -> None:
    """The candidates to a file or standard output."""
    _write(found, format, output, found.asked, _candidates_sections(found) if format == "html" else [])


def _candidates_sections(found: Candidates) -> list[Section]:
    from topo.report.compared import standings_grid
    from topo.report.content import Grid, Section, Text
    from topo.view.text import sentence

    tables = [Grid(head, tuple(rows)) for head, rows in found.tables()]
    remarks = (*found.remarks, *(f"not computed: {text}" for text in found.not_computed))
    sure: list[Grid | Text] = [standings_grid(found.standing_rows), *(Text(sentence(text)) for text in remarks)]
    return [
        Section("candidates", "Candidates", [*tables, Grid(("sign or head", "what it means"), found.meanings)]),
        Section("verdicts", "Why", [Grid(("family", "verdict", "built as", "why"), found.reasons)]),
        Section("standing", "How sure this is", sure),
    ]


def _write(
    found: Candidates | FabricComparison, format: str, output: str | None, headline: str, sections: list[Section]
) -> None:
    tell(found)
    if format == "html":
        from topo.report.page import html_page

        content = html_page(found.title, headline, sections)
    elif format == "json":
        content = found.to_json()
    else:
        content = "\n".join(map(plain, found.text(columns_of(output)).splitlines()))
    deliver(content, output, f"Written to {output}")


def columns_of(output: str | None) -> int:
    """Letters of a line: those of the screen, or as many as suit a file."""
    from topo.design.table_text import COLUMNS

    on_screen = output is None and (sys.stdout.isatty() or "COLUMNS" in os.environ)
    return shutil.get_terminal_size((COLUMNS, 24)).columns if on_screen else COLUMNS
