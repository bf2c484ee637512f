"""Wirings of other people, planned as they are and read back: no cable to move."""

from __future__ import annotations

from pathlib import Path

import pytest

import topo
from topo.design import cabling_plan

FILES = (
    ("ibnetdiscover/selene.compute.txt", 12_186),
    ("air_json/hedgehog-air-demo__topology.json", 128),
    ("wiring_csv/aristanetworks__avd__TWODC_5STAGE_CLOS-topology.csv", 63),
    ("wiring_csv/ufm_ndt__ndt.csv", 400),
    ("ibnetdiscover/ibtopotool__1.topo", 7),
)


@pytest.mark.parametrize(("name", "cables"), FILES)
def test_a_real_wiring_comes_back_from_its_plan(name: str, cables: int, shared_data: Path) -> None:
    fabric = topo.read(shared_data / name, assume_gbps=400)
    plan = cabling_plan(fabric)
    assert plan.n_links == cables
    read = topo.io.fabric_of_text(plan.schedule_csv(), "plan.csv")
    assert len(read.links) == cables
    answer = topo.validate(read, fabric, consequence=False)
    assert answer.n_operations == 0
    assert [str(one) for one in answer.findings if one.severity == "error"] == []
    assert plan.elevations_html() and plan.bill.n_cables == plan.n_cables
