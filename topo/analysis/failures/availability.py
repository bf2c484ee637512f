"""How much of a fabric there is, and how often: the distribution of a measure over the states failures make."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from topo.analysis.failures.enumeration import Levels, enumerate_states
from topo.analysis.failures.measures import Measure, measure_of
from topo.analysis.failures.rates import FailureRates, RatedElements
from topo.analysis.failures.sampling import sample_states
from topo.analysis.intervals import student_half_width
from topo.errors import ParameterError
from topo.fabric import Fabric, State
from topo.parts.failure_rates import HOURS_PER_YEAR
from topo.result import Result, Row, Standing, hidden
from topo.routing.scheme import Routing
from topo.sweep import Progress
from topo.traffic import Demand
from topo.units import format_number, format_range

__all__ = ["Availability", "availability"]

_SHOWN = (0.9, 0.99, 0.999)


@dataclass(frozen=True)
class Availability(Result):
    """The level of a measure over time, as a distribution: level i or better with probability ``at_least[i]``.

    From enumeration the probabilities are exact up to ``unknown``, the share of time in states not enumerated,
    which :meth:`held` counts as nothing at all (lower) or as the best level (upper). From sampling they are
    frequencies of ``n_samples`` independent states, and the bounds are a 95 % confidence interval.
    """

    fabric: str
    measure: str
    unit: str
    method: str
    healthy: float
    mean_lower: float
    mean_upper: float
    expected_down: float
    cut_off_mean: float
    unknown: float
    n_states: int
    n_samples: int
    seed: int
    assumptions: tuple[str, ...]
    standing: Standing
    level: NDArray[np.float64] = hidden()
    """Values of the measure that occur (lower bounds), ascending."""
    probability: NDArray[np.float64] = hidden()

    title: ClassVar[str] = "Capacity over time"
    derived: ClassVar[tuple[str, ...]] = ("curve",)

    @property
    def at_least(self) -> NDArray[np.float64]:
        """Probability of level i or better, states not enumerated counted as worse."""
        return np.asarray(self.probability[::-1].cumsum()[::-1])

    @property
    def curve(self) -> list[dict[str, float]]:
        """Levels with the share of time each is held at least, at most 200 points."""
        pick = np.unique(np.linspace(0, len(self.level) - 1, min(len(self.level), 200)).round().astype(int))
        held = self.at_least
        return [{"level": float(self.level[i]), "held_at_least": float(held[i])} for i in pick]

    def held(self, share: float) -> tuple[float, float]:
        """Bounds of the level held at least ``share`` of the time.

        :raises ParameterError: ``share`` outside 0 to 1.
        """
        if not 0 < share < 1:
            raise ParameterError(f"share is {share}; it must lie between 0 and 1, such as 0.99")
        if self.method == "monte-carlo":
            return self._sampled(share)
        known = self.at_least
        return _level_at(self.level, known, share), _level_at(self.level, known + self.unknown, share)

    def held_gbps(self, share: float) -> float:
        """The level held at least ``share`` of the time; the lower bound where only bounds are known."""
        return self.held(share)[0]

    def minutes_a_year_below(self, level: float) -> tuple[float, float]:
        """Bounds of the minutes in a year with less than ``level``."""
        below = float(self.probability[self.level < level * (1 - 1e-12)].sum())
        minutes = HOURS_PER_YEAR * 60
        return below * minutes, min(1.0, below + self.unknown) * minutes

    def rows(self) -> list[Row]:
        """Levels held, mean, time below the healthy level, and what it rests on."""
        rows = [Row(f"{self.measure}, healthy", self.healthy, self.unit)]
        for share in _SHOWN:
            low, high = self.held(share)
            said = format_range(low, high)
            rows.append(Row(f"held {format_number(100 * share)} % of the time", said, self.unit, self.standing))
        low, high = self.minutes_a_year_below(self.healthy)
        said = format_range(low, high, 4)
        rows += [
            Row("mean over time", format_range(self.mean_lower, self.mean_upper), self.unit, self.standing),
            Row("below the healthy level", said, "minutes a year"),
            Row("elements down at any time, mean", self.expected_down),
            Row("endpoints cut off, mean", self.cut_off_mean),
            Row("states evaluated", self.n_states),
        ]
        if self.method == "monte-carlo":
            rows.append(Row("sampled states", f"{self.n_samples:,} (seed {self.seed})"))
        else:
            rows.append(Row("time in states not enumerated", 100 * self.unknown, "%"))
        return rows

    def _sampled(self, share: float) -> tuple[float, float]:
        """Order statistics that bracket the quantile with 95 % confidence, whatever the distribution."""
        from scipy.stats import binom

        n = self.n_samples
        count = np.round(self.probability * n).astype(np.int64)
        ranks = np.repeat(self.level, count)
        low = int(np.asarray(binom.ppf(0.025, n, 1 - share)))
        high = min(int(np.asarray(binom.ppf(0.975, n, 1 - share))), n - 1)
        return float(ranks[max(low - 1, 0)]), float(ranks[high])


def availability(
    fabric: Fabric,
    measure: str | Demand | Measure = "all-to-all",
    rates: FailureRates | str | Path | dict[str, Any] | None = None,
    *,
    method: str = "enumeration",
    state: State | None = None,
    routing: str | Routing = "ecmp",
    n_samples: int = 10_000,
    seed: int = 0,
    executor: Executor | None = None,
    workers: int | None = 1,
    checkpoint: str | Path | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Availability:
    """The share of time a measure keeps each level, from failure rates and repair times of the elements.

    Element i is down a share U_i = MTTR / (MTBF + MTTR) of the time, independently. ``method="enumeration"``
    evaluates every state with none, one or two elements down (equal ones once, by verified symmetry) with their
    exact probabilities; the rest is bounded. ``"monte-carlo"`` draws ``n_samples`` states through
    :func:`topo.sweep.sweep`: the same answer for a seed on any number of workers. ``rates`` are a file, a mapping
    or :class:`FailureRates`; published ones of links and switches by default, whose repair times are assumed.

    >>> import topo
    >>> f = topo.leaf_spine(leaves=4, spines=4, hosts_per_leaf=4)
    >>> answer = availability(f, rates={"switch:spine-*": {"mtbf_h": 999, "mttr_h": 1}})
    >>> round(float(answer.at_least[-1]), 6), answer.held_gbps(0.99)
    (0.996006, 400.0)

    :raises ParameterError: an unknown method or measure, fewer than 100 samples.
    :raises InputError: a rates file that cannot be used, at its line; a checkpoint of another sweep.
    """
    chosen = measure_of(fabric, measure, routing)
    stated = FailureRates.of(rates)
    rated = [entry for entry in stated.on(fabric) if len(entry.elements)]
    if not rated:
        raise ParameterError(f"the failure rates name nothing that is in {fabric.name!r}")
    run = {"executor": executor, "workers": workers, "checkpoint": checkpoint, "progress": progress}
    if method == "enumeration":
        found = enumerate_states(fabric, chosen, rated, state, run)
    elif method == "monte-carlo":
        if n_samples < 100:
            raise ParameterError(f"n_samples is {n_samples}; at least 100 are needed for an interval")
        found = sample_states(fabric, chosen, rated, state, n_samples, seed, run)
    else:
        raise ParameterError(f"unknown method {method!r}; known: enumeration, monte-carlo")
    return _answer(fabric, chosen, stated, rated, found, method, n_samples, seed)


def _answer(
    fabric: Fabric,
    measure: Measure,
    stated: FailureRates,
    rated: Sequence[RatedElements],
    found: Levels,
    method: str,
    n_samples: int,
    seed: int,
) -> Availability:
    # Values that differ in their last digits are one level.
    _, first, inverse = np.unique(np.round(found.lower, 9), return_index=True, return_inverse=True)
    level = found.lower[first]
    probability = np.asarray(np.bincount(inverse, weights=found.probability), dtype=np.float64)
    low, high = float(found.lower @ found.probability), float(found.upper @ found.probability)
    bounded = "" if found.is_exact else "; levels are lower bounds where the measure is a bracket"
    if method == "monte-carlo":
        low -= student_half_width(found.lower)
        high += student_half_width(found.upper)
        standing = Standing("sampled", f"{n_samples:,} independent states, seed {seed}, 95 % interval{bounded}")
        unknown = 0.0
    else:
        unknown = max(0.0, 1.0 - float(found.probability.sum()))
        high += unknown * float(found.upper.max())
        exact = "exact" if unknown < 1e-12 and found.is_exact else "bracket"
        standing = Standing(exact, f"every state of at most two elements down; others bounded{bounded}")
    return Availability(
        fabric=fabric.name,
        measure=measure.name,
        unit=measure.unit,
        method=method,
        healthy=found.healthy,
        mean_lower=low,
        mean_upper=high,
        expected_down=float(sum(entry.unavailability.sum() for entry in rated)),
        cut_off_mean=float(found.cut_off @ found.probability),
        unknown=unknown,
        n_states=found.n_states,
        n_samples=n_samples if method == "monte-carlo" else 0,
        seed=seed,
        assumptions=("elements fail independently", *stated.assumptions),
        standing=standing,
        level=level,
        probability=probability,
    )


def _level_at(level: NDArray[np.float64], held: NDArray[np.float64], share: float) -> float:
    """Greatest level held at least ``share`` of the time; 0 if none is."""
    enough = np.flatnonzero(held >= share - 1e-15)
    return float(level[enough[-1]]) if enough.size else 0.0
