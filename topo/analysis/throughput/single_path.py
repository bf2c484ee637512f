"""Throughput where every flow keeps to one path: max-min fair rates, by static tables or over draws of hashed paths."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from topo.analysis.intervals import student_half_width
from topo.analysis.throughput.answer import FlowRates, Throughput, shared_fields
from topo.errors import ParameterError
from topo.fabric import Fabric, State
from topo.network import Network
from topo.progress import steps
from topo.result import Standing
from topo.routing.fair import max_min_rates
from topo.routing.next_hops import NextHops
from topo.routing.relaying import relaying_text
from topo.routing.scheme import Routing
from topo.routing.stripes import Stripes
from topo.routing.tables import StaticTable
from topo.routing.walk import lost_mask
from topo.table import Array, freeze
from topo.traffic.demand import Demand

__all__ = ["arc_capacity", "margin", "single_path_throughput"]

_MOST_FLOWS = 20_000_000
_WORK = 1_000_000
_MODELS = {
    "hash": "every switch hashes every flow anew and independently",
    "destination-modulo": "switches forward by destination, modulo the next hops",
    "min-hop": "switches forward by destination to the least used of their shortest ports",
    "random": "switches forward by destination, next hops drawn once",
    "dimension-order": "the first coordinate is put right, then the second, and so on, by shortest ways around rings",
}
_QUANTILES = (0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0)
_BATCH = 400_000
_BATCH_ARCS = 10_000_000


def single_path_throughput(
    fabric: Fabric, demand: Demand, routing: Routing, state: State | None, *, samples: int | None = None
) -> Throughput:
    """Shares of flows on one path each: rate of max-min fairness, at most what is wanted, over what is wanted.

    With hashed paths ``samples`` independent draws (chosen by size where not given); with a static table one.

    :raises ParameterError: fewer than one sample, or more than 20 million flows in all.
    """
    source, sink, gbps = _flows(demand)
    hops = NextHops.of(fabric, state=state, routing=routing, sinks=np.unique(sink))
    table = StaticTable.of(hops, routing.table, seed=routing.seed)
    drawn = routing.table == "hash"
    n_samples = _n_samples(len(source), samples) if drawn else 1
    stripes, single = Stripes.of(fabric), arc_capacity(fabric, state)
    capacity = stripes.capacity(single)
    batch = max(1, min(_BATCH // len(source), _BATCH_ARCS // len(capacity), n_samples))
    load = np.zeros(len(capacity))
    slow, binding = math.inf, np.empty(0, np.int64)
    share: list[Array] = []
    lost = np.zeros(len(source), bool)
    seeds = np.random.SeedSequence(routing.seed).spawn(-(-n_samples // batch))
    for i, seed in enumerate(steps(seeds, "paths drawn")):
        many = min(batch, n_samples - i * batch)
        paths = table.paths(np.tile(source, many), np.tile(sink, many), seed=seed)
        arcs = stripes.paths(paths).reshape(-1, many, len(source))
        lost = lost_mask(arcs[:, 0])
        rate = max_min_rates(arcs, capacity, gbps)
        on = arcs >= 0
        load += np.bincount(arcs[on], weights=np.broadcast_to(rate, arcs.shape)[on], minlength=len(load)) / n_samples
        served = rate[:, ~lost] / gbps[~lost]
        share.append(served)
        if served.size and served.min() < slow:
            slow, at = float(served.min()), int(np.argmin(served.min(axis=1)))
            binding = _full_arcs(arcs[:, at], rate[at], gbps, capacity, slow)
    rates = _rates(np.concatenate(share), routing.seed) if not lost.all() else None
    load, binding = stripes.spread(load, single), stripes.members(binding)
    binding = binding[single[binding] > 0]
    said = _assumptions(hops, table)
    return _answer(fabric, demand, routing, state, rates, binding, load, (source, sink, gbps), lost, said)


def _assumptions(hops: NextHops, table: StaticTable) -> tuple[str, ...]:
    model = _MODELS[table.kind]
    said = [
        f"{model}; {table.order_text}" if table.order_text else model,
        "flows share links max-min fairly, as ideal congestion control would",
    ]
    if {"scale_up", "host_io"} & set(hops.network.kinds):
        said.append("a flow is spread over all scale-up links of its accelerators, and over parallel lanes in hosts")
    relays = relaying_text(hops.network, hops.routing)
    return (*said, relays) if relays else tuple(said)


def arc_capacity(fabric: Fabric, state: State | None) -> NDArray[np.float64]:
    """Rate of every arc of the endpoints' network; 0 for links outside it."""
    network = Network.of(fabric, state=state)
    rate = np.zeros(len(fabric.links))
    rate[network.links] = network.capacity_gbps
    return np.repeat(rate, 2)


