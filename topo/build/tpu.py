"""Slices of TPU pods: tori made of cubes whose faces optical circuit switches join."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from topo.build.assembly import Assembly, numbered
from topo.build.direct import grid_places, lined_up, listed, whole_dimensions
from topo.build.torus import add_accelerators, join_rings
from topo.errors import ParameterError
from topo.fabric import Fabric, GroupTable, Origin
from topo.table import Array, Labels
from topo.units import parse_gbps

__all__ = ["tpu_slice"]

_CUBE = 4
_AXES = "xyz"


def tpu_slice(
    dims: Sequence[int],
    *,
    twisted: bool = False,
    optical_switches: bool = True,
    link_gbps: float = 400,
    name: str | None = None,
) -> Fabric:
    """A TPU slice of three dimensions: cubes of 4 x 4 x 4 chips joined to one torus through optical circuit switches.

    Each cube is a rack of 16 hosts of 2 x 2 x 1 chips, with 16 links on each of its six faces. A link from face to
    face is one circuit: a plain link here, since light passes the switch as it was set. The circuits at one position
    of the faces of one dimension pass one switch, so there are 48 switches, each with two ports a cube. They are the
    shared-risk groups ``ocs-x-01`` to ``ocs-z-16`` over links: losing a switch loses its circuits. With
    ``optical_switches`` False no groups are kept, for pods whose switches are not published.

    Slices with a side below 4 lie within a cube and are open meshes. ``twisted`` shifts the rings of the short sides
    by one of them, in k x k x 2k and k x 2k x 2k alone (Jouppi et al., arXiv 2304.01433).

    >>> f = tpu_slice([8, 8, 8])
    >>> len(f.endpoints), len(f.links), f.groups.group[0], len(set(f.groups.group.values()))
    (512, 1536, 'ocs-x-01', 48)

    :raises ParameterError: sides that make no slice, or no twisted one, with the nearest that do.
    """
    if len(listed(dims, "dims", [8, 8, 8])) != 3:
        raise ParameterError(f"dims lists {len(dims)} sizes; a slice has 3, such as [8, 8, 8]")
    sizes = whole_dimensions(dims, least=1)
    small = min(sizes) < _CUBE
    _refuse_unbuildable(sizes, small)
    assembly = Assembly(name or f"TPU slice {'x'.join(map(str, sizes))}{' twisted' if twisted else ''}")
    twist = _twist(sizes, twisted)
    places = grid_places(sizes)
    cubes = [-(-size // _CUBE) for size in sizes]
    cube = lined_up(places // _CUBE, cubes)
    host_dims = [2 if size % 2 == 0 else 1 for size in sizes[:2]] + [1]
    names = numbered("cube-{}", np.arange(1, math.prod(cubes) + 1))
    rows = add_accelerators(assembly, sizes, host_dims, rack=Labels(cube, names))
    rate = parse_gbps(link_gbps)
    laid = join_rings(assembly, rows, sizes, wrap=not small, twist=twist, gbps=rate, kind="scale_up")
    made_by = f"tpu_slice({sizes}, twisted={twisted}, optical_switches={optical_switches}, link_gbps={link_gbps})"
    fabric = assembly.finish(Origin(made_by=made_by))
    return replace(fabric, groups=_circuits(places, laid)) if optical_switches and not small else fabric


def _refuse_unbuildable(sizes: list[int], small: bool) -> None:
    for i, size in enumerate(sizes, 1):
        if small and size not in (1, 2, _CUBE):
            raise ParameterError(
                f"dims[{i}] is {size}; within a cube a side is 1, 2 or 4, else all sides are 4 or more"
            )
        if not small and size % _CUBE:
            below = size // _CUBE * _CUBE
            raise ParameterError(f"dims[{i}] is {size}; cubes of 4 make sides of {below} or {below + _CUBE}")


def _twist(sizes: list[int], twisted: bool) -> list[list[int]]:
    if not twisted:
        return []
    k = min(sizes)
    short = [i for i, size in enumerate(sizes, 1) if size == k]
    long = [i for i, size in enumerate(sizes, 1) if size == 2 * k]
    if k < _CUBE or len(short) + len(long) != 3 or not long:
        k = max(_CUBE, k // _CUBE * _CUBE)
        raise ParameterError(
            f"dims is {sizes}; twisted slices are k x k x 2k or k x 2k x 2k with k a multiple of 4, "
            f"such as [{k}, {k}, {2 * k}]"
        )
    return [[i, j, k] for i in short for j in long]


def _circuits(places: Array, laid: list[tuple[Array, Array]]) -> GroupTable:
    """Links that leave a cube, each in the group of the switch at its position of the faces of its dimension."""
    first, rows, switch = 0, [], []
    for axis, (low, _) in enumerate(laid):
        leaves = np.flatnonzero(places[low, axis] % _CUBE == _CUBE - 1)
        face = places[low[leaves]] % _CUBE
        one, other = (i for i in range(3) if i != axis)
        rows.append(first + leaves)
        switch.append(16 * axis + face[:, one] * _CUBE + face[:, other])
        first += len(low)
    names = np.concatenate([numbered(f"ocs-{axis}-{{}}", np.arange(1, 17)) for axis in _AXES])
    number, row = np.concatenate(switch), np.concatenate(rows)
    order = np.lexsort((row, number))
    return GroupTable(
        group=Labels(number[order], names), element=Labels.constant("link", len(row)), row=row[order].astype(np.int32)
    )
