"""``topo bisect``: the bracket of the bisection bandwidth, and the cut behind its upper bound."""

from __future__ import annotations

from typing import Annotated

import typer

from topo.cli.options import Endpoints, FabricName, Format, FormatOption, Keep, Seed
from topo.cli.reading import PLAINLY, Reading, reads_fabrics

__all__ = ["bisect"]


@reads_fabrics
def bisect(
    fabric: FabricName,
    endpoints: Endpoints = None,
    keep: Annotated[Keep, typer.Option("--keep", help="What a split keeps whole.")] = Keep.host,
    seed: Seed = 0,
    reading: Reading = PLAINLY,
    links: Annotated[int, typer.Option("--links", min=0, help="How many links of the cut to print.")] = 8,
    format: FormatOption = Format.text,
) -> None:
    """Find the least capacity, in one direction, across any even split of the endpoints."""
    from topo.analysis.bisection import bisection_bandwidth
    from topo.cli.printing import print_alerts, print_heading, print_json, print_lines, print_rows, tell
    from topo.errors import DisconnectedError, InputError, ParameterError
    from topo.output import plain
    from topo.report.halves import half_members
    from topo.units import format_gbps
    from topo.view.text import plural

    loaded = reading.load(fabric)
    try:
        found = bisection_bandwidth(loaded, endpoints or None, keep=keep.value, seed=seed)
    except (DisconnectedError, ParameterError) as error:
        doubts = [note.text for note in loaded.origin.notes if note.severity == "alert"]
        raise InputError("; ".join([*doubts, str(error)])) from None
    tell(found)
    if format is Format.json:
        of = {"fabric": loaded.name, "notes": loaded.origin.notes}
        print_json({**of, **found.to_dict(), "half_members": half_members(loaded, found)})
        return
    of_all = "" if found.n_endpoints == len(loaded.endpoints) else f" of {len(loaded.endpoints):,}"
    print(plain(f"{found.title} of {loaded.name}, {found.n_endpoints:,}{of_all} endpoints"))
    print_alerts(loaded)
    print_rows(found.rows())
    if not links or not len(found.links):
        return
    print_heading(f"A cut of {format_gbps(found.upper_gbps)}: {plural(len(found.links), 'link')}")
    shown = min(links, len(found.links))
    print_lines(f"{found.links[i]}, {format_gbps(found.links[i].capacity_gbps)}" for i in range(shown))
    rest = len(found.links) - shown
    print_lines([f"... {rest:,} more; --links {len(found.links)} prints them all"] if rest else [])
