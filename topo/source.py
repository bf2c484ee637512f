"""A name, a spec file or a file from outside to a fabric; and the catalogue of published fabrics."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from topo.document import nearest
from topo.errors import InputError, ParameterError
from topo.fabric import Fabric, Note
from topo.output import cut_short
from topo.result import Result, Row
from topo.table import Labels
from topo.units import parse_gbps
from topo.view.text import natural_key, plural

if TYPE_CHECKING:
    from topo.spec.model import Spec

__all__ = ["SPEC_FORMAT", "Catalog", "CatalogEntry", "catalog", "fabrics_folder", "load"]

SPEC_FORMAT = "spec"
"""What ``format`` and ``--read-as`` call a spec whose ending does not say so."""

_SPEC_SUFFIXES = (".yaml", ".yml")
_SPEC_KEY = re.compile(r"^(?:builder|parameters)[ \t]*:", re.MULTILINE)
_HEAD = 1 << 18


@dataclass(frozen=True, slots=True)
class CatalogEntry:
    """One fabric of the catalogue; counts are those its spec expects, None where it expects none.

    Every one is counted again in the built fabric by the tests. Where a fabric is a server or a scale-up domain
    alone, switches, tiers and planes are those of its scale-up chips.
    """

    name: str
    title: str
    operator: str
    n_endpoints: int | None
    n_switches: int | None
    n_tiers: int | None
    n_planes: int | None
    path: str


@dataclass(frozen=True)
class Catalog(Result):
    """The published fabrics that can be loaded by name, by operator; iterates as :class:`CatalogEntry`."""

    fabrics: tuple[CatalogEntry, ...]

    title: ClassVar[str] = "Fabrics that can be loaded by name"

    def rows(self) -> list[Row]:
        """A line for each fabric, under a line for each operator."""
        rows = []
        for operator, entries in self.by_operator().items():
            rows.append(Row(operator, plural(len(entries), "fabric")))
            rows += [Row(f"  {entry.name}", _entry_text(entry)) for entry in entries]
        return rows

    def by_operator(self) -> dict[str, list[CatalogEntry]]:
        """The entries of each operator, designs of nobody's last.

        >>> list(catalog().by_operator())[:2]
        ['Alibaba', 'Amazon Web Services']
        """
        operators = sorted({entry.operator for entry in self.fabrics}, key=_operator_order)
        return {name: [entry for entry in self.fabrics if entry.operator == name] for name in operators}

    def __iter__(self) -> Iterator[CatalogEntry]:
        return iter(self.fabrics)

    def __len__(self) -> int:
        return len(self.fabrics)


def _entry_text(entry: CatalogEntry) -> str:
    numbers = (entry.n_endpoints, entry.n_switches, entry.n_tiers, entry.n_planes)
    counts = zip(numbers, ("endpoint", "switch", "tier", "plane"), strict=True)
    known = [plural(number, word) for number, word in counts if number is not None]
    return f"{entry.title}; {', '.join(known)}" if known else entry.title


def _operator_order(name: str) -> tuple[bool, str]:
    return name.startswith("none"), name.lower()


def fabrics_folder() -> Path:
    """Where the catalogue's files are: inside the installed package, else beside it in a checkout."""
    package = Path(__file__).resolve().parent
    inside = package / "fabrics"
    return inside if inside.is_dir() else package.parent / "fabrics"


def _catalog_paths() -> dict[str, Path]:
    paths = sorted(fabrics_folder().glob("*.yaml"), key=lambda path: natural_key(path.stem))
    return {path.stem: path for path in paths}


def catalog() -> Catalog:
    """The fabrics that :func:`load` knows by name, from their specs; nothing is built.

    >>> import topo
    >>> [entry.n_endpoints for entry in topo.catalog() if entry.name == "nvidia-superpod-h100-4su"]
    [1016]

    :raises InputError: a file of the catalogue breaks a rule, with its line.
    """
    from topo.spec import read_spec

    entries = [_entry(read_spec(path)[0], path) for path in _catalog_paths().values()]
    return Catalog(tuple(sorted(entries, key=lambda entry: _operator_order(entry.operator))))


