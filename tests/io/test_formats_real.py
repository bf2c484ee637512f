"""Real files of every format: recognised, read whole, with the counts that the files and their owners state."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import topo
from topo.fabric import Fabric
from topo.io import FORMATS, fabric_of_bytes, fabric_of_text
from topo.io.text import read_text

# Format, endpoints, switches and links of every real file.
FILES: dict[str, tuple[str, int, int, int]] = {
    "air_json/hedgehog-air-demo__topology.json": ("air", 64, 10, 128),
    "astra_yml/astra-sim__astra-sim__dgx_v100_8gpu.yml": ("astra-sim", 8, 0, 12),
    "astra_yml/astra-sim__astra-sim__hgx_h100_16gpu.yml": ("astra-sim", 16, 2, 24),
    "astra_yml/astra-sim__astra-sim__hgx_h100_32gpu.yml": ("astra-sim", 32, 4, 64),
    "astra_yml/astra-sim__astra-sim__tpu_v3_32_2dtorus.yml": ("astra-sim", 32, 0, 64),
    "astra_yml/astra-sim__astra-sim__tpu_v3_32_ring.yml": ("astra-sim", 32, 0, 32),
    "astra_yml/astra-sim__astra-sim__8nodes.topo": ("htsim", 8, 12, 32),
    "canu_shcd/Cray-HPE__canu__Full_Architecture_Golden_Config_1.1.5.json": ("paddle", 20, 16, 96),
    "canu_shcd/Cray-HPE__canu__Architecture_Golden_Config_Dellanox.xlsx": ("schedule", 14, 12, 63),
    "canu_shcd/Cray-HPE__canu__Full_Architecture_Golden_Config_1.1.5.xlsx": ("schedule", 20, 20, 106),
    "canu_shcd/Cray-HPE__canu__TDS_Architecture_Golden_Config_1.1.5.xlsx": ("schedule", 18, 14, 86),
    "canu_shcd/Cray-HPE__canu__test_validate_shcd.xlsx": ("schedule", 10, 18, 47),
    "clab/srl-labs__containerlab__clos01.clab.yml": ("containerlab", 2, 3, 4),
    "clab/srl-labs__containerlab__clos02.clab.yml": ("containerlab", 4, 10, 16),
    "graphml/fnss__fnss__topozoo-garr.graphml": ("graphml", 0, 61, 89),
    "graphml/sk2__topologyzoo__Aarnet.graphml": ("graphml", 0, 19, 24),
    "graphml/sk2__topologyzoo__Abilene.graphml": ("graphml", 0, 11, 14),
    "hedgehog/githedgehog__lab-ci__env-ci-1-spine-leaf.dot": ("dot", 9, 8, 41),
    "hedgehog/hedgehog-air-demo__include.yaml": ("hedgehog", 64, 10, 128),
    "hedgehog/hedgehog-lab-ci__wiring.yaml": ("hedgehog", 8, 6, 39),
    "ibnl/kalcher__infiniband_topology__pentagon.ibnl": ("ibdm", 11, 5, 21),
    "ibnl/kalcher__infiniband_topology__test.ibnl": ("ibdm", 4, 4, 8),
    "lldp/napalm_eos__test_get_lldp_neighbors__normal__show_lldp_neighbors.json": ("lldp", 0, 2, 2),
    "lldp/napalm_eos__test_get_lldp_neighbors_detail__issue1153__show_lldp_neighbors__detail.json": ("lldp", 1, 3, 3),
    "lldp/napalm_eos__test_get_lldp_neighbors_detail__normal__expected_result.json": ("lldp", 20, 2, 41),
    "lldp/napalm_eos__test_get_lldp_neighbors_detail__normal__show_lldp_neighbors__detail.json": ("lldp", 20, 2, 41),
    "lldp/napalm_ios__inconsistent_domain_name__expected_result.json": ("lldp", 0, 15, 14),
    "lldp/napalm_ios__long_names__expected_result.json": ("lldp", 0, 3, 2),
    "lldp/napalm_ios__missing_hostname__expected_result.json": ("lldp", 0, 3, 2),
    "lldp/napalm_ios__inconsistent_domain_name__show_lldp_neighbors.txt": ("lldp", 0, 15, 14),
    "lldp/napalm_ios__inconsistent_domain_name__show_lldp_neighbors_detail.txt": ("lldp", 0, 15, 14),
    "lldp/napalm_ios__long_names__show_lldp_neighbors.txt": ("lldp", 0, 3, 2),
    "lldp/napalm_ios__missing_hostname__show_lldp_neighbors.txt": ("lldp", 0, 3, 2),
    "lldp/networktocode__ntc-templates__arista_eos_show_lldp_neighbors2.raw": ("lldp", 0, 2, 6),
    "lldp/networktocode__ntc-templates__arista_eos_show_lldp_neighbors_detail.raw": ("lldp", 5, 8, 20),
    "lldp/networktocode__ntc-templates__cisco_nxos_show_lldp_neighbors_multiline.raw": ("lldp", 0, 10, 15),
    "nccl_topo/Azure__azhpc-images__ncv4-topo.xml": ("nccl", 4, 0, 4),
    "nccl_topo/Azure__azhpc-images__ndv2-topo.xml": ("nccl", 8, 0, 9),
    "nccl_topo/Azure__azhpc-images__ndv4-topo.xml": ("nccl", 8, 0, 20),
    "nccl_topo/Azure__azhpc-images__ndv5-topo.xml": ("nccl", 8, 0, 24),
    "nccl_topo/ROCm__rccl__topo_16p1h.xml": ("nccl", 16, 0, 108),
    "nccl_topo/ROCm__rccl__topo_4p4h.xml": ("nccl", 16, 0, 76),
    "nccl_topo/ROCm__rccl__topo_4p_940.xml": ("nccl", 4, 0, 14),
    "nccl_topo/ROCm__rccl__topo_8p1h_4.xml": ("nccl", 8, 0, 64),
    "nccl_topo/ROCm__rccl__topo_8p_90a.xml": ("nccl", 8, 0, 22),
    "nccl_topo/ROCm__rccl__topo_8p_940.xml": ("nccl", 8, 0, 68),
    "nccl_topo/ROCm__rccl__topo_8p_940vm.xml": ("nccl", 8, 0, 44),
    "nccl_topo/ROCm__rccl__topo_collnet_n4.xml": ("nccl", 8, 0, 44),
    "nccl_topo/aws__aws-ofi-nccl__g5.48xl-topo.xml": ("nccl", 0, 0, 9),
    "nccl_topo/aws__aws-ofi-nccl__p4d-24xl-topo.xml": ("nccl", 8, 0, 16),
    "nccl_topo/aws__aws-ofi-nccl__p4de-24xl-topo.xml": ("nccl", 8, 0, 16),
    "nccl_topo/oracle-quickstart__oci-hpc__topo-flattened-b4.xml": ("nccl", 8, 0, 20),
    "nccl_topo/oracle-quickstart__oci-hpc__topo-flattened.xml": ("nccl", 8, 0, 20),
    "netlab/ipspace__netlab__fabric-ebgp.yml": ("netlab", 2, 6, 10),
    "netq/NVIDIA__topograph__topologyGraph.json": ("netq", 32, 3, 79),
    "ns3_topo/alibaba-edu__High-Precision-Congestion-Control__ali_32host_10rack.txt": ("ns-3", 320, 28, 800),
    "ns3_topo/alibaba-edu__High-Precision-Congestion-Control__fat.txt": ("ns-3", 320, 56, 480),
    "ns3_topo/astra-sim__astra-network-ns3__128_nodes_16_switch_topology.txt": ("ns-3", 128, 16, 192),
    "ns3_topo/astra-sim__astra-network-ns3__8_nodes_1_switch_topology.txt": ("ns-3", 8, 1, 8),
    "ns3_topo/astra-sim__astra-network-ns3__8nodes_ring_topology.txt": ("ns-3", 8, 0, 8),
    "ptm_dot/CumulusNetworks__cldemo-vagrant__topology.dot": ("dot", 6, 10, 59),
    "ptm_dot/CumulusNetworks__ptm__topology.dot.sample": ("dot", 0, 2, 4),
    "ptm_dot/ddutt__evpn-in-the-datacenter__topology.dot": ("dot", 6, 10, 59),
    "ptm_dot/ls62-dev__citc-enable-ptm__topology.dot": ("dot", 5, 7, 20),
    "slurm_topology/HicrestLaboratory__JobPlacer__jupiter_topo.txt": ("slurm-topology", 5884, 394, 6277),
    "slurm_topology/NVIDIA__topograph__expected.slinky-dra-block.conf": ("slurm-topology", 96, 13, 108),
    "slurm_topology/NVIDIA__topograph__expected.slinky-oci-sim-tree.conf": ("slurm-topology", 96, 19, 114),
    "slurm_topology/slurm__block.topology.conf": ("slurm-topology", 32, 9, 40),
    "slurm_topology/slurm__test133_tc1.topology.conf": ("slurm-topology", 10000, 529, 10528),
    "slurm_topology/slurm__test133_tc2.topology.conf": ("slurm-topology", 10000, 528, 10527),
    "slurm_topology/slurm__test133_tc3.topology.conf": ("slurm-topology", 400, 23, 422),
    "slurm_topology/slurm__test133_tc5.topology.conf": ("slurm-topology", 400, 22, 420),
    "slurm_topology/slurm__test133_tc6.topology.conf": ("slurm-topology", 40, 7, 44),
    "sonic_minigraph/sonic-net__sonic-buildimage__sample-ft2-p64-minigraph.xml": ("sonic-minigraph", 0, 64, 63),
    "sonic_minigraph/sonic-net__sonic-buildimage__sample-mellanox-2700-t0-minigraph.xml": (
        "sonic-minigraph",
        48,
        5,
        52,
    ),
    "sonic_minigraph/sonic-net__sonic-buildimage__sample-mellanox-4600c-t1-minigraph.xml": (
        "sonic-minigraph",
        0,
        25,
        28,
    ),
    "sonic_minigraph/sonic-net__sonic-buildimage__sample_graph.xml": ("sonic-minigraph", 0, 3, 2),
    "sonic_minigraph/sonic-net__sonic-buildimage__simple-sample-graph-case.xml": ("sonic-minigraph", 3, 6, 6),
    "sonic_topo/sonic-net__sonic-mgmt__topo_lt2-o128.yml": ("sonic-testbed", 0, 127, 126),
    "sonic_topo/sonic-net__sonic-mgmt__topo_t0-isolated-d128u128s2.yml": ("sonic-testbed", 128, 131, 258),
    "sonic_topo/sonic-net__sonic-mgmt__topo_t0.yml": ("sonic-testbed", 28, 5, 32),
    "sonic_topo/sonic-net__sonic-mgmt__topo_t1-64-lag.yml": ("sonic-testbed", 0, 25, 28),
    "topograph_model/NVIDIA__topograph__dual-xclr-irregular.yaml": ("topograph", 255, 34, 288),
    "topograph_model/NVIDIA__topograph__dual-xclr-regular.yaml": ("topograph", 96, 19, 114),
    "topograph_model/NVIDIA__topograph__large.yaml": ("topograph", 96, 19, 114),
    "topograph_model/NVIDIA__topograph__medium.yaml": ("topograph", 8, 7, 14),
    "topograph_model/NVIDIA__topograph__nvl72.yaml": ("topograph", 72, 7, 78),
    "topograph_model/NVIDIA__topograph__small-tree.yaml": ("topograph", 6, 3, 8),
    "wiring_csv/aristanetworks__avd__FABRIC-topology.csv": ("schedule", 4, 16, 46),
    "wiring_csv/aristanetworks__avd__TWODC_5STAGE_CLOS-p2p-links.csv": ("schedule", 0, 20, 44),
    "wiring_csv/aristanetworks__avd__TWODC_5STAGE_CLOS-topology.csv": ("schedule", 8, 25, 63),
    "wiring_csv/aristanetworks__avd__WAN-topology.csv": ("schedule", 0, 14, 36),
    "wiring_csv/sonic-net__sonic-mgmt__sonic_lab_links.csv": ("schedule", 0, 12, 77),
    "wiring_csv/ufm_ndt__ndt.csv": ("schedule", 0, 30, 400),
    "wiring_csv/ufm_ndt__ndth2s.csv": ("schedule", 320, 20, 320),
    "wiring_csv/ufm_ndt__neg_incorrect_ports.ndt": ("schedule", 0, 1, 1),
    "wiring_csv/ufm_ndt__switch_to_host_topo1.ndt": ("schedule", 2223, 154, 2223),
    "wiring_csv/ufm_ndt__switch_to_switch_topo2.ndt": ("schedule", 0, 164, 3195),
}
REFUSED: dict[str, str] = {
    "canu_shcd/Cray-HPE__canu__paddle-schema.json": 'no list "topology"',
    "nccl_topo/Azure__azhpc-images__ncv4-graph.xml": "graphs NCCL searched",
    "netlab/ipspace__netlab__x-large-fabric.yml": "netlab has to expand it first",
    "slurm_topology/SchedMD__slurm__tree_not_dict.yaml": ":8: tree: keys with values are wanted",
    "slurm_topology/neg/block_bad_options.yaml": ":8: block size 12 is not 4 times a power of two",
    "slurm_topology/neg/block_blocks_not_list.yaml": ":16: block.blocks: a list is wanted",
    "slurm_topology/neg/ring_rings_not_list.yaml": "ring draws no tree",
    "slurm_topology/neg/root_not_list.yaml": "not a known one",
    "slurm_topology/neg/tree_bad_options.yaml": ":10: switch 'sw_root' has a child 's3' that is not defined",
    "slurm_topology/neg/tree_mutually_exclusive.yaml": "block and tree exclude each other",
    "slurm_topology/neg/tree_switches_not_list.yaml": ":9: tree.switches: a list is wanted",
    "wiring_csv/sonic-net__sonic-mgmt__sonic_lab_devices.csv": "not known: 1 'Hostname' is a_node",
    "wiring_csv/ufm_ndt__expected_report.json": "not a known one",
    "wiring_csv/ufm_ndt__neg_garbage.ndt": "not a known one",
    "wiring_csv/ufm_ndt__neg_incorrect_columns.ndt": ":1: the columns of this cable schedule are not known",
}
# Kinds of files that no reader takes, or that have tests of their own.
ELSEWHERE = {"ibnetdiscover", "devicetype", "nvidia_smi_topo"}


@pytest.mark.parametrize("path", FILES)
def test_counts(shared_data: Path, path: str) -> None:
    name, endpoints, switches, links = FILES[path]
    fabric = topo.read(shared_data / path)
    assert (len(fabric.endpoints), len(fabric.switches), len(fabric.links)) == (endpoints, switches, links)
    assert fabric.equals(fabric_of_text(*read_text(shared_data / path), format=name))


@pytest.mark.parametrize("path", REFUSED)
def test_what_is_refused(shared_data: Path, path: str) -> None:
    with pytest.raises(topo.TopoError, match=re.escape(REFUSED[path])) as caught:
        topo.read(shared_data / path)
    assert "\n" not in str(caught.value)


def test_no_file_of_a_kind_that_is_read_is_left_out(shared_data: Path) -> None:
    found = {str(file.relative_to(shared_data)) for file in shared_data.rglob("*") if file.is_file()}
    left = {path for path in found - FILES.keys() - REFUSED.keys() if path.split("/")[0] not in ELSEWHERE}
    assert left == {
        "PROVENANCE.tsv",
        "ibnl/kalcher__infiniband_topology__pentagon.ibnl.json",
        "netq/NVIDIA__topograph__computeNodes.json",  # no link in it
        "slurm_topology/HicrestLaboratory__JobPlacer__jupiter_sinfo.txt",  # a state, not a fabric
    }


def cables(fabric: Fabric) -> Counter[frozenset[tuple[str, str]]]:
    """Pairs of (host or switch, port), the two vendors' spellings of ports made one."""
    nodes, ports = fabric.nodes, fabric.ports

    def end(port: int) -> tuple[str, str]:
        node = int(ports.node[port])
        name = nodes.host[node] or str(nodes.name[node])
        label = str(nodes.name[node])[len(name) :].strip() or ports.label[port]
        return name, re.sub(r"^E1/(\d+)$", r"swp\1", label)

    return Counter(
        frozenset({end(int(a)), end(int(b))}) for a, b in zip(fabric.links.port_a, fabric.links.port_b, strict=True)
    )


