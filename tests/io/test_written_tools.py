"""NCCL, ASTRA-sim, InfraGraph and plain schedules: read back they are the same; what does not fit is refused."""

from __future__ import annotations

import csv
import io
from collections import Counter
from itertools import product
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import topo
from topo.fabric import Fabric
from topo.io import FORMATS, fabric_of_bytes, fabric_of_text
from topo.io.written.astra import write_astra
from topo.io.written.infragraph import write_infragraph
from topo.io.written.nccl import write_nccl
from topo.io.written.schedule import write_schedule

QUICK = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
WRITERS = {row.name: row for row in FORMATS if row.writer}
READ_AS = {"slurm-block": "slurm-topology", "simai": "ns-3", "netbox": "schedule"}


def wires(fabric: Fabric) -> Counter[tuple[frozenset[str], float]]:
    """Cables by the machines at their ends: the host where there is one."""
    hosts = fabric.nodes.host.values().tolist()
    kinds = fabric.nodes.kind.values().tolist()
    names = [
        host if host and "switch" not in kind else name
        for name, host, kind in zip(fabric.nodes.name.tolist(), hosts, kinds, strict=True)
    ]
    ends = zip(fabric.link_a.tolist(), fabric.link_b.tolist(), fabric.links.capacity_gbps.tolist(), strict=True)
    return Counter((frozenset({names[a], names[b]}), rate) for a, b, rate in ends)


def with_names(fabric: Fabric, names: list[str]) -> Fabric:
    columns = {each: getattr(fabric.nodes, each) for each in fabric.nodes.columns()}
    columns["name"] = np.array(names, np.str_)
    columns.pop("host")
    return Fabric("odd", type(fabric.nodes)(**columns), fabric.ports, fabric.links)


@st.composite
def families(draw: st.DrawFn) -> Fabric:
    number = st.integers(1, 4)
    kind = draw(st.sampled_from(["leaf-spine", "fat tree", "rails", "dragonfly"]))
    if kind == "leaf-spine":
        sizes = {"leaves": draw(number), "spines": draw(number), "hosts_per_leaf": draw(number)}
        rate = draw(st.sampled_from([25.78125, 400.0]))
        return topo.leaf_spine(**sizes, parallel=draw(st.integers(1, 3)), link_gbps=rate)
    if kind == "fat tree":
        return topo.fat_tree(2 * draw(number))
    if kind == "dragonfly":
        return topo.dragonfly(p=draw(number), a=draw(st.integers(2, 4)), h=draw(st.integers(1, 2)))
    return topo.load("nvidia-superpod-h100-1su")


# NCCL


def parts(fabric: Fabric) -> tuple[Counter[str], Counter[Any]]:
    kinds = fabric.nodes.kind.values().tolist()
    ends = zip(fabric.link_a.tolist(), fabric.link_b.tolist(), fabric.links.capacity_gbps.tolist(), strict=True)
    between = Counter(
        (frozenset({kinds[a], kinds[b]}), repr(rate)) for a, b, rate in ends if {kinds[a], kinds[b]} != {"cpu"}
    )
    return Counter(kinds), between


@pytest.mark.parametrize("name", ["dgx-h100", "dgx-a100", "dgx-b200"])
def test_an_opened_server_comes_back_from_nccl(name: str) -> None:
    fabric = topo.server(name, inside=True)
    found = fabric_of_text(write_nccl(fabric).content, "host.xml")
    assert parts(found) == parts(fabric)
    assert sorted(found.nodes.local_index[found.endpoints].tolist()) == list(range(8))


def test_real_hosts_come_back_from_nccl(shared_data: Path) -> None:
    equal = 0
    files = sorted((shared_data / "nccl_topo").glob("*topo*.xml"))
    for path in files:
        fabric = topo.read(path)
        found = fabric_of_text(write_nccl(fabric).content, str(path))
        assert parts(found) == parts(fabric), path.name
        equal += found.equals(fabric)
    assert equal >= len(files) - 1  # one lists what it hangs at the CPU in another order


def test_nccl_is_one_opened_host() -> None:
    for fabric, said in (
        (topo.load("nvidia-superpod-gb200-2su-nvl72"), "it has 288 hosts|hosts"),
        (topo.fat_tree(4), "one host|one opened host"),
    ):
        with pytest.raises(topo.ParameterError, match=said):
            write_nccl(fabric)


