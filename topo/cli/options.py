"""Arguments and options that several verbs share."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

__all__ = ["AssumeGbps", "Endpoints", "FabricName", "Format", "FormatOption", "Keep", "ReadAs"]


class Format(StrEnum):
    """How an answer is printed."""

    text = "text"
    json = "json"


class Keep(StrEnum):
    """What an even split may not tear apart."""

    host = "host"
    domain = "domain"
    none = "none"


FabricName = Annotated[
    str,
    typer.Argument(metavar="FABRIC", help="A name that 'topo list' shows, a spec file, or a file from a cluster."),
]

FormatOption = Annotated[
    Format, typer.Option("--format", help="For people or for programs; JSON keys are the fields of the results.")
]

AssumeGbps = Annotated[
    str | None,
    typer.Option(
        "--assume-gbps",
        metavar="RATE",
        help="Rate of every link whose rate a file leaves open: 400, 400G, 4xNDR; one direction.",
    ),
]

ReadAs = Annotated[
    str | None,
    typer.Option(
        "--read-as", metavar="NAME", help="Read the file as this format instead of recognising it; spec for a spec."
    ),
]

Endpoints = Annotated[
    list[str] | None,
    typer.Option(
        "--endpoints",
        metavar="GLOB",
        help="Bisection of the endpoints whose name or host matches, all else of the whole fabric; may be repeated.",
    ),
]
