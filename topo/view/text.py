"""Names from outside made safe to show: every invisible or direction-changing character becomes visible."""

from __future__ import annotations

import html
import re

from topo.output import plain

__all__ = ["escape_xml", "natural_key", "plural", "sentence", "shorten", "wrapped"]

_DIGITS = re.compile(r"([0-9]{1,18})")
_WORDS = {
    "leaf": "leaves",
    "switch": "switches",
    "chassis": "chassis",
    "access": "access",
    "box": "boxes",
    "mesh": "meshes",
}


def escape_xml(text: str) -> str:
    """Text as XML or HTML content or as a quoted attribute value.

    >>> escape_xml('<a href="x">')
    '&lt;a href=&quot;x&quot;&gt;'
    """
    return html.escape(plain(text), quote=True)


def shorten(text: str, letters: int) -> str:
    """At most ``letters`` letters, the middle left out: names differ at their ends.

    >>> shorten("su-01-leaf-03", 9)
    'su-0…f-03'
    """
    if len(text) <= letters:
        return text
    if letters < 3:
        return text[:letters]
    tail = (letters - 1) // 2
    return f"{text[: letters - 1 - tail]}…{text[-tail:]}"


def wrapped(text: str, letters: int) -> list[str]:
    """Text in lines of at most ``letters`` letters if it can be broken at a space or after a mark so.

    >>> wrapped("5 more pods, alike", 12), wrapped("storage-nic-1", 8), wrapped("unbreakable", 6)
    (['5 more pods,', 'alike'], ['storage-', 'nic-1'], ['unbreakable'])
    """
    lines: list[str] = []
    for pattern in (r"\S+\s*", r"[^-_/ ]+[-_/]*\s*|[-_/ ]+"):
        lines = [""]
        for piece in re.findall(pattern, text.strip()):
            if lines[-1] and len(lines[-1]) + len(piece.rstrip()) > letters:
                lines.append("")
            lines[-1] += piece
        lines = [line.strip() for line in lines]
        if max(map(len, lines)) <= letters:
            break
    return lines


def natural_key(text: str) -> tuple[tuple[int, int, str], ...]:
    """Sort key that puts leaf-2 before leaf-10. Digits of other scripts are letters, long numbers go by 18 digits.

    >>> sorted(["leaf-10", "leaf-2"], key=natural_key)
    ['leaf-2', 'leaf-10']
    """
    pieces = _DIGITS.split(text)  # every second one is a number
    return tuple((1, int(piece), piece) if i % 2 else (0, 0, piece) for i, piece in enumerate(pieces) if piece)


def plural(number: int, word: str) -> str:
    """A count with its word.

    >>> plural(1, "leaf"), plural(1016, "leaf"), plural(2, "NIC")
    ('1 leaf', '1,016 leaves', '2 NICs')
    """
    if number == 1:
        return f"1 {word}"
    head, _, last = word.rpartition(" ")
    many = _WORDS.get(last, last if last.endswith("s") else last + "s")
    return f"{number:,} {head + ' ' if head else ''}{many}"


def sentence(text: str) -> str:
    """A statement as a sentence: it begins with a capital and ends with a full stop.

    >>> sentence("tiers are distances from the endpoints")
    'Tiers are distances from the endpoints.'
    """
    said = plain(text.strip())
    return said[:1].upper() + said[1:] + ("" if said.endswith((".", "!", "?")) else ".")
