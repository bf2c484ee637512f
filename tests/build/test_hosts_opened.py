"""Hosts opened: parts, kinds, rails, cages, and who forwards for whom."""

from __future__ import annotations

import numpy as np
import pytest

import topo
from topo.build.opened import server
from topo.fabric import FORWARDS_NOTHING, FORWARDS_OWN_HOST, Fabric, State
from topo.parts import SERVERS, host_template

NAMES = [template.name for template in SERVERS]


def kinds(fabric: Fabric) -> dict[str, int]:
    """Nodes by kind."""
    values, counts = np.unique(fabric.nodes.kind.values(), return_counts=True)
    return dict(zip(values.tolist(), counts.tolist(), strict=True))


@pytest.mark.parametrize("name", NAMES)
def test_an_opened_host_is_its_template(name: str) -> None:
    template, fabric = host_template(name), server(name, hosts=3)
    assert len(fabric.nodes) == 3 * sum(block.count for block in template.parts)
    assert len(fabric.links) == 3 * sum(wires.n_links for wires in template.wires)
    assert len(fabric.endpoints) == 3 * template.n_accelerators
    assert (fabric.nodes.kind.values(fabric.endpoints) == "accelerator").all()
    inner = ~fabric.nodes.is_endpoint
    assert (fabric.nodes.tier[inner] == -1).all() and (fabric.nodes.tier[~inner] == 0).all()
    assert (fabric.nodes.forwards <= FORWARDS_OWN_HOST).all()
    assert (fabric.nodes.host.codes >= 0).all()
    assert set(fabric.links.kind.values()) <= {"scale_up", "host_io"}
    assert (fabric.nodes.host.codes[fabric.link_a] == fabric.nodes.host.codes[fabric.link_b]).all()
    domains = fabric.nodes.domain.values(fabric.endpoints)
    assert len(set(domains.tolist())) == (3 if template.has_scale_up else 1)
    assert ("" in domains) == (not template.has_scale_up)


@pytest.mark.parametrize("name", NAMES)
def test_a_closed_host_is_its_adapters(name: str) -> None:
    template, fabric = host_template(name), server(name, hosts=2, inside=False)
    compute = template.compute
    block = template.block(compute.block)
    assert kinds(fabric) == {block.kind: 2 * block.count}
    assert len(fabric.links) == 0
    assert fabric.nodes.is_endpoint.all()
    assert (fabric.nodes.forwards == FORWARDS_NOTHING).all()
    rails = [int(rail.split("-")[1]) - 1 for rail in fabric.nodes.rail.values().tolist()]
    assert rails == 2 * list(compute.rails if block.kind == "nic" else dict(zip(*_served(name), strict=True)).values())


def _served(name: str) -> tuple[list[int], list[int]]:
    """Accelerators in order, and the rail of the adapter that serves each."""
    compute = host_template(name).compute
    order = sorted(zip(compute.accelerators, compute.rails, strict=True))
    return [gpu for gpu, _ in order], [rail for _, rail in order]


def test_dgx_h100_inside() -> None:
    fabric = server("dgx-h100")
    assert kinds(fabric) == {"accelerator": 8, "cpu": 2, "nic": 10, "pcie_switch": 8, "scale_up_switch": 4}
    chips = fabric.select("*nvswitch*")
    degree = np.bincount(np.concatenate([fabric.link_a, fabric.link_b]), minlength=len(fabric.nodes))
    assert degree[chips].tolist() == [40, 32, 32, 40]
    assert np.bincount(fabric.ports.node)[chips].tolist() == [64] * 4
    # The adapter of cage 1 port 1 serves GPU 7 and is on its rail, whatever its own number.
    first = fabric.select("*-nic-1", kind="nic")[:1]
    assert fabric.nodes.rail[int(first[0])] == "rail-8"
    assert fabric.nodes.local_index[first[0]] == 0


