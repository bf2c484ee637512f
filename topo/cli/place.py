"""``topo place``: where to put a job, what that costs, what schedulers would have done."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

import typer

from topo.cli.options import Down, FabricName, Format, FormatOption, Rate, Seed
from topo.cli.reading import PLAINLY, Reading, reads_fabrics

__all__ = ["Objective", "Pattern", "Written", "place"]


class Objective(StrEnum):
    """What a placement is to keep low."""

    leaves = "leaves"
    uplink_load = "uplink_load"
    hop_bytes = "hop_bytes"


class Pattern(StrEnum):
    """Who sends to whom in a job given by its hosts alone."""

    all_to_all = "all-to-all"
    ring = "ring"
    double_tree = "double-tree"
    none = "none"


class Written(StrEnum):
    """For which program a placement is written."""

    nodelist = "nodelist"
    rankfile = "rankfile"
    hostfile = "hostfile"
    slurm = "slurm"
    kubernetes = "kubernetes"
    json = "json"


@reads_fabrics
def place(
    fabric: FabricName,
    job: Annotated[
        list[str] | None,
        typer.Option(
            "--job",
            metavar="FILE",
            help="The job as YAML: size or degrees, bytes per step, constraints. Repeated: several jobs at once.",
        ),
    ] = None,
    hosts: Annotated[
        int | None, typer.Option("--hosts", min=1, metavar="N", help="A job of N whole hosts, instead of a file.")
    ] = None,
    pattern: Annotated[
        Pattern | None,
        typer.Option("--pattern", help="Who sends to whom in a job given by --hosts. Default: all-to-all."),
    ] = None,
    busy: Annotated[
        list[str] | None,
        typer.Option(
            "--busy",
            metavar="FILE",
            help="Output of sinfo: hosts that it does not call idle, or does not name, are not free. Or of squeue: "
            "hosts of running jobs are not free. May be repeated.",
        ),
    ] = None,
    exclude: Annotated[
        list[str] | None,
        typer.Option(
            "--exclude", metavar="HOSTS", help="Hosts that the job may not use: a glob or a host list; may be repeated."
        ),
    ] = None,
    at_most_leaves: Annotated[
        int | None, typer.Option("--at-most-leaves", min=1, metavar="N", help="Leaf groups the job may use.")
    ] = None,
    objective: Annotated[
        Objective, typer.Option("--objective", help="What the placement keeps as low as can be.")
    ] = Objective.leaves,
    score: Annotated[
        str | None,
        typer.Option(
            "--score",
            metavar="FILE",
            help="Score the placement in this host file or rank file instead of finding one. Without --job or --hosts "
            "the job is as many whole hosts as the file lists.",
        ),
    ] = None,
    compare: Annotated[
        list[str] | None,
        typer.Option(
            "--compare",
            metavar="RULE,...",
            help="What schedulers would have done: slurm-tree, slurm-dragonfly, slurm-block, kueue-bestfit, "
            "kueue-required, kueue-leastfree, volcano-binpack.",
        ),
    ] = None,
    segment: Annotated[
        int, typer.Option("--segment", min=0, metavar="N", help="Hosts of a segment, for slurm-block.")
    ] = 0,
    block_sizes: Annotated[
        str | None,
        typer.Option(
            "--block-sizes",
            metavar="N,...",
            help="BlockSizes for slurm-block. Default: of the file, else by its blocks.",
        ),
    ] = None,
    beside: Annotated[
        list[str] | None,
        typer.Option(
            "--beside",
            metavar="JOB=HOSTS",
            help="A job that is there already, as a job file and its host or rank file; may be repeated.",
        ),
    ] = None,
    move: Annotated[
        bool,
        typer.Option(
            "--move", help="What must move so that the job fits on --at-most-leaves: hosts of the jobs squeue tells."
        ),
    ] = False,
    explain: Annotated[
        bool,
        typer.Option(
            "--explain",
            help="Also say in three sentences what was computed, what it assumes and what would change it; and every "
            "score with its unit, which way is better, and what it ignores.",
        ),
    ] = False,
    write: Annotated[
        Written | None,
        typer.Option(
            "--write", help="Write the placement for another program; without --output that is all that is printed."
        ),
    ] = None,
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Where --write writes, else where the answer goes. Default: '-', standard output.",
        ),
    ] = None,
    picture: Annotated[
        str | None,
        typer.Option("--picture", metavar="FILE.svg", help="Draw the job's hosts and its link loads to this file."),
    ] = None,
    budget: Annotated[
        float, typer.Option("--budget", min=0.0, metavar="SECONDS", help="How long a search may take.")
    ] = 8.0,
    seed: Seed = 0,
    down: Down = None,
    rate: Rate = None,
    reading: Reading = PLAINLY,
    format: FormatOption = Format.text,
) -> None:
    """Find the best hosts for a job among those that are free, with a bound on what any placement would cost."""
    from topo.cli.placing import Asked, ask, rules_of, write_files
    from topo.cli.running import given_state
    from topo.errors import ParameterError

    if write is not None and output in (None, "-") and format is Format.json:
        raise ParameterError("--write and --format json both write to standard output; give --output FILE")
    _refuse_beside_others(move, len(job or ()) > 1, score, compare, write, picture, beside)
    loaded = reading.load(fabric)
    asked = Asked(
        loaded,
        given_state(loaded, down, rate),
        objective=objective.value,
        rules=rules_of(compare),
        budget_s=budget,
        seed=seed,
        segment=segment,
        block_sizes=_sizes(block_sizes),
    )
    asked.take_jobs(job or (), hosts, pattern and pattern.value, exclude or (), at_most_leaves, score)
    asked.take_busy(busy or ())
    asked.take_others(beside or ())
    answer = ask(asked, score, move=move)
    files = write_files(asked, answer, write and write.value, output, picture)
    if write is None or output not in (None, "-"):
        _print(asked, answer, files, format, explain)


def _refuse_beside_others(
    move: bool, several: bool, score: str | None, compare: Any, write: Any, picture: str | None, beside: Any
) -> None:
    """Some questions are about one job placed, others are not."""
    from topo.errors import ParameterError

    given = {"--score": score, "--compare": compare, "--write": write, "--picture": picture}
    one = [name for name, value in given.items() if value]
    if move and several:
        raise ParameterError("--move asks what lets one job in; give one --job")
    if several and beside:
        raise ParameterError("--beside goes with one job; jobs placed at once see each other")
    if one and move:
        raise ParameterError(f"{one[0]} goes with a placement; --move asks what must move first, leave one of them out")
    if one and several:
        raise ParameterError(f"{one[0]} goes with one --job; place the others first and tell them with --beside")


def _sizes(text: str | None) -> tuple[int, ...]:
    from topo.errors import ParameterError

    words = [word.strip() for word in (text or "").split(",") if word.strip()]
    if not all(word.isdecimal() and 0 < int(word) < 10**9 for word in words):
        raise ParameterError(f"--block-sizes {text!r} is no list of whole numbers like 18,36,72")
    return tuple(sorted(int(word) for word in words))


def _print(asked: Any, answer: Any, files: list[str], format: Format, explain: bool) -> None:
    from topo.cli.printing import print_alerts, print_heading, print_json, print_lines, print_result, print_rows, tell
    from topo.output import plain

    found, comparison = answer.result, answer.comparison
    tell(found, comparison)
    if format is Format.json:
        said = {"fabric_name": asked.fabric.name, "notes_read": asked.notes, **found.to_dict()}
        print_json(said if comparison is None else {**said, "comparison": comparison.to_dict()})
        return
    print(plain(f"{found.title} of {', '.join(job.name for job in asked.jobs)} on {asked.fabric.name}"))
    print_alerts(asked.fabric)
    print_lines(asked.notes)
    print_rows(found.rows())
    if comparison is not None:
        print_result(comparison)
    if explain:
        _explain(answer)
    if files:
        print_heading("Files")
        print_lines(files)


def _explain(answer: Any) -> None:
    from topo.cli.printing import print_heading, print_table

    for affinity in answer.affinities:
        print_heading(f"Scores of {affinity.job}")
        rows = [(one.name, one.text(), one.unit, one.better, one.ignores) for one in affinity.scores]
        print_table(("score", "value", "unit", "better", "ignores"), rows)
