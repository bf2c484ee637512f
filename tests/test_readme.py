"""The README says what is so: its commands run, its outputs and tables are what the program prints.

Run as a program, this file writes the outputs and tables anew.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer

from topo.cli.program import program
from topo.io import FORMATS
from topo.source import catalog

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
CONSOLE = re.compile(r"^```console\n\$ (.+)\n((?:.*\n)*?)```$", re.MULTILINE)
BLOCK = re.compile(r"^```(\w+)\n((?:.*\n)*?)```$", re.MULTILINE)


def fabrics_table() -> str:
    lines = ["| name | fabric | endpoints | switches | tiers | planes |", "| --- | --- | ---: | ---: | ---: | ---: |"]
    for entry in catalog():
        numbers = (entry.n_endpoints, entry.n_switches, entry.n_tiers, entry.n_planes)
        counts = ["-" if count is None else f"{count:,}" for count in numbers]
        lines.append("| " + " | ".join([f"`{entry.name}`", entry.title, *counts]) + " |")
    return "\n".join(lines)


def formats_table() -> str:
    lines = ["| format | what it is |", "| --- | --- |"]
    return "\n".join(lines + [f"| {row.name} | {row.description} |" for row in FORMATS])


TABLES = {"fabrics": fabrics_table, "formats": formats_table}


def blocks(text: str, language: str) -> Iterator[str]:
    return (body for found, body in BLOCK.findall(text) if found == language)


def run(command: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a command with this interpreter's programs first, away from the checkout."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        command, cwd=folder, env={**os.environ, "PATH": path}, capture_output=True, text=True, timeout=300, check=False
    )


def section(text: str, name: str) -> str:
    found = re.search(rf"<!-- {name} -->\n(.*?)<!-- /{name} -->", text, re.DOTALL)
    assert found, f"README.md has no <!-- {name} --> section"
    return found[1].strip()


@pytest.fixture(scope="module")
def text() -> str:
    return README.read_text("utf-8")


@pytest.mark.parametrize("name", TABLES)
def test_tables_are_those_of_the_code(text: str, name: str) -> None:
    assert section(text, name) == TABLES[name]().strip()


def test_console_outputs_are_what_the_commands_print(text: str, tmp_path: Path) -> None:
    found = CONSOLE.findall(text)
    assert len(found) == text.count("```console") > 0
    for command, output in found:
        done = run(command.split(), tmp_path)
        assert (done.returncode, done.stderr) == (0, ""), command
        assert done.stdout == output, command


def test_the_job_line_ends_in_a_command_that_runs(text: str, tmp_path: Path) -> None:
    job = next(line for body in blocks(text, "sh") for line in body.splitlines() if "pytest" not in line)
    steps = job.split(" && ")
    assert steps[0] == "python3 -m venv .venv" and steps[1].startswith(".venv/bin/pip install")
    done = run(steps[-1].removeprefix(".venv/bin/").split(), tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert [path.name for path in tmp_path.iterdir()] == ["nvidia-superpod-h100-4su-report.html"]


def test_every_shell_line_is_the_job_or_the_test_line(text: str) -> None:
    lines = [line for body in blocks(text, "sh") for line in body.splitlines()]
    assert len(lines) == 2
    assert all(line.startswith("python3 -m venv .venv && .venv/bin/pip install") for line in lines)
    assert ["pytest" in line for line in lines] == [False, True]


def test_python_runs(text: str, tmp_path: Path) -> None:
    snippets = list(blocks(text, "python"))
    assert snippets
    for snippet in snippets:
        done = run([sys.executable, "-c", snippet], tmp_path)
        assert (done.returncode, done.stderr) == (0, "")
        assert "201600.0 201600.0 True" in done.stdout


def test_every_verb_and_file_it_names_exists(text: str) -> None:
    verbs = set(re.findall(r"`topo (\w+)", text)) | set(re.findall(r"^\$ topo (\w+)", text, re.MULTILINE))
    known = getattr(typer.main.get_command(program), "commands", {})
    assert {"list", "show", "report", "bisect"} <= verbs <= known.keys()
    for name in ("LICENSE", ".ci/run", "fabrics", "tests/test_readme.py"):
        assert name in text and (ROOT / name).exists()


def test_it_says_that_igraph_is_gpl(text: str) -> None:
    assert "igraph, is GPL-2.0-or-later" in " ".join(text.split())


def updated(text: str, folder: Path) -> str:
    for name, table in TABLES.items():
        pattern = re.compile(rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)", re.DOTALL)
        text = pattern.sub(lambda found, table=table: f"{found[1]}\n{table()}\n\n{found[2]}", text)
    return CONSOLE.sub(lambda found: f"```console\n$ {found[1]}\n{run(found[1].split(), folder).stdout}```", text)


if __name__ == "__main__":
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        README.write_text(updated(README.read_text("utf-8"), Path(folder)), "utf-8")
