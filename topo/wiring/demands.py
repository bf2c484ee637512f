"""Who sends to whom where faults are priced: an all-to-all and a random permutation of the planned endpoints."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from topo.fabric import Fabric
from topo.routing.loads import link_loads
from topo.table import Array
from topo.traffic import Block, Demand, all_to_all, line_rate_gbps, permutation
from topo.wiring.comparison import Comparison

__all__ = ["SEED", "demands", "planned_endpoints"]

SEED = 0
"""Of the random permutation, the same for all faults."""

_MOST_RATES = 4
_PACE = 0.75
_NEAR = 1e-9


def demands(comparison: Comparison, apart: Array | None) -> tuple[Demand, Demand, NDArray[np.int64]]:
    """All-to-all and random permutation of the endpoints, without those ``apart`` (a mask), and who takes part.

    Each sends and receives at its line rate, at most the usual one: every pair at what the slowest have, what some have
    above that to those who have it too. With rates r1 < r2 < ... and n_k endpoints at r_k or more, a pair of which the
    slower is of rate r_m wants the sum over k <= m of (r_k - r_(k-1)) / (n_k - 1). Slower endpoints are left out where
    with them less than three quarters of that fits: a manager behind one thin cable would set everyone's pace. Rates
    are those of the planned cables: with the cable it has and the one it should have, a host on a wrong leaf would send
    twice.
    """
    both = comparison.both
    healthy = both if comparison.planned.all() else both.without(links=~comparison.planned)
    rate, ends = line_rate_gbps(healthy), healthy.endpoints
    wanted = (rate > 0) & planned_endpoints(comparison)[ends]
    if apart is not None:
        wanted &= ~np.append(apart, np.zeros(len(both.nodes) - len(apart), bool))[ends]
    values, times = np.unique(rate[wanted], return_counts=True)
    usual = float(values[np.argmax(times)]) if len(values) else 0.0
    is_usual = wanted & (rate >= usual * (1 - _NEAR))
    among = ends[is_usual] if is_usual.sum() > 1 else ends
    demand = all_to_all(healthy, among)
    if len(among) < wanted.sum():
        mixed = _at_own_rates(healthy, ends[wanted], np.minimum(rate[wanted], usual))
        if mixed is not None and _theta(comparison, mixed) >= _PACE * _theta(comparison, demand):
            demand, among = mixed, ends[wanted]
    return demand, permutation(healthy, among, seed=SEED), among


def planned_endpoints(comparison: Comparison) -> NDArray[np.bool_]:
    """Mask over nodes: endpoints that a planned cable reaches."""
    fabric = comparison.both
    joined = np.zeros(len(fabric.nodes), bool)
    joined[fabric.link_a[comparison.planned]] = joined[fabric.link_b[comparison.planned]] = True
    return joined & fabric.nodes.is_endpoint


def _theta(comparison: Comparison, demand: Demand) -> float:
    return min(1.0, link_loads(comparison.both, demand, state=comparison.healthy()).theta)


def _at_own_rates(fabric: Fabric, ends: Array, rate: Array) -> Demand | None:
    """The all-to-all of endpoints of several rates, every pair in one block; None for more than four rates."""
    steps = np.unique(rate)
    steps = steps[np.append(True, np.diff(steps) > _NEAR * steps[1:])]
    if len(steps) > _MOST_RATES:
        return None
    level = np.searchsorted(steps * (1 - _NEAR), rate, side="right") - 1
    blocks, wanted, below = [], 0.0, 0.0
    for m, step in enumerate(steps.tolist()):
        own, above = ends[level == m], ends[level > m]
        wanted += (step - below) / max(len(own) + len(above) - 1, 1)
        below = step
        for sources, sinks in ((own, ends[level >= m]), (above, own)):
            if len(sources) and len(sinks):
                blocks.append(Block.of(sources, sinks, wanted))
    return Demand.of(fabric, "all-to-all", blocks=tuple(blocks))
