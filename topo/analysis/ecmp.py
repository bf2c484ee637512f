"""One hashing stage: equal flows hashed independently onto equal links, exactly."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from topo.errors import ParameterError
from topo.result import Result, Row, Standing
from topo.table import Array
from topo.units import format_number, parse_gbps

__all__ = ["EcmpStage", "ecmp_stage", "max_load_distribution"]

_MODEL = Standing("model", "each flow takes one link uniformly and independently; fluid shares, no queues")
_RATIONAL_FLOWS = 64
_MOST_FLOWS = 10_000_000
_UNION = 1e-7


@dataclass(frozen=True)
class EcmpStage(Result):
    """Exact figures of one ECMP stage under uniform, independent hashing.

    Rates (``mean_rate``, ``slowest_rate``) are shares of the flow's line rate: a link of ``capacity_ratio``
    flow rates that carries x flows gives each min(1, capacity_ratio / x). ``slowdown_mean`` is E[max(1, max
    load / capacity_ratio)], the time of the last of equal transfers over the time without sharing.
    ``max_load_pmf`` maps a largest number of flows on one link to its probability; a collision costs rate
    only where that number exceeds ``capacity_ratio``.
    """

    flows: int
    links: int
    flow_gbps: float
    link_gbps: float
    capacity_ratio: float
    p_no_collision: float
    mean_rate: float
    slowest_rate: float
    slowdown_mean: float
    max_load_mean: float
    max_load_pmf: dict[int, float]
    occupied_links_mean: float
    colliding_flows_mean: float
    colliding_pairs_mean: float
    load_cv: float
    """Standard deviation over mean of one link's number of flows."""
    standing: Standing

    title: ClassVar[str] = "ECMP, one stage"

    def rows(self) -> list[Row]:
        """Rates first, then collisions."""
        share = f"{format_number(100 * self.mean_rate, 4)} % of {format_number(self.flow_gbps)} Gb/s"
        slowest = f"{format_number(100 * self.slowest_rate, 4)} % of {format_number(self.flow_gbps)} Gb/s"
        likely = [(load, p) for load, p in self.max_load_pmf.items() if p >= 5e-7]
        pmf = ", ".join(f"{load}: {format_number(p, 4)}" for load, p in likely)
        return [
            Row("flows", self.flows),
            Row("links", self.links),
            Row("link over flow rate", self.capacity_ratio),
            Row("mean rate of a flow", share, standing=self.standing),
            Row("mean rate of the slowest flow", slowest),
            Row("mean slowdown of equal transfers", self.slowdown_mean),
            Row("probability of no collision", self.p_no_collision),
            Row("mean largest load of a link", self.max_load_mean, "flows"),
            Row("probability by largest load", pmf),
            Row("mean number of links used", self.occupied_links_mean),
            Row("mean number of flows that share a link", self.colliding_flows_mean),
            Row("mean number of colliding pairs", self.colliding_pairs_mean),
            Row("variation of a link's load (deviation over mean)", self.load_cv),
        ]


def ecmp_stage(flows: int, links: int, *, flow_gbps: float | str = 1.0, link_gbps: float | str = 1.0) -> EcmpStage:
    """Collisions of ``flows`` equal flows hashed onto ``links`` equal links.

    With n flows, m links, c = link_gbps / flow_gbps, and X ~ 1 + Binomial(n - 1, 1/m) the flows a flow finds
    on its link: P(no collision) = m! / ((m - n)! m^n), mean rate = E[min(1, c / X)], slowest rate = E[min(1,
    c / max)], largest load from P(max <= k) = (n! / m^n) [x^n] (sum over j <= k of x^j / j!)^m. Rational
    arithmetic up to 64 flows, a tilted Poisson law with relative error below 1e-12 beyond; no sampling. Cost:
    milliseconds at 65,536.

    Model: uniform and independent choice (Raab and Steger, RANDOM 1998, give the asymptotics of the largest
    load). Switches that reuse one hash at several stages, or InfiniBand's forwarding by destination, behave
    otherwise.

    >>> stage = ecmp_stage(8, 8)
    >>> round(stage.p_no_collision, 8), round(stage.mean_rate, 6), round(stage.max_load_mean, 6)
    (0.00240326, 0.656391, 2.597233)
    >>> round(ecmp_stage(64, 32, flow_gbps=200, link_gbps=400).mean_rate, 4)
    0.7336

    :raises ParameterError: counts that are not whole numbers from 1 to 10 million, or rates not above 0.
    """
    n, m = _count("flows", flows), _count("links", links)
    flow, link = _rate("flow_gbps", flow_gbps), _rate("link_gbps", link_gbps)
    c = link / flow
    pmf = max_load_distribution(n, m)
    return EcmpStage(
        flows=n,
        links=m,
        flow_gbps=flow,
        link_gbps=link,
        capacity_ratio=c,
        p_no_collision=_p_no_collision(n, m),
        mean_rate=_mean_rate(n, m, c),
        slowest_rate=math.fsum(p * min(1.0, c / load) for load, p in pmf.items()),
        slowdown_mean=math.fsum(p * max(1.0, load / c) for load, p in pmf.items()),
        max_load_mean=math.fsum(p * load for load, p in pmf.items()),
        max_load_pmf=pmf,
        occupied_links_mean=_occupied(n, m),
        colliding_flows_mean=n * _at_least_once(n - 1, m),
        colliding_pairs_mean=n * (n - 1) / 2 / m,
        load_cv=math.sqrt((m - 1) / n),
        standing=_MODEL,
    )


