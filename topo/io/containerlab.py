"""Read containerlab topologies, and netlab ones that were expanded: YAML with links between named interfaces."""

from __future__ import annotations

import re
from typing import Any

from topo.document import Document, Place, kind_of_value
from topo.errors import FormatError
from topo.fabric import Fabric
from topo.io.cables import CableBook
from topo.io.notes import quoted
from topo.io.yaml_text import mapping_document, misshapen

__all__ = ["is_containerlab", "is_netlab", "read_containerlab", "read_netlab"]

_CLAB = re.compile(r"^topology[ \t]*:[ \t]*(?:#.*)?$", re.MULTILINE)
_ENDPOINTS = re.compile(r"^[ \t]+-?[ \t]*(?:- )?endpoints[ \t]*:|^[ \t]+links[ \t]*:", re.MULTILINE)
_NETLAB = re.compile(r"^(?:provider|defaults(?:\.\w+)*|module|plugin|addressing|input)[ \t]*:", re.MULTILINE)
_LINKS = re.compile(r"^links[ \t]*:", re.MULTILINE)
_OUTSIDE = {"host", "mgmt-net", "macvlan", "vxlan", "vxlan-stitch", "dummy"}
_HOST_KINDS = {"linux", "host"}


def is_containerlab(head: str) -> bool:
    """Whether a block ``topology:`` holds links."""
    return _CLAB.search(head) is not None and _ENDPOINTS.search(head) is not None


def is_netlab(head: str) -> bool:
    """Whether there are links at the top beside keys that only netlab has."""
    return _LINKS.search(head) is not None and _NETLAB.search(head) is not None


def read_containerlab(text: str, source: str = "") -> Fabric:
    """The planned fabric of a containerlab file. Nodes of kind ``linux`` are hosts, all others switches; no rates.

    >>> fabric = read_containerlab('''
    ... name: lab
    ... topology:
    ...   nodes: {leaf1: {kind: srl}, client1: {kind: linux}}
    ...   links:
    ...     - endpoints: ["leaf1:e1-1", "client1:eth1"]
    ... ''')
    >>> fabric.name, len(fabric.links), fabric.links.kind[0]
    ('lab', 1, 'access')

    :raises FormatError: a template, an endpoint that is no ``node:interface``, or one that is used twice.
    """
    document = mapping_document(text, source, "a containerlab file")
    value = document.value.get("topology")
    if not isinstance(value, dict) or not isinstance(value.get("links"), list):
        raise misshapen(document, ("topology",), "keys nodes: and links: are wanted here")
    book = CableBook(source, "read_containerlab")
    nodes = value.get("nodes") if isinstance(value.get("nodes"), dict) else {}
    default = value.get("defaults") if isinstance(value.get("defaults"), dict) else {}
    for name, said in (nodes or {}).items():
        kind = str(((said if isinstance(said, dict) else {}).get("kind") or (default or {}).get("kind")) or "")
        place: Place = ("topology", "nodes", name)
        part = str(said.get("type") or "") if isinstance(said, dict) else ""
        is_host = kind in _HOST_KINDS
        book.node(str(name), document.line(place), kind="host" if is_host else "switch" if kind else "", part=part)
    used: dict[int, int] = {}
    for i, link in enumerate(value["links"]):
        place = ("topology", "links", i)
        if not isinstance(link, dict) or not isinstance(link.get("endpoints"), list) or len(link["endpoints"]) != 2:
            raise misshapen(document, place, f"a link has two endpoints, this is {kind_of_value(link)}")
        line = document.line((*place, "endpoints"))
        ends = [_end(document, (*place, "endpoints", j), each) for j, each in enumerate(link["endpoints"])]
        if any(node in _OUTSIDE and node not in (nodes or {}) for node, _ in ends):
            book.notes.add("link out of the lab, left out", " - ".join(":".join(end) for end in ends), line)
            continue
        ports = [book.port(node, port, line) for node, port in ends]
        for port in ports:
            if port in used:
                where = f"{book.names[book.port_node[port]]}:{book.port_label[port]}"
                said = f"{where} has a link already, at line {used[port]}"
                raise FormatError(said, path=source or None, line=line)
            used[port] = line
        book.cable(*ports, line=line)
    book.refuse_misread("a containerlab file")
    return book.to_fabric(str(document.value.get("name") or ""))


def _end(document: Document, place: Place, value: Any) -> tuple[str, str]:
    if isinstance(value, dict):
        node, port = value.get("node"), value.get("interface")
        if isinstance(node, (str, int)) and isinstance(port, (str, int)):
            return str(node), str(port)
    if isinstance(value, str):
        name, colon, label = value.partition(":")
        if name and colon and label:
            return name, label
    raise misshapen(document, place, f"{quoted(str(value), 40)} is no node:interface")


def read_netlab(text: str, source: str = "") -> Fabric:
    """The planned fabric of a netlab topology after ``netlab create``: every link with its interfaces.

    Links of more than two nodes are shared segments, not cables: they are left out with a note.

    :raises FormatError: a topology that still needs netlab to expand it.
    """
    document = mapping_document(text, source, "a netlab topology")
    links, nodes = document.value.get("links"), document.value.get("nodes")
    needs = "netlab has to expand it first; give the output of netlab create -o yaml"
    if not isinstance(links, list) or not isinstance(nodes, dict):
        raise misshapen(document, ("links",), f"no list of links beside nodes; {needs}")
    book = CableBook(source, "read_netlab")
    for name, said in nodes.items():
        role = str(said.get("role") or "") if isinstance(said, dict) else ""
        device = str(said.get("device") or "") if isinstance(said, dict) else ""
        is_host = role == "host" or device in ("linux", "host")
        book.node(str(name), document.line(("nodes", name)), kind="host" if is_host else "switch", part=device)
    for i, link in enumerate(links):
        place: Place = ("links", i)
        ends = link.get("interfaces") if isinstance(link, dict) else None
        line = document.line(place)
        if not isinstance(ends, list) or not all(isinstance(end, dict) and end.get("ifname") for end in ends):
            raise misshapen(document, place, f"a link without interfaces that have a node: and an ifname:; {needs}")
        if len(ends) != 2:
            said = f"{len(ends)} nodes: {', '.join(str(end.get('node')) for end in ends[:6])}"
            book.notes.add("shared segment, not a cable; left out", said, line, severity="warning")
            book.understood += 1
            continue
        ports = [book.port(str(end.get("node")), str(end["ifname"]), line) for end in ends]
        book.cable(*ports, line=line)
    book.refuse_misread("a netlab topology")
    return book.to_fabric(str(document.value.get("name") or ""))
