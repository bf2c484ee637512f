"""What a fabric is made of: endpoints, switches, cables, ports, tiers, and how far it reaches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from topo.analysis.attachments import attachments, network_parts
from topo.analysis.injection import injection_of, leaves_a_box, scale_out_injection_of, scale_up_injection_of
from topo.analysis.paths import Paths, paths_of
from topo.analysis.tiers import SwitchGroup, TierPair, one_sided_pairs, switch_groups, tier_pairs
from topo.fabric import FORWARDS_OWN_HOST, Fabric, State
from topo.network import Network, kinds_in_words
from topo.result import Result, Row, Standing
from topo.table import Array, Labels
from topo.units import format_gbps
from topo.view.text import plural

__all__ = ["Inventory", "count_distinct", "inventory"]

_COUNTED = Standing("exact", "counted")


@dataclass(frozen=True)
class Inventory(Result):
    """What is there, of the endpoints' own network unless other link kinds were asked for.

    ``n_links`` counts rows of the network's kinds as found: also the ``n_loopback_links`` that join a node to
    itself and the ``n_one_sided_links`` only one end reported; ``n_carrying_links`` leaves both out. Carrying
    links are host links (endpoint or adapter to switch), fabric links (switch to switch), links inside a
    host, and service links (the rest: aggregation nodes and the like). ``n_other_links`` counts links outside
    the network by kind. ``component_sizes`` are endpoints of each part of the network that relays join,
    largest first; an endpoint that touches several parts, as with separate planes, counts in each, and
    ``n_shared_endpoints`` says how many do.
    """

    fabric: str
    kinds: tuple[str, ...]
    n_endpoints: int
    n_hosts: int
    n_switches: int
    n_links: int
    n_carrying_links: int
    n_host_links: int
    n_fabric_links: int
    n_inside_host_links: int
    n_service_links: int
    n_loopback_links: int
    n_one_sided_links: int
    n_other_links: dict[str, int]
    n_cables: int
    n_used_ports: int
    n_free_ports: int
    switch_groups: tuple[SwitchGroup, ...]
    scale_up_groups: tuple[SwitchGroup, ...]
    """Switch chips of scale-up domains and hosts; ``n_switches`` and the ports above leave them out."""
    tier_pairs: tuple[TierPair, ...]
    injection_gbps: float | None
    """All endpoints sending at once, one direction; None where a rate is unknown."""
    n_unknown_rates: int
    component_sizes: tuple[int, ...]
    n_shared_endpoints: int
    n_unattached_endpoints: int
    paths: Paths
    notes: tuple[str, ...]
    one_sided_pairs: tuple[TierPair, ...] = ()
    """Links that only one end reported, by the tiers of their ends; ``tier_pairs`` leaves them out."""
    assumed: str = ""
    """Which rates the caller stated for links without one; '' where none."""
    scale_up_injection_gbps: float | None = None
    """The endpoints' own scale-up links together, one direction; None where they have none or a rate is unknown."""
    scale_out_injection_gbps: float | None = None
    """Cables out of the endpoints and of their hosts' adapters together; None as above, or where there are none."""

    title: ClassVar[str] = "Inventory"

    def rows(self) -> list[Row]:
        """Counts, then tiers, then distances."""
        rows = [
            Row("fabric", self.fabric),
            Row("links looked at", kinds_in_words(self.kinds)),
            Row("endpoints", self.n_endpoints, standing=_COUNTED),
            Row("hosts", self.n_hosts, standing=_COUNTED),
            Row("switches", self.switches_text, standing=_COUNTED),
        ]
        for group in (*self.switch_groups, *self.scale_up_groups):
            part = f" {group.part}" if group.part else ""
            text = f"{group.n_switches:,}, {group.ports_text}: {group.n_used_ports:,} used, {group.n_free_ports:,} free"
            rows.append(Row(f"{group.tier_name} switches{part}", text, standing=_COUNTED))
        rows += self._link_rows()
        rows += self.injection_rows("all endpoints at once")
        rows.append(Row("connected parts", _parts_text(self.component_sizes), standing=_COUNTED))
        rows += [Row("note", note) for note in self.notes]
        return rows + self.paths.rows()

    @property
    def n_scale_up_switches(self) -> int:
        """Switch chips of scale-up domains and hosts."""
        return sum(group.n_switches for group in self.scale_up_groups)

    @property
    def switches_text(self) -> str:
        """How many switches, and beside them switch chips of scale-up domains where there are such."""
        chips = self.n_scale_up_switches
        if not chips:
            return f"{self.n_switches:,}"
        return f"{self.n_switches:,} and {chips:,} scale-up switch chips" if self.n_switches else f"{chips:,} scale-up"

    def injection_rows(self, what: str) -> list[Row]:
        """What all endpoints can send at once: over scale-up links and out of the hosts apart where they have both."""
        if self.injection_gbps is None:
            return [Row(f"injection, {what}", f"unknown: {plural(self.n_unknown_rates, 'link')} of unknown rate")]
        if self.scale_up_injection_gbps is None:
            return [Row(f"injection, {what}", self.injection_gbps, "Gb/s", self.injection_standing)]
        of_scale_up = self.standing_of("sum of the endpoints' scale-up links")
        rows = [Row(f"scale-up injection, {what}", self.scale_up_injection_gbps, "Gb/s", of_scale_up)]
        if self.scale_out_injection_gbps is not None:
            how = self.standing_of("sum of the cables out of the endpoints and their hosts' adapters")
            rows.append(Row(f"scale-out injection, {what}", self.scale_out_injection_gbps, "Gb/s", how))
        return rows

    @property
    def injection_standing(self) -> Standing:
        """Exact, or a lower bound where links that only one end reported are left out; with the assumed rates."""
        return self.standing_of("sum of the endpoints' links")

    def standing_of(self, how: str) -> Standing:
        """The standing of a sum over links, found as ``how`` says."""
        if not self.n_one_sided_links:
            return Standing("exact", how).given(self.assumed)
        left_out = f"{plural(self.n_one_sided_links, 'link')} that only one end reported left out"
        return Standing("lower bound", f"{left_out}; {how}").given(self.assumed)

    def _link_rows(self) -> list[Row]:
        rows = [Row("links", self.n_links, standing=_COUNTED), Row("cables", self.n_cables, standing=_COUNTED)]
        named = (
            ("host links", self.n_host_links),
            ("fabric links", self.n_fabric_links),
            ("links inside hosts and scale-up domains", self.n_inside_host_links),
            ("service links", self.n_service_links),
            ("loopback cables", self.n_loopback_links),
            ("links only one end reported", self.n_one_sided_links),
        )
        rows += [Row(label, number, standing=_COUNTED) for label, number in named if number]
        for pair in self.tier_pairs:
            capacity = "capacity unknown" if pair.capacity_gbps is None else format_gbps(pair.capacity_gbps)
            standing = Standing("exact", "summed").given(self.assumed)
            rows.append(
                Row(f"{pair.lower} to {pair.upper}", f"{plural(pair.n_links, 'link')}, {capacity}", standing=standing)
            )
        for pair in self.one_sided_pairs:
            text = f"{plural(pair.n_links, 'link')}, left out of every capacity"
            rows.append(Row(f"{pair.lower} to {pair.upper}, one end only", text, standing=_COUNTED))
        others = self.n_other_links.items()
        return rows + [Row(f"{kind} links, not looked at", number, standing=_COUNTED) for kind, number in others]


