"""``topo goodput``: from line rate to what the application gets, effect by effect."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from topo.cli.options import Down, FabricName, Format, FormatOption, Rate, Seed
from topo.cli.reading import PLAINLY, Reading, reads_fabrics
from topo.cli.sending import (
    Algorithm,
    Alpha,
    Collective,
    CollectiveName,
    InnerAlpha,
    LinkMtu,
    Mtu,
    Order,
    QueuePairs,
    RankOrder,
    Ranks,
    Samples,
    Size,
    Transport,
)
from topo.cli.throughput import Scheme

if TYPE_CHECKING:
    from topo.fabric import Fabric
    from topo.training.waterfall import Goodput

__all__ = ["goodput"]

_BAR = 32


@reads_fabrics
def goodput(
    fabric: FabricName,
    name: CollectiveName = Collective.all_reduce,
    size: Size = "1GiB",
    ranks: Ranks = None,
    order: Order = RankOrder.fabric,
    algorithm: Algorithm = None,
    demand: Annotated[
        str | None,
        typer.Option(
            "--demand",
            metavar="DEMAND",
            help="Ask of plain flows instead of a collective: all-to-all, permutation, ring, ..., or a CSV file, as "
            "topo throughput takes them.",
        ),
    ] = None,
    others: Annotated[
        str | None,
        typer.Option("--others", metavar="DEMAND", help="What other jobs offer beside it, in the same words."),
    ] = None,
    routing: Annotated[Scheme, typer.Option("--routing", help="How flows find their way.")] = Scheme.single_path,
    queue_pairs: QueuePairs = 1,
    samples: Samples = None,
    mean: Annotated[
        bool | None,
        typer.Option(
            "--mean/--slowest", help="Rates of the mean flow (of --demand by itself) or the slowest (of a collective)."
        ),
    ] = None,
    alpha_us: Alpha = 5.0,
    inner_alpha_us: InnerAlpha = 1.0,
    transport: Transport = "rocev2",
    mtu: Mtu = 4096,
    link_mtu: LinkMtu = None,
    down: Down = None,
    rate: Rate = None,
    seed: Seed = 0,
    reading: Reading = PLAINLY,
    format: FormatOption = Format.text,
) -> None:
    """Show where the bandwidth goes: headers, hosts, tapering, hashing, failures, other jobs, the algorithm."""
    from topo.cli.demands import demand_by_words
    from topo.cli.printing import print_json, tell
    from topo.cli.running import given_state
    from topo.cli.sending import given_wire, parse_bytes, ranks_in_order, refuse_optimal
    from topo.errors import ParameterError
    from topo.training.waterfall import goodput as ask

    wanted, wire = parse_bytes(size), given_wire(transport, mtu, link_mtu)
    refuse_optimal(routing.value)
    if demand and algorithm:
        raise ParameterError("--algorithm is of a collective, and --demand asks of plain flows; leave one of them out")
    loaded = reading.load(fabric)
    found = ask(
        loaded,
        ranks_in_order(loaded, ranks, order, seed=seed),
        name.value,
        bytes=wanted,
        algorithm=algorithm,
        demand=demand_by_words(loaded, demand, ranks, seed=seed) if demand else None,
        alpha_us=alpha_us,
        inner_alpha_us=inner_alpha_us,
        routing=routing.value,
        queue_pairs=queue_pairs,
        wire=wire,
        failed=given_state(loaded, down, rate),
        others=demand_by_words(loaded, others, seed=seed) if others else None,
        statistic=None if mean is None else "mean" if mean else "slowest",
        samples=samples,
        seed=seed,
    )
    tell(found)
    if format is Format.json:
        print_json({"fabric_name": loaded.name, "notes": loaded.origin.notes, **found.to_dict()})
        return
    _print(found, loaded)


def _print(found: Goodput, fabric: Fabric) -> None:
    from topo.cli.printing import print_alerts, print_heading, print_rows, print_table
    from topo.output import plain

    print(plain(f"{found.title} on {fabric.name}: {found.verdict}"))
    print_alerts(fabric)
    print(plain(f"{found.demand}, {found.statistic} flow"))
    print()
    print_table(("AFTER", "Gb/s", "LOST", "", "STANDING"), _bars(found))
    print_heading("What the application sees")
    print_rows([row for row in found.rows() if row.label in ("time", "algbw", "busbw", "assumes")])


def _bars(found: Goodput) -> list[tuple[str, ...]]:
    """One line a level: what is left as a bar of hashes, what this effect took as dots behind it."""
    from topo.report.goodput import standing_in_words

    line = max(level.gbps for level in found.levels) or 1.0
    rows: list[tuple[str, ...]] = []
    for level in found.levels:
        left = round(_BAR * level.gbps / line)
        lost = max(0, round(_BAR * (level.gbps + level.lost_gbps) / line) - left)
        took = f"{level.lost_gbps:.1f}" if level is not found.levels[0] and abs(level.lost_gbps) >= 0.05 else "-"
        rows.append((level.effect, f"{level.gbps:.1f}", took, "#" * left + "." * lost, standing_in_words(level)))
    return rows
