"""The longest matching: the permutation whose flows have farthest to go, near the worst for any routing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topo.errors import ParameterError
from topo.fabric import Fabric, Selector, State
from topo.progress import solving
from topo.table import Array
from topo.traffic.demand import Demand
from topo.traffic.distance import LeafGroups, leaf_groups
from topo.traffic.patterns import chosen, pair_rates

__all__ = ["LongestMatching", "find_longest_matching", "largest_transport", "longest_matching", "spread"]

_MOST_UNITS = 2_500
_MOST_TRANSPORT = 120
_NO_PATH = -1e6


@dataclass(frozen=True, eq=False)
class LongestMatching:
    """A permutation as a demand, the hops between switches of each of its pairs, and what bounds their sum.

    ``most_hops`` is an upper bound of the sum of hops of any permutation; equal to the sum where the matching is
    the longest there is.
    """

    demand: Demand
    hops: NDArray[np.int64]
    most_hops: float

    @property
    def is_longest(self) -> bool:
        """Whether no permutation has a larger sum of hops."""
        return float(self.hops.sum()) >= self.most_hops - 1e-6


def longest_matching(fabric: Fabric, endpoints: Selector = None, *, state: State | None = None) -> Demand:
    """The permutation with the largest sum of switch hops from senders to receivers.

    Long flows use most capacity, so it is near the worst permutation for any routing (Jyothi, Singla, Godfrey,
    Kolla 2016; Namyar, Supittayapornpong, Zhang, Yu, Govindan 2021). Found as a maximum-weight matching over the
    leaves, not the endpoints; pair (s, t) wants min(line rate of s, line rate of t). Where leaves have unequal
    numbers of endpoints and are many, it is close to the longest, not always it.

    >>> import topo
    >>> f = topo.fat_tree(4)
    >>> demand = longest_matching(f)
    >>> pods = f.nodes.pod.codes
    >>> bool((pods[demand.source] != pods[demand.sink]).all())
    True

    :raises ParameterError: fewer than two endpoints.
    """
    return find_longest_matching(fabric, endpoints, state=state).demand


def find_longest_matching(fabric: Fabric, endpoints: Selector = None, *, state: State | None = None) -> LongestMatching:
    """:func:`longest_matching` with the hops of its pairs and the bound on their sum.

    :raises ParameterError: fewer than two of the endpoints are attached to a switch.
    """
    rows = chosen(fabric, endpoints)
    groups = leaf_groups(fabric, state=state)
    group = groups.group[np.searchsorted(fabric.endpoints, rows)]
    rows, group = rows[group >= 0], group[group >= 0]
    if len(rows) < 2:
        raise ParameterError(f"fewer than two of the chosen endpoints of {fabric.name!r} are attached to a switch")
    order = np.lexsort((np.arange(len(group)), group, groups.of[group]))
    rows, group = rows[order], group[order]
    partner, most = _matched(groups, group)
    other = partner != np.arange(len(rows))
    source, sink = rows[other], rows[partner[other]]
    demand = Demand.of(fabric, "longest matching", source=source, sink=sink, gbps=pair_rates(fabric, source, sink))
    return LongestMatching(demand, groups.between(group[other], group[partner[other]]), most)


def _matched(groups: LeafGroups, group: Array) -> tuple[NDArray[np.int64], float]:
    """Partner of each endpoint (sorted by class, then group) and an upper bound on the sum of hops."""
    present, of = np.unique(groups.of[group], return_inverse=True)
    count = np.bincount(of)
    hops = groups.hops[np.ix_(present, present)].astype(float)
    several = np.bincount(np.unique(np.stack([of, group]), axis=1)[0], minlength=len(present)) > 1
    np.fill_diagonal(hops, np.where(several, np.diagonal(hops), 0.0))
    hops[hops < 0] = _NO_PATH
    far = float(count @ hops.max(axis=1))
    half = len(group) // 2
    across = np.roll(np.arange(len(group)), -half)
    if half and groups.between(group, group[across]).sum() >= far:
        return across, far
    amount, most = largest_transport(hops, count)
    return spread(amount, count), most


def largest_transport(hops: Array, count: Array) -> tuple[NDArray[np.int64], float]:
    """How many of each class send to each class so that the sum of hops is largest, and an upper bound on that sum.

    ``count`` are whole numbers that send and receive in each class; ``hops`` any weights of class pairs.
    """
    if len(count) > _MOST_TRANSPORT and not (count == count[0]).all():
        return _by_units(hops, count)
    if (count == count[0]).all() and len(count) <= _MOST_UNITS:
        from scipy.optimize import linear_sum_assignment

        row, column = linear_sum_assignment(hops, maximize=True)
        amount = np.zeros(hops.shape, np.int64)
        amount[row, column] = count[0]
        return amount, float((amount * hops).sum())
    if len(count) > _MOST_TRANSPORT:
        return _by_units(hops, count)
    return _by_linear_program(hops, count)


def _by_linear_program(hops: Array, count: Array) -> tuple[NDArray[np.int64], float]:
    from scipy.optimize import linprog
    from scipy.sparse import eye_array, kron, vstack

    n = len(count)
    one = np.ones((1, n))
    sums: Any = vstack([kron(eye_array(n), one), kron(one, eye_array(n))]).tocsr()
    with solving(f"linear program of {n * n:,} pairs of leaves"):
        answer: Any = linprog(-hops.ravel(), A_eq=sums, b_eq=np.concatenate([count, count]), method="highs-ds")
    if answer.status != 0:
        raise ArithmeticError(f"the matching of leaves was not solved: {answer.message}")
    # A vertex of the transport polytope is whole where supply and demand are.
    return np.rint(answer.x).reshape(n, n).astype(np.int64), -float(answer.fun)


def _by_units(hops: Array, count: Array) -> tuple[NDArray[np.int64], float]:
    """Classes cut into units of about equal size that are matched one to one; the rest goes across by order."""
    from scipy.optimize import linear_sum_assignment

    n = len(count)
    far = float(count @ hops.max(axis=1))
    unit = int(np.gcd.reduce(count))
    while (count // unit).sum() > _MOST_UNITS:
        unit += max(1, unit // 8)
    units = np.repeat(np.arange(n), count // unit)
    amount = np.zeros((n, n), np.int64)
    most = far
    if len(units):
        row, column = linear_sum_assignment(hops[np.ix_(units, units)], maximize=True)
        np.add.at(amount, (units[row], units[column]), unit)
        if (count % unit == 0).all():
            most = float((amount * hops).sum())
    rest = np.repeat(np.arange(n), count % unit)
    np.add.at(amount, (rest, np.roll(rest, -(len(rest) // 2))), 1)
    return amount, most


def spread(amount: Array, count: Array) -> NDArray[np.int64]:
    """One partner for every endpoint, endpoints being sorted by class, from the amounts between classes."""
    n = len(count)
    first = np.concatenate([[0], np.cumsum(count)])
    partner = np.empty(int(first[-1]), np.int64)
    # What stays in a class goes first on both sides, turned by half so that it changes its leaf.
    inside = np.diagonal(amount)
    for c in np.flatnonzero(inside).tolist():
        mine = np.arange(first[c], first[c] + inside[c])
        partner[mine] = np.roll(mine, -(len(mine) // 2))
    across = amount.copy()
    np.fill_diagonal(across, 0)
    sent_from = np.repeat(np.arange(n), across.sum(axis=1))
    sent_to = np.repeat(np.tile(np.arange(n), n), across.ravel())
    place = np.argsort(sent_to, kind="stable")
    rank = np.empty(len(place), np.int64)
    rank[place] = np.arange(len(place)) - np.repeat(
        np.cumsum(across.sum(axis=0)) - across.sum(axis=0), across.sum(axis=0)
    )
    sender_rank = np.arange(len(sent_from)) - np.repeat(
        np.cumsum(across.sum(axis=1)) - across.sum(axis=1), across.sum(axis=1)
    )
    partner[first[sent_from] + inside[sent_from] + sender_rank] = first[sent_to] + inside[sent_to] + rank
    return partner
