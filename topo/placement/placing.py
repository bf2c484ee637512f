"""Where to put a job: the best placement and rank order for an objective, a lower bound, and the gap between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from topo.errors import ParameterError
from topo.fabric import Fabric, State
from topo.placement.affinity import PlacementAffinity, affinity_of, fewest
from topo.placement.bounds import Bound, compact_counts, hop_bound, load_bound, table_of_loads
from topo.placement.fold import Hosts, hosts_of, name_mask
from topo.placement.job import Job
from topo.placement.measure import EndTree, Measured, end_tree, measured
from topo.placement.names import folded
from topo.placement.placement import Placed, Placement, on_hosts, placement_of, rank_width
from topo.placement.profile import Pattern, pattern_of
from topo.placement.room import Scope, scopes
from topo.placement.search import Problem, Searched, searched
from topo.placement.slices import Group, Slice, blocks_for
from topo.placement.starts import assigned, orders_of, packings
from topo.placement.tree import Tree
from topo.result import Result, Row, Standing, hidden
from topo.table import Array

__all__ = ["OBJECTIVES", "Cluster", "PlacementFound", "load_units", "place", "placed_on"]

OBJECTIVES = ("leaves", "hop_bytes", "uplink_load")
_ORDER_BUDGET_S = 0.4
_MOST_RANKED = 8192
_UNITS = {"leaves": "leaf groups", "hop_bytes": "bytes x links a step", "uplink_load": "bytes a step"}


@dataclass(frozen=True, eq=False)
class Cluster:
    """A fabric folded once, with the hosts that are free and the jobs already there."""

    hosts: Hosts
    ends: EndTree
    free: NDArray[np.bool_]
    others: tuple[Measured, ...] = ()

    @classmethod
    def of(
        cls,
        fabric: Fabric,
        *,
        busy: Any = None,
        others: Sequence[tuple[Job, Placed]] = (),
        state: State | None = None,
        pxn: bool = True,
    ) -> Cluster:
        """A cluster in a state; hosts of ``others`` are busy too.

        :raises ParameterError: an unknown host.
        """
        hosts = hosts_of(fabric, state=state)
        ends = end_tree(hosts)
        free = ~name_mask(hosts, busy) & (hosts.leaf >= 0)
        there = tuple(measured(ends, job, placement_of(hosts, job, where), pxn=pxn) for job, where in others)
        for other in there:
            free[hosts.of_node[other.placement.rows]] = False
        return cls(hosts, ends, free, there)


@dataclass(frozen=True)
class PlacementFound(Result):
    """Hosts in rank order, what they cost, the least any placement can cost, and the gap between the two.

    ``gap`` is (value - lower_bound) / lower_bound, 0 where they are equal, None where the bound is 0 and the value is
    not. The load is that of the busiest leaf's uplinks, levels above in proportion to their capacity. ``by_leaves``
    lists the least load of a uniform all-to-all with at most so many leaf groups.
    """

    fabric: str
    job: str
    objective: str
    hosts: tuple[str, ...]
    value: float
    lower_bound: float
    gap: float | None
    standing: Standing
    scope: str
    leaf_counts: dict[str, int]
    by_leaves: dict[int, float]
    seed: int
    notes: tuple[str, ...]
    affinity: PlacementAffinity
    placement: Placement = hidden()
    title: ClassVar[str] = "Placement"
    derived: ClassVar[tuple[str, ...]] = ("ranks",)
    _rows: tuple[Row, ...] = field(default=(), repr=False, metadata={"hidden": True})

    @property
    def ranks(self) -> list[int]:
        """Endpoint row of every rank."""
        return [int(row) for row in self.placement.rows]

    def rows(self) -> list[Row]:
        """The choice, its bound, then its scores."""
        gap = "unknown" if self.gap is None else f"{100 * self.gap:.2f} %"
        rows = [
            Row("objective", self.objective),
            Row("value", self.value, _UNITS[self.objective], self.standing),
            Row("lower bound", self.lower_bound, _UNITS[self.objective], Standing("lower bound")),
            Row("gap", gap),
            Row("hosts", folded(self.hosts)),
            Row("hosts by leaf group", ", ".join(f"{name} {count}" for name, count in self.leaf_counts.items())),
        ]
        if self.by_leaves:
            said = ", ".join(f"{m}: {value:g}" for m, value in self.by_leaves.items())
            rows.append(Row("least load by leaf groups allowed", said))
        return [*rows, *(Row("note", note) for note in self.notes), *self.affinity.rows()]


def place(
    fabric: Fabric,
    job: Job,
    *,
    busy: Any = None,
    objective: str = "leaves",
    others: Sequence[tuple[Job, Placed]] = (),
    budget_s: float = 8.0,
    seed: int = 0,
    pxn: bool = True,
    state: State | None = None,
) -> PlacementFound:
    """The best hosts and rank order for a job, with a lower bound on what any placement costs.

    ``leaves``: fewest leaf groups, ties by hop-bytes, then by free hosts left in part-used groups; exact.
    On a grid (torus, mesh, HyperX) the job gets a contiguous slice, a block of neighbouring places, and on a dragonfly
    a group, where one of as few leaf groups is free and its bytes cross no more links there; the notes say which.
    ``hop_bytes`` and ``uplink_load``: exact for a uniform all-to-all and for one ring on any tree (a table over how
    many hosts lie below each node); for other demands the same table over the least traffic any k hosts must send
    out gives the bound, and a search by swaps and moves for ``budget_s`` the placement. ``uplink_load`` alone scatters
    a job: bound it with ``at_most_leaves``. Loads include the ``others``.

    >>> import topo
    >>> fabric = topo.leaf_spine(leaves=4, spines=4, hosts_per_leaf=8)
    >>> found = place(fabric, Job(12), objective="uplink_load")
    >>> found.value, found.lower_bound, found.gap, sorted(found.leaf_counts.values())
    (27.0, 27.0, 0.0, [3, 3, 3, 3])

    :raises ParameterError: the job does not fit (how many are missing, the largest that fits, the constraint that
        binds), an unknown host, an unknown objective.
    """
    cluster = Cluster.of(fabric, busy=busy, others=others, state=state, pxn=pxn)
    return placed_on(cluster, job, objective=objective, budget_s=budget_s, seed=seed, pxn=pxn)


def placed_on(
    cluster: Cluster, job: Job, *, objective: str = "leaves", budget_s: float = 8.0, seed: int = 0, pxn: bool = True
) -> PlacementFound:
    """:func:`place` on a cluster that is folded already.

    :raises ParameterError: an unknown objective, or a job that does not fit.
    """
    if objective not in OBJECTIVES:
        raise ParameterError(f"unknown objective {objective!r}; known: {', '.join(OBJECTIVES)}")
    hosts, width = cluster.hosts, rank_width(cluster.hosts, job)
    fitting = scopes(hosts, cluster.ends, job, cluster.free)  # refused before anything of the job's size is made
    pattern = pattern_of(job, width)
    base = _base(cluster, job, pxn)
    solved = [(_bounded(scope, pattern, cluster, job, objective, base), scope) for scope in fitting]
    solved.sort(key=lambda pair: pair[0][1].value)
    bound = solved[0][0][1]
    best: tuple[Searched, Problem, Scope] | None = None
    for (problem, own), scope in solved:
        if best is not None and best[0].value <= own.value * (1 + 1e-12):
            break
        answer = _solved(problem, own, objective, budget_s / len(solved), seed)
        if best is None or answer.value < best[0].value:
            best = (answer, problem, scope)
    assert best is not None
    answer, problem, scope = best
    placement = _hosts_in_order(hosts, job, scope, answer.leaf)
    mine, block = _in_a_block(cluster, job, objective, scope, measured(cluster.ends, job, placement, pxn=pxn), pxn)
    affinity = affinity_of(mine, cluster.others, ~cluster.free)
    value, lower = answer.value, min(bound.value, answer.value)
    if objective == "hop_bytes" and not problem.tree.symmetric:
        value, lower = mine.hop_bytes, min(_far_bound(mine, problem), mine.hop_bytes)
    found = _result(cluster, job, objective, problem, scope, bound, answer, mine, affinity, value, lower, seed)
    return found if block is None else replace(found, notes=(*found.notes, str(block)))


def _in_a_block(
    cluster: Cluster, job: Job, objective: str, scope: Scope, found: Measured, pxn: bool
) -> tuple[Measured, Slice | Group | None]:
    """On a fabric that is no tree, the slice of its grid or the pod in which the job's bytes cross fewest links.

    What was found stays where no block of as few leaf groups is as good, or where the load of uplinks is what counts.
    """
    hosts, rules = cluster.hosts, job.constraints
    loads_count = objective == "uplink_load" and not cluster.ends.has_no_switch
    if scope.tree.symmetric or scope.rows is not None or loads_count:
        return found, None
    n, best = job.n_hosts(rank_width(hosts, job)), None
    most = len(np.unique(hosts.leaf[found.placement.hosts(hosts)])) if objective == "leaves" else rules.at_most_leaves
    for block in blocks_for(hosts, np.flatnonzero(scope.leaf >= 0), n):
        per_leaf = np.unique(hosts.leaf[block.hosts], return_counts=True)[1]
        if (most is not None and len(per_leaf) > most) or per_leaf.max() > (rules.hosts_per_leaf or n):
            continue
        mine = measured(cluster.ends, job, on_hosts(hosts, job, block.hosts), pxn=pxn)
        slack = 1e-9 if best is None else -1e-9  # at equal cost a block, the first of them
        if mine.hop_bytes <= found.hop_bytes * (1 + slack):
            found, best = mine, block
    return found, best


def _bounded(
    scope: Scope, pattern: Pattern, cluster: Cluster, job: Job, objective: str, base: list[Array]
) -> tuple[Problem, Bound]:
    """The problem of one scope, with its bound."""
    tree = scope.tree
    capacity = load_units(cluster, tree)
    if tree is not cluster.hosts.tree:
        base = [np.zeros(len(level)) for level in tree.levels]
    kind = "hop_bytes" if objective == "leaves" else objective
    problem = Problem(tree, scope.free, pattern, kind, capacity, base, job.constraints.at_most_leaves)
    if objective == "leaves":
        least = float(fewest(scope.free, pattern.n))
        return problem, Bound(least, "largest free first", [compact_counts(problem).hosts])
    return problem, hop_bound(problem) if objective == "hop_bytes" else load_bound(problem)


def load_units(cluster: Cluster, tree: Tree) -> list[Array]:
    """Capacity of every node of a tree by which its load is divided: 1 for the uplinks of the narrowest leaf."""
    unit = float(np.nanmin(cluster.ends.tree.levels[0].capacity_gbps, initial=np.inf))
    capacity = tree.relative_capacity(unit if np.isfinite(unit) else 0.0)
    if not tree.symmetric:  # above the leaf groups nothing bounds the links of a bundle
        capacity = [capacity[0], *(np.full(len(level), np.inf) for level in tree.levels[1:])]
    return capacity


def _solved(problem: Problem, bound: Bound, objective: str, budget_s: float, seed: int) -> Searched:
    """The best assignment found in one scope."""
    pattern, tree = problem.pattern, problem.tree
    orders = orders_of(pattern)
    if pattern.uniform is not None or objective == "leaves":
        counts = bound.counts[:1]
    else:
        packed = packings(problem.free, pattern.n, pattern.grid, problem.most_leaves)
        counts = [*bound.counts, compact_counts(problem).hosts, *packed]
    starts = [assigned(tree, count, order) for count in counts for order in orders]
    if objective == "leaves":
        found = searched(problem, starts, target=0.0, budget_s=min(budget_s, _ORDER_BUDGET_S), seed=seed, moves=False)
        return replace(found, value=float(len(np.unique(found.leaf))))
    return searched(problem, starts, target=bound.value, budget_s=budget_s, seed=seed)


def _base(cluster: Cluster, job: Job, pxn: bool) -> list[Array]:
    """What the other jobs put on the uplinks of every node of the host tree, in bytes a step of this job."""
    hosts, tree = cluster.hosts, cluster.hosts.tree
    total = [np.zeros(len(level)) for level in tree.levels]
    if not cluster.others:
        return total
    width = rank_width(hosts, job)
    some = np.flatnonzero(hosts.leaf >= 0)[: job.n_hosts(width)]
    own = measured(cluster.ends, job, on_hosts(hosts, job, some), pxn=pxn).scale if len(some) else 1.0
    for other in cluster.others:
        leaf = hosts.leaf[hosts.of_node[other.placement.rows]]
        matrix = other.job.traffic.between(leaf, tree.n_leaves).toarray()
        ratio = other.scale / own if np.isfinite(other.scale) and np.isfinite(own) and own > 0 else 1.0
        for at, (out, into) in enumerate(tree.cuts(matrix)):
            total[at] = total[at] + np.maximum(out, into) * ratio
    return total


def _hosts_in_order(hosts: Hosts, job: Job, scope: Scope, leaf: Array) -> Placement:
    """Real hosts for an assignment: in each leaf group the first free ones, in the order of the job's hosts."""
    chosen = np.empty(len(leaf), np.int64)
    for group in np.unique(leaf).tolist():
        mine = np.flatnonzero(leaf == group)
        chosen[mine] = np.flatnonzero(scope.leaf == group)[: len(mine)]
    if scope.rows is not None:
        return Placement.of(scope.rows[chosen])
    return on_hosts(hosts, job, chosen)


