"""All verbs alike: options, JSON by its schema, silence, refusals; a verb that is added has to join these tables."""

from __future__ import annotations

import inspect
import json
from collections import defaultdict
from pathlib import Path
from typing import Any, get_args

import jsonschema
import pytest
from typer.models import OptionInfo

from topo.cli import main
from topo.cli.groups import GROUPS
from topo.cli.program import program
from topo.cli.schema_verbs import VERB_SCHEMAS, verb_schema
from topo.cli.templates import TEMPLATES
from topo.report.explanations import EXPLANATIONS

SPEC = """name: {name}
title: Small
operator: none
sources: [{{text: ours, label: D}}]
builder: leaf_spine
parameters: {{leaves: 4, spines: {spines}, hosts_per_leaf: 8}}
"""
TRAINING = """model: {name: tiny, layers: 4, hidden: 512, heads: 8, vocabulary: 1024, sequence: 512}
plan: {batch: 32, data: 16}
"""
F = "small.yaml"
LINK = "link:leaf-1--spine-1"
SAMPLED = ("--samples", "64")
COMMANDS: dict[str, list[tuple[str, ...]]] = {
    "list": [(), ("--builders",)],
    "show": [(F,), ("nvidia-superpod-h100-1su",)],
    "report": [
        (F, "-o", "-", "--sections", "inventory,bisection"),
        (F, "-o", "-"),
        (F, "-o", "-", "--job", "job.yaml", "--sections", "wiring"),
        (F, "-o", "-", "--compare", "other.yaml"),
        (F, "-o", "-", "--compare", "other.yaml", "--explain"),
        (F, "-o", "-", "--explain", "--sections", "throughput"),
    ],
    "map": [(F, "-o", "-"), (F, "-o", "-", "--explain")],
    "compare": [(F, "other.yaml")],
    "bisect": [(F,), (F, "--keep", "none")],
    "throughput": [
        (F,),
        (F, "--demand", "upper-bound"),
        (F, "--demand", "effective-bisection", "--samples", "4"),
        (F, "--demand", "worst-permutation"),
        (F, "--routing", "single-path", "--samples", "4", "--demand", "permutation"),
    ],
    "ecmp": [
        (F, *SAMPLED),
        (F, *SAMPLED, "--remedies"),
        (F, "--polarization", "--hash", "crc-32"),
        (F, "--churn", LINK),
        (F, "--collective", "ring"),
    ],
    "fail": [
        (F, "--down", "spine-1", "--require", "0.1"),
        (F, "--n-1", "--worst", "1"),
        (F, "--availability", "enumeration"),
        (F, "--events", "events.csv"),
        (F, "--job", "train=host-0*"),
    ],
    "goodput": [(F, *SAMPLED), (F, "--demand", "permutation", *SAMPLED)],
    "collective": [(F, "--by-size")],
    "step": [(F, "--job", "training.yaml", "--fingerprint", "--sensitivity")],
    "place": [
        (F, "--hosts", "4"),
        (F, "--hosts", "4", "--compare", "slurm-tree"),
        (F, "--hosts", "4", "--pattern", "ring", "--score", "hosts.txt"),
        (F, "--job", "job.yaml", "--job", "job2.yaml"),
    ],
    "design": [("--accelerators", "64", "--radix", "16")],
    "plan": [(F, "-o", "plan", "--no-xlsx"), ("larger.yaml", "--from", F)],
    "validate": [(F,), (F, "--against", "same.yaml")],
    "repair": [(F, "--against", "same.yaml")],
    "convert": [(F, "x.dot"), (F, "x.fabric")],
    "doctor": [()],
}
"""Runs of each verb that answer with status 0; all take ``--format json``."""
NO_ANSWER = {"template", "schema", "completion"}
"""Verbs that write one thing that is no answer: a file, a schema, a script."""
DRAW = {
    "show", "report", "compare", "bisect", "throughput", "ecmp", "fail", "goodput", "collective", "step", "place",
    "design",
}  # fmt: skip
"""Verbs that draw at random where numbers are many: they take ``--seed``."""
SPREAD = {
    "report": ("-o", "-", "--sections", "collisions,failures", F),
    "ecmp": ("--hash", "crc-32", *SAMPLED, F),
    "fail": ("--n-1", F),
    "design": ("--accelerators", "64", "--radix", "16"),
}
"""Runs whose work is spread over processes, each with ``--jobs``."""
NO_FABRIC = {"list", "design", "doctor", *NO_ANSWER}
RUNS = [(verb, run) for verb, runs in COMMANDS.items() for run in runs]


def functions() -> dict[str, Any]:
    return {str(one.name): one.callback for one in program.registered_commands}


