"""A spec's parameters against a builder's signature: names, types, rates as text, and parameters inside parameters."""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from topo.document import Document, Place, kind_of_value, nearest
from topo.errors import ParameterError
from topo.units import parse_gbps

__all__ = ["blamed", "checked", "described", "inner_types", "parameters_of"]

_NOT_PARAMETERS = ("name", "host_part", "switch_part")
_WORDS = {int: "a whole number", float: "a number", str: "text", bool: "true or false"}


def parameters_of(function: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    """What a spec may give a builder or a part of one; name and parts are keys of the spec itself."""
    signature = inspect.signature(function)
    return {name: p for name, p in signature.parameters.items() if name not in _NOT_PARAMETERS}


def checked(
    function: Callable[..., Any], name: str, given: Mapping[str, Any], place: Place, document: Document
) -> dict[str, Any]:
    """The values to call ``function`` with; ``place`` is where its parameters stand in the document.

    A parameter whose type is itself made of parameters is a mapping in the document, checked in the same way; where
    there are several such types, its key ``builder`` says which.

    :raises InputError: at the parameter's line: an unknown or missing one, or a wrong type.
    """
    allowed = parameters_of(function)
    hints = get_type_hints(function)
    values = {}
    for key, value in given.items():
        here = (*place, key)
        if key not in allowed:
            hint = nearest(key, allowed)
            if key in _NOT_PARAMETERS:
                hint = "; it is a key of the spec itself, " + ("one level up" if len(place) == 1 else "at the top")
            raise document.error(here, f"is not a parameter of {name}{hint}")
        values[key] = _checked_value(key, value, hints[key], here, document)
    needed = [key for key, parameter in allowed.items() if parameter.default is inspect.Parameter.empty]
    missing = [key for key in needed if key not in values]
    if missing:
        said = f"{', '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing"
        raise document.error(place, f"{said}; {name} needs {', '.join(needed)} (topo list --builders shows them all)")
    return values


def _checked_value(key: str, value: Any, hint: Any, place: Place, document: Document) -> Any:
    inner = inner_types(hint)
    if inner and isinstance(value, dict):
        return _checked_inner(value, inner, place, document)
    is_rate = key.endswith("_gbps")
    if not (_fits(value, hint) or (is_rate and isinstance(value, str))):
        raise document.error(place, f"{kind_of_value(value)} is not {described(hint)}")
    return _rate(value, place, document) if is_rate and value is not None else value


def _checked_inner(value: Mapping[str, Any], inner: Mapping[str, type], place: Place, document: Document) -> Any:
    name, given = next(iter(inner)), value
    if len(inner) > 1:
        if "builder" not in value:
            raise document.error(place, f"builder is missing; it is one of {', '.join(inner)}")
        chosen = value["builder"]
        if not isinstance(chosen, str) or chosen not in inner:
            said = f"{kind_of_value(chosen)} cannot be used here{nearest(str(chosen), inner)}"
            raise document.error((*place, "builder"), said)
        name, given = chosen, {key: item for key, item in value.items() if key != "builder"}
    return inner[name](**checked(inner[name], name, given, place, document))


def inner_types(hint: Any) -> Mapping[str, type]:
    """The types made of parameters that a hint allows, by name; none for plain values."""
    if get_origin(hint) in (Union, UnionType):
        found: dict[str, type] = {}
        for member in get_args(hint):
            found |= inner_types(member)
        return found
    if not isinstance(hint, type):
        return {}
    if dataclasses.is_dataclass(hint):
        return {_words_of(hint): hint}
    if getattr(hint, "_is_protocol", False):
        from topo.build.plans import PLANS

        return PLANS
    return {}


def _words_of(kind: type) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", " ", kind.__name__).lower()


def blamed(message: str, given: Mapping[str, Any], place: Place) -> Place:
    """The parameter a builder's message is about: one it says the value of, else one that is no plain word."""
    names = list(_named(given, place))
    stated = [at for at, name in names if re.search(rf"\b{re.escape(name)}(\[\d+\])?( of tier \d+)? is\b", message)]
    named = [at for at, name in names if "_" in name and re.search(rf"\b{re.escape(name)}\b", message)]
    return next(iter(stated + named), place)


def _named(given: Mapping[str, Any], place: Place) -> Iterator[tuple[Place, str]]:
    for key, value in given.items():
        yield (*place, key), key
        if isinstance(value, dict):
            yield from _named(value, (*place, key))


def _rate(text: str | float, place: Place, document: Document) -> float:
    try:
        return parse_gbps(text)
    except ParameterError as error:
        raise document.error(place, str(error)) from None


def _fits(value: Any, hint: Any) -> bool:
    """Whether a document's value is of a builder's type, without conversions other than whole to real numbers."""
    origin = get_origin(hint)
    if origin in (Union, UnionType):
        return any(_fits(value, member) for member in get_args(hint))
    if origin is Literal:
        return value in get_args(hint)
    if isinstance(origin, type) and issubclass(origin, Sequence):
        return isinstance(value, list) and all(_fits(item, get_args(hint)[0]) for item in value)
    if inner_types(hint):
        return False
    if hint is float:
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    if hint is int:
        return isinstance(value, int) and not isinstance(value, bool)
    return value is None if hint is NoneType else isinstance(value, hint)


def described(hint: Any) -> str:
    """What a document may hold for a parameter of that type, in words.

    >>> described(int), described(int | Sequence[int])
    ('a whole number', 'a whole number or a list, each item a whole number')
    """
    if get_origin(hint) in (Union, UnionType):
        return " or ".join(described(member) for member in get_args(hint) if member is not NoneType)
    if get_origin(hint) is Literal:
        return "one of " + ", ".join(map(str, get_args(hint)))
    if get_origin(hint) is not None:
        return "a list, each item " + described(get_args(hint)[0])
    if inner := inner_types(hint):
        return f"keys with values: {_keys(inner)}"
    return _WORDS.get(hint, str(getattr(hint, "__name__", hint)))


def _keys(inner: Mapping[str, type]) -> str:
    if len(inner) > 1:
        return f"builder (one of {', '.join(inner)}) and its parameters"
    return ", ".join(parameters_of(next(iter(inner.values()))))
