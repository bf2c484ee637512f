"""What a step loses besides arithmetic and exchange: waiting for the slowest rank, and writing checkpoints."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from topo.errors import ParameterError
from topo.parts.models import ModelShape

__all__ = ["CHECKPOINT_BYTES", "Checkpoints", "Straggler", "expected_largest"]

CHECKPOINT_BYTES = 14
"""Bytes a parameter in a checkpoint: 2 of weight, 12 of optimizer (SC'21 wrote 13.8 TB for 1,008 billion)."""

_LAWS = ("normal", "exponential")


def expected_largest(n: int, law: str = "normal") -> float:
    """Mean of the largest of ``n`` independent draws: of standard normals, or of exponentials of mean 1 (H_n).

    >>> round(expected_largest(8192, "exponential"), 3), round(expected_largest(2), 4)
    (9.588, 0.5642)

    :raises ParameterError: an unknown law, fewer than one draw.
    """
    if law not in _LAWS:
        raise ParameterError(f"unknown law {law!r}; known: {', '.join(_LAWS)}")
    if n < 1:
        raise ParameterError(f"the largest of {n} draws; there must be at least one")
    if law == "exponential":
        return math.fsum(1 / k for k in range(1, n + 1))
    from scipy.special import log_ndtr

    x = np.linspace(0.0, 12.0, 20001)
    # E[max] = integral of 1 - F^n above 0, less that of F^n below.
    above, below = -np.expm1(n * log_ndtr(x)), np.exp(n * log_ndtr(-x))
    return float(np.trapezoid(above - below, x))


@dataclass(frozen=True, slots=True)
class Straggler:
    """Ranks differ: compute of each takes (1 + spread Z) of the mean, Z of the stated law; the step waits for the last.

    ``normal``: Z standard normal; ``exponential``: Z exponential of mean 1. ``ranks`` that wait for each other
    (default: all of the job).
    """

    spread: float
    law: str = "normal"
    ranks: int | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.spread < 1 or self.law not in _LAWS:
            raise ParameterError(f"spread is {self.spread} and law {self.law!r}; 0 to 1, and one of {', '.join(_LAWS)}")

    def lost_s(self, compute_s: float, ranks: int) -> float:
        """Seconds beyond the mean that the slowest takes."""
        return compute_s * self.spread * expected_largest(self.ranks or ranks, self.law)


@dataclass(frozen=True, slots=True)
class Checkpoints:
    """Checkpoints every ``interval_steps``: written at ``storage_gbyte_s`` by all ranks together.

    ``blocking`` is the share of the write that training waits for. With ``shares_fabric`` the rest takes its bytes
    from the NICs that gradients use, and is counted as time of the NIC.
    """

    interval_steps: int
    storage_gbyte_s: float
    blocking: float = 1.0
    shares_fabric: bool = False

    def __post_init__(self) -> None:
        if self.interval_steps < 1 or not self.storage_gbyte_s > 0 or not 0 <= self.blocking <= 1:
            raise ParameterError(
                f"interval_steps is {self.interval_steps}, storage_gbyte_s {self.storage_gbyte_s}, blocking "
                f"{self.blocking}; at least 1, above 0, and 0 to 1"
            )

    def bytes(self, model: ModelShape) -> float:
        """Size of one checkpoint."""
        return float(CHECKPOINT_BYTES) * model.parameters

    def lost_s(self, model: ModelShape, ranks: int, nic_gbyte_s: float) -> float:
        """Seconds a step, averaged over the interval."""
        size = self.bytes(model)
        lost = self.blocking * size / (self.storage_gbyte_s * 1e9)
        if self.shares_fabric:
            lost += (1 - self.blocking) * size / ranks / (nic_gbyte_s * 1e9)
        return lost / self.interval_steps
