"""Weighted next hops: shares against fluid link loads, walks, tables of entries, bad input."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import topo
from topo.build.assembly import Assembly
from topo.errors import ParameterError
from topo.fabric import FORWARDS_ALL, FORWARDS_OWN_HOST, Fabric, Origin, State
from topo.routing.loads import link_loads
from topo.routing.next_hops import NextHops
from topo.routing.scheme import Routing
from topo.routing.walk import at_random, lost_mask, walk
from topo.routing.weighted_sets import table_entries
from topo.table import Labels
from topo.traffic.demand import Demand

WALKS = 2000
FAR = 1 << 60
BUILDS: dict[str, Callable[[], Fabric]] = {
    "fat-tree": lambda: topo.fat_tree(6),
    "parallel": lambda: topo.leaf_spine(4, 3, 4, parallel=2),
    "rail": lambda: topo.rail_optimized(8, rails=4, hosts_per_unit=4, radix=16),
    "planes": lambda: topo.multi_plane(16, planes=4, radix=8, lanes=4),
    "dual-homed": lambda: topo.load("alibaba-hpn-segment"),
    "torus": lambda: topo.torus((4, 4)),
    "opened": lambda: topo.server("dgx-h100"),
    "domain": lambda: topo.load("nvidia-gb200-nvl72"),
    "shared chips": lambda: topo.load("nvidia-superpod-gb200-2su-nvl72"),
}
OPENED = ("opened", "domain", "shared chips")
ROUTINGS = [
    Routing("wcmp"),
    Routing("wcmp", weights="local"),
    Routing("wcmp", lag=True),
    Routing("wcmp", up_down=True),
    Routing("wcmp", weights="local", lag=True),
    Routing("wcmp", pxn="always"),
    Routing("wcmp", pxn="never"),
]


def uneven(fabric: Fabric, seed: int) -> State:
    """Some links gone, some at half their rate, some present at rate 0."""
    random = np.random.default_rng(seed)
    n = len(fabric.links)
    rates = fabric.links.capacity_gbps * np.where(random.random(n) < 0.2, 0.5, 1.0)
    rates[random.random(n) < 0.03] = 0.0
    return State(link_present=random.random(n) >= 0.06, capacity_gbps=rates)


class Pushed:
    """Load of one flow, pushed from state to state by the weights that walks use, without the kernel."""

    def __init__(self, hops: NextHops, source: int, sink: int) -> None:
        self.hops, self.access, self.group = hops, hops.access, int(hops.group_of[sink])
        self.end = int(self.access.end_of[sink])
        self.begin = int(self.access.source_state[self.access.end_of[source]])
        self.load = np.zeros(2 * len(hops.fabric.links))
        self.outside = self.out_costs()
        held = {self.begin: 1.0}
        while held:
            state = max(held, key=self.left)
            here = held.pop(state)
            if state in (self.access.sink_state[self.end], self.access.source_state[self.end]):
                continue
            arcs, heads, share = self.onward(state)
            for arc, head, portion in zip(arcs.tolist(), heads.tolist(), (here * share).tolist(), strict=True):
                self.load[arc] += portion
                held[head] = held.get(head, 0.0) + portion

    def left(self, state: int) -> int:
        """Least cost from a state on."""
        if state in (self.access.sink_state[self.end], self.access.source_state[self.end]):
            return 0
        if state < self.access.n_relays:
            cost = int(self.hops.cost[state, self.group])
            return FAR if cost == self.hops.far else cost
        if self.access.is_in[state]:
            return int(self.access.ways.cost_of(np.array([self.end * self.access.n_states + state]), FAR)[0])
        return self.outside.get(state, FAR)

    def out_costs(self) -> dict[int, int]:
        """Least costs from states on the way out that the source reaches, by Bellman and Ford."""
        access, near, todo = self.access, {self.begin}, [self.begin]
        while todo:
            here = todo.pop()
            for head in access.outward.head[access.out_start[here] : access.out_start[here + 1]].tolist():
                inner = head >= access.n_relays and not access.is_in[head] and access.passes[head]
                if inner and head not in near:
                    near.add(head)
                    todo.append(head)
        self.outside: dict[int, int] = {}
        for _ in near:
            for state in near - {int(access.source_state[self.end])}:
                rows = range(access.out_start[state], access.out_start[state + 1])
                outward = access.outward
                costs = [int(outward.cost[r]) + self.left(int(outward.head[r])) for r in rows]
                self.outside[state] = min(costs, default=FAR)
        return self.outside

    def onward(self, state: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Next arcs with the states they enter and their shares."""
        access, hops, weights = self.access, self.hops, self.hops.weights
        assert weights is not None
        assert hops.share is not None
        if state < access.n_relays and hops.table[state, self.group] >= 0:
            code = int(hops.table[state, self.group])
            part = slice(int(hops.start[code]), int(hops.start[code + 1]))
            return hops.arcs[part], hops.head_row[hops.arcs[part]], hops.share[part]
        if state < access.n_relays or access.is_in[state]:
            at = int(access.ways.find(np.array([self.end * access.n_states + state]))[0])
            way = slice(access.ways.start[at], access.ways.start[at + 1])
            arcs, heads = access.ways.arc[way], access.ways.next_state[way]
        else:
            rows = np.arange(access.out_start[state], access.out_start[state + 1])
            cost = np.array([int(access.outward.cost[r]) + self.left(int(access.outward.head[r])) for r in rows])
            rows = rows[cost == cost.min()]
            arcs, heads = access.outward.arc[rows], access.outward.head[rows]
        of = weights.of_states(arcs, heads, np.full(len(arcs), self.group), np.full(len(arcs), self.end))
        return arcs, heads, of / of.sum()


