"""A name, a spec file or a file from outside to a fabric; and the catalogue of published fabrics."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from topo.document import nearest
from topo.errors import InputError, ParameterError
from topo.fabric import Fabric, Note
from topo.result import Result, Row
from topo.units import format_number, parse_gbps

if TYPE_CHECKING:
    from topo.spec.model import Spec

__all__ = ["Catalog", "CatalogEntry", "catalog", "fabrics_folder", "load"]

_SPEC_SUFFIXES = (".yaml", ".yml")


@dataclass(frozen=True, slots=True)
class CatalogEntry:
    """One fabric of the catalogue; counts are the spec's published ones, None where it gives none.

    Where a fabric is a server or a scale-up domain alone, switches and tiers are those of its scale-up chips.
    """

    name: str
    title: str
    operator: str
    n_endpoints: int | None
    n_switches: int | None
    n_tiers: int | None
    path: str


@dataclass(frozen=True)
class Catalog(Result):
    """The published fabrics that can be loaded by name; iterates as :class:`CatalogEntry`."""

    fabrics: tuple[CatalogEntry, ...]

    title: ClassVar[str] = "Fabrics that can be loaded by name"

    def rows(self) -> list[Row]:
        """A line for each fabric."""
        return [Row(entry.name, _entry_text(entry)) for entry in self.fabrics]

    def __iter__(self) -> Iterator[CatalogEntry]:
        return iter(self.fabrics)

    def __len__(self) -> int:
        return len(self.fabrics)


def _entry_text(entry: CatalogEntry) -> str:
    counts = ((entry.n_endpoints, "endpoints"), (entry.n_switches, "switches"), (entry.n_tiers, "tiers"))
    known = [f"{format_number(number)} {word}" for number, word in counts if number is not None]
    return f"{entry.title}; {', '.join(known)}" if known else entry.title


def fabrics_folder() -> Path:
    """Where the catalogue's files are: inside the installed package, else beside it in a checkout."""
    package = Path(__file__).resolve().parent
    inside = package / "fabrics"
    return inside if inside.is_dir() else package.parent / "fabrics"


def _catalog_paths() -> dict[str, Path]:
    return {path.stem: path for path in sorted(fabrics_folder().glob("*.yaml"), key=lambda path: _natural(path.stem))}


def _natural(name: str) -> list[tuple[int, str]]:
    """Sort key that puts 2su before 16su."""
    pieces = []
    for piece in name.split("-"):
        digits = "".join(letter for letter in piece if letter.isdigit())
        pieces.append((int(digits) if digits and piece[0].isdigit() else -1, piece))
    return pieces


def catalog() -> Catalog:
    """The fabrics that :func:`load` knows by name, from their specs; nothing is built.

    >>> import topo
    >>> [entry.n_endpoints for entry in topo.catalog() if entry.name == "nvidia-superpod-h100-4su"]
    [1016]

    :raises InputError: a file of the catalogue breaks a rule, with its line.
    """
    from topo.spec import read_spec

    return Catalog(tuple(_entry(read_spec(path)[0], path) for path in _catalog_paths().values()))


def _entry(spec: Spec, path: Path) -> CatalogEntry:
    found = {key: int(number.value) for key, number in spec.expect.items()}
    return CatalogEntry(
        name=spec.name,
        title=spec.title,
        operator=spec.operator,
        n_endpoints=found.get("n_endpoints"),
        n_switches=found.get("n_switches", found.get("n_scale_up_switches")),
        n_tiers=found.get("n_tiers", found.get("n_scale_up_tiers")),
        path=str(path),
    )


def load(name_or_path: str | Path, *, assume_gbps: float | str | None = None, format: str | None = None) -> Fabric:
    """The fabric of a name in the catalogue, of a spec file (``.yaml``, ``.yml``), or of a file from outside.

    A plain name of the catalogue always means the catalogue, whatever files lie about: write ``./name`` for a
    file of that name. With ``format`` the argument is always a file; formats and ``assume_gbps`` are those of
    :func:`topo.io.read`. A built fabric has no unknown rates, so that ``assume_gbps`` changes nothing there.

    >>> import topo
    >>> fabric = topo.load("nvidia-superpod-h100-1su")
    >>> len(fabric.endpoints), len(fabric.switches), fabric.origin.title
    (248, 12, 'DGX SuperPOD H100, 1 scalable unit')

    :raises InputError: no such name or file (the nearest names are told), or the file cannot be used.
    :raises ParameterError: an unknown ``format`` or a rate that is none.
    """
    from topo.io import read

    text = os.fspath(name_or_path)
    if format is not None or text == "-":
        return read(name_or_path, format=format, assume_gbps=assume_gbps)
    if isinstance(name_or_path, str) and text in _catalog_paths():
        return _named(text, assume_gbps)
    if text.lower().endswith(_SPEC_SUFFIXES):
        _check_rate(assume_gbps)
        return _from_spec(Path(text))
    if not text or (not _looks_like_path(text) and not _exists(text)):
        known = nearest(text, _catalog_paths(), most=0)
        raise InputError(
            f"{text!r} is neither a fabric of the catalogue nor a file{known} (topo list shows the catalogue)"
        )
    return read(name_or_path, assume_gbps=assume_gbps)


def _named(name: str, assume_gbps: float | str | None) -> Fabric:
    _check_rate(assume_gbps)
    fabric = _from_spec(_catalog_paths()[name])
    if not Path(name).is_file():
        return fabric
    said = f"this is {name} of the catalogue; the file of that name here was not read, ./{name} reads it"
    return replace(fabric, origin=replace(fabric.origin, notes=(*fabric.origin.notes, Note(said))))


def _from_spec(path: Path) -> Fabric:
    from topo.spec import fabric_of_spec, read_spec

    return fabric_of_spec(*read_spec(path))


def _exists(text: str) -> bool:
    try:
        return Path(text).exists()
    except OSError:  # longer than a name can be
        return False


def _looks_like_path(text: str) -> bool:
    return "/" in text or os.sep in text or (bool(Path(text).suffix) and " " not in text)


def _check_rate(assume_gbps: float | str | None) -> None:
    if assume_gbps is not None and parse_gbps(assume_gbps) <= 0:
        raise ParameterError(f"assume_gbps is {assume_gbps!r}; a rate to assume must be above 0 Gb/s")
