"""Quirks of InfiniBand dumps, one small text of our own for each."""

from __future__ import annotations

import math
import tracemalloc
from collections import Counter

import numpy as np
import pytest

import topo
from topo.fabric import Fabric
from topo.io.descriptions import clean, host_names, switch_name, switch_names
from topo.io.halves import MISSING, STATED, UNKNOWN, join_halves, usual_rate
from topo.io.ibnetdiscover import is_ibnetdiscover, read_ibnetdiscover

PAIR = """\
switchguid=0xa1(a1)
Switch\t36 "S-00000000000000a1"\t\t# "MF0;leaf-1:MQM8700/U1" enhanced port 0 lid 1 lmc 0
[1]\t"H-00000000000000b1"[1](b1) \t\t# "n1 mlx5_0" lid 2 4xHDR
[36]\t"S-00000000000000a2"[1]\t\t# "MF0;spine-1:MQM8700/U1" lid 3 4xHDR

switchguid=0xa2(a2)
Switch\t36 "S-00000000000000a2"\t\t# "MF0;spine-1:MQM8700/U1" enhanced port 0 lid 3 lmc 0
[1]\t"S-00000000000000a1"[36]\t\t# "MF0;leaf-1:MQM8700/U1" lid 1 4xHDR

caguid=0xb1
Ca\t2 "H-00000000000000b1"\t\t# "n1 mlx5_0"
[1](b1) \t"S-00000000000000a1"[1]\t\t# lid 2 lmc 0 "MF0;leaf-1:MQM8700/U1" lid 1 4xHDR
"""


def read(text: str) -> Fabric:
    return read_ibnetdiscover(text, "dump")


def notes(fabric: Fabric, word: str) -> list[tuple[int, str]]:
    return [(note.line, note.text) for note in fabric.origin.notes if word in note.text]


def kinds(fabric: Fabric) -> list[str]:
    return [str(kind) for kind in fabric.nodes.kind.values()]


def link_names(fabric: Fabric) -> set[str]:
    return {str(link) for link in topo.LinkSet.of(fabric, np.arange(len(fabric.links)))}


def test_plain_dump() -> None:
    fabric = read(PAIR)
    nodes, links = fabric.nodes, fabric.links
    assert nodes.name.tolist() == ["leaf-1", "spine-1", "n1 mlx5_0"]
    assert nodes.uid.tolist() == ["00000000000000a1", "00000000000000a2", "00000000000000b1"]
    assert kinds(fabric) == ["switch", "switch", "nic"]
    assert nodes.is_endpoint.tolist() == [False, False, True]
    assert nodes.forwards.tolist() == [2, 2, 0]
    assert nodes.part.values().tolist() == ["MQM8700", "MQM8700", ""]
    assert nodes.tier.tolist() == [1, 2, 0]
    assert (nodes.host[2], nodes.local_index[2]) == ("n1", 0)
    assert links.kind.values().tolist() == ["access", "scale_out"]
    assert links.evidence.values().tolist() == ["both ends"] * 2
    assert (links.line.tolist(), links.source.values().tolist()) == ([3, 4], ["dump", "dump"])
    assert link_names(fabric) == {"leaf-1 port 1 - n1 mlx5_0 port 1", "leaf-1 port 36 - spine-1 port 1"}
    assert len(fabric.ports) == 36 + 36 + 2
    assert set(fabric.ports.gbps.tolist()) == {200.0}  # free ports have the usual rate of their node
    assert fabric.origin.notes == ()


def test_tabs_stripped_and_terminal_text() -> None:
    """A log of a terminal: no tabs, CR LF, a banner before, a prompt in the middle."""
    text = PAIR.replace("\t\t# ", "# ").replace("\t", "").replace("\n", "\r\n")
    banner = "=~=~=~=~= PuTTY log 2024.01.02 03:04:05 =~=~=~=~=\r\n\r\r\n"
    prompt = "\rcluster-ufm [ mgmt-active ] (config) # \r\n[root@head ~]# ibnetdiscover\r\n"
    head, tail = text.split("caguid", 1)
    fabric = read(banner + head + prompt + "caguid" + tail)
    plain = read(PAIR)
    assert fabric.nodes.equals(plain.nodes)
    assert fabric.ports.equals(plain.ports)
    assert [line for line, _ in notes(fabric, "terminal session")] == [1, 12, 13]


