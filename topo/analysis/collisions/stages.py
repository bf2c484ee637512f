"""The largest load over a stage: exact where its flows choose alike, bracketed elsewhere.

A stage is a set of arcs that no flow crosses twice. Its blocks share no flow, so they are independent; a block whose
flows all have one law over its arcs is an occupancy problem. In any other block the loads are negatively associated
(one flow's marks on a stage are 0 or 1 and add up to at most 1; Joag-Dev and Proschan 1983), so that

    max(0, 1 - sum_l P(N_l > k_l)) <= P(N_l <= k_l on all arcs l) <= prod_l P(N_l <= k_l).

Where flows may cross a class of arcs twice, only the union bound and the worst single arc remain.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from topo.analysis.collisions.arc_laws import ArcLaws
from topo.analysis.collisions.occupancy import log_p_loads_at_most, log_p_max_at_most
from topo.analysis.collisions.traversal import Traversal
from topo.analysis.tiers import place_name
from topo.table import Array

__all__ = ["Stage", "make_stages"]


@dataclass(frozen=True, eq=False)
class Stage:
    """Arcs that lead from one tier to another, ``tiers``; None for the endpoints' own links.

    ``ratio`` is capacity over flow rate of each arc, times queue pairs: in queue pairs. ``block`` numbers the arcs'
    blocks, ``flows`` counts the queue pairs of each block, ``alike`` says which are occupancy problems. ``part`` is
    the block of each flow (-1: none).
    """

    name: str
    tiers: tuple[int, int] | None
    arcs: NDArray[np.int64]
    ratio: NDArray[np.float64]
    block: NDArray[np.int64]
    flows: NDArray[np.int64]
    alike: NDArray[np.bool_]
    once: bool
    part: NDArray[np.int64]
    signature: NDArray[np.int64]
    laws: ArcLaws
    is_choice: bool

    @property
    def is_exact(self) -> bool:
        """Whether every block is an occupancy problem."""
        return bool(self.once and self.alike.all())

    @property
    def is_uniform(self) -> bool:
        """Whether every flow takes each arc of its block alike."""
        p = self.laws.p[self.laws.start[self.signature]]
        return self.is_exact and bool((np.abs(p * np.bincount(self.block)[self.block] - 1) < 1e-12).all())

    @property
    def n_blocks(self) -> int:
        """Independent blocks."""
        return len(self.flows)

    @cached_property
    def _kinds(self) -> tuple[list[tuple[int, tuple[tuple[float, float, int], ...]]], NDArray[np.int64]]:
        """Distinct occupancy problems, as (flows, ((probability, ratio, arcs), ...)), and the kind of each block."""
        p = self.laws.p[self.laws.start[self.signature]]
        kinds: dict[tuple[int, tuple[tuple[float, float, int], ...]], int] = {}
        of_block = np.full(self.n_blocks, -1, np.int64)
        columns = np.stack([self.block.astype(float), np.round(p, 14), self.ratio])
        lines, sample, count = np.unique(columns, axis=1, return_index=True, return_counts=True)
        begin = np.searchsorted(lines[0], np.arange(self.n_blocks + 1))
        for b in np.flatnonzero(self.alike).tolist():
            links = tuple(
                (float(p[sample[i]]), float(lines[2, i]), int(count[i])) for i in range(begin[b], begin[b + 1])
            )
            of_block[b] = kinds.setdefault((int(self.flows[b]), links), len(kinds))
        return list(kinds), of_block

    def room(self, utilization: float) -> NDArray[np.int64]:
        """Most queue pairs on each arc that keep its utilization at most this."""
        return np.floor(self.ratio * utilization * (1 + 1e-12) + 1e-12).astype(np.int64)

    def log_blocks(self, utilization: float, *, count: int = 0) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Bounds of log P(no arc of the block above this utilization), block by block; equal where exact.

        With ``count`` the question is whether no arc carries more than so many queue pairs.
        """
        lower, upper = np.zeros(self.n_blocks), np.zeros(self.n_blocks)
        kinds, of_block = self._kinds
        values = np.array([_log_kind(flows, links, utilization, count) for flows, links in kinds] or [0.0])
        exact = of_block >= 0
        lower[exact] = upper[exact] = values[of_block[exact]]
        other = np.flatnonzero(~exact[self.block])
        if other.size:
            most = np.full(len(other), count) if count else self.room(utilization)[other]
            above = self.laws.p_above(self.signature[other], most)
            at = self.block[other]
            union = np.bincount(at, weights=above, minlength=self.n_blocks)
            with np.errstate(divide="ignore"):
                single = np.bincount(at, weights=np.log1p(-np.minimum(above, 1.0)), minlength=self.n_blocks)
                low = np.log1p(-np.minimum(union, 1.0))
            lower[~exact], upper[~exact] = low[~exact], np.maximum(single[~exact], low[~exact])
        return lower, upper

    def log_p(self, utilization: float, *, count: int = 0) -> tuple[float, float]:
        """Bounds of log P(no arc of the stage above this utilization)."""
        if self.once:
            lower, upper = self.log_blocks(utilization, count=count)
            return float(lower.sum()), float(upper.sum())
        most = np.full(len(self.arcs), count) if count else self.room(utilization)
        above = self.laws.p_above(self.signature, most)
        with np.errstate(divide="ignore"):
            return (
                float(np.log1p(-min(1.0, float(above.sum())))),
                float(np.log1p(-min(1.0, float(above.max(initial=0.0))))),
            )

    def guess(self, utilization: float, *, count: int = 0) -> float:
        """Estimate of the log: arcs as if independent where there is no better."""
        if self.once:
            lower, upper = self.log_blocks(utilization, count=count)
            # Negative association makes the product over arcs the better guess; it is also the upper bound.
            return float(np.where(upper > lower, upper, lower).sum())
        most = np.full(len(self.arcs), count) if count else self.room(utilization)
        with np.errstate(divide="ignore"):
            return float(np.log1p(-np.minimum(self.laws.p_above(self.signature, most), 1.0)).sum())


