"""Prices against closed forms of the even split, and what all faults cost together."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import topo
from topo.wiring import validate

FAULT_FILES = Path(__file__).parents[1] / "wiring_faults"
LEAVES, SPINES, HOSTS = 8, 4, 16


def fabric_of(parallel: int) -> topo.Fabric:
    return topo.leaf_spine(LEAVES, SPINES, HOSTS, parallel=parallel, link_gbps=100 * HOSTS / (SPINES * parallel),
                           host_gbps=100)  # fmt: skip


def pair_rows(fabric: topo.Fabric, a: str, b: str) -> np.ndarray:
    names = fabric.nodes.name
    at, to = names[fabric.link_a], names[fabric.link_b]
    return np.flatnonzero(((at == a) & (to == b)) | ((at == b) & (to == a)))


@pytest.mark.parametrize("parallel", [2, 4, 8])
def test_a_thin_pair_costs_x_of_m_and_an_absent_one_m_of_u(parallel: int) -> None:
    """theta = x/m for 0 < x < m, but 1 - m/u for x = 0, times (N - 1) / (N - n): a leaf's own hosts need no spine."""
    design = fabric_of(parallel)
    n = LEAVES * HOSTS
    outside = (n - 1) / (n - HOSTS)
    for left in range(parallel):
        found = design.without(links=pair_rows(design, "leaf-3", "spine-2")[left:])
        (one,) = validate(found, design, bisection=False).findings
        expected = left / parallel if left else 1 - 1 / SPINES
        assert one.price.theta == pytest.approx(min(1.0, expected * outside))
        assert (one.lost_gbps > 0) == (one.price.theta < 1)
        assert one.price.cut_off == 0


def test_the_same_fault_costs_the_same_without_a_design() -> None:
    design = fabric_of(4)
    found = design.without(links=pair_rows(design, "leaf-3", "spine-2")[1:])
    (by_rule,) = validate(found, bisection=False).findings
    (by_plan,) = validate(found, design, bisection=False).findings
    assert by_rule.price == pytest.approx(by_plan.price)
    assert by_rule.code == "pair-thin"


@pytest.mark.parametrize("given", [True, False])
def test_a_slow_link_costs_what_its_share_has_above_its_rate(given: bool) -> None:
    """Every cable of a leaf gets the same share: at half its rate, one of them carries half, whatever the others do."""
    design = fabric_of(2)
    rates = design.links.capacity_gbps.copy()
    slow = pair_rows(design, "leaf-3", "spine-2")[0]
    rates[slow] /= 2
    found = replace(design, links=replace(design.links, capacity_gbps=rates))
    answer = validate(found, design if given else None, bisection=False)
    (one,) = answer.findings
    n, rate = LEAVES * HOSTS, 100 * HOSTS / (SPINES * 2)
    outward = HOSTS * 100 * (n - HOSTS) / (n - 1)
    assert one.code == ("rate-unlike-plan" if given else "link-slow")
    assert one.price.theta == pytest.approx(min(1.0, 0.5 * (n - 1) / (n - HOSTS)))
    assert one.lost_gbps == pytest.approx(2 * (outward / (SPINES * 2) - rate / 2))
    (all_to_all,) = (one for one in answer.consequence.measures if one.name.startswith("all-to-all"))
    assert all_to_all.healthy_lower == pytest.approx(1)
    assert answer.n_operations == 0


def test_many_slow_links_are_one_finding_with_one_price() -> None:
    design = fabric_of(2)
    rates = design.links.capacity_gbps.copy()
    between = design.links.kind.is_any("scale_out")
    rates[between] /= 4
    found = replace(design, links=replace(design.links, capacity_gbps=rates))
    answer = validate(found, design, bisection=False)
    (one,) = answer.findings
    assert one.place == f"{between.sum():,} cables"
    n = LEAVES * HOSTS
    assert one.price.theta == pytest.approx(0.25 * (n - 1) / (n - HOSTS))


@pytest.mark.parametrize("given", [True, False])
def test_one_of_a_pair_is_told_by_its_pair_and_by_its_cut(given: bool) -> None:
    design = topo.leaf_spine(leaves=4, spines=10, hosts_per_leaf=20, parallel=2)
    found = design.without(links=pair_rows(design, "leaf-3", "spine-02")[:1])
    (one,) = validate(found, design if given else None, bisection=False).findings
    assert one.words.startswith(
        "hop-by-hop ECMP keeps 50 % of leaf-3 - spine-02 (1 of 2 cables); "
        "the cut above leaf-3 loses 1 of 20 cables (5 %); alone it leaves "
    )


