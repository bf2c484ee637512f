"""Sinks that symmetry exchanges: one sweep for an orbit gives the loads that a sweep for each sink gives."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import topo
from topo.fabric import Fabric, State
from topo.routing import orbits
from topo.routing.blocks import block_pass
from topo.routing.loads import link_loads
from topo.routing.passes import Totals
from topo.routing.reuse import core_in
from topo.routing.scheme import Routing
from topo.traffic import Demand, all_to_all
from topo.traffic.demand import Block

BUILDS: dict[str, Callable[[], Fabric]] = {
    "torus": lambda: topo.torus([4, 3, 5]),
    "dragonfly": lambda: topo.load("dragonfly-72"),
    "dragonfly-plus": lambda: topo.dragonfly_plus(2, 3, 2, 2),
    "slim-fly": lambda: topo.slim_fly(5),
    "bcube": lambda: topo.bcube(4, 1),
    "dcell": lambda: topo.dcell(4, 1),
    "hyperx": lambda: topo.load("tsubame2-hyperx"),
    "fat-tree": lambda: topo.fat_tree(6),
    "rails": lambda: rails_apart(segments=3),
    "opened": lambda: topo.load("nvidia-gb200-nvl72"),
    "boards": lambda: topo.load("aws-trn2-ultraserver"),
}


def rails_apart(segments: int) -> Fabric:
    """Two rails in two planes that nothing joins."""
    return topo.dual_tor(
        segments=segments, hosts_per_segment=4, rails=2, tors=2, planes=2, radix=16, uplinks=4, tiers=2,
        spines_per_group=4, join_rails=False,
    )  # fmt: skip


ROUTINGS = [Routing(), Routing("wcmp"), Routing("wcmp", weights="local"), Routing(lag=True)]


def _both(monkeypatch: pytest.MonkeyPatch, ask: Callable[[], topo.LinkLoads]) -> tuple[topo.LinkLoads, topo.LinkLoads]:
    """Loads by orbits, and of each sink alone."""
    found = []
    for cells in (0, 1 << 62):
        with monkeypatch.context() as patch:
            patch.setattr(orbits, "_CELLS", cells)
            found.append(ask())
    return found[0], found[1]


def _expect_equal(one: topo.LinkLoads, other: topo.LinkLoads) -> None:
    np.testing.assert_allclose(one.arc_gbps, other.arc_gbps, rtol=1e-11, atol=1e-10)
    assert (one.lost_pairs, one.lost_gbps) == (other.lost_pairs, pytest.approx(other.lost_gbps))
    np.testing.assert_array_equal(one.lost_source, other.lost_source)
    assert one.valley_share == pytest.approx(other.valley_share, abs=1e-12)


@pytest.mark.parametrize("routing", ROUTINGS, ids=str)
@pytest.mark.parametrize("name", list(BUILDS))
def test_whole_fabrics(name: str, routing: Routing, monkeypatch: pytest.MonkeyPatch) -> None:
    fabric = BUILDS[name]()
    _expect_equal(*_both(monkeypatch, lambda: link_loads(fabric, all_to_all(fabric), routing=routing)))


@pytest.mark.parametrize("routing", ROUTINGS, ids=str)
@pytest.mark.parametrize("name", list(BUILDS))
def test_broken_fabrics_and_uneven_weights(name: str, routing: Routing, monkeypatch: pytest.MonkeyPatch) -> None:
    fabric, rng = BUILDS[name](), np.random.default_rng(len(name))
    rows = fabric.endpoints
    for nodes, n_links in ((0, 1), (1, 0), (2, len(fabric.links) // 5)):
        gone = rng.choice(len(fabric.nodes), nodes), rng.choice(len(fabric.links), n_links, replace=False)
        state = State.without(fabric, nodes=gone[0], links=gone[1])
        weight = (np.arange(len(rows)) < len(rows) // 2) + 1.0
        block = Block.of(rows, rows[1:], 0.5, source_weight=weight, sink_weight=weight[:0:-1])
        uneven = Demand.of(fabric, "uneven", blocks=(block,))
        _expect_equal(*_both(monkeypatch, lambda d=uneven, s=state: link_loads(fabric, d, routing=routing, state=s)))


@pytest.mark.parametrize(("name", "most"), [("slim-fly", 4), ("torus", 1), ("hyperx", 1), ("dragonfly", 9)])
def test_few_sinks_are_swept(name: str, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    fabric, seen = BUILDS[name](), []

    def spy(*asked: object) -> orbits.Orbits | None:
        seen.append(orbits.orbits_of(*asked))
        return seen[-1]

    monkeypatch.setattr(orbits, "_CELLS", 0)
    monkeypatch.setattr("topo.routing.blocks.orbits_of", spy)
    link_loads(fabric, all_to_all(fabric))
    assert seen[0] is not None
    assert len(seen[0].sinks) <= most


def test_pairs_apart_are_told_in_groups_of_all_their_ends() -> None:
    """Two rails apart: all pairs across are lost, in two groups however many segments there are."""
    fabric = rails_apart(segments=12)
    demand = all_to_all(fabric)
    core = core_in(fabric, state=None, routing=Routing())
    work = block_pass(core, Routing(), demand.blocks[0])
    totals = Totals.of(core)
    totals.take(work)
    groups = [(len(here), len(there)) for here, there in work._lost_groups() if len(here) and len(there)]
    assert groups == [(48, 48), (48, 48)]
    assert totals.lost.pairs == link_loads(fabric, demand).lost_pairs == 2 * 48 * 48
