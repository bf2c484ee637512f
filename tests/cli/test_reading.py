"""Every verb that takes a FABRIC reads it in the same way: options, several files, folders, standard input."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
import typer

import topo
from topo.cli import main
from topo.cli.program import program

JOIN = {"report": ["-o", "out.html"], "convert": ["-", "--to", "dot"], "plan": ["--no-xlsx", "-o", "plan"],
        "place": ["--hosts", "2"], "step": ["--job", "job.yaml"], "map": ["-o", "map.html"]}  # fmt: skip
"""What a verb needs beside its FABRIC."""
SPEC = "name: tiny\ntitle: A spec\noperator: none\nbuilder: leaf_spine\n"
SPEC += "parameters: {leaves: 2, spines: 2, hosts_per_leaf: 4}\n"
SPEC += "sources:\n  - {text: made up, label: D}\n"
COLUMNS = "a_node=Von,a_port=2,z_node=Nach,z_port=4"


def takers() -> list[str]:
    """The verbs whose first argument is a fabric."""
    found = []
    for name, command in typer.main.get_command(program).commands.items():  # type: ignore[attr-defined]
        names = [parameter.name for parameter in command.params if parameter.param_type_name == "argument"]
        if names[:1] in (["fabric"], ["wiring"]):
            found.append(name)
    return found


VERBS = takers()


@pytest.fixture(autouse=True)
def _inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("job.yaml").write_text("model: gpt-22b\nplan: {batch: 8, tensor: 4, pipeline: 2}\n")


def rows(head: str, leaves: range) -> str:
    lines = [head]
    for leaf in leaves:
        lines += [f"leaf-{leaf},{host + 1},host-{leaf}-{host},HCA-1" for host in range(2)]
        lines += [f"leaf-{leaf},{10 + spine},spine-{spine},{leaf + 1}" for spine in range(2)]
    return "\n".join(lines) + "\n"


def run(verb: str, *given: str) -> int:
    arguments = list(given)
    if verb == "convert":
        return main([verb, *arguments[:1], *arguments[1:], *JOIN["convert"]])
    return main([verb, *arguments, *JOIN.get(verb, [])])


def test_there_are_the_verbs_that_we_know() -> None:
    assert {"show", "report", "bisect", "goodput", "collective", "throughput", "ecmp", "fail", "place", "validate",
            "repair", "plan", "convert", "step"} <= set(VERBS)  # fmt: skip


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_the_options_once(verb: str) -> None:
    command = typer.main.get_command(program).commands[verb]  # type: ignore[attr-defined]
    spellings = [text for parameter in command.params for text in parameter.opts if text.startswith("--")]
    assert len(spellings) == len(set(spellings))
    assert {"--columns", "--host-names", "--levels", "--read-as", "--input-format", "--assume-gbps"} <= set(spellings)


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_takes_a_table_with_columns_of_its_own(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("own.csv").write_text(rows("Von,p,Nach,q", range(4)))
    status = run(verb, "own.csv", "--columns", COLUMNS, "--assume-gbps", "400")
    assert status in (0, 1), capsys.readouterr().err
    assert run(verb, "own.csv", "--assume-gbps", "400") == 2
    assert "columns" in capsys.readouterr().err


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_joins_several_files_and_folders(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    head = "A-Node Name,A-Port,Z-Node Name,Z-Port"
    Path("parts").mkdir()
    Path("parts", "a.csv").write_text(rows(head, range(2)))
    Path("parts", "b.csv").write_text(rows(head, range(2, 4)))
    for given in (["parts/a.csv", "parts/b.csv"], ["parts"]):
        assert run(verb, *given, "--assume-gbps", "400") in (0, 1), capsys.readouterr().err
    assert run(verb, "leaf-spine-2to1", "parts") == 2
    assert "leaf-spine-2to1 is of the catalogue" in capsys.readouterr().err


@pytest.mark.parametrize("verb", [verb for verb in VERBS if verb not in ("validate", "repair")])
def test_every_verb_takes_standard_input_and_specs_of_any_name(
    verb: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("spec.txt").write_text(SPEC)
    assert run(verb, "spec.txt") in (0, 1), capsys.readouterr().err
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(SPEC.encode())))
    assert run(verb, "-") in (0, 1), capsys.readouterr().err
    assert run(verb, "spec.txt", "--columns", COLUMNS) == 2
    assert capsys.readouterr().err.startswith("topo: ")


def test_the_joined_fabric_is_the_whole_one() -> None:
    head = "A-Node Name,A-Port,Z-Node Name,Z-Port"
    Path("whole.csv").write_text(rows(head, range(4)))
    Path("parts").mkdir()
    for i in range(4):
        Path("parts", f"{i}.csv").write_text(rows(head, range(i, i + 1)))
    Path("parts", "README").write_text("what this folder is\n")
    whole, made = topo.load("whole.csv"), topo.load("parts")
    assert (len(made.nodes), len(made.links), made.name) == (len(whole.nodes), len(whole.links), "parts")
    assert sorted(zip(made.nodes.name.tolist(), made.nodes.tier.tolist(), strict=True)) == sorted(
        zip(whole.nodes.name.tolist(), whole.nodes.tier.tolist(), strict=True)
    )
    assert [note.source for note in made.origin.notes if "left out" in note.text] == ["parts/README"]


def test_options_are_used_where_they_fit_and_refused_where_nowhere() -> None:
    Path("own.csv").write_text(rows("Von,p,Nach,q", range(2)))
    Path("plain.csv").write_text(rows("A-Node Name,A-Port,Z-Node Name,Z-Port", range(2, 4)))
    columns = {"a_node": "Von", "a_port": 2, "z_node": "Nach", "z_port": 4}
    assert len(topo.load(["own.csv", "plain.csv"], columns=columns).links) == 16
    with pytest.raises(topo.TopoError, match="levels is of no use"):
        topo.load(["plain.csv", "own.csv"], columns=columns, levels=["a"])
    with pytest.raises(topo.InputError, match="given twice"):
        topo.load(["plain.csv", "./plain.csv"])
    Path("copy.csv").write_bytes(Path("plain.csv").read_bytes())
    with pytest.raises(topo.InputError, match=r"copy.csv: the same content as plain.csv; give one of the two"):
        topo.load(["plain.csv", "copy.csv"])
    with pytest.raises(topo.TopoError, match="hosts is for files from outside"):
        topo.load("leaf-spine-2to1", hosts="h*")


def test_a_bare_graph_is_told_its_hosts(capsys: pytest.CaptureFixture[str]) -> None:
    Path("g.dot").write_text('graph g { "a":"1" -- "x":"1"\n "b":"1" -- "x":"2" }\n')
    assert main(["show", "g.dot", "--hosts", "[ab]", "--assume-gbps", "100G", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["inventory"]["n_endpoints"] == 2
