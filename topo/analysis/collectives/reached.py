"""All-gathers that run on a fabric, as lower bounds of the best one: rings, and trees over rails and inside hosts."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from topo.analysis.collectives.carried import Conditions, inside_first, phase_seconds
from topo.analysis.collectives.flows import Ranks, collective_phases
from topo.analysis.collectives.phase import Phase
from topo.fabric import Fabric, State
from topo.traffic.demand import Demand

__all__ = ["reached_gather"]

_SIZE = 1e9


def reached_gather(
    fabric: Fabric, ranks: Ranks, capacity_gbps: NDArray[np.float64], state: State | None, enough_gbyte_s: float
) -> tuple[float, str]:
    """algbw in GB/s of the better of two all-gathers without latency, and which; every flow divides evenly.

    Where ranks fill hosts, one tree a shard, all pipelined at one rate: along the hosts from each rank to the one of
    its place in the next, and inside each host from there to all others. And a ring over the ranks in order, left out
    where the trees reach ``enough_gbyte_s``.
    """
    under = Conditions(capacity_gbps, state, inside_first(fabric, "ecmp"))
    best, how = 0.0, ""
    for name, make in (("trees along the hosts and inside them", _trees), ("a ring over the ranks in order", _ring)):
        phase = make(fabric, ranks)
        if phase is None or best >= enough_gbyte_s:
            continue
        seconds = phase.repeats * float(phase_seconds(fabric, phase, under)[0])
        rate = _SIZE / seconds / 1e9 if seconds > 0 else 0.0
        if rate > best:
            best, how = rate, name
    return best, how


def _ring(fabric: Fabric, ranks: Ranks) -> Phase:
    return collective_phases(fabric, ranks, "all_gather", _SIZE)[0]


def _trees(fabric: Fabric, ranks: Ranks) -> Phase | None:
    """What all trees together send: N - 1 shards along the hosts from each rank, N inside to each other one."""
    g, hosts = ranks.local, ranks.hosts
    if g == 1 or hosts == 1 or ranks.dropped:
        return None
    shard = 8e-9 * _SIZE / ranks.size
    rows = ranks.rows.reshape(len(ranks.rows), hosts, g)
    a, b = np.nonzero(~np.eye(g, dtype=bool))
    along = rows.ravel(), np.roll(rows, -1, axis=1).ravel()
    inside = rows[:, :, a].ravel(), rows[:, :, b].ravel()
    demand = Demand.of(
        fabric, "trees", source=np.concatenate([along[0], inside[0]]), sink=np.concatenate([along[1], inside[1]]),
        gbps=np.concatenate([np.full(along[0].size, (hosts - 1) * shard), np.full(inside[0].size, hosts * shard)]),
    )  # fmt: skip
    return Phase("trees", demand, 1, 0.0)
