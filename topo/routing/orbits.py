"""Sinks that symmetry exchanges, swept once for all of them.

Under an automorphism of the network that keeps a block's weights, loads stay what they are. Over the arcs of one class
the loads of all sinks of one orbit sum to as many times the loads of any one of them, and are equal: one sweep for an
orbit does, spread evenly over each class of arcs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from topo.routing.scheme import Routing
from topo.routing.twins import Quotient, small_codes
from topo.routing.weights import is_path_aware
from topo.symmetry import symmetry
from topo.table import Array
from topo.traffic.demand import Block

__all__ = ["Orbits", "orbits_of"]

# Sinks times arcs from which a search for symmetry costs less than the sweeps it may save.
_CELLS = 1 << 26


@dataclass(frozen=True, eq=False)
class Orbits:
    """One sink of each orbit, for how many it stands, and the classes of the fabric's arcs (-1 outside)."""

    sinks: NDArray[np.int64]
    times: NDArray[np.float64]
    arc_class: NDArray[np.int64]

    def evened(self, load: Array) -> NDArray[np.float64]:
        """Loads of all sinks from those of the ones that stand for them."""
        inside = self.arc_class >= 0
        of = self.arc_class[inside]
        total, count = np.bincount(of, weights=load[inside]), np.bincount(of)
        out = np.zeros_like(load)
        out[inside] = (total / np.maximum(count, 1))[of]
        return out


def orbits_of(quotient: Quotient, sinks: Array, block: Block, routing: Routing) -> Orbits | None:
    """Orbits of the sinks of a block (classes of rows), or None where sweeping them all costs little or is needed.

    Copies of chips for hosts and paths weighed by what failed on them have no symmetry that is proved.
    """
    core = quotient.core
    if len(sinks) * len(quotient.tail) < _CELLS or (core.chip >= 0).any():
        return None
    if is_path_aware(routing) and not np.array_equal(core.weight, core.built_gbps):
        return None
    sends, receives = np.zeros(len(core.home)), np.zeros(len(core.home))
    sends[block.sources], receives[block.sinks] = block.source_weight, block.sink_weight
    # Under path weights the network is what was built, so it does not know who is cut off.
    label = small_codes(np.where(core.home >= 0, sends, 0.0), np.where(core.goal >= 0, receives, 0.0))
    found = symmetry(core.network, label=label)
    row = quotient.first[sinks]
    key = 2 * found.node_class[core.node[row]] + (row >= core.n_relays + core.n_parts)
    _, first, times = np.unique(key, return_index=True, return_counts=True)
    if 2 * len(first) > len(sinks):
        return None
    order = np.argsort(first)
    return Orbits(sinks[first[order]], times[order].astype(float), found.arc_class)
