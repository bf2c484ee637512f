"""Forwarding tables matched to fabrics: the way round through a file, and every kind of damage."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import topo
from topo.analysis.throughput.effective import effective_bisection
from topo.errors import InputError, ParameterError
from topo.fabric import Fabric, State
from topo.io.forwarding import parse_forwarding, parse_port_addresses
from topo.routing.forwarding import OUTCOMES, ForwardingTable
from topo.routing.next_hops import NextHops
from topo.routing.tables import StaticTable

Entry = Callable[[int, int, int], int | None]


def with_guids(fabric: Fabric) -> Fabric:
    """The fabric with a GUID a node, ports numbered on each node."""
    node = fabric.ports.node.astype(np.int64)
    order = np.argsort(node, kind="stable")
    number = np.empty(len(node), np.int64)
    number[order] = np.arange(len(node)) - np.searchsorted(node[order], node[order]) + 1
    ports = replace(fabric.ports, label=topo_labels(number))
    uid = np.array([f"{0xB8599F0300000000 + 16 * v:016x}" for v in range(len(fabric.nodes))])
    return Fabric(fabric.name, replace(fabric.nodes, uid=uid), ports, fabric.links, fabric.groups, fabric.origin)


def topo_labels(number: np.ndarray) -> object:
    from topo.table import Labels

    return Labels(number - 1, np.arange(1, number.max() + 1).astype(str))


def out_ports(fabric: Fabric, table: StaticTable) -> tuple[np.ndarray, np.ndarray]:
    """Arc and port of every switch towards every endpoint under a static table."""
    hops = table.next_hops
    arc = np.full((len(hops.relays), len(fabric.endpoints)), -1)
    for row in range(len(hops.relays)):
        for end, node in enumerate(fabric.endpoints.tolist()):
            group = hops.group_of[node]
            code = int(hops.table[row, group]) if group >= 0 else -1
            if code >= 0:
                assert table.picks is not None
                arc[row, end] = hops.arcs[hops.start[code] + table.picks[row, end]]
            elif code < -1:
                arc[row, end] = hops.next_arcs(int(hops.relays[row]), node)[0]
    port = np.where(arc % 2 == 0, fabric.links.port_a[arc // 2], fabric.links.port_b[arc // 2])
    label = fabric.ports.label.values()
    return arc, np.where(arc >= 0, np.array([int(label[p]) for p in port.ravel()]).reshape(port.shape), 255)


def written(fabric: Fabric, port: np.ndarray, *, style: str = "ibroute", targets: bool = True) -> str:
    """A dump of such ports: endpoint e has LID e + 1, switches come after."""
    switches = [v for v in range(len(fabric.nodes)) if fabric.nodes.forwards[v] == 2]
    lines = []
    for row, v in enumerate(switches):
        own = len(fabric.endpoints) + row + 1
        guid, name = f"0x{fabric.nodes.uid[v]}", fabric.nodes.name[v]
        if style == "ibroute":
            lines += [
                f"Unicast lids [0x0-0xbfff] of switch Lid {own} guid {guid} ({name}):",
                "  Lid  Out   Destination",
                "       Port     Info",
            ]
        else:
            lines += [f"osm_ucast_mgr_dump_ucast_routes: Switch {guid}", "LID    : Port : Hops : Optimal"]
        for end in range(len(fabric.endpoints)):
            node = fabric.endpoints[end]
            value = int(port[row, end])
            if style == "fdbs":
                lines.append(f"0x{end + 1:04x} : " + ("UNREACHABLE" if value == 255 else f"{value:03d}  : 00   : yes"))
            elif value != 255:
                said = f" : (Channel Adapter portguid 0x{fabric.nodes.uid[node]}: '{fabric.nodes.name[node]}')"
                lines.append(f"0x{end + 1:04x} {value:03d}" + (said if targets else ""))
        lines.append(f"0x{own:04x} : 000  : 00   : yes" if style == "fdbs" else f"0x{own:04x} 000")
    return "\n".join(lines) + "\n"


@pytest.fixture(scope="module")
def small() -> tuple[Fabric, StaticTable, np.ndarray, np.ndarray]:
    fabric = with_guids(topo.leaf_spine(4, 3, 4))
    table = StaticTable.of(NextHops.of(fabric), "min-hop", addresses="shuffled", seed=1)
    return fabric, table, *out_ports(fabric, table)


@pytest.mark.parametrize(("style", "targets"), [("ibroute", True), ("ibroute", False), ("fdbs", False)])
def test_there_and_back(small: tuple, style: str, targets: bool) -> None:
    fabric, table, arc, port = small
    found = ForwardingTable.of(fabric, parse_forwarding(written(fabric, port, style=style, targets=targets), "f"))
    assert (found.arc == arc).all() and found.lid.tolist() == list(range(1, 17)) and found.notes == ()
    ends = fabric.endpoints
    source, sink = np.repeat(ends, 16), np.tile(ends, 16)
    other = source != sink
    arcs = found.paths(source[other], sink[other])
    assert (arcs == table.paths(source[other], sink[other])).all()
    assert found.faults() == []
    assert set(found.follow(source[other], sink[other]).outcome.tolist()) == {OUTCOMES.index("arrived")}


def test_addresses_from_elsewhere_decide(small: tuple) -> None:
    """With a .db_csv that swaps two owners, each is reached by the other's entries, hence led astray."""
    fabric, _, _, port = small
    ends = fabric.endpoints.copy()
    ends[[0, 1]] = ends[[1, 0]]
    rows = "\n".join(f"0x{fabric.nodes.uid[v]},0x0,1,{i + 1}" for i, v in enumerate(ends.tolist()))
    addresses = parse_port_addresses(f"START_PORTS\nNodeGuid,PortGuid,PortNum,LID\n{rows}\nEND_PORTS\n")
    found = ForwardingTable.of(fabric, parse_forwarding(written(fabric, port)), addresses=addresses)
    assert found.lid.tolist() == [2, 1, *range(3, 17)]
    assert {(fault.outcome, fault.sink) for fault in found.faults()} == {
        ("led to another node", int(fabric.endpoints[0])), ("led to another node", int(fabric.endpoints[1]))
    }  # fmt: skip


