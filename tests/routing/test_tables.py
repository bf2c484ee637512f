"""Static tables: what they choose, and how evenly that loads the links."""

from __future__ import annotations

import numpy as np
import pytest

import topo
from topo.build.rail import RailPlan
from topo.errors import ParameterError
from topo.fabric import Fabric, State
from topo.routing.next_hops import NextHops
from topo.routing.scheme import Routing
from topo.routing.tables import StaticTable
from topo.routing.walk import lost_mask, walk

KINDS = ("destination-modulo", "min-hop", "random")


def all_pairs(fabric: Fabric) -> tuple[np.ndarray, np.ndarray]:
    ends = fabric.endpoints
    source, sink = np.repeat(ends, len(ends)), np.tile(ends, len(ends))
    return source[source != sink], sink[source != sink]


def loads(fabric: Fabric, arcs: np.ndarray) -> np.ndarray:
    return np.bincount(arcs[arcs >= 0], minlength=2 * len(fabric.links))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("share", [0.0, 0.1])
def test_one_next_hop_for_a_switch_and_destination(kind: str, share: float) -> None:
    fabric = topo.fat_tree(4)
    random = np.random.default_rng(2)
    state = State.without(fabric, links=np.flatnonzero(random.random(len(fabric.links)) < share))
    hops = NextHops.of(fabric, state=state)
    source, sink = all_pairs(fabric)
    arcs = StaticTable.of(hops, kind, addresses="shuffled").paths(source, sink)
    taken: dict[tuple[int, int], set[int]] = {}
    for f in np.flatnonzero(~lost_mask(arcs)).tolist():
        path = arcs[:, f][arcs[:, f] >= 0]
        assert fabric.arc_source[path[0]] == source[f] and fabric.arc_target[path[-1]] == sink[f]
        for arc in path[1:].tolist():
            taken.setdefault((int(fabric.arc_source[arc]), int(sink[f])), set()).add(arc)
    assert taken and all(len(arcs_of) == 1 for arcs_of in taken.values())


