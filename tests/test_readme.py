"""The README says what is so: its commands run, its outputs and tables are what the program prints.

Run as a program, this file writes the outputs and tables anew.
"""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer

from topo.cli.program import program
from topo.io import FORMATS
from topo.source import catalog
from topo.wiring import CODES, validate

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
    lines = ["| format | what it is | read | written | held against |", "| --- | --- | --- | --- | --- |"]
    for row in FORMATS:
        ways = ("yes" if row.read else "-", "yes" if row.writer else "-", row.held_against or "-")
        lines.append("| " + " | ".join([row.name, row.description, *ways]) + " |")
    return "\n".join(lines)


def codes_table() -> str:
    lines = ["| code | severity | what it says | usual fix |", "| --- | --- | --- | --- |"]
    return "\n".join(
        lines + [f"| `{row.code}` | {row.severity} | {row.meaning} | {row.fix} |" for row in CODES.values()]
    )


def notebooks_table() -> str:
    """Each notebook by its own first line."""
    lines = ["| notebook | question |", "| --- | --- |"]
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        first = "".join(json.loads(path.read_text("utf-8"))["cells"][0]["source"]).splitlines()[0]
        lines.append(f"| `{path.name}` | {first.lstrip('# ')} |")
    return "\n".join(lines)


TABLES = {"fabrics": fabrics_table, "formats": formats_table, "codes": codes_table, "notebooks": notebooks_table}

TRAINING = ("goodput", "collective", "step")

JUDGED = (
    "ibnetdiscover/selene.compute.txt",
    "ibnetdiscover/topograph__example.out",
    "ibnetdiscover/treydock__test.out",
    "ibnetdiscover/treydock__test2.out",
    "ibnetdiscover/ufm__small_topo_file",
    "ibnetdiscover/ufm_ndt__ibnetdiscover_director.txt",
    "wiring_csv/aristanetworks__avd__TWODC_5STAGE_CLOS-topology.csv",
    "wiring_csv/sonic-net__sonic-mgmt__sonic_lab_links.csv",
    "wiring_csv/ufm_ndt__ndth2s.csv",
    "wiring_csv/ufm_ndt__switch_to_host_topo1.ndt",
    "canu_shcd/Cray-HPE__canu__Architecture_Golden_Config_Dellanox.xlsx",
    "canu_shcd/Cray-HPE__canu__Full_Architecture_Golden_Config_1.1.5.xlsx",
    "canu_shcd/Cray-HPE__canu__TDS_Architecture_Golden_Config_1.1.5.xlsx",
    "canu_shcd/Cray-HPE__canu__test_validate_shcd.xlsx",
    "hedgehog/githedgehog__lab-ci__env-ci-1-spine-leaf.dot",
    "ptm_dot/CumulusNetworks__cldemo-vagrant__topology.dot",
    "ptm_dot/ddutt__evpn-in-the-datacenter__topology.dot",
    "ptm_dot/ls62-dev__citc-enable-ptm__topology.dot",
    "slurm_topology/NVIDIA__topograph__expected.slinky-dra-block.conf",
)
DIRECTOR_PLAN = ("ufm_ndt__switch_to_host_topo1.ndt", "ufm_ndt__switch_to_switch_topo2.ndt")


def findings_table(folder: Path) -> str:
    """What is found in each real file, errors and warnings by code."""
    lines = ["| file | cables | found |", "| --- | ---: | --- |"]
    given: list[tuple[str, list[Path]]] = [(name, []) for name in JUDGED]
    given.insert(6, (JUDGED[5], [folder / "wiring_csv" / name for name in DIRECTOR_PLAN]))
    for name, against in given:
        answer = validate(folder / name, against or None, consequence=False)
        grave = Counter(one.code for one in answer.findings if one.severity != "note")
        found = ", ".join(f"{n:,} {code}" for code, n in grave.most_common())
        plan = " against its two NDT files" if against else ""
        lines.append(f"| {name.rpartition('/')[2]}{plan} | {dict(answer.counts)['cables']:,} | {found} |")
    return "\n".join(lines)


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


def test_findings_are_those_of_the_real_files(text: str, shared_data: Path) -> None:
    assert section(text, "findings") == findings_table(shared_data)


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


