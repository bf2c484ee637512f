"""The worst k failures: all pairs exactly, more by search, with a bound on how much worse it could be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from topo.analysis.failures.classes import demand_label, element_classes, is_symmetric
from topo.analysis.failures.degraded import share_of
from topo.analysis.failures.elements import Elements
from topo.analysis.failures.enumeration import state_of
from topo.analysis.failures.measures import BisectionMeasure, Measure, Value, measure_of
from topo.analysis.failures.survivability import standing_elements
from topo.errors import ParameterError
from topo.fabric import Fabric, State
from topo.network import Network
from topo.result import Result, Row, Standing
from topo.routing.scheme import Routing
from topo.symmetry import symmetry
from topo.traffic import Demand
from topo.units import format_number

__all__ = ["WorstFailures", "worst_failures"]

_MOST_STATES = 50_000
_MOST_LINKS = 500_000
"""Sets taken further times links of the fabric: the work of finding the symmetry that each leaves."""
_Chosen = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class WorstFailures(Result):
    """The k elements found whose loss together leaves least, and how much less any other k could leave."""

    fabric: str
    measure: str
    unit: str
    k: int
    elements: tuple[str, ...]
    healthy: float
    left: float
    left_at_least: float
    """No k elements leave less; equal to ``left`` where all sets were looked at, 0 where no better bound is known."""
    cut_off: int
    n_evaluated: int
    standing: Standing

    title: ClassVar[str] = "Worst failures"

    @property
    def share(self) -> float:
        """Share of the healthy measure that is left."""
        return share_of(self.left, self.healthy)

    def rows(self) -> list[Row]:
        """What to lose, what is left, what could be worse."""
        rows = [
            Row(f"worst {self.k} found", ", ".join(self.elements)),
            Row(f"{self.measure}, healthy", self.healthy, self.unit),
            Row("left without them", self.left, self.unit, self.standing),
            Row("share left", f"{format_number(100 * self.share, 4)} %", standing=Standing(self.standing.kind)),
            Row("endpoints cut off", self.cut_off),
        ]
        if self.left_at_least < self.left:
            standing = Standing(
                "lower bound", "" if self.left_at_least else "no set was proved to leave more than nothing"
            )
            rows.append(Row("no others can leave less than", self.left_at_least, self.unit, standing))
        return [*rows, Row("states evaluated", self.n_evaluated)]


def worst_failures(
    fabric: Fabric,
    k: int,
    measure: str | Demand | Measure = "all-to-all",
    *,
    kinds: Sequence[str] = ("switch",),
    state: State | None = None,
    routing: str | Routing = "ecmp",
    keep: int = 4,
) -> WorstFailures:
    """The k elements of ``kinds`` whose loss together leaves the measure least.

    All sets of one or two are looked at, one of each class of equal ones, and of more while the classes are few: the
    answer is exact then. Else a further element is added to the ``keep`` worst sets so far (a beam search), so what it
    finds is an upper bound on what the worst leaves. Below it lies a bound for bisection bandwidth: an element takes
    no more from a cut than its links carry, at most half of them where it is a switch. Even splitting can lose more
    than an element carries, so that throughput under ecmp has no bound but 0 where not all sets were looked at.

    >>> import topo
    >>> answer = worst_failures(topo.leaf_spine(leaves=4, spines=4, hosts_per_leaf=4), 2)
    >>> answer.elements, round(answer.share, 4), answer.standing.kind
    (('spine-1', 'spine-2'), 0.625, 'exact')

    :raises ParameterError: k below 1 or above the number of elements, an unknown kind or measure.
    """
    chosen = measure_of(fabric, measure, routing)
    listed = [standing_elements(fabric, kind, state) for kind in dict.fromkeys(kinds)]
    n = sum(len(every) for every in listed)
    if not n:
        raise ParameterError(f"{fabric.name!r} has no {' or '.join(kinds)} to fail; name what it has, such as link")
    if not 1 <= k <= n:
        raise ParameterError(f"k is {k}; there are {n} of {' and '.join(kinds)} to fail, so give 1 to {n}")
    search = _Search(fabric, chosen, listed, state)
    healthy = chosen(state)
    front: list[tuple[Value, _Chosen]] = [(healthy, ())]
    exhaustive = True
    for step in range(k):
        found = list({pair[1]: pair for _, down in front for pair in search.after(down)}.values())
        found.sort(key=lambda pair: (pair[0].lower, -pair[0].cut_off, pair[1]))
        if step == k - 1:
            front = found
            break
        # While there are few, a set of every class is taken further, so that all sets are met; then only the worst.
        few = step == 0 or len(found) * len(fabric.links) <= _MOST_LINKS
        everything = few and len(found) * n <= _MOST_STATES
        exhaustive &= everything or len(found) <= keep
        front = found if everything else found[:keep]
    value, down = front[0]
    exact = exhaustive and value.is_exact
    return WorstFailures(
        fabric=fabric.name,
        measure=chosen.name,
        unit=chosen.unit,
        k=k,
        elements=tuple(listed[kind].name(index) for kind, index in down),
        healthy=healthy.lower,
        left=value.upper,
        left_at_least=value.lower if exhaustive else _least(chosen, healthy, listed, k),
        cut_off=value.cut_off - healthy.cut_off,
        n_evaluated=search.n_evaluated,
        standing=Standing("exact", "all sets, equal ones once") if exact else Standing("upper bound", "beam search"),
    )


class _Search:
    """Evaluates what one more failure does, one element of each class."""

    def __init__(self, fabric: Fabric, measure: Measure, listed: list[Elements], base: State | None) -> None:
        self.fabric, self.measure, self.listed, self.base = fabric, measure, listed, base
        self.symmetric = is_symmetric(measure)
        self.label = demand_label(measure)
        self.n_evaluated = 0
        self.known: dict[_Chosen, Value] = {}

    def after(self, down: _Chosen) -> list[tuple[Value, _Chosen]]:
        """The measure with one more element down, for every class of elements not down yet."""
        found = None
        if self.symmetric:
            state = state_of(self.listed, down, self.base)
            found = symmetry(Network.of(self.fabric, state=state), label=self.label)
        out = []
        for kind, every in enumerate(self.listed):
            of = element_classes(every, found)
            left = np.setdiff1d(np.arange(len(every)), [index for other, index in down if other == kind])
            for i in np.unique(of[left], return_index=True)[1].tolist():
                more = tuple(sorted((*down, (kind, int(left[i])))))
                out.append((self._value(more), more))
        return out

    def _value(self, down: _Chosen) -> Value:
        if down not in self.known:
            self.known[down] = self.measure(state_of(self.listed, down, self.base))
            self.n_evaluated += 1
        return self.known[down]


def _least(measure: Measure, healthy: Value, listed: list[Elements], k: int) -> float:
    """What any k elements leave at least, by what they carry; 0 for measures that may fall by any amount."""
    if not isinstance(measure, BisectionMeasure):
        return 0.0
    carried = np.sort(np.concatenate([_carried(every) for every in listed]))[::-1]
    return max(0.0, healthy.lower - float(carried[:k].sum()))


def _carried(every: Elements) -> NDArray[np.float64]:
    """Most that each element can add to a cut: its links' rates, or half of those at a switch."""
    fabric = every.fabric
    rate = fabric.links.capacity_gbps
    own = np.bincount(
        np.repeat(np.arange(len(every)), np.diff(every.link_start)), weights=rate[every.link], minlength=len(every)
    )
    at_node = np.bincount(fabric.link_a, weights=rate, minlength=len(fabric.nodes))
    at_node = at_node + np.bincount(fabric.link_b, weights=rate, minlength=len(fabric.nodes))
    through = np.bincount(
        np.repeat(np.arange(len(every)), np.diff(every.node_start)),
        weights=at_node[every.node] / 2,
        minlength=len(every),
    )
    return np.asarray(own + through)
