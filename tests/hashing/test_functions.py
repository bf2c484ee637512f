"""Hash functions against published check values, the standard library, and their algebra."""

from __future__ import annotations

import binascii
import ipaddress
import zlib

import numpy as np
import pytest

from topo.errors import ParameterError
from topo.hashing import HASH_FUNCTIONS, hash_function
from topo.hashing.linear import CRCS, crc_map, toeplitz_map
from topo.hashing.mixing import lookup3, one_at_a_time, siphash, siphash64

LINEAR = [name for name in HASH_FUNCTIONS if hash_function(name).is_linear]
MIXING = [name for name in HASH_FUNCTIONS if not hash_function(name).is_linear]


def row(data: bytes) -> np.ndarray:
    return np.frombuffer(data, np.uint8).reshape(1, -1)


def random_keys(n: int, length: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (n, length), np.uint8)


@pytest.mark.parametrize(
    ("name", "check"),
    [
        ("crc-32", 0xCBF43926),
        ("crc-32c", 0xE3069283),
        ("crc-16/ccitt-false", 0x29B1),
        ("crc-16/xmodem", 0x31C3),
        ("crc-16/arc", 0xBB3D),
        ("crc-16/kermit", 0x2189),
        ("crc-16/dnp", 0xEA82),
        ("crc-16/modbus", 0x4B37),
        ("crc-32/bzip2", 0xFC891918),
        ("crc-32/mpeg-2", 0x0376E6E7),
        ("crc-32d", 0x87315576),
        ("crc-32q", 0x3010BF7F),
    ],
)
def test_crc_check_values(name: str, check: int) -> None:
    assert CRCS[name].check == check
    assert int(hash_function(name)(row(b"123456789"))[0]) == check


@pytest.mark.parametrize("length", [1, 2, 12, 13, 17])
def test_crcs_equal_the_standard_library(length: int) -> None:
    keys = random_keys(200, length)
    ours = crc_map("crc-32", length)(keys)
    assert ours.tolist() == [zlib.crc32(key.tobytes()) for key in keys]
    ours = crc_map("crc-16/xmodem", length)(keys)
    assert ours.tolist() == [binascii.crc_hqx(key.tobytes(), 0) for key in keys]
    # A seed is the initial value, so a register of 0xFFFF from 0 is the other CRC of that polynomial.
    seeded = crc_map("crc-16/xmodem", length)(keys, 0xFFFF)
    assert seeded.tolist() == crc_map("crc-16/ccitt-false", length)(keys).tolist()


@pytest.mark.parametrize(
    ("source", "source_port", "sink", "sink_port", "by_address", "by_port"),
    [
        ("66.9.149.187", 2794, "161.142.100.80", 1766, 0x323E8FC2, 0x51CCC178),
        ("199.92.111.2", 14230, "65.69.140.83", 4739, 0xD718262A, 0xC626B0EA),
    ],
)
def test_toeplitz_vectors(
    source: str, source_port: int, sink: str, sink_port: int, by_address: int, by_port: int
) -> None:
    addresses = ipaddress.ip_address(source).packed + ipaddress.ip_address(sink).packed
    whole = addresses + source_port.to_bytes(2, "big") + sink_port.to_bytes(2, "big")
    assert int(toeplitz_map(8)(row(addresses))[0]) == by_address
    assert int(hash_function("toeplitz")(row(whole))[0]) == by_port


