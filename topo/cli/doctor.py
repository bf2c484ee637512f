"""``topo doctor``: whether the installation works."""

from __future__ import annotations

import dataclasses

import typer

from topo.cli.options import Format, FormatOption

__all__ = ["doctor"]


def doctor(format: FormatOption = Format.text) -> None:
    """Check versions, extras, the catalogue, write access, and a small known answer of every area.

    The exit status is 1 where something that is needed is not fine.
    """
    from topo.cli.checks import checks
    from topo.cli.printing import print_json, print_table

    found = list(checks())
    is_fine = all(one.is_fine or not one.needed for one in found)
    if format is Format.json:
        print_json({"is_fine": is_fine, "checks": [dataclasses.asdict(one) for one in found]})
    else:
        words = {(True, True): "fine", (True, False): "fine", (False, True): "WRONG", (False, False): "missing"}
        print_table(("", "CHECK", "FOUND"), [(words[one.is_fine, one.needed], one.check, one.said) for one in found])
        print("All that is needed is fine." if is_fine else "Something that is needed is not fine; see WRONG above.")
    if not is_fine:
        raise typer.Exit(1)
