"""Numbers that a spec may expect of what is inside: scale-up domains, opened hosts, the storage network beside."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from topo.analysis.bisection import Bisection, bisection_bandwidth
from topo.analysis.paths import paths
from topo.fabric import Fabric
from topo.network import Network
from topo.table import Array

__all__ = ["COUNTED_INSIDE", "Counted", "bisection_gbps", "single"]

Counted = float | tuple[float, float] | None
"""A number counted in a fabric: its value, the bounds of what is not known exactly, or None for no single number."""

_BOTH_DIRECTIONS_IN_GBYTE = 2 / 8


def _of_kind(fabric: Fabric, *kinds: str) -> NDArray[np.bool_]:
    return fabric.nodes.kind.is_any(*kinds)


def _degree(fabric: Fabric, kind: str, weights: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
    """Links of a kind at each node, or the sum of their weights."""
    mine = fabric.links.kind.is_any(kind)
    ends = np.concatenate([fabric.link_a[mine], fabric.link_b[mine]])
    each = None if weights is None else np.concatenate([weights[mine], weights[mine]])
    return np.bincount(ends, each, len(fabric.nodes)).astype(float)


def single(values: Array) -> float | None:
    """The number that all of them are; None where they differ or there are none."""
    return float(values[0]) if len(values) and (values == values[0]).all() else None


def _accelerator_gbps(fabric: Fabric) -> float | None:
    """Scale-up rate of each accelerator, one direction."""
    return single(_degree(fabric, "scale_up", fabric.links.capacity_gbps)[_of_kind(fabric, "accelerator")])


def _in_gbyte(count: Callable[[Fabric], Counted]) -> Callable[[Fabric], Counted]:
    """The same with both directions summed, in GB/s."""

    def both(fabric: Fabric) -> Counted:
        found = count(fabric)
        if isinstance(found, tuple):
            return found[0] * _BOTH_DIRECTIONS_IN_GBYTE, found[1] * _BOTH_DIRECTIONS_IN_GBYTE
        return None if found is None else found * _BOTH_DIRECTIONS_IN_GBYTE

    return both


def _total_gbps(fabric: Fabric) -> float:
    return float(_degree(fabric, "scale_up", fabric.links.capacity_gbps)[_of_kind(fabric, "accelerator")].sum())


def _scale_up_bisection_gbps(fabric: Fabric) -> Counted:
    hosts = fabric.nodes.host.codes[fabric.endpoints]
    keep = "host" if len(np.unique(hosts)) > 1 else "none"
    return _value_or_bounds(bisection_bandwidth(fabric, keep=keep, kinds=["scale_up"]))


def bisection_gbps(fabric: Fabric) -> Counted:
    """The bisection bandwidth with hosts kept whole, or its bounds."""
    return _value_or_bounds(bisection_bandwidth(fabric))


def _value_or_bounds(found: Bisection) -> Counted:
    return found.upper_gbps if found.exact else (found.lower_gbps, found.upper_gbps)


def _two_link_paths(fabric: Fabric) -> float | None:
    """Switch chips that any two accelerators of the first domain share, each by a link of its own."""
    from scipy.sparse import csr_array

    network = Network.of(fabric, kinds=["scale_up"])
    accelerator, chip = _of_kind(fabric, "accelerator"), _of_kind(fabric, "scale_up_switch")
    a, b = network.a, network.b
    joined = (accelerator[a] & chip[b]) | (chip[a] & accelerator[b])
    low, high = np.where(accelerator[a], a, b)[joined], np.where(accelerator[a], b, a)[joined]
    ends = np.flatnonzero(accelerator & (fabric.nodes.domain.codes == 0))
    shape = (len(fabric.nodes), len(fabric.nodes))
    links = csr_array((np.ones(len(low)), (low, high)), shape=shape)[ends][:, chip].toarray()
    # Parallel links to a chip make as many disjoint paths as both accelerators have there.
    found = [np.unique(np.minimum(links[i], links[i + 1 :]).sum(axis=1)) for i in range(len(ends) - 1)]
    return single(np.concatenate(found)) if found else None


def _scale_up_hops(fabric: Fabric) -> float | None:
    return paths(fabric, kinds=["scale_up"]).diameter_hops


def _chip_tier(fabric: Fabric, tier: int) -> NDArray[np.bool_]:
    mask: NDArray[np.bool_] = _of_kind(fabric, "scale_up_switch") & (fabric.nodes.tier == tier)
    return mask


def _n_scale_up_planes(fabric: Fabric) -> int:
    """Parts that the chips of the first domain fall into when only the links from chip to chip are left."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    chip = _of_kind(fabric, "scale_up_switch") & (fabric.nodes.domain.codes <= 0)
    a, b = fabric.link_a, fabric.link_b
    rows = np.flatnonzero(fabric.links.kind.is_any("scale_up") & chip[a] & chip[b])
    n = len(fabric.nodes)
    joined = coo_array((np.ones(len(rows)), (a[rows], b[rows])), shape=(n, n))
    return len(np.unique(connected_components(joined, directed=False)[1][chip]))


