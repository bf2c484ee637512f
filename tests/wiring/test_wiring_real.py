"""Real dumps: what is known to be wrong with each is found, once, and nothing else above note."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

import topo
from topo.wiring import Validation, validate

SELENE_THIN = {
    "LG01-01 - CSPINE1-08",
    "LG03-06 - CSPINE1-56",
    "LG04-04 - CSPINE1-33",
    "LG05-07 - CSPINE1-68",
    "LG06-07 - CSPINE1-67",
    "LG10-02 - CSPINE2-13",
    "LG13-07 - CSPINE2-66",
    "LG14-04 - CSPINE2-35",
    "LG14-07 - CSPINE2-69",
    "LG18-04 - CSPINE3-35",
    "LG23-06 - CSPINE4-56",
    "LG27-04 - CSPINE4-37",
    "LG28-08 - CSPINE4-76",
}
NDR_THIN = {
    "A09-P1-IBLEAF-01-01 - A10-P1-IBSPINE-04",
    "A09-P1-IBLEAF-02-03 - A10-P1-IBSPINE-01",
    "B09-P1-IBLEAF-01-05 - A10-P1-IBSPINE-04",
    "B09-P1-IBLEAF-01-05 - B10-P1-IBSPINE-08",
    "B09-P1-IBLEAF-01-08 - B10-P1-IBSPINE-06",
    "B09-P1-IBLEAF-03-07 - B10-P1-IBSPINE-06",
}


@pytest.fixture(scope="module")
def dumps(shared_data: Path) -> Path:
    return shared_data / "ibnetdiscover"


@pytest.fixture(scope="module")
def selene(dumps: Path) -> Validation:
    return validate(dumps / "selene.compute.txt", bisection=False)


@pytest.fixture(scope="module")
def ndr(dumps: Path) -> Validation:
    return validate(dumps / "topograph__example.out")


@pytest.fixture(scope="module")
def director(dumps: Path) -> Validation:
    return validate(dumps / "ufm_ndt__ibnetdiscover_director.txt", bisection=False)


def codes(answer: Validation) -> Counter[str]:
    return Counter(one.code for one in answer.findings)


def places(answer: Validation, code: str) -> set[str]:
    return {one.place for one in answer.findings if one.code == code}


def test_selene_13_thin_pairs_and_16_absent_links(selene: Validation) -> None:
    assert codes(selene) == {"pair-thin": 13, "pair-absent": 16, "pattern-other": 2}
    assert places(selene, "pair-thin") == SELENE_THIN
    absent = Counter(place.split(" - ")[0] for place in places(selene, "pair-absent"))
    assert absent["CSPINE1-31"] == 2
    assert sorted(absent.values()) == [1] * 14 + [2]
    assert places(selene, "pattern-other") == {"MSPINE3-01", "MSPINE4-01"}
    assert selene.n_operations == 29


def test_selene_says_which_ports_are_free_for_each_missing_cable(selene: Validation) -> None:
    for one in selene.findings:
        for operation in one.operations:
            both = selene.comparison.both
            link = operation.planned
            ends = both.links.port_a[link], both.links.port_b[link]
            assert all(both.ports.label[port] for port in ends)
    assert sum(len(one.operations) for one in selene.findings) == 29


def test_selene_prices_are_those_of_the_load_model(selene: Validation) -> None:
    """One thin pair of m = 2 halves an all-to-all of a full leaf; an absent one of 14 to the core costs nothing."""
    theta = selene.consequence.measures[0]
    assert (round(theta.healthy_lower, 2), round(theta.found_lower, 4)) == (1.0, 0.5021)
    assert selene.consequence.n_first_aid == 13
    assert selene.consequence.first_aid_theta == pytest.approx(0.8985, abs=5e-5)
    thin = [one.price.theta for one in selene.findings if one.code == "pair-thin"]
    assert (round(min(thin), 3), round(max(thin), 3)) == (0.503, 0.717)
    assert min(one.price.theta for one in selene.findings if one.code == "pair-absent") > 0.999
    assert all(one.price.gain < 5e-4 for one in selene.findings if one.price is not None)
    ranked = [one.price.theta for one in selene.findings if one.price is not None]
    assert ranked == sorted(ranked)


def test_ndr_swapped_pair_missing_leaf_and_26_cables(ndr: Validation) -> None:
    expected = {"pair-thin": 6, "pair-absent": 10, "rail-swap": 1, "leaf-missing": 1}
    assert {code: n for code, n in codes(ndr).items() if code not in ("port-irregular", "name-factory")} == expected
    assert codes(ndr)["port-irregular"] == 5
    assert places(ndr, "pair-thin") == NDR_THIN
    assert sum(len(one.lacks) for one in ndr.findings if one.code.startswith("pair-")) == 26
    (swap,) = (one for one in ndr.findings if one.code == "rail-swap")
    assert swap.place.startswith("b08-p1-dgx-08-c01 ")
    assert "IBLEAF-04-08, belongs on B09-P1-IBLEAF-03-08" in swap.evidence
    assert len(swap.operations) == 2


def test_ndr_leaf_that_is_not_there_is_one_finding(ndr: Validation) -> None:
    """Ports 5 and 6, the place of leaf 03-01, are free on all nine spines; ten named hosts lack their third rail."""
    (leaf,) = (one for one in ndr.findings if one.code == "leaf-missing")
    assert "rail 3" in leaf.place
    assert "none of 10 hosts" in leaf.evidence
    assert "free on every switch above these leaves: ports 5, 6" in leaf.evidence
    assert not places(ndr, "nic-missing")


def test_ndr_prices(ndr: Validation) -> None:
    theta = ndr.consequence.measures[0]
    assert (round(theta.healthy_lower, 4), round(theta.found_lower, 3)) == (1.0, 0.496)
    assert ndr.consequence.first_aid_theta == pytest.approx(0.7764, abs=5e-5)
    (bisection, worst) = (one for one in ndr.consequence.measures if one.name.startswith("bisection"))
    assert bisection.healthy_lower == bisection.healthy_upper
    assert 0.9 < bisection.share_lower <= bisection.share_upper < 1
    assert bisection.share_upper < worst.share_lower <= worst.share_upper < 1


def test_director_without_a_plan(director: Validation) -> None:
    above = {code: n for code, n in codes(director).items() if code not in ("port-irregular", "name-factory")}
    assert above == {"pair-absent": 5, "nic-missing": 3}
    assert codes(director)["port-irregular"] == 15
    assert dict(director.counts)["internal_links"] == 3200


def test_director_against_its_plan_is_what_the_vendor_said(shared_data: Path, dumps: Path, tmp_path: Path) -> None:
    plan = tmp_path / "plan.ndt"
    folder = shared_data / "wiring_csv"
    hosts = (folder / "ufm_ndt__switch_to_host_topo1.ndt").read_text().splitlines()
    switches = (folder / "ufm_ndt__switch_to_switch_topo2.ndt").read_text().splitlines()
    plan.write_text("\n".join([*hosts, *switches[1:]]) + "\n")
    answer = validate(dumps / "ufm_ndt__ibnetdiscover_director.txt", plan, bisection=False)
    counts = dict(answer.counts)
    assert (counts["planned_cables"], counts["common_cables"]) == (5418, 5414)
    assert (counts["moves"], counts["missing_cables"], counts["unplanned_cables"]) == (2, 2, 107)
    found = {code: n for code, n in codes(answer).items() if answer_is_above_note(answer, code)}
    assert found == {"adapter-unlike-plan": 1, "miswired": 1, "missing": 2, "unplanned": 107}
    (moved,) = (one for one in answer.findings if one.code == "miswired")
    assert "SAT111090201019 ibp213s0f0" in moved.evidence
    (other,) = (one for one in answer.findings if one.code == "adapter-unlike-plan")
    assert "ibp203s0f0" in other.evidence and "ibp203s0f1" in other.evidence


def answer_is_above_note(answer: Validation, code: str) -> bool:
    return any(one.code == code and one.severity != "note" for one in answer.findings)


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        ("cyberang3l__InfiniBand-Graphviz-ualization__k-4-n-3-Full.topo", {}),
        ("ibtopotool__1.topo", {}),
        ("ufm__small_topo_file", {"cable-to-itself": 2}),
    ],
)
def test_other_dumps(dumps: Path, file: str, expected: dict[str, int]) -> None:
    answer = validate(dumps / file, consequence=False)
    assert Counter(one.code for one in answer.findings if one.severity != "note") == expected


def test_yesterdays_dump_is_a_design(dumps: Path) -> None:
    fabric = topo.read(dumps / "selene.compute.txt")
    answer = validate(fabric.without(nodes="luna-0007"), fabric, consequence=False)
    assert [(one.code, one.place) for one in answer.findings] == [("device-missing", "luna-0007")]
    assert validate(dumps / "selene.compute.txt", fabric, consequence=False).findings == ()


def test_a_plan_of_another_fabric_is_one_question(dumps: Path) -> None:
    answer = validate(dumps / "selene.compute.txt", topo.load("nvidia-superpod-h100-4su"))
    (one,) = (one for one in answer.findings if one.severity == "error")
    assert one.code == "wrong-design"
    assert "these two have 0 % of their cables in common" in one.evidence
    assert "is this the right design?" in one.evidence
