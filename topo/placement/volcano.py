"""How Volcano's network-topology-aware plugin picks a domain (hypernode binpack), and a draw of its random hosts.

Read in Volcano's source, commit ed72c7c8. The domain is a rule, with ties drawn at random; the hosts inside are drawn
at random, so that a list of hosts is a sample, never its choice.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from topo.placement.tree import Tree

__all__ = ["VolcanoChoice", "binpack_score", "volcano_choice"]


@dataclass(frozen=True)
class VolcanoChoice:
    """The domain: its level (0 the leaf groups), the nodes that tie for the best score, and one draw of counts."""

    level: int
    ties: tuple[int, ...]
    score: float
    sampled: tuple[int, ...]
    seed: int


def binpack_score(
    used: Mapping[str, float],
    request: Mapping[str, float],
    allocatable: Mapping[str, float],
    weights: Mapping[str, float],
) -> float:
    """100 x weighted mean over resources of (used + request) / allocatable; 0 if any exceeds.

    Default weights count cpu and memory only; accelerators only where they are listed.

    >>> score = binpack_score({"cpu": 2, "memory": 2}, {"cpu": 2, "memory": 2}, {"cpu": 8, "memory": 8},
    ...     {"cpu": 1, "memory": 1})
    >>> score
    50.0
    """
    total = sum(weights.values())
    if not total:
        return 0.0
    score = 0.0
    for name, weight in weights.items():
        share = (used.get(name, 0.0) + request.get(name, 0.0)) / allocatable[name] if allocatable.get(name) else 2.0
        if share > 1:
            return 0.0
        score += weight * share
    return 100 * score / total


def volcano_choice(tree: Tree, free: ArrayLike, size: ArrayLike, n: int, *, seed: int = 0) -> VolcanoChoice | None:
    """The lowest level with a domain that holds the job, the fullest such domain, and a drawn list of counts.

    Whole hosts: the score of a domain is (busy + n) / size. Inside, task by task: the first host at random, then hosts
    of the leaf nearest to what is allocated (its common ancestor), leaves with more tasks first, ties at random.

    >>> volcano_choice(Tree.of_counts([8] * 4), [5, 3, 8, 6], [8] * 4, 6).ties
    (3,)
    """
    counts, sizes = tree.count(np.asarray(free)), tree.count(np.asarray(size))
    for level in range(tree.depth + 1):
        fitting = np.flatnonzero(counts[level] >= n)
        if not len(fitting):
            continue
        busy = sizes[level][fitting] - counts[level][fitting]
        score = (busy + n) / sizes[level][fitting]
        ties = fitting[score >= score.max() * (1 - 1e-12)]
        rng = np.random.default_rng(seed)
        node = int(rng.choice(ties))
        drawn = _drawn(tree, np.asarray(free, np.int64), level, node, n, rng)
        return VolcanoChoice(level, tuple(int(t) for t in ties), float(score.max()), tuple(int(c) for c in drawn), seed)
    return None


def _drawn(
    tree: Tree, free: NDArray[np.int64], level: int, node: int, n: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    above = [*tree.above, np.zeros(tree.n_leaves, np.int64)]
    left = np.where(above[level] == node, free, 0)
    taken = np.zeros_like(left)
    at: tuple[int, int] | None = None  # the ancestor common to all that is allocated
    for task in range(n):
        if at is None:
            leaf = int(rng.choice(tree.n_leaves, p=left / left.sum()))
            at = (0, leaf)
        else:
            meets = np.full(tree.n_leaves, len(above) - 1)
            for height in range(len(above) - 1, at[0] - 1, -1):
                anchor = above[height][int(np.flatnonzero(taken)[0])]
                meets[above[height] == anchor] = height
            closeness = np.where(left > 0, (len(above) - meets) * 1.0, -1.0)
            best = closeness >= closeness.max()
            with_tasks = closeness + np.where(best, taken / task, 0.0)
            top = np.flatnonzero(with_tasks >= with_tasks.max() - 1e-12)
            leaf = int(rng.choice(top, p=left[top] / left[top].sum()))
            at = (max(at[0], int(meets[leaf])), leaf)
        taken[leaf] += 1
        left[leaf] -= 1
    return taken