def _count(name: str, value: int) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or not 1 <= value <= _MOST_FLOWS:
        raise ParameterError(f"{name} is {value!r}; it must be a whole number from 1 to {_MOST_FLOWS:,}")
    return int(value)


def _rate(name: str, value: float | str) -> float:
    try:
        gbps = parse_gbps(value)
    except ParameterError as error:
        raise ParameterError(f"{name}: {error}") from None
    if gbps <= 0:
        raise ParameterError(f"{name} is {value!r}; it must be above 0 Gb/s")
    return gbps


def _p_no_collision(n: int, m: int) -> float:
    if n > m:
        return 0.0
    return math.exp(math.fsum(np.log1p(-np.arange(n) / m).tolist()))


def _at_least_once(draws: int, m: int) -> float:
    """Probability that ``draws`` flows hit a given link at least once: 1 - (1 - 1/m)^draws."""
    if m == 1:
        return 1.0 if draws else 0.0
    return -math.expm1(draws * math.log1p(-1 / m))


def _occupied(n: int, m: int) -> float:
    return m * _at_least_once(n, m)


def _mean_rate(n: int, m: int, c: float) -> float:
    if m == 1:
        return min(1.0, c / n)
    if c == 1:
        return _occupied(n, m) / n
    from scipy.stats import binom

    # Up to c flows each has its full rate; beyond, the share is c / X, and E[c / X; X > c] is c m / n times the
    # tail P(Binomial(n, 1/m) > c).
    full = min(math.floor(c), n)
    at_rate = float(binom.cdf(full - 1, n - 1, 1 / m)) if full else 0.0
    return at_rate + c * m / n * float(binom.sf(full, n, 1 / m))


