"""Growth: cables that stay, move and are new by the published table; rounds that keep what is asked; targets."""

from __future__ import annotations

import itertools
import json
import re
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from replayed import replay

import topo
from topo.fabric import FORWARDS_ALL, Fabric
from topo.repair import grow_fabric, growth_written
from topo.repair.targets import Growing, growing_of, targets_of
from topo.wiring.cabling import Cabling

TABLE = [
    # From, to, untouched, moved, new between switches. The counts of the DGX SuperPOD H100, B200 and B300 tables,
    # L0 S0 min(m0, m1), L0 S0 (m0 - m1)+ and L1 S1 m1 - L0 S0 m0, worked out by hand from leaves, spines and links.
    ("h100-1su", "h100-2su", 128, 128, 256),
    ("h100-2su", "h100-3su", 256, 256, 256),
    ("h100-2su", "h100-4su", 256, 256, 512),
    ("h100-3su", "h100-4su", 768, 0, 256),
    ("h100-1su", "h100-4su", 64, 192, 768),
    ("h100-4su", "h100-8su", 512, 512, 1024),
    ("b200-2su", "b200-4su", 256, 256, 512),
    ("b200-4su", "b200-8su", 512, 512, 1024),
    ("b300-xdr-1su", "b300-xdr-2su", 288, 288, 576),
    ("b300-xdr-2su", "b300-xdr-4su", 512, 640, 1152),
    ("b300-xdr-4su", "b300-xdr-8su", 1152, 1152, 2304),
    ("b300-xdr-8su", "b300-xdr-18su", 2304, 2304, 5760),
]


def pod(name: str) -> Fabric:
    return topo.load(f"nvidia-superpod-{name}")


def pairs(fabric: Fabric) -> Counter[tuple[str, str]]:
    """Cables of each pair of switches, and of each pair of adapter and switch, by name without leading zeros."""
    side = Cabling.of(fabric)
    names = [
        "-".join(part.lstrip("0") if part.isdecimal() else part for part in name.split("-"))
        for name in fabric.nodes.name.tolist()
    ]
    a, b = fabric.link_a[side.links].tolist(), fabric.link_b[side.links].tolist()
    return Counter(tuple(sorted((names[i], names[j]))) for i, j in zip(a, b, strict=True))  # type: ignore[misc]


@pytest.mark.parametrize(("old", "new", "stay", "moved", "laid"), TABLE, ids=[f"{row[0]} to {row[1]}" for row in TABLE])
def test_the_table_of_growths(old: str, new: str, stay: int, moved: int, laid: int) -> None:
    before, after = pod(old), pod(new)
    growth = grow_fabric(before, after)
    assert (growth.n_moved_between, growth.n_new_between, growth.n_removed) == (moved, laid, 0)
    both = growth.comparison.both
    full = both.nodes.forwards == FORWARDS_ALL
    kept = growth.comparison.found & growth.comparison.planned & full[both.link_a] & full[both.link_b]
    assert int(kept.sum()) == stay
    assert growth.n_stay + growth.n_moved == growth.n_old_cables
    assert growth.n_stay + growth.n_moved + growth.n_new == growth.n_new_cables
    assert pairs(growth.grown) == pairs(after)
    assert pairs(replay(growth.comparison, growth.jobs, growth.acts)) == pairs(after)
    assert growth.least_capacity >= 0.5


def test_8_to_16_su_with_a_third_tier_keeps_what_the_refusal_says() -> None:
    """Blocks of the catalogue are 16 leaves by 16 spines at two a pair: an old spine keeps 16 of 64 cables, one a pair.

    So 512 of 2,048 stay and 6,144 are new.

    Half cannot be kept by any number at a time; the refusal names what can, and it does.
    """
    before, after = pod("h100-8su"), pod("h100-16su")
    with pytest.raises(topo.ParameterError, match="the nearest that works is require") as refused:
        grow_fabric(before, after, require=0.5)
    nearest = float(str(refused.value).rpartition(" ")[2])
    assert 0.3 < nearest < 0.5
    growth = grow_fabric(before, after, require=nearest)
    assert growth.n_new_between == 6144
    assert growth.n_moved_between == 2048 - 32 * 16 * min(1, 2)
    assert growth.least_capacity >= nearest
    assert len(growth.renamed) == 32
    new_name = dict(growth.renamed)
    grown = growth.grown
    names = np.array([new_name.get(name, name) for name in grown.nodes.name.tolist()])
    assert pairs(replace(grown, nodes=replace(grown.nodes, name=names))) == pairs(after)


