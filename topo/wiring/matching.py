"""A design laid over what was found: which planned device is which found one, and both sides as one fabric."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from topo.fabric import Fabric
from topo.table import Array, appended
from topo.wiring.cabling import Cabling
from topo.wiring.comparison import Comparison
from topo.wiring.difference import Difference, difference
from topo.wiring.hosts import seats_of
from topo.wiring.renamed import names_of, renamed_hosts
from topo.wiring.resemblance import paired
from topo.wiring.spelling import End, ends_of, keys_of_ports, port_key, same_ports, shared_devices, written
from topo.wiring.split import Splits, split_difference, splits_of
from topo.wiring.structure import Boxes
from topo.wiring.votes import Image
from topo.wiring.words import devices_by_address, found_by_cable, found_by_words, has_other_words

__all__ = ["Laying", "Matched", "image_of", "laid_by_boxes", "laid_by_image", "lay_over", "matched_by_name"]

_UNLABELLED = 0.5
_MOST_LEFT = 2000


@dataclass(frozen=True, eq=False)
class Laying:
    """Where each planned port is among the found ones.

    ``port`` is the found row of each planned port (-1: none), ``node`` the found row of each planned node (-1: none);
    both speak of planned cabled ports only. ``how`` says how they were found. ``renamed`` are hosts under other names:
    a found node of each, the found and the planned name. ``named`` is how many devices of the side with fewer are
    called so on the other too, part of them.
    """

    port: NDArray[np.int64]
    node: NDArray[np.int64]
    how: str
    renamed: tuple[tuple[int, str, str], ...] = ()
    named: float = 0.0


@dataclass(frozen=True, eq=False)
class Matched:
    """Both sides as one fabric and the fewest operations between them.

    ``found_links`` and ``planned_links`` are the rows of ``comparison.both`` that were compared, in the order of the
    inputs of ``best``; ``by_device`` whether ports did not count. ``planned_row`` is each one's row in the design.
    """

    comparison: Comparison
    best: Difference
    found_links: NDArray[np.int64]
    planned_links: NDArray[np.int64]
    planned_row: NDArray[np.int64]
    by_device: bool
    is_new: NDArray[np.bool_]
    how: str
    splits: Splits | None = None

    @property
    def n_common(self) -> int:
        """Cables that both sides have."""
        return len(self.best.common[0])

    @property
    def share(self) -> float:
        """Common cables of the smaller side."""
        return self.n_common / max(1, min(len(self.found_links), len(self.planned_links)))


def matched_by_name(found: Cabling, planned: Cabling) -> Laying:
    """Lay the design over the found fabric by the names of devices and ports."""
    ports_f, ports_p = (_used_ports(side) for side in (found, planned))
    ends_f = ends_of(found.fabric, ports_f, found.is_switch)
    ends_p = ends_of(planned.fabric, ports_p, planned.is_switch)
    _align_adapters((found, ports_f, ends_f), (planned, ports_p, ends_p))
    alike = shared_devices({end.device for end in ends_f}, {end.device for end in ends_p})
    sides = (found, ports_f.tolist(), ends_f), (planned, ports_p.tolist(), ends_p)
    has_words = any(map(has_other_words, (found.fabric, planned.fabric)))
    by_address = devices_by_address(*sides, alike) if has_words else {}
    alike |= by_address
    node_at: dict[str, int] = {}
    for row, end in zip(ports_f.tolist(), ends_f, strict=True):
        node_at.setdefault(end.device, int(found.fabric.ports.node[row]))
    port = np.full(len(planned.fabric.ports), -1)
    node = np.full(len(planned.fabric.nodes), -1)
    named_f, named_p = (list(zip(rows, ends, strict=True)) for _, rows, ends in sides)
    _pair_ports(named_f, named_p, alike, port)
    renamed = renamed_hosts((found, named_f), (planned, named_p), alike, port)
    if renamed:
        _pair_ports(named_f, named_p, renamed, port)
        alike |= renamed
    said = _by_other_words(sides, alike, port, by_address) if has_words else ""
    at_switch = planned.is_switch[planned.fabric.ports.node]
    node_of = {device: str(node_at[at]) for device, at in alike.items()}
    _pair_ports(_free_ends(found), [one for one in named_p if at_switch[one[0]]], node_of, port)
    for row, end in named_p:
        device = alike.get(end.device)
        if device is None:
            continue
        mine = int(port[row])
        planned_node = int(planned.fabric.ports.node[row])
        if mine >= 0:
            node[planned_node] = found.fabric.ports.node[mine]
        elif planned.is_switch[planned_node]:
            node[planned_node] = node_at[device]
    n_found, total = (len({end.device for end in ends}) for ends in (ends_f, ends_p))
    by_name = len(alike) - len(by_address) - len(renamed)
    said = (f", {len(renamed):,} by the switch ports they are on" if renamed else "") + said
    how = f"{by_name:,} of {total:,} planned devices found by name{said}"
    same = names_of((found, named_f), (planned, named_p), renamed)
    return Laying(port, node, how, same, by_name / max(1, min(n_found, total)))


_Ends = Sequence[tuple[int, End]]
"""Rows of ports, and where each is."""


def _pair_ports(found: _Ends, planned: _Ends, alike: Mapping[str, str], port: NDArray[np.int64]) -> None:
    """Fill in the found row of each planned port that is still open, device by device."""
    of_f, of_p = defaultdict(list), defaultdict(list)
    for row, end in found:
        of_f[end.device].append((row, end))
    for row, end in planned:
        if port[row] < 0 and end.device in alike:
            of_p[end.device].append((row, end))
    for device, mine in of_p.items():
        other = of_f[alike[device]]
        for at, to in same_ports([end for _, end in other], [end for _, end in mine]).items():
            port[mine[at][0]] = other[to][0]


def _free_ends(side: Cabling) -> _Ends:
    """Free ports of switches, each switch named by its row."""
    ports = side.fabric.ports
    rows = np.flatnonzero(~side.cabled & side.is_switch[ports.node])
    named = zip(rows.tolist(), ports.node[rows].tolist(), ports.label.values(rows).tolist(), strict=True)
    return [(row, End(str(node), port_key(label), written(label))) for row, node, label in named]


def _by_other_words(
    sides: tuple[tuple[Cabling, list[int], list[End]], tuple[Cabling, list[int], list[End]]],
    alike: dict[str, str],
    port: NDArray[np.int64],
    by_address: dict[str, str],
) -> str:
    """Find ports that are told by another word than the plan's, and say how many by which."""
    counts = found_by_words(*sides, alike, port)
    by_cable = found_by_cable(*sides, alike, port)
    said = f", {len(by_address):,} by MAC address" if by_address else ""
    parts = [f"{n:,} by {kind}" for kind, n in sorted(counts.items(), reverse=True)]
    parts += [f"{by_cable:,} by the other end of the cable or as the one port left"] if by_cable else []
    return said + (f"; ports not told by their name: {', '.join(parts)}" if parts else "")


