"""Polarization: tiers that reuse a hash leave part of a fabric's links idle; found, explained, priced."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from topo.analysis.collisions.hash_tiers import Cure, assumptions_of, hash_cures, shared_hash_causes
from topo.analysis.collisions.hash_walks import HashWalks, Walked
from topo.analysis.tiers import tier_name
from topo.fabric import Fabric, State
from topo.hashing.scheme import EcmpHash
from topo.result import Result, Row, Standing, hidden
from topo.routing.scheme import Routing
from topo.table import freeze
from topo.units import format_number

__all__ = ["Polarization", "StageUse", "polarization"]

_MISSING = 0.99
"""Below this share of the next hops that independent hashes reach, a stage counts as polarized."""


@dataclass(frozen=True, slots=True)
class StageUse:
    """One stage, the arcs from one tier of switches to another.

    Of ``available_arcs``, those on a shortest path, ``used_arcs`` carry something. A flow that comes to a fork finds
    ``next_hops`` next hops in the mean; ``reached`` of them are ever chosen for flows that came by the same arc (both
    0 where nothing forks). ``largest_share`` is the highest utilization over the highest of an even
    split, ``capacity_left`` its inverse.
    """

    stage: str
    from_tier: int
    to_tier: int
    available_arcs: int
    used_arcs: int
    next_hops: float
    reached: float
    largest_share: float
    capacity_left: float
    is_polarized: bool


@dataclass(frozen=True, eq=False)
class Polarization(Result):
    """What a hash leaves of a fabric, stage by stage, for even traffic between all groups of endpoints.

    ``capacity_left`` is the throughput of that traffic under this hash over its throughput under independent ones:
    highest utilization of an even split over the highest found, over all stages. ``arc_share`` is the share of the
    traffic that crosses each arc.
    """

    fabric: str
    hash: str
    is_polarized: bool
    capacity_left: float
    stages: tuple[StageUse, ...]
    causes: tuple[str, ...]
    cures: tuple[Cure, ...]
    n_pairs: int
    standing: Standing
    assumptions: tuple[str, ...]
    arc_share: NDArray[np.float64] = hidden()

    title: ClassVar[str] = "Polarization of hashes"

    def rows(self) -> list[Row]:
        """The verdict, stage by stage, then why, then what would help."""
        rows = [
            Row("hash", self.hash),
            Row("polarized", self.is_polarized, standing=self.standing),
            Row("capacity left", f"{format_number(100 * self.capacity_left, 4)} %"),
        ]
        rows += [_stage_row(stage) for stage in self.stages]
        rows += [Row("because", cause) for cause in self.causes]
        rows += [Row(cure.name, cure.text()) for cure in self.cures]
        return rows + [Row("assumption", text) for text in self.assumptions]


def _stage_row(stage: StageUse) -> Row:
    text = f"{stage.used_arcs:,} of {stage.available_arcs:,} links used"
    if stage.next_hops > 1:
        text += f", {format_number(stage.reached, 3)} of {format_number(stage.next_hops, 3)} next hops after each link"
    return Row(stage.stage, f"{text}, fullest {format_number(stage.largest_share, 4)} times an even split's")


def polarization(
    fabric: Fabric,
    *,
    hash: EcmpHash | str = "crc-32",
    varying: Mapping[str, int] | None = None,
    cures: bool = True,
    routing: Routing | str = "ecmp",
    state: State | None = None,
    seed: int = 0,
) -> Polarization:
    """Links that a hash leaves idle or overfills, when every group of endpoints (a leaf's) sends evenly to every other.

    Switches that share a hash make tied choices. The joint hash values of all switches fall into a few cases, exact
    by GF(2) ranks for linear hashes and powers of two, else by residues or regions, else sampled keys (see
    :func:`~topo.hashing.atoms.hash_atoms`); every pair of groups is walked in every case through the next-hop table.
    With m1 then m2 next hops and one hash, m2 / gcd(m1, m2) are reached under modulo. ``varying`` maps hashed fields
    to masks of the bits in which flows differ. Under ``wcmp`` next hops stand by weight in tables of entries, and an
    even split is one over all entries. On large fabrics a part of the pairs and cases is walked, and the
    standing says so.

    >>> import topo
    >>> found = polarization(topo.fat_tree(8), hash=EcmpHash("crc-32", seed_per="fabric"), cures=False)
    >>> found.is_polarized, round(found.stages[1].capacity_left, 9)
    (True, 0.25)
    >>> [(s.stage, s.used_arcs, s.available_arcs) for s in found.stages][:2]
    [('leaf to spine', 128, 128), ('spine to core', 32, 128)]

    :raises ParameterError: no two groups of endpoints with switches between, a routing with LAG, a field not hashed,
        more next hops than buckets.
    """
    scheme = EcmpHash.of(hash)
    walks = HashWalks(fabric, Routing.of(routing), state, varying, seed)
    walked = walks.under(scheme)
    stages, capacity_left = _stages(walks, walked)
    cured = _cured(walks, scheme) if cures else ()
    is_polarized = any(stage.is_polarized for stage in stages)
    return Polarization(
        fabric=fabric.name,
        hash=str(scheme),
        is_polarized=is_polarized,
        capacity_left=capacity_left,
        stages=stages,
        causes=shared_hash_causes(scheme, walks.typical, varying) if is_polarized else (),
        cures=cured,
        n_pairs=walks.n_pairs,
        standing=walked.standing,
        assumptions=(
            "every group of endpoints sends evenly to every other, many flows each; fluid shares",
            "every switch hashes (InfiniBand switches forward by destination instead); hosts spread over their ports",
            *_entering(walks),
            *assumptions_of(scheme, varying),
        ),
        arc_share=freeze(walked.share),
    )


def _entering(walks: HashWalks) -> tuple[str, ...]:
    """What is said where weights end at the parts of opened hosts."""
    if not walks.enters_evenly:
        return ()
    return ("out of opened hosts traffic enters the switches it may enter at evenly; weights hold from there on",)


def _cured(walks: HashWalks, scheme: EcmpHash) -> tuple[Cure, ...]:
    cured = []
    for name, other in hash_cures(scheme, max(walks.typical), len(walks.typical)):
        stages, capacity_left = _stages(walks, walks.under(other))
        reached = [stage.reached / stage.next_hops for stage in stages if stage.next_hops > 1]
        cured.append(Cure(name, str(other), min(reached, default=1.0), capacity_left))
    return tuple(cured)


def _stages(walks: HashWalks, walked: Walked) -> tuple[tuple[StageUse, ...], float]:
    """Every stage, upward ones first, and the capacity left over all."""
    fabric, arcs, capacity = walks.fabric, walks.available, walks.capacity_gbps
    tier = fabric.nodes.tier.astype(np.int64)
    tail, head = tier[fabric.arc_source], tier[fabric.arc_target]
    stages, highest = [], []
    for low, high in sorted(set(zip(tail[arcs].tolist(), head[arcs].tolist(), strict=True)), key=_upward):
        mine = arcs[(tail[arcs] == low) & (head[arcs] == high)]
        on_stage = (tail == low) & (head == high)
        next_hops, reached = walked.choices.means(on_stage)
        _, expected = walked.by_chance.means(on_stage)
        even, found = (float((part[mine] / capacity[mine]).max()) for part in (walked.even, walked.share))
        highest.append((even, found))
        stages.append(
            StageUse(
                stage=f"{tier_name(low)} to {tier_name(high)}",
                from_tier=low,
                to_tier=high,
                available_arcs=len(mine),
                used_arcs=int((walked.share[mine] > 0).sum()),
                next_hops=next_hops,
                reached=reached,
                largest_share=found / even,
                capacity_left=even / found if found > 0 else 1.0,
                is_polarized=reached < _MISSING * expected,
            )
        )
    return tuple(stages), max(even for even, _ in highest) / max(found for _, found in highest)


def _upward(stage: tuple[int, int]) -> tuple[bool, int, int]:
    low, high = stage
    return (high < low, low if high >= low else -low, high)
