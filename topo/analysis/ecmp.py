"""One hashing stage: equal flows hashed independently onto equal links, exactly."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from topo.analysis.collisions.flow_set import check_whole
from topo.analysis.collisions.occupancy import max_load_distribution
from topo.errors import ParameterError
from topo.result import Result, Row, Standing
from topo.units import format_number, parse_gbps

__all__ = ["EcmpStage", "ecmp_stage"]

_MODEL = Standing("model", "each flow takes one link uniformly and independently; fluid shares, no queues")
_MOST_FLOWS = 10_000_000


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
    n, m = check_whole("flows", flows, 1, _MOST_FLOWS), check_whole("links", links, 1, _MOST_FLOWS)
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
