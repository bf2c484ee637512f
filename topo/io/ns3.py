"""Read topology files of ns-3 simulators: HPCC's, ASTRA-sim's, and SimAI's with its longer header."""

from __future__ import annotations

import re

from topo.errors import FormatError, InputError
from topo.fabric import Fabric
from topo.io.cables import CableBook, Rate
from topo.io.halves import UNKNOWN
from topo.io.notes import quoted

__all__ = ["is_ns3", "read_ns3"]

_HEADER = re.compile(r"\s*\d+\s+\d+\s+\d+(?:\s+\d+\s+\d+\s+\S+)?\s*\Z")
_ROW = re.compile(r"\s*(\d{1,9})\s+(\d{1,9})\s+(\d+(?:\.\d+)?\s?[KMGT]?bps)\b(.*)", re.IGNORECASE)
_ODD_RATE = re.compile(r"\s*(\d{1,9})\s+(\d{1,9})\s+(\S{1,40})(\s+\S+\s+\S+)\s*\Z")
"""A row of five words whose rate is none that is known."""
_MOST_NODES = 4_000_000


def is_ns3(head: str) -> bool:
    """Whether the first line holds counts and a later one a link with its rate."""
    lines = head.split("\n", 8)[:8]
    return bool(lines) and _HEADER.match(lines[0]) is not None and any(_ROW.match(line) for line in lines[1:])


def read_ns3(text: str, source: str = "") -> Fabric:
    """The fabric of an ns-3 topology file: counts, the ids of the switches, then a row a link.

    Every row is a cable of its own, equal rows too; one whose rate is of an unknown kind is kept without a rate. In
    SimAI's header (nodes, GPUs a server, NVSwitches, switches, links, GPU type) the first NVSwitch ids stand before
    those of the switches, and servers are runs of that many GPUs.

    >>> row = "{} 2 100Gbps 1us 0\\n"
    >>> fabric = read_ns3("3 1 4\\n2\\n" + 2 * row.format(0) + 2 * row.format(1))
    >>> len(fabric.links), float(fabric.links.capacity_gbps.sum())
    (4, 400.0)

    :raises FormatError: a header that counts other than the rows, a node beyond the count, a row that is none.
    :raises InputError: more nodes than a file of that length can join.
    """
    lines = text.split("\n")
    head = lines[0].split()
    if not _HEADER.match(lines[0]) or any(len(word) > 9 for word in head[:5]):
        raise FormatError(f"the first line is {quoted(lines[0])}; counts of nodes, switches and links are wanted",
                          path=source or None, line=1)  # fmt: skip
    is_simai = len(head) == 6
    numbers = [int(word) for word in head[: 5 if is_simai else 3]]
    n_nodes, n_links = numbers[0], numbers[-1]
    n_switches, n_chips = (numbers[3], numbers[2]) if is_simai else (numbers[1], 0)
    most = min(_MOST_NODES, max(1000, len(text)))
    if n_nodes > most:
        raise InputError(f"{n_nodes:,} nodes, more than a file of this length can join", path=source or None, line=1)
    ids = _ids(lines[1] if len(lines) > 1 else "", n_nodes, n_switches + n_chips, source)
    book = CableBook(source, "read_ns3")
    chips, switches = ids[:n_chips], set(ids[n_chips:])
    per_server = numbers[1] if is_simai else 0
    for node in range(n_nodes):
        kind = "switch" if node in switches else "accelerator" if is_simai else "host"
        book.node(str(node), kind="switch" if node in chips else kind)
        if is_simai and per_server and kind == "accelerator" and node not in chips:
            book.node(str(node), host=f"server-{node // per_server}", local_index=str(min(node % per_server, 32767)))
    if not switches and not chips:
        book.hosts_forward = True
        book.assumptions.append("there is no switch: the nodes relay for each other")
    for number, line in enumerate(lines[2:], 3):
        if line.strip():
            _row(book, line, number, n_nodes, set(chips))
    if len(book.near) != n_links:
        said = f"the header says {n_links:,} links, there are {len(book.near):,} rows; mend one of them"
        raise FormatError(said, path=source or None, line=1)
    book.refuse_misread("an ns-3 topology")
    return book.to_fabric()


def _ids(line: str, n_nodes: int, wanted: int, source: str) -> list[int]:
    words = line.split()
    if not all(word.isdecimal() and len(word) < 10 and int(word) < n_nodes for word in words):
        said = f"the second line lists the ids of the switches, each below {n_nodes:,}; it reads {quoted(line)}"
        raise FormatError(said, path=source or None, line=2)
    if len(words) != wanted or len(set(words)) != wanted:
        said = f"the header says {wanted:,} switches, the second line lists {len(set(words)):,}"
        raise FormatError(said, path=source or None, line=2)
    return [int(word) for word in words]


def _row(book: CableBook, line: str, number: int, n_nodes: int, chips: set[int]) -> None:
    found = _ROW.match(line)
    odd = found is None
    found = found or _ODD_RATE.match(line)
    if found is None:
        raise FormatError(
            f"{quoted(line)} is no link: source, target, rate, latency, loss", path=book.source or None, line=number
        )
    a, b = int(found[1]), int(found[2])
    if max(a, b) >= n_nodes:
        said = f"node {max(a, b)} is beyond the {n_nodes:,} nodes of the header"
        raise FormatError(said, path=book.source or None, line=number)
    rate = Rate(status=UNKNOWN) if odd else Rate.of(_gbps(found[3].replace(" ", "")))
    kind = "scale_up" if a in chips or b in chips else ""
    book.cable(book.free_port(str(a)), book.free_port(str(b)), line=number, rate=rate, kind=kind)


def _gbps(rate: str) -> float:
    scale = {"K": 1e-6, "M": 1e-3, "G": 1.0, "T": 1e3}.get(rate[-4:-3].upper())
    return float(re.match(r"[\d.]+", rate)[0][:18]) * (scale if scale else 1e-9)  # type: ignore[index]
