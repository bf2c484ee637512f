"""Throughput of the best routing there is: maximum concurrent flow, exact where bounds meet, else bracketed."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from topo.analysis.throughput.answer import Throughput, equal_bounds, shared_fields
from topo.analysis.throughput.approximate import MOST_FLOWS, approximate, usage_of
from topo.analysis.throughput.bounds import CutWitness, best_cut, length_theta
from topo.analysis.throughput.linear import MOST_VARIABLES, solve_linear
from topo.analysis.throughput.problem import Lost, Problem, make_problem
from topo.errors import ParameterError
from topo.fabric import Fabric, State
from topo.network import Network
from topo.result import Standing
from topo.routing.loads import LinkLoads, link_loads
from topo.routing.scheme import Routing
from topo.table import Array
from topo.traffic.demand import Demand

__all__ = ["optimal_throughput"]


@dataclass(eq=False)
class _Bracket:
    """The best bounds so far with what proves them."""

    lower: float
    upper: float
    lower_how: str
    upper_how: str
    cut: CutWitness | None = None
    arcs: NDArray[np.int64] | None = None
    lengths: NDArray[np.float64] | None = None
    flows: NDArray[np.float64] | None = None

    @property
    def met(self) -> bool:
        return equal_bounds(self.lower, self.upper)

    def raise_lower(self, theta: float, how: str, flows: Array | None = None) -> None:
        if theta > self.lower:
            self.lower, self.lower_how, self.flows = theta, how, flows

    def cap_by_cut(self, network: Network, demand: Demand) -> None:
        theta, cut, arcs = best_cut(network, demand)
        if theta < self.upper:
            self.upper, self.upper_how = theta, "a cut"
            self.cut, self.arcs, self.lengths = cut, arcs, None

    def cap_by_lengths(self, problem: Problem, lengths: Array) -> None:
        theta = _capped(problem, length_theta(problem, lengths))
        if theta < self.upper * (1 - 1e-12):
            self.upper, self.upper_how = theta, "lengths of links"
            self.cut, self.arcs, self.lengths = None, None, lengths


def optimal_throughput(
    fabric: Fabric, demand: Demand, routing: Routing, state: State | None, *, accuracy: float
) -> Throughput:
    """Bounds from ECMP and WCMP below and cuts above; where they differ, a linear program or a certified descent."""
    network = Network.of(fabric, state=state)
    even = link_loads(fabric, demand, routing=Routing(pxn=routing.pxn), state=state)
    bracket = _Bracket(0.0, math.inf, "nothing", "nothing")
    loads = even
    if demand.n_pairs > even.lost_pairs:
        bracket.raise_lower(float(even.theta), "even shares over shortest paths")
        if not even.lost_pairs:
            bracket.cap_by_cut(network, demand)
        if not bracket.met:
            weighted = link_loads(fabric, demand, routing=Routing(scheme="wcmp", pxn=routing.pxn), state=state)
            if float(weighted.theta) > bracket.lower and weighted.lost_pairs == even.lost_pairs:
                loads = weighted
                bracket.raise_lower(float(weighted.theta), "weighted shares over shortest paths")
    problem, lost = None, Lost(even.lost_pairs, even.lost_gbps, even.lost_source, even.lost_sink)
    too_large = ""
    if not bracket.met:
        try:
            problem, lost = make_problem(fabric, demand, state=state, pxn=routing.may_relay)
        except ParameterError as error:
            too_large = str(error)
    if problem is not None:
        _tighten(problem, lost, bracket, loads, accuracy)
    return _answer(fabric, demand, routing, state, bracket, problem, lost, loads, too_large)


def _tighten(problem: Problem, lost: Lost, bracket: _Bracket, loads: LinkLoads, accuracy: float) -> None:
    """Close the bracket as far as the problem's size allows."""
    if not problem.demand.n_pairs:
        bracket.lower = bracket.upper = 0.0
        bracket.lower_how = bracket.upper_how = "no pair has a path"
        return
    network = problem.places.network
    if lost.pairs:
        bracket.cap_by_cut(network, problem.demand)
    if not len(problem.sources):
        # Nothing goes beyond the relays that the endpoints hang on.
        bracket.raise_lower(problem.access_theta, "the endpoints' own links")
        return
    lengths = _of_binding(problem, loads)
    if lengths.any():
        bracket.cap_by_lengths(problem, lengths)
    if bracket.met:
        return
    n_flows = len(problem.variables[1])
    if n_flows <= MOST_VARIABLES:
        flows, lengths = solve_linear(problem)
        flows, theta = _scaled(problem, flows)
        bracket.raise_lower(_capped(problem, theta), "a flow by linear program", flows)
        bracket.cap_by_lengths(problem, lengths)
    elif n_flows <= MOST_FLOWS:
        found = approximate(problem, accuracy=accuracy, known_upper=bracket.upper)
        bracket.raise_lower(_capped(problem, found.theta_lower), "a flow by certified descent", found.flows)
        bracket.cap_by_lengths(problem, found.lengths)


