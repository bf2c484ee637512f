"""The lower bound of a damaged fabric from that of a healthier state: no cut loses more than what is lost in all.

For every split S, cut(S) now >= cut(S) before - sum over links of max(0, rate before - rate now), hence the same of the
least over even splits. A fabric in proportion is bounded exactly in near linear time, where its damaged state takes a
search and may end far below.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from topo.analysis.bisection.lower import TRIVIAL, Bound, Healthier, rounded_up
from topo.analysis.bisection.opened import has_parts
from topo.analysis.bisection.problem import Problem
from topo.fabric import State
from topo.network import Network
from topo.table import Array

__all__ = ["healthier_bound", "is_comparable", "lost_gbps"]


def healthier_bound(
    problem: Problem, before: Problem, state: State | None, bound_of: Callable[[Problem], Bound]
) -> Bound:
    """The bound of the problem ``before`` less what was lost since, where both speak of the same endpoints."""
    if not is_comparable(problem, before):
        return TRIVIAL
    lost = lost_gbps(before.network, problem.network)
    bound = bound_of(before) if math.isfinite(lost) else TRIVIAL
    value = rounded_up(bound.gbps - lost, problem.unit_gbps)
    return Bound(value, "healthier", Healthier(state, bound)) if value > 0 else TRIVIAL


def is_comparable(problem: Problem, before: Problem) -> bool:
    """Whether cuts of one are cuts of the other: the same units, and no opened hosts (they pass their own traffic)."""
    return (
        not has_parts(problem.network)
        and np.array_equal(problem.chosen, before.chosen)
        and np.array_equal(problem.weight, before.weight)
    )


def lost_gbps(before: Network, now: Network) -> float:
    """Rates of the links that were there before, as far as they are not there now, summed."""
    return math.fsum(np.maximum(_rates(before) - _rates(now), 0.0))


def _rates(network: Network) -> Array:
    rates = np.zeros(len(network.fabric.links))
    rates[network.links] = network.capacity_gbps
    return rates
