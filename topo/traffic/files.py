"""A demand from a CSV file: one wanted rate a line."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator
from pathlib import Path

from topo.errors import FormatError, InputError, ParameterError
from topo.fabric import Fabric
from topo.io.notes import quoted
from topo.io.text import read_text
from topo.traffic.demand import Demand
from topo.units import parse_gbps

__all__ = ["from_file"]

_COLUMNS = ("source", "sink", "gbps")
_AMBIGUOUS = -1


def from_file(fabric: Fabric, path: str | Path) -> Demand:
    """The demand in a CSV file with the columns ``source``, ``sink`` and ``gbps``, in any order.

    Source and sink are endpoints, by name or by uid (a GUID, where names repeat). A rate is a number of Gb/s, one
    direction, or written with its unit (``400G``, ``4xNDR``). Repeated pairs are several flows. ``-`` reads standard
    input. An apostrophe that a spreadsheet export put before a name (``'=leaf``) is taken off where the name needs it.

    >>> import tempfile, topo
    >>> f = topo.leaf_spine(leaves=2, spines=2, hosts_per_leaf=2)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "flows.csv")
    ...     n = file.write_text("source,sink,gbps\\nhost-1,host-3,400G\\nhost-2,host-4,100\\n")
    ...     demand = from_file(f, file)
    >>> demand.n_pairs, demand.gbps.tolist()
    (2, [400.0, 100.0])

    :raises InputError: no such file, or a line that cannot be used: an unknown name, a flow to itself, a rate that is
        negative, nan or infinite; file, line and value are named.
    :raises FormatError: a header without the three columns, a row of another width, or no row at all.
    """
    text, place = read_text(path)
    known = _names(fabric)
    sources: list[int] = []
    sinks: list[int] = []
    rates: list[float] = []
    for line, (source, sink, rate) in _cells(text, place):
        from_row, to_row = _row(fabric, known, source, place, line), _row(fabric, known, sink, place, line)
        if from_row == to_row:
            raise InputError(f"a flow from {quoted(source)} to itself; leave it out", path=place, line=line)
        sources.append(from_row)
        sinks.append(to_row)
        rates.append(_rate(rate, place, line))
    if not sources:
        raise FormatError("no flow below the header; give one line for each", path=place)
    return Demand.of(fabric, Path(place).name, source=sources, sink=sinks, gbps=rates)


def _cells(text: str, place: str) -> Iterator[tuple[int, tuple[str, str, str]]]:
    """Line and the three cells of every row."""
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    order: list[int] = []
    width = 0
    try:
        for cells in reader:
            if not any(cell.strip() for cell in cells):
                continue
            if not order:
                order, width = _header(cells, place, reader.line_num), len(cells)
                continue
            if len(cells) != width:
                raise FormatError(
                    f"{len(cells)} cells where the header has {width}; quote names that hold commas",
                    path=place,
                    line=reader.line_num,
                )
            yield reader.line_num, (cells[order[0]], cells[order[1]], cells[order[2]])
    except csv.Error as error:
        raise FormatError(f"not CSV: {error}; write one flow a line", path=place, line=reader.line_num) from None


def _header(cells: list[str], place: str, line: int) -> list[int]:
    names = [cell.strip().lower() for cell in cells]
    if sorted(names) != sorted(_COLUMNS):
        raise FormatError(
            f"the header reads {quoted(','.join(cells))}; it must hold the columns source, sink and gbps, each once",
            path=place,
            line=line,
        )
    return [names.index(column) for column in _COLUMNS]


def _names(fabric: Fabric) -> dict[str, int]:
    """Row of every endpoint by uid and by name; a name that several bear is ambiguous."""
    rows = fabric.endpoints
    known: dict[str, int] = {}
    for names in (fabric.nodes.name[rows].tolist(), fabric.nodes.uid[rows].tolist()):
        for row, name in zip(rows.tolist(), names, strict=True):
            if name:
                known[name] = row if known.setdefault(name, row) == row else _AMBIGUOUS
    return known


def _row(fabric: Fabric, known: dict[str, int], cell: str, place: str, line: int) -> int:
    for name in (cell, cell.strip(), cell.strip().removeprefix("'")):
        row = known.get(name)
        if row is not None:
            break
    else:
        if (fabric.nodes.name == cell.strip()).any():
            raise InputError(
                f"{quoted(cell)} is no endpoint; traffic starts and ends at endpoints", path=place, line=line
            )
        like = ", ".join(map(quoted, fabric.nodes.name[fabric.endpoints[:3]].tolist()))
        raise InputError(
            f"{quoted(cell)} is no node of {quoted(fabric.name)}; endpoints are named like {like}",
            path=place,
            line=line,
        )
    if row == _AMBIGUOUS:
        raise InputError(
            f"several endpoints are named {quoted(cell)}; name it by its uid (GUID, MAC or serial)",
            path=place,
            line=line,
        )
    return row


def _rate(cell: str, place: str, line: int) -> float:
    try:
        value = float(cell)
    except ValueError:
        try:
            return parse_gbps(cell)
        except ParameterError:
            value = math.nan
    if not math.isfinite(value) or value < 0:
        raise InputError(
            f"{quoted(cell)} is not a rate; expected Gb/s, a finite number of at least 0, or a rate like '400G'",
            path=place,
            line=line,
        )
    return value
