"""Labels of Kubernetes nodes as trees: families, Kueue levels, the caller's levels; domains by their whole label."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest

import topo
from topo.io.kubernetes import read_kubernetes


def node(name: str, **labels: str) -> dict[str, Any]:
    return {"kind": "Node", "metadata": {"name": name, "labels": {k.replace("__", "/"): v for k, v in labels.items()}}}


def listed(*nodes: dict[str, Any]) -> str:
    return json.dumps({"kind": "List", "items": list(nodes)})


AWS = [f"topology.k8s.aws/network-node-layer-{i}" for i in (1, 2, 3)]


def test_levels_of_a_cloud() -> None:
    nodes = [
        node(f"n{i}", **dict(zip(AWS, ("top", f"mid{i // 4}", f"low{i // 2}"), strict=True))) for i in range(8)
    ]  # fmt: skip
    fabric = read_kubernetes(listed(*nodes))
    tier = dict(zip(fabric.nodes.name.tolist(), fabric.nodes.tier.tolist(), strict=True))
    assert [name for name, height in tier.items() if height == 1] == ["low0", "low1", "low2", "low3"]
    assert tier["top"] == 3
    assert len(fabric.links) == 8 + 4 + 2
    assert fabric.nodes.pod.values(fabric.rows(["n0", "n7"])).tolist() == ["mid0", "mid1"]


def test_three_clusters_that_share_a_clique_number_stay_three_domains() -> None:
    leaf = "network.topology.nvidia.com/leaf"
    nodes = [node(c, **{leaf: "l", "nvidia.com/gpu.clique": f"{c}.32766"}) for c in "ABC"]
    assert len(read_kubernetes(listed(*nodes)).nodes.domain.labels) == 3


LEAF = "network.topology.nvidia.com/leaf"
CLIQUE = "nvidia.com/gpu.clique"
ACCELERATOR = "network.topology.nvidia.com/accelerator"


def domains(**labels: str) -> tuple[dict[str, str], list[str]]:
    """Domain of each node, all under one leaf, by its label of a clique; and the notes about cliques."""
    nodes = [node(name, **{LEAF: "l", CLIQUE: label}) for name, label in labels.items()]
    fabric = read_kubernetes(json.dumps({"items": nodes}, indent=0), "k")
    at = fabric.endpoints
    found = dict(zip(fabric.nodes.name[at].tolist(), fabric.nodes.domain.values(at).tolist(), strict=True))
    return found, [str(note) for note in fabric.origin.notes if "clique" in note.text]


def test_two_cliques_of_one_cluster_are_two_domains() -> None:
    found, said = domains(n1="A.1", n2="A.2", n3="A.1", n4="A.2")
    assert found == {"n1": "A.1", "n2": "A.2", "n3": "A.1", "n4": "A.2"}
    assert not said


@pytest.mark.parametrize("bare", ["32766", "1", "00000000-0000-0000-0000-000000000000.0", ".32766"])
def test_a_clique_number_without_its_cluster_joins_nobody(bare: str) -> None:
    found, said = domains(n1=bare, n2=bare, n3="A.32766", n4="A.32766")
    assert found == {"n1": "", "n2": "", "n3": "A.32766", "n4": "A.32766"}
    text = "clique number without its cluster, which unrelated racks share; the node is in no scale-up domain"
    assert said == [f"k:{line}: {text}: {name}: {CLIQUE}={bare}" for line, name in ((6, "n1"), (16, "n2"))]


def test_domains_alone_where_no_label_names_a_tier() -> None:
    clusters = [f"{letter * 8}-1111-2222-3333-444444444444" for letter in "abc"]
    nodes = [node(f"n{i}{j}", **{CLIQUE: f"{cluster}.7"}) for i, cluster in enumerate(clusters) for j in range(2)]
    fabric = topo.read(io.StringIO(listed(*nodes, node("login", **{"kubernetes.io__os": "linux"}))))
    found = dict(zip(fabric.nodes.name.tolist(), fabric.nodes.domain.values().tolist(), strict=True))
    assert found == {f"n{i}{j}": f"{clusters[i]}.7" for i in range(3) for j in range(2)} | {"login": ""}
    assert (len(fabric.endpoints), len(fabric.switches), len(fabric.links)) == (7, 0, 0)
    said = [note.text for note in fabric.origin.notes]
    assert any("scale-up domains alone are read" in text for text in said)
    assert "1 of 7 nodes are in no scale-up domain" in said


def test_only_the_sentinel_is_refused_as_a_number_of_other_labels() -> None:
    nodes = [node(f"n{i}", **{LEAF: "l", ACCELERATOR: label}) for i, label in enumerate(("7", "7", "32766", "32766"))]
    fabric = read_kubernetes(listed(*nodes))
    assert fabric.nodes.domain.values(fabric.endpoints).tolist() == ["7", "7", "", ""]


def test_racks_of_one_name_in_two_blocks_stay_two() -> None:
    nodes = [node(f"n{i}{j}", block=f"b{i}", rack="r1") for i in range(2) for j in range(2)]
    fabric = read_kubernetes(listed(*nodes), levels=["block", "rack"])
    assert [str(name) for name in fabric.nodes.name if fabric.nodes.tier[fabric.rows(str(name))[0]] == 1] == [
        "b0/r1",
        "b1/r1",
    ]


def test_a_kueue_topology_names_the_levels() -> None:
    topology = {
        "kind": "Topology",
        "spec": {"levels": [{"nodeLabel": "zone"}, {"nodeLabel": "rack"}, {"nodeLabel": "kubernetes.io/hostname"}]},
    }
    text = listed(topology, node("a", zone="z", rack="r1"), node("b", zone="z", rack="r2"), node("c", zone="z"))
    fabric = read_kubernetes(text, "k")
    assert len(fabric.endpoints) == 2
    assert "k: node without a label of a level, left out: c: rack" in [str(note) for note in fabric.origin.notes]


def test_levels_are_asked_for(tmp_path: Any) -> None:
    path = tmp_path / "nodes.json"
    path.write_text(listed(node("a", my__rack="r1"), node("b", my__rack="r2")))
    with pytest.raises(topo.FormatError, match=r"no label of the nodes is known .* there are: my/rack\. .*levels="):
        topo.read(path)
    assert len(topo.read(path, levels=["my/rack"]).switches) == 2
    path.write_text(listed(node("a", **{CLIQUE: "5"}), node("b", **{CLIQUE: "5"})))
    with pytest.raises(topo.FormatError, match=r"no label of the nodes is known .* there are: nvidia.com/gpu.clique"):
        topo.read(path)
    path.write_text(listed(node("a", my__rack="r1"), node("b", my__rack="r2")))
    with pytest.raises(topo.FormatError, match="2 of 2 nodes lack a label of the levels zone"):
        topo.read(path, levels=["zone"])
    with pytest.raises(topo.ParameterError, match="give a list of label names"):
        topo.read(path, levels="zone")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "text", ["{}", "[]", '{"items": []}', '{"items": [{"kind": "Pod", "metadata": {"name": "x"}}]}']
)
def test_no_node_is_an_error(text: str) -> None:
    with pytest.raises(topo.FormatError, match="no Node object"):
        read_kubernetes(text)
