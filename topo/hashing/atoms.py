"""What the hashes of several switches can be together: a few weighted cases that stand for all keys.

Switches that share a hash see the same value, so their choices are tied. An *identity* is a hash that switches share,
whatever constant a seed adds and by how much each rotates it. An *atom* is one joint case of the values of all
identities, with its probability; all keys of an atom take the same next hops.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from topo.errors import ParameterError
from topo.hashing.functions import hash_function
from topo.hashing.keys import FIELDS
from topo.hashing.scheme import EcmpHash
from topo.hashing.selection import rotate, select
from topo.result import Standing

__all__ = ["HashAtoms", "SharedHashes", "hash_atoms", "varying_bits"]

_MOST_ATOMS = 1 << 14
_ENUMERATED_BITS = 14
_FREE_FIELDS = ("source_ip", "destination_ip", "source_port", "destination_qpn")


@dataclass(frozen=True, eq=False)
class SharedHashes:
    """Which hash each of some switches uses: its identity, the bits taken, the constant of its seed, its rotation."""

    hash: EcmpHash
    identity: NDArray[np.int64]
    names: tuple[tuple[str, int | None], ...]
    low: NDArray[np.int64]
    width: NDArray[np.int64]
    constant: NDArray[np.uint32]
    offset: NDArray[np.int64]

    @classmethod
    def of(
        cls, hash: EcmpHash, function: NDArray[np.int64], seed: NDArray[np.uint32], offset: NDArray[np.int64]
    ) -> SharedHashes:
        """From the function (its number in the scheme), seed and offset of each switch."""
        functions, length = hash.functions, hash.key_length
        constant = np.zeros(len(function), np.uint32)
        secret = seed.astype(np.int64)
        for number, one in enumerate(functions):
            if one.is_linear:
                mine = function == number
                constant[mine] = one.linear_map(length).seed_part(seed[mine])
                secret[mine] = -1  # a linear hash is the same hash whatever its seed
        bases = list(dict.fromkeys(one.base for one in functions))
        base = np.array([bases.index(one.base) for one in functions])[function]
        pairs, identity = np.unique(np.stack([base, secret], axis=1), axis=0, return_inverse=True)
        names = tuple((bases[b], None if s < 0 else int(s)) for b, s in pairs.tolist())
        low, width = (np.array([getattr(one, part) for one in functions])[function] for part in ("low", "width"))
        return cls(hash, identity.ravel(), names, low, width, constant, offset)

    @property
    def views(self) -> NDArray[np.int64]:
        """Number of the way each switch looks at a hash, its seed's constant apart: equal where choices are tied."""
        return _numbered(self.identity, self.low, self.width, self.offset)

    @property
    def is_independent(self) -> bool:
        """Whether no two switches share a hash."""
        return len(self.names) == len(self.identity)

    def choose(
        self, atoms: HashAtoms, switch: NDArray[np.int64], atom: NDArray[np.int64], n: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Next hop that the keys of each atom take at each switch (numbers into this value) with n next hops."""
        whole = atoms.values[self.identity[switch], atom]
        chosen = np.empty(len(switch), np.int64)
        for width in np.unique(self.width):
            mine = np.flatnonzero(self.width[switch] == width)
            at = switch[mine]
            mask = np.uint32(0xFFFFFFFF >> (32 - int(width)))
            value = ((whole[mine] >> self.low[at].astype(np.uint32)) & mask) ^ self.constant[at]
            value = rotate(value, self.offset[at], int(width))
            chosen[mine] = select(
                value, n[mine], width=int(width), selection=self.hash.selection, buckets=self.hash.buckets
            )
        return chosen


@dataclass(frozen=True, eq=False)
class HashAtoms:
    """Joint cases: ``values[i, a]`` is the value of identity i in atom a, unseeded and unrotated; weights sum to 1.

    ``is_product`` says that switches whose :attr:`SharedHashes.views` differ choose independently of each other.
    """

    values: NDArray[np.uint32]
    weights: NDArray[np.float64]
    standing: Standing
    is_product: bool


def varying_bits(hash: EcmpHash, varying: Mapping[str, int] | None) -> NDArray[np.int64]:
    """Positions in the key, from its front, of the bits that differ between flows.

    ``varying`` maps fields to masks of their bits; by default all bits of addresses, source port and queue pair.

    :raises ParameterError: a field that is not hashed, or a mask wider than its field.
    """
    if varying is None:
        varying = {name: (1 << 8 * FIELDS[name]) - 1 for name in hash.fields if name in _FREE_FIELDS}
    positions: list[int] = []
    start = 0
    for name in hash.fields:
        bits = 8 * FIELDS[name]
        mask = varying.get(name, 0)
        if not 0 <= mask < 1 << bits:
            raise ParameterError(f"the mask of {name} is {mask:#x}; the field has {bits} bits")
        positions += [start + i for i in range(bits) if mask >> (bits - 1 - i) & 1]
        start += bits
    strange = [name for name in varying if name not in hash.fields]
    if strange:
        raise ParameterError(f"{strange[0]!r} is not among the hashed fields: {', '.join(hash.fields)}")
    return np.array(positions, np.int64)


def hash_atoms(
    shared: SharedHashes,
    n_next_hops: Sequence[NDArray[np.int64]],
    *,
    varying: Mapping[str, int] | None = None,
    samples: int = 4096,
    seed: int = 0,
) -> HashAtoms:
    """The joint cases of the hashes of switches that fork into the given numbers of next hops.

    Linear hashes and powers of two: the selected bits are GF(2)-linear forms of the varying key bits, so the cases
    are the span of a few vectors, equally likely: exact. Else, where every hash is seen in one way only and the keys
    leave it uniform: residues modulo the least common multiple of the numbers of next hops (modulo), the common
    refinement of the regions (range), buckets (resilient): exact, or a model where a mixing hash is taken as uniform.
    Else every key if at most 2^14 differ, or ``samples`` random keys drawn from ``seed``.

    :raises ParameterError: as :func:`varying_bits`; more next hops than buckets are refused where they are chosen from.
    """
    bits = varying_bits(shared.hash, varying)
    kinds = _views(shared, n_next_hops)
    atoms = _by_rank(shared, kinds, bits)
    if atoms is None:
        atoms = _by_regions(shared, kinds, bits)
    return atoms or _by_keys(shared, bits, samples, seed)


def _numbered(*columns: NDArray[np.integer]) -> NDArray[np.int64]:
    """The number of each row among the distinct ones."""
    table = np.stack([column.astype(np.int64) for column in columns], axis=1)
    return np.unique(table, axis=0, return_inverse=True)[1].ravel()


@dataclass(frozen=True)
class _View:
    identity: int
    low: int
    width: int
    constant: int
    offset: int
    counts: tuple[int, ...]


def _views(shared: SharedHashes, n_next_hops: Sequence[NDArray[np.int64]]) -> list[_View]:
    """Distinct ways in which identities are looked at, with every number of next hops chosen from."""
    number = _numbered(shared.identity, shared.low, shared.width, shared.offset, shared.constant)
    first = np.unique(number, return_index=True)[1]
    counts: list[set[int]] = [set() for _ in first]
    for view, numbers in zip(number.tolist(), n_next_hops, strict=True):
        counts[view].update(numbers.tolist())
    return [
        _View(
            int(shared.identity[at]),
            int(shared.low[at]),
            int(shared.width[at]),
            int(shared.constant[at]),
            int(shared.offset[at]),
            tuple(sorted(count - {0, 1})),
        )
        for at, count in zip(first.tolist(), counts, strict=True)
    ]


def _by_rank(shared: SharedHashes, views: list[_View], bits: NDArray[np.int64]) -> HashAtoms | None:
    hash = shared.hash
    if any(secret is not None for _, secret in shared.names):
        return None
    masks = [0] * len(shared.names)
    freedom: dict[tuple[int, int, int, int], int] = {}
    for view in views:
        if any(n & (n - 1) or (hash.selection == "resilient" and hash.buckets % n) for n in view.counts):
            return None
        wanted = max(view.counts, default=1).bit_length() - 1
        way = (view.identity, view.low, view.width, view.offset)
        freedom[way] = max(freedom.get(way, 0), wanted)
        first = view.width - wanted if hash.selection == "range" else 0
        for position in range(first, first + wanted):
            masks[view.identity] |= 1 << (view.low + (position + view.offset) % view.width)
    columns, start = _stacked(shared, masks, bits)
    basis = _basis(columns)
    if 1 << len(basis) > _MOST_ATOMS:
        return None
    cases = [start]
    for vector in basis:
        cases += [case ^ vector for case in cases]
    values = [[case >> (32 * i) & 0xFFFFFFFF for case in cases] for i in range(len(shared.names))]
    how = f"{1 << len(basis)} joint hash values, by rank over {len(bits)} key bits that vary"
    weights = np.full(len(cases), 1 / len(cases))
    return HashAtoms(np.array(values, np.uint32), weights, Standing("exact", how), len(basis) == sum(freedom.values()))


def _stacked(shared: SharedHashes, masks: Sequence[int], bits: NDArray[np.int64]) -> tuple[list[int], int]:
    """What each varying key bit adds to the masked hashes of all identities side by side, 32 bits each; and to none."""
    columns, start = [0] * len(bits), 0
    for i, (base, _) in enumerate(shared.names):
        table = hash_function(base).linear_map(shared.hash.key_length)
        for j, part in enumerate(table.bit_columns()[bits].tolist()):
            columns[j] |= (part & masks[i]) << (32 * i)
        start |= (table.constant & masks[i]) << (32 * i)
    return columns, start


def _basis(vectors: Sequence[int]) -> list[int]:
    """A basis over GF(2) of the span of bit vectors."""
    by_top: dict[int, int] = {}
    for vector in vectors:
        while vector:
            top = vector.bit_length()
            if top not in by_top:
                by_top[top] = vector
                break
            vector ^= by_top[top]
    return list(by_top.values())


def _by_regions(shared: SharedHashes, views: list[_View], bits: NDArray[np.int64]) -> HashAtoms | None:
    if len(views) != len(shared.names):
        return None  # constants or rotations tie several views of one hash
    is_mixed = any(secret is not None for _, secret in shared.names)
    if is_mixed and len(bits) <= _ENUMERATED_BITS:
        return None  # so few keys leave no hash uniform; they can all be hashed
    linear = [view for view in views if shared.names[view.identity][1] is None]
    masks = [0] * len(shared.names)
    for view in linear:
        masks[view.identity] = ((1 << view.width) - 1) << view.low
    only_linear = [i for i, (_, secret) in enumerate(shared.names) if secret is None]
    if linear:
        part = SharedHashes(shared.hash, shared.identity, tuple(shared.names[i] for i in only_linear),
                            shared.low, shared.width, shared.constant, shared.offset)  # fmt: skip
        columns, _ = _stacked(part, [masks[i] for i in only_linear], bits)
        if len(_basis(columns)) < sum(view.width for view in linear):
            return None  # the keys differ in too few bits to leave the hashes uniform
    if any(_n_regions(shared.hash, view) > _MOST_ATOMS for view in views):
        return None
    regions = [_regions(shared.hash, view) for view in sorted(views, key=lambda view: view.identity)]
    if math.prod(len(values) for values, _ in regions) > _MOST_ATOMS:
        return None
    grid = np.meshgrid(*(np.arange(len(values)) for values, _ in regions), indexing="ij")
    values = np.stack([part[at.ravel()] for (part, _), at in zip(regions, grid, strict=True)])
    weights = np.prod([part[at.ravel()] for (_, part), at in zip(regions, grid, strict=True)], axis=0)
    how = f"{len(weights)} joint cases of uniform hashes"
    return HashAtoms(values, weights, Standing("model" if is_mixed else "exact", how), True)


def _n_regions(hash: EcmpHash, view: _View) -> int:
    """Most cases of one view."""
    if hash.selection == "range":
        return 1 + sum(view.counts)
    return min(hash.buckets if hash.selection == "resilient" else math.lcm(1, *view.counts), 1 << view.width)


def _regions(hash: EcmpHash, view: _View) -> tuple[NDArray[np.uint32], NDArray[np.float64]]:
    """A hash value for each case of one view, as its identity has it, and the share of hashes in that case."""
    whole = 1 << view.width
    if hash.selection == "range":
        edges = {0} | {-(-i * whole // n) for n in view.counts for i in range(1, n)}
        first = np.array(sorted(edges), np.int64)
        share = np.diff(np.append(first, whole)) / whole
    else:
        period = hash.buckets if hash.selection == "resilient" else math.lcm(1, *view.counts)
        first = np.arange(min(period, whole), dtype=np.int64)
        share = ((whole - 1 - first) // period + 1) / whole
    seen = rotate(first.astype(np.uint32), view.width - view.offset, view.width) ^ np.uint32(view.constant)
    return seen << np.uint32(view.low), share


def _by_keys(shared: SharedHashes, bits: NDArray[np.int64], samples: int, seed: int) -> HashAtoms:
    length = shared.hash.key_length
    is_free = np.zeros(8 * length, np.uint8)
    is_free[bits] = 1
    if len(bits) <= _ENUMERATED_BITS:
        number = np.arange(1 << len(bits))
        key_bits = np.zeros((len(number), 8 * length), np.uint8)
        key_bits[:, bits] = number[:, None] >> np.arange(len(bits)) & 1
        keys = np.packbits(key_bits, axis=1)
        standing = Standing("exact", f"all {len(number):,} keys hashed")
    else:
        keys = np.random.default_rng(seed).integers(0, 256, (samples, length), np.uint8) & np.packbits(is_free)
        standing = Standing("sampled", f"n={samples:,} random keys, seed {seed}")
    values = np.stack([hash_function(base)(keys, secret or 0) for base, secret in shared.names])
    return HashAtoms(values, np.full(len(keys), 1 / len(keys)), standing, False)
