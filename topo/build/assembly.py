"""Put a fabric together from blocks of nodes and arrays of links; ports are numbered as cables are added."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
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
)
from topo.table import Array, Labels, freeze, grouped_order, repeated, sealed

__all__ = ["MOST_ROWS", "Assembly", "numbered", "refuse_too_many"]

MOST_ROWS = 64_000_000
"""Most nodes, and most links, of a fabric that is built: some ten gigabytes."""

_MOST_LEGS = 64

_GROUPS = ("host", "domain", "rail", "plane", "pod", "rack", "chassis", "part", "coordinates")
_CAGED = ("access", "scale_out", "storage", "management")


def refuse_too_many(number: float, what: str) -> None:
    """Refuse a number of nodes or links that no memory holds, before anything is allocated for them.

    :raises ParameterError: naming the number and the most that is built.
    """
    if number > MOST_ROWS:
        raise ParameterError(f"{number:,.0f} {what} would be built; at most {MOST_ROWS:,} are, use smaller numbers")


def numbered(pattern: str, *counters: ArrayLike) -> NDArray[np.str_]:
    """Names from a pattern with one ``{}`` for each integer array, zero-padded to the widest value.

    >>> numbered("su-{}-leaf-{}", [1, 1, 2], [9, 10, 9]).tolist()
    ['su-1-leaf-09', 'su-1-leaf-10', 'su-2-leaf-09']

    :raises ParameterError: another number of fields than of arrays.
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
    unused ports as free ports, and may not use more than it has. A breakout takes one port of the radix and
    shows as its legs, ``7/1`` and ``7/2``.

    >>> from topo.fabric import FORWARDS_NOTHING
    >>> assembly = Assembly("pair")
    >>> leaf = assembly.add_nodes(["leaf"], kind="switch", tier=1, radix=4, port_gbps=400, ports_per_cage=2)
    >>> host = assembly.add_nodes(["h1", "h2"], kind="host", is_endpoint=True, forwards=FORWARDS_NOTHING)
    >>> assembly.connect(host, np.repeat(leaf, 2), 200, kind="access", legs=2)
    >>> fabric = assembly.finish()
    >>> fabric.ports.label.values().tolist(), fabric.ports.cage.tolist(), fabric.links.cable.tolist()
    (['1/1', '1/2', '2', '3', '4', '1', '1'], [0, 0, 0, 1, 1, -1, -1], [0, 0])
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._names: list[Array] = []
        self._columns: list[dict[str, Any]] = []
        self._radix: list[Array] = []
        self._port_gbps: list[Array] = []
        self._per_cage: list[Array] = []
        self._own_cage: list[Array] = []
        self._n_own_cages = 0
        self._n_nodes = 0
        self._ends: list[Array] = []
        self._rates: list[float] = []
        self._kinds: list[str] = []
        self._legs: list[Array | None] = []
        self._cables: list[Array | None] = []
        self._n_cables = 0
        self._prefix = ""
        self._defaults: dict[str, Labels | str | None] = {}

    @contextmanager
    def within(self, prefix: str, **groups: str) -> Iterator[None]:
        """Nodes added inside have names that start with ``prefix`` and the given groups where they name none.

        >>> assembly = Assembly("two planes")
        >>> for p in ("1", "2"):
        ...     with assembly.within(f"plane-{p}-", plane=p):
        ...         _ = assembly.add_nodes(["leaf"], kind="switch", tier=1)
        >>> nodes = assembly.finish().nodes
        >>> nodes.name.tolist(), nodes.plane.values().tolist()
        (['plane-1-leaf', 'plane-2-leaf'], ['1', '2'])
        """
        before = self._prefix, self._defaults
        self._prefix, self._defaults = self._prefix + prefix, {**self._defaults, **groups}
        try:
            yield
        finally:
            self._prefix, self._defaults = before

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
        ports_per_cage: int = 0,
        cages: ArrayLike | None = None,
        local_index: ArrayLike | None = None,
        **groups: Labels | str | None,
    ) -> NDArray[np.int64]:
        """Add a block of nodes that share kind, tier and radix; returns their rows.

        ``groups`` gives host, domain, rail, plane, pod, rack, chassis, part or coordinates: one label, or Labels of
        equal length.
        With ``ports_per_cage`` a node's ports share cages in order. ``cages`` instead gives one whole number a node:
        nodes of equal number have their cabled ports in one cage, as two adapters behind a twin-port cage do.
        """
        block = np.asarray(names, dtype=np.str_)
        n = len(block)
        unknown = set(groups) - set(_GROUPS)
        if unknown:
            raise ParameterError(f"unknown group column {sorted(unknown)[0]!r}; known: {', '.join(_GROUPS)}")
        refuse_too_many(self._n_nodes + n, "nodes")
        if ports_per_cage < 0:
            raise ParameterError(f"ports_per_cage is {ports_per_cage}; it must be 0 where cages are unknown, or more")
        values: dict[str, Any] = {
            "kind": kind,
            "tier": tier,
            "is_endpoint": is_endpoint,
            "forwards": forwards,
        }
        values["local_index"] = repeated(-1, n, np.int16) if local_index is None else np.asarray(local_index, np.int16)
        for group in _GROUPS:
            given = groups.get(group)
            given = self._defaults.get(group) if given is None else given
            values[group] = given if isinstance(given, Labels) else Labels.constant(given, n)
        self._names.append(np.char.add(self._prefix, block) if self._prefix else block)
        self._columns.append(values)
        self._radix.append(repeated(radix, n, np.int64))
        self._port_gbps.append(repeated(port_gbps, n, np.float64))
        self._per_cage.append(repeated(ports_per_cage, n, np.int64))
        self._own_cage.append(self._numbered_cages(cages, n))
        rows = np.arange(self._n_nodes, self._n_nodes + n)
        self._n_nodes += n
        return rows

    def _numbered_cages(self, cages: ArrayLike | None, n: int) -> Array:
        if cages is None:
            return repeated(-1, n, np.int64)
        distinct, number = np.unique(np.asarray(cages), return_inverse=True)
        if len(number) != n:
            raise ParameterError(f"cages has {len(number)} numbers for {n} nodes; give one for each node")
        number = number + self._n_own_cages
        self._n_own_cages += len(distinct)
        return number

    def connect(self, a: ArrayLike, b: ArrayLike, gbps: float, *, kind: str = "scale_out", legs: int = 1) -> None:
        """One link for each pair of ``a[i]`` and ``b[i]``, of ``gbps`` in each direction.

        With ``legs`` the nodes of ``b`` split their ports: so many successive links of a node are legs of one
        cable that takes one port of its radix.
        """
        if not 1 <= legs <= _MOST_LEGS:
            raise ParameterError(f"a breakout of {legs} is asked for; a port splits into at most {_MOST_LEGS} legs")
        ends = np.stack(np.broadcast_arrays(np.asarray(a), np.asarray(b)), axis=-1).reshape(-1, 2)
        self._ends.append(ends.astype(np.int32))
        self._rates.append(float(gbps))
        self._kinds.append(kind)
        leg = cable = None
        if legs > 1:
            leg, cable = _split(ends[:, 1], legs, self._n_nodes)
            cable += self._n_cables
            self._n_cables = int(cable.max(initial=self._n_cables - 1)) + 1
        self._legs.append(leg)
        self._cables.append(cable)

    def stripe(
        self, lower: ArrayLike, upper: ArrayLike, parallel: int, gbps: float, *, kind: str = "scale_out", legs: int = 1
    ) -> None:
        """Join every node of ``lower`` to every node of ``upper`` by ``parallel`` links, within each leading group.

        Arrays of shape (..., n_lower) and (..., n_upper) with equal leading shape: each group is joined within itself.
        With ``legs`` the nodes of ``lower`` split their ports, and stand second in the links.
        """
        low, up = np.asarray(lower), np.asarray(upper)
        refuse_too_many(float(low.size) * up.shape[-1] * parallel + sum(map(len, self._ends)), "links")
        pair_a = np.repeat(low[..., :, None], up.shape[-1], axis=-1)
        pair_b = np.broadcast_to(up[..., None, :], pair_a.shape)
        ends = (np.repeat(pair_a.ravel(), parallel), np.repeat(pair_b.ravel(), parallel))
        self.connect(*(ends if legs == 1 else ends[::-1]), gbps, kind=kind, legs=legs)

    def finish(self, origin: Origin | None = None) -> Fabric:
        """The fabric.

        :raises ParameterError: a node with more cables than its radix, or a cable faster than its port, named with
            both numbers.
        """
        nodes = self._node_table()
        n = len(nodes)
        ends = _concatenated(self._ends, np.int32).reshape(-1, 2)
        counts = np.array([len(block) for block in self._ends], np.int64)
        flat = ends.ravel()
        leg = self._leg_of_end(counts)
        radix = _concatenated(self._radix, np.int64)
        slots = np.bincount(flat if leg is None else flat[leg <= 0], minlength=n)
        self._refuse_overfull(nodes, radix, slots)
        used = np.bincount(flat, minlength=n)
        size = used + np.maximum(radix - slots, 0)
        refuse_too_many(float(size.sum()) / 2, "pairs of ports")
        start = np.concatenate([[0], np.cumsum(size)])
        order = grouped_order(flat, n)
        first = np.cumsum(used) - used
        port_of_end = np.empty(len(flat), np.int32)
        port_of_end[order] = np.repeat((start[:-1] - first).astype(np.int32), used) + np.arange(
            len(flat), dtype=np.int32
        )
        ports = self._port_table(size, start, port_of_end, counts, leg)
        pair = port_of_end.reshape(-1, 2)
        kinds = list(dict.fromkeys(self._kinds))
        codes = np.repeat(np.array([kinds.index(kind) for kind in self._kinds], np.int32), counts)
        links = LinkTable(
            port_a=sealed(np.ascontiguousarray(pair[:, 0])),
            port_b=sealed(np.ascontiguousarray(pair[:, 1])),
            capacity_gbps=sealed(np.repeat(np.array(self._rates, float), counts)),
            kind=Labels(sealed(codes), kinds),
            cable=self._cable_of_link(counts),
        )
        return Fabric(self.name, nodes, ports, links, origin=origin or Origin())

    def _leg_of_end(self, counts: Array) -> Array | None:
        """-1 for the end of a whole cable, else the number of the leg; None where nothing is split."""
        if not self._n_cables:
            return None
        leg = np.full((int(counts.sum()), 2), -1, np.int8)
        for low, block in zip(np.cumsum(counts) - counts, self._legs, strict=True):
            if block is not None:
                leg[low : low + len(block), 1] = block
        return leg.ravel()

    def _cable_of_link(self, counts: Array) -> Array:
        if not self._n_cables:
            return repeated(-1, int(counts.sum()), np.int32)
        blocks = [
            repeated(-1, int(count), np.int32) if cable is None else cable
            for count, cable in zip(counts, self._cables, strict=True)
        ]
        return sealed(np.concatenate(blocks).astype(np.int32))

    def _refuse_overfull(self, nodes: NodeTable, radix: Array, slots: Array) -> None:
        over = np.flatnonzero((radix > 0) & (slots > radix))
        if over.size:
            row = int(over[0])
            raise ParameterError(
                f"{nodes.name[row]} needs {slots[row]} ports but has a radix of {radix[row]}; "
                f"{over.size} node(s) are over their radix: use fewer links or a larger switch"
            )
        port_gbps = _concatenated(self._port_gbps, np.float64)
        for ends, rate, leg in zip(self._ends, self._rates, self._legs, strict=True):
            whole = rate if leg is None else rate * (1 + int(leg.max(initial=0)))
            for column, wanted in ((0, rate), (1, whole)):
                slow = np.flatnonzero(port_gbps[ends[:, column]] < wanted * (1 - 1e-9))
                if slow.size:
                    row = int(ends[slow[0], column])
                    raise ParameterError(
                        f"{nodes.name[row]} would carry {wanted:g} Gb/s on a port of {port_gbps[row]:g} Gb/s; "
                        "use slower links, fewer legs on a port, or a faster switch"
                    )

    def _node_table(self) -> NodeTable:
        sizes = [len(block) for block in self._names]
        scalar: dict[str, Any] = {
            key: sealed(np.repeat(np.array([c[key] for c in self._columns], dtype), sizes))
            for key, dtype in (("tier", np.int8), ("is_endpoint", np.bool_), ("forwards", np.int8))
        }
        groups: dict[str, Any] = {key: _joined([c[key] for c in self._columns]) for key in _GROUPS}
        kinds = list(dict.fromkeys(c["kind"] for c in self._columns))
        kind = np.repeat(np.array([kinds.index(c["kind"]) for c in self._columns], np.int32), sizes)
        name = np.concatenate(self._names) if self._names else np.empty(0, "U1")
        local = np.concatenate([c["local_index"] for c in self._columns]) if self._columns else np.empty(0, np.int16)
        return NodeTable(
            name=sealed(name),
            kind=Labels(sealed(kind), kinds),
            local_index=sealed(local),
            **scalar,
            **groups,
        )

    def _port_table(self, size: Array, start: Array, port_of_end: Array, counts: Array, leg: Array | None) -> PortTable:
        n_ports = int(start[-1])
        node = np.repeat(np.arange(len(size), dtype=np.int32), size)
        gbps = np.repeat(_concatenated(self._port_gbps, np.float64), size)
        if self._rates:
            rate = np.repeat(np.array(self._rates, float), 2 * counts)
            own = np.isnan(gbps[port_of_end])
            if leg is not None:
                own |= leg >= 0
            gbps[port_of_end[own]] = rate[own]
        slot: Array
        if leg is None:
            slot = np.arange(n_ports, dtype=np.int32) - start[:-1].astype(np.int32)[node]
            label = Labels(sealed(slot), np.arange(1, int(size.max(initial=0)) + 1).astype(np.str_))
        else:
            slot, label = _split_labels(n_ports, start, node, port_of_end, leg)
        cage = self._cages(node, slot, port_of_end, counts)
        return PortTable(node=sealed(node), label=label, cage=cage, gbps=sealed(gbps))

    def _cages(self, node: Array, slot: Array, port_of_end: Array, counts: Array) -> Array:
        """The cage of each port: in order on a switch, shared by nodes that name the same one, else none."""
        per_cage = _concatenated(self._per_cage, np.int64)
        if not per_cage.any() and not self._n_own_cages:
            return repeated(-1, len(node), np.int32)
        slots = np.zeros(len(per_cage), np.int64)
        last = np.flatnonzero(np.diff(node, append=-1))
        slots[node[last]] = slot[last] + 1
        held = np.where(per_cage > 0, -(-slots // np.maximum(per_cage, 1)), 0)
        first = (np.cumsum(held) - held).astype(np.int32)
        cage = np.where(per_cage[node] > 0, first[node] + slot // np.maximum(per_cage, 1)[node], -1)
        own = _concatenated(self._own_cage, np.int64)
        caged = np.repeat(np.array([kind in _CAGED for kind in self._kinds], bool), 2 * counts)
        cabled = port_of_end[caged & (own[node[port_of_end]] >= 0)]
        cage[cabled] = int(held.sum()) + own[node[cabled]]
        return sealed(cage.astype(np.int32))


def _concatenated(blocks: list[Array], dtype: Any) -> Array:
    return np.concatenate(blocks) if blocks else np.empty(0, dtype)


def _split(ends: Array, legs: int, n: int) -> tuple[Array, Array]:
    """Number of each link's leg, and of its cable, when each node's links are split ``legs`` to a cable in order."""
    order = grouped_order(ends.astype(np.int32), n)
    count = np.bincount(ends, minlength=n)
    rank = np.arange(len(ends)) - np.repeat(np.cumsum(count) - count, count)
    leg, cable = np.empty(len(ends), np.int8), np.empty(len(ends), np.int64)
    leg[order] = rank % legs
    cable[order] = np.cumsum(rank % legs == 0) - 1
    return leg, cable


def _split_labels(n_ports: int, start: Array, node: Array, port_of_end: Array, leg: Array) -> tuple[Array, Labels]:
    """The port of the radix that each leg is on, counted from 0, and labels like ``3`` or ``3/2``."""
    part = np.full(n_ports, -1, np.int64)
    part[port_of_end] = leg
    running = np.cumsum(part <= 0)
    slot: Array = running - running[start[:-1][node]]
    n_slots, n_legs = int(slot.max(initial=-1)) + 1, int(leg.max(initial=0)) + 1
    plain = np.arange(1, n_slots + 1)
    split = [f"{i}/{j}" for i in plain.tolist() for j in range(1, n_legs + 1)]
    codes = np.where(part < 0, slot, n_slots + slot * n_legs + part)
    return slot, Labels(sealed(codes.astype(np.int32)), np.array([*plain.astype(np.str_).tolist(), *split]))


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
    return Labels(sealed(np.concatenate(codes)), freeze(merged))
