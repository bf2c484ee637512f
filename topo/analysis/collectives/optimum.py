"""The best all-gather that any algorithm can run on a graph, with the cut that binds it: Newton steps on a max-flow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from topo.analysis.collectives.carried import Wire, payload_gbps
from topo.analysis.collectives.flows import Ranks
from topo.analysis.collectives.modules import Modules, Reduced
from topo.analysis.collectives.reached import reached_gather
from topo.analysis.flow import common_unit, merged_arcs
from topo.errors import DisconnectedError, ParameterError
from topo.fabric import FORWARDS_NOTHING, Fabric, State, expect_fabric
from topo.network import Network
from topo.progress import steps
from topo.result import Result, Row, Standing, hidden
from topo.symmetry import symmetry
from topo.table import Array

__all__ = ["GatherRate", "OptimalGather", "gather_rate", "optimal_all_gather"]

_NEAR = 1e-9
_MOST_WORK = 20_000_000
_MOST_ORBITS = 6000
_MOST_ORBIT_ARCS = 60_000


@dataclass(frozen=True, eq=False)
class GatherRate:
    """x*, the largest rate of every shard to all ranks, in units of capacity; ``side`` is the cut that proves it.

    The ``ranks_inside`` shards of that side must leave it over ``capacity``: x* = capacity / ranks_inside.
    """

    x: Fraction
    side: NDArray[np.bool_]
    capacity: Fraction
    ranks_inside: int
    n_flows: int


def gather_rate(
    n: int,
    tail: ArrayLike,
    head: ArrayLike,
    capacity: ArrayLike,
    ranks: ArrayLike,
    targets: ArrayLike | None = None,
    groups: Sequence[ArrayLike] = (),
    counts: ArrayLike | None = None,
) -> GatherRate:
    """The optimum of an all-gather on a directed graph: x* = min over X of B+(X) / |X|, X missing a rank.

    A set X of vertices that misses a rank must send the shards of its |X| ranks over the arcs that leave it, of
    capacity B+(X); packing spanning trees reaches the bound (Edmonds 1973). Newton: with x at hand, a super-source
    feeds x into every rank; where less than N x reaches a target the cut there is a smaller ratio. Exact: ratios are
    recomputed from whole numbers. ``targets``: one of each class of ranks that automorphisms join (default: all; none:
    the best of the cuts that are tried first, an upper bound). ``groups``: labels of vertices (-1: none) whose groups,
    hosts or pods, are tried as cuts first; they save flows and change nothing else. ``counts``: how many ranks each
    vertex stands for, where automorphisms that leave the targets alone join them and capacities are their sums: the
    smallest least cut is then a union of such sets.

    >>> found = gather_rate(3, [0, 1, 1, 2, 2, 0], [1, 0, 2, 1, 0, 2], [1.0] * 6, [0, 1, 2])
    >>> found.x
    Fraction(1, 1)

    :raises ParameterError: fewer than two ranks, capacities that are negative or not finite.
    :raises DisconnectedError: a rank that others cannot reach.
    """
    import igraph

    rank = np.unique(np.asarray(ranks, np.int64))
    rate = np.asarray(capacity, float)
    if len(rank) < 2:
        raise ParameterError(f"{len(rank)} rank(s); a collective needs at least two")
    if not (np.isfinite(rate).all() and (rate >= 0).all()):
        raise ParameterError("capacities must be finite and at least 0")
    arcs = merged_arcs(n, np.asarray(tail), np.asarray(head), rate).tocoo()
    exact = _Exact.of(arcs.data)
    wanted = rank if targets is None else np.asarray(targets, np.int64)
    shards = np.zeros(n, np.int64)
    shards[rank] = 1 if counts is None else np.asarray(counts, np.int64)[rank]
    total = int(shards.sum())
    alone = np.full(n, -1, np.int64)
    alone[rank] = rank
    x, side = _best_group(arcs.row, arcs.col, arcs.data, shards, exact, [alone, *map(np.asarray, groups)])
    n_flows = 0
    scale = exact.scale
    edges = np.concatenate([np.stack([arcs.row, arcs.col], 1), np.stack([np.full(len(rank), n), rank], 1)])
    graph = igraph.Graph(n=n + 1, edges=edges, directed=True) if len(wanted) else None
    for target in steps(wanted.tolist(), "flows to each rank"):
        while True:
            feed = float(x) / scale * shards[rank]
            assert graph is not None
            flow = graph.maxflow(n, target, capacity=np.concatenate([arcs.data / scale, feed]).tolist())
            n_flows += 1
            if flow.value >= total * float(x) / scale * (1 - _NEAR):
                break
            found = np.zeros(n + 1, bool)
            found[flow.partition[0]] = True
            inside = int(shards[found[:n]].sum())
            leaving = exact.total(found[arcs.row] & ~found[arcs.col])
            if not inside or Fraction(leaving, inside) >= x:
                break
            x, side = Fraction(leaving, inside), found[:n].copy()
    if x == 0:
        raise DisconnectedError("some rank cannot be reached from the others; no all-gather ends")
    inside = int(shards[side].sum())
    return GatherRate(x, side, x * inside, inside, n_flows)


@dataclass(frozen=True, eq=False)
class _Exact:
    """Capacities as whole numbers of a unit, so that cuts add up exactly."""

    whole: NDArray[np.object_] | NDArray[np.int64]
    unit: Fraction
    scale: float

    @classmethod
    def of(cls, capacity: Array) -> _Exact:
        unit = common_unit(capacity)
        scale = float(capacity.max(initial=1.0)) or 1.0
        if unit:
            return cls(np.rint(capacity / unit).astype(np.int64), Fraction(unit), scale)
        return cls(np.array([Fraction(float(c)) for c in capacity], object), Fraction(1), scale)

    def total(self, which: Array) -> Fraction:
        """Capacity of some arcs together."""
        return Fraction(self.whole[which].sum()) * self.unit


def _best_group(
    row: Array, col: Array, data: Array, shards: Array, exact: _Exact, groups: Sequence[Array]
) -> tuple[Fraction, NDArray[np.bool_]]:
    """The first ratio: the smallest of the cuts around single ranks and given groups, into them and out of them."""
    n_ranks = int(shards.sum())
    best: tuple[float, NDArray[np.bool_]] | None = None
    for label in groups:
        inside = np.bincount(label + 1, weights=shards, minlength=int(label.max(initial=-1)) + 2)[1:]
        across = label[row] != label[col]
        into, out = (
            np.bincount(label[end[across]] + 1, weights=data[across], minlength=len(inside) + 1)[1:]
            for end in (col, row)
        )
        usable = (inside > 0) & (inside < n_ranks)
        for flow, sent in ((into, n_ranks - inside), (out, inside)):
            ratio = np.where(usable, flow / np.maximum(sent, 1), np.inf)
            at = int(np.argmin(ratio)) if len(ratio) else -1
            if at >= 0 and np.isfinite(ratio[at]) and (best is None or ratio[at] < best[0] * (1 - _NEAR)):
                best = (float(ratio[at]), (label != at) if flow is into else (label == at))
    assert best is not None
    side = best[1]
    return exact.total(side[row] & ~side[col]) / int(shards[side].sum()), side


@dataclass(frozen=True)
class OptimalGather(Result):
    """What no all-gather beats, and what all-reduce can and cannot do: both with the cut that binds."""

    fabric: str
    ranks: int
    bytes: float
    time_s: float
    algbw_gbyte_s: float
    busbw_gbyte_s: float
    algbw_reached_gbyte_s: float
    shard_gbyte_s: float
    cut_gbyte_s: float
    ranks_inside: int
    outside: tuple[str, ...]
    all_reduce_reached_s: float
    all_reduce_bound_s: float
    n_flows: int
    standing: Standing
    side: NDArray[np.bool_] = hidden()

    title: ClassVar[str] = "Best all-gather on this graph"

    def rows(self) -> list[Row]:
        """Rates, the cut, all-reduce between two bounds."""
        few = ", ".join(self.outside[:6]) + (f" and {len(self.outside) - 6} more" if len(self.outside) > 6 else "")
        best = [Row("algbw, best of any algorithm", self.algbw_gbyte_s, "GB/s", self.standing)]
        if self.algbw_reached_gbyte_s < self.algbw_gbyte_s:
            best.append(Row("algbw, reached", self.algbw_reached_gbyte_s, "GB/s", self.standing))
        return [
            *best,
            Row("busbw", self.busbw_gbyte_s, "GB/s"),
            Row("time", 1e3 * self.time_s, "ms"),
            Row("binds", f"{self.ranks_inside} shards through {self.cut_gbyte_s:.6g} GB/s into {few}"),
            Row("all-reduce, reached by reduce-scatter and all-gather", 1e3 * self.all_reduce_reached_s, "ms"),
            Row("all-reduce, no algorithm faster than", 1e3 * self.all_reduce_bound_s, "ms"),
            Row("max-flows", self.n_flows),
        ]


def optimal_all_gather(
    fabric: Fabric,
    placement: ArrayLike | None = None,
    *,
    bytes: float = 2.0**30,
    wire: Wire | None = None,
    state: State | None = None,
) -> OptimalGather:
    """Best all-gather (and, arcs reversed, reduce-scatter) of ``bytes`` in all, over placed ranks, latency aside.

    Ranks relay for each other; hosts outside the job are left out, and so is what forwards nothing. Time = S / (N x*)
    with x* of :func:`gather_rate`, one target of each verified symmetry class, on a graph in which one of all hosts
    that can be exchanged stands for them. Where classes are too many for a flow each, the cut that was found is an
    upper bound, and what :func:`~topo.analysis.collectives.reached.reached_gather` reaches the lower one; where that
    reaches the best of the cuts around hosts and the like, no flow is needed. Twice the time is an all-reduce that can
    be reached; no all-reduce is faster than S over the least cut found between ranks.

    >>> import topo
    >>> f = topo.leaf_spine(leaves=4, spines=2, hosts_per_leaf=8, link_gbps=8, host_gbps=8)
    >>> round(optimal_all_gather(f).algbw_gbyte_s, 5)   # ingress of a rank binds, not the 4:1 above the leaves
    1.03226

    :raises ParameterError: fewer than two ranks, or a placement that is none.
    :raises DisconnectedError: a rank that others cannot reach.
    """
    expect_fabric(fabric)
    placed = Ranks.of(fabric, placement)
    ranks = placed.rows.ravel()
    if len(ranks) < 2:
        raise ParameterError(f"{len(ranks)} rank(s); a collective needs at least two")
    graph = _Graph.of(fabric, ranks, wire, state)
    found, looked, classes, reached, how = graph.answer(placed)
    n = len(ranks)
    algbw = n * float(found.x)
    is_rank = graph.shards > 0
    outside = fabric.nodes.name[is_rank & ~found.side]
    least = min(float(found.capacity), _least_cut(fabric, graph.tail, graph.head, graph.capacity, is_rank))
    return OptimalGather(
        fabric=fabric.name,
        ranks=n,
        bytes=float(bytes),
        time_s=bytes / (algbw * 1e9),
        algbw_gbyte_s=algbw,
        busbw_gbyte_s=algbw * (n - 1) / n,
        algbw_reached_gbyte_s=reached,
        shard_gbyte_s=float(found.x),
        cut_gbyte_s=float(found.capacity),
        ranks_inside=found.ranks_inside,
        outside=tuple(outside[:1000].tolist()),
        all_reduce_reached_s=2 * bytes / (reached * 1e9),
        all_reduce_bound_s=bytes / (least * 1e9),
        n_flows=found.n_flows,
        standing=_standing(looked, classes, reached, algbw, how),
        side=found.side,
    )


@dataclass(frozen=True, eq=False)
class _Graph:
    """The job's part of a fabric as a directed graph, GB/s on arcs; ``shards`` is 1 at ranks."""

    fabric: Fabric
    network: Network
    rate: NDArray[np.float64]
    tail: NDArray[np.int64]
    head: NDArray[np.int64]
    capacity: NDArray[np.float64]
    shards: NDArray[np.int64]

    @classmethod
    def of(cls, fabric: Fabric, ranks: Array, wire: Wire | None, state: State | None) -> _Graph:
        network = Network.of(fabric, state=_only_job(fabric, ranks, state))
        line = payload_gbps(fabric, wire, network.state)
        rate = line / 8
        forth = 2 * network.links
        tail, head = np.concatenate([network.a, network.b]), np.concatenate([network.b, network.a])
        shards = np.zeros(len(fabric.nodes), np.int64)
        shards[ranks] = 1
        return cls(fabric, network, line, tail, head, np.concatenate([rate[forth], rate[forth + 1]]), shards)

    def answer(self, placed: Ranks) -> tuple[GatherRate, int, int, float, str]:
        """The least cut found, classes of ranks looked at and in all, the best algbw reached, and how."""
        modules = Modules.of(self.fabric, self.tail, self.head, self.capacity, self.shards > 0)
        whole = modules.reduced()
        tried = self._rate(self._whole(), [])
        most = len(placed.rows.ravel()) * float(tried.x)
        reached, how = reached_gather(self.fabric, placed, self.rate, self.network.state, most * (1 - _NEAR))
        if reached >= most * (1 - _NEAR):
            return tried, 0, 1, most, how
        found, looked, classes = self._best(modules, whole)
        most = len(placed.rows.ravel()) * float(found.x)
        return found, looked, classes, most if looked == classes else min(reached, most), how

    def _best(self, modules: Modules, whole: Reduced) -> tuple[GatherRate, int, int]:
        """The least cut by flows to one rank of each class, as many as there is time for."""
        targets = ranks = self._ranks(whole)
        few = int((whole.count > 0).sum()) <= _MOST_ORBITS and len(whole.tail) <= _MOST_ORBIT_ARCS
        if few:
            classes = self._orbits(whole)
            targets = ranks[np.unique(classes[ranks], return_index=True)[1]]
        most = max(1, _MOST_WORK // max(len(whole.tail), 1))
        looked = targets
        if len(targets) > most:
            looked = targets[np.linspace(0, len(targets) - 1, most).astype(int)]
        if modules.n_kinds == modules.n and not few:
            return self._rate(whole, looked), len(looked), len(targets)
        best: GatherRate | None = None
        flows = 0
        for target in looked.tolist():
            alone = modules.reduced(target)
            found = self._rate(alone.joined(self._orbits(alone, target)) if few else alone, [target])
            flows += found.n_flows
            if best is None or found.x < best.x:
                best = found
        assert best is not None
        return replace(best, n_flows=flows), len(looked), len(targets)

    def _whole(self) -> Reduced:
        """The graph itself: every node for itself."""
        one = np.arange(len(self.shards))
        return Reduced(self.tail, self.head, self.capacity, np.ones(len(one), np.int64), one)

    def _ranks(self, reduced: Reduced) -> NDArray[np.int64]:
        return np.flatnonzero((self.shards > 0) & (reduced.count > 0))

    def _orbits(self, reduced: Reduced, target: int | None = None) -> NDArray[np.int64]:
        """Classes of nodes under verified automorphisms that keep counts and ranks, and leave a target alone.

        Those of the reduced graph are, member by member, some of the whole graph's.
        """
        state = self.network.state or State()
        kept = reduced.count > 0
        present = kept if state.node_present is None else kept & state.node_present
        network = Network.of(self.fabric, state=State(present, state.link_present, state.capacity_gbps))
        label = reduced.count * 2 + (self.shards > 0)
        if target is not None:
            label[target] = -1
        classes = symmetry(network, label=label).node_class.astype(np.int64)
        # Nodes without links have no class of their own.
        bare = classes < 0
        classes[bare] = classes.max(initial=-1) + 1 + np.arange(int(bare.sum()))
        return classes

    def _rate(self, reduced: Reduced, targets: ArrayLike) -> GatherRate:
        """The rate on a reduced graph; its cut as one of the whole graph."""
        nodes = self.fabric.nodes
        codes = (nodes.host, nodes.domain, nodes.pod, nodes.rail, nodes.plane)
        groups = [np.where(reduced.count > 0, label.codes.astype(np.int64), -1) for label in codes]
        found = gather_rate(
            len(self.shards), reduced.tail, reduced.head, reduced.capacity, self._ranks(reduced), targets, groups,
            reduced.count,
        )  # fmt: skip
        return replace(found, side=found.side[reduced.of])


def _standing(looked: int, classes: int, reached: float, algbw: float, how: str) -> Standing:
    if looked == classes:
        return Standing("exact", "the cut shown is the bound, packed spanning trees reach it; latency left out")
    if reached >= algbw * (1 - _NEAR):
        return Standing("exact", f"{how} reach the cut shown; latency left out")
    said = f"{looked:,} of {classes:,} classes of ranks looked at; between {reached:.6g} ({how}) and {algbw:.6g} GB/s"
    return Standing("bracket", said)


def _only_job(fabric: Fabric, ranks: Array, state: State | None) -> State:
    """The state without what belongs to hosts outside the job, and without what neither forwards nor takes part."""
    host = fabric.nodes.host.codes
    mine = np.zeros(len(fabric.nodes.host.labels) + 1, bool)
    mine[host[ranks]] = True
    mine[-1] = False
    keep = np.where(host >= 0, mine[host], fabric.nodes.forwards != FORWARDS_NOTHING)
    keep &= fabric.nodes.forwards != FORWARDS_NOTHING
    keep[ranks] = True
    if state is None:
        return State(keep)
    present = keep if state.node_present is None else keep & state.node_present
    return State(present, state.link_present, state.capacity_gbps)


def _least_cut(fabric: Fabric, tail: Array, head: Array, capacity: Array, is_rank: Array) -> float:
    """Least capacity out of or into a single rank, or a single host that is not the whole job."""
    n = len(is_rank)
    out = np.bincount(tail, weights=capacity, minlength=n)[is_rank]
    into = np.bincount(head, weights=capacity, minlength=n)[is_rank]
    least = min(float(out.min()), float(into.min()))
    host = fabric.nodes.host.codes.astype(np.int64)
    of_job = np.unique(host[is_rank])
    if len(of_job) > 1 and of_job[0] >= 0:
        across = host[tail] != host[head]
        for ends in (tail, head):
            here = ends[across]
            total = np.bincount(host[here] + 1, weights=capacity[across], minlength=int(of_job[-1]) + 2)
            least = min(least, float(total[of_job + 1].min()))
    return least