def test_one_fabric_in_two_vendors_formats(shared_data: Path) -> None:
    """The Hedgehog demo: its wiring diagram and its NVIDIA Air topology have the same 128 cables."""
    hedgehog = topo.read(shared_data / "hedgehog/hedgehog-air-demo__include.yaml")
    air = topo.read(shared_data / "air_json/hedgehog-air-demo__topology.json")
    assert cables(hedgehog) == cables(air)
    assert sum((cables(hedgehog) & cables(air)).values()) == 128
    for fabric in (hedgehog, air):
        assert len(fabric.nodes.rail.labels) == 4
        assert Counter(fabric.nodes.tier.tolist()) == {0: 64, 1: 8, 2: 2}


def test_jupiter_as_slurm_sees_it(shared_data: Path) -> None:
    fabric = topo.read(shared_data / "slurm_topology/HicrestLaboratory__JobPlacer__jupiter_topo.txt")
    assert Counter(fabric.nodes.tier.tolist()) == {0: 5884, 1: 368, 2: 25, 3: 1}
    hosts = np.bincount(fabric.link_b[fabric.nodes.is_endpoint[fabric.link_a]])
    assert Counter(hosts[hosts > 0].tolist()) == {16: 367, 12: 1}
    assert Counter(Counter(fabric.nodes.pod.values(fabric.endpoints).tolist()).values()) == {240: 24, 124: 1}
    assert np.isnan(fabric.links.capacity_gbps).all()
    assert [note.text[:25] for note in fabric.origin.notes] == ["the file states no rates;"]
    assert "jpbo-001-01" in fabric.nodes.host.labels
    assert "jpbo-123-28" in fabric.nodes.host.labels


