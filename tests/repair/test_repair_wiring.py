"""Repairs: applying the list and validating again finds nothing; as many jobs as the faults need; real dumps."""

from __future__ import annotations

import csv
import datetime
import json
import pickle
from collections import Counter
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from injected_faults import HOST_KINDS, SWITCH_KINDS, as_read, inject
from replayed import cable_set, replay

import topo
from topo.fabric import Fabric
from topo.repair import repair_wiring, repair_written
from topo.wiring import validate

FAMILIES: dict[str, tuple] = {
    "leaf-spine": (lambda: topo.leaf_spine(32, 16, 16, parallel=2), SWITCH_KINDS),
    "fat tree k = 16": (lambda: topo.fat_tree(16), SWITCH_KINDS),
    "H100 4 SU": (lambda: topo.load("nvidia-superpod-h100-4su"), SWITCH_KINDS + HOST_KINDS),
    "B200 8 SU": (lambda: topo.load("nvidia-superpod-b200-8su"), SWITCH_KINDS + HOST_KINDS),
    "GB200 2 SU": (lambda: topo.load("nvidia-superpod-gb200-2su"), SWITCH_KINDS + HOST_KINDS),
    "dual top of rack": (lambda: topo.load("alibaba-hpn-segment"), SWITCH_KINDS + HOST_KINDS),
    "four planes": (lambda: topo.multi_plane(1024, planes=4, nic_gbps=800, radix=64), (*SWITCH_KINDS, "nicmissing")),
    "rails alone": (lambda: topo.rail_only(1024, rails=4, radix=64), (*SWITCH_KINDS, "nicmissing", "railswap")),
}
FAULTS = Path(__file__).resolve().parent.parent / "wiring_faults"
with (FAULTS / "expected.tsv").open() as table:
    CASES = list(csv.DictReader(table, delimiter="\t"))
NO_CABLE_WORK = {
    # Not a matter of cables: parts, names, spellings, devices that are not there, what a dump cannot know.
    "ports-too-many", "port-too-slow", "island", "oversubscription-unlike", "part-mismatch", "leaf-missing", "spelling",
    "accept-expired", "link-one-sided", "name-duplicate", "wrong-design", "links-unlike",
}  # fmt: skip

FAR_END_UNKNOWN = {"nic-missing_the_only_slot_of_a_scheme.csv": {"nic-missing"}}  # no peer tells where it should go


@cache
def good(family: str) -> Fabric:
    return FAMILIES[family][0]()


def cost(kind: str, links: frozenset[int]) -> int:
    """Jobs that undo a fault as it was put in."""
    return len(links) if kind in ("bundle", "swap", "railswap", "unitcross") else 1


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize(("n", "seed"), [(1, 0), (1, 1), (10, 2), (50, 3)])
def test_applying_the_list_makes_the_wiring_follow_its_design(family: str, n: int, seed: int) -> None:
    design = good(family)
    injected = inject(design, n, seed, FAMILIES[family][1])
    repair = repair_wiring(injected.fabric, design, consequence=False)
    assert validate(repair.mended, design, consequence=False).findings == ()
    assert repair.left == ()
    # Cables that split into legs, as those of two-port adapters, have a bound of one job a cable only.
    assert repair.is_shortest or (family == "dual top of rack" and repair.n_operations <= repair.least_operations + 1)
    assert repair.n_operations <= sum(cost(kind, links) for kind, links in injected.faults)
    assert repair.cut_off_after == 0
    assert cable_set(replay(repair.comparison, repair.jobs, repair.acts)) == cable_set(design)
    assert cable_set(repair.mended) == cable_set(design)


@pytest.mark.parametrize("kind", SWITCH_KINDS + HOST_KINDS)
def test_every_kind_of_damage_alone(kind: str) -> None:
    design = good("H100 4 SU")
    for seed in range(4):
        ((_, links),) = (injected := inject(design, 1, seed, (kind,))).faults
        for against in (design, None):
            fabric = injected.fabric if against is not None else as_read(injected.fabric)
            repair = repair_wiring(fabric, against, consequence=False)
            assert repair.n_operations == cost(kind, links)
            assert repair.left == ()
            again = validate(repair.mended, against, consequence=False)
            assert [str(one) for one in again.findings if one.severity != "note"] == []
            replay(repair.comparison, repair.jobs, repair.acts)


