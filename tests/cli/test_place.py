"""topo place: what it prints is what the library answers, and every refusal is one line that names the thing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from told import said as command_said

import topo
from topo.cli.placing import not_free
from topo.io.slurm_state import ClusterState, cluster_state_of_text
from topo.placement.fold import hosts_of

FOUR = "four.yaml"  # four leaves of eight hosts, 2:1
SINFO = "PARTITION AVAIL TIMELIMIT NODES STATE NODELIST\n"
SQUEUE = "JOBID PARTITION NAME USER ST TIME NODES NODELIST(REASON)\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a fabric of four leaves, a state that leaves 5, 3, 8 and 6 hosts free, and jobs."""
    monkeypatch.chdir(tmp_path)
    head = "name: four\ntitle: Four leaves\noperator: none\nsources: [{text: ours, label: D}]\n"
    write(FOUR, f"{head}builder: leaf_spine\nparameters: {{leaves: 4, spines: 4, hosts_per_leaf: 8}}\n")
    idle = "host-[01-05,09,15-24,26-31]"
    write("sinfo.txt", f"{SINFO}gpu up infinite 22 idle {idle}\ngpu up infinite 6 alloc host-[06-08,10-12]\n")
    write("job.yaml", "name: twelve\nsize: 12\n")
    return tmp_path


def write(name: str, text: str) -> None:
    Path(name).write_text(text, "utf-8")


def said(capsys: pytest.CaptureFixture[str], *arguments: str, status: int = 0) -> str:
    return command_said(capsys, "place", *arguments, status=status)


