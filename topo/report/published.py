"""What a fabric's source publishes or lets derive, beside what was counted in the built fabric."""

from __future__ import annotations

from topo.analysis.published import PublishedNumber, PublishedNumbers
from topo.errors import TopoError
from topo.report.answers import why_not
from topo.report.content import Grid, Section, Text

__all__ = ["published_section"]

_VERDICTS = {"equal": "equal", "inside the bracket": "inside the bracket", "differs": "DIFFERS"}


def published_section(answer: PublishedNumbers | TopoError) -> Section | None:
    """Published and derived numbers against built, if the source states any."""
    title = PublishedNumbers.title
    if isinstance(answer, TopoError):
        return Section("published", title, why_not(answer))
    if not answer.numbers:
        return None
    lines = tuple(
        (
            number.meaning,
            number.shown(number.expected),
            f"{number.kind} ({number.label})",
            number.built_text,
            _VERDICTS[number.verdict],
            _remark(number),
        )
        for number in answer.numbers
    )
    head = ("number", "expected", "source", "built", "", "remark")
    tone = "warning" if answer.n_differing else ""
    return Section("published", title, [Text(answer.counts_text, tone), Grid(head, lines)])


def _remark(number: PublishedNumber) -> str:
    return "; ".join(text for text in (number.printed_text, number.note) if text)
