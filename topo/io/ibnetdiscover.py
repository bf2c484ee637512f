"""Read InfiniBand subnets as ``ibnetdiscover`` prints them, its port list (``-p``), and ibsim net files."""

from __future__ import annotations

import re
from array import array
from dataclasses import dataclass, field

import numpy as np

from topo.errors import FormatError, ParameterError
from topo.fabric import Fabric
from topo.io.descriptions import MAX_NAME, clean
from topo.io.halves import MISSING, STATED, UNKNOWN
from topo.io.notes import NoteBook, quoted
from topo.units import infiniband_gbps

__all__ = ["MAX_PORT", "Dump", "is_ibnetdiscover", "read_ibnetdiscover"]

MAX_PORT = 255
"""InfiniBand counts ports in 8 bits; port 0 of a switch is its manager and takes no cable."""

_LONGEST_LINE = 65_536
_HEADER = re.compile(r'(Switch|Ca|Hca|Rt|Router|\?+)\s*(\d{1,18})\s*"([^"]*)"', re.IGNORECASE)
_CABLE = re.compile(
    r"\[(\d{1,18})\](?:\[ext \d+\])?\s*(?:\([0-9a-f]+\))?\s*"
    r'"([^"]*)"\s*\[(\d{1,18})\](?:\[ext \d+\])?\s*(?:\([0-9a-f]+\))?',
    re.IGNORECASE,
)
_REPORT = re.compile(
    r"(CA|SW|RT|\?+)\s+(\d+)\s+(\d{1,18})\s+0x([0-9a-f]{1,16})\s+(\S+)(?:\s+([^\s'-]\S*))?", re.IGNORECASE
)
_REPORT_FAR = re.compile(r"\s+-\s+(CA|SW|RT|\?+)\s+(\d+)\s+(\d{1,18})\s+0x([0-9a-f]{1,16})", re.IGNORECASE)
_GUID = re.compile(r"([SHR])-0*([0-9a-f]{1,16})\Z", re.IGNORECASE)
_ATTRIBUTE = re.compile(r"(vendid|devid|sysimgguid|switchguid|caguid|rtguid|\?+guid)=", re.IGNORECASE)
_CHASSIS = re.compile(r"Chassis\s+(\d{1,9})\b")
_PLAIN = re.compile(r"Non-Chassis\b|Hostname:")
_RECORD = re.compile(r'[A-Za-z?]+\s*\d*\s*"')
_TROUBLE = re.compile(
    r"ib(?:warn|panic|error)\b|timed out|\.c:\d+|\bmad_rpc|umad|[Ff]ailed\b|can't (?:open|resolve|find|get)",
    re.IGNORECASE,
)
_TERMINAL = re.compile(r"=~=~|\[?[\w.-]+(?:@[\w.-]+)?[\s:~/\w\[\]().-]{0,80}[#$>](?:\s|\Z)")
_RATE = re.compile(r"\d+x\S+\Z|\d+x?\?+\Z|\?+\S*\Z", re.IGNORECASE)
_LETTER = {"switch": "S", "ca": "H", "hca": "H", "rt": "R", "router": "R", "sw": "S"}


