"""``topo convert``: a fabric or a file from outside as a file that another tool takes."""

from __future__ import annotations

from typing import Annotated

import typer

from topo.cli.options import FabricName, Format, FormatOption
from topo.cli.reading import PLAINLY, Reading, reads_fabrics

__all__ = ["convert"]


@reads_fabrics
def convert(
    fabric: FabricName,
    out: Annotated[str, typer.Argument(metavar="OUT", help="The file to write; - is standard output.")],
    to: Annotated[
        str | None,
        typer.Option("--to", metavar="FORMAT", help="The format to write, where the ending of OUT does not tell it."),
    ] = None,
    format: FormatOption = Format.text,
    reading: Reading = PLAINLY,
) -> None:
    """Write a fabric for another tool, and say what that tool's format cannot express.

    OUT ending in .fabric keeps everything and loads fastest.
    """
    import sys

    from topo.cli.printing import print_json, print_lines
    from topo.errors import ParameterError
    from topo.io import writer_of
    from topo.output import plain, write_whole
    from topo.view.text import plural

    if out == "-" and format is Format.json:
        raise ParameterError("OUT - and --format json both write to standard output; give OUT a file, or leave one out")
    row = writer_of(out, to)
    loaded = reading.load(fabric)
    written = row.write(loaded)
    if out == "-":
        sys.stdout.buffer.write(written.data())
        sys.stdout.flush()
        return
    write_whole(out, written.data())
    n_cables = len(loaded.links) if written.n_cables is None else written.n_cables
    if format is Format.json:
        said = {"file": out, "fabric": loaded.name, "format": row.name, "n_nodes": len(loaded.nodes)}
        counts = {
            "n_links": len(loaded.links),
            "n_cables_written": n_cables,
            "n_bytes": len(written.data()),
            "lost": list(written.lost),
        }
        print_json({**said, **counts})
        return
    size = ", ".join((plural(len(loaded.nodes), "node"), plural(len(loaded.links), "link")))
    counted = plural(n_cables, "cable") if n_cables else "no cable"
    held = "" if n_cables == len(loaded.links) else f"; the file holds {counted}"
    print(plain(f"{out}: {loaded.name} as {row.name}: {size}, {plural(len(written.data()), 'byte')}{held}"))
    print_lines(f"not in it: {lost}" for lost in written.lost)
