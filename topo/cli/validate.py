"""``topo validate``: what is wrong with a wiring, where, and what it costs."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from topo.cli.options import Against, Output, WiringNames
from topo.cli.reading import PLAINLY, Reading, reads_fabrics

__all__ = ["AnswerFormat", "FailOn", "validate"]


class AnswerFormat(StrEnum):
    """How the findings are written."""

    text = "text"
    json = "json"
    html = "html"
    junit = "junit"
    csv = "csv"


class FailOn(StrEnum):
    """The slightest finding that makes the exit status 1."""

    error = "error"
    warning = "warning"
    never = "never"


@reads_fabrics
def validate(
    wiring: WiringNames,
    against: Against = None,
    accept: Annotated[
        str | None,
        typer.Option("--accept", metavar="FILE", help="Known deviations in YAML, each with a reason and its last day."),
    ] = None,
    fail_on: Annotated[
        FailOn, typer.Option("--fail-on", help="Exit with status 1 for a new finding as grave as this.")
    ] = FailOn.error,
    format: Annotated[
        AnswerFormat | None, typer.Option("--format", help="How to write it. Default: as FILE ends, else text.")
    ] = None,
    output: Output = None,
    no_consequence: Annotated[
        bool, typer.Option("--no-consequence", help="Do not work out what the faults cost.")
    ] = False,
    reading: Reading = PLAINLY,
) -> None:
    """Show every fault of a wiring once: what, where, by what evidence, at what cost, and how to mend it."""
    from topo.cli.printing import tell
    from topo.cli.validating import written
    from topo.wiring import validate as ask
    from topo.wiring.given import read_sides

    found, design = read_sides(
        wiring, against or (), assume_gbps=reading.assume_gbps, format=reading.read_as, **reading.tables()
    )
    answer = ask(found, design, accept=accept, consequence=not no_consequence)
    tell(answer)
    written(answer, format.value if format else None, output, fail_on=fail_on.value)
    if answer.exit_status(fail_on.value):
        raise typer.Exit(1)
