"""Cables as a wiring file lists them, gathered by name and then made a fabric: one mechanism for many formats."""

from __future__ import annotations

import fnmatch
import re
from array import array
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from topo.errors import FormatError, ParameterError
from topo.fabric import Fabric
from topo.io.descriptions import MAX_NAME, clean
from topo.io.halves import MISSING, STATED, UNKNOWN
from topo.io.node_kinds import kind_of_name, kind_of_role
from topo.io.notes import NoteBook, quoted
from topo.io.port_names import side_of_port
from topo.network import LINK_KINDS
from topo.units import lane_gbps, parse_gbps

__all__ = ["NODE_COLUMNS", "CableBook", "Rate"]

_LANES = re.compile(
    r"\s*(?:(?P<width>1|2|4|8|12)\s*x\s+(?P<lane>\d{1,3}(?:\.\d{1,5})?)\s*gbps"
    r"|(?P<word>hdr|ndr|xdr)(?P<port>100|200|400|800))\s*\Z",
    re.IGNORECASE,
)
"""Lanes times the signal of a lane, and names of a generation with the rate of the port."""

_LENGTH = re.compile(r"\d{1,6}(?:\.\d{1,15})?\Z")
_KINDS = frozenset({
    "switch", "host", "router", "storage_switch", "nic", "accelerator", "manager", "unknown",
    "scale_up_switch", "pcie_switch", "cpu", "aggregation", "memory", "optical_switch",
})  # fmt: skip

NODE_COLUMNS = (
    "uid", "host", "domain", "rail", "plane", "pod", "rack", "rack_unit", "chassis", "part", "coordinates",
    "local_index",
)  # fmt: skip
"""Columns of nodes that a graph's attributes of the same name state."""


_NUMBERS = ("tier", "is_endpoint", "forwards")
"""Columns of nodes that attributes state beside those of text."""


@dataclass(frozen=True, slots=True)
class Rate:
    """A rate as a file states it: Gb/s of one direction, and whether it was stated, missing, or of an unknown kind."""

    gbps: float = float("nan")
    status: int = MISSING
    text: str = ""
    """As it stands in the file, where it is of an unknown kind."""

    @classmethod
    def of(cls, text: str | float | None, *, default_unit: str = "") -> Rate:
        """The rate of a cell; ``default_unit`` is that of a bare number.

        ``4X 25.78125 Gbps`` is lanes times the signal of a lane, nominal 100; ``NDR200`` the rate of the port.

        >>> Rate.of("400G").gbps, Rate.of("40000", default_unit="M").gbps, Rate.of("").status == MISSING
        (400.0, 40.0, True)
        """
        if text is None or isinstance(text, bool) or (isinstance(text, str) and not text.strip()):
            return cls()
        try:
            if isinstance(text, str) and default_unit and text.strip().replace(".", "", 1).isdecimal():
                text = f"{text.strip()}{default_unit}"
            elif not isinstance(text, str) and default_unit:
                text = f"{float(text):.12g}{default_unit}" if float(text) < 1e15 else str(text)
            gbps = _lanes_gbps(text) if isinstance(text, str) and _LANES.match(text) else parse_gbps(text)
        except (ParameterError, OverflowError):
            return cls(status=UNKNOWN, text=str(text))
        return cls(gbps, STATED) if gbps > 0 else cls(status=UNKNOWN, text=str(text))


