"""Trouble that readers of such files had elsewhere, each a fact that must hold here, by its number in the collection.

``REPORTS`` names for each number the tests that hold it, here or in another file.
"""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from test_read_fuzz import GOOD as DUMP

import topo
from topo.fabric import Fabric
from topo.io import fabric_of_text
from topo.io.hostlist import expand_hosts, fold_hosts

REPORTS: dict[int, tuple[str, ...]] = {
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
    27: ("test_kubernetes.py::test_three_clusters_that_share_a_clique_number_stay_three_domains",),
    28: (
        "test_neighbours.py::test_two_neighbours_on_one_port_are_told_once_and_kept",
        "test_neighbours.py::test_two_macs_on_one_port_of_lldpctl",
    ),
    29: (
        "test_neighbours.py::test_a_port_told_by_its_mac_goes_by_its_description",
        "test_neighbours.py::test_a_description_finds_the_port_that_the_far_end_lists",
    ),
    30: (
        "test_wiring_formats.py::test_names_with_dots_match_exactly_first",
        "test_neighbours.py::test_a_name_cut_by_its_column_meets_the_device_that_begins_so",
        "test_neighbours.py::test_a_real_name_cut_at_twenty_characters",
    ),
    32: ("test_a_port_after_the_colon_stays", "test_wiring_formats.py::test_ports_after_the_colon_stay"),
    33: ("test_parallel_edges_and_names_that_are_numbers_go_round",),
    35: ("test_host_lists_go_round", "test_host_lists_that_are_malformed_say_where"),
    36: ("test_breakouts_of_one_cage_are_legs_of_it",),
    38: (
        "test_a_breakout_is_one_cable_with_three_ends",
        "test_a_row_again_is_the_same_cable",
        "test_schedule.py::test_a_breakout_is_one_cable_with_several_ends",
    ),
    39: ("test_labs_with_a_broken_endpoint_say_where",),
    47: ("test_what_stops_the_controller_is_refused", "test_slurm.py::test_what_slurm_refuses_is_refused"),
    52: ("test_host_inside.py::test_real_matrices",),
    54: (
        "test_a_count_of_links_that_is_wrong_is_an_error_with_both_numbers",
        "test_wiring_formats.py::test_a_header_that_counts_other_rows_is_an_error_with_both_numbers",
    ),
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
        path = Path(__file__).with_name(file) if file else Path(__file__)
        tree = ast.parse(path.read_text())
        assert test in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}, named


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


def test_a_breakout_is_one_cable_with_three_ends() -> None:
    head = "Cable,A-Node,A-Port,Z-Node,Z-Port,Speed\n"
    fabric = fabric_of_text(head + "c1,leaf,1/1/1,h1,HCA-1,400G\nc1,leaf,1/1/2,h2,HCA-1,400G\n", "t")
    assert len(fabric.links) == 2
    assert len(set(fabric.links.cable.tolist())) == 1
    assert fabric.links.cable[0] >= 0


def test_a_row_again_is_the_same_cable() -> None:
    head = "A-Node,A-Port,Z-Node,Z-Port\n"
    row = "leaf,1,h1,HCA-1\n"
    once, twice = (fabric_of_text(head + row * n, "t") for n in (1, 2))
    assert len(once.links) == len(twice.links) == 1
    assert any("t:2" in note or "t:3" in note for note in notes(twice) if "more than once" in note)


@pytest.mark.parametrize("links", ["endpoints: [a, 'b:e1']", "endpoints: ['a:e1']", "endpoints: 7"])
def test_labs_with_a_broken_endpoint_say_where(links: str) -> None:
    text = f"name: x\ntopology:\n  nodes: {{a: {{}}, b: {{}}}}\n  links:\n  - {links}\n"
    with pytest.raises(topo.TopoError, match="t:5"):
        fabric_of_text(text, "t", format="containerlab")


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
