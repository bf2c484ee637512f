"""Ways between endpoints and relays: access links, planes, and the parts of an opened host.

A *relay* is a node that forwards everything. What is not a relay forwards nothing, or its own host's traffic only;
so a path leaves its source through parts of the source's host, crosses relays, and enters through parts of the
sink's host. That is kept by counting states instead of nodes: a part has one state on the way out and another on the
way in, and no arc leads from the way in back out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from topo.errors import ParameterError
from topo.fabric import FORWARDS_ALL, Fabric
from topo.network import Network
from topo.routing.arcs import Arcs, positions
from topo.routing.host_states import HostStates, host_states
from topo.routing.relaying import Relaying, find_relaying, passing_parts
from topo.routing.scheme import Routing
from topo.table import Array, check_rows, ranges

__all__ = ["Access", "Costs", "Ways", "end_index", "find_access", "find_states", "flow_ends"]


@dataclass(frozen=True, eq=False)
class Costs:
    """Least costs of pairs (owner, state), by ``key`` = owner * n_states + state, ascending."""

    key: NDArray[np.int64]
    cost: NDArray[np.int64]

    def find(self, key: Array) -> NDArray[np.int64]:
        """Position of each key, -1 where there is none."""
        if not len(self.key):
            return np.full(len(key), -1, np.int64)
        at = np.minimum(np.searchsorted(self.key, key), len(self.key) - 1)
        return np.where(self.key[at] == key, at, -1)

    def cost_of(self, key: Array, otherwise: int) -> NDArray[np.int64]:
        """Cost of each key, ``otherwise`` where there is none."""
        if not len(self.key):
            return np.full(len(key), otherwise, np.int64)
        at = self.find(key)
        return np.where(at >= 0, self.cost[at], otherwise)

    def take(self, rows: Array) -> Costs:
        """Some of them."""
        return Costs(self.key[rows], self.cost[rows])


@dataclass(frozen=True, eq=False)
class Ways(Costs):
    """Next steps of pairs (endpoint, state): pair p goes on over any of ``arc[start[p]:start[p + 1]]``.

    ``next_state`` is where each arc leads.
    """

    start: NDArray[np.int64]
    arc: NDArray[np.int64]
    next_state: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Access:
    """States 0 .. n_relays - 1 are the relays; then come parts on the way out, then parts on the way in.

    ``node[s]`` is the fabric node of state s, ``relay_of[v]`` the relay row of node v (-1). Endpoint e (index into
    ``endpoints``) starts in state ``source_state[e]`` and is reached in ``sink_state[e]``, or, from inside its own
    host, in ``source_state[e]``; ``end_of[v]`` is the endpoint index of node v (-1). ``core`` joins relays;
    ``outward`` leaves the states on the way out, sorted by tail, state s from ``out_start[s]``; through a state
    that does not ``passes``, nothing goes but its own traffic. ``ways`` are the steps of pairs on the way in, from
    relays on; ``inside`` the costs of ways that never meet a relay (within one host, or back to back);
    ``exits`` the relays that states on the way out reach, with least cost, as (state, relay, cost) sorted.
    ``copy_key`` tells the copies of switch chips, the last states, apart: see :class:`HostStates`.
    """

    endpoints: NDArray[np.int64]
    end_of: NDArray[np.int64]
    relays: NDArray[np.int64]
    relay_of: NDArray[np.int64]
    node: NDArray[np.int64]
    source_state: NDArray[np.int64]
    sink_state: NDArray[np.int64]
    passes: NDArray[np.bool_]
    is_in: NDArray[np.bool_]
    core: Arcs
    outward: Arcs
    out_start: NDArray[np.int64]
    ways: Ways
    inside: Costs
    exits: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]
    exit_start: NDArray[np.int64]
    copy_key: NDArray[np.int64]

    @property
    def n_relays(self) -> int:
        """Nodes that forward everything."""
        return len(self.relays)

    @property
    def n_states(self) -> int:
        """Relays and states of parts."""
        return len(self.node)

    @cached_property
    def single_exit(self) -> NDArray[np.bool_]:
        """States on the way out whose arcs all enter one and the same relay, at one cost."""
        degree = np.diff(self.out_start)
        relay = np.append(np.where(self.outward.head < self.n_relays, self.outward.head, -1), -1)
        first = np.where(degree > 0, relay[np.minimum(self.out_start[:-1], len(relay) - 1)], -1)
        cheapest = self.outward.cost[np.minimum(self.out_start[self.outward.tail], len(relay) - 2)]
        other = np.flatnonzero((relay[:-1] != first[self.outward.tail]) | (self.outward.cost != cheapest))
        single: NDArray[np.bool_] = first >= 0
        single[self.outward.tail[other]] = False
        return single

    @cached_property
    def _single_way(self) -> NDArray[np.int64] | None:
        """Where each endpoint's only pair with steps is, if none has more than one."""
        pairs = np.flatnonzero(np.diff(self.ways.start) > 0)
        end = self.ways.key[pairs] // max(self.n_states, 1)
        if not len(end) or (np.diff(end) == 0).any():
            return None
        first = np.zeros(len(self.endpoints), np.int64)
        first[end] = pairs
        return first

    @cached_property
    def has_relaying_endpoints(self) -> bool:
        """Whether some endpoints forward everything, as in tori."""
        return bool((self.source_state < self.n_relays).any())

    def way_at(self, end: Array, state: Array) -> NDArray[np.int64]:
        """Positions in ``ways`` of pairs that are there."""
        if self._single_way is not None:
            return self._single_way[end]
        return self.ways.find(end * self.n_states + state)


