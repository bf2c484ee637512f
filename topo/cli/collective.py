"""``topo collective``: how long a collective takes on a fabric, and what binds it."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from topo.cli.options import AssumeGbps, Down, FabricName, Format, FormatOption, Rate, ReadAs, Seed
from topo.cli.sending import (
    Algorithm,
    Alpha,
    Collective,
    CollectiveName,
    InnerAlpha,
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

__all__ = ["collective"]


def collective(
    fabric: FabricName,
    name: CollectiveName = Collective.all_reduce,
    size: Size = "1GiB",
    ranks: Ranks = None,
    order: Order = RankOrder.fabric,
    algorithm: Algorithm = None,
    by_size: Annotated[
        bool, typer.Option("--by-size", help="Also print which algorithm is the fastest at what size.")
    ] = False,
    routing: Annotated[Scheme, typer.Option("--routing", help="How flows find their way.")] = Scheme.ecmp,
    queue_pairs: QueuePairs = 1,
    samples: Samples = None,
    alpha_us: Alpha = 5.0,
    inner_alpha_us: InnerAlpha = 1.0,
    transport: Transport = "rocev2",
    mtu: Mtu = 4096,
    line_rate: Annotated[
        bool, typer.Option("--line-rate", help="Leave headers out: links at their line rate.")
    ] = False,
    down: Down = None,
    rate: Rate = None,
    seed: Seed = 0,
    assume_gbps: AssumeGbps = None,
    read_as: ReadAs = None,
    format: FormatOption = Format.text,
) -> None:
    """Time a collective over placed ranks: algbw and busbw as nccl-tests prints them, and the link that binds."""
    from topo.analysis.collectives.on_fabric import best_by_size, collective_time
    from topo.cli.printing import print_alerts, print_heading, print_json, print_lines, print_rows
    from topo.cli.running import given_state
    from topo.cli.sending import format_bytes, given_wire, parse_bytes, ranks_in_order, refuse_optimal
    from topo.output import plain
    from topo.source import load

    wanted = parse_bytes(size)
    wire = None if line_rate else given_wire(transport, mtu)
    refuse_optimal(routing.value)
    loaded = load(fabric, assume_gbps=assume_gbps, format=read_as)
    placed = ranks_in_order(loaded, ranks, order, seed=seed)
    under: dict[str, Any] = {
        "alpha_us": alpha_us,
        "inner_alpha_us": inner_alpha_us,
        "routing": routing.value,
        "wire": wire,
        "state": given_state(loaded, down, rate),
        "queue_pairs": queue_pairs,
        "samples": samples,
        "seed": seed,
    }
    found = collective_time(loaded, placed, name.value, bytes=wanted, algorithm=algorithm, **under)
    best = best_by_size(loaded, placed, name.value, **under) if by_size else ()
    if format is Format.json:
        more = {"best_by_size": best} if by_size else {}
        print_json({"fabric_name": loaded.name, "notes": loaded.origin.notes, **found.to_dict(), **more})
        return
    print(plain(f"{name.value} on {loaded.name}"))
    print_alerts(loaded)
    print_rows(found.rows())
    if by_size:
        print_heading("The fastest algorithm")
        print_lines(f"from {format_bytes(one.bytes)}: {one.algorithm}" for one in best)
