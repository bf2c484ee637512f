"""The findings as they are told: what one cable shows twice is one finding, each names its racks and what it means."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from topo.fabric import Fabric
from topo.wiring.answer import NOT_PRICED
from topo.wiring.codes import CONSEQUENCES, HARMLESS, SEVERITIES, UNPRICED
from topo.wiring.finding import Finding

__all__ = ["in_racks", "in_words", "once"]

_NO_ROOM = {"port-used-twice", "breakout-conflict", "breakout-beyond", "port-beyond"}
_TOO_MANY = {"pair-thick", "pair-unexpected", "unplanned"}
_CAUSES = {
    "link-ambiguous": {"link-one-sided", *_TOO_MANY},
    **dict.fromkeys(sorted(_NO_ROOM), _TOO_MANY),
    "port-too-slow": {"part-mismatch", "link-slow", "rate-unlike-plan"},
    "ports-too-many": {"oversubscription-unlike"},
    "rate-mismatch": {"link-slow", "rate-unlike-plan"},
    **dict.fromkeys(("miswired", "swapped", "rotated", "shifted"), _NO_ROOM | {"link-ambiguous"}),
    **dict.fromkeys(("rail-wrong", "rail-swap", "rail-leaves-unit", "adapter-unlike-plan"), _NO_ROOM),
}
"""What a finding of a code shows as well, at the same cable, port or device: told with it, not beside it."""

_ENDS = re.compile(r" - |; ")
_NAMES = re.compile(r" - |; |, ")
_MOST_MOVES = 2

_TO_BE_SEEN = ("link-ambiguous",)
"""Codes of what somebody has to look at before any job on it."""

_NOT_PRICED = "not priced: "
_NOT_ALL = "the faults are too many to price each"
_NO_RATE = "a rate is not known; --assume-gbps states one"
_ROUGH = "the loss is worked out from rates alone, the most it can be where nobody has another way"
_WHICH = "which cables lack is not known"


def once(findings: Sequence[Finding]) -> list[Finding]:
    """The findings, the symptoms of each told with it: a cable in a port that is taken is not also one too many."""
    moved = {job.found for one in findings for job in one.operations}
    findings = [_dark_where_wrong(one, moved) for one in findings]
    by_mark: dict[str | int, list[int]] = defaultdict(list)
    for i, one in enumerate(findings):
        for mark in _marks(one):
            by_mark[mark].append(i)
    told: list[Finding | None] = list(findings)
    for code, symptoms in reversed(_CAUSES.items()):
        for i, one in enumerate(findings):
            if one.code != code or told[i] is None:
                continue
            for j in sorted({row for mark in _marks(one) for row in by_mark[mark]}):
                keeper, other = told[i], told[j]
                if keeper is not None and other is not None and other.code in symptoms and _meets(one, other):
                    told[i], told[j] = _with(keeper, other), None
    return [one for one in told if one is not None]


def _marks(one: Finding) -> set[str | int]:
    """What another finding of the same cable shares with this one: an end, or the cable's row."""
    return {*_ends(one), *_contested(one)}


def _ends(one: Finding) -> set[str]:
    return {one.place, *_ENDS.split(one.place)}


def _meets(one: Finding, other: Finding) -> bool:
    """Whether one of the two names the whole place of the other: its port, its cable, its device; or its cable is
    one that a port has no room for.
    """
    named = one.place in _ends(other) or other.place in _ends(one)
    return named or bool((one.rivals or other.rivals) and _contested(one) & _contested(other))


def _contested(one: Finding) -> set[int]:
    """The cables that are in a wrong place, or that a port has not room enough for."""
    return {*one.extra, *(row for side in one.rivals for row in side)}


def _dark_where_wrong(one: Finding, moved: set[int]) -> Finding:
    """The finding, the cable that belongs elsewhere (of those ``moved``) taken for the one that a port has no room for.

    Where the port's own cable is known, that one is in it.
    """
    if not one.rivals:
        return one
    up = next((i for i, side in enumerate(one.rivals) if not moved & set(side)), 0)
    return replace(one, dark=tuple(row for i, side in enumerate(one.rivals) if i != up for row in side))


