"""``topo repair``: which cables to move so that a wiring follows its design, in which order, as lists to tick."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from topo.cli.options import Against, Output, WiringNames
from topo.cli.reading import PLAINLY, Reading, reads_fabrics

__all__ = ["ListFormat", "repair"]


class ListFormat(StrEnum):
    """How a work list is written."""

    text = "text"
    json = "json"
    html = "html"
    csv = "csv"


@reads_fabrics
def repair(
    wiring: WiringNames,
    against: Against = None,
    accept: Annotated[
        str | None,
        typer.Option("--accept", metavar="FILE", help="Known deviations in YAML, which stay as they are."),
    ] = None,
    format: Annotated[
        ListFormat | None,
        typer.Option("--format", help="How to write it; html is for paper. Default: as FILE ends, else text."),
    ] = None,
    output: Output = None,
    no_consequence: Annotated[
        bool, typer.Option("--no-consequence", help="Do not work out what each fault costs; the order is by code.")
    ] = False,
    reading: Reading = PLAINLY,
) -> None:
    """Show the shortest list of moves, additions and removals that mends a wiring, most valuable first.

    The exit status is 1 where faults are left that no work at the cables mends.
    """
    from topo.cli.printing import deliver, form_by_ending, tell
    from topo.repair import repair_wiring, repair_written
    from topo.view.text import plural
    from topo.wiring.given import read_sides

    found, design = read_sides(
        wiring, against or (), assume_gbps=reading.assume_gbps, format=reading.read_as, **reading.tables()
    )
    answer = repair_wiring(found, design, accept=accept, consequence=not no_consequence)
    said = f"{answer.fabric}: {plural(answer.n_operations, 'job')} in {plural(len(answer.steps), 'step')}"
    tell(answer)
    form = format or form_by_ending(output, ListFormat, ListFormat.text)
    deliver(repair_written(answer, form.value), output, said, f"The list is in {output}")
    if answer.left:
        raise typer.Exit(1)
