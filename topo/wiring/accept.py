"""Known deviations: a file of codes and places that are accepted, each with its reason and its last day."""

from __future__ import annotations

import datetime
import fnmatch
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

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

    def covers(self, one: Finding) -> bool:
        """Whether a finding is the deviation meant; capitals do not count."""
        place, wanted = one.place.lower(), self.where.lower()
        return one.code == self.code and (place == wanted or fnmatch.fnmatchcase(place, wanted))


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)
    code: str
    where: str = Field(min_length=1)
    reason: str = Field(min_length=1)
    expires: str | None = None


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
            expires: 2027-01-31             # its last day; without it for ever

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
        if entry.expires is not None:
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
    valid = [row for row in accepted if row.expires is None or row.expires >= day]
    over = [row for row in accepted if row.expires is not None and row.expires < day]
    marked: list[Finding] = []
    used: set[Accepted] = set()
    for one in findings:
        row = next((row for row in valid if row.covers(one)), None)
        used.update(row for row in accepted if row.covers(one))
        marked.append(one if row is None else replace(one, accepted=row.reason))
    for row in over:
        said = f"{row.code} at {row.where} was accepted until {row.expires} ({row.reason})"
        marked.append(finding("accept-expired", row.where, said, at=(row.source, row.line)))
    for row in valid:
        if row not in used:
            said = f"{row.code} at {row.where} is accepted ({row.reason}) and is not there"
            marked.append(finding("accept-unused", row.where, said, at=(row.source, row.line)))
    return tuple(marked)
