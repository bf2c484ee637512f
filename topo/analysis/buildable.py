"""Whether the switches of a fabric could be switches that are sold: ports and rates against the listed parts."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from topo.analysis.tiers import tier_name
from topo.fabric import Fabric, expect_fabric
from topo.parts import SWITCHES, SwitchPart, switch_part
from topo.result import Result, Row, Standing
from topo.table import Array
from topo.units import format_gbps

__all__ = ["Buildable", "SwitchUse", "buildable"]

_LISTED = Standing("exact", "against the parts that are listed")
_CABLED = ("access", "scale_out", "storage", "management")


@dataclass(frozen=True, slots=True)
class SwitchUse:
    """Switches of one tier with the same cables: what one of them carries and which listed parts could.

    ``used`` holds (ports, Gb/s) pairs, fastest first; ``parts`` is empty where no listed switch has that many, and
    ``nearest`` names one that comes closest, of ``nearest_gbps`` in all.
    """

    tier: int
    tier_name: str
    n_switches: int
    example: str
    used: tuple[tuple[int, float], ...]
    total_gbps: float
    parts: tuple[str, ...]
    nearest: str
    nearest_gbps: float

    @property
    def used_text(self) -> str:
        """The ports in words."""
        return " and ".join(f"{count:,} x {rate:g} Gb/s" for count, rate in self.used)


@dataclass(frozen=True)
class Buildable(Result):
    """Each kind of switch use in a fabric beside the listed switches that could be it.

    A port counts where a cable that leaves the box is in it. ``n_not_judged`` switches have none, or one of unknown
    rate. That no listed part fits says nothing about parts that are not listed. A modular chassis is considered only
    where a switch is said to be one.
    """

    fabric: str
    uses: tuple[SwitchUse, ...]
    n_not_judged: int

    title: ClassVar[str] = "Could its switches be built"
    derived: ClassVar[tuple[str, ...]] = ("all_buildable",)

    @property
    def all_buildable(self) -> bool:
        """Whether every judged switch could be a listed part."""
        return all(use.parts for use in self.uses)

    def rows(self) -> list[Row]:
        """A line for each tier where all fit, one for each use that fits nothing."""
        rows = []
        for tier in dict.fromkeys(use.tier for use in self.uses):
            mine = [use for use in self.uses if use.tier == tier]
            fitting = [use for use in mine if use.parts]
            if fitting:
                most = max(fitting, key=lambda use: use.total_gbps)
                n_fitting = sum(use.n_switches for use in fitting)
                rows.append(
                    Row(
                        f"{mine[0].tier_name} switches",
                        f"{n_fitting:,} could be listed parts; the fullest, {most.used_text}: {', '.join(most.parts)}",
                    )
                )
            rows += [
                Row(f"{use.tier_name} switches that no listed part could be", _refusal(use))
                for use in mine
                if not use.parts
            ]
        if self.n_not_judged:
            rows.append(
                Row("switches not judged", f"{self.n_not_judged:,}: no cable leaves them, or one of unknown rate does")
            )
        return [replace(row, standing=_LISTED) for row in rows] or [Row("switches", "none")]


def _refusal(use: SwitchUse) -> str:
    more = f" and {use.n_switches - 1:,} more" if use.n_switches > 1 else ""
    # Where the rate alone would fit, it is the ports that do not.
    ports = f", but as {switch_part(use.nearest).modes_text}" if use.total_gbps <= use.nearest_gbps else ""
    return (
        f"{use.example}{more}: {use.used_text} make {format_gbps(use.total_gbps)}; the nearest listed, {use.nearest}, "
        f"has {format_gbps(use.nearest_gbps)}{ports}"
    )


def buildable(fabric: Fabric) -> Buildable:
    """Which listed switches could be the fabric's switches, by the cables in them, breakouts counted.

    A switch fits a part when sum over rates of ports used / ports of the part at that rate is at most 1; a port
    slower than every mode takes a whole port of the next faster one. A switch of a named part is held to that part
    alone. Switches inside hosts and the links inside a chassis do not count.

    >>> import topo
    >>> found = buildable(topo.leaf_spine(leaves=4, spines=2, hosts_per_leaf=120, parallel=32))
    >>> print(found.rows()[0].value)
    leaf-1 and 3 more: 184 x 400 Gb/s make 73.6 Tb/s; the nearest listed, ethernet-51t, has 51.2 Tb/s
    >>> found.uses[1].parts
    ('ethernet-51t', 'q3400-ra', 'sn5600')
    """
    expect_fabric(fabric)
    rows = fabric.switches[fabric.nodes.host.codes[fabric.switches] < 0]
    node, rate = _cabled_ports(fabric)
    inside = ~np.isin(node, rows)
    node, rate = node[~inside], rate[~inside]
    unknown = np.unique(node[np.isnan(rate)])
    judged = np.setdiff1d(np.unique(node), unknown)
    known = np.isin(node, judged)
    rates = np.unique(rate[known])
    column = np.searchsorted(rates, rate[known])
    counts = np.zeros((len(judged), len(rates)), np.int64)
    np.add.at(counts, (np.searchsorted(judged, node[known]), column), 1)
    key = np.column_stack([fabric.nodes.tier[judged], fabric.nodes.part.codes[judged], counts])
    distinct, first, size = np.unique(key, axis=0, return_index=True, return_counts=True)
    uses = [
        _use(fabric, int(judged[i]), int(n), list(zip(rates.tolist(), row[2:].tolist(), strict=True)))
        for row, i, n in zip(distinct, first.tolist(), size.tolist(), strict=True)
    ]
    return Buildable(fabric.name, tuple(uses), len(rows) - len(judged))


def _cabled_ports(fabric: Fabric) -> tuple[Array, Array]:
    """Node and rate of each link end in a port that leaves its box; parts of the box itself are no cables."""
    leaving = fabric.links.kind.is_any(*_CABLED) & (fabric.link_a != fabric.link_b)
    aggregation = fabric.nodes.kind.is_any("aggregation")
    leaving &= ~aggregation[fabric.link_a] & ~aggregation[fabric.link_b]
    node = np.concatenate([fabric.link_a[leaving], fabric.link_b[leaving]]).astype(np.int64)
    rate = np.concatenate([fabric.links.capacity_gbps[leaving]] * 2)
    return node, rate


def _use(fabric: Fabric, row: int, n: int, counts: list[tuple[float, int]]) -> SwitchUse:
    used = tuple((count, rate) for rate, count in reversed(counts) if count)
    tier = int(fabric.nodes.tier[row])
    named = fabric.nodes.part[row]
    candidates = [part for part in SWITCHES if part.name == named]
    candidates = candidates or [part for part in SWITCHES if not part.is_chassis]
    fitting = tuple(part.name for part in candidates if _share(part, used) <= 1 + 1e-9)
    rates = {rate for _, rate in used}
    nearest = min(candidates, key=lambda part: (any(part.mode(rate) is None for rate in rates), _share(part, used)))
    total = float(sum(count * rate for count, rate in used))
    return SwitchUse(
        tier, tier_name(tier), n, str(fabric.nodes.name[row]), used, total, fitting, nearest.name, nearest.chip_gbps
    )


def _share(part: SwitchPart, used: tuple[tuple[int, float], ...]) -> float:
    """How much of the part's ports the cables take; infinite where it has none so fast."""
    share = 0.0
    for count, rate in used:
        modes = [mode for mode in part.modes if mode.gbps >= rate * (1 - 1e-9)]
        if not modes:
            return math.inf
        share += count / min(modes, key=lambda mode: mode.gbps).n_ports
    return share
