"""Direct networks: endpoints on every switch, grids of nodes, and rings and full meshes along their dimensions."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topo.build.assembly import Assembly, numbered, refuse_too_many
from topo.build.layers import positive
from topo.errors import ParameterError
from topo.fabric import FORWARDS_NOTHING
from topo.table import Array, Labels

__all__ = [
    "add_ends",
    "drawn_by",
    "grid_labels",
    "grid_places",
    "lined_up",
    "listed",
    "meshed",
    "per_dimension",
    "ring_links",
    "switches_with_hosts",
    "whole_dimensions",
]

_MOST_DIMENSIONS = 16


def add_ends(
    assembly: Assembly, ends: int, *, adapters_per_host: int = 1, pod: Labels | None = None
) -> NDArray[np.int64]:
    """Add ``ends`` endpoints that forward nothing: hosts of one port, or the adapters of hosts that have several.

    >>> add_ends(Assembly("ends"), 4, adapters_per_host=2).tolist()
    [0, 1, 2, 3]

    :raises ParameterError: endpoints that do not fill the hosts, with the nearest numbers that do.
    """
    positive(endpoints=ends, adapters_per_host=adapters_per_host)
    refuse_too_many(float(ends), "endpoints")
    if ends % adapters_per_host:
        below = ends // adapters_per_host * adapters_per_host
        nearest = " or ".join(str(n) for n in (below, below + adapters_per_host) if n)
        raise ParameterError(f"{ends} endpoints do not fill hosts of {adapters_per_host} adapters; use {nearest}")
    number, index = np.divmod(np.arange(ends), adapters_per_host)
    hosts = numbered("host-{}", np.arange(1, ends // adapters_per_host + 1))
    single = adapters_per_host == 1
    return assembly.add_nodes(
        hosts if single else numbered("host-{}-nic-{}", number + 1, index + 1),
        kind="host" if single else "nic",
        is_endpoint=True,
        forwards=FORWARDS_NOTHING,
        host=Labels(number, hosts),
        pod=pod,
        local_index=None if single else index,
    )


def switches_with_hosts(
    assembly: Assembly,
    names: Array,
    per_switch: int,
    *,
    link_gbps: float,
    host_gbps: float,
    radix: int = 0,
    coordinates: Labels | None = None,
    rack: Labels | None = None,
) -> NDArray[np.int64]:
    """Switches of one tier, each with ``per_switch`` hosts of one port; returns the switches. Hosts come first.

    ``radix`` 0 gives the switches just the ports they use.
    """
    ends = add_ends(assembly, len(names) * per_switch) if per_switch else np.empty(0, np.int64)
    switches = assembly.add_nodes(
        names,
        kind="switch",
        tier=1,
        radix=radix,
        port_gbps=max(link_gbps, host_gbps) if radix else np.nan,
        coordinates=coordinates,
        rack=rack,
    )
    assembly.connect(ends, np.repeat(switches, per_switch), host_gbps, kind="access")
    return switches


def listed(values: Sequence[Any], name: str, such_as: Sequence[Any]) -> list[Any]:
    """The values of a list; what is none is refused with an example of one.

    :raises ParameterError: a single number, text, or a mapping.
    """
    if isinstance(values, (str, bytes, Mapping)) or not isinstance(values, Iterable):
        raise ParameterError(f"{name} is {values!r}; it is a list, such as {such_as}")
    return list(values)


def drawn_by(seed: int) -> np.random.Generator:
    """What draws by a seed, the same every time.

    >>> int(drawn_by(3).integers(100)) == int(drawn_by(3).integers(100))
    True

    :raises ParameterError: a seed that is no whole number of at least 0.
    """
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or seed < 0:
        raise ParameterError(f"seed is {seed!r}; it must be a whole number of at least 0")
    return np.random.default_rng(int(seed))


def whole_dimensions(dims: Sequence[int], *, least: int = 2, name: str = "dims") -> list[int]:
    """Sizes of a grid, checked.

    :raises ParameterError: no dimension, too many, or a size below ``least``, named with its place.
    """
    dims = listed(dims, name, [4, 4])
    if not 1 <= len(dims) <= _MOST_DIMENSIONS:
        raise ParameterError(f"{name} lists {len(dims)} sizes; give 1 to {_MOST_DIMENSIONS}")
    positive(**{f"{name}[{i}]": size for i, size in enumerate(dims, 1)})
    small = next((i for i, size in enumerate(dims, 1) if size < least), 0)
    if small:
        raise ParameterError(f"{name}[{small}] is {dims[small - 1]}; the nearest that can be built is {least}")
    refuse_too_many(float(math.prod(map(float, dims))), "nodes")
    return [int(size) for size in dims]


def per_dimension(value: int | Sequence[int], n: int, name: str) -> list[int]:
    """One value for each of ``n`` dimensions from one for all or a list.

    :raises ParameterError: a list of another length.
    """
    if not isinstance(value, Sequence):
        return [value] * n
    if len(value) != n:
        raise ParameterError(f"{name} lists {len(value)} values for {n} dimensions; give one for each, or one for all")
    return list(value)


def grid_places(dims: Sequence[int]) -> NDArray[np.int64]:
    """Coordinates of the nodes of a grid in row order, the first dimension fastest; shape (nodes, dimensions).

    >>> grid_places([2, 2]).tolist()
    [[0, 0], [1, 0], [0, 1], [1, 1]]
    """
    index, columns = np.arange(math.prod(dims)), []
    for size in dims:
        columns.append(index % size)
        index = index // size
    return np.stack(columns, axis=1)


def grid_labels(places: Array) -> Labels:
    """The coordinates column of nodes at these places.

    >>> grid_labels(grid_places([2, 2])).values().tolist()
    ['0,0', '1,0', '0,1', '1,1']
    """
    return Labels.distinct(numbered(",".join(["{}"] * places.shape[1]), *places.T))


def lined_up(places: Array, dims: Sequence[int]) -> NDArray[np.int64]:
    """Rows of the nodes at ``places``, taken modulo the sizes of the grid."""
    stride = np.cumprod([1, *dims[:-1]])
    rows: NDArray[np.int64] = (places % np.asarray(dims)) @ stride
    return rows


def meshed(dims: Sequence[int], axis: int) -> tuple[Array, Array]:
    """Every two nodes of a grid that differ in one coordinate alone, the ``axis``-th.

    >>> [side.tolist() for side in meshed([3], 0)]
    [[0, 0, 1], [1, 2, 2]]
    """
    places = grid_places(dims)
    base = places[places[:, axis] == 0]
    low, high = np.triu_indices(dims[axis], 1)
    first, second = np.repeat(base, len(low), axis=0), np.repeat(base, len(low), axis=0)
    first[:, axis], second[:, axis] = np.tile(low, len(base)), np.tile(high, len(base))
    return lined_up(first, dims), lined_up(second, dims)


def ring_links(
    dims: Sequence[int], axis: int, *, wrap: bool = True, shift: Sequence[int] | None = None
) -> tuple[Array, Array, NDArray[np.bool_]]:
    """Neighbours along one dimension: lower node, upper node, and which links close the ring.

    ``shift`` is added to the coordinates where a ring closes, which makes a twisted torus. A ring of two is one link,
    unless it is twisted: then its two links have different ends. A ring of one is none.

    >>> a, b, closing = ring_links([4], 0)
    >>> a.tolist(), b.tolist(), closing.tolist()
    ([0, 1, 2, 3], [1, 2, 3, 0], [False, False, False, True])
    """
    places = grid_places(dims)
    last = places[:, axis] == dims[axis] - 1
    step = np.zeros(len(dims), np.int64)
    step[axis] = 1
    turn = np.zeros(len(dims), np.int64) if shift is None else np.asarray(shift, np.int64)
    is_ring = wrap and (dims[axis] > 2 or bool((turn % np.asarray(dims)).any()))
    mine = np.arange(len(places)) if is_ring else np.flatnonzero(~last)
    closing = last[mine]
    to = places[mine] + step + closing[:, None] * turn
    return mine, lined_up(to, dims), closing
