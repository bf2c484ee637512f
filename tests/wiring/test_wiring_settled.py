"""What one cable shows is told once, at the racks its devices stand in, with what it means."""

from __future__ import annotations

import csv
import io
import json
import math
from pathlib import Path

import pytest

from topo.wiring import CODES, validate
from topo.wiring.codes import CONSEQUENCES, HARMLESS, UNPRICED
from topo.wiring.formats import to_csv, to_junit, to_text

HEADER = "A-Node Name,A-Port,Z-Node Name,Z-Port,Speed,A-Rack,Z-Rack"


def plan() -> list[str]:
    """Eight leaves of two hosts, two cables to each of four spines, every device in a rack."""
    rows = []
    for leaf in range(1, 9):
        for host in (1, 2):
            rows.append(f"leaf-{leaf},{host},host-{2 * leaf - 2 + host:02d},1,400G,A{leaf},A{leaf}")
        for up in range(8):
            spine = 1 + up // 2
            rows.append(f"leaf-{leaf},{3 + up},spine-{spine},{2 * leaf - 1 + up % 2},400G,A{leaf},S{spine}")
    return rows


def written(folder: Path, name: str, rows: list[str]) -> Path:
    path = folder / name
    path.write_text("\n".join([HEADER, *rows]) + "\n")
    return path


def moved(rows: list[str], was: str, now: str) -> list[str]:
    assert sum(row.startswith(was) for row in rows) == 1
    return [row.replace(was, now) if row.startswith(was) else row for row in rows]


def test_every_format_names_the_racks(tmp_path: Path) -> None:
    rows = [row for row in plan() if not row.startswith("leaf-3,5,")]
    answer = validate(written(tmp_path, "found.csv", rows), bisection=False)
    (one,) = answer.findings
    assert one.place == "leaf-3 - spine-2"
    place = "leaf-3 - spine-2 (leaf-3 in rack A3, spine-2 in rack S2)"
    assert one.where.endswith(place)
    assert json.loads(answer.to_json())["findings"][0]["where"] == one.where
    assert next(csv.DictReader(io.StringIO(to_csv(answer))))["where"] == one.where
    assert place in to_text(answer)
    assert place in to_junit(answer)


def test_a_move_names_the_rack_it_leads_to(tmp_path: Path) -> None:
    design = written(tmp_path, "plan.csv", plan())
    rows = moved(plan(), "leaf-3,3,spine-1,5,400G,A3,S1", "leaf-3,3,spine-2,17,400G,A3,S2")
    (one,) = validate(written(tmp_path, "found.csv", rows), design, bisection=False).findings
    assert one.code == "miswired"
    assert one.where.endswith("(leaf-3 in rack A3, spine-2 in rack S2, spine-1 in rack S1)")


def test_the_unit_in_the_rack_is_named_where_the_file_states_it(tmp_path: Path) -> None:
    rows = [f"{row},{30 + int(row.split(',')[0][-1])}" for row in plan() if not row.startswith("leaf-3,5,")]
    path = tmp_path / "found.csv"
    path.write_text("\n".join([f"{HEADER},A-U", *rows]) + "\n")
    (one,) = validate(path, bisection=False).findings
    assert one.where.endswith("leaf-3 - spine-2 (leaf-3 in rack A3 U33, spine-2 in rack S2)")


def test_the_rack_of_a_missing_device_is_that_of_the_design(tmp_path: Path) -> None:
    design = written(tmp_path, "plan.csv", plan())
    rows = [row for row in plan() if "spine-4" not in row]
    (one,) = validate(written(tmp_path, "found.csv", rows), design, bisection=False).findings
    assert (one.code, one.racks) == ("device-missing", "spine-4 in rack S4")


@pytest.mark.parametrize("with_design", [False, True])
def test_a_cable_too_many_in_a_port_that_is_taken_is_one_finding(tmp_path: Path, with_design: bool) -> None:
    design = written(tmp_path, "plan.csv", plan()) if with_design else None
    found = written(tmp_path, "found.csv", [*plan(), "leaf-3,5,spine-3,17,400G,A3,S3"])
    answer = validate(found, design, bisection=False)
    (one,) = answer.findings
    assert (one.code, one.severity, one.line) == ("port-used-twice", "error", 82)
    assert one.fix == "remove leaf-3 port 5 - spine-3 port 17"
    assert answer.n_operations == len(one.operations) == 1
    assert one.price is not None


