"""Effective bisection against values found with another program, a closed approximation, and by hand."""

from __future__ import annotations

import itertools
import json
import pickle

import numpy as np
import pytest

import topo
from topo.analysis.throughput.effective import EffectiveBisection, effective_bisection
from topo.build.assembly import Assembly
from topo.errors import ParameterError
from topo.fabric import FORWARDS_NOTHING, State
from topo.routing.next_hops import NextHops
from topo.routing.tables import StaticTable

# 32 leaves of 16 hosts, 16 spines: uni mean rate, uni mean time, bi mean rate, bi mean time, bi max-min,
# coupled mean rate, coupled mean time, coupled max-min; found from 200 to 400 patterns, good to .003.
CONVENTIONS = (
    ("uni", "mean rate"), ("uni", "mean time"), ("bi", "mean rate"), ("bi", "mean time"), ("bi", "max-min"),
    ("coupled", "mean rate"), ("coupled", "mean time"), ("coupled", "max-min"),
)  # fmt: skip
TWO_TIERS = {
    ("destination-modulo", "in order of rows"): (0.812, 0.701, 0.667, 0.538, 0.667, 0.518, 0.432, 0.532),
    ("min-hop", "in order of rows"): (0.812, 0.701, 0.667, 0.538, 0.667, 0.518, 0.432, 0.532),
    ("min-hop", "shuffled"): (0.687, 0.578, 0.518, 0.430, 0.533, 0.406, 0.357, 0.430),
    ("random", "in order of rows"): (0.685, 0.576, 0.515, 0.427, 0.530, 0.403, 0.354, 0.426),
}
# k-ary fat-trees: uni, bi, coupled, each mean rate.
THREE_TIERS = {
    (8, "destination-modulo", "in order of rows"): (0.750, 0.589, 0.469),
    (8, "random", "in order of rows"): (0.617, 0.456, 0.378),
    (8, "min-hop", "in order of rows"): (0.436, 0.293, 0.254),
    (12, "destination-modulo", "in order of rows"): (0.723, 0.552, 0.430),
    (12, "random", "in order of rows"): (0.579, 0.422, 0.348),
    (12, "min-hop", "in order of rows"): (0.309, 0.196, 0.172),
    (16, "destination-modulo", "in order of rows"): (0.702, 0.530, 0.410),
    (16, "random", "in order of rows"): (0.556, 0.405, 0.333),
    (16, "min-hop", "in order of rows"): (0.242, 0.150, 0.132),
    (16, "min-hop", "shuffled"): (0.556, 0.405, 0.333),
}


@pytest.mark.parametrize(("kind", "addresses"), list(TWO_TIERS))
def test_512_endpoints_on_32_port_switches(kind: str, addresses: str) -> None:
    fabric = topo.leaf_spine(32, 16, 16)
    table = StaticTable.of(NextHops.of(fabric), kind, addresses=addresses)
    for (pattern, average), wanted in zip(CONVENTIONS, TWO_TIERS[kind, addresses], strict=True):
        found = effective_bisection(fabric, table=table, pattern=pattern, average=average, samples=100, seed=1)
        low, high = found.interval
        assert found.share == pytest.approx(wanted, abs=0.003 + (high - low) / 2 + 0.002), (pattern, average)


def test_published_38_percent_is_random_and_coupled_alone() -> None:
    """Geoffray and Hoefler: 38 %. By mean time .354, by mean rate .403; every other convention lies above .42."""
    fabric = topo.leaf_spine(32, 16, 16)
    share = {
        (kind, pattern, average): effective_bisection(
            fabric, table=kind, pattern=pattern, average=average, samples=60
        ).share
        for kind in ("destination-modulo", "random")
        for pattern in ("uni", "bi", "coupled")
        for average in ("mean rate", "mean time")
    }
    near = {convention for convention, value in share.items() if abs(value - 0.38) < 0.03}
    assert near == {("random", "coupled", "mean rate"), ("random", "coupled", "mean time")}
    assert share["random", "coupled", "mean time"] < 0.38 < share["random", "coupled", "mean rate"]