def _entry(spec: Spec, path: Path) -> CatalogEntry:
    found = {key: int(number.value) for key, number in spec.expect.items()}
    return CatalogEntry(
        name=spec.name,
        title=spec.title,
        operator=spec.operator,
        n_endpoints=found.get("n_endpoints"),
        n_switches=found.get("n_switches", found.get("n_scale_up_switches")),
        n_tiers=found.get("n_tiers", found.get("n_scale_up_tiers")),
        n_planes=found.get("n_planes", found.get("n_scale_up_planes")),
        path=str(path),
    )


def load(
    name_or_path: str | Path | Sequence[str | Path],
    *,
    assume_gbps: float | str | None = None,
    format: str | None = None,
    columns: Mapping[str, str | int] | None = None,
    hosts: str | Sequence[str] | None = None,
    levels: Sequence[str] | None = None,
    one_sided: bool = False,
) -> Fabric:
    """The fabric of a name in the catalogue, of a spec file, or of a file from outside; ``-`` is standard input.

    A plain name of the catalogue always means the catalogue, whatever files lie about: write ``./name`` for a
    file of that name. A spec is known by its ending (``.yaml``, ``.yml``) unless
    it is plainly another tool's file, else by a line that begins ``builder:`` or
    ``parameters:``. With ``format`` the argument is always a file: ``spec``, or a format of :func:`topo.io.read`,
    whose ``assume_gbps``, ``columns``, ``hosts`` and ``levels`` these are. A built fabric has no unknown rates, so
    that ``assume_gbps`` changes nothing there; the others are refused for it.

    A link that only one end reported carries nothing, unless ``one_sided`` takes it for one that is there: what
    switches hear of hosts that say nothing themselves, say. The fabric's assumptions and every number then tell so.

    Several files, or a folder of them, make one fabric: equal names are one node, and a cable that two files list is
    one. An option is used for each file that takes it then.

    >>> import topo
    >>> fabric = topo.load("nvidia-superpod-h100-1su")
    >>> len(fabric.endpoints), len(fabric.switches), fabric.origin.title
    (248, 12, 'DGX SuperPOD H100, 1 scalable unit')

    :raises InputError: no such name or file (the nearest names are told), or the file cannot be used.
    :raises ParameterError: an unknown ``format``, a rate that is none, or an option that no file takes.
    """
    options = {"columns": columns, "hosts": hosts, "levels": levels}
    given = {name: value for name, value in options.items() if value is not None}
    fabric = _load_all(name_or_path, assume_gbps, format, given)
    return _with_one_sided(fabric) if one_sided else fabric


def _load_all(
    name_or_path: str | Path | Sequence[str | Path],
    assume_gbps: float | str | None,
    format: str | None,
    given: Mapping[str, Any],
) -> Fabric:
    """The fabric of one name or file, or of several files together, by rules of :func:`load`."""
    if isinstance(name_or_path, (str, Path)):
        if not _is_folder(name_or_path):
            return _load_one(name_or_path, assume_gbps, format, given)
        name_or_path = [name_or_path]
    if not isinstance(name_or_path, (list, tuple)):
        raise ParameterError(f"{cut_short(repr(name_or_path))} is no name, no path and no list of paths")
    paths = list(name_or_path)
    if len(paths) == 1 and not _is_folder(paths[0]):
        return _load_one(paths[0], assume_gbps, format, given)
    from topo.io.several import read_several

    for path in paths:
        if str(path) in _catalog_paths() and not isinstance(path, Path):
            raise ParameterError(
                f"{path} is of the catalogue and complete by itself; one fabric is made of files from outside alone "
                "('topo compare' takes several fabrics)"
            )
    _check_rate(assume_gbps)
    return read_several(paths, format=format, assume_gbps=assume_gbps, **given)


def _with_one_sided(fabric: Fabric) -> Fabric:
    """The fabric with the links that only one end reported taken for links that are there, which it tells."""
    evidence = fabric.links.evidence
    n = int(evidence.is_any("one end").sum())
    if not n:
        return fabric
    labels = ["one end, taken" if label == "one end" else label for label in evidence.labels.tolist()]
    said = f"{n:,} of {len(fabric.links):,} links taken as there that only one end reported"
    origin = replace(
        fabric.origin,
        assumptions=(*fabric.origin.assumptions, f"{said}: stated by the caller"),
        assumed="; ".join(part for part in (fabric.origin.assumed, said) if part),
    )
    return replace(fabric, links=replace(fabric.links, evidence=Labels(evidence.codes, labels)), origin=origin)


