"""What failures leave of a training run: how long until one stops it, how often to save, how much time counts."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from topo.errors import ParameterError
from topo.result import Result, Row, Standing

__all__ = ["TrainingTime", "effective_training_time"]


@dataclass(frozen=True)
class TrainingTime(Result):
    """Share of wall time a job spends on progress that is kept, at a checkpoint interval."""

    mttf_h: float
    checkpoint_interval_s: float
    checkpoint_write_s: float
    restart_s: float
    is_best_interval: bool
    effective_share: float
    standing: Standing

    title: ClassVar[str] = "Effective training time"

    def rows(self) -> list[Row]:
        """The share first, then what it rests on."""
        best = "the best" if self.is_best_interval else "as given"
        return [
            Row("time that makes kept progress", 100 * self.effective_share, "%", self.standing),
            Row("mean time to a job-stopping failure", self.mttf_h, "h"),
            Row(f"checkpoint interval, {best}", self.checkpoint_interval_s, "s"),
            Row("blocking time of a checkpoint", self.checkpoint_write_s, "s"),
            Row("restart after a failure", self.restart_s, "s"),
        ]


def effective_training_time(
    failures_per_hour: float,
    *,
    checkpoint_write_s: float,
    restart_s: float,
    interval_s: float | None = None,
) -> TrainingTime:
    """Expected share of time kept: (1 - r (u + dt / 2)) / (1 + w / dt), at the best or a given interval dt.

    r is the job's rate of stopping failures, u the restart time, w the time a checkpoint blocks training. Without
    ``interval_s`` dt = sqrt(2 w / r), Young's first-order optimum. The formula is linear in r: it holds while a
    failure seldom strikes within one interval and restart, and is 0 where it would be negative. Source: Kokolis
    et al., HPCA 2025 (arXiv 2410.21680); Young 1974.

    >>> result = effective_training_time(1500 * 6.5e-3 / 24, checkpoint_write_s=10, restart_s=300)
    >>> round(result.checkpoint_interval_s), round(result.effective_share, 4)
    (421, 0.9205)

    :raises ParameterError: a rate or time that is negative or not finite, or no interval with a free checkpoint.
    """
    given = {
        "failures_per_hour": failures_per_hour,
        "checkpoint_write_s": checkpoint_write_s,
        "restart_s": restart_s,
        "interval_s": interval_s if interval_s is not None else 1.0,
    }
    for name, value in given.items():
        if not math.isfinite(value) or value < 0 or (name == "interval_s" and value == 0):
            raise ParameterError(
                f"{name} is {value}; it must be finite and {'above' if name == 'interval_s' else 'at least'} 0"
            )
    rate = failures_per_hour / 3600
    interval = interval_s
    if interval is None:
        if checkpoint_write_s == 0:
            raise ParameterError("checkpoint_write_s is 0: then saving ever more often is ever better; give interval_s")
        interval = math.sqrt(2 * checkpoint_write_s / rate) if rate else math.inf
    overhead = checkpoint_write_s / interval
    lost = rate * (restart_s + interval / 2) if rate else 0.0
    return TrainingTime(
        mttf_h=1 / failures_per_hour if failures_per_hour else math.inf,
        checkpoint_interval_s=interval,
        checkpoint_write_s=checkpoint_write_s,
        restart_s=restart_s,
        is_best_interval=interval_s is None,
        effective_share=max(0.0, (1 - lost) / (1 + overhead)),
        standing=Standing(
            "model", "first order in the failure rate; failures are independent, restarts always succeed"
        ),
    )
