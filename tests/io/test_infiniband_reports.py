"""iblinkinfo and ibdiagnet: the same subnet as ibnetdiscover shows, and what each says beyond it."""

from __future__ import annotations

import math

import pytest
from format_samples import DB_CSV, IBLINKINFO, NET_DUMP, SAMPLES

import topo
from topo.fabric import Fabric
from topo.io import FORMATS, fabric_of_text
from topo.io.ibdiagnet import read_db_csv, read_net_dump
from topo.io.iblinkinfo import read_iblinkinfo
from topo.parts.forwarding import is_infiniband


def rows(fabric: Fabric) -> list[tuple[str, str, float, str]]:
    nodes, ports, links = fabric.nodes, fabric.ports, fabric.links
    said = [f"{nodes.name[node]}:{label}" for node, label in zip(ports.node, ports.label.values(), strict=True)]
    each = zip(links.port_a, links.port_b, links.capacity_gbps, links.evidence.values(), strict=True)
    return [(said[a], said[b], float(gbps), str(by)) for a, b, gbps, by in each]


def notes(fabric: Fabric) -> list[str]:
    return [str(note) for note in fabric.origin.notes]


def test_both_forms_of_iblinkinfo() -> None:
    fabric = read_iblinkinfo(IBLINKINFO, "links.txt")
    assert rows(fabric) == [
        ("leaf-1:1", "n1 mlx5_0:1", 100.0, "both ends"),
        ("leaf-1:2", "n2 mlx5_0:1", 100.0, "both ends"),
    ]
    assert "links.txt:3: link below what both ends can do: MF0;leaf-1:MSB7700/U1 port 2: Could be 4X" in notes(fabric)
    assert fabric.nodes.host.values()[fabric.endpoints].tolist() == ["n1", "n2"]
    assert len(fabric.ports) == 5  # the port that is down is there


def test_a_width_lost_keeps_its_lane_rate() -> None:
    """2X of 53.125 is 100 Gb/s, not 200: the label of the rate does not change with the width."""
    line = '1 1[  ] ==( {}X 53.125 Gbps Active/ LinkUp)==> 2 1[  ] "n1 mlx5_0" ( )'
    got = [read_iblinkinfo(f"Switch: 0xa1 leaf:\n{line.format(n)}\n").links.capacity_gbps.tolist() for n in (4, 2, 1)]
    assert got == [[200.0], [100.0], [50.0]]


@pytest.mark.parametrize(
    ("state", "gbps"), [("4X 31.25 Gbps Active/ LinkUp", math.nan), ("4X 10.0 Gbps (FDR10) Active/", 40)]
)
def test_lane_rates(state: str, gbps: float) -> None:
    fabric = read_iblinkinfo(f'Switch 0xa1 leaf:\n1 1[  ] ==( {state})==> 2 1[  ] "n1 mlx5_0" ( )\n', "t")
    assert fabric.links.capacity_gbps.tolist() == pytest.approx([gbps], nan_ok=True)
    assert any("rate of an unknown kind" in note for note in notes(fabric)) == math.isnan(gbps)


def test_equal_names_stay_apart_by_their_lid() -> None:
    lines = [f'1 {i}[  ] ==( 4X 53.125 Gbps Active/)==> {i + 1} 1[  ] "MT4123 ConnectX6" ( )' for i in range(1, 9)]
    fabric = read_iblinkinfo("Switch: 0xa1 leaf:\n" + "\n".join(lines))
    assert (len(fabric.endpoints), len(fabric.links)) == (8, 8)


def test_trouble_of_the_scan_is_told() -> None:
    fabric = read_iblinkinfo(IBLINKINFO + "src/query_smp.c:184; Failed: Connection timed out\n", "t")
    assert len(fabric.links) == 2
    assert any("partial discovery: 1 line(s) of trouble" in note for note in notes(fabric))


def test_net_dump() -> None:
    fabric = read_net_dump(NET_DUMP, "dump")
    assert rows(fabric) == [
        ("leaf-1:1", "n1 mlx5_0:1", 200.0, "both ends"),
        ("leaf-1:2", "spine-1:17", 400.0, "both ends"),
    ]
    assert sorted(fabric.nodes.uid.tolist()) == [f"{each:016x}" for each in (0xA1, 0xA2, 0xB1)]


def test_a_block_that_is_missing_leaves_one_end() -> None:
    """A switch without a block is known by its description; where that says nothing it passes for an adapter."""
    start = NET_DUMP.index('"spine-1", Mellanox')
    cut = NET_DUMP[:start].replace(" 1/1/9 ", " 17 ")
    fabric = read_net_dump(cut.replace('"spine-1"', '"MF0;spine-1:MQM9700/U1"'), "dump")
    assert [row[3] for row in rows(fabric)] == ["both ends", "one end"]
    assert fabric.nodes.kind.values().tolist().count("switch") == 2
    unnamed = read_net_dump(cut, "dump")
    assert unnamed.nodes.kind.values().tolist().count("switch") == 1
    assert any("adapters have no block in a net_dump" in note for note in notes(unnamed))


def test_db_csv() -> None:
    fabric = read_db_csv(DB_CSV, "db")
    assert rows(fabric) == [("leaf-1:7", "n1 mlx5_0, left:1", 400.0, "both ends")]
    unknown = read_db_csv(DB_CSV.replace(",2,2048", ",2,4"), "db")
    assert unknown.links.capacity_gbps.tolist() == [40.0]
    odd = read_db_csv(DB_CSV.replace(",2,2048", ",2,8192"), "db")
    assert math.isnan(odd.links.capacity_gbps[0])
    assert any("rate of an unknown kind" in note for note in notes(odd))


@pytest.mark.parametrize("name", ["iblinkinfo", "ibdiagnet", "ibdiagnet-csv"])
@pytest.mark.parametrize("text", ["?\n", "Switch: 0x1 a:\nx\ny\nz\n", "START_LINKS\nNodeGuid1\nEND_LINKS\n"])
def test_what_is_none(name: str, text: str) -> None:
    from topo.io import fabric_of_text

    with pytest.raises(topo.FormatError) as caught:
        fabric_of_text(text, "t", format=name)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", [row.name for row in FORMATS if row.name in SAMPLES])
def test_what_infiniband_tools_print_is_infiniband(name: str) -> None:
    """Every tool of InfiniBand, and of the other formats none."""
    fabric = fabric_of_text(SAMPLES[name][0], "sample", format=name)
    assert is_infiniband(fabric) == (name.startswith("ib"))
