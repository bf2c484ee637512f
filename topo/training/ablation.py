"""What measured steps can tell apart: the model with one part changed, fitted anew, and how well it then does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from topo.errors import ParameterError
from topo.parts.accelerators import Accelerator, accelerator
from topo.result import Result, Row, Standing
from topo.training.answer import TrainingStep
from topo.training.calibrate import Measured, least_squares
from topo.training.step import training_step

__all__ = ["ABLATIONS", "Ablation", "Ablations", "ablations"]

Change = Callable[[Measured], Measured]
Time = Callable[[TrainingStep], float]


def _same(point: Measured) -> Measured:
    return point


def _whole(step: TrainingStep) -> float:
    return step.time_s


def _scale_up(gbyte_s: float) -> Change:
    return lambda point: replace(point, network=replace(point.network, scale_up_gbyte_s=gbyte_s))


def _ideal(gbyte_s: float) -> Change:
    def changed(point: Measured) -> Measured:
        part = _part(point).with_(ring_base_us=0.0, ring_hop_us=0.0)
        return replace(_scale_up(gbyte_s)(point), part=part)

    return changed


def _plan(**changes: bool) -> Change:
    return lambda point: replace(point, plan=point.plan.with_(**changes))


def _memory(passes: float) -> Change:
    def changed(point: Measured) -> Measured:
        part = _part(point)
        return replace(point, part=part.with_(memory_share=part.memory_share / passes))

    return changed


def _optimizer_as_before(passes: float) -> Time:
    # The passes of layers alone are changed, not those of the optimizer.
    return lambda step: step.time_s + step.terms["optimizer"] * (1 / passes - 1)


def _optimizer(bytes_each: float) -> Time:
    return lambda step: step.time_s + step.terms["optimizer"] * (bytes_each / 50 - 1)


def _sends_free(step: TrainingStep) -> float:
    p = step.plan
    # The fill has the sends of (p - 1) more chunks.
    return step.time_s - step.terms["exposed pipeline"] * (1 + (p.pipeline - 1) / (p.micro_batches * p.chunks))


ABLATIONS: dict[str, tuple[Change, Time]] = {
    "reference": (_same, _whole),
    "pipeline sends free": (_same, _sends_free),
    "scale-up at 300 GB/s without latency": (_ideal(300), _whole),
    "scale-up at 195 GB/s": (_scale_up(195), _whole),
    "no bubble": (_same, lambda step: step.time_s - step.terms["bubble"]),
    "no output layer": (_same, lambda step: step.time_s - step.plan.micro_batches * step.head_s),
    "output layer averaged over stages": (
        _same,
        lambda step: step.time_s - step.plan.micro_batches * step.head_s * (1 - 1 / step.plan.pipeline),
    ),
    "no overlap in the backward pass": (_plan(overlap_tensor=False), _whole),
    "optimizer of 16 bytes a parameter": (_same, _optimizer(16)),
    "optimizer of 100 bytes a parameter": (_same, _optimizer(100)),
    "memory passes x 0.8": (_memory(0.8), _optimizer_as_before(0.8)),
    "memory passes x 1.25": (_memory(1.25), _optimizer_as_before(1.25)),
    "no scatter and gather of boundaries": (_plan(scatter_gather=False), _whole),
}
"""Parts of the model by what is done to them: a change of the point, and how the time is read off the step."""


@dataclass(frozen=True, slots=True)
class Ablation:
    """The model with one part changed and its efficiency fitted anew: mean and worst absolute error."""

    name: str
    efficiency: float
    mean_error: float
    worst_error: float


@dataclass(frozen=True)
class Ablations(Result):
    """How well the model does with each part changed: what does not move the errors is not tested by the points."""

    points: int
    lines: tuple[Ablation, ...]
    standing: Standing

    title: ClassVar[str] = "What the measured steps can tell apart"

    def rows(self) -> list[Row]:
        """A line a change."""
        return [
            Row(
                line.name,
                f"mean {100 * line.mean_error:.1f} %, worst {100 * line.worst_error:.1f} %, "
                f"efficiency {line.efficiency:.3f}",
                standing=self.standing if line is self.lines[0] else None,
            )
            for line in self.lines
        ]


def ablations(points: Sequence[Measured], names: Sequence[str] | None = None) -> Ablations:
    """Each of :data:`ABLATIONS` (or those named) fitted anew on the points: mean and worst relative error.

    A change that is wrong by construction and does no worse (no bubble, on the eight points of 2022) shows that the
    one fitted number takes its place: the points cannot prove that part, which rests on its source instead.

    >>> from topo.training.published import megatron_2022
    >>> found = ablations(megatron_2022(), ["reference", "no bubble"])
    >>> [(line.name, round(100 * line.mean_error, 1)) for line in found.lines]
    [('reference', 2.0), ('no bubble', 1.9)]

    :raises ParameterError: no point, or an unknown name.
    """
    if not points:
        raise ParameterError("nothing to fit on: no measured step is given")
    chosen = list(ABLATIONS) if names is None else list(names)
    for name in chosen:
        if name not in ABLATIONS:
            raise ParameterError(f"unknown change {name!r}; known: {', '.join(ABLATIONS)}")
    return Ablations(
        points=len(points),
        lines=tuple(_refitted(name, points) for name in chosen),
        standing=Standing("model", f"one efficiency fitted anew on {len(points)} points for each line"),
    )


def _refitted(name: str, points: Sequence[Measured]) -> Ablation:
    change, time = ABLATIONS[name]
    changed = [change(point) for point in points]

    def off(efficiency: float) -> NDArray[np.float64]:
        return np.array([_seconds(point, time, efficiency) / point.time_s - 1 for point in changed])

    efficiency = least_squares(off)
    errors = np.abs(off(efficiency))
    return Ablation(name, efficiency, float(errors.mean()), float(errors.max()))


def _seconds(point: Measured, time: Time, efficiency: float) -> float:
    return time(
        training_step(
            point.model, point.plan, part=point.part, network=point.network, efficiency=efficiency, check_memory=False
        )
    )


def _part(point: Measured) -> Accelerator:
    return accelerator(point.part) if isinstance(point.part, str) else point.part