def inventory(
    fabric: Fabric, *, kinds: Sequence[str] | None = None, state: State | None = None, seed: int = 0
) -> Inventory:
    """What a fabric is made of and how far it reaches, from its rows; unknown rates leave totals unknown.

    Ports count as used when a cable is in them, whatever ``state`` says; all else counts what is present.
    Distances and path counts come from :func:`topo.analysis.paths.paths`, which uses ``seed`` if it must
    sample.

    >>> import topo
    >>> found = inventory(topo.fat_tree(48))
    >>> found.n_endpoints, found.n_switches, found.n_links, found.paths.diameter_hops
    (27648, 2880, 82944, 6)

    :raises ParameterError: an unknown link kind.
    """
    network = Network.of(fabric, kinds=kinds, state=state)
    nodes = fabric.nodes
    present = np.ones(len(nodes), bool)
    if state is not None and state.node_present is not None:
        present = state.node_present
    endpoints = fabric.endpoints[present[fabric.endpoints]]
    switches = fabric.switches[present[fabric.switches]]
    rates = (state or State()).link_capacity_gbps(fabric)[network.links]
    groups = switch_groups(fabric, switches)
    attached = attachments(network)
    sizes, shared, unattached = network_parts(attached)
    scale_up = scale_up_injection_of(network, rates)
    return Inventory(
        fabric=fabric.name,
        kinds=network.kinds,
        n_endpoints=len(endpoints),
        n_hosts=count_distinct(nodes.host.codes[endpoints]),
        n_switches=len(switches),
        **_link_counts(network, state),
        n_used_ports=sum(group.n_used_ports for group in groups),
        n_free_ports=sum(group.n_free_ports for group in groups),
        switch_groups=groups,
        scale_up_groups=switch_groups(fabric, np.flatnonzero(nodes.kind.is_any("scale_up_switch") & present)),
        tier_pairs=tier_pairs(network, rates),
        injection_gbps=injection_of(network, rates),
        n_unknown_rates=int(np.isnan(rates).sum()),
        component_sizes=sizes,
        n_shared_endpoints=shared,
        n_unattached_endpoints=unattached,
        paths=paths_of(attached, seed=seed),
        notes=_notes(sizes, shared, unattached, int(np.isnan(rates).sum())),
        one_sided_pairs=one_sided_pairs(network, state),
        assumed=fabric.origin.assumed,
        scale_up_injection_gbps=scale_up,
        scale_out_injection_gbps=None if scale_up is None else scale_out_injection_of(network, rates),
    )


