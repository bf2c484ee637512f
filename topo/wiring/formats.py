"""A validation as text for people, CSV for sheets, JUnit for a build server."""

from __future__ import annotations

import csv
import io
import math
from collections import Counter
from xml.sax.saxutils import escape, quoteattr

from topo.output import csv_cell, plain
from topo.result import Result
from topo.units import format_gbps
from topo.view.text import plural
from topo.wiring.answer import Validation
from topo.wiring.finding import Finding, is_at_least, jobs_said

__all__ = ["to_csv", "to_junit", "to_text"]

_COLUMNS = ("code", "severity", "where", "evidence", "lost_gbps", "words", "fix", "accepted")
_MOST = 40
_MOST_JOBS = 20


def to_csv(answer: Validation) -> str:
    """One line a finding; cells that a sheet could take for formulas are made text."""
    sheet = io.StringIO()
    writer = csv.writer(sheet, lineterminator="\n")
    writer.writerow(_COLUMNS)
    for one in answer.findings:
        lost = "" if math.isnan(one.lost_gbps) else f"{one.lost_gbps:.6g}"
        texts = (one.code, one.severity, one.where, one.evidence, lost, one.words, one.fix, one.accepted)
        writer.writerow([csv_cell(text) for text in texts])
    return sheet.getvalue()


def to_junit(answer: Validation, *, fail_on: str = "error") -> str:
    """A test suite with a case a finding: failures are what ``fail_on`` fails on, accepted ones are skipped.

    :raises ParameterError: ``fail_on`` is not error, warning or never.
    """
    cases, failures, skipped = [], 0, 0
    for one in answer.findings:
        name = f"<testcase classname={_attribute('topo.' + one.code)} name={_attribute(one.where)}>"
        if one.accepted:
            skipped += 1
            body = f"<skipped message={_attribute('accepted: ' + one.accepted)}/>"
        elif is_at_least(one.severity, fail_on):
            failures += 1
            body = f"<failure type={_attribute(one.code)} message={_attribute(one.evidence)}>{_text(one)}</failure>"
        else:
            body = f"<system-out>{_text(one)}</system-out>"
        cases.append(f"    {name}{body}</testcase>")
    if not cases:
        cases.append('    <testcase classname="topo" name="wiring"/>')
    head = f'tests="{len(cases)}" failures="{failures}" errors="0" skipped="{skipped}"'
    suite = f"  <testsuite name={_attribute('topo validate ' + answer.fabric)} {head}>"
    inner = "\n".join(cases)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<testsuites>\n{suite}\n{inner}\n  </testsuite>\n</testsuites>\n'


def to_text(answer: Validation, *, most: int = _MOST) -> str:
    """The answer as people read it: the sums, then the ``most`` dearest findings, then how many more of each code."""
    lines = [plain(line) for line in Result.__str__(answer).split("\n")]
    shown = [one for one in answer.findings if one.severity != "note"]
    notes = [one for one in answer.findings if one.severity == "note"]
    for one in [*shown[:most], *notes[: max(0, most - len(shown))]]:
        lines += ["", *_paragraph(one)]
    rest = Counter(one.code for one in [*shown[most:], *notes[max(0, most - len(shown)) :]])
    if rest:
        said = ", ".join(f"{n:,} {code}" for code, n in rest.most_common())
        lines += ["", f"and {sum(rest.values()):,} more: {said}"]
    return "\n".join(lines) + "\n"


def _paragraph(one: Finding) -> list[str]:
    cost = "" if math.isnan(one.lost_gbps) else f", {format_gbps(one.lost_gbps)} lost"
    head = f"{'accepted ' if one.accepted else ''}{one.severity} {one.code}{cost}"
    lines = [f"{head}: {one.where}", f"  {one.evidence}"]
    lines += [f"  {one.words}"] if one.words else []
    lines += [f"  accepted: {one.accepted}"] if one.accepted else [f"  fix: {one.fix}"]
    in_fix = set(one.fix.split("; "))
    unsaid = [(text, n) for text, n in jobs_said(one.jobs) if text not in in_fix]
    lines += [f"    {text}" for text, _ in unsaid[:_MOST_JOBS]]
    left = sum(n for _, n in unsaid[_MOST_JOBS:])
    lines += [f"    and {plural(left, 'more job')}; 'topo repair' lists them all"] if left else []
    return [plain(line) for line in lines]


def _attribute(text: str) -> str:
    return quoteattr(plain(text))


def _text(one: Finding) -> str:
    return escape("\n".join(_paragraph(one)))
