"""Which hosts, or scale-up domains, are built alike: the same parts, wired in the same way."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from topo.fabric import Fabric
from topo.table import Array, Labels

__all__ = ["AlikeClass", "alike_classes", "mixed"]


@dataclass(frozen=True, eq=False)
class AlikeClass:
    """Labels that are alike, by their codes in the group column."""

    column: str
    codes: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def code(self) -> int:
        """The first of them, which stands for all."""
        return int(self.codes[0])

    def heading(self, what: str) -> str:
        """Words before the name of the one drawn and the number of others after it."""
        return f"{what}, one of {len(self):,} alike" if len(self) > 1 else what


def alike_classes(fabric: Fabric, column: str, codes: Array) -> list[AlikeClass]:
    """Classes of the labels ``codes`` of a group column, the largest first.

    Two are alike when their nodes, taken in row order, have the same kinds, tiers, parts and rails, and links of
    the same kind and rate join the same places among them. Hosts wired alike whose parts stand in another
    order come out as two classes: the picture then says less, never something wrong.

    >>> import topo
    >>> fabric = topo.load("nvidia-superpod-h100-4su-dgx")
    >>> hosts = np.unique(fabric.nodes.host.codes[fabric.endpoints])
    >>> [len(alike) for alike in alike_classes(fabric, "host", hosts)][0]
    127
    """
    labels: Labels = getattr(fabric.nodes, column)
    own = labels.codes
    n = len(labels.labels)
    order = np.argsort(own, kind="stable")
    sizes = np.bincount(own + 1, minlength=n + 1)
    place = np.empty(len(own), np.int64)
    place[order] = np.arange(len(own)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    nodes = fabric.nodes
    node_key = mixed(place, nodes.kind.codes, nodes.tier, nodes.part.codes, nodes.rail.codes)
    inside = np.flatnonzero((own[fabric.link_a] >= 0) & (own[fabric.link_a] == own[fabric.link_b]))
    x, y = place[fabric.link_a[inside]], place[fabric.link_b[inside]]
    rate = np.nan_to_num(fabric.links.capacity_gbps[inside], nan=-1.0).view(np.int64)
    link_key = mixed(np.minimum(x, y), np.maximum(x, y), fabric.links.kind.codes[inside], rate)
    total = np.zeros(n + 1, np.uint64)
    np.add.at(total, own, node_key)
    np.add.at(total, own[fabric.link_a[inside]], link_key)
    _, inverse = np.unique(total[codes], return_inverse=True)
    order = np.argsort(inverse, kind="stable")
    found = [AlikeClass(column, part) for part in np.split(codes[order], np.cumsum(np.bincount(inverse))[:-1])]
    return sorted(found, key=lambda one: (-len(one), one.code))


def mixed(*columns: Array) -> NDArray[np.uint64]:
    """One number for each row of the columns; equal rows have equal numbers, others do not but by a 2^-64 chance."""
    key = np.zeros(len(columns[0]), np.uint64)
    for column in columns:
        key = (key ^ column.astype(np.int64).view(np.uint64)) + np.uint64(0x9E3779B97F4A7C15)
        key = (key ^ (key >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        key = (key ^ (key >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        key ^= key >> np.uint64(31)
    return key
