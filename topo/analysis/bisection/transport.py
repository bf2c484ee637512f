"""Lower-bound certificates on a block tree: distributions, tree-edge rates and the flows that carry them.

Each block b has a distribution p over its switches, each tree edge e from child R to parent Q a rate kappa_e and a
flow of kappa_e from R spread as p_R to Q spread as p_Q; the flows together respect every link. Choosing one switch a
block by gluing the flows' paths shows that any even split costs at least the cheapest labelling of the tree, minus
what could not be sent. On a fabric whose blocks are joined in proportion all is sent, and the bound is met.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from topo.analysis.bisection.blocks import BlockTree
from topo.analysis.bisection.knapsack import Charges
from topo.analysis.flow import max_flow
from topo.table import Array

__all__ = ["Embedding", "candidates", "charges_of", "edge_capacity"]

_STEPS = 2.0**20
_MOST_BYPASS_WORK = 3e7
_CHILD_FACTORS = (np.inf, 1.0, 1.3, 1.7, 2.5)


@dataclass(frozen=True, eq=False)
class Embedding:
    """Witness of a lower bound. Flow entry i sends ``gbps[i]`` of tree edge ``edge[i]`` from vertex to vertex."""

    tree: BlockTree
    share: NDArray[np.float64]
    kappa: NDArray[np.float64]
    edge: NDArray[np.int64]
    tail: NDArray[np.int64]
    head: NDArray[np.int64]
    gbps: NDArray[np.float64]

    @cached_property
    def charges(self) -> Charges:
        """What the unsent flow may cost (see :func:`charges_of`)."""
        return charges_of(self)

    @property
    def is_whole(self) -> bool:
        """Whether all is sent."""
        return self.charges.flat == 0 and not self.charges.total.any()


def edge_capacity(tree: BlockTree) -> NDArray[np.float64]:
    """Capacity of the bundle between each element and its parent."""
    capacity: Array = np.bincount(tree.element[tree.edge_low], tree.edge_gbps, len(tree.parent))
    return capacity


def candidates(tree: BlockTree) -> Iterator[Embedding]:
    """Embeddings to try, the one that is exact on proportional fabrics first; later ones suit degraded fabrics."""
    share, kappa = _share_of_capacity(tree), edge_capacity(tree)
    first = _embed(tree, share, kappa, bypass=False)
    yield first
    if first.is_whole:
        return
    uniform = _share_of_live(tree)
    seen: list[Array] = []
    for p, rates in ((uniform, _nominal(tree, uniform)), (share, kappa), (share, _nominal(tree, share))):
        trimmed = _trimmed(tree, rates)
        for factor in _CHILD_FACTORS:
            chosen = _trimmed(tree, _shrunk(tree, trimmed, factor))
            key = np.concatenate([p, chosen])
            if not any(np.array_equal(key, old) for old in seen):
                seen.append(key)
                yield _embed(tree, p, chosen, bypass=True)


def charges_of(embedding: Embedding) -> Charges:
    """What the unsent flow may cost, recomputed from the embedding alone.

    ``unsent[e] = kappa[e] - sent``. Edges from bases are charged to their block by its labels, others in any case.
    """
    tree = embedding.tree
    n, n_elements = len(embedding.share), len(tree.parent)
    net = _net_flow(embedding, n)
    sent = np.bincount(net[0], np.maximum(net[2], 0), n_elements)
    received = np.maximum(-net[2], 0)
    unsent = np.maximum(embedding.kappa - sent, 0)
    unsent[tree.root] = 0
    unsent[unsent < 1e-9 * np.maximum(embedding.kappa, 1e-300)] = 0
    from_base = np.zeros(n_elements, bool)
    from_base[: tree.n_bases] = True
    parent = np.maximum(tree.parent, 0)
    total: Array = np.bincount(parent[from_base], unsent[from_base], n_elements)
    kappa_in = np.bincount(parent[from_base], embedding.kappa[from_base], n_elements)
    got = np.bincount(net[1][from_base[net[0]]], received[from_base[net[0]]], n)
    has = tree.element >= 0
    block = np.where(has, tree.element, 0)
    short = np.where(has, kappa_in[block] * embedding.share - got, 0.0)
    ratio = np.divide(short, embedding.share, out=np.zeros(n), where=embedding.share > 0)
    opposed = np.zeros(n_elements)
    np.maximum.at(opposed, block[has], ratio[has])
    return Charges(float(unsent[~from_base].sum()), total, opposed)


def _net_flow(embedding: Embedding, n: int) -> tuple[Array, Array, Array]:
    """(edge, vertex, net outflow) for every tree edge and vertex its flow touches."""
    key = np.concatenate([embedding.edge * n + embedding.tail, embedding.edge * n + embedding.head])
    amount = np.concatenate([embedding.gbps, -embedding.gbps])
    distinct, index = np.unique(key, return_inverse=True)
    return distinct // n, distinct % n, np.bincount(index, amount, len(distinct))


def _share_of_capacity(tree: BlockTree) -> Array:
    """Each switch's share of its block's capacity towards the children; a base is one vertex."""
    down = np.bincount(tree.edge_high, tree.edge_gbps, len(tree.element))
    return _normalized(tree, down)


def _share_of_live(tree: BlockTree) -> Array:
    """Equal shares of the switches that reach at least half as many children as the best of their block."""
    n = len(tree.element)
    pairs = np.unique(tree.edge_high * len(tree.parent) + tree.element[tree.edge_low])
    reach = np.bincount(pairs // len(tree.parent), minlength=n).astype(float)
    best = np.zeros(len(tree.parent))
    has = tree.element >= 0
    np.maximum.at(best, tree.element[has], reach[has])
    return _normalized(tree, (has & (reach >= 0.5 * best[np.maximum(tree.element, 0)])).astype(float))


def _normalized(tree: BlockTree, weight: Array) -> Array:
    has = tree.element >= 0
    weight = np.where(has, weight, 0.0)
    weight[tree.bases.vertex] = 1.0
    total = np.bincount(tree.element[has], weight[has], len(tree.parent))
    # The root of separate parts has no links: any distribution does.
    weight = np.where(has & (total[tree.element] <= 0), 1.0, weight)
    total = np.bincount(tree.element[has], weight[has], len(tree.parent))
    share: Array = np.where(has, weight / np.maximum(total[np.maximum(tree.element, 0)], 1e-300), 0.0)
    return share


def _nominal(tree: BlockTree, share: Array) -> Array:
    """Rate each tree edge would have if its best switch were typical: recovers the healthy bundle."""
    e = tree.element[tree.edge_low]
    rate = np.zeros(len(tree.parent))
    for end in (tree.edge_low, tree.edge_high):
        key = e * len(share) + end
        distinct, index = np.unique(key, return_inverse=True)
        total = np.bincount(index, tree.edge_gbps)
        p = share[distinct % len(share)]
        live = p > 0
        np.maximum.at(rate, (distinct // len(share))[live], total[live] / p[live])
    return rate


def _trimmed(tree: BlockTree, kappa: Array) -> Array:
    """No edge rated above what hangs below it: its units, or its children's edges."""
    out = kappa.copy()
    bases = tree.bases
    below = np.bincount(bases.class_base, bases.class_cost * bases.class_count, len(tree.parent))
    level = np.where(np.arange(len(out)) < tree.n_bases, 0, tree.tier_of_element)
    for tier in np.unique(level).tolist():
        mine = np.flatnonzero(level == tier)
        out[mine] = np.minimum(out[mine], below[mine])
        up = mine[tree.parent[mine] >= 0]
        below += np.bincount(tree.parent[up], out[up], len(below))
    out[tree.root] = 0
    return out


