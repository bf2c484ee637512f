"""Published numbers of a fabric against the same numbers counted in what was built."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from topo.analysis.bisection import bisection_bandwidth
from topo.analysis.oversubscription import oversubscription
from topo.analysis.published_inside import COUNTED_INSIDE
from topo.errors import InputError
from topo.fabric import Fabric
from topo.network import Network
from topo.result import Result, Row
from topo.spec.model import EXPECTED, Expected
from topo.units import format_gbps, format_number

__all__ = ["COUNTED", "PublishedNumber", "PublishedNumbers", "published_numbers"]


@dataclass(frozen=True, slots=True)
class PublishedNumber:
    """One number: what the source prints, what holds, and what was counted; ``label`` says how sure the source is."""

    key: str
    meaning: str
    published: float
    built: float | None
    agrees: bool
    label: str
    note: str
    printed: float | None
    """What the source prints where that is an error; ``published`` is the true value then."""


@dataclass(frozen=True)
class PublishedNumbers(Result):
    """Every number a spec expects of its fabric, beside the count in the fabric's own tables."""

    fabric: str
    numbers: tuple[PublishedNumber, ...]

    title: ClassVar[str] = "Published against built"
    derived: ClassVar[tuple[str, ...]] = ("n_differing",)

    @property
    def n_differing(self) -> int:
        """How many of the numbers differ."""
        return sum(not number.agrees for number in self.numbers)

    def rows(self) -> list[Row]:
        """A line for each number."""
        return [Row(number.meaning, _row_text(number)) for number in self.numbers] or [
            Row("published numbers", "none are known of this fabric")
        ]


def _row_text(number: PublishedNumber) -> str:
    shown = _shown(number.key, number.published)
    if number.agrees:
        text = f"{shown} ({number.label}), as built"
    else:
        text = f"{shown} ({number.label}), but {_shown(number.key, number.built)} built: they differ"
    if number.printed is not None:
        text += f"; the source prints {_shown(number.key, number.printed)}, an error"
    return f"{text}; {number.note}" if number.note else text


def _shown(key: str, value: float | None) -> str:
    if value is None:
        return "no single number"
    return format_gbps(value) if key.endswith("_gbps") else format_number(value)


def published_numbers(fabric: Fabric) -> PublishedNumbers:
    """Compare what the fabric's spec expects with counts over the fabric's tables, never with its parameters.

    Numbers agree when they differ by less than 1e-9 of the published one. A fabric without published numbers has
    an empty comparison.

    >>> import topo
    >>> found = published_numbers(topo.load("nvidia-superpod-h100-4su"))
    >>> found.n_differing, [n.built for n in found.numbers if n.key == "n_host_and_manager_links"]
    (0, [1020.0])

    :raises InputError: a number that cannot be counted is expected.
    """
    numbers = []
    for key, expected in fabric.origin.expect:
        if key not in COUNTED:
            raise InputError(f"{fabric.name}: {key!r} is expected, but is not a number that can be counted")
        numbers.append(_compared(key, expected, COUNTED[key](fabric)))
    return PublishedNumbers(fabric.name, tuple(numbers))


def _compared(key: str, expected: Expected, built: float | None) -> PublishedNumber:
    agrees = built is not None and math.isclose(built, expected.value, rel_tol=1e-9, abs_tol=1e-9)
    return PublishedNumber(
        key,
        EXPECTED[key],
        expected.value,
        None if built is None else float(built),
        agrees,
        expected.label,
        expected.note,
        expected.printed,
    )


def _n_hosts(fabric: Fabric) -> int:
    codes = fabric.nodes.host.codes[fabric.endpoints]
    return len(np.unique(codes[codes >= 0])) + int((codes < 0).sum())


def _of_tier(fabric: Fabric, tier: int) -> NDArray[np.bool_]:
    mask: NDArray[np.bool_] = fabric.nodes.kind.is_any("switch") & (fabric.nodes.tier == tier)
    return mask


