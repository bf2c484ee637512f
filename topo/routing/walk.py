"""Walks: the path of every flow, all flows and samples together, one hop a step."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from topo.errors import ParameterError
from topo.routing.access import flow_ends
from topo.routing.next_hops import NO_PATH, NextHops
from topo.routing.weighted_sets import shares_of, table_entries
from topo.table import Array, ranges

__all__ = ["Choose", "at_random", "lost_mask", "walk"]

_NO_WAY = 1 << 60


class Choose(Protocol):
    """Which of its next hops each flow takes: called once a hop, for all flows that have more than one.

    ``flow`` indexes the flows of the walk, ``node`` is the node row where each choice is made, ``n_hops`` the number
    of next hops there (at least 2), ``hop`` the links crossed so far (0 at the source). Returns integers from 0 to
    ``n_hops - 1``, one a flow. Next hops are ordered by head, then link; access links by link.
    """

    def __call__(
        self, flow: NDArray[np.int64], node: NDArray[np.int64], n_hops: NDArray[np.int64], hop: int
    ) -> NDArray[np.integer]: ...


def at_random(seed: int | np.random.SeedSequence | np.random.Generator) -> Choose:
    """Uniform choices, independent for each flow and node: ECMP with ideal hashes.

    >>> at_random(1)(np.arange(3), np.zeros(3, int), np.array([2, 4, 8]), 0).tolist()
    [0, 2, 6]
    """
    random = np.random.default_rng(seed)

    def choose(flow: Array, node: Array, n_hops: Array, hop: int) -> NDArray[np.int64]:
        draw = random.integers(0, 1 << 32, len(flow), dtype=np.uint32).astype(np.uint64)
        # The high half of a product: uniform up to n / 2^32.
        pick: NDArray[np.int64] = ((draw * n_hops.astype(np.uint64)) >> np.uint64(32)).astype(np.int64)
        return pick

    return choose


def walk(
    next_hops: NextHops, source: ArrayLike, sink: ArrayLike, choose: Choose, *, most_entries: int | None = None
) -> NDArray[np.int64]:
    """Arcs of every flow's path, shape (hops, flows): row h holds the h-th arc, -1 after the end of the path.

    ``source`` and ``sink`` are node rows of endpoints; flows of many samples may stand one after another. A flow
    without a path has -1 in every row (:func:`lost_mask`). At the source the choice is among the access links on a
    shortest path: planes, or both leaves of a dual-homed host. Under LAG a member of the bundle is chosen by a
    second call. Under WCMP the choice is among the entries of a table in which a next hop stands by its weight, next
    to each other: at most ``most_entries`` of them, as in switches, or 2^31 (None), which is exact to rounding.

    >>> import topo
    >>> f = topo.fat_tree(4)
    >>> arcs = walk(NextHops.of(f), f.rows("host-01"), f.rows("host-16"), at_random(0))
    >>> [str(f.nodes.name[f.arc_target[a]]) for a in arcs[:, 0]]
    ['pod-1-leaf-1', 'pod-1-spine-2', 'core-4', 'pod-4-spine-2', 'pod-4-leaf-2', 'host-16']

    :raises ParameterError: a row that is no endpoint, a flow to itself, a sink outside those the next hops are for.
    """
    walker = _Walker(next_hops, source, sink, choose, most_entries)
    return walker.run()


def lost_mask(arcs: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which flows of a walk have no path."""
    lost: NDArray[np.bool_] = np.all(arcs < 0, axis=0)
    return lost


