"""What is given as files: a wiring and its design, options for reading used where they fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from topo.errors import FormatError, InputError, ParameterError, TopoError
from topo.fabric import Fabric, expect_fabric
from topo.io.joined import one_fabric
from topo.source import load

__all__ = ["read_sides"]

Given = Fabric | str | Path


def read_sides(
    wiring: Given | Sequence[Given],
    against: Sequence[Given] = (),
    *,
    columns: Mapping[str, str | int] | None = None,
    hosts: str | Sequence[str] | None = None,
    levels: Sequence[str] | None = None,
    assume_gbps: float | str | None = None,
    format: str | None = None,
) -> tuple[Fabric, Fabric | None]:
    """The wiring, and the design that all of ``against`` make together, None without any.

    Several files of a wiring make one too. ``columns``, ``hosts`` and ``levels`` are those of :func:`topo.load`, each
    used for every file that takes it. ``format`` is that of the wiring alone.

    >>> found, design = read_sides("leaf-spine-2to1", ["leaf-spine-2to1"])
    Traceback (most recent call last):
        ...
    topo.errors.InputError: leaf-spine-2to1: wiring and design are the same; give the design to compare with

    :raises InputError: a file that cannot be used, one that is given twice.
    :raises ParameterError: an option that no file takes.
    """
    given: list[Given] = list(wiring) if isinstance(wiring, (list, tuple)) else [wiring]  # type: ignore[list-item]
    for i, one in enumerate(against):
        for part in given:
            _refuse_same(part, one)
        for other in against[:i]:
            _refuse_same(one, other, "two files of the design are the same; give each once")
    options = {"columns": columns, "hosts": hosts, "levels": levels}
    reading = _Reading(assume_gbps, {name: value for name, value in options.items() if value is not None})
    found = reading.fabric(given, format)
    parts = [reading.fabric([one], None) for one in against]
    reading.refuse_unused()
    return found, one_fabric(parts) if parts else None


def _refuse_same(
    one: Given, other: Given, said: str = "wiring and design are the same; give the design to compare with"
) -> None:
    """Refuse one file, or one name, given as two things.

    :raises InputError: they are the same.
    """
    if isinstance(one, Fabric) or isinstance(other, Fabric):
        return
    first, second = Path(one), Path(other)
    if str(one) == str(other) or (first.is_file() and second.is_file() and first.samefile(second)):
        raise InputError(said, path=str(one))


class _Reading:
    """Files read with the options that each of them takes; what none took is refused at the end."""

    def __init__(self, assume_gbps: float | str | None, options: Mapping[str, Any]) -> None:
        self._rate = assume_gbps
        self._options = options
        self._used: set[str] = set()
        self._misfits: dict[str, TopoError] = {}

    def fabric(self, given: Sequence[Given], format: str | None) -> Fabric:
        """One of the sides."""
        if not all(isinstance(one, (str, Path)) for one in given):
            for one in given:
                if not isinstance(one, (str, Path)):
                    expect_fabric(one)
            return one_fabric([one if isinstance(one, Fabric) else self.fabric([one], format) for one in given])
        names = [one for one in given if isinstance(one, (str, Path))]
        whole = names[0] if len(names) == 1 else names
        options = dict(self._options)
        while options:
            try:
                found = load(whole, assume_gbps=self._rate, format=format, **options)
            except (FormatError, ParameterError) as misfit:
                if "-" in map(str, names):  # it cannot be read again
                    raise
                name = next((name for name in ("levels", "hosts") if name in options), "columns")
                self._misfits.setdefault(name, misfit)
                options.pop(name)
            else:
                self._used |= options.keys()
                return found
        try:
            return load(whole, assume_gbps=self._rate, format=format)
        except FormatError as error:
            raise self._misfits.get("columns", error) from None

    def refuse_unused(self) -> None:
        """Refuse an option that no file took, saying why the first did not."""
        for name in self._options:
            if name not in self._used:
                raise self._misfits[name]
