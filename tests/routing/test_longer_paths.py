"""Routings that shortest paths do not give: Valiant and dimension order as routings, where they fit and where not."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import topo
from topo.cli import main
from topo.fabric import Fabric
from topo.routing.dimension_order import dimension_order_paths
from topo.routing.scheme import Routing

FITS: dict[str, Callable[[], Fabric]] = {
    "dragonfly": lambda: topo.dragonfly(p=2, a=4, h=2),
    "dragonfly_plus": lambda: topo.dragonfly_plus(2, 2, 2, 1),
    "hyperx": lambda: topo.hyperx([4, 3], 2),
    "flattened_butterfly": lambda: topo.flattened_butterfly(3, 3),
    "slim_fly": lambda: topo.slim_fly(3),
    "jellyfish": lambda: topo.jellyfish(10, 4, 2, seed=1),
    "xpander": lambda: topo.xpander(4, 3, 2, seed=1),
    "torus": lambda: topo.torus([4, 4]),
    "mesh": lambda: topo.mesh([4, 4]),
    "hamming_mesh": lambda: topo.hamming_mesh([2, 2], [2, 2]),
    "bcube": lambda: topo.bcube(3, 1),
    "dcell": lambda: topo.dcell(3, 1),
}


@pytest.mark.parametrize(("p", "a", "h", "minimal"), [(2, 4, 2, 1 / 8), (1, 2, 1, 1 / 2), (3, 6, 3, 1 / 18)])
def test_the_trap_of_minimal_paths_on_a_dragonfly(p: int, a: int, h: int, minimal: float) -> None:
    """Group to next group: minimal paths share one global link, 1/(a p); by random endpoints each leg is uniform."""
    fabric = topo.dragonfly(p=p, a=a, h=h)
    n = len(fabric.endpoints)
    neighbours = topo.traffic.shift(fabric, by=a * p)
    assert topo.throughput(fabric, neighbours).theta_lower == pytest.approx(minimal)
    found = topo.throughput(fabric, neighbours, routing="valiant")
    # Each leg puts (a p)^2 / N on every global link, as uniform traffic does, and (N - 1) / N on both ends' own links.
    own, between = n / (2 * (n - 1)), n / (2 * (a * p) ** 2)
    assert found.theta_lower <= own + 1e-12 and found.network_theta is not None and found.network_theta <= between
    assert found.theta_lower == pytest.approx(min(own, found.network_theta))
    uniform = topo.link_loads(fabric, topo.traffic.all_to_all(fabric))
    assert found.network_theta == pytest.approx(uniform.network_theta / 2 * n / (n - 1))
    assert found.n_pairs == n and found.wanted_gbps == pytest.approx(neighbours.total_gbps)


def test_the_answer_for_minimal_paths_names_the_way_out() -> None:
    fabric = FITS["dragonfly"]()
    said = topo.throughput(fabric, topo.traffic.shift(fabric, by=8)).assumptions
    assert any("routing valiant carries theta 0.507, 0.5294 of the links between switches" in text for text in said)
    assert not any("valiant" in text for text in topo.throughput(fabric, topo.traffic.all_to_all(fabric)).assumptions)


@pytest.mark.parametrize("family", FITS)
def test_valiant_is_the_demand_of_two_legs_on_every_family_it_fits(family: str) -> None:
    fabric = FITS[family]()
    demand = topo.traffic.shift(fabric, by=3)
    loads = topo.link_loads(fabric, demand, routing="valiant")
    legs = topo.link_loads(fabric, topo.traffic.valiant(fabric, demand))
    assert loads.arc_gbps == pytest.approx(legs.arc_gbps) and not loads.lost_pairs
    assert loads.arc_gbps.sum() == pytest.approx(legs.arc_gbps.sum())


@pytest.mark.parametrize("name", ["fat-tree-k4", "nvidia-superpod-h100-1su", "deepseek-mpft", "alibaba-hpn-segment"])
def test_fabrics_of_tiers_refuse_valiant_and_name_the_families(name: str) -> None:
    fabric = topo.load(name)
    with pytest.raises(topo.ParameterError, match="valiant.*fits dragonfly, dragonfly_plus, hyperx"):
        topo.link_loads(fabric, topo.traffic.shift(fabric), routing="valiant")


def test_endpoints_that_are_down_relay_for_nobody() -> None:
    fabric = FITS["dragonfly"]()
    down = fabric.rows("host-40")
    present = np.ones(len(fabric.nodes), bool)
    present[down] = False
    ends = np.setdiff1d(fabric.endpoints, down)
    demand = topo.Demand.of(fabric, "ring", source=ends, sink=np.roll(ends, 1), gbps=np.ones(len(ends)))
    loads = topo.link_loads(fabric, demand, routing="valiant", state=topo.State(node_present=present))
    assert loads.lost_pairs == 0
    out = np.bincount(fabric.arc_source, weights=loads.arc_gbps, minlength=len(present))
    assert out[down] == 0 and out[ends] == pytest.approx(2 * (len(ends) - 1) / len(ends))


@pytest.mark.parametrize("family", ["torus", "mesh", "hyperx", "flattened_butterfly"])
def test_dimension_order_as_a_routing_loads_what_its_paths_load(family: str) -> None:
    fabric = FITS[family]()
    demand = topo.traffic.shift(fabric, by=5)
    source, sink, gbps = demand.pairs()
    arcs = dimension_order_paths(fabric, source, sink)
    most = np.bincount(arcs[arcs >= 0], minlength=2 * len(fabric.links)).max()
    found = topo.throughput(fabric, demand, routing="dimension-order")
    share = fabric.links.capacity_gbps[0] / (most * gbps[0])
    assert found.exact and found.theta_lower == pytest.approx(min(1.0, share))
    assert Routing.of("dimension-order") == Routing("single-path", table="dimension-order")


@pytest.mark.parametrize(
    ("fabric", "why"),
    [
        (lambda: topo.hamming_mesh([2, 2], [3, 3]), "has switches without coordinates"),
        (lambda: topo.bcube(3, 1), "has switches without coordinates"),
        (lambda: topo.dragonfly(p=2, a=4, h=2), "has no coordinates"),
        (lambda: topo.torus([4, 2], twist=[[2, 1, 2]]), "is twisted"),
    ],
)
def test_families_without_an_order_of_dimensions_are_refused(fabric: Callable[[], Fabric], why: str) -> None:
    built = fabric()
    with pytest.raises(topo.ParameterError, match=f"{why}.*is for torus, mesh"):
        topo.throughput(built, topo.traffic.shift(built), routing="dimension-order")


@pytest.mark.parametrize("verb", ["throughput", "collective", "goodput", "fail"])
@pytest.mark.parametrize("routing", ["valiant", "dimension-order"])
def test_verbs_that_take_a_routing_take_these(verb: str, routing: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([verb, "flattened-butterfly-4-3", "--routing", routing]) == 0
    assert routing in capsys.readouterr().out


def test_a_collective_by_way_of_all_takes_longer_where_minimal_paths_are_even() -> None:
    fabric = FITS["dragonfly"]()
    minimal, spread = (
        topo.collective_time(fabric, None, "all_to_all", bytes=2**30, alpha_us=0, routing=how).time_s
        for how in ("ecmp", "valiant")
    )
    # Own links carry each byte once more, and a share of 1 / N of both legs stays at home.
    assert spread / minimal == pytest.approx(2 * 71 / 72, rel=1e-6)