@dataclass(slots=True)
class CableBook:
    """What a wiring file says, cable by cable: nodes by name, ports by node and label, cables between ports.

    ``evidence`` is ``planned`` for a plan, ``found`` for what was discovered: then a cable that one end alone
    reports has evidence ``one end``. ``hosts_forward`` is for direct networks, whose endpoints relay. A pair of ports
    that comes again, in either direction, is the same cable.

    >>> book = CableBook("plan.csv", "read_schedule")
    >>> book.cable(book.port("leaf-1", "1"), book.port("host-1", "1"), line=2, rate=Rate.of("400G"))
    >>> book.cable(book.port("host-1", "1"), book.port("leaf-1", "1"), line=3)
    >>> fabric = book.to_fabric()
    >>> fabric.nodes.name.tolist(), fabric.nodes.kind.values().tolist(), fabric.links.capacity_gbps.tolist()
    (['leaf-1', 'host-1'], ['switch', 'host'], [400.0])
    """

    source: str
    made_by: str
    evidence: str = "planned"
    hosts: Sequence[str] = ()
    notes: NoteBook = field(init=False)
    index: dict[str, int] = field(default_factory=dict)
    names: list[str] = field(default_factory=list)
    kind: list[str] = field(default_factory=list)
    node_line: list[int] = field(default_factory=list)
    labels: dict[str, dict[int, str]] = field(default_factory=dict)
    port_index: dict[tuple[int, str], int] = field(default_factory=dict)
    port_node: array[int] = field(default_factory=lambda: array("q"))
    port_label: list[str] = field(default_factory=list)
    port_gbps: dict[int, float] = field(default_factory=dict)
    near: array[int] = field(default_factory=lambda: array("q"))
    far: array[int] = field(default_factory=lambda: array("q"))
    gbps: array[float] = field(default_factory=lambda: array("d"))
    status: array[int] = field(default_factory=lambda: array("b"))
    line: array[int] = field(default_factory=lambda: array("q"))
    length_m: array[float] = field(default_factory=lambda: array("d"))
    cable_of: array[int] = field(default_factory=lambda: array("q"))
    cable_index: dict[str, int] = field(default_factory=dict)
    link_kind: dict[int, str] = field(default_factory=dict)
    assumptions: list[str] = field(default_factory=list)
    n_free: dict[int, int] = field(default_factory=dict)
    unlike: set[tuple[int, str, str]] = field(default_factory=set)
    also: dict[int, str] = field(default_factory=dict)
    file: dict[int, str] = field(default_factory=dict)
    tier: dict[int, int] = field(default_factory=dict)
    endpoint: dict[int, bool] = field(default_factory=dict)
    forwards: dict[int, int] = field(default_factory=dict)
    hosts_forward: bool = False
    kinds_by: dict[str, int] = field(default_factory=dict)
    understood: int = 0
    odd: int = 0
    first_odd: tuple[str, int, str] = ("", 0, "")

    def __post_init__(self) -> None:
        self.notes = NoteBook(self.source)

    def node(self, name: str, line: int = 0, **labels: str) -> int:
        """Row of the node of that name, a new one if it is the first mention.

        ``labels`` are columns of the node table (``kind``, ``rack``, ``part``, ...); the first one stated holds, and
        another one later is noted.
        """
        row = self.index.get(name)
        if row is None:
            kept = clean(name)
            if len(name) > MAX_NAME:
                self.notes.add(f"name of more than {MAX_NAME} characters cut", quoted(name, 40), line)
            row = self.index.setdefault(kept, len(self.names))
            if row == len(self.names):
                self.names.append(kept)
                self.kind.append("")
                self.node_line.append(line)
            if len(self.index) < 4 * len(self.names):
                self.index[name] = row
        for column, value in labels.items():
            if value:
                self._label(row, column, value, line)
        return row

    def _label(self, row: int, column: str, value: str, line: int) -> None:
        if column == "kind":
            self.kind[row] = self.kind[row] or value
            return
        value = clean(value)
        held = self.labels.setdefault(column, {}).setdefault(row, value)
        if held != value and (row, column, value) not in self.unlike:
            self.unlike.add((row, column, value))
            self.notes.add(
                f"{column.replace('_', ' ')} of a node stated differently, the first holds",
                f"{self.names[row]}: {quoted(held)} and {quoted(value)}",
                line,
                severity="warning",
            )

    def attributes(self, row: int, said: Mapping[str, str], line: int = 0) -> None:
        """What the attributes of a graph's node state of it, by the names of our own columns."""
        for column in (*NODE_COLUMNS, *_NUMBERS):
            text = said.get(column)
            if not text:
                continue
            if column in _FITS and not _FITS[column](text):
                where = f"{self.names[row]}: {quoted(text, 40)}"
                self.notes.add(f"{column} of a node not understood, left out", where, line, severity="warning")
            elif column not in _NUMBERS:
                self._label(row, column, text, line)
            elif column == "tier":
                self.tier[row] = int(text)
            elif column == "forwards":
                self.forwards[row] = int(text)
            else:
                self.endpoint[row] = text.lower() in ("1", "true")

    def edge_attributes(self, said: Mapping[str, str], line: int = 0) -> dict[str, Any]:
        """What the attributes of a graph's edge state of its cable, as arguments of :meth:`cable`."""
        kind, length = said.get("kind", ""), said.get("length_m", "")
        if kind and kind not in LINK_KINDS:
            known = f"{quoted(kind, 40)}; known: {', '.join(LINK_KINDS)}"
            self.notes.add("kind of an edge not known, taken by its ends", known, line)
            kind = ""
        if length and not _LENGTH.match(length):
            where = f"{quoted(length, 40)}; metres are wanted, a number alone"
            self.notes.add("length_m of an edge not understood", where, line, severity="warning")
            length = ""
        return {"kind": kind, "length_m": float(length or "nan"), "cable": said.get("cable", "")}

    def port(self, node: str | int, label: str, line: int = 0, *, gbps: float = float("nan")) -> int:
        """Row of the port of that label at a node; both are new where they are first mentioned."""
        row = node if isinstance(node, int) else self.node(node, line)
        key = row, label
        port = self.port_index.get(key)
        if port is None:
            port = self.port_index[key] = len(self.port_label)
            self.port_node.append(row)
            self.port_label.append(clean(label))
        if gbps == gbps:
            self.port_gbps[port] = gbps
        return port

    def also_called(self, port: int, *words: str) -> None:
        """Other words that the file has for a port: its MAC address, its description."""
        held = [*self.also.get(port, "").split("; "), self.port_label[port]]
        new = [word for each in words if (word := clean(each).replace(";", ",")) and word not in held]
        if new:
            self.also[port] = "; ".join(dict.fromkeys([*filter(None, held[:-1]), *new]))

    def free_port(self, node: str | int) -> int:
        """A new port of a node in a file that names no ports, labelled by its number."""
        row = node if isinstance(node, int) else self.node(node)
        self.n_free[row] = count = self.n_free.get(row, 0) + 1
        return self.port(row, str(count))

    def cable(
        self,
        port_a: int,
        port_b: int,
        *,
        line: int = 0,
        rate: Rate | None = None,
        length_m: float = float("nan"),
        cable: str = "",
        kind: str = "",
        file: str = "",
    ) -> None:
        """A cable between two ports; rows with the same text ``cable`` are legs of one breakout.

        ``file`` is where the line stands, of several files.
        """
        self.understood += 1
        rate = rate or Rate()
        if port_a == port_b:
            where = f"{self.names[self.port_node[port_a]]} port {self.port_label[port_a]}"
            self.notes.add("a port joined to itself, left out", where, line, severity="warning")
            return
        if rate.status == UNKNOWN:
            stated = f" ({quoted(rate.text)})" if rate.text else ""
            self.notes.add(
                "rate of an unknown kind", self.cable_text(port_a, port_b) + stated, line, severity="warning"
            )
        if kind:
            self.link_kind[len(self.near)] = kind
        if file not in ("", self.source):
            self.file[len(self.near)] = file
        self.near.append(port_a)
        self.far.append(port_b)
        self.gbps.append(rate.gbps)
        self.status.append(rate.status)
        self.line.append(min(line, 2**31 - 1))
        self.length_m.append(length_m)
        self.cable_of.append(self.cable_index.setdefault(cable, len(self.cable_index)) if cable else -1)

    def source_of(self, row: int) -> str:
        """Where the line of a cable stands: the file, one of several, or a sheet of it."""
        return self.file.get(row, self.source)

    def cable_text(self, port_a: int, port_b: int) -> str:
        """A cable as people name it."""
        return " - ".join(f"{self.names[self.port_node[p]]} port {self.port_label[p]}" for p in (port_a, port_b))

    def misfit(self, kind: str, text: str, line: int) -> None:
        """A line that cannot be used: noted, and counted against the format."""
        self.notes.add(kind, quoted(text), line, severity="warning")
        self.odd += 1
        if not self.first_odd[1]:
            self.first_odd = (self.notes.source, line, f"{kind}: {quoted(text)}")

    def refuse_misread(self, what: str) -> None:
        """Refuse a file of which less than half was understood.

        :raises FormatError: with the first line that did not fit.
        """
        if self.odd > self.understood or not self.names:
            source, line, text = self.first_odd
            said = f"{self.odd:,} of {self.odd + self.understood:,} entries do not fit {what}"
            if not self.odd:
                raise FormatError(f"no node and no link in it; is this {what}?", path=self.source or None)
            raise FormatError(f"{said}, the first: {text}", path=source or None, line=line or None)

    def settle_kinds(self) -> None:
        """Decide what each node is: by the caller's word, the file's, its name, then the spelling of its ports.

        What none of these tells is a switch; ``kinds_by`` counts how each was decided.
        """
        wanted = [re.compile(fnmatch.translate(pattern)).match for pattern in self.hosts]
        unsettled = []
        for row, (name, said) in enumerate(zip(self.names, self.kind, strict=True)):
            if any(match(name) for match in wanted):
                self._settle(row, "host", "caller")
            elif said in _KINDS:
                self._settle(row, said, "file")
            elif said and kind_of_role(said):
                self._settle(row, kind_of_role(said), "file")
            elif kind_of_name(name):
                self._settle(row, kind_of_name(name), "name")
            else:
                unsettled.append(row)
        votes = self._votes(unsettled)
        for row in unsettled:
            at_host, at_switch = votes.get(row, (0, 0))
            by = "port" if at_host or at_switch else "default"
            self._settle(row, "host" if at_host > at_switch else "switch", by)

    def _settle(self, row: int, kind: str, by: str) -> None:
        self.kind[row] = kind
        self.kinds_by[by] = self.kinds_by.get(by, 0) + 1

    def _votes(self, rows: list[int]) -> dict[int, tuple[int, int]]:
        """Ports of each of the rows that are spelled as a host's, and as a switch's."""
        wanted, votes = set(rows), dict[int, tuple[int, int]]()
        sides: dict[str, str] = {}
        for node, label in zip(self.port_node, self.port_label, strict=True):
            if node not in wanted:
                continue
            side = sides.get(label)
            if side is None:
                side = sides[label] = side_of_port(label)
            if side:
                at_host, at_switch = votes.get(node, (0, 0))
                votes[node] = (at_host + 1, at_switch) if side == "host" else (at_host, at_switch + 1)
        return votes

    def to_fabric(self, name: str = "", *, infer: bool = True) -> Fabric:
        """The fabric of the book; with ``infer`` its tiers, rails, pods and planes follow from the wiring."""
        from topo.io.cable_tables import fabric_of_book

        self.settle_kinds()
        return fabric_of_book(self, name, infer=infer)


def _lanes_gbps(text: str) -> float:
    found = _LANES.match(text)
    if found is None or found["port"]:
        return float(found["port"]) if found else float("nan")
    lane = float(found["lane"])
    return int(found["width"]) * (lane_gbps(lane) or lane)


def _is_number(text: str, below: int) -> bool:
    return text.removeprefix("-").isdecimal() and len(text) < 7 and -1 <= int(text) < below


_FITS: dict[str, Callable[[str], bool]] = {
    "local_index": lambda text: _is_number(text, 2**15),
    "coordinates": lambda text: re.fullmatch(r"[0-9]{1,9}(?:,[0-9]{1,9}){0,31}", text) is not None,
    "tier": lambda text: _is_number(text, 128),
    "is_endpoint": lambda text: text.lower() in ("0", "1", "false", "true"),
    "forwards": lambda text: text in ("0", "1", "2"),
}
"""Whether an attribute's text is one that its column can hold; a column of plain text holds any."""
