"""Known deviations: a file of codes and places that are accepted, each with its reason and its last day."""

from __future__ import annotations

import datetime
import fnmatch
import html
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from topo.document import nearest, read_document
from topo.output import plain
from topo.wiring.codes import CODES
from topo.wiring.finding import Finding, finding

__all__ = ["Accepted", "accept", "read_accepted"]

_BEFORE = re.compile(r".+?(?::\d+| line \d+): (?P<place>.+)", re.DOTALL)
_INSIDE = r"(?:[^()]|\([^()]*\))+"
_BEHIND = re.compile(rf" \((?:{_INSIDE}:|(?:{_INSIDE} )?line )\d+\)\Z")
_CUT = "..."
_LONG = 200
"""A page cuts what is longer; that much is enough to tell a place by its beginning."""
_MOST_MEANT = 50


@dataclass(frozen=True, slots=True)
class Accepted:
    """One accepted deviation: code, glob over the places, why, until when (None: for ever), and its line."""

    code: str
    where: str
    reason: str
    expires: datetime.date | None
    source: str
    line: int


def _stated(value: Any) -> Any:
    if value in (None, ""):
        raise ValueError("leave the key out for a deviation without a last day, or write a day like 2027-01-31")
    return value


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)
    code: str
    where: str = Field(min_length=1)
    reason: str = Field(min_length=1)
    expires: Annotated[str, BeforeValidator(_stated)] = Field(default="", min_length=1)


class AcceptFile(BaseModel):
    """A file of deviations that are known: the keys its schema and its reader take."""

    model_config = ConfigDict(extra="forbid", strict=True)
    accept: tuple[_Entry, ...]


def read_accepted(path: str | Path) -> tuple[Accepted, ...]:
    """The accepted deviations of a YAML file.

    ::

        accept:
          - code: pair-thin
            where: LG27-04 - CSPINE4-37     # the place of a finding as any output has it, or a glob over places
            reason: spare cable ordered
            expires: 2027-01-31             # its last day; without the key for ever

    :raises InputError: not such a file, an unknown code, or a day that is none, each with its line.
    """
    document = read_document(path)
    entries = document.checked(AcceptFile, what="a file of accepted deviations", template="accept").accept
    accepted = []
    for i, entry in enumerate(entries):
        place = ("accept", i)
        if entry.code not in CODES:
            raise document.error(
                (*place, "code"), f"{entry.code!r} is no code of a finding{nearest(entry.code, CODES)}"
            )
        day = None
        if entry.expires:
            try:
                day = datetime.date.fromisoformat(entry.expires)
            except ValueError:
                said = f"{entry.expires!r} is no day; write it like 2027-01-31"
                raise document.error((*place, "expires"), said) from None
        accepted.append(Accepted(entry.code, entry.where, entry.reason, day, document.path, document.line(place)))
    return tuple(accepted)


def accept(
    findings: Iterable[Finding], accepted: tuple[Accepted, ...], today: datetime.date | None = None
) -> tuple[Finding, ...]:
    """The findings, those that are accepted marked with the reason; what is over, or not found, said as well."""
    day = today or datetime.date.today()
    is_over = [row.expires is not None and row.expires < day for row in accepted]
    covering = _Covering(accepted)
    marked: list[Finding] = []
    used: set[int] = set()
    for one in findings:
        rows = covering.rows_of(one)
        used.update(rows)
        reason = next((accepted[i].reason for i in rows if not is_over[i]), None)
        marked.append(one if reason is None else replace(one, accepted=reason))
    said: list[Finding] = []
    for row, over in zip(accepted, is_over, strict=True):
        if over:
            evidence = f"{row.code} at {row.where} was accepted until {row.expires} ({row.reason})"
            said.append(finding("accept-expired", row.where, evidence, at=(row.source, row.line)))
    left = [one for one in marked if not one.accepted]
    unused = [row for i, row in enumerate(accepted) if i not in used and not is_over[i]]
    for i, row in enumerate(unused):
        evidence = f"{row.code} at {row.where} is accepted ({row.reason}) and is not there"
        evidence += _meant(row, left) if i < _MOST_MEANT else ""
        said.append(finding("accept-unused", row.where, evidence, at=(row.source, row.line)))
    return (*marked, *said)


def _meant(row: Accepted, findings: Sequence[Finding]) -> str:
    """What an entry that covers nothing may mean: another code at its place, else the nearest place of its code."""
    forms = _forms(row.where)
    here = sorted({one.code for one in findings if one.code != row.code and not forms.isdisjoint(_keys(one))})
    if here:
        return f"; at this place there is {' and '.join(here)}"
    alike = {_plainly(one.place): one.place for one in findings if one.code == row.code}
    hints = (nearest(form, alike, most=0) for form in sorted(forms, key=len))
    return next((hint for hint in hints if hint), "")


class _Covering:
    """Which deviations cover a finding: by code and place where a place is said, by pattern only where it is a glob."""

    def __init__(self, accepted: Sequence[Accepted]) -> None:
        self._exact: dict[tuple[str, str], list[int]] = defaultdict(list)
        self._globs: dict[str, list[tuple[int, re.Pattern[str]]]] = defaultdict(list)
        for i, row in enumerate(accepted):
            for form in _forms(row.where):
                self._exact[row.code, form].append(i)
                if any(sign in form for sign in "*?["):
                    self._globs[row.code].append((i, re.compile(fnmatch.translate(form))))
                elif form.endswith(_CUT) and len(form) > _LONG:
                    self._globs[row.code].append((i, re.compile(re.escape(form.removesuffix(_CUT)))))

    def rows_of(self, one: Finding) -> list[int]:
        """Rows of those that cover it, in the file's order."""
        keys = _keys(one)
        patterns = self._globs.get(one.code, ())
        matched = [i for i, pattern in patterns if any(pattern.match(key) for key in keys)]
        return sorted({*matched, *(i for key in keys for i in self._exact.get((one.code, key), ()))})


def _plainly(text: str) -> str:
    """A text as it is compared: as outputs show it, capitals and the width of blanks left out."""
    return " ".join(plain(text).lower().split())


def _keys(one: Finding) -> set[str]:
    """What a finding's place is called: alone, with its racks, behind its file and line."""
    return {_plainly(text) for text in (one.place, one.racked_place, one.where)}


def _forms(where: str) -> set[str]:
    """What an entry may mean by its place, copied from any output.

    JSON, CSV, JUnit and text put file and line before it, which may have moved since, a page puts them behind it; CSV
    puts an apostrophe before a name that a sheet would take for a formula, XML writes ``&`` as ``&amp;``.

    >>> sorted(_forms("plan.csv:12: Leaf-1 - spine-2")), sorted(_forms("leaf-1 (line 7)"))
    (['leaf-1 - spine-2', 'plan.csv:12: leaf-1 - spine-2'], ['leaf-1', 'leaf-1 (line 7)'])
    """
    forms = {where, where.removeprefix("'"), html.unescape(where)}
    forms |= {found["place"] for form in forms if (found := _BEFORE.fullmatch(form))}
    forms |= {_BEHIND.sub("", form) for form in forms}
    return {_plainly(form) for form in forms if form.strip()}
