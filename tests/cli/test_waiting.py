"""The sign of life: on a terminal alone, after two seconds, with the time left; gone before the answer."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
import threading
import time

import pytest

from topo.cli.waiting import said, sign_of_life
from topo.progress import Course, steps

_SLOW = """
import sys, time
import topo.cli.waiting, topo.sweep
from topo.cli import main
topo.cli.waiting.AFTER_S = 0.2
topo.cli.waiting._EVERY_S = 0.1
if {slow}:
    from topo.analysis.failures import survivability
    task = survivability._evaluate
    survivability._evaluate = lambda *given: (time.sleep(0.15), task(*given))[1]
sys.exit(main({words!r}))
"""


def on_a_terminal(words: list[str], *, slow: bool) -> tuple[str, str]:
    """What a verb writes to standard output, and to a standard error that is a terminal."""
    parent, child = pty.openpty()
    shown = bytearray()

    def read() -> None:
        while True:
            try:
                some = os.read(parent, 1 << 12)
            except OSError:
                return
            if not some:
                return
            shown.extend(some)

    reader = threading.Thread(target=read)
    reader.start()
    program = _SLOW.format(slow=slow, words=words)
    done = subprocess.run(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=child, text=True, timeout=200,
    )  # fmt: skip
    os.close(child)
    reader.join()
    os.close(parent)
    return done.stdout, shown.decode()


def test_a_sweep_shows_the_time_left_and_clears_it() -> None:
    out, shown = on_a_terminal(["fail", "leaf-spine-2to1", "--n-1", "--jobs", "1"], slow=True)
    assert out.startswith("Failures in leaf-spine-2to1")
    assert re.search(r"topo fail: \d+ s so far, about \d+ s left \(any one element down\)", shown)
    assert shown.endswith("\r\x1b[2K")


def test_a_quiet_verb_is_silent_on_a_terminal_too() -> None:
    out, shown = on_a_terminal(["fail", "leaf-spine-2to1", "--n-1", "--jobs", "1", "--quiet"], slow=True)
    assert (out, shown) == ("", "")


def test_a_quick_verb_shows_nothing_and_neither_does_a_pipe(capfd: pytest.CaptureFixture[str]) -> None:
    out, shown = on_a_terminal(["list", "--builders"], slow=False)
    assert out and (shown == "" or shown.endswith("\r\x1b[2K"))  # a slow machine may take its time to start
    with sign_of_life("x"):
        time.sleep(0.2)
    assert capfd.readouterr() == ("", "")


def test_the_line_says_how_long_and_at_what(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("topo.cli.waiting.AFTER_S", 0.05)
    monkeypatch.setattr("topo.cli.waiting._EVERY_S", 0.05)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    with sign_of_life("x"):
        for _ in steps(range(4), "squares"):
            time.sleep(0.1)
    lines = capsys.readouterr().err.split("\r\x1b[2K")
    assert lines[1] == "topo x: 0 s so far, time left not known yet (squares)"
    assert any(re.fullmatch(r"topo x: 0 s so far, about \d s left \(squares\)", line) for line in lines)
    assert lines[-1] == ""


def test_minutes(monkeypatch: pytest.MonkeyPatch) -> None:
    course = Course()
    monkeypatch.setattr(course, "left_s", lambda: 600.0)
    assert said("ecmp", 130.0, course) == "topo ecmp: 2 min so far, about 10 min left"


def test_the_line_is_no_wider_than_the_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "24")
    monkeypatch.setattr("topo.cli.waiting.AFTER_S", 0.02)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    with sign_of_life("x"):
        time.sleep(0.1)
    assert capsys.readouterr().err.split("\r\x1b[2K")[1] == "topo x: 0 s so far, tim"
