"""What writers of graphs (DOT, GraphML) say of nodes and cables: the columns that hold something, as text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from topo.io.written import as_written, host_titles
from topo.table import Array, Labels, Table

if TYPE_CHECKING:
    from topo.fabric import Fabric

__all__ = ["EDGE_COLUMNS", "NODE_COLUMNS", "edge_attributes", "node_attributes"]

NODE_COLUMNS = (
    "name", "uid", "kind", "tier", "is_endpoint", "forwards", "host", "domain", "local_index", "rail", "plane", "pod",
    "rack", "rack_unit", "chassis", "part", "coordinates",
)  # fmt: skip
"""Columns of nodes that become attributes; :data:`topo.io.cables.NODE_COLUMNS` are those that readers take back."""

EDGE_COLUMNS = ("capacity_gbps", "kind", "cable", "length_m")


def node_attributes(fabric: Fabric, names: Sequence[str]) -> tuple[list[dict[str, str]], list[str]]:
    """One mapping a node, every column but the name that says something on that row; and what was changed for that.

    ``names`` are those that the nodes are written under, which no host may share.
    """
    rows = _rows(fabric.nodes, NODE_COLUMNS[1:], always=("kind", "tier", "is_endpoint", "forwards"))
    hosts, lost = host_titles(fabric, names)
    odd = set[tuple[str, str]]()
    for row, host in zip(rows, hosts, strict=True):
        for column, text in row.items():
            row[column] = host if column == "host" else as_written(text)
            if column != "host" and row[column] != text:
                odd.add((column, text))
    said = f"{len(odd):,} labels of nodes are written otherwise: on one line, blanks drawn together"
    return rows, [*lost, *([said] if odd else [])]


def edge_attributes(fabric: Fabric) -> list[dict[str, str]]:
    """One mapping a link; rates in Gb/s of one direction, lengths in metres."""
    return _rows(fabric.links, EDGE_COLUMNS, always=("kind",))


def _rows(table: Table, names: tuple[str, ...], always: tuple[str, ...]) -> list[dict[str, str]]:
    rows: list[dict[str, str]] = [{} for _ in range(len(table))]
    for name in names:
        value, default = getattr(table, name), table.columns()[name].default
        text = _text(value)
        for row in np.flatnonzero(_said(value, default, name in always)).tolist():
            rows[row][name] = text[row]
    return rows


def _said(value: Array | Labels, default: object, always: bool) -> Array:
    if isinstance(value, Labels):
        return value.codes >= 0
    if value.dtype.kind == "f":
        return ~np.isnan(value)
    return np.ones(len(value), bool) if always else np.asarray(value != default)


def _text(value: Array | Labels) -> list[str]:
    if isinstance(value, Labels):
        return [str(label) for label in value.values().tolist()]
    if value.dtype.kind == "f":
        return [f"{number:.15g}" for number in value.tolist()]
    if value.dtype.kind == "b":
        return [str(int(flag)) for flag in value.tolist()]
    return [str(each) for each in value.tolist()]
