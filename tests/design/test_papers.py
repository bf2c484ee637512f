"""What is printed: a label an end, elevations of every box, names that cannot act, files whole or not at all."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

import topo
from topo.design import cabling_plan, write_plan
from topo.design.schedule import COLUMNS, LABEL_COLUMNS


def table(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_a_line_of_the_schedule_says_both_ends() -> None:
    plan = cabling_plan(topo.load("nvidia-superpod-h100-4su"))
    rows = table(plan.schedule_csv())
    assert len(rows) == 2044 and tuple(rows[0]) == COLUMNS
    first = rows[0]
    assert (first["A Node"], first["A Port"], first["A Cage"], first["A Rack"], first["A U"]) == (
        "host-001", "nic-1/1", "cage 4", "A01", "1",
    )  # fmt: skip
    assert (first["Z Node"], first["Z Port"], first["Z Cage"], first["Z Rack"], first["Z U"]) == (
        "su-1-leaf-1", "1", "cage 1", "A09", "48",
    )  # fmt: skip
    assert first["A Label"] == "C00001 A01.U1 host-001 nic-1/1 > A09.U48 su-1-leaf-1 1"
    assert first["Z Label"] == "C00001 A09.U48 su-1-leaf-1 1 > A01.U1 host-001 nic-1/1"
    assert (first["Speed"], first["Medium"], first["A Optic"]) == (
        "400G", "multimode fibre 400G", "OSFP twin-port 2x400G SR4",
    )  # fmt: skip
    assert len({row["Cable ID"] for row in rows}) == 2044
    # Appendix: rails 1 and 8, GPU 0 and 3, share the fourth cage of a DGX H100 (user guide, table 6).
    cages = {row["A Port"]: row["A Cage"] for row in rows if row["A Node"] == "host-001"}
    assert cages["nic-1/1"] == cages["nic-4/1"] == "cage 4" and cages["nic-8/1"] == cages["nic-5/1"] == "cage 1"


def test_every_end_has_a_label_that_names_both() -> None:
    plan = cabling_plan(topo.load("nvidia-superpod-b300-spectrumx-1su"))
    labels, schedule = table(plan.labels_csv()), table(plan.schedule_csv())
    assert tuple(labels[0]) == LABEL_COLUMNS and len(labels) == 2 * len(schedule)
    by_end = {(row["Cable ID"], row["Leg"], row["End"]): row for row in labels}
    for row in schedule:
        a, z = by_end[row["Cable ID"], row["Leg"], "A"], by_end[row["Cable ID"], row["Leg"], "Z"]
        assert (a["Rack"], z["Rack"]) == (row["A Rack"], row["Z Rack"])
        assert (a["Line 2"], a["Line 3"]) == (z["Line 3"], z["Line 2"])
        assert row["A Label"] == f"{a['Line 1']} {a['Line 2']} > {a['Line 3']}"
    assert any(row["Leg"] == "2" for row in schedule)


def pictures(page: str) -> list[ElementTree.Element]:
    return [ElementTree.fromstring(svg) for svg in re.findall(r"<svg.*?</svg>", page, re.DOTALL)]


def test_the_elevations_show_every_box_and_rack() -> None:
    plan = cabling_plan(topo.load("nvidia-superpod-h100-4su"))
    page = plan.elevations_html()
    tips = [tip.text or "" for svg in pictures(page) for tip in svg.iter("{http://www.w3.org/2000/svg}title")]
    assert sorted(tip.split(",")[0] for tip in tips if ", U" in tip) == sorted(plan.boxes.name)
    assert sum("kW" in tip and ", U" not in tip for tip in tips) == plan.n_racks
    assert "17,412 m in all, the longest 15 m" in page
    for outside in ("<script", "src=", "href=", "url(", "@import"):
        assert outside not in page
    assert "http" not in page.replace("http://www.w3.org/2000/svg", "")


def test_boxes_are_drawn_where_they_stand() -> None:
    plan = cabling_plan(topo.leaf_spine(leaves=1, spines=1, hosts_per_leaf=2))
    page = plan.elevations_html()
    places = {}
    for svg in pictures(page):
        for group in svg.iter("{http://www.w3.org/2000/svg}g"):
            tip, box = group[0].text or "", group[1]
            if ", U" in tip:
                places[tip.split(",")[0]] = float(box.attrib["y"])
    assert places["host-1"] > places["host-2"] > places["leaf-1"]
    assert places["host-1"] - places["host-2"] == pytest.approx(13)


def test_names_are_escaped_in_the_page() -> None:
    from dataclasses import replace

    import numpy as np

    fabric = topo.leaf_spine(leaves=2, spines=1, hosts_per_leaf=2)
    names = ["<script>alert(1)</script>" if name == "leaf-1" else name for name in fabric.nodes.name]
    page = cabling_plan(replace(fabric, nodes=replace(fabric.nodes, name=np.array(names)))).elevations_html()
    assert "<script" not in page and "&lt;script&gt;" in page
    assert pictures(page)


def test_a_hall_of_many_racks_draws_one_of_each_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("topo.design.elevations._MOST_DRAWN", 10)
    plan = cabling_plan(topo.load("nvidia-superpod-h100-4su"))
    page = plan.elevations_html()
    assert "one of each of" in page and page.count('class="page"') < 4


def test_files_are_written_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = cabling_plan(topo.load("nvidia-superpod-h100-1su"))
    names = {path.name for path in write_plan(plan, tmp_path / "a" / "b", xlsx=False)}
    assert names == {"schedule.csv", "labels.csv", "bill.csv", "racks.csv", "boxes.csv", "elevations.html", "pull.html"}
    assert {path.name for path in (tmp_path / "a" / "b").iterdir()} == names

    def broken(self: object) -> str:
        raise topo.ParameterError("no page today")

    monkeypatch.setattr(type(plan), "elevations_html", broken)
    with pytest.raises(topo.ParameterError, match="no page"):
        write_plan(plan, tmp_path / "c", xlsx=False)
    assert not (tmp_path / "c").exists()


def test_a_folder_that_cannot_be_made_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(topo.InputError, match="this folder cannot be made"):
        write_plan(cabling_plan(topo.leaf_spine(leaves=1, spines=1, hosts_per_leaf=2)), tmp_path / "file" / "plan")


def test_a_workbook_without_its_writer_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "xlsxwriter", None)
    plan = cabling_plan(topo.leaf_spine(leaves=1, spines=1, hosts_per_leaf=2))
    with pytest.raises(topo.InputError, match="pip install XlsxWriter"):
        plan.workbook()


def test_the_pull_list_has_every_cable_under_its_pair_of_racks() -> None:
    plan = cabling_plan(topo.load("nvidia-superpod-b300-spectrumx-1su"))
    page = plan.pull_html()
    headings = re.findall(r"<h2>(B\d+): (.*?)\. (.*?)</h2>", page)
    assert len(headings) == plan.n_bundles
    fetched = sum(int(count.replace(",", "")) for _, _, text in headings for count in re.findall(r"([\d,]+) x ", text))
    assert fetched == plan.n_cables
    assert page.count("<i></i>") == plan.n_links
    rows = {row["Bundle"]: row for row in table(plan.schedule_csv())}
    for bundle, where, _ in headings:
        ends = {rows[bundle]["A Rack"], rows[bundle]["Z Rack"]}
        assert where == (" to ".join(sorted(ends)) if len(ends) > 1 else f"inside {ends.pop()}")
    for outside in ("<script", "src=", "href=", "url(", "http"):
        assert outside not in page
