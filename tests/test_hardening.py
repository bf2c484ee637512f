"""What a hostile name, a full disk, a kill, a second run, little memory or an odd machine can do: nothing."""

from __future__ import annotations

import csv
import io
import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import topo
from topo.cli import main

PROGRAM = [sys.executable, "-m", "topo"]
SMALL = "leaf-spine-2to1"
HOSTILE = [
    "<script>alert(1)</script>",
    "=HYPERLINK(1)",
    'a"b',
    "a'b",
    "x\\n[label=y]",
    "red\x1b[31m",
    "back\u202eward",
    "../../etc/passwd",
    "</style><img src=x onerror=alert(1)>",
    "&amp;lt;",
    "{{7*7}}",
    "-rf",
]
HEADER = "A-Node Name,A-Port,Z-Node Name,Z-Port"


def run(*arguments: str, folder: Path, **rest: object) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([*PROGRAM, *arguments], cwd=folder, capture_output=True, timeout=240, **rest)  # type: ignore[call-overload, no-any-return]


def rows(hosts: list[str]) -> list[list[str]]:
    """A small leaf-spine: two leaves, two spines, every host with one cable."""
    found = [[f"leaf-{i % 2}", f"p{i}", name, "eth0"] for i, name in enumerate(hosts)]
    found += [[f"leaf-{a}", f"u{b}", f"spine-{b}", f"p{a}"] for a in range(2) for b in range(2)]
    return found


def schedule(hosts: list[str], end: str = "\n") -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator=end)
    writer.writerow(HEADER.split(","))
    writer.writerows(rows(hosts))
    return text.getvalue()


@pytest.fixture
def hostile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "plan.csv").write_text(schedule(HOSTILE), "utf-8")
    return tmp_path


def test_every_hostile_name_is_read_as_a_name(hostile: Path) -> None:
    fabric = topo.read(hostile / "plan.csv")
    assert len(fabric.nodes) == len(HOSTILE) + 4


@pytest.mark.parametrize(
    "arguments",
    [
        ("show", "plan.csv"),
        ("bisect", "plan.csv", "--assume-gbps", "100G"),
        ("throughput", "plan.csv", "--assume-gbps", "100G"),
        ("validate", "plan.csv", "--fail-on", "never"),
    ],
    ids=lambda a: a[0],
)
def test_names_cannot_act_on_a_terminal(
    hostile: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...]
) -> None:
    assert main(arguments) == 0
    out, err = capsys.readouterr()
    assert "\x1b" not in out + err and "\u202e" not in out + err


def test_names_cannot_act_in_a_page(hostile: Path) -> None:
    assert main(["report", "plan.csv", "-o", "page.html"]) == 0
    assert main(["validate", "plan.csv", "--format", "html", "-o", "findings.html", "--fail-on", "never"]) == 0
    for name in ("page.html", "findings.html"):
        text = (hostile / name).read_text("utf-8")
        assert "<script>alert" not in text and "<img src=x" not in text
        assert "\x1b" not in text and "\u202e" not in text
        assert "49" not in "".join(part for part in text.split("{{")[1:2])


@pytest.mark.parametrize("suffix", ["dot", "csv", "json", "graphml", "fabric"])
def test_written_files_keep_or_refuse_a_hostile_name_and_stay_in_the_folder(hostile: Path, suffix: str) -> None:
    kind = {"csv": ["--to", "netbox"], "json": ["--to", "air"]}.get(suffix, [])
    status = main(["convert", "plan.csv", f"out.{suffix}", *kind])
    assert status in {0, 2}
    assert sorted(p.name for p in hostile.iterdir()) == sorted(
        ["plan.csv", *([f"out.{suffix}"] if status == 0 else [])]
    )
    if status == 0 and suffix == "csv":
        cells = [cell for row in csv.reader((hostile / "out.csv").read_text("utf-8").splitlines()) for cell in row]
        assert not [cell for cell in cells if cell[:1] in {"=", "+", "-", "@"}]
    if status == 0 and suffix in {"graphml", "fabric", "dot"}:
        again = topo.read(hostile / f"out.{suffix}")
        assert len(again.nodes) == len(HOSTILE) + 4


def test_a_plan_of_hostile_names_starts_no_formula(hostile: Path) -> None:
    assert main(["plan", "plan.csv", "--assume-gbps", "100G", "-o", "planned"]) in {0, 1}
    for path in (hostile / "planned").rglob("*.csv"):
        cells = [cell for row in csv.reader(path.read_text("utf-8").splitlines()) for cell in row]
        assert not [cell for cell in cells if cell[:1] in {"=", "@", "\t"}], path.name
    assert not (hostile.parent / "etc").exists()


