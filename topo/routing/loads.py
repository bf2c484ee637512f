"""Link loads of a demand under even or weighted splits over all shortest paths: the one load kernel."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from topo.errors import ParameterError
from topo.fabric import FORWARDS_ALL, Fabric, State, expect_fabric
from topo.parts.forwarding import is_infiniband
from topo.routing.blocks import block_pass
from topo.routing.core import Core
from topo.routing.pairs import pair_pass
from topo.routing.passes import Lost, Pass, Totals
from topo.routing.relaying import relaying_text
from topo.routing.reuse import core_in, once
from topo.routing.scheme import FLUID, GLOBAL, Routing
from topo.routing.valleys import valley_gbps
from topo.table import freeze
from topo.traffic.demand import Block, Demand
from topo.traffic.valiant import valiant

__all__ = ["LinkLoads", "link_loads"]

_SMALL_BLOCK = 20_000
_MOST_LISTED = 20_000_000
_NEAR = 1e-9
_UNLOADED = 1e-12


@dataclass(frozen=True, eq=False)
class LinkLoads:
    """What every arc of a fabric carries, and how much of the demand fits.

    ``arc_gbps`` and ``capacity_gbps`` have one entry an arc (arc 2 i is link i from A to B, 2 i + 1 back); what is
    absent or outside the network has capacity 0. Pairs that no path joins carry nothing: ``lost_pairs`` of them,
    ``lost_gbps`` together, the first thousand listed in ``lost_source`` and ``lost_sink``.
    """

    fabric: Fabric
    demand: Demand
    routing: Routing
    state: State | None
    arc_gbps: NDArray[np.float64]
    capacity_gbps: NDArray[np.float64]
    lost_pairs: int
    lost_gbps: float
    lost_source: NDArray[np.int64]
    lost_sink: NDArray[np.int64]
    assumptions: tuple[str, ...] = field(default=())

    def __repr__(self) -> str:
        lost = f", {self.lost_pairs:,} pairs without a path" if self.lost_pairs else ""
        return f"<LinkLoads of {self.demand.name!r} on {self.fabric.name!r}: theta {self.theta:.6g}{lost}>"

    @cached_property
    def is_loaded(self) -> NDArray[np.bool_]:
        """Which arcs carry something."""
        return freeze(self.arc_gbps > _UNLOADED * self.arc_gbps.max(initial=0.0))

    @cached_property
    def is_network_arc(self) -> NDArray[np.bool_]:
        """Which arcs join nodes that forward everything."""
        full = self.fabric.nodes.forwards == FORWARDS_ALL
        return freeze(np.repeat(full[self.fabric.link_a] & full[self.fabric.link_b], 2))

    @cached_property
    def theta(self) -> float:
        """Part of the demand that fits: the least capacity over load of all loaded arcs (inf: nothing flows)."""
        return self._least(self.is_loaded)

    @cached_property
    def network_theta(self) -> float:
        """The same over arcs between nodes that forward everything, so that no endpoint's own link limits it."""
        return self._least(self.is_loaded & self.is_network_arc)

    @cached_property
    def binding_arcs(self) -> NDArray[np.int64]:
        """Arcs whose capacity over load is within 1e-9 of the least."""
        at = np.flatnonzero(self.is_loaded)
        if not at.size:
            return freeze(at)
        return freeze(at[self.capacity_gbps[at] / self.arc_gbps[at] <= self.theta * (1 + _NEAR)])

    @cached_property
    def valley_share(self) -> float:
        """Share of the flow that goes down a tier and then up again; 0 in a healthy Clos. Computed when first asked."""
        carried = self.demand.total_gbps - self.lost_gbps
        if self.routing.up_down or carried <= 0:
            return 0.0
        core = core_in(self.fabric, state=self.state, routing=self.routing)
        return min(sum(map(valley_gbps, _passes(core, self.demand, self.routing))) / carried, 1.0)

    def _least(self, mask: NDArray[np.bool_]) -> float:
        at = np.flatnonzero(mask)
        return float((self.capacity_gbps[at] / self.arc_gbps[at]).min(initial=np.inf))


def link_loads(
    fabric: Fabric, demand: Demand, *, routing: Routing | str = "ecmp", state: State | None = None
) -> LinkLoads:
    """Load in Gb/s that a demand puts on every arc, split over all shortest paths as ``routing`` says.

    At each hop a flow divides over the next hops of least cost in proportion to their weights: evenly (ecmp; spray is
    the same in the mean), or by rate (wcmp); under valiant both legs of every flow do, and the demand of the answer is
    that of the legs. What enters a host goes on through parts of that host alone. Exact up to
    rounding; nodes with equal neighbours are computed once.

    >>> import topo
    >>> f = topo.leaf_spine(leaves=4, spines=4, hosts_per_leaf=8, link_gbps=1)
    >>> everyone = Block.of(f.endpoints, f.endpoints, 1 / 31)
    >>> loads = link_loads(f, Demand.of(f, "all-to-all", blocks=(everyone,)))
    >>> round(loads.theta, 4)   # capacity of a leaf's uplinks over 24/31 of its hosts' traffic
    0.6458

    :raises ParameterError: a scheme that is no fluid split (single-path, optimal); up/down where endpoints forward
        for others; valiant where tiers alone join the endpoints; a demand made for another fabric.
    :raises InputError: a link of unknown rate.
    """
    expect_fabric(fabric)
    chosen = _fluid(Routing.of(routing))
    demand.expect_made_for(fabric)
    core = core_in(fabric, state=state, routing=chosen)
    if chosen.scheme == "valiant":
        demand = _by_way_of_all(core, demand)
    arc_gbps, lost, source, sink = once(
        fabric, demand, routing=chosen, state=state, work=lambda: _carried(core, demand, chosen)
    )
    return LinkLoads(
        fabric=fabric,
        demand=demand,
        routing=chosen,
        state=state,
        arc_gbps=arc_gbps,
        capacity_gbps=freeze(_capacity(core, state)),
        lost_pairs=lost.pairs,
        lost_gbps=lost.gbps,
        lost_source=source,
        lost_sink=sink,
        assumptions=_assumptions(core, chosen),
    )