def max_load_distribution(n: int, m: int) -> dict[int, float]:
    """Probabilities of the largest number of n flows on one of m links, by that number; they sum to 1.

    Loads whose probability is below 1e-30 at the upper end are left out.

    >>> max_load_distribution(4, 4)
    {1: 0.09375, 2: 0.703125, 3: 0.1875, 4: 0.015625}
    """
    if m == 1 or n == 1:
        return {n: 1.0}
    if n <= _RATIONAL_FLOWS:
        cdf = [_rational_cdf(n, m, k) for k in range(n + 1)]
        return {k: float(cdf[k] - cdf[k - 1]) for k in range(1, n + 1) if cdf[k] > cdf[k - 1]}
    least = -(-n // m)
    pmf: dict[int, float] = {}
    below, above_before = 0.0, 1.0
    for k in range(least, n + 1):
        above = _union_bound(n, m, k)
        if above > _UNION:
            here = _tilted_cdf(n, m, k)
            above = 1.0 - here
        else:
            here = 1.0 - above
        # Differences of tails where tails are small, of the distribution elsewhere, so that nothing cancels.
        p = above_before - above if here > 0.5 else here - below
        if p > 0:
            pmf[k] = p
        below, above_before = here, above
        if above < 1e-30:
            break
    return pmf


def _rational_cdf(n: int, m: int, k: int) -> Fraction:
    """P(max <= k): n!/m^n [x^n] (sum over j <= k of x^j/j!)^m, the power by Miller's recurrence."""
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


def _union_bound(n: int, m: int, k: int) -> float:
    """u = m P(Binomial(n, 1/m) > k); loads are negatively associated, so the tail is in u - u^2/2 .. u."""
    from scipy.stats import binom

    return m * float(binom.sf(k, n, 1 / m))


def _tilted_cdf(n: int, m: int, k: int) -> float:
    """P(max <= k) as n! e^n n^-n exp(m D) P(S = n), S the sum of m Poisson draws cut at k, of mean n/m each.

    D is the cost of tilting and cutting one draw; P(S = n) is a sum over its characteristic function, whose
    terms decay from 1 at the mean, so nothing cancels.
    """
    if k >= n:
        return 1.0
    if m * k <= n:
        at_brim = math.lgamma(n + 1) - m * math.lgamma(k + 1) - n * math.log(m)
        return math.exp(at_brim) if m * k == n else 0.0
    a = n / m
    log_tilt = _log_tilt(a, k)
    law, log_kept = _cut_poisson(a * math.exp(log_tilt), k)
    cost = m * (a * (math.expm1(log_tilt) - log_tilt) + log_kept)
    if cost < -745:
        return 0.0
    return min(1.0, math.exp(_stirling(n) + cost) * _p_sum(law, m, n))


def _log_tilt(a: float, k: int) -> float:
    """Log of lam / a where Poisson(lam) cut at k has mean a < k."""
    from scipy.optimize import brentq

    def excess(shift: float) -> float:
        law, _ = _cut_poisson(a * math.exp(shift), k)
        return float(law @ np.arange(k + 1)) - a

    high = 1.0
    while excess(high) < 0:
        high *= 2
    return float(brentq(excess, 0.0, high, xtol=1e-16, rtol=8.9e-16)) if excess(0.0) < 0 else 0.0


def _cut_poisson(lam: float, k: int) -> tuple[Array, float]:
    """Poisson(lam) given <= k, and the log of the probability of that."""
    from scipy.special import gammaln
    from scipy.stats import poisson

    j = np.arange(k + 1)
    log_term = j * math.log(lam) - gammaln(j + 1.0)
    top = float(log_term.max())
    term = np.exp(log_term - top)
    kept = float(term.sum())
    above = float(poisson.sf(k, lam))
    log_kept = math.log1p(-above) if above < 0.5 else top + math.log(kept) - lam
    return term / kept, log_kept


def _stirling(n: int) -> float:
    """log(n! e^n n^-n) without cancellation: log sqrt(2 pi n) and the Stirling series."""
    if n < 32:
        return math.lgamma(n + 1) + n - n * math.log(n)
    series = 1 / (12 * n) - 1 / (360 * n**3) + 1 / (1260 * n**5) - 1 / (1680 * n**7)
    return 0.5 * math.log(2 * math.pi * n) + series


def _p_sum(law: Array, m: int, n: int) -> float:
    """P(S = n) for S the sum of m draws from ``law`` on 0..k with mean n/m, by a discrete Fourier sum.

    Frequencies t of N points, N above the range of S that matters; phi is centred at the mean, so the phase
    left at t is that of S - n, and log|phi| comes by log1p of -2 sum q_j sin^2.
    """
    j = np.arange(len(law))
    k = len(law) - 1
    mean = n / m
    deviation = math.sqrt(m * float(law @ (j - mean) ** 2))
    points = 1 << max(4, math.ceil(math.log2(min(m * k + 1, 24 * deviation + 60 * k) + 1)))
    theta = 2 * math.pi * np.arange(points // 2 + 1) / points
    real = np.zeros(len(theta))
    imaginary = np.zeros(len(theta))
    for step, q in zip((j - mean).tolist(), law.tolist(), strict=True):
        real -= 2 * q * np.sin(theta * step / 2) ** 2
        imaginary += q * np.sin(theta * step)
    size = 0.5 * np.log(np.maximum((1 + real) ** 2 + imaginary**2, 1e-300))
    near = np.abs(real) < 0.5
    size[near] = 0.5 * np.log1p(2 * real[near] + real[near] ** 2 + imaginary[near] ** 2)
    phase = np.arctan2(imaginary, 1 + real)
    term = np.exp(m * size) * np.cos(m * phase)
    weight = np.full(len(theta), 2.0)
    weight[0] = weight[-1] = 1.0
    return float(term @ weight) / points
