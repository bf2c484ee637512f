"""What a fabric's source publishes, beside what was counted in the built fabric."""

from __future__ import annotations

from topo.analysis.published import PublishedNumber, PublishedNumbers
from topo.errors import TopoError
from topo.report.answers import why_not
from topo.report.content import Grid, Section, Text
from topo.units import format_gbps, format_number

__all__ = ["published_section"]


def published_section(answer: PublishedNumbers | TopoError) -> Section | None:
    """Published against built, if the source states anything."""
    title = "Published against built"
    if isinstance(answer, TopoError):
        return Section("published", title, why_not(answer))
    if not answer.numbers:
        return None
    differ = answer.n_differing
    equal = len(answer.numbers) - differ
    said = f"Of {len(answer.numbers):,} published numbers {equal:,} equal what was built and {differ:,} differ."
    lines = tuple(
        (
            number.meaning,
            _text(number.key, number.published),
            number.label,
            _text(number.key, number.built),
            "equal" if number.agrees else "DIFFERS",
            _remark(number),
        )
        for number in answer.numbers
    )
    head = ("number", "published", "source", "built", "", "remark")
    return Section("published", title, [Text(said, "warning" if differ else ""), Grid(head, lines)])


def _remark(number: PublishedNumber) -> str:
    if number.printed is None:
        return number.note
    wrong = f"the source prints {_text(number.key, number.printed)}, an error"
    return f"{wrong}; {number.note}" if number.note else wrong


def _text(key: str, value: float | None) -> str:
    if value is None:
        return "-"
    return format_gbps(value) if key.endswith("_gbps") else format_number(value)
