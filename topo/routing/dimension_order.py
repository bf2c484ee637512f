"""Dimension-order routing on grids: the first coordinate is put right, then the second, and so on."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from topo.errors import ParameterError
from topo.fabric import Fabric, State
from topo.routing.next_hops import NextHops
from topo.routing.walk import Choose, walk
from topo.table import Array, ranges

__all__ = ["dimension_order", "dimension_order_paths"]


def dimension_order_paths(
    fabric: Fabric, source: ArrayLike, sink: ArrayLike, *, state: State | None = None
) -> NDArray[np.int64]:
    """Arcs of every flow's path in dimension order, shape (hops, flows), as :func:`topo.routing.walk.walk` gives them.

    On a torus, mesh or HyperX as wired these are the paths that keep deadlocks away without virtual channels for
    turns (Dally and Seitz 1987). Of the shortest next hops a flow takes one along the lowest dimension; where both
    ways around a ring are equally long, sinks whose coordinates have an even sum go up and the others down.

    >>> import topo
    >>> f = topo.torus([4, 4])
    >>> arcs = dimension_order_paths(f, f.rows("host-0-0"), f.rows("host-1-1"))
    >>> f.nodes.name[f.arc_target[arcs[:, 0]]].tolist()
    ['host-1-0', 'host-1-1']

    :raises ParameterError: a fabric without coordinates, or rows that are no endpoints.
    """
    hops = NextHops.of(fabric, state=state, sinks=np.unique(np.asarray(sink)))
    return walk(hops, source, sink, dimension_order(hops, sink))


def dimension_order(next_hops: NextHops, sink: ArrayLike) -> Choose:
    """The choice of a walk towards ``sink``, one node row a flow: a next hop along the lowest dimension there is.

    :raises ParameterError: a fabric where what passes traffic on has no coordinates.
    """
    hops = next_hops
    places = hops.fabric.nodes.places()
    _refuse_unordered(hops, places)
    rows = np.asarray(sink).ravel()
    number, group = _seats(hops.fabric, places)[rows].sum(axis=1), hops.group_of[rows]
    order, first, count = _lowest_first(hops, places)

    def choose(flow: Array, node: Array, n_hops: Array, hop: int) -> NDArray[np.int64]:
        row = hops.row_of[node]
        code = hops.table[np.maximum(row, 0), np.maximum(group[flow], 0)]
        # At hosts, and before the last hop to one, next hops are access links: parallel ones share by sink.
        known = (row >= 0) & (code >= 0)
        held = np.where(known, code, 0)
        among = np.where(known, count[held], n_hops)
        turn = number[flow] % np.maximum(among, 1)
        pick: NDArray[np.int64] = np.where(known, order[np.minimum(first[held] + turn, len(order) - 1)], turn)
        return pick

    return choose


def _refuse_unordered(hops: NextHops, places: Array) -> None:
    """Every relay needs a place, and every link between two of them one dimension that it moves along.

    :raises ParameterError: where that is not so.
    """
    fabric, relays = hops.fabric, hops.relays
    joins = np.isin(fabric.link_a, relays) & np.isin(fabric.link_b, relays)
    moves = (places[fabric.link_a[joins]] != places[fabric.link_b[joins]]).sum(axis=1)
    if not places.shape[1]:
        why = "has no coordinates"
    elif (places[relays] < 0).any():
        why = "has switches without coordinates"
    elif (moves > 1).any():
        why = "is twisted: links move along two dimensions at once"
    else:
        return
    raise ParameterError(
        f"{fabric.name} {why}, so that no order of dimensions can be kept; 'dimension-order' is for torus, mesh, "
        "hyperx, flattened_butterfly and tpu_slice without a twist"
    )


def _seats(fabric: Fabric, places: Array) -> Array:
    """Coordinates of every node, of a host without any those of a switch it hangs on."""
    seats = places.copy()
    hangs = (places[fabric.arc_source] < 0).all(axis=1) & (places[fabric.arc_target] >= 0).all(axis=1)
    seats[fabric.arc_source[hangs]] = places[fabric.arc_target[hangs]]
    return seats


def _lowest_first(hops: NextHops, places: Array) -> tuple[Array, Array, Array]:
    """Places in every set of next hops, lowest dimension first; where each set starts, how many are of the lowest."""
    fabric = hops.fabric
    apart = places[fabric.arc_source[hops.arcs]] != places[fabric.arc_target[hops.arcs]]
    axis = np.where(apart.any(axis=1), apart.argmax(axis=1), places.shape[1])
    sides = places.max(axis=0) + 1
    moved = (places[fabric.arc_target[hops.arcs]] - places[fabric.arc_source[hops.arcs]]) % sides
    along = moved[np.arange(len(axis)), np.minimum(axis, places.shape[1] - 1)]
    size = np.diff(hops.start)
    at, owner = ranges(hops.start[:-1], size)
    by_axis = np.lexsort((at, along[at], axis[at], owner))
    order = (at - hops.start[owner])[by_axis]
    lowest = np.full(len(size), places.shape[1] + 1)
    np.minimum.at(lowest, owner, axis[at])
    count = np.bincount(owner[axis[at] == lowest[owner]], minlength=len(size))
    return np.append(order, 0), np.cumsum(size) - size, count