@pytest.mark.parametrize(("k", "kind", "addresses"), list(THREE_TIERS))
def test_fat_trees(k: int, kind: str, addresses: str) -> None:
    fabric = topo.fat_tree(k)
    samples = {8: 300, 12: 100, 16: 40}[k]
    table = StaticTable.of(NextHops.of(fabric), kind, addresses=addresses, seed=k)
    for pattern, wanted in zip(("uni", "bi", "coupled"), THREE_TIERS[k, kind, addresses], strict=True):
        found = effective_bisection(fabric, table=table, pattern=pattern, samples=samples, seed=2)
        # One drawn table differs from the next, the more the smaller the fabric.
        one_table = {8: 0.014, 12: 0.006, 16: 0.004}[k]
        assert found.share == pytest.approx(wanted, abs=one_table + (found.interval[1] - found.interval[0]) / 2)


def test_published_55_to_60_percent() -> None:
    """Full-bisection clusters of several stages, unordered tables, one direction, mean rate: .542 to .617."""
    for k in (8, 12, 16):
        found = effective_bisection(topo.fat_tree(k), table="random", samples=40)
        assert 0.54 < found.share < 0.63


@pytest.mark.parametrize(("kind", "stages", "pattern", "wanted"), [
    ("random", 2, "bi", 0.5124), ("random", 4, "coupled", 0.4012),
    ("destination-modulo", 1, "bi", 0.6617), ("destination-modulo", 2, "coupled", 0.5124),
])  # fmt: skip
def test_stages_taken_for_independent(kind: str, stages: int, pattern: str, wanted: float) -> None:
    """E[1 / (1 + most of s binomials)] with p = (496/511)/16, by its own sum here, and the sample within .012."""
    from scipy.stats import binom

    below = binom.cdf(np.arange(16), 15, 496 / 511 / 16) ** stages
    mean = float((np.diff(below, prepend=0) / np.arange(1, 17)).sum())
    value = 15 / 511 + 496 / 511 * mean
    assert value == pytest.approx(wanted, abs=5e-4)
    found = effective_bisection(topo.leaf_spine(32, 16, 16), table=kind, pattern=pattern, samples=60)
    assert found.share == pytest.approx(value, abs=0.012)


def test_one_switch_gives_everything() -> None:
    fabric = topo.leaf_spine(1, 1, 7)
    for pattern in ("uni", "bi", "coupled"):
        for average in ("mean rate", "mean time", "max-min"):
            found = effective_bisection(fabric, pattern=pattern, average=average, samples=5)
            assert found.share == 1 and found.interval == (1, 1) and found.pair_gbps == 400
            assert found.sampled_pairs == 15


def test_two_leaves_one_spine_by_hand() -> None:
    """Two hosts a leaf, one uplink: a third of the pairings stay on their leaves (rate 1), the others share (1/2)."""
    fabric = topo.leaf_spine(2, 1, 2)
    # One direction: both cross one way (1/2 each) in half of the crossing cases, else one each way (1).
    found = effective_bisection(fabric, samples=4000, seed=7)
    assert found.share == pytest.approx(1 / 3 + 2 / 3 * 0.75, abs=0.015)
    both = effective_bisection(fabric, samples=4000, pattern="bi", seed=7)
    assert both.share == pytest.approx(1 / 3 + 2 / 3 * 0.5, abs=0.015)
    times = effective_bisection(fabric, samples=4000, pattern="bi", average="mean time", seed=7)
    assert times.share == pytest.approx(1 / (1 / 3 + 2 / 3 * 2), abs=0.015)


def test_lost_pairs_count_as_nothing_and_are_named() -> None:
    fabric = topo.leaf_spine(2, 1, 2)
    state = State.without(fabric, nodes="spine-1")
    found = effective_bisection(fabric, samples=600, state=state)
    assert found.share == pytest.approx(1 / 3, abs=0.06)
    assert found.lost_pairs == round((1 - found.share) * found.sampled_pairs)
    assert found.lost_examples and "host-" in found.lost_examples[0]
    assert effective_bisection(fabric, samples=20, state=state, average="mean time").share == 0
    coupled = effective_bisection(fabric, samples=600, state=state, pattern="coupled", average="max-min")
    assert coupled.share == pytest.approx(found.share) and coupled.lost_pairs == found.lost_pairs


def test_links_at_rate_zero_carry_nothing() -> None:
    fabric = topo.leaf_spine(2, 1, 2)
    rate = np.where(fabric.links.kind.is_any("access"), 400.0, 0.0)
    found = effective_bisection(fabric, samples=600, state=State(capacity_gbps=rate))
    assert found.share == pytest.approx(1 / 3, abs=0.06) and found.lost_pairs == 0


