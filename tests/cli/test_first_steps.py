"""What a newcomer meets: their own dump heard from one side, a plain installation, words that are nearly right."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import topo
from topo.cli import main
from topo.cli import planning as cli_planning
from topo.symmetry import symmetry

TAPERED = "leaf-spine-2to1"
SPEC = """\
name: mine
title: eight hosts on two leaves
operator: me
sources: [{text: an example, label: M}]
builder: leaf_spine
parameters: {leaves: 2, spines: 1, hosts_per_leaf: 4}
"""


def heard(leaf: int, hosts: tuple[str, str]) -> str:
    """What lldpctl of a leaf tells: two hosts, which say nothing themselves, and a spine."""
    far = [(f"Ethernet{i}", name, "eth0") for i, name in enumerate(hosts, 1)]
    far.append(("Ethernet49", "spine1", f"Ethernet{leaf}"))
    listed = [
        {port: {"chassis": {name: {}}, "port": {"id": {"type": "ifname", "value": at}}}} for port, name, at in far
    ]
    return json.dumps({"lldp": {"interface": listed}})


@pytest.fixture
def dump(tmp_path: Path) -> str:
    folder = tmp_path / "lldp"
    folder.mkdir()
    (folder / "leaf1.json").write_text(heard(1, ("host1", "host2")))
    (folder / "leaf2.json").write_text(heard(2, ("host3", "host4")))
    return str(folder)


def test_a_dump_of_one_side_alone_is_reported_and_each_verb_says_the_way_out(
    dump: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "r.html"
    assert main(["report", dump, "--assume-gbps", "100", "-o", str(out)]) == 0
    assert out.stat().st_size > 10_000
    capsys.readouterr()
    for verb in ("throughput", "ecmp", "goodput", "fail"):
        assert main([verb, dump, "--assume-gbps", "100"]) == 2
        said = capsys.readouterr().err
        assert "6 links that only one end reported carry nothing" in said, said
        assert said.rstrip().endswith("take them as there with --one-sided")


def test_one_sided_links_taken_as_there_carry_and_every_number_says_so(
    dump: str, capsys: pytest.CaptureFixture[str]
) -> None:
    fabric = topo.load(dump, assume_gbps=100, one_sided=True)
    answer = topo.bisection_bandwidth(fabric)
    assert answer.lower_gbps == answer.upper_gbps == 100  # one uplink of 100 Gb/s joins the leaves to the spine
    assert fabric.links.evidence.values([0])[0] == "one end, taken"
    assert any("6 of 6 links taken as there that only one end reported" in text for text in fabric.origin.assumptions)
    assert main(["bisect", dump, "--assume-gbps", "100", "--one-sided"]) == 0
    told = capsys.readouterr().out
    assert "exact: 100 Gb/s assumed for 6 of 6 links; 6 of 6 links taken as there that only one end reported" in told
    # What both ends report is left alone.
    known = topo.load(TAPERED, one_sided=True)
    assert known.equals(topo.load(TAPERED))


def test_validation_has_no_such_switch_because_it_judges_those_links(
    dump: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["validate", dump, "--one-sided"]) == 2
    told = capsys.readouterr().err
    assert "No such option" in told and "--one-sided" in told and "(topo validate --help" in told
    assert main(["validate", dump]) == 0
    assert "link-one-sided" in capsys.readouterr().out


def test_each_file_of_several_is_named_where_it_says_something(dump: str) -> None:
    fabric = topo.load(dump, assume_gbps=100)
    assert [Path(source).name for source in fabric.origin.sources] == ["leaf1.json", "leaf2.json"]
    for row, source in enumerate(fabric.links.source.values().tolist()):
        ends = fabric.nodes.name[[fabric.link_a[row], fabric.link_b[row]]].tolist()
        assert Path(source).stem in ends
    said = [note for note in fabric.origin.notes if "link reported by one end only: leaf2" in note.text]
    assert said and all(note.source.endswith("leaf2.json") for note in said)


def test_a_network_without_a_link_has_a_link_class_for_none(dump: str) -> None:
    fabric = topo.load(dump, assume_gbps=100)
    assert symmetry(topo.Network.of(fabric)).link_class.tolist() == [-1] * 6


def test_what_the_parser_says_is_one_line_and_names_the_verb(capsys: pytest.CaptureFixture[str]) -> None:
    for given, said in (
        (["bisect", TAPERED, "--links"], "Option '--links' requires an argument (topo bisect --help shows"),
        (["completion"], "Choose from: bash, zsh, fish (topo completion --help shows"),
        (["--wrong"], "No such option"),  # whether the option stands in quotes is up to the version of click
    ):
        assert main(given) == 2
        told = capsys.readouterr().err
        assert said in told
        assert len(told.splitlines()) == 1
        assert "⏎" not in told


def test_a_spec_with_keys_missing_is_told_where_a_whole_one_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("".join(line for line in SPEC.splitlines(True) if not line.startswith(("operator", "sources"))))
    assert main(["show", str(path)]) == 2
    told = capsys.readouterr().err
    assert "mine.yaml:1: keys operator, sources: are missing and have to be given" in told
    assert told.endswith("'topo template spec' shows a whole one\n")
    path.write_text(SPEC)
    assert main(["show", str(path)]) == 0


def test_a_group_that_is_named_is_looked_at(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(SPEC)
    assert main(["fail", str(path), "--group", "FEED=leaf-*"]) == 0
    assert "group FEED" in capsys.readouterr().out
    assert main(["fail", str(path), "--group", "FEED=leaf-*", "--kind", "switch"]) == 0
    assert "group FEED" not in capsys.readouterr().out


def test_a_placement_that_was_written_is_scored_without_a_word_more(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for form in ("nodelist", "hostfile", "rankfile"):
        path = str(tmp_path / form)
        assert main(["place", TAPERED, "--hosts", "48", "--write", form, "-o", path]) == 0
        found = capsys.readouterr().out
        assert main(["place", TAPERED, "--score", path]) == 0
        scored = capsys.readouterr().out
        line = next(line for line in found.splitlines() if line.lstrip().startswith("hop-bytes"))
        assert line in scored.splitlines(), form
    (tmp_path / "none").write_text("# nobody\n")
    assert main(["place", TAPERED, "--score", str(tmp_path / "none")]) == 2
    assert "no host in it" in capsys.readouterr().err


def test_the_same_seed_gives_the_same_bytes_of_a_placement(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["template", "job"]) == 0
    job = tmp_path / "job.yaml"
    job.write_text(capsys.readouterr().out)
    said = []
    for _ in range(2):
        assert main(["place", TAPERED, "--job", str(job), "--format", "json", "--seed", "3"]) == 0
        said.append(capsys.readouterr().out)
    assert said[0] == said[1]


def test_a_plan_is_written_where_no_workbook_can_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(cli_planning, "find_spec", lambda name: None)
    assert main(["plan", TAPERED, "-o", str(tmp_path / "plan")]) == 0
    told = capsys.readouterr().out
    assert "no plan.xlsx: XlsxWriter is not installed" in told
    assert not (tmp_path / "plan" / "plan.xlsx").exists()
    assert main(["convert", TAPERED, str(tmp_path / "own.csv")]) == 0
    again = topo.load(tmp_path / "own.csv")
    assert len(again.links) == 768
    assert np.nansum(again.links.capacity_gbps) == 768 * 400


@pytest.mark.parametrize(
    ("to", "held"),
    [
        ("dot", ""),
        ("schedule", ""),
        ("slurm-topology", "; the file holds no cable"),
        ("kubernetes", "; the file holds no cable"),
    ],
)
def test_convert_says_how_many_cables_are_in_the_file(
    to: str, held: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "plan.dot").write_text('graph g { "leaf-1":"swp1" -- "host-1":"eth0" }')
    out = tmp_path / "out"
    assert main(["convert", str(tmp_path / "plan.dot"), str(out), "--to", to]) == 0
    size = f"2 nodes, 1 link, {out.stat().st_size} bytes{held}"
    assert capsys.readouterr().out.splitlines()[0].endswith(f": {size}")


def test_convert_counts_what_a_schedule_leaves_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "own.csv"
    assert main(["convert", "nvidia-superpod-b300-spectrumx-1su-dgx", str(out), "--format", "json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["n_cables_written"] == len(out.read_text().splitlines()) - 1 == 11_904 - 1_152
    assert told["n_links"] == 11_904
