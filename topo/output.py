"""What leaves the program: files whole or not at all, names that cannot act on a terminal or in a sheet."""

from __future__ import annotations

import os
import re
import stat
import tempfile
import unicodedata
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from topo.errors import InputError

__all__ = ["csv_cell", "cut_short", "file_name", "plain", "write_folder", "write_whole"]

_LINE_SIGNS = {"\n": "\u23ce", "\r": "\u240d", "\t": " "}
_UNSEEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
_MOST_NAME = 100


def plain(text: str) -> str:
    """The text on one line with every character that acts or hides written out as its code point.

    Control characters, terminal escapes, direction overrides and characters without a shape show themselves.

    >>> plain("leaf" + chr(10) + "1"), plain("red" + chr(27) + "[31m"), plain("a" + chr(0x202E) + "b")
    ('leaf⏎1', 'red<U+001B>[31m', 'a<U+202E>b')
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(_LINE_SIGNS.get(letter) or _shown(letter) for letter in text)


def _shown(letter: str) -> str:
    return f"<U+{ord(letter):04X}>" if unicodedata.category(letter) in _UNSEEN else letter


def cut_short(text: str, letters: int = 60) -> str:
    """At most ``letters`` letters of a text from outside, for a message.

    >>> cut_short("a" * 5000, 8)
    'aaaaa...'
    """
    return text if len(text) <= letters else text[: letters - 3] + "..."


def csv_cell(text: str) -> str:
    """A name as a cell that a spreadsheet takes for text: an apostrophe goes before what could start a formula.

    >>> csv_cell("=1+1"), csv_cell("leaf-1"), csv_cell("-leaf")
    ("'=1+1", 'leaf-1', "'-leaf")
    """
    shown = plain(text)
    return "'" + shown if text[:1] in {"=", "+", "-", "@", "\t", "\r", "\n"} else shown


def file_name(text: str) -> str:
    """A name as part of a file name in one folder: letters, digits, ``-``, ``_`` and ``.`` only.

    >>> file_name("../etc/pass wd"), file_name("...")
    ('etc-pass-wd', 'fabric')
    """
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", text).strip(".-_")
    return name[:_MOST_NAME] or "fabric"


def write_whole(path: str | Path, content: str | bytes) -> None:
    """Write a file whole or leave what was there: a new file in the same folder takes its place at the end.

    Text is written as UTF-8. Devices and pipes, which nothing can take the place of, are written directly.

    :raises InputError: the place cannot be written, with the reason.
    """
    data = _bytes(content)
    try:
        target = Path(os.path.realpath(path))
        mode = _mode_of(target)
        if mode is not None and not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
            target.write_bytes(data)
            return
        if target.is_dir():
            raise InputError("this is a folder; name a file in it", path=str(path))
        if not target.parent.is_dir():
            raise InputError(f"there is no folder {str(target.parent)!r}; create it first", path=str(path))
        part = _part(target, data, mode)
        try:
            part.replace(target)
        finally:
            part.unlink(missing_ok=True)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        raise InputError(f"cannot be written: {_reason(error)}; choose another place", path=str(path)) from None


def write_folder(folder: str | Path, contents: Mapping[str, str | bytes]) -> list[Path]:
    """Write files by name into one folder, all of them or none; a folder made for them goes again if none is written.

    :raises InputError: the folder cannot be made, or a file in it not written, with the reason.
    """
    place, parts = Path(folder), list[tuple[Path, Path]]()
    missing = _missing(place)
    try:
        try:
            place.mkdir(parents=True, exist_ok=True)
        except (OSError, ValueError) as error:
            said = f"this folder cannot be made: {_reason(error)}; choose another place"
            raise InputError(said, path=str(folder)) from None
        for name, content in contents.items():
            try:
                target = Path(os.path.realpath(place / name))
                mode = _mode_of(target)
                if mode is not None and not stat.S_ISREG(mode):
                    raise InputError("there is something here that is no file; move it away", path=str(place / name))
                parts.append((_part(target, _bytes(content), mode), target))
            except OSError as error:
                said = f"cannot be written: {_reason(error)}; choose another place"
                raise InputError(said, path=str(place / name)) from None
        for part, target in parts:
            part.replace(target)
    finally:
        for part, _ in parts:
            part.unlink(missing_ok=True)
        with suppress(OSError):  # the first that holds something stays, with all above it
            for path in missing:
                path.rmdir()
    return [place / name for name in contents]


def _missing(place: Path) -> list[Path]:
    """The folders that have to be made for ``place``, the innermost first."""
    try:
        return [path for path in (place, *place.parents) if not path.exists()]
    except (OSError, ValueError):  # no path at all: making it will say why
        return []


def _bytes(content: str | bytes) -> bytes:
    return content.encode("utf-8", errors="backslashreplace") if isinstance(content, str) else content


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)


def _mode_of(target: Path) -> int | None:
    try:
        return target.stat().st_mode
    except FileNotFoundError:
        return None


def _part(target: Path, data: bytes, mode: int | None) -> Path:
    """A new file beside ``target`` with its content and mode, to take its place; nothing where it cannot be written."""
    descriptor, name = tempfile.mkstemp(prefix=".topo-", suffix=".part", dir=target.parent)
    part = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        part.chmod(stat.S_IMODE(mode) if mode is not None else 0o666 & ~_umask())
    except BaseException:
        part.unlink(missing_ok=True)
        raise
    return part


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
