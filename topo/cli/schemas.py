"""JSON Schemas of answers, generated from the classes of results as :func:`topo.result.to_json_value` writes them."""

from __future__ import annotations

import ast
import dataclasses
import importlib
import inspect
import pkgutil
import sys
from collections.abc import Iterator, Mapping
from collections.abc import Sequence as SequenceType
from enum import Enum
from functools import cache
from types import NoneType, UnionType
from typing import Any, ClassVar, Literal, Union, get_args, get_origin

import numpy as np

from topo.result import Result, Standing

__all__ = ["DRAFT", "answer_schema", "hints_of", "result_classes", "result_schema", "schema_of"]

DRAFT = "https://json-schema.org/draft/2020-12/schema"
_PLAIN: dict[Any, dict[str, Any]] = {
    str: {"type": "string"},
    bool: {"type": "boolean"},
    np.bool_: {"type": "boolean"},
    int: {"type": "integer"},
    float: {"type": ["number", "null"]},
    NoneType: {"type": "null"},
    Standing: {"type": "string"},
}
"""A number may be null where it is not known: JSON has no nan."""


@cache
def result_classes() -> dict[str, type[Result]]:
    """Every class of answers of the library, by name."""
    topo = importlib.import_module("topo")
    for module in pkgutil.walk_packages(topo.__path__, "topo."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    found = {kind.__name__: kind for kind in _below(Result) if kind.__module__.startswith("topo.")}
    return dict(sorted(found.items()))


def _below(kind: type[Result]) -> Iterator[type[Result]]:
    for inner in kind.__subclasses__():
        yield inner
        yield from _below(inner)


def result_schema(kind: type[Result]) -> dict[str, Any]:
    """The schema of one class of answers, as a document of its own."""
    definitions: dict[str, Any] = {}
    body = answer_schema(kind, definitions)
    description = (inspect.getdoc(kind) or "").split("\n\n")[0].replace("\n", " ")
    said = {"$schema": DRAFT, "title": kind.__name__, "description": description, **body}
    return said | ({"$defs": definitions} if definitions else {})


def answer_schema(kind: type[Any], definitions: dict[str, Any]) -> dict[str, Any]:
    """The object that a class of answers becomes, also where it has a form of its own."""
    body = _object(kind, definitions)
    if kind.__name__ == "Validation":
        keys = {key: body["properties"][key] for key in ("fabric", "against", "rules", "assumptions")}
        objects = {"type": "array", "items": {"type": "object"}}
        keys |= {"findings": objects, "summary": {"type": "object"}}
        return body | {"properties": keys, "required": list(keys)}
    if kind.__name__ == "EcmpCollisions":
        link = definitions[body["properties"]["worst_links"]["items"]["$ref"].rpartition("/")[2]]
        link["properties"]["mean_utilization"] = _PLAIN[float]
    return body


def schema_of(hint: Any, definitions: dict[str, Any]) -> dict[str, Any]:
    """The schema of what a value of a type becomes in JSON; classes go into ``definitions``."""
    if hint in _PLAIN:
        return _PLAIN[hint]
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return _any_of([schema_of(member, definitions) for member in arguments])
    if origin is Literal:
        return {"enum": list(arguments)}
    if origin is not None and isinstance(origin, type):
        return _generic(origin, arguments, definitions)
    if not isinstance(hint, type):
        return {}
    return _class(hint, definitions)


def _generic(origin: type, arguments: tuple[Any, ...], definitions: dict[str, Any]) -> dict[str, Any]:
    if issubclass(origin, np.ndarray):
        return {"type": "array"}
    if issubclass(origin, Mapping):
        return {"type": "object", "additionalProperties": schema_of(arguments[1], definitions)}
    if issubclass(origin, tuple) and arguments and arguments[-1] is not Ellipsis:
        items = [schema_of(each, definitions) for each in arguments]
        return {"type": "array", "prefixItems": items, "items": False, "minItems": len(items)}
    if issubclass(origin, SequenceType):
        return {"type": "array", "items": schema_of(arguments[0], definitions)}
    return {}


def _class(kind: type, definitions: dict[str, Any]) -> dict[str, Any]:
    if issubclass(kind, Enum):
        return {"enum": [member.value for member in kind]}
    if hasattr(kind, "to_records"):
        return {"type": "array", "items": {"type": "object"}}
    if issubclass(kind, np.integer):
        return {"type": "integer"}
    if issubclass(kind, np.floating):
        return _PLAIN[float]
    if issubclass(kind, np.ndarray) or (issubclass(kind, tuple) and hasattr(kind, "_fields")):
        return {"type": "array"}
    if not dataclasses.is_dataclass(kind):
        return {"type": "object"} if issubclass(kind, dict) else {}
    if kind.__name__ not in definitions:
        definitions[kind.__name__] = {}  # a class may hold others of its own kind
        is_answer = issubclass(kind, Result)
        definitions[kind.__name__] = answer_schema(kind, definitions) if is_answer else _object(kind, definitions)
    return {"$ref": f"#/$defs/{kind.__name__}"}


def _any_of(schemas: list[dict[str, Any]]) -> dict[str, Any]:
    different = [one for i, one in enumerate(schemas) if one not in schemas[:i]]
    if {} in different:
        return {}
    return different[0] if len(different) == 1 else {"anyOf": different}


def _object(kind: Any, definitions: dict[str, Any]) -> dict[str, Any]:
    """A dataclass as its fields that are shown, and what it derives."""
    hints = hints_of(kind)
    properties = {
        f.name: schema_of(hints.get(f.name, Any), definitions)
        for f in dataclasses.fields(kind)
        if not f.metadata.get("hidden")
    }
    for name in getattr(kind, "derived", ()):
        properties[name] = schema_of(_derived(kind, name), definitions)
    return {
        "type": "object", "properties": properties, "required": list(properties), "additionalProperties": False,
    }  # fmt: skip


def hints_of(kind: type) -> dict[str, Any]:
    """The types of a class's fields, also those whose names are imported for checkers alone."""
    found: dict[str, Any] = {}
    for owner in reversed(kind.__mro__):
        for name, written in inspect.get_annotations(owner).items():
            hint = _evaluated(written, owner.__module__)
            if get_origin(hint) is not ClassVar:
                found[name] = hint
    return found


def _derived(kind: type, name: str) -> Any:
    descriptor = inspect.getattr_static(kind, name)
    function = getattr(descriptor, "fget", None) or getattr(descriptor, "func", None)
    written = getattr(function, "__annotations__", {}).get("return", Any)
    return _evaluated(written, getattr(function, "__module__", kind.__module__))


def _evaluated(written: Any, module: str) -> Any:
    if not isinstance(written, str):
        return written
    # The text is an annotation of our own source, never one from outside.
    return eval(written, {**vars(sys.modules[module]), **_for_checkers(module)})


@cache
def _for_checkers(module: str) -> dict[str, Any]:
    """What a module imports under ``if TYPE_CHECKING``."""
    names: dict[str, Any] = {}
    tree = ast.parse(inspect.getsource(sys.modules[module]))
    for block in tree.body:
        if not (isinstance(block, ast.If) and isinstance(block.test, ast.Name) and block.test.id == "TYPE_CHECKING"):
            continue
        for line in block.body:
            if isinstance(line, ast.ImportFrom) and line.module:
                source = importlib.import_module(line.module)
                names |= {one.asname or one.name: getattr(source, one.name) for one in line.names}
            elif isinstance(line, ast.Import):
                names |= {one.asname or one.name: importlib.import_module(one.name) for one in line.names}
    return names
