"""YAML from outside: one document or a stream of them, each with its lines; plain data only, bounded."""

from __future__ import annotations

import re
from collections.abc import Iterator

from topo.document import Document, Place, parse_document
from topo.errors import FormatError, InputError

__all__ = ["LIMIT_CHARACTERS", "mapping_document", "misshapen", "yaml_documents"]

LIMIT_CHARACTERS = 1 << 26
"""Longest YAML text that is read: 64 Mi characters."""

_PARTS = re.compile(r"^---(?:[ \t][^\n]*)?\r?$", re.MULTILINE)
_TEMPLATE = re.compile(r"\{\{|\{%")


def mapping_document(text: str, source: str, what: str) -> Document:
    """The one document of a text, keys with values at its top.

    :raises FormatError: a template that was not filled in, or something else at the top.
    :raises InputError: not YAML, or too long.
    """
    _check(text, source)
    found = _TEMPLATE.search(text)
    if found:
        line = text.count("\n", 0, found.start()) + 1
        raise FormatError("this is a template ({{ ... }}); fill it in first", path=source or None, line=line)
    document = parse_document(text, source)
    if not isinstance(document.value, dict):
        raise FormatError(f"{what} is keys with values at its top", path=source or None, line=1)
    return document


def yaml_documents(text: str, source: str) -> Iterator[tuple[Document, int]]:
    """Each document of a stream that is not empty, and how many lines of the file stand before it.

    :raises InputError: one of them is not YAML, with its line in the file.
    """
    _check(text, source)
    start = 0
    for end in [match.start() for match in _PARTS.finditer(text)] + [len(text)]:
        part, before = text[start:end], text.count("\n", 0, start)
        start = end + 4
        if not any(line.strip() and not line.lstrip().startswith("#") for line in part.split("\n")):
            continue
        try:
            yield parse_document(part, source), before
        except InputError as error:
            line = None if error.line is None else error.line + before
            raise type(error)(error.reason, path=error.path, line=line) from None


def misshapen(document: Document, place: Place, said: str) -> FormatError:
    """The refusal of what stands at a place: the keys that lead there, what is wrong, the line."""
    key = ".".join(step for step in place if isinstance(step, str))
    return FormatError(f"{key}: {said}" if key else said, path=document.path or None, line=document.line(place))


def _check(text: str, source: str) -> None:
    if len(text) > LIMIT_CHARACTERS:
        raise InputError(
            f"larger than {LIMIT_CHARACTERS:,} characters, the most that is read of YAML", path=source or None
        )
