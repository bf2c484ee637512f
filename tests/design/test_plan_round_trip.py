"""A plan read back is the fabric it was made of, and the validator finds nothing in it."""

from __future__ import annotations

import csv
import io
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import topo
from topo.design import CablingPlan, cabling_plan, write_plan
from topo.fabric import Fabric, LinkTable
from topo.table import Labels
from topo.wiring.cabling import KINDS

MOST_CABLES = 20_000
FEW = (
    "nvidia-superpod-h100-1su", "nvidia-superpod-h100-4su-dgx", "nvidia-superpod-gb200-2su-nvl72",
    "nvidia-superpod-b300-spectrumx-1su", "alibaba-hpn-segment", "deepseek-fire-flyer-2", "dragonfly-1056",
    "slim-fly-q5", "torus-8x8x8", "huawei-cloudmatrix384", "google-tpu-v4-twisted", "hx2mesh-1024", "dcell-4-2",
    "k-ary-n-tree-4-3",
)  # fmt: skip


def folded(node: str, port: str) -> str:
    """An end without the signs that part an adapter from its host and a port from its adapter."""
    return "".join(letter for letter in f"{node}/{port}" if letter.isalnum())


def cables(fabric: Fabric, rows: np.ndarray) -> Counter[frozenset[str]]:
    names, ports, links = fabric.nodes.name, fabric.ports, fabric.links
    return Counter(
        frozenset(
            folded(names[ports.node[port]], ports.label[int(port)]) for port in (links.port_a[i], links.port_b[i])
        )
        for i in rows.tolist()
    )


def listed(text: str) -> Counter[frozenset[str]]:
    rows = csv.DictReader(io.StringIO(text))
    return Counter(frozenset(folded(row[f"{end} Node"], row[f"{end} Port"]) for end in "AZ") for row in rows)


def checked_round_trip(fabric: Fabric, path: Path) -> CablingPlan:
    """Plan, read, validate alone and against the design; the cables, rates and lengths that come back are the same."""
    plan = cabling_plan(fabric)
    path.write_text(plan.schedule_csv(), encoding="utf-8")
    read = topo.read(path)
    rows = plan.boxes.links
    assert len(read.links) == len(rows)
    assert listed(plan.schedule_csv()) == cables(fabric, rows)
    assert sorted(read.links.capacity_gbps.tolist()) == sorted(fabric.links.capacity_gbps[rows].tolist())
    assert sorted(read.links.length_m.tolist()) == sorted(plan.routes.length_m.tolist())
    designs = [None, fabric] if fabric.links.kind.is_any(*KINDS)[rows].any() else [None]
    for design in designs:
        answer = topo.validate(read, design, consequence=False)
        assert [str(one) for one in answer.findings if one.severity != "note"] == []
        assert answer.n_operations == 0
    return plan


@pytest.mark.parametrize("name", FEW)
def test_plan_read_validate_finds_nothing(name: str, tmp_path: Path) -> None:
    plan = checked_round_trip(topo.load(name), tmp_path / "plan.csv")
    assert 0 < len(plan.boxes.links) <= MOST_CABLES


@pytest.mark.slow
def test_every_fabric_of_the_catalogue_comes_back(tmp_path: Path) -> None:
    planned = 0
    for entry in topo.catalog():
        fabric = topo.load(entry.name)
        if 0 < len(topo.design.boxes.boxes_of(fabric).links) <= MOST_CABLES:
            checked_round_trip(fabric, tmp_path / "plan.csv")
            planned += 1
    assert planned > 40


def test_the_workbook_is_read_back_as_the_csv_is(tmp_path: Path) -> None:
    pytest.importorskip("xlsxwriter")
    pytest.importorskip("python_calamine")
    fabric = topo.load("nvidia-superpod-h100-1su")
    write_plan(cabling_plan(fabric), tmp_path / "plan")
    by_csv, by_xlsx = topo.read(tmp_path / "plan" / "schedule.csv"), topo.read(tmp_path / "plan" / "plan.xlsx")
    rows = np.arange(len(by_csv.links))
    assert cables(by_xlsx, rows) == cables(by_csv, rows)
    assert by_xlsx.links.length_m.tolist() == by_csv.links.length_m.tolist()
    assert by_xlsx.nodes.rack.values().tolist() == by_csv.nodes.rack.values().tolist()
    assert topo.validate(by_xlsx, fabric, consequence=False).findings == ()


