"""Small checkers of what a throughput answer claims; a claim that does not hold raises.

They recount from the fabric's own tables: loads against capacities, conservation of every flow, cuts against what has
to cross them, lengths against distances by plain Dijkstra. The merged graph of the problem is the library's own; the
tests hold it against networkx.
"""

from __future__ import annotations

import heapq
import math

import numpy as np

from topo.analysis.throughput.answer import Throughput
from topo.analysis.throughput.problem import Problem, make_problem
from topo.errors import CertificateError, claim
from topo.fabric import Fabric, State
from topo.network import Network
from topo.table import Array
from topo.traffic.demand import Demand

__all__ = ["CertificateError", "check", "check_lower", "check_upper"]

_SLACK = 2e-6


def check(fabric: Fabric, demand: Demand, answer: Throughput) -> None:
    """Check both bounds of an answer to a fluid or optimal routing.

    >>> import topo
    >>> from topo.traffic import all_to_all
    >>> from topo.analysis.throughput import throughput
    >>> f = topo.leaf_spine(leaves=4, spines=2, hosts_per_leaf=4)
    >>> check(f, all_to_all(f), throughput(f, all_to_all(f), routing="optimal"))

    :raises CertificateError: naming the claim that fails.
    """
    check_lower(fabric, demand, answer)
    check_upper(fabric, demand, answer)


def check_lower(fabric: Fabric, demand: Demand, answer: Throughput) -> None:
    """The flows (or the loads of every link) times theta fit, and carry theta times the demand."""
    theta = answer.theta_lower
    if theta == 0:
        return
    if answer.flows is None:
        _check_loads(fabric, demand, answer)
        return
    problem, _ = make_problem(fabric, demand, state=answer.state, pxn=answer.pxn)
    flows, places = answer.flows, problem.places
    source, arc = problem.variables
    claim(len(flows) == len(arc) and bool((flows >= 0).all()), "a flow is negative")
    net = np.zeros(problem.wanted.shape)
    np.add.at(net, (source, places.head[arc]), flows)
    np.add.at(net, (source, places.tail[arc]), -flows)
    net[np.arange(len(net)), problem.sources] = 0
    # More than is wanted may arrive: a part of the flow does without it.
    short = problem.wanted - net
    claim(bool((short <= _SLACK * problem.wanted.max(axis=1)[:, None]).all()), "a flow is not conserved")
    load = np.zeros(len(places.capacity) + 1)
    np.add.at(load, places.resource[arc], flows)  # the last entry takes arcs that load nothing
    claim(bool((load[:-1] * theta <= places.capacity * (1 + _SLACK)).all()), "a link carries more than its capacity")
    claim(problem.access_theta >= theta * (1 - _SLACK), "an endpoint's own link carries more than its capacity")


def check_upper(fabric: Fabric, demand: Demand, answer: Throughput) -> None:
    """The cut, the lengths, or for fixed shares the loads, allow no more than theta."""
    theta = answer.theta_upper
    if answer.cut is not None:
        network = Network.of(fabric, state=answer.state)
        kept = demand
        if answer.lost_pairs:
            kept = make_problem(fabric, demand, state=answer.state, pxn=answer.pxn)[0].demand
        claim(_cut_theta(network, kept, answer) <= theta * (1 + _SLACK), "the cut lets more through")
    elif answer.lengths is not None:
        problem, _ = make_problem(fabric, demand, state=answer.state, pxn=answer.pxn)
        proved = min(problem.access_theta, _length_theta(problem, answer.lengths))
        claim(proved <= theta * (1 + _SLACK), f"the lengths prove {proved}")
    elif answer.arc_gbps is not None and math.isfinite(theta):
        claim(_least_ratio(fabric, answer) <= theta * (1 + _SLACK), "no link is full")


def _least_ratio(fabric: Fabric, answer: Throughput) -> float:
    assert answer.arc_gbps is not None
    capacity = np.repeat((answer.state or State()).link_capacity_gbps(fabric), 2)
    busy = answer.arc_gbps > 1e-9 * float(answer.arc_gbps.max(initial=0))
    return float((capacity[busy] / answer.arc_gbps[busy]).min(initial=math.inf))


def _check_loads(fabric: Fabric, demand: Demand, answer: Throughput) -> None:
    """Loads fit, and at every node that only forwards, what enters leaves; endpoints send and get what they want."""
    if answer.arc_gbps is None:
        raise CertificateError("the certificate does not hold: neither flows nor loads are given")
    claim(_least_ratio(fabric, answer) >= answer.theta_lower * (1 - _SLACK), "a link carries more than its capacity")
    kept = demand
    if answer.lost_pairs:
        kept = make_problem(fabric, demand, state=answer.state, pxn=answer.pxn)[0].demand
    n = len(fabric.nodes)
    out = np.bincount(fabric.arc_source, weights=answer.arc_gbps, minlength=n)
    into = np.bincount(fabric.arc_target, weights=answer.arc_gbps, minlength=n)
    wanted = kept.sent_gbps(fabric) - kept.received_gbps(fabric)
    slack = _SLACK * max(1.0, float(out.max(initial=0)))
    claim(bool((np.abs(out - into - wanted) <= slack).all()), "what enters a node does not leave it")


def _cut_theta(network: Network, demand: Demand, answer: Throughput) -> float:
    """Capacity over demand across the cut, link by link and pair by pair of parts."""
    assert answer.cut is not None
    inside = answer.cut.inside
    capacity = sum(
        rate
        for a, b, rate in zip(network.a.tolist(), network.b.tolist(), network.capacity_gbps.tolist(), strict=True)
        if inside[a] != inside[b]
    )
    from_, to = (~inside, inside) if answer.cut.inward else (inside, ~inside)
    wanted = float(demand.gbps[from_[demand.source] & to[demand.sink]].sum())
    for block in demand.blocks:
        wanted += (
            block.gbps
            * float(block.source_weight[from_[block.sources]].sum())
            * float(block.sink_weight[to[block.sinks]].sum())
        )
    return capacity / wanted if wanted else math.inf


def _length_theta(problem: Problem, lengths: Array) -> float:
    """Capacity times length over demand times distance, distances by a heap."""
    places = problem.places
    claim(bool((lengths >= 0).all()), "a length is negative")
    of_arc = np.append(lengths, 0.0)[places.resource].tolist()
    leaving: list[list[tuple[int, float]]] = [[] for _ in range(places.n)]
    for tail, head, length in zip(places.tail.tolist(), places.head.tolist(), of_arc, strict=True):
        leaving[tail].append((head, length))
    needed = 0.0
    for k, source in enumerate(problem.sources.tolist()):
        distance = _distances(leaving, source)
        needed += sum(float(problem.wanted[k, v]) * distance[v] for v in np.flatnonzero(problem.wanted[k]).tolist())
    return float(places.capacity @ lengths) / needed if needed else math.inf


def _distances(leaving: list[list[tuple[int, float]]], source: int) -> dict[int, float]:
    done: dict[int, float] = {}
    heap = [(0.0, source)]
    while heap:
        far, node = heapq.heappop(heap)
        if node in done:
            continue
        done[node] = far
        for head, length in leaving[node]:
            if head not in done:
                heapq.heappush(heap, (far + length, head))
    return done
