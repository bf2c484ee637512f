"""Units that differ in nothing under one block counted together, so that the knapsack moves them in steps.

A unit of several links is a base of its own, and so is a switch with its only unit: its label follows the unit or the
block, whichever costs less, so it pays min(rate of the unit, rate of the tree edge) where unit and block differ. Units
that pay alike under one block are one class of a single base that bears the block's label: the minimum is the same,
from a thousandth of the work.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from topo.analysis.bisection.blocks import BlockTree
from topo.analysis.bisection.knapsack import Charges, Split, TreeCost
from topo.progress import solving
from topo.table import Array

__all__ = ["cheapest_labels"]

_MOST_TOLD_APART = 40_000


def cheapest_labels(tree: BlockTree, kappa: Array, targets: Sequence[int], charges: Charges | None = None) -> Split:
    """The minimum of :class:`TreeCost`, equal units of a block counted together where its labels are not charged.

    In very large fabrics what blocks of such units may be charged is charged in any case, so that they too are counted
    together.
    """
    if charges is not None and len(tree.bases.class_of_unit) > _MOST_TOLD_APART:
        charges = _flattened(tree, charges)
    merged = _merged(tree, kappa, charges)
    with solving(f"cheapest sides of {len(tree.parent):,} units and blocks of switches"):
        if merged is None:
            return TreeCost(tree, kappa, targets, charges).solve()
        return merged.expanded(TreeCost(merged.small, merged.kappa, targets, merged.charges).solve())


def _tracked(tree: BlockTree, charges: Charges | None) -> Array:
    """Bases whose labels a charge of their block depends on."""
    if charges is None:
        return np.zeros(tree.n_bases, bool)
    tracked: Array = charges.total[tree.parent[: tree.n_bases]] > 0
    return tracked


def _is_unit(tree: BlockTree) -> Array:
    """Bases of one unit: a unit of several links, or a switch on which a single unit hangs."""
    is_unit: Array = (np.bincount(tree.bases.class_base, tree.bases.class_count, tree.n_bases) == 1) & (
        tree.parent[: tree.n_bases] >= 0
    )
    return is_unit


def _flattened(tree: BlockTree, charges: Charges) -> Charges:
    has_units = np.zeros(len(charges.total), bool)
    has_units[tree.parent[: tree.n_bases][_is_unit(tree)]] = True
    flat = charges.flat + float(charges.total[has_units].sum())
    return Charges(flat, np.where(has_units, 0.0, charges.total), np.where(has_units, 0.0, charges.opposed))


@dataclass(frozen=True, eq=False)
class _Merged:
    """A tree with fewer bases, and how its classes and elements are those of the tree it stands for."""

    tree: BlockTree
    small: BlockTree
    own_kappa: NDArray[np.float64]
    kappa: NDArray[np.float64]
    charges: Charges | None
    unit_base: NDArray[np.int64]
    class_of_unit_base: NDArray[np.int64]
    number: NDArray[np.int64]
    kept_class: NDArray[np.int64]

    def expanded(self, split: Split) -> Split:
        """Labels and counts of the tree's own elements and classes."""
        tree, bases = self.tree, self.tree.bases
        label = np.zeros(len(tree.parent), np.int8)
        there = self.number >= 0
        label[there] = split.label[self.number[there]]
        ones = np.zeros(len(bases.class_count), np.int64)
        ones[self.kept_class] = split.class_ones[: len(self.kept_class)]
        order = np.argsort(self.class_of_unit_base, kind="stable")
        mine = self.class_of_unit_base[order]
        rank = np.arange(len(mine)) - np.searchsorted(mine, mine)
        on_one = np.empty(len(mine), np.int64)
        on_one[order] = rank < split.class_ones[mine]
        own_class = np.searchsorted(bases.class_base, self.unit_base)
        ones[own_class] = on_one
        follows = self.own_kappa[self.unit_base] < bases.class_cost[own_class]
        label[self.unit_base] = np.where(follows, on_one, label[tree.parent[self.unit_base]])
        return Split(split.cost, label, ones, split.strayed)


def _merged(tree: BlockTree, kappa: Array, charges: Charges | None) -> _Merged | None:
    bases, n_bases = tree.bases, tree.n_bases
    is_unit = _is_unit(tree) & ~_tracked(tree, charges)
    unit = np.flatnonzero(is_unit)
    if len(unit) < 2:
        return None
    own_class = np.searchsorted(bases.class_base, unit)
    parent = tree.parent[unit]
    paid = np.minimum(kappa[unit], bases.class_cost[own_class])
    keys = np.stack([parent.astype(float), paid, bases.class_weight[own_class].astype(float)])
    classes, index = np.unique(keys, axis=1, return_inverse=True)
    index = index.ravel()
    kept = np.flatnonzero(~is_unit)
    owners, class_owner = np.unique(classes[0].astype(np.int64), return_inverse=True)
    n_kept, n_small = len(kept), len(kept) + len(owners)
    shift = n_small - n_bases
    number = np.full(len(tree.parent), -1)
    number[kept] = np.arange(n_kept)
    number[n_bases:] = np.arange(n_bases, len(tree.parent)) + shift
    upper = tree.parent[n_bases:]
    up = np.concatenate([tree.parent[kept], owners, upper])
    small_parent = np.where(up >= 0, number[up], -1)
    kept_class = np.flatnonzero(~is_unit[bases.class_base])
    small_bases = replace(
        bases,
        vertex=np.concatenate([bases.vertex[kept], np.full(len(owners), -1)]),
        class_base=np.concatenate([number[bases.class_base[kept_class]], n_kept + class_owner]),
        class_cost=np.concatenate([bases.class_cost[kept_class], classes[1]]),
        class_weight=np.concatenate([bases.class_weight[kept_class], classes[2].astype(np.int64)]),
        class_count=np.concatenate([bases.class_count[kept_class], np.bincount(index)]),
    )
    # A base of many units bears its block's label: another would cost without end.
    small_kappa = np.concatenate([kappa[kept], np.full(len(owners), np.inf), kappa[n_bases:]])
    small = replace(tree, bases=small_bases, parent=small_parent)
    moved = None if charges is None else Charges(charges.flat, *(_moved(c, number, len(small_parent)) for c in (
        charges.total, charges.opposed)))  # fmt: skip
    return _Merged(
        tree, small, kappa, small_kappa, moved, unit, len(kept_class) + index, number, kept_class
    )  # fmt: skip


def _moved(values: Array, number: Array, n: int) -> Array:
    out = np.zeros(n)
    there = number >= 0
    out[number[there]] = values[there]
    return out
