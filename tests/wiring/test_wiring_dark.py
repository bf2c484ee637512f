"""Cables that are there and carry nothing, as their port is taken or is none: one finding, with its price."""

from __future__ import annotations

from pathlib import Path

import pytest

from topo.wiring import validate
from topo.wiring.finding import Finding

HEADER = "A-Node Name,A-Port,Z-Node Name,Z-Port,Speed,A-Model,Z-Model"
LEAVES, SPINES, HOSTS, PAIR = 12, 4, 8, 2
HOST = 2 * 400.0
"""An endpoint that is cut off loses what it sends and what is sent to it."""
UP = HOSTS * 400 * (LEAVES - 1) * HOSTS / (LEAVES * HOSTS - 1)
"""What leaves a leaf of an all-to-all."""
UPLINK = (UP - 7 * 400) + (UP / 4 - 400)
"""One of two cables to a spine gone: seven carry what leaves the leaf, one what the spine sends to it: 505.3 Gb/s."""


def leaf_spine(hosts_per_leaf: int = HOSTS, part: str = "") -> list[list[str]]:
    rows = []
    for leaf in range(1, LEAVES + 1):
        for host in range(1, hosts_per_leaf + 1):
            rows.append([f"leaf-{leaf}", f"{host}", f"host-{leaf:02d}{host:02d}", "1", "400G", part, ""])
        for up in range(SPINES * PAIR):
            port = f"{(leaf - 1) * PAIR + up % PAIR + 1}"
            spine = [f"spine-{1 + up // PAIR}", port, "400G", part, part]
            rows.append([f"leaf-{leaf}", f"{hosts_per_leaf + 1 + up}", *spine])
    return rows


def split(name: str) -> list[list[str]]:
    """Eight leaves of 16 hosts at 200G on the legs of eight ports, named by port and leg, and eight uplinks at 400G."""
    rows = []
    for leaf in range(1, 9):
        for port in range(1, 9):
            for leg in (1, 2):
                label = name.format(port=port, leg=leg, before=leg - 1)
                rows.append([f"leaf-{leaf}", label, f"host-{leaf}{port}{leg}", "1", "200G", "", ""])
        rows += [[f"leaf-{leaf}", f"{12 + up}", f"spine-{up}", f"{leaf}", "400G", "", ""] for up in range(1, 9)]
    return rows


def both_ways(folder: Path, rows: list[list[str]], at: int, port: str) -> tuple[Finding, Finding]:
    """The one finding of a cable on another port of its leaf, without the design and with it."""
    found = [list(row) for row in rows]
    found[at][1] = port
    paths = []
    for name, side in (("found.csv", found), ("plan.csv", rows)):
        paths.append(folder / name)
        paths[-1].write_text("\n".join([HEADER, *(",".join(row) for row in side)]) + "\n")
    (by_rule,) = validate(paths[0], bisection=False).findings
    (by_plan,) = validate(*paths, bisection=False).findings
    return by_rule, by_plan


@pytest.mark.parametrize(
    ("at", "port", "lost"),
    [
        pytest.param(1, "1", HOST, id="a host beside a host"),
        pytest.param(0, "2", HOST, id="the first of the two is the one that belongs elsewhere"),
        pytest.param(8, "1", UPLINK, id="an uplink beside a host"),
        pytest.param(8, "10", UPLINK, id="an uplink beside an uplink"),
    ],
)
def test_a_cable_on_a_port_that_is_taken_is_dark(tmp_path: Path, at: int, port: str, lost: float) -> None:
    by_rule, by_plan = both_ways(tmp_path, leaf_spine(), at, port)
    assert (by_rule.code, by_plan.code) == ("port-used-twice", "miswired")
    assert "only one of the cables can be plugged" in by_plan.words
    assert [by_rule.lost_gbps, by_plan.lost_gbps] == pytest.approx([lost, lost], rel=1e-9)
    assert by_rule.price is not None
    assert by_plan.price is not None
    assert by_plan.price.cut_off == by_rule.price.cut_off == (lost == HOST)