def margin(values: Array) -> float:
    """Half width of the 95 % confidence interval of the mean of independent values; 0 for a single one."""
    return student_half_width(values) if len(values) > 1 else 0.0


def _flows(demand: Demand) -> tuple[Array, Array, Array]:
    if demand.n_pairs > _MOST_FLOWS:
        raise ParameterError(
            f"{demand.name} has {demand.n_pairs:,} flows, more than the {_MOST_FLOWS:,} that are walked one by one; "
            "use routing 'ecmp' or fewer endpoints"
        )
    source, sink, gbps = demand.pairs()
    wanted = gbps > 0
    if not wanted.any():
        raise ParameterError(f"{demand.name} wants nothing: no pair has a rate above 0")
    return source[wanted], sink[wanted], gbps[wanted]


def _n_samples(n_flows: int, samples: int | None) -> int:
    chosen = max(3, min(200, _WORK // n_flows)) if samples is None else samples
    if chosen < 1:
        raise ParameterError(f"samples is {samples}; draw at least one")
    return chosen


def _full_arcs(arcs: Array, rate: Array, gbps: Array, capacity: Array, slow: float) -> NDArray[np.int64]:
    """Full arcs on the paths of the slowest flows."""
    on = arcs >= 0
    load = np.bincount(arcs[on], weights=np.broadcast_to(rate, arcs.shape)[on], minlength=len(capacity))
    slowest = (rate / gbps <= slow * (1 + 1e-9)) & (rate < gbps)
    crossed = np.unique(arcs[:, slowest])
    crossed = crossed[crossed >= 0]
    full: NDArray[np.int64] = crossed[load[crossed] >= capacity[crossed] * (1 - 1e-9)]
    return full


def _rates(share: NDArray[np.float64], seed: int) -> FlowRates:
    slowest, mean = share.min(axis=1), share.mean(axis=1)
    points = np.quantile(share, _QUANTILES)
    return FlowRates(
        n_flows=share.shape[1],
        n_samples=share.shape[0],
        seed=seed,
        mean=float(mean.mean()),
        mean_margin=margin(mean),
        slowest=float(slowest.mean()),
        slowest_margin=margin(slowest),
        full=float((share >= 1 - 1e-9).mean()),
        quantiles=tuple((q, float(point)) for q, point in zip(_QUANTILES, points, strict=True)),
        share=freeze(share.ravel()),
    )


def _answer(
    fabric: Fabric,
    demand: Demand,
    routing: Routing,
    state: State | None,
    rates: FlowRates | None,
    binding: Array,
    load: Array,
    flows: tuple[Array, Array, Array],
    lost: Array,
    assumptions: tuple[str, ...],
) -> Throughput:
    source, sink, gbps = flows
    lower = upper = 0.0
    standing = Standing("exact", "no pair has a path")
    if rates is not None and routing.table == "hash":
        lower = max(0.0, rates.slowest - rates.slowest_margin)
        upper = rates.slowest + rates.slowest_margin
        standing = Standing(
            "sampled", f"95 % interval of the mean over {rates.n_samples} draws of paths, seed {routing.seed}"
        )
    elif rates is not None:
        lower = upper = rates.slowest
        standing = Standing("exact", f"max-min fair rates on the paths of a {routing.table} table")
    missing = (int(lost.sum()), float(gbps[lost].sum()), source[lost], sink[lost])
    return Throughput(
        **shared_fields(fabric, demand, routing, state, lost=missing, binding=binding, weight=load[binding]),
        theta_lower=lower,
        theta_upper=upper,
        network_theta=None,
        standing=standing,
        assumptions=assumptions,
        rates=rates,
        arc_gbps=load,
    )