def test_a_cable_moved_onto_a_port_that_is_taken_is_one_finding(tmp_path: Path) -> None:
    design = written(tmp_path, "plan.csv", plan())
    rows = moved(plan(), "leaf-3,3,spine-1,5,400G,A3,S1", "leaf-3,3,spine-2,5,400G,A3,S2")
    answer = validate(written(tmp_path, "found.csv", rows), design, bisection=False)
    assert [one.code for one in answer.findings] == ["miswired"]
    assert "2 cables" in answer.findings[0].evidence


def test_two_faults_of_one_device_stay_two(tmp_path: Path) -> None:
    rows = [row for row in plan() if not row.startswith("leaf-3,7,")]
    found = written(tmp_path, "found.csv", [*rows, "leaf-3,1,host-17,1,400G,A3,A3"])
    codes = sorted(one.code for one in validate(found, bisection=False).findings)
    assert codes == ["pair-thin", "port-used-twice"]


FAULTS = sorted((Path(__file__).parent.parent / "wiring_faults").glob("*_*.[ct]*"))


@pytest.mark.parametrize("file", FAULTS, ids=lambda path: path.name)
def test_every_finding_says_what_it_means(file: Path) -> None:
    assert all(one.words for one in validate(file, bisection=False).findings)


with (FAULTS[0].parent / "expected.tsv").open() as table:
    CASES = list(csv.DictReader(table, delimiter="\t"))


@pytest.mark.parametrize("case", CASES, ids=[case["file"] for case in CASES])
def test_every_finding_says_what_is_lost_or_why_no_price_is_known(case: dict[str, str]) -> None:
    sides = [FAULTS[0].parent / case[key] if case[key] else None for key in ("file", "against", "accept")]
    for one in validate(*sides[:2], accept=sides[2], bisection=False).findings:
        assert math.isnan(one.lost_gbps) == ("; not priced: " in one.words), one.words
        assert not (one.code in HARMLESS and one.lost_gbps > 0)


def test_a_fault_of_the_drawing_loses_nothing_here(tmp_path: Path) -> None:
    """The design has two cables of switches on one port: what was found has ports of its own, and fewer cables."""
    found = written(tmp_path, "found.csv", plan())
    design = written(tmp_path, "plan.csv", [*plan(), "leaf-3,3,spine-4,17,400G,A3,S4"])
    told = {one.code: one for one in validate(found, design, bisection=False).findings}
    assert told.keys() == {"port-used-twice", "missing"}
    assert told["port-used-twice"].evidence.startswith("in the design: ")
    assert (told["port-used-twice"].lost_gbps, told["port-used-twice"].lacks) == (0.0, ())


def test_no_reason_is_given_where_no_price_was_asked_for() -> None:
    for one in validate(FAULTS[0].parent / "port-too-slow_uplink.csv", consequence=False).findings:
        assert math.isnan(one.lost_gbps) and "not priced" not in one.words


def test_every_code_has_a_consequence_in_words() -> None:
    assert list(CONSEQUENCES) == list(CODES)
    assert HARMLESS | UNPRICED.keys() <= CODES.keys()
    assert not HARMLESS & UNPRICED.keys()


@pytest.mark.parametrize(
    ("file", "lost"),
    [
        ("island_pair.csv", 2 * 400.0),  # its one endpoint reaches nothing, and nothing reaches it
        ("port-used-twice_host.csv", 2 * 400.0),  # one of two hosts is left without a port
        ("breakout-beyond_ninth_leg.csv", 2 * 100.0),
        ("uplinks-fewer_uneven.csv", 0.0),  # 2,800 Gb/s up, one host below
        (
            "ports-too-many_leaf.csv",
            2 * (84 * 100.0 - 8 * 100.0),
        ),  # hosts at once through the uplinks, the rest have 0.25:1
    ],
)
def test_what_is_lost_where_no_cable_tells_the_fix(file: str, lost: float) -> None:
    first = validate(FAULTS[0].parent / file, bisection=False).findings[0]
    assert first.code == file.split("_")[0]
    assert first.lost_gbps == pytest.approx(lost)
    assert first.line > 0