def test_same_seed_same_answer_and_renders() -> None:
    fabric = topo.fat_tree(4)
    found = effective_bisection(fabric, table="hash", samples=30, seed=4)
    again = effective_bisection(fabric, table="hash", samples=30, seed=4)
    assert found == again and found != effective_bisection(fabric, table="hash", samples=30, seed=5)
    assert isinstance(found, EffectiveBisection) and "share of line rate" in str(found)
    assert json.loads(found.to_json())["share"] == found.share
    assert pickle.loads(pickle.dumps(found)) == found
    assert "<table>" in found._repr_html_() and len(found.to_frame()) == 5


@pytest.mark.parametrize(("arguments", "said"), [
    ({"pattern": "both"}, "unknown pattern 'both'; known: uni, bi, coupled"),
    ({"average": "mean"}, "unknown average"),
    ({"table": "ftree"}, "unknown table"),
    ({"samples": 1}, "at least 2"),
    ({"endpoints": "host-1"}, "1 endpoint"),
])  # fmt: skip
def test_refused(arguments: dict, said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        effective_bisection(topo.leaf_spine(2, 2, 2), **arguments)


def test_rails_are_worth_their_clos() -> None:
    """Expected from leaf_spine(32, 16, 32, parallel=2), the same Clos; other ends of the leaves stay as they are."""
    clos = effective_bisection(topo.leaf_spine(32, 16, 32, parallel=2), samples=40)
    rails = effective_bisection(topo.rail_optimized(128), samples=40)
    assert rails.share == pytest.approx(clos.share, abs=0.01)
    assert "destinations numbered in leaf order" in rails.assumptions[1]
    by_row = effective_bisection(topo.rail_optimized(128), samples=10, addresses="in order of rows")
    assert by_row.share == pytest.approx(0.279, abs=0.02)
    assert "in order of rows" in by_row.assumptions[1]


@pytest.mark.parametrize("pattern", ["uni", "bi", "coupled"])
def test_every_pairing_of_an_odd_clos(pattern: str) -> None:
    """Seven endpoints at two rates, uneven leaves, a parallel link: the mean over all 5,040 orders, own counts."""
    assembly = Assembly("odd")
    leaves = assembly.add_nodes(["l0", "l1", "l2"], kind="switch", tier=1)
    spines = assembly.add_nodes(["s0", "s1"], kind="switch", tier=2)
    names = [f"h{i}" for i in range(7)]
    hosts = assembly.add_nodes(names, kind="host", is_endpoint=True, forwards=FORWARDS_NOTHING)
    line = [100, 200, 100, 100, 100, 200, 100]
    for host, leaf, rate in zip(hosts, leaves[[0, 0, 0, 1, 1, 2, 2]], line, strict=True):
        assembly.connect([host], [leaf], rate, kind="access")
    for leaf, spine, rate in ((0, 0, 50), (0, 0, 50), (0, 1, 100), (1, 0, 100), (1, 1, 50), (2, 0, 50), (2, 1, 100)):
        assembly.connect(leaves[[leaf]], spines[[spine]], rate)
    f = assembly.finish()
    table, capacity = StaticTable.of(NextHops.of(f)), np.repeat(f.links.capacity_gbps, 2)
    path = {}
    for a, b in itertools.permutations(range(7), 2):
        arcs = table.paths(hosts[[a]], hosts[[b]], seed=np.random.SeedSequence(0)).ravel()
        path[a, b] = arcs[arcs >= 0].tolist()
    means = []
    for order in itertools.permutations(range(7)):
        flows = list(zip(order[:3], order[3:6], strict=True))
        flows += [] if pattern == "uni" else [(b, a) for a, b in flows]
        count = np.zeros(len(capacity))
        for flow in flows:
            count[path[flow]] += 1
        rate = []
        for a, b in flows:
            limit = min(line[a], line[b])
            rate.append(min(limit, *(capacity[arc] / count[arc] for arc in path[a, b])) / limit)
        means.append(np.mean(np.minimum(rate[:3], rate[3:]) if pattern == "coupled" else rate))
    found = effective_bisection(f, pattern=pattern, samples=20_000, seed=2)
    # Four standard errors of the mean of 20,000 pairings.
    assert found.share == pytest.approx(np.mean(means), abs=4 * float(np.std(means)) / 20_000**0.5)