def _load_one(
    name_or_path: str | Path, assume_gbps: float | str | None, format: str | None, options: Mapping[str, Any]
) -> Fabric:
    """The fabric of one name or file, by rules of :func:`load`."""
    text = os.fspath(name_or_path)
    if format not in (None, SPEC_FORMAT) or "columns" in options:
        from topo.io import read

        return read(name_or_path, format=format, assume_gbps=assume_gbps, **options)
    _check_rate(assume_gbps)
    if isinstance(name_or_path, str) and format is None and text in _catalog_paths():
        _refuse_options(text, options)
        return _named(text)
    if text.lower().endswith(_SPEC_SUFFIXES) and (format == SPEC_FORMAT or not _is_foreign(Path(text))):
        _refuse_options(text, options)
        return _from_spec(Path(text))
    if format is None and text != "-" and (not text or (not _looks_like_path(text) and not _exists(text))):
        raise InputError(
            f"{cut_short(text)!r} is neither a fabric of the catalogue nor a file{_meant(text)} "
            "(topo list shows the catalogue)"
        )
    return _from_content(name_or_path, format, assume_gbps, options)


def _refuse_options(name: str, options: Mapping[str, Any]) -> None:
    if options:
        given = ", ".join(options)
        raise ParameterError(f"{given} is for files from outside; {cut_short(name)} is a spec and says all")


def _from_content(
    place: str | Path, format: str | None, assume_gbps: float | str | None, options: Mapping[str, Any]
) -> Fabric:
    """The fabric in a file or in standard input, be it a spec or a file from outside."""
    from topo.io import fabric_of_bytes, fabric_of_text
    from topo.io.native import is_native
    from topo.io.text import read_bytes, text_of

    data, source = read_bytes(place)
    if format != SPEC_FORMAT and is_native(data):
        return fabric_of_bytes(data, source, assume_gbps=assume_gbps, **options)
    text = text_of(data, source)
    if format != SPEC_FORMAT and not _SPEC_KEY.search(text[:_HEAD]):
        return fabric_of_text(text, source, assume_gbps=assume_gbps, **options)
    from topo.document import LIMIT_BYTES, parse_document
    from topo.spec import fabric_of_spec, spec_of_document

    _refuse_options(source, options)
    if len(text) > LIMIT_BYTES:
        raise InputError(f"larger than {LIMIT_BYTES:,} characters, the most that is read of a spec", path=source)
    document = parse_document(text, source)
    return fabric_of_spec(spec_of_document(document), document)


def _is_folder(given: str | Path) -> bool:
    """Whether it is a folder, and no name of the catalogue."""
    if isinstance(given, str) and (not given or given in _catalog_paths()):
        return False
    try:
        return Path(given).is_dir()
    except (OSError, ValueError):
        return False


def _meant(text: str) -> str:
    """The names of the catalogue nearest to one that is none of them, whatever its capitals."""
    return nearest(text.lower(), _catalog_paths(), most=0)


def _named(name: str) -> Fabric:
    fabric = _from_spec(_catalog_paths()[name])
    if not Path(name).is_file():
        return fabric
    said = f"this is {name} of the catalogue; the file of that name here was not read, ./{name} reads it"
    return replace(fabric, origin=replace(fabric.origin, notes=(*fabric.origin.notes, Note(said))))


def _from_spec(path: Path) -> Fabric:
    from topo.spec import fabric_of_spec, read_spec

    return fabric_of_spec(*read_spec(path))


def _is_foreign(path: Path) -> bool:
    """Whether a YAML file is one of another tool's: no key of a spec in it, and a format that takes it for its own."""
    from topo.io import FORMATS
    from topo.io.text import decode

    try:
        with path.open("rb") as file:
            head = decode(file.read(_HEAD))
    except (OSError, ValueError):  # the reader of specs says what is wrong
        return False
    return not _SPEC_KEY.search(head) and any(
        row.function(row.sniff)(head) for row in FORMATS if row.sniff and not row.takes_bytes
    )


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
