"""Loads in many states off one numbering against numbering each state anew."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable

import numpy as np
import pytest

import topo
from topo.build.assembly import Assembly
from topo.errors import InputError
from topo.fabric import FORWARDS_NOTHING, Fabric, State
from topo.routing import reuse
from topo.routing.loads import link_loads
from topo.routing.scheme import Routing
from topo.traffic import Demand, all_to_all, permutation

BUILDS: dict[str, Callable[[], Fabric]] = {
    "fat-tree": lambda: topo.fat_tree(6),
    "parallel": lambda: topo.leaf_spine(6, 3, 4, parallel=2),
    "planes": lambda: topo.multi_plane(16, planes=4, radix=8, lanes=4),
    "dual-homed": lambda: topo.load("alibaba-hpn-segment"),
    "opened": lambda: topo.server("dgx-h100"),
    "domain": lambda: topo.load("nvidia-gb200-nvl72"),
}


def random_state(fabric: Fabric, rng: np.random.Generator) -> State:
    """A few links down, or many, or nodes."""
    share = float(rng.choice([0.005, 0.02, 0.2]))
    links = np.flatnonzero(rng.random(len(fabric.links)) < share)
    nodes = rng.choice(len(fabric.nodes), int(rng.integers(0, 3)))
    return State.without(fabric, nodes=nodes, links=links)


@pytest.mark.parametrize("routing", [Routing(), Routing("wcmp", weights="local"), Routing(up_down=True)], ids=str)
@pytest.mark.parametrize("name", list(BUILDS))
def test_same_loads(name: str, routing: Routing, monkeypatch: pytest.MonkeyPatch) -> None:
    fabric, rng = BUILDS[name](), np.random.default_rng(len(name))
    for demand in (all_to_all(fabric), permutation(fabric, seed=1)):
        states = [None, *(random_state(fabric, rng) for _ in range(5)), None]
        kept = [link_loads(fabric, demand, routing=routing, state=state) for state in states]
        with monkeypatch.context() as patch:
            patch.setattr(reuse, "_MOST_LINKS", -1)
            anew = [link_loads(fabric, demand, routing=routing, state=state) for state in states]
        for one, other in zip(kept, anew, strict=True):
            np.testing.assert_allclose(one.arc_gbps, other.arc_gbps, rtol=1e-12, atol=1e-10)
            np.testing.assert_array_equal(one.capacity_gbps, other.capacity_gbps)
            assert (one.lost_pairs, one.lost_gbps) == (other.lost_pairs, pytest.approx(other.lost_gbps))
        # Failures leave what is kept as it was.
        np.testing.assert_array_equal(kept[0].arc_gbps, kept[-1].arc_gbps)


def test_what_is_kept_goes_with_the_fabric_and_is_bounded() -> None:
    fabric = topo.fat_tree(4)
    demand = all_to_all(fabric)
    for cost in range(1, 6):
        link_loads(fabric, demand, routing=Routing(costs={"access": cost}))
    assert len(reuse._wholes[fabric]) == 2
    alive = weakref.ref(fabric)
    del fabric, demand
    gc.collect()
    assert alive() is None


def test_an_unknown_rate_matters_only_where_the_link_is_there() -> None:
    assembly = Assembly("two leaves")
    leaves = assembly.add_nodes(["leaf-1", "leaf-2"], kind="switch", tier=1)
    hosts = assembly.add_nodes(["a", "b"], kind="host", is_endpoint=True, forwards=FORWARDS_NOTHING)
    assembly.connect(hosts, leaves, 100, kind="access")
    assembly.connect(leaves[:1], leaves[1:], 100)
    assembly.connect(leaves[:1], leaves[1:], np.nan)
    fabric = assembly.finish()
    demand = Demand.of(fabric, "one", source=hosts[:1], sink=hosts[1:], gbps=1)
    with pytest.raises(InputError, match="unknown"):
        link_loads(fabric, demand)
    assert link_loads(fabric, demand, state=State.without(fabric, links=[3])).theta == 100
