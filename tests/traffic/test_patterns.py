"""Demand patterns: who sends to whom, at unit rates; bad input by name."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import topo
from topo import traffic
from topo.build.assembly import Assembly
from topo.errors import ParameterError
from topo.fabric import FORWARDS_NOTHING
from topo.traffic.rings import double_tree_parents, tree_parents


def small(hosts: int = 8) -> topo.Fabric:
    return topo.leaf_spine(leaves=2, spines=2, hosts_per_leaf=hosts // 2)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**31), n=st.integers(2, 16))
def test_a_permutation_has_no_flow_to_itself_and_everyone_once_on_each_side(seed: int, n: int) -> None:
    f = topo.fat_tree(4)
    demand = traffic.permutation(f, f.endpoints[:n], seed=seed)
    assert sorted(demand.source) == sorted(demand.sink) == f.endpoints[:n].tolist()
    assert (demand.source != demand.sink).all()
    assert (demand.gbps == 400).all()


def test_a_permutation_is_uniform_over_derangements() -> None:
    f = small(4)
    counts: dict[tuple[int, ...], int] = {}
    for seed in range(1800):
        key = tuple(traffic.permutation(f, seed=seed).sink.tolist())
        counts[key] = counts.get(key, 0) + 1
    assert len(counts) == 9  # derangements of four
    chi = sum((c - 200) ** 2 / 200 for c in counts.values())
    assert chi < 26.1  # 0.1 % of chi-square with 8 degrees of freedom


def test_the_same_seed_gives_the_same_permutation() -> None:
    f = topo.fat_tree(8)
    one, other = traffic.permutation(f, seed=3), traffic.permutation(f, seed=3)
    assert np.array_equal(one.sink, other.sink)
    assert not np.array_equal(one.sink, traffic.permutation(f, seed=4).sink)


def test_pairs_want_the_slower_of_their_two_line_rates() -> None:
    assembly = Assembly("unequal")
    leaf = assembly.add_nodes(["leaf"], kind="switch", tier=1)
    host = assembly.add_nodes(["a", "b", "c"], kind="host", is_endpoint=True, forwards=FORWARDS_NOTHING)
    assembly.connect(host[:2], leaf.repeat(2), 100, kind="access")
    assembly.connect(host[2:], leaf, 400, kind="access")
    f = assembly.finish()
    assert traffic.shift(f).gbps.tolist() == [100, 100, 100]
    assert traffic.all_to_all(f).blocks[0].gbps == 50
    assert traffic.ring(f).gbps.tolist() == [100, 100, 100]


def test_an_endpoint_without_a_link_still_wants() -> None:
    assembly = Assembly("loose")
    leaf = assembly.add_nodes(["leaf"], kind="switch", tier=1)
    host = assembly.add_nodes(["a", "b", "c"], kind="host", is_endpoint=True, forwards=FORWARDS_NOTHING)
    assembly.connect(host[:2], leaf.repeat(2), 100, kind="access")
    f = assembly.finish()
    assert traffic.shift(f).gbps.tolist() == [100, 100, 100]
    with pytest.raises(ParameterError, match="none of the"):
        traffic.shift(f.without(links=[0, 1]))


def test_shift_goes_around_and_refuses_itself() -> None:
    f = small()
    demand = traffic.shift(f, by=-3)
    ends = f.endpoints.tolist()
    assert demand.sink.tolist() == ends[-3:] + ends[:-3]
    for by in (0, 8, -16):
        with pytest.raises(ParameterError, match="to itself"):
            traffic.shift(f, by=by)


def test_all_to_all_sends_the_line_rate_in_all() -> None:
    f = small()
    demand = traffic.all_to_all(f)
    assert demand.n_pairs == 56
    assert np.allclose(demand.sent_gbps(f)[f.endpoints], 400)
    assert np.allclose(demand.received_gbps(f)[f.endpoints], 400)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.floats(0, 10), min_size=4, max_size=4).filter(lambda w: sum(x > 1e-3 for x in w) >= 2))
def test_weights_divide_each_senders_rate_by_popularity(weights: list[float]) -> None:
    f = small(4)
    demand = traffic.all_to_all(f, weights=weights)
    source, sink, gbps = demand.pairs()
    wanted = {(s, t): g for s, t, g in zip(source.tolist(), sink.tolist(), gbps.tolist(), strict=True)}
    ends = f.endpoints.tolist()
    for i, s in enumerate(ends):
        others = sum(w for j, w in enumerate(weights) if j != i)
        for j, t in enumerate(ends):
            if i != j:
                assert wanted[s, t] == pytest.approx(400 * weights[j] / others, rel=1e-9, abs=1e-9)


def test_whoever_holds_all_the_weight_has_nobody_to_send_to() -> None:
    f = small(4)
    demand = traffic.all_to_all(f, weights=[0, 0, 0.3, 0])
    assert demand.sent_gbps(f)[f.endpoints].tolist() == pytest.approx([400, 400, 0, 400])
    for bad, message in (
        ([0, 0, 0, 0], "no weight is above 0"),
        ([1, 1, -1, 1], r"sink_weight\[2\] is -1"),
        ([1, float("nan"), 1, 1], r"sink_weight\[1\] is nan"),
        ([1, 1], "2 values for 4"),
    ):
        with pytest.raises(ParameterError, match=message):
            traffic.all_to_all(f, weights=bad)


def test_incast_comes_from_all_others_and_never_from_the_sink() -> None:
    f = small()
    demand = traffic.incast(f, "host-3")
    assert set(demand.source.tolist()) == set(f.endpoints.tolist()) - {int(demand.sink[0])}
    with pytest.raises(ParameterError, match="a flow to itself"):
        traffic.incast(f, "host-3", "host-*")
    with pytest.raises(ParameterError, match="selects 8 endpoints"):
        traffic.incast(f, "host-*")


@pytest.mark.parametrize("n", [2, 7, 16])
def test_a_pairing_joins_two_halves(n: int) -> None:
    f = topo.fat_tree(4)
    uni = traffic.random_pairing(f, f.endpoints[:n], seed=5)
    both = traffic.random_pairing(f, f.endpoints[:n], seed=5, pattern="bi")
    assert len(uni.source) == n // 2
    assert len(set(uni.source.tolist()) | set(uni.sink.tolist())) == 2 * (n // 2)
    pairs = set(zip(both.source.tolist(), both.sink.tolist(), strict=True))
    assert pairs == {(t, s) for s, t in pairs}
    with pytest.raises(ParameterError, match="unknown pattern 'all'"):
        traffic.random_pairing(f, pattern="all")


def test_too_few_or_repeated_endpoints_are_refused() -> None:
    f = small()
    for make in (traffic.permutation, traffic.shift, traffic.all_to_all, traffic.random_pairing, traffic.ring):
        with pytest.raises(ParameterError, match="at least two"):
            make(f, "host-1")
        with pytest.raises(ParameterError, match="'host-1' is listed twice"):
            make(f, f.rows("host-1").repeat(2))


def test_a_ring_follows_the_rank_order() -> None:
    f = small()
    ranks = f.endpoints[[3, 0, 6]]
    demand = traffic.ring(f, ranks)
    assert demand.sink.tolist() == ranks[[1, 2, 0]].tolist()
    both = traffic.ring(f, ranks, both_ways=True)
    assert np.allclose(both.sent_gbps(f)[ranks], 400)
    assert len(both.gbps) == 6


def test_published_double_trees() -> None:
    """NCCL's trees for 8 and 12 ranks."""
    first, second = double_tree_parents(8)
    assert first.tolist() == [-1, 2, 4, 2, 0, 6, 4, 6]
    assert second.tolist() == [1, 3, 1, 7, 5, 3, 5, -1]
    first, second = double_tree_parents(12)
    assert first.tolist() == [-1, 2, 4, 2, 8, 6, 4, 6, 0, 10, 8, 10]
    assert second.tolist() == [1, 3, 1, 11, 5, 7, 5, 3, 9, 7, 9, -1]


