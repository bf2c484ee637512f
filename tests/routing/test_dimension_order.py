"""Dimension order: coordinates are put right one after another, by shortest paths; loads by closed form."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import topo
from topo.fabric import Fabric
from topo.routing.dimension_order import dimension_order_paths
from topo.routing.next_hops import NextHops


def everyone(fabric: Fabric) -> tuple[np.ndarray, np.ndarray]:
    """All ordered pairs of endpoints."""
    ends = fabric.endpoints
    source, sink = np.repeat(ends, len(ends)), np.tile(ends, len(ends))
    return source[source != sink], sink[source != sink]


def axes(fabric: Fabric, arcs: np.ndarray) -> list[int]:
    """Dimensions that a path's arcs move along; access links left out."""
    places = fabric.nodes.places()
    path = arcs[arcs >= 0]
    apart = places[fabric.arc_source[path]] != places[fabric.arc_target[path]]
    switch = (places[fabric.arc_source[path]] >= 0).all(axis=1) & (places[fabric.arc_target[path]] >= 0).all(axis=1)
    return np.argmax(apart, axis=1)[switch].tolist()


@settings(max_examples=12, deadline=None)
@given(dims=st.lists(st.integers(2, 4), min_size=1, max_size=3), kind=st.sampled_from(["torus", "mesh", "hyperx"]))
def test_paths_are_shortest_and_in_order(dims: list[int], kind: str) -> None:
    fabric = {"torus": topo.torus, "mesh": topo.mesh}[kind](dims) if kind != "hyperx" else topo.hyperx(dims, 1)
    source, sink = everyone(fabric)
    arcs = dimension_order_paths(fabric, source, sink)
    hops = NextHops.of(fabric)
    gap = np.abs(fabric.nodes.places()[:, None] - fabric.nodes.places()[None, :])
    for i in range(0, len(source), 7):
        path = arcs[arcs[:, i] >= 0, i]
        assert fabric.arc_source[path[0]] == source[i] and fabric.arc_target[path[-1]] == sink[i]
        assert (fabric.arc_source[path[1:]] == fabric.arc_target[path[:-1]]).all()
        moved = axes(fabric, arcs[:, i])
        assert moved == sorted(moved)
        if kind == "mesh":
            assert len(path) == gap[source[i], sink[i]].sum()
        elif kind == "torus":
            assert len(path) == np.minimum(gap[source[i], sink[i]], np.array(dims) - gap[source[i], sink[i]]).sum()
    assert hops.n_groups == len(fabric.endpoints)


@pytest.mark.parametrize("dims", [[4], [8], [4, 4], [8, 4], [3, 5], [5, 4], [4, 4, 4]])
def test_uniform_traffic_loads_every_ring_as_even_splits_do(dims: list[int]) -> None:
    """On a torus the order of dimensions does not matter to uniform traffic: each arc carries the mean."""
    fabric = topo.torus(dims, link_gbps=1)
    source, sink = everyone(fabric)
    arcs = dimension_order_paths(fabric, source, sink)
    load = np.bincount(arcs[arcs >= 0], minlength=2 * len(fabric.links))
    demand = topo.traffic.all_to_all(fabric)
    even = topo.link_loads(fabric, demand).arc_gbps / demand.blocks[0].gbps
    assert load == pytest.approx(even)


def test_transposed_traffic_suffers_from_the_order() -> None:
    """(x, y) to (y, x) turns at the diagonal: in order, row after row meets at one corner."""
    fabric = topo.mesh([8, 8], link_gbps=1)
    places = fabric.nodes.places()
    there = np.flatnonzero(places[:, 0] != places[:, 1])
    sink = places[there, 0] * 8 + places[there, 1]
    arcs = dimension_order_paths(fabric, there, sink)
    in_order = np.bincount(arcs[arcs >= 0]).max()
    demand = topo.Demand.of(fabric, "transpose", source=there, sink=sink, gbps=np.ones(len(there)))
    best = topo.throughput(fabric, demand, routing="optimal").theta_upper
    assert in_order == 7, "all of a row but its diagonal node cross the link into the corner"
    assert 1 / in_order < 0.9 * best


def test_fabrics_without_coordinates_are_told() -> None:
    fabric = topo.fat_tree(4)
    with pytest.raises(topo.ParameterError, match="has no coordinates"):
        dimension_order_paths(fabric, fabric.endpoints[:1], fabric.endpoints[1:2])
