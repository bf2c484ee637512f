"""A YAML document with line numbers, checked against a pydantic model; every error says file:line: key."""

from __future__ import annotations

import codecs
import difflib
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import UnionType
from typing import TYPE_CHECKING, Any, TypeVar, Union, get_args, get_origin

from topo.errors import InputError
from topo.output import cut_short, plain

if TYPE_CHECKING:
    from pydantic import BaseModel
    from pydantic_core import ErrorDetails

__all__ = ["LIMIT_BYTES", "Document", "Place", "kind_of_value", "nearest", "parse_document", "read_document"]

LIMIT_BYTES = 1 << 20
"""Largest document that is read unless the caller allows more: 1 MiB."""

_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_MOST_DEPTH = 32
_MOST_DIGITS = 18
_INTEGER = re.compile(r"[-+]?[0-9]+\Z")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?\Z")
_WORDS: dict[str, Any] = {
    "": None, "~": None, "null": None, "Null": None, "NULL": None,
    "true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False,
}  # fmt: skip
_WANTED = {
    "int": "a whole number",
    "float": "a number",
    "string": "text",
    "bool": "true or false",
    "tuple": "a list",
    "list": "a list",
    "dict": "keys with values",
    "model": "keys with values",
}

Place = tuple[str | int, ...]
"""Keys and list positions from the top of a document to a value."""

_Model = TypeVar("_Model", bound="BaseModel")


def nearest(word: str, known: Iterable[str], *, most: int = 20) -> str:
    """A hint with the known spellings closest to ``word``; without a close one, the first ``most`` of them.

    >>> nearest("hots", ["hosts", "rails"]), nearest("zzz", ["hosts", "rails"]), nearest("zzz", [])
    ("; did you mean 'hosts'?", '; known: hosts, rails', '')
    """
    names = list(known)
    close = difflib.get_close_matches(word, names, n=3, cutoff=0.6)
    if close:
        return f"; did you mean {' or '.join(map(repr, close))}?"
    if not names or not most:
        return ""
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return f"; known: {', '.join(names[:most])}{more}"


def kind_of_value(value: Any) -> str:
    """What a document's value is, in words.

    >>> kind_of_value("400G"), kind_of_value([1, 2]), kind_of_value(None)
    ("'400G'", 'a list of 2', 'nothing')
    """
    if value is None:
        return "nothing"
    if isinstance(value, list):
        return f"a list of {len(value):,}"
    if isinstance(value, dict):
        return f"{len(value):,} keys with values" if value else "no keys"
    if isinstance(value, bool):
        return "true" if value else "false"
    return cut_short(repr(value))


