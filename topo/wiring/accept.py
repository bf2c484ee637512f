"""Known deviations: a file of codes and places that are accepted, each with its reason and its last day."""

from __future__ import annotations

import datetime
import fnmatch
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from topo.document import nearest, read_document
from topo.wiring.codes import CODES
from topo.wiring.finding import Finding, finding

__all__ = ["Accepted", "accept", "read_accepted"]


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
            where: LG27-04 - CSPINE4-37     # the place of a finding, or a glob over places
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
    for row, over in zip(accepted, is_over, strict=True):
        if over:
            said = f"{row.code} at {row.where} was accepted until {row.expires} ({row.reason})"
            marked.append(finding("accept-expired", row.where, said, at=(row.source, row.line)))
    for i, row in enumerate(accepted):
        if i not in used and not is_over[i]:
            said = f"{row.code} at {row.where} is accepted ({row.reason}) and is not there"
            marked.append(finding("accept-unused", row.where, said, at=(row.source, row.line)))
    return tuple(marked)


class _Covering:
    """Which deviations cover a finding: by code and place where a place is said, by pattern only where it is a glob.

    Capitals do not count.
    """

    def __init__(self, accepted: Sequence[Accepted]) -> None:
        self._exact: dict[tuple[str, str], list[int]] = defaultdict(list)
        self._globs: dict[str, list[tuple[int, re.Pattern[str]]]] = defaultdict(list)
        for i, row in enumerate(accepted):
            where = row.where.lower()
            self._exact[row.code, where].append(i)
            if any(sign in where for sign in "*?["):
                self._globs[row.code].append((i, re.compile(fnmatch.translate(where))))

    def rows_of(self, one: Finding) -> list[int]:
        """Rows of those that cover it, in the file's order."""
        place = one.place.lower()
        matched = [i for i, pattern in self._globs.get(one.code, ()) if pattern.match(place)]
        return sorted({*self._exact.get((one.code, place), ()), *matched})
