"""The nested blocks that the hosts and switches of a fabric form tier by tier."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topo.table import Array
from topo.view.text import natural_key
from topo.view.units import Units

__all__ = ["Blocks"]

_SORTED_UP_TO = 5000


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
        self._measured: dict[int, NDArray[np.float64]] = {}
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
        if shared := self._shared_label(block):
            return shared
        stem = self._stem(own)
        return (
            ", ".join(part for part in (stem, numbered) if part) if self._is_common(stem, block) else stem or numbered
        )

    def word(self, block: int) -> str:
        """What to call a block: leaf, unit, pod, block."""
        level = int(self.level[block])
        if level == 0 and len(self._own(block)) == 1:
            return "leaf"
        if self._is_stray(block):
            return "part"
        stem = self._shared_label(block).lower().rstrip("0123456789").rstrip("-_ ")
        if stem in {"pod", "group", "zone", "block", "segment", "cell", "rack"}:
            return stem
        return "unit" if level == 0 else "pod" if level == 1 else "block"

    def _own(self, block: int) -> NDArray[np.int64]:
        tier = self.tiers[int(self.level[block])]
        return np.flatnonzero((self.home == block) & (self.units.tier == tier))

    def _is_stray(self, block: int) -> bool:
        """Whether blocks beside this one bear a pod label and it does not: a few switches that belong to no pod."""
        beside = np.flatnonzero((self.parent == self.parent[block]) & (self.level == self.level[block]))
        tier = self.tiers[int(self.level[block])]
        near = np.flatnonzero(np.isin(self.home, beside) & (self.units.tier == tier))
        codes = self.units.column("pod", near)
        return bool((codes >= 0).any()) and bool((codes[self.home[near] == block] < 0).all())

    def _shared_label(self, block: int) -> str:
        """The pod, rack or chassis that all switches of the block bear and no other one; else that of its hosts."""
        tier = self.tiers[int(self.level[block])]
        hosts = np.flatnonzero((self.member[int(self.level[block])] == block) & (self.units.tier == 0))
        for own, all_alike, columns in (
            (self._own(block), np.flatnonzero(self.units.tier == tier), ("pod", "rack", "chassis")),
            (hosts, np.flatnonzero(self.units.tier == 0), ("rack", "domain", "pod")),
        ):
            if not own.size or (own is hosts and self.parent[block] < 0):
                continue  # the switches on top are not named after what they serve
            for column in columns:
                codes = self.units.column(column, own)
                if codes[0] < 0 or (codes != codes[0]).any():
                    continue
                if int((self.units.column(column, all_alike) == codes[0]).sum()) == len(own):
                    return self.units.label(column, int(codes[0]))
        return ""

    def all_alike(self, blocks: Sequence[int]) -> bool:
        """Whether the blocks, all of one level, hold as many units, cables and Gb/s, and send as many out."""
        wanted = np.asarray(blocks)
        levels = self.level[wanted]
        if (levels != levels[0]).any():
            return False
        table = self._measures(int(levels[0]))[wanted]
        return bool((table == table[0]).all())

    def _measures(self, level: int) -> NDArray[np.float64]:
        """What is counted of each block of a level: units by tier, endpoints, cables and rate inside and outward."""
        if level not in self._measured:
            units, member, n = self.units, self.member[level], len(self.parent)
            held = member >= 0
            columns: list[Array] = [
                np.bincount(member[held & (units.tier == t)], minlength=n) for t in (0, *self.tiers)
            ]
            columns.append(np.bincount(member[held], units.n_endpoints[held], minlength=n))
            a, b = member[units.a], member[units.b]
            rate = np.nan_to_num(units.fabric.links.capacity_gbps[units.links], nan=-1.0)
            height = np.maximum(units.tier[units.a], units.tier[units.b])
            for tier in np.unique(height).tolist():
                for end, where in ((a, (a == b) & (a >= 0)), (a, (a != b) & (a >= 0)), (b, (a != b) & (b >= 0))):
                    here = where & (height == tier)
                    columns += [np.bincount(end[here], minlength=n), np.bincount(end[here], rate[here], minlength=n)]
            self._measured[level] = np.stack(columns, axis=1).round(6)
        return self._measured[level]

    def _stem(self, units: Array) -> str:
        """The common first part of the switches' names, if it holds a number, and the last part if that is common."""
        if not 1 < len(units) <= _SORTED_UP_TO:
            return ""
        names = [self.units.name(int(unit)) for unit in units]
        first, last = min(names), max(names)
        differ = (i for i, (x, y) in enumerate(zip(first, last, strict=False)) if x != y)
        same = next(differ, len(first))
        stem = re.sub(r"[-_.:/ ][^-_.:/ ]*\Z", "", first[:same])
        stem = re.sub(r"(?i)[-_.:/ ](leaf|spine|core)\Z", "", stem)
        if not any(letter.isdigit() for letter in stem):
            return ""
        back = [name[::-1] for name in names]
        first, last = min(back), max(back)
        tail = first[: next((i for i, (x, y) in enumerate(zip(first, last, strict=False)) if x != y), 0)][::-1]
        mark = min((i for i, letter in enumerate(tail) if letter in "-_.:/ "), default=len(tail))
        return f"{stem}-*{tail[mark:]}" if tail[mark:].strip("-_.:/ ") else stem

    def _is_common(self, stem: str, block: int) -> bool:
        """Whether switches of the same tier outside the block have names with this stem as well."""
        if not stem:
            return False
        tier = self.tiers[int(self.level[block])]
        others = np.flatnonzero((self.units.tier == tier) & (self.home != block))
        head, _, tail = stem.partition("*")
        names = (self.units.name(int(unit)) for unit in others)
        return any(name.startswith(head) and name.endswith(tail) for name in names)

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
