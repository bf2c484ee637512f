"""The bill against published tables and prices; replaceable prices; totals that are the sum of their lines."""

from __future__ import annotations

import csv
import io
import json
import pickle
from pathlib import Path

import numpy as np
import pytest

import topo
from topo.design import DEFAULT_PRICES, PriceList, RackRules, cabling_plan, read_prices
from topo.design.prices import BoxPrice, CablePrice, TransceiverPrice
from topo.design.rules import CableRule


def test_the_bill_of_the_h100_superpod_is_appendix_a() -> None:
    """RA-11333-001, appendix A, 127 nodes: 2,040 compute cables, 508 and 1,536 transceivers, 48 switches."""
    bill = cabling_plan(topo.load("nvidia-superpod-h100-4su")).bill
    assert bill.count("cable", "hosts", "fabric") == 2040
    assert bill.count("cable", "management") == 4
    assert bill.count("transceiver", "hosts") == 508
    assert bill.count("transceiver", "switches") == 1536
    assert bill.count("switch") == 48 and bill.count("server", "host") == 127


@pytest.mark.parametrize(
    ("units", "nodes", "leaves", "spines", "down", "up"),
    [(1, 31, 8, 4, 252, 256), (2, 63, 16, 8, 508, 512), (3, 95, 24, 16, 764, 768), (4, 127, 32, 16, 1020, 1024)],
)
def test_every_row_of_table_4(units: int, nodes: int, leaves: int, spines: int, down: int, up: int) -> None:
    fibre = RackRules(cables=CableRule(media=("multimode", "single_mode")))  # as published: no copper
    bill = cabling_plan(topo.load(f"nvidia-superpod-h100-{units}su"), racks=fibre).bill
    assert (bill.count("switch", "leaf"), bill.count("switch", "spine")) == (leaves, spines)
    assert (bill.count("cable", "hosts", "management"), bill.count("cable", "fabric")) == (down, up)
    assert bill.count("transceiver", "hosts") == 4 * nodes


@pytest.mark.parametrize("name", ["nvidia-superpod-h100-4su", "nvidia-superpod-h100-4su-dgx"])
def test_an_opened_host_has_the_same_compute_cables_and_cages(name: str) -> None:
    bill = cabling_plan(topo.load(name)).bill
    twins = [line for line in bill.lines if line.group == "transceiver" and line.item.startswith("OSFP twin-port")]
    assert sum(line.count for line in twins if line.use == "hosts") == 508
    assert sum(line.count for line in twins if line.use == "switches") == 1536


@pytest.mark.parametrize(("name", "millions"), [("deepseek-ft2", 9), ("deepseek-mpft", 72)])
def test_switches_and_links_cost_what_deepseek_prints(name: str, millions: int) -> None:
    """ISCA'25, table 3, whose links are those between switches; printed in whole millions of dollars."""
    bill = cabling_plan(topo.load(name)).bill
    uses = ("leaf", "spine", "fabric")
    cost = sum(line.price or 0 for line in bill.lines if line.use in uses and line.group in ("switch", "cable"))
    fabric = topo.load(name)
    fibres = [line for line in bill.lines if line.group == "cable" and line.use == "fabric"]
    assert sum(line.count for line in fibres) == int(fabric.links.kind.is_any("scale_out").sum())
    assert round(cost / 1e6) == millions


def test_totals_are_the_sum_of_the_lines() -> None:
    plan = cabling_plan(topo.load("nvidia-superpod-b300-spectrumx-1su"))
    bill, routes = plan.bill, plan.routes
    assert bill.count("cable") == bill.n_cables == plan.n_cables
    cables = [line for line in bill.lines if line.group == "cable"]
    assert np.isclose(sum(line.count * line.length_m for line in cables), bill.total_m)
    assert np.isclose(bill.total_m, routes.length_m[routes.first].sum())
    assert max(line.length_m for line in cables) == bill.longest_m
    assert np.isclose(bill.power_kw, plan.power_kw)
    rows = list(csv.reader(io.StringIO(plan.bill_csv())))
    assert [row[0] for row in rows][-1] == "total"
    assert sum(int(row[4]) for row in rows[1:-1]) == sum(line.count for line in bill.lines)
    assert float(rows[-1][7]) == pytest.approx(bill.price)


