"""Path-aware weights as factors on the arcs into a row: what it can send on, over what could come into it as built."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from topo.routing.kernel import Descent, push
from topo.table import Array

__all__ = ["filling", "senders"]


def filling(room: Array) -> Callable[[Array, Array], Array]:
    """The ``favour`` of a descent: total weights of rows just settled over their ``room`` (rows, columns), at most 1.

    1 where nothing could come in.
    """

    def favour(settled: Array, totals: Array) -> Array:
        wanted = room[settled]
        share = np.divide(totals, wanted, out=np.ones_like(totals), where=wanted > 0)
        return np.asarray(np.minimum(share, 1.0))

    return favour


def senders(found: Descent, is_in: Array) -> NDArray[np.float64]:
    """1 for rows that may send something on, (rows, columns); 0 for rows on the way in that nothing enters.

    Nothing enters parts that relay for no other, nor neighbours of the sink that no shortest path leads over.
    """
    begins = np.repeat(np.where(is_in, 0.0, 1.0)[:, None], found.level.shape[1], axis=1)
    return np.asarray(np.where(is_in[:, None], push(found, begins) > 0, 1.0))
