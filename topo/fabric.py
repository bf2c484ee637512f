"""The one value: an immutable fabric of nodes, ports and links, and the states it can be in."""

from __future__ import annotations

import hashlib
import html
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from topo.elements import (
    FORWARDS_ALL,
    FORWARDS_NOTHING,
    FORWARDS_OWN_HOST,
    GroupTable,
    Link,
    LinkTable,
    NodeTable,
    Note,
    Origin,
    PortTable,
    kept_groups,
)
from topo.errors import FabricError, ParameterError
from topo.output import cut_short
from topo.selection import Selector, matching_rows, selected_rows
from topo.table import Array, Labels, check_rows, freeze, grouped_order

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "FORWARDS_ALL",
    "FORWARDS_NOTHING",
    "FORWARDS_OWN_HOST",
    "Fabric",
    "GroupTable",
    "Link",
    "LinkSet",
    "LinkTable",
    "NodeTable",
    "Note",
    "Origin",
    "PortTable",
    "Selector",
    "State",
    "expect_fabric",
]


@dataclass(frozen=True, eq=False)
class LinkSet:
    """Some links of a fabric by row and by name, as a cut is told; iterates as :class:`Link`.

    >>> import topo
    >>> print(LinkSet.of(topo.fat_tree(4), [0])[0])
    host-01 port 1 - pod-1-leaf-1 port 1
    """

    rows: NDArray[np.int64]
    a: NDArray[np.str_]
    a_port: NDArray[np.str_]
    b: NDArray[np.str_]
    b_port: NDArray[np.str_]
    capacity_gbps: NDArray[np.float64]

    @classmethod
    def of(cls, fabric: Fabric, rows: ArrayLike, capacity_gbps: Array | None = None) -> LinkSet:
        """The links at ``rows``; ``capacity_gbps`` overrides the wired rates row by row."""
        index = check_rows(np.asarray(rows), len(fabric.links), "links")
        links, ports, names = fabric.links, fabric.ports, fabric.nodes.name
        port_a, port_b = links.port_a[index], links.port_b[index]
        rate = links.capacity_gbps[index] if capacity_gbps is None else capacity_gbps
        return cls(
            freeze(index),
            freeze(names[ports.node[port_a]]),
            freeze(ports.label.values(port_a)),
            freeze(names[ports.node[port_b]]),
            freeze(ports.label.values(port_b)),
            freeze(rate),
        )

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        return f"<LinkSet of {len(self):,} links>"

    def __getitem__(self, i: int) -> Link:
        return Link(
            int(self.rows[i]), str(self.a[i]), str(self.a_port[i]), str(self.b[i]), str(self.b_port[i]),
            float(self.capacity_gbps[i]),
        )  # fmt: skip

    def __iter__(self) -> Iterator[Link]:
        return (self[i] for i in range(len(self)))

    def __contains__(self, item: object) -> bool:
        return any(link == item for link in self)

    def to_records(self) -> list[dict[str, Any]]:
        """One mapping a link, with names."""
        return [link._asdict() for link in self]

    def to_frame(self) -> pd.DataFrame:
        """A DataFrame with one line a link."""
        import pandas as pd

        return pd.DataFrame(
            {name: getattr(self, name) for name in ("a", "a_port", "b", "b_port", "capacity_gbps")},
            index=pd.Index(self.rows, name="link"),
        )


@dataclass(frozen=True, eq=False)
class State:
    """What of a fabric is there now: masks over nodes and links, and rates that differ from the wired ones.

    Absent: no next hop. Present at rate 0: still a next hop, and traffic dies there. ``None`` means as wired.

    >>> import topo
    >>> topo.State.without(topo.fat_tree(4), nodes="core-1")
    <State: 1 of 36 nodes, 0 of 48 links absent>
    """

    node_present: NDArray[np.bool_] | None = None
    link_present: NDArray[np.bool_] | None = None
    capacity_gbps: NDArray[np.float64] | None = None

    def __repr__(self) -> str:
        masks = ((self.node_present, "nodes"), (self.link_present, "links"))
        counts = [f"{int((~mask).sum()):,} of {len(mask):,} {what}" for mask, what in masks if mask is not None]
        said = [", ".join(counts) + " absent"] if counts else []
        if self.capacity_gbps is not None:
            said.append(f"rates of {len(self.capacity_gbps):,} links given")
        return f"<State: {', '.join(said) or 'as wired'}>"

    @classmethod
    def without(cls, fabric: Fabric, *, nodes: Selector = (), links: ArrayLike = ()) -> State:
        """The fabric with the given nodes and link rows down.

        >>> import topo
        >>> f = topo.leaf_spine(leaves=2, spines=2, hosts_per_leaf=2)
        >>> int(State.without(f, nodes="spine-1").node_present.sum())
        7
        """
        node_mask = np.ones(len(fabric.nodes), dtype=bool)
        node_mask[fabric.rows(nodes)] = False
        down = np.asarray(links, dtype=None if np.size(links) else int)
        link_mask = np.ones(len(fabric.links), dtype=bool)
        link_mask[check_rows(down, len(fabric.links), "links")] = False
        return cls(freeze(node_mask), freeze(link_mask), None)

    def link_mask(self, fabric: Fabric) -> NDArray[np.bool_]:
        """Which links are present with both their nodes."""
        expect_fabric(fabric)
        mask = np.ones(len(fabric.links), dtype=bool)
        if self.link_present is not None:
            _expect_length(self.link_present, len(fabric.links), "link_present")
            mask &= self.link_present
        if self.node_present is not None:
            _expect_length(self.node_present, len(fabric.nodes), "node_present")
            mask &= self.node_present[fabric.link_a] & self.node_present[fabric.link_b]
        return mask

    def link_capacity_gbps(self, fabric: Fabric) -> NDArray[np.float64]:
        """Rate of every link in this state.

        :raises ParameterError: not one rate a link, or a rate that is negative or infinite, named with its link.
        """
        rates = self.capacity_gbps
        if rates is None:
            return fabric.links.capacity_gbps
        _expect_length(rates, len(fabric.links), "capacity_gbps")
        bad = np.flatnonzero((rates < 0) | np.isinf(rates))
        if bad.size:
            link = LinkSet.of(fabric, bad[:1])[0]
            raise ParameterError(
                f"the state's capacity_gbps[{bad[0]}] is {rates[bad[0]]:g}, the rate of {link}; it must be finite, at "
                "least 0, or nan for unknown; take the link away with link_present instead"
            )
        return rates


