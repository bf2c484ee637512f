"""Which share of a job's traffic crosses leaf groups, pods, rails, planes and scale-up domains."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from topo.placement.measure import Measured
from topo.table import Array

__all__ = ["MixedIndex", "Shares", "shares_of"]


@dataclass(frozen=True, slots=True)
class MixedIndex:
    """A local index that lies on several rails over the hosts of a job."""

    local_index: int
    rails: tuple[str, ...]


@dataclass(frozen=True)
class Shares:
    """Shares of the bytes between different hosts; None where the fabric has no such thing."""

    leaf: float
    pod: float | None
    plane: float | None
    domain: float | None
    rail_alignment: float | None
    mixed: tuple[MixedIndex, ...]


def shares_of(job: Measured) -> Shares:
    """The shares of a measured job; leaf groups and pods are those of its hosts."""
    hosts, rows = job.ends.hosts, job.placement.rows
    tree, nodes = hosts.tree, hosts.fabric.nodes
    host = hosts.of_node[rows]
    leaf = hosts.leaf[host]
    rail = job.ends.rail[rows]
    plane = _plane(job)[rows]
    domain = nodes.domain.codes[rows].astype(np.int64)
    alone = np.where(domain >= 0, domain, len(nodes.domain.labels) + host)
    aligned = None if (rail < 0).any() or job.ends.n_rails < 2 else 1 - _across(job, rail, host)
    return Shares(
        leaf=_across(job, leaf, host),
        pod=_across(job, tree.above[1][leaf], host) if tree.depth > 1 else None,
        plane=_across(job, plane, host) if (plane >= 0).all() else None,
        domain=_across(job, alone, host) if (domain >= 0).any() else None,
        rail_alignment=aligned,
        mixed=() if aligned is None else _mixed(job, rail),
    )


def _across(job: Measured, label: Array, host: Array) -> float:
    """Share of the bytes between different hosts whose ends bear different labels."""
    if job.inter <= 0:
        return 0.0
    code = np.unique(label, return_inverse=True)[1]
    same = job.job.traffic.within(code)
    both = np.unique(np.stack([code, host]), axis=1, return_inverse=True)[1].ravel()
    inside = job.job.traffic.within(both)
    return max(0.0, 1 - (same.total - inside.total) / job.inter)


def _plane(job: Measured) -> Array:
    """The one plane an endpoint attaches to; -1 for none or several."""
    hosts = job.ends.hosts
    nodes, network = hosts.fabric.nodes, hosts.network
    access = hosts.fabric.links.kind.is_any("access")[network.links]
    a, b = network.a[access], network.b[access]
    end, switch = np.concatenate([a, b]), np.concatenate([b, a])
    keep = (hosts.of_node[end] >= 0) & (nodes.plane.codes[switch] >= 0)
    low, high = np.full(len(nodes), np.iinfo(np.int64).max), np.full(len(nodes), -1, np.int64)
    np.minimum.at(low, end[keep], nodes.plane.codes[switch[keep]])
    np.maximum.at(high, end[keep], nodes.plane.codes[switch[keep]])
    return np.where(low == high, high, -1)


def _mixed(job: Measured, rail: Array) -> tuple[MixedIndex, ...]:
    hosts, rows = job.ends.hosts, job.placement.rows
    nodes = hosts.fabric.nodes
    index = np.where(nodes.local_index[rows] >= 0, nodes.local_index[rows], hosts.place[rows])
    pairs = np.unique(np.stack([index.astype(np.int64), rail]), axis=1)
    values, count = np.unique(pairs[0], return_counts=True)
    return tuple(
        MixedIndex(int(value), tuple(nodes.rail.labels[pairs[1][pairs[0] == value]].tolist()))
        for value in values[count > 1].tolist()
    )
