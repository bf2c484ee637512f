"""Several files from outside, or folders of them, as one fabric."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from topo.errors import FormatError, InputError, ParameterError, TopoError
from topo.fabric import Fabric, Note
from topo.io import FORMATS, Format, fabric_of_bytes, format_of
from topo.io.joined import one_fabric
from topo.io.text import read_bytes, text_of

__all__ = ["read_several"]

_MOST_NAMED = 3


def read_several(
    paths: Sequence[str | Path],
    *,
    format: str | None = None,
    assume_gbps: float | str | None = None,
    **options: Any,
) -> Fabric:
    """One fabric of several files, each in its own format; a folder stands for the files in it.

    Files of a format that is written one device a file are read together. What a folder holds beside, in no known
    format, is noted; a file that was named has to be understood. ``options`` are ``columns``, ``hosts`` and ``levels``
    of :func:`topo.io.read`, each used for every file that takes it.

    :raises InputError: a file that cannot be used, one given twice, a folder with nothing in it.
    :raises FormatError: a named file, or all of a folder, in no known format.
    :raises ParameterError: no path, or an option that no file takes.
    """
    if not paths:
        raise ParameterError("no file in the list of paths; give one")
    reading = _Reading(format, assume_gbps, {name: value for name, value in options.items() if value is not None})
    for path, named in _files(paths):
        reading.take(path, named)
    fabric = one_fabric(reading.parts())
    reading.refuse_unused()
    origin = replace(fabric.origin, notes=(*fabric.origin.notes, *reading.notes))
    return replace(fabric, name=_name(paths), origin=origin)


def _files(paths: Sequence[str | Path]) -> Iterator[tuple[str | Path, bool]]:
    """The files, and whether each was named; those of a folder by name, hidden ones left out."""
    met: set[str] = set()
    for path in paths:
        inside: list[str | Path] = [path]
        is_folder = str(path) != "-" and Path(path).is_dir()
        if is_folder:
            inside = [one for one in sorted(Path(path).iterdir()) if one.is_file() and not one.name.startswith(".")]
            if not inside:
                raise InputError("there is no file in this folder; give the files", path=str(path))
        for one in inside:
            key = str(one) if str(one) == "-" else str(Path(one).resolve())
            if key in met:
                raise InputError("this file is given twice; give each once", path=str(one))
            met.add(key)
            yield one, not is_folder


class _Reading:
    """The files as they are read: those of one format that belongs together wait for each other."""

    def __init__(self, format: str | None, assume_gbps: float | str | None, options: Mapping[str, Any]) -> None:
        self._format = format
        self._rate = assume_gbps
        self._options = options
        self._used: set[str] = set()
        self._misfit: FormatError | None = None
        self._unknown: TopoError | None = None
        self._together: dict[str, list[tuple[str, str]]] = {}
        self._alone: list[Fabric] = []
        self._met: dict[bytes, str] = {}
        self.notes: list[Note] = []

    def take(self, path: str | Path, named: bool) -> None:
        """Read a file, or keep it for the others of its format."""
        try:
            data, source = read_bytes(path)
            row = _row_of(self._format) if self._format else format_of(data, source)
        except (FormatError, InputError) as error:
            if named:
                raise
            self._unknown = error
            self.notes.append(Note("left out: in no known format, or empty", str(path), severity="warning"))
            return
        if row.read_many:
            self._together.setdefault(row.name, []).append((text_of(data, source), source))
            return
        digest = hashlib.sha256(data).digest()
        if digest in self._met:
            said = f"the same content as {self._met[digest]}"
            if named:
                raise InputError(f"{said}; give one of the two", path=str(path))
            self.notes.append(Note(f"left out: {said}", str(path), severity="warning"))
            return
        self._met[digest] = str(path)
        self._alone.append(self._one(data, source, row))

    def _taken(self, row: Format) -> dict[str, Any]:
        return {name: value for name, value in self._options.items() if name in row.options}

    def _one(self, data: bytes, source: str, row: Format) -> Fabric:
        taken = self._taken(row)
        if "columns" in taken:
            try:
                fabric = fabric_of_bytes(data, source, format=row.name, assume_gbps=self._rate, **taken)
            except FormatError as error:  # a table without these columns
                self._misfit = error
                taken.pop("columns")
            else:
                self._used |= taken.keys()
                return fabric
        self._used |= taken.keys()
        return fabric_of_bytes(data, source, format=row.name, assume_gbps=self._rate, **taken)

    def parts(self) -> list[Fabric]:
        """A fabric for each file, and one for all files of a format that belongs together."""
        found = []
        for name, texts in self._together.items():
            row = _row_of(name)
            taken = self._taken(row)
            if isinstance(taken.get("hosts"), str):
                taken["hosts"] = (taken["hosts"],)
            self._used |= taken.keys()
            fabric: Fabric = row.function(row.read_many)(texts, **taken)
            if self._rate is not None:
                from topo.io.rates import with_assumed_rate
                from topo.units import parse_gbps

                fabric = with_assumed_rate(fabric, parse_gbps(self._rate))
            found.append(fabric)
        found += self._alone
        if not found and self._unknown is not None:
            raise self._unknown
        return found

    def refuse_unused(self) -> None:
        """Refuse an option that no file took."""
        for name in self._options:
            if name in self._used:
                continue
            if name == "columns" and self._misfit is not None:
                raise self._misfit
            taking = ", ".join(row.name for row in FORMATS if name in row.options)
            raise ParameterError(f"{name} is of no use for any of these files; for: {taking}")


def _row_of(name: str) -> Format:
    row = next((row for row in FORMATS if row.name == name and row.read), None)
    if row is None:
        known = ", ".join(each.name for each in FORMATS if each.read)
        raise ParameterError(f"unknown format {name!r}; known: {known}")
    return row


def _name(paths: Sequence[str | Path]) -> str:
    """What the files are called together: the first few by name."""
    names = ["stdin" if str(path) == "-" else Path(path).resolve().stem or "files" for path in paths]
    if len(names) > _MOST_NAMED:
        return f"{names[0]} + {len(names) - 1} more"
    return " + ".join(names)