def test_prices_of_a_file_replace_the_usual_ones(tmp_path: Path) -> None:
    file = tmp_path / "prices.yaml"
    file.write_text(
        "currency: EUR\ntitle: an offer\n"
        "switches: {qm9700: {price: 30000, power_kw: 1.0}}\n"
        "hosts: {'dgx-*': {price: 250000}}\n"
        "cables: {multimode: {price: 20, per_m: 2}}\n"
        "transceivers: {'OSFP twin-port*': {price: 1000, power_w: 16}}\n"
    )
    plan = cabling_plan(topo.load("nvidia-superpod-h100-4su"), prices=file)
    bill = plan.bill
    price = 48 * 30_000 + 127 * 250_000 + 2044 * 20 + 2 * bill.total_m + 2044 * 1000
    assert bill.currency == "EUR" and bill.price == pytest.approx(price)
    assert [line.item for line in bill.unpriced] == ["manager", "OSFP 400G SR4"]
    kw = 48 * 1.0 + 127 * 10.2 + 2 * 0.5 + 2044 * 0.016 + 4 * 0.009
    assert bill.power_kw == pytest.approx(kw) and plan.power_kw == pytest.approx(kw)
    assert "without a price" in str(bill)


def test_a_price_file_that_does_not_fit_is_located(tmp_path: Path) -> None:
    file = tmp_path / "prices.yaml"
    file.write_text("currency: EUR\nswitches:\n  qm9700: {prize: 1}\n")
    with pytest.raises(topo.InputError, match=r"prices.yaml:3: key switches.qm9700.prize"):
        read_prices(file)
    file.write_text("switches:\n  qm9700: {price: -1}\n")
    with pytest.raises(topo.InputError, match=r"prices.yaml:2: key switches.qm9700.price"):
        read_prices(file)


def test_the_first_pattern_that_fits_holds() -> None:
    prices = PriceList(
        switches={"qm9700": BoxPrice(price=1), "qm*": BoxPrice(price=2), "switch": BoxPrice(per_gbps=0.5)},
        cables={"*copper*": CablePrice(per_link=3)},
        transceivers={},
    )
    assert [prices.switch(part, 100).price for part in ("qm9700", "qm8700", "sn5600")] == [1, 2, 50]
    assert DEFAULT_PRICES.switch("", 51_200).price == pytest.approx(163_840)
    assert TransceiverPrice(price=4).price == 4


@pytest.mark.parametrize(
    ("gbps", "medium"),
    [
        (50, "passive copper 50G"),
        (56, "passive copper 100G"),
        (400, "passive copper 400G"),
        (1600, "single-mode fibre 800G"),
    ],
)
def test_a_cable_is_priced_by_the_rate_of_its_link(gbps: float, medium: str) -> None:
    """$550 a link of 400 Gb/s, in proportion to the link's rate, whatever rate the medium is made for."""
    rules = RackRules(cables=CableRule(media=("copper", "single_mode")))
    fabric = topo.leaf_spine(leaves=1, spines=1, hosts_per_leaf=2, link_gbps=gbps, host_gbps=gbps)
    lines = [line for line in cabling_plan(fabric, racks=rules).bill.lines if line.group == "cable"]
    assert medium in {line.item for line in lines}
    assert {line.unit_price for line in lines} == {550 * gbps / 400}


def test_planes_of_50_gbps_are_of_media_for_50() -> None:
    """64 x 8 splits of an adapter; eight of a cage by one module of 8 x 50G, not by one of twice the rate."""
    fabric = topo.multi_plane(16, planes=8, rails=4, nic_gbps=400, tiers=2, radix=16, ports_per_cage=8)
    bill = cabling_plan(fabric).bill
    cables = [line for line in bill.lines if line.group == "cable"]
    assert sum(line.count for line in cables) == bill.n_cables and all(" 50G" in line.item for line in cables)
    assert sum(line.price or 0 for line in cables) == pytest.approx(len(fabric.links) * 50 * 1.375)
    assert not any("100G" in line.item or "800G" in line.item for line in bill.lines if line.group == "transceiver")


def test_a_bill_and_a_plan_are_results_like_all_others() -> None:
    plan = cabling_plan(topo.load("nvidia-superpod-h100-1su"))
    for answer in (plan, plan.bill):
        assert json.loads(answer.to_json()) == answer.to_dict()
        assert len(answer.to_frame()) == len(answer.rows())
        assert "<table>" in answer._repr_html_()
    assert pickle.loads(pickle.dumps(plan)).bill == plan.bill
    assert json.loads(plan.to_json())["bill"]["lines"][0]["count"] == 8
