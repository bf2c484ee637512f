"""Tiers that hash one after another: which next hops a flow can still reach after what it chose below."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from topo.analysis.tiers import tier_name
from topo.errors import ParameterError
from topo.hashing.atoms import SharedHashes, hash_atoms
from topo.hashing.scheme import EcmpHash
from topo.result import Result, Row, Standing, hidden
from topo.units import format_number

__all__ = ["Cure", "HashedTier", "TierPolarization", "hash_cures", "shared_hash_causes", "tier_polarization"]

_MOST_CELLS = 1 << 20
_POLYNOMIALS = ("crc-32", "crc-32c", "crc-32q", "crc-32d")
_UNIFORM = Standing("model", "a mixing hash with a seed of its own is taken as uniform and independent")


@dataclass(frozen=True, slots=True)
class HashedTier:
    """One tier: of ``next_hops`` links, how many are reached given every choice below (least, mean, most).

    ``largest_share`` is the load of the fullest link over the load of an even split, ``capacity_left`` its inverse:
    the share of the tier's capacity that is still of use.
    """

    tier: int
    tier_name: str
    next_hops: int
    used_min: int
    used_mean: float
    used_max: int
    largest_share: float
    capacity_left: float


@dataclass(frozen=True, slots=True)
class Cure:
    """One change of the hash, as ``hash`` says it in full, and what it gives: links reached and capacity left."""

    name: str
    hash: str
    used_share: float
    capacity_left: float

    def text(self) -> str:
        """For people."""
        return (
            f"{format_number(100 * self.used_share, 3)} % of next hops reached, "
            f"{format_number(100 * self.capacity_left, 3)} % of capacity left"
        )


@dataclass(frozen=True, eq=False)
class TierPolarization(Result):
    """Next hops in reach, tier by tier, when tiers hash the same keys one after another.

    ``used_by_choice[t]`` holds, for each combination of choices below tier t + 1 that occurs, how many of its next
    hops are reached. ``capacity_left`` is that of the worst tier.
    """

    hash: str
    next_hops: tuple[int, ...]
    tiers: tuple[HashedTier, ...]
    is_polarized: bool
    capacity_left: float
    causes: tuple[str, ...]
    cures: tuple[Cure, ...]
    standing: Standing
    assumptions: tuple[str, ...]
    used_by_choice: tuple[NDArray[np.int64], ...] = hidden()

    title: ClassVar[str] = "Polarization, tiers in a row"

    def rows(self) -> list[Row]:
        """Tier by tier, then why, then what would help."""
        rows = [Row("hash", self.hash, standing=self.standing)]
        for tier in self.tiers:
            used = str(tier.used_min) if tier.used_min == tier.used_max else f"{tier.used_min} to {tier.used_max}"
            text = f"{used} of {tier.next_hops}, fullest link {format_number(tier.largest_share, 4)} times the mean"
            rows.append(Row(f"{tier.tier_name}, next hops in reach of a flow's path", text))
        rows += [
            Row("polarized", self.is_polarized),
            Row("capacity left", f"{format_number(100 * self.capacity_left, 4)} %"),
        ]
        rows += [Row("because", cause) for cause in self.causes]
        rows += [Row(cure.name, cure.text()) for cure in self.cures]
        return rows + [Row("assumption", text) for text in self.assumptions]


def tier_polarization(
    next_hops: Sequence[int],
    *,
    hash: EcmpHash | str = "crc-32",
    varying: Mapping[str, int] | None = None,
    cures: bool = True,
    seed: int = 0,
) -> TierPolarization:
    """Links in reach at each tier for flows that are hashed at one switch of every tier, from the leaves up.

    ``next_hops[t]`` is the number of next hops at tier t + 1; ``varying`` maps hashed fields to masks of the bits in
    which flows differ (all bits of addresses, source port and queue pair by default). Where two tiers use the same
    hash, m1 then m2 next hops, a flow finds m2 / gcd(m1, m2) under modulo, and under range the regions of m2 that
    overlap its region of m1. Under powers of two and linear hashes, selected bits are GF(2)-linear forms of the key,
    and 2^(rank(T1; T2) - rank(T1)) next hops are found: exact whatever the seeds, offsets and polynomials, and few
    varying bits show too. Else sampled; see :func:`~topo.hashing.atoms.hash_atoms`.

    >>> same = EcmpHash("crc-32", seed_per="fabric")
    >>> [tier_polarization((8, m), hash=same, cures=False).tiers[1].used_max for m in (8, 6, 7, 16)]
    [1, 3, 7, 2]
    >>> tier_polarization((8, 8), hash=same.with_(seed_per="tier"), cures=False).capacity_left
    0.125

    :raises ParameterError: no tier, a number of next hops below 1 or beyond the buckets, a field not hashed.
    """
    scheme, widths = EcmpHash.of(hash), _widths(next_hops)
    tiers, used, standing = _reach(scheme, widths, varying, seed)
    found: list[Cure] = []
    if cures:
        for name, other in hash_cures(scheme, max(widths), len(widths)):
            theirs, _, _ = _reach(other, widths, varying, seed)
            share = min(tier.used_mean / tier.next_hops for tier in theirs)
            found.append(Cure(name, str(other), share, min(tier.capacity_left for tier in theirs)))
    is_polarized = any(tier.used_min < tier.next_hops for tier in tiers)
    return TierPolarization(
        hash=str(scheme),
        next_hops=widths,
        tiers=tiers,
        is_polarized=is_polarized,
        capacity_left=min(tier.capacity_left for tier in tiers),
        causes=shared_hash_causes(scheme, widths, varying) if is_polarized else (),
        cures=tuple(found),
        standing=standing,
        assumptions=assumptions_of(scheme, varying),
        used_by_choice=used,
    )


def assumptions_of(hash: EcmpHash, varying: Mapping[str, int] | None) -> tuple[str, ...]:
    """What a statement about a hash rests on, in sentences."""
    fields = ", ".join(varying) if varying is not None else "addresses, source port and queue pair where hashed"
    texts = [f"keys are uniform over the bits that vary: {fields}"]
    if hash.is_stand_in:
        texts.append("the vendor's hash function is secret; a public one stands in for it")
    if "ingress_port" in hash.fields:
        texts.append("the ingress port is held fixed: under a linear hash it only adds a constant for each port")
    return tuple(texts)


def hash_cures(hash: EcmpHash, widest: int, tiers: int) -> Iterator[tuple[str, EcmpHash]]:
    """Changes of a hash that people make against polarization, working or not, by name."""
    bits = max(widest - 1, 1).bit_length()
    width = min(function.width for function in hash.functions)
    if bits * tiers <= width:
        yield f"{bits} bits more offset each tier", hash.with_(offset=bits, offset_per="tier")
    first = hash.functions[0]
    if first.is_linear:
        others = [name for name in _POLYNOMIALS if name != first.base]
        yield "another polynomial each tier", hash.with_(function=(first.name, *others[: max(tiers - 1, 1)]))
    seed = hash.seed if isinstance(hash.seed, int) else hash.seed[0]
    yield "another seed each tier, same function", hash.with_(seed=seed, seed_per="tier")
    yield "a seed per switch, same function", hash.with_(seed=seed, seed_per="switch")
    if any(function.is_linear for function in hash.functions):
        mixing = hash.with_(function="jenkins-lookup3", seed=seed, seed_per="switch", offset=0, offset_per="fabric")
        yield "a seed per switch, a function that mixes", mixing


def shared_hash_causes(hash: EcmpHash, next_hops: Sequence[int], varying: Mapping[str, int] | None) -> tuple[str, ...]:
    """Why tiers of these numbers of next hops are tied, in sentences."""
    texts = []
    at = [hash.at_tier(tier) for tier in range(1, len(next_hops) + 1)]
    for low, high in combinations(range(len(next_hops)), 2):
        (f, seed, offset), (g, other_seed, other_offset) = at[low], at[high]
        if f.base != g.base or (seed != other_seed and not f.is_linear):
            continue
        names = f"{tier_name(low + 1)} and {tier_name(high + 1)} switches"
        text = f"{names} use the same hash, {f}"
        if seed != other_seed:
            text += ", and another seed only adds a constant to every hash of a linear function"
        tie = _tie(hash, next_hops[low], next_hops[high], offset != other_offset, seed != other_seed)
        texts.append(f"{text}: {tie}")
    if varying is not None:
        texts.append("keys that differ in few bits may not reach every next hop")
    return tuple(texts)


def _tie(hash: EcmpHash, m: int, n: int, is_turned: bool, is_shifted: bool) -> str:
    if is_turned:
        return "one rotates it, by fewer bits than the choice below has fixed"
    if hash.selection == "range":
        return f"a path that fixed one region in {m} overlaps only some of the {n} above"
    powers = not (m & (m - 1) or n & (n - 1))
    if is_shifted and not powers:
        return f"a path that fixed the hash modulo {m} still finds only some of the {n} above"
    return f"a path that fixed the hash modulo {m} finds {n // math.gcd(m, n)} of {n} above, {n} / gcd({m}, {n})"


def _widths(next_hops: Sequence[int]) -> tuple[int, ...]:
    widths = tuple(next_hops)
    if not widths:
        raise ParameterError("no tier is given; list the next hops of each tier, from the leaves up")
    for number in widths:
        if isinstance(number, bool) or not isinstance(number, (int, np.integer)) or number < 1:
            raise ParameterError(f"next_hops lists {number!r}; a tier has a whole number of next hops, at least 1")
    cells = math.prod(int(number) for number in widths)
    if cells > _MOST_CELLS:
        raise ParameterError(f"{cells:,} combinations of choices are more than {_MOST_CELLS:,}; give fewer tiers")
    return tuple(int(number) for number in widths)


def _reach(
    hash: EcmpHash, widths: tuple[int, ...], varying: Mapping[str, int] | None, seed: int
) -> tuple[tuple[HashedTier, ...], tuple[NDArray[np.int64], ...], Standing]:
    numbers = np.arange(len(widths))
    functions = list(hash.functions)
    at = [hash.at_tier(tier) for tier in range(1, len(widths) + 1)]
    shared = SharedHashes.of(
        hash,
        np.minimum(numbers, len(functions) - 1),
        np.array([one[1] for one in at], np.uint32),
        np.array([one[2] for one in at]),
    )
    if shared.is_independent and all(secret is not None for _, secret in shared.names):
        return _independent(widths)
    # Where it comes to sampling: enough for every combination of choices, and for the fullest not to be chance.
    samples = min(max(1 << 20, 512 * math.prod(widths)), 1 << 22)
    counts = [np.array([width]) for width in widths]
    atoms = hash_atoms(shared, counts, varying=varying, samples=samples, seed=seed)
    every = np.arange(len(atoms.weights))
    below = np.zeros(len(every), np.int64)
    cells = 1
    tiers, used = [], []
    for t, width in enumerate(widths):
        chosen = shared.choose(atoms, np.full(len(every), t), every, np.full(len(every), width))
        here = below * width + chosen
        load = np.bincount(here, weights=atoms.weights, minlength=cells * width).reshape(cells, width)
        reached = (load > 0).sum(axis=1)
        reached = reached[reached > 0]
        share = float(load.max() * cells * width)
        tiers.append(
            HashedTier(
                t + 1, tier_name(t + 1), width, int(reached.min()), float(reached.mean()), int(reached.max()),
                share, 1 / share,
            )
        )  # fmt: skip
        used.append(reached)
        below, cells = here, cells * width
    return tuple(tiers), tuple(used), atoms.standing


def _independent(
    widths: tuple[int, ...],
) -> tuple[tuple[HashedTier, ...], tuple[NDArray[np.int64], ...], Standing]:
    tiers = [HashedTier(t, tier_name(t), n, n, float(n), n, 1.0, 1.0) for t, n in enumerate(widths, start=1)]
    used = [np.full(math.prod(widths[:t]), n) for t, n in enumerate(widths)]
    return tuple(tiers), tuple(used), _UNIFORM
