"""The best all-gather that any algorithm can run on a graph, with the cut that binds it: Newton steps on a max-flow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from topo.analysis.collectives.carried import Wire, payload_gbps
from topo.analysis.collectives.flows import Ranks
from topo.analysis.flow import common_unit, merged_arcs
from topo.errors import DisconnectedError, ParameterError
from topo.fabric import FORWARDS_NOTHING, Fabric, State, expect_fabric
from topo.network import Network
from topo.result import Result, Row, Standing, hidden
from topo.symmetry import symmetry
from topo.table import Array

__all__ = ["GatherRate", "OptimalGather", "gather_rate", "optimal_all_gather"]

_NEAR = 1e-9
_MOST_WORK = 20_000_000
_MOST_ARCS = 300_000


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
) -> GatherRate:
    """The optimum of an all-gather on a directed graph: x* = min over X of B+(X) / |X|, X missing a rank.

    A set X of vertices that misses a rank must send the shards of its |X| ranks over the arcs that leave it, of
    capacity B+(X); packing spanning trees reaches the bound (Edmonds 1973). Newton: with x at hand, a super-source
    feeds x into every rank; where less than N x reaches a target the cut there is a smaller ratio. Exact: ratios are
    recomputed from whole numbers. ``targets``: one of each class of ranks that automorphisms join (default: all; none:
    the best of the cuts that are tried first, an upper bound). ``groups``: labels of vertices (-1: none) whose groups,
    hosts or pods, are tried as cuts first; they save flows and change nothing else.

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
    is_rank = np.zeros(n, bool)
    is_rank[rank] = True
    alone = np.full(n, -1, np.int64)
    alone[rank] = rank
    x, side = _best_group(arcs.row, arcs.col, arcs.data, is_rank, exact, [alone, *map(np.asarray, groups)])
    n_flows = 0
    scale = exact.scale
    edges = np.concatenate([np.stack([arcs.row, arcs.col], 1), np.stack([np.full(len(rank), n), rank], 1)])
    graph = igraph.Graph(n=n + 1, edges=edges, directed=True) if len(wanted) else None
    for target in wanted.tolist():
        while True:
            feed = np.full(len(rank), float(x) / scale)
            assert graph is not None
            flow = graph.maxflow(n, target, capacity=np.concatenate([arcs.data / scale, feed]).tolist())
            n_flows += 1
            if flow.value >= len(rank) * float(x) / scale * (1 - _NEAR):
                break
            found = np.zeros(n + 1, bool)
            found[flow.partition[0]] = True
            inside = int((found[:n] & is_rank).sum())
            leaving = exact.total(found[arcs.row] & ~found[arcs.col])
            if not inside or Fraction(leaving, inside) >= x:
                break
            x, side = Fraction(leaving, inside), found[:n].copy()
    if x == 0:
        raise DisconnectedError("some rank cannot be reached from the others; no all-gather ends")
    inside = int((side & is_rank).sum())
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
    row: Array, col: Array, data: Array, is_rank: Array, exact: _Exact, groups: Sequence[Array]
) -> tuple[Fraction, NDArray[np.bool_]]:
    """The first ratio: the smallest of the cuts around single ranks and given groups, into them and out of them."""
    n_ranks = int(is_rank.sum())
    best: tuple[float, NDArray[np.bool_]] | None = None
    for label in groups:
        inside = np.bincount(label[is_rank] + 1, minlength=int(label.max(initial=-1)) + 2)[1:]
        across = label[row] != label[col]
        into, out = (
            np.bincount(label[end[across]] + 1, weights=data[across], minlength=len(inside) + 1)[1:]
            for end in (col, row)
        )
        usable = (inside > 0) & (inside < n_ranks)
        for flow, shards in ((into, n_ranks - inside), (out, inside)):
            ratio = np.where(usable, flow / np.maximum(shards, 1), np.inf)
            at = int(np.argmin(ratio)) if len(ratio) else -1
            if at >= 0 and (best is None or ratio[at] < best[0] * (1 - _NEAR)):
                best = (float(ratio[at]), (label != at) if flow is into else (label == at))
    assert best is not None
    side = best[1]
    return exact.total(side[row] & ~side[col]) / int((side & is_rank).sum()), side


