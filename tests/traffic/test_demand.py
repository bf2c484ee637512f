"""A demand adds up, refuses what cannot be a flow, and lists its pairs."""

import numpy as np
import pytest

import topo
from topo.errors import ParameterError
from topo.traffic import Block, Demand


@pytest.fixture(scope="module")
def fabric():
    return topo.leaf_spine(leaves=3, spines=2, hosts_per_leaf=3, link_gbps=100)


def test_block_pairs_totals_and_expansion_agree(fabric):
    rng = np.random.default_rng(1)
    ends = fabric.endpoints
    block = Block.of(ends[:6], ends[3:], 2.0, source_weight=rng.random(6), sink_weight=rng.random(6))
    demand = Demand.of(fabric, "mixed", blocks=(block,), source=ends[[0, 0]], sink=ends[[4, 4]], gbps=[5, 7])
    source, sink, gbps = demand.pairs()
    assert len(source) == demand.n_pairs == 6 * 6 - 3 + 2
    assert not (source == sink).any()
    assert gbps.sum() == pytest.approx(demand.total_gbps, rel=1e-14)
    n = len(fabric.nodes)
    assert demand.sent_gbps(fabric) == pytest.approx(np.bincount(source, weights=gbps, minlength=n))
    assert demand.received_gbps(fabric) == pytest.approx(np.bincount(sink, weights=gbps, minlength=n))


def test_scaled_and_sum(fabric):
    ends = fabric.endpoints
    one = Demand.of(fabric, "one", source=ends[:1], sink=ends[1:2], gbps=10)
    block = Demand.of(fabric, "block", blocks=(Block.of(ends, ends, 1.0),))
    both = one.scaled(3) + block.scaled(0.5)
    assert both.total_gbps == pytest.approx(30 + 0.5 * 72)
    assert both.n_pairs == 73
    assert repr(both).startswith("<Demand 'one + block': 73 pairs, 66 Gb/s")


@pytest.mark.parametrize(
    ("source", "sink", "gbps", "words"),
    [
        ([0], [0], 1.0, "'host-1' to itself"),
        ([0], [1], -1.0, r"gbps\[0\] is -1"),
        ([0], [1], float("nan"), r"gbps\[0\] is nan"),
        ([0], [1], float("inf"), "inf"),
        ([0, 1], [2], 1.0, "2 sources and 1 sinks"),
        ([0, 1], [2, 3], [1.0, 2.0, 3.0], "3 values for 2"),
        ([9], [1], 1.0, "'leaf-1' is no endpoint"),
        ([99], [1], 1.0, "99"),
    ],
)
def test_what_is_no_flow_is_refused_by_name(fabric, source, sink, gbps, words):
    with pytest.raises(ParameterError, match=words):
        Demand.of(fabric, "bad", source=source, sink=sink, gbps=gbps)


def test_block_refuses_doubles_and_bad_weights(fabric):
    with pytest.raises(ParameterError, match="row 1 twice"):
        Block.of([1, 1], [2], 1.0)
    with pytest.raises(ParameterError, match="sinks of a block are empty"):
        Block.of([1], [], 1.0)
    with pytest.raises(ParameterError, match="sink_weight"):
        Block.of([1], [2], 1.0, sink_weight=[-1.0])
    with pytest.raises(ParameterError, match="3 values for 1"):
        Block.of([1], [2], 1.0, source_weight=[1.0, 2.0, 3.0])


def test_too_many_pairs_to_list_is_refused():
    ends = np.arange(10_000)
    with pytest.raises(ParameterError, match="99,990,000 pairs"):
        Demand("all", blocks=(Block.of(ends, ends, 1.0),)).pairs()
