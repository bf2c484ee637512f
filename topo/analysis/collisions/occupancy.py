"""Balls into bins, exactly: the largest number of flows on any of some links, equal or not.

n flows choose independently among m links, link i with probability p_i. The loads are multinomial, and

    P(N_i <= k_i for all i) = n! [x^n] prod_i sum_{j <= k_i} (p_i x)^j / j!.

Rational arithmetic for up to 64 flows on equal links; beyond, and for unequal links, a tilted Poisson law whose
relative error stays below 1e-12, and the union bound where the upper tail is below 1e-7.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from topo.table import Array

__all__ = [
    "binomial_above",
    "log_p_loads_at_most",
    "log_p_max_at_most",
    "max_load_distribution",
    "p_max_above",
    "p_max_at_most",
    "rational_p_max_at_most",
]

RATIONAL_FLOWS = 64
_UNION = 1e-7
_NEGLIGIBLE = 1e-30
_LONG, _FEW = 64, 1024

Group = tuple[float, int, int]
"""Links alike: (probability of each, most flows allowed on each, how many links)."""


def max_load_distribution(n: int, m: int) -> dict[int, float]:
    """Probabilities of the largest number of n flows on one of m equal links, by that number; they sum to 1.

    Loads whose probability is below 1e-30 at the upper end are left out.

    >>> max_load_distribution(4, 4)
    {1: 0.09375, 2: 0.703125, 3: 0.1875, 4: 0.015625}
    """
    if m == 1 or n == 1:
        return {n: 1.0}
    if n <= RATIONAL_FLOWS:
        cdf = [rational_p_max_at_most(n, m, k) for k in range(n + 1)]
        return {k: float(cdf[k] - cdf[k - 1]) for k in range(1, n + 1) if cdf[k] > cdf[k - 1]}
    pmf: dict[int, float] = {}
    below, above_before = 0.0, 1.0
    for k in range(-(-n // m), n + 1):
        here, above = p_max_at_most(n, m, k), p_max_above(n, m, k)
        # Differences of tails where tails are small, of the distribution elsewhere, so that nothing cancels.
        p = above_before - above if here > 0.5 else here - below
        if p > 0:
            pmf[k] = p
        below, above_before = here, above
        if above < _NEGLIGIBLE:
            break
    return pmf


def p_max_at_most(n: int, m: int, k: int) -> float:
    """P(no link of m carries more than k of n flows).

    >>> round(p_max_at_most(1024, 1024, 5), 12)
    0.54484090846
    """
    return min(1.0, math.exp(log_p_max_at_most(n, m, k)))


def p_max_above(n: int, m: int, k: int) -> float:
    """P(some link of m carries more than k of n flows), with relative accuracy where it is small.

    >>> round(p_max_above(4, 4, 3) * 64, 12)
    1.0
    """
    if n > RATIONAL_FLOWS:
        bound = _union_bound(n, m, k)
        if bound < _UNION:
            return bound
    if n <= RATIONAL_FLOWS:
        return float(1 - rational_p_max_at_most(n, m, k))
    return -math.expm1(log_p_max_at_most(n, m, k))


@lru_cache(maxsize=1 << 16)
def log_p_max_at_most(n: int, m: int, k: int) -> float:
    """Natural logarithm of :func:`p_max_at_most`; minus infinity where it is impossible."""
    if k >= n:
        return 0.0
    if m * k < n:
        return -math.inf
    if n <= RATIONAL_FLOWS:
        exact = rational_p_max_at_most(n, m, k)
        if exact > Fraction(1, 2):
            return math.log1p(-float(1 - exact))
        return math.log(exact.numerator) - math.log(exact.denominator)
    above = _union_bound(n, m, k)
    if above < _UNION:
        return math.log1p(-above)
    return log_p_loads_at_most(n, ((1 / m, k, m),))


@lru_cache(maxsize=1 << 14)
def rational_p_max_at_most(n: int, m: int, k: int) -> Fraction:
    """P(max <= k) as n!/m^n [x^n] (sum over j <= k of x^j/j!)^m, the power by Miller's recurrence.

    >>> rational_p_max_at_most(4, 4, 2)
    Fraction(51, 64)
    """
    if k >= n:
        return Fraction(1)
    if m * k < n:
        return Fraction(0)
    # Scaled by t!: integers a_t = t! c_t, so that a_t = sum over i of ((m + 1) i - t) C(t, i) a_(t-i) / t.
    terms = [1]
    for t in range(1, n + 1):
        total = sum(((m + 1) * i - t) * math.comb(t, i) * terms[t - i] for i in range(1, min(k, t) + 1))
        terms.append(total // t)
    return Fraction(terms[n], m**n)


def binomial_above(k: ArrayLike, n: ArrayLike, p: ArrayLike) -> Array:
    """P(Binomial(n, p) > k) for p below 1, with relative accuracy: the incomplete beta function I_p(k + 1, n - k).

    >>> float(binomial_above(1, 2, 0.25))
    0.0625
    """
    from scipy.special import betainc

    most, flows = np.asarray(k, dtype=float), np.asarray(n, dtype=float)
    inside = (most >= 0) & (most < flows)  # outside it is 1 or 0, and not every scipy says so
    a, b = np.where(inside, most + 1, 1.0), np.where(inside, flows - most, 1.0)
    return np.asarray(np.where(inside, betainc(a, b, np.asarray(p)), np.where(most < 0, 1.0, 0.0)))


def _union_bound(n: int, m: int, k: int) -> float:
    """u = m P(Binomial(n, 1/m) > k); loads are negatively associated, so the tail is in u - u^2/2 .. u."""
    return m * float(binomial_above(k, n, 1 / m))


def log_p_loads_at_most(n: int, groups: Sequence[Group]) -> float:
    """Log of P(every link holds at most its number), links given by groups alike; probabilities sum to 1.

    Each load is taken as Poisson(z n p_i) cut at k_i, z such that the means sum to n. Then the probability is
    [n! e^n n^-n] exp(n (z - 1 - log z)) prod_i P(Poisson(z n p_i) <= k_i) P(S = n), S the sum of the cut loads;
    no term cancels another.

    >>> round(math.exp(log_p_loads_at_most(4, [(1/2, 2, 1), (1/4, 1, 2)])) * 16, 12)
    3.0
    """
    room = sum(k * count for _, k, count in groups)
    if any(k < 0 for _, k, _ in groups) or room < n:
        return -math.inf
    if n == 0 or all(k >= n for _, k, _ in groups):
        return 0.0
    if room == n:
        filled = sum(count * (k * math.log(p) - math.lgamma(k + 1)) for p, k, count in groups if k)
        return math.lgamma(n + 1) + filled
    log_tilt = _log_tilt(n, groups)
    laws = [_cut_poisson(n * p * math.exp(log_tilt), k) for p, k, _ in groups]
    cost = n * (math.expm1(log_tilt) - log_tilt)
    cost += math.fsum(count * log_kept for (_, _, count), (_, log_kept) in zip(groups, laws, strict=True))
    at_n = _p_sum([(law, count) for (_, _, count), (law, _) in zip(groups, laws, strict=True)])
    return min(0.0, _stirling(n) + cost + (math.log(at_n) if at_n > 0 else -math.inf))


def _log_tilt(n: int, groups: Sequence[Group]) -> float:
    """Log of z where Poisson(z n p_i) cut at k_i have means that sum to n."""
    from scipy.optimize import brentq

    def excess(shift: float) -> float:
        z = math.exp(shift)
        means = (count * float(_cut_poisson(n * p * z, k)[0] @ np.arange(k + 1)) for p, k, count in groups)
        return math.fsum(means) / n - 1

    if excess(0.0) >= 0:
        return 0.0
    high = 1.0
    while excess(high) < 0 and high < 600:
        high *= 2
    return float(brentq(excess, 0.0, high, xtol=1e-16, rtol=8.9e-16))


def _cut_poisson(lam: float, k: int) -> tuple[Array, float]:
    """Poisson(lam) given <= k, and the log of the probability of that."""
    from scipy.special import gammaln, pdtrc

    j = np.arange(k + 1)
    log_term = j * math.log(lam) - gammaln(j + 1.0)
    top = float(log_term.max())
    term = np.exp(log_term - top)
    kept = float(term.sum())
    above = float(pdtrc(k, lam))
    log_kept = math.log1p(-above) if above < 0.5 else top + math.log(kept) - lam
    return term / kept, log_kept


def _stirling(n: int) -> float:
    """log(n! e^n n^-n) without cancellation: log sqrt(2 pi n) and the Stirling series."""
    if n < 32:
        return math.lgamma(n + 1) + n - n * math.log(n)
    series = 1 / (12 * n) - 1 / (360 * n**3) + 1 / (1260 * n**5) - 1 / (1680 * n**7)
    return 0.5 * math.log(2 * math.pi * n) + series


def _p_sum(laws: Sequence[tuple[Array, int]]) -> float:
    """P(S = n) for S the sum of draws from each law (so many from each), n its mean, by a discrete Fourier sum.

    Frequencies t of N points, N above the range of S that matters; phi is centred at the mean, so the phase
    left at t is that of S - n, and log|phi| comes by log1p of -2 sum q_j sin^2.
    """
    reach, variance, widest = 0, 0.0, 0
    centred = []
    for law, count in laws:
        j = np.arange(len(law))
        mean = float(law @ j)
        reach += count * (len(law) - 1)
        widest = max(widest, len(law) - 1)
        variance += count * float(law @ (j - mean) ** 2)
        centred.append((j - mean, law, count))
    points = 1 << max(4, math.ceil(math.log2(min(reach + 1, 24 * math.sqrt(variance) + 60 * widest) + 1)))
    theta = 2 * math.pi * np.arange(points // 2 + 1) / points
    size, phase = np.zeros(len(theta)), np.zeros(len(theta))
    for steps, law, count in centred:
        long = len(law) > _LONG and count <= _FEW
        log_size, angle = _log_phi_fourier(theta, steps, law, points) if long else _log_phi(theta, steps, law)
        size += count * log_size
        phase += count * angle
    term = np.exp(size) * np.cos(phase)
    weight = np.full(len(theta), 2.0)
    weight[0] = weight[-1] = 1.0
    return float(term @ weight) / points


def _log_phi_fourier(theta: Array, steps: Array, law: Array, points: int) -> tuple[Array, Array]:
    """As :func:`_log_phi`, by one transform: wide laws on few links, where an absolute error of 1e-16 does no harm.

    The law is turned to its mean rounded, so that the angle left is small.
    """
    mean = -float(steps[0])
    middle = round(mean)
    padded = np.zeros(points)
    padded[: len(law)] = law
    phi = np.conj(np.fft.rfft(np.roll(padded, -middle)))
    angle = np.angle(phi * np.exp(-1j * theta * (mean - middle)))
    return np.log(np.maximum(np.abs(phi), 1e-150)), angle


def _log_phi(theta: Array, steps: Array, law: Array) -> tuple[Array, Array]:
    """Log size and angle of the characteristic function of a law on ``steps`` (centred at its mean)."""
    real, imaginary = np.zeros(len(theta)), np.zeros(len(theta))
    for step, q in zip(steps.tolist(), law.tolist(), strict=True):
        real -= 2 * q * np.sin(theta * step / 2) ** 2
        imaginary += q * np.sin(theta * step)
    size = 0.5 * np.log(np.maximum((1 + real) ** 2 + imaginary**2, 1e-300))
    near = np.abs(real) < 0.5
    size[near] = 0.5 * np.log1p(2 * real[near] + real[near] ** 2 + imaginary[near] ** 2)
    return size, np.arctan2(imaginary, 1 + real)
