"""How the switches of a fabric hash: one frozen object, and what it means at every switch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from topo.errors import ParameterError
from topo.fabric import Fabric
from topo.hashing.functions import HashFunction, hash_function
from topo.hashing.keys import FIELD_SETS, FIELDS, check_fields
from topo.hashing.mixing import lookup3
from topo.hashing.selection import check_selection
from topo.table import freeze

__all__ = ["SCOPES", "EcmpHash", "SwitchHashes"]

SCOPES = ("fabric", "tier", "switch")
_MOST_ENTRIES = 1024


@dataclass(frozen=True)
class EcmpHash:
    """How every switch hashes a flow onto its next hops.

    ``function`` is one of :data:`~topo.hashing.functions.HASH_FUNCTIONS`, or one for each tier from the leaves up (the
    last goes on). ``fields`` are header fields or the name of a set of them. ``selection`` is ``modulo``, ``range``
    or ``resilient`` (a table of ``buckets``). ``seed_per`` says who shares a seed: ``fabric`` (``seed`` everywhere),
    ``tier`` (one for each tier listed, or drawn from ``seed``) or ``switch`` (drawn from ``seed``). The hash is rotated
    right by an offset: ``offset`` everywhere; per ``tier`` as listed, or 0, ``offset``, 2 ``offset``, ... from the
    leaves up; or drawn for each ``switch``.

    Seeds of their own are what switches draw unless they are told otherwise, so that is the default. A CRC, a
    Toeplitz hash or an XOR fold takes the seed as an initial value, which only adds a constant to every hash.

    >>> print(EcmpHash("crc-32", seed_per="fabric"))
    crc-32 over the 5-tuple, modulo, one seed for all
    >>> print(EcmpHash(("crc-16/arc", "crc-32c"), selection="range", offset=4, offset_per="tier"))
    crc-16/arc then crc-32c over the 5-tuple, range, a seed per switch, 4 bits more offset each tier

    :raises ParameterError: an unknown function, field, selection or scope; a list where one number is meant.
    """

    function: str | Sequence[str] = "vendor-mixing"
    fields: str | Sequence[str] = "5-tuple"
    selection: str = "modulo"
    seed: int | Sequence[int] = 0
    seed_per: str = "switch"
    offset: int | Sequence[int] = 0
    offset_per: str = "fabric"
    buckets: int = 64

    def __post_init__(self) -> None:
        names = (self.function,) if isinstance(self.function, str) else tuple(self.function)
        if not names:
            raise ParameterError("no hash function is given")
        for name in names:
            hash_function(name)
        check_selection(self.selection)
        object.__setattr__(self, "function", names[0] if len(names) == 1 else names)
        object.__setattr__(self, "fields", check_fields(self.fields))
        object.__setattr__(self, "seed", _numbers("seed", self.seed, self.seed_per, 1 << 32))
        object.__setattr__(self, "offset", _numbers("offset", self.offset, self.offset_per, 32))
        if isinstance(self.buckets, bool) or not isinstance(self.buckets, int) or not 1 <= self.buckets <= 1 << 16:
            raise ParameterError(f"buckets is {self.buckets!r}; a table has 1 to 65536 buckets")

    @classmethod
    def of(cls, hash: EcmpHash | str) -> EcmpHash:
        """A scheme from itself or its shorthand, a function's name.

        :raises ParameterError: an unknown function.
        """
        return hash if isinstance(hash, EcmpHash) else cls(hash)

    def with_(self, **changes: object) -> EcmpHash:
        """The same with some parts changed."""
        return replace(self, **changes)  # type: ignore[arg-type]

    @property
    def functions(self) -> tuple[HashFunction, ...]:
        """The function of each tier from the leaves up; the last goes on."""
        names = (self.function,) if isinstance(self.function, str) else self.function
        return tuple(hash_function(name) for name in names)

    @property
    def key_length(self) -> int:
        """Bytes of a key."""
        return sum(FIELDS[name] for name in self.fields)

    @property
    def is_stand_in(self) -> bool:
        """Whether a function stands for a vendor's secret one."""
        return any(function.is_stand_in for function in self.functions)

    @property
    def most_entries(self) -> int:
        """Entries of a switch's table in which next hops stand by their weight."""
        return self.buckets if self.selection == "resilient" else _MOST_ENTRIES

    def __str__(self) -> str:
        functions = " then ".join(map(str, self.functions))
        known = {fields: name for name, fields in FIELD_SETS.items()}
        fields = f"the {known[self.fields]}" if self.fields in known else " + ".join(self.fields)
        selection = f"resilient in {self.buckets} buckets" if self.selection == "resilient" else self.selection
        seeds = {"fabric": "one seed for all", "tier": "a seed per tier", "switch": "a seed per switch"}
        text = f"{functions} over {fields}, {selection}, {seeds[self.seed_per]}"
        if self.offset_per == "switch":
            return f"{text}, an offset per switch"
        if isinstance(self.offset, tuple):
            return f"{text}, offsets {', '.join(map(str, self.offset))} by tier"
        if not self.offset:
            return text
        return f"{text}, {self.offset} bits {'offset' if self.offset_per == 'fabric' else 'more offset each tier'}"

    def at_tier(self, tier: int) -> tuple[HashFunction, int, int]:
        """Function, seed and offset of a lone switch of that tier (leaf 1)."""
        function, seed, offset = self._drawn(np.array([tier]), np.array([tier]))
        return self.functions[int(function[0])], int(seed[0]), int(offset[0])

    def at_switches(self, fabric: Fabric) -> SwitchHashes:
        """What every node of a fabric would use, by node row."""
        tier, row = fabric.nodes.tier.astype(np.int64), np.arange(len(fabric.nodes))
        return SwitchHashes(*(freeze(part) for part in self._drawn(tier, row)))

    def _drawn(
        self, tier: NDArray[np.int64], row: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.uint32], NDArray[np.int64]]:
        level = np.maximum(tier, 1) - 1
        function = np.minimum(level, len(self.functions) - 1)
        scope = {"fabric": np.zeros_like(level), "tier": level, "switch": row}
        if isinstance(self.seed, tuple):
            seed = np.array(self.seed, np.uint32)[np.minimum(level, len(self.seed) - 1)]
        elif self.seed_per == "fabric":
            seed = np.full(len(level), self.seed, np.uint32)
        else:
            assert isinstance(self.seed, int)
            seed = _draw(self.seed, scope[self.seed_per], "seed")
        if isinstance(self.offset, tuple):
            offset = np.array(self.offset)[np.minimum(level, len(self.offset) - 1)]
        else:
            assert isinstance(self.offset, int)
            offset = self.offset * (level if self.offset_per == "tier" else np.ones_like(level))
            if self.offset_per == "switch":
                offset = _draw(self.offset, row, "offset").astype(np.int64)
        width = np.array([f.width for f in self.functions])[function]
        return function, seed, offset % width


