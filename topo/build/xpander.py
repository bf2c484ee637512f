"""Xpander: a random lift of a complete graph, an expander whose switches come in metanodes."""

from __future__ import annotations

import numpy as np

from topo.build.assembly import Assembly, numbered, refuse_too_many
from topo.build.direct import drawn_by, switches_with_hosts
from topo.build.jellyfish import is_connected
from topo.build.layers import positive
from topo.errors import ParameterError
from topo.fabric import Fabric, Origin
from topo.table import Array
from topo.units import parse_gbps

__all__ = ["xpander"]

_MOST_DRAWS = 100


def xpander(
    links_per_switch: int,
    lift: int,
    hosts_per_switch: int,
    *,
    seed: int = 0,
    link_gbps: float = 400,
    host_gbps: float | None = None,
    radix: int = 0,
    name: str | None = None,
) -> Fabric:
    """d + 1 metanodes of ``lift`` switches, d = ``links_per_switch``; a random perfect matching joins every two.

    There are (d + 1) * lift switches with d links each, none inside a metanode; the second eigenvalue of such a lift
    of the complete graph is close to 2 sqrt(d - 1), the least there is (Valadarsky et al., CoNEXT 2016). ``seed``
    draws it. The metanode is the first number of a switch's name: cables run in bundles of ``lift`` between two.

    >>> f = xpander(4, 6, 2)
    >>> len(f.endpoints), len(f.switches), int(f.links.kind.is_any("scale_out").sum())
    (60, 30, 60)

    :raises ParameterError: counts below 1, or fewer than 2 links a switch on more than one switch a metanode.
    """
    positive(links_per_switch=links_per_switch, lift=lift, hosts_per_switch=hosts_per_switch)
    if links_per_switch == 1 and lift > 1:
        raise ParameterError("links_per_switch is 1, which joins pairs of switches alone; the nearest is 2")
    metanodes = links_per_switch + 1
    refuse_too_many(float(metanodes) * lift * links_per_switch / 2, "links")
    rate = parse_gbps(link_gbps)
    assembly = Assembly(name or f"Xpander of {metanodes} x {lift} switches, seed {seed}")
    rows = switches_with_hosts(
        assembly,
        numbered("switch-{}-{}", np.repeat(np.arange(metanodes), lift) + 1, np.tile(np.arange(lift), metanodes) + 1),
        hosts_per_switch,
        link_gbps=rate,
        host_gbps=rate if host_gbps is None else parse_gbps(host_gbps),
        radix=radix,
    )
    a, b = _lifted(metanodes, lift, drawn_by(seed))
    assembly.connect(rows[a], rows[b], rate)
    return assembly.finish(Origin(made_by=f"xpander({links_per_switch}, {lift}, {hosts_per_switch}, seed={seed})"))


def _lifted(metanodes: int, lift: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """The first of some random lifts that is connected; only lifts of a ring are ever not."""
    low, high = np.triu_indices(metanodes, 1)
    for _ in range(_MOST_DRAWS):
        matched = rng.permuted(np.tile(np.arange(lift), (len(low), 1)), axis=1)
        a = (low[:, None] * lift + np.arange(lift)).ravel()
        b = (high[:, None] * lift + matched).ravel()
        if is_connected(metanodes * lift, a, b):
            return a, b
    raise ParameterError(f"lift is {lift}; no connected lift in {_MOST_DRAWS} draws, use more links a switch")
