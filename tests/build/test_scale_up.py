"""Racks and pods behind switch chips, and meshes without: counts, bisection, disjoint paths, refusals."""

from __future__ import annotations

import itertools

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import topo
from topo.build.scale_up import scale_up_domain, ualink_pod
from topo.build.scale_up_mesh import full_mesh_pod
from topo.fabric import FORWARDS_ALL, FORWARDS_OWN_HOST, Fabric, State


def chips(fabric: Fabric) -> np.ndarray:
    """Rows of the scale-up switch chips."""
    return fabric.select(kind="scale_up_switch")


def degree(fabric: Fabric) -> np.ndarray:
    """Scale-up links at each node."""
    mine = fabric.links.kind.is_any("scale_up")
    return np.bincount(np.concatenate([fabric.link_a[mine], fabric.link_b[mine]]), minlength=len(fabric.nodes))


def test_nvl72_as_published() -> None:
    fabric = scale_up_domain("gb200-nvl72")
    assert (len(fabric.endpoints), len(chips(fabric))) == (72, 18)
    assert int(fabric.links.kind.is_any("scale_up").sum()) == 1296
    assert set(degree(fabric)[chips(fabric)]) == {72} and set(degree(fabric)[fabric.endpoints]) == {18}
    assert set(np.bincount(fabric.ports.node)[chips(fabric)]) == {72}
    assert len(set(fabric.nodes.chassis.values(chips(fabric)))) == 9
    assert set(fabric.nodes.domain.values(fabric.endpoints)) == {"gb200-nvl72-1"}
    assert len(set(fabric.nodes.host.values(fabric.endpoints))) == 18
    answer = topo.bisection_bandwidth(fabric, kinds=["scale_up"])
    assert answer.exact and answer.upper_gbps / 8 == 36 * 18 * 50 == 32_400


def test_nvl72_has_18_disjoint_paths_of_two_links() -> None:
    fabric = scale_up_domain("gb200-nvl72", inside=False)
    graph = nx.Graph()
    graph.add_edges_from(zip(fabric.link_a.tolist(), fabric.link_b.tolist(), strict=True))
    first, last = int(fabric.endpoints[0]), int(fabric.endpoints[-1])
    found = list(nx.edge_disjoint_paths(graph, first, last))
    assert len(found) == 18 and {len(path) for path in found} == {3}
    cut = topo.min_cut(fabric, [first], [last], kinds=["scale_up"])
    assert (cut.capacity_gbps, len(cut.links)) == (18 * 400, 18)
    one_less = State.without(fabric, nodes=chips(fabric)[:1])
    assert topo.min_cut(fabric, [first], [last], state=one_less).capacity_gbps == 17 * 400


def test_cloudmatrix384_as_published() -> None:
    fabric = scale_up_domain("cloudmatrix384")
    first, second = fabric.select(kind="scale_up_switch", tier=-1), fabric.select(kind="scale_up_switch", tier=-2)
    assert (len(fabric.endpoints), len(first), len(second)) == (384, 336, 112)
    both = np.isin(fabric.link_a, chips(fabric)) & np.isin(fabric.link_b, chips(fabric))
    assert int(both.sum()) == 5376 and set(fabric.links.capacity_gbps[both]) == {28 * 8}
    assert set(degree(fabric)[second]) == {48}
    plane = fabric.nodes.plane.codes[second]
    assert np.bincount(plane).tolist() == [16] * 7
    # Chip i of every node meets the chips of sub-plane i alone.
    low, high = fabric.link_a[both], fabric.link_b[both]
    assert (fabric.nodes.local_index[low] == fabric.nodes.plane.codes[high]).all()
    rates = fabric.links.capacity_gbps
    down = sum(rates[~both & np.isin(fabric.link_b, first)])
    assert down == sum(rates[both]), "non-blocking: 8 x 56 GB/s down and 16 x 28 GB/s up"
    answer = topo.bisection_bandwidth(fabric)
    assert answer.exact and answer.upper_gbps == answer.full_gbps == 192 * 392 * 8


def test_dgx_h100_behind_nvlink_switches_is_tapered_two_to_one() -> None:
    fabric = scale_up_domain("dgx-h100-nvlink-256")
    answer = topo.bisection_bandwidth(fabric, kinds=["scale_up"])
    assert answer.exact
    assert answer.upper_gbps * 2 / 8 == 57_600 == 128 * 900 / 2
    assert set(degree(fabric)[fabric.select("*nvlink-switch*")]) == {128}


