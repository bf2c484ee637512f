"""Bisection of fabrics whose hosts are opened: the way out, the bottleneck inside, no foreign relay."""

from __future__ import annotations

import numpy as np
import pytest

import topo
from topo.analysis.bisection import certificate
from topo.build.assembly import Assembly, numbered
from topo.fabric import FORWARDS_NOTHING, FORWARDS_OWN_HOST, Fabric
from topo.table import Labels


def opened(hosts: int, *, gpus: int = 4, pcie_gbps: float = 500, nvlink_gbps: float = 900, spines: int = 4) -> Fabric:
    """Hosts of some accelerators, each with its PCIe switch and NIC, one scale-up switch; rail leaves and spines."""
    assembly = Assembly("opened")
    n = hosts * gpus
    host = Labels(np.repeat(np.arange(hosts), gpus), numbered("host-{}", np.arange(hosts)))
    index = np.arange(n)
    own = {"forwards": FORWARDS_OWN_HOST, "tier": -1, "host": host}
    gpu = assembly.add_nodes(
        numbered("gpu-{}", index), kind="accelerator", is_endpoint=True, forwards=FORWARDS_NOTHING, host=host
    )
    pcie = assembly.add_nodes(numbered("pcie-{}", index), kind="pcie", **own)  # type: ignore[arg-type]
    nic = assembly.add_nodes(numbered("nic-{}", index), kind="nic", **own)  # type: ignore[arg-type]
    one = Labels.distinct(numbered("host-{}", np.arange(hosts)))
    nvswitch = assembly.add_nodes(
        numbered("nvswitch-{}", np.arange(hosts)), kind="switch", tier=-1, forwards=FORWARDS_OWN_HOST, host=one
    )
    assembly.connect(gpu, pcie, pcie_gbps, kind="host_io")
    assembly.connect(pcie, nic, pcie_gbps, kind="host_io")
    assembly.connect(gpu, np.repeat(nvswitch, gpus), nvlink_gbps, kind="scale_up")
    leaf = assembly.add_nodes(numbered("leaf-{}", np.arange(gpus)), kind="switch", tier=1)
    spine = assembly.add_nodes(numbered("spine-{}", np.arange(spines)), kind="switch", tier=2)
    assembly.connect(nic, leaf[index % gpus], 400, kind="access")
    assembly.stripe(leaf, spine, 1, 400 * hosts / spines)
    return assembly.finish()


@pytest.mark.parametrize("hosts", [2, 5, 8])
@pytest.mark.parametrize("keep", ["host", "none"])
def test_wide_hosts_read_as_their_adapters(hosts: int, keep: str) -> None:
    fabric = opened(hosts)
    answer = topo.bisection_bandwidth(fabric, keep=keep)
    smaller = hosts // 2 * 4 if keep == "host" else hosts * 4 // 2
    # An odd host has to be split: its scale-up switch is cut on top.
    split = 2 * 900 if keep == "none" and hosts % 2 else 0
    assert answer.exact
    assert answer.upper_gbps == smaller * 400 + split
    assert keep == "none" or answer.ratio == 1
    certificate.check(fabric, answer)


def test_a_narrow_pcie_path_is_what_bounds_a_host_without_scale_up() -> None:
    fabric = opened(4, pcie_gbps=250, nvlink_gbps=0)
    answer = topo.bisection_bandwidth(fabric)
    assert answer.exact
    assert answer.upper_gbps == 2 * 4 * 250
    certificate.check(fabric, answer)


def test_one_host_alone_is_cut_at_its_scale_up_switch() -> None:
    fabric = opened(1)
    answer = topo.bisection_bandwidth(fabric, keep="none")
    assert answer.halves == (2, 2)
    assert answer.upper_gbps == answer.lower_gbps == 2 * 900 + 2 * 400
    only_scale_up = topo.bisection_bandwidth(fabric, keep="none", kinds=["scale_up"])
    assert only_scale_up.upper_gbps == only_scale_up.lower_gbps == 2 * 900
    certificate.check(fabric, only_scale_up)


def test_no_foreign_traffic_counts_through_a_host() -> None:
    """Hosts a and b sit on different leaves that only host c's adapters join: c against both, or nothing fits."""
    assembly = Assembly("bridge")
    own = {"forwards": FORWARDS_OWN_HOST, "tier": -1}
    leaf = assembly.add_nodes(["leaf-1", "leaf-2"], kind="switch", tier=1)
    for host, leaves, gpus in (("a", [0], 2), ("b", [1], 2), ("c", [0, 1], 2)):
        gpu = assembly.add_nodes(
            numbered(host + "-gpu-{}", np.arange(gpus)), kind="accelerator", is_endpoint=True, forwards=0, host=host
        )
        pcie = assembly.add_nodes([f"{host}-pcie"], kind="pcie", host=host, **own)  # type: ignore[arg-type]
        nic = assembly.add_nodes(numbered(host + "-nic-{}", np.arange(len(leaves))), kind="nic", host=host, **own)  # type: ignore[arg-type]
        assembly.connect(gpu, np.repeat(pcie, gpus), 10, kind="host_io")
        assembly.connect(np.repeat(pcie, len(leaves)), nic, 100, kind="host_io")
        assembly.connect(nic, leaf[leaves], 100, kind="access")
    fabric = assembly.finish()
    answer = topo.bisection_bandwidth(fabric)
    # Splitting a from the rest, a reaches c only: 2 accelerators of 10. No split carries less.
    assert answer.halves == (2, 4)
    assert answer.lower_gbps <= 20 == answer.upper_gbps
    certificate.check(fabric, answer)