def options() -> dict[str, dict[str, OptionInfo]]:
    """Spelling -> verb -> what typer is told."""
    found: dict[str, dict[str, OptionInfo]] = defaultdict(dict)
    for verb, function in functions().items():
        for parameter in inspect.signature(function).parameters.values():
            told = get_args(parameter.annotation)[1]
            if isinstance(told, OptionInfo):
                first = (told.default,) if isinstance(told.default, str) else ()
                for spelling in (*first, *(told.param_decls or ())):
                    found[spelling][verb] = told
    return found


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    files = {
        F: SPEC.format(name="small", spines=4),
        "same.yaml": SPEC.format(name="same", spines=4),
        "other.yaml": SPEC.format(name="other", spines=8),
        "larger.yaml": SPEC.format(name="larger", spines=4).replace("leaves: 4", "leaves: 5"),
        "training.yaml": TRAINING,
        "job.yaml": "name: four\nsize: 4\n",
        "job2.yaml": "name: three\nsize: 3\n",
        "events.csv": "time,element,event\n2026-01-01T00:00:00,spine-1,down\n2026-01-02T00:00:00,spine-1,up\n",
        "hosts.txt": "host-01\nhost-02\nhost-03\nhost-04\n",
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text, "utf-8")
    return tmp_path


def test_every_verb_stands_in_the_tables_and_in_a_group() -> None:
    assert set(functions()) <= COMMANDS.keys() | NO_ANSWER
    grouped = [name for names in GROUPS.values() for name in names]
    assert len(grouped) == len(set(grouped)) and set(functions()) <= set(grouped)
    assert set(VERB_SCHEMAS) == COMMANDS.keys()


