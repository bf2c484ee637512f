"""``topo compare``: fabrics side by side, and what differs."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from topo.cli.options import Output, Seed
from topo.cli.reading import PLAINLY, Reading, reads_fabrics

__all__ = ["TableFormat", "compare"]


class TableFormat(StrEnum):
    """How a table is written."""

    text = "text"
    json = "json"
    html = "html"


Prices = Annotated[
    str | None, typer.Option("--prices", metavar="FILE", help="A list of prices and powers in YAML, not the usual one.")
]
TableFormatOption = Annotated[
    TableFormat, typer.Option("--format", help="For people, for programs, or one page that needs nothing else.")
]


@reads_fabrics
def compare(
    fabrics: Annotated[
        list[str],
        typer.Argument(metavar="FABRIC...", help="Two or more: names that 'topo list' shows, specs, or files."),
    ],
    prices: Prices = None,
    seed: Seed = 0,
    format: TableFormatOption = TableFormat.text,
    output: Output = None,
    reading: Reading = PLAINLY,
) -> None:
    """Show fabrics side by side: equipment, power, price, distances, what arrives; and what differs."""
    from topo.cli.sides import write_comparison
    from topo.design.compare import compare_fabrics
    from topo.errors import ParameterError

    if len(fabrics) < 2:
        raise ParameterError("one fabric is not compared with anything; name two or more, or use 'topo show'")
    loaded = [reading.load(name) for name in fabrics]
    write_comparison(compare_fabrics(loaded, prices=prices, seed=seed), format.value, output)
