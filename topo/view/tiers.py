"""The picture of a fabric's tiers as SVG: hosts below, leaves, spines and cores above."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from topo.fabric import Fabric
from topo.output import plain
from topo.table import check_rows
from topo.units import format_gbps
from topo.view.blocks import UNKNOWN_TIER, Units
from topo.view.scene import Scene, scene_of, tier_word
from topo.view.svg import render
from topo.view.text import plural, sentence

__all__ = ["Drawing", "draw_tiers"]


@dataclass(frozen=True, slots=True)
class Drawing:
    """A picture as SVG text, the same in words (``alt``), and what boxes and lines stand for (``notes``)."""

    svg: str = field(repr=False)
    alt: str
    notes: tuple[str, ...]

    def _repr_svg_(self) -> str:
        return self.svg

    def __str__(self) -> str:
        return "\n".join([self.alt, *self.notes])


def draw_tiers(fabric: Fabric, *, links: ArrayLike | None = None, links_word: str = "chosen") -> Drawing:
    """Draw the tiers of a fabric as rows, grouped so that any size stays readable.

    A small fabric shows every switch and host, and each bundle of parallel cables as one line. A larger one
    groups the switches that hosts or lower switches join (scalable units, pods), splits a top tier by plane,
    chassis, rail or equal neighbours, and lets the last box of a row stand for all further groups; the text
    under the picture says so. Lines are dashed where some switches have fewer cables than most of their kind.
    ``links`` (rows or a mask) are drawn bold, for instance a cut; ``links_word`` names them.

    The SVG is self-contained: no script, no font, no address; colours follow light and dark and print.

    >>> import topo
    >>> drawing = draw_tiers(topo.leaf_spine(leaves=4, spines=2, hosts_per_leaf=2, parallel=2))
    >>> print(drawing.alt)
    leaf-spine 4x2: 2 spines, 4 leaves, 8 hosts with 8 endpoints. Spine to leaf: 16 cables, 6,400 Gb/s.
    Leaf to host: 8 cables, 3,200 Gb/s.
    >>> drawing.notes[0]
    'Each box is one switch or one host; each line is all cables between two boxes.'

    :raises ParameterError: ``links`` outside the fabric's link table.
    """
    units = Units.of(fabric)
    marked = None
    if links is not None:
        marked = np.zeros(len(fabric.links), bool)
        marked[check_rows(np.asarray(links), len(fabric.links), "links")] = True
    scene = scene_of(units, marked)
    alt = _in_words(scene)
    notes = _notes(scene, links_word if marked is not None else "")
    return Drawing(render(scene, title=plain(fabric.name), alt=alt, notes=notes), alt, notes)


def _in_words(scene: Scene) -> str:
    units = scene.units
    tiers = sorted({int(t) for t in units.tier}, reverse=True)
    counts = [plural(int((units.tier == tier).sum()), tier_word(tier)) for tier in tiers if tier]
    hosts = int((units.tier == 0).sum())
    counts.append(f"{plural(hosts, 'host')} with {plural(int(units.n_endpoints.sum()), 'endpoint')}")
    said = [f"{plain(units.fabric.name)}: {', '.join(counts)}."]
    for (upper, lower), cables, gbps in gap_totals(scene):
        rate = format_gbps(gbps) if not math.isnan(gbps) else "rate unknown"
        said.append(f"{tier_word(upper).capitalize()} to {tier_word(lower)}: {plural(cables, 'cable')}, {rate}.")
    return " ".join(said)


def gap_totals(scene: Scene) -> list[tuple[tuple[int, int], int, float]]:
    """Cables and rate between every two tiers that are joined, top down; nan where a rate is unknown."""
    totals: dict[tuple[int, int], tuple[int, float]] = {}
    for bundle in scene.bundles:
        gap = (scene.boxes[bundle.upper].tier, scene.boxes[bundle.lower].tier)
        cables, gbps = totals.get(gap, (0, 0.0))
        totals[gap] = (cables + bundle.cables, gbps + bundle.gbps)
    return [(gap, *totals[gap]) for gap in sorted(totals, reverse=True)]


def _notes(scene: Scene, links_word: str) -> tuple[str, ...]:
    said: list[str] = []
    if scene.all_single:
        said.append("Each box is one switch or one host; each line is all cables between two boxes.")
    else:
        said.append("Each box says what it stands for; each line is all cables between two boxes, one direction.")
        said += [text for tier, boxes in scene.rows() if (text := _grouping(scene, tier, boxes))]
    if any(bundle.uneven for bundle in scene.bundles):
        total = sum(1 for bundle in scene.bundles if bundle.uneven)
        first = next(bundle.uneven for bundle in scene.bundles if bundle.uneven)
        said.append(f"Dashed: uneven cabling ({plural(total, 'line')}), such as {first}.")
    if links_word:
        said.append(f"Bold: lines that hold {links_word} links; the number is how many of the line's cables they are.")
    if scene.units.left_out:
        said.append(f"Not drawn: {', '.join(scene.units.left_out)}.")
    if (scene.units.tier == UNKNOWN_TIER).any():
        said.append("The top row holds switches whose tier is not known.")
    parts = len(scene.blocks.roots())
    if parts > 1:
        said.append(f"The switches form {parts:,} parts that no cable joins.")
    said += [sentence(text) for text in scene.units.fabric.origin.assumptions if "tier" in text.lower()]
    return tuple(said)


def _grouping(scene: Scene, tier: int, boxes: list[int]) -> str:
    """What the boxes of one row stand for; empty where each is one switch or host."""
    drawn = [scene.boxes[i] for i in boxes]
    lumps = [box for box in drawn if box.n_more]
    sizes = [len(box.units) for box in drawn if not box.n_more]
    if not lumps and max(sizes, default=1) == 1:
        return ""
    word = tier_word(tier)
    said: list[str] = []
    if sizes:
        each = f"{min(sizes):,} to {plural(max(sizes), word)}" if min(sizes) < max(sizes) else plural(sizes[0], word)
        said.append(f"{plural(len(sizes), 'box')} of {each}" if len(sizes) > 1 else f"one box of {each}")
    if lumps:
        total = sum(len(box.units) for box in lumps)
        names = list(dict.fromkeys(box.label or plural(box.n_more, "more group") for box in lumps))
        said.append(f"{plural(len(lumps), 'dotted box')} for the other {plural(total, word)} ({', '.join(names)})")
    if any(box.label.startswith("set ") for box in drawn):
        said[-1] += "; a set has equal neighbours"
    return f"{word.capitalize()} row: {' and '.join(said)}."
