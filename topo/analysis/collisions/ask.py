"""One question about collisions, checked, worked out and drawn, as one answer."""

from __future__ import annotations

from concurrent.futures import Executor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topo.analysis.collisions.answer import EcmpCollisions, Estimate, LinkLoad
from topo.analysis.collisions.flow_set import FlowSet, check_queue_pairs, check_whole, check_work
from topo.analysis.collisions.study import Exact, SampledRates, exact_figures, sampled_rates
from topo.errors import ParameterError
from topo.fabric import Fabric, State
from topo.hashing.scheme import EcmpHash
from topo.parts.forwarding import infiniband_assumption
from topo.result import Standing
from topo.routing.scheme import Routing
from topo.routing.walk import at_random, walk
from topo.traffic.demand import Demand

__all__ = ["collisions_of"]

_NAMED = 10
_UNHASHED = "no hashed link on the way, nothing collides"
_MOST_SAMPLES = 10_000_000
_ENOUGH = 32


def collisions_of(
    fabric: Fabric,
    flows: Demand,
    *,
    routing: Routing | str = "ecmp",
    queue_pairs: int = 1,
    hash: EcmpHash | str | None = None,
    samples: int = 0,
    at_least: int = 0,
    tolerance: float = 0.002,
    seed: int = 0,
    state: State | None = None,
    executor: Executor | None = None,
) -> EcmpCollisions | None:
    """The answer of :func:`~topo.analysis.collisions.ecmp_collisions`; None where samples are needed and none allowed.

    Where the slowest flow cannot be worked out, at least ``at_least`` samples are drawn.

    :raises ParameterError: as there.
    """
    q = check_queue_pairs(queue_pairs)
    samples = check_whole("samples", samples, 0, _MOST_SAMPLES)
    seed = check_whole("seed", seed, 0, 2**63)
    if not 0 <= tolerance < 1:
        raise ParameterError(f"tolerance is {tolerance!r}; it must be at least 0 and below 1")
    chosen = Routing.of(routing)
    rule = None if hash is None else EcmpHash.of(hash)
    check_work(flows, q)
    found = FlowSet.of(fabric, flows, routing=chosen, state=state)
    exact = exact_figures(found, q, state, drawn_flows=0 if samples else 200) if rule is None else None
    if exact is None or exact.slowest is None:
        samples = max(samples, at_least)
    if exact is None and not samples:
        return None
    drawn = None
    if samples:
        drawn = sampled_rates(found, q, rule, exact, samples=samples, tolerance=tolerance, seed=seed, executor=executor)
    return _assembled(found, chosen, rule, q, exact, drawn, seed)


def _assembled(
    found: FlowSet,
    routing: Routing,
    rule: EcmpHash | None,
    q: int,
    exact: Exact | None,
    drawn: SampledRates | None,
    seed: int,
) -> EcmpCollisions:
    fabric = found.fabric
    meets_hash = exact is not None or _meets_hash(found, seed)
    figures = exact if exact is not None else Exact.unknown(2 * len(fabric.links))
    worst, alike = _worst(found, figures.arc_mean_gbps, *figures.arc_p_overload) if exact is not None else ((), 0)
    return EcmpCollisions(
        fabric_name=fabric.name,
        demand=found.name,
        routing=str(routing),
        hashing=_hashing(found, rule),
        flows=len(found.source),
        idle_flows=found.idle,
        queue_pairs=q,
        flow_gbps=float(found.size_gbps[0]) if found.is_even else None,
        tiers=figures.tiers,
        worst_links=worst,
        worst_alike=alike,
        seed=seed,
        assumptions=infiniband_assumption(fabric, _assumptions(found, rule, q, meets_hash)),
        arc_mean_gbps=figures.arc_mean_gbps,
        arc_p_overload=figures.arc_p_overload[1],
        slowest_law=figures.slowest_law,
        laws=figures.laws,
        fabric=fabric,
        **_lost(found, figures.lost if drawn is None else drawn.lost),
        **_rates(figures, drawn, q) | ({} if meets_hash else {"p_no_collision": Estimate.exact(1.0, _UNHASHED)}),
    )


def _hashing(found: FlowSet, rule: EcmpHash | None) -> str:
    if rule is not None:
        return str(rule)
    return "independent even hashes" if found.hops.share is None else "independent weighted hashes"


def _meets_hash(found: FlowSet, seed: int) -> bool:
    """Whether any flow crosses a link that a hash may choose."""
    if found.inner_utilization is None:
        return True
    arcs = walk(found.hops, found.source, found.sink, at_random(seed))
    return bool((~found.inner_mask[arcs[arcs >= 0]]).any())


def _lost(found: FlowSet, lost: NDArray[np.bool_]) -> dict[str, Any]:
    """How many flows have no path, and up to a thousand of them by name."""
    names = found.fabric.nodes.name
    pairs = ((names[found.source[i]], names[found.sink[i]]) for i in np.flatnonzero(lost)[:1000].tolist())
    return {"lost_flows": int(lost.sum()), "lost_pairs": tuple((str(a), str(b)) for a, b in pairs)}


