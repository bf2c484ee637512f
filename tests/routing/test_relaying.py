"""Accelerators that relay for others of their host: where each rule sends traffic, in loads and in walks."""

from __future__ import annotations

import numpy as np
import pytest

import topo
from topo.build.assembly import Assembly
from topo.build.rail import RailPlan
from topo.fabric import FORWARDS_NOTHING, FORWARDS_OWN_HOST, Fabric
from topo.routing.loads import link_loads
from topo.routing.next_hops import NextHops
from topo.routing.relaying import find_relaying
from topo.routing.scheme import Routing
from topo.routing.walk import at_random, walk
from topo.traffic.demand import Demand


@pytest.fixture(scope="module")
def unit() -> Fabric:
    """32 opened hosts in one scalable unit."""
    return topo.cluster(topo.ClusterHosts("dgx-h100", 32), RailPlan(hosts_per_unit=32))


@pytest.mark.parametrize(("rule", "share"), [("needed", 7 / 8), ("always", 0.0), ("never", 7 / 8)])
def test_share_over_spines(unit: Fabric, rule: str, share: float) -> None:
    """All-to-all between hosts of one unit: 7 of 8 pairs are on different rails, and none need a spine with PXN."""
    loads = link_loads(unit, topo.traffic.all_to_all(unit), routing=Routing(pxn=rule))
    tail, head = unit.nodes.tier[unit.arc_source], unit.nodes.tier[unit.arc_target]
    leaves = loads.arc_gbps[(tail < 1) & (head == 1)].sum()
    assert loads.arc_gbps[(tail == 1) & (head == 2)].sum() / leaves == pytest.approx(share, abs=1e-12)
    # What enters the leaves is all traffic between hosts, whoever relays.
    line = topo.traffic.all_to_all(unit).blocks[0].gbps
    assert leaves == pytest.approx(256 * 248 * line)
    assert sum("PXN" in said for said in loads.assumptions if not said.startswith("routing ")) == 1


def test_the_senders_neighbour_relays(unit: Fabric) -> None:
    """gpu-0 of one host to gpu-5 of another: NVSwitch, gpu-5 of the same host, its adapter, rail 5, and the sink."""
    host, index = unit.nodes.host.codes, unit.nodes.local_index
    ends = unit.endpoints
    source = ends[(host[ends] == host[ends[0]]) & (index[ends] == 0)]
    sink = ends[(host[ends] != host[ends[0]]) & (index[ends] == 5)][:1]
    hops = NextHops.of(unit, routing=Routing(pxn="always"))
    arcs = walk(hops, np.repeat(source, 400), np.repeat(sink, 400), at_random(1))
    crossed = np.unique(unit.arc_source[arcs[1:][arcs[1:] >= 0]])
    accelerators = crossed[unit.nodes.is_endpoint[crossed]]
    assert [(int(host[v]), int(index[v])) for v in accelerators] == [(int(host[source[0]]), 5)]
    assert unit.nodes.tier[crossed].max() == 1
    loads = link_loads(unit, Demand.of(unit, "one", source=source, sink=sink, gbps=1), routing=Routing(pxn="always"))
    assert set(np.flatnonzero(loads.arc_gbps > 1e-12)) == set(arcs[arcs >= 0].tolist())


def test_permutation_on_a_superpod() -> None:
    """Rails and spines are non-blocking, so a permutation fits whole unless relays crowd on a rail."""
    fabric = topo.load("nvidia-superpod-h100-4su-dgx")
    demand = topo.traffic.permutation(fabric)
    assert topo.throughput(fabric, demand).theta_lower == pytest.approx(1)
    assert topo.throughput(fabric, demand, routing=Routing(pxn="never")).theta_lower == pytest.approx(1)


def test_costs_stay_small_where_no_host_is_opened() -> None:
    network = NextHops.of(topo.rail_optimized(8, rails=4, hosts_per_unit=4, radix=16)).network
    for rule in ("needed", "always", "never"):
        routing = Routing(pxn=rule)
        found = find_relaying(network, routing)
        assert found.costs == dict(routing.costs) and not found.accelerators.any()


@pytest.mark.parametrize("scale_up", [1, 3])
def test_always_holds_for_other_costs(unit: Fabric, scale_up: int) -> None:
    routing = Routing(pxn="always", costs={"scale_up": scale_up, "host_io": 4})
    loads = link_loads(unit, topo.traffic.all_to_all(unit), routing=routing)
    spines = unit.nodes.tier[unit.arc_target] == 2
    assert loads.arc_gbps[spines].max() == 0


@pytest.mark.parametrize("rule", ["needed", "always", "never"])
def test_a_neighbour_that_nothing_enters_brings_nothing(rule: str) -> None:
    """Two adapters lead to gpu-0 alike; that gpu-1 hangs on one of their PCIe switches takes no weight from it.

    gpu-0 gets 200 Gb/s from each PCIe switch, and from a sender of 400 all of it. Counting gpu-1's link as inflow of
    the first switch gives that one a third of the traffic instead of half: theta 3/4.
    """
    assembly = Assembly("two adapters")
    leaf = assembly.add_nodes(["leaf"], kind="switch", tier=1)
    own = {"host": "a", "forwards": FORWARDS_OWN_HOST}
    gpus = assembly.add_nodes(["gpu-0", "gpu-1"], kind="accelerator", is_endpoint=True, **own)
    pcie = assembly.add_nodes(["pcie-0", "pcie-1"], kind="pcie_switch", tier=-1, **own)
    nics = assembly.add_nodes(["nic-0", "nic-1"], kind="nic", tier=-1, **own)
    assembly.connect(np.repeat(gpus[0], 2), pcie, 200, kind="host_io")
    assembly.connect(gpus[1:], pcie[:1], 400, kind="host_io")
    assembly.connect(nics, pcie, 400, kind="host_io")
    assembly.connect(nics, np.repeat(leaf, 2), 400, kind="access")
    sender = assembly.add_nodes(["sender"], kind="nic", is_endpoint=True, forwards=FORWARDS_NOTHING)
    assembly.connect(sender, leaf, 400, kind="access")
    fabric = assembly.finish()
    demand = Demand.of(fabric, "one", source=sender, sink=gpus[:1], gbps=400)
    assert link_loads(fabric, demand, routing=Routing("wcmp", pxn=rule)).theta == pytest.approx(1, rel=1e-12)
    # Walks weigh alike: half of many go over each adapter.
    hops = NextHops.of(fabric, routing=Routing("wcmp", pxn=rule))
    arcs = walk(hops, np.repeat(sender, 4000), np.repeat(gpus[:1], 4000), at_random(1))
    over = np.isin(fabric.arc_target[arcs[arcs >= 0]], nics[:1]).sum()
    assert over / 4000 == pytest.approx(0.5, abs=4 * 0.5 / 4000**0.5)
