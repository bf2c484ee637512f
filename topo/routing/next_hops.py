"""Next hops: for every relay and every group of destinations, the arcs that begin a shortest path."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from topo.errors import ParameterError
from topo.fabric import Fabric, State
from topo.network import Network
from topo.routing.access import Access, end_index, find_access
from topo.routing.arcs import Bundles, list_codes, network_arcs
from topo.routing.distances import RelayGraph, Seeds
from topo.routing.hop_weights import HomeLists, HopWeights, home_lists, hop_weights
from topo.routing.part_pull import PartPull, is_opened, part_pull
from topo.routing.relaying import find_relaying
from topo.routing.scheme import Routing
from topo.routing.sets import SetBits, hop_sets
from topo.routing.weighted_sets import WeightedSets
from topo.routing.weights import LinkWeights, is_path_aware
from topo.table import Array, check_rows, freeze, ranges

__all__ = ["NO_PATH", "NextHops"]

NO_PATH = -1
_MOST_CELLS = 400_000_000
_LISTED_AT = 8


@dataclass(frozen=True, eq=False)
class NextHops:
    """Next hops of every relay towards every group of destinations, each distinct set kept once.

    A relay is a node that forwards everything; ``relays[r]`` is its node row and ``row_of[v]`` the relay row of
    node v (-1). Destinations that hang on the same relays at the same cost form a *group*, in a Clos the endpoints of
    one leaf: ``group_of[v]`` for node v (-1: no endpoint, attached nowhere, or not among ``sinks``).

    ``table[r, g]`` (int32) is the number s of a set, whose arcs are ``arcs[start[s]:start[s + 1]]``; ``NO_PATH`` (-1)
    where there is none; ``-(2 + s)`` where the destination hangs on the relay itself: over its access links and, if
    equally short, set s (nearly always the empty set 0). Without LAG every parallel link is a next hop of its own;
    with it one arc stands for its bundle, and ``bundles`` lists the members. ``cost[r, g]`` is the least cost down
    to the destination, ``far`` where there is no path. Under WCMP ``share``, parallel to ``arcs``, says how much of
    what crosses a set each next hop takes (None: all the same), and ``weights`` what links of endpoints weigh.
    ``held`` are the arcs, or bits for them until somebody asks for all.
    """

    fabric: Fabric
    routing: Routing
    network: Network
    access: Access
    group_of: NDArray[np.int64]
    sinks: NDArray[np.int64]
    table: NDArray[np.int32]
    start: NDArray[np.int64]
    held: NDArray[np.int64] | SetBits
    cost: NDArray[Any]
    far: int
    bundles: Bundles | None
    share: NDArray[np.float64] | None = None
    weights: HopWeights | None = None

    @classmethod
    def of(
        cls,
        fabric: Fabric,
        *,
        state: State | None = None,
        routing: Routing | str = "ecmp",
        sinks: ArrayLike | None = None,
    ) -> NextHops:
        """Next hops of a fabric in a state; towards the endpoints ``sinks`` (node rows), or all.

        Shortest means least cost by ``routing.costs``; ``up_down``, ``lag`` and ``pxn`` are kept. Links present
        at rate 0 are next hops still, but under WCMP, where they weigh nothing. Takes 0.05 s on a fat-tree of k=32
        and a second at k=64; with weights by path 2 s at k=32.

        >>> import topo
        >>> found = NextHops.of(topo.fat_tree(4))
        >>> found.table.shape, found.n_sets
        ((20, 8), 49)

        :raises ParameterError: more relays times groups than a table holds (name fewer ``sinks``), a sink that is no
            endpoint, up/down routing where endpoints forward for others.
        """
        chosen = Routing.of(routing)
        network = Network.of(fabric, state=state)
        weighs = LinkWeights.of(fabric, state=state, routing=chosen) if chosen.scheme == "wcmp" else None
        if weighs is not None:
            network = Network(fabric, network.links[network.capacity_gbps > 0], network.kinds, state)
        access, bundles = _reached(network, chosen)
        wanted = np.arange(len(access.endpoints)) if sinks is None else end_index(access, fabric, "sinks", sinks)
        wanted = np.unique(wanted)
        homes, parts, kind = _kinds(access, weighs, chosen, wanted)
        group, seeds, n_groups = _groups(access, wanted, kind)
        _refuse_too_many(access, n_groups)
        tier = fabric.nodes.tier[access.relays]
        graph = RelayGraph.of(access.core, tier)
        found = hop_sets(graph, seeds, n_groups, tier, up_down=chosen.up_down)
        group_of = np.full(len(fabric.nodes), -1, np.int64)
        group_of[access.endpoints] = group
        table = _with_ends(found.table, found.cost, found.far, seeds)
        held: NDArray[np.int64] | SetBits = found.sets
        start, share, weights = np.concatenate([[0], np.cumsum(found.sets.n_hops)]), None, None
        if weighs is not None:
            sample = np.full(n_groups, -1, np.int64)
            sample[group[group >= 0]] = np.flatnonzero(group >= 0)
            weights = hop_weights(weighs, access, homes, seeds, sample, bundles, parts)
            head_row = access.relay_of[fabric.arc_target]
            table, start, held, share = WeightedSets.of(table, start, found.sets.arcs(), head_row, weights)
            held.flags.writeable = False
        for array in (group_of, table, start, found.cost):
            array.flags.writeable = False
        ends = access.endpoints[wanted]
        return cls(
            fabric, chosen, network, access, group_of, ends, table, start, held, found.cost, found.far, bundles,
            share, weights,
        )  # fmt: skip

    @property
    def relays(self) -> NDArray[np.int64]:
        """Node row of every relay."""
        return self.access.relays

    @property
    def row_of(self) -> NDArray[np.int64]:
        """Relay row of every node, -1 for others."""
        return self.access.relay_of

    @cached_property
    def arcs(self) -> NDArray[np.int64]:
        """Arcs of all sets, one after another."""
        return freeze(self.held.arcs()) if isinstance(self.held, SetBits) else self.held

    def arc_of(self, number: NDArray[Any], nth: NDArray[Any]) -> NDArray[np.int64]:
        """The nth arc, from 0, of each of some sets; all are listed only where many are looked at."""
        if isinstance(self.held, SetBits) and "arcs" not in self.__dict__ and _LISTED_AT * len(nth) < self.start[-1]:
            return self.held.arc_of(number, nth)
        arcs: NDArray[np.int64] = self.arcs[self.start[number] + nth]
        return arcs

    @cached_property
    def head_row(self) -> NDArray[np.int64]:
        """Relay row each arc enters, -1 for other nodes."""
        rows: NDArray[np.int64] = self.row_of[self.fabric.arc_target]
        return rows

    @property
    def n_sets(self) -> int:
        """Distinct sets, the empty one among them."""
        return len(self.start) - 1

    @property
    def n_groups(self) -> int:
        """Groups of destinations."""
        return int(self.table.shape[1])

    def next_arcs(self, node: int, sink: int) -> NDArray[np.int64]:
        """Arcs a packet at relay ``node`` for endpoint ``sink`` may take, access links included.

        >>> import topo
        >>> f = topo.fat_tree(4)
        >>> host, leaf = f.rows(["pod-1-leaf-1", "host-16"]).tolist()
        >>> [str(f.nodes.name[f.arc_target[a]]) for a in NextHops.of(f).next_arcs(leaf, host)]
        ['pod-1-spine-1', 'pod-1-spine-2']

        :raises ParameterError: ``node`` forwards nothing for others, or ``sink`` is no endpoint.
        """
        row = int(self.row_of[check_rows(np.array([node]), len(self.fabric.nodes), "nodes")[0]])
        if row < 0:
            raise ParameterError(f"{str(self.fabric.nodes.name[node])!r} forwards nothing for others; name a switch")
        end = int(end_index(self.access, self.fabric, "sink", [sink])[0])
        group = int(self.group_of[sink])
        code = int(self.table[row, group]) if group >= 0 else NO_PATH
        if code == NO_PATH:
            return np.empty(0, np.int64)
        number = code if code >= 0 else -2 - code
        arcs = self.arcs[self.start[number] : self.start[number + 1]]
        if code >= 0:
            return arcs
        ways = self.access.ways
        at = ways.find(np.array([end * self.access.n_states + row]))[0]
        return np.concatenate([arcs, ways.arc[ways.start[at] : ways.start[at + 1]]])


def _reached(network: Network, routing: Routing) -> tuple[Access, Bundles | None]:
    """How endpoints reach the relays, and the bundles whose leaders alone are arcs under LAG.

    :raises ParameterError: up/down routing where endpoints forward for others.
    """
    fabric = network.fabric
    arcs = network_arcs(network, find_relaying(network, routing).costs)
    bundles = Bundles.of(arcs, 2 * len(fabric.links)) if routing.lag else None
    if bundles is not None:
        arcs = arcs.take(np.flatnonzero(bundles.is_leader(arcs.arc)))
    access = find_access(network, arcs, routing)
    if routing.up_down and access.has_relaying_endpoints:
        node = str(fabric.nodes.name[access.endpoints[np.argmin(access.source_state)]])
        raise ParameterError(f"up/down routing needs tiers of switches, but endpoint {node!r} forwards for others")
    return access, bundles


def _kinds(
    access: Access, weighs: LinkWeights | None, routing: Routing, wanted: Array
) -> tuple[HomeLists | None, PartPull | None, Array | None]:
    """What weights tell apart among destinations: their lists of homes, or factors where hosts are opened."""
    if weighs is not None and not is_opened(access):
        homes = home_lists(weighs, access)
        return homes, None, homes.group_kind
    if weighs is not None and is_path_aware(routing):
        parts = part_pull(weighs, access, wanted)
        return None, parts, parts.kind_of
    return None, None, None


def _refuse_too_many(access: Access, n_groups: int) -> None:
    if access.n_relays * n_groups > _MOST_CELLS:
        raise ParameterError(
            f"{access.n_relays:,} switches times {n_groups:,} groups of destinations are more next-hop sets than "
            f"the {_MOST_CELLS:,} a table holds; name fewer sinks, or ask for link loads, which need no table"
        )


def _groups(access: Access, wanted: Array, kind: Array | None) -> tuple[NDArray[np.int64], Seeds, int]:
    """Group of each endpoint (-1: not wanted, or on no relay), and where the groups hang, in order of their relays.

    Endpoints of another ``kind`` are groups of their own.
    """
    n, n_states = len(access.endpoints), access.n_states
    end, state, cost = access.ways.key // n_states, access.ways.key % n_states, access.ways.cost
    mask = np.zeros(n, bool)
    mask[wanted] = True
    keep = (state < access.n_relays) & mask[end]
    end, state, cost = end[keep], state[keep], cost[keep]
    count = np.bincount(end, minlength=n)
    joined = np.flatnonzero(count > 0)
    code = list_codes(state * (int(cost.max(initial=0)) + 1) + cost, count[joined])
    if kind is not None:
        mine = kind[joined]
        code = list_codes(code * (int(mine.max(initial=0)) + 2) + mine + 1, np.ones(len(code), np.int64))
    group = np.full(n, -1, np.int64)
    group[joined] = code
    sample = joined[np.unique(code, return_index=True)[1]]
    rows, column = ranges((np.cumsum(count) - count)[sample], count[sample])
    return group, Seeds(state[rows], cost[rows], column), len(sample)


def _with_ends(table: NDArray[np.int32], cost: Array, far: int, seeds: Seeds) -> NDArray[np.int32]:
    """The table with ``NO_PATH`` where nothing leads on, and -(2 + set) where destinations hang on the relay itself."""
    hangs = cost[seeds.row, seeds.column] == seeds.cost
    row, column = seeds.row[hangs], seeds.column[hangs]
    ends = -2 - table[row, column]
    table[cost == far] = NO_PATH
    table[row, column] = ends
    return table
