"""The main numbers of a report: a dozen lines, and the same in one sentence."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from topo.errors import TopoError
from topo.fabric import Fabric
from topo.network import Network
from topo.result import Row, Standing
from topo.units import format_gbps, format_number
from topo.view.text import plural

if TYPE_CHECKING:
    from topo.analysis.bisection import Bisection
    from topo.analysis.inventory import Inventory
    from topo.analysis.oversubscription import Oversubscription

__all__ = ["endpoint_gbps", "headline", "main_rows", "share_of_full"]


def endpoint_gbps(fabric: Fabric) -> tuple[float, float]:
    """Least and largest rate of an endpoint's own links together, Gb/s one direction; nan where unknown.

    The links of an accelerator to its host's CPU and adapters do not count where it has others: what they carry
    leaves the host through the adapters or not at all.

    >>> import topo
    >>> endpoint_gbps(topo.fat_tree(4)), endpoint_gbps(topo.load("nvidia-gb200-nvl72"))
    ((400.0, 400.0), (7200.0, 7200.0))
    """
    network = Network.of(fabric)
    beyond = [kind for kind in network.kinds if kind not in ("host_io", "internal")]
    network = Network.of(fabric, kinds=beyond) if beyond else network
    rates = fabric.links.capacity_gbps[network.links]
    total = np.bincount(network.a, weights=rates, minlength=len(fabric.nodes))
    total += np.bincount(network.b, weights=rates, minlength=len(fabric.nodes))
    mine = total[fabric.endpoints]
    if not mine.size or np.isnan(mine).any():
        return math.nan, math.nan
    return float(mine.min()), float(mine.max())


def share_of_full(answer: Bisection) -> str:
    """The bracket over full bisection, in per cent."""
    high = format_number(100 * answer.ratio, 4)
    return f"{high} %" if answer.exact else f"{format_number(100 * answer.ratio_lower, 4)} to {high} %"


def _rate_text(fabric: Fabric) -> str:
    """What one endpoint can send, for the end of a phrase."""
    low, high = endpoint_gbps(fabric)
    if math.isnan(low):
        return " of unknown rate" if len(fabric.endpoints) else ""
    own = format_gbps(low) if low == high else f"{format_gbps(low)} to {format_gbps(high)}"
    out = _adapters_gbps(fabric)
    if math.isnan(out):
        return f" at {own}"
    each = f"{format_gbps(out)} of adapters each"
    return f" at {own} of scale-up, {each}" if high > 0 else f" with {each}"


def _adapters_gbps(fabric: Fabric) -> float:
    """Rate of the scale-out cables of the hosts over their accelerators; nan where endpoints hold their own cables."""
    nodes, access = fabric.nodes, fabric.links.kind.is_any("access")
    inside = np.zeros(len(nodes.host.labels) + 1, bool)
    inside[nodes.host.codes[nodes.is_endpoint]] = True
    inside[-1] = False
    ends = [end[access] for end in (fabric.link_a, fabric.link_b)]
    own = [inside[nodes.host.codes[end]] & (nodes.tier[end] <= 0) for end in ends]
    if not (own[0] | own[1]).any() or any(
        (nodes.is_endpoint[end] & mine).any() for end, mine in zip(ends, own, strict=True)
    ):
        return math.nan
    return float(fabric.links.capacity_gbps[access][own[0] | own[1]].sum()) / len(fabric.endpoints)


def headline(fabric: Fabric, bisection: Bisection | TopoError) -> str:
    """Endpoints, switches and bisection in one sentence."""
    said = [
        plural(len(fabric.endpoints), "endpoint") + _rate_text(fabric),
        _switches_text(fabric),
    ]
    if isinstance(bisection, TopoError):
        said.append("bisection bandwidth not computed")
    elif bisection.exact:
        rate = format_gbps(bisection.upper_gbps)
        said.append(f"{_what(fabric, bisection)} {rate} one direction, exact, {share_of_full(bisection)} of full")
    else:
        low, high = format_gbps(bisection.lower_gbps), format_gbps(bisection.upper_gbps)
        share = share_of_full(bisection)
        said.append(f"{_what(fabric, bisection)} between {low} and {high} one direction, {share} of full")
    return "; ".join(said) + "."


def _switches_text(fabric: Fabric) -> str:
    """Switches, or the switch chips of scale-up domains where there is nothing else."""
    chips = int(fabric.nodes.kind.is_any("scale_up_switch").sum())
    if chips and not len(fabric.switches):
        return f"{chips:,} scale-up switch" + ("es" if chips > 1 else "")
    return plural(len(fabric.switches), "switch")


def _what(fabric: Fabric, bisection: Bisection) -> str:
    if bisection.n_endpoints == len(fabric.endpoints):
        return "bisection"
    return f"bisection of the {bisection.n_endpoints:,} endpoints asked about"


def main_rows(
    fabric: Fabric,
    inventory: Inventory | TopoError,
    oversubscription: Oversubscription | TopoError,
    bisection: Bisection | TopoError,
) -> list[Row]:
    """The main numbers line by line, each with unit, direction and standing."""
    counted = Standing("exact", "counted")
    rows = [Row("endpoints", f"{len(fabric.endpoints):,}{_rate_text(fabric)}", standing=counted)]
    if not isinstance(inventory, TopoError):
        tiers = ", ".join(f"{group.n_switches:,} {group.tier_name}" for group in inventory.switch_groups)
        switches = f"{inventory.switches_text} ({tiers})" if tiers else inventory.switches_text
        rows += [
            Row("hosts", inventory.n_hosts, standing=counted),
            Row("switches", switches, standing=counted),
            Row("links", _links_text(inventory), standing=counted),
        ]
        if inventory.n_one_sided_links:
            told = Standing("warning", "they count as carrying nothing unless --one-sided takes them as there")
            rows.append(Row("links one end reports", inventory.n_one_sided_links, standing=told))
        if inventory.injection_gbps is not None:
            rows += inventory.injection_rows("one direction")
    if not isinstance(oversubscription, TopoError):
        from topo.analysis.oversubscription import format_ratio

        ratios = [tier for tier in oversubscription.tiers if tier.ratio is not None]
        how = Standing("exact", "all down over all up capacity")
        rows += [
            Row(f"oversubscription, {t.tier_name}", format_ratio(t.down_gbps, t.up_gbps), standing=how) for t in ratios
        ]
    if not isinstance(inventory, TopoError) and inventory.paths.diameter_hops is not None:
        rows.append(Row("diameter", inventory.paths.diameter_hops, "hops", inventory.paths.standing))
    return rows + _bisection_rows(fabric, bisection)


def _links_text(inventory: Inventory) -> str:
    hosts, between, inside = inventory.n_host_links, inventory.n_fabric_links, inventory.n_inside_host_links
    joining = sum(pair.n_links for pair in inventory.tier_pairs if pair.lower == pair.upper == "endpoint")
    direct = min(joining, inventory.n_service_links)  # not those inside a host or a scale-up domain
    others = [f"{direct:,} from host to host"] * bool(direct)
    others += [f"{inside:,} inside hosts and scale-up domains"] * bool(inside)
    told = [f"{hosts:,} to hosts", f"{between:,} between switches"] if hosts or between or not others else []
    return ", ".join(told + others)


def _sent_text(fabric: Fabric, answer: Bisection) -> str:
    """Injection of the kind that leaves what the split keeps whole: over scale-up links, out of hosts, or both."""
    network = Network.of(fabric, kinds=answer.kinds)
    kept = {"host": fabric.nodes.host, "domain": fabric.nodes.domain, "pod": fabric.nodes.pod}.get(answer.keep)
    outside = np.ones(len(network.links), bool)
    if kept is not None:
        one, other = kept.codes[network.a], kept.codes[network.b]
        outside = (one != other) | (one < 0)
    scale_up = fabric.links.kind.is_any("scale_up")[network.links]
    out = ~scale_up & ~fabric.links.kind.is_any("host_io", "internal")[network.links]
    if not scale_up.any():
        return "injection"
    words = [word for word, mask in (("scale-up", scale_up), ("scale-out", out)) if (mask & outside).any()]
    return f"{' and '.join(words)} injection" if words else "injection"


def _bisection_rows(fabric: Fabric, answer: Bisection | TopoError) -> list[Row]:
    if isinstance(answer, TopoError):
        return [Row("bisection, one direction", "not computed", standing=Standing("none", str(answer)))]
    asked = []
    if answer.n_endpoints != len(fabric.endpoints):
        asked = [Row("bisection is of", f"{answer.n_endpoints:,} endpoints", standing=Standing("given", "as asked"))]
    if answer.exact:
        rows = [Row("bisection, one direction", answer.upper_gbps, "Gb/s", Standing("exact", "the bounds meet"))]
    else:
        rows = [
            Row("bisection, at least", answer.lower_gbps, "Gb/s", Standing("lower bound", answer.lower_how)),
            Row("bisection, at most", answer.upper_gbps, "Gb/s", Standing("upper bound", answer.upper_how)),
        ]
    kind = "exact" if answer.exact else "bracket"
    what = _sent_text(fabric, answer)
    full = Standing(kind, f"full is {format_gbps(answer.full_gbps)}, the smaller half's {what}")
    return [*asked, *rows, Row("share of full bisection", share_of_full(answer), standing=full)]
