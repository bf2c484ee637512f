"""Numbers that a spec may expect of groups of switches, as in dragonflies, and of optical circuit switches."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from topo.analysis.paths import paths
from topo.analysis.published_inside import Counted
from topo.fabric import Fabric
from topo.network import Network

__all__ = ["COUNTED_GROUPS"]

_OPTICAL = "ocs-*"


def _global_links(fabric: Fabric) -> NDArray[np.int64]:
    network = Network.of(fabric)
    return network.links[network.is_global]


def _between_groups(fabric: Fabric, weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sum of a weight a link over the global links of every two groups that hold endpoints; symmetric."""
    pod = fabric.nodes.pod.codes
    held = np.unique(pod[fabric.endpoints])
    held = held[held >= 0]
    at = np.full(len(fabric.nodes.pod.labels) + 1, -1)
    at[held] = np.arange(len(held))
    links = _global_links(fabric)
    one, other = at[pod[fabric.link_a[links]]], at[pod[fabric.link_b[links]]]
    mine = (one >= 0) & (other >= 0)
    total = np.zeros((len(held), len(held)))
    np.add.at(total, (one[mine], other[mine]), weights[links[mine]])
    return total + total.T


def _of_pairs(matrix: NDArray[np.float64]) -> float | None:
    """What every two groups have; None where pairs differ or there is none."""
    values = np.unique(matrix[np.triu_indices(len(matrix), 1)])
    return float(values[0]) if len(values) == 1 else None


def _links_per_pair(fabric: Fabric) -> float | None:
    return _of_pairs(_between_groups(fabric, np.ones(len(fabric.links))))


def _group_bisection_gbps(fabric: Fabric) -> float | None:
    rate = _between_groups(fabric, fabric.links.capacity_gbps)
    each, n = _of_pairs(rate), len(rate)
    return None if each is None else each * (n // 2) * (n - n // 2)


def _group_taper(fabric: Fabric) -> float | None:
    network, nodes = Network.of(fabric), fabric.nodes
    outward = _between_groups(fabric, fabric.links.capacity_gbps).sum(axis=1)
    if not len(outward) or not outward.all():
        return None
    injected = np.zeros(len(nodes))
    for end in (network.a, network.b):
        injected += np.bincount(end, network.capacity_gbps, len(nodes))
    pod = nodes.pod.codes[fabric.endpoints]
    _, group = np.unique(pod[pod >= 0], return_inverse=True)
    return float((np.bincount(group, injected[fabric.endpoints][pod >= 0]) / outward).max())


def _circuits(fabric: Fabric) -> NDArray[np.int64]:
    """Circuits of each optical switch: the groups of links named for one."""
    groups = fabric.groups
    mine = groups.group.matches(_OPTICAL) & groups.element.is_any("link")
    return np.unique(groups.group.codes[mine], return_counts=True)[1]


def _used_optical_ports(fabric: Fabric) -> float | None:
    counts = np.unique(_circuits(fabric))
    return 2 * float(counts[0]) if len(counts) == 1 else None


COUNTED_GROUPS: dict[str, Callable[[Fabric], Counted]] = {
    "diameter_hops": lambda fabric: paths(fabric).diameter_hops,
    "n_global_links": lambda fabric: len(_global_links(fabric)),
    "global_gbps": lambda fabric: float(fabric.links.capacity_gbps[_global_links(fabric)].sum()),
    "links_per_group_pair": _links_per_pair,
    "group_taper": _group_taper,
    "group_bisection_gbps": _group_bisection_gbps,
    "n_optical_switches": lambda fabric: len(_circuits(fabric)),
    "n_optical_circuits": lambda fabric: int(_circuits(fabric).sum()),
    "used_optical_ports": _used_optical_ports,
}
"""How each number of groups and of optical switches is counted in a fabric; None where there is no single number."""
