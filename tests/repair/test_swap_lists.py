"""Lists on paper: every touched port once for each step, drawn on its switch's face; names cannot act."""

from __future__ import annotations

import csv
import io
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from injected_faults import HOST_KINDS, SWITCH_KINDS, inject

import topo
from topo.cli import main
from topo.fabric import Fabric
from topo.repair import Repair, repair_wiring, repair_written
from topo.repair.steps import NO_RACK, touches_of
from topo.repair.swaps import face
from topo.table import Labels

FAULTS = Path(__file__).resolve().parent.parent / "wiring_faults"


@pytest.fixture(scope="module")
def repair() -> Repair:
    design = with_racks(topo.load("nvidia-superpod-h100-1su"))
    return repair_wiring(inject(design, 10, 1, SWITCH_KINDS + HOST_KINDS).fabric, design)


def with_racks(fabric: Fabric) -> Fabric:
    """Leaves in two racks, spines in a third, hosts four to a rack."""
    names = fabric.nodes.name.tolist()
    hosts = fabric.nodes.host.codes.tolist()
    rack = [
        f"R{1 + int(name[-1]) % 2}"
        if "leaf" in name
        else "R3"
        if "spine" in name
        else f"H{code // 4}"
        if code >= 0
        else ""
        for name, code in zip(names, hosts, strict=True)
    ]
    return replace(fabric, nodes=replace(fabric.nodes, rack=Labels.of(rack)))


def test_every_port_of_every_step_is_on_the_list_once(repair: Repair) -> None:
    both = repair.comparison.both
    touches = touches_of(both, repair.jobs, repair.acts, repair.steps)
    wanted = sorted((step.number, text) for step in repair.steps for text in (*step.leaves, *step.enters))
    shown = sorted((one.step, f"{both.nodes.name[one.node]} port {one.port}") for one in touches)
    assert shown == wanted
    racks = [one.rack for one in touches]
    assert racks == sorted(racks, key=lambda rack: (rack[0], int(rack[1:])))
    assert {one.rack for one in touches if "leaf" in one.device} <= {"R1", "R2"}


def test_the_sheet_has_a_line_a_port_and_a_column_to_tick(repair: Repair) -> None:
    rows = list(csv.DictReader(io.StringIO(repair_written(repair, "csv"))))
    touches = touches_of(repair.comparison.both, repair.jobs, repair.acts, repair.steps)
    assert len(rows) == len(touches)
    assert {row["done"] for row in rows} == {""}
    assert {row["do"] for row in rows} <= {"unplug", "plug in", "change", "label"}
    gives = {int(row["step"]): row["gives_back_gbps"] for row in rows}
    assert float(gives[1]) == pytest.approx(repair.steps[0].gives_gbps, rel=1e-5)


def test_the_page_is_whole_and_has_a_box_for_every_line(repair: Repair) -> None:
    page = repair_written(repair, "html")

    class Check(HTMLParser):
        boxes = faces = racks = 0

        def __init__(self) -> None:
            super().__init__()
            self.open: list[str] = []

        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            given = dict(attrs)
            self.boxes += given.get("class") == "box"
            self.faces += (given.get("aria-label") or "").startswith("ports of")
            self.racks += given.get("class") == "rack"
            assert tag not in ("script", "link", "img", "iframe")
            if tag != "meta":
                self.open.append(tag)

        def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            assert tag == "rect"

        def handle_endtag(self, tag: str) -> None:
            assert self.open.pop() == tag

    check = Check()
    check.feed(page)
    touches = touches_of(repair.comparison.both, repair.jobs, repair.acts, repair.steps)
    assert check.open == []
    assert check.boxes == len(repair.steps) + len(touches)
    assert check.faces == len({one.node for one in touches if "leaf" in one.device or "spine" in one.device})
    assert check.racks == len({one.rack for one in touches})
    assert "http" not in page.replace("http-equiv", "")