def _far_bound(mine: Measured, problem: Problem) -> float:
    """Bound where the fabric is no tree: what leaves a leaf group goes at least as far as the nearest other one.

    Where endpoints forward for each other what leaves a host crosses a link at least.
    """
    if mine.ends.has_no_switch or mine.ends.hosts_relay:
        return max(mine.inter, _nearest_bound(mine, problem))
    lowest = problem.tree.levels[0]
    flat = replace(lowest, parent=np.zeros_like(lowest.parent))
    leaf_only = replace(problem, tree=replace(problem.tree, levels=(flat,)))
    cut = (hop_bound(leaf_only).value - 2 * problem.pattern.total) / 2
    return 2 * mine.inter + mine.nearest * cut


def _nearest_bound(mine: Measured, problem: Problem) -> float:
    """Bound of a uniform all-to-all over hosts that are leaf groups each: the others are no nearer than its nearest."""
    n, hosts = problem.pattern.n, mine.ends.hosts
    alone = len(hosts) == mine.ends.tree.n_leaves == len(problem.free) and bool((hosts.size == 1).all())
    if problem.pattern.uniform is None or n < 2 or not alone or len(hosts) > _MOST_RANKED:
        return 0.0
    hops = mine.ends.hops
    free = np.flatnonzero(problem.free)
    near = np.where(hops < 0, np.inf, hops)[np.ix_(free, free)]
    around = np.partition(near, n - 1, axis=1)[:, :n].sum(axis=1)  # a host itself among them, at 0
    return float(mine.inter / (n * (n - 1)) * np.partition(around, n - 1)[:n].sum())


