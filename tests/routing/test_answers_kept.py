"""Loads asked for again within a report are not worked out again; anywhere else they are."""

from __future__ import annotations

import numpy as np

import topo
from topo.fabric import State
from topo.routing.loads import link_loads
from topo.routing.reuse import remembered
from topo.traffic import all_to_all, permutation


def test_the_same_question_has_the_same_answer_object_only_where_remembered() -> None:
    fabric = topo.fat_tree(4)
    demand = all_to_all(fabric)
    first, second = link_loads(fabric, demand), link_loads(fabric, demand)
    assert first.arc_gbps is not second.arc_gbps
    with remembered():
        kept, again = link_loads(fabric, demand), link_loads(fabric, all_to_all(fabric))
        assert kept.arc_gbps is again.arc_gbps
        with remembered():
            assert link_loads(fabric, demand).arc_gbps is kept.arc_gbps
    assert link_loads(fabric, demand).arc_gbps is not kept.arc_gbps
    np.testing.assert_array_equal(first.arc_gbps, kept.arc_gbps)


def test_other_demands_routings_rates_states_and_fabrics_are_other_questions() -> None:
    fabric, other = topo.fat_tree(4), topo.fat_tree(4, link_gbps=100)
    demand = all_to_all(fabric)
    slower = State(capacity_gbps=fabric.links.capacity_gbps * np.where(np.arange(len(fabric.links)) % 3, 1.0, 0.5))
    gone = State.without(fabric, links=[20])
    asked = [
        lambda: link_loads(fabric, demand),
        lambda: link_loads(fabric, demand.scaled(2.0)),
        lambda: link_loads(fabric, permutation(fabric, seed=1)),
        lambda: link_loads(fabric, permutation(fabric, seed=2)),
        lambda: link_loads(fabric, demand, routing="wcmp", state=slower),
        lambda: link_loads(fabric, demand, routing="wcmp"),
        lambda: link_loads(fabric, demand, state=slower),
        lambda: link_loads(fabric, demand, state=gone),
        lambda: link_loads(other, all_to_all(other)),
    ]
    alone = [ask() for ask in asked]
    with remembered():
        kept = [ask() for ask in asked for _ in range(2)][::2]
    for one, two in zip(alone, kept, strict=True):
        np.testing.assert_array_equal(one.arc_gbps, two.arc_gbps)
        assert one.theta == two.theta
    assert len({id(one.arc_gbps) for one in kept}) == len(asked)
