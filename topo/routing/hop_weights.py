"""Next hops with weights: what WCMP gives each, by its own rate or by what is left on the way to the destination."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from topo.routing.access import Access
from topo.routing.arcs import Arcs, Bundles, list_codes, network_arcs
from topo.routing.distances import Seeds
from topo.routing.favour import filling
from topo.routing.kernel import Graph, arrivals, descend
from topo.routing.part_pull import PartPull
from topo.routing.relaying import find_relaying
from topo.routing.weights import LinkWeights, is_path_aware
from topo.table import Array, ranges

__all__ = ["HomeLists", "HopWeights", "home_lists", "hop_weights"]

_CELLS = 4_000_000


class HopWeights(NamedTuple):
    """An arc weighs ``gbps[arc]`` times ``pull[relay it enters, group]`` (None, and into endpoints: 1).

    Under LAG the rate of a whole bundle stands at the arc that stands for it. ``parts`` are the factors on arcs into
    parts of opened hosts.
    """

    gbps: NDArray[np.float64]
    pull: NDArray[np.float64] | None
    parts: PartPull | None = None

    def of_states(self, arc: Array, state: Array, group: Array, end: Array) -> NDArray[np.float64]:
        """Weights of arcs into states, parts of hosts too, towards endpoints ``end`` of groups."""
        if self.parts is not None:
            return np.asarray(self.gbps[arc] * self.parts.of(state, end))
        if self.pull is None:
            return self.gbps[arc]
        return self.of(arc, np.where(state < len(self.pull), state, -1), group)

    def of(self, arc: Array, head: Array, group: Array) -> NDArray[np.float64]:
        """Weights of arcs into relay rows ``head`` (-1: an endpoint) towards groups."""
        weight: NDArray[np.float64] = self.gbps[arc]
        if self.pull is None:
            return weight
        return weight * np.where(head >= 0, self.pull[np.maximum(head, 0), group], 1.0)


def _arc_rates(weights: LinkWeights, bundles: Bundles | None) -> NDArray[np.float64]:
    """Rate of every arc now, 0 outside the network; under LAG each arc has that of its bundle."""
    rate = np.zeros(len(weights.network.fabric.links))
    rate[weights.network.links] = weights.gbps
    gbps = np.repeat(rate, 2)
    if bundles is None:
        return gbps
    n = len(bundles.members)
    if not n:
        return gbps
    begin = np.flatnonzero(bundles.is_leader(bundles.members))
    total = np.add.reduceat(gbps[bundles.members], begin)
    together = gbps.copy()
    together[bundles.members] = np.repeat(total, np.diff(np.append(begin, n)))
    return together


class HomeLists(NamedTuple):
    """The relays that endpoints hang on in a fabric as built: one row a kind of endpoint and relay.

    ``kind_of[e]`` numbers endpoint e's list (-1: none), ``several[k]`` tells whether list k names more than one relay
    or cost, ``many[k]`` endpoints have it. Entry i: endpoints of kind ``kind[i]`` hang on ``relay[i]`` at ``cost[i]``
    over ``built_gbps[i]``, of which ``gbps[i]`` are left.
    """

    kind_of: NDArray[np.int64]
    several: NDArray[np.bool_]
    many: NDArray[np.int64]
    kind: NDArray[np.int64]
    relay: NDArray[np.int64]
    cost: NDArray[np.int64]
    built_gbps: NDArray[np.float64]
    gbps: NDArray[np.float64]

    @property
    def group_kind(self) -> NDArray[np.int64]:
        """What tells endpoints on the same relays apart as destinations: their rates, where they have several."""
        apart = np.append(self.several, False)  # the last answers for -1
        return np.where(apart[self.kind_of], self.kind_of, -1)


def home_lists(weights: LinkWeights, access: Access) -> HomeLists:
    """Lists of all endpoints that do not forward themselves."""
    tail, head, arc, cost = _built_arcs(weights)
    n_ends = len(access.endpoints)
    at = np.flatnonzero((access.relay_of[tail] < 0) & (access.relay_of[head] >= 0) & (access.end_of[tail] >= 0))
    end, relay, cost = access.end_of[tail[at]], access.relay_of[head[at]], cost[at]
    built, now = (_by_link(weights, column)[arc[at] // 2] for column in (weights.built_gbps, weights.gbps))
    order = np.lexsort((cost, relay, end))
    end, relay, cost = end[order], relay[order], cost[order]
    built, now = built[order], now[order]
    fresh = np.ones(len(end), bool)
    fresh[1:] = (np.diff(end) != 0) | (np.diff(relay) != 0) | (np.diff(cost) != 0)
    first = np.flatnonzero(fresh)
    if len(first):
        built, now = np.add.reduceat(built, first), np.add.reduceat(now, first)
    end, relay, cost = end[first], relay[first], cost[first]
    _, code = np.unique(np.stack([relay, cost, built, now]), axis=1, return_inverse=True)
    count = np.bincount(end, minlength=n_ends)
    joined = np.flatnonzero(count > 0)
    number = list_codes(code.ravel(), count[joined])
    kind_of = np.full(n_ends, -1, np.int64)
    kind_of[joined] = number
    _, sample = np.unique(number, return_index=True)
    begin = np.cumsum(count) - count
    rows, kind = ranges(begin[joined[sample]], count[joined[sample]])
    return HomeLists(
        kind_of, count[joined[sample]] > 1, np.bincount(number, minlength=len(sample)), kind, relay[rows], cost[rows],
        built[rows], now[rows],
    )  # fmt: skip


def _built_arcs(weights: LinkWeights) -> Arcs:
    """Both directions of every link as built, between nodes, with their costs."""
    return network_arcs(weights.network, find_relaying(weights.network, weights.routing).costs)


def _by_link(weights: LinkWeights, column: Array) -> NDArray[np.float64]:
    whole = np.zeros(len(weights.network.fabric.links))
    whole[weights.network.links] = column
    return whole


def _path_pull(
    weights: LinkWeights, access: Access, homes: HomeLists, seeds: Seeds, sample: Array
) -> NDArray[np.float64]:
    """Factor on arcs into each relay towards each group: what it can send on, over what could come into it as built.

    ``sample`` is one endpoint of each group. At most 1, and 1 where a group hangs on that relay alone.
    """
    n_relays, n_groups = access.n_relays, len(sample)
    kind = homes.group_kind[sample]
    apart = np.flatnonzero(kind >= 0)
    first = n_relays + len(homes.many)
    now, built = _graphs(weights, access, homes, kind[apart])
    pull = np.ones((n_relays, n_groups))
    single = np.flatnonzero(kind[seeds.column] < 0)
    row = np.concatenate([seeds.row[single], first + np.arange(len(apart))])
    column = np.concatenate([seeds.column[single], apart])
    order = np.argsort(column, kind="stable")
    row, column = row[order], column[order]
    step = int(np.clip(_CELLS // max(built.n, 1), 8, 256))
    for low in range(0, n_groups, step):
        n = min(step, n_groups - low)
        a, b = np.searchsorted(column, [low, low + n])
        mine = row[a:b], column[a:b] - low, n
        found = descend(built, *mine)
        room = arrivals(found, np.ones(found.level.shape), built.steps)
        settled = descend(now, *mine, favour=filling(room)).favour
        assert settled is not None
        pull[:, low : low + n] = settled[:n_relays]
    return pull


def _graphs(weights: LinkWeights, access: Access, homes: HomeLists, sinks: Array) -> tuple[Graph, Graph]:
    """Relays, then a row for each kind of endpoint that sends, then one for each kind in ``sinks``: now, and built."""
    n_relays, n_kinds = access.n_relays, len(homes.many)
    tail, head, arc, cost = _built_arcs(weights)
    between = np.flatnonzero((access.relay_of[tail] >= 0) & (access.relay_of[head] >= 0))
    start = np.searchsorted(homes.kind, np.arange(n_kinds + 1))
    entry, sink = ranges(start[sinks], start[sinks + 1] - start[sinks])
    tails = np.concatenate([access.relay_of[tail[between]], n_relays + homes.kind, homes.relay[entry]])
    heads = np.concatenate([access.relay_of[head[between]], homes.relay, n_relays + n_kinds + sink])
    costs = np.concatenate([cost[between], homes.cost, homes.cost[entry]])
    n = n_relays + n_kinds + len(sinks)
    members = np.concatenate([np.ones(n_relays), np.zeros(n_kinds + len(sinks))])
    tier = weights.network.fabric.nodes.tier.astype(np.int64)
    climb = np.concatenate(
        [np.sign(tier[head[between]] - tier[tail[between]]), np.ones(len(homes.kind)), -np.ones(len(entry))]
    )
    many = homes.many[homes.kind]

    def graph(rates: Array, homes_gbps: Array) -> Graph:
        weight = np.concatenate([_by_link(weights, rates)[arc[between] // 2], homes_gbps * many, homes_gbps[entry]])
        used = weight > 0
        if weights.routing.up_down:
            used &= climb != 0
        at = np.flatnonzero(used)
        at = at[np.lexsort((heads[at], tails[at]))]
        up = climb[at] > 0 if weights.routing.up_down else None
        return Graph(n, tails[at], heads[at], costs[at], weight[at], members, up)

    return graph(weights.gbps, homes.gbps), graph(weights.built_gbps, homes.built_gbps)


def hop_weights(
    weights: LinkWeights,
    access: Access,
    homes: HomeLists | None,
    seeds: Seeds,
    sample: Array,
    bundles: Bundles | None,
    parts: PartPull | None = None,
) -> HopWeights:
    """Weights of all arcs under a WCMP routing; ``sample`` is an endpoint of each group."""
    pull = None
    if parts is not None:
        pull = parts.table[: access.n_relays, parts.kind_of[sample]]
    elif homes is not None and is_path_aware(weights.routing):
        pull = _path_pull(weights, access, homes, seeds, sample)
    return HopWeights(_arc_rates(weights, bundles), pull, parts)
