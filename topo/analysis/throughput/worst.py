"""The worst permutation for an even split: for each arc the matching that loads it most, the worst arc of all."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from topo.analysis.throughput.answer import binding_set, equal_bounds
from topo.analysis.throughput.places import places_of
from topo.errors import ParameterError
from topo.fabric import Fabric, LinkSet, State, expect_fabric
from topo.network import Network
from topo.result import Result, Row, Standing, hidden
from topo.routing.arcs import Bundles
from topo.routing.next_hops import NextHops
from topo.routing.scheme import Routing
from topo.table import Array, ranges
from topo.traffic.demand import Demand
from topo.traffic.matching import largest_transport, spread
from topo.traffic.patterns import pair_rates, wanted_rates

__all__ = ["WorstCase", "worst_case_throughput"]

_MOST_ENTRIES = 40_000_000
_MOST_MATCHINGS = 400


@dataclass(frozen=True, eq=False)
class WorstCase(Result):
    """theta of the worst permutation under a fixed even split, with that permutation as ``demand``.

    No permutation has a smaller theta than ``theta_lower``; ``demand`` has ``theta_upper``. Equal, they are exact.
    """

    fabric: str
    routing: str
    theta_lower: float
    theta_upper: float
    n_binding: int
    binding_links: LinkSet
    binding_direction: tuple[str, ...]
    n_matchings: int
    demand: Demand = hidden()

    title: ClassVar[str] = "Throughput of the worst permutation"
    derived: ClassVar[tuple[str, ...]] = ("exact",)

    @property
    def exact(self) -> bool:
        """Whether both bounds are the same number."""
        return equal_bounds(self.theta_lower, self.theta_upper)

    @property
    def standing(self) -> Standing:
        """Exact where every arc that could be worse was looked at."""
        return Standing("exact" if self.exact else "bracket", f"{self.n_matchings:,} matchings of leaves")

    def rows(self) -> list[Row]:
        """The answer in plain words."""
        rows = [Row("routing", self.routing)]
        if self.exact:
            rows.append(Row("theta of the worst permutation", self.theta_upper, "", self.standing))
        else:
            rows.append(Row("theta of the worst permutation, at least", self.theta_lower, "", self.standing))
            rows.append(Row("  at most", self.theta_upper))
        if self.n_binding:
            rows.append(Row("where it binds", self.binding_direction[0]))
        return rows


def worst_case_throughput(fabric: Fabric, *, routing: Routing | str = "ecmp", state: State | None = None) -> WorstCase:
    """theta of the worst of all permutations under an even split over shortest paths (ecmp, spray), and that one.

    The split is the same whatever the demand, so the load of an arc is a sum over pairs, and its largest value over
    all demands in which nobody sends or receives more than its line rate is a maximum-weight matching of leaves
    (Towles and Dally 2002). Arcs are taken in order of a cheap bound until none can be worse.

    >>> import topo
    >>> worst_case_throughput(topo.leaf_spine(leaves=4, spines=2, hosts_per_leaf=4)).theta_upper
    0.5

    :raises ParameterError: another routing, endpoints that hang on several switches or at unequal rates, pairs of
        leaves without a path, or a fabric of too many leaves.
    :raises InputError: a link of unknown rate.
    """
    expect_fabric(fabric)
    chosen = Routing.of(routing)
    if chosen.scheme not in ("ecmp", "spray"):
        raise ParameterError(f"the worst permutation is known for even splits, ecmp or spray, not {chosen.scheme!r}")
    leaves = _Leaves.of(fabric, state)
    hops = NextHops.of(fabric, state=state, routing=chosen.with_(scheme="ecmp"))
    arc, pair, share = _pair_loads(leaves, hops)
    network = Network.of(fabric, state=state)
    capacity = np.zeros(len(fabric.links))
    capacity[network.links] = network.capacity_gbps
    slowest, together = _of_bundles(hops.bundles, np.repeat(capacity, 2))
    found = _worst_arc(leaves, arc, pair, share, together)
    access = _access_theta(leaves, network)
    theta_upper, theta_lower = float(min(access, found.theta)), float(min(access, found.bound))
    arcs = slowest[[found.arc] if found.theta <= access and found.arc >= 0 else []]
    n_binding, links, ways = binding_set(fabric, arcs, state=state)
    demand = _permutation(fabric, leaves, found.amount)
    return WorstCase(
        fabric.name, str(chosen), theta_lower, theta_upper, n_binding, links, ways, found.n_matchings, demand
    )


def _of_bundles(bundles: Bundles | None, capacity: Array) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Slowest member of the bundle that each arc stands for, and the rate of all when each carries as much as it."""
    arc = np.arange(len(capacity))
    if bundles is None or not len(bundles.members):
        return arc, capacity
    order = bundles.members[np.lexsort((capacity[bundles.members], bundles.first[bundles.members]))]
    slowest = arc.copy()
    # Bundles lie one after another in both orders, the slowest member first in this one.
    slowest[bundles.members] = order[bundles.first[bundles.members]]
    together = capacity.copy()
    together[bundles.members] = (capacity[slowest] * bundles.size)[bundles.members]
    return slowest, together


