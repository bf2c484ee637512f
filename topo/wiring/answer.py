"""All findings of a wiring, what they were judged by, what they cost: the answer of :func:`topo.validate`."""

from __future__ import annotations

import json
import math
from collections import Counter
from dataclasses import dataclass
from typing import Any, ClassVar

from topo.result import Result, Row, Standing, hidden, to_json_value
from topo.units import format_gbps
from topo.view.text import plural
from topo.wiring.codes import SEVERITIES
from topo.wiring.comparison import Comparison
from topo.wiring.finding import Finding, is_at_least

__all__ = ["NOT_PRICED", "Consequence", "Measured", "Validation"]

NOT_PRICED = "no fault is priced"
"""How the assumption begins that says why no price was worked out."""

_RANKED_BY = "what each alone loses of an all-to-all at full rate; who is cut off loses all it sends and receives"
"""What the order of the findings says."""


@dataclass(frozen=True, slots=True)
class Measured:
    """One measure of the fabric as it should be and as it was found; bounds are equal where it is exact.

    ``unit`` is that of both; ``share_lower`` and ``share_upper`` bound found over healthy.
    """

    name: str
    unit: str
    standing: Standing
    healthy_lower: float
    healthy_upper: float
    found_lower: float
    found_upper: float

    @property
    def share_lower(self) -> float:
        """Least part of the healthy value that is left."""
        return self.found_lower / self.healthy_upper if self.healthy_upper > 0 else math.nan

    @property
    def share_upper(self) -> float:
        """Greatest part of the healthy value that is left."""
        return self.found_upper / self.healthy_lower if self.healthy_lower > 0 else math.nan

    def text(self) -> str:
        """Healthy, found and the part left, which is all of it where cables that no plan has add to it."""
        low, high = min(self.share_lower, 1.0), min(self.share_upper, 1.0)
        left = f"{100 * low:.4g} %" if low == high else f"{100 * low:.4g} to {100 * high:.4g} %"
        return f"{_range(self.found_lower, self.found_upper, self.unit)} of {_healthy(self)} ({left})"


def _healthy(one: Measured) -> str:
    return _range(one.healthy_lower, one.healthy_upper, one.unit)


def _range(low: float, high: float, unit: str) -> str:
    shown = [format_gbps(value) if unit == "Gb/s" else f"{value:.4g}" for value in dict.fromkeys((low, high))]
    return " to ".join(shown)


@dataclass(frozen=True)
class Consequence:
    """What the faults cost together: measures healthy and found, endpoints cut off, the first aid.

    ``first_aid_theta`` is the all-to-all theta with what is left of the ``n_first_aid`` cables of thin pairs shut; it
    needs no new cable. nan where there is none to shut. ``n_priced`` of ``n_faults`` faults have a price of their own.
    ``parts_healthy`` and ``parts_found`` count the planes, rails and islands of switches that no cable between switches
    joins, as they should be and as they are; ``no_bisection`` says why a bracket on bisection bandwidth is not there.
    ``among`` says how many endpoints take part in the all-to-all where not all do: those whose leaves are judged,
    without slower ones that would set everyone's pace. ``lost_pairs`` of the ``n_pairs`` that a path joins as planned
    have none as found.
    """

    measures: tuple[Measured, ...]
    cut_off: int
    n_faults: int
    n_priced: int
    first_aid: tuple[str, ...]
    n_first_aid: int
    first_aid_theta: float
    parts_healthy: int = 1
    parts_found: int = 1
    no_bisection: str = ""
    among: str = ""
    lost_pairs: int = 0
    n_pairs: int = 0

    def first_aid_text(self) -> str:
        """The line that needs no new cable; '' where there is none."""
        if not self.n_first_aid or math.isnan(self.first_aid_theta):
            return ""
        pairs = plural(len(self.first_aid), "thin pair")
        return (
            f"shut the {plural(self.n_first_aid, 'cable')} left in {pairs}: an all-to-all then runs at "
            f"{100 * self.first_aid_theta:.4g} % of the healthy, without a new cable"
        )


