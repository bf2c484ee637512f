"""Stripes: flows spread over the links between accelerators, and are hashed outside alone."""

from __future__ import annotations

import numpy as np
import pytest

import topo
from topo.fabric import State
from topo.routing.scheme import Routing
from topo.routing.stripes import Stripes
from topo.traffic.demand import Demand


@pytest.mark.parametrize("table", ["hash", "destination-modulo", "random"])
def test_permutation_in_a_scale_up_domain(table: str) -> None:
    """72 accelerators with 18 links each: every flow gets all 18, so the permutation fits whole."""
    fabric = topo.load("nvidia-gb200-nvl72")
    demand = topo.traffic.permutation(fabric)
    found = topo.throughput(fabric, demand, routing=Routing("single-path", table=table), samples=3)
    assert found.theta_lower == found.theta_upper == pytest.approx(1)
    even = topo.throughput(fabric, demand, routing="ecmp")
    assert found.arc_gbps == pytest.approx(even.arc_gbps)


def test_lost_lanes_lower_the_stripe() -> None:
    """Six of 18 lanes of one accelerator fail: its flow gets two thirds, all others everything."""
    fabric = topo.load("nvidia-gb200-nvl72")
    first = fabric.endpoints[0]
    mine = np.flatnonzero((fabric.link_a == first) | (fabric.link_b == first))
    mine = mine[fabric.links.kind.is_any("scale_up")[mine]]
    assert len(mine) == 18
    state = State.without(fabric, links=mine[:6])
    demand = Demand.of(fabric, "shift", source=fabric.endpoints, sink=np.roll(fabric.endpoints, 1), gbps=7200)
    found = topo.throughput(fabric, demand, routing="single-path", state=state, samples=3)
    assert found.theta_lower == pytest.approx(2 / 3)
    assert found.rates is not None and found.rates.full == pytest.approx(70 / 72)
    assert set(found.binding_links.rows.tolist()) <= set(mine[6:].tolist())


def test_groups() -> None:
    fabric = topo.server("dgx-h100")
    stripes = Stripes.of(fabric)
    scale_up = np.repeat(fabric.links.kind.is_any("scale_up"), 2)
    # Eight accelerators, out and in, whatever the chips and the lanes to each.
    assert len(np.unique(stripes.leader[scale_up])) == 16
    outside = np.repeat(fabric.links.kind.is_any("access", "scale_out"), 2)
    assert (stripes.leader[outside] == np.flatnonzero(outside)).all()
    capacity = stripes.capacity(np.repeat(fabric.links.capacity_gbps, 2))
    leaders = np.unique(stripes.leader[scale_up])
    assert capacity[leaders] == pytest.approx(18 * 200)


def test_a_plain_fabric_has_none() -> None:
    fabric = topo.leaf_spine(4, 2, 4, parallel=2)
    assert (Stripes.of(fabric).leader == np.arange(2 * len(fabric.links))).all()


def test_hosts_outside_still_collide() -> None:
    """Opened hosts: the routed fabric hashes, so a permutation between hosts keeps its collisions."""
    fabric = topo.load("nvidia-superpod-h100-4su-dgx")
    ends = fabric.endpoints[:512]
    demand = Demand.of(fabric, "shift", source=ends, sink=np.roll(ends, 257), gbps=400)
    found = topo.throughput(fabric, demand, routing="single-path", samples=3)
    assert 0.1 < found.theta_upper < 0.6
