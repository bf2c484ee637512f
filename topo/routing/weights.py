"""What a link weighs in the split at its tail: its cost, its share, and what of it was built."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from topo.fabric import Fabric, State
from topo.network import Network
from topo.routing.arcs import costs_of_links
from topo.routing.relaying import find_relaying
from topo.routing.scheme import Routing
from topo.table import Array

__all__ = ["LinkWeights", "coded", "is_path_aware"]

_FEW = 16


@dataclass(frozen=True, eq=False)
class LinkWeights:
    """Costs and weights of a network's links, before parallel links are grouped.

    ``weight`` is 1 a link under even splits and the rate under WCMP. Under path-aware WCMP the network is the one
    that was built, and what failed since weighs 0; elsewhere it is the one that is there.
    """

    network: Network
    cost: NDArray[np.int64]
    weight: NDArray[np.float64]
    gbps: NDArray[np.float64]
    built_gbps: NDArray[np.float64]
    routing: Routing

    @classmethod
    def of(cls, fabric: Fabric, *, state: State | None, routing: Routing) -> LinkWeights:
        """Costs and weights under a routing.

        :raises InputError: a link of unknown rate.
        """
        found = Network.of(fabric, state=state)
        network, gbps, built = found, found.capacity_gbps, found.capacity_gbps
        if is_path_aware(routing) and state is not None:
            network = Network.of(fabric)
            now = np.zeros(len(fabric.links))
            now[found.links] = found.capacity_gbps
            wired = fabric.links.capacity_gbps[network.links]
            gbps = now[network.links]
            built = np.where(np.isnan(wired), gbps, wired)
        weighted = routing.scheme == "wcmp"
        weight = gbps if weighted else np.ones(len(gbps))
        if weighted:
            # No weight, no next hop; what was built counts for what its tail could send.
            keep = (gbps > 0) | (is_path_aware(routing) & (built > 0))
            if not keep.all():
                network = Network(fabric, network.links[keep], network.kinds, state)
                gbps, built, weight = gbps[keep], built[keep], weight[keep]
        cost = costs_of_links(network, find_relaying(network, routing).costs)
        return cls(network, cost, weight, gbps, built, routing)

    def kinds(self, entry: Array) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """Distinct (cost, rates) of links: the cost of each, and which each entry (position of a link) has."""
        code = coded(self.cost)
        for column in (self.gbps,) if self.built_gbps is self.gbps else (self.gbps, self.built_gbps):
            part = coded(column)
            if part.any():
                code = coded(code.astype(np.int64) * (int(part.max()) + 1) + part)
        n = int(code.max(initial=-1)) + 1
        cost = np.ones(n, np.int64)
        cost[code] = self.cost
        # Numbered by cost, so that next hops of one cost lie together.
        order = np.argsort(cost, kind="stable")
        rank = np.empty(n, np.int32)
        rank[order] = np.arange(n)
        return cost[order], rank[code[entry]] if n > 1 else np.zeros(len(entry), np.int32)

    def of_entries(self, entry: Array, group: Array) -> NDArray[np.float64]:
        """Split weight of each entry; ``group`` numbers the next hop it belongs to where links are aggregated."""
        weight: NDArray[np.float64] = self.weight[entry]
        if not self.routing.lag or not len(weight):
            return weight
        # One next hop a bundle, its members loaded evenly: 1 together, or all their rates together.
        alive = weight > 0
        members = np.maximum(np.bincount(group, weights=alive), 1)
        together = np.bincount(group, weights=weight) if self.routing.scheme == "wcmp" else np.ones(len(members))
        even: NDArray[np.float64] = np.where(alive, (together / members)[group], 0.0)
        return even


def is_path_aware(routing: Routing) -> bool:
    """Whether splits follow the capacity left on the way to the destination."""
    return routing.scheme == "wcmp" and routing.weights == "path"


def coded(values: Array) -> NDArray[np.int32]:
    """Small integers for the distinct values; fast where they are few."""
    code = np.zeros(len(values), np.int32)
    left = np.ones(len(values), bool)
    if not len(values):
        return code
    at = 0
    for number in range(_FEW):
        same = values == values[at]
        code[same] = number
        left &= ~same
        at = int(left.argmax())
        if not left[at]:
            return code
    return np.unique(values, return_inverse=True)[1].astype(np.int32)
