"""Switches by tier and part with their ports, and links by the tiers of their ends."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from topo.fabric import Fabric, State
from topo.network import Network
from topo.table import Array, freeze
from topo.units import format_gbps
from topo.view.text import plural

__all__ = ["SwitchGroup", "TierPair", "one_sided_pairs", "place_name", "switch_groups", "tier_name", "tier_pairs"]

_TIER_NAMES = {-2: "scale-up tier 2", -1: "scale-up", 1: "leaf", 2: "spine", 3: "core"}


def tier_name(tier: int) -> str:
    """Word for a switch tier.

    >>> [tier_name(t) for t in (1, 2, 3, 4)]
    ['leaf', 'spine', 'core', 'tier 4']
    """
    return _TIER_NAMES.get(tier, f"tier {tier}")


def place_name(tier: int) -> str:
    """Word for where a node stands, switch or not: endpoints are at tier 0.

    >>> [place_name(t) for t in (-2, -1, 0, 1)]
    ['scale-up tier 2', 'scale-up', 'endpoint', 'leaf']
    """
    return tier_name(tier) if tier else "endpoint"


@dataclass(frozen=True, slots=True)
class SwitchGroup:
    """Switches of one tier and part with their ports; a port is used when a cable of any kind is in it."""

    tier: int
    tier_name: str
    part: str
    n_switches: int
    n_ports: int
    n_used_ports: int
    n_free_ports: int
    port_gbps: float | None
    """Most common rate of their ports; None where no port states one."""
    port_rates: tuple[tuple[int, float], ...] = ()
    """How many ports have which rate, slowest first, as breakouts give several; legs count one by one."""
    n_unknown_rates: int = 0
    """Ports that hold a cable and have no rate."""

    @property
    def ports_text(self) -> str:
        """The ports with their rates."""
        unknown = [f"{self.n_unknown_rates:,} of unknown rate"] if self.n_unknown_rates else []
        if len(self.port_rates) + len(unknown) > 1:
            of_each = [f"{count:,} of {format_gbps(rate)}" for count, rate in self.port_rates]
            return f"{plural(self.n_ports, 'port')}, {' and '.join(of_each + unknown)}"
        rate = f" of {format_gbps(self.port_gbps)}" if self.port_gbps is not None else ""
        return f"{plural(self.n_ports, 'port')}{rate}"


@dataclass(frozen=True, slots=True)
class TierPair:
    """Links that carry traffic between two tiers; ``capacity_gbps`` is None where one has an unknown rate."""

    lower: str
    upper: str
    n_links: int
    capacity_gbps: float | None
    n_unknown_rates: int


def switch_groups(fabric: Fabric, switches: Array) -> tuple[SwitchGroup, ...]:
    """The given switches (node rows) by tier and part, lowest tier first."""
    nodes, ports = fabric.nodes, fabric.ports
    if not len(switches):
        return ()
    n_parts = len(nodes.part.labels) + 1
    key = nodes.tier[switches].astype(np.int64) * n_parts + nodes.part.codes[switches] + 1
    keys, group_of_switch = np.unique(key, return_inverse=True)
    group_of_node = np.full(len(nodes), -1, np.int64)
    group_of_node[switches] = group_of_switch
    group = np.where(_built_in_ports(fabric), -1, group_of_node[ports.node])
    used = np.zeros(len(ports), bool)
    used[fabric.links.port_a] = True
    used[fabric.links.port_b] = True
    n_switches = np.bincount(group_of_switch)
    n_ports = np.bincount(group[group >= 0], minlength=len(keys))
    n_used = np.bincount(group[(group >= 0) & used], minlength=len(keys))
    n_unknown = np.bincount(group[(group >= 0) & used & np.isnan(ports.gbps)], minlength=len(keys))
    out = []
    for i, value in enumerate(keys.tolist()):
        tier, part = divmod(value, n_parts)
        label = str(nodes.part.labels[part - 1]) if part else ""
        free = int(n_ports[i] - n_used[i])
        rates = _port_rates(ports.gbps[group == i])
        most = max(rates, key=lambda pair: (pair[0], -pair[1]))[1] if rates else None
        counts = (int(n_switches[i]), int(n_ports[i]), int(n_used[i]))
        out.append(SwitchGroup(tier, tier_name(tier), label, *counts, free, most, rates, int(n_unknown[i])))
    return tuple(out)


def _built_in_ports(fabric: Fabric) -> Array:
    """Switch ports that lead to the switch's own aggregation node: no cable fits them."""
    aggregation = fabric.nodes.kind.is_any("aggregation")
    built_in = np.zeros(len(fabric.ports), bool)
    built_in[fabric.links.port_a[aggregation[fabric.link_b]]] = True
    built_in[fabric.links.port_b[aggregation[fabric.link_a]]] = True
    return built_in


def _port_rates(rates: Array) -> tuple[tuple[int, float], ...]:
    values, counts = np.unique(rates[~np.isnan(rates)], return_counts=True)
    return tuple(zip(counts.tolist(), values.tolist(), strict=True))


def tier_pairs(network: Network, rates: Array) -> tuple[TierPair, ...]:
    """Links by the tiers of their ends; endpoints lowest, nodes that are no switches under their kind."""
    nodes = network.fabric.nodes
    switch = nodes.kind.is_any("switch")
    plain = ~switch & ~nodes.is_endpoint
    # Rank: endpoints, then other kinds by code, then switch tiers.
    # A tier is one of 256: the second scale-up tier is at -2.
    tier_0 = len(nodes.kind.labels) + 2 + 128
    rank = np.zeros(len(nodes), np.int64)
    rank[plain] = nodes.kind.codes[plain] + 2
    rank[switch] = nodes.tier[switch].astype(np.int64) + tier_0
    n = tier_0 + 128
    low, high = np.minimum(rank[network.a], rank[network.b]), np.maximum(rank[network.a], rank[network.b])
    pair = low * n + high
    links = np.bincount(pair)
    unknown = np.bincount(pair, weights=np.isnan(rates)).astype(int)
    capacity = np.bincount(pair, weights=np.nan_to_num(rates))

    def name(value: int) -> str:
        if value == 0:
            return "endpoint"
        if value >= tier_0 - 128:
            return tier_name(value - tier_0)
        return str(nodes.kind.labels[value - 2]) if value > 1 else "node"

    return tuple(
        TierPair(
            name(int(key // n)),
            name(int(key % n)),
            int(links[key]),
            None if unknown[key] else float(capacity[key]),
            int(unknown[key]),
        )
        for key in np.flatnonzero(links)
    )


def one_sided_pairs(network: Network, state: State | None) -> tuple[TierPair, ...]:
    """The links that only one end reported and the network leaves out, by the tiers of their ends."""
    fabric = network.fabric
    if not fabric.links.evidence.is_any("one end").any():
        return ()
    every = Network.of(fabric, kinds=network.kinds, state=state, one_sided=True)
    alone = replace(every, links=freeze(np.setdiff1d(every.links, network.links)))
    rates = (state or State()).link_capacity_gbps(fabric)[alone.links]
    return tier_pairs(alone, rates)
