"""Churn against its closed forms, all hash values, and real keys on a fabric."""

from __future__ import annotations

import json
import zlib
from fractions import Fraction

import numpy as np
import pytest

import topo
from topo.analysis.collisions.churn import link_churn, next_hop_churn
from topo.analysis.collisions.hashed import hashed_paths
from topo.build.assembly import Assembly
from topo.errors import ParameterError
from topo.fabric import FORWARDS_NOTHING, Fabric, Origin, State
from topo.hashing import SELECTIONS, BucketTable, EcmpHash, roce_keys, select, select_without
from topo.routing.next_hops import NextHops
from topo.routing.scheme import Routing
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


def bucket_of(key: bytes, buckets: int) -> int:
    return zlib.crc32(key) % buckets


@pytest.mark.parametrize("dies", [0, 1, 2])
def test_weighted_tables_flow_by_flow(dies: int) -> None:
    """Three uplinks of 300, 200, 100: tables written out here, the same for CRC-32 of the standard library."""
    assembly = Assembly("three uplinks")
    hosts = assembly.add_nodes(["host-1", "host-2"], kind="host", is_endpoint=True, forwards=FORWARDS_NOTHING)
    leaves = assembly.add_nodes(["leaf-1", "leaf-2"], kind="switch", tier=1)
    spines = assembly.add_nodes(["spine-1", "spine-2", "spine-3"], kind="switch", tier=2)
    assembly.connect(hosts, leaves, 400, kind="access")
    for spine, rate in zip(spines.tolist(), (300, 200, 100), strict=True):
        assembly.connect(leaves[:1], np.array([spine]), rate)
        assembly.connect(leaves[1:], np.array([spine]), 400)
    fabric = assembly.finish(Origin())
    a, b = fabric.endpoints.tolist()
    demand = Demand.of(fabric, "many", source=[a] * 4000, sink=[b] * 4000, gbps=0.01)
    keys = roce_keys(fabric, demand.source, demand.sink, seed=2)
    link = uplink(fabric, "leaf-1", f"spine-{dies + 1}")
    weights = [3, 2, 1]
    before = [place for place, weight in enumerate(weights) for _ in range(weight)]
    left = [place for place in before if place != dies]
    # As many buckets as weights: 60 of them, which 6, 3, 4 and 5 divide.
    was = [before[bucket % 6] for bucket in range(60)]
    due = {place: left.count(place) * 60 // len(left) for place in set(left)}
    free = {place: due[place] - was.count(place) for place in due}
    assert all(more >= 0 for more in free.values())
    turns = sorted((turn, place) for place, more in free.items() for turn in range(more))
    now = [place if place != dies else turns.pop(0)[1] for place in was]
    scheme = EcmpHash("crc-32", seed_per="fabric", selection="resilient", buckets=60)
    for routing in ("wcmp", Routing("wcmp", weights="local")):
        found = link_churn(fabric, [link], demand, hash=scheme, keys=keys, routing=routing)
        bucket = [bucket_of(row.tobytes(), 60) for row in keys.bytes()]
        moved = [i for i, x in enumerate(bucket) if was[x] != now[x]]
        assert found.moved_flows.tolist() == moved
        assert (found.moved, found.moved_needlessly) == (sum(was[x] == dies for x in bucket), 0)
    modulo = link_churn(fabric, [link], demand, hash=EcmpHash("crc-32", seed_per="fabric"), keys=keys, routing="wcmp")
    hashes = [zlib.crc32(row.tobytes()) for row in keys.bytes()]
    ratio = Fraction(*(weights[p] for p in range(3) if p != dies)).as_integer_ratio()
    short = [place for place, n in zip([p for p in range(3) if p != dies], ratio, strict=True) for _ in range(n)]
    assert modulo.moved == sum(before[h % 6] != short[h % len(short)] for h in hashes)


def test_weights_that_change_move_flows_whose_links_live() -> None:
    """A fat-tree's spine loses a core link: under path weights the leaves above shift flows off that spine too."""
    fabric = topo.fat_tree(4)
    n = 64
    ends = fabric.endpoints
    source, sink = np.repeat(ends[:2], n), np.repeat(ends[8:10], n)
    demand = Demand.of(fabric, "two", source=source, sink=sink, gbps=1.0)
    dead = [uplink(fabric, "pod-1-spine-1", "core-1")]
    scheme = EcmpHash("jenkins-lookup3", selection="resilient", buckets=60)
    found = link_churn(fabric, dead, demand, hash=scheme, routing="wcmp")
    even = link_churn(fabric, dead, demand, hash=scheme)
    assert even.moved_needlessly == 0
    assert 0 < found.moved_needlessly < found.flows / 3
    after = NextHops.of(fabric, routing="wcmp", state=State.without(fabric, links=dead))
    arcs = hashed_paths(
        after, source, sink, roce_keys(fabric, source, sink, seed=0), hash=scheme,
        before=NextHops.of(fabric, routing="wcmp"),
    )  # fmt: skip
    assert not np.isin(arcs[arcs >= 0] // 2, dead).any()
    share = np.mean(fabric.arc_target[arcs[1]] == fabric.rows("pod-1-spine-1")[0])
    assert share == pytest.approx(1 / 3, abs=4 * np.sqrt(2 / 9 / len(source)))
