"""Hosts and switches cabled in a way of their own: what is meant raises nothing, a fault beside it is told."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from injected_faults import as_read, said_items
from injected_origins import nearest_items
from test_wiring_origins import exchanged, link_between

import topo
from topo.fabric import Fabric
from topo.wiring import Validation, validate

HEADER = "A-Node Name,A-Port,Z-Node Name,Z-Port,Speed"
RAILS, PLANES, DOWN = 4, 2, 38
BETWEEN = "between two units, last on the leaves of one and first on the other's: "


def filled(hosts: int = 60) -> Fabric:
    """Two planes of leaves with 38 ports down, filled host by host: four adapters of some hosts are on two leaves."""
    return topo.multi_plane(hosts, planes=PLANES, rails=RAILS, radix=64, taper=1.5)


def stand_between(hosts: int = 60) -> list[str]:
    """Hosts whose first and last adapter are in different leaves, by arithmetic."""
    return [f"host-{i + 1:02d}" for i in range(hosts) if i * RAILS // DOWN != (i * RAILS + RAILS - 1) // DOWN]


def above_note(answer: Validation) -> list[tuple[str, str]]:
    return [(one.code, one.place) for one in answer.findings if one.severity != "note"]


def test_hosts_between_two_units_are_known_and_raise_nothing() -> None:
    fabric = filled()
    assert len(stand_between()) == 3
    for side in (fabric, as_read(fabric)):
        answer = validate(side, consequence=False)
        assert above_note(answer) == []
        assert [rule for rule in answer.rules if rule.startswith(BETWEEN)] == [BETWEEN + ", ".join(stand_between())]


@pytest.mark.parametrize("hosts", [16, 21, 22, 37, 221])
def test_the_last_leaf_may_hold_the_rest_of_one_host(hosts: int) -> None:
    """Forty-two ports down: of 16 hosts of eight adapters the last has two alone on the fourth leaf of each plane."""
    fabric = topo.multi_plane(hosts, planes=2, rails=8, radix=64, taper=2.0)
    assert above_note(validate(as_read(fabric), consequence=False)) == []


@pytest.mark.parametrize("adapter", ["nic-1/1", "nic-2/2", "nic-3/1", "nic-4/2"])
def test_a_host_between_two_units_that_lacks_an_adapter_is_told_with_leaf_and_port(adapter: str) -> None:
    fabric, host = filled(), stand_between()[0]
    nic, _, plane = adapter.partition("/")
    row = int(np.flatnonzero(fabric.nodes.name == f"{host}-{nic}")[0])
    leaf = f"plane-{plane}-leaf-{1 + (int(host[5:]) * RAILS - RAILS + int(nic[4:]) - 1) // DOWN}"
    link = link_between(fabric, f"{host}-{nic}", leaf)
    port = fabric.links.port_b[link] if fabric.link_a[link] == row else fabric.links.port_a[link]
    (one,) = validate(as_read(fabric.without(links=[link])), consequence=False).findings
    assert (one.code, one.place) == ("nic-missing", f"{host} {adapter}")
    assert f"({leaf} port {fabric.ports.label[port]})" in one.evidence


def test_exchanged_adapters_of_a_host_between_two_units_are_told() -> None:
    fabric, host = filled(), stand_between()[0]
    leaf = {nic: f"plane-1-leaf-{1 + (int(host[5:]) * RAILS - RAILS + nic - 1) // DOWN}" for nic in (1, 4)}
    assert leaf[1] != leaf[4]
    after = exchanged(fabric, *(link_between(fabric, f"{host}-nic-{nic}", leaf[nic]) for nic in (1, 4)))
    answer = validate(as_read(after), consequence=False)
    # In one plane the two units are alike for it: only two planes that differ tell.
    assert above_note(answer) == [("rail-swap", f"{host} nic-1/1, nic-4/1")]


def test_adapters_on_another_unit_in_the_midst_of_it_are_told() -> None:
    """Not last here and first there: no place between two units, but two cables in a wrong rack."""
    fabric = filled()
    links = [
        link_between(fabric, f"{host}-nic-{nic}", f"plane-1-leaf-{leaf}")
        for nic in (3, 4)
        for host, leaf in (("host-04", 1), ("host-14", 2))
    ]
    after = exchanged(exchanged(fabric, *links[:2]), *links[2:])
    answer = validate(as_read(after), consequence=False)
    assert {code for code, _ in above_note(answer)} == {"swapped"}
    said = " ".join(one.evidence for one in answer.findings)
    assert all(f"{host} nic-{nic}/1" in said for host in ("host-04", "host-14") for nic in (3, 4))


def small_units(path: Path, n_beside: int, odd: tuple[int, int]) -> Validation:
    """Two units of two leaves; hosts of two adapters, that of host-1 on the leaves ``odd``, ``n_beside`` more there."""
    lines = [HEADER]
    for unit, n_hosts in ((0, n_beside + 1), (1, 6)):
        for host in range(n_hosts):
            leaves = odd if unit == host == 0 else (0, 1)
            for nic, leaf in enumerate(leaves):
                port = 2 * host + nic + 1
                lines.append(f"leaf-{2 * unit + leaf + 1},{port},host-{10 * unit + host + 1},nic-{nic + 1},100G")
        for leaf in (0, 1):
            lines += [f"leaf-{2 * unit + leaf + 1},{41 + spine},spine-{spine + 1},{2 * unit + leaf + 1},100G"
                      for spine in (0, 1)]  # fmt: skip
    path.write_text("\n".join(lines) + "\n")
    return validate(path, consequence=False)


@pytest.mark.parametrize(("n_beside", "told"), [(2, False), (3, True), (5, True)])
def test_a_bundle_to_one_leaf_is_a_wrong_rail_only_beside_enough_of_its_kind(
    tmp_path: Path, n_beside: int, told: bool
) -> None:
    """Two hosts on both leaves do not say what a third, with both ports on one, is meant to be."""
    answer = small_units(tmp_path / "bundle.csv", n_beside, (0, 0))
    assert above_note(answer) == ([("rail-wrong", "host-1 nic-2")] if told else [])
    said = "on other leaves and not judged, 2 or fewer of their kind beside them: host-1"
    assert (said in answer.rules) == (not told)


def test_crossed_adapters_are_told_beside_two_of_its_kind(tmp_path: Path) -> None:
    """No bundle does that, and all other hosts, of every unit, have them in order."""
    answer = small_units(tmp_path / "crossed.csv", 2, (1, 0))
    assert above_note(answer) == [("rail-swap", "host-1 nic-1, nic-2")]


def test_leaves_that_lack_a_bundle_where_most_pairs_lack_one_cable_are_told() -> None:
    """Their whole pairs of 18 are not a pattern of their own beside the 17 that most others have left."""
    good = topo.load("nvidia-superpod-b300-xdr-1su")
    leaves, spines = range(1, 9), range(1, 5)
    bundles = {(3, 2), (5, 1)}
    gone: list[int] = []
    for leaf in leaves:
        for spine in spines:
            a, b = (good.nodes.name[ends] for ends in (good.link_a, good.link_b))
            names = {f"su-1-leaf-{leaf}", f"spine-{spine}"}
            rows = [i for i in range(len(good.links)) if {a[i], b[i]} == names]
            # One cable of every pair, at other ports each, but none of the two leaves that lack a bundle.
            if (leaf, spine) in bundles:
                gone += rows
            elif leaf not in {3, 5}:
                gone.append(rows[(leaf + spine) % len(rows)])
    damaged = good.without(links=gone)
    answer = validate(as_read(damaged), consequence=False)
    absent = {place for code, place in above_note(answer) if code == "pair-absent"}
    assert absent == {f"su-1-leaf-{leaf} - spine-{spine}" for leaf, spine in bundles}
    assert "pattern-other" not in [one.code for one in answer.findings]


@pytest.mark.parametrize(
    ("zones", "leaves", "joints"),
    [(4, 11, 4), (3, 3, 3), (2, 15, 4), (3, 4, 4), (2, 25, 2), (3, 3, 2), (2, 4, 3), (2, 2, 2)],
)
def test_zones_that_spread_one_cable_a_leaf_over_their_joints_raise_nothing(
    zones: int, leaves: int, joints: int
) -> None:
    """A joint that only one leaf in five of a zone reaches serves its share of them; no leaf has one cable too many."""
    fabric = topo.joined_zones(zones, leaves=leaves, spines=6, hosts_per_leaf=4, joints=joints)
    assert above_note(validate(as_read(fabric), consequence=False)) == []


def test_a_leaf_with_a_cable_too_many_to_a_joint_is_told() -> None:
    good = topo.joined_zones(2, leaves=15, spines=7, hosts_per_leaf=8, joints=4)
    link = link_between(good, "zone-1-leaf-05", "zone-1-spine-3")
    joint = int(np.flatnonzero(good.nodes.name == "joint-4")[0])
    free = np.setdiff1d(np.flatnonzero(good.ports.node == joint), np.append(good.links.port_a, good.links.port_b))
    port_b = good.links.port_b.copy()
    port_b[link] = free[0]
    after = replace(good, links=replace(good.links, port_b=port_b))
    answer = validate(as_read(after), consequence=False)
    assert [code for code, _ in above_note(answer)] == ["miswired"]
    assert len(nearest_items(good, after, set())) == 2


def test_a_spine_that_exchanged_most_of_its_pairs_is_no_pattern_of_its_own() -> None:
    """Of four pairs of two cables three have one each, three cables go to cores of others: as many, and wrong."""
    good = topo.clos(512, tiers=3, radix=16)
    names = [good.nodes.name[ends] for ends in (good.link_a, good.link_b)]

    def cores(spine: str) -> list[str]:
        rows = (names[0] == spine) | (names[1] == spine)
        return sorted({str(end) for ends in names for end in ends[rows] if str(end).startswith("core")})

    after = good
    others = ("pod-5-spine-8", "pod-1-spine-7", "pod-3-spine-6")
    for i, other in enumerate(others):
        assert not set(cores(other)) & set(cores("pod-8-spine-2"))
        links = (link_between(good, spine, cores(spine)[at]) for spine, at in (("pod-8-spine-2", i), (other, 3)))
        after = exchanged(after, *links)
    answer = validate(as_read(after), consequence=False)
    said = said_items(answer)
    assert len(said) == 12 and said == nearest_items(good, after, said)
    assert "pattern-other" not in [one.code for one in answer.findings]