def test_a_damaged_plan_is_found_out() -> None:
    """The round trip can fail: one port changed in the text is one finding."""
    fabric = topo.leaf_spine(leaves=4, spines=4, hosts_per_leaf=8)
    lines = cabling_plan(fabric).schedule_csv().splitlines()
    at = next(i for i, line in enumerate(lines) if "spine-1" in line)
    del lines[at]
    answer = topo.validate(topo.io.fabric_of_text("\n".join(lines), "plan.csv"), fabric, consequence=False)
    assert [one.code for one in answer.findings] == ["missing"]


def renamed(fabric: Fabric, names: list[str]) -> Fabric:
    """The fabric with other names of nodes; a host goes by the name of its node."""
    kinds = fabric.nodes.kind.values()
    hosts = Labels.of(name if kind == "host" else None for name, kind in zip(names, kinds, strict=True))
    return replace(fabric, nodes=replace(fabric.nodes, name=np.array(names), host=hosts))


def test_names_that_a_sheet_would_compute_are_defused_and_come_back(tmp_path: Path) -> None:
    fabric = topo.leaf_spine(leaves=4, spines=4, hosts_per_leaf=2)
    signs = "=+-@"
    names = [
        f"{signs[i % 4]}{name}" if kind == "switch" else name
        for i, (name, kind) in enumerate(zip(fabric.nodes.name, fabric.nodes.kind.values(), strict=True))
    ]
    hostile = renamed(fabric, names)
    plan = cabling_plan(hostile)
    for text in (plan.schedule_csv(), plan.labels_csv(), plan.units_csv(), plan.racks_csv(), plan.bill_csv()):
        for line in text.splitlines():
            assert not any(cell.startswith(("=", "+", "-", "@")) for cell in line.replace('"', "").split(","))
    checked_round_trip(hostile, tmp_path / "hostile.csv")
    if pytest.importorskip("xlsxwriter"):
        (tmp_path / "hostile.xlsx").write_bytes(plan.workbook())
        assert topo.validate(topo.read(tmp_path / "hostile.xlsx"), hostile, consequence=False).findings == ()


def test_a_name_that_ends_in_a_number_keeps_it(tmp_path: Path) -> None:
    """``leaf 1`` with port ``1`` is no node ``leaf``."""
    fabric = topo.leaf_spine(leaves=2, spines=2, hosts_per_leaf=2)
    checked_round_trip(renamed(fabric, [name.replace("-", " ") for name in fabric.nodes.name]), tmp_path / "plan.csv")


def test_legs_of_a_breakout_are_one_cable_with_legs() -> None:
    fabric = topo.rail_optimized(16, rails=4, hosts_per_unit=8, radix=16, link_gbps=800, host_gbps=400, breakout=2)
    plan = cabling_plan(fabric)
    access = int(fabric.links.kind.is_any("access").sum())
    assert (access, plan.n_links - plan.n_cables) == (64, 32)
    legs = plan.routes.leg[fabric.links.kind.is_any("access")[plan.boxes.links]]
    assert sorted(set(legs.tolist())) == [1, 2]
    same = fabric.links.cable[plan.boxes.links]
    for cable in np.unique(plan.routes.cable):
        mine = plan.routes.cable == cable
        assert len(set(same[mine].tolist())) == 1 and len(set(plan.routes.length_m[mine].tolist())) == 1


def test_links_of_unknown_rate_are_refused() -> None:
    fabric = topo.leaf_spine(leaves=2, spines=2, hosts_per_leaf=2)
    columns = {name: getattr(fabric.links, name) for name in fabric.links.columns()}
    columns["capacity_gbps"] = np.where(np.arange(len(fabric.links)) == 3, np.nan, fabric.links.capacity_gbps)
    unknown = Fabric("unknown", fabric.nodes, fabric.ports, LinkTable(**columns))
    with pytest.raises(topo.ParameterError, match="states a rate for every link; 1 have none"):
        cabling_plan(unknown)


def test_a_fabric_without_cables_is_refused() -> None:
    with pytest.raises(topo.ParameterError, match="no cable between boxes"):
        cabling_plan(topo.load("nvidia-dgx-h100"))
