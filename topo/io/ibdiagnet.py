"""Read what ``ibdiagnet`` leaves behind: its net_dump, and the links of its db_csv."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator

from topo.errors import FormatError
from topo.fabric import Fabric
from topo.io.halves import MISSING, STATED, UNKNOWN
from topo.io.iblinkinfo import SWITCH_NAME, finish_dump
from topo.io.ibnetdiscover import MAX_PORT, Dump
from topo.io.notes import NoteBook
from topo.units import IB_LANE_GBPS, lane_gbps

__all__ = ["is_db_csv", "is_net_dump", "read_db_csv", "read_net_dump"]

_BLOCK = re.compile(r'"(?P<name>[^"]*)",\s*(?P<vendor>[^,]*),\s*0x(?P<guid>[0-9a-f]{1,16})\b', re.IGNORECASE)
_COLUMNS = re.compile(r"#\s*:\s*IB#\s*:", re.IGNORECASE)
_GUID = re.compile(r"(?:0x)?([0-9a-f]{1,16})\Z", re.IGNORECASE)
_WIDTH = re.compile(r"(\d{1,2})x\Z", re.IGNORECASE)
_SECTION = re.compile(r"START_(\w+)\s*\Z")
_LONGEST_LINE = 65_536
_DEFAULT = ("#", "ib#", "sta", "physsta", "mtu", "lwa", "lsa", "fec mode", "retran", "neighbor guid", "n#", "nlid")
_WIDTH_BITS = {1: 1, 2: 4, 4: 8, 8: 12, 16: 2}
_SPEED_BITS = {1: 2.5, 2: 5.0, 4: 10.0, 0x100: 14.0, 0x200: 25.0, 0x400: 50.0, 0x800: 100.0, 0x10000: 10.0}
_KIND = {"1": "H", "2": "S", "3": "R"}


def is_net_dump(head: str) -> bool:
    """Whether the line of columns that opens each block of a net_dump stands in it."""
    return re.search(r"^\s*#\s*:\s*IB#\s*:", head, re.MULTILINE | re.IGNORECASE) is not None


def is_db_csv(head: str) -> bool:
    """Whether a section of nodes or links begins in it."""
    return re.search(r"^START_(?:NODES|LINKS)\s*$", head, re.MULTILINE) is not None


def read_net_dump(text: str, source: str = "") -> Fabric:
    """The fabric in ``ibdiagnet2.net_dump``: a block for each switch, a row for each port with its neighbour.

    ``LWA`` lanes times ``LSA`` Gb/s of a lane is the rate; rows whose state is not active are free ports. A cable
    between a switch and an adapter shows in the block of the switch alone, and stands as found at ``both ends``
    all the same: the subnet manager read either side of it.

    >>> fabric = read_net_dump('''
    ... "leaf-1", Mellanox, 0x00000000000000a1, LID 1
    ...   # : IB# : Sta : PhysSta : MTU : LWA : LSA : FEC mode : Retran : Neighbor Guid : N# : NLID : Neighbor
    ...   1/1/1 : 1 : ACT : LINK UP : 5 : 4x : 50 : RS : NO-RTR : 0x00000000000000b1 : 1 : 2 : "n1 mlx5_0"
    ... ''')
    >>> fabric.nodes.name.tolist(), fabric.links.capacity_gbps.tolist()
    (['leaf-1', 'n1 mlx5_0'], [200.0])

    :raises FormatError: no switch in it, or more lines that do not fit than lines that do.
    """
    dump = Dump(NoteBook(source))
    columns = {name: place for place, name in enumerate(_DEFAULT)}
    numbers = _port_numbers(text)
    switches = {guid for guid, _ in numbers} | {int(found["guid"], 16) for found in _BLOCK.finditer(text)}
    for number, raw in enumerate(text.split("\n"), 1):
        line = raw.strip()
        if not line or line.startswith("##") or set(line) <= set("-=#"):
            continue
        block = _BLOCK.match(line)
        if len(line) > _LONGEST_LINE:
            dump.misfit(f"line of more than {_LONGEST_LINE:,} characters skipped", line[:80], number)
        elif block:
            dump.current = dump.node("S", f"S-{int(block['guid'], 16):016x}", number)
            dump.seen[dump.current], dump.line[dump.current] = True, number
            dump.describe(dump.current, block["name"], number)
            dump.understood += 1
        elif _COLUMNS.match(line):
            columns = {cell.strip().lower(): place for place, cell in enumerate(line.split(":"))}
        elif dump.current < 0 or not _net_row(dump, columns, numbers, switches, line, number):
            dump.misfit("line not understood", line, number)
    if "H" in dump.letter:
        dump.notes.add("adapters have no block in a net_dump; cables to them count as found at both ends")
    return finish_dump(dump, source, "net_dump")


def _port_numbers(text: str) -> dict[tuple[int, str], int]:
    """The number of each port of a switch by its label: a neighbour may be named by either."""
    numbers: dict[tuple[int, str], int] = {}
    guid = -1
    for line in text.split("\n"):
        block = _BLOCK.match(line.strip()[:_LONGEST_LINE])
        if block:
            guid = int(block["guid"], 16)
            continue
        cells = line[:200].split(":", 2)
        if guid >= 0 and len(cells) == 3 and cells[1].strip().isdecimal() and len(cells[1].strip()) < 5:
            numbers[guid, cells[0].strip()] = int(cells[1])
    return numbers


def _net_row(
    dump: Dump,
    columns: dict[str, int],
    numbers: dict[tuple[int, str], int],
    switches: set[int],
    line: str,
    number: int,
) -> bool:
    cells = [cell.strip() for cell in line.split(":", max(len(columns) - 1, 12))]

    def cell(name: str) -> str:
        place = columns.get(name, len(cells))
        return cells[place] if place < len(cells) else ""

    port = _number(cell("ib#"))
    if not 0 < port <= MAX_PORT:
        return False
    dump.understood += 1
    near = dump.current * 256 + port
    guid = _GUID.match(cell("neighbor guid"))
    if guid is None or int(guid[1], 16) == 0:
        dump.free.append(near)
        return True
    far_guid = int(guid[1], 16)
    far_port = numbers.get((far_guid, cell("n#"))) or _number(cell("n#"))
    if not 0 < far_port <= MAX_PORT:
        dump.misfit("neighbour without its port number", line, number)
        return True
    said = cells[-1].strip('" ')
    is_switch = far_guid in switches or SWITCH_NAME.match(said) is not None
    letter = "S" if is_switch else "H"
    known = len(dump.ids)
    far = dump.node(letter, f"{letter}-{far_guid:016x}", number)
    if far == known:
        dump.describe(far, said, number)
    end = far * 256 + far_port
    if dump.is_itself(near, end, line, number):
        return True
    gbps, status = _rate(cell("lwa"), cell("lsa"))
    dump.add_half(near, end, gbps, status, number)
    if letter == "H":  # adapters have no block of their own
        dump.seen[far] = True
        dump.add_half(end, near, gbps, status, number)
    return True


def _number(text: str) -> int:
    return int(text) if text.isdecimal() and len(text) < 5 else 0


def _rate(width: str, lane: str) -> tuple[float, int]:
    lanes = _WIDTH.match(width)
    if not width and not lane:
        return float("nan"), MISSING
    word = lane.upper().removesuffix("GBPS").strip()
    try:
        each = IB_LANE_GBPS.get(word) or lane_gbps(float(word))
    except ValueError:
        each = None
    if lanes is None or each is None:
        return float("nan"), UNKNOWN
    return int(lanes[1]) * each, STATED


def read_db_csv(text: str, source: str = "") -> Fabric:
    """The fabric in ``ibdiagnet2.db_csv``: its sections NODES, PORTS (for the rates) and LINKS; others are left.

    The width and the speed of a port are bits, ``2`` for 4x and ``1024`` for 50 Gb/s a lane; one that is not known
    leaves the rate open and says so.

    >>> fabric = read_db_csv('''START_NODES
    ... NodeDesc,NumPorts,NodeType,NodeGUID
    ... "leaf-1",64,2,0xa1
    ... "n1 mlx5_0",1,1,0xb1
    ... END_NODES
    ... START_PORTS
    ... NodeGuid,PortNum,LinkWidthActv,LinkSpeedActv
    ... 0xa1,7,2,2048
    ... END_PORTS
    ... START_LINKS
    ... NodeGuid1,PortNum1,NodeGuid2,PortNum2
    ... 0xa1,7,0xb1,1
    ... END_LINKS
    ... ''')
    >>> fabric.nodes.name.tolist(), fabric.links.capacity_gbps.tolist()
    (['leaf-1', 'n1 mlx5_0'], [400.0])

    :raises FormatError: no section of links in it, or mostly rows that do not fit.
    """
    dump = Dump(NoteBook(source))
    rates: dict[tuple[int, int], tuple[float, int]] = {}
    letters: dict[int, str] = {}
    links: list[tuple[dict[str, str], int]] = []
    for section, row, number in _rows(dump, text):
        if section == "NODES":
            guid = _guid(row.get("nodeguid", ""))
            letter = _KIND.get(row.get("nodetype", "").strip(), "")
            if guid is None or not letter:
                dump.misfit("node without a GUID or a type", " ".join(row.values()), number)
                continue
            letters[guid] = letter
            node = dump.node(letter, f"{letter}-{guid:016x}", number)
            dump.seen[node], dump.line[node], dump.n_ports[node] = True, number, min(_number(row["numports"]), MAX_PORT)
            dump.describe(node, row.get("nodedesc", ""), number)
            dump.understood += 1
        elif section == "PORTS":
            guid = _guid(row.get("nodeguid", ""))
            if guid is not None:
                width = _WIDTH_BITS.get(_bits(row.get("linkwidthactv", "")))
                lane = _SPEED_BITS.get(_bits(row.get("linkspeedactv", "")))
                stated = (width * lane, STATED) if width and lane else (float("nan"), UNKNOWN)
                rates[guid, _number(row.get("portnum", ""))] = stated
        elif section == "LINKS":
            links.append((row, number))
    if not links:
        raise FormatError("no row in a section LINKS; is this ibdiagnet's db_csv, whole?", path=source or None)
    for row, number in links:
        _csv_link(dump, letters, rates, row, number)
    return finish_dump(dump, source, "db_csv")


def _rows(dump: Dump, text: str) -> Iterator[tuple[str, dict[str, str], int]]:
    """Rows of the sections that are read, by the lower-case names of their header."""
    section, header = "", list[str]()
    for number, raw in enumerate(text.split("\n"), 1):
        line = raw.strip()
        begin = _SECTION.match(line)
        if begin:
            section, header = begin[1], []
        elif line.startswith("END_"):
            section = ""
        elif section in ("NODES", "PORTS", "LINKS") and line:
            try:
                cells = next(csv.reader([line[:_LONGEST_LINE]]), [])
            except csv.Error:
                dump.misfit("line not understood", line, number)
                continue
            if not header:
                header = [cell.strip().lower() for cell in cells]
            elif len(cells) < len(header):
                dump.misfit("row shorter than its header", line, number)
            else:
                yield section, {"numports": "", **dict(zip(header, cells, strict=False))}, number


def _csv_link(
    dump: Dump,
    letters: dict[int, str],
    rates: dict[tuple[int, int], tuple[float, int]],
    row: dict[str, str],
    number: int,
) -> None:
    ends = []
    for side in "12":
        guid, port = _guid(row.get(f"nodeguid{side}", "")), _number(row.get(f"portnum{side}", ""))
        if guid is None or not 0 < port <= MAX_PORT:
            dump.misfit("link without two ports", " ".join(row.values()), number)
            return
        letter = letters.get(guid, "?")
        ends.append((dump.node(letter, f"{letter}-{guid:016x}", number) * 256 + port, (guid, port)))
    dump.understood += 1
    (near, here), (far, there) = ends
    if dump.is_itself(near, far, " ".join(row.values()), number):
        return
    open_rate = (float("nan"), MISSING)
    dump.add_half(near, far, *rates.get(here, open_rate), number)
    dump.add_half(far, near, *rates.get(there, open_rate), number)


def _guid(text: str) -> int | None:
    found = _GUID.match(text.strip())
    return int(found[1], 16) if found else None


def _bits(text: str) -> int:
    text = text.strip().lower()
    try:
        return int(text[:12], 16 if text.startswith("0x") else 10)
    except ValueError:
        return 0
