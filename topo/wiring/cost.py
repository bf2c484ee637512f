"""What the faults of a wiring cost: each alone on the healthy fabric, all together, and the first aid."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from topo.analysis.failures.measures import largest_part
from topo.errors import DisconnectedError, TopoError
from topo.fabric import FORWARDS_ALL, Fabric
from topo.progress import part, steps
from topo.result import Standing
from topo.routing.loads import LinkLoads, link_loads
from topo.table import Array
from topo.traffic import Demand
from topo.view.text import plural
from topo.wiring.answer import NOT_PRICED, Consequence, Measured
from topo.wiring.codes import CONSEQUENCES
from topo.wiring.comparison import Comparison, at_rates
from topo.wiring.demands import SEED, demands, planned_endpoints
from topo.wiring.finding import Finding, Price
from topo.wiring.joined import n_parts
from topo.wiring.supposed import laid

__all__ = ["MOST_PRICED", "priced"]

MOST_PRICED = 200
"""Faults that get a price of their own; more than that are seldom read one by one."""

_MOST_ENDPOINTS = 5_000
_FEWEST_PRICED = 25
_LEAST_GAIN = 5e-5

_BESIDE = "not priced: it carries what other endpoints send than those that take part in the all-to-all"
_HOW = "flows split evenly over all shortest paths; InfiniBand forwards by destination, one path each"


@dataclass(frozen=True, eq=False)
class _Scale:
    """The all-to-all on the healthy fabric: theta, what fits of it, what was lost and overloaded there already.

    Nodes from ``n_known`` on are those that nobody has seen and a rule misses.
    """

    comparison: Comparison
    demand: Demand
    one_to_one: Demand
    among: Array
    at_full_rate: Mapping[int, int]
    n_known: int

    def rows(self, one: Finding) -> tuple[list[int], list[int]]:
        """Rows that a finding lacks and has too many; a slow link lacks itself at the rate it should have.

        What is there and dark lacks where it is planned, and is not too much where it is not.
        """
        there, planned = self.comparison.found, self.comparison.planned
        slow = [self.at_full_rate[row] for row in one.extra if row in self.at_full_rate]
        dark = [row for row in one.dark if planned[row]]
        return [*(row for row in one.lacks if not there[row]), *slow, *dark], [row for row in one.extra if there[row]]

    def loads(self, links: Array) -> LinkLoads:
        """Loads with just these links there."""
        return link_loads(self.comparison.both, self.demand, state=self.comparison.state(links))

    @cached_property
    def healthy(self) -> LinkLoads:
        return self.loads(self.comparison.planned)

    @cached_property
    def found(self) -> LinkLoads:
        return self.loads(self.comparison.found)

    def permutation_theta(self, links: Array) -> float:
        """What fits of the random permutation with just these links there."""
        return link_loads(self.comparison.both, self.one_to_one, state=self.comparison.state(links)).theta

    @cached_property
    def permutation_healthy(self) -> float:
        return self.permutation_theta(self.comparison.planned)

    def permutation_left(self, links: Array) -> float:
        """Part of the random permutation that is left."""
        if not self.permutation_healthy > 0:
            return math.nan
        return min(1.0, min(1.0, self.permutation_theta(links)) / min(1.0, self.permutation_healthy))

    @cached_property
    def theta(self) -> float:
        """What fits of the demand in the healthy fabric, at most all of it."""
        return min(1.0, self.healthy.theta)

    def left(self, loads: LinkLoads) -> float:
        """Part of the healthy throughput that is left."""
        return min(1.0, min(1.0, loads.theta) / self.theta) if self.theta > 0 else math.nan

    def lost_gbps(self, loads: LinkLoads) -> float:
        """Rate that does not get through when all send what fits in the healthy fabric.

        Sum over arcs of what is above their capacity, and the flows that have no path any more, to and from.
        """
        over = np.maximum(self.theta * loads.arc_gbps - loads.capacity_gbps, 0.0)
        cut = max(loads.lost_gbps - self.healthy.lost_gbps, 0.0)
        lost = float(over.sum()) + self.theta * cut
        return lost if lost > 1e-9 * max(self.demand.total_gbps, 1.0) else 0.0

    def is_beside(self, one: Finding, lacks: Sequence[int], loads: LinkLoads) -> bool:
        """Whether a fault touches what endpoints that take no part alone use: nothing it lacks carries anything."""
        if not self.left_out.any() or self.lost_gbps(loads) or not lacks:
            return False
        arcs = np.asarray(lacks, np.int64)[:, None] * 2 + [0, 1]
        return not self.healthy.is_loaded[arcs].any()

    @cached_property
    def left_out(self) -> NDArray[np.bool_]:
        """Mask over nodes: planned endpoints that take no part."""
        mask = planned_endpoints(self.comparison)
        mask[self.among] = False
        return mask

    @property
    def n_joined(self) -> int:
        """Pairs of endpoints that a path joins when healthy."""
        return self.demand.n_pairs - self.healthy.lost_pairs

    def apart(self, loads: LinkLoads) -> int:
        """Pairs of endpoints that a path joins when healthy and none does any longer."""
        return max(0, loads.lost_pairs - self.healthy.lost_pairs)

    def cut_off(self, loads: LinkLoads, links: Array) -> int:
        """Endpoints with a planned cable that reach most others when healthy and no longer do."""
        if not self.apart(loads):
            return 0
        ends = np.flatnonzero(planned_endpoints(self.comparison))
        healthy, now = (
            len(largest_part(self.comparison.both, state, ends))
            for state in (self.comparison.healthy(), self.comparison.state(links))
        )
        return max(0, healthy - (now if now > 1 else 0))


def priced(
    comparison: Comparison,
    findings: Sequence[Finding],
    *,
    slow: Mapping[int, float] | None = None,
    held: Mapping[int, float] | None = None,
    apart: Array | None = None,
    bisection: bool = True,
    most: int | None = None,
) -> tuple[tuple[Finding, ...], Consequence | None, str]:
    """The findings with their prices, what all cost together, and why nothing is priced ('' where it is).

    A fault is priced alone on the fabric that is otherwise as it should be: the least part of an all-to-all that
    fits under an even split over all shortest paths, and the rate that is lost at full injection. Ranking by the
    fabric as found would say nothing: of 13 equal bottlenecks mending one changes nothing. ``slow`` gives links that
    run at less than they should the rate that healthy ones have, ``held`` those that run at less than they state.
    """
    faults = [i for i, one in enumerate(findings) if one.links or one.supposed]
    if not faults:
        return tuple(findings), None, "no fault changes what a link carries"
    try:
        answer, n_found = list(findings), len(comparison.both.nodes)
        comparison, findings, like = laid(comparison, findings)
        if apart is not None:
            apart = np.concatenate([apart, np.zeros(n_found - len(apart), bool)])
            apart = np.append(apart, apart[like])
        stated = dict(zip(held or (), comparison.both.links.capacity_gbps[list(held or ())].tolist(), strict=True))
        comparison = _held(_without_dark(comparison, findings), held or {})
        comparison, at_full_rate = at_rates(comparison, {**stated, **(slow or {})})
        scale = _Scale(comparison, *demands(comparison, apart), at_full_rate, n_found)
        many = len(faults) > MOST_PRICED
        most = _most_priced(comparison, many) if most is None else most
        with part("prices of faults", 0.15 if bisection else 1.0):
            for i in steps(_chosen(comparison, findings, faults, most)):
                findings[i] = _with_price(scale, findings[i], briefly=many, alone=len(faults) == 1)
        # What is supposed has no row in the comparison that the caller has.
        answer = [replace(one, lacks=own.lacks) for one, own in zip(findings, answer, strict=True)]
        return tuple(answer), _together(scale, findings, len(faults), min(len(faults), most), bisection), ""
    except (TopoError, MemoryError) as error:
        return tuple(findings), None, f"{NOT_PRICED}: {error}"


def _without_dark(comparison: Comparison, findings: Sequence[Finding]) -> Comparison:
    """The comparison, cables that are there and carry nothing not found."""
    dark = np.array([row for one in findings for row in one.dark], np.int64)
    found = comparison.found.copy()
    found[dark] = False
    return replace(comparison, found=found)


def _held(comparison: Comparison, gbps: Mapping[int, float]) -> Comparison:
    """The comparison, cables at the rate that their ports hold them to (row: rate)."""
    if not gbps:
        return comparison
    links = comparison.both.links
    rates = links.capacity_gbps.copy()
    rates[list(gbps)] = list(gbps.values())
    return replace(comparison, both=replace(comparison.both, links=replace(links, capacity_gbps=rates)))


def _most_priced(comparison: Comparison, many: bool) -> int:
    """Fewer faults are priced one by one the larger the fabric, and the more they are, so that it takes seconds."""
    n = max(1, len(comparison.both.endpoints))
    most = MOST_PRICED // 4 if many else MOST_PRICED
    return min(most, max(_FEWEST_PRICED, most * _MOST_ENDPOINTS // n))


def _chosen(comparison: Comparison, findings: Sequence[Finding], faults: Sequence[int], most: int) -> list[int]:
    """The faults to price: the first of every code, then the second, so that no code takes what the others need.

    Those with most cables between switches first: a host's cable costs that host alone.
    """
    if len(faults) <= most:
        return list(faults)
    seen: Counter[str] = Counter()
    turn = {}
    both = comparison.both
    full = both.nodes.forwards == FORWARDS_ALL
    between = full[both.link_a] & full[both.link_b]
    rows = {i: list(findings[i].links) for i in faults}
    for i in sorted(faults, key=lambda i: (-int(between[rows[i]].sum()), -len(rows[i]))):
        turn[i] = seen[findings[i].code]
        seen[findings[i].code] += 1
    return sorted(faults, key=turn.__getitem__)[: max(most, 0)]


def _with_price(scale: _Scale, one: Finding, *, briefly: bool, alone: bool) -> Finding:
    """The fault with its price; ``briefly`` by the all-to-all only, as mending one of hundreds says nothing.

    Where it stands ``alone``, mending it gives what it costs.
    """
    comparison = scale.comparison
    lacks, extra = scale.rows(one)
    there = comparison.with_faults(lacks, extra)
    loads = scale.loads(there)
    gain = one_to_one = math.nan
    if not briefly:
        gain = scale.left(scale.loads(comparison.mended(lacks, extra))) - scale.left(scale.found)
        gain, one_to_one = max(gain, 0.0), scale.permutation_left(there)
    if scale.is_beside(one, lacks, loads):
        return replace(one, lost_gbps=math.nan, words=f"{one.words or CONSEQUENCES[one.code]}; {_BESIDE}")
    cut_off = scale.cut_off(loads, there)
    price = Price(scale.left(loads), scale.lost_gbps(loads), cut_off, gain, one_to_one)
    said = [one.words or CONSEQUENCES[one.code]]
    whom, apart = "", scale.apart(loads)
    if price.cut_off:
        said.append(f"{plural(price.cut_off, 'endpoint')} cut off")
        whom = "the others "
    elif apart:
        said.append(f"{apart:,} of {plural(scale.n_joined, 'pair')} of endpoints have no path left")
        whom = "the other pairs "
    said.append(f"alone it leaves {whom}{100 * price.theta:.4g} % of an all-to-all")
    if one_to_one < 1:
        said.append(f"{100 * one_to_one:.4g} % of a random permutation")
    below = _below(comparison, one)
    if below and price.theta < 1:
        said.append(f"jobs on the endpoints of {below} suffer most")
    if not briefly and not alone and (price.gain > _LEAST_GAIN or (price.lost_gbps > 0 and not apart)):
        gains = f"{100 * price.gain:.3g} %" if price.gain > _LEAST_GAIN else "nothing while the others stand"
        said.append(f"mending it now, and no other, gains {gains}")
    fix = one.fix + _until_then(scale, one, there, price.theta)
    return replace(one, price=price, lost_gbps=price.lost_gbps, words="; ".join(said), fix=fix)


def _until_then(scale: _Scale, one: Finding, there: NDArray[np.bool_], theta: float) -> str:
    """What shutting the cables that a thin pair has left gives, where that is more than the pair gives; else ''."""
    if not theta < 1:
        return ""
    _, shut = _first_aid(scale.comparison, [one], there)
    if not shut.any():
        return ""
    aid = scale.left(scale.loads(there & ~shut))
    if not aid > theta + _LEAST_GAIN:
        return ""
    return f"; until then shut the {shut.sum()} left: alone, the fault then leaves {100 * aid:.4g} % of an all-to-all"


def _below(comparison: Comparison, one: Finding) -> str:
    """The leaves, or what stands lowest, that the fault touches."""
    fabric = comparison.both
    rows = np.array(one.links, np.int64)
    ends = np.unique(np.concatenate([fabric.link_a[rows], fabric.link_b[rows]]))
    switches = ends[fabric.nodes.forwards[ends] == FORWARDS_ALL]
    if not switches.size:
        return ""
    lowest = switches[fabric.nodes.tier[switches] == fabric.nodes.tier[switches].min()]
    names = fabric.nodes.name[lowest].tolist()
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def _together(scale: _Scale, findings: list[Finding], n: int, n_priced: int, bisection: bool) -> Consequence:
    comparison = scale.comparison
    among, everyone = len(scale.among), int(planned_endpoints(comparison).sum())
    who = f"{among:,} of {everyone:,} endpoints" if among < everyone else ""
    measures = [_measured("all-to-all theta", "", scale.healthy.theta, scale.found.theta, who)]
    found = scale.permutation_theta(comparison.found)
    measures.append(_measured(f"permutation theta, seed {SEED}", "", scale.permutation_healthy, found, who))
    no_bisection = ""
    if bisection:
        brackets, no_bisection = _bisection(scale, findings)
        measures += brackets
    pairs, shut = _first_aid(comparison, findings, comparison.found)
    aid = math.nan
    if shut.any():
        aid = scale.left(scale.loads(comparison.found & ~shut))
        if aid <= scale.left(scale.found):
            pairs, shut = (), np.zeros_like(shut)
    cut_off = scale.cut_off(scale.found, comparison.found)
    healthy, now = (n_parts(comparison, mask) for mask in (comparison.planned, comparison.found))
    return Consequence(
        tuple(measures), cut_off, n, n_priced, pairs, int(shut.sum()), aid, healthy, now, no_bisection, who,
        scale.apart(scale.found), scale.n_joined,
    )  # fmt: skip


def _measured(name: str, unit: str, healthy: float, found: float, among: str) -> Measured:
    how = Standing("model", _HOW).given(f"among {among}, the others not judged or of another rate" if among else "")
    return Measured(name, unit, how, healthy, healthy, found, found)


def _bisection(scale: _Scale, findings: Sequence[Finding]) -> tuple[list[Measured], str]:
    """The bracket on bisection bandwidth, all faults together and the dearest alone; why a bracket is not there.

    Endpoints that no plan cables, and those that nobody has seen, take no part; nor do faults that lack these.
    """
    from topo.analysis.bisection import bisection_bandwidth

    comparison = scale.comparison
    fabric, kept = _withplanned_endpoints(comparison, scale.n_known)
    there = {"bisection bandwidth": comparison.found}
    among = (one for one in findings if one.price is not None and not any(each.new_a for each in one.supposed))
    dearest = min(among, key=_rank, default=None)
    if dearest is not None and sum(bool(one.links) for one in findings) > 1:
        there["bisection bandwidth, dearest fault alone"] = comparison.with_faults(*scale.rows(dearest))
    measures: list[Measured] = []
    why = ""
    try:
        planned = comparison.state(comparison.planned[kept])
        with part("bisection", 1 / (len(there) + 1)):
            healthy = bisection_bandwidth(fabric, state=planned)
    except DisconnectedError:
        return measures, "not given: not all endpoints reach each other as planned"
    for name, links in steps(there.items(), "bisection"):
        try:
            found = bisection_bandwidth(fabric, state=comparison.state(links[kept]), healthy=planned)
        except DisconnectedError:
            why = why or "not given: not all endpoints reach each other any longer"
            continue
        kind = "exact" if healthy.exact and found.exact else "bracket"
        standing = Standing(kind, f"{found.lower_how}; {found.upper_how}" if kind == "bracket" else found.upper_how)
        measures.append(
            Measured(name, "Gb/s", standing, healthy.lower_gbps, healthy.upper_gbps, found.lower_gbps, found.upper_gbps)
        )
    return measures, why


def _withplanned_endpoints(comparison: Comparison, n_known: int) -> tuple[Fabric, NDArray[np.bool_]]:
    """The fabric without endpoints that no planned cable reaches or nobody has seen, and which links are left."""
    fabric = comparison.both
    seen = np.arange(len(fabric.nodes)) < n_known
    gone = fabric.nodes.is_endpoint & ~(planned_endpoints(comparison) & seen)
    kept = ~(gone[fabric.link_a] | gone[fabric.link_b])
    return (fabric.without(nodes=np.flatnonzero(gone)) if gone.any() else fabric), kept


def _rank(one: Finding) -> tuple[float, float, str]:
    assert one.price is not None
    return -one.price.lost_gbps, one.price.theta, one.place


def _first_aid(
    comparison: Comparison, findings: Sequence[Finding], there: NDArray[np.bool_]
) -> tuple[tuple[str, ...], NDArray[np.bool_]]:
    """Pairs of switches that lack some of their cables, and the cables they have left of those ``there`` (masks)."""
    fabric = comparison.both
    n = len(fabric.nodes)
    low = np.minimum(fabric.link_a, fabric.link_b).astype(np.int64)
    key = low * n + np.maximum(fabric.link_a, fabric.link_b)
    full = fabric.nodes.forwards == FORWARDS_ALL
    lacks = np.array([row for one in findings if not one.extra for row in (*one.lacks, *one.dark)], np.int64)
    lacks = lacks[full[fabric.link_a[lacks]] & full[fabric.link_b[lacks]]] if lacks.size else lacks
    shut = there & np.isin(key, key[lacks])
    names = fabric.nodes.name
    pairs = dict.fromkeys(f"{names[fabric.link_a[row]]} - {names[fabric.link_b[row]]}" for row in lacks.tolist()
                          if (key[shut] == key[row]).any())  # fmt: skip
    return tuple(pairs), shut
