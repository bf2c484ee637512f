"""Mean of the equal share over independent hashes, without sampling, on whole Clos fabrics.

The equal share of a flow is min(1, least over its links of capacity / (flows on the link)). Fix the path of one flow:
every other flow adds to the loads along it by what the two have in common, independently of the rest, so that the
joint law of those loads is a convolution on a small lattice. It is exact but for loads beyond the lattice, whose
probability is carried along and bounds the answer from both sides.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from topo.analysis.collisions.clos_shape import ClosShape

__all__ = ["EqualShare", "mean_equal_share", "two_stage_share"]

_MOST_CELLS = 40_000
_DROPPED, _DROPPED_OF_TWO = 1e-8, 1e-13
_COUNTABLE = 1000
_NEGLIGIBLE = 1e-16

Lattice = NDArray[np.float64]


@dataclass(frozen=True)
class EqualShare:
    """Bracket of the mean over flows; ``sampled_flows`` is 0 where every flow was worked out.

    ``half_width`` is that of a 95 % interval where only some flows were drawn.
    """

    lower: float
    upper: float
    classes: int
    sampled_flows: int = 0
    half_width: float = 0.0


def two_stage_share(n_u: int, n_v: int, shared: int, links: int, *, ratio: tuple[float, float] = (1.0, 1.0)) -> float:
    """Mean equal share of a flow from leaf u to leaf v over ``links`` spines, one link each.

    n_u flows leave u, n_v enter v, ``shared`` do both, the flow itself among all three. E min(1, c_u/(1 + U + W),
    c_v/(1 + D + W)) with W ~ Bin(shared - 1, 1/S), U ~ Bin(n_u - shared, 1/S), D ~ Bin(n_v - shared, 1/S).

    >>> two_stage_share(2, 2, 1, 2), two_stage_share(2, 2, 2, 2)
    (0.625, 0.75)
    """
    groups = [
        _Group(n_u - shared, (((1, 0), 1 / links),)),
        _Group(n_v - shared, (((0, 1), 1 / links),)),
        _Group(shared - 1, (((1, 1), 1 / links),)),
    ]
    lower, upper = _expected(groups, ratio, 1.0)
    return (lower + upper) / 2


@dataclass(frozen=True)
class _Group:
    """``count`` flows, each of which adds one of the ``steps`` to the loads, with its probability, or nothing."""

    count: int
    steps: tuple[tuple[tuple[int, ...], float], ...]


def mean_equal_share(
    shape: ClosShape,
    source: NDArray[np.int64],
    sink: NDArray[np.int64],
    own_limit: NDArray[np.float64],
    flow_gbps: float,
    *,
    most_classes: int = 1000,
    drawn_flows: int = 200,
    seed: int = 0,
) -> EqualShare | None:
    """Mean equal share of equal flows between node rows ``source`` and ``sink``, as a share of ``flow_gbps``.

    ``own_limit`` caps each flow (its share of its endpoints' own links). Flows alike in all counts are worked out
    once; beyond ``most_classes`` kinds of flows, ``drawn_flows`` flows are drawn instead and the interval said, or
    with ``drawn_flows`` 0 there is no answer.
    """
    keys = _counts(shape, source, sink)
    table = np.column_stack([keys, np.round(own_limit * 2**40).astype(np.int64)])
    kinds, first, kind, count = np.unique(table, axis=0, return_index=True, return_inverse=True, return_counts=True)
    ratios = (shape.leaf_gbps / flow_gbps, shape.core_gbps / flow_gbps)
    kind = kind.ravel()
    drawn = len(kinds) > most_classes
    if drawn and not drawn_flows:
        return None
    rows = np.arange(len(kinds))
    if drawn:
        chosen = np.random.default_rng(np.random.SeedSequence(seed)).choice(len(kind), drawn_flows, replace=False)
        rows, count = np.unique(kind[chosen], return_counts=True)
    found = np.array(
        [_of_kind(shape, kinds[row, :-1].tolist(), float(own_limit[first[row]]), ratios) for row in rows.tolist()]
    )
    weight = count / count.sum()
    lower, upper = (weight @ found).tolist()
    if not drawn:
        return EqualShare(lower, upper, len(kinds))
    spread = math.sqrt(max(0.0, float(weight @ found[:, 0] ** 2) - lower**2) / (drawn_flows - 1))
    return EqualShare(lower, upper, len(kinds), drawn_flows, 1.96 * spread)


_INNER, _INSIDE, _ACROSS = 0, 1, 2
# (source leaf, source pod, sink pod, sink leaf) that a flow across pods has in common with another one.
_COMMON = (
    (1, 1, 1, 1),
    (1, 1, 1, 0),
    (1, 1, 0, 0),
    (0, 1, 1, 1),
    (0, 1, 1, 0),
    (0, 1, 0, 0),
    (0, 0, 1, 1),
    (0, 0, 1, 0),
)


def _counts(shape: ClosShape, source: NDArray[np.int64], sink: NDArray[np.int64]) -> NDArray[np.int64]:
    """One line a flow: inside a leaf, inside a pod or across pods, then how many flows have what in common with it."""
    u, v, p, w = shape.leaf[source], shape.leaf[sink], shape.pod[source], shape.pod[sink]
    moves, across = u != v, p != w
    width = max(shape.n_leaves, shape.n_pods)

    def shared(among: NDArray[np.bool_], *keys: NDArray[np.int64]) -> NDArray[np.int64]:
        code = keys[0] if len(keys) == 1 else keys[0] * width + keys[1]
        _, index = np.unique(code, return_inverse=True)
        return np.asarray(np.bincount(index[among], minlength=int(index.max()) + 1)[index], dtype=np.int64)

    inside = moves & ~across
    uv, uw, pv, pw = shared(moves, u, v), shared(across, u, w), shared(across, p, v), shared(across, p, w)
    out, into = shared(across, u), shared(across, v)
    p_all, all_w = shared(across, p), shared(across, w)
    columns = [uv - 1, uw - uv, out - uw, pv - uv, pw - uw - pv + uv, p_all - pw - out + uw]
    columns += [into - pv, all_w - pw - into + pv, shared(inside, u), shared(inside, v)]
    three = np.column_stack(columns)
    two = np.zeros_like(three)
    two[:, 0], two[:, 1], two[:, 2] = shared(moves, u), shared(moves, v), uv
    where = np.where(across, _ACROSS, np.where(moves, _INSIDE, _INNER))
    return np.column_stack([where, np.where(across[:, None], three, np.where(moves[:, None], two, 0))])


def _of_kind(shape: ClosShape, kind: list[int], limit: float, ratios: tuple[float, float]) -> tuple[float, float]:
    where, *counts = kind
    if where == _INNER:
        return limit, limit
    if where == _INSIDE:
        return _expected(_leaf_groups(shape, *counts[:3]), (ratios[0],) * 2, limit)
    both = 1 / (shape.spines * shape.cores)
    plane = 1 / shape.spines - both
    groups = []
    for common, count in zip(_COMMON, counts[:8], strict=True):
        step = (common, both)
        # On the same spine but another core only the leaves' links are shared.
        near = ((common[0], 0, 0, common[3]), plane)
        groups.append(_Group(count, (near, step) if common[0] or common[3] else (step,)))
    groups.append(_Group(counts[8], (((1, 0, 0, 0), 1 / shape.spines),)))
    groups.append(_Group(counts[9], (((0, 0, 0, 1), 1 / shape.spines),)))
    return _expected(groups, (ratios[0], ratios[1], ratios[1], ratios[0]), limit)


def _leaf_groups(shape: ClosShape, n_u: int, n_v: int, both: int) -> list[_Group]:
    """Others up and down through one spine; the b parallel links of a pair hash again on each side."""
    b = shape.parallel
    p = 1 / (shape.spines * b)
    up, down = _Group(n_u - both, (((1, 0), p),)), _Group(n_v - both, (((0, 1), p),))
    if b == 1:
        return [up, down, _Group(both - 1, (((1, 1), p),))]
    one = p - p / b
    return [up, down, _Group(both - 1, (((1, 0), one), ((0, 1), one), ((1, 1), p / b)))]


def _expected(groups: Sequence[_Group], ratios: Sequence[float], limit: float) -> tuple[float, float]:
    """Bracket of E min(limit, 1, c_i/(1 + X_i)), X the sum of the groups' steps."""
    groups = [group for group in groups if group.count > 0]
    if not groups:
        alone = min(limit, 1.0, *ratios)
        return alone, alone
    tops = _tops(groups, len(ratios))
    lattice: Lattice = np.zeros([top + 1 for top in tops])
    lattice[(0,) * len(ratios)] = 1.0
    for group in sorted(groups, key=lambda g: len(g.steps)):
        if len(group.steps) > 2:
            for _ in range(group.count):
                lattice = _added(lattice, _Group(1, group.steps))
        else:
            lattice = _added(lattice, group)
    value: Lattice = np.full(lattice.shape, min(limit, 1.0))
    for axis, (ratio, top) in enumerate(zip(ratios, tops, strict=True)):
        along = [1] * len(ratios)
        along[axis] = top + 1
        np.minimum(value, (ratio / np.arange(1.0, top + 2)).reshape(along), out=value)
    lower = float((lattice * value).sum())
    beyond = max(0.0, 1.0 - float(lattice.sum()))
    most = max(min(limit, 1.0, ratio / (top + 2)) for ratio, top in zip(ratios, tops, strict=True))
    return lower, lower + beyond * most


def _tops(groups: Sequence[_Group], axes: int) -> list[int]:
    """Largest load kept on each axis: beyond it lies less than 1e-8, or as far as the lattice may grow."""
    from scipy.special import pdtrc

    tops = []
    for axis in range(axes):
        most = sum(g.count for g in groups if any(step[axis] for step, _ in g.steps))
        mean = sum(g.count * sum(p for step, p in g.steps if step[axis]) for g in groups)
        top = int(mean)
        # A sum of independent indicators has a lighter tail than the Poisson law of its mean beyond mean + 1.
        while top < most and float(pdtrc(top, mean)) > (_DROPPED if axes > 2 else _DROPPED_OF_TWO):
            top += 1
        tops.append(min(top, most))
    while math.prod(top + 1 for top in tops) > _MOST_CELLS:
        tops[tops.index(max(tops))] -= 1
    return tops


def _added(lattice: Lattice, group: _Group) -> Lattice:
    """The lattice after the group's flows: a sum over how many of them took each step."""
    if len(group.steps) > 2:
        rest = 1.0 - sum(p for _, p in group.steps)
        return rest * lattice + sum((p * _shifted(lattice, step, 1) for step, p in group.steps), np.zeros_like(lattice))
    (first, p), (second, p2) = (*group.steps, (group.steps[0][0], 0.0))[:2]
    total = np.zeros_like(lattice)
    for a in range(group.count + 1):
        weight = _binomial(group.count, a, p)
        if weight < _NEGLIGIBLE and a > group.count * p:
            break
        moved = _shifted(lattice, first, a)
        for b in range(group.count - a + 1) if p2 else (0,):
            share = weight * _binomial(group.count - a, b, p2 / (1 - p)) if p2 else weight
            if share < _NEGLIGIBLE and (not p2 or b > (group.count - a) * p2 / (1 - p)):
                break
            total += share * _shifted(moved, second, b)
    return total


def _binomial(n: int, k: int, p: float) -> float:
    if p >= 1:
        return 1.0 if k == n else 0.0
    if n <= _COUNTABLE:
        return math.comb(n, k) * p**k * (1 - p) ** (n - k)
    # Beyond, the coefficient alone leaves the range of floats.
    log_count = math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
    return math.exp(log_count + k * math.log(p) + (n - k) * math.log1p(-p))


def _shifted(lattice: Lattice, step: tuple[int, ...], times: int) -> Lattice:
    """Mass moved by ``times`` steps; what leaves the lattice is dropped."""
    if times == 0 or not any(step):
        return lattice
    moved = np.zeros_like(lattice)
    if any(times * s >= size for s, size in zip(step, lattice.shape, strict=True) if s):
        return moved
    to = tuple(slice(times * s, None) for s in step)
    come = tuple(slice(0, size - times * s) for s, size in zip(step, lattice.shape, strict=True))
    moved[to] = lattice[come]
    return moved
