"""Read topologies of SONiC's testbed (sonic-mgmt): which port of the switch under test goes to which neighbour."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from topo.errors import FormatError
from topo.fabric import Fabric
from topo.io.cables import CableBook
from topo.io.yaml_text import mapping_document

__all__ = ["is_testbed", "read_testbed"]

_TOP = re.compile(r"^topology[ \t]*:[ \t]*(?:#.*)?$", re.MULTILINE)
_INSIDE = re.compile(r"^[ \t]+(?:VMs|host_interfaces|vm_offset|devices_interconnect_interfaces)[ \t]*:", re.MULTILINE)
_PLACE = re.compile(r"(?:(\d{1,3})\.)?(\d{1,5})(?:@(\d{1,5}))?\Z")


def is_testbed(head: str) -> bool:
    """Whether the neighbours or the host's interfaces of a testbed stand beneath ``topology``."""
    return _TOP.search(head) is not None and _INSIDE.search(head) is not None


def read_testbed(text: str, source: str = "", *, hosts: Sequence[str] = ()) -> Fabric:
    """The cables of a testbed's topology: ``vlans`` of each neighbour and ``host_interfaces`` are ports of the switch.

    The switch under test is ``dut``, or ``dut-0``, ``dut-1`` where an entry reads ``1.16@8`` (device, port, port of the
    host; one without its host has to stand in quotes, as YAML takes 1.16 for a number). A port of a neighbour has the
    number that its place in ``vlans`` gives, ``Ethernet1`` the first; the host that injects packets is ``ptf``. What
    the entries beneath ``configuration`` set up is no cable and is not kept.

    >>> fabric = read_testbed('''topology:
    ...   host_interfaces: [0, 1]
    ...   VMs:
    ...     ARISTA01T1: {vlans: [28, 29], vm_offset: 0}
    ... ''')
    >>> fabric.nodes.name.tolist(), len(fabric.links)
    (['dut', 'ARISTA01T1', 'ptf'], 4)

    :raises FormatError: no port in it.
    :raises InputError: not YAML.
    """
    document = mapping_document(text, source, "a topology of SONiC's testbed")
    top = document.value.get("topology")
    top = top if isinstance(top, dict) else {}
    book = CableBook(source, "read_testbed", hosts=hosts)
    several = re.search(r"\b\d+\.\d+(?:@\d+)?", str(top.get("host_interfaces")) + str(top.get("VMs"))) is not None
    _dut(book, several, 0)
    machines = top.get("VMs")
    for name, said in machines.items() if isinstance(machines, dict) else ():
        line = document.line(("topology", "VMs", name))
        vlans = said.get("vlans") if isinstance(said, dict) else None
        book.node(str(name), line, kind="switch")
        for place, entry in enumerate(vlans if isinstance(vlans, list) else [], 1):
            _cable(book, several, entry, str(name), f"Ethernet{place}", line)
    line, entries = document.line(("topology", "host_interfaces")), top.get("host_interfaces")
    for entry in entries if isinstance(entries, list) else []:
        for one in entry.split(",") if isinstance(entry, str) else [entry]:
            _cable(book, several, one, "ptf", "", line)
    joined = top.get("devices_interconnect_interfaces")
    for entry in joined.values() if isinstance(joined, dict) else ():
        _joined(book, entry, document.line(("topology", "devices_interconnect_interfaces")))
    if "configuration" in document.value:
        book.notes.add("addresses and protocols beneath configuration are no cables; not kept")
    if not len(book.near) and not book.odd:
        raise FormatError("no neighbour and no host interface with a port in it", path=source or None)
    book.refuse_misread("a topology of SONiC's testbed")
    return book.to_fabric()


def _dut(book: CableBook, several: bool, number: int) -> int:
    return book.node(f"dut-{number}" if several else "dut", kind="switch")


def _place(entry: Any) -> tuple[int, str, str] | None:
    # A number with a point is none: YAML makes 0.3 of port 30 of device 0.
    found = _PLACE.match(str(entry).strip()) if isinstance(entry, (int, str)) else None
    return (int(found[1] or 0), found[2], found[3] or found[2]) if found else None


def _cable(book: CableBook, several: bool, entry: Any, far: str, far_port: str, line: int) -> None:
    place = _place(entry)
    if place is None or isinstance(entry, bool):
        book.misfit("entry that is no port of the switch", str(entry), line)
        return
    dut, port, other = place
    row = book.node(far, line, kind="host" if far == "ptf" else "switch")
    label = far_port or f"eth{other if not several else f'{dut}.{other}' if '@' not in str(entry) else other}"
    book.cable(book.port(_dut(book, several, dut), port, line), book.port(row, label, line), line=line)


def _joined(book: CableBook, entry: Any, line: int) -> None:
    ends = [_place(one) for one in entry] if isinstance(entry, list) else []
    good = [end for end in ends if end is not None]
    if len(good) != 2 or len(ends) != 2:
        book.misfit("interconnection without two ports", str(entry), line)
        return
    a, b = (book.port(_dut(book, True, dut), port, line) for dut, port, _ in good)
    book.cable(a, b, line=line)
