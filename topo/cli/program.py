"""The program's verbs; each imports what it computes with only when it runs."""

from __future__ import annotations

from typing import Annotated

import typer

from topo.cli.bisect import bisect
from topo.cli.catalog import list_fabrics
from topo.cli.collective import collective
from topo.cli.compare import compare
from topo.cli.completion import completion
from topo.cli.convert import convert
from topo.cli.design import design
from topo.cli.doctor import doctor
from topo.cli.ecmp import ecmp
from topo.cli.fail import fail
from topo.cli.goodput import goodput
from topo.cli.groups import GroupedVerbs, Program
from topo.cli.map import fabric_map
from topo.cli.place import place
from topo.cli.plan import plan
from topo.cli.repair import repair
from topo.cli.report import report
from topo.cli.schema import schema
from topo.cli.show import show
from topo.cli.step import step
from topo.cli.template import template
from topo.cli.throughput import throughput
from topo.cli.validate import validate

__all__ = ["program"]

program = Program(
    cls=GroupedVerbs,
    name="topo",
    help="The network topology of AI and HPC clusters as a graph: what a fabric is, and how much of it arrives.",
    invoke_without_command=True,
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
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and stop.")
    ] = False,
) -> None:
    """Without a verb: what there is."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
        raise typer.Exit(2)


program.command("list", short_help="The fabrics that can be loaded by name.")(list_fabrics)
program.command("show", short_help="What a fabric is, and where it narrows.")(show)
program.command("report", short_help="All answers about a fabric in one HTML file.")(report)
program.command("map", short_help="A fabric to pan, zoom, search and open, in one HTML file.")(fabric_map)
program.command("bisect", short_help="The bisection bandwidth and the cut behind it.")(bisect)
program.command("goodput", short_help="From line rate to goodput, and where the rest went.")(goodput)
program.command("collective", short_help="How long a collective takes, and what binds it.")(collective)
program.command("step", short_help="How long a training step takes, and what waits for the network.")(step)
program.command("design", short_help="What to build: candidates of every family.")(design)
program.command("compare", short_help="Fabrics side by side, and what differs.")(compare)
program.command("throughput", short_help="How much of a demand fits, and which links bind.")(throughput)
program.command("ecmp", short_help="How often hashed flows collide, and what would help.")(ecmp)
program.command("fail", short_help="What failures and drains leave, how often, and to whom.")(fail)
program.command("place", short_help="Where to put a job, and what schedulers would have done.")(place)
program.command("validate", short_help="What is wrong with a wiring, where, and what it costs.")(validate)
program.command("repair", short_help="Which cables to move to mend a wiring, as lists to tick.")(repair)
program.command("plan", short_help="Racks, cables, labels and a bill; or what changes in growth.")(plan)
program.command("convert", short_help="A fabric or a file as a file that another tool takes.")(convert)
program.command("template", short_help="A commented example of each file that people write.")(template)
program.command("schema", short_help="The JSON Schema of a file, or of an answer's JSON.")(schema)
program.command("completion", short_help="A script with which a shell completes verbs, options, names.")(completion)
program.command("doctor", short_help="Whether the installation works, area by area.")(doctor)
