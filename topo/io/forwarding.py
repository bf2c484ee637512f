"""Forwarding tables of InfiniBand switches, and the addresses (LIDs) of ports, from the files that tools write.

Tables: ``ibroute``, ``dump_lfts.sh`` and ``dump_fts`` (and OpenSM's own dump, which differs in its comment sign), one
block a switch that begins ``Unicast lids [...] of switch ... guid 0x...``; and the ``.fdbs`` files of ibdiagnet and
OpenSM, whose blocks begin ``osm_ucast_mgr_dump_ucast_routes: Switch 0x...``. Addresses: the ``.db_csv`` file of
ibdiagnet.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from topo.errors import FormatError
from topo.fabric import Note
from topo.io.notes import NoteBook, quoted
from topo.io.text import read_text
from topo.table import freeze

__all__ = [
    "ForwardingDump",
    "PortAddresses",
    "parse_forwarding",
    "parse_port_addresses",
    "read_forwarding",
    "read_port_addresses",
]

_MOST_LID = 0xFFFF
_NO_PORT = 255
# Literal beginnings and no case folding: they decide whether a dump of a large subnet takes seconds or a minute.
_LIDS = re.compile(
    r"Unicast lids[ \t]*\[[^\]\n]*\][ \t]+of[ \t]+switch\b[^\n]*?\bguid[ \t]+(?P<guid>[^\s(:]+)"
    r"(?:[ \t]*\((?P<name>[^\n]*)\))?[^\n]*"
)
_ROUTES = re.compile(r"Switch (?P<guid>0x[0-9a-fA-F]+)\b(?P<name>)[^\n]*")
_ENTRY_LINE = re.compile(
    r"^[ \t]*(0x[0-9a-fA-F]{1,8}|[0-9]{1,6})[ \t]*:?[ \t]+:?[ \t]*([0-9]{1,4}|UNREACHABLE)\b[^\n]*", re.M
)
_TARGET = re.compile(r"portguid[ \t]+(?:0x)?([0-9a-fA-F]{1,19})(?:[ \t]*:[ \t]*'([^\n]*)'\)?)?[ \t\r]*$")
_FURNITURE = re.compile(
    r"^\s*(?:$|#|lid\s+out\s+destination|port\s+info|lid\s*:\s*port\s*:|\d+\s+(?:valid\s+)?(?:m?lids?)\s+dumped|-+\s*$|={3,})",
    re.I,
)
_PLANE = re.compile(r"^\s*plft_num\s*:\s*(\d+)", re.I)


@dataclass(frozen=True, eq=False)
class ForwardingDump:
    """Forwarding tables as read: switch ``switch[i]`` sends what is for address ``lid[i]`` out of port ``port[i]``.

    Switches are listed by ``uid`` (GUID, 16 hexadecimal digits), ``name`` and ``line`` of their block;
    ``target_uid`` and ``target_name`` say whose an address is where the file does. Port 0 is the switch itself.
    Addresses that a switch has no path to are left out; ``n_unreachable`` counts those the file says so of.
    """

    source: str
    uid: tuple[str, ...]
    name: tuple[str, ...]
    line: tuple[int, ...]
    switch: NDArray[np.int32]
    lid: NDArray[np.int32]
    port: NDArray[np.int16]
    target_uid: dict[int, str]
    target_name: dict[int, str]
    n_unreachable: int
    notes: tuple[Note, ...] = ()

    def __repr__(self) -> str:
        return f"<ForwardingDump {self.source!r}: {len(self.uid):,} switches, {len(self.lid):,} entries>"


@dataclass(frozen=True, eq=False)
class PortAddresses:
    """Addresses as ibdiagnet lists them: ``lid[i]`` is port ``port[i]`` of the node with GUID ``uid[i]``."""

    source: str
    lid: NDArray[np.int32]
    uid: tuple[str, ...]
    port: NDArray[np.int16]
    notes: tuple[Note, ...] = ()


def read_forwarding(path: str | Path) -> ForwardingDump:
    """The forwarding tables in a file (``-``: standard input), recognised by its content.

    :raises InputError: no such file, unreadable, too large or empty.
    :raises FormatError: no block of a switch in it, or blocks without a single entry.
    """
    text, source = read_text(path)
    return parse_forwarding(text, source)


def parse_forwarding(text: str, source: str = "") -> ForwardingDump:
    """The forwarding tables in the text of such a file.

    >>> dump = parse_forwarding('''Unicast lids [0x0-0x3] of switch Lid 1 guid 0x00000000000000a1 (leaf):
    ...   Lid  Out   Destination
    ...        Port     Info
    ... 0x0001 000 : (Switch portguid 0x00000000000000a1: 'leaf')
    ... 0x0002 007 : (Channel Adapter portguid 0x00000000000000b2: 'host mlx5_0')
    ... 2 valid lids dumped
    ... ''')
    >>> dump.uid, dump.lid.tolist(), dump.port.tolist(), dump.target_name[2]
    (('00000000000000a1',), [1, 2], [0, 7], 'host mlx5_0')

    :raises FormatError: no block of a switch in it, or blocks without a single entry.
    """
    blocks = list(_blocks(text))
    if not blocks:
        first = next((line.strip() for line in text.split("\n") if line.strip()), "")
        raise FormatError(
            f"no forwarding table in it: the first line reads {quoted(first)}. Known are the outputs of ibroute, "
            "dump_lfts.sh and dump_fts, and .fdbs files of ibdiagnet or OpenSM",
            path=source or None,
            line=1,
        )
    reader = _Reader(NoteBook(source))
    reader.stray(text[: blocks[0].begin], 1)
    for block in blocks:
        reader.read(block)
    return reader.finish(source)


@dataclass(frozen=True, slots=True)
class _Block:
    guid: str
    name: str
    line: int
    begin: int
    body: str


def _blocks(text: str) -> Iterator[_Block]:
    heads = []
    for head in sorted([*_LIDS.finditer(text), *_ROUTES.finditer(text)], key=lambda head: head.start()):
        begin = text.rfind("\n", 0, head.start()) + 1
        # A name may hold such words too; a head begins its line.
        if text[begin : head.start()].replace("osm_ucast_mgr_dump_ucast_routes:", "").strip() == "":
            heads.append((begin, head))
    line, at = 1, 0
    for i, (begin, head) in enumerate(heads):
        line += text.count("\n", at, begin)
        at = begin
        end = heads[i + 1][0] if i + 1 < len(heads) else len(text)
        name = (head["name"] or "").strip().strip("'\"")
        yield _Block(head["guid"], name, line, begin, text[head.end() : end])


@dataclass
class _Reader:
    """Collects blocks; what does not fit is noted where it stands."""

    notes: NoteBook
    uid: list[str] = field(default_factory=list)
    name: list[str] = field(default_factory=list)
    line: list[int] = field(default_factory=list)
    parts: list[tuple[int, NDArray[np.int64], NDArray[np.int64]]] = field(default_factory=list)
    target_uid: dict[int, str] = field(default_factory=dict)
    target_name: dict[int, str] = field(default_factory=dict)
    seen: set[int] = field(default_factory=set)
    unreachable: int = 0

    def stray(self, text: str, line: int) -> None:
        for number, content in enumerate(text.split("\n"), line):
            if not _FURNITURE.match(content):
                self.notes.add("line before the first table", quoted(content.strip()), number)

    def read(self, block: _Block) -> None:
        uid = _guid(block.guid)
        if uid is None:
            self.notes.add(
                "GUID not understood; its table is left out", quoted(block.guid), block.line, severity="warning"
            )
            return
        if uid in self.uid:
            self.notes.add("switch listed twice, its first table holds", f"0x{uid}", block.line, severity="warning")
            return
        self.uid.append(uid)
        self.name.append(block.name)
        self.line.append(block.line)
        body = self._first_plane(block)
        found = _ENTRY_LINE.findall(body)
        self._account(body, block.line)
        lid = np.array([int(text, 0) if text[:2] in ("0x", "0X") else int(text) for text, _ in found], np.int64)
        port = np.array([int(text) if text.isdigit() else _NO_PORT for _, text in found], np.int64)
        self._targets(body, lid)
        self._keep(len(self.uid) - 1, lid, port, block)

    def _first_plane(self, block: _Block) -> str:
        """The body without the tables of further private planes (PLFT)."""
        if "PLFT" not in block.body.upper():
            return block.body
        kept, keeps = [], True
        for number, content in enumerate(block.body.split("\n"), block.line):
            plane = _PLANE.match(content)
            if plane:
                keeps = int(plane[1]) == 0
                if not keeps:
                    self.notes.add(
                        "table of a further plane left out, plane 0 is read", quoted(content.strip()), number
                    )
            kept.append(content if keeps and not plane else "")
        return "\n".join(kept)

    def _account(self, body: str, line: int) -> None:
        """A note for every line that is neither an entry nor furniture."""
        for number, content in enumerate(_ENTRY_LINE.sub("", body).split("\n"), line):
            if content and not _FURNITURE.match(content):
                self.notes.add("line not understood", quoted(content.strip()), number, severity="warning")

    def _targets(self, body: str, lid: NDArray[np.int64]) -> None:
        """Whose the addresses are that no table before named."""
        fresh = [i for i, address in enumerate(lid.tolist()) if address not in self.seen]
        if not fresh:
            return
        self.seen.update(lid.tolist())
        wanted = set(fresh)
        for i, match in enumerate(_ENTRY_LINE.finditer(body)):
            if i > fresh[-1]:
                break
            target = _TARGET.search(match[0]) if i in wanted else None
            if target is None:
                continue
            # OpenSM puts "0x016" in front of some GUIDs by a slip of its format string.
            uid = _guid(target[1]) or _guid(target[1].removeprefix("016"))
            if uid is not None:
                self.target_uid[int(lid[i])] = uid
                self.target_name[int(lid[i])] = (target[2] or "").strip()

    def _keep(self, switch: int, lid: NDArray[np.int64], port: NDArray[np.int64], block: _Block) -> None:
        where = f"switch 0x{self.uid[switch]}"
        bad = (lid < 1) | (lid > _MOST_LID) | (port > _NO_PORT)
        if bad.any():
            i = int(np.flatnonzero(bad)[0])
            what = f"{where}: {int(bad.sum())} of them, first LID {lid[i]} port {port[i]}"
            self.notes.add("LID outside 1..65535 or port above 255", what, block.line, severity="warning")
        none = ~bad & (port == _NO_PORT)
        self.unreachable += int(none.sum())
        good = np.flatnonzero(~bad & ~none)
        _, first = np.unique(lid[good], return_index=True)
        if len(first) < len(good):
            again = np.setdiff1d(np.arange(len(good)), first)
            what = f"{where}: {len(again)} of them, first LID {lid[good[again[0]]]}"
            self.notes.add("LID listed twice, its first port holds", what, block.line, severity="warning")
        good = good[np.sort(first)]
        if not good.size:
            self.notes.add("table without an entry", where, block.line, severity="warning")
        self.parts.append((switch, lid[good], port[good]))

    def finish(self, source: str) -> ForwardingDump:
        size = [len(lid) for _, lid, _ in self.parts]
        if not sum(size):
            raise FormatError(
                f"{len(self.uid)} switch(es) in it, and not one entry of a table; the dump may have been cut short",
                path=source or None,
                line=self.line[0] if self.line else None,
            )
        if self.unreachable:
            self.notes.add(f"{self.unreachable:,} entries say that a LID is unreachable", severity="warning")
        return ForwardingDump(
            source,
            tuple(self.uid),
            tuple(self.name),
            tuple(self.line),
            freeze(np.repeat([switch for switch, _, _ in self.parts], size), np.int32),
            freeze(np.concatenate([lid for _, lid, _ in self.parts]), np.int32),
            freeze(np.concatenate([port for _, _, port in self.parts]), np.int16),
            self.target_uid,
            self.target_name,
            self.unreachable,
            self.notes.notes(),
        )


def _guid(text: str) -> str | None:
    """A GUID as 16 hexadecimal digits."""
    digits = text.strip().lower().removeprefix("0x").lstrip("0")
    if len(digits) > 16 or not digits or set(digits) - set("0123456789abcdef"):
        return None
    return digits.zfill(16)


def read_port_addresses(path: str | Path) -> PortAddresses:
    """The addresses in a ``.db_csv`` file of ibdiagnet.

    :raises InputError: no such file, unreadable, too large or empty.
    :raises FormatError: no section PORTS, or one that lacks a needed column.
    """
    text, source = read_text(path)
    return parse_port_addresses(text, source)


def parse_port_addresses(text: str, source: str = "") -> PortAddresses:
    """The addresses in the text of a ``.db_csv`` file: node GUID, port number and LID of section PORTS.

    >>> found = parse_port_addresses('''START_PORTS
    ... NodeGuid,PortGuid,PortNum,LID
    ... 0x00000000000000b2,0x00000000000000b2,1,2
    ... END_PORTS
    ... ''')
    >>> found.lid.tolist(), found.uid, found.port.tolist()
    ([2], ('00000000000000b2',), [1])

    :raises FormatError: no section PORTS, or one that lacks a needed column.
    """
    notes = NoteBook(source)
    lines = text.split("\n")
    begin = next((i for i, line in enumerate(lines) if line.strip().upper() == "START_PORTS"), None)
    if begin is None:
        raise FormatError(
            "no section START_PORTS in it; give the .db_csv file that ibdiagnet writes", path=source or None, line=1
        )
    end = next((i for i in range(begin, len(lines)) if lines[i].strip().upper() == "END_PORTS"), None)
    if end is None:
        end = len(lines)
        notes.add("section PORTS does not end; the file may be cut short", line=begin + 1, severity="warning")
    rows = csv.reader(lines[begin + 1 : end])
    try:
        header = [cell.strip().lower() for cell in next(rows, [])]
    except csv.Error as error:
        raise FormatError(f"the header of section PORTS: {error}", path=source or None, line=begin + 2) from None
    places = [header.index(name) if name in header else -1 for name in ("nodeguid", "portnum", "lid")]
    if min(places) < 0:
        raise FormatError(
            f"section PORTS has columns {quoted(', '.join(header))}; NodeGuid, PortNum and LID are needed",
            path=source or None,
            line=begin + 2,
        )
    found = _address_rows(rows, places, begin + 3, notes)
    return PortAddresses(
        source,
        freeze(np.array([lid for lid, _, _ in found], np.int64), np.int32),
        tuple(uid for _, uid, _ in found),
        freeze(np.array([port for _, _, port in found], np.int64), np.int16),
        notes.notes(),
    )


def _address_rows(
    rows: Iterator[list[str]], places: list[int], line: int, notes: NoteBook
) -> list[tuple[int, str, int]]:
    found: list[tuple[int, str, int]] = []
    number = line - 1
    while True:
        number += 1
        try:
            cells = next(rows)
        except StopIteration:
            return found
        except csv.Error as error:
            notes.add("line not understood", str(error), number, severity="warning")
            continue
        if not any(cell.strip() for cell in cells):
            continue
        uid, port, lid = (cells[i].strip() if i < len(cells) else "" for i in places)
        said = (_guid(uid), _number(port), _number(lid))
        if said[0] is None or said[1] is None or said[2] is None or not (0 <= said[1] < _NO_PORT):
            notes.add("line not understood", quoted(",".join(cells)), number, severity="warning")
        elif 1 <= said[2] <= _MOST_LID - 1:  # 0 and 65535: the port has no address
            found.append((said[2], said[0], said[1]))


def _number(text: str) -> int | None:
    try:
        return int(text, 16) if text[:2].lower() == "0x" else int(text)
    except ValueError:
        return None
