"""Upper bounds: even splits and their cuts, from the tree's optimum, spectral orders and local search."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import numpy as np
from scipy.sparse import csr_array

from topo.analysis.bisection.blocks import BlockTree, tree_of
from topo.analysis.bisection.knapsack import Split
from topo.analysis.bisection.merging import cheapest_labels
from topo.analysis.bisection.problem import Problem, even_sizes, make_problem
from topo.analysis.bisection.transport import edge_capacity
from topo.analysis.flow import max_flow
from topo.errors import ParameterError
from topo.progress import steps
from topo.table import Array

__all__ = ["best_split", "best_switches", "cheapest_units", "first_split", "kept_split", "side_of_split"]

_MOST_SEARCH_WORK = 2e6
_MOST_SWAP_SIZE = 1500
_MOST_PAIRED = 64
_MOST_UNITS = 20_000  # beyond, one start is what a fabric of tiers is given
_AMPLITUDES = (0.01, 0.05, 0.15)


def best_split(problem: Problem, tree: BlockTree | None, smaller: int, lower: float, seed: int) -> tuple[float, Array]:
    """Best even split of the starts after the first: cut in Gb/s and the side of every vertex.

    Stops early at the lower bound; infinity where there is no other start.
    """
    best = (np.inf, np.zeros(problem.n_vertices, bool))
    for side in _more_starts(problem, tree, smaller, seed):
        cut = problem.cut_gbps(side)
        if cut < best[0]:
            best = (cut, side)
        if best[0] <= lower:
            return best
        cut, side = _improved(problem, side, smaller)
        if cut < best[0]:
            best = (cut, side)
        if best[0] <= lower:
            return best
    return best


def first_split(problem: Problem, tree: BlockTree | None, smaller: int, lower: float, seed: int) -> tuple[float, Array]:
    """The first start, improved if need be: enough on regular fabrics."""
    side = _first_start(problem, tree, smaller, seed)
    cut = problem.cut_gbps(side)
    return (cut, side) if cut <= lower else _improved(problem, side, smaller)


def kept_split(problem: Problem, keep: str, smaller: int, lower: float, seed: int) -> tuple[float, Array]:
    """The first start where hosts or domains are kept whole too, if that leaves halves as even; else infinity."""
    network, best = problem.network, (np.inf, np.zeros(problem.n_vertices, bool))
    for coarser in {"none": ("host", "domain"), "host": ("domain",)}.get(keep, ()):
        try:
            other = make_problem(
                network.fabric, problem.chosen, coarser, kinds=network.kinds, state=network.state
            )  # fmt: skip
        except ParameterError:  # a single host or domain
            continue
        own, its = problem.vertex_of_node[problem.chosen], other.vertex_of_node[problem.chosen]
        whole = np.empty(problem.n_units, np.int64)
        whole[own] = its
        if other.n_units >= problem.n_units or (whole[own] != its).any() or even_sizes(other.weight)[0] != smaller:
            continue  # endpoints without a domain are units of their own there
        _, found = first_split(other, tree_of(other), smaller, lower, seed)
        side = np.zeros(problem.n_vertices, bool)
        both = (problem.vertex_of_node >= 0) & (other.vertex_of_node >= 0)
        side[problem.vertex_of_node[both]] = found[other.vertex_of_node[both]]
        side = best_switches(problem, side)
        best = min(best, (problem.cut_gbps(side), side), key=lambda pair: pair[0])
    return best


def side_of_split(problem: Problem, tree: BlockTree, split: Split) -> Array:
    """Side of every vertex from the tree's labels and counts; switches above the tree follow most of their links."""
    bases = tree.bases
    side = np.zeros(bases.n_vertices, bool)
    known = tree.element >= 0
    side[known] = split.label[tree.element[known]] == 1
    order = np.argsort(bases.class_of_unit, kind="stable")
    start = np.searchsorted(bases.class_of_unit[order], np.arange(len(bases.class_count)))
    rank = np.empty(problem.n_units, np.int64)
    rank[order] = np.arange(problem.n_units) - start[bases.class_of_unit[order]]
    side[: problem.n_units] = rank < split.class_ones[bases.class_of_unit]
    side = side[: problem.n_vertices]
    loose = ~known[: problem.n_vertices]
    loose[: problem.n_units] = False
    for _ in range(3):
        if not loose.any():
            break
        pull = problem.adjacency @ (2.0 * side - 1.0)
        side = np.where(loose, pull > 0, side)
    return side


def _first_start(problem: Problem, tree: BlockTree | None, smaller: int, seed: int) -> Array:
    if tree is None:
        return next(_untiered_starts(problem, smaller, seed))
    side = side_of_split(problem, tree, cheapest_labels(tree, edge_capacity(tree), [smaller]))
    if int(problem.weight[side[: problem.n_units]].sum()) in (smaller, int(problem.weight.sum()) - smaller):
        return side
    return _resplit(problem, side, smaller)


