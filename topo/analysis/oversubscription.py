"""Where a fabric narrows: down over up capacity of every switch below the top."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from topo.analysis.tiers import tier_name
from topo.fabric import FORWARDS_OWN_HOST, Fabric, State
from topo.network import Network
from topo.result import Result, Row, Standing, hidden
from topo.table import Array, freeze
from topo.units import format_gbps, format_number
from topo.view.text import plural

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Narrowest", "Oversubscription", "TierOversubscription", "format_ratio", "oversubscription"]

_COUNTED = Standing("exact", "counted")
_MOST_NAMED = 100
_MOST_PRINTED = 8


def format_ratio(down: float, up: float) -> str:
    """Down over up as people write it, in whole numbers where those are small.

    >>> format_ratio(12800, 6400), format_ratio(4000, 3800), format_ratio(1000, 1000), format_ratio(800, 0)
    ('2:1', '20:19', '1:1', 'cut off')
    """
    if up == 0:
        return "cut off" if down > 0 else "nothing below or above"
    ratio = down / up
    simple = Fraction(ratio).limit_denominator(99)
    if ratio >= 1 and abs(float(simple) - ratio) <= 1e-12 * ratio and simple.numerator < 1000:
        return f"{simple.numerator}:{simple.denominator}"
    return f"{format_number(ratio, 4)}:1"


@dataclass(frozen=True, slots=True)
class Narrowest:
    """One switch by name with its capacities, one direction."""

    row: int
    name: str
    down_gbps: float
    up_gbps: float
    ratio: float


@dataclass(frozen=True, slots=True)
class TierOversubscription:
    """One tier: least, mean and largest ratio of its switches that have something below and something above.

    ``n_top`` switches are the top of their part of the network, ``n_cut_off`` have endpoints or switches
    below and no uplink though others of their part have a tier above, ``n_idle`` have nothing below.
    ``ratio`` is total down over total up of the switches below the top. ``within_gbps`` is on links inside
    the tier, each counted once.
    """

    tier: int
    tier_name: str
    n_switches: int
    n_top: int
    n_cut_off: int
    n_idle: int
    down_gbps: float
    up_gbps: float
    within_gbps: float
    ratio: float | None
    ratio_min: float | None
    ratio_mean: float | None
    ratio_max: float | None
    n_narrowest: int
    narrowest: tuple[Narrowest, ...]


@dataclass(frozen=True, eq=False)
class Oversubscription(Result):
    """Down over up capacity, tier by tier; 1.0 is non-blocking, above 1 the uplinks are the narrow side.

    ``switches``, ``switch_down_gbps`` and ``switch_up_gbps`` hold every switch. A ratio says nothing about
    how traffic spreads over the uplinks, nor about what other tiers let through.
    """

    fabric: str
    kinds: tuple[str, ...]
    tiers: tuple[TierOversubscription, ...]
    worst_ratio: float | None
    n_one_sided_links: int
    """Links that only one end reported; they count neither down nor up."""
    assumed: str
    """Which rates the caller stated for links without one; '' where none."""
    switches: NDArray[np.int64] = hidden()
    switch_down_gbps: NDArray[np.float64] = hidden()
    switch_up_gbps: NDArray[np.float64] = hidden()

    title: ClassVar[str] = "Oversubscription, down over up capacity"

    def rows(self) -> list[Row]:
        """A few lines for each tier."""
        rows: list[Row] = []
        for tier in self.tiers:
            rows += _tier_rows(tier, self.standing)
        if self.n_one_sided_links:
            rows.append(Row("links only one end reported, left out", self.n_one_sided_links, standing=_COUNTED))
        return rows or [Row("switches", "none")]

    @property
    def standing(self) -> Standing:
        """Exact, with the assumed rates and the links left out where there are such."""
        left_out = f"without {plural(self.n_one_sided_links, 'link')} that only one end reported"
        return Standing("exact", "summed").given(left_out if self.n_one_sided_links else "").given(self.assumed)

    def to_frame(self) -> pd.DataFrame:
        """One line a tier with its numbers: ratios as down over up, capacities in Gb/s one direction."""
        import pandas as pd

        names = [f.name for f in fields(TierOversubscription) if f.name != "narrowest"]
        frame = pd.DataFrame([[getattr(tier, name) for name in names] for tier in self.tiers], columns=names)
        return frame.assign(standing=str(self.standing))


def _tier_rows(tier: TierOversubscription, standing: Standing) -> list[Row]:
    name = tier.tier_name
    whole = name if name.startswith("tier") else f"{name} tier"
    rows: list[Row] = []
    if tier.ratio is not None:
        capacity = f"{format_gbps(tier.down_gbps)} down, {format_gbps(tier.up_gbps)} up"
        ratio = f"{format_ratio(tier.down_gbps, tier.up_gbps)}  ({capacity})"
        rows.append(Row(whole, ratio, standing=standing))
    narrowest = [switch.name for switch in tier.narrowest[:_MOST_PRINTED]]
    names = ", ".join(narrowest + ["..."] * (tier.n_narrowest > len(narrowest)))
    low, mean, high = tier.ratio_min, tier.ratio_mean, tier.ratio_max
    if low is not None and mean is not None and high is not None and low != high:
        spread = f"{format_ratio(low, 1)} to {format_ratio(high, 1)}, mean {format_number(mean, 4)}:1"
        rows.append(Row(f"{name} switches", spread, standing=standing))
        if not tier.n_cut_off:
            rows.append(Row(f"narrowest {name} switches", f"{tier.n_narrowest:,}: {names}", standing=standing))
    if tier.n_top:
        all_of_them = tier.n_top == tier.n_switches
        label = f"{name} switches" if all_of_them else f"{name} switches at the top"
        rows.append(Row(label, f"{tier.n_top:,}, top", standing=_COUNTED))
    if tier.n_cut_off:
        rows.append(Row(f"{name} switches without any uplink", f"{tier.n_cut_off:,}: {names}", standing=_COUNTED))
    if tier.n_idle:
        rows.append(Row(f"{name} switches with nothing below", tier.n_idle, standing=_COUNTED))
    if tier.within_gbps:
        rows.append(
            Row(f"links inside {whole if whole == name else f'the {whole}'}", tier.within_gbps, "Gb/s", standing)
        )
    return rows


def oversubscription(
    fabric: Fabric, *, kinds: Sequence[str] | None = None, state: State | None = None
) -> Oversubscription:
    """Down over up capacity of every switch below the top of its part of the network, from its links.

    ratio(s) = sum of capacities to endpoints and lower tiers / sum of capacities to higher tiers, both in
    Gb/s one direction. A leaf of 32 x 400G down and 16 x 400G up has 12.8 against 6.4 Tb/s, 2:1. Parts of
    hosts count as below; aggregation and manager nodes do not. A switch whose tier is the highest of its part
    is the top.

    >>> import topo
    >>> found = oversubscription(topo.leaf_spine(leaves=4, spines=8, hosts_per_leaf=32, parallel=2))
    >>> found.worst_ratio, found.tiers[0].down_gbps, found.tiers[0].up_gbps
    (2.0, 51200.0, 25600.0)
    >>> print(found)
    Oversubscription, down over up capacity
      leaf tier       2:1  (51.2 Tb/s down, 25.6 Tb/s up)  (exact: summed)
      spine switches  8, top  (exact: counted)

    :raises InputError: a link of unknown rate.
    :raises ParameterError: an unknown link kind.
    """
    network = Network.of(fabric, kinds=kinds, state=state)
    nodes = fabric.nodes
    switch = nodes.kind.is_any("switch") & ~nodes.is_endpoint
    below = (nodes.is_endpoint | (nodes.forwards == FORWARDS_OWN_HOST)) & ~switch
    height = np.where(switch, nodes.tier.astype(np.int64), -2)
    rates = network.capacity_gbps
    source, target = np.concatenate([network.a, network.b]), np.concatenate([network.b, network.a])
    rate = np.concatenate([rates, rates])
    n = len(nodes)
    down_arc = below[target] | (switch[target] & (height[target] < height[source]))
    up_arc = switch[target] & (height[target] > height[source])
    level_arc = switch[target] & (height[target] == height[source])
    down = np.bincount(source[down_arc], weights=rate[down_arc], minlength=n)
    up = np.bincount(source[up_arc], weights=rate[up_arc], minlength=n)
    level = np.bincount(source[level_arc], weights=rate[level_arc], minlength=n) / 2
    rows = np.flatnonzero(switch)
    if state is not None and state.node_present is not None:
        rows = rows[state.node_present[rows]]
    top = height[rows] == _highest(network, switch, height)[rows]
    tiers = tuple(
        _tier(fabric, int(tier), rows[height[rows] == tier], top[height[rows] == tier], down, up, level)
        for tier in np.unique(height[rows])
    )
    ratios = [tier.ratio_max for tier in tiers if tier.ratio_max is not None]
    cut_off = any(tier.n_cut_off for tier in tiers)
    return Oversubscription(
        fabric.name,
        network.kinds,
        tiers,
        float("inf") if cut_off else max(ratios, default=None),
        int((fabric.links.evidence.is_any("one end") & fabric.links.kind.is_any(*network.kinds)).sum()),
        fabric.origin.assumed,
        freeze(rows),
        freeze(down[rows]),
        freeze(up[rows]),
    )


def _highest(network: Network, switch: Array, height: Array) -> Array:
    """Highest tier of the part of the switches' graph each node is in."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    n = len(switch)
    both = switch[network.a] & switch[network.b]
    a, b = network.a[both], network.b[both]
    _, part = connected_components(csr_array((np.ones(len(a), np.int8), (a, b)), shape=(n, n)), directed=False)
    highest = np.full(n, -2, np.int64)
    np.maximum.at(highest, part[switch], height[switch])
    result: Array = highest[part]
    return result


