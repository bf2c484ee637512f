"""What the lines of an InfiniBand dump say, made a fabric: names, hosts, ports, links, and notes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from topo.fabric import FORWARDS_ALL, FORWARDS_NOTHING, Fabric, LinkTable, NodeTable, Origin, PortTable
from topo.io.descriptions import MAX_NAME, HostNames, clean, host_names, switch_names
from topo.io.halves import ONE_END, UNKNOWN, Joined, join_halves, usual_rate
from topo.io.infer import infer_structure
from topo.io.rates import NO_RATES
from topo.table import Array, Labels
from topo.view.text import natural_key

if TYPE_CHECKING:
    from topo.io.ibnetdiscover import Dump

__all__ = ["to_fabric"]

_KINDS = ("switch", "nic", "aggregation", "router", "unknown")
_SWITCH, _NIC, _AGGREGATION, _ROUTER, _UNKNOWN = range(5)
_LINK_KINDS = ("scale_out", "access", "internal")
_SCALE_OUT, _ACCESS, _INTERNAL = range(3)
_AGGREGATION_PORT = (41, 65, 129, 145)
_MOST_FREE_PORTS = 20_000_000


@dataclass(frozen=True, slots=True)
class _Names:
    """Columns of names, one text a node."""

    name: list[str]
    uid: list[str]
    chassis: list[str]
    part: list[str]


def to_fabric(dump: Dump, source: str) -> Fabric:
    """The fabric of a dump, with its structure inferred."""
    kind = np.array([_kind(letter, text) for letter, text in zip(dump.letter, dump.description, strict=True)], np.int32)
    joined = _joined(dump)
    names = _names(dump, kind)
    nodes, device = _node_table(dump, kind, names)
    ports, port_row = _port_table(dump, kind, joined)
    links = LinkTable(
        port_a=port_row(joined.a),
        port_b=port_row(joined.b),
        capacity_gbps=joined.gbps,
        kind=Labels(_link_kind(kind, nodes, joined), _LINK_KINDS),
        evidence=Labels(joined.evidence, ["both ends", "one end"]),
        source=Labels.constant(source, len(joined.a)),
        line=joined.line.astype(np.int32),
    )
    _note_nodes(dump, kind)
    _note_links(dump, joined, names)
    assumptions = [
        "InfiniBand rates are nominal: lanes times the lane rate of the generation",
        "a node is its GUID; host names come from the first word of an adapter's description",
    ]
    if dump.is_port_list:
        assumptions.append("a port list gives port GUIDs: an adapter of several ports shows as one node a port")
    sources = (source,) if source else ()
    origin = Origin(made_by="read_ibnetdiscover", sources=sources, assumptions=tuple(assumptions))
    name = PurePath(source).stem or "InfiniBand subnet"
    fabric = infer_structure(Fabric(name, nodes, ports, links, origin=origin), device=device)
    return replace(fabric, origin=replace(fabric.origin, notes=(*dump.notes.notes(), *fabric.origin.notes)))


def _kind(letter: str, description: str) -> int:
    if letter == "H":
        return _AGGREGATION if "aggregation node" in description.lower() else _NIC
    return {"S": _SWITCH, "R": _ROUTER}.get(letter, _UNKNOWN)


def _joined(dump: Dump) -> Joined:
    columns = (dump.near, dump.far, dump.gbps, dump.status, dump.half_line)
    near, far, gbps, status, line = (np.asarray(column) for column in columns)
    return join_halves(near, far, gbps, status, line)


def _names(dump: Dump, kind: Array) -> _Names:
    uid = [key[2:] if len(key) == 18 and key[1] == "-" and key[0] in "SHR" else "" for key in dump.ids]
    name = [text or clean(key) for text, key in zip(dump.description, dump.ids, strict=True)]
    chassis, part = list(dump.chassis), [""] * len(name)
    rows = np.flatnonzero(kind == _SWITCH).tolist()
    for row, said in zip(rows, switch_names([name[row] for row in rows]), strict=True):
        name[row], part[row] = said.name, said.part
        chassis[row] = said.chassis or chassis[row]
    return _Names(name, uid, chassis, part)


def _node_table(dump: Dump, kind: Array, names: _Names) -> tuple[NodeTable, Labels]:
    """The nodes, and the device name of each adapter."""
    nics = np.flatnonzero(kind == _NIC)
    own = [names.uid[row] or names.name[row] for row in nics.tolist()]
    said = host_names([dump.description[row] or (names.name[row] if not names.uid[row] else "") for row in nics], own)
    unnamed = said.named.count(False)
    if unnamed:
        dump.notes.add(
            f"{unnamed:,} adapter(s) bear a factory or shared name; each is taken for a host of its own, "
            "and its place in its real host is unknown"
        )
    n = len(kind)
    host, device = [""] * n, [""] * n
    for row, a, b in zip(nics.tolist(), said.host, said.device, strict=True):
        host[row], device[row] = a, b
    index = np.full(n, -1, np.int16)
    index[nics] = _local_index(said, own)
    forwards = np.where((kind == _SWITCH) | (kind == _ROUTER), FORWARDS_ALL, FORWARDS_NOTHING)
    table = NodeTable(
        name=np.array(names.name, np.str_),
        uid=np.array(names.uid, np.str_),
        kind=Labels(kind, _KINDS),
        is_endpoint=kind == _NIC,
        forwards=forwards.astype(np.int8),
        host=Labels.of(host),
        local_index=index,
        chassis=Labels.of(names.chassis),
        part=Labels.of(names.part),
    )
    return table, Labels.of(device)


def _local_index(said: HostNames, own: list[str]) -> NDArray[np.int64]:
    """Rank of each adapter in its host by device name in natural order; -1 where the host is unnamed."""
    if not own:
        return np.empty(0, np.int64)
    _, host = np.unique(np.array(said.host), return_inverse=True)
    devices = sorted(set(said.device), key=natural_key)
    place = {device: i for i, device in enumerate(devices)}
    order = np.lexsort((np.array(own), np.array([place[device] for device in said.device]), host))
    start = np.flatnonzero(np.diff(host[order], prepend=-1))
    size = np.diff(np.append(start, len(order)))
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order)) - np.repeat(start, size)
    rank[~np.array(said.named)] = -1
    return np.minimum(rank, np.iinfo(np.int16).max)


def _port_table(dump: Dump, kind: Array, joined: Joined) -> tuple[PortTable, _PortRow]:
    """All ports, cabled or free, ordered by node and number, and where to find them."""
    count = np.array(dump.n_ports, np.int64)
    cabled = np.concatenate([joined.a, joined.b])
    node, number = cabled // 256, cabled % 256
    beyond = np.unique(node[(count[node] > 0) & (number > count[node])])
    for row in beyond.tolist():
        dump.notes.add(
            "cabled port above the port count of the node",
            f"{dump.ids[row]} says {count[row]} ports",
            dump.line[row],
            severity="warning",
        )
    if count.sum() > _MOST_FREE_PORTS:
        dump.notes.add(
            f"the nodes claim {count.sum():,} ports; only those that are cabled are kept", severity="warning"
        )
        count[:] = 0
    # Port 41, 65, ... of such a switch joins its own aggregation engine: no cage on the faceplate.
    shown = count - ((kind == _SWITCH) & np.isin(count, _AGGREGATION_PORT))
    first = np.cumsum(shown) - shown
    owner = np.repeat(np.arange(len(count)), shown)
    listed = owner * 256 + (np.arange(len(owner)) - first[owner] + 1)
    keys = np.unique(np.concatenate([listed, cabled, np.asarray(dump.free, np.int64)]))
    find = _PortRow(keys)
    gbps = np.full(len(keys), np.nan)
    gbps[find(joined.b)] = joined.gbps
    gbps[find(joined.a)] = joined.gbps
    usual = usual_rate(keys // 256, gbps, len(count))
    is_cabled = np.zeros(len(keys), bool)
    is_cabled[find(cabled)] = True
    gbps = np.where(is_cabled, gbps, usual[keys // 256])
    label = Labels(keys % 256 - 1, np.arange(1, 256).astype(np.str_))
    return PortTable(node=keys // 256, label=label, gbps=gbps), find


class _PortRow:
    """Rows of the port table by 256 * node + number."""

    def __init__(self, keys: Array) -> None:
        self.keys = keys

    def __call__(self, ports: Array) -> NDArray[np.int32]:
        return np.searchsorted(self.keys, ports).astype(np.int32)


def _link_kind(kind: Array, nodes: NodeTable, joined: Joined) -> NDArray[np.int32]:
    a, b = joined.a // 256, joined.b // 256
    box = nodes.chassis.codes
    is_inside = (kind[a] == _SWITCH) & (kind[b] == _SWITCH) & (a != b) & (box[a] >= 0) & (box[a] == box[b])
    result = np.full(len(a), _SCALE_OUT, np.int32)
    result[is_inside] = _INTERNAL
    result[(kind[a] == _NIC) | (kind[b] == _NIC)] = _ACCESS
    result[(kind[a] == _AGGREGATION) | (kind[b] == _AGGREGATION)] = _INTERNAL
    return result


def _note_nodes(dump: Dump, kind: Array) -> None:
    trouble = dump.notes.count("the discovery reported trouble")
    if trouble:
        dump.notes.add(
            f"partial discovery: {trouble:,} line(s) of trouble; nodes or links may be missing",
            severity="warning",
        )
    unseen = np.flatnonzero(~np.array(dump.seen))
    dump.notes.add_many(
        "node seen only from the other end of a link",
        np.array(dump.line)[unseen],
        lambda i: f"{dump.ids[unseen[i]][:MAX_NAME]} {dump.description[unseen[i]]}".rstrip(),
        severity="warning",
    )
    n_unknown = int((kind == _UNKNOWN).sum())
    if n_unknown:
        dump.notes.add(
            f"{n_unknown:,} node(s) have no record that says what they are; they carry nothing",
            severity="warning",
        )


def _note_cut(dump: Dump, joined: Joined) -> None:
    """Whether the file ends early: links whose other end has no record, or is the last record of the file."""
    alone = joined.evidence == ONE_END
    silent = joined.b[alone] // 256  # the end that was not listed itself
    seen, line = np.array(dump.seen), np.array(dump.line)
    if not silent.size or (seen[silent] & (line[silent] < line[seen].max(initial=0))).all():
        return
    missing = int((~seen).sum())
    records = f"; {missing:,} node(s) are named but have no record" if missing else ""
    dump.notes.add(
        f"the file seems cut off: only one end reports {len(silent):,} of {len(alone):,} link(s){records}. "
        "Such links carry nothing in any number; give the whole output of the discovery",
        severity="alert",
    )


def _note_links(dump: Dump, joined: Joined, names: _Names) -> None:
    def end(port: int) -> str:
        return f"{names.name[port // 256]} port {port % 256}"

    def each(mask: Array, kind: str, severity: str = "note") -> None:
        rows = np.flatnonzero(mask)
        dump.notes.add_many(
            kind,
            joined.line[rows],
            lambda i: f"{end(int(joined.a[rows[i]]))} - {end(int(joined.b[rows[i]]))}",
            severity=severity,
        )

    if len(joined.a) and joined.missing.all():
        dump.notes.add(NO_RATES)
    else:
        each(joined.missing, "rate missing")
    half = np.flatnonzero(np.asarray(dump.status) == UNKNOWN)
    dump.notes.add_many(
        "rate of an unknown kind",
        np.asarray(dump.half_line)[half],
        lambda i: f"{end(dump.near[half[i]])} - {end(dump.far[half[i]])}",
        severity="warning",
    )
    each(joined.differs, "the ends state different rates, the lower one holds", "warning")
    again = joined.again
    dump.notes.add_many(
        "link listed again by the same end, counted once",
        again[:, 1],
        lambda i: f"{end(int(joined.a[again[i, 0]]))} - {end(int(joined.b[again[i, 0]]))}, as in line {again[i, 2]}",
    )
    _note_cut(dump, joined)
    each(joined.evidence == ONE_END, "link reported by one end only", "warning")
    each(joined.a // 256 == joined.b // 256, "loopback cable; it carries no traffic between nodes")
    ports = np.concatenate([joined.a, joined.b])
    claims = np.flatnonzero(np.isin(ports, joined.shared))
    claims = claims[np.argsort(claims % max(len(joined.a), 1), kind="stable")]  # by line, as the links are
    _, first = np.unique(ports[claims], return_index=True)
    claims = claims[np.sort(first)]
    dump.notes.add_many(
        "ambiguous: a port is claimed by several far ends",
        np.concatenate([joined.line, joined.line])[claims],
        lambda i: end(int(ports[claims[i]])),
        severity="warning",
    )
