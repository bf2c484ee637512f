"""``topo plan``: racks, cables, labels and a bill for a fabric; or what changes when one grows out of another."""

from __future__ import annotations

from typing import Annotated

import typer

from topo.cli.options import FabricName, Format, FormatOption
from topo.cli.reading import PLAINLY, Reading, reads_fabrics

__all__ = ["plan"]


@reads_fabrics
def plan(
    fabric: FabricName,
    racks: Annotated[
        str | None,
        typer.Option("--racks", metavar="FILE", help="Rules for racks and cables in YAML, over the usual ones."),
    ] = None,
    prices: Annotated[
        str | None, typer.Option("--prices", metavar="FILE", help="A price list in YAML instead of the usual one.")
    ] = None,
    search_order: Annotated[
        bool, typer.Option("--search-order", help="Exchange racks while that shortens the cables.")
    ] = False,
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", metavar="FOLDER", help="Where the files go. Default: NAME-plan."),
    ] = None,
    no_xlsx: Annotated[bool, typer.Option("--no-xlsx", help="Write no workbook, the CSV files alone.")] = False,
    grown_from: Annotated[
        str | None,
        typer.Option("--from", metavar="OLD", help="The fabric this one grows out of: what moves, what is new, when."),
    ] = None,
    require: Annotated[
        float | None,
        typer.Option(
            "--require", min=0.0, max=1.0, metavar="SHARE",
            help="With --from: the share of the old capacity that stays at every step.",
        ),
    ] = None,
    format: FormatOption = Format.text,
    reading: Reading = PLAINLY,
) -> None:  # fmt: skip
    """Write the cable schedule, labels, rack elevations and the bill of materials of a fabric into a folder.

    The schedule is what 'topo validate' reads back. With --from, say instead how the old fabric becomes this one.
    """
    from topo.cli.planning import PlanOptions, run_plan
    from topo.errors import ParameterError

    args = PlanOptions(racks, prices, search_order, output, not no_xlsx, require, format.value)
    if grown_from is None and require is not None:
        raise ParameterError("--require is of use with --from alone; name the old fabric with --from OLD")
    loaded = reading.load(fabric)
    if grown_from is None:
        status = run_plan(loaded, args)
    else:
        from topo.cli.growing import run_growth

        status = run_growth(loaded, Reading(assume_gbps=reading.assume_gbps).load(grown_from), args)
    if status:
        raise typer.Exit(status)
