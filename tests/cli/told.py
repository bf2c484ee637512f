"""What a command said, with the promise that what cannot be used is told in one line."""

from __future__ import annotations

import pytest

from topo.cli import main


def said(capsys: pytest.CaptureFixture[str], *arguments: str, status: int = 0) -> str:
    """Standard output of a command; with status 2 the one line on standard error, and nothing beside it."""
    assert main(arguments) == status
    out, err = capsys.readouterr()
    if status == 2:
        assert out == "" and err.startswith("topo: ") and err.count("\n") == 1 and err.endswith("\n")
        return err
    assert err == ""
    return out