def _result(
    cluster: Cluster, job: Job, objective: str, problem: Problem, scope: Scope, bound: Bound, answer: Searched,
    mine: Measured, affinity: PlacementAffinity, value: float, lower: float, seed: int,
) -> PlacementFound:  # fmt: skip
    hosts = cluster.hosts
    gap = 0.0 if value <= lower * (1 + 1e-9) + 1e-12 else (value / lower - 1 if lower > 0 else None)
    uniform_load = objective == "uplink_load" and problem.pattern.uniform is not None
    least = fewest(problem.free, problem.pattern.n)
    steps = sorted({least, least + 1, least + 2, *(least * f for f in (2, 4, 8))})
    steps = [m for m in steps if m <= (job.constraints.at_most_leaves or int((problem.free > 0).sum()))]
    return PlacementFound(
        fabric=hosts.fabric.name,
        job=job.name,
        objective=objective,
        hosts=tuple(hosts.name[mine.placement.hosts(hosts)].tolist()),
        value=value,
        lower_bound=lower,
        gap=gap,
        standing=_standing(problem, bound, objective, gap),
        scope=scope.name,
        leaf_counts=affinity.leaf_counts,
        by_leaves=table_of_loads(problem, steps) if uniform_load else {},
        seed=seed,
        notes=_notes(cluster, job, objective, problem, affinity, answer),
        affinity=affinity,
        placement=mine.placement,
    )


