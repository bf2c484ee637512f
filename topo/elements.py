"""The tables a fabric is made of: nodes, ports, links, shared-risk groups; and where it came from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from topo.errors import FabricError, place_in
from topo.output import cut_short
from topo.table import Array, Labels, Table, column

__all__ = [
    "FORWARDS_ALL",
    "FORWARDS_NOTHING",
    "FORWARDS_OWN_HOST",
    "Expected",
    "GroupTable",
    "Link",
    "LinkTable",
    "NodeTable",
    "Note",
    "Origin",
    "PortTable",
    "kept_groups",
]

FORWARDS_NOTHING = 0
FORWARDS_OWN_HOST = 1
FORWARDS_ALL = 2


@dataclass(frozen=True, eq=False)
class NodeTable(Table):
    """Every vertex: switches, hosts, NICs, accelerators and the parts inside an opened host."""

    name: NDArray[np.str_] = column(np.str_, "label; need not be unique")
    uid: NDArray[np.str_] = column(np.str_, "GUID, MAC or serial: identity in dumps", default="")
    kind: Labels = column(Labels, "switch, host, nic, accelerator, aggregation, manager, ...", default="switch")
    tier: NDArray[np.int8] = column(
        np.int8, "switch height: leaf 1, spine 2, core 3; endpoints 0; -1 inside a host", default=0
    )
    is_endpoint: NDArray[np.bool_] = column(np.bool_, "traffic starts and ends here", default=False)
    forwards: NDArray[np.int8] = column(
        np.int8, "0 nothing, 1 its own host's traffic, 2 everything", default=FORWARDS_ALL
    )
    host: Labels = column(Labels, "server that holds the node")
    domain: Labels = column(Labels, "scale-up domain")
    local_index: NDArray[np.int16] = column(np.int16, "index inside the host; -1 none", default=-1)
    rail: Labels = column(Labels, "rail of an endpoint or a leaf")
    plane: Labels = column(Labels, "plane of a switch")
    pod: Labels = column(Labels, "pod, scalable unit or spine group")
    rack: Labels = column(Labels, "rack")
    rack_unit: Labels = column(Labels, "unit of the rack that the node is at, as the file says: U32")
    chassis: Labels = column(Labels, "director or chassis the node is inside of")
    part: Labels = column(Labels, "standard part")
    coordinates: Labels = column(Labels, "place on a grid, as text like 0,3,12; none off one")

    def places(self) -> NDArray[np.int64]:
        """Coordinates as numbers, shape (nodes, dimensions); -1 where a node has none or fewer.

        :raises FabricError: coordinates that are no whole numbers parted by commas.

        >>> NodeTable(name=["a", "b", "c"], coordinates=["0,3", "1,12", None]).places().tolist()
        [[0, 3], [1, 12], [-1, -1]]
        """
        texts = [text.split(",") for text in self.coordinates.labels.tolist()]
        width = max(map(len, texts), default=0)
        table = np.full((len(texts) + 1, width), -1, np.int64)
        for row, numbers in zip(table, texts, strict=False):
            try:
                row[: len(numbers)] = [int(number) for number in numbers]
            except (ValueError, OverflowError):
                said = f"nodes.coordinates hold {cut_short(','.join(numbers))!r}"
                raise FabricError(f"{said}; give whole numbers from 0 parted by commas, like 0,3,12") from None
        found: NDArray[np.int64] = table[self.coordinates.codes]
        return found

    def stands_at(self, row: int) -> str:
        """Rack and unit of a node as a technician looks for it; '' where neither is known.

        >>> NodeTable(name=["leaf-1"], rack=["B07"], rack_unit=["U32"]).stands_at(0)
        'B07 U32'
        """
        return " ".join(filter(None, (self.rack[row], self.rack_unit[row])))


@dataclass(frozen=True, eq=False)
class PortTable(Table):
    """Every port, cabled or free."""

    node: NDArray[np.int32] = column(np.int32, "row of the node")
    label: Labels = column(Labels, "name on the node's faceplate")
    cage: NDArray[np.int32] = column(np.int32, "cage, numbered over the fabric; -1 unknown", default=-1)
    gbps: NDArray[np.float64] = column(
        np.float64, "rate of the port, one direction; nan unknown", unit="Gb/s", default=np.nan
    )
    also: Labels = column(Labels, "other words for it, parted by '; ': its MAC address, its description")


@dataclass(frozen=True, eq=False)
class LinkTable(Table):
    """Every cable, or leg of a breakout; full duplex, ``capacity_gbps`` in each direction."""

    port_a: NDArray[np.int32] = column(np.int32, "row of one port")
    port_b: NDArray[np.int32] = column(np.int32, "row of the other port")
    capacity_gbps: NDArray[np.float64] = column(
        np.float64, "rate in each direction; nan unknown", unit="Gb/s", default=np.nan
    )
    kind: Labels = column(
        Labels, "scale_out, access, scale_up, host_io, storage, management, internal", default="scale_out"
    )
    cable: NDArray[np.int32] = column(np.int32, "legs of one breakout share it; -1 a cable of its own", default=-1)
    length_m: NDArray[np.float64] = column(np.float64, "length; nan unknown", unit="m", default=np.nan)
    evidence: Labels = column(Labels, "both ends; one end; one end, taken (for there); planned", default="planned")
    source: Labels = column(Labels, "file the link came from")
    line: NDArray[np.int32] = column(np.int32, "line in that file; 0 none", default=0)


@dataclass(frozen=True, eq=False)
class GroupTable(Table):
    """Membership of shared-risk groups: line cards, power feeds, cages, anything named."""

    group: Labels = column(Labels, "name of the group")
    element: Labels = column(Labels, "node, port or link", default="node")
    row: NDArray[np.int32] = column(np.int32, "row of the member in its table")


@dataclass(frozen=True, slots=True)
class Note:
    """Something a reader or builder wants known: what, and at which line of which source.

    ``severity`` is ``note``, ``warning``, or ``alert`` for what puts every number in doubt and is shown first.
    """

    text: str
    source: str = ""
    line: int = 0
    severity: str = "note"

    def __str__(self) -> str:
        place = place_in(self.source, self.line or None)
        return f"{place}: {self.text}" if place else self.text


@dataclass(frozen=True, slots=True)
class Expected:
    """A published number: ``value`` is what holds; ``printed`` is what is printed where that is an error.

    ``printed_by`` says by whom, in words that "print" goes with; left out, the listed source does.
    """

    key: str
    value: float
    label: str
    note: str = ""
    printed: float | None = None
    printed_by: str = ""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a fabric came from: sources, notes of the reader, assumptions, how it was made.

    ``assumed`` says in a few words which rates the caller stated for links that have none of their own, and which links
    are taken as there; every number that rests on them repeats it.
    """

    made_by: str = ""
    title: str = ""
    sources: tuple[str, ...] = ()
    assumptions: tuple[str, ...] = ()
    notes: tuple[Note, ...] = ()
    expect: tuple[tuple[str, Expected], ...] = ()
    assumed: str = ""


class Link(NamedTuple):
    """One link by name, for people."""

    row: int
    a: str
    a_port: str
    b: str
    b_port: str
    capacity_gbps: float

    def __str__(self) -> str:
        return f"{self.a} port {self.a_port} - {self.b} port {self.b_port}"


def kept_groups(groups: GroupTable, node: Array, port: Array, link: Array) -> GroupTable:
    """The memberships of elements that are kept, rows renumbered; a mask each over nodes, ports and links."""
    keep = np.ones(len(groups), bool)
    row = groups.row.copy()
    for element, kept in (("node", node), ("port", port), ("link", link)):
        mine = groups.element.is_any(element)
        keep[mine] = kept[groups.row[mine]]
        row[mine] = (np.cumsum(kept) - 1)[groups.row[mine]]
    return GroupTable(group=groups.group.take(keep), element=groups.element.take(keep), row=row[keep])
