"""A found port is the planned one where its name, its MAC address, its description or its cable says so.

Reports of ports that arrive as MAC addresses, the name in the description alone; expected answers are by hand.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import topo
from topo.wiring import validate
from topo.wiring.answer import Validation

N_SERVERS = 8


def mac(server: int, adapter: int = 1) -> str:
    return f"00:03:00:{server:02x}:00:{adapter:02x}"


def plan(folder: Path, *, with_macs: bool = False, far: str = "eth1") -> Path:
    """Two leaves of four servers each under two spines, as a cabling graph with or without MAC addresses."""
    rows = [f'"leaf{leaf}":"swp5{spine}" -- "spine{spine}":"swp{leaf}"' for leaf in (1, 2) for spine in (1, 2)]
    for server in range(1, N_SERVERS + 1):
        leaf, port = 1 + (server > 4), 1 + (server - 1) % 4
        said = f' [right_mac="{mac(server)}"]' if with_macs else ""
        rows.append(f'"leaf{leaf}":"swp{port}" -- "server{server}":"{far.format(server)}"{said}')
    nodes = [f'"server{server}" [function="host"]' for server in range(1, N_SERVERS + 1)]
    path = folder / "plan.dot"
    path.write_text("graph plan {\n" + "\n".join((*nodes, *rows)) + "\n}\n")
    return path


def heard(folder: Path, port_of: dict[int, dict[str, object]], server_of: dict[int, str] | None = None) -> Path:
    """What the leaves hear: ``port_of`` each server is how it tells its port, ``server_of`` how it tells its name."""
    told: dict[str, dict[str, object]] = {}
    for leaf in (1, 2):
        ports: dict[str, object] = {}
        for spine in (1, 2):
            ports[f"swp5{spine}"] = {"chassis": {f"spine{spine}": {}}, "port": {"id": {"value": f"swp{leaf}"}}}
        for port in range(1, 5):
            server = 4 * (leaf - 1) + port
            name = (server_of or {}).get(server, f"server{server}")
            ports[f"swp{port}"] = {"chassis": {name: {}}, "port": port_of[server]}
        told[f"leaf{leaf}"] = {"lldp": {"interface": ports}}
    path = folder / "found.json"
    path.write_text(json.dumps(told))
    return path


def by_mac(server: int, adapter: int = 1, **more: object) -> dict[str, object]:
    return {"id": {"type": "mac", "value": mac(server, adapter)}, **more}


def codes(answer: Validation) -> list[str]:
    """Codes above a note; that servers and spines were not asked is one finding of its own."""
    told = sorted(one.code for one in answer.findings if one.severity != "note")
    assert told.count("link-one-sided") == 1
    return [code for code in told if code != "link-one-sided"]


def test_mac_addresses_that_the_plan_does_not_hold_are_no_faults(tmp_path: Path) -> None:
    found = heard(tmp_path, {server: by_mac(server) for server in range(1, 9)})
    answer = validate(found, plan(tmp_path))
    assert codes(answer) == []
    assert dict(answer.counts)["common_cables"] == 12
    assert any("8 by the other end of the cable" in rule for rule in answer.rules)


def test_mac_addresses_of_the_plan_tell_the_port(tmp_path: Path) -> None:
    found = heard(tmp_path, {server: by_mac(server) for server in range(1, 9)})
    answer = validate(found, plan(tmp_path, with_macs=True))
    assert codes(answer) == []
    assert any("ports not told by their name: 8 by MAC address" in rule for rule in answer.rules)


@pytest.mark.parametrize(
    ("said", "rule"),
    [
        ({"id": {"value": "swp1s0"}, "descr": "eth1"}, "8 by description"),
        ({"id": {"type": "mac", "value": mac(9)}, "descr": "eth1"}, "found by name"),
        ({"id": {"type": "mac", "value": mac(9)}, "descr": "towards the rack's leaf"}, "8 by the other end of"),
        ({"id": {"value": "eth1"}, "descr": "bond 7"}, "found by name"),
    ],
)
def test_any_key_that_agrees_is_a_match_and_its_kind_is_stated(
    tmp_path: Path, said: dict[str, object], rule: str
) -> None:
    answer = validate(heard(tmp_path, dict.fromkeys(range(1, 9), said)), plan(tmp_path))
    assert codes(answer) == []
    assert any(rule in one for one in answer.rules), answer.rules
    assert ("ports not told by their name" in " ".join(answer.rules)) == ("8 by" in rule)


def test_a_cable_is_a_fault_where_all_keys_disagree(tmp_path: Path) -> None:
    """Another address than the plan's and another name: a fault; the same address under another name: none."""
    port_of = {server: by_mac(server, descr="ens9") for server in range(1, 9)}
    assert codes(validate(heard(tmp_path, port_of), plan(tmp_path, with_macs=True))) == []
    port_of[3] = by_mac(3, 7, descr="ens9")
    answer = validate(heard(tmp_path, port_of), plan(tmp_path, with_macs=True))
    assert codes(answer) == ["adapter-unlike-plan"]
    assert "server3" in next(one.place for one in answer.findings if one.code == "adapter-unlike-plan")