def _scale_up_oversubscription(fabric: Fabric) -> float | None:
    """Down over up capacity of the chips that have a tier of chips above them."""
    mine = fabric.links.kind.is_any("scale_up")
    a, b, rate = fabric.link_a[mine], fabric.link_b[mine], fabric.links.capacity_gbps[mine]
    chip = _of_kind(fabric, "scale_up_switch")
    between, below = chip[a] & chip[b], chip[a] ^ chip[b]
    first = _chip_tier(fabric, -1)
    up = float(rate[between].sum())
    down = float(rate[below & (first[a] | first[b])].sum())
    return down / up if up else None


COUNTED_INSIDE: dict[str, Callable[[Fabric], Counted]] = {
    "n_accelerators": lambda fabric: int(_of_kind(fabric, "accelerator").sum()),
    "n_domains": lambda fabric: len(np.unique(fabric.nodes.domain.codes[fabric.nodes.domain.codes >= 0])),
    "n_scale_up_switches": lambda fabric: int(_of_kind(fabric, "scale_up_switch").sum()),
    "n_scale_up_tiers": lambda fabric: len(np.unique(fabric.nodes.tier[_of_kind(fabric, "scale_up_switch")])),
    "n_scale_up_planes": _n_scale_up_planes,
    "n_scale_up_leaves": lambda fabric: int(_chip_tier(fabric, -1).sum()),
    "n_scale_up_spines": lambda fabric: int(_chip_tier(fabric, -2).sum()),
    "n_scale_up_links": lambda fabric: int(fabric.links.kind.is_any("scale_up").sum()),
    "n_scale_up_switch_links": lambda fabric: int(
        (
            fabric.links.kind.is_any("scale_up")
            & _of_kind(fabric, "scale_up_switch")[fabric.link_a]
            & _of_kind(fabric, "scale_up_switch")[fabric.link_b]
        ).sum()
    ),
    "scale_up_links_per_accelerator": lambda fabric: single(
        _degree(fabric, "scale_up")[_of_kind(fabric, "accelerator")]
    ),
    "used_scale_up_ports": lambda fabric: single(_degree(fabric, "scale_up")[_of_kind(fabric, "scale_up_switch")]),
    "used_scale_up_spine_ports": lambda fabric: single(_degree(fabric, "scale_up")[_chip_tier(fabric, -2)]),
    "scale_up_two_link_paths": _two_link_paths,
    "scale_up_diameter_hops": _scale_up_hops,
    "scale_up_oversubscription": _scale_up_oversubscription,
    "accelerator_scale_up_gbps": _accelerator_gbps,
    "accelerator_scale_up_both_directions_gbyte_s": _in_gbyte(_accelerator_gbps),
    "scale_up_total_both_directions_gbyte_s": _in_gbyte(_total_gbps),
    "scale_up_bisection_gbps": _scale_up_bisection_gbps,
    "scale_up_bisection_both_directions_gbyte_s": _in_gbyte(_scale_up_bisection_gbps),
    "bisection_both_directions_gbyte_s": _in_gbyte(bisection_gbps),
    "n_storage_switches": lambda fabric: int(_of_kind(fabric, "storage_switch").sum()),
    "n_storage_host_links": lambda fabric: int(
        (
            fabric.links.kind.is_any("storage")
            & (_of_kind(fabric, "nic")[fabric.link_a] | _of_kind(fabric, "nic")[fabric.link_b])
        ).sum()
    ),
}
"""How each number of the inside of hosts and domains is counted; None where there is no single number."""
