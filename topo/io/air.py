"""Read NVIDIA Air topologies and HPE's paddle files (CCJ): JSON with nodes and the links between their interfaces."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from topo.errors import FormatError
from topo.fabric import Fabric
from topo.io.cables import CableBook, Rate
from topo.io.json_text import looks_like_json, parse_json
from topo.io.notes import quoted
from topo.io.schedule_columns import rack_unit

__all__ = ["is_air", "is_paddle", "read_air", "read_paddle"]


def is_air(head: str) -> bool:
    """Whether it is JSON whose content holds nodes of simulated machines."""
    return looks_like_json(head) and '"content"' in head and '"nodes"' in head and '"format"' in head


def is_paddle(head: str) -> bool:
    """Whether it is JSON as CANU writes it."""
    return looks_like_json(head) and '"canu_version"' in head and '"topology"' in head


def read_air(text: str, source: str = "", *, hosts: Sequence[str] = ()) -> Fabric:
    """The planned fabric of an NVIDIA Air topology in JSON; links into the outside are left out; no rates.

    >>> ends = '[{"node": "leaf1", "interface": "swp1"}, {"node": "server1", "interface": "eth1"}]'
    >>> fabric = read_air('{"content": {"nodes": {"leaf1": {}, "server1": {}}, "links": [%s]}}' % ends)
    >>> len(fabric.links), fabric.nodes.kind.values().tolist()
    (1, ['switch', 'host'])

    :raises FormatError: no nodes and links under ``content``, or mostly links that are no pairs of interfaces.
    :raises InputError: not JSON.
    """
    value = parse_json(text, source)
    content = value.get("content") if isinstance(value, dict) else None
    if not isinstance(content, dict) or not isinstance(content.get("links"), list):
        raise FormatError('no "links" under "content"; is this a topology of NVIDIA Air?', path=source or None)
    book = CableBook(source, "read_air", hosts=hosts)
    nodes = content.get("nodes") if isinstance(content.get("nodes"), dict) else {}
    for name, said in (nodes or {}).items():
        role = str(said.get("function") or "") if isinstance(said, dict) else ""
        system = str(said.get("os") or "") if isinstance(said, dict) else ""
        book.node(name, kind=role or ("switch" if system.startswith(("cumulus", "sonic")) else ""), part=system)
    for link in content["links"]:
        ends = link if isinstance(link, list) else []
        if len(ends) == 2 and any(isinstance(end, str) for end in ends):
            book.notes.add("link out of the simulation, left out", quoted(str(ends)))
            book.understood += 1
            continue
        good = len(ends) == 2 and all(
            isinstance(end, dict) and end.get("node") and end.get("interface") for end in ends
        )
        if not good:
            book.misfit("link that is no pair of interfaces", str(link), 0)
            continue
        book.cable(*(book.port(str(end["node"]), str(end["interface"])) for end in ends))
    book.refuse_misread("a topology of NVIDIA Air")
    return book.to_fabric(str(value.get("title") or ""))


def read_paddle(text: str, source: str = "", *, hosts: Sequence[str] = ()) -> Fabric:
    """The planned fabric of a paddle file, the JSON that CANU makes of an SHCD workbook; both ends list a cable.

    :raises FormatError: no ``topology``, or mostly ports that lead to no node of it.
    :raises InputError: not JSON.
    """
    value = parse_json(text, source)
    listed = value.get("topology") if isinstance(value, dict) else None
    if not isinstance(listed, list):
        raise FormatError('no list "topology"; is this a paddle file?', path=source or None)
    book = CableBook(source, "read_paddle", hosts=hosts)
    nodes = [node for node in listed if isinstance(node, dict)]
    name_of = {node.get("id"): str(node.get("common_name")) for node in nodes if isinstance(node.get("id"), int)}
    for node in nodes:
        is_switch = node.get("type") == "switch"
        location = node.get("location")
        place = location if isinstance(location, dict) else {}
        kind = "switch" if is_switch else "host" if node.get("type") in ("server", "node") else ""
        book.node(
            str(node.get("common_name")),
            kind=kind,
            part=str(node.get("model") or ""),
            rack=str(place.get("rack") or ""),
            rack_unit=rack_unit(str(place.get("elevation") or "")),
        )
    for node in nodes:
        ports = node.get("ports")
        for port in ports if isinstance(ports, list) else []:
            _paddle_port(book, name_of, node, port)
    book.refuse_misread("a paddle file")
    return book.to_fabric()


def _paddle_port(book: CableBook, name_of: dict[Any, str], node: dict[str, Any], port: Any) -> None:
    far = port.get("destination_node_id") if isinstance(port, dict) else None
    if (
        not isinstance(far, int)
        or far not in name_of
        or port.get("port") is None
        or port.get("destination_port") is None
    ):
        book.misfit("port without a far end in the file", str(port), 0)
        return
    near = book.port(str(node.get("common_name")), _label(port.get("slot"), port["port"]))
    there = book.port(name_of[far], _label(port.get("destination_slot"), port["destination_port"]))
    speed = port.get("speed")
    book.cable(near, there, rate=Rate.of(speed if isinstance(speed, (int, float)) else str(speed)) if speed else None)


def _label(slot: Any, port: Any) -> str:
    return f"{slot}:{port}" if slot else str(port)
