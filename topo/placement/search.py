"""Local search over rank orders and counts: swaps of two hosts and moves to a free one, all gains as matrices."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topo.placement.profile import Pattern
from topo.placement.tree import Tree
from topo.progress import counted
from topo.table import Array

__all__ = ["Problem", "Searched", "improved", "score", "searched"]

_NEAR = 1e-9
_PATIENCE = 200
_PARTS = 1000


@dataclass(frozen=True, eq=False)
class Problem:
    """Place the n hosts of a pattern on leaf groups with ``free`` hosts each, for ``hop_bytes`` or ``uplink_load``.

    ``capacity`` is relative, one array a level; ``base`` what other jobs already put there, in the same units as the
    pattern. ``most_leaves`` bounds the leaf groups used.
    """

    tree: Tree
    free: NDArray[np.int64]
    pattern: Pattern
    objective: str
    capacity: list[NDArray[np.float64]]
    base: list[NDArray[np.float64]]
    most_leaves: int | None = None


@dataclass(frozen=True, eq=False)
class Searched:
    """Leaf group of each host of the job, its objective, how many starts were tried, and whether time ended it."""

    leaf: NDArray[np.int64]
    value: float
    tried: int
    cut_short: bool = False


def score(problem: Problem, leaf: Array) -> float:
    """The objective of an assignment of the job's hosts to leaf groups, from its traffic."""
    pattern, tree = problem.pattern, problem.tree
    total, worst = 2 * pattern.total, 0.0
    for level, at in enumerate(tree.above):
        node, width = at[leaf], len(tree.levels[level])
        if pattern.uniform is not None:
            k = np.bincount(node, minlength=width).astype(float)
            out = into = pattern.uniform * k * (pattern.n - k)
        else:
            s, t, w = _entries(pattern)
            apart = node[s] != node[t]
            out = np.bincount(node[s[apart]], weights=w[apart], minlength=width)
            into = np.bincount(node[t[apart]], weights=w[apart], minlength=width)
        real = tree.levels[level].real
        total += float((out + into)[real].sum())
        used = np.unique(node)
        load = (np.maximum(out, into) + problem.base[level]) / problem.capacity[level]
        worst = max(worst, float(load[used][real[used]].max(initial=0.0)))
    return total if problem.objective == "hop_bytes" else worst


def _entries(pattern: Pattern) -> tuple[Array, Array, Array]:
    coo = pattern.weights.tocoo()
    return coo.row, coo.col, coo.data


def searched(
    problem: Problem, starts: list[Array], *, target: float, budget_s: float, seed: int = 0, moves: bool = True
) -> Searched:
    """The best assignment found from some starts: all scored, the best dozen improved, then perturbed and improved.

    Stops at ``target`` (the lower bound), when 200 starts in a row found nothing better, or when the time is up: only
    then can two runs of one seed differ. ``moves`` allows other leaf groups than the start's.
    """
    begin = time.perf_counter()
    scored = sorted(((score(problem, leaf), i) for i, leaf in enumerate(starts)), key=lambda pair: pair)
    best_value, first = scored[0]
    best = starts[first]
    dense = _dense(problem.pattern)
    reached = best_value <= target + _NEAR * max(abs(target), 1.0)
    if dense is None or reached or not budget_s:
        return Searched(best, best_value, len(starts))
    rng = np.random.default_rng(seed)
    tried, pool = len(starts), [starts[i] for _, i in scored[:12]]
    deadline, in_vain = begin + budget_s, 0
    with counted(_PARTS, "search") as count:
        while in_vain < _PATIENCE and time.perf_counter() < deadline:
            count(int(_PARTS * (time.perf_counter() - begin) / budget_s))
            current = pool.pop(0) if pool else _perturbed(best, rng)
            found = improved(problem, current, dense, deadline=deadline, moves=moves)
            value = score(problem, found)
            tried, in_vain = tried + 1, 0 if value < best_value * (1 - _NEAR) else in_vain + 1
            if value <= best_value:
                best, best_value = found, value
            if best_value <= target + _NEAR * max(abs(target), 1.0):
                break
    return Searched(best, best_value, tried, time.perf_counter() >= deadline)


def _dense(pattern: Pattern) -> Any:
    if pattern.weights is None or pattern.n > 2048:
        return None
    weights = pattern.weights.toarray()
    return (weights + weights.T) / 2