def test_destination_modulo_uses_a_digit_a_tier() -> None:
    """Leaf: d mod m1 picks the spine; spine: (d div m1) mod m2 the core. All-to-all then loads every link alike."""
    fabric = topo.fat_tree(8)
    hops = NextHops.of(fabric)
    source, sink = all_pairs(fabric)
    arcs = StaticTable.of(hops).paths(source, sink)
    far = arcs[5] >= 0
    d = hops.access.end_of[sink]
    core = fabric.arc_target[arcs[2, far]]
    number = np.searchsorted(np.unique(core), core)
    assert (number // 4 == d[far] % 4).all() and (number % 4 == d[far] // 4 % 4).all()
    load = loads(fabric, arcs)
    tail, head = fabric.nodes.tier[fabric.arc_source], fabric.nodes.tier[fabric.arc_target]
    for low, high in ((1, 2), (2, 3), (3, 2), (2, 1)):
        some = load[(tail == low) & (head == high)]
        assert some.min() == some.max() > 0


@pytest.mark.parametrize("kind", ["destination-modulo", "min-hop"])
def test_rails_get_what_their_clos_gets(kind: str) -> None:
    """Rows count host by host across the rails, addresses leaf by leaf: the rails' Clos loads all its links alike."""
    fabric = topo.rail_optimized(32)
    hops = NextHops.of(fabric)
    source, sink = all_pairs(fabric)
    inner = (fabric.nodes.tier[fabric.arc_source] > 0) & (fabric.nodes.tier[fabric.arc_target] > 0)
    load = loads(fabric, StaticTable.of(hops, kind).paths(source, sink))[inner]
    assert load.min() == load.max() == 7 * 32 * 32 * 2 * 8 // inner.sum()
    by_row = loads(fabric, StaticTable.of(hops, kind, addresses="in order of rows").paths(source, sink))[inner]
    assert by_row.max() >= (7 if kind == "destination-modulo" else 1) * load.max()
    said = topo.throughput(fabric, topo.traffic.all_to_all(fabric), routing=Routing("single-path", table=kind))
    assert said.theta_lower == pytest.approx(1)
    assert "destinations numbered in leaf order" in said.assumptions[0]


def test_leaf_order_is_a_leaf_after_the_other() -> None:
    """Also where accelerators are endpoints and reach every rail of their host: the nearest switch counts."""
    opened = topo.cluster(topo.ClusterHosts("dgx-h100", 4), RailPlan(hosts_per_unit=4))
    for fabric in (topo.rail_optimized(4, hosts_per_unit=4), opened):
        hops = NextHops.of(fabric)
        rail = (
            fabric.nodes.rail.codes if not fabric.nodes.kind.is_any("accelerator").any() else fabric.nodes.local_index
        )
        ordered = hops.access.endpoints[np.argsort(StaticTable.of(hops).address)]
        assert np.asarray(rail)[ordered].tolist() == sorted(np.asarray(rail)[hops.access.endpoints].tolist())


def test_destination_modulo_with_parallel_links_and_planes() -> None:
    fabric = topo.leaf_spine(4, 2, 8, parallel=4)
    source, sink = all_pairs(fabric)
    load = loads(fabric, StaticTable.of(NextHops.of(fabric)).paths(source, sink))
    inner = (fabric.nodes.tier[fabric.arc_source] > 0) & (fabric.nodes.tier[fabric.arc_target] > 0)
    assert load[inner].min() == load[inner].max() == 24
    planes = topo.multi_plane(32, planes=4, radix=8, lanes=4)
    source, sink = all_pairs(planes)
    arcs = StaticTable.of(NextHops.of(planes)).paths(source, sink)
    load = loads(planes, arcs)
    first = planes.nodes.tier[planes.arc_source] == 0
    up = (planes.nodes.tier[planes.arc_source] == 1) & (planes.nodes.tier[planes.arc_target] == 2)
    assert load[first].min() >= 7 and load[first].max() <= 8
    assert load[up].max() <= 2 * load[up].mean()


def test_min_hop_polarizes_with_addresses_in_order() -> None:
    """k=16: an aggregation switch counts all addresses but gets one residue only, and sends it to one core."""
    fabric = topo.fat_tree(16)
    hops = NextHops.of(fabric)
    ends = fabric.endpoints
    # One source a leaf is enough: a table does not look at the source.
    source, sink = np.repeat(ends[::8], len(ends)), np.tile(ends, len(ends) // 8)
    other = source != sink
    up = (fabric.nodes.tier[fabric.arc_source] == 2) & (fabric.nodes.tier[fabric.arc_target] == 3)
    worst = {}
    for kind, addresses in (
        ("min-hop", "in order of rows"),
        ("min-hop", "shuffled"),
        ("destination-modulo", "in order of rows"),
    ):
        load = loads(fabric, StaticTable.of(hops, kind, addresses=addresses).paths(source[other], sink[other]))[up]
        worst[kind, addresses] = (int((load > 0).sum()), load.max() / load.mean())
    assert up.sum() == 1024
    assert worst["min-hop", "in order of rows"] == (128, pytest.approx(8.0))
    assert worst["min-hop", "shuffled"][0] == 1024 and worst["min-hop", "shuffled"][1] == pytest.approx(1.8, abs=0.35)
    assert worst["destination-modulo", "in order of rows"] == (1024, pytest.approx(1.0))


@pytest.mark.parametrize("addresses", ["in order of rows", "shuffled"])
def test_min_hop_is_least_loaded_destination_by_destination(addresses: str) -> None:
    """Against the rule said plainly, one destination after another, also on a broken fabric."""
    fabric = topo.fat_tree(4)
    state = State.without(fabric, links=[20, 33, 41])
    hops = NextHops.of(fabric, state=state)
    table = StaticTable.of(hops, "min-hop", addresses=addresses, seed=3)
    assert table.picks is not None
    for row in range(len(hops.relays)):
        held: dict[int, int] = {}
        for end in np.argsort(table.address).tolist():
            group = hops.group_of[fabric.endpoints[end]]
            code = int(hops.table[row, group]) if group >= 0 else -1
            if code < 0:
                assert table.picks[row, end] == -1
                continue
            arcs = hops.arcs[hops.start[code] : hops.start[code + 1]].tolist()
            best = min(arcs, key=lambda arc: held.get(arc, 0))
            assert arcs[table.picks[row, end]] == best
            held[best] = held.get(best, 0) + 1


def test_random_is_uniform_and_fixed() -> None:
    fabric = topo.leaf_spine(2, 8, 64)
    hops = NextHops.of(fabric)
    source, sink = np.repeat(fabric.endpoints[:64], 64), np.tile(fabric.endpoints[64:], 64)
    table = StaticTable.of(hops, "random", seed=5)
    arcs = table.paths(source, sink)
    assert (arcs == table.paths(source, sink, seed=99)).all()
    assert (arcs[1].reshape(64, 64) == arcs[1][:64]).all()
    assert (StaticTable.of(hops, "random", seed=6).paths(source, sink)[1] != arcs[1]).mean() > 0.7
    by_pair = StaticTable.of(hops, "random-by-pair", seed=5).paths(source, sink)
    counts = np.unique(by_pair[1], return_counts=True)[1]
    # Chi-squared, 7 degrees of freedom: 24.3 is exceeded once in a thousand.
    assert len(counts) == 8 and ((counts - 512) ** 2 / 512).sum() < 24.3
    assert (by_pair == StaticTable.of(hops, "random-by-pair", seed=5).paths(source, sink)).all()


def test_a_walk_takes_the_table_as_choice() -> None:
    fabric = topo.fat_tree(4)
    hops = NextHops.of(fabric)
    source, sink = all_pairs(fabric)
    table = StaticTable.of(hops)
    assert (walk(hops, source, sink, table.choose(source, sink)) == table.paths(source, sink)).all()
    assert (table.paths(source, sink) >= -1).all()


def test_refused() -> None:
    hops = NextHops.of(topo.leaf_spine(2, 2, 2))
    with pytest.raises(ParameterError, match="unknown table 'ftree'; known: hash, destination-modulo"):
        StaticTable.of(hops, "ftree")
    with pytest.raises(ParameterError, match="unknown addresses"):
        StaticTable.of(hops, addresses="by name")
    with pytest.raises(ParameterError, match="4 different whole numbers"):
        StaticTable.of(hops, addresses=[1, 2, 2, 3])
    assert StaticTable.of(hops, addresses=[40, 10, 30, 20]).address.tolist() == [3, 0, 2, 1]