def test_ufm_plans_have_the_vendors_counts(shared_data: Path) -> None:
    """3,195 cables listed from both ends, 2,223 from one: none lost, none doubled; one port, one cable."""
    folder = shared_data / "wiring_csv"
    between = topo.read(folder / "ufm_ndt__switch_to_switch_topo2.ndt")
    assert "cables listed from both ends, each counted once: 3,195 of 3,195" in [
        note.text for note in between.origin.notes
    ]
    down = topo.read(folder / "ufm_ndt__switch_to_host_topo1.ndt")
    for fabric in (between, down):
        ends = np.concatenate([fabric.links.port_a, fabric.links.port_b])
        assert len(np.unique(ends)) == len(ends) == 2 * len(fabric.links)
    row = fabric.rows("SAT111090201019 ibp213s0f0")
    assert fabric.nodes.host[int(row[0])] == "SAT111090201019"
    assert len(down.nodes.host.labels) == 280
    shown = json.loads((folder / "ufm_ndt__expected_report.json").read_text())["report"]["missing_in_ufm"][0]
    assert shown.split("/")[0] in down.nodes.host.labels


def test_spreadsheet_with_racks_lengths_and_a_side_table(shared_data: Path) -> None:
    fabric = topo.read(shared_data / "wiring_csv/ufm_ndt__ndt.csv")
    assert set(fabric.links.capacity_gbps.tolist()) == {200.0}
    assert fabric.links.length_m[0] == 10
    assert fabric.links.line[0] == 2
    leaf = fabric.rows("DSM07-0101-0806-01IB0")[0]
    assert fabric.nodes.rack[int(leaf)] == "F01C04-DR426"
    degree = np.bincount(np.concatenate([fabric.link_a, fabric.link_b]))
    assert Counter(degree.tolist()) == {20: 20, 40: 10}
    notes = [note.text for note in fabric.origin.notes]
    assert sum("stands for several nodes: DSM07-0101-0801-02IB1 (" in note for note in notes) == 2
    below = topo.read(shared_data / "wiring_csv/ufm_ndt__ndth2s.csv")
    assert len(below.nodes.host.labels) == 40
    assert set(Counter(below.nodes.host.values(below.endpoints).tolist()).values()) == {8}
    assert below.nodes.rack.values(below.endpoints[:1]).tolist() == ["F01C04-DX413"]


