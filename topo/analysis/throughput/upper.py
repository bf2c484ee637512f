"""The throughput upper bound: what the longest matching allows, and how large a fabric of full throughput can be."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from topo.errors import ParameterError
from topo.fabric import FORWARDS_ALL, Fabric, Selector, State, expect_fabric
from topo.network import Network
from topo.result import Result, Row, Standing, hidden
from topo.traffic.demand import Demand
from topo.traffic.matching import find_longest_matching

__all__ = ["ThroughputBound", "largest_full_throughput", "throughput_upper_bound"]


@dataclass(frozen=True, eq=False)
class ThroughputBound(Result):
    """No routing carries more than ``theta`` of the longest matching, hence of the worst permutation.

    theta = capacity between switches / sum over the matching of rate times hops; above 1 it leaves room, it does not
    prove full throughput. ``is_longest`` says that no permutation gives a tighter one of this kind. Pairs of the
    matching without a path are left out and counted.
    """

    fabric: str
    theta: float
    network_gbps: float
    mean_hops: float
    is_longest: bool
    n_pairs: int
    lost_pairs: int
    matching: Demand = hidden()

    title: ClassVar[str] = "Throughput upper bound"

    @property
    def standing(self) -> Standing:
        """An upper bound on the theta of the worst permutation, with the matching as its witness."""
        return Standing("upper bound", "capacity over rate times hops of the longest matching")

    def rows(self) -> list[Row]:
        """The bound in plain words."""
        rows = [
            Row("theta of the worst permutation, at most", self.theta, "", self.standing),
            Row("capacity between switches, both directions", self.network_gbps, "Gb/s"),
            Row("mean hops between switches in the matching", self.mean_hops),
            Row("matching is the longest there is", self.is_longest),
        ]
        if self.lost_pairs:
            rows.append(Row("pairs that no path joins", f"{self.lost_pairs:,} of {self.n_pairs:,}"))
        return rows


def throughput_upper_bound(
    fabric: Fabric, endpoints: Selector = None, *, state: State | None = None
) -> ThroughputBound:
    """Upper bound of theta for the worst permutation under any routing, from its longest matching.

    Each Gb/s of pair (u, v) takes up at least hops(u, v) Gb/s between switches, so
    theta <= sum of capacities of all arcs between switches / sum over the matching of rate * hops. For H servers a
    switch and unit links this is 2 E / sum of H * d (TUB; Namyar, Supittayapornpong, Zhang, Yu, Govindan, SIGCOMM
    2021); here for any capacities, parallel links and numbers of endpoints.

    >>> import topo
    >>> bound = throughput_upper_bound(topo.leaf_spine(leaves=4, spines=2, hosts_per_leaf=8))
    >>> bound.theta, bound.is_longest   # spines over hosts, one over the oversubscription
    (0.25, True)

    :raises ParameterError: fewer than two endpoints on switches.
    :raises InputError: a link of unknown rate.
    """
    expect_fabric(fabric)
    found = find_longest_matching(fabric, endpoints, state=state)
    network = Network.of(fabric, state=state)
    relay = fabric.nodes.forwards == FORWARDS_ALL
    between = relay[network.a] & relay[network.b]
    offered = 2 * float(network.capacity_gbps[between].sum())
    joined = found.hops >= 0
    needed = float((found.demand.gbps[joined] * found.hops[joined]).sum())
    return ThroughputBound(
        fabric=fabric.name,
        theta=offered / needed if needed > 0 else math.inf,
        network_gbps=offered,
        mean_hops=float(found.hops[joined].mean()) if joined.any() else 0.0,
        is_longest=found.is_longest,
        n_pairs=len(found.hops),
        lost_pairs=int(np.count_nonzero(~joined)),
        matching=found.demand,
    )


def largest_full_throughput(radix: int, servers_per_switch: int) -> int:
    """Most servers that any fabric of equal switches can serve at full throughput, H = ``servers_per_switch`` on each.

    With r = radix - H links to other switches at most r (r-1)^(i-1) of n switches are at distance i (Moore), so the
    mean distance has a least value; the longest matching is no shorter, and theta >= 1 needs mean distance <= r / H.
    The answer is H times the largest such n. As in the published table (Namyar and others, SIGCOMM 2021) the mean
    is over all n switches, itself included at distance 0; over the n - 1 others it is a few switches fewer.

    >>> [largest_full_throughput(32, h) for h in (8, 7, 6)]
    [111008, 256088, 3967278]

    :raises ParameterError: not 1 <= servers_per_switch < radix.
    """
    if not 1 <= servers_per_switch < radix:
        raise ParameterError(
            f"{servers_per_switch} servers on a switch of {radix} ports leave no links to others; "
            f"use 1 to {max(radix - 1, 1)}"
        )
    h, r = servers_per_switch, radix - servers_per_switch
    others = distance = 0
    level, size = 1, r
    while size > 0:
        # h * (distance + level * x) <= r * (1 + others + x) for x more at this level.
        over = h * level - r
        room = size if over <= 0 else (r * (others + 1) - h * distance) // over
        others += min(size, room)
        distance += level * min(size, room)
        if room < size:
            break
        level, size = level + 1, size * (r - 1)
    return h * (others + 1)