def _shrunk(tree: BlockTree, kappa: Array, factor: float) -> Array:
    """Children of each block scaled down to at most ``factor`` times the block's own edge."""
    out = kappa.copy()
    if not np.isfinite(factor):
        return out
    for tier in range(int(tree.tier_of_element.max()) - 1, 1, -1):
        blocks = np.flatnonzero(tree.tier_of_element == tier)
        blocks = blocks[blocks >= tree.n_bases]
        inside = np.isin(tree.parent, blocks)
        total = np.bincount(tree.parent[inside], out[inside], len(out))
        scale = np.ones(len(out))
        scale[blocks] = np.minimum(1.0, factor * out[blocks] / np.maximum(total[blocks], 1e-300))
        out[inside] *= scale[tree.parent[inside]]
    return out


def _embed(tree: BlockTree, share: Array, kappa: Array, *, bypass: bool) -> Embedding:
    """Send each edge's rate straight through its bundle, then what is left over any spare capacity."""
    edge, gbps = _direct(tree, share, kappa)
    used = gbps > 0
    flows = [(edge[used], tree.edge_low[used], tree.edge_high[used], gbps[used])]
    if bypass:
        flows += _bypass(Embedding(tree, share, kappa, *flows[0]))
    joined = [np.concatenate(parts) for parts in zip(*flows, strict=True)]
    return Embedding(tree, share, kappa, joined[0], joined[1], joined[2], joined[3])


