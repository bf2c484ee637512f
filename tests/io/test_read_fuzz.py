"""Fuzz of the reader: random bytes, and good text cut, shuffled, doubled and mutated: a Fabric or a TopoError."""

from __future__ import annotations

import random

from hypothesis import given, settings
from hypothesis import strategies as st

import topo
from topo.fabric import Fabric
from topo.io import FORMATS
from topo.io.ibnetdiscover import read_ibnetdiscover
from topo.io.text import decode

GOOD = """\
=~=~=~= PuTTY log =~=~=~=
ibwarn: [1] mad_rpc: failed; Connection timed out
# Initiated from node 00000000000000b1 port 00000000000000b1
Chassis 1 (guid 0x1)
switchguid=0xa1(a1)
Switch\t41 "S-00000000000000a1"\t\t# "MF0;big:MCS8500/L01/U1" enhanced port 0 lid 1 lmc 0
[1]\t"H-00000000000000b1"[1](b1) \t\t# "n1 mlx5_0" lid 2 4xHDR
[2]\t"H-00000000000000b2"[1](b2) \t\t# "n1 mlx5_1" lid 3 4xHDR
[3]\t"H-00000000000000b3"[1](b3) \t\t# "n2 mlx5_0" lid 4 4xGDR
[36]\t"S-00000000000000a2"[1]\t\t# "MF0;big:MCS8500/S01/U1" lid 3 4xHDR
[39]\t"S-00000000000000a1"[40]\t\t# "MF0;big:MCS8500/L01/U1" lid 3 4xFDR10
[41]\t"H-00000000000000c1"[1](c1) \t\t# "Mellanox Technologies Aggregation Node" lid 9 4xHDR
Non-Chassis Nodes
switchguid=0xa2(a2)
Switch\t36 "S-00000000000000a2"\t\t# "MF0;big:MCS8500/S01/U1" enhanced port 0 lid 3 lmc 0
[1]\t"S-00000000000000a1"[36]\t\t# "MF0;big:MCS8500/L01/U1" lid 1 1xHDR
caguid=0xb1
Ca\t2 "H-00000000000000b1"\t\t# "n1 mlx5_0"
[1](b1) \t"S-00000000000000a1"[1]\t\t# lid 2 lmc 0 "MF0;big:MCS8500/L01/U1" lid 1 4xHDR
Ca\t2 "H-00000000000000b2"\t\t# "n1 mlx5_1"
[1](b2) \t"S-00000000000000a1"[2]\t\t# lid 2 lmc 0 "MF0;big:MCS8500/L01/U1" lid 1
Rt 1 "R-d1" # "router"
SW  1719 10 0x00000000000000a3 4x EDR - CA   134  1 0x00000000000000b4 ( 'leaf' - 'n3 HCA-1' )
SW  1719 11 0x00000000000000a3 4x ???                                    'leaf'
Hca\t2 "Hca1"
[1]\t"Switch1"[1]\tw=12
"""


def outcome(text: str) -> Fabric | topo.TopoError:
    """What reading gives; anything but a Fabric or a TopoError fails the test by itself."""
    try:
        fabric = read_ibnetdiscover(text, "fuzz")
    except topo.TopoError as error:
        assert "\n" not in str(error)
        return error
    assert len(fabric.nodes)
    assert len(fabric.digest) == 64
    return fabric


def test_the_seed_is_good() -> None:
    fabric = outcome(GOOD)
    assert isinstance(fabric, Fabric)
    assert len(fabric.links) == 8


@settings(max_examples=150, deadline=None)
@given(st.binary(max_size=400))
def test_random_bytes(data: bytes) -> None:
    text = decode(data)
    outcome(text)
    for row in (row for row in FORMATS if row.sniff and not row.takes_bytes):
        row.function(row.sniff)(text)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.sampled_from(GOOD.splitlines()), max_size=40))
def test_lines_dropped_doubled_and_shuffled(lines: list[str]) -> None:
    outcome("\n".join(lines))


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(st.integers(0, len(GOOD)), st.integers(0, 30), st.text(max_size=6)), max_size=12))
def test_pieces_replaced(edits: list[tuple[int, int, str]]) -> None:
    text = GOOD
    for start, length, piece in edits:
        text = text[:start] + piece + text[start + length :]
    outcome(text)


@settings(max_examples=100, deadline=None)
@given(st.integers(0, len(GOOD)), st.integers(0, len(GOOD)))
def test_cut_anywhere(start: int, end: int) -> None:
    outcome(GOOD[start:end])


@settings(max_examples=100, deadline=None)
@given(st.randoms(use_true_random=False), st.sampled_from("0123456789[]()\"' \tSHxX#-\r\n\0é"))
def test_characters_sprinkled(source: random.Random, letter: str) -> None:
    letters = list(GOOD)
    for _ in range(source.randrange(1, 60)):
        letters[source.randrange(len(letters))] = letter
    outcome("".join(letters))


def test_order_of_records_keeps_nodes_and_links() -> None:
    """Records in another order give the same nodes and the same cables."""
    records = [
        f'Switch 8 "S-{i}" # "s{i}"\n'
        + "".join(f'[{j}] "S-{j}"[{i}] # "s{j}" lid 1 4xHDR\n' for j in range(1, 6) if j != i)
        for i in range(1, 6)
    ]
    plain = outcome("".join(records))
    turned = outcome("".join(reversed(records)))
    assert isinstance(plain, Fabric)
    assert isinstance(turned, Fabric)

    def cables(fabric: Fabric) -> set[frozenset[str]]:
        links = topo.LinkSet.of(fabric, range(len(fabric.links)))
        return {frozenset({f"{link.a}.{link.a_port}", f"{link.b}.{link.b_port}"}) for link in links}

    assert set(plain.nodes.name.tolist()) == set(turned.nodes.name.tolist())
    assert cables(plain) == cables(turned)
    assert len(plain.links) == len(turned.links) == 10