@pytest.mark.parametrize("with_macs", [False, True])
def test_two_swapped_servers_are_one_swap_whatever_tells_their_ports(tmp_path: Path, with_macs: bool) -> None:
    port_of = {server: by_mac(server) for server in range(1, 9)}
    server_of = {1: "server6", 6: "server1"}
    port_of[1], port_of[6] = port_of[6], port_of[1]
    answer = validate(heard(tmp_path, port_of, server_of), plan(tmp_path, with_macs=with_macs))
    assert codes(answer) == ["swapped"]


def test_a_server_that_goes_by_its_address_is_the_planned_one(tmp_path: Path) -> None:
    server_of = {server: mac(server) for server in (2, 7)}
    found = heard(tmp_path, {server: by_mac(server) for server in range(1, 9)}, server_of)
    answer = validate(found, plan(tmp_path, with_macs=True))
    assert codes(answer) == []
    assert any("10 of 12 planned devices found by name, 2 by MAC address" in rule for rule in answer.rules)


def test_a_description_that_is_another_planned_port_disagrees(tmp_path: Path) -> None:
    """Two adapters a server in the plan: what is told as the second is not the first, though its cable leads there."""
    path = plan(tmp_path)
    text = path.read_text()
    spare = '"leaf2":"swp9" -- "server1":"eth2"'
    path.write_text(text.replace("\n}", f"\n{spare}\n}}"))
    port_of = {server: by_mac(server, descr="eth1") for server in range(1, 9)}
    port_of[1] = by_mac(1, descr="eth2")
    answer = validate(heard(tmp_path, port_of), path)
    assert codes(answer) != []
    told = [one for one in answer.findings if one.code != "link-one-sided"]
    assert all("server1" in one.place or "server1" in one.evidence for one in told)


PLANNED = [("leaf1", f"swp{i}", f"server{1 + i // 2}", f"eth{1 + i % 2}") for i in range(8)]


def schedule(path: Path, rows: list[tuple[str, ...]], header: str) -> Path:
    path.write_text("\n".join([header, *map(",".join, rows)]) + "\n")
    return path


HEADER = "A-Node,A-Port,Z-Node,Z-Port,{}"
BY_POSITION = "Source,Port,Destination,Port,{}"


@pytest.mark.parametrize(
    ("header", "columns"),
    [
        (HEADER.format("Z-MAC"), None),
        (HEADER.format("Z-Port Description"), None),
        (BY_POSITION.format("MAC Address"), None),
        ("w,x,y,z,m", {"a_node": "w", "a_port": "x", "z_node": "y", "z_port": "z", "z_mac": "m"}),
        ("w,x,y,z,m", {"a_node": "w", "a_port": "x", "z_node": "y", "z_port": "z", "z_description": 5}),
    ],
)
@pytest.mark.parametrize("spelt", [str, lambda mac: mac.replace(":", "-").upper()])
def test_a_schedule_matches_by_mac_or_description(tmp_path: Path, header: str, columns, spelt) -> None:  # type: ignore[no-untyped-def]
    """Ports called otherwise, in part by the name of another port of the server, are the planned ones by their word."""
    planned = [(*row, mac(i)) for i, row in enumerate(PLANNED)]
    found = [(*row[:3], f"eth{row[3] == 'eth1'}", spelt(row[4])) for row in planned]
    sides = [schedule(tmp_path / "found.csv", found, header), schedule(tmp_path / "plan.csv", planned, header)]
    answer = validate(*(topo.load(side, columns=columns) for side in sides))
    assert [one.code for one in answer.findings] == []
    assert any("8 by MAC address" in rule for rule in answer.rules), answer.rules
    found[0], found[7] = (*found[7][:2], *found[0][2:]), (*found[0][:2], *found[7][2:])
    schedule(sides[0], found, header)
    answer = validate(*(topo.load(side, columns=columns) for side in sides))
    assert [one.code for one in answer.findings if one.severity != "note"] == ["swapped"]


def test_a_description_of_several_ports_tells_none(tmp_path: Path) -> None:
    """Every port described alike: what is called otherwise is told by its cable or not at all, never by the word."""
    header = HEADER.format("Z-Description")
    planned = [(*row, "to the leaf") for row in PLANNED]
    found = [*planned[:2], ("leaf1", "swp2", "server2", "ens8", "to the leaf"), *planned[3:]]
    answer = validate(schedule(tmp_path / "f.csv", found, header), schedule(tmp_path / "p.csv", planned, header))
    assert answer.n_operations == 0
    found[2], found[3] = (*found[3][:2], *found[2][2:]), (*found[2][:2], *found[3][2:])
    answer = validate(schedule(tmp_path / "f.csv", found, header), schedule(tmp_path / "p.csv", planned, header))
    assert answer.n_operations > 0