def _rates(figures: Exact, drawn: SampledRates | None, q: int) -> dict[str, Any]:
    """What was worked out where it was, what was drawn elsewhere."""
    known: dict[str, Any] = {
        "slowest_rate": figures.slowest,
        "slowdown": figures.slowdown,
        "p_no_overload": figures.p_no_overload,
        "p_no_collision": figures.p_no_collision,
        "mean_equal_share": figures.equal_share,
    }
    if drawn is None:
        nothing = {"samples": 0, "looks": (), "slowest_samples": np.empty(0), "mean_rate": None, "mean_striped": None}
        return known | nothing
    return known | {
        "mean_rate": drawn.mean,
        "mean_striped": drawn.striped if q > 1 else None,
        "mean_equal_share": _narrower(figures.equal_share, drawn.equal_share),
        "slowest_rate": _within(figures, figures.slowest, drawn.slowest, drawn.sampled.n),
        # Where hashes were worked out and no slowdown is known, it is unbounded.
        "slowdown": _within(
            figures, figures.slowdown, drawn.slowdown if _is_bounded(figures) else None, drawn.sampled.n
        ),
        "p_no_overload": _within(figures, figures.p_no_overload, drawn.p_no_overload, drawn.sampled.n),
        "samples": drawn.sampled.n,
        "looks": drawn.sampled.looks,
        "slowest_samples": drawn.slowest_samples,
    }


def _is_bounded(figures: Exact) -> bool:
    return figures.slowest is None or figures.slowdown is not None


def _within(figures: Exact, worked_out: Estimate | None, drawn: Estimate | None, samples: int) -> Estimate | None:
    """What was worked out; where its estimate within bounds is rough, with that of the samples."""
    if worked_out is None or drawn is None or worked_out.is_exact or not figures.is_rough or samples < _ENOUGH:
        return worked_out or drawn
    middle = min(max(drawn.estimate, worked_out.lower), worked_out.upper)
    standing = Standing("bracket", f"bounds proved for independent hashes; the estimate is of {drawn.standing.how}")
    return Estimate(worked_out.lower, worked_out.upper, middle, standing)


def _narrower(worked_out: Estimate | None, drawn: Estimate) -> Estimate:
    """What was worked out, unless sampling knows it better."""
    if worked_out is None:
        return drawn
    return worked_out if worked_out.upper - worked_out.lower <= drawn.upper - drawn.lower else drawn


def _worst(
    found: FlowSet, mean: NDArray[np.float64], low: NDArray[np.float64], high: NDArray[np.float64]
) -> tuple[tuple[LinkLoad, ...], int]:
    """The links most likely overloaded, then most loaded; and how many are as bad as the first."""
    fabric, capacity = found.fabric, found.capacity_gbps
    with np.errstate(divide="ignore", invalid="ignore"):
        utilization = np.where(mean > 0, mean / capacity, 0.0)
    order = np.lexsort((np.arange(len(mean)), -np.round(utilization, 12), -np.round(high, 12)))[:_NAMED]
    order = order[mean[order] > 0]
    if not order.size:
        return (), 0
    first = order[0]
    alike = np.isclose(high, high[first], rtol=1e-9, atol=1e-12) & np.isclose(utilization, utilization[first])
    names, ports = fabric.nodes.name, fabric.ports.label
    ends = np.stack([fabric.links.port_a, fabric.links.port_b], axis=1).ravel()
    worst = []
    for arc in order.tolist():
        here, there = ends[arc], ends[arc ^ 1]
        labels = ports.values(np.array([here, there]))
        worst.append(
            LinkLoad(
                arc // 2,
                str(names[fabric.arc_source[arc]]),
                str(labels[0]),
                str(names[fabric.arc_target[arc]]),
                str(labels[1]),
                float(capacity[arc]),
                float(mean[arc]),
                float(low[arc]),
                float(high[arc]),
            )
        )
    return tuple(worst), int(alike.sum())


def _assumptions(found: FlowSet, rule: EcmpHash | None, q: int, meets_hash: bool) -> tuple[str, ...]:
    out = [f"links looked at: {found.hops.network.kinds_text}"]
    if found.inner_utilization is not None:
        out.append("scale-up and host links are striped over evenly, not hashed; their mean load still caps a flow")
    if not meets_hash:
        out.append(_UNHASHED)
    elif rule is None:
        shares = "evenly" if found.hops.share is None else f"by {found.hops.routing.weights} weight"
        out.append(f"every switch hashes every queue pair independently and {shares} over its next hops")
    else:
        out.append("queue pair numbers are drawn at random for each sample; addresses follow the order of endpoints")
        if rule.is_stand_in:
            out.append("the vendor's hash is secret; a stand-in takes its place")
    if meets_hash and found.hops.share is not None:
        exact = "weights are exact" if rule is None else f"next hops stand by weight in tables of {rule.most_entries}"
        out.append(f"{exact}; a link of rate 0 weighs nothing")
    out.append("fluid shares of link rate: no queues, no congestion control, no headers")
    if q > 1:
        out.append(f"each flow is striped evenly over {q} queue pairs")
    return tuple(out)
