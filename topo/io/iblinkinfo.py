"""Read the links that ``iblinkinfo`` prints of an InfiniBand subnet, node by node or one a line (``-l``)."""

from __future__ import annotations

import re
from dataclasses import dataclass

from topo.errors import FormatError
from topo.fabric import Fabric
from topo.io.halves import MISSING, STATED, UNKNOWN
from topo.io.ibnetdiscover import MAX_PORT, Dump
from topo.io.notes import NoteBook, quoted
from topo.units import lane_gbps

__all__ = ["SWITCH_NAME", "finish_dump", "is_iblinkinfo", "read_iblinkinfo"]

_HEAD = re.compile(r"(?P<kind>Switch|CA|RT|Router)\s*:?\s+(?:0x(?P<guid>[0-9a-f]{1,16})\s+)?(?P<name>.*?):?\s*\Z", re.I)
_NEAR = re.compile(
    r'(?:0x(?P<guid>[0-9a-f]{1,16})\s+)?(?:"(?P<name>[^"]*)"\s+)?(?P<lid>\d{1,6})\s+(?P<port>\d{1,6})\s*\[[^\]]*\]\s*==\(\s*'
    r"(?P<state>[^)]*(?:\([^)]*\)[^)]*)?)\)\s*==>",
    re.IGNORECASE,
)
_FAR = re.compile(
    r'\s*(?:0x(?P<guid>[0-9a-f]{1,16})\s+)?(?P<lid>\d{1,6})\s+(?P<port>\d{1,6})\s*\[[^\]]*\]\s*"(?P<name>[^"]*)"\s*(?P<rest>.*)',
    re.IGNORECASE,
)
_RATE = re.compile(r"(?P<width>\d{1,2})X\s+(?P<lane>\d{1,5}(?:\.\d{1,6})?)\s*Gbps(?:\s*\((?P<word>\w+)\))?", re.I)
_LETTER = {"switch": "S", "ca": "H", "rt": "R", "router": "R"}
SWITCH_NAME = re.compile(r"MF0;|Switch(?:X|IB)|Quantum|Infiniscale", re.IGNORECASE)
"""Descriptions that only switches bear."""

_LONGEST_LINE = 4096


@dataclass(frozen=True, slots=True)
class _End:
    """A port as a line names it."""

    guid: str
    lid: int
    port: int
    name: str

    def key(self) -> str:
        if 0 < self.lid < 0xC000:
            return f"lid {self.lid}"
        return f"guid {int(self.guid, 16):x}" if self.guid else f"name {' '.join(self.name.split())}"


@dataclass(slots=True)
class _Nodes:
    """Nodes of the dump by local identifier: the same on either side of a link."""

    dump: Dump
    letter: str = ""
    guid: str = ""
    name: str = ""

    def near(self, end: _End, number: int) -> int:
        row = self._row(end, number, self.letter)
        if self.letter:
            self.dump.letter[row] = self.letter
        if not self.dump.seen[row]:
            self.dump.seen[row], self.dump.line[row] = True, number
        return row

    def far(self, end: _End, number: int) -> int:
        return self._row(end, number, "")

    def _row(self, end: _End, number: int, letter: str) -> int:
        row = self.dump.node(letter or "?", end.key(), number)
        if end.name.strip() and not self.dump.description[row]:
            self.dump.describe(row, end.name.strip(), number)
        if self.dump.letter[row] == "?" and end.name:
            self.dump.letter[row] = "S" if SWITCH_NAME.match(end.name.strip()) else "?"
        return row


def is_iblinkinfo(head: str) -> bool:
    """Whether a line with the arrow of a link stands in it."""
    return any("==(" in line and _NEAR.search(line[:_LONGEST_LINE].lstrip()) for line in head.split("\n"))


def read_iblinkinfo(text: str, source: str = "") -> Fabric:
    """The fabric in the output of ``iblinkinfo``: links with width and lane rate, and ports that are down.

    A node is its LID, which either end of a link states; a node whose kind no header tells is a switch where it shows
    several ports, else an adapter. ``4X 25.78125 Gbps`` is the signal of a lane: nominal 4 x 25. ``Could be`` tells a
    link below what both ends can do; it is noted, and its rate is the one that it has.

    >>> fabric = read_iblinkinfo('''
    ... Switch: 0x00000000000000a1 MF0;leaf-1:MSB7700/U1:
    ...     1  1[  ] ==( 4X 25.78125 Gbps Active/  LinkUp)==>  2  1[  ] "n1 mlx5_0" ( )
    ...     1  2[  ] ==( Down/ Polling)==>  [  ] "" ( )
    ... CA: n1 mlx5_0:
    ...   0x00000000000000b1  2  1[  ] ==( 4X 25.78125 Gbps Active/  LinkUp)==>  1  1[  ] "MF0;leaf-1:MSB7700/U1" ( )
    ... ''')
    >>> fabric.nodes.name.tolist(), fabric.links.capacity_gbps.tolist(), fabric.links.evidence[0]
    (['leaf-1', 'n1 mlx5_0'], [100.0], 'both ends')

    :raises FormatError: no node in it, or more lines that do not fit than lines that do.
    """
    dump = Dump(NoteBook(source))
    nodes = _Nodes(dump)
    for number, raw in enumerate(text.split("\n"), 1):
        line = raw.strip()
        if not line or line[0] == "#":
            continue
        if len(line) > _LONGEST_LINE:
            dump.misfit(f"line of more than {_LONGEST_LINE:,} characters skipped", line[:80], number)
        elif "==(" in line:
            _read_link(nodes, line, number)
        else:
            _read_header(nodes, line, number)
    _settle(dump)
    return finish_dump(dump, source, "iblinkinfo", "a node is its LID; names are its description")


