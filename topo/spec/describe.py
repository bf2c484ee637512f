"""What a spec may hold, told from the code that reads it: its keys, labels, builders with parameters, parts."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, get_type_hints

from topo.parts import DOMAINS, HOSTS, SERVERS, SWITCHES
from topo.result import Result, Row
from topo.spec.builders import BUILDERS
from topo.spec.model import EXPECTED, LABELS, Spec
from topo.spec.parameters import described, inner_types, parameters_of

__all__ = ["BuilderText", "ParameterText", "SpecKeys", "spec_keys"]

_KEYS = {
    "name": "lower-case letters, digits, '-' and '.', at most 64",
    "title": "one line for people",
    "operator": "whose fabric it is",
    "sources": "list of text and label: where the numbers come from",
    "builder": "one of the builders below",
    "parameters": "keys with values: what that builder takes",
    "host_part": "a standard host; checked against what is built",
    "switch_part": "a standard switch; checked against what is built",
    "assumptions": "list of texts: what the numbers rest on",
    "expect": "numbers to count again in the built fabric: a number, or value, label, note, printed and printed_by",
}


@dataclass(frozen=True, slots=True)
class ParameterText:
    """One parameter: what is taken for it, in which unit, and its default as text ('' where it must be given)."""

    name: str
    takes: str
    unit: str
    default: str
    is_needed: bool

    def text(self) -> str:
        """The same in one line."""
        unit = f", {self.unit}" if self.unit else ""
        return f"{self.takes}{unit}; {'must be given' if self.is_needed else f'default {self.default}'}"


@dataclass(frozen=True, slots=True)
class BuilderText:
    """One builder, or a group of parameters inside one, with what it makes."""

    name: str
    makes: str
    parameters: tuple[ParameterText, ...]


@dataclass(frozen=True)
class SpecKeys(Result):
    """What a spec file may hold: keys, labels of sources, builders, groups of parameters, parts, expected numbers."""

    keys: dict[str, str]
    labels: dict[str, str]
    builders: tuple[BuilderText, ...]
    groups: tuple[BuilderText, ...]
    switch_parts: tuple[str, ...]
    host_parts: tuple[str, ...]
    templates: tuple[str, ...]
    expected: dict[str, str]

    title: ClassVar[str] = "What a spec may hold"

    def rows(self) -> list[Row]:
        """Keys first, then the builders with their parameters, then the names they may use."""
        rows = [Row(key, text) for key, text in self.keys.items()]
        rows += [Row(f"label {label}", text) for label, text in self.labels.items()]
        for builder in self.builders:
            rows += _builder_rows(f"builder {builder.name}", builder)
        for group in self.groups:
            rows += _builder_rows(f"parameters of {group.name}", group)
        rows.append(Row("switch_part is one of", ", ".join(self.switch_parts)))
        rows.append(Row("host_part is one of", ", ".join(self.host_parts)))
        rows.append(Row("template is one of", ", ".join(self.templates)))
        return rows + [Row(f"expect {key}", text) for key, text in self.expected.items()]


def _builder_rows(head: str, builder: BuilderText) -> list[Row]:
    return [Row(head, builder.makes), *(Row(f"  {one.name}", one.text()) for one in builder.parameters)]


def spec_keys() -> SpecKeys:
    """Everything that a spec file may hold, from the signatures of the builders themselves.

    >>> found = spec_keys()
    >>> [one.name for one in found.builders][:3], found.builders[0].parameters[0].text()
    (['leaf_spine', 'fat_tree', 'clos'], 'a whole number; must be given')
    """
    needed = {name for name, f in Spec.model_fields.items() if f.is_required()}
    keys = {key: f"{text}; {'must be given' if key in needed else 'may be left out'}" for key, text in _KEYS.items()}
    builders = tuple(_described(row.function, row.name) for row in BUILDERS.values())
    groups: dict[str, BuilderText] = {}
    for builder in BUILDERS.values():
        _collect(builder.function, groups)
    return SpecKeys(
        keys,
        dict(LABELS),
        builders,
        tuple(groups.values()),
        tuple(part.name for part in SWITCHES),
        tuple(part.name for part in HOSTS),
        tuple(sorted([*(host.name for host in SERVERS), *(domain.name for domain in DOMAINS)])),
        dict(EXPECTED),
    )


def _collect(function: Any, groups: dict[str, BuilderText]) -> None:
    """Parameters that are keys with values themselves, each kind once."""
    for inner in _inner_groups(function):
        for name, kind in inner.items():
            if name not in groups:
                groups[name] = _described(kind, name)
                _collect(kind, groups)


def _inner_groups(function: Any) -> Iterator[dict[str, type]]:
    """The types made of parameters that each parameter of a builder allows, by name."""
    hints = get_type_hints(function)
    for name in parameters_of(function):
        yield dict(inner_types(hints[name]))


def _described(function: Any, name: str) -> BuilderText:
    first = (inspect.getdoc(function) or "").split("\n\n")[0].replace("\n", " ").strip()
    first = re.sub(r":\w+:`(?:\w+\.)*(\w+)`", r"\1", first).replace("``", "")
    hints = get_type_hints(function)
    found = tuple(_parameter(p, hints[p.name]) for p in parameters_of(function).values())
    return BuilderText(name, first, found)


def _parameter(parameter: inspect.Parameter, hint: Any) -> ParameterText:
    is_rate = parameter.name.endswith("_gbps")
    needed = parameter.default is inspect.Parameter.empty
    takes = "a rate (400, 400G, 4xNDR)" if is_rate else described(hint)
    return ParameterText(
        parameter.name,
        takes,
        "Gb/s one direction" if is_rate else "",
        "" if needed else _shown(parameter.default),
        needed,
    )


def _shown(value: Any) -> str:
    if value is None:
        return "none (left to the builder)"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float, str)):
        return f"{value:g}" if isinstance(value, float) else str(value)
    return "the defaults of its own parameters"
