"""``topo show --plot`` writes the picture that suits the fabric."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

from topo.cli import main
from topo.source import load
from topo.view.family import draw_fabric


@pytest.mark.parametrize("name", ["torus-8x8x8", "slim-fly-q5", "dragonfly-1056", "leaf-spine-2to1"])
def test_the_picture_is_the_familys(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "picture.svg"
    assert main(["show", name, "--plot", str(target)]) == 0
    assert "Inventory" in capsys.readouterr().out
    text = target.read_text(encoding="utf-8")
    ElementTree.fromstring(text)
    assert text == draw_fabric(load(name)).svg


def test_a_folder_that_is_not_there_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", "slim-fly-q5", "--plot", str(tmp_path / "none" / "x.svg")]) == 2
    said = capsys.readouterr().err
    assert "none" in said and "Traceback" not in said
