"""What a page says of one fabric agrees with itself: parts, injection, cables, the place of the bottleneck, models."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

import topo
from topo.analysis.published import COUNTED, published_numbers
from topo.cli import main
from topo.elements import Origin
from topo.parts.forwarding import INFINIBAND_MODEL, is_infiniband
from topo.report.assemble import make_report
from topo.report.content import Facts, Picture
from topo.report.flows import ask_flows, throughput_section
from topo.report.verdict import verdict
from topo.report.wiring import ask_wiring
from topo.routing.loads import link_loads
from topo.traffic import all_to_all, permutation


def switch_parts(fabric: topo.Fabric) -> int:
    """Connected parts of the graph of switches, those with no switch beside them left out, by networkx."""
    graph = nx.Graph()
    graph.add_nodes_from(fabric.switches.tolist())
    switch = np.isin(np.arange(len(fabric.nodes)), fabric.switches)
    both = switch[fabric.link_a] & switch[fabric.link_b]
    graph.add_edges_from(zip(fabric.link_a[both].tolist(), fabric.link_b[both].tolist(), strict=True))
    graph.remove_nodes_from(list(nx.isolates(graph)))
    return nx.number_connected_components(graph)


@pytest.mark.parametrize(
    "name",
    [
        "nvidia-superpod-gb200-1su",
        "nvidia-superpod-gb200-2su",
        "deepseek-mpft",
        "alibaba-hpn-segment",
        "nvidia-superpod-b300-spectrumx-1su",
    ],
)
def test_planes_are_counted_in_the_graph(name: str) -> None:
    fabric = topo.load(name)
    (number,) = (n for n in published_numbers(fabric).numbers if n.key == "n_planes")
    assert number.built == number.expected == switch_parts(fabric)
    assert "rails where an endpoint touches only one" in number.meaning


def test_a_lost_core_tier_changes_the_planes() -> None:
    fabric = topo.load("nvidia-superpod-gb200-2su")
    tier = fabric.nodes.tier
    up = np.flatnonzero(np.maximum(tier[fabric.link_a], tier[fabric.link_b]) == 3)
    assert COUNTED["n_planes"](fabric) == 1
    cut = fabric.without(links=up)
    assert COUNTED["n_planes"](cut) == switch_parts(cut) == 2 * 4


@pytest.mark.parametrize("name", ["leaf-spine-2to1", "fat-tree-k8", "nvidia-superpod-h100-1su", "dragonfly-72"])
def test_every_number_of_a_table_of_facts_has_its_standing(name: str) -> None:
    rows = [
        (section.key, row.label, row.text())
        for section in make_report(topo.load(name)).sections
        if section.key != "fabric"  # names and sources
        for item in section.items
        if isinstance(item, Facts)
        for row in item.rows
        if row.text()[:1].isdigit() and row.standing is None
    ]
    assert [row for row in rows if row[1] != "halves"] == []


def test_every_rate_share_and_time_of_an_answer_has_its_standing() -> None:
    fabric = topo.load("fat-tree-k4")
    state = topo.down_state(fabric, ["core-1"])
    answers = [
        topo.bisection_bandwidth(fabric),
        topo.collective_time(fabric, bytes=1e9),
        topo.goodput(fabric, bytes=1e9, samples=2),
        topo.survivability(fabric),
        topo.worst_failures(fabric, 1),
        topo.degraded_capacity(fabric, state, beside=("wcmp", "optimal")),
    ]
    for answer in answers:
        rows = [row for row in answer.rows() if re.match(r"[\d.,]+ (%|.?b/s|GB/s|ms|s)", row.text())]
        assert rows
        # What a measure was before anything failed is where the shares start from.
        assert [row.label for row in rows if row.standing is None and not row.label.endswith("healthy")] == []
    assert "; after algorithm: " in topo.explain(answers[2]).computed


def test_what_carries_nothing_is_in_no_strip_and_an_endpoints_own_link_is_not_what_narrows(shared_data: Path) -> None:
    """Selene's switches have an aggregation engine each, and most of the cut runs between hosts and leaves."""
    fabric = topo.load(str(shared_data / "ibnetdiscover" / "selene.compute.txt"))
    found = topo.inventory(fabric)
    section = throughput_section(fabric, ask_flows(fabric))
    (alt,) = (item.drawing.alt for item in section.items if isinstance(item, Picture))
    assert f"endpoint to leaf: {found.n_host_links:,} links, mean 100 %" in alt
    said = verdict(fabric, topo.oversubscription(fabric), topo.bisection_bandwidth(fabric))
    assert said.startswith("Blocking, narrowest at leaf-spine, 5:2 at MLG01-01: ")
    wiring = ask_wiring(fabric)
    assert wiring.consequence is not None and wiring.consequence.among == "3,664 of 3,675 endpoints"


