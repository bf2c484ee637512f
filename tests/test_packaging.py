"""The wheel holds everything the program needs, and works away from the checkout."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.mark.slow
def test_the_wheel_is_whole_and_works_elsewhere(tmp_path: Path) -> None:
    pip = [sys.executable, "-m", "pip"]
    subprocess.run([*pip, "wheel", "-q", "--no-deps", "-w", tmp_path / "wheels", ROOT], check=True, timeout=600)
    (wheel,) = (tmp_path / "wheels").glob("topo_fabrics-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        held = set(archive.namelist())
    sources = [path for path in (ROOT / "topo").rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    assert {str(path.relative_to(ROOT)) for path in sources} <= held
    assert {f"topo/fabrics/{path.name}" for path in (ROOT / "fabrics").glob("*.yaml")} <= held
    assert any(name.endswith("licenses/LICENSE") for name in held)
    assert not any(name.startswith(("tests/", "notebooks/")) for name in held)

    place = tmp_path / "installed"
    subprocess.run([*pip, "install", "-q", "--no-deps", "--target", place, wheel], check=True, timeout=600)
    code = "import topo; print(topo.__file__); print(len(topo.load('nvidia-superpod-h100-4su').endpoints))"
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(place)},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert done.stdout.split() == [str(place / "topo" / "__init__.py"), "1016"]