@dataclass(frozen=True)
class OptimalGather(Result):
    """What no all-gather beats, and what all-reduce can and cannot do: both with the cut that binds."""

    fabric: str
    ranks: int
    bytes: float
    time_s: float
    algbw_gbyte_s: float
    busbw_gbyte_s: float
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
        return [
            Row("algbw, best of any algorithm", self.algbw_gbyte_s, "GB/s", self.standing),
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
    with x* of :func:`gather_rate`, one target of each verified symmetry class (above some
    thousand opened hosts none or a part of them: then the cut shown is an upper bound). Twice that is an all-reduce
    that can be reached; no all-reduce is faster than S over the least cut found between ranks.

    >>> import topo
    >>> f = topo.leaf_spine(leaves=4, spines=2, hosts_per_leaf=8, link_gbps=8, host_gbps=8)
    >>> round(optimal_all_gather(f).algbw_gbyte_s, 5)   # ingress of a rank binds, not the 4:1 above the leaves
    1.03226

    :raises ParameterError: fewer than two ranks, or a placement that is none.
    :raises DisconnectedError: a rank that others cannot reach.
    """
    expect_fabric(fabric)
    ranks = Ranks.of(fabric, placement).rows.ravel()
    network = Network.of(fabric, state=_only_job(fabric, ranks, state))
    rate = payload_gbps(fabric, wire, network.state) / 8
    forth = 2 * network.links
    tail, head = np.concatenate([network.a, network.b]), np.concatenate([network.b, network.a])
    capacity = np.concatenate([rate[forth], rate[forth + 1]])
    label = np.zeros(len(fabric.nodes), np.int64)
    label[ranks] = 1
    classes = symmetry(network, label=label).node_class[ranks]
    targets = ranks[np.unique(classes, return_index=True)[1]]
    # Beyond some work only a part of the classes is looked at: the cut found holds, but another may be smaller.
    most = _MOST_WORK // len(tail) if len(tail) <= _MOST_ARCS else 0
    looked = targets if len(targets) <= most else targets[np.linspace(0, len(targets) - 1, most).astype(int)]
    nodes = fabric.nodes
    groups = [codes.codes.astype(np.int64) for codes in (nodes.host, nodes.domain, nodes.pod, nodes.rail, nodes.plane)]
    found = gather_rate(len(nodes), tail, head, capacity, ranks, looked, groups)
    n = len(ranks)
    x = float(found.x)
    algbw = n * x
    is_rank = label > 0
    outside = fabric.nodes.name[is_rank & ~found.side]
    least = min(float(found.capacity), _least_cut(fabric, tail, head, capacity, is_rank))
    return OptimalGather(
        fabric=fabric.name,
        ranks=n,
        bytes=float(bytes),
        time_s=bytes / (algbw * 1e9),
        algbw_gbyte_s=algbw,
        busbw_gbyte_s=algbw * (n - 1) / n,
        shard_gbyte_s=x,
        cut_gbyte_s=float(found.capacity),
        ranks_inside=found.ranks_inside,
        outside=tuple(outside[:1000].tolist()),
        all_reduce_reached_s=2 * bytes / (algbw * 1e9),
        all_reduce_bound_s=bytes / (least * 1e9),
        n_flows=found.n_flows,
        standing=_standing(len(looked), len(targets)),
        side=found.side,
    )


def _standing(looked: int, classes: int) -> Standing:
    if looked == classes:
        return Standing("exact", "the cut shown is the bound, packed spanning trees reach it; latency left out")
    if not looked:
        return Standing("upper bound", "least cut around ranks, hosts, domains, pods, rails; too large for flows")
    return Standing("upper bound", f"the cut shown holds; {looked:,} of {classes:,} classes of ranks looked at")


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
