"""Path-aware weights where hosts are opened: factors on arcs into relays and into parts of hosts, by destination.

Everything is counted in states (see :class:`~topo.routing.access.Access`): towards its sink a state is worth what it
can send on, over what could come into it in the fabric as built, at most 1. Sinks towards which all relays are worth
the same are of one kind; a column is kept for each kind, and where a sink differs from its kind, in its own host.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from topo.routing.access import Access, find_states
from topo.routing.arcs import close_code, network_arcs, positions
from topo.routing.favour import filling, senders
from topo.routing.host_states import HostStates
from topo.routing.kernel import Graph, arrivals, descend
from topo.routing.relaying import find_relaying
from topo.routing.weights import LinkWeights
from topo.table import Array

__all__ = ["PartPull", "is_opened", "part_pull"]

_CELLS = 4_000_000


class PartPull(NamedTuple):
    """Endpoint e as a sink is of kind ``kind_of[e]`` (-1: not asked); ``table[state, kind]`` are the factors.

    Exceptions are ``odd`` (sorted end * states + state) with their ``odd_pull``.
    """

    kind_of: NDArray[np.int64]
    table: NDArray[np.float64]
    odd: NDArray[np.int64]
    odd_pull: NDArray[np.float64]

    def of(self, state: Array, end: Array) -> NDArray[np.float64]:
        """Factors of states towards sinks (endpoint indices)."""
        pull: NDArray[np.float64] = self.table[state, self.kind_of[end]]
        if len(self.odd):
            key = end * len(self.table) + state
            at = np.minimum(np.searchsorted(self.odd, key), len(self.odd) - 1)
            pull = np.where(self.odd[at] == key, self.odd_pull[at], pull)
        return pull


def is_opened(access: Access) -> bool:
    """Whether paths go on inside hosts: some endpoint hangs on another part of its host."""
    return bool((access.outward.head >= access.n_relays).any() or (np.diff(access.ways.start) > 0)[
        access.is_in[access.ways.key % max(access.n_states, 1)]
    ].any())  # fmt: skip


def part_pull(weights: LinkWeights, access: Access, wanted: Array) -> PartPull:
    """Factors towards the endpoints ``wanted`` (indices)."""
    plan = _built_states(weights)
    now, built = _graphs(weights, plan, access.n_relays)
    is_in = ~plan.is_out & (np.arange(len(plan.node)) >= access.n_relays)
    to_plan = _places(access, plan)
    seeds = _seeds(access, wanted)
    n_states, n_relays = access.n_states, access.n_relays
    kinds: dict[bytes, int] = {}
    kind_of = np.full(len(access.endpoints), -1, np.int64)
    columns: list[NDArray[np.float64]] = []
    odd, odd_pull = [np.empty(0, np.int64)], [np.empty(0)]
    step = int(np.clip(_CELLS // max(now.n, 1), 8, 256))
    for low in range(0, len(wanted), step):
        ends = wanted[low : low + step]
        a, b = np.searchsorted(seeds[1], [low, low + len(ends)])
        pull = _favours(now, built, is_in, (seeds[0][a:b], seeds[1][a:b] - low, len(ends)))[to_plan]
        codes = close_code(np.ascontiguousarray(pull[:n_relays].T))
        for end, code, column in zip(ends.tolist(), codes, pull.T, strict=True):
            kind = kinds.setdefault(code.tobytes(), len(columns))
            kind_of[end] = kind
            if kind == len(columns):
                columns.append(column.copy())
                continue
            other = np.flatnonzero(np.abs(column - columns[kind]) > 1e-12 * column)
            odd.append(end * n_states + other)
            odd_pull.append(column[other])
    table = np.stack(columns, axis=1) if columns else np.ones((n_states, 0))
    return PartPull(kind_of, table, np.concatenate(odd), np.concatenate(odd_pull))


def _favours(now: Graph, built: Graph, is_in: Array, seeds: tuple[Array, Array, int]) -> NDArray[np.float64]:
    """What each state can send on towards each sink, over what could come in as built: at most 1, (states, sinks)."""
    found = descend(built, *seeds)
    room = arrivals(found, senders(found, is_in), built.steps)
    settled = descend(now, *seeds, favour=filling(room)).favour
    assert settled is not None
    return settled


def _built_states(weights: LinkWeights) -> HostStates:
    """States of the fabric as built."""
    network = weights.network
    return find_states(network, network_arcs(network, find_relaying(network, weights.routing).costs), weights.routing)


def _graphs(weights: LinkWeights, plan: HostStates, n_relays: int) -> tuple[Graph, Graph]:
    """All arcs between states, relays too: now, and as built."""
    network, routing = weights.network, weights.routing
    nodes = network.fabric.nodes
    relay_of = positions(len(nodes), plan.node[:n_relays])
    arcs = network_arcs(network, find_relaying(network, routing).costs)
    core = arcs.take(np.flatnonzero((relay_of[arcs.tail] >= 0) & (relay_of[arcs.head] >= 0)))
    tail = np.concatenate([relay_of[core.tail], plan.edges.tail])
    head = np.concatenate([relay_of[core.head], plan.edges.head])
    arc = np.concatenate([core.arc, plan.edges.arc])
    cost = np.concatenate([core.cost, plan.edges.cost])
    is_relay = np.arange(len(plan.node)) < n_relays
    tier = nodes.tier.astype(np.int64)[plan.node]
    climb = np.where(
        ~plan.is_out[head] & ~is_relay[head], -1, np.where(plan.is_out[tail], 1, np.sign(tier[head] - tier[tail]))
    )
    link = np.full(len(network.fabric.links), -1, np.int64)
    link[network.links] = np.arange(len(network.links))

    def graph(rates: Array) -> Graph:
        weight = rates[link[arc // 2]]
        used = weight > 0
        if routing.up_down:
            used &= climb != 0
        at = np.flatnonzero(used)
        at = at[np.lexsort((head[at], tail[at]))]
        up = climb[at] > 0 if routing.up_down else None
        return Graph(len(plan.node), tail[at], head[at], cost[at], weight[at], plan.passes.astype(float), up)

    return graph(weights.gbps), graph(weights.built_gbps)


def _places(access: Access, plan: HostStates) -> NDArray[np.int64]:
    """State of the built fabric for each state that is there now: copies of chips may be fewer now."""
    before = access.n_relays + 2 * plan.n_parts
    copy = before + np.searchsorted(plan.copy_key, access.copy_key)
    return np.concatenate([np.arange(before), copy, copy + len(plan.copy_key)])


def _seeds(access: Access, wanted: Array) -> tuple[Array, Array]:
    """Where sinks are reached, sorted by column: in their sink state, and from inside their own host on the way out.

    An endpoint on one relay alone is met on the way in only, and sends into its relay like others.
    """
    sink, source = access.sink_state[wanted], access.source_state[wanted]
    column = np.arange(len(wanted))
    also = (source != sink) & ~access.single_exit[source]
    row = np.concatenate([sink, source[also]])
    column = np.concatenate([column, column[also]])
    order = np.argsort(column, kind="stable")
    return row[order], column[order]