def end_index(access: Access, fabric: Fabric, name: str, rows: ArrayLike) -> NDArray[np.int64]:
    """Positions of node rows among the endpoints; ``name`` is what the caller calls them.

    :raises ParameterError: a row that is no endpoint.
    """
    array = np.asarray(rows).ravel()
    nodes = check_rows(array if array.size else array.astype(np.int64), len(fabric.nodes), "nodes")
    index = access.end_of[nodes]
    other = np.flatnonzero(index < 0)
    if other.size:
        raise ParameterError(
            f"{name}: {str(fabric.nodes.name[nodes[other[0]]])!r} is no endpoint of {fabric.name!r}; "
            "traffic starts and ends at endpoints"
        )
    return index


def flow_ends(
    access: Access, fabric: Fabric, source: ArrayLike, sink: ArrayLike
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Positions of the sources and sinks of flows, given as node rows, among the endpoints.

    :raises ParameterError: a row that is no endpoint, a flow to itself, or unequal numbers.
    """
    begin, end = end_index(access, fabric, "source", source), end_index(access, fabric, "sink", sink)
    if len(begin) != len(end):
        raise ParameterError(f"{len(begin)} sources and {len(end)} sinks; each flow needs both")
    itself = np.flatnonzero(begin == end)
    if itself.size:
        node = access.endpoints[begin[itself[0]]]
        raise ParameterError(f"flow {itself[0]} goes from {str(fabric.nodes.name[node])!r} to itself; leave it out")
    return begin, end


def find_access(network: Network, arcs: Arcs, routing: Routing) -> Access:
    """The ways between endpoints and relays over some arcs; accelerators relay for others as ``routing.pxn`` says."""
    plan = find_states(network, arcs, routing)
    full = network.fabric.nodes.forwards == FORWARDS_ALL
    relays = np.flatnonzero(full)
    n_parts = plan.n_parts
    relay_of = positions(len(full), relays)
    part_of = positions(len(full), plan.node[len(relays) : len(relays) + n_parts])
    core = arcs.take(full[arcs.tail] & full[arcs.head])
    core = Arcs(relay_of[core.tail], relay_of[core.head], core.arc, core.cost)
    ends = network.fabric.endpoints
    source = np.where(full[ends], relay_of[ends], len(relays) + part_of[ends])
    sink = np.where(full[ends], relay_of[ends], len(relays) + n_parts + part_of[ends])
    return _assembled(ends, relays, relay_of, plan, source, sink, core)


def find_states(network: Network, arcs: Arcs, routing: Routing) -> HostStates:
    """States of the parts of hosts, and the arcs between states at their costs, those between relays left out."""
    nodes = network.fabric.nodes
    full = nodes.forwards == FORWARDS_ALL
    own = passing_parts(network, routing)
    relays = np.flatnonzero(full)
    parts = np.flatnonzero(~full & (nodes.is_endpoint | own))
    relay_of, part_of = positions(len(nodes), relays), positions(len(nodes), parts)
    plan = host_states(network, arcs, full, own, parts, part_of, relay_of, len(relays))
    return _dear_relays(plan, find_relaying(network, routing), len(relays), len(parts))


def _dear_relays(plan: HostStates, found: Relaying, n_relays: int, n_parts: int) -> HostStates:
    """The arcs with what it costs besides to leave accelerators."""
    tail = plan.edges.tail
    is_part = (tail >= n_relays) & (tail < n_relays + 2 * n_parts) & found.accelerators[plan.node[tail]]
    more = np.where(is_part, np.where(plan.is_out[tail], found.out, found.into), 0)
    return plan._replace(edges=plan.edges._replace(cost=plan.edges.cost + more))


def _assembled(
    ends: Array, relays: Array, relay_of: Array, plan: HostStates, source: Array, sink: Array, core: Arcs
) -> Access:
    n_states, is_relay = len(plan.node), np.arange(len(plan.node)) < len(relays)
    is_in = ~plan.is_out & ~is_relay
    back = _Backward.of(plan.edges, n_states)
    # Towards each endpoint through its host; states on the way out end it, as relays do.
    free = np.zeros(len(ends), np.int64)
    inward = _closure(back, np.arange(len(ends)), sink, free, lambda owner, state: is_in[state])
    direct = plan.is_out[inward.key % n_states]
    exits = _exits(back, plan, is_relay)
    outward = plan.edges.take(np.flatnonzero(plan.is_out[plan.edges.tail]))
    outward = outward.take(np.lexsort((outward.arc, outward.head, outward.tail)))
    return Access(
        endpoints=ends,
        end_of=positions(len(relay_of), ends),
        relays=relays,
        relay_of=relay_of,
        node=plan.node,
        source_state=source,
        sink_state=sink,
        passes=plan.passes,
        is_in=is_in,
        core=core,
        outward=outward,
        out_start=np.searchsorted(outward.tail, np.arange(n_states + 1)),
        ways=_ways(back, inward.take(np.flatnonzero(~direct)), is_in),
        inside=_inside(back, plan, source, np.flatnonzero(~is_relay[source]), inward.take(np.flatnonzero(direct))),
        exits=exits,
        exit_start=np.searchsorted(exits[0], np.arange(n_states + 1)),
        copy_key=plan.copy_key,
    )


def _inside(back: _Backward, plan: HostStates, source: Array, own: Array, direct: Costs) -> Costs:
    """Ways that stay on the way out: to endpoints ``own`` from their host, and back to back from other hosts."""
    return _closure(
        back,
        np.concatenate([own, direct.key // back.n_states]),
        np.concatenate([source[own], direct.key % back.n_states]),
        np.concatenate([np.zeros(len(own), np.int64), direct.cost]),
        lambda owner, state: plan.is_out[state] & (plan.passes[state] | (state == source[owner])),
    )


def _exits(back: _Backward, plan: HostStates, is_relay: Array) -> tuple[Array, Array, Array]:
    """(state, relay, cost), sorted: what states on the way out reach through parts of their host."""
    relays = np.flatnonzero(is_relay)
    found = _closure(
        back,
        relays,
        relays,
        np.zeros(len(relays), np.int64),
        lambda owner, state: is_relay[state] | (plan.is_out[state] & plan.passes[state]),
    )
    found = found.take(np.flatnonzero(plan.is_out[found.key % back.n_states]))
    relay, state = found.key // back.n_states, found.key % back.n_states
    order = np.lexsort((relay, state))
    return state[order], relay[order], found.cost[order]


class _Backward(NamedTuple):
    """Arcs between states by head: those into state s are rows ``start[s]`` to ``start[s + 1]``."""

    edges: Arcs
    start: Array
    n_states: int

    @classmethod
    def of(cls, edges: Arcs, n_states: int) -> _Backward:
        by_head = edges.take(np.argsort(edges.head, kind="stable"))
        return cls(by_head, np.searchsorted(by_head.head, np.arange(n_states + 1)), n_states)

    def into(self, state: Array) -> tuple[Array, Array]:
        """Arcs into each state, and which of the given states each belongs to."""
        return ranges(self.start[state], self.start[state + 1] - self.start[state])


def _closure(
    back: _Backward, owner: Array, state: Array, cost: Array, expands: Callable[[Array, Array], Array]
) -> Costs:
    """Least cost from states to owners, going backward through the pairs that ``expands`` says to."""
    found = _least(owner * back.n_states + state, cost)
    fresh = found
    while len(fresh.key):
        owner, state = fresh.key // back.n_states, fresh.key % back.n_states
        goes = np.flatnonzero(expands(owner, state))
        rows, origin = back.into(state[goes])
        key = owner[goes][origin] * back.n_states + back.edges.tail[rows]
        reached = _least(key, fresh.cost[goes][origin] + back.edges.cost[rows])
        before = found.cost_of(reached.key, np.iinfo(np.int64).max)
        fresh = reached.take(np.flatnonzero(reached.cost < before))
        if len(fresh.key):
            found = _least(np.concatenate([found.key, fresh.key]), np.concatenate([found.cost, fresh.cost]))
    return found


def _least(key: Array, cost: Array) -> Costs:
    order = np.lexsort((cost, key))
    key, cost = key[order], cost[order]
    first = np.ones(len(key), bool)
    first[1:] = key[1:] != key[:-1]
    return Costs(key[first], cost[first])


def _ways(back: _Backward, pairs: Costs, is_in: Array) -> Ways:
    """The arcs on least-cost ways of pairs, from pairs on."""
    n = back.n_states
    owner, state = pairs.key // n, pairs.key % n
    goes = np.flatnonzero(is_in[state])
    rows, origin = back.into(state[goes])
    at = pairs.find(owner[goes][origin] * n + back.edges.tail[rows])
    least = (at >= 0) & (pairs.cost[at] == pairs.cost[goes][origin] + back.edges.cost[rows])
    at, rows = at[least], rows[least]
    arc, following = back.edges.arc[rows], back.edges.head[rows]
    order = np.lexsort((arc, following, at))
    start = np.searchsorted(at[order], np.arange(len(pairs.key) + 1))
    return Ways(pairs.key, pairs.cost, start, arc[order], following[order])
