"""Assembly: cages, breakouts, radix and rate budgets, prefixes; every number counted by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import topo
from topo.build.assembly import Assembly, numbered
from topo.fabric import FORWARDS_NOTHING, FORWARDS_OWN_HOST, Fabric


def pair(n_hosts: int, legs: int, *, radix: int, port_gbps: float = 400, per_cage: int = 2) -> Fabric:
    """One leaf with ``n_hosts`` hosts on ports split into ``legs``."""
    assembly = Assembly("pair")
    leaf = assembly.add_nodes(
        ["leaf"], kind="switch", tier=1, radix=radix, port_gbps=port_gbps, ports_per_cage=per_cage
    )
    hosts = assembly.add_nodes(
        numbered("h{}", np.arange(n_hosts)), kind="host", is_endpoint=True, forwards=FORWARDS_NOTHING
    )
    assembly.connect(hosts, np.repeat(leaf, n_hosts), port_gbps / legs, kind="access", legs=legs)
    return assembly.finish()


@settings(max_examples=60, deadline=None)
@given(n_hosts=st.integers(1, 40), legs=st.integers(1, 8), free=st.integers(0, 5), per_cage=st.integers(1, 4))
def test_breakouts_take_one_port_a_cable(n_hosts: int, legs: int, free: int, per_cage: int) -> None:
    slots = -(-n_hosts // legs)
    fabric = pair(n_hosts, legs, radix=slots + free, per_cage=per_cage)
    mine = fabric.ports.node == 0
    label = fabric.ports.label.values(np.flatnonzero(mine)).tolist()
    expected = []
    for slot in range(slots):
        n_legs = min(legs, n_hosts - slot * legs)
        expected += [f"{slot + 1}/{leg + 1}" for leg in range(n_legs)] if legs > 1 else [str(slot + 1)]
    expected += [str(slots + i + 1) for i in range(free)]
    assert label == expected
    slot_of_port = np.array([int(text.split("/")[0]) - 1 for text in label])
    assert fabric.ports.cage[mine].tolist() == (slot_of_port // per_cage).tolist()
    assert fabric.ports.cage[~mine].tolist() == [-1] * n_hosts
    cable = fabric.links.cable.tolist()
    assert cable == ([i // legs for i in range(n_hosts)] if legs > 1 else [-1] * n_hosts)
    assert topo.inventory(fabric).n_cables == slots
    rates = fabric.ports.gbps[mine]
    assert (rates[: len(label) - free] == 400 / legs).all() and (rates[len(label) - free :] == 400).all()


def test_legs_of_several_switches_do_not_share_cables() -> None:
    assembly = Assembly("two")
    leaves = assembly.add_nodes(["a", "b"], kind="switch", tier=1, radix=2, port_gbps=400)
    hosts = assembly.add_nodes(numbered("h{}", np.arange(6)), kind="host", is_endpoint=True)
    assembly.connect(hosts, leaves[[0, 1, 0, 1, 0, 1]], 200, kind="access", legs=2)
    more = assembly.add_nodes(["h6"], kind="host", is_endpoint=True)
    with pytest.raises(topo.ParameterError, match="a needs 3 ports but has a radix of 2"):
        assembly.connect(more, leaves[:1], 200, kind="access", legs=2)
        assembly.finish()
    assembly = Assembly("two")
    leaves = assembly.add_nodes(["a", "b"], kind="switch", tier=1, radix=2, port_gbps=400)
    hosts = assembly.add_nodes(numbered("h{}", np.arange(6)), kind="host", is_endpoint=True)
    assembly.connect(hosts, leaves[[0, 1, 0, 1, 0, 1]], 200, kind="access", legs=2)
    fabric = assembly.finish()
    assert fabric.links.cable.tolist() == [0, 2, 0, 2, 1, 3]
    leaf_of_cable = {(c, b) for c, b in zip(fabric.links.cable.tolist(), fabric.link_b.tolist(), strict=True)}
    assert len(leaf_of_cable) == 4


@pytest.mark.parametrize(
    ("legs", "gbps", "message"),
    [
        (1, 800, r"would carry 800 Gb/s on a port of 400 Gb/s"),
        (4, 200, r"leaf would carry 800 Gb/s on a port of 400 Gb/s"),
    ],
)
def test_a_cable_faster_than_its_port_is_refused(legs: int, gbps: float, message: str) -> None:
    assembly = Assembly("fast")
    leaf = assembly.add_nodes(["leaf"], kind="switch", tier=1, radix=8, port_gbps=400)
    hosts = assembly.add_nodes(numbered("h{}", np.arange(4)), kind="host", is_endpoint=True)
    assembly.connect(hosts, np.repeat(leaf, 4), gbps, kind="access", legs=legs)
    with pytest.raises(topo.ParameterError, match=message):
        assembly.finish()


def test_adapters_behind_one_cage_share_it_for_cables_only() -> None:
    assembly = Assembly("twin-port")
    nics = assembly.add_nodes(
        numbered("nic-{}", np.arange(4)), kind="nic", is_endpoint=True, forwards=FORWARDS_OWN_HOST, cages=[9, 9, 3, 3]
    )
    pcie = assembly.add_nodes(["pcie"], kind="pcie", tier=-1, forwards=FORWARDS_OWN_HOST)
    leaf = assembly.add_nodes(["leaf"], kind="switch", tier=1, radix=4, port_gbps=400, ports_per_cage=2)
    assembly.connect(nics, np.repeat(pcie, 4), 512, kind="host_io")
    assembly.connect(nics, np.repeat(leaf, 4), 400, kind="access")
    fabric = assembly.finish()
    access = fabric.links.kind.is_any("access")
    assert fabric.ports.cage[fabric.links.port_b[access]].tolist() == [0, 0, 1, 1]
    nic_cage = fabric.ports.cage[fabric.links.port_a[access]]
    assert nic_cage[0] == nic_cage[1] != nic_cage[2] == nic_cage[3]
    assert not set(nic_cage.tolist()) & {0, 1}
    inside = np.concatenate([fabric.links.port_a[~access], fabric.links.port_b[~access]])
    assert (fabric.ports.cage[inside] == -1).all()
    with pytest.raises(topo.ParameterError, match="cages has 2 numbers for 3 nodes"):
        assembly.add_nodes(["a", "b", "c"], kind="nic", cages=[1, 2])


def test_within_nests_and_ends() -> None:
    assembly = Assembly("nested")
    with assembly.within("p1-", plane="1"), assembly.within("z-", pod="z"):
        assembly.add_nodes(["leaf"], kind="switch", tier=1)
        assembly.add_nodes(["other"], kind="switch", tier=1, pod="own")
    assembly.add_nodes(["core"], kind="switch", tier=3)
    nodes = assembly.finish().nodes
    assert nodes.name.tolist() == ["p1-z-leaf", "p1-z-other", "core"]
    assert nodes.plane.values().tolist() == ["1", "1", ""]
    assert nodes.pod.values().tolist() == ["z", "own", ""]
