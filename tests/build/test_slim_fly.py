"""Slim Fly: every order against the Moore-like properties of its graph, the known instances, and which orders exist."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from family_oracle import adjacency, distances, mean_of_pairs, n_switch_links, ports_used

import topo
from topo.build.slim_fly import _Field, slim_fly, slim_fly_orders

ORDERS = [3, 4, 5, 7, 8, 9, 11, 13, 16, 17, 19, 23, 25, 27, 29, 31, 32, 37]


@pytest.mark.parametrize("q", ORDERS)
def test_every_order_has_diameter_two_and_the_degree_of_the_formula(q: int) -> None:
    fabric = slim_fly(q)
    d = {0: 0, 1: 1, 3: -1}[q % 4]
    degree = (3 * q - d) // 2
    joined = adjacency(fabric, fabric.switches).astype(np.float32)  # products of floats are a hundred times faster
    assert len(fabric.switches) == 2 * q * q
    assert set(joined.sum(axis=1)) == {degree} and joined.max() == 1
    assert n_switch_links(fabric) == q * q * degree
    paths = joined @ joined + joined + np.eye(2 * q * q, dtype=np.float32)
    assert paths.min() >= 1, "two hops reach every switch"
    assert len(fabric.endpoints) == 2 * q * q * -(-degree // 2)


@pytest.mark.parametrize(
    ("q", "switches", "degree", "mean", "links", "endpoints"),
    [
        (5, 50, 7, 1.8571, 175, 200),
        (7, 98, 11, 1.8866, 539, 588),
        (11, 242, 17, None, 2057, 2178),
        (13, 338, 19, None, 3211, 3380),
        (17, 578, 25, None, 7225, 7514),
        (19, 722, 29, None, 10469, 10830),
        (27, 1458, 41, None, 29889, 30618),
        (29, 1682, 43, None, 36163, 37004),
    ],
)
def test_published_instances(
    q: int, switches: int, degree: int, mean: float | None, links: int, endpoints: int
) -> None:
    fabric = slim_fly(q)
    assert (len(fabric.switches), n_switch_links(fabric), len(fabric.endpoints)) == (switches, links, endpoints)
    assert set(ports_used(fabric, fabric.switches)) == {degree + endpoints // switches}
    if mean:
        assert mean_of_pairs(distances(fabric, fabric.switches)) == pytest.approx(mean, abs=5e-5)


def test_order_five_is_the_hoffman_singleton_graph() -> None:
    ours = nx.from_numpy_array(adjacency(slim_fly(5), slim_fly(5).switches))
    assert nx.could_be_isomorphic(ours, nx.hoffman_singleton_graph())
    assert nx.girth(ours) == 5, "degree 7, girth 5 and 50 nodes: there is one such graph"


@pytest.mark.parametrize("q", [4, 7, 8, 9, 16, 25, 27, 32])
def test_fields_are_fields(q: int) -> None:
    field = _Field.of(q)
    everything = np.arange(q)
    assert (np.sort(field.plus, axis=1) == everything).all() and (field.plus == field.plus.T).all()
    assert (np.sort(field.times[1:, 1:], axis=1) == everything[1:]).all() and (field.times == field.times.T).all()
    assert (field.times[1] == everything).all() and (field.plus[0] == everything).all()
    assert (field.minus[field.plus[:, 3 % q], 3 % q] == everything).all()
    rng = np.random.default_rng(q)
    a, b, c = rng.integers(q, size=(3, 200))
    assert (field.times[a, field.plus[b, c]] == field.plus[field.times[a, b], field.times[a, c]]).all()
    assert (field.times[field.times[a, b], c] == field.times[a, field.times[b, c]]).all()


def test_orders_are_the_prime_powers_above_two() -> None:
    found = slim_fly_orders(128)
    brute = [
        q
        for q in range(3, 129)
        if len({p for p in range(2, q + 1) if q % p == 0 and all(p % r for r in range(2, p))}) == 1
    ]
    assert found == brute


def test_deepseeks_column_is_of_a_graph_that_is_not_there() -> None:
    """Table 3 of arXiv 2505.09343 prints 1,568 switches, 32,928 endpoints and links: the formulas with q = 28."""
    q, p = 28, 21
    degree = 3 * q // 2
    assert (2 * q * q, 2 * q * q * p, q * q * degree) == (1568, 32928, 32928)
    with pytest.raises(topo.ParameterError, match="q is 28.*nearest that can be built: 27 or 29"):
        slim_fly(q)
    near = slim_fly(29, hosts_per_switch=21, radix=64)
    assert (len(near.switches), len(near.endpoints), n_switch_links(near)) == (1682, 35322, 36163)


@pytest.mark.parametrize(
    ("q", "said"), [(2, "nearest that can be built: 3"), (6, "5 or 7"), (10, "9 or 11"), (0, "q is 0"), (4000, "2048")]
)
def test_other_orders_are_refused(q: int, said: str) -> None:
    with pytest.raises(topo.ParameterError, match=said):
        slim_fly(q)


def test_uniform_traffic_fits_with_the_default_number_of_hosts() -> None:
    fabric = slim_fly(5, link_gbps=1)
    theta = topo.throughput(fabric, topo.traffic.all_to_all(fabric)).theta_lower
    # Links carry sum of distances: 2 * 175 arcs against 200 * 196 pairs of 1 / 199 and distance 91 / 49.
    assert theta == pytest.approx(min(1, 350 / (200 * (196 / 199) * 13 / 7)), rel=1e-9)
