"""What an endpoint can inject: its share of the links that take its traffic out."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from topo.fabric import FORWARDS_ALL, Fabric, State
from topo.network import Network

__all__ = ["line_rate_gbps", "way_out_of_no_link"]


def line_rate_gbps(fabric: Fabric, *, state: State | None = None) -> NDArray[np.float64]:
    """Rate in Gb/s, one direction, at which each endpoint can send: one entry an endpoint, in row order.

    An endpoint with links of its own into the scale-out fabric sends at their sum. One inside an opened host
    (an accelerator behind NICs) sends at its host's scale-out rate over the host's endpoints; where the host or
    scale-up domain has no scale-out link at all, at the sum of its own scale-up links (or, with none, of all its
    links).

    >>> import topo
    >>> sorted(set(line_rate_gbps(topo.fat_tree(4, link_gbps=100)).tolist()))
    [100.0]
    """
    network = Network.of(fabric, state=state)
    n = len(fabric.nodes)
    rate = network.capacity_gbps
    outward = fabric.links.kind.is_any("scale_out", "access")[network.links]
    own = _sum_at(network, rate, n, np.ones(len(rate), bool))[fabric.endpoints]
    scale_up = _sum_at(network, rate, n, fabric.links.kind.is_any("scale_up")[network.links])[fabric.endpoints]
    direct = _sum_at(network, rate, n, outward)
    share = direct[fabric.endpoints].copy()
    host = fabric.nodes.host.codes.astype(np.int64)
    # Only parts of a host (not the switches beside it) count as its way out.
    inside = (host >= 0) & (fabric.nodes.forwards != FORWARDS_ALL)
    per_host = np.bincount(host[inside], weights=direct[inside], minlength=len(fabric.nodes.host.labels) + 1)
    at = host[fabric.endpoints]
    endpoints_of_host = np.bincount(at[at >= 0], minlength=len(per_host))
    # A NIC whose own link is down does not send through its neighbours.
    wired = np.zeros(n, bool)
    leads_out = fabric.links.kind.is_any("scale_out", "access")
    wired[fabric.link_a[leads_out]] = wired[fabric.link_b[leads_out]] = True
    indirect = ~wired[fabric.endpoints] & (at >= 0)
    share[indirect] = per_host[at[indirect]] / endpoints_of_host[at[indirect]]
    alone = np.where(scale_up > 0, scale_up, own)
    return np.where((share > 0) | wired[fabric.endpoints], share, alone)


def way_out_of_no_link(fabric: Fabric) -> str:
    """What to do about endpoints without a link that carries anything, to end a message with."""
    n = int(fabric.links.evidence.is_any("one end").sum())
    if n:
        return (
            f"{n:,} links that only one end reported carry nothing; add the other ends' files, or load with "
            "one_sided=True (--one-sided on the command line)"
        )
    return "choose endpoints that are cabled (topo show counts the links), or read a file with their cables"


def _sum_at(network: Network, rate: NDArray[np.float64], n: int, which: NDArray[np.bool_]) -> NDArray[np.float64]:
    weight = rate[which]
    at_a = np.bincount(network.a[which], weights=weight, minlength=n)
    return np.asarray(at_a + np.bincount(network.b[which], weights=weight, minlength=n), dtype=float)
