"""``topo report``: all answers about a fabric in one file."""

from __future__ import annotations

import shutil
import sys
from enum import StrEnum
from typing import Annotated

import typer

from topo.cli.options import AssumeGbps, Endpoints, FabricName, Keep, ReadAs

__all__ = ["ReportFormat", "report"]


class ReportFormat(StrEnum):
    """How a report is written."""

    html = "html"
    md = "md"
    json = "json"


def report(
    fabric: FabricName,
    output: Annotated[
        str | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="Where to write; '-' is standard output. Default: NAME-report.html."
        ),
    ] = None,
    format: Annotated[
        ReportFormat | None, typer.Option("--format", help="How to write it. Default: as FILE ends, else html.")
    ] = None,
    endpoints: Endpoints = None,
    keep: Annotated[
        Keep | None,
        typer.Option("--keep", help="What a split keeps whole. Default: hosts, or racks that are scale-up domains."),
    ] = None,
    sections: Annotated[
        str | None,
        typer.Option(
            "--sections",
            metavar="KEY,...",
            help="Only these sections, however long they take: goodput, main-numbers, tiers, fabric, published, "
            "inventory, oversubscription, paths, bisection, throughput, collisions, failures, wiring, notes, "
            "assumptions.",
        ),
    ] = None,
    assume_gbps: AssumeGbps = None,
    read_as: ReadAs = None,
) -> None:
    """Write all answers about a fabric to one file that needs nothing else, and print the main numbers."""
    from topo.cli.printing import print_screen
    from topo.output import file_name, plain, write_whole
    from topo.report import make_report
    from topo.source import load

    loaded = load(fabric, assume_gbps=assume_gbps, format=read_as)
    chosen = None if sections is None else [key.strip() for key in sections.split(",")]
    made = make_report(loaded, endpoints=endpoints or None, keep=keep and keep.value, sections=chosen)
    write = {
        ReportFormat.html: made.to_html,
        ReportFormat.md: made.to_markdown,
        ReportFormat.json: made.to_json,
    }
    written = format or _by_ending(output)
    content = write[written]()
    if output == "-":
        sys.stdout.write(content if content.endswith("\n") else content + "\n")
        return
    path = output or f"{file_name(made.fabric.name)}-report.{written.value}"
    write_whole(path, content)
    columns, lines = shutil.get_terminal_size() if sys.stdout.isatty() else (None, None)
    print_screen(made.summary(columns=columns, lines=lines))
    print(plain(f"The report is in {path}"))


def _by_ending(output: str | None) -> ReportFormat:
    ending = (output or "").rpartition(".")[2].lower()
    return ReportFormat(ending) if ending in {known.value for known in ReportFormat} else ReportFormat.html