WRITES = {
    "report": ("report", SMALL, "-o", "out.html"),
    "convert": ("convert", SMALL, "out.fabric"),
    "validate": ("validate", "plan.csv", "--format", "html", "-o", "out.html", "--fail-on", "never"),
    "throughput": ("throughput", SMALL, "--format", "json"),
}


def small_files() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (512, 512))


@pytest.mark.parametrize("verb", ["report", "convert", "validate"])
def test_a_disk_that_fills_leaves_what_was_there(hostile: Path, verb: str) -> None:
    arguments = WRITES[verb]
    target = hostile / next(a for a in arguments if a.startswith("out."))
    target.write_text("before")
    done = run(
        *arguments, folder=hostile, preexec_fn=small_files, env={**os.environ, "MPLCONFIGDIR": str(hostile / "m")}
    )
    assert done.returncode == 2, done.stderr
    last = done.stderr.decode().splitlines()[-1]
    assert last.startswith("topo: ") and "cannot be written" in last and b"Traceback" not in done.stderr
    assert target.read_text() == "before"
    assert not list(hostile.glob(".topo-*"))


PLANS = {"plan": ("plan", SMALL, "--no-xlsx"), "growth": ("plan", SMALL, "--from", SMALL)}


@pytest.mark.parametrize("arguments", PLANS.values(), ids=PLANS)
def test_a_disk_that_fills_leaves_no_folder_behind(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    full = {"folder": tmp_path, "preexec_fn": small_files, "env": {**os.environ, "MPLCONFIGDIR": "/nowhere"}}
    done = run(*arguments, "-o", "new/deep", **full)
    assert done.returncode == 2 and b"Traceback" not in done.stderr, done.stderr
    assert b"cannot be written" in done.stderr.splitlines()[-1]
    assert not list(tmp_path.iterdir())
    # A folder that was there keeps what it held, and gets nothing.
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "mine.txt").write_text("before")
    assert run(*arguments, "-o", "old", **full).returncode == 2
    assert [path.name for path in tmp_path.rglob("*")] == ["old", "mine.txt"]


