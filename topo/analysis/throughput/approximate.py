"""Maximum concurrent flow, approximately, with a flow and lengths that prove how close they are.

With u the largest utilization of the whole demand, the least u over all routings is a saddle point between flows and
prices: minimize over flows f >= 0, maximize over prices y >= 0 of the resources (summing to 1) and potentials p of the
nodes,  sum_r y_r load_r(f) / capacity_r  -  sum_kv p_kv (inflow_kv(f) - wanted_kv).  Both sides move by gradient steps,
the prices answering the extrapolated flows (Chambolle and Pock 2011), restarted from averages (Applegate et al. 2021).
Now and then the flows are mended to carry the whole demand, a lower bound of theta, and the prices over capacity are
lengths, an upper bound; only those bounds are reported, whatever the steps did.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topo.analysis.throughput.bounds import length_theta
from topo.analysis.throughput.problem import Problem
from topo.progress import solving
from topo.table import Array
from topo.units import format_number

__all__ = ["MOST_FLOWS", "Approximation", "approximate", "usage_of"]

MOST_FLOWS = 3_000_000
_MOST_WORK = 800_000_000
_CHECK = 50
_FLOOR = 1e-7
_WARM = 12
_SHARP = 20.0


@dataclass(frozen=True, eq=False)
class Approximation:
    """Flows (one a variable, Gb/s) that carry at least the whole demand, their least capacity over load, lengths."""

    flows: NDArray[np.float64]
    theta_lower: float
    lengths: NDArray[np.float64]
    theta_upper: float
    steps: int


def approximate(
    problem: Problem, *, accuracy: float = 0.01, most_steps: int = 4000, known_upper: float = math.inf
) -> Approximation:
    """Bounds of theta within ``accuracy`` of each other, or as close as ``most_steps`` bring them.

    ``known_upper`` is an upper bound from elsewhere: coming close to it is enough.
    """
    descent = _Descent(problem)
    limit = max(2 * _CHECK, min(most_steps, _MOST_WORK // len(descent.flows)))
    best = descent.bounds(descent.flows, descent.prices)
    step = 0
    with solving(f"certified descent over {len(descent.flows):,} flows") as told:
        while step < limit and best.theta_lower < min(best.theta_upper, known_upper) * (1 - accuracy):
            for _ in range(_CHECK):
                descent.step()
            step += _CHECK
            now = descent.bounds(descent.flows, descent.prices)
            mean = descent.bounds(descent.total_flows / descent.count, descent.total_prices / descent.count)
            for other in (now, mean):
                best = _better(best, other, step)
            apart = 100 * max(0.0, 1 - best.theta_lower / min(best.theta_upper, known_upper))
            told(f"bounds {format_number(apart, 2)} % apart, step {step:,} of at most {limit:,}")
            if descent.count >= max(2 * _CHECK, int(0.4 * step)):
                descent.restart(to_mean=mean.theta_upper / mean.theta_lower < now.theta_upper / now.theta_lower)
    return best


def _better(one: Approximation, other: Approximation, step: int) -> Approximation:
    lower = one if one.theta_lower >= other.theta_lower else other
    upper = one if one.theta_upper <= other.theta_upper else other
    return Approximation(lower.flows, lower.theta_lower, upper.lengths, upper.theta_upper, step)


def usage_of(problem: Problem, flows: Array) -> NDArray[np.float64]:
    """Load over capacity of every resource; infinite where one of no capacity is loaded."""
    load = problem.load(flows)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(load > 0, load / problem.places.capacity, 0.0)


class _Descent:
    """The saddle-point iteration over the problem's variables, in units of the mean demand; full links left out."""

    def __init__(self, problem: Problem) -> None:
        from scipy.sparse import csr_array

        places, (source, arc) = problem.places, problem.variables
        self.problem = problem
        room = np.append(places.capacity, np.inf)[places.resource[arc]]
        self.open = np.flatnonzero(room > 0)
        self.source, self.arc, self.room = source[self.open], arc[self.open], room[self.open]
        self.tail = self.source * places.n + places.tail[self.arc]
        self.head = self.source * places.n + places.head[self.arc]
        count, size, rows = len(self.arc), problem.wanted.size, np.arange(len(self.arc))
        own = np.arange(len(problem.sources)) * places.n + problem.sources
        ends = np.concatenate([self.head, self.tail])
        signs = np.concatenate([np.ones(count), -np.ones(count)])
        signs[np.isin(ends, own)] = 0  # what leaves a source is what arrives elsewhere
        self.net: Any = csr_array((signs, (np.concatenate([rows, rows]), ends)), shape=(count, size))
        self.net_t: Any = self.net.T.tocsr()
        self.unit = 3 * float(problem.wanted.sum()) / size
        self.wanted = problem.wanted.ravel() / self.unit
        loaded = np.isfinite(self.room)
        self.use: Any = csr_array(
            (self.unit / self.room[loaded], (rows[loaded], places.resource[self.arc][loaded])),
            shape=(count, len(places.capacity)),
        )
        self.use_t: Any = self.use.T.tocsr()
        even = np.divide(1.0, places.capacity, out=np.zeros(len(places.capacity)), where=places.capacity > 0)
        self.flows = self.shortest(self.wanted, even)
        self.prices: Array = self._warmed(even)
        distance = self.distances(self.prices * even * self.unit)
        self.potential = np.where(np.isfinite(distance), distance, 0.0)
        self.norm = self._norm()
        length = math.sqrt(float((self.prices**2).sum() + (self.potential**2).sum()))
        self.ratio = 3 * length / float(np.linalg.norm(self.flows))
        self._forget()

    def _warmed(self, even: Array) -> NDArray[np.float64]:
        """Prices after some large steps from shortest path to shortest path, each as far as a line search goes."""
        mean = np.zeros(len(even))
        for _ in range(_WARM):
            usage = self.use_t @ self.flows
            weight = np.where(even > 0, np.exp(_SHARP * (usage / usage.max() - 1)), 0.0)
            mean += weight / weight.sum()
            towards = self.shortest(self.wanted, np.maximum(weight, _FLOOR) * even)
            change = self.use_t @ towards - usage
            share = _line_search(usage, change, _SHARP / usage.max())
            self.flows = self.flows + share * (towards - self.flows)
        return np.asarray(mean / mean.sum())

    def step(self) -> None:
        """One step of both sides; the totals for the averages follow."""
        to_flows, to_prices = 0.95 / self.norm / self.ratio, 0.95 / self.norm * self.ratio
        moved = self.flows - to_flows * (self.use @ self.prices - self.net @ self.potential)
        np.maximum(moved, 0, out=moved)
        ahead = 2 * moved - self.flows
        self.flows = moved
        self.potential = self.potential - to_prices * (self.net_t @ ahead - self.wanted)
        self.prices = _on_simplex(self.prices + to_prices * (self.use_t @ ahead))
        self.total_flows += self.flows
        self.total_potential += self.potential
        self.total_prices += self.prices
        self.count += 1

    def restart(self, *, to_mean: bool) -> None:
        """Begin again from the average or from here, with the sides' step sizes balanced by how far each moved."""
        if to_mean:
            self.flows = self.total_flows / self.count
            self.potential = self.total_potential / self.count
            self.prices = self.total_prices / self.count
        moved = float(np.linalg.norm(self.flows - self.from_flows))
        other = math.hypot(
            float(np.linalg.norm(self.potential - self.from_potential)),
            float(np.linalg.norm(self.prices - self.from_prices)),
        )
        if moved > 0 and other > 0:
            self.ratio = math.sqrt(self.ratio * other / moved)
        self._forget()

    def _forget(self) -> None:
        self.total_flows, self.total_potential = np.zeros_like(self.flows), np.zeros_like(self.potential)
        self.total_prices = np.zeros_like(self.prices)
        self.count = 0
        self.from_flows, self.from_potential, self.from_prices = self.flows, self.potential, self.prices

    def bounds(self, flows: Array, prices: Array) -> Approximation:
        """What a point of the iteration proves: its flows mended and scaled, its prices as lengths."""
        problem = self.problem
        capacity = problem.places.capacity
        whole = np.zeros(len(problem.variables[1]))
        whole[self.open] = self._mended(flows) * self.unit
        peak = float(usage_of(problem, whole).max())
        floor = np.maximum(prices, _FLOOR * float(prices.max()))
        lengths = np.divide(floor, capacity, out=np.ones(len(capacity)), where=capacity > 0)
        return Approximation(whole, 1 / peak, lengths, length_theta(problem, lengths), 0)

    def _mended(self, flows: Array) -> NDArray[np.float64]:
        """The flows with what is missing at the ends sent along ways with room left."""
        missing = np.maximum(self.wanted - self.net_t @ flows, 0)
        if not missing.any():
            return np.asarray(flows)
        usage = self.use_t @ flows
        capacity = self.problem.places.capacity
        steep = (0.05 + usage / max(float(usage.max()), 1e-300)) ** 4
        lengths = np.divide(steep, capacity, out=np.zeros(len(capacity)), where=capacity > 0)
        return np.asarray(flows + self.shortest(missing, lengths))

    def distances(self, lengths: Array) -> NDArray[np.float64]:
        """Distance of every node from every source, source by source."""
        from scipy.sparse import csr_array
        from scipy.sparse.csgraph import dijkstra

        places = self.problem.places
        room = np.append(places.capacity, np.inf)[places.resource] > 0
        graph = csr_array(
            (places.lengths_of_arcs(lengths)[room], (places.tail[room], places.head[room])), shape=(places.n, places.n)
        )
        found: NDArray[np.float64] = dijkstra(graph, indices=self.problem.sources).ravel()
        return found

    def shortest(self, wanted: Array, lengths: Array) -> NDArray[np.float64]:
        """``wanted`` over shortest paths, shared by capacity where several tie."""
        distance = self.distances(lengths)
        of_arc = self.problem.places.lengths_of_arcs(lengths)[self.arc]
        here, there = distance[self.tail], distance[self.head]
        with np.errstate(invalid="ignore"):
            tight = (here + of_arc <= there * (1 + 1e-9)) & (here < there)
            # From where a host sends to where it receives costs nothing: ends of equal distance.
            tight |= (of_arc == 0) & (here == there) & np.isfinite(there)
        share = np.where(tight, np.minimum(self.room, 1e12), 0.0)
        total = np.bincount(self.head, weights=share, minlength=len(wanted))
        share = np.divide(share, total[self.head], out=np.zeros_like(share), where=share > 0)
        used = np.flatnonzero(share)
        share, tail, head = share[used], self.tail[used], self.head[used]
        through: Array = wanted
        for _ in range(self.problem.places.n):
            following = wanted + np.bincount(tail, weights=share * through[head], minlength=len(wanted))
            if np.array_equal(following, through):
                break
            through = following
        flows = np.zeros(len(self.arc))
        flows[used] = share * through[head]
        return flows

    def _norm(self) -> float:
        """Largest singular value of the linear map of the saddle point, by power iteration."""
        vector = np.random.default_rng(0).random(len(self.arc))
        size = 1.0
        for _ in range(15):
            vector /= np.linalg.norm(vector)
            vector = self.net @ (self.net_t @ vector) + self.use @ (self.use_t @ vector)
            size = float(np.linalg.norm(vector))
        return math.sqrt(size)


def _line_search(usage: Array, change: Array, sharp: float) -> float:
    """How far to go, from 0 to 1, until the soft maximum of the utilization is least."""
    low, high = 0.0, 1.0
    for _ in range(20):
        middle = (low + high) / 2
        mixed = usage + middle * change
        if float(np.exp(sharp * (mixed - mixed.max())) @ change) > 0:
            high = middle
        else:
            low = middle
    return (low + high) / 2


def _on_simplex(values: Array) -> NDArray[np.float64]:
    """The nearest point with entries of at least 0 that sum to 1 (Held, Wolfe, Crowder 1974)."""
    ordered = np.sort(values)[::-1]
    excess = np.cumsum(ordered) - 1
    count = np.flatnonzero(ordered - excess / np.arange(1, len(values) + 1) > 0)[-1]
    nearest: NDArray[np.float64] = np.maximum(values - excess[count] / (count + 1), 0.0)
    return nearest
