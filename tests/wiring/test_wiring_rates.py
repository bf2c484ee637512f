"""Switches and hosts most of whose links are slow are one finding; rates that are regular by port are none."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from test_wiring_stripped import Row, above_note, judged, leaf_spine, number

from topo.repair import repair_wiring


def at(rows: list[Row], is_slow: Callable[[Row], bool], rate: str = "200G") -> list[Row]:
    return [(*row[:4], rate) if is_slow(row) else row for row in rows]


def rails(units: int = 4, hosts: int = 8, spines: int = 6) -> list[Row]:
    rows = []
    for unit in range(units):
        for rail in range(1, 5):
            leaf = f"su{unit + 1}-leaf{rail}"
            rows += [(leaf, f"{h}", f"host-{unit * hosts + h:03}", f"nic-{rail}", "400G") for h in range(1, hosts + 1)]
            for s in range(1, spines + 1):
                rows.append((leaf, f"{hosts + s}", f"spine-{s}", f"{4 * unit + rail}", "400G"))
    return rows


@pytest.mark.parametrize("n", [5, 6, 7, 8])
def test_a_leaf_with_most_uplinks_slow(tmp_path: Path, n: int) -> None:
    """8 hosts at 400 Gb/s send 120/127 of it up 8 links; each of n takes half of 400 Gb/s, both ways."""
    found = at(leaf_spine(), lambda row: row[0] == "leaf-3" and row[2].startswith("spine") and number(row[2]) <= n)
    answer = judged(tmp_path, found)
    assert above_note(answer) == [("link-slow", "leaf-3")]
    (one,) = answer.findings
    assert one.lost_gbps == pytest.approx(2 * n * (400 * 120 / 127 - 200))
    assert one.price is not None and one.price.theta == pytest.approx(200 / (400 * 120 / 127))
    assert one.fix == f"reseat or change its {n} slow cables, or set their ports to 400 Gb/s"


@pytest.mark.parametrize("n", [9, 12, 16])
def test_a_spine_with_most_downlinks_slow(tmp_path: Path, n: int) -> None:
    answer = judged(tmp_path, at(leaf_spine(), lambda row: row[2] == "spine-3" and number(row[0]) <= n))
    assert above_note(answer) == [("link-slow", "spine-3")]
    assert answer.findings[0].lost_gbps == pytest.approx(2 * n * (400 * 120 / 127 - 200))


def test_every_slow_cable_of_a_switch_is_replaced_in_a_repair(tmp_path: Path) -> None:
    judged(tmp_path, at(leaf_spine(), lambda row: row[0] == "leaf-3" and row[2].startswith("spine")))
    assert repair_wiring(tmp_path / "found.csv").counts == {"replace": 8}


def test_leaves_of_an_older_kind_are_no_fault_and_told(tmp_path: Path) -> None:
    """Three alike, or one whose hosts are as slow."""
    for is_slow in (
        lambda row: row[0] in ("leaf-1", "leaf-2", "leaf-3") and row[2].startswith("spine"),
        lambda row: row[0] == "leaf-3",
    ):
        answer = judged(tmp_path, at(leaf_spine(), is_slow))
        assert above_note(answer) == []
        assert any("leaf-3 are taken for another kind's, and not judged" in rule for rule in answer.rules)


def test_rates_that_no_rule_tells_are_said_not_to_be_judged(tmp_path: Path) -> None:
    answer = judged(tmp_path, at(leaf_spine(), lambda row: row[2].startswith("spine") and number(row[0]) % 3 == 0))
    assert above_note(answer) == []
    assert any("tiers 1 and 2 are not judged by their rates: 88 of 128" in rule for rule in answer.rules)


@pytest.mark.parametrize(("port", "n"), [("8", 1), ("5678", 4)])
def test_ports_that_are_slow_on_every_leaf_are_by_design(tmp_path: Path, port: str, n: int) -> None:
    good = at(leaf_spine(12, 4, 8, 2), lambda row: row[1] in port and row[2].startswith("host"), "100G")
    answer = judged(tmp_path, good)
    assert above_note(answer) == []
    assert any(f"at 100 Gb/s: {12 * n}/{12 * n} agree" in rule and " on port" in rule for rule in answer.rules)
    answer = judged(tmp_path, at(good, lambda row: row[:2] == ("leaf-3", "8"), "50G"))
    assert above_note(answer) == [("link-slow", "leaf-3 port 8 - host-024 port 1")]
    assert f"{12 * n - 1} of {12 * n} like links run at 100" in answer.findings[0].evidence


def test_an_adapter_that_is_slow_in_every_host_is_by_design(tmp_path: Path) -> None:
    answer = judged(tmp_path, at(rails(), lambda row: row[3] == "nic-4", "100G"))
    assert above_note(answer) == []
    assert any("of adapter nic-4 at 100 Gb/s: 32/32 agree" in rule for rule in answer.rules)


@pytest.mark.parametrize(
    ("is_slow", "place"),
    [
        (lambda row: row[2] == "host-005" and row[3] != "nic-1", "host-005"),
        (lambda row: row[0] == "su2-leaf3" and row[2].startswith("host"), "su2-leaf3"),
    ],
)
def test_a_host_and_a_leaf_with_most_host_links_slow(
    tmp_path: Path, is_slow: Callable[[Row], bool], place: str
) -> None:
    assert above_note(judged(tmp_path, at(rails(), is_slow))) == [("link-slow", place)]


def test_a_host_that_is_slow_throughout_is_another_machine(tmp_path: Path) -> None:
    answer = judged(tmp_path, at(rails(), lambda row: row[2] == "host-005"))
    assert above_note(answer) == []
    assert any("host-005 are taken for another kind's" in rule for rule in answer.rules)
