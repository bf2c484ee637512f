"""The numbers by which fabrics are told apart: equipment, power, price, distance, and what arrives."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from topo.design.carried import bisection_numbers, carried_numbers, planes_of, tried
from topo.design.planning import cabling_plan
from topo.design.prices import PriceList, price_list
from topo.fabric import Fabric
from topo.progress import part
from topo.result import Standing
from topo.units import format_number

if TYPE_CHECKING:
    from topo.analysis.tiers import SwitchGroup

__all__ = ["FabricNumbers", "numbers_of", "share_text"]


@dataclass(frozen=True)
class FabricNumbers:
    """What one fabric is made of, costs and carries; None where it could not be computed, ``missing`` says why.

    Rates are shares of the endpoints' line rate, one direction: ``even_share`` of an all-to-all whose flows divide
    over all shortest paths (at most 1), ``hashed_share`` the mean of random permutations with one hashed path a flow
    in every plane, ``hashed_margin`` half its 95 % confidence interval, ``n1_share`` the part of ``even_share`` that
    the worst single switch or cable between switches leaves to those still joined, ``n1_cut_off`` the endpoints that
    the worst single switch cuts off. ``joined_share``
    is the share of pairs of endpoints that the network joins without a relay in a host. ``power_kw`` and ``price`` are
    those of switches, cables and optics, without hosts; ``unpriced`` names what the price list leaves out.
    """

    name: str
    made_by: str
    n_endpoints: int
    n_hosts: int
    n_tiers: int
    n_planes: int
    switches: dict[str, int]
    n_switches: int
    link_gbps: tuple[float, ...]
    endpoint_gbps: float | None
    n_host_links: int
    n_fabric_links: int
    n_cables: int | None
    cables: dict[str, int]
    n_copper: int | None
    n_optical: int | None
    n_transceivers: int | None
    power_kw: float | None
    price: float | None
    currency: str
    price_standing: Standing
    unpriced: tuple[str, ...]
    diameter_hops: int | None
    mean_hops: float | None
    bisection_lower_gbps: float | None
    bisection_upper_gbps: float | None
    full_gbps: float | None
    bisection_standing: Standing | None
    even_share: float | None
    hashed_share: float | None
    hashed_margin: float | None
    hashed_standing: Standing | None
    n1_share: float | None
    n1_cut_off: int | None
    n1_standing: Standing | None
    n1_worst: str
    joined_share: float | None
    missing: dict[str, str] = field(default_factory=dict)

    @property
    def bisection_share(self) -> tuple[float, float] | None:
        """The bracket of the bisection as shares of full bisection."""
        if self.bisection_lower_gbps is None or self.bisection_upper_gbps is None or not self.full_gbps:
            return None
        return self.bisection_lower_gbps / self.full_gbps, self.bisection_upper_gbps / self.full_gbps


def numbers_of(fabric: Fabric, *, prices: PriceList | str | Path | None = None, seed: int = 0) -> FabricNumbers:
    """All numbers of a fabric; nothing fails as a whole, what cannot be computed is None with its reason.

    >>> import topo
    >>> found = numbers_of(topo.leaf_spine(leaves=4, spines=4, hosts_per_leaf=4))
    >>> found.n_switches, found.n_cables, found.bisection_share, found.even_share, found.n1_cut_off
    (8, 32, (1.0, 1.0), 1.0, 4)
    """
    from topo.analysis.inventory import inventory

    given = price_list(prices)
    missing: dict[str, str] = {}
    parts = inventory(fabric)
    with part("equipment and price", 0.1):
        made = _equipment(fabric, given, missing)
    with part("bisection", 0.2):
        made |= bisection_numbers(fabric, missing, seed)
    with part("rates under loads and failures", 1.0):
        made |= carried_numbers(fabric, missing, seed)
    rates = fabric.links.capacity_gbps[np.isfinite(fabric.links.capacity_gbps)]
    every = parts.n_endpoints * (parts.n_endpoints - 1) // 2
    reached = sum(parts.paths.pairs_by_hops.values())
    inject = parts.injection_gbps
    return FabricNumbers(
        name=fabric.name,
        made_by=fabric.origin.made_by,
        n_endpoints=parts.n_endpoints,
        n_hosts=parts.n_hosts,
        n_tiers=len({group.tier for group in parts.switch_groups}),
        n_planes=max(1, len(planes_of(fabric))),
        switches=_by_tier(parts.switch_groups),
        n_switches=parts.n_switches,
        link_gbps=tuple(float(rate) for rate in np.unique(rates)),
        endpoint_gbps=inject / parts.n_endpoints if inject and parts.n_endpoints else None,
        n_host_links=parts.n_host_links,
        n_fabric_links=parts.n_fabric_links,
        diameter_hops=parts.paths.diameter_hops,
        mean_hops=parts.paths.mean_hops,
        joined_share=reached / every if every else None,
        currency=given.currency,
        missing=missing,
        **made,  # type: ignore[arg-type]
    )


def _by_tier(groups: Iterable[SwitchGroup]) -> dict[str, int]:
    out: dict[str, int] = {}
    for group in groups:
        name = f"{group.tier_name} {group.part}".rstrip()
        out[name] = out.get(name, 0) + group.n_switches
    return out


def _equipment(fabric: Fabric, prices: PriceList, missing: dict[str, str]) -> dict[str, object]:
    """Cables, optics, power and price, of the network alone."""
    plan = tried(missing, "cables, power and price", lambda: cabling_plan(fabric, prices=prices))
    standing = Standing("model", prices.title or "the price list")
    if plan is None:
        nothing = dict.fromkeys(("n_cables", "n_copper", "n_optical", "n_transceivers", "power_kw", "price"))
        return {**nothing, "cables": {}, "price_standing": standing, "unpriced": ()}
    lines = [line for line in plan.bill.lines if line.group != "server"]
    cables: dict[str, int] = {}
    for line in lines:
        if line.group == "cable":
            cables[line.item] = cables.get(line.item, 0) + line.count
    copper = sum(count for item, count in cables.items() if "copper" in item)
    unpriced = tuple(dict.fromkeys(line.item for line in lines if line.unit_price is None))
    if unpriced:
        standing = Standing("lower bound", f"without {', '.join(unpriced)}, which the price list leaves out")
    return {
        "n_cables": plan.n_cables,
        "cables": cables,
        "n_copper": copper,
        "n_optical": sum(cables.values()) - copper,
        "n_transceivers": sum(line.count for line in lines if line.group == "transceiver"),
        "power_kw": sum(line.power_kw for line in lines),
        "price": sum(line.price or 0.0 for line in lines),
        "price_standing": standing,
        "unpriced": unpriced,
    }


def share_text(share: float | None) -> str:
    """A share as percent; '-' for none.

    >>> share_text(0.4100), share_text(None)
    ('41 %', '-')
    """
    return "-" if share is None or not math.isfinite(share) else f"{format_number(100 * share, 3)} %"
