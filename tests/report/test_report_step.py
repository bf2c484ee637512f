"""The section on a usual training step: numbers are the library's, pictures show them, it never fails a report."""

from __future__ import annotations

from itertools import pairwise
from xml.etree import ElementTree

import pytest

import topo
from topo.report.content import Grid, Picture, Section, Text
from topo.report.step import StepAnswers, usual_job
from topo.view.timeline import Span, draw_timeline

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def report() -> topo.report.Report:
    return topo.make_report(topo.load("nvidia-superpod-h100-1su"), sections=["step"])


def section(report: topo.report.Report) -> Section:
    (found,) = report.sections
    assert found.key == "step"
    return found


def test_the_job_is_the_librarys(report: topo.report.Report) -> None:
    f = report.fabric
    model, plan, rows = usual_job(f)
    assert (model, plan.tensor, plan.pipeline, plan.data, plan.ranks) == ("llama-3-70b", 8, 4, 4, 128)
    expected = topo.training_step(model, plan, fabric=f, placement=rows)
    answer = report.step
    assert isinstance(answer, StepAnswers) and answer.step.to_dict() == expected.to_dict()
    told = "".join(item.text for item in section(report).items if isinstance(item, Text))
    assert f"MFU {100 * expected.mfu:.1f} %" in told
    terms, worth = [item for item in section(report).items if isinstance(item, Grid)]
    assert sum(terms.bars) == pytest.approx(1, abs=1e-9)
    assert [row[0] for row in worth.rows][:2] == ["as it is", "one more rail"]
    assert report.to_dict()["step"]["scaling"]["ranks"] == [32, 64, 128]


def test_the_timeline_is_the_schedule(report: topo.report.Report) -> None:
    answer = report.step
    assert isinstance(answer, StepAnswers)
    timeline, efficiency = [item.drawing for item in section(report).items if isinstance(item, Picture)]
    boxes = [one for one in ElementTree.fromstring(timeline.svg).iter(SVG + "rect") if one.get("class") in ("u0", "u1")]
    run = answer.step.timeline(8)
    # Every forward and backward once, and the legend's two.
    assert len(boxes) == len(run.stage) + 2
    # To scale: boxes' widths over their seconds are one number.
    spent = float((run.end_s - run.start_s).sum())
    width = sum(float(one.get("width", "nan")) for one in boxes[:-2])
    end = run.time_s + answer.step.terms["optimizer"] + answer.step.terms["exposed data"]
    assert width / spent * end == pytest.approx(1000 - 76 - 24, rel=2e-3)
    # No two boxes of a lane overlap.
    lanes: dict[str, list[tuple[float, float]]] = {}
    for one in boxes[:-2]:
        lanes.setdefault(one.get("y", ""), []).append((float(one.get("x", "nan")), float(one.get("width", "nan"))))
    for spans in lanes.values():
        spans.sort()
        assert all(a[0] + a[1] <= b[0] + 0.02 for a, b in pairwise(spans))
    for ranks, share in zip(answer.scaling.ranks, answer.scaling.efficiency, strict=True):
        assert f"{ranks:,}: {100 * share:.1f} %" in efficiency.alt


def test_boxes_are_to_scale() -> None:
    svg = draw_timeline(
        ["a"], [Span(0, 0, 1, 0), Span(0, 1, 4, 1)], ["x", "<y>"], unit="ms", title="t", alt="a & b"
    ).svg
    widths = [float(one.get("width", "nan")) for one in ElementTree.fromstring(svg).iter(SVG + "rect")][1:3]
    assert widths[1] / widths[0] == pytest.approx(3, rel=1e-3) and "&lt;y&gt;" in svg
    ElementTree.fromstring(draw_timeline([], [], [], unit="s", title="t", alt="").svg)


@pytest.mark.parametrize(
    ("fabric", "model", "ranks"),
    [
        (topo.leaf_spine(leaves=4, spines=2, hosts_per_leaf=8), "llama-3-8b", 32),
        (topo.load("nvidia-gb200-nvl72"), "llama-3-70b", 64),
        (topo.load("nvidia-dgx-h100"), "llama-3-8b", 8),
    ],
    ids=lambda value: str(value)[:20],
)
def test_any_fabric_gets_a_job_that_fits(fabric: topo.Fabric, model: str, ranks: int) -> None:
    found = topo.make_report(fabric, sections=["step"])
    answer = found.step
    assert isinstance(answer, StepAnswers), answer
    assert (answer.step.model, answer.step.ranks) == (model, ranks)
    assert answer.step.memory_gib <= 79.6
    assert "<svg" in found.to_html() and "of one replica over" in found.to_markdown()


def test_endpoints_without_a_path_are_told() -> None:
    apart = topo.make_report(topo.fat_tree(4).without(nodes="core-*"), sections=["step"])
    (only, *_) = section(apart).items
    assert isinstance(only, Text) and only.tone == "warning"