def test_injection_of_both_kinds_apart() -> None:
    report = make_report(topo.load("nvidia-superpod-h100-4su-dgx"), sections=["main-numbers"])
    rows = {row.label: row for row in report.rows()}
    assert rows["scale-up injection, one direction"].value == 1016 * 18 * 200
    assert rows["scale-out injection, one direction"].value == 1016 * 400
    assert "injection, one direction" not in rows
    assert "smaller half's scale-out injection" in str(rows["share of full bisection"].standing)
    alone = make_report(topo.load("leaf-spine-2to1"), sections=["main-numbers"])
    assert {row.label: row.value for row in alone.rows()}["injection, one direction"] == 512 * 400


def test_cables_leave_a_box() -> None:
    cables = {
        name: topo.inventory(topo.load(name)).n_cables
        for name in (
            "nvidia-dgx-h100",
            "nvidia-superpod-h100-4su-dgx",
            "nvidia-superpod-h100-4su",
            "nvidia-gb200-nvl72",
        )
    }
    assert list(cables.values()) == [0, 2040, 2040, 72 * 18]


def test_a_rack_shows_its_switches(capsys: pytest.CaptureFixture[str]) -> None:
    report = make_report(topo.load("nvidia-gb200-nvl72"), sections=["main-numbers"])
    assert "; 18 scale-up switches; " in report.headline
    told = {row.label: row.text() for row in report.rows()}
    assert told["switches"] == "18 scale-up" and told["links"] == "1,476 inside hosts and scale-up domains"
    assert main(["show", "nvidia-gb200-nvl72"]) == 0
    line = next(line for line in capsys.readouterr().out.splitlines() if line.strip().startswith("switches "))
    assert "18 scale-up" in line


def test_the_verdict_names_where_the_cut_runs() -> None:
    fabric = topo.load("alibaba-hpn-pod")
    found = topo.bisection_bandwidth(fabric)
    height = fabric.nodes.tier[np.stack([fabric.link_a, fabric.link_b])[:, found.links.rows]]
    between = (height.min(axis=0) == 1) & (height.max(axis=0) == 2)
    assert found.links.capacity_gbps[between].sum() > 0.5 * found.upper_gbps
    assert height.max() == 2, "no link to the core is in the cut"
    told = verdict(fabric, topo.oversubscription(fabric), found)
    assert told.startswith("Blocking, narrowest at leaf-spine, 16:15: ")
    assert told.endswith("Tapered too, but not where that split runs: spine-core 15:1.")


def test_who_prints_what_is_wrong() -> None:
    text = str(published_numbers(topo.load("nvidia-dgx-h100")))
    assert "blog posts print 1,800, an error" in text and "the source prints 1,800" not in text


@pytest.mark.parametrize("routing", ["ecmp", "wcmp", "single-path"])
def test_ecmp_on_infiniband_is_called_a_model(routing: str) -> None:
    for fabric, told in (
        (topo.load("nvidia-superpod-h100-1su"), 1),
        (topo.load("nvidia-superpod-b300-xdr-1su"), 1),
        (topo.load("alibaba-hpn-segment"), 0),
    ):
        assert is_infiniband(fabric) == bool(told)
        found = topo.throughput(fabric, permutation(fabric), routing=routing, **_few(routing))
        assert sum("InfiniBand" in text for text in found.assumptions) == told
    read = replace(topo.fat_tree(4), origin=Origin(made_by="read_ibnetdiscover"))
    assumed = topo.throughput(read, permutation(read)).assumptions
    assert [text for text in assumed if "InfiniBand" in text] == [INFINIBAND_MODEL]
    table = topo.throughput(read, permutation(read), routing=topo.Routing("single-path", table="min-hop"))
    assert not any("not by hashing" in text for text in table.assumptions)


