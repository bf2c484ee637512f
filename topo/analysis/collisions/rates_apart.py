"""Flows of different rates: which links overflow, and how likely it is that none does."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from topo.analysis.collisions.arc_laws import ArcLaws, overload_bracket
from topo.analysis.collisions.nowhere import Mirror, Probability
from topo.analysis.collisions.sizes import MOST_STATES, p_loads_fit, p_sizes_fit
from topo.analysis.collisions.stages import Stage
from topo.table import Array

__all__ = ["p_arcs_overloaded", "p_stage_fits", "p_stages_fit"]


def p_arcs_overloaded(
    laws: ArcLaws, size_gbps: Array, capacity_gbps: NDArray[np.float64], queue_pairs: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Bounds of P(load above capacity) for every arc; each (law, capacity) is worked out once."""
    n_arcs = len(laws.signature)
    lower, upper = np.zeros(n_arcs), np.zeros(n_arcs)
    used = np.flatnonzero(laws.signature >= 0)
    rate = np.asarray(size_gbps) / queue_pairs
    kinds, kind = np.unique(
        np.stack([laws.signature[used].astype(float), capacity_gbps[used]]), axis=1, return_inverse=True
    )
    found = np.zeros((kinds.shape[1], 2))
    for i, (signature, capacity) in enumerate(kinds.T.tolist()):
        rows = slice(laws.start[int(signature)], laws.start[int(signature) + 1])
        at_most = float(rate[laws.size[rows]] @ laws.count[rows])
        if at_most > capacity * (1 + 1e-12):
            found[i] = overload_bracket(laws.p[rows], rate[laws.size[rows]], laws.count[rows], capacity)
    lower[used], upper[used] = found[kind.ravel()].T
    return lower, upper


def p_stages_fit(
    stages: list[Stage],
    mirrors: list[Mirror],
    low: Array,
    high: Array,
    size_gbps: Array,
    sizes: Array,
    capacity: Array,
    queue_pairs: int,
) -> Probability:
    """P(no arc of any stage overflows): exact where two stages mirror each other and states are few.

    Elsewhere union and least stage over the stages' own bounds, and the product as the estimate.
    """
    bounds = [p_stage_fits(stage, low, high, size_gbps, sizes, capacity, queue_pairs) for stage in stages]
    lower = max(0.0, 1 - math.fsum(1 - p for p, _ in bounds))
    upper = min((p for _, p in bounds), default=1.0)
    whole = next((mirror for mirror in mirrors if mirror.is_whole), None)
    if whole is not None and lower < upper:
        certain = [p for s, (p, _) in zip(stages, bounds, strict=True) if s is not whole.up and s is not whole.down]
        joint = _p_both_fit(whole, size_gbps, sizes, capacity, queue_pairs)
        if joint is not None and all(p == 1 for p in certain):
            return Probability(joint, joint, joint)
    return Probability(lower, max(lower, upper), min(max(math.prod(p for _, p in bounds), lower), max(lower, upper)))


def _p_both_fit(mirror: Mirror, size_gbps: Array, sizes: Array, capacity: Array, queue_pairs: int) -> float | None:
    """P(both mirrored stages fit), component by component; None where one has too many states."""
    up, down = mirror.up.part, mirror.down.part
    both = (up >= 0) & (down >= 0)
    if (both != ((up >= 0) | (down >= 0))).any():
        return None
    kinds, count = np.unique(np.stack([up[both], down[both], sizes[both]]), axis=1, return_counts=True)
    pair_of_kind = kinds[0] * mirror.down.n_blocks + kinds[1]
    pair = mirror.pairs[0] * mirror.down.n_blocks + mirror.pairs[1]
    total = 1.0
    for rows in mirror.components:
        mine = np.isin(pair_of_kind, pair[rows])
        (u, v, size), many = kinds[:, mine], count[mine] * queue_pairs
        if math.prod((many + 1).tolist()) > MOST_STATES:
            return None
        rate = size_gbps[size] / queue_pairs
        loads = np.concatenate([(np.unique(u)[:, None] == u) * rate, (np.unique(v)[:, None] == v) * rate])
        total *= p_loads_fit(many.tolist(), loads.tolist(), mirror.links, float(capacity[mirror.up.arcs[0]]))
    return total


def p_stage_fits(
    stage: Stage, low: Array, high: Array, size_gbps: Array, sizes: Array, capacity: Array, queue_pairs: int
) -> tuple[float, float]:
    """Bounds of P(no arc of one stage overflows), exact in blocks of few sizes that choose evenly."""
    if not stage.once:
        return max(0.0, 1 - float(high[stage.arcs].sum())), 1 - float(low[stage.arcs].max(initial=0.0))
    union = np.bincount(stage.block, weights=high[stage.arcs], minlength=stage.n_blocks)
    with np.errstate(divide="ignore"):
        product = np.exp(
            np.bincount(stage.block, weights=np.log1p(-np.minimum(low[stage.arcs], 1)), minlength=stage.n_blocks)
        )
    lower, upper = np.maximum(0.0, 1 - union), product
    inside = stage.part >= 0
    table = np.zeros((stage.n_blocks, len(size_gbps)), np.int64)
    np.add.at(table, (stage.part[inside], sizes[inside]), queue_pairs)
    states = np.prod(table + 1.0, axis=1)
    for b in np.flatnonzero(stage.alike & (states <= MOST_STATES) & (table.sum(axis=1) > 0)).tolist():
        arcs = stage.arcs[stage.block == b]
        p = stage.laws.p[stage.laws.start[stage.signature[stage.block == b]]]
        if len(np.unique(capacity[arcs])) == 1 and np.allclose(p * len(arcs), 1, rtol=1e-12):
            some = np.flatnonzero(table[b])
            lower[b] = upper[b] = p_sizes_fit(
                table[b, some].tolist(), (size_gbps[some] / queue_pairs).tolist(), len(arcs), float(capacity[arcs[0]])
            )
    return float(lower.prod()), float(np.maximum(lower, upper).prod())
