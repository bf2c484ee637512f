"""Bisection bandwidth: the least capacity across any even split of the endpoints, bracketed and certified."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from topo.analysis.bisection.blocks import tree_of
from topo.analysis.bisection.exhaustive import enumerated
from topo.analysis.bisection.healthier import healthier_bound
from topo.analysis.bisection.lower import (
    MOST_FOR_SLOW_BOUNDS,
    TRIVIAL,
    Bound,
    Witness,
    lower_bound,
    pod_bound,
    quick_bound,
)
from topo.analysis.bisection.opened import has_parts
from topo.analysis.bisection.problem import Problem, even_sizes, make_problem
from topo.analysis.bisection.search import best_split, best_switches, first_split, kept_split
from topo.analysis.cuts import min_cut
from topo.errors import DisconnectedError, InputError
from topo.fabric import Fabric, LinkSet, Selector, State
from topo.network import kinds_in_words
from topo.progress import part
from topo.result import Result, Row, Standing, hidden
from topo.table import Array, freeze
from topo.units import format_number
from topo.view.text import plural

__all__ = ["Bisection", "bisection_bandwidth"]

_ROUNDING = 1e-9
_NEAR = 0.05
_HOW = {
    "tree": "switches selected by tier, joined by flows that respect every link",
    "layers": "switches selected by tier, in the scale-out fabric and inside domains, and both summed",
    "pods": "flows inside every whole pod to its links to other pods",
    "routed": "an all-to-all on the routes of ECMP, which the links between switches carry",
    "uniform": "uniform traffic between all endpoints over shortest paths",
    "spectral": "second Laplacian eigenvalue",
    "healthier": "that of the fabric as it was, less the rate of every link lost since",
    "enumeration": "every side of every switch tried",
    "trivial": "no bound better than 0 was found",
}
_KEPT_WORDS = {"none": "nothing", "host": "hosts", "domain": "scale-up domains", "pod": "pods, or groups of switches"}


@dataclass(frozen=True, eq=False)
class Bisection(Result):
    """Bracket of the bisection bandwidth, in Gb/s one direction, with a witness for each bound.

    ``links`` is the cut behind ``upper_gbps``; ``side`` (over nodes) and ``endpoints`` are what a checker needs for
    it. ``lower_method`` names the kind of lower witness and ``witness`` holds its data where it has any;
    ``lower_keep`` is ``none`` where the bound is that of splitting endpoints singly, which holds for whole hosts all
    the more. ``assumed`` says which rates the caller stated for links without one.
    ``full_gbps`` is the least injection of the smaller half: a non-blocking fabric of hosts or NICs reads a ratio of
    1. Where accelerators are the endpoints all their links count, scale-up ones too, so that hosts kept whole inside
    a larger scale-up domain read far below 1; ``keep="domain"`` asks for the scale-out fabric alone.
    """

    lower_gbps: float
    upper_gbps: float
    full_gbps: float
    n_endpoints: int
    n_units: int
    keep: str
    halves: tuple[int, int]
    kinds: tuple[str, ...]
    lower_method: str
    lower_keep: str
    links: LinkSet
    seed: int
    assumed: str
    side: NDArray[np.bool_] = hidden()
    endpoints: NDArray[np.int64] = hidden()
    state: State | None = hidden()
    witness: Witness | None = hidden()
    title: ClassVar[str] = "Bisection bandwidth"
    derived: ClassVar[tuple[str, ...]] = ("exact", "ratio", "ratio_lower", "lower_how", "upper_how")

    @property
    def exact(self) -> bool:
        """Whether the bounds meet."""
        return self.lower_gbps == self.upper_gbps

    @property
    def ratio(self) -> float:
        """Upper bound over full bisection (see ``full_gbps``)."""
        return self.upper_gbps / self.full_gbps if self.full_gbps else math.nan

    @property
    def ratio_lower(self) -> float:
        """Lower bound over full bisection."""
        return self.lower_gbps / self.full_gbps if self.full_gbps else math.nan

    @property
    def lower_how(self) -> str:
        """How the lower bound was proved."""
        single = "; endpoints split singly" if self.lower_keep != self.keep else ""
        return _HOW[self.lower_method] + single

    @property
    def upper_how(self) -> str:
        """What proves the upper bound."""
        small, large = self.halves
        return f"a cut of {plural(len(self.links), 'link')} between halves of {small:,} and {large:,} endpoints"

    def rows(self) -> list[Row]:
        """The answer line by line."""
        if self.exact:
            head = [
                Row(
                    "bisection, one direction",
                    self.upper_gbps,
                    "Gb/s",
                    Standing("exact", "the bounds meet").given(self.assumed),
                )
            ]
        else:
            head = [
                Row(
                    "at least, one direction",
                    self.lower_gbps,
                    "Gb/s",
                    Standing("lower bound", self.lower_how).given(self.assumed),
                ),
                Row(
                    "at most, one direction",
                    self.upper_gbps,
                    "Gb/s",
                    Standing("upper bound", self.upper_how).given(self.assumed),
                ),
            ]
        high = f"{format_number(100 * self.ratio, 4)} %"
        share = high if self.exact else f"{format_number(100 * self.ratio_lower, 4)} to {high}"
        full = Standing("exact", "sum of the half's links").given(self.assumed)
        return [
            *head,
            Row("full bisection: injection of the smaller half", self.full_gbps, "Gb/s", full),
            Row("share of full", share, standing=Standing("exact" if self.exact else "bracket").given(self.assumed)),
            Row("halves", f"{self.halves[0]:,} and {self.halves[1]:,} endpoints"),
            Row("kept whole", _KEPT_WORDS[self.keep]),
            Row("lower bound by", self.lower_how),
            Row("upper bound by", self.upper_how),
            Row("links looked at", kinds_in_words(self.kinds)),
        ]


def bisection_bandwidth(
    fabric: Fabric,
    endpoints: Selector = None,
    *,
    keep: str = "host",
    kinds: Sequence[str] | None = None,
    state: State | None = None,
    seed: int = 0,
    healthy: State | None = None,
) -> Bisection:
    """Minimum, over all even splits of the endpoints, of the min-cut between the halves.

    B = min over even S of min-cut(S, rest). Even means as even as whole units allow: ``keep="host"`` keeps the
    endpoints of a host together, ``"domain"`` those of a scale-up domain, ``"pod"`` those of a pod, ``"none"`` splits
    them singly. Pods are the groups of a dragonfly: of g of them with one link of rate c a pair, halves of whole groups
    have floor(g / 2) * ceil(g / 2) * c between them, where a split through groups may have less. Rates are
    one direction. Lower and upper bound each carry a witness that ``topo.analysis.bisection.certificate`` verifies;
    they meet on healthy Clos, fat-tree and rail-optimized fabrics of any taper, and where there are at most 20
    switches that equal units hang on. So they do with scale-up domains below, where domains can be kept whole or the
    scale-out fabric is not tapered; one domain too many under a tapered fabric leaves a few percent. Cost: near
    linear there (seconds for a million endpoints); degraded and untiered fabrics take a search that draws on ``seed``,
    and an all-to-all on their routes as a bound, which is close on dragonflies (0.1 % of one with 261,632 endpoints).
    In a ``state`` no cut has lost more than all links have: the bound of the ``healthy`` state (as a rule the whole
    fabric) less that sum is a bound too. Where it or the all-to-all is within 5 % of the cut found, fabrics of more
    than 2,000 units and switches are searched no further.

    >>> import topo
    >>> answer = bisection_bandwidth(topo.leaf_spine(leaves=3, spines=4, hosts_per_leaf=8, link_gbps=1, host_gbps=1))
    >>> answer.lower_gbps, answer.upper_gbps, answer.exact, answer.full_gbps
    (8.0, 8.0, True, 12.0)

    :raises DisconnectedError: no path joins all the endpoints; the sizes of the parts are told.
    :raises InputError: a link of unknown rate.
    :raises ParameterError: fewer than two units, an unknown ``keep``, or pods where there are none.
    """
    problem = make_problem(fabric, endpoints, keep, kinds=kinds, state=state)
    smaller, larger = even_sizes(problem.weight)
    before = _as_it_was(fabric, problem, keep, state, healthy)
    start, (upper, side) = _bracketed(problem, keep, smaller, seed, before)
    lower, method, witness = start
    lower_keep = keep
    if lower < upper:
        found = enumerated(problem, smaller)
        if found is not None:
            lower, method, witness = found[0], "enumeration", None
            upper, side = min((upper, side), (problem.cut_gbps(found[1]), found[1]), key=lambda pair: pair[0])
        elif _has_finer_halves(problem, smaller) and not _is_near(problem, start, upper):
            finer = make_problem(fabric, problem.chosen, "none", kinds=kinds, state=state)
            bound = lower_bound(finer, tree_of(finer), smaller)
            if bound[0] > lower:
                (lower, method, witness), lower_keep = bound, "none"
    if int(problem.weight[side[: problem.n_units]].sum()) not in (smaller, larger):
        raise ArithmeticError("the split found is not even; please report this fabric")
    upper, node_side, links = _cut_of(problem, side, upper)
    if abs(upper - lower) <= _ROUNDING * upper:
        lower = upper
    if lower > upper:
        raise ArithmeticError(f"lower bound {lower} exceeds upper bound {upper}; please report this fabric")
    return Bisection(
        lower_gbps=lower,
        upper_gbps=upper,
        full_gbps=_full_gbps(problem, smaller),
        n_endpoints=len(problem.chosen),
        n_units=problem.n_units,
        keep=keep,
        halves=(smaller, larger),
        kinds=problem.network.kinds,
        lower_method=method,
        lower_keep=lower_keep,
        links=links,
        seed=seed,
        assumed=fabric.origin.assumed,
        side=freeze(node_side),
        endpoints=problem.chosen,
        state=state,
        witness=witness,
    )


def _as_it_was(
    fabric: Fabric, problem: Problem, keep: str, state: State | None, healthy: State | None
) -> Callable[[], Bound]:
    """What finds the bound that the healthy state gives; the trivial one where there is none."""

    def straight(before: Problem) -> Bound:
        return quick_bound(before, tree_of(before), even_sizes(before.weight)[0])

    def bound() -> Bound:
        if state is None:
            return TRIVIAL
        try:
            before = make_problem(fabric, problem.chosen, keep, kinds=problem.network.kinds, state=healthy)
        except (DisconnectedError, InputError):
            return TRIVIAL  # nothing joins them there, or a link that is gone now has no rate
        return healthier_bound(problem, before, healthy, straight)

    return bound


def _bracketed(
    problem: Problem, keep: str, smaller: int, seed: int, as_it_was: Callable[[], Bound]
) -> tuple[Bound, tuple[float, Array]]:
    """A lower bound, and a split with its cut: quick ones first, then a search where the two differ."""
    tree = tree_of(problem)
    lower, split = TRIVIAL, (math.inf, np.zeros(problem.n_vertices, bool))
    between = pod_bound(problem, smaller) if keep == "pod" else None
    if between is not None:
        lower, side = between[0], best_switches(problem, between[1])
        split = problem.cut_gbps(side), side
    if lower.gbps >= split[0] * (1 - _ROUNDING):
        return lower, split
    lower = max(lower, quick_bound(problem, tree, smaller), key=itemgetter(0))
    split = min(split, first_split(problem, tree, smaller, lower.gbps, seed), key=itemgetter(0))
    if lower.gbps >= split[0]:
        return lower, split
    split = min(split, kept_split(problem, keep, smaller, lower.gbps, seed), key=itemgetter(0))
    lower = max(lower, as_it_was(), key=itemgetter(0))
    if lower.gbps >= split[0] or _is_near(problem, lower, split[0]):
        return lower, split
    with part("lower bound", 1 / 3):
        lower = max(lower, lower_bound(problem, tree, smaller, split[0]), key=itemgetter(0))
    if lower.gbps < split[0]:
        with part("search for a split", 1 / 2):
            split = min(split, best_split(problem, tree, smaller, lower.gbps, seed), key=itemgetter(0))
    return lower, split


def _has_finer_halves(problem: Problem, smaller: int) -> bool:
    """Whether endpoints split singly are another question, of halves of the same sizes."""
    n_endpoints = len(problem.chosen)
    return problem.n_units < n_endpoints and smaller == n_endpoints // 2


def _is_near(problem: Problem, lower: Bound, upper: float) -> bool:
    """Whether the bracket of a large fabric, damaged or untiered, is as narrow as is worth the time of a search."""
    return (
        lower.method in ("healthier", "routed")
        and problem.n_vertices > MOST_FOR_SLOW_BOUNDS
        and lower.gbps >= upper * (1 - _NEAR)
    )


def _cut_of(problem: Problem, side: Array, upper: float) -> tuple[float, Array, LinkSet]:
    """The cut behind a split of the units: its capacity, the side of every node, its links.

    With opened hosts the problem's own cut is a lower bound, so the fabric's minimum cut of that split is taken.
    """
    network, fabric = problem.network, problem.network.fabric
    vertex = problem.vertex_of_node
    node_side = np.where(vertex >= 0, side[np.maximum(vertex, 0)], False)
    if has_parts(network):
        chosen = problem.chosen
        ones = node_side[chosen]
        cut = min_cut(fabric, chosen[ones], chosen[~ones], kinds=problem.network.kinds, state=network.state)
        return cut.capacity_gbps, cut.source_side, cut.links
    crossing = (vertex[network.a] >= 0) & (vertex[network.b] >= 0) & (node_side[network.a] != node_side[network.b])
    return upper, node_side, LinkSet.of(fabric, network.links[crossing], network.capacity_gbps[crossing])


def _full_gbps(problem: Problem, smaller: int) -> float:
    """Least injection that units of ``smaller`` or of the other half's endpoints together have."""
    rates, weight = problem.injection, problem.weight
    if problem.is_uniform:
        count = smaller // int(weight[0])
        return float(np.sort(rates)[:count].sum())
    return _least_injection(rates, weight, smaller)


def _least_injection(rates: Array, weight: Array, smaller: int) -> float:
    total = int(weight.sum())
    best = np.full(total + 1, np.inf)
    best[0] = 0.0
    keys, counts = np.unique(np.stack([weight.astype(float), rates], axis=1), axis=0, return_counts=True)
    for (size, rate), count in zip(keys.tolist(), counts.tolist(), strict=True):
        copies = 1
        while count > 0:
            taken = min(copies, count)
            step, cost = int(size) * taken, rate * taken
            best[step:] = np.minimum(best[step:], best[: total + 1 - step] + cost)
            count, copies = count - taken, copies * 2
    return float(min(best[smaller], best[total - smaller]))
