"""Measured beside predicted: runs of nccl-tests and port counters, in the library and at the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import topo
from topo.analysis.collectives.carried import Wire
from topo.analysis.collectives.on_fabric import collective_loads, collective_time
from topo.cli import main
from topo.errors import FormatError, InputError, ParameterError
from topo.fabric import Fabric
from topo.training.beside import measured_beside
from topo.training.counters import PortCounter, counters_beside, read_port_counters
from topo.training.measured import read_nccl_tests
from topo.training.waterfall import goodput

TAPERED = "leaf-spine-2to1"


def run(fabric: Fabric, slower: float, name: str = "all_reduce", ranks: int = 0, **given: Any) -> str:
    """Output of a run that takes ``slower`` times what is predicted."""
    lines = [f"# Collective test starting: {name}_perf"]
    lines += [f"#  Rank {i:2d} Group  0 Pid 1 on node device 0" for i in range(ranks)]
    for size in (2**24, 2**28):
        time = 1e6 * slower * collective_time(fabric, bytes=size, wire=Wire(), **given).time_s
        lines.append(f"{size} {size // 4} float sum -1 {time:.3f} 1.0 1.0 0 {time:.3f} 1.0 1.0 0")
    return "\n".join(lines) + "\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def told(capsys: pytest.CaptureFixture[str], *arguments: str, status: int = 0) -> str:
    assert main(arguments) == status
    out, err = capsys.readouterr()
    assert (out == "") == (status == 2) and (err == "") == (status == 0)
    return err if status else out


def test_a_run_as_predicted_and_one_that_hashing_explains() -> None:
    f = topo.leaf_spine(leaves=2, spines=8, hosts_per_leaf=8, link_gbps=400)
    mixed = f.endpoints.reshape(2, 8).T.ravel()
    same = measured_beside(f, None, read_nccl_tests(run(f, 1.0).splitlines()))
    assert [one.time_ratio for one in same.sizes] == pytest.approx([1, 1], abs=1e-5)
    assert same.against.explained_by == "as predicted"
    # Measured half way from the best routing to the hashed one: routing in part.
    levels = {x.effect: x.gbps for x in goodput(f, mixed, bytes=2**28, samples=30).levels}
    half = (levels["oversubscription"] + levels["routing"]) / 2
    predicted = collective_time(f, mixed, bytes=2**28, wire=Wire(), routing="single-path", samples=30)
    time = 1e6 * predicted.time_s * levels["algorithm"] / half
    text = [f"{2**28} 67108864 float sum -1 {time:.3f} 1.0 1.0 0 {time:.3f} 1.0 1.0 0"]
    found = measured_beside(f, mixed, read_nccl_tests(text), "all_reduce", routing="single-path", samples=30)
    assert found.sizes[0].time_ratio == pytest.approx(levels["algorithm"] / half, rel=1e-6)
    assert found.against.explained_by == "routing in part: 50 % of what it was predicted to take"


def test_runs_that_do_not_belong() -> None:
    f = topo.leaf_spine(leaves=2, spines=2, hosts_per_leaf=2)
    for text, asked, said in (
        (run(f, 1, "all_gather"), "all_reduce", "the run is of all_gather, but all_reduce is asked for"),
        (run(f, 1, ranks=8), None, "the run has 8 ranks, but 4 are placed"),
        ("1024 256 float sum -1 5.0 1 1 0 5.0 1 1 0", None, "does not name its collective"),
        ("0 0 float sum -1 5.0 0 0 0 5.0 0 0 0", "all_reduce", "no size above 0 bytes"),
        (run(f, 1, "reduce"), None, "the run is of reduce"),
    ):
        with pytest.raises(ParameterError, match=said):
            measured_beside(f, None, read_nccl_tests(text.splitlines()), asked)


def test_loads_of_a_whole_collective_add_up() -> None:
    f = topo.leaf_spine(leaves=4, spines=2, hosts_per_leaf=4, link_gbps=400)
    found = collective_loads(f, bytes=2**30, alpha_us=0)
    first = found.gigabits.reshape(-1, 2)[f.links.kind.is_any("access")]
    # Every rank sends and receives 2 (n-1)/n S.
    assert first == pytest.approx(2 * 15 / 16 * 8 * 2**30 / 1e9)
    # Four edges of the ring leave a leaf, one each, over two spines: half of it on each uplink.
    up = found.gigabits.reshape(-1, 2)[f.links.kind.is_any("scale_out")]
    assert up == pytest.approx(15 / 16 * 8 * 2**30 / 1e9)
    assert found.time_s == collective_time(f, bytes=2**30, alpha_us=0).time_s


def test_counters_beside_loads_both_ways() -> None:
    f = topo.leaf_spine(leaves=2, spines=2, hosts_per_leaf=2, link_gbps=400)
    seen = [
        PortCounter("host-1", "1", "tx", 400.0, 2), PortCounter("host-1", "1", "rx", 390.0, 3),
        PortCounter("leaf-1", "3", "tx", 0.0, 4),
    ]  # fmt: skip
    found = counters_beside(f, None, seen, bytes=2**30, alpha_us=0)
    # Without latency a rank's own link is full: 400 Gb/s with headers, the uplink half full.
    assert [(p.node, p.direction) for p in found.ports] == [("leaf-1", "tx"), ("host-1", "rx"), ("host-1", "tx")]
    assert [p.predicted_gbps for p in found.ports] == pytest.approx([200, 400, 400])
    assert (found.measured_gbps, found.predicted_gbps) == pytest.approx((790, 1000))
    # With latency the link rests between steps.
    slow = counters_beside(f, None, seen, bytes=2**20, alpha_us=50)
    assert slow.ports[0].predicted_gbps < 100
    for node, port, said in (
        ("leaf-1", "99", r"p.csv:7: 'leaf-1' has no port '99' with a link; its ports are named like '1', '2', '3'"),
        ("x", "1", r"p.csv:7: 'x' is no node of .*; nodes are named like 'host-1'"),
    ):
        with pytest.raises(InputError, match=said):
            counters_beside(f, None, [PortCounter(node, port, "tx", 1.0, 7, "p.csv")], bytes=1)
    with pytest.raises(ParameterError, match="of 0 bytes takes no time"):
        counters_beside(f, None, seen, bytes=0, alpha_us=0)
    with pytest.raises(ParameterError, match="no port counter"):
        counters_beside(f, None, [], bytes=1)


def test_files_of_counters(folder: Path) -> None:
    path = folder / "ports.csv"
    path.write_text("direction,port,node,seconds,bytes\nrx,7,leaf-1,2,1e11\n\n,8,leaf-1,1,0\n")
    assert [(c.node, c.port, c.direction, c.gbps) for c in read_port_counters(path)] == [
        ("leaf-1", "7", "rx", 400.0), ("leaf-1", "8", "tx", 0.0),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "error", "said"),
    [
        ("node,port\na,1\n", FormatError, "must hold node, port and either gbps or bytes and seconds"),
        ("node,port,gbps,bytes\na,1,1,1\n", FormatError, "must hold node"),
        ("node,port,bytes\na,1,1\n", FormatError, "must hold node"),
        ("node,port,gbps,x\na,1,1,1\n", FormatError, "column 'x' is none of node"),
        ("node,port,gbps\n", FormatError, "no counter below"),
        ("node,port,gbps\na,1\n", FormatError, "2 cells where the header has 3"),
        ("node,port,gbps\na,1,-5\n", InputError, "ports.csv:2: gbps is '-5'"),
        ("node,port,gbps\na,1,nan\n", InputError, "gbps is 'nan'"),
        ("node,port,bytes,seconds\na,1,5,0\n", InputError, "seconds is 0"),
        ("node,port,gbps\na,1,5\na,1,6\n", InputError, "port '1' of 'a' was counted in line 2 already"),
        ("node,port,gbps,direction\na,1,5,up\n", InputError, "direction is 'up'"),
        ('node,port,gbps\n"a,1,5\n', FormatError, "not CSV"),
        ("", InputError, "the file is empty"),
    ],
)
def test_files_that_are_refused(folder: Path, text: str, error: type[Exception], said: str) -> None:
    path = folder / "ports.csv"
    path.write_text(text)
    with pytest.raises(error, match=said):
        read_port_counters(path)


def test_a_run_and_counters_at_the_command_line(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    f = topo.load(TAPERED)
    (folder / "run.txt").write_text(run(f, 1.5))
    (folder / "ports.csv").write_text(f"node,port,gbps\n{f.nodes.name[f.endpoints[0]]},1,300\n")
    given = ("collective", TAPERED, "--bytes", "256MiB", "--measured", "run.txt", "--counters", "ports.csv")
    shown = json.loads(told(capsys, *given, "--format", "json"))
    assert [one["time_ratio"] for one in shown["measured"]["sizes"]] == pytest.approx([1.5, 1.5], abs=1e-5)
    assert "not in the model" in shown["measured"]["against"]["explained_by"]
    rate = shown["counters"]["ports"][0]["predicted_gbps"]
    expected = 2 * 8e-9 * 2**28 * (1 - 1 / len(f.endpoints)) / shown["time_s"] / Wire().efficiency
    assert rate == pytest.approx(expected, rel=1e-9)
    text = told(capsys, *given)
    assert "Measured beside predicted" in text and "x 1.50" in text and "measured 300.0 Gb/s" in text
    assert "reads as" in text


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("collective", TAPERED, "--measured", "none.txt"), "none.txt: no such file"),
        (("collective", TAPERED, "--measured", "other.txt"), "the run is of all_gather, but all_reduce is asked for"),
        (("collective", TAPERED, "--counters", "none.csv"), "none.csv: no such file"),
        (("collective", TAPERED, "--counters", "ports.csv"), "ports.csv:2: 'nobody' is no node of 'leaf-spine-2to1'"),
        (("collective", TAPERED, "--line-rate", "--measured", "other.txt"), "leave one of them out"),
        (("collective", TAPERED, "--link-mtu", "2048"), "mtu 4096 is above the links' 2048"),
        (("goodput", TAPERED, "--mtu", "2048", "--link-mtu", "1024"), "mtu 2048 is above the links' 1024"),
        (("step", TAPERED, "--job", "job.yaml", "--link-mtu", "1024"), "mtu 4096 is above the links' 1024"),
    ],
)
def test_what_the_command_line_refuses(
    capsys: pytest.CaptureFixture[str], folder: Path, arguments: tuple[str, ...], said: str
) -> None:
    (folder / "other.txt").write_text(
        "# Collective test starting: all_gather_perf\n1024 256 float none -1 5 1 1 0 5 1 1 0"
    )
    (folder / "ports.csv").write_text("node,port,gbps\nnobody,1,5\n")
    (folder / "job.yaml").write_text("model: gpt-22b\nplan: {batch: 248, tensor: 8, data: 31, micro_batch: 4}\n")
    assert said in told(capsys, *arguments, status=2)


def test_an_mtu_the_links_take_changes_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    given = ("collective", TAPERED, "--format", "json")
    assert told(capsys, *given) == told(capsys, *given, "--link-mtu", "4096")
