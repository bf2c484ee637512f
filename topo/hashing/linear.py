"""Linear hashes as tables: CRCs, Toeplitz and XOR folds are each a few gathers and exclusive ors.

A hash is linear here when, for keys of one length, ``h(key, seed) = constant ^ seed_part(seed) ^ key_part(key)`` with
both parts linear over GF(2). Two consequences decide what a switch can do with it: another seed only adds a constant
(so with a power of two of next hops it renames them and changes nothing else), and which next hops can be reached is
a matter of ranks.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from topo.errors import ParameterError

__all__ = ["CRCS", "TOEPLITZ_KEY", "Crc", "LinearMap", "crc_map", "toeplitz_map", "xor_map"]

Hashes = NDArray[np.uint32]


@dataclass(frozen=True, slots=True)
class Crc:
    """One cyclic redundancy check, in the usual parameters; ``check`` is its value over the bytes ``123456789``.

    ``polynomial`` is written without its leading bit and unreflected, ``initial`` is the register before the first
    byte, ``reflected`` says whether bits enter and leave lowest first, ``xor_out`` is applied at the end.
    """

    width: int
    polynomial: int
    initial: int
    reflected: bool
    xor_out: int
    check: int


CRCS: dict[str, Crc] = {
    "crc-16/arc": Crc(16, 0x8005, 0, True, 0, 0xBB3D),
    "crc-16/ccitt-false": Crc(16, 0x1021, 0xFFFF, False, 0, 0x29B1),
    "crc-16/dnp": Crc(16, 0x3D65, 0, True, 0xFFFF, 0xEA82),
    "crc-16/kermit": Crc(16, 0x1021, 0, True, 0, 0x2189),
    "crc-16/modbus": Crc(16, 0x8005, 0xFFFF, True, 0, 0x4B37),
    "crc-16/xmodem": Crc(16, 0x1021, 0, False, 0, 0x31C3),
    "crc-32": Crc(32, 0x04C11DB7, 0xFFFFFFFF, True, 0xFFFFFFFF, 0xCBF43926),
    "crc-32/bzip2": Crc(32, 0x04C11DB7, 0xFFFFFFFF, False, 0xFFFFFFFF, 0xFC891918),
    "crc-32/mpeg-2": Crc(32, 0x04C11DB7, 0xFFFFFFFF, False, 0, 0x0376E6E7),
    "crc-32c": Crc(32, 0x1EDC6F41, 0xFFFFFFFF, True, 0xFFFFFFFF, 0xE3069283),
    "crc-32d": Crc(32, 0xA833982B, 0xFFFFFFFF, True, 0xFFFFFFFF, 0x87315576),
    "crc-32q": Crc(32, 0x814141AB, 0, False, 0, 0x3010BF7F),
}
"""CRCs by name. A CRC is a row of this table; nothing else is needed to add one."""

TOEPLITZ_KEY = bytes.fromhex(
    "6d5a56da255b0ec24167253d43a38fb0d0ca2bcbae7b30b477cb2da38030f20c6a42b73bbeac01fa",
)
"""The 320-bit key of the published verification suite for receive-side scaling."""


@dataclass(frozen=True, eq=False)
class LinearMap:
    """``h = constant ^ XOR_i byte_tables[i][key[i]] ^ XOR_j seed_tables[j][byte j of the seed]``, ``width`` bits.

    ``byte_tables`` is (key length, 256) uint32 and ``seed_tables`` (4, 256); the entry of byte 0 is 0 in both.
    """

    width: int
    byte_tables: Hashes
    seed_tables: Hashes
    constant: int

    @property
    def key_length(self) -> int:
        """Bytes of a key."""
        return len(self.byte_tables)

    def __call__(self, keys: NDArray[np.uint8], seed: ArrayLike = 0) -> Hashes:
        """Hash of every row of ``keys`` (n, key length); ``seed`` is one number or one a row.

        >>> check = np.frombuffer(b"123456789", np.uint8)[None, :]
        >>> hex(crc_map("crc-32", 9)(check)[0])
        '0xcbf43926'

        :raises ParameterError: keys of another length.
        """
        if keys.ndim != 2 or keys.shape[1] != self.key_length:
            raise ParameterError(f"keys have shape {keys.shape}; this hash takes rows of {self.key_length} bytes")
        out = np.full(len(keys), self.constant, np.uint32)
        for table, column in zip(self.byte_tables, keys.T, strict=True):
            out ^= table[column]
        return out ^ self.seed_part(seed)

    def seed_part(self, seed: ArrayLike) -> Hashes:
        """What a seed adds to every hash: h(key, seed) = h(key, 0) ^ seed_part(seed)."""
        seeds = np.asarray(seed, np.uint32)
        out = np.zeros(seeds.shape, np.uint32)
        for position, table in enumerate(self.seed_tables):
            out ^= table[(seeds >> np.uint32(8 * position)) & np.uint32(255)]
        return out

    def slice(self, low: int, width: int) -> LinearMap:
        """Bits ``low .. low + width - 1`` of the hash as a hash of their own."""
        shift, mask = np.uint32(low), np.uint32((1 << width) - 1)
        return LinearMap(
            width,
            (self.byte_tables >> shift) & mask,
            (self.seed_tables >> shift) & mask,
            (self.constant >> low) & int(mask),
        )

    def bit_columns(self) -> Hashes:
        """What each bit of the key adds to the hash: (8 * key length,) uint32, highest bit of the first byte first."""
        return self.byte_tables[:, 1 << np.arange(7, -1, -1)].ravel()


@lru_cache(maxsize=256)
def crc_map(name: str, key_length: int) -> LinearMap:
    """The CRC ``name`` over keys of ``key_length`` bytes; a seed is exclusive-ored into the initial value.

    :raises KeyError: no such row in :data:`CRCS`.
    """
    crc = CRCS[name]
    step = _step_table(crc)
    mask = np.uint32(0xFFFFFFFF >> (32 - crc.width))
    tables = np.empty((key_length, 256), np.uint32)
    column = step
    for position in range(key_length - 1, -1, -1):
        tables[position] = column
        column = _advance(crc, step, column)
    start = (np.arange(256, dtype=np.uint32) << (8 * np.arange(4, dtype=np.uint32))[:, None]) & mask
    initial = np.array([_reverse(crc.initial, crc.width) if crc.reflected else crc.initial], np.uint32)
    for _ in range(key_length):
        start, initial = _advance(crc, step, start), _advance(crc, step, initial)
    return LinearMap(crc.width, tables, start, int(initial[0]) ^ crc.xor_out)


@lru_cache(maxsize=64)
def toeplitz_map(key_length: int, secret: bytes = TOEPLITZ_KEY) -> LinearMap:
    """Toeplitz: each set bit i of the key adds the 32-bit window of the secret that starts at bit i.

    A seed is exclusive-ored into the result.

    :raises ParameterError: a key too long for the secret.
    """
    if key_length + 4 > len(secret):
        raise ParameterError(
            f"a Toeplitz secret of {len(secret)} bytes hashes at most {len(secret) - 4}, not {key_length}"
        )
    number, bits = int.from_bytes(secret, "big"), 8 * len(secret)
    window = [(number >> (bits - 32 - i)) & 0xFFFFFFFF for i in range(8 * key_length)]
    tables = np.zeros((key_length, 256), np.uint32)
    value = np.arange(256)
    for i, part in enumerate(window):
        tables[i // 8] ^= np.where(value >> (7 - i % 8) & 1, np.uint32(part), np.uint32(0))
    return LinearMap(32, tables, _seed_as_it_is(32), 0)


@lru_cache(maxsize=64)
def xor_map(width: int, key_length: int) -> LinearMap:
    """Exclusive or of the ``width``-bit words of the key from its front, the last padded with zeros (8, 16, 32 bits).

    A seed is exclusive-ored into the result.
    """
    shift = 8 * (width // 8 - 1 - np.arange(key_length) % (width // 8)).astype(np.uint32)
    tables = np.arange(256, dtype=np.uint32)[None, :] << shift[:, None].astype(np.uint32)
    return LinearMap(width, tables.astype(np.uint32), _seed_as_it_is(width), 0)


def _seed_as_it_is(width: int) -> Hashes:
    tables = np.arange(256, dtype=np.uint32) << (8 * np.arange(4, dtype=np.uint32))[:, None]
    return tables & np.uint32(0xFFFFFFFF >> (32 - width))


def _step_table(crc: Crc) -> Hashes:
    """The register after one byte from zero."""
    mask = (1 << crc.width) - 1
    table = []
    for byte in range(256):
        if crc.reflected:
            value, polynomial = byte, _reverse(crc.polynomial, crc.width)
            for _ in range(8):
                value = (value >> 1) ^ (polynomial if value & 1 else 0)
        else:
            value, top = byte << (crc.width - 8), 1 << (crc.width - 1)
            for _ in range(8):
                value = ((value << 1) ^ (crc.polynomial if value & top else 0)) & mask
        table.append(value)
    return np.array(table, np.uint32)


def _advance(crc: Crc, step: Hashes, register: Hashes) -> Hashes:
    """The register one zero byte later."""
    after: Hashes
    if crc.reflected:
        after = (register >> np.uint32(8)) ^ step[register & np.uint32(255)]
    else:
        mask = np.uint32(0xFFFFFFFF >> (32 - crc.width))
        after = ((register << np.uint32(8)) & mask) ^ step[register >> np.uint32(crc.width - 8)]
    return after


def _reverse(value: int, width: int) -> int:
    return int(format(value, f"0{width}b")[::-1], 2)
