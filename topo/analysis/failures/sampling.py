"""States drawn at random, each element down with its own probability, and a measure in each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from topo.analysis.failures.enumeration import Levels, state_of
from topo.analysis.failures.measures import Measure, question_key
from topo.analysis.failures.rates import RatedElements
from topo.fabric import Fabric, State
from topo.sweep import sweep

__all__ = ["sample_states"]

_BATCH = 250


def sample_states(
    fabric: Fabric,
    measure: Measure,
    rated: Sequence[RatedElements],
    state: State | None,
    n_samples: int,
    seed: int,
    run: dict[str, Any],
) -> Levels:
    """The measure in ``n_samples`` independent states; a state drawn again in its batch is not evaluated again."""
    healthy = measure(state)
    listed = [entry.elements for entry in rated]
    shared = (measure, state, listed, [entry.unavailability for entry in rated], healthy)
    sizes = [min(_BATCH, n_samples - low) for low in range(0, n_samples, _BATCH)]
    rates = [entry.unavailability for entry in rated]
    names = [entry.elements.key for entry in rated]
    kinds = ",".join(entry.elements.kind for entry in rated)
    key = question_key(measure, state, str(n_samples), kinds, *rates, *names)
    answers = sweep(_draw, shared, sizes, seed=seed, key=key, **run)
    lower = np.concatenate([np.asarray(part["lower"], float) for part in answers])
    cut_off = np.concatenate([np.asarray(part["cut_off"], float) for part in answers]) - healthy.cut_off
    states = sum(int(part["states"]) for part in answers)
    return Levels(healthy.lower, lower, cut_off, np.full(n_samples, 1 / n_samples), states)


def _draw(shared: Any, sizes: Sequence[int], generator: np.random.Generator) -> dict[str, Any]:
    measure, base, listed, unavailability, healthy = shared
    known: dict[tuple[tuple[int, int], ...], tuple[float, int]] = {(): (healthy.lower, healthy.cut_off)}
    drawn = []
    for _ in range(sum(sizes)):
        down = []
        for kind, share in enumerate(unavailability):
            down += [(kind, int(index)) for index in np.flatnonzero(generator.random(len(share)) < share)]
        key = tuple(down)
        if key not in known:
            value = measure(state_of(listed, key, base))
            known[key] = (value.lower, value.cut_off)
        drawn.append(known[key])
    return {
        "lower": np.array([value for value, _ in drawn]),
        "cut_off": np.array([cut for _, cut in drawn], float),
        "states": len(known),
    }
