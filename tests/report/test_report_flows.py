"""Sections on flows, collisions and failures: their numbers are the Results', their pictures load nothing."""

from __future__ import annotations

import dataclasses
import json
import re

import numpy as np
import pytest

import topo
from topo import traffic
from topo.analysis.degradation import degradation_curve
from topo.cli import main
from topo.report.asked import SECTIONS, LeftOut
from topo.report.content import Grid, Picture, Section
from topo.report.drains import drains
from topo.report.flows import CollisionAnswers, FlowAnswers
from topo.report.losses import LossAnswers


@pytest.fixture(scope="module")
def report() -> topo.report.Report:
    return topo.make_report(topo.leaf_spine(leaves=8, spines=4, hosts_per_leaf=8, parallel=2))


def section(report: topo.report.Report, key: str) -> Section:
    (found,) = [item for item in report.sections if item.key == key]
    return found


def grid(of: Section, caption: str) -> Grid:
    (found,) = [item for item in of.items if isinstance(item, Grid) and item.caption == caption]
    return found


def test_throughput_names_the_fullest_links_before_the_heat(report: topo.report.Report) -> None:
    found = section(report, "throughput")
    kinds = [item.caption if isinstance(item, (Grid, Picture)) else "" for item in found.items]
    assert kinds.index("The fullest links, worst first") < next(i for i, k in enumerate(kinds) if k.startswith("Every"))
    rows = grid(found, "The fullest links, worst first").rows
    shares = [float(row[-1].removesuffix(" %")) for row in rows]
    assert shares == sorted(shares, reverse=True)
    answer = report.throughput
    assert isinstance(answer, FlowAnswers)
    f = report.fabric
    loads = topo.link_loads(f, traffic.all_to_all(f))
    used = loads.capacity_gbps > 0
    assert shares[0] == pytest.approx(100 * float((loads.arc_gbps[used] / loads.capacity_gbps[used]).max()), rel=1e-3)
    assert answer.throughput.theta_lower == topo.throughput(f, traffic.all_to_all(f)).theta_lower


def test_heat_shows_an_overloaded_stage_and_only_that() -> None:
    report = topo.make_report(topo.leaf_spine(leaves=4, spines=2, hosts_per_leaf=8), sections=["throughput"])
    (picture,) = [item for item in section(report, "throughput").items if isinstance(item, Picture)]
    assert "cannot carry it" in picture.drawing.svg and 'class="qo"' in picture.drawing.svg
    assert "leaf to spine: 8 links, mean 310 %, most 310 %" in picture.drawing.alt  # 8 * 24/31 over 2
    fine = topo.make_report(topo.leaf_spine(leaves=4, spines=8, hosts_per_leaf=8), sections=["throughput"])
    assert 'class="qo"' not in fine.to_html()


def test_collisions_are_the_librarys_and_the_curve_rises(report: topo.report.Report) -> None:
    answer = report.collisions
    assert isinstance(answer, CollisionAnswers) and answer.remedies is not None
    f = report.fabric
    expected = topo.ecmp_collisions(f, traffic.permutation(f), samples=0)
    assert answer.collisions.slowest_rate == expected.slowest_rate
    slowest = [point.estimate for _, point, _ in answer.remedies.curve()]
    assert slowest == sorted(slowest) and len(slowest) == 5
    names = [row[0] for row in grid(section(report, "collisions"), "What would help").rows]
    assert names[0] == "as it is" and "striped over 8 queue pairs" in names


def test_the_picture_of_the_slowest_flow_is_a_distribution(report: topo.report.Report) -> None:
    pictures = [item for item in section(report, "collisions").items if isinstance(item, Picture)]
    points = re.search(r'<polyline class="k0" points="([^"]+)"', pictures[0].drawing.svg)
    assert points
    xy = np.array([[float(v) for v in pair.split(",")] for pair in points[1].split()])
    # From high rates to low: the probability to get that much only grows, up to certainty at the top of the plane.
    assert (np.diff(xy[:, 0]) <= 0.11).all() and (np.diff(xy[:, 1]) <= 0.11).all()
    assert xy[-1, 1] == 28.0


