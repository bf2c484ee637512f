"""The two halves of an answer: what is worked out for independent hashes, and what is drawn."""

from __future__ import annotations

from concurrent.futures import Executor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from topo.analysis.collisions.answer import Estimate, TierLoads
from topo.analysis.collisions.arc_laws import ArcLaws
from topo.analysis.collisions.clos_shape import ClosShape
from topo.analysis.collisions.equal_share import mean_equal_share
from topo.analysis.collisions.flow_set import FlowSet
from topo.analysis.collisions.law import LargestUtilization, StageSet, as_estimate, bracket_of
from topo.analysis.collisions.rates_apart import p_arcs_overloaded, p_stage_fits, p_stages_fit
from topo.analysis.collisions.sample import EQUAL, LARGEST, SLOWEST, STRIPED, Sampled, Sampler, draw
from topo.analysis.collisions.stages import Stage
from topo.analysis.collisions.traversal import Traversal, traverse
from topo.analysis.intervals import student_half_width
from topo.errors import ParameterError
from topo.fabric import State
from topo.hashing.scheme import EcmpHash
from topo.result import Standing
from topo.routing.walk import at_random, lost_mask, walk

__all__ = ["Exact", "SampledRates", "exact_figures", "sampled_rates"]


@dataclass(frozen=True, eq=False)
class Exact:
    """What is known without sampling."""

    lost: NDArray[np.bool_]
    slowest: Estimate | None
    slowdown: Estimate | None
    p_no_overload: Estimate | None
    p_no_collision: Estimate | None
    equal_share: Estimate | None
    tiers: tuple[TierLoads, ...]
    arc_mean_gbps: NDArray[np.float64]
    arc_p_overload: tuple[NDArray[np.float64], NDArray[np.float64]]
    slowest_law: tuple[tuple[float, float, float, float], ...]
    laws: ArcLaws | None
    is_rough: bool = False
    """Whether the estimates within brackets take stages that share flows as if they were independent."""

    @classmethod
    def unknown(cls, n_arcs: int) -> Exact:
        """Nothing."""
        none = np.full(n_arcs, np.nan)
        return cls(np.zeros(0, bool), None, None, None, None, None, (), none, (none, none), (), None)


def exact_figures(found: FlowSet, q: int, state: State | None, *, drawn_flows: int = 200) -> Exact | None:
    """All that needs no sampling; None where paths lie inside opened hosts or scale-up domains.

    Where flows are of too many kinds, the mean equal share is that of ``drawn_flows`` flows drawn (0: left out).

    :raises ParameterError: no flow has a path.
    """
    fabric = found.fabric
    followed = traverse(found.hops, found.source, found.sink, found.size)
    if followed is None or found.inner_mask[followed.entries.arc].any():
        return None
    _expect_a_path(found, followed.lost)
    n_arcs = 2 * len(fabric.links)
    laws = ArcLaws.of(followed.entries, n_arcs, q)
    mean = np.zeros(n_arcs)
    used = laws.signature >= 0
    mean[used] = laws.mean_load(found.size_gbps / q)[laws.signature[used]]
    shape = ClosShape.of(fabric, state)
    # Unequal rates: one unit of rate stands for all, and only P(no overload) is asked.
    unit = float(found.size_gbps[0])
    ratio = np.nan_to_num(found.capacity_gbps / unit)
    stages = StageSet.of(fabric, followed, laws, ratio, q, shape)
    if not found.is_even:
        return _apart(found, q, followed, laws, mean, stages)
    above = np.zeros(n_arcs)
    room = np.floor(ratio[used] * q * (1 + 1e-12) + 1e-12).astype(np.int64)
    above[used] = laws.p_above(laws.signature[used], room)
    largest = LargestUtilization.of(stages)
    slowdown = largest.slowdown
    law = zip(
        largest.t.tolist(), largest.lower.tolist(), largest.upper.tolist(), largest.estimate.tolist(), strict=True
    )
    return Exact(
        followed.lost,
        as_estimate(largest.slowest),
        as_estimate(slowdown) if slowdown is not None else None,
        as_estimate(stages.p_nowhere_above(1.0)),
        as_estimate(stages.p_no_collision()),
        _equal_share(found, followed, shape, unit, drawn_flows) if q == 1 else None,
        tuple(_tier(found, stage, bracket_of(stage), _fits(stage)) for stage in stages.hashed),
        mean,
        (above, above),
        tuple(law),
        laws,
        is_rough=len(stages.hashed) > 1 and shape is None,
    )


def _expect_a_path(found: FlowSet, lost: NDArray[np.bool_]) -> None:
    if lost.all():
        raise ParameterError(f"no flow of {found.name} has a path: all {len(lost):,} are lost")


def _fits(stage: Stage) -> tuple[float, float]:
    low, high = np.exp(np.minimum(stage.log_p(1.0), 0.0)).tolist()
    return low, high


def _apart(
    found: FlowSet, q: int, followed: Traversal, laws: ArcLaws, mean: NDArray[np.float64], stages: StageSet
) -> Exact:
    low, high = p_arcs_overloaded(laws, found.size_gbps, found.capacity_gbps, q)
    given = (low, high, found.size_gbps, found.size, found.capacity_gbps, q)
    tiers = tuple(_tier(found, s, bracket_of(s), p_stage_fits(s, *given)) for s in stages.hashed)
    return Exact(
        followed.lost,
        None,
        None,
        as_estimate(p_stages_fit(list(stages.stages), list(stages.mirrors), *given)),
        as_estimate(stages.p_no_collision()),
        None,
        tiers,
        mean,
        (low, high),
        (),
        laws,
    )