def test_loops_of_the_cumulus_demo(shared_data: Path) -> None:
    fabric = topo.read(shared_data / "ptm_dot/CumulusNetworks__cldemo-vagrant__topology.dot")
    loops = fabric.link_a == fabric.link_b
    assert int(loops.sum()) == 12
    assert fabric.links.line[0] == 19
    assert fabric.nodes.kind.values(fabric.rows(["leaf01", "server01", "oob-mgmt-server"])).tolist() == [
        "switch", "host", "host",
    ]  # fmt: skip


def test_parallel_edges_of_garr(shared_data: Path) -> None:
    fabric = topo.read(shared_data / "graphml/fnss__fnss__topozoo-garr.graphml")
    pairs = Counter(frozenset(pair) for pair in zip(fabric.link_a.tolist(), fabric.link_b.tolist(), strict=True))
    assert sum(times > 1 for times in pairs.values()) == 12


def test_bandwidths_of_simulators(shared_data: Path) -> None:
    fat = topo.read(shared_data / "ns3_topo/alibaba-edu__High-Precision-Congestion-Control__fat.txt")
    assert Counter(fat.links.capacity_gbps.tolist()) == {100.0: 320, 400.0: 160}
    torus = topo.read(shared_data / "astra_yml/astra-sim__astra-sim__tpu_v3_32_2dtorus.yml")
    assert set(torus.links.capacity_gbps.tolist()) == {640.0}  # 80 GB/s
    degree = np.bincount(np.concatenate([torus.link_a, torus.link_b]))
    assert set(degree.tolist()) == {4}
    ring = topo.read(shared_data / "ns3_topo/astra-sim__astra-network-ns3__8nodes_ring_topology.txt")
    assert topo.bisection_bandwidth(ring).upper_gbps == 50.0