def test_lost_rate_is_what_is_above_capacity() -> None:
    """One of two cables lacks: the spine sends its full share down the other; the leaf splits up over seven links."""
    design = fabric_of(2)
    found = design.without(links=pair_rows(design, "leaf-3", "spine-2")[:1])
    (one,) = validate(found, design, bisection=False).findings
    rate = 100 * HOSTS / (SPINES * 2)
    n = LEAVES * HOSTS
    outward = HOSTS * 100 * (n - HOSTS) / (n - 1)
    down = outward / SPINES - rate
    up = outward - (2 * SPINES - 1) * rate
    assert one.lost_gbps == pytest.approx(down + up)


def test_first_aid_needs_no_new_cable() -> None:
    design = fabric_of(4)
    found = design.without(links=pair_rows(design, "leaf-3", "spine-2")[1:])
    cost = validate(found, design, bisection=False).consequence
    shut = found.without(links=pair_rows(found, "leaf-3", "spine-2"))
    absent = validate(shut, design, bisection=False).consequence.measures[0].found_lower
    assert cost.n_first_aid == 1
    assert cost.first_aid_theta == pytest.approx(min(1.0, absent))
    assert "without a new cable" in cost.first_aid_text()


def test_a_lone_host_is_cut_off() -> None:
    design = fabric_of(2)
    found = design.without(links=np.flatnonzero(design.nodes.name[design.link_a] == "host-007"))
    (one,) = validate(found, design, bisection=False).findings
    assert (one.code, one.price.cut_off) == ("missing", 1)
    assert one.lost_gbps == pytest.approx(200)  # what it sends and what it receives


def mixed_rates() -> topo.Fabric:
    """Twelve leaves of eight hosts, two cables to each of four spines at 400G; the last four leaves' hosts at 200G."""
    design = topo.leaf_spine(12, 4, 8, parallel=2, link_gbps=400, host_gbps=400)
    rates = design.links.capacity_gbps.copy()
    for leaf in range(9, 13):
        near = (design.nodes.name[design.link_a] == f"leaf-{leaf:02d}") | (
            design.nodes.name[design.link_b] == f"leaf-{leaf:02d}"
        )
        hosts = design.nodes.is_endpoint[design.link_a] | design.nodes.is_endpoint[design.link_b]
        rates[near & hosts] = 200
    return replace(design, links=replace(design.links, capacity_gbps=rates))


def test_slower_hosts_lose_what_they_send_at_their_own_rate() -> None:
    """Each of the 96 sends 200 Gb/s to all, the faster 64 as much again to each other; 88 of 95 are on other leaves."""
    design = mixed_rates()
    cut = np.concatenate([pair_rows(design, "leaf-10", f"spine-{i}") for i in range(1, 5)])
    (one,) = validate(design.without(links=cut), design, bisection=False).findings
    assert (one.lost_gbps, one.price.cut_off) == (pytest.approx(2 * 8 * 200 * 88 / 95), 8)
    (by_rule,) = (each for each in validate(design.without(links=cut), bisection=False).findings
                  if each.severity != "note")  # fmt: skip
    assert by_rule.lost_gbps == pytest.approx(one.lost_gbps)
    host = pair_rows(design, "leaf-10", design.nodes.name[design.endpoints[72]])
    (one,) = validate(design.without(links=host), design, bisection=False).findings
    assert one.lost_gbps == pytest.approx(2 * 200)


def test_a_thin_pair_of_faster_hosts_among_slower_ones() -> None:
    """Of a leaf's 8 * 200 * (88/95 + 56/63) Gb/s seven cables carry what they can, one what comes from its spine."""
    design = mixed_rates()
    found = design.without(links=pair_rows(design, "leaf-01", "spine-1")[:1])
    (one,) = validate(found, design, bisection=False).findings
    out = 8 * 200 * (88 / 95 + 56 / 63)
    assert one.lost_gbps == pytest.approx((out - 7 * 400) + (out / 4 - 400))


