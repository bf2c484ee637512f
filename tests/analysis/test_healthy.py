"""What is told from what failed alone against the search that looks at everything."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

import topo
from topo.analysis.failures import measures
from topo.analysis.failures.elements import elements
from topo.analysis.failures.healthy import Healthy
from topo.fabric import Fabric, State
from topo.network import Network
from topo.routing.scheme import Routing
from topo.traffic import all_to_all, line_rate_gbps

BUILDS: dict[str, Callable[[], Fabric]] = {
    "fat-tree": lambda: topo.fat_tree(4),
    "planes": lambda: topo.multi_plane(16, planes=4, radix=8, lanes=4),
    "dual-homed": lambda: topo.load("alibaba-hpn-segment"),
    "opened": lambda: topo.server("dgx-h100"),
    "rails": lambda: topo.rail_optimized(8, rails=4, hosts_per_unit=4, radix=16),
    "two endpoints": lambda: topo.leaf_spine(2, 1, 1),
}


def states(fabric: Fabric) -> list[State]:
    """Single elements, several access links at once, everything."""
    rng = np.random.default_rng(3)
    found = [State(), State.without(fabric, links=np.arange(len(fabric.links)))]
    for kind in ("link", "switch", "host"):
        rows = elements(fabric, kind)
        chosen = rng.permutation(len(rows))[:12]
        found += [rows.state([int(i)]) for i in chosen]
        found += [rows.state(chosen[:n]) for n in (2, 5) if len(chosen) >= n]
    ends = fabric.endpoints
    for n in (1, 3, len(ends) - 1, len(ends)):
        gone = np.isin(fabric.link_a, ends[:n]) | np.isin(fabric.link_b, ends[:n])
        found.append(State.without(fabric, links=np.flatnonzero(gone)))
        found.append(State.without(fabric, nodes=ends[:n]))
    rates = fabric.links.capacity_gbps.copy()
    rates[0] /= 2
    return [*found, State(capacity_gbps=rates)]


@pytest.mark.parametrize("name", list(BUILDS))
def test_same_as_the_search(name: str) -> None:
    fabric = BUILDS[name]()
    demand = all_to_all(fabric)
    measure = measures.ThroughputMeasure(fabric, demand, Routing(), "all-to-all")
    healthy, before = Healthy(fabric), line_rate_gbps(fabric)
    spared = 0
    for state in states(fabric):
        together = len(measures.largest_part(fabric, state))
        assert measure(state).cut_off == len(fabric.endpoints) - (together if together > 1 else 0)
        if healthy.keeps_rates(state):
            spared += 1
            np.testing.assert_array_equal(line_rate_gbps(fabric, state=state), before)
        network = Network.of(fabric, state=state)
        joined = np.zeros(len(fabric.nodes), bool)
        joined[network.a] = joined[network.b] = True
        np.testing.assert_array_equal(healthy.is_up(state), joined)
        left = measures.surviving(demand, healthy.is_up(state))
        ends = np.concatenate([block.sources for block in left.blocks]) if left.blocks else np.empty(0, int)
        np.testing.assert_array_equal(ends, fabric.endpoints[joined[fabric.endpoints]])
        assert (left is demand) == bool(joined[fabric.endpoints].all())
    assert spared


def test_a_demand_of_some_stays_itself_where_others_fail() -> None:
    fabric = topo.fat_tree(4)
    ends = fabric.endpoints
    demand = replace(all_to_all(fabric), blocks=(), source=ends[:2], sink=ends[2:4], gbps=np.ones(2))
    up = Healthy(fabric).is_up
    assert measures.surviving(demand, up(State.without(fabric, nodes=ends[-1:]))) is demand
    assert measures.surviving(demand, up(State.without(fabric, nodes=ends[:1]))).n_pairs == 1


def test_cut_off_is_counted_among_those_the_demand_is_about() -> None:
    """Two islands: losing one endpoint of the smaller does not cut its others off from those they talk to."""
    fabric = topo.rail_only(6, rails=2)
    rail = fabric.endpoints[fabric.nodes.rail.codes[fabric.endpoints] == 0][:5]
    measure = measures.measure_of(fabric, all_to_all(fabric, rail))
    assert measure(State.without(fabric, nodes=rail[:1])).cut_off == 1
    leaf = elements(fabric, "switch")
    cut = [measure(leaf.state([i])).cut_off for i in range(len(leaf))]
    assert sorted(cut) == [0] * (len(leaf) - 1) + [5]
