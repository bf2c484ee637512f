"""One fault of a wiring: what, where, by what evidence, at what cost, and how to mend it."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from topo.errors import ParameterError, place_in
from topo.result import hidden
from topo.units import format_gbps
from topo.wiring.codes import CODES, SEVERITIES

__all__ = [
    "FAIL_ON",
    "Finding",
    "Operation",
    "Price",
    "Supposed",
    "cut_words",
    "finding",
    "is_at_least",
    "jobs_of",
    "jobs_said",
    "listed",
]

_MOST_SHOWN = 4
_CABLE = re.compile(r"(?P<verb>lay|remove) (?P<a>.+) port (?P<p>\S+) - (?P<b>.+) port (?P<q>\S+)")
_LAST_NUMBER = re.compile(r"(.*?)(\d{0,9})", re.DOTALL)

FAIL_ON = ("error", "warning", "never")
"""What makes a validation fail: errors, errors and warnings, nothing."""


class Operation(NamedTuple):
    """One job at the cables, rows of links in the fabric that holds both sides (:class:`topo.wiring.Comparison`).

    ``move``: cable ``found`` is to become cable ``planned``, one end stays; ``remove``: ``found`` goes and
    ``planned`` is -1; ``add``: ``planned`` is laid and ``found`` is -1. ``text`` says it with names and ports.
    Operations of equal ``job`` (-1: none) are one job for a hand: legs of a cable whose common plug moves.
    """

    kind: str
    found: int
    planned: int
    text: str
    job: int = -1


class Price(NamedTuple):
    """What one fault costs, alone on the fabric that is otherwise as it should be.

    ``theta`` is the part of an all-to-all that fits, of what fits without the fault; ``lost_gbps`` the rate that does
    not get through when every endpoint sends as much as fits without the fault; ``cut_off`` endpoints have no path;
    ``gain`` is what mending it alone, all other faults left, gives in theta; ``permutation`` is as ``theta``, for one
    random permutation that is the same for all faults. Both are nan where faults are too many to say that of each.
    """

    theta: float
    lost_gbps: float
    cut_off: int
    gain: float
    permutation: float = math.nan


class Supposed(NamedTuple):
    """A cable that should be there by a rule, and that is no job: a device or the ports of it are not known.

    ``a`` and ``b`` are rows of nodes. Where ``new_a`` or ``new_b`` names a device that is not there, the row is that of
    one that it is like.
    """

    a: int
    b: int
    gbps: float
    kind: str
    new_a: str = ""
    new_b: str = ""


@dataclass(frozen=True)
class Finding:
    """One fault, once.

    ``place`` names the devices and ports and is what an accepted deviation is matched by; ``where`` is that behind
    file and line and before the ``racks`` its devices stand in, where a file states them. ``lost_gbps`` is nan where
    no price is known, and ``words`` then say why. ``lacks`` and ``extra`` are rows of links in the comparison: planned
    and not found, found and not planned (or slower than it should be). ``rivals`` are sets of cables found of which a
    port has room for one, the likeliest first; ``dark`` are those of the others: there, and carrying nothing.
    ``supposed`` are cables that lack beside those: of no row, as nobody knows their ports.
    """

    code: str
    severity: str
    place: str
    evidence: str
    fix: str
    words: str = ""
    lost_gbps: float = math.nan
    source: str = ""
    line: int = 0
    racks: str = ""
    accepted: str = ""
    price: Price | None = None
    operations: tuple[Operation, ...] = hidden(default=())
    lacks: tuple[int, ...] = hidden(default=())
    extra: tuple[int, ...] = hidden(default=())
    dark: tuple[int, ...] = hidden(default=())
    rivals: tuple[tuple[int, ...], ...] = hidden(default=())
    supposed: tuple[Supposed, ...] = hidden(default=())

    @property
    def links(self) -> tuple[int, ...]:
        """Rows of every cable whose state is a part of the fault."""
        return tuple(dict.fromkeys((*self.lacks, *self.extra, *self.dark)))

    @property
    def where(self) -> str:
        """The place behind its file and line, as editors jump to it."""
        if not self.source:
            return self.racked_place
        return f"{place_in(self.source, self.line or None)}: {self.racked_place}"

    @property
    def racked_place(self) -> str:
        """The place and, where known, the racks of its devices."""
        return f"{self.place} ({self.racks})" if self.racks else self.place

    @property
    def jobs(self) -> tuple[Operation, ...]:
        """The operations, one of each job."""
        return jobs_of(self.operations)

    @property
    def meaning(self) -> str:
        """What the code stands for."""
        return CODES[self.code].meaning

    def to_record(self) -> dict[str, Any]:
        """The finding as JSON has it: code, severity, where, evidence, lost_gbps, words, fix, why it is accepted."""
        record: dict[str, Any] = {
            "code": self.code,
            "severity": self.severity,
            "where": self.where,
            "evidence": self.evidence,
            "lost_gbps": None if math.isnan(self.lost_gbps) else self.lost_gbps,
            "words": self.words,
            "fix": self.fix,
        }
        if self.accepted:
            record["accepted"] = self.accepted
        return record

    def __str__(self) -> str:
        cost = "" if math.isnan(self.lost_gbps) else f" [{format_gbps(self.lost_gbps)} lost]"
        return f"{self.severity} {self.code}{cost}: {self.where}: {self.evidence}"


def finding(
    code: str,
    place: str,
    evidence: str,
    *,
    fix: str = "",
    severity: str = "",
    at: tuple[str, int] = ("", 0),
    operations: tuple[Operation, ...] = (),
    lacks: tuple[int, ...] = (),
    extra: tuple[int, ...] = (),
    rivals: tuple[tuple[int, ...], ...] = (),
    supposed: tuple[Supposed, ...] = (),
    words: str = "",
    lost_gbps: float = math.nan,
) -> Finding:
    """A finding of a known code; severity is the code's unless given, the fix its operations, else the code's.

    >>> str(finding("rail-swap", "host-1", "HCA-5 and HCA-6 sit on each other's leaves"))
    "error rail-swap: host-1: HCA-5 and HCA-6 sit on each other's leaves"
    """
    row = CODES[code]
    if operations and not fix:
        said = jobs_said(jobs_of(operations))
        fix = "; ".join(text for text, _ in said[:_MOST_SHOWN])
        if len(said) > _MOST_SHOWN:
            fix += f"; and {sum(n for _, n in said[_MOST_SHOWN:]):,} more"
    return Finding(
        code,
        severity or row.severity,
        place,
        evidence,
        fix or row.fix,
        words=words,
        lost_gbps=lost_gbps,
        source=at[0],
        line=at[1],
        operations=operations,
        lacks=lacks,
        extra=extra,
        dark=tuple(row for each in rivals[1:] for row in each),
        rivals=rivals,
        supposed=supposed,
    )


def jobs_of(operations: Sequence[Operation]) -> tuple[Operation, ...]:
    """One operation of each job."""
    seen: set[int] = set()
    kept = []
    for one in operations:
        if one.job < 0 or one.job not in seen:
            kept.append(one)
        seen.add(one.job)
    return tuple(kept)


def jobs_said(jobs: Sequence[Operation]) -> list[tuple[str, int]]:
    """The jobs in words, cables of one pair of devices that are laid or removed together, and how many jobs each is.

    >>> jobs_said([Operation("add", -1, i, f"lay leaf-1 port {i} - spine-2 port {i + 8}") for i in (1, 2, 4)])
    [('lay 3 cables leaf-1 ports 1-2, 4 - spine-2 ports 9-10, 12', 3)]
    """
    said: dict[str, list[re.Match[str]]] = {}
    for one in jobs:
        found = _CABLE.fullmatch(one.text)
        key = f"{found['verb']} {{}} cables {found['a']} {{}} - {found['b']} {{}}" if found else one.text
        said.setdefault(key, []).extend([found] if found else [])
    texts = []
    for key, cables in said.items():
        if len(cables) > 1:
            ports = [f"ports {_runs([one[side] for one in cables])}" for side in ("p", "q")]
            texts.append((key.format(len(cables), *ports), len(cables)))
        else:
            texts.append((cables[0][0] if cables else key, 1))
    return texts


def _runs(labels: Sequence[str]) -> str:
    """Port names in their order, those that count on by one as the first and the last number.

    >>> _runs(["swp1", "swp2", "swp3", "9"])
    'swp1-3, 9'
    """
    runs: list[tuple[str, str, str]] = []
    for label in labels:
        head, number = _LAST_NUMBER.fullmatch(label).groups()  # type: ignore[union-attr]
        if runs and number and runs[-1][0] == head and runs[-1][2] and int(number) == int(runs[-1][2]) + 1:
            runs[-1] = head, runs[-1][1], number
        else:
            runs.append((head, number, number))
    return ", ".join(head + first + (f"-{last}" if last != first else "") for head, first, last in runs)


def listed(word: str, items: Sequence[object]) -> str:
    """A word and what it names, one by one.

    >>> listed("port", [5]), listed("port", [5, 6])
    ('port 5', 'ports 5, 6')
    """
    return f"{word if len(items) == 1 else f'{word}s'} {', '.join(map(str, items))}"


def cut_words(pair: str, low: str, *, lost: int, of: int, above: int) -> str:
    """What a pair of switches that lacks ``lost`` of its ``of`` cables keeps, beside what the cut above ``low`` loses.

    A hop splits by next hops, not by what lies behind them: the far switch still gets its whole share.

    >>> cut_words("leaf-1 - spine-3", "leaf-1", lost=1, of=2, above=20)
    'hop-by-hop ECMP keeps 50 % of leaf-1 - spine-3 (1 of 2 cables); the cut above leaf-1 loses 1 of 20 cables (5 %)'
    >>> cut_words("leaf-1 - spine-3", "leaf-1", lost=2, of=2, above=20)
    'the cut above leaf-1 loses 2 of 20 cables (10 %)'
    """
    cut = f"the cut above {low} loses {lost} of {above} cables ({100 * lost / max(above, 1):.3g} %)"
    if not 0 < lost < of:
        return cut
    return f"hop-by-hop ECMP keeps {100 * (of - lost) / of:.3g} % of {pair} ({of - lost} of {of} cables); {cut}"


def is_at_least(severity: str, fail_on: str) -> bool:
    """Whether a severity makes a validation fail.

    >>> is_at_least("warning", "error"), is_at_least("error", "warning"), is_at_least("error", "never")
    (False, True, False)

    :raises ParameterError: ``fail_on`` is none of :data:`FAIL_ON`.
    """
    if fail_on not in FAIL_ON:
        raise ParameterError(f"fail_on is {fail_on!r}; use {', '.join(FAIL_ON)}")
    if fail_on == "never":
        return False
    return SEVERITIES.index(severity) <= SEVERITIES.index(fail_on)
