"""The section on a job: its numbers are the library's, the refusal is told in its place, and names are escaped."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import topo
from topo.cli import main
from topo.report import make_report
from topo.report.content import Facts, Grid, Picture, Section, Text
from topo.report.placement import PlacementAnswers, PlacementAsked

BUSY = ["host-0[6-8]", "host-1[2-6]", "host-3[12]"]  # leaves of 5, 3, 8, 6


def section(report: topo.report.Report) -> Section:
    (found,) = [one for one in report.sections if one.key == "placement"]
    return found


def grid(found: Section, caption: str) -> Grid:
    (one,) = [item for item in found.items if isinstance(item, Grid) and item.caption == caption]
    return one


@pytest.fixture(scope="module")
def four() -> topo.Fabric:
    return topo.leaf_spine(leaves=4, spines=4, hosts_per_leaf=8)


def test_the_same_numbers_as_the_verb(four: topo.Fabric) -> None:
    job = topo.Job(12, name="twelve")
    report = make_report(
        four, sections=["notes"], placement=PlacementAsked(job, BUSY, rules=("slurm-tree", "kueue-required"))
    )
    said = section(report)
    lines = {row[0]: row[1:] for row in grid(said, "The same job on the same free hosts").rows}
    assert set(lines) == {"ours, leaves", "ours, hop_bytes", "ours, uplink_load", "slurm-tree", "kueue-required"}
    # 8 + 4: 392 hop-bytes, 32 across; 4 + 3 + 3 + 2 or so loads least, with 3 x 9 the most on 5, 3, 8, 6.
    assert (
        lines["ours, leaves"][:1] == ("2",) and lines["ours, leaves"][2] == "392" and lines["ours, leaves"][4] == "32"
    )
    assert lines["ours, uplink_load"][4] == "27" and lines["slurm-tree"] == lines["ours, leaves"]
    assert lines["kueue-required"][0] == "does not place"
    far = {row[0]: row[1:] for row in grid(said, "How far from the best").rows}
    for objective, (found, bound, gap, standing) in far.items():
        one = topo.place(four, job, busy=BUSY, objective=objective)
        assert (float(found), float(bound), gap) == (one.value, one.lower_bound, "0.00 %")
        assert standing == str(one.standing) and standing.startswith("exact")
    scores = grid(said, "Scores of that placement")
    assert scores.head == ("score", "value", "unit", "direction", "ignores")
    assert scores.rows[3][:3] == ("cross_leaf_share", "48.5 %", "of the bytes between hosts")
    (hosts,) = [item.rows[0].value for item in said.items if isinstance(item, Facts)]
    assert sum(1 for _ in topo.place(four, job, busy=BUSY).hosts) == 12 and str(hosts).startswith("host-")
    (picture,) = [item for item in said.items if isinstance(item, Picture)]
    assert "12 of its 32 hosts, in 2 of 4 leaf groups, 10 more are free" in picture.drawing.alt
    words = " ".join(item.text for item in said.items if isinstance(item, Text))
    assert "Kueue-required does not place it: the Topology lists leaf, host; no domain of the level holds" in words


def test_its_results_are_in_the_json_and_the_page(four: topo.Fabric) -> None:
    report = make_report(four, sections=["inventory"], placement=topo.Job(12, name="<i>=1+1"))
    value = json.loads(report.to_json())["placement"]
    assert [one["objective"] for one in value["found"]] == ["leaves", "hop_bytes", "uplink_load"]
    assert value["comparison"]["choices"][0]["rule"] == "slurm-tree"
    html = report.to_html()
    assert "Where a job goes" in html and "<i>=1" not in html and "&lt;i&gt;=1+1" in html
    assert [one.key for one in report.sections] == ["inventory", "placement"]
    assert "**How far from the best**" in report.to_markdown()


def test_what_does_not_fit_is_said_in_its_place(four: topo.Fabric) -> None:
    report = make_report(four, sections=["inventory"], placement=topo.Job(40))
    (text,) = section(report).items
    assert isinstance(text, Text) and text.tone == "warning"
    assert text.text.startswith("Not placed: 'job' needs 40 hosts") and "8 are missing" in text.text
    assert json.loads(report.to_json())["placement"]["kind"] == "ParameterError"


def test_rates_unknown_is_said_without_a_standing(tmp_path: Path) -> None:
    lines = "SwitchName=s1 Nodes=n[1-4]\nSwitchName=s2 Nodes=n[5-8]\nSwitchName=top Switches=s[1-2]\n"
    (tmp_path / "topology.conf").write_text(lines)
    fabric = topo.read(tmp_path / "topology.conf")
    report = make_report(fabric, sections=["inventory"], placement=topo.Job(6))
    lines_ = grid(section(report), "The same job on the same free hosts").rows
    assert {row[-1] for row in lines_} == {"rates unknown"}
    text = str(topo.place(fabric, topo.Job(6)).affinity)
    assert "rates unknown" in text and "exact: rates unknown" not in text
    assert "(exact: counted over the placement tree)" in text


def test_other_jobs_slow_it_down() -> None:
    fabric = topo.leaf_spine(leaves=2, spines=1, hosts_per_leaf=8, host_gbps=100, link_gbps=400)
    other = topo.Job(8, name="other"), [f"host-{i:02}" for i in (1, 2, 3, 4, 9, 10, 11, 12)]
    report = make_report(
        fabric, sections=["inventory"], placement=PlacementAsked(topo.Job(8, name="mine"), others=[other])
    )
    answer = report.placement
    assert isinstance(answer, PlacementAnswers)
    slow = topo.place(fabric, topo.Job(8, name="mine"), others=[other]).affinity.slowdown
    (facts,) = [item for item in section(report).items if isinstance(item, Facts)]
    assert [(row.label, row.value) for row in facts.rows[2:]] == [(f"slowdown of {k}", v) for k, v in slow.items()]
    # Each sends 4 x 4 of 7 x 100G a host over an uplink of 400G: 228.6 alone, 457.1 together.
    assert slow["mine"] == pytest.approx(4 * 4 / 7 * 2 * 100 / 400)


def test_it_is_asked_for_by_a_job_alone(four: topo.Fabric) -> None:
    assert make_report(four, sections=["inventory"]).placement is None
    with pytest.raises(topo.ParameterError, match="the section placement takes a job"):
        make_report(four, sections=["placement"])


def test_from_the_shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    head = "name: four\ntitle: Four\noperator: none\nsources: [{text: ours, label: D}]\nbuilder: leaf_spine\n"
    Path("four.yaml").write_text(f"{head}parameters: {{leaves: 4, spines: 4, hosts_per_leaf: 8}}\n")
    Path("job.yaml").write_text("name: twelve\nsize: 12\n")
    idle = "host-[01-05,09-11,17-30]"
    Path("sinfo.txt").write_text(f"PARTITION AVAIL TIMELIMIT NODES STATE NODELIST\ngpu up infinite 22 idle {idle}\n")
    asked = ["report", "four.yaml", "--job", "job.yaml", "--busy", "sinfo.txt", "--sections", "inventory"]
    assert main([*asked, "--compare", "slurm-dragonfly", "-o", "r.json"]) == 0
    assert "22 of 32 hosts are free" in capsys.readouterr().out
    value = json.loads(Path("r.json").read_text())["placement"]
    assert [choice["leaf_counts"] for choice in value["comparison"]["choices"]] == [
        {"leaf-1": 3, "leaf-2": 3, "leaf-3": 3, "leaf-4": 3}
    ]
    assert (
        value["found"][0]["leaf_counts"]
        == topo.place(
            topo.load("four.yaml"), topo.Job(12), busy=~np.isin(np.arange(32), [*range(5), 8, 9, 10, *range(16, 30)])
        ).leaf_counts
    )
    for given, words in {
        ("--busy", "sinfo.txt"): "--busy is about a job to place; give it with --job FILE",
        ("--job", "none.yaml"): "none.yaml: no such file",
        ("--job", "job.yaml", "--compare", "pbs"): "--compare names 'pbs'",
        ("--sections", "placement"): "the section placement takes a job",
    }.items():
        assert main(["report", "four.yaml", *given]) == 2
        assert words in capsys.readouterr().err
