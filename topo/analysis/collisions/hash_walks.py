"""Walks of even traffic through a fabric whose switches share hashes, in every joint case of their values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from topo.errors import ParameterError
from topo.fabric import FORWARDS_ALL, Fabric, State
from topo.hashing.atoms import HashAtoms, SharedHashes, hash_atoms
from topo.hashing.scheme import EcmpHash
from topo.result import Standing
from topo.routing.loads import link_loads
from topo.routing.next_hops import NO_PATH, NextHops
from topo.routing.scheme import Routing
from topo.routing.weighted_sets import table_entries
from topo.table import ranges
from topo.traffic.demand import Demand

__all__ = ["Choices", "HashWalks", "Walked"]

_MOST_WALKS = 1 << 19
_CHUNK = 1 << 19
_FEW_WALKS = 1 << 16
_FEW_ATOMS = 64
_INDEPENDENT = Standing("model", "mixing hashes with seeds of their own are taken as uniform and independent")


@dataclass(frozen=True, eq=False)
class Choices:
    """A row for each choice ever made by flows that came to a fork by the same arc.

    The arc ``taken``, how many ``next_hops`` there were, how many ``flows`` took it, and how many of the next hops
    such flows ever ``reached``.
    """

    taken: NDArray[np.int64]
    next_hops: NDArray[np.int64]
    flows: NDArray[np.int64]
    reached: NDArray[np.int64]

    def means(self, arcs: NDArray[np.bool_]) -> tuple[float, float]:
        """Next hops and reached next hops of a flow at the forks whose choice is among some arcs (a mask); or 0."""
        mine = arcs[self.taken]
        flows = self.flows[mine].astype(float)
        if not flows.size:
            return 0.0, 0.0
        return float(self.next_hops[mine] @ flows / flows.sum()), float(self.reached[mine] @ flows / flows.sum())


@dataclass(frozen=True, eq=False)
class Walked:
    """What walks under one hash gave, and what independent hashes give to hold against it.

    ``share`` is the share of the traffic on every arc, ``even`` that of an even split. Where ``share`` is sampled,
    ``even`` and ``by_chance`` come from as many random walks, so that both carry the same chance.
    """

    share: NDArray[np.float64]
    even: NDArray[np.float64]
    choices: Choices
    by_chance: Choices
    standing: Standing


class HashWalks:
    """A fabric with every pair of groups of endpoints, the relays they enter at, and their loads by an even split."""

    def __init__(
        self, fabric: Fabric, routing: Routing, state: State | None, varying: Mapping[str, int] | None, seed: int
    ) -> None:
        if routing.lag:
            raise ParameterError("polarization counts every parallel link as a next hop; give a routing without LAG")
        self.fabric, self.varying, self.seed = fabric, varying, seed
        self.hops = NextHops.of(fabric, state=state, routing=routing)
        group = self.hops.group_of[fabric.endpoints]
        known, first = np.unique(group, return_index=True)
        ends = fabric.endpoints[first[known >= 0]]
        if len(ends) < 2:
            raise ParameterError(
                f"{fabric.name!r} has {len(ends)} leaf or group of endpoints behind switches; hashing needs two"
            )
        source, sink, self.is_whole = _pairs(ends)
        self.n_pairs = len(source)
        self._enter(source, sink)
        self._list_forks()
        demand = Demand.of(fabric, "even between groups", source=source, sink=sink, gbps=1.0)
        even = link_loads(fabric, demand, routing=routing, state=state)
        self.even, self.capacity_gbps = even.arc_gbps / self.n_pairs, even.capacity_gbps
        relay = fabric.nodes.forwards == FORWARDS_ALL
        between = relay[fabric.arc_source] & relay[fabric.arc_target]
        self.available = np.flatnonzero(between & (self.even > 0) & (self.capacity_gbps > 0))
        if not self.available.size:
            raise ParameterError(f"no path of {fabric.name!r} crosses a link between switches")

    def _enter(self, begin: NDArray[np.int64], end: NDArray[np.int64]) -> None:
        """Where the traffic of each pair enters: the source group's own relays on a shortest path.

        Evenly, or by the weights of the source's links to them.
        """
        hops = self.hops
        source, sink = hops.group_of[begin], hops.group_of[end]
        cost = hops.cost.astype(np.int64)
        relay, group = np.nonzero(hops.table < NO_PATH)
        order = np.argsort(group, kind="stable")
        relay, count = relay[order], np.bincount(group, minlength=hops.n_groups)
        start = np.cumsum(count) - count
        at, pair = ranges(start[source], count[source])
        relay = relay[at]
        total = cost[relay, source[pair]] + cost[relay, sink[pair]]
        total[hops.table[relay, sink[pair]] == NO_PATH] = np.iinfo(np.int64).max
        least = np.full(len(source), np.iinfo(np.int64).max)
        np.minimum.at(least, pair, total)
        best = (total == least[pair]) & (total < np.iinfo(np.int64).max)
        self.pair, self.relay = pair[best], relay[best]
        self.group = sink[self.pair]
        self.enters_evenly = False
        part = self._link_weights(begin, end) if hops.weights is not None else np.ones(len(self.pair))
        total = np.bincount(self.pair, weights=part, minlength=len(source))
        self.weight = part / total[self.pair] / len(source)

    def _link_weights(self, begin: NDArray[np.int64], end: NDArray[np.int64]) -> NDArray[np.float64]:
        """What the source's links into each relay weigh; 1 each where hosts are opened, whose parts choose before."""
        access, weights = self.hops.access, self.hops.weights
        assert weights is not None
        state = access.source_state[access.end_of[begin[self.pair]]]
        rows, owner = ranges(access.out_start[state], access.out_start[state + 1] - access.out_start[state])
        mine = access.outward.head[rows] == self.relay[owner]
        rows, owner = rows[mine], owner[mine]
        arc, sink = access.outward.arc[rows], access.end_of[end[self.pair[owner]]]
        weight = weights.of_states(arc, self.relay[owner], self.group[owner], sink)
        part = np.bincount(owner, weights=weight, minlength=len(self.pair))
        none = np.bincount(self.pair, weights=part, minlength=len(begin)) == 0
        self.enters_evenly = bool(none[self.pair].any())
        return np.asarray(np.where(none[self.pair], 1.0, part))

    def _list_forks(self) -> None:
        """Switches that fork, with the sets of next hops each has; the most next hops of each tier."""
        hops = self.hops
        self.set_size = np.diff(hops.start)
        self.number = np.full(len(hops.relays), -1, np.int64)
        self.forks: list[NDArray[np.int64]] = []
        for row, line in enumerate(hops.table):
            code = np.unique(line)
            code = code[code >= 0]
            if self.set_size[code].max(initial=0) > 1:
                self.number[row] = len(self.forks)
                self.forks.append(code[self.set_size[code] > 1])
        self.switches = hops.relays[self.number >= 0]
        tier = np.maximum(self.fabric.nodes.tier[self.switches].astype(np.int64), 1)
        most = np.array([self.set_size[code].max() for code in self.forks], np.int64)
        self.typical = tuple(int(most[tier == t].max(initial=1)) for t in range(1, int(tier.max(initial=1)) + 1))

    def under(self, scheme: EcmpHash) -> Walked:
        """The walks under a hash."""
        at, rows = scheme.at_switches(self.fabric), self.switches
        shared = SharedHashes.of(scheme, at.function[rows], at.seed[rows], at.offset[rows])
        self.tables = _Tables.of(self.hops, scheme)
        if self.tables.upto is not None:
            self.even = self._pushed()
        if shared.is_independent and all(secret is not None for _, secret in shared.names):
            return self._evenly(_Tally(self, shared, None, self._few()), _INDEPENDENT)
        atoms = hash_atoms(
            shared,
            [self.tables.size[code] for code in self.forks],
            varying=self.varying,
            samples=1 << 14,
            seed=self.seed,
        )
        if atoms.is_product:
            tally = _Tally(self, shared, None, self._few())
            if not tally.meets_twice:
                return self._evenly(tally, atoms.standing)
        n_atoms = len(atoms.weights)
        each = n_atoms if n_atoms <= _FEW_ATOMS else min(n_atoms, max(1, _MOST_WALKS // len(self.pair)))
        tally = _Tally(self, shared, atoms, each)
        choices = tally.choices()
        standing, even, by_chance = atoms.standing, self.even, replace(choices, reached=choices.next_hops)
        if not self.is_whole or each < n_atoms:
            how = f"{self.n_pairs:,} pairs of groups, {each:,} of {n_atoms:,} cases each, seed {self.seed}"
            standing = Standing("sampled", how)
        if each < n_atoms or atoms.standing.kind == "sampled":
            chance = _Tally(self, shared, None, each)
            even, by_chance = chance.load, chance.choices()
        return Walked(tally.load, even, choices, by_chance, standing)

    def _pushed(self) -> NDArray[np.float64]:
        """Share of the traffic on every arc where each flow takes an entry of every table evenly, from far to near."""
        hops = self.hops
        share = self.tables.shares(hops)
        load = np.zeros(2 * len(self.fabric.links))
        held = np.zeros(hops.table.shape)
        np.add.at(held, (self.relay, self.group), self.weight)
        cost = hops.cost.astype(np.int64)
        for level in np.unique(cost)[::-1].tolist():
            relay, group = np.nonzero((cost == level) & (held > 0) & (hops.table >= 0))
            code = hops.table[relay, group].astype(np.int64)
            rows, owner = ranges(hops.start[code], self.set_size[code])
            part = held[relay, group][owner] * share[rows]
            load += np.bincount(hops.arcs[rows], weights=part, minlength=len(load))
            np.add.at(held, (hops.head_row[hops.arcs[rows]], group[owner]), part)
        return load

    def _few(self) -> int:
        """Walks a pair where they only have to find the forks."""
        return min(64, max(1, _FEW_WALKS // len(self.pair)))

    def _evenly(self, tally: _Tally, standing: Standing) -> Walked:
        choices = tally.choices()
        choices = replace(choices, reached=choices.next_hops)
        return Walked(self.even, self.even, choices, choices, standing)


@dataclass(frozen=True, eq=False)
class _Tables:
    """Entries of every set of next hops, as many as next hops or, where they stand by weight, ``size`` with ``upto``.

    Next hop j of a set has the entries below ``upto[j]`` that none before it has.
    """

    size: NDArray[np.int64]
    upto: NDArray[np.int64] | None

    @classmethod
    def of(cls, hops: NextHops, scheme: EcmpHash) -> _Tables:
        if hops.share is None:
            return cls(np.asarray(np.diff(hops.start)), None)
        upto, size = table_entries(hops.share, hops.start, scheme.most_entries)
        return cls(size, upto)

    def shares(self, hops: NextHops) -> NDArray[np.float64]:
        """Part of a set's entries that each of its next hops has."""
        assert self.upto is not None
        first = np.zeros(len(self.upto), bool)
        first[hops.start[:-1][np.diff(hops.start) > 0]] = True
        before = np.where(first, 0, np.append(0, self.upto[:-1]))
        return np.asarray((self.upto - before) / np.repeat(self.size, np.diff(hops.start)))

    def place(self, hops: NextHops, code: NDArray[np.int64], entry: NDArray[np.int64]) -> NDArray[np.int64]:
        """Next hop that each entry of a set stands for."""
        if self.upto is None:
            return entry
        n = np.diff(hops.start)[code]
        rows, _ = ranges(hops.start[code], n)
        base = np.cumsum(self.size[code]) - self.size[code]
        at = np.searchsorted(np.repeat(base, n) + self.upto[rows], base + entry, side="right")
        return np.asarray(at - (np.cumsum(n) - n))


def _pairs(ends: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64], bool]:
    """All ordered pairs, or as many whole shifts of the ends as there is time for."""
    n = len(ends)
    shifts = np.arange(1, n)
    most = max(1, _MOST_WALKS // (16 * n))
    if len(shifts) > most:
        golden = (np.arange(1, most + 1) * 0.6180339887498949) % 1.0
        shifts = np.unique(1 + (golden * (n - 1)).astype(np.int64))
    at = np.arange(n)
    sink = ends[(at[None, :] + shifts[:, None]) % n].ravel()
    return np.tile(ends, len(shifts)), sink, len(shifts) == n - 1


class _Tally:
    """Loads of arcs and choices after each arc, summed over chunks of walks; at random where there are no atoms."""

    def __init__(self, walks: HashWalks, shared: SharedHashes, atoms: HashAtoms | None, each: int) -> None:
        self.walks, self.shared, self.atoms = walks, shared, atoms
        self.n_arcs = 2 * len(walks.fabric.links)
        self.load = np.zeros(self.n_arcs)
        self.seen: list[NDArray[np.int64]] = []
        self.views, self.meets_twice = shared.views, False
        self.random = np.random.default_rng(walks.seed)
        order = self.random.permutation(1 if atoms is None else len(atoms.weights))
        share = 1 / each if atoms is None else len(order) / each
        n_ends = len(np.unique(walks.group))
        step = max(1, _CHUNK // each)
        for start in range(0, len(walks.pair), step):
            entry = np.repeat(np.arange(start, min(start + step, len(walks.pair))), each)
            # The cases run on from source to source and from shift to shift, so that every source meets all.
            shift, source = np.divmod(walks.pair[entry], n_ends)
            place = (shift + source) * each + np.tile(np.arange(each), len(entry) // each)
            atom = order[place % len(order)]
            weight = walks.weight[entry] * share * (1.0 if atoms is None else atoms.weights[atom])
            self._walk(entry, atom, weight)

    def _walk(self, entry: NDArray[np.int64], atom: NDArray[np.int64], weight: NDArray[np.float64]) -> None:
        walks, hops = self.walks, self.walks.hops
        group, at = walks.group[entry], walks.relay[entry]
        before = self.n_arcs + at
        flow = np.arange(len(entry))
        met: list[NDArray[np.int64]] = []
        while flow.size:
            code = hops.table[at, group[flow]].astype(np.int64)
            on = np.flatnonzero(code >= 0)
            flow, at, before, code = flow[on], at[on], before[on], code[on]
            n = walks.tables.size[code]
            chosen = np.zeros(len(flow), np.int64)
            fork = np.flatnonzero(walks.set_size[code] > 1)
            switch = walks.number[at[fork]]
            if self.atoms is None:
                chosen[fork] = self.random.integers(0, n[fork])
                met.append(flow[fork] * len(self.views) + self.views[switch])
            else:
                chosen[fork] = self.shared.choose(self.atoms, switch, atom[flow[fork]], n[fork])
            chosen[fork] = walks.tables.place(hops, code[fork], chosen[fork])
            self.seen.append(self._counted(before[fork], code[fork], chosen[fork], np.ones(len(fork), np.int64)))
            before = hops.arcs[hops.start[code] + chosen]
            self.load += np.bincount(before, weights=weight[flow], minlength=self.n_arcs)
            at = hops.row_of[walks.fabric.arc_target[before]]
        if met and not self.meets_twice:
            every = np.concatenate(met)
            self.meets_twice = len(np.unique(every)) < len(every)

    def _counted(self, *columns: NDArray[np.int64]) -> NDArray[np.int64]:
        """Distinct (arc before, set of next hops, choice) with how often each occurred, (4, rows)."""
        before, code, chosen, times = columns
        widest, n_sets = int(self.walks.set_size.max(initial=1)), len(self.walks.set_size)
        distinct, inverse = np.unique((before * n_sets + code) * widest + chosen, return_inverse=True)
        together = np.bincount(inverse.ravel(), weights=times, minlength=len(distinct)).astype(np.int64)
        key, choice = np.divmod(distinct, widest)
        return np.stack([key // n_sets, key % n_sets, choice, together])

    def choices(self) -> Choices:
        """Every choice made, with what was reached after the same arc."""
        hops = self.walks.hops
        before, code, chosen, times = self._counted(*np.concatenate([np.empty((4, 0), np.int64), *self.seen], axis=1))
        _, inverse = np.unique(before * len(self.walks.set_size) + code, return_inverse=True)
        reached = np.bincount(inverse.ravel(), minlength=1)[inverse.ravel()]
        return Choices(hops.arcs[hops.start[code] + chosen], self.walks.set_size[code], times, reached)
