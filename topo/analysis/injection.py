"""What endpoints can send: over their own links, over scale-up links, out of their hosts; which links are cables."""

from __future__ import annotations

import numpy as np

from topo.fabric import FORWARDS_OWN_HOST, Fabric
from topo.network import Network
from topo.table import Array

__all__ = ["injection_of", "leaves_a_box", "scale_out_injection_of", "scale_up_injection_of"]


def injection_of(network: Network, rates: Array) -> float | None:
    """Sum of the endpoints' own links; those to CPUs and adapters of the host lead out through other links counted."""
    is_endpoint = network.fabric.nodes.is_endpoint
    ends = is_endpoint[network.a].astype(int) + is_endpoint[network.b]
    inside = network.fabric.links.kind.is_any("host_io", "internal")[network.links]
    if not inside[ends > 0].all():
        ends[inside] = 0
    return _known_sum(rates, ends)


def scale_up_injection_of(network: Network, rates: Array) -> float | None:
    """Sum of the endpoints' own scale-up links, each end for itself; None where they have none."""
    is_endpoint = network.fabric.nodes.is_endpoint
    ends = is_endpoint[network.a].astype(int) + is_endpoint[network.b]
    ends[~network.fabric.links.kind.is_any("scale_up")[network.links]] = 0
    return _known_sum(rates, ends) if ends.any() else None


def scale_out_injection_of(network: Network, rates: Array) -> float | None:
    """Sum of the cables out of the endpoints and of the parts that forward for their hosts; None where none is known.

    Cables of the endpoints' own network that are no scale-up links: what an accelerator sends out of its host leaves
    over its host's adapters.
    """
    fabric = network.fabric
    nodes, host = fabric.nodes, fabric.nodes.host.codes
    held = np.zeros(len(nodes.host.labels) + 1, bool)
    held[host[nodes.is_endpoint]] = True
    held[-1] = False
    sends = nodes.is_endpoint | ((nodes.forwards == FORWARDS_OWN_HOST) & held[host])
    ends = sends[network.a].astype(int) + sends[network.b]
    ends[~(leaves_a_box(fabric) & ~fabric.links.kind.is_any("scale_up"))[network.links]] = 0
    return _known_sum(rates, ends) if ends.any() else None


def _known_sum(rates: Array, ends: Array) -> float | None:
    total = float(rates[ends > 0] @ ends[ends > 0])
    return None if np.isnan(total) else total


def leaves_a_box(fabric: Fabric) -> Array:
    """Links that are cables: not the traces of a host or chassis, nor what runs inside one box."""
    host = fabric.nodes.host.codes
    inside = (host[fabric.link_a] == host[fabric.link_b]) & (host[fabric.link_a] >= 0)
    mask: Array = ~inside & ~fabric.links.kind.is_any("host_io", "internal")
    return mask
