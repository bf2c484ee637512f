"""Read graphs as other libraries write them: GraphML, and networkx's node-link JSON, parallel edges kept."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from topo.errors import FormatError
from topo.fabric import Fabric
from topo.io.cables import CableBook, Rate
from topo.io.halves import UNKNOWN
from topo.io.json_text import looks_like_json, parse_json
from topo.io.notes import quoted
from topo.io.xml_text import local_name, parse_xml

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

__all__ = ["is_graphml", "is_node_link", "read_graphml", "read_node_link"]

_ROLE_KEYS = ("kind", "role", "type", "function", "device_type", "node_type")
_RATE_KEYS = ("capacity_gbps", "capacity", "bandwidth", "speed", "rate", "gbps", "LinkSpeedRaw")
_OPTICAL = re.compile(r"OC-?(\d{1,4})c?\Z", re.IGNORECASE)


@dataclass(slots=True)
class _Graph:
    """Nodes by id with their attributes, edges as (source, target, attributes)."""

    directed: bool = False
    name: str = ""
    nodes: dict[str, Mapping[str, str]] = field(default_factory=dict)
    edges: list[tuple[str, str, Mapping[str, str]]] = field(default_factory=list)


def is_graphml(head: str) -> bool:
    """Whether the root element is graphml."""
    return "<graphml" in head[:65_536]


def is_node_link(head: str) -> bool:
    """Whether it is JSON as networkx's node_link_data makes it."""
    return looks_like_json(head) and '"nodes"' in head and '"multigraph"' in head


def read_graphml(text: str, source: str = "", *, hosts: Sequence[str] = ()) -> Fabric:
    """The fabric of a GraphML file: every edge a cable, parallel ones too; nodes by label, their id kept as uid.

    Rates come from ``capacity_gbps`` and the like (Gb/s), ``LinkSpeedRaw`` (b/s), or ``LinkSpeed`` with its unit; what
    a node is from ``kind``, ``role`` or ``type``, else its name, else it is a switch; ``hosts`` are globs of hosts.

    >>> fabric = read_graphml('''<graphml><graph edgedefault="undirected">
    ...   <node id="a"/><node id="b"/><edge source="a" target="b"/><edge source="a" target="b"/>
    ... </graph></graphml>''', hosts=["a"])
    >>> len(fabric.links), fabric.links.kind[0]
    (2, 'access')

    :raises FormatError: no graph in it, or an edge to a node that is not there.
    :raises InputError: not XML, or with entities.
    """
    root = parse_xml(text, source)
    if local_name(root) != "graphml":
        raise FormatError(f"the root element is {quoted(root.tag, 40)}, not graphml", path=source or None)
    names = {
        key.get("id", ""): key.get("attr.name") or key.get("id", "") or "" for key in root if local_name(key) == "key"
    }
    graphs = [element for element in root if local_name(element) == "graph"]
    if not graphs:
        raise FormatError("no graph in it", path=source or None)
    graph = _Graph(graphs[0].get("edgedefault") == "directed")
    graph.name = _data(graphs[0], names).get("Network", "")
    for element in graphs[0]:
        data = _data(element, names)
        if local_name(element) == "node":
            graph.nodes[element.get("id", "")] = data
        elif local_name(element) == "edge":
            for end in ("source", "target"):
                data[f"{end}_port"] = element.get(f"{end}port") or data.get(f"{end}_port", "")
            graph.edges.append((element.get("source", ""), element.get("target", ""), data))
    book = CableBook(source, "read_graphml", hosts=hosts)
    if len(graphs) > 1:
        book.notes.add(f"{len(graphs)} graphs in the file, the first is read", severity="warning")
    return _fabric(book, graph)


def _data(element: Element, names: Mapping[str, str]) -> dict[str, str]:
    found = {}
    for child in element:
        if local_name(child) == "data":
            found[names.get(child.get("key", ""), child.get("key", ""))] = (child.text or "").strip()
    return found


