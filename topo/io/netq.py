"""Read the topology graph of NVIDIA NetQ: JSON with nodes in tiers and links that bundle cables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from topo.errors import FormatError
from topo.fabric import Fabric
from topo.io.cables import CableBook
from topo.io.json_text import looks_like_json, parse_json

__all__ = ["is_netq", "read_netq"]


def is_netq(head: str) -> bool:
    """Whether it is JSON with NetQ's bundled links."""
    return looks_like_json(head) and '"compounded_links"' in head


def read_netq(text: str, source: str = "", *, hosts: Sequence[str] = ()) -> Fabric:
    """The fabric as NetQ found it: each of the ``compounded_links`` is a cable, between interfaces of two devices.

    >>> text = '''[{"nodes": [{"id": "n1", "name": "leaf1", "device_type": "switch"},
    ...                        {"id": "n2", "name": "gpu1", "device_type": "host"}],
    ...   "links": [{"compounded_links": [{"interfaces": [{"node": "n1", "interface": "swp1s0"},
    ...                                                   {"node": "n2", "interface": "eth0"}]}]}]}]'''
    >>> fabric = read_netq(text)
    >>> fabric.nodes.name.tolist(), fabric.ports.label.values().tolist()
    (['leaf1', 'gpu1'], ['swp1s0', 'eth0'])

    :raises FormatError: no links in it, or mostly links that are no pairs of interfaces.
    :raises InputError: not JSON.
    """
    value = parse_json(text, source)
    parts = value if isinstance(value, list) else [value]
    parts = [part for part in parts if isinstance(part, dict) and isinstance(part.get("links"), list)]
    if not parts:
        raise FormatError("no links in it; is this the topology graph of NetQ?", path=source or None)
    book = CableBook(source, "read_netq", hosts=hosts)
    name: dict[str, str] = {}
    for part in parts:
        for node in _devices(part.get("nodes"), 0):
            kind = str(node.get("device_type") or "")
            name[str(node["id"])] = title = str(node.get("name") or node["id"])
            book.node(
                title,
                kind="switch" if "switch" in kind else "host" if kind in ("host", "server") else "",
                uid=str(node["id"]),
            )
    for part in parts:
        for link in part["links"]:
            inside = link.get("compounded_links") if isinstance(link, dict) else None
            for each in inside if isinstance(inside, list) and inside else [link]:
                _cable(book, name, each)
    book.refuse_misread("NetQ's topology graph")
    return book.to_fabric()


def _devices(value: Any, depth: int) -> Iterator[dict[str, Any]]:
    """The devices among nodes, those inside tiers and groups too."""
    for node in value if isinstance(value, list) and depth < 16 else []:
        if not isinstance(node, dict):
            continue
        if isinstance(node.get("compounded_nodes"), list) and node["compounded_nodes"]:
            yield from _devices(node["compounded_nodes"], depth + 1)
        elif node.get("id") and node.get("node_type", "device") == "device":
            yield node


def _cable(book: CableBook, name: dict[str, str], link: Any) -> None:
    ends = link.get("interfaces") if isinstance(link, dict) else None
    good = isinstance(ends, list) and len(ends) == 2 and all(isinstance(end, dict) and end.get("node") for end in ends)
    if not isinstance(ends, list) or not good:
        book.misfit("link that is no pair of interfaces", str(link), 0)
        return
    ports = []
    for end in ends:
        node = str(end["node"])
        title = name.get(node, node)
        label = end.get("interface")
        ports.append(book.port(title, str(label)) if label else book.free_port(title))
    book.cable(*ports)
