"""Collects what the benchmarks measured and prints one table at the end."""

from __future__ import annotations

import os
import platform

import pytest

ROWS: list[tuple[str, str, float, str]] = []


@pytest.fixture
def record():  # type: ignore[no-untyped-def]
    """Add a line to the table: question, tool, seconds, answer."""

    def add(question: str, tool: str, seconds: float, answer: str = "") -> None:
        ROWS.append((question, tool, seconds, answer))

    return add


def pytest_terminal_summary(terminalreporter) -> None:  # type: ignore[no-untyped-def]
    """The table, in Markdown, with the machine's size."""
    if not ROWS:
        return
    write = terminalreporter.write_line
    write("")
    write(
        f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}; best of the rounds, one run"
    )
    write("")
    write("| question | tool | seconds | answer |")
    write("|---|---|---|---|")
    for question, tool, seconds, answer in ROWS:
        write(f"| {question} | {tool} | {seconds:.3g} | {answer} |")
