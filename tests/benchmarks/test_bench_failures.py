"""Failure sweeps: side by side with ngraph's Monte Carlo on one case, and our own large sizes.

Run with ``python -m pytest tests/benchmarks/test_bench_failures.py -s``: prints one line a case. Nothing has a limit.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import topo
from topo.analysis.failures.availability import availability
from topo.analysis.failures.elements import elements
from topo.analysis.failures.measures import measure_of
from topo.analysis.failures.survivability import survivability
from topo.fabric import Fabric
from topo.traffic import Demand, all_to_all, permutation

DATA = Path(os.environ.get("TOPO_SHARED_DATA", Path(__file__).parents[3] / "shared" / "data"))

_SELENE_LINKS = ("link:*LG*--*SPINE*", "link:*SPINE*--CCORE*")


def _processor_s() -> float:
    """Processor time of this process and of those it waited for: what others do on the machine is left out."""
    at = os.times()
    return at.user + at.system + at.children_user + at.children_system


@contextmanager
def _timed(what: str) -> Iterator[None]:
    wall, processor = time.perf_counter(), _processor_s()
    yield
    print(f"\n{what}: {time.perf_counter() - wall:.2f} s, {_processor_s() - processor:.2f} s of processor time")


@dataclass(frozen=True)
class _Case:
    """A permutation of a fat tree's hosts with one random link down, as both tools want it."""

    fabric: Fabric
    demand: Demand
    manager: Any
    wanted: list[Any]

    @classmethod
    def of(cls, k: int) -> _Case:
        from ngraph import FlowPolicyPreset, Link, Network, Node
        from ngraph.analysis.failure_manager import FailureManager
        from ngraph.model.demand.spec import TrafficDemand
        from ngraph.model.failure.policy import FailureMode, FailurePolicy, FailureRule
        from ngraph.model.failure.policy_set import FailurePolicySet

        fabric = topo.fat_tree(k, link_gbps=1)
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
        return cls(fabric, demand, FailureManager(network, policies, "one link"), wanted)

    def theirs(self, n: int) -> None:
        self.manager.run_demand_placement_monte_carlo(self.wanted, iterations=n, parallelism=1, seed=1)

    def ours(self, n: int) -> None:
        every, measure = elements(self.fabric, "link"), measure_of(self.fabric, self.demand)
        for row in np.random.default_rng(1).integers(0, len(every), n):
            measure(every.state([row]))


def test_one_link_down_at_random_side_by_side_with_ngraph() -> None:
    """10 states of one random link down, a permutation of 1,024 hosts placed in each, hop-by-hop even splitting.

    Modules are loaded by a small case first; what each tool prepares for the large one counts.
    """
    pytest.importorskip("ngraph")
    small, large = _Case.of(4), _Case.of(16)
    seconds = {}
    for name in ("theirs", "ours"):
        getattr(small, name)(2)
        start = time.process_time()
        getattr(large, name)(10)
        seconds[name] = time.process_time() - start
    theirs, ours = seconds["theirs"], seconds["ours"]
    print(f"\n10 states: ngraph {theirs:.3f} s, topo {ours:.3f} s of processor time: {theirs / ours:.0f} times")
    assert seconds["theirs"] > seconds["ours"]


def test_every_link_and_switch_of_the_largest_superpod() -> None:
    survivability(topo.fat_tree(4))  # loads the modules
    fabric = topo.load("nvidia-superpod-h100-64su")
    with _timed("N-1 of 49,152 links and 1,280 switches, all-to-all each"):
        answer = survivability(fabric)
    assert answer.n_elements == 50_432


def test_ten_thousand_states_of_the_four_unit_superpod() -> None:
    fabric = topo.load("nvidia-superpod-h100-4su")
    rates = {"link": {"mtbf_h": 999, "mttr_h": 1}, "switch": {"mtbf_h": 999, "mttr_h": 1}}
    with _timed("10,000 states with two elements down on average"):
        answer = availability(fabric, rates=rates, method="monte-carlo", n_samples=10_000, workers=2)
    assert answer.n_samples == 10_000


@pytest.mark.parametrize("use_symmetry", [True, False])
def test_every_switch_link_of_selene(use_symmetry: bool) -> None:
    path = DATA / "ibnetdiscover" / "selene.compute.txt"
    if not path.exists():
        pytest.skip(f"{path} is not there")
    fabric = topo.read(path)
    with _timed(f"Selene's 8,511 links between switches, symmetry {use_symmetry}"):
        answer = survivability(
            fabric, all_to_all(fabric, "luna-*"), kinds=_SELENE_LINKS, use_symmetry=use_symmetry, workers=2
        )
    assert answer.n_elements == 8_511
    assert answer.n_better == 398
