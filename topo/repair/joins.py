"""Who still reaches the rest while cables move: endpoints joined as the plan joins them, counted state by state."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from topo.fabric import FORWARDS_ALL
from topo.io.infer_tiers import components
from topo.table import Array
from topo.wiring.cabling import KINDS
from topo.wiring.comparison import Comparison

__all__ = ["Joins"]


class Joins:
    """Counts the ends of hosts that do not reach the part of the fabric that the plan joins them to.

    Switches that cables between switches join are one part; an end is served where one of its cables leads to the
    part that holds most ends of its planned part. Only what the *plan* joins counts: on a fabric of separate rails a
    repair must part what a fault joined.
    """

    def __init__(self, comparison: Comparison) -> None:
        fabric = comparison.both
        self.n = len(fabric.nodes)
        self.a, self.b = fabric.link_a.astype(np.int64), fabric.link_b.astype(np.int64)
        self.port_node = fabric.ports.node.astype(np.int64)
        self.full = fabric.nodes.forwards == FORWARDS_ALL
        self.cable = fabric.links.kind.is_any(*KINDS) | fabric.links.kind.is_any("internal")
        wanted = self.cable & comparison.planned
        part = self._parts(self.a[wanted], self.b[wanted])
        end, switch = self._access(self.a[wanted], self.b[wanted])
        self.end, first = np.unique(end, return_index=True)
        self.part = part[switch[first]]

    def cut_off(self, port_a: Array, port_b: Array, there: Array) -> int:
        """Ends not served with just the links ``there`` (a mask), plugged into these ports."""
        mask = there & self.cable[: len(there)]
        a, b = self.port_node[port_a[mask]], self.port_node[port_b[mask]]
        now = self._parts(a, b)
        end, switch = self._access(a, b)
        at = np.searchsorted(self.end, end)
        known = (at < len(self.end)) & (self.end[np.minimum(at, len(self.end) - 1)] == end)
        at, own = at[known], now[switch[known]]
        if not len(at):
            return len(self.end)
        wide = int(own.max()) + 1
        # The part that holds most ends of each planned part; each end counts once in each part it touches.
        touch = np.unique(at * wide + own)
        keys, times = np.unique(self.part[touch // wide] * wide + touch % wide, return_counts=True)
        order = np.lexsort((times, keys // wide))
        main = dict(zip((keys[order] // wide).tolist(), (keys[order] % wide).tolist(), strict=True))
        right = np.array([main.get(part, -1) for part in range(int(self.part.max()) + 1)])
        served = np.unique(touch[touch % wide == right[self.part[touch // wide]]] // wide)
        return len(self.end) - len(served)

    def _parts(self, a: Array, b: Array) -> NDArray[np.int64]:
        inside = self.full[a] & self.full[b]
        return components(self.n, a[inside], b[inside])

    def _access(self, a: Array, b: Array) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        one = self.full[a] != self.full[b]
        outward = self.full[a[one]]
        return np.where(outward, b[one], a[one]), np.where(outward, a[one], b[one])
