"""A plan with racks, written, read again, cabled with faults and mended: racks and lengths come through to the list."""

from __future__ import annotations

import csv
from pathlib import Path

import topo
from topo.design import cabling_plan, write_plan
from topo.repair import repair_wiring, repair_written
from topo.wiring import validate

RACKS = "rack:\n  units: 24\n  power_kw: 20.0\n"


def test_faults_in_a_planned_schedule_are_mended_rack_by_rack(tmp_path: Path) -> None:
    fabric = topo.leaf_spine(leaves=4, spines=4, hosts_per_leaf=8, parallel=2)
    (tmp_path / "racks.yaml").write_text(RACKS)
    made = cabling_plan(fabric, racks=tmp_path / "racks.yaml")
    (path,) = (one for one in write_plan(made, tmp_path / "plan", xlsx=False) if one.name == "schedule.csv")
    rows = list(csv.DictReader(path.open()))
    planned = topo.load(path)
    assert len(planned.links) == len(fabric.links)
    assert sorted(planned.links.length_m.tolist()) == sorted(float(row["Length m"]) for row in rows)
    units = {row[f"{side} Node"]: f"U{row[f'{side} U']}" for row in rows for side in "AZ"}
    nodes = planned.nodes
    read = [nodes.rack_unit[row] for row in range(len(nodes))]
    assert read == [units[host or name] for name, host in zip(nodes.name.tolist(), nodes.host.values(), strict=True)]
    racks = {row[f"{side} Node"]: row[f"{side} Rack"] for row in rows for side in "AZ"}
    assert len(set(racks.values())) > 1 and all(racks.values())

    uplinks = [i for i, row in enumerate(rows) if "spine" in row["Z Node"] + row["A Node"]]
    one, other, lost = uplinks[0], uplinks[-1], uplinks[5]
    assert {rows[one]["Z Node"], rows[one]["A Node"]}.isdisjoint({rows[other]["Z Node"], rows[other]["A Node"]})
    missing = {rows[lost]["A Node"], rows[lost]["Z Node"]}
    ends = {rows[i][f"{side} Node"] for i in (one, other) for side in "AZ"}
    for column in [name for name in rows[0] if name.startswith("Z ")]:
        rows[one][column], rows[other][column] = rows[other][column], rows[one][column]
    del rows[lost]
    found = tmp_path / "found.csv"
    with found.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)

    answer = validate(found, path, consequence=False)
    assert sorted(one.code for one in answer.findings if one.severity != "note") == ["missing", "swapped"]
    mended = repair_wiring(topo.load(found), topo.load(path), consequence=False)
    assert mended.n_operations == 3 and not mended.left
    text = repair_written(mended, "text")
    walked = {line.removeprefix("Rack ") for line in text.splitlines() if line.startswith("Rack ")}
    assert {racks[node] for node in missing} <= walked <= {racks[node] for node in ends | missing}
