"""What is written for other tools: read back it is the same, and what a format cannot say is told."""

from __future__ import annotations

import json
import zipfile
from collections import Counter
from io import BytesIO
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

import topo
from topo.fabric import Fabric, LinkSet
from topo.io import FORMATS, Format
from topo.io.native import read_native, write_native
from topo.io.written.hosts import merged_hosts
from topo.io.written.tree import scheduler_tree

FABRICS = {
    "fat tree": lambda: topo.fat_tree(4),
    "rails": lambda: topo.load("nvidia-superpod-h100-1su"),
    "opened racks": lambda: topo.load("nvidia-superpod-gb200-2su-nvl72"),
    "an opened host": lambda: topo.server("dgx-h100", inside=True),
    "torus": lambda: topo.torus((3, 4)),
    "planes": lambda: topo.load("alibaba-hpn-segment"),
}


def wires(fabric: Fabric) -> Counter[tuple[frozenset[tuple[str, str]], float, str]]:
    links = LinkSet.of(fabric, range(len(fabric.links)))
    kinds = fabric.links.kind.values().tolist()
    return Counter(
        (frozenset({(link.a, link.a_port), (link.b, link.b_port)}), link.capacity_gbps, kind)
        for link, kind in zip(links, kinds, strict=True)
    )


def read_back(fabric: Fabric, format: str, folder: Path) -> Fabric:
    topo.write(fabric, folder / "out", format=format)
    return topo.read(folder / "out")


@pytest.mark.parametrize("name", FABRICS)
def test_our_own_file_keeps_everything(name: str, tmp_path: Path) -> None:
    fabric = FABRICS[name]()
    topo.write(fabric, tmp_path / "f.fabric")
    for found in (topo.read(tmp_path / "f.fabric"), topo.load(tmp_path / "f.fabric")):
        assert found.equals(fabric) and found.digest == fabric.digest
        assert (found.name, found.origin) == (fabric.name, fabric.origin)


def test_the_same_fabric_is_the_same_file() -> None:
    assert write_native(topo.fat_tree(8)).content == write_native(topo.fat_tree(8)).content


def test_names_of_any_script_survive() -> None:
    fabric = topo.fat_tree(4)
    names = [*fabric.nodes.name.tolist()[:-2], "Blatt-ä-葉", "\U0001f980" * 3]
    columns = {each: getattr(fabric.nodes, each) for each in fabric.nodes.columns()} | {"name": np.array(names)}
    odd = Fabric("ß", type(fabric.nodes)(**columns), fabric.ports, fabric.links, fabric.groups)
    found = read_native(write_native(odd).data())
    assert found.nodes.name.tolist() == names and found.digest == odd.digest


@pytest.mark.parametrize("share", [0.0, 0.1, 0.3, 0.5, 0.8, 0.97, 0.9999])
def test_a_file_cut_short_is_refused(share: float, tmp_path: Path) -> None:
    data = write_native(topo.fat_tree(4)).data()
    (tmp_path / "f.fabric").write_bytes(data[: max(60, int(share * len(data)))])
    with pytest.raises(topo.TopoError, match="cut or damaged"):
        topo.load(tmp_path / "f.fabric")


def test_damaged_columns_are_refused() -> None:
    data = write_native(topo.fat_tree(4)).data()
    rng = np.random.default_rng(5)
    for _ in range(300):
        broken = bytearray(data)
        broken[int(rng.integers(60, len(data)))] ^= int(rng.integers(1, 256))
        try:
            found = read_native(bytes(broken))
        except topo.TopoError:
            continue
        assert found.digest == topo.fat_tree(4).digest  # what was hit is no content: a date, an attribute


def test_no_object_is_unpickled() -> None:
    data = BytesIO()
    with zipfile.ZipFile(BytesIO(write_native(topo.fat_tree(4)).data())) as old, zipfile.ZipFile(data, "w") as new:
        for entry in old.infolist():
            content = old.read(entry)
            if entry.filename.startswith("links/capacity_gbps"):
                file = BytesIO()
                np.save(file, np.array([{}], dtype=object), allow_pickle=True)
                content = file.getvalue()
            new.writestr(entry, content)
    with pytest.raises(topo.FormatError, match="make no fabric"):
        read_native(data.getvalue())