def test_the_help_lists_verbs_by_group(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    text = capsys.readouterr().out
    for title, names in GROUPS.items():
        block = text.split(f"\n{title}:\n")[1].split("\n\n")[0]
        assert [line.split()[0] for line in block.splitlines()] == [name for name in names if name in functions()]


def test_verbs_share_their_options() -> None:
    found = options()
    everywhere = set(functions())
    assert set(found["--quiet"]) == set(found["-q"]) == everywhere
    assert set(found["--format"]) >= COMMANDS.keys()
    assert set(found["--output"]) == set(found["-o"]) == everywhere - {"convert"}
    assert set(found["--explain"]) >= {"bisect", "throughput", "ecmp", "fail", "goodput", "collective", "step", "place"}
    assert set(found["--assume-gbps"]) == set(found["--read-as"]) >= COMMANDS.keys() - NO_FABRIC
    assert "--workers" not in found and set(found["--jobs"]) == set(found["-j"]) == SPREAD.keys()
    assert set(found["--cluster"]) == SPREAD.keys() - {"design"}
    assert set(found["--seed"]) == DRAW
    # One spelling has one value's name, wherever it is.
    for spelling in ("--seed", "--down", "--rate", "--assume-gbps", "--read-as", "--cluster", "--against"):
        assert len({(told.metavar, told.help) for told in found[spelling].values()}) == 1, spelling


@pytest.mark.parametrize(("verb", "run"), RUNS, ids=[" ".join((verb, *run)) for verb, run in RUNS])
def test_json_follows_its_schema(verb: str, run: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([verb, *run, "--format", "json"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    said = json.loads(out)
    schema = verb_schema(verb)
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(said, schema, jsonschema.Draft202012Validator)
    # The schema is no carte blanche: a key that is not there, or one too many, is refused.
    broken = [{key: value for key, value in said.items() if key != next(iter(said))}, {**said, "surprise": 1}]
    for wrong in broken:
        assert not jsonschema.Draft202012Validator(schema).is_valid(wrong)


@pytest.mark.parametrize("verb", COMMANDS)
def test_quiet_prints_nothing(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (("--quiet",), ("-q", "--format", "json")):
        assert main([verb, *COMMANDS[verb][0], *arguments]) == 0
        assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("verb", sorted(COMMANDS.keys() - NO_FABRIC))
def test_a_fabric_that_is_none_is_one_line(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("bad.yaml").write_text("name: bad\nbuilder: leaf_spine\nparameters: {leafs: 4}\n")
    for fabric in ("no-such-fabric-anywhere", "bad.yaml", "none/at/all.txt"):
        # The first mention of the fabric is its place among the arguments.
        run = [fabric if word in (F, "larger.yaml") else word for word in COMMANDS[verb][0]]
        assert main([verb, *run, "--quiet"]) == 2
        out, err = capsys.readouterr()
        assert out == "" and err.startswith("topo: ") and err.count("\n") == 1 and "Traceback" not in err


@pytest.mark.parametrize("verb", sorted(COMMANDS.keys() - {"report", "plan", "convert"}))
def test_output_goes_whole_to_a_file(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    run = COMMANDS[verb][0]
    assert main([verb, *run, "--format", "json", "-o", "answer.json"]) == 0
    told = capsys.readouterr().out
    assert "answer.json" in told.splitlines()[-1]
    assert json.loads(Path("answer.json").read_text("utf-8"))
    assert main([verb, *run, "-o", "no/folder/answer.txt"]) == 2
    assert "no/folder/answer.txt: there is no folder" in capsys.readouterr().err


@pytest.mark.parametrize("verb", sorted(options()["--explain"]))
def test_explanations_are_three_sentences(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    run = (*COMMANDS[verb][0], "--explain")
    assert main([verb, *run]) == 0
    assert "What would change it: " in capsys.readouterr().out
    assert main([verb, *run, "--format", "json"]) == 0
    said = json.loads(capsys.readouterr().out)
    jsonschema.validate(said, verb_schema(verb), jsonschema.Draft202012Validator)
    assert said["explanations"]
    for one in said["explanations"]:
        begins = ("Map of ", *(what for what, _, _ in EXPLANATIONS.values()))
        assert one["computed"].startswith(begins)


def test_a_report_of_two_explains_the_comparison_and_the_answers_of_each(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", F, "-o", "-", "--compare", "other.yaml", "--explain", "--format", "md"]) == 0
    said = capsys.readouterr().out.partition("## The answers explained")[2]
    assert "| Fabrics side by side |" in said
    bisections = [line for line in said.splitlines() if ": Bisection bandwidth |" in line]
    assert len(bisections) == 2 and all("What would change it: " in line for line in bisections)


def test_a_template_without_a_kind_lists_them(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["template"]) == 0
    rows = capsys.readouterr().out.splitlines()[1:]
    assert {row.split()[0] for row in rows} == set(TEMPLATES)
    assert all(len(row.split()) > 2 and "'" not in row for row in rows)


def test_an_explanation_does_not_spoil_a_page(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", F, "--format", "html", "--explain"]) == 2
    assert "--explain goes with --format text and json" in capsys.readouterr().err


def test_findings_pass_through_an_output_file(capsys: pytest.CaptureFixture[str]) -> None:
    """The exit status is the verb's own, and the file is written all the same."""
    assert main(["fail", F, "--down", "spine-1", "--require", "1", "-o", "answer.txt"]) == 1
    assert "FAILS" in Path("answer.txt").read_text()
    assert main(["fail", F, "--down", "spine-1", "--require", "1", "-q"]) == 1
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("verb", SPREAD)
def test_jobs_change_no_answer(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    said = []
    for jobs in ("1", "2", "3"):
        assert main([verb, *SPREAD[verb], "--seed", "3", "--format", "json", "--jobs", jobs]) == 0
        said.append(capsys.readouterr().out)
    assert said[0] == said[1] == said[2]


def test_a_report_draws_with_the_seed_it_is_given(capsys: pytest.CaptureFixture[str]) -> None:
    """The permutation, the hashes and the failed links are drawn anew; all else stays as it was."""
    said = []
    for seed in ("0", "1"):
        run = ["report", F, "-o", "-", "--sections", "collisions,failures,throughput", "--format", "json"]
        assert main([*run, "--seed", seed]) == 0
        said.append(json.loads(capsys.readouterr().out))
    first, second = said
    assert [one["failures"]["curve"]["seed"] for one in said] == [0, 1]
    assert [one["collisions"]["collisions"]["seed"] for one in said] == [0, 1]
    assert [one["bisection"]["seed"] for one in said] == [0, 1]
    assert first["collisions"]["collisions"]["tiers"] != second["collisions"]["collisions"]["tiers"]
    for answer in (first, second):
        del answer["bisection"]["seed"]
    assert first["bisection"] == second["bisection"]
    assert first["failures"]["survivability"] == second["failures"]["survivability"]


@pytest.mark.parametrize("option", [("--sections", "tiers"), ("--endpoints", "host-0*"), ("--jobs", "2")])
def test_a_report_of_two_refuses_what_is_of_one(option: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", F, "--compare", "other.yaml", *option]) == 2
    assert f"{option[0]} is of a report of one fabric" in capsys.readouterr().err


def test_a_placement_goes_to_a_file_as_every_answer_does(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["place", F, "--hosts", "2", "-o", "answer.txt"]) == 0
    assert "Placement of 2 hosts" in Path("answer.txt").read_text("utf-8")
    assert main(["place", F, "--hosts", "2", "--write", "nodelist", "-o", "nodes.txt", "--format", "json"]) == 0
    assert "Placement" not in Path("nodes.txt").read_text("utf-8")
    assert capsys.readouterr().err == ""
