"""Confidence intervals of what is drawn: Student's for a mean, Wilson's for a probability."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

__all__ = ["ERROR", "student_half_width", "student_quantile", "wilson"]

ERROR = 0.05
"""How often an interval may miss, unless another share is named: 95 % intervals."""


def student_half_width(values: NDArray[np.float64], alpha: float = ERROR) -> float:
    """Half-width of the Student interval of a mean that errs with probability ``alpha``; infinite for one value.

    Student's t with n - 1 degrees of freedom times s / sqrt(n), in the unit of the values, which are independent.

    >>> round(student_half_width(np.array([1.0, 2.0, 3.0])), 3)
    2.484
    """
    n = len(values)
    if n < 2:
        return math.inf
    return student_quantile(n - 1, alpha) * float(values.std(ddof=1)) / math.sqrt(n)


def student_quantile(freedom: int, alpha: float = ERROR) -> float:
    """What Student's t exceeds in size with probability ``alpha``, with ``freedom`` degrees of freedom.

    >>> round(student_quantile(2), 3)
    4.303
    """
    from scipy.special import stdtrit

    return float(stdtrit(freedom, 1 - alpha / 2))


def wilson(hits: int, n: int, *, alpha: float = ERROR) -> tuple[float, float]:
    """Wilson's interval of a probability from ``hits`` in ``n``.

    >>> [round(x, 4) for x in wilson(8, 10)]
    [0.4902, 0.9433]
    """
    from scipy.special import ndtri

    z = float(ndtri(1 - alpha / 2))
    share = hits / n
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    return max(0.0, centre - half) if hits else 0.0, min(1.0, centre + half) if hits < n else 1.0
