"""A lower bound from an all-to-all on the routes of the fabric: any flow that fits proves what each cut must let by."""

from __future__ import annotations

import math

import numpy as np

from topo.analysis.bisection.problem import Problem
from topo.routing.loads import link_loads
from topo.traffic import all_to_all

__all__ = ["routed_bound"]


def routed_bound(problem: Problem, smaller: int) -> float:
    """Every endpoint sends to every other by ECMP, at the link costs that routes have by default.

    Let the links between switches hold theta of each of the N (N - 1) flows. Of a split of n and N - n endpoints, k and
    l of which are cut off at their own links, of rate r or more, at least theta * (n - k) * (N - n - l) + r * (k + l)
    is cut: a product in k and l, so least at a corner, hence min(theta * n * (N - n), r * n). Equal ways share what a
    symmetric network carries, so that this is often exact for dragonflies, and there are no other bounds at their size.
    0 where an endpoint has several links, or where routes use links that are not looked at.
    """
    network, ends = problem.network, problem.chosen
    fabric, n = network.fabric, len(ends)
    joined = np.bincount(np.concatenate([network.a, network.b]), minlength=len(fabric.nodes))
    if (joined[ends] != 1).any():
        return 0.0
    is_end = np.zeros(len(fabric.nodes), bool)
    is_end[ends] = True
    access = is_end[network.a] | is_end[network.b]
    least = float(network.capacity_gbps[access].min())
    demand = all_to_all(fabric, ends)
    loads = link_loads(fabric, demand, state=network.state)
    between = loads.arc_gbps > 0
    if loads.lost_pairs or not np.isin(np.flatnonzero(between) // 2, network.links).all():
        return 0.0
    between &= ~np.repeat(is_end[fabric.link_a] | is_end[fabric.link_b], 2)
    if not between.any():
        return least * smaller
    theta = float((loads.capacity_gbps[between] / loads.arc_gbps[between]).min()) * demand.total_gbps / (n * (n - 1))
    return min(theta * smaller * (n - smaller), least * smaller) if math.isfinite(theta) else 0.0