def test_a_file_of_another_version_says_both_and_the_way_out() -> None:
    data = BytesIO()
    with zipfile.ZipFile(BytesIO(write_native(topo.fat_tree(4)).data())) as old, zipfile.ZipFile(data, "w") as other:
        for entry in old.infolist():
            content = old.read(entry)
            if entry.filename == "topo-fabric.json":
                content = json.dumps(json.loads(content) | {"version": 1}).encode()
            other.writestr(entry, content)
    with pytest.raises(topo.FormatError, match="version 1, this program reads 3; write it anew from what it came from"):
        read_native(data.getvalue())


def test_what_unpacks_to_more_than_reason_is_refused() -> None:
    data = BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        archive.writestr(zipfile.ZipInfo("topo-fabric.json"), "{}")
        archive.writestr("nodes/tier.npy", b"\0" * (1 << 26), zipfile.ZIP_DEFLATED)
        packed = archive.getinfo("nodes/tier.npy").compress_size
    assert packed < 1 << 17
    with pytest.raises(topo.FormatError):
        read_native(data.getvalue())


@pytest.mark.parametrize("format", ["dot", "graphml"])
@pytest.mark.parametrize("name", FABRICS)
def test_graphs_come_back_with_ports_rates_and_columns(name: str, format: str, tmp_path: Path) -> None:
    fabric = FABRICS[name]()
    found = read_back(fabric, format, tmp_path)
    assert wires(found) == wires(fabric)
    place = {label: row for row, label in enumerate(found.nodes.name.tolist())}
    order = [place[label] for label in fabric.nodes.name.tolist()]
    mine, theirs = fabric.nodes.to_frame(), found.nodes.to_frame(order).reset_index(drop=True)
    for column in fabric.nodes.columns():
        assert theirs[column].tolist() == mine[column].tolist(), column


def test_graphml_is_what_networkx_reads(tmp_path: Path) -> None:
    fabric = topo.load("nvidia-superpod-h100-1su")
    topo.write(fabric, tmp_path / "f.graphml")
    graph = nx.read_graphml(tmp_path / "f.graphml", force_multigraph=True)
    assert graph.number_of_edges() == len(fabric.links)
    rates = [data["capacity_gbps"] for *_, data in graph.edges(data=True)]
    assert sorted(rates) == sorted(fabric.links.capacity_gbps.tolist())


def test_hostile_names_stay_names(tmp_path: Path) -> None:
    fabric = topo.leaf_spine(leaves=1, spines=1, hosts_per_leaf=2)
    names = ['"]; evil [shape="', "</node><x>&amp;", "back\\slash\\", "host"]
    columns = {each: getattr(fabric.nodes, each) for each in fabric.nodes.columns()} | {"name": np.array(names)}
    odd = Fabric("n", type(fabric.nodes)(**columns), fabric.ports, fabric.links)
    for format in ("dot", "graphml"):
        assert read_back(odd, format, tmp_path).nodes.name.tolist() == names


def test_nodes_of_one_name_are_told_apart() -> None:
    fabric = topo.leaf_spine(leaves=1, spines=1, hosts_per_leaf=2)
    columns = {each: getattr(fabric.nodes, each) for each in fabric.nodes.columns()}
    columns |= {"name": np.array(["a", "a", "b", "c"]), "uid": np.array(["0x1", "", "", ""])}
    from topo.io.written import unique_names

    names, lost = unique_names(Fabric("n", type(fabric.nodes)(**columns), fabric.ports, fabric.links))
    assert names == ["a (0x1)", "a (1)", "b", "c"] and "2 nodes without a name of their own" in lost[0]


def test_air_has_machines_and_their_cables(tmp_path: Path) -> None:
    fabric = topo.load("nvidia-superpod-h100-1su")
    found = read_back(fabric, "air", tmp_path)
    machines = merged_hosts(fabric)
    assert len(found.links) == len(machines.rows) == len(fabric.links)
    assert len(found.switches) == len(fabric.switches)
    hosts = len(machines.names) - sum(machines.is_switch)
    assert len(set(found.nodes.host.values(found.endpoints).tolist())) == hosts == 33  # 31 and two managers


