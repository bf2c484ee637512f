"""Trouble that readers of such files had elsewhere, each a fact that must hold here, by its number in the collection.

``REPORTS`` names for each number the tests that hold it, here or in another file; ``OF_OTHERS`` says of the numbers
that concern no reader and no writer what they are about.
"""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import yaml
from test_read_fuzz import GOOD as DUMP

import topo
from topo.fabric import Fabric
from topo.io import fabric_of_text
from topo.io.hostlist import expand_hosts, fold_hosts
from topo.io.port_names import cage_of, place_of_port
from topo.parts.switches import switch_part

COLLECTED = sorted({*range(1, 61)} - {10, 13, 24, 26, 31, 34, 43, 46, 48, 51, 53, 55, 57})
"""Numbers of the collection; those that are missing were withdrawn there."""

OF_OTHERS: dict[int, str] = {
    1: "flow over parallel cables",
    2: "paths over parallel cables",
    3: "width of integers in flows",
    4: "size of a flow's graph",
    5: "cuts by capacity or by count",
    6: "flow and paths over links at rate 0, which is a State: no file's 0 becomes a rate (21)",
    8: "fractions in flows",
    9: "agreement of flow algorithms",
    11: "certificates of cuts",
    12: "bisection of what is apart",
    14: "bisection of small graphs",
    15: "weights of parallel cables in shortest paths",
    16: "flows, numbering of nodes and failure draws",
    17: "loads of parallel cables",
    40: "designs and their counts of switches",
    41: "a builder's roots and their failures",
    45: "segments of a placement",
    49: "capacity of a placement's domains",
    50: "choices of a placement",
    59: "hashes of tiers",
    60: "all shortest paths",
}

REPORTS: dict[int, tuple[str, ...]] = {
    7: ("test_a_link_without_a_rate_is_named_where_one_is_needed",),
    18: ("test_four_equal_lines_are_four_cables",),
    19: ("test_one_odd_line_is_one_located_note", "test_real_infiniband.py::test_free_ports_of_the_port_list"),
    20: ("test_a_line_of_trouble_leaves_the_links_and_flags_the_discovery",),
    21: ("test_a_rate_nobody_knows_keeps_its_link", "test_rates_and_ports.py::test_rates"),
    22: (
        "test_adapters_of_one_factory_name_stay_apart",
        "test_real_infiniband.py::test_director_factory_named_adapters_stay_apart",
    ),
    23: ("test_two_planes_are_two_components_that_share_their_hosts",),
    25: ("test_real_infiniband.py::test_grouping_hosts_by_their_leaves",),
    27: (
        "test_kubernetes.py::test_three_clusters_that_share_a_clique_number_stay_three_domains",
        "test_kubernetes.py::test_two_cliques_of_one_cluster_are_two_domains",
        "test_kubernetes.py::test_a_clique_number_without_its_cluster_joins_nobody",
    ),
    28: (
        "test_neighbours.py::test_two_neighbours_on_one_port_are_told_once_and_kept",
        "test_neighbours.py::test_two_macs_on_one_port_of_lldpctl",
    ),
    29: (
        "test_neighbours.py::test_a_port_told_by_its_mac_goes_by_its_description",
        "test_neighbours.py::test_a_description_finds_the_port_that_the_far_end_lists",
        "../wiring/test_wiring_words.py::test_any_key_that_agrees_is_a_match_and_its_kind_is_stated",
        "../wiring/test_wiring_words.py::test_mac_addresses_of_the_plan_tell_the_port",
        "../wiring/test_wiring_words.py::test_a_cable_is_a_fault_where_all_keys_disagree",
    ),
    30: (
        "test_wiring_formats.py::test_names_with_dots_match_exactly_first",
        "test_neighbours.py::test_a_name_cut_by_its_column_meets_the_device_that_begins_so",
        "test_neighbours.py::test_a_real_name_cut_at_twenty_characters",
    ),
    32: ("test_a_port_after_the_colon_stays", "test_wiring_formats.py::test_ports_after_the_colon_stay"),
    33: ("test_parallel_edges_and_names_that_are_numbers_go_round",),
    35: ("test_host_lists_go_round", "test_host_lists_that_are_malformed_say_where"),
    36: (
        "test_breakouts_of_one_cage_are_legs_of_it",
        "test_a_port_whole_and_by_leg_is_told",
        "test_legs_of_a_stated_breakout",
        "test_the_one_leg_of_a_port_is_the_port",
    ),
    37: (
        "test_one_row_of_three_is_told",
        "../wiring/test_wiring_faults.py::test_the_fault_is_found_once_and_nothing_else",  # two cables swapped
    ),
    38: (
        "test_a_breakout_is_one_cable_with_three_ends",
        "test_a_row_again_is_the_same_cable",
        "test_a_row_turned_round_is_the_same_cable",
        "test_schedule.py::test_a_breakout_is_one_cable_with_several_ends",
    ),
    39: ("test_labs_with_a_broken_endpoint_say_where",),
    42: (
        "test_ports_that_a_library_leaves_out_are_a_gap",
        "../wiring/test_wiring_faults.py::test_the_fault_is_found_once_and_nothing_else",  # a gap of every like switch
    ),
    44: (
        "test_blocks_without_a_domain_are_neither_read_nor_written",
        "test_slurm.py::test_what_slurm_refuses_is_refused",
        "test_written.py::test_blocks_are_domains_and_sizes_are_positive",
    ),
    47: (
        "test_what_stops_the_controller_is_refused",
        "test_slurm.py::test_what_slurm_refuses_is_refused",
        "test_written.py::test_schedulers_get_every_tier_and_host_once",
        "test_nothing_is_written_over_a_good_file",
    ),
    52: ("test_host_inside.py::test_real_matrices",),
    54: (
        "test_a_count_of_links_that_is_wrong_is_an_error_with_both_numbers",
        "test_wiring_formats.py::test_a_header_that_counts_other_rows_is_an_error_with_both_numbers",
    ),
    56: ("test_one_chip_and_four_carry_the_same_until_one_fails",),
    58: (
        "test_bytes_are_taken_times_eight_and_shapes_differ",
        "test_wiring_formats.py::test_networks_of_astra_sim_that_are_wrong",
    ),
}