def test_pcie_that_no_slot_has_is_refused() -> None:
    fabric = topo.server("dgx-h100", inside=True)
    rates = fabric.links.capacity_gbps.copy()
    rates[fabric.links.kind.is_any("host_io")] = 500.0
    columns = {each: getattr(fabric.links, each) for each in fabric.links.columns()} | {"capacity_gbps": rates}
    with pytest.raises(topo.ParameterError, match="500 Gb/s, which is no PCIe link"):
        write_nccl(Fabric("x", fabric.nodes, fabric.ports, type(fabric.links)(**columns)))


# ASTRA-sim


@pytest.mark.parametrize(
    ("shape", "counts", "bandwidth"),
    [("Ring", [6], [50]), ("FullyConnected", [5], [12.5]), ("Switch", [7], [25]), ("Ring", [2], [50])],
)
def test_what_astra_reads_is_written_again(shape: str, counts: list[int], bandwidth: list[float]) -> None:
    text = f"topology: [ {shape} ]\nnpus_count: {counts}\nbandwidth: {bandwidth}\n"
    fabric = fabric_of_text(text, "n.yml")
    said = yaml.safe_load(write_astra(fabric).content)
    assert (said["npus_count"], said["bandwidth"]) == (counts, bandwidth)
    assert said["topology"] == [shape] or counts == [2]
    assert wires(fabric_of_text(write_astra(fabric).content, "n.yml")) == wires(fabric)


@QUICK
@given(st.lists(st.integers(2, 5), min_size=1, max_size=3))
def test_tori_come_back_from_astra(sizes: list[int]) -> None:
    fabric = topo.torus(tuple(sizes))
    try:
        content = write_astra(fabric).content
    except topo.ParameterError as error:  # a ring of two that has two cables
        assert "several links" in str(error) and 2 in sizes
        return
    found = fabric_of_text(content, "n.yml")
    graphs = [nx.Graph(list(zip(f.link_a.tolist(), f.link_b.tolist(), strict=True))) for f in (found, fabric)]
    assert nx.faster_could_be_isomorphic(*graphs)
    assert sorted(found.links.capacity_gbps.tolist()) == sorted(fabric.links.capacity_gbps.tolist())


def test_every_product_of_rings_switches_and_meshes_is_written_again() -> None:
    sides = list(product(("Ring", "Switch", "FullyConnected"), (2, 3, 4)))
    for dimensions in (
        *product(sides, repeat=1),
        *product(sides, repeat=2),
        *product(sides[:2] + sides[3:5], repeat=3),
    ):
        shapes, counts = zip(*dimensions, strict=True)
        rates = [100 * 2**axis for axis in range(len(counts))]
        text = f"topology: [{', '.join(shapes)}]\nnpus_count: {list(counts)}\nbandwidth: {rates}\n"
        fabric = fabric_of_text(text, "n.yml")
        content = write_astra(fabric).content
        assert yaml.safe_load(content)["bandwidth"] == rates, dimensions
        assert wires(fabric_of_text(content, "n.yml")) == wires(fabric), dimensions


@pytest.mark.parametrize(("n", "k"), [(2, 0), (5, 0), (2, 1), (4, 1), (2, 2), (3, 2), (2, 3)])
def test_a_bcube_is_a_switch_in_every_digit(n: int, k: int) -> None:
    fabric = topo.bcube(n, k, link_gbps=200)
    content = write_astra(fabric).content
    said = yaml.safe_load(content)
    assert (said["topology"], said["npus_count"], said["bandwidth"]) == (
        ["Switch"] * (k + 1),
        [n] * (k + 1),
        [25] * (k + 1),
    )
    found = fabric_of_text(content, "n.yml")
    graphs = [nx.Graph(list(zip(f.link_a.tolist(), f.link_b.tolist(), strict=True))) for f in (found, fabric)]
    assert nx.is_isomorphic(*graphs)
    assert set(found.links.capacity_gbps.tolist()) == {200.0}


def test_domains_under_a_scale_out_are_two_switches() -> None:
    said = yaml.safe_load(write_astra(topo.load("nvidia-superpod-gb200-2su-nvl72")).content)
    assert said["topology"] == ["Switch", "Switch"] and said["npus_count"] == [72, 16]
    assert said["bandwidth"] == [900, 50]  # 18 NVLinks of 50 GB/s; one port of 400 Gb/s


