"""Stripes: links inside hosts and scale-up domains that traffic of one flow spreads over, taken together.

Accelerators stripe what they send over all their scale-up links, chunk by chunk, and PCIe joins lanes in hardware;
no flow is hashed onto one of them. So where every flow has one path, that path is one link in the routed fabric only.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from topo.fabric import Fabric
from topo.routing.arcs import list_codes
from topo.table import Array, grouped_order

__all__ = ["Stripes"]


@dataclass(frozen=True, eq=False)
class Stripes:
    """Arcs of a fabric by the stripe they belong to: ``leader[arc]`` is its least arc, the arc itself outside.

    A stripe is: all scale-up arcs of one accelerator into the switch chips of its domain, or out of them, between two
    sets of such chips, or between two accelerators; the host_io arcs between two nodes. Chips of one domain (or host)
    with the same accelerators are one set.

    >>> import topo
    >>> f = topo.load("nvidia-gb200-nvl72")
    >>> stripes = Stripes.of(f)
    >>> lanes = stripes.leader[(f.arc_source == f.endpoints[0]) & f.links.kind.is_any("scale_up").repeat(2)]
    >>> len(lanes), len(set(lanes.tolist()))
    (18, 1)
    """

    leader: NDArray[np.int64]

    @classmethod
    def of(cls, fabric: Fabric) -> Stripes:
        """The stripes of a fabric as it was built; what failed of them has no capacity."""
        leader = np.arange(2 * len(fabric.links))
        tail, head = fabric.arc_source.astype(np.int64), fabric.arc_target.astype(np.int64)
        scale_up = np.repeat(fabric.links.kind.is_any("scale_up"), 2)
        if scale_up.any():
            group = _groups(fabric, tail, head, scale_up)
            _join(leader, np.flatnonzero(scale_up), group[tail], group[head], len(group))
        inside = np.flatnonzero(np.repeat(fabric.links.kind.is_any("host_io"), 2))
        if len(inside):
            _join(leader, inside, tail, head, len(fabric.nodes))
        return cls(leader)

    def capacity(self, arc_gbps: NDArray[np.float64]) -> NDArray[np.float64]:
        """Rate of every stripe at its leader, all members together; unknown (nan) ones count nothing."""
        total = np.bincount(self.leader, weights=np.nan_to_num(arc_gbps, nan=0.0), minlength=len(self.leader))
        single = np.bincount(self.leader, minlength=len(self.leader)) == 1
        rate: NDArray[np.float64] = np.where(single, arc_gbps, total)
        return rate

    def paths(self, arcs: NDArray[np.int64]) -> NDArray[np.int64]:
        """Paths with each arc replaced by its stripe's leader; -1 stays."""
        joined: NDArray[np.int64] = np.where(arcs >= 0, self.leader[arcs], -1)
        return joined

    def spread(self, load: NDArray[np.float64], arc_gbps: NDArray[np.float64]) -> NDArray[np.float64]:
        """Loads of leaders shared out to all members, by their rates."""
        rate = np.nan_to_num(arc_gbps, nan=0.0)
        total = np.bincount(self.leader, weights=rate, minlength=len(rate))[self.leader]
        part: NDArray[np.float64] = load[self.leader] * np.divide(rate, total, out=np.zeros_like(rate), where=total > 0)
        return part

    def members(self, arcs: NDArray[np.int64]) -> NDArray[np.int64]:
        """All arcs of the stripes that some arcs lead, ascending."""
        return np.flatnonzero(np.isin(self.leader, arcs))


def _groups(fabric: Fabric, tail: Array, head: Array, scale_up: Array) -> NDArray[np.int64]:
    """A number for each node; chips of one domain that the same accelerators hang on share theirs."""
    nodes = fabric.nodes
    # Where a chip belongs: its domain, or the host it is part of.
    domain, host = nodes.domain.codes.astype(np.int64), nodes.host.codes.astype(np.int64)
    place = np.where(domain >= 0, domain, np.where(host >= 0, domain.max() + 1 + host, -1))
    chip = ~nodes.is_endpoint & ~nodes.kind.is_any("accelerator") & (place >= 0)
    arcs = np.flatnonzero(scale_up & chip[tail])
    chips = np.unique(tail[arcs])
    # Of chips without accelerators, those of one place and tier.
    beside = np.where(chip[head[arcs]], -1, head[arcs])
    key = np.unique((beside + 1) * len(nodes) + tail[arcs])
    neighbour, owner = key // len(nodes), key % len(nodes)
    keep = neighbour > 0
    neighbour, owner = neighbour[keep], owner[keep]
    order = grouped_order(owner, len(nodes))
    count = np.bincount(owner, minlength=len(nodes))[chips]
    same = list_codes(neighbour[order], count)
    height = nodes.tier[chips].astype(np.int64) - int(nodes.tier.min())
    code = (same * (int(height.max(initial=0)) + 1) + height) * (int(place.max()) + 1) + place[chips]
    _, first, inverse = np.unique(code, return_index=True, return_inverse=True)
    group = np.arange(len(nodes))
    group[chips] = chips[first][inverse]
    return group


def _join(leader: Array, arcs: Array, tail: Array, head: Array, n: int) -> None:
    """Make the arcs of equal tail and head one stripe."""
    key = tail[arcs] * n + head[arcs]
    _, first, inverse = np.unique(key, return_index=True, return_inverse=True)
    leader[arcs] = arcs[first][inverse]
