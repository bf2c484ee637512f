"""Churn against its closed forms, all hash values, and real keys on a fabric."""

from __future__ import annotations

import json
from fractions import Fraction

import numpy as np
import pytest

import topo
from topo.analysis.collisions.churn import link_churn, next_hop_churn
from topo.analysis.collisions.hashed import hashed_paths
from topo.errors import ParameterError
from topo.fabric import Fabric, State
from topo.hashing import SELECTIONS, BucketTable, EcmpHash, roce_keys, select, select_without
from topo.routing.next_hops import NextHops
from topo.traffic.demand import Demand


@pytest.mark.parametrize(("n", "moved"), [(2, "1/2"), (4, "3/4"), (8, "7/8")])
def test_modulo_moves_all_but_one_share(n: int, moved: str) -> None:
    assert {next_hop_churn(n, removed=i).moved for i in range(n)} == {moved}


@pytest.mark.parametrize(
    ("n", "moved"),
    [
        (4, "1/2 1/3 1/3 1/2"),
        (5, "1/2 7/20 3/10 7/20 1/2"),
        (8, "1/2 23/56 5/14 2/7 2/7 5/14 23/56 1/2"),
    ],
)
def test_range_table(n: int, moved: str) -> None:
    if n == 8:  # only its ends and middle are published; the rest follows from the formula
        moved = " ".join(str(Fraction(i * (i + 1) + (7 - i) * (8 - i), 112)) for i in range(8))
        assert (moved.split()[0], moved.split()[3]) == ("1/2", "2/7")
    found = [next_hop_churn(n, removed=i, selection="range") for i in range(n)]
    assert [one.moved for one in found] == moved.split()
    assert all(Fraction(1, 4) <= Fraction(one.moved) <= Fraction(1, 2) for one in found)


def test_resilient_moves_the_dead_only() -> None:
    assert next_hop_churn(8, selection="resilient").moved == "1/8"
    uneven = next_hop_churn(6, removed=5, selection="resilient", buckets=64)
    assert (uneven.moved, uneven.needed) == ("5/32", "5/32")
    assert next_hop_churn(6, removed=0, selection="resilient", buckets=64).moved == "11/64"