def _equal_share(
    found: FlowSet, followed: Traversal, shape: ClosShape | None, unit: float, drawn_flows: int
) -> Estimate | None:
    """On whole Clos fabrics; each flow is also held back by its endpoints' own links."""
    if shape is None or followed.lost.any():
        return None
    n = len(found.fabric.nodes)
    nodes = found.fabric.nodes
    sent, received = np.bincount(found.source, minlength=n), np.bincount(found.sink, minlength=n)
    own = np.zeros(n)
    links = found.hops.network.links
    for end in (found.fabric.link_a[links], found.fabric.link_b[links]):
        at = nodes.is_endpoint[end]
        own[end[at]] = found.capacity_gbps[2 * links[at]]
    limit = np.minimum(own[found.source] / sent[found.source], own[found.sink] / received[found.sink])
    limit = np.minimum(1.0, limit / unit)
    share = mean_equal_share(shape, found.source, found.sink, limit, unit, drawn_flows=drawn_flows)
    if share is None:
        return None
    if share.sampled_flows:
        how = f"exact means of {share.sampled_flows} flows drawn out of {len(found.source):,}; 95 % interval"
        return Estimate(
            share.lower - share.half_width, share.upper + share.half_width, share.lower, Standing("sampled", how)
        )
    middle = (share.lower + share.upper) / 2
    if share.upper - share.lower <= 1e-6:
        return Estimate(share.lower, share.upper, middle, Standing("exact", "convolution over what flows share"))
    return Estimate(share.lower, share.upper, middle, Standing("bracket", "convolution cut at large loads"))


def _tier(
    found: FlowSet,
    stage: Stage,
    law: tuple[dict[int, tuple[float, float]], float, float],
    fits: tuple[float, float],
) -> TierLoads:
    by_count, low, high = law
    available = _available(found, stage)
    mean = float(stage.laws.mean[stage.signature].sum()) / max(available, 1)
    if stage.is_exact:
        standing = Standing("exact", "occupancy of independent blocks")
    elif stage.once:
        standing = Standing("bracket", "union bound and negative association, block by block")
    else:
        standing = Standing("bracket", "union bound; flows may cross this tier twice")
    flows = int(stage.flows.sum()) if stage.once else int((stage.part >= 0).sum())
    return TierLoads(
        stage.name, available, len(stage.arcs), flows, stage.n_blocks, mean, low, high, by_count, *fits, standing
    )


def _available(found: FlowSet, stage: Stage) -> int:
    """Arcs that join the same tiers, used or not."""
    fabric = found.fabric
    links = found.hops.network.links
    arcs = np.concatenate([2 * links, 2 * links + 1])
    tier, end = fabric.nodes.tier.astype(np.int64), fabric.nodes.is_endpoint.astype(np.int64)
    source, target = fabric.arc_source, fabric.arc_target
    kind = (tier[source] + 1) * 1024 + (tier[target] + 1) * 4 + end[source] * 2 + end[target]
    return int(np.isin(kind[arcs], np.unique(kind[stage.arcs])).sum())


@dataclass(frozen=True, eq=False)
class SampledRates:
    """Estimates with their intervals."""

    sampled: Sampled
    lost: NDArray[np.bool_]
    mean: Estimate
    equal_share: Estimate
    striped: Estimate
    slowest: Estimate
    slowdown: Estimate | None
    p_no_overload: Estimate

    @property
    def slowest_samples(self) -> NDArray[np.float64]:
        """The slowest flow's rate, sample by sample."""
        return self.sampled.values[:, SLOWEST]


def sampled_rates(
    found: FlowSet,
    q: int,
    rule: EcmpHash | None,
    exact: Exact | None,
    *,
    samples: int,
    tolerance: float,
    seed: int,
    executor: Executor | None,
) -> SampledRates:
    """Draw hashes for the flows that have a path.

    :raises ParameterError: none has.
    """
    lost = exact.lost if exact is not None else lost_mask(walk(found.hops, found.source, found.sink, at_random(seed)))
    _expect_a_path(found, lost)
    live = np.flatnonzero(~lost)
    sampler = Sampler(
        found.hops,
        found.source[live],
        found.sink[live],
        found.gbps[live],
        found.capacity_gbps,
        q,
        rule,
        found.inner_utilization,
    )
    known = exact.equal_share if exact is not None else None
    control = known.estimate if known is not None and known.is_exact else None
    drawn = draw(sampler, samples=samples, tolerance=tolerance, seed=seed, exact_equal_share=control, executor=executor)
    how = f"{drawn.n} samples, seed {seed}, 95 % interval"
    last = drawn.looks[-1]

    def of(column: int, most: float) -> Estimate:
        mean, half = drawn.interval(column)
        return Estimate(max(0.0, mean - half), min(most, mean + half), mean, Standing("sampled", how))

    low, high, share = drawn.p_fits
    slowdown = None
    if np.isfinite(drawn.values[:, LARGEST]).all():
        drawn_slow = np.maximum(drawn.values[:, LARGEST], 1.0)
        half = student_half_width(drawn_slow)
        middle = float(drawn_slow.mean())
        slowdown = Estimate(max(1.0, middle - half), middle + half, middle, Standing("sampled", how))
    corrected = f"{how}, corrected by the exact equal share" if drawn.is_corrected else how
    return SampledRates(
        drawn,
        lost,
        Estimate(last.mean - last.half_width, last.mean + last.half_width, last.mean, Standing("sampled", corrected)),
        of(EQUAL, 1.0),
        of(STRIPED, 1.0),
        of(SLOWEST, 1.0),
        slowdown,
        Estimate(low, high, share, Standing("sampled", f"{drawn.n} samples, seed {seed}, Wilson 95 % interval")),
    )
