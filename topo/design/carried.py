"""What a fabric carries: its bisection, its all-to-all whole and with one element down, its hashed permutations."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from topo.errors import TopoError
from topo.fabric import Fabric, State
from topo.result import Standing
from topo.table import Array

if TYPE_CHECKING:
    from topo.analysis.bisection import Bisection
    from topo.analysis.failures.elements import Elements
    from topo.traffic.demand import Demand

__all__ = ["bisection_numbers", "carried_numbers", "planes_of", "tried"]

_Answer = TypeVar("_Answer")
_MOST_SEARCHED = 700
_MOST_STATES = 40
_MOST_UNTIERED = 400
_MOST_WORK = 1_000_000_000
_BUSIEST = 6
_DRAWN_FLOWS = 65_536
_DRAWS = (4, 32)
_ROUNDING = 1e-9


def tried(missing: dict[str, str], what: str, ask: Callable[[], _Answer]) -> _Answer | None:
    """The answer, or None with the reason in ``missing``."""
    try:
        return ask()
    except TopoError as error:
        missing[what] = str(error)
        return None


def bisection_numbers(fabric: Fabric, missing: dict[str, str], seed: int) -> dict[str, object]:
    """The bracket of the bisection and full bisection, Gb/s one direction, with its standing."""
    from topo.analysis.bisection import bisection_bandwidth

    keys = ("bisection_lower_gbps", "bisection_upper_gbps", "full_gbps")
    untiered = len(np.unique(fabric.nodes.tier[fabric.switches])) < 2
    if untiered and len(fabric.switches) > _MOST_SEARCHED and not len(planes_of(fabric)):
        quick = tried(missing, "bisection", lambda: _quick_bisection(fabric))
        if quick is not None:
            standing = Standing("exact" if quick[0] == quick[1] else "bracket", quick[3])
            return {**dict(zip(keys, quick[:3], strict=True)), "bisection_standing": standing}
    found: Bisection | None = tried(missing, "bisection", lambda: bisection_bandwidth(fabric, seed=seed))
    if found is None:
        return {**dict.fromkeys(keys), "bisection_standing": None}
    how = "the bounds meet" if found.exact else f"{found.lower_how} below; {found.upper_how} above"
    standing = Standing("exact" if found.exact else "bracket", how)
    values = (found.lower_gbps, found.upper_gbps, found.full_gbps)
    return {**dict(zip(keys, values, strict=True)), "bisection_standing": standing}


def _quick_bisection(fabric: Fabric) -> tuple[float, float, float, str] | None:
    """Lower bound, upper bound, full bisection and how they were found, without a search.

    For large fabrics whose endpoints all hang on one switch each, equally fast. The lower bound is that of an
    all-to-all on the fabric's routes or full bisection. Any even split is an upper bound, here that of the endpoints in
    order. Where these do not meet, the second eigenvalue and the order along its vector are tried.
    """
    from topo.analysis.bisection.problem import make_problem
    from topo.analysis.bisection.routed import routed_bound
    from topo.analysis.bisection.spread import spectral_bound
    from topo.traffic import line_rate_gbps

    rate = line_rate_gbps(fabric)
    n = len(rate)
    if n % 2 or len(np.unique(rate)) != 1:
        return None
    problem = make_problem(fabric, None, "none", kinds=None, state=None)
    full = float(rate[0] * (n // 2))
    lower, upper = min(full, routed_bound(problem, n // 2)), min(full, _halved(fabric, np.arange(n)))
    below, above = "an all-to-all over shortest paths", "the endpoints halved in their order"
    if upper - lower > _ROUNDING * upper:
        spectral = spectral_bound(problem, n // 2)
        if spectral > lower:
            lower, below = min(full, spectral), "the second eigenvalue of the cables between switches"
        smooth = _halved(fabric, _smooth_place(fabric))
        if smooth < upper:
            upper, above = smooth, "the endpoints halved along the vector of the second eigenvalue"
    lower = upper if upper - lower <= _ROUNDING * upper else lower
    return lower, upper, full, f"{below} below; {above} above"


def _halved(fabric: Fabric, place: Array) -> float:
    """Gb/s cut where endpoints are halved in order of ``place``, hosts whole, and switches follow most of theirs.

    Infinity where a host would stand on both sides.
    """
    ends = fabric.endpoints
    n, host = len(ends), fabric.nodes.host.codes[ends].astype(np.int64)
    host = np.unique(np.where(host < 0, -1 - np.arange(n), host), return_inverse=True)[1]
    mean = np.bincount(host, place) / np.bincount(host)
    order = np.lexsort((host, mean[host]))
    if host[order[n // 2 - 1]] == host[order[n // 2]]:
        return float("inf")
    side = np.zeros(len(fabric.nodes))
    side[ends[order]] = np.where(np.arange(n) < n // 2, -1.0, 1.0)
    access = fabric.links.kind.is_any("access")
    a, b = fabric.link_a, fabric.link_b
    np.add.at(side, b[access], side[a[access]])
    sign = np.where(side < 0, -1, 1)
    return float(fabric.links.capacity_gbps[sign[a] != sign[b]].sum())


def _smooth_place(fabric: Fabric) -> Array:
    """Where every endpoint's switch stands along the second eigenvector of the cables between switches."""
    from scipy.sparse import coo_array, diags_array
    from scipy.sparse.linalg import eigsh

    row = np.full(len(fabric.nodes), -1)
    row[fabric.switches] = np.arange(len(fabric.switches))
    a, b = row[fabric.link_a], row[fabric.link_b]
    between = (a >= 0) & (b >= 0)
    shape = (len(fabric.switches),) * 2
    ends = np.concatenate([a[between], b[between]]), np.concatenate([b[between], a[between]])
    cables = coo_array((np.tile(fabric.links.capacity_gbps[between], 2), ends), shape=shape).tocsr()
    degree = cables.sum(axis=1)
    # The least eigenvalues of the Laplacian are the largest of this; any vector gives a split, a rough one is enough.
    turned = diags_array(2 * degree.max() - degree) + cables
    values, vectors = eigsh(turned, k=2, which="LA", v0=np.linspace(-1, 1, shape[0]), tol=1e-3)
    place = np.zeros(len(fabric.nodes))
    place[fabric.switches] = vectors[:, int(np.argmin(values))]
    access = fabric.links.kind.is_any("access")
    np.add.at(place, fabric.link_a[access], place[fabric.link_b[access]])
    return place[fabric.endpoints]