@pytest.mark.parametrize("n", [2, 3, 4, 5, 8, 13])
@pytest.mark.parametrize("selection", SELECTIONS)
def test_equal_to_every_hash_value(n: int, selection: str) -> None:
    """All hashes of a register whose size n and n - 1 divide: the share is exact; its parts of 2^16 within n / 2^16."""
    hashes = np.arange(1 << 16, dtype=np.uint32)
    for removed in range(n):
        before = select(hashes, n, width=16, selection=selection, buckets=64)
        after = select_without(hashes, n, removed, width=16, selection=selection, buckets=64)
        assert not (after == removed).any()
        found = next_hop_churn(n, removed=removed, selection=selection, buckets=64)
        share = float((before != after).mean())
        assert found.moved_share == pytest.approx(share, abs=2 * n * n / 65536 if selection != "resilient" else 1e-15)
        assert found.needed_share == pytest.approx(float((before == removed).mean()), abs=n / 65536)
        if selection == "modulo":
            whole = np.arange(n * (n - 1) * 10, dtype=np.uint32)
            one, two = select(whole, n, width=32), select_without(whole, n, removed, width=32)
            assert Fraction(found.moved) == Fraction(int((one != two).sum()), len(whole))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: next_hop_churn(1), "needs 2 to"),
        (lambda: next_hop_churn(4, removed=4), "removed is 4"),
        (lambda: next_hop_churn(4.0), "next_hops is 4.0"),
        (lambda: next_hop_churn(4, selection="sticky"), "unknown selection"),
        (lambda: next_hop_churn(100, selection="resilient"), "100 next hops in 64 buckets"),
        (lambda: BucketTable(8, 1).without(0), "last next hop"),
        (lambda: BucketTable(8, 4).without(2).without(2), "not among the living"),
        (lambda: select_without(np.zeros(1, np.uint32), 1, 0, width=16), "cannot be removed"),
    ],
)
def test_refused(call: object, words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        call()  # type: ignore[operator]


def uplink(fabric: Fabric, leaf: str, spine: str) -> int:
    a, b = int(fabric.rows(leaf)[0]), int(fabric.rows(spine)[0])
    ends = np.sort(np.stack([fabric.link_a, fabric.link_b]), axis=0)
    return int(np.flatnonzero((ends[0] == min(a, b)) & (ends[1] == max(a, b)))[0])


FLOWS = 20_000


@pytest.mark.parametrize("selection", SELECTIONS)
@pytest.mark.parametrize("dies", [0, 2])
def test_real_keys_on_a_leaf(selection: str, dies: int) -> None:
    """Flows of one leaf pair, an uplink dead: the shares of the closed forms, five standard deviations wide."""
    fabric = topo.leaf_spine(leaves=2, spines=5, hosts_per_leaf=1)
    a, b = fabric.endpoints.tolist()
    demand = Demand.of(fabric, "many", source=[a] * FLOWS, sink=[b] * FLOWS, gbps=0.01)
    link = uplink(fabric, "leaf-1", f"spine-{dies + 1}")
    found = link_churn(fabric, [link], demand, hash=EcmpHash("crc-32c", selection=selection, buckets=60))
    closed = next_hop_churn(5, removed=dies, selection=selection, buckets=60)
    assert found.flows == FLOWS
    assert found.lost == 0
    assert found.moved / FLOWS == pytest.approx(closed.moved_share, abs=0.018)
    assert found.on_links / FLOWS == pytest.approx(closed.needed_share, abs=0.014)
    if selection == "resilient":
        assert found.moved == found.on_links
        assert found.moved_needlessly == 0
    else:
        assert found.moved_needlessly == found.moved - found.on_links
    assert len(found.moved_flows) == found.moved


def test_resilient_tables_of_a_whole_fabric() -> None:
    """Flow by flow on a fat-tree: with tables kept, exactly the flows that crossed a dead link move."""
    fabric = topo.fat_tree(8)
    n = len(fabric.endpoints)
    source = np.tile(fabric.endpoints, 20)
    sink = np.concatenate([np.roll(fabric.endpoints, -shift) for shift in range(7, 107, 5)])
    demand = Demand.of(fabric, "shifts", source=source, sink=sink, gbps=1.0)
    links = [uplink(fabric, "pod-1-leaf-1", "pod-1-spine-2"), uplink(fabric, "pod-3-spine-1", "core-03")]
    kept = link_churn(fabric, links, demand, hash=EcmpHash("crc-32", selection="resilient"))
    assert kept.moved_needlessly == 0
    assert kept.moved == kept.on_links > 0
    modulo = link_churn(fabric, links, demand, hash="crc-32")
    assert modulo.on_links < modulo.moved
    # Nobody's path crosses a dead link afterwards, and paths stay shortest.
    after = NextHops.of(fabric, state=State.without(fabric, links=links))
    keys = roce_keys(fabric, source, sink)
    arcs = hashed_paths(
        after, source, sink, keys, hash=EcmpHash("crc-32", selection="resilient"), before=NextHops.of(fabric)
    )
    assert not np.isin(arcs[arcs >= 0] // 2, links).any()
    assert n * 20 == kept.flows


def test_a_flow_without_another_path_is_lost() -> None:
    fabric = topo.leaf_spine(leaves=2, spines=2, hosts_per_leaf=2)
    ends = fabric.endpoints
    demand = Demand.of(fabric, "two", source=ends[:2], sink=ends[2:], gbps=1.0)
    access = uplink(fabric, "host-1", "leaf-1")
    found = link_churn(fabric, [access], demand)
    assert (found.lost, found.on_links, found.moved) == (1, 1, 0)
    assert found.lost_flows.tolist() == [0]
    data = json.loads(found.to_json())
    assert data["links"][0]["a"] in ("host-1", "leaf-1")
    assert "flows left without a path" in str(found)


def test_refused_links() -> None:
    fabric = topo.leaf_spine(leaves=2, spines=2, hosts_per_leaf=2)
    ends = fabric.endpoints
    demand = Demand.of(fabric, "two", source=ends[:2], sink=ends[2:], gbps=1.0)
    with pytest.raises(ParameterError, match="no link is given"):
        link_churn(fabric, [], demand)
    with pytest.raises(ParameterError, match="row 99"):
        link_churn(fabric, [99], demand)
    keys = roce_keys(fabric, ends[:1], ends[1:2])
    with pytest.raises(ParameterError, match="1 keys for 2 flows"):
        link_churn(fabric, [0], demand, keys=keys)
