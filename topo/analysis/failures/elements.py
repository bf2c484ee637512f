"""What can fail or be drained: links, cables, cages, ports, switches, hosts, planes, any named group; as states."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from topo.document import nearest
from topo.errors import ParameterError
from topo.fabric import Fabric, GroupTable, LinkSet, State, expect_fabric
from topo.table import Array, Labels, freeze, glob_mask

__all__ = ["ELEMENT_KINDS", "Elements", "down_state", "elements", "find_elements", "with_groups"]

_NODE_KINDS = ("switch", "host", "nic", "accelerator", "scale_up_switch")
_LABEL_KINDS = ("plane", "rail", "pod", "rack", "chassis", "domain")
ELEMENT_KINDS = ("link", "cable", "cage", "port", *_NODE_KINDS, *_LABEL_KINDS, "group")


@dataclass(frozen=True, eq=False)
class Elements:
    """Things of one kind that fail as a whole, each a set of nodes and links: rows ``start[i]:start[i + 1]``.

    A switch is its node (its links go with it); a cable all legs of a breakout; a cage, or transceiver, the links
    of all ports in it, which two NICs may share; a plane, rail, pod, rack or chassis its switches; a host all its
    parts; a group the nodes, ports and links of a shared-risk group.
    """

    kind: str
    fabric: Fabric
    key: NDArray[np.int64]
    node_start: NDArray[np.int64]
    node: NDArray[np.int64]
    link_start: NDArray[np.int64]
    link: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.key)

    def name(self, i: int) -> str:
        """What people call element ``i``."""
        key = int(self.key[i])
        if self.kind in ("link", "cable", "cage", "port"):
            return _cabling_name(self.fabric, self.kind, key, self.links_of(i))
        if self.kind in _NODE_KINDS and self.kind != "host":
            return str(self.fabric.nodes.name[key])
        return f"{self.kind} {_labels(self.fabric, self.kind).labels[key]}"

    def nodes_of(self, i: int) -> NDArray[np.int64]:
        """Node rows that go down with element ``i``."""
        return self.node[self.node_start[i] : self.node_start[i + 1]]

    def links_of(self, i: int) -> NDArray[np.int64]:
        """Link rows that go down with element ``i``, besides those of its nodes."""
        return self.link[self.link_start[i] : self.link_start[i + 1]]

    def take(self, index: Array) -> Elements:
        """Some of the elements."""
        node_start, node = _take(self.node_start, self.node, index)
        link_start, link = _take(self.link_start, self.link, index)
        return Elements(self.kind, self.fabric, freeze(self.key[index]), node_start, node, link_start, link)

    def state(self, index: Array | Sequence[int] | None = None, *, base: State | None = None) -> State:
        """The fabric with these elements (all, or those at ``index``) down, on top of ``base``."""
        chosen = self if index is None else self.take(np.asarray(index, np.int64))
        return _without(self.fabric, chosen.node, chosen.link, base)


def elements(fabric: Fabric, kind: str) -> Elements:
    """Every element of one kind, in row order.

    >>> import topo
    >>> spines = elements(topo.leaf_spine(leaves=2, spines=2, hosts_per_leaf=2), "switch")
    >>> len(spines), spines.name(3)
    (4, 'spine-2')

    :raises ParameterError: an unknown kind.
    """
    expect_fabric(fabric)
    _known(kind)
    if kind in ("link", "cable"):
        of = np.arange(len(fabric.links)) if kind == "link" else _cable(fabric)
        return _grouped(kind, fabric, of, np.arange(len(fabric.links)), nodes=False)
    if kind in ("cage", "port"):
        return _of_ports(fabric, kind)
    if kind == "group":
        return _of_groups(fabric)
    nodes = fabric.nodes
    if kind == "host":
        return _grouped(kind, fabric, *_hosts(fabric), nodes=True)
    if kind in _NODE_KINDS:
        rows = np.flatnonzero(nodes.kind.is_any(kind))
        return _grouped(kind, fabric, rows, rows, nodes=True)
    labels = _labels(fabric, kind)
    switching = nodes.kind.is_any("switch", "scale_up_switch") | (kind in ("rack", "domain"))
    rows = np.flatnonzero((labels.codes >= 0) & switching)
    return _grouped(kind, fabric, labels.codes[rows].astype(np.int64), rows, nodes=True)


def find_elements(fabric: Fabric, which: str) -> Elements:
    """Elements by words: ``kind:pattern``, or a node's name alone.

    ``switch:spine-*``, ``host:h1``, ``plane:2``, ``group:feed-A``; links and cables by their ends,
    ``link:leaf-1--spine-2`` (all parallel ones) or ``cable:leaf-1/33--spine-2`` (one port); cages and ports as
    ``cage:leaf-1/33``.

    >>> import topo
    >>> found = find_elements(topo.leaf_spine(leaves=2, spines=2, hosts_per_leaf=2), "link:leaf-1--spine-*")
    >>> [found.name(i) for i in range(len(found))]
    ['leaf-1/3--spine-1/1', 'leaf-1/4--spine-2/1']

    :raises ParameterError: an unknown kind, or a pattern that matches nothing; the nearest names are given.
    """
    expect_fabric(fabric)
    kind, colon, pattern = which.partition(":")
    if not colon or kind not in ELEMENT_KINDS:
        return _by_node_name(fabric, which)
    every = elements(fabric, kind)
    if kind in ("link", "cable", "cage", "port"):
        hit = _cabling_hits(fabric, every, pattern)
    elif kind in _NODE_KINDS and kind != "host":
        hit = glob_mask(fabric.nodes.name[every.key], pattern)
    else:
        hit = glob_mask(_labels(fabric, kind).labels[every.key], pattern)
    if not hit.any():
        names = [every.name(i).removeprefix(f"{kind} ") for i in range(min(len(every), 5000))]
        raise ParameterError(f"no {kind} of {fabric.name!r} matches {pattern!r}{nearest(pattern, names)}")
    return every.take(np.flatnonzero(hit))


def down_state(
    fabric: Fabric, down: Sequence[str] = (), *, rates: dict[str, float] | None = None, base: State | None = None
) -> State:
    """The state with the named elements down and others at a lower rate.

    ``down`` are words as in :func:`find_elements`; ``rates`` maps such words to the Gb/s their links keep (a lane
    lost; 0 leaves a next hop where traffic dies). A rate is never raised above the wired one.

    >>> import topo
    >>> f = topo.leaf_spine(leaves=2, spines=2, hosts_per_leaf=2)
    >>> state = down_state(f, ["spine-1"], rates={"link:leaf-2--spine-2": 200})
    >>> int(state.link_mask(f).sum()), float(state.link_capacity_gbps(f).min())
    (6, 200.0)

    :raises ParameterError: words that match nothing, a rate below 0, or everything down.
    """
    expect_fabric(fabric)
    state = base or State()
    for which in down:
        state = find_elements(fabric, which).state(base=state)
    if down and not state.link_mask(fabric).any():
        raise ParameterError(f"{', '.join(down)}: this takes every link of {fabric.name!r} down; name less")
    if not rates:
        return state
    capacity = state.link_capacity_gbps(fabric).copy()
    for which, gbps in rates.items():
        if not np.isfinite(gbps) or gbps < 0:
            raise ParameterError(f"rate {gbps} Gb/s for {which!r}; it must be at least 0")
        found = find_elements(fabric, which)
        rows = np.union1d(found.link, np.flatnonzero(_touching(fabric, found.node)))
        capacity[rows] = np.fmin(capacity[rows], gbps)
    return State(state.node_present, state.link_present, freeze(capacity))


def with_groups(fabric: Fabric, groups: Mapping[str, Sequence[str]]) -> Fabric:
    """The fabric with named shared-risk groups added: a power feed, a line card, whatever fails together.

    ``groups`` maps a name to words as in :func:`find_elements`; ``group:NAME`` and the kind ``group`` mean it then.

    >>> import topo
    >>> f = topo.leaf_spine(leaves=2, spines=4, hosts_per_leaf=2)
    >>> fed = with_groups(f, {"feed-A": ["spine-1", "spine-2"]})
    >>> find_elements(fed, "group:feed-A").nodes_of(0).tolist() == f.rows(["spine-1", "spine-2"]).tolist()
    True

    :raises ParameterError: words that match nothing, a name that the fabric has already.
    """
    expect_fabric(fabric)
    old = fabric.groups
    names, sorts = ([str(labels[i]) for i in range(len(old))] for labels in (old.group, old.element))
    rows = [old.row.astype(np.int64)]
    taken = set(names)
    for name, words in groups.items():
        if name in taken:
            raise ParameterError(f"{fabric.name!r} has a group {name!r} already; give this one another name")
        found = [find_elements(fabric, word) for word in words]
        for element, parts in (("node", [every.node for every in found]), ("link", [every.link for every in found])):
            new = np.unique(np.concatenate([np.empty(0, np.int64), *parts]))
            names += [name] * len(new)
            sorts += [element] * len(new)
            rows.append(new)
    table = GroupTable(group=Labels.of(names), element=Labels.of(sorts), row=np.concatenate(rows).astype(old.row.dtype))
    return replace(fabric, groups=table)


def _known(kind: str) -> None:
    if kind not in ELEMENT_KINDS:
        raise ParameterError(f"unknown kind of element {kind!r}; known: {', '.join(ELEMENT_KINDS)}")


def _without(fabric: Fabric, nodes: Array, links: Array, base: State | None) -> State:
    base = base or State()
    node_mask = np.ones(len(fabric.nodes), bool) if base.node_present is None else base.node_present.copy()
    link_mask = np.ones(len(fabric.links), bool) if base.link_present is None else base.link_present.copy()
    node_mask[nodes] = False
    link_mask[links] = False
    return State(freeze(node_mask), freeze(link_mask), base.capacity_gbps)


def _touching(fabric: Fabric, nodes: Array) -> NDArray[np.bool_]:
    mask = np.zeros(len(fabric.nodes), bool)
    mask[nodes] = True
    return np.asarray(mask[fabric.link_a] | mask[fabric.link_b])


def _grouped(kind: str, fabric: Fabric, of: Array, rows: Array, *, nodes: bool) -> Elements:
    """Elements from a group number a row; ``rows`` are nodes or links."""
    key, start, members = _csr(np.asarray(of, np.int64), np.asarray(rows, np.int64))
    none = freeze(np.zeros(len(key) + 1, np.int64)), freeze(np.empty(0, np.int64))
    parts = (start, members, *none) if nodes else (*none, start, members)
    return Elements(kind, fabric, key, *parts)


def _csr(of: Array, rows: Array) -> tuple[Array, Array, Array]:
    order = np.argsort(of, kind="stable")
    key, count = np.unique(of, return_counts=True)
    return freeze(key), freeze(np.concatenate([[0], np.cumsum(count)]).astype(np.int64)), freeze(rows[order])


def _take(start: Array, members: Array, index: Array) -> tuple[Array, Array]:
    size = start[index + 1] - start[index]
    new = np.concatenate([[0], np.cumsum(size)]).astype(np.int64)
    at = np.repeat(start[index] - new[:-1], size) + np.arange(int(new[-1]))
    return freeze(new), freeze(members[at])


def _cable(fabric: Fabric) -> NDArray[np.int64]:
    """One number a cable: that of its first link."""
    cable = fabric.links.cable.astype(np.int64)
    own = np.arange(len(cable))
    many = cable >= 0
    _, first, inverse = np.unique(cable[many], return_index=True, return_inverse=True)
    own[many] = np.flatnonzero(many)[first][inverse]
    return own


def _of_ports(fabric: Fabric, kind: str) -> Elements:
    """Ports, or cages, with the links plugged into them."""
    port = np.concatenate([fabric.links.port_a, fabric.links.port_b]).astype(np.int64)
    link = np.tile(np.arange(len(fabric.links)), 2)
    of = port if kind == "port" else fabric.ports.cage[port].astype(np.int64)
    known = of >= 0
    pairs = np.unique(np.stack([of[known], link[known]], axis=1), axis=0)
    return _grouped(kind, fabric, pairs[:, 0], pairs[:, 1], nodes=False)


def _of_groups(fabric: Fabric) -> Elements:
    groups = fabric.groups
    of, row = groups.group.codes.astype(np.int64), groups.row.astype(np.int64)
    is_node, is_link = groups.element.is_any("node"), groups.element.is_any("link")
    plugged = _of_ports(fabric, "port")
    at_port = np.flatnonzero(groups.element.is_any("port"))
    found = np.searchsorted(plugged.key, row[at_port])
    has = (found < len(plugged)) & (plugged.key[np.minimum(found, max(len(plugged) - 1, 0))] == row[at_port])
    start, links = _take(plugged.link_start, plugged.link, found[has])
    link_of = np.concatenate([of[is_link], np.repeat(of[at_port[has]], np.diff(start))])
    key = np.unique(of)
    node_start, node = _spread(key, of[is_node], row[is_node])
    link_start, link = _spread(key, link_of, np.concatenate([row[is_link], links]))
    return Elements("group", fabric, freeze(key), node_start, node, link_start, link)


def _spread(key: Array, of: Array, rows: Array) -> tuple[Array, Array]:
    """Members of each key, some of which have none."""
    order = np.argsort(of, kind="stable")
    count = np.bincount(np.searchsorted(key, of), minlength=len(key))
    return freeze(np.concatenate([[0], np.cumsum(count)]).astype(np.int64)), freeze(rows[order].astype(np.int64))


def _hosts(fabric: Fabric) -> tuple[Array, Array]:
    nodes = fabric.nodes
    rows = np.flatnonzero(nodes.host.codes >= 0)
    return nodes.host.codes[rows].astype(np.int64), rows


def _labels(fabric: Fabric, kind: str) -> Labels:
    labels = fabric.groups.group if kind == "group" else getattr(fabric.nodes, kind)
    assert isinstance(labels, Labels)
    return labels


def _end_name(fabric: Fabric, port: int) -> str:
    label = fabric.ports.label[port]
    node = fabric.nodes.name[fabric.ports.node[port]]
    return f"{node}/{label}" if label else str(node)


def _cabling_name(fabric: Fabric, kind: str, key: int, links: Array) -> str:
    if kind == "port":
        return _end_name(fabric, key)
    if kind == "cage":
        port = int(np.flatnonzero(fabric.ports.cage == key)[0])
        return _end_name(fabric, port)
    link = LinkSet.of(fabric, links[:1])[0]
    more = f" and {len(links) - 1} more" if len(links) > 1 else ""
    ends = (f"{node}/{label}" if label else node for node, label in ((link.a, link.a_port), (link.b, link.b_port)))
    return "--".join(ends) + more


def _cabling_hits(fabric: Fabric, every: Elements, pattern: str) -> NDArray[np.bool_]:
    """Which links, cables, cages or ports match; an element matches if any of its links or ports does."""
    of = np.repeat(np.arange(len(every)), np.diff(every.link_start))
    if every.kind in ("cage", "port"):
        own = every.key if every.kind == "port" else None
        port = _ports_matching(fabric, pattern)
        if own is not None:
            return np.asarray(port[own])
        return np.isin(every.key, fabric.ports.cage[np.flatnonzero(port)])
    first, dashes, second = pattern.partition("--")
    one = _ports_matching(fabric, first)
    other = _ports_matching(fabric, second) if dashes else np.ones(len(one), bool)
    a, b = fabric.links.port_a[every.link], fabric.links.port_b[every.link]
    hit = (one[a] & other[b]) | (one[b] & other[a])
    return np.bincount(of[hit], minlength=len(every)) > 0


def _ports_matching(fabric: Fabric, pattern: str) -> NDArray[np.bool_]:
    """Ports whose node, or node and label after the last ``/``, match."""
    node, slash, label = pattern.rpartition("/")
    names = fabric.nodes.name
    by_node = glob_mask(names, pattern)[fabric.ports.node]
    if not slash:
        return np.asarray(by_node)
    labels = fabric.ports.label
    codes = labels.codes
    by_label = np.append(glob_mask(labels.labels, label), False)[codes]
    return np.asarray(by_node | (glob_mask(names, node)[fabric.ports.node] & by_label))


def _by_node_name(fabric: Fabric, which: str) -> Elements:
    """Nodes of any kind, or whole hosts, by name."""
    names = fabric.nodes.name
    rows = np.flatnonzero(glob_mask(names, which))
    if rows.size:
        kind = fabric.nodes.kind[int(rows[0])]
        return _grouped(kind if kind in _NODE_KINDS else "switch", fabric, rows, rows, nodes=True)
    of, members = _hosts(fabric)
    hit = glob_mask(fabric.nodes.host.labels, which)
    if hit.any():
        mine = hit[of]
        return _grouped("host", fabric, of[mine], members[mine], nodes=True)
    raise ParameterError(
        f"nothing in {fabric.name!r} is called {which!r}{nearest(which, names.tolist())}; name a node, or a kind "
        f"and a pattern such as switch:spine-*, link:leaf-1--spine-1, plane:2 (kinds: {', '.join(ELEMENT_KINDS)})"
    )