def _more_starts(problem: Problem, tree: BlockTree | None, smaller: int, seed: int) -> Iterator[Array]:
    """The starts that follow: splits by rates a little off, where a fabric of tiers is not too large for many."""
    if tree is None:
        yield from islice(_untiered_starts(problem, smaller, seed), 1, None)
        return
    if problem.n_units > _MOST_UNITS:
        return
    rng, kappa = np.random.default_rng(seed), edge_capacity(tree)
    for i in steps(range(_rounds(problem))):
        noise = 1 + _AMPLITUDES[i % len(_AMPLITUDES)] * rng.random(len(kappa))
        yield side_of_split(problem, tree, cheapest_labels(tree, kappa * noise, [smaller]))


def _rounds(problem: Problem) -> int:
    return int(min(30, max(2, _MOST_SEARCH_WORK // max(len(problem.edge_a), 1))))


def _untiered_starts(problem: Problem, smaller: int, seed: int) -> Iterator[Array]:
    """Along the fabric's own orders, then along mixes of smooth vectors."""
    rng = np.random.default_rng(seed)
    for order in _straight_orders(problem):
        yield _resplit(problem, order > np.median(order[order >= 0]), smaller, prefer=order)
    vectors = _smooth_vectors(problem)
    for i in steps(range(_rounds(problem))):
        mix = vectors[:, 0] if i == 0 else vectors @ rng.standard_normal(vectors.shape[1])
        side = _resplit(problem, mix > np.median(mix), smaller, prefer=mix)
        yield _swapped(problem, side, smaller)


def _improved(problem: Problem, side: Array, smaller: int) -> tuple[float, Array]:
    """Alternate: best switches for the split of the units, best split for the switches."""
    cut = problem.cut_gbps(side)
    for _ in range(20):
        trial = _resplit(problem, best_switches(problem, side), smaller)
        value = problem.cut_gbps(trial)
        if value >= cut:
            return cut, side
        cut, side = value, trial
    return cut, side


def best_switches(problem: Problem, side: Array) -> Array:
    """Minimum cut with every unit held on its side."""
    n = problem.n_units
    label = np.concatenate([np.where(side[:n], 0, 1), np.arange(2, problem.n_vertices - n + 2)])
    a, b = label[problem.edge_a], label[problem.edge_b]
    flow = max_flow(
        problem.n_vertices - n + 2,
        np.concatenate([a, b]),
        np.concatenate([b, a]),
        np.concatenate([problem.capacity, problem.capacity]),
        0,
        1,
    )
    out: Array = flow.source_side[label]
    return out


def _resplit(problem: Problem, side: Array, smaller: int, prefer: Array | None = None) -> Array:
    """Cheapest even choice of unit sides for fixed switch sides; ties go by ``prefer``."""
    n = problem.n_units
    sign = np.where(side, 1.0, -1.0)
    sign[:n] = 0
    gain = -(problem.adjacency @ sign)[:n]  # cost of side 1 minus cost of side 0
    tie = np.zeros(n) if prefer is None else -prefer[:n]
    if prefer is None:
        tie = np.where(side[:n], -1.0, 0.0)
    out = side.copy()
    out[:n] = False
    if problem.is_uniform:
        out[np.lexsort((tie, np.round(gain, 9)))[: smaller // int(problem.weight[0])]] = True
    else:
        out[cheapest_units(problem.weight, gain + 1e-9 * tie, smaller)] = True
    return out


def cheapest_units(weight: Array, cost: Array, total: int) -> Array:
    """Units that hold exactly ``total`` endpoints at least summed cost.

    Units of one weight are taken cheapest first; how many of each weight is a knapsack over the weights.

    >>> cheapest_units(np.array([2, 1, 1]), np.array([5.0, 1.0, 2.0]), 2).tolist()
    [1, 2]
    """
    best = np.full(total + 1, np.inf)
    best[0] = 0.0
    taken: list[tuple[Array, int, Array]] = []
    for size in np.unique(weight).tolist():
        order = np.flatnonzero(weight == size)
        order = order[np.argsort(cost[order], kind="stable")]
        prefix = np.concatenate([[0.0], np.cumsum(cost[order])])[: total // size + 1]
        new, count = np.full(total + 1, np.inf), np.zeros(total + 1, np.int64)
        for k, price in enumerate(prefix.tolist()):
            trial = best[: total + 1 - k * size] + price
            better = trial < new[k * size :]
            new[k * size :][better] = trial[better]
            count[k * size :][better] = k
        best = new
        taken.append((order, size, count))
    chosen = []
    left = total
    for order, size, count in reversed(taken):
        chosen.append(order[: count[left]])
        left -= int(count[left]) * size
    return np.sort(np.concatenate(chosen))


def _straight_orders(problem: Problem) -> Iterator[Array]:
    """Orders that a fabric's own columns give: along each dimension of a grid, and by pods, as a dragonfly's groups."""
    nodes, vertex = problem.network.fabric.nodes, problem.vertex_of_node
    places = nodes.places()
    longest_first = np.argsort(-places.max(axis=0, initial=0), kind="stable").tolist()
    columns: list[Array] = [places[:, axis] for axis in longest_first] + [nodes.pod.codes]
    for column in columns:
        mine = (column >= 0) & (vertex >= 0)
        order = np.full(problem.n_vertices, -1.0)
        order[vertex[mine]] = column[mine]
        if len(np.unique(order[order >= 0])) > 1:
            yield order


def _smooth_vectors(problem: Problem) -> Array:
    """The few vectors that vary least along links (Laplacian eigenvectors), for orders that cut little."""
    from scipy.sparse.linalg import eigsh

    n = problem.n_vertices
    adjacency = problem.adjacency
    degree = np.asarray(adjacency.sum(axis=1)).ravel()
    laplacian = csr_array((degree, (np.arange(n), np.arange(n))), shape=(n, n)) - adjacency
    count = min(7, n - 1)
    if n <= 600:
        _, vectors = np.linalg.eigh(laplacian.toarray())
        return np.asarray(vectors[:, 1 : count + 1])
    start = np.random.default_rng(0).standard_normal(n)
    shifted = laplacian + csr_array((np.full(n, 1e-3 * degree.max()), (np.arange(n), np.arange(n))), shape=(n, n))
    _, vectors = eigsh(shifted.tocsc(), k=count, sigma=0, which="LM", v0=start)
    return np.asarray(vectors[:, 1:])


def _swapped(problem: Problem, side: Array, smaller: int) -> Array:
    """Swap equals between the sides, sequence after sequence, while that lowers the cut.

    Switches with their single-homed units where every unit is single-homed, else the units themselves.
    """
    n = problem.n_units
    adjacency = problem.adjacency
    if not problem.is_uniform:
        return side
    hosts = np.asarray((adjacency[:n, n:] > 0).sum(axis=0)).ravel()
    of_switches = hosts.sum() == n and adjacency[:n, :n].nnz == 0
    span = slice(n, problem.n_vertices) if of_switches else slice(0, n)
    if span.stop - span.start > _MOST_SWAP_SIZE:
        return side
    switches = np.asarray(adjacency[span, span].toarray())
    fixed: Array = np.zeros(n) if not of_switches else np.zeros(problem.n_vertices - n)
    if not of_switches:
        hosts = np.ones(n, np.int64)
        fixed = np.asarray(adjacency[:n, n:] @ np.where(side[n:], 1.0, -1.0))
    across = side[span].copy()
    while True:
        better = _after_swaps(switches, fixed, hosts, across)
        if better is None:
            break
        across = better
    out = side.copy()
    out[span] = across
    return _resplit(problem, out, smaller) if of_switches else out


def _after_swaps(joint: Array, fixed: Array, hosts: Array, across: Array) -> Array | None:
    """The sides after the best beginning of one sequence of swaps; ``None`` where none lowers the cut.

    Each swap is the best of those not yet moved, for better or worse, which leads out of small hollows (Kernighan and
    Lin, 1970). Of each side only the few of most gain are paired. ``joint`` is capacity between those that move,
    ``fixed`` what each has to side 1 less to side 0 among those that do not; only equal ``hosts`` are swapped.
    """
    sign, now, free = np.where(across, 1.0, -1.0), across.copy(), np.ones(len(across), bool)
    gain = -sign * (joint @ sign + fixed)
    saved, most, best = 0.0, 1e-9, None
    for _ in range(min(int(across.sum()), int((~across).sum()))):
        one, zero = _of_most_gain(gain, now & free), _of_most_gain(gain, ~now & free)
        value = gain[one][:, None] + gain[zero][None, :] - 2 * joint[np.ix_(one, zero)]
        value[hosts[one][:, None] != hosts[zero][None, :]] = -np.inf
        at = int(value.argmax())
        if np.isinf(value.flat[at]):
            break
        i, j = int(one[at // len(zero)]), int(zero[at % len(zero)])
        saved += float(value.flat[at])
        gain += 2 * sign * (joint[i] * sign[i] + joint[j] * sign[j])
        sign[[i, j]], now[[i, j]], free[[i, j]] = -sign[[i, j]], ~now[[i, j]], False
        if saved > most:
            most, best = saved, now.copy()
    return best


def _of_most_gain(gain: Array, mask: Array) -> Array:
    rows = np.flatnonzero(mask)
    if len(rows) <= _MOST_PAIRED:
        return rows
    return rows[np.argpartition(-gain[rows], _MOST_PAIRED)[:_MOST_PAIRED]]