@pytest.mark.parametrize("n", range(2, 70))
def test_no_rank_is_inside_both_trees(n: int) -> None:
    trees = double_tree_parents(n)
    for parents in trees:
        root = int(np.flatnonzero(parents < 0)[0])
        assert np.count_nonzero(parents < 0) == 1
        for rank in range(n):
            steps = 0
            while rank != root:
                rank, steps = int(parents[rank]), steps + 1
                assert steps <= n.bit_length()
    inside = [set(parents[parents >= 0].tolist()) for parents in trees]
    assert inside[0] & inside[1] <= (set() if n % 2 == 0 else {0})


def test_thirteen_ranks_share_exactly_the_root() -> None:
    first, second = double_tree_parents(13)
    assert set(first[first >= 0].tolist()) & set(second[second >= 0].tolist()) == {0}


@pytest.mark.parametrize("n", [2, 3, 4, 9, 16])
def test_trees_fill_the_busiest_rank(n: int) -> None:
    f = topo.fat_tree(4)
    for make in (traffic.tree, traffic.double_tree):
        demand = make(f, f.endpoints[:n])
        assert demand.sent_gbps(f).max() == pytest.approx(400)
        assert demand.received_gbps(f).max() == pytest.approx(400)
    assert len(traffic.tree(f, f.endpoints[:n]).gbps) == 2 * (n - 1)
    with pytest.raises(ParameterError, match="at least one"):
        tree_parents(0)
