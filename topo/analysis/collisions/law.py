"""From stages to answers: the law of the largest utilization, and what follows from it for the slowest flow."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topo.analysis.collisions.answer import Estimate
from topo.analysis.collisions.arc_laws import ArcLaws
from topo.analysis.collisions.clos_shape import ClosShape
from topo.analysis.collisions.nowhere import Mirror, Probability, p_nowhere_above
from topo.analysis.collisions.stages import Stage, make_stages
from topo.analysis.collisions.traversal import Traversal
from topo.fabric import FORWARDS_ALL, Fabric
from topo.result import Standing

__all__ = ["LargestUtilization", "StageSet", "as_estimate", "bracket_of"]

_DONE = 1e-12
_NEVER = 1e-15
_MOST_STEPS = 400
_EXACT = "independent uniform hashes"
_BRACKET = "bounds proved for independent hashes; the estimate multiplies stages and corrects for shared bundles"


@dataclass(frozen=True, eq=False)
class StageSet:
    """The stages of equal flows, with the pairs of stages that mirror each other."""

    stages: tuple[Stage, ...]
    mirrors: tuple[Mirror, ...]
    queue_pairs: int

    @classmethod
    def of(
        cls,
        fabric: Fabric,
        traversal: Traversal,
        laws: ArcLaws,
        ratio: NDArray[np.float64],
        queue_pairs: int,
        shape: ClosShape | None,
    ) -> StageSet:
        """From followed flows; ``ratio`` is capacity over flow rate by arc."""
        is_end = fabric.nodes.is_endpoint
        # An endpoint that relays is a switch to the stages.
        own = is_end & (fabric.nodes.forwards != FORWARDS_ALL)
        sender = np.where(own[fabric.arc_source], fabric.arc_source, -1).astype(np.int64)
        receiver = np.where(own[fabric.arc_target], fabric.arc_target, -1).astype(np.int64)
        stages = make_stages(traversal, laws, ratio, queue_pairs, sender, receiver)
        return cls(tuple(stages), tuple(_mirrors(stages, shape, queue_pairs)), queue_pairs)

    @property
    def ratios(self) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Distinct pairs of what an arc has room for and the queue pairs that may meet on it, dead arcs left out."""
        both = [np.stack([stage.ratio, stage.laws.most[stage.signature]]) for stage in self.stages]
        ratio, most = np.unique(np.concatenate(both, axis=1), axis=1)
        return ratio[ratio > 0], most[ratio > 0].astype(np.int64)

    @property
    def has_dead_arc(self) -> bool:
        """Whether a link that flows may take has no rate."""
        return any(bool((stage.ratio <= 0).any()) for stage in self.stages)

    def least_likely(self, last: float) -> float:
        """A utilization from 1 up, below ``last``, that is exceeded somewhere as good as surely; by halving."""
        low, high = 1.0, max(last, 1.0)
        while high > low * 1.01:
            middle = math.sqrt(low * high)
            if self.p_nowhere_above(middle).upper > _NEVER:
                high = middle
            else:
                low = middle
        return low

    @property
    def hashed(self) -> list[Stage]:
        """Stages where something is chosen."""
        return [stage for stage in self.stages if stage.is_choice]

    def p_nowhere_above(self, utilization: float) -> Probability:
        """P(no link above this utilization), the endpoints' own links included."""
        return p_nowhere_above(list(self.stages), list(self.mirrors), utilization)

    def p_no_collision(self) -> Probability:
        """P(no two queue pairs on one link), where links are chosen."""
        return p_nowhere_above(self.hashed, list(self.mirrors), 1.0, count=1)


def _mirrors(stages: list[Stage], shape: ClosShape | None, queue_pairs: int) -> Iterator[Mirror]:
    """Up and down at the leaves, and at the cores: a choice of spine, or of core, fixes both arcs."""
    if shape is None or shape.parallel != 1:
        return
    inner = {stage.tiers: stage for stage in stages if stage.tiers is not None}
    for (low, high), stage in inner.items():
        back = inner.get((high, low))
        if back is not None and low < high:
            mirror = Mirror.of(stage, back, queue_pairs, is_whole=len(inner) == 2)
            if mirror is not None:
                yield mirror


