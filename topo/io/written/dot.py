"""Write a fabric as DOT with ports: ``"leaf-1":"33" -- "spine-1":"1" [capacity_gbps=400]``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from topo.io.written import Written, left_unsaid, port_names, unique_names
from topo.io.written.graph import EDGE_COLUMNS, NODE_COLUMNS, edge_attributes, node_attributes
from topo.output import plain

if TYPE_CHECKING:
    from topo.fabric import Fabric

__all__ = ["write_dot"]


def write_dot(fabric: Fabric) -> Written:
    """The fabric as a DOT graph, one edge a cable, each end ``"node":"port"``; our own reader takes it back.

    Columns that say something become attributes of nodes and edges; rates are ``capacity_gbps``, one direction.

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
    for name, said in zip(names, attributes, strict=True):
        lines.append(f"  {_quoted(name)}{_attributes(said)};")
    node = fabric.ports.node.tolist()
    ends = zip(fabric.links.port_a.tolist(), fabric.links.port_b.tolist(), edge_attributes(fabric), strict=True)
    for a, b, said in ends:
        sides = (f"{_quoted(names[node[port]])}:{_quoted(label[port])}" for port in (a, b))
        lines.append(f"  {' -- '.join(sides)}{_attributes(said)};")
    lines.append("}")
    lost += left_unsaid(fabric, nodes=NODE_COLUMNS, ports=("label",), links=EDGE_COLUMNS)
    return Written("\n".join(lines) + "\n", tuple(lost))


def _quoted(text: str) -> str:
    escaped = plain(text).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _attributes(said: dict[str, str]) -> str:
    return f" [{', '.join(f'{key}={_quoted(value)}' for key, value in said.items())}]" if said else ""