def count_distinct(codes: Array) -> int:
    """How many hosts (or cables) some codes name, where -1 is one of its own each time.

    >>> count_distinct(np.array([0, 0, 3, -1, -1]))
    4
    """
    return len(np.unique(codes[codes >= 0])) + int((codes < 0).sum())


def _by_label(labels: Labels, mask: Array) -> dict[str, int]:
    counts = np.bincount(labels.codes[mask & (labels.codes >= 0)], minlength=len(labels.labels))
    return {str(labels.labels[i]): int(counts[i]) for i in np.flatnonzero(counts)}


def _link_counts(network: Network, state: State | None) -> dict[str, Any]:
    """How many links of what kind are there, and of the network's kinds what they join."""
    fabric = network.fabric
    there = np.ones(len(fabric.links), bool) if state is None else state.link_mask(fabric)
    chosen = there & fabric.links.kind.is_any(*network.kinds)
    classes = _link_classes(network)
    return {
        "n_links": int(chosen.sum()),
        "n_carrying_links": len(network.links),
        "n_host_links": int(classes[0].sum()),
        "n_fabric_links": int(classes[1].sum()),
        "n_inside_host_links": int(classes[2].sum()),
        "n_service_links": int((~classes.any(axis=0)).sum()),
        "n_loopback_links": int((chosen & (fabric.link_a == fabric.link_b)).sum()),
        "n_one_sided_links": int((chosen & fabric.links.evidence.is_any("one end")).sum()),
        "n_other_links": _by_label(fabric.links.kind, there & ~chosen),
        "n_cables": count_distinct(fabric.links.cable[chosen & leaves_a_box(fabric)]),
    }


def _link_classes(network: Network) -> Array:
    """Masks over carrying links, one row each: host, fabric, inside a host."""
    nodes = network.fabric.nodes
    switch = nodes.kind.is_any("switch")
    attached = (nodes.is_endpoint | (nodes.forwards == FORWARDS_OWN_HOST)) & ~switch
    a, b = network.a, network.b
    host = nodes.host.codes
    inside = (host[a] == host[b]) & (host[a] >= 0)
    inside |= network.fabric.links.kind.is_any("scale_up")[network.links]
    host_link = ((attached[a] & switch[b]) | (switch[a] & attached[b])) & ~inside
    return np.stack([host_link, switch[a] & switch[b] & ~inside, inside])


def _notes(sizes: tuple[int, ...], shared: int, unattached: int, unknown: int) -> tuple[str, ...]:
    notes = []
    if len(sizes) > 1:
        text = f"the network falls into {len(sizes):,} parts that no switch joins"
        notes.append(f"{text}; {plural(shared, 'endpoint')} in several of them" if shared else text)
    if unattached:
        notes.append(f"{plural(unattached, 'endpoint')} without a switch in this network")
    if unknown:
        notes.append(f"{plural(unknown, 'link')} of unknown rate; totals over them are unknown")
    return tuple(notes)


def _parts_text(sizes: tuple[int, ...]) -> str:
    if not sizes:
        return "none with endpoints"
    if len(sizes) == 1:
        return "one"
    first = ", ".join(f"{size:,}" for size in sizes[:8])
    return f"{len(sizes):,}, of {first}{' ...' if len(sizes) > 8 else ''} endpoints"
