"""Exposed time against bandwidth: where a step starts to wait, and how much it waits below."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from topo.errors import ParameterError
from topo.result import Result, Row, Standing
from topo.training.answer import TrainingStep

__all__ = ["Exposure", "Knee", "exposure"]


@dataclass(frozen=True, slots=True)
class Knee:
    """A window: ``bytes`` travel ``count`` times a step behind ``window_s`` of work; hidden above ``gbyte_s``."""

    primitive: str
    when: str
    bytes: float
    alpha_s: float
    window_s: float
    count: float
    gbyte_s: float


@dataclass(frozen=True)
class Exposure(Result):
    """Seconds a step that one dimension's collectives are waited for, by the rate its groups get."""

    dimension: str
    now_gbyte_s: float
    knees: tuple[Knee, ...]
    curve: tuple[tuple[float, float], ...]
    standing: Standing

    title: ClassVar[str] = "Exposed time against bandwidth"

    def rows(self) -> list[Row]:
        """The rate now, the knees, the curve."""
        rows = [Row(f"rate of {self.dimension} groups now", self.now_gbyte_s, "GB/s", self.standing)]
        for knee in self.knees:
            said = f"{knee.gbyte_s:.4g} GB/s" if np.isfinite(knee.gbyte_s) else "never hidden"
            rows.append(Row(f"{knee.primitive} ({knee.when}) hidden above", said))
        return rows + [Row(f"exposed at {rate:.4g} GB/s", seconds, "s a step") for rate, seconds in self.curve]


def exposure(step: TrainingStep, dimension: str, rates_gbyte_s: Sequence[float] | None = None) -> Exposure:
    """Exposed time of a dimension as its rate B changes: sum of count x max(0, V/B + alpha - window).

    Convex and piecewise in 1/B; each window has its knee at V / (window - alpha), below which it is too short, and
    none where the window is shorter than the latency. By default from an eighth of the rate at hand to four times.

    >>> from topo.training.plan import Plan
    >>> from topo.training.step import training_step
    >>> plan = Plan(batch=64, tensor=8, pipeline=8, chunks=3, recompute="full")
    >>> found = exposure(training_step("gpt-175b", plan, part="a100-80gb"), "tensor")
    >>> sorted(round(knee.gbyte_s) for knee in found.knees if knee.window_s)
    [65, 90]

    :raises ParameterError: a dimension whose collectives a layer does not wait for, a rate not above 0.
    """
    mine = [(wait, count) for wait, count in step.waits if wait.dimension == dimension]
    if not mine:
        known = sorted({wait.dimension for wait, _ in step.waits})
        raise ParameterError(f"no layer waits for {dimension!r}; this job has {', '.join(known) or 'none'}")
    now = step.rates[dimension].gbyte_s
    chosen = np.asarray(rates_gbyte_s if rates_gbyte_s is not None else now * 2.0 ** np.arange(-3, 3), float)
    if not (chosen > 0).all():
        raise ParameterError(f"a rate is {chosen.min()}; rates must be above 0")
    knees: dict[tuple[str, str, float], Knee] = {}
    total: NDArray[np.float64] = np.zeros(len(chosen))
    for wait, count in mine:
        # What the rate does not explain of the time is latency; skewed experts wait for more bytes than they send.
        moved = wait.sent_bytes * (step.plan.expert_skew if dimension == "expert" else 1.0)
        alpha = wait.time_s - moved / (now * 1e9)
        total += count * np.maximum(0.0, moved / (chosen * 1e9) + alpha - wait.window_s)
        left = wait.window_s - alpha
        key = (wait.primitive, wait.when, wait.window_s)
        before = knees[key].count if key in knees else 0.0
        at = moved / left / 1e9 if left > 0 else float("inf")
        knees[key] = Knee(wait.primitive, wait.when, moved, alpha, wait.window_s, before + count, at)
    return Exposure(
        dimension, now, tuple(knees.values()), tuple(zip(chosen.tolist(), total.tolist(), strict=True)),
        Standing("model", "windows as the step states them; the output layer's own collective is not among them"),
    )  # fmt: skip