@dataclass(frozen=True, eq=False)
class SwitchHashes:
    """Per node row: which of the scheme's functions, with which seed, rotated right by how many bits."""

    function: NDArray[np.int64]
    seed: NDArray[np.uint32]
    offset: NDArray[np.int64]


def _draw(seed: int, numbers: NDArray[np.int64], what: str) -> NDArray[np.uint32]:
    """One 32-bit number for each, the same whatever the others are."""
    purpose = np.full(len(numbers), {"seed": 1, "offset": 2}[what])
    keys = np.stack([numbers, purpose], axis=1).astype("<i8").view(np.uint8)
    with np.errstate(over="ignore"):
        return lookup3(keys, seed)


def _numbers(name: str, value: int | Sequence[int], scope: str, limit: int) -> int | tuple[int, ...]:
    if scope not in SCOPES:
        raise ParameterError(f"{name}_per is {scope!r}; known: {', '.join(SCOPES)}")
    if isinstance(value, str) or not isinstance(value, (Sequence, np.ndarray)):
        return _number(name, value, limit)
    numbers = tuple(_number(name, number, limit) for number in value)
    if scope != "tier" or not numbers:
        raise ParameterError(f"{name} lists {len(numbers)} numbers; a list has one for each tier, so {name}_per='tier'")
    return numbers


def _number(name: str, value: object, limit: int) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or not 0 <= value < limit:
        raise ParameterError(f"{name} is {value!r}; it must be a whole number from 0 to {limit - 1}")
    return int(value)
