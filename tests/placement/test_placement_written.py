"""Placements as other programs read them."""

from __future__ import annotations

import json
import re

import pytest
import yaml

import topo
from topo.errors import ParameterError
from topo.placement.fold import hosts_of
from topo.placement.job import Job
from topo.placement.names import folded
from topo.placement.placement import Placement, on_hosts, read_ranks
from topo.placement.written import FORMATS, write_placement


@pytest.fixture(scope="module")
def fabric() -> topo.Fabric:
    return topo.rail_optimized(12, rails=4, hosts_per_unit=4, radix=16)


@pytest.fixture(scope="module")
def placed(fabric) -> Placement:  # type: ignore[no-untyped-def]
    return on_hosts(hosts_of(fabric), Job(12), [9, 0, 1])


def test_node_lists(fabric, placed) -> None:  # type: ignore[no-untyped-def]
    assert write_placement(fabric, placed, "nodelist") == "host-[01-02,10]\n"
    assert write_placement(fabric, placed, "slurm") == "--nodelist=host-[01-02,10] --switches=2\n"


@pytest.mark.parametrize(
    ("names", "text"),
    [
        (["a1", "a2", "a10"], "a[1-2,10]"),
        (["a01", "a1"], "a01,a1"),
        (["a08", "a09", "a10", "a11"], "a[08-11]"),
        (["r1-n01", "r1-n03", "r2-n01"], "r1-n[01,03],r2-n01"),
        (["x1y", "x2y"], "x[1-2]y"),
        (["login"], "login"),
        (["n0", "n1"], "n[0-1]"),
    ],
)
def test_folding(names: list[str], text: str) -> None:
    assert folded(names) == text
    assert sorted(unfolded(text)) == sorted(names)


def unfolded(text: str) -> list[str]:
    out = []
    for part in re.findall(r"[^,\[]+(?:\[[^\]]*\][^,]*)?", text):
        match = re.match(r"(.*)\[(.*)\](.*)", part)
        if not match:
            out.append(part)
            continue
        for piece in match[2].split(","):
            first, _, last = piece.partition("-")
            for number in range(int(first), int(last or first) + 1):
                out.append(f"{match[1]}{number:0{len(first)}}{match[3]}")
    return out


def test_rank_and_host_files_come_back(fabric, placed) -> None:  # type: ignore[no-untyped-def]
    hosts = hosts_of(fabric)
    for format in ("rankfile", "hostfile"):
        text = write_placement(fabric, placed, format)
        assert read_ranks(hosts, Job(12), text).rows.tolist() == placed.rows.tolist()
    assert write_placement(fabric, placed, "hostfile") == "host-10 slots=4\nhost-01 slots=4\nhost-02 slots=4\n"
    assert write_placement(fabric, placed, "rankfile").splitlines()[4] == "rank 4=host-01 slot=0"


def test_kubernetes_and_json(fabric, placed) -> None:  # type: ignore[no-untyped-def]
    snippet = yaml.safe_load(write_placement(fabric, placed, "kubernetes"))
    terms = snippet["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    assert terms[0]["matchExpressions"][0] == {
        "key": "kubernetes.io/hostname", "operator": "In", "values": ["host-10", "host-01", "host-02"],
    }  # fmt: skip
    value = json.loads(write_placement(fabric, placed, "json"))
    assert value["hosts"] == ["host-10", "host-01", "host-02"]
    assert [rank["row"] for rank in value["ranks"]] == placed.rows.tolist()


def test_unknown_formats_and_hostile_names(fabric, placed) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ParameterError, match="unknown format 'pbs'"):
        write_placement(fabric, placed, "pbs")
    from topo.build.assembly import Assembly
    from topo.table import Labels

    assembly = Assembly("odd")
    host = assembly.add_nodes(
        ["x\n- evil", "b"], kind="host", is_endpoint=True, forwards=0, host=Labels.of(["x\n- evil", "b"])
    )
    leaf = assembly.add_nodes(["leaf"], kind="switch", tier=1)
    assembly.connect(host, leaf[[0, 0]], 100, kind="access")
    odd = assembly.finish()
    for format in FORMATS:
        if format == "json":
            assert json.loads(write_placement(odd, Placement.of(host), format))["hosts"] == ["x\n- evil", "b"]
        else:
            with pytest.raises(ParameterError, match="holds signs"):
                write_placement(odd, Placement.of(host), format)