def test_failures_rank_elements_and_say_what_may_be_drained(report: topo.report.Report) -> None:
    answer = report.failures
    assert isinstance(answer, LossAnswers) and not isinstance(answer.survivability, LeftOut)
    found = topo.survivability(report.fabric)
    assert answer.survivability.to_dict() == found.to_dict()
    shown = section(report, "failures")
    left = [float(row[3].removesuffix(" %")) for row in grid(shown, "Any one element down, worst first").rows]
    assert left == sorted(left)
    rows = {row[0]: row[1:3] for row in grid(shown, "Drain safety").rows}
    assert rows["leaf switch"] == ("0", "8") and rows["endpoint-leaf link"] == ("0", "64")
    assert answer.parallel and "--down link:leaf-1/9--spine-1/1" in report.to_markdown().replace("\\", "")
    assert answer.curve is not None and [point.n_down for point in answer.curve.points] == [1, 2, 4, 8, 16, 32, 64]


def test_a_fabric_without_parallel_links_is_not_told_of_them() -> None:
    report = topo.make_report(topo.leaf_spine(leaves=4, spines=4, hosts_per_leaf=4), sections=["failures"])
    assert isinstance(report.failures, LossAnswers) and not report.failures.parallel
    assert "Why one link can cost so much" not in report.to_markdown()


def test_what_a_loss_leaves_to_the_others_is_not_taken_for_a_paradox() -> None:
    """The slow host binds the all-to-all; without its link the others send what they can."""
    f = topo.leaf_spine(leaves=1, spines=1, hosts_per_leaf=3).without(nodes="spine-1")
    rate = f.links.capacity_gbps.copy()
    rate[-1] /= 4
    f = dataclasses.replace(f, links=dataclasses.replace(f.links, capacity_gbps=rate))
    report = topo.make_report(f, sections=["failures", "collisions"])
    text = report.to_markdown().replace("\\", "")
    assert "More is left without one element: the endpoints that are cut off no longer load the others." in text
    assert "even splitting then sends less" not in text
    assert "Links that collisions overload" not in text  # each host has a link to itself


def test_drains_name_what_may_go() -> None:
    f = topo.leaf_spine(leaves=4, spines=4, hosts_per_leaf=4)
    state = topo.down_state(f, ["link:leaf-1--spine-1"])
    answer = topo.survivability(f, kinds=["switch"], state=state, require=0.95)
    (leaf, spine) = drains(f, answer, state=state)
    assert leaf.safe == () and len(leaf.unsafe) == 4
    # With one of its uplinks gone, leaf-1 loses nothing more with spine-1, and a third with any other spine.
    assert spine.safe == ("spine-1",) and spine.unsafe == ("spine-2", "spine-3", "spine-4")
    assert spine.text() == "spine switch: 1 of 4 may go down, such as spine-1; not spine-2, spine-3, spine-4"


def test_the_degradation_curve_meets_closed_forms() -> None:
    """One uplink of four lost: three carry 4 * 12/15 hosts' traffic. Both ends of a count are certain."""
    f = topo.leaf_spine(leaves=4, spines=4, hosts_per_leaf=4)
    curve = degradation_curve(f, counts=(1, 16, 17), samples=5)
    assert [point.n_down for point in curve.points] == [1, 16]
    one, all_down = curve.points
    assert one.share_low == one.share_mean == one.share_least == pytest.approx(3 / (4 * 12 / 15))
    assert all_down.cut_off_mean >= 12
    spines = degradation_curve(f, "switch", counts=(1,), samples=40, seed=3)
    assert spines.points[0].share_least == pytest.approx(0.9375) and spines.n_elements == 8
    assert degradation_curve(f, samples=4, seed=2).to_dict() == degradation_curve(f, samples=4, seed=2).to_dict()
    with pytest.raises(topo.ParameterError, match="samples is 0"):
        degradation_curve(f, samples=0)
    with pytest.raises(topo.ParameterError, match="between switches"):
        degradation_curve(topo.leaf_spine(1, 1, 2).without(nodes="spine-1"))


