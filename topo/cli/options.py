"""Arguments and options that several verbs share."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

__all__ = [
    "Against",
    "AssumeGbps",
    "Cluster",
    "Down",
    "Endpoints",
    "Explain",
    "FabricName",
    "Format",
    "FormatOption",
    "Keep",
    "Output",
    "Rate",
    "ReadAs",
    "Seed",
    "Senders",
    "WiringNames",
    "Workers",
]


class Format(StrEnum):
    """How an answer is printed."""

    text = "text"
    json = "json"


class Keep(StrEnum):
    """What an even split may not tear apart."""

    host = "host"
    domain = "domain"
    pod = "pod"
    none = "none"


FabricName = Annotated[
    list[str],
    typer.Argument(
        metavar="FABRIC",
        help="A name that 'topo list' shows, a spec file, or a file from a cluster; several of these files, or a "
        "folder of them, are read as one fabric.",
    ),
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
        "--read-as",
        "--input-format",
        metavar="NAME",
        help="Read the file as this format instead of recognising it; spec for a spec.",
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

Senders = Annotated[
    list[str] | None,
    typer.Option(
        "--endpoints",
        metavar="GLOB",
        help="Endpoints that send and receive, by name or host; may be repeated. Default: all.",
    ),
]

Down = Annotated[
    list[str] | None,
    typer.Option(
        "--down",
        metavar="ELEMENT",
        help="What is down: a node or host, or KIND:PATTERN such as link:leaf-1--spine-2, cage:leaf-1/33, plane:2, "
        "group:feed-A; may be repeated.",
    ),
]

Rate = Annotated[
    list[str] | None,
    typer.Option(
        "--rate", metavar="ELEMENT=RATE", help="What runs slower: link:leaf-1--spine-2=200G; may be repeated."
    ),
]

Seed = Annotated[int, typer.Option("--seed", min=0, help="Seed of everything that is drawn.")]

Workers = Annotated[
    int, typer.Option("--jobs", "-j", min=1, help="Processes to run in; the answer is the same for any number.")
]

Cluster = Annotated[
    str | None,
    typer.Option("--cluster", metavar="ADDRESS", help="Run on the Dask scheduler at this address instead."),
]

WiringNames = Annotated[
    list[str],
    typer.Argument(
        metavar="WIRING",
        help="What was cabled, or will be: a dump, a cable schedule, a fabric; several files or a folder are one.",
    ),
]

Against = Annotated[
    list[str] | None,
    typer.Option(
        "--against",
        metavar="FABRIC|FILE",
        help="The design it should follow: a name, a spec, a schedule, yesterday's dump. Several make one design. "
        "Default: what the majority of the wiring does.",
    ),
]

Explain = Annotated[
    bool,
    typer.Option(
        "--explain", help="Also say in three sentences what was computed, what it assumes and what would change it."
    ),
]

Output = Annotated[
    str | None,
    typer.Option("--output", "-o", metavar="FILE", help="Where to write. Default: '-', standard output."),
]
