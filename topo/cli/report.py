"""``topo report``: all answers about a fabric in one file."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from topo.cli.options import Cluster, Endpoints, Explain, FabricName, Keep, Seed, Workers
from topo.cli.reading import PLAINLY, Reading, reads_fabrics

if TYPE_CHECKING:
    from topo.fabric import Fabric
    from topo.report.placement import PlacementAsked

__all__ = ["ReportFormat", "report"]


class ReportFormat(StrEnum):
    """How a report is written."""

    html = "html"
    md = "md"
    json = "json"


@reads_fabrics
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
            help="Only these sections, however long they take: goodput, measured, main-numbers, tiers, map, fabric, "
            "published, inventory, paths, oversubscription, bisection, throughput, collisions, failures, placement, "
            "step, wiring, bill, notes, assumptions.",
        ),
    ] = None,
    job: Annotated[
        str | None,
        typer.Option("--job", metavar="FILE", help="A job to place, as 'topo place' takes it: a section more."),
    ] = None,
    busy: Annotated[
        list[str] | None,
        typer.Option("--busy", metavar="FILE", help="Output of sinfo or squeue: which hosts the job may not have."),
    ] = None,
    beside: Annotated[
        list[str] | None,
        typer.Option("--beside", metavar="JOB=HOSTS", help="A job that is there already; may be repeated."),
    ] = None,
    measured: Annotated[
        str | None,
        typer.Option("--measured", metavar="FILE", help="What an nccl-tests program printed: a section more."),
    ] = None,
    counters: Annotated[
        str | None,
        typer.Option("--counters", metavar="FILE", help="Port counters as 'topo collective' takes them, beside loads."),
    ] = None,
    compare: Annotated[
        list[str] | None,
        typer.Option(
            "--compare",
            metavar="FABRIC|RULE,...",
            help="A fabric to set beside this one, which then comes second (before and after): a report of both. With "
            "--job, the schedulers to show instead. Default then: slurm-tree,kueue-bestfit.",
        ),
    ] = None,
    explain: Explain = False,
    seed: Seed = 0,
    cluster: Cluster = None,
    workers: Workers = 1,
    reading: Reading = PLAINLY,
) -> None:
    """Write all answers about a fabric to one file that needs nothing else, and print the main numbers."""
    from topo.cli.printing import deliver, form_by_ending
    from topo.cli.running import cluster_executor
    from topo.output import file_name
    from topo.report import make_report
    from topo.report.measured import MeasuredAsked

    loaded = reading.load(fabric)
    written = format or form_by_ending(output, ReportFormat, ReportFormat.html)
    if compare and job is None:
        given = {
            "--endpoints": endpoints, "--keep": keep, "--sections": sections, "--busy": busy, "--beside": beside,
            "--measured": measured, "--counters": counters, "--cluster": cluster, "--jobs": workers > 1,
        }  # fmt: skip
        _refuse_of_one(given)
        _beside([*map(reading.load, compare), loaded], output, written, explain=explain, seed=seed)
        return
    chosen = None if sections is None else [key.strip() for key in sections.split(",")]
    asked, notes = _placement(loaded, job, busy, beside, compare)
    with cluster_executor(cluster, workers) as executor:
        made = make_report(
            loaded, endpoints=endpoints or None, keep=keep and keep.value, sections=chosen, placement=asked,
            explain=explain, measured=MeasuredAsked(measured, counters) if measured or counters else None, seed=seed,
            executor=executor,
        )  # fmt: skip
    write = {
        ReportFormat.html: made.to_html,
        ReportFormat.md: made.to_markdown,
        ReportFormat.json: made.to_json,
    }
    path = output or f"{file_name(made.fabric.name)}-report.{written.value}"
    columns, lines = shutil.get_terminal_size() if sys.stdout.isatty() else (None, None)
    told = [*made.summary(columns=columns, lines=lines).splitlines(), *(f"  {note}" for note in notes)]
    deliver(write[written](), path, *told, f"The report is in {path}")


def _refuse_of_one(given: Mapping[str, object]) -> None:
    """What a report of several fabrics has no use for."""
    from topo.errors import ParameterError

    for name, value in given.items():
        if value:
            raise ParameterError(f"{name} is of a report of one fabric; with --compare and no --job, leave it out")


def _beside(fabrics: list[Fabric], output: str | None, format: ReportFormat, *, explain: bool, seed: int) -> None:
    """A report of several fabrics instead of one."""
    from topo.cli.printing import deliver
    from topo.cli.sides import columns_of
    from topo.design.compare import compare_fabrics
    from topo.output import file_name
    from topo.report.compared import comparison_page

    found = compare_fabrics(fabrics, seed=seed)
    content = comparison_page(found, fabrics, format.value, explain=explain, seed=seed)
    path = output or f"{'-'.join(file_name(one.name) for one in fabrics)}-report.{format.value}"
    deliver(content, path, *found.text(columns_of(None)).splitlines(), f"The report is in {path}")


def _placement(
    fabric: Fabric, job: str | None, busy: list[str] | None, beside: list[str] | None, compare: list[str] | None
) -> tuple[PlacementAsked | None, list[str]]:
    """The job to place on the state it meets, and what was noticed in the files."""
    from topo.cli.placing import Asked, rules_of
    from topo.errors import ParameterError
    from topo.report.placement import RULES_BESIDE, PlacementAsked

    if job is None:
        given = {"--busy": busy, "--beside": beside}
        for name, value in given.items():
            if value:
                raise ParameterError(f"{name} is about a job to place; give it with --job FILE")
        return None, []
    asked = Asked(fabric, None, "leaves", rules_of(compare) or RULES_BESIDE, 0.0, 0)
    asked.take_jobs([job], None, None, (), None)
    asked.take_busy(busy or ())
    asked.take_others(beside or ())
    return PlacementAsked(asked.job, asked.busy, asked.others, asked.rules), asked.notes
