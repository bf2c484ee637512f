"""Whether what a builder built is what the named standard parts can be."""

from __future__ import annotations

import numpy as np

from topo.fabric import Fabric
from topo.parts import host_part, switch_part
from topo.table import Labels

__all__ = ["part_column", "unlike_host", "unlike_switch"]


def unlike_switch(fabric: Fabric, name: str, *, whole: bool) -> str | None:
    """Why the fabric's switches cannot be that part; None where they can.

    Each port takes its share of the cages: 1 / (ports of the part at that rate). A switch may take all of them and
    no more; with ``whole`` the builder was told the radix, and every switch takes exactly all.
    """
    part = switch_part(name)
    nodes, ports = fabric.nodes, fabric.ports
    of_switch = nodes.kind.is_any("switch")[ports.node]
    share = np.zeros(len(fabric.nodes))
    for rate in np.unique(ports.gbps[of_switch]).tolist():
        mode = part.mode(rate)
        if mode is None:
            return f"{name} has no ports of {rate:g} Gb/s, which the builder uses; it has {part.modes_text}"
        mine = of_switch & (ports.gbps == rate)
        share += np.bincount(ports.node[mine], minlength=len(nodes)) / mode.n_ports
    switches = fabric.switches
    wrong = switches[(share[switches] > 1 + 1e-9) | (whole & (share[switches] < 1 - 1e-9))]
    if not wrong.size:
        return None
    row = int(wrong[0])
    rates, counts = np.unique(ports.gbps[ports.node == row], return_counts=True)
    has = " and ".join(f"{count} x {rate:g} Gb/s" for rate, count in zip(rates.tolist(), counts.tolist(), strict=True))
    return f"{nodes.name[row]} is built with {has}, but {name} has {part.modes_text}"


def unlike_host(fabric: Fabric, name: str) -> str | None:
    """Why the fabric's hosts cannot be that part: other adapters, or another rate; None where they can."""
    part = host_part(name)
    nodes = fabric.nodes
    host = np.where(nodes.host.codes >= 0, nodes.host.codes, len(nodes.host.labels) + np.arange(len(nodes)))
    access = fabric.links.kind.is_any("access")
    a, b = fabric.link_a[access], fabric.link_b[access]
    end = np.where(nodes.is_endpoint[a], a, b)
    rates = fabric.links.capacity_gbps[access]
    other = np.flatnonzero(rates != part.nic_gbps)
    if other.size:
        rate = float(rates[other[0]])
        return f"the builder's hosts have links of {rate:g} Gb/s, but {name} has adapters of {part.nic_gbps:g} Gb/s"
    counts = np.bincount(host[end])
    counts = counts[counts > 0]
    wrong = counts[counts != part.n_nics]
    if wrong.size:
        return f"the builder's hosts have {wrong[0]} adapters each, but {name} has {part.n_nics}"
    return None


def part_column(fabric: Fabric, switch: str | None, host: str | None) -> Labels:
    """The column that names each switch's and each endpoint's part."""
    codes = np.full(len(fabric.nodes), -1, np.int32)
    labels = [name for name in (switch, host) if name]
    if switch:
        codes[fabric.switches] = labels.index(switch)
    if host:
        codes[fabric.endpoints] = labels.index(host)
    return Labels(codes, labels)
