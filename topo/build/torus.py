"""Tori and meshes of any dimension, twisted ones too, of hosts, of switches with hosts, or of accelerators."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from topo.build.assembly import Assembly, numbered, refuse_too_many
from topo.build.direct import (
    grid_labels,
    grid_places,
    lined_up,
    listed,
    per_dimension,
    ring_links,
    switches_with_hosts,
    whole_dimensions,
)
from topo.build.layers import positive
from topo.errors import ParameterError
from topo.fabric import FORWARDS_ALL, Fabric, Origin
from topo.table import Array, Labels
from topo.units import parse_gbps

__all__ = ["accelerator_torus", "add_accelerators", "join_rings", "mesh", "torus"]


def torus(
    dims: Sequence[int],
    *,
    wrap: bool | Sequence[bool] = True,
    twist: Sequence[Sequence[int]] = (),
    hosts_per_switch: int = 0,
    links: int = 1,
    link_gbps: float = 400,
    host_gbps: float | None = None,
    name: str | None = None,
) -> Fabric:
    """A torus of prod(dims) nodes: each is joined to the next and the one before in every dimension, around.

    A dimension of size d > 2 has prod(dims) pairs of ``links`` links, one of size 2 half as many (so that all 2 is the
    hypercube). The diameter is the sum of floor(d / 2), and the bisection 2 * prod(dims) / max(dims) links where the
    largest size is even and above 2 (Dally and Towles, Principles and Practices of Interconnection Networks, 2004).

    The nodes are hosts that forward; with ``hosts_per_switch`` they are switches with so many hosts each. ``wrap``
    False for a dimension leaves its rings open. A ``twist`` [i, j, s] adds s to coordinate j where a ring of
    dimension i closes, dimensions counted from 1: 4 x 4 x 8 with [1, 3, 4] and [2, 3, 4] has diameter 6, not 8.

    >>> f = torus([4, 4, 4])
    >>> len(f.endpoints), len(f.links), f.nodes.coordinates[5]
    (64, 192, '1,1,0')

    :raises ParameterError: a size below 2, a twist of an open dimension, of itself, or of one that is twisted again.
    """
    sizes = whole_dimensions(dims)
    positive(links=links)
    if hosts_per_switch != 0:
        positive(hosts_per_switch=hosts_per_switch)
    rate = parse_gbps(link_gbps)
    assembly = Assembly(name or f"torus {' x '.join(map(str, sizes))}")
    places = grid_places(sizes)
    if hosts_per_switch:
        rows = switches_with_hosts(
            assembly,
            _names("switch", places),
            hosts_per_switch,
            link_gbps=rate,
            host_gbps=rate if host_gbps is None else parse_gbps(host_gbps),
            coordinates=grid_labels(places),
        )
    else:
        names = _names("host", places)
        rows = assembly.add_nodes(
            names,
            kind="host",
            is_endpoint=True,
            forwards=FORWARDS_ALL,
            host=Labels.distinct(names),
            coordinates=grid_labels(places),
        )
    join_rings(assembly, rows, sizes, wrap=wrap, twist=twist, links=links, gbps=rate, kind="scale_out")
    made_by = f"torus({sizes}, wrap={wrap}, twist={_plain(twist)}, hosts_per_switch={hosts_per_switch}, links={links})"
    return assembly.finish(Origin(made_by=made_by))


def mesh(
    dims: Sequence[int],
    *,
    hosts_per_switch: int = 0,
    links: int = 1,
    link_gbps: float = 400,
    host_gbps: float | None = None,
    name: str | None = None,
) -> Fabric:
    """A grid without the links that close its rings: a :func:`torus` with ``wrap`` False.

    There are prod(dims) * (d - 1) / d links in a dimension of size d; the diameter is the sum of d - 1, and the
    bisection prod(dims) / max(dims) links where the largest size is even.

    >>> f = mesh([4, 4])
    >>> len(f.endpoints), len(f.links)
    (16, 24)

    :raises ParameterError: a size below 2.
    """
    return torus(
        dims,
        wrap=False,
        hosts_per_switch=hosts_per_switch,
        links=links,
        link_gbps=link_gbps,
        host_gbps=host_gbps,
        name=name or f"mesh {' x '.join(map(str, whole_dimensions(dims)))}",
    )


def accelerator_torus(
    dims: Sequence[int],
    *,
    host_dims: Sequence[int] | None = None,
    wrap: bool | Sequence[bool] = True,
    twist: Sequence[Sequence[int]] = (),
    links: int = 1,
    link_gbps: float,
    name: str | None = None,
) -> Fabric:
    """A torus of accelerators over scale-up links, one domain; they forward for each other. See :func:`torus`.

    ``host_dims`` is the block of accelerators in a host, one each where it is left out. An AWS Trn2 instance is a
    4 x 4 torus in one host, an UltraServer four of them in rings.

    >>> f = accelerator_torus([4, 4, 4], host_dims=[4, 4, 1], link_gbps=512)
    >>> len(f.endpoints), len(f.links), len(set(f.nodes.host.values()))
    (64, 192, 4)

    :raises ParameterError: as :func:`torus`, and a host that does not divide the torus.
    """
    sizes = whole_dimensions(dims)
    positive(links=links)
    assembly = Assembly(name or f"torus of accelerators {' x '.join(map(str, sizes))}")
    rows = add_accelerators(assembly, sizes, host_dims)
    join_rings(assembly, rows, sizes, wrap=wrap, twist=twist, links=links, gbps=parse_gbps(link_gbps), kind="scale_up")
    made_by = f"accelerator_torus({sizes}, wrap={wrap}, twist={_plain(twist)}, links={links}, link_gbps={link_gbps})"
    return assembly.finish(Origin(made_by=made_by))


def add_accelerators(
    assembly: Assembly, dims: Sequence[int], host_dims: Sequence[int] | None, *, rack: Labels | None = None
) -> NDArray[np.int64]:
    """Accelerators on a grid that forward, in hosts that are blocks of it; one scale-up domain.

    :raises ParameterError: a block that does not divide the grid, with the nearest size that does.
    """
    block = [1] * len(dims) if host_dims is None else listed(host_dims, "host_dims", [2, 2])
    if len(block) != len(dims):
        raise ParameterError(f"host_dims lists {len(block)} sizes for {len(dims)} dimensions; give one for each")
    positive(**{f"host_dims[{i}]": size for i, size in enumerate(block, 1)})
    for i, (size, whole) in enumerate(zip(block, dims, strict=True), 1):
        if whole % size:
            fitting = min((n for n in range(1, whole + 1) if whole % n == 0), key=lambda n: (abs(n - size), n))
            raise ParameterError(f"host_dims[{i}] is {size}, which does not divide {whole}; use {fitting}")
    places = grid_places(dims)
    n_blocks = [whole // size for whole, size in zip(dims, block, strict=True)]
    host = lined_up(places // np.asarray(block), n_blocks)
    hosts = numbered("host-{}", np.arange(1, math.prod(n_blocks) + 1))
    return assembly.add_nodes(
        _names("chip", places),
        kind="accelerator",
        is_endpoint=True,
        forwards=FORWARDS_ALL,
        host=Labels(host, hosts),
        domain="torus-1",
        rack=rack,
        local_index=lined_up(places % np.asarray(block), block),
        coordinates=grid_labels(places),
    )


def join_rings(
    assembly: Assembly,
    rows: Array,
    dims: Sequence[int],
    *,
    wrap: bool | Sequence[bool] = True,
    twist: Sequence[Sequence[int]] = (),
    links: int = 1,
    gbps: float,
    kind: str,
) -> list[tuple[Array, Array]]:
    """Join the nodes of a grid along every dimension; returns for each its lower nodes and which links close rings.

    :raises ParameterError: twists that make no torus.
    """
    refuse_too_many(float(len(rows)) * len(dims) * links, "links")
    around = [bool(one) for one in per_dimension(wrap, len(dims), "wrap")]
    shift = _shifts(twist, dims, around)
    laid = []
    for axis in range(len(dims)):
        a, b, closing = ring_links(dims, axis, wrap=around[axis], shift=shift[axis])
        assembly.connect(np.repeat(rows[a], links), np.repeat(rows[b], links), gbps, kind=kind)
        laid.append((np.repeat(a, links), np.repeat(closing, links)))
    return laid


def _shifts(twist: Sequence[Sequence[int]], dims: Sequence[int], around: Sequence[bool]) -> NDArray[np.int64]:
    """What each dimension's closing links add to the coordinates; shape (dimensions, dimensions)."""
    n = len(dims)
    shift = np.zeros((n, n), np.int64)
    for item in (listed(one, "an item of twist", [1, 2, 4]) for one in listed(twist, "twist", [[1, 2, 4]])):
        if any(isinstance(one, bool) or not isinstance(one, (int, np.integer)) for one in item):
            raise ParameterError(f"twist lists {item}; each is [i, j, s], three whole numbers")
        if len(item) != 3 or not (1 <= item[0] <= n and 1 <= item[1] <= n) or item[0] == item[1]:
            raise ParameterError(
                f"twist lists {item}; each is [i, j, s], two different dimensions from 1 to {n} and a shift"
            )
        i, j, by = int(item[0]) - 1, int(item[1]) - 1, int(item[2])
        if not (around[i] and around[j]):
            raise ParameterError(f"twist lists {item}, but a dimension without wrap has no rings to twist")
        shift[i, j] += by
    both = np.flatnonzero((shift % np.asarray(dims)).any(axis=0) & (shift % np.asarray(dims)).any(axis=1))
    if both.size:
        raise ParameterError(
            f"twist shifts dimension {both[0] + 1} and lets it shift another; shift only dimensions that shift none"
        )
    return shift


def _names(word: str, places: Array) -> NDArray[np.str_]:
    return numbered(word + "-{}" * places.shape[1], *places.T)


def _plain(twist: Sequence[Sequence[int]]) -> list[list[int]]:
    return [list(map(int, item)) for item in twist]
