"""Weighted next hops: shares against fluid link loads, walks, tables of entries, bad input."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import topo
from topo.errors import ParameterError
from topo.fabric import Fabric, State
from topo.routing.loads import link_loads
from topo.routing.next_hops import NextHops
from topo.routing.scheme import Routing
from topo.routing.walk import at_random, lost_mask, walk
from topo.routing.weighted_sets import table_entries
from topo.traffic.demand import Demand

WALKS = 2000
BUILDS: dict[str, Callable[[], Fabric]] = {
    "fat-tree": lambda: topo.fat_tree(6),
    "parallel": lambda: topo.leaf_spine(4, 3, 4, parallel=2),
    "rail": lambda: topo.rail_optimized(8, rails=4, hosts_per_unit=4, radix=16),
    "planes": lambda: topo.multi_plane(16, planes=4, radix=8, lanes=4),
    "dual-homed": lambda: topo.load("alibaba-hpn-segment"),
    "torus": lambda: topo.torus((4, 4)),
}
ROUTINGS = [
    Routing("wcmp"),
    Routing("wcmp", weights="local"),
    Routing("wcmp", lag=True),
    Routing("wcmp", up_down=True),
    Routing("wcmp", weights="local", lag=True),
]


def uneven(fabric: Fabric, seed: int) -> State:
    """Some links gone, some at half their rate, some present at rate 0."""
    random = np.random.default_rng(seed)
    n = len(fabric.links)
    rates = fabric.links.capacity_gbps * np.where(random.random(n) < 0.2, 0.5, 1.0)
    rates[random.random(n) < 0.03] = 0.0
    return State(link_present=random.random(n) >= 0.06, capacity_gbps=rates)


def fluid_by_hops(hops: NextHops, source: int, sink: int) -> np.ndarray:
    """Load of one flow, pushed down the table hop by hop, without the kernel."""
    load = np.zeros(2 * len(hops.fabric.links))
    access, group, weights = hops.access, int(hops.group_of[sink]), hops.weights
    assert weights is not None
    assert hops.share is not None
    held: dict[int, float] = {}
    state, end = int(access.source_state[access.end_of[source]]), int(access.end_of[sink])
    if state < access.n_relays:
        held[state] = 1.0
    else:
        rows = np.arange(access.out_start[state], access.out_start[state + 1])
        cost = hops.cost[access.outward.head[rows], group] + access.outward.cost[rows]
        rows = rows[cost == cost.min()]
        weight = weights.of(access.outward.arc[rows], access.outward.head[rows], np.full(len(rows), group))
        for row, part in zip(rows.tolist(), (weight / weight.sum()).tolist(), strict=True):
            load[access.outward.arc[row]] += part
            relay = int(access.outward.head[row])
            held[relay] = held.get(relay, 0.0) + part
    while held:
        relay = max(held, key=lambda r: int(hops.cost[r, group]))
        here, code = held.pop(relay), int(hops.table[relay, group])
        if code < 0:
            at = int(access.ways.find(np.array([end * access.n_states + relay]))[0])
            if at < 0:
                continue
            arcs = access.ways.arc[access.ways.start[at] : access.ways.start[at + 1]]
            share = weights.gbps[arcs] / weights.gbps[arcs].sum()
        else:
            part = slice(int(hops.start[code]), int(hops.start[code + 1]))
            arcs, share = hops.arcs[part], hops.share[part]
        for arc, portion in zip(arcs.tolist(), (here * share).tolist(), strict=True):
            load[arc] += portion
            if hops.head_row[arc] >= 0 and code >= 0:
                held[int(hops.head_row[arc])] = held.get(int(hops.head_row[arc]), 0.0) + portion
    return load


@pytest.mark.parametrize("routing", ROUTINGS, ids=str)
@pytest.mark.parametrize("name", list(BUILDS))
def test_walks_and_shares_are_the_fluid_load(name: str, routing: Routing) -> None:
    fabric = BUILDS[name]()
    if routing.up_down and name == "torus":
        pytest.skip("no tiers")
    for seed in (1, 2):
        state = uneven(fabric, seed)
        random = np.random.default_rng(seed)
        source, sink = random.choice(fabric.endpoints, 10), random.choice(fabric.endpoints, 10)
        source, sink = source[source != sink], sink[source != sink]
        demand = Demand.of(fabric, "some", source=source, sink=sink, gbps=1.0)
        loads = link_loads(fabric, demand, routing=routing, state=state)
        hops = NextHops.of(fabric, routing=routing, state=state)
        arcs = walk(hops, np.repeat(source, WALKS), np.repeat(sink, WALKS), at_random(seed))
        lost = lost_mask(arcs).reshape(-1, WALKS)
        assert lost[:, 0].sum() == loads.lost_pairs
        assert (lost == lost[:, :1]).all()
        seen = np.bincount(arcs[arcs >= 0], minlength=len(loads.arc_gbps)) / WALKS
        error = np.sqrt(np.maximum(loads.arc_gbps, 1 / WALKS) / WALKS)
        assert (np.abs(seen - loads.arc_gbps) <= 5.5 * error).all()
        if not routing.lag:
            alive = [pair for pair, gone in zip(zip(source, sink, strict=True), lost[:, 0], strict=True) if not gone]
            pushed = sum((fluid_by_hops(hops, int(a), int(b)) for a, b in alive), np.zeros_like(seen))
            assert np.abs(pushed - loads.arc_gbps).max() < 1e-12


def test_shares_of_a_lost_leaf_spine_link() -> None:
    """Four leaves and spines, leaf 2 without spine 1: to leaf 2 no one uses spine 1; a half-rate one takes half."""
    f = topo.leaf_spine(4, 4, 4, link_gbps=100)
    leaf = f.rows([f"leaf-{i}" for i in (1, 2)])
    down = np.flatnonzero((f.link_a == leaf[1]) | (f.link_b == leaf[1]))
    spine = np.flatnonzero(np.isin(f.link_a[down], f.rows("spine-*")) | np.isin(f.link_b[down], f.rows("spine-*")))
    uplinks = down[spine]
    rates = f.links.capacity_gbps.copy()
    rates[uplinks[0]], rates[uplinks[1]] = 0.0, 50.0
    host = f.endpoints[4]
    for weights, share in (("path", [0.2, 0.4, 0.4]), ("local", [1 / 4] * 4)):
        hops = NextHops.of(f, routing=Routing("wcmp", weights=weights), state=State(capacity_gbps=rates))
        assert hops.share is not None
        code = int(hops.table[hops.row_of[leaf[0]], hops.group_of[host]])
        found = hops.share[hops.start[code] : hops.start[code + 1]]
        # A spine cut off from leaf 2 is on no shortest path, whatever the weights.
        expected = share if weights == "path" else [1 / 3] * 3
        assert np.sort(found) == pytest.approx(expected)


def test_equal_weights_are_the_even_split() -> None:
    f = topo.fat_tree(4)
    even, weighted = NextHops.of(f), NextHops.of(f, routing="wcmp")
    assert weighted.share is not None
    size = np.repeat(np.diff(weighted.start), np.diff(weighted.start))
    assert weighted.share == pytest.approx(1 / size)
    for relay in range(len(even.relays)):
        for group in range(even.n_groups):
            a, b = int(even.table[relay, group]), int(weighted.table[relay, group])
            assert (a < 0) == (b < 0)
            if a >= 0:
                one, other = (h.arcs[h.start[c] : h.start[c + 1]] for h, c in ((even, a), (weighted, b)))
                assert one.tolist() == other.tolist()


def test_tables_of_entries() -> None:
    """Exact where few entries do, else largest remainders; every table is full."""
    random = np.random.default_rng(0)
    for _ in range(200):
        n = int(random.integers(1, 9))
        whole = random.integers(1, 16, n)
        start = np.array([0, n])
        upto, size = table_entries(whole / whole.sum(), start, 1024)
        count = np.diff(np.concatenate([[0], upto]))
        assert count * whole.sum() == pytest.approx(whole * size[0])
        uneven = random.random(n) + 0.01
        upto, size = table_entries(uneven / uneven.sum(), start, 64)
        count = np.diff(np.concatenate([[0], upto]))
        assert upto[-1] == size[0] <= 64
        assert np.abs(count / size[0] - uneven / uneven.sum()).max() <= 1 / 64
        upto, size = table_entries(uneven / uneven.sum(), start, None)
        assert np.diff(np.concatenate([[0], upto])) / size[0] == pytest.approx(uneven / uneven.sum(), abs=1e-9)
    with pytest.raises(ParameterError, match="do not fit a table of 2"):
        table_entries(np.full(3, 1 / 3), np.array([0, 3]), 2)


def test_weights_stop_at_opened_hosts() -> None:
    with pytest.raises(ParameterError, match="opened down to parts of hosts"):
        NextHops.of(topo.server("dgx-h100"), routing="wcmp")
