"""The bound of splits into whole pods: brute force over all splits, its certificate, and published dragonflies."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import topo
from topo.analysis.bisection import certificate
from topo.analysis.bisection.lower import pod_bound
from topo.analysis.bisection.pods import cheapest_whole
from topo.analysis.bisection.problem import even_sizes, make_problem
from topo.analysis.bisection.search import best_switches
from topo.fabric import Fabric, State

BUILDS = {
    "canonical": lambda: topo.dragonfly(2, 4, 2),
    "uneven": lambda: topo.dragonfly([4, 1], 4, 2, groups=[4, 2], pair_links=1),
    "narrow": lambda: topo.dragonfly(1, 3, 4, groups=5, pair_links=3),
    "plus": lambda: topo.dragonfly_plus(2, 3, 3, 2),
    "fat-tree": lambda: topo.fat_tree(4),
    "served": lambda: topo.dragonfly([2, 0], 4, 2, groups=[6, 3]),
    "plus-served": lambda: topo.dragonfly_plus([2, 0], 3, 3, 2, groups=[5, 2]),
}


def _least_cut(fabric: Fabric, state: State | None) -> float:
    """Minimum over every even split of pods of the cut that its best switches leave."""
    problem = make_problem(fabric, None, "pod", kinds=None, state=state)
    smaller, larger = even_sizes(problem.weight)
    best = math.inf
    for size in range(1, problem.n_units):
        for half in itertools.combinations(range(problem.n_units), size):
            if int(problem.weight[list(half)].sum()) in (smaller, larger):
                side = np.zeros(problem.n_vertices, bool)
                side[list(half)] = True
                best = min(best, problem.cut_gbps(best_switches(problem, side)))
    return best


@pytest.mark.parametrize("down", [0, 1, 6])
@pytest.mark.parametrize("name", list(BUILDS))
def test_never_above_the_least_cut_of_whole_pods(name: str, down: int) -> None:
    fabric = BUILDS[name]()
    between = np.flatnonzero(fabric.links.kind.is_any("scale_out"))
    gone = np.random.default_rng(down).choice(between, down, replace=False)
    state = State.without(fabric, links=gone)
    problem = make_problem(fabric, None, "pod", kinds=None, state=state)
    found = pod_bound(problem, even_sizes(problem.weight)[0])
    assert found is not None
    least = _least_cut(fabric, state)
    assert 0 < found[0].gbps <= least * (1 + 1e-9)
    if name in ("canonical", "plus", "fat-tree") and not down:
        assert found[0].gbps == least
    answer = topo.bisection_bandwidth(fabric, keep="pod", state=state)
    assert found[0].gbps <= answer.lower_gbps <= least * (1 + 1e-9)
    assert answer.upper_gbps >= least * (1 - 1e-9)
    certificate.check(fabric, answer)


@given(st.integers(0, 10**6), st.integers(3, 8), st.integers(1, 3))
@settings(max_examples=60, deadline=None)
def test_halves_of_pods_against_all_of_them(seed: int, n: int, kinds: int) -> None:
    rng = np.random.default_rng(seed)
    of = rng.integers(0, kinds, n)
    rate = rng.integers(0, 4, (kinds, kinds)).astype(float)
    rate += rate.T
    joined = rate[np.ix_(of, of)]
    if seed % 2:
        joined += np.triu(rng.integers(0, 2, (n, n)), 1)
    joined = np.triu(joined, 1) + np.triu(joined, 1).T
    weight = rng.integers(1, 4, kinds)[of]
    relays = rng.integers(0, 3, (2, n)).astype(float) if seed % 3 == 0 else np.zeros((0, n))
    smaller = even_sizes(weight)[0]
    value, half = cheapest_whole(weight, joined, relays, smaller)
    exact = min(
        float(joined[np.ix_(list(h), [p for p in range(n) if p not in h])].sum())
        + sum(min(rates[list(h)].sum(), rates.sum() - rates[list(h)].sum()) for rates in relays)
        for size in range(n + 1)
        for h in itertools.combinations(range(n), size)
        if weight[list(h)].sum() == smaller
    )
    assert value <= exact
    assert weight[half].sum() == smaller
    if not seed % 2 and not len(relays):
        assert value == exact


@pytest.mark.parametrize("keep", ["host", "none"])
def test_no_bound_where_units_are_no_pods(keep: str) -> None:
    problem = make_problem(topo.dragonfly(2, 4, 2), None, keep, kinds=None, state=None)
    assert pod_bound(problem, even_sizes(problem.weight)[0]) is None


def test_a_flow_that_is_too_much_is_found_out() -> None:
    fabric = topo.dragonfly(2, 4, 2)
    answer = topo.bisection_bandwidth(fabric, keep="pod")
    flow = answer.witness
    assert answer.lower_method == "pods"
    for broken in (
        replace(flow, gbps=flow.gbps * 4),
        replace(flow, brought=flow.brought + 1),
        replace(flow, head=np.roll(flow.head, len(flow.head) // 2)),
        replace(flow, brought=flow.brought / 2),
    ):
        with pytest.raises(certificate.CertificateError):
            certificate.check(fabric, replace(answer, witness=broken))


@pytest.mark.parametrize(
    ("name", "lower", "upper"),
    # Links between halves of the groups, 4 a pair at Frontier, 2 at Aurora, 18 at Leonardo, and what groups without
    # endpoints relay; short of the cut where half a group fills no more links, or relays' meshes are a little narrow.
    [
        ("olcf-frontier", 1_091_600, 37 * 37 * 800),
        ("alcf-aurora", 2_960_600, 83 * 83 * 400 + 9 * 83 * 400),
        ("cineca-leonardo", (9 * 10 + 9 * 4) * 3600, (9 * 10 + 9 * 4) * 3600),
    ],
)
def test_large_dragonflies(name: str, lower: float, upper: float) -> None:
    problem = make_problem(topo.load(name), None, "pod", kinds=None, state=None)
    found = pod_bound(problem, even_sizes(problem.weight)[0])
    assert found is not None
    assert found[0].gbps == lower
    assert problem.cut_gbps(best_switches(problem, found[1])) == upper
