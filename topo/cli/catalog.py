"""``topo list``: the fabrics that can be loaded by name. (A module named list would hide the type in topo.cli.)"""

from __future__ import annotations

from topo.cli.options import Format, FormatOption

__all__ = ["list_fabrics"]


def list_fabrics(format: FormatOption = Format.text) -> None:
    """Show the fabrics that can be loaded by name, with their published counts."""
    from topo.cli.printing import print_json, print_table
    from topo.source import catalog

    found = catalog()
    if format is Format.json:
        print_json(found)
        return
    rows = [
        (
            entry.name,
            *("-" if n is None else f"{n:,}" for n in (entry.n_endpoints, entry.n_switches, entry.n_tiers)),
            entry.title,
        )
        for entry in found
    ]
    print_table(("NAME", "ENDPOINTS", "SWITCHES", "TIERS", "TITLE"), rows)