def test_loop_missing_entry_and_wrong_port_are_found(small: tuple) -> None:
    fabric, _, _, port = small
    relays = [str(fabric.nodes.name[v]) for v in range(len(fabric.nodes)) if fabric.nodes.forwards[v] == 2]
    leaf, spine = [i for i, n in enumerate(relays) if "leaf" in n], [i for i, n in enumerate(relays) if "spine" in n]
    ends = fabric.endpoints

    def port_to(a: int, b: int) -> int:
        hit = int(np.flatnonzero((fabric.arc_source == a) & (fabric.arc_target == b))[0])
        p = fabric.links.port_a[hit // 2] if hit % 2 == 0 else fabric.links.port_b[hit // 2]
        return int(fabric.ports.label[p])

    node = [v for v in range(len(fabric.nodes)) if fabric.nodes.forwards[v] == 2]
    broken = port.copy()
    # Endpoint 15 (leaf 3): leaf 0 sends to spine 0, which sends it back to leaf 0.
    broken[leaf[0], 15] = port_to(node[leaf[0]], node[spine[0]])
    broken[spine[0], 15] = port_to(node[spine[0]], node[leaf[0]])
    # Endpoint 14: leaf 1 has no entry. Endpoint 13: its own leaf hands it to endpoint 12.
    broken[leaf[1], 14] = 255
    broken[leaf[3], 13] = port[leaf[3], 12]
    found = ForwardingTable.of(fabric, parse_forwarding(written(fabric, broken), "f"))
    faults = {(f.outcome, int(np.flatnonzero(ends == f.sink)[0])): f.switches.tolist() for f in found.faults()}
    assert set(faults) == {("in a loop", 15), ("no entry", 14), ("led to another node", 13)}
    assert node[leaf[0]] in faults["in a loop", 15] and node[spine[0]] in faults["in a loop", 15]
    assert faults["no entry", 14] == [node[leaf[1]]]
    assert len(faults["led to another node", 13]) == len(node)
    flows = found.follow(ends[[0, 4, 0, 12]], ends[[15, 14, 13, 0]])
    assert [OUTCOMES[o] for o in flows.outcome] == ["in a loop", "no entry", "led to another node", "arrived"]
    assert (flows.arcs[:, :3] == -1).all() and (flows.arcs[:, 3] >= 0).all()
    result = effective_bisection(fabric, table=found, samples=50)
    assert result.lost_pairs > 0 and result.table == "forwarding tables of f"


def test_what_does_not_match_is_noted(small: tuple) -> None:
    fabric, _, _, port = small
    text = written(fabric, port, targets=False)
    switch = next(v for v in range(len(fabric.nodes)) if fabric.nodes.name[v] == "spine-2")
    text = text.replace(fabric.nodes.uid[switch], "00000000deadbeef")
    # A link that is down in this state, and an address that nobody delivers.
    down = int(np.flatnonzero(fabric.arc_target[::2] == fabric.rows("spine-1")[0])[0])
    state = State.without(fabric, links=[down])
    text = text.replace("Unicast lids", "0x0fff 001\nUnicast lids").replace("0x0fff 001\n", "", 1)
    found = ForwardingTable.of(fabric, parse_forwarding(text, "f"), state=state)
    notes = [str(note) for note in found.notes]
    assert any("switch is not in the fabric; its table is left out: 0x00000000deadbeef spine-2" in n for n in notes)
    assert any("1 switch(es) of the fabric have no table" in n for n in notes)
    assert any("entries for a port that no present cable leaves" in n for n in notes)


def test_address_of_several_and_of_nobody(small: tuple) -> None:
    """Without GUIDs: a second leaf hands out address 1 as well, and nobody delivers address 0x777."""
    fabric, _, _, port = small
    doubled = port.copy()
    doubled[1, 0] = port[1, 4]
    text = written(fabric, doubled, targets=False).replace("\n0x0001 ", "\n0x0777 099\n0x0001 ")
    found = ForwardingTable.of(fabric, parse_forwarding(text, "f"))
    notes = [str(note) for note in found.notes]
    assert "f: address is delivered to several endpoints; it is nobody's: LID 1" in notes
    assert "f: 1 endpoint(s) have no address in the tables, first host-01" in notes
    # Address 1 has no owner for certain, so both count.
    assert "f: 1 address(es) have no owner: no switch delivers them: first LID 1911" in notes
    assert found.lid.tolist() == [0, *range(2, 17)]
    lost = found.follow(fabric.endpoints[5:6], fabric.endpoints[:1])
    assert OUTCOMES[lost.outcome[0]] == "no entry"


def test_refused(small: tuple) -> None:
    fabric, _, _, port = small
    text = written(fabric, port)
    with pytest.raises(InputError, match="f:1: none of the 7 switches is in"):
        ForwardingTable.of(with_other_guids(fabric), parse_forwarding(text, "f"))
    found = ForwardingTable.of(fabric, parse_forwarding(text, "f"))
    with pytest.raises(ParameterError, match="to itself"):
        found.paths(fabric.endpoints[:1], fabric.endpoints[:1])
    with pytest.raises(ParameterError, match="is no endpoint"):
        found.paths(fabric.rows("leaf-1"), fabric.endpoints[:1])


def with_other_guids(fabric: Fabric) -> Fabric:
    uid = np.array([f"{7 + v:016x}" for v in range(len(fabric.nodes))])
    return Fabric(fabric.name, replace(fabric.nodes, uid=uid), fabric.ports, fabric.links, fabric.groups, fabric.origin)


def test_a_real_fabric_there_and_back(shared_data: Path) -> None:
    """A discovered NDR fabric of 40 switches: tables written for it by GUID and port number lead where they should."""
    fabric = topo.read(shared_data / "ibnetdiscover" / "topograph__example.out")
    table = StaticTable.of(NextHops.of(fabric), "min-hop")
    arc, port = out_ports(fabric, table)
    found = ForwardingTable.of(fabric, parse_forwarding(written(fabric, port, targets=False), "f"))
    assert (found.arc == arc).all()
    random = np.random.default_rng(0)
    ends = random.permutation(fabric.endpoints)
    half = len(ends) // 2
    arcs = found.paths(ends[:half], ends[half : 2 * half])
    assert (arcs == table.paths(ends[:half], ends[half : 2 * half])).all()
    assert found.faults() == [] and 0.3 < effective_bisection(fabric, table=found, samples=20).share < 1
