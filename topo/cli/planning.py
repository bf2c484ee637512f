"""What ``topo plan`` found, written into a folder and told."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from topo.fabric import Fabric

__all__ = ["PlanOptions", "run_plan"]


@dataclass(frozen=True, slots=True)
class PlanOptions:
    """The options of the verb as they were given; ``format`` is text or json, ``output`` a folder or None."""

    racks: str | None = None
    prices: str | None = None
    search_order: bool = False
    output: str | None = None
    xlsx: bool = True
    require: float | None = None
    format: str = "text"


def run_plan(fabric: Fabric, args: PlanOptions) -> int:
    """Plan the fabric, write the files, print what was planned; returns the exit status."""
    from topo.cli.printing import print_alerts, print_heading, print_json, print_lines, print_result
    from topo.design import cabling_plan, write_plan
    from topo.output import file_name, plain

    made = cabling_plan(fabric, racks=args.racks, prices=args.prices, search_order=args.search_order)
    folder = args.output or f"{file_name(fabric.name)}-plan"
    can_write_xlsx = find_spec("xlsxwriter") is not None
    files = write_plan(made, folder, xlsx=args.xlsx and can_write_xlsx)
    if args.format == "json":
        print_json({"plan": made, "files": [str(path) for path in files]})
        return 0
    print(plain(fabric.name))
    print_alerts(fabric)
    print_result(made)
    print_result(made.bill)
    print_heading(f"Written into {folder}")
    print_lines(path.name for path in files)
    if args.xlsx and not can_write_xlsx:
        print_lines(["no plan.xlsx: XlsxWriter is not installed: pip install XlsxWriter"])
    return 0
