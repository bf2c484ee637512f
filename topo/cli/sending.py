"""What the verbs on collectives and jobs share: sizes in bytes, ranks in order, headers, routing."""

from __future__ import annotations

import math
import re
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from topo.errors import ParameterError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from topo.analysis.collectives.carried import Wire
    from topo.fabric import Fabric

__all__ = [
    "Algorithm",
    "Alpha",
    "Collective",
    "CollectiveName",
    "InnerAlpha",
    "LinkMtu",
    "Mtu",
    "Order",
    "QueuePairs",
    "RankOrder",
    "Ranks",
    "Samples",
    "Size",
    "Transport",
    "format_bytes",
    "given_wire",
    "parse_bytes",
    "ranks_in_order",
    "refuse_optimal",
]

_SIZE = re.compile(r"\s*(\d+(?:\.\d*)?(?:[eE][+-]?\d+)?)\s*([kKMGT]?)(i?)B?\s*\Z")
_POWER = {"": 0, "k": 1, "K": 1, "M": 2, "G": 3, "T": 4}


class Collective(StrEnum):
    """Collectives that can be placed on a fabric."""

    all_reduce = "all_reduce"
    reduce_scatter = "reduce_scatter"
    all_gather = "all_gather"
    all_to_all = "all_to_all"
    broadcast = "broadcast"
    send = "send"


class RankOrder(StrEnum):
    """How ranks are numbered."""

    fabric = "fabric"
    round_robin = "round-robin"
    random = "random"


CollectiveName = Annotated[Collective, typer.Option("--collective", help="What the ranks do together.")]

Size = Annotated[
    str, typer.Option("--bytes", metavar="SIZE", help="Bytes as nccl-tests counts them: 1GiB, 256MiB, 1e9.")
]

Algorithm = Annotated[
    str | None,
    typer.Option(
        "--algorithm",
        metavar="NAME",
        help="all_reduce: ring, double_tree, hierarchical, halving_doubling, in_network; all_to_all: direct, relayed, "
        "pairwise; the others have one. Default: the first.",
    ),
]

Ranks = Annotated[
    list[str] | None,
    typer.Option("--ranks", metavar="GLOB", help="Endpoints that take part, by name or host; may be repeated."),
]

Order = Annotated[
    RankOrder,
    typer.Option(
        "--order",
        help="How ranks are numbered: as the fabric lists its endpoints, host after host; round-robin, one of each "
        "host in turn; or drawn at random.",
    ),
]

Alpha = Annotated[float, typer.Option("--alpha-us", min=0, help="Latency of one step between hosts, in microseconds.")]
InnerAlpha = Annotated[
    float, typer.Option("--inner-alpha-us", min=0, help="Latency of one step inside a host, in microseconds.")
]
QueuePairs = Annotated[
    int, typer.Option("--queue-pairs", min=1, help="Queue pairs that a flow is cut into, each hashed by itself.")
]
Samples = Annotated[
    int | None,
    typer.Option(
        "--samples", min=2, help="Draws of hashed paths; 100 where not given, fewer where flows are very many."
    ),
]
Transport = Annotated[
    str, typer.Option("--transport", metavar="NAME", help="Headers on the wire: rocev2, infiniband, and others.")
]
Mtu = Annotated[int, typer.Option("--mtu", min=1, help="Payload of a packet in bytes.")]
LinkMtu = Annotated[
    int | None,
    typer.Option(
        "--link-mtu", min=1, help="Largest payload of a packet that the links take; a larger --mtu is refused."
    ),
]


def parse_bytes(text: str) -> float:
    """Bytes from how people write them: KiB, MiB, GiB, TiB are powers of 1024, kB, MB, GB, TB of 1000.

    >>> parse_bytes("1GiB") == 2**30, parse_bytes("8 MB"), parse_bytes("1e9")
    (True, 8000000.0, 1000000000.0)

    :raises ParameterError: not a size.
    """
    match = _SIZE.match(text)
    if match is None or (match[3] and not match[2]):
        raise ParameterError(f"--bytes {text!r} is not a size; write 1GiB, 256MiB, 8MB or a number of bytes")
    size = float(match[1]) * float(1024 if match[3] else 1000) ** _POWER[match[2]]
    if not math.isfinite(size) or size > 2.0**60:
        raise ParameterError(f"--bytes {text!r} is above 1 EiB")
    return size


def format_bytes(size: float) -> str:
    """Bytes in the largest unit of 1024 that they fill.

    >>> format_bytes(2.0**30), format_bytes(1536), format_bytes(100)
    ('1 GiB', '1.5 KiB', '100 B')
    """
    from topo.units import format_number

    power = min(4, max(0, int(math.log2(size) // 10))) if size >= 1 else 0
    return f"{format_number(size / 1024**power, 4)} {('B', 'KiB', 'MiB', 'GiB', 'TiB')[power]}"


def given_wire(transport: str, mtu: int, link_mtu: int | None = None) -> Wire:
    """Headers by transport and MTU.

    :raises ParameterError: an unknown transport or MTU (the known ones are told), or one above the links'.
    """
    from topo.analysis.collectives.carried import Wire

    return Wire(transport=transport, mtu=mtu, link_mtu=link_mtu)


def ranks_in_order(
    fabric: Fabric, which: list[str] | None, order: RankOrder, *, seed: int = 0, most: int | None = None
) -> NDArray[np.int64]:
    """Endpoint rows in rank order, the first ``most`` of them.

    :raises ParameterError: names that match no endpoint, or fewer than ``most``.
    """
    import numpy as np

    rows = np.sort(np.asarray(fabric.endpoint_rows(which or None), np.int64))
    if most is not None and len(rows) < most:
        where = "match --ranks" if which else f"are in {fabric.name}"
        raise ParameterError(f"the job has {most:,} ranks, but {len(rows):,} endpoints {where}")
    rows = rows[:most]
    if order is RankOrder.random:
        return np.random.default_rng(seed).permutation(rows)
    if order is RankOrder.round_robin:
        code = fabric.nodes.host.codes[rows].astype(np.int64)
        host = np.where(code < 0, len(fabric.nodes) + rows, code)
        first = np.unique(host, return_index=True, return_inverse=True)
        place = first[1][first[2]]  # hosts in the order in which they come, not that of their codes
        by_host = np.lexsort((rows, place))
        starts = np.flatnonzero(np.diff(place[by_host], prepend=-1))
        turn = np.empty(len(rows), np.int64)
        turn[by_host] = np.arange(len(rows)) - np.repeat(starts, np.diff(np.append(starts, len(rows))))
        return rows[np.lexsort((place, turn))]
    return rows


def refuse_optimal(routing: str) -> None:
    """A collective's flows follow their paths; the best routing is a bound of its own.

    :raises ParameterError: the routing is the optimal one.
    """
    if routing == "optimal":
        raise ParameterError(
            "--routing optimal is a bound on what any routing carries, and no collective runs by it; "
            "use ecmp, wcmp, spray, valiant, dimension-order or single-path, or 'topo goodput', which shows the best "
            "routing as a bar"
        )
