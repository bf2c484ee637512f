"""A report as Markdown: names escaped so that they can neither format nor break a table."""

from __future__ import annotations

import re
from collections.abc import Sequence

from topo.output import plain
from topo.report.content import Facts, Grid, Map, Picture, Section, Text

__all__ = ["escape_markdown", "markdown"]

_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "|": "&#124;", "`": "&#96;"}
_MARKS = re.compile(r"([\\*_\[\]~#$!])")
_BAR = 20


def escape_markdown(text: str) -> str:
    """Text as Markdown that shows itself; one line, no markup, no link, safe inside a table cell.

    >>> print(escape_markdown("a|b `c` <i> _d_"))
    a&#124;b &#96;c&#96; &lt;i&gt; \\_d\\_
    """
    shown = _MARKS.sub(r"\\\1", plain(text))
    shown = "".join(_ENTITIES.get(letter, letter) for letter in shown)
    shown = shown.replace("://", "&#58;//").replace("www.", "www&#46;").replace("@", "&#64;")
    return re.sub(r"^([-+]|[0-9]+(?=[.)] ))", r"\\\1", shown)


def markdown(title: str, sections: Sequence[Section]) -> str:
    """The sections under a title."""
    lines = [f"# {escape_markdown(title)}", ""]
    for section in sections:
        lines += [f"## {escape_markdown(section.title)}", ""]
        for item in section.items:
            lines += [*_item(item), ""]
    return "\n".join(lines).rstrip() + "\n"


def _item(item: Text | Facts | Grid | Picture | Map) -> list[str]:
    if isinstance(item, Text):
        text = escape_markdown(item.text)
        return [f"**Note:** {text}" if item.tone else text]
    if isinstance(item, Facts):
        rows = [(row.label, row.text(), str(row.standing or "")) for row in item.rows]
        return _table(("", "value", "standing"), rows, (False, False, False))
    if isinstance(item, Picture):
        return [f"- {escape_markdown(text)}" for text in (item.drawing.alt, *item.drawing.notes)]
    if isinstance(item, Map):
        return [escape_markdown(item.content.alt), "", "The HTML form has it to pan, zoom and open."]
    head, body = item.head, list(item.rows)
    if item.bars:
        head = (*head, "")
        body = [(*row, "█" * round(share * _BAR)) for row, share in zip(body, item.bars, strict=True)]
    out = [f"**{escape_markdown(item.caption)}**", ""] if item.caption else []
    out += _table(head, body, (*item.numeric, False))
    if item.note:
        out += ["", escape_markdown(item.note)]
    return out


def _table(head: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[bool]) -> list[str]:
    align = ["---:" if right[i] else "---" for i in range(len(head))]
    lines = [_line(head), "| " + " | ".join(align) + " |"]
    return lines + [_line(row) for row in rows]


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(escape_markdown(cell) for cell in cells) + " |"
