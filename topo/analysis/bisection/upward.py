"""A certificate for fabrics whose tiers are joined evenly but whose groups are filled or crossed unevenly.

Where scalable units straddle spine groups, or the last group is short, blocks of switches tier by tier are not joined
in proportion. What stays even is the way up: traffic that every switch spreads over its uplinks reaches the switches
of the top tier in the same proportions from everywhere. So the tree is cut short: units, their leaves, the top.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.sparse import csr_array

from topo.analysis.bisection.blocks import BlockTree, tiers_of
from topo.analysis.bisection.transport import Embedding
from topo.table import Array, ranges

__all__ = ["upward_embedding"]

_MOST_ENTRIES = 5e6
_EVEN = 1e-9


def upward_embedding(tree: BlockTree) -> Embedding | None:
    """Units to their leaves to a top tier, each leaf's traffic spread upwards by capacity; ``None`` if not even.

    The rate of a leaf element to the root is its uplink capacity or what hangs below it, whichever is less, scaled
    down for all alike until no link carries more than it can. The top may lie above the tree's own root, where
    straddling units already join all others below it.
    """
    height = tiers_of(tree.bases)
    for top in range(int(height.max()), 2, -1):
        found = _with_top(tree, height, top)
        if found is not None:
            return found
    return None


def _with_top(tree: BlockTree, height: Array, top_tier: int) -> Embedding | None:
    short = _shortened(tree, height, top_tier)
    up = _up_links(tree, height, top_tier)
    out = _out(up)
    starts = np.flatnonzero((short.element >= 0) & (short.element < short.root) & (out > 0))
    owner = short.element[starts]
    if not starts.size or len(np.unique(owner)) < int((short.parent == short.root).sum()):
        return None  # some leaf reaches no top switch
    uplink = np.bincount(owner, out[starts], len(short.parent))
    share = np.zeros(len(height))
    share[tree.bases.vertex] = 1.0
    share[starts] = out[starts] / uplink[owner]
    routed = _routed(up, starts, owner, share)
    if routed is None:
        return None
    (edge, tail, head, part), arrived = routed
    top, amount = _same_everywhere(arrived, np.unique(owner))
    if top is None:
        return None
    share[top] = amount
    kappa = _rates(short, uplink)
    load = csr_array((part * kappa[edge], (tail, head)), shape=up.shape).tocoo()
    over = float((load.data / np.asarray(up[load.row, load.col]).ravel()).max(initial=1.0))
    kappa[short.parent == short.root] /= max(1.0, over)
    first = _first_hops(tree, short, kappa, share)
    columns = [np.concatenate(pair) for pair in zip((edge, tail, head, part * kappa[edge]), first, strict=True)]
    return Embedding(short, share, kappa, columns[0], columns[1], columns[2], columns[3])


def _shortened(tree: BlockTree, height: Array, top_tier: int) -> BlockTree:
    """Elements: bases, the blocks that units of several links hang on, the root with the top tier's switches."""
    bases = tree.bases
    n_bases = tree.n_bases
    is_unit = bases.vertex < len(bases.class_of_unit)
    blocks = np.unique(tree.parent[:n_bases][is_unit])
    blocks = blocks[blocks != tree.root]
    root = n_bases + len(blocks)
    number = np.full(len(tree.parent), root)
    number[blocks] = n_bases + np.arange(len(blocks))
    parent = np.concatenate([np.where(is_unit, number[tree.parent[:n_bases]], root), np.full(len(blocks), root), [-1]])
    element = np.full(len(tree.element), -1)
    element[bases.vertex] = np.arange(n_bases)
    in_block = (tree.element >= 0) & np.isin(tree.element, blocks)
    element[in_block] = number[tree.element[in_block]]
    element[height == top_tier] = root
    own = tree.tier_of_element
    return replace(
        tree,
        parent=parent,
        tier_of_element=np.concatenate([own[:n_bases], own[blocks], [top_tier]]),
        element=element,
        edge_low=np.empty(0, np.int64),
        edge_high=np.empty(0, np.int64),
        edge_gbps=np.empty(0),
    )


