"""Which nodes are meant: by globs over names of nodes and hosts, by rows, by a mask, by what their columns hold."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from topo.elements import NodeTable
from topo.errors import ParameterError
from topo.table import Labels, check_rows, glob_mask

__all__ = ["Selector", "matching_rows", "selected_rows"]

Selector = str | Sequence[str] | ArrayLike | None
"""Which nodes are meant: None for all, a glob or several over node and host names, rows, or a mask."""

_MOST_COMPARED = 5000


def selected_rows(nodes: NodeTable, which: Selector, *, of: str) -> NDArray[np.int64]:
    """Node rows meant by a selector; ``of`` is what the fabric is called.

    >>> table = NodeTable(name=["leaf-1", "nic-1", "nic-2"], host=["", "h1", "h2"])
    >>> selected_rows(table, ["leaf-*", "h2"], of="small").tolist()
    [0, 2]

    :raises ParameterError: a pattern that matches no node, or a row outside the table.
    """
    if which is None:
        return np.arange(len(nodes))
    if isinstance(which, str):
        which = [which]
    if isinstance(which, Sequence) and len(which) and all(isinstance(item, str) for item in which):
        mask = np.zeros(len(nodes), dtype=bool)
        for pattern in which:
            assert isinstance(pattern, str)
            hit = glob_mask(nodes.name, pattern) | nodes.host.matches(pattern)
            if not hit.any():
                raise ParameterError(f"no node or host of {of!r} matches {pattern!r}{_nearest(nodes, pattern)}")
            mask |= hit
        return np.flatnonzero(mask)
    array = np.asarray(which)
    return check_rows(array if array.size else array.astype(int), len(nodes), "nodes")


def matching_rows(
    nodes: NodeTable, name: str | Sequence[str], columns: Mapping[str, Any], *, of: str
) -> NDArray[np.int64]:
    """Rows of the nodes whose name matches and whose columns do: globs for labels, values for numbers.

    :raises ParameterError: no such column, or a name that no node bears.
    """
    mask = glob_mask(nodes.name, name) if name != "*" else np.ones(len(nodes), bool)
    if not mask.any() and len(mask):
        wanted = name if isinstance(name, str) else ", ".join(name)
        hint = "; it is a host: rows() takes hosts" if nodes.host.matches(name).any() else _nearest(nodes, wanted)
        raise ParameterError(f"no node of {of!r} has a name like {wanted!r}{hint}")
    for key, wanted in columns.items():
        if key not in nodes.columns():
            raise ParameterError(f"nodes have no column {key!r}; they have {', '.join(nodes.columns())}")
        values = getattr(nodes, key)
        if isinstance(values, Labels):
            mask &= values.matches(wanted)
        elif values.dtype.kind == "U":
            mask &= glob_mask(values, wanted)
        else:
            mask &= np.isin(values, wanted)
    return np.flatnonzero(mask)


def _nearest(nodes: NodeTable, pattern: str) -> str:
    """Names of nodes and hosts close to a pattern that matches none, as the end of an error."""
    some = nodes.name[:_MOST_COMPARED].tolist() + nodes.host.labels[:_MOST_COMPARED].tolist()
    names = list(dict.fromkeys(some))
    close = difflib.get_close_matches(pattern, names, n=3, cutoff=0.5)
    return f"; did you mean {', '.join(map(repr, close))}?" if close else f"; names look like {names[:3]}"
