"""How a measure falls as more and more elements are down at random: the degradation curve with its interval."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from topo.analysis.failures.classes import demand_label, element_classes, is_symmetric
from topo.analysis.failures.degraded import share_of
from topo.analysis.failures.elements import Elements
from topo.analysis.failures.measures import Measure, Value, measure_of
from topo.analysis.failures.survivability import standing_elements
from topo.errors import ParameterError
from topo.fabric import FORWARDS_ALL, Fabric, State
from topo.network import Network
from topo.result import Result, Row, Standing
from topo.routing.scheme import Routing
from topo.symmetry import symmetry
from topo.traffic.demand import Demand
from topo.units import format_number

__all__ = ["CurvePoint", "DegradationCurve", "degradation_curve"]

_STEPS = (1, 2, 4, 8, 16, 32, 64)


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """``n_down`` elements down at random: the share left in the mean, for nine draws in ten, and at worst."""

    n_down: int
    share_mean: float
    share_low: float
    share_high: float
    share_least: float
    cut_off_mean: float
    n_samples: int


@dataclass(frozen=True)
class DegradationCurve(Result):
    """Shares of the healthy measure by the number of elements down, drawn at random among ``n_elements``.

    ``share_low`` and ``share_high`` are the 5 % and 95 % quantiles of the draws: how much a single occasion may
    differ from the mean.
    """

    fabric: str
    measure: str
    unit: str
    kind: str
    n_elements: int
    healthy: float
    points: tuple[CurvePoint, ...]
    seed: int
    standing: Standing

    title: ClassVar[str] = "Capacity as more is down"

    def rows(self) -> list[Row]:
        """One line a point."""
        rows = [Row(f"{self.measure}, nothing more down", self.healthy, self.unit)]
        for point in self.points:
            mean, low, high = (
                format_number(100 * share, 4) for share in (point.share_mean, point.share_low, point.share_high)
            )
            text = f"{mean} % (nine draws in ten: {low} to {high} %)"
            rows.append(Row(f"{point.n_down:,} of {self.n_elements:,} {self.kind}", text, "", self.standing))
        return rows


def degradation_curve(
    fabric: Fabric,
    kind: str = "link",
    measure: str | Demand | Measure = "all-to-all",
    *,
    counts: Sequence[int] = _STEPS,
    samples: int = 16,
    routing: str | Routing = "ecmp",
    state: State | None = None,
    seed: int = 0,
) -> DegradationCurve:
    """The share of a measure that is left with 1, 2, 4, ... elements of a kind down, drawn at random.

    Links are those between switches; switches all that are in the endpoints' network. Each count is drawn ``samples``
    times, each draw without replacement; counts above the number of elements are left out. The shares speak of the
    pairs that still have a path, as in :func:`topo.degraded_capacity`.

    >>> import topo
    >>> f = topo.leaf_spine(leaves=4, spines=4, hosts_per_leaf=4)
    >>> curve = degradation_curve(f, counts=(1,), samples=4)
    >>> round(curve.points[0].share_mean, 4), curve.n_elements
    (0.9375, 16)

    :raises ParameterError: an unknown kind or measure, fewer than one sample, nothing to fail or to lose.
    """
    if samples < 1:
        raise ParameterError(f"samples is {samples}; draw at least one")
    chosen = measure_of(fabric, measure, routing)
    every = _between_switches(standing_elements(fabric, kind, state))
    if not len(every):
        raise ParameterError(f"no {kind} of {fabric.name!r} between switches is there to fail")
    healthy = chosen(state)
    if not 0 < healthy.upper < np.inf:
        raise ParameterError(f"{chosen.name} of {fabric.name!r} is {healthy.upper:g} already without failures")
    alike = _alike(chosen, every, state) if samples > 1 and 1 in counts else np.arange(len(every))
    points = []
    for count in counts:
        if 1 <= count <= len(every):
            points.append(_point(chosen, every, alike, healthy, count, samples, seed, state))
    return DegradationCurve(
        fabric=fabric.name,
        measure=chosen.name,
        unit=chosen.unit,
        kind=f"{kind}s between switches" if kind in ("link", "cable") else f"elements of kind {kind}",
        n_elements=len(every),
        healthy=healthy.lower,
        points=tuple(points),
        seed=seed,
        standing=Standing("sampled", f"{samples} draws, seed {seed}; the interval holds nine draws in ten"),
    )


def _point(
    measure: Measure,
    every: Elements,
    alike: NDArray[np.int64],
    healthy: Value,
    count: int,
    samples: int,
    seed: int,
    state: State | None,
) -> CurvePoint:
    generator = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(count,)))
    shares, cut = np.empty(samples), np.empty(samples)
    known: dict[int, Value] = {}
    for i in range(samples):
        down = generator.choice(len(every), count, replace=False)
        # One down is like every other of its class.
        key = int(alike[down[0]]) if count == 1 else -1 - i
        if key not in known:
            known[key] = measure(every.state(down, base=state))
        shares[i], cut[i] = share_of(known[key].lower, healthy.upper), known[key].cut_off - healthy.cut_off
    low, high = np.quantile(shares, (0.05, 0.95))
    return CurvePoint(
        count, float(shares.mean()), float(low), float(high), float(shares.min()), float(cut.mean()), samples
    )


def _alike(measure: Measure, every: Elements, state: State | None) -> NDArray[np.int64]:
    """Classes of elements that a verified automorphism exchanges, so that the measure without one is the same."""
    if not is_symmetric(measure):
        return np.arange(len(every))
    found = symmetry(Network.of(every.fabric, state=state), label=demand_label(measure))
    return element_classes(every, found)


def _between_switches(every: Elements) -> Elements:
    """Links and cables that join what forwards everything; other kinds as they are."""
    if every.kind not in ("link", "cable"):
        return every
    fabric = every.fabric
    full: NDArray[np.bool_] = fabric.nodes.forwards == FORWARDS_ALL
    first = every.link[every.link_start[:-1]]
    return every.take(np.flatnonzero(full[fabric.link_a[first]] & full[fabric.link_b[first]]))
