"""What is asked of the design itself before a wiring is held against it."""

from __future__ import annotations

from pathlib import Path

import pytest

import topo

GOOD = Path(__file__).resolve().parent.parent / "wiring_faults" / "good_leaf_spine.csv"


def with_rows(tmp_path: Path, *rows: str) -> Path:
    plan = tmp_path / "plan.csv"
    plan.write_text(GOOD.read_text() + "".join(f"{row}\n" for row in rows))
    return plan


def test_a_fault_of_the_design_is_told_at_its_own_line(tmp_path: Path) -> None:
    """The wiring is right; the plan plugs leaf-1 port 1 twice, and a cable into the switch it comes from."""
    plan = with_rows(tmp_path, "leaf-1,1,host-99,nic-1,400G", "leaf-2,55,leaf-2,56,400G")
    answer = topo.validate(GOOD, plan, consequence=False)
    said = {one.code: one for one in answer.findings}
    assert set(said) == {"port-used-twice", "cable-to-itself", "missing"}
    lines = plan.read_text().splitlines()
    for code, row in (("port-used-twice", -2), ("cable-to-itself", -1)):
        assert said[code].evidence.startswith("in the design: ")
        assert said[code].source.endswith("plan.csv")
        assert said[code].line == len(lines) + 1 + row
    assert said["missing"].place.startswith("leaf-1 port 1")


def test_a_fault_that_the_wiring_copied_is_told_once(tmp_path: Path) -> None:
    plan = with_rows(tmp_path, "leaf-1,1,host-99,nic-1,400G")
    found = tmp_path / "found.csv"
    found.write_text(plan.read_text())
    (one,) = topo.validate(found, plan, consequence=False).findings
    assert one.code == "port-used-twice" and "design" not in one.evidence
    assert one.source.endswith("found.csv")


@pytest.mark.parametrize("name", ["good_rails.csv", "good_three_tiers.csv", "good_uneven.csv"])
def test_good_designs_are_silent(name: str, tmp_path: Path) -> None:
    copy = tmp_path / "plan.csv"
    copy.write_text((GOOD.parent / name).read_text())
    assert topo.validate(GOOD.parent / name, copy, consequence=False).findings == ()