@dataclass(frozen=True)
class Validation(Result):
    """Every fault of a wiring once, ranked by what it costs, and the rules or the design they were judged by.

    ``rules`` says what was learnt, each with its count; ``counts`` what was compared. ``comparison`` holds both sides
    as one fabric, for pictures and for a repair; ``n_operations`` is the least number of jobs that undo all faults
    that are jobs, ``least_operations`` a bound below it that holds whatever the names: where they differ, the number is
    only an upper bound.
    """

    fabric: str
    against: str
    findings: tuple[Finding, ...]
    rules: tuple[str, ...]
    counts: tuple[tuple[str, int], ...]
    n_operations: int
    least_operations: int
    consequence: Consequence | None
    assumptions: tuple[str, ...]
    comparison: Comparison | None = hidden(default=None)

    title: ClassVar[str] = "Wiring"

    def of(self, severity: str, *, accepted: bool = False) -> list[Finding]:
        """The findings of a severity, those that are accepted or those that are not."""
        return [one for one in self.findings if one.severity == severity and bool(one.accepted) == accepted]

    @property
    def summary(self) -> dict[str, Any]:
        """Counts by severity and code, what was compared, what is left."""
        new = [one for one in self.findings if not one.accepted]
        summary: dict[str, Any] = {f"{word}s": sum(one.severity == word for one in new) for word in SEVERITIES}
        summary["accepted"] = len(self.findings) - len(new)
        summary["codes"] = dict(sorted(Counter(one.code for one in self.findings).items()))
        summary |= dict(self.counts)
        summary["operations"] = self.n_operations
        summary["operations_at_least"] = self.least_operations
        summary["operations_standing"] = "exact" if self.is_shortest else "upper bound"
        if self.consequence is not None:
            summary["consequence"] = to_json_value(self.consequence)
        return summary

    @property
    def is_shortest(self) -> bool:
        """Whether no shorter list of operations undoes the same, proved."""
        return self.n_operations == self.least_operations

    @property
    def operations_text(self) -> str:
        """How many operations mend all that are jobs, and whether that is proved or only an upper bound."""
        if self.is_shortest:
            return f"{self.n_operations:,}, the shortest, proved"
        return f"{self.n_operations:,}, only an upper bound; no list has fewer than {self.least_operations:,}"

    def exit_status(self, fail_on: str = "error") -> int:
        """1 where a finding that is not accepted is as grave as ``fail_on`` (error, warning, never), else 0."""
        return int(any(is_at_least(one.severity, fail_on) for one in self.findings if not one.accepted))

    def to_dict(self) -> dict[str, Any]:
        """``{"findings": [...], "summary": {...}}`` with what was learnt beside them."""
        return {
            "fabric": self.fabric,
            "against": self.against,
            "findings": [one.to_record() for one in self.findings],
            "summary": self.summary,
            "rules": list(self.rules),
            "assumptions": list(self.assumptions),
        }

    def to_json(self, *, indent: int | None = 2) -> str:
        """The same as text."""
        return json.dumps(self.to_dict(), indent=indent, ensure_ascii=False, allow_nan=False)

    def rows(self) -> list[Row]:
        """What was compared, what was learnt, how many findings of each kind, what they cost."""
        rows = [Row(name.replace("_", " "), value) for name, value in self.counts]
        rows += [Row("compared" if self.against else "learnt", rule) for rule in self.rules]
        for severity in SEVERITIES:
            codes = Counter(one.code for one in self.of(severity))
            if codes:
                said = ", ".join(f"{n:,} {code}" for code, n in codes.most_common())
                rows.append(Row(f"{severity}s", f"{sum(codes.values()):,}: {said}"))
        accepted = sum(bool(one.accepted) for one in self.findings)
        if accepted:
            rows.append(Row("accepted", accepted))
        if not self.of("error") and not self.of("warning"):
            rows.append(Row("faults", "none"))
        if self.n_operations:
            rows.append(Row("operations that mend them", self.operations_text))
        return rows + self._cost_rows()

    def _cost_rows(self) -> list[Row]:
        cost = self.consequence
        if cost is None:
            return [Row("cost", text) for text in self.assumptions if text.startswith(NOT_PRICED)]
        rest = "; pairs without a path left out" if cost.lost_pairs else ""
        rows = [
            Row(one.name, one.text() + (rest if not one.unit else ""), standing=one.standing) for one in cost.measures
        ]
        rows += [Row("bisection bandwidth", cost.no_bisection)] if cost.no_bisection else []
        rows.append(Row("endpoints cut off", cost.cut_off))
        if cost.lost_pairs and not cost.cut_off:
            rows.append(Row("pairs of endpoints without a path", f"{cost.lost_pairs:,} of {cost.n_pairs:,}"))
        if cost.parts_found != cost.parts_healthy:
            said = f"{cost.parts_found:,}; {cost.parts_healthy:,} should be"
            rows.append(Row("parts that no cable between switches joins", said))
        aid = cost.first_aid_text()
        rows += [Row("first aid", aid)] if aid else []
        if cost.n_faults > 1:
            some = f"; {cost.n_priced:,} of {cost.n_faults:,} are priced, the others last"
            rows.append(Row("findings ranked by", _RANKED_BY + (some if cost.n_priced < cost.n_faults else "")))
        return rows
