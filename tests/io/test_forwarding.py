"""Readers of forwarding tables and addresses: every format, every line accounted for."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from topo.errors import FormatError, InputError, TopoError
from topo.io.forwarding import parse_forwarding, parse_port_addresses, read_forwarding, read_port_addresses

IBROUTE = """Unicast lids [0x0-0x5] of switch Lid 3 guid 0x00000000000000a1 (leaf one):
  Lid  Out   Destination
       Port     Info
0x0001 001 : (Channel Adapter portguid 0x00000000000000b1: 'n1 mlx5_0')
0x0002 002 : (Channel Adapter portguid 0x00000000000000b2: 'n2 mlx5_0')
0x0003 000 : (Switch portguid 0x00000000000000a1: 'leaf one')
3 valid lids dumped
Unicast lids [0x0-0x5] of switch DR path slid 0; dlid 0; 0,1,19 guid 0x00000000000000a2 (MF0;sw-1:QM8700/U1):
  Lid  Out   Destination
       Port     Info
0x0001 031 : (Channel Adapter portguid 0x00000000000000b1: 'Switch 0x7')
0x0002 032 : (Channel Adapter portguid 0x00000000000000b2: 'n2 mlx5_0')
2 valid lids dumped
"""
OPENSM = """Unicast lids [0x0-0x3] of switch Lid 3 guid 0x00000000000000a1 ('leaf one'):
0x0001 001 # Channel Adapter portguid 0x00000000000000b1: 'n1 mlx5_0'
0x0002 002 # Channel Adapter portguid 0x01600000000000000b2: 'n2 mlx5_0'
0x0003 000 # unknown node and type
3 lids dumped
Unicast lids [0x0-0x3] of switch Lid 4 guid 0x00000000000000a2 ('sw-1'):
0x0001 031 # Channel Adapter portguid 0x00000000000000b1: 'n1 mlx5_0'
0x0002 032
"""
FDBS = """# ibdiagnet
osm_ucast_mgr_dump_ucast_routes: Switch 0x00000000000000a1
LID    : Port : Hops : Optimal
0x0001 : 001  : 00   : yes
0x0002 : 002  : 00   : yes
0x0003 : 000  : 00   : yes
0x0004 : UNREACHABLE

osm_ucast_mgr_dump_ucast_routes: Switch 0x00000000000000a2
PLFT_NUM: 0
LID    : Port : Hops : Optimal
0x0001 : 031  : 00   : yes
0x0002 : 032  : 00   : no