def test_where_no_pair_has_a_path_nothing_is_left() -> None:
    f = topo.leaf_spine(leaves=2, spines=1, hosts_per_leaf=1)
    found = topo.degraded_capacity(f, topo.down_state(f, ["spine-1"]))
    assert (found.share, found.lost_pairs) == (0.0, 2)
    assert degradation_curve(f, counts=(1,), samples=2).points[0].share_mean == 0.0


def test_sections_are_chosen_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    f = topo.leaf_spine(leaves=4, spines=4, hosts_per_leaf=4)
    report = topo.make_report(f, sections=["failures", "inventory"])
    assert [item.key for item in report.sections] == ["inventory", "failures"]
    assert report.throughput is None and report.collisions is None
    with pytest.raises(
        topo.ParameterError, match="no section is called 'luck'; known: goodput, measured, main-numbers"
    ):
        topo.make_report(f, sections=["luck"])
    assert main(["report", "leaf-spine-2to1", "--sections", "inventory, throughput", "--format", "md", "-o", "-"]) == 0
    out = capsys.readouterr().out
    assert out.count("\n## ") == 3 and "## Where traffic goes" in out  # the summary is always there
    assert main(["report", "leaf-spine-2to1", "--sections", "luck"]) == 2
    assert set(SECTIONS) >= {item.key for item in topo.make_report(f).sections}


def test_json_holds_the_answers_in_full(report: topo.report.Report) -> None:
    told = json.loads(report.to_json())
    assert told["throughput"]["throughput"]["theta_lower"] == report.throughput.throughput.theta_lower  # type: ignore[union-attr]
    assert told["failures"]["survivability"]["verdicts"] and told["failures"]["curve"]["points"]
    assert told["collisions"]["remedies"]["remedies"][0]["kind"] == "as is"


def test_what_takes_long_is_left_out_and_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(topo.report.asked._MOST_ENDPOINTS, "collisions", 10)  # type: ignore[attr-defined]
    monkeypatch.setattr("topo.report.losses._MOST_STATES", 1)
    f = topo.leaf_spine(leaves=4, spines=4, hosts_per_leaf=4)
    report = topo.make_report(f)
    text = report.to_markdown().replace("\\", "")
    assert (
        "Left out: 16 endpoints take longer than the rest of the report. Ask for it with --sections collisions" in text
    )
    assert "every single failure would take 4 evaluations. Ask for it with --sections failures" in text
    assert report.to_dict()["collisions"] == {"left_out": "16 endpoints take longer than the rest of the report"}
    named = topo.make_report(f, sections=["collisions", "failures"])
    assert isinstance(named.collisions, CollisionAnswers)
    assert isinstance(named.failures, LossAnswers) and not isinstance(named.failures.survivability, LeftOut)


@pytest.mark.parametrize("sections", [["throughput", "collisions"], ["throughput"], ["collisions"]])
def test_what_is_a_model_on_infiniband_is_said_once(sections: list[str]) -> None:
    text = topo.make_report(topo.load("nvidia-superpod-h100-1su"), sections=sections).to_markdown()
    assert text.count("not by hashing: ECMP here is a model") == 1


def test_opened_hosts_and_racks_have_their_sections() -> None:
    report = topo.make_report(topo.load("nvidia-gb200-nvl72"))
    text = report.to_markdown()
    assert "paths inside opened hosts can only be sampled" in text
    assert {"throughput", "collisions", "failures"} <= {item.key for item in report.sections}
    # 72 accelerators with 18 NVLinks of 400 Gb/s each; their links to the CPUs lead nowhere else.
    assert topo.inventory(report.fabric).injection_gbps == 72 * 18 * 400


def test_the_largest_bundles_of_a_cut_are_those_a_full_sort_would_show() -> None:
    from topo.report.cut import _largest
    from topo.view.text import natural_key

    generator = np.random.default_rng(1)
    names = np.array([f"n-{i}" for i in range(40)])
    pairs = np.sort(generator.choice(1600, 700, replace=False))
    for rate in (generator.integers(1, 4, 700).astype(float), np.ones(700), generator.random(700)):
        order = sorted(
            range(700), key=lambda i: (-rate[i], natural_key(names[pairs[i] // 40]), natural_key(names[pairs[i] % 40]))
        )
        assert _largest(rate, names, names, pairs) == order[:12]
