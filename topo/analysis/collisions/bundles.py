"""Flows that share both ends: two hashing stages tied together, and connections striped over queue pairs."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from topo.analysis.collisions.occupancy import p_max_at_most

__all__ = ["WIDEST_BUNDLE", "p_bundle_pair", "split_connection", "split_mean_rate"]

WIDEST_BUNDLE = 16
"""Partition types of a bundle grow fast: 231 for 16 flows, 8,349 for 32."""

Polynomial = NDArray[np.float64]


@lru_cache(maxsize=1 << 14)
def p_bundle_pair(n_u: int, n_v: int, shared: int, links: int, k: int) -> float:
    """P(leaf u sends and leaf v receives at most k on every spine), ``shared`` flows going from u to v.

    n_u flows leave u, n_v enter v, ``links`` spines: a flow's spine is both its link up and its link down. Sum over
    the partition types of the shared flows over the spines: P(type) g(n_u - shared) g(n_v - shared), g(n) = n!/S^n
    [x^n] prod_s sum over j <= k - held_s of x^j/j!.

    >>> round(p_bundle_pair(4, 3, 2, 3, 2) * 81, 12)
    50.0
    """
    if shared in (n_u, n_v):
        return p_max_at_most(max(n_u, n_v), links, k)
    if max(n_u, n_v) > links * k:
        return 0.0
    total = 0.0
    rest_u, rest_v = n_u - shared, n_v - shared
    for held in _partitions(shared, links, k):
        room: dict[int, int] = {}
        for size, many in held:
            room[k - size] = room.get(k - size, 0) + many
        free = links - sum(many for _, many in held)
        if free:
            room[k] = room.get(k, 0) + free
        key = tuple(sorted(room.items()))
        total += _p_type(shared, links, held) * _p_room(rest_u, links, key) * _p_room(rest_v, links, key)
    return min(1.0, total)


def _partitions(n: int, most_parts: int, largest: int) -> Iterator[tuple[tuple[int, int], ...]]:
    """Ways to write n as at most so many parts of at most ``largest``: tuples of (part, how many)."""
    if n == 0:
        yield ()
        return
    for part in range(min(n, largest), 0, -1):
        if part * most_parts < n:
            return
        for many in range(min(n // part, most_parts), 0, -1):
            for rest in _partitions(n - part * many, most_parts - many, part - 1):
                yield ((part, many), *rest)


def _p_type(n: int, links: int, held: tuple[tuple[int, int], ...]) -> float:
    """P(n flows fall on the links in this partition type): n! m! / (m^n prod part!^many many! free!)."""
    log_p = math.lgamma(n + 1) + math.lgamma(links + 1) - n * math.log(links)
    for part, many in held:
        log_p -= many * math.lgamma(part + 1) + math.lgamma(many + 1)
    return math.exp(log_p - math.lgamma(links - sum(many for _, many in held) + 1))


@lru_cache(maxsize=1 << 16)
def _p_room(n: int, links: int, room: tuple[tuple[int, int], ...]) -> float:
    """P(n flows fit on links that have room for so many each), room as (room, how many links)."""
    product: Polynomial = np.ones(1)
    for most, many in room:
        product = np.convolve(product, _power(n, links, most, many))[: n + 1]
    log_top = math.lgamma(n + 1) - (n * math.log(n) if n else 0.0)
    return float(product[n]) * math.exp(log_top) if len(product) > n else 0.0


@lru_cache(maxsize=1 << 12)
def _power(n: int, links: int, most: int, many: int) -> Polynomial:
    """(sum over j <= most of y^j/j!)^many cut at y^n, y = x n/m so that the terms stay near 1."""
    j = np.arange(min(most, n) + 1)
    scale = max(n, 1) / links
    base = np.exp(j * math.log(scale) - gammaln(j + 1.0))
    result: Polynomial = np.ones(1)
    while many:
        if many & 1:
            result = np.convolve(result, base)[: n + 1]
        many >>= 1
        if many:
            base = np.convolve(base, base)[: n + 1]
    return result


def split_mean_rate(n: int, m: int, q: int, *, ratio: float = 1.0) -> float:
    """Mean rate of a connection striped over q queue pairs that waits for its slowest, as a share of line rate.

    n connections, m links of ``ratio`` line rates; M = most queue pairs on any link it uses; E min(1, ratio q/M).
    Small q lowers it: the slowest of two is worse than one.

    >>> round(split_mean_rate(2, 2, 2) * 48, 9)
    37.0
    """
    law = split_connection(n, m, q)
    return math.fsum(p * min(1.0, ratio * q / k) for k, p in law.items())


def split_connection(n: int, m: int, q: int) -> dict[int, float]:
    """Law of M, the most queue pairs on any link that one of n connections uses, q queue pairs each on m links.

    P(M <= k) = sum over t of C(m, t) [x^q y^((n-1)q)] (sum over a >= 1, a + b <= k of x^a/a! y^b/b!)^t e^((m-t) y),
    times q! ((n-1) q)!/m^(n q); both variables carry Poisson weights so that nothing overflows.
    """
    others = (n - 1) * q
    cdf_before = 0.0
    law: dict[int, float] = {}
    for k in range(_first_likely(m, q, others), n * q + 1):
        cdf = _split_at_most(m, q, others, k)
        if cdf - cdf_before > 1e-12:
            law[k] = cdf - cdf_before
        cdf_before = max(cdf, cdf_before)
        if 1 - cdf < 1e-11:
            break
    rest = 1 - math.fsum(law.values())
    last = max(law)
    law[last] += rest
    return law


def _first_likely(m: int, q: int, others: int) -> int:
    """The least k with P(M <= k) above 1e-12, by halving: the law is 0 to that accuracy below."""
    low, high = 0, q + others
    while high - low > 1:
        middle = (low + high) // 2
        if _split_at_most(m, q, others, middle) > 1e-12:
            high = middle
        else:
            low = middle
    return high


def _split_at_most(m: int, q: int, others: int, k: int) -> float:
    """P(M <= k): a link either carries none of the connection and anything else, or at most k in all.

    Both counts as Poisson variables with the right totals, a two-dimensional Fourier sum for the totals themselves.
    """
    points_own = 1 << math.ceil(math.log2(2 * q + 24 * math.sqrt(q) + 16))
    points_other = 1 << math.ceil(math.log2(min(2 * others, 24 * math.sqrt(others)) + 64))
    a, b = np.arange(q + 1), np.arange(min(others + 1, points_other))
    own, other = _poisson(a, q / m), _poisson(b, others / m)
    allowed = (a[:, None] == 0) | (a[:, None] + b[None, :] <= k)
    law = np.zeros((points_own, points_other))
    law[: q + 1, : len(b)] = own[:, None] * other[None, :] * allowed
    spectrum = _integer_power(np.fft.rfft2(law), m)
    turn_own = np.exp(2j * math.pi * np.arange(points_own) * q / points_own)
    turn_other = np.exp(2j * math.pi * np.arange(points_other // 2 + 1) * (others % points_other) / points_other)
    turn_other[1:-1] *= 2  # the other half of the spectrum is its mirror
    both = float((turn_own @ spectrum @ turn_other).real) / (points_own * points_other)
    at_q = float(_poisson(np.array([q]), q)[0])
    at_others = float(_poisson(np.array([others]), others)[0])
    return min(1.0, max(0.0, both / at_q / at_others))


def _integer_power(base: NDArray[np.complex128], m: int) -> NDArray[np.complex128]:
    result = np.ones_like(base)
    while m:
        if m & 1:
            result *= base
        m >>= 1
        if m:
            base = base * base
    return result


def _poisson(values: NDArray[np.int64], mean: float) -> NDArray[np.float64]:
    if mean == 0:
        return np.asarray(values == 0, dtype=float)
    return np.asarray(np.exp(values * math.log(mean) - mean - gammaln(values + 1.0)))
