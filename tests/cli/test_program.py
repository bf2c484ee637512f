"""Completion, the doctor, and the sign of life."""

from __future__ import annotations

import json
import os
import pty
import select
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import jsonschema
import pytest

from topo.cli import main
from topo.cli.checks import Check
from topo.cli.completing import SCRIPTS, completions
from topo.cli.groups import GROUPS
from topo.cli.program import program
from topo.cli.schema_verbs import verb_schema
from topo.source import fabrics_folder

NAMES = sorted(path.stem for path in fabrics_folder().glob("*.yaml"))


def words(*given: str) -> list[str]:
    return [word for word, _ in completions(given)]


def test_verbs_complete_with_their_help() -> None:
    found = dict(completions([""]))
    assert {str(one.name) for one in program.registered_commands} | {"--help", "--version"} == found.keys()
    assert found["bisect"] == "The bisection bandwidth and the cut behind it."
    assert words("s") == [name for group in GROUPS.values() for name in group if name.startswith("s")]


def test_fabrics_complete_by_the_catalogue() -> None:
    assert words("show", "") == NAMES
    assert words("bisect", "leaf-sp") == ["leaf-spine-2to1"]
    assert words("validate", "--against", "") == []  # files
    tori = [name for name in NAMES if name.startswith("torus")]
    assert words("compare", "leaf-spine-2to1", "torus") == tori and "torus-8x8x8" in tori


def test_options_and_their_values_complete() -> None:
    assert words("bisect", "--ke") == ["--keep"]
    assert words("bisect", "x", "--keep", "") == ["host", "domain", "pod", "none"]
    assert words("bisect", "--keep", "d") == ["domain"]
    assert words("report", "x", "--format", "") == ["html", "md", "json"]
    assert words("fail", "x", "--require", "") == []
    assert words("throughput", "--lag", "leaf-sp") == ["leaf-spine-2to1"]  # a flag takes no value
    assert "--slowest" in words("goodput", "--")
    assert words("template", "ac") == ["accept"]
    assert words("completion", "") == ["bash", "zsh", "fish"]
    assert words("nothing", "") == []


def test_each_verbs_options_are_those_of_its_help(capsys: pytest.CaptureFixture[str]) -> None:
    for one in program.registered_commands:
        assert main([str(one.name), "--help"]) == 0
        text = capsys.readouterr().out
        for option in words(str(one.name), "--"):
            assert option in text


@pytest.fixture
def path_with_topo(tmp_path: Path) -> str:
    """A PATH on which ``topo`` is this program."""
    script = tmp_path / "bin" / "topo"
    script.parent.mkdir()
    script.write_text(f'#!/bin/sh\nexec {sys.executable} -m topo "$@"\n')
    script.chmod(0o755)
    return f"{script.parent}:{os.environ['PATH']}"


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_bash_completes(path_with_topo: str, tmp_path: Path) -> None:
    """The shell itself asks: COMP_WORDS as bash fills them, COMPREPLY as bash reads it."""
    ask = """
    eval "$(topo completion bash)"
    COMP_WORDS=(topo bisect leaf-spine-2to1 --keep d); COMP_CWORD=4; _topo; echo "${COMPREPLY[@]}"
    COMP_WORDS=(topo bis); COMP_CWORD=1; _topo; echo "${COMPREPLY[@]}"
    COMP_WORDS=(topo show oracle); COMP_CWORD=2; _topo; echo "${COMPREPLY[@]}"
    COMP_WORDS=(topo validate x --against ''); COMP_CWORD=4; _topo; echo "none:${#COMPREPLY[@]}"
    complete -p topo
    """
    done = subprocess.run(
        ["bash", "--norc", "-c", ask], capture_output=True, text=True, timeout=120, cwd=tmp_path,
        env={**os.environ, "PATH": path_with_topo},
    )  # fmt: skip
    assert done.stderr == ""
    assert done.stdout.splitlines() == [
        "domain", "bisect", "oracle-zettascale", "none:0", "complete -o default -F _topo topo",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("shell", "start"),
    [
        ("bash", 'PS1="> "; bind "set enable-bracketed-paste off"; source ./script\n'),
        ("zsh", "PS1='> '; unsetopt zle_bracketed_paste; autoload -U compinit; compinit -u -D; source ./script\n"),
    ],
)
def test_the_tab_key_completes(shell: str, start: str, path_with_topo: str, tmp_path: Path) -> None:
    """A verb, a name of the catalogue and a value of an option, each completed by the shell's own TAB."""
    if shutil.which(shell) is None:
        pytest.skip(f"needs {shell}")
    (tmp_path / "script").write_text(SCRIPTS[shell], "utf-8")
    plainly = {"bash": ["--norc", "--noprofile", "-i"], "zsh": ["-f", "-i"]}[shell]
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(tmp_path)
        os.execvpe(shell, [shell, *plainly], {**os.environ, "PATH": path_with_topo, "TERM": "dumb", "COLUMNS": "200"})
    try:
        os.write(terminal, start.encode())
        for typed, wanted in (
            ("topo bis\t", "topo bisect"), ("topo show oracl\t", "topo show oracle-zettascale"),
            ("topo bisect x --keep dom\t", "--keep domain"),
        ):  # fmt: skip
            os.write(terminal, typed.encode())
            assert wanted in _shown_until(terminal, wanted)
            os.write(terminal, b"\x15")  # the line is thrown away
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(terminal)


