"""``topo collective``: how long a collective takes on a fabric, and what binds it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

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
    import numpy as np
    from numpy.typing import NDArray

    from topo.fabric import Fabric
    from topo.result import Result

__all__ = ["collective"]


@reads_fabrics
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
    measured: Annotated[
        str | None,
        typer.Option(
            "--measured",
            metavar="FILE",
            help="What an nccl-tests program printed: put every size beside its prediction, and tell which effect of "
            "the waterfall explains the largest.",
        ),
    ] = None,
    counters: Annotated[
        str | None,
        typer.Option(
            "--counters",
            metavar="FILE",
            help="CSV of port counters: columns node, port and gbps (or bytes and seconds), direction tx or rx; put "
            "beside the predicted load of each link.",
        ),
    ] = None,
    routing: Annotated[Scheme, typer.Option("--routing", help="How flows find their way.")] = Scheme.ecmp,
    queue_pairs: QueuePairs = 1,
    samples: Samples = None,
    alpha_us: Alpha = 5.0,
    inner_alpha_us: InnerAlpha = 1.0,
    transport: Transport = "rocev2",
    mtu: Mtu = 4096,
    link_mtu: LinkMtu = None,
    line_rate: Annotated[
        bool, typer.Option("--line-rate", help="Leave headers out: links at their line rate.")
    ] = False,
    down: Down = None,
    rate: Rate = None,
    seed: Seed = 0,
    reading: Reading = PLAINLY,
    format: FormatOption = Format.text,
) -> None:
    """Time a collective over placed ranks: algbw and busbw as nccl-tests prints them, and the link that binds."""
    from topo.analysis.collectives.on_fabric import best_by_size, collective_time
    from topo.cli.printing import print_alerts, print_json, tell
    from topo.cli.running import given_state
    from topo.cli.sending import given_wire, parse_bytes, ranks_in_order, refuse_optimal
    from topo.errors import ParameterError
    from topo.output import plain

    if line_rate and (measured or counters):
        raise ParameterError("--line-rate leaves headers out, and what was measured has them; leave one of them out")
    wanted = parse_bytes(size)
    wire = None if line_rate else given_wire(transport, mtu, link_mtu)
    refuse_optimal(routing.value)
    loaded = reading.load(fabric)
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
    under_all = {**under, "algorithm": algorithm}
    found = collective_time(loaded, placed, name.value, bytes=wanted, **under_all)
    best = best_by_size(loaded, placed, name.value, **under) if by_size else ()
    beside = _beside(loaded, placed, name.value, wanted, measured, counters, under_all)
    tell(found, *beside.values())
    if format is Format.json:
        more: dict[str, Any] = {key: result.to_dict() for key, result in beside.items()}
        if by_size:
            more["best_by_size"] = best
        print_json({"fabric_name": loaded.name, "notes": loaded.origin.notes, **found.to_dict(), **more})
        return
    print(plain(f"{name.value} on {loaded.name}"))
    print_alerts(loaded)
    _print(found, best, beside)


def _print(found: Result, best: Sequence[Any], beside: dict[str, Result]) -> None:
    from topo.cli.printing import print_heading, print_lines, print_result, print_rows
    from topo.cli.sending import format_bytes

    print_rows(found.rows())
    if best:
        print_heading("The fastest algorithm")
        print_lines(f"from {format_bytes(one.bytes)}: {one.algorithm}" for one in best)
    for result in beside.values():
        print_result(result)


def _beside(
    fabric: Fabric, placed: NDArray[np.int64], name: str, size: float, measured: str | None, counters: str | None,
    under: dict[str, Any],
) -> dict[str, Result]:  # fmt: skip
    """What was measured beside what is predicted, by kind of measurement."""
    from topo.training.beside import measured_beside
    from topo.training.counters import counters_beside, read_port_counters
    from topo.training.measured import read_nccl_tests

    found: dict[str, Result] = {}
    if measured is not None:
        found["measured"] = measured_beside(fabric, placed, read_nccl_tests(measured), name, **under)
    if counters is not None:
        seen = read_port_counters(counters)
        found["counters"] = counters_beside(fabric, placed, seen, name, bytes=size, **under)
    return found
