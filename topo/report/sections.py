"""The sections of a report, each from one answer, with unit, direction and standing in every line."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from topo.errors import place_in
from topo.fabric import Note, Origin
from topo.report.content import Facts, Grid, Section, Text
from topo.report.explaining import Explanation
from topo.result import Row
from topo.view.text import plural, sentence

if TYPE_CHECKING:
    from topo.fabric import Fabric

__all__ = ["assumptions_section", "explanations_section", "identity_section", "notes_section"]

_MOST_NOTES = 40


def identity_section(fabric: Fabric) -> Section:
    """Name, title, sources, how it was built or read, digest."""
    origin = fabric.origin
    rows = [Row("name", fabric.name)]
    if origin.title:
        rows.append(Row("title", origin.title))
    if origin.made_by:
        rows.append(Row("made by", origin.made_by))
    rows += [Row("source" if i == 0 else "", source) for i, source in enumerate(origin.sources)]
    files = [str(label) for label in fabric.links.source.labels if label]
    if files and not set(files) <= set(origin.sources):
        more = f" and {plural(len(files) - 3, 'more file')}" if len(files) > 3 else ""
        rows.append(Row("read from", ", ".join(files[:3]) + more))
    evidence = fabric.links.evidence
    counts = np.bincount(evidence.codes + 1, minlength=len(evidence.labels) + 1).tolist()
    words = ["unstated", *evidence.labels.tolist()]
    seen = ", ".join(f"{count:,} {word}" for word, count in zip(words, counts, strict=True) if count)
    if seen:
        rows.append(Row("evidence of the links", seen))
    rows.append(Row("digest", fabric.digest[:16]))
    return Section("fabric", "Fabric", [Facts(tuple(rows))])


def notes_section(notes: tuple[Note, ...]) -> Section | None:
    """What the reader or builder noted, like notes together, each with its first places."""
    if not notes:
        return None
    groups: dict[tuple[str, str], list[Note]] = {}
    for note in notes:
        groups.setdefault((note.severity, _pattern(note.text)), []).append(note)
    rows = []
    for (severity, _), alike in list(groups.items())[:_MOST_NOTES]:
        places = [place_in(note.source, note.line or None) for note in alike]
        shown = ", ".join(dict.fromkeys(place for place in places if place))
        rows.append((severity, f"{len(alike):,}", alike[0].text, _first_places(shown)))
    hidden = len(groups) - len(rows)
    remark = f"{plural(hidden, 'more kind')} of note; the JSON form lists them all." if hidden else ""
    said = Text(f"{plural(len(notes), 'note')} of {plural(len(groups), 'kind')}; a line shows the first of its kind.")
    return Section(
        "notes",
        "Notes",
        [said, Grid(("severity", "times", "first of its kind", "where"), tuple(rows), "", remark)],
    )


def _first_places(text: str) -> str:
    places = text.split(", ")
    return ", ".join(places[:3]) + (f" and {len(places) - 3:,} more" if len(places) > 3 else "")


def _pattern(text: str) -> str:
    """A note without its particulars: quoted names, numbers and hexadecimal identities."""
    text = re.sub(r"'[^']*'|\"[^\"]*\"", "'…'", text)
    return re.sub(r"\S*\d\S*", "0", text)


def explanations_section(explanations: Sequence[Explanation]) -> Section:
    """What each answer is: three sentences in a line."""
    rows = tuple((one.of, *one.sentences) for one in explanations)
    return Section(
        "explained",
        "The answers explained",
        [Grid(("answer", "what was computed", "what it assumes", "what would change it"), rows)],
    )


def assumptions_section(origin: Origin, kinds: str) -> Section:
    """What every number in the report rests on."""
    said = [
        Text(f"Links looked at: {kinds}, the endpoints' own network; others carry none of their traffic."),
        Text("Bandwidths are in one direction. Vendors often print both directions summed: twice as much."),
    ]
    said += [Text(sentence(text)) for text in origin.assumptions]
    return Section("assumptions", "Assumptions", said)
