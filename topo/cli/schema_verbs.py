"""JSON Schemas of what verbs print with ``--format json``: their answers with what is said beside them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from topo.cli.schemas import DRAFT, answer_schema, hints_of, result_classes, schema_of
from topo.view.tiers import Drawing

__all__ = ["VERB_SCHEMAS", "verb_schema"]

_TEXT: dict[str, Any] = {"type": "string"}
_TEXTS: dict[str, Any] = {"type": "array", "items": _TEXT}
_OBJECTS: dict[str, Any] = {"type": "array", "items": {"type": "object"}}
_IDENTITY: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": _TEXT, "title": _TEXT, "made_by": _TEXT, "sources": _TEXTS, "assumptions": _TEXTS, "notes": _OBJECTS,
        "assumed": _TEXT, "digest": _TEXT,
    },
    "required": ["name", "title", "made_by", "sources", "digest"],
    "additionalProperties": False,
}  # fmt: skip
_NOT_COMPUTED: dict[str, Any] = {
    "type": "object", "properties": {"error": _TEXT}, "required": ["error"], "additionalProperties": False,
}  # fmt: skip
_FAILED: dict[str, Any] = {
    "type": "object", "properties": {"error": _TEXT, "kind": _TEXT}, "required": ["error", "kind"],
    "additionalProperties": False,
}  # fmt: skip
_LEFT_OUT: dict[str, Any] = {
    "type": "object", "properties": {"left_out": _TEXT}, "required": ["left_out"], "additionalProperties": False,
}  # fmt: skip
_EXPLANATIONS: dict[str, Any] = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": dict.fromkeys(("of", "computed", "assumes", "changes"), _TEXT),
        "required": ["of", "computed", "assumes", "changes"],
        "additionalProperties": False,
    },
}
_NAMED = {"fabric_name": _TEXT, "notes": _OBJECTS}


class _Forms:
    """Schemas of answers inside one document."""

    def __init__(self) -> None:
        self.definitions: dict[str, Any] = {}

    def of(self, name: str) -> dict[str, Any]:
        """An answer by the name of its class."""
        if name not in self.definitions:
            self.definitions[name] = {}
            self.definitions[name] = answer_schema(result_classes()[name], self.definitions)
        return {"$ref": f"#/$defs/{name}"}

    def several(self, kind: type, names: Sequence[str]) -> dict[str, Any]:
        """An object with some fields of a dataclass that is no answer itself."""
        hints = hints_of(kind)
        keys = {name: schema_of(hints[name], self.definitions) for name in names}
        return {"type": "object", "properties": keys, "required": list(keys), "additionalProperties": False}

    def mapping(self, needed: dict[str, Any], optional: dict[str, Any] | None = None) -> dict[str, Any]:
        """An object of these keys."""
        keys = {**needed, **(optional or {}), "explanations": _EXPLANATIONS}
        return {"type": "object", "properties": keys, "required": list(needed), "additionalProperties": False}

    def beside(self, name: str, needed: dict[str, Any], optional: dict[str, Any] | None = None) -> dict[str, Any]:
        """An answer whose keys stand beside others."""
        self.of(name)
        keys = self.definitions[name]["properties"]
        return self.mapping({**needed, **keys}, optional)


def verb_schema(verb: str) -> dict[str, Any]:
    """The schema of what a verb prints with ``--format json``."""
    forms = _Forms()
    body = VERB_SCHEMAS[verb](forms)
    said = {"$schema": DRAFT, "title": f"topo {verb} --format json", **body}
    return said | ({"$defs": forms.definitions} if forms.definitions else {})


def _show(forms: _Forms) -> dict[str, Any]:
    answers = {"inventory": "Inventory", "oversubscription": "Oversubscription", "buildable": "Buildable"}
    computed = {key: {"anyOf": [forms.of(name), _NOT_COMPUTED]} for key, name in answers.items()}
    return forms.mapping({"fabric": _IDENTITY, **computed}, {"expected": forms.of("PublishedNumbers")})


def _report(forms: _Forms) -> dict[str, Any]:
    """A report of one fabric, or of several side by side."""
    from topo.report.assemble import ANSWERS, CLASSES
    from topo.result import Row

    answers = {
        "inventory": "Inventory", "oversubscription": "Oversubscription", "bisection": "Bisection",
        "expected": "PublishedNumbers",
    }  # fmt: skip
    asked = {key: {"anyOf": [forms.of(name), _FAILED]} for key, name in answers.items()}
    of_section = {key: forms.several(kind, ANSWERS[key]) for key, kind in CLASSES.items()}
    of_section |= {"wiring": forms.of("Validation"), "bill": forms.of("CablingPlan")}
    more = {key: {"anyOf": [form, _LEFT_OUT, _FAILED]} for key, form in of_section.items()}
    tiers = forms.several(Drawing, ("alt", "notes"))
    tiers["properties"] |= {"switches": _OBJECTS, "links": _OBJECTS}
    rows = {"type": "array", "items": schema_of(Row, forms.definitions)}
    said = {
        "fabric": _IDENTITY, "verdict": _TEXT, "headline": _TEXT, "main_numbers": rows, "tiers": tiers, **asked,
        "bisection_halves": {"type": "array", "items": _TEXTS}, "bisection_checks": _TEXTS, "notes": _OBJECTS,
        "assumptions": _TEXTS,
    }  # fmt: skip
    return {"anyOf": [forms.mapping(said, more), forms.beside("FabricComparison", {})]}


def _map(forms: _Forms) -> dict[str, Any]:
    """What a map draws: groups, units and links as columns, entry i of each being of the same one."""

    def columns(**kinds: Any) -> dict[str, Any]:
        keys = {key: {"type": "array", "items": kind} for key, kind in kinds.items()}
        return {"type": "object", "properties": keys, "required": list(keys), "additionalProperties": False}

    whole, rate = {"type": "integer"}, {"type": ["number", "null"]}
    of_units = dict.fromkeys(("tier", "group", "members", "endpoints", "part", "rail", "plane", "pod"), whole)
    links = columns(a=whole, b=whole, n=whole, gbps=rate, rail=whole, plane=whole)
    links["properties"] |= {key: {"type": "array", "items": whole} for key in ("ab", "ba")}
    finding = {"type": "array", "prefixItems": [_TEXT, _TEXT, {"type": "array", "items": whole}], "items": False}
    return forms.mapping(
        {
            "fabric": _TEXT, "alt": _TEXT, "title": _TEXT, "load": _TEXT, "note": _TEXT,
            "words": {"type": "object", "additionalProperties": _TEXT},
            "groups": columns(parent=whole, label=_TEXT), "units": columns(name=_TEXT, **of_units), "links": links,
            "labels": columns(rail=_TEXT, plane=_TEXT, pod=_TEXT, part=_TEXT),
            "findings": {"type": "array", "items": {**finding, "minItems": 3}},
        }
    )  # fmt: skip


def _collective(forms: _Forms) -> dict[str, Any]:
    more = {"measured": forms.of("MeasuredBeside"), "counters": forms.of("CountersBeside"), "best_by_size": _OBJECTS}
    return forms.beside("CollectiveTime", _NAMED, more)


def _step(forms: _Forms) -> dict[str, Any]:
    more = {"fingerprint": forms.of("Fingerprint"), "sensitivity": forms.of("Sensitivity")}
    return forms.beside("TrainingStep", _NAMED, more)


def _throughput(forms: _Forms) -> dict[str, Any]:
    names = ("Throughput", "ThroughputBound", "EffectiveBisection", "WorstCase")
    return {"anyOf": [forms.beside(name, _NAMED) for name in names]}


def _ecmp(forms: _Forms) -> dict[str, Any]:
    answers = {
        "collisions": "EcmpCollisions", "polarization": "Polarization", "churn": "LinkChurn", "job": "JobCollisions",
        "remedies": "EcmpRemedies",
    }  # fmt: skip
    said = {"fabric": _TEXT, "notes": _OBJECTS, "assumptions": _TEXTS}
    return forms.mapping(said, {key: forms.of(name) for key, name in answers.items()})


def _fail(forms: _Forms) -> dict[str, Any]:
    answers = {
        "degraded": "DegradedCapacity", "survivability": "Survivability", "availability": "Availability",
        "worst": "WorstFailures", "replay": "Replay", "jobs": "JobFailures",
    }  # fmt: skip
    more = {key: forms.of(name) for key, name in answers.items()}
    said = {"fabric": _TEXT, "notes": _OBJECTS}
    return forms.mapping(said, {**more, "drains": _OBJECTS, "passes": {"type": "boolean"}})


def _place(forms: _Forms) -> dict[str, Any]:
    said = {"fabric_name": _TEXT, "notes_read": _TEXTS}
    names = ("PlacementFound", "PlacementAffinity", "JobsPlaced", "Moves")
    compared = {"comparison": forms.of("SchedulerComparison")}
    return {"anyOf": [forms.beside(name, said, compared) for name in names]}


def _plan(forms: _Forms) -> dict[str, Any]:
    plans = [forms.mapping({"plan": forms.of("CablingPlan"), "files": _TEXTS})]
    return {"anyOf": [*plans, forms.mapping({"growth": forms.of("Growth"), "files": _TEXTS})]}


def _bisect(forms: _Forms) -> dict[str, Any]:
    halves = {"type": "array", "items": _TEXTS}
    return forms.beside("Bisection", {"fabric": _TEXT, "notes": _OBJECTS, "half_members": halves})


def _convert(forms: _Forms) -> dict[str, Any]:
    count = {"type": "integer"}
    counts = dict.fromkeys(("n_nodes", "n_links", "n_cables_written", "n_bytes"), count)
    return forms.mapping({"file": _TEXT, "fabric": _TEXT, "format": _TEXT, **counts, "lost": _TEXTS})


def _doctor(forms: _Forms) -> dict[str, Any]:
    one = {"check": _TEXT, "is_fine": {"type": "boolean"}, "needed": {"type": "boolean"}, "said": _TEXT}
    line = {"type": "object", "properties": one, "required": list(one), "additionalProperties": False}
    return forms.mapping({"is_fine": {"type": "boolean"}, "checks": {"type": "array", "items": line}})


VERB_SCHEMAS: dict[str, Callable[[_Forms], dict[str, Any]]] = {
    "list": lambda forms: {"anyOf": [forms.beside("Catalog", {}), forms.beside("SpecKeys", {})]},
    "show": _show,
    "report": _report,
    "map": _map,
    "compare": lambda forms: forms.beside("FabricComparison", {}),
    "bisect": _bisect,
    "throughput": _throughput,
    "ecmp": _ecmp,
    "fail": _fail,
    "goodput": lambda forms: forms.beside("Goodput", _NAMED),
    "collective": _collective,
    "step": _step,
    "place": _place,
    "design": lambda forms: forms.beside("Candidates", {}),
    "plan": _plan,
    "validate": lambda forms: forms.beside("Validation", {}),
    "repair": lambda forms: forms.beside("Repair", {}),
    "convert": _convert,
    "doctor": _doctor,
}
"""Verbs that print JSON, with what makes the schema."""
