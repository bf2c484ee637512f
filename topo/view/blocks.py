"""What a picture of a fabric is made of: hosts and switches, and the nested blocks they form tier by tier."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topo.fabric import Fabric
from topo.network import Network
from topo.output import plain
from topo.table import Array, Labels
from topo.view.text import natural_key, plural

__all__ = ["UNKNOWN_TIER", "Blocks", "Units"]

UNKNOWN_TIER = 100
"""Row of switches whose tier is not known; drawn above the others."""

_SORTED_UP_TO = 5000


@dataclass(frozen=True, eq=False)
class Units:
    """The vertices of a picture: every switch, and every host with all its endpoints and parts as one.

    ``node`` is a node row of each unit, ``tier`` 0 for hosts, ``n_endpoints`` how many endpoints it holds;
    ``a`` and ``b`` are the units at the ends of ``links``, the endpoints' own network. ``left_out`` says what
    is not in it.
    """

    fabric: Fabric
    node: NDArray[np.int64]
    tier: NDArray[np.int64]
    n_endpoints: NDArray[np.int64]
    links: NDArray[np.int64]
    a: NDArray[np.int64]
    b: NDArray[np.int64]
    left_out: tuple[str, ...]

    @classmethod
    def of(cls, fabric: Fabric) -> Units:
        """Hosts folded into one unit each, switches one by one; nodes without traffic left out."""
        nodes = fabric.nodes
        inside = (nodes.host.codes >= 0) & (nodes.tier <= 0)
        is_switch = nodes.kind.is_any("switch") & ~inside & ~nodes.is_endpoint
        holds = np.zeros(len(nodes.host.labels) + 1, bool)
        holds[nodes.host.codes[nodes.is_endpoint]] = True
        holds[-1] = False
        n_hosts = len(nodes.host.labels)
        key = np.full(len(nodes), -1, np.int64)
        lone = is_switch | (nodes.is_endpoint & (nodes.host.codes < 0))
        key[lone] = n_hosts + np.flatnonzero(lone)
        folded = ~is_switch & holds[nodes.host.codes]
        key[folded] = nodes.host.codes[folded]
        kept = np.flatnonzero(key >= 0)
        _, first, inverse = np.unique(key[kept], return_index=True, return_inverse=True)
        unit = np.full(len(nodes), -1, np.int64)
        unit[kept] = inverse
        node = kept[first]
        tier = np.where(is_switch[node], nodes.tier[node], 0).astype(np.int64)
        tier[is_switch[node] & (tier <= 0)] = UNKNOWN_TIER
        network = Network.of(fabric)
        a, b = unit[network.a], unit[network.b]
        drawn = (a >= 0) & (b >= 0) & (a != b)
        rows = network.links[drawn]
        return cls(
            fabric,
            node,
            tier,
            np.bincount(unit[fabric.endpoints], minlength=len(node)),
            rows,
            a[drawn],
            b[drawn],
            _left_out(fabric, unit, rows),
        )

    def __len__(self) -> int:
        return len(self.node)

    def name(self, unit: int) -> str:
        """A host's own label, or the node's name."""
        nodes, row = self.fabric.nodes, int(self.node[unit])
        if self.tier[unit] == 0 and nodes.host.codes[row] >= 0:
            return plain(nodes.host[row])
        return plain(str(nodes.name[row]))

    def column(self, name: str, units: Array) -> NDArray[np.int32]:
        """Codes of a group column for the units."""
        labels: Labels = getattr(self.fabric.nodes, name)
        return labels.codes[self.node[units]]

    def label(self, name: str, code: int) -> str:
        """Text of a group column's code."""
        labels: Labels = getattr(self.fabric.nodes, name)
        return plain(str(labels.labels[code]))


