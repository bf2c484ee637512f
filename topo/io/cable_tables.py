"""The tables of a fabric from a book of cables: hosts split into adapters, cables joined, structure inferred."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from topo.errors import place_in
from topo.fabric import FORWARDS_ALL, FORWARDS_NOTHING, Fabric, LinkTable, NodeTable, Origin, PortTable
from topo.io.halves import ONE_END, STATED, Joined, join_halves, usual_rate
from topo.io.infer import infer_structure
from topo.io.port_names import cage_of, host_port
from topo.io.rates import NO_RATES, ROWS_DIFFER
from topo.table import Array, Labels
from topo.view.text import natural_key

if TYPE_CHECKING:
    from topo.io.cables import CableBook

__all__ = ["fabric_of_book"]

_FORWARDING = ("switch", "router", "storage_switch")
_ENDPOINTS = ("host", "nic", "accelerator")
_MANY_PORTS = 4
_GROUPS = ("rack", "rack_unit", "chassis", "part", "domain", "rail", "plane", "pod", "host", "coordinates")
_INFERRED = ("rail", "plane", "pod")
_UNSAID = -2
_MOST_RATES = 1000
_CONTROLLER = re.compile(r"bmc[ :/_-]?p?(?:[3-9]|[1-9]\d{1,3})\Z", re.IGNORECASE)
"""A port of a management controller by a number above 2."""


@dataclass(frozen=True, slots=True)
class _Split:
    """Nodes once hosts are split into adapters: the row in the book of each, its name and device; node of each port."""

    row: NDArray[np.int64]
    name: list[str]
    device: list[str]
    index: NDArray[np.int16]
    port_node: NDArray[np.int32]
    port_label: list[str]


def fabric_of_book(book: CableBook, name: str = "", *, infer: bool = True) -> Fabric:
    """The fabric of a book whose kinds are settled."""
    near, far, gbps, status = (np.asarray(column) for column in (book.near, book.far, book.gbps, book.status))
    joined = join_halves(near, far, gbps, status, np.arange(len(near)))
    split = _split_hosts(book)
    nodes = _node_table(book, split)
    ports = _port_table(book, split, joined)
    links = _link_table(book, nodes, ports, joined)
    _note_links(book, joined)
    _note_kinds(book, nodes)
    sources = tuple(dict.fromkeys(filter(None, [book.source, *book.file.values()])))
    origin = Origin(made_by=book.made_by, sources=sources, assumptions=tuple(book.assumptions))
    fabric = Fabric(name or PurePath(book.source).stem or "wiring", nodes, ports, links, origin=origin)
    if infer:
        fabric = infer_structure(fabric, device=Labels.of(split.device) if any(split.device) else None)
    fabric = _with_stated(book, split, fabric)
    return replace(fabric, origin=replace(fabric.origin, notes=(*book.notes.notes(), *fabric.origin.notes)))


def _with_stated(book: CableBook, split: _Split, fabric: Fabric) -> Fabric:
    """The fabric with the tiers and groups that the file itself states, whatever was inferred."""
    columns: dict[str, Any] = {}
    for column in _INFERRED:
        if column in book.labels:
            columns[column] = _label_column(book, split, column)
    if book.tier:
        tier = fabric.nodes.tier.astype(np.int64)
        stated = np.array([book.tier.get(row, _UNSAID) for row in split.row.tolist()])
        columns["tier"] = np.where(stated > _UNSAID, stated, tier).astype(np.int8)
    return replace(fabric, nodes=replace(fabric.nodes, **columns)) if columns else fabric


def _split_hosts(book: CableBook) -> _Split:
    """Adapters of hosts as nodes of their own, where port names tell them or hosts have four ports or more."""
    ports_of: dict[int, list[int]] = defaultdict(list)
    for port, node in enumerate(book.port_node):
        if book.kind[node] == "host" and node not in book.endpoint and not book.hosts_forward:  # those stay whole
            ports_of[node].append(port)
    said = {row: [host_port(book.names[row], book.port_label[p]) for p in ports] for row, ports in ports_of.items()}
    plain = [len(found) for found in said.values() if not any(each.device for each in found)]
    many = bool(plain) and float(np.median(plain)) >= _MANY_PORTS
    if many:
        book.assumptions.append("each port of a host is an adapter of its own: the hosts have four ports or more")
    label = list(book.port_label)
    port_node = np.zeros(len(label), np.int32)
    rows: list[int] = []
    name: list[str] = []
    device: list[str] = []
    index: list[int] = []
    first = np.zeros(len(book.names), np.int64)
    for row, host in enumerate(book.names):
        first[row] = len(rows)
        found = said.get(row, [])
        devices = sorted({each.device or (each.port if many else "") for each in found}, key=natural_key) or [""]
        place = {text: len(rows) + i for i, text in enumerate(devices)}
        for port, each in zip(ports_of.get(row, ()), found, strict=True):
            port_node[port] = place[each.device or (each.port if many else "")]
            label[port] = each.port if each.device or not many else "1"
        for i, text in enumerate(devices):
            rows.append(row)
            name.append(f"{host} {text}" if text else host)
            device.append(text)
            index.append(min(i, 2**15 - 1) if text else -1)
    if label:
        owner = np.asarray(book.port_node, np.int64)
        split = [
            kind == "host" and row not in book.endpoint and not book.hosts_forward for row, kind in enumerate(book.kind)
        ]
        at_host = np.array(split)[owner]
        port_node = np.where(at_host, port_node, first[owner]).astype(np.int32)
    return _Split(np.array(rows, np.int64), name, device, np.array(index, np.int16), port_node, label)


def _label_column(book: CableBook, split: _Split, column: str) -> Labels:
    values = book.labels.get(column, {})
    return Labels.of(values.get(row) for row in split.row.tolist())


def _node_table(book: CableBook, split: _Split) -> NodeTable:
    kinds = ["nic" if device else book.kind[row] for row, device in zip(split.row.tolist(), split.device, strict=True)]
    kind = Labels.of(kinds)
    groups: dict[str, Any] = {column: _label_column(book, split, column) for column in _GROUPS if column in book.labels}
    stated = book.labels.get("host", {})
    hosts = [
        stated.get(row) or (book.names[row] if book.kind[row] in ("host", "nic") else None)
        for row in split.row.tolist()
    ]
    groups["host"] = Labels.of(hosts)
    uid = book.labels.get("uid", {})
    relaying = kind.is_any(*_FORWARDING) | (kind.is_any(*_ENDPOINTS) & book.hosts_forward)
    index = split.index
    if "local_index" in book.labels:
        given = book.labels["local_index"]
        index = np.array([int(given.get(row, -1)) for row in split.row.tolist()], np.int16)
    at = split.row.tolist()
    endpoint = [book.endpoint.get(row, guess) for row, guess in zip(at, kind.is_any(*_ENDPOINTS).tolist(), strict=True)]
    forwards = np.where(relaying, FORWARDS_ALL, FORWARDS_NOTHING).tolist()
    return NodeTable(
        name=np.array(split.name, np.str_),
        uid=np.array([uid.get(row, "") for row in split.row.tolist()], np.str_),
        kind=kind,
        is_endpoint=np.array(endpoint, bool),
        forwards=np.array([book.forwards.get(row, guess) for row, guess in zip(at, forwards, strict=True)], np.int8),
        local_index=index,
        **groups,
    )


def _port_table(book: CableBook, split: _Split, joined: Joined) -> PortTable:
    n = len(split.port_label)
    gbps = np.full(n, np.nan)
    gbps[joined.b] = joined.gbps
    gbps[joined.a] = joined.gbps
    for port, stated in book.port_gbps.items():
        gbps[port] = stated
    usual = usual_rate(split.port_node, gbps, len(split.row))
    cabled = np.zeros(n, bool)
    cabled[joined.a] = True
    cabled[joined.b] = True
    gbps = np.where(cabled | ~np.isnan(gbps), gbps, usual[split.port_node] if n else gbps)
    label = Labels.of(split.port_label)
    cage = _cages(split.port_node, label)
    also = {"also": Labels.of(book.also.get(port, "") for port in range(n))} if book.also else {}
    return PortTable(node=split.port_node, label=label, cage=cage, gbps=gbps, **also)


def _cages(node: Array, label: Labels) -> NDArray[np.int32]:
    """Cages numbered over the fabric, -1 where a label does not tell its cage."""
    named = Labels.of(cage_of(text) for text in label.labels.tolist())
    cage = np.full(len(label), -1, np.int32)
    if not len(named.labels) or not len(label):
        return cage
    code = np.append(named.codes, -1)[label.codes]
    known = code >= 0
    _, cage[known] = np.unique(node[known] * len(named.labels) + code[known], return_inverse=True)
    return cage


def _link_table(book: CableBook, nodes: NodeTable, ports: PortTable, joined: Joined) -> LinkTable:
    first = joined.line  # rows of the book stand for lines, so that entries of one line stay apart
    a, b = ports.node[joined.a], ports.node[joined.b]
    carries = nodes.forwards == FORWARDS_ALL
    access = nodes.is_endpoint[a] != nodes.is_endpoint[b]
    access &= carries[a] | carries[b]
    kinds = np.where(access, "access", "scale_out").tolist()
    kinds = [book.link_kind.get(row, kind) for row, kind in zip(first.tolist(), kinds, strict=True)]
    if book.evidence == "planned":
        evidence = Labels.constant("planned", len(first))
    else:
        evidence = Labels(joined.evidence, ["both ends", "one end"])
    return LinkTable(
        port_a=joined.a.astype(np.int32),
        port_b=joined.b.astype(np.int32),
        capacity_gbps=joined.gbps,
        kind=Labels.of(kinds),
        cable=_shared_cables(np.asarray(book.cable_of, np.int64)[first]),
        length_m=np.asarray(book.length_m, float)[first],
        evidence=evidence,
        source=Labels.of(book.source_of(row) for row in first.tolist())
        if book.file
        else Labels.constant(book.source, len(first)),
        line=np.asarray(book.line, np.int64)[first].astype(np.int32),
    )


def _shared_cables(cable: Array) -> NDArray[np.int32]:
    """Cables of several legs numbered from 0; a cable of one link is its own, -1."""
    if not cable.size:
        return cable.astype(np.int32)
    codes, place, times = np.unique(cable, return_inverse=True, return_counts=True)
    shared = (codes >= 0) & (times > 1)
    number = np.where(shared, np.cumsum(shared) - 1, -1)
    return number[place].astype(np.int32)


def _note_links(book: CableBook, joined: Joined) -> None:
    lines = np.asarray(book.line, np.int64)[joined.line]

    def each(mask: Array, kind: str, severity: str = "note") -> None:
        rows = np.flatnonzero(mask)
        book.notes.add_many(
            kind,
            lines[rows],
            lambda i: book.cable_text(int(joined.a[rows[i]]), int(joined.b[rows[i]])),
            severity=severity,
            source=lambda i: book.source_of(int(joined.line[rows[i]])),
        )

    planned = book.evidence == "planned"
    if len(joined.a) and joined.missing.all():
        book.notes.add(NO_RATES)
    else:
        each(joined.missing, "rate missing")
    _note_rates(book, joined)
    _note_repeats(book, joined)
    one_end = joined.evidence == ONE_END
    if planned:
        n_both = int((~one_end).sum())
        if n_both:
            book.notes.add(f"cables listed from both ends, each counted once: {n_both:,} of {len(joined.a):,}")
            if n_both >= 0.8 * len(joined.a):
                each(one_end, "cable listed from one end, others from both", "warning")
    else:
        each(one_end, "link reported by one end only", "warning")
    node = np.asarray(book.port_node, np.int64)
    if len(joined.a):
        each(node[joined.a] == node[joined.b], "cable that joins a node to itself; it carries no traffic between nodes")
    _note_shared_ports(book, joined, lines)
    _note_controllers(book, joined)


def _note_rates(book: CableBook, joined: Joined) -> None:
    """Cables whose rows state different rates, each rate with the first row that does."""
    links = np.flatnonzero(joined.differs).tolist()
    if not links:
        return
    rows_of: dict[tuple[int, int], list[int]] = defaultdict(list)
    pairs = [(min(a, b), max(a, b)) for a, b in zip(joined.a[links].tolist(), joined.b[links].tolist(), strict=True)]
    wanted = set(pairs)
    for row, (a, b) in enumerate(zip(book.near, book.far, strict=True)):
        if (pair := (min(a, b), max(a, b))) in wanted and book.status[row] == STATED:
            rows_of[pair].append(row)
    for link, pair in zip(links, pairs, strict=True):
        rows = rows_of[pair]
        first = {book.gbps[row]: row for row in reversed(rows)}
        at = book.source_of(int(joined.line[link]))
        said = ", ".join(
            f"{gbps:g} Gb/s at {place_in(book.source_of(row), book.line[row], beside=at)}"
            for gbps, row in sorted(first.items(), key=lambda one: one[1])
        )
        text = f"{book.cable_text(int(joined.a[link]), int(joined.b[link]))}: {said}"
        line = book.line[int(joined.line[link])]
        book.notes.add(ROWS_DIFFER, text, line, severity="warning", source=at, most=_MOST_RATES)


def _note_repeats(book: CableBook, joined: Joined) -> None:
    """Rows that name a cable again, each with the row it repeats; few that turn one round are repeats too."""
    line = np.asarray(book.line, np.int64)
    again = joined.again[~joined.differs[joined.again[:, 0]]]
    repeats = [("cable listed again in the same direction, counted once", *again.T)]
    turned = np.flatnonzero((joined.other_line >= 0) & ~joined.differs)
    if book.evidence == "planned" and len(turned) <= len(joined.a) / 2:
        turned = turned[np.argsort(joined.other_line[turned], kind="stable")]
        said = "cable listed again from its other end, counted once"
        repeats.append((said, turned, joined.other_line[turned], joined.line[turned]))
    for kind, links, rows, firsts in repeats:

        def source_of(i: int, rows: Array = rows) -> str:
            return book.source_of(int(rows[i]))

        def said_of(i: int, links: Array = links, rows: Array = rows, firsts: Array = firsts) -> str:
            cable = book.cable_text(int(joined.a[links[i]]), int(joined.b[links[i]]))
            first = place_in(book.source_of(int(firsts[i])), int(line[firsts[i]]), beside=source_of(i, rows))
            return f"{cable}, a duplicate of {first}"

        book.notes.add_many(kind, line[rows], said_of, severity="warning", source=source_of)


def _note_shared_ports(book: CableBook, joined: Joined, lines: Array) -> None:
    ports = np.concatenate([joined.a, joined.b])
    both_lines = np.concatenate([lines, lines])
    claims = np.flatnonzero(np.isin(ports, joined.shared))
    claims = claims[np.argsort(claims % max(len(joined.a), 1), kind="stable")]
    _, last = np.unique(ports[claims][::-1], return_index=True)  # where the port comes again
    claims = claims[::-1][last]
    claims = claims[np.argsort(both_lines[claims], kind="stable")]
    book.notes.add_many(
        "port used by several cables" if book.evidence == "planned" else "ambiguous: a port has several neighbours",
        both_lines[claims],
        lambda i: f"{book.names[book.port_node[ports[claims[i]]]]} port {book.port_label[ports[claims[i]]]}",
        severity="warning",
        source=lambda i: book.source_of(int(joined.line[claims[i] % len(joined.a)])),
    )


def _note_controllers(book: CableBook, joined: Joined) -> None:
    """Management controllers with a port beyond their second, which none has."""
    beyond = [port for port, label in enumerate(book.port_label) if _CONTROLLER.match(label)]
    if not beyond:
        return
    line = np.asarray(book.line, np.int64)
    for link in np.flatnonzero(np.isin(joined.a, beyond) | np.isin(joined.b, beyond)).tolist():
        cable = book.cable_text(int(joined.a[link]), int(joined.b[link]))
        said = "port beyond the second of a management controller, which has two at most"
        row = int(joined.line[link])
        book.notes.add(said, cable, int(line[row]), severity="warning", source=book.source_of(row))


def _note_kinds(book: CableBook, nodes: NodeTable) -> None:
    by = book.kinds_by
    guessed = [
        f"{by[how]:,} {what}"
        for how, what in (
            ("name", "by a word in its name"),
            ("port", "by the spelling of its ports"),
            ("default", "is a switch for want of anything said"),
        )
        if by.get(how)
    ]
    if guessed:
        book.assumptions.append(f"what a node is, where the file does not say: {', '.join(guessed)}")
    if len(nodes) and not nodes.is_endpoint.any():
        book.notes.add(
            "no host is known in it: every node counts as a switch; name hosts with hosts= (--host-names)",
            severity="warning",
        )
    folded: dict[str, str] = {}
    for name, line in zip(book.names, book.node_line, strict=True):
        held = folded.setdefault(name.casefold(), name)
        if held != name:
            said = f"{held!r} and {name!r}"
            book.notes.add("names that differ in case alone stay two nodes", said, line, severity="warning")
