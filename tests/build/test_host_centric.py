"""BCube and DCell, whose hosts relay: counts, who is joined to whom, distances, disjoint paths, refusals."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from family_oracle import all_distances, distances, ports_used
from hypothesis import given, settings
from hypothesis import strategies as st

import topo
from topo.build.bcube import bcube
from topo.build.dcell import dcell, dcell_sizes
from topo.fabric import FORWARDS_ALL, Fabric


@settings(max_examples=20, deadline=None)
@given(n=st.integers(2, 5), k=st.integers(0, 3))
def test_bcube(n: int, k: int) -> None:
    if n ** (k + 1) > 300:
        return
    fabric = bcube(n, k)
    total = n ** (k + 1)
    assert (len(fabric.endpoints), len(fabric.switches), len(fabric.links)) == (total, (k + 1) * n**k, (k + 1) * total)
    assert set(ports_used(fabric, fabric.switches)) == {n} and set(ports_used(fabric, fabric.endpoints)) == {k + 1}
    assert (fabric.nodes.forwards == FORWARDS_ALL).all()
    number = np.arange(total)
    differ = sum((number[:, None] // n**i % n) != (number[None, :] // n**i % n) for i in range(k + 1))
    assert (all_distances(fabric) == 2 * differ).all()


@pytest.mark.parametrize(("n", "k", "sizes"), [(8, 1, (64, 16, 128)), (8, 3, (4096, 2048, 16384))])
def test_bcube_as_published(n: int, k: int, sizes: tuple[int, int, int]) -> None:
    fabric = bcube(n, k)
    assert (len(fabric.endpoints), len(fabric.switches), len(fabric.links)) == sizes


def test_bcube_has_as_many_disjoint_paths_as_ports() -> None:
    fabric = bcube(4, 2)
    graph = nx.Graph(zip(fabric.link_a.tolist(), fabric.link_b.tolist(), strict=True))
    for other in (1, 5, 63):
        assert len(list(nx.node_disjoint_paths(graph, 0, other))) == 3
    cut = topo.min_cut(fabric, [int(fabric.endpoints[0])], [int(fabric.endpoints[-1])])
    assert cut.capacity_gbps == 3 * 400


def server_steps(fabric: Fabric) -> np.ndarray:
    """Steps from host to host, a way over a switch counted as one."""
    far = np.zeros((len(fabric.endpoints), len(fabric.endpoints)), int)
    graph = nx.Graph()
    graph.add_nodes_from(fabric.endpoints.tolist())
    by_switch: dict[int, list[int]] = {}
    for a, b, kind in zip(fabric.link_a.tolist(), fabric.link_b.tolist(), fabric.links.kind.values(), strict=True):
        if kind == "access":
            by_switch.setdefault(b, []).append(a)
        else:
            graph.add_edge(a, b)
    for cell in by_switch.values():
        graph.add_edges_from((a, b) for a in cell for b in cell if a < b)
    for source, reach in nx.all_pairs_shortest_path_length(graph):
        for target, steps in reach.items():
            far[source, target] = steps
    return far


@pytest.mark.parametrize(("n", "k"), [(2, 0), (4, 0), (2, 1), (4, 1), (5, 1), (2, 2), (3, 2)])
def test_dcell(n: int, k: int) -> None:
    fabric = dcell(n, k)
    total = dcell_sizes(n, k)[-1]
    assert (len(fabric.endpoints), len(fabric.switches)) == (total, total // n)
    assert len(fabric.links) == total + total * k // 2
    assert set(ports_used(fabric, fabric.switches)) == {n} and set(ports_used(fabric, fabric.endpoints)) == {k + 1}
    assert server_steps(fabric).max() <= 2 ** (k + 1) - 1


@pytest.mark.parametrize(("n", "sizes"), [(4, [4, 20, 420]), (6, [6, 42, 1806, 3263442])])
def test_dcell_sizes(n: int, sizes: list[int]) -> None:
    assert dcell_sizes(n, len(sizes) - 1) == sizes


@pytest.mark.parametrize(("n", "k"), [(4, 1), (3, 2), (4, 2)])
def test_every_two_cells_of_a_level_are_joined_by_one_cable(n: int, k: int) -> None:
    fabric = dcell(n, k)
    below = dcell_sizes(n, k - 1)[-1]
    cables = ~fabric.links.kind.is_any("access")
    cells = np.sort(np.stack([fabric.link_a[cables], fabric.link_b[cables]]) // below, axis=0)
    apart = cells[:, cells[0] != cells[1]].T.tolist()
    assert sorted(apart) == [[i, j] for i in range(below + 1) for j in range(i + 1, below + 1)]


def test_hosts_that_relay_carry_others_traffic() -> None:
    fabric = dcell(4, 1)
    assert topo.throughput(fabric, topo.traffic.all_to_all(fabric)).theta_lower > 0
    bracket = topo.bisection_bandwidth(fabric)
    assert 0 < bracket.lower_gbps <= bracket.upper_gbps
    square = topo.bisection_bandwidth(bcube(4, 1, link_gbps=1))
    assert square.lower_gbps <= 8 == square.upper_gbps, "half the ports of each of four switches of one level"
    assert distances(fabric, np.arange(len(fabric.nodes))).max() == 2 + 1 + 2


@pytest.mark.parametrize(
    ("build", "said"),
    [
        (lambda: bcube(1, 2), "n is 1; the nearest switch"),
        (lambda: bcube(4, -1), "k is -1; it is the highest level"),
        (lambda: bcube(64, 9), "at most"),
        (lambda: dcell(1, 1), "n is 1; the nearest switch"),
        (lambda: dcell(4, True), "k is True"),
        (lambda: dcell(8, 4), "at most"),
    ],
)
def test_what_cannot_be_built_is_refused(build, said: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(topo.ParameterError, match=said):
        build()
