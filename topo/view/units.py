"""The vertices of a picture: nodes one by one, or folded into hosts, racks or whatever shares a number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from topo.fabric import Fabric
from topo.network import Network
from topo.output import plain
from topo.table import Array, Labels

__all__ = ["UNKNOWN_TIER", "Units", "in_hosts", "kind_word", "tier_word"]

UNKNOWN_TIER = 100
"""Row of switches whose tier is not known; drawn above the others."""

_KIND_WORDS = {
    "nic": "NIC",
    "cpu": "CPU",
    "pcie_switch": "PCIe switch",
    "scale_up_switch": "scale-up switch",
    "storage_switch": "storage switch",
}


def tier_word(tier: int) -> str:
    """Word for a switch of a tier.

    >>> tier_word(1), tier_word(5)
    ('leaf', 'tier-5 switch')
    """
    known = {0: "host", 1: "leaf", 2: "spine", 3: "core", UNKNOWN_TIER: "switch"}
    return known.get(tier, f"tier-{tier} switch")


def kind_word(kind: str) -> str:
    """Word for a node of a kind.

    >>> kind_word("pcie_switch"), kind_word("accelerator"), kind_word("")
    ('PCIe switch', 'accelerator', 'other node')
    """
    return _KIND_WORDS.get(kind, plain(kind).replace("_", " ") or "other node")


@dataclass(frozen=True, eq=False)
class Units:
    """The vertices of a picture and the links between them.

    ``node`` is a node row of each unit, ``tier`` the row it is drawn in (0 for hosts, 1 for leaves, ...),
    ``n_endpoints`` how many endpoints it holds; ``a`` and ``b`` are the units at the ends of ``links``.
    ``of_node`` is the unit of each node, -1 where the picture leaves it out. Units of row 0 bear the label
    of their column ``named_by``, the others the node's name; ``prefix``, common to the names, is not shown.
    With ``has_chips`` row 1 holds the switches of scale-up domains and the leaves are in row 2.
    """

    fabric: Fabric
    node: NDArray[np.int64]
    tier: NDArray[np.int64]
    n_endpoints: NDArray[np.int64]
    links: NDArray[np.int64]
    a: NDArray[np.int64]
    b: NDArray[np.int64]
    of_node: NDArray[np.int64]
    named_by: str = "host"
    prefix: str = ""
    has_chips: bool = False

    @classmethod
    def of(cls, fabric: Fabric, *, without: Sequence[str] = (), chips: bool = False) -> Units:
        """Switches one by one, every host with all its endpoints and parts as one; nodes without traffic left out.

        The links are those of the endpoints' own network, but for the kinds named in ``without``. With ``chips`` the
        switches of scale-up domains that span hosts are there as well.
        """
        nodes = fabric.nodes
        inside = (nodes.host.codes >= 0) & (nodes.tier <= 0)
        is_switch = nodes.kind.is_any("switch") & ~inside & ~nodes.is_endpoint
        lone = is_switch | (nodes.is_endpoint & (nodes.host.codes < 0))
        key = np.full(len(nodes), -1, np.int64)
        key[lone] = len(nodes.host.labels) + np.flatnonzero(lone)
        folded = ~is_switch & in_hosts(fabric)
        key[folded] = nodes.host.codes[folded]
        tier = np.where(is_switch, nodes.tier, 0).astype(np.int64)
        tier[is_switch & (tier <= 0)] = UNKNOWN_TIER
        rows = Network.of(fabric).links
        if without:
            rows = rows[~fabric.links.kind.is_any(*without)[rows]]
        if not chips:
            return cls.folded(fabric, key, tier, rows)
        joined = np.zeros(len(nodes), bool)
        joined[fabric.link_a[rows]] = joined[fabric.link_b[rows]] = True
        drawn = np.flatnonzero(nodes.kind.is_any("scale_up_switch") & (key < 0) & joined)
        key[drawn] = len(nodes.host.labels) + drawn
        if len(drawn):
            tier[(tier > 0) & (tier < UNKNOWN_TIER)] += 1
            tier[drawn] = 1
        return replace(cls.folded(fabric, key, tier, rows), has_chips=bool(len(drawn)))

    @classmethod
    def folded(
        cls,
        fabric: Fabric,
        key: ArrayLike,
        tier: ArrayLike,
        links: ArrayLike,
        *,
        named_by: str = "host",
        strip: bool = False,
    ) -> Units:
        """Nodes of equal ``key`` as one unit, those below 0 left out; links that stay inside a unit are too."""
        keys, rows = np.asarray(key, np.int64), np.asarray(links, np.int64)
        kept = np.flatnonzero(keys >= 0)
        _, first, inverse = np.unique(keys[kept], return_index=True, return_inverse=True)
        unit = np.full(len(keys), -1, np.int64)
        unit[kept] = inverse
        node = kept[first]
        a, b = unit[fabric.link_a[rows]], unit[fabric.link_b[rows]]
        drawn = (a >= 0) & (b >= 0) & (a != b)
        held = unit[fabric.endpoints]
        made = cls(
            fabric,
            node,
            np.asarray(tier, np.int64)[node],
            np.bincount(held[held >= 0], minlength=len(node)),
            rows[drawn],
            a[drawn],
            b[drawn],
            unit,
            named_by,
        )
        return made.stripped() if strip else made

    def __len__(self) -> int:
        return len(self.node)

    def word(self, tier: int) -> str:
        """Word for a unit of a row."""
        if not self.has_chips or not 0 < tier < UNKNOWN_TIER:
            return tier_word(tier)
        return tier_word(tier - 1) if tier > 1 else kind_word("scale_up_switch")

    def stripped(self) -> Units:
        """The same units without what all their names begin with, up to a separator before a letter."""
        names = [self.name(i) for i in range(len(self))]
        first, last = min(names, default=""), max(names, default="")
        differ = (i for i, (x, y) in enumerate(zip(first, last, strict=False)) if x != y)
        same = next(differ, 0)
        cuts = [i + 1 for i, letter in enumerate(first[:same]) if letter in "-_./: "]
        cut = max((i for i in cuts if all(name[i : i + 1].isalpha() for name in names)), default=0)
        return replace(self, prefix=first[:cut])

    def name(self, unit: int) -> str:
        """The label of a folded unit, or the node's name."""
        nodes, row = self.fabric.nodes, int(self.node[unit])
        name = plain(str(nodes.name[row]))
        if self.tier[unit] == 0 and self.named_by:
            labels: Labels = getattr(nodes, self.named_by)
            if labels.codes[row] >= 0:
                name = plain(labels[row])
        return name.removeprefix(self.prefix) or name

    def column(self, name: str, units: Array) -> NDArray[np.int32]:
        """Codes of a group column for the units."""
        labels: Labels = getattr(self.fabric.nodes, name)
        return labels.codes[self.node[units]]

    def label(self, name: str, code: int) -> str:
        """Text of a group column's code."""
        labels: Labels = getattr(self.fabric.nodes, name)
        return plain(str(labels.labels[code]))


def in_hosts(fabric: Fabric) -> NDArray[np.bool_]:
    """Which nodes belong to a host that holds an endpoint."""
    nodes = fabric.nodes
    holds = np.zeros(len(nodes.host.labels) + 1, bool)
    holds[nodes.host.codes[nodes.is_endpoint]] = True
    holds[-1] = False
    mask: NDArray[np.bool_] = holds[nodes.host.codes]
    return mask
