"""All stages at once: P(no arc anywhere above a utilization), as a rigorous bracket and as an estimate.

The up and down stages of a Clos share flows, so their events are not independent: counting the good outcomes is
counting proper colourings of the graph of flows between leaves. What is proved: the union bound and the least stage
(any stages); a product over blocks that share no flow (independent, so an upper bound); and, for equal flows over
single links of two tiers, P_A (1 - sum_v (1 - P(B_v)) / prod_{u: n_uv >= 2} P(A_u)) as a lower bound. The estimate
multiplies the stages and corrects each bundle of flows that two leaves share by its exact joint probability.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topo.analysis.collisions.bundles import WIDEST_BUNDLE, p_bundle_pair
from topo.analysis.collisions.occupancy import log_p_max_at_most
from topo.analysis.collisions.sizes import MOST_STATES, p_loads_fit
from topo.analysis.collisions.stages import Stage

__all__ = ["Mirror", "Probability", "p_nowhere_above"]

_MOST_PAIRS = 20_000
_MOST_KINDS = 40
"""Between pods bundles come in hundreds of kinds, and each changes next to nothing."""
_HOPELESS = -60.0


@dataclass(frozen=True)
class Probability:
    """A number with rigorous bounds and a best estimate; exact where the bounds agree."""

    lower: float
    upper: float
    estimate: float

    @property
    def is_exact(self) -> bool:
        """Whether the bounds agree to rounding."""
        return self.upper - self.lower <= 1e-9 * max(self.upper, 1e-300) + 1e-15


@dataclass(frozen=True, eq=False)
class Mirror:
    """Two stages where one choice fixes a flow's arc in both: up to a spine and down from it, on single links.

    ``pairs`` holds (block up, block down, flows shared), ``links`` the choices of a flow; ``is_whole`` tells that
    these two stages are all the flows cross between switches.
    """

    up: Stage
    down: Stage
    pairs: NDArray[np.int64]
    links: int
    is_whole: bool

    @classmethod
    def of(cls, up: Stage, down: Stage, queue_pairs: int, *, is_whole: bool) -> Mirror | None:
        """None where blocks differ in size, rates or laws."""
        sizes = np.unique(np.concatenate([np.bincount(up.block), np.bincount(down.block)]))
        if not (up.is_exact and down.is_exact) or len(sizes) != 1:
            return None
        if len(np.unique(np.concatenate([up.ratio, down.ratio]))) != 1 or not (up.is_uniform and down.is_uniform):
            return None
        both = (up.part >= 0) & (down.part >= 0)
        code, shared = np.unique(up.part[both] * down.n_blocks + down.part[both], return_counts=True)
        pairs = np.stack([code // down.n_blocks, code % down.n_blocks, shared * queue_pairs])
        return cls(up, down, pairs, int(sizes[0]), is_whole)

    @cached_property
    def bundles(self) -> list[tuple[int, int, int, int]]:
        """Kinds of bundles worth a correction: (flows up, flows down, shared, how many)."""
        n_u, n_v = self.up.flows[self.pairs[0]], self.down.flows[self.pairs[1]]
        shared = self.pairs[2]
        whole = (shared == n_u) | (shared == n_v)
        worth = (shared >= 2) & (whole | (shared <= WIDEST_BUNDLE))
        kinds, many = np.unique(np.stack([n_u, n_v, shared])[:, worth], axis=1, return_counts=True)
        partly = (kinds[2] != kinds[0]) & (kinds[2] != kinds[1])
        if int(partly.sum()) > _MOST_KINDS:
            kinds, many = kinds[:, ~partly], many[~partly]
        return [(*kind, number) for kind, number in zip(kinds.T.tolist(), many.tolist(), strict=True)]

    @cached_property
    def components(self) -> list[NDArray[np.int64]]:
        """Rows of ``pairs`` that hang together by a block up or down."""
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        n = self.up.n_blocks + self.down.n_blocks
        ends = (self.pairs[0], self.up.n_blocks + self.pairs[1])
        _, label = connected_components(coo_array((np.ones(len(ends[0])), ends), shape=(n, n)), directed=False)
        of_pair = label[ends[0]]
        order = np.argsort(of_pair, kind="stable")
        return list(np.split(order, np.flatnonzero(np.diff(of_pair[order])) + 1))

    def room(self, utilization: float, *, count: int) -> int:
        """Most queue pairs on any of the arcs."""
        return count if count else int(self.up.room(utilization)[0])


def p_nowhere_above(stages: list[Stage], mirrors: list[Mirror], utilization: float, *, count: int = 0) -> Probability:
    """P(no arc of any stage above this utilization); with ``count``, P(no arc with more queue pairs than that)."""
    bounds = [stage.log_p(utilization, count=count) for stage in stages]
    lower = max(0.0, 1.0 - math.fsum(-math.expm1(low) for low, _ in bounds))
    upper = math.exp(min((high for _, high in bounds), default=0.0))
    guess = math.fsum(stage.guess(utilization, count=count) for stage in stages)
    for mirror in mirrors:
        if guess > _HOPELESS:
            guess += _correction(mirror, utilization, count)
        upper = min(upper, _apart(mirror, utilization, count))
    whole = next((mirror for mirror in mirrors if mirror.is_whole), None)
    if whole is not None and lower < upper:
        certain = [s for s in stages if s is not whole.up and s is not whole.down]
        others = math.fsum(-math.expm1(s.log_p(utilization, count=count)[0]) for s in certain)
        joint = _bundles_only(whole, utilization, count)
        if joint is not None and others in (0.0, len(certain)):
            value = joint if others == 0 else 0.0
            return Probability(value, value, value)
        lower = max(lower, _given(whole, utilization, count) - others)
    estimate = min(max(math.exp(min(guess, 0.0)), lower), upper)
    return Probability(lower, max(lower, upper), estimate)


def _correction(mirror: Mirror, utilization: float, count: int) -> float:
    """Log of the product over bundles of P(A_u, B_v) / (P(A_u) P(B_v))."""
    k = mirror.room(utilization, count=count)
    total = 0.0
    for u, v, w, many in mirror.bundles:
        a, b = log_p_max_at_most(u, mirror.links, k), log_p_max_at_most(v, mirror.links, k)
        if math.isinf(a) or math.isinf(b):
            return 0.0
        if w in (u, v):
            total -= many * max(a, b)
            continue
        joint = p_bundle_pair(u, v, w, mirror.links, k)
        if joint > 0 and a + b > -700:
            total += many * (math.log(joint) - a - b)
    return total


def _bundles_only(mirror: Mirror, utilization: float, count: int) -> float | None:
    """The exact probability, component by component of the graph of flows between leaves; None where one is large.

    A component of one bundle is an occupancy problem; another is worked out over what is left of each bundle, so
    many links at a time.
    """
    u, v, shared = mirror.pairs
    most = mirror.room(utilization, count=count)
    if (np.bincount(u, shared) != mirror.up.flows).any() or (np.bincount(v, shared) != mirror.down.flows).any():
        return None
    total = 0.0
    for rows in mirror.components:
        if len(rows) == 1:
            total += log_p_max_at_most(int(shared[rows[0]]), mirror.links, most)
            continue
        if math.prod((shared[rows] + 1).tolist()) > MOST_STATES:
            return None
        p = _p_component(tuple(zip(*mirror.pairs[:, rows].tolist(), strict=True)), mirror.links, most)
        if p == 0:
            return 0.0
        total += math.log(p)
    return math.exp(total)


@lru_cache(maxsize=1 << 12)
def _p_component(bundles: tuple[tuple[int, int, int], ...], links: int, most: int) -> float:
    u, v, shared = (np.array(column) for column in zip(*bundles, strict=True))
    loads = np.concatenate([np.unique(u)[:, None] == u, np.unique(v)[:, None] == v])
    return p_loads_fit(shared.tolist(), loads.astype(float).tolist(), links, float(most))


def _given(mirror: Mirror, utilization: float, count: int) -> float:
    """The lower bound of two tiers: given that no up link is over, how likely is a down link over at most."""
    a, _ = mirror.up.log_blocks(utilization, count=count)
    b, _ = mirror.down.log_blocks(utilization, count=count)
    u, v, shared = mirror.pairs
    several = shared >= 2
    best = 0.0
    for own, near, other, far in ((a, u, b, v), (b, v, a, u)):
        if not np.isfinite(own).all():
            continue
        given = np.bincount(far[several], weights=own[near[several]], minlength=len(other))
        miss = float((-np.expm1(other) * np.exp(-np.maximum(given, -700))).sum())
        best = max(best, math.exp(float(own.sum())) * (1 - miss))
    return best


def _apart(mirror: Mirror, utilization: float, count: int) -> float:
    """Least product over blocks up and down of which no two share a flow: independent, hence an upper bound.

    A maximum-weight independent set of the bipartite graph of blocks, weights -log P: one minimum cut.
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import breadth_first_order, maximum_flow

    _, a = mirror.up.log_blocks(utilization, count=count)
    _, b = mirror.down.log_blocks(utilization, count=count)
    u, v, _ = mirror.pairs
    if not (np.isfinite(a).all() and np.isfinite(b).all()):
        return 0.0
    if len(u) > _MOST_PAIRS or len(u) > 8 * (len(a) + len(b)):
        return math.exp(min(float(a.sum()), float(b.sum())))
    weight = -np.concatenate([a, b])
    scale = 1e8 / max(float(weight.sum()), 1e-300)  # the solver counts in 32 bits
    whole = np.floor(weight * scale).astype(np.int32)
    n_a, n_b = len(a), len(b)
    first, last = n_a + n_b, n_a + n_b + 1
    tail = np.concatenate([np.full(n_a, first), u, n_a + np.arange(n_b)])
    head = np.concatenate([np.arange(n_a), n_a + v, np.full(n_b, last)])
    value = np.concatenate([whole[:n_a], np.full(len(u), 2_000_000_000, np.int32), whole[n_a:]]).astype(np.int32)
    graph = csr_array((value, (tail, head)), shape=(last + 1, last + 1))
    left: Any = graph - maximum_flow(graph, first, last).flow
    left.data = np.maximum(left.data, 0)
    left.eliminate_zeros()
    reached = np.zeros(last + 1, bool)
    reached[breadth_first_order(left, first, return_predecessors=False)] = True
    chosen = np.concatenate([reached[:n_a], ~reached[n_a : n_a + n_b]])
    if (chosen[u] & chosen[n_a + v]).any():  # rounding of the weights cannot do this; a bound must not rest on it
        return math.exp(min(float(a.sum()), float(b.sum())))
    return math.exp(-float(weight[chosen].sum()))
