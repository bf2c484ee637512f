"""Single paths: shares by closed form, tables, effective bisection against published and enumerated numbers."""

from __future__ import annotations

import numpy as np
import pytest
from direct_fabrics import switched

import topo
from topo import traffic
from topo.analysis.throughput import throughput
from topo.errors import ParameterError
from topo.routing.scheme import Routing
from topo.traffic import Demand


def two_flows(spines: int) -> tuple[topo.Fabric, Demand]:
    f = topo.leaf_spine(leaves=2, spines=spines, hosts_per_leaf=2)
    return f, Demand.of(f, "two", source=f.rows("host-[12]"), sink=f.rows("host-[34]"), gbps=400)


@pytest.mark.parametrize("spines", [1, 2, 4, 8])
def test_two_flows_meet_with_probability_one_over_the_spines(spines: int) -> None:
    """Up by hash, down by the spine chosen: both get 1/2 where they meet, so the mean is 1 - 1/(2 m)."""
    f, demand = two_flows(spines)
    found = throughput(f, demand, routing="single-path", samples=3000)
    assert found.rates is not None
    closed = 1 - 1 / (2 * spines)
    sigma = np.sqrt((1 - 1 / spines) / spines / 4 / 3000)
    assert abs(found.rates.mean - closed) <= 4 * sigma + 1e-12
    assert found.rates.slowest == pytest.approx(found.rates.mean)
    assert found.rates.mean_margin == pytest.approx(1.96 * sigma, rel=0.1, abs=1e-12)
    assert found.theta_lower <= found.rates.slowest <= found.theta_upper
    assert found.standing.kind == "sampled" and not found.exact


def test_the_same_seed_gives_the_same_answer() -> None:
    f, demand = two_flows(4)
    one = throughput(f, demand, routing=Routing("single-path", seed=5))
    assert one.to_json() == throughput(f, demand, routing=Routing("single-path", seed=5)).to_json()
    assert one.to_json() != throughput(f, demand, routing=Routing("single-path", seed=6)).to_json()


def test_destination_modulo_is_exact() -> None:
    """4 leaves of 4, 4 spines: a shift by a leaf is spread evenly; sinks 0, 4, 8 share one spine."""
    f = topo.leaf_spine(leaves=4, spines=4, hosts_per_leaf=4)
    table = Routing("single-path", table="destination-modulo")
    even = throughput(f, traffic.shift(f, by=4), routing=table)
    assert even.exact and even.theta_lower == pytest.approx(1)
    ends = f.endpoints
    same = Demand.of(f, "one digit", source=ends[:3], sink=ends[[4, 8, 12]], gbps=400)
    found = throughput(f, same, routing=table)
    assert found.exact and found.theta_lower == pytest.approx(1 / 3)
    assert found.n_binding == 1 and found.binding_direction[0].startswith("leaf-1 to spine-")


def test_shares_are_of_what_is_wanted() -> None:
    """Max-min: a small flow is served whole, the large ones divide the rest."""
    f = switched([(0, 1)], [[0], [0], [0], [1], [1], [1]], gbps=10.0, host_gbps=10.0)
    demand = Demand.of(f, "unequal", source=f.endpoints[:3], sink=f.endpoints[3:], gbps=[2, 10, 10])
    found = throughput(f, demand, routing=Routing("single-path", table="min-hop"))
    assert found.rates is not None
    assert sorted(found.rates.share.tolist()) == pytest.approx([0.4, 0.4, 1])
    assert found.rates.mean == pytest.approx(0.6) and found.rates.full == pytest.approx(1 / 3)
    assert dict(found.rates.quantiles)[0.5] == pytest.approx(0.4)


def test_no_single_path_beats_the_optimum_nor_the_even_split_in_the_mean() -> None:
    f = topo.leaf_spine(leaves=4, spines=2, hosts_per_leaf=4)
    demand = traffic.permutation(f, seed=3)
    for table in ("hash", "random", "min-hop", "destination-modulo"):
        found = throughput(f, demand, routing=Routing("single-path", table=table), samples=20)
        assert found.rates is not None
        assert found.rates.slowest <= throughput(f, demand, routing="optimal").theta_upper * (1 + 1e-9)


def test_impossible_samples_are_refused() -> None:
    f, demand = two_flows(2)
    with pytest.raises(ParameterError, match="samples is 0"):
        throughput(f, demand, routing="single-path", samples=0)
