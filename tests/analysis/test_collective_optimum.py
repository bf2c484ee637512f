"""The best all-gather on a graph: printed optima, brute force over all cuts, certificates."""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

import topo
from topo.analysis.collectives.on_fabric import collective_time
from topo.analysis.collectives.optimum import gather_rate, optimal_all_gather
from topo.build.cluster import ClusterHosts
from topo.build.rail import RailPlan
from topo.errors import DisconnectedError, ParameterError


def hosts_of_eight(hosts: int, port: float, nic: float) -> tuple[int, list[int], list[int], list[float], np.ndarray]:
    n = 8 * hosts
    tail, head, rate = [], [], []
    for gpu in range(n):
        for switch, gbyte_s in ((n + gpu // 8, port), (n + hosts, nic)):
            tail += [gpu, switch]
            head += [switch, gpu]
            rate += [gbyte_s, gbyte_s]
    return n + hosts + 1, tail, head, rate, np.arange(n)


@pytest.mark.parametrize(
    ("hosts", "nic", "algbw", "inside", "capacity"),
    [(2, 25, Fraction(1040, 3), 15, 325), (2, 12.5, Fraction(200), 8, 100), (3, 25, Fraction(300), 16, 200),
     (4, 25, Fraction(800, 3), 24, 200), (8, 25, Fraction(1600, 7), 56, 200)],
)  # fmt: skip
def test_hosts_of_eight_with_their_cut(hosts: int, nic: float, algbw: Fraction, inside: int, capacity: int) -> None:
    found = gather_rate(*hosts_of_eight(hosts, 300, nic))
    assert found.x * 8 * hosts == algbw
    assert (found.ranks_inside, found.capacity) == (inside, capacity)
    assert float(found.x * 16) == pytest.approx(346.667, abs=1e-3) or hosts != 2 or nic != 25


def test_brute_force_over_every_cut() -> None:
    random = np.random.default_rng(5)
    for _ in range(25):
        n, n_ranks = 7, int(random.integers(2, 6))
        tail, head = np.nonzero((random.random((n, n)) < 0.6) & ~np.eye(n, dtype=bool))
        rate = random.integers(1, 9, len(tail)).astype(float)
        ranks = range(n_ranks)
        least = None
        for size in range(1, n):
            for members in combinations(range(n), size):
                inside = sum(v < n_ranks for v in members)
                if not 0 < inside < n_ranks:
                    continue
                side = np.isin(np.arange(n), members)
                ratio = Fraction(int(rate[side[tail] & ~side[head]].sum()), inside)
                least = ratio if least is None else min(least, ratio)
        if least == 0:
            with pytest.raises(DisconnectedError):
                gather_rate(n, tail, head, rate, ranks)
            continue
        found = gather_rate(n, tail, head, rate, ranks)
        assert found.x == least
        # The certificate, checked apart.
        leaving = rate[found.side[tail] & ~found.side[head]].sum()
        assert Fraction(leaving) / int(found.side[:n_ranks].sum()) == found.x


@pytest.mark.parametrize("spines", [8, 4, 2])
def test_oversubscription_does_not_bind_an_all_gather(spines: int) -> None:
    f = topo.leaf_spine(leaves=4, spines=spines, hosts_per_leaf=8, link_gbps=8, host_gbps=8)
    assert optimal_all_gather(f).algbw_gbyte_s == pytest.approx(32 / 31, rel=1e-12)


def test_a_superpod_is_bound_by_one_host() -> None:
    f = topo.cluster(ClusterHosts("dgx-h100", 128), RailPlan(hosts_per_unit=32))
    found = optimal_all_gather(f)
    assert found.algbw_gbyte_s == pytest.approx(400 * 1024 / 1016, rel=1e-12)
    assert found.standing.kind == "exact"
    assert len(found.outside) == 8 and found.n_flows < 16
    assert found.all_reduce_bound_s <= found.all_reduce_reached_s


def test_sixteen_thousand_accelerators_by_the_cut_around_a_host() -> None:
    f = topo.cluster(ClusterHosts("dgx-h100", 2048), RailPlan(hosts_per_unit=32, tiers=3))
    found = optimal_all_gather(f)
    assert found.algbw_gbyte_s == pytest.approx(400.195, abs=1e-3)
    # Trees along the hosts on every rail and inside hosts reach the cut around a host: both bounds, and no flow.
    assert found.standing.kind == "exact" and found.ranks_inside == 16376 and found.n_flows == 0
    assert found.algbw_reached_gbyte_s == pytest.approx(found.algbw_gbyte_s, rel=1e-9)


def test_groups_tried_first_change_nothing_but_the_work() -> None:
    n, tail, head, rate, ranks = hosts_of_eight(3, 300, 25)
    host = np.append(np.append(np.arange(24) // 8, np.arange(3)), -1)
    plain, grouped = gather_rate(n, tail, head, rate, ranks), gather_rate(n, tail, head, rate, ranks, groups=[host])
    assert grouped.x == plain.x and grouped.n_flows < plain.n_flows


def test_no_placed_algorithm_beats_the_optimum() -> None:
    f = topo.cluster(ClusterHosts("dgx-h100", 4), RailPlan(hosts_per_unit=4))
    best = optimal_all_gather(f, bytes=1e9)
    ring = collective_time(f, None, "all_gather", bytes=1e9, alpha_us=0)
    assert ring.time_s >= best.time_s
    reduced = collective_time(f, bytes=1e9, alpha_us=0)
    assert reduced.time_s >= best.all_reduce_bound_s
    # A part of the job: other hosts do not help.
    alone = optimal_all_gather(f, f.endpoints[:16])
    without = topo.cluster(ClusterHosts("dgx-h100", 2), RailPlan(hosts_per_unit=4))
    assert alone.algbw_gbyte_s == pytest.approx(optimal_all_gather(without).algbw_gbyte_s)


def test_refusals() -> None:
    with pytest.raises(ParameterError, match="at least two"):
        gather_rate(2, [0], [1], [1.0], [0])
    with pytest.raises(ParameterError, match="finite"):
        gather_rate(2, [0, 1], [1, 0], [1.0, np.inf], [0, 1])


@pytest.mark.parametrize("cut", [(), (0,), (3, 40)])
def test_one_host_of_those_that_can_be_exchanged_may_stand_for_all(cut: tuple[int, ...]) -> None:
    from topo.fabric import State
    from topo.network import Network

    # Hosts in units, some links gone: the reduced graph against a flow to every rank of the whole one.
    f = topo.cluster(ClusterHosts("dgx-h100", 6), RailPlan(hosts_per_unit=2))
    out = np.flatnonzero(f.links.kind.is_any("access"))
    state = State.without(f, links=out[list(cut)]) if cut else None
    network = Network.of(f, state=state)
    tail, head = np.concatenate([network.a, network.b]), np.concatenate([network.b, network.a])
    rate = np.tile(network.capacity_gbps / 8, 2)
    whole = gather_rate(len(f.nodes), tail, head, rate, f.endpoints)
    found = optimal_all_gather(f, state=state)
    assert found.standing.kind == "exact"
    assert found.algbw_gbyte_s == pytest.approx(48 * float(whole.x), rel=1e-12)
    # The cut that is told is one of the whole graph, of the capacity that is told.
    leaving = rate[found.side[tail] & ~found.side[head]].sum()
    assert leaving == pytest.approx(found.cut_gbyte_s) and int(found.side[f.endpoints].sum()) == found.ranks_inside
    assert found.algbw_reached_gbyte_s <= found.algbw_gbyte_s * (1 + 1e-9)
