"""Odd wirings never break a validation: it answers, or refuses in one sentence."""

from __future__ import annotations

import json

import numpy as np
import pytest

import topo
from topo.fabric import Fabric, LinkTable, NodeTable, PortTable
from topo.table import Labels
from topo.wiring import to_csv, to_junit, to_text, validate


def odd_fabric(rng: np.random.Generator) -> Fabric:
    """Switches and hosts joined at random: shared ports, loops, unknown rates, odd names, several kinds of links."""
    n = int(rng.integers(2, 30))
    is_switch = rng.random(n) < 0.5
    is_switch[0] = True
    n_ports = int(rng.integers(n, 6 * n))
    node = rng.integers(0, n, n_ports)
    n_links = int(rng.integers(1, 4 * n))
    a, b = rng.integers(0, n_ports, (2, n_links))
    keep = a != b
    keep[0] = True
    a[0], b[0] = (0, 1) if n_ports > 1 else (a[0], b[0])
    a, b = a[keep], b[keep]
    labels = [["", "1", "2", "3/1", "swp7", "1/1", "Port 9"][i] for i in rng.integers(0, 7, n_ports)]
    names = [
        ["x", "leaf", "", "MT4129 ConnectX7 Technologies", f"n{i}"][k] for i, k in enumerate(rng.integers(0, 5, n))
    ]
    nodes = NodeTable(
        name=np.array(names, np.str_),
        kind=Labels.of(["switch" if flag else "nic" for flag in is_switch]),
        is_endpoint=~is_switch,
        forwards=np.where(is_switch, 2, 0).astype(np.int8),
        host=Labels.of([None if flag else f"h{i % 3}" for i, flag in enumerate(is_switch)]),
        tier=(is_switch * rng.integers(0, 4, n)).astype(np.int8),
        part=Labels.of([["", "qm9700", "unheard of"][k] or None for k in rng.integers(0, 3, n)]),
    )
    rates = np.where(rng.random(len(a)) < 0.2, np.nan, rng.choice([0.0, 200.0, 400.0], len(a)))
    links = LinkTable(
        port_a=a.astype(np.int32),
        port_b=b.astype(np.int32),
        capacity_gbps=rates,
        kind=Labels.of([["scale_out", "access", "internal", "storage"][k] for k in rng.integers(0, 4, len(a))]),
        evidence=Labels.of([["both ends", "one end", "planned"][k] for k in rng.integers(0, 3, len(a))]),
    )
    return Fabric("odd", nodes, PortTable(node=node.astype(np.int32), label=Labels.of(labels)), links)


@pytest.mark.parametrize("seed", range(60))
def test_an_answer_or_one_sentence(seed: int) -> None:
    rng = np.random.default_rng(seed)
    one, other = odd_fabric(rng), odd_fabric(rng)
    for against in (None, one, other):
        try:
            answer = validate(one, against)
        except topo.TopoError as error:
            assert len(str(error).splitlines()) == 1
            continue
        json.loads(answer.to_json())
        assert to_text(answer) and to_csv(answer) and to_junit(answer)


def test_a_spine_without_any_uplink_is_told_with_the_core_it_lacks() -> None:
    """Its pod's other spines go up; the one core with free ports is where it belongs."""
    design = topo.tapered_pods(
        4, leaves_per_pod=8, hosts_per_leaf=8, spines_per_pod=4, taper=2, leaf_radix=32, spine_radix=32, core_radix=32
    )
    names = design.nodes.name
    spine = int(np.flatnonzero(names == "pod-2-spine-3")[0])
    above = (design.link_a == spine) & (design.nodes.tier[design.link_b] == 3)
    above |= (design.link_b == spine) & (design.nodes.tier[design.link_a] == 3)
    answer = validate(design.without(links=np.flatnonzero(above)), bisection=False)
    told = [one for one in answer.findings if one.severity != "note"]
    assert {one.code for one in told} <= {"pair-absent", "uplinks-fewer"}
    assert all("pod-2-spine-3" in one.place for one in told)
    assert sum(len(one.lacks) for one in told) == int(above.sum())
