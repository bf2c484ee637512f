"""The picture of a fabric by its nested blocks: which boxes stand for which switches and hosts, in which column."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from topo.table import Array
from topo.view.blocks import Blocks
from topo.view.scene import Box, Scene, range_of
from topo.view.text import natural_key, plural
from topo.view.units import Units, tier_word

__all__ = ["scene_of"]

_SINGLES = 16
_BUDGETS = (12, 8, 5, 3, 1)
_MOST_LINES = 130
_MOST_LINES_IN_A_GAP = 72
_MOST_BOXES = 72
_MOST_WORDS = 64
_LONG_LABEL = 13
_FEW_ALIKE = 3


def scene_of(fabric_units: Units, marked: NDArray[np.bool_] | None = None) -> Scene:
    """The finest picture that stays readable: every switch and host, else groups, else one box a tier."""
    blocks = Blocks(fabric_units)
    for budget in (_SINGLES, *_BUDGETS):
        if budget == _SINGLES and len(fabric_units) > _MOST_BOXES:
            continue
        scene = Scene(fabric_units, n_parts=len(blocks.roots()))
        _Layout(scene, blocks, budget).run()
        if budget == _SINGLES and not scene.all_single:
            continue
        if budget > 1 and len(scene.boxes) > _MOST_BOXES:
            continue
        scene.join(marked)
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

    def __init__(self, scene: Scene, blocks: Blocks, budget: int) -> None:
        self.scene = scene
        self.units = scene.units
        self.blocks = blocks
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
        mark = len(self.scene.boxes)
        used = self._row_of_blocks(children, start, budget) if children else 0
        room = max(budget, used)
        if hosts.size:
            below = max(1, budget - used)
            used += self._hosts(hosts, start + used, below, "" if not children else f"on {tier_word(tier)} switches")
        single = room
        if children and self.budget != _SINGLES:
            single = max(used, _FEW_ALIKE + 1)  # a row of single switches shall not be wider than what hangs below
        classes = self._split(own, room, single, by_neighbours=self.blocks.parent[block] < 0)
        if used < len(classes) <= budget:
            self._stretch(mark, start, len(classes) / max(used, 1))
        used = max(used, 1, len(classes) if not children or len(classes) <= budget else 1)
        for i, (part, name) in enumerate(classes):
            step = used / len(classes)
            shown = name or ("" if len(part) == 1 and len(classes) > 1 else label)
            if name and len(part) > 1 and self.blocks.parent[block] >= 0:
                own_label = self.blocks.label(block)  # none that is only counted
                shown = f"{own_label}, {name}" if own_label else name
            self._switches(tier, part, start + i * step, start + (i + 1) * step, shown)
        return used

    def _stretch(self, mark: int, start: int, factor: float) -> None:
        """Give the boxes from ``mark`` on more room: the row above them needs more columns than they do."""
        boxes = self.scene.boxes
        for i in range(mark, len(boxes)):
            left, right = (start + (edge - start) * factor for edge in (boxes[i].start, boxes[i].end))
            boxes[i] = replace(boxes[i], start=left, end=right)

    def _row_of_blocks(self, blocks: list[int], start: int, budget: int) -> int:
        shown, each = self._plan(blocks, budget)
        column = start
        for block in blocks[:shown]:
            if each <= 1 and self.blocks.n_lowest[block] > 1:
                column += self._collapsed([block], column)
            else:
                column += self._expand(block, column, each)
        if shown < len(blocks):
            alike = self.blocks.all_alike([blocks[0], *blocks[shown:]])
            column += self._collapsed(blocks[shown:], column, alike=alike)
        return column - start

    def _plan(self, blocks: list[int], budget: int) -> tuple[int, int]:
        """How many blocks to draw one by one, and the columns each gets."""
        n = len(blocks)
        most = int(self.blocks.n_lowest[blocks].max())
        size = self.blocks.size[blocks]
        large = int((2 * size >= size.max()).sum())  # they stand first; a few small ones share a box at the end
        if n - large < 2 or n * min(most, 3) <= budget or self.budget == _SINGLES:
            large = n
        alike = n > _FEW_ALIKE + 1 and self.blocks.all_alike(blocks)
        if not (alike and (most > 1 or n > 8)):
            for want in sorted({min(most, 4), min(most, 3), min(most, 2)}, reverse=True):
                if large * want + (large < n) <= budget:
                    return large, max(want, (budget - (large < n)) // large)
        want = min(most, 4)
        shown = (budget - 1) // want
        if shown < 2 and n <= budget and not alike:
            return n, 1
        if shown < 2:
            shown, want = budget - 1, 1
        shown = min(shown, _FEW_ALIKE if alike else 7)
        return (shown if n - shown > 1 else n), want

    def _collapsed(self, blocks: Sequence[int], column: int, *, alike: bool = False) -> int:
        """One box for each tier of the blocks; returns the one column it takes."""
        inside = self.blocks.inside(blocks)
        tiers = self.units.tier[inside]
        more = len(blocks) if len(blocks) > 1 else 0
        top = max(self.blocks.tiers[int(self.blocks.level[b])] for b in blocks)
        for tier in sorted({int(t) for t in tiers}, reverse=True):
            units = inside[tiers == tier]
            if more:
                label = self._more(blocks) + (", alike" if alike else "")
            else:
                label = self._label(blocks[0])
                if tier != top and tier:
                    label = f"in {label}"
            if tier == 0:
                self._host_box(units, column, column + 1, label, more)
            else:
                self._switches(tier, units, column, column + 1, label, more)
        return 1

    def _more(self, blocks: Sequence[int]) -> str:
        """How many further blocks there are, by the words for them."""
        if len(blocks) > _MOST_WORDS:
            return plural(len(blocks), self.blocks.word(blocks[0])).replace(" ", " more ", 1)
        words = Counter(self.blocks.word(block) for block in blocks)
        return ", ".join(
            plural(n, "small part") if word == "part" else plural(n, word).replace(" ", " more ", 1)
            for word, n in words.items()
        )

    def _split(self, own: Array, most: int, single: int, *, by_neighbours: bool) -> list[tuple[Array, str]]:
        """A block's own switches one by one if they fit, else by a column, else by equal neighbours."""
        if len(own) <= single and (self.budget == _SINGLES or len(own) <= 8):
            return [(own[i : i + 1], "") for i in range(len(own))]
        for column in ("plane", "pod", "chassis", "rail"):
            codes = self.units.column(column, own)
            values = np.unique(codes)
            if (codes >= 0).all() and 2 <= len(values) <= most:
                named = sorted(values.tolist(), key=lambda code: natural_key(self.units.label(column, code)))
                labels = _told_apart([self.units.label(column, value) for value in named])
                return [(own[codes == value], label) for value, label in zip(named, labels, strict=True)]
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
        from scipy.sparse import coo_array

        units = self.units
        n = len(units)
        values = np.random.default_rng(0).integers(1, 2**63, n, dtype=np.uint64)
        up = (units.tier[units.a] > 0) & (units.tier[units.b] > 0)
        a, b = units.a[up], units.b[up]
        ends = np.concatenate([a, b]), np.concatenate([b, a])
        joined = coo_array((np.ones(len(ends[0]), np.uint64), ends), shape=(n, n)).tocsr()  # parallel cables summed
        joined.data[:] = 1
        keys: NDArray[np.uint64] = joined @ values
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
            box = Box(
                tier, units, start, end, plural(len(units), tier_word(tier)), label, range_of(self.units, units), more
            )
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
            said = ", ".join(part for part in (each, label) if part)
            box = Box(0, hosts, start, end, "", self.units.name(int(hosts[0])), said)
        else:
            second, third = (label, each) if more or not each else (each, range_of(self.units, hosts))
            box = Box(
                0, hosts, start, end, plural(len(hosts), "host"), second, third or range_of(self.units, hosts), more
            )
        self.scene.boxes.append(box)


def _told_apart(labels: list[str]) -> list[str]:
    """Long labels without the part that all of them begin with, up to a separator; short ones as they are."""
    if max(map(len, labels)) <= _LONG_LABEL:
        return labels
    first, last = min(labels), max(labels)
    differ = (i for i, (x, y) in enumerate(zip(first, last, strict=False)) if x != y)
    same = first[: next(differ, 0)]
    cut = max(same.rfind(mark) for mark in "-_./: ") + 1
    return [f"…{label[cut:]}" if cut else label for label in labels]
