"""Hash schemes: selection, seeds and offsets of switches, choices for a walk, joint cases of shared hashes."""

from __future__ import annotations

import pickle
import zlib
from fractions import Fraction

import numpy as np
import pytest

import topo
from topo.errors import ParameterError
from topo.hashing import SELECTIONS, BucketTable, EcmpHash, FlowKeys, HashChooser, hash_function, select, select_without
from topo.hashing.atoms import SharedHashes, hash_atoms
from topo.hashing.selection import rotate

ALL16 = np.arange(1 << 16, dtype=np.uint32)


@pytest.mark.parametrize("n", [1, 2, 3, 6, 8, 63])
def test_selection_over_all_hashes(n: int) -> None:
    for h in (0, 1, 4095, 65535, 40000):
        one = np.array([h], np.uint32)
        assert select(one, n, width=16)[0] == h % n
        assert select(one, n, width=16, selection="range")[0] == h * n // 65536
        assert select(one, n, width=16, selection="resilient", buckets=100)[0] == h % 100 % n
    for selection in SELECTIONS:
        load = np.bincount(select(ALL16, n, width=16, selection=selection, buckets=64 * n), minlength=n)
        assert load.max() - load.min() <= (1 if selection != "resilient" else 64)
    many = select(ALL16, 1 + ALL16 % 5, width=16, selection="range")
    assert (many == ALL16.astype(np.int64) * (1 + ALL16.astype(np.int64) % 5) // 65536).all()


def test_range_on_32_bits_does_not_overflow() -> None:
    top = np.array([0xFFFFFFFF], np.uint32)
    assert select(top, 1000, width=32, selection="range")[0] == 999


@pytest.mark.parametrize(("offset", "width"), [(0, 16), (5, 16), (16, 16), (7, 32), (31, 32), (3, 8)])
def test_rotation(offset: int, width: int) -> None:
    values = np.random.default_rng(0).integers(0, 1 << width, 100, dtype=np.uint32)
    for value, turned in zip(values.tolist(), rotate(values, offset, width).tolist(), strict=True):
        text = format(value, f"0{width}b")
        by = offset % width
        assert format(turned, f"0{width}b") == text[width - by :] + text[: width - by]


def test_bucket_table_moves_only_the_dead() -> None:
    table = BucketTable(64, 6)
    once = table.without(2)
    assert ((once.member != table.member) == (table.member == 2)).all()
    assert not (once.member == 2).any()
    twice = once.without(5)
    assert ((twice.member != once.member) == (once.member == 5)).all()
    load = np.bincount(twice.member, minlength=6)
    assert load[[2, 5]].tolist() == [0, 0]
    assert load[[0, 1, 3, 4]].max() - load[[0, 1, 3, 4]].min() <= 2
    assert (select_without(ALL16, 6, 2, width=16, selection="resilient") == once.member[ALL16 % 64]).all()


def test_scheme_says_what_it_is() -> None:
    assert str(EcmpHash()) == "vendor-mixing (stand-in: jenkins-lookup3) over the 5-tuple, modulo, a seed per switch"
    given = EcmpHash(
        "crc-32:low", "ports", "resilient", seed_per="tier", offset=(0, 4, 8), offset_per="tier", buckets=128
    )
    assert str(given) == (
        "crc-32:low over the ports, resilient in 128 buckets, a seed per tier, offsets 0, 4, 8 by tier"
    )
    assert str(EcmpHash("xor-16", ("source_ip", "source_port"), offset=3)).endswith(
        "over source_ip + source_port, modulo, a seed per switch, 3 bits offset"
    )
    assert EcmpHash.of("crc-32") == EcmpHash("crc-32") == EcmpHash(["crc-32"])
    assert EcmpHash.of(given) is given
    assert pickle.loads(pickle.dumps(given)) == given
    assert len({given, given.with_(), given.with_(seed=1)}) == 2


def test_settings_of_switches() -> None:
    f = topo.fat_tree(4)
    leaf, core = f.rows("pod-*-leaf-*"), f.rows("core-*")
    at = EcmpHash(("crc-32", "crc-32c"), seed=5).at_switches(f)
    assert len(set(at.seed.tolist())) == len(f.nodes)
    assert at.function[leaf].tolist() == [0] * len(leaf)
    assert at.function[core].tolist() == [1] * len(core)
    tiers = EcmpHash("crc-32", seed=[7, 8, 9], seed_per="tier", offset=4, offset_per="tier").at_switches(f)
    assert set(tiers.seed[leaf].tolist()) == {7}
    assert set(tiers.seed[core].tolist()) == {9}
    assert set(tiers.offset[core].tolist()) == {8}
    drawn = EcmpHash("crc-32", seed_per="tier").at_switches(f)
    assert len(set(drawn.seed[f.switches].tolist())) == 3
    one = EcmpHash("crc-32", seed=42, seed_per="fabric").at_switches(f)
    assert set(one.seed.tolist()) == {42}
    turned = EcmpHash("crc-16/arc", offset_per="switch").at_switches(f)
    assert turned.offset.min() >= 0 and turned.offset.max() < 16 and len(set(turned.offset.tolist())) > 4
    assert (EcmpHash(seed=1).at_switches(f).seed != EcmpHash(seed=2).at_switches(f).seed).all()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"function": "crc"}, "unknown hash function"),
        ({"function": ()}, "no hash function"),
        ({"fields": "everything"}, "unknown set of fields"),
        ({"selection": "best"}, "unknown selection 'best'"),
        ({"seed_per": "rack"}, "seed_per is 'rack'"),
        ({"seed": -1}, "seed is -1"),
        ({"seed": [1, 2]}, "seed_per='tier'"),
        ({"seed": 1.5}, "seed is 1.5"),
        ({"offset": None, "offset_per": "tier"}, "offset is None"),
        ({"offset": True}, "offset is True"),
        ({"offset": 32}, "offset is 32"),
        ({"buckets": 0}, "buckets is 0"),
    ],
)
def test_refused_schemes(change: dict[str, object], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        EcmpHash().with_(**change)


def three_ports(n: int = 3) -> FlowKeys:
    return FlowKeys.of(source_ip=0x0A000001, destination_ip=0x0A000003, source_port=49152 + np.arange(n))


def test_chooser_equals_crc32_of_the_standard_library() -> None:
    f = topo.leaf_spine(leaves=2, spines=4, hosts_per_leaf=2)
    keys = three_ports(50)
    leaf = int(f.rows("leaf-1")[0])
    choose = HashChooser(EcmpHash("crc-32", seed_per="fabric"), f, keys)
    flows = np.arange(50)[::-1]
    found = choose(flows, np.full(50, leaf), np.full(50, 5), 1)
    raw = keys.bytes()
    assert found.tolist() == [zlib.crc32(raw[i].tobytes()) % 5 for i in flows]


@pytest.mark.parametrize("function", ["crc-32c", "toeplitz", "xor-8", "jenkins-lookup3", "siphash-2-4"])
def test_chooser_is_the_function_seeded_and_turned(function: str) -> None:
    f = topo.fat_tree(4)
    scheme = EcmpHash((function, "crc-16/dnp"), "5-tuple+qpn", "range", seed=3, offset=2, offset_per="tier")
    keys = three_ports(8)
    nodes = np.concatenate([f.rows("pod-1-leaf-*"), f.rows("core-*"), f.rows("pod-1-spine-*")])
    flows = np.arange(len(nodes))
    n = 2 + flows % 3
    found = HashChooser(scheme, f, keys)(flows, nodes, n, 1)
    at = scheme.at_switches(f)
    for flow, node, count, chosen in zip(flows, nodes, n, found, strict=True):
        tier = int(f.nodes.tier[node])
        one = hash_function(function if tier == 1 else "crc-16/dnp")
        value = one(keys.bytes(scheme.fields)[flow : flow + 1], at.seed[node])
        value = rotate(value, 2 * (tier - 1), one.width)
        assert chosen == int(value[0]) * int(count) >> one.width


@pytest.mark.parametrize("function", ["crc-32", "jenkins-lookup3"])
def test_ingress_port_in_the_key(function: str) -> None:
    f = topo.leaf_spine(leaves=2, spines=4, hosts_per_leaf=2)
    fields = ("source_ip", "ingress_port", "source_port")
    keys = three_ports(2)
    choose = HashChooser(EcmpHash(function, fields, seed_per="fabric", seed=9), f, keys)
    leaf = int(f.rows("leaf-1")[0])
    into = np.flatnonzero(f.arc_target == leaf)[:2]
    found = choose.hashes(np.arange(2), np.full(2, leaf), into)
    raw = keys.bytes(fields)
    ports = np.where(into % 2 == 0, f.links.port_b[into // 2], f.links.port_a[into // 2])
    first = int(np.flatnonzero(f.ports.node == leaf)[0])
    raw[:, 5] = ports - first + 1  # the leaf's ports lie in a row of the table
    assert found.tolist() == hash_function(function)(raw, 9).tolist()
    with pytest.raises(ParameterError, match="ingress port"):
        choose(np.arange(2), np.full(2, leaf), np.full(2, 4), 1)


def shared_by(scheme: EcmpHash, tiers: int = 2) -> SharedHashes:
    at = [scheme.at_tier(tier) for tier in range(1, tiers + 1)]
    number = np.minimum(np.arange(tiers), len(scheme.functions) - 1)
    return SharedHashes.of(scheme, number, np.array([a[1] for a in at], np.uint32), np.array([a[2] for a in at]))


def joint(scheme: EcmpHash, widths: tuple[int, int], varying: dict[str, int]) -> np.ndarray:
    shared = shared_by(scheme)
    atoms = hash_atoms(shared, [np.array([m]) for m in widths], varying=varying)
    assert atoms.standing.kind == "exact"
    every = np.arange(len(atoms.weights))
    first, second = (
        shared.choose(atoms, np.full_like(every, t), every, np.full_like(every, widths[t])) for t in (0, 1)
    )
    return np.bincount(first * widths[1] + second, weights=atoms.weights, minlength=widths[0] * widths[1])


def enumerated(scheme: EcmpHash, widths: tuple[int, int], ports: np.ndarray) -> np.ndarray:
    keys = FlowKeys.of(source_ip=0, destination_ip=0, source_port=ports, destination_port=0, protocol=0)
    chosen = []
    for tier, m in zip((1, 2), widths, strict=True):
        function, seed, offset = scheme.at_tier(tier)
        value = rotate(function(keys.bytes(scheme.fields), seed), offset, function.width)
        chosen.append(select(value, m, width=function.width, selection=scheme.selection, buckets=scheme.buckets))
    return np.bincount(chosen[0] * widths[1] + chosen[1], minlength=widths[0] * widths[1]) / len(ports)


SCHEMES = [
    EcmpHash("crc-32", seed_per="fabric"),
    EcmpHash("crc-32", seed_per="tier"),
    EcmpHash("crc-32", seed_per="tier", selection="range", offset=2, offset_per="tier"),
    EcmpHash(("crc-32", "crc-32c"), seed_per="tier"),
    EcmpHash(("crc-32:high", "crc-32"), selection="range", seed_per="fabric"),
    EcmpHash("toeplitz", "ports", seed_per="tier", offset=3),
    EcmpHash(("crc-16/arc", "xor-16"), selection="resilient", seed_per="tier"),
    EcmpHash("jenkins-lookup3", seed_per="fabric"),
    EcmpHash(("jenkins-lookup3", "crc-32"), seed_per="tier"),
]


@pytest.mark.parametrize("scheme", SCHEMES, ids=str)
@pytest.mark.parametrize("bits", [3, 4, 8, 14])
@pytest.mark.parametrize("widths", [(8, 8), (4, 16), (6, 4)])
def test_joint_choices_equal_all_source_ports_enumerated(scheme: EcmpHash, bits: int, widths: tuple[int, int]) -> None:
    mask = (1 << bits) - 1
    found = joint(scheme, widths, {"source_port": mask})
    assert found == pytest.approx(enumerated(scheme, widths, np.arange(1 << bits)), abs=1e-12)


@pytest.mark.parametrize("selection", SELECTIONS)
@pytest.mark.parametrize("widths", [(8, 6), (6, 6), (5, 7), (12, 8)])
def test_uniform_hashes_by_regions_equal_all_values(selection: str, widths: tuple[int, int]) -> None:
    """One 16-bit hash at both tiers: every value of it, against the atoms; exact fractions of 2^16."""
    scheme = EcmpHash("crc-16/xmodem", selection=selection, seed_per="fabric", seed=77, offset=5, buckets=40)
    shared = shared_by(scheme)
    atoms = hash_atoms(shared, [np.array([m]) for m in widths])
    assert atoms.standing.kind == "exact"
    every = np.arange(len(atoms.weights))
    first, second = (
        shared.choose(atoms, np.full_like(every, t), every, np.full_like(every, widths[t])) for t in (0, 1)
    )
    found = np.bincount(first * widths[1] + second, weights=atoms.weights, minlength=widths[0] * widths[1])
    one, two = (select(ALL16, m, width=16, selection=selection, buckets=40) for m in widths)
    count = np.bincount(one * widths[1] + two, minlength=widths[0] * widths[1])
    assert [Fraction(p).limit_denominator(1 << 16) for p in found] == [Fraction(int(c), 1 << 16) for c in count]


def test_mixing_hashes_with_their_own_seeds_are_independent() -> None:
    shared = shared_by(EcmpHash("siphash-2-4", seed_per="tier"))
    assert shared.is_independent
    assert not shared_by(EcmpHash("crc-32", seed_per="tier")).is_independent
    assert not shared_by(EcmpHash("siphash-2-4", seed_per="fabric")).is_independent


def test_masks_are_checked() -> None:
    shared = shared_by(EcmpHash("crc-32", "addresses"))
    for varying, words in [({"source_port": 1}, "not among the hashed"), ({"source_ip": 1 << 32}, "has 32 bits")]:
        with pytest.raises(ParameterError, match=words):
            hash_atoms(shared, [np.array([2])] * 2, varying=varying)


def spread(function: str, by: int, n: int = 1024, m: int = 16) -> float:
    """Largest over mean load of m links by a shift over consecutive addresses with one source port."""
    i = np.arange(n)
    keys = FlowKeys.of(source_ip=0x0A000000 + i, destination_ip=0x0A000000 + (i + by) % n, source_port=49152)
    chosen = select(hash_function(function)(keys.bytes()), m, width=hash_function(function).width)
    return float(np.bincount(chosen, minlength=m).max() * m / n)


def test_structured_traffic_is_not_uniform() -> None:
    assert spread("crc-32", 512) == 1.0
    assert spread("xor-16", 512) == 16.0
    assert spread("crc-32", 17) < 1.05
    assert spread("crc-16/arc", 17) > 1.8


def test_consecutive_queue_pairs_through_a_hash() -> None:
    """Queue pairs 17 + i, 18 + i: as good as uniform through a CRC, half the links idle through a fold."""
    from topo.hashing import roce_flow_label, roce_source_port

    i = np.arange(64)
    port = roce_source_port(roce_flow_label(17 + i, 18 + i))
    keys = FlowKeys.of(source_ip=0x0A000001, destination_ip=0x0A000002, source_port=port)
    used = {f: len(set(select(hash_function(f)(keys.bytes()), 8, width=16).tolist())) for f in ("crc-32", "xor-16")}
    assert used == {"crc-32": 8, "xor-16": 4}