@dataclass(slots=True)
class Dump:
    """What the lines of a dump say, before it is made a fabric: nodes, and link ends from their own side."""

    notes: NoteBook
    index: dict[str, int] = field(default_factory=dict)
    ids: list[str] = field(default_factory=list)
    letter: list[str] = field(default_factory=list)
    n_ports: list[int] = field(default_factory=list)
    description: list[str] = field(default_factory=list)
    chassis: list[str] = field(default_factory=list)
    line: list[int] = field(default_factory=list)
    seen: list[bool] = field(default_factory=list)
    near: array[int] = field(default_factory=lambda: array("q"))
    far: array[int] = field(default_factory=lambda: array("q"))
    gbps: array[float] = field(default_factory=lambda: array("d"))
    status: array[int] = field(default_factory=lambda: array("b"))
    half_line: array[int] = field(default_factory=lambda: array("q"))
    free: array[int] = field(default_factory=lambda: array("q"))
    current: int = -1
    current_chassis: str = ""
    understood: int = 0
    odd: int = 0
    first_odd: tuple[int, str] = (0, "")
    is_port_list: bool = False
    rates: dict[str, float] = field(default_factory=dict)

    def node(self, letter: str, identity: str, line: int) -> int:
        """Row of the node of that identity; a new one if it is the first mention."""
        row = self.index.get(identity)
        if row is not None:
            return row
        guid = _GUID.match(identity)
        if guid:
            letter = guid[1].upper()
            key = f"{letter}-{int(guid[2], 16):016x}"
        else:
            key = " ".join(identity.split())
        row = self.index.get(key)
        if row is None:
            row = len(self.ids)
            self.ids.append(key)
            self.letter.append(letter)
            self.n_ports.append(0)
            self.description.append("")
            self.chassis.append("")
            self.line.append(line)
            self.seen.append(False)
            self.index[key] = row
        if len(self.index) < 4 * len(self.ids):  # other spellings of a GUID, as many as are worth keeping
            self.index[identity] = row
        return row

    def describe(self, row: int, text: str, line: int) -> None:
        """Keep the description of a node, cut to what is kept of a name."""
        name = clean(text)
        if len(text) > MAX_NAME:
            self.notes.add(f"name of more than {MAX_NAME} characters cut", quoted(name, 40), line)
        self.description[row] = name

    def add_half(self, near: int, far: int, gbps: float, status: int, line: int) -> None:
        """A link end: ``near`` and ``far`` are 256 * node + port."""
        self.near.append(near)
        self.far.append(far)
        self.gbps.append(gbps)
        self.status.append(status)
        self.half_line.append(line)

    def is_itself(self, near: int, far: int, text: str, line: int) -> bool:
        """Whether a port names itself as its far end, which is no link and noted."""
        if near == far:
            said = "port that names itself as its far end; not a link"
            self.notes.add(said, quoted(text), line, severity="warning")
        return near == far

    def sort_nodes(self) -> None:
        """Nodes with a record first, in the order of their records, then those that are only named."""
        order = np.lexsort((np.array(self.line), ~np.array(self.seen)))
        for column in (self.ids, self.letter, self.n_ports, self.description, self.chassis, self.line, self.seen):
            column[:] = [column[row] for row in order.tolist()]
        place = np.empty(len(order), np.int64)
        place[order] = np.arange(len(order))
        for name in ("near", "far", "free"):
            ports = np.asarray(getattr(self, name))
            setattr(self, name, array("q", (place[ports // 256] * 256 + ports % 256).tobytes()))
        self.index.clear()

    def misfit(self, kind: str, text: str, line: int) -> None:
        """A line that cannot be used: noted, and counted against the format."""
        self.notes.add(kind, quoted(text), line, severity="warning")
        self.odd += 1
        if not self.first_odd[0]:
            self.first_odd = (line, text)


def is_ibnetdiscover(head: str) -> bool:
    """Whether any line looks like a node record, a cabled port, or a row of the port list."""
    for raw in head.split("\n"):
        line = raw.strip()
        if line[:1] in "[SsCcHhRr?" and len(line) <= _LONGEST_LINE and (
            _CABLE.match(line) or _HEADER.match(line) or (_REPORT.match(line) and " 0x" in line)
        ):  # fmt: skip
            return True
    return False


def read_ibnetdiscover(text: str, source: str = "") -> Fabric:
    """The fabric in a dump of ``ibnetdiscover``, of ``ibnetdiscover -p``, or in an ibsim net file.

    A node is its GUID, compared as a number; its description is only a name. Each cable is reported from both
    ends and becomes one link; a cable that only one end reports has evidence ``one end``. Rates are nominal,
    lanes times :data:`topo.units.IB_LANE_GBPS`; nan where the line states none or an unknown one. Host adapters are
    endpoints of kind ``nic``; aggregation (SHARP) nodes are not. Tiers, rails, pods and planes are inferred from the
    wiring by :func:`topo.io.infer.infer_structure`. Every line that was not used has a note in ``origin.notes``.

    Cost: one pass over the lines, about 15 microseconds a link.

    >>> fabric = read_ibnetdiscover('''
    ... Switch 4 "S-1"  # "MF0;leaf-1:MQM8700/U1" enhanced port 0 lid 1 lmc 0
    ... [1] "H-0002"[1](2)  # "n1 mlx5_0" lid 2 4xHDR
    ... Ca 1 "H-2"  # "n1 mlx5_0"
    ... [1](2) "S-0001"[1]  # lid 2 lmc 0 "MF0;leaf-1:MQM8700/U1" lid 1 4xHDR
    ... ''')
    >>> fabric.nodes.name.tolist(), fabric.nodes.host[1], fabric.links.capacity_gbps.tolist()
    (['leaf-1', 'n1 mlx5_0'], 'n1', [200.0])

    :raises FormatError: no node in it, or more lines that do not fit than lines that do.
    """
    from topo.io.ibfabric import to_fabric

    dump = Dump(NoteBook(source))
    for number, raw in enumerate(text.split("\n"), 1):
        line = raw.strip()
        if line and line[0] != "#":
            _read_line(dump, line, number)
    if dump.odd > dump.understood or not dump.ids:
        raise _refusal(dump, source)
    dump.sort_nodes()
    return to_fabric(dump, source)


def _refusal(dump: Dump, source: str) -> FormatError:
    line, text = dump.first_odd
    if not dump.odd:
        return FormatError("no node and no link in it; the discovery found nothing, or the file was cut", path=source)
    return FormatError(
        f"{dump.odd:,} of {dump.odd + dump.understood:,} lines do not fit ibnetdiscover output, the first "
        f"reads {quoted(text)}; give the unchanged output of ibnetdiscover, or name another format",
        path=source,
        line=line,
    )


def _read_line(dump: Dump, line: str, number: int) -> None:
    if len(line) > _LONGEST_LINE:
        dump.misfit(f"line of more than {_LONGEST_LINE:,} characters skipped", line[:80], number)
        return
    if line[0] == "[":
        cable = _CABLE.match(line)
        if cable is not None:
            _read_cable(dump, cable, line, number)
            return
    elif _ATTRIBUTE.match(line):
        dump.current = -1  # a new record begins; its ports must not fall to the node before
        dump.understood += 1
        return
    else:
        header = _HEADER.match(line)
        if header is not None:
            _read_header(dump, header, line, number)
            return
        report = _REPORT.match(line)
        if report is not None:
            _read_report(dump, report, line, number)
            return
    _read_other(dump, line, number)


def _read_other(dump: Dump, line: str, number: int) -> None:
    chassis = _CHASSIS.match(line)
    if chassis is not None:
        dump.current_chassis = f"chassis-{chassis[1]}"
    elif _PLAIN.match(line):
        dump.current_chassis = "" if line.startswith("Non") else dump.current_chassis
    elif _TROUBLE.search(line[:1000]):
        dump.notes.add("the discovery reported trouble", quoted(line), number, severity="warning")
    elif _TERMINAL.match(line[:200]):
        dump.notes.add("text of a terminal session skipped", quoted(line), number)
    else:
        if _RECORD.match(line[:200]):
            dump.current = -1
        dump.misfit("line not understood", line, number)


def _read_header(dump: Dump, header: re.Match[str], line: str, number: int) -> None:
    letter = _LETTER.get(header[1].lower(), "?")
    ports = int(header[2])
    row = dump.node(letter, header[3], number)
    dump.understood += 1
    dump.current = row
    if dump.seen[row]:
        dump.notes.add("node listed again; its ports are added to the first record", quoted(line), number)
        return
    if ports > MAX_PORT:
        dump.notes.add(f"port count above {MAX_PORT} ignored", quoted(line), number, severity="warning")
        ports = 0
    dump.seen[row] = True
    dump.letter[row] = letter if letter != "?" else dump.letter[row]
    dump.n_ports[row] = ports
    dump.chassis[row] = dump.current_chassis
    dump.line[row] = number
    dump.describe(row, _between_quotes(line[header.end() :]), number)


def _between_quotes(text: str) -> str:
    first, last = text.find('"'), text.rfind('"')
    return text[first + 1 : last] if 0 <= first < last else ""


def _read_cable(dump: Dump, cable: re.Match[str], line: str, number: int) -> None:
    if dump.current < 0:
        dump.misfit("port without a node record before it", line, number)
        return
    near_port, far_port = int(cable[1]), int(cable[3])
    if not (0 < near_port <= MAX_PORT and 0 < far_port <= MAX_PORT):
        dump.misfit(f"port number outside 1..{MAX_PORT}", line, number)
        return
    dump.understood += 1
    tail = line[cable.end() :]
    known = len(dump.ids)
    far = dump.node("?", cable[2], number)
    if far == known:
        dump.describe(far, _between_quotes(tail), number)
    near = dump.current * 256 + near_port
    if dump.is_itself(near, far * 256 + far_port, line, number):
        return
    rate = dump.rates.get(tail[tail.rfind(" ") + 1 :])
    if rate is not None:
        dump.add_half(near, far * 256 + far_port, rate, STATED, number)
    else:
        gbps, status = _rate(dump, tail)
        dump.add_half(near, far * 256 + far_port, gbps, status, number)


def _rate(dump: Dump, tail: str) -> tuple[float, int]:
    """The rate that follows the last quote, ``lid 7 4xHDR``; known ones are remembered by their token."""
    words = tail[tail.rfind('"') + 1 :].split()
    token = next((word for word in words if _RATE.match(word)), "")
    if not token:
        return float("nan"), MISSING
    try:
        rate = infiniband_gbps(token)
    except ParameterError:
        return float("nan"), UNKNOWN
    dump.rates[token] = rate
    return rate, STATED


def _read_report(dump: Dump, report: re.Match[str], line: str, number: int) -> None:
    """A row of the port list: type, lid, port, GUID, width, speed, and the far end if there is one."""
    far = _REPORT_FAR.match(line, report.end())
    port = int(report[3])
    if not 0 < port <= MAX_PORT or (far is not None and not 0 < int(far[3]) <= MAX_PORT):
        dump.misfit(f"port number outside 1..{MAX_PORT}", line, number)
        return
    dump.understood += 1
    dump.is_port_list = True
    row = _reported(dump, report[1], report[4], number)
    if not dump.seen[row]:
        dump.seen[row], dump.line[row] = True, number
    rest = line[(far or report).end() :].strip()
    if far is None:
        dump.free.append(row * 256 + port)
        if not dump.description[row]:
            dump.describe(row, rest.strip("'"), number)
        return
    names = rest.removeprefix("(").removesuffix(")").strip().partition("' - '")
    other = _reported(dump, far[1], far[4], number)
    for node, name in ((row, names[0].removeprefix("'")), (other, names[2].removesuffix("'"))):
        if not dump.description[node]:
            dump.describe(node, name, number)
    near, end = row * 256 + port, other * 256 + int(far[3])
    if dump.is_itself(near, end, line, number):
        return
    gbps, status = _rate(dump, f"{report[5]}{report[6] or ''}")
    dump.add_half(near, end, gbps, status, number)


def _reported(dump: Dump, kind: str, guid: str, number: int) -> int:
    letter = _LETTER.get(kind.lower(), "H")
    return dump.node(letter, f"{letter}-{guid}", number)