def _capped(problem: Problem, theta: float) -> float:
    """theta of the graph, no more than the folded endpoints' own links allow."""
    return min(theta, problem.access_theta)


def _scaled(problem: Problem, flows: Array) -> tuple[NDArray[np.float64], float]:
    """Flows of any scale as flows of the whole demand, and the theta that they reach."""
    busy = problem.wanted > 0
    served = float((problem.net(flows)[busy] / problem.wanted[busy]).min())
    if served <= 0:
        return np.zeros_like(flows), 0.0
    whole = flows / served
    return whole, 1 / float(usage_of(problem, whole).max())


def _of_binding(problem: Problem, loads: LinkLoads) -> NDArray[np.float64]:
    """Length 1 on the resources whose arcs bind under the shares at hand."""
    places = problem.places
    binding = np.isin(places.link_arc, loads.binding_arcs)
    lengths = np.zeros(len(places.capacity))
    lengths[places.link_resource[binding]] = 1.0
    return lengths


def _binding(problem: Problem | None, bracket: _Bracket, loads: LinkLoads) -> tuple[Array, Array]:
    """The arcs that the upper bound runs through, with a weight that sorts them."""
    if bracket.lengths is not None and problem is not None:
        places = problem.places
        if problem.access_theta <= bracket.upper * (1 + 1e-9):
            return problem.access_arcs, np.zeros(len(problem.access_arcs))
        price = bracket.lengths * places.capacity
        price = np.where(places.capacity > 0, price, bracket.lengths)
        of_arc = price[places.link_resource]
        keep = of_arc > 0.01 * of_arc.max()
        return places.link_arc[keep], of_arc[keep]
    if bracket.arcs is not None:
        return bracket.arcs, np.zeros(len(bracket.arcs))
    return loads.binding_arcs, np.zeros(len(loads.binding_arcs))


def _answer(
    fabric: Fabric,
    demand: Demand,
    routing: Routing,
    state: State | None,
    bracket: _Bracket,
    problem: Problem | None,
    lost: Lost,
    loads: LinkLoads,
    too_large: str,
) -> Throughput:
    kinds = Network.of(fabric, state=state).kinds_text
    arcs, weight = _binding(problem, bracket, loads)
    lower, upper = bracket.lower, bracket.upper
    if bracket.met:
        # Bounds a rounding apart are one number.
        lower = upper = min(lower, upper)
    assumed = ["flows divide freely over all paths that forwarding allows", f"links of kinds {kinds}"]
    if too_large:
        assumed.append(f"not tightened further: {too_large}")
    missing = (lost.pairs, lost.gbps, lost.source, lost.sink)
    return Throughput(
        **shared_fields(fabric, demand, routing, state, lost=missing, binding=arcs, weight=weight),
        theta_lower=lower,
        theta_upper=upper,
        network_theta=None,
        standing=Standing(
            "exact" if bracket.met else "bracket", f"{bracket.lower_how} below, {bracket.upper_how} above"
        ),
        assumptions=tuple(assumed),
        arc_gbps=None if bracket.flows is not None else loads.arc_gbps,
        flows=bracket.flows,
        lengths=bracket.lengths,
        cut=bracket.cut,
    )
