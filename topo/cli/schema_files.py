"""JSON Schemas of the files that people write, from the tables and classes that their readers check them with."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Sequence
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from topo.cli.schemas import DRAFT

__all__ = ["FILE_SCHEMAS", "file_schema"]


def file_schema(kind: str) -> dict[str, Any]:
    """The schema of one kind of file: a YAML document, which is what an editor checks as if it were JSON."""
    title, make = FILE_SCHEMAS[kind]
    return {"$schema": DRAFT, **make(), "title": title}


def _spec() -> dict[str, Any]:
    """The keys of a spec; what ``parameters`` holds depends on the builder."""
    from topo.parts import HOSTS, SWITCHES
    from topo.spec.builders import BUILDERS
    from topo.spec.model import EXPECTED, Spec

    schema = Spec.model_json_schema()
    keys = schema["properties"]
    keys["builder"] = {"enum": list(BUILDERS), "description": "One of the builders that topo list --builders shows."}
    keys["host_part"] = {"enum": [None, *(part.name for part in HOSTS)]}
    keys["switch_part"] = {"enum": [None, *(part.name for part in SWITCHES)]}
    number = keys["expect"].pop("additionalProperties")
    keys["expect"]["additionalProperties"] = False
    keys["expect"]["properties"] = {
        key: {"anyOf": [{"type": "number"}, number], "description": text} for key, text in EXPECTED.items()
    }
    groups: dict[str, Any] = schema["$defs"]
    schema["allOf"] = [
        {
            "if": {"properties": {"builder": {"const": name}}, "required": ["builder"]},
            "then": {"properties": {"parameters": _parameters(row.function, groups)}},
        }
        for name, row in BUILDERS.items()
    ]
    return schema


def _parameters(function: Callable[..., Any], groups: dict[str, Any], builder: str | None = None) -> dict[str, Any]:
    """What a builder, or a part of one, takes: its signature; parts that hold parts go into ``groups``."""
    from topo.spec.parameters import parameters_of

    hints = get_type_hints(function)
    allowed = parameters_of(function)
    properties = {name: _parameter(name, hints[name], groups) for name in allowed}
    needed = [name for name, p in allowed.items() if p.default is inspect.Parameter.empty]
    if builder is not None:
        properties["builder"], needed = {"const": builder}, ["builder", *needed]
    return {"type": "object", "properties": properties, "required": needed, "additionalProperties": False}


def _parameter(name: str, hint: Any, groups: dict[str, Any]) -> dict[str, Any]:
    allowed = _takes(hint, groups)
    if name.endswith("_gbps"):
        allowed.append({"type": "string", "description": "A rate: 400G, 4xNDR; one direction."})
    return allowed[0] if len(allowed) == 1 else {"anyOf": allowed}


def _takes(hint: Any, groups: dict[str, Any]) -> list[dict[str, Any]]:
    """The values that fit a parameter, as the reader of specs takes them."""
    from topo.spec.parameters import inner_types

    plain = {int: "integer", float: "number", str: "string", bool: "boolean", NoneType: "null"}
    origin = get_origin(hint)
    if origin in (Union, UnionType):
        return [each for member in get_args(hint) for each in _takes(member, groups)]
    if origin is Literal:
        return [{"enum": list(get_args(hint))}]
    if isinstance(origin, type) and issubclass(origin, Sequence):
        inner = _takes(get_args(hint)[0], groups)
        return [{"type": "array", "items": inner[0] if len(inner) == 1 else {"anyOf": inner}}]
    inner_kinds = inner_types(hint)
    if inner_kinds:
        return [_group(name, kind, groups, named=len(inner_kinds) > 1) for name, kind in inner_kinds.items()]
    return [{"type": plain[hint]}] if hint in plain else [{}]


def _group(name: str, kind: type, groups: dict[str, Any], *, named: bool) -> dict[str, Any]:
    """Parameters inside parameters, by reference; where there are several kinds of them, ``builder`` says which."""
    key = f"{name} as builder" if named else name
    if key not in groups:
        groups[key] = {}  # fabrics over fabrics: a group may hold its own kind
        groups[key] = _parameters(kind, groups, name if named else None)
    return {"$ref": f"#/$defs/{key.replace(' ', '%20')}"}


def _placed_job() -> dict[str, Any]:
    from topo.placement.job_file import JobKeys

    return JobKeys.model_json_schema()


def _training_job() -> dict[str, Any]:
    """The keys of a training job; ``plan`` has the fields of a plan, ``model`` may be the name of a known one."""
    from topo.cli.jobs import JobFile
    from topo.parts.accelerators import ACCELERATORS
    from topo.parts.models import MODELS
    from topo.training.plan import Plan

    schema = JobFile.model_json_schema()
    keys = schema["properties"]
    hints = get_type_hints(Plan)
    fields: dict[str, Any] = {
        f.name: {"type": _PLAN_TYPES.get(hints[f.name], "string")} for f in dataclasses.fields(Plan)
    }
    fields["order"] = {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}
    needed = [f.name for f in dataclasses.fields(Plan) if f.default is dataclasses.MISSING]
    keys["plan"] = {"type": "object", "properties": fields, "required": needed, "additionalProperties": False}
    shape = next(each for each in keys["model"]["anyOf"] if "$ref" in each)
    keys["model"] = {"anyOf": [{"enum": [model.name for model in MODELS]}, shape]}
    keys["accelerator"] = {"enum": [part.name for part in ACCELERATORS], "default": keys["accelerator"]["default"]}
    return schema


_PLAN_TYPES: dict[Any, str] = {int: "integer", float: "number", bool: "boolean", str: "string"}


def _failures() -> dict[str, Any]:
    """Kinds of elements, or some of one, each with its causes."""
    from topo.analysis.failures.elements import ELEMENT_KINDS
    from topo.analysis.failures.rates import CAUSE_KEYS, RATE_KEYS

    above_0 = {"type": "number", "exclusiveMinimum": 0}
    properties: dict[str, Any] = {key: above_0 for key in CAUSE_KEYS if key != "source"}
    properties["afr"] = {**above_0, "exclusiveMaximum": 1}
    properties["source"] = {}
    cause = {
        "type": "object", "properties": properties, "required": ["mttr_h"], "additionalProperties": False,
        "oneOf": [{"required": [key]} for key in RATE_KEYS],
    }  # fmt: skip
    one_or_more = {"anyOf": [cause, {"type": "array", "items": cause}]}
    kinds = "|".join(ELEMENT_KINDS)
    return {
        "type": "object", "minProperties": 1, "additionalProperties": False,
        "patternProperties": {f"^({kinds})(:.*)?$": one_or_more},
    }  # fmt: skip


def _racks() -> dict[str, Any]:
    from topo.design.rules import RackRules

    return RackRules.model_json_schema()


def _prices() -> dict[str, Any]:
    from topo.design.prices import PriceList

    return PriceList.model_json_schema()


def _accepted() -> dict[str, Any]:
    from topo.wiring.accept import AcceptFile
    from topo.wiring.codes import CODES

    schema = AcceptFile.model_json_schema()
    entry = next(iter(schema["$defs"].values()))
    entry["properties"]["code"] = {"enum": list(CODES)}
    return schema


def _requirements() -> dict[str, Any]:
    from topo.design.requirements import RequirementsFile

    return RequirementsFile.model_json_schema()


FILE_SCHEMAS: dict[str, tuple[str, Callable[[], dict[str, Any]]]] = {
    "spec": ("A fabric as a spec file", _spec),
    "job": ("A job to place, as topo place --job takes it", _placed_job),
    "training-job": ("A training job, as topo step --job takes it", _training_job),
    "failures": ("Failure rates, as topo fail --rates takes them", _failures),
    "racks": ("Rules for racks and cables, as topo plan --racks takes them", _racks),
    "prices": ("A price list, as topo plan --prices takes it", _prices),
    "accept": ("Known deviations of a wiring, as topo validate --accept takes them", _accepted),
    "requirements": ("What a cluster has to be, as topo design --requirements takes it", _requirements),
}
"""Kinds of files that people write, with a title and what makes the schema."""
