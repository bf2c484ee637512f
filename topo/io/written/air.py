"""Write a fabric as an NVIDIA Air topology: JSON with nodes and pairs of interfaces."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from topo.io.written import Written, left_unsaid
from topo.io.written.hosts import merged_hosts
from topo.output import plain

if TYPE_CHECKING:
    from topo.fabric import Fabric

__all__ = ["write_air"]

_OS = {"switch": "cumulus-vx-5.9.1", "host": "generic/ubuntu2204"}


def write_air(fabric: Fabric) -> Written:
    """The fabric as JSON for NVIDIA Air; switches boot Cumulus VX, all else a plain server; no rates, no tiers.

    The adapters of a host are interfaces of one server there. Parts inside hosts cannot be simulated and are left out.

    >>> import json, topo
    >>> content = json.loads(write_air(topo.fat_tree(4)).content)["content"]
    >>> len(content["nodes"]), len(content["links"])
    (36, 48)
    """
    machines = merged_hosts(fabric)
    nodes = {
        name: {"os": _OS["switch" if is_switch else "host"], "function": "switch" if is_switch else "server"}
        for name, is_switch in zip(machines.names, machines.is_switch, strict=True)
    }
    links = [
        [{"node": machines.names[a], "interface": port_a}, {"node": machines.names[b], "interface": port_b}]
        for a, port_a, b, port_b in machines.cables()
    ]
    value = {"format": "JSON", "title": plain(fabric.name), "content": {"nodes": nodes, "links": links, "oob": False}}
    lost = [*machines.lost, *left_unsaid(fabric, nodes=("name", "kind", "host"), ports=("label",))]
    return Written(json.dumps(value, indent=1, ensure_ascii=False) + "\n", tuple(lost))
