"""The sections beyond the usual ones: asked by default where they are cheap, else when they are named."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from topo.errors import ParameterError, TopoError

if TYPE_CHECKING:
    from topo.fabric import Fabric

_Answer = TypeVar("_Answer")

__all__ = ["MORE", "SECTIONS", "LeftOut", "asked_or_left_out", "chosen_sections"]

SECTIONS = (
    "goodput",
    "measured",
    "main-numbers",
    "tiers",
    "map",
    "fabric",
    "published",
    "inventory",
    "paths",
    "oversubscription",
    "bisection",
    "throughput",
    "collisions",
    "failures",
    "placement",
    "step",
    "wiring",
    "bill",
    "notes",
    "assumptions",
)
"""Keys of all sections, in reading order."""

_MOST_ENDPOINTS = {
    "goodput": 20_000,
    "throughput": 40_000,
    "collisions": 20_000,
    "failures": 20_000,
    "step": 20_000,
    "wiring": 40_000,
    "bill": 20_000,
}
MORE = (*_MOST_ENDPOINTS, "placement", "measured")
"""Sections that are made by themselves only up to a number of endpoints, or where a job is given."""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Why a section was not worked out, and how to have it."""

    key: str
    reason: str

    def __str__(self) -> str:
        return f"Left out: {self.reason}. Ask for it with --sections {self.key} (sections=[{self.key!r}] in Python)."


def chosen_sections(
    sections: Sequence[str] | None, *, has_job: bool = False, is_measured: bool = False
) -> tuple[str, ...]:
    """The keys asked for, in reading order; all of them for None. A job that is given asks for its placement, and so
    what was measured for its section.

    >>> chosen_sections(["failures", "inventory"])
    ('inventory', 'failures')

    :raises ParameterError: a key that no section has, the placement of no job, or nothing measured.
    """
    if sections is None:
        return SECTIONS
    if has_job:
        sections = [*sections, "placement"]
    elif "placement" in sections:
        raise ParameterError("the section placement takes a job: --job FILE (job=... in Python)")
    if is_measured:
        sections = [*sections, "measured"]
    elif "measured" in sections:
        raise ParameterError("the section measured takes a file: --measured or --counters (measured=... in Python)")
    for key in sections:
        if key not in SECTIONS:
            raise ParameterError(f"no section is called {key!r}; known: {', '.join(SECTIONS)}")
    return tuple(key for key in SECTIONS if key in sections)


def asked_or_left_out(
    key: str, fabric: Fabric, sections: Sequence[str] | None, ask: Callable[[bool], _Answer]
) -> _Answer | LeftOut | TopoError | None:
    """The answer of ``ask`` (told whether it was asked for by name), why there is none, or None where unwanted."""
    named = sections is not None
    if sections is not None and key not in sections:
        return None
    if not named and len(fabric.endpoints) > _MOST_ENDPOINTS[key]:
        return LeftOut(key, f"{len(fabric.endpoints):,} endpoints take longer than the rest of the report")
    if len(fabric.endpoints) < 2:
        return LeftOut(key, "it takes at least two endpoints")
    try:
        return ask(named)
    except TopoError as error:
        return error