def test_guids_are_numbers() -> None:
    """With leading zeros, without, in either case: one node."""
    text = PAIR.replace('"S-00000000000000a1"[36]', '"S-A1"[36]').replace('"H-00000000000000b1"[1]', '"H-b1"[1]')
    assert read(text).equals(read(PAIR))


def test_trouble_lines_make_a_partial_discovery() -> None:
    trouble = [
        "ibwarn: [4242] mad_rpc: _do_madrpc failed; dport (DR path slid 0; dlid 0; 0,1,3)",
        "src/query_smp.c:227; send failed; Connection timed out",
        "ibwarn: [4242] handle_port: can't reach node",
    ]
    lines = PAIR.splitlines()
    fabric = read("\n".join([*trouble[:1], *lines[:3], *trouble[1:], *lines[3:]]))
    assert fabric.nodes.equals(read(PAIR).nodes)
    assert len(fabric.links) == 2
    assert [line for line, _ in notes(fabric, "reported trouble")] == [1, 5, 6]
    assert notes(fabric, "partial discovery: 3 line(s)")


def test_one_odd_line_costs_one_note() -> None:
    lines = PAIR.splitlines()
    fabric = read("\n".join([*lines[:3], "a line nobody knows", *lines[3:]]))
    assert notes(fabric, "not understood") == [(4, "line not understood: 'a line nobody knows'")]
    assert len(fabric.links) == 2


def test_many_odd_lines_are_counted_not_listed() -> None:
    odd = "\n".join(f"odd {i}" for i in range(9))
    fabric = read(PAIR + odd)
    said = notes(fabric, "not understood")
    assert [line for line, _ in said] == [13, 14, 15, 16, 17, 0]
    assert said[-1][1] == "line not understood: 9 in all, the first 5 listed"


def test_missing_and_unknown_rates_stay_unknown() -> None:
    text = PAIR.replace("lid 2 4xHDR", "lid 2 ").replace(
        'MQM8700/U1" lid 1 4xHDR\n', 'MQM8700/U1" lid 1\n'
    )  # the access link loses both
    fabric = read(text)
    assert math.isnan(fabric.links.capacity_gbps[0])
    assert [line for line, _ in notes(fabric, "rate missing")] == [3]
    with pytest.raises(topo.InputError, match=r"dump:3: .*assume_gbps"):
        _ = topo.Network.of(fabric).capacity_gbps
    future = read(PAIR.replace("[36]\t", "[36] ").replace('spine-1:MQM8700/U1" lid 3 4xHDR', 'spine-1" lid 3 4xGDR'))
    assert math.isnan(future.links.capacity_gbps[1])
    assert [line for line, _ in notes(future, "rate of an unknown kind")] == [4]


@pytest.mark.parametrize(
    ("token", "gbps"),
    [("1xSDR", 2.5), ("4xSDR", 10), ("4xDDR", 20), ("4xQDR", 40), ("4xFDR10", 40), ("4xFDR", 56), ("4xEDR", 100),
     ("2xHDR", 100), ("4xHDR", 200), ("2xNDR", 200), ("4xNDR", 400), ("4xXDR", 800)],
)  # fmt: skip
def test_rates(token: str, gbps: float) -> None:
    assert read(PAIR.replace("4xHDR", token)).links.capacity_gbps.tolist() == [gbps, gbps]
    full = read(PAIR.replace("4xHDR", f"{token} s=4 w=2 v=5"))  # what --full adds
    assert full.links.capacity_gbps.tolist() == [gbps, gbps]


def test_the_lower_rate_holds_where_ends_differ() -> None:
    fabric = read(PAIR.replace("lid 3 4xHDR", "lid 3 1xHDR"))
    assert fabric.links.capacity_gbps.tolist() == [200, 50]
    assert notes(fabric, "different rates") == [
        (4, "the ends state different rates, the lower one holds: leaf-1 port 36 - spine-1 port 1")
    ]


def test_one_end_only() -> None:
    head = PAIR.split("caguid")[0]
    fabric = read(head)
    assert fabric.links.evidence.values().tolist() == ["one end", "both ends"]
    assert fabric.nodes.name.tolist()[-1] == "n1 mlx5_0"  # the name from the far end's line
    assert notes(fabric, "seen only from the other end")[0][0] == 3
    assert notes(fabric, "reported by one end only")[0][0] == 3
    assert len(topo.Network.of(fabric).links) == 1


