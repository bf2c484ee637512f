"""``topo map``: a fabric to look at in a browser: pan, zoom, find, filter, open."""

from __future__ import annotations

import json
import sys
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from topo.cli.options import Explain, FabricName
from topo.cli.reading import PLAINLY, Reading, reads_fabrics

if TYPE_CHECKING:
    from topo.report.explaining import Explanation
    from topo.view.map_data import FabricMap

__all__ = ["MapFormat", "fabric_map"]


class MapFormat(StrEnum):
    """How a map is written."""

    html = "html"
    json = "json"


@reads_fabrics
def fabric_map(
    fabric: FabricName,
    output: Annotated[
        str | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="Where to write; '-' is standard output. Default: NAME-map.html."
        ),
    ] = None,
    format: Annotated[
        MapFormat | None,
        typer.Option("--format", help="A page, or what it draws for programs. Default: as FILE ends, else html."),
    ] = None,
    explain: Explain = False,
    reading: Reading = PLAINLY,
) -> None:
    """Write a map of a fabric as one HTML file: groups that open, links with their load and findings."""
    from topo.cli.printing import deliver, explanations_text, form_by_ending
    from topo.output import file_name
    from topo.report.mapped import ask_map, explain_map
    from topo.report.page import map_page

    loaded = reading.load(fabric)
    found = ask_map(loaded)
    explanation = explain_map(found) if explain else None
    written = format or form_by_ending(output, MapFormat, MapFormat.html)
    title = loaded.origin.title or loaded.name
    if written is MapFormat.json:
        text = _as_json(loaded.name, found, explanation)
    else:
        text = map_page(title, found, () if explanation is None else explanation.sentences)
    path = output or f"{file_name(loaded.name)}-map.{written.value}"
    deliver(text, path, found.alt, f"The map is in {path}")
    if explanation is not None and path != "-":
        sys.stdout.write(explanations_text([explanation]))


def _as_json(name: str, found: FabricMap, explanation: Explanation | None) -> str:
    said = {"fabric": name, **found.to_dict()}
    if explanation is not None:
        said["explanations"] = [explanation.to_dict()]
    return json.dumps(said, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