def test_a_loss_that_is_that_of_rates_alone_says_so() -> None:
    """An adapter of a kind of its own: no peer tells its leaf. It runs at 100 Gb/s, to it and from it."""
    (one,) = validate(FAULTS[0].parent / "nic-missing_the_only_slot_of_a_scheme.csv", bisection=False).findings
    assert one.lost_gbps == 2 * 100.0
    assert one.words.endswith("where nobody has another way: which cables lack is not known")


def test_hosts_above_what_fewer_uplinks_carry_are_lost(tmp_path: Path) -> None:
    """Twelve leaves of eight hosts, eight uplinks spread over six spines by one or two; one leaf has seven."""
    rows = []
    for leaf in range(1, 13):
        rows += [f"leaf-{leaf},{host},host-{8 * leaf + host:03d},1,400G,," for host in range(1, 9)]
        for up in range(8):
            spine = (leaf + up) % 6 + 1
            rows.append(f"leaf-{leaf},{9 + up},spine-{spine},{8 * leaf + up},400G,,")
    rows = [row for row in rows if not row.startswith("leaf-5,16,")]
    (one,) = [one for one in validate(written(tmp_path, "f.csv", rows), bisection=False).findings
              if one.code == "uplinks-fewer"]  # fmt: skip
    assert one.fix.startswith("lay leaf-5 - spine-")
    assert one.words.startswith("its uplinks carry 2,800 Gb/s of 3,200 Gb/s; below it are 3,200 Gb/s; alone it leaves ")
    assert one.lost_gbps == one.price.lost_gbps > 0  # of what fits in an uneven spread; by hand in test_wiring_even


def test_a_pod_without_any_uplink_is_no_network_of_its_own() -> None:
    from topo.source import load

    whole = load(FAULTS[0].parent / "good_three_tiers.csv")
    torn = whole.without(links=[
        i for i, (a, b) in enumerate(zip(whole.link_a, whole.link_b, strict=True))
        if whole.nodes.name[a].startswith("pod1-spine") and whole.nodes.name[b].startswith("core")
    ])  # fmt: skip
    (one,) = validate(torn, bisection=False).findings
    (by_plan,) = validate(torn, whole, bisection=False).findings
    assert one.code == "island"
    assert one.lost_gbps == pytest.approx(by_plan.lost_gbps)
    assert by_plan.lost_gbps == pytest.approx(2 * 6 * 400.0)  # its uplinks, which its hosts fill
    assert one.place.startswith("pod1-leaf-1")


def test_a_cable_of_a_host_costs_the_same_with_a_design_and_without(tmp_path: Path) -> None:
    """Against the plan its cable is missing, without one an adapter: both lose what it sends and what is sent to it."""
    good, lacking = (FAULTS[0].parent / name for name in ("good_rails.csv", "nic-missing_one.csv"))
    (by_plan,) = validate(lacking, good, bisection=False).findings
    (by_rule,) = validate(lacking, bisection=False).findings
    assert (by_plan.code, by_rule.code) == ("missing", "nic-missing")
    assert by_plan.lost_gbps == pytest.approx(by_rule.lost_gbps) == 2 * 400.0


NOWHERE = {"rule-not-learnt", "radix-gap", "wrong-design", "spelling"}  # of a tier, or of all there is


@pytest.mark.parametrize("case", CASES, ids=[case["file"] for case in CASES])
def test_every_finding_stands_at_a_line(case: dict[str, str]) -> None:
    sides = [FAULTS[0].parent / case[key] if case[key] else None for key in ("file", "against", "accept")]
    findings = validate(*sides[:2], accept=sides[2], consequence=False).findings
    assert [str(one) for one in findings if not one.line and one.code not in NOWHERE] == []


def test_a_spelling_is_shown_at_one_cable_of_both_sides() -> None:
    (one,) = validate(FAULTS[0].parent / "spelling_ports.csv", FAULTS[0].parent / "good_leaf_spine.csv").findings
    shown = "(planned leaf-1 port 3 - spine-1 port 1, found leaf-1 port rear-C - spine-1 port panel-A)"
    assert shown in one.evidence


def test_an_ambiguous_end_is_looked_at_before_anything_is_removed() -> None:
    (one,) = validate(FAULTS[0].parent / "link-ambiguous_two_far_ends.topo", bisection=False).findings
    assert one.fix == "look which of them is plugged; remove leaf-3 port 5 - spine-3 port 20"
    assert "leaf-3 port 5 - spine-3 port 20: its other end does not report it" in one.evidence
