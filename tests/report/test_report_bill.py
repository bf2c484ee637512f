"""The bill in a report: the plan's own numbers, left out where there is nothing to buy or too much to plan."""

from __future__ import annotations

import json

import topo
from topo.design import cabling_plan


def test_the_bill_of_a_built_fabric_is_in_its_report() -> None:
    fabric = topo.load("nvidia-superpod-h100-1su")
    report = topo.make_report(fabric, sections=["bill"])
    text, plan = report.to_markdown(), cabling_plan(fabric)
    assert "## Bill of materials" in text
    assert f"{plan.n_cables:,} cables, {plan.total_m:,.0f} m; the longest {plan.longest_m:g} m." in text
    assert f"{plan.bill.price:,.0f} USD" in text
    for line in plan.bill.lines:
        assert line.item in text
    assert json.loads(report.to_json())["bill"]["n_cables"] == plan.n_cables
    assert "Bill of materials" in report.to_html()


def test_a_fabric_without_cables_or_one_that_was_read_has_none_unless_asked() -> None:
    inside = topo.make_report(topo.load("nvidia-dgx-a100"))
    assert inside.bill is None and "Bill of materials" not in inside.to_markdown()
    asked = topo.make_report(topo.load("nvidia-dgx-a100"), sections=["bill"])
    assert "no cable between boxes" in asked.to_markdown()
