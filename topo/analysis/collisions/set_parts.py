"""Next-hop sets split by the tiers their arcs join, so that an arc always counts in one class."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from topo.routing.arcs import close_code, mixed_code
from topo.routing.next_hops import NextHops

__all__ = ["SetParts"]


@dataclass(frozen=True, eq=False)
class SetParts:
    """Set s has parts ``first[s]`` to ``first[s + 1]``; part t holds ``arcs[start[t]:start[t + 1]]`` of one class.

    ``classes`` are pairs (tier an arc leaves, tier it enters), ``of_class`` the class of each part, ``code`` a hash of
    its arcs and their shares. ``share`` is what each arc takes of all that crosses the set; None: one over their
    number.
    """

    first: NDArray[np.int64]
    start: NDArray[np.int64]
    arcs: NDArray[np.int64]
    of_class: NDArray[np.int64]
    code: NDArray[np.uint64]
    classes: tuple[tuple[int, int], ...]
    share: NDArray[np.float64] | None

    @classmethod
    def of(cls, hops: NextHops) -> SetParts:
        """The parts of all sets; an empty set has none."""
        tier = hops.fabric.nodes.tier.astype(np.int64)
        lowest = int(tier.min(initial=0))
        width = int(tier.max(initial=0)) - lowest + 1
        tier -= lowest
        joins = tier[hops.fabric.arc_source[hops.arcs]] * width + tier[hops.fabric.arc_target[hops.arcs]]
        joined, of_arc = np.unique(joins, return_inverse=True)
        owner = np.repeat(np.arange(hops.n_sets), np.diff(hops.start))
        order = np.lexsort((of_arc, owner))
        owner, of_arc, arcs = owner[order], of_arc[order], hops.arcs[order]
        share = None if hops.share is None else hops.share[order]
        fresh = np.ones(len(arcs), bool)
        fresh[1:] = (owner[1:] != owner[:-1]) | (of_arc[1:] != of_arc[:-1])
        begin = np.flatnonzero(fresh)
        per_set = np.bincount(owner[begin], minlength=hops.n_sets)
        code = np.empty(0, np.uint64)
        if len(begin):
            with np.errstate(over="ignore"):
                mark = mixed_code(arcs)
                if share is not None:
                    mark *= mixed_code(close_code(share)) | np.uint64(1)
                code = np.add.reduceat(mark, begin)
        return cls(
            np.concatenate([[0], np.cumsum(per_set)]),
            np.append(begin, len(arcs)),
            arcs,
            np.asarray(of_arc[begin], dtype=np.int64),
            code,
            tuple((int(c) // width + lowest, int(c) % width + lowest) for c in joined),
            share,
        )

    @property
    def n(self) -> int:
        """Parts in all."""
        return len(self.of_class)

    @property
    def size(self) -> NDArray[np.int64]:
        """Arcs in each part."""
        return np.asarray(np.diff(self.start))