@pytest.mark.parametrize("family", FAMILIES)
def test_without_a_design_the_wiring_is_regular_again(family: str) -> None:
    for n, seed in ((1, 4), (10, 5)):
        injected = inject(good(family), n, seed, FAMILIES[family][1])
        repair = repair_wiring(as_read(injected.fabric), consequence=False)
        assert repair.left == ()
        assert repair.n_operations <= sum(cost(kind, links) for kind, links in injected.faults)
        again = validate(repair.mended, consequence=False)
        assert [str(one) for one in again.findings if one.severity != "note"] == []
        replay(repair.comparison, repair.jobs, repair.acts)


def test_a_swapped_pair_is_two_moves_one_end_hanging_meanwhile() -> None:
    design = good("H100 4 SU")
    repair = repair_wiring(inject(design, 1, 0, ("swap",)).fabric, design)
    assert repair.counts == {"move": 2}
    assert [act.kind for act in repair.acts] == ["unplug", "move", "plug"]
    assert [act.in_place for act in repair.acts] == [repair.n_planned - 2, repair.n_planned - 1, repair.n_planned]
    assert repair.cut_off_most == 0


def test_a_list_too_long_to_watch_step_by_step_still_says_who_is_cut_off() -> None:
    design = topo.fat_tree(16)
    gone = np.random.default_rng(1).choice(len(design.links), 700, replace=False)
    hosts = int(design.links.kind.is_any("access")[gone].sum())
    repair = repair_wiring(design.without(links=gone.tolist()), design, consequence=False)
    assert repair.counts == {"add": 700}
    assert {step.cut_off for step in repair.steps} == {-1}
    assert repair.cut_off_before >= hosts > 0
    assert repair.cut_off_after == 0


def test_the_fault_that_loses_most_comes_first() -> None:
    """A whole bundle of eight overloads 28 cables, one cable of a bundle of four the three left: that loses less."""
    design = topo.leaf_spine(leaves=16, spines=8, hosts_per_leaf=32, parallel=4)
    thin = np.flatnonzero((design.links.kind.is_any("scale_out")) & (design.link_a == design.select("leaf-03")[0]))
    absent = np.flatnonzero((design.links.kind.is_any("scale_out")) & (design.link_a == design.select("leaf-07")[0]))
    assert len(thin) == len(absent) == 32
    found = design.without(links=[int(thin[0]), *absent[:4].tolist()])
    repair = repair_wiring(found, design)
    assert [step.enters[0].split()[0] for step in repair.steps] == ["leaf-07"] * 4 + ["leaf-03"]
    whole, thin_pair = repair.steps[0], repair.steps[-1]
    # What leaves a leaf of 32 hosts, 480 of 511 pairs, in cables: above 28 of them both ways; or an eighth of it above
    # 3, down alone, as the leaf itself spreads over its 31. theta is what fits of it.
    out = 32 * 480 / 511
    assert whole.gives_gbps == pytest.approx(2 * 400 * (out - 28)) and whole.theta == pytest.approx(28 / out)
    assert thin_pair.gives_gbps == pytest.approx(400 * (out / 8 - 3))
    assert thin_pair.theta == pytest.approx(3 / (out / 8))
    assert "In this order, what loses most Gb/s of an all-to-all first" in repair_written(repair)


def test_exchanged_leaves_are_renamed_beside_the_other_faults() -> None:
    design = good("H100 4 SU")
    injected = inject(design, 5, 3, SWITCH_KINDS)
    names = injected.fabric.nodes.name.copy()
    one, other = (int(np.flatnonzero(names == name)[0]) for name in ("su-1-leaf-3", "su-3-leaf-5"))
    names[[one, other]] = names[[other, one]]
    renamed = replace(injected.fabric, nodes=replace(injected.fabric.nodes, name=names))
    repair = repair_wiring(renamed, design, consequence=False)
    assert repair.counts["rename"] == 2
    assert repair.left == ()
    assert cable_set(repair.mended) == cable_set(design)


def test_slow_cables_are_replaced() -> None:
    design = topo.leaf_spine(leaves=8, spines=4, hosts_per_leaf=8)
    gbps = design.links.capacity_gbps.copy()
    gbps[[70, 80]] = 100
    slow = replace(design, links=replace(design.links, capacity_gbps=gbps))
    for against in (design, None):
        repair = repair_wiring(slow, against)
        assert repair.counts == {"replace": 2}
        assert repair.left == ()
        assert np.array_equal(repair.mended.links.capacity_gbps, design.links.capacity_gbps)