def test_a_folder_is_written_whole_or_stays_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The disk fills at the last file: those before it do not take the places of older ones."""
    from topo import output

    (tmp_path / "a.csv").write_text("before")
    flush, written = os.fsync, iter(range(9))

    def full(descriptor: int) -> None:
        flush(descriptor)
        if next(written) == 2:
            raise OSError(28, "No space left on device")

    files = {"a.csv": "after", "b.csv": "after", "c.csv": "after"}
    monkeypatch.setattr(output.os, "fsync", full)
    with pytest.raises(topo.InputError, match=r"c\.csv: cannot be written: No space left on device"):
        output.write_folder(tmp_path, files)
    assert [path.name for path in tmp_path.iterdir()] == ["a.csv"] and (tmp_path / "a.csv").read_text() == "before"
    monkeypatch.setattr(output.os, "fsync", flush)
    assert output.write_folder(tmp_path, files) == [tmp_path / name for name in files]
    assert {(tmp_path / name).read_text() for name in files} == {"after"}
    (tmp_path / "d").mkdir()
    with pytest.raises(topo.InputError, match="d: there is something here that is no file"):
        output.write_folder(tmp_path, {"e": "x", "d": "x"})
    assert not (tmp_path / "e").exists()


def test_a_folder_that_refuses_files_is_one_line(hostile: Path) -> None:
    if not Path("/proc/self").is_dir():
        pytest.skip("needs a folder that refuses files even from root")
    done = run("convert", SMALL, "/proc/out.fabric", folder=hostile)
    assert done.returncode == 2 and done.stderr.count(b"\n") == 1 and b"cannot be written" in done.stderr


def writing_forever(target: Path) -> str:
    return (
        "import sys; from topo.output import write_whole\n"
        "n = 0\n"
        "print('ready', flush=True)\n"
        "while True:\n"
        f"    n += 1; write_whole({str(target)!r}, str(n % 10) * 3_000_000)\n"
    )


@pytest.mark.parametrize("kill", [signal.SIGKILL, signal.SIGTERM])
def test_a_kill_while_writing_leaves_one_whole_file(tmp_path: Path, kill: signal.Signals) -> None:
    target = tmp_path / "out"
    for wait in (0.01, 0.05, 0.12):
        target.write_text("x" * 3_000_000)
        with subprocess.Popen([sys.executable, "-c", writing_forever(target)], stdout=subprocess.PIPE) as process:
            assert process.stdout and process.stdout.readline() == b"ready\n"
            time.sleep(wait)
            process.send_signal(kill)
        text = target.read_text()
        assert len(text) == 3_000_000 and len(set(text)) == 1


def test_two_runs_into_one_file_leave_one_of_the_two(tmp_path: Path) -> None:
    target = tmp_path / "out"
    with (
        subprocess.Popen([sys.executable, "-c", writing_forever(target)], stdout=subprocess.PIPE) as one,
        subprocess.Popen([sys.executable, "-c", writing_forever(target)], stdout=subprocess.PIPE) as two,
    ):
        for process in (one, two):
            assert process.stdout
            process.stdout.readline()
        deadline = time.monotonic() + 20
        seen = 0
        while seen < 40 and time.monotonic() < deadline:
            if not target.exists():
                continue
            text = target.read_text()
            assert len(text) == 3_000_000 and len(set(text)) == 1
            seen += 1
        one.kill()
        two.kill()
    assert seen >= 5


def little_memory() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (900 << 20, 900 << 20))


def test_too_little_memory_is_one_line(tmp_path: Path) -> None:
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    spec = tmp_path / "large.yaml"
    spec.write_text(
        "name: large\ntitle: a million hosts\noperator: me\nsources: [{text: an example, label: M}]\n"
        "builder: fat_tree\nparameters: {k: 160}\n"
    )
    done = run("bisect", "large.yaml", folder=tmp_path, preexec_fn=little_memory, env=environment)
    assert done.returncode == 2, done.stderr[-400:]
    assert b"Traceback" not in done.stderr and done.stderr.splitlines()[-1].startswith(b"topo: ")
    assert b"does not fit into memory" in done.stderr.splitlines()[-1]


@pytest.mark.parametrize(
    "locale",
    [
        {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        {"LC_ALL": "POSIX"},
        {"LC_ALL": "tr_TR.UTF-8"},
        {"LC_ALL": "de_DE.UTF-8", "LANG": "de_DE"},
        {"LC_ALL": "nowhere.UTF-8"},
        {"PYTHONIOENCODING": "latin-1"},
    ],
    ids=lambda x: ",".join(x.values()),
)
def test_answers_do_not_depend_on_the_locale(tmp_path: Path, locale: dict[str, str]) -> None:
    plain_answer = run("bisect", SMALL, "--format", "json", folder=tmp_path)
    odd = run("bisect", SMALL, "--format", "json", folder=tmp_path, env={**os.environ, **locale})
    assert odd.returncode == 0, odd.stderr
    assert odd.stdout == plain_answer.stdout
    told = run("show", SMALL, folder=tmp_path, env={**os.environ, **locale})
    assert told.returncode == 0 and told.stderr == b""


def utf16(text: str) -> bytes:
    return text.encode("utf-16")


ENCODINGS: dict[str, Callable[[str], bytes]] = {
    "crlf": lambda text: text.replace("\n", "\r\n").encode(),
    "cr": lambda text: text.replace("\n", "\r").encode(),
    "bom": lambda text: text.encode("utf-8-sig"),
    "utf-16": utf16,
    "utf-16-be": lambda text: b"\xfe\xff" + text.encode("utf-16-be"),
    "bom and crlf": lambda text: text.replace("\n", "\r\n").encode("utf-8-sig"),
    "no last line end": lambda text: text.rstrip("\n").encode(),
    "blank lines at the end": lambda text: (text + "\n\n\n").encode(),
}


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_line_ends_and_encodings_change_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, encoding: str) -> None:
    text = schedule(["knoten-ä", "節点-1", "host-2"])
    monkeypatch.chdir(tmp_path)
    found = []
    for content in (text.encode(), ENCODINGS[encoding](text)):  # under one name, which the rows' sources tell
        Path("plan.csv").write_bytes(content)
        found.append(topo.read("plan.csv"))
    plain, odd = found
    assert odd.equals(plain) and odd.digest == plain.digest


def many_lines(count: int) -> Iterator[str]:
    yield HEADER
    leaves = count // 32
    for leaf in range(leaves):
        for port in range(32):
            yield f"leaf-{leaf},p{port},host-{leaf}-{port},eth0"


@pytest.mark.slow
def test_a_million_lines_are_read(tmp_path: Path) -> None:
    path = tmp_path / "large.csv"
    path.write_text("\n".join(many_lines(1_000_000)) + "\n")
    assert len(topo.read(path).links) == 1_000_000


SEEDED = [
    ("ecmp", SMALL, "--demand", "permutation", "--seed", "3"),
    ("throughput", SMALL, "--seed", "3"),
    ("fail", SMALL, "--seed", "3"),
    ("bisect", SMALL),
    ("validate", "plan.csv", "--fail-on", "never"),
]


@pytest.mark.parametrize("arguments", SEEDED, ids=lambda a: a[0])
def test_a_seeded_run_gives_the_same_bytes_again(hostile: Path, arguments: tuple[str, ...]) -> None:
    found = {
        run(*arguments, "--format", "json", folder=hostile, env={**os.environ, "PYTHONHASHSEED": seed}).stdout
        for seed in ("0", "1", "77")
    }
    assert len(found) == 1
    assert json.loads(found.pop())