PLFT_NUM: 1
LID    : Port : Hops : Optimal
0x0001 : 007  : 00   : yes
"""


@pytest.mark.parametrize(("text", "unreachable"), [(IBROUTE, 0), (OPENSM, 0), (FDBS, 1)])
def test_formats_say_the_same(text: str, unreachable: int) -> None:
    dump = parse_forwarding(text, "f")
    assert dump.uid == ("00000000000000a1", "00000000000000a2")
    assert dump.switch.tolist() == [0, 0, 0, 1, 1] and dump.lid.tolist() == [1, 2, 3, 1, 2]
    assert dump.port.tolist() == [1, 2, 0, 31, 32] and dump.n_unreachable == unreachable
    if text is not FDBS:
        assert dump.name == ("leaf one", "MF0;sw-1:QM8700/U1") or dump.name == ("leaf one", "sw-1")
        assert dump.target_uid[1] == "00000000000000b1" and dump.target_uid[2] == "00000000000000b2"
        assert dump.target_name[1] == "n1 mlx5_0"
        assert dump.notes == ()


def test_further_planes_are_named_not_dropped_in_silence() -> None:
    notes = [str(note) for note in parse_forwarding(FDBS, "f").notes]
    assert notes == [
        "f:15: table of a further plane left out, plane 0 is read: 'PLFT_NUM: 1'",
        "f: 1 entries say that a LID is unreachable",
    ]


def test_carriage_returns_and_decimal_addresses() -> None:
    assert parse_forwarding(IBROUTE.replace("\n", "\r\n")).port.tolist() == [1, 2, 0, 31, 32]
    dump = parse_forwarding("Unicast lids [0-9] of switch guid 0xa1:\n17 004\n0x12 5\n")
    assert dump.lid.tolist() == [17, 18] and dump.port.tolist() == [4, 5]


def test_every_line_not_understood_is_located() -> None:
    text = (
        "Loading IBNETDISCOVER...\n"
        "Unicast lids [0x0-0x5] of switch Lid 3 guid 0xa1 (x):\n"
        "0x0001 001 : (Channel Adapter portguid 0x00000000000000b1: 'n1')\n"
        "ibwarn: [1] mad_rpc failed\n"
        "0x0001 002\n"
        "0x0000 003\n"
        "0x0002 256\n"
        "0x0003 255\n"
        "0x0004 xyz\n"
        "Unicast lids [0x0-0x5] of switch Lid 3 guid 0xa1 (x):\n"
        "0x0009 001\n"
        "Unicast lids [0x0-0x5] of switch Lid 3 guid 0xzz (x):\n"
        "0x0009 001\n"
        "Unicast lids [0x0-0x5] of switch Lid 3 guid 0xa3 (x):\n"
    )
    dump = parse_forwarding(text, "f")
    assert dump.lid.tolist() == [1] and dump.port.tolist() == [1] and dump.uid[0].endswith("a1")
    assert [str(note) for note in dump.notes] == [
        "f:1: line before the first table: 'Loading IBNETDISCOVER...'",
        "f:4: line not understood: 'ibwarn: [1] mad_rpc failed'",
        "f:9: line not understood: '0x0004 xyz'",
        "f:2: LID outside 1..65535 or port above 255: switch 0x00000000000000a1: 2 of them, first LID 0 port 3",
        "f:2: LID listed twice, its first port holds: switch 0x00000000000000a1: 1 of them, first LID 1",
        "f:10: switch listed twice, its first table holds: 0x00000000000000a1",
        "f:12: GUID not understood; its table is left out: '0xzz'",
        "f:14: table without an entry: 0x00000000000000a3".replace(": 0x", ": switch 0x"),
        "f: 1 entries say that a LID is unreachable",
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("hello\n", "f:1: no forwarding table in it: the first line reads 'hello'"),
        ("Unicast lids [0x0-0x5] of switch Lid 3 guid 0xa1 (x):\n", "f:1: 1 switch.* not one entry"),
    ],
)
def test_no_tables(text: str, said: str) -> None:
    with pytest.raises(FormatError, match=said):
        parse_forwarding(text, "f")


def test_files(tmp_path: Path) -> None:
    (tmp_path / "lfts").write_text(IBROUTE)
    assert read_forwarding(tmp_path / "lfts").source == str(tmp_path / "lfts")
    with pytest.raises(InputError, match="no such file"):
        read_forwarding(tmp_path / "none")
    with pytest.raises(InputError, match="no such file"):
        read_port_addresses(tmp_path / "none")


DB_CSV = """# ibdiagnet
START_NODES
NodeDesc,NumPorts,NodeType
"n1 mlx5_0",1,1
END_NODES
START_PORTS
NodeGuid,PortGuid,PortNum,MKey,LID,MsmLID
0x00000000000000b1,0x00000000000000b1,1,0x0,1,3
0x00000000000000b2,0x00000000000000b2,1,0x0,0x2,3
0x00000000000000a1,0x00000000000000a1,0,0x0,3,3
0x00000000000000a1,0x00000000000000a1,1,0x0,0,3

0x00000000000000a9,broken
END_PORTS
"""


def test_addresses() -> None:
    found = parse_port_addresses(DB_CSV, "d")
    assert found.lid.tolist() == [1, 2, 3] and found.port.tolist() == [1, 1, 0]
    assert found.uid == ("00000000000000b1", "00000000000000b2", "00000000000000a1")
    assert [str(note) for note in found.notes] == ["d:13: line not understood: '0x00000000000000a9,broken'"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("START_NODES\n", "no section START_PORTS"),
        ("x\nSTART_PORTS\nNodeGuid,PortNum\nEND_PORTS\n", "d:3: section PORTS has columns 'nodeguid, portnum'"),
    ],
)
def test_addresses_refused(text: str, said: str) -> None:
    with pytest.raises(FormatError, match=said):
        parse_port_addresses(text, "d")


def test_addresses_cut_short() -> None:
    notes = parse_port_addresses(DB_CSV.replace("END_PORTS\n", ""), "d").notes
    assert "d:6: section PORTS does not end; the file may be cut short" in [str(note) for note in notes]


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_mutated_files_never_crash(data: st.DataObject) -> None:
    base = data.draw(st.sampled_from([IBROUTE, OPENSM, FDBS, DB_CSV]))
    at = data.draw(st.integers(0, len(base)))
    cut = data.draw(st.integers(0, 40))
    put = data.draw(
        st.one_of(st.text(max_size=12), st.sampled_from(["0x", "\x00", "guid", "Switch 0x1", "99999999", '"']))
    )
    text = base[:at] + put + base[at + cut :]
    for parse in (parse_forwarding, parse_port_addresses):
        try:
            parse(text, "f")
        except TopoError as error:
            assert str(error).startswith("f")