AGGREGATION = """\
Switch\t41 "S-a1"\t\t# "MF0;leaf-1:MQM8700/U1" enhanced port 0 lid 1 lmc 0
[1]\t"H-b1"[1](b1) \t\t# "n1 mlx5_0" lid 2 4xHDR
[41]\t"H-c1"[1](c1) \t\t# "Mellanox Technologies Aggregation Node" lid 9 4xHDR
Switch\t41 "S-a2"\t\t# "MF0;leaf-2:MQM8700/U1" enhanced port 0 lid 4 lmc 0
Ca\t1 "H-c1"\t\t# "Mellanox Technologies Aggregation Node"
[1](c1) \t"S-a1"[41]\t\t# lid 9 lmc 0 "MF0;leaf-1:MQM8700/U1" lid 1 4xHDR
Ca\t1 "H-b1"\t\t# "n1 mlx5_0"
[1](b1) \t"S-a1"[1]\t\t# lid 2 lmc 0 "MF0;leaf-1:MQM8700/U1" lid 1 4xHDR
"""


def test_aggregation_nodes_are_no_endpoints() -> None:
    fabric = read(AGGREGATION)
    assert kinds(fabric) == ["switch", "switch", "aggregation", "nic"]
    assert fabric.nodes.name[fabric.endpoints].tolist() == ["n1 mlx5_0"]
    assert fabric.links.kind.values().tolist() == ["access", "internal"]
    ports = Counter(fabric.nodes.name[fabric.ports.node].tolist())
    assert (ports["leaf-1"], ports["leaf-2"]) == (41, 40)  # shown only where it is cabled


@pytest.mark.parametrize(("claimed", "shown"), [(36, 36), (40, 40), (41, 40), (65, 64), (129, 128), (145, 144)])
def test_last_port_of_an_aggregating_switch(claimed: int, shown: int) -> None:
    assert len(read(f'Switch {claimed} "S-1"').ports) == shown


DIRECTOR = """\
Switch\t41 "S-1"\t\t# "MF0;big:MCS8500/L16/U2" base port 0 lid 1 lmc 0
[1]\t"S-2"[1]\t\t# "MF0;big:MCS8500/S05/U1" lid 2 4xHDR
[2]\t"S-3"[1]\t\t# "MF0;other:MCS8500/S05/U1" lid 3 4xHDR
Switch\t41 "S-2"\t\t# "MF0;big:MCS8500/S05/U1" base port 0 lid 2 lmc 0
[1]\t"S-1"[1]\t\t# "MF0;big:MCS8500/L16/U2" lid 1 4xHDR
Switch\t41 "S-3"\t\t# "MF0;other:MCS8500/S05/U1" base port 0 lid 3 lmc 0
[1]\t"S-1"[2]\t\t# "MF0;big:MCS8500/L16/U2" lid 1 4xHDR
"""


def test_directors() -> None:
    fabric = read(DIRECTOR)
    assert fabric.nodes.name.tolist() == ["big/L16/U2", "big/S05/U1", "other/S05/U1"]
    assert fabric.nodes.chassis.values().tolist() == ["big", "big", "other"]
    assert fabric.links.kind.values().tolist() == ["internal", "scale_out"]
    assert fabric.nodes.tier.tolist() == [0, 0, 0]  # nothing to measure a height from
    assert notes(fabric, "no endpoint is reached from 3 switches")


def test_switch_names() -> None:
    assert switch_name("MF0;a:b:Q3400-RA/U1") == topo.io.descriptions.SwitchName("a:b", "Q3400-RA", "U1")
    assert switch_name("ISR9024 Voltaire").name == "ISR9024 Voltaire"
    assert switch_name("MF0;odd").name == "odd"
    assert switch_name("MF0;").name == "MF0;"
    two = switch_names(["MF0;q:Q3400/U1", "MF0;q:Q3400/U2", "MF0;p:Q3400/U1"])
    assert [each.name for each in two] == ["q/U1", "q/U2", "p"]
    assert [each.chassis for each in two] == ["q", "q", ""]


