"""Groups of hosts and switches that a map opens on demand, none with more members than can be looked over."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topo.view.blocks import Blocks
from topo.view.text import natural_key, plural, shorten
from topo.view.units import Units

__all__ = ["MapGroups"]

_MOST = 40
_CHUNK = 32
_COLUMNS = ("pod", "plane", "rail", "chassis", "rack")
_LONGEST = 24


class MapGroups:
    """The tree of groups: ``parent`` and ``label`` of each, and the group of every unit.

    A group is a block of the fabric (a leaf with its hosts, a scalable unit, a pod, the whole), a label that some of
    its members share, or a run of names where they are many. ``parent`` is -1 at the top; parents come first. ``pod``
    is the code of each unit's pod, hosts being where their first switch is.
    """

    def __init__(self, units: Units) -> None:
        self.units = units
        self.parent: list[int] = []
        self.label: list[str] = []
        self.group = np.zeros(len(units), np.int64)
        self.pod = _pods(units)
        blocks = Blocks(units)
        self._blocks = blocks
        self._inside = _rows_by(blocks.home, len(blocks.parent))
        self._children = _rows_by(blocks.parent, len(blocks.parent))
        loose = np.flatnonzero(blocks.home < 0)
        roots = np.flatnonzero(blocks.parent < 0)
        top = self._add(-1, units.fabric.name)
        if len(roots) == 1:
            self._fill_block(top, int(roots[0]))
        else:
            self._runs(top, [self._name(int(b), i) for i, b in enumerate(roots)], roots.tolist(), self._open_block)
        self._fill(top, loose.tolist())

    def _add(self, parent: int, label: str) -> int:
        self.parent.append(parent)
        self.label.append(label)
        return len(self.parent) - 1

    def _open_block(self, parent: int, name: str, block: int) -> None:
        self._fill_block(self._add(parent, name), block)

    def _fill_block(self, group: int, block: int) -> None:
        """Blocks inside, then the switches of the block's own tier, then hosts that are in no lower block."""
        children = self._children[block].tolist()
        named = [self._name(child, i) for i, child in enumerate(children)]
        order = sorted(range(len(children)), key=lambda i: natural_key(named[i]))
        self._runs(group, [named[i] for i in order], [children[i] for i in order], self._open_block)
        members = self._inside[block]
        pods = np.unique(self.pod[members])
        if not children and len(pods) > 1 and (pods >= 0).all() and len(members) > _MOST:
            texts = [self.units.label("pod", int(code)) for code in pods]
            split = [members[self.pod[members] == code].tolist() for code in pods]
            self._runs(group, texts, split, self._fill_new)
            return
        for tier in np.unique(self.units.tier[members])[::-1]:
            self._fill(group, members[self.units.tier[members] == tier].tolist())

    def _fill_new(self, parent: int, name: str, members: list[int]) -> None:
        group = self._add(parent, name)
        tiers = self.units.tier[members]
        for tier in np.unique(tiers)[::-1]:
            self._fill(group, np.asarray(members)[tiers == tier].tolist())

    def _fill(self, group: int, members: list[int], columns: Sequence[str] = _COLUMNS) -> None:
        """Members one by one where they are few, else by the first label that splits them, else by runs of names."""
        if len(members) <= _MOST:
            self.group[members] = group
            return
        rows = np.asarray(members)
        for i, column in enumerate(columns):
            codes = self.units.column(column, rows)
            found = np.unique(codes)
            if (codes >= 0).all() and 1 < len(found) <= len(members) // 2:
                texts = [self.units.label(column, int(code)) for code in found]
                split = [rows[codes == code].tolist() for code in found]
                rest = columns[i + 1 :]

                def put(at: int, name: str, part: list[int], rest: Sequence[str] = rest) -> None:
                    self._fill(self._add(at, name), part, rest)

                self._runs(group, texts, split, put)
                return
        names = [self.units.name(int(unit)) for unit in rows]
        order = sorted(range(len(rows)), key=lambda k: natural_key(names[k]))
        self._runs(group, [names[k] for k in order], [int(rows[k]) for k in order], self._place)

    def _place(self, group: int, name: str, unit: int) -> None:
        self.group[unit] = group

    def _runs(self, group: int, names: list[str], items: list[Any], put: Callable[[int, str, Any], None]) -> None:
        """Put the items into the group, or into runs of it where they are too many for one."""
        if len(items) <= _MOST:
            for name, item in zip(names, items, strict=True):
                put(group, name, item)
            return
        size = max(_CHUNK, -(-len(items) // _CHUNK))
        for first in range(0, len(items), size):
            part = slice(first, first + size)
            some = names[part]
            self._runs(self._add(group, _range(some[0], some[-1])), some, items[part], put)

    def _name(self, block: int, order: int) -> str:
        """The one switch's name, a label that all switches or all hosts of the block bear, else a number."""
        units, members = self.units, self._inside[block]
        own = members[units.tier[members] > 0]
        if len(own) == 1:
            return units.name(int(own[0]))
        hosts = members[units.tier[members] == 0]
        for rows, columns in ((own, ("pod", "rack", "chassis")), (hosts, ("rack", "domain", "pod"))):
            for column in columns if len(rows) else ():
                codes = units.column(column, rows)
                if codes[0] >= 0 and (codes == codes[0]).all():
                    return units.label(column, int(codes[0]))
        word = ("unit", "pod", "block")[min(int(self._blocks.level[block]), 2)]
        return f"{word} {order + 1}, {plural(len(own), 'switch')}"


def _range(first: str, last: str) -> str:
    """The two names, without what stands behind a comma, the second without what both begin with, up to a number.

    >>> _range("core-001", "core-032"), _range("unit 1, 8 switches", "unit 32, 8 switches"), _range("a", "b")
    ('core-001 … 032', 'unit 1 … 32', 'a … b')
    """
    first, last = first.partition(", ")[0] or first, last.partition(", ")[0] or last
    same = next((i for i, (x, y) in enumerate(zip(first, last, strict=False)) if x != y), 0)
    while same and not (first[same - 1] in "-_./: " or (first[same - 1].isalpha() and last[same : same + 1].isdigit())):
        same -= 1
    return f"{shorten(first, _LONGEST)} … {shorten(last[same:], _LONGEST)}"


def _rows_by(code: NDArray[np.int64], n: int) -> list[NDArray[np.int64]]:
    """Rows of each code from 0 to n - 1; those below 0 are in none."""
    order = np.argsort(code, kind="stable")
    cuts = np.searchsorted(code[order], np.arange(n + 1))
    return [order[cuts[i] : cuts[i + 1]] for i in range(n)]


def _pods(units: Units) -> NDArray[np.int64]:
    """Code of every unit's pod; a host without one is where its first switch is."""
    pod: NDArray[np.int64] = units.column("pod", np.arange(len(units))).astype(np.int64)
    for lower, upper in ((units.a, units.b), (units.b, units.a)):
        at = np.flatnonzero((units.tier[lower] == 0) & (units.tier[upper] > 0) & (pod[lower] < 0))[::-1]
        pod[lower[at]] = pod[upper[at]]
    return pod
