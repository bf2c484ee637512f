"""The hash functions by name: CRCs, Toeplitz, XOR folds, Jenkins, SipHash, and stand-ins where a vendor's is secret."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from topo.errors import ParameterError
from topo.hashing.linear import CRCS, LinearMap, crc_map, toeplitz_map, xor_map
from topo.hashing.mixing import lookup3, one_at_a_time, siphash

__all__ = ["HASH_FUNCTIONS", "HashFunction", "hash_function"]

_MIXING = {"jenkins-one-at-a-time": one_at_a_time, "jenkins-lookup3": lookup3, "siphash-2-4": siphash}
_XOR_WIDTHS = {"xor-8": 8, "xor-16": 16, "xor-32": 32}
_STAND_INS = {"vendor-linear": "crc-32c", "vendor-mixing": "jenkins-lookup3"}
_HALVES = {"": 0, "low": 0, "high": 16}

HASH_FUNCTIONS = (*CRCS, "toeplitz", *_XOR_WIDTHS, *_MIXING, *_STAND_INS)
"""Names of the functions; a 32-bit one followed by ``:low`` or ``:high`` is that 16-bit half of it."""


@dataclass(frozen=True, slots=True)
class HashFunction:
    """One function: its ``width`` in bits, whether it is linear, and for a stand-in what it really computes.

    ``low`` is the lowest bit taken from the whole hash (16 for ``:high``). Two functions of the same ``base`` are
    views of one hash: what one of them has fixed, the other finds fixed.
    """

    name: str
    base: str
    width: int
    low: int
    is_linear: bool
    is_stand_in: bool

    def linear_map(self, key_length: int) -> LinearMap:
        """The function as tables.

        :raises ParameterError: it is not linear.
        """
        if not self.is_linear:
            raise ParameterError(f"{self.name} is not linear; it has no table")
        whole = _linear(self.base, key_length)
        return whole if self.width == whole.width else whole.slice(self.low, self.width)

    def __call__(self, keys: NDArray[np.uint8], seed: ArrayLike = 0) -> NDArray[np.uint32]:
        """Hash of every row of ``keys`` (n, length) uint8; ``seed`` is one 32-bit number or one a row.

        >>> key = np.frombuffer(b"123456789", np.uint8)[None, :]
        >>> hex(hash_function("crc-32:high")(key)[0])
        '0xcbf4'
        """
        if self.is_linear:
            return self.linear_map(keys.shape[1])(keys, seed)
        with np.errstate(over="ignore"):
            whole = _MIXING[self.base](keys, seed)
        return (whole >> np.uint32(self.low)) & np.uint32(0xFFFFFFFF >> (32 - self.width))

    def __str__(self) -> str:
        return f"{self.name} (stand-in: {self.base})" if self.is_stand_in else self.name


def hash_function(name: str) -> HashFunction:
    """The function of that name.

    ``vendor-linear`` and ``vendor-mixing`` stand for a switch vendor's function, which is secret, under the two
    readings of its seed: an initial value of a linear hash, or one that makes another hash.

    >>> hash_function("crc-32c").width, hash_function("jenkins-lookup3").is_linear
    (32, False)

    :raises ParameterError: an unknown name.
    """
    stem, _, half = name.partition(":")
    if stem not in HASH_FUNCTIONS or half not in _HALVES:
        raise ParameterError(
            f"unknown hash function {name!r}; known: {', '.join(HASH_FUNCTIONS)}, 32-bit ones also with :low or :high"
        )
    base = _STAND_INS.get(stem, stem)
    linear = base not in _MIXING
    width = _linear(base, 0).width if linear else 32
    if half and width != 32:
        raise ParameterError(f"{stem} has {width} bits; only 32-bit functions have a :low and a :high half")
    return HashFunction(name, base, 16 if half else width, _HALVES[half], linear, stem in _STAND_INS)


def _linear(base: str, key_length: int) -> LinearMap:
    if base in CRCS:
        return crc_map(base, key_length)
    if base == "toeplitz":
        return toeplitz_map(key_length)
    return xor_map(_XOR_WIDTHS[base], key_length)
