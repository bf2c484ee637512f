"""Notes of a reader: each kind located a few times, then counted, so that a broken file floods nothing."""

from __future__ import annotations

from collections.abc import Callable

from topo.fabric import Note
from topo.table import Array

__all__ = ["NoteBook", "is_of_rows", "quoted"]

_LOCATED = 5
_OF_ROWS = (
    "row without two ends", "a cable whose ends have different numbers of ports", "a port joined to itself",
    "rate of an unknown kind", "cable listed again", "part of a node stated differently", "sheet without a header",
)  # fmt: skip
"""How notes begin on rows that are not read, or that say again or otherwise what another row says."""


class NoteBook:
    """Collects notes by kind; the first few of a kind keep their line, the rest are counted.

    >>> book = NoteBook("dump.txt")
    >>> for line in range(1, 9):
    ...     book.add("line not understood", repr("?"), line)
    >>> [str(note) for note in book.notes()][-2:]
    ["dump.txt:5: line not understood: '?'", 'dump.txt: line not understood: 8 in all, the first 5 listed']
    """

    def __init__(self, source: str) -> None:
        self.source = source
        self._kinds: dict[str, list[Note]] = {}
        self._counts: dict[str, int] = {}

    def add(
        self, kind: str, what: str = "", line: int = 0, *, severity: str = "note", source: str | None = None,
        most: int = _LOCATED,
    ) -> None:  # fmt: skip
        """One more of ``kind``, about ``what``, at ``line`` of a source; ``most`` of a kind are located."""
        count = self._counts.get(kind, 0)
        self._counts[kind] = count + 1
        if count < most:
            text = " ".join((f"{kind}: {what}" if what else kind).splitlines())
            self._kinds.setdefault(kind, []).append(
                Note(text, self.source if source is None else source, line, severity)
            )

    def add_many(
        self,
        kind: str,
        lines: Array,
        describe: Callable[[int], str],
        *,
        severity: str = "note",
        source: Callable[[int], str] | None = None,
    ) -> None:
        """One of ``kind`` for each of ``lines``; ``describe(i)``, ``source(i)`` are asked only for the located ones."""
        for i, line in enumerate(lines[:_LOCATED].tolist()):
            self.add(kind, describe(i), line, severity=severity, source=source(i) if source else None)
        self._counts[kind] = self._counts.get(kind, 0) + max(0, len(lines) - _LOCATED)

    def count(self, kind: str) -> int:
        """How many of ``kind`` were added."""
        return self._counts.get(kind, 0)

    def notes(self) -> tuple[Note, ...]:
        """All notes, alerts first, kinds in order of first appearance, each cut short by its count."""
        result: list[Note] = []
        for kind, located in sorted(self._kinds.items(), key=lambda item: item[1][0].severity != "alert"):
            result += located
            if self._counts[kind] > len(located):
                text = f"{kind}: {self._counts[kind]:,} in all, the first {len(located)} listed"
                result.append(Note(text, self.source, 0, located[0].severity))
        return tuple(result)


def is_of_rows(note: Note) -> bool:
    """Whether a note is on rows of a table that are not read as they stand: who checks the cables has to know of it."""
    return note.text.startswith(_OF_ROWS)


def quoted(text: str, length: int = 80) -> str:
    """The text as a quoted one-liner of at most ``length`` characters."""
    return repr(text if len(text) <= length else text[: length - 3] + "...")
