"""The moves of a growth in rounds: one cable of every leaf to one spine at a time, so that all leaves stay alike.

Moving cable by cable leaves leaves with unequal rows, and an even split over unequal rows halves an all-to-all. A round
drains one cable of each leaf to one spine, re-plugs them and brings them up together: a leaf of u uplinks has u - 1 on
the way, which no order can better, and every leaf has the same row before and after.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from topo.errors import TopoError
from topo.fabric import FORWARDS_ALL, Fabric, State
from topo.repair.moves import Job
from topo.routing.loads import link_loads
from topo.table import freeze
from topo.traffic import all_to_all
from topo.view.text import natural_key
from topo.wiring.comparison import Comparison

__all__ = ["Capacity", "units_of", "uplinks_of"]

MOST_MEASURED = 64
"""So many states on the way are measured with the load model; of more, evenly spread ones."""


class Capacity:
    """What is left of an all-to-all of the old endpoints in a state of the growing fabric, of what it was before.

    Flows split evenly over all shortest paths. Where that cannot be worked out (rates unknown), the least part of its
    uplinks that a switch has left stands in, and :attr:`how` says so.
    """

    def __init__(self, comparison: Comparison, endpoints: NDArray[np.int64]) -> None:
        self.both, self.comparison = comparison.both, comparison
        self.how = (
            "an all-to-all of the old endpoints on the cables between switches, split evenly over all shortest paths, "
            "of what it was before"
        )
        self.full = self.both.nodes.forwards == FORWARDS_ALL
        self.between = self.full[self.both.link_a] & self.full[self.both.link_b]
        self.before = self._up(comparison.found)
        self.demand = None
        try:
            self.demand = all_to_all(self.both, endpoints)
            self.theta = self._theta(comparison.found)
        except TopoError as error:
            self.demand = None
            self.how = f"the least part of its uplinks that a switch has left ({error})"

    def of(self, there: NDArray[np.bool_]) -> float:
        """The part that is left with just the links ``there``."""
        if self.demand is not None:
            now = self._theta(there)
            return min(1.0, now / self.theta) if 0 < self.theta < np.inf else float(now > 0)
        had = self.before > 0
        return float(min(1.0, (self._up(there)[had] / self.before[had]).min())) if had.any() else 1.0

    def _theta(self, there: NDArray[np.bool_]) -> float:
        assert self.demand is not None
        loads = link_loads(self.both, self.demand, state=State(None, freeze(there.copy()), None))
        if loads.lost_pairs:
            return 0.0
        # Cables between switches alone: part of an all-to-all stays below a leaf, and hosts' own cables do not move.
        arcs = np.repeat(self.between, 2) & (loads.arc_gbps > 0)
        return float((loads.capacity_gbps[arcs] / loads.arc_gbps[arcs]).min(initial=np.inf))

    def _up(self, there: NDArray[np.bool_]) -> NDArray[np.int64]:
        return uplinks_of(self.both, there)


def uplinks_of(fabric: Fabric, there: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Cables of every node to a higher tier."""
    a, b = fabric.link_a, fabric.link_b
    tier = fabric.nodes.tier
    low = np.where(tier[a] < tier[b], a, b)
    mine = there & (tier[a] != tier[b])
    return np.bincount(low[mine], minlength=len(fabric.nodes))


def units_of(fabric: Fabric, jobs: Sequence[Job], moves: Sequence[int]) -> list[list[int]]:
    """Moves, by number, in units: the n-th cable of every device that stays to one device that is left.

    >>> import topo
    >>> fabric = topo.leaf_spine(leaves=2, spines=2, hosts_per_leaf=1, parallel=2)
    >>> links = range(2, 10)
    >>> jobs = [Job("move", i, -1, int(fabric.links.port_a[i]), int(fabric.links.port_b[i]), -1, 0, 0) for i in links]
    >>> units_of(fabric, jobs, range(8))
    [[0, 4], [1, 5], [2, 6], [3, 7]]
    """
    owner = fabric.ports.node
    seen: dict[tuple[int, int], int] = defaultdict(int)
    units: dict[tuple[int, int], list[int]] = defaultdict(list)
    for i in moves:
        stays, left = int(owner[jobs[i].kept]), int(owner[jobs[i].left])
        units[left, seen[stays, left]].append(i)
        seen[stays, left] += 1
    names = fabric.nodes.name
    order = sorted(units, key=lambda key: (-int(fabric.nodes.tier[key[0]]), natural_key(str(names[key[0]])), key[1]))
    return [units[key] for key in order]