def _direct(tree: BlockTree, share: Array, kappa: Array) -> tuple[Array, Array]:
    """Flow on the links between each child and its parent, at most their capacity."""
    n = len(share)
    edge = tree.element[tree.edge_low]
    gbps = np.minimum(tree.edge_gbps, kappa[edge] * share[tree.edge_low] * share[tree.edge_high])
    single = edge < tree.n_bases
    proportional = np.ones(len(kappa), bool)
    for end in (tree.edge_low, tree.edge_high):
        distinct, index = np.unique(edge * n + end, return_inverse=True)
        total = np.bincount(index, tree.edge_gbps)
        wanted = kappa[distinct // n] * share[distinct % n]
        off = np.abs(total - wanted) > 1e-12 * np.maximum(wanted, 1e-300)
        proportional[(distinct // n)[off]] = False
    gbps = np.where(proportional[edge], tree.edge_gbps, gbps)
    order = np.argsort(edge, kind="stable")
    bounds = np.searchsorted(edge[order], np.arange(len(kappa) + 1))
    for e in np.unique(edge[~single & ~proportional[edge]]).tolist():
        rows = order[bounds[e] : bounds[e + 1]]
        gbps[rows] = _bipartite(tree.edge_low[rows], tree.edge_high[rows], tree.edge_gbps[rows], share, kappa[e])
    return edge, gbps


def _bipartite(low: Array, high: Array, capacity: Array, share: Array, kappa: float) -> Array:
    """Most flow from ``low`` spread as their shares to ``high`` spread as theirs, over the given links."""
    lows, i = np.unique(low, return_inverse=True)
    highs, j = np.unique(high, return_inverse=True)
    s, t = len(lows) + len(highs), len(lows) + len(highs) + 1
    tail = np.concatenate([np.full(len(lows), s), i, len(lows) + np.arange(len(highs))])
    head = np.concatenate([np.arange(len(lows)), len(lows) + j, np.full(len(highs), t)])
    rates = np.concatenate([kappa * share[lows], capacity, kappa * share[highs]])
    step = float(rates.max()) / _STEPS
    flow = max_flow(t + 1, tail, head, np.floor(rates / step) if step else rates, s, t)
    amounts = csr_array((flow.amount * step, (flow.tail, flow.head)), shape=(t + 1, t + 1))
    found: Array = np.asarray(amounts[i, len(lows) + j]).ravel()
    return np.minimum(found, capacity)


def _bypass(embedding: Embedding) -> list[tuple[Array, Array, Array, Array]]:
    """Flows for the unsent rates, edges nearest the root first, over what capacity the others left.

    Where the whole fabric would be too much work, each looks only below its parent and at the tier above.
    """
    tree, n = embedding.tree, len(embedding.share)
    bases = tree.bases
    spare = _spare(embedding)
    ancestor = _ancestors(tree)
    net = _net_flow(embedding, n)
    sent = np.bincount(net[0], np.maximum(net[2], 0), len(tree.parent))
    unsent = embedding.kappa - sent
    unsent[tree.root] = 0
    short = np.flatnonzero(unsent > 1e-9 * np.maximum(embedding.kappa, 1e-300))
    flows = []
    everywhere = len(short) * len(spare) <= _MOST_BYPASS_WORK
    work = 0.0
    for e in short[np.argsort(-tree.tier_of_element[short], kind="stable")].tolist():
        q = int(tree.parent[e])
        inside = ancestor[int(tree.tier_of_element[q])] == q
        if tree.parent[q] >= 0:
            inside = inside | (tree.element == tree.parent[q])
        inside = inside | everywhere
        rows = np.flatnonzero(inside[bases.edge_a] & inside[bases.edge_b] & (spare > 0))
        work += len(rows)
        if work > _MOST_BYPASS_WORK:
            break
        mine = net[0] == e
        supply = np.where(tree.element == e, embedding.kappa[e] * embedding.share, 0.0)
        demand = np.where(tree.element == q, embedding.kappa[e] * embedding.share, 0.0)
        supply[net[1][mine]] -= np.maximum(net[2][mine], 0)
        demand[net[1][mine]] -= np.maximum(-net[2][mine], 0)
        moved = _detour(bases.edge_a[rows], bases.edge_b[rows], spare[rows], supply, demand)
        if moved is None:
            continue
        tail, head, amount, used = moved
        spare[rows] = np.maximum(spare[rows] - used, 0)
        flows.append((np.full(len(tail), e), tail, head, amount))
    return flows


def _spare(embedding: Embedding) -> Array:
    """Capacity of each bundle that the direct flows leave, summed over both directions."""
    bases = embedding.tree.bases
    n = bases.n_vertices
    key = np.minimum(bases.edge_a, bases.edge_b) * n + np.maximum(bases.edge_a, bases.edge_b)
    order = np.argsort(key)
    used = np.minimum(embedding.tail, embedding.head) * n + np.maximum(embedding.tail, embedding.head)
    at = order[np.searchsorted(key[order], used)]
    spare: Array = np.maximum(bases.capacity - np.bincount(at, embedding.gbps, len(key)), 0)
    return spare


def _ancestors(tree: BlockTree) -> dict[int, Array]:
    """For each tier, the largest element up to that tier that holds each vertex, -1 where none does."""
    current = tree.element.copy()
    out = {}
    for tier in range(1, int(tree.tier_of_element.max()) + 1):
        while True:
            up = np.where(current >= 0, tree.parent[np.maximum(current, 0)], -1)
            climbs = (up >= 0) & (tree.tier_of_element[np.maximum(up, 0)] <= tier)
            if not climbs.any():
                break
            current = np.where(climbs, up, current)
        out[tier] = current
    return out


def _detour(a: Array, b: Array, spare: Array, supply: Array, demand: Array) -> tuple[Array, Array, Array, Array] | None:
    """One max-flow over undirected spare capacity: (tail, head, amount) and the use of each row."""
    givers = np.flatnonzero(supply > 0)
    takers = np.flatnonzero(demand > 0)
    if not givers.size or not takers.size or not a.size:
        return None
    vertices, index = np.unique(np.concatenate([a, b, givers, takers]), return_inverse=True)
    m, k = len(a), len(vertices)
    ia, ib = index[:m], index[m : 2 * m]
    ig, it = index[2 * m : 2 * m + len(givers)], index[2 * m + len(givers) :]
    tail = np.concatenate([ia, ib, np.full(len(givers), k), it])
    head = np.concatenate([ib, ia, ig, np.full(len(takers), k + 1)])
    rates = np.concatenate([spare, spare, supply[givers], demand[takers]])
    step = float(rates.max()) / _STEPS
    flow = max_flow(k + 2, tail, head, np.floor(rates / step), k, k + 1)
    if flow.value <= 0:
        return None
    net = csr_array((flow.amount * step, (flow.tail, flow.head)), shape=(k + 2, k + 2))
    forward = np.asarray(net[ia, ib]).ravel() - np.asarray(net[ib, ia]).ravel()
    used = np.abs(forward)
    moving = used > 0
    low, high = np.where(forward > 0, a, b)[moving], np.where(forward > 0, b, a)[moving]
    return low, high, used[moving], used
