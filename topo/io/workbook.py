"""XLSX workbooks as text: one CSV page a sheet, pages parted by form feeds, for every reader of tables."""

from __future__ import annotations

import csv
import io
import math
import zipfile
import zlib

from topo.errors import InputError

__all__ = ["PAGE", "is_workbook", "text_of_workbook"]

PAGE = "\f"
"""Starts the line that names a sheet in the text of a workbook."""

_MOST_UNPACKED = 1 << 28
_CHUNK = 1 << 20
_MOST_SHEETS = 256
_MOST_CELLS = 20_000_000


def is_workbook(data: bytes) -> bool:
    """Whether the bytes are those of a ZIP archive, as XLSX files are."""
    return data.startswith(b"PK\x03\x04")


def text_of_workbook(data: bytes, source: str) -> str:
    """The visible cells of all sheets as CSV, each sheet after a line ``\\f`` and its name.

    :raises InputError: not a workbook, one that unpacks to more than 256 MiB or 20 million cells, or the reader
        is not installed.
    """
    try:
        from python_calamine import CalamineError, CalamineWorkbook
    except ImportError:
        raise InputError(
            "reading XLSX needs python-calamine: pip install python-calamine, or save the sheet as CSV", path=source
        ) from None
    _check_size(data, source)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    try:
        workbook = CalamineWorkbook.from_filelike(io.BytesIO(data))
        for name in workbook.sheet_names[:_MOST_SHEETS]:
            sheet = workbook.get_sheet_by_name(name)
            if sheet.total_height * max(sheet.total_width, 1) > _MOST_CELLS:
                raise InputError(f"sheet {name!r} has more than {_MOST_CELLS:,} cells", path=source)
            out.write(f"{PAGE}{' '.join(name.split())}\n")
            for row in sheet.to_python(skip_empty_area=False):
                writer.writerow([_cell(value) for value in row])
    except (CalamineError, OSError, ValueError, KeyError, IndexError) as error:
        raise InputError(f"not a workbook that can be read: {' '.join(str(error).split())}", path=source) from None
    return out.getvalue()


def _check_size(data: bytes, source: str) -> None:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            entries = archive.infolist()
        size = max(sum(entry.file_size for entry in entries), _unpacked(data, entries))
    except (zipfile.BadZipFile, zlib.error, OSError, ValueError, NotImplementedError, EOFError) as error:
        raise InputError(f"a damaged ZIP archive: {error}; save the workbook anew", path=source) from None
    if size > _MOST_UNPACKED:
        raise InputError(
            f"unpacks to {size:,} bytes, more than {_MOST_UNPACKED:,}; is this a cable schedule?", path=source
        )
    if "[Content_Types].xml" not in {entry.filename for entry in entries}:
        raise InputError("a ZIP archive, but no XLSX workbook; unpack it and give a file inside it", path=source)


def _unpacked(data: bytes, entries: list[zipfile.ZipInfo]) -> int:
    """Bytes that the entries really unpack to, counted to just above the limit: the archive's own word may be a lie."""
    total = 0
    for entry in entries:
        head = data[entry.header_offset : entry.header_offset + 30]
        if entry.compress_type != zipfile.ZIP_DEFLATED or len(head) < 30:
            continue
        start = entry.header_offset + 30 + int.from_bytes(head[26:28], "little") + int.from_bytes(head[28:30], "little")
        packed = data[start : start + entry.compress_size]
        unpacker = zlib.decompressobj(-zlib.MAX_WBITS)
        while packed and not unpacker.eof and total <= _MOST_UNPACKED:
            total += len(unpacker.decompress(packed, _CHUNK))
            packed = unpacker.unconsumed_tail
    return total


def _cell(value: object) -> str:
    """A cell on one line: whole numbers without their point."""
    if isinstance(value, float) and math.isfinite(value) and value == int(value) and abs(value) < 1e15:
        return str(int(value))
    return " ".join(str(value).split())
