"""Read what switches hear from their neighbours (LLDP), as JSON, XML or text; one device a file, or several files."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import PurePath
from typing import Any

from topo.errors import FormatError
from topo.fabric import Fabric
from topo.io.cables import CableBook
from topo.io.json_text import looks_like_json, parse_json
from topo.io.lldp_heard import Heard, heard
from topo.io.lldp_text import is_lldp_text, is_lldp_xml, text_outputs, xml_neighbours
from topo.io.notes import quoted

__all__ = ["is_lldp", "read_lldp", "read_lldp_files"]

_SIGNS = re.compile(r'"(?:lldpNeighbors|lldpNeighborInfo|remote_system_name|remote_port|hostname|lldp)"\s*:')
_SHORT = re.compile(r"([A-Za-z-]+)\s*(\d.*)\Z")


def is_lldp(head: str) -> bool:
    """Whether it is JSON with the keys of LLDP neighbours, lldpctl's XML, or a table or list that a switch prints."""
    if looks_like_json(head):
        return _SIGNS.search(head) is not None and '"nodes"' not in head
    return is_lldp_xml(head) or is_lldp_text(head)


def read_lldp(text: str, source: str = "", *, hosts: Sequence[str] = ()) -> Fabric:
    """The fabric that one device hears of, named as its file is; or several, in an object of device to output.

    See :func:`read_lldp_files`.

    >>> leaf = '{"swp1": [{"hostname": "s1", "port": "swp7"}]}'
    >>> spine = '{"swp7": [{"hostname": "l1.dc", "port": "swp1"}]}'
    >>> fabric = read_lldp(f'{{"l1": {leaf}, "s1": {spine}}}')
    >>> fabric.nodes.name.tolist(), fabric.links.evidence[0]
    (['l1', 's1'], 'both ends')

    :raises FormatError: no neighbour in it.
    :raises InputError: neither text of a switch nor JSON nor XML.
    """
    return read_lldp_files([(text, source)], hosts=hosts)


def read_lldp_files(texts: Sequence[tuple[str, str]], *, hosts: Sequence[str] = ()) -> Fabric:
    """The fabric that several devices hear of, each text with the name of its file, which names the device.

    Both ends of a cable merge into one link with evidence ``both ends``; one that a single device hears is ``one end``.
    A neighbour's name is matched to a device exactly, then without its domain where only one fits; its port name
    exactly, then as an abbreviation (``Et1`` for ``Ethernet1``). A port told by a MAC address alone goes by its
    description where there is one.

    :raises FormatError: no neighbour in them, or a device twice.
    :raises InputError: neither text of a switch nor JSON nor XML.
    """
    first = texts[0][1] if texts else ""
    book = CableBook(first, "read_lldp", evidence="found", hosts=hosts)
    told: dict[str, list[Heard]] = {}
    file_of: dict[str, str] = {}
    for text, source in texts:
        for device, listed in _outputs(book, text, source):
            if device in told:
                raise FormatError(
                    f"device {quoted(device, 60)} is there twice; give each file once", path=source or None
                )
            told[device], file_of[device] = listed, source
    if not any(told.values()):
        if book.odd:
            book.refuse_misread("LLDP neighbours")
        raise FormatError("no LLDP neighbour in it; give the output of the device as JSON", path=first or None)
    if len(texts) > 1:
        book.notes.add(f"{len(texts)} files, a device each")
    for device in told:
        book.node(device, kind="switch")
    by_short: dict[str, list[str]] = {}
    for device in told:
        by_short.setdefault(device.split(".")[0].casefold(), []).append(device)
    ports = {device: {each.port for each in listed} for device, listed in told.items()}
    for device, listed in told.items():
        for each in listed:
            far = _matched(book, told, by_short, each)
            far_port = _port_of(book, ports.get(far, set()), each)
            near = book.port(device, each.port) if each.port else book.free_port(device)
            end = book.port(far, far_port) if far_port else book.free_port(far)
            book.also_called(end, each.mac, each.far_port, each.about)
            book.cable(near, end, line=each.line, file=file_of[device])
    book.refuse_misread("LLDP neighbours")
    return book.to_fabric()


def _outputs(book: CableBook, text: str, source: str) -> Iterator[tuple[str, list[Heard]]]:
    """Each device of a text with what it hears."""
    device = _device_of(source)
    if looks_like_json(text[:1000]):
        for name, value in _devices(parse_json(text, source), source):
            yield name, list(_neighbours(book, name, value))
    elif text.lstrip()[:1] == "<":
        yield device, list(xml_neighbours(book, device, text, source))
    else:
        yield from text_outputs(book, text, device).items()


def _device_of(source: str) -> str:
    return PurePath(source).name.split(".")[0] or "device"


def _devices(value: Any, source: str) -> Iterator[tuple[str, Any]]:
    """Each device with its output: one named by the file, or several in an object."""
    values = value.values() if isinstance(value, dict) and "lldp" not in value and "lldpNeighbors" not in value else ()
    if values and all(isinstance(each, dict) and _is_output(each) for each in values):
        yield from ((str(name), each) for name, each in value.items())
        return
    yield _device_of(source), value


