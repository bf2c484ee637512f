"""What switches hear from their neighbours (LLDP) as XML and as text: lldpctl, EOS, NX-OS, IOS, SONiC."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from topo.errors import FormatError
from topo.io.cables import CableBook
from topo.io.lldp_heard import Heard, heard
from topo.io.xml_text import child_of, local_name, parse_xml, text_in

__all__ = ["is_lldp_text", "is_lldp_xml", "text_outputs", "xml_neighbours"]

_XML = re.compile(r"\s*(?:<\?xml[^>]{0,200}\?>\s*)?<lldp[\s>]")
_SIGN = re.compile(
    r"^\s*Device ID\s+Local Intf\b|^Port\s+Neighbor Device ID\b|^LocalPort\s+RemoteDevice\b"
    r"|^Interface \S+ detected \d+ LLDP neighbors|^LLDP neighbors:|^Chassis id:.*\n(?:.*\n){0,3}?(?:Local )?Port id:",
    re.MULTILINE,
)
_PROMPT = re.compile(
    r"(?:[\w.-]+@)?(?P<device>[A-Za-z][\w.-]{0,62})(?:\([\w-]+\))?(?::[^\s$#]{0,40})?\s?[#>$]\s*(?:sudo\s+)?"
    r"(?:sh[a-z]*\s+ll|lldp)",
    re.IGNORECASE,
)
_IOS_HEAD = re.compile(r"\s*Device ID\s+(?P<local>Local Intf)\b")
_EOS_HEAD = re.compile(r"Port\s+Neighbor Device ID\s+Neighbor Port ID")
_SONIC_HEAD = re.compile(r"LocalPort\s+RemoteDevice\s+RemotePortID")
_RULE = re.compile(r"[-=]{3,}(?:\s+[-=]{3,})*\s*\Z")
_COLUMNS = re.compile(r"-{2,}")
_IOS_TAIL = re.compile(
    r"(?:\s|\A)(?P<hold>\d{1,6})\s+(?:(?P<can>[A-Z](?:,?[A-Z]){0,9}|-)\s+)?(?P<port>\S+(?: \S+){0,4})\s*\Z"
)
_EOS_ROW = re.compile(r"(?P<local>\S+)\s+(?P<far>\S+(?: \S+)*?)\s+(?P<port>\S+(?: \S+)*?)\s+(?P<ttl>\d{1,6})\s*\Z")
_BLOCKS = (
    ("interface", re.compile(r"Interface (\S+) detected \d+ LLDP neighbors", re.IGNORECASE)),
    ("neighbour", re.compile(r"(Neighbor) \S+/.*\bage\b", re.IGNORECASE)),
    ("begin", re.compile(r"Interface:\s+(\S+?),")),
    ("local", re.compile(r"Local (?:Intf|Interface|Port id)\s*:\s*(.*)", re.IGNORECASE)),
    ("chassis", re.compile(r"(?:Chassis ?id)\s*:\s*(.*)", re.IGNORECASE)),
    ("port", re.compile(r"Port ?id\s*:\s*(.*)", re.IGNORECASE)),
    ("about", re.compile(r"(?:Port ?(?:description|descr))\s*:\s*(.*)", re.IGNORECASE)),
    ("name", re.compile(r"(?:System Name|SysName)\s*:\s*(.*)", re.IGNORECASE)),
)
_KIND_OF_ID = re.compile(r"(?:mac|ifname|local|ifalias|ip|component|subtype \d+)\s+(?=\S)")
_SKIPPED = re.compile(
    r"Capability codes|\([A-Z]\) |Total |Last table change|Number of table|Codes:|show |lldp |LLDP neighbors:", re.I
)
_LONGEST_LINE = 4096


def is_lldp_xml(head: str) -> bool:
    """Whether the root element is that of ``lldpctl -f xml``."""
    return _XML.match(head) is not None


def is_lldp_text(head: str) -> bool:
    """Whether the header of a table of neighbours stands in it, or the words that open each of the long form."""
    return _SIGN.search(head) is not None


def xml_neighbours(book: CableBook, device: str, text: str, source: str) -> Iterator[Heard]:
    """The neighbours in ``lldpctl -f xml``; an interface that is listed twice has two.

    :raises FormatError: another root element.
    :raises InputError: not XML, or with entities.
    """
    root = parse_xml(text, source)
    if local_name(root) != "lldp":
        raise FormatError("XML that is not lldpctl's; its root is <lldp>", path=source or None)
    for interface in root.iter():
        if local_name(interface) == "interface":
            chassis, port = child_of(interface, "chassis"), child_of(interface, "port")
            name = text_in(chassis, "name") or text_in(chassis, "id")
            yield from heard(book, device, interface.get("name"), name, text_in(port, "id"), text_in(port, "descr"))


@dataclass(slots=True)
class _Log:
    """What one text has told so far: neighbours by device, and the record that is being read."""

    book: CableBook
    device: str
    found: dict[str, list[Heard]] = field(default_factory=dict)
    read_row: Callable[[_Log, str, int], bool] | None = None
    starts: list[int] = field(default_factory=list)
    column: int = 0
    pending: str = ""
    said: dict[str, str] = field(default_factory=dict)
    interface: str = ""
    line: int = 0

    def add(self, port: str, name: str, far: str, about: str, line: int, *, cut: bool = False) -> None:
        listed = self.found.setdefault(self.device, [])
        listed += heard(self.book, self.device, port, name, far, about, line=line, cut=cut)

    def flush(self) -> None:
        """End the record of the long form that is being read."""
        said, self.said = self.said, {}
        if said.keys() - {"local"}:
            name = said.get("name") or said.get("chassis", "")
            self.add(said.get("local", ""), name, said.get("port", ""), said.get("about", ""), self.line)


def text_outputs(book: CableBook, text: str, device: str) -> dict[str, list[Heard]]:
    """Neighbours by the device that hears them: the one whose prompt stands before the command, else ``device``.

    Tables (``show lldp neighbors``, SONiC's ``show lldp table``) and the long form (``... detail``, ``lldpctl``) are
    known; an IOS name of 20 characters that runs into the next column is taken apart at that column and marked as
    cut, and a name alone on its line (NX-OS) belongs to the next.
    """
    log = _Log(book, device)
    for number, raw in enumerate(text.split("\n"), 1):
        line = raw.rstrip().expandtabs()
        if len(line) > _LONGEST_LINE:
            book.misfit(f"line of more than {_LONGEST_LINE:,} characters skipped", line, number)
        elif not line.strip():
            log.pending = ""
        elif not _is_layout(log, line):
            _read_line(log, line, number)
    log.flush()
    return log.found


def _is_layout(log: _Log, line: str) -> bool:
    """Whether a line is a prompt, a header or a rule, which say how the next lines are to be read."""
    prompt = _PROMPT.match(line.strip())
    if prompt:
        log.flush()
        log.device, log.read_row = prompt["device"], None
        return True
    for pattern, read_row in ((_IOS_HEAD, _ios_row), (_EOS_HEAD, _eos_row), (_SONIC_HEAD, _sonic_row)):
        head = pattern.match(line)
        if head:
            log.read_row, log.pending, log.starts = read_row, "", []
            log.column = head.start("local") if pattern is _IOS_HEAD else 0
            return True
    if _RULE.match(line):
        if log.read_row and not log.starts:
            log.starts = [found.start() for found in _COLUMNS.finditer(line)]
        return True
    return _SKIPPED.match(line.strip()) is not None


def _read_line(log: _Log, line: str, number: int) -> None:
    if _read_long(log, line, number):
        return
    if log.read_row is not None and not log.said and not log.read_row(log, line, number):
        log.book.misfit("line not understood", line, number)


def _read_long(log: _Log, line: str, number: int) -> bool:
    """Whether a line belongs to the long form: ``key: value``, and what opens a record."""
    plain = line.strip().removeprefix("- ").strip()
    for key, pattern in _BLOCKS:
        found = pattern.match(plain)
        if not found:
            continue
        value = _plain(found[1])
        if key in ("interface", "neighbour", "begin") or (key in log.said and key in ("chassis", "local")):
            log.flush()
        elif key == "local" and "chassis" in log.said and "name" in log.said:
            log.flush()  # IOS opens a record with it; NX-OS has it between the port and the name
        if key in ("interface", "neighbour", "begin"):
            log.interface = found[1] if key != "neighbour" else log.interface
            log.said = {"local": log.interface} if key != "interface" else {}
            log.line = number
            return True
        if not log.said:
            log.line = number
        if value:
            log.said.setdefault(key, value)
        return True
    return False


def _plain(value: str) -> str:
    value = _KIND_OF_ID.sub("", value.strip(), count=1).strip().strip('"')
    return "" if value.lower().lstrip("- ") in ("not advertised", "null", "") else value


def _ios_row(log: _Log, line: str, number: int) -> bool:
    tail = _IOS_TAIL.search(line)
    if tail is None:
        if log.pending or " " in line.strip():
            return False
        log.pending = line.strip()  # NX-OS: the name has a line of its own
        return True
    front, cut = line[: tail.start()].rstrip(), False
    name, _, port = front.rpartition(" ")
    if line[:1] == " " and not name.strip():
        name, log.pending = log.pending, ""
    elif not name.strip() and 0 < log.column < len(front):
        name, port, cut = front[: log.column], front[log.column :], True
    if not name.strip() or not port:
        return False
    cut = cut or (len(name.strip()) == log.column == 20)
    log.add(port, name, tail["port"], "", number, cut=cut)
    return True


def _eos_row(log: _Log, line: str, number: int) -> bool:
    row = _EOS_ROW.match(line)
    if row is None:
        return False
    log.add(row["local"], row["far"], row["port"], "", number)
    return True


def _sonic_row(log: _Log, line: str, number: int) -> bool:
    starts = log.starts
    if len(starts) < 3:
        return False
    cells = [line[a:b].strip() for a, b in zip(starts, [*starts[1:], len(line)], strict=True)]
    if not cells[0] or not cells[1]:
        return False
    log.add(cells[0], cells[1], cells[2], cells[4] if len(cells) > 4 else "", number)
    return True