def _with(cause: Finding, symptom: Finding) -> Finding:
    """The cause with what its symptom shows: the graver severity, both evidences, the jobs that mend either."""
    fixes = [one.fix for one in (cause, symptom) if one.operations] or [cause.fix]
    if cause.code in _TO_BE_SEEN and cause.fix not in fixes:
        fixes.insert(0, cause.fix)
    named = symptom.place == cause.place or symptom.place.partition(" port ")[0] in symptom.evidence
    said = symptom.evidence if named else f"{symptom.place}: {symptom.evidence}"
    words = (CONSEQUENCES[one.code] for one in (symptom, cause) if one.dark)
    return replace(
        cause,
        severity=min(cause.severity, symptom.severity, key=SEVERITIES.index),
        evidence=f"{cause.evidence}; {said}",
        words="; ".join(filter(None, (cause.words, symptom.words))) or next(words, ""),
        fix="; ".join(fixes),
        lost_gbps=symptom.lost_gbps if math.isnan(cause.lost_gbps) else cause.lost_gbps,
        operations=(*cause.operations, *symptom.operations),
        lacks=(*cause.lacks, *symptom.lacks),
        extra=(*cause.extra, *symptom.extra),
        dark=tuple(dict.fromkeys((*cause.dark, *symptom.dark))),
        rivals=(*cause.rivals, *symptom.rivals),
        supposed=(*cause.supposed, *symptom.supposed),
    )


def in_words(findings: Sequence[Finding], why: str | None = None) -> list[Finding]:
    """The findings, each saying what it means, and what it loses: a rate, nothing, or why no rate can be told.

    ``why`` says why nothing at all is priced, '' where something is; None: prices were not asked for, no reason is due.
    """
    return [_in_words(one, why) for one in findings]


def _in_words(one: Finding, why: str | None) -> Finding:
    words = one.words or CONSEQUENCES[one.code]
    if not math.isnan(one.lost_gbps):
        if one.price is None and one.lost_gbps > 0 and why is not None:
            words += f"; {_ROUGH}: {_unsure(one, why)}"
        return replace(one, words=words)
    if _NOT_PRICED in words:
        return replace(one, words=words)
    if one.code in HARMLESS:
        return replace(one, words=words, lost_gbps=0.0)
    return replace(one, words=words if why is None else f"{words}; {_NOT_PRICED}{_reason(one, why)}")


def _unsure(one: Finding, why: str) -> str:
    if why.startswith(NOT_PRICED):
        return why.removeprefix(f"{NOT_PRICED}: ")
    return _NOT_ALL if one.links or one.supposed else _WHICH


def _reason(one: Finding, why: str) -> str:
    if why.startswith(NOT_PRICED) and one.code not in UNPRICED:
        return why.removeprefix(f"{NOT_PRICED}: ")
    if one.links or one.supposed:
        return _NOT_ALL
    return UNPRICED.get(one.code, _NO_RATE)


def in_racks(findings: Sequence[Finding], *sides: Fabric) -> list[Finding]:
    """The findings, each with the racks (and units) of the devices it names and of those a cable is to be moved to.

    The first of the sides that states a device's rack is believed; several devices of one name name all their racks.

    A finding of "leaf-2 port 1 - spine-1 port 2" then stands there "(leaf-2 in rack A3 U12, spine-1 in rack B1)".
    """
    racks: dict[str, dict[str, None]] = {}
    for side in sides:
        own: dict[str, dict[str, None]] = defaultdict(dict)
        nodes = side.nodes
        for row in np.flatnonzero(nodes.rack.codes >= 0).tolist():
            for name in {str(nodes.name[row]), nodes.host[row]}:
                own[name][nodes.stands_at(row)] = None
        racks = {**own, **racks}
    racks.pop("", None)
    if not racks:
        return list(findings)
    return [replace(one, racks=_racks_said(one, racks)) for one in findings]


def _racks_said(one: Finding, racks: dict[str, dict[str, None]]) -> str:
    said = {}
    for name in _devices(one, racks):
        stated = list(racks[name])
        said[name] = f"{name} in {'rack' if len(stated) == 1 else 'racks'} {', '.join(stated)}"
    return ", ".join(said.values())


def _devices(one: Finding, racks: dict[str, dict[str, None]]) -> Iterator[str]:
    """The devices of known rack that the place names, and those that the first moves lead to."""
    moves = [job.text.rpartition(" to ")[2] for job in one.jobs[:_MOST_MOVES] if job.kind == "move"]
    for text in (*_NAMES.split(one.place), *moves):
        name = text.removeprefix("unit of ")
        while name and name not in racks:
            name = name.rpartition(" ")[0]
        if name:
            yield name