class _Walker:
    """Flows under way: each has a state of the access graph, until it ends or is lost."""

    def __init__(
        self, next_hops: NextHops, source: ArrayLike, sink: ArrayLike, choose: Choose, entries: int | None
    ) -> None:
        self.hops, self.access, self.choose, self.entries = next_hops, next_hops.access, choose, entries
        begin, self.end = flow_ends(self.access, next_hops.fabric, source, sink)
        rows = self.access.endpoints[self.end]
        if len(next_hops.sinks) < len(self.access.endpoints):
            foreign = np.flatnonzero(~np.isin(rows, next_hops.sinks))
            if foreign.size:
                name = str(next_hops.fabric.nodes.name[rows[foreign[0]]])
                raise ParameterError(
                    f"the table leads to {len(next_hops.sinks)} sinks only, {name!r} is not among them"
                )
        self.group = next_hops.group_of[rows]
        self.state = self.access.source_state[begin]
        self.active = np.arange(len(begin))
        self.steps: list[NDArray[np.int64]] = []
        self.lost = np.zeros(len(begin), bool)

    def run(self) -> NDArray[np.int64]:
        n = len(self.end)
        while len(self.active):
            taken = np.full(n, -1, np.int64)
            at_relay = self.state < self.access.n_relays
            parts = ((self._at_relays, at_relay), (self._in_hosts, ~at_relay))
            left = []
            for step, mask in parts:
                if mask.any():
                    where = slice(None) if mask.all() else np.flatnonzero(mask)
                    left.append(step(self.active[where], self.state[where], taken))
            self.steps.append(taken)
            self.active, self.state = _joined(left)
        arcs = np.stack(self.steps) if self.steps else np.empty((0, n), np.int64)
        arcs[:, self.lost] = -1
        return arcs[: int((arcs >= 0).any(axis=1).sum())]

    def _at_relays(self, flow: Array, state: Array, taken: Array) -> tuple[Array, Array]:
        """One hop on from relays; returns the flows that go on, and their states."""
        hops = self.hops
        group = self.group[flow]
        if not hops.n_groups:
            self.lost[flow] = True
            return flow[:0], state[:0]
        code = hops.table[state, group]
        if (group < 0).any():
            code = np.where(group < 0, NO_PATH, code)
        goes = code >= 0
        if goes.all():
            return self._onward(flow, state, code, taken)
        self.lost[flow[code == NO_PATH]] = True
        some, last = np.flatnonzero(goes), np.flatnonzero(code < NO_PATH)
        left = [self._onward(flow[some], state[some], code[some], taken)] if some.size else []
        if last.size:
            left.append(self._inward(flow[last], state[last], -2 - code[last], taken))
        return _joined(left)

    def _onward(self, flow: Array, state: Array, number: Array, taken: Array) -> tuple[Array, Array]:
        """Over the arcs of sets ``number``."""
        first = self.hops.start[number]
        n = self.hops.start[number + 1] - first
        if self.hops.share is None:
            pick = self._pick(flow, state, n)
        else:
            rows, _ = ranges(first, n)
            pick = self._weighed(flow, state, self.hops.share[rows], n)
        arc = self.hops.arc_of(number, pick)
        taken[flow] = self._member(flow, state, arc)
        following = self.hops.head_row[arc]
        return self._arrived(flow, following) if self.access.has_relaying_endpoints else (flow, following)

    def _inward(self, flow: Array, state: Array, number: Array, taken: Array) -> tuple[Array, Array]:
        """From relays that the sink hangs on, or from parts of its host: over the ways in, or sets ``number``."""
        ways = self.access.ways
        at = self.access.way_at(self.end[flow], state)
        first, set_first = ways.start[at], self.hops.start[number]
        n_set, n_ways = self.hops.start[number + 1] - set_first, ways.start[at + 1] - first
        if self.hops.weights is None:
            pick = self._pick(flow, state, n_set + n_ways)
        else:
            pick = self._weighed(flow, state, self._weights_in(flow, set_first, n_set, first, n_ways), n_set + n_ways)
        in_set = pick < n_set
        way = np.where(in_set, 0, first + pick - n_set)
        arc, following = ways.arc[way], ways.next_state[way]
        if in_set.any():
            arc = np.where(in_set, self.hops.arcs[np.where(in_set, set_first + pick, 0)], arc)
            following = np.where(in_set, self.hops.head_row[arc], following)
        taken[flow] = self._member(flow, state, arc)
        return self._arrived(flow, following)

    def _in_hosts(self, flow: Array, state: Array, taken: Array) -> tuple[Array, Array]:
        """One step inside the source's or the sink's host."""
        degree = self.access.out_start[state + 1] - self.access.out_start[state]
        is_in = self.access.is_in[state]
        single = self.access.single_exit[state]
        other = ~(is_in | single)
        left = []
        if is_in.any():
            left.append(self._inward(flow[is_in], state[is_in], np.zeros(int(is_in.sum()), np.int64), taken))
        if single.any():
            mine, first = flow[single], self.access.out_start[state[single]]
            if self.hops.weights is None:
                row = first + self._pick(mine, state[single], degree[single])
            else:
                rows, _ = ranges(first, degree[single])
                weight = self.hops.weights.gbps[self.access.outward.arc[rows]]
                row = first + self._weighed(mine, state[single], weight, degree[single])
            taken[mine] = self._member(mine, state[single], self.access.outward.arc[row])
            left.append(self._arrived(mine, self.access.outward.head[row]))
        if other.any():
            left.append(self._outward(flow[other], state[other], taken))
        return _joined(left)

    def _outward(self, flow: Array, state: Array, taken: Array) -> tuple[Array, Array]:
        """The least way out among several: planes, leaves, neighbours in the host."""
        access = self.access
        rows, owner = ranges(access.out_start[state], access.out_start[state + 1] - access.out_start[state])
        rest = self._rest(flow[owner], access.outward.head[rows])
        whole = np.where(rest < _NO_WAY, rest + access.outward.cost[rows], _NO_WAY)
        best = np.full(len(flow), _NO_WAY, np.int64)
        np.minimum.at(best, owner, whole)
        good = (whole == best[owner]) & (whole < _NO_WAY)
        rows, owner = rows[good], owner[good]
        n = np.bincount(owner, minlength=len(flow))
        self.lost[flow[n == 0]] = True
        first = np.cumsum(n) - n
        goes = np.flatnonzero(n > 0)
        mine, begin = flow[goes], state[goes]
        if self.hops.weights is None:
            pick = self._pick(mine, begin, n[goes])
        else:
            arc, head = access.outward.arc[rows], access.outward.head[rows]
            weight = self.hops.weights.of_states(arc, head, self.group[flow[owner]], self.end[flow[owner]])
            pick = self._weighed(mine, begin, weight, n[goes])
        row = rows[first[goes] + pick]
        taken[mine] = self._member(mine, begin, access.outward.arc[row])
        return self._arrived(mine, access.outward.head[row])

    def _rest(self, flow: Array, state: Array) -> NDArray[np.int64]:
        """Least cost left from each state to the flow's sink."""
        access, n_states = self.access, self.access.n_states
        rest = np.full(len(flow), _NO_WAY, np.int64)
        relay = np.flatnonzero(state < access.n_relays)
        rest[relay] = self._from_relays(flow[relay], state[relay])
        part = np.flatnonzero(state >= access.n_relays)
        if not part.size:
            return rest
        flow, state = flow[part], state[part]
        end = self.end[flow]
        key = end * n_states + state
        known = access.ways.cost_of(key, _NO_WAY)
        through = access.passes[state] & ~access.is_in[state]
        own = through | (state == access.source_state[end])
        known = np.where(own, np.minimum(known, access.inside.cost_of(key, _NO_WAY)), known)
        goes = np.flatnonzero(through)
        rows, owner = ranges(access.exit_start[state[goes]], np.diff(access.exit_start)[state[goes]])
        _, relay, cost = access.exits
        away = self._from_relays(flow[goes][owner], relay[rows])
        np.minimum.at(known, goes[owner], np.where(away < _NO_WAY, away + cost[rows], _NO_WAY))
        rest[part] = known
        return rest

    def _from_relays(self, flow: Array, relay: Array) -> NDArray[np.int64]:
        group = self.group[flow]
        if not self.hops.n_groups:
            return np.full(len(flow), _NO_WAY, np.int64)
        cost = self.hops.cost[relay, group].astype(np.int64)
        return np.where((cost == self.hops.far) | (group < 0), _NO_WAY, cost)

    def _arrived(self, flow: Array, state: Array) -> tuple[Array, Array]:
        """The flows that are not at their sink yet."""
        end = self.end[flow]
        left = np.flatnonzero((state != self.access.sink_state[end]) & (state != self.access.source_state[end]))
        return flow[left], state[left]

    def _weights_in(self, flow: Array, set_first: Array, n_set: Array, first: Array, n_ways: Array) -> Array:
        """Weights of the arcs of a set and then of the ways in, flow by flow."""
        weights = self.hops.weights
        assert weights is not None
        rows, owner = ranges(set_first, n_set)
        ways, of = ranges(first, n_ways)
        arc = self.hops.arcs[rows]
        on = weights.of(arc, self.hops.head_row[arc], self.group[flow[owner]])
        into, end = self.access.ways.next_state[ways], self.end[flow[of]]
        entering = weights.of_states(self.access.ways.arc[ways], into, self.group[flow[of]], end)
        both = np.concatenate([on, entering])
        weight: NDArray[np.float64] = both[np.argsort(np.concatenate([owner, of]), kind="stable")]
        return weight

    def _weighed(self, flow: Array, state: Array, weight: Array, n_hops: Array) -> NDArray[np.int64]:
        """Which of its next hops each flow takes, by weights that stand flow by flow."""
        start = np.concatenate([[0], np.cumsum(n_hops)])
        upto, size = table_entries(shares_of(weight, start), start, self.entries)
        entry = self._pick(flow, state, np.where(n_hops > 1, size, 1))
        base = np.cumsum(size) - size
        place = np.searchsorted(np.repeat(base, n_hops) + upto, base + entry, side="right")
        pick: NDArray[np.int64] = place - start[:-1]
        return pick

    def _pick(self, flow: Array, state: Array, n_hops: Array) -> NDArray[np.int64]:
        several = n_hops > 1
        if several.all():
            return self._asked(flow, state, n_hops)
        pick = np.zeros(len(flow), np.int64)
        if several.any():
            pick[several] = self._asked(flow[several], state[several], n_hops[several])
        return pick

    def _asked(self, flow: Array, state: Array, n_hops: Array) -> NDArray[np.int64]:
        pick = np.asarray(self.choose(flow, self.access.node[state], n_hops, len(self.steps)))
        if pick.shape != n_hops.shape or pick.dtype.kind not in "iu" or (pick < 0).any() or (pick >= n_hops).any():
            raise ParameterError(
                f"choose gave {pick.dtype} values of shape {pick.shape} that are not all whole numbers from 0 to "
                "n_hops - 1, one a flow"
            )
        return pick.astype(np.int64, copy=False)

    def _member(self, flow: Array, state: Array, arc: Array) -> NDArray[np.int64]:
        """The arc itself, or under LAG a member of its bundle."""
        bundles = self.hops.bundles
        if bundles is None:
            return arc
        member: NDArray[np.int64] = bundles.members[bundles.first[arc] + self._pick(flow, state, bundles.size[arc])]
        return member


def _joined(parts: list[tuple[Array, Array]]) -> tuple[Array, Array]:
    if len(parts) == 1:
        return parts[0]
    if not parts:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    return np.concatenate([flow for flow, _ in parts]), np.concatenate([state for _, state in parts])
