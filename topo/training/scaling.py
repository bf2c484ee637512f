"""Scaling efficiency of a job over more accelerators, on one fabric, with Amdahl's terms measured from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from topo.errors import ParameterError
from topo.fabric import Fabric
from topo.parts.models import ModelShape, model_shape
from topo.result import Result, Row, Standing
from topo.training.plan import Plan
from topo.training.step import training_step

__all__ = ["Scaling", "scaling_efficiency"]


@dataclass(frozen=True)
class Scaling(Result):
    """Steps of one job at several sizes; efficiency is speed over that of the smallest times the ratio of sizes."""

    model: str
    mode: str
    ranks: tuple[int, ...]
    time_s: tuple[float, ...]
    mfu: tuple[float, ...]
    efficiency: tuple[float, ...]
    network_share: tuple[float, ...]
    serial_s: float
    parallel_s: float
    standing: Standing

    title: ClassVar[str] = "Scaling efficiency"

    def rows(self) -> list[Row]:
        """One line a size, then Amdahl's terms."""
        rows = [Row("model", f"{self.model}, {self.mode} scaling")]
        for n, time, mfu, share, net in zip(
            self.ranks, self.time_s, self.mfu, self.efficiency, self.network_share, strict=True
        ):
            said = f"{time:.4g} s, efficiency {100 * share:.1f} %, MFU {100 * mfu:.1f} %, network {100 * net:.1f} %"
            rows.append(Row(f"{n:,} accelerators", said, standing=self.standing))
        if self.mode == "strong":
            rows.append(Row("does not shrink with accelerators", self.serial_s, "s a step"))
            rows.append(Row("shrinks, at the smallest size", self.parallel_s, "s a step"))
        return rows


def scaling_efficiency(
    model: ModelShape | str,
    plan: Plan,
    replicas: Sequence[int],
    *,
    mode: str = "strong",
    fabric: Fabric | None = None,
    placement: ArrayLike | None = None,
    **given: Any,
) -> Scaling:
    """Steps with so many data-parallel replicas: the same batch for all (strong), or the same a replica (weak).

    Strong efficiency is T_1 n_1 / (T_n n), weak T_1 / T_n. Amdahl's terms are the least-squares T(n) = serial +
    parallel n_1/n of the strong times. On a ``fabric`` each size takes the first ranks of ``placement``. Other
    arguments as :func:`~topo.training.step.training_step`.

    >>> plan = Plan(batch=512, tensor=8, pipeline=8, chunks=3, recompute="full")
    >>> found = scaling_efficiency("gpt-175b", plan, [1, 2, 4], part="a100-80gb")
    >>> found.efficiency[0], found.efficiency[0] > found.efficiency[1] > found.efficiency[2]
    (1.0, True)

    :raises ParameterError: no size, an unknown mode, or what :func:`training_step` refuses.
    """
    if mode not in ("strong", "weak"):
        raise ParameterError(f"mode is {mode!r}; known: strong, weak")
    if not len(replicas):
        raise ParameterError("no number of replicas is given; name one or more")
    shape = model_shape(model) if isinstance(model, str) else model
    rows = None if fabric is None else np.asarray(fabric.endpoints if placement is None else placement, np.int64)
    steps = []
    for d in replicas:
        batch = plan.batch if mode == "strong" else plan.batch // plan.data * d
        sized = plan.with_(data=d, batch=batch)
        if rows is not None and sized.ranks > len(rows):
            raise ParameterError(f"{d} replicas are {sized.ranks:,} ranks, but the placement has {len(rows):,}")
        here = None if rows is None else rows[: sized.ranks]
        steps.append(training_step(shape, sized, fabric=fabric, placement=here, **given))
    times = np.array([step.time_s for step in steps])
    n = np.array([step.ranks for step in steps], float)
    efficiency = times[0] / times * (n[0] / n if mode == "strong" else 1.0)
    serial, parallel = _amdahl(n, times) if mode == "strong" else (float(times[0]), 0.0)
    return Scaling(
        model=shape.name,
        mode=mode,
        ranks=tuple(step.ranks for step in steps),
        time_s=tuple(times.tolist()),
        mfu=tuple(step.mfu for step in steps),
        efficiency=tuple(efficiency.tolist()),
        network_share=tuple(step.network_share for step in steps),
        serial_s=serial,
        parallel_s=parallel,
        standing=Standing("model", "one calibrated number, the same at every size; no stragglers unless stated"),
    )


def _amdahl(n: np.ndarray[Any, Any], times: np.ndarray[Any, Any]) -> tuple[float, float]:
    """Serial and parallel seconds at the first size, by least squares, neither below 0."""
    if len(n) == 1:
        return 0.0, float(times[0])
    from scipy.optimize import nnls

    found, _ = nnls(np.stack([np.ones(len(n)), n[0] / n], axis=1), times)
    return float(found[0]), float(found[1])