def test_a_host_is_one_machine_whatever_is_inside() -> None:
    fabric = topo.server("dgx-h100", inside=True)
    machines = merged_hosts(fabric)
    assert len(machines.names) == 1 and not len(machines.rows)
    assert f"{len(fabric.links):,} links inside" in machines.lost[0]


@pytest.mark.parametrize(("format", "name"), [("ns-3", "fat tree"), ("ns-3", "planes"), ("simai", "rails")])
def test_simulators_get_every_cable(format: str, name: str, tmp_path: Path) -> None:
    fabric = FABRICS[name]()
    found = read_back(fabric, format, tmp_path)
    assert len(found.links) == len(fabric.links) and len(found.switches) == len(fabric.switches)
    assert sorted(found.links.capacity_gbps.tolist()) == sorted(fabric.links.capacity_gbps.tolist())
    degrees = [Counter(np.bincount(np.r_[f.link_a, f.link_b]).tolist()) for f in (found, fabric)]
    assert degrees[0] == degrees[1]


def test_simai_counts_gpus_a_server_and_chips_first(tmp_path: Path) -> None:
    topo.write(topo.scale_up_domain("gb200-nvl72"), tmp_path / "out", format="simai")
    head, ids, first = (tmp_path / "out").read_text().splitlines()[:3]
    assert head.split()[:5] == ["90", "4", "18", "0", "1296"] and ids.split() == list(map(str, range(72, 90)))
    assert first.split()[2] == "400Gbps"


def test_links_without_a_rate_are_named(tmp_path: Path) -> None:
    (tmp_path / "t.conf").write_text("SwitchName=s1 Nodes=n[1-2]\n")
    with pytest.raises(topo.ParameterError, match=r"2 have none here, the first .*assume_gbps"):
        topo.write(topo.read(tmp_path / "t.conf"), tmp_path / "out", format="ns-3")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("format", ["slurm-topology", "slurm-yaml", "topograph", "kubernetes"])
@pytest.mark.parametrize("name", ["fat tree", "rails", "opened racks", "planes"])
def test_schedulers_get_every_tier_and_host_once(name: str, format: str, tmp_path: Path) -> None:
    fabric = FABRICS[name]()
    tree = scheduler_tree(fabric)
    found = read_back(fabric, format, tmp_path)
    hosts = [host for group in tree.groups for host in group.hosts]
    assert len(hosts) == len(set(hosts)) == len(found.endpoints)
    assert sorted(found.nodes.name[found.endpoints].tolist()) == sorted(hosts)
    parent = {child: group.name for group in tree.groups for child in group.children}
    above = {found.nodes.name[a]: found.nodes.name[b] for a, b in zip(found.link_a, found.link_b, strict=True)}
    assert {child: above[child] for child in parent} == parent
    assert len(found.switches) == len(tree.groups)


def test_a_host_under_eight_rails_is_in_one_unit() -> None:
    tree = scheduler_tree(topo.load("nvidia-superpod-h100-4su"))
    assert [(group.name, group.tier, len(group.hosts)) for group in tree.groups[:4]] == [
        ("su-1", 1, 32), ("su-2", 1, 32), ("su-3", 1, 32), ("su-4", 1, 31),
    ]  # fmt: skip
    assert tree.groups[-1].children == ["su-1", "su-2", "su-3", "su-4"]


def test_groups_that_words_do_not_tell_apart_are_all_numbered() -> None:
    tree = scheduler_tree(topo.load("nvidia-superpod-gb200-2su"))
    children = {group.name: group.children for group in tree.groups if group.children}
    leaves = [f"su-{unit}-leaf-group-{i}" for unit in (1, 2) for i in range(1, 9)]
    assert sorted(leaves) == sorted(group.name for group in tree.groups if group.hosts)
    assert [child for each in children.values() for child in each if child in leaves] == leaves
    planes = scheduler_tree(topo.load("deepseek-mpft"))
    assert [group.name for group in planes.groups] == [*(f"leaf-group-{i}" for i in range(1, 65)), "spine"]


def test_fabrics_without_a_common_switch_are_a_forest(tmp_path: Path) -> None:
    f = topo.leaf_spine(leaves=2, spines=2, hosts_per_leaf=2)
    apart = f.without(nodes="spine-*")
    tree = scheduler_tree(apart)
    assert [group.name for group in tree.groups] == ["leaf-1", "leaf-2"]
    assert len(read_back(apart, "slurm-topology", tmp_path).switches) == 2


