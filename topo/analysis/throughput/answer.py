"""What a throughput analysis answers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from topo.analysis.throughput.bounds import CutWitness
from topo.fabric import Fabric, LinkSet, State
from topo.result import Result, Row, Standing, hidden
from topo.routing.scheme import Routing
from topo.table import Array, freeze
from topo.traffic.demand import Demand
from topo.units import format_number

__all__ = ["FlowRates", "Throughput", "binding_set", "equal_bounds", "lost_names", "shared_fields"]

MOST_NAMED = 10_000
_MOST_PRINTED = 6
_MOST_LOST_NAMED = 100
_EQUAL = 1e-6


@dataclass(frozen=True, slots=True)
class FlowRates:
    """What flows on single paths get, as shares of what they want; flows without a path are not among them.

    ``mean`` is over all flows, ``slowest`` the least of a sample; both averaged over ``n_samples`` draws, with the
    half width of their 95 % confidence intervals (0 where nothing is drawn). ``quantiles`` maps 0, 0.05, 0.25, 0.5,
    0.75, 0.95 and 1 to shares over all flows of all samples.
    """

    n_flows: int
    n_samples: int
    seed: int
    mean: float
    mean_margin: float
    slowest: float
    slowest_margin: float
    full: float
    quantiles: tuple[tuple[float, float], ...]
    share: NDArray[np.float64] = hidden()


@dataclass(frozen=True, eq=False)
class Throughput(Result):
    """How much of a demand fits: theta, the largest share of every wanted rate that the fabric carries at once.

    theta lies between ``theta_lower`` and ``theta_upper``; equal (to 1e-6, the accuracy of the flow solvers) they are
    ``exact``. Links of endpoints count, so a unit demand has theta at most 1; ``network_theta`` is that of the
    links between switches alone, where it is known. ``binding_links`` hold theta down, worst first, each in the
    direction of ``binding_direction``; ``n_binding`` counts them where the list is cut. Pairs that no path joins are
    counted in ``lost_pairs``, some are named in ``lost``, and theta is that of the rest. ``rates`` is there for
    single paths.
    """

    fabric: str
    demand: str
    routing: str
    theta_lower: float
    theta_upper: float
    network_theta: float | None
    n_pairs: int
    wanted_gbps: float
    lost_pairs: int
    lost_gbps: float
    lost: tuple[tuple[str, str], ...]
    n_binding: int
    binding_links: LinkSet
    binding_direction: tuple[str, ...]
    standing: Standing
    assumptions: tuple[str, ...]
    rates: FlowRates | None = None
    arc_gbps: NDArray[np.float64] | None = hidden(default=None)
    flows: NDArray[np.float64] | None = hidden(default=None)
    lengths: NDArray[np.float64] | None = hidden(default=None)
    cut: CutWitness | None = hidden(default=None)
    state: State | None = hidden(default=None)
    pxn: bool = hidden(default=True)

    title: ClassVar[str] = "Throughput"
    derived: ClassVar[tuple[str, ...]] = ("exact",)

    @property
    def exact(self) -> bool:
        """Whether both bounds are the same number and nothing was drawn at random."""
        return self.standing.kind != "sampled" and equal_bounds(self.theta_lower, self.theta_upper)

    @property
    def standing_of_theta(self) -> Standing:
        """The standing, with the share of the pairs that theta speaks of where some have no path."""
        if not self.lost_pairs:
            return self.standing
        joined = self.n_pairs - self.lost_pairs
        share = format_number(100 * joined / self.n_pairs, 3)
        if share == "100":  # a few of many are lost: the count says what the share would round away
            return self.standing.given(f"of the {joined:,} of {self.n_pairs:,} pairs that have a path alone")
        return self.standing.given(f"of the {share} % of the pairs that have a path alone")

    def rows(self) -> list[Row]:
        """The answer in plain words."""
        rows = [
            Row("demand", f"{self.demand}: {self.n_pairs:,} pairs"),
            Row("wanted in all", self.wanted_gbps, "Gb/s"),
            Row("routing", self.routing),
        ]
        rows += self._theta_rows()
        if self.network_theta is not None and math.isfinite(self.network_theta):
            rows.append(Row("theta of the links between switches alone", self.network_theta))
        if self.rates is not None:
            rows += _rate_rows(self.rates)
        if self.lost_pairs:
            rows.append(Row("pairs that no path joins", f"{self.lost_pairs:,} of {self.n_pairs:,}"))
            rows.append(Row("what they wanted", self.lost_gbps, "Gb/s"))
            shown = "; ".join(f"{a} to {b}" for a, b in self.lost[:_MOST_PRINTED])
            rows.append(Row("such as", shown + ("; ..." if self.lost_pairs > _MOST_PRINTED else "")))
        if self.n_binding:
            rows.append(Row("link directions that bind", self.n_binding))
            rows += [
                Row("  " + way, f"port {link.a_port} - port {link.b_port}, {link.capacity_gbps:,.6g} Gb/s")
                for way, link in zip(self.binding_direction[:_MOST_PRINTED], self.binding_links, strict=False)
            ]
        rows += [Row("assumed", text) for text in self.assumptions]
        return rows

    def _theta_rows(self) -> list[Row]:
        name = "theta: the share of every wanted rate that fits"
        if self.rates is not None:
            name = "theta: the share of its wanted rate that the slowest flow gets"
        standing = self.standing_of_theta
        if equal_bounds(self.theta_lower, self.theta_upper):
            return [Row(name, self.theta_lower, "", standing)]
        return [Row(name + ", at least", self.theta_lower, "", standing), Row("  at most", self.theta_upper)]


def _rate_rows(rates: FlowRates) -> list[Row]:
    def text(value: float, margin: float) -> str:
        return f"{value:.4f}" + (f" +- {margin:.4f}" if margin else "")

    spread = ", ".join(f"{100 * q:g} %: {share:.4f}" for q, share in rates.quantiles)
    return [
        Row("flows with a path", rates.n_flows),
        Row("mean share of the wanted rate", text(rates.mean, rates.mean_margin)),
        Row("share of the slowest flow", text(rates.slowest, rates.slowest_margin)),
        Row("flows that get all they want", f"{100 * rates.full:.1f} %"),
        Row("shares, from the slowest flow up", spread),
    ]


def equal_bounds(lower: float, upper: float) -> bool:
    """Whether two bounds are one number, to the accuracy of the solvers."""
    return lower == upper or lower >= upper * (1 - _EQUAL)


def binding_set(
    fabric: Fabric, arcs: Array, weight: Array | None = None, state: State | None = None
) -> tuple[int, LinkSet, tuple[str, ...]]:
    """Number of arcs that bind, and the first of them by falling weight, then row: links with their direction."""
    order = np.arange(len(arcs)) if weight is None else np.argsort(-weight, kind="stable")
    chosen = np.asarray(arcs, np.int64)[order][:MOST_NAMED]
    capacity = (state or State()).link_capacity_gbps(fabric)
    links = LinkSet.of(fabric, chosen // 2, freeze(capacity[chosen // 2]))
    names = fabric.nodes.name
    way = tuple(
        f"{a} to {b}"
        for a, b in zip(
            names[fabric.arc_source[chosen]].tolist(), names[fabric.arc_target[chosen]].tolist(), strict=True
        )
    )
    return len(arcs), links, way


def lost_names(fabric: Fabric, source: Array, sink: Array) -> tuple[tuple[str, str], ...]:
    """The first lost pairs by name."""
    names = fabric.nodes.name
    source, sink = source[:_MOST_LOST_NAMED], sink[:_MOST_LOST_NAMED]
    return tuple(zip(names[source].tolist(), names[sink].tolist(), strict=True))


def shared_fields(
    fabric: Fabric,
    demand: Demand,
    routing: Routing,
    state: State | None,
    *,
    lost: tuple[int, float, Array, Array],
    binding: Array,
    weight: Array | None = None,
) -> dict[str, Any]:
    """The fields of a :class:`Throughput` that every routing fills alike.

    ``lost`` holds the number of lost pairs, what they wanted, and rows of sources and sinks of some.
    """
    n_binding, links, ways = binding_set(fabric, binding, weight, state)
    n_lost, lost_gbps, source, sink = lost
    return {
        "fabric": fabric.name,
        "demand": demand.name,
        "routing": str(routing),
        "n_pairs": demand.n_pairs,
        "wanted_gbps": demand.total_gbps,
        "lost_pairs": int(n_lost),
        "lost_gbps": float(lost_gbps),
        "lost": lost_names(fabric, source, sink),
        "n_binding": n_binding,
        "binding_links": links,
        "binding_direction": ways,
        "state": state,
        "pxn": routing.may_relay,
    }
