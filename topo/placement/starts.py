"""Where a search starts: counts of hosts per leaf group times orders of the job's hosts."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from topo.placement.counts import water_level
from topo.placement.profile import JobGrid, Pattern
from topo.placement.tree import Tree
from topo.table import Array

__all__ = ["assigned", "orders_of", "packings"]


def packings(free: Array, n: int, grid: JobGrid | None, most_leaves: int | None) -> list[NDArray[np.int64]]:
    """Counts that take hosts in units of several: the largest leaf groups first, or spread evenly.

    Units are what a job keeps together: an expert group, a chain of stages, a ring, and powers of two.
    """
    sizes = {1, 4, 8, 16}
    if grid is not None:
        sizes |= {f * s for s in (grid.stages, grid.replicas) for f in (1, 2)} | {grid.experts, 2 * grid.experts}
    found = []
    for unit in sorted(size for size in sizes if n % size == 0 and size <= n):
        for most in (1, 2, n):
            room = np.minimum(free // unit, most)
            if int(room.sum()) * unit < n:
                continue
            compact = _largest_first(room, n // unit) * unit
            level = water_level(room, n // unit)
            spread = _trimmed(np.minimum(room, level), n // unit) * unit
            found += [compact, spread]
    if most_leaves is not None:
        found = [counts for counts in found if int((counts > 0).sum()) <= most_leaves]
    return found


def _largest_first(room: Array, n: int) -> Array:
    order = np.argsort(-room, kind="stable")
    running = np.cumsum(room[order])
    taken = np.clip(n - (running - room[order]), 0, room[order])
    out = np.zeros_like(room)
    out[order] = taken
    return out


def _trimmed(counts: Array, n: int) -> Array:
    """One less where the level is one too high, so that the sum is n."""
    extra = int(counts.sum()) - n
    out = counts.copy()
    out[np.flatnonzero(counts == counts.max(initial=0))[:extra]] -= 1
    return out


def orders_of(pattern: Pattern) -> list[NDArray[np.int64]]:
    """Orders in which the job's hosts fill leaf group after leaf group."""
    orders = [np.arange(pattern.n)]
    if pattern.grid is not None:
        orders += _grid_orders(pattern.grid)
    elif pattern.spectral_order is not None:
        orders.append(pattern.spectral_order)
    unique = {order.tobytes(): order for order in orders}
    return list(unique.values())


def _grid_orders(grid: JobGrid) -> list[Array]:
    host, p, d = grid.host, grid.stages, grid.replicas
    out = [host.ravel(), host.T.ravel(), _snake(host).ravel(), _snake(host.T).ravel()]
    for band in (2, 4, 8):
        if p % band == 0:
            out.append(host.reshape(p // band, band, d).transpose(0, 2, 1).ravel())
        if d % band == 0:
            out.append(host.T.reshape(d // band, band, p).transpose(0, 2, 1).ravel())
    if grid.experts > 1:
        columns = host.reshape(p, d // grid.experts, grid.experts)
        out += [columns.transpose(1, 0, 2).ravel(), columns.transpose(1, 2, 0).ravel()]
    return out


def _snake(host: Array) -> Array:
    out = host.copy()
    out[1::2] = out[1::2, ::-1]
    return out


def assigned(tree: Tree, counts: Array, order: Array) -> NDArray[np.int64]:
    """Leaf group of each host: leaf groups in the order of the tree (pod by pod) filled in the given order of hosts."""
    keys = [np.arange(tree.n_leaves), *tree.above[1:]]
    by_place = np.lexsort(keys)
    out = np.empty(len(order), np.int64)
    out[order] = np.repeat(by_place, counts[by_place])
    return out