def test_its_own_fabric_is_built_as_it_expects(text: str, tmp_path: Path) -> None:
    (spec,) = blocks(text, "yaml")
    (tmp_path / "mine.yaml").write_text(spec)
    done = run(["topo", "show", "mine.yaml"], tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("as built") == 2
    assert "differ" not in done.stdout


def test_the_numbers_in_its_prose_are_counted(text: str, shared_data: Path) -> None:
    """The shares that Selene's and the H100 cluster's faults leave."""
    prose = " ".join(text.split())
    for name, said in (
        ("selene.compute.txt", "{left} of an all-to-all is left, {shut} with the {n} cables shut"),
        ("topograph__example.out", "leave {left}, and {shut} with six cables shut"),
    ):
        done = run(["topo", "validate", str(shared_data / "ibnetdiscover" / name), "--fail-on", "never"], shared_data)
        left = re.search(r"all-to-all theta .*?\(([\d.]+) %\)", done.stdout)
        aid = re.search(r"shut the (\d+) cables left .* runs at ([\d.]+) % of the healthy", done.stdout)
        assert left and aid, done.stdout[:2000]
        words = {"left": f"{left[1]} %", "shut": f"{aid[2]} %", "n": aid[1]}
        assert said.format(**words) in prose, words


def test_the_two_commands_start_a_cluster(text: str, tmp_path: Path) -> None:
    """As told, but for the port, which others may use."""
    pytest.importorskip("distributed")
    (body,) = blocks(text, "bash")
    (asked,) = re.findall(r"`(topo fail [^`]*--cluster \S+)`", text)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    lines = [line.removesuffix(" &").replace("8786", port) for line in body.splitlines()]
    assert len(lines) == 2
    path = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    started = []
    try:
        for line in lines:
            extra = ["--dashboard-address", ":0"]  # the dashboard's own port may be taken as well
            started.append(
                subprocess.Popen(
                    [*line.split(), *extra],
                    cwd=tmp_path,
                    env=path,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                )
            )
            time.sleep(2)
        done = run(asked.replace("8786", port).replace("FABRIC", "leaf-spine-2to1").split(), tmp_path)
    finally:
        for process in reversed(started):
            process.terminate()
            process.wait(timeout=30)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == run(["topo", "fail", "leaf-spine-2to1", "--n-1"], tmp_path).stdout


def test_every_verb_and_file_it_names_exists(text: str) -> None:
    verbs = set(re.findall(r"`topo (\w+)", text)) | set(re.findall(r"^\$ topo (\w+)", text, re.MULTILINE))
    known = getattr(typer.main.get_command(program), "commands", {})
    assert {"list", "show", "report", "bisect", "throughput", "ecmp", "fail", "validate"} <= verbs <= known.keys()
    assert verbs >= {*TRAINING}
    for name in ("LICENSE", ".ci/run", "fabrics", "tests/test_readme.py"):
        assert name in text and (ROOT / name).exists()


def test_every_option_it_names_is_an_option_of_the_verb_in_its_row(text: str) -> None:
    commands = getattr(typer.main.get_command(program), "commands", {})
    known = {name: {word for one in command.params for word in one.opts} for name, command in commands.items()}
    everywhere = set().union({"--help"}, *known.values())
    rows = re.findall(r"^\| `topo (\w+)` \|(.*)\|$", text, re.MULTILINE)
    assert {verb for verb, _ in rows} | {"template", "schema", "completion", "doctor"} == known.keys()
    for verb, row in rows:
        assert set(re.findall(r"`(--[a-z0-9-]+|-o)", row)) <= known[verb], verb
    prose = set(re.findall(r"`(?:topo [^`]*)?(--[a-z][a-z0-9-]+)", text))
    assert prose - everywhere == set()


def test_it_says_that_igraph_is_gpl(text: str) -> None:
    assert "igraph, is GPL-2.0-or-later" in " ".join(text.split())


def updated(text: str, folder: Path) -> str:
    tables = dict(TABLES)
    data = Path(os.environ.get("TOPO_SHARED_DATA", ROOT.parent / "shared" / "data"))
    if data.is_dir():
        tables["findings"] = lambda: findings_table(data)
    for name, table in tables.items():
        pattern = re.compile(rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)", re.DOTALL)
        text = pattern.sub(lambda found, table=table: f"{found[1]}\n{table()}\n\n{found[2]}", text)
    return CONSOLE.sub(lambda found: f"```console\n$ {found[1]}\n{run(found[1].split(), folder).stdout}```", text)


if __name__ == "__main__":
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        README.write_text(updated(README.read_text("utf-8"), Path(folder)), "utf-8")
