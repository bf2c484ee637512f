"""Switch chips of scale-up domains, once for each host beside them: a host's own traffic may come back to it.

A chip that several hosts share relays for all of them. What a host sends into it may go on to other hosts, or come back
to parts of the host it left, which pass it on to their adapters; what came in at one part of a host may reach another
part over the chip. So the host has a copy of the chip among its own parts, left and entered like them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from topo.fabric import FORWARDS_ALL
from topo.network import Network
from topo.routing.relaying import passing_parts
from topo.routing.scheme import Routing
from topo.table import Array

__all__ = ["ChipCopies"]


@dataclass(frozen=True, eq=False)
class ChipCopies:
    """Copy i is node ``chip[i]`` as one of the parts of host ``host[i]``; sorted by host, then chip.

    ``beside`` are positions of the network's links that join a part to a chip copied for its host, ``part`` and
    ``copy`` what they join, ``enters`` whether traffic of the part goes into the copy (else into the chip itself).
    ``is_copied`` says for each node whether it is a chip with copies.
    """

    host: NDArray[np.int64]
    chip: NDArray[np.int64]
    beside: NDArray[np.int64]
    part: NDArray[np.int64]
    copy: NDArray[np.int64]
    enters: NDArray[np.bool_]
    is_copied: NDArray[np.bool_]

    @classmethod
    def of(cls, network: Network, routing: Routing) -> ChipCopies | None:
        """The copies a network needs, None where there are none."""
        fabric, nodes = network.fabric, network.fabric.nodes
        links = np.flatnonzero(fabric.links.kind.is_any("scale_up")[network.links])
        if not len(links):
            return None
        a, b = network.a[links].astype(np.int64), network.b[links].astype(np.int64)
        full, domain, host = nodes.forwards == FORWARDS_ALL, nodes.domain.codes, nodes.host.codes.astype(np.int64)
        part, chip = np.where(full[a], b, a), np.where(full[a], a, b)
        mixed = (full[a] != full[b]) & (host[part] >= 0)
        links, part, chip = links[mixed], part[mixed], chip[mixed]
        enters = passing_parts(network, routing)[part] & (domain[part] >= 0) & (domain[part] == domain[chip])
        if not enters.any():
            return None
        key = host[part] * len(nodes) + chip
        copies = np.unique(key[enters])
        copy = np.minimum(np.searchsorted(copies, key), len(copies) - 1)
        near = copies[copy] == key
        chips = copies % len(nodes)
        is_copied = np.zeros(len(nodes), bool)
        is_copied[chips] = True
        return cls(copies // len(nodes), chips, links[near], part[near], copy[near], enters[near], is_copied)

    def entries(
        self, network: Network, between: Array, relay_row: Array, part_row: Array, copy_row: Array, n_parts: int
    ) -> list[tuple[Array, Array, Array, Array]]:
        """Arcs out of and into copies, but for those to other hosts: (tail row, head row, link position, fabric arc).

        ``part_row`` and ``copy_row`` are the out rows of nodes and copies (-1: left out), their in rows lie
        ``n_parts`` further on; ``between`` are the links between relays.
        """
        there = (part_row[self.part] >= 0) & (copy_row[self.copy] >= 0)
        link, enters = self.beside[there], self.enters[there]
        part, copy = part_row[self.part[there]], copy_row[self.copy[there]]
        into = 2 * network.links[link] + (network.b[link] == self.part[there])
        found = []
        for shift in (0, n_parts):
            found.append((part[enters] + shift, copy[enters] + shift, link[enters], into[enters]))
            found.append((copy + shift, part + shift, link, into ^ 1))
        # On to other relays: chips may have switches above them.
        for tail, head, side in ((network.a, network.b, 0), (network.b, network.a, 1)):
            links = between[self.is_copied[tail[between]]]
            by_chip = np.argsort(tail[links], kind="stable")
            links = links[by_chip]
            low, high = (np.searchsorted(tail[links], self.chip, side=s) for s in ("left", "right"))
            count = np.where(copy_row >= 0, high - low, 0)
            which = np.repeat(np.arange(len(count)), count)
            at = links[np.arange(len(which)) - (np.cumsum(count) - count)[which] + low[which]]
            found.append((copy_row[which], relay_row[head[at]], at, 2 * network.links[at] + side))
        return found
