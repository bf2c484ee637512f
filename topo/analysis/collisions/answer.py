"""What ``ecmp_collisions`` answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from topo.analysis.collisions.arc_laws import ArcLaws
from topo.analysis.collisions.sample import Look
from topo.errors import ParameterError
from topo.fabric import Fabric
from topo.result import Result, Row, Standing, hidden
from topo.units import format_gbps, format_number

__all__ = ["EcmpCollisions", "Estimate", "LinkLoad", "TierLoads"]


@dataclass(frozen=True)
class Estimate:
    """A number between rigorous or confidence bounds; ``standing`` says which, and how it was found."""

    lower: float
    upper: float
    estimate: float
    standing: Standing

    @classmethod
    def exact(cls, value: float, how: str) -> Estimate:
        """Bounds that agree."""
        return cls(value, value, value, Standing("exact", how))

    @property
    def is_exact(self) -> bool:
        """Whether the bounds are rigorous and agree."""
        return self.standing.kind == "exact"

    def text(self, factor: float = 1.0) -> str:
        """The estimate, with its bounds where they differ."""
        middle = figure(self.estimate * factor)
        if self.is_exact or figure(self.lower * factor) == figure(self.upper * factor):
            return middle
        return f"{middle} ({figure(self.lower * factor)} to {figure(self.upper * factor)})"


def figure(value: float) -> str:
    """Four digits; small ones with a power of ten."""
    return format_number(value, 4) if value == 0 or abs(value) >= 1e-4 else f"{value:.3e}"


@dataclass(frozen=True)
class TierLoads:
    """Links of one tier in one direction: how many carry any flow, and the law of the largest load.

    ``p_max_at_most`` maps k to the bounds of P(no link carries more than k queue pairs). ``links_available`` counts
    the links that are there, ``links_used`` those some flow may take.
    """

    name: str
    links_available: int
    links_used: int
    queue_pairs: int
    blocks: int
    mean_load: float
    max_load_mean_lower: float
    max_load_mean_upper: float
    p_max_at_most: dict[int, tuple[float, float]]
    p_no_overload_lower: float
    p_no_overload_upper: float
    standing: Standing

    def text(self) -> str:
        """One line for people."""
        used = f"{self.links_used:,} of {self.links_available:,} links used"
        low, high = format_number(self.max_load_mean_lower, 4), format_number(self.max_load_mean_upper, 4)
        largest = low if low == high else f"{low} to {high}"
        return f"{used}; mean load {format_number(self.mean_load, 4)}, mean largest load {largest}"


@dataclass(frozen=True)
class LinkLoad:
    """One direction of one link: mean load over capacity, and the probability that it is overloaded."""

    link: int
    source: str
    source_port: str
    target: str
    target_port: str
    capacity_gbps: float
    mean_gbps: float
    p_overload_lower: float
    p_overload_upper: float

    @property
    def mean_utilization(self) -> float:
        """Mean load over capacity; infinite where a load meets no capacity."""
        if self.capacity_gbps > 0:
            return self.mean_gbps / self.capacity_gbps
        return float("inf") if self.mean_gbps > 0 else 0.0

    def __str__(self) -> str:
        return (
            f"{self.source} port {self.source_port} to {self.target}: overloaded with probability "
            f"{figure(self.p_overload_upper)}, mean load {format_number(100 * self.mean_utilization, 4)} %"
        )


@dataclass(frozen=True, eq=False)
class EcmpCollisions(Result):
    """How hashed flows meet on links, and what rate that leaves them.

    Rates are shares of a flow's own wanted rate, one direction. ``mean_equal_share`` divides every link evenly among
    its flows, which wastes what other bottlenecks leave free, so that it bounds ``mean_rate`` (max-min fair) from
    below. ``slowest_rate`` is the mean rate of the slowest flow, ``slowdown`` the mean of max(1, largest load over
    capacity): the time of the last of equal transfers over the time without sharing. A collision is two queue pairs
    hashed onto one link; it costs rate only where the link is overloaded. Statistics are over flows that have a path;
    ``lost_flows`` counts the others.
    """

    fabric_name: str
    demand: str
    routing: str
    hashing: str
    flows: int
    lost_flows: int
    lost_pairs: tuple[tuple[str, str], ...]
    idle_flows: int
    queue_pairs: int
    flow_gbps: float | None
    mean_rate: Estimate | None
    mean_equal_share: Estimate | None
    mean_striped: Estimate | None
    slowest_rate: Estimate | None
    slowdown: Estimate | None
    p_no_overload: Estimate
    p_no_collision: Estimate | None
    tiers: tuple[TierLoads, ...]
    worst_links: tuple[LinkLoad, ...]
    worst_alike: int
    samples: int
    seed: int
    looks: tuple[Look, ...]
    assumptions: tuple[str, ...]
    arc_mean_gbps: NDArray[np.float64] = hidden()
    arc_p_overload: NDArray[np.float64] = hidden()
    slowest_samples: NDArray[np.float64] = hidden()
    slowest_law: tuple[tuple[float, float, float, float], ...] = hidden()
    laws: ArcLaws | None = hidden()
    fabric: Fabric = hidden()

    title: ClassVar[str] = "ECMP collisions"

    def rows(self) -> list[Row]:
        """Rates first, then probabilities, tiers, worst links, assumptions."""
        flow = f" at {format_gbps(self.flow_gbps)}" if self.flow_gbps else " of several rates"
        out = [
            Row("fabric", self.fabric_name),
            Row("flows", f"{self.flows:,}{flow}, {self.demand}"),
            Row("queue pairs a flow", self.queue_pairs),
            Row("routing and hashing", f"{self.routing}; {self.hashing}"),
        ]
        if self.lost_flows:
            first = ", ".join(f"{a} to {b}" for a, b in self.lost_pairs[:3])
            out.append(Row("flows without a path, in no mean below", f"{self.lost_flows:,}: first {first}"))
        rates: list[tuple[str, Estimate | None]] = [
            ("mean rate of a flow, max-min fair", self.mean_rate),
            ("mean rate of a flow, equal share of each link", self.mean_equal_share),
            ("mean rate of a flow that waits for its slowest queue pair", self.mean_striped),
            ("mean rate of the slowest flow", self.slowest_rate),
        ]
        out += [Row(label, value.text(100), "% of its rate", value.standing) for label, value in rates if value]
        others: list[tuple[str, Estimate | None]] = [
            ("mean slowdown of equal transfers", self.slowdown),
            ("probability that no link is overloaded", self.p_no_overload),
            ("probability of no collision", self.p_no_collision),
        ]
        out += [Row(label, value.text(), "", value.standing) for label, value in others if value]
        out += [Row(f"{tier.name}", tier.text(), "queue pairs", tier.standing) for tier in self.tiers]
        for i, link in enumerate(self.worst_links, start=1):
            out.append(Row(f"worst link {i}", str(link)))
        if self.worst_alike > len(self.worst_links):
            out.append(Row("links as bad as the worst", self.worst_alike))
        if self.looks:
            shown = ", ".join(f"{look.samples}: {format_number(100 * look.half_width, 3)} %" for look in self.looks)
            out.append(Row("half-width of the sampled mean, by samples", f"{shown} (seed {self.seed})"))
        out += [Row("assumption", text) for text in self.assumptions]
        return out

    def load_pmf(self, arc: int) -> NDArray[np.float64]:
        """P(arc carries j queue pairs), j = 0, 1, ...: exact; what is left out has probability below 1e-14.

        Arc 2 * link goes from end A of the link to end B, arc 2 * link + 1 back.

        :raises ParameterError: the laws are not known here (a real hash, or opened hosts), or no such arc.
        """
        if self.laws is None:
            raise ParameterError("laws of single links are known for independent hashes between closed hosts only")
        if not 0 <= arc < len(self.laws.signature):
            raise ParameterError(f"arc {arc} is outside 0..{len(self.laws.signature) - 1}")
        return self.laws.pmf(arc)

    def to_dict(self) -> dict[str, Any]:
        """The usual, with each link's utilization."""
        out = super().to_dict()
        for record, link in zip(out["worst_links"], self.worst_links, strict=True):
            finite = np.isfinite(link.mean_utilization)
            record["mean_utilization"] = link.mean_utilization if finite else None
        return out
