"""What a step loses besides arithmetic and exchange: waiting for the slowest rank, and writing checkpoints."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from topo.errors import ParameterError
from topo.parts.models import ModelShape

__all__ = ["CHECKPOINT_BYTES", "Checkpoints", "Straggler", "expected_largest", "quantile_of_largest"]

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


def quantile_of_largest(n: int, share: float, law: str = "normal") -> float:
    """What the largest of ``n`` independent draws stays below in ``share`` of the cases: F^-1(share^(1/n)).

    The other way round, all of n stay below a single draw's q-quantile with probability q^n: a step that waits for
    1,000 ranks sees none of their slowest hundredth in 0.99^1000 = 4.3e-5 of the cases. Draws as in
    :func:`expected_largest`.

    >>> round(quantile_of_largest(1000, 0.99**1000, "exponential"), 4)   # ln 100, the 0.99-quantile of one
    4.6052
    >>> round(quantile_of_largest(1, 0.5), 4), round(quantile_of_largest(8192, 0.5), 2)
    (0.0, 3.76)

    :raises ParameterError: an unknown law, fewer than one draw, a share that is not between 0 and 1.
    """
    if law not in _LAWS:
        raise ParameterError(f"unknown law {law!r}; known: {', '.join(_LAWS)}")
    if n < 1:
        raise ParameterError(f"the largest of {n} draws; there must be at least one")
    if not 0 < share < 1:
        raise ParameterError(f"share is {share}; a share of the cases lies between 0 and 1")
    # log(share)/n keeps what share^(1/n) would round to 1.
    log = math.log(share) / n
    if law == "exponential":
        return -math.log(-math.expm1(log))
    from scipy.special import ndtri_exp

    return float(ndtri_exp(log))


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
