"""The numbers by which fabrics are told apart: equipment, power, price, distance, and what arrives."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from topo.design.planning import cabling_plan
from topo.design.prices import DEFAULT_PRICES, PriceList, read_prices
from topo.errors import TopoError
from topo.fabric import Fabric, State
from topo.progress import part
from topo.result import Standing
from topo.units import format_number

if TYPE_CHECKING:
    from topo.analysis.bisection import Bisection
    from topo.traffic.demand import Demand

__all__ = ["FabricNumbers", "numbers_of", "price_list", "share_text"]

_Answer = TypeVar("_Answer")
_MOST_SEARCHED = 700
_MOST_STATES = 40
_MOST_UNTIERED = 400
_MOST_WORK = 1_000_000_000
_BUSIEST = 6
_DRAWN_FLOWS = 65_536
_DRAWS = (4, 32)
_ROUNDING = 1e-9


@dataclass(frozen=True)
class FabricNumbers:
    """What one fabric is made of, costs and carries; None where it could not be computed, ``missing`` says why.

    Rates are shares of the endpoints' line rate, one direction: ``even_share`` of an all-to-all whose flows divide
    over all shortest paths (at most 1), ``hashed_share`` the mean of random permutations with one hashed path a flow
    in every plane, ``hashed_margin`` half its 95 % confidence interval, ``n1_share`` the part of ``even_share`` that
    the worst single switch or cable between switches leaves to those still joined, ``n1_cut_off`` the endpoints that
    the worst single switch cuts off. ``joined_share``
    is the share of pairs of endpoints that the network joins without a relay in a host. ``power_kw`` and ``price`` are
    those of switches, cables and optics, without hosts; ``unpriced`` names what the price list leaves out.
    """

    name: str
    made_by: str
    n_endpoints: int
    n_hosts: int
    n_tiers: int
    n_planes: int
    switches: dict[str, int]
    n_switches: int
    link_gbps: tuple[float, ...]
    endpoint_gbps: float | None
    n_host_links: int
    n_fabric_links: int
    n_cables: int | None
    cables: dict[str, int]
    n_copper: int | None
    n_optical: int | None
    n_transceivers: int | None
    power_kw: float | None
    price: float | None
    currency: str
    price_standing: Standing
    unpriced: tuple[str, ...]
    diameter_hops: int | None
    mean_hops: float | None
    bisection_lower_gbps: float | None
    bisection_upper_gbps: float | None
    full_gbps: float | None
    bisection_standing: Standing | None
    even_share: float | None
    hashed_share: float | None
    hashed_margin: float | None
    hashed_standing: Standing | None
    n1_share: float | None
    n1_cut_off: int | None
    n1_standing: Standing | None
    n1_worst: str
    joined_share: float | None
    missing: dict[str, str] = field(default_factory=dict)

    @property
    def bisection_share(self) -> tuple[float, float] | None:
        """The bracket of the bisection as shares of full bisection."""
        if self.bisection_lower_gbps is None or self.bisection_upper_gbps is None or not self.full_gbps:
            return None
        return self.bisection_lower_gbps / self.full_gbps, self.bisection_upper_gbps / self.full_gbps


def price_list(prices: PriceList | str | Path | None) -> PriceList:
    """The price list itself, the one in a file, or the usual one."""
    if isinstance(prices, PriceList):
        return prices
    return DEFAULT_PRICES if prices is None else read_prices(prices)


def numbers_of(fabric: Fabric, *, prices: PriceList | str | Path | None = None, seed: int = 0) -> FabricNumbers:
    """All numbers of a fabric; nothing fails as a whole, what cannot be computed is None with its reason.

    >>> import topo
    >>> found = numbers_of(topo.leaf_spine(leaves=4, spines=4, hosts_per_leaf=4))
    >>> found.n_switches, found.n_cables, found.bisection_share, found.even_share, found.n1_cut_off
    (8, 32, (1.0, 1.0), 1.0, 4)
    """
    from topo.analysis.inventory import inventory

    given = price_list(prices)
    missing: dict[str, str] = {}
    parts = inventory(fabric)
    with part("equipment and price", 0.1):
        made = _equipment(fabric, given, missing)
    with part("bisection", 0.2):
        made |= _bisection(fabric, missing, seed)
    with part("rates under loads and failures", 1.0):
        made |= _carried(fabric, missing, seed)
    rates = fabric.links.capacity_gbps[np.isfinite(fabric.links.capacity_gbps)]
    every = parts.n_endpoints * (parts.n_endpoints - 1) // 2
    reached = sum(parts.paths.pairs_by_hops.values())
    inject = parts.injection_gbps
    return FabricNumbers(
        name=fabric.name,
        made_by=fabric.origin.made_by,
        n_endpoints=parts.n_endpoints,
        n_hosts=parts.n_hosts,
        n_tiers=len({group.tier for group in parts.switch_groups}),
        n_planes=max(1, len(_planes(fabric))),
        switches=_by_tier(parts.switch_groups),
        n_switches=parts.n_switches,
        link_gbps=tuple(float(rate) for rate in np.unique(rates)),
        endpoint_gbps=inject / parts.n_endpoints if inject and parts.n_endpoints else None,
        n_host_links=parts.n_host_links,
        n_fabric_links=parts.n_fabric_links,
        diameter_hops=parts.paths.diameter_hops,
        mean_hops=parts.paths.mean_hops,
        joined_share=reached / every if every else None,
        currency=given.currency,
        missing=missing,
        **made,  # type: ignore[arg-type]
    )


def _by_tier(groups: object) -> dict[str, int]:
    out: dict[str, int] = {}
    for group in groups:  # type: ignore[attr-defined]
        name = f"{group.tier_name} {group.part}".rstrip()
        out[name] = out.get(name, 0) + group.n_switches
    return out


def _tried(missing: dict[str, str], what: str, ask: Callable[[], _Answer]) -> _Answer | None:
    try:
        return ask()
    except TopoError as error:
        missing[what] = str(error)
        return None


def _equipment(fabric: Fabric, prices: PriceList, missing: dict[str, str]) -> dict[str, object]:
    """Cables, optics, power and price, of the network alone."""
    plan = _tried(missing, "cables, power and price", lambda: cabling_plan(fabric, prices=prices))
    standing = Standing("model", prices.title or "the price list")
    if plan is None:
        nothing = dict.fromkeys(("n_cables", "n_copper", "n_optical", "n_transceivers", "power_kw", "price"))
        return {**nothing, "cables": {}, "price_standing": standing, "unpriced": ()}
    lines = [line for line in plan.bill.lines if line.group != "server"]
    cables: dict[str, int] = {}
    for line in lines:
        if line.group == "cable":
            cables[line.item] = cables.get(line.item, 0) + line.count
    copper = sum(count for item, count in cables.items() if "copper" in item)
    unpriced = tuple(dict.fromkeys(line.item for line in lines if line.unit_price is None))
    if unpriced:
        standing = Standing("lower bound", f"without {', '.join(unpriced)}, which the price list leaves out")
    return {
        "n_cables": plan.n_cables,
        "cables": cables,
        "n_copper": copper,
        "n_optical": sum(cables.values()) - copper,
        "n_transceivers": sum(line.count for line in lines if line.group == "transceiver"),
        "power_kw": sum(line.power_kw for line in lines),
        "price": sum(line.price or 0.0 for line in lines),
        "price_standing": standing,
        "unpriced": unpriced,
    }


def _bisection(fabric: Fabric, missing: dict[str, str], seed: int) -> dict[str, object]:
    from topo.analysis.bisection import bisection_bandwidth

    keys = ("bisection_lower_gbps", "bisection_upper_gbps", "full_gbps")
    untiered = len(np.unique(fabric.nodes.tier[fabric.switches])) < 2
    if untiered and len(fabric.switches) > _MOST_SEARCHED and not len(_planes(fabric)):
        quick = _tried(missing, "bisection", lambda: _quick_bisection(fabric))
        if quick is not None:
            how = "an all-to-all over shortest paths below; the endpoints halved in their order above"
            standing = Standing("exact" if quick[0] == quick[1] else "bracket", how)
            return {**dict(zip(keys, quick, strict=True)), "bisection_standing": standing}
    found: Bisection | None = _tried(missing, "bisection", lambda: bisection_bandwidth(fabric, seed=seed))
    if found is None:
        return {**dict.fromkeys(keys), "bisection_standing": None}
    how = "the bounds meet" if found.exact else f"{found.lower_how} below; {found.upper_how} above"
    standing = Standing("exact" if found.exact else "bracket", how)
    values = (found.lower_gbps, found.upper_gbps, found.full_gbps)
    return {**dict(zip(keys, values, strict=True)), "bisection_standing": standing}


def _quick_bisection(fabric: Fabric) -> tuple[float, float, float] | None:
    """Bounds without a search, for large fabrics whose endpoints all hang on one switch each, equally fast.

    An all-to-all at scale theta puts theta * rate * (N/2)^2 / (N - 1) across any even split. With theta that of the
    cables between switches, a cut that takes k and l endpoints off at their own links is at least rate * (k + l) +
    c * (N/2 - k) * (N/2 - l), which is least at a corner: the lower bound is that flow or full bisection. Any even
    split is an upper bound, here that of the endpoints in order, each switch on the side of most of its endpoints.
    """
    from topo.routing.loads import link_loads
    from topo.traffic import all_to_all, line_rate_gbps

    rate = line_rate_gbps(fabric)
    n = len(rate)
    if n % 2 or len(np.unique(rate)) != 1:
        return None
    loads = link_loads(fabric, all_to_all(fabric), routing="ecmp")
    side = np.zeros(len(fabric.nodes))
    ends = fabric.endpoints
    side[ends] = np.where(np.arange(n) < n // 2, -1.0, 1.0)
    access = fabric.links.kind.is_any("access")
    a, b = fabric.link_a, fabric.link_b
    np.add.at(side, b[access], side[a[access]])
    sign = np.where(side < 0, -1, 1)
    upper = float(fabric.links.capacity_gbps[sign[a] != sign[b]].sum())
    full = float(rate[0] * (n // 2))
    arc = np.repeat(fabric.links.kind.is_any("scale_out"), 2) & (loads.arc_gbps > 0)
    theta = float((loads.capacity_gbps[arc] / loads.arc_gbps[arc]).min(initial=np.inf))
    lower, upper = min(full, theta * float(rate[0]) * (n // 2) ** 2 / (n - 1)), min(full, upper)
    return (upper if abs(upper - lower) <= _ROUNDING * upper else lower), upper, full


def _planes(fabric: Fabric) -> list[int]:
    """Codes of the planes that switches stand in."""
    codes = fabric.nodes.plane.codes[fabric.switches]
    return [int(code) for code in np.unique(codes) if code >= 0]


def _one_plane(fabric: Fabric) -> tuple[State | None, np.ndarray | None, int]:
    """The first of several planes alone: its state, its endpoints, and how many planes each endpoint touches."""
    planes = _planes(fabric)
    if len(planes) < 2:
        return None, None, 1
    code = fabric.nodes.plane.codes
    access = fabric.links.kind.is_any("access")
    a, b = fabric.link_a[access], fabric.link_b[access]
    ends, switch = np.where(fabric.nodes.is_endpoint[a], a, b), np.where(fabric.nodes.is_endpoint[a], b, a)
    touching = np.unique(ends[code[switch] == planes[0]])
    others = np.flatnonzero(fabric.nodes.kind.is_any("switch") & (code != planes[0]))
    of_each = np.unique(np.stack([ends, code[switch]]), axis=1)
    each = int(np.bincount(of_each[0], minlength=len(code))[touching].max(initial=1))
    return State.without(fabric, nodes=others), touching[fabric.nodes.is_endpoint[touching]], each


def _carried(fabric: Fabric, missing: dict[str, str], seed: int) -> dict[str, object]:
    """Even, hashed and degraded rates; of planes that hold other endpoints each, the first is looked at."""
    from topo.traffic import all_to_all

    keys = (
        "even_share", "hashed_share", "hashed_margin", "hashed_standing", "n1_share", "n1_cut_off", "n1_standing",
    )  # fmt: skip
    out: dict[str, object] = {**dict.fromkeys(keys), "n1_worst": ""}
    state, ends, each = _one_plane(fabric)
    # Rails that nothing joins are alike: one of them is looked at, with its own endpoints. Planes of one adapter
    # carry its traffic together.
    apart = ends is not None and each == 1
    demand = _tried(missing, "throughput", lambda: all_to_all(fabric, ends if apart else None))
    if demand is None:
        return out
    hashed = _tried(missing, "hashed rate", lambda: _hashed(fabric, state, ends, each, seed))
    if hashed is not None:
        out |= hashed
    left = _tried(missing, "N-1", lambda: _degraded(fabric, demand, state if apart else None))
    if left is not None:
        out |= left
    return out


def _hashed(
    fabric: Fabric, state: State | None, ends: np.ndarray | None, each: int, seed: int
) -> dict[str, object] | None:
    """Mean rate of flows of random permutations, every flow on one path, over line rate; with its interval.

    Permutations and paths are drawn anew each time, as the next hops are the same for all.
    """
    from topo.analysis.throughput.single_path import arc_capacity, margin
    from topo.routing.fair import max_min_rates
    from topo.routing.next_hops import NextHops
    from topo.routing.scheme import Routing
    from topo.routing.stripes import Stripes
    from topo.routing.tables import StaticTable
    from topo.routing.walk import lost_mask
    from topo.traffic import permutation

    first = permutation(fabric, ends, seed=seed)
    n = first.n_pairs
    draws = max(_DRAWS[0], min(_DRAWS[1], _DRAWN_FLOWS // max(1, n)))
    routing = Routing.of("single-path")
    hops = NextHops.of(fabric, state=state, routing=routing, sinks=np.union1d(first.source, first.sink))
    table, stripes = StaticTable.of(hops, routing.table, seed=seed), Stripes.of(fabric)
    capacity = stripes.capacity(arc_capacity(fabric, state))
    shares = np.empty(draws)
    for i, drawn in enumerate(np.random.SeedSequence(seed).spawn(draws)):
        demand = first if i == 0 else permutation(fabric, ends, seed=int(drawn.generate_state(1)[0]))
        source, sink, gbps = (rows[demand.gbps > 0] for rows in (demand.source, demand.sink, demand.gbps))
        paths = stripes.paths(table.paths(source, sink, seed=drawn))
        lost = lost_mask(paths)
        if lost.all():
            return None
        served = max_min_rates(paths, capacity, gbps)[~lost] / gbps[~lost]
        shares[i] = min(1.0, float(served.mean()) * each) * float((~lost).mean())
    how = f"n={draws} random permutations of {n:,} flows, seed {seed}, 95 % interval of the mean, max-min fair"
    if each > 1:
        how += "; one plane, as a flow in every plane"
    return {
        "hashed_share": float(shares.mean()),
        "hashed_margin": margin(shares),
        "hashed_standing": Standing("sampled", how),
    }


def _degraded(fabric: Fabric, demand: Demand, state: State | None) -> dict[str, object]:
    """The all-to-all, whole and with one element down: all classes of elements, or the busiest where they are many."""
    from topo.analysis.failures.classes import demand_label, element_classes
    from topo.analysis.failures.measures import measure_of
    from topo.analysis.failures.survivability import standing_elements
    from topo.network import Network
    from topo.symmetry import symmetry

    measure = measure_of(fabric, demand, "ecmp")
    healthy = measure(state)
    wanted = demand.total_gbps / max(1, len(np.unique(_senders(fabric, demand))))
    found = symmetry(Network.of(fabric, state=state), label=demand_label(measure))
    switches = standing_elements(fabric, "switch", state)
    links = standing_elements(fabric, "link", state)
    is_switch = fabric.nodes.kind.is_any("switch")
    between = np.array([bool(is_switch[fabric.link_a[x]] and is_switch[fabric.link_b[x]]) for x in _firsts(links)])
    jobs = []
    complete = True
    # Twins fold tiered fabrics; on others every state costs a search from every switch over all cables.
    tiered = len(np.unique(fabric.nodes.tier[fabric.switches])) > 1
    work = max(1, len(switches) * int(between.sum()))
    most = _MOST_STATES if tiered else min(_MOST_UNTIERED, max(2, _MOST_WORK // work))
    for every, allowed in ((switches, np.ones(len(switches), bool)), (links, between)):
        of = element_classes(every, found)
        first = [int(i) for i in np.unique(of, return_index=True)[1] if allowed[i]]
        if len(first) > most:
            first, complete = _busiest(fabric, demand, every, first, state)[:most], False
        jobs += [(every, i) for i in first]
    worst, cut, name = 1.0, 0, ""
    for every, i in jobs:
        value = measure(every.state([i], base=state))
        share = value.lower / healthy.upper if healthy.upper else 0.0
        cut = max(cut, value.cut_off - healthy.cut_off)
        if share < worst:
            worst, name = share, every.name(i)
    how = "every switch, and every cable between switches, equal ones by verified symmetry"
    standing = Standing("exact", how) if complete else Standing("upper bound", f"the busiest {len(jobs)} tried")
    even = min(1.0, healthy.lower / wanted) if wanted else None
    return {
        "even_share": even, "n1_share": worst, "n1_cut_off": cut, "n1_standing": standing, "n1_worst": name,
    }  # fmt: skip


def _senders(fabric: Fabric, demand: Demand) -> np.ndarray:
    """Rows of the endpoints that send."""
    return np.flatnonzero(demand.sent_gbps(fabric) > 0)


def _firsts(links: object) -> list[int]:
    return [int(links.link[start]) for start in links.link_start[:-1]]  # type: ignore[attr-defined]


def _busiest(fabric: Fabric, demand: Demand, every: object, rows: list[int], state: State | None) -> list[int]:
    """Elements that carry most of the demand."""
    from topo.routing.loads import link_loads

    loads = link_loads(fabric, demand, routing="ecmp", state=state).arc_gbps
    per_link = np.maximum(loads[0::2], loads[1::2])
    per_node = np.bincount(fabric.link_a, per_link, len(fabric.nodes))
    per_node += np.bincount(fabric.link_b, per_link, len(fabric.nodes))

    def carried(i: int) -> float:
        nodes, links = every.nodes_of(i), every.links_of(i)  # type: ignore[attr-defined]
        return float(per_node[nodes].sum() if len(nodes) else per_link[links].max(initial=0.0))

    return sorted(rows, key=lambda i: (-carried(i), i))[:_BUSIEST]


def share_text(share: float | None) -> str:
    """A share as percent; '-' for none.

    >>> share_text(0.4100), share_text(None)
    ('41 %', '-')
    """
    return "-" if share is None or not math.isfinite(share) else f"{format_number(100 * share, 3)} %"
