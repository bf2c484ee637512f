"""What a placement costs: every score with its unit, which way is better, and what it ignores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from topo.fabric import Fabric, State
from topo.placement.contention import Contention, contention
from topo.placement.counts import waterfilled_load
from topo.placement.fold import Hosts, hosts_of, name_mask
from topo.placement.job import Job
from topo.placement.measure import Measured, end_tree, measured
from topo.placement.placement import Placed, placement_of
from topo.placement.reach import Reach, reach_of
from topo.placement.shares import MixedIndex, Shares, shares_of
from topo.result import Result, Row, Standing
from topo.table import Array
from topo.units import format_number

__all__ = [
    "SCORES",
    "PlacementAffinity",
    "Score",
    "affinity_of",
    "distinct_names",
    "fewest",
    "fragmentation",
    "placement_affinity",
]

SCORES: dict[str, tuple[str, str, str]] = {
    "leaves_spanned": ("leaf groups", "less is better", "what the ranks say to each other"),
    "pods_spanned": ("pods", "less is better", "what the ranks say to each other"),
    "hop_bytes": ("bytes x links a step", "less is better", "capacity and congestion"),
    "cross_leaf_share": ("of the bytes between hosts", "less is better", "distance beyond the leaf, capacity"),
    "cross_pod_share": ("of the bytes between hosts", "less is better", "distance, capacity"),
    "cross_rail_share": ("of the bytes between hosts", "less is better", "relays inside a host (PXN)"),
    "cross_plane_share": ("of the bytes between hosts", "less is better", "endpoints on several planes at once"),
    "cross_domain_share": ("of the bytes between hosts", "less is better", "how fast the scale-up domain is"),
    "max_uplink_load": ("bytes a step", "less is better", "the split over single links, hashing, other tiers"),
    "busiest_link_load": ("bytes a step", "less is better", "hashing (see collisions), time"),
    "max_utilization": ("load over capacity", "less is better", "hashing (see collisions), time"),
    "slowdown": ("times", "less is better", "phases that interleave in time, hashing"),
    "rail_alignment": ("of the bytes between hosts", "more is better", "relays inside a host (PXN)"),
    "unreachable_pairs": ("ordered pairs", "less is better", "relays inside a host (PXN)"),
    "fragmentation": ("of the free hosts", "less is better", "who comes next, and what they say to each other"),
}
"""Unit, better direction and blind spot of every score."""


@dataclass(frozen=True, slots=True)
class Score:
    """One score with what it takes to read it: unit, which way is better, what it ignores; None: does not apply."""

    name: str
    value: float | None
    unit: str
    better: str
    ignores: str

    def text(self) -> str:
        """The value as people read it."""
        if self.value is None:
            return "-"
        if not np.isfinite(self.value):
            return "rates unknown"
        if self.unit.startswith("of the bytes"):
            return f"{100 * self.value:.1f} %"
        return format_number(self.value)


@dataclass(frozen=True)
class PlacementAffinity(Result):
    """Scores of one placed job. ``shares`` and ``reach`` hold the finer parts; ``ignores`` what each score does.

    Loads are in bytes a step; a utilization sets the scale so that the job's busiest endpoint runs at its line rate.
    ``least_leaves`` and ``least_pods`` need not be reached together. ``slowdown`` has one entry a job, this one first.
    """

    fabric: str
    job: str
    rank_order: str
    n_ranks: int
    n_hosts: int
    idle_endpoints: int
    leaves_spanned: int
    least_leaves: int
    leaf_switches_used: int
    pods_spanned: int | None
    least_pods: int | None
    leaf_counts: dict[str, int]
    bytes_between_hosts: float
    bytes_in_all: float
    hop_bytes: float
    least_hop_bytes: float
    cross_leaf_share: float
    cross_leaf_share_of_all: float
    cross_pod_share: float | None
    cross_rail_share: float | None
    cross_plane_share: float | None
    cross_domain_share: float | None
    max_uplink_load: float
    max_uplink_at: str
    busiest_link_load: float
    max_utilization: float
    max_utilization_with_others: float
    max_utilization_at: str
    slowdown: dict[str, float]
    rail_alignment: float | None
    mixed_indices: tuple[MixedIndex, ...]
    unreachable_pairs: int
    unreachable_bytes: float
    relay: str
    fragmentation: float | None
    fragmentation_leaves: int
    free_hosts_left: int
    free_in_part_used_leaves: int
    rates_known: bool
    verdict: str
    assumptions: tuple[str, ...]
    standing: Standing

    title: ClassVar[str] = "Placement affinity"
    derived: ClassVar[tuple[str, ...]] = ("scores",)

    @property
    def scores(self) -> tuple[Score, ...]:
        """Every score with its unit, the better direction and what it ignores; slowdown is that of this job."""
        values = {name: getattr(self, name) for name in SCORES} | {"slowdown": self.slowdown.get(self.job)}
        return tuple(
            Score(name, None if values[name] is None else float(values[name]), *said) for name, said in SCORES.items()
        )

    def rows(self) -> list[Row]:
        """Spans, distances, shares, loads, rails, what is left behind."""
        exact = Standing("exact", "counted")
        rows = [
            Row("job", f"{self.job}: {self.n_ranks:,} ranks on {self.n_hosts:,} hosts; {self.rank_order}"),
            Row("leaf groups spanned", self.leaves_spanned, standing=exact),
            Row("least possible leaf groups", self.least_leaves, standing=Standing("exact", "largest free first")),
            Row("leaf switches used", self.leaf_switches_used),
        ]
        if self.pods_spanned is not None:
            rows += [Row("pods spanned", self.pods_spanned), Row("least possible pods", self.least_pods)]
        rows.append(Row("hop-bytes", self.hop_bytes, "bytes x links a step", self.standing))
        for name, label in _SHARE_ROWS.items():
            value = getattr(self, name)
            if value is not None:
                rows.append(Row(label, 100 * value, "% of the bytes between hosts"))
        rows.append(Row("of all bytes across leaf groups", 100 * self.cross_leaf_share_of_all, "%"))
        at = f" (below {self.max_uplink_at})" if self.max_uplink_at else ""
        rows.append(Row(f"busiest leaf's uplinks together{at}", self.max_uplink_load, "bytes a step", self.standing))
        rows += self._capacity_rows()
        for index in self.mixed_indices:
            rows.append(Row(f"local index {index.local_index} lies on", ", ".join(index.rails)))
        if self.unreachable_pairs:
            rows.append(Row("ordered pairs without a path", self.unreachable_pairs))
            rows.append(Row("bytes between them", self.unreachable_bytes, "a step"))
            rows.append(Row("a relay inside a host", self.relay))
        if self.fragmentation is not None:
            most = f"<= {self.fragmentation_leaves} leaf groups"
            rows.append(Row(f"fragmentation left for jobs on {most}", self.fragmentation))
        rows.append(Row("free hosts left in part-used leaf groups", self.free_in_part_used_leaves))
        rows.append(Row("verdict", self.verdict))
        return rows

    def _capacity_rows(self) -> list[Row]:
        if not self.rates_known:
            return [Row("utilization and slowdown", "rates unknown")]
        rows = [
            Row("busiest link", self.busiest_link_load, "bytes a step", self.standing),
            Row("busiest link, load over capacity alone", self.max_utilization, standing=self.standing),
        ]
        if len(self.slowdown) > 1:
            rows.append(Row("the same with the other jobs", self.max_utilization_with_others, standing=self.standing))
        rows += [Row(f"slowdown of {name}", value, "times") for name, value in self.slowdown.items()]
        return rows


_SHARE_ROWS = {
    "cross_leaf_share": "across leaf groups",
    "cross_pod_share": "across pods",
    "cross_rail_share": "across rails",
    "cross_plane_share": "across planes",
    "cross_domain_share": "across scale-up domains",
    "rail_alignment": "same rail at both ends",
}


def placement_affinity(
    fabric: Fabric,
    placement: Placed,
    job: Job,
    *,
    busy: Any = None,
    others: Sequence[tuple[Job, Placed]] = (),
    pxn: bool = True,
    state: State | None = None,
) -> PlacementAffinity:
    """Scores of a job on the hosts it was given: spans, distances, shares, loads, contention, rails, fragmentation.

    ``placement`` is endpoint rows in rank order, or host names in rank order. ``busy`` names the hosts that are not
    free (the job's own aside); ``others`` are jobs already there with their placements. hop-bytes = sum of bytes(s, t)
    times the links between them (2 under one leaf, 4 under one pod, 6 above; the same host 0), which equals the
    even-split load summed over all arcs. With ``pxn`` bytes leave on the rail of their destination.

    >>> import topo
    >>> fabric = topo.leaf_spine(leaves=4, spines=8, hosts_per_leaf=8)
    >>> hosts = [f"host-{i:02}" for i in (*range(1, 9), 9, 10, 11, 12)]
    >>> scores = placement_affinity(fabric, hosts, Job(12))
    >>> scores.leaves_spanned, scores.hop_bytes, scores.max_uplink_load, round(scores.cross_leaf_share, 3)
    (2, 392.0, 32.0, 0.485)

    :raises ParameterError: an unknown host, a host twice, a placement that is not of the job's size.
    """
    hosts = hosts_of(fabric, state=state)
    ends = end_tree(hosts)
    mine = measured(ends, job, placement_of(hosts, job, placement), pxn=pxn)
    rest = [measured(ends, other, placement_of(hosts, other, where), pxn=pxn) for other, where in others]
    taken = name_mask(hosts, busy)
    for other in rest:
        taken[hosts.of_node[other.placement.rows]] = True
    return affinity_of(mine, rest, taken)


def _span_fields(hosts: Hosts, counts: Array, free: Array) -> dict[str, Any]:
    """How far hosts reach by leaf groups and pods; ``free`` hosts of each leaf group, their own among them."""
    tree, n, has_pods = hosts.tree, int(counts.sum()), hosts.tree.depth > 1
    return {
        "leaves_spanned": int((counts > 0).sum()),
        "least_leaves": fewest(free, n),
        "leaf_switches_used": int(hosts.leaf_switches[counts > 0].sum()),
        "pods_spanned": len(np.unique(tree.above[1][counts > 0])) if has_pods else None,
        "least_pods": fewest(tree.count(free)[1], n) if has_pods else None,
        "leaf_counts": {str(tree.levels[0].name[i]): int(counts[i]) for i in np.flatnonzero(counts)},
    }


def _left_fields(hosts: Hosts, left: Array, leaves: int) -> dict[str, Any]:
    """What is ``left`` free in each leaf group for jobs on so many of them."""
    total = np.bincount(hosts.leaf[hosts.leaf >= 0], minlength=hosts.tree.n_leaves)
    return {
        "fragmentation": fragmentation(left, leaves),
        "fragmentation_leaves": leaves,
        "free_hosts_left": int(left.sum()),
        "free_in_part_used_leaves": int(left[(left > 0) & (left < total)].sum()),
    }


def affinity_of(mine: Measured, rest: Sequence[Measured], busy: NDArray[np.bool_]) -> PlacementAffinity:
    """The scores of a measured job beside others; ``busy`` hosts are not free (the job's own count as its own)."""
    ends, job = mine.ends, mine.job
    hosts, tree = ends.hosts, ends.hosts.tree
    own = mine.placement.hosts(hosts)
    counts = np.bincount(hosts.leaf[own], minlength=tree.n_leaves)
    free = ~busy & (hosts.leaf >= 0)
    free[own] = True
    before = np.bincount(hosts.leaf[free], minlength=tree.n_leaves)
    shares, reach, load = shares_of(mine), reach_of(mine), contention([mine, *rest])
    uplink = mine.loads()[0]
    at = int(uplink.argmax()) if uplink.any() else -1
    names = [job.name, *(other.job.name for other in rest)]
    return PlacementAffinity(
        fabric=hosts.fabric.name,
        job=job.name,
        rank_order=job.order_text,
        n_ranks=job.size,
        n_hosts=len(own),
        idle_endpoints=int(hosts.size[own].sum()) - len(np.unique(mine.placement.rows)),
        **_span_fields(hosts, counts, before),
        bytes_between_hosts=mine.inter,
        bytes_in_all=mine.total,
        hop_bytes=mine.hop_bytes,
        least_hop_bytes=(1 if ends.has_no_switch or ends.hosts_relay else 2) * mine.inter,
        **_share_fields(shares, mine),
        max_uplink_load=float(uplink.max(initial=0.0)),
        max_uplink_at=str(ends.tree.levels[0].name[at]) if at >= 0 else "",
        busiest_link_load=load.busiest_link_load,
        max_utilization=load.utilization,
        max_utilization_with_others=load.utilization_with,
        max_utilization_at=load.at,
        slowdown=dict(zip(distinct_names(names), load.slowdown, strict=True)),
        rail_alignment=shares.rail_alignment,
        mixed_indices=shares.mixed,
        unreachable_pairs=reach.pairs,
        unreachable_bytes=reach.bytes_per_step,
        relay=reach.relay_text,
        **_left_fields(hosts, before - counts, job.constraints.at_most_leaves or fewest(before, len(own))),
        rates_known=bool(np.isfinite(load.utilization)),
        verdict=_verdict(load, reach, _way_out(mine, counts, before)),
        assumptions=_assumptions(mine),
        standing=_standing(mine, load),
    )


def fewest(free: NDArray[np.int64], n: int) -> int:
    """Fewest places that together hold ``n``: the largest first, which no choice beats.

    >>> fewest(np.array([5, 3, 8, 6]), 12)
    2
    """
    running = np.cumsum(np.sort(free)[::-1])
    return int(np.searchsorted(running, n)) + 1 if n > 0 else 0


def fragmentation(free: NDArray[np.int64], most_leaves: int) -> float | None:
    """1 - (largest job that fits on so many leaf groups) / (free hosts); None where nothing is free.

    >>> [round(fragmentation(np.array([5, 3, 8, 6]), m), 3) for m in (1, 2, 3)]
    [0.636, 0.364, 0.136]
    """
    total = int(free.sum())
    return 1 - int(np.sort(free)[::-1][:most_leaves].sum()) / total if total else None


def _share_fields(shares: Shares, mine: Measured) -> dict[str, Any]:
    return {
        "cross_leaf_share": shares.leaf,
        "cross_leaf_share_of_all": shares.leaf * mine.inter / mine.total if mine.total else 0.0,
        "cross_pod_share": shares.pod,
        "cross_rail_share": None if shares.rail_alignment is None else 1 - shares.rail_alignment,
        "cross_plane_share": shares.plane,
        "cross_domain_share": shares.domain,
    }


def distinct_names(names: list[str]) -> list[str]:
    """The names, a repeated one with its place in brackets.

    >>> distinct_names(["a", "b", "a"])
    ['a', 'b', 'a (3)']
    """
    out: list[str] = []
    for name in names:
        out.append(name if name not in out else f"{name} ({len(out) + 1})")
    return out


def _verdict(load: Contention, reach: Reach, way_out: str) -> str:
    if reach.pairs and reach.bytes_per_step > 0:
        return f"{reach.pairs:,} pairs have no path over the scale-out network; a relay: {reach.relay_text}"
    if not np.isfinite(load.utilization):
        return "rates unknown: spans and hops say how compact it is, nothing can be said of full links"
    if load.utilization_with <= 1:
        return (
            "no uplink is full even with the others at line rate: another split of the same hosts gains nothing in "
            "capacity; what differs is hash collisions and the other jobs' share"
        )
    number = format_number(load.utilization_with, 3)
    return f"the uplinks at {load.at} would need {number} times their rate: {way_out}"


def _way_out(mine: Measured, counts: NDArray[np.int64], free: NDArray[np.int64]) -> str:
    """Whether another split of a uniform all-to-all loads the busiest leaf less; other demands have to be searched."""
    n = int(counts.sum())
    width = mine.job.size // n if n else 0
    if not width or not mine.job.is_uniform(width):
        return "objective uplink_load looks for hosts and a rank order that need less"
    least = waterfilled_load(free, n)
    now = int((counts * (n - counts)).max())
    if least < now:
        return (
            f"spreading over more leaf groups helps, down to {format_number(least / now, 3)} of the busiest leaf's load"
        )
    return "no other split of the free hosts loads the busiest leaf less"


def _standing(mine: Measured, load: Contention) -> Standing:
    if mine.on_tree:  # counted on the tree; without rates only what links carry of their capacity is unknown
        return Standing("exact", load.how if np.isfinite(load.utilization) else "counted over the placement tree")
    why = mine.ends.tree.why_not or "parts that nothing joins"
    how = f"{load.how}; " if np.isfinite(load.utilization) else ""
    return Standing("model", f"{how}distances by leaf group ({why})")


def _wired(mine: Measured) -> NDArray[np.int64]:
    """Nodes with a link of their own into the scale-out network."""
    network, fabric = mine.ends.hosts.network, mine.ends.hosts.fabric
    outward = fabric.links.kind.is_any("access", "scale_out")[network.links]
    return np.unique(np.concatenate([network.a[outward], network.b[outward]])).astype(np.int64)


def _assumptions(mine: Measured) -> tuple[str, ...]:
    said = ["all jobs communicate at once", "a job's busiest endpoint runs at its line rate", mine.job.order_text]
    nodes = mine.ends.hosts.fabric.nodes
    if (nodes.domain.codes[mine.placement.rows] >= 0).any():
        said.append("bytes between hosts of one scale-up domain count as under their leaf group, whatever carries them")
    if not np.isin(mine.ends.hosts.endpoint, _wired(mine)).all():
        said.append(
            "an accelerator sends through the adapter nearest to it in its host, by its index among equally near ones"
        )
    if mine.ends.separate_rails:
        said.append("PXN: bytes leave on the rail of their destination" if mine.pxn else "no PXN: each on its own rail")
    return tuple(said)
