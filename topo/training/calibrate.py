"""Fitting the one parameter, and judging the fit by what it was not shown."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from topo.errors import ParameterError
from topo.parts.accelerators import Accelerator
from topo.parts.models import ModelShape
from topo.training.plan import Plan
from topo.training.rates import Interconnect
from topo.training.step import training_step

__all__ = ["Measured", "errors", "fit_efficiency", "least_squares", "left_out_errors", "predicted_s"]


@dataclass(frozen=True, slots=True)
class Measured:
    """One measured step: what ran, on what, and how long it took. ``family`` groups rows that are left out together."""

    label: str
    model: str | ModelShape
    plan: Plan
    time_s: float
    part: str | Accelerator
    network: Interconnect
    family: str = ""
    source: str = ""


def predicted_s(point: Measured, efficiency: float) -> float:
    """Time of the step at an efficiency; memory is not looked at, for it did run."""
    answer = training_step(
        point.model, point.plan, part=point.part, network=point.network, efficiency=efficiency, check_memory=False
    )
    return answer.time_s


def errors(points: Sequence[Measured], efficiency: float) -> NDArray[np.float64]:
    """Relative error of each prediction: predicted over measured, less 1."""
    return np.array([predicted_s(point, efficiency) / point.time_s - 1 for point in points])


def fit_efficiency(points: Sequence[Measured]) -> float:
    """The efficiency with the least sum of squared relative errors, to 1e-5.

    :raises ParameterError: no points.
    """
    if not points:
        raise ParameterError("nothing to fit on: no measured step is given")
    return least_squares(lambda share: errors(points, share))


def least_squares(off: Callable[[float], NDArray[np.float64]]) -> float:
    """The efficiency from 0.05 to 1 at which the squares of what is ``off`` sum to least, to 1e-5."""
    from scipy.optimize import minimize_scalar

    found = minimize_scalar(
        lambda share: float((off(share) ** 2).sum()), bounds=(0.05, 1.0), method="bounded", options={"xatol": 1e-5}
    )
    return float(found.x)


def left_out_errors(points: Sequence[Measured], *, by_family: bool = False) -> NDArray[np.float64]:
    """Relative error of each point predicted by a fit that was not shown it, or not shown its whole family.

    :raises ParameterError: fewer than two points, or families.
    """
    keys = [point.family if by_family else str(i) for i, point in enumerate(points)]
    if len(set(keys)) < 2:
        raise ParameterError(f"{len(set(keys))} group(s) of points; leaving one out needs at least two")
    out = np.empty(len(points))
    for key in dict.fromkeys(keys):
        share = fit_efficiency([point for point, own in zip(points, keys, strict=True) if own != key])
        for i, own in enumerate(keys):
            if own == key:
                out[i] = errors([points[i]], share)[0]
    return out