@lru_cache(maxsize=1 << 14)
def _log_kind(flows: int, links: tuple[tuple[float, float, int], ...], utilization: float, count: int) -> float:
    room = [count if count else math.floor(ratio * utilization * (1 + 1e-12) + 1e-12) for _, ratio, _ in links]
    if len(links) == 1 and abs(links[0][0] * links[0][2] - 1) < 1e-12:
        return log_p_max_at_most(flows, links[0][2], room[0])
    groups = [(p, k, many) for (p, _, many), k in zip(links, room, strict=True)]
    spare = 1.0 - math.fsum(p * many for p, _, many in links)
    if spare > 1e-12:
        groups.append((spare, flows, 1))
    return log_p_loads_at_most(flows, groups)


def make_stages(
    traversal: Traversal,
    laws: ArcLaws,
    ratio: NDArray[np.float64],
    queue_pairs: int,
    sender: Array,
    receiver: Array,
) -> list[Stage]:
    """One stage for each class of arcs between switches, and the endpoints' own links out and in.

    ``ratio`` is by arc, in flows; ``sender`` and ``receiver`` hold the endpoint an arc leaves or enters, else -1.
    """
    stages = []
    for c, tiers in enumerate(traversal.classes):
        arcs = np.flatnonzero((traversal.arc_class == c) & (traversal.arc_block >= 0))
        if not arcs.size:
            continue
        part = traversal.part[:, c]
        alike = traversal.alike[c]
        flows = np.bincount(part[part >= 0], minlength=len(alike)) * queue_pairs
        stages.append(
            Stage(
                " to ".join(map(place_name, tiers)),
                tiers,
                arcs,
                ratio[arcs] * queue_pairs,
                traversal.arc_block[arcs],
                flows,
                alike & traversal.once[c],
                traversal.once[c],
                part,
                laws.signature[arcs],
                laws,
                True,
            )
        )
    for name, node in (("endpoints' links out", sender), ("endpoints' links in", receiver)):
        arcs = np.flatnonzero((node >= 0) & (laws.signature >= 0))
        if arcs.size:
            stages.append(_own_links(name, arcs, node[arcs], laws, ratio, queue_pairs, len(traversal.lost)))
    return stages


def _own_links(
    name: str, arcs: Array, node: Array, laws: ArcLaws, ratio: Array, queue_pairs: int, n_flows: int
) -> Stage:
    """Links of endpoints in one direction, a block for each endpoint; it is even where its flows use all alike."""
    signature = laws.signature[arcs]
    _, block = np.unique(node, return_inverse=True)
    n_blocks = int(block.max()) + 1
    links = np.bincount(block)
    single = np.diff(laws.start)[signature] == 1
    p, count = laws.p[laws.start[signature]], laws.count[laws.start[signature]]
    most = np.zeros(n_blocks, np.int64)
    np.maximum.at(most, block, count)
    even = single & (np.abs(p * links[block] - 1) < 1e-12) & (count == most[block])
    alike = np.bincount(block, weights=~even, minlength=n_blocks) == 0
    return Stage(
        name,
        None,
        arcs,
        ratio[arcs] * queue_pairs,
        block,
        np.where(alike, most, 0),
        alike,
        True,
        np.full(n_flows, -1, np.int64),
        signature,
        laws,
        bool((links > 1).any()),
    )