@dataclass(frozen=True, eq=False)
class _Leaves:
    """The relays that endpoints hang on: their node rows, and how many endpoints of the one rate each has."""

    relay: NDArray[np.int64]
    count: NDArray[np.int64]
    endpoints: NDArray[np.int64]
    leaf: NDArray[np.int64]
    gbps: float

    @classmethod
    def of(cls, fabric: Fabric, state: State | None) -> _Leaves:
        places = places_of(Network.of(fabric, state=state), fold_relays=False)
        ends = fabric.endpoints
        relay_of = np.full(places.n, -1, np.int64)
        lone = (places.start >= 0) & ~places.folded & (places.start == places.end)
        relay_of[places.start[lone]] = np.flatnonzero(lone)
        hangs = (places.start[ends] >= 0) & (places.start[ends] == places.end[ends])
        if not hangs.all():
            name = str(fabric.nodes.name[ends[~hangs][0]])
            raise ParameterError(
                f"{name!r} does not hang on one switch; the worst permutation is known where every endpoint does. "
                "Use the longest matching as a near-worst demand"
            )
        rates = wanted_rates(fabric, ends)
        if rates.max() > rates.min() * (1 + 1e-9):
            raise ParameterError(
                f"endpoints send at {rates.min():g} to {rates.max():g} Gb/s; the worst permutation is known for equal "
                "rates. Use the longest matching as a near-worst demand"
            )
        relay, leaf, count = np.unique(relay_of[places.start[ends]], return_inverse=True, return_counts=True)
        return cls(relay, count, ends, leaf, float(rates[0]))


def _pair_loads(leaves: _Leaves, hops: NextHops) -> tuple[Array, Array, Array]:
    """Share of the flow of every pair of leaves on every arc: (arc, source * n + sink, share), for shares above 0."""
    n = len(leaves.relay)
    first = np.zeros(n, np.int64)
    first[leaves.leaf[::-1]] = leaves.endpoints[::-1]
    arcs, pairs, shares = [], [], []
    total = 0
    for sink in range(n):
        arc, source, share = _towards(leaves, hops, int(hops.group_of[first[sink]]), sink)
        total += len(arc)
        if total > _MOST_ENTRIES:
            raise ParameterError(
                f"{n:,} leaves have too many paths for the worst permutation (over {_MOST_ENTRIES:,} pairs and arcs); "
                "use the longest matching as a near-worst demand"
            )
        arcs.append(arc)
        pairs.append(source * n + sink)
        shares.append(share)
    return np.concatenate(arcs), np.concatenate(pairs), np.concatenate(shares)


