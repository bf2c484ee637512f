"""Effective bisection: what random pairs get under static routes, as InfiniBand clusters are measured."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from topo.analysis.intervals import student_half_width
from topo.analysis.throughput.single_path import arc_capacity
from topo.errors import ParameterError
from topo.fabric import Fabric, Selector, State, expect_fabric
from topo.network import Network
from topo.progress import steps
from topo.result import Result, Row, Standing
from topo.routing.fair import equal_share_rates, max_min_rates
from topo.routing.next_hops import NextHops
from topo.routing.scheme import Routing
from topo.routing.stripes import Stripes
from topo.routing.tables import TABLES, StaticTable
from topo.table import Array
from topo.traffic.rates import line_rate_gbps

__all__ = ["AVERAGES", "PATTERNS", "EffectiveBisection", "effective_bisection"]

PATTERNS = ("uni", "bi", "coupled")
AVERAGES = ("mean rate", "mean time", "max-min")
_FLOWS_A_BATCH = 80_000
_MOST_EXAMPLES = 20


class _Routes(Protocol):
    """Anything that knows the path of every flow: a static table, or forwarding tables that were read."""

    @property
    def kind(self) -> str: ...

    def paths(
        self, source: ArrayLike, sink: ArrayLike, *, seed: int | np.random.SeedSequence | None = None
    ) -> NDArray[np.int64]: ...


@dataclass(frozen=True)
class EffectiveBisection(Result):
    """Share of its line rate that a pair of a random bisection gets, averaged over pairs and pairings.

    ``share`` is in 0..1 with a 95 % ``interval`` (Student over the pairings); ``pattern`` and ``average`` name the
    convention, without which such numbers cannot be compared: they differ by up to 25 %. ``pair_gbps`` is the mean
    rate of one direction of a pair by the same convention. ``lost_pairs`` of ``sampled_pairs`` had no path and count
    as 0; ``lost_examples`` names some.
    """

    fabric: str
    table: str
    pattern: str
    average: str
    n_endpoints: int
    samples: int
    seed: int
    share: float
    interval: tuple[float, float]
    pair_gbps: float
    sampled_pairs: int
    lost_pairs: int
    lost_examples: tuple[str, ...]
    assumptions: tuple[str, ...]
    standing: Standing

    title: ClassVar[str] = "Effective bisection"

    def rows(self) -> list[Row]:
        """The share with its interval, then the convention."""
        low, high = self.interval
        rows = [
            Row("share of line rate", 100 * self.share, "%", self.standing),
            Row("95 % interval", f"{100 * low:.2f} to {100 * high:.2f}", "%"),
            Row("rate of a pair", self.pair_gbps, "Gb/s"),
            Row("convention", f"{self.pattern}, {self.average}"),
            Row("routes", self.table),
        ]
        if self.lost_pairs:
            said = f"{self.lost_pairs:,} of {self.sampled_pairs:,}, such as {'; '.join(self.lost_examples[:3])}"
            rows.append(Row("pairs without a path, counted as 0", said))
        return rows


def effective_bisection(
    fabric: Fabric,
    *,
    table: str | _Routes = "destination-modulo",
    pattern: str = "uni",
    average: str = "mean rate",
    samples: int = 200,
    seed: int = 0,
    addresses: str = "in leaf order",
    endpoints: Selector = None,
    state: State | None = None,
    routing: Routing | str = "ecmp",
) -> EffectiveBisection:
    """Mean bandwidth of random pairings of the endpoints under static routes, as a share of line rate.

    Each sample pairs all endpoints at random (an odd one sits out). ``pattern`` ``uni``: one of each pair sends;
    ``bi``: both do; ``coupled``: both do, and a pair gets the slower of its two directions, as a send-receive that
    waits for both. A flow's rate r is the least c/n on its path, c the capacity and n the flows of an arc, at most
    its line rate, relative to line rate. ``average`` ``mean rate``: the mean of r; ``mean time``: 1 / mean(1/r), the
    bandwidth from the mean time of equal transfers; ``max-min``: the mean of max-min fair rates.

    ``table`` is a kind of :class:`topo.routing.tables.StaticTable` (``addresses`` in leaf order, in order of rows,
    or shuffled), or a table that was read (:class:`topo.routing.forwarding.ForwardingTable`). A pair of accelerators
    spreads over all their scale-up links. Published: 38 % of a 512-node Clos of 32-port crossbars,
    static routes, send-receive between random pairs (Geoffray and Hoefler, HotI 2008): within 0.03 of it lie random
    tables, coupled, alone. And 55 to 60 % of full-bisection InfiniBand clusters (Hoefler, Schneider, Lumsdaine,
    Cluster 2008): random tables on three tiers, uni, mean rate.

    >>> import topo
    >>> f = topo.leaf_spine(leaves=8, spines=4, hosts_per_leaf=4)
    >>> found = effective_bisection(f, table="random", pattern="coupled", samples=400)
    >>> 0.47 < found.share < 0.54
    True

    :raises ParameterError: an unknown table, pattern or average, fewer than two samples or endpoints.
    """
    expect_fabric(fabric)
    _one_of("pattern", pattern, PATTERNS)
    _one_of("average", average, AVERAGES)
    ends = fabric.endpoint_rows(endpoints)
    if len(ends) < 2 or samples < 2:
        raise ParameterError(f"{len(ends)} endpoint(s), {samples} sample(s); pairings need at least 2 of each")
    routes = _routes(fabric, table, state, routing, addresses, seed)
    stripes = Stripes.of(fabric)
    capacity = stripes.capacity(arc_capacity(fabric, state))
    rates = _Rates(fabric, routes, stripes, capacity, _line(fabric), pattern, average)
    values, gbps, lost, examples = _sampled(rates, ends, samples, seed)
    share, interval = _averaged(values, average)
    how = f"n={samples:,} pairings of {len(ends):,} endpoints, seed {seed}"
    return EffectiveBisection(
        fabric=fabric.name,
        table=routes.kind,
        pattern=pattern,
        average=average,
        n_endpoints=len(ends),
        samples=samples,
        seed=seed,
        share=share,
        interval=interval,
        pair_gbps=_averaged(gbps, average)[0],
        sampled_pairs=samples * (len(ends) // 2),
        lost_pairs=lost,
        lost_examples=examples,
        assumptions=_assumptions(fabric, routes, pattern, average),
        standing=Standing("sampled", how),
    )


def _one_of(what: str, value: str, known: tuple[str, ...]) -> None:
    if value not in known:
        raise ParameterError(f"unknown {what} {value!r}; known: {', '.join(known)}")


def _routes(
    fabric: Fabric, table: str | _Routes, state: State | None, routing: Routing | str, addresses: str, seed: int
) -> _Routes:
    if not isinstance(table, str):
        return table
    _one_of("table", table, TABLES)
    hops = NextHops.of(fabric, state=state, routing=routing)
    return StaticTable.of(hops, table, seed=seed, addresses=addresses)


@dataclass(frozen=True, eq=False)
class _Rates:
    """Rates of the flows of some pairings."""

    fabric: Fabric
    routes: _Routes
    stripes: Stripes
    capacity_gbps: NDArray[np.float64]
    line_gbps: NDArray[np.float64]
    pattern: str
    average: str

    def of(self, one: Array, other: Array, seed: np.random.SeedSequence) -> _Batch:
        """Rates of pairings, (samples, pairs): ``one`` sends to ``other`` and, unless uni, back."""
        n_pairs = one.shape[1]
        source, sink = one, other
        if self.pattern != "uni":
            source, sink = np.concatenate([one, other], axis=1), np.concatenate([other, one], axis=1)
        paths = self.routes.paths(source.ravel(), sink.ravel(), seed=seed)
        arcs = self.stripes.paths(paths).reshape(-1, *source.shape)
        limit = np.minimum(self.line_gbps[source], self.line_gbps[sink])
        gone = np.all(arcs < 0, axis=0)
        if self.pattern == "coupled":
            gone[:, :n_pairs] |= gone[:, n_pairs:]
            gone, limit = gone[:, :n_pairs], limit[:, :n_pairs]
            if self.average == "max-min":
                # A pair that waits for both directions is one flow over both paths.
                arcs = np.concatenate([arcs[:, :, :n_pairs], arcs[:, :, n_pairs:]])
                arcs[:, gone] = -1
        shared = max_min_rates if self.average == "max-min" else equal_share_rates
        rate = shared(arcs, self.capacity_gbps, limit if arcs.shape[2] == limit.shape[1] else np.tile(limit, 2))
        if rate.shape != limit.shape:
            rate = np.minimum(rate[:, :n_pairs], rate[:, n_pairs:])
        share = np.divide(rate, limit, out=np.zeros_like(rate), where=limit > 0)
        lost = np.argwhere(gone if gone.shape[1] == n_pairs else gone[:, :n_pairs] | gone[:, n_pairs:])
        return _Batch(self._per_sample(share), self._per_sample(rate), lost)

    def _per_sample(self, rate: Array) -> NDArray[np.float64]:
        if self.average != "mean time":
            return np.asarray(rate.mean(axis=1), dtype=float)
        with np.errstate(divide="ignore"):
            return np.asarray((1 / rate).mean(axis=1), dtype=float)


class _Batch(NamedTuple):
    """For each sample the mean share and rate, or of mean time their mean inverses; lost (sample, pair)."""

    share: NDArray[np.float64]
    gbps: NDArray[np.float64]
    lost: NDArray[np.int64]


def _sampled(
    rates: _Rates, ends: Array, samples: int, seed: int
) -> tuple[NDArray[np.float64], NDArray[np.float64], int, tuple[str, ...]]:
    """All samples, in batches that each have a seed of their own: the same for any order of work."""
    half = len(ends) // 2
    size = max(1, _FLOWS_A_BATCH // (2 * half))
    shares, gbps, lost, examples = [], [], 0, list[str]()
    names = rates.fabric.nodes.name
    for i, child in enumerate(steps(np.random.SeedSequence(seed).spawn(-(-samples // size)), "pairings drawn")):
        count = min(size, samples - i * size)
        order = np.random.default_rng(child).permuted(np.tile(ends, (count, 1)), axis=1)
        one, other = order[:, :half], order[:, half : 2 * half]
        batch = rates.of(one, other, child.spawn(1)[0])
        shares.append(batch.share)
        gbps.append(batch.gbps)
        lost += len(batch.lost)
        for sample, pair in batch.lost[: _MOST_EXAMPLES - len(examples)].tolist():
            examples.append(f"{names[one[sample, pair]]} - {names[other[sample, pair]]}")
    return np.concatenate(shares), np.concatenate(gbps), lost, tuple(dict.fromkeys(examples))


def _averaged(values: NDArray[np.float64], average: str) -> tuple[float, tuple[float, float]]:
    """Mean over samples and its interval; of mean time the inverse of the mean."""
    mean = float(values.mean())
    if math.isinf(mean):
        return 0.0, (0.0, 0.0)
    reach = student_half_width(values)
    if average != "mean time":
        return mean, (mean - reach, mean + reach)
    return 1 / mean, (1 / (mean + reach), 1 / (mean - reach) if mean > reach else math.inf)


def _line(fabric: Fabric) -> NDArray[np.float64]:
    rate = np.zeros(len(fabric.nodes))
    rate[fabric.endpoints] = line_rate_gbps(fabric)
    return rate


def _assumptions(fabric: Fabric, routes: _Routes, pattern: str, average: str) -> tuple[str, ...]:
    sends = {
        "uni": "one endpoint of each pair sends to the other",
        "bi": "both endpoints of each pair send, and each direction counts by itself",
        "coupled": "both endpoints of each pair send, and a pair gets the slower direction",
    }
    shares = {
        "mean rate": "flows on an arc get equal shares, held back elsewhere or not; the mean of their rates",
        "mean time": "flows on an arc get equal shares, held back elsewhere or not; the mean time of equal transfers",
        "max-min": "max-min fair rates, and their mean",
    }
    kinds = Network.of(fabric).kinds_text
    order = routes.order_text if isinstance(routes, StaticTable) else ""
    return (
        f"{sends[pattern]}; {shares[average]}",
        f"routes: {routes.kind}{f' ({order})' if order else ''}; links of kind {kinds}",
        "fluid rates: no head-of-line blocking and no credit stalls, which lower what is measured",
    )