_Side = tuple[Cabling, NDArray[np.int64], list[End]]


def _align_adapters(found: _Side, planned: _Side) -> None:
    """Name adapters by their rank where the two sides count them otherwise: 1 to 8 here, 0, 1, 2, 3, 6, ... there."""
    seats = [seats_of(side) for side, _, _ in (found, planned)]
    if seats[0] is None or seats[1] is None:
        return
    for size in {len(labels) for labels in seats[0].labels} & {len(labels) for labels in seats[1].labels}:
        keys = [
            {port_key(name) for names, each in zip(seat.labels, map(len, seat.labels), strict=True) if each == size
             for label in names for name in label.split(" or ")}
            for seat in seats if seat is not None
        ]  # fmt: skip
        if keys[0] & keys[1] and (keys[0] <= keys[1] or keys[1] <= keys[0]):
            continue
        for seat, (side, ports, ends) in zip(seats, (found, planned), strict=True):
            assert seat is not None
            mine = seat.full[seat.host] == size
            rank = dict(zip(side.nic_port[seat.row[mine]].tolist(), seat.rank[mine].tolist(), strict=True))
            for i, row in enumerate(ports.tolist()):
                if row in rank:
                    ends[i] = End(ends[i].device, f"rank {rank[row]}", f"rank {rank[row]}")


