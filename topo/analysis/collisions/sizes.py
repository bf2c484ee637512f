"""Flows of a few distinct sizes on equal links: P(no link carries more than its capacity), exactly."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from topo.errors import ParameterError

__all__ = ["MOST_STATES", "p_loads_fit", "p_sizes_fit"]

MOST_STATES = 4096
_SLACK = 1e-9


def p_sizes_fit(counts: Sequence[int], sizes: Sequence[float], links: int, capacity: float) -> float:
    """P(every one of ``links`` links carries at most ``capacity``), ``counts[g]`` flows of ``sizes[g]`` each.

    Q_m(a) = P(m links all fit | a flows of each size on them) obeys Q_(m + r)(a) = sum over b of
    prod_g Bin(a_g, m/(m + r))(b_g) Q_m(b) Q_r(a - b): doubling over the links, positive terms only. States:
    prod (counts + 1), at most 4,096.

    >>> round(p_sizes_fit([2, 1], [1.0, 2.0], links=2, capacity=2.0), 12)
    0.25

    :raises ParameterError: more states than that.
    """
    return p_loads_fit(counts, [sizes], links, capacity)


def p_loads_fit(counts: Sequence[int], loads: Sequence[Sequence[float]], links: int, capacity: float) -> float:
    """P(on each of ``links`` choices every one of several loads is at most ``capacity``).

    ``counts[g]`` flows choose independently and evenly; one of kind g adds ``loads[r][g]`` to load r of its choice: up
    and down arcs of a spine, say. Cost and states as of :func:`p_sizes_fit`.

    >>> round(p_loads_fit([1] * 6, [[1, 1, 0, 0, 0, 0], [0, 0, 1, 1, 0, 0]], links=2, capacity=1), 12)
    0.25

    :raises ParameterError: more states than that.
    """
    shape = tuple(count + 1 for count in counts)
    if math.prod(shape) > MOST_STATES:
        raise ParameterError(
            f"{math.prod(shape):,} combinations of {len(shape)} flow sizes; at most {MOST_STATES:,} are exact"
        )
    state = np.indices(shape).reshape(len(shape), -1)
    load = np.asarray(loads, dtype=float) @ state
    single = (load <= capacity * (1 + _SLACK)).all(axis=0).astype(float).reshape(shape)
    result: NDArray[np.float64] | None = None
    done, power, held = 0, single, 1
    left = links
    while left:
        if left & 1:
            result = power if result is None else _joined(result, done, power, held, state)
            done += held
        left >>= 1
        if left:
            power = _joined(power, held, power, held, state)
            held *= 2
    assert result is not None
    return float(result[tuple(counts)])


def _joined(
    a: NDArray[np.float64], links_a: int, b: NDArray[np.float64], links_b: int, state: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Fit of both sets of links together, for every state: a binomial mixture over who goes where."""
    shape = a.shape
    log_factorial = gammaln(state + 1.0).sum(axis=0).reshape(shape)
    weight_a = a * np.exp(state.sum(axis=0).reshape(shape) * math.log(links_a / (links_a + links_b)) - log_factorial)
    weight_b = b * np.exp(state.sum(axis=0).reshape(shape) * math.log(links_b / (links_a + links_b)) - log_factorial)
    total = np.zeros(shape)
    for first in np.argwhere(weight_a):
        here = tuple(slice(int(i), None) for i in first)
        there = tuple(slice(0, n - int(i)) for i, n in zip(first, shape, strict=True))
        total[here] += weight_a[tuple(first)] * weight_b[there]
    return np.asarray(np.minimum(1.0, total * np.exp(log_factorial)))