def _is_output(value: dict[str, Any]) -> bool:
    return "lldpNeighbors" in value or "lldp" in value or any(isinstance(each, list) for each in value.values())


def _neighbours(book: CableBook, device: str, value: Any) -> Iterator[Heard]:
    if not isinstance(value, dict):
        raise FormatError("an object with ports is wanted at the top", path=book.source or None)
    listed = value.get("lldpNeighbors")
    if isinstance(listed, list):
        for each in listed:
            said = each if isinstance(each, dict) else {}
            yield from heard(book, device, said.get("port"), said.get("neighborDevice"), said.get("neighborPort"), "")
    elif isinstance(value.get("lldp"), (dict, list)):
        yield from _lldpctl(book, device, value["lldp"])
    else:
        for port, found in (listed if isinstance(listed, dict) else value).items():
            inside = found.get("lldpNeighborInfo") if isinstance(found, dict) else found
            for each in inside if isinstance(inside, list) else []:
                yield from _detail(book, device, str(port), each)


def _detail(book: CableBook, device: str, port: str, said: Any) -> Iterator[Heard]:
    said = said if isinstance(said, dict) else {}
    info = said.get("neighborInterfaceInfo")
    info = info if isinstance(info, dict) else {}
    name = said.get("systemName") or said.get("remote_system_name") or said.get("hostname")
    name = name or said.get("chassisId") or said.get("remote_chassis_id")
    far = info.get("interfaceId_v2") or info.get("interfaceId") or said.get("remote_port") or said.get("port")
    about = info.get("interfaceDescription") or said.get("remote_port_description") or ""
    yield from heard(book, device, port, name, far, about)


def _lldpctl(book: CableBook, device: str, value: Any) -> Iterator[Heard]:
    """``lldpctl -f json``: interfaces as an object or a list; every name and id may be text or an object."""
    groups = value if isinstance(value, list) else [value]
    for group in groups:
        interfaces = group.get("interface") if isinstance(group, dict) else None
        for each in interfaces if isinstance(interfaces, list) else [interfaces]:
            if not isinstance(each, dict):
                continue
            named = [(str(each["name"]), each)] if isinstance(each.get("name"), str) else list(each.items())
            for port, said in named:
                for one in said if isinstance(said, list) else [said]:
                    yield from _lldpctl_one(book, device, str(port), one if isinstance(one, dict) else {})


def _lldpctl_one(book: CableBook, device: str, port: str, said: dict[str, Any]) -> Iterator[Heard]:
    chassis, far = _first(said.get("chassis")), _first(said.get("port"))
    name = _value(chassis.get("name"))
    if not name and len(chassis) == 1:
        name = next(iter(chassis))
    yield from heard(
        book, device, port, name or _value(chassis.get("id")), _value(far.get("id")), _value(far.get("descr"))
    )


def _first(value: Any) -> dict[str, Any]:
    if isinstance(value, list):
        value = value[0] if value else {}
    return value if isinstance(value, dict) else {}


def _value(said: Any) -> str:
    if isinstance(said, list):
        said = said[0] if said else ""
    if isinstance(said, dict):
        said = said.get("value", "")
    return said if isinstance(said, str) else ""


def _matched(book: CableBook, told: dict[str, list[Heard]], by_short: dict[str, list[str]], each: Heard) -> str:
    """The device that a neighbour's name means: exactly, without its domain, or by its beginning, if one alone fits."""
    name = each.far
    if name in told:
        return name
    close = by_short.get(name.split(".")[0].casefold(), [])
    same = [device for device in close if "." not in device or "." not in name or device.casefold() == name.casefold()]
    if len(same) == 1:
        return same[0]
    if len(same) > 1:
        said = f"{name}: {', '.join(same[:4])}"
        book.notes.add("name fits several devices, kept apart", said, each.line, severity="warning")
    elif each.cut:
        begun = [device for device in told if device.startswith(name)]
        if len(begun) == 1:
            book.notes.add("name cut short, taken for the device that begins so", f"{name}: {begun[0]}", each.line)
            return begun[0]
        book.notes.add("name as long as its column, it may have lost its end", name, each.line, severity="warning")
    return name


def _port_of(book: CableBook, known: set[str], each: Heard) -> str:
    """The port among a device's own that a neighbour's word for it means, or else its description."""
    label = each.far_port
    for said in (label, each.about):
        found = _fitting(known, said)
        if found:
            if said != label:
                book.notes.add("neighbour's port found by its description", f"{each.far} {label}: {said}", each.line)
            return found
    return label


def _fitting(known: set[str], label: str) -> str:
    if label in known:
        return label
    found = _SHORT.match(label)
    if found is None:
        return ""
    fits = [
        port
        for port in known
        if (own := _SHORT.match(port)) and own[2] == found[2] and _is_short(own[1].lower(), found[1].lower())
    ]
    return fits[0] if len(fits) == 1 else ""


def _is_short(one: str, other: str) -> bool:
    return one.startswith(other) or other.startswith(one)
