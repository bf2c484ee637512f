"""topo plan: a folder of files, the numbers told, options, bad input in one line, the way to growth."""

from __future__ import annotations

import json
import sys
import types
from pathlib import Path

import pytest
from told import said as command_said

import topo
from topo.cli import main

H100 = "nvidia-superpod-h100-1su"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def said(capsys: pytest.CaptureFixture[str], *arguments: str, status: int = 0) -> str:
    return command_said(capsys, "plan", *arguments, status=status)


def test_a_plan_is_written_and_told(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    out = said(capsys, H100)
    assert "10 of hosts" not in out and "racks" in out and "Bill of materials" in out
    assert "transceivers in hosts: OSFP twin-port 2x400G" in out and "124" in out
    files = folder / f"{H100}-plan"
    expected = {
        "schedule.csv",
        "labels.csv",
        "bill.csv",
        "racks.csv",
        "boxes.csv",
        "elevations.html",
        "pull.html",
        "plan.xlsx",
    }
    assert {path.name for path in files.iterdir()} == expected
    assert main(["validate", str(files / "schedule.csv"), "--against", H100, "--fail-on", "warning"]) == 0
    assert main(["validate", str(files / "plan.xlsx"), "--fail-on", "warning"]) == 0


def test_options_choose_folder_rules_prices_and_order(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    (folder / "racks.yaml").write_text("leaf: middle_of_row\nrack: {power_kw: 22}\n")
    (folder / "prices.yaml").write_text("currency: EUR\nhosts: {dgx-h100: {price: 1}}\n")
    given = ("--racks", "racks.yaml", "--prices", "prices.yaml", "--search-order", "-o", "here/there", "--no-xlsx")
    out = said(capsys, H100, *given)
    assert "order of racks searched" in out and "31 EUR" in out and "without a price" in out
    assert not (folder / "here" / "there" / "plan.xlsx").exists()
    assert (folder / "here" / "there" / "schedule.csv").stat().st_size > 10_000


def test_json_has_the_plan_the_bill_and_the_files(capsys: pytest.CaptureFixture[str]) -> None:
    answer = json.loads(said(capsys, H100, "--format", "json", "--no-xlsx"))
    assert answer["plan"]["n_links"] == 508 and answer["plan"]["bill"]["lines"]
    assert len(answer["files"]) == 7 and all(Path(path).is_file() for path in answer["files"])


def test_bad_input_is_one_line(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    (folder / "racks.yaml").write_text("hall: {most_racks: 3}\n")
    (folder / "wrong.yaml").write_text("racks: {}\n")
    assert "too few" in said(capsys, H100, "--racks", "racks.yaml", status=2)
    assert "wrong.yaml:1: key racks: is not a key" in said(capsys, H100, "--racks", "wrong.yaml", status=2)
    assert "no such file" in said(capsys, H100, "--prices", "none.yaml", status=2)
    assert "no cable between boxes" in said(capsys, "nvidia-dgx-h100", status=2)
    assert "--require is of use with --from alone" in said(capsys, H100, "--require", "0.9", status=2)
    assert list(folder.glob("*-plan")) == []


def test_a_fabric_grown_from_another_goes_to_the_growth(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []

    def run_growth(new: topo.Fabric, old: topo.Fabric, args: object) -> int:
        seen.append((new.name, old.name, getattr(args, "require", None)))
        return 1

    growing = types.ModuleType("topo.cli.growing")
    growing.run_growth = run_growth  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "topo.cli.growing", growing)
    said(capsys, "nvidia-superpod-h100-2su", "--from", H100, "--require", "0.9", status=1)
    assert seen == [("nvidia-superpod-h100-2su", H100, 0.9)]