@dataclass(frozen=True, eq=False)
class Fabric:
    """One interconnect: nodes, ports, links, shared-risk groups, and where it came from.

    Arc ``2*i`` is link ``i`` from A to B and ``2*i + 1`` from B to A. The value is read-only; rows are identity,
    names are labels. A fabric may be wrongly wired; it may not be malformed.

    :raises FabricError: a port on no node, a link on no port, a link that joins a port to itself.

    >>> import topo
    >>> f = topo.fat_tree(4)
    >>> len(f.nodes), len(f.links), len(f.endpoints)
    (36, 48, 16)
    """

    name: str
    nodes: NodeTable
    ports: PortTable
    links: LinkTable
    groups: GroupTable = field(default_factory=lambda: GroupTable(group=Labels.of([]), row=np.empty(0, np.int32)))
    origin: Origin = field(default_factory=Origin)

    def __post_init__(self) -> None:
        _expect_rows(self.ports.node, len(self.nodes), "ports.node", "nodes")
        _expect_rows(self.links.port_a, len(self.ports), "links.port_a", "ports")
        _expect_rows(self.links.port_b, len(self.ports), "links.port_b", "ports")
        loop = np.flatnonzero(self.links.port_a == self.links.port_b)
        if loop.size:
            raise FabricError(f"link {loop[0]} joins port {self.links.port_a[loop[0]]} to itself")
        rates = self.links.capacity_gbps
        bad = np.flatnonzero((rates < 0) | np.isinf(rates))
        if bad.size:
            raise FabricError(f"link {bad[0]} has capacity {rates[bad[0]]} Gb/s; it must be finite, at least 0, or nan")

    def __repr__(self) -> str:
        return (
            f"<Fabric {self.name!r}: {len(self.endpoints):,} endpoints, {len(self.switches):,} switches, "
            f"{len(self.links):,} links>"
        )

    def _repr_html_(self) -> str:
        lines = [
            ("endpoints", f"{len(self.endpoints):,}"),
            ("switches", f"{len(self.switches):,}"),
            ("links", f"{len(self.links):,}"),
        ]
        lines += [("made by", self.origin.made_by)] if self.origin.made_by else []
        cells = "".join(f"<tr><th>{label}</th><td>{html.escape(text)}</td></tr>" for label, text in lines)
        return f"<table><caption>{html.escape(self.origin.title or self.name)}</caption>{cells}</table>"

    @cached_property
    def link_a(self) -> NDArray[np.int32]:
        """Node at end A of each link."""
        return freeze(self.ports.node[self.links.port_a])

    @cached_property
    def link_b(self) -> NDArray[np.int32]:
        """Node at end B of each link."""
        return freeze(self.ports.node[self.links.port_b])

    @cached_property
    def arc_source(self) -> NDArray[np.int32]:
        """Node each arc leaves."""
        return freeze(np.stack([self.link_a, self.link_b], axis=1).ravel())

    @cached_property
    def arc_target(self) -> NDArray[np.int32]:
        """Node each arc enters."""
        return freeze(np.stack([self.link_b, self.link_a], axis=1).ravel())

    @cached_property
    def csr(self) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """``(start, arcs)``: the arcs leaving node ``v`` are ``arcs[start[v]:start[v + 1]]``, in arc order."""
        counts = np.bincount(self.arc_source, minlength=len(self.nodes))
        start = np.concatenate([[0], np.cumsum(counts)])
        return freeze(start, np.int64), freeze(grouped_order(self.arc_source, len(self.nodes)), np.int32)

    @cached_property
    def endpoints(self) -> NDArray[np.int64]:
        """Rows of the endpoints."""
        return freeze(np.flatnonzero(self.nodes.is_endpoint))

    @cached_property
    def switches(self) -> NDArray[np.int64]:
        """Rows of the switches."""
        return freeze(np.flatnonzero(self.nodes.kind.is_any("switch")))

    @cached_property
    def digest(self) -> str:
        """SHA-256 over every column: the same fabric, the same digest, in any process."""
        digest = hashlib.sha256()
        for table in (self.nodes, self.ports, self.links, self.groups):
            table.update_digest(digest)
        return digest.hexdigest()

    def equals(self, other: object) -> bool:
        """Same tables, row by row; name and origin do not count."""
        return isinstance(other, Fabric) and all(
            getattr(self, t).equals(getattr(other, t)) for t in ("nodes", "ports", "links", "groups")
        )

    def rows(self, which: Selector = None) -> NDArray[np.int64]:
        """Node rows meant by a selector: all, globs over node and host names, rows, or a mask.

        >>> import topo
        >>> topo.fat_tree(4).rows("core-*").tolist()
        [32, 33, 34, 35]

        :raises ParameterError: a pattern that matches no node, or a row outside the table.
        """
        return selected_rows(self.nodes, which, of=self.name)

    def endpoint_rows(self, which: Selector = None) -> NDArray[np.int64]:
        """The endpoints among :meth:`rows`; all of them for ``None``.

        :raises ParameterError: the selector leaves no endpoint.
        """
        if which is None:
            return self.endpoints
        rows = self.rows(which)
        rows = rows[self.nodes.is_endpoint[rows]]
        if not rows.size:
            raise ParameterError(f"{which!r} selects no endpoint of {self.name!r}")
        return rows

    def select(self, name: str | Sequence[str] = "*", **columns: Any) -> NDArray[np.int64]:
        """Rows of the nodes whose name matches and whose columns do: globs for labels, values for numbers.

        >>> import topo
        >>> f = topo.rail_optimized(hosts=4, rails=2, hosts_per_unit=4, radix=16)
        >>> len(f.select(kind="nic", rail="rail-1"))
        4

        :raises ParameterError: no such column, or a name that no node bears (:meth:`rows` takes names of hosts too).
        """
        return matching_rows(self.nodes, name, columns, of=self.name)

    def without(self, *, nodes: Selector = (), links: ArrayLike = ()) -> Fabric:
        """A new fabric that lacks the given nodes, their ports, their links, and the given link rows.

        Ports of removed links stay, free. For sweeps over failures pass a :class:`State` instead.
        """
        keep_node = np.ones(len(self.nodes), bool)
        keep_node[self.rows(nodes)] = False
        state = State.without(self, nodes=nodes, links=links)
        keep_link = state.link_mask(self)
        keep_port = keep_node[self.ports.node]
        new_node = np.cumsum(keep_node) - 1
        new_port = np.cumsum(keep_port) - 1
        ports = self.ports.take(keep_port)
        links_left = self.links.take(keep_link)
        renumbered = {name: getattr(ports, name) for name in ports.columns()} | {"node": new_node[ports.node]}
        relinked = {name: getattr(links_left, name) for name in links_left.columns()} | {
            "port_a": new_port[links_left.port_a],
            "port_b": new_port[links_left.port_b],
        }
        return Fabric(
            self.name,
            self.nodes.take(keep_node),
            PortTable(**renumbered),
            LinkTable(**relinked),
            kept_groups(self.groups, keep_node, keep_port, keep_link),
            self.origin,
        )


def expect_fabric(value: object) -> None:
    """Refuse what is no fabric where one is wanted, a name above all.

    >>> expect_fabric("deepseek-ft2")
    Traceback (most recent call last):
    topo.errors.ParameterError: a Fabric is wanted, not the text 'deepseek-ft2'; pass topo.load('deepseek-ft2')

    :raises ParameterError: naming what was given.
    """
    if isinstance(value, Fabric):
        return
    if isinstance(value, str):
        short = cut_short(value)
        raise ParameterError(f"a Fabric is wanted, not the text {short!r}; pass topo.load({short!r})")
    raise ParameterError(f"a Fabric is wanted, not {type(value).__name__}; topo.load and the builders make one")


def _expect_rows(rows: Array, n: int, what: str, table: str) -> None:
    if rows.size and (rows.min() < 0 or rows.max() >= n):
        bad = int(np.flatnonzero((rows < 0) | (rows >= n))[0])
        raise FabricError(f"{what}[{bad}] is {rows[bad]}, outside the {n} {table}")


def _expect_length(mask: Array, n: int, what: str) -> None:
    if len(mask) != n:
        raise ParameterError(f"State.{what} has {len(mask)} entries, the fabric needs {n}")