def laid_by_image(found: Cabling, planned: Cabling, boxes: tuple[Boxes, Boxes], image: Image, how: str) -> Laying:
    """Lay the design over the found fabric by an image of the found boxes."""
    first, second = boxes
    inverse = np.full(second.n, -1)
    known = np.flatnonzero(image.of >= 0)
    inverse[image.of[known]] = known
    key_f = first.u * first.n_codes + first.p
    order = np.argsort(key_f, kind="stable")
    key_p = np.where(inverse[second.u] >= 0, inverse[second.u] * first.n_codes + second.p, -1)
    at = np.minimum(np.searchsorted(key_f[order], key_p), len(order) - 1)
    hit = (key_f[order][at] == key_p) & (key_p >= 0)
    port = np.full(len(planned.fabric.ports), -1)
    port[second.port_row[hit]] = first.port_row[order][at][hit]
    node = np.full(len(planned.fabric.nodes), -1)
    box_of_node, owner = first.box_of_node, np.full(first.n, -1)
    switches = np.flatnonzero((box_of_node >= 0) & found.is_switch)
    owner[box_of_node[switches]] = switches
    keys_f, keys_p = keys_of_ports(found.fabric, planned.fabric)
    free = _free_ports(found, keys_f)
    for row in np.unique(second.port_row[~hit]).tolist():
        mine = int(planned.fabric.ports.node[row])
        box = int(second.box_of_node[mine])
        if planned.is_switch[mine] and inverse[box] >= 0:
            node[mine] = owner[inverse[box]]
            port[row] = free.get((int(node[mine]), keys_p[row]), -1)
    cabled = port[second.port_row]
    node[planned.fabric.ports.node[second.port_row[cabled >= 0]]] = found.fabric.ports.node[cabled[cabled >= 0]]
    return Laying(port, node, how)


def laid_by_boxes(
    found: Cabling, planned: Cabling, boxes: tuple[Boxes, Boxes], image: NDArray[np.int64], how: str
) -> Laying:
    """Lay the design over the found fabric device by device: switches, adapters of hosts, lone adapters a switch."""
    first, second = boxes
    node = np.full(len(planned.fabric.nodes), -1)
    sides = (found, first, image), (planned, second, np.arange(second.n))
    for coded in (_coded_devices, _coded_lone_adapters):
        (rows_f, codes_f), (rows_p, codes_p) = (coded(*side) for side in sides)
        left_f, left_p = ~np.isin(rows_f, node), node[rows_p] < 0
        at, to = paired(rows_f[left_f], codes_f[left_f], rows_p[left_p], codes_p[left_p])
        node[to] = at
    left_f, left_p = np.setdiff1d(rows_f, node), rows_p[node[rows_p] < 0]
    at, to = _by_shared_switches(sides, left_f, left_p)
    node[to] = at
    return Laying(np.full(len(planned.fabric.ports), -1), node, how)


def _by_shared_switches(
    sides: tuple[tuple[Cabling, Boxes, Array], tuple[Cabling, Boxes, Array]], left_f: Array, left_p: Array
) -> tuple[Array, Array]:
    """Adapters that no number tells, those with most switches in common first; too many are taken as they come."""
    n = min(len(left_f), len(left_p))
    if not n or max(len(left_f), len(left_p)) > _MOST_LEFT:
        return left_f[:n], left_p[:n]
    from scipy.optimize import linear_sum_assignment
    from scipy.sparse import coo_array

    width = int(max(own.max(initial=0) for _, _, own in sides)) + 1
    tables = []
    for (side, boxes, own), left in zip(sides, (left_f, left_p), strict=True):
        node, far = side.fabric.ports.node[boxes.port_row], own[boxes.w]
        at = np.minimum(np.searchsorted(left, node), len(left) - 1)
        mine = (left[at] == node) & (far >= 0)
        ones = np.ones(int(mine.sum()))
        tables.append(coo_array((ones, (at[mine], far[mine])), shape=(len(left), width)).tocsr())
    at, to = linear_sum_assignment(-(tables[0] @ tables[1].T).toarray())
    return left_f[at], left_p[to]