def test_a_face_shows_all_ports_and_the_steps_on_those_touched(repair: Repair) -> None:
    both = repair.comparison.both
    touches = touches_of(both, repair.jobs, repair.acts, repair.steps)
    node = next(one.node for one in touches if one.device.startswith("spine"))
    drawn = face(both, node, touches)
    assert drawn.count("<rect") == 1 + 64
    bold = re.findall(r"font-weight='700'[^>]*>([+=-]\d+)<", drawn)
    signs = {"out": "-", "in": "+", "change": "="}
    assert sorted(bold) == sorted(f"{signs[one.does]}{one.step}" for one in touches if one.node == node)


def test_names_that_would_act_are_shown_only() -> None:
    design = topo.leaf_spine(leaves=4, spines=2, hosts_per_leaf=4)
    names = design.nodes.name.astype(object)
    names[design.select("leaf-2")] = "<script>alert(1)</script>"
    names[design.select("spine-1")] = "=cmd|'/c calc'!A1\x1b[31m"
    design = replace(design, nodes=replace(design.nodes, name=names.astype(np.str_)))
    a, b = design.select("<script>alert(1)</script>")[0], design.select("=cmd*")[0]
    link = int(np.flatnonzero((design.link_a == a) & (design.link_b == b))[0])
    repair = repair_wiring(design.without(links=[link]), design)
    assert repair.counts == {"add": 1}
    page = repair_written(repair, "html")
    assert "<script" not in page
    assert "\x1b" not in page + repair_written(repair) + repair_written(repair, "csv")
    cells = [cell for row in csv.reader(io.StringIO(repair_written(repair, "csv"))) for cell in row]
    assert not [cell for cell in cells if cell[:1] in ("=", "+", "-", "@")]


def test_without_racks_the_devices_follow_each_other() -> None:
    design = topo.leaf_spine(leaves=4, spines=2, hosts_per_leaf=4)
    repair = repair_wiring(design.without(links=[20]), design)
    touches = touches_of(repair.comparison.both, repair.jobs, repair.acts, repair.steps)
    assert {one.rack for one in touches} == {NO_RACK}
    assert "By device" in repair_written(repair)


def test_the_verb_writes_every_form(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, against = str(FAULTS / "swapped_two_uplinks.csv"), str(FAULTS / "good_leaf_spine.csv")
    assert main(["repair", file, "--against", against]) == 0
    out = capsys.readouterr().out
    assert "ends to move" in out
    assert "[ ]   1  unplug" in out
    for form in ("json", "html", "csv"):
        assert main(["repair", file, "--against", against, "-o", str(tmp_path / f"list.{form}")]) == 0
        assert "2 jobs in 3 steps" in capsys.readouterr().out
    assert json.loads((tmp_path / "list.json").read_text())["counts"] == {"move": 2}
    assert (tmp_path / "list.html").read_text().startswith("<!doctype html>")
    assert (tmp_path / "list.csv").read_text().startswith("done,step,rack")


def test_the_verb_says_what_it_cannot_mend_and_refuses_another_plan(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["repair", str(FAULTS / "leaf-missing_third_rail.csv")]) == 1
    assert "leaf-missing" in capsys.readouterr().out
    wrong = ["repair", str(FAULTS / "wrong-design_other_fabric.csv"), "--against", str(FAULTS / "good_rails.csv")]
    assert main(wrong) == 2
    assert "is this the right design" in capsys.readouterr().err
    assert main(["repair", "leaf-spine-2to1", "--against", "leaf-spine-2to1"]) == 2
    assert main(["repair", "no-such-file.csv"]) == 2


def test_the_plan_verb_grows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    grow = ["plan", "nvidia-superpod-b200-4su", "--from", "nvidia-superpod-b200-2su"]
    assert main([*grow, "--require", "0.9", "-o", str(tmp_path / "lists")]) == 0
    out = capsys.readouterr().out
    assert "90.62 % of the old capacity, 90 % required" in out
    assert "round 1 of 6: drain and re-plug 48 cables" in out
    assert sorted(path.name for path in (tmp_path / "lists").iterdir()) == ["growth.csv", "growth.html", "growth.json"]
    assert main([*grow, "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["growth"]["n_moved"] == 256
    assert main([*grow, "--require", "0.99"]) == 2
    assert "the nearest that works is require 0.968" in capsys.readouterr().err
