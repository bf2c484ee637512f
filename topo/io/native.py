"""A fabric kept whole in one file: every column as it is, a million endpoints read in a second or two."""

from __future__ import annotations

import io
import json
import re
import zipfile
from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from topo.elements import Expected, GroupTable, LinkTable, NodeTable, Note, Origin, PortTable
from topo.errors import FabricError, FormatError, InputError
from topo.io.written import Written
from topo.table import Array, Labels, Table, freeze, repeated, sealed

if TYPE_CHECKING:
    from topo.fabric import Fabric

__all__ = ["is_native", "read_native", "write_native"]

_HEAD = "topo-fabric.json"
_VERSION = 3
_TABLES: dict[str, type[Table]] = {"nodes": NodeTable, "ports": PortTable, "links": LinkTable, "groups": GroupTable}
_HOW = re.compile(r"(?:\.U(\d{1,6}))?(?:\.all)?\.npy\Z")
_MOST_LETTERS = 100_000
_MOST_BYTES = 8 << 30
_MOST_RATIO = 2000
"""Most that a column may unpack to for each byte of the file; the writer packs nothing."""


def is_native(data: bytes) -> bool:
    """Whether the bytes are a fabric that :func:`write_native` wrote."""
    return data.startswith(b"PK\x03\x04") and data[30 : 30 + len(_HEAD)] == _HEAD.encode()


def write_native(fabric: Fabric) -> Written:
    """The fabric with all its columns, groups and origin: a ZIP archive of ``topo-fabric.json`` and ``.npy`` arrays.

    Text is stored as UTF-8; a column that is the same on every row takes one entry. ``numpy.load`` reads it too.

    >>> import topo
    >>> fabric = topo.fat_tree(4)
    >>> read_native(write_native(fabric).data(), "f.fabric").digest == fabric.digest
    True
    """
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as archive:
        head: dict[str, Any] = {"version": _VERSION, "name": fabric.name, "origin": _origin_json(fabric.origin)}
        head["rows"] = {title: len(getattr(fabric, title)) for title in _TABLES}
        head["digest"] = fabric.digest
        archive.writestr(_entry(_HEAD), json.dumps(head, ensure_ascii=True))
        for title, kind in _TABLES.items():
            for name in kind.columns():
                value = getattr(getattr(fabric, title), name)
                if isinstance(value, Labels):
                    _store(archive, f"{title}/{name}.codes", value.codes)
                    _store(archive, f"{title}/{name}.labels", value.labels)
                else:
                    _store(archive, f"{title}/{name}", value)
    return Written(out.getvalue())


def _entry(name: str) -> zipfile.ZipInfo:
    """An entry without the time of day, so that the same fabric is the same file."""
    return zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))


def _store(archive: zipfile.ZipFile, name: str, array: Array) -> None:
    same = array.strides == (0,) and array.size > 0
    array = array[:1] if same else array
    if array.dtype.kind == "U":
        name, array = f"{name}.U{array.dtype.itemsize // 4}", _encoded(array)
    name = f"{name}.all" if same else name
    with archive.open(_entry(f"{name}.npy"), "w", force_zip64=True) as file:
        np.lib.format.write_array(file, np.ascontiguousarray(array), allow_pickle=False)


def _encoded(array: Array) -> Array:
    """Text as bytes of UTF-8; plain letters by a cast, which is quick."""
    codes = np.ascontiguousarray(array).view(np.uint32)
    if not codes.size or int(codes.max()) < 128:
        return array.astype("S")
    return np.char.encode(array, "utf-8", "surrogatepass")