def _coded_devices(side: Cabling, boxes: Boxes, own: Array) -> tuple[Array, Array]:
    """Nodes whose box is known: its planned box, and the rank of an adapter in a host."""
    mine = np.flatnonzero(own[boxes.u] >= 0)
    rows, once = np.unique(side.fabric.ports.node[boxes.port_row[mine]], return_index=True)
    half = mine[once]
    rank = np.where(boxes.kind[boxes.u[half]] == 1, boxes.p[half] + 1, 0)
    return rows.astype(np.int64), own[boxes.u[half]] * (boxes.n_codes + 1) + rank


def _coded_lone_adapters(side: Cabling, boxes: Boxes, own: Array) -> tuple[Array, Array]:
    """Nodes of lone adapters, and a number that is equal for those on the same planned switches."""
    mine = np.flatnonzero(boxes.kind[boxes.u] == 2)
    rows, back = np.unique(side.fabric.ports.node[boxes.port_row[mine]], return_inverse=True)
    far = own[boxes.w[mine]]
    random = np.random.default_rng(3).integers(1, 2**62, int(far.max(initial=0)) + 2, dtype=np.uint64)
    codes = np.zeros(len(rows), np.uint64)
    with np.errstate(over="ignore"):
        np.add.at(codes, back, random[far])
    return rows.astype(np.int64), codes


def image_of(laying: Laying, boxes: tuple[Boxes, Boxes], found: Cabling, planned: Cabling) -> NDArray[np.int64]:
    """The image of the found boxes that a laying stands for."""
    first, second = boxes
    image = np.full(first.n, -1)
    ports = np.flatnonzero(laying.port >= 0)
    at = first.box_of_node[found.fabric.ports.node[laying.port[ports]]]
    to = second.box_of_node[planned.fabric.ports.node[ports]]
    good = (at >= 0) & (to >= 0)
    image[at[good]] = to[good]
    nodes = np.flatnonzero(laying.node >= 0)
    at, to = first.box_of_node[laying.node[nodes]], second.box_of_node[nodes]
    good = (at >= 0) & (to >= 0)
    image[at[good]] = to[good]
    return image


def _used_ports(side: Cabling) -> NDArray[np.int64]:
    links = side.fabric.links
    return np.unique(np.concatenate([links.port_a[side.links], links.port_b[side.links]])).astype(np.int64)


def _free_ports(side: Cabling, keys: list[str]) -> dict[tuple[int, str], int]:
    """Free ports of switches by node and key."""
    ports = side.fabric.ports
    rows = np.flatnonzero(~side.cabled & side.is_switch[ports.node]).tolist()
    return {(int(ports.node[row]), keys[row]): row for row in rows}


def lay_over(found: Cabling, planned: Cabling, laying: Laying, *, by_device: bool | None = None) -> Matched:
    """Both sides as one fabric under a laying, and the fewest operations between them."""
    fabric, port, is_new = _united(found, planned, laying)
    links = planned.fabric.links
    rows = planned.links
    ends_p = np.stack([port[links.port_a[rows]], port[links.port_b[rows]]], axis=1)
    own = found.fabric.links
    ends_f = np.stack([own.port_a[found.links], own.port_b[found.links]], axis=1).astype(np.int64)
    if by_device is None:
        by_device = any(_is_unlabelled(side) for side in (found, planned))
    owner = fabric.ports.node.astype(np.int64)
    classes_f, classes_p = (owner[ends_f], owner[ends_p]) if by_device else (ends_f, ends_p)
    cables = own.cable[found.links], links.cable[rows]
    splits = None if by_device else splits_of(fabric, ends_f, ends_p, *cables)
    walk = _walk(fabric, owner, by_device)
    best = difference(classes_f, classes_p, walk) if splits is None else split_difference(ends_f, ends_p, splits, walk)
    lacking = np.setdiff1d(np.arange(len(rows)), best.common[1], assume_unique=True)
    both = replace(
        fabric,
        links=appended(
            fabric.links, len(lacking), port_a=ends_p[lacking, 0], port_b=ends_p[lacking, 1],
            capacity_gbps=_known_rates(found, planned, rows[lacking]), kind=links.kind.values(rows[lacking]).tolist(),
            cable=_behind(own.cable, links.cable[rows[lacking]]), evidence=["planned"] * len(lacking),
            source=links.source.values(rows[lacking]).tolist(),
            line=links.line[rows[lacking]],
        ),
    )  # fmt: skip
    n = len(own)
    planned_links = np.full(len(rows), -1)
    planned_links[best.common[1]] = found.links[best.common[0]]
    planned_links[lacking] = n + np.arange(len(lacking))
    is_found = np.arange(len(both.links)) < n
    is_planned = np.ones(len(both.links), bool)
    is_planned[found.links] = False
    is_planned[found.links[best.common[0]]] = True
    comparison = Comparison(both, is_found, is_planned)
    return Matched(comparison, best, found.links, planned_links, rows, by_device, is_new, laying.how, splits)