def planes_of(fabric: Fabric) -> list[int]:
    """Codes of the planes that switches stand in."""
    codes = fabric.nodes.plane.codes[fabric.switches]
    return [int(code) for code in np.unique(codes) if code >= 0]


def _one_plane(fabric: Fabric) -> tuple[State | None, Array | None, int]:
    """The first of several planes alone: its state, its endpoints, and how many planes each endpoint touches."""
    planes = planes_of(fabric)
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


def carried_numbers(fabric: Fabric, missing: dict[str, str], seed: int) -> dict[str, object]:
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
    demand = tried(missing, "throughput", lambda: all_to_all(fabric, ends if apart else None))
    if demand is None:
        return out
    hashed = tried(missing, "hashed rate", lambda: _hashed(fabric, state, ends, each, seed))
    if hashed is not None:
        out |= hashed
    left = tried(missing, "N-1", lambda: _degraded(fabric, demand, state if apart else None))
    if left is not None:
        out |= left
    return out


def _hashed(fabric: Fabric, state: State | None, ends: Array | None, each: int, seed: int) -> dict[str, object] | None:
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


def _senders(fabric: Fabric, demand: Demand) -> Array:
    """Rows of the endpoints that send."""
    return np.flatnonzero(demand.sent_gbps(fabric) > 0)


def _firsts(links: Elements) -> list[int]:
    return [int(links.link[start]) for start in links.link_start[:-1]]


def _busiest(fabric: Fabric, demand: Demand, every: Elements, rows: list[int], state: State | None) -> list[int]:
    """Elements that carry most of the demand."""
    from topo.routing.loads import link_loads

    loads = link_loads(fabric, demand, routing="ecmp", state=state).arc_gbps
    per_link = np.maximum(loads[0::2], loads[1::2])
    per_node = np.bincount(fabric.link_a, per_link, len(fabric.nodes))
    per_node += np.bincount(fabric.link_b, per_link, len(fabric.nodes))

    def carried(i: int) -> float:
        nodes, links = every.nodes_of(i), every.links_of(i)
        return float(per_node[nodes].sum() if len(nodes) else per_link[links].max(initial=0.0))

    return sorted(rows, key=lambda i: (-carried(i), i))[:_BUSIEST]
