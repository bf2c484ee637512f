"""What was found and what should be as one fabric: shared nodes and ports, every cable of either side once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from topo.fabric import Fabric, State
from topo.table import appended, freeze

__all__ = ["Comparison", "NewCables", "appended", "at_rates", "hosts_of", "with_laid"]


@dataclass(frozen=True, eq=False)
class Comparison:
    """Both sides in one fabric: ``both`` holds every cable found or planned, two masks over its links say which.

    The rows of the found fabric come first and keep their numbers. A cable that only the plan has lies behind them.
    """

    both: Fabric
    found: NDArray[np.bool_]
    planned: NDArray[np.bool_]

    def state(self, links: ArrayLike) -> State:
        """The state in which just these links (a mask) are there."""
        return State(None, freeze(np.asarray(links, bool)), None)

    def healthy(self) -> State:
        """As planned."""
        return self.state(self.planned)

    def with_faults(self, lacks: ArrayLike, extra: ArrayLike) -> NDArray[np.bool_]:
        """The links there when just these faults are: planned ones without ``lacks`` and with ``extra``."""
        there = self.planned.copy()
        there[np.asarray(lacks, np.int64)] = False
        there[np.asarray(extra, np.int64)] = True
        return there

    def mended(self, lacks: ArrayLike, extra: ArrayLike) -> NDArray[np.bool_]:
        """The links there when just these faults are mended: found ones with ``lacks`` and without ``extra``."""
        there = self.found.copy()
        there[np.asarray(lacks, np.int64)] = True
        there[np.asarray(extra, np.int64)] = False
        return there


@dataclass(frozen=True, eq=False)
class NewCables:
    """Cables to add to a fabric: nodes, ports (row, or -1 for a port nobody knows), rate and kind of each."""

    a: NDArray[np.int64]
    b: NDArray[np.int64]
    port_a: NDArray[np.int64]
    port_b: NDArray[np.int64]
    gbps: NDArray[np.float64]
    kind: NDArray[np.str_]

    def __len__(self) -> int:
        return len(self.a)


def hosts_of(fabric: Fabric) -> NDArray[np.int64]:
    """Number of the host that each node is a part of; -1 for switches and for what names no host."""
    nodes = fabric.nodes
    is_switch = nodes.kind.is_any("switch", "router", "storage_switch")
    return np.where(is_switch, -1, nodes.host.codes.astype(np.int64))


def at_rates(comparison: Comparison, gbps: Mapping[int, float]) -> tuple[Comparison, dict[int, int]]:
    """Cables that should run at other rates than found (row: rate), each planned once more in its place at that rate.

    The found row is no longer planned then: as found it is a fault that can be priced like a cable in a wrong place.
    Returned with it is the new row of each; cables that no plan has are left as they are.
    """
    rows = np.array([row for row in sorted(gbps) if comparison.planned[row]], np.int64)
    if not rows.size:
        return comparison, {}
    both, links = comparison.both, comparison.both.links
    laid = NewCables(
        both.link_a[rows].astype(np.int64), both.link_b[rows].astype(np.int64), links.port_a[rows].astype(np.int64),
        links.port_b[rows].astype(np.int64), np.array([gbps[row] for row in rows.tolist()], np.float64),
        np.array(links.kind.values(rows), np.str_),
    )  # fmt: skip
    planned = comparison.planned.copy()
    planned[rows] = False
    there = np.ones(len(rows), bool)
    new = dict(zip(rows.tolist(), range(len(links), len(links) + len(rows)), strict=True))
    return Comparison(with_laid(both, laid), np.append(comparison.found, ~there), np.append(planned, there)), new


def with_laid(fabric: Fabric, laid: NewCables) -> Fabric:
    """The fabric with cables added behind its own; ends on unknown ports get a port without a label."""
    n = len(laid)
    if not n:
        return fabric
    ends = np.stack([laid.port_a, laid.port_b])
    nodes = np.stack([laid.a, laid.b])
    unknown = ends < 0
    ends = ends.copy()
    ends[unknown] = len(fabric.ports) + np.arange(int(unknown.sum()))
    rates = np.stack([laid.gbps, laid.gbps])[unknown]
    ports = appended(fabric.ports, int(unknown.sum()), node=nodes[unknown], label=[""] * int(unknown.sum()), gbps=rates)
    links = appended(
        fabric.links,
        n,
        port_a=ends[0],
        port_b=ends[1],
        capacity_gbps=laid.gbps,
        kind=laid.kind.tolist(),
        evidence=["planned"] * n,
    )
    return replace(fabric, ports=ports, links=links)
