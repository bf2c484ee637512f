"""``topo design``: what should be built, candidates of every family side by side."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from topo.cli.compare import Prices, TableFormat, TableFormatOption
from topo.cli.options import Output, Seed

__all__ = ["design"]


def design(
    accelerators: Annotated[int | None, typer.Option("--accelerators", metavar="N", help="How many.")] = None,
    nic_rate: Annotated[
        str | None, typer.Option("--nic-rate", metavar="RATE", help="Of an adapter: 400, 400G. Default: 400.")
    ] = None,
    rails: Annotated[
        int | None,
        typer.Option("--rails", metavar="N", help="Accelerators with an adapter each in a host. Default: 8."),
    ] = None,
    switch: Annotated[str | None, typer.Option("--switch", metavar="PART", help="A switch by name: qm9700.")] = None,
    radix: Annotated[
        int | None,
        typer.Option("--radix", metavar="N", help="Ports of a switch at that rate, for no known part. Default: 64."),
    ] = None,
    oversubscription: Annotated[
        float | None, typer.Option("--oversubscription", metavar="X", help="At most X:1. Default: 1.")
    ] = None,
    growth: Annotated[
        float | None, typer.Option("--growth", metavar="N", help="N times the accelerators have to fit the family.")
    ] = None,
    power: Annotated[
        float | None, typer.Option("--power", metavar="KW", help="At most, of switches and optics.")
    ] = None,
    price: Annotated[
        float | None,
        typer.Option(
            "--price",
            metavar="AMOUNT",
            help="At most, of switches, cables and optics, in the currency of --prices (USD).",
        ),
    ] = None,
    planes: Annotated[
        int | None, typer.Option("--planes", metavar="N", help="Of the multi-plane fabric: 2, 4 or 8. Default: enough.")
    ] = None,
    requirements: Annotated[
        str | None,
        typer.Option("--requirements", metavar="FILE", help="All of these in YAML; options go before the file."),
    ] = None,
    prices: Prices = None,
    seed: Seed = 0,
    workers: Annotated[
        int | None,
        typer.Option("--jobs", "-j", min=1, help="Processes; the answer is the same. Default: a core each, at most 4."),
    ] = None,
    format: TableFormatOption = TableFormat.text,
    output: Output = None,
) -> None:
    """List a fabric of every family that meets the requirements, which are Pareto-best, and why the others are not."""
    from topo.cli.sides import write_candidates
    from topo.design.choosing import candidates
    from topo.design.requirements import read_requirements

    asked = read_requirements(
        requirements, accelerators=accelerators, nic_gbps=nic_rate, rails=rails, switch=switch, radix=radix,
        oversubscription=oversubscription, growth=growth, power_kw=power, price=price, planes=planes,
    )  # fmt: skip
    write_candidates(
        candidates(asked, prices=prices, seed=seed, workers=workers or min(4, os.cpu_count() or 1)),
        format.value,
        output,
    )