def test_what_would_set_the_pace_of_all_is_left_out_and_says_so() -> None:
    """Eight managers at 100G on a switch with one cable up: of their all-to-all with the others an eighth would fit."""
    design = topo.leaf_spine(12, 4, 8, parallel=2, link_gbps=400, host_gbps=400)
    rates = design.links.capacity_gbps.copy()
    kept = np.ones(len(rates), bool)
    for spine in range(1, 5):
        up = pair_rows(design, "leaf-12", f"spine-{spine}")
        rates[up] = 100
        kept[up[0 if spine > 1 else 1 :]] = False
    last = np.isin(design.nodes.name[np.stack([design.link_a, design.link_b])], "leaf-12").any(axis=0)
    rates[last & ~(rates == 100)] = 100
    design = replace(design, links=replace(design.links, capacity_gbps=rates)).without(links=np.flatnonzero(~kept))
    found = design.without(links=pair_rows(design, "leaf-12", "spine-1"))
    answer = validate(found, design, bisection=False)
    (one,) = answer.findings
    assert (one.code, one.price) == ("missing", None)
    assert np.isnan(one.lost_gbps)
    assert one.words.endswith("it carries what other endpoints send than those that take part in the all-to-all")
    assert answer.consequence.among == "88 of 96 endpoints"


def test_an_adapter_exchanged_for_another_leaves_the_planned_one_cut_off() -> None:
    """The other has a cable instead, and no plan: who is planned and reaches nobody is cut off all the same."""
    design = topo.rail_optimized(16, rails=4, hosts_per_unit=8, radix=16)
    names = np.array(design.nodes.name, "U40")
    names[np.flatnonzero(design.nodes.is_endpoint)[0]] += "b"
    answer = validate(replace(design, nodes=replace(design.nodes, name=names)), design, bisection=False)
    (one,) = answer.findings
    assert one.code == "adapter-unlike-plan"
    assert one.price.cut_off == answer.consequence.cut_off == 1
    assert answer.consequence.among == ""


def test_switch_cables_are_priced_before_those_of_hosts() -> None:
    design = fabric_of(2)
    hosts = np.flatnonzero(~design.links.kind.is_any("scale_out"))[:3]
    found = design.without(links=[*hosts, *pair_rows(design, "leaf-7", "spine-4")[:1]])
    answer = validate(found, design, bisection=False, most_priced=1)
    (priced,) = (one for one in answer.findings if one.price is not None)
    assert priced.place.startswith("leaf-7")


def test_hosts_on_each_others_leaves_still_send_once() -> None:
    """Every host of two leaves sits on the other: sound and found are the same fabric, and carry a permutation."""
    design = topo.leaf_spine(leaves=4, spines=4, hosts_per_leaf=8, parallel=2)
    port_b = design.links.port_b.copy()
    hosts = np.flatnonzero(~design.links.kind.is_any("scale_out"))[:16]
    port_b[hosts] = port_b[np.roll(hosts, 8)]
    answer = validate(replace(design, links=replace(design.links, port_b=port_b)), design, bisection=False)
    (one_to_one,) = (one for one in answer.consequence.measures if one.name.startswith("permutation"))
    assert (one_to_one.healthy_lower, one_to_one.found_lower) == pytest.approx((1, 1))


def test_bisection_once_for_all() -> None:
    design = fabric_of(2)
    found = design.without(links=pair_rows(design, "leaf-3", "spine-2"))
    (measure,) = (one for one in validate(found, design).consequence.measures if "bisection" in one.name)
    assert measure.healthy_lower == measure.healthy_upper == 100 * LEAVES * HOSTS / 2
    assert measure.found_upper < measure.healthy_lower


@pytest.mark.parametrize(
    ("port", "code"), [("11/1", "breakout-conflict"), ("11", "port-used-twice"), ("130", "port-beyond")]
)
def test_a_cable_of_switches_on_a_port_that_cannot_be_costs_what_lacking_it_does(
    tmp_path: Path, port: str, code: str
) -> None:
    """Of the two cables of leaf-3 and spine-2 one is dark: the other carries half of what comes for leaf-3 by it."""
    rows = ["A-Node Name,A-Port,A-Model,Z-Node Name,Z-Port,Z-Model,Speed"]
    for leaf in range(1, 9):
        rows += [f"leaf-{leaf},{20 + host},qm9700,host-{8 * leaf + host},1,,400G" for host in range(8)]
        for up in range(8):
            near = port if (leaf, up) == (3, 3) else "11" if (leaf, up) == (3, 2) else str(1 + up)
            rows.append(f"leaf-{leaf},{near},qm9700,spine-{1 + up // 2},{2 * leaf + up % 2},qm9700,400G")
    path = tmp_path / "found.csv"
    path.write_text("\n".join(rows) + "\n")
    (one,) = [one for one in validate(path, bisection=False).findings if one.severity != "note"]
    n, outward = 64, 8 * 400 * 56 / 63
    assert one.code == code
    assert one.price.theta == pytest.approx(0.5 * (n - 1) / (n - 8))
    assert one.lost_gbps == pytest.approx((outward / 4 - 400) + (outward - 7 * 400))