def _perturbed(leaf: Array, rng: np.random.Generator) -> Array:
    out = leaf.copy()
    most = max(min(len(leaf), 8), len(leaf) // 8)  # enough to leave a valley of a small job, little of a large one
    size = int(rng.integers(2, most + 1)) if most > 2 else most
    picked = rng.choice(len(leaf), size=min(size, len(leaf)), replace=False)
    out[picked] = out[rng.permutation(picked)]
    return out


def improved(problem: Problem, start: Array, dense: Array, *, deadline: float, moves: bool) -> Array:
    """Best swap or move, over and over, until none helps; for loads with the powers 8 and 20 in turn."""
    if problem.objective == "hop_bytes":
        return _descend(problem, start, dense, 0, deadline, moves)
    leaf, value = start, score(problem, start)
    for power in (8, 20, 8, 20):
        found = _descend(problem, leaf, dense, power, deadline, moves)
        after = score(problem, found)
        if after < value - _NEAR:
            leaf, value = found, after
        elif power == 20:
            break
    return leaf


def _descend(problem: Problem, start: Array, dense: Array, power: int, deadline: float, moves: bool) -> Array:
    state = _State(problem, start.copy(), dense)
    for _ in range(20 * len(start)):
        if time.perf_counter() > deadline:
            break
        gain, i, j = state.best_swap(power)
        other, k, to = state.best_move(power) if moves else (0.0, 0, 0)
        scale = _NEAR * max(state.magnitude(power), 1.0)
        if min(gain, other) > -scale:
            break
        if other < gain:
            state.move(k, to)
        else:
            a, b = int(state.leaf[i]), int(state.leaf[j])
            state.move(i, b)
            state.move(j, a)
    return state.leaf


class _State:
    """An assignment with what every host says to every node of each level, kept up to date."""

    def __init__(self, problem: Problem, leaf: Array, dense: Array) -> None:
        self.problem, self.leaf, self.dense = problem, leaf, dense
        self.degree = dense.sum(axis=1)
        tree = problem.tree
        self.count = np.bincount(leaf, minlength=tree.n_leaves)
        self.levels = [
            level for level in range(tree.depth)
            if (tree.levels[level].real.any() and np.isfinite(problem.capacity[level]).any())
            or problem.objective == "hop_bytes"
        ]  # fmt: skip
        self.said, self.cut = {}, {}
        for level in self.levels:
            node = tree.above[level][leaf]
            said = np.zeros((len(leaf), len(tree.levels[level])))
            np.add.at(said.T, node, dense)
            self.said[level] = said
            inner = said[np.arange(len(leaf)), node]
            self.cut[level] = np.bincount(node, weights=self.degree - inner, minlength=said.shape[1])

    def move(self, i: int, to: int) -> None:
        """Put host i on another leaf group."""
        tree, old = self.problem.tree, int(self.leaf[i])
        for level in self.levels:
            u, v = int(tree.above[level][old]), int(tree.above[level][to])
            if u == v:
                continue
            said, column = self.said[level], self.dense[:, i]
            self.cut[level][u] += -self.degree[i] + 2 * said[i, u]
            said[:, u] -= column
            self.cut[level][v] += self.degree[i] - 2 * said[i, v]
            said[:, v] += column
        self.leaf[i] = to
        self.count[old] -= 1
        self.count[to] += 1

    def magnitude(self, power: int) -> float:
        return float(sum(cut.sum() for cut in self.cut.values())) if not power else 1.0

    def best_swap(self, power: int) -> tuple[float, int, int]:
        """Least change of the objective over all swaps of two hosts, and the pair."""
        change = np.zeros_like(self.dense)
        for level in self.levels:
            node = self.problem.tree.above[level][self.leaf]
            apart = node[:, None] != node[None, :]
            inner = self.said[level][np.arange(len(node)), node]
            leave = 2 * inner - self.degree  # of node(i) when i leaves
            enter = self.degree[:, None] - 2 * self.said[level][:, node]  # of node(j's) when row's host enters
            one = leave[:, None] + (enter.T + 2 * self.dense)  # change of node(i) when j replaces i
            change += np.where(apart, self._priced(level, node, one, power), 0.0)
        at = int(change.argmin())
        return float(change.flat[at]), at // len(self.leaf), at % len(self.leaf)

    def _priced(self, level: int, node: Array, one: Array, power: int) -> Array:
        if not power:
            return 2 * (one + one.T)
        load, scale = self._loads(level, power)
        price = ((load[node][:, None] + one / scale[node][:, None]).clip(min=0.0)) ** power
        price -= (load[node] ** power)[:, None]
        priced: Array = price + price.T
        return priced

    def _loads(self, level: int, power: int) -> tuple[Array, Array]:
        """Loads relative to the largest now, and what a unit of cut adds."""
        problem = self.problem
        peak = max(
            float(((self.cut[at] + problem.base[at]) / problem.capacity[at]).max(initial=0.0)) for at in self.levels
        )
        scale = problem.capacity[level] * (peak or 1.0)
        return (self.cut[level] + problem.base[level]) / scale, scale

    def best_move(self, power: int) -> tuple[float, int, int]:
        """Least change over all moves of a host to a leaf group with a free one, with host and group."""
        problem, tree = self.problem, self.problem.tree
        open_ = self.count < problem.free
        most = problem.most_leaves
        if most is not None and int((self.count > 0).sum()) >= most:
            open_ &= self.count > 0
        targets = np.flatnonzero(open_)
        if not len(targets):
            return 0.0, 0, 0
        change = np.zeros((len(self.leaf), len(targets)))
        for level in self.levels:
            node, to = tree.above[level][self.leaf], tree.above[level][targets]
            apart = node[:, None] != to[None, :]
            leave = (2 * self.said[level][np.arange(len(node)), node] - self.degree)[:, None]
            enter = self.degree[:, None] - 2 * self.said[level][:, to]
            if not power:
                change += np.where(apart, 2 * (leave + enter), 0.0)
                continue
            load, scale = self._loads(level, power)
            before = (load[node] ** power)[:, None] + (load[to] ** power)[None, :]
            left = (load[node][:, None] + leave / scale[node][:, None]).clip(min=0.0) ** power
            entered = (load[to][None, :] + enter / scale[to][None, :]).clip(min=0.0) ** power
            change += np.where(apart, left + entered - before, 0.0)
        at = int(change.argmin())
        return float(change.flat[at]), at // len(targets), int(targets[at % len(targets)])