def notes(fabric: Fabric) -> list[str]:
    return [str(note) for note in fabric.origin.notes]


@pytest.mark.parametrize("number", REPORTS)
def test_the_table_names_tests_that_are_there(number: int) -> None:
    for named in REPORTS[number]:
        file, _, test = named.rpartition("::")
        path = Path(__file__).parent / file if file else Path(__file__)
        tree = ast.parse(path.read_text())
        assert test in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}, named


def test_every_number_is_held_or_said_to_be_of_others() -> None:
    assert not REPORTS.keys() & OF_OTHERS.keys()
    assert sorted(REPORTS.keys() | OF_OTHERS.keys()) == COLLECTED


def test_a_link_without_a_rate_is_named_where_one_is_needed() -> None:
    rows = "leaf,1,h1,e0,400G\nleaf,2,h2,e0,\nleaf,3,h3,e0,400G\n"
    fabric = fabric_of_text(f"A-Node,A-Port,Z-Node,Z-Port,Speed\n{rows}", "t")
    assert np.isnan(fabric.links.capacity_gbps).tolist() == [False, True, False]
    with pytest.raises(topo.InputError, match=r"^t:3: the rate of 1 link\(s\) is unknown, first leaf port 2 - h2 "):
        topo.oversubscription(fabric)


def test_four_equal_lines_are_four_cables() -> None:
    fabric = fabric_of_text("9 1 4\n8\n" + "0 8 100Gbps 1us 0\n" * 4, "t", format="ns-3")
    assert fabric.links.capacity_gbps.tolist() == [100.0] * 4
    assert len(set(fabric.links.port_a.tolist()) | set(fabric.links.port_b.tolist())) == 8


