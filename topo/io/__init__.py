"""Foreign files to fabrics and back: :func:`read` knows the format by its content, :func:`write` by its name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from topo.errors import FormatError, InputError, ParameterError
from topo.io.formats import FORMATS, Format

if TYPE_CHECKING:
    from topo.fabric import Fabric
    from topo.io.written import Written

__all__ = ["FORMATS", "Format", "fabric_of_bytes", "fabric_of_text", "format_of", "read", "write", "writer_of"]

_HEAD = 1 << 18

_TABLE = "schedule"
"""The format that asks for the columns of a table whose header is unknown."""


def read(
    path: str | Path | IO[Any] | Sequence[str | Path | IO[Any]],
    *,
    format: str | None = None,
    assume_gbps: float | str | None = None,
    columns: Mapping[str, str | int] | None = None,
    hosts: str | Sequence[str] | None = None,
    levels: Sequence[str] | None = None,
) -> Fabric:
    """The fabric in a file from outside, its format recognised from the content unless ``format`` names it.

    ``-`` reads standard input, and an open file is read to its end; a list of paths makes one fabric, where each file
    is of one device. What was not understood, and what was inferred, is in ``fabric.origin``.
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
    from topo.io.text import read_bytes, text_of

    chosen, rate = _checked(format, assume_gbps, columns)
    paths = list(path) if isinstance(path, Sequence) and not isinstance(path, str) else [path]
    if not paths:
        raise ParameterError("no file in the list of paths; give one")
    files = [read_bytes(each) for each in paths]
    options: dict[str, Any] = {"columns": columns, "hosts": hosts, "levels": levels}
    if len(files) == 1:
        return fabric_of_bytes(*files[0], format=format, assume_gbps=assume_gbps, **options)
    texts = [(text_of(*each), each[1]) for each in files]
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


def fabric_of_bytes(data: bytes, source: str, *, format: str | None = None, **options: Any) -> Fabric:
    """The fabric in the bytes of a file; options as for :func:`read`.

    :raises FormatError: no known format, or most lines do not fit the format.
    """
    from topo.io.text import text_of

    chosen, rate = _checked(format, options.get("assume_gbps"), options.get("columns"))
    if chosen is None:
        chosen = next((row for row in FORMATS if row.takes_bytes and row.function(row.sniff)(data)), None)
    if chosen is None or not chosen.takes_bytes:
        return fabric_of_text(text_of(data, source), source, format=format, **options)
    if not chosen.function(chosen.sniff)(data):
        raise FormatError(f"this is no file of the format {chosen.name}", path=source)
    rest = {name: value for name, value in options.items() if name != "assume_gbps"}
    fabric: Fabric = chosen.function(chosen.read)(data, source, **_options(chosen, **rest))
    return _at_rate(fabric, rate)


def format_of(data: bytes, source: str) -> Format:
    """The format that the bytes of a file are in, by their content.

    >>> format_of(b'graph "g" { "leaf":"swp1" -- "host":"eth0" }', "t.dot").name
    'dot'

    :raises FormatError: no known format.
    :raises InputError: nothing but blanks, or an archive that is no workbook.
    """
    from topo.io.text import text_of

    chosen = next((row for row in FORMATS if row.takes_bytes and row.function(row.sniff)(data)), None)
    return chosen or _recognised(text_of(data, source), source)


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


def write(fabric: Fabric, path: str | Path, *, format: str | None = None) -> Written:
    """Write the fabric for another tool, whole or not at all; what that format cannot say comes back as ``lost``.

    ``format`` is a row of ``FORMATS`` with a writer; left out, the ending of the name tells: ``.fabric`` (all of it,
    our own), ``.dot``, ``.graphml``, ``.conf`` (Slurm's tree).

    >>> import tempfile, topo
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     written = topo.write(topo.fat_tree(4), Path(folder, "tree.fabric"))
    ...     same = topo.read(Path(folder, "tree.fabric")).equals(topo.fat_tree(4))
    >>> same, written.lost
    (True, ())

    :raises ParameterError: no such format, one that is not written, or a fabric that the format cannot express.
    :raises InputError: the place cannot be written.
    """
    from topo.fabric import expect_fabric
    from topo.output import write_whole

    expect_fabric(fabric)
    written = writer_of(str(path), format).write(fabric)
    write_whole(path, written.data())
    return written


def writer_of(path: str, format: str | None) -> Format:
    """The format to write: the one named, else the one that the ending of the path means.

    >>> writer_of("wires.dot", None).name
    'dot'

    :raises ParameterError: neither tells; the formats that are written are listed.
    """
    able = [row for row in FORMATS if row.writer]
    if format is None:
        found = [row for row in able if row.suffix and path.lower().endswith(row.suffix)]
        if found:
            return found[0]
        endings = ", ".join(f"{row.suffix} {row.name}" for row in able if row.suffix)
        raise ParameterError(
            f"the name {Path(path).name!r} does not tell the format; give format= (--to): "
            f"{', '.join(row.name for row in able)}; or an ending: {endings}"
        )
    row = next((row for row in FORMATS if row.name == format), None)
    if row is None or not row.writer:
        said = "unknown format" if row is None else "nothing writes the format"
        raise ParameterError(f"{said} {format!r}; written are {', '.join(each.name for each in able)}")
    return row


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
        if row.name == name and row.read:
            return row
    raise ParameterError(f"unknown format {name!r}; known: {', '.join(row.name for row in FORMATS if row.read)}")


def _stated(assume_gbps: float | str) -> float:
    from topo.units import parse_gbps

    rate = parse_gbps(assume_gbps)
    if rate <= 0:
        raise ParameterError(f"assume_gbps is {assume_gbps!r}; a rate to assume must be above 0 Gb/s")
    return rate


def _recognised(text: str, source: str) -> Format:
    head = text[:_HEAD]
    for row in FORMATS:
        if row.sniff and not row.takes_bytes and row.function(row.sniff)(head):
            return row
    table = _named(_TABLE)
    if table.function("is_table")(head):
        return table  # which asks for the columns it cannot tell
    number, first = next(((i, line.strip()) for i, line in enumerate(head.split("\n"), 1) if line.strip()), (1, ""))
    if not first:
        raise InputError("the file holds nothing but blanks; give the output of a discovery", path=source)
    if _is_binary(head):
        raise FormatError(
            f"it is not text but binary data, beginning {head[:4]!r}; give what the tool wrote as text in UTF-8, a "
            "workbook (.xlsx), or topo's own file (.fabric)",
            path=source,
        )
    known = ", ".join(row.name for row in FORMATS if row.read)
    raise FormatError(
        f"the format is not a known one: the first line reads {first[:80]!r}. Known: {known}. "
        "If it is one of these, name it with format= (--read-as on the command line)",
        path=source,
        line=number,
    )


def _is_binary(head: str) -> bool:
    """Whether a text holds what no text file does: a NUL, or one control character in twenty."""
    start = head[:4096]
    odd = sum(not (letter.isprintable() or letter.isspace()) for letter in start)
    return "\x00" in start or odd * 20 > len(start)
