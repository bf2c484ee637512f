"""Loads of several placed jobs on the same links, and how much each slows the others down."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from topo.errors import InputError
from topo.placement.measure import Measured
from topo.table import Array
from topo.traffic.demand import Demand

__all__ = ["Contention", "contention", "demand_of"]

_MOST_PAIRS = 20_000_000


@dataclass(frozen=True, eq=False)
class Contention:
    """Loads in Gb/s of the first job alone and of all jobs, by place: bundles of a tree, or arcs where it is none.

    ``utilization`` and ``utilization_with`` are the largest load over capacity of the first job's switch-to-switch
    links, alone and with the others; ``slowdown[j]`` is max(1, largest utilization of job j's links with all jobs)
    over max(1, the same alone), for every job.
    """

    busiest_link_load: float
    utilization: float
    utilization_with: float
    at: str
    slowdown: tuple[float, ...]
    how: str


def contention(jobs: Sequence[Measured]) -> Contention:
    """Utilization of the first job and slowdown of all, each scaled so that its busiest endpoint runs at line rate.

    Shares are proportional to demand and all jobs communicate at once: an upper estimate where phases interleave.
    """
    first = jobs[0]
    on_tree = all(job.on_tree for job in jobs)
    if not all(np.isfinite(job.scale) for job in jobs) or (on_tree and not first.ends.tree.rates_known):
        return _unknown(len(jobs))
    if on_tree:
        unit, capacity, names = _tree_loads(first, 1.0)
        loads = [_tree_loads(job, job.scale)[0] for job in jobs]
        how = "even split over the bundles of a symmetric tree"
        link_load = float(unit.max(initial=0.0))
    else:
        try:
            loads, capacity, names = _arc_loads(jobs)
        except InputError:
            return _unknown(len(jobs))
        how = "even split over all shortest paths, arc by arc"
        link_load = float(loads[0].max(initial=0.0)) / first.scale if first.scale > 0 else 0.0
    if not len(loads[0]):
        return Contention(0.0, 0.0, 0.0, "", (1.0,) * len(jobs), how)
    total = np.sum(loads, axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        alone = [np.where(load > 0, load / capacity, 0.0) for load in loads]
        every = total / capacity
    shared = [np.where(load > 0, every, 0.0) for load in loads]
    slowdown = tuple(
        max(1.0, float(w.max())) / max(1.0, float(u.max())) if np.isfinite(u.max()) and np.isfinite(w.max())
        else float("nan")
        for u, w in zip(alone, shared, strict=True)
    )  # fmt: skip
    at = int(shared[0].argmax())
    return Contention(link_load, float(alone[0].max()), float(shared[0].max()), str(names[at]), slowdown, how)


def _unknown(n_jobs: int) -> Contention:
    nan = float("nan")
    return Contention(nan, nan, nan, "", (nan,) * n_jobs, "rates unknown")


def _tree_loads(job: Measured, scale: float) -> tuple[NDArray[np.float64], NDArray[np.float64], Array]:
    """Load of one link of every bundle, out and in; the capacity of its slowest link; names of the nodes below."""
    loads, capacity, names = [np.empty(0)], [np.empty(0)], [np.empty(0, "U1")]
    for level, (out, into) in zip(job.ends.tree.levels, job.cuts, strict=True):
        for direction in (out, into):
            share = np.where(level.uplinks > 0, direction / np.maximum(level.uplinks, 1), 0.0)
            loads.append(share * scale)
            capacity.append(level.slowest_gbps)
            names.append(level.name)
    return np.concatenate(loads), np.concatenate(capacity), np.concatenate(names)


def _arc_loads(jobs: Sequence[Measured]) -> tuple[list[NDArray[np.float64]], NDArray[np.float64], Array]:
    from topo.routing.loads import link_loads

    fabric = jobs[0].ends.hosts.fabric
    state = jobs[0].ends.hosts.network.state
    answers = [link_loads(fabric, demand_of(job), state=state) for job in jobs]
    keep = np.flatnonzero(answers[0].is_network_arc)
    if not len(keep):  # endpoints forward for each other: every arc is the fabric
        keep = np.arange(len(answers[0].arc_gbps))
    source, target = fabric.nodes.name[fabric.arc_source[keep]], fabric.nodes.name[fabric.arc_target[keep]]
    names = np.char.add(np.char.add(source, " to "), target)
    return [answer.arc_gbps[keep] for answer in answers], answers[0].capacity_gbps[keep], names


def demand_of(job: Measured) -> Demand:
    """The job as a demand between endpoints in Gb/s, what stays inside a host left out, PXN applied.

    :raises InputError: rates are unknown, or there are too many pairs to list.
    """
    if not np.isfinite(job.scale):
        raise InputError("rates of the endpoints' links are unknown; state one with assume_gbps")
    hosts, rows, traffic = job.ends.hosts, job.placement.rows, job.job.traffic
    size = np.bincount(traffic.group, minlength=len(traffic.group_amount))
    if float((size.astype(float) ** 2).sum()) + len(traffic.source) > _MOST_PAIRS:
        raise InputError(f"the job has more than {_MOST_PAIRS:,} pairs, too many to route one by one")
    source, sink, amount = [traffic.source], [traffic.sink], [traffic.amount]
    for group, weight in enumerate(traffic.group_amount.tolist()):
        member = traffic.member[traffic.group == group]
        source.append(np.repeat(member, len(member)))
        sink.append(np.tile(member, len(member)))
        amount.append(np.full(len(member) ** 2, weight))
    s, t, w = rows[np.concatenate(source)], rows[np.concatenate(sink)], np.concatenate(amount)
    away = hosts.of_node[s] != hosts.of_node[t]
    s, t, w = s[away], t[away], w[away]
    if job.pxn and job.ends.separate_rails:
        s = _relayed(job, s, t)
    return Demand.of(hosts.fabric, job.job.name, source=s, sink=t, gbps=w * job.scale)


def _relayed(job: Measured, source: Array, sink: Array) -> Array:
    """The endpoint of the source's host on the rail of the sink; the source itself where there is none."""
    ends, hosts = job.ends, job.ends.hosts
    table = np.full((len(hosts), ends.n_rails + 1), -1, np.int64)
    table[hosts.of_node[hosts.endpoint], ends.rail[hosts.endpoint]] = hosts.endpoint
    found = table[hosts.of_node[source], ends.rail[sink]]
    return np.where((found >= 0) & (ends.rail[sink] >= 0), found, source)
