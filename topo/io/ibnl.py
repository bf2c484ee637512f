"""Read topology files of the InfiniBand management tools (IBDM): ``TYPE name`` and its ports ``Pn -> TYPE name Pm``."""

from __future__ import annotations

import re
from collections.abc import Sequence

from topo.fabric import Fabric
from topo.io.cables import CableBook, Rate
from topo.io.halves import UNKNOWN

__all__ = ["is_ibnl", "read_ibnl"]

_NODE = re.compile(r"(?P<type>[A-Za-z][\w.-]*)\s+(?P<name>[\w.:/-]+)(?:\s+CFG:.*)?\s*\Z")
_PORT = re.compile(
    r"(?P<port>[\w/.-]+)(?:\s+-(?P<width>\d+x)-?(?P<speed>[\w.]+G?)?)?\s*(?:-(?:\d+[xX])?(?:-[\w.]+)?-?>|->)\s*"
    r"(?P<type>[A-Za-z][\w.-]*)\s+(?P<far>[\w.:/-]+)\s+(?P<far_port>[\w/.-]+)\s*\Z"
)
_RATE = re.compile(r"-(\d+)[xX]-(\d+(?:\.\d+)?)G?-?>")
_ADAPTER = re.compile(r"MT(?:2\d{4}|4\d{3})|\bCA\b|HCA|ConnectX", re.IGNORECASE)


def is_ibnl(head: str) -> bool:
    """Whether a port line with its arrow stands in it, beneath a node."""
    lines = [line for line in head.split("\n")[:400] if line.strip() and not line.lstrip().startswith("#")]
    return any(_PORT.match(line.strip()) and line[:1].isspace() for line in lines) and bool(
        _NODE.match(lines[0].strip())
    )


def read_ibnl(text: str, source: str = "", *, hosts: Sequence[str] = ()) -> Fabric:
    """The planned fabric of an IBDM topology file; ``-4x-5G->`` is lanes times the rate of a lane, else it is open.

    Node types of adapters (``MT25408``, ``HCA``) are hosts, all others switches. Cables may be listed from either end
    or both.

    >>> fabric = read_ibnl('''SX6036 sw1
    ...     P1 -4x-14G-> SX6036 sw2 P1
    ...     P2 -> MT25408 H-1 P1
    ... ''')
    >>> fabric.nodes.name.tolist(), fabric.links.capacity_gbps.tolist()
    (['sw1', 'sw2', 'H-1'], [56.0, nan])

    :raises FormatError: mostly lines that do not fit.
    """
    book = CableBook(source, "read_ibnl", hosts=hosts)
    current = -1
    for number, raw in enumerate(text.split("\n"), 1):
        line = raw.split("#", 1)[0].strip()
        if not line:
            continue
        port, node = _PORT.match(line), _NODE.match(line)
        if port and current >= 0:
            far = _node(book, port["type"], port["far"], number)
            rate = _RATE.search(line)
            stated = Rate.of(float(rate[1][:4]) * float(rate[2][:8])) if rate else Rate()
            if not rate and re.search(r"-\d", line.split("->")[0]):
                stated = Rate(status=UNKNOWN)
            book.cable(book.port(current, port["port"]), book.port(far, port["far_port"]), line=number, rate=stated)
        elif node:
            current = _node(book, node["type"], node["name"], number)
        else:
            book.misfit("line not understood", line, number)
    book.refuse_misread("an IBDM topology file")
    return book.to_fabric()


def _node(book: CableBook, part: str, name: str, line: int) -> int:
    return book.node(name, line, kind="host" if _ADAPTER.search(part) else "switch", part=part)