@dataclass(frozen=True)
class Document:
    """The plain value of a YAML document, and the line each of its keys and list items stands at.

    Values are mappings with text keys, lists, text, numbers, true and false, and None. A document that breaks
    a rule raises :class:`~topo.errors.InputError`: ``path:line: key a.b: what is there; what is allowed``.
    """

    path: str
    value: Any
    lines: dict[Place, int] = field(repr=False)

    def line(self, place: Place) -> int:
        """The line of a value, or of the nearest thing around it."""
        for length in range(len(place), -1, -1):
            if place[:length] in self.lines:
                return self.lines[place[:length]]
        return 1

    def at(self, place: Place) -> Any:
        """The value at a place; None where there is nothing."""
        value = self.value
        for step in place:
            inside = range(len(value)) if isinstance(value, list) else value if isinstance(value, dict) else ()
            if step not in inside:
                return None
            value = value[step]
        return value

    def error(self, place: Place, message: str) -> InputError:
        """An error located at a place."""
        name = place_name(place)
        return InputError(f"key {name}: {message}" if name else message, path=self.path, line=self.line(place))

    def checked(self, model: type[_Model], *, what: str = "", template: str = "") -> _Model:
        """The document as ``model``, types as they are written: no text is taken for a number.

        ``what`` says what the document describes, for the message; ``template`` is the kind that ``topo template``
        writes a whole example of.

        :raises InputError: the first thing in the file that does not fit, with its line and what is allowed.
        """
        from pydantic import ValidationError

        if not isinstance(self.value, dict):
            keys = ", ".join(model.model_fields)
            described = f"{what or 'this document'} is keys with values ({keys})"
            raise InputError(f"{described}, not {kind_of_value(self.value)}", path=self.path, line=self.line(()))
        try:
            # Through JSON, where strict checking still lets a list fill a tuple.
            return model.model_validate_json(json.dumps(self.value))
        except ValidationError as error:
            raise self._first(error, model, template) from None

    def _first(self, error: Any, model: type[BaseModel], template: str) -> InputError:
        found = [(self._place(item["loc"], item["type"]), item) for item in error.errors(include_url=False)]
        # A misspelt key is also a missing one, and a list member that fails fails its whole union: the first, and
        # the innermost, is what to mend.
        place, item = min(found, key=lambda pair: (pair[1]["type"] == "missing", self.line(pair[0]), -len(pair[0])))
        if item["type"] == "missing":
            alike = [other for other, rest in found if rest["type"] == "missing" and other[:-1] == place[:-1]]
            names = ", ".join(place_name(other) for other in alike)
            way_out = f"; 'topo template {template}' shows a whole one" if template else ""
            said = f"keys {names}: are missing and have" if len(alike) > 1 else f"key {names}: is missing and has"
            return InputError(f"{said} to be given{way_out}", path=self.path, line=self.line(place))
        more = f" (and {len(found) - 1:,} more)" if len(found) > 1 else ""
        # Several strange keys at the top mean another kind of file rather than a slip.
        strange = [other for other, rest in found if rest["type"] == "extra_forbidden" and len(other) == 1]
        other_kind = f"; 'topo template {template}' shows a whole one" if template and len(strange) > 1 else ""
        return self.error(place, self._said(place, item, model) + more + other_kind)

    def _place(self, loc: tuple[str | int, ...], kind: str) -> Place:
        """A pydantic location without the names of union members and validators that it holds."""
        place: Place = ()
        for step in loc:
            if (*place, step) in self.lines:
                place = (*place, step)
        return (*place, loc[-1]) if kind == "missing" else place

    def _said(self, place: Place, item: ErrorDetails, model: type[BaseModel]) -> str:
        kind = item["type"]
        if kind == "extra_forbidden":
            return "is not a key that is understood here" + nearest(str(place[-1]), _keys_at(model, place[:-1]))
        there = kind_of_value(self.at(place))
        if kind == "literal_error":
            allowed = re.findall(r"'([^']*)'", str(item.get("ctx", {}).get("expected", "")))
            return f"{there} is not allowed{nearest(str(self.at(place)), allowed)}"
        wanted = _WANTED.get(kind.removesuffix("_type").removesuffix("_parsing"))
        if wanted:
            return f"{there} is not {wanted}"
        said = item["msg"].removeprefix("Value error, ")
        return f"{there} does not fit: {said[:1].lower() + said[1:]}"


def place_name(place: Place) -> str:
    """A place as people write it.

    >>> place_name(("sources", 1, "label"))
    'sources[2].label'
    """
    name = ""
    for step in place:
        name += f"[{step + 1}]" if isinstance(step, int) else f".{plain(step)}" if name else plain(step)
    return name


def _keys_at(model: Any, place: Place) -> list[str]:
    """Keys that the model allows at a place."""
    types = [model]
    for step in place:
        types = [inner for each in types for inner in _inner(each, step)]
    keys: list[str] = []
    for each in types:
        keys += [f.alias or name for name, f in getattr(each, "model_fields", {}).items()]
    return keys


def _inner(annotation: Any, step: str | int) -> Iterator[Any]:
    """Types of what a type holds at a key or a list position."""
    if hasattr(annotation, "model_fields"):
        if step in annotation.model_fields:
            yield from _members(annotation.model_fields[step].annotation)
        return
    arguments = get_args(annotation)
    if get_origin(annotation) is dict:
        yield from _members(arguments[1])
    elif arguments:
        for inner in arguments:
            yield from _members(inner)


def _members(annotation: Any) -> Iterator[Any]:
    if get_origin(annotation) in (Union, UnionType):
        for inner in get_args(annotation):
            yield from _members(inner)
    else:
        yield annotation


