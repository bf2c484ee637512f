"""Write the cables of a fabric as a plain point-to-point schedule: CSV, a row a link."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING

import numpy as np

from topo.errors import ParameterError
from topo.io.port_names import host_port
from topo.io.written import (
    Written,
    as_written,
    host_titles,
    left_unsaid,
    port_names,
    several_ports,
    sheet_cell,
    unique_names,
)
from topo.output import plain
from topo.view.text import plural

if TYPE_CHECKING:
    from topo.fabric import Fabric

__all__ = ["write_schedule"]

_HEADER = (
    "Cable ID",
    "Speed",
    "Length m",
    "A Rack",
    "A U",
    "A Node",
    "A Port",
    "A Type",
    "Z Rack",
    "Z U",
    "Z Node",
    "Z Port",
    "Z Type",
)
_SWITCHES = ("switch", "router", "storage_switch", "scale_up_switch")
_INSIDE = ("host_io", "internal")


def write_schedule(fabric: Fabric) -> Written:
    """The cables as the fabric has them: number, speed, length, and rack, unit, node, port and type of both ends.

    An adapter goes by its host and ``nic-3/1``. ``topo plan`` adds what only a layout of racks tells: routes, bundles,
    optics and labels. Our own reader of schedules takes the file back.

    >>> import topo
    >>> print(write_schedule(topo.leaf_spine(leaves=1, spines=1, hosts_per_leaf=1)).content.splitlines()[1])
    ,400G,,,,host-1,1,host,,,leaf-1,1,switch

    :raises ParameterError: no cable joins two machines.
    """
    links = fabric.links
    rows = np.flatnonzero(~links.kind.is_any(*_INSIDE))
    if not rows.size:
        raise ParameterError(f"no cable joins two machines of {plain(fabric.name)}, so that there is nothing to list")
    names, lost = unique_names(fabric)
    hosts, changed = host_titles(fabric, names)
    lost += changed
    ports, relabelled = port_names(fabric)
    lost += relabelled
    ends = _Ends(fabric, names, hosts, ports)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(_HEADER)
    columns = (
        links.port_a[rows],
        links.port_b[rows],
        links.capacity_gbps[rows],
        links.length_m[rows],
        links.cable[rows],
    )
    for a, b, rate, metres, cable in zip(*(column.tolist() for column in columns), strict=True):
        row = ["" if cable < 0 else f"C{cable + 1:05d}", "" if np.isnan(rate) else f"{rate:.10g}G",
               "" if np.isnan(metres) else f"{metres:.15g}", *ends.of(a), *ends.of(b)]  # fmt: skip
        writer.writerow([sheet_cell(cell) for cell in row])
    inside = len(links) - len(rows)
    lost += [f"{plural(inside, 'link')} inside hosts and chassis"] if inside else []
    lost += several_ports(fabric)
    lost += (
        [f"names of hosts at {plural(ends.apart, 'end')} of cables: only adapters named after their host say them"]
        if ends.apart
        else []
    )
    lost += left_unsaid(fabric, nodes=("name", "kind", "host", "rack", "rack_unit", "is_endpoint"), ports=("label",),
                        links=("capacity_gbps", "length_m", "cable"))  # fmt: skip
    return Written(out.getvalue(), tuple(lost), len(rows))


class _Ends:
    """Ends of cables as a schedule names them."""

    def __init__(self, fabric: Fabric, names: list[str], hosts: list[str], ports: list[str]) -> None:
        nodes = fabric.nodes
        self._names = names
        self._node = fabric.ports.node.tolist()
        self._label = ports
        self._host = hosts
        self._rack = [as_written(rack) for rack in nodes.rack.values().tolist()]
        self._unit = [as_written(unit) for unit in nodes.rack_unit.values().tolist()]
        self.apart = 0
        self._kind = nodes.kind.values().tolist()

    def of(self, port: int) -> tuple[str, ...]:
        """Rack, unit, node, port and type."""
        row = self._node[port]
        place = self._rack[row], self._unit[row]
        name, host, label, kind = self._names[row], self._host[row], self._label[port], self._kind[row]
        if kind in _SWITCHES:
            return *place, name, label, "switch"
        self.apart += bool(host) and host != name
        device = name[len(host) :].lstrip(" -_/:.") if host and name.startswith(host) else ""
        if device and host_port(host, f"{device}/{label}") == (device, label):
            self.apart -= 1
            return *place, host, f"{device}/{label}", "host"
        return *place, name, label, kind if kind in ("accelerator", "nic", "manager") else "host"
