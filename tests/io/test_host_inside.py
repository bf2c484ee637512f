"""The inside of hosts: NCCL topology XML as a fabric, and the closeness of accelerators and adapters."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from format_samples import NCCL

import topo
from topo.io.affinity import CLOSENESS, affinity_of_fabric, affinity_of_text, read_affinity
from topo.io.nccl import read_nccl


def test_parts_rates_and_ports() -> None:
    fabric = read_nccl(NCCL, "host-7.xml")
    assert fabric.nodes.kind.values().tolist() == [
        "cpu", "pcie_switch", "accelerator", "nic", "cpu", "accelerator", "scale_up_switch",
    ]  # fmt: skip
    rates = Counter(zip(fabric.links.kind.values().tolist(), fabric.links.capacity_gbps.tolist(), strict=True))
    # 32 GT/s x 16 x 128/130 = 504, 16 GT/s x 16 = 252; NVLink 4: 25 GB/s a link and direction.
    assert rates["host_io", 504.0] == 2
    assert rates["host_io", 252.0] == 1
    assert rates["scale_up", 200.0] == 4
    assert int(np.isnan(fabric.links.capacity_gbps).sum()) == 1
    nic = int(fabric.rows("mlx5_0")[0])
    assert fabric.nodes.uid[nic] == "0x1"
    free = fabric.ports.node == nic
    assert fabric.ports.gbps[free].tolist() == [400, 252]
    assert fabric.nodes.host.labels.tolist() == ["host-7"]
    assert fabric.nodes.local_index[fabric.endpoints].tolist() == [0, 1]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("<graphs><graph/></graphs>", "these are the graphs NCCL searched"),
        ("<html/>", "the root element is 'html'"),
        ("<system/>", "no cpu in the system"),
        ("<system><cpu></system>", "t:1: not valid XML: mismatched tag"),
        ('<!DOCTYPE a [<!ENTITY b "c">]><system><cpu numaid="&b;"/></system>', "entities are not read"),
        ("<system><cpu>" + "<pci>" * 70 + "</pci>" * 70 + "</cpu></system>", "nested more than 64 levels"),
    ],
)
def test_what_is_refused(text: str, said: str) -> None:
    with pytest.raises(topo.InputError, match=said):
        read_nccl(text, "t")


def test_closeness_from_the_tree_agrees_with_its_definition() -> None:
    table = affinity_of_fabric(read_nccl(NCCL, "h"))
    words = [[CLOSENESS[rank] for rank in row] for row in table.rank.tolist()]
    assert table.names == ("gpu-0", "gpu-1", "mlx5_0")
    assert words == [["X", "NV", "PIX"], ["NV", "X", "SYS"], ["PIX", "SYS", "X"]]
    assert table.links[0, 1] == 2
    assert table.numa.tolist() == [0, 1, 0]
    assert table.nearest_nic() == (("mlx5_0",), ("mlx5_0",))


def test_real_matrices(shared_data: Path) -> None:
    """H200: GPU i's PIX adapter is not adapter i; H100: escapes in the header, a ninth adapter, adapters renamed."""
    folder = shared_data / "nvidia_smi_topo"
    h200 = read_affinity(folder / "h200_8gpu_out_of_order_rails.txt")
    assert [names for (names,) in h200.nearest_nic()] == [f"mlx5_{i}" for i in (4, 1, 0, 3, 6, 7, 5, 2)]
    assert h200.numa[h200.gpus].tolist() == [0] * 4 + [1] * 4
    h100 = read_affinity(folder / "h100_8gpu_9nic_ansi_header.txt")
    assert [names for (names,) in h100.nearest_nic()] == [f"mlx5_1{i}" for i in range(8)]
    assert h100.names[-1] == "mlx5_bond_0"
    for table in (h200, h100):
        assert (table.rank == table.rank.T).all()
        assert set(table.links[:8, :8].ravel().tolist()) == {0, 18}


def test_real_trees(shared_data: Path) -> None:
    folder = shared_data / "nccl_topo"
    ndv5 = read_affinity(folder / "Azure__azhpc-images__ndv5-topo.xml")
    assert [name for (name,) in ndv5.nearest_nic()] == [f"nic-010{i}:00:00.0" for i in range(1, 9)]
    # NDv4 pairs two accelerators with two adapters, crosswise: the first ones sit beside adapters 3 and 4.
    ndv4 = read_affinity(folder / "Azure__azhpc-images__ndv4-topo.xml")
    assert ndv4.nearest_nic()[0] == ("nic-0103:00:00.0", "nic-0104:00:00.0")
    mesh = topo.read(folder / "ROCm__rccl__topo_8p_940.xml")
    pairs = mesh.links.kind.is_any("scale_up")
    assert int(pairs.sum()) == 28  # each of 8 to each, listed from both ends
    assert set(mesh.links.capacity_gbps[pairs].tolist()) == {512.0}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no table of devices"),
        ("\tGPU0\tGPU1\nGPU0\t X \tPIX\n", "no row for GPU1"),
        ("\tGPU0\tGPU1\nGPU0\t X \nGPU1\tPIX\t X\n", "t:2: the row of GPU0 has 1 entries, the header names 2"),
        ("\tGPU0\nGPU0\tFOO\n", "t:2: 'FOO' is no closeness"),
        ("\tGPU0\nGPU0\tX\nGPU0\tX\n", "t:3: a second row for GPU0"),
    ],
)
def test_tables_that_are_none(text: str, said: str) -> None:
    with pytest.raises(topo.FormatError, match=said):
        affinity_of_text(text, "t")


def test_a_fabric_without_accelerators_has_no_table() -> None:
    with pytest.raises(topo.ParameterError, match="no accelerator"):
        affinity_of_fabric(topo.leaf_spine(leaves=2, spines=2, hosts_per_leaf=2))


def test_the_table_of_a_host_in_the_catalogue() -> None:
    """DGX H100: every accelerator has one nearest adapter for compute, all different."""
    table = affinity_of_fabric(topo.server("dgx-h100"))
    nearest = [set(names) for names in table.nearest_nic()]
    assert all(names for names in nearest)
    assert (table.rank == table.rank.T).all()
    assert (table.rank[:8, :8] == np.where(np.eye(8, dtype=bool), 0, 1)).all()
