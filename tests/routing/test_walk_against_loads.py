"""Random walks against fluid link loads: two programs that share nothing must agree on every arc."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import topo
from topo.build.assembly import Assembly
from topo.errors import ParameterError
from topo.fabric import FORWARDS_ALL, Fabric, Origin, State
from topo.routing.loads import link_loads
from topo.routing.next_hops import NextHops
from topo.routing.scheme import Routing
from topo.routing.walk import at_random, lost_mask, walk
from topo.traffic.demand import Demand

WALKS = 3000


def relaying_hosts() -> Fabric:
    """A 4 x 4 torus of endpoints that forward, one link doubled."""
    assembly = Assembly("torus")
    node = assembly.add_nodes(
        [f"n{i}" for i in range(16)], kind="host", is_endpoint=True, tier=0, forwards=FORWARDS_ALL
    )
    grid = node.reshape(4, 4)
    assembly.connect(grid.ravel(), np.roll(grid, 1, axis=0).ravel(), 100)
    assembly.connect(grid.ravel(), np.roll(grid, 1, axis=1).ravel(), 100)
    assembly.connect(node[:1], node[1:2], 100)
    return assembly.finish(Origin())


BUILDS: dict[str, Callable[[], Fabric]] = {
    "fat-tree": lambda: topo.fat_tree(6),
    "parallel": lambda: topo.leaf_spine(4, 3, 4, parallel=2),
    "rail": lambda: topo.rail_optimized(8, rails=4, hosts_per_unit=4, radix=16),
    "planes": lambda: topo.multi_plane(16, planes=4, radix=8, lanes=4),
    "opened": lambda: topo.server("dgx-h100"),
    "domain": lambda: topo.load("nvidia-gb200-nvl72"),
    "shared chips": lambda: topo.load("nvidia-superpod-gb200-2su-nvl72"),
    "dual-homed": lambda: topo.load("alibaba-hpn-segment"),
    "relaying hosts": lambda: relaying_hosts(),
}


@pytest.mark.parametrize("share", [0.0, 0.08])
@pytest.mark.parametrize(
    "routing",
    [Routing(), Routing(lag=True), Routing(up_down=True), Routing(pxn="always"), Routing(pxn="never")],
    ids=str,
)
@pytest.mark.parametrize("name", list(BUILDS))
def test_mean_of_walks_is_the_fluid_load(name: str, routing: Routing, share: float) -> None:
    fabric = BUILDS[name]()
    if routing.up_down and name == "relaying hosts":
        with pytest.raises(ParameterError, match="forwards for others"):
            NextHops.of(fabric, routing=routing)
        return
    random = np.random.default_rng(11)
    state = State.without(fabric, links=np.flatnonzero(random.random(len(fabric.links)) < share))
    source = random.choice(fabric.endpoints, 12)
    sink = random.choice(fabric.endpoints, 12)
    source, sink = source[source != sink], sink[source != sink]
    loads = link_loads(
        fabric, Demand.of(fabric, "some", source=source, sink=sink, gbps=1.0), routing=routing, state=state
    )
    hops = NextHops.of(fabric, state=state, routing=routing)
    arcs = walk(hops, np.repeat(source, WALKS), np.repeat(sink, WALKS), at_random(5))
    assert lost_mask(arcs).sum() == loads.lost_pairs * WALKS
    seen = np.bincount(arcs[arcs >= 0], minlength=2 * len(fabric.links)) / WALKS
    # Each flow crosses an arc with some probability, so a load has at most the variance load / walks.
    error = np.sqrt(np.maximum(loads.arc_gbps, 1 / WALKS) / WALKS)
    assert (np.abs(seen - loads.arc_gbps) <= 5.5 * error).all()
    assert ((seen > 0) <= (loads.arc_gbps > 1e-12)).all()
