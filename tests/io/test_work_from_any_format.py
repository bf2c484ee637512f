"""Checks and reports work from a file of any readable format: an answer, or one line that says why there is none."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from format_samples import OTHER_LLDP, SAMPLES
from test_read_fuzz import GOOD as DUMP

import topo
from topo.cli import main
from topo.io import FORMATS

READABLE = [row.name for row in FORMATS if row.read]
FILES = {name: SAMPLES[name][0] for name in READABLE if name in SAMPLES}
FILES |= {"ibnetdiscover": DUMP} | {f"lldp, {which}": text for which, text in OTHER_LLDP.items()}
NOTHING_TO_CHECK = {"nccl": "no cable between devices"}
"""Formats that hold the inside of one host: no cable to check."""


def written(name: str, folder: Path) -> Path:
    path = folder / "given"
    if name == "native":
        topo.write(topo.fat_tree(4), path, format="native")
    else:
        path.write_text(FILES[name], encoding="utf-8")
    return path


def test_every_readable_format_is_here() -> None:
    assert {name.partition(",")[0] for name in (*FILES, "native")} == set(READABLE)


@pytest.mark.parametrize("name", ["native", *FILES])
def test_validate(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(name, tmp_path)
    status = main(["validate", str(path), "--assume-gbps", "100G", "--format", "json"])
    out, err = capsys.readouterr()
    if name in NOTHING_TO_CHECK:
        assert (status, out) == (2, "") and err.count("\n") == 1 and NOTHING_TO_CHECK[name] in err
        return
    assert status in (0, 1) and err == ""
    said = json.loads(out)
    assert status == (said["summary"]["errors"] > 0)
    assert len(topo.read(path).links) >= said["summary"]["cables"] > 0


@pytest.mark.parametrize("name", ["native", *FILES])
def test_report(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(name, tmp_path)
    assert main(["report", str(path), "--assume-gbps", "100G", "--format", "json", "-o", "-"]) == 0
    out, err = capsys.readouterr()
    said = json.loads(out)
    fabric = topo.read(path, assume_gbps=100)
    assert err == ""
    assert said["fabric"]["digest"] == fabric.digest
    shown = {each["label"]: str(each["value"]) for each in said["main_numbers"]}
    assert shown["endpoints"].split()[0] == f"{len(fabric.endpoints):,}"
    assert said["verdict"]
