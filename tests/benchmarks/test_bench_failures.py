"""Failure sweeps: side by side with ngraph's Monte Carlo on one case, and our own large sizes.

Run with ``python -m pytest tests/benchmarks/test_bench_failures.py -s``: prints one line a case. Nothing has a limit.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

import numpy as np
import pytest

import topo
from topo.analysis.failures.availability import availability
from topo.analysis.failures.elements import elements
from topo.analysis.failures.measures import measure_of
from topo.analysis.failures.survivability import survivability
from topo.traffic import all_to_all, permutation

DATA = Path(os.environ.get("TOPO_SHARED_DATA", Path(__file__).parents[3] / "shared" / "data"))


def _say(what: str, seconds: float, more: str = "") -> None:
    print(f"\n{what}: {seconds:.3f} s {more}")


def test_one_link_down_at_random_side_by_side_with_ngraph() -> None:
    """10 states of one random link down, a permutation of 1,024 hosts placed in each, hop-by-hop even splitting."""
    pytest.importorskip("ngraph")
    from ngraph import FlowPolicyPreset, Link, Network, Node
    from ngraph.analysis.failure_manager import FailureManager
    from ngraph.model.demand.spec import TrafficDemand
    from ngraph.model.failure.policy import FailureMode, FailurePolicy, FailureRule
    from ngraph.model.failure.policy_set import FailurePolicySet

    fabric = topo.fat_tree(16, link_gbps=1)
    demand = permutation(fabric, seed=1)
    names = fabric.nodes.name.tolist()
    network = Network()
    for name in names:
        network.add_node(Node(name))
    for a, b in zip(fabric.link_a.tolist(), fabric.link_b.tolist(), strict=True):
        network.add_link(Link(names[a], names[b], capacity=1.0, cost=1))
    policies = FailurePolicySet()
    rule = FailureRule(scope="link", mode="choice", count=1)
    policies.add("one link", FailurePolicy(modes=[FailureMode(weight=1.0, rules=[rule])]))
    wanted = [
        TrafficDemand(
            source=f"^{names[s]}$", target=f"^{names[t]}$", volume=1.0, mode="pairwise",
            flow_policy=FlowPolicyPreset.SHORTEST_PATHS_ECMP,
        ).__dict__
        for s, t in zip(demand.source.tolist(), demand.sink.tolist(), strict=True)
    ]  # fmt: skip
    manager = FailureManager(network, policies, "one link")
    start = time.perf_counter()
    manager.run_demand_placement_monte_carlo(wanted, iterations=10, parallelism=1, seed=1)
    theirs = time.perf_counter() - start
    every, measure = elements(fabric, "link"), measure_of(fabric, demand)
    rows = np.random.default_rng(1).integers(0, len(every), 10)
    start = time.perf_counter()
    for row in rows:
        measure(every.state([row]))
    ours = time.perf_counter() - start
    _say("10 states, ngraph", theirs)
    _say("10 states, topo", ours, f"({theirs / ours:.0f} times)")
    assert theirs > ours


def test_every_link_and_switch_of_the_largest_superpod() -> None:
    fabric = topo.load("nvidia-superpod-b200-64su")
    start = time.perf_counter()
    answer = survivability(fabric)
    _say("N-1 of 49,152 links and 1,280 switches, all-to-all each", time.perf_counter() - start)
    assert answer.n_elements == 50_432


def test_ten_thousand_states_of_the_four_unit_superpod() -> None:
    fabric = topo.load("nvidia-superpod-h100-4su")
    rates = {"link": {"mtbf_h": 999, "mttr_h": 1}, "switch": {"mtbf_h": 999, "mttr_h": 1}}
    start = time.perf_counter()
    answer = availability(fabric, rates=rates, method="monte-carlo", n_samples=10_000, workers=2)
    _say("10,000 states with two elements down on average", time.perf_counter() - start, f"{answer.n_states} evaluated")
    assert answer.n_samples == 10_000


@pytest.mark.parametrize("use_symmetry", [True, False])
def test_every_switch_link_of_selene(use_symmetry: bool) -> None:
    path = DATA / "ibnetdiscover" / "selene.compute.txt"
    if not path.exists():
        pytest.skip(f"{path} is not there")
    fabric = topo.read(path)
    start = time.perf_counter()
    answer = survivability(fabric, all_to_all(fabric, "luna-*"), kinds=["link"], use_symmetry=use_symmetry, workers=2)
    _say(f"Selene's {answer.n_elements:,} links, symmetry {use_symmetry}", time.perf_counter() - start,
         f"{answer.n_evaluated:,} evaluated")  # fmt: skip
    assert answer.n_better >= 398
