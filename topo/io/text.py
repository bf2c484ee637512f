"""A file from outside as text: bounded size, any of the usual encodings, one-line errors."""

from __future__ import annotations

import codecs
import sys
from pathlib import Path
from typing import IO, Any

from topo.errors import InputError

__all__ = ["LIMIT_BYTES", "decode", "read_bytes", "read_text", "text_of"]

LIMIT_BYTES = 1 << 30
"""Largest file that is read: 1 GiB, some thirty million link ends."""


def read_text(path: str | Path, *, limit: int = LIMIT_BYTES) -> tuple[str, str]:
    """The text of a file, or of standard input for ``-``, and the name it goes by in notes.

    :raises InputError: as :func:`read_bytes`, or an archive that is no workbook.
    """
    data, source = read_bytes(path, limit=limit)
    return text_of(data, source), source


def read_bytes(path: str | Path | IO[Any], *, limit: int = LIMIT_BYTES) -> tuple[bytes, str]:
    """The bytes of a file, an open one, or of standard input for ``-``, and the name it goes by in notes.

    :raises InputError: no such file, a folder, unreadable, larger than ``limit`` bytes, or empty.
    """
    source = "<stdin>" if str(path) == "-" else str(path)
    if not isinstance(path, (str, Path)):
        source = str(getattr(path, "name", "<stream>"))
    try:
        data = _bytes(path, limit)
    except FileNotFoundError:
        raise InputError("no such file; check the path", path=source) from None
    except IsADirectoryError:
        raise InputError("this is a folder; give a file inside it", path=source) from None
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(f"cannot be read: {reason}", path=source) from None
    if len(data) > limit:
        raise InputError(f"larger than {limit:,} bytes, the most that is read; cut it or filter it first", path=source)
    if not data:
        raise InputError("the file is empty; the command that wrote it may have failed", path=source)
    return data, source


def text_of(data: bytes, source: str) -> str:
    """The text of a file's bytes; the sheets of a workbook as CSV, each behind a form feed and its name.

    :raises InputError: a ZIP archive that is no workbook, or too large a one.
    """
    from topo.io.workbook import is_workbook, text_of_workbook

    return text_of_workbook(data, source) if is_workbook(data) else decode(data)


def _bytes(path: str | Path | IO[Any], limit: int) -> bytes:
    if not isinstance(path, (str, Path)):
        said = path.read(limit + 1)
        return said.encode("utf-8", errors="surrogatepass") if isinstance(said, str) else bytes(said)
    if str(path) == "-":
        return sys.stdin.buffer.read(limit + 1)
    with Path(path).open("rb") as file:
        return file.read(limit + 1)


def decode(data: bytes) -> str:
    """Bytes as text: a byte order mark decides, else UTF-8, else Latin-1, which takes any byte.

    >>> decode("né".encode("utf-16")), decode(b"\\xef\\xbb\\xbfa"), decode(b"n\\xe9")
    ('né', 'a', 'né')
    """
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return data.decode("utf-16", errors="replace")
    if data.startswith(codecs.BOM_UTF8):
        data = data[len(codecs.BOM_UTF8) :]
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("latin-1")