def read_node_link(text: str, source: str = "", *, hosts: Sequence[str] = ()) -> Fabric:
    """The fabric of a graph in networkx's node-link JSON; attributes as in :func:`read_graphml`.

    :raises FormatError: no nodes or links, or a link to a node that is not there.
    :raises InputError: not JSON.
    """
    value = parse_json(text, source)
    links = value.get("links", value.get("edges")) if isinstance(value, dict) else None
    if not isinstance(links, list) or not isinstance(value.get("nodes"), list):
        raise FormatError('lists "nodes" and "links" are wanted; is this node-link JSON?', path=source or None)
    graph = _Graph(value.get("directed") is True)
    book = CableBook(source, "read_node_link", hosts=hosts)
    for node in value["nodes"]:
        if not isinstance(node, dict) or "id" not in node:
            book.misfit("node without an id", str(node), 0)
            continue
        graph.nodes[_text(node["id"])] = {str(key): _text(each) for key, each in node.items() if key != "id"}
    for link in links:
        if not isinstance(link, dict) or "source" not in link or "target" not in link:
            book.misfit("link without source and target", str(link), 0)
            continue
        data = {str(key): _text(each) for key, each in link.items() if key not in ("source", "target")}
        graph.edges.append((_text(link["source"]), _text(link["target"]), data))
    return _fabric(book, graph)


def _text(value: Any) -> str:
    return "" if value is None else str(value)


def _fabric(book: CableBook, graph: _Graph) -> Fabric:
    titles = [data.get("name") or data.get("label") or key for key, data in graph.nodes.items()]
    times = Counter(titles)
    row = {}
    for (key, data), title in zip(graph.nodes.items(), titles, strict=True):
        role = next((data[each] for each in _ROLE_KEYS if data.get(each)), "")
        name = title if times[title] == 1 else f"{title} ({key})"
        row[key] = book.node(name, kind=role, uid=key if key != name and "is_endpoint" not in data else "")
        book.attributes(row[key], data)
    edges = _one_way(book, graph) if graph.directed else graph.edges
    for source, target, data in edges:
        for end in (source, target):
            if end not in row:
                raise FormatError(f"an edge ends at {quoted(end, 60)}, which is no node here", path=book.source or None)
        ends = [
            book.port(row[end], data[label]) if data.get(label) else book.free_port(row[end])
            for end, label in ((source, "source_port"), (target, "target_port"))
        ]
        book.cable(*ends, rate=_rate(data), **book.edge_attributes(data))
    book.refuse_misread("a graph of nodes and links")
    return book.to_fabric(graph.name)


def _one_way(book: CableBook, graph: _Graph) -> list[tuple[str, str, Mapping[str, str]]]:
    """A directed graph's edges as cables: one there and one back are a cable."""
    back: dict[tuple[str, str], int] = {}
    kept = []
    for source, target, data in graph.edges:
        if back.get((target, source), 0):
            back[target, source] -= 1
            continue
        back[source, target] = back.get((source, target), 0) + 1
        kept.append((source, target, data))
    paired = len(graph.edges) - len(kept)
    book.notes.add(
        f"directed graph: {paired:,} pairs of opposite edges are one cable each, {len(kept) - paired:,} have no pair"
    )
    return kept


def _rate(data: Mapping[str, str]) -> Rate:
    for key in _RATE_KEYS:
        if data.get(key) and key != "LinkSpeedRaw":
            return Rate.of(data[key])
        if data.get(key):
            try:
                return Rate.of(float(data[key]) / 1e9)
            except ValueError:
                return Rate(status=UNKNOWN)
    speed, unit = data.get("LinkSpeed", ""), data.get("LinkSpeedUnits", "")
    if speed:
        return Rate.of(speed, default_unit=unit)
    optical = _OPTICAL.match(data.get("LinkLabel", ""))
    return Rate.of(round(int(optical[1]) * 0.05184, 6)) if optical else Rate()
