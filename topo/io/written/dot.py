"""Write a fabric as DOT with ports: ``"leaf-1":"33" -- "spine-1":"1" [capacity_gbps=400]``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from topo.io.written import Written, left_unsaid, port_names, unique_names
from topo.io.written.graph import EDGE_COLUMNS, NODE_COLUMNS, edge_attributes, node_attributes
from topo.output import plain
from topo.view.text import escape_xml

if TYPE_CHECKING:
    from topo.fabric import Fabric

__all__ = ["write_dot"]


def write_dot(fabric: Fabric) -> Written:
    """The fabric as a DOT graph, one edge a cable, each end ``"node":"port"``; our own reader takes it back.

    Columns that say something become attributes of nodes and edges; rates are ``capacity_gbps``, one direction. A node
    is drawn as a table, its name over a cell for each port with a cable, where Graphviz ends the edges.

    >>> import topo
    >>> text = write_dot(topo.leaf_spine(leaves=1, spines=1, hosts_per_leaf=1)).content
    >>> text.splitlines()[-2]
    '  "leaf-1":"2" -- "spine-1":"1" [capacity_gbps="400", kind="scale_out"];'
    """
    names, lost = unique_names(fabric)
    lines = [f"graph {_quoted(fabric.name)} {{"]
    attributes, changed = node_attributes(fabric, names)
    label, relabelled = port_names(fabric, commas=True)
    lost += [*changed, *relabelled]
    node = fabric.ports.node.tolist()
    cells: list[list[str]] = [[] for _ in names]
    for port in np.unique(np.concatenate([fabric.links.port_a, fabric.links.port_b])).tolist():
        text = escape_xml(label[port])
        cells[node[port]].append(f'<td port="{text}">{text}</td>')
    lines.append('  node [shape="plain"];')
    for name, said, ports in zip(names, attributes, cells, strict=True):
        lines.append(f"  {_quoted(name)} [{', '.join([_table(name, ports), *_said(said)])}];")
    ends = zip(fabric.links.port_a.tolist(), fabric.links.port_b.tolist(), edge_attributes(fabric), strict=True)
    for a, b, said in ends:
        sides = (f"{_quoted(names[node[port]])}:{_quoted(label[port])}" for port in (a, b))
        lines.append(f"  {' -- '.join(sides)} [{', '.join(_said(said))}];")
    lines.append("}")
    lost += [] if len(fabric.links) else ["that this is a fabric: no link is in it, and nodes alone are not read again"]
    lost += left_unsaid(fabric, nodes=NODE_COLUMNS, ports=("label",), links=EDGE_COLUMNS)
    return Written("\n".join(lines) + "\n", tuple(lost))


def _quoted(text: str) -> str:
    escaped = plain(text).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _said(attributes: dict[str, str]) -> list[str]:
    return [f"{key}={_quoted(value)}" for key, value in attributes.items()]


def _table(name: str, cells: list[str]) -> str:
    """The label of a node: its name over its ports."""
    under = f"<tr>{''.join(cells)}</tr>" if cells else ""
    return f'label=<<table><tr><td colspan="{max(len(cells), 1)}">{escape_xml(name)}</td></tr>{under}</table>>'
