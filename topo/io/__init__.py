"""Foreign files to fabrics: :func:`read` knows the format by its content, from the rows of ``FORMATS``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from topo.errors import FormatError, InputError, ParameterError
from topo.io.formats import FORMATS, Format

if TYPE_CHECKING:
    from topo.fabric import Fabric

__all__ = ["FORMATS", "Format", "fabric_of_text", "read"]

_HEAD = 1 << 18

_TABLE = "schedule"
"""The format that asks for the columns of a table whose header is unknown."""


def read(
    path: str | Path | Sequence[str | Path],
    *,
    format: str | None = None,
    assume_gbps: float | str | None = None,
    columns: Mapping[str, str | int] | None = None,
    hosts: str | Sequence[str] | None = None,
    levels: Sequence[str] | None = None,
) -> Fabric:
    """The fabric in a file from outside, its format recognised from the content unless ``format`` names it.

    ``-`` reads standard input; a list of paths makes one fabric, where each file is of one device. What was not
    understood, and what was inferred, is in ``fabric.origin``.
    ``assume_gbps`` states the rate, in Gb/s one direction, of every link whose rate the file leaves open.
    ``columns`` names the columns of a cable schedule with a header of its own, by text or number from 1:
    ``{"a_node": "Von", "a_port": 2, "z_node": "Nach", "z_port": 4}``. ``hosts`` are globs of node names that are
    hosts, for formats that do not say what a node is; ``levels`` the labels of Kubernetes nodes that name tiers, the
    highest first.

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
    :raises ParameterError: an unknown ``format``, a rate that is not above 0, or an option the format does not take.
    """
    from topo.io.text import read_text

    chosen, rate = _checked(format, assume_gbps, columns)
    paths = [path] if isinstance(path, (str, Path)) else list(path)
    if not paths:
        raise ParameterError("no file in the list of paths; give one")
    texts = [read_text(each) for each in paths]
    options = {"columns": columns, "hosts": hosts, "levels": levels}
    if len(texts) == 1:
        return fabric_of_text(*texts[0], format=format, assume_gbps=assume_gbps, **options)  # type: ignore[arg-type]
    chosen = chosen or _recognised(*texts[0])
    if not chosen.read_many:
        able = ", ".join(row.name for row in FORMATS if row.read_many)
        raise ParameterError(f"several files make one fabric of the formats {able}; {texts[0][1]} is {chosen.name}")
    return _at_rate(chosen.function(chosen.read_many)(texts, **_options(chosen, **options)), rate)


def _checked(
    format: str | None, assume_gbps: float | str | None, columns: Mapping[str, str | int] | None
) -> tuple[Format | None, float | None]:
    if columns is not None and not isinstance(columns, Mapping):
        raise ParameterError(f"columns is {columns!r}; give {{'a_node': 'header text or number', ...}}")
    if columns is not None and format is None:
        format = _TABLE
    return None if format is None else _named(format), None if assume_gbps is None else _stated(assume_gbps)


def fabric_of_text(
    text: str,
    source: str,
    *,
    format: str | None = None,
    assume_gbps: float | str | None = None,
    columns: Mapping[str, str | int] | None = None,
    hosts: str | Sequence[str] | None = None,
    levels: Sequence[str] | None = None,
) -> Fabric:
    """The fabric in a text that was read already; ``source`` is the name it goes by in notes. As :func:`read`.

    >>> dump = 'Switch 4 "S-1"\\n[1] "H-2"[1] # "n1 mlx5_0" lid 2 4xHDR\\nCa 1 "H-2"\\n[1] "S-1"[1]\\n'
    >>> fabric_of_text(dump, "subnet.txt").links.capacity_gbps.tolist()
    [200.0]

    :raises FormatError: no known format, or most lines do not fit the format.
    """
    chosen, rate = _checked(format, assume_gbps, columns)
    if chosen is None:
        chosen = _recognised(text, source)
    fabric: Fabric = chosen.function(chosen.read)(
        text, source, **_options(chosen, columns=columns, hosts=hosts, levels=levels)
    )
    return _at_rate(fabric, rate)


def _at_rate(fabric: Fabric, rate: float | None) -> Fabric:
    if rate is None:
        return fabric
    from topo.io.rates import with_assumed_rate

    return with_assumed_rate(fabric, rate)


def _options(chosen: Format, **options: Any) -> dict[str, Any]:
    """The options that were given, refused where the format takes none of that name."""
    given = {name: value for name, value in options.items() if value is not None}
    if isinstance(given.get("hosts"), str):
        given["hosts"] = (given["hosts"],)
    for name in given:
        if name not in chosen.options:
            taking = ", ".join(row.name for row in FORMATS if name in row.options)
            raise ParameterError(
                f"{name} is of no use for the format {chosen.name}, which says so itself; for: {taking}"
            )
    return given


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
    table = _named(_TABLE)
    if table.function("is_table")(head):
        return table  # which asks for the columns it cannot tell
    found: tuple[int | None, str] = next(
        ((i, line.strip()) for i, line in enumerate(head.split("\n"), 1) if line.strip()), (1, "")
    )
    number, first = found
    if not first:
        raise InputError("the file holds nothing but blanks; give the output of a discovery", path=source)
    known = ", ".join(row.name for row in FORMATS)
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