def _tier(
    fabric: Fabric, tier: int, rows: Array, top: Array, down: Array, up: Array, level: Array
) -> TierOversubscription:
    below = rows[~top]
    idle = below[down[below] == 0]
    cut_off = below[(down[below] > 0) & (up[below] == 0)]
    whole = below[(down[below] > 0) & (up[below] > 0)]
    ratio = down[whole] / up[whole]
    narrowest = cut_off
    if not len(cut_off) and len(whole):
        narrowest = whole[ratio >= ratio.max() * (1 - 1e-12)]
    total_down, total_up = float(down[below].sum()), float(up[below].sum())
    named = tuple(
        Narrowest(
            int(row),
            str(fabric.nodes.name[row]),
            float(down[row]),
            float(up[row]),
            float(down[row] / up[row]) if up[row] else float("inf"),
        )
        for row in narrowest[:_MOST_NAMED]
    )
    return TierOversubscription(
        tier,
        tier_name(tier),
        len(rows),
        int(top.sum()),
        len(cut_off),
        len(idle),
        total_down,
        total_up,
        float(level[rows].sum()),
        total_down / total_up if total_up else None,
        float(ratio.min()) if len(ratio) else None,
        float(ratio.mean()) if len(ratio) else None,
        float(ratio.max()) if len(ratio) else None,
        len(narrowest),
        named,
    )