def _few(routing: str) -> dict[str, int]:
    return {"samples": 2} if routing == "single-path" else {}


def test_verbs_call_it_a_model(capsys: pytest.CaptureFixture[str]) -> None:
    for verb in (["ecmp", "--samples", "0"], ["throughput"]):
        assert main([verb[0], "nvidia-superpod-h100-1su", *verb[1:]]) == 0
        assert capsys.readouterr().out.count(INFINIBAND_MODEL) == 1
    assert main(["ecmp", "nvidia-superpod-h100-1su", "--samples", "0", "--format", "json"]) == 0
    assert INFINIBAND_MODEL in json.loads(capsys.readouterr().out)["assumptions"]


def test_theta_says_of_how_many_pairs_it_speaks() -> None:
    fabric = topo.load("nvidia-superpod-gb200-1su")
    found = topo.throughput(fabric, all_to_all(fabric))
    row = next(row for row in found.rows() if row.label.startswith("theta:"))
    # 143 others on the same rail, of 575.
    assert f"of the {100 * 143 / 575:.1f} % of the pairs that have a path" in str(row.standing)


def test_churn_by_the_library_default(capsys: pytest.CaptureFixture[str]) -> None:
    argv = ["ecmp", "leaf-spine-2to1", "--churn", "link:leaf-01--spine-1"]
    assert main(argv) == 0
    plain = capsys.readouterr().out
    assert "vendor-mixing" in plain
    assert main([*argv, "--hash", "crc-32"]) == 0
    assert "crc-32" in capsys.readouterr().out
    assert main(["ecmp", "nvidia-superpod-h100-1su", "--polarization"]) == 0
    assert "crc-32" in capsys.readouterr().out


@pytest.mark.parametrize("rate", [-150.0, np.inf])
def test_a_state_of_impossible_rates(rate: float) -> None:
    fabric = topo.fat_tree(4)
    rates = fabric.links.capacity_gbps.copy()
    rates[20] = rate
    with pytest.raises(topo.ParameterError, match=r"capacity_gbps\[20\]"):
        topo.throughput(fabric, all_to_all(fabric), state=topo.State(capacity_gbps=rates))


def test_demands_of_other_fabrics_and_odd_rates() -> None:
    fabric = topo.fat_tree(4)
    one, other = fabric.endpoints[:1], fabric.endpoints[1:2]
    assert topo.Demand.of(fabric, "one", source=one, sink=other, gbps="400G").total_gbps == 400
    with pytest.raises(topo.ParameterError, match="gbps: 'fast'"):
        topo.Demand.of(fabric, "one", source=one, sink=other, gbps="fast")
    names = np.array([f"x{name}" for name in fabric.nodes.name.tolist()])
    renamed = replace(fabric, nodes=replace(fabric.nodes, name=names))
    demand = all_to_all(fabric)
    for ask in (link_loads, topo.throughput):
        for asked in (demand, demand.scaled(2), demand + demand):
            with pytest.raises(topo.ParameterError, match="made for another fabric"):
                ask(renamed, asked)
        ask(topo.fat_tree(4, link_gbps=100), demand)
    with pytest.raises(topo.ParameterError, match="two fabrics"):
        demand + all_to_all(renamed)


def test_costs_of_unknown_kinds() -> None:
    with pytest.raises(topo.ParameterError, match="'foo'"):
        topo.Routing(costs={"foo": 2})
    assert topo.Routing(costs={"global": 3, "scale_up": 2}).costs == (("global", 3), ("scale_up", 2))


def test_halves_of_one_endpoint_are_told_in_words() -> None:
    fabric = topo.rail_optimized(4, rails=2, hosts_per_unit=4, radix=8)
    with pytest.raises(topo.ParameterError, match=r"2 endpoints in 1 host kept whole"):
        topo.bisection_bandwidth(fabric, fabric.endpoints[:2])
    with pytest.raises(topo.ParameterError, match=r"^1 endpoint cannot be split"):
        topo.bisection_bandwidth(fabric, fabric.endpoints[:1], keep="none")
