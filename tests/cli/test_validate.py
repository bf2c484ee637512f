"""topo validate: formats, files, exit status, several files as one design, named columns, bad input."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from told import said as command_said

import topo

FAULTS = Path(__file__).resolve().parent.parent / "wiring_faults"
SWAPPED = str(FAULTS / "rail-swap_two_adapters.csv")
GOOD = str(FAULTS / "good_leaf_spine.csv")
HEAD = "A-Node Name,A-Port,Z-Node Name,Z-Port"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def said(capsys: pytest.CaptureFixture[str], *arguments: str, status: int = 0) -> str:
    return command_said(capsys, "validate", *arguments, status=status)


def cables() -> tuple[list[str], list[str]]:
    """Rows of a leaf-spine of 4 x 2 with 4 hosts a leaf: to the hosts, and to the spines."""
    hosts = [f"leaf-{i},{j},host-{4 * i + j},HCA-1" for i in range(4) for j in range(1, 5)]
    spines = [f"leaf-{i},{8 + s},spine-{s},{i + 1}" for i in range(4) for s in range(1, 3)]
    return hosts, spines


def table(path: Path, rows: list[str], head: str = HEAD) -> str:
    path.write_text("\n".join([head, *rows]) + "\n")
    return str(path)


def test_text_names_the_fault_and_fails(capsys: pytest.CaptureFixture[str]) -> None:
    text = said(capsys, SWAPPED, status=1)
    assert "error rail-swap" in text and "fix: " in text
    assert re.search(r"^  faults +none$", said(capsys, GOOD), re.MULTILINE)


def test_json_has_the_keys_that_others_rely_on(capsys: pytest.CaptureFixture[str]) -> None:
    told = json.loads(said(capsys, SWAPPED, "--format", "json", status=1))
    assert told == topo.validate(SWAPPED).to_dict()
    assert {"code", "severity", "where", "evidence", "lost_gbps", "fix"} <= told["findings"][0].keys()
    assert told["summary"]["errors"] == 1 and told["summary"]["consequence"]["n_faults"] == 1
    bare = json.loads(said(capsys, SWAPPED, "--format", "json", "--no-consequence", status=1))
    assert "consequence" not in bare["summary"] and bare["findings"][0]["lost_gbps"] is None


@pytest.mark.parametrize(
    ("file", "fail_on", "status"),
    [
        ("rail-swap_two_adapters.csv", "error", 1),
        ("rail-swap_two_adapters.csv", "warning", 1),
        ("rail-swap_two_adapters.csv", "never", 0),
        ("nic-missing_one.csv", "error", 1),
        ("pair-thick_third.csv", "error", 0),
        ("pair-thick_third.csv", "warning", 1),
        ("pair-thick_third.csv", "never", 0),
        ("good_rails.csv", "warning", 0),
    ],
)
def test_exit_status(capsys: pytest.CaptureFixture[str], file: str, fail_on: str, status: int) -> None:
    said(capsys, str(FAULTS / file), "--fail-on", fail_on, "--no-consequence", status=status)


def test_accepted_findings_do_not_fail(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    (place,) = (one.place for one in topo.validate(SWAPPED, consequence=False).findings if one.code == "rail-swap")
    (folder / "known.yaml").write_text(
        f"accept:\n  - code: rail-swap\n    where: {json.dumps(place)}\n    reason: spare part ordered\n"
    )
    text = said(capsys, SWAPPED, "--accept", "known.yaml")
    assert "accepted error rail-swap" in text and "spare part ordered" in text
    page = said(capsys, SWAPPED, "--accept", "known.yaml", "--format", "html")
    assert "spare part ordered" in page and "1 accepted" in page


def test_junit_and_csv_hold_every_finding(capsys: pytest.CaptureFixture[str]) -> None:
    answer = topo.validate(SWAPPED)
    suite = ElementTree.fromstring(said(capsys, SWAPPED, "--format", "junit", status=1))[0]
    assert len(suite) == len(answer.findings) and len(suite.findall("testcase/failure")) == 1
    assert suite.get("failures") == "1"
    silent = ElementTree.fromstring(said(capsys, SWAPPED, "--format", "junit", "--fail-on", "never"))[0]
    assert silent.get("failures") == "0"
    rows = list(csv.DictReader(io.StringIO(said(capsys, SWAPPED, "--format", "csv", status=1))))
    assert [row["code"] for row in rows] == [one.code for one in answer.findings]


@pytest.mark.parametrize(
    ("file", "start"),
    [("a.json", "{"), ("a.html", "<!doctype html>"), ("a.xml", "<?xml"), ("a.csv", "code,"), ("a.txt", "Wiring")],
)
def test_the_ending_of_the_file_says_the_format(
    capsys: pytest.CaptureFixture[str], folder: Path, file: str, start: str
) -> None:
    out = said(capsys, SWAPPED, "-o", file, status=1)
    assert out.splitlines()[1:] == [f"The findings are in {file}"] and ": 1 error" in out
    assert (folder / file).read_text("utf-8").startswith(start)


def test_several_files_are_one_design(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    hosts, spines = cables()
    found = table(folder / "found.csv", [*hosts, *spines[1:]])
    parts = ["--against", table(folder / "hosts.csv", hosts), "--against", table(folder / "up.csv", spines)]
    told = json.loads(said(capsys, found, *parts, "--format", "json", status=1))
    (missing,) = told["findings"]
    assert missing["code"] == "missing" and missing["where"].startswith(f"{folder / 'up.csv'}:2: leaf-0 port 9")
    assert (told["summary"]["planned_cables"], told["summary"]["common_cables"]) == (24, 23)
    whole = table(folder / "whole.csv", [*hosts, *spines])
    one = json.loads(said(capsys, found, "--against", whole, "--format", "json", status=1))
    for key in ("errors", "planned_cables", "common_cables", "missing_cables", "operations"):
        assert one["summary"][key] == told["summary"][key]


def test_the_vendors_two_files_are_one_design(capsys: pytest.CaptureFixture[str], shared_data: Path) -> None:
    parts = [shared_data / "wiring_csv" / f"ufm_ndt__{name}.ndt"
             for name in ("switch_to_host_topo1", "switch_to_switch_topo2")]  # fmt: skip
    dump = shared_data / "ibnetdiscover" / "ufm_ndt__ibnetdiscover_director.txt"
    against = [word for part in parts for word in ("--against", str(part))]
    told = json.loads(said(capsys, str(dump), *against, "--no-consequence", "--format", "json", status=1))
    summary = told["summary"]
    assert (summary["planned_cables"], summary["common_cables"], summary["unplanned_cables"]) == (5418, 5414, 107)
    assert (summary["errors"], summary["warnings"]) == (4, 107)


def test_columns_are_named_for_each_file_that_has_them(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    hosts, spines = cables()
    found = table(folder / "found.csv", [*hosts, *spines[1:]], "Von,Buchse,Nach,Dose")
    plan = table(folder / "plan.csv", [*hosts, *spines])
    assert "Name them with --columns a_node=HEADER" in said(capsys, found, "--against", plan, status=2)
    named = ("--columns", "a_node=Von,a_port=2,z_node=Nach,z_port=Dose")
    told = json.loads(said(capsys, found, "--against", plan, *named, "--format", "json", status=1))
    assert [one["code"] for one in told["findings"]] == ["missing"]
    back = json.loads(said(capsys, plan, "--against", found, *named, "--format", "json", "--fail-on", "never"))
    assert [one["code"] for one in back["findings"]] == ["unplanned"]
    wrong = "a_node=Von,a_port=Nirgends,z_node=Nach,z_port=Dose"
    assert "Nirgends" in said(capsys, found, "--columns", wrong, status=2)
    assert "no row holds" in said(capsys, plan, "--columns", wrong, status=2)
    assert "a_node=Von" in said(capsys, found, "--columns", "Von", status=2)
    assert "--columns has no 'start'" in said(
        capsys, found, "--columns", "start=Von,a_port=2,z_node=3,z_port=4", status=2
    )


def test_bad_input_is_one_line(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    (folder / "empty.csv").write_text("")
    (folder / "copy.csv").symlink_to(GOOD)
    assert "empty" in said(capsys, "empty.csv", status=2)
    assert "a header and no cable under it" in said(capsys, table(folder / "head.csv", []), status=2)
    assert "no-such" in said(capsys, "no-such", status=2)
    assert "the same" in said(capsys, GOOD, "--against", GOOD, status=2)
    assert "the same" in said(capsys, GOOD, "--against", "copy.csv", status=2)
    assert "give each once" in said(capsys, SWAPPED, "--against", GOOD, "--against", "copy.csv", status=2)
    assert "never" in said(capsys, GOOD, "--fail-on", "note", status=2)
    (folder / "known.yaml").write_text("accept:\n  - code: rail-swop\n    where: x\n    reason: y\n")
    assert "known.yaml:2" in said(capsys, GOOD, "--accept", "known.yaml", status=2)


def test_a_plan_of_another_fabric_is_one_question(capsys: pytest.CaptureFixture[str]) -> None:
    text = said(capsys, GOOD, "--against", "nvidia-superpod-h100-1su", status=1)
    assert text.count("\nerror ") == 1 and "is this the right design?" in text


def test_a_device_that_the_plan_has_not_is_named(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    hosts, spines = cables()
    plan = table(folder / "plan.csv", [*hosts, *spines])
    found = table(folder / "found.csv", [*hosts, *spines[:-1], spines[-1].replace("spine-2", "spine-9")])
    text = said(capsys, found, "--against", plan, status=1)
    assert text.count("\nerror ") == 1 and "; the plan has no spine-9\n" in text


def test_what_could_not_be_judged_or_priced_is_said(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    """Without a host no switch has a tier, without a rate no fault has a price: silence would look like health."""
    _, spines = cables()
    plan, found = table(folder / "plan.csv", spines), table(folder / "found.csv", spines[1:])
    text = said(capsys, found)
    assert re.search(r"^  faults +none$", text, re.MULTILINE) and "no host is known" in text
    assert "--hosts" in text and "--against" in text
    text = said(capsys, found, "--against", plan, status=1)
    assert re.search(r"^  cost +no fault is priced: .*--assume-gbps", text, re.MULTILINE)
    assert "no fault is priced" not in said(capsys, found, "--against", plan, "--no-consequence", status=1)


def test_a_built_fabric_can_be_the_wiring(capsys: pytest.CaptureFixture[str]) -> None:
    told = json.loads(said(capsys, "leaf-spine-2to1", "--no-consequence", "--format", "json"))
    assert (told["findings"], told["summary"]["cables"]) == ([], 768)