def test_chassis_sections_and_external_ports() -> None:
    text = """\
# Max of 3 hops discovered
Chassis 1 (guid 0x66a0002000b72)

# Spine Nodes
sysimgguid=0x66a00\t\t# Chassis 1
switchguid=0x11(11)\t# ISR9288 Spine 1 Chip 1
Switch\t24 "S-11"\t\t# "spine" base port 0 lid 1 lmc 0
[1]\t"S-12"[2]\t\t# "line" lid 2 4xDDR

# Line Nodes
Switch\t24 "S-12"\t\t# "line" base port 0 lid 2 lmc 0
[2]\t"S-11"[1]\t\t# "spine" lid 1 4xDDR
[5][ext 3]\t"H-21"[1](21) \t\t# "n1 HCA-1" lid 5 4xDDR
Non-Chassis Nodes

Switch\t24 "S-13"\t\t# "alone" base port 0 lid 3 lmc 0
[1]\t"S-12"[3][ext 1]\t\t# "line" lid 2 4xDDR
"""
    fabric = read(text)
    assert fabric.nodes.chassis.values().tolist()[:4] == ["chassis-1", "chassis-1", "", ""]
    assert fabric.links.kind.values().tolist() == ["internal", "access", "scale_out"]
    assert not notes(fabric, "not understood")


def test_routers_and_unknown_types() -> None:
    text = 'Rt 2 "R-5" # "router"\n[1](5) "S-1"[3] # lid 5 lmc 0 "s" lid 1 4xEDR\n??? 1 "X-9" # "what"\n'
    fabric = read(text)
    assert kinds(fabric) == ["router", "unknown", "switch"]
    assert fabric.nodes.forwards.tolist() == [2, 0, 2]
    assert fabric.links.kind[0] == "scale_out"
    assert notes(fabric, "1 node(s) have no record")


IBSIM = """\
# comment
Switch\t8 "Switch1"
[1]\t"Hca1"[1]\tw=12
[2]\t"Switch2"[3]

Switch 8 "Switch2"
[3]\t"Switch1"[2]

Hca\t2 "Hca1"
[1]\t"Switch1"[1]
"""


def test_ibsim_net_files() -> None:
    fabric = read(IBSIM)
    assert fabric.nodes.name.tolist() == ["Switch1", "Switch2", "Hca1"]
    assert fabric.nodes.uid.tolist() == ["", "", ""]
    assert np.isnan(fabric.links.capacity_gbps).all()  # a width alone is no rate
    assert len(notes(fabric, "states no rates")) == 1
    assert len(fabric.ports) == 8 + 8 + 2
    assert fabric.nodes.host.values(fabric.endpoints).tolist() == ["Hca1"]


PORT_LIST = """\
CA   134  1 0x00000000000000b1 4x EDR - SW  1719 10 0x00000000000000a1 ( 'o0001 HCA-1' - 'leaf-1 ' )
SW  1719 10 0x00000000000000a1 4x EDR - CA   134  1 0x00000000000000b1 ( ' leaf-1' - 'o0001 HCA-1' )
SW  1719 11 0x00000000000000a1 4x ???                                    'leaf-1'
SW  1719 12 0x00000000000000a1 4x SDR                                    leaf-1
SW   478 22 0x0002c9020040f160 4x QDR                                   'Infiniscale-IV Mellanox Technologies'
CA   135  1 0x00000000000000c1 4x EDR - SW   478 23 0x0002c9020040f160 ( 'SHARP Aggregation Node' - 'x - y' )
"""


def test_port_list() -> None:
    """One odd or unpaired line costs nothing: every other port is still read."""
    fabric = read(PORT_LIST)
    names = [
        "o0001 HCA-1",
        "leaf-1",
        "Infiniscale-IV Mellanox Technologies",
        "SHARP Aggregation Node",
    ]
    assert fabric.nodes.name.tolist() == names
    assert kinds(fabric) == ["nic", "switch", "switch", "aggregation"]
    assert fabric.links.capacity_gbps.tolist() == [100, 100]
    assert fabric.links.evidence.values().tolist() == ["both ends", "one end"]
    ports = [f"{fabric.nodes.name[p.item()]}" for p in fabric.ports.node]
    assert Counter(ports)["leaf-1"] == 3
    assert not notes(fabric, "not understood")


def test_loopback_cables_and_a_port_on_itself() -> None:
    text = 'Switch 36 "S-1" # "sw"\n[25] "S-1"[26] # "sw" lid 1 4xFDR10\n[26] "S-1"[25] # "sw" lid 1 4xFDR10\n'
    fabric = read(text + '[30] "S-1"[30] # "sw" lid 1 4xFDR10\n')
    assert link_names(fabric) == {"sw port 25 - sw port 26"}
    assert fabric.links.capacity_gbps.tolist() == [40.0]
    assert fabric.links.evidence[0] == "both ends"
    assert notes(fabric, "loopback cable")[0][0] == 2
    assert notes(fabric, "names itself")[0][0] == 4
    assert len(topo.Network.of(fabric).links) == 0


