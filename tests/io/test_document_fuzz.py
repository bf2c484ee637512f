"""Every kind of file that people write, damaged: it is taken or refused in one line, never a traceback."""

from __future__ import annotations

from pathlib import Path

import document_fuzzing
import pytest

from topo.cli.templates import TEMPLATES


def test_every_template_is_fuzzed() -> None:
    assert set(document_fuzzing.READERS) == set(TEMPLATES)


@pytest.mark.parametrize("kind", document_fuzzing.READERS)
def test_a_hundred_damaged_files(kind: str, tmp_path: Path) -> None:
    taken, refused = document_fuzzing.run(kind, 100, tmp_path, seed=7)
    assert taken
    assert refused


@pytest.mark.slow
@pytest.mark.parametrize("kind", document_fuzzing.READERS)
def test_ten_thousand_damaged_files(kind: str, tmp_path: Path) -> None:
    taken, refused = document_fuzzing.run(kind, 10_000, tmp_path)
    assert taken > 100
    assert refused > 100