@pytest.mark.parametrize(
    "odd",
    [
        "SW 1 2 0x00000000000000a1 4x SDR 'MT25408 ConnectX Mellanox Technologies'",
        "SW 1 2 0x00000000000000a1 4x ??? MT25408 ConnectX",
        "SW 1 2 0x00000000000000a1 4x ??? '",
        "SW 1 two",
    ],
)
def test_one_odd_line_is_one_located_note(odd: str) -> None:
    good = "SW 1 {0} 0x00000000000000a1 4x EDR - CA {0} 1 0x00000000000000b{0} ( 'leaf' - 'n{0} HCA-1' )"
    text = "\n".join([good.format(3), odd, good.format(4), good.format(5)])
    fabric = fabric_of_text(text, "t", format="ibnetdiscover")
    assert fabric.links.capacity_gbps.tolist() == [100.0] * 3
    if odd == "SW 1 two":
        assert [note for note in notes(fabric) if "t:2:" in note] == ["t:2: line not understood: 'SW 1 two'"]


def test_a_line_of_trouble_leaves_the_links_and_flags_the_discovery() -> None:
    alone = fabric_of_text("\n".join(line for line in DUMP.split("\n") if "timed out" not in line), "t")
    fabric = fabric_of_text(DUMP, "t")
    assert len(fabric.links) == len(alone.links)
    assert any("partial discovery: 1 line(s) of trouble" in note for note in notes(fabric))
    assert not any("partial discovery" in note for note in notes(alone))


def test_a_rate_nobody_knows_keeps_its_link() -> None:
    fabric = fabric_of_text(DUMP, "t")
    line = next(i for i, text in enumerate(DUMP.split("\n"), 1) if "4xGDR" in text)
    unknown = np.flatnonzero(np.isnan(fabric.links.capacity_gbps))
    assert line in fabric.links.line[unknown]
    assert any(f"t:{line}: rate of an unknown kind" in note for note in notes(fabric))


def test_adapters_of_one_factory_name_stay_apart() -> None:
    ports = [f'[{i}] "H-{i:x}"[1] # "MT4123 ConnectX6   Mellanox Technologies" lid {i} 4xHDR' for i in range(1, 104)]
    fabric = fabric_of_text('Switch 129 "S-a1" # "leaf"\n' + "\n".join(ports), "t")
    assert len(fabric.endpoints) == 103
    hosts = fabric.nodes.host.values()[fabric.endpoints].tolist()
    assert len(set(hosts)) == 103


def test_two_planes_are_two_components_that_share_their_hosts() -> None:
    rows = [f"leaf-p{p},{h},host-{h},mlx5_{p}" for p in (0, 1) for h in range(1, 9)]
    rows += [f"leaf-p{p},{40 + i},spine-p{p},{i}" for p in (0, 1) for i in (1, 2)]
    fabric = fabric_of_text("A-Node,A-Port,Z-Node,Z-Port\n" + "\n".join(rows), "t")
    planes = dict(zip(fabric.nodes.name.tolist(), fabric.nodes.plane.values().tolist(), strict=True))
    assert planes["leaf-p0"] == planes["spine-p0"] == "plane-1"
    assert planes["leaf-p1"] == planes["spine-p1"] == "plane-2"
    assert len(set(fabric.nodes.host.values()[fabric.endpoints].tolist())) == 8


def test_a_port_after_the_colon_stays() -> None:
    text = '"leaf01":"swp51" -- "spine01":"swp1"'
    fabric = fabric_of_text(f"graph g {{ {text} }}", "t.dot")
    assert fabric.nodes.name.tolist() == ["leaf01", "spine01"]
    assert fabric.ports.label.values().tolist() == ["swp51", "swp1"]


def test_parallel_edges_and_names_that_are_numbers_go_round(tmp_path: Path) -> None:
    edge = '<edge id="e" source="1" target="2"><data key="d">{}</data></edge>'
    text = (
        '<graphml><key id="d" for="edge" attr.name="LinkSpeedRaw" attr.type="double"/><graph edgedefault="undirected">'
        f'<node id="1"/><node id="2"/>{edge.format(1e10)}{edge.format(1e10)}{edge.format(4e10)}</graph></graphml>'
    )
    fabric = fabric_of_text(text, "t.graphml")
    topo.write(fabric, tmp_path / "again.graphml")
    again = topo.read(tmp_path / "again.graphml")
    for one in (fabric, again):
        assert one.nodes.name.tolist() == ["1", "2"]
        assert sorted(one.links.capacity_gbps.tolist()) == [10.0, 10.0, 40.0]


