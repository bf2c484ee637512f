"""Foreign files to fabrics: :func:`read` knows the format by its content, from the rows of ``FORMATS``."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from topo.errors import FormatError, InputError, ParameterError

if TYPE_CHECKING:
    from topo.fabric import Fabric

__all__ = ["FORMATS", "Format", "fabric_of_text", "read"]

_HEAD = 1 << 18


@dataclass(frozen=True, slots=True)
class Format:
    """A format that :func:`read` knows: name, description, and the functions that recognise and read it.

    ``sniff(head) -> bool`` looks at the first 262,144 characters; ``read(text, source) -> Fabric`` reads all
    of it. Both are named, and imported from ``module`` when first needed.
    """

    name: str
    description: str
    module: str
    sniff: str
    read: str

    def function(self, name: str) -> Callable[..., Any]:
        """The named function of the format's module."""
        found: Callable[..., Any] = getattr(importlib.import_module(self.module), name)
        return found


FORMATS: tuple[Format, ...] = (
    Format(
        "ibnetdiscover",
        "InfiniBand subnet discovery: ibnetdiscover, its port list (-p), and ibsim net files",
        "topo.io.ibnetdiscover",
        "is_ibnetdiscover",
        "read_ibnetdiscover",
    ),
)


def read(path: str | Path, *, format: str | None = None, assume_gbps: float | str | None = None) -> Fabric:
    """The fabric in a file from outside, its format recognised from the content unless ``format`` names it.

    ``-`` reads standard input. What was not understood, and what was inferred, is in ``fabric.origin``.
    ``assume_gbps`` states the rate, in Gb/s one direction, of every link whose rate the file leaves open.

    >>> import tempfile, topo
    >>> dump = 'Switch 4 "S-1"\\n[1] "H-2"[1] # "n1 mlx5_0" lid 2 4xHDR\\nCa 1 "H-2"\\n[1] "S-1"[1]\\n'
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "subnet.txt")
    ...     n = file.write_text(dump)
    ...     fabric = topo.read(file)
    >>> fabric.links.capacity_gbps.tolist(), fabric.links.evidence[0]
    ([200.0], 'both ends')

    :raises InputError: no such file, a folder, unreadable, larger than 1 GiB, or empty.
    :raises FormatError: no known format, or most lines do not fit the format.
    :raises ParameterError: an unknown ``format``, or a rate that is not above 0.
    """
    from topo.io.text import read_text

    _checked(format, assume_gbps)
    text, source = read_text(path)
    return fabric_of_text(text, source, format=format, assume_gbps=assume_gbps)


def _checked(format: str | None, assume_gbps: float | str | None) -> tuple[Format | None, float | None]:
    return None if format is None else _named(format), None if assume_gbps is None else _stated(assume_gbps)


def fabric_of_text(
    text: str, source: str, *, format: str | None = None, assume_gbps: float | str | None = None
) -> Fabric:
    """The fabric in a text that was read already; ``source`` is the name it goes by in notes. As :func:`read`.

    >>> dump = 'Switch 4 "S-1"\\n[1] "H-2"[1] # "n1 mlx5_0" lid 2 4xHDR\\nCa 1 "H-2"\\n[1] "S-1"[1]\\n'
    >>> fabric_of_text(dump, "subnet.txt").links.capacity_gbps.tolist()
    [200.0]

    :raises FormatError: no known format, or most lines do not fit the format.
    """
    chosen, rate = _checked(format, assume_gbps)
    if chosen is None:
        chosen = _recognised(text, source)
    fabric: Fabric = chosen.function(chosen.read)(text, source)
    if rate is None:
        return fabric
    from topo.io.rates import with_assumed_rate

    return with_assumed_rate(fabric, rate)


def _named(name: str) -> Format:
    for row in FORMATS:
        if row.name == name:
            return row
    raise ParameterError(f"unknown format {name!r}; known: {', '.join(row.name for row in FORMATS)}")


def _stated(assume_gbps: float | str) -> float:
    from topo.units import parse_gbps

    rate = parse_gbps(assume_gbps)
    if rate <= 0:
        raise ParameterError(f"assume_gbps is {assume_gbps!r}; a rate to assume must be above 0 Gb/s")
    return rate


def _recognised(text: str, source: str) -> Format:
    head = text[:_HEAD]
    for row in FORMATS:
        if row.function(row.sniff)(head):
            return row
    found: tuple[int | None, str] = next(
        ((i, line.strip()) for i, line in enumerate(head.split("\n"), 1) if line.strip()), (1, "")
    )
    number, first = found
    if not first:
        raise InputError("the file holds nothing but blanks; give the output of a discovery", path=source)
    known = "; ".join(f"{row.name} ({row.description})" for row in FORMATS)
    shown = f"the first line reads {first[:80]!r}"
    if _is_binary(head):
        shown, number = "it is not text but binary data", None
    raise FormatError(
        f"the format is not a known one: {shown}. Known: {known}. "
        "If it is one of these, name it with format= (--read-as on the command line)",
        path=source,
        line=number,
    )


def _is_binary(head: str) -> bool:
    """Whether a text holds what no text file does: a NUL, or one control character in twenty."""
    start = head[:4096]
    odd = sum(not (letter.isprintable() or letter.isspace()) for letter in start)
    return "\x00" in start or odd * 20 > len(start)