@pytest.mark.parametrize(
    ("fabric", "reason"),
    [
        (lambda: topo.load("leaf-spine-2to1"), "oversubscribed: leaf-01 has 12800 Gb/s down and 6400 up"),
        (lambda: topo.leaf_spine(leaves=2, spines=2, hosts_per_leaf=2).without(nodes="spine-*"), "reach each other"),
        (lambda: topo.dragonfly(p=2, a=4, h=2), "one tier are joined"),
        (lambda: topo.dcell(3, 1), "relay for each other"),
    ],
)
def test_what_does_not_factorise_is_refused_with_the_reason(fabric: Any, reason: str) -> None:
    with pytest.raises(topo.ParameterError, match=f"does not factorise .*{reason}"):
        write_astra(fabric())


# InfraGraph and schedules


@QUICK
@given(families())
def test_cables_come_back_from_infragraph_and_schedules(fabric: Fabric) -> None:
    for write in (write_infragraph, write_schedule):
        found = fabric_of_text(str(write(fabric).content), "out")
        assert wires(found) == wires(fabric), write.__name__


def test_infragraph_is_plain_yaml_whose_names_its_schema_takes() -> None:
    import re

    said = yaml.safe_load(
        write_infragraph(with_names(topo.fat_tree(2), ["a.b", "a:b", "ä", "x/y", "p q", "a-b", "[0]"])).content
    )
    names = [said["name"], *(each["name"] for key in ("devices", "links", "instances") for each in said[key])]
    assert all(re.fullmatch(r"[\sa-zA-Z0-9-_()><\[\]]+", name) for name in names), names
    assert len({each["name"] for each in said["instances"]}) == 7
    devices = {each["name"]: {part["name"]: part["count"] for part in each["components"]} for each in said["devices"]}
    of = {each["name"]: each["device"] for each in said["instances"]}
    for edge in said["edges"]:
        for end in (edge["ep1"], edge["ep2"]):
            part, number = re.fullmatch(r"(\w+)\[(\d+)\]", end["component"]).groups()  # type: ignore[union-attr]
            assert int(number) < devices[of[end["instance"]]][part]


def test_no_cable_makes_no_schedule() -> None:
    with pytest.raises(topo.ParameterError, match="no cable joins two machines"):
        write_schedule(topo.server("dgx-h100").without(links=np.arange(len(topo.server("dgx-h100").links))))


def test_the_schedule_validates_against_its_fabric(tmp_path: Path) -> None:
    fabric = topo.load("nvidia-superpod-h100-1su")
    topo.write(fabric, tmp_path / "s.csv", format="schedule")
    assert not topo.validate(tmp_path / "s.csv", fabric).findings


# Hostile names


HOSTILE = [
    '=cmd|" /C calc"!A0',
    'a"b\nc',
    "<x>&amp;]]>",
    "{{7*7}} #: - !!python/object",
    "@SUM(1)",
    "back\\slash\\",
    "+1",
]


@pytest.mark.parametrize("format", sorted(WRITERS.keys() - {"nccl", "astra-sim"}))
def test_hostile_names_are_written_as_names_or_refused(format: str, tmp_path: Path) -> None:
    plain = topo.leaf_spine(leaves=2, spines=1, hosts_per_leaf=2)
    fabric = with_names(plain, HOSTILE)
    out = tmp_path / "out"
    out.write_text("what was there")
    try:
        topo.write(fabric, out, format=format)
    except topo.TopoError:
        assert out.read_text() == "what was there"
        return
    data = out.read_bytes()
    if format == "native":
        assert topo.read(out).equals(fabric)
        return
    try:
        found = fabric_of_bytes(data, "out", format=READ_AS.get(format, format))
    except topo.TopoError as error:
        assert format == "slurm-block", error
        return
    assert len(found.links) >= (4 if format in ("topograph", "slurm-topology", "slurm-yaml", "kubernetes") else 6)
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


@pytest.mark.parametrize("format", ["schedule", "netbox"])
def test_no_cell_is_a_formula(format: str) -> None:
    fabric = with_names(topo.leaf_spine(leaves=2, spines=1, hosts_per_leaf=2), HOSTILE)
    cells = [cell for row in csv.reader(io.StringIO(str(WRITERS[format].write(fabric).content))) for cell in row]
    assert any("cmd" in cell for cell in cells)
    assert not [cell for cell in cells if cell[:1] in ("=", "+", "@", "-", "\t", "\r")]
