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
    access = fabric.links.kind.is_any("access")
    a, b = fabric.link_a[access], fabric.link_b[access]
    end = np.where(nodes.kind.is_any("switch")[a], b, a)
    # An adapter may have several ports: their rates together are the adapter's.
    rates = np.bincount(end, weights=fabric.links.capacity_gbps[access], minlength=len(nodes))
    adapters = np.unique(end)
    other = adapters[~np.isclose(rates[adapters], part.nic_gbps, rtol=1e-9)]
    if other.size:
        rate = float(rates[other[0]])
        return f"the builder's hosts have adapters of {rate:g} Gb/s, but {name} has adapters of {part.nic_gbps:g} Gb/s"
    host = np.where(nodes.host.codes >= 0, nodes.host.codes, len(nodes.host.labels) + np.arange(len(nodes)))
    counts = np.bincount(host[adapters])
    wrong = counts[(counts > 0) & (counts != part.n_nics)]
    if wrong.size:
        return f"the builder's hosts have {wrong[0]} adapters each, but {name} has {part.n_nics}"
    return None


def part_column(fabric: Fabric, switch: str | None, host: str | None) -> Labels:
    """The column that names each switch's and each endpoint's part; what the builder named stays where nothing is."""
    built = fabric.nodes.part
    codes = built.codes.copy()
    labels = built.labels.tolist()
    for name, rows in ((switch, fabric.switches), (host, fabric.endpoints)):
        if name:
            codes[rows] = labels.index(name) if name in labels else len(labels)
            labels += [name] * (name not in labels)
    return Labels(codes, labels)