def known(name: str, routing: Routing) -> bool:
    """Tori have no tiers, closed hosts no relays, and the largest fabric takes seconds a routing."""
    if name == "shared chips":
        return not routing.lag and not routing.up_down
    return (routing.pxn == "needed" or name in OPENED) and not (routing.up_down and name == "torus")


@pytest.mark.parametrize(
    ("name", "routing"),
    [
        pytest.param(name, routing, marks=pytest.mark.slow if name == "shared chips" else ())
        for name in BUILDS for routing in ROUTINGS if known(name, routing)
    ],
    ids=str,
)  # fmt: skip
def test_walks_and_shares_are_the_fluid_load(name: str, routing: Routing) -> None:
    fabric = BUILDS[name]()
    seeds, n = ((1,), 3) if name == "shared chips" else ((1, 2), 10)
    for seed in seeds:
        state = uneven(fabric, seed)
        random = np.random.default_rng(seed)
        source, sink = random.choice(fabric.endpoints, n), random.choice(fabric.endpoints, n)
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
        # Where hosts are opened tens of thousands of arcs carry a few walks each.
        assert (np.abs(seen - loads.arc_gbps) <= (7 if name in OPENED else 5.5) * error).all()
        if not routing.lag:
            alive = [pair for pair, gone in zip(zip(source, sink, strict=True), lost[:, 0], strict=True) if not gone]
            pushed = sum((Pushed(hops, int(a), int(b)).load for a, b in alive), np.zeros_like(seen))
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


def two_adapters(rates: tuple[float, float]) -> tuple[Fabric, State]:
    """Two hosts, each an accelerator behind two adapters, each adapter on a leaf of its own; host 1's at ``rates``."""
    assembly = Assembly("two adapters")
    host = ["host-1", "host-2"]
    names = Labels.of(host)
    gpu = assembly.add_nodes(
        [f"{h}-gpu" for h in host], kind="accelerator", is_endpoint=True, forwards=FORWARDS_OWN_HOST, host=names
    )
    nic = assembly.add_nodes(
        [f"{h}-nic-{i}" for h in host for i in (1, 2)], kind="nic", tier=-1, forwards=FORWARDS_OWN_HOST,
        host=Labels([0, 0, 1, 1], names.labels),
    )  # fmt: skip
    leaf = assembly.add_nodes(["leaf-1", "leaf-2"], kind="switch", tier=1, forwards=FORWARDS_ALL)
    assembly.connect(np.repeat(gpu, 2), nic, 400, kind="host_io")
    assembly.connect(nic, np.tile(leaf, 2), 400, kind="access")
    fabric = assembly.finish(Origin())
    gbps = fabric.links.capacity_gbps.copy()
    for name, rate in zip(("host-1-nic-1", "host-1-nic-2"), rates, strict=True):
        at = fabric.rows(name)[0]
        gbps[fabric.links.kind.is_any("access") & ((fabric.link_a == at) | (fabric.link_b == at))] = rate
    return fabric, State(capacity_gbps=gbps)


@pytest.mark.parametrize(
    ("weights", "to_other", "from_other"), [("path", [1 / 4, 3 / 4], [1 / 4, 3 / 4]), ("local", [0.5, 0.5], [0.5, 0.5])]
)
def test_weights_inside_opened_hosts(weights: str, to_other: list[float], from_other: list[float]) -> None:
    """Adapters whose cables run at 100 and 300 of 400 Gb/s: 1 to 3 by path out of the host and into it, else even."""
    fabric, state = two_adapters((100.0, 300.0))
    hops = NextHops.of(fabric, routing=Routing("wcmp", weights=weights), state=state)
    n = 40_000
    for (source, sink), share in zip(((0, 1), (1, 0)), (to_other, from_other), strict=True):
        ends = fabric.endpoints
        arcs = walk(hops, np.full(n, ends[source]), np.full(n, ends[sink]), at_random(3))
        leaf, count = np.unique(fabric.arc_target[arcs[1]], return_counts=True)
        assert leaf.tolist() == fabric.rows(["leaf-1", "leaf-2"]).tolist()
        assert count / n == pytest.approx(share, abs=4 * np.sqrt(0.25 / n))