LISTS = {
    "a[001,003-004,006]": ["a001", "a003", "a004", "a006"],
    "rack[0-1]_blade[0-1]": ["rack0_blade0", "rack0_blade1", "rack1_blade0", "rack1_blade1"],
    "nodeA,nodeB[001,003],nodeC": ["nodeA", "nodeB001", "nodeB003", "nodeC"],
    "foo003,foo0[10-12]": ["foo003", "foo010", "foo011", "foo012"],
}


@pytest.mark.parametrize("text", LISTS)
def test_host_lists_go_round(text: str) -> None:
    assert sorted(expand_hosts(text)) == LISTS[text]
    assert sorted(expand_hosts(fold_hosts(LISTS[text]))) == LISTS[text]


@pytest.mark.parametrize("text", ["node[01", "n[003-001]", "n[1-", "a,b]"])
def test_host_lists_that_are_malformed_say_where(text: str) -> None:
    with pytest.raises(topo.TopoError, match=r"character \d+|position \d+|at \d+"):
        expand_hosts(text)


def test_breakouts_of_one_cage_are_legs_of_it() -> None:
    rows = "leaf,E1/1/1,h1,eth0\nleaf,E1/1/2,h2,eth0\nleaf,E1/2,h3,eth0\n"
    fabric = fabric_of_text(f"A-Node,A-Port,Z-Node,Z-Port\n{rows}", "t")
    cage = dict(zip(fabric.ports.label.values().tolist(), fabric.ports.cage.tolist(), strict=True))
    assert cage["E1/1/1"] == cage["E1/1/2"] != -1
    assert cage["E1/2"] != cage["E1/1/1"]


def findings(rows: str, folder: Path) -> list[tuple[str, str]]:
    (folder / "t.csv").write_text(f"A-Node,A-Port,Z-Node,Z-Port\n{rows}")
    return [(one.code, one.place) for one in topo.validate(folder / "t.csv", bisection=False).findings]


def test_a_port_whole_and_by_leg_is_told(tmp_path: Path) -> None:
    found = findings("leaf,E1/1,h1,eth0\nleaf,E1/1/1,h2,eth0\nleaf,E1/2,h3,eth0\n", tmp_path)
    assert found == [("breakout-conflict", "leaf port E1/1")]
    assert not findings("leaf,E1/1/1,h1,eth0\nleaf,E1/1/2,h2,eth0\nleaf,E1/2,h3,eth0\n", tmp_path)


HEDGEHOG = """\
apiVersion: wiring.githedgehog.com/v1beta1
kind: Switch
metadata: {{name: leaf}}
spec: {{portBreakouts: {{E1/2: {split}}}}}
---
apiVersion: wiring.githedgehog.com/v1beta1
kind: Connection
metadata: {{name: c}}
spec:
  bundled:
    links:
    - server: {{port: s/enp1}}
      switch: {{port: leaf/{one}}}
    - server: {{port: s/enp2}}
      switch: {{port: leaf/{two}}}
"""


@pytest.mark.parametrize(("leg", "exists"), [(1, True), (2, True), (4, True), (5, False), (0, False), (12, False)])
def test_legs_of_a_stated_breakout(leg: int, exists: bool) -> None:
    fabric = fabric_of_text(HEDGEHOG.format(split="4x25G", one=f"E1/2/{leg}", two="E1/2/3"), "t")
    assert fabric.links.capacity_gbps.tolist() == [25.0, 25.0]
    said = f"t:12: leg beyond those its port splits into; use one that exists: leaf port E1/2/{leg}, split into 4 of 25"
    assert [note.startswith(said) for note in notes(fabric) if "leg beyond" in note] == [True] * (not exists)
    assert all(note.severity == "alert" for note in fabric.origin.notes if "leg beyond" in note.text)


