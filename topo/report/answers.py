"""Sections that each show one answer, or say in its place why there is none and what to do about it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from topo.errors import DisconnectedError, InputError, TopoError
from topo.report.content import Facts, Grid, Picture, Section, Text
from topo.report.cut import cut_grids, sides
from topo.result import Row, Standing
from topo.units import format_gbps, format_number
from topo.view.family import draw_fabric
from topo.view.text import plural, sentence

if TYPE_CHECKING:
    from topo.analysis.bisection import Bisection
    from topo.analysis.inventory import Inventory
    from topo.analysis.oversubscription import Oversubscription, TierOversubscription
    from topo.analysis.paths import Paths
    from topo.fabric import Fabric

__all__ = [
    "bisection_section",
    "inventory_section",
    "oversubscription_section",
    "paths_section",
    "why_not",
]

_MOST_NAMES = 6


def why_not(error: TopoError) -> list[Text | Grid]:
    """Why a number could not be computed, and the way out."""
    said: list[Text | Grid] = [Text(f"Not computed: {error}", "warning")]
    if isinstance(error, DisconnectedError) and error.component_sizes:
        sizes = error.component_sizes
        rows = tuple((f"{i:,}", f"{size:,}") for i, size in enumerate(sizes[:12], 1))
        note = f"{plural(len(sizes) - 12, 'more part')}." if len(sizes) > 12 else ""
        said.append(Grid(("part", "endpoints"), rows, "Parts that no path joins", note))
        said.append(Text("Ask for one part with endpoints=... (names, globs, rows), or mend the cabling first."))
    elif isinstance(error, InputError):
        said.append(
            Text(
                "A link of unknown rate is never taken as 0 or as infinite. State a rate for such links when "
                "reading: assume_gbps=400 in Python, --assume-gbps 400 on the command line."
            )
        )
    return said


def inventory_section(answer: Inventory | TopoError) -> Section:
    """What the fabric is made of: counts, switches by tier and part with their ports, links by tier pair."""
    if isinstance(answer, TopoError):
        return Section("inventory", "Inventory", why_not(answer))
    apart = ("fabric", "note", "links", "cables", "host links", "fabric links")
    taken = {row.label for row in answer.paths.rows()} | set(apart)
    plain = [row for row in answer.rows() if row.label not in taken and not _in_a_grid(row.label, answer)]
    numbers = {
        "host links (endpoint or adapter to switch)": answer.n_host_links,
        "fabric links (switch to switch)": answer.n_fabric_links,
        "links of every kind": answer.n_links,
        "cables (a breakout is one)": answer.n_cables,
    }
    counts = [Row(label, n, standing=Standing("exact", "counted")) for label, n in numbers.items()]
    items: list[Text | Facts | Grid] = [Facts((*plain, *counts))]
    if answer.switch_groups:
        items.append(_switch_grid(answer))
    if answer.tier_pairs or answer.one_sided_pairs:
        pairs = tuple(
            (
                f"{pair.lower} - {pair.upper}",
                f"{pair.n_links:,}",
                "unknown" if pair.capacity_gbps is None else format_gbps(pair.capacity_gbps),
            )
            for pair in answer.tier_pairs
        )
        alone = tuple(
            (f"{pair.lower} - {pair.upper}, only one end reports", f"{pair.n_links:,}", "left out")
            for pair in answer.one_sided_pairs
        )
        items.append(Grid(("between", "links", "one direction"), (*pairs, *alone), "Links by tier"))
    items += [Text(sentence(note), "warning") for note in answer.notes]
    return Section("inventory", "Inventory", items)


def _in_a_grid(label: str, answer: Inventory) -> bool:
    groups = {f"{group.tier_name} switches {group.part}".rstrip() for group in answer.switch_groups}
    return label in groups or label in {f"{pair.lower} to {pair.upper}" for pair in answer.tier_pairs}


def _switch_grid(answer: Inventory) -> Grid:
    rows = tuple(
        (
            group.tier_name,
            group.part or "-",
            f"{group.n_switches:,}",
            f"{group.n_ports:,}",
            f"{group.n_used_ports:,}",
            f"{group.n_free_ports:,}",
            "unknown" if group.port_gbps is None else format_gbps(group.port_gbps),
        )
        for group in answer.switch_groups
    )
    head = ("tier", "part", "switches", "ports", "used", "free", "rate of most ports")
    return Grid(head, rows, "Switches and their ports", "A port is used when a cable of any kind is in it.")


def oversubscription_section(answer: Oversubscription | TopoError) -> Section:
    """Down over up capacity of each tier, and the narrowest switches by name."""
    if isinstance(answer, TopoError):
        return Section("oversubscription", "Oversubscription", why_not(answer))
    from topo.analysis.oversubscription import format_ratio

    rows = []
    for tier in answer.tiers:
        spread = "-"
        if tier.ratio_min is not None and tier.ratio_max is not None:
            low, high = format_ratio(tier.ratio_min, 1), format_ratio(tier.ratio_max, 1)
            spread = low if low == high else f"{low} to {high}"
        ratio = "top" if tier.ratio is None else format_ratio(tier.down_gbps, tier.up_gbps)
        down, up = ("-", "-") if tier.ratio is None else (format_gbps(tier.down_gbps), format_gbps(tier.up_gbps))
        rows.append((tier.tier_name, f"{tier.n_switches:,}", down, up, ratio, spread))
    if not rows:
        return Section("oversubscription", "Oversubscription", [Text("There are no tiers of switches to compare.")])
    head = ("tier", "switches", "down, one direction", "up", "down : up", "single switches")
    items: list[Text | Facts | Grid] = [
        Text("Down over up capacity: 1:1 is non-blocking, above it the uplinks are the narrow side."),
        Grid(head, tuple(rows)),
    ]
    items += [Text(text) for tier in answer.tiers for text in _narrow(tier)]
    return Section("oversubscription", "Oversubscription", items)


def _narrow(tier: TierOversubscription) -> Iterator[str]:
    """The narrowest switches of a tier, and those cut off, first names only."""
    names = ", ".join(switch.name for switch in tier.narrowest[:_MOST_NAMES])
    more = f" and {tier.n_narrowest - _MOST_NAMES:,} more" if tier.n_narrowest > _MOST_NAMES else ""
    if tier.ratio_min is not None and tier.ratio_min != tier.ratio_max:
        yield f"Narrowest in the {tier.tier_name} tier, {plural(tier.n_narrowest, 'switch')}: {names}{more}."
    if tier.n_cut_off:
        count = plural(tier.n_cut_off, "switch")
        yield f"In the {tier.tier_name} tier, without an uplink though a tier above is there: {count}."
    if tier.n_idle:
        yield f"In the {tier.tier_name} tier, with nothing below: {plural(tier.n_idle, 'switch')}."


def paths_section(answer: Paths | TopoError) -> Section:
    """Distances as a small bar table; path diversity by nodes and by links apart."""
    title = "Distances and paths"
    if isinstance(answer, TopoError):
        return Section("paths", title, why_not(answer))
    total = sum(answer.pairs_by_hops.values()) + answer.n_disconnected_pairs
    lines = [(f"{hops}", pairs) for hops, pairs in answer.pairs_by_hops.items()]
    if answer.n_disconnected_pairs:
        lines.append(("no path", answer.n_disconnected_pairs))
    shares = tuple(pairs / total for _, pairs in lines)
    rows = tuple(
        (hops, f"{pairs:,}", f"{format_number(100 * share, 3)} %")
        for (hops, pairs), share in zip(lines, shares, strict=True)
    )
    items: list[Facts | Grid | Text] = [
        Text("A hop is one link on a path from endpoint to endpoint; one fewer switches stand on the path."),
        Facts(tuple(row for row in answer.rows() if row.label in {"diameter", "mean distance"})),
    ]
    if rows:
        note = f"Standing: {answer.standing}."
        items.append(Grid(("hops", "endpoint pairs", "share"), rows, "How far endpoints are apart", note, shares))
    if answer.path_counts:
        items.append(_path_grid(answer))
    return Section("paths", title, items)


def _path_grid(answer: Paths) -> Grid:
    rows = tuple(
        (
            f"{count.hops_between_leaves}",
            f"{count.n_leaf_pairs:,}",
            *(format_number(v) for v in (count.node_paths_min, count.node_paths_median, count.node_paths_max)),
            *(format_number(v) for v in (count.link_paths_min, count.link_paths_median, count.link_paths_max)),
        )
        for count in answer.path_counts
    )
    head = (
        "hops between leaves", "leaf pairs",
        "paths by nodes, least", "median", "most",
        "by links, least", "median", "most",
    )  # fmt: skip
    note = "Paths by nodes differ in a switch; paths by links also where parallel cables join two switches."
    return Grid(head, rows, "Shortest paths between leaves", note)


def bisection_section(fabric: Fabric, answer: Bisection | TopoError, verdicts: tuple[str, ...]) -> Section:
    """Both bounds: the cut behind the upper one, the proof of the lower one."""
    if isinstance(answer, TopoError):
        return Section("bisection", "Bisection bandwidth", why_not(answer))
    return Section("bisection", "Bisection bandwidth", list(_bisection_items(fabric, answer, verdicts)))


def _bisection_items(
    fabric: Fabric, answer: Bisection, verdicts: tuple[str, ...]
) -> Iterator[Facts | Grid | Text | Picture]:
    kept = {"none": "each by itself", "host": "each host kept whole", "domain": "each scale-up domain kept whole"}
    kept["pod"] = "each pod kept whole"
    yield Text(
        "The least one-direction capacity across any even split of the endpoints into halves: here of "
        f"{plural(answer.n_endpoints, 'endpoint')}, {kept[answer.keep]}."
    )
    if answer.n_endpoints != len(fabric.endpoints):
        yield Text("Of the endpoints asked about alone; all other numbers of this report are of the whole fabric.")
    yield Facts(tuple(row for row in answer.rows() if row.label not in {"lower bound by", "upper bound by"}))
    yield Text(f"What proves the upper bound, an even split and the links between its halves: {answer.upper_how}.")
    yield from sides(fabric, answer.side, answer.endpoints)
    yield Picture(draw_fabric(fabric, links=answer.links.rows, links_word="cut"), "Where the cut runs")
    yield from cut_grids(fabric, answer.links)
    yield Text(f"What proves the lower bound: {answer.lower_how}.")
    for verdict in verdicts:
        yield Text(verdict)
