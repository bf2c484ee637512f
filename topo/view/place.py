"""Where boxes and words stand on the picture's plane, in pixels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from topo.view.scene import Box
from topo.view.text import escape_xml

__all__ = [
    "BOX",
    "GAP",
    "LEFT",
    "LETTER",
    "NARROW",
    "WIDTH",
    "Placed",
    "document",
    "label_element",
    "place",
    "text_element",
]

WIDTH = 1000
NARROW = 360
"""Width of a chart that is drawn once more for a telephone."""
LEFT = 152
BOX = 56
GAP = 92
LETTER = {"h": 6.9, "d": 6.0, "": 6.4, "p": 8.0, "n": 6.2, "s": 5.5}
"""Mean advance of a system font at the sizes of the style sheet."""

_WIDEST = 190.0


@dataclass(frozen=True, slots=True)
class Placed:
    """A box with its corner and width."""

    box: Box
    x: float
    y: float
    width: float

    @property
    def middle(self) -> float:
        """Its middle from the left."""
        return self.x + self.width / 2


def place(box: Box, y: float, columns: int) -> Placed:
    """The box in the middle of its columns."""
    step = (WIDTH - LEFT - 8) / columns
    slot = (box.end - box.start) * step
    width = min(slot - (6 if slot > 60 else 3), _WIDEST)
    middle = LEFT + (box.start + box.end) / 2 * step
    return Placed(box, round(middle - width / 2, 1), y, round(width, 1))


def document(
    body: Sequence[str],
    *,
    height: int,
    title: str,
    alt: str,
    style: str,
    description: str | None = None,
    width: int = WIDTH,
) -> str:
    """One SVG; ``alt`` is its label, and its description where none is given.

    >>> document([], height=20, title="t", alt="a & b", style="").splitlines()[2:4]
    ['<desc>a &amp; b</desc>', '<style></style>']
    """
    joined, told = "\n".join(body), alt if description is None else description
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="tt" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}" role="img" aria-label="{escape_xml(alt)}">\n<title>{escape_xml(title)}</title>\n'
        f"<desc>{escape_xml(told)}</desc>\n<style>{style}</style>\n"
        f'<rect width="{width}" height="{height}" fill="var(--bg)"/>\n{joined}\n</svg>\n'
    )


def text_element(x: float, y: float, text: str, style: str = "", *, middle: bool = False, length: float = 0.0) -> str:
    """A line of text as SVG, escaped."""
    anchor = ' text-anchor="middle"' if middle else ""
    chosen = f' class="{style}"' if style else ""
    fit = f' textLength="{length:.0f}" lengthAdjust="spacingAndGlyphs"' if length else ""
    return f'<text x="{x:.1f}" y="{y:.1f}"{chosen}{anchor}{fit}>{escape_xml(text)}</text>'


def label_element(x: float, ys: list[float], lines: list[str], style: str) -> list[str]:
    """Lines of text on a patch of background, so that no line of the picture runs through them."""
    width = max(map(len, lines)) * LETTER["n"] + 6
    patch = (
        f'<rect class="b" x="{x - width / 2:.1f}" y="{ys[0] - 10.5:.1f}" width="{width:.1f}" '
        f'height="{13 * len(lines) + 1}"/>'
    )
    return [patch, *(text_element(x, y, text, style, middle=True) for y, text in zip(ys, lines, strict=True))]
