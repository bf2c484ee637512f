"""Lengths by hand, media by length and rate, one medium a cage, transceivers a cage, bundles a pair of racks."""

from __future__ import annotations

import math

import numpy as np
import pytest

import topo
from topo.design import CablingPlan, RackRules, cabling_plan
from topo.design.layout import UNIT_M
from topo.design.rules import CableRule, HallRule, RackRule
from topo.parts.media import MEDIA, medium_of, transceiver_of


def by_name(plan: CablingPlan, a: str, b: str) -> int:
    names = plan.boxes.name
    ends = zip(plan.boxes.a.tolist(), plan.boxes.b.tolist(), strict=True)
    return next(i for i, (x, y) in enumerate(ends) if {names[x], names[y]} == {a, b})


def test_a_length_by_hand() -> None:
    """Host at U1 of A01, leaf at the top of A01; spine at the top of another rack: up, along, down, and slack."""
    rules = RackRules(rack=RackRule(units=42), cables=CableRule(slack_percent=10, slack_m=0.25), spine="end")
    plan = cabling_plan(topo.leaf_spine(leaves=2, spines=2, hosts_per_leaf=4), racks=rules)
    layout, boxes = plan.layout, plan.boxes
    leaf, host, spine = (boxes.name.index(name) for name in ("leaf-1", "host-1", "spine-1"))
    assert (layout.unit[host], layout.unit[leaf], layout.unit[spine]) == (1, 42, 42)
    inside = (42 - 1) * UNIT_M
    i = by_name(plan, "leaf-1", "host-1")
    assert math.isclose(plan.routes.route_m[i], inside * 1.1 + 0.5)
    tray = 0.1 + 42 * UNIT_M + 0.5
    up = down = tray - (0.1 + 41.5 * UNIT_M)
    along = abs(int(layout.position[layout.of_box[leaf]] - layout.position[layout.of_box[spine]])) * 0.6
    j = by_name(plan, "leaf-1", "spine-1")
    assert layout.of_box[leaf] != layout.of_box[spine] and layout.row.max() == 1
    assert math.isclose(plan.routes.route_m[j], (up + down + along) * 1.1 + 0.5)


def test_lengths_are_sold_reach_their_medium_and_media_are_the_shortest_that_do() -> None:
    for name in ("nvidia-superpod-h100-4su", "deepseek-ft2", "nvidia-superpod-b300-xdr-1su", "cineca-leonardo"):
        plan = cabling_plan(topo.load(name))
        routes, rates = plan.routes, plan.boxes.fabric.links.capacity_gbps[plan.boxes.links]
        assert (routes.length_m >= routes.route_m - 1e-9).all()
        for length, way, row, rate in zip(
            routes.length_m.tolist(), routes.route_m.tolist(), routes.medium.tolist(), rates.tolist(), strict=True
        ):
            medium = MEDIA[row]
            assert length in medium.lengths_m and way <= medium.reach_m and rate <= medium.gbps


def test_every_plug_has_one_medium() -> None:
    """Long and short links that share a cage: all of them by the medium of the longest."""
    fabric = topo.load("nvidia-superpod-h100-4su")
    hall = HallRule(row_pitch_m=40, racks_per_row=9)
    plan = cabling_plan(fabric, racks=RackRules(hall=hall))
    plugs, medium = plan.schedule.plugs, plan.routes.medium
    assert len(set(medium.tolist())) > 1
    for ends in (plugs.a, plugs.b):
        low, high = np.full(len(plugs), 999), np.full(len(plugs), -1)
        np.minimum.at(low, ends, medium)
        np.maximum.at(high, ends, medium)
        used = high >= 0
        assert (low[used] == high[used]).all()


def test_copper_where_it_reaches_and_no_cage_is_torn() -> None:
    """Ports of their own: copper within the rack. Twin cages whose ports go to two hosts: fibre all over."""
    near = RackRules(rack=RackRule(units=20))
    single = cabling_plan(topo.leaf_spine(leaves=2, spines=2, hosts_per_leaf=4), racks=near)
    access = single.boxes.fabric.links.kind.is_any("access")[single.boxes.links]
    assert {MEDIA[row].kind for row in single.routes.medium[access].tolist()} == {"copper"}
    ends = [single.routes.ends[plug] for plug in single.schedule.plugs.a[access]]
    assert set(ends) == {None}
    twin = cabling_plan(topo.rail_optimized(4, rails=2, hosts_per_unit=2, radix=8, ports_per_cage=2), racks=near)
    spread = twin.boxes.fabric.links.kind.is_any("scale_out")[twin.boxes.links]
    assert "copper" not in {MEDIA[row].kind for row in twin.routes.medium[spread].tolist()}


def test_a_copper_cable_between_twin_cages_is_one_cable_of_two_links() -> None:
    fabric = topo.rail_optimized(4, rails=1, hosts_per_unit=4, radix=8, ports_per_cage=2)
    rules = RackRules(rack=RackRule(units=12), leaf="end_of_row", hall=HallRule(tray_m=0.0))
    plan = cabling_plan(fabric, racks=rules)
    up = fabric.links.kind.is_any("scale_out")[plan.boxes.links]
    assert {MEDIA[row].kind for row in plan.routes.medium[up].tolist()} == {"copper"}
    assert len(set(plan.routes.cable[up].tolist())) == 2 and sorted(plan.routes.leg[up].tolist()) == [1, 1, 2, 2]


def test_bundles_are_pairs_of_racks() -> None:
    plan = cabling_plan(topo.load("nvidia-superpod-h100-2su"))
    of_box, boxes = plan.layout.of_box, plan.boxes
    pairs = [
        frozenset((int(of_box[a]), int(of_box[b]))) for a, b in zip(boxes.a.tolist(), boxes.b.tolist(), strict=True)
    ]
    assert plan.n_bundles == len(set(pairs))
    assert len({(pair, int(bundle)) for pair, bundle in zip(pairs, plan.routes.bundle, strict=True)}) == plan.n_bundles


@pytest.mark.parametrize("kind", ["copper", "multimode", "single_mode"])
@pytest.mark.parametrize("gbps", [10, 25, 50, 56, 100, 200, 400, 448, 800, 1600])
def test_media_carry_what_is_asked(kind: str, gbps: float) -> None:
    found = medium_of(kind, gbps)
    if found is not None:
        assert found.kind == kind and found.gbps >= min(gbps, 800)
        assert all(transceiver_of(found, n).power_w > 0 for n in (1, 2, 3, 4, 8) if found.is_fibre)
    else:
        assert (kind, gbps > 400) in {("copper", True), ("multimode", True)}


def test_fibre_reaches_farther_down_the_list() -> None:
    for gbps in (25, 50, 100, 200, 400):
        reach = [medium_of(kind, gbps).reach_m for kind in ("copper", "multimode", "single_mode")]  # type: ignore[union-attr]
        assert reach == sorted(reach)