def finish_dump(dump: Dump, source: str, what: str, identity: str = "") -> Fabric:
    """The fabric of a dump that was read; refused where most lines did not fit.

    :raises FormatError: with the first line that did not fit.
    """
    from dataclasses import replace

    from topo.io.ibfabric import to_fabric

    if dump.odd > dump.understood or not dump.ids:
        line, text = dump.first_odd
        if not dump.odd:
            raise FormatError(f"no node and no link in it; is this the output of {what}?", path=source or None)
        raise FormatError(
            f"{dump.odd:,} of {dump.odd + dump.understood:,} lines do not fit {what}, the first reads {quoted(text)}",
            path=source or None,
            line=line,
        )
    dump.sort_nodes()
    fabric = to_fabric(dump, source)
    kept = [said for said in fabric.origin.assumptions if not (identity and said.startswith("a node is its GUID"))]
    said = tuple([*kept, identity] if identity else kept)
    return replace(fabric, origin=replace(fabric.origin, made_by=f"read_{what.split()[-1]}", assumptions=said))


def _read_header(nodes: _Nodes, line: str, number: int) -> None:
    head = _HEAD.match(line)
    if head is None:
        if re.search(r"ib(?:warn|panic|error)\b|timed out|[Ff]ailed\b", line):
            nodes.dump.notes.add("the discovery reported trouble", quoted(line), number, severity="warning")
            return
        nodes.dump.misfit("line not understood", line, number)
        return
    nodes.dump.understood += 1
    nodes.letter, nodes.guid, nodes.name = _LETTER[head["kind"].lower()], head["guid"] or "", head["name"]


def _read_link(nodes: _Nodes, line: str, number: int) -> None:
    dump, near = nodes.dump, _NEAR.match(line)
    if near is None or int(near["port"]) > MAX_PORT:
        dump.misfit("line not understood", line, number)
        return
    if near["name"] is not None:
        nodes.letter = ""
    name = near["name"] if near["name"] is not None else nodes.name
    end = _End(near["guid"] or nodes.guid, int(near["lid"]), int(near["port"]), name)
    dump.understood += 1
    if end.port == 0:  # the manager of a switch
        return
    row = nodes.near(end, number)
    far = _FAR.match(line, near.end())
    if far is None or not 0 < int(far["port"]) <= MAX_PORT:
        dump.free.append(row * 256 + end.port)
        return
    other = _End(far["guid"] or "", int(far["lid"]), int(far["port"]), far["name"])
    a, b = row * 256 + end.port, nodes.far(other, number) * 256 + other.port
    if dump.is_itself(a, b, line, number):
        return
    if "Could be" in far["rest"]:
        said = f"{name.strip()} port {end.port}: {' '.join(far['rest'].strip('() ').split())}"
        dump.notes.add("link below what both ends can do", said, number, severity="warning")
    dump.add_half(a, b, *_rate(near["state"]), number)


def _rate(state: str) -> tuple[float, int]:
    found = _RATE.search(state)
    if found is None:
        return float("nan"), UNKNOWN if "bps" in state.lower() else MISSING
    lane = lane_gbps(float(found["lane"]))
    if lane is None or int(found["width"]) not in (1, 2, 4, 8, 12):
        return float("nan"), UNKNOWN
    return int(found["width"]) * lane, STATED


def _settle(dump: Dump) -> None:
    """The kind of nodes that no header told: a switch shows several ports, an adapter one port for each LID."""
    ports: dict[int, set[int]] = {}
    for column in (dump.near, dump.far, dump.free):
        for key in column:
            ports.setdefault(key // 256, set()).add(key % 256)
    for row, letter in enumerate(dump.letter):
        if letter == "?":
            dump.letter[row] = "S" if len(ports.get(row, ())) > 1 else "H"
