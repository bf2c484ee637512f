"""States with none, one or two elements down, each class of equal ones evaluated once, with exact probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topo.analysis.failures.classes import demand_label, element_classes, is_symmetric
from topo.analysis.failures.elements import Elements
from topo.analysis.failures.measures import Measure, Value, question_key
from topo.analysis.failures.rates import RatedElements
from topo.fabric import Fabric, State
from topo.network import Network
from topo.sweep import sweep
from topo.symmetry import symmetry

__all__ = ["Levels", "enumerate_states", "state_of"]

_MOST_PAIR_STATES = 20_000


@dataclass(frozen=True, eq=False)
class Levels:
    """Values of a measure with the probability of the states they were found in."""

    healthy: float
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    cut_off: NDArray[np.float64]
    probability: NDArray[np.float64]
    n_states: int

    @property
    def is_exact(self) -> bool:
        """Whether the bounds of the measure meet in every state."""
        return np.array_equal(self.lower, self.upper)


@dataclass(frozen=True, slots=True)
class _Job:
    """States that are alike: one element of each (kind, index) down, together of this probability."""

    down: tuple[tuple[int, int], ...]
    probability: float


def enumerate_states(
    fabric: Fabric, measure: Measure, rated: Sequence[RatedElements], state: State | None, run: dict[str, Any]
) -> Levels:
    """Evaluate all states of at most two elements down; pairs are left out where they would be too many.

    With odds o_i = U_i / (1 - U_i): P(none) = prod (1 - U_i), P(exactly S) = P(none) prod over S of o_i.
    """
    odds = [entry.unavailability / (1 - entry.unavailability) for entry in rated]
    p_none = float(np.exp(sum(np.log1p(-entry.unavailability).sum() for entry in rated)))
    classes = _Classes(fabric, measure, [entry.elements for entry in rated], odds, state)
    jobs = [_Job((), p_none)]
    singles = classes.after(())
    jobs += [_Job((one.first,), p_none * one.odds) for one in singles]
    pairs: list[_Job] = []
    room = _MOST_PAIR_STATES
    for one in singles:
        second = classes.after((one.first,))
        room -= len(second)
        if room < 0:
            pairs = []
            break
        # Each unordered pair is met twice, once from either side.
        pairs += [_Job((one.first, other.first), p_none * one.odds * other.odds / 2) for other in second]
    jobs += pairs
    shared = (measure, state, [entry.elements for entry in rated])
    batch = max(1, min(64, len(jobs) // 64))
    downs = [job.down for job in jobs]
    kinds = ",".join(entry.elements.kind for entry in rated)
    names = [entry.elements.key for entry in rated]
    key = question_key(measure, state, repr(downs), kinds, *names)
    answers = sweep(_evaluate, shared, downs, batch=batch, key=key, **run)
    values = [Value(*entry) for part in answers for entry in part]
    return Levels(
        values[0].lower,
        np.array([value.lower for value in values]),
        np.array([value.upper for value in values]),
        np.array([value.cut_off - values[0].cut_off for value in values], float),
        np.array([job.probability for job in jobs]),
        len(jobs),
    )


def state_of(listed: Sequence[Elements], down: Sequence[tuple[int, int]], base: State | None) -> State | None:
    """The state with (kind, index) elements down on top of ``base``."""
    state = base
    for kind, index in down:
        state = listed[kind].state([index], base=state)
    return state


def _evaluate(shared: Any, jobs: Sequence[Any], generator: np.random.Generator) -> list[list[float]]:
    measure, base, listed = shared
    values = (measure(state_of(listed, down, base)) for down in jobs)
    return [[v.lower, v.upper, v.cut_off, v.reduced, v.lost_pairs] for v in values]


@dataclass(frozen=True, slots=True)
class _Alike:
    """Elements that are alike: one of them, and their odds summed (those already down left out)."""

    first: tuple[int, int]
    odds: float


class _Classes:
    """Classes of what can fail next, given what is down."""

    def __init__(
        self,
        fabric: Fabric,
        measure: Measure,
        listed: Sequence[Elements],
        odds: Sequence[NDArray[np.float64]],
        base: State | None,
    ) -> None:
        self.fabric, self.listed, self.odds, self.base = fabric, listed, odds, base
        self.label = demand_label(measure)
        # Classes serve pairs only where elements of one class are equally likely down.
        uniform = all(len(np.unique(o)) <= 1 for o in odds)
        self.symmetric = is_symmetric(measure) and uniform

    def after(self, down: tuple[tuple[int, int], ...]) -> list[_Alike]:
        """Classes of the elements not in ``down``, with those down kept apart."""
        found = None
        if self.symmetric:
            state = state_of(self.listed, down, self.base)
            found = symmetry(Network.of(self.fabric, state=state), label=self.label)
        out = []
        for kind, every in enumerate(self.listed):
            of = element_classes(every, found)
            weight = self.odds[kind].copy()
            for other, index in down:
                if other == kind:
                    weight[index] = 0.0
            total = np.bincount(of, weights=weight)
            # The representative must not be the one that is down already.
            open_rows = np.flatnonzero(weight > 0)
            numbers, first = np.unique(of[open_rows], return_index=True)
            out += [_Alike((kind, int(open_rows[i])), float(total[c])) for c, i in zip(numbers, first, strict=True)]
        return out
