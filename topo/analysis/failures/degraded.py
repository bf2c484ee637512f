"""One state against the healthy fabric: what a measure keeps, and what another routing would have kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from topo.analysis.failures.measures import Measure, ThroughputMeasure, Value, measure_of
from topo.analysis.failures.platform import PlatformLoss, platform_loss
from topo.errors import ParameterError
from topo.fabric import Fabric, State
from topo.result import Result, Row, Standing
from topo.routing.scheme import Routing
from topo.traffic import Demand
from topo.units import format_number, format_range

__all__ = ["DegradedCapacity", "Kept", "degraded_capacity", "share_of"]


@dataclass(frozen=True, slots=True)
class Kept:
    """A measure under one routing, healthy and degraded, and the share kept; bounds meet where it is exact."""

    routing: str
    healthy_lower: float
    healthy_upper: float
    degraded_lower: float
    degraded_upper: float

    @property
    def share_lower(self) -> float:
        """Least share of the healthy value that is left."""
        return share_of(self.degraded_lower, self.healthy_upper)

    @property
    def share_upper(self) -> float:
        """Greatest share of the healthy value that is left."""
        return share_of(self.degraded_upper, self.healthy_lower)

    @property
    def exact(self) -> bool:
        """Whether both bounds meet."""
        return self.share_lower == self.share_upper

    @property
    def standing(self) -> Standing:
        """Exact where the bounds meet, else a bracket."""
        return Standing("exact" if self.exact else "bracket")

    def text(self) -> str:
        """The share in per cent, as a range where it is not exact."""
        low, high = (format_number(100 * share, 4) for share in (self.share_lower, self.share_upper))
        return f"{low} %" if low == high else f"{low} to {high} %"


@dataclass(frozen=True)
class DegradedCapacity(Result):
    """What is left of a measure in a state. Shares speak of the pairs that still have a path; ``cut_off``
    endpoints are counted beside them, not averaged in."""

    fabric: str
    measure: str
    unit: str
    n_nodes_down: int
    n_links_down: int
    n_links_slower: int
    kept: Kept
    beside: tuple[Kept, ...]
    cut_off: int
    reduced: int
    lost_pairs: int
    platform: PlatformLoss | None
    standing: Standing

    title: ClassVar[str] = "Capacity after failures"

    @property
    def share(self) -> float:
        """The share kept; the lower bound where it is not exact."""
        return self.kept.share_lower

    def rows(self) -> list[Row]:
        """What is down, what is left, who is cut off, what other routings would keep."""
        kept = self.kept
        rows = [
            Row("nodes down", self.n_nodes_down),
            Row("links down", self.n_links_down),
            Row("links at a lower rate", self.n_links_slower),
            Row(
                f"{self.measure}, healthy",
                format_range(kept.healthy_lower, kept.healthy_upper),
                self.unit,
                self.standing,
            ),
            Row(
                f"{self.measure}, as it is",
                format_range(kept.degraded_lower, kept.degraded_upper),
                self.unit,
                self.standing,
            ),
            Row("share left", kept.text(), standing=self.standing),
            *(
                Row(f"share left with {other.routing} routing", other.text(), standing=other.standing)
                for other in self.beside
            ),
            Row("endpoints cut off", self.cut_off),
            Row("endpoints at a lower rate of their own", self.reduced),
            Row("pairs without a path", self.lost_pairs),
        ]
        if self.platform is not None:
            loss = self.platform
            low, high = (format_number(100 * share, 3) for share in (loss.wired_share_min, loss.wired_share_max))
            wired = f"{low} %" if low == high else f"{low} to {high} %"
            said = f"{loss.n_hosts:,}, though {wired} of their scale-up rate is wired"
            rows.append(Row("hosts the platform takes out of service", said, standing=Standing("model", loss.rule)))
        if kept.share_lower > 1:
            rows.append(Row("why more than before", "even splitting sends less over the bottleneck than it did"))
        return rows


def degraded_capacity(
    fabric: Fabric,
    state: State,
    measure: str | Demand | Measure = "all-to-all",
    *,
    routing: str | Routing = "ecmp",
    beside: Sequence[str | Routing] = ("wcmp",),
) -> DegradedCapacity:
    """A measure in a state over the same in the healthy fabric.

    ``measure`` is ``all-to-all`` or ``permutation`` (throughput theta of that demand under ``routing``),
    ``bisection``, ``endpoints``, or any Demand, whose endpoints that are down themselves are left out while the
    others' wanted rates stay. ``beside`` names routings whose share is shown next to it: what even splitting
    loses on an asymmetric Clos and weighted or optimal routing would keep. Standing: exact for fluid routings and
    endpoints, bounds for bisection and optimal routing.

    >>> import topo
    >>> f = topo.leaf_spine(leaves=4, spines=2, hosts_per_leaf=4, parallel=2)
    >>> from topo.analysis.failures.elements import down_state
    >>> lost = down_state(f, ["link:leaf-1/5--spine-1"])
    >>> answer = degraded_capacity(f, lost)
    >>> answer.share, round(answer.beside[0].share_lower, 9)
    (0.625, 0.9375)

    :raises ParameterError: an unknown measure, or a fabric on which the healthy measure is 0.
    """
    chosen = measure_of(fabric, measure, routing)
    healthy, now = chosen(None), chosen(state)
    if healthy.upper <= 0:
        raise ParameterError(f"{chosen.name} of {fabric.name!r} is 0 already without failures; ask another measure")
    others = []
    if isinstance(chosen, ThroughputMeasure):
        for rule in beside:
            other = measure_of(fabric, chosen.demand, rule)
            others.append(_kept(str(Routing.of(rule)), other(None), other(state)))
    capacity, wired = state.link_capacity_gbps(fabric), fabric.links.capacity_gbps
    return DegradedCapacity(
        fabric=fabric.name,
        measure=chosen.name,
        unit=chosen.unit,
        n_nodes_down=0 if state.node_present is None else int((~state.node_present).sum()),
        n_links_down=int((~state.link_mask(fabric)).sum()),
        n_links_slower=int((capacity < wired).sum()),
        kept=_kept(str(Routing.of(routing)), healthy, now),
        beside=tuple(others),
        cut_off=now.cut_off - healthy.cut_off,
        reduced=now.reduced,
        lost_pairs=now.lost_pairs - healthy.lost_pairs,
        platform=platform_loss(fabric, state),
        standing=_standing(healthy, now),
    )


def share_of(part: float, whole: float) -> float:
    """``part / whole``; equal values give exactly 1, whatever their last digits."""
    if abs(part - whole) <= 1e-12 * abs(whole):
        return 1.0
    return part / whole if whole > 0 else 0.0


def _kept(routing: str, healthy: Value, now: Value) -> Kept:
    return Kept(routing, healthy.lower, healthy.upper, now.lower, now.upper)


def _standing(healthy: Value, now: Value) -> Standing:
    if healthy.is_exact and now.is_exact:
        return Standing("exact", "fluid shares; pairs without a path left out")
    return Standing("bracket", "from the bounds of both states; pairs without a path left out")
