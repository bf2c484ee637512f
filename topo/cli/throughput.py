"""``topo throughput``: how much of a demand fits, and which links bind."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from topo.cli.options import Down, FabricName, Format, FormatOption, Rate, Seed, Senders
from topo.cli.reading import PLAINLY, Reading, reads_fabrics

if TYPE_CHECKING:
    from topo.fabric import Fabric, State
    from topo.result import Result

__all__ = ["Pxn", "Scheme", "Table", "throughput"]


class Scheme(StrEnum):
    """How flows find their way."""

    ecmp = "ecmp"
    wcmp = "wcmp"
    spray = "spray"
    valiant = "valiant"
    dimension_order = "dimension-order"
    single_path = "single-path"
    optimal = "optimal"


class Table(StrEnum):
    """How single-path routing chooses."""

    hash = "hash"
    destination_modulo = "destination-modulo"
    min_hop = "min-hop"
    random = "random"
    dimension_order = "dimension-order"


class Pxn(StrEnum):
    """When accelerators relay for others of their own host."""

    needed = "needed"
    always = "always"
    never = "never"


_OWN_ANSWERS = ("worst-permutation", "upper-bound", "effective-bisection")


@reads_fabrics
def throughput(
    fabric: FabricName,
    demand: Annotated[
        str,
        typer.Option(
            "--demand",
            metavar="DEMAND",
            help="all-to-all, permutation, shift[:BY], ring, tree, double-tree, pairing, longest-matching, "
            "incast:ENDPOINT, or a CSV file of source, sink, gbps. Or worst-permutation (ecmp, spray), upper-bound "
            "(any routing), effective-bisection (random pairings on static routes).",
        ),
    ] = "all-to-all",
    routing: Annotated[Scheme, typer.Option("--routing", help="How flows find their way.")] = Scheme.ecmp,
    table: Annotated[
        Table | None,
        typer.Option(
            "--table",
            help="How single-path routing chooses. Default: hash; destination-modulo for effective-bisection.",
        ),
    ] = None,
    lag: Annotated[bool, typer.Option("--lag", help="Parallel links of two switches are one next hop.")] = False,
    up_down: Annotated[bool, typer.Option("--up-down", help="Only paths up the tiers and then down.")] = False,
    pxn: Annotated[
        Pxn, typer.Option("--pxn", help="When accelerators relay for others of their host; NCCL's default is always.")
    ] = Pxn.needed,
    endpoints: Senders = None,
    down: Down = None,
    rate: Rate = None,
    samples: Annotated[
        int | None, typer.Option("--samples", min=2, help="Draws of hashed paths, or of pairings.")
    ] = None,
    accuracy: Annotated[
        float, typer.Option("--accuracy", help="How far apart the bounds of optimal routing may stay.")
    ] = 0.01,
    seed: Seed = 0,
    reading: Reading = PLAINLY,
    links: Annotated[int, typer.Option("--links", min=0, help="How many of the links that bind to print.")] = 6,
    format: FormatOption = Format.text,
) -> None:
    """Find the largest share of a demand that fits at once, and the links that hold it down, worst first."""
    from topo.cli.printing import print_alerts, print_json, print_rows, tell
    from topo.cli.running import given_state
    from topo.output import plain
    from topo.routing.scheme import Routing

    loaded = reading.load(fabric)
    chosen = Routing.of(routing.value).with_(lag=lag, up_down=up_down, pxn=pxn.value, seed=seed)
    if table is not None:
        chosen = chosen.with_(table=table.value)
    state = given_state(loaded, down, rate)
    if demand in _OWN_ANSWERS:
        found = _own_answer(loaded, demand, chosen if table else None, chosen, endpoints, state, samples, seed)
    else:
        from topo.analysis.throughput import throughput as ask
        from topo.cli.demands import demand_by_words

        wanted = demand_by_words(loaded, demand, endpoints, seed=seed)
        found = ask(loaded, wanted, routing=chosen, state=state, samples=samples, accuracy=accuracy)
    tell(found)
    if format is Format.json:
        print_json({"fabric_name": loaded.name, "notes": loaded.origin.notes, **found.to_dict()})
        return
    print(plain(f"{found.title} of {loaded.name}"))
    print_alerts(loaded)
    print_rows(_rows_without_links(found))
    _print_links(found, links)


def _own_answer(
    fabric: Fabric,
    demand: str,
    tabled: Any,
    routing: Any,
    endpoints: list[str] | None,
    state: State | None,
    samples: int | None,
    seed: int,
) -> Result:
    """Questions that come with demands of their own."""
    from topo.analysis.throughput import effective_bisection, throughput_upper_bound, worst_case_throughput
    from topo.errors import ParameterError

    if demand == "upper-bound":
        return throughput_upper_bound(fabric, endpoints or None, state=state)
    if demand == "effective-bisection":
        table = tabled.table if tabled else "destination-modulo"
        return effective_bisection(
            fabric, table=table, endpoints=endpoints or None, samples=samples or 100, seed=seed, state=state
        )
    if endpoints:
        raise ParameterError("worst-permutation is of all endpoints; leave --endpoints out")
    return worst_case_throughput(fabric, routing=routing, state=state)


def _rows_without_links(found: Result) -> list[Any]:
    """The rows but those of single links, which are printed as many as asked for."""
    return [row for row in found.rows() if not row.label.startswith("  ") or row.label == "  at most"]


def _print_links(found: Result, most: int) -> None:
    from topo.cli.printing import print_heading, print_lines
    from topo.units import format_gbps
    from topo.view.text import plural

    ways = getattr(found, "binding_direction", ())
    if not ways or not most:
        return
    links = found.binding_links  # type: ignore[attr-defined]
    n = found.n_binding  # type: ignore[attr-defined]
    print_heading(f"Where it binds: {plural(n, 'link direction')}, worst first")
    shown = min(most, len(links))
    print_lines(
        f"{ways[i]}, port {links[i].a_port} - port {links[i].b_port}, {format_gbps(links[i].capacity_gbps)}"
        for i in range(shown)
    )
    print_lines([f"... {n - shown:,} more; --links {n} prints them all"] if n > shown else [])
