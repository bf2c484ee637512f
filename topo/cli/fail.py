"""``topo fail``: what is left with elements down, which may go down, how often, and what it does to jobs."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from topo.cli.options import (
    Cluster,
    Down,
    FabricName,
    Format,
    FormatOption,
    Rate,
    Seed,
    Senders,
    Workers,
)
from topo.cli.reading import PLAINLY, Reading, reads_fabrics
from topo.cli.throughput import Scheme

__all__ = ["Method", "StopsOn", "fail"]


class Method(StrEnum):
    """How the states of a fabric over time are gone through."""

    enumeration = "enumeration"
    monte_carlo = "monte-carlo"


class StopsOn(StrEnum):
    """What stops a job."""

    cut_off = "cut-off"
    any_link = "any-link"


@reads_fabrics
def fail(
    fabric: FabricName,
    down: Down = None,
    rate: Rate = None,
    measure: Annotated[
        str,
        typer.Option(
            "--measure",
            metavar="MEASURE",
            help="What counts: bisection, endpoints, or the throughput of a demand (words and files as in "
            "'topo throughput --demand').",
        ),
    ] = "all-to-all",
    endpoints: Senders = None,
    routing: Annotated[Scheme, typer.Option("--routing", help="How flows find their way.")] = Scheme.ecmp,
    beside: Annotated[
        list[Scheme] | None,
        typer.Option("--beside", help="Routings whose loss is shown beside it; may be repeated. Default: wcmp."),
    ] = None,
    single: Annotated[
        bool, typer.Option("--n-1", help="Every element in turn, on top of what is down. Default if nothing is down.")
    ] = False,
    kinds: Annotated[
        list[str] | None,
        typer.Option(
            "--kind",
            metavar="KIND",
            help="What fails for --n-1 and --worst: switch, link, cable, host, ..., or some of a kind such as "
            "link:leaf-*--spine-*; may be repeated. Default: switch, link, and each --group.",
        ),
    ] = None,
    groups: Annotated[
        list[str] | None,
        typer.Option(
            "--group",
            metavar="NAME=ELEMENT,...",
            help="What fails together (a power feed, a line card), to name as group:NAME or --kind group.",
        ),
    ] = None,
    require: Annotated[
        float | None,
        typer.Option("--require", metavar="SHARE", help="Exit with status 1 where less is left, or anyone is cut off."),
    ] = None,
    worst: Annotated[int | None, typer.Option("--worst", metavar="K", help="The worst K elements together.")] = None,
    method: Annotated[
        Method | None, typer.Option("--availability", help="Capacity over time, from failure rates.")
    ] = None,
    rates: Annotated[
        str | None,
        typer.Option("--rates", metavar="FILE", help="Failure rates in YAML, for --availability and --job."),
    ] = None,
    samples: Annotated[int, typer.Option("--samples", help="States that Monte Carlo draws.")] = 10_000,
    events: Annotated[
        str | None,
        typer.Option("--events", metavar="LOG", help="A CSV log to replay: time, element, event (down, up, a rate)."),
    ] = None,
    jobs: Annotated[
        list[str] | None,
        typer.Option("--job", metavar="NAME=GLOB,...", help="A job and its hosts; may be repeated."),
    ] = None,
    stops_on: Annotated[StopsOn, typer.Option("--stops-on", help="What stops a job.")] = StopsOn.cut_off,
    checkpoint_write_s: Annotated[
        float, typer.Option("--checkpoint-write", metavar="SECONDS", help="How long saving a job blocks it.")
    ] = 60.0,
    restart_s: Annotated[
        float, typer.Option("--restart", metavar="SECONDS", help="How long a job takes to start again.")
    ] = 300.0,
    cluster: Cluster = None,
    workers: Workers = 1,
    checkpoint: Annotated[
        str | None,
        typer.Option("--checkpoint", metavar="FILE", help="Where a sweep is kept, and goes on from if it was stopped."),
    ] = None,
    seed: Seed = 0,
    reading: Reading = PLAINLY,
    format: FormatOption = Format.text,
) -> None:
    """Show what failures and drains leave: of a state, of any one more, of the worst, over time, of jobs."""
    from topo.cli.failing import Asked, answers, print_answers
    from topo.cli.running import grouped

    loaded = grouped(reading.load(fabric), groups)
    asked = Asked(
        fabric=loaded,
        down=down,
        rate=rate,
        measure=measure,
        endpoints=endpoints,
        routing=routing.value,
        beside=tuple(item.value for item in beside or ()) or ("wcmp",),
        single=single,
        kinds=tuple(kinds or ("switch", "link", *(("group",) if groups else ()))),
        require=require,
        worst=worst,
        method=method.value if method else None,
        rates=rates,
        samples=samples,
        events=events,
        jobs=tuple(jobs or ()),
        stops_on=stops_on.value.replace("-", " "),
        checkpoint_write_s=checkpoint_write_s,
        restart_s=restart_s,
        cluster=cluster,
        workers=workers,
        checkpoint=checkpoint,
        seed=seed,
    )
    found = answers(asked)
    print_answers(asked, found, as_json=format is Format.json)
    if require is not None and not found.passes(require):
        raise typer.Exit(1)
