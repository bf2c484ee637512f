"""Oracles of collisions that use nothing of the library's laws: occupancy, bounds, counts, stage by stage."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from topo import Fabric
from topo.traffic import Demand


def between_leaves(fabric: Fabric, hosts: int, seed: int) -> Demand:
    """A random permutation in which nobody stays on its leaf."""
    ends, random = fabric.endpoints, np.random.default_rng(seed)
    n = len(ends)
    to = random.permutation(n)
    while (bad := np.flatnonzero(to // hosts == np.arange(n) // hosts)).size:
        for i in bad.tolist():
            j = int(random.integers(n))
            to[i], to[j] = to[j], to[i]
    return Demand.of(fabric, "permutation between leaves", source=ends, sink=ends[to], gbps=400)


def own_p_max_at_most(n: int, m: int, k: int) -> float:
    """P(no link above k) of n flows on m links, link by link: positive terms only, nothing of the library."""
    ways = np.zeros(n + 1)
    ways[0] = 1.0
    for _ in range(m):
        ways = sum(np.concatenate([np.zeros(j), ways[: n + 1 - j]]) / math.factorial(j) for j in range(min(k, n) + 1))
    return float(ways[n]) * math.exp(math.lgamma(n + 1) - n * math.log(m))


def own_lower_bound(to: np.ndarray, hosts: int, alone: float) -> float:
    """P_A (1 - sum_v (1 - P_v) / prod_{u: n_uv >= 2} P_u), both ways round, or the union bound; all P alike."""
    n = len(to) // hosts
    between = np.zeros((n, n), int)
    np.add.at(between, (np.arange(len(to)) // hosts, to // hosts), 1)
    given = [alone**n * (1 - sum((1 - alone) / alone**t for t in (m >= 2).sum(0))) for m in (between, between.T)]
    return max(0.0, 1 - 2 * (1 - alone**n), *given)


def counted_nowhere_above(to: np.ndarray, hosts: int, spines: int, k: int) -> float:
    """P(no link above k) itself: leaf by leaf over the loads of all links down, spines that are alike put in order."""
    leaves = len(to) // hosts
    states: Counter[tuple[tuple[int, ...], ...]] = Counter({((0,) * leaves,) * spines: 1})
    for u in range(leaves):
        adds: Counter[tuple[tuple[int, ...], ...]] = Counter()
        for choice in itertools.product(range(spines), repeat=hosts):
            if max(Counter(choice).values()) <= k:
                load = np.zeros((spines, leaves), int)
                np.add.at(load, (choice, to[u * hosts : (u + 1) * hosts] // hosts), 1)
                adds[tuple(map(tuple, load.tolist()))] += 1
        following: Counter[tuple[tuple[int, ...], ...]] = Counter()
        for state, ways in states.items():
            for add, count in adds.items():
                total = [tuple(map(int.__add__, a, b)) for a, b in zip(state, add, strict=True)]
                if max(map(max, total)) <= k:
                    following[tuple(sorted(total))] += ways * count
        states = following
    return sum(states.values()) / spines ** len(to)


def own_stage_laws(to: np.ndarray, k: int) -> np.ndarray:
    """P(no link above j), j = 1, 2, ..., of the four stages of a fat-tree by their blocks' occupancy."""
    half = k // 2
    at = np.arange(len(to))
    leaf, pod, to_leaf, to_pod = at // half, at // half**2, to // half, to // half**2
    moves, across = leaf != to_leaf, pod != to_pod
    laws = []
    for among, block, links in ((moves, leaf, half), (across, pod, half**2), (across, to_pod, half**2),
                                (moves, to_leaf, half)):  # fmt: skip
        sizes, many = np.unique(np.bincount(block[among]), return_counts=True)
        laws.append(
            [
                math.prod(
                    own_p_max_at_most(n, links, j) ** c for n, c in zip(sizes.tolist(), many.tolist(), strict=True)
                )
                for j in range(1, 2 * half + 8)
            ]
        )
    return np.array(laws)


def own_independent_share(to: np.ndarray, k: int) -> float:
    """E[1 / largest of its loads], flow by flow, as if the stages were independent."""
    from scipy.stats import binom

    half = k // 2
    at = np.arange(len(to))
    leaf, pod, to_leaf, to_pod = at // half, at // half**2, to // half, to // half**2
    moves, across = leaf != to_leaf, pod != to_pod
    x = np.arange(half**2)
    below = np.ones((len(to), len(x)))
    for among, block, links in ((moves, leaf, half), (across, pod, half**2), (across, to_pod, half**2),
                                (moves, to_leaf, half)):  # fmt: skip
        others = np.bincount(block[among], minlength=len(to))[block] - 1
        below[among] *= binom.cdf(x[None, :], others[among][:, None], 1 / links)
    return float((np.diff(below, prepend=0, axis=1) / (x + 1)).sum(1).mean())


def own_mean_largest(n: int, m: int) -> Fraction:
    """E[largest load] of n on m links by all ways to write n as a sum, in fractions."""

    def sums(left: int, terms: int, most: int) -> Iterator[tuple[int, ...]]:
        if terms == 0:
            if left == 0:
                yield ()
            return
        for x in range(min(left, most), -1, -1):
            if x * terms < left:
                return
            for rest in sums(left - x, terms - 1, x):
                yield (x, *rest)

    total = Fraction(0)
    for loads in sums(n, m, n):
        ways = Fraction(math.factorial(n), math.prod(map(math.factorial, loads)))
        orders = math.factorial(m) // math.prod(map(math.factorial, Counter(loads).values()))
        total += ways * orders * loads[0]
    return total / m**n