def read_document(path: str | Path, *, limit: int = LIMIT_BYTES) -> Document:
    """The YAML document in a file.

    :raises InputError: the file cannot be read or is larger than ``limit`` bytes; see :func:`parse_document`.
    """
    source = str(path)
    try:
        with Path(path).open("rb") as file:
            data = file.read(limit + 1)
    except FileNotFoundError:
        raise InputError("no such file; check the path", path=source) from None
    except IsADirectoryError:
        raise InputError("this is a folder; give a file inside it", path=source) from None
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        raise InputError(f"cannot be read: {getattr(error, 'strerror', None) or error}", path=source) from None
    if len(data) > limit:
        raise InputError(f"larger than {limit:,} bytes, the most that is read of such a document", path=source)
    try:
        text = data.decode("utf-16" if data.startswith(_UTF_16) else "utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise InputError("not UTF-8 text; save the file as UTF-8", path=source, line=line) from None
    return parse_document(text, source)


def parse_document(text: str, path: str = "<text>") -> Document:
    """The one YAML document in a text.

    Plain data only: no tags, anchors or aliases, no key twice, at most 32 levels deep. Words are numbers,
    true, false and null as in YAML 1.2: ``no`` and ``1:30`` stay text.

    >>> document = parse_document("name: x\\nsizes: [1, 2.5, no]\\n")
    >>> document.value, document.line(("sizes", 0))
    ({'name': 'x', 'sizes': [1, 2.5, 'no']}, 2)

    :raises InputError: not YAML, or not such a document; with the line.
    """
    import yaml

    reader = _Reader(path)
    # Only events are taken from the library: nothing is ever constructed from a tag.
    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        for event in yaml.parse(text, Loader=loader):
            reader.take(event)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        said = ", ".join(part for part in (error.context, error.problem) if part)
        said += "; put a text that holds ': ' in quotes" if "mapping values" in said else ""
        before = [row[: mark.column + 1] for row in text.split("\n")[mark.line : mark.line + 1]] if mark else []
        said += "; indent with spaces, YAML takes no tabs" if any("\t" in row for row in before) else ""
        raise InputError(f"not valid YAML: {said}", path=path, line=mark.line + 1 if mark else None) from None
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1 if isinstance(error.position, int) else None
        raise InputError(f"not valid YAML: {error.reason}", path=path, line=line) from None
    except yaml.YAMLError as error:
        raise InputError(f"not valid YAML: {' '.join(str(error).split())}", path=path) from None
    if not reader.done:
        raise InputError("the document is empty", path=path)
    return Document(path, reader.value, reader.lines)


class _Reader:
    """Builds plain values and their lines from the parser's events."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.value: Any = None
        self.done = False
        self.lines: dict[Place, int] = {}
        self.open: list[Any] = []
        self.place: list[str | int] = []
        self.has_key: list[bool] = []

    def take(self, event: Any) -> None:
        kind = type(event).__name__
        line = event.start_mark.line + 1
        if kind == "AliasEvent" or getattr(event, "anchor", None) is not None:
            raise self._refused("anchors and aliases (& and *) are not allowed here; write the value out", line)
        if getattr(event, "tag", None) is not None:
            raise self._refused(f"tags are not allowed here, and {event.tag!r} is one; write the plain value", line)
        if kind == "DocumentStartEvent" and self.done:
            raise self._refused("a second document starts here; only one is read, put it in a file of its own", line)
        if kind in ("MappingStartEvent", "SequenceStartEvent"):
            self._start({} if kind.startswith("M") else [], line)
        elif kind in ("MappingEndEvent", "SequenceEndEvent"):
            self._end()
        elif kind == "ScalarEvent":
            self._scalar(event, line)

    def _scalar(self, event: Any, line: int) -> None:
        if self.open and isinstance(self.open[-1], dict) and not self.has_key[-1]:
            self._key(event.value, line)
            return
        self._add(_plain(event.value) if event.implicit[0] else event.value, line)

    def _key(self, name: str, line: int) -> None:
        if name in self.open[-1]:
            first = self.lines[(*self.place, name)]
            written = place_name((*self.place, name))
            raise self._refused(f"key {written} is there twice, first at line {first}; keep one", line)
        self.place.append(name)
        self.has_key[-1] = True
        self.lines[tuple(self.place)] = line

    def _start(self, container: Any, line: int) -> None:
        if self.open and isinstance(self.open[-1], dict) and not self.has_key[-1]:
            raise self._refused("a key has to be plain text, not a list or keys with values", line)
        if len(self.open) >= _MOST_DEPTH:
            raise self._refused(f"nested more than {_MOST_DEPTH} levels deep", line)
        self._add(container, line, opens=True)
        self.open.append(container)
        self.has_key.append(False)

    def _end(self) -> None:
        self.open.pop()
        self.has_key.pop()
        self._leave()

    def _add(self, value: Any, line: int, *, opens: bool = False) -> None:
        if not self.open:
            self.value, self.done = value, True
            self.lines[()] = line
        elif isinstance(self.open[-1], dict):
            self.open[-1][self.place[-1]] = value
        else:
            self.place.append(len(self.open[-1]))
            self.open[-1].append(value)
            self.lines[tuple(self.place)] = line
        if not opens:
            self._leave()

    def _leave(self) -> None:
        if self.open:
            self.place.pop()
            self.has_key[-1] = False

    def _refused(self, message: str, line: int) -> InputError:
        return InputError(message, path=self.path, line=line)


def _plain(text: str) -> Any:
    """An unquoted word: null, true or false, a number, else the text itself."""
    if text in _WORDS:
        return _WORDS[text]
    if _INTEGER.match(text) and len(text.lstrip("+-").lstrip("0")) <= _MOST_DIGITS:
        return int(text)
    if _FLOAT.match(text) and not _INTEGER.match(text):
        number = float(text)
        return number if abs(number) != float("inf") else text
    return text