@pytest.mark.parametrize(("chip", "kept"), [(1, 104 / 144), (2, 112 / 144), (3, 112 / 144), (4, 104 / 144)])
def test_an_h100_host_without_one_nvswitch_keeps_72_to_78_percent_of_its_wires(chip: int, kept: float) -> None:
    fabric = server("dgx-h100")
    state = State.without(fabric, nodes=f"host-1-nvswitch-{chip}")
    scale_up = fabric.links.kind.is_any("scale_up")
    left = (state.link_mask(fabric) & scale_up).sum() / scale_up.sum()
    assert left == pytest.approx(kept) and 0.72 < left < 0.78
    whole = topo.min_cut(fabric, "host-1-gpu-1", "host-1-gpu-8", kinds=["scale_up"])
    rest = topo.min_cut(fabric, "host-1-gpu-1", "host-1-gpu-8", kinds=["scale_up"], state=state)
    assert (whole.capacity_gbps, rest.capacity_gbps / whole.capacity_gbps) == (3600, pytest.approx(left))


# Bisection between single accelerators as NVIDIA prints it, both directions summed (Hot Chips 34), and by arithmetic.
BOTH_GBYTE_S = [("dgx-a100", 2400), ("dgx-h100", 3600), ("dgx-b200", 7200), ("dgx-b300", 7200),
                ("mi300x-8", 2048), ("gaudi2", 1200), ("gaudi3", 2400)]  # fmt: skip


@pytest.mark.parametrize(("name", "both_gbyte_s"), BOTH_GBYTE_S)
def test_published_bisection_in_its_published_direction_convention(name: str, both_gbyte_s: float) -> None:
    answer = topo.bisection_bandwidth(server(name), keep="none", kinds=["scale_up"])
    assert answer.exact
    assert answer.upper_gbps * 2 / 8 == both_gbyte_s


def test_pcie_alone_goes_over_the_cpus() -> None:
    fabric = server("hgx-pcie-8")
    near = topo.min_cut(fabric, "host-1-gpu-1", "host-1-gpu-2")
    assert near.capacity_gbps == 504
    far = topo.min_cut(fabric, "host-1-gpu-[1-4]", "host-1-gpu-[5-8]")
    assert far.capacity_gbps == 2 * 504, "two PCIe switches of one socket, over the links between the sockets"
    assert not fabric.links.kind.is_any("scale_up").any()


def test_cpus_relay_nothing_where_scale_up_links_join_the_accelerators() -> None:
    fabric = server("dgx-h100")
    with pytest.raises(topo.DisconnectedError):
        topo.min_cut(fabric, "host-1-gpu-1", "host-1-gpu-5", kinds=["host_io"])
    # An adapter's own PCIe switch is the only way that is no scale-up link.
    assert topo.min_cut(fabric, "host-1-gpu-8", "host-1-nic-1", kinds=["host_io"]).capacity_gbps == 504


def test_adapters_split_only_as_they_can() -> None:
    with pytest.raises(topo.ParameterError, match=r"ports_per_adapter is 3, but an adapter of 800 .* works is 2"):
        server("dgx-b300", ports_per_adapter=3)
    with pytest.raises(topo.ParameterError, match=r"ports_per_adapter is 2, but an adapter of 400 .* works is 1"):
        server("dgx-h100", ports_per_adapter=2)


def test_hosts_stay_apart_and_building_is_deterministic() -> None:
    fabric = server("dgx-h100", hosts=2)
    assert fabric.digest == server("dgx-h100", hosts=2).digest
    with pytest.raises(topo.DisconnectedError):
        topo.min_cut(fabric, "host-1-gpu-1", "host-2-gpu-1")
    found = topo.inventory(fabric)
    assert found.component_sizes == (8, 8) and found.n_unattached_endpoints == 0
    assert [(g.part, g.n_switches, g.n_used_ports) for g in found.scale_up_groups] == [("NVSwitch3", 8, 288)]
    assert found.paths.pairs_by_hops == {2: 2 * 28} and found.paths.n_disconnected_pairs == 64