@dataclass(frozen=True, eq=False)
class LargestUtilization:
    """P(largest utilization <= t) on a grid of all t >= 1 where it steps; ``t`` ascends from 1."""

    t: NDArray[np.float64]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    estimate: NDArray[np.float64]
    at_most: float = 1.0
    """Upper bound of P(no used link is dead): of a flow that gets anything at all."""

    @classmethod
    def of(cls, found: StageSet) -> LargestUtilization:
        """Step by step until the lower bound is 1 to rounding."""
        ratio, most = found.ratios
        # Past this every link that has a rate takes all flows there are.
        last = float((most / ratio).max(initial=1.0))
        # A used link without any rate stays overloaded: the law then ends below 1.
        limit = found.p_nowhere_above(last * (1 + 1e-9)) if found.has_dead_arc else None
        start = found.least_likely(last)
        lines = [(1.0, 0.0, 0.0, 0.0)] if start > 1 else []
        for t in _steps(ratio, most, start):
            p = found.p_nowhere_above(t)
            lines.append((t, p.lower, p.upper, p.estimate))
            if p.lower >= 1 - _DONE or t > last or len(lines) >= _MOST_STEPS:
                break
            if limit is not None and limit.lower - p.lower <= _DONE and limit.upper - p.upper <= _DONE:
                break
        table = np.maximum.accumulate(np.array(lines), axis=0)
        alive = 1.0 if limit is None else max(limit.upper, float(table[-1, 2]))
        return cls(table[:, 0], table[:, 1], table[:, 2], table[:, 3], alive)

    @property
    def slowest(self) -> Probability:
        """E min(1, 1/t): the mean rate of the slowest flow, as max-min fair rates are for equal limits."""
        gain = 1 / self.t - np.append(1 / self.t[1:], 0.0)
        # Beyond the grid a flow gets less than at its end, and at least nothing.
        rest = (self.at_most - self.upper[-1]) / self.t[-1]
        return _ordered(self.lower @ gain, self.upper @ gain + rest, self.estimate @ gain)

    @property
    def slowdown(self) -> Probability | None:
        """E max(1, t): None where a flow may get nothing at all, or the grid ended early."""
        if self.lower[-1] < 1 - 1e-9:
            return None
        width = np.diff(self.t)
        return _ordered(
            1 + (1 - self.upper[:-1]) @ width, 1 + (1 - self.lower[:-1]) @ width, 1 + (1 - self.estimate[:-1]) @ width
        )


def _ordered(lower: Any, upper: Any, estimate: Any) -> Probability:
    low, high = float(lower), max(float(lower), float(upper))
    return Probability(low, high, min(max(float(estimate), low), high))


def _steps(ratio: NDArray[np.float64], most: NDArray[np.int64], t: float) -> Iterator[float]:
    """Utilizations from ``t`` up at which some arc takes one more of the ``most`` queue pairs that may meet there."""
    while True:
        yield t
        following = np.floor(ratio * t * (1 + 1e-12) + 1e-12) + 1
        open_ = following <= most
        if not open_.any():
            return
        t = float((following[open_] / ratio[open_]).min())


def as_estimate(p: Probability) -> Estimate:
    """A probability with its standing."""
    if p.is_exact:
        return Estimate.exact(p.estimate, _EXACT)
    return Estimate(p.lower, p.upper, p.estimate, Standing("bracket", _BRACKET))


def bracket_of(stage: Stage) -> tuple[dict[int, tuple[float, float]], float, float]:
    """Of one stage: P(no link carries more than k queue pairs) by k, and bounds of the mean largest load.

    E max = sum over k >= 0 of P(max > k), and no k below the mean load of a full block can do.
    """
    arcs = np.bincount(stage.block, minlength=stage.n_blocks)
    mass = np.bincount(stage.block, weights=stage.laws.p[stage.laws.start[stage.signature]], minlength=stage.n_blocks)
    full = stage.alike & (np.abs(mass - 1) < 1e-9)
    least = int(np.ceil(stage.flows[full] / arcs[full] - 1e-9).max(initial=1)) if stage.is_exact else 1
    law: dict[int, tuple[float, float]] = {}
    low_mean = high_mean = float(least)
    for k in range(least, least + _MOST_STEPS):
        low, high = (math.exp(min(0.0, x)) for x in stage.log_p(1.0, count=k))
        if high > 1e-15:
            law[k] = (low, high)
        low_mean, high_mean = low_mean + (1 - high), high_mean + (1 - low)
        if low >= 1 - _DONE:
            break
    return law, low_mean, high_mean
