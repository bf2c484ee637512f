"""The program's verbs; each imports what it computes with only when it runs."""

from __future__ import annotations

from typing import Annotated

import typer

from topo.cli.bisect import bisect
from topo.cli.list import list_fabrics
from topo.cli.report import report
from topo.cli.show import show

__all__ = ["program"]

program = typer.Typer(
    name="topo",
    help="The network topology of AI and HPC clusters as a graph: what a fabric is, and how much of it arrives.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        from topo import __version__

        typer.echo(f"topo {__version__}")
        raise typer.Exit


@program.callback(
    epilog="FABRIC is a name that 'topo list' shows, a spec file (.yaml), or a file from a real cluster; "
    "'-' reads standard input. Bandwidths are in one direction."
)
def _program(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and stop.")
    ] = False,
) -> None:
    """Options of the program itself."""


program.command("list")(list_fabrics)
program.command("show")(show)
program.command("report")(report)
program.command("bisect")(bisect)
