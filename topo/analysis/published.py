"""What a spec expects of its fabric, published or derived, against the same numbers counted in what was built."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from topo.analysis.attachments import attachments, network_parts
from topo.analysis.injection import injection_of
from topo.analysis.inventory import count_distinct
from topo.analysis.oversubscription import format_ratio, oversubscription
from topo.analysis.published_groups import COUNTED_GROUPS
from topo.analysis.published_inside import COUNTED_INSIDE, Counted, bisection_gbps, single
from topo.elements import Expected
from topo.errors import InputError
from topo.fabric import Fabric
from topo.network import Network
from topo.result import Result, Row
from topo.spec.model import EXPECTED
from topo.units import format_gbps, format_number

__all__ = ["COUNTED", "PublishedNumber", "PublishedNumbers", "published_numbers"]

_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class PublishedNumber:
    """One number: what the spec expects, what was counted, and whether the two are equal.

    ``label`` says where the expected one is from: published (P, S, P+D), derived by arithmetic (D) or from memory (M).
    ``bracket`` holds the bounds of a bisection that is not exact; ``built`` is None then.
    """

    key: str
    meaning: str
    expected: float
    built: float | None
    bracket: tuple[float, float] | None
    agrees: bool
    label: str
    note: str
    printed: float | None
    """What is printed somewhere where that is an error; ``expected`` is the true value then."""
    printed_by: str = ""
    """Who prints it; '' for the source that the spec lists."""

    @property
    def kind(self) -> str:
        """``published``, ``derived`` or ``from memory``."""
        return {"D": "derived", "M": "from memory"}.get(self.label, "published")

    @property
    def is_inside(self) -> bool:
        """Whether it lies between the bounds of what is not known exactly."""
        if self.bracket is None or self.agrees:
            return False
        low, high = self.bracket
        return low * (1 - _ROUNDING) <= self.expected <= high * (1 + _ROUNDING)

    @property
    def printed_text(self) -> str:
        """Who prints what where that is an error; '' where nobody is known to.

        >>> import topo
        >>> numbers = published_numbers(topo.load("nvidia-dgx-h100")).numbers
        >>> [n.printed_text for n in numbers if n.printed is not None]
        ['blog posts print 1,800, an error']
        """
        if self.printed is None:
            return ""
        print_ = f"{self.printed_by} print" if self.printed_by else "the source prints"
        return f"{print_} {self.shown(self.printed)}, an error"

    @property
    def verdict(self) -> str:
        """``equal``, ``inside the bracket`` or ``differs``."""
        return "equal" if self.agrees else "inside the bracket" if self.is_inside else "differs"

    def shown(self, value: float | None) -> str:
        """A value of this number as people read it: rates with their unit, ratios as 2:1."""
        if value is None:
            return "no single number"
        if self.key.endswith("_oversubscription"):
            return format_ratio(value, 1)
        return format_gbps(value) if self.key.endswith("_gbps") else format_number(value)

    @property
    def built_text(self) -> str:
        """What was counted, or the bounds of it."""
        if self.bracket is None:
            return self.shown(self.built)
        return f"between {self.shown(self.bracket[0])} and {self.shown(self.bracket[1])}"


@dataclass(frozen=True)
class PublishedNumbers(Result):
    """Every number a spec expects of its fabric, published or derived, beside the count in the fabric's own tables."""

    fabric: str
    numbers: tuple[PublishedNumber, ...]

    title: ClassVar[str] = "Published and derived numbers against built"
    derived: ClassVar[tuple[str, ...]] = ("n_differing", "n_inside")

    @property
    def n_differing(self) -> int:
        """How many of the numbers differ; those inside a bracket do not."""
        return sum(number.verdict == "differs" for number in self.numbers)

    @property
    def n_inside(self) -> int:
        """How many lie inside the bracket of a number that is not known exactly."""
        return sum(number.is_inside for number in self.numbers)

    @property
    def counts_text(self) -> str:
        """How many of each kind there are, and how they fare, in one sentence.

        >>> import topo
        >>> published_numbers(topo.load("nvidia-gb200-nvl72")).counts_text
        'Of 16 numbers, 9 published and 7 derived, 16 equal what was built and 0 differ.'
        """
        kinds = [number.kind for number in self.numbers]
        told = [f"{kinds.count(kind):,} {kind}" for kind in ("published", "derived", "from memory") if kind in kinds]
        listed = " and ".join([", ".join(told[:-1]), told[-1]] if len(told) > 1 else told)
        inside = f", {self.n_inside:,} lie inside the bracket" if self.n_inside else ""
        equal = sum(number.agrees for number in self.numbers)
        of = f"Of {len(self.numbers):,} numbers, {listed}, "
        return f"{of}{equal:,} equal what was built{inside} and {self.n_differing:,} differ."

    @property
    def differences_text(self) -> str:
        """The numbers that differ, with what was expected and what is built; '' where none does."""
        told = [
            f"{number.meaning}: {number.shown(number.expected)} expected, {number.built_text} built"
            for number in self.numbers
            if number.verdict == "differs"
        ]
        return "; ".join(told)

    def rows(self) -> list[Row]:
        """A line for each number."""
        return [Row(number.meaning, _row_text(number)) for number in self.numbers] or [
            Row("expected numbers", "none are known of this fabric")
        ]


