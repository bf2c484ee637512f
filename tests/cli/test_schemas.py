"""Schemas and templates: what the loaders take, schemas take; a wrong key is refused by both."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import topo
from topo.analysis.failures.rates import read_failure_rates
from topo.cli import main
from topo.cli.jobs import read_training_job
from topo.cli.schema_files import FILE_SCHEMAS, file_schema
from topo.cli.schemas import DRAFT, result_classes, result_schema
from topo.cli.templates import TEMPLATES
from topo.design.prices import read_prices
from topo.design.requirements import read_requirements
from topo.design.rules import read_rack_rules
from topo.document import parse_document, read_document
from topo.errors import InputError
from topo.result import Result
from topo.source import fabrics_folder
from topo.spec.builders import BUILDERS
from topo.wiring.accept import read_accepted

LOADERS: dict[str, Callable[[str], Any]] = {
    "spec": topo.load,
    "job": topo.read_job,
    "training-job": read_training_job,
    "failures": read_failure_rates,
    "racks": read_rack_rules,
    "prices": read_prices,
    "accept": read_accepted,
    "requirements": read_requirements,
}
RUNS: dict[str, tuple[str, ...]] = {
    "spec": ("show", "spec.yaml"),
    "job": ("place", "leaf-spine-2to1", "--job", "job.yaml"),
    "training-job": ("step", "nvidia-superpod-h100-1su", "--job", "training-job.yaml"),
    "failures": ("fail", "leaf-spine-2to1", "--availability", "enumeration", "--rates", "failures.yaml"),
    "racks": ("plan", "leaf-spine-2to1", "--racks", "racks.yaml", "--no-xlsx"),
    "prices": ("plan", "leaf-spine-2to1", "--prices", "prices.yaml", "--no-xlsx"),
    "accept": ("validate", "leaf-spine-2to1", "--accept", "accept.yaml"),
    "requirements": ("design", "--requirements", "requirements.yaml"),
}
WRONG: dict[str, list[tuple[tuple[str | int, ...], Any]]] = {
    "spec": [
        (("surprise",), 1),
        (("parameters", "hots"), 1),
        (("parameters", "hosts"), "many"),
        (("builder",), "cloz"),
        (("expect", "n_hots"), 3),
        (("sources", 0, "label"), "Q"),
        (("switch_part",), "no-such-switch"),
    ],
    "job": [
        (("surprise",), 1),
        (("degrees", "tensors"), 2),
        (("degrees", "tensor"), 0),
        (("order",), ["tensor", "time"]),
        (("constraints", "whole_host"), True),
        (("constraints", "whole_hosts"), "maybe"),
    ],
    "training-job": [
        (("surprise",), 1),
        (("plan", "tensors"), 2),
        (("plan", "flash"), "maybe"),
        (("model",), "gpt-none"),
        (("accelerator",), "abacus"),
    ],
    "failures": [
        (("switches",), {"fit": 1, "mttr_h": 1}),
        (("switch", "fits"), 1),
        (("switch", "mttr_h"), 0),
        (("switch", "fit"), 5),
        (("link", 0, "afr"), 1),
    ],
    "racks": [
        (("surprise",), 1),
        (("rack", "unit"), 4),
        (("rack", "units"), 1),
        (("leaf",), "bottom"),
        (("cables", "media"), ["string"]),
    ],
    "prices": [
        (("surprise",), 1),
        (("switches", "qm9700", "prices"), 1),
        (("switches", "qm9700", "price"), -1),
        (("cables", "copper", "per_m"), "cheap"),
    ],
    "accept": [(("surprise",), 1), (("accept", 0, "whence"), "x"), (("accept", 0, "code"), "no-such-code")],
    "requirements": [(("surprise",), 1), (("rails",), "eight")],
}


def validator(kind: str) -> jsonschema.Draft202012Validator:
    schema = file_schema(kind)
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def test_tables_name_the_same_kinds() -> None:
    assert set(FILE_SCHEMAS) == set(TEMPLATES) == set(LOADERS) == set(RUNS) == set(WRONG)


@pytest.mark.parametrize("kind", TEMPLATES)
def test_templates_load_and_follow_their_schema(kind: str, tmp_path: Path) -> None:
    path = tmp_path / f"{kind}.yaml"
    path.write_text(TEMPLATES[kind], "utf-8")
    validator(kind).validate(read_document(path).value)
    assert LOADERS[kind](str(path)) is not None
    assert TEMPLATES[kind].startswith("# ") and "'topo " in TEMPLATES[kind]
    assert max(map(len, TEMPLATES[kind].splitlines())) <= 120


@pytest.mark.parametrize("kind", TEMPLATES)
def test_the_run_that_a_template_names_works(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["template", kind, "-o", f"{kind}.yaml"]) == 0
    assert Path(f"{kind}.yaml").read_text("utf-8") == TEMPLATES[kind]
    assert f"topo {RUNS[kind][0]} " in TEMPLATES[kind]
    assert main(list(RUNS[kind])) == 0
    out, err = capsys.readouterr()
    assert out and err == ""


def test_every_catalogue_spec_follows_the_schema_of_specs() -> None:
    check = validator("spec")
    paths = sorted(fabrics_folder().glob("*.yaml"))
    assert len(paths) > 50
    for path in paths:
        errors = [f"{error.json_path}: {error.message}" for error in check.iter_errors(read_document(path).value)]
        assert errors == [], path.name


@pytest.mark.parametrize(("kind", "place", "value"), [(k, place, v) for k, rows in WRONG.items() for place, v in rows])
def test_what_is_wrong_is_refused_by_schema_and_loader(
    kind: str, place: tuple[str | int, ...], value: Any, tmp_path: Path
) -> None:
    document = copy.deepcopy(parse_document(TEMPLATES[kind]).value)
    inner = document
    for step in place[:-1]:
        inner = inner[step]
    inner[place[-1]] = value
    assert not validator(kind).is_valid(document)
    path = tmp_path / "wrong.yaml"
    path.write_text(json.dumps(document), "utf-8")
    with pytest.raises(InputError, match=r"wrong\.yaml"):
        LOADERS[kind](str(path))


@pytest.mark.parametrize("builder", BUILDERS)
def test_no_builder_takes_a_parameter_that_it_has_not(builder: str) -> None:
    document = {
        "name": "x", "title": "x", "operator": "x", "sources": [{"text": "x", "label": "D"}], "builder": builder,
        "parameters": {"surprise": 1},
    }  # fmt: skip
    errors = list(validator("spec").iter_errors(document))
    assert any("'surprise' was unexpected" in error.message for error in errors)


def test_schemas_of_answers_are_schemas() -> None:
    for name, kind in result_classes().items():
        schema = result_schema(kind)
        jsonschema.Draft202012Validator.check_schema(schema)
        assert schema["title"] == name and schema["$schema"] == DRAFT and schema["properties"]
        assert {} not in schema["properties"].values(), f"{name} has a field whose type says nothing"


def small_answers() -> list[Result]:
    fabric = topo.leaf_spine(leaves=4, spines=2, hosts_per_leaf=4, parallel=1)
    return [
        topo.inventory(fabric),
        topo.buildable(fabric),
        topo.bisection_bandwidth(fabric),
        topo.min_cut(fabric, [0], [5]),
        topo.leaves_spanned(fabric, [0, 5]),
        topo.ecmp_stage(4, 4),
        topo.ecmp_collisions(fabric, topo.traffic.permutation(fabric, seed=3), samples=8),
        topo.throughput(fabric, topo.traffic.all_to_all(fabric)),
        topo.collective_cost("all_reduce", bytes=1e9, ranks=8, alpha_us=5.0, bandwidth_gbyte_s=50.0),
        topo.validate(fabric.without(links=[17]), fabric),
        topo.repair_wiring(fabric.without(links=[17]), fabric),
        topo.place(fabric, topo.Job(size=4)),
        topo.catalog(),
    ]


def test_answers_follow_the_schema_of_their_class() -> None:
    for answer in small_answers():
        schema = result_schema(type(answer))
        said = json.loads(answer.to_json())
        jsonschema.validate(said, schema, jsonschema.Draft202012Validator)
        first = next(iter(said))
        assert not jsonschema.Draft202012Validator(schema).is_valid({**said, first: {"not": "that"}})


def test_schema_prints_them_all(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema"]) == 0
    names = capsys.readouterr().out
    for name in (*FILE_SCHEMAS, "bisect", "Bisection"):
        assert f"  {name}\n" in names
    for name, title in (("spec", "A fabric as a spec file"), ("bisect", "topo bisect --format json")):
        assert main(["schema", name]) == 0
        assert json.loads(capsys.readouterr().out)["title"] == title
    assert main(["schema", "Bisecton"]) == 2
    assert "did you mean 'Bisection'" in capsys.readouterr().err
    assert main(["template", "specs"]) == 2
    assert "did you mean 'spec'?" in capsys.readouterr().err
