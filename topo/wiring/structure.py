"""Both sides as graphs of boxes joined at ports, comparable without any name."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from topo.table import Array
from topo.wiring.cabling import Cabling
from topo.wiring.hosts import Seats, seats_of
from topo.wiring.spelling import keys_of_ports

__all__ = ["Boxes", "boxes_of"]

_GROUPED = 0.5


@dataclass(frozen=True, eq=False)
class Boxes:
    """One side: half-cables from box ``u`` at port ``p`` to box ``w`` at port ``r``, each cable once from either end.

    A box is a switch (kind 0), a host with several adapters (kind 1, its ports are their ranks), or a lone adapter
    (kind 2). Port codes are those of both sides together. ``cable`` is the place of the half's cable in
    ``Cabling.links``; ``box_of_node`` leads from nodes to boxes, ``port_row`` from halves to ports.
    """

    n: int
    kind: NDArray[np.int64]
    u: NDArray[np.int64]
    p: NDArray[np.int64]
    w: NDArray[np.int64]
    r: NDArray[np.int64]
    cable: NDArray[np.int64]
    box_of_node: NDArray[np.int64]
    port_row: NDArray[np.int64]
    n_codes: int

    @property
    def degree(self) -> NDArray[np.int64]:
        """Half-cables of every box."""
        return np.bincount(self.u, minlength=self.n)


def boxes_of(found: Cabling, planned: Cabling) -> tuple[Boxes, Boxes]:
    """Both sides with common port codes; hosts are boxes only where both sides know them."""
    seats = [seats_of(side) for side in (found, planned)]
    grouped = all(
        seat is not None and len(seat.row) >= _GROUPED * max(len(side.access), 1)
        for seat, side in zip(seats, (found, planned), strict=True)
    )
    codes: dict[str, int] = {}
    keys = keys_of_ports(found.fabric, planned.fabric)
    first, second = (
        _boxes(side, seat if grouped else None, own, codes)
        for side, seat, own in zip((found, planned), seats, keys, strict=True)
    )
    return replace(first, n_codes=len(codes)), replace(second, n_codes=len(codes))


def _boxes(side: Cabling, seats: Seats | None, keys: list[str], codes: dict[str, int]) -> Boxes:
    fabric = side.fabric
    n = len(fabric.nodes)
    owner = np.arange(n)
    seat_rank = np.full(len(side.access), -1)
    if seats is not None:
        owner[side.nic[seats.row]] = n + seats.host
        seat_rank[seats.row] = seats.rank
    ends = fabric.ports.node[np.concatenate([fabric.links.port_a[side.links], fabric.links.port_b[side.links]])]
    used = np.unique(ends)
    _, number = np.unique(owner[used], return_inverse=True)
    box_of_node = np.full(n, -1)
    box_of_node[used] = number
    kind = np.zeros(int(number.max(initial=-1)) + 1, np.int64)
    kind[number[~side.is_switch[used]]] = 2
    kind[box_of_node[side.nic]] = np.where(seat_rank >= 0, 1, 2)
    code = _port_codes(side, seat_rank, keys, codes)
    links = fabric.links
    a, b = links.port_a[side.links].astype(np.int64), links.port_b[side.links].astype(np.int64)
    ports = np.concatenate([a, b])
    far = np.concatenate([b, a])
    node = fabric.ports.node
    return Boxes(
        len(kind), kind, box_of_node[node[ports]], code[ports], box_of_node[node[far]], code[far],
        np.tile(np.arange(len(side.links)), 2), box_of_node, ports, 0,
    )  # fmt: skip


def _port_codes(side: Cabling, seat_rank: Array, keys: list[str], codes: dict[str, int]) -> NDArray[np.int64]:
    """Code of every port: the number on a switch, the rank of an adapter in its host."""
    code = np.array([codes.setdefault(key, len(codes)) for key in keys], np.int64)
    known = seat_rank >= 0
    ranks = {int(rank): codes.setdefault(f"rank {rank}", len(codes)) for rank in np.unique(seat_rank[known])}
    code[side.nic_port[known]] = [ranks[int(rank)] for rank in seat_rank[known]]
    return code
