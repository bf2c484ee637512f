"""BCube: hosts with several ports that relay for each other over small switches."""

from __future__ import annotations

import numpy as np

from topo.build.assembly import Assembly, numbered, refuse_too_many
from topo.build.direct import grid_labels
from topo.build.layers import positive
from topo.errors import ParameterError
from topo.fabric import FORWARDS_ALL, Fabric, Origin
from topo.table import Labels
from topo.units import parse_gbps

__all__ = ["bcube"]

_MOST_LEVELS = 16


def bcube(n: int, k: int, *, link_gbps: float = 400, name: str | None = None) -> Fabric:
    """BCube_k of n-port switches: n^(k+1) hosts of k + 1 ports, (k + 1) * n^k switches, (k + 1) * n^(k+1) links.

    A host's number has k + 1 digits below n; a switch of level i joins the n hosts that differ in digit i alone. Hosts
    relay: two that differ in d digits are d switches apart, at most k + 1, and have k + 1 disjoint paths (Guo et al.,
    SIGCOMM 2009). Each level is labelled as a plane: no cable joins its switches to another's, only hosts do. A host's
    coordinates are its digits, that of level k first.

    >>> f = bcube(8, 1)
    >>> len(f.endpoints), len(f.switches), len(f.links)
    (64, 16, 128)

    :raises ParameterError: n below 2, or k that is no whole number of at least 0.
    """
    positive(n=n)
    if isinstance(k, bool) or not isinstance(k, (int, np.integer)) or not 0 <= k < _MOST_LEVELS:
        raise ParameterError(f"k is {k!r}; it is the highest level, 0 to {_MOST_LEVELS - 1}")
    if n < 2:
        raise ParameterError(f"n is {n}; the nearest switch that joins hosts has 2 ports")
    refuse_too_many(float(n) ** (k + 1) * (k + 1), "links")
    rate = parse_gbps(link_gbps)
    total = n ** (k + 1)
    assembly = Assembly(name or f"BCube_{k} of {n}-port switches")
    number = np.arange(total)
    digits = np.stack([number // n**i % n for i in range(k, -1, -1)], axis=1)
    names = numbered("host" + "-{}" * (k + 1), *digits.T)
    hosts = assembly.add_nodes(
        names,
        kind="host",
        is_endpoint=True,
        forwards=FORWARDS_ALL,
        host=Labels.distinct(names),
        coordinates=grid_labels(digits),
    )
    for level in range(k + 1):
        label = f"level-{level}"
        switches = assembly.add_nodes(
            numbered(f"{label}-switch-{{}}", np.arange(1, n**k + 1)), kind="switch", tier=1, radix=n, plane=label
        )
        # Leaving out digit `level` of the host's number.
        assembly.connect(
            hosts, switches[number // n ** (level + 1) * n**level + number % n**level], rate, kind="access"
        )
    return assembly.finish(Origin(made_by=f"bcube({n}, {k}, link_gbps={link_gbps})"))
