"""Scale-up pods without switches: accelerators in a full mesh along every dimension of a grid."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from topo.build.assembly import Assembly, numbered, refuse_too_many
from topo.build.layers import positive
from topo.errors import ParameterError
from topo.fabric import FORWARDS_ALL, Fabric, Origin
from topo.table import Array, Labels
from topo.units import parse_gbps

__all__ = ["full_mesh_pod"]

_MOST_DIMENSIONS = 8


def full_mesh_pod(
    dims: Sequence[int], *, link_gbps: float, links: int = 1, racks_from: int = 2, name: str | None = None
) -> Fabric:
    """Accelerators on a grid, each joined to all that differ from it in one coordinate: an n-dimensional full mesh.

    There are prod(dims) accelerators and, for each dimension of size d, prod(dims) * (d - 1) / 2 pairs of ``links``
    links; the diameter is the number of dimensions. The accelerators forward: between two that differ in several
    coordinates there is nothing else. A host is a row of the first dimension, a rack the first ``racks_from``.

    UB-Mesh is such a pod of 8 x 8 accelerators in a rack and 4 x 4 racks (arXiv 2503.20377).

    >>> f = full_mesh_pod([8, 8], link_gbps=100)
    >>> len(f.endpoints), len(f.links)
    (64, 448)

    :raises ParameterError: no dimension, or one below 2.
    """
    _check(dims, links, racks_from)
    rate = parse_gbps(link_gbps)
    total = math.prod(dims)
    refuse_too_many(float(total), "accelerators")
    refuse_too_many(float(total) * sum(size - 1 for size in dims) / 2 * links, "links")
    assembly = Assembly(name or f"full mesh {' x '.join(map(str, dims))}")
    # The first dimension runs fastest, so that a host is a run of rows.
    grid = np.arange(total).reshape(tuple(reversed(dims)))
    host = np.arange(total) // dims[0]
    rack = np.arange(total) // math.prod(dims[:racks_from])
    host_names = numbered("host-{}", np.arange(1, host[-1] + 2))
    rows = assembly.add_nodes(
        np.char.add(host_names[host], numbered("-npu-{}", np.arange(total) % dims[0] + 1)),
        kind="accelerator",
        is_endpoint=True,
        forwards=FORWARDS_ALL,
        host=Labels(host, host_names),
        domain="pod-1",
        rack=Labels(rack, numbered("rack-{}", np.arange(1, rack[-1] + 2))),
        local_index=np.arange(total) % dims[0],
    )
    for axis in range(len(dims)):
        a, b = _pairs_along(grid, axis)
        assembly.connect(np.repeat(rows[a], links), np.repeat(rows[b], links), rate, kind="scale_up")
    made_by = f"full_mesh_pod({list(dims)}, link_gbps={link_gbps}, links={links}, racks_from={racks_from})"
    return assembly.finish(Origin(made_by=made_by))


def _check(dims: Sequence[int], links: int, racks_from: int) -> None:
    if not 1 <= len(dims) <= _MOST_DIMENSIONS:
        raise ParameterError(f"dims lists {len(dims)} sizes; give 1 to {_MOST_DIMENSIONS}")
    positive(links=links, racks_from=racks_from, **{f"dims[{i}]": size for i, size in enumerate(dims, 1)})
    if min(dims) < 2:
        raise ParameterError(f"dims is {list(dims)}; every dimension needs at least 2 accelerators")


def _pairs_along(grid: Array, axis: int) -> tuple[Array, Array]:
    """Every two grid places that differ in the axis-th dimension alone."""
    lines = np.moveaxis(grid, grid.ndim - 1 - axis, -1).reshape(-1, grid.shape[grid.ndim - 1 - axis])
    first, second = np.triu_indices(lines.shape[1], 1)
    return lines[:, first].ravel(), lines[:, second].ravel()