def test_jenkins_and_siphash_vectors() -> None:
    text = row(b"Four score and seven years ago")
    assert [int(lookup3(text, seed)[0]) for seed in (0, 1)] == [0x17770551, 0xCD628161]
    nothing = np.empty((1, 0), np.uint8)
    assert [int(lookup3(nothing, seed)[0]) for seed in (0, 0xDEADBEEF)] == [0xDEADBEEF, 0xBD5B7DDE]
    assert int(one_at_a_time(row(b"a"))[0]) == 0xCA2E9442
    assert int(one_at_a_time(row(b"The quick brown fox jumps over the lazy dog"))[0]) == 0x519E91F5
    secret = (0x0706050403020100, 0x0F0E0D0C0B0A0908)
    assert int(siphash64(nothing, *secret)[0]) == 0x726FDB47DD0E0E31
    assert int(siphash64(row(bytes(range(15))), *secret)[0]) == 0xA129CA6149BE45E5
    repeated = 0x1234567812345678
    key = random_keys(5, 13)
    assert siphash(key, 0x12345678).tolist() == (siphash64(key, repeated, repeated) & 0xFFFFFFFF).tolist()


@pytest.mark.parametrize("width", [8, 16, 32])
def test_xor_folds_by_words(width: int) -> None:
    keys = random_keys(50, 13)
    size = width // 8
    for key, value in zip(keys, hash_function(f"xor-{width}")(keys).tolist(), strict=True):
        padded = key.tobytes() + bytes(-13 % size)
        folded = 0
        for i in range(0, len(padded), size):
            folded ^= int.from_bytes(padded[i : i + size], "big")
        assert value == folded


@pytest.mark.parametrize("name", LINEAR)
def test_another_seed_of_a_linear_hash_is_one_constant(name: str) -> None:
    keys = random_keys(500, 12)
    function = hash_function(name)
    moved = function(keys, 0xDEADBEEF) ^ function(keys, 1)
    assert len(set(moved.tolist())) == 1
    assert moved[0] != 0
    table = function.linear_map(12)
    assert moved[0] == table.seed_part(0xDEADBEEF) ^ table.seed_part(1)
    # Linear: the hash of an exclusive or is the exclusive or of three hashes.
    a, b, c = keys[:100], keys[100:200], keys[200:300]
    assert (function(a ^ b ^ c) == function(a) ^ function(b) ^ function(c)).all()


@pytest.mark.parametrize("name", MIXING)
def test_another_seed_of_a_mixing_hash_is_another_hash(name: str) -> None:
    keys = random_keys(4096, 13)
    function = hash_function(name)
    moved = function(keys, 2) ^ function(keys, 1)
    assert len(set(moved.tolist())) > 4000
    both = np.bincount((function(keys, 1) & 7) * 8 + (function(keys, 2) & 7), minlength=64)
    assert both.min() > 20  # 64 expected each, deviation 8
    seeds = np.arange(4096, dtype=np.uint32)
    one_by_one = [int(function(keys[i : i + 1], i)[0]) for i in range(10)]
    assert function(keys, seeds)[:10].tolist() == one_by_one


@pytest.mark.parametrize("name", ["crc-32", "toeplitz", "jenkins-lookup3", "siphash-2-4"])
def test_halves(name: str) -> None:
    keys = random_keys(100, 13)
    whole, low, high = (hash_function(name + half)(keys, 5) for half in ("", ":low", ":high"))
    assert ((high << np.uint32(16)) | low == whole).all()
    assert hash_function(name + ":low").width == 16


def test_stand_ins_say_so() -> None:
    assert str(hash_function("vendor-linear")) == "vendor-linear (stand-in: crc-32c)"
    keys = random_keys(10, 13)
    assert hash_function("vendor-mixing")(keys, 3).tolist() == lookup3(keys, 3).tolist()
    assert not hash_function("crc-32c").is_stand_in


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: hash_function("md5"), "unknown hash function 'md5'"),
        (lambda: hash_function("crc-32:middle"), "unknown hash function"),
        (lambda: hash_function("crc-16/arc:low"), "has 16 bits"),
        (lambda: hash_function("jenkins-lookup3").linear_map(13), "not linear"),
        (lambda: crc_map("crc-32", 4)(random_keys(1, 5)), "rows of 4 bytes"),
        (lambda: toeplitz_map(37), "at most 36, not 37"),
    ],
)
def test_refused(call: object, words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        call()  # type: ignore[operator]
