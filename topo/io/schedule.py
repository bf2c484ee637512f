"""Read point-to-point cable schedules: CSV, TSV, XLSX and UFM's NDT, one cable a row, both directions or one."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from topo.errors import FormatError, InputError, sheet_of
from topo.fabric import Fabric
from topo.io.cables import CableBook, Rate
from topo.io.halves import MISSING
from topo.io.notes import quoted
from topo.io.port_names import expand_ports
from topo.io.schedule_columns import (
    NEEDED,
    Header,
    header_of,
    is_rack_unit,
    n_known,
    rack_unit,
    stated_header,
    unknown_header,
)
from topo.io.workbook import PAGE

__all__ = ["is_schedule", "is_table", "read_schedule"]

_DELIMITERS = ",\t;|"
_HEADER_ROWS = 50
_MOST_RATES = 10_000
_LONGEST_CELL = 65_536
_LENGTH = re.compile(r"(\d+(?:\.\d+)?)\s*(m|meters?|metres?|ft|feet|'|cm|mm)?\Z", re.IGNORECASE)
_METRES = {"ft": 0.3048, "feet": 0.3048, "'": 0.3048, "cm": 0.01, "mm": 0.001}
_MBPS = frozenset({1000, 2500, 5000, 10000, 20000, 25000, 40000, 50000, 56000, 100000, 200000, 400000, 800000, 1600000})
_RATE_IN_TEXT = re.compile(r"\b(\d+(?:\.\d+)?\s?[GT](?:b(?:ps|/s|it/s)?|bE)?)\b(?!B)", re.IGNORECASE)

Row = tuple[int, Sequence[str]]


def is_schedule(head: str) -> bool:
    """Whether one of the first lines is a header with a node and a port for either end."""
    return any(_found_header(rows) for _, rows in _pages(head, _HEADER_ROWS))


def is_table(head: str) -> bool:
    """Whether the text is a table at all, so that its columns can be asked for: rows are equal, or a header begins."""
    if head.startswith(PAGE):
        return True
    lines = [line for line in head.split("\n")[:20] if line.strip()]
    if not lines or lines[0].lstrip()[:1] in "{[<(":
        return False
    if any(n_known(lines[0].split(delimiter)) > 1 for delimiter in _DELIMITERS if delimiter in lines[0]):
        return True
    if len(lines) < 2:
        return False
    for delimiter in _DELIMITERS:
        counts = [line.count(delimiter) for line in lines]
        if counts[0] >= 3 and sum(count == counts[0] for count in counts[:-1]) >= 0.8 * (len(counts) - 1):
            return True
    return False


def read_schedule(
    text: str,
    source: str = "",
    *,
    columns: Mapping[str, str | int] | None = None,
    hosts: Sequence[str] = (),
) -> Fabric:
    """The planned fabric in a table with one cable a row: CSV (comma, tab, semicolon or bar), or a workbook's text.

    The header is found in the first 50 rows; many spellings are known (``A-Node Name, A-Port, Z-Node Name, Z-Port``,
    ``StartDevice, StartPort, EndDevice, EndPort``, ``Source, Rack, ..., Port, Destination, ...``), and ``columns``
    names them otherwise: a role (:data:`topo.io.schedule_columns.ROLES`) to a header text or a column number. A cable
    listed from both ends is one; a cell ``11,12`` names the ports of a breakout. A schedule does not say how many legs
    a port splits into: the checks of wiring learn it from the switch's other split ports, where no part says it. A bare
    speed of 1000, 10000, ... is Mb/s, any other Gb/s. ``hosts`` are globs of node names that are hosts, where words do
    not tell.

    >>> fabric = read_schedule('''A-Node Name,A-Port,Z-Node Name,Z-Port,Speed,Length
    ... leaf-1,1/1/1,dgx-01,HCA-1,400G,3m
    ... dgx-01,HCA-1,leaf-1,1/1/1,400G,3m
    ... ''', "plan.csv")
    >>> fabric.nodes.name.tolist(), fabric.links.length_m.tolist(), fabric.links.evidence[0]
    (['leaf-1', 'dgx-01 HCA-1'], [3.0], 'planned')

    :raises FormatError: no known header (what was seen is told), no cable, or mostly rows without two ends.
    :raises ParameterError: ``columns`` names an unknown role or lacks one of the four.
    """
    book = CableBook(source, "read_schedule", hosts=hosts)
    pages: list[tuple[_Page, list[Row]]] = []
    refused: tuple[int, Sequence[str], str] | None = None
    for name, rows in _pages(text, None, source):
        place = sheet_of(source, name) if name else source
        listed = list(rows)
        header = _header(listed, columns, place)
        if header is None:
            filled = [row for row in listed[:_HEADER_ROWS] if any(cell.strip() for cell in row[1])]
            if refused is None and filled:
                nearest = filled[0] if columns else max(filled, key=lambda row: n_known(row[1]))
                refused = (*nearest, place)
            if name:
                book.notes.add("sheet without a header of a cable schedule, not read", name, severity="warning")
            continue
        pages.append((_Page(book, header, name, place), listed))
    twins = _twins(pages)
    for page, listed in pages:
        page.twins = twins
        page.read(listed)
    if not pages:
        line, cells, place = refused or (1, [], source)
        if columns is not None:
            texts = ", ".join(repr(text) for text in columns.values() if isinstance(text, str))
            raise FormatError(f"no row holds all of the headers {texts}; the first row is {_listed(cells)}", path=place)
        raise unknown_header(cells, line, place)
    if not book.names and not book.odd:
        said = f"a header and no cable under it: {_listed(pages[0][0].header.text.values())}"
        raise FormatError(said, path=pages[0][0].source or None, line=pages[0][0].header.line)
    book.refuse_misread("a cable schedule")
    return book.to_fabric()


def _listed(cells: Iterable[str]) -> str:
    return quoted(", ".join(cell.strip() for cell in cells), 200)


def _header(rows: Sequence[Row], columns: Mapping[str, str | int] | None, source: str) -> Header | None:
    if columns is not None:
        return stated_header(rows[:_HEADER_ROWS], columns, source)
    return _found_header(rows[:_HEADER_ROWS])


def _found_header(rows: Sequence[Row] | Iterator[Row]) -> Header | None:
    for line, cells in rows:
        header = header_of(cells, line)
        if header is not None:
            return header
    return None


def _pages(text: str, most: int | None, source: str = "") -> Iterator[tuple[str, Iterator[Row]]]:
    """The sheets of a text, each with its rows; a plain CSV is one sheet without a name."""
    if not text.startswith(PAGE):
        yield "", _rows(text, _delimiter(text), most, source)
        return
    for page in text[1:].split(f"\n{PAGE}"):
        name, _, body = page.partition("\n")
        name = name.strip() or "sheet"
        yield name, _rows(body, ",", most, sheet_of(source, name))


def _delimiter(text: str) -> str:
    """The sign that parts the cells: the one under which a header is found, else the most frequent one."""
    start = text[:_LONGEST_CELL]
    for delimiter in _DELIMITERS:
        if delimiter in start and _found_header(_rows(start, delimiter, _HEADER_ROWS, "")):
            return delimiter
    return max(_DELIMITERS, key=start.count)


def _rows(text: str, delimiter: str, most: int | None, source: str) -> Iterator[Row]:
    """Rows with the line each starts at; a quoted cell may hold line ends.

    :raises InputError: a cell of more than 131,072 characters, as an unpaired quote makes.
    """
    lines = text.replace("\0", "\ufffd").replace("\r\n", "\n").replace("\r", "\n").split("\n")
    reader = csv.reader((line + "\n" for line in lines), delimiter=delimiter)
    line = 1
    try:
        for number, row in enumerate(reader):
            if most is not None and number >= most:
                return
            yield line, row
            line = reader.line_num + 1
    except csv.Error as error:
        if most is None:
            raise InputError(f"not a table: {error}; is a quote unpaired?", path=source or None, line=line) from None


@dataclass(slots=True)
class _Page:
    """One sheet being read into the book."""

    book: CableBook
    header: Header
    name: str
    source: str
    extra: int = 0
    mbps: int = 0
    twins: set[str] = field(default_factory=set)
    rates: dict[str, Rate] = field(default_factory=dict)
    in_mbps: set[str] = field(default_factory=set)

    def read(self, rows: Sequence[Row]) -> None:
        """Every row below the header."""
        whole, self.book.notes.source = self.book.notes.source, self.source
        for line, cells in rows:
            if line <= self.header.line:
                continue
            if not any(cell.strip() for cell in cells):
                continue
            if cells[0].lstrip().startswith("#"):
                self.book.notes.add("row that begins with #, taken for a comment", _listed(cells), line)
                continue
            self._row(cells, line)
        for column in self.header.said:
            self.book.notes.add(column, severity="warning")
        if self.header.unused:
            names = ", ".join(quoted(name, 40) for name in self.header.unused[:12])
            self.book.notes.add(f"columns of no use here: {names}")
        if self.extra:
            self.book.notes.add(f"cells in columns without a header, not used: {self.extra:,}")
        self.book.notes.source = whole
        if self.mbps:
            said = f"sheet {self.name!r}: " if self.name else ""
            self.book.assumptions.append(f"{said}{self.mbps:,} bare speeds such as 40000 are Mb/s")

    def _row(self, cells: Sequence[str], line: int) -> None:
        cell = self.header.cell
        ends = [cell(cells, role) for role in NEEDED]
        if ends[0].lower() == self.header.text["a_node"].lower() and ends[1:] == [
            self.header.text[role] for role in NEEDED[1:]
        ]:
            return  # the header again, as files that were joined have it
        self._count_extra(cells)
        a_node, a_port, z_node, z_port = ends
        if not (a_node and a_port and z_node and z_port):
            self._half(cells, ends, line)
            return
        rate, length = self._rate(cell(cells, "speed")), self._length(cells, line)
        a, z = self._ports("a", cells, a_node, a_port, line), self._ports("z", cells, z_node, z_port, line)
        label = cell(cells, "cable")
        if len(a) == len(z) == 1:
            self.book.cable(a[0], z[0], line=line, rate=rate, length_m=length, cable=label, file=self.source)
            return
        self._breakout(a, z, line, rate, length, label)

    def _count_extra(self, cells: Sequence[str]) -> None:
        """Cells that no header stands over: a side table, remarks."""
        header = self.header
        beside = [i for i in header.blank if i < len(cells)] if header.blank else []
        if beside or len(cells) > header.width:
            used = set(header.column.values())
            beside += range(header.width, len(cells))
            self.extra += sum(bool(cells[i].strip()) for i in beside if i not in used)

    def place(self, side: str, cells: Sequence[str]) -> tuple[str, str]:
        """Rack and unit of a side, either '' where none is said.

        The last of the side's columns for racks and places that holds no unit is the rack; a unit stands in a column of
        its own or in one of those.
        """
        rack, unit = "", self.header.cell(cells, f"{side}_unit")
        for column in self.header.racks.get(side, ()):
            text = self.header.at(cells, column)
            if is_rack_unit(text):
                unit = unit or text
            else:
                rack = text or rack
        return rack, rack_unit(unit)

    def _half(self, cells: Sequence[str], ends: list[str], line: int) -> None:
        """A row that names one end alone keeps its port, free; one that names none is not understood."""
        book = self.book
        for side, node, port in (("a", ends[0], ends[1]), ("z", ends[2], ends[3])):
            if node and port and not any(ends[2:] if side == "a" else ends[:2]):
                self._ports(side, cells, node, port, line)
                book.notes.add("port without a far end, kept free", f"{node} port {port}", line)
                book.understood += 1
                return
        book.misfit("row without two ends, not read", ", ".join(cell.strip() for cell in cells), line)

    def _ports(self, side: str, cells: Sequence[str], node: str, port: str, line: int) -> list[int]:
        cell, book = self.header.cell, self.book
        node, (rack, unit) = _node_of(node, port), self.place(side, cells)
        slot = cell(cells, f"{side}_slot")
        if node in self.twins and rack:
            node = f"{node} ({rack})"
            if node not in book.index:
                said = "a name in several racks with the same ports stands for several nodes"
                book.notes.add(said, node, line, severity="warning")
        kind, part = cell(cells, f"{side}_kind"), cell(cells, f"{side}_part")
        row = book.node(node, line, kind=kind, rack=rack, rack_unit=unit, part=part)
        ports = [book.port(row, f"{slot}:{text}" if slot else text, line) for text in expand_ports(port)]
        if len(ports) == 1:
            book.also_called(ports[0], cell(cells, f"{side}_mac"), cell(cells, f"{side}_description"))
        return ports

    def _breakout(self, a: list[int], z: list[int], line: int, rate: Rate, length: float, label: str) -> None:
        """The legs of one cable; a single port at one end serves all legs of the other as ports of its own."""
        book = self.book
        label = label or f"line {line} of {self.name}"
        if len(a) != len(z) and 1 not in (len(a), len(z)):
            where = f"{len(a)} and {len(z)} ports"
            book.misfit("a cable whose ends have different numbers of ports", where, line)
            return
        legs = max(len(a), len(z))
        each = Rate(rate.gbps / legs, rate.status)
        a, z = (self._legs(ports, legs) for ports in (a, z))
        for near, far in zip(a, z, strict=True):
            book.cable(near, far, line=line, rate=each, length_m=length, cable=label, file=self.source)
        book.notes.add("breakout of one cable into several ports, its rate shared equally", f"{legs} legs", line)

    def _legs(self, ports: list[int], legs: int) -> list[int]:
        book = self.book
        if len(ports) == legs:
            return ports
        node, label = book.port_node[ports[0]], book.port_label[ports[0]]
        return [book.port(int(node), f"{label}:{leg}") for leg in range(1, legs + 1)]

    def _rate(self, said: str) -> Rate:
        known = self.rates.get(said)
        if known is None and len(self.rates) < _MOST_RATES:
            known = self.rates[said] = self._parsed(said)
        self.mbps += said in self.in_mbps
        return known or self._parsed(said)

    def _parsed(self, said: str) -> Rate:
        if not said:
            return Rate()
        unit = self._speed_unit()
        if not unit and said.isdecimal() and int(said[:12]) in _MBPS:
            self.in_mbps.add(said)
            unit = "M"
        rate = Rate.of(said.replace(",", ""), default_unit=unit)
        if rate.status != MISSING and rate.gbps != rate.gbps:
            inside = _RATE_IN_TEXT.search(said)
            return Rate.of(inside[1]) if inside else rate
        return rate

    def _speed_unit(self) -> str:
        text = self.header.text.get("speed", "").lower()
        return "M" if "mb" in text else "G" if "gb" in text else ""

    def _length(self, cells: Sequence[str], line: int) -> float:
        said = self.header.cell(cells, "length")
        if not said:
            return float("nan")
        found = _LENGTH.match(said)
        if found is None:
            self.book.notes.add("length not understood", quoted(said), line, severity="warning")
            return float("nan")
        header = self.header.text["length"].lower()
        unit = (
            found[2] or self.header.cell(cells, "length_unit") or ("ft" if re.search(r"\bft\b|feet", header) else "m")
        )
        return float(found[1]) * _METRES.get(unit.lower(), 1.0)


def _node_of(node: str, port: str) -> str:
    """The node of a cell that repeats the port: ``Server 1 IB Port 1`` with port ``IB Port 1`` is ``Server 1``."""
    repeats = not port.isdecimal() and node.lower().endswith(f" {port.lower()}")
    return node[: -len(port)].strip() if repeats else node


def _twins(pages: Sequence[tuple[_Page, list[Row]]]) -> set[str]:
    """Names that stand in several racks and use the same port there: one name for several nodes."""
    racks: dict[str, dict[str, set[str]]] = {}
    for page, rows in pages:
        cell = page.header.cell
        for side in "az":
            if f"{side}_rack" not in page.header.column:
                continue
            for line, cells in rows:
                node, port, rack = cell(cells, f"{side}_node"), cell(cells, f"{side}_port"), page.place(side, cells)[0]
                if line > page.header.line and node and port and rack:
                    slot = cell(cells, f"{side}_slot")
                    racks.setdefault(_node_of(node, port), {}).setdefault(rack, set()).add(f"{slot}:{port}")
    return {
        name
        for name, ports in racks.items()
        if len(ports) > 1 and sum(map(len, ports.values())) > len(set().union(*ports.values()))
    }
