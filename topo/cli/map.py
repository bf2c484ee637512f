"""``topo map``: a fabric to look at in a browser: pan, zoom, find, filter, open."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from topo.cli.options import FabricName
from topo.cli.reading import PLAINLY, Reading, reads_fabrics

__all__ = ["fabric_map"]


@reads_fabrics
def fabric_map(
    fabric: FabricName,
    output: Annotated[
        str | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="Where to write; '-' is standard output. Default: NAME-map.html."
        ),
    ] = None,
    reading: Reading = PLAINLY,
) -> None:
    """Write a map of a fabric as one HTML file: groups that open, links with their load and findings."""
    from topo.output import file_name, plain, write_whole
    from topo.report.mapped import ask_map
    from topo.report.page import map_page

    loaded = reading.load(fabric)
    found = ask_map(loaded)
    text = map_page(loaded.origin.title or loaded.name, found)
    if output == "-":
        sys.stdout.write(text)
        return
    path = output or f"{file_name(loaded.name)}-map.html"
    write_whole(path, text)
    print(plain(found.alt))
    print(plain(f"The map is in {path}"))
