"""Builders a spec may name, one row each, and the check of a spec's parameters against their signatures."""

from __future__ import annotations

import importlib
import inspect
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from topo.document import Document, kind_of_value, nearest
from topo.errors import FabricError, ParameterError
from topo.fabric import Fabric
from topo.units import parse_gbps

__all__ = ["BUILDERS", "Builder", "built"]

_MOST_PORTS = 64_000_000
_NOT_PARAMETERS = ("name", "host_part", "switch_part")
_WORDS = {int: "a whole number", float: "a number", str: "text", bool: "true or false"}


@dataclass(frozen=True, slots=True)
class Builder:
    """A builder by name: where it is, which parameter fixes the radix, about how many ports it makes."""

    name: str
    module: str
    radix: str | None
    n_ports: Callable[[Mapping[str, Any]], float]

    @property
    def function(self) -> Callable[..., Fabric]:
        """The builder itself, imported when first needed."""
        found: Callable[..., Fabric] = getattr(importlib.import_module(self.module), self.name)
        return found

    @property
    def parameters(self) -> dict[str, inspect.Parameter]:
        """What a spec may give; name and parts are keys of the spec itself."""
        signature = inspect.signature(self.function)
        return {name: p for name, p in signature.parameters.items() if name not in _NOT_PARAMETERS}


def _leaf_spine_ports(given: Mapping[str, Any]) -> float:
    return float(2 * given["leaves"] * (given["hosts_per_leaf"] + given["spines"] * given["parallel"]))


def _fat_tree_ports(given: Mapping[str, Any]) -> float:
    return 1.5 * float(given["k"]) ** 3


def _clos_ports(given: Mapping[str, Any]) -> float:
    tapers = given["taper"] if isinstance(given["taper"], Sequence) else [given["taper"]]
    radices = given["radix"] if isinstance(given["radix"], Sequence) else [given["radix"]]
    growth = math.prod(1 + 1 / taper if taper > 0 else 1 for taper in tapers)
    return float(given["tiers"] * (2.0 * given["hosts"] * growth + sum(float(radix) ** 2 for radix in radices)))


def _rail_ports(given: Mapping[str, Any]) -> float:
    units = math.ceil(given["hosts"] / max(given["hosts_per_unit"], 1))
    switches = given["tiers"] * units * given["rails"]
    return float(
        given["hosts"] * given["rails"] + switches * given["radix"] + given["managers"] * given["links_per_manager"]
    )


BUILDERS: dict[str, Builder] = {
    row.name: row
    for row in (
        Builder("leaf_spine", "topo.build.clos", None, _leaf_spine_ports),
        Builder("fat_tree", "topo.build.clos", "k", _fat_tree_ports),
        Builder("clos", "topo.build.clos", "radix", _clos_ports),
        Builder("rail_optimized", "topo.build.rail", "radix", _rail_ports),
    )
}
"""Every builder that a spec may name."""


def built(name: str, given: Mapping[str, Any], document: Document) -> Fabric:
    """Call a builder with a spec's parameters, checked against its signature; rates may be text like ``400G``.

    :raises InputError: at the parameter's line: an unknown or missing one, a wrong type, a number that the builder
        refuses, or a fabric too large to be meant.
    """
    row = BUILDERS[name]
    values = _checked(row, given, document)
    complete = {key: p.default for key, p in row.parameters.items()} | values
    # Bounds before building: a slip of the keyboard must not fill the memory.
    n_ports = row.n_ports(complete)
    if n_ports > _MOST_PORTS:
        raise document.error(
            ("parameters",),
            f"would make about {n_ports:.3g} ports; a spec makes at most {_MOST_PORTS:,}, use smaller numbers",
        )
    try:
        return row.function(**values)
    except (ParameterError, FabricError) as error:
        raise document.error(_blamed(str(error), values), f"{error}") from None
    except (MemoryError, OverflowError):
        raise document.error(("parameters",), "the fabric does not fit into memory; use smaller numbers") from None


def _blamed(message: str, values: Mapping[str, Any]) -> tuple[str, ...]:
    """The parameter that a builder's message names first."""
    found = {name: match.start() for name in values if (match := re.search(rf"\b{re.escape(name)}\b", message))}
    return ("parameters", min(found, key=found.__getitem__)) if found else ("parameters",)


def _checked(row: Builder, given: Mapping[str, Any], document: Document) -> dict[str, Any]:
    allowed = row.parameters
    hints = get_type_hints(row.function)
    values = {}
    for key, value in given.items():
        place = ("parameters", key)
        if key not in allowed:
            hint = nearest(key, allowed)
            if key in _NOT_PARAMETERS:
                hint = "; it is a key of the spec itself, one level up"
            raise document.error(place, f"is not a parameter of {row.name}{hint}")
        if key.endswith("_gbps") and isinstance(value, str):
            values[key] = _rate(value, place, document)
        elif _fits(value, hints[key]):
            values[key] = value
        else:
            raise document.error(place, f"{kind_of_value(value)} is not {_described(hints[key])}")
    for key, parameter in allowed.items():
        if parameter.default is inspect.Parameter.empty and key not in values:
            needed = ", ".join(k for k, p in allowed.items() if p.default is inspect.Parameter.empty)
            raise document.error(("parameters",), f"{key} is missing; {row.name} needs {needed}")
    return values


def _rate(text: str, place: tuple[str, str], document: Document) -> float:
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
    if hint is float:
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    if hint is int:
        return isinstance(value, int) and not isinstance(value, bool)
    return value is None if hint is NoneType else isinstance(value, hint)


def _described(hint: Any) -> str:
    if get_origin(hint) in (Union, UnionType):
        return " or ".join(_described(member) for member in get_args(hint) if member is not NoneType)
    if get_origin(hint) is Literal:
        return "one of " + ", ".join(map(str, get_args(hint)))
    if get_origin(hint) is not None:
        return "a list, each item " + _described(get_args(hint)[0])
    return _WORDS.get(hint, str(getattr(hint, "__name__", hint)))