def test_accepted_deviations_stay(tmp_path: Path) -> None:
    design = topo.leaf_spine(leaves=4, spines=4, hosts_per_leaf=8, parallel=2)
    found = design.without(links=[40, 47])
    place = next(one.place for one in validate(found, design).findings if "spine-1" in one.place)
    accept = tmp_path / "known.yaml"
    accept.write_text(f"accept:\n  - code: missing\n    where: {place}\n    reason: spare\n")
    repair = repair_wiring(found, design, accept=accept, today=datetime.date(2026, 12, 1))
    assert repair.counts == {"add": 1}
    assert repair.left == ()


@pytest.mark.parametrize("case", CASES, ids=[case["file"] for case in CASES])
def test_what_cables_can_mend_is_mended_in_every_fault_file(case: dict[str, str]) -> None:
    against = FAULTS / case["against"] if case["against"] else None
    accept = FAULTS / case["accept"] if case["accept"] else None
    if case["code"] == "wrong-design":
        with pytest.raises(topo.ParameterError, match="is this the right design"):
            repair_wiring(FAULTS / case["file"], against)
        return
    repair = repair_wiring(FAULTS / case["file"], against, accept=accept, today=datetime.date(2026, 12, 1))
    assert {one.code for one in repair.left} <= NO_CABLE_WORK | FAR_END_UNKNOWN.get(case["file"], set())
    replay(repair.comparison, repair.jobs, repair.acts)


def test_another_fabric_s_plan_is_refused_with_what_they_share() -> None:
    with pytest.raises(topo.ParameterError, match=r"have 0 % of their cables in common \(\d+ of [\d,]+ found"):
        repair_wiring(topo.fat_tree(8), good("rails alone"))


def test_a_repair_is_a_result() -> None:
    design = good("H100 4 SU")
    repair = repair_wiring(inject(design, 5, 1, SWITCH_KINDS).fabric, design)
    data = json.loads(repair.to_json())
    assert data["n_operations"] == sum(data["counts"].values())
    assert len(data["steps"]) == len(repair.steps)
    assert pickle.loads(pickle.dumps(repair)).steps == repair.steps
    assert "never fewer" in str(repair)
    assert repair._repr_html_().count("<tr>") == len(repair.rows()) == len(repair.to_frame())


def test_50_faults_in_the_16384_gpu_superpod() -> None:
    design = topo.load("nvidia-superpod-b200-64su")
    injected = inject(design, 50, 7, SWITCH_KINDS + HOST_KINDS)
    repair = repair_wiring(injected.fabric, design)
    print(f"50 faults in {len(design.links):,} cables: {repair.n_operations} jobs")
    assert repair.left == ()
    assert repair.n_operations == sum(cost(kind, links) for kind, links in injected.faults)


def test_selene_needs_29_cables(shared_data: Path) -> None:
    repair = repair_wiring(shared_data / "ibnetdiscover" / "selene.compute.txt")
    assert repair.counts == {"add": 29}
    assert repair.left == ()
    assert "shut the 13 cables left in 13 thin pairs" in repair.first_aid
    assert all("any free port" not in step.text for step in repair.steps)
    thin = [step for step in repair.steps if step.because.startswith("pair-thin")]
    assert [step.number for step in thin] == list(range(1, 14))


def test_ndr_dump_needs_one_swap_and_26_cables(shared_data: Path) -> None:
    repair = repair_wiring(shared_data / "ibnetdiscover" / "topograph__example.out")
    assert repair.counts == {"move": 2, "add": 26}
    assert Counter(step.kind for step in repair.steps if "rail-swap" in step.because) == {
        "unplug": 1, "move": 1, "plug": 1
    }  # fmt: skip
    assert [(one.code, one.place.endswith("rail 3")) for one in repair.left] == [("leaf-missing", True)]


def test_director_without_a_plan_needs_5_cables_and_3_adapters(shared_data: Path) -> None:
    repair = repair_wiring(shared_data / "ibnetdiscover" / "ufm_ndt__ibnetdiscover_director.txt")
    assert repair.counts == {"add": 8}
    assert repair.left == ()
