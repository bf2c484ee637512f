"""One path a flow: how long a phase takes where switches hash flows or forward by table, draw by draw."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from topo.analysis.collectives.conditions import Conditions
from topo.analysis.collectives.flows import islands
from topo.analysis.collectives.phase import Phase
from topo.fabric import Fabric
from topo.routing.fair import max_min_rates
from topo.routing.loads import link_loads
from topo.routing.next_hops import NextHops
from topo.routing.stripes import Stripes
from topo.routing.tables import StaticTable
from topo.table import Array
from topo.traffic.demand import Demand

__all__ = ["walked_seconds"]

_SLOTS = 4_000_000


def walked_seconds(fabric: Fabric, phase: Phase, under: Conditions, most: float, line: float) -> NDArray[np.float64]:
    """Largest load over capacity, or ports' time over the mean share, of every draw (of one, where none matters).

    ``most`` gigabits leave or enter the endpoint whose port, of rate ``line``, is fullest. Nothing is hashed onto a
    link inside a scale-up domain: accelerators stripe what they send over all of theirs, so flows that stay inside
    divide evenly, and those that pass through take the links beside each other as one (:class:`Stripes`).
    """
    stripes = Stripes.of(fabric)
    inside, outside = _sorted_flows(fabric, phase)
    fixed = _inner_loads(fabric, inside, under, stripes)
    capacity = stripes.capacity(under.capacity_gbps)
    if not len(outside[0]):
        return np.array([_longest(fixed, capacity, under)])
    own = _Flows.of(fabric, outside, under, stripes)
    beside = None if under.others is None else _Flows.of(fabric, under.others.pairs(), under, stripes)
    n = under.samples if under.is_drawn else 1
    batch = max(1, min(n, _SLOTS // max(len(capacity), 6 * len(own.source), 1)))
    seeds = np.random.SeedSequence(under.seed).spawn(-(-n // batch))
    out = []
    for i, seed in enumerate(seeds):
        many = min(batch, n - i * batch)
        # Own and other flows draw from streams of their own: another job changes no path of this one.
        mine, theirs = seed.spawn(2)
        arcs = own.paths(many, mine)
        others = None if beside is None else (beside, beside.paths(many, theirs))
        if under.statistic == "mean":
            out.append(_by_mean(own, arcs, others, fixed, capacity, under, most, line))
        else:
            out.append(_by_slowest(own, arcs, others, fixed, capacity, under, most / line))
    return np.concatenate(out)


Listed = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]
"""Flows as (source, sink, gigabits)."""


def _sorted_flows(fabric: Fabric, phase: Phase) -> tuple[Listed, Listed]:
    """Flows inside scale-up domains whose links are modelled, and all others."""
    source, sink, gigabits = phase.pairs()
    island = islands(fabric)
    linked = np.zeros(int(island.max(initial=0)) + 1, bool)
    ups = fabric.links.kind.is_any("scale_up")
    linked[island[fabric.link_a[ups]]] = True
    mine = (island[source] == island[sink]) & linked[island[source]]
    return (source[mine], sink[mine], gigabits[mine]), (source[~mine], sink[~mine], gigabits[~mine])


def _inner_loads(fabric: Fabric, flows: Listed, under: Conditions, stripes: Stripes) -> NDArray[np.float64]:
    """Gigabits on every stripe of flows inside domains, split evenly; infinite where one has no path."""
    source, sink, gigabits = flows
    if not len(source):
        return np.zeros(len(stripes.leader))
    demand = Demand.of(fabric, "inside", source=source, sink=sink, gbps=gigabits)
    found = link_loads(fabric, demand, routing=under.routing.with_(scheme="ecmp"), state=under.state)
    load = np.bincount(stripes.leader, weights=found.arc_gbps, minlength=len(stripes.leader)).astype(float)
    return np.full(len(load), math.inf) if found.lost_pairs else load


def _longest(load: Array, capacity: Array, under: Conditions) -> float:
    counted = load > 0 if under.arcs is None else (load > 0) & under.arcs
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.where(counted, load / capacity, 0.0).max(initial=0.0))


@dataclass(frozen=True, eq=False)
class _Flows:
    """Flows, each as so many queue pairs, with the table that gives their paths."""

    table: StaticTable
    stripes: Stripes
    source: NDArray[np.int64]
    sink: NDArray[np.int64]
    gigabits: NDArray[np.float64]
    queue_pairs: int

    @classmethod
    def of(cls, fabric: Fabric, flows: Listed, under: Conditions, stripes: Stripes) -> _Flows:
        source, sink, gigabits = (column[flows[2] > 0] for column in flows)
        hops = NextHops.of(fabric, state=under.state, routing=under.routing, sinks=np.unique(sink))
        table = StaticTable.of(hops, under.routing.table, seed=under.routing.seed)
        q = under.queue_pairs
        return cls(table, stripes, np.repeat(source, q), np.repeat(sink, q), np.repeat(gigabits / q, q), q)

    def paths(self, samples: int, seed: np.random.SeedSequence) -> NDArray[np.int64]:
        """Stripes (hops, samples, flows), -1 after the end."""
        arcs = self.table.paths(np.tile(self.source, samples), np.tile(self.sink, samples), seed=seed)
        return self.stripes.paths(arcs).reshape(-1, samples, len(self.source))

    def loads(self, arcs: Array, n_arcs: int) -> NDArray[np.float64]:
        """Gigabits on every stripe, (samples, arcs)."""
        samples = arcs.shape[1]
        slot = arcs + (np.arange(samples) * n_arcs)[None, :, None]
        on = arcs >= 0
        weight = np.broadcast_to(self.gigabits, arcs.shape)[on]
        total: NDArray[np.float64] = np.bincount(slot[on], weights=weight, minlength=samples * n_arcs).astype(float)
        return total.reshape(samples, n_arcs)


def _by_slowest(
    own: _Flows, arcs: Array, others: tuple[_Flows, Array] | None, fixed: Array, capacity: Array, under: Conditions,
    unit: float,
) -> NDArray[np.float64]:  # fmt: skip
    load = own.loads(arcs, len(capacity)) + fixed
    counted = load > 0
    if under.arcs is not None:
        counted &= under.arcs
    if others is not None:
        load = load + unit * others[0].loads(others[1], len(capacity))
    with np.errstate(divide="ignore", invalid="ignore"):
        time = np.where(counted, load / capacity, 0.0).max(axis=1)
    lost = np.any(np.all(arcs < 0, axis=0), axis=1) if len(arcs) else np.ones(len(time), bool)
    return np.where(lost, math.inf, time)


def _by_mean(
    own: _Flows, arcs: Array, others: tuple[_Flows, Array] | None, fixed: Array, capacity: Array, under: Conditions,
    most: float, line: float,
) -> NDArray[np.float64]:  # fmt: skip
    """Ports' time over the mean share of what flows at the ports' rate want; a lost flow's share is 0.

    Flows inside domains keep their part of the links they share with those that pass through.
    """
    limit = own.gigabits * (line / most)
    both, wanted = arcs, limit
    if others is not None:
        beside, theirs = others
        hops = max(len(arcs), len(theirs))
        both = np.concatenate([_padded(arcs, hops), _padded(theirs, hops)], axis=2)
        wanted = np.concatenate([limit, beside.gigabits])
    if under.arcs is not None:
        both = np.where((both >= 0) & under.arcs[both], both, -1)
    inner = fixed * (line / most)
    left = np.where(inner > 0, np.maximum(capacity - inner, capacity / 2), capacity)
    rate = max_min_rates(both, left, wanted)[:, : len(limit)]
    share = rate / limit
    if own.queue_pairs > 1:
        # A message striped over queue pairs ends with the slowest.
        share = share.reshape(len(share), -1, own.queue_pairs).min(axis=2)
    mean = share.mean(axis=1)
    with np.errstate(divide="ignore"):
        return np.asarray(most / line / mean)


def _padded(arcs: Array, hops: int) -> Array:
    return np.pad(arcs, ((0, hops - len(arcs)), (0, 0), (0, 0)), constant_values=-1)