@pytest.mark.parametrize("accelerators", [4, 64, 256, 1024])
def test_ualink_pods(accelerators: int) -> None:
    fabric = ualink_pod(accelerators, switch_ports=accelerators)
    assert len(fabric.endpoints) == accelerators
    assert set(degree(fabric)[chips(fabric)]) == {accelerators}
    pairs = set(zip(fabric.link_a.tolist(), fabric.link_b.tolist(), strict=True))
    assert len(pairs) == len(fabric.links), "every switch port leads to a distinct accelerator"
    answer = topo.bisection_bandwidth(fabric, keep="none")
    assert answer.exact and answer.upper_gbps == accelerators // 2 * 4 * 800


@settings(max_examples=25, deadline=None)
@given(dims=st.lists(st.integers(2, 5), min_size=1, max_size=4), links=st.integers(1, 3))
def test_full_meshes_join_what_differs_in_one_coordinate(dims: list[int], links: int) -> None:
    fabric = full_mesh_pod(dims, link_gbps=1, links=links)
    n = int(np.prod(dims))
    assert len(fabric.endpoints) == n
    assert len(fabric.links) == links * n * sum(size - 1 for size in dims) // 2
    place = list(itertools.product(*(range(size) for size in reversed(dims))))
    for a, b in zip(fabric.link_a.tolist(), fabric.link_b.tolist(), strict=True):
        assert sum(x != y for x, y in zip(place[a], place[b], strict=True)) == 1
    assert topo.inventory(fabric).paths.diameter_hops == len(dims)
    assert (fabric.nodes.forwards == FORWARDS_ALL).all()


def test_ub_mesh_pod() -> None:
    fabric = full_mesh_pod([8, 8, 4, 4], link_gbps=300)
    assert len(fabric.endpoints) == 1024
    rack = fabric.nodes.rack.codes
    inside = rack[fabric.link_a] == rack[fabric.link_b]
    assert np.bincount(rack[fabric.link_a[inside]]).tolist() == [448] * 16
    assert topo.inventory(fabric).paths.diameter_hops == 4
    answer = topo.bisection_bandwidth(fabric, keep="none")
    assert answer.exact and answer.upper_gbps == 1024 * 300, "256 lines of four, four links of each cut"


def test_chips_forward_within_their_domain_alone() -> None:
    fabric = scale_up_domain("gb200-nvl72", domains=2, inside=False)
    assert (fabric.nodes.forwards[chips(fabric)] == FORWARDS_ALL).all()
    assert (fabric.nodes.forwards[fabric.endpoints] == FORWARDS_OWN_HOST).all()
    domain = fabric.nodes.domain.codes
    assert (domain[fabric.link_a] == domain[fabric.link_b]).all()
    with pytest.raises(topo.DisconnectedError, match="72, 72"):
        topo.min_cut(fabric, "gb200-nvl72-1-host-01-gpu-1", "gb200-nvl72-2-host-01-gpu-1")


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (
            lambda: scale_up_domain("gb200-nvl72", hosts=20),
            r"hosts is 20: 80 accelerators need 80 ports of every nvswitch .* has 72; at most 18 hosts \(72 acc",
        ),
        (lambda: scale_up_domain("cloudmatrix384", hosts=49), r"need 49 ports of every ub-l2 .* has 48; at most 48"),
        (lambda: scale_up_domain("nvl73"), r"template is 'nvl73', which is not a known scale-up domain"),
        (lambda: ualink_pod(2048), r"accelerators is 2048; .* there are 1024 ids in a pod: at most 1024"),
        (lambda: ualink_pod(512, switch_ports=130), r"accelerators is 512; .* there are 130 ports: at most 128"),
        (lambda: ualink_pod(66), r"accelerators is 66, no multiple of accelerators_per_host 4; use 64"),
        (lambda: full_mesh_pod([8, 1], link_gbps=1), r"dims\[2\] is 1; the nearest that can be built is 2"),
        (lambda: full_mesh_pod([], link_gbps=1), r"dims lists 0 sizes; give 1 to 16"),
        (lambda: scale_up_domain("gb200-nvl72", domains=0), r"domains is 0; it must be a whole number"),
    ],
)
def test_refusals_name_both_numbers_and_what_works(build, message: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(topo.ParameterError, match=message):
        build()
