"""One cause is one finding: what is cut off, a switch towards one tier, a card, a rack, a host; and nothing less is."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from injected_faults import as_read

import topo
from topo.fabric import Fabric
from topo.io import fabric_of_text
from topo.wiring import Finding, Validation, validate

HEAD = "A-Node Name,A-Port,Z-Node Name,Z-Port,Speed"


@pytest.fixture(scope="module")
def pods() -> Fabric:
    """Four pods of eight leaves and four spines; each spine has eight cables to its own of four cores."""
    return topo.tapered_pods(
        4, leaves_per_pod=8, hosts_per_leaf=8, spines_per_pod=4, taper=2, leaf_radix=32, spine_radix=32, core_radix=32
    )


def rows_between(fabric: Fabric, one: str, other: str) -> list[int]:
    """Links with an end whose name begins with ``one`` and the other with ``other``."""
    names = [str(name) for name in fabric.nodes.name]
    pairs = zip(fabric.link_a.tolist(), fabric.link_b.tolist(), strict=True)
    return [
        i for i, (a, b) in enumerate(pairs)
        if any(names[x].startswith(one) and names[y].startswith(other) for x, y in ((a, b), (b, a)))
    ]  # fmt: skip


def without(fabric: Fabric, *pairs: tuple[str, str], price: bool = False) -> Validation:
    gone = sorted({row for pair in pairs for row in rows_between(fabric, *pair)})
    return validate(fabric.without(links=gone), fabric, consequence=price, bisection=False)


def only(answer: Validation) -> Finding:
    (one,) = answer.findings
    return one


def test_a_pod_without_its_core_cables_is_one_finding_priced_as_a_whole(pods: Fabric) -> None:
    """What is lost is all that its 64 endpoints say to the other 192, and what those say to them."""
    answer = without(pods, ("pod-2-spine", "core"), price=True)
    one = only(answer)
    assert (one.code, len(one.lacks), len(one.jobs), answer.n_operations) == ("island", 32, 32, 32)
    assert one.place.startswith("pod-2-leaf-1, ") and "32 planned cables from 12 switches" in one.evidence
    assert all(f"pod-2-spine-{i} - core-{i} (8 cables)" in one.evidence for i in (1, 2, 3, 4))
    theta = answer.consequence.measures[0].healthy_lower
    assert one.lost_gbps == pytest.approx(2 * 64 * 400 * min(1, theta) * 192 / 255)
    assert one.price.cut_off == 64


def test_two_pods_are_two_findings(pods: Fabric) -> None:
    answer = without(pods, ("pod-2-spine", "core"), ("pod-4-spine", "core"))
    assert sorted((one.code, one.place[:5], len(one.lacks)) for one in answer.findings) == [
        ("island", "pod-2", 32), ("island", "pod-4", 32),
    ]  # fmt: skip


def test_a_pod_cut_off_with_one_of_its_cables_elsewhere(pods: Fabric) -> None:
    """The cable in a wrong place says so itself; the rest is one finding that counts it."""
    mine = rows_between(pods, "pod-2-spine", "core")
    leaf_port = int(pods.links.port_a[rows_between(pods, "pod-2-leaf-1", "pod-2-spine-1")[0]])
    free = int(np.setdiff1d(np.flatnonzero(pods.ports.node == pods.ports.node[leaf_port]),
                            np.concatenate([pods.links.port_a, pods.links.port_b]))[0])  # fmt: skip
    names = pods.nodes.name
    port_a, port_b = pods.links.port_a.copy(), pods.links.port_b.copy()
    (port_a if names[pods.link_a[mine[0]]].startswith("core") else port_b)[mine[0]] = free
    found = replace(pods, links=replace(pods.links, port_a=port_a, port_b=port_b)).without(links=mine[1:])
    answer = validate(found, pods, consequence=False)
    assert sorted((one.code, len(one.lacks), len(one.jobs)) for one in answer.findings) == [
        ("island", 32, 31), ("miswired", 1, 1),
    ]  # fmt: skip
    assert answer.n_operations == 32
    (apart, moved) = sorted(answer.findings, key=lambda one: -len(one.lacks))
    assert apart.evidence.endswith("1 of them told with other findings")
    assert "with other findings this leaves 12 switches" in moved.evidence


@pytest.mark.parametrize(
    ("pair", "place", "whose", "n"),
    [
        (("pod-2-leaf-3", "pod-2-spine"), "pod-2-leaf-3", "its 8 planned cables to switches above", 8),
        (("pod-2-spine-3", "pod-2-leaf"), "pod-2-spine-3", "its 16 planned cables to switches below", 16),
        (("pod-2-leaf-3", "host"), "pod-2-leaf-3", "its 8 planned cables to hosts", 8),
    ],
)
def test_a_switch_without_any_cable_one_way_is_one_finding(
    pods: Fabric, pair: tuple[str, str], place: str, whose: str, n: int
) -> None:
    one = only(without(pods, pair))
    assert (one.code, one.place, len(one.lacks)) == ("missing", place, n)
    assert one.evidence.startswith(f"none of {whose} is there: ")


@pytest.mark.parametrize("as_it_is_read", [False, True])
def test_a_spine_without_any_leaf_is_told_without_a_design(pods: Fabric, as_it_is_read: bool) -> None:
    """Also where tiers are inferred, and it hangs on top of the cores: its name and ports are those of the spines."""
    gone = rows_between(pods, "pod-2-spine-3", "pod-2-leaf")
    found = pods.without(links=gone)
    one = only(validate(as_read(found) if as_it_is_read else found, bisection=False))
    assert (one.code, one.place, len(one.lacks)) == ("pair-absent", "pod-2-spine-3", 16)
    (by_plan,) = validate(found, pods, bisection=False).findings
    assert one.lost_gbps == pytest.approx(by_plan.lost_gbps)


def test_a_unit_without_uplinks_is_one_island_with_a_design_as_without() -> None:
    """Its leaves are joined by their hosts alone; each has lost all its uplinks."""
    design = topo.rail_optimized(32, rails=4, hosts_per_unit=8, radix=16)
    gone = rows_between(design, "su-2-leaf", "spine")
    by_plan = only(validate(design.without(links=gone), design, bisection=False))
    by_rule = only(validate(design.without(links=gone), bisection=False))
    assert by_plan.code == by_rule.code == "island"
    assert by_plan.place.startswith("su-2-leaf-1, su-2-leaf-2") and len(by_plan.lacks) == len(gone) == 32
    assert by_plan.price.cut_off == 32
    assert by_plan.lost_gbps == pytest.approx(32 * 400 * (2 * 96 + 24) / 127)  # to and from others, and across rails


def test_devices_that_share_cables_cost_what_all_theirs_do(pods: Fabric) -> None:
    """A leaf and a spine of one pod away: each is priced as if it alone were, and every cable is laid once."""
    leaf, spine = rows_between(pods, "pod-2-leaf-3", ""), rows_between(pods, "pod-2-spine-3", "")
    both = validate(pods.without(links=sorted({*leaf, *spine})), pods, bisection=False)
    told = {one.place: one for one in both.findings}
    assert sum(len(one.jobs) for one in both.findings) == both.n_operations == len({*leaf, *spine})
    for place, gone in (("pod-2-leaf-3", leaf), ("pod-2-spine-3", spine)):
        alone = only(validate(pods.without(links=gone), pods, bisection=False))
        assert told[place].lacks and len(told[place].lacks) == len(gone)
        assert told[place].price[:3] == pytest.approx(alone.price[:3])
    assert sum("2 of them told with other devices" in one.evidence for one in both.findings) == 1


def test_a_leaf_without_uplinks_costs_the_whole_rate_of_its_hosts(pods: Fabric) -> None:
    answer = without(pods, ("pod-2-leaf-3", "pod-2-spine"), price=True)
    theta = answer.consequence.measures[0].healthy_lower
    assert only(answer).lost_gbps == pytest.approx(2 * 8 * 400 * min(1, theta) * 248 / 255)


def test_one_cable_left_is_no_common_cause(pods: Fabric) -> None:
    gone = rows_between(pods, "pod-2-leaf-3", "pod-2-spine")[1:]
    answer = validate(pods.without(links=gone), pods, consequence=False)
    assert sorted(len(one.lacks) for one in answer.findings) == [1, 2, 2, 2]
    assert {one.code for one in answer.findings} == {"missing"}


def test_what_missing_devices_cut_off_is_told_with_them(pods: Fabric) -> None:
    """All cores away: four devices, and no finding beside them for the pods that they joined."""
    found = pods.without(nodes=[i for i, name in enumerate(pods.nodes.name) if name.startswith("core")])
    answer = validate(found, pods, consequence=False)
    assert [one.code for one in answer.findings] == ["device-missing"] * 4
    assert all("with other findings this leaves 12 switches" in one.evidence for one in answer.findings)


def test_a_cable_that_joins_alone_says_what_it_cuts_off() -> None:
    rows = [f"leaf-{p}-{i},{3 + s},spine-{p}-{s},{i},400G" for p in (1, 2) for i in (1, 2, 3) for s in (1, 2)]
    rows += [f"leaf-{p}-{i},{1 + h},host-{p}-{i}-{h},1,400G" for p in (1, 2) for i in (1, 2, 3) for h in (0, 1)]
    plan = fabric_of_text("\n".join([HEAD, *rows, "spine-1-1,9,spine-2-1,9,400G"]) + "\n", "plan.csv")
    found = fabric_of_text("\n".join([HEAD, *rows]) + "\n", "found.csv")
    one = only(validate(found, plan, consequence=False))
    assert one.code == "missing" and "this leaves 5 switches (leaf-2-1, " in one.evidence


def chassis_plan() -> list[str]:
    """Six leaves under two spines of three cards; racks of two leaves with their hosts of two adapters."""
    rows = [f"leaf-{i},{10 + 3 * s + c},spine-{s},Ethernet{c}/{i},400G" for i in range(1, 7) for s in (1, 2)
            for c in (3, 4, 5)]  # fmt: skip
    rows += [f"leaf-{i},{n + 1},host-{i},mlx5_{n},400G" for i in range(1, 7) for n in (0, 1)]
    rows += [f"leaf-{i},{n + 3},host-{i}b,mlx5_{n},400G" for i in range(1, 7) for n in (0, 1)]
    return rows


def planned_and_found(keep) -> Validation:  # type: ignore[no-untyped-def]
    head = f"{HEAD},A-Rack"
    rows = [f"{row},R{(int(row.split(',')[0].split('-')[1]) + 1) // 2}" for row in chassis_plan()]
    plan = fabric_of_text("\n".join([head, *rows]) + "\n", "plan.csv")
    found = fabric_of_text("\n".join([head, *(row for row in rows if keep(row))]) + "\n", "found.csv")
    return validate(found, plan, consequence=False)


def test_a_card_without_any_cable_is_one_finding() -> None:
    one = only(planned_and_found(lambda row: "spine-2,Ethernet4/" not in row))
    assert (one.code, one.place, len(one.lacks)) == ("missing", "spine-2 ports Ethernet4/1 to Ethernet4/6", 6)
    assert "share a card or a plug" in one.evidence


def test_a_rack_without_any_cable_is_one_finding() -> None:
    one = only(planned_and_found(lambda row: not row.endswith(",R2")))
    assert (one.code, one.place, len(one.lacks)) == ("device-missing", "rack R2", 20)
    assert "of its devices (leaf-3, leaf-4)" in one.evidence


def test_a_host_of_two_adapters_without_either_is_one_finding() -> None:
    one = only(planned_and_found(lambda row: ",host-4b," not in row))
    assert (one.code, one.place, len(one.lacks)) == ("device-missing", "host-4b", 2)


def test_an_island_carries_the_cables_that_would_join_it(pods: Fabric) -> None:
    """Without a design: the leaf, its hosts, and the pairs that are absent are one finding."""
    gone = rows_between(pods, "pod-2-leaf-3", "pod-2-spine")
    answer = validate(pods.without(links=gone), bisection=False)
    one = only(answer)
    assert (one.code, len(one.lacks)) == ("island", 8)
    assert one.place.startswith("pod-2-leaf-3, ")
    assert "missing: pod-2-leaf-3 - pod-2-spine-1 (2 cables), " in one.evidence
    assert one.price.cut_off == 8
    (by_plan,) = validate(pods.without(links=gone), pods, bisection=False).findings
    assert one.lost_gbps == pytest.approx(by_plan.lost_gbps)


@pytest.mark.parametrize("n", [1, 2])
def test_a_leaf_that_a_unit_lacks_is_the_one_that_has_no_cable(n: int) -> None:
    """Where it is one: of two nobody knows which is which."""
    design = topo.rail_optimized(32, rails=4, hosts_per_unit=8, radix=16)
    leaves = [f"su-{i}-leaf-3" for i in range(1, n + 1)]
    gone = sorted({row for leaf in leaves for row in rows_between(design, leaf, "")})
    answer = validate(design.without(links=gone), bisection=False)
    codes = sorted(one.code for one in answer.findings if one.severity != "note")
    if n == 2:
        assert codes == ["island"] * 2 + ["leaf-missing"] * 2
        return
    assert codes == ["leaf-missing"]
    assert "su-1-leaf-3 is there without any cable: is it this leaf?" in answer.findings[0].evidence


def test_two_uplinks_and_none_left_is_one_finding() -> None:
    """A cable alone costs as much as both: the other is all that hop-by-hop routing leaves the leaf's hosts."""
    design = topo.leaf_spine(16, 2, 4, link_gbps=400, host_gbps=400)
    one = only(without(design, ("leaf-05", "spine-1"), ("leaf-05", "spine-2"), price=True))
    assert (one.code, one.place, len(one.operations), one.price.cut_off) == ("missing", "leaf-05", 2, 4)
    assert one.lost_gbps == pytest.approx(2 * 2 * 400)  # its uplinks were full, both ways
