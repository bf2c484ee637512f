"""``topo list``: the fabrics that can be loaded by name. (A module named list would hide the type in topo.cli.)"""

from __future__ import annotations

from typing import Annotated

import typer

from topo.cli.options import Format, FormatOption

__all__ = ["list_fabrics"]

_HEAD = ("NAME", "ENDPOINTS", "SWITCHES", "TIERS", "PLANES", "TITLE")
_PLANES = "PLANES: parts of the network that no relay joins; they are rails where an endpoint touches only one."


def list_fabrics(
    builders: Annotated[
        bool, typer.Option("--builders", help="Show what a spec of your own may hold: keys, labels, builders.")
    ] = False,
    format: FormatOption = Format.text,
) -> None:
    """Show the fabrics that can be loaded by name, by operator, with their counts; or the builders of specs."""
    from topo.cli.printing import print_json, print_table
    from topo.source import catalog

    if builders:
        _list_builders(format)
        return
    found = catalog()
    if format is Format.json:
        print_json(found)
        return
    rows: list[tuple[str, ...]] = []
    for operator, entries in found.by_operator().items():
        rows.append((operator,))
        for entry in entries:
            counts = (entry.n_endpoints, entry.n_switches, entry.n_tiers, entry.n_planes)
            rows.append((f"  {entry.name}", *("-" if n is None else f"{n:,}" for n in counts), entry.title))
    print_table(_HEAD, rows)
    print(_PLANES)


def _list_builders(format: Format) -> None:
    from topo.cli.printing import print_json, print_result
    from topo.spec.describe import spec_keys

    found = spec_keys()
    if format is Format.json:
        print_json(found)
    else:
        print_result(found)
