"""Switches without any cable to the tier above, or below, where their peers have some."""

from __future__ import annotations

import numpy as np

from topo.table import Array
from topo.wiring.cabling import Cabling
from topo.wiring.kinds import kinds_of
from topo.wiring.learnt import MINN, SUPPORT

__all__ = ["bare_switches", "hanging_switches"]

_FEWEST_LIKE = 2


def bare_switches(cabling: Cabling, lower: int) -> Array:
    """Switches of a tier that no cable joins to the next, where at least 80 % of their peers have some
    (of four leaves, three).

    The peers of a leaf are all leaves with endpoints; those of a spine the ones of its kind that share half of its
    neighbours below, so that the spines of a smaller network beside a larger one are no fault. Where that is one
    alone, all of its kind must agree.
    """
    tier, n = cabling.tier, len(cabling.fabric.nodes)
    up = np.bincount(cabling.low[tier[cabling.high] == lower + 1], minlength=n)
    nodes = np.flatnonzero(cabling.is_switch & (tier == lower))
    if lower == 1:
        nodes = nodes[cabling.n_endpoints[nodes] > 0]
        few: Array = nodes[up[nodes] == 0]
        most = max((1 - SUPPORT) * len(nodes), float(len(nodes) >= MINN))
        return few[~cabling.is_alone[few]] if few.size <= most else few[:0]
    is_bare = up[nodes] == 0
    bare: Array = nodes[is_bare]
    if not bare.size or bare.size == len(nodes):
        return bare[:0]
    from scipy.sparse import csr_array

    below = tier[cabling.low] == lower - 1
    joined = csr_array((np.ones(int(below.sum())), (cabling.high[below], cabling.low[below])), shape=(n, n))
    joined.data[:] = 1
    mine = joined[bare]
    shared = (mine @ joined[nodes].T).toarray()
    kind = kinds_of(cabling.fabric.nodes.name[nodes].tolist())
    peers = 2 * shared >= np.maximum(np.asarray(mine.sum(axis=1)).ravel(), 1)[:, None]
    peers &= kind[is_bare][:, None] == kind[None, :]
    has = peers.astype(np.int64) @ (~is_bare).astype(np.int64)
    kin, kin_up = np.bincount(kind) - 1, np.bincount(kind, weights=~is_bare)
    by_kind = (kin_up >= np.maximum(SUPPORT * kin, MINN))[kind[is_bare]]
    several = (has >= _FEWEST_LIKE) | ((has > 0) & by_kind)
    told: Array = bare[several & (has >= SUPPORT * (peers.sum(axis=1) - 1))]
    return told


def hanging_switches(cabling: Cabling, upper: int) -> Array:
    """Switches that no cable joins to the tier below ``upper``, and that are of that tier by what is above them.

    All they have leads to the tier above it, as that of their kind by name does. Tiers that were inferred put such a
    switch on top, as it is furthest from any leaf.
    """
    tier, n = cabling.tier, len(cabling.fabric.nodes)
    ends = np.concatenate([cabling.low, cabling.high])
    far = tier[np.concatenate([cabling.high, cabling.low])]
    times = np.bincount(ends, minlength=n)
    above = np.bincount(ends[far == upper + 1], minlength=n)
    only_up = cabling.is_switch & (times > 0) & (above == times) & (cabling.n_endpoints == 0)
    peers = np.flatnonzero(cabling.is_switch & (tier == upper) & ~only_up)
    mine = np.flatnonzero(only_up & ((tier == upper) | (tier == upper + 2)))
    if not mine.size or len(peers) < SUPPORT * (len(peers) + len(mine)):
        return mine[:0]
    kind = np.full(n, -1)
    kind[cabling.is_switch] = kinds_of(cabling.fabric.nodes.name[cabling.is_switch].tolist())
    by_name = np.isin(kind[mine], kind[peers]) & (kind.max() > 0)
    likely: Array = mine[by_name | (tier[mine] == upper)]
    return likely