def test_shutting_the_rest_of_a_thin_pair_is_advised_only_where_it_helps() -> None:
    """3 of 4 left beats an absent bundle (three quarters), 1 of 4 does not; without load nothing is to be shut."""
    design = fabric_of(4)
    rows = pair_rows(design, "leaf-3", "spine-2")
    faster = np.where(design.links.kind.is_any("scale_out"), 10.0, 1.0)
    idle = replace(design, links=replace(design.links, capacity_gbps=faster * design.links.capacity_gbps))
    fixes = [validate(fabric.without(links=rows[left:]), bisection=False).findings[0].fix
             for fabric, left in ((design, 1), (design, 3), (idle, 1))]  # fmt: skip
    n, outside = LEAVES * HOSTS, (LEAVES - 1) * HOSTS
    aid = 100 * (1 - 1 / SPINES) * (n - 1) / outside
    assert fixes[0].endswith(f"; until then shut the 1 left: alone, the fault then leaves {aid:.4g} % of an all-to-all")
    assert "until then" not in fixes[1]
    assert "until then" not in fixes[2]


def test_unknown_rates_are_told_and_nothing_is_priced() -> None:
    design = fabric_of(2)
    nowhere = replace(design, links=replace(design.links, capacity_gbps=np.full(len(design.links), np.nan)))
    found = nowhere.without(links=pair_rows(design, "leaf-3", "spine-2"))
    answer = validate(found, nowhere)
    assert answer.consequence is None
    assert np.isnan(answer.findings[0].lost_gbps)
    assert any("no fault is priced" in said and "assume" in said for said in answer.assumptions)


def test_most_priced_bounds_the_work() -> None:
    design = fabric_of(2)
    found = design.without(links=np.concatenate([pair_rows(design, f"leaf-{i}", "spine-2")[:1] for i in (1, 2, 3)]))
    answer = validate(found, design, bisection=False, most_priced=2)
    assert (answer.consequence.n_faults, answer.consequence.n_priced) == (3, 2)
    assert sum(one.price is not None for one in answer.findings) == 2


def test_no_kind_of_fault_takes_all_the_prices() -> None:
    """Thirty cables lack and two are exchanged: of five prices the exchange has one."""
    design = fabric_of(2)
    gone = np.flatnonzero((design.nodes.tier[design.link_a] > 0) & (design.nodes.tier[design.link_b] > 0))[::4][:12]
    one, other = pair_rows(design, "leaf-2", "spine-1")[1], pair_rows(design, "leaf-7", "spine-4")[1]
    port_b = design.links.port_b.copy()
    port_b[[one, other]] = port_b[[other, one]]
    found = replace(design, links=replace(design.links, port_b=port_b)).without(links=np.setdiff1d(gone, [one, other]))
    answer = validate(found, design, bisection=False, most_priced=5)
    priced = [item.code for item in answer.findings if item.price is not None]
    assert len(priced) == 5 and "swapped" in priced


def test_more_than_was_planned_is_all_of_it() -> None:
    from topo.result import Standing
    from topo.wiring import Measured

    shown = Measured("bisection bandwidth", "Gb/s", Standing("bracket", ""), 100, 110, 108, 130).text()
    assert shown.endswith("(98.18 to 100 %)")


def test_a_plane_in_halves_tells_the_pairs_that_have_no_path() -> None:
    """No endpoint is alone: six adapters of the plane no longer reach the other six."""
    good, torn = (FAULT_FILES / name for name in ("good_planes.csv", "planes-apart_halves.csv"))
    answer = validate(torn, good)
    (one,) = answer.findings
    cost = answer.consequence
    assert cost is not None
    assert (one.price.cut_off, cost.cut_off, cost.lost_pairs, cost.n_pairs) == (0, 0, 72, 2 * 12 * 11)
    assert "72 of 264 pairs of endpoints have no path left; alone it leaves the other pairs 100 %" in one.words
    assert one.lost_gbps == pytest.approx(72 * 400 / 23)  # of each adapter's 400 Gb/s, a 23rd to each other
    assert "pairs of endpoints without a path" in str(answer)
