"""Racks: every box once, none over another, within power; rules; what is said where they cannot be kept."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import topo
from topo.design import CablingPlan, RackRules, cabling_plan, read_rack_rules
from topo.design.rules import BoxRule, CableRule, HallRule, PlaceRule, RackRule

SOME = (
    "nvidia-superpod-h100-4su", "nvidia-superpod-gb200-2su", "nvidia-superpod-gb200-2su-nvl72", "deepseek-ft2",
    "dragonfly-1056", "slim-fly-q5", "torus-8x8x8", "alibaba-hpn-segment", "huawei-cloudmatrix384", "bcube-8-3",
    "google-tpu-v4",
)  # fmt: skip


def check(plan: CablingPlan) -> None:
    """Each box in one rack at units of its own; each rack within its power, at a place of its own."""
    boxes, layout = plan.boxes, plan.layout
    assert (layout.of_box >= 0).all() and (layout.of_box < layout.n_racks).all()
    taken: set[tuple[int, int]] = set()
    for i in range(len(boxes)):
        for unit in range(int(layout.unit[i]), int(layout.unit[i] + boxes.units[i])):
            assert 1 <= unit <= layout.rules.rack.units
            assert (int(layout.of_box[i]), unit) not in taken
            taken.add((int(layout.of_box[i]), unit))
    assert (plan.rack_kw <= layout.power_kw + 1e-9).all()
    places = list(zip(layout.row.tolist(), layout.position.tolist(), strict=True))
    assert len(set(places)) == layout.n_racks == len(set(layout.rack))
    assert layout.position.max() <= layout.rules.hall.racks_per_row
    assert np.isclose(plan.rack_kw.sum(), plan.bill.power_kw)


@pytest.mark.parametrize("name", SOME)
def test_racks_hold_what_they_may(name: str) -> None:
    check(cabling_plan(topo.load(name)))


@pytest.mark.parametrize("leaf", ["auto", "top", "end_of_row", "middle_of_row"])
@pytest.mark.parametrize("spine", ["middle", "end"])
def test_rules_for_leaves_and_spines(leaf: str, spine: str) -> None:
    fabric = topo.leaf_spine(leaves=6, spines=4, hosts_per_leaf=8)
    plan = cabling_plan(fabric, racks=RackRules(leaf=leaf, spine=spine))  # type: ignore[arg-type]
    check(plan)
    boxes, layout = plan.boxes, plan.layout
    leaf_rack = {layout.of_box[i] for i in range(len(boxes)) if boxes.tier[i] == 1}
    host_rack = {layout.of_box[i] for i in range(len(boxes)) if boxes.word[i] == "host"}
    assert bool(leaf_rack & host_rack) == (leaf in ("auto", "top"))
    if leaf in ("auto", "top"):
        for a, b in zip(boxes.a.tolist(), boxes.b.tolist(), strict=True):
            if boxes.word[a] == "host":
                assert layout.of_box[a] == layout.of_box[b]
                assert layout.unit[b] > layout.unit[a]
    order = np.lexsort((layout.position, layout.row))
    words = [layout.word[i] for i in order]
    at = words.index("spines")
    assert (0 < at < len(words) - 1) if spine == "middle" else at == len(words) - 1


def test_rail_leaves_stand_together_beside_their_unit() -> None:
    plan = cabling_plan(topo.load("nvidia-superpod-h100-4su"))
    boxes, layout = plan.boxes, plan.layout
    pods = boxes.fabric.nodes.pod.labels
    for pod in range(len(pods)):
        leaves = [i for i in range(len(boxes)) if boxes.tier[i] == 1 and boxes.pod[i] == pod]
        racks = {int(layout.of_box[i]) for i in leaves}
        assert len(leaves) == 8 and len(racks) == 1
        rack = racks.pop()
        rails = [int(boxes.rail[i]) for i in sorted(leaves, key=lambda i: -layout.unit[i])]
        assert rails == sorted(rails)
        before = layout.of_box[[i for i in range(len(boxes)) if boxes.name[i] in hosts_of(plan, leaves)]]
        assert {int(layout.row[r]) for r in before} == {int(layout.row[rack])}
        assert max(int(layout.position[r]) for r in before) == int(layout.position[rack]) - 1


def hosts_of(plan: CablingPlan, leaves: list[int]) -> set[str]:
    boxes = plan.boxes
    return {
        boxes.name[a]
        for a, b in zip(boxes.a.tolist(), boxes.b.tolist(), strict=True)
        if b in leaves and boxes.word[a] == "host"
    }


def test_the_published_number_of_racks_is_met() -> None:
    """Appendix A of the H100 reference architecture counts 38 racks for 127 nodes, four a rack."""
    plan = cabling_plan(topo.load("nvidia-superpod-h100-4su"))
    assert plan.n_racks == 38
    hosts = [rack for rack, word in enumerate(plan.layout.word) if word == "hosts"]
    assert len(hosts) == 32 and max(np.bincount(plan.layout.of_box)[hosts]) == 4


def test_closed_racks_hold_eighteen_trays_and_nothing_else() -> None:
    plan = cabling_plan(topo.load("nvidia-superpod-gb200-2su"))
    held = np.bincount(plan.layout.of_box, minlength=plan.n_racks)
    closed = [rack for rack, word in enumerate(plan.layout.word) if word == "closed rack"]
    assert len(closed) == 16 and {int(held[rack]) for rack in closed} == {18}


def test_a_search_never_makes_cables_longer_and_moves_racks_only() -> None:
    for name in ("nvidia-superpod-h100-4su", "huawei-cloudmatrix384"):
        before, after = cabling_plan(topo.load(name)), cabling_plan(topo.load(name), search_order=True)
        check(after)
        assert after.before_m == before.total_m and after.total_m < 0.9 * before.total_m
        assert after.layout.of_box.tolist() == before.layout.of_box.tolist()
        places = [sorted(zip(p.layout.row.tolist(), p.layout.position.tolist(), strict=True)) for p in (before, after)]
        assert places[0] == places[1]


def test_a_searched_order_is_a_local_optimum_by_brute_force() -> None:
    fabric = topo.leaf_spine(leaves=6, spines=4, hosts_per_leaf=20)
    rules = RackRules(leaf="end_of_row", hall=HallRule(racks_per_row=4), rack=RackRule(units=10))
    plan = cabling_plan(fabric, racks=rules, search_order=True)
    boxes, layout = plan.boxes, plan.layout
    of_a, of_b = layout.of_box[boxes.a], layout.of_box[boxes.b]
    place = layout.place_m(np.arange(layout.n_racks))

    def way(place: np.ndarray) -> float:
        return float(np.abs(place[of_a] - place[of_b]).sum())

    best = way(place)
    for i in range(layout.n_racks):
        for j in range(i):
            other = place.copy()
            other[[i, j]] = other[[j, i]]
            assert way(other) >= best - 1e-6


def test_rules_of_a_file_replace_the_usual_ones(tmp_path: Path) -> None:
    file = tmp_path / "racks.yaml"
    file.write_text(
        "rack: {units: 42, power_kw: 25}\n"
        "boxes:\n  dgx-h100: {units: 9, power_kw: 11}\n"
        "place:\n  - {boxes: 'spine-*', rack: NET-1, row: 1, position: 1}\n  - {boxes: 'manager-*', rack: OPS}\n"
        "cables: {slack_percent: 0, slack_m: 0, media: [single_mode]}\n"
    )
    plan = cabling_plan(topo.load("nvidia-superpod-h100-1su"), racks=file)
    check(plan)
    boxes, layout = plan.boxes, plan.layout
    hosts = [i for i in range(len(boxes)) if boxes.word[i] == "host"]
    assert {int(boxes.units[i]) for i in hosts} == {9}
    assert max(np.bincount(layout.of_box[hosts])) == 2
    net = layout.rack.index("NET-1")
    assert (layout.row[net], layout.position[net]) == (1, 1)
    assert {boxes.name[i] for i in np.flatnonzero(layout.of_box == net)} == {f"spine-{n}" for n in range(1, 5)}
    assert "OPS" in layout.rack
    assert {line.item for line in plan.bill.lines if line.group == "cable"} == {"single-mode fibre 400G"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("rack: {unitz: 42}\n", r"racks.yaml:1: key rack.unitz: .*did you mean 'units'"),
        ("rack: {power_kw: many}\n", r"racks.yaml:1: key rack.power_kw: 'many' is not a number"),
        ("leaf: roof\n", r"racks.yaml:1: key leaf: 'roof' is not allowed"),
        (
            "place:\n  - {boxes: a, rack: b, row: 1}\n",
            r"racks.yaml:2: key place\[1\]: row and position belong together",
        ),
        ("cables: {media: []}\n", r"racks.yaml:1: key cables.media"),
        (
            "place:\n  - {boxes: a, rack: X, row: 1, position: 2}\n  - {boxes: b, rack: Y, row: 1, position: 2}\n",
            "racks 'X' and 'Y' both stand at row 1, position 2",
        ),
    ],
)
def test_a_racks_file_that_does_not_fit_is_located(text: str, said: str, tmp_path: Path) -> None:
    file = tmp_path / "racks.yaml"
    file.write_text(text)
    with pytest.raises(topo.InputError, match=said):
        read_rack_rules(file)


def test_too_few_racks_say_how_many_and_what_would_do() -> None:
    fabric = topo.load("nvidia-superpod-h100-4su")
    with pytest.raises(
        topo.ParameterError, match=r"38 racks are needed.*most_racks is 30: 8 too few; 30 would do"
    ) as no:
        cabling_plan(fabric, racks=RackRules(hall=HallRule(most_racks=30)))
    enough = float(str(no.value).split("power_kw of ")[1].split()[0])
    rules = RackRules(hall=HallRule(most_racks=30), rack=RackRule(power_kw=enough))
    assert cabling_plan(fabric, racks=rules).n_racks <= 30
    less = RackRules(hall=HallRule(most_racks=30), rack=RackRule(power_kw=enough - 1))
    with pytest.raises(topo.ParameterError, match="too few"):
        cabling_plan(fabric, racks=less)


def test_too_few_racks_for_any_power_say_the_fewest() -> None:
    fabric = topo.load("nvidia-superpod-h100-4su")
    with pytest.raises(topo.ParameterError, match=r"however much power a rack has, (\d+) are needed") as no:
        cabling_plan(fabric, racks=RackRules(hall=HallRule(most_racks=10)))
    fewest = int(str(no.value).split("rack has, ")[1].split()[0])
    rules = RackRules(hall=HallRule(most_racks=fewest), rack=RackRule(power_kw=1000))
    assert cabling_plan(fabric, racks=rules).n_racks == fewest


def test_too_little_power_says_how_much_a_box_draws_and_what_would_do() -> None:
    fabric = topo.load("nvidia-superpod-h100-1su")
    with pytest.raises(topo.ParameterError, match=r"draws 10\.27 kW with its optics, but rack\.power_kw is 10") as no:
        cabling_plan(fabric, racks=RackRules(rack=RackRule(power_kw=10)))
    enough = float(str(no.value).rsplit("set it to ", 1)[1].split()[0])
    check(cabling_plan(fabric, racks=RackRules(rack=RackRule(power_kw=enough))))


def test_a_box_higher_than_a_rack_is_refused() -> None:
    with pytest.raises(topo.ParameterError, match=r"takes 8 rack units, but rack\.units is 6; set it to 8 or more"):
        cabling_plan(topo.load("nvidia-superpod-h100-1su"), racks=RackRules(rack=RackRule(units=6)))


def test_a_closed_rack_over_its_power_is_refused() -> None:
    with pytest.raises(topo.ParameterError, match=r"a rack of 18 gb200-tray draws 12\d\.\d kW .*closed_kw is 100"):
        cabling_plan(topo.load("nvidia-superpod-gb200-1su"), racks=RackRules(rack=RackRule(closed_kw=100)))


def test_a_cable_longer_than_any_medium_is_refused_with_the_nearest() -> None:
    fabric = topo.load("nvidia-superpod-h100-4su")
    far = HallRule(row_pitch_m=90, racks_per_row=9)
    with pytest.raises(
        topo.ParameterError, match=r"multimode fibre 400G reaches 50 m.*add single_mode to cables.media"
    ):
        cabling_plan(fabric, racks=RackRules(hall=far, cables=CableRule(media=("copper", "multimode"))))
    assert cabling_plan(fabric, racks=RackRules(hall=far)).longest_m > 50
    wide = HallRule(row_pitch_m=100, racks_per_row=1)
    with pytest.raises(topo.ParameterError, match=r"runs [\d,.]+ m, and .* reaches 2,000 m; nothing .* would do") as no:
        cabling_plan(fabric, racks=RackRules(hall=wide, spine="end"))
    pitch = float(str(no.value).split("row_pitch_m of ")[1].split()[0])
    near, wider = (HallRule(row_pitch_m=round(m, 1), racks_per_row=1) for m in (pitch, pitch + 0.1))
    assert cabling_plan(fabric, racks=RackRules(hall=near, spine="end")).longest_m <= 2000
    with pytest.raises(topo.ParameterError, match="longer than any medium"):
        cabling_plan(fabric, racks=RackRules(hall=wider, spine="end"))


def test_boxes_stated_by_a_place_rule_split_over_racks_of_one_name() -> None:
    rules = RackRules(place=(PlaceRule(boxes="host-*", rack="R"),), boxes={"host-*": BoxRule(units=10, power_kw=5)})
    plan = cabling_plan(topo.leaf_spine(leaves=2, spines=2, hosts_per_leaf=5), racks=rules)
    check(plan)
    assert sorted(name for name in plan.layout.rack if name.startswith("R")) == ["R", "R.2", "R.3"]


def test_leaves_that_do_not_fit_on_top_are_said_with_both_numbers() -> None:
    said = r"but su-1-leaf-1 .* take 256 rack units and 3\d\d\.\d kW, more than one rack of 48 units and 44 kW"
    with pytest.raises(topo.ParameterError, match=said):
        cabling_plan(topo.load("nvidia-superpod-h100-1su"), racks=RackRules(leaf="top"))


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    leaves=st.integers(1, 8),
    spines=st.integers(1, 4),
    hosts=st.integers(1, 12),
    units=st.integers(4, 48),
    power=st.floats(4, 60),
    across=st.integers(1, 12),
    leaf=st.sampled_from(["auto", "end_of_row", "middle_of_row"]),
    spine=st.sampled_from(["middle", "end"]),
    search=st.booleans(),
)
def test_any_rules_keep_any_small_fabric_whole(
    leaves: int, spines: int, hosts: int, units: int, power: float, across: int, leaf: str, spine: str, search: bool
) -> None:
    fabric = topo.leaf_spine(leaves=leaves, spines=spines, hosts_per_leaf=hosts)
    rules = RackRules(
        rack=RackRule(units=units, power_kw=power, switches=3),
        hall=HallRule(racks_per_row=across),
        leaf=leaf,  # type: ignore[arg-type]
        spine=spine,  # type: ignore[arg-type]
    )
    plan = cabling_plan(fabric, racks=rules, search_order=search)
    check(plan)
    read = topo.io.fabric_of_text(plan.schedule_csv(), "plan.csv")
    assert len(read.links) == len(fabric.links)
    assert topo.validate(read, fabric, consequence=False).n_operations == 0
    if search:
        before = cabling_plan(fabric, racks=rules)
        assert plan.routes.route_m.sum() <= before.routes.route_m.sum() + 1e-6
        assert plan.before_m == before.total_m


def test_a_rule_that_means_no_box_is_said_with_the_nearest() -> None:
    rules = RackRules(place=(PlaceRule(boxes="spin-1", rack="R"),))
    with pytest.raises(topo.ParameterError, match=r"no box like 'spin-1' to put into rack 'R'; did you mean 'spine-1'"):
        cabling_plan(topo.leaf_spine(leaves=2, spines=2, hosts_per_leaf=5), racks=rules)


def test_racks_that_a_schedule_states_are_kept() -> None:
    """A plan that was read back is racked as it was."""
    plan = cabling_plan(topo.load("nvidia-superpod-h100-1su"))
    read = topo.io.fabric_of_text(plan.schedule_csv(), "plan.csv")
    again = cabling_plan(read)
    check(again)
    racks = [dict(zip(p.boxes.name, (p.layout.rack[r] for r in p.layout.of_box), strict=True)) for p in (plan, again)]
    assert racks[0] == racks[1]