def _left_out(fabric: Fabric, unit: Array, drawn: Array) -> tuple[str, ...]:
    said: list[str] = []
    nodes = Counter(fabric.nodes.kind.values(np.flatnonzero(unit < 0)).tolist())
    said += [plural(count, f"{plain(kind) or 'other'} node") for kind, count in sorted(nodes.items())]
    rest = np.ones(len(fabric.links), bool)
    rest[drawn] = False
    rest &= (unit[fabric.link_a] != unit[fabric.link_b]) | (unit[fabric.link_a] < 0)
    one_sided = rest & fabric.links.evidence.is_any("one end")
    if one_sided.any():
        said.append(f"{plural(int(one_sided.sum()), 'link')} that only one end reported")
    kinds = Counter(fabric.links.kind.values(np.flatnonzero(rest & ~one_sided)).tolist())
    said += [plural(count, f"{plain(kind).replace('_', '-')} link") for kind, count in sorted(kinds.items())]
    return tuple(said)


class Blocks:
    """The nested blocks of a fabric: at each tier, the parts that its switches and all below join together.

    A block at tier k is a connected part of the units of tier at most k that holds a switch of tier k: a
    leaf with its hosts (or the leaves that share hosts, a scalable unit), a pod, the whole. Blocks are
    numbered over all tiers; ``parent`` is -1 at the top, ``size`` counts the units inside, ``n_lowest``
    the blocks inside that hold no further block. No column is needed, so a discovery dump is grouped as well.
    """

    def __init__(self, units: Units) -> None:
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        self.units = units
        self.tiers = [int(t) for t in np.unique(units.tier[units.tier > 0])]
        n = len(units)
        height = np.maximum(units.tier[units.a], units.tier[units.b])
        member: list[NDArray[np.int64]] = []
        level: list[NDArray[np.int64]] = []
        total = 0
        for i, tier in enumerate(self.tiers):
            within = height <= tier
            ends = (units.a[within], units.b[within])
            joined = coo_array((np.ones(len(ends[0]), np.int8), ends), shape=(n, n))
            _, part = connected_components(joined, directed=False)
            mine = np.flatnonzero(units.tier == tier)
            parts, first = np.unique(part[mine], return_index=True)
            number = np.full(int(part.max(initial=-1)) + 1, -1, np.int64)
            number[parts[np.argsort(first, kind="stable")]] = total + np.arange(len(parts))
            member.append(number[part])
            level.append(np.full(len(parts), i))
            total += len(parts)
        self.member = member
        self.level = np.concatenate(level) if level else np.empty(0, np.int64)
        self.home = np.full(n, -1, np.int64)
        self.parent = np.full(total, -1, np.int64)
        self._nest(n)

    def _nest(self, n: int) -> None:
        """Parent of a block: the next higher one around it. Home of a unit: the lowest block with it."""
        around = np.full(n, -1, np.int64)
        for i in range(len(self.tiers) - 1, -1, -1):
            here = self.member[i]
            at = np.flatnonzero((self.units.tier == self.tiers[i]) & (here >= 0))
            self.parent[here[at]] = around[at]
            self.home[here >= 0] = here[here >= 0]
            around = np.where(here >= 0, here, around)
        for i, tier in enumerate(self.tiers):
            own = self.units.tier == tier
            self.home[own] = self.member[i][own]
        self.size = np.zeros(len(self.parent), np.int64)
        for here in self.member:
            self.size += np.bincount(here[here >= 0], minlength=len(self.parent))
        self.n_lowest = np.zeros(len(self.parent), np.int64)
        self.n_lowest[np.setdiff1d(np.arange(len(self.parent)), self.parent)] = 1
        for i in range(len(self.tiers)):
            here = np.flatnonzero((self.level == i) & (self.parent >= 0))
            np.add.at(self.n_lowest, self.parent[here], self.n_lowest[here])

    def roots(self) -> list[int]:
        """Blocks that no higher block holds."""
        return self._sorted(np.flatnonzero(self.parent < 0))

    def children(self, block: int) -> list[int]:
        """Blocks directly inside, in the order of their names."""
        return self._sorted(np.flatnonzero(self.parent == block))

    def own(self, block: int) -> NDArray[np.int64]:
        """The block's switches of its own tier."""
        return self.by_name(self._own(block))

    def hosts(self, block: int) -> NDArray[np.int64]:
        """Hosts that belong to this block and to no lower one."""
        return self.by_name(np.flatnonzero((self.home == block) & (self.units.tier == 0)))

    def inside(self, blocks: Sequence[int]) -> NDArray[np.int64]:
        """Every unit of the blocks, those of lower blocks included."""
        wanted = np.asarray(blocks)
        mask = np.zeros(len(self.units), bool)
        for i in range(len(self.tiers)):
            at = wanted[self.level[wanted] == i]
            if at.size:
                mask |= np.isin(self.member[i], at)
        return np.flatnonzero(mask)

    def label(self, block: int, order: int = 0) -> str:
        """The one switch's name, what its switches share, else a word with its ``order`` if it has one."""
        own = self._own(block)
        if len(own) == 1:
            return self.units.name(int(own[0]))
        numbered = f"{self.word(block)} {order}" if order else ""
        return self._shared_label(block) or self._stem(own) or numbered

    def word(self, block: int) -> str:
        """What to call a block: leaf, unit, pod, block."""
        level = int(self.level[block])
        if level == 0 and len(self._own(block)) == 1:
            return "leaf"
        stem = self._shared_label(block).lower().rstrip("0123456789").rstrip("-_ ")
        if stem in {"pod", "group", "zone", "block", "segment", "cell", "rack"}:
            return stem
        return "unit" if level == 0 else "pod" if level == 1 else "block"

    def _own(self, block: int) -> NDArray[np.int64]:
        tier = self.tiers[int(self.level[block])]
        return np.flatnonzero((self.home == block) & (self.units.tier == tier))

    def _shared_label(self, block: int) -> str:
        """The pod, rack or chassis that all the block's switches bear and the block around it does not."""
        own = self._own(block)
        parent = int(self.parent[block])
        around = self._own(parent) if parent >= 0 else own[:0]
        for column in ("pod", "rack", "chassis"):
            codes = self.units.column(column, own)
            shared = codes.size and codes[0] >= 0 and (codes == codes[0]).all()
            if shared and codes[0] not in self.units.column(column, around):
                return self.units.label(column, int(codes[0]))
        return ""

    def _stem(self, units: Array) -> str:
        """The common first part of the switches' names, if it holds a number."""
        if not 1 < len(units) <= _SORTED_UP_TO:
            return ""
        names = [self.units.name(int(unit)) for unit in units]
        first, last = min(names), max(names)
        differ = (i for i, (x, y) in enumerate(zip(first, last, strict=False)) if x != y)
        same = next(differ, len(first))
        stem = re.sub(r"[-_.:/ ][^-_.:/ ]*\Z", "", first[:same])
        stem = re.sub(r"(?i)[-_.:/ ](leaf|spine|core)\Z", "", stem)
        return stem if any(letter.isdigit() for letter in stem) else ""

    def by_name(self, units: Array) -> NDArray[np.int64]:
        """Units in the natural order of their names; in row order where there are very many."""
        if len(units) > _SORTED_UP_TO:
            return units
        return np.array(sorted(units.tolist(), key=lambda u: natural_key(self.units.name(u))), np.int64)

    def _sorted(self, blocks: Array) -> list[int]:
        """Large blocks before small ones, labelled ones first, then by label or by the name of a switch."""
        if len(blocks) > _SORTED_UP_TO:
            return [int(b) for b in blocks]
        tier = np.append(np.array(self.tiers, np.int64), -1)[self.level]
        own = np.flatnonzero(np.isin(self.home, blocks) & (self.units.tier > 0))
        own = own[self.units.tier[own] == tier[self.home[own]]]
        keys: dict[int, tuple[bool, Any, Any]] = {}
        for unit, code in zip(own.tolist(), self.units.column("pod", own).tolist(), strict=True):
            name = natural_key(self.units.name(unit))
            mine = (code < 0, natural_key(self.units.label("pod", code)) if code >= 0 else name, name)
            keys[int(self.home[unit])] = min(keys.get(int(self.home[unit]), mine), mine)
        most = int(self.size[blocks].max(initial=0))
        return sorted(keys, key=lambda b: (2 * self.size[b] < most, keys[b], b))
