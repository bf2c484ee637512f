"""What the platform does with what is left wired: hosts that are taken out of service though most wires are there."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from topo.fabric import Fabric, State
from topo.table import Array

__all__ = ["PlatformLoss", "platform_loss"]


@dataclass(frozen=True, slots=True)
class PlatformLoss:
    """Hosts the platform stops using, and the share of scale-up rate their accelerators still have wired."""

    n_hosts: int
    hosts: tuple[str, ...]
    wired_share_min: float
    wired_share_max: float
    rule: str


_RULE = (
    "a host whose own scale-up switch chip is down is taken out of service: HGX and DGX boards with NVSwitches on "
    "them are not started without all of them"
)


def platform_loss(fabric: Fabric, state: State) -> PlatformLoss | None:
    """Hosts with a dead scale-up switch chip on their own board, or ``None``.

    Wired capacity and what the platform does with it differ: an eight-accelerator H100 host that loses one of its
    four NVSwitches keeps 13 or 14 of 18 links an accelerator, 72 or 78 %, and is out of service. Chips outside
    the hosts (rack scale-up domains) fall under no such rule here.

    >>> import topo
    >>> f = topo.load("nvidia-dgx-h100")
    >>> from topo.analysis.failures.elements import down_state, elements
    >>> chip = elements(f, "scale_up_switch").name(0)
    >>> loss = platform_loss(f, down_state(f, [chip]))
    >>> loss.n_hosts, round(loss.wired_share_min, 2), round(loss.wired_share_max, 2)
    (1, 0.72, 0.72)
    """
    nodes = fabric.nodes
    if state.node_present is None:
        return None
    host = nodes.host.codes.astype(np.int64)
    chip_down = nodes.kind.is_any("scale_up_switch") & ~state.node_present & (host >= 0)
    if not chip_down.any():
        return None
    hit = np.unique(host[chip_down])
    accelerator = nodes.kind.is_any("accelerator") & np.isin(host, hit)
    scale_up = fabric.links.kind.is_any("scale_up")
    rate = fabric.links.capacity_gbps
    share = _rate_at(fabric, np.where(scale_up & state.link_mask(fabric), state.link_capacity_gbps(fabric), 0.0))
    share = share[accelerator] / np.maximum(_rate_at(fabric, np.where(scale_up, rate, 0.0))[accelerator], 1e-300)
    names = tuple(str(name) for name in nodes.host.labels[hit[:20]])
    return PlatformLoss(len(hit), names, float(share.min(initial=1.0)), float(share.max(initial=0.0)), _RULE)


def _rate_at(fabric: Fabric, rate: Array) -> Array:
    """Sum of link rates at each node."""
    n = len(fabric.nodes)
    return np.asarray(
        np.bincount(fabric.link_a, weights=rate, minlength=n) + np.bincount(fabric.link_b, weights=rate, minlength=n)
    )
