"""DCell: cells of hosts on one small switch, joined host to host, level by level."""

from __future__ import annotations

import itertools

import numpy as np

from topo.build.assembly import Assembly, numbered, refuse_too_many
from topo.build.layers import positive
from topo.errors import ParameterError
from topo.fabric import FORWARDS_ALL, Fabric, Origin
from topo.table import Labels
from topo.units import parse_gbps

__all__ = ["dcell", "dcell_sizes"]

_MOST_LEVELS = 6


def dcell(n: int, k: int, *, link_gbps: float = 400, name: str | None = None) -> Fabric:
    """DCell_k of n-port switches: t_k hosts with t_0 = n and t_k = t_{k-1} (t_{k-1} + 1), each with k + 1 ports.

    A DCell_0 is n hosts on a switch. A DCell_k is t_{k-1} + 1 cells of the level below, every two joined by one cable:
    host j - 1 of cell i and host i of cell j, for i < j. There are t_k / n switches, t_k links to them and
    t_k * k / 2 from host to host. Hosts relay; the diameter is below 2^(k+1) cables between hosts, a way over a
    switch counted as one (Guo et al., SIGCOMM 2008).

    >>> f = dcell(4, 1)
    >>> len(f.endpoints), len(f.switches), len(f.links)
    (20, 5, 30)

    :raises ParameterError: n below 2, k below 0, or more hosts than are built, with the largest k that is.
    """
    positive(n=n)
    if n < 2:
        raise ParameterError(f"n is {n}; the nearest switch that joins hosts has 2 ports")
    if isinstance(k, bool) or not isinstance(k, (int, np.integer)) or not 0 <= k <= _MOST_LEVELS:
        raise ParameterError(f"k is {k!r}; it is the highest level, 0 to {_MOST_LEVELS}")
    sizes = dcell_sizes(n, int(k))
    refuse_too_many(float(sizes[-1]) * (1 + k / 2), "links")
    rate = parse_gbps(link_gbps)
    assembly = Assembly(name or f"DCell_{k} of {n}-port switches")
    total = sizes[-1]
    cell, place = np.divmod(np.arange(total), n)
    names = numbered("host-{}-{}", cell + 1, place + 1)
    hosts = assembly.add_nodes(
        names, kind="host", is_endpoint=True, forwards=FORWARDS_ALL, host=Labels.distinct(names), local_index=place
    )
    switches = assembly.add_nodes(numbered("switch-{}", np.arange(1, total // n + 1)), kind="switch", tier=1, radix=n)
    assembly.connect(hosts, switches[cell], rate, kind="access")
    for below, whole in itertools.pairwise(sizes):
        i, j = np.triu_indices(below + 1, 1)
        offset = np.arange(0, total, whole)[:, None]
        a, b = i * below + j - 1 + offset, j * below + i + offset
        assembly.connect(hosts[a.ravel()], hosts[b.ravel()], rate)
    return assembly.finish(Origin(made_by=f"dcell({n}, {k}, link_gbps={link_gbps})"))


def dcell_sizes(n: int, k: int) -> list[int]:
    """Hosts of the cells of level 0 to k.

    >>> dcell_sizes(6, 3)
    [6, 42, 1806, 3263442]
    """
    sizes = [n]
    for _ in range(k):
        sizes.append(sizes[-1] * (sizes[-1] + 1))
    return sizes
