"""What a picture says, in words: counts, totals between rows, and what boxes and lines stand for."""

from __future__ import annotations

import numpy as np

from topo.view.lines import rate_text
from topo.view.scene import Bundle, Scene, legs_of
from topo.view.text import plural
from topo.view.units import UNKNOWN_TIER

__all__ = ["gaps", "in_words", "notes_of"]

_MOST_NAMES = 12


def in_words(scene: Scene, name: str) -> str:
    """The nodes of a scene row by row, and the links between rows."""
    counts = []
    for tier, boxes in scene.rows():
        words = [plural(n, word) for word, n in scene.words(boxes)]
        endpoints = sum(int(scene.units.n_endpoints[scene.boxes[i].units].sum()) for i in boxes)
        hosts = not tier and scene.words(boxes)[0][0] in {"host", "rack"}
        counts.append(" and ".join(words) + (f" with {plural(endpoints, 'endpoint')}" if hosts and endpoints else ""))
    said = [f"{name}: {', '.join(counts)}."]
    for (_, upper, _, lower), bundles in gaps(scene):
        place, total = _ends(upper, lower), plural(sum(b.cables for b in bundles), scene.called(bundles))
        told = f"{total}, {rate_text(sum(b.gbps for b in bundles))}{_in_lines(bundles)}"
        said.append(f"{place[:1].upper()}{place[1:]}: {told}.")
    return " ".join(said)


def _in_lines(bundles: list[Bundle]) -> str:
    """How the links are dealt to the lines drawn."""
    drawn = [bundle.cables for bundle in bundles if bundle.lower != bundle.upper]
    if len(drawn) < 2 or max(drawn) == 1:
        return ""
    each = f"{min(drawn):,}" if min(drawn) == max(drawn) else f"{min(drawn):,} to {max(drawn):,}"
    return f", in {len(drawn):,} lines of {each}"


def gaps(scene: Scene) -> list[tuple[tuple[int, str, int, str], list[Bundle]]]:
    """The bundles between every two sorts of boxes that are joined, top down: row and word of both."""
    found: dict[tuple[int, str, int, str], list[Bundle]] = {}
    for bundle in scene.bundles:
        upper, lower = scene.boxes[bundle.upper], scene.boxes[bundle.lower]
        gap = (upper.tier, scene.word(bundle.upper), lower.tier, scene.word(bundle.lower))
        found.setdefault(gap, []).append(bundle)
    return [(gap, found[gap]) for gap in sorted(found, key=lambda g: (-g[0], -g[2], g[1], g[3]))]


def notes_of(scene: Scene, links_word: str, *, first: bool = True, named: bool = True) -> list[str]:
    """What the boxes and lines of a scene stand for; ``links_word`` names the marked links, if any are.

    ``named`` lists the boxes of a row by name, which who sees the picture need not be told.
    """
    return [*_grouping_notes(scene, first, named), *scene.said, *_line_notes(scene, links_word, first)]


def _grouping_notes(scene: Scene, first: bool, named: bool) -> list[str]:
    if scene.all_single:
        words = {word for _, boxes in scene.rows() for word, _ in scene.words(boxes)}
        one = "switch or one host" if scene.tiered or "host" in words else "part of the host"
        one = "rack" if words == {"rack"} else "host" if words == {"host"} and not scene.tiered else one
        return [f"Each box is one {one}; each line is all {scene.called(scene.bundles)}s between two boxes."]
    said = []
    if first:
        word = scene.called(scene.bundles)
        said.append(f"Each box says what it stands for; each line is all {word}s between two boxes, one direction.")
    said += [text for tier, boxes in scene.rows() if (text := _grouping(scene, tier, boxes, named))]
    if any(box.label.endswith(", alike") for box in scene.boxes):
        said.append("Alike: as many nodes, links and Gb/s, inside and towards every row, as each of the boxes drawn.")
    return said


def _line_notes(scene: Scene, links_word: str, first: bool) -> list[str]:
    said = []
    if any(bundle.uneven for bundle in scene.bundles):
        total = sum(1 for bundle in scene.bundles if bundle.uneven)
        such = next(bundle.uneven for bundle in scene.bundles if bundle.uneven)
        said.append(f"Dashed: uneven cabling ({plural(total, 'line')}), such as {such}.")
    if links_word:
        said.append(
            f"Bold: lines that hold {links_word} links; the number is how many of "
            f"the line's {scene.called(scene.bundles)}s they are."
        )
    legs = legs_of(scene.units)
    if first and (legs >= 0).any():
        n, cables = int((legs >= 0).sum()), len(np.unique(legs[legs >= 0]))
        said.append(f"{n:,} of the links are legs of {plural(cables, 'cable')}: a breakout splits one port.")
    said += _arc_notes(scene)
    if (scene.units.tier == UNKNOWN_TIER).any():
        said.append("The top row holds switches whose tier is not known.")
    if scene.n_parts > 1:
        said.append(f"The switches form {scene.n_parts:,} parts that no cable joins.")
    return said


def _arc_notes(scene: Scene) -> list[str]:
    """Totals of links within a row that is not the top one, where the margin has no room for them."""
    top = max((box.tier for box in scene.boxes), default=0)
    return [
        f"Arcs: {_ends(upper, lower)}, {plural(sum(b.cables for b in bundles), scene.called(bundles))}, "
        f"{rate_text(sum(b.gbps for b in bundles))} in all."
        for (tier, upper, low, lower), bundles in gaps(scene)
        if tier == low != top and any(bundle.lower != bundle.upper for bundle in bundles)
    ]


def _ends(upper: str, lower: str) -> str:
    """Between what a bundle runs."""
    return f"between {plural(2, lower)[2:]}" if upper == lower else f"{upper} to {lower}"


def _grouping(scene: Scene, tier: int, boxes: list[int], named: bool) -> str:
    """What the boxes of one row stand for; empty where each is one switch or host."""
    drawn = [scene.boxes[i] for i in boxes]
    lumps = [box for box in drawn if box.n_more]
    sizes = [len(box.units) for box in drawn if not box.n_more]
    if not lumps and max(sizes, default=1) == 1:
        return ""
    words = scene.words(boxes)
    word = words[0][0] if len(words) == 1 else "node"
    said: list[str] = []
    if sizes:
        each = f"{min(sizes):,} to {plural(max(sizes), word)}" if min(sizes) < max(sizes) else plural(sizes[0], word)
        names = [box.label for box in drawn if not box.n_more and box.label]
        told = (
            f" ({'; '.join(names)})"
            if named and 1 < len(names) <= _MOST_NAMES and len(set(names)) == len(names)
            else ""
        )
        said.append(f"{plural(len(sizes), 'box')} of {each}{told}" if len(sizes) > 1 else f"one box of {each}")
    if lumps:
        total = sum(len(box.units) for box in lumps)
        names = list(dict.fromkeys(box.label or plural(box.n_more, "more group") for box in lumps))
        said.append(f"{plural(len(lumps), 'dotted box')} for the other {plural(total, word)} ({'; '.join(names)})")
    if any(box.label.startswith("set ") for box in drawn):
        said[-1] += "; a set has equal neighbours"
    return f"{word[:1].upper()}{word[1:]} row: {' and '.join(said)}."
