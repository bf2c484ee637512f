"""Several files, each a part of one fabric, joined: equal nodes are one, and a cable that two list is one."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from typing import Any, TypeVar

import numpy as np

from topo.errors import ParameterError
from topo.fabric import Fabric, LinkTable, NodeTable, Note
from topo.io.infer import infer_structure
from topo.io.rates import NO_RATES
from topo.table import Array, Labels, Table, appended
from topo.view.text import natural_key

__all__ = ["NOTHING_NEW", "one_fabric"]

NOTHING_NEW = "every cable in it is in a file before it"
"""How the note begins on a file that adds no cable."""
_OF_A_PART = re.compile(r"tiers are distances|\d+ (?:rail|plane|pod)s?\b|no host is known|\d+ switch\(es\) reach no")
"""What was inferred of a part alone, and is inferred anew of the whole."""
_OF_NODES = ("domain", "rack", "rack_unit", "chassis", "part", "coordinates")
_OF_PORTS = ("gbps", "also")
_OF_LINKS = ("capacity_gbps", "length_m")
_AnyTable = TypeVar("_AnyTable", bound=Table)


def one_fabric(parts: Sequence[Fabric]) -> Fabric:
    """One fabric of several files: equal names (GUIDs where there are) are one node, equal ports one port.

    A cable that several files list is one. The first file that states something of a node, a port or a cable holds; a
    later one fills in what was left open: racks, parts, other words for a port, rates, lengths. Tiers, rails, pods and
    planes are inferred anew from all cables together.

    >>> from topo.io import fabric_of_text
    >>> head = "A-Node Name,A-Port,Z-Node Name,Z-Port"
    >>> one = "leaf-1,1,host-1,HCA-1"
    >>> hosts = fabric_of_text(f"{head}\\n{one}\\nleaf-2,1,host-2,HCA-1\\n", "hosts.csv")
    >>> spines = fabric_of_text(f"{head}\\nleaf-1,9,spine-1,1\\nleaf-2,9,spine-1,2\\n{one}\\n", "up.csv")
    >>> both = one_fabric([hosts, spines])
    >>> len(both.nodes), len(both.links), both.nodes.tier.tolist(), both.links.source.values().tolist()[-1]
    (5, 4, [1, 0, 1, 0, 2], 'up.csv')

    :raises ParameterError: no part.
    """
    if not parts:
        raise ParameterError("no part of a fabric is given; give one at least")
    if len(parts) == 1:
        return parts[0]
    whole = reduce(_joined, parts)
    devices = _devices(whole)
    if any(devices):
        nodes = replace(whole.nodes, local_index=_places(whole, devices))
        whole = replace(whole, nodes=nodes)
    name = " + ".join(part.name for part in parts)
    kept = tuple(text for text in whole.origin.assumptions if not _OF_A_PART.match(text))
    rated = not np.isnan(whole.links.capacity_gbps).any()
    notes = tuple(
        note for note in whole.origin.notes if not _OF_A_PART.match(note.text) and not (rated and note.text == NO_RATES)
    )
    whole = replace(whole, name=name, origin=replace(whole.origin, assumptions=kept, notes=notes))
    return infer_structure(whole, device=Labels.of(devices) if any(devices) else None)


def _joined(one: Fabric, other: Fabric) -> Fabric:
    """Both as one; the rows of the first keep their numbers, and what they leave open the other fills in."""
    node = _rows(_identities(one), _identities(other))
    nodes = _merged(one.nodes, other.nodes, node, fill=_OF_NODES)
    ports_one = list(zip(one.ports.node.tolist(), one.ports.label.values().tolist(), strict=True))
    ports_other = list(zip(node[other.ports.node].tolist(), other.ports.label.values().tolist(), strict=True))
    port = _rows(ports_one, ports_other)
    cage = _behind(one.ports.cage, other.ports.cage)
    ports = _merged(one.ports, replace(other.ports, node=node[other.ports.node], cage=cage), port, fill=_OF_PORTS)
    links = _links(one, other, port)
    notes = (*one.origin.notes, *other.origin.notes, *_unlike(one, other, node), *_repeated(one, other, links, nodes),
             *_rated(one, other, links))  # fmt: skip
    origin = replace(
        one.origin,
        sources=(*one.origin.sources, *other.origin.sources),
        assumptions=tuple(dict.fromkeys((*one.origin.assumptions, *other.origin.assumptions))),
        notes=notes,
    )
    return replace(one, nodes=nodes, ports=ports, links=links, origin=origin)


def _links(one: Fabric, other: Fabric, port: Array) -> LinkTable:
    """The links of both; one between the same two ports is one."""
    n = len(one.links)
    a, b = port[other.links.port_a], port[other.links.port_b]
    ends = zip(one.links.port_a.tolist(), one.links.port_b.tolist(), strict=True)
    known = {(min(pair), max(pair)): row for row, pair in enumerate(ends)}
    row = np.array([known.get((min(p), max(p)), n) for p in zip(a.tolist(), b.tolist(), strict=True)], np.int64)
    cable = _behind(one.links.cable, other.links.cable)
    return _merged(one.links, replace(other.links, port_a=a, port_b=b, cable=cable), row, fill=_OF_LINKS)


def _merged(own: _AnyTable, more: _AnyTable, row: Array, *, fill: Sequence[str]) -> _AnyTable:
    """Own rows, then those of ``more`` that are none of them: ``row`` is the own row of each, beyond the last if new.

    What an own row leaves open of the columns ``fill`` is taken from the row of ``more`` that is the same.
    """
    n = len(own)
    every = appended(own, len(more), **{name: getattr(more, name) for name in more.columns()})
    shared = np.flatnonzero(row < n)
    filled = {name: _filled(getattr(every, name), row[shared], n + shared) for name in fill}
    return replace(every, **filled).take(np.concatenate([np.arange(n), n + np.flatnonzero(row >= n)]))


def _filled(column: Array | Labels, rows: Array, given: Array) -> Array | Labels:
    """A column with what is open at ``rows`` (no label, nan) as it is at ``given``."""
    values = (column.codes if isinstance(column, Labels) else column).copy()
    is_open = values[rows] < 0 if isinstance(column, Labels) else np.isnan(values[rows])
    values[rows[is_open]] = values[given[is_open]]
    return Labels(values, column.labels) if isinstance(column, Labels) else values


def _behind(own: Array, more: Array) -> Array:
    """Numbers behind those of the first fabric; -1 stays none."""
    return np.where(more >= 0, more + own.max(initial=-1) + 1, -1)


def _identities(fabric: Fabric) -> list[str]:
    nodes = fabric.nodes
    return [uid or name for uid, name in zip(nodes.uid.tolist(), nodes.name.tolist(), strict=True)]


def _rows(own: Sequence[Any], more: Sequence[Any]) -> Array:
    """Row of each of ``more``: that of its equal, else a new one behind; what comes twice on a side stays two."""
    first: dict[Any, int] = {}
    for row, key in enumerate(own):
        first.setdefault(key, row)
    rows, n = np.empty(len(more), np.int64), len(own)
    for i, key in enumerate(more):
        row = first.pop(key, -1)
        if row < 0:
            row, n = n, n + 1
        rows[i] = row
    return rows


def _unlike(one: Fabric, other: Fabric, node: Array) -> tuple[Note, ...]:
    """Nodes that are an endpoint in one file and a switch in the other."""
    shared = np.flatnonzero(node < len(one.nodes))
    unlike = shared[other.nodes.is_endpoint[shared] != one.nodes.is_endpoint[node[shared]]]
    source = other.origin.sources[0] if other.origin.sources else ""
    said = "is a host in one file and a switch in another; the first holds"
    return tuple(Note(f"{other.nodes.name[row]} {said}", source, severity="warning") for row in unlike.tolist())


def _repeated(one: Fabric, other: Fabric, links: LinkTable, nodes: NodeTable) -> tuple[Note, ...]:
    """A file that adds no cable: a copy of another, most likely, where it fills in nothing either."""
    if len(links) > len(one.links):
        return ()
    source = other.origin.sources[0] if other.origin.sources else other.name
    same = links.equals(one.links) and nodes.take(np.arange(len(one.nodes))).equals(one.nodes)
    rest = "is it a copy?" if same else "it fills in racks, parts, rates or lengths"
    said = f"{NOTHING_NEW}: its {len(other.links):,} count once; {rest}"
    return (Note(said, source, severity="warning" if same else "note"),)


def _rated(one: Fabric, other: Fabric, links: LinkTable) -> tuple[Note, ...]:
    """Links of the first file whose rate the other one states."""
    n = int((np.isnan(one.links.capacity_gbps) & ~np.isnan(links.capacity_gbps[: len(one.links)])).sum())
    source = other.origin.sources[0] if other.origin.sources else other.name
    return (Note(f"{n:,} links of files before it take their rate from it", source),) if n else ()


def _devices(fabric: Fabric) -> list[str]:
    """Each adapter's name inside its host, '' for what is none."""
    names, hosts = fabric.nodes.name.tolist(), fabric.nodes.host.values().tolist()
    inside = [bool(host) and name.startswith(f"{host} ") for name, host in zip(names, hosts, strict=True)]
    return [name[len(host) + 1 :] if held else "" for name, host, held in zip(names, hosts, inside, strict=True)]


def _places(fabric: Fabric, devices: Sequence[str]) -> Array:
    """Place of each adapter among those of its host, which no single file may have shown together."""
    places = fabric.nodes.local_index.copy()
    hosts = fabric.nodes.host.codes.tolist()
    adapters = [row for row, device in enumerate(devices) if device]
    count: dict[int, int] = {}
    for row in sorted(adapters, key=lambda row: natural_key(devices[row])):
        places[row] = count[hosts[row]] = count.get(hosts[row], -1) + 1
    return places