def _standing(problem: Problem, bound: Bound, objective: str, gap: float | None) -> Standing:
    if gap == 0 and (objective == "leaves" or problem.tree.symmetric):
        return Standing("exact", f"optimal: {bound.how}")
    if problem.tree.symmetric:
        return Standing("upper bound", f"found by search; below it {bound.how}")
    return Standing("upper bound", f"found by search on a fabric that is no tree ({problem.tree.why_not})")


def _notes(
    cluster: Cluster, job: Job, objective: str, problem: Problem, affinity: PlacementAffinity, answer: Searched
) -> tuple[str, ...]:
    width = rank_width(cluster.hosts, job)
    notes = [job.order_text]
    spare = job.n_hosts(width) * width - job.size
    if spare:
        left = "stay idle" if job.constraints.whole_hosts else "are left to others"
        notes.append(f"{job.size:,} ranks are no multiple of {width} a host: {spare} places of the last host {left}")
    if objective == "uplink_load" and affinity.rates_known and affinity.max_utilization_with_others <= 1:
        notes.append(
            "no uplink is full here; where none is on fewer leaf groups either, spreading gains no capacity, only "
            "fewer hash collisions: at_most_leaves keeps the job together"
        )
    if objective == "uplink_load" and cluster.ends.has_no_switch:
        notes.append("no switch joins the hosts, so that there are no uplinks; the busiest link tells the load")
    elif objective == "uplink_load" and not problem.tree.rates_known:
        notes.append("rates unknown: every leaf group counts alike, levels above are left out")
    if answer.tried > 1:
        told = "; time ended the search, so that another run can find another: more seconds with budget_s (--budget)"
        notes.append(f"{answer.tried:,} starts tried{told if answer.cut_short else ''}")
    return tuple(notes)
