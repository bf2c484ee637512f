"""The section that opens a report: its bars are the waterfall's, its picture loads nothing, it never fails a report."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

import topo
from topo.analysis.collectives.carried import Wire
from topo.report.asked import _MOST_ENDPOINTS, SECTIONS, LeftOut
from topo.report.content import Grid, Picture, Section, Text
from topo.report.goodput import GoodputAnswers
from topo.view.bars import Bar, draw_waterfall


def opened(report: topo.report.Report) -> Section:
    first = report.sections[0]
    assert first.key == "goodput"
    return first


def picture(section: Section) -> Picture:
    found, by_size = [item for item in section.items if isinstance(item, Picture)]
    assert "message size" in by_size.drawing.svg
    return found


@pytest.fixture(scope="module")
def tapered() -> topo.report.Report:
    return topo.make_report(topo.leaf_spine(leaves=4, spines=2, hosts_per_leaf=8), sections=["goodput", "inventory"])


def test_it_comes_first_and_is_the_waterfall_of_a_ring(tapered: topo.report.Report) -> None:
    assert SECTIONS[0] == "goodput"
    section = opened(tapered)
    expected = topo.goodput(tapered.fabric, bytes=4 * 2**20 * 32)
    answer = tapered.goodput
    assert isinstance(answer, GoodputAnswers) and answer.waterfall.to_dict() == expected.to_dict()
    drawn = picture(section).drawing
    for level in expected.levels:
        assert f">{level.effect}</text>" in drawn.svg and f">{level.gbps:.1f}</text>" in drawn.svg
        assert level.effect in drawn.alt and f"{level.gbps:.1f}" in drawn.alt
        assert f">{level.standing.kind}: " in drawn.svg
    assert expected.verdict in "".join(item.text for item in section.items if isinstance(item, Text))
    # 4 MiB a step: 8 * 4 MiB over 400G at 98.04 % beside 5 us of latency.
    step_us = 8 * 4 * 2**20 / 400e3 / 0.9804
    assert expected.goodput_gbps == pytest.approx(400 * 0.9804 * step_us / (step_us + 5), rel=1e-4)


def test_bars_are_to_scale(tapered: topo.report.Report) -> None:
    answer, shown = tapered.goodput, picture(opened(tapered))
    assert isinstance(answer, GoodputAnswers) and shown.narrow is not None
    said = []
    for drawing in (shown.drawing, shown.narrow):
        root = ElementTree.fromstring(drawing.svg)
        rects = [one for one in root.iter("{http://www.w3.org/2000/svg}rect") if one.get("class") == "wl"]
        widths = [float(one.get("width", "nan")) for one in rects]
        assert [width / widths[0] for width in widths] == pytest.approx(
            [level.gbps / 400 for level in answer.waterfall.levels], abs=2e-3
        )
        words = [one.text or "" for one in root.iter("{http://www.w3.org/2000/svg}text")]
        said.append([text.removeprefix("lost ") for text in words if text not in ("left", "lost", "standing")])
    # The narrow one says every name, number and standing of the wide one.
    assert said[0] == said[1] and not any("…" in text for text in said[1])


def test_a_gain_is_a_bar_of_its_own_kind_and_names_are_escaped() -> None:
    svg = draw_waterfall([Bar("<b>", 10), Bar("back", 12, -2)], unit="Gb/s", title="t", alt="a & b").svg
    assert svg.count('class="wg"') == 1 and "<b>" not in svg and "&lt;b&gt;" in svg
    ElementTree.fromstring(svg)
    ElementTree.fromstring(draw_waterfall([], unit="Gb/s", title="t", alt="").svg)


def test_beside_it_stand_algorithms_of_one_gib(tapered: topo.report.Report) -> None:
    (grid,) = [item for item in opened(tapered).items if isinstance(item, Grid)]
    assert [row[0] for row in grid.rows] == ["ring", "double_tree"]
    ring = topo.collective_time(tapered.fabric, bytes=2**30, wire=Wire())
    assert float(grid.rows[0][1].removesuffix(" ms")) == pytest.approx(1e3 * ring.time_s, rel=1e-3)


def test_time_against_message_size_is_latency_and_transfer(tapered: topo.report.Report) -> None:
    *_, drawn = [item for item in opened(tapered).items if isinstance(item, Picture)]
    root = ElementTree.fromstring(drawn.drawing.svg)
    titles = [one.findtext("{http://www.w3.org/2000/svg}title") or "" for one in root.iter()]
    points = [title for title in titles if title.startswith("ring: ")]
    assert len(points) == 13
    for size, title in zip([1 << power for power in range(10, 35, 2)], points, strict=True):
        own = topo.collective_time(tapered.fabric, bytes=float(size), algorithm="ring", wire=Wire())
        assert float(title.split()[1].replace(",", "")) == pytest.approx(1e3 * own.time_s, rel=1e-3)


def test_a_standing_without_spread_is_exact_and_no_rounding_is_printed() -> None:
    # Contiguous on rails: no draw of a hash matters, and none is told as +- 1e-14.
    answer = topo.goodput(topo.load("nvidia-superpod-h100-1su"), bytes=2.0**30)
    assert [level.standing.kind for level in answer.levels] == [*["exact"] * 7, "model"]
    assert "e-1" not in str(answer) and all(level.half_width_gbps == 0 for level in answer.levels)
    assert all(level.mean_time_gbps == level.gbps for level in answer.levels)


@pytest.mark.parametrize("name", ["nvidia-superpod-gb200-2su-nvl72", "nvidia-superpod-h100-4su"])
def test_opened_fabrics_of_a_thousand_have_it_by_default(name: str) -> None:
    from topo.report.asked import asked_or_left_out
    from topo.report.goodput import ask_goodput

    found = asked_or_left_out("goodput", topo.load(name), None, lambda named: ask_goodput(topo.load(name)))
    assert isinstance(found, GoodputAnswers)


def test_html_markdown_and_json_hold_it(tapered: topo.report.Report) -> None:
    page = tapered.to_html()
    headings = re.findall(r"<h2[^>]*>(.*?)</h2>", page)
    assert "From line rate to goodput" in headings[0] and len(headings) == 2
    shown = re.sub(r"(<script[^>]*>).*?</script>", "", page, flags=re.DOTALL)
    assert not re.search(r"https?://(?!www\.w3\.org)", shown)
    assert "after oversubscription" in tapered.to_markdown()
    told = tapered.to_dict()["goodput"]
    assert (
        told["waterfall"]["goodput_gbps"] == topo.goodput(tapered.fabric, bytes=2**27).goodput_gbps
        and len(told["beside"]) == 2
    )


def test_a_fabric_that_nothing_leaves_a_host_of_says_so_without_alarm() -> None:
    report = topo.make_report(topo.load("nvidia-dgx-h100"), sections=["goodput"])
    (only,) = opened(report).items
    assert isinstance(only, Text) and only.tone == "" and "nothing leaves a host" in only.text


def test_endpoints_without_a_path_are_told() -> None:
    apart = topo.make_report(topo.fat_tree(4).without(nodes="core-*"), sections=["goodput"])
    (only, *_) = opened(apart).items
    assert isinstance(apart.goodput, topo.DisconnectedError)
    assert isinstance(only, Text) and only.tone == "warning" and "no path" in only.text


def test_large_fabrics_leave_it_out_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("topo.report.asked._MOST_ENDPOINTS", dict.fromkeys(_MOST_ENDPOINTS, 4))
    report = topo.make_report(topo.leaf_spine(leaves=2, spines=2, hosts_per_leaf=4))
    assert isinstance(report.goodput, LeftOut)
    (only,) = opened(report).items
    assert isinstance(only, Text) and "--sections goodput" in only.text
