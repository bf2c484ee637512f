"""Lower bounds from an all-to-all on the fabric's routes: sound, found again by other means, tight on dragonflies."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import topo
from topo.analysis.bisection import certificate
from topo.analysis.bisection.exhaustive import enumerated
from topo.analysis.bisection.problem import even_sizes, make_problem
from topo.analysis.bisection.routed import routed_bound
from topo.analysis.bisection.rules import BY_RULE
from topo.fabric import Fabric, State
from topo.source import load


def without(fabric: Fabric, n: int, seed: int) -> State:
    """All but n links between switches, drawn."""
    present = np.ones(len(fabric.links), bool)
    between = np.flatnonzero(fabric.links.kind.is_any("scale_out"))
    present[np.random.default_rng(seed).choice(between, n, replace=False)] = False
    return State(link_present=present)


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6), hosts=st.integers(1, 3), pace=st.sampled_from([50.0, 100.0, 400.0]))
def test_it_is_never_above_the_least_of_all_splits(seed: int, hosts: int, pace: float) -> None:
    fabric = topo.jellyfish(8, 3, hosts, link_gbps=100, host_gbps=pace, seed=seed)
    problem = make_problem(fabric, None, "none", kinds=None, state=None)
    smaller = even_sizes(problem.weight)[0]
    best = enumerated(problem, smaller)
    assert best is not None
    assert 0 < routed_bound(problem, smaller) <= best[0] + 1e-9


FAMILIES = {
    "dragonfly": lambda: topo.dragonfly(2, 4, 2),
    "dragonfly, two cables a pair": lambda: topo.dragonfly(2, 4, 4, groups=9, pair_links=2),
    "torus": lambda: topo.torus([4, 4], hosts_per_switch=2),
    "leaf-spine, parallel": lambda: topo.leaf_spine(4, 2, 4, parallel=3, link_gbps=100),
    "Slim Fly": lambda: topo.slim_fly(5),
}


@pytest.mark.parametrize("lost", [0, 2])
@pytest.mark.parametrize("name", FAMILIES)
def test_sink_by_sink_it_is_the_same(name: str, lost: int) -> None:
    fabric = FAMILIES[name]()
    problem = make_problem(fabric, None, "none", kinds=None, state=without(fabric, lost, 3) if lost else None)
    smaller = even_sizes(problem.weight)[0]
    value = routed_bound(problem, smaller)
    assert value > 0 and BY_RULE["routed"](problem, smaller) == pytest.approx(value, rel=1e-9)


def test_a_host_with_two_links_has_no_such_bound() -> None:
    fabric = topo.bcube(4, 1)
    problem = make_problem(fabric, None, "host", kinds=None, state=None)
    assert routed_bound(problem, even_sizes(problem.weight)[0]) == 0


@pytest.mark.parametrize("lost", [0, 1])
def test_a_dragonfly_of_72_is_exact(lost: int) -> None:
    """Nine groups, a cable a pair: 16 cables between four and four whole ones, and 4 through the middle of the last."""
    fabric = topo.dragonfly(2, 4, 2, link_gbps=200)
    answer = topo.bisection_bandwidth(fabric, state=without(fabric, lost, 1) if lost else None)
    certificate.check(fabric, answer)
    assert answer.exact or lost
    assert answer.lower_gbps >= 4000 - 200 * lost


def test_a_dragonfly_of_16384_is_exact() -> None:
    """32 groups, 16 cables a pair of them: 16 * 16 pairs between halves of whole groups, each cable at 400 Gb/s."""
    fabric = topo.dragonfly(16, 32, 16, groups=32, pair_links=16, link_gbps=400, host_gbps=400)
    answer = topo.bisection_bandwidth(fabric)
    certificate.check(fabric, answer)
    assert (answer.lower_method, answer.lower_gbps) == ("routed", 16 * 16 * 16 * 400) == ("routed", answer.upper_gbps)


def test_the_largest_dragonfly_is_bracketed_narrowly() -> None:
    answer = topo.bisection_bandwidth(load("deepseek-dragonfly"))
    assert 0.998 * answer.upper_gbps <= answer.lower_gbps <= answer.upper_gbps
