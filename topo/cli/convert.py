"""``topo convert``: a fabric or a file from outside as a file that another tool takes."""

from __future__ import annotations

from typing import Annotated

import typer

from topo.cli.options import AssumeGbps, FabricName, ReadAs

__all__ = ["convert"]


def convert(
    fabric: FabricName,
    out: Annotated[str, typer.Argument(metavar="OUT", help="The file to write; - is standard output.")],
    to: Annotated[
        str | None,
        typer.Option("--to", metavar="FORMAT", help="The format to write, where the ending of OUT does not tell it."),
    ] = None,
    assume_gbps: AssumeGbps = None,
    read_as: ReadAs = None,
) -> None:
    """Write a fabric for another tool, and say what that tool's format cannot express.

    OUT ending in .fabric keeps everything and loads fastest.
    """
    import sys

    from topo.cli.printing import print_lines
    from topo.io import writer_of
    from topo.output import plain, write_whole
    from topo.source import load

    row = writer_of(out, to)
    loaded = load(fabric, assume_gbps=assume_gbps, format=read_as)
    written = row.write(loaded)
    if out == "-":
        sys.stdout.buffer.write(written.data())
        sys.stdout.flush()
        return
    write_whole(out, written.data())
    size = f"{len(loaded.nodes):,} nodes, {len(loaded.links):,} links"
    print(plain(f"{out}: {loaded.name} as {row.name}: {size}, {len(written.data()):,} bytes"))
    print_lines(f"not in it: {lost}" for lost in written.lost)