def test_a_port_with_two_far_ends_is_ambiguous() -> None:
    fabric = read(PAIR + 'caguid=0xb2\nCa 1 "H-b2" # "n2 mlx5_0"\n[1](b2) "S-a1"[1] # lid 7 lmc 0 "x" lid 1 4xHDR\n')
    assert len(fabric.links) == 3
    assert notes(fabric, "ambiguous") == [(3, "ambiguous: a port is claimed by several far ends: leaf-1 port 1")]
    assert Counter(fabric.links.port_a.tolist() + fabric.links.port_b.tolist()).most_common(1)[0][1] == 2


def test_repeated_records_change_nothing() -> None:
    fabric = read(PAIR + PAIR)
    once = read(PAIR)
    assert fabric.equals(once)
    assert len(notes(fabric, "node listed again")) == 3
    n = PAIR.count("\n")
    assert [(line, text.rpartition(", ")[2]) for line, text in notes(fabric, "link listed again")] == [
        (n + line, f"as in line {line}") for line in (3, 4, 8, 12)
    ]


def test_factory_names_never_merge_hosts() -> None:
    records = "".join(
        f'Ca 1 "H-{i:x}" # "MT4123 ConnectX6   Mellanox Technologies"\n'
        f'[1]({i:x}) "S-1"[{i}] # lid {i} lmc 0 "s" lid 1 4xHDR\n'
        for i in range(2, 32)
    )
    fabric = read('Switch 40 "S-1" # "s"\n' + records)
    nics = fabric.endpoints
    assert len(set(fabric.nodes.host.values(nics).tolist())) == 30
    assert fabric.nodes.host[nics[0]] == fabric.nodes.uid[nics[0]]
    assert set(fabric.nodes.name[nics].tolist()) == {"MT4123 ConnectX6 Mellanox Technologies"}
    assert notes(fabric, "30 adapter(s)")


def test_host_names() -> None:
    said = host_names(
        [
            "n1 mlx5_1",
            "n1 mlx5_10",
            "ubuntu mlx5_0",
            "",
            "dgx mlx5_0",
            "dgx mlx5_0",
            "dgx mlx5_0",
            "n2 ibp1s0f0",
        ],
        [f"own{i}" for i in range(8)],
    )
    assert said.host == ["n1", "n1", "own2", "own3", "own4", "own5", "own6", "n2"]
    assert said.device == ["mlx5_1", "mlx5_10", "", "", "", "", "", "ibp1s0f0"]


def test_local_index_follows_natural_order() -> None:
    devices = ["mlx5_10", "mlx5_9", "mlx5_2"]
    records = "".join(
        f'Ca 1 "H-{i + 2}" # "n1 {device} "\n[1] "S-1"[{i + 1}] # lid 1 lmc 0 "s" lid 1 4xHDR\n'
        for i, device in enumerate(devices)
    )
    fabric = read('Switch 40 "S-1" # "s"\n' + records)
    assert fabric.nodes.local_index[fabric.endpoints].tolist() == [2, 1, 0]


def test_ports_out_of_range() -> None:
    text = PAIR + 'Switch 8 "S-e" # "e"\n[0] "S-a1"[7]\n[1] "S-a1"[999999999]\n[9] "S-a1"[8] # "x" lid 1 4xHDR\n'
    fabric = read(text)
    assert [line for line, _ in notes(fabric, "outside 1..255")] == [14, 15]
    assert "00000000000e says 8 ports" in notes(fabric, "above the port count")[0][1]
    assert len(fabric.links) == 3


def test_ports_of_a_lost_record_do_not_fall_to_the_one_before() -> None:
    lines = PAIR.splitlines()
    lines[6] = "Swit"  # the header of the spine is cut
    fabric = read("\n".join(lines))
    assert notes(fabric, "without a node record")[0][0] == 8
    assert fabric.links.evidence.values().tolist() == ["both ends", "one end"]


def test_mostly_odd_is_no_dump() -> None:
    with pytest.raises(topo.FormatError, match=r"dump:1: 4 of 5 lines .*'alpha'.*ibnetdiscover"):
        read('alpha\nbeta\ngamma\ndelta\nSwitch 4 "S-1"\n')
    with pytest.raises(topo.FormatError, match="no node and no link"):
        read("# only a comment\n")


