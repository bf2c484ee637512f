"""Shared fixtures: where other people's real files lie."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# How long an example takes tells how busy the machine is, not whether the code is right.
settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any machine")

# Fixtures have no doctests, and files of one name cannot all be collected as modules.
collect_ignore_glob = ["**/conftest.py", "conftest.py"]

# Workers share the processors already: threads of linear algebra in each would wait for one another.
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.setdefault("OMP_NUM_THREADS", "1")

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real files; tests skip without it, and fail under CI."""
    path = Path(os.environ.get("TOPO_SHARED_DATA", ROOT.parent / "shared" / "data"))
    if not path.is_dir():
        reason = f"real files are not at {path}; set TOPO_SHARED_DATA to their folder"
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)
    return path