def _n_tiers(fabric: Fabric) -> int:
    return len(np.unique(fabric.nodes.tier[fabric.switches]))


def _between(fabric: Fabric, one: NDArray[np.bool_], other: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Rows of the links, of any kind, from one set of nodes to the other."""
    a, b = fabric.link_a, fabric.link_b
    return np.flatnonzero((one[a] & other[b]) | (other[a] & one[b]))


def _n_host_links(fabric: Fabric) -> int:
    return len(_between(fabric, fabric.nodes.is_endpoint, _of_tier(fabric, 1)))


def _n_leaf_links_down(fabric: Fabric) -> int:
    below = ~fabric.nodes.kind.is_any("switch")
    return len(_between(fabric, below, _of_tier(fabric, 1)))


def _n_tier_links(lower: int) -> Callable[[Fabric], float | None]:
    return lambda fabric: len(_between(fabric, _of_tier(fabric, lower), _of_tier(fabric, lower + 1)))


def _n_of_tier(tier: int) -> Callable[[Fabric], float | None]:
    return lambda fabric: int(_of_tier(fabric, tier).sum())


def _parallel(lower: int) -> Callable[[Fabric], float | None]:
    """Links of each joined pair of switches; None where pairs differ."""

    def count(fabric: Fabric) -> float | None:
        rows = _between(fabric, _of_tier(fabric, lower), _of_tier(fabric, lower + 1))
        a, b = fabric.link_a[rows].astype(np.int64), fabric.link_b[rows].astype(np.int64)
        pair = np.minimum(a, b) * len(fabric.nodes) + np.maximum(a, b)
        counts = np.unique(np.unique(pair, return_counts=True)[1])
        return int(counts[0]) if len(counts) == 1 else None

    return count


def _oversubscription(tier: int) -> Callable[[Fabric], float | None]:
    return lambda fabric: next((found.ratio for found in oversubscription(fabric).tiers if found.tier == tier), None)


def _single(counts: NDArray[np.int64]) -> float | None:
    """The number that all of them are; None where they differ or there are none."""
    return int(counts[0]) if len(counts) and (counts == counts[0]).all() else None


def _leaf_uplinks(fabric: Fabric) -> float | None:
    leaf, switch = _of_tier(fabric, 1), fabric.nodes.kind.is_any("switch")
    rows = _between(fabric, leaf, switch & ~leaf)
    ends = np.concatenate([fabric.link_a[rows], fabric.link_b[rows]])
    return _single(np.bincount(ends, minlength=len(fabric.nodes))[leaf])


def _used_ports(tier: int) -> Callable[[Fabric], float | None]:
    """Ports with a cable on every switch of a tier; the legs of a cable that one switch splits count once."""

    def count(fabric: Fabric) -> float | None:
        node = np.concatenate([fabric.link_a, fabric.link_b]).astype(np.int64)
        cable = np.concatenate([fabric.links.cable, fabric.links.cable]).astype(np.int64)
        whole = np.bincount(node[cable < 0], minlength=len(fabric.nodes))
        mine = (cable >= 0) & _of_tier(fabric, tier)[node]
        split = np.unique(cable[mine] * len(fabric.nodes) + node[mine]) % len(fabric.nodes)
        return _single((whole + np.bincount(split, minlength=len(fabric.nodes)))[_of_tier(fabric, tier)])

    return count


def _n_access_ports(fabric: Fabric) -> int:
    leaf = _of_tier(fabric, 1)
    return int(leaf[fabric.ports.node].sum()) - len(_between(fabric, leaf, _of_tier(fabric, 2)))


def _hosts_per_leaf(fabric: Fabric) -> float | None:
    rows = _between(fabric, fabric.nodes.is_endpoint, _of_tier(fabric, 1))
    a, b = fabric.link_a[rows].astype(np.int64), fabric.link_b[rows].astype(np.int64)
    end, leaf = np.where(fabric.nodes.is_endpoint[a], a, b), np.where(fabric.nodes.is_endpoint[a], b, a)
    host = np.where(fabric.nodes.host.codes[end] >= 0, fabric.nodes.host.codes[end], len(fabric.nodes) + end)
    pairs = np.unique(leaf * (2 * len(fabric.nodes)) + host)
    return int(np.bincount(pairs // (2 * len(fabric.nodes))).max()) if len(pairs) else None


def _n_standby_adapters(fabric: Fabric) -> int:
    idle = fabric.nodes.kind.is_any("nic") & ~fabric.nodes.is_endpoint
    rows = _between(fabric, idle, _of_tier(fabric, 1))
    ends = np.unique(np.concatenate([fabric.link_a[rows], fabric.link_b[rows]]))
    return int(idle[ends].sum())


def _n_labels(fabric: Fabric, column: str, rows: NDArray[np.int64]) -> int:
    codes = getattr(fabric.nodes, column).codes[rows]
    return max(1, len(np.unique(codes[codes >= 0])))


def _cables_800g(lower: int) -> Callable[[Fabric], float | None]:
    def count(fabric: Fabric) -> float | None:
        below = fabric.nodes.is_endpoint if lower == 0 else _of_tier(fabric, lower)
        rows = _between(fabric, below, _of_tier(fabric, lower + 1))
        return float(fabric.links.capacity_gbps[rows].sum()) / 800

    return count


def _injection_gbps(fabric: Fabric) -> float:
    network = Network.of(fabric)
    ends = fabric.nodes.is_endpoint[network.a].astype(int) + fabric.nodes.is_endpoint[network.b]
    return float(network.capacity_gbps @ ends)


def _n_fabric_links(fabric: Fabric) -> int:
    switch = fabric.nodes.kind.is_any("switch")
    return len(_between(fabric, switch, switch))


def _cost_usd(fabric: Fabric) -> float:
    """The unit prices to which the fat-tree columns of arXiv 2505.09343, table 3, solve."""
    return 81_920.0 * len(fabric.switches) + 550.0 * _n_fabric_links(fabric)


def _bisection_gbps(fabric: Fabric) -> float | None:
    found = bisection_bandwidth(fabric)
    return found.upper_gbps if found.exact else None


COUNTED: dict[str, Callable[[Fabric], float | None]] = {
    "n_hosts": _n_hosts,
    "n_endpoints": lambda fabric: len(fabric.endpoints),
    "n_switches": lambda fabric: len(fabric.switches),
    "n_tiers": _n_tiers,
    "n_leaves": _n_of_tier(1),
    "n_spines": _n_of_tier(2),
    "n_cores": _n_of_tier(3),
    "n_links": lambda fabric: len(Network.of(fabric).links),
    "n_host_links": _n_host_links,
    "n_host_and_manager_links": _n_leaf_links_down,
    "n_leaf_spine_links": _n_tier_links(1),
    "n_spine_core_links": _n_tier_links(2),
    "parallel_leaf_spine": _parallel(1),
    "parallel_spine_core": _parallel(2),
    "leaf_oversubscription": _oversubscription(1),
    "spine_oversubscription": _oversubscription(2),
    "n_planes": lambda fabric: _n_labels(fabric, "plane", fabric.switches),
    "n_units": lambda fabric: _n_labels(fabric, "pod", fabric.endpoints),
    "n_fabric_links": _n_fabric_links,
    "n_standby_adapters": _n_standby_adapters,
    "n_access_ports": _n_access_ports,
    "leaf_uplinks": _leaf_uplinks,
    "hosts_per_leaf": _hosts_per_leaf,
    "used_leaf_ports": _used_ports(1),
    "used_spine_ports": _used_ports(2),
    "used_core_ports": _used_ports(3),
    "host_cables_800g": _cables_800g(0),
    "leaf_spine_cables_800g": _cables_800g(1),
    "injection_gbps": _injection_gbps,
    "cost_usd": _cost_usd,
    "bisection_gbps": _bisection_gbps,
    **COUNTED_INSIDE,
}
"""How each number that a spec may expect is counted in a fabric; None where there is no single number."""
