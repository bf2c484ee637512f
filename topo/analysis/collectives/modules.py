"""Hosts that can be exchanged for one another as a whole, and the smaller graph in which one stands for many."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from topo.fabric import Fabric
from topo.table import Array

__all__ = ["Modules", "Reduced"]


@dataclass(frozen=True, eq=False)
class Reduced:
    """A graph in which a node stands for ``count`` nodes of the whole one: ``of`` says which stands for each.

    Arcs that are kept carry the capacity of all that they stand for. A cut of it is a cut of the whole graph of the
    same capacity, in which nodes that one stands for are on one side.
    """

    tail: NDArray[np.int64]
    head: NDArray[np.int64]
    capacity: NDArray[np.float64]
    count: NDArray[np.int64]
    of: NDArray[np.int64]

    def joined(self, classes: Array) -> Reduced:
        """The same with nodes of a class joined in one: ``classes`` are orbits of automorphisms that keep counts."""
        kept = np.flatnonzero(self.count > 0)
        first = np.full(int(classes[kept].max(initial=-1)) + 1, -1, np.int64)
        first[classes[kept][::-1]] = kept[::-1]
        joined = np.arange(len(self.of))
        joined[kept] = first[classes[kept]]
        count = np.bincount(joined[kept], weights=self.count[kept], minlength=len(self.of)).astype(np.int64)
        tail, head = joined[self.tail], joined[self.head]
        apart = tail != head
        return Reduced(tail[apart], head[apart], self.capacity[apart], count, joined[self.of])


@dataclass(frozen=True, eq=False)
class Modules:
    """Hosts (scale-up domains where they span hosts) of a directed graph, by class of those that can be exchanged.

    Two modules are of one class if their nodes, in order of rows, hold ranks alike, are joined alike inside, and hang
    on the very same nodes outside at the same capacities: then exchanging them, each node for its like, is an
    automorphism that moves nothing else. Modules with links to other modules are left alone.
    """

    module: NDArray[np.int64]
    local: NDArray[np.int64]
    kind: NDArray[np.int64]
    tail: NDArray[np.int64]
    head: NDArray[np.int64]
    capacity: NDArray[np.float64]

    @classmethod
    def of(cls, fabric: Fabric, tail: Array, head: Array, capacity: Array, is_rank: Array) -> Modules:
        """The modules of a graph on a fabric's nodes."""
        module = _modules(fabric)
        n = len(module)
        order = np.argsort(module, kind="stable")
        sorted_of = module[order]
        first = np.flatnonzero(np.diff(sorted_of, prepend=-2))
        start = np.repeat(first, np.diff(np.append(first, n)))
        local = np.empty(n, np.int64)
        local[order] = np.arange(n) - start
        return cls(module, local, _kinds(module, local, tail, head, capacity, is_rank), tail, head, capacity)

    @property
    def n(self) -> int:
        """Modules."""
        return len(self.kind)

    @property
    def n_kinds(self) -> int:
        """Classes of them."""
        return len(np.unique(self.kind))

    def reduced(self, target: int | None = None) -> Reduced:
        """One module of each class kept for all; that of ``target`` apart, for itself alone."""
        n = len(self.module)
        apart = -1 if target is None else int(self.module[target])
        kind = self.kind.copy()
        if apart >= 0:
            kind[apart] = kind.max() + 1
        _, stands, size = np.unique(kind, return_index=True, return_counts=True)
        of_kind = np.zeros(int(kind.max()) + 1, np.int64)
        many = np.zeros(int(kind.max()) + 1, np.int64)
        of_kind[kind[stands]], many[kind[stands]] = stands, size
        keeps = np.zeros(self.n + 1, bool)
        keeps[stands] = keeps[-1] = True
        inside = self.module >= 0
        count = np.ones(n, np.int64)
        count[inside] = many[kind[self.module[inside]]]
        kept = keeps[self.module]
        # The node of the same place in the module that stands for one's own.
        width = int(self.local[inside].max(initial=0)) + 1
        place = np.full(self.n * width, -1, np.int64)
        place[self.module[inside] * width + self.local[inside]] = np.flatnonzero(inside)
        of = np.arange(n)
        of[inside] = place[of_kind[kind[self.module[inside]]] * width + self.local[inside]]
        arcs = np.flatnonzero(kept[self.tail] & kept[self.head])
        tail, head = self.tail[arcs], self.head[arcs]
        times = np.maximum(count[tail], count[head])
        return Reduced(tail, head, self.capacity[arcs] * times, np.where(kept, count, 0), of)


def _modules(fabric: Fabric) -> NDArray[np.int64]:
    """Module of every node: its scale-up domain, that of its host, or its host; -1 for what is in none."""
    nodes = fabric.nodes
    host, domain = nodes.host.codes.astype(np.int64), nodes.domain.codes.astype(np.int64)
    n_hosts = len(nodes.host.labels)
    of_host = np.full(n_hosts + 1, -1, np.int64)
    both = (host >= 0) & (domain >= 0)
    of_host[host[both]] = domain[both]
    joined = np.where(domain >= 0, domain, of_host[host])
    code = np.where(joined >= 0, n_hosts + joined, host)
    found = np.full(len(code), -1, np.int64)
    found[code >= 0] = np.unique(code[code >= 0], return_inverse=True)[1]
    return found


def _kinds(module: Array, local: Array, tail: Array, head: Array, capacity: Array, is_rank: Array) -> NDArray[np.int64]:
    """Class of every module, by what its nodes are and what they are joined to."""
    n_modules = int(module.max(initial=-1)) + 1
    rate = np.unique(capacity, return_inverse=True)[1]
    of_tail, of_head = module[tail], module[head]
    inner = (of_tail >= 0) & (of_tail == of_head)
    outward, inward = (of_tail >= 0) & (of_head < 0), (of_tail < 0) & (of_head >= 0)
    ranks = np.flatnonzero(is_rank & (module >= 0))
    ones = np.flatnonzero(module >= 0)
    # (module, what, local node, other node, rate); other nodes outside are the very nodes.
    parts = (
        (of_tail[inner], 0, local[tail[inner]], local[head[inner]], rate[inner]),
        (of_tail[outward], 1, local[tail[outward]], head[outward], rate[outward]),
        (of_head[inward], 2, local[head[inward]], tail[inward], rate[inward]),
        (module[ranks], 3, local[ranks], local[ranks], np.zeros(len(ranks), np.int64)),
        (module[ones], 4, local[ones], local[ones], np.zeros(len(ones), np.int64)),
    )
    table = np.concatenate([np.stack(np.broadcast_arrays(*part), axis=1) for part in parts])
    table = table[np.lexsort(table.T[::-1])]
    cuts = np.searchsorted(table[:, 0], np.arange(n_modules + 1))
    rows = np.ascontiguousarray(table[:, 1:])
    known: dict[bytes, int] = {}
    kind = np.array([known.setdefault(rows[a:b].tobytes(), len(known)) for a, b in pairwise(cuts)])
    joined = np.unique(np.concatenate([of_tail, of_head])[np.tile((of_tail >= 0) & (of_head >= 0) & ~inner, 2)])
    kind = kind.astype(np.int64) if n_modules else np.empty(0, np.int64)
    kind[joined] = len(known) + np.arange(len(joined))
    return kind