def test_the_tree_of_a_real_machine_comes_back(shared_data: Path, tmp_path: Path) -> None:
    folder = shared_data / "slurm_topology"
    before = topo.read(folder / "HicrestLaboratory__JobPlacer__jupiter_topo.txt")
    after = read_back(before, "slurm-topology", tmp_path)
    ends = [
        {frozenset(pair) for pair in zip(f.nodes.name[f.link_a], f.nodes.name[f.link_b], strict=True)}
        for f in (before, after)
    ]
    assert ends[0] == ends[1] and len(after.endpoints) == 5884


def test_blocks_are_domains_and_sizes_are_positive(tmp_path: Path) -> None:
    fabric = topo.load("nvidia-superpod-gb200-2su-nvl72")
    topo.write(fabric, tmp_path / "b.conf", format="slurm-block")
    text = (tmp_path / "b.conf").read_text()
    assert text.count("BlockName=") == 16 and text.splitlines()[-1] == "BlockSizes=18,36,72,144,288"
    assert len(topo.read(tmp_path / "b.conf").endpoints) == 288
    with pytest.raises(topo.ParameterError, match="no blocks; write the tree"):
        topo.write(topo.fat_tree(4), tmp_path / "b.conf", format="slurm-block")
    assert (tmp_path / "b.conf").read_text() == text


def test_hosts_beside_switches_get_a_switch_of_their_own() -> None:
    import networkx

    graph = networkx.MultiGraph()
    graph.add_node("spine", kind="switch", tier=2)
    graph.add_node("leaf", kind="switch", tier=1)
    for name, at in (("a", "leaf"), ("b", "spine")):
        graph.add_node(name, kind="host", is_endpoint=True, forwards=0)
        graph.add_edge(name, at, capacity_gbps=100.0)
    graph.add_edge("leaf", "spine", capacity_gbps=100.0)
    groups = {group.name: group for group in scheduler_tree(topo.from_networkx(graph)).groups}
    assert groups["spine"].children == ["leaf", "spine-hosts"] and groups["spine-hosts"].hosts == ["b"]


def test_names_that_tell_no_format_are_answered_with_all_of_them(tmp_path: Path) -> None:
    with pytest.raises(topo.ParameterError, match=r"does not tell the format; give format= .*\.fabric native"):
        topo.write(topo.fat_tree(4), tmp_path / "x.foo")
    with pytest.raises(topo.ParameterError, match="nothing writes the format 'ibnetdiscover'"):
        topo.write(topo.fat_tree(4), tmp_path / "x.foo", format="ibnetdiscover")


@pytest.mark.parametrize("row", [row for row in FORMATS if row.writer], ids=lambda row: row.name)
def test_what_is_not_written_is_said(row: Format) -> None:
    name = "nvidia-superpod-h100-1su" if row.name in ("ns-3", "simai") else "nvidia-superpod-gb200-2su-nvl72"
    fabric = topo.server("dgx-h100", inside=True) if row.name == "nccl" else topo.load(name)
    written = row.write(fabric)
    assert written.data()
    assert bool(written.lost) == (row.name != "native")


def test_kubernetes_labels_name_tiers_and_domains() -> None:
    from topo.io.written.kubernetes import write_kubernetes

    items = json.loads(write_kubernetes(topo.load("nvidia-superpod-gb200-2su-nvl72")).content)["items"]
    labels = items[0]["metadata"]["labels"]
    assert len(items) == 288 and labels["network.topology.nvidia.com/accelerator"] == "gb200-nvl72-01"


def test_the_name_of_an_only_adapter_is_said_to_be_lost() -> None:
    text = "A-Node Name,A-Port,A-Type,Z-Node Name,Z-Port\nn1,HCA-1,host,leaf-1,1\nn2,HCA-1,host,leaf-1,2\n"
    fabric = topo.io.fabric_of_text(text, "plan.csv")
    assert fabric.nodes.name[fabric.endpoints].tolist() == ["n1 HCA-1", "n2 HCA-1"]
    assert "names of adapters: 2 here, alone in a host each, go by the host's" in merged_hosts(fabric).lost
