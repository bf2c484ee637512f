"""The section on what was measured: the file's sizes against predictions, counters, refusals, the command line."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

import topo
from topo.analysis.collectives.carried import Wire
from topo.analysis.collectives.on_fabric import collective_time
from topo.cli import main
from topo.cli.schema_verbs import verb_schema
from topo.errors import ParameterError
from topo.report.content import Grid
from topo.report.measured import MeasuredAsked, ask_measured, measured_section

SPEC = """name: small
title: A small fabric
operator: nobody
sources: [{text: made up, label: D}]
builder: leaf_spine
parameters: {leaves: 2, spines: 2, hosts_per_leaf: 4}
"""


def run_of(fabric: topo.Fabric, slower: float, ranks: int) -> str:
    """What nccl-tests would print of a run on the first endpoints that takes ``slower`` times what is predicted."""
    time = collective_time(fabric, fabric.endpoints[:ranks], bytes=2**28, wire=Wire()).time_s * 1e6 * slower
    lines = ["# Collective test starting: all_reduce_perf"]
    lines += [f"#  Rank {i:2d} Group  0 Pid 1 on node device 0" for i in range(ranks)]
    lines.append(f"{2**28} {2**26} float sum -1 {time:.3f} 1.0 1.0 0 {time:.3f} 1.0 1.0 0")
    return "\n".join(lines) + "\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("small.yaml").write_text(SPEC, "utf-8")
    Path("run.txt").write_text(run_of(topo.load("small.yaml"), 1.5, 6), "utf-8")
    Path("ports.csv").write_text("node,port,gbps,direction\nleaf-1,5,60,tx\nleaf-1,6,0,tx\n", "utf-8")
    return tmp_path


def test_a_run_on_fewer_ranks_is_set_beside_the_first_endpoints() -> None:
    answer = ask_measured(topo.load("small.yaml"), MeasuredAsked("run.txt", "ports.csv"))
    assert answer.run is not None and answer.counters is not None
    assert answer.run.ranks == 6 and answer.run.sizes[0].time_ratio == pytest.approx(1.5, abs=1e-4)
    assert "first 6 endpoints" in answer.told
    assert [one.measured_gbps for one in answer.counters.ports] == [0.0, 60.0]  # the farthest off first
    grids = [item for item in measured_section(answer).items if isinstance(item, Grid)]
    assert grids[0].rows[0][-1] == "1.50" and grids[1].rows[0][:3] == ("leaf-1", "6", "sent")


def test_the_command_line_writes_the_section_and_the_json_follows_its_schema(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["report", "small.yaml", "--measured", "run.txt", "--sections", "inventory", "-o", "r.html"]) == 0
    text = Path("r.html").read_text("utf-8")
    assert "Measured beside predicted" in text and ">1.50<" in text
    capsys.readouterr()
    for files in (["--counters", "ports.csv"], ["--measured", "run.txt", "--counters", "ports.csv", "--explain"]):
        assert main(["report", "small.yaml", *files, "--format", "json", "-o", "-"]) == 0
        said = json.loads(capsys.readouterr().out)
        jsonschema.validate(said, verb_schema("report"), jsonschema.Draft202012Validator)
        assert said["measured"]["counters"]["ports"][1]["measured_gbps"] == 60.0
        assert (said["measured"]["run"] is None) == ("--measured" not in files)
    assert "Port counters beside predicted loads" in [one["of"] for one in said["explanations"]]


def test_what_cannot_be_set_beside_is_said_in_its_place(capsys: pytest.CaptureFixture[str]) -> None:
    fabric = topo.load("small.yaml")
    big = topo.leaf_spine(leaves=2, spines=2, hosts_per_leaf=8)
    Path("big.txt").write_text(run_of(big, 1.0, 16), "utf-8")
    report = topo.make_report(fabric, sections=["inventory"], measured=MeasuredAsked("big.txt"))
    assert isinstance(report.measured, ParameterError)
    assert "the run has 16 ranks and the fabric 8 endpoints" in report.to_markdown()
    assert main(["report", "small.yaml", "--sections", "measured"]) == 2
    assert "the section measured takes a file: --measured or --counters" in capsys.readouterr().err
    with pytest.raises(ParameterError, match="nothing was measured"):
        ask_measured(fabric, MeasuredAsked())
