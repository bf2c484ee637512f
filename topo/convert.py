"""Fabrics to and from networkx, igraph and scipy.sparse; tables turn into pandas frames by ``to_frame``."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from topo.errors import InputError, ParameterError
from topo.fabric import (
    FORWARDS_ALL,
    FORWARDS_NOTHING,
    Fabric,
    GroupTable,
    LinkSet,
    LinkTable,
    NodeTable,
    Note,
    Origin,
    PortTable,
    expect_fabric,
)
from topo.table import Array, Labels, Table
from topo.units import parse_gbps

if TYPE_CHECKING:
    import igraph
    import networkx as nx
    from scipy.sparse import csr_array

__all__ = ["from_networkx", "to_igraph", "to_networkx", "to_sparse"]


def to_networkx(fabric: Fabric) -> nx.MultiGraph[int]:
    """An undirected multigraph: nodes keyed by node row, edges by link row, every column as an attribute.

    Edges also carry ``a_port`` and ``b_port``, the labels of their ports (end A is the node of ``port_a``).
    The graph's own attributes ``name``, ``ports`` and ``groups`` hold what nodes and edges cannot: all ports,
    free ones too, and shared-risk groups, as one mapping a row. :func:`from_networkx` is the inverse.

    >>> import topo
    >>> graph = to_networkx(topo.leaf_spine(leaves=2, spines=2, hosts_per_leaf=1, parallel=2))
    >>> graph.nodes[0]["name"], graph.number_of_edges(2, 4), graph.edges[0, 2, 0]["capacity_gbps"]
    ('host-1', 2, 400.0)
    """
    import networkx as nx

    expect_fabric(fabric)
    graph: nx.MultiGraph[int] = nx.MultiGraph(
        name=fabric.name, ports=_records(fabric.ports), groups=_records(fabric.groups)
    )
    graph.add_nodes_from(enumerate(_records(fabric.nodes)))
    ends = zip(fabric.link_a.tolist(), fabric.link_b.tolist(), _link_records(fabric), strict=True)
    graph.add_edges_from((a, b, row, record) for row, (a, b, record) in enumerate(ends))  # type: ignore[misc]
    return graph


def to_igraph(fabric: Fabric) -> igraph.Graph:
    """An undirected igraph multigraph: vertex i is node row i, edge i link row i, columns are attributes.

    >>> import topo
    >>> graph = to_igraph(topo.fat_tree(4))
    >>> graph.vcount(), graph.ecount(), graph.es[0]["kind"]
    (36, 48, 'access')
    """
    import igraph

    expect_fabric(fabric)
    edges = np.stack([fabric.link_a, fabric.link_b], axis=1).tolist()
    graph = igraph.Graph(n=len(fabric.nodes), edges=edges, directed=False)
    graph["name"] = fabric.name
    for name in fabric.nodes.columns():
        graph.vs[name] = _plain(fabric.nodes, name)
    for name in fabric.links.columns():
        graph.es[name] = _plain(fabric.links, name)
    graph.es["a_port"] = fabric.ports.label.values(fabric.links.port_a).tolist()
    graph.es["b_port"] = fabric.ports.label.values(fabric.links.port_b).tolist()
    return graph


def to_sparse(fabric: Fabric, weight: Literal["links", "capacity_gbps"] = "links") -> csr_array[Any, tuple[int, int]]:
    """The symmetric node x node matrix of parallel-link counts, or of summed capacity in Gb/s one direction.

    Cables that join a node to itself carry nothing and are left out, so the diagonal is 0. A link of capacity
    0 is stored, as a zero.

    >>> import topo
    >>> to_sparse(topo.leaf_spine(leaves=2, spines=2, hosts_per_leaf=1, parallel=3), "capacity_gbps")[2, 4]
    np.float64(1200.0)

    :raises InputError: capacities are asked for and a link has none known.
    :raises ParameterError: another weight.
    """
    from scipy.sparse import csr_array

    if weight not in ("links", "capacity_gbps"):
        raise ParameterError(f"weight is {weight!r}; it can be 'links' or 'capacity_gbps'")
    a, b = fabric.link_a, fabric.link_b
    keep = a != b
    values: Array = np.ones(len(a), np.int64)
    if weight == "capacity_gbps":
        values = fabric.links.capacity_gbps
        unknown = np.flatnonzero(np.isnan(values) & keep)
        if unknown.size:
            row = int(unknown[0])
            raise InputError(
                f"the rate of {unknown.size} link(s) is unknown, first {LinkSet.of(fabric, [row])[0]}; "
                "state one, or use weight='links'",
                path=fabric.links.source[row] or None,
                line=int(fabric.links.line[row]) or None,
            )
    pair = (np.concatenate([a[keep], b[keep]]), np.concatenate([b[keep], a[keep]]))
    n = len(fabric.nodes)
    matrix = csr_array((np.concatenate([values[keep], values[keep]]), pair), shape=(n, n))
    matrix.sum_duplicates()
    return matrix


def from_networkx(graph: nx.Graph[Any], *, name: str | None = None, capacity_gbps: float | str | None = None) -> Fabric:
    """The fabric of an undirected networkx graph; what :func:`to_networkx` wrote comes back equal.

    Any Graph or MultiGraph will do. An edge needs ``capacity_gbps`` (a number of Gb/s or text like '400G';
    nan is unknown) unless the argument states one for those without. Node names are the attribute ``name`` or
    the node's own id. Attributes named like columns fill them; others are ignored. Where no node says
    ``is_endpoint``, the nodes of exactly one edge are the endpoints. Where no node says ``forwards``,
    endpoints forward nothing, unless all nodes are endpoints, as in a torus. Where no node says ``tier``,
    switches get their distance to the nearest endpoint. ``origin.assumptions`` tells which of these rules
    were used.

    >>> import networkx as nx
    >>> fabric = from_networkx(nx.star_graph(4), capacity_gbps=100)
    >>> len(fabric.endpoints), fabric.nodes.kind[0], int(fabric.nodes.tier[0])
    (4, 'switch', 1)

    :raises InputError: a directed graph, or a node or edge attribute that cannot be used, named.
    """
    if graph.is_directed():
        raise InputError("the graph is directed; a link carries both directions, so give graph.to_undirected()")
    default = None if capacity_gbps is None else parse_gbps(capacity_gbps)
    keys = list(graph.nodes)
    position = {key: row for row, key in enumerate(keys)}
    edges = _ordered_edges(graph, position)
    assumptions: list[str] = []
    nodes = _node_table(graph, keys, edges, position, assumptions)
    ports, ends = _port_table(graph, edges, position)
    links = _link_table(edges, ports, ends, nodes, default)
    title = name if name is not None else str(graph.graph.get("name") or "networkx graph")
    origin = Origin(
        made_by="from_networkx",
        assumptions=tuple(assumptions),
        notes=tuple(Note(text) for text in assumptions),
    )
    return Fabric(title, nodes, ports, links, _group_table(graph), origin)


_Edge = tuple[Hashable, Hashable, Any, Mapping[str, Any]]


def _plain(table: Table, name: str) -> list[Any]:
    value = getattr(table, name)
    values: list[Any] = (value.values() if isinstance(value, Labels) else value).tolist()
    return values


def _records(table: Table) -> list[dict[str, Any]]:
    names = list(table.columns())
    return [dict(zip(names, row, strict=True)) for row in zip(*(_plain(table, n) for n in names), strict=True)]


def _link_records(fabric: Fabric) -> list[dict[str, Any]]:
    records = _records(fabric.links)
    labels_a = fabric.ports.label.values(fabric.links.port_a).tolist()
    labels_b = fabric.ports.label.values(fabric.links.port_b).tolist()
    for record, label_a, label_b in zip(records, labels_a, labels_b, strict=True):
        record["a_port"], record["b_port"] = label_a, label_b
    return records


def _ordered_edges(graph: nx.Graph[Any], position: Mapping[Any, int]) -> list[_Edge]:
    """Edges in the order of their keys where these are distinct integers, like link rows, else as they come."""
    if not graph.is_multigraph():
        return [(a, b, None, data) for a, b, data in graph.edges(data=True)]
    edges: list[_Edge] = list(graph.edges(keys=True, data=True))  # type: ignore[call-overload]
    keys = [edge[2] for edge in edges]
    if all(isinstance(key, int) for key in keys) and len(set(keys)) == len(keys):
        edges.sort(key=lambda edge: edge[2])
    return edges


def _edge_text(edge: _Edge) -> str:
    return f"edge {edge[0]!r} - {edge[1]!r}" + (f" (key {edge[2]!r})" if edge[2] is not None else "")


def _column(table: type[Table], name: str, values: list[Any], places: list[str]) -> Any:
    """A column from attribute values, None where one is missing; a value that does not fit is named."""
    spec = table.columns()[name]
    if spec.dtype is Labels:
        default = spec.default
        return Labels.of([default if value is None else str(value) for value in values])
    dtype = np.dtype(spec.dtype)
    filled = [spec.default if value is None else value for value in values]
    try:
        if dtype.kind == "U":
            return np.array([str(value) for value in filled], np.str_)
        array = np.array(filled)
        if array.dtype.kind not in "biuf" or array.ndim != 1:
            raise ValueError("not numbers")
        fits = array.astype(dtype)
        if dtype.kind in "iub" and not np.array_equal(fits, array):
            raise ValueError("not whole numbers in range")
        return fits
    except (ValueError, TypeError, OverflowError):
        bad = next((i for i, value in enumerate(filled) if not _fits(value, dtype)), 0)
        raise InputError(f"{places[bad]}: {name} is {filled[bad]!r}; expected {dtype.name} ({spec.meaning})") from None


def _fits(value: Any, dtype: np.dtype[Any]) -> bool:
    if isinstance(value, str) or not isinstance(value, (bool, int, float, np.generic)):
        return False
    if dtype.kind == "f":
        return True
    try:
        return bool(np.asarray(value).astype(dtype) == value)
    except (ValueError, TypeError, OverflowError):
        return False


def _given(table: type[Table], rows: list[Mapping[str, Any]], places: list[str], skip: set[str]) -> dict[str, Any]:
    """Columns that at least one row has an attribute for."""
    present = set().union(*(row.keys() for row in rows)) if rows else set()
    return {
        name: _column(table, name, [row.get(name) for row in rows], places)
        for name in table.columns()
        if name in present and name not in skip
    }


def _node_table(
    graph: nx.Graph[Any],
    keys: list[Any],
    edges: list[_Edge],
    position: Mapping[Any, int],
    assumptions: list[str],
) -> NodeTable:
    rows: list[Mapping[str, Any]] = [graph.nodes[key] for key in keys]
    places = [f"node {key!r}" for key in keys]
    columns = _given(NodeTable, rows, places, {"name"})
    columns["name"] = np.array([str(row.get("name", key)) for key, row in zip(keys, rows, strict=True)], np.str_)
    a = np.array([position[edge[0]] for edge in edges], np.int64)
    b = np.array([position[edge[1]] for edge in edges], np.int64)
    if "is_endpoint" not in columns:
        columns["is_endpoint"] = np.bincount(np.concatenate([a, b]), minlength=len(keys)) == 1
        assumptions.append(
            "no node says is_endpoint: the nodes of exactly one link are the endpoints, "
            f"{int(columns['is_endpoint'].sum())} of {len(keys)}"
        )
    is_endpoint = np.asarray(columns["is_endpoint"], bool)
    if "forwards" not in columns and is_endpoint.any() and not is_endpoint.all():
        columns["forwards"] = np.where(is_endpoint, FORWARDS_NOTHING, FORWARDS_ALL)
        assumptions.append("no node says forwards: endpoints forward nothing")
    if "kind" not in columns:
        columns["kind"] = Labels.of(np.where(is_endpoint, "host", "switch").tolist())
    if "host" not in columns:
        columns["host"] = Labels.of(np.where(is_endpoint, columns["name"], "").tolist())
    if "tier" not in columns:
        columns["tier"] = _tiers(a, b, is_endpoint)
        assumptions.append("no node says tier: switches have their distance to the nearest endpoint")
    return NodeTable(**columns)


def _tiers(a: Array, b: Array, is_endpoint: Array) -> Array:
    tier = np.where(is_endpoint, 0, -1)
    level = 0
    while level < 127:
        near = (tier[a] == level) | (tier[b] == level)
        new = np.unique(np.concatenate([a[near], b[near]]))
        new = new[tier[new] < 0]
        if not len(new):
            break
        level += 1
        tier[new] = level
    return np.maximum(tier, 0).astype(np.int8)


def _port_table(graph: nx.Graph[Any], edges: list[_Edge], position: Mapping[Any, int]) -> tuple[PortTable, Array]:
    """All ports, and the port rows (end A, end B) of each edge: those the graph lists, or new ones in order."""
    listed = graph.graph.get("ports")
    if not listed or any("port_a" not in edge[3] or "port_b" not in edge[3] for edge in edges):
        return _new_ports(edges, position)
    rows = [row for row in listed if row["node"] in position]
    new_row = {old: new for new, old in enumerate(i for i, row in enumerate(listed) if row["node"] in position)}
    places = [f"port {row}" for row in new_row]
    columns = _given(PortTable, rows, places, {"node"})
    columns["node"] = np.array([position[row["node"]] for row in rows], np.int32)
    ends = np.zeros((len(edges), 2), np.int32)
    for i, edge in enumerate(edges):
        for side, key in enumerate(("port_a", "port_b")):
            port = new_row.get(edge[3][key])
            if port is None or listed[edge[3][key]]["node"] not in edge[:2]:
                raise InputError(f"{_edge_text(edge)}: {key} is {edge[3][key]!r}, which is no port of its nodes")
            ends[i, side] = port
    return PortTable(**columns), ends


def _new_ports(edges: list[_Edge], position: Mapping[Any, int]) -> tuple[PortTable, Array]:
    node = np.array([position[end] for edge in edges for end in edge[:2]], np.int32)
    next_free: dict[int, int] = {}
    labels: list[str] = []
    for i, row in enumerate(node.tolist()):
        next_free[row] = next_free.get(row, 0) + 1
        given = edges[i // 2][3].get("b_port" if i % 2 else "a_port")
        labels.append(str(given) if given else str(next_free[row]))
    order = np.argsort(node, kind="stable")
    place = np.empty(len(node), np.int32)
    place[order] = np.arange(len(node), dtype=np.int32)
    ports = PortTable(node=node[order], label=Labels.of([labels[i] for i in order.tolist()]))
    return ports, place.reshape(-1, 2)


def _link_table(
    edges: list[_Edge], ports: PortTable, ends: Array, nodes: NodeTable, default: float | None
) -> LinkTable:
    rows = [edge[3] for edge in edges]
    places = [_edge_text(edge) for edge in edges]
    columns = _given(LinkTable, rows, places, {"port_a", "port_b", "capacity_gbps"})
    columns["capacity_gbps"] = np.array([_capacity(edge, default) for edge in edges], float)
    if "kind" not in columns:
        mixed = nodes.is_endpoint[ports.node[ends[:, 0]]] != nodes.is_endpoint[ports.node[ends[:, 1]]]
        columns["kind"] = Labels.of(np.where(mixed, "access", "scale_out").tolist())
    return LinkTable(port_a=ends[:, 0].astype(np.int32), port_b=ends[:, 1].astype(np.int32), **columns)


def _capacity(edge: _Edge, default: float | None) -> float:
    value = edge[3].get("capacity_gbps")
    if value is None:
        if default is None:
            raise InputError(
                f"{_edge_text(edge)} has no capacity_gbps; give the edge one, or state one for all such edges "
                "by the argument capacity_gbps"
            )
        return default
    if isinstance(value, float) and math.isnan(value):
        return value
    try:
        return parse_gbps(value)
    except (ParameterError, TypeError) as error:
        raise InputError(f"{_edge_text(edge)}: capacity_gbps: {error}") from None


def _group_table(graph: nx.Graph[Any]) -> GroupTable:
    rows = list(graph.graph.get("groups") or [])
    if not rows:
        return GroupTable(group=Labels.of([]), row=np.empty(0, np.int32))
    return GroupTable(**_given(GroupTable, rows, [f"group row {i}" for i in range(len(rows))], set()))
