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


def _leaf_oversubscription(fabric: Fabric) -> float | None:
    return next((tier.ratio for tier in oversubscription(fabric).tiers if tier.tier == 1), None)


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
    "leaf_oversubscription": _leaf_oversubscription,
    "bisection_gbps": _bisection_gbps,
}
"""How each number that a spec may expect is counted in a fabric; None where there is no single number."""
