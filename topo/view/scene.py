"""A picture before it is drawn: boxes that stand for units, and the bundles of links between boxes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from topo.table import Array
from topo.view.alike import AlikeClass
from topo.view.text import natural_key, plural
from topo.view.units import Units, tier_word

__all__ = ["Box", "Bundle", "Scene", "legs_of", "range_of", "tier_word"]

_SORTED_UP_TO = 5000


@dataclass(frozen=True, eq=False)
class Box:
    """One box: the ``units`` it stands for, its row, its columns, and whether it lumps ``n_more`` groups.

    ``word`` is what one of its units is called, ``shade`` its colour: t0 to t3 by tier, t4 scale-up, t5 accelerators.
    """

    tier: int
    units: NDArray[np.int64]
    start: float
    end: float
    count: str
    label: str
    detail: str = ""
    n_more: int = 0
    word: str = ""
    shade: str = ""


@dataclass(frozen=True, slots=True)
class Bundle:
    """All links between two boxes (or within one, ``lower == upper``), and what is uneven about them.

    ``cables`` counts links; ``split`` says that some of them are legs of one cable, so that the cables are fewer.
    """

    lower: int
    upper: int
    cables: int
    gbps: float
    uneven: str = ""
    marked: int = 0
    split: bool = False


@dataclass(eq=False)
class Scene:
    """Boxes and the bundles between them; ``heading`` names it, ``said`` is what else to tell under it.

    ``n_parts`` counts the parts that no cable joins; ``line_word`` is what one of a bundle is called;
    ``stands_for`` names the hosts or scale-up domains that are like the one drawn.
    """

    units: Units
    heading: str = ""
    boxes: list[Box] = field(default_factory=list)
    bundles: list[Bundle] = field(default_factory=list)
    columns: int = 1
    said: tuple[str, ...] = ()
    n_parts: int = 1
    line_word: str = "cable"
    stands_for: AlikeClass | None = None

    @property
    def tiered(self) -> bool:
        """Whether rows are switch tiers: their units are links of the fabric, not parts of a host."""
        return self.line_word == "cable"

    def called(self, bundles: Iterable[Bundle]) -> str:
        """What one of the links of some bundles is called: a cable, unless several are legs of one."""
        return "link" if any(bundle.split for bundle in bundles) else self.line_word

    @property
    def all_single(self) -> bool:
        """Whether every box is one unit."""
        return all(len(box.units) == 1 for box in self.boxes)

    def rows(self) -> list[tuple[int, list[int]]]:
        """Rows from the top down, each with the indices of its boxes."""
        tiers = sorted({box.tier for box in self.boxes}, reverse=True)
        return [(tier, [i for i, box in enumerate(self.boxes) if box.tier == tier]) for tier in tiers]

    def words(self, boxes: list[int]) -> list[tuple[str, int]]:
        """What the units of some boxes are called, and how many of each there are."""
        found: Counter[str] = Counter()
        for i in boxes:
            found[self.word(i)] += len(self.boxes[i].units)
        return list(found.items())

    def word(self, box: int) -> str:
        """What one unit of a box is called."""
        return self.boxes[box].word or tier_word(self.boxes[box].tier)

    def join(self, marked: NDArray[np.bool_] | None = None) -> Scene:
        """Fill in the bundles between the boxes; ``marked`` is a mask of link rows to count on each."""
        self.bundles = _bundles(self, marked)
        return self


def range_of(units: Units, chosen: Array) -> str:
    """First and last name of some units."""
    names = [units.name(int(unit)) for unit in (chosen if len(chosen) <= _SORTED_UP_TO else chosen[[0, -1]])]
    names.sort(key=natural_key)
    return names[0] if len(names) == 1 else f"{names[0]} … {names[-1]}"


def legs_of(units: Units) -> NDArray[np.int64]:
    """The cable of each link that shares it with another link of the fabric; -1 for a link that is a whole cable."""
    cable = units.fabric.links.cable
    mine = cable[units.links].astype(np.int64)
    if (mine >= 0).any():
        mine[np.bincount(cable[cable >= 0])[mine] < 2] = -1
    return mine


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
    split = np.bincount(index, weights=legs_of(units) >= 0, minlength=len(pair)) > 0
    describe = _unevenness(scene, index, low_unit, box)
    return [
        Bundle(int(p // len(scene.boxes)), int(p % len(scene.boxes)), int(c), float(g), describe(i), int(m), bool(s))
        for i, (p, c, g, m, s) in enumerate(zip(pair, cables, gbps, cut, split, strict=True))
    ]


def _unevenness(scene: Scene, index: Array, low_unit: Array, box: Array) -> Callable[[int], str]:
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
        word = scene.word(int(box[first]))
        fewer = int(usual * len(short) - short.sum())
        have = "has" if len(short) == 1 else "have"
        return (
            f"{len(short):,} of {plural(len(values), word)} here {have} fewer cables "
            f"than the usual {usual} ({fewer} fewer in all, first {scene.units.name(first)})"
        )

    return describe
