"""Pairs of ranks that no path of the scale-out network joins, and whether a relay inside a host helps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from topo.placement.measure import Measured
from topo.placement.traffic import Traffic
from topo.table import Array

__all__ = ["Reach", "reach_of"]


@dataclass(frozen=True)
class Reach:
    """Ordered pairs on different hosts without a path, their bytes per step, and how many of them a relay joins.

    ``relayed_pairs`` is None where the inside of the hosts is not modelled: then nobody can tell.
    """

    pairs: int
    bytes_per_step: float
    relayed_pairs: int | None

    @property
    def relay_text(self) -> str:
        """Whether a relay exists, in words."""
        if not self.pairs:
            return "none needed"
        if self.relayed_pairs is None:
            return "unknown, the inside of the hosts is not modelled"
        if self.relayed_pairs == self.pairs:
            return "for all of them, over the scale-up links of an end's host or domain"
        return f"for {self.relayed_pairs:,} of {self.pairs:,} pairs"


def reach_of(job: Measured) -> Reach:
    """Counted by classes of ranks that lie alike, never pair by pair.

    Parts of the network do not pass over endpoints. A pair has a path iff the parts its ends touch meet; a relay iff
    a member of the scale-up domain of one end shares a part with the other end.
    """
    ends, hosts, rows = job.ends, job.ends.hosts, job.placement.rows
    leaf = ends.leaf[rows]
    groups = np.unique(leaf)
    touches = ends.reaches[groups]
    joined = (touches @ touches.T).toarray() > 0
    if joined.all() or len(rows) < 2:
        return Reach(0, 0.0, None)
    kind, members = _domain_kinds(job)
    at = np.searchsorted(groups, leaf)
    key, code = np.unique(kind * len(groups) + at, return_inverse=True)
    group, domain = key % len(groups), key // len(groups)
    apart = ~joined[np.ix_(group, group)]
    host = np.unique(hosts.of_node[rows], return_inverse=True)[1]
    counted = Traffic.of(len(rows), groups=np.arange(len(rows))[None, :], group_amount=1.0)
    number = _between_hosts(counted, host, code, len(key))
    amount = _between_hosts(job.job.traffic, host, code, len(key))
    pairs = round(float(number[apart].sum()))
    relayed = None
    if _is_opened(job):
        near = (members @ ends.reaches @ touches.T).toarray() > 0
        relay = near[np.ix_(domain, group)]
        relayed = round(float(number[apart & (relay | relay.T)].sum()))
    return Reach(pairs, float(amount[apart].sum()), relayed)


def _between_hosts(traffic: Traffic, host: Array, code: Array, n: int) -> Array:
    full: Array = (traffic.between(code, n) - traffic.within(host).between(code, n)).toarray()
    return full


def _domain_kinds(job: Measured) -> tuple[Array, Array]:
    """Number of the kind of each rank's scale-up domain (its host where none is labelled), and leaf groups of each."""
    from scipy.sparse import coo_array

    ends, hosts = job.ends, job.ends.hosts
    nodes, every = hosts.fabric.nodes, hosts.endpoint
    code = nodes.domain.codes.astype(np.int64)
    domain = np.where(code >= 0, len(hosts) + code, hosts.of_node)
    inside = every[ends.leaf[every] >= 0]
    shape = (len(hosts) + len(nodes.domain.labels), ends.tree.n_leaves)
    table: Any = coo_array((np.ones(len(inside)), (domain[inside], ends.leaf[inside])), shape=shape).tocsr()
    table.sum_duplicates()
    table.data[:] = 1.0
    used, of_rank = np.unique(domain[job.placement.rows], return_inverse=True)
    rows = [tuple(table.indices[table.indptr[d] : table.indptr[d + 1]].tolist()) for d in used.tolist()]
    kinds = {row: i for i, row in enumerate(dict.fromkeys(rows))}
    kind = np.array([kinds[row] for row in rows], np.int64)
    first = np.array([rows.index(row) for row in kinds], np.int64)
    return kind[of_rank], table[used[first]]


def _is_opened(job: Measured) -> bool:
    """Whether scale-up or other links inside its hosts are modelled."""
    fabric = job.ends.hosts.fabric
    inner = fabric.links.kind.is_any("scale_up", "host_io")
    nodes = np.concatenate([fabric.link_a[inner], fabric.link_b[inner]])
    hosts = np.unique(fabric.nodes.host.codes[nodes])
    return bool(np.isin(fabric.nodes.host.codes[job.placement.rows], hosts[hosts >= 0]).all())
