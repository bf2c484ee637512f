"""HyperX and flattened butterfly: switches on a grid, in a full mesh along every dimension."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from topo.build.assembly import Assembly, numbered, refuse_too_many
from topo.build.direct import grid_labels, grid_places, meshed, per_dimension, switches_with_hosts, whole_dimensions
from topo.build.layers import at_least, positive
from topo.fabric import Fabric, Origin
from topo.units import parse_gbps

__all__ = ["flattened_butterfly", "hyperx"]


def hyperx(
    dims: Sequence[int],
    hosts_per_switch: int,
    *,
    links: int | Sequence[int] = 1,
    link_gbps: float = 400,
    host_gbps: float | None = None,
    radix: int = 0,
    name: str | None = None,
) -> Fabric:
    """Switches on a grid of ``dims``, each joined to all that differ from it in one coordinate.

    With S_i the sizes, P their product and K_i the ``links`` of a pair in dimension i there are P switches,
    sum K_i * P * (S_i - 1) / 2 links between them, and ports for T + sum K_i * (S_i - 1) cables a switch. The diameter
    is one hop a dimension between switches. The bisection is min K_i * S_i / (2 T) of the full one for even S_i, where
    that is below 1 (Ahn et al., SC 2009). ``radix`` 0 gives switches just the ports they use.

    >>> f = hyperx([12, 8], hosts_per_switch=7)
    >>> len(f.endpoints), len(f.switches), int(f.links.kind.is_any("scale_out").sum())
    (672, 96, 864)

    :raises ParameterError: a size below 2, or more cables than the radix.
    """
    sizes = whole_dimensions(dims)
    positive(hosts_per_switch=hosts_per_switch)
    width = per_dimension(links, len(sizes), "links")
    positive(**{f"links[{i}]": k for i, k in enumerate(width, 1)})
    total = float(math.prod(sizes))
    refuse_too_many(total * sum(k * (size - 1) for k, size in zip(width, sizes, strict=True)) / 2, "links")
    rate = parse_gbps(link_gbps)
    assembly = Assembly(name or f"HyperX {' x '.join(map(str, sizes))}, {hosts_per_switch} hosts a switch")
    places = grid_places(sizes)
    switches = switches_with_hosts(
        assembly,
        numbered("switch" + "-{}" * len(sizes), *places.T),
        hosts_per_switch,
        link_gbps=rate,
        host_gbps=rate if host_gbps is None else parse_gbps(host_gbps),
        radix=radix,
        coordinates=grid_labels(places),
    )
    for axis, k in enumerate(width):
        a, b = meshed(sizes, axis)
        assembly.connect(np.repeat(switches[a], k), np.repeat(switches[b], k), rate)
    return assembly.finish(Origin(made_by=f"hyperx({sizes}, hosts_per_switch={hosts_per_switch}, links={width})"))


def flattened_butterfly(
    k: int,
    n: int,
    *,
    link_gbps: float = 400,
    host_gbps: float | None = None,
    radix: int = 0,
    name: str | None = None,
) -> Fabric:
    """The k-ary n-flat: k^(n-1) switches of k hosts on a grid of n - 1 dimensions of k, a full mesh along each.

    It has k^n hosts, switches of n * (k - 1) + 1 ports and diameter n - 1 between switches (Kim, Dally and Abts,
    ISCA 2007). The same as :func:`hyperx` with n - 1 sizes of k and k hosts a switch.

    >>> f = flattened_butterfly(4, 3)
    >>> len(f.endpoints), len(f.switches), int(f.links.kind.is_any("scale_out").sum())
    (64, 16, 48)

    :raises ParameterError: k or n below 2.
    """
    at_least(2, k=k, n=n)
    return hyperx(
        [k] * (n - 1),
        k,
        link_gbps=link_gbps,
        host_gbps=host_gbps,
        radix=radix,
        name=name or f"flattened butterfly, {k}-ary {n}-flat",
    )