def test_the_one_leg_of_a_port_is_the_port() -> None:
    fabric = fabric_of_text(HEDGEHOG.format(split="1x100G", one="E1/2", two="E1/2/1"), "t")
    at = np.flatnonzero(fabric.ports.node == fabric.rows("leaf")[0])
    assert fabric.ports.label.values(at).tolist() == ["E1/2"]
    assert "t:14: port used by several cables: leaf port E1/2" in notes(fabric)


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("leaf,2,h3,HCA-1", "t:4: port used by several cables: leaf port 2"),
        ("leaf,3,h1,bmc:3", "t:4: port beyond the second of a management controller, which has two at most: leaf port "
         "3 - h1 port bmc:3"),
        ("Leaf,3,h3,HCA-1", "t:4: names that differ in case alone stay two nodes: 'leaf' and 'Leaf'"),
    ],
)  # fmt: skip
def test_one_row_of_three_is_told(row: str, said: str) -> None:
    """A port used again, a port that no controller has, a name in another case: in the third row, and the rest is as
    before; swapped cables are a matter of plan and found.
    """
    good = "A-Node,A-Port,Z-Node,Z-Port\nleaf,1,h1,bmc:2\nleaf,2,h2,HCA-1\n"
    before, fabric = notes(fabric_of_text(good, "t")), fabric_of_text(good + row + "\n", "t")
    assert [note for note in notes(fabric) if note not in before] == [said]
    assert len(fabric.links) == 3


def test_a_breakout_is_one_cable_with_three_ends() -> None:
    head = "Cable,A-Node,A-Port,Z-Node,Z-Port,Speed\n"
    fabric = fabric_of_text(head + "c1,leaf,1/1/1,h1,HCA-1,400G\nc1,leaf,1/1/2,h2,HCA-1,400G\n", "t")
    assert len(fabric.links) == 2
    assert len(set(fabric.links.cable.tolist())) == 1
    assert fabric.links.cable[0] >= 0


def test_a_row_again_is_the_same_cable() -> None:
    head = "A-Node,A-Port,Z-Node,Z-Port\n"
    row, other = "leaf,1,h1,HCA-1\n", "leaf,2,h2,HCA-1\n"
    once = fabric_of_text(head + row + other, "t")
    twice = fabric_of_text(head + row + other + row, "t")
    assert twice.equals(once) and len(once.links) == 2
    assert not [note for note in notes(once) if "listed again" in note]
    said = "cable listed again in the same direction, counted once: leaf port 1 - h1 port HCA-1"
    assert [note for note in notes(twice) if "listed again" in note] == [f"t:4: {said}, a duplicate of line 2"]


def test_a_row_turned_round_is_the_same_cable() -> None:
    rows = ["leaf,1,h1,HCA-1", "leaf,2,h2,HCA-1", "leaf,3,h3,HCA-1", "h2,HCA-1,leaf,2"]
    fabric = fabric_of_text("A-Node,A-Port,Z-Node,Z-Port\n" + "\n".join(rows), "t")
    assert len(fabric.links) == 3
    found = [note for note in notes(fabric) if "listed again" in note]
    assert len(found) == 1
    assert found[0].startswith("t:5: cable listed again from its other end") and found[0].endswith("of line 3")


@pytest.mark.parametrize("links", ["endpoints: [a, 'b:e1']", "endpoints: ['a:e1']", "endpoints: 7"])
def test_labs_with_a_broken_endpoint_say_where(links: str) -> None:
    text = f"name: x\ntopology:\n  nodes: {{a: {{}}, b: {{}}}}\n  links:\n  - {links}\n"
    with pytest.raises(topo.TopoError, match="t:5"):
        fabric_of_text(text, "t", format="containerlab")


def test_ports_that_a_library_leaves_out_are_a_gap(shared_data: Path) -> None:
    """NetBox's list of a QM9700 has 62 ports where the part has 64: what is left out, by unit, cage and port."""
    said = yaml.safe_load((shared_data / "devicetype" / "netbox__Nvidia__QM9700.yaml").read_text())
    names = [each["name"] for each in said["interfaces"]]
    places = {(place.cage, place.port) for name in names if (place := place_of_port(name)).port >= 0}
    part = switch_part("qm9700")
    per_cage = part.radix // part.n_cages
    full = {(cage, port) for cage in range(part.n_cages) for port in range(per_cage)}
    assert (part.radix, len(places), places - full) == (64, 62, set())
    assert sorted(full - places) == [(22, 1), (23, 0)]
    assert len({cage_of(f"P{cage}.{port}") for cage, port in places}) == 32


