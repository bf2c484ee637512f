"""``topo step``: how long a training step takes on a fabric, and what waits for the network."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from topo.cli.options import Down, FabricName, Format, FormatOption, Rate, Seed
from topo.cli.reading import PLAINLY, Reading, reads_fabrics
from topo.cli.sending import LinkMtu, Mtu, Order, RankOrder, Ranks, Transport
from topo.cli.throughput import Scheme

if TYPE_CHECKING:
    from topo.training.answer import TrainingStep

__all__ = ["step"]

_BAR = 40


@reads_fabrics
def step(
    fabric: FabricName,
    job: Annotated[
        str,
        typer.Option(
            "--job",
            metavar="FILE",
            help="YAML with model (a known name, or its shape), plan (batch, tensor, pipeline, data, ...), "
            "accelerator, efficiency, straggler, checkpoints.",
        ),
    ],
    ranks: Ranks = None,
    order: Order = RankOrder.fabric,
    routing: Annotated[Scheme, typer.Option("--routing", help="How flows find their way.")] = Scheme.ecmp,
    transport: Transport = "rocev2",
    mtu: Mtu = 4096,
    link_mtu: LinkMtu = None,
    fingerprint: Annotated[
        bool, typer.Option("--fingerprint", help="Also print what each dimension sends in a step, and to whom.")
    ] = False,
    sensitivity: Annotated[
        bool,
        typer.Option("--sensitivity", help="Also print what one more rail, twice the uplinks and others are worth."),
    ] = False,
    down: Down = None,
    rate: Rate = None,
    seed: Seed = 0,
    reading: Reading = PLAINLY,
    format: FormatOption = Format.text,
) -> None:
    """Work out the time of a training step on placed ranks: its terms, MFU and HFU."""
    from topo.cli.jobs import read_training_job
    from topo.cli.printing import print_alerts, print_json, print_result, print_rows, print_table, tell
    from topo.cli.running import given_state
    from topo.cli.sending import given_wire, ranks_in_order, refuse_optimal
    from topo.output import plain
    from topo.training.fingerprint import parallelism
    from topo.training.sensitivity import fabric_sensitivity
    from topo.training.step import training_step

    asked, wire = read_training_job(job), given_wire(transport, mtu, link_mtu)
    refuse_optimal(routing.value)
    loaded = reading.load(fabric)
    placed = ranks_in_order(loaded, ranks, order, seed=seed, most=asked.plan.ranks)
    given: dict[str, Any] = {
        **asked.given, "placement": placed, "routing": routing.value, "wire": wire,
        "state": given_state(loaded, down, rate),
    }  # fmt: skip
    found = training_step(asked.model, asked.plan, fabric=loaded, **given)
    more: dict[str, Any] = {}
    if fingerprint:
        more["fingerprint"] = parallelism(asked.model, asked.plan)
    if sensitivity:
        more["sensitivity"] = fabric_sensitivity(loaded, asked.model, asked.plan, **given)
    tell(found, *more.values())
    if format is Format.json:
        extra = {name: result.to_dict() for name, result in more.items()}
        print_json({"fabric_name": loaded.name, "notes": loaded.origin.notes, **found.to_dict(), **extra})
        return
    print(plain(f"{found.title} of {found.model} on {loaded.name}"))
    print_alerts(loaded)
    terms = [row for row in found.rows() if not row.label.startswith("  ")]
    first = next(i for i, row in enumerate(terms) if row.label.startswith("waiting"))
    print_rows(terms[:first])
    print()
    print_table(("TERM", "SECONDS", "SHARE", ""), _bars(found))
    print()
    print_rows(terms[first:])
    for result in more.values():
        print_result(result)


def _bars(found: TrainingStep) -> list[tuple[str, ...]]:
    """One line a term that is not 0."""
    return [
        (name, f"{seconds:.4g}", f"{100 * seconds / found.time_s:.1f} %", "#" * round(_BAR * seconds / found.time_s))
        for name, seconds in found.terms.items()
        if seconds
    ]
