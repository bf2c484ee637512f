"""Write a fabric as GraphML, parallel cables kept, ports named at both ends."""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.sax.saxutils import escape, quoteattr

from topo.io.written import Written, left_unsaid, port_names, unique_names
from topo.io.written.graph import EDGE_COLUMNS, NODE_COLUMNS, edge_attributes, node_attributes
from topo.output import plain

if TYPE_CHECKING:
    from topo.fabric import Fabric

__all__ = ["write_graphml"]

_NUMBERS = {"tier": "int", "is_endpoint": "int", "forwards": "int", "local_index": "int", "cable": "int",
            "capacity_gbps": "double", "length_m": "double"}  # fmt: skip


def write_graphml(fabric: Fabric) -> Written:
    """The fabric as undirected GraphML: an edge a cable with an id of its own, ``source_port`` and ``target_port``.

    Ids of nodes are ``n0``, ``n1``, ...; their name is the attribute ``label``. Rates are ``capacity_gbps`` in Gb/s.

    >>> import topo, networkx as nx
    >>> text = write_graphml(topo.fat_tree(4)).content
    >>> graph = nx.parse_graphml(text, force_multigraph=True)
    >>> graph.number_of_nodes(), graph.number_of_edges()
    (36, 48)
    """
    names, lost = unique_names(fabric)
    keys = [("node", name) for name in ("label", *NODE_COLUMNS[1:])]
    keys += [("edge", name) for name in ("source_port", "target_port", *EDGE_COLUMNS)]
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">']
    for what, name in keys:
        kind = _NUMBERS.get(name, "string")
        lines.append(f'  <key id="{what}_{name}" for="{what}" attr.name="{name}" attr.type="{kind}"/>')
    lines.append(f'  <graph id={quoteattr(plain(fabric.name))} edgedefault="undirected">')
    attributes, changed = node_attributes(fabric, names)
    label, relabelled = port_names(fabric, commas=True)
    lost += [*changed, *relabelled]
    for row, (name, said) in enumerate(zip(names, attributes, strict=True)):
        lines.append(f'    <node id="n{row}">{_data("node", {"label": name} | said)}</node>')
    node = fabric.ports.node.tolist()
    ends = zip(fabric.links.port_a.tolist(), fabric.links.port_b.tolist(), edge_attributes(fabric), strict=True)
    for row, (a, b, said) in enumerate(ends):
        data = _data("edge", {"source_port": label[a], "target_port": label[b]} | said)
        lines.append(f'    <edge id="e{row}" source="n{node[a]}" target="n{node[b]}">{data}</edge>')
    lines += ["  </graph>", "</graphml>"]
    lost += left_unsaid(fabric, nodes=NODE_COLUMNS, ports=("label",), links=EDGE_COLUMNS)
    return Written("\n".join(lines) + "\n", tuple(lost))


def _data(what: str, said: dict[str, str]) -> str:
    return "".join(
        f'<data key="{what}_{key}">{escape(plain(value))}</data>' for key, value in said.items() if value != ""
    )