def _up_links(tree: BlockTree, height: Array, top_tier: int) -> csr_array:
    """Capacity from each switch to those one tier above it from which the top can be reached; units excluded."""
    bases = tree.bases
    n = len(height)
    a, b = bases.edge_a, bases.edge_b
    a_low = height[a] < height[b]
    low, high = np.where(a_low, a, b), np.where(a_low, b, a)
    n_units = len(bases.class_of_unit)
    keep = (height[low] + 1 == height[high]) & (height[low] > 0) & (low >= n_units)
    low, high, gbps = low[keep], high[keep], bases.capacity[keep]
    reaches = height == top_tier
    for tier in range(top_tier - 1, 0, -1):
        mine = (height[low] == tier) & reaches[high]
        reaches[low[mine]] = True
    useful = reaches[high]
    return csr_array((gbps[useful], (low[useful], high[useful])), shape=(n, n))


def _out(up: csr_array) -> Array:
    total: Array = np.asarray(up.sum(axis=1)).ravel()
    return total


def _routed(
    up: csr_array, starts: Array, owner: Array, share: Array
) -> tuple[tuple[Array, Array, Array, Array], tuple[Array, Array, Array]] | None:
    """Spread one unit from each element upwards: (element, tail, head, part) of every step, and where it ends."""
    n = up.shape[0]
    degree = np.diff(up.indptr)
    out = _out(up)
    element, vertex, amount = owner, starts, share[starts]
    steps: list[tuple[Array, Array, Array, Array]] = []
    ends: list[tuple[Array, Array, Array]] = []
    while vertex.size:
        done = degree[vertex] == 0
        ends.append((element[done], vertex[done], amount[done]))
        element, vertex, amount = element[~done], vertex[~done], amount[~done]
        count = degree[vertex]
        if count.sum() + sum(len(step[0]) for step in steps) > _MOST_ENTRIES:
            return None
        at, row = ranges(up.indptr[vertex], count)
        head, part = up.indices[at].astype(np.int64), amount[row] * up.data[at] / out[vertex[row]]
        steps.append((element[row], vertex[row], head, part))
        distinct, index = np.unique(element[row] * n + head, return_inverse=True)
        element, vertex, amount = distinct // n, distinct % n, np.bincount(index, part, len(distinct))
    moved = tuple(np.concatenate(column) for column in zip(*steps, strict=True)) if steps else None
    if moved is None:
        return None
    arrived = tuple(np.concatenate(column) for column in zip(*ends, strict=True))
    return (moved[0], moved[1], moved[2], moved[3]), (arrived[0], arrived[1], arrived[2])


def _same_everywhere(arrived: tuple[Array, Array, Array], owners: Array) -> tuple[Array | None, Array]:
    """The distribution over the top, where it is the same from every element."""
    element, vertex, amount = arrived
    top, column = np.unique(vertex, return_inverse=True)
    table = np.zeros((len(owners), len(top)))
    np.add.at(table, (np.searchsorted(owners, element), column), amount)
    if np.abs(table - table[0]).max(initial=0.0) > _EVEN:
        return None, np.empty(0)
    return top, table[0]


def _rates(short: BlockTree, uplink: Array) -> Array:
    """Each base as its units, each leaf element as its uplinks or what hangs below."""
    bases = short.bases
    below = np.bincount(bases.class_base, bases.class_cost * bases.class_count, len(short.parent))
    is_unit = short.parent[: short.n_bases] != short.root
    inner = np.flatnonzero(is_unit)
    below += np.bincount(short.parent[inner], below[inner], len(short.parent))
    above = short.parent == short.root
    kappa = np.where(above, np.minimum(uplink, below), below)
    kappa[short.root] = 0
    return kappa


def _first_hops(tree: BlockTree, short: BlockTree, kappa: Array, share: Array) -> tuple[Array, Array, Array, Array]:
    """Flow of every unit to the leaves it hangs on."""
    base = tree.element[tree.edge_low]
    unit = (base < short.n_bases) & (short.parent[np.minimum(base, short.n_bases - 1)] != short.root)
    low, high, gbps, base = tree.edge_low[unit], tree.edge_high[unit], tree.edge_gbps[unit], base[unit]
    return base, low, high, np.minimum(gbps, kappa[base] * share[high])
