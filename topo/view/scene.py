"""Decide what a picture shows: which boxes stand for which switches and hosts, in which row and column."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from topo.table import Array
from topo.view.blocks import UNKNOWN_TIER, Blocks, Units
from topo.view.text import plural

__all__ = ["Box", "Bundle", "Scene", "scene_of", "tier_word"]

_SINGLES = 16
_BUDGETS = (12, 8, 5, 3, 1)
_MOST_LINES = 130
_MOST_LINES_IN_A_GAP = 72
_MOST_BOXES = 72
_LONG_LABEL = 13


def tier_word(tier: int) -> str:
    """Word for a switch of a tier.

    >>> tier_word(1), tier_word(5)
    ('leaf', 'tier-5 switch')
    """
    known = {0: "host", 1: "leaf", 2: "spine", 3: "core", UNKNOWN_TIER: "switch"}
    return known.get(tier, f"tier-{tier} switch")


@dataclass(frozen=True, eq=False)
class Box:
    """One box: the ``units`` it stands for, its tier, its columns, and whether it lumps ``n_more`` blocks."""

    tier: int
    units: NDArray[np.int64]
    start: float
    end: float
    count: str
    label: str
    detail: str = ""
    n_more: int = 0


@dataclass(frozen=True, slots=True)
class Bundle:
    """All cables between two boxes (or within one, ``lower == upper``), and what is uneven about them."""

    lower: int
    upper: int
    cables: int
    gbps: float
    uneven: str = ""
    marked: int = 0


@dataclass(eq=False)
class Scene:
    """Boxes and the bundles between them, and what of the fabric they leave out."""

    units: Units
    blocks: Blocks
    boxes: list[Box] = field(default_factory=list)
    bundles: list[Bundle] = field(default_factory=list)
    columns: int = 1

    @property
    def all_single(self) -> bool:
        """Whether every box is one switch or one host."""
        return all(len(box.units) == 1 for box in self.boxes)

    def rows(self) -> list[tuple[int, list[int]]]:
        """Tiers from the top down, each with the indices of its boxes."""
        tiers = sorted({box.tier for box in self.boxes}, reverse=True)
        return [(tier, [i for i, box in enumerate(self.boxes) if box.tier == tier]) for tier in tiers]


def scene_of(fabric_units: Units, marked: NDArray[np.bool_] | None = None) -> Scene:
    """The finest picture that stays readable: every switch and host, else groups, else one box a tier."""
    blocks = Blocks(fabric_units)
    for budget in (_SINGLES, *_BUDGETS):
        if budget == _SINGLES and len(fabric_units) > _MOST_BOXES:
            continue
        scene = Scene(fabric_units, blocks)
        _Layout(scene, budget).run()
        if budget == _SINGLES and not scene.all_single:
            continue
        if len(scene.boxes) > _MOST_BOXES:
            continue
        scene.bundles = _bundles(scene, marked)
        if budget == 1 or _is_readable(scene):
            return scene
    raise AssertionError("the last budget is always taken")


def _is_readable(scene: Scene) -> bool:
    between = [bundle for bundle in scene.bundles if bundle.lower != bundle.upper]
    gaps: dict[tuple[int, int], int] = {}
    for bundle in between:
        gap = (scene.boxes[bundle.lower].tier, scene.boxes[bundle.upper].tier)
        gaps[gap] = gaps.get(gap, 0) + 1
    return len(between) <= _MOST_LINES and max(gaps.values(), default=0) <= _MOST_LINES_IN_A_GAP


class _Layout:
    """Deal columns to blocks from the top down; what does not fit shares one box, and says so."""

    def __init__(self, scene: Scene, budget: int) -> None:
        self.scene = scene
        self.units = scene.units
        self.blocks = scene.blocks
        self.budget = budget

    def run(self) -> None:
        """Fill the scene."""
        roots = self.blocks.roots()
        lone = np.flatnonzero(self.blocks.home < 0)
        column = 0
        if len(roots) == 1:
            column = self._expand(roots[0], 0, self.budget)
        elif roots:
            column = self._row_of_blocks(roots, 0, self.budget)
        if lone.size:
            column += self._hosts(lone, column, max(1, self.budget - column), "joined to no switch")
        self.scene.columns = max(1, column)

    def _expand(self, block: int, start: int, budget: int) -> int:
        """Draw a block with its inner blocks on about ``budget`` columns; returns how many it took."""
        children = self.blocks.children(block)
        own, hosts = self.blocks.own(block), self.blocks.hosts(block)
        tier = self.blocks.tiers[int(self.blocks.level[block])]
        label = self._label(block)
        used = self._row_of_blocks(children, start, budget) if children else 0
        room = max(budget, used)
        if hosts.size:
            below = max(1, budget - used)
            used += self._hosts(hosts, start + used, below, "" if not children else f"on {tier_word(tier)} switches")
        classes = self._split(own, room, by_neighbours=self.blocks.parent[block] < 0)
        used = max(used, len(classes) if not children else 1, 1)
        used = max(used, min(len(classes), budget))
        for i, (part, name) in enumerate(classes):
            step = used / len(classes)
            shown = name or ("" if len(part) == 1 and len(classes) > 1 else label)
            self._switches(tier, part, start + i * step, start + (i + 1) * step, shown)
        return used

    def _row_of_blocks(self, blocks: list[int], start: int, budget: int) -> int:
        shown, each = self._plan(blocks, budget)
        column = start
        for block in blocks[:shown]:
            if each <= 1 and self.blocks.n_lowest[block] > 1:
                column += self._collapsed([block], column, budget)
            else:
                column += self._expand(block, column, each)
        if shown < len(blocks):
            column += self._collapsed(blocks[shown:], column, budget)
        return column - start

    def _plan(self, blocks: list[int], budget: int) -> tuple[int, int]:
        """How many blocks to draw one by one, and the columns each gets."""
        n = len(blocks)
        most = int(self.blocks.n_lowest[blocks].max())
        for want in sorted({min(most, 4), min(most, 3)}, reverse=True):
            if n * want <= budget * 5 // 4:
                return n, max(want, budget // n)
        want = min(most, 4)
        shown = (budget - 1) // want
        if shown < 2 and n <= budget * 5 // 4:
            return n, 1
        if shown < 2:
            shown, want = budget - 1, 1
        shown = min(shown, 7)
        return (shown if n - shown > 1 else n), want

    def _collapsed(self, blocks: Sequence[int], column: int, budget: int) -> int:
        """One box for each tier of the blocks; returns the one column it takes."""
        inside = self.blocks.inside(blocks)
        tiers = self.units.tier[inside]
        more = len(blocks) if len(blocks) > 1 else 0
        top = max(self.blocks.tiers[int(self.blocks.level[b])] for b in blocks)
        for tier in sorted({int(t) for t in tiers}, reverse=True):
            units = inside[tiers == tier]
            if more:
                label = plural(more, self.blocks.word(blocks[0])).replace(" ", " more ", 1)
            else:
                label = self._label(blocks[0])
                if tier != top and tier:
                    label = f"in {label}"
            if tier == 0:
                self._host_box(units, column, column + 1, label, more)
            else:
                self._switches(tier, units, column, column + 1, label, more)
        return 1

    def _split(self, own: Array, most: int, *, by_neighbours: bool) -> list[tuple[Array, str]]:
        """A block's own switches one by one if they fit, else by a column, else by equal neighbours."""
        if len(own) <= most and (self.budget == _SINGLES or len(own) <= 8):
            return [(own[i : i + 1], "") for i in range(len(own))]
        for column in ("plane", "pod", "chassis", "rail"):
            codes = self.units.column(column, own)
            values = np.unique(codes)
            if (codes >= 0).all() and 2 <= len(values) <= most:
                labels = _told_apart([self.units.label(column, int(value)) for value in values])
                return [(own[codes == value], label) for value, label in zip(values, labels, strict=True)]
        if not by_neighbours:
            return [(own, "")]
        keys = self._neighbour_keys[own]
        values, first, sizes = np.unique(keys, return_index=True, return_counts=True)
        alike = sizes[0] > 1 and (sizes == sizes[0]).all()  # a missing cable makes no set of its own
        if 2 <= len(values) <= most and alike:
            return [(own[keys == keys[i]], f"set {j} of {len(values)}") for j, i in enumerate(np.sort(first), 1)]
        return [(own, "")]

    @cached_property
    def _neighbour_keys(self) -> NDArray[np.uint64]:
        """A number for each unit, equal where its neighbouring switches are: a sum of fixed randoms."""
        units = self.units
        values = np.random.default_rng(0).integers(1, 2**63, len(units), dtype=np.uint64)
        values[units.tier == 0] = 0
        n = len(units)
        pairs = np.unique(np.concatenate([units.a * n + units.b, units.b * n + units.a]))
        keys = np.zeros(n, np.uint64)
        np.add.at(keys, pairs // max(n, 1), values[pairs % max(n, 1)])
        return keys

    def _label(self, block: int) -> str:
        parent = int(self.blocks.parent[block])
        if parent < 0:
            return self.blocks.label(block)
        siblings = self.blocks.children(parent)
        return self.blocks.label(block, siblings.index(block) + 1)

    def _switches(self, tier: int, units: Array, start: float, end: float, label: str, more: int = 0) -> None:
        if len(units) == 1 and not more:
            box = Box(tier, units, start, end, "", self.units.name(int(units[0])))
        else:
            box = Box(tier, units, start, end, plural(len(units), tier_word(tier)), label, self._range(units), more)
        self.scene.boxes.append(box)

    def _hosts(self, hosts: Array, column: int, budget: int, label: str) -> int:
        if len(hosts) <= budget and (self.budget == _SINGLES or len(hosts) <= 2):
            for i, host in enumerate(hosts.tolist()):
                self._host_box(np.array([host]), column + i, column + i + 1, label)
            return len(hosts)
        self._host_box(hosts, column, column + 1, label)
        return 1

    def _host_box(self, hosts: Array, start: float, end: float, label: str, more: int = 0) -> None:
        endpoints = int(self.units.n_endpoints[hosts].sum())
        each = plural(endpoints, "endpoint") if endpoints != len(hosts) else ""
        if len(hosts) == 1 and not more:
            box = Box(0, hosts, start, end, each, self.units.name(int(hosts[0])), label)
        else:
            second, third = (label, each) if more or not each else (each, self._range(hosts))
            box = Box(0, hosts, start, end, plural(len(hosts), "host"), second, third or self._range(hosts), more)
        self.scene.boxes.append(box)

    def _range(self, units: Array) -> str:
        ordered = self.blocks.by_name(units)
        return f"{self.units.name(int(ordered[0]))} … {self.units.name(int(ordered[-1]))}"


def _told_apart(labels: list[str]) -> list[str]:
    """Long labels without the part that all of them begin with, up to a separator; short ones as they are."""
    if max(map(len, labels)) <= _LONG_LABEL:
        return labels
    first, last = min(labels), max(labels)
    differ = (i for i, (x, y) in enumerate(zip(first, last, strict=False)) if x != y)
    same = first[: next(differ, 0)]
    cut = max(same.rfind(mark) for mark in "-_./: ") + 1
    return [f"…{label[cut:]}" if cut else label for label in labels]


def _bundles(scene: Scene, marked: NDArray[np.bool_] | None) -> list[Bundle]:
    """Cables, rate and evenness between every two boxes that are joined."""
    units = scene.units
    box = np.full(len(units), -1, np.int64)
    for i, one in enumerate(scene.boxes):
        box[one.units] = i
    tier = np.array([one.tier for one in scene.boxes] or [0])
    a, b = box[units.a], box[units.b]
    swap = (tier[a] > tier[b]) | ((tier[a] == tier[b]) & (a > b))
    low, high = np.where(swap, b, a), np.where(swap, a, b)
    low_unit = np.where(swap, units.b, units.a)
    pair, index = np.unique(low * len(scene.boxes) + high, return_inverse=True)
    cables = np.bincount(index, minlength=len(pair))
    gbps = np.bincount(index, weights=units.fabric.links.capacity_gbps[units.links], minlength=len(pair))
    cut = np.zeros(len(pair), np.int64)
    if marked is not None:
        cut = np.bincount(index, weights=marked[units.links], minlength=len(pair)).astype(np.int64)
    describe = _unevenness(scene, index, low_unit)
    return [
        Bundle(int(p // len(scene.boxes)), int(p % len(scene.boxes)), int(c), float(g), describe(i), int(m))
        for i, (p, c, g, m) in enumerate(zip(pair, cables, gbps, cut, strict=True))
    ]


def _unevenness(scene: Scene, index: Array, low_unit: Array) -> Callable[[int], str]:
    """For each bundle: which lower units have fewer cables in it than most of their row have.

    Only counted, never inferred: "most" means more than half of the units of the lower box that take part.
    """
    n = len(scene.units)
    keys, count = np.unique(index * n + low_unit, return_counts=True)
    owner = keys // n
    start = np.searchsorted(owner, np.arange(int(index.max(initial=-1)) + 2))

    def describe(bundle: int) -> str:
        values = count[start[bundle] : start[bundle + 1]]
        sizes, times = np.unique(values, return_counts=True)
        usual = int(sizes[times.argmax()])
        short = values[values < usual]
        if not short.size or times.max() * 2 <= len(values):
            return ""
        first = int(keys[start[bundle] + int(np.flatnonzero(values < usual)[0])] % n)
        word = tier_word(int(scene.units.tier[first]))
        fewer = int(usual * len(short) - short.sum())
        have = "has" if len(short) == 1 else "have"
        return (
            f"{len(short):,} of {plural(len(values), word)} here {have} fewer cables "
            f"than the usual {usual} ({fewer} fewer in all, first {scene.units.name(first)})"
        )

    return describe