def test_no_port_holds_two_cables_in_the_grown_fabric() -> None:
    for old, new in (("b200-2su", "b200-4su"), ("h100-1su", "h100-4su")):
        links = grow_fabric(pod(old), pod(new)).grown.links
        assert np.bincount(np.concatenate([links.port_a, links.port_b])).max() == 1


@pytest.mark.parametrize(("require", "at_a_time", "rounds", "least"), [
    (0.5, 16, 1, 16 / 32), (0.9, 3, 6, 29 / 32), (0.93, 2, 8, 30 / 32), (0.95, 1, 16, 31 / 32), (0.87, 4, 4, 28 / 32)
])  # fmt: skip
def test_rounds_of_2_to_4_su(require: float, at_a_time: int, rounds: int, least: float) -> None:
    """floor(32 (1 - r)) cables of a leaf out at a time: a leaf of 32 uplinks loses just those, no order does better."""
    growth = grow_fabric(pod("b200-2su"), pod("b200-4su"), require=require)
    assert (growth.at_a_time, len(growth.rounds)) == (at_a_time, rounds)
    assert growth.least_capacity == pytest.approx(least)
    assert all(one.after == pytest.approx(1) for one in growth.rounds)
    assert sum(one.n_cables for one in growth.rounds) == 256


def test_what_cannot_be_kept_is_said_with_the_nearest_that_can() -> None:
    with pytest.raises(topo.ParameterError, match=r"98 % of .* cannot be kept: .* leaves 96.88 %.* require 0.968"):
        grow_fabric(pod("b200-2su"), pod("b200-4su"), require=0.98)
    assert grow_fabric(pod("b200-2su"), pod("b200-4su"), require=0.968).at_a_time == 1
    assert grow_fabric(pod("b200-2su"), pod("b200-2su"), require=1).n_moved == 0


def test_growth_of_another_fabric_is_refused() -> None:
    with pytest.raises(topo.ParameterError, match="only 0 of the 24 switches .* are in 'fat-tree k=8' by name"):
        grow_fabric(pod("b200-2su"), topo.fat_tree(8))
    with pytest.raises(topo.ParameterError, match="only 114 of the 508 cables .* though switches share their names"):
        grow_fabric(pod("h100-1su"), pod("gb200-2su"))
    with pytest.raises(topo.ParameterError, match="from 0 to 1"):
        grow_fabric(pod("b200-2su"), pod("b200-4su"), require=1.5)


def test_a_smaller_fabric_is_a_growth_backwards() -> None:
    growth = grow_fabric(pod("b200-4su"), pod("b200-2su"), require=0)
    assert growth.n_removed > 0
    assert pairs(growth.grown) == pairs(pod("b200-2su"))


def test_cheaper_targets_are_those_worked_out_by_hand() -> None:
    """Moves, bisection of the worst even split, all-to-all under a plain split."""
    hand = {
        (8, 4, 8, 16, 8, 4): [((4, 4, 4, 4), 128, 1, 1), ((6, 2, 2, 6), 64, 0.5, 0.515)],
        (16, 8, 4, 24, 16, 2): [((2, 2, 2, 2), 256, 1, 1), ((3, 1, 2, 2), 128, 0.8333, 0.773)],
        (16, 8, 4, 32, 16, 2): [((2, 2, 2, 2), 256, 1, 1), ((3, 1, 1, 3), 128, 0.5, 0.507)],
    }
    for shape, rows in hand.items():
        known = {one.links: one for one in targets_of(Growing(*shape, 64))}
        for links, moves, bisection, plain in rows:
            assert known[links].moves == moves
            assert known[links].bisection == pytest.approx(bisection, abs=1e-3)
            assert known[links].plain == pytest.approx(plain, abs=1e-3)


def test_bisection_of_a_target_by_trying_every_split() -> None:
    growing = Growing(4, 2, 4, 6, 4, 2, 24)
    for target in targets_of(growing):
        oo, on, no, nn = target.links
        counts = np.array([[oo] * 2 + [on] * 2] * 4 + [[no] * 2 + [nn] * 2] * 2)
        least = min(
            np.minimum(counts[list(half)].sum(axis=0), np.delete(counts, half, axis=0).sum(axis=0)).sum()
            for half in itertools.combinations(range(6), 3)
        )
        assert target.bisection == pytest.approx(min(1, least / (3 * growing.uplinks)))


