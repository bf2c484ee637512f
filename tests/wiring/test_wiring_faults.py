"""Every code has a small file with that fault, and that finding alone above note; good files have none."""

from __future__ import annotations

import csv
import datetime
from pathlib import Path

import pytest

from topo.wiring import CODES, validate

FOLDER = Path(__file__).resolve().parent.parent / "wiring_faults"
with (FOLDER / "expected.tsv").open() as table:
    CASES = list(csv.DictReader(table, delimiter="\t"))


@pytest.mark.parametrize("case", CASES, ids=[case["file"] for case in CASES])
def test_the_fault_is_found_once_and_nothing_else(case: dict[str, str]) -> None:
    against = FOLDER / case["against"] if case["against"] else None
    accept = FOLDER / case["accept"] if case["accept"] else None
    answer = validate(FOLDER / case["file"], against, accept=accept, today=datetime.date(2026, 12, 1), bisection=False)
    also = set(filter(None, case["also"].split(",")))
    shown = [str(one) for one in answer.findings]
    mine = [one for one in answer.findings if one.code == case["code"]]
    assert len(mine) == int(case["count"]), shown
    assert all(case["place"] in one.place for one in mine), shown
    others = [str(one) for one in answer.findings if one.severity != "note" and one.code not in {case["code"], *also}]
    assert others == []


def test_every_code_has_its_file() -> None:
    assert {case["code"] for case in CASES} == set(CODES)
    assert all(case["file"].startswith(case["code"] + "_") for case in CASES)


@pytest.mark.parametrize("file", sorted(path.name for path in FOLDER.glob("good_*")))
def test_good_files_raise_nothing_above_note(file: str) -> None:
    answer = validate(FOLDER / file, bisection=False)
    assert [str(one) for one in answer.findings if one.severity != "note"] == []
    same = validate(FOLDER / file, validate_copy(file), bisection=False)
    assert same.findings == answer.findings == () or same.n_operations == 0


def validate_copy(file: str):  # type: ignore[no-untyped-def]
    """The same wiring as a fabric, so that it is no comparison of a file with itself."""
    from topo.source import load

    return load(FOLDER / file)