def _shown_until(terminal: int, wanted: str, limit_s: float = 60.0) -> str:
    """What a terminal shows until a text is there, or nothing more comes."""
    shown, end = "", time.monotonic() + limit_s
    while wanted not in shown and time.monotonic() < end:
        if select.select([terminal], [], [], 0.5)[0]:
            shown += os.read(terminal, 1 << 12).decode(errors="replace")
    return shown


@pytest.mark.skipif(shutil.which("fish") is None, reason="needs fish")
def test_fish_completes(path_with_topo: str, tmp_path: Path) -> None:
    (tmp_path / "script").write_text(SCRIPTS["fish"], "utf-8")
    ask = "source ./script; for line in 'topo bis' 'topo show oracl' 'topo bisect x --keep dom'; complete -C $line; end"
    done = subprocess.run(
        ["fish", "--no-config", "-c", ask], capture_output=True, text=True, timeout=120, cwd=tmp_path,
        env={**os.environ, "PATH": path_with_topo},
    )  # fmt: skip
    assert [line.split("\t")[0] for line in done.stdout.splitlines()] == ["bisect", "oracle-zettascale", "domain"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_scripts_ask_for_words(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    assert script == SCRIPTS[shell] and f"topo completion {shell} -- " in script
    assert main(["completion", shell, "--", "bisect", "--keep", ""]) == 0
    assert capsys.readouterr().out == "host\ndomain\npod\nnone\n"
    assert main(["completion", shell, "--", "bis"]) == 0
    help = "" if shell == "bash" else "\tThe bisection bandwidth and the cut behind it."
    assert capsys.readouterr().out == f"bisect{help}\n"
    if shutil.which(shell):
        assert subprocess.run([shell, "-n"], input=script, text=True, capture_output=True).returncode == 0


def test_the_doctor_finds_this_installation_fine(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["doctor", "--format", "json"]) == 0
    said = json.loads(capsys.readouterr().out)
    jsonschema.validate(said, verb_schema("doctor"), jsonschema.Draft202012Validator)
    assert said["is_fine"] and list(tmp_path.iterdir()) == []
    names = [one["check"] for one in said["checks"]]
    assert "Python" in names and "package numpy" in names and "catalogue" in names
    assert sum(name.startswith("known answer: ") for name in names) >= 12


@pytest.mark.parametrize(("needed", "status"), [(True, 1), (False, 0)])
def test_the_doctors_exit_status(
    needed: bool, status: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("topo.cli.checks.checks", lambda: iter([Check("x", False, "is broken", needed)]))
    assert main(["doctor"]) == status
    text = capsys.readouterr().out
    assert ("WRONG" if needed else "missing") in text and "is broken" in text


def test_a_wrong_answer_is_told(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("topo.cli.checks._throughput", lambda fabric: 0.7)
    assert main(["doctor"]) == 1
    (line,) = [line for line in capsys.readouterr().out.splitlines() if "throughput" in line]
    assert line.startswith("WRONG") and "0.7, and it should be 0.625" in line


def test_on_a_terminal_the_answer_stands_alone() -> None:
    """Nothing of the sign is left on the line that the answer starts on."""
    parent, child = pty.openpty()
    done = subprocess.run(
        [sys.executable, "-m", "topo", "bisect", "leaf-spine-2to1", "--links", "0"],
        stdout=subprocess.PIPE, stderr=child, text=True, timeout=120,
    )  # fmt: skip
    os.close(child)
    os.set_blocking(parent, False)
    try:
        shown = os.read(parent, 1 << 16).decode()
    except (BlockingIOError, OSError):
        shown = ""
    os.close(parent)
    assert done.stdout.startswith("Bisection bandwidth of leaf-spine-2to1")
    assert shown == "" or shown.endswith("\r\x1b[2K")