def _towards(leaves: _Leaves, hops: NextHops, group: int, sink: int) -> tuple[Array, Array, Array]:
    """Shares of one unit from every leaf to one, hop by hop from the farthest relays in."""
    n, relays = len(leaves.relay), len(hops.relays)
    start = hops.row_of[leaves.relay]
    code, cost = hops.table[:, group], hops.cost[:, group].astype(np.int64)
    lost = np.flatnonzero(code[start] == -1)
    if lost.size:
        names = hops.fabric.nodes.name
        raise ParameterError(
            f"no path from {str(names[leaves.relay[lost[0]]])!r} to {str(names[leaves.relay[sink]])!r}; "
            "every permutation that pairs them loses flows"
        )
    flow = np.zeros((n, relays))
    flow[np.arange(n), start] = 1.0
    flow[sink, start[sink]] = 0.0
    arcs, sources, shares = [], [], []
    for level in np.unique(cost[code >= 0])[::-1].tolist():
        rows = np.flatnonzero((cost == level) & (code >= 0))
        rows = rows[flow[:, rows].any(axis=0)]
        size = np.diff(hops.start)[code[rows]]
        at, owner = ranges(hops.start[code[rows]], size)
        arc = hops.arcs[at]
        part = flow[:, rows[owner]] / size[owner]
        source, column = np.nonzero(part)
        arcs.append(arc[column])
        sources.append(source)
        shares.append(part[source, column])
        np.add.at(flow.T, hops.head_row[arc], part.T)
    if not arcs:
        return np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0)
    return np.concatenate(arcs), np.concatenate(sources), np.concatenate(shares)


@dataclass(frozen=True, eq=False)
class _Found:
    theta: float
    bound: float
    arc: int
    amount: NDArray[np.int64]
    n_matchings: int


def _worst_arc(leaves: _Leaves, arc: Array, pair: Array, share: Array, capacity: Array) -> _Found:
    """The arc whose worst matching overloads it most; arcs are tried by falling bound."""
    n = len(leaves.relay)
    order = np.argsort(arc, kind="stable")
    arc, pair, share = arc[order], pair[order], share[order]
    used, begin = np.unique(arc, return_index=True)
    end = np.append(begin[1:], len(arc))
    number = np.repeat(np.arange(len(used)), end - begin)
    bound = np.full(len(used), np.inf)
    for side in (pair // n, pair % n):
        most = np.zeros(len(used) * n)
        np.maximum.at(most, number * n + side, share)
        bound = np.minimum(bound, most.reshape(len(used), n) @ leaves.count)
    with np.errstate(divide="ignore"):
        bound = bound * leaves.gbps / capacity[used]
    best, worst, amount, tried = 0.0, -1, np.diag(leaves.count), 0
    left = 0.0
    for i in np.argsort(-bound, kind="stable").tolist():
        if bound[i] <= best * (1 + 1e-9):
            break
        if tried == _MOST_MATCHINGS:
            left = float(bound[i])
            break
        tried += 1
        weight = np.zeros(n * n)
        weight[pair[begin[i] : end[i]]] = share[begin[i] : end[i]]
        chosen, _ = largest_transport(weight.reshape(n, n), leaves.count)
        with np.errstate(divide="ignore"):
            load = float((weight.reshape(n, n) * chosen).sum()) * leaves.gbps / capacity[used[i]]
        if load > best:
            best, worst, amount = load, int(used[i]), chosen
    theta = 1 / best if best > 0 else math.inf
    return _Found(theta, min(theta, 1 / left if left else math.inf), worst, amount, tried)


def _access_theta(leaves: _Leaves, network: Network) -> float:
    """What the endpoints' own links let through at full rate; infinite where endpoints relay."""
    fabric = network.fabric
    own = ~np.isin(leaves.endpoints, leaves.relay)
    if not own.any():
        return math.inf
    n = len(fabric.nodes)
    rate = np.bincount(network.a, weights=network.capacity_gbps, minlength=n)
    rate = rate + np.bincount(network.b, weights=network.capacity_gbps, minlength=n)
    return float((rate[leaves.endpoints[own]] / leaves.gbps).min())


def _permutation(fabric: Fabric, leaves: _Leaves, amount: Array) -> Demand:
    """One partner for every endpoint from amounts between leaves; who would send to itself stays out."""
    order = np.argsort(leaves.leaf, kind="stable")
    rows = leaves.endpoints[order]
    partner = spread(amount, leaves.count)
    other = partner != np.arange(len(rows))
    source, sink = rows[other], rows[partner[other]]
    return Demand.of(fabric, "worst permutation", source=source, sink=sink, gbps=pair_rates(fabric, source, sink))
