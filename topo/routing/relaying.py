"""Accelerators that relay for others of their own host (NCCL's PXN): when they do, as costs of their links.

What a path pays when it leaves an accelerator says how dear a relay is. Its source it leaves just once, so what that
costs is the same for all paths of a pair; each relay on the way out costs as much again, and relays on the way in,
in the sink's host, cost a little more than those on the way out.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from topo.fabric import FORWARDS_OWN_HOST
from topo.network import LINK_KINDS, Network
from topo.routing.scheme import Routing

__all__ = ["Relaying", "find_relaying", "passing_parts", "relaying_text"]

_DETOURS = 256
"""Links at the greatest cost that a relay is dearer than: no path without one is that much longer than another."""


class Relaying(NamedTuple):
    """Costs of links by kind, and what it costs besides to leave an accelerator: on the way out, on the way in.

    ``accelerators`` marks the nodes that this is for; it is empty where no host is opened.
    """

    costs: dict[str, int]
    out: int
    into: int
    accelerators: NDArray[np.bool_]


def find_relaying(network: Network, routing: Routing) -> Relaying:
    """The costs that make paths of least cost relay as ``routing.pxn`` says.

    ``always``: all links but those of scale-up cost 1 + c times as much, c the cost of a scale-up link. A hop over an
    accelerator's switch chip to a neighbour, 2 c, or 2 c + 1 in the sink's host, is then less than two more links
    between switches, 2 (1 + c), and a neighbour of the source is less than one of the sink.
    """
    costs = dict(routing.costs)
    nodes = network.fabric.nodes
    accelerators = passing_parts(network, routing.with_(pxn="always")) & nodes.kind.is_any("accelerator")
    if not accelerators.any() or routing.pxn == "never":
        return Relaying(costs, 0, 0, np.zeros(len(nodes), bool))
    if routing.pxn == "needed":
        much = _DETOURS * max(costs.values(), default=1)
        return Relaying(costs, much, much + 1, accelerators)
    scale_up = costs.get("scale_up", 1)
    dearer = {kind: (1 + scale_up) * cost for kind, cost in {**dict.fromkeys(LINK_KINDS, 1), **costs}.items()}
    dearer["scale_up"] = scale_up
    return Relaying(dearer, 0, 1, accelerators)


def passing_parts(network: Network, routing: Routing) -> NDArray[np.bool_]:
    """Which nodes pass on traffic of their own host; accelerators unless they never relay."""
    nodes = network.fabric.nodes
    passes: NDArray[np.bool_] = (nodes.forwards == FORWARDS_OWN_HOST) & (nodes.host.codes >= 0)
    if routing.pxn == "never":
        passes &= ~nodes.kind.is_any("accelerator")
    return passes


def relaying_text(network: Network, routing: Routing) -> str:
    """What results say about relays where hosts are opened; empty elsewhere."""
    if not find_relaying(network, routing.with_(pxn="always")).accelerators.any():
        return ""
    return {
        "needed": "accelerators relay for others of their host only where there is no other way (PXN as needed)",
        "always": "within a unit traffic for another rail goes over scale-up links to the sender's neighbour on that "
        "rail, as NCCL sends it (PXN always)",
        "never": "accelerators relay for no other of their host (no PXN)",
    }[str(routing.pxn)]