def test_blocks_without_a_domain_are_neither_read_nor_written(tmp_path: Path) -> None:
    for text in ("BlockSizes=-1\n", "BlockSizes=4\n", "BlockName=b1 Nodes=n[1-4]\nBlockSizes=-1\n"):
        with pytest.raises(topo.TopoError):
            fabric_of_text(text, "t", format="slurm-topology")
    with pytest.raises(topo.ParameterError, match="there are no blocks"):
        topo.write(topo.fat_tree(4), tmp_path / "b.conf", format="slurm-block")
    assert not (tmp_path / "b.conf").exists()


@pytest.mark.parametrize("format", ["slurm-topology", "slurm-yaml", "slurm-block", "topograph", "kubernetes"])
def test_nothing_is_written_over_a_good_file(format: str, tmp_path: Path) -> None:
    """A fabric without a host under a switch has no tree: what was written before stays."""
    path = tmp_path / "good"
    path.write_text("SwitchName=s1 Nodes=n[1-2]\n")
    fabric = topo.leaf_spine(leaves=2, spines=2, hosts_per_leaf=2).without(nodes="host-*")
    with pytest.raises(topo.ParameterError):
        topo.write(fabric, path, format=format)
    assert path.read_text() == "SwitchName=s1 Nodes=n[1-2]\n"
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize("text", ["\n", "SwitchName=root\n", "SwitchName=root Switches=leaf1\n", "# empty\n"])
def test_what_stops_the_controller_is_refused(text: str) -> None:
    with pytest.raises(topo.TopoError):
        fabric_of_text(text, "t", format="slurm-topology")


def test_a_count_of_links_that_is_wrong_is_an_error_with_both_numbers() -> None:
    rows = "".join(f"{i} 24 400Gbps 0.0005ms 0\n" for i in range(24))
    with pytest.raises(topo.FormatError, match=r"20\b.*24|24\b.*20"):
        fabric_of_text(f"25 8 0 1 20 H100\n24\n{rows}", "t", format="ns-3")


def test_bytes_are_taken_times_eight_and_shapes_differ() -> None:
    text = "topology: [ Ring, Switch ]\nnpus_count: [ {} ]\nbandwidth: [ 50, 25 ]\n"
    a, b = (fabric_of_text(text.format(counts), "t") for counts in ("2, 8", "8, 2"))
    assert set(a.links.capacity_gbps.tolist()) == {400.0, 200.0}
    assert Counter(a.links.capacity_gbps.tolist()) != Counter(b.links.capacity_gbps.tolist())


def test_one_chip_and_four_carry_the_same_until_one_fails() -> None:
    """Eight accelerators on one NVSwitch of 3,600 Gb/s a link, and on four of 5, 4, 4 and 5 NVLinks."""
    left = []
    for rates in ([3600], [1000, 800, 800, 1000]):
        rows = [f"{gpu} {8 + chip} {rate}Gbps 0.000025ms 0" for gpu in range(8) for chip, rate in enumerate(rates)]
        ids = " ".join(str(8 + chip) for chip in range(len(rates)))
        head = f"{8 + len(rates)} 8 {len(rates)} 0 {len(rows)} H100"
        fabric = fabric_of_text("\n".join([head, ids, *rows]) + "\n", "t", format="ns-3")
        assert fabric.links.capacity_gbps.sum() == 8 * 3600
        assert fabric.links.kind.labels.tolist() == ["scale_up"]
        chips = fabric.nodes.name[fabric.switches].tolist()
        left.append([round(fabric.without(nodes=[chip]).links.capacity_gbps.sum() / 288) for chip in chips])
    assert left == [[0], [72, 78, 78, 72]]
