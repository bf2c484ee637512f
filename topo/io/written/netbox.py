"""Write the cables of a fabric for NetBox's bulk import of cables: CSV, a row a cable."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING

import numpy as np

from topo.errors import ParameterError
from topo.io.written import Written, left_unsaid, several_ports, sheet_cell
from topo.io.written.hosts import Machines, merged_hosts

if TYPE_CHECKING:
    from topo.fabric import Fabric

__all__ = ["write_netbox"]

_HEADER = (
    "side_a_type", "side_a_device", "side_a_name", "side_b_type", "side_b_device", "side_b_name", "status", "label",
    "length", "length_unit",
)  # fmt: skip
"""Columns of NetBox's form, in an order that begins no row with a name: one that begins with # reads as a comment."""
_TYPE = "dcim.interface"
_MOST_NAME = 64


def write_netbox(fabric: Fabric) -> Written:
    """The cables as NetBox imports them: device, type and name of the interface at either side, status, label, length.

    Devices and interfaces must be there already. The import takes one interface a side, so that every leg of a breakout
    is a row of its own with the cable's number in its label. Our own reader of schedules takes the file back.

    :raises ParameterError: no cable joins two machines.

    >>> import topo
    >>> print(write_netbox(topo.leaf_spine(leaves=1, spines=1, hosts_per_leaf=1)).content.splitlines()[1])
    dcim.interface,host-1,1,dcim.interface,leaf-1,1,planned,,,
    """
    machines = merged_hosts(fabric)
    if not len(machines.rows):
        raise ParameterError(f"no cable joins two machines of {fabric.name!r}, so that there is nothing to import")
    links = fabric.links
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(_HEADER)
    cable, length = links.cable[machines.rows].tolist(), links.length_m[machines.rows].tolist()
    found = (links.evidence.is_any("planned") == 0)[machines.rows].tolist()
    for (a, port_a, b, port_b), leg_of, metres, there in zip(machines.cables(), cable, length, found, strict=True):
        known = not np.isnan(metres)
        row = [
            _TYPE, machines.names[a], port_a, _TYPE, machines.names[b], port_b, "connected" if there else "planned",
            f"cable {leg_of}" if leg_of >= 0 else "", _length(metres) if known else "", "m" if known else "",
        ]  # fmt: skip
        writer.writerow([sheet_cell(cell) for cell in row])
    lost = [*machines.lost, "tiers and what is an endpoint: devices must be in NetBox, with their interfaces"]
    lost += _unlike_there(fabric, machines, length)
    lost += several_ports(fabric)
    legs = int((links.cable >= 0).sum())
    lost += [f"{legs:,} legs of breakouts are rows of their own: the import takes one interface a side"] if legs else []
    lost += left_unsaid(fabric, nodes=("name", "host", "kind"), ports=("label",), links=("length_m", "cable"))
    return Written(out.getvalue(), tuple(lost), len(machines.rows))


def _length(metres: float) -> str:
    """A length as NetBox keeps it: two decimals at most."""
    return f"{metres:.2f}".rstrip("0").rstrip(".")


def _unlike_there(fabric: Fabric, machines: Machines, length: list[float]) -> list[str]:
    """What NetBox holds otherwise: lengths of more decimals, longer names, names that are lists or formulas to it."""
    cut = sum(not np.isnan(metres) and float(_length(metres)) != metres for metres in length)
    cabled = np.unique(np.concatenate([machines.port_a[machines.rows], machines.port_b[machines.rows]]))
    labels = [machines.label[port] for port in cabled.tolist()]
    names = [*machines.names, *labels]
    long = sum(len(name) > _MOST_NAME for name in names)
    listed = sum("," in label for label in labels)
    marked = sum(sheet_cell(name) != name for name in names)
    lost = [f"{cut:,} lengths beyond two decimals"] if cut else []
    lost += [f"{long:,} names of more than {_MOST_NAME} characters, which no device or interface has"] if long else []
    lost += [f"{listed:,} interfaces have a comma in their name, which newer forms take for several"] if listed else []
    lost += [f"{marked:,} names get an apostrophe before a sign that starts a formula; take it off"] if marked else []
    return lost