def test_recognition() -> None:
    for text in (PAIR, AGGREGATION, DIRECTOR, IBSIM, PORT_LIST, "ibwarn: x\n" * 50 + PAIR):
        assert is_ibnetdiscover(text)
    for text in (
        "",
        "[1, 2]",
        '{"a": [1]}',
        "SwitchName=s0 Nodes=n[0-3]",
        "a,b,c\n1,2,3",
        "Switch to plan B",
        "graph {}",
    ):
        assert not is_ibnetdiscover(text)


def test_join_halves_by_hand() -> None:
    columns = ([1, 2, 1, 7, 9, 1], [2, 1, 2, 8, 4, 3], [5.0, 3.0, 5.0, np.nan, np.nan, 1.0],
               [STATED, STATED, STATED, MISSING, UNKNOWN, STATED], [4, 5, 6, 1, 2, 9])  # fmt: skip
    joined = join_halves(*map(np.array, columns))
    assert list(zip(joined.a.tolist(), joined.b.tolist(), strict=True)) == [(7, 8), (9, 4), (1, 2), (1, 3)]
    np.testing.assert_array_equal(joined.gbps, [np.nan, np.nan, 3, 1])
    assert joined.evidence.tolist() == [1, 1, 0, 1]
    assert joined.line.tolist() == [1, 2, 4, 9]
    assert joined.differs.tolist() == [False, False, True, False]
    assert joined.missing.tolist() == [True, False, False, False]
    assert joined.unknown.tolist() == [False, True, False, False]
    assert joined.other_line.tolist() == [-1, -1, 5, -1]
    assert joined.again.tolist() == [[2, 6, 4]]  # link 2 by the half of line 6, as by that of line 4
    assert joined.shared.tolist() == [1]


def test_usual_rate() -> None:
    group, rate = np.array([0, 0, 0, 1, 1, 2]), np.array([1.0, 2.0, 2.0, 5.0, 7.0, np.nan])
    np.testing.assert_array_equal(usual_rate(group, rate, 4), [2, 7, np.nan, np.nan])


def test_clean() -> None:
    assert clean("\t a  b \n") == "a b"
    assert clean("a\x1b[31mb\0") == "a\ufffd[31mb\ufffd"
    assert len(clean("x" * 9999)) == 256


HOSTILE = {
    "a line of a megabyte": PAIR + "[" * 1_000_000,
    "a quoted megabyte": PAIR + 'Switch 4 "' + "a' - '" * 200_000 + '"',
    "a billion ports": 'Switch 1000000000 "S-1"\n' + PAIR,
    "digits without end": f'Switch {"9" * 5000} "S-1"\n' + PAIR,
    "names of 10 kB": PAIR.replace("n1 mlx5_0", "n" * 10_000),
    "a hundred thousand headers": "".join(f'Switch 255 "S-{i:x}"\n' for i in range(1, 100_000)),
    "one port, many far ends": PAIR
    + "".join(f'Ca 1 "H-{i:x}"\n[1] "S-a1"[1]\n' for i in range(4096, 24_096)),
    "a long chain": "".join(f'Switch 2 "S-{i:x}"\n[1] "S-{i + 1:x}"[2]\n' for i in range(1, 20_000))
    + 'Ca 1 "H-1"\n[1] "S-1"[2]\n',
    "a prompt of a megabyte": PAIR + "a " * 30_000 + "\n" + "a.c:" * 16_000,
    "one host of many adapters": 'Switch 255 "S-1"\n'
    + "".join(f'Ca 1 "H-{i:x}" # "big dev{i}"\n[1] "S-1"[{i % 255 + 1}]\n' for i in range(1, 40_000)),
}  # fmt: skip


@pytest.mark.parametrize("case", HOSTILE)
def test_hostile_input_is_bounded(case: str) -> None:
    tracemalloc.start()
    try:
        fabric = read(HOSTILE[case])
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 1_500_000_000
    assert len(fabric.nodes)
    assert max(map(len, fabric.nodes.name.tolist())) <= 256
    assert len(fabric.origin.notes) < 60


def test_hostile_names_and_counts_are_noted() -> None:
    assert notes(read(HOSTILE["names of 10 kB"]), "more than 256 characters cut")
    assert notes(read(HOSTILE["a billion ports"]), "port count above 255 ignored")[0][0] == 1
    assert notes(read(HOSTILE["a line of a megabyte"]), "line of more than 65,536 characters")[0][0] == 13
    assert notes(read(HOSTILE["a hundred thousand headers"]), "25,499,745 ports")
