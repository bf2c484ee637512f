"""The map's content: scale-up racks joined, loads where they are quick, why there are none, JSON, explanation."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import topo
from topo.cli import main
from topo.report.mapped import ask_map, explain_map, map_loads
from topo.view.map_data import map_of


def test_hosts_of_an_opened_rack_hang_on_the_switches_of_their_domain() -> None:
    found = map_of(topo.load("nvidia-gb200-nvl72"))
    units, links = found.data["units"], found.data["links"]
    words = [found.data["words"][tier] for tier in units["tier"]]
    assert words.count("host") == words.count("scale-up switch") == 18 and len(words) == 36
    pairs = {(words[a], words[b]) for a, b in zip(links["a"], links["b"], strict=True)}
    assert pairs <= {("host", "scale-up switch"), ("scale-up switch", "host")}
    # Every host with every switch: four accelerators a host, one link each.
    assert len(set(zip(links["a"], links["b"], strict=True))) == 18 * 18 and sum(links["n"]) == 4 * 18 * 18
    assert "18 scale-up switches, 18 hosts, 1,296 links, in 1 group that opens." in found.alt


def test_leaves_stand_above_the_switches_of_scale_up_domains() -> None:
    data = map_of(topo.load("nvidia-superpod-gb200-2su-nvl72")).data
    assert [data["words"][tier] for tier in sorted(data["words"])] == [
        "host", "scale-up switch", "leaf", "spine", "core",
    ]  # fmt: skip
    ends = set(data["links"]["a"]) | set(data["links"]["b"])
    assert ends == set(range(len(data["units"]["name"])))  # nobody stands alone


def test_a_fabric_without_such_domains_is_drawn_as_ever() -> None:
    data = map_of(topo.leaf_spine(leaves=4, spines=2, hosts_per_leaf=2)).data
    assert data["words"] == {0: "host", 1: "leaf", 2: "spine"}


def test_loads_of_a_large_fabric_of_tiers() -> None:
    found = ask_map(topo.load("oracle-zettascale"))
    assert found.data["load"].startswith("highest load over capacity")
    # All-to-all over a non-blocking fabric fills no link beyond its rate, and the links of hosts wholly.
    assert max(found.data["links"]["ab"]) == max(found.data["links"]["ba"]) == 1000


@pytest.mark.parametrize("name", ["alibaba-hpn-rail-only", "deepseek-dragonfly"])
def test_a_large_fabric_where_loads_take_long_says_why_there_are_none(name: str) -> None:
    loads, why = map_loads(topo.load(name))
    assert loads is None and why == "none: more than 40,000 endpoints, and not tier over tier in one network"


def test_the_explanation_names_what_loads_rest_on() -> None:
    one = explain_map(ask_map(topo.leaf_spine(leaves=2, spines=2, hosts_per_leaf=2)))
    assert one.computed.startswith("Map of leaf-spine 2x2: 2 spines, 2 leaves, 4 hosts, 8 links")
    assert "all-to-all at line rate" in one.assumes and one.changes.startswith("What would change it: ")


def test_json_is_chosen_by_the_files_name_and_holds_what_the_page_draws(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["map", "leaf-spine-2to1", "-o", "m.json"]) == 0
    said = json.loads(Path("m.json").read_text("utf-8"))
    assert said["fabric"] == "leaf-spine-2to1" and sum(said["links"]["n"]) == 512 + 256
    assert len(said["units"]["name"]) == 512 + 20
    assert main(["map", "leaf-spine-2to1", "--format", "json"]) == 0
    assert json.loads(Path("leaf-spine-2to1-map.json").read_text("utf-8")) == said
    assert "The map is in leaf-spine-2to1-map.json" in capsys.readouterr().out