def read_native(data: bytes, source: str = "") -> Fabric:
    """The fabric in a file of :func:`write_native`, equal to the one written, down to its digest.

    :raises FormatError: a file of a later version, cut short, or with columns that make no fabric.
    :raises InputError: columns that unpack to more than 8 GiB, or that are packed beyond reason.
    """
    from topo.fabric import Fabric

    where = source or None
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            size = sum(entry.file_size for entry in archive.infolist())
            if size > min(_MOST_BYTES, _MOST_RATIO * len(data)):
                raise InputError(f"it unpacks to {size:,} bytes, more than is read; was it made by topo?", path=where)
            head = json.loads(archive.read(_HEAD))
            if not isinstance(head, dict) or head.get("version") != _VERSION:
                said = head.get("version") if isinstance(head, dict) else "none"
                raise FormatError(
                    f"a fabric file of version {said}, this program reads {_VERSION}; "
                    "write it anew from what it came from",
                    path=where,
                )
            names = {_bare(name): name for name in archive.namelist()}
            tables = {title: _table(archive, names, title, kind, int(head["rows"][title]))
                      for title, kind in _TABLES.items()}  # fmt: skip
            fabric = Fabric(str(head["name"]), origin=_origin(head["origin"]), **tables)
    except (InputError, FormatError):
        raise
    except (zipfile.BadZipFile, OSError, EOFError, NotImplementedError, RuntimeError) as error:
        raise FormatError(f"the file is cut or damaged: {' '.join(str(error).split())}", path=where) from None
    except (KeyError, ValueError, TypeError, AttributeError, FabricError, OverflowError, MemoryError) as error:
        raise FormatError(f"its columns make no fabric: {' '.join(str(error).split())[:200]}", path=where) from None
    if head.get("digest") != fabric.digest:
        raise FormatError("its columns are not those that were written: the digest differs", path=where)
    return fabric


def _table(archive: zipfile.ZipFile, names: dict[str, str], title: str, kind: type[Table], rows: int) -> Any:
    columns: dict[str, Any] = {}
    for name, spec in kind.columns().items():
        if spec.dtype is Labels:
            codes = _load(archive, names, f"{title}/{name}.codes", rows)
            columns[name] = Labels(codes, _load(archive, names, f"{title}/{name}.labels", None, text=True))
        else:
            columns[name] = _load(archive, names, f"{title}/{name}", rows, text=np.dtype(spec.dtype).kind == "U")
    return kind(**columns)


def _load(archive: zipfile.ZipFile, names: dict[str, str], name: str, rows: int | None, *, text: bool = False) -> Array:
    stored = names[name]
    same = stored.endswith(".all.npy")
    with archive.open(stored) as file:
        array: Array = np.lib.format.read_array(file, allow_pickle=False)
    if array.ndim != 1 or array.dtype.kind not in ("S" if text else "iufb"):
        raise ValueError(f"{name} is no column")
    if text:
        array = _decoded(array).astype(f"U{_width(stored)}", copy=False)
    if rows is None:
        return freeze(array)
    if same:
        if len(array) != 1 or not 0 <= rows < 1 << 31:
            raise ValueError(f"{name} has {len(array)} values for one")
        return repeated(array[0], rows, array.dtype)
    if len(array) != rows:
        raise ValueError(f"{name} has {len(array)} rows, {rows} are stated")
    return sealed(array)


def _bare(stored: str) -> str:
    """The column that an entry holds, without what its name tells of how: ``nodes/name.U9.npy``."""
    return _HOW.sub("", stored)


def _width(stored: str) -> int:
    """Letters of the widest text, as the array that was written had it."""
    found = _HOW.search(stored)
    width = int(found[1] or 1) if found else 1
    if width > _MOST_LETTERS:
        raise ValueError(f"{stored} states texts of {width} letters")
    return width


def _decoded(array: Array) -> Array:
    """Bytes as text; plain letters by a cast, which is quick."""
    if not array.size:
        return np.empty(0, "U1")
    letters = np.frombuffer(array.tobytes(), np.uint8)
    if letters.size and int(letters.max()) < 128:
        return array.astype(np.str_)
    return np.char.decode(array, "utf-8", "surrogatepass")


def _origin_json(origin: Origin) -> dict[str, Any]:
    said = {each.name: getattr(origin, each.name) for each in fields(origin)}
    said["notes"] = [[note.text, note.source, note.line, note.severity] for note in origin.notes]
    said["expect"] = [[key, asdict(number)] for key, number in origin.expect]
    return said


def _origin(said: dict[str, Any]) -> Origin:
    notes = tuple(
        Note(str(text), str(source), int(line), str(severity)) for text, source, line, severity in said["notes"]
    )
    return Origin(
        made_by=str(said["made_by"]),
        title=str(said["title"]),
        sources=tuple(map(str, said["sources"])),
        assumptions=tuple(map(str, said["assumptions"])),
        notes=notes,
        expect=tuple((str(key), Expected(**number)) for key, number in said["expect"]),
        assumed=str(said["assumed"]),
    )
