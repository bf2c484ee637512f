"""Buildable or not: used ports against the listed parts, breakouts and splits counted."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import topo
from topo.analysis.buildable import buildable
from topo.build.assembly import Assembly, numbered
from topo.parts import SWITCHES
from topo.table import Labels


def star(*groups: tuple[int, float], part: str | None = None, kind: str = "access") -> topo.Fabric:
    """One leaf with so many hosts at each rate."""
    assembly = Assembly("star")
    leaf = assembly.add_nodes(["leaf"], kind="switch", tier=1, part=part)
    for i, (count, rate) in enumerate(groups):
        hosts = assembly.add_nodes(numbered(f"h{i}-{{}}", np.arange(count)), kind="host", is_endpoint=True)
        assembly.connect(hosts, np.repeat(leaf, count), rate, kind=kind)
    return assembly.finish()


@pytest.mark.parametrize(
    ("groups", "fits"),
    [
        (((128, 400),), True),
        (((129, 400),), False),
        (((136, 200), (60, 400)), True),
        (((136, 200), (61, 400)), False),
        (((512, 100),), True),
        (((513, 100),), False),
        (((64, 800),), True),
        (((64, 800), (1, 100)), False),
    ],
)
def test_a_51t_switch_holds_what_its_cages_hold(groups: tuple[tuple[int, float], ...], fits: bool) -> None:
    (use,) = buildable(star(*groups)).uses
    assert ("ethernet-51t" in use.parts) is fits
    assert use.total_gbps == sum(count * rate for count, rate in groups)


def test_more_than_any_chip_is_said_with_both_numbers() -> None:
    found = buildable(star((120, 400), (64, 400)))
    assert not found.all_buildable
    text = str(found)
    assert "73.6 Tb/s" in text and "51.2 Tb/s" in text and "184 x 400 Gb/s" in text
    assert found.uses[0].parts == ()


def test_a_port_slower_than_every_mode_takes_a_whole_port() -> None:
    (use,) = buildable(star((40, 56), part="qm8700")).uses
    assert use.parts == ("qm8700",)  # 40 of its 80 ports of 100 Gb/s
    (use,) = buildable(star((81, 56), part="qm8700")).uses
    assert use.parts == () and use.nearest == "qm8700"


@pytest.mark.parametrize("ports", [(600, 10), (8, 1600)])
def test_a_refusal_by_ports_alone_names_the_ports(ports: tuple[int, float]) -> None:
    (row,) = buildable(star(ports)).rows()
    assert "has 51.2 Tb/s, but as 64 x 800 Gb/s or 128 x 400 Gb/s" in str(row.value)


def test_a_named_part_is_held_to_itself_and_a_chassis_only_when_named() -> None:
    assert buildable(star((65, 400), part="qm9700")).uses[0].parts == ()
    assert "ethernet-51t" in buildable(star((65, 400))).uses[0].parts
    assert buildable(star((219, 400))).uses[0].parts == ()
    assert buildable(star((219, 400), part="arista-7808r3")).uses[0].parts == ("arista-7808r3",)


def test_inside_links_and_switches_of_hosts_do_not_count() -> None:
    fabric = star((200, 400), kind="scale_up")
    found = buildable(fabric)
    assert (found.uses, found.n_not_judged) == ((), 1)
    inside = dataclasses.replace(fabric.nodes, host=Labels.constant("h", len(fabric.nodes)))
    assert buildable(dataclasses.replace(fabric, nodes=inside)).n_not_judged == 0


def test_unknown_rates_are_not_judged() -> None:
    fabric = star((4, 400))
    rates = fabric.links.capacity_gbps.copy()
    rates[2] = np.nan
    found = buildable(dataclasses.replace(fabric, links=dataclasses.replace(fabric.links, capacity_gbps=rates)))
    assert (found.uses, found.n_not_judged, found.all_buildable) == ((), 1, True)


def test_every_part_holds_its_own_modes() -> None:
    for part in SWITCHES:
        for mode in part.modes:
            assert buildable(star((mode.n_ports, mode.gbps), part=part.name)).all_buildable
            assert not buildable(star((mode.n_ports + 1, mode.gbps), part=part.name)).all_buildable
