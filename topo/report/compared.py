"""Two fabrics or more in one document: what differs, then the waterfall, main numbers and picture of each."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from topo.report.assemble import make_report
from topo.report.content import Grid, Section, Text
from topo.report.explaining import explain as explanation
from topo.report.markdown import markdown
from topo.report.page import html_page
from topo.report.sections import explanations_section
from topo.view.text import plural, sentence

if TYPE_CHECKING:
    from topo.design.compare import FabricComparison
    from topo.fabric import Fabric

__all__ = ["comparison_page", "comparison_sections", "side_by_side", "standings_grid"]

_OF_EACH = ("goodput", "main-numbers", "tiers")


def comparison_sections(
    found: FabricComparison, fabrics: Sequence[Fabric], *, explain: bool = False, seed: int = 0
) -> list[Section]:
    """The table of measures with its standings, then three sections of each fabric under its name.

    ``explain`` adds three sentences about the comparison and about each answer of these sections.
    """
    explained = [explanation(found)] if explain else []
    sections = side_by_side(found)
    for i, (name, fabric) in enumerate(zip(found.names, fabrics, strict=True), 1):
        made = make_report(fabric, sections=_OF_EACH, seed=seed)
        explained += [replace(one, of=f"{name}: {one.of}") for one in made.explanations if explain]
        for section in made.sections:
            title = f"{name}: {section.title}"
            sections.append(replace(section, key=f"{section.key}-{i}", title=title))
    return [*sections, explanations_section(explained)] if explain else sections


def side_by_side(found: FabricComparison) -> list[Section]:
    """The table of measures, what differs, how sure that is, and what could not be computed."""
    note = "* differs. " * bool(found.differences) + " ".join(f"{text}." for text in found.legend)
    spans = Grid(("what", "least", "most", "times"), found.spans) if found.spans else Text("No number differs.")
    sections = [
        Section("sides", "Side by side", [Grid(found.head, tuple(found.cells()), "", note.strip())]),
        Section("differences", "What differs", [spans]),
        Section("standing", "How sure this is", [standings_grid(found.standing_rows)]),
    ]
    if found.not_computed:
        sections.append(Section("missing", "Not computed", [Text(sentence(text)) for text in found.not_computed]))
    return sections


def standings_grid(rows: Sequence[tuple[str, str, str]]) -> Grid:
    """The standing of every measure: what it is, of whom ('' for all), how sure it is."""
    return Grid(("what", "of", "standing"), tuple((what, of or "all", standing) for what, of, standing in rows))


def comparison_page(
    found: FabricComparison, fabrics: Sequence[Fabric], format: str = "html", *, explain: bool = False, seed: int = 0
) -> str:
    """The comparison as ``html``, ``md`` or ``json``; with ``explain`` three sentences about each of its answers.

    All that is drawn of each fabric is drawn with ``seed``.

    >>> import topo
    >>> fabrics = [topo.leaf_spine(4, 4, 4), topo.leaf_spine(4, 2, 4)]
    >>> text = comparison_page(topo.compare_fabrics(fabrics), fabrics, "md")
    >>> text.splitlines()[0], "## What differs" in text
    ('# leaf-spine 4x4 beside leaf-spine 4x2', True)
    """
    if format == "json":
        more = {"explanations": [explanation(found).to_dict()]} if explain else {}
        return json.dumps({**found.to_dict(), **more}, indent=2, ensure_ascii=False, allow_nan=False)
    title = " beside ".join(found.names)
    sections = comparison_sections(found, fabrics, explain=explain, seed=seed)
    n = len(found.differences)
    said = f"{plural(n, 'measure')} {'differs' if n == 1 else 'differ'}." if n else "No measure differs."
    return html_page(title, said, sections) if format == "html" else markdown(title, sections)
