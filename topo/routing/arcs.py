"""Arcs of a network as columns, with costs and bundles; and codes that tell lists, integers and probabilities apart."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from topo.network import Network
from topo.routing.scheme import GLOBAL
from topo.table import Array

__all__ = ["Arcs", "Bundles", "close_code", "costs_of_links", "list_codes", "mixed_code", "network_arcs", "positions"]

_MIX = np.uint64(0x9E3779B97F4A7C15)
_MIX_2 = np.uint64(0xC2B2AE3D27D4EB4F)


class Arcs(NamedTuple):
    """Arcs by tail and head (node, relay or state), with their fabric arc and cost."""

    tail: NDArray[np.int64]
    head: NDArray[np.int64]
    arc: NDArray[np.int64]
    cost: NDArray[np.int64]

    def take(self, rows: Array) -> Arcs:
        """Some of them."""
        return Arcs(*(column[rows] for column in self))


def costs_of_links(network: Network, costs: Mapping[str, int]) -> NDArray[np.int64]:
    """Cost of each link of a network: by its kind, 1 where none is given; what is given for ``global`` ones last."""
    kind = network.fabric.links.kind
    per_label = np.array([costs.get(label, 1) for label in kind.labels.tolist()] or [1], np.int64)
    cost = per_label[kind.codes[network.links]]
    if GLOBAL in costs:
        cost[network.is_global] = costs[GLOBAL]
    return cost


def network_arcs(network: Network, costs: Mapping[str, int]) -> Arcs:
    """Both directions of every link of a network, between node rows, with their costs (see :func:`costs_of_links`)."""
    cost = costs_of_links(network, costs)
    a, b = network.a.astype(np.int64), network.b.astype(np.int64)
    arc = np.concatenate([2 * network.links, 2 * network.links + 1])
    return Arcs(np.concatenate([a, b]), np.concatenate([b, a]), arc, np.concatenate([cost, cost]))


class Bundles(NamedTuple):
    """Parallel links of one cost: the bundle of arc ``a`` is ``members[first[a]:first[a] + size[a]]``, ascending."""

    members: NDArray[np.int64]
    first: NDArray[np.int64]
    size: NDArray[np.int64]

    @classmethod
    def of(cls, arcs: Arcs, n_arcs: int) -> Bundles:
        """The bundles of arcs between nodes."""
        tail, head, arc, cost = arcs.take(np.lexsort((arcs.arc, arcs.cost, arcs.head, arcs.tail)))
        fresh = np.ones(len(arc), bool)
        fresh[1:] = (np.diff(tail) != 0) | (np.diff(head) != 0) | (np.diff(cost) != 0)
        at = np.flatnonzero(fresh)
        number = np.cumsum(fresh) - 1
        first, size = np.zeros(n_arcs, np.int64), np.zeros(n_arcs, np.int64)
        first[arc] = at[number]
        size[arc] = np.diff(np.append(at, len(arc)))[number]
        return cls(arc, first, size)

    def is_leader(self, arc: Array) -> NDArray[np.bool_]:
        """Which arcs stand for their bundle: the least of each."""
        leads: NDArray[np.bool_] = self.members[self.first[arc]] == arc
        return leads


def list_codes(value: Array, count: Array) -> NDArray[np.int64]:
    """A number for each owner that two owners share if their lists of values are equal.

    Owner i holds the next ``count[i]`` of ``value`` (at least 0). Numbers follow the order of the first owners.

    >>> list_codes(np.array([7, 8, 7, 7, 8]), np.array([2, 1, 2])).tolist()
    [0, 1, 0]
    """
    n = len(count)
    first = np.cumsum(count) - count
    code = np.zeros(n, np.int64)
    for i in range(int(count.max(initial=0))):
        more = count > i
        following = np.zeros(n, np.int64)
        following[more] = np.unique(value[first[more] + i], return_inverse=True)[1] + 1
        code = np.unique(code * (int(following.max()) + 1) + following, return_inverse=True)[1]
    _, sample, inverse = np.unique(code, return_index=True, return_inverse=True)
    rank = np.empty(len(sample), np.int64)
    rank[np.argsort(sample)] = np.arange(len(sample))
    return rank[inverse]


def positions(n: int, rows: Array) -> NDArray[np.int64]:
    """For each of n nodes its place in ``rows``, -1 where it is not among them."""
    index = np.full(n, -1, np.int64)
    index[rows] = np.arange(len(rows))
    return index


def mixed_code(values: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Well-spread 64-bit codes of integers."""
    code = values.astype(np.uint64) * _MIX
    code ^= code >> np.uint64(29)
    code *= _MIX_2
    code ^= code >> np.uint64(32)
    return np.asarray(code)


def close_code(p: NDArray[np.float64]) -> NDArray[np.int64]:
    """Probabilities as integers, alike to 40 bits: products in another order differ by an ulp or two."""
    return np.asarray((p.view(np.int64) + (1 << 11)) >> 12)