def _carried(
    core: Core, demand: Demand, routing: Routing
) -> tuple[NDArray[np.float64], Lost, NDArray[np.int64], NDArray[np.int64]]:
    """Load of every arc, what was lost, and examples of the pairs."""
    totals = Totals.of(core)
    for work in _passes(core, demand, routing):
        totals.take(work)
    source, sink = totals.lost.examples()
    return freeze(totals.with_access(core)), totals.lost, freeze(source), freeze(sink)


def _fluid(routing: Routing) -> Routing:
    if routing.scheme not in FLUID:
        raise ParameterError(
            f"routing scheme {routing.scheme!r} is no split over next hops; link_loads takes {', '.join(FLUID)}"
        )
    return routing


def _by_way_of_all(core: Core, demand: Demand) -> Demand:
    """The two legs of Valiant routing, by way of the endpoints that are joined.

    :raises ParameterError: a fabric where no two neighbours of one tier pass traffic on, as on every Clos.
    """
    fabric, a, b = core.network.fabric, core.network.a, core.network.b
    passes, tier, ends = fabric.nodes.forwards == FORWARDS_ALL, fabric.nodes.tier, fabric.endpoints
    if not (passes[a] & passes[b] & (tier[a] == tier[b])).any() and not passes[ends].any():
        raise ParameterError(
            f"routing 'valiant' is for fabrics without tiers, and on {fabric.name} every path goes up and down: 'ecmp' "
            "spreads it over all spines already; it fits dragonfly, dragonfly_plus, hyperx, flattened_butterfly, "
            "slim_fly, jellyfish, xpander, torus, mesh, hamming_mesh, bcube and dcell"
        )
    return valiant(fabric, demand, by=ends[(core.home[ends] >= 0) & (core.goal[ends] >= 0)])


def _passes(core: Core, demand: Demand, routing: Routing) -> Iterator[Pass]:
    """All single pairs and small blocks in one pass, each large block in one of its own."""
    small, large = _sorted_blocks(demand, max(_SMALL_BLOCK, len(core.tail) // 8))
    source, sink, gbps = Demand(demand.name, small, demand.source, demand.sink, demand.gbps).pairs()
    wanted = gbps > 0
    if wanted.any():
        yield pair_pass(core, routing, source[wanted], sink[wanted], gbps[wanted])
    for block in large:
        yield block_pass(core, routing, block)


def _sorted_blocks(demand: Demand, most: int) -> tuple[tuple[Block, ...], tuple[Block, ...]]:
    """Blocks of so few pairs that listing them costs less than a pass, and the others."""
    small, large, listed = [], [], len(demand.source)
    lonely = len(demand.blocks) <= 4 and not len(demand.source)
    for block in demand.blocks:
        if block.gbps == 0:
            continue
        if lonely or block.n_pairs > most or listed + block.n_pairs > _MOST_LISTED:
            large.append(block)
        else:
            small.append(block)
            listed += block.n_pairs
    return tuple(small), tuple(large)


def _capacity(core: Core, state: State | None) -> NDArray[np.float64]:
    fabric, links = core.network.fabric, core.network.links
    capacity = np.zeros(len(fabric.links))
    rates = (state or State()).link_capacity_gbps(fabric)[links]
    # Under path-aware weights the network has what was built.
    is_built = state is not None and core.network.state is not state
    capacity[links] = np.where(state.link_mask(fabric)[links], rates, 0.0) if is_built and state is not None else rates
    return np.repeat(capacity, 2)


def _assumptions(core: Core, routing: Routing) -> tuple[str, ...]:
    said = [
        f"links of kind {core.network.kinds_text}",
        f"routing {routing}: flows split as fluids over all least-cost paths",
    ]
    said.append(
        "parallel links between two nodes are one next hop, loaded evenly" if routing.lag
        else "each of several parallel links is a next hop of its own"
    )  # fmt: skip
    if routing.scheme == "spray":
        said.append("spraying and adaptive routing are taken as the even split of every flow, without reordering cost")
    if routing.scheme == "valiant":
        said.append(
            "every flow goes by way of all endpoints alike, in and out over their own links; by way of switches it "
            "would spare those, as theta of the links between switches alone does"
        )
    if routing.scheme == "wcmp":
        said.append(
            "weights are exact rates, not quantised as in switches; "
            + (
                "by what is left on the way to the destination"
                if routing.weights == "path"
                else "by the next link alone"
            )
        )
    costs = {kind: cost for kind, cost in dict(routing.costs).items() if kind != GLOBAL or core.network.is_global.any()}
    if costs:
        said.append("link costs: " + ", ".join(f"{kind} {cost}" for kind, cost in costs.items()))
    relays = relaying_text(core.network, routing)
    if relays:
        said.append(relays)
    if routing.up_down:
        said.append("up and down by the tiers of the nodes; links within a tier are not used")
    if is_infiniband(core.network.fabric):
        said.append("InfiniBand forwards by destination, one path each; even splits over all of them are a model")
    return tuple(said)
