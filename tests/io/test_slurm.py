"""Slurm: host lists, topology.conf and scontrol, topology.yaml, and who is free by sinfo and squeue."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import topo
from topo.io.hostlist import expand_hosts, fold_hosts
from topo.io.slurm_state import cluster_state_of_text, read_cluster_state
from topo.io.slurm_topology import read_slurm_topology
from topo.io.slurm_yaml import read_slurm_yaml


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("a[001,003-004,006]", ["a001", "a003", "a004", "a006"]),
        ("rack[0-1]_blade[0-1]", ["rack0_blade0", "rack0_blade1", "rack1_blade0", "rack1_blade1"]),
        ("nodeA,nodeB[001,003],nodeC", ["nodeA", "nodeB001", "nodeB003", "nodeC"]),
        ("foo003,foo0[10-12]", ["foo003", "foo010", "foo011", "foo012"]),
        ("jpbo-001-[08-11]", ["jpbo-001-08", "jpbo-001-09", "jpbo-001-10", "jpbo-001-11"]),
        ("isw1[0100,0102]", ["isw10100", "isw10102"]),
        ("n[1-2]-ib0", ["n1-ib0", "n2-ib0"]),
        ("login", ["login"]),
        ("1101-1102", ["1101-1102"]),
        ("b,a,b", ["a", "b"]),
    ],
)
def test_host_lists_there_and_back(text: str, names: list[str]) -> None:
    assert expand_hosts(text) == names
    assert expand_hosts(fold_hosts(names)) == names


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("node[01", "a bracket that is not closed at character 5"),
        ("[003-001]", "the range 003-001 runs backwards at character 1"),
        ("node1]", "a bracket that was not opened at character 6"),
        ("n[1-]", r"\[1-\] is no list of numbers and ranges at character 2"),
        ("n[1[2]]", "a bracket inside a bracket at character 4"),
        ("@all", "'@' is no part of a host list at character 1"),
        ("a&b", "'&' is no part of a host list at character 2"),
        ("n[1-99999999]", "more than 4,000,000 hosts at character 1"),
        ("n[1-3000]x[1-3000]", "more than 4,000,000 hosts"),
        ("", "no host at character 1"),
        (",,", "no host"),
    ],
)
def test_malformed_host_lists_say_where(text: str, said: str) -> None:
    with pytest.raises(topo.InputError, match=said):
        expand_hosts(text, path="f", line=3)


def test_a_name_with_brackets_cannot_be_folded() -> None:
    for name in ("a[1]", "a,b", "", "a b"):
        with pytest.raises(topo.InputError, match="no host name"):
            fold_hosts([name])


def test_tree_with_scontrol_fields_and_continued_lines() -> None:
    fabric = read_slurm_topology(
        "SwitchName=root Level=2 LinkSpeed=1 Nodes=n[1-6] Switches=pod[1-2]\n"
        "SwitchName=pod1 Level=1 Nodes=n[1-4] Switches=leaf[1-2]\n"
        "SwitchName=pod2 Level=1 LinkSpeed=1 \\\n  Switches=leaf3\n"
        "switchname=leaf1 nodes=n[1-2]  # rack 1\nSwitchName=leaf2 Nodes=n[3-4]\nSwitchName=leaf3 Nodes=n[5-6]\n",
        "t",
    )
    nodes = fabric.nodes
    assert dict(zip(nodes.name.tolist(), nodes.tier.tolist(), strict=True)) == {
        "root": 3, "pod1": 2, "pod2": 2, "leaf1": 1, "leaf2": 1, "leaf3": 1, **{f"n{i}": 0 for i in range(1, 7)},
    }  # fmt: skip
    pods = dict(zip(nodes.name.tolist(), nodes.pod.values().tolist(), strict=True))
    assert [pods[name] for name in ("n1", "n6", "leaf3", "root")] == ["pod1", "pod2", "pod2", ""]
    assert nodes.host.labels.tolist() == [f"n{i}" for i in range(1, 7)]
    assert Counter(fabric.links.kind.values().tolist()) == {"access": 6, "scale_out": 5}
    assert np.isnan(fabric.links.capacity_gbps).all()
    assert len(fabric.origin.notes) == 1
    assert fabric.links.line[fabric.link_a == fabric.rows("leaf3")[0]].tolist() == [3]
    with pytest.raises(topo.InputError, match=r"^t:\d+: the rate of \d+ link\(s\) is unknown.*assume_gbps"):
        topo.bisection_bandwidth(fabric)


def test_hosts_listed_by_a_parent_are_checked() -> None:
    text = "SwitchName=root Switches=a Nodes=n[1-2],m1\nSwitchName=a Nodes=n[1-3]\n"
    fabric = read_slurm_topology(text, "t")
    assert (
        "t:1: a switch lists other hosts than its switches hold: root: 1 of its own besides, 1 of theirs not listed"
        in [str(note) for note in fabric.origin.notes]
    )
    assert len(fabric.endpoints) == 4


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "SwitchName=root Switches=a,b\nSwitchName=a Nodes=n1\n",
            "t:1: switch 'root' has a child 'b' that is not defined",
        ),
        ("SwitchName=root\n", "t:1: 'root' has nothing below it"),
        ("SwitchName=a Nodes=n1\nSwitchName=a Nodes=n2\n", "t:2: 'a' is defined twice, first at line 1"),
        ("SwitchName=a Switches=b\nSwitchName=b Switches=a\n", "t:1: switch 'a' is above itself"),
        ("SwitchName=a Nodes=n1\nBlockName=b Nodes=n2\n", "t:2: switches and blocks in one topology"),
        ("BlockName=b Nodes=n[1-4]\nBlockSizes=-1\n", "t:2: block size -1"),
        ("BlockName=b Nodes=n[1-4]\nBlockSizes=4,12\n", "t:2: block size 12 is not 4 times a power of two"),
        ("BlockName=b Nodes=n[1-4]\nBlockSizes=4,x\n", "t:2: BlockSizes='4,x' is no list of whole numbers"),
        ("BlockName=b\n", "t:1: 'b' has nothing below it"),
        ("BlockSizes=4\n", "no switch and no block in it"),
        ("SwitchName=a Nodes=n[1-\n", "t:1: host list 'n\\[1-': a bracket that is not closed at character 2"),
        ("SwitchName=a Nodes=a\n", "'a' is a switch and a host at once"),
        ("SwitchName=a Nodes=n1\nhello\nworld\n", "t:2: 2 of 3 lines do not fit a topology.conf"),
    ],
)
def test_what_slurm_refuses_is_refused(text: str, said: str) -> None:
    with pytest.raises(topo.InputError, match=said):
        read_slurm_topology(text, "t")


def test_blocks_are_joined_domains_and_forests_stay_apart() -> None:
    fabric = read_slurm_topology("BlockName=b1 Nodes=n[1-4]\nBlockName=b2 Nodes=n[5-7]\nBlockSizes=4,8\n", "t")
    assert Counter(fabric.nodes.domain.values(fabric.endpoints).tolist()) == {"b1": 4, "b2": 3}
    notes = [str(note) for note in fabric.origin.notes]
    assert "t:2: block smaller than the base block size: b2 has 3 hosts, the base is 4" in notes
    assert "t: block sizes 4, 8: blocks are joined, in the order of the file, into larger ones" in notes
    # A job may span blocks: something joins them, though the file does not name it.
    assert fabric.nodes.name[fabric.nodes.tier == 2].tolist() == ["between-blocks"] and not any(
        "trees" in n for n in notes
    )
    assert any("between-blocks stands for it" in said for said in fabric.origin.assumptions)
    odd = read_slurm_topology("BlockName=between-blocks Nodes=n1\nBlockName=b Nodes=between-blocks-\n")
    assert "between-blocks--" in odd.nodes.name.tolist()
    forest = read_slurm_topology("SwitchName=a Nodes=n[1-2]\nSwitchName=b Nodes=n[3-4]\n", "t")
    assert "t: 2 trees without a common switch: a, b" in [str(note) for note in forest.origin.notes]


def test_yaml_takes_the_default_topology() -> None:
    text = """\