def told(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    return json.loads(said(capsys, *arguments, "--format", "json"))


def test_the_slurm_choice_of_the_notes(capsys: pytest.CaptureFixture[str]) -> None:
    answer = told(capsys, FOUR, "--job", "job.yaml", "--busy", "sinfo.txt", "--compare", "slurm-tree, kueue-bestfit")
    ours, slurm, kueue = answer["comparison"]["choices"]
    assert answer["value"] == answer["lower_bound"] == 2 and answer["gap"] == 0
    assert sorted(answer["leaf_counts"].values()) == [4, 8]
    # Best fit takes leaf-1 whose 5 free hosts are the fewest that hold the remaining 4; so does Slurm's step.
    assert slurm["leaf_counts"] == {"leaf-1": 4, "leaf-3": 8}
    assert sum(kueue["leaf_counts"].values()) == 12
    assert ours["hosts"] == answer["hosts"] and ours["affinity"]["hop_bytes"] == answer["affinity"]["hop_bytes"] == 392
    assert "10 of 32 hosts" not in answer["notes_read"] and "22 of 32 hosts are free" in answer["notes_read"]


@pytest.mark.parametrize("objective", ["leaves", "uplink_load", "hop_bytes"])
def test_it_is_the_librarys(capsys: pytest.CaptureFixture[str], objective: str) -> None:
    shown = told(capsys, FOUR, "--hosts", "12", "--objective", objective)
    expected = topo.place(topo.load(FOUR), topo.Job(12), objective=objective)
    assert (shown["value"], shown["lower_bound"]) == (expected.value, expected.lower_bound)
    # 8 + 4 pay 392 hop-bytes on 2 leaves; 3 + 3 + 3 + 3 load the uplinks least, with 27.
    assert shown["value"] == {"leaves": 2, "uplink_load": 27, "hop_bytes": 392}[objective]


def test_text_has_the_bound_and_the_schedulers(capsys: pytest.CaptureFixture[str]) -> None:
    text = said(capsys, FOUR, "--hosts", "12", "--busy", "sinfo.txt", "--compare", "slurm-tree")
    assert text.startswith("Placement of 12 hosts on four\n  4 of 32 hosts are not named in sinfo.txt")
    assert "(exact: optimal: largest free first)" in text
    assert "\nSchedulers' choices\n  ours, leaves  2 leaf groups; hop-bytes 392;" in text
    assert "\n  slurm-tree    2 leaf groups" in text


def test_options_add_to_the_constraints_of_the_job(capsys: pytest.CaptureFixture[str]) -> None:
    write("tight.yaml", "size: 12\nconstraints: {exclude: ['host-0*']}\n")
    shown = told(capsys, FOUR, "--job", "tight.yaml", "--exclude", "host-1*", "--objective", "uplink_load")
    assert not any(name.startswith(("host-0", "host-1")) for name in shown["hosts"])
    spread = told(capsys, FOUR, "--hosts", "12", "--objective", "uplink_load", "--at-most-leaves", "2")
    # 8 + 4 send 8 x 4 out of either leaf, 6 + 6 would send 36.
    assert spread["value"] == 32 and len(spread["leaf_counts"]) == 2


def test_a_pattern_for_hosts(capsys: pytest.CaptureFixture[str]) -> None:
    ring = told(capsys, FOUR, "--hosts", "12", "--pattern", "ring", "--objective", "hop_bytes")
    # 12 edges of 2 links, and 2 of them over a spine: 4 links more.
    assert ring["value"] == 12 * 2 + 2 * 2


@pytest.mark.parametrize("format", ["nodelist", "rankfile", "hostfile", "slurm", "kubernetes", "json"])
def test_written_is_the_librarys(capsys: pytest.CaptureFixture[str], format: str) -> None:
    f = topo.load(FOUR)
    expected = topo.write_placement(f, topo.place(f, topo.Job(12)).placement, format)
    assert said(capsys, FOUR, "--hosts", "12", "--write", format) == expected
    assert said(capsys, FOUR, "--hosts", "12", "--write", format, "-o", "-") == expected
    text = said(capsys, FOUR, "--hosts", "12", "--write", format, "-o", "out")
    assert Path("out").read_text("utf-8") == expected
    assert f"\nFiles\n  the {format} is in out\n" in text


def test_what_is_written_can_be_scored(capsys: pytest.CaptureFixture[str]) -> None:
    found = told(capsys, FOUR, "--hosts", "12", "--busy", "sinfo.txt", "--write", "hostfile", "-o", "hosts")
    scored = told(capsys, FOUR, "--hosts", "12", "--busy", "sinfo.txt", "--score", "hosts")
    assert {key: scored[key] for key in found["affinity"]} == found["affinity"]


def test_picture_shows_the_hosts_and_the_busiest_link(capsys: pytest.CaptureFixture[str]) -> None:
    shown = told(capsys, FOUR, "--hosts", "12", "--busy", "sinfo.txt", "--picture", "p.svg")
    root = ElementTree.parse("p.svg").getroot()
    words = "".join(root.itertext())
    most = 100 * shown["affinity"]["max_utilization"]
    assert "12 of its 32 hosts, in 2 of 4 leaf groups, 10 more are free" in words
    assert f"leaf to spine: 16 links, most {most:.3g} %." in words


def test_rates_unknown_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    write(
        "topology.conf",
        "SwitchName=s1 Nodes=n[1-4]\nSwitchName=s2 Nodes=n[5-8]\nSwitchName=top Switches=s[1-2]\n",
    )
    text = said(capsys, "topology.conf", "--hosts", "6", "--picture", "p.svg")
    assert "utilization and slowdown                      rates unknown" in text
    words = "".join(ElementTree.parse("p.svg").getroot().itertext())
    assert "6 of its 8 hosts" in words and "Link loads are not drawn" in words


REFUSED = {
    "no job": ([], "a job is --job FILE ('topo template job' writes one) or --hosts N"),
    "two jobs": (["--hosts", "3", "--job", "job.yaml"], "or --hosts N; give one of them"),
    "too large": (["--hosts", "40"], "32 are free: 8 are missing; the largest that fits has 32 hosts"),
    "too large for what is idle": (["--hosts", "23", "--busy", "sinfo.txt"], "22 are free: 1 are missing"),
    "constraint": (["--hosts", "9", "--at-most-leaves", "1"], "at_most_leaves = 1 leaves room for 8: 1 are missing"),
    "excluded is unknown": (["--hosts", "3", "--exclude", "hots-01"], "'hots-01'; did you mean 'host-01'"),
    "degrees": (["--job", "degrees.yaml"], "degrees.yaml:2: key degrees: degrees tensor 2 x data 4 make 8 ranks"),
    "key": (["--job", "key.yaml"], "key.yaml:2: "),
    "no file": (["--job", "none.yaml"], "none.yaml: no such file"),
    "host twice": (["--hosts", "3", "--score", "twice.txt"], "twice.txt:3: host 'host-01' is there twice"),
    "host unknown": (["--hosts", "1", "--score", "unknown.txt"], "unknown.txt:1: no host of 'four' is called 'n1'"),
    "few": (["--hosts", "4", "--score", "few.txt"], "few.txt: 2 hosts for 4 ranks at 1 a host; the job takes 4"),
    "rule": (["--hosts", "3", "--compare", "slurm-tree,pbs"], "--compare names 'pbs'; known: slurm-tree,"),
    "score and compare": (["--hosts", "3", "--score", "twice.txt", "--compare", "slurm-tree"], "leave --score out"),
    "two on one output": (["--hosts", "3", "--write", "slurm", "--format", "json"], "give --output FILE"),
    "pattern of a file": (["--job", "job.yaml", "--pattern", "ring"], "say it in job.yaml (pattern: ring)"),
    "no sinfo": (["--hosts", "3", "--busy", "job.yaml"], "job.yaml: not the output of sinfo or squeue"),
    "other cluster": (["--hosts", "3", "--busy", "other.txt"], "other.txt: none of its 2 hosts is a host of 'four'"),
    "host list": (["--hosts", "3", "--busy", "broken.txt"], "broken.txt:2: "),
    "no folder": (["--hosts", "3", "--picture", "none/p.svg"], "there is no folder"),
    "move without a limit": (["--hosts", "3", "--move", "--busy", "sinfo.txt"], "say how many: --at-most-leaves N"),
    "move nothing": (["--hosts", "3", "--move", "--at-most-leaves", "1", "--busy", "sinfo.txt"], "no job is known"),
    "move and write": (["--hosts", "3", "--move", "--write", "slurm"], "--write goes with a placement; --move asks"),
    "move two": (["--job", "job.yaml", "--job", "job.yaml", "--move"], "give one --job"),
    "compare two": (["--job", "job.yaml", "--job", "job.yaml", "--compare", "slurm-tree"], "goes with one --job"),
    "two too large": (
        ["--job", "job.yaml", "--job", "job.yaml", "--busy", "sinfo.txt"],
        "24 hosts, 22 are free: 2 are",
    ),
    "beside": (["--hosts", "3", "--beside", "job.yaml"], "--beside 'job.yaml' is not JOB=HOSTS"),
    "beside unknown": (["--hosts", "3", "--beside", "job.yaml=unknown.txt"], "unknown.txt:1: no host of 'four'"),
    "block sizes": (["--hosts", "3", "--block-sizes", "17,x"], "--block-sizes '17,x' is no list of whole numbers"),
    "block powers": (["--hosts", "3", "--compare", "slurm-block", "--block-sizes", "8,24"], "BlockSizes lists 24"),
    "segment": (["--hosts", "9", "--compare", "slurm-block", "--segment", "4"], "no multiple of the segment 4; use 8"),
    "excluded list": (["--hosts", "3", "--exclude", "host-[30-33]"], "no host of 'four' is called 'host-33'"),
    "format": (["--hosts", "3", "--write", "pbs"], "'pbs' is not one of 'nodelist'"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_refusals_name_the_thing(capsys: pytest.CaptureFixture[str], what: str) -> None:
    write("degrees.yaml", "size: 9\ndegrees: {tensor: 2, data: 4}\norder: [tensor, data]\n")
    write("key.yaml", "size: 9\nsizes: 3\n")
    write("twice.txt", "host-01\nhost-02\nhost-01\n")
    write("unknown.txt", "n1\n")
    write("few.txt", "host-01\nhost-02\n")
    write("other.txt", f"{SINFO}gpu up infinite 2 idle n[1-2]\n")
    write("broken.txt", f"{SINFO}gpu up infinite 2 idle n[1-\n")
    arguments, words = REFUSED[what]
    assert words in said(capsys, FOUR, *arguments, status=2)


def free_hosts(*texts: str) -> tuple[list[str], list[str]]:
    hosts = hosts_of(topo.leaf_spine(leaves=2, spines=2, hosts_per_leaf=2))
    states = [cluster_state_of_text(text, f"file-{i}") for i, text in enumerate(texts, 1)]
    mask, notes = not_free(hosts, states)
    return hosts.name[~mask].tolist(), notes


def test_hosts_that_sinfo_does_not_name_are_not_free() -> None:
    free, notes = free_hosts(f"{SINFO}gpu up infinite 1 idle host-1\ngpu up infinite 2 drain host-2,host-9\n")
    assert free == ["host-1"]
    assert any("1 hosts of file-1 are not in the fabric, host-9" in note for note in notes)
    assert any("2 of 4 hosts are not named in file-1" in note for note in notes)


def test_squeue_alone_leaves_all_others_free() -> None:
    running = f"{SQUEUE}7 gpu a u R 1:00 2 host-[1-2]\n8 gpu b u PD 0:00 2 (Resources)\n"
    free, notes = free_hosts(running)
    assert free == ["host-3", "host-4"] and any("tells running jobs only" in note for note in notes)
    assert free_hosts(f"{SQUEUE}8 gpu b u PD 0:00 2 (Resources)\n")[0] == ["host-1", "host-2", "host-3", "host-4"]


def test_sinfo_of_two_partitions_and_squeue_together() -> None:
    texts = [f"{SINFO}a up infinite 2 idle host-[1-2]\n", f"{SINFO}b up infinite 1 idle host-3\n"]
    assert free_hosts(*texts)[0] == ["host-1", "host-2", "host-3"]
    assert free_hosts(*texts, f"{SQUEUE}7 gpu a u R 1:00 1 host-2\n")[0] == ["host-1", "host-3"]


def test_a_full_cluster_has_no_free_host() -> None:
    assert free_hosts(f"{SINFO}a up infinite 4 alloc host-[1-4]\n")[0] == []


def test_a_state_that_names_nobody_frees_nobody_by_sinfo() -> None:
    hosts = hosts_of(topo.leaf_spine(leaves=2, spines=2, hosts_per_leaf=2))
    mask, _ = not_free(hosts, [ClusterState(unavailable=frozenset({"host-1"}))])
    assert np.array_equal(mask, [True] * 4)


JOBS = "11 gpu a u R 1:00 3 host-[06-08]\n12 gpu b u R 1:00 3 host-[12-14]\n13 gpu c u R 1:00 4 host-[15-16,31-32]\n"


def test_what_must_move(capsys: pytest.CaptureFixture[str]) -> None:
    write("squeue.txt", f"{SQUEUE}{JOBS}")
    asked = [FOUR, "--hosts", "16", "--busy", "squeue.txt", "--move", "--at-most-leaves", "2"]
    shown = told(capsys, *asked)
    assert shown["hosts_moved"] == 2 and shown["leaves"] == ["leaf-3", "leaf-4"]
    assert shown["jobs_restarted"] == shown["fewest_jobs"] == ["13"]
    text = said(capsys, *asked)
    assert text.startswith("What must move of 16 hosts on four\n") and "host-31 to " in text
    # A host that drains is of no use once its job has left: c cannot clear leaf-4, so that a's leaf is emptied.
    idle = "host-[01-05,09-11,17-30]"
    rows = f"gpu up infinite 22 idle {idle}\ngpu up infinite 8 alloc host-[06-08,12-16]\n"
    rows += "gpu up infinite 2 drng host-[31-32]\n"
    write("all.txt", f"{SINFO}{rows}")
    drained = told(capsys, *asked, "--busy", "all.txt")
    assert (drained["hosts_moved"], drained["leaves"]) == (3, ["leaf-1", "leaf-3"])
    # A job told with --beside may move like one of squeue.
    write("other.yaml", "name: other\nsize: 2\n")
    write("other.txt", "host-31\nhost-32\n")
    beside = [FOUR, "--hosts", "23", "--beside", "other.yaml=other.txt", "--move", "--at-most-leaves", "3"]
    assert told(capsys, *beside)["hosts_moved"] == 0
    kept = told(capsys, *beside, "--exclude", "host-0[2-9]")
    # Of leaf-2 seven may be had, all eight of leaf-3, six of leaf-4 are free: two short of 23 on three leaves.
    assert kept["jobs_restarted"] == ["other"] and kept["hosts_moved"] == 2
    write("few.txt", f"{SQUEUE}21 gpu a u R 1:00 1 host-01\n22 gpu b u R 1:00 1 host-01\n23 gpu c u R 1:00 1 host-02\n")
    text = said(capsys, FOUR, "--hosts", "8", "--busy", "few.txt", "--move", "--at-most-leaves", "1")
    assert "1 hosts run more than one job, host-01 the first: they stay" in text


def test_several_jobs_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    write("a.yaml", "name: a\nsize: 8\n")
    write("b.yaml", "name: b\nsize: 12\n")
    shown = told(capsys, FOUR, "--job", "a.yaml", "--job", "b.yaml", "--busy", "sinfo.txt")
    # 5, 3, 8, 6 are free: a takes the leaf of 8, b then needs three; or a on 5 + 3 and b on 8 + 6, four in all.
    assert shown["value"] == 4 and shown["lower_bound"] == 3
    hosts = [name for one in shown["placements"] for name in one["hosts"]]
    assert len(hosts) == len(set(hosts)) == 20
    text = said(capsys, FOUR, "--job", "a.yaml", "--job", "b.yaml", "--explain")
    assert text.startswith("Several jobs placed of a, b on four\n")
    assert "\nScores of b\nscore " in text and "slowdown of a" in text


def test_a_job_beside_loads_the_same_links(capsys: pytest.CaptureFixture[str]) -> None:
    write("other.yaml", "name: other\nsize: 16\n")
    write("other.txt", "".join(f"host-{i:02}\n" for i in (*range(1, 9), *range(9, 17))))
    write("hosts.txt", "".join(f"host-{i:02}\n" for i in (*range(17, 25), *range(25, 29))))
    alone = told(capsys, FOUR, "--job", "job.yaml", "--score", "hosts.txt")
    beside = told(capsys, FOUR, "--job", "job.yaml", "--score", "hosts.txt", "--beside", "other.yaml=other.txt")
    assert beside["slowdown"] == {"twelve": 1.0, "other": 1.0} and alone["slowdown"] == {"twelve": 1.0}
    found = told(capsys, FOUR, "--job", "job.yaml", "--beside", "other.yaml=other.txt")
    assert not set(found["hosts"]) & {f"host-{i:02}" for i in range(1, 17)}
    f = topo.load(FOUR)
    there = [f"host-{i:02}" for i in range(1, 17)]
    expected = topo.place(f, topo.Job(12, name="twelve"), others=[(topo.Job(16, name="other"), there)])
    assert tuple(found["hosts"]) == expected.hosts


def test_segments_and_block_sizes(capsys: pytest.CaptureFixture[str]) -> None:
    lines = "".join(f"BlockName=b{i + 1} Nodes=n[{17 * i + 1:02}-{17 * i + 17:02}]\n" for i in range(3))
    write("topology.conf", f"{lines}BlockSizes=17\n")
    asked = ["topology.conf", "--hosts", "36", "--compare", "slurm-block"]
    shown = told(capsys, *asked, "--segment", "12")["comparison"]["choices"][1]
    assert shown["leaf_counts"] == {"b1": 12, "b2": 12, "b3": 12} and "BlockSizes=17, segments of 12" in shown["notes"]
    plain = told(capsys, *asked)["comparison"]["choices"][1]
    assert plain["leaf_counts"] == {"b1": 2, "b2": 17, "b3": 17} and "BlockSizes=17" in plain["notes"]
    wide = told(capsys, *asked, "--block-sizes", "17,34")["comparison"]["choices"][1]
    assert "BlockSizes=17,34" in wide["notes"]


def test_explain_tells_what_each_score_ignores(capsys: pytest.CaptureFixture[str]) -> None:
    text = said(capsys, FOUR, "--hosts", "12", "--explain")
    (line,) = [line for line in text.splitlines() if line.startswith("hop_bytes ")]
    assert "392" in line and "bytes x links a step" in line and "less is better" in line
    assert line.endswith("capacity and congestion")


def test_host_lists_exclude(capsys: pytest.CaptureFixture[str]) -> None:
    shown = told(capsys, FOUR, "--hosts", "3", "--exclude", "host-[04-31]")
    assert shown["hosts"] == ["host-01", "host-02", "host-03"]


def test_hosts_of_another_size_are_left_out(capsys: pytest.CaptureFixture[str], shared_data: Path) -> None:
    """Managers of one adapter among hosts of eight: N hosts are N of those that most are."""
    shown = told(capsys, str(shared_data / "ibnetdiscover" / "selene.compute.txt"), "--hosts", "20", "--budget", "0")
    assert len(shown["hosts"]) == 20 and shown["affinity"]["n_ranks"] == 160
    assert any("hosts with other than 8 endpoints are left out" in note for note in shown["notes_read"])


def test_jupiter_as_it_was(capsys: pytest.CaptureFixture[str], shared_data: Path) -> None:
    name = str(shared_data / "slurm_topology" / "HicrestLaboratory__JobPlacer__jupiter_")
    shown = told(capsys, f"{name}topo.txt", "--busy", f"{name}sinfo.txt", "--hosts", "64", "--compare", "slurm-tree")
    found, slurm = shown["affinity"], shown["comparison"]["choices"][1]["affinity"]
    assert (found["leaves_spanned"], found["pods_spanned"]) == (6, 4)
    assert (slurm["leaves_spanned"], slurm["pods_spanned"], slurm["hop_bytes"]) == (6, 5, 21_096)
