"""The picture of a fabric's tiers as SVG: hosts below, leaves, spines and cores above."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from topo.fabric import Fabric
from topo.output import plain
from topo.table import check_rows
from topo.view.panels import left_out, panels_of
from topo.view.svg import render
from topo.view.text import sentence
from topo.view.words import in_words, notes_of

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
    under the picture says so, and whether those are alike: as many nodes, cables and Gb/s as the ones drawn. Lines
    are dashed where some switches have fewer cables than most of their kind.

    ``links`` (rows or a mask) are drawn bold, for instance a cut; ``links_word`` names them. Then only the whole and
    the pictures that hold some of them are drawn.

    The SVG is self-contained: no script, no font, no address; colours follow light and dark and print.

    >>> import topo
    >>> drawing = draw_tiers(topo.leaf_spine(leaves=4, spines=2, hosts_per_leaf=2, parallel=2))
    >>> print(drawing.alt)
    leaf-spine 4x2: 2 spines, 4 leaves, 8 hosts with 8 endpoints. Spine to leaf: 16 cables, 6,400 Gb/s, in 8 lines
    of 2. Leaf to host: 8 cables, 3,200 Gb/s.
    >>> drawing.notes[0]
    'Each box is one switch or one host; each line is all cables between two boxes.'

    :raises ParameterError: ``links`` outside the fabric's link table.
    """
    marked = None
    if links is not None:
        marked = np.zeros(len(fabric.links), bool)
        marked[check_rows(np.asarray(links), len(fabric.links), "links")] = True
    scenes = panels_of(fabric, marked)
    name = plain(fabric.name)
    alt = " ".join(in_words(scene, scene.heading if i else name) for i, scene in enumerate(scenes))
    word = links_word if marked is not None else ""
    last = [f"Not drawn: {', '.join(missing)}."] if (missing := left_out(fabric, scenes)) else []
    last += [sentence(text) for text in fabric.origin.assumptions if "tier" in text.lower()]
    notes = []
    for i, scene in enumerate(scenes):
        head = f"{scene.heading.partition(',')[0]}: " if i else ""
        notes += [head + said for said in notes_of(scene, word, first=not i)]
    panels = [(scene, notes_of(scene, word, first=not i, named=False)) for i, scene in enumerate(scenes)]
    svg = render(panels, title=name, alt=alt, told=" ".join([alt, *notes, *last]), notes=last)
    return Drawing(svg, alt, (*notes, *last))
