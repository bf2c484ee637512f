"""topo goodput, collective and step: what they print is what the library answers, in the words of the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from told import said

import topo
from topo.analysis.collectives.carried import Wire
from topo.cli.sending import RankOrder, parse_bytes, ranks_in_order

POD = "nvidia-superpod-h100-1su"
TAPERED = "leaf-spine-2to1"
JOB = "model: gpt-22b\nplan: {batch: 248, tensor: 8, data: 31, micro_batch: 4, recompute: full}\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "job.yaml").write_text(JOB)
    return tmp_path


def told(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    return json.loads(said(capsys, *arguments, "--format", "json"))


def test_goodput_is_the_librarys(capsys: pytest.CaptureFixture[str]) -> None:
    expected = topo.goodput(topo.load(TAPERED), None, "all_to_all", bytes=2**28, routing="spray")
    given = ("goodput", TAPERED, "--collective", "all_to_all", "--bytes", "256MiB", "--routing", "spray")
    shown = told(capsys, *given)
    assert shown["goodput_gbps"] == expected.goodput_gbps
    assert [level["gbps"] for level in shown["levels"]] == [level.gbps for level in expected.levels]
    lines = said(capsys, *given).splitlines()
    assert lines[0].endswith(expected.verdict)
    (taper,) = [line for line in lines if line.startswith("oversubscription")]
    # A bar of 32 letters for the line rate: what is left, then what was lost.
    left, lost = expected.levels[3].gbps, expected.levels[3].lost_gbps
    assert taper.count("#") == round(32 * left / 400)
    assert taper.split()[1:3] == [f"{left:.1f}", f"{lost:.1f}"]


def test_goodput_of_a_plain_demand(capsys: pytest.CaptureFixture[str]) -> None:
    shown = told(capsys, "goodput", TAPERED, "--demand", "shift:32", "--routing", "spray")
    # Every host of a leaf sends out of it: 16 uplinks for 32 hosts.
    assert shown["goodput_gbps"] == pytest.approx(0.5 * 400 * 0.9804, rel=1e-4)


def test_collective_is_the_librarys(capsys: pytest.CaptureFixture[str]) -> None:
    expected = topo.collective_time(topo.load(POD), bytes=2**30, wire=Wire())
    shown = told(capsys, "collective", POD, "--collective", "all_reduce", "--bytes", "1GiB", "--by-size")
    assert (shown["time_s"], shown["busbw_gbyte_s"]) == (expected.time_s, expected.busbw_gbyte_s)
    assert shown["best_by_size"][0]["bytes"] == 1024
    bare = told(capsys, "collective", POD, "--line-rate", "--ranks", "host-0*", "--algorithm", "double_tree")
    assert bare["ranks"] == 72 and bare["algorithm"] == "double_tree"
    assert "from 1 KiB: " in said(capsys, "collective", POD, "--by-size")


def test_step_is_the_librarys_and_round_robin_costs_it(capsys: pytest.CaptureFixture[str]) -> None:
    f = topo.load(POD)
    plan = topo.training.Plan(batch=248, tensor=8, data=31, micro_batch=4, recompute="full")
    expected = topo.training_step("gpt-22b", plan, fabric=f)
    shown = told(capsys, "step", POD, "--job", "job.yaml", "--fingerprint", "--sensitivity")
    assert (shown["time_s"], shown["mfu"]) == (expected.time_s, expected.mfu)
    assert shown["fingerprint"]["lines"] and len(shown["sensitivity"]["variants"]) == 5
    bad = told(capsys, "step", POD, "--job", "job.yaml", "--order", "round-robin")
    assert bad["terms"]["exposed tensor"] > 5 * shown["terms"]["exposed tensor"]
    text = said(capsys, "step", POD, "--job", "job.yaml")
    assert "exposed tensor" in text and "MFU" in text


def test_orders_of_ranks() -> None:
    f = topo.rail_optimized(hosts=4, rails=2, hosts_per_unit=4, radix=16)
    straight = ranks_in_order(f, None, RankOrder.fabric)
    host = f.nodes.host.values(straight)
    assert len(set(host[:2])) == 1
    turned = f.nodes.host.values(ranks_in_order(f, None, RankOrder.round_robin))
    assert list(turned) == [*dict.fromkeys(host), *dict.fromkeys(host)]
    drawn = ranks_in_order(f, None, RankOrder.random, seed=1)
    assert sorted(drawn) == sorted(straight) and not np.array_equal(drawn, straight)


@pytest.mark.parametrize(
    ("text", "size"), [("1GiB", 2**30), ("8MB", 8e6), ("100", 100), ("1.5 KiB", 1536), ("1G", 1e9), ("2Ki", 2048)]
)
def test_sizes(text: str, size: float) -> None:
    assert parse_bytes(text) == size


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("goodput", TAPERED, "--bytes", "1XB"), "--bytes '1XB' is not a size"),
        (("goodput", TAPERED, "--mtu", "70000"), "--mtu is 70000"),
        (("collective", TAPERED, "--alpha-us", "inf"), "--alpha-us is inf"),
        (("goodput", TAPERED, "--transport", "x"), "unknown transport 'x'; known: rocev2"),
        (("goodput", TAPERED, "--demand", "ring", "--algorithm", "ring"), "leave one of them out"),
        (("collective", TAPERED, "--algorithm", "x"), "unknown algorithm 'x'"),
        (("collective", TAPERED, "--routing", "optimal"), "--routing optimal is a bound"),
        (("goodput", "nvidia-dgx-h100"), "nothing leaves a host"),
        (("step", TAPERED), "Missing option '--job'"),
        (("step", TAPERED, "--job", "none.yaml"), "none.yaml: no such file"),
        (("step", "leaf-spine-2to1", "--job", "job.yaml", "--ranks", "host-00*"), "248 ranks, but 9 endpoints match"),
    ],
)
def test_what_is_refused(capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], message: str) -> None:
    assert message in said(capsys, *arguments, status=2)


@pytest.mark.parametrize(
    ("job", "message"),
    [
        ("model: gpt-22x\nplan: {batch: 8}\n", "job.yaml:1: key model: 'gpt-22x' is not a known model; did you mean"),
        ("model: gpt-22b\nplan: {batch: 8, tensor: 5}\n", "job.yaml:2: key plan: heads 64 is no multiple of tensor 5"),
        ("model: gpt-22b\nplan:\n  batch: 8\n  overlap_data: 'yes'\n", "job.yaml:4: key plan.overlap_data: 'yes' is"),
        ("model: gpt-22b\nplan:\n  batch: 8\n  expert_skew: x\n", "job.yaml:4: key plan.expert_skew: 'x' is not a num"),
        ("model: gpt-22b\nplan: {batch: 8}\naccelerator: x\n", "job.yaml:3: key accelerator: 'x' is not a known"),
        ("model: gpt-22b\nplan: {batch: 8}\nefficiency: x\n", "job.yaml:3: key efficiency:"),
        ("model: gpt-22b\nplan: {batch: 8}\n", "gpt-22b needs 449.5 GiB on each h100-sxm"),
        ("{}", "keys model, plan: are missing"),
    ],
)
def test_jobs_that_do_not_fit(capsys: pytest.CaptureFixture[str], folder: Path, job: str, message: str) -> None:
    (folder / "job.yaml").write_text(job)
    assert message in said(capsys, "step", POD, "--job", "job.yaml", status=2)
