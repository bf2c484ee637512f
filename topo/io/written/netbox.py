"""Write the cables of a fabric for NetBox's bulk import of cables: CSV, a row a cable."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING

import numpy as np

from topo.io.written import Written, left_unsaid
from topo.io.written.hosts import merged_hosts
from topo.output import csv_cell, plain

if TYPE_CHECKING:
    from topo.fabric import Fabric

__all__ = ["write_netbox"]

_HEADER = (
    "side_a_device", "side_a_type", "side_a_name", "side_b_device", "side_b_type", "side_b_name", "status", "label",
    "length", "length_unit",
)  # fmt: skip
_TYPE = "dcim.interface"


def write_netbox(fabric: Fabric) -> Written:
    """The cables as NetBox imports them: device, type and name of the interface at either side, status, label, length.

    Devices and interfaces must be there already. The import takes one interface a side, so that every leg of a breakout
    is a row of its own with the cable's number in its label. Our own reader of schedules takes the file back.

    >>> import topo
    >>> print(write_netbox(topo.leaf_spine(leaves=1, spines=1, hosts_per_leaf=1)).content.splitlines()[1])
    host-1,dcim.interface,1,leaf-1,dcim.interface,1,planned,,,
    """
    machines = merged_hosts(fabric)
    links = fabric.links
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(_HEADER)
    cable, length = links.cable[machines.rows].tolist(), links.length_m[machines.rows].tolist()
    found = (links.evidence.is_any("planned") == 0)[machines.rows].tolist()
    for (a, port_a, b, port_b), leg_of, metres, there in zip(machines.cables(), cable, length, found, strict=True):
        known = not np.isnan(metres)
        row = [
            machines.names[a], _TYPE, port_a, machines.names[b], _TYPE, port_b, "connected" if there else "planned",
            f"cable {leg_of}" if leg_of >= 0 else "", f"{metres:g}" if known else "", "m" if known else "",
        ]  # fmt: skip
        writer.writerow([csv_cell(plain(cell)) for cell in row])
    lost = [*machines.lost, "tiers and what is an endpoint: devices must be in NetBox, with their interfaces"]
    legs = int((links.cable >= 0).sum())
    lost += [f"{legs:,} legs of breakouts are rows of their own: the import takes one interface a side"] if legs else []
    lost += left_unsaid(fabric, nodes=("name", "host", "kind"), ports=("label",), links=("length_m", "cable"))
    return Written(out.getvalue(), tuple(lost))
