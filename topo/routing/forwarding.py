"""Forwarding tables as found: matched to a fabric, followed, and checked for loops and dead ends."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from topo.errors import InputError
from topo.fabric import Fabric, Note, State
from topo.io.forwarding import ForwardingDump, PortAddresses
from topo.io.notes import NoteBook
from topo.network import Network
from topo.routing.access import Access, end_index, find_access, flow_ends
from topo.routing.arcs import network_arcs
from topo.routing.scheme import Routing
from topo.table import Array

__all__ = ["OUTCOMES", "Followed", "ForwardingTable", "TableFault"]

_NO_ARC = -1
_ARRIVED, _NO_ENTRY, _ELSEWHERE, _LOOP = 0, 1, 2, 3
OUTCOMES = ("arrived", "no entry", "led to another node", "in a loop")
"""How a flow may end, or what follows the entries from a switch."""
_BLOCK_CELLS = 1 << 22


class Followed(NamedTuple):
    """Paths of flows: ``arcs`` (hops, flows), -1 padded, and how each ended, an index into ``OUTCOMES``.

    Only flows that arrived have arcs.
    """

    arcs: NDArray[np.int64]
    outcome: NDArray[np.int8]


class TableFault(NamedTuple):
    """What is wrong with the entries for one destination: ``switches`` (node rows) from which it goes wrong."""

    outcome: str
    sink: int
    switches: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class ForwardingTable:
    """One next hop for each switch and destination, as a subnet manager set them.

    ``arc[r, e]`` (int32) is the arc over which relay ``relays[r]`` sends what is for endpoint e (of
    ``fabric.endpoints``), -1 where there is none. ``lid[e]`` is the address of the endpoint (0: not found in the
    tables, so out of reach).
    """

    fabric: Fabric
    access: Access
    arc: NDArray[np.int32]
    lid: NDArray[np.int64]
    source: str
    notes: tuple[Note, ...]

    @classmethod
    def of(
        cls,
        fabric: Fabric,
        dump: ForwardingDump,
        *,
        addresses: PortAddresses | None = None,
        state: State | None = None,
    ) -> ForwardingTable:
        """Match tables that were read to a fabric: switches by GUID, ports by number, destinations by address.

        Whose an address is comes from ``addresses`` (ibdiagnet's .db_csv), else from the GUIDs in the tables, else
        from the cabling: the endpoint that some switch delivers it to. An endpoint of several addresses is
        reached by its lowest. What does not match is in ``notes``: unknown GUIDs, ports without a cable, addresses
        without an owner.

        :raises InputError: no switch of the tables is in the fabric.
        """
        network = Network.of(fabric, state=state)
        access = find_access(network, network_arcs(network, {}), Routing())
        book = NoteBook(dump.source)
        row = _switch_rows(fabric, access, dump, book)
        out = _port_arcs(network, access, row, dump, book)
        owner = _owners(fabric, access, dump, addresses, row, out, book)
        arc = np.full((access.n_relays, len(access.endpoints)), _NO_ARC, np.int32)
        lid_of = _lowest(owner, len(access.endpoints))
        end = np.where(lid_of[owner[dump.lid]] == dump.lid, owner[dump.lid], -1)
        used = np.flatnonzero((row[dump.switch] >= 0) & (end >= 0) & (out >= 0))
        arc[row[dump.switch[used]], end[used]] = out[used]
        missing = int((lid_of == 0).sum())
        if missing:
            name = str(fabric.nodes.name[access.endpoints[np.flatnonzero(lid_of == 0)[0]]])
            book.add(f"{missing:,} endpoint(s) have no address in the tables, first {name}", severity="warning")
        return cls(fabric, access, arc, lid_of, dump.source, (*dump.notes, *book.notes()))

    @property
    def relays(self) -> NDArray[np.int64]:
        """Node row of every relay."""
        return self.access.relays

    @property
    def kind(self) -> str:
        """What results call it."""
        return f"forwarding tables of {self.source}" if self.source else "forwarding tables"

    def paths(
        self, source: ArrayLike, sink: ArrayLike, *, seed: int | np.random.SeedSequence | None = None
    ) -> NDArray[np.int64]:
        """Arcs of every flow's path (hops, flows), -1 padded; all -1 where it does not arrive. Nothing is drawn.

        :raises ParameterError: a row that is no endpoint, or a flow to itself.
        """
        return self.follow(source, sink).arcs

    def follow(self, source: ArrayLike, sink: ArrayLike) -> Followed:
        """Paths of flows through the tables, and how each ended.

        An endpoint with several access links takes the first whose switch has an entry for the sink.

        :raises ParameterError: a row that is no endpoint, or a flow to itself.
        """
        begin, end = flow_ends(self.access, self.fabric, source, sink)
        outcome = np.full(len(end), _LOOP, np.int8)
        first, row = self._first_hops(begin, end)
        outcome[first < 0] = _NO_ENTRY
        steps = [first]
        active = np.flatnonzero(first >= 0)
        row = row[active]
        goal = self.access.endpoints[end]
        for _ in range(len(self.relays) + 1):
            if not active.size:
                break
            arc = self.arc[row, end[active]].astype(np.int64)
            node = np.where(arc >= 0, self.fabric.arc_target[arc], -1)
            step = np.full(len(end), -1, np.int64)
            step[active] = arc
            steps.append(step)
            outcome[active[arc < 0]] = _NO_ENTRY
            there = node == goal[active]
            outcome[active[there]] = _ARRIVED
            row = np.where(node >= 0, self.access.relay_of[node], -1)
            outcome[active[(arc >= 0) & ~there & (row < 0)]] = _ELSEWHERE
            goes = (row >= 0) & ~there
            active, row = active[goes], row[goes]
        arcs = np.stack(steps)
        arcs[:, outcome != _ARRIVED] = -1
        return Followed(arcs[: int((arcs >= 0).any(axis=1).sum())], outcome)

    def _first_hops(self, begin: Array, end: Array) -> tuple[Array, Array]:
        """First arc of each flow and the relay it enters; -1 where no relay beside the source has an entry."""
        access = self.access
        state = access.source_state[begin]
        first, entered = np.full(len(begin), -1, np.int64), np.full(len(begin), -1, np.int64)
        degree = access.out_start[state + 1] - access.out_start[state]
        for i in reversed(range(int(degree.max(initial=0)))):
            has = np.flatnonzero(degree > i)
            at = access.out_start[state[has]] + i
            head = access.outward.head[at]
            good = head < access.n_relays
            has, at, head = has[good], at[good], head[good]
            known = self.arc[head, end[has]] >= 0
            first[has[known]], entered[has[known]] = access.outward.arc[at[known]], head[known]
        return first, entered

    def faults(self, sinks: ArrayLike | None = None) -> list[TableFault]:
        """Destinations that some switch does not lead to: no entry, a loop, or delivery to another node.

        All entries towards all ``sinks`` (node rows; default: all endpoints with an address) are followed from
        every switch that has an entry, or has endpoints.
        """
        wanted = np.flatnonzero(self.lid > 0) if sinks is None else end_index(self.access, self.fabric, "sinks", sinks)
        found: list[TableFault] = []
        block = max(1, _BLOCK_CELLS // max(len(self.relays), 1))
        for low in range(0, len(wanted), block):
            ends = wanted[low : low + block]
            fate = self._fates(ends)
            for outcome in (_LOOP, _ELSEWHERE, _NO_ENTRY):
                wrong = fate == outcome
                for i in np.flatnonzero(wrong.any(axis=0)).tolist():
                    switches = self.relays[np.flatnonzero(wrong[:, i])]
                    found.append(TableFault(OUTCOMES[outcome], int(self.access.endpoints[ends[i]]), switches))
        return found

    def _fates(self, ends: Array) -> NDArray[np.int8]:
        """How traffic from each relay to each of some endpoints ends; idle relays without an entry pass as arrived."""
        n = len(self.relays)
        arc = self.arc[:, ends].astype(np.int64)
        node = self.fabric.arc_target[np.maximum(arc, 0)]
        there = (arc >= 0) & (node == self.access.endpoints[ends])
        row = self.access.relay_of[node]
        following = np.where(row >= 0, row, n + _ELSEWHERE)
        following = np.where(arc < 0, n + _NO_ENTRY, np.where(there, n + _ARRIVED, following))
        final = np.broadcast_to(np.arange(n, n + 3)[:, None], (3, len(ends)))
        jump = np.concatenate([following, final]).astype(np.int64)
        for _ in range(max(1, int(np.ceil(np.log2(n + 1))))):
            jump = np.take_along_axis(jump, jump, axis=0)
        fate = np.where(jump[:n] < n, _LOOP, jump[:n] - n).astype(np.int8)
        idle = np.ones(n, bool)
        idle[self.access.outward.head[self.access.outward.head < n]] = False
        fate[idle[:, None] & (arc < 0)] = _ARRIVED
        return fate


def _by_uid(fabric: Fabric, rows: Array) -> dict[int, int]:
    """Node row by GUID, as a number: files write GUIDs with and without leading zeros."""
    found: dict[int, int] = {}
    for row, uid in zip(rows.tolist(), fabric.nodes.uid[rows].tolist(), strict=True):
        digits = uid.lower().removeprefix("0x")
        if digits and set(digits) <= set("0123456789abcdef"):
            found.setdefault(int(digits, 16), row)
    return found


def _switch_rows(fabric: Fabric, access: Access, dump: ForwardingDump, book: NoteBook) -> NDArray[np.int64]:
    """Relay row of each switch of the dump, -1 where the fabric has none of that GUID (or, without GUIDs, name)."""
    by_uid = _by_uid(fabric, access.relays)
    by_name = {} if by_uid else {str(fabric.nodes.name[row]): int(row) for row in access.relays}
    row = np.full(len(dump.uid), -1, np.int64)
    for i, (uid, name, line) in enumerate(zip(dump.uid, dump.name, dump.line, strict=True)):
        node = by_uid.get(int(uid, 16), by_name.get(name, -1))
        if node < 0:
            book.add(
                "switch is not in the fabric; its table is left out",
                f"0x{uid} {name}".rstrip(),
                line,
                severity="warning",
            )
        else:
            row[i] = access.relay_of[node]
    if not (row >= 0).any():
        raise InputError(
            f"none of the {len(row):,} switches is in {fabric.name!r}, first 0x{dump.uid[0]}; the tables and the "
            "fabric must come from the same subnet",
            path=dump.source or None,
            line=dump.line[0],
        )
    absent = len(access.relays) - len(np.unique(row[row >= 0]))
    if absent:
        book.add(f"{absent:,} switch(es) of the fabric have no table", severity="warning")
    return row


def _port_arcs(network: Network, access: Access, row: Array, dump: ForwardingDump, book: NoteBook) -> NDArray[np.int64]:
    """Fabric arc of every entry, -1 for the switch itself, an unknown switch, or a port that no cable leaves."""
    ports, links = network.fabric.ports, network.fabric.links
    number = np.array([int(text) if text.isdecimal() else -1 for text in ports.label.labels.tolist()] or [-1], np.int64)
    number = np.append(number, -1)
    near = np.concatenate([links.port_a[network.links], links.port_b[network.links]])
    arc = np.concatenate([2 * network.links, 2 * network.links + 1])
    label = number[ports.label.codes[near]]
    key = ports.node[near].astype(np.int64) * 256 + label
    good = np.flatnonzero((label > 0) & (label < 256))
    order = good[np.argsort(key[good], kind="stable")]
    key, arc = key[order], arc[order]
    relay = row[dump.switch]
    wanted = np.where(relay >= 0, access.relays[np.maximum(relay, 0)], -1) * 256 + dump.port
    at = np.minimum(np.searchsorted(key, wanted), max(len(key) - 1, 0))
    known = (key[at] == wanted) if len(key) else np.zeros(len(wanted), bool)
    known &= (relay >= 0) & (dump.port > 0)
    bare = np.flatnonzero(~known & (relay >= 0) & (dump.port > 0))
    pairs = np.unique(dump.switch[bare].astype(np.int64) * 256 + dump.port[bare])
    for pair in pairs.tolist():
        where = f"switch 0x{dump.uid[pair // 256]} port {pair % 256}"
        book.add("entries for a port that no present cable leaves", where, dump.line[pair // 256], severity="warning")
    return np.where(known, arc[at] if len(arc) else -1, -1)


def _owners(
    fabric: Fabric,
    access: Access,
    dump: ForwardingDump,
    addresses: PortAddresses | None,
    row: Array,
    out: Array,
    book: NoteBook,
) -> NDArray[np.int64]:
    """Endpoint of every address, -1 for none."""
    owner = np.full(1 << 16, -1, np.int64)
    known = np.zeros(1 << 16, bool)
    by_uid = _by_uid(fabric, access.endpoints)
    if addresses is not None:
        for lid, uid in zip(addresses.lid.tolist(), addresses.uid, strict=True):
            known[lid] = True
            owner[lid] = access.end_of[by_uid[int(uid, 16)]] if int(uid, 16) in by_uid else -1
    for lid, uid in dump.target_uid.items():
        if not known[lid] and int(uid, 16) in by_uid:
            known[lid], owner[lid] = True, access.end_of[by_uid[int(uid, 16)]]
    head = np.where(out >= 0, fabric.arc_target[np.maximum(out, 0)], -1)
    end = np.where(head >= 0, access.end_of[head], -1)
    seen = np.unique(dump.lid[end >= 0].astype(np.int64) * len(fabric.nodes) + end[end >= 0])
    lid, end_seen = seen // len(fabric.nodes), seen % len(fabric.nodes)
    several = np.bincount(lid, minlength=1 << 16) > 1
    clear = ~known[lid] & ~several[lid]
    owner[lid[clear]] = end_seen[clear]
    for doubtful in np.flatnonzero(several & ~known).tolist():
        book.add("address is delivered to several endpoints; it is nobody's", f"LID {doubtful}", severity="warning")
    # A switch's own address ends in port 0; other nodes that take traffic but are no endpoints are fine too.
    ended = np.zeros(1 << 16, bool)
    ended[dump.lid[dump.port == 0]] = True
    ended[dump.lid[(head >= 0) & (access.relay_of[head] < 0)]] = True
    lost = np.setdiff1d(dump.lid[row[dump.switch] >= 0], np.flatnonzero(ended | (owner >= 0) | known))
    if lost.size:
        book.add(
            f"{lost.size:,} address(es) have no owner: no switch delivers them",
            f"first LID {lost[0]}",
            severity="warning",
        )
    return owner


def _lowest(owner: Array, n_ends: int) -> NDArray[np.int64]:
    """Lowest address of each endpoint, 0 for none."""
    lid = np.full(n_ends + 1, 1 << 16, np.int64)
    np.minimum.at(lid, owner, np.arange(len(owner)))
    return np.where(lid[:n_ends] < 1 << 16, lid[:n_ends], 0)
