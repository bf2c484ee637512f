"""Write a fabric as an InfraGraph infrastructure: devices, an instance of one for each machine, an edge a cable."""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

from topo.io.written import Written, left_unsaid, names_that_fit, several_ports
from topo.io.written.hosts import merged_hosts

if TYPE_CHECKING:
    from topo.fabric import Fabric

__all__ = ["write_infragraph"]

_TAKEN = re.compile(r"[^A-Za-z0-9_()<>-]+")
"""What the schema of names there does not take, beside brackets and points, which mark slices and paths."""


def write_infragraph(fabric: Fabric) -> Written:
    """The fabric as YAML of InfraGraph: switches with an ASIC and ports, hosts with a CPU and adapters, their cables.

    Every machine is an instance of its own, so that its name stays; a device is shared by machines of as many ports.
    Ports are numbered from 0 in the order of the fabric, as names of ports have no place there.

    >>> import topo
    >>> text = write_infragraph(topo.leaf_spine(leaves=2, spines=1, hosts_per_leaf=2)).content
    >>> text.count("one2one"), '{"name": "leaf-1", "device": "switch-3", "count": 1}' in text
    (6, True)
    """
    machines = merged_hosts(fabric)
    names = names_that_fit(machines.names, _TAKEN)
    odd = sum(name != said for name, said in zip(names, machines.names, strict=True))
    renamed = [f"{odd:,} names lose letters that names there cannot have"] if odd else []
    cables = list(machines.cables())
    place: dict[tuple[int, str], int] = {}
    used: Counter[int] = Counter()
    for a, port_a, b, port_b in cables:
        for end in ((a, port_a), (b, port_b)):
            if end not in place:
                place[end] = used[end[0]]
                used[end[0]] += 1
    device = [f"{'switch' if is_switch else 'host'}-{used[row]}" for row, is_switch in enumerate(machines.is_switch)]
    part = ["port" if is_switch else "nic" for is_switch in machines.is_switch]
    rates = fabric.links.capacity_gbps[machines.rows].tolist()
    title = ["unknown" if np.isnan(rate) else _TAKEN.sub("-", f"{rate:.10g}G") for rate in rates]
    edges = [
        {
            "ep1": {"instance": names[a], "component": f"{part[a]}[{place[a, port_a]}]"},
            "ep2": {"instance": names[b], "component": f"{part[b]}[{place[b, port_b]}]"},
            "scheme": "one2one",
            "link": link,
        }
        for (a, port_a, b, port_b), link in zip(cables, title, strict=True)
    ]
    sections = {
        "devices": [_device(name) for name in sorted(set(device), key=lambda name: (name[0], len(name), name))],
        "links": [_link(link, rate) for link, rate in sorted(dict(zip(title, rates, strict=True)).items())],
        "instances": [{"name": name, "device": of, "count": 1} for name, of in zip(names, device, strict=True)],
        "edges": edges,
    }
    lost = [*machines.lost, *renamed, "names of ports: they are numbers there, in the order of the fabric"]
    lost += several_ports(fabric)
    lost += left_unsaid(fabric, nodes=("name", "kind", "host"), links=("capacity_gbps",))
    return Written(_text(_TAKEN.sub(" ", fabric.name).strip() or "fabric", sections), tuple(lost), len(edges))


def _device(name: str) -> dict[str, Any]:
    """A switch is an ASIC with ports, a host a CPU with adapters; what joins them inside has no rate here."""
    kind, count = name.split("-")
    middle, outer = ("asic", "port") if kind == "switch" else ("cpu", "nic")
    choice = "switch" if kind == "switch" else "cpu"
    components = [{"name": middle, "count": 1, "choice": choice, choice: {}}]
    if int(count) == 0:
        return {"name": name, "components": components, "links": [], "edges": []}
    components.append({"name": outer, "count": int(count), "choice": outer, outer: {}})
    inside = {"ep1": {"component": f"{middle}[0]"}, "ep2": {"component": f"{outer}[0:{count}]"}}
    edges = [{**inside, "scheme": "many2many", "link": "inside"}]
    return {"name": name, "components": components, "links": [{"name": "inside"}], "edges": edges}


def _link(name: str, rate: float) -> dict[str, Any]:
    if np.isnan(rate):
        return {"name": name}
    return {"name": name, "physical": {"bandwidth": {"choice": "gigabits_per_second", "gigabits_per_second": rate}}}


def _text(name: str, sections: dict[str, list[dict[str, Any]]]) -> str:
    """YAML with an item a line, each as JSON, which YAML holds."""
    lines = [f"name: {json.dumps(name, ensure_ascii=False)}"]
    for key, items in sections.items():
        lines.append(f"{key}:" if items else f"{key}: []")
        lines += [f"- {json.dumps(item, ensure_ascii=False)}" for item in items]
    return "\n".join(lines) + "\n"
