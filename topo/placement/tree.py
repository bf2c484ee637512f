"""The placement tree: leaf groups of hosts, pods of leaf groups, and so on up to one root, level by level."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from topo.errors import ParameterError
from topo.table import Array, freeze

__all__ = ["LEVEL_WORDS", "Level", "Tree"]

LEVEL_WORDS = ("leaf", "pod", "zone")
"""Words for the levels of a placement tree from the bottom; above them a level is called by its number."""


@dataclass(frozen=True, eq=False)
class Level:
    """One level of a tree: nodes with their parents on the next level up, and what leads up there.

    ``capacity_gbps`` is the summed rate of a node's uplinks in one direction (nan: unknown), ``uplinks`` their
    number, ``slowest_gbps`` the least rate of one of them. ``real`` is false for a stand-in that only fills a level
    which the fabric skips there: it costs nothing and carries nothing.
    """

    name: NDArray[np.str_]
    parent: NDArray[np.int64]
    capacity_gbps: NDArray[np.float64]
    uplinks: NDArray[np.int64]
    slowest_gbps: NDArray[np.float64]
    real: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.name)

    @classmethod
    def of(
        cls,
        name: ArrayLike,
        parent: ArrayLike,
        *,
        capacity_gbps: ArrayLike | None = None,
        uplinks: ArrayLike | None = None,
        slowest_gbps: ArrayLike | None = None,
        real: ArrayLike | None = None,
    ) -> Level:
        """A level with unknown rates, one uplink a node and every node real where nothing else is said."""
        n = len(np.asarray(name))
        number = np.ones(n, np.int64) if uplinks is None else np.asarray(uplinks)
        capacity = np.full(n, np.nan) if capacity_gbps is None else np.asarray(capacity_gbps, float)
        slowest = capacity / np.maximum(number, 1) if slowest_gbps is None else np.asarray(slowest_gbps, float)
        return cls(
            freeze(name, np.str_),
            freeze(parent, np.int64),
            freeze(capacity),
            freeze(number, np.int64),
            freeze(slowest),
            freeze(np.ones(n, bool) if real is None else real, np.bool_),
        )


@dataclass(frozen=True, eq=False)
class Tree:
    """Levels from the leaf groups up to the last one below the root; every leaf group lies under one node of each.

    ``symmetric`` says that the fabric is such a tree for its traffic: every switch of a node leads to the next level
    like every other, so an even split loads all links of a node's bundle alike. Where it is not, ``why_not`` says what
    breaks it: counts of leaf groups stay exact, loads of the tree are a lower bound. Where it is not ``joined`` nothing
    leads from one node of the last level to another: a forest, whose root carries nothing.

    >>> tree = Tree.of_counts([2, 2], pods=[0, 0])
    >>> tree.n_leaves, tree.depth, tree.links(1)
    (2, 2, 4)
    """

    levels: tuple[Level, ...]
    symmetric: bool = True
    joined: bool = True
    why_not: str = ""
    notes: tuple[str, ...] = field(default=())

    @classmethod
    def of_counts(
        cls,
        leaves: Sequence[int] | ArrayLike,
        *,
        pods: ArrayLike | None = None,
        leaf_gbps: float = float("nan"),
        pod_gbps: float = float("nan"),
        names: ArrayLike | None = None,
    ) -> Tree:
        """A tree of two or three levels by hand: one leaf group an entry, ``pods`` the pod of each.

        Pods are numbered 0, 1, ... without gaps; all leaf groups, and all pods, have uplinks of the same rate.
        """
        n = len(np.asarray(leaves))
        name = np.array([f"leaf-{i}" for i in range(n)]) if names is None else np.asarray(names)
        if pods is None:
            return cls((Level.of(name, np.zeros(n, int), capacity_gbps=np.full(n, leaf_gbps)),))
        of = np.asarray(pods, np.int64)
        n_pods = int(of.max()) + 1
        if len(np.unique(of)) != n_pods:
            raise ParameterError(f"pods are numbered 0 to {n_pods - 1} without gaps; {of.tolist()} is not")
        pod_name = np.array([f"pod-{i}" for i in range(n_pods)])
        return cls(
            (
                Level.of(name, of, capacity_gbps=np.full(n, leaf_gbps)),
                Level.of(pod_name, np.zeros(n_pods, int), capacity_gbps=np.full(n_pods, pod_gbps)),
            )
        )

    @property
    def n_leaves(self) -> int:
        """Leaf groups."""
        return len(self.levels[0])

    @property
    def depth(self) -> int:
        """Levels below the root."""
        return len(self.levels)

    def links(self, level: int) -> int:
        """Links of a path that meets on ``level`` (0 the leaf group, ``depth`` the root): 2, 4, 6, ..."""
        return 2 * (level + 1)

    def level_word(self, level: int) -> str:
        """What a node of a level is called."""
        return LEVEL_WORDS[level] if level < len(LEVEL_WORDS) else f"level-{level + 1}"

    @cached_property
    def above(self) -> tuple[NDArray[np.int64], ...]:
        """For each level the node of every leaf group there; level 0 is the leaf group itself."""
        at = np.arange(self.n_leaves)
        out = [at]
        for level in self.levels[:-1]:
            at = level.parent[at]
            out.append(at)
        return tuple(freeze(nodes) for nodes in out)

    def count(self, leaf_counts: ArrayLike) -> list[NDArray[np.int64]]:
        """Sums below every node of each level, from one number a leaf group; the root's total is the last."""
        counts = [np.asarray(leaf_counts, np.int64)]
        for at, level in enumerate(self.levels):
            width = len(self.levels[at + 1]) if at + 1 < self.depth else 1
            counts.append(np.bincount(level.parent, weights=counts[-1], minlength=width).astype(np.int64))
        return counts

    def cuts(self, matrix: Array) -> list[tuple[NDArray[np.float64], NDArray[np.float64]]]:
        """Traffic out of and into every node of each level, from traffic between leaf groups (dense, L x L)."""
        out = []
        for at, level in enumerate(self.levels):
            diagonal = np.diagonal(matrix)
            leaving, entering = matrix.sum(axis=1) - diagonal, matrix.sum(axis=0) - diagonal
            out.append((np.where(level.real, leaving, 0.0), np.where(level.real, entering, 0.0)))
            width = len(self.levels[at + 1]) if at + 1 < self.depth else 1
            matrix = _merged(matrix, level.parent, width)
        return out

    def relative_capacity(self, unit: float) -> list[NDArray[np.float64]]:
        """Uplink capacity of every node over ``unit``; infinite above the leaves where rates are unknown.

        Without rates a leaf group counts 1 and nothing can be said of the levels above.
        """
        rates_known = bool(np.isfinite(self.levels[0].capacity_gbps).all() and unit > 0)
        out = []
        for at, level in enumerate(self.levels):
            if rates_known:
                capacity = np.where(np.isnan(level.capacity_gbps), np.inf, level.capacity_gbps / unit)
            else:
                capacity = np.full(len(level), np.inf if at else 1.0)
            out.append(np.where(level.real, capacity, np.inf))
        return out

    @property
    def rates_known(self) -> bool:
        """Whether every uplink of the tree has a rate."""
        return all(bool(np.isfinite(level.capacity_gbps[level.real]).all()) for level in self.levels)


def _merged(matrix: Array, parent: Array, width: int) -> Array:
    """Rows and columns of a matrix summed by parent."""
    from scipy.sparse import csr_array

    n = len(parent)
    into = csr_array((np.ones(n), (parent, np.arange(n))), shape=(width, n))
    merged: Array = np.asarray((into @ (into @ matrix).T).T)
    return merged
