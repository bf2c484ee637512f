"""The growth of one fabric into another, for ``topo plan NEW --from OLD``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from topo.fabric import Fabric
    from topo.repair import Growth

__all__ = ["GrowthOptions", "run_growth"]

_REQUIRE = 0.5
"""Part of the old capacity that stays at every step unless another is asked for."""
_MOST_ROUNDS = 20


class GrowthOptions(Protocol):
    """What of the options of ``topo plan`` a growth uses."""

    @property
    def require(self) -> float | None:
        """Part of the old capacity to keep."""

    @property
    def output(self) -> str | None:
        """The folder for the lists, None to write none."""

    @property
    def format(self) -> str:
        """Text or json."""


def run_growth(new: Fabric, old: Fabric, args: GrowthOptions) -> int:
    """Print how ``old`` becomes ``new``; with a folder, write the lists to tick into it. Returns the exit status."""
    from topo.cli.printing import print_heading, print_json, print_lines, print_result
    from topo.output import plain
    from topo.repair import grow_fabric

    growth = grow_fabric(old, new, require=_REQUIRE if args.require is None else args.require)
    files = _files(growth, args.output) if args.output else []
    if args.format == "json":
        print_json({"growth": growth, "files": [str(path) for path in files]})
        return 0
    print(plain(f"{growth.old} grows to {growth.new}"))
    print_result(growth)
    print_heading("In this order")
    print_lines(_order(growth))
    print_heading("Notes")
    print_lines(growth.assumptions)
    if files:
        print_heading(f"Written into {args.output}")
        print_lines(path.name for path in files)
    return 0


def _order(growth: Growth) -> list[str]:
    """Rounds and new devices, a line each, those beyond a score counted."""
    lines: dict[str, int] = {}
    for step in growth.steps:
        lines[step.because] = lines.get(step.because, 0) + (step.kind != "unplug")
    shown = [f"{n:>5,} {'cable' if n == 1 else 'cables'}  {because}" for because, n in lines.items()]
    if len(shown) > 2 * _MOST_ROUNDS:
        left = len(shown) - 2 * _MOST_ROUNDS
        shown = [*shown[:_MOST_ROUNDS], f"      and {left:,} more like these", *shown[-_MOST_ROUNDS:]]
    return shown


def _files(growth: Growth, folder: str) -> list[Path]:
    from topo.output import write_folder
    from topo.repair import growth_written

    return write_folder(folder, {f"growth.{form}": growth_written(growth, form) for form in ("html", "csv", "json")})