def _behind(own: Array, more: Array) -> NDArray[np.int64]:
    """Numbers of cables behind those of the found side; -1 stays none."""
    return np.where(more >= 0, more.astype(np.int64) + own.max(initial=-1) + 1, -1)


def _known_rates(found: Cabling, planned: Cabling, rows: Array) -> NDArray[np.float64]:
    """Rates of planned links; those that state none take the usual rate of found links of their kind."""
    rates, kind = planned.fabric.links.capacity_gbps[rows].copy(), planned.fabric.links.kind.values(rows)
    of_found = found.fabric.links.kind.values(found.links)
    known = found.fabric.links.capacity_gbps[found.links]
    for one in np.unique(kind[np.isnan(rates)]).tolist():
        values, times = np.unique(known[(of_found == one) & ~np.isnan(known)], return_counts=True)
        if len(values):
            rates[np.isnan(rates) & (kind == one)] = values[np.argmax(times)]
    return rates


def _is_unlabelled(side: Cabling) -> bool:
    labels = side.fabric.ports.label
    codes = labels.codes[_used_ports(side)]
    empty = np.append(labels.labels == "", True)
    return bool(empty[codes].mean() > _UNLABELLED) if len(codes) else False


def _united(found: Cabling, planned: Cabling, laying: Laying) -> tuple[Fabric, NDArray[np.int64], NDArray[np.bool_]]:
    """The found fabric with the nodes and ports it lacks; each planned port's row in it; which nodes are new."""
    fabric, plan = found.fabric, planned.fabric
    used = _used_ports(planned)
    node = laying.node.copy()
    lacks_port = used[laying.port[used] < 0]
    new_nodes = np.unique(plan.ports.node[lacks_port])
    new_nodes = new_nodes[node[new_nodes] < 0]
    node[new_nodes] = len(fabric.nodes) + np.arange(len(new_nodes))
    columns = {name: getattr(plan.nodes, name) for name in plan.nodes.columns()}
    taken = {name: column.take(new_nodes) if hasattr(column, "take") and hasattr(column, "codes") else column[new_nodes]
             for name, column in columns.items()}  # fmt: skip
    nodes = appended(fabric.nodes, len(new_nodes), **taken)
    port = laying.port.copy()
    port[lacks_port] = len(fabric.ports) + np.arange(len(lacks_port))
    ports = appended(
        fabric.ports, len(lacks_port), node=node[plan.ports.node[lacks_port]],
        label=plan.ports.label.take(lacks_port), gbps=plan.ports.gbps[lacks_port],
    )  # fmt: skip
    is_new = np.arange(len(nodes)) >= len(fabric.nodes)
    return replace(fabric, nodes=nodes, ports=ports), port, is_new


def _walk(fabric: Fabric, owner: Array, by_device: bool):  # type: ignore[no-untyped-def]
    """How far a hand walks between two ends: nowhere on one box, least inside a host, then rack or pod, then tier."""
    nodes = fabric.nodes

    def walk(left: Array, entered: Array) -> NDArray[np.float64]:
        a, b = (left, entered) if by_device else (owner[left], owner[entered])
        host, rack, pod = (column.codes for column in (nodes.host, nodes.rack, nodes.pod))
        near = ((rack[a] >= 0) & (rack[a] == rack[b])) | ((pod[a] >= 0) & (pod[a] == pod[b]))
        far = np.where(near, 0.5, 0.8) + 0.2 * (nodes.tier[a] != nodes.tier[b])
        far = np.where((host[a] >= 0) & (host[a] == host[b]), 0.2, far)
        return np.where(a == b, 0.0, far)

    return walk