def test_models_of_topograph(shared_data: Path) -> None:
    folder = shared_data / "topograph_model"
    nvl72 = topo.read(folder / "NVIDIA__topograph__nvl72.yaml")
    assert Counter(nvl72.nodes.domain.values(nvl72.endpoints).tolist()) == dict.fromkeys(
        ("nvl-1-1", "nvl-1-2", "nvl-2-1", "nvl-2-2"), 18
    )
    irregular = topo.read(folder / "NVIDIA__topograph__dual-xclr-irregular.yaml")
    empty = [note.text for note in irregular.origin.notes if "kept empty" in note.text]
    assert empty == [f"switch without nodes below, kept empty: rack-1-{i}" for i in ("03", "13")]


def test_every_cable_of_netq_and_canu(shared_data: Path) -> None:
    graph = json.loads((shared_data / "netq/NVIDIA__topograph__topologyGraph.json").read_text())
    assert sum(len(link["compounded_links"]) for link in graph[0]["links"]) == 79
    paddle = topo.read(shared_data / "canu_shcd/Cray-HPE__canu__Full_Architecture_Golden_Config_1.1.5.json")
    notes = [note.text for note in paddle.origin.notes]
    assert "cables listed from both ends, each counted once: 96 of 96" in notes


def wires(fabric: Fabric) -> Counter[tuple[object, ...]]:
    """Every link as its two ends, each a node and a port, whichever end is first."""
    name, label, node = fabric.nodes.name, fabric.ports.label.values(), fabric.ports.node
    ends = zip(fabric.links.port_a.tolist(), fabric.links.port_b.tolist(), strict=True)
    return Counter(tuple(sorted((name[node[port]], label[port]) for port in pair)) for pair in ends)


@pytest.mark.parametrize("format", ["native", "dot", "graphml", "schedule", "netbox"])
def test_links_of_real_files_come_back_or_are_said_to_be_lost(shared_data: Path, format: str) -> None:
    row = next(row for row in FORMATS if row.name == format)
    compared = 0
    for path in sorted(shared_data.rglob("*")):
        if not path.is_file() or path.stat().st_size > 20_000:
            continue
        try:
            fabric = topo.read(path)
            written = row.write(fabric)
        except topo.TopoError:
            continue
        lost = " ".join(written.lost)
        n_cables = len(fabric.links) if written.n_cables is None else written.n_cables
        assert n_cables == len(fabric.links) or re.search("links? inside hosts", lost), path
        if not n_cables:
            continue
        back = fabric_of_bytes(written.data(), "back", format="schedule" if format == "netbox" else format)
        assert len(back.links) == n_cables, path
        if n_cables == len(fabric.links) and not re.search(r"without a name of their own|names of ", lost):
            assert wires(back) == wires(fabric), path
            compared += 1
    assert compared > 40
