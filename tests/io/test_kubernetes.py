"""Labels of Kubernetes nodes as trees: families, Kueue levels, the caller's levels; domains by their whole label."""

from __future__ import annotations

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
