"""Hashes that mix: Jenkins' one-at-a-time and lookup3, and SipHash-2-4; another seed gives another hash."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["lookup3", "one_at_a_time", "siphash", "siphash64"]

Hashes = NDArray[np.uint32]
_U32 = np.uint32
_U64 = np.uint64


def one_at_a_time(keys: NDArray[np.uint8], seed: ArrayLike = 0) -> Hashes:
    """Jenkins' one-at-a-time hash of every row of ``keys``; the seed is the start value (Dr. Dobb's, 1997).

    >>> hex(one_at_a_time(np.frombuffer(b"a", np.uint8)[None, :])[0])
    '0xca2e9442'
    """
    h = _spread(seed, len(keys))
    for column in keys.T:
        h += column.astype(_U32)
        h += h << _U32(10)
        h ^= h >> _U32(6)
    h += h << _U32(3)
    h ^= h >> _U32(11)
    h += h << _U32(15)
    return h


def lookup3(keys: NDArray[np.uint8], seed: ArrayLike = 0) -> Hashes:
    """Jenkins' lookup3 (``hashlittle``) of every row of ``keys``; the seed is its ``initval`` (May 2006).

    >>> key = np.frombuffer(b"Four score and seven years ago", np.uint8)[None, :]
    >>> hex(lookup3(key)[0]), hex(lookup3(key, 1)[0])
    ('0x17770551', '0xcd628161')
    """
    length = keys.shape[1]
    a = _spread(seed, len(keys)) + _U32((0xDEADBEEF + length) & 0xFFFFFFFF)
    b, c = a.copy(), a.copy()
    if length == 0:
        return c
    words = _words(keys)
    blocks = words.shape[1] // 3
    for block in range(blocks):
        a += words[:, 3 * block]
        b += words[:, 3 * block + 1]
        c += words[:, 3 * block + 2]
        if block < blocks - 1:
            a, b, c = _mix(a, b, c)
    return _final(a, b, c)


def siphash(keys: NDArray[np.uint8], seed: ArrayLike = 0) -> Hashes:
    """Low 32 bits of SipHash-2-4, the 32-bit seed repeated over its 128-bit key as Linux does for its routes."""
    seeds = np.asarray(seed, _U32).astype(_U64)
    half = seeds | (seeds << _U64(32))
    return siphash64(keys, half, half).astype(_U32)


def siphash64(keys: NDArray[np.uint8], low: ArrayLike, high: ArrayLike) -> NDArray[np.uint64]:
    """SipHash-2-4 of every row of ``keys`` under the 128-bit secret ``high * 2^64 + low`` (Aumasson, Bernstein, 2012).

    >>> hex(siphash64(np.empty((1, 0), np.uint8), 0x0706050403020100, 0x0F0E0D0C0B0A0908)[0])
    '0x726fdb47dd0e0e31'
    """
    n, length = keys.shape
    k0, k1 = (np.broadcast_to(np.asarray(k, _U64), (n,)) for k in (low, high))
    v = [k0 ^ _U64(0x736F6D6570736575), k1 ^ _U64(0x646F72616E646F6D)]
    v += [k0 ^ _U64(0x6C7967656E657261), k1 ^ _U64(0x7465646279746573)]
    padded = np.zeros((n, length // 8 * 8 + 8), np.uint8)
    padded[:, :length] = keys
    padded[:, -1] = length & 255  # the last word ends in the length
    for word in padded.view("<u8").T:
        v[3] = v[3] ^ word
        _sip_rounds(v, 2)
        v[0] = v[0] ^ word
    v[2] = v[2] ^ _U64(255)
    _sip_rounds(v, 4)
    out: NDArray[np.uint64] = v[0] ^ v[1] ^ v[2] ^ v[3]
    return out


def _sip_rounds(v: list[NDArray[np.uint64]], rounds: int) -> None:
    for _ in range(rounds):
        v[0] = v[0] + v[1]
        v[2] = v[2] + v[3]
        v[1] = _rotate64(v[1], 13) ^ v[0]
        v[3] = _rotate64(v[3], 16) ^ v[2]
        v[0] = _rotate64(v[0], 32)
        v[2] = v[2] + v[1]
        v[0] = v[0] + v[3]
        v[1] = _rotate64(v[1], 17) ^ v[2]
        v[3] = _rotate64(v[3], 21) ^ v[0]
        v[2] = _rotate64(v[2], 32)


def _rotate64(x: NDArray[np.uint64], bits: int) -> NDArray[np.uint64]:
    return (x << _U64(bits)) | (x >> _U64(64 - bits))


def _rotate32(x: Hashes, bits: int) -> Hashes:
    return (x << _U32(bits)) | (x >> _U32(32 - bits))


def _mix(a: Hashes, b: Hashes, c: Hashes) -> tuple[Hashes, Hashes, Hashes]:
    for bits in (4, 6, 8, 16, 19, 4):
        a = (a - c) ^ _rotate32(c, bits)
        c = c + b
        a, b, c = b, c, a  # the three take turns
    return a, b, c


def _final(a: Hashes, b: Hashes, c: Hashes) -> Hashes:
    c = (c ^ b) - _rotate32(b, 14)
    a = (a ^ c) - _rotate32(c, 11)
    b = (b ^ a) - _rotate32(a, 25)
    c = (c ^ b) - _rotate32(b, 16)
    a = (a ^ c) - _rotate32(c, 4)
    b = (b ^ a) - _rotate32(a, 14)
    return (c ^ b) - _rotate32(b, 24)


def _words(keys: NDArray[np.uint8]) -> Hashes:
    """Rows as little-endian words, zeros behind up to a multiple of three words."""
    n, length = keys.shape
    padded = np.zeros((n, -(-length // 12) * 12), np.uint8)
    padded[:, :length] = keys
    return padded.view("<u4")


def _spread(seed: ArrayLike, n: int) -> Hashes:
    return np.broadcast_to(np.asarray(seed, _U32), (n,)).copy()