- topology: a
  tree: {switches: {switch: s, nodes: "n[1-2]"}}
- topology: b
  cluster_default: true
  tree:
    switches:
      - {switch: root, children: "s[1-2]"}
      - {switch: s1, nodes: "n[1-2]"}
      - {switch: s2, nodes: [n3, n4]}
"""
    fabric = read_slurm_yaml(text, "t.yaml")
    assert (fabric.name, len(fabric.switches), len(fabric.endpoints)) == ("b", 3, 4)
    assert "2 topologies; b is read, not a" in [note.text for note in fabric.origin.notes]
    assert fabric.links.line[0] == 7
    one = read_slurm_yaml("topology: x\ntree: {switches: {switch: s, nodes: 'n[1-2]'}}\n", "t")
    assert len(one.links) == 2


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("topology: x\nflat: true\n", "t:1: flat draws no tree"),
        ("topology: x\n", "none of block, flat, ring, torus3d, tree in it"),
        ("topology: x\ntree: {switches: [{nodes: a}]}\n", "t:2: .*each needs a switch: with a name"),
        (
            "topology: x\nblock: {block_sizes: [a], blocks: [{block: b, nodes: n1}]}\n",
            "whole numbers are wanted, not 'a'",
        ),
        ("topology: x\ntree: {switches: [{switch: s, nodes: {a: 1}}]}\n", "a host list is wanted, this is 1 key"),
        ("[]", "no topology in the list"),
        ("a: [\n", "not valid YAML"),
    ],
)
def test_yaml_of_another_shape_is_refused(text: str, said: str) -> None:
    with pytest.raises(topo.InputError, match=said):
        read_slurm_yaml(text, "t")


SINFO = """\
PARTITION AVAIL  TIMELIMIT  NODES  STATE NODELIST
gpu*         up   infinite      2   idle n[1-2]
gpu*         up   infinite      1  idle~ n3
gpu*         up   infinite      2  alloc n[4-5]
gpu*         up   infinite      1    mix n6
gpu*         up   infinite      1   plnd n7
gpu*         up   infinite      1  drain n8
gpu*         up   infinite      1  down* n9
debug        up   infinite      1   resv n1
debug        up   infinite      0    n/a
"""


def test_states_of_sinfo() -> None:
    state = cluster_state_of_text(SINFO, "s")
    assert sorted(state.idle) == ["n2"]
    assert sorted(state.busy) == ["n4", "n5", "n6"]
    assert sorted(state.unavailable) == ["n1", "n3", "n7", "n8", "n9"]  # n1: reserved in one partition
    assert sorted(state.with_free("plnd", "idle~").idle) == ["n2", "n3", "n7"]
    assert state.by_state["idle~"] == {"n3"}
    assert not state.notes


@pytest.mark.parametrize(
    "text",
    [
        "NODELIST NODES PARTITION STATE\nn1 1 gpu* idle\nn2 1 gpu* allocated\n",
        "STATE NODELIST\nidle n1\nallocated n2\n",
        "HOSTNAMES STATE\nn1 idle\nn2 allocated+\n",
        "gpu* up infinite 1 idle n1\ngpu* up infinite 1 alloc n2\n",
    ],
)
def test_other_columns_of_sinfo(text: str) -> None:
    state = cluster_state_of_text(text, "s")
    assert (state.idle, state.busy) == ({"n1"}, {"n2"})


def test_jobs_of_squeue() -> None:
    state = cluster_state_of_text(
        "             JOBID PARTITION     NAME     USER ST       TIME  NODES NODELIST(REASON)\n"
        "               101       gpu    train      ann  R 1-02:00:00      3 n[1-3]\n"
        "               102       gpu    train      bob PD       0:00      8 (Resources)\n"
        "               103       gpu     eval      bob CG       0:10      1 n7\n",
        "s",
    )
    assert state.busy == {"n1", "n2", "n3", "n7"}
    assert state.jobs == {"101": {"n1", "n2", "n3"}, "103": {"n7"}}
    assert not state.idle


@pytest.mark.parametrize(
    "text", ["", "hello\n", "PARTITION AVAIL TIMELIMIT NODES STATE NODELIST\n", "a b c d e f g\n" * 3]
)
def test_what_is_no_state_is_refused(text: str) -> None:
    with pytest.raises(topo.FormatError, match="not the output of sinfo or squeue"):
        cluster_state_of_text(text, "s")


def test_counts_that_differ_are_told() -> None:
    state = cluster_state_of_text("STATE NODES NODELIST\nidle 3 n[1-2]\nwhatsit 2 n[3-4]\n", "s")
    assert [str(note) for note in state.notes] == [
        "s:2: a row counts other than it lists: NODES 3, 2 listed",
        "s:3: state of an unknown kind, taken for unavailable: 'whatsit'",
    ]
    with pytest.raises(topo.InputError, match="s:2: host list"):
        cluster_state_of_text("STATE NODELIST\nidle n[1\n", "s")


def test_jupiter_as_it_was(shared_data: Path) -> None:
    folder = shared_data / "slurm_topology"
    state = read_cluster_state(folder / "HicrestLaboratory__JobPlacer__jupiter_sinfo.txt")
    assert {name: len(hosts) for name, hosts in state.by_state.items()} == {
        "alloc": 2362, "resv": 441, "idle": 83, "plnd": 60, "drng": 13, "down*": 3, "drain*": 1, "drain": 1,
    }  # fmt: skip
    assert (len(state.idle), len(state.busy), len(state.hosts)) == (83, 2362, 2964)
    assert len(state.with_free("plnd").idle) == 143
    fabric = topo.read(folder / "HicrestLaboratory__JobPlacer__jupiter_topo.txt")
    assert state.unknown_to(fabric) == ()
