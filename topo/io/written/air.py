"""Write a fabric as an NVIDIA Air topology: JSON with nodes and pairs of interfaces."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import numpy as np

from topo.io.written import Written, left_unsaid, names_that_fit, several_ports
from topo.io.written.hosts import Machines, merged_hosts
from topo.output import plain
from topo.table import Array

if TYPE_CHECKING:
    from topo.fabric import Fabric

__all__ = ["write_air"]

_NO_NAME = re.compile(r"[^A-Za-z0-9_.-]+")
_MOST_INTERFACE = 15
_OS = {"switch": "cumulus-vx-5.9.1", "host": "generic/ubuntu2204"}


def write_air(fabric: Fabric) -> Written:
    """The fabric as JSON for NVIDIA Air; switches boot Cumulus VX, all else a plain server; no rates, no tiers.

    The adapters of a host are interfaces of one server there. Parts inside hosts cannot be simulated and are left out.
    Names are what the simulated machines can bear: host names, and interfaces of at most 15 characters, where a port
    of a switch that is a number alone is ``swp`` and the number.

    >>> import json, topo
    >>> content = json.loads(write_air(topo.fat_tree(4)).content)["content"]
    >>> len(content["nodes"]), len(content["links"]), content["links"][0][1]
    (36, 48, {'node': 'pod-1-leaf-1', 'interface': 'swp1'})
    """
    machines = merged_hosts(fabric)
    names = names_that_fit(machines.names, _NO_NAME)
    node = machines.of_node[machines.port_node]
    cabled = np.unique(np.concatenate([machines.port_a[machines.rows], machines.port_b[machines.rows]]))
    interface = _interfaces(machines, cabled.tolist(), node)
    nodes = {
        name: {"os": _OS["switch" if is_switch else "host"], "function": "switch" if is_switch else "server"}
        for name, is_switch in zip(names, machines.is_switch, strict=True)
    }
    ends = (machines.port_a[machines.rows].tolist(), machines.port_b[machines.rows].tolist())
    links = [
        [{"node": names[node[port]], "interface": interface[port]} for port in pair] for pair in zip(*ends, strict=True)
    ]
    value = {"format": "JSON", "title": plain(fabric.name), "content": {"nodes": nodes, "links": links, "oob": False}}
    odd = sum(name != said for name, said in zip(names, machines.names, strict=True))
    other = sum(name != machines.label[port] for port, name in interface.items())
    lost = [*machines.lost]
    lost += [f"names of machines with what no host name can hold: {odd:,} here; - stands there instead"] if odd else []
    lost += (
        [f"names of ports that are no interfaces of Linux: {other:,} here; written as such (1 as swp1)"]
        if other
        else []
    )
    lost += several_ports(fabric)
    lost += left_unsaid(fabric, nodes=("name", "kind", "host"), ports=("label",))
    return Written(json.dumps(value, indent=1, ensure_ascii=False) + "\n", tuple(lost), len(links))


def _interfaces(machines: Machines, cabled: list[int], node: Array) -> dict[int, str]:
    """The interface of every cabled port, all different at one machine."""
    found: dict[int, str] = {}
    taken = set[tuple[int, str]]()
    for port in cabled:
        row, label = int(node[port]), machines.label[port]
        name = label
        if not machines.is_switch[row]:
            device, colon, number = label.rpartition(":")
            name = label if not colon else device if number == "1" else f"{device}p{number}"
        stem = _NO_NAME.sub("-", name).strip("-") or "port"
        if machines.is_switch[row] and stem.isdecimal():
            stem = f"swp{stem}"
        stem = stem[:_MOST_INTERFACE]
        name, again = stem, 1
        while (row, name) in taken:
            again += 1
            name = f"{stem[: _MOST_INTERFACE - 1 - len(str(again))]}_{again}"
        taken.add((row, name))
        found[port] = name
    return found
