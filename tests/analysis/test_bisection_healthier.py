"""A damaged fabric is bounded by the healthy one less what was lost; the bound holds and its witness is checked."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import topo
from topo.analysis.bisection.blocks import tree_of
from topo.analysis.bisection.certificate import CertificateError, check
from topo.analysis.bisection.exhaustive import enumerated
from topo.analysis.bisection.healthier import healthier_bound, lost_gbps
from topo.analysis.bisection.lower import Bound, Healthier, quick_bound
from topo.analysis.bisection.problem import Problem, even_sizes, make_problem
from topo.fabric import Fabric, State


def straight(problem: Problem) -> Bound:
    return quick_bound(problem, tree_of(problem), even_sizes(problem.weight)[0])


def some_down(fabric: Fabric, n: int, seed: int) -> State:
    rng = np.random.default_rng(seed)
    return State.without(fabric, links=rng.choice(np.flatnonzero(fabric.links.kind.is_any("scale_out")), n, False))


@pytest.mark.parametrize("n_down", [1, 3, 8])
@pytest.mark.parametrize("seed", range(6))
def test_it_never_exceeds_the_least_cut(n_down: int, seed: int) -> None:
    fabric = topo.leaf_spine(leaves=8, spines=4, hosts_per_leaf=4, link_gbps=100, host_gbps=100)
    state = some_down(fabric, n_down, seed)
    before, now = (make_problem(fabric, None, "host", kinds=None, state=one) for one in (None, state))
    found = enumerated(now, even_sizes(now.weight)[0])
    assert found is not None
    bound = healthier_bound(now, before, None, straight)
    assert lost_gbps(before.network, now.network) == 100 * n_down
    assert bound.gbps == 1600 - 100 * n_down <= found[0] <= 1600


def test_a_large_damaged_fabric_has_a_narrow_bracket_with_checked_witnesses() -> None:
    fabric = topo.clos(4096, tiers=3, radix=32)
    state = some_down(fabric, 40, 1)
    answer = topo.bisection_bandwidth(fabric, state=state)
    whole = topo.bisection_bandwidth(fabric)
    assert whole.exact
    rate = fabric.links.capacity_gbps[0]
    assert answer.lower_gbps >= whole.lower_gbps - 40 * rate
    assert answer.upper_gbps < whole.upper_gbps
    check(fabric, answer)


def test_a_witness_that_claims_too_much_is_refused() -> None:
    fabric = topo.clos(4096, tiers=3, radix=32)
    answer = topo.bisection_bandwidth(fabric, state=some_down(fabric, 40, 1))
    assert answer.lower_method == "healthier" and isinstance(answer.witness, Healthier)
    with pytest.raises(CertificateError):
        check(fabric, replace(answer, lower_gbps=answer.upper_gbps))
    with pytest.raises(CertificateError):
        check(fabric, replace(answer, witness=None))


def test_validation_compares_with_the_planned_state() -> None:
    plan = topo.clos(4096, tiers=3, radix=32)
    rows = np.flatnonzero(plan.links.kind.is_any("scale_out"))[[3, 900]]
    answer = topo.validate(plan.without(links=rows), plan).consequence
    assert answer is not None
    bisection = next(one for one in answer.measures if one.name == "bisection bandwidth")
    lost = 2 * plan.links.capacity_gbps[rows[0]]
    assert bisection.healthy_lower - lost <= bisection.found_lower <= bisection.found_upper < bisection.healthy_upper
