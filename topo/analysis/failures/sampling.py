"""States drawn at random, each element down with its own probability, and a measure in each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from topo.analysis.failures.classes import demand_label, element_classes, is_symmetric
from topo.analysis.failures.enumeration import Levels, state_of
from topo.analysis.failures.measures import Measure, Value, question_key
from topo.analysis.failures.rates import RatedElements
from topo.fabric import Fabric, State
from topo.network import Network
from topo.sweep import sweep
from topo.symmetry import symmetry
from topo.table import Array

__all__ = ["sample_states"]

_BATCH = 250
_WORTH_SYMMETRY = 100


def sample_states(
    fabric: Fabric,
    measure: Measure,
    rated: Sequence[RatedElements],
    state: State | None,
    n_samples: int,
    seed: int,
    run: dict[str, Any],
) -> Levels:
    """The measure in ``n_samples`` independent states; a state drawn again in its batch is not evaluated again.

    Where states of one element down will be many, a verified symmetry says which of them are alike.
    """
    healthy = measure(state)
    listed = [entry.elements for entry in rated]
    rates = [entry.unavailability for entry in rated]
    alike = _alike(fabric, measure, rated, state, n_samples)
    shared = (measure, state, listed, rates, healthy, alike)
    sizes = [min(_BATCH, n_samples - low) for low in range(0, n_samples, _BATCH)]
    names = [entry.elements.key for entry in rated]
    kinds = ",".join(entry.elements.kind for entry in rated)
    # "bounds": a checkpoint from when only lower bounds were kept is another sweep's.
    key = question_key(measure, state, f"{n_samples} bounds", kinds, *rates, *names)
    answers = sweep(_draw, shared, sizes, seed=seed, key=key, **run)
    lower, upper, cut_off = (
        np.concatenate([np.asarray(part[name], float) for part in answers]) for name in ("lower", "upper", "cut_off")
    )
    states = sum(int(part["states"]) for part in answers)
    cut_off -= healthy.cut_off
    return Levels(healthy.lower, lower, upper, cut_off, np.full(n_samples, 1 / n_samples), states)


def _alike(
    fabric: Fabric, measure: Measure, rated: Sequence[RatedElements], state: State | None, n_samples: int
) -> list[Array] | None:
    """For each kind the first of the elements that each is like; None where finding them would not pay."""
    none = float(np.exp(sum(np.log1p(-entry.unavailability).sum() for entry in rated)))
    one = none * sum(float((entry.unavailability / (1 - entry.unavailability)).sum()) for entry in rated)
    if not is_symmetric(measure) or n_samples * one < _WORTH_SYMMETRY:
        return None
    found = symmetry(Network.of(fabric, state=state), label=demand_label(measure))
    firsts = []
    for entry in rated:
        _, first, of = np.unique(element_classes(entry.elements, found), return_index=True, return_inverse=True)
        firsts.append(first[of])
    return firsts


def _draw(shared: Any, sizes: Sequence[int], generator: np.random.Generator) -> dict[str, Any]:
    measure, base, listed, unavailability, healthy, alike = shared
    known: dict[tuple[tuple[int, int], ...], Value] = {(): healthy}
    drawn = []
    for _ in range(sum(sizes)):
        down = []
        for kind, share in enumerate(unavailability):
            down += [(kind, int(index)) for index in np.flatnonzero(generator.random(len(share)) < share)]
        if alike is not None and len(down) == 1:
            kind, index = down[0]
            down = [(kind, int(alike[kind][index]))]
        key = tuple(down)
        if key not in known:
            known[key] = measure(state_of(listed, key, base))
        drawn.append(known[key])
    return {
        "lower": np.array([value.lower for value in drawn]),
        "upper": np.array([value.upper for value in drawn]),
        "cut_off": np.array([value.cut_off for value in drawn], float),
        "states": len(known),
    }