def _row_text(number: PublishedNumber) -> str:
    text = f"{number.shown(number.expected)} {number.kind} ({number.label})"
    if number.agrees:
        text += ", as built"
    elif number.is_inside:
        text += f", inside the bracket: {number.built_text}"
    else:
        text += f", but {number.built_text} built: they differ"
    if number.printed_text:
        text += f"; {number.printed_text}"
    return f"{text}; {number.note}" if number.note else text


def published_numbers(fabric: Fabric) -> PublishedNumbers:
    """Compare what the fabric's spec expects with counts over the fabric's tables, never with its parameters.

    Numbers agree when they differ by less than 1e-9 of the expected one. Where a bisection is known by its bounds
    alone, a number between them is told to be inside the bracket. A fabric whose spec expects nothing, or that has
    none, has an empty comparison.

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


def _compared(key: str, expected: Expected, counted: Counted) -> PublishedNumber:
    bracket = counted if isinstance(counted, tuple) else None
    built = None if counted is None or isinstance(counted, tuple) else float(counted)
    agrees = built is not None and math.isclose(built, expected.value, rel_tol=_ROUNDING, abs_tol=_ROUNDING)
    return PublishedNumber(
        key,
        EXPECTED[key],
        expected.value,
        built,
        bracket,
        agrees,
        expected.label,
        expected.note,
        expected.printed,
        expected.printed_by,
    )


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
        return single(np.unique(pair, return_counts=True)[1])

    return count


def _oversubscription(tier: int) -> Callable[[Fabric], float | None]:
    return lambda fabric: next((found.ratio for found in oversubscription(fabric).tiers if found.tier == tier), None)


def _leaf_uplinks(fabric: Fabric) -> float | None:
    leaf, switch = _of_tier(fabric, 1), fabric.nodes.kind.is_any("switch")
    rows = _between(fabric, leaf, switch & ~leaf)
    ends = np.concatenate([fabric.link_a[rows], fabric.link_b[rows]])
    return single(np.bincount(ends, minlength=len(fabric.nodes))[leaf])


def _used_ports(tier: int) -> Callable[[Fabric], float | None]:
    """Ports with a cable on every switch of a tier; the legs of a cable that one switch splits count once."""

    def count(fabric: Fabric) -> float | None:
        node = np.concatenate([fabric.link_a, fabric.link_b]).astype(np.int64)
        cable = np.concatenate([fabric.links.cable, fabric.links.cable]).astype(np.int64)
        whole = np.bincount(node[cable < 0], minlength=len(fabric.nodes))
        mine = (cable >= 0) & _of_tier(fabric, tier)[node]
        split = np.unique(cable[mine] * len(fabric.nodes) + node[mine]) % len(fabric.nodes)
        return single((whole + np.bincount(split, minlength=len(fabric.nodes)))[_of_tier(fabric, tier)])

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


def _n_units(fabric: Fabric) -> int:
    """Pods of the endpoints; one where none is labelled."""
    codes = fabric.nodes.pod.codes[fabric.endpoints]
    return max(1, len(np.unique(codes[codes >= 0])))


def _n_planes(fabric: Fabric) -> int:
    """Parts of the endpoints' own network that no relay joins; switches that no two endpoints share make none."""
    if not len(fabric.switches):
        return 0
    sizes, _, _ = network_parts(attachments(Network.of(fabric)))
    return sum(size > 1 for size in sizes)


def _cables_800g(lower: int) -> Callable[[Fabric], float | None]:
    def count(fabric: Fabric) -> float | None:
        below = fabric.nodes.is_endpoint if lower == 0 else _of_tier(fabric, lower)
        rows = _between(fabric, below, _of_tier(fabric, lower + 1))
        return float(fabric.links.capacity_gbps[rows].sum()) / 800

    return count


def _injection_gbps(fabric: Fabric) -> float | None:
    network = Network.of(fabric)
    return injection_of(network, network.capacity_gbps)


def _n_fabric_links(fabric: Fabric) -> int:
    switch = fabric.nodes.kind.is_any("switch")
    return len(_between(fabric, switch, switch))


def _cost_usd(fabric: Fabric) -> float:
    """The unit prices to which the fat-tree columns of arXiv 2505.09343, table 3, solve."""
    return 81_920.0 * len(fabric.switches) + 550.0 * _n_fabric_links(fabric)


COUNTED: dict[str, Callable[[Fabric], Counted]] = {
    "n_hosts": lambda fabric: count_distinct(fabric.nodes.host.codes[fabric.endpoints]),
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
    "n_planes": _n_planes,
    "n_units": _n_units,
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
    "bisection_gbps": bisection_gbps,
    **COUNTED_INSIDE,
    **COUNTED_GROUPS,
}
"""How each number that a spec may expect is counted; bounds where it is not known exactly, None where there is none."""
