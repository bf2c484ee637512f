"""What an even split keeps whole by default, and who stands in either half of the worst one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from topo.fabric import Fabric
from topo.table import Array

if TYPE_CHECKING:
    from topo.analysis.bisection import Bisection

__all__ = ["KEPT_WORDS", "half_members", "usual_keep"]

KEPT_WORDS = {
    "none": "nothing, endpoints are split singly",
    "host": "hosts",
    "domain": "scale-up domains",
    "pod": "pods, or groups of switches",
}
"""What ``keep`` means, in words."""


def usual_keep(fabric: Fabric, endpoints: Array | None = None) -> str:
    """What a split of these endpoints (rows; all of them for None) usually keeps whole.

    Hosts, in general. Scale-up domains where there are several and they span hosts: with hosts alone kept whole a
    split may run through a rack, and its scale-up links would set the scale. Nothing where all are in one host.

    >>> import topo
    >>> [usual_keep(topo.load(name)) for name in ("nvidia-dgx-h100", "nvidia-gb200-nvl72", "leaf-spine-2to1")]
    ['none', 'host', 'host']
    >>> usual_keep(topo.load("nvidia-superpod-gb200-2su-nvl72"))
    'domain'
    """
    rows = fabric.endpoints if endpoints is None else endpoints
    host, domain = fabric.nodes.host.codes[rows], fabric.nodes.domain.codes[rows]
    if len(rows) > 1 and len(np.unique(host)) == 1 and host[0] >= 0:
        return "none"
    inside = domain >= 0
    pairs = np.unique(np.stack([domain[inside], host[inside]], axis=1), axis=0)
    domains, hosts_in = np.unique(pairs[:, 0], return_counts=True)
    spans = bool((hosts_in > 1).any())
    return "domain" if spans and (len(domains) > 1 or not inside.all()) else "host"


def half_members(fabric: Fabric, answer: Bisection) -> list[list[str]]:
    """Names in either half of the split behind the upper bound, the smaller half first.

    Scale-up domains, pods or hosts where those are kept whole, endpoints where nothing is or where they bear no such
    name.

    >>> import topo
    >>> f = topo.leaf_spine(leaves=2, spines=1, hosts_per_leaf=2)
    >>> half_members(f, topo.bisection_bandwidth(f))
    [['host-1', 'host-2'], ['host-3', 'host-4']]
    """
    rows = answer.endpoints
    names = fabric.nodes.name[rows].astype(object)
    if answer.keep != "none":
        label = getattr(fabric.nodes, answer.keep).values(rows)
        names = np.where(label != "", label, names)
    side = answer.side[rows].astype(bool)
    halves = [list(dict.fromkeys(names[side == here].tolist())) for here in (True, False)]
    counts = [int(side.sum()), int((~side).sum())]
    return halves if counts[0] <= counts[1] else halves[::-1]