def test_plain_split_of_a_target_by_the_load_model() -> None:
    """The closed form against the kernel on the fabric itself."""
    from topo.build.assembly import Assembly
    from topo.traffic import all_to_all

    growing = Growing(4, 2, 4, 6, 4, 2, 24)
    for target in targets_of(growing):
        oo, on, no, nn = target.links
        assembly = Assembly("target")
        leaves = assembly.add_nodes([f"leaf-{i}" for i in range(6)], kind="switch", tier=1)
        spines = assembly.add_nodes([f"spine-{i}" for i in range(4)], kind="switch", tier=2)
        hosts = assembly.add_nodes([f"host-{i}" for i in range(48)], kind="host", is_endpoint=True, forwards=0)
        assembly.connect(hosts, np.repeat(leaves, 8), 100_000, kind="access")
        for i in range(6):
            for j in range(4):
                n = ((oo, on), (no, nn))[i >= 4][j >= 2]
                if n:
                    assembly.connect(np.repeat(leaves[i], n), np.repeat(spines[j], n), 100)
        fabric = assembly.finish()
        demand = all_to_all(fabric)
        theta = topo.link_loads(fabric, demand).theta * demand.total_gbps / (48 * 100)
        assert target.plain == pytest.approx(min(1, theta), rel=1e-6)


def test_unequal_pairs_have_no_cheaper_targets() -> None:
    assert growing_of(np.array([[1, 2], [2, 1]]), np.ones((4, 3), int), 8) is None
    assert growing_of(np.full((2, 2), 2), np.full((4, 4), 2), 8) is None  # leaves grow themselves


def test_faster_cables_are_replaced_and_the_lists_name_every_port() -> None:
    old = topo.leaf_spine(leaves=4, spines=2, hosts_per_leaf=8, parallel=4, link_gbps=200, host_gbps=200)
    new = topo.leaf_spine(leaves=8, spines=4, hosts_per_leaf=8, parallel=2, link_gbps=400, host_gbps=400)
    growth = grow_fabric(old, new)
    assert growth.n_replaced == 4 * 2 * 4 + 4 * 8
    grown = growth.grown
    assert set(grown.links.capacity_gbps.tolist()) == {400.0}
    text = growth_written(growth)
    assert text.count("[ ]") >= len(growth.steps)
    assert "any free port" not in text
    data = json.loads(growth_written(growth, "json"))
    assert data["n_moved"] == 16
    assert len(data["rounds"]) == len(growth.rounds)
    assert growth_written(growth, "csv").count("\n") > len(growth.steps)
    assert "<svg" in growth_written(growth, "html")
    with pytest.raises(topo.ParameterError, match="no list in format"):
        growth_written(growth, "pdf")


def test_a_half_built_fabric_is_told_once_that_growth_has_its_own_verb() -> None:
    """Two units more bring 16 leaves, 8 spines and their hosts, none of which is a fault of the cables there."""
    from topo.repair import repair_written
    from topo.repair.repair import repair_wiring

    old, new = pod("b200-2su"), pod("b200-4su")
    repair = repair_wiring(old, new, consequence=False)
    switches, absent = (_devices(new, only) - _devices(old, only) for only in (True, False))
    assert len(switches) == 16 + 8
    assert repair.n_absent == len(absent)
    said = (
        f"{repair.n_absent:,} of the design's devices are absent; "
        f"'topo plan {new.name} --from {old.name}' is the verb for growth"
    )
    assert said in repair_written(repair).split("\n")[1]
    page = repair_written(repair, "html").replace("&#x27;", "'")
    assert said in page[: page.index("<table")]
    assert repair_wiring(new.without(links=[300]), new, consequence=False).growth_text == ""


def _devices(fabric: Fabric, only_switches: bool) -> set[str]:
    """Hosts and switches by name without leading zeros, which another number of them adds."""
    kept = (fabric.nodes.forwards == FORWARDS_ALL) | (not only_switches)
    names = [host or name for host, name in zip(fabric.nodes.host.values(), fabric.nodes.name, strict=True)]
    return {re.sub("(?<![0-9])0+(?=[0-9])", "", str(names[row])) for row in np.flatnonzero(kept)}


def test_old_and_new_exchanged_is_asked() -> None:
    large, small = (topo.leaf_spine(leaves=n, spines=4, hosts_per_leaf=4) for n in (8, 4))
    with pytest.raises(
        topo.ParameterError, match=r"16 endpoints and is smaller than .* with 32; were the two exchanged"
    ):
        grow_fabric(large, small)
    assert grow_fabric(small, large).n_new_endpoints == 16