def test_a_dark_host_of_leaves_narrower_than_their_hosts_costs_what_it_could_send(tmp_path: Path) -> None:
    """16 hosts on 8 uplinks: the widest flow that fits, theta = 8 * 400 / (16 * 400 * 176 / 191), is lost both ways."""
    theta = 8 / (16 * 176 / 191)
    for one in both_ways(tmp_path, leaf_spine(16), 1, "1"):
        assert one.lost_gbps == pytest.approx(theta * HOST, rel=1e-9)


@pytest.mark.parametrize("name", ["{port}/{leg}", "swp{port}s{before}", "E1/{port}/{leg}"])
@pytest.mark.parametrize("bad", ["beyond", "whole"])
def test_a_leg_that_is_none_is_one_finding_with_a_design_as_without(tmp_path: Path, name: str, bad: str) -> None:
    """The host on it is cut off: 2 * 200 Gb/s."""
    port = name.format(port=3, leg=3, before=2) if bad == "beyond" else name.partition("{port}")[0] + "3"
    code = "breakout-beyond" if bad == "beyond" else "breakout-conflict"
    by_rule, by_plan = both_ways(tmp_path, split(name), 5, port)
    assert (by_rule.code, by_plan.code) == (code, "miswired")
    assert by_rule.evidence in by_plan.evidence
    assert [by_rule.lost_gbps, by_plan.lost_gbps] == pytest.approx([400, 400], rel=1e-9)


def test_an_uplink_on_a_port_used_by_its_legs_is_the_dark_one(tmp_path: Path) -> None:
    """Seven of a leaf's eight uplinks are left: 16 * 200 * 112 / 127 = 2,822.05 - 7 * 400 = 22.05, both ways."""
    for one in both_ways(tmp_path, split("{port}/{leg}"), 16, "1"):
        assert one.lost_gbps == pytest.approx(2 * (16 * 200 * 112 / 127 - 7 * 400), rel=1e-9)


@pytest.mark.parametrize(("port", "code"), [("129", "port-beyond"), ("1/1/3", "breakout-beyond")])
def test_a_port_that_the_part_does_not_have_is_one_finding(tmp_path: Path, port: str, code: str) -> None:
    by_rule, by_plan = both_ways(tmp_path, leaf_spine(part="qm9700"), 8, port)
    assert (by_rule.code, by_plan.code) == (code, "miswired")
    assert [by_rule.lost_gbps, by_plan.lost_gbps] == pytest.approx([UPLINK, UPLINK], rel=1e-9)


def test_a_cable_too_many_on_a_port_that_is_none_loses_nothing(tmp_path: Path) -> None:
    rows = leaf_spine(part="qm9700")
    paths = []
    for name, more in (("plan.csv", []), ("found.csv", [["leaf-1", "129", "spine-1", "99", "400G", "qm9700", ""]])):
        paths.append(tmp_path / name)
        paths[-1].write_text("\n".join([HEADER, *(",".join(row) for row in [*rows, *more])]) + "\n")
    for design in ((), (paths[0],)):
        (one,) = validate(paths[1], *design, bisection=False).findings
        assert (one.code, one.lost_gbps, len(one.operations)) == ("port-beyond", 0, 1)


def test_a_dark_leg_is_not_slow_besides(tmp_path: Path) -> None:
    """One host at 200G among 96 at 400G, on a fifth leg of 200G: it has no link, whatever its rate."""
    path = tmp_path / "leg.csv"
    rows = [*leaf_spine(part="sn5600"), ["leaf-1", "30/5", "host-x", "1", "200G", "sn5600", ""]]
    path.write_text("\n".join([HEADER, *(",".join(row) for row in rows)]) + "\n")
    (one,) = validate(path, bisection=False).findings
    assert (one.code, one.lost_gbps) == ("breakout-beyond", pytest.approx(2 * 200))
