"""Published steps beside predictions: the error, the network's share, and what a linear scaling would have said."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from topo.parts.accelerators import calibration
from topo.result import Result, Row, Standing
from topo.training.answer import TrainingStep
from topo.training.calibrate import Measured, fit_efficiency
from topo.training.published import llama_3, megascale, megatron_2021, megatron_2022, megatron_on_megascale
from topo.training.step import training_step

__all__ = ["Comparison", "PublishedComparisons", "published_comparisons"]


@dataclass(frozen=True, slots=True)
class Comparison:
    """One published point: what was measured and predicted (``unit`` s or TFLOP/s), and the network's share of it.

    ``linear`` is what the first point of its series promises if nothing were lost by growing; nan where a series has
    no other size of the same job. ``is_base`` marks points that the efficiency was fitted on.
    """

    series: str
    label: str
    ranks: int
    unit: str
    measured: float
    predicted: float
    linear: float
    network_share: float
    is_base: bool

    @property
    def error(self) -> float:
        """Predicted over measured, less 1."""
        return self.predicted / self.measured - 1

    @property
    def linear_error(self) -> float:
        """The same of the linear scaling."""
        return self.linear / self.measured - 1


@dataclass(frozen=True)
class PublishedComparisons(Result):
    """Every published point that the model of a step is judged by."""

    points: tuple[Comparison, ...]
    standing: Standing

    title: ClassVar[str] = "Published steps beside predictions"

    @property
    def series(self) -> tuple[str, ...]:
        """Names of the series, in order."""
        return tuple(dict.fromkeys(point.series for point in self.points))

    def of(self, series: str) -> tuple[Comparison, ...]:
        """The points of one series."""
        return tuple(point for point in self.points if point.series == series)

    def mean_and_worst(self, series: str) -> tuple[float, float]:
        """Mean and largest absolute error of a series, points that were fitted on left out where there are others."""
        points = [p for p in self.of(series) if not p.is_base] or list(self.of(series))
        off = np.abs([p.error for p in points])
        return float(off.mean()), float(off.max())

    def rows(self) -> list[Row]:
        """A line a point, series by series, each with its mean and worst error."""
        rows = []
        for name in self.series:
            mean, worst = self.mean_and_worst(name)
            rows.append(Row(name, f"mean error {100 * mean:.1f} %, worst {100 * worst:.1f} %", standing=self.standing))
            rows += [Row(f"  {p.label}", _line(p)) for p in self.of(name)]
        return rows


def _line(p: Comparison) -> str:
    said = f"measured {p.measured:.4g} {p.unit}, predicted {p.predicted:.4g} ({_percent(p.error)})"
    if math.isfinite(p.linear):
        said += f", linear {p.linear:.4g} ({_percent(p.linear_error)})"
    said += f", network {100 * p.network_share:.1f} %"
    return said + (", fitted on" if p.is_base else "")


def _percent(share: float) -> str:
    return f"{round(100 * share, 1) + 0.0:+.1f} %"


def published_comparisons() -> PublishedComparisons:
    """All published points by series, each predicted with the one efficiency frozen that its series says.

    Megatron-LM's eight points of 2022 gave the A100's efficiency (fitted on all eight, so their errors flatter; see
    :func:`~topo.training.calibrate.left_out_errors`) and reduce no gradients between hosts; the ten of 2021 and
    MegaScale's Megatron-LM column are predicted with it. MegaScale's own code and Llama 3 are each fitted on their
    smallest point. The linear scaling takes the smallest point of the same job: time x ranks (and TFLOP/s an
    accelerator) stay as they are. Sources are those of :mod:`topo.training.published`.

    >>> found = published_comparisons()
    >>> [(p.label, round(100 * p.error, 1), round(100 * p.linear_error, 1)) for p in found.of("MegaScale")[1:]]
    [('6,144', -1.9, -3.1), ('8,192', -5.3, -7.2), ('12,288', -3.3, -6.7)]
    """
    frozen = calibration("a100-megatron").efficiency
    own = megascale()
    on_megascale = megatron_on_megascale()
    points = _times("Megatron-LM 2022", megatron_2022(), frozen, fitted=8)
    points += _times("Megatron-LM 2021", megatron_2021(), frozen)
    points += _times("Megatron-LM on MegaScale, batch 768", on_megascale[:4], frozen, scales=True)
    points += _times("Megatron-LM on MegaScale, batch 6144", on_megascale[4:], frozen, scales=True)
    points += _times("MegaScale", own, fit_efficiency(own[:1]), scales=True, fitted=1)
    points += _llama()
    return PublishedComparisons(tuple(points), Standing("model", "one efficiency an accelerator and code, frozen"))


def _step(point: Measured, efficiency: float, count: str = "full") -> TrainingStep:
    return training_step(
        point.model, point.plan, part=point.part, network=point.network, efficiency=efficiency, count=count,
        check_memory=False,
    )  # fmt: skip


def _times(
    series: str, points: Sequence[Measured], efficiency: float, *, scales: bool = False, fitted: int = 0
) -> list[Comparison]:
    out = []
    work = points[0].time_s * points[0].plan.ranks
    for i, point in enumerate(points):
        found = _step(point, efficiency)
        linear = work / point.plan.ranks if scales else math.nan
        out.append(
            Comparison(
                series, point.label, point.plan.ranks, "s", point.time_s, found.time_s, linear, found.network_share,
                i < fitted,
            )
        )  # fmt: skip
    return out


def _llama() -> list[Comparison]:
    """Printed TFLOP/s an accelerator; the linear scaling is a constant MFU."""
    efficiency = calibration("h100-llama-3").efficiency
    rows = llama_3()
    out = []
    for i, (point, rate) in enumerate(rows):
        found = _step(point, efficiency, "causal")
        linear = rows[0][1] if i < 2 else math.nan  # the third trains on another sequence
        out.append(
            Comparison(
                "Llama 3", point.label, point.plan.ranks, "TFLOP/s", rate, found.tflops_per_accelerator, linear,
                found.network_share, i == 0,
            )
        )  # fmt: skip
    return out
