"""Put a fabric together from blocks of nodes and arrays of links; ports are numbered as cables are added."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from topo.errors import ParameterError
from topo.fabric import (
    FORWARDS_ALL,
    Fabric,
    LinkTable,
    NodeTable,
    Origin,
    PortTable,
    grouped_order,
)
from topo.table import Array, Labels, freeze, repeated

__all__ = ["Assembly", "numbered"]

_GROUPS = ("host", "domain", "rail", "plane", "pod", "rack", "chassis", "part")


def numbered(pattern: str, *counters: ArrayLike) -> NDArray[np.str_]:
    """Names from a pattern with one ``{}`` for each integer array, zero-padded to the widest value.

    >>> numbered("su-{}-leaf-{}", [1, 1, 2], [9, 10, 9]).tolist()
    ['su-1-leaf-09', 'su-1-leaf-10', 'su-2-leaf-09']
    """
    pieces = pattern.split("{}")
    if len(pieces) != len(counters) + 1:
        raise ParameterError(f"{pattern!r} has {len(pieces) - 1} fields for {len(counters)} counters")
    arrays = [np.asarray(counter, dtype=np.int64) for counter in counters]
    n = len(arrays[0]) if arrays else 1
    columns: list[Array] = []
    for i, piece in enumerate(pieces):
        if piece:
            text = np.array([ord(letter) for letter in piece], dtype=np.uint32)
            columns.append(np.broadcast_to(text, (n, len(piece))))
        if i < len(arrays):
            columns.append(_digits(arrays[i]))
    matrix = np.ascontiguousarray(np.concatenate(columns, axis=1), dtype=np.uint32)
    names: NDArray[np.str_] = matrix.view(f"<U{matrix.shape[1]}").ravel()
    return names


def _digits(values: Array) -> Array:
    width = len(str(int(values.max()))) if values.size else 1
    powers = 10 ** np.arange(width - 1, -1, -1, dtype=np.int64)
    return (values[:, None] // powers % 10 + ord("0")).astype(np.uint32)


class Assembly:
    """A fabric being put together. Add nodes, connect them, :meth:`finish`.

    Each node's ports are numbered from 1 in the order its cables are added; a node with a ``radix`` keeps its
    unused ports as free ports, and may not use more than it has.

    >>> from topo.fabric import FORWARDS_NOTHING
    >>> assembly = Assembly("pair")
    >>> leaf = assembly.add_nodes(["leaf"], kind="switch", tier=1, radix=4, port_gbps=400)
    >>> host = assembly.add_nodes(["h1", "h2"], kind="host", is_endpoint=True, forwards=FORWARDS_NOTHING)
    >>> assembly.connect(host, np.repeat(leaf, 2), 400, kind="access")
    >>> fabric = assembly.finish()
    >>> len(fabric.ports), fabric.ports.label[1]
    (6, '2')
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._names: list[Array] = []
        self._columns: list[dict[str, Any]] = []
        self._radix: list[Array] = []
        self._port_gbps: list[Array] = []
        self._n_nodes = 0
        self._ends: list[Array] = []
        self._rates: list[float] = []
        self._kinds: list[str] = []

    def add_nodes(
        self,
        names: ArrayLike,
        *,
        kind: str,
        tier: int = 0,
        is_endpoint: bool = False,
        forwards: int = FORWARDS_ALL,
        radix: int = 0,
        port_gbps: float = np.nan,
        local_index: ArrayLike | None = None,
        **groups: Labels | str | None,
    ) -> NDArray[np.int64]:
        """Add a block of nodes that share kind, tier and radix; returns their rows.

        ``groups`` gives host, domain, rail, plane, pod, rack, chassis or part: one label, or Labels of equal length.
        """
        block = np.asarray(names, dtype=np.str_)
        n = len(block)
        unknown = set(groups) - set(_GROUPS)
        if unknown:
            raise ParameterError(f"unknown group column {sorted(unknown)[0]!r}; known: {', '.join(_GROUPS)}")
        values: dict[str, Any] = {
            "kind": kind,
            "tier": tier,
            "is_endpoint": is_endpoint,
            "forwards": forwards,
        }
        values["local_index"] = repeated(-1, n, np.int16) if local_index is None else np.asarray(local_index, np.int16)
        for group in _GROUPS:
            given = groups.get(group)
            values[group] = given if isinstance(given, Labels) else Labels.constant(given, n)
        self._names.append(block)
        self._columns.append(values)
        self._radix.append(repeated(radix, n, np.int64))
        self._port_gbps.append(repeated(port_gbps, n, np.float64))
        rows = np.arange(self._n_nodes, self._n_nodes + n)
        self._n_nodes += n
        return rows

    def connect(self, a: ArrayLike, b: ArrayLike, gbps: float, *, kind: str = "scale_out") -> None:
        """One link for each pair of ``a[i]`` and ``b[i]``, of ``gbps`` in each direction."""
        ends = np.stack(np.broadcast_arrays(np.asarray(a), np.asarray(b)), axis=-1).reshape(-1, 2)
        self._ends.append(ends.astype(np.int32))
        self._rates.append(float(gbps))
        self._kinds.append(kind)

    def stripe(
        self, lower: ArrayLike, upper: ArrayLike, parallel: int, gbps: float, *, kind: str = "scale_out"
    ) -> None:
        """Join every node of ``lower`` to every node of ``upper`` by ``parallel`` links, within each leading group.

        Arrays of shape (..., n_lower) and (..., n_upper) with equal leading shape: each group is joined within itself.
        """
        low, up = np.asarray(lower), np.asarray(upper)
        pair_a = np.repeat(low[..., :, None], up.shape[-1], axis=-1)
        pair_b = np.broadcast_to(up[..., None, :], pair_a.shape)
        self.connect(np.repeat(pair_a.ravel(), parallel), np.repeat(pair_b.ravel(), parallel), gbps, kind=kind)

    def finish(self, origin: Origin | None = None) -> Fabric:
        """The fabric.

        :raises ParameterError: a node with more cables than its radix, named with both numbers.
        """
        nodes = self._node_table()
        n = len(nodes)
        ends = np.concatenate(self._ends) if self._ends else np.empty((0, 2), np.int32)
        counts = [len(block) for block in self._ends]
        flat = ends.ravel()
        used = np.bincount(flat, minlength=n)
        radix = np.concatenate(self._radix) if self._radix else np.empty(0, np.int64)
        over = np.flatnonzero((radix > 0) & (used > radix))
        if over.size:
            row = int(over[0])
            raise ParameterError(
                f"{nodes.name[row]} needs {used[row]} ports but has a radix of {radix[row]}; "
                f"{over.size} node(s) are over their radix: use fewer links or a larger switch"
            )
        size = np.maximum(used, radix)
        start = np.concatenate([[0], np.cumsum(size)])
        order = grouped_order(flat, n)
        first = np.cumsum(used) - used
        port_of_end = np.empty(len(flat), np.int32)
        port_of_end[order] = np.repeat((start[:-1] - first).astype(np.int32), used) + np.arange(
            len(flat), dtype=np.int32
        )
        ports = self._port_table(size, start, port_of_end, counts)
        pair = port_of_end.reshape(-1, 2)
        kinds = list(dict.fromkeys(self._kinds))
        codes = np.repeat(np.array([kinds.index(kind) for kind in self._kinds], np.int32), counts)
        links = LinkTable(
            port_a=_sealed(np.ascontiguousarray(pair[:, 0])),
            port_b=_sealed(np.ascontiguousarray(pair[:, 1])),
            capacity_gbps=_sealed(np.repeat(np.array(self._rates, float), counts)),
            kind=Labels(_sealed(codes), kinds),
        )
        return Fabric(self.name, nodes, ports, links, origin=origin or Origin())

    def _node_table(self) -> NodeTable:
        sizes = [len(block) for block in self._names]
        scalar: dict[str, Any] = {
            key: _sealed(np.repeat(np.array([c[key] for c in self._columns], dtype), sizes))
            for key, dtype in (("tier", np.int8), ("is_endpoint", np.bool_), ("forwards", np.int8))
        }
        groups: dict[str, Any] = {key: _joined([c[key] for c in self._columns]) for key in _GROUPS}
        kinds = list(dict.fromkeys(c["kind"] for c in self._columns))
        kind = np.repeat(np.array([kinds.index(c["kind"]) for c in self._columns], np.int32), sizes)
        name = np.concatenate(self._names) if self._names else np.empty(0, "U1")
        local = np.concatenate([c["local_index"] for c in self._columns]) if self._columns else np.empty(0, np.int16)
        return NodeTable(
            name=_sealed(name),
            kind=Labels(_sealed(kind), kinds),
            local_index=_sealed(local),
            **scalar,
            **groups,
        )

    def _port_table(self, size: Array, start: Array, port_of_end: Array, counts: list[int]) -> PortTable:
        n_ports = int(start[-1])
        node = np.repeat(np.arange(len(size), dtype=np.int32), size)
        ordinal = np.arange(n_ports, dtype=np.int32) - start[:-1].astype(np.int32)[node]
        gbps = np.repeat(np.concatenate(self._port_gbps) if self._port_gbps else np.empty(0), size)
        if self._rates:
            rate = np.repeat(np.array(self._rates, float), 2 * np.array(counts))
            unknown = np.isnan(gbps[port_of_end])
            gbps[port_of_end[unknown]] = rate[unknown]
        labels = np.arange(1, int(size.max(initial=0)) + 1).astype(np.str_)
        return PortTable(node=_sealed(node), label=Labels(_sealed(ordinal), labels), gbps=_sealed(gbps))


def _sealed(array: Array) -> Array:
    array.flags.writeable = False
    return array


def _joined(columns: list[Labels]) -> Labels:
    """One coded column from several, labels merged by text."""
    if all(not len(c.labels) for c in columns):
        return Labels.constant(None, sum(map(len, columns)))
    tables = [c.labels for c in columns if len(c.labels)]
    distinct = list({id(t): t for t in tables}.values())
    merged, inverse = np.unique(np.concatenate(distinct), return_inverse=True)
    offsets = dict(zip(map(id, distinct), np.cumsum([0] + [len(t) for t in distinct[:-1]]), strict=True))
    codes = []
    for c in columns:
        if not len(c.labels):
            codes.append(c.codes)
            continue
        lookup = np.append(inverse[offsets[id(c.labels)] :][: len(c.labels)], -1).astype(np.int32)
        codes.append(lookup[c.codes])
    return Labels(_sealed(np.concatenate(codes)), freeze(merged))
